/* Compiled pipelines for commands that run them: which compiler, and where its results are kept. The library reads no environment; the
 * command does. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli.h"

/* $XDG_CACHE_HOME/mldf, or ~/.cache/mldf; a path that is not absolute counts as none. */
static const char *cache_folder(char *room, size_t bytes) {
    const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int n = -1;
    if (base && base[0] == '/')
        n = snprintf(room, bytes, "%s/mldf", base);
    else if (home && home[0] == '/')
        n = snprintf(room, bytes, "%s/.cache/mldf", home);
    return n > 0 && (size_t)n < bytes ? room : NULL;
}

/* A machine without a compiler is no reason for a warning. */
static const char *compiler(void) {
    static const char *const paths[] = {"/usr/bin/cc", "/usr/local/bin/cc"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        if (access(paths[i], X_OK) == 0)
            return paths[i];
    return NULL;
}

mldf_status compiler_begin(mldf_context *context, mldf_error *err) {
    char room[900];
    return mldf_context_set_compiler(context, cache_folder(room, sizeof room), compiler(), err);
}
