/* The page map of a file that is appended to. The old map counts only as far as the old metadata table stands behind the payloads: another
 * writer may put its tables before them, or leave the map out. Then it is made anew from the rows, some pages at a time, so that the
 * memory it takes does not grow with the file. */
#include <stdlib.h>
#include <string.h>

#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"
#include "writer/append_writer.h"

enum { PAGES_AT_ONCE = 1 << 20, SECTION_STEP = 65536 };

/* Has every payload a page in the map? The allocation table ascends, so its last entry says it. */
static mldf_status map_covers(const mldf_reader *reader, bool *out, mldf_error *err) {
    uint64_t entries = reader->tables.allocation.entries, ptr = 0, bytes = 0;
    *out = reader->page_map != NULL;
    if (!*out || entries == 0)
        return MLDF_OK;
    mldf_status status = mldfi_reader_allocation(reader, entries - 1, &ptr, &bytes, err);
    if (status < 0 || ptr < reader->header.data_ptr || !mldfi_range_inside(ptr, bytes, reader->end))
        return status; /* an entry that verify calls corrupt says nothing */
    uint64_t pages = reader->page_map->size / 8, last = ptr + bytes - reader->header.data_ptr;
    *out = last / reader->header.page_size + (last % reader->header.page_size != 0) <= pages;
    return MLDF_OK;
}

struct page_window {
    uint64_t first, count;
    uint64_t *lowest;
};

static void note_payload(struct page_window *w, const struct header *header, uint64_t sample, uint64_t ptr,
                         uint64_t bytes) {
    uint64_t from = (ptr - header->data_ptr) / header->page_size;
    uint64_t to = (ptr + bytes - 1 - header->data_ptr) / header->page_size;
    for (uint64_t page = from < w->first ? w->first : from; page <= to && page < w->first + w->count; page++)
        if (sample < w->lowest[page - w->first])
            w->lowest[page - w->first] = sample;
}

static mldf_status note_rows(struct page_window *w, const mldf_reader *reader, mldf_error *err) {
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    mldf_status status = MLDF_OK;
    memset(w->lowest, 0xff, (size_t)(8 * w->count));
    for (uint64_t i = 0; i < reader->header.num_samples && status >= 0; i++) {
        const uint8_t *row;
        scratch.size = 0;
        status = mldfi_reader_row(reader, i, &scratch, &row, err);
        for (size_t f = 0; f < reader->schema->field_count && status >= 0; f++) {
            const struct schema_field *field = &reader->schema->fields[f];
            uint64_t ptr, bytes;
            if (!mldfi_field_has_payload(field))
                continue;
            mldfi_record_payload(field, row + field->info.row_offset, &ptr, &bytes);
            if (bytes && ptr >= reader->header.data_ptr && mldfi_range_inside(ptr, bytes, reader->end))
                note_payload(w, &reader->header, i, ptr, bytes);
        }
    }
    mldf_buffer_free(&scratch);
    return status;
}

static mldf_status give_window(const struct page_window *w, mldfi_take_fn take, void *user, mldf_error *err) {
    mldf_status status = MLDF_OK;
    for (uint64_t page = 0; page < w->count && status >= 0; page++) {
        uint8_t word[8];
        mldfi_store_u64(word, w->lowest[page]);
        status = take(user, word, sizeof word, err);
    }
    return status;
}

static mldf_status make_map(const mldf_reader *reader, mldfi_take_fn take, void *user, mldf_error *err) {
    uint64_t data = reader->end - reader->header.data_ptr; /* O17 */
    uint64_t pages = data / reader->header.page_size + (data % reader->header.page_size != 0);
    struct page_window w = {.count = pages < PAGES_AT_ONCE ? pages : PAGES_AT_ONCE};
    w.lowest = mldfi_alloc((size_t)(8 * w.count), err);
    mldf_status status = w.lowest ? MLDF_OK : MLDF_E_MEMORY;
    for (; w.first < pages && status >= 0; w.first += w.count) {
        if (w.count > pages - w.first)
            w.count = pages - w.first;
        status = note_rows(&w, reader, err);
        if (status >= 0)
            status = give_window(&w, take, user, err);
    }
    free(w.lowest);
    return status;
}

mldf_status mldfi_replay_page_map(const mldf_reader *reader, mldfi_take_fn take, void *user, mldf_error *err) {
    bool covers;
    if (reader->schema->payload_count == 0)
        return MLDF_OK;
    TRY(map_covers(reader, &covers, err));
    return covers ? mldfi_replay_section(reader, reader->page_map, SECTION_STEP, take, user, err)
                  : make_map(reader, take, user, err);
}
