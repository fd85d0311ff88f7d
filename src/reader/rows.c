/* Rows in large pieces, for those who look at all of them: the loader's bounds, a view's table. access.c gets single values. */
#include "reader/reader.h"
#include "util/error.h"

/* The first piece is small: who looks for a few rows has them. */
enum { PIECE_FIRST = 1 << 14, PIECE_BYTES = 1 << 20 };

mldf_status mldfi_reader_rows(const mldf_reader *reader, uint64_t at, mldf_buffer *piece, const uint8_t **rows,
                              uint64_t *end, mldf_error *err) {
    uint64_t row_bytes = reader->row_bytes, left = reader->header.num_samples - at;
    uint64_t bytes = at == 0 ? PIECE_FIRST : PIECE_BYTES, count = row_bytes < bytes ? bytes / row_bytes : 1;
    count = left < count ? left : count;
    *end = at + count;
    piece->size = 0;
    mldf_status status = mldfi_reader_check_blocks(reader, at * row_bytes, count * row_bytes, err);
    if (status >= 0)
        status = mldfi_reader_view(reader, reader->tables.metadata.ptr + at * row_bytes, count * row_bytes, piece, rows,
                                   err);
    return status;
}
