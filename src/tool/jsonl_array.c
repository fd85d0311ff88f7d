/* The objects of one JSON array, one at a time, so that the array may be larger than memory. An element is first found whole, by its brackets and
 * quotes alone, then parsed like a line. See jsonl.h. */
#include "tool/jsonl.h"
#include "util/error.h"
#include "util/utf8.h"

static mldf_status broken(const struct jsonl *jsonl, const char *what, mldf_error *err) {
    mldf_status status = mldfi_fail(err, MLDF_E_CORRUPT, "%s", what);
    mldfi_error_line(err, jsonl->input->name, jsonl->next_line, 0);
    return status;
}

/* The next byte that is not blank; it stays the first of the window. */
static int next_sign(struct jsonl *jsonl, mldf_error *err) {
    for (;;) {
        int c = mldfi_input_peek(jsonl->input, 0, err);
        if (c != ' ' && c != '\t' && c != '\r' && c != '\n')
            return c;
        jsonl->next_line += c == '\n';
        jsonl->next_column = c == '\n' ? 0 : jsonl->next_column + 1;
        mldfi_input_consume(jsonl->input, 1);
    }
}

static void take(struct jsonl *jsonl, size_t bytes) {
    mldfi_input_consume(jsonl->input, bytes);
    jsonl->next_column += bytes;
}

/* Bytes of the element that begins the window, by its brackets; MLDF_END: the file ends in it. */
static mldf_status measure(struct jsonl *jsonl, size_t *bytes, mldf_error *err) {
    size_t depth = 0, at = 0;
    bool quoted = false;
    for (;; at++) {
        int c = mldfi_input_peek(jsonl->input, at, err);
        if (c == -2)
            return err->status;
        if (c == -1)
            return MLDF_END;
        if (quoted) {
            at += c == '\\';
            quoted = c != '"';
        } else if (depth == 0 && (c == ',' || c == ']')) {
            break;
        } else if (c == '"') {
            quoted = true;
        } else if (c == '{' || c == '[') {
            depth++;
        } else if (c == '}' || c == ']') {
            if (depth == 0 || --depth == 0) {
                at++;
                break;
            }
        }
    }
    *bytes = at;
    return MLDF_OK;
}

/* Behind the comma or the opening bracket. MLDF_END behind the last element. */
static mldf_status find_element(struct jsonl *jsonl, mldf_error *err) {
    int c = next_sign(jsonl, err);
    if (c == -2)
        return err->status;
    if (!jsonl->started && c == 0xef) { /* the byte-order mark: table_format.c saw it whole */
        take(jsonl, 3);
        c = next_sign(jsonl, err);
    }
    bool first = !jsonl->started;
    jsonl->started = true;
    if (c == ']' && !first) {
        take(jsonl, 1);
        c = next_sign(jsonl, err);
        if (c == -2)
            return err->status;
        return c == -1 ? MLDF_END : broken(jsonl, "text after the end of the JSON array", err);
    }
    if (c == -1)
        return broken(jsonl, "the file ends before its JSON array does", err);
    if (c != (first ? '[' : ','))
        return broken(jsonl, first ? "no JSON array" : "no comma between two elements of the JSON array", err);
    take(jsonl, 1);
    c = next_sign(jsonl, err);
    if (c == ']' && first)
        return find_element(jsonl, err); /* an empty array */
    return c == -2 ? err->status : MLDF_OK;
}

mldf_status mldfi_jsonl_array_next(struct jsonl *jsonl, mldf_error *err) {
    mldf_error local;
    size_t bytes;
    if (!err)
        err = &local; /* peek reports through it */
    take(jsonl, jsonl->pending);
    jsonl->pending = 0;
    mldf_status status = find_element(jsonl, err);
    if (status != MLDF_OK)
        return status;
    jsonl->line = jsonl->next_line;
    jsonl->column = jsonl->next_column;
    status = measure(jsonl, &bytes, err);
    if (status == MLDF_END)
        return broken(jsonl, "the file ends before its JSON array does", err);
    if (status < 0)
        return status;
    const char *text = jsonl->input->data + jsonl->input->begin;
    jsonl->pending = bytes;
    for (size_t i = 0; i < bytes; i++)
        if (text[i] == '\n') {
            jsonl->next_line++;
            jsonl->next_column = (uint64_t)0 - i - 1; /* take adds the whole element */
        }
    return mldfi_jsonl_parse(jsonl, text, bytes, err);
}
