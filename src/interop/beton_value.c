/* The values of a .beton file. A record may stand at any byte; a blob's length comes from the allocation table, except for Bytes
 * and JSON, whose own size is safer: an empty blob may share its place with the next one. */
#include "interop/beton_inner.h"
#include "util/bytes.h"
#include "util/error.h"

#define ULL(v) ((unsigned long long)(v))

/* [ptr, ptr + size) between the rows and the table, or an error at the record's place. */
static mldf_status take_blob(const struct beton *b, uint64_t at, uint64_t ptr, uint64_t size, struct beton_value *out,
                             mldf_error *err) {
    if (ptr < b->rows_end || !mldfi_range_inside(ptr, size, b->info.table_offset))
        return mldfi_fail_at(err, MLDF_E_CORRUPT, at,
                             "ptr %llu + size %llu is not between the rows, which end at %llu, and the table at %llu",
                             ULL(ptr), ULL(size), ULL(b->rows_end), ULL(b->info.table_offset));
    out->data = b->data + ptr;
    out->bytes = size;
    return MLDF_OK;
}

static mldf_status blob_by_table(const struct beton *b, uint64_t at, struct beton_value *out, mldf_error *err) {
    uint64_t size;
    if (!mldfi_beton_blob(b, out->ptr, &size))
        return mldfi_fail_at(err, MLDF_E_CORRUPT, at, "ptr %llu is not in the allocation table", ULL(out->ptr));
    return take_blob(b, at, out->ptr, size, out, err);
}

/* The blob must have at least `want` bytes; those are given. */
static mldf_status exactly(uint64_t want, const char *what, uint64_t at, struct beton_value *out, mldf_error *err) {
    if (out->bytes < want)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, at, "%s is %llu bytes, its blob has %llu", what, ULL(want),
                             ULL(out->bytes));
    out->bytes = want;
    return MLDF_OK;
}

static mldf_status image(const struct beton *b, uint64_t at, struct beton_value *out, mldf_error *err) {
    out->mode = out->record[0];
    out->width = mldfi_load_u16(out->record + 1);
    out->height = mldfi_load_u16(out->record + 3);
    if (out->mode != BETON_IMAGE_JPEG && out->mode != BETON_IMAGE_RAW)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, at, "image mode %u is neither 0 (JPEG) nor 1 (raw)", out->mode);
    mldf_status status = blob_by_table(b, at, out, err);
    if (status >= 0 && out->mode == BETON_IMAGE_RAW)
        status = exactly((uint64_t)out->width * out->height * 3, "the raw image", at, out, err);
    return status;
}

static mldf_status bytes_or_json(const struct beton *b, const struct beton_field *f, uint64_t at,
                                 struct beton_value *out, mldf_error *err) {
    uint64_t size = mldfi_load_u64(out->record + 8);
    if (size == 0) {
        out->data = b->data; /* an empty blob may be anywhere */
        out->bytes = 0;
        return MLDF_OK;
    }
    mldf_status status = take_blob(b, at, out->ptr, size, out, err);
    if (status >= 0 && f->type == BETON_JSON && out->data[size - 1] == 0)
        out->bytes--;
    return status;
}

static mldf_status read_value(const struct beton *b, const struct beton_field *f, uint64_t at, struct beton_value *out,
                              mldf_error *err) {
    mldf_status status;
    if (f->has_blob)
        out->ptr = mldfi_load_u64(out->record + f->ptr_at);
    switch (f->type) {
    case BETON_FLOAT:
        out->real = mldfi_load_f64(out->record);
        return MLDF_OK;
    case BETON_INT:
        out->integer = (int64_t)mldfi_load_u64(out->record);
        return MLDF_OK;
    case BETON_IMAGE:
        return image(b, at, out, err);
    case BETON_BYTES:
    case BETON_JSON:
        return bytes_or_json(b, f, at, out, err);
    case BETON_NDARRAY:
    case BETON_TENSOR:
        status = blob_by_table(b, at, out, err);
        return status >= 0 && f->array_bytes ? exactly(f->array_bytes, "the array", at, out, err) : status;
    default:
        return f->has_blob ? blob_by_table(b, at, out, err) : MLDF_OK;
    }
}

mldf_status mldfi_beton_value(const struct beton *b, uint64_t sample, uint32_t field, struct beton_value *out,
                              mldf_error *err) {
    *out = (struct beton_value){0};
    if (sample >= b->info.count)
        return mldfi_fail(err, MLDF_E_NO_SAMPLE, "sample %llu of %llu", ULL(sample), ULL(b->info.count));
    if (field >= b->info.field_count)
        return mldfi_fail(err, MLDF_E_NO_FIELD, "field %u of %u", field, b->info.field_count);
    const struct beton_field *f = &b->fields[field];
    uint64_t at = b->info.rows_offset + sample * b->info.row_bytes + f->offset;
    out->record = b->data + at;
    mldf_status status = read_value(b, f, at, out, err);
    if (status < 0)
        mldfi_error_place(err, sample, f->name);
    return status;
}
