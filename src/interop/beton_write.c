/* Writing a .beton file as a stream: a row, the sample's blobs, and entries of the allocation table, each into a stage
 * (staging.h). Rows stand before the blobs: with the number of samples known both go straight to their place, otherwise aside, and
 * finish adds the place of the first page to every ptr.
 *
 * All blobs of a sample lie in one page. Pages only ever grow: what lies inside one page of 2 MiB lies inside one of 4 MiB.
 * beton_write_field.c checks what FFCV can hold; beton_read.c reads it back. */
#include <stdlib.h>
#include <string.h>

#include "interop/beton_write.h"
#include "interop/staging.h"
#include "os/target.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

#define ULL(v) ((unsigned long long)(v))

struct beton_writer {
    struct beton_write_options options;
    char *path;
    struct os_file file;
    struct beton_field *fields; /* as the reader will see them */
    uint8_t *descriptors;
    uint32_t field_count, row_bytes;
    uint64_t page_size, rows_offset;
    uint64_t base; /* of the first page; 0 while the number of samples is not known */
    struct stage rows, blobs, table;
    uint8_t *row;
    struct beton_totals totals;
    bool failed, finished;
};

/* ---- Opening ---------------------------------------------------------------------------------------------------------------- */

static mldf_status check_options(const struct beton_write_options *o, size_t field_count, mldf_error *err) {
    if (field_count == 0 || field_count > BETON_FIELDS_MAX)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "%zu fields; there are 1 to %d", field_count, BETON_FIELDS_MAX);
    if (o->page_size &&
        (!mldfi_is_power_of_two(o->page_size) || o->page_size < BETON_PAGE_MIN || o->page_size > BETON_PAGE_MAX))
        return mldfi_fail(err, MLDF_E_ARGUMENT, "page size %llu is not a power of two from 2^21 to 2^31",
                          ULL(o->page_size));
    if (!mldfi_is_power_of_two(o->align) || o->align > 4096)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "alignment %u is not a power of two up to 4096", o->align);
    return MLDF_OK;
}

static mldf_status set_fields(struct beton_writer *w, const struct beton_write_field *fields, mldf_error *err) {
    w->fields = mldfi_alloc_zero(w->field_count, sizeof *w->fields, err);
    w->descriptors = mldfi_alloc_zero(w->field_count, BETON_DESCRIPTOR, err);
    if (!w->fields || !w->descriptors)
        return MLDF_E_MEMORY;
    TRY(mldfi_beton_describe(fields, w->field_count, w->fields, w->descriptors, &w->row_bytes, err));
    w->row = mldfi_alloc_zero(1, w->row_bytes, err);
    return w->row ? MLDF_OK : MLDF_E_MEMORY;
}

static mldf_status set_stages(struct beton_writer *w, mldf_error *err) {
    mldfi_stage_beside(&w->table, w->path);
    w->rows_offset = BETON_HEADER + (uint64_t)w->field_count * BETON_DESCRIPTOR;
    if (w->options.count == MLDF_NONE) {
        mldfi_stage_beside(&w->rows, w->path);
        mldfi_stage_beside(&w->blobs, w->path);
        return MLDF_OK;
    }
    uint64_t rows;
    if (!mldfi_mul_u64(w->options.count, w->row_bytes, &rows) || rows > INT64_MAX)
        return mldfi_fail(err, MLDF_E_LIMIT, "%llu samples: their rows would be larger than any file",
                          ULL(w->options.count));
    w->base = mldfi_align_up(w->rows_offset + rows, w->page_size);
    mldfi_stage_into(&w->rows, &w->file, w->rows_offset);
    mldfi_stage_into(&w->blobs, &w->file, w->base);
    return MLDF_OK;
}

mldf_status mldfi_beton_writer_open(struct beton_writer **out, const char *path, const struct beton_write_field *fields,
                                    size_t field_count, const struct beton_write_options *options, mldf_error *err) {
    *out = NULL;
    mldf_status status = check_options(options, field_count, err);
    if (status >= 0)
        status = mldfi_target_check(path, options->overwrite, err);
    if (status < 0)
        return status;
    struct beton_writer *w = mldfi_alloc_zero(1, sizeof *w, err);
    if (!w)
        return MLDF_E_MEMORY;
    w->options = *options;
    w->file = (struct os_file)OS_FILE_NONE;
    w->rows = w->blobs = w->table = (struct stage)STAGE_NONE;
    w->page_size = options->page_size ? options->page_size : BETON_PAGE_MIN;
    w->field_count = (uint32_t)field_count;
    w->path = mldfi_copy_text(path, strlen(path), err);
    status = w->path ? set_fields(w, fields, err) : MLDF_E_MEMORY;
    if (status >= 0)
        status = set_stages(w, err);
    if (status >= 0)
        status = mldfi_file_create_beside(&w->file, path, err);
    if (status < 0) {
        mldfi_beton_writer_free(w);
        return status;
    }
    *out = w;
    return MLDF_OK;
}

void mldfi_beton_writer_free(struct beton_writer *w) {
    if (!w)
        return;
    mldfi_stage_free(&w->rows);
    mldfi_stage_free(&w->blobs);
    mldfi_stage_free(&w->table);
    mldfi_file_discard(&w->file);
    free(w->row);
    free(w->fields);
    free(w->descriptors);
    free(w->path);
    free(w);
}

/* ---- Samples ---------------------------------------------------------------------------------------------------------------- */

/* Where a blob that may begin at `at` begins, and *end where the next may. An empty one takes a byte, so that no two blobs are in
 * one place. */
static uint64_t next_blob(const struct beton_writer *w, uint64_t at, uint64_t bytes, uint64_t *end) {
    uint64_t begin = mldfi_align_up(at, w->options.align);
    *end = begin + (bytes ? bytes : 1);
    return begin;
}

/* Room that the sample's blobs take when the first begins at a multiple of the alignment. */
static mldf_status sample_bytes(const struct beton_writer *w, const struct beton_input *values, uint64_t *out,
                                mldf_error *err) {
    uint64_t at = 0;
    for (uint32_t i = 0; i < w->field_count; i++) {
        mldf_status status = mldfi_beton_check_value(&w->fields[i], &values[i], err);
        if (status < 0) {
            mldfi_error_place(err, w->totals.samples, w->fields[i].name);
            return status;
        }
        if (w->fields[i].has_blob)
            (void)next_blob(w, at, mldfi_beton_blob_bytes(&w->fields[i], &values[i]), &at);
        if (at > BETON_PAGE_MAX) {
            mldfi_fail(err, MLDF_E_LIMIT, "the sample has more than 2 GiB; FFCV's pages end there");
            mldfi_error_place(err, w->totals.samples, w->fields[i].name);
            return MLDF_E_LIMIT;
        }
    }
    *out = at;
    return MLDF_OK;
}

/* Goes to where the sample's first blob may begin: here, or in the next page. */
static mldf_status find_room(struct beton_writer *w, uint64_t bytes, mldf_error *err) {
    while (bytes > w->page_size)
        w->page_size *= 2;
    uint64_t at = w->base + mldfi_stage_bytes(&w->blobs);
    uint64_t begin = mldfi_align_up(at, w->options.align);
    uint64_t page_end = (begin / w->page_size + 1) * w->page_size;
    if (begin + bytes > page_end)
        begin = page_end;
    return begin > at ? mldfi_stage_skip(&w->blobs, begin - at, err) : MLDF_OK;
}

static mldf_status put_blob(struct beton_writer *w, const struct beton_field *f, const struct beton_input *value,
                            uint64_t *ptr, mldf_error *err) {
    static const uint8_t zero[1];
    uint8_t entry[BETON_ENTRY];
    uint64_t at = w->base + mldfi_stage_bytes(&w->blobs), bytes = mldfi_beton_blob_bytes(f, value), end;
    *ptr = next_blob(w, at, bytes, &end);
    mldf_status status = *ptr > at ? mldfi_stage_skip(&w->blobs, *ptr - at, err) : MLDF_OK;
    if (status >= 0)
        status = mldfi_stage_push(&w->blobs, value->data, value->bytes, err);
    if (status >= 0 && value->bytes < end - *ptr) /* JSON's NUL, or the one byte of an empty blob */
        status = mldfi_stage_push(&w->blobs, zero, 1, err);
    mldfi_store_u64(entry, w->totals.samples);
    mldfi_store_u64(entry + 8, *ptr);
    mldfi_store_u64(entry + 16, bytes);
    w->totals.blobs++;
    w->totals.blob_bytes += bytes;
    return status < 0 ? status : mldfi_stage_push(&w->table, entry, sizeof entry, err);
}

static mldf_status put_sample(struct beton_writer *w, const struct beton_input *values, uint64_t bytes,
                              mldf_error *err) {
    mldf_status status = bytes > 0 ? find_room(w, bytes, err) : MLDF_OK;
    memset(w->row, 0, w->row_bytes);
    for (uint32_t i = 0; status >= 0 && i < w->field_count; i++) {
        uint64_t ptr = 0;
        if (w->fields[i].has_blob)
            status = put_blob(w, &w->fields[i], &values[i], &ptr, err);
        mldfi_beton_fill_record(&w->fields[i], &values[i], ptr, w->row + w->fields[i].offset);
    }
    if (status >= 0)
        status = mldfi_stage_push(&w->rows, w->row, w->row_bytes, err);
    w->totals.samples++;
    return status;
}

mldf_status mldfi_beton_writer_add(struct beton_writer *w, const struct beton_input *values, mldf_error *err) {
    uint64_t bytes;
    TRY(mldfi_stage_check_state(w->failed, w->finished, err));
    if (w->options.count != MLDF_NONE && w->totals.samples >= w->options.count)
        return mldfi_fail(err, MLDF_E_STATE, "%llu samples were announced, and there is one more",
                          ULL(w->options.count));
    TRY(sample_bytes(w, values, &bytes, err));
    mldf_status status = put_sample(w, values, bytes, err);
    w->failed = status < 0;
    return status;
}

/* ---- Finishing -------------------------------------------------------------------------------------------------------------- */

static void shift(uint8_t *at, uint64_t by) {
    mldfi_store_u64(at, mldfi_load_u64(at) + by);
}

/* Add the base to the pointers of a record. */
static void shift_row(const void *user, uint8_t *row) {
    const struct beton_writer *w = user;
    for (uint32_t i = 0; i < w->field_count; i++)
        if (w->fields[i].has_blob)
            shift(row + w->fields[i].offset + w->fields[i].ptr_at, w->base);
}

static void shift_entry(const void *user, uint8_t *entry) {
    shift(entry + 8, ((const struct beton_writer *)user)->base);
}

static mldf_status put_together(struct beton_writer *w, uint64_t table_offset, mldf_error *err) {
    mldf_status status;
    if (w->options.count != MLDF_NONE) {
        status = mldfi_stage_flush(&w->rows, err);
        if (status >= 0)
            status = mldfi_stage_flush(&w->blobs, err);
        return status < 0 ? status : mldfi_stage_copy(&w->table, &w->file, table_offset, err);
    }
    status = mldfi_stage_move(&w->rows, &w->file, w->rows_offset, w->row_bytes, shift_row, w, err);
    if (status >= 0)
        status = mldfi_stage_copy(&w->blobs, &w->file, w->base, err);
    return status < 0 ? status : mldfi_stage_move(&w->table, &w->file, table_offset, BETON_ENTRY, shift_entry, w, err);
}

static mldf_status put_front(struct beton_writer *w, uint64_t table_offset, mldf_error *err) {
    uint8_t p[BETON_HEADER];
    mldfi_store_u16(p, 2);
    mldfi_store_u16(p + 2, (uint16_t)w->field_count);
    mldfi_store_u32(p + 4, (uint32_t)w->page_size);
    mldfi_store_u64(p + 8, w->totals.samples);
    mldfi_store_u64(p + 16, table_offset);
    mldf_status status = mldfi_file_write(&w->file, 0, p, sizeof p, err);
    return status < 0 ? status
                      : mldfi_file_write(&w->file, BETON_HEADER, w->descriptors,
                                         (size_t)w->field_count * BETON_DESCRIPTOR, err);
}

static mldf_status finish(struct beton_writer *w, mldf_error *err) {
    TRY(mldfi_stage_check_count(w->options.count, w->totals.samples, err));
    uint64_t rows_end = w->rows_offset + w->totals.samples * w->row_bytes, table = rows_end;
    if (w->options.count == MLDF_NONE)
        w->base = mldfi_align_up(rows_end, w->page_size);
    if (w->totals.blobs > 0) /* without blobs there are no pages, and the table is where they would begin */
        table = mldfi_align_up(w->base + mldfi_stage_bytes(&w->blobs), w->options.full_pages ? w->page_size : 8);
    w->totals.page_size = w->page_size;
    w->totals.file_bytes = table + mldfi_stage_bytes(&w->table);
    mldf_status status = put_together(w, table, err);
    if (status >= 0)
        status = put_front(w, table, err);
    return status < 0 ? status
                      : mldfi_stage_publish(&w->file, w->totals.file_bytes, w->path, w->options.overwrite, err);
}

mldf_status mldfi_beton_writer_finish(struct beton_writer *w, struct beton_totals *totals, mldf_error *err) {
    TRY(mldfi_stage_check_state(w->failed, w->finished, err));
    mldf_status status = finish(w, err);
    w->failed = status < 0;
    w->finished = status >= 0;
    if (status >= 0 && totals)
        *totals = w->totals;
    return status;
}

/* ---- Without a file --------------------------------------------------------------------------------------------------------- */

/* The end of `count` blobs of `bytes` each, which never cross the end of a page; *cursor is where the first may begin. */
static bool place_equal(uint64_t count, uint64_t bytes, uint64_t align, uint64_t page_size, uint64_t *cursor) {
    uint64_t step = mldfi_align_up(bytes, align), page_end = (*cursor / page_size + 1) * page_size;
    uint64_t fit = page_end - *cursor < bytes ? 0 : 1 + (page_end - *cursor - bytes) / step;
    if (fit < count) {
        uint64_t each = 1 + (page_size - bytes) / step, more = (count - fit - 1) / each, jump;
        if (!mldfi_mul_u64(more, page_size, &jump) || !mldfi_add_u64(page_end, jump, cursor) || *cursor > INT64_MAX)
            return false;
        count -= fit + more * each;
    }
    *cursor += (count - 1) * step + bytes;
    return true;
}

mldf_status mldfi_beton_plan(const struct beton_write_field *fields, size_t field_count, const uint64_t *value_bytes,
                             const struct beton_write_options *options, struct beton_layout *out, mldf_error *err) {
    struct beton_writer w = {.options = *options, .field_count = (uint32_t)field_count};
    uint64_t at = 0, blobs = 0, rows = 0;
    bool known = true;
    mldf_status status = check_options(options, field_count, err);
    if (status >= 0)
        status = set_fields(&w, fields, err);
    for (size_t i = 0; status >= 0 && i < field_count; i++) {
        const struct beton_input value = {.bytes = value_bytes[i]};
        if (!w.fields[i].has_blob)
            continue;
        blobs++;
        known = known && value.bytes != MLDF_NONE;
        if (known)
            (void)next_blob(&w, at, mldfi_beton_blob_bytes(&w.fields[i], &value), &at);
        if (at > BETON_PAGE_MAX)
            status = mldfi_fail(err, MLDF_E_LIMIT, "the sample has more than 2 GiB; FFCV's pages end there");
    }
    if (status >= 0 && (!mldfi_mul_u64(options->count, w.row_bytes, &rows) || rows > INT64_MAX))
        status = mldfi_fail(err, MLDF_E_LIMIT, "%llu samples: their rows would be larger than any file",
                            ULL(options->count));
    if (status >= 0) {
        uint64_t page = options->page_size ? options->page_size : BETON_PAGE_MIN;
        uint64_t rows_end = BETON_HEADER + (uint64_t)field_count * BETON_DESCRIPTOR + rows;
        *out = (struct beton_layout){rows, rows_end, rows_end, options->count * blobs * BETON_ENTRY};
        if (blobs && options->count) {
            out->data_begin = out->data_end = mldfi_align_up(rows_end, page);
            while (at > page)
                page *= 2;
            if (!known)
                out->data_end = MLDF_NONE;
            else if (!place_equal(options->count, at, options->align, page, &out->data_end))
                status = mldfi_fail(err, MLDF_E_LIMIT, "the file would pass 2^63 bytes");
        }
    }
    free(w.row);
    free(w.fields);
    free(w.descriptors);
    return status;
}
