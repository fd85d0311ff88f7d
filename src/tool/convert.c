/* Cells into scalars, text, bytes and JSON; the rest is sent on to array.c and inline_value.c. See convert.h. */
#include "tool/convert.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "field/tokens.h"
#include "util/base64.h"
#include "util/buffer.h"
#include "util/error.h"

const char *mldfi_excerpt(char out[80], const char *text, size_t bytes) {
    size_t n = 0, limit = bytes > 40 ? 40 : bytes;
    out[n++] = '\'';
    /* Cut between characters: a byte 10xxxxxx continues one. */
    while (limit < bytes && limit > 0 && ((unsigned char)text[limit] & 0xc0) == 0x80)
        limit--;
    for (size_t i = 0; i < limit; i++)
        out[n++] = (unsigned char)text[i] < 0x20 ? ' ' : text[i];
    if (limit < bytes) {
        memcpy(out + n, "...", 3);
        n += 3;
    }
    out[n++] = '\'';
    out[n] = 0;
    return out;
}

mldf_status mldfi_converter_begin(struct converter *c, const struct schema_field *field, bool strict,
                                  bool numbers_as_text, mldf_error *err) {
    memset(c, 0, sizeof *c);
    c->field = &field->info;
    c->made_from = field->type ? field->type->files : NULL;
    c->strict = strict;
    c->numbers_as_text = numbers_as_text;
    c->names_files = c->made_from || c->field->from_file;
    if (c->field->type_id != MLDF_INLINE)
        return MLDF_OK;
    /* The tree points into its text, which therefore must be ours. */
    mldf_status status = mldf_buffer_append(&c->descr_text, c->field->arguments, strlen(c->field->arguments), err);
    if (status == MLDF_OK)
        status = mldfi_json_parse(&c->descr, (const char *)c->descr_text.data, c->descr_text.size, err);
    return status;
}

void mldfi_converter_free(struct converter *c) {
    mldf_buffer_free(&c->scratch);
    mldf_buffer_free(&c->descr_text);
    mldfi_json_free(&c->parsed);
    mldfi_json_free(&c->descr);
    memset(c, 0, sizeof *c);
}

void mldfi_error_cell(mldf_error *err, const char *file, uint64_t row_line, const struct cell *cell, const char *column,
                      const char *type) {
    uint64_t line = cell->kind == CELL_ABSENT ? row_line : cell->line;
    uint64_t at = cell->kind == CELL_ABSENT ? 1 : cell->column;
    mldfi_error_outer(err, ""); /* a file that the cell names */
    mldfi_error_prefix(err, "column '%s' (%s)", column, type);
    mldfi_error_line(err, file, line, at);
    mldfi_error_place(err, MLDF_NONE, column);
}

/* ---- Scalars ------------------------------------------------------------------------------------------------------- */

static bool int_range(mldf_dtype dtype, int64_t *low, uint64_t *high) {
    static const struct {
        mldf_dtype dtype;
        int64_t low;
        uint64_t high;
    } ranges[] = {
        {MLDF_BOOL, 0, 1},         {MLDF_I8, INT8_MIN, INT8_MAX},
        {MLDF_U8, 0, UINT8_MAX},   {MLDF_I16, INT16_MIN, INT16_MAX},
        {MLDF_U16, 0, UINT16_MAX}, {MLDF_I32, INT32_MIN, INT32_MAX},
        {MLDF_U32, 0, UINT32_MAX}, {MLDF_I64, INT64_MIN, INT64_MAX},
        {MLDF_U64, 0, UINT64_MAX},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        if (ranges[i].dtype == dtype) {
            *low = ranges[i].low;
            *high = ranges[i].high;
            return true;
        }
    }
    return false;
}

mldf_status mldfi_put_int(mldf_dtype dtype, text_kind kind, const struct text_number *number, mldf_value *out,
                          mldf_error *err) {
    int64_t low;
    uint64_t high;
    if (dtype == MLDF_DTYPE_NONE)
        dtype = MLDF_I64;
    if (!int_range(dtype, &low, &high))
        return mldfi_fail(err, MLDF_E_TYPE, "not an integer type: %s", mldf_dtype_name(dtype));
    if (kind == TEXT_UINT) {
        if (number->u > high)
            return mldfi_fail(err, MLDF_E_RANGE, "%" PRIu64 " is beyond the range of %s", number->u,
                              mldf_dtype_name(dtype));
        out->kind = MLDF_KIND_UINT;
        out->as.u = number->u;
        return MLDF_OK;
    }
    if (number->i < low || (number->i >= 0 && (uint64_t)number->i > high))
        return mldfi_fail(err, MLDF_E_RANGE, "%" PRId64 " is beyond the range of %s", number->i,
                          mldf_dtype_name(dtype));
    out->kind = MLDF_KIND_INT;
    out->as.i = number->i;
    return MLDF_OK;
}

static mldf_status make_int(const struct converter *c, text_kind kind, const struct text_number *number,
                            const char *text, size_t bytes, mldf_value *out, mldf_error *err) {
    char shown[80];
    bool wants_bool = c->field->dtype == MLDF_BOOL;
    bool fits = kind == TEXT_INT || kind == TEXT_UINT;
    if (wants_bool && kind == TEXT_BOOL) {
        out->kind = MLDF_KIND_INT;
        out->as.i = number->i;
        return MLDF_OK;
    }
    if (wants_bool && (c->strict || !fits))
        return mldfi_fail(err, MLDF_E_TYPE, "%s is neither true nor false", mldfi_excerpt(shown, text, bytes));
    if (kind == TEXT_BIG)
        return mldfi_fail(err, MLDF_E_RANGE, "%s needs more than 64 bits", mldfi_excerpt(shown, text, bytes));
    if (!fits)
        return mldfi_fail(err, MLDF_E_TYPE, "%s is not an integer", mldfi_excerpt(shown, text, bytes));
    return mldfi_put_int(c->field->dtype, kind, number, out, err);
}

static mldf_status make_float(const struct converter *c, text_kind kind, const struct text_number *number,
                              const char *text, size_t bytes, mldf_value *out, mldf_error *err) {
    char shown[80];
    out->kind = MLDF_KIND_FLOAT;
    if (kind == TEXT_FLOAT) {
        out->as.f = number->f;
        return MLDF_OK;
    }
    if (kind == TEXT_BIG && !c->strict && isfinite(number->f)) {
        out->as.f = number->f;
        return MLDF_OK;
    }
    if (kind != TEXT_INT && kind != TEXT_UINT)
        return mldfi_fail(err, kind == TEXT_BIG ? MLDF_E_RANGE : MLDF_E_TYPE, "%s is not a number that a float64 holds",
                          mldfi_excerpt(shown, text, bytes));
    if (c->strict && !(kind == TEXT_INT ? mldfi_int_is_exact(number->i) : mldfi_uint_is_exact(number->u)))
        return mldfi_fail(err, MLDF_E_RANGE, "%s is an integer that a float64 cannot hold exactly",
                          mldfi_excerpt(shown, text, bytes));
    out->as.f = kind == TEXT_INT ? (double)number->i : (double)number->u;
    return MLDF_OK;
}

static mldf_status make_null(const struct converter *c, const char *what, mldf_value *out, mldf_error *err) {
    out->kind = MLDF_KIND_NULL;
    if (c->field->flags & MLDF_FIELD_NULLABLE)
        return MLDF_OK;
    return mldfi_fail(err, MLDF_E_NULL, "%s, and the field is not nullable", what);
}

static mldf_status make_bytes(mldf_kind kind, const char *text, size_t bytes, mldf_value *out) {
    out->kind = kind;
    out->data = text;
    out->bytes = bytes;
    return MLDF_OK;
}

/* ---- Files ----------------------------------------------------------------------------------------------------------- */

static mldf_status file_value(struct converter *c, const char *text, size_t bytes, mldf_value *out, mldf_error *err) {
    uint64_t limit = c->made_from                      ? c->made_from->most_bytes
                     : c->field->type_id == MLDF_BYTES ? UINT64_MAX
                                                       : UINT32_MAX;
    if (!c->files)
        return mldfi_fail(err, MLDF_E_TYPE, "fields of type %s are not made from text", c->field->type_name);
    TRY(mldfi_files_read(c->files, text, bytes, c->made_from, limit, &c->scratch, err));
    return make_bytes(c->field->type_id == MLDF_TEXT ? MLDF_KIND_TEXT : MLDF_KIND_BYTES, (const char *)c->scratch.data,
                      c->scratch.size, out);
}

/* ---- CSV ----------------------------------------------------------------------------------------------------------- */

static mldf_status convert_csv_json(struct converter *c, const struct cell *cell, mldf_value *out, mldf_error *err) {
    mldf_error inner;
    mldf_status status = mldfi_json_parse(&c->parsed, cell->text, cell->bytes, &inner);
    if (status < 0)
        return mldfi_fail(err, status, "not JSON: %s", inner.message);
    if (c->field->type_id == MLDF_JSON)
        return make_bytes(MLDF_KIND_TEXT, cell->text, cell->bytes, out);
    if (c->field->type_id == MLDF_TEXT_HIERARCHICAL)
        return mldfi_convert_levels(c, &c->parsed, 0, out, err);
    if (c->field->type_id == MLDF_NDARRAY || mldfi_is_tokens(c->field->type_id))
        return mldfi_convert_array(c, &c->parsed, 0, out, err);
    return mldfi_convert_inline(c, &c->parsed, 0, out, err);
}

static mldf_status convert_csv(struct converter *c, const struct cell *cell, mldf_value *out, mldf_error *err) {
    struct text_number number;
    uint16_t type = c->field->type_id;
    if (c->names_files)
        return cell->bytes ? file_value(c, cell->text, cell->bytes, out, err) : make_null(c, "no path", out, err);
    if (type == MLDF_TEXT || type == MLDF_BYTES) {
        if (cell->bytes == 0 && !cell->quoted && (c->field->flags & MLDF_FIELD_NULLABLE))
            return make_null(c, "empty", out, err);
        return make_bytes(type == MLDF_TEXT ? MLDF_KIND_TEXT : MLDF_KIND_BYTES, cell->text, cell->bytes, out);
    }
    if (cell->bytes == 0)
        return make_null(c, "the cell is empty", out, err);
    switch (type) {
    case MLDF_INT: {
        text_kind kind = mldfi_read_text(cell->text, cell->bytes, !c->strict, &number);
        return make_int(c, kind, &number, cell->text, cell->bytes, out, err);
    }
    case MLDF_FLOAT: {
        text_kind kind = mldfi_read_text(cell->text, cell->bytes, !c->strict, &number);
        return make_float(c, kind, &number, cell->text, cell->bytes, out, err);
    }
    case MLDF_JSON:
    case MLDF_NDARRAY:
    case MLDF_TEXT_TOKENIZED:
    case MLDF_TEXT_PACKED:
    case MLDF_TEXT_HIERARCHICAL:
    case MLDF_TOKEN_STREAM:
    case MLDF_INLINE:
        return convert_csv_json(c, cell, out, err);
    default:
        return mldfi_fail(err, MLDF_E_TYPE, "fields of type %s are not made from text", c->field->type_name);
    }
}

/* ---- JSON lines ---------------------------------------------------------------------------------------------------- */

static const char *kind_name(mldfi_json_kind kind) {
    static const char *const names[] = {"null", "false", "true", "a number", "a string", "a list", "an object"};
    return names[kind];
}

/* The text of any node: numbers, lists and objects as they stand in the source, strings escaped anew. */
static mldf_status node_text(struct converter *c, const struct json *json, uint32_t node, mldf_value *out,
                             mldf_error *err) {
    const struct json_node *n = &json->nodes[node];
    mldf_status status;
    switch (n->kind) {
    case MLDFI_JSON_NULL:
        return make_bytes(MLDF_KIND_TEXT, "null", 4, out);
    case MLDFI_JSON_FALSE:
        return make_bytes(MLDF_KIND_TEXT, "false", 5, out);
    case MLDFI_JSON_TRUE:
        return make_bytes(MLDF_KIND_TEXT, "true", 4, out);
    case MLDFI_JSON_STRING:
        c->scratch.size = 0;
        status = mldfi_json_append_string(&c->scratch, n->text, n->text_bytes, err);
        return status < 0 ? status : make_bytes(MLDF_KIND_TEXT, (const char *)c->scratch.data, c->scratch.size, out);
    default:
        return make_bytes(MLDF_KIND_TEXT, n->text, n->text_bytes, out);
    }
}

static mldf_status json_bytes(struct converter *c, const struct json *json, uint32_t node, mldf_value *out,
                              mldf_error *err) {
    const struct json_node *n = &json->nodes[node];
    if (n->kind == MLDFI_JSON_STRING)
        return make_bytes(MLDF_KIND_BYTES, n->text, n->text_bytes, out);
    uint32_t member = n->kind == MLDFI_JSON_OBJECT ? mldfi_json_find(json, node, "base64") : UINT32_MAX;
    if (member == UINT32_MAX || json->nodes[member].kind != MLDFI_JSON_STRING)
        return mldfi_fail(err, MLDF_E_TYPE, "%s, where bytes are a string or {\"base64\": \"...\"}",
                          kind_name(n->kind));
    c->scratch.size = 0;
    if (!mldfi_base64_decode(json->nodes[member].text, json->nodes[member].text_bytes, &c->scratch))
        return mldfi_fail(err, MLDF_E_TYPE, "text that is not base64");
    return make_bytes(MLDF_KIND_BYTES, (const char *)c->scratch.data, c->scratch.size, out);
}

/* "img/1.jpg", {"path": "img/1.jpg"}; {"base64": "..."} for those who have no file. */
static mldf_status json_file(struct converter *c, const struct json *json, uint32_t node, mldf_value *out,
                             mldf_error *err) {
    const struct json_node *n = &json->nodes[node];
    uint32_t path = n->kind == MLDFI_JSON_OBJECT ? mldfi_json_find(json, node, "path") : UINT32_MAX;
    if (path != UINT32_MAX && json->nodes[path].kind == MLDFI_JSON_STRING)
        n = &json->nodes[path];
    if (n->kind == MLDFI_JSON_STRING)
        return file_value(c, n->text, n->text_bytes, out, err);
    if (n->kind == MLDFI_JSON_OBJECT && mldfi_json_find(json, node, "base64") != UINT32_MAX)
        return json_bytes(c, json, node, out, err);
    return mldfi_fail(err, MLDF_E_TYPE, "%s, where a file is a path or {\"path\": \"...\"}", kind_name(n->kind));
}

static bool has_path(const struct json *json, uint32_t node) {
    return json->nodes[node].kind == MLDFI_JSON_OBJECT && mldfi_json_find(json, node, "path") != UINT32_MAX;
}

static mldf_status json_scalar(struct converter *c, const struct json *json, uint32_t node, mldf_value *out,
                               mldf_error *err) {
    const struct json_node *n = &json->nodes[node];
    struct text_number number = {0, 0, 0};
    text_kind kind = TEXT_WORDS;
    if (n->kind == MLDFI_JSON_TRUE || n->kind == MLDFI_JSON_FALSE) {
        kind = TEXT_BOOL;
        number.i = n->kind == MLDFI_JSON_TRUE;
    } else if (n->kind == MLDFI_JSON_NUMBER) {
        kind = mldfi_read_json_number(n->text, n->text_bytes, &number);
    } else if (c->field->type_id == MLDF_FLOAT && mldfi_json_nonfinite(json, node, &number.f)) {
        kind = TEXT_FLOAT;
    } else {
        return mldfi_fail(err, MLDF_E_TYPE, "%s, where a number belongs", kind_name(n->kind));
    }
    const char *text = kind == TEXT_BOOL ? kind_name(n->kind) : n->text;
    size_t bytes = kind == TEXT_BOOL ? strlen(text) : n->text_bytes;
    if (c->field->type_id == MLDF_INT)
        return make_int(c, kind, &number, text, bytes, out, err);
    return make_float(c, kind, &number, text, bytes, out, err);
}

static mldf_status json_string(const struct converter *c, const struct json_node *n, mldf_value *out, mldf_error *err) {
    bool number = c->numbers_as_text && n->kind == MLDFI_JSON_NUMBER;
    if (n->kind != MLDFI_JSON_STRING && !number)
        return mldfi_fail(err, MLDF_E_TYPE, "%s, where a string belongs", kind_name(n->kind));
    return make_bytes(MLDF_KIND_TEXT, n->text, n->text_bytes, out);
}

static mldf_status convert_json(struct converter *c, const struct cell *cell, mldf_value *out, mldf_error *err) {
    const struct json_node *n = &cell->json->nodes[cell->node];
    bool nullable = (c->field->flags & MLDF_FIELD_NULLABLE) != 0;
    if (n->kind == MLDFI_JSON_NULL && (nullable || c->field->type_id != MLDF_JSON))
        return make_null(c, "null", out, err);
    if (c->names_files || (c->field->type_id == MLDF_BYTES && has_path(cell->json, cell->node)))
        return json_file(c, cell->json, cell->node, out, err);
    switch (c->field->type_id) {
    case MLDF_INT:
    case MLDF_FLOAT:
        return json_scalar(c, cell->json, cell->node, out, err);
    case MLDF_TEXT:
        return json_string(c, n, out, err);
    case MLDF_BYTES:
        return json_bytes(c, cell->json, cell->node, out, err);
    case MLDF_JSON:
        return node_text(c, cell->json, cell->node, out, err);
    case MLDF_NDARRAY:
    case MLDF_TEXT_TOKENIZED:
    case MLDF_TEXT_PACKED:
    case MLDF_TOKEN_STREAM:
        return mldfi_convert_array(c, cell->json, cell->node, out, err);
    case MLDF_TEXT_HIERARCHICAL:
        return mldfi_convert_levels(c, cell->json, cell->node, out, err);
    case MLDF_INLINE:
        return mldfi_convert_inline(c, cell->json, cell->node, out, err);
    default:
        return mldfi_fail(err, MLDF_E_TYPE, "fields of type %s are not made from text", c->field->type_name);
    }
}

mldf_status mldfi_convert(struct converter *c, const struct cell *cell, mldf_value *out, mldf_error *err) {
    memset(out, 0, sizeof *out);
    switch (cell->kind) {
    case CELL_TEXT:
        return convert_csv(c, cell, out, err);
    case CELL_JSON:
        return convert_json(c, cell, out, err);
    default:
        return make_null(c, "there is no value", out, err);
    }
}

mldf_status mldfi_convert_key(const struct cell *cell, const char **key, size_t *key_bytes, mldf_error *err) {
    *key = cell->text;
    *key_bytes = cell->bytes;
    if (cell->kind == CELL_JSON) {
        const struct json_node *n = &cell->json->nodes[cell->node];
        struct text_number number;
        bool integer =
            n->kind == MLDFI_JSON_NUMBER && mldfi_read_json_number(n->text, n->text_bytes, &number) != TEXT_FLOAT;
        if (n->kind != MLDFI_JSON_STRING && !integer)
            return mldfi_fail(err, MLDF_E_KEY, "%s, where a sample key is a string or an integer", kind_name(n->kind));
        *key = n->text;
        *key_bytes = n->text_bytes;
    }
    if (cell->kind == CELL_ABSENT || *key_bytes == 0)
        return mldfi_fail(err, MLDF_E_KEY, "the sample has no key");
    return MLDF_OK;
}
