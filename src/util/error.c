/* Filling an mldf_error: format once, into the caller's struct, never allocating. The status that an errno deserves is
 * decided here and nowhere else. status.c names the statuses. */
#include "util/error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Messages are one line: a path or a key may hold anything. A message that was cut ends with a whole character. */
static void clean_message(char *text, size_t room, size_t wanted) {
    size_t bytes = wanted < room ? wanted : room - 1;
    if (wanted >= room) {
        while (bytes > 0 && ((unsigned char)text[bytes - 1] & 0xC0u) == 0x80u)
            bytes--;
        if (bytes > 0 && (unsigned char)text[bytes - 1] >= 0xC0u)
            bytes--;
        text[bytes] = 0;
    }
    for (size_t i = 0; i < bytes; i++)
        if ((unsigned char)text[i] < 0x20u || text[i] == 0x7F)
            text[i] = '?';
}

static mldf_status status_of_errno(int sys_errno) {
    switch (sys_errno) {
    case ENOENT:
    case ENOTDIR:
        return MLDF_E_NOT_FOUND;
    case EACCES:
    case EPERM:
    case EROFS:
        return MLDF_E_PERMISSION;
    case EEXIST:
        return MLDF_E_EXISTS;
    case ENOSPC:
    case EDQUOT:
        return MLDF_E_NO_SPACE;
    case EAGAIN:
    case EBUSY:
    case ETXTBSY:
        return MLDF_E_BUSY;
    case ENOMEM:
        return MLDF_E_MEMORY;
    default:
        return MLDF_E_IO;
    }
}

/* strerror_r returns the text (GNU) or an int (POSIX); _Generic picks the one that this C library has. */
__attribute__((unused)) static const char *text_of_gnu(const char *result, const char *room) {
    (void)room;
    return result;
}
__attribute__((unused)) static const char *text_of_posix(int result, const char *room) {
    return result == 0 ? room : "unknown error";
}
#define ERRNO_TEXT(number, room) \
    _Generic(strerror_r((number), (room), sizeof(room)), char * : text_of_gnu, int : text_of_posix)( \
        strerror_r((number), (room), sizeof(room)), (room))

static void append_errno_text(mldf_error *err, int sys_errno) {
    char room[128] = "";
    size_t used = strlen(err->message);
    size_t free_bytes = sizeof err->message - used;
    int wanted = snprintf(err->message + used, free_bytes, "%s%s", used ? ": " : "", ERRNO_TEXT(sys_errno, room));
    if (wanted > 0)
        clean_message(err->message, sizeof err->message, used + (size_t)wanted);
}

/* The whole of an error. sys_errno 0: none, else its text ends the message; path NULL: none. */
__attribute__((format(printf, 6, 0))) static mldf_status fill(mldf_error *err, mldf_status status, int sys_errno,
                                                              uint64_t offset, const char *path, const char *format,
                                                              va_list args) {
    if (!err)
        return status;
    err->status = status;
    err->sys_errno = sys_errno;
    err->offset = offset;
    err->sample = MLDF_NONE;
    err->field[0] = err->path[0] = err->context[0] = err->advice[0] = 0;
    memset(err->reserved, 0, sizeof err->reserved);
    int wanted = vsnprintf(err->message, sizeof err->message, format, args);
    if (wanted < 0)
        err->message[0] = 0;
    else
        clean_message(err->message, sizeof err->message, (size_t)wanted);
    if (sys_errno)
        append_errno_text(err, sys_errno);
    mldfi_error_path(err, path);
    return status;
}

#define FILL(err, status, sys_errno, offset, path) \
    va_list args; \
    va_start(args, format); \
    mldf_status filled = fill((err), (status), (sys_errno), (offset), (path), format, args); \
    va_end(args)

mldf_status mldfi_fail(mldf_error *err, mldf_status status, const char *format, ...) {
    FILL(err, status, 0, MLDF_NONE, NULL);
    return filled;
}

mldf_status mldfi_fail_at(mldf_error *err, mldf_status status, uint64_t offset, const char *format, ...) {
    FILL(err, status, 0, offset, NULL);
    return filled;
}

mldf_status mldfi_fail_errno(mldf_error *err, int sys_errno, const char *format, ...) {
    FILL(err, status_of_errno(sys_errno), sys_errno, MLDF_NONE, NULL);
    return filled;
}

mldf_status mldfi_fail_file(mldf_error *err, mldf_status status, const char *path, const char *format, ...) {
    FILL(err, status, 0, MLDF_NONE, path);
    return filled;
}

mldf_status mldfi_fail_file_errno(mldf_error *err, int sys_errno, const char *path, const char *format, ...) {
    FILL(err, status_of_errno(sys_errno), sys_errno, MLDF_NONE, path);
    return filled;
}

mldf_status mldfi_fail_line(mldf_error *err, mldf_status status, const char *file, uint64_t line, const char *format,
                            ...) {
    FILL(err, status, 0, MLDF_NONE, NULL);
    mldfi_error_line(err, file, line, 0);
    return filled;
}

mldf_status mldfi_fail_exists(mldf_error *err, const char *path) {
    return mldfi_fail_file(err, MLDF_E_EXISTS, path, "already exists; use -f to overwrite it (Python: overwrite=True)");
}

mldf_status mldfi_fail_memory(mldf_error *err, size_t bytes) {
    return mldfi_fail(err, MLDF_E_MEMORY, "no memory for %zu bytes", bytes);
}

void mldfi_error_place(mldf_error *err, uint64_t sample, const char *field) {
    if (!err)
        return;
    if (err->sample == MLDF_NONE)
        err->sample = sample;
    if (field && err->field[0] == 0) {
        size_t bytes = strnlen(field, MLDF_NAME_MAX);
        memcpy(err->field, field, bytes);
        err->field[bytes] = 0;
    }
}

void mldfi_error_path(mldf_error *err, const char *path) {
    static const char cut[] = "...";
    if (!err || !path || err->path[0])
        return;
    size_t bytes = strlen(path), room = sizeof err->path - 1;
    if (bytes <= room) {
        memcpy(err->path, path, bytes + 1);
    } else {
        const char *end = path + bytes - (room - (sizeof cut - 1));
        while (((unsigned char)*end & 0xC0u) == 0x80u) /* not from the middle of a character */
            end++;
        (void)snprintf(err->path, sizeof err->path, "%s%s", cut, end);
    }
    clean_message(err->path, sizeof err->path, strlen(err->path));
}

void mldfi_error_outer(mldf_error *err, const char *place) {
    char inner[sizeof err->path];
    if (!err || !place)
        return;
    memcpy(inner, err->path, sizeof inner);
    err->path[0] = 0;
    mldfi_error_path(err, place);
    if (inner[0] && strcmp(inner, err->path) != 0)
        mldfi_error_prefix(err, "%s", inner);
}

void mldfi_error_line(mldf_error *err, const char *file, uint64_t line, uint64_t column) {
    char place[2 * sizeof err->path];
    int shown = (int)sizeof err->path;
    size_t bytes = strlen(file), skip = bytes > (size_t)shown ? bytes - (size_t)shown : 0;
    if (column)
        (void)snprintf(place, sizeof place, "%.*s:%" PRIu64 ":%" PRIu64, shown, file + skip, line, column);
    else
        (void)snprintf(place, sizeof place, "%.*s:%" PRIu64, shown, file + skip, line);
    mldfi_error_outer(err, place);
}

mldf_status mldfi_error_advise(mldf_error *err, mldf_status status, const char *format, ...) {
    va_list args;
    if (!err)
        return status;
    va_start(args, format);
    int wanted = vsnprintf(err->advice, sizeof err->advice, format, args);
    va_end(args);
    clean_message(err->advice, sizeof err->advice, wanted < 0 ? 0 : (size_t)wanted);
    return status;
}

void mldfi_error_prefix(mldf_error *err, const char *format, ...) {
    char old[sizeof err->context];
    va_list args;
    if (!err)
        return;
    memcpy(old, err->context, sizeof old);
    va_start(args, format);
    int wanted = vsnprintf(err->context, sizeof err->context, format, args);
    va_end(args);
    clean_message(err->context, sizeof err->context, wanted < 0 ? 0 : (size_t)wanted);
    size_t used = wanted < 0 ? 0 : strlen(err->context);
    int rest = snprintf(err->context + used, sizeof err->context - used, "%s%s", used && old[0] ? ": " : "", old);
    clean_message(err->context, sizeof err->context, used + (rest > 0 ? (size_t)rest : 0));
}

/* Appends to the `used` bytes of out as much as there is room for; returns the bytes that all would take. */
__attribute__((format(printf, 4, 5))) static size_t add(char *out, size_t room, size_t used, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int wanted = vsnprintf(used < room ? out + used : NULL, used < room ? room - used : 0, format, args);
    va_end(args);
    return used + (wanted > 0 ? (size_t)wanted : 0);
}

const char *mldf_error_text(const mldf_error *err, char *out, size_t room) {
    size_t used = 0;
    if (!out || room == 0)
        return "";
    out[0] = 0;
    if (!err)
        return out;
    if (err->path[0])
        used = add(out, room, used, "%s: ", err->path);
    if (err->sample != MLDF_NONE)
        used =
            add(out, room, used, "sample %" PRIu64 "%s%s: ", err->sample, err->field[0] ? ", field " : "", err->field);
    if (err->context[0])
        used = add(out, room, used, "%s: ", err->context);
    used = add(out, room, used, "%s%s%s", err->message, err->advice[0] ? "; " : "", err->advice);
    clean_message(out, room, used);
    return out;
}
