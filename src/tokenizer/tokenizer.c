/* The public face of tokenizers (mldf/tokenizer.h): opening by name, and what is checked for every kind. */
#include "tokenizer/tokenizer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "util/buffer.h"
#include "util/error.h"
#include "util/options.h"
#include "util/utf8.h"

static const struct tokenizer_type *const types[] = {
    &mldfi_tokenizer_bytes,
    &mldfi_tokenizer_exec,
    &mldfi_tokenizer_sentencepiece,
};

static const struct tokenizer_type *find_type(const char *what, const char **argument) {
    if (strncmp(what, "sp:", 3) == 0) {
        *argument = what + 3;
        return &mldfi_tokenizer_sentencepiece;
    }
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        size_t bytes = strlen(types[i]->name);
        if (strncmp(what, types[i]->name, bytes) != 0)
            continue;
        if (what[bytes] == ':' || (what[bytes] == 0 && types[i]->identity)) {
            *argument = what[bytes] ? what + bytes + 1 : "";
            return types[i];
        }
    }
    return NULL;
}

static mldf_status fail_unknown(const char *what, mldf_error *err) {
    return mldfi_fail(err, MLDF_E_ARGUMENT,
                      "tokenizer \"%.100s\" is not known: bytes, sp:MODEL or exec:COMMAND, such as "
                      "\"exec:python3 -m mldf.tokenize tokenizer.json\"",
                      what);
}

mldf_status mldfi_tokenizer_check_info(const mldf_tokenizer_info *info, mldf_error *err) {
    const int64_t ids[] = {info->bos, info->eos, info->pad};
    static const char *const names[] = {"bos", "eos", "pad"};
    if (info->vocabulary < 1 || info->vocabulary > UINT64_C(1) << 31)
        return mldfi_fail(err, MLDF_E_IO, "a vocabulary of %" PRIu64 " ids; 1 to 2^31 are possible", info->vocabulary);
    for (size_t i = 0; i < 3; i++)
        if (ids[i] < -1 || (ids[i] >= 0 && (uint64_t)ids[i] >= info->vocabulary))
            return mldfi_fail(err, MLDF_E_IO, "%s is %" PRId64 ", outside the vocabulary of %" PRIu64 " ids", names[i],
                              ids[i], info->vocabulary);
    return MLDF_OK;
}

/* Ids that the caller names take the place of the tokenizer's own, and may be new ones after its vocabulary. */
static mldf_status name_specials(mldf_tokenizer *t, const mldf_tokenizer_options *own, mldf_error *err) {
    const int64_t given[] = {own->bos, own->eos};
    int64_t *const ids[] = {&t->info.bos, &t->info.eos};
    for (size_t i = 0; i < 2; i++) {
        if (given[i] < 0)
            continue;
        if (given[i] > INT32_MAX)
            return mldfi_fail(err, MLDF_E_ARGUMENT, "%s: %" PRId64 " is not an id", i ? "eos" : "bos", given[i]);
        *ids[i] = given[i];
        if ((uint64_t)given[i] >= t->info.vocabulary)
            t->info.vocabulary = (uint64_t)given[i] + 1;
    }
    return MLDF_OK;
}

mldf_status mldf_tokenizer_open(const char *what, const mldf_tokenizer_options *options, mldf_tokenizer **out,
                                mldf_error *err) {
    mldf_tokenizer_options own = MLDF_TOKENIZER_OPTIONS_INIT;
    const char *argument = "";
    *out = NULL;
    if (!what)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "a tokenizer needs a name");
    TRY(mldfi_take_options(&own, sizeof own, "mldf_tokenizer_options", options, err));
    const struct tokenizer_type *type = find_type(what, &argument);
    if (!type)
        return fail_unknown(what, err);
    mldf_tokenizer *t = mldfi_alloc_zero(1, sizeof *t, err);
    if (!t)
        return MLDF_E_MEMORY;
    t->type = type;
    t->options = own;
    t->info = (mldf_tokenizer_info){t->name, NULL, 0, -1, -1, -1, "text", false};
    mldf_status status = type->open(t, argument, err);
    if (status == MLDF_OK)
        status = mldfi_tokenizer_check_info(&t->info, err);
    t->own_vocabulary = t->info.vocabulary;
    if (status == MLDF_OK)
        status = name_specials(t, &own, err);
    if (status < 0) {
        if (status != MLDF_E_MEMORY)
            mldfi_error_prefix(err, "tokenizer %.150s", what);
        mldf_tokenizer_free(t);
        return status;
    }
    *out = t;
    return MLDF_OK;
}

const mldf_tokenizer_info *mldf_tokenizer_describe(const mldf_tokenizer *tokenizer) {
    return &tokenizer->info;
}

/* ---- Encoding ----------------------------------------------------------------------------------------------------------------- */

static mldf_status fail_document(size_t document, mldf_status status, mldf_error *err) {
    if (err)
        err->sample = document;
    return status;
}

static mldf_status check_texts(struct tokenizer_texts *texts, mldf_error *err) {
    texts->total = 0;
    for (size_t i = 0; i < texts->count; i++) {
        size_t valid = texts->bytes[i] ? mldfi_utf8_valid_prefix(texts->texts[i], texts->bytes[i]) : 0;
        if (valid != texts->bytes[i])
            return fail_document(i,
                                 mldfi_fail(err, MLDF_E_SYNTAX, "byte %zu of the text is not UTF-8 (0x%02x)", valid,
                                            (unsigned)(unsigned char)texts->texts[i][valid]),
                                 err);
        if (texts->bytes[i] > UINT32_MAX)
            return fail_document(i,
                                 mldfi_fail(err, MLDF_E_RANGE, "a text of %zu bytes; a tokenizer takes less than 4 GiB",
                                            texts->bytes[i]),
                                 err);
        texts->total += texts->bytes[i];
    }
    return MLDF_OK;
}

/* No id that is outside the vocabulary leaves this file. */
static mldf_status check_ids(const mldf_tokenizer *t, const uint32_t *counts, size_t documents, const uint8_t *ids,
                             mldf_error *err) {
    for (size_t i = 0; i < documents; i++)
        for (uint32_t k = 0; k < counts[i]; k++, ids += 4) {
            uint32_t id;
            memcpy(&id, ids, sizeof id);
            if (id >= t->own_vocabulary)
                return fail_document(i,
                                     mldfi_fail(err, MLDF_E_IO,
                                                "the tokenizer %s gave the id %" PRIu32 " as token %" PRIu32
                                                " of a document, outside its vocabulary of %" PRIu64,
                                                t->info.name, id, k, t->own_vocabulary),
                                     err);
        }
    return MLDF_OK;
}

mldf_status mldfi_tokenizer_encode(mldf_tokenizer *t, const struct tokenizer_texts *given, uint32_t *counts,
                                   mldf_buffer *ids, const struct tokenizer_cancel *cancel, mldf_error *err) {
    struct tokenizer_texts texts = *given;
    size_t before = ids->size;
    mldf_error own;
    err = err ? err : &own;
    mldf_status status = check_texts(&texts, err);
    if (status == MLDF_OK && texts.count)
        status = t->type->encode(t, &texts, counts, ids, cancel, err);
    if (status == MLDF_OK)
        status = check_ids(t, counts, texts.count, ids->data ? ids->data + before : NULL, err);
    if (status < 0)
        ids->size = before;
    return status;
}

mldf_status mldf_tokenizer_encode(mldf_tokenizer *tokenizer, const char *const *texts, const size_t *bytes,
                                  size_t count, uint32_t *counts, mldf_buffer *ids, mldf_error *err) {
    struct tokenizer_texts given = {texts, bytes, count, 0};
    return mldfi_tokenizer_encode(tokenizer, &given, counts, ids, NULL, err);
}

mldf_status mldf_tokenizer_decode(mldf_tokenizer *t, const uint32_t *ids, size_t count, mldf_buffer *text,
                                  mldf_error *err) {
    if (!t->info.decodes || !t->type->decode)
        return mldfi_fail(err, MLDF_E_UNSUPPORTED, "the tokenizer %s does not turn ids into text", t->info.name);
    for (size_t i = 0; i < count; i++)
        if (ids[i] >= t->own_vocabulary)
            return mldfi_fail(err, MLDF_E_RANGE, "id %" PRIu32 " is outside the vocabulary of %" PRIu64, ids[i],
                              t->own_vocabulary);
    size_t before = text->size;
    mldf_status status = t->type->decode(t, ids, count, text, err);
    if (status < 0)
        text->size = before;
    return status;
}

mldf_status mldf_tokenizer_finish(mldf_tokenizer *t, mldf_error *err) {
    mldf_status status = t->type->finish ? t->type->finish(t, err) : MLDF_OK;
    if (status < 0 && status != MLDF_E_MEMORY)
        mldfi_error_prefix(err, "tokenizer %s", t->info.name);
    mldf_tokenizer_free(t);
    return status;
}

void mldf_tokenizer_free(mldf_tokenizer *t) {
    if (!t)
        return;
    t->type->close(t);
    free(t);
}
