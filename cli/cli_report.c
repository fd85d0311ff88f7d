/* Messages on stderr and the exit code that goes with a status. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

int exit_code_of(mldf_status status) {
    if (status >= 0)
        return EXIT_FINE;
    if (status == MLDF_E_CANCELLED)
        return EXIT_INTERRUPTED;
    if (status == MLDF_E_ARGUMENT || status == MLDF_E_NO_FIELD)
        return EXIT_USAGE;
    if (status == MLDF_E_MEMORY || (status <= MLDF_E_IO && status >= MLDF_E_KEY_WRONG))
        return EXIT_ENVIRONMENT;
    return EXIT_DATA;
}

const char *without_name(const char *message, const char *file) {
    size_t bytes = strlen(file);
    return strncmp(message, file, bytes) == 0 && message[bytes] == ':' && message[bytes + 1] == ' '
               ? message + bytes + 2
               : message;
}

static const char *command_name(const struct invocation *v) {
    return v && v->command ? v->command->name : "";
}

static const char *prefix(const struct invocation *v) {
    return v && v->command ? command_prefix(v->command) : "mldf ";
}

/* Control characters, which a terminal may obey, become question marks, as in the library's messages. */
static void make_one_line(char *text) {
    for (char *p = text; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            *p = '?';
}

char *format_one_line(const char *format, va_list args) {
    va_list again;
    va_copy(again, args);
    int bytes = vsnprintf(NULL, 0, format, again);
    va_end(again);
    char *text = bytes < 0 ? NULL : malloc((size_t)bytes + 1);
    if (!text)
        return NULL;
    vsnprintf(text, (size_t)bytes + 1, format, args);
    make_one_line(text);
    return text;
}

static void say(const struct invocation *v, const char *format, va_list args) {
    char *text = format_one_line(format, args);
    progress_clear();
    fprintf(stderr, "%s%s: %s\n", prefix(v), command_name(v), text ? text : "no memory");
    free(text);
}

int usage_error(const struct invocation *v, const char *format, ...) {
    va_list args;
    va_start(args, format);
    say(v, format, args);
    va_end(args);
    return EXIT_USAGE;
}

int complain(const struct invocation *v, int code, const char *format, ...) {
    va_list args;
    va_start(args, format);
    say(v, format, args);
    va_end(args);
    return code;
}

int no_memory(const struct invocation *v) {
    return complain(v, EXIT_ENVIRONMENT, "no memory");
}

/* A name as the library's messages have it. NULL: no memory. */
static char *one_line(const char *text) {
    char *copy = strdup(text);
    if (copy)
        make_one_line(copy);
    return copy;
}

/* The library's messages often name the file already: "x.mldf cannot be opened" becomes "x.mldf: cannot be opened". */
int report_error(const struct invocation *v, const char *path, const mldf_error *err) {
    char *name = path ? one_line(path) : NULL;
    const char *file = name ? name : path;
    progress_clear();
    if (err->sys_errno == EPIPE) /* a dataset written to a pipe: as for what cat prints */
        out_broken();
    else if (err->status == MLDF_E_CANCELLED && interrupted())
        fprintf(stderr, "%s%s: interrupted\n", prefix(v), command_name(v));
    else if (file && strncmp(err->message, file, strlen(file)) == 0 && err->message[strlen(file)] == ' ')
        fprintf(stderr, "%s%s: %s:%s\n", prefix(v), command_name(v), file, err->message + strlen(file));
    else if (file && !strstr(err->message, file))
        fprintf(stderr, "%s%s: %s: %s\n", prefix(v), command_name(v), file, err->message);
    else
        fprintf(stderr, "%s%s: %s\n", prefix(v), command_name(v), err->message);
    free(name);
    /* A limit of the system, not one that the data is beyond. */
    return err->status == MLDF_E_LIMIT && err->sys_errno ? EXIT_ENVIRONMENT : exit_code_of(err->status);
}

void note(const struct invocation *v, const char *format, ...) {
    va_list args;
    if (v->quiet)
        return;
    va_start(args, format);
    say(v, format, args);
    va_end(args);
}
