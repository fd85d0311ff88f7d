/* Filling an mldf_error: format once, into the caller's struct, never allocating. The status that an errno deserves is
 * decided here and nowhere else. status.c names the statuses. */
#include "util/error.h"

#include <errno.h>
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

__attribute__((format(printf, 2, 0))) static void set_message(mldf_error *err, const char *format, va_list args) {
    int wanted = vsnprintf(err->message, sizeof err->message, format, args);
    if (wanted < 0)
        err->message[0] = 0;
    else
        clean_message(err->message, sizeof err->message, (size_t)wanted);
}

static void reset(mldf_error *err, mldf_status status, int sys_errno, uint64_t offset) {
    err->status = status;
    err->sys_errno = sys_errno;
    err->offset = offset;
    err->sample = MLDF_NONE;
    err->field[0] = 0;
}

mldf_status mldfi_fail(mldf_error *err, mldf_status status, const char *format, ...) {
    if (err) {
        va_list args;
        reset(err, status, 0, MLDF_NONE);
        va_start(args, format);
        set_message(err, format, args);
        va_end(args);
    }
    return status;
}

mldf_status mldfi_fail_at(mldf_error *err, mldf_status status, uint64_t offset, const char *format, ...) {
    if (err) {
        va_list args;
        reset(err, status, 0, offset);
        va_start(args, format);
        set_message(err, format, args);
        va_end(args);
    }
    return status;
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
    int wanted = snprintf(err->message + used, free_bytes, ": %s", ERRNO_TEXT(sys_errno, room));
    if (wanted > 0)
        clean_message(err->message, sizeof err->message, used + (size_t)wanted);
}

mldf_status mldfi_fail_errno(mldf_error *err, int sys_errno, const char *format, ...) {
    mldf_status status = status_of_errno(sys_errno);
    if (err) {
        va_list args;
        reset(err, status, sys_errno, MLDF_NONE);
        va_start(args, format);
        set_message(err, format, args);
        va_end(args);
        append_errno_text(err, sys_errno);
    }
    return status;
}

mldf_status mldfi_fail_exists(mldf_error *err, const char *path) {
    return mldfi_fail(err, MLDF_E_EXISTS, "%s: already exists; use -f to overwrite it (Python: overwrite=True)", path);
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

void mldfi_error_prefix(mldf_error *err, const char *format, ...) {
    char old[sizeof err->message];
    va_list args;
    if (!err)
        return;
    memcpy(old, err->message, sizeof old);
    va_start(args, format);
    set_message(err, format, args);
    va_end(args);
    size_t used = strlen(err->message);
    int wanted = snprintf(err->message + used, sizeof err->message - used, ": %s", old);
    if (wanted > 0)
        clean_message(err->message, sizeof err->message, used + (size_t)wanted);
}
