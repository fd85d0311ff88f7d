/* tokenizer_protocol.h: making requests, and reading answers that may be anything. No count is used before it is bounded. */
#include "tokenizer/tokenizer_protocol.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"
#include "util/json.h"
#include "util/utf8.h"

/* More ids than this for a text are nonsense: the longest compatibility decomposition (U+FDFA) makes 33 bytes of 3. */
static uint64_t most_ids(const struct tokenizer_texts *asked) {
    return 16 * asked->total + 1024 * (uint64_t)asked->count;
}
/* A token may be long ("----…"), but not that long. */
enum { MOST_BYTES_OF_ID = 1 << 16 };

/* ---- Hello ------------------------------------------------------------------------------------------------------------------------ */

static mldf_status fail_hello(mldf_error *err, const char *what) {
    return mldfi_fail(err, MLDF_E_IO, "its first line is not the hello of a tokenizer: %s", what);
}

static bool get_id(const struct json *json, const char *name, int64_t *out) {
    uint32_t at = mldfi_json_find(json, 0, name);
    *out = -1;
    if (at == UINT32_MAX || json->nodes[at].kind == MLDFI_JSON_NULL)
        return true;
    return mldfi_json_i64(json, at, out) && *out >= 0;
}

static mldf_status read_hello(mldf_tokenizer *t, const struct json *json, mldf_error *err) {
    uint64_t version;
    if (json->nodes[0].kind != MLDFI_JSON_OBJECT)
        return fail_hello(err, "not a JSON object");
    uint32_t at = mldfi_json_find(json, 0, "mldf_tokenizer");
    if (at == UINT32_MAX || !mldfi_json_u64(json, at, &version) || version != 1)
        return fail_hello(err, "\"mldf_tokenizer\" is not 1");
    at = mldfi_json_find(json, 0, "name");
    if (at == UINT32_MAX || json->nodes[at].kind != MLDFI_JSON_STRING || json->nodes[at].text_bytes < 1 ||
        json->nodes[at].text_bytes > TOKENIZER_NAME_MAX || memchr(json->nodes[at].text, 0, json->nodes[at].text_bytes))
        return fail_hello(err, "\"name\" is not a text of 1 to 255 bytes");
    memcpy(t->name, json->nodes[at].text, json->nodes[at].text_bytes);
    t->name[json->nodes[at].text_bytes] = 0;
    at = mldfi_json_find(json, 0, "sha256");
    if (at != UINT32_MAX && json->nodes[at].kind != MLDFI_JSON_NULL) {
        if (json->nodes[at].kind != MLDFI_JSON_STRING || json->nodes[at].text_bytes != 64)
            return fail_hello(err, "\"sha256\" is neither null nor 64 hexadecimal digits");
        memcpy(t->sha256, json->nodes[at].text, 64);
        if (strspn(t->sha256, "0123456789abcdef") != 64)
            return fail_hello(err, "\"sha256\" is neither null nor 64 hexadecimal digits in lower case");
        t->info.sha256 = t->sha256;
    }
    at = mldfi_json_find(json, 0, "vocabulary");
    if (at == UINT32_MAX || !mldfi_json_u64(json, at, &t->info.vocabulary))
        return fail_hello(err, "\"vocabulary\" is not a number of ids");
    if (!get_id(json, "bos", &t->info.bos) || !get_id(json, "eos", &t->info.eos) || !get_id(json, "pad", &t->info.pad))
        return fail_hello(err, "\"bos\", \"eos\" or \"pad\" is neither an id nor null");
    at = mldfi_json_find(json, 0, "specials");
    if (at != UINT32_MAX && !mldfi_json_is_text(json, at, "text") && !mldfi_json_is_text(json, at, "parse"))
        return fail_hello(err, "\"specials\" is neither \"text\" nor \"parse\"");
    t->info.specials = at != UINT32_MAX && mldfi_json_is_text(json, at, "parse") ? "parse" : "text";
    at = mldfi_json_find(json, 0, "decode");
    t->info.decodes = at != UINT32_MAX && json->nodes[at].kind == MLDFI_JSON_TRUE;
    return mldfi_tokenizer_check_info(&t->info, err);
}

mldf_status mldfi_protocol_hello(mldf_tokenizer *t, const char *line, size_t bytes, mldf_error *err) {
    struct json json = {0};
    mldf_error why;
    mldf_status status = mldfi_json_parse(&json, line, bytes, &why);
    if (status == MLDF_OK)
        status = read_hello(t, &json, err);
    else if (status == MLDF_E_MEMORY)
        status = mldfi_fail_memory(err, bytes);
    else
        status =
            mldfi_fail(err, MLDF_E_IO, "its first line is not the hello of a tokenizer: not JSON: %.200s", why.message);
    mldfi_json_free(&json);
    return status;
}

/* ---- Requests --------------------------------------------------------------------------------------------------------------------- */

static void store_head(uint8_t *at, uint32_t n, uint32_t kind, uint64_t total) {
    mldfi_store_u32(at, n);
    mldfi_store_u32(at + 4, kind);
    mldfi_store_u64(at + 8, total);
}

mldf_status mldfi_protocol_encode(const struct tokenizer_texts *texts, mldf_buffer *out, mldf_error *err) {
    uint8_t *at;
    if (texts->count > UINT32_MAX || texts->total > SIZE_MAX / 4)
        return mldfi_fail(err, MLDF_E_LIMIT, "a request of %zu documents", texts->count);
    out->size = 0;
    TRY(mldfi_buffer_extend(out, PROTOCOL_HEAD + 4 * texts->count + (size_t)texts->total, &at, err));
    store_head(at, (uint32_t)texts->count, PROTOCOL_ENCODE, texts->total);
    at += PROTOCOL_HEAD;
    for (size_t i = 0; i < texts->count; i++, at += 4)
        mldfi_store_u32(at, (uint32_t)texts->bytes[i]);
    for (size_t i = 0; i < texts->count; i++) {
        if (texts->bytes[i])
            memcpy(at, texts->texts[i], texts->bytes[i]);
        at += texts->bytes[i];
    }
    return MLDF_OK;
}

mldf_status mldfi_protocol_decode(const uint32_t *ids, size_t count, mldf_buffer *out, mldf_error *err) {
    uint8_t *at;
    if (count > UINT32_MAX / 8)
        return mldfi_fail(err, MLDF_E_LIMIT, "a request of %zu ids", count);
    out->size = 0;
    TRY(mldfi_buffer_extend(out, PROTOCOL_HEAD + 4 + 4 * count, &at, err));
    store_head(at, 1, PROTOCOL_DECODE, count);
    mldfi_store_u32(at + PROTOCOL_HEAD, (uint32_t)count);
    at += PROTOCOL_HEAD + 4;
    for (size_t i = 0; i < count; i++, at += 4)
        mldfi_store_u32(at, ids[i]);
    return MLDF_OK;
}

/* ---- Answers ---------------------------------------------------------------------------------------------------------------------- */

static mldf_status read_refusal(const struct protocol_source *source, uint32_t index, uint64_t bytes,
                                uint64_t documents, mldf_error *err) {
    char message[401];
    uint8_t rest[256];
    if (index >= documents || bytes > PROTOCOL_MESSAGE_MAX)
        return mldfi_fail(err, MLDF_E_IO,
                          "it refused document %" PRIu32 " of %" PRIu64 " with a message of %" PRIu64 " bytes", index,
                          documents, bytes);
    size_t first = bytes < sizeof message - 1 ? (size_t)bytes : sizeof message - 1;
    mldf_status status = source->read(source->user, message, first, err);
    for (uint64_t left = bytes - first; status == MLDF_OK && left;) {
        size_t part = left < sizeof rest ? (size_t)left : sizeof rest;
        status = source->read(source->user, rest, part, err);
        left -= part;
    }
    if (status < 0)
        return status;
    message[mldfi_utf8_valid_prefix(message, first)] = 0;
    for (char *c = message; *c; c++)
        *c = *c == '\n' || *c == '\r' ? ' ' : *c;
    (void)mldfi_fail(err, MLDF_E_RANGE, "the tokenizer refuses the document: %s", message);
    if (err)
        err->sample = index;
    return MLDF_E_RANGE;
}

/* The head of an answer: MLDF_OK and *total when it is of this kind, for so many documents, and of at most `most` units. */
static mldf_status read_head(const struct protocol_source *source, uint32_t kind, uint64_t documents, uint64_t most,
                             uint64_t *total, mldf_error *err) {
    uint8_t head[PROTOCOL_HEAD];
    TRY(source->read(source->user, head, sizeof head, err));
    uint32_t n = mldfi_load_u32(head), got = mldfi_load_u32(head + 4);
    *total = mldfi_load_u64(head + 8);
    if (got == PROTOCOL_REFUSAL)
        return read_refusal(source, n, *total, documents, err);
    if (got != kind)
        return mldfi_fail(err, MLDF_E_IO, "an answer of kind %" PRIu32 " to a request of kind %" PRIu32, got, kind);
    if (n != documents)
        return mldfi_fail(err, MLDF_E_IO, "an answer for %" PRIu32 " documents to a request of %" PRIu64, n, documents);
    if (*total > most || *total > SIZE_MAX / 8)
        return mldfi_fail(err, MLDF_E_IO, "an answer of %" PRIu64 " units; %" PRIu64 " are the most it can have",
                          *total, most);
    return MLDF_OK;
}

mldf_status mldfi_protocol_ids(const struct protocol_source *source, const struct tokenizer_texts *asked,
                               uint32_t *counts, mldf_buffer *ids, mldf_error *err) {
    uint64_t total, sum = 0;
    uint8_t *at;
    mldf_status status = read_head(source, PROTOCOL_ENCODE, asked->count, most_ids(asked), &total, err);
    if (status == MLDF_OK)
        status = source->read(source->user, counts, asked->count * sizeof *counts, err);
    for (size_t i = 0; status == MLDF_OK && i < asked->count; i++) {
        counts[i] = mldfi_load_u32((const uint8_t *)&counts[i]);
        sum += counts[i];
    }
    if (status == MLDF_OK && sum != total)
        status = mldfi_fail(err, MLDF_E_IO, "its counts sum to %" PRIu64 " ids, and it announced %" PRIu64, sum, total);
    if (status == MLDF_OK)
        status = mldfi_buffer_extend(ids, (size_t)total * 4, &at, err);
    return status == MLDF_OK && total ? source->read(source->user, at, (size_t)total * 4, err) : status;
}

mldf_status mldfi_protocol_text(const struct protocol_source *source, size_t asked_ids, mldf_buffer *text,
                                mldf_error *err) {
    uint64_t total;
    uint8_t length[4], *at;
    mldf_status status =
        read_head(source, PROTOCOL_DECODE, 1, MOST_BYTES_OF_ID * ((uint64_t)asked_ids + 1), &total, err);
    if (status == MLDF_OK)
        status = source->read(source->user, length, sizeof length, err);
    if (status == MLDF_OK && mldfi_load_u32(length) != total)
        status = mldfi_fail(err, MLDF_E_IO, "its text has %" PRIu32 " bytes, and it announced %" PRIu64,
                            mldfi_load_u32(length), total);
    if (status == MLDF_OK)
        status = mldfi_buffer_extend(text, (size_t)total, &at, err);
    return status == MLDF_OK && total ? source->read(source->user, at, (size_t)total, err) : status;
}
