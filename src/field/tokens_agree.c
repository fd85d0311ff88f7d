/* Do the token fields of two files speak of the same ids? What both of them state must be equal: vocabulary, tokenizer, its special ids. */
#include <string.h>

#include "field/tokens.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/json.h"

/* What decides what an id means; the dtype does not. */
static const char *const meanings[] = {"vocabulary", "tokenizer_sha256", "tokenizer", "specials", "bos", "eos",
                                       "pad",        "eos_inside"};

/* The argument's canonical text with a final NUL; empty: it is not stated. */
static mldf_status text_of(const struct json *json, const char *name, mldf_buffer *out, mldf_error *err) {
    uint32_t at = mldfi_json_find(json, 0, name);
    out->size = 0;
    mldf_status status = at == UINT32_MAX ? MLDF_OK : mldfi_json_canonical(json, at, out, err);
    return status < 0 ? status : mldf_buffer_append(out, "", 1, err);
}

mldf_status mldfi_tokens_agree(const struct schema_field *a, const struct schema_field *b, mldf_error *err) {
    struct json first = {0}, second = {0};
    mldf_buffer one = MLDF_BUFFER_INIT, other = MLDF_BUFFER_INIT;
    if (!mldfi_is_tokens(a->info.type_id) || !mldfi_is_tokens(b->info.type_id) ||
        strcmp(a->info.arguments, b->info.arguments) == 0)
        return MLDF_OK;
    mldf_status status = mldfi_json_parse(&first, a->info.arguments, strlen(a->info.arguments), err);
    if (status >= 0)
        status = mldfi_json_parse(&second, b->info.arguments, strlen(b->info.arguments), err);
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings && status >= 0; i++) {
        status = text_of(&first, meanings[i], &one, err);
        if (status >= 0)
            status = text_of(&second, meanings[i], &other, err);
        if (status >= 0 && one.size > 1 && other.size > 1 && strcmp((char *)one.data, (char *)other.data) != 0)
            status =
                mldfi_fail(err, MLDF_E_SCHEMA, "%s is %s, and %s in the first file: their ids do not mean the same",
                           meanings[i], (char *)other.data, (char *)one.data);
    }
    mldfi_json_free(&first);
    mldfi_json_free(&second);
    mldf_buffer_free(&one);
    mldf_buffer_free(&other);
    return status;
}
