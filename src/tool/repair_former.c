/* repair of payloads with the tables of a former state among them.
 *
 *     payloads of A ── rows, sections, footer of A ── payloads of B ── rows, sections, footer of B ── payloads of C ...
 *
 * An array of fixed shape tells its size on any bytes, so one that follows another may be a row of such a table. The rows of each state begin with
 * that of sample 0, whose payloads are known: where they are said again, the table is, and its other rows say which samples come before it. */
#include <string.h>

#include "reader/reader.h"
#include "tool/repair.h"
#include "util/bytes.h"

enum { PIECE = 1 << 20, STEP = 8 };

bool mldfi_repair_row_says(const mldf_reader *reader, const uint8_t *row, const struct placement *places) {
    for (size_t f = 0; f < reader->schema->field_count; f++) {
        const struct schema_field *field = &reader->schema->fields[f];
        uint64_t ptr, bytes;
        if (field->payload_index == SIZE_MAX)
            continue;
        mldfi_record_payload(field, row + field->info.row_offset, &ptr, &bytes);
        if (ptr != places[field->payload_index].ptr || bytes != places[field->payload_index].bytes)
            return false;
    }
    return true;
}

/* A byte of the file that only a directory, a footer or a header has. */
static bool is_mark(const uint8_t *data, uint64_t left) {
    return (left >= FORMAT_DIRECTORY_MAGIC_BYTES &&
            memcmp(data, mldfi_directory_magic, FORMAT_DIRECTORY_MAGIC_BYTES) == 0) ||
           (left >= FORMAT_MAGIC_BYTES && memcmp(data, mldfi_magic, FORMAT_MAGIC_BYTES) == 0);
}

mldf_status mldfi_repair_find_former(const mldf_reader *reader, const struct placement *first, uint64_t from,
                                     uint64_t end, uint64_t *rows, bool *hidden, mldf_error *err) {
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    mldf_status status = MLDF_OK;
    bool over = false;
    *rows = 0;
    *hidden = false;
    for (uint64_t begin = mldfi_align_up(from, STEP); begin < end && status >= 0 && !over; begin += PIECE) {
        uint64_t more = reader->row_bytes + FORMAT_MAGIC_BYTES;
        uint64_t bytes = end - begin < PIECE + more ? end - begin : PIECE + more;
        const uint8_t *data;
        scratch.size = 0;
        status = mldfi_reader_view(reader, begin, bytes, &scratch, &data, err);
        for (uint64_t at = 0; status >= 0 && at < bytes && at < PIECE && !over; at += STEP) {
            if (bytes - at >= reader->row_bytes && mldfi_repair_row_says(reader, data + at, first))
                *rows = begin + at;
            else
                *hidden = is_mark(data + at, bytes - at);
            over = *rows || *hidden;
        }
    }
    mldf_buffer_free(&scratch);
    return status;
}
