/* Writing JSON in its one canonical form: keys sorted bytewise, no spaces, shortest numbers, few escapes. Equal values
 * give equal bytes, and the canonical form of a canonical text is itself. json_parse.c reads. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/buffer.h"
#include "util/error.h"
#include "util/json.h"
#include "util/json_members.h"
#include "util/number.h"

enum { FEW_MEMBERS = 16 };

static mldf_status put(mldf_buffer *out, char c, mldf_error *err) {
    return mldf_buffer_append(out, &c, 1, err);
}

/* Writes the escape of c, if it needs one, and returns its length, else 0. */
static size_t escape(unsigned char c, char out[6]) {
    static const char letters[] = "btn?fr", hex[] = "0123456789abcdef"; /* of 8 .. 13 */
    out[0] = '\\';
    if (c == '"' || c == '\\') {
        out[1] = (char)c;
        return 2;
    }
    if (c >= 0x20)
        return 0;
    if (c >= 8 && c <= 13 && c != 11) {
        out[1] = letters[c - 8];
        return 2;
    }
    out[1] = 'u';
    out[2] = out[3] = '0';
    out[4] = hex[c >> 4];
    out[5] = hex[c & 15];
    return 6;
}

mldf_status mldfi_json_append_double(mldf_buffer *out, double value, mldf_error *err) {
    char text[32];
    if (isfinite(value))
        return mldf_buffer_append(out, text, mldfi_format_double(text, value), err);
    return mldfi_buffer_append_text(out, isnan(value) ? "\"NaN\"" : value > 0 ? "\"Infinity\"" : "\"-Infinity\"", err);
}

mldf_status mldfi_json_append_string(mldf_buffer *out, const char *text, size_t bytes, mldf_error *err) {
    size_t plain = 0; /* first byte not yet written */
    char escaped[6];
    mldf_status status = put(out, '"', err);
    for (size_t i = 0; i < bytes && status == MLDF_OK; i++) {
        size_t length = escape((unsigned char)text[i], escaped);
        if (length == 0)
            continue;
        status = mldf_buffer_append(out, text + plain, i - plain, err);
        if (status == MLDF_OK)
            status = mldf_buffer_append(out, escaped, length, err);
        plain = i + 1;
    }
    if (status == MLDF_OK && plain < bytes)
        status = mldf_buffer_append(out, text + plain, bytes - plain, err);
    return status != MLDF_OK ? status : put(out, '"', err);
}

static mldf_status append_number(const struct json_node *node, mldf_buffer *out, mldf_error *err) {
    char text[32];
    double value;
    bool integer;
    const char *bad, *end = node->text + node->text_bytes;
    (void)mldfi_number_end(node->text, end, &integer, &bad);
    /* JSON's grammar has one spelling for each integer, of any length, but for zero. */
    if (integer && node->text_bytes == 2 && node->text[0] == '-' && node->text[1] == '0')
        return put(out, '0', err);
    if (integer)
        return mldf_buffer_append(out, node->text, (size_t)node->text_bytes, err);
    if (!mldfi_parse_double(node->text, (size_t)node->text_bytes, &value)) {
        int shown = node->text_bytes < 40 ? (int)node->text_bytes : 40;
        return mldfi_fail_at(err, MLDF_E_RANGE, node->offset, "JSON: the number %.*s is beyond the range of a double",
                             shown, node->text);
    }
    return mldf_buffer_append(out, text, mldfi_format_double(text, value), err);
}

static mldf_status append_value(const struct json *json, uint32_t at, mldf_buffer *out, mldf_error *err);

static mldf_status append_array(const struct json *json, uint32_t at, mldf_buffer *out, mldf_error *err) {
    mldf_status status = put(out, '[', err);
    uint32_t first = mldfi_json_first(json, at);
    for (uint32_t i = first; i < json->nodes[at].next && status == MLDF_OK; i = json->nodes[i].next) {
        if (i != first)
            status = put(out, ',', err);
        if (status == MLDF_OK)
            status = append_value(json, i, out, err);
    }
    return status != MLDF_OK ? status : put(out, ']', err);
}

static mldf_status append_members(const struct json *json, const struct json_member *members, uint32_t count,
                                  mldf_buffer *out, mldf_error *err) {
    mldf_status status = put(out, '{', err);
    for (uint32_t i = 0; i < count && status == MLDF_OK; i++) {
        if (i > 0)
            status = put(out, ',', err);
        if (status == MLDF_OK)
            status = mldfi_json_append_string(out, members[i].key, members[i].key_bytes, err);
        if (status == MLDF_OK)
            status = put(out, ':', err);
        if (status == MLDF_OK)
            status = append_value(json, members[i].node, out, err);
    }
    return status != MLDF_OK ? status : put(out, '}', err);
}

static mldf_status append_object(const struct json *json, uint32_t at, mldf_buffer *out, mldf_error *err) {
    uint32_t count = json->nodes[at].count;
    struct json_member few[FEW_MEMBERS], *members = few;
    if (count > FEW_MEMBERS && !(members = mldfi_alloc(count * sizeof *members, err)))
        return MLDF_E_MEMORY;
    mldfi_json_sort_members(json, at, members);
    mldf_status status = append_members(json, members, count, out, err);
    if (members != few)
        free(members);
    return status;
}

/* Recursion is as deep as the text, and the parser lets through 128 levels. */
static mldf_status append_value(const struct json *json, uint32_t at, mldf_buffer *out, mldf_error *err) {
    const struct json_node *node = &json->nodes[at];
    switch (node->kind) {
    case MLDFI_JSON_NULL:
        return mldf_buffer_append(out, "null", 4, err);
    case MLDFI_JSON_FALSE:
        return mldf_buffer_append(out, "false", 5, err);
    case MLDFI_JSON_TRUE:
        return mldf_buffer_append(out, "true", 4, err);
    case MLDFI_JSON_NUMBER:
        return append_number(node, out, err);
    case MLDFI_JSON_STRING:
        return mldfi_json_append_string(out, node->text, (size_t)node->text_bytes, err);
    case MLDFI_JSON_ARRAY:
        return append_array(json, at, out, err);
    case MLDFI_JSON_OBJECT:
        return append_object(json, at, out, err);
    }
    return mldfi_fail(err, MLDF_E_ARGUMENT, "JSON: a node of kind %d", (int)node->kind);
}

mldf_status mldfi_json_canonical(const struct json *json, uint32_t at, mldf_buffer *out, mldf_error *err) {
    return append_value(json, at, out, err);
}

mldf_status mldfi_json_canonicalize(const char *text, size_t bytes, mldf_buffer *out, mldf_error *err) {
    struct json json = {0};
    mldf_status status = mldfi_json_parse(&json, text, bytes, err);
    if (status == MLDF_OK)
        status = mldfi_json_canonical(&json, 0, out, err);
    mldfi_json_free(&json);
    return status;
}
