/* Opening a .beton file: header, descriptors, row layout, and the allocation table put in order, so that the length of a blob
 * is a binary search. Nothing the file says is used before it is bounded. beton_value.c reads the rows. */
#include <stdlib.h>
#include <string.h>

#include "interop/beton_inner.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

#define ULL(v) ((unsigned long long)(v))

enum { FIELDS_MAX = 4096 };

static mldf_status read_header(struct beton *b, mldf_error *err) {
    const uint8_t *p = b->data;
    if (b->bytes < BETON_HEADER)
        return mldfi_fail_at(err, MLDF_E_TRUNCATED, b->bytes, "the header is %d bytes, the file ends at %llu",
                             BETON_HEADER, ULL(b->bytes));
    if (mldfi_load_u16(p) != 2)
        return mldfi_fail_at(err, MLDF_E_VERSION, 0, "version is %u; a .beton file has 2", mldfi_load_u16(p));
    b->info.field_count = mldfi_load_u16(p + 2);
    b->info.page_size = mldfi_load_u32(p + 4);
    b->info.count = mldfi_load_u64(p + 8);
    b->info.table_offset = mldfi_load_u64(p + 16);
    if (b->info.field_count == 0 || b->info.field_count > FIELDS_MAX)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, 2, "%u fields; there are 1 to %d", b->info.field_count, FIELDS_MAX);
    if (!mldfi_is_power_of_two(b->info.page_size) || b->info.page_size < BETON_PAGE_MIN)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, 4, "page size %llu is not a power of two from 2^21 to 2^31",
                             ULL(b->info.page_size));
    b->info.rows_offset = BETON_HEADER + (uint64_t)b->info.field_count * BETON_DESCRIPTOR;
    if (b->info.rows_offset > b->bytes)
        return mldfi_fail_at(err, MLDF_E_TRUNCATED, b->bytes,
                             "the descriptors of %u fields end at byte %llu, the file at %llu", b->info.field_count,
                             ULL(b->info.rows_offset), ULL(b->bytes));
    if (b->info.table_offset > b->bytes)
        return mldfi_fail_at(
            err, MLDF_E_TRUNCATED, 16,
            "the allocation table begins at byte %llu, the file ends at %llu (FFCV leaves such a file when its writer is interrupted)",
            ULL(b->info.table_offset), ULL(b->bytes));
    if (b->info.table_offset < b->info.rows_offset)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, 16, "the allocation table at byte %llu begins inside the descriptors",
                             ULL(b->info.table_offset));
    b->info.entry_count = (b->bytes - b->info.table_offset) / BETON_ENTRY; /* up to 23 bytes may follow */
    return MLDF_OK;
}

bool mldfi_beton_is(const void *data, uint64_t bytes) {
    struct beton b = {.data = data, .bytes = bytes};
    return read_header(&b, NULL) >= 0;
}

/* ---- The table ----------------------------------------------------------------------------------------------------------- */

static struct beton_entry entry_in_file(const struct beton *b, uint64_t i) {
    const uint8_t *p = b->data + b->info.table_offset + i * BETON_ENTRY;
    return (struct beton_entry){
        .sample = mldfi_load_u64(p), .ptr = mldfi_load_u64(p + 8), .size = mldfi_load_u64(p + 16)};
}

static int compare(const void *x, const void *y) {
    const struct beton_entry *a = x, *b = y;
    if (a->ptr != b->ptr)
        return a->ptr < b->ptr ? -1 : 1;
    if (a->size != b->size)
        return a->size < b->size ? -1 : 1;
    return a->sample < b->sample ? -1 : a->sample > b->sample;
}

static mldf_status sort_table(struct beton *b, mldf_error *err) {
    uint64_t count = b->info.entry_count;
    bool in_order = true;
    for (uint64_t i = 1; i < count && in_order; i++) {
        struct beton_entry before = entry_in_file(b, i - 1), now = entry_in_file(b, i);
        in_order = before.ptr < now.ptr || (before.ptr == now.ptr && before.size <= now.size);
    }
    if (in_order)
        return MLDF_OK;
    b->sorted = mldfi_alloc_zero((size_t)count, sizeof *b->sorted, err);
    if (!b->sorted)
        return MLDF_E_MEMORY;
    for (uint64_t i = 0; i < count; i++)
        b->sorted[i] = entry_in_file(b, i);
    qsort(b->sorted, (size_t)count, sizeof *b->sorted, compare);
    return MLDF_OK;
}

struct beton_entry mldfi_beton_entry(const struct beton *b, uint64_t i) {
    return b->sorted ? b->sorted[i] : entry_in_file(b, i);
}

uint64_t mldfi_beton_first(const struct beton *b, uint64_t ptr) {
    uint64_t low = 0, high = b->info.entry_count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (mldfi_beton_entry(b, middle).ptr < ptr)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool mldfi_beton_blob(const struct beton *b, uint64_t ptr, uint64_t *size) {
    /* Equal places are in the order of their sizes: the last of them is the longest. */
    uint64_t behind = ptr == UINT64_MAX ? b->info.entry_count : mldfi_beton_first(b, ptr + 1);
    if (behind == 0)
        return false;
    struct beton_entry e = mldfi_beton_entry(b, behind - 1);
    *size = e.size;
    return e.ptr == ptr;
}

/* ---- Fields ---------------------------------------------------------------------------------------------------------------- */

static mldf_status read_descriptors(struct beton *b, struct beton_width *widths, const struct beton_options *options,
                                    mldf_error *err) {
    size_t custom = 0;
    for (uint32_t i = 0; i < b->info.field_count; i++) {
        uint64_t at = BETON_HEADER + (uint64_t)i * BETON_DESCRIPTOR;
        const uint8_t *p = b->data + at;
        struct beton_field *f = &b->fields[i];
        mldf_status status = MLDF_OK;
        f->type = p[0];
        memcpy(f->name, p + 1, BETON_NAME);
        f->arguments = p + 1 + BETON_NAME;
        if (f->type == BETON_CUSTOM) {
            if (options && custom < options->width_count)
                widths[i] = options->widths[custom++];
            if (widths[i].bytes && !mldfi_is_power_of_two(widths[i].align))
                status = mldfi_fail(err, MLDF_E_ARGUMENT, "alignment %u is not a power of two", widths[i].align);
        } else if (!mldfi_beton_record(f->type, &widths[i], &f->has_blob, &f->ptr_at)) {
            status = mldfi_fail_at(err, MLDF_E_CORRUPT, at, "type %u is none of FFCV's", f->type);
        } else if (f->type == BETON_NDARRAY || f->type == BETON_TENSOR) {
            status = mldfi_beton_parse_array(f, err);
            if (status < 0 && err)
                err->offset = at;
        }
        if (status < 0) {
            mldfi_error_place(err, MLDF_NONE, f->name);
            return status;
        }
    }
    return MLDF_OK;
}

static mldf_status lay_out(struct beton *b, struct beton_width *widths, mldf_error *err) {
    TRY(mldfi_beton_find_widths(b, widths, err));
    if (!mldfi_beton_layout(b->fields, b->info.field_count, widths, &b->info.row_bytes))
        return mldfi_fail(err, MLDF_E_LIMIT, "a row is larger than 2 GiB");
    uint64_t rows;
    if (!mldfi_mul_u64(b->info.count, b->info.row_bytes, &rows) ||
        !mldfi_add_u64(rows, b->info.rows_offset, &b->rows_end))
        return mldfi_fail_at(err, MLDF_E_CORRUPT, 8, "%llu samples cannot be: their rows would be larger than any file",
                             ULL(b->info.count));
    if (b->rows_end > b->info.table_offset)
        return mldfi_fail_at(
            err, b->rows_end > b->bytes ? MLDF_E_TRUNCATED : MLDF_E_CORRUPT, 8,
            "the rows of %llu samples, %u bytes each, end at byte %llu, after the allocation table at %llu",
            ULL(b->info.count), b->info.row_bytes, ULL(b->rows_end), ULL(b->info.table_offset));
    return MLDF_OK;
}

static mldf_status open_parts(struct beton *b, const struct beton_options *options, mldf_error *err) {
    TRY(read_header(b, err));
    b->fields = mldfi_alloc_zero(b->info.field_count, sizeof *b->fields, err);
    struct beton_width *widths = mldfi_alloc_zero(b->info.field_count, sizeof *widths, err);
    mldf_status status = b->fields && widths ? MLDF_OK : MLDF_E_MEMORY;
    if (status >= 0)
        status = read_descriptors(b, widths, options, err);
    if (status >= 0)
        status = sort_table(b, err);
    if (status >= 0)
        status = lay_out(b, widths, err);
    free(widths);
    return status;
}

mldf_status mldfi_beton_open(struct beton **out, const void *data, uint64_t bytes, const struct beton_options *options,
                             mldf_error *err) {
    *out = NULL;
    struct beton *b = mldfi_alloc_zero(1, sizeof *b, err);
    if (!b)
        return MLDF_E_MEMORY;
    b->data = data;
    b->bytes = bytes;
    mldf_status status = open_parts(b, options, err);
    if (status < 0) {
        mldfi_beton_close(b);
        return status;
    }
    *out = b;
    return MLDF_OK;
}

void mldfi_beton_close(struct beton *b) {
    if (!b)
        return;
    free(b->sorted);
    free(b->fields);
    free(b);
}

const struct beton_info *mldfi_beton_info(const struct beton *b) {
    return &b->info;
}

const struct beton_field *mldfi_beton_field(const struct beton *b, uint32_t field) {
    return field < b->info.field_count ? &b->fields[field] : NULL;
}
