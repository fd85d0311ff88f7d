/* Table streams: bytes pushed one after the other, read back at finish. Together they hold at most SPILL_LIMIT bytes in
 * memory; beyond that every stream's bytes go to one unlinked temporary file, as extents. One file serves any number of streams. */
#ifndef MLDF_WRITER_SPILL_H
#define MLDF_WRITER_SPILL_H

#include "mldf/base.h"
#include "os/file.h"

enum { SPILL_LIMIT = 32 << 20 };

struct spill_stream;

struct spill {
    char *target; /* the temporary file is made beside it */
    struct os_file file;
    uint64_t file_bytes;
    size_t buffered; /* over all streams */
    struct spill_stream *first;
};

struct spill_extent {
    uint64_t stream_offset, file_offset, bytes;
};

struct spill_stream {
    struct spill *spill;
    struct spill_stream *next;
    mldf_buffer tail; /* not yet spilled */
    uint64_t spilled; /* bytes in the extents */
    struct spill_extent *extents;
    size_t extent_count, extent_capacity;
};

mldf_status mldfi_spill_init(struct spill *spill, const char *target, mldf_error *err);
/* Everything that is still in memory goes to the file. */
mldf_status mldfi_spill_flush(struct spill *spill, mldf_error *err);
/* Frees the file and every stream's memory. */
void mldfi_spill_free(struct spill *spill);

/* The stream itself is the caller's and must stay where it is until mldfi_spill_free. */
void mldfi_stream_init(struct spill_stream *stream, struct spill *spill);
/* Takes an array of streams out again and frees their memory. */
void mldfi_spill_remove(struct spill *spill, struct spill_stream *streams, size_t count);
mldf_status mldfi_stream_push(struct spill_stream *stream, const void *data, size_t bytes, mldf_error *err);
static inline uint64_t mldfi_stream_bytes(const struct spill_stream *stream) {
    return stream->spilled + stream->tail.size;
}
/* All of [offset, offset+bytes), which must have been pushed. */
mldf_status mldfi_stream_read(const struct spill_stream *stream, uint64_t offset, void *dst, size_t bytes,
                              mldf_error *err);
/* Forgets this stream's bytes (those in the file stay there until the end). */
void mldfi_stream_clear(struct spill_stream *stream);

#endif
