/* Table streams with a bounded memory (see spill.h). The one idea: all streams share one limit and one file, so a schema with a
 * thousand nullable fields costs no more descriptors than one with two columns. Read row_tables.c next. */
#include "writer/spill.h"

#include <stdlib.h>
#include <string.h>

#include "util/buffer.h"
#include "util/error.h"

mldf_status mldfi_spill_init(struct spill *spill, const char *target, mldf_error *err) {
    *spill = (struct spill){.file = OS_FILE_NONE};
    spill->target = mldfi_copy_text(target, strlen(target), err);
    return spill->target ? MLDF_OK : MLDF_E_MEMORY;
}

void mldfi_spill_free(struct spill *spill) {
    for (struct spill_stream *s = spill->first; s; s = s->next) {
        mldf_buffer_free(&s->tail);
        free(s->extents);
        s->extents = NULL;
    }
    mldfi_file_close(&spill->file);
    free(spill->target);
    *spill = (struct spill){.file = OS_FILE_NONE};
}

void mldfi_stream_init(struct spill_stream *stream, struct spill *spill) {
    *stream = (struct spill_stream){.spill = spill, .next = spill->first};
    spill->first = stream;
}

void mldfi_stream_clear(struct spill_stream *stream) {
    stream->spill->buffered -= stream->tail.size;
    mldf_buffer_free(&stream->tail);
    stream->spilled = 0;
    stream->extent_count = 0;
}

void mldfi_spill_remove(struct spill *spill, struct spill_stream *streams, size_t count) {
    struct spill_stream **link = &spill->first;
    while (*link) {
        struct spill_stream *s = *link;
        if (s < streams || s >= streams + count) {
            link = &s->next;
            continue;
        }
        *link = s->next;
        mldfi_stream_clear(s);
        free(s->extents);
        s->extents = NULL;
    }
}

static mldf_status spill_stream_tail(struct spill_stream *stream, mldf_error *err) {
    struct spill *spill = stream->spill;
    if (stream->tail.size == 0)
        return MLDF_OK;
    TRY(mldfi_array_reserve(&stream->extents, &stream->extent_capacity, stream->extent_count + 1,
                            sizeof *stream->extents, err));
    TRY(mldfi_file_write(&spill->file, spill->file_bytes, stream->tail.data, stream->tail.size, err));
    stream->extents[stream->extent_count++] =
        (struct spill_extent){stream->spilled, spill->file_bytes, stream->tail.size};
    spill->file_bytes += stream->tail.size;
    stream->spilled += stream->tail.size;
    spill->buffered -= stream->tail.size;
    stream->tail.size = 0;
    return MLDF_OK;
}

mldf_status mldfi_spill_flush(struct spill *spill, mldf_error *err) {
    mldf_status status;
    if (spill->file.fd < 0 && (status = mldfi_file_create_unlinked(&spill->file, spill->target, err)) < 0)
        return status;
    for (struct spill_stream *s = spill->first; s; s = s->next)
        if ((status = spill_stream_tail(s, err)) < 0)
            return status;
    return MLDF_OK;
}

mldf_status mldfi_stream_push(struct spill_stream *stream, const void *data, size_t bytes, mldf_error *err) {
    TRY(mldf_buffer_append(&stream->tail, data, bytes, err));
    stream->spill->buffered += bytes;
    return stream->spill->buffered > SPILL_LIMIT ? mldfi_spill_flush(stream->spill, err) : MLDF_OK;
}

/* The extent that holds `offset`; there is one, since offset < spilled. */
static const struct spill_extent *find_extent(const struct spill_stream *stream, uint64_t offset) {
    size_t low = 0, high = stream->extent_count - 1;
    while (low < high) {
        size_t middle = low + (high - low + 1) / 2;
        if (stream->extents[middle].stream_offset <= offset)
            low = middle;
        else
            high = middle - 1;
    }
    return &stream->extents[low];
}

mldf_status mldfi_stream_read(const struct spill_stream *stream, uint64_t offset, void *dst, size_t bytes,
                              mldf_error *err) {
    uint8_t *to = dst;
    while (bytes > 0 && offset < stream->spilled) {
        const struct spill_extent *extent = find_extent(stream, offset);
        uint64_t skip = offset - extent->stream_offset;
        size_t part = extent->bytes - skip < bytes ? (size_t)(extent->bytes - skip) : bytes;
        TRY(mldfi_file_read(&stream->spill->file, extent->file_offset + skip, to, part, err));
        to += part;
        offset += part;
        bytes -= part;
    }
    if (bytes > 0)
        memcpy(to, stream->tail.data + (offset - stream->spilled), bytes);
    return MLDF_OK;
}
