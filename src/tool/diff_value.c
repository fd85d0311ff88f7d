/* Comparing values. See diff_value.h; diff.c walks the files. */
#include "tool/diff_value.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "field/field.h"
#include "tool/convert.h"
#include "util/bytes.h"
#include "util/json.h"
#include "util/number.h"

mldf_status mldfi_json_equal(const void *x, size_t x_bytes, const void *y, size_t y_bytes, mldf_buffer *a,
                             mldf_buffer *b, bool *equal, mldf_error *err) {
    *equal = x_bytes == y_bytes && (x_bytes == 0 || memcmp(x, y, x_bytes) == 0);
    if (*equal)
        return MLDF_OK;
    a->size = b->size = 0;
    mldf_status status = mldfi_json_canonicalize(x, x_bytes, a, err);
    if (status == MLDF_OK)
        status = mldfi_json_canonicalize(y, y_bytes, b, err);
    if (status == MLDF_OK)
        *equal = a->size == b->size && memcmp(a->data, b->data, a->size) == 0;
    /* A number beyond a double has no canonical form: such texts are equal byte for byte or not at all. */
    return status == MLDF_E_RANGE ? MLDF_OK : status;
}

/* ---- Elements ------------------------------------------------------------------------------------------------------ */

static bool is_nan(mldf_dtype dtype, const uint8_t *p) {
    switch (dtype) {
    case MLDF_F16:
        return (mldfi_load_u16(p) & 0x7fff) > 0x7c00;
    case MLDF_BF16:
        return (mldfi_load_u16(p) & 0x7fff) > 0x7f80;
    case MLDF_F32:
        return (mldfi_load_u32(p) & 0x7fffffff) > 0x7f800000;
    default:
        return (mldfi_load_u64(p) & (UINT64_MAX >> 1)) > UINT64_C(0x7ff0000000000000);
    }
}

/* Complex numbers are pairs of floats. */
static mldf_dtype part_of(mldf_dtype dtype) {
    return dtype == MLDF_C64 ? MLDF_F32 : dtype == MLDF_C128 ? MLDF_F64 : dtype;
}

static bool elements_equal(mldf_dtype dtype, const uint8_t *x, const uint8_t *y, uint64_t bytes) {
    if (bytes == 0 || memcmp(x, y, (size_t)bytes) == 0)
        return true;
    mldf_dtype part = part_of(dtype);
    size_t step = mldf_dtype_bytes(part);
    if (part < MLDF_F16 || step == 0)
        return false;
    for (uint64_t i = 0; i + step <= bytes; i += step)
        if (memcmp(x + i, y + i, step) != 0 && !(is_nan(part, x + i) && is_nan(part, y + i)))
            return false;
    return true;
}

static bool arrays_equal(const mldf_value *x, const mldf_value *y) {
    if (x->dtype != y->dtype || x->ndim != y->ndim || x->bytes != y->bytes)
        return false;
    for (uint32_t i = 0; i < x->ndim; i++)
        if (x->dims[i] != y->dims[i])
            return false;
    return elements_equal(x->dtype, x->data, y->data, x->bytes);
}

static bool bytes_equal(const mldf_value *x, const mldf_value *y) {
    return x->bytes == y->bytes && (x->bytes == 0 || memcmp(x->data, y->data, (size_t)x->bytes) == 0);
}

/* Record bytes after {ptr, size} count too: dimensions and the like of a type that is not known here. */
static bool stored_equal(const mldf_field *field, const mldf_value *x, const mldf_value *y) {
    uint32_t skip = field->flags & MLDF_FIELD_SIZE64 ? 16 : field->flags & MLDF_FIELD_SIZE32 ? 12 : 0;
    if (!bytes_equal(x, y) || x->record_bytes != y->record_bytes)
        return false;
    const uint8_t *a = x->record, *b = y->record;
    return x->record_bytes <= skip || memcmp(a + skip, b + skip, x->record_bytes - skip) == 0;
}

/* ---- INLINE -------------------------------------------------------------------------------------------------------- */

static bool member_equal(const mldf_member *m, const uint8_t *x, const uint8_t *y, uint32_t level) {
    if (level == m->ndim) {
        if (m->dtype == MLDF_DTYPE_NONE)
            return memcmp(x, y, m->itemsize) == 0;
        return elements_equal(m->dtype, x, y, m->itemsize);
    }
    for (uint32_t i = 0; i < m->dims[level]; i++)
        if (!member_equal(m, x + (size_t)i * m->strides[level], y + (size_t)i * m->strides[level], level + 1))
            return false;
    return true;
}

static mldf_status structs_equal(const struct value_compare *c, const mldf_value *x, const mldf_value *y, bool *equal,
                                 mldf_error *err) {
    mldf_member member;
    *equal = x->bytes == y->bytes;
    if (!*equal || bytes_equal(x, y))
        return MLDF_OK;
    for (size_t i = 0;; i++) {
        mldf_status status = mldf_field_member(c->schema, c->field, i, &member, err);
        if (status != MLDF_OK)
            return status == MLDF_END ? MLDF_OK : status;
        const uint8_t *a = x->data, *b = y->data;
        if (!member_equal(&member, a + member.offset, b + member.offset, 0)) {
            *equal = false;
            return MLDF_OK;
        }
    }
}

/* ---- Any value ----------------------------------------------------------------------------------------------------- */

/* INT and UINT may stand for the same number. */
static bool ints_equal(const mldf_value *x, const mldf_value *y) {
    bool x_negative = x->kind == MLDF_KIND_INT && x->as.i < 0, y_negative = y->kind == MLDF_KIND_INT && y->as.i < 0;
    return x_negative == y_negative && x->as.u == y->as.u;
}

static bool is_int(const mldf_value *v) {
    return v->kind == MLDF_KIND_INT || v->kind == MLDF_KIND_UINT;
}

static mldf_status content_equal(struct value_compare *c, const mldf_value *x, const mldf_value *y, bool *equal,
                                 mldf_error *err) {
    const mldf_field *field = mldf_schema_field(c->schema, c->field);
    switch (x->kind) {
    case MLDF_KIND_NULL:
        *equal = true;
        return MLDF_OK;
    case MLDF_KIND_FLOAT:
        *equal = elements_equal(MLDF_F64, (const uint8_t *)&x->as.f, (const uint8_t *)&y->as.f, 8);
        return MLDF_OK;
    case MLDF_KIND_ARRAY:
        *equal = arrays_equal(x, y);
        return MLDF_OK;
    case MLDF_KIND_STRUCT:
        return structs_equal(c, x, y, equal, err);
    case MLDF_KIND_STORED:
        *equal = stored_equal(field, x, y);
        return MLDF_OK;
    case MLDF_KIND_TEXT:
        if (field->type_id == MLDF_JSON)
            return mldfi_json_equal(x->data, (size_t)x->bytes, y->data, (size_t)y->bytes, &c->a, &c->b, equal, err);
        break;
    default:
        break;
    }
    *equal = bytes_equal(x, y);
    return MLDF_OK;
}

mldf_status mldfi_values_equal(struct value_compare *c, const mldf_value *x, const mldf_value *y, bool *equal,
                               mldf_error *err) {
    const struct field_type *type = c->schema->fields[c->field].type;
    *equal = false;
    if (is_int(x) && is_int(y)) {
        *equal = ints_equal(x, y);
        return MLDF_OK;
    }
    if (x->kind != y->kind)
        return MLDF_OK;
    mldf_status status = content_equal(c, x, y, equal, err);
    if (status == MLDF_OK && *equal && x->kind != MLDF_KIND_NULL && type && type->same)
        *equal = type->same(x, y);
    return status;
}

void mldfi_value_text(const mldf_value *value, char *out, size_t out_bytes) {
    char text[80];
    switch (value->kind) {
    case MLDF_KIND_NULL:
        snprintf(out, out_bytes, "null");
        break;
    case MLDF_KIND_INT:
        snprintf(out, out_bytes, "%" PRId64, value->as.i);
        break;
    case MLDF_KIND_UINT:
        snprintf(out, out_bytes, "%" PRIu64, value->as.u);
        break;
    case MLDF_KIND_FLOAT:
        snprintf(out, out_bytes, "%.17g", value->as.f);
        break;
    case MLDF_KIND_TEXT:
        snprintf(out, out_bytes, "%s", mldfi_excerpt(text, value->data, (size_t)value->bytes));
        break;
    case MLDF_KIND_ARRAY: {
        size_t at = (size_t)snprintf(out, out_bytes, "array %s[", mldf_dtype_name(value->dtype));
        for (uint32_t i = 0; i < value->ndim && at + 24 < out_bytes; i++)
            at += (size_t)snprintf(out + at, out_bytes - at, "%s%" PRIu64, i ? "," : "", value->dims[i]);
        snprintf(out + at, out_bytes - at, "]");
        break;
    }
    default:
        snprintf(out, out_bytes, "%" PRIu64 " bytes", value->bytes);
        break;
    }
}
