/* Where bytes come from: a mapping, borrowed memory, or positional reads. Every range is checked against the logical end
 * of the file here, once more, so that a mistake in a caller cannot become a read outside the file. open.c comes next. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "os/direct.h"
#include "reader/reader.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/crc32c.h"
#include "util/error.h"

mldf_status mldfi_reader_fail(const mldf_reader *reader, mldf_error *err, mldf_status status, uint64_t offset,
                              const char *format, ...) {
    char text[MLDF_MESSAGE_MAX + 1];
    va_list args;
    if (!err)
        return status;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    mldfi_fail_at(err, status, offset, "%s", text);
    return mldfi_reader_name_error(reader, err, status);
}

mldf_status mldfi_reader_name_error(const mldf_reader *reader, mldf_error *err, mldf_status status) {
    if (reader->path && reader->path[0])
        mldfi_error_path(err, reader->path);
    return status;
}

mldf_status mldfi_scratch_place(mldf_buffer *scratch, size_t bytes, size_t lead, uint8_t **out, mldf_error *err) {
    /* The least start >= size with (start + lead) on a multiple of 64. */
    size_t start = scratch->size, pad = (64 - (start + lead) % 64) % 64;
    uint8_t *where;
    if (bytes > SIZE_MAX - pad)
        return mldfi_fail_memory(err, SIZE_MAX);
    TRY(mldfi_buffer_extend(scratch, pad + bytes, &where, err));
    *out = where + pad;
    return MLDF_OK;
}

static mldf_status check_range(const mldf_reader *reader, uint64_t offset, uint64_t bytes, mldf_error *err) {
    if (mldfi_range_inside(offset, bytes, reader->end))
        return MLDF_OK;
    return mldfi_reader_fail(reader, err, MLDF_E_CORRUPT, offset,
                             "%" PRIu64 " bytes from byte %" PRIu64 " pass the end of the file at %" PRIu64, bytes,
                             offset, reader->end);
}

mldf_status mldfi_reader_view_lead(const mldf_reader *reader, uint64_t offset, uint64_t bytes, size_t lead,
                                   mldf_buffer *scratch, const uint8_t **out, mldf_error *err) {
    TRY(check_range(reader, offset, bytes, err));
    if (reader->mapped) {
        *out = reader->map.data ? reader->map.data + offset : (const uint8_t *)"";
        return MLDF_OK;
    }
    if (!scratch)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "a file that is not mapped needs a scratch buffer");
    if (bytes > SIZE_MAX / 2)
        return mldfi_fail_memory(err, SIZE_MAX);
    uint8_t *where;
    mldf_status status = mldfi_scratch_place(scratch, (size_t)bytes, lead, &where, err);
    if (status >= 0 && reader->direct && bytes >= OS_DIRECT_LEAST)
        status = mldfi_direct_read(reader->direct, reader->path, offset, where, (size_t)bytes, err);
    else if (status >= 0)
        status = mldfi_file_read(&reader->file, offset, where, (size_t)bytes, err);
    *out = where;
    return status;
}

mldf_status mldfi_reader_view(const mldf_reader *reader, uint64_t offset, uint64_t bytes, mldf_buffer *scratch,
                              const uint8_t **out, mldf_error *err) {
    return mldfi_reader_view_lead(reader, offset, bytes, 0, scratch, out, err);
}

mldf_status mldfi_reader_copy(const mldf_reader *reader, uint64_t offset, void *dst, size_t bytes, mldf_error *err) {
    mldf_status status = check_range(reader, offset, bytes, err);
    if (status < 0 || bytes == 0)
        return status;
    if (!reader->mapped)
        return mldfi_file_read(&reader->file, offset, dst, bytes, err);
    memcpy(dst, reader->map.data + offset, bytes);
    return MLDF_OK;
}

mldf_status mldfi_reader_crc(const mldf_reader *reader, uint64_t offset, uint64_t bytes, uint32_t *crc,
                             mldf_error *err) {
    mldf_status status = check_range(reader, offset, bytes, err);
    uint32_t value = 0;
    *crc = 0;
    if (status < 0 || bytes == 0)
        return status;
    if (reader->mapped) {
        *crc = mldfi_crc32c(0, reader->map.data + offset, (size_t)bytes);
        return MLDF_OK;
    }
    size_t piece = bytes < READER_CHUNK ? (size_t)bytes : (size_t)READER_CHUNK;
    uint8_t *chunk = mldfi_alloc(piece, err);
    if (!chunk)
        return MLDF_E_MEMORY;
    while (bytes > 0 && status >= 0) {
        size_t now = bytes < piece ? (size_t)bytes : piece;
        status = mldfi_file_read(&reader->file, offset, chunk, now, err);
        if (status >= 0)
            value = mldfi_crc32c(value, chunk, now);
        offset += now;
        bytes -= now;
    }
    free(chunk);
    *crc = value;
    return status;
}
