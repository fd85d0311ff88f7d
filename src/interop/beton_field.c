/* The fields of a .beton file: records, row layout, and the arguments of arrays. Pure functions on bytes. */
#include <stdlib.h>
#include <string.h>

#include "field/descr.h"
#include "interop/beton_inner.h"
#include "util/bytes.h"
#include "util/error.h"
#include "util/json.h"

const char *mldfi_beton_type_name(uint8_t type) {
    static const char *const names[] = {"float", "int", "image", "bytes", "ndarray", "json", "tensor"};
    if (type == BETON_CUSTOM)
        return "custom";
    return type < sizeof names / sizeof names[0] ? names[type] : "unknown";
}

bool mldfi_beton_record(uint8_t type, struct beton_width *out, bool *has_blob, uint32_t *ptr_at) {
    *has_blob = type != BETON_FLOAT && type != BETON_INT;
    *ptr_at = type == BETON_IMAGE ? 5 : 0; /* mode u8, width u16, height u16 come first */
    switch (type) {
    case BETON_FLOAT:
    case BETON_INT:
    case BETON_NDARRAY:
    case BETON_TENSOR:
        *out = (struct beton_width){8, 8};
        return true;
    case BETON_IMAGE:
        *out = (struct beton_width){13, 1};
        return true;
    case BETON_BYTES:
    case BETON_JSON:
        *out = (struct beton_width){16, 1};
        return true;
    default:
        return false;
    }
}

bool mldfi_beton_layout(struct beton_field *fields, uint32_t count, const struct beton_width *widths,
                        uint32_t *row_bytes) {
    uint64_t at = 0, largest = 1;
    for (uint32_t i = 0; i < count; i++) {
        at = mldfi_align_up(at, widths[i].align);
        if (at + widths[i].bytes > UINT32_MAX / 2)
            return false;
        fields[i].offset = (uint32_t)at;
        fields[i].bytes = widths[i].bytes;
        at += widths[i].bytes;
        if (widths[i].align > largest)
            largest = widths[i].align;
    }
    *row_bytes = (uint32_t)mldfi_align_up(at, largest);
    return true;
}

/* The dtype's size, or 0 when the descr is one that we do not know (dates, objects): the file is not wrong for that. */
static mldf_status itemsize(const char *text, uint32_t bytes, uint32_t *size, mldf_error *err) {
    struct json json = {0};
    struct descr descr = {0};
    mldf_status status = mldfi_json_parse(&json, text, bytes, err);
    if (status >= 0)
        status = mldfi_descr_parse(&json, 0, true, &descr, err);
    *size = status >= 0 ? descr.itemsize : 0;
    mldfi_descr_free(&descr);
    mldfi_json_free(&json);
    return status == MLDF_E_MEMORY ? status : MLDF_OK;
}

mldf_status mldfi_beton_parse_array(struct beton_field *field, mldf_error *err) {
    const uint8_t *p = field->arguments;
    uint64_t elements = 1, length = mldfi_load_u64(p + 8 * BETON_DIMS);
    field->ndim = 0;
    while (field->ndim < BETON_DIMS) {
        uint64_t side = mldfi_load_u64(p + 8 * field->ndim);
        if (side == 0)
            break;
        if (!mldfi_mul_u64(elements, side, &elements))
            return mldfi_fail(err, MLDF_E_CORRUPT, "its shape has more elements than 64 bits can count");
        field->shape[field->ndim++] = side;
    }
    if (length > BETON_ARGUMENTS - BETON_DESCR_AT)
        return mldfi_fail(err, MLDF_E_CORRUPT, "its dtype is %llu bytes long, there is room for %d",
                          (unsigned long long)length, BETON_ARGUMENTS - BETON_DESCR_AT);
    field->descr = (const char *)p + BETON_DESCR_AT;
    field->descr_bytes = (uint32_t)length;
    field->array_bytes = 0;
    TRY(itemsize(field->descr, field->descr_bytes, &field->itemsize, err));
    if (field->ndim > 0 && !mldfi_mul_u64(elements, field->itemsize, &field->array_bytes))
        return mldfi_fail(err, MLDF_E_CORRUPT, "its elements have more bytes than 64 bits can count");
    return MLDF_OK;
}
