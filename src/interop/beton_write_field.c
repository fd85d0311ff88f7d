/* What FFCV's fields can hold, and how they stand in descriptors and rows. beton_write.c places what comes out of here. */
#include <string.h>

#include "interop/beton_write.h"
#include "util/bytes.h"
#include "util/error.h"
#include "util/json.h"

#define ULL(v) ((unsigned long long)(v))

static mldf_status check_name(const struct beton_write_field *fields, uint32_t number, mldf_error *err) {
    const char *name = fields[number].name;
    if (!name || !*name)
        return mldfi_fail(err, MLDF_E_SCHEMA, "field %u has no name", number);
    for (const char *p = name; *p; p++)
        if ((unsigned char)*p >= 0x80)
            return mldfi_fail(err, MLDF_E_SCHEMA, "field %u: the name %s is not ASCII, which is all FFCV writes",
                              number, name);
    for (uint32_t i = 0; i < number; i++)
        if (strncmp(name, fields[i].name, BETON_NAME) == 0)
            return mldfi_fail(err, MLDF_E_SCHEMA, "the names %s and %s are the same in their first %d bytes",
                              fields[i].name, name, BETON_NAME);
    return MLDF_OK;
}

static mldf_status describe_array(const struct beton_write_field *f, uint8_t *arguments, struct beton_field *out,
                                  mldf_error *err) {
    size_t bytes = f->descr ? strlen(f->descr) : 0;
    if (f->ndim == 0 || f->ndim >= BETON_DIMS)
        return mldfi_fail(err, MLDF_E_SCHEMA, "%s: %u dimensions; FFCV has 1 to %d", f->name, f->ndim, BETON_DIMS - 1);
    for (uint32_t i = 0; i < f->ndim; i++) {
        if (f->shape[i] == 0)
            return mldfi_fail(err, MLDF_E_SCHEMA, "%s: a dimension of 0 ends a shape in FFCV", f->name);
        mldfi_store_u64(arguments + 8 * i, f->shape[i]);
    }
    if (bytes == 0 || bytes > BETON_ARGUMENTS - BETON_DESCR_AT)
        return mldfi_fail(err, MLDF_E_SCHEMA, "%s: a dtype of %zu bytes; there is room for 1 to %d", f->name, bytes,
                          BETON_ARGUMENTS - BETON_DESCR_AT);
    mldfi_store_u64(arguments + 8 * BETON_DIMS, bytes);
    memcpy(arguments + BETON_DESCR_AT, f->descr, bytes);
    out->arguments = arguments;
    TRY(mldfi_beton_parse_array(out, err));
    if (out->itemsize == 0)
        return mldfi_fail(err, MLDF_E_SCHEMA, "%s: the dtype %s is none that can be written", f->name, f->descr);
    return MLDF_OK;
}

static mldf_status describe(const struct beton_write_field *f, uint8_t *descriptor, struct beton_field *out,
                            struct beton_width *width, mldf_error *err) {
    descriptor[0] = out->type = f->type;
    size_t bytes = strlen(f->name);
    memcpy(descriptor + 1, f->name, bytes < BETON_NAME ? bytes : BETON_NAME);
    memcpy(out->name, descriptor + 1, BETON_NAME);
    uint8_t *arguments = descriptor + 1 + BETON_NAME;
    if (f->type == BETON_CUSTOM) {
        if (f->record.bytes == 0 || f->record.bytes > 1 << 20 || !mldfi_is_power_of_two(f->record.align) ||
            f->record.align > 4096 || (f->has_blob && (f->record.bytes < 8 || f->ptr_at > f->record.bytes - 8)))
            return mldfi_fail(err, MLDF_E_SCHEMA, "%s: a custom record of %u bytes, alignment %u, ptr at %u", f->name,
                              f->record.bytes, f->record.align, f->ptr_at);
        *width = f->record;
        out->has_blob = f->has_blob;
        out->ptr_at = f->ptr_at;
        if (f->arguments)
            memcpy(arguments, f->arguments, BETON_ARGUMENTS);
        return MLDF_OK;
    }
    if (!mldfi_beton_record(f->type, width, &out->has_blob, &out->ptr_at))
        return mldfi_fail(err, MLDF_E_SCHEMA, "%s: type %u is none of FFCV's", f->name, f->type);
    return f->type == BETON_NDARRAY || f->type == BETON_TENSOR ? describe_array(f, arguments, out, err) : MLDF_OK;
}

mldf_status mldfi_beton_describe(const struct beton_write_field *fields, uint32_t count, struct beton_field *out,
                                 uint8_t *descriptors, uint32_t *row_bytes, mldf_error *err) {
    struct beton_width widths[BETON_FIELDS_MAX];
    for (uint32_t i = 0; i < count; i++) {
        mldf_status status = check_name(fields, i, err);
        if (status >= 0)
            status = describe(&fields[i], descriptors + (size_t)i * BETON_DESCRIPTOR, &out[i], &widths[i], err);
        if (status < 0)
            return status;
    }
    if (!mldfi_beton_layout(out, count, widths, row_bytes))
        return mldfi_fail(err, MLDF_E_LIMIT, "a row is larger than 2 GiB");
    return MLDF_OK;
}

static mldf_status check_image(const struct beton_input *v, mldf_error *err) {
    if (v->width > UINT16_MAX || v->height > UINT16_MAX)
        return mldfi_fail(err, MLDF_E_LIMIT, "%u x %u: a side in a .beton file is at most 65535", v->width, v->height);
    if (v->mode != BETON_IMAGE_JPEG && v->mode != BETON_IMAGE_RAW)
        return mldfi_fail(err, MLDF_E_RANGE, "image mode %u is neither 0 (JPEG) nor 1 (raw)", v->mode);
    uint64_t raw = (uint64_t)v->width * v->height * 3;
    if (v->mode == BETON_IMAGE_RAW && v->bytes != raw)
        return mldfi_fail(err, MLDF_E_RANGE, "a raw image of %u x %u is %llu bytes, not %llu", v->width, v->height,
                          ULL(raw), ULL(v->bytes));
    return MLDF_OK;
}

mldf_status mldfi_beton_check_value(const struct beton_field *f, const struct beton_input *v, mldf_error *err) {
    if (f->has_blob && v->bytes >= BETON_PAGE_MAX)
        return mldfi_fail(err, MLDF_E_LIMIT, "%llu bytes; FFCV's pages end at 2 GiB", ULL(v->bytes));
    switch (f->type) {
    case BETON_IMAGE:
        return check_image(v, err);
    case BETON_NDARRAY:
    case BETON_TENSOR:
        if (v->bytes != f->array_bytes)
            return mldfi_fail(err, MLDF_E_RANGE, "the array is %llu bytes, not %llu", ULL(f->array_bytes),
                              ULL(v->bytes));
        return MLDF_OK;
    case BETON_JSON:
        return mldfi_json_validate(v->data, (size_t)v->bytes, err);
    case BETON_CUSTOM:
        if (!v->record)
            return mldfi_fail(err, MLDF_E_ARGUMENT, "a custom field without its record");
        return MLDF_OK;
    default:
        return MLDF_OK;
    }
}

uint64_t mldfi_beton_blob_bytes(const struct beton_field *f, const struct beton_input *v) {
    return v->bytes + (f->type == BETON_JSON);
}

void mldfi_beton_fill_record(const struct beton_field *f, const struct beton_input *v, uint64_t ptr, uint8_t *record) {
    switch (f->type) {
    case BETON_FLOAT:
        mldfi_store_f64(record, v->real);
        return;
    case BETON_INT:
        mldfi_store_u64(record, (uint64_t)v->integer);
        return;
    case BETON_IMAGE:
        record[0] = v->mode;
        mldfi_store_u16(record + 1, (uint16_t)v->width);
        mldfi_store_u16(record + 3, (uint16_t)v->height);
        break;
    case BETON_BYTES:
    case BETON_JSON:
        mldfi_store_u64(record + 8, mldfi_beton_blob_bytes(f, v));
        break;
    case BETON_CUSTOM:
        memcpy(record, v->record, f->bytes);
        break;
    default:
        break;
    }
    if (f->has_blob)
        mldfi_store_u64(record + f->ptr_at, ptr);
}
