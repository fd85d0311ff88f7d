/* JSON into INLINE records: objects (or lists, in order) for structs, nested lists for shapes. It walks the field's descr, which is JSON
 * itself, side by side with the value. See convert.h. */
#include <stdlib.h>
#include <string.h>

#include "tool/convert.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"
#include "util/number.h"

struct record_walk {
    const struct json *descr;
    const struct json *json;
    uint8_t *at, *end;
};

static mldf_status put_struct(struct record_walk *w, uint32_t descr, uint32_t node, mldf_error *err);

static mldf_status need(struct record_walk *w, size_t bytes, uint8_t **dst, mldf_error *err) {
    if (bytes > (size_t)(w->end - w->at))
        return mldfi_fail(err, MLDF_E_SCHEMA, "the members pass the end of the record");
    *dst = w->at;
    w->at += bytes;
    return MLDF_OK;
}

/* One code point of valid UTF-8. */
static size_t code_point(const uint8_t *s, uint32_t *out) {
    if (s[0] < 0x80) {
        *out = s[0];
        return 1;
    }
    size_t n = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    *out = s[0] & (0x7fu >> n);
    for (size_t i = 1; i < n; i++)
        *out = *out << 6 | (s[i] & 0x3f);
    return n;
}

static mldf_status put_unicode(const struct json_node *n, uint8_t *dst, uint64_t capacity, mldf_error *err) {
    uint64_t count = 0;
    for (uint64_t i = 0; i < n->text_bytes; count++) {
        uint32_t c;
        i += code_point((const uint8_t *)n->text + i, &c);
        if (count == capacity)
            return mldfi_fail(err, MLDF_E_RANGE, "more than %llu characters", (unsigned long long)capacity);
        mldfi_store_u32(dst + 4 * count, c);
    }
    return MLDF_OK;
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static mldf_status put_void(const struct json_node *n, uint8_t *dst, uint64_t bytes, mldf_error *err) {
    if (n->text_bytes != 2 * bytes)
        return mldfi_fail(err, MLDF_E_TYPE, "%llu hexadecimal digits belong here", (unsigned long long)(2 * bytes));
    for (uint64_t i = 0; i < bytes; i++) {
        int high = hex_digit(n->text[2 * i]), low = hex_digit(n->text[2 * i + 1]);
        if (high < 0 || low < 0)
            return mldfi_fail(err, MLDF_E_TYPE, "text that is not hexadecimal");
        dst[i] = (uint8_t)(high << 4 | low);
    }
    return MLDF_OK;
}

/* {"hex":"ff80"}: bytes that are no text, as the manifest of extract has them. */
static mldf_status put_hex_object(const struct json *json, uint32_t node, uint8_t *dst, uint64_t room,
                                  mldf_error *err) {
    uint32_t at = mldfi_json_find(json, node, "hex");
    if (at == UINT32_MAX || json->nodes[node].count != 1 || json->nodes[at].kind != MLDFI_JSON_STRING)
        return mldfi_fail(err, MLDF_E_TYPE, "a string, or {\"hex\": \"...\"}, belongs here");
    uint64_t bytes = json->nodes[at].text_bytes / 2;
    if (bytes > room)
        return mldfi_fail(err, MLDF_E_RANGE, "%llu bytes, and the member has %llu", (unsigned long long)bytes,
                          (unsigned long long)room);
    return put_void(&json->nodes[at], dst, bytes, err);
}

/* "|S16", "<U8", "|V4": strings of fixed length. */
static mldf_status put_string(struct record_walk *w, char code, uint64_t length, uint32_t node, mldf_error *err) {
    const struct json_node *n = &w->json->nodes[node];
    uint8_t *dst = NULL;
    TRY(need(w, (size_t)(code == 'U' ? length * 4 : length), &dst, err));
    if (code == 'S' && n->kind == MLDFI_JSON_OBJECT)
        return put_hex_object(w->json, node, dst, length, err);
    if (n->kind != MLDFI_JSON_STRING)
        return mldfi_fail(err, MLDF_E_TYPE, "a string belongs here");
    if (code == 'U')
        return put_unicode(n, dst, length, err);
    if (code == 'V')
        return put_void(n, dst, length, err);
    if (n->text_bytes > length)
        return mldfi_fail(err, MLDF_E_RANGE, "%llu bytes of text, and the member has %llu",
                          (unsigned long long)n->text_bytes, (unsigned long long)length);
    memcpy(dst, n->text, n->text_bytes);
    return MLDF_OK;
}

/* A type: a dtype, a string type, or a nested list of members. */
static mldf_status put_item(struct record_walk *w, uint32_t type, uint32_t node, mldf_error *err) {
    const struct json_node *t = &w->descr->nodes[type];
    uint64_t length;
    if (t->kind == MLDFI_JSON_ARRAY)
        return put_struct(w, type, node, err);
    mldf_dtype dtype = mldf_dtype_parse(t->text, t->text_bytes);
    if (dtype != MLDF_DTYPE_NONE) {
        uint8_t *dst = NULL;
        mldf_status status = need(w, mldf_dtype_bytes(dtype), &dst, err);
        return status < 0 ? status : mldfi_put_element(dtype, w->json, node, dst, err);
    }
    if (t->text_bytes < 3 || !mldfi_parse_u64(t->text + 2, t->text_bytes - 2, &length) || length > 4096)
        return mldfi_fail(err, MLDF_E_SCHEMA, "a member type that is not known: %.*s", (int)t->text_bytes, t->text);
    return put_string(w, t->text[1], length, node, err);
}

/* A member with a shape: nested lists. `shape` is the node of the dimension that comes next; `end` the node after the last. */
static mldf_status put_shaped(struct record_walk *w, uint32_t type, uint32_t shape, uint32_t end, uint32_t node,
                              mldf_error *err) {
    const struct json_node *n = &w->json->nodes[node];
    uint64_t count;
    mldf_status status = MLDF_OK;
    if (shape >= end)
        return put_item(w, type, node, err);
    if (!mldfi_json_u64(w->descr, shape, &count))
        return mldfi_fail(err, MLDF_E_SCHEMA, "a shape that is not a list of integers");
    if (n->kind != MLDFI_JSON_ARRAY || n->count != count)
        return mldfi_fail(err, MLDF_E_TYPE, "a list of %llu belongs here", (unsigned long long)count);
    for (uint32_t i = mldfi_json_first(w->json, node); status == MLDF_OK && i < n->next; i = w->json->nodes[i].next)
        status = put_shaped(w, type, w->descr->nodes[shape].next, end, i, err);
    return status;
}

static mldf_status put_member(struct record_walk *w, uint32_t type, uint32_t member_end, uint32_t node,
                              mldf_error *err) {
    uint32_t shape = w->descr->nodes[type].next;
    if (shape >= member_end)
        return put_item(w, type, node, err);
    if (w->descr->nodes[shape].kind == MLDFI_JSON_ARRAY)
        return put_shaped(w, type, mldfi_json_first(w->descr, shape), w->descr->nodes[shape].next, node, err);
    return put_shaped(w, type, shape, w->descr->nodes[shape].next, node, err);
}

static bool is_padding(const struct json *descr, uint32_t name) {
    const struct json_node *type = &descr->nodes[descr->nodes[name].next];
    return descr->nodes[name].text_bytes == 0 && type->kind == MLDFI_JSON_STRING && type->text_bytes > 1 &&
           type->text[1] == 'V';
}

static mldf_status skip_padding(struct record_walk *w, uint32_t name, mldf_error *err) {
    const struct json_node *type = &w->descr->nodes[w->descr->nodes[name].next];
    uint64_t length;
    uint8_t *dst = NULL;
    if (!mldfi_parse_u64(type->text + 2, type->text_bytes - 2, &length) || length > 4096)
        return mldfi_fail(err, MLDF_E_SCHEMA, "padding without a length");
    return need(w, (size_t)length, &dst, err);
}

/* The value of a named member: by name in an object, by order in a list. */
static uint32_t find_value(const struct record_walk *w, uint32_t name, uint32_t node, uint32_t *next) {
    const struct json_node *wanted = &w->descr->nodes[name], *n = &w->json->nodes[node];
    if (n->kind == MLDFI_JSON_ARRAY) {
        uint32_t at = *next;
        if (at >= n->next)
            return UINT32_MAX;
        *next = w->json->nodes[at].next;
        return at;
    }
    for (uint32_t i = mldfi_json_first(w->json, node); i < n->next; i = w->json->nodes[i].next)
        if (w->json->nodes[i].key_bytes == wanted->text_bytes &&
            memcmp(w->json->nodes[i].key, wanted->text, wanted->text_bytes) == 0)
            return i;
    return UINT32_MAX;
}

static mldf_status put_struct(struct record_walk *w, uint32_t descr, uint32_t node, mldf_error *err) {
    const struct json_node *list = &w->descr->nodes[descr], *n = &w->json->nodes[node];
    uint32_t next = mldfi_json_first(w->json, node), used = 0;
    if (n->kind != MLDFI_JSON_OBJECT && n->kind != MLDFI_JSON_ARRAY)
        return mldfi_fail(err, MLDF_E_TYPE, "an object or a list belongs here");
    for (uint32_t m = mldfi_json_first(w->descr, descr); m < list->next; m = w->descr->nodes[m].next) {
        uint32_t name = mldfi_json_first(w->descr, m);
        const struct json_node *member = &w->descr->nodes[name];
        mldf_status status;
        if (is_padding(w->descr, name)) {
            status = skip_padding(w, name, err);
        } else {
            uint32_t value = find_value(w, name, node, &next);
            if (value == UINT32_MAX)
                return mldfi_fail(err, MLDF_E_TYPE, "member '%.*s' is missing", (int)member->text_bytes, member->text);
            used++;
            status = put_member(w, member->next, w->descr->nodes[m].next, value, err);
            if (status < 0)
                mldfi_error_prefix(err, "member '%.*s'", (int)member->text_bytes, member->text);
        }
        if (status < 0)
            return status;
    }
    if (used != n->count)
        return mldfi_fail(err, MLDF_E_TYPE, "%u values for %u members", n->count, used);
    return MLDF_OK;
}

/* One unnamed member that is not padding: a bare array or scalar. */
static bool is_bare(const struct json *descr, uint32_t list) {
    uint32_t name = mldfi_json_first(descr, mldfi_json_first(descr, list));
    return descr->nodes[list].count == 1 && descr->nodes[name].text_bytes == 0 && !is_padding(descr, name);
}

mldf_status mldfi_convert_inline(struct converter *c, const struct json *json, uint32_t node, mldf_value *out,
                                 mldf_error *err) {
    uint32_t list = mldfi_json_find(&c->descr, 0, "descr");
    mldf_status status = mldfi_buffer_resize(&c->scratch, c->field->record_bytes, err);
    if (status < 0)
        return status;
    if (list == UINT32_MAX || c->descr.nodes[list].kind != MLDFI_JSON_ARRAY || c->descr.nodes[list].count == 0)
        return mldfi_fail(err, MLDF_E_SCHEMA, "the field has no descr");
    memset(c->scratch.data, 0, c->scratch.size);
    struct record_walk w = {&c->descr, json, c->scratch.data, c->scratch.data + c->scratch.size};
    if (is_bare(&c->descr, list)) {
        uint32_t member = mldfi_json_first(&c->descr, list), name = mldfi_json_first(&c->descr, member);
        status = put_member(&w, c->descr.nodes[name].next, c->descr.nodes[member].next, node, err);
    } else {
        status = put_struct(&w, list, node, err);
    }
    out->kind = MLDF_KIND_STRUCT;
    out->data = c->scratch.data;
    out->bytes = c->scratch.size;
    return status;
}
