/* The window over a text source. See input.h; csv.c and jsonl.c are its users. */
#include "tool/input.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/file.h"
#include "util/buffer.h"
#include "util/error.h"

enum { WAIT_MS = 100 };

mldf_status mldfi_watch(struct input_watch *watch, bool at_once, mldf_error *err) {
    if (!watch || !watch->progress)
        return MLDF_OK;
    double now = mldfi_time();
    if (!at_once && now - watch->last < 0.1)
        return MLDF_OK;
    watch->last = now;
    if (watch->progress(watch->user, &watch->now))
        return MLDF_OK;
    return mldfi_fail(err, MLDF_E_CANCELLED, "interrupted");
}

mldf_status mldfi_watched_open(const char *path, struct input_watch *watch, int *fd, mldf_error *err) {
    while ((*fd = mldfi_file_open_stream(path)) < 0) {
        if (errno != EINTR)
            return mldfi_fail_open(path, errno, err);
        TRY(mldfi_watch(watch, true, err));
    }
    return MLDF_OK;
}

mldf_status mldfi_watched_read(int fd, void *dst, size_t room, struct input_watch *watch, const char *name, size_t *got,
                               mldf_error *err) {
    for (;;) {
        /* A signal that came a moment before read would not end it: so it is called only when it does not wait. */
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        int found = poll(&ready, 1, WAIT_MS);
        ssize_t bytes = found > 0 ? read(fd, dst, room) : -1;
        if (bytes >= 0) {
            *got = (size_t)bytes;
            return MLDF_OK;
        }
        if (found != 0 && errno != EINTR)
            return mldfi_fail_file_errno(err, errno, name, "cannot read");
        TRY(mldfi_watch(watch, true, err));
    }
}

mldf_status mldfi_input_memory(struct input *input, const char *name, const void *data, size_t bytes, mldf_error *err) {
    memset(input, 0, sizeof *input);
    input->fd = -1;
    input->at_end = true;
    input->total_bytes = bytes;
    input->name = mldfi_copy_text(name, strlen(name), err);
    input->data = mldfi_alloc(bytes + 1, err);
    if (!input->name || !input->data) {
        mldfi_input_close(input);
        return MLDF_E_MEMORY;
    }
    if (bytes)
        memcpy(input->data, data, bytes);
    input->capacity = bytes + 1;
    input->end = bytes;
    return MLDF_OK;
}

/* Opens the file and learns what kind it is. A FIFO waits for its writer, as it does for every other command. */
static mldf_status open_path(struct input *input, const char *path, mldf_error *err) {
    struct stat st;
    if (strcmp(path, "-") == 0) {
        input->fd = STDIN_FILENO;
    } else {
        TRY(mldfi_watched_open(path, input->watch, &input->fd, err));
        input->owns_fd = true;
    }
    if (fstat(input->fd, &st) != 0)
        return mldfi_fail_file_errno(err, errno, input->name, "cannot read");
    if (S_ISDIR(st.st_mode))
        return mldfi_fail_file(err, MLDF_E_ARGUMENT, input->name, "is a folder, where a table belongs");
    input->seekable = S_ISREG(st.st_mode) && input->owns_fd;
    if (S_ISREG(st.st_mode))
        input->total_bytes = (uint64_t)st.st_size;
    return MLDF_OK;
}

mldf_status mldfi_input_open(struct input *input, const char *path, bool record, struct input_watch *watch,
                             mldf_error *err) {
    const char *name = strcmp(path, "-") == 0 ? "(standard input)" : path;
    memset(input, 0, sizeof *input);
    input->fd = -1;
    input->watch = watch;
    input->total_bytes = MLDF_NONE;
    input->name = mldfi_copy_text(name, strlen(name), err);
    if (!input->name)
        return MLDF_E_MEMORY;
    mldf_status status = open_path(input, path, err);
    if (status == MLDF_OK) {
        input->recording = record && !input->seekable;
        input->capacity = INPUT_CHUNK;
        input->data = mldfi_alloc(input->capacity, err);
        if (!input->data)
            status = MLDF_E_MEMORY;
    }
    if (status < 0)
        mldfi_input_close(input);
    return status;
}

void mldfi_input_close(struct input *input) {
    if (input->owns_fd && input->fd >= 0)
        close(input->fd);
    free(input->name);
    free(input->data);
    memset(input, 0, sizeof *input);
    input->fd = -1;
}

mldf_status mldfi_input_seek(struct input *input, uint64_t offset, mldf_error *err) {
    if (lseek(input->fd, (off_t)offset, SEEK_SET) != (off_t)offset)
        return mldfi_fail_file_errno(err, errno, input->name, "cannot go to byte %llu", (unsigned long long)offset);
    input->begin = input->end = 0;
    input->at_end = false;
    input->consumed = offset;
    return MLDF_OK;
}

mldf_status mldfi_input_rewind(struct input *input, mldf_error *err) {
    if (input->seekable)
        return mldfi_input_seek(input, 0, err);
    /* Everything is still in the window. */
    input->begin = 0;
    input->recording = false;
    input->consumed = 0;
    return MLDF_OK;
}

bool mldfi_input_may_look(const struct input *input) {
    return !input->recording || input->begin < INPUT_MAX_RECORD;
}

/* Room for at least one chunk after `end`: by moving the window to the front, or by growing. */
static mldf_status make_room(struct input *input, mldf_error *err) {
    if (!input->recording && input->begin > 0) {
        memmove(input->data, input->data + input->begin, input->end - input->begin);
        input->end -= input->begin;
        input->begin = 0;
    }
    if (input->capacity - input->end >= INPUT_CHUNK / 2)
        return MLDF_OK;
    if (input->end - input->begin > INPUT_MAX_ROW)
        return mldfi_fail_file(err, MLDF_E_LIMIT, input->name, "a row of more than %llu bytes: is a quote not closed?",
                               (unsigned long long)INPUT_MAX_ROW);
    size_t capacity = input->capacity * 2 + INPUT_CHUNK;
    char *data = realloc(input->data, capacity);
    if (!data)
        return mldfi_fail_memory(err, capacity);
    input->data = data;
    input->capacity = capacity;
    return MLDF_OK;
}

mldf_status mldfi_input_more(struct input *input, mldf_error *err) {
    if (input->at_end)
        return MLDF_END;
    TRY(make_room(input, err));
    size_t got;
    TRY(mldfi_watched_read(input->fd, input->data + input->end, input->capacity - input->end, input->watch, input->name,
                           &got, err));
    input->at_end = got == 0;
    input->end += got;
    return input->at_end ? MLDF_END : mldfi_watch(input->watch, false, err);
}

void mldfi_input_consume(struct input *input, size_t bytes) {
    input->begin += bytes;
    input->consumed += bytes;
}
