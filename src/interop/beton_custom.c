/* How wide is the record of a field that somebody else invented? The file does not say. Such fields are made like FFCV's own:
 * a ptr (8 bytes, aligned), a ptr and a size (16), or an image's record (13, ptr at 5). So all combinations are tried, and the
 * first one counts under which the pointers of some rows are blobs of those very rows in the allocation table. */
#include <stdlib.h>

#include "interop/beton_inner.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

enum { KINDS = 3, CUSTOM_MAX = 5, ROWS_TRIED = 64, EQUALS_TRIED = 64 };

static const struct kind {
    struct beton_width width;
    uint32_t ptr_at;
} kinds[KINDS] = {{{8, 8}, 0}, {{16, 1}, 0}, {{13, 1}, 5}};

/* Has the sample a blob at ptr? */
static bool is_blob_of(const struct beton *b, uint64_t ptr, uint64_t sample) {
    uint64_t first = mldfi_beton_first(b, ptr);
    for (uint64_t i = first; i < b->info.entry_count && i - first < EQUALS_TRIED; i++) {
        struct beton_entry e = mldfi_beton_entry(b, i);
        if (e.ptr != ptr)
            return false;
        if (e.sample == sample)
            return true;
    }
    return false;
}

static bool row_fits(const struct beton *b, uint64_t sample, uint32_t row_bytes) {
    const uint8_t *row = b->data + b->info.rows_offset + sample * row_bytes;
    for (uint32_t i = 0; i < b->info.field_count; i++) {
        const struct beton_field *f = &b->fields[i];
        if (f->has_blob && !is_blob_of(b, mldfi_load_u64(row + f->offset + f->ptr_at), sample))
            return false;
    }
    return true;
}

/* The first rows and the last, with the offsets that stand in the fields. */
static bool layout_fits(const struct beton *b, uint32_t row_bytes) {
    uint64_t rows, end;
    if (!mldfi_mul_u64(b->info.count, row_bytes, &rows) || !mldfi_add_u64(rows, b->info.rows_offset, &end) ||
        end > b->info.table_offset)
        return false;
    for (uint64_t i = 0; i < b->info.count && i < ROWS_TRIED; i++)
        if (!row_fits(b, i, row_bytes))
            return false;
    return b->info.count == 0 || row_fits(b, b->info.count - 1, row_bytes);
}

/* Writes combination `number` (base 3, the first field counts most) into widths and fields. */
static void set_combination(struct beton *b, const uint32_t *custom, uint32_t count, unsigned number,
                            struct beton_width *widths) {
    for (uint32_t i = count; i > 0; i--, number /= KINDS) {
        const struct kind *kind = &kinds[number % KINDS];
        widths[custom[i - 1]] = kind->width;
        b->fields[custom[i - 1]].has_blob = true;
        b->fields[custom[i - 1]].ptr_at = kind->ptr_at;
    }
}

/* A width that the caller gave: the ptr is where FFCV would have it, if there is room for one. */
static void set_given(struct beton_field *field, struct beton_width width) {
    field->has_blob = width.bytes >= 8;
    field->ptr_at = width.bytes == 13 ? 5 : 0;
}

mldf_status mldfi_beton_find_widths(struct beton *b, struct beton_width *widths, mldf_error *err) {
    uint32_t custom[CUSTOM_MAX], count = 0;
    unsigned combinations = 1;
    for (uint32_t i = 0; i < b->info.field_count; i++) {
        if (b->fields[i].type != BETON_CUSTOM)
            continue;
        if (widths[i].bytes > 0) {
            set_given(&b->fields[i], widths[i]);
            continue;
        }
        if (count == CUSTOM_MAX)
            return mldfi_fail(err, MLDF_E_LIMIT, "more than %d custom fields: their widths must be given", CUSTOM_MAX);
        custom[count++] = i;
        combinations *= KINDS;
    }
    if (count == 0)
        return MLDF_OK;
    for (unsigned number = 0; number < combinations; number++) {
        uint32_t row_bytes;
        set_combination(b, custom, count, number, widths);
        if (mldfi_beton_layout(b->fields, b->info.field_count, widths, &row_bytes) && layout_fits(b, row_bytes))
            return MLDF_OK;
    }
    mldfi_fail_at(err, MLDF_E_SCHEMA, BETON_HEADER + (uint64_t)custom[0] * BETON_DESCRIPTOR,
                  "the field is custom, and the width of its record is neither 8, 16 nor 13 bytes: it must be given");
    mldfi_error_place(err, MLDF_NONE, b->fields[custom[0]].name);
    return MLDF_E_SCHEMA;
}
