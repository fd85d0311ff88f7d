/* Cuts the input into lines and parses each. See jsonl.h. */
#include "tool/jsonl.h"

#include <string.h>

#include "util/error.h"
#include "util/utf8.h"

void mldfi_jsonl_begin(struct jsonl *jsonl, struct input *input) {
    memset(jsonl, 0, sizeof *jsonl);
    jsonl->input = input;
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

static mldf_status fail_in_line(const struct jsonl *jsonl, uint64_t column, const char *what, mldf_error *err) {
    mldf_status status = mldfi_fail(err, MLDF_E_SYNTAX, "%s", what);
    mldfi_error_line(err, jsonl->input->name, jsonl->line, column);
    return status;
}

static mldf_status parse_line(struct jsonl *jsonl, const char *text, size_t bytes, size_t shift, mldf_error *err) {
    mldf_error inner;
    size_t good = mldfi_utf8_valid_prefix(text, bytes);
    if (good < bytes)
        return fail_in_line(jsonl, shift + good + 1, "bytes that are not UTF-8", err);
    mldf_status status = mldfi_json_parse(&jsonl->tree, text, bytes, &inner);
    if (status < 0) {
        uint64_t column = inner.offset == MLDF_NONE ? 1 : inner.offset + shift + 1;
        if (status == MLDF_E_MEMORY)
            return mldfi_fail(err, status, "%s", inner.message);
        return fail_in_line(jsonl, column, inner.message, err);
    }
    if (jsonl->tree.nodes[0].kind != MLDFI_JSON_OBJECT)
        return fail_in_line(jsonl, shift + jsonl->tree.nodes[0].offset + 1, "a line must hold one JSON object", err);
    return MLDF_OK;
}

mldf_status mldfi_jsonl_next(struct jsonl *jsonl, mldf_error *err) {
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
        return parse_line(jsonl, text + shift, bytes - shift, shift, err);
    }
}
