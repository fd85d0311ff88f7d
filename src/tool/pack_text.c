/* pack_text.h. */
#include "tool/pack_text.h"

#include <string.h>

#include "field/field.h"
#include "field/tokens.h"
#include "tool/copy_sample.h"
#include "util/error.h"

mldf_status mldfi_text_names(struct text_names *names, const char *text, mldf_error *err) {
    const char *equals = strrchr(text, '=');
    size_t bytes = equals ? (size_t)(equals - text) : strlen(text);
    const char *name = equals ? equals + 1 : "tokens";
    size_t name_bytes = strlen(name);
    if (bytes < 1 || bytes > MLDF_NAME_MAX || name_bytes < 1 || name_bytes > MLDF_NAME_MAX)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "'%.80s' is not FIELD or FIELD=NAME", text);
    memcpy(names->field, text, bytes);
    memcpy(names->name, name, name_bytes);
    return MLDF_OK;
}

static mldf_status add_tokens(const struct text_names *names, const mldf_field *text,
                              const mldf_tokenize_options *options, mldf_schema *out, mldf_error *err) {
    mldf_buffer arguments = MLDF_BUFFER_INIT;
    size_t added = mldf_schema_field_count(out);
    if (text->type_id != MLDF_TEXT && text->type_id != MLDF_BYTES)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "field \"%s\" is of type %s, and only text can be tokenized",
                          text->name, text->type_name);
    mldf_status status = mldf_tokenize_arguments(options, &arguments, err);
    if (status == MLDF_OK)
        status = mldf_schema_add(out, names->name, MLDF_TEXT_TOKENIZED, (const char *)arguments.data,
                                 text->flags & MLDF_FIELD_NULLABLE, err);
    if (status == MLDF_OK && (text->flags & MLDF_FIELD_COMPRESSED))
        status = mldf_schema_compress(out, added, text->compress_level, err);
    mldf_buffer_free(&arguments);
    return status;
}

mldf_status mldfi_text_schema(const struct text_names *names, const mldf_schema *sources,
                              const mldf_tokenize_options *options, mldf_schema **out, mldf_error *err) {
    size_t text;
    mldf_status status = mldf_schema_find(sources, names->field, &text, err);
    if (status == MLDF_OK)
        status = mldf_schema_new(sources->context, out, err);
    for (size_t i = 0; status == MLDF_OK && i < mldf_schema_field_count(sources); i++)
        status = i == text ? add_tokens(names, mldf_schema_field(sources, i), options, *out, err)
                           : mldfi_schema_take(sources, i, *out, err);
    return status;
}

/* Would these options make tokens as those that are there? */
static mldf_status check_same(const struct schema_field *there, const mldf_tokenize_options *options, mldf_error *err) {
    mldf_buffer arguments = MLDF_BUFFER_INIT;
    mldf_schema *made = NULL;
    mldf_status status = mldf_tokenize_arguments(options, &arguments, err);
    if (status == MLDF_OK)
        status = mldf_schema_new(NULL, &made, err);
    if (status == MLDF_OK)
        status = mldf_schema_add(made, "tokens", MLDF_TEXT_TOKENIZED, (const char *)arguments.data, 0, err);
    if (status == MLDF_OK)
        status = mldfi_tokens_agree(there, &made->fields[0], err);
    mldf_schema_free(made);
    mldf_buffer_free(&arguments);
    return status;
}

mldf_status mldfi_text_sources(const struct text_names *names, const mldf_schema *file,
                               const mldf_tokenize_options *options, mldf_schema **out, mldf_error *err) {
    size_t tokens;
    mldf_status status = mldf_schema_find(file, names->name, &tokens, err);
    if (status == MLDF_OK && mldf_schema_field(file, tokens)->type_id != MLDF_TEXT_TOKENIZED)
        status =
            mldfi_fail(err, MLDF_E_SCHEMA, "field \"%s\" is of type %s; text becomes tokens in a text_tokenized field",
                       names->name, mldf_schema_field(file, tokens)->type_name);
    if (status == MLDF_OK)
        status = check_same(&file->fields[tokens], options, err);
    if (status == MLDF_OK)
        status = mldf_schema_new(file->context, out, err);
    for (size_t i = 0; status == MLDF_OK && i < mldf_schema_field_count(file); i++)
        status = i == tokens ? mldf_schema_add(*out, names->field, MLDF_TEXT, NULL,
                                               file->fields[i].info.flags & MLDF_FIELD_NULLABLE, err)
                             : mldfi_schema_take(file, i, *out, err);
    return status;
}
