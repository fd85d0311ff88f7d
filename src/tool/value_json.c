/* mldf_value_json: a value of any field as JSON. What the type says of its values comes first (mldf_value_describe); all others are written as their
 * kind is: numbers and text as themselves, arrays as lists, structs as objects. pack reads what it writes of numbers and structs. An INLINE record is
 * walked side by side with its descr, as inline_value.c does the other way round. */
#include <string.h>

#include "field/field.h"
#include "tool/element.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"
#include "util/json.h"
#include "util/utf8.h"

enum { SMALL_ARRAY = 64 }; /* elements that a summary lists */

/* ---- Numbers ------------------------------------------------------------------------------------------------------- */

static mldf_status put_whole(uint64_t magnitude, bool negative, mldf_buffer *out, mldf_error *err) {
    char text[24];
    size_t at = sizeof text;
    do {
        text[--at] = (char)('0' + magnitude % 10);
        magnitude /= 10;
    } while (magnitude);
    if (negative)
        text[--at] = '-';
    return mldf_buffer_append(out, text + at, sizeof text - at, err);
}

static mldf_status put_number(const mldf_value *value, mldf_dtype dtype, mldf_buffer *out, mldf_error *err) {
    if (dtype == MLDF_BOOL)
        return mldfi_buffer_append_text(out, value->as.u ? "true" : "false", err);
    if (value->kind == MLDF_KIND_INT)
        return put_whole(value->as.i < 0 ? 0 - value->as.u : value->as.u, value->as.i < 0, out, err);
    if (value->kind == MLDF_KIND_UINT)
        return put_whole(value->as.u, false, out, err);
    return mldfi_json_append_double(out, value->as.f, err);
}

static mldf_status put_element(mldf_dtype dtype, const uint8_t *at, mldf_buffer *out, mldf_error *err) {
    mldf_value value;
    if (dtype == MLDF_DTYPE_NONE)
        return mldfi_buffer_append_text(out, "null", err);
    if (mldfi_element(dtype, at, &value))
        return put_number(&value, dtype, out, err);
    /* Complex: a pair. */
    mldf_dtype part = dtype == MLDF_C64 ? MLDF_F32 : MLDF_F64;
    mldf_status status = mldfi_buffer_append_text(out, "[", err);
    for (int i = 0; status == MLDF_OK && i < 2; i++) {
        mldfi_element(part, at + (size_t)i * mldf_dtype_bytes(part), &value);
        status = mldfi_json_append_double(out, value.as.f, err);
        if (status == MLDF_OK)
            status = mldfi_buffer_append_text(out, i ? "]" : ",", err);
    }
    return status;
}

/* ---- Bytes and text ------------------------------------------------------------------------------------------------ */

/* As a string. */
static mldf_status put_hex(const uint8_t *data, size_t bytes, mldf_buffer *out, mldf_error *err) {
    static const char digits[] = "0123456789abcdef";
    uint8_t *room;
    TRY(mldfi_buffer_extend(out, 2 * bytes + 2, &room, err));
    *room++ = '"';
    for (size_t i = 0; i < bytes; i++) {
        *room++ = (uint8_t)digits[data[i] >> 4];
        *room++ = (uint8_t)digits[data[i] & 15];
    }
    *room = '"';
    return MLDF_OK;
}

/* Bytes that are not UTF-8 become U+FFFD. */
static mldf_status put_text(const char *text, size_t bytes, mldf_buffer *out, mldf_error *err) {
    mldf_buffer mended = MLDF_BUFFER_INIT;
    mldf_status status = MLDF_OK;
    size_t valid = mldfi_utf8_valid_prefix(text, bytes);
    if (valid == bytes)
        return mldfi_json_append_string(out, text, bytes, err);
    while (status == MLDF_OK && bytes > 0) {
        status = mldf_buffer_append(&mended, text, valid, err);
        if (status == MLDF_OK && valid < bytes)
            status = mldfi_buffer_append_text(&mended, "\xef\xbf\xbd", err);
        size_t used = valid < bytes ? valid + 1 : valid;
        text += used;
        bytes -= used;
        valid = mldfi_utf8_valid_prefix(text, bytes);
    }
    if (status == MLDF_OK)
        status = mldfi_json_append_string(out, (const char *)mended.data, mended.size, err);
    mldf_buffer_free(&mended);
    return status;
}

/* The text of a JSON field on one line; text that is not JSON, as a string. */
static mldf_status put_json(const char *text, size_t bytes, mldf_buffer *out, mldf_error *err) {
    size_t begin = 0;
    bool quoted = false;
    mldf_status status = mldfi_json_validate(text, bytes, NULL);
    if (status < 0)
        return status == MLDF_E_MEMORY ? mldfi_fail(err, status, "out of memory") : put_text(text, bytes, out, err);
    for (size_t i = 0; i <= bytes && status == MLDF_OK; i++) {
        char c = i < bytes ? text[i] : ' ';
        if (quoted && c == '\\') {
            i++;
        } else if (c == '"') {
            quoted = !quoted;
        } else if (!quoted && (c == ' ' || c == '\t' || c == '\n' || c == '\r')) {
            status = mldf_buffer_append(out, text + begin, i - begin, err);
            begin = i + 1;
        }
    }
    return status;
}

static mldf_status put_payload(const mldf_value *value, bool full, mldf_buffer *out, mldf_error *err) {
    mldf_status status = mldfi_payload_json_begin(value, out, err);
    if (status == MLDF_OK && value->kind == MLDF_KIND_STORED) {
        status = mldfi_buffer_append_text(out, ",\"record\":", err);
        if (status == MLDF_OK)
            status = put_hex(value->record, value->record_bytes, out, err);
    }
    return status < 0 ? status : mldfi_payload_json_end(value, full, out, err);
}

/* ---- Arrays -------------------------------------------------------------------------------------------------------- */

static mldf_status put_level(const mldf_value *v, uint32_t level, const uint8_t **at, mldf_buffer *out,
                             mldf_error *err) {
    if (level == v->ndim) {
        mldf_status status = put_element(v->dtype, *at, out, err);
        *at += mldf_dtype_bytes(v->dtype);
        return status;
    }
    mldf_status status = mldfi_buffer_append_text(out, "[", err);
    for (uint64_t i = 0; i < v->dims[level] && status == MLDF_OK; i++) {
        if (i > 0)
            status = mldf_buffer_append(out, ",", 1, err);
        if (status == MLDF_OK)
            status = put_level(v, level + 1, at, out, err);
    }
    return status < 0 ? status : mldfi_buffer_append_text(out, "]", err);
}

/* An array without elements in more lists than a summary has: a shape of [1099511627776, 0] would fill the memory. */
static bool is_endless(const mldf_value *v) {
    uint64_t lists = 1;
    for (uint32_t i = 0; v->bytes == 0 && i < v->ndim && v->dims[i]; i++)
        if (__builtin_mul_overflow(lists, v->dims[i], &lists) || lists > SMALL_ARRAY)
            return true;
    return false;
}

static mldf_status put_array(const mldf_value *v, bool full, mldf_buffer *out, mldf_error *err) {
    uint64_t item = mldf_dtype_bytes(v->dtype);
    const uint8_t *at = v->data;
    uint8_t digest[32];
    if (!is_endless(v) && (full || item == 0 || v->bytes / item <= SMALL_ARRAY))
        return put_level(v, 0, &at, out, err);
    mldf_status status = mldfi_buffer_printf(out, err, "{\"dtype\":\"%s\",\"shape\":[", mldf_dtype_name(v->dtype));
    for (uint32_t i = 0; i < v->ndim && status == MLDF_OK; i++) {
        if (i > 0)
            status = mldf_buffer_append(out, ",", 1, err);
        if (status == MLDF_OK)
            status = put_whole(v->dims[i], false, out, err);
    }
    if (status == MLDF_OK)
        status = mldfi_buffer_append_text(out, "],\"sha256\":", err);
    mldf_sha256(v->data, (size_t)v->bytes, digest);
    if (status == MLDF_OK)
        status = put_hex(digest, sizeof digest, out, err);
    return status < 0 ? status : mldfi_buffer_append_text(out, "}", err);
}

/* ---- Structs: fixed strings ---------------------------------------------------------------------------------------- */

struct record_walk {
    const struct json *descr;
    const uint8_t *at, *end;
    mldf_buffer *out;
    mldf_error *err;
};

/* Bytes that are text are a string; others, which JSON does not hold, {"hex":"ff80"}. inline_value.c reads both. */
static mldf_status put_bytes(struct record_walk *w, size_t bytes) {
    if (mldfi_utf8_valid_prefix(w->at, bytes) == bytes)
        return mldfi_json_append_string(w->out, (const char *)w->at, bytes, w->err);
    mldf_status status = mldfi_buffer_append_text(w->out, "{\"hex\":", w->err);
    if (status == MLDF_OK)
        status = put_hex(w->at, bytes, w->out, w->err);
    return status < 0 ? status : mldfi_buffer_append_text(w->out, "}", w->err);
}

static mldf_status put_wide(struct record_walk *w, size_t count) {
    mldf_buffer text = MLDF_BUFFER_INIT;
    mldf_status status = MLDF_OK;
    while (count > 0 && mldfi_load_u32(w->at + 4 * (count - 1)) == 0)
        count--;
    for (size_t i = 0; status == MLDF_OK && i < count; i++) {
        uint32_t c = mldfi_load_u32(w->at + 4 * i);
        if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
            c = 0xfffd;
        uint8_t bytes[4];
        size_t n = 0;
        if (c < 0x80) {
            bytes[n++] = (uint8_t)c;
        } else {
            unsigned more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
            bytes[n++] = (uint8_t)(((0xff00u >> (more + 1)) & 0xff) | c >> 6 * more);
            while (more-- > 0)
                bytes[n++] = (uint8_t)(0x80 | (c >> 6 * more & 63));
        }
        status = mldf_buffer_append(&text, bytes, n, w->err);
    }
    if (status == MLDF_OK)
        status = mldfi_json_append_string(w->out, text.data ? (const char *)text.data : "", text.size, w->err);
    mldf_buffer_free(&text);
    return status;
}

static mldf_status put_string(struct record_walk *w, const struct json_node *type) {
    uint64_t length = 0;
    char code = type->text_bytes > 1 ? type->text[1] : 'V';
    for (uint64_t i = 2; i < type->text_bytes && length < UINT32_MAX; i++)
        length = length * 10 + (uint64_t)(type->text[i] - '0');
    uint64_t bytes = code == 'U' ? 4 * length : length;
    if (bytes > (uint64_t)(w->end - w->at))
        return mldfi_fail(w->err, MLDF_E_CORRUPT, "the members pass the end of the record");
    mldf_status status;
    if (code == 'V') {
        status = put_hex(w->at, (size_t)bytes, w->out, w->err);
    } else if (code == 'U') {
        status = put_wide(w, (size_t)length);
    } else {
        size_t used = (size_t)length;
        while (used > 0 && w->at[used - 1] == 0)
            used--;
        status = put_bytes(w, used);
    }
    w->at += bytes;
    return status;
}

/* ---- Structs: members ------------------------------------------------------------------------------------------------------- */

static mldf_status put_struct(struct record_walk *w, uint32_t list);

static mldf_status put_item(struct record_walk *w, uint32_t type) {
    const struct json_node *node = &w->descr->nodes[type];
    if (node->kind == MLDFI_JSON_ARRAY)
        return put_struct(w, type);
    mldf_dtype dtype = mldf_dtype_parse(node->text, (size_t)node->text_bytes);
    if (dtype == MLDF_DTYPE_NONE)
        return put_string(w, node);
    if (mldf_dtype_bytes(dtype) > (size_t)(w->end - w->at))
        return mldfi_fail(w->err, MLDF_E_CORRUPT, "the members pass the end of the record");
    w->at += mldf_dtype_bytes(dtype);
    return put_element(dtype, w->at - mldf_dtype_bytes(dtype), w->out, w->err);
}

/* shape: the node of the first dimension that is left; end: behind the last. */
static mldf_status put_shaped(struct record_walk *w, uint32_t type, uint32_t shape, uint32_t end) {
    uint64_t count;
    if (shape >= end || !mldfi_json_u64(w->descr, shape, &count))
        return put_item(w, type);
    mldf_status status = mldfi_buffer_append_text(w->out, "[", w->err);
    for (uint64_t i = 0; status == MLDF_OK && i < count; i++) {
        if (i > 0)
            status = mldfi_buffer_append_text(w->out, ",", w->err);
        if (status == MLDF_OK)
            status = put_shaped(w, type, w->descr->nodes[shape].next, end);
    }
    return status < 0 ? status : mldfi_buffer_append_text(w->out, "]", w->err);
}

/* The type and shape of ["name", type, shape]; a shape may be a number too. */
static mldf_status put_member(struct record_walk *w, uint32_t member) {
    const struct json *d = w->descr;
    uint32_t name = mldfi_json_first(d, member), type = d->nodes[name].next, shape = d->nodes[type].next;
    if (shape >= d->nodes[member].next)
        return put_item(w, type);
    bool list = d->nodes[shape].kind == MLDFI_JSON_ARRAY;
    return put_shaped(w, type, list ? mldfi_json_first(d, shape) : shape, d->nodes[shape].next);
}

static bool is_padding(const struct json *d, uint32_t member) {
    uint32_t name = mldfi_json_first(d, member), type = d->nodes[name].next;
    return d->nodes[name].text_bytes == 0 && d->nodes[type].kind == MLDFI_JSON_STRING &&
           d->nodes[type].text_bytes > 1 && d->nodes[type].text[1] == 'V';
}

static mldf_status put_struct(struct record_walk *w, uint32_t list) {
    const struct json *d = w->descr;
    bool first = true;
    mldf_status status = mldfi_buffer_append_text(w->out, "{", w->err);
    for (uint32_t m = mldfi_json_first(d, list); status == MLDF_OK && m < d->nodes[list].next; m = d->nodes[m].next) {
        const struct json_node *name = &d->nodes[mldfi_json_first(d, m)];
        size_t before = w->out->size;
        if (!first)
            status = mldfi_buffer_append_text(w->out, ",", w->err);
        if (status == MLDF_OK)
            status = mldfi_json_append_string(w->out, name->text, (size_t)name->text_bytes, w->err);
        if (status == MLDF_OK)
            status = mldfi_buffer_append_text(w->out, ":", w->err);
        if (status == MLDF_OK)
            status = put_member(w, m);
        if (is_padding(d, m))
            w->out->size = before; /* it was walked over, and does not show */
        else
            first = false;
    }
    return status < 0 ? status : mldfi_buffer_append_text(w->out, "}", w->err);
}

static mldf_status put_record(const mldf_field *field, const mldf_value *value, mldf_buffer *out, mldf_error *err) {
    struct json json = {0};
    const uint8_t *record = value->data;
    mldf_status status = mldfi_json_parse(&json, field->arguments, strlen(field->arguments), err);
    uint32_t list = status == MLDF_OK ? mldfi_json_find(&json, 0, "descr") : UINT32_MAX;
    if (status == MLDF_OK && list == UINT32_MAX)
        status = mldfi_fail(err, MLDF_E_SCHEMA, "an inline field without descr");
    if (status == MLDF_OK) {
        struct record_walk w = {&json, record, record + value->bytes, out, err};
        uint32_t only = mldfi_json_first(&json, list);
        bool bare = json.nodes[list].count == 1 && json.nodes[mldfi_json_first(&json, only)].text_bytes == 0 &&
                    !is_padding(&json, only);
        status = bare ? put_member(&w, only) : put_struct(&w, list);
    }
    mldfi_json_free(&json);
    return status;
}

/* ---- Values -------------------------------------------------------------------------------------------------------- */

static mldf_status put_kind(const mldf_field *field, const mldf_value *value, bool full, mldf_buffer *out,
                            mldf_error *err) {
    switch (value->kind) {
    case MLDF_KIND_NULL:
        return mldfi_buffer_append_text(out, "null", err);
    case MLDF_KIND_INT:
    case MLDF_KIND_UINT:
    case MLDF_KIND_FLOAT:
        return put_number(value, value->kind == MLDF_KIND_FLOAT ? MLDF_F64 : field->dtype, out, err);
    case MLDF_KIND_TEXT:
        return field->type_id == MLDF_JSON ? put_json(value->data, (size_t)value->bytes, out, err)
                                           : put_text(value->data, (size_t)value->bytes, out, err);
    case MLDF_KIND_ARRAY:
        return put_array(value, full, out, err);
    case MLDF_KIND_STRUCT:
        return put_record(field, value, out, err);
    case MLDF_KIND_BYTES:
    case MLDF_KIND_STORED:
        return put_payload(value, full, out, err);
    }
    return mldfi_fail(err, MLDF_E_ARGUMENT, "mldf_value_json: a value of kind %d", (int)value->kind);
}

mldf_status mldf_value_json(const mldf_schema *schema, size_t field, const mldf_value *value, bool full,
                            mldf_buffer *out, mldf_error *err) {
    if (!schema || field >= mldf_schema_field_count(schema) || !value || !out)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "mldf_value_json: a field of the schema, a value and out are needed");
    size_t before = out->size;
    mldf_status status = mldf_value_describe(schema, field, value, full, out, err);
    if (status == MLDF_ABSENT)
        status = put_kind(mldf_schema_field(schema, field), value, full, out, err);
    if (status < 0)
        out->size = before;
    return status;
}
