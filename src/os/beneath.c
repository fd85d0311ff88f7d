/* See beneath.h. Linux answers in one call (openat2). Where that is missing, and where it refuses a link because it is absolute though it
 * leads below the folder, the real path is asked for first and then walked part by part without following any link: what changes in
 * between is refused, not followed. */
#include "os/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/syscall.h>
#if __has_include(<linux/openat2.h>)
#include <linux/openat2.h>
#endif
#endif

#if defined(O_PATH)
#define FOLDER_FLAGS (O_PATH | O_DIRECTORY | O_CLOEXEC)
#else
#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_CLOEXEC)
#endif
#define FILE_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

static void close_keeping_errno(int fd) {
    int reason = errno;
    (void)close(fd);
    errno = reason;
}

/* One system call; EXDEV also where the walk below has to decide. */
static int open_at_once(int folder, const char *path) {
#if defined(SYS_openat2) && defined(RESOLVE_BENEATH)
    struct open_how how = {.flags = FILE_FLAGS, .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
    int fd;
    do
        fd = (int)syscall(SYS_openat2, folder, path, &how, sizeof how);
    while (fd < 0 && errno == EINTR);
    if (fd < 0 && (errno == ENOSYS || errno == EPERM || errno == EINVAL || errno == E2BIG || errno == EAGAIN))
        errno = EXDEV;
    return fd;
#else
    (void)folder, (void)path;
    errno = EXDEV;
    return -1;
#endif
}

/* `path` has no link in it; if it has one now, it was changed: ELOOP. The text is cut at its slashes. */
static int walk(int folder, char *path) {
    int at = dup(folder);
    for (char *part = path, *slash; at >= 0; part = slash + 1) {
        slash = strchr(part, '/');
        if (slash)
            *slash = 0;
        int next = openat(at, part, (slash ? FOLDER_FLAGS : FILE_FLAGS) | O_NOFOLLOW);
        close_keeping_errno(at);
        if (!slash || next < 0)
            return next;
        at = next;
    }
    return -1;
}

static int open_real(int folder, const char *root, const char *path) {
    size_t room = strlen(root) + strlen(path) + 2;
    char *whole = malloc(room), *real_root = realpath(root, NULL), *real = NULL;
    int fd = -1;
    if (whole) {
        (void)snprintf(whole, room, "%s/%s", root, path);
        real = realpath(whole, NULL);
    }
    if (real && real_root) {
        size_t bytes = strcmp(real_root, "/") == 0 ? 0 : strlen(real_root);
        bool inside = strncmp(real, real_root, bytes) == 0 && real[bytes] == '/';
        if (inside)
            fd = walk(folder, real + bytes + 1);
        if (!inside || (fd < 0 && errno == ELOOP))
            errno = EXDEV;
    }
    int reason = errno;
    free(whole);
    free(real);
    free(real_root);
    errno = reason;
    return fd;
}

int mldfi_open_beneath(const char *root, const char *path) {
    int folder = open(root, FOLDER_FLAGS);
    if (folder < 0)
        return -1;
    int fd = open_at_once(folder, path);
    if (fd < 0 && errno == EXDEV)
        fd = open_real(folder, root, path);
    close_keeping_errno(folder);
    return fd;
}
