/* A text source that is read once from front to back: a file, a pipe, standard input ("-") or memory. Its one idea: the reader above
 * sees a window of contiguous bytes that only grows at the end, so that a row is always in one piece.
 *
 * The first pass of type inference wants to look at the beginning and come back: a regular file seeks, anything else keeps what it
 * read in memory until mldfi_input_rewind. Next: csv.h and jsonl.h, which cut the window into rows. */
#ifndef MLDF_TOOL_INPUT_H
#define MLDF_TOOL_INPUT_H

#include "mldf/base.h"

enum { INPUT_CHUNK = 1 << 18 };
/* A row longer than this is an error: most likely a quote that was never closed. */
#define INPUT_MAX_ROW (UINT64_C(1) << 30)
/* A pipe keeps at most about this much for the second look. */
#define INPUT_MAX_RECORD (UINT64_C(64) << 20)

/* Asked between reads; false cancels. */
struct input_watch {
    mldf_progress_fn progress;
    void *user;
    mldf_progress now;
    double last; /* time of the last call */
};
/* Calls the hook when a tenth of a second went by. MLDF_E_CANCELLED when it says so. */
mldf_status mldfi_watch(struct input_watch *watch, bool at_once, mldf_error *err);
/* open, to read; a FIFO may wait for its writer, here or in mldfi_watched_read, and whoever watches can end the wait. */
mldf_status mldfi_watched_open(const char *path, struct input_watch *watch, int *fd, mldf_error *err);
/* read; *got 0: the end. A pipe may be silent for long: whoever watches is asked meanwhile, and can end the wait. */
mldf_status mldfi_watched_read(int fd, void *dst, size_t room, struct input_watch *watch, const char *name, size_t *got,
                               mldf_error *err);

struct input {
    char *name; /* for messages */
    int fd;     /* -1: memory */
    bool owns_fd;
    bool seekable;
    bool recording; /* not seekable: keep everything from the first byte on */
    bool at_end;
    char *data; /* the window: [begin, end) is not consumed yet */
    size_t begin, end, capacity;
    uint64_t consumed;         /* bytes given up so far */
    uint64_t total_bytes;      /* size of a regular file, or MLDF_NONE */
    struct input_watch *watch; /* may be NULL */
};

/* record: mldfi_input_rewind will be called. */
mldf_status mldfi_input_open(struct input *input, const char *path, bool record, struct input_watch *watch,
                             mldf_error *err);
mldf_status mldfi_input_memory(struct input *input, const char *name, const void *data, size_t bytes, mldf_error *err);
void mldfi_input_close(struct input *input);
/* Back to the first byte; recording ends. */
mldf_status mldfi_input_rewind(struct input *input, mldf_error *err);
/* A regular file only. */
mldf_status mldfi_input_seek(struct input *input, uint64_t offset, mldf_error *err);
/* May more be looked at, or is the record of a pipe full? */
bool mldfi_input_may_look(const struct input *input);

/* Adds bytes to the window (its place in memory may change; offsets from begin stay). MLDF_END when there are no more. */
mldf_status mldfi_input_more(struct input *input, mldf_error *err);
/* The byte at offset `at` of the window, which grows for it; -1 at the end of the input, -2 on an error. */
static inline int mldfi_input_peek(struct input *input, size_t at, mldf_error *err) {
    while (at >= input->end - input->begin) {
        mldf_status status = mldfi_input_more(input, err);
        if (status < 0)
            return -2;
        if (status == MLDF_END)
            return -1;
    }
    return (unsigned char)input->data[input->begin + at];
}
/* Gives up the first `bytes` of the window. */
void mldfi_input_consume(struct input *input, size_t bytes);

#endif
