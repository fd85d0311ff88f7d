/* See value_json.h. An INLINE record is walked side by side with its descr, as inline_value.c does the other way round. */
#include "tool/value_json.h"

#include <inttypes.h>
#include <string.h>

#include "tool/element.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"
#include "util/json.h"
#include "util/utf8.h"

struct record_walk {
    const struct json *descr;
    const uint8_t *at, *end;
    mldf_buffer *out;
    mldf_error *err;
};

static mldf_status put_number(const mldf_value *value, mldf_buffer *out, mldf_error *err) {
    if (value->kind == MLDF_KIND_INT)
        return mldfi_buffer_printf(out, err, "%" PRId64, value->as.i);
    if (value->kind == MLDF_KIND_UINT)
        return mldfi_buffer_printf(out, err, "%" PRIu64, value->as.u);
    return mldfi_json_append_double(out, value->as.f, err);
}

static mldf_status put_element(struct record_walk *w, mldf_dtype dtype) {
    mldf_value value;
    const uint8_t *at = w->at;
    w->at += mldf_dtype_bytes(dtype);
    if (dtype == MLDF_BOOL)
        return mldfi_buffer_append_text(w->out, at[0] ? "true" : "false", w->err);
    if (mldfi_element(dtype, at, &value))
        return put_number(&value, w->out, w->err);
    /* Complex: a pair. */
    mldf_dtype part = dtype == MLDF_C64 ? MLDF_F32 : MLDF_F64;
    mldf_status status = mldfi_buffer_append_text(w->out, "[", w->err);
    for (int i = 0; status == MLDF_OK && i < 2; i++) {
        mldfi_element(part, at + (size_t)i * mldf_dtype_bytes(part), &value);
        status = mldfi_json_append_double(w->out, value.as.f, w->err);
        if (status == MLDF_OK)
            status = mldfi_buffer_append_text(w->out, i ? "]" : ",", w->err);
    }
    return status;
}

/* ---- Fixed strings ------------------------------------------------------------------------------------------------- */

static mldf_status put_hex(struct record_walk *w, size_t bytes) {
    mldf_status status = mldfi_buffer_append_text(w->out, "\"", w->err);
    for (size_t i = 0; status == MLDF_OK && i < bytes; i++)
        status = mldfi_buffer_printf(w->out, w->err, "%02x", w->at[i]);
    return status < 0 ? status : mldfi_buffer_append_text(w->out, "\"", w->err);
}

/* Bytes that are text are a string; others, which JSON does not hold, {"hex":"ff80"}. inline_value.c reads both. */
static mldf_status put_bytes(struct record_walk *w, size_t bytes) {
    if (mldfi_utf8_valid_prefix(w->at, bytes) == bytes)
        return mldfi_json_append_string(w->out, (const char *)w->at, bytes, w->err);
    mldf_status status = mldfi_buffer_append_text(w->out, "{\"hex\":", w->err);
    if (status == MLDF_OK)
        status = put_hex(w, bytes);
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
        status = put_hex(w, (size_t)bytes);
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

/* ---- Structs ------------------------------------------------------------------------------------------------------- */

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
    return put_element(w, dtype);
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

mldf_status mldfi_value_json(const mldf_field *field, const mldf_value *value, mldf_buffer *out, mldf_error *err) {
    if (value->kind == MLDF_KIND_NULL)
        return mldfi_buffer_append_text(out, "null", err);
    if (field->type_id == MLDF_INLINE)
        return put_record(field, value, out, err);
    if (field->dtype == MLDF_BOOL && value->kind == MLDF_KIND_INT)
        return mldfi_buffer_append_text(out, value->as.i ? "true" : "false", err);
    return put_number(value, out, err);
}
