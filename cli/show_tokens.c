/* head and cat: token ids as text, where a tokenizer is at hand: one that --tokenizer names, or bytes, which every mldf has. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

enum { SHOWN = 256 }; /* ids, unless all are asked for */

/* The field's arguments are canonical JSON: no blanks. */
static bool says(const mldf_field *field, const char *member) {
    return strstr(field->arguments, member) != NULL;
}

static bool is_tokens(const mldf_field *field) {
    return field->known && (field->type_id == MLDF_TEXT_TOKENIZED || field->type_id == MLDF_TOKEN_STREAM ||
                            field->type_id == MLDF_TEXT_PACKED || field->type_id == MLDF_TEXT_HIERARCHICAL);
}

/* The tokenizer is the one that made the field, as far as both say. */
static int check_tokenizer(const struct invocation *v, const mldf_field *field, const mldf_tokenizer_info *info) {
    char own[96];
    (void)snprintf(own, sizeof own, "\"tokenizer_sha256\":\"%.64s\"", info->sha256 ? info->sha256 : "");
    if (info->sha256 && says(field, "\"tokenizer_sha256\":\"") && !says(field, own))
        return complain(v, EXIT_DATA, "--tokenizer: field %s was made with another file than %s (SHA-256 %.64s)",
                        field->name, info->name, info->sha256);
    return EXIT_FINE;
}

int token_text_begin(const struct invocation *v, const mldf_schema *rows, struct token_text *out) {
    mldf_error err;
    bool bytes = false;
    memset(out, 0, sizeof *out);
    out->rows = rows;
    int code = open_tokenizer(v, &out->tokenizer);
    out->given = out->tokenizer != NULL;
    for (size_t i = 0; code == EXIT_FINE && i < mldf_schema_field_count(rows); i++) {
        const mldf_field *field = mldf_schema_field(rows, i);
        bytes = bytes || (is_tokens(field) && says(field, "\"tokenizer\":\"bytes\""));
        if (out->given && is_tokens(field))
            code = check_tokenizer(v, field, mldf_tokenizer_describe(out->tokenizer));
    }
    if (code == EXIT_FINE && bytes && !out->given && !v->json &&
        mldf_tokenizer_open("bytes", NULL, &out->tokenizer, &err) < 0)
        code = report_error(v, NULL, &err);
    return code;
}

void token_text_end(const struct invocation *v, struct token_text *text, bool well) {
    close_tokenizer(v, text->tokenizer, well);
    mldf_buffer_free(&text->ids);
    mldf_buffer_free(&text->shown);
}

/* A token field of the rows, or what a view makes of one. */
static bool is_shown(const struct token_text *text, const mldf_field *field, const mldf_value *value) {
    size_t at;
    bool whole = value->dtype >= MLDF_I8 && value->dtype <= MLDF_U64;
    if (!text->tokenizer || value->kind != MLDF_KIND_ARRAY || value->ndim != 1 || !whole)
        return false;
    if (mldf_schema_find(text->rows, field->name, &at, NULL) < 0)
        return false;
    const mldf_field *row = mldf_schema_field(text->rows, at);
    return is_tokens(row) && (text->given || says(row, "\"tokenizer\":\"bytes\""));
}

static uint64_t id_at(const mldf_value *value, uint64_t index) {
    size_t width = mldf_dtype_bytes(value->dtype);
    uint64_t id = 0;
    memcpy(&id, (const uint8_t *)value->data + index * width,
           width); /* little-endian machines alone; ids are not negative */
    return id;
}

/* bos, eos or pad that was added to the tokenizer's ids when the field was made. */
static bool is_special(const struct token_text *text, const mldf_field *field, uint64_t id) {
    size_t row;
    if (mldf_schema_find(text->rows, field->name, &row, NULL) < 0)
        return false;
    const char *arguments = mldf_schema_field(text->rows, row)->arguments;
    static const char *const names[] = {"bos", "eos", "pad"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char member[64];
        int bytes = snprintf(member, sizeof member, "\"%s\":%" PRIu64, names[i], id);
        const char *at = strstr(arguments, member);
        if (at && (at[bytes] == ',' || at[bytes] == '}'))
            return true;
    }
    return false;
}

mldf_status token_text_show(struct token_text *text, const mldf_field *field, const mldf_value *value, bool full,
                            bool *shown, mldf_error *err) {
    *shown = is_shown(text, field, value);
    if (!*shown)
        return MLDF_OK;
    uint64_t vocabulary = mldf_tokenizer_describe(text->tokenizer)->vocabulary;
    uint64_t count = full || value->dims[0] < SHOWN ? value->dims[0] : SHOWN;
    mldf_status status = MLDF_OK;
    text->ids.size = text->shown.size = 0;
    for (uint64_t i = 0; i < count && status >= 0; i++) {
        uint64_t id = id_at(value, i);
        uint32_t word = id < vocabulary ? (uint32_t)id : UINT32_MAX;
        if (word == UINT32_MAX && is_special(text, field, id))
            continue;
        if (word == UINT32_MAX) { /* another tokenizer's: such a value is shown as ids */
            *shown = false;
            return MLDF_OK;
        }
        status = mldf_buffer_append(&text->ids, &word, sizeof word, err);
    }
    if (status >= 0)
        status = mldf_tokenizer_decode(text->tokenizer, (const uint32_t *)(const void *)text->ids.data,
                                       text->ids.size / sizeof(uint32_t), &text->shown, err);
    if (status >= 0 && count < value->dims[0])
        status = mldf_buffer_append(&text->shown, "\xe2\x80\xa6", 3, err);
    if (status >= 0)
        json_string_bytes((const char *)text->shown.data, text->shown.size);
    return status;
}
