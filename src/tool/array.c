/* JSON lists into arrays: the shape is taken from the nesting and checked against the field, then the elements are written in C order.
 * See convert.h. */
#include <math.h>
#include <string.h>

#include "tool/convert.h"
#include "tool/half.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

/* ---- Elements ------------------------------------------------------------------------------------------------------ */

static bool is_integer(mldf_dtype dtype) {
    return dtype >= MLDF_BOOL && dtype <= MLDF_U64;
}

static mldf_status element_number(const struct json *json, uint32_t node, double *out, mldf_error *err) {
    const struct json_node *n = &json->nodes[node];
    char shown[80];
    if (mldfi_json_nonfinite(json, node, out))
        return MLDF_OK;
    if (n->kind == MLDFI_JSON_NUMBER && mldfi_json_double(json, node, out) && isfinite(*out))
        return MLDF_OK;
    if (n->kind == MLDFI_JSON_NUMBER || n->kind == MLDFI_JSON_STRING)
        return mldfi_fail(err, MLDF_E_TYPE, "%s is not a number that a float64 holds",
                          mldfi_excerpt(shown, n->text, n->text_bytes));
    return mldfi_fail(err, MLDF_E_TYPE, "an element that is not a number");
}

static mldf_status put_float(mldf_dtype dtype, double value, uint8_t *dst, mldf_error *err) {
    bool overflow = false;
    if (dtype == MLDF_F16 || dtype == MLDF_BF16) {
        uint16_t narrow = dtype == MLDF_F16 ? mldfi_f64_to_f16(value) : mldfi_f64_to_bf16(value);
        uint16_t infinity = dtype == MLDF_F16 ? 0x7c00 : 0x7f80;
        overflow = isfinite(value) && (narrow & 0x7fff) == infinity;
        mldfi_store_u16(dst, narrow);
    } else if (dtype == MLDF_F32) {
        /* Beyond the largest float plus half a unit a conversion would be undefined or infinite. */
        overflow = isfinite(value) && fabs(value) >= 0x1.ffffffp127;
        float narrow = overflow ? 0.0f : (float)value;
        memcpy(dst, &narrow, sizeof narrow);
    } else {
        mldfi_store_f64(dst, value);
    }
    if (overflow)
        return mldfi_fail(err, MLDF_E_RANGE, "%g is beyond the range of %s", value, mldf_dtype_name(dtype));
    return MLDF_OK;
}

static mldf_status put_complex(mldf_dtype dtype, const struct json *json, uint32_t node, uint8_t *dst,
                               mldf_error *err) {
    const struct json_node *n = &json->nodes[node];
    mldf_dtype part = dtype == MLDF_C64 ? MLDF_F32 : MLDF_F64;
    double re, im = 0;
    mldf_status status;
    if (n->kind == MLDFI_JSON_ARRAY) {
        if (n->count != 2)
            return mldfi_fail(err, MLDF_E_TYPE, "a complex number is [re, im], not a list of %u", n->count);
        uint32_t first = mldfi_json_first(json, node);
        status = element_number(json, first, &re, err);
        if (status == MLDF_OK)
            status = element_number(json, json->nodes[first].next, &im, err);
    } else {
        status = element_number(json, node, &re, err);
    }
    if (status == MLDF_OK)
        status = put_float(part, re, dst, err);
    if (status == MLDF_OK)
        status = put_float(part, im, dst + mldf_dtype_bytes(part), err);
    return status;
}

static mldf_status put_integer(mldf_dtype dtype, const struct json *json, uint32_t node, uint8_t *dst,
                               mldf_error *err) {
    const struct json_node *n = &json->nodes[node];
    struct text_number number = {0, 0, 0};
    mldf_value value;
    char shown[80];
    text_kind kind = TEXT_INT;
    if (dtype == MLDF_BOOL && (n->kind == MLDFI_JSON_TRUE || n->kind == MLDFI_JSON_FALSE))
        number.i = n->kind == MLDFI_JSON_TRUE;
    else if (n->kind != MLDFI_JSON_NUMBER)
        return mldfi_fail(err, MLDF_E_TYPE, "an element that is not a number");
    else
        kind = mldfi_read_json_number(n->text, n->text_bytes, &number);
    if (kind == TEXT_BIG)
        return mldfi_fail(err, MLDF_E_RANGE, "%s needs more than 64 bits",
                          mldfi_excerpt(shown, n->text, n->text_bytes));
    if (kind != TEXT_INT && kind != TEXT_UINT)
        return mldfi_fail(err, MLDF_E_TYPE, "%s is not an integer", mldfi_excerpt(shown, n->text, n->text_bytes));
    mldf_status status = mldfi_put_int(dtype, kind, &number, &value, err);
    if (status == MLDF_OK)
        memcpy(dst, &value.as.u, mldf_dtype_bytes(dtype)); /* little-endian: the low bytes come first */
    return status;
}

mldf_status mldfi_put_element(mldf_dtype dtype, const struct json *json, uint32_t node, uint8_t *dst, mldf_error *err) {
    if (is_integer(dtype))
        return put_integer(dtype, json, node, dst, err);
    if (dtype == MLDF_C64 || dtype == MLDF_C128)
        return put_complex(dtype, json, node, dst, err);
    double value;
    mldf_status status = element_number(json, node, &value, err);
    return status < 0 ? status : put_float(dtype, value, dst, err);
}

/* ---- Shape --------------------------------------------------------------------------------------------------------- */

/* Follows the first elements down; whether the others agree is seen when they are written. */
static mldf_status find_shape(const mldf_field *field, const struct json *json, uint32_t node, uint64_t dims[],
                              mldf_error *err) {
    for (uint32_t level = 0; level < field->ndim; level++) {
        const struct json_node *n = node == UINT32_MAX ? NULL : &json->nodes[node];
        if (n && n->kind != MLDFI_JSON_ARRAY)
            return mldfi_fail(err, MLDF_E_TYPE, "%u level%s of lists, where the field has %u dimension%s", level,
                              level == 1 ? "" : "s", field->ndim, field->ndim == 1 ? "" : "s");
        dims[level] = n ? n->count : field->dims[level] >= 0 ? (uint64_t)field->dims[level] : 0;
        if (field->dims[level] >= 0 && dims[level] != (uint64_t)field->dims[level])
            return mldfi_fail(err, MLDF_E_TYPE, "%llu elements in dimension %u, where the field has %lld",
                              (unsigned long long)dims[level], level, (long long)field->dims[level]);
        if (dims[level] > UINT32_MAX)
            return mldfi_fail(err, MLDF_E_LIMIT, "too many elements");
        node = n && n->count ? mldfi_json_first(json, node) : UINT32_MAX;
    }
    return MLDF_OK;
}

struct fill {
    const mldf_field *field;
    const struct json *json;
    const uint64_t *dims;
    uint8_t *dst;
    size_t item_bytes;
    bool exact; /* inferred: an integer must survive as a float64 */
};

static mldf_status check_exact(const struct fill *f, uint32_t node, mldf_error *err) {
    const struct json_node *n = &f->json->nodes[node];
    struct text_number number;
    char shown[80];
    text_kind kind =
        n->kind == MLDFI_JSON_NUMBER ? mldfi_read_json_number(n->text, n->text_bytes, &number) : TEXT_FLOAT;
    bool good = kind == TEXT_FLOAT || (kind == TEXT_INT && mldfi_int_is_exact(number.i)) ||
                (kind == TEXT_UINT && mldfi_uint_is_exact(number.u));
    if (good)
        return MLDF_OK;
    return mldfi_fail(err, MLDF_E_RANGE, "%s is an integer that a float64 cannot hold exactly",
                      mldfi_excerpt(shown, n->text, n->text_bytes));
}

/* Depth is at most MLDF_MAX_DIMS. */
static mldf_status fill_level(struct fill *f, uint32_t node, uint32_t level, mldf_error *err) {
    const struct json_node *n = &f->json->nodes[node];
    mldf_status status = MLDF_OK;
    if (level == f->field->ndim) {
        if (f->exact)
            status = check_exact(f, node, err);
        if (status == MLDF_OK)
            status = mldfi_put_element(f->field->dtype, f->json, node, f->dst, err);
        f->dst += f->item_bytes;
        return status;
    }
    if (n->kind != MLDFI_JSON_ARRAY)
        return mldfi_fail(err, MLDF_E_TYPE, "a value where a list of %llu belongs", (unsigned long long)f->dims[level]);
    if (n->count != f->dims[level])
        return mldfi_fail(err, MLDF_E_TYPE, "a list of %u beside lists of %llu", n->count,
                          (unsigned long long)f->dims[level]);
    for (uint32_t i = mldfi_json_first(f->json, node); status == MLDF_OK && i < n->next; i = f->json->nodes[i].next)
        status = fill_level(f, i, level + 1, err);
    return status;
}

mldf_status mldfi_convert_array(struct converter *c, const struct json *json, uint32_t node, mldf_value *out,
                                mldf_error *err) {
    const mldf_field *field = c->field;
    uint64_t bytes = mldf_dtype_bytes(field->dtype);
    mldf_status status = find_shape(field, json, node, out->dims, err);
    for (uint32_t i = 0; status == MLDF_OK && i < field->ndim; i++)
        if (!mldfi_mul_u64(bytes, out->dims[i], &bytes) || bytes > SIZE_MAX / 2)
            status = mldfi_fail(err, MLDF_E_LIMIT, "the array is too large");
    if (status == MLDF_OK)
        status = mldfi_buffer_resize(&c->scratch, (size_t)bytes, err);
    if (status < 0)
        return status;
    struct fill f = {
        field, json, out->dims, c->scratch.data, mldf_dtype_bytes(field->dtype), c->strict && field->dtype == MLDF_F64};
    out->kind = MLDF_KIND_ARRAY;
    out->dtype = field->dtype;
    out->ndim = field->ndim;
    out->data = c->scratch.data;
    out->bytes = bytes;
    return fill_level(&f, node, 0, err);
}
