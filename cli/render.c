/* Values as JSON: numbers, text and JSON as themselves, small arrays as lists, what is large or opaque as its size and SHA-256. Structs are
 * in render_inline.c. */
#include <math.h>
#include <string.h>

#include "cli.h"

enum { SMALL_ARRAY = 64 };

void render_hex(const uint8_t *data, size_t bytes) {
    static const char digits[] = "0123456789abcdef";
    json_separate();
    out_char('"');
    for (size_t i = 0; i < bytes; i++) {
        out_char(digits[data[i] >> 4]);
        out_char(digits[data[i] & 15]);
    }
    out_char('"');
}

void render_sha256(const void *data, uint64_t bytes) {
    uint8_t digest[32];
    mldf_sha256(data, (size_t)bytes, digest);
    json_key("sha256");
    render_hex(digest, sizeof digest);
}

void render_base64(const uint8_t *data, uint64_t bytes) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    json_key("base64");
    json_separate();
    out_char('"');
    for (uint64_t i = 0; i < bytes; i += 3) {
        uint64_t left = bytes - i;
        uint32_t bits =
            (uint32_t)data[i] << 16 | (left > 1 ? (uint32_t)data[i + 1] << 8 : 0) | (left > 2 ? data[i + 2] : 0);
        out_char(digits[bits >> 18]);
        out_char(digits[bits >> 12 & 63]);
        out_char(left > 1 ? digits[bits >> 6 & 63] : '=');
        out_char(left > 2 ? digits[bits & 63] : '=');
    }
    out_char('"');
}

/* ---- Elements ------------------------------------------------------------------------------------------------------ */

/* Exact: every float16 is a float64. */
static double widen_f16(uint16_t bits) {
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double value = exponent == 31  ? (fraction ? (double)NAN : (double)INFINITY)
                   : exponent == 0 ? ldexp(fraction, -24)
                                   : ldexp(fraction + 1024, exponent - 25);
    return bits & 0x8000 ? -value : value;
}

static double widen_bf16(uint16_t bits) {
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

static int64_t load_signed(const uint8_t *p, size_t bytes) {
    uint64_t value = 0;
    memcpy(&value, p, bytes);
    unsigned shift = (unsigned)(64 - 8 * bytes);
    return (int64_t)(value << shift) >> shift;
}

static uint64_t load_unsigned(const uint8_t *p, size_t bytes) {
    uint64_t value = 0;
    memcpy(&value, p, bytes);
    return value;
}

static double load_float(mldf_dtype dtype, const uint8_t *p) {
    float narrow;
    double wide;
    switch (dtype) {
    case MLDF_F16:
        return widen_f16((uint16_t)load_unsigned(p, 2));
    case MLDF_BF16:
        return widen_bf16((uint16_t)load_unsigned(p, 2));
    case MLDF_F32:
        memcpy(&narrow, p, sizeof narrow);
        return narrow;
    default:
        memcpy(&wide, p, sizeof wide);
        return wide;
    }
}

void render_element(mldf_dtype dtype, const uint8_t *p) {
    size_t bytes = mldf_dtype_bytes(dtype);
    switch (dtype) {
    case MLDF_BOOL:
        json_bool(*p != 0);
        break;
    case MLDF_I8:
    case MLDF_I16:
    case MLDF_I32:
    case MLDF_I64:
        json_i64(load_signed(p, bytes));
        break;
    case MLDF_U8:
    case MLDF_U16:
    case MLDF_U32:
    case MLDF_U64:
        json_u64(load_unsigned(p, bytes));
        break;
    case MLDF_C64:
    case MLDF_C128:
        json_begin('[');
        json_double(load_float(dtype == MLDF_C64 ? MLDF_F32 : MLDF_F64, p));
        json_double(load_float(dtype == MLDF_C64 ? MLDF_F32 : MLDF_F64, p + bytes / 2));
        json_end(']');
        break;
    case MLDF_DTYPE_NONE:
        json_null();
        break;
    default:
        json_double(load_float(dtype, p));
        break;
    }
}

/* ---- Values -------------------------------------------------------------------------------------------------------- */

static const uint8_t *render_level(const mldf_value *v, uint32_t level, const uint8_t *at) {
    if (level == v->ndim) {
        render_element(v->dtype, at);
        return at + mldf_dtype_bytes(v->dtype);
    }
    json_begin('[');
    for (uint64_t i = 0; i < v->dims[level] && !out_failed(); i++)
        at = render_level(v, level + 1, at);
    json_end(']');
    return at;
}

static void render_array(const mldf_value *v, bool full) {
    uint64_t item = mldf_dtype_bytes(v->dtype);
    if (full || item == 0 || v->bytes / item <= SMALL_ARRAY) {
        render_level(v, 0, v->data);
        return;
    }
    json_begin('{');
    json_key("dtype");
    json_string(mldf_dtype_name(v->dtype));
    json_key("shape");
    json_begin('[');
    for (uint32_t i = 0; i < v->ndim; i++)
        json_u64(v->dims[i]);
    json_end(']');
    render_sha256(v->data, v->bytes);
    json_end('}');
}

static void render_payload(const mldf_value *v, bool with_record, bool full) {
    json_begin('{');
    json_key("bytes");
    json_u64(v->bytes);
    render_sha256(v->data, v->bytes);
    if (with_record) {
        json_key("record");
        render_hex(v->record, v->record_bytes);
    }
    if (full)
        render_base64(v->data, v->bytes);
    json_end('}');
}

/* What the type of the field has to say of its values: images, recordings. */
static bool render_described(const mldf_schema *schema, size_t field, const mldf_value *v, bool full) {
    mldf_buffer text = MLDF_BUFFER_INIT;
    mldf_status status = mldf_value_describe(schema, field, v, full, &text, NULL);
    if (status == MLDF_OK)
        json_text((const char *)text.data, text.size);
    else if (status < 0)
        out_no_memory();
    mldf_buffer_free(&text);
    return status != MLDF_ABSENT;
}

void render_value(const mldf_schema *schema, size_t index, const mldf_value *v, bool full) {
    const mldf_field *field = mldf_schema_field(schema, index);
    if (render_described(schema, index, v, full))
        return;
    switch (v->kind) {
    case MLDF_KIND_NULL:
        json_null();
        break;
    case MLDF_KIND_INT:
        if (field->dtype == MLDF_BOOL)
            json_bool(v->as.i != 0);
        else
            json_i64(v->as.i);
        break;
    case MLDF_KIND_UINT:
        if (field->dtype == MLDF_BOOL)
            json_bool(v->as.u != 0);
        else
            json_u64(v->as.u);
        break;
    case MLDF_KIND_FLOAT:
        json_double(v->as.f);
        break;
    case MLDF_KIND_TEXT:
        if (field->type_id == MLDF_JSON)
            json_text(v->data, (size_t)v->bytes);
        else
            json_string_bytes(v->data, (size_t)v->bytes);
        break;
    case MLDF_KIND_ARRAY:
        render_array(v, full);
        break;
    case MLDF_KIND_STRUCT:
        render_inline(field, v->data);
        break;
    case MLDF_KIND_BYTES:
        render_payload(v, false, full);
        break;
    case MLDF_KIND_STORED:
        render_payload(v, true, full);
        break;
    }
}

void out_class(const mldf_classes *classes, const mldf_value *v) {
    size_t bytes = 0;
    const char *name = class_name(classes, v, &bytes);
    if (!name)
        return;
    out_text(" (");
    for (size_t i = 0; i < bytes; i++) /* what a terminal may obey becomes question marks */
        out_char((unsigned char)name[i] < 32 || name[i] == 127 ? '?' : name[i]);
    out_char(')');
}
