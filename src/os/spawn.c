/* spawn.h: posix_spawn with all that has to be said for it. */
#include "os/spawn.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>

extern char **environ; /* not read here: handed on */

int mldfi_spawn(pid_t *pid, char *const *words, const int streams[3], char *const *environment) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    (void)sigemptyset(&none);
    (void)sigfillset(&all);
    if (posix_spawn_file_actions_init(&actions) != 0)
        return ENOMEM;
    if (posix_spawnattr_init(&attributes) != 0) {
        (void)posix_spawn_file_actions_destroy(&actions);
        return ENOMEM;
    }
    int reason = 0;
    for (int i = 0; i < 3 && !reason; i++)
        reason = posix_spawn_file_actions_adddup2(&actions, streams[i], i);
    reason = reason ? reason : posix_spawnattr_setpgroup(&attributes, 0);
    reason = reason ? reason : posix_spawnattr_setsigmask(&attributes, &none);
    reason = reason ? reason : posix_spawnattr_setsigdefault(&attributes, &all);
    reason = reason ? reason
                    : posix_spawnattr_setflags(&attributes,
                                               POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    if (!reason)
        reason = environment ? posix_spawn(pid, words[0], &actions, &attributes, words, environment)
                             : posix_spawnp(pid, words[0], &actions, &attributes, words, environ);
    (void)posix_spawnattr_destroy(&attributes);
    (void)posix_spawn_file_actions_destroy(&actions);
    return reason;
}
