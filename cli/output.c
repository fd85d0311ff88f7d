/* Standard output with a large buffer and a memory for failed writes. A reader that closed the pipe early (head) is not an error to
 * talk about: the program then ends as SIGPIPE would have ended it, but after it has cleaned up. */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

static char buffer[1 << 18];
static size_t used;
static int failure; /* errno of the first failed write */

void out_flush(void) {
    size_t at = 0;
    while (at < used && !failure) {
        ssize_t n = write(STDOUT_FILENO, buffer + at, used - at);
        if (n > 0)
            at += (size_t)n;
        else if (n < 0 && errno == EINTR && interrupted())
            failure = EINTR;
        else if (n < 0 && errno != EINTR)
            failure = errno;
    }
    used = 0;
}

void out_bytes(const void *data, size_t bytes) {
    const char *p = data;
    while (bytes > 0 && !failure) {
        size_t room = sizeof buffer - used, n = bytes < room ? bytes : room;
        memcpy(buffer + used, p, n);
        used += n;
        p += n;
        bytes -= n;
        if (used == sizeof buffer)
            out_flush();
    }
}

void out_text(const char *text) {
    out_bytes(text, strlen(text));
}

void out_char(char c) {
    if (used == sizeof buffer)
        out_flush();
    buffer[used++] = c;
}

void out_printf(const char *format, ...) {
    char text[2048];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    if (n >= (int)sizeof text) {
        char *large = malloc((size_t)n + 1);
        va_end(args);
        va_start(args, format);
        if (large && vsnprintf(large, (size_t)n + 1, format, args) == n)
            out_bytes(large, (size_t)n);
        else
            out_no_memory();
        free(large);
    } else if (n > 0) {
        out_bytes(text, (size_t)n);
    }
    va_end(args);
}

void out_line(const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *text = format_one_line(format, args);
    va_end(args);
    if (text)
        out_text(text);
    else
        out_no_memory();
    out_char('\n');
    free(text);
}

void out_broken(void) {
    failure = EPIPE;
}

void out_no_memory(void) {
    if (!failure)
        failure = ENOMEM;
}

bool out_failed(void) {
    return failure != 0;
}

int out_finish(const struct invocation *v, int code) {
    out_flush();
    if (failure == EPIPE) {
        signal(SIGPIPE, SIG_DFL);
        raise(SIGPIPE);
    }
    if (failure == EINTR)
        return code == EXIT_INTERRUPTED ? code : complain(v, EXIT_INTERRUPTED, "interrupted");
    if (failure) {
        fprintf(stderr, "mldf%s%s: cannot write to standard output: %s\n", v ? " " : "", v ? v->command->name : "",
                strerror(failure));
        return EXIT_ENVIRONMENT;
    }
    return code;
}
