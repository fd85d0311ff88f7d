/* Cuts the input into lines and parses each; an array's elements come from jsonl_array.c. See jsonl.h. */
#include "tool/jsonl.h"

#include <string.h>

#include "util/error.h"
#include "util/utf8.h"

void mldfi_jsonl_begin(struct jsonl *jsonl, struct input *input, bool array) {
    memset(jsonl, 0, sizeof *jsonl);
    jsonl->input = input;
    jsonl->array = array;
    jsonl->next_line = 1;
}

void mldfi_jsonl_free(struct jsonl *jsonl) {
    mldfi_json_free(&jsonl->tree);
    memset(jsonl, 0, sizeof *jsonl);
}

/* Finds the end of the line that begins the window; *bytes without its line end. */
static mldf_status find_line(struct jsonl *jsonl, size_t *bytes, mldf_error *err) {
    struct input *in = jsonl->input;
    size_t seen = 0;
    for (;;) {
        const char *text = in->data + in->begin;
        size_t have = in->end - in->begin;
        const char *end = have > seen ? memchr(text + seen, '\n', have - seen) : NULL;
        if (end) {
            *bytes = (size_t)(end - text);
            jsonl->pending = *bytes + 1;
            return MLDF_OK;
        }
        seen = have;
        mldf_status status = mldfi_input_more(in, err);
        if (status < 0)
            return status;
        if (status == MLDF_END) {
            *bytes = jsonl->pending = have;
            return have ? MLDF_OK : MLDF_END;
        }
    }
}

static bool is_blank(const char *text, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        if (text[i] != ' ' && text[i] != '\t' && text[i] != '\r')
            return false;
    return true;
}

void mldfi_jsonl_place(struct jsonl *jsonl, size_t offset, uint64_t *line, uint64_t *column) {
    const char *text = jsonl->input->data + jsonl->input->begin;
    if (offset < jsonl->place_offset || jsonl->place_line < jsonl->line) {
        jsonl->place_offset = 0;
        jsonl->place_line = jsonl->line;
        jsonl->place_column = jsonl->column;
    }
    for (; jsonl->array && jsonl->place_offset < offset; jsonl->place_offset++) {
        bool end = text[jsonl->place_offset] == '\n';
        jsonl->place_line += end;
        jsonl->place_column = end ? 0 : jsonl->place_column + 1;
    }
    *line = jsonl->place_line;
    *column = jsonl->array ? jsonl->place_column + 1 : jsonl->column + offset + 1;
}

static mldf_status fail_at(struct jsonl *jsonl, size_t offset, const char *what, mldf_error *err) {
    uint64_t line, column;
    mldfi_jsonl_place(jsonl, offset, &line, &column);
    mldf_status status = mldfi_fail(err, MLDF_E_SYNTAX, "%s", what);
    mldfi_error_line(err, jsonl->input->name, line, column);
    return status;
}

mldf_status mldfi_jsonl_parse(struct jsonl *jsonl, const char *text, size_t bytes, mldf_error *err) {
    mldf_error inner;
    jsonl->place_line = 0; /* a new text */
    size_t good = mldfi_utf8_valid_prefix(text, bytes);
    if (good < bytes)
        return fail_at(jsonl, good, "bytes that are not UTF-8", err);
    mldf_status status = mldfi_json_parse(&jsonl->tree, text, bytes, &inner);
    if (status == MLDF_E_MEMORY)
        return mldfi_fail(err, status, "%s", inner.message);
    if (status < 0)
        return fail_at(jsonl, inner.offset == MLDF_NONE ? 0 : (size_t)inner.offset, inner.message, err);
    if (jsonl->tree.nodes[0].kind != MLDFI_JSON_OBJECT)
        return fail_at(
            jsonl, jsonl->tree.nodes[0].offset,
            jsonl->array ? "an element of the array must be a JSON object" : "a line must hold one JSON object", err);
    return MLDF_OK;
}

mldf_status mldfi_jsonl_next(struct jsonl *jsonl, mldf_error *err) {
    if (jsonl->array)
        return mldfi_jsonl_array_next(jsonl, err);
    for (;;) {
        size_t bytes, shift = 0;
        mldfi_input_consume(jsonl->input, jsonl->pending);
        jsonl->pending = 0;
        mldf_status status = find_line(jsonl, &bytes, err);
        if (status != MLDF_OK)
            return status;
        const char *text = jsonl->input->data + jsonl->input->begin;
        jsonl->line++;
        if (!jsonl->started && bytes >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
            shift = 3;
        jsonl->started = true;
        if (bytes > shift && text[bytes - 1] == '\r')
            bytes--;
        if (is_blank(text + shift, bytes - shift))
            continue;
        jsonl->column = shift;
        return mldfi_jsonl_parse(jsonl, text + shift, bytes - shift, err);
    }
}
