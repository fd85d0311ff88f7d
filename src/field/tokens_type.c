/* TEXT_TOKENIZED, TEXT_PACKED, TEXT_HIERARCHICAL and TOKEN_STREAM: ids of a vocabulary, as u8, u16 or i32, one width for the field.
 *
 *     41  0 ptr u64 · 8 size u32 · 12 num_tokens u32                                     ids
 *     42  0 ptr u64 · 8 size u64 · 16 num_tokens u32 · 20 num_pieces u32                 ids ∥ zeros to 8 ∥ {u32 end, u32 from} each piece
 *     43  0 ptr u64 · 8 size u64 · 16 num_tokens u32 · 20 num_paragraphs u32 · 24 num_sentences u32 · 28 zero u32
 *                                                                                        ids ∥ zeros to 8 ∥ u32 end each paragraph ∥ u32 end each sentence
 *     44  0 ptr u64 · 8 size u64 · 16 num_tokens u64 · 24 num_documents u64              ids ∥ zeros to 8 ∥ u64 end each document
 *
 * Reading gives the ids as an array in place; tokens_value.c has the tables. A field 41 without arguments is the 1.0 draft's: its records
 * are {ptr u64, size u32, num_tokens u16, encoding u8, zero u8}, and the encoding (1 i32, 2 u16, 3 u8) is the row's. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "field/edge.h"
#include "field/tokens.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

bool mldfi_is_tokens(uint16_t type_id) {
    return type_id >= MLDF_TEXT_TOKENIZED && type_id <= MLDF_TOKEN_STREAM;
}

/* ---- Arguments ------------------------------------------------------------------------------------------------------------- */

/* In order of name. */
static const char *const token_arguments[] = {
    "bos", "dtype", "eos", "eos_inside", "pad", "specials", "tokenizer", "tokenizer_sha256", "vocabulary", NULL};

#define IDS_MAX (UINT64_C(1) << 31)

static uint64_t dtype_limit(mldf_dtype dtype) {
    return dtype == MLDF_U8 ? 256 : dtype == MLDF_U16 ? 65536 : IDS_MAX;
}

static mldf_dtype dtype_for(uint64_t vocabulary) {
    return vocabulary <= 256 ? MLDF_U8 : vocabulary <= 65536 ? MLDF_U16 : MLDF_I32;
}

static mldf_status get_dtype(const struct json *json, mldf_dtype *out, mldf_error *err) {
    uint32_t at = mldfi_json_find(json, 0, "dtype");
    *out = MLDF_DTYPE_NONE;
    if (at == UINT32_MAX)
        return MLDF_OK;
    if (json->nodes[at].kind == MLDFI_JSON_STRING)
        *out = mldf_dtype_parse(json->nodes[at].text, (size_t)json->nodes[at].text_bytes);
    if (*out != MLDF_U8 && *out != MLDF_U16 && *out != MLDF_I32)
        return mldfi_fail(err, MLDF_E_SCHEMA, "argument \"dtype\" is not one of |u1 <u2 <i4");
    return MLDF_OK;
}

static mldf_status get_limit(const struct json *json, struct tokens_state *s, mldf_error *err) {
    uint64_t vocabulary = 0;
    uint32_t at = mldfi_json_find(json, 0, "vocabulary");
    TRY(get_dtype(json, &s->dtype, err));
    if (at != UINT32_MAX && (!mldfi_json_u64(json, at, &vocabulary) || vocabulary < 1 || vocabulary > IDS_MAX))
        return mldfi_fail(err, MLDF_E_SCHEMA, "argument \"vocabulary\" is not an integer from 1 to 2^31");
    if (s->dtype == MLDF_DTYPE_NONE && vocabulary)
        s->dtype = dtype_for(vocabulary);
    if (s->dtype == MLDF_DTYPE_NONE)
        return mldfi_fail(err, MLDF_E_SCHEMA,
                          "tokens need the argument \"vocabulary\", the number of ids, or \"dtype\"");
    s->limit = dtype_limit(s->dtype);
    if (vocabulary > s->limit)
        return mldfi_fail(err, MLDF_E_SCHEMA, "a vocabulary of %" PRIu64 " ids, and dtype %s holds %" PRIu64,
                          vocabulary, mldf_dtype_name(s->dtype), s->limit);
    if (vocabulary)
        s->limit = vocabulary;
    s->width = (uint32_t)mldf_dtype_bytes(s->dtype);
    return MLDF_OK;
}

static mldf_status check_ids(const struct json *json, uint64_t limit, mldf_error *err) {
    static const char *const names[] = {"bos", "eos", "pad"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        uint64_t id;
        uint32_t at = mldfi_json_find(json, 0, names[i]);
        if (at != UINT32_MAX && (!mldfi_json_u64(json, at, &id) || id >= limit))
            return mldfi_fail(err, MLDF_E_SCHEMA, "argument \"%s\" is not an id from 0 to %" PRIu64, names[i],
                              limit - 1);
    }
    return MLDF_OK;
}

static bool is_sha256(const struct json_node *node) {
    if (node->kind != MLDFI_JSON_STRING || node->text_bytes != 64)
        return false;
    for (size_t i = 0; i < 64; i++)
        if (!strchr("0123456789abcdef", node->text[i]) || !node->text[i])
            return false;
    return true;
}

static mldf_status check_words(const struct json *json, mldf_error *err) {
    uint32_t name = mldfi_json_find(json, 0, "tokenizer"), hash = mldfi_json_find(json, 0, "tokenizer_sha256");
    uint32_t inside = mldfi_json_find(json, 0, "eos_inside"), specials = mldfi_json_find(json, 0, "specials");
    if (name != UINT32_MAX && json->nodes[name].kind != MLDFI_JSON_STRING)
        return mldfi_fail(err, MLDF_E_SCHEMA, "argument \"tokenizer\" is not a text");
    if (hash != UINT32_MAX && !is_sha256(&json->nodes[hash]))
        return mldfi_fail(err, MLDF_E_SCHEMA,
                          "argument \"tokenizer_sha256\" is not 64 hexadecimal digits in lower case");
    if (inside != UINT32_MAX && json->nodes[inside].kind != MLDFI_JSON_TRUE &&
        json->nodes[inside].kind != MLDFI_JSON_FALSE)
        return mldfi_fail(err, MLDF_E_SCHEMA, "argument \"eos_inside\" is neither true nor false");
    if (specials != UINT32_MAX && !mldfi_json_is_text(json, specials, "text") &&
        !mldfi_json_is_text(json, specials, "parse"))
        return mldfi_fail(err, MLDF_E_SCHEMA, "argument \"specials\" is neither \"text\" nor \"parse\"");
    return MLDF_OK;
}

static mldf_status get_arguments(const struct json *json, struct tokens_state *s, mldf_error *err) {
    mldf_status status = get_limit(json, s, err);
    if (status == MLDF_OK)
        status = check_ids(json, s->limit, err);
    return status == MLDF_OK ? check_words(json, err) : status;
}

/* A file always says the dtype. */
static mldf_status tokens_canonical(const struct json *json, mldf_buffer *out, mldf_error *err) {
    struct tokens_state s = {0};
    size_t written = 0;
    mldf_status status = get_arguments(json, &s, err);
    if (status == MLDF_OK)
        status = mldf_buffer_append(out, "{", 1, err);
    for (size_t i = 0; token_arguments[i] && status == MLDF_OK; i++) {
        uint32_t at = mldfi_json_find(json, 0, token_arguments[i]);
        bool dtype = strcmp(token_arguments[i], "dtype") == 0;
        if (at == UINT32_MAX && !dtype)
            continue;
        status = mldfi_buffer_printf(out, err, "%s\"%s\":", written++ ? "," : "", token_arguments[i]);
        if (status == MLDF_OK)
            status = dtype ? mldfi_buffer_printf(out, err, "\"%s\"", mldf_dtype_name(s.dtype))
                           : mldfi_json_canonical(json, at, out, err);
    }
    return status == MLDF_OK ? mldf_buffer_append(out, "}", 1, err) : status;
}

static mldf_status bind_tokens(uint16_t id, const char *arguments, mldf_record_layout *layout, void **state,
                               mldf_error *err) {
    static const mldf_record_layout layouts[] = {
        {16, 8, MLDF_FIELD_SIZE32, true}, {24, 8, MLDF_FIELD_SIZE64, true}, {32, 8, MLDF_FIELD_SIZE64, true}};
    struct json json = {0};
    struct tokens_state *s = mldfi_alloc_zero(1, sizeof *s, err);
    if (!s)
        return MLDF_E_MEMORY;
    s->type_id = id;
    mldf_status status = mldfi_arguments_parse(&json, arguments, strlen(arguments), err);
    if (status == MLDF_OK && id == MLDF_TEXT_TOKENIZED && json.nodes[0].count == 0)
        s->draft = true;
    else if (status == MLDF_OK)
        status = get_arguments(&json, s, err);
    mldfi_json_free(&json);
    if (status < 0) {
        free(s);
        return status;
    }
    *layout = layouts[id == MLDF_TEXT_TOKENIZED ? 0 : id == MLDF_TEXT_PACKED ? 1 : 2]; /* 43 and 44: 32 bytes */
    *state = s;
    return MLDF_OK;
}

#define BIND(NAME, ID) \
    static mldf_status NAME(void *user, const char *arguments, mldf_record_layout *layout, void **state, \
                            mldf_error *err) { \
        (void)user; \
        return bind_tokens(ID, arguments, layout, state, err); \
    }
BIND(bind_tokenized, MLDF_TEXT_TOKENIZED)
BIND(bind_packed, MLDF_TEXT_PACKED)
BIND(bind_hierarchical, MLDF_TEXT_HIERARCHICAL)
BIND(bind_stream, MLDF_TOKEN_STREAM)

static void tokens_unbind(void *user, void *state) {
    (void)user;
    free(state);
}

/* ---- Reading --------------------------------------------------------------------------------------------------------------- */

/* The draft's encoding of a row. A record of zeros is an empty value. */
static mldf_dtype draft_dtype(const uint8_t *record, uint64_t payload_bytes) {
    switch (record[TOKENS_ENCODING_DRAFT]) {
    case 1:
        return MLDF_I32;
    case 2:
        return MLDF_U16;
    case 3:
        return MLDF_U8;
    case 0:
        return payload_bytes == 0 ? MLDF_U16 : MLDF_DTYPE_NONE;
    default:
        return MLDF_DTYPE_NONE;
    }
}

bool mldfi_tokens_record(const struct tokens_state *s, const uint8_t *record, uint64_t payload_bytes,
                         struct tokens_record *out) {
    uint64_t ids, table;
    memset(out, 0, sizeof *out);
    out->dtype = s->draft ? draft_dtype(record, payload_bytes) : s->dtype;
    if (out->dtype == MLDF_DTYPE_NONE)
        return false;
    out->width = (uint32_t)mldf_dtype_bytes(out->dtype);
    out->documents = 1;
    if (s->draft) /* num_tokens u16 cannot hold a longer value; the size does */
        out->count = payload_bytes / out->width;
    else if (s->type_id == MLDF_TEXT_TOKENIZED)
        out->count = mldfi_load_u32(record + TOKENS_COUNT_41);
    else if (s->type_id == MLDF_TEXT_PACKED)
        out->count = mldfi_load_u32(record + TOKENS_COUNT), out->documents = mldfi_load_u32(record + TOKENS_PIECES_42);
    else if (s->type_id == MLDF_TEXT_HIERARCHICAL)
        out->count = mldfi_load_u32(record + TOKENS_COUNT),
        out->documents = mldfi_load_u32(record + TOKENS_PARAGRAPHS_43),
        out->sentences = mldfi_load_u32(record + TOKENS_SENTENCES_43);
    else
        out->count = mldfi_load_u64(record + TOKENS_COUNT),
        out->documents = mldfi_load_u64(record + TOKENS_DOCUMENTS_44);
    if (!mldfi_mul_u64(out->count, out->width, &ids) || ids > UINT64_MAX - 8)
        return false;
    out->table = out->bytes = ids;
    if (s->type_id == MLDF_TEXT_TOKENIZED)
        return true;
    out->table = mldfi_align_up(ids, 8);
    return mldfi_mul_u64(out->documents + out->sentences, mldfi_tokens_entry(s->type_id), &table) &&
           mldfi_add_u64(out->table, table, &out->bytes);
}

static mldf_status check_draft(const uint8_t *record, const struct tokens_record *r, uint64_t payload_bytes,
                               mldf_error *err) {
    uint16_t said = mldfi_load_u16(record + TOKENS_COUNT_41);
    if (r->dtype == MLDF_DTYPE_NONE)
        return mldfi_fail_at(err, MLDF_E_FEATURE, TOKENS_ENCODING_DRAFT,
                             "token encoding %u is not known; 1, 2 and 3 are", record[TOKENS_ENCODING_DRAFT]);
    if (payload_bytes % r->width)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, TOKENS_SIZE,
                             "%" PRIu64 " bytes are not whole tokens of %" PRIu32 " bytes", payload_bytes, r->width);
    if (r->count <= UINT16_MAX && said != r->count)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, TOKENS_COUNT_41,
                             "the record says %u tokens, and the payload has %" PRIu64, said, r->count);
    return MLDF_OK;
}

static uint64_t last_end(const struct tokens_state *s, const struct tokens_record *r, const uint8_t *payload) {
    const uint8_t *entry = payload + r->table + (r->documents - 1) * mldfi_tokens_entry(s->type_id);
    return s->type_id == MLDF_TEXT_PACKED ? mldfi_load_u32(entry) : mldfi_load_u64(entry);
}

static mldf_status check_record(const struct tokens_state *s, const uint8_t *record, const uint8_t *payload,
                                uint64_t payload_bytes, struct tokens_record *r, mldf_error *err) {
    bool fits = mldfi_tokens_record(s, record, payload_bytes, r);
    if (s->draft)
        return check_draft(record, r, payload_bytes, err);
    if (!fits || r->bytes != payload_bytes)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, TOKENS_SIZE,
                             "%" PRIu64 " bytes, and %" PRIu64 " tokens of %" PRIu32 " bytes, %" PRIu64
                             " documents need others",
                             payload_bytes, r->count, r->width, r->documents);
    if (s->type_id == MLDF_TEXT_TOKENIZED)
        return MLDF_OK;
    if (s->type_id == MLDF_TEXT_HIERARCHICAL && mldfi_load_u32(record + TOKENS_ZERO_43) != 0)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, TOKENS_ZERO_43, "the last member of the record is not 0");
    if (s->type_id == MLDF_TEXT_HIERARCHICAL)
        return mldfi_levels_check(r, payload ? payload + r->table : NULL, err);
    if (s->type_id == MLDF_TOKEN_STREAM && r->documents == 0 && r->count > 0)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, TOKENS_DOCUMENTS_44,
                             "a stream of %" PRIu64 " tokens without documents", r->count);
    if (!payload && payload_bytes)
        return MLDF_OK; /* only what the record says is asked for */
    uint64_t end = r->documents ? last_end(s, r, payload) : s->type_id == MLDF_TOKEN_STREAM ? r->count : 0;
    if (s->type_id == MLDF_TOKEN_STREAM ? end != r->count : end > r->count)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, MLDF_NONE,
                             "the last of %" PRIu64 " documents ends at %" PRIu64 ", and there are %" PRIu64 " tokens",
                             r->documents, end, r->count);
    return MLDF_OK;
}

static mldf_status tokens_decode(void *user, const void *state, const uint8_t *record, const void *payload,
                                 uint64_t payload_bytes, mldf_buffer *scratch, mldf_value *out, mldf_error *err) {
    struct tokens_record r;
    (void)user, (void)scratch;
    memset(out, 0, sizeof *out);
    TRY(check_record(state, record, payload, payload_bytes, &r, err));
    out->kind = MLDF_KIND_ARRAY;
    out->dtype = r.dtype;
    out->data = payload;
    out->bytes = r.count * r.width;
    out->ndim = 1;
    out->dims[0] = r.count;
    return MLDF_OK;
}

/* Ends ascend: strictly in a packed sequence, whose pieces are not empty. */
static mldf_status check_ends(const struct tokens_state *s, const struct tokens_record *r, const uint8_t *table,
                              mldf_error *err) {
    bool packed = s->type_id == MLDF_TEXT_PACKED;
    uint64_t before = 0;
    if (s->type_id == MLDF_TEXT_HIERARCHICAL)
        return mldfi_levels_check_ends(r, table, err);
    for (uint64_t i = 0; i < r->documents; i++, table += 8) {
        uint64_t end = packed ? mldfi_load_u32(table) : mldfi_load_u64(table);
        if (end > r->count || (packed ? end <= before : end < before))
            return mldfi_fail_at(err, MLDF_E_CORRUPT, MLDF_NONE,
                                 "document %" PRIu64 " ends at token %" PRIu64 ", the one before at %" PRIu64
                                 ", of %" PRIu64,
                                 i, end, before, r->count);
        before = end;
    }
    return MLDF_OK;
}

/* Which document, piece or sentence holds the token? The table is good up to there. */
static uint64_t document_of(const struct tokens_state *s, const struct tokens_record *r, const uint8_t *table,
                            uint64_t token) {
    bool levels = s->type_id == MLDF_TEXT_HIERARCHICAL;
    uint64_t low = 0, high = levels ? r->sentences : r->documents;
    uint32_t step = mldfi_tokens_entry(s->type_id);
    if (levels && table)
        table += step * r->documents;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        const uint8_t *entry = table + step * middle;
        uint64_t end = s->type_id == MLDF_TOKEN_STREAM ? mldfi_load_u64(entry) : mldfi_load_u32(entry);
        if (end > token)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static mldf_status outside(const struct tokens_state *s, const struct tokens_record *r, const uint8_t *table,
                           int64_t id, uint64_t at, mldf_status status, mldf_error *err) {
    char place[64] = "";
    if (s->type_id != MLDF_TEXT_TOKENIZED)
        snprintf(place, sizeof place, " (%s %" PRIu64 ")",
                 s->type_id == MLDF_TEXT_HIERARCHICAL ? "sentence" : "document", document_of(s, r, table, at));
    return mldfi_fail_at(err, status, MLDF_NONE,
                         "token %" PRIu64 "%s is %" PRId64 ", outside the vocabulary: 0 to %" PRIu64, at, place, id,
                         s->limit - 1);
}

static mldf_status tokens_check_deep(const void *state, const uint8_t *record, const void *payload,
                                     uint64_t payload_bytes, mldf_error *err) {
    const struct tokens_state *s = state;
    struct tokens_record r;
    uint64_t bytes = payload_bytes, at;
    if (!s->draft && mldfi_tokens_record(s, record, payload_bytes, &r) && payload_bytes == r.count * r.width)
        bytes = r.bytes; /* `payload` is the ids of a value that was decoded: its table follows them */
    mldf_status status = check_record(s, record, payload, bytes, &r, err);
    if (status < 0)
        return status;
    const uint8_t *table = r.table < bytes ? (const uint8_t *)payload + r.table : NULL;
    if (s->type_id != MLDF_TEXT_TOKENIZED && (status = check_ends(s, &r, table, err)) < 0)
        return status;
    uint64_t limit = s->draft ? dtype_limit(r.dtype) : s->limit;
    at = mldfi_ids_find_outside(r.dtype, payload, r.count, limit);
    if (at == r.count)
        return MLDF_OK;
    struct tokens_state told = *s;
    told.limit = limit;
    return outside(&told, &r, table, mldfi_id_at(r.dtype, payload, at), at, MLDF_E_CORRUPT, err);
}

/* ---- Writing --------------------------------------------------------------------------------------------------------------- */

/* A value as it comes: ids of some dtype, a table (NULL: one document). */
struct source {
    mldf_dtype dtype;
    const uint8_t *ids, *table;
    uint64_t count, documents, sentences;
};

static mldf_status from_array(const struct tokens_state *s, const mldf_value *value, struct source *out,
                              mldf_error *err) {
    uint64_t wanted;
    out->dtype = value->dtype == MLDF_DTYPE_NONE ? s->dtype : value->dtype;
    if (out->dtype < MLDF_I8 || out->dtype > MLDF_U64)
        return mldfi_fail(err, MLDF_E_TYPE, "an array of %s; tokens are integers", mldf_dtype_name(out->dtype));
    if (value->ndim != 1)
        return mldfi_fail(err, MLDF_E_TYPE, "an array of %" PRIu32 " dimensions; tokens have one", value->ndim);
    if (!mldfi_mul_u64(value->dims[0], mldf_dtype_bytes(out->dtype), &wanted) || wanted != value->bytes)
        return mldfi_fail(err, MLDF_E_RANGE, "%" PRIu64 " bytes, and %" PRIu64 " tokens of %s need others",
                          value->bytes, value->dims[0], mldf_dtype_name(out->dtype));
    out->ids = value->data;
    out->count = value->dims[0];
    out->documents = s->type_id == MLDF_TEXT_TOKENIZED || out->count ? 1 : 0;
    out->sentences = s->type_id == MLDF_TEXT_HIERARCHICAL ? out->documents : 0;
    return MLDF_OK;
}

static mldf_status from_bytes(const struct tokens_state *s, const mldf_value *value, struct source *out,
                              mldf_error *err) {
    const uint8_t *p = value->data;
    struct tokens_state as_given = *s;
    struct tokens_record r = {0};
    uint64_t ids, table;
    if (s->type_id == MLDF_TEXT_TOKENIZED)
        return mldfi_wrong_kind(value, "an array of integers", err);
    if (value->bytes < TOKENS_HEAD)
        return mldfi_fail(err, MLDF_E_RANGE, "%" PRIu64 " bytes are not a value of mldf_tokens_value", value->bytes);
    out->count = mldfi_load_u64(p);
    out->documents = mldfi_load_u64(p + 8);
    if (s->type_id == MLDF_TEXT_HIERARCHICAL)
        out->sentences = out->documents >> 32, out->documents &= UINT32_MAX;
    uint32_t dtype = mldfi_load_u32(p + 16), entry = mldfi_tokens_entry(s->type_id);
    if (dtype < MLDF_I8 || dtype > MLDF_U64)
        return mldfi_fail(err, MLDF_E_TYPE, "tokens of dtype %" PRIu32 "; they are integers", dtype);
    out->dtype = (mldf_dtype)dtype;
    if (!mldfi_mul_u64(out->count, mldf_dtype_bytes(out->dtype), &ids) || ids > UINT64_MAX - 8 ||
        !mldfi_mul_u64(out->documents + out->sentences, entry, &table) ||
        !mldfi_add_u64(mldfi_align_up(ids, 8), table, &table) || table != value->bytes - TOKENS_HEAD)
        return mldfi_fail(err, MLDF_E_RANGE,
                          "%" PRIu64 " bytes are not %" PRIu64 " tokens of %s and %" PRIu64 " documents", value->bytes,
                          out->count, mldf_dtype_name(out->dtype), out->documents);
    out->ids = p + TOKENS_HEAD;
    out->table = out->ids + mldfi_align_up(ids, 8);
    r.count = out->count;
    r.documents = out->documents;
    r.sentences = out->sentences;
    mldf_status status = s->type_id == MLDF_TEXT_HIERARCHICAL ? mldfi_levels_check(&r, out->table, err) : MLDF_OK;
    if (status == MLDF_OK)
        status = check_ends(&as_given, &r, out->table, err);
    if (status == MLDF_OK && s->type_id == MLDF_TOKEN_STREAM &&
        (out->documents ? mldfi_load_u64(out->table + 8 * (out->documents - 1)) : 0) != out->count)
        status = mldfi_fail(err, MLDF_E_CORRUPT, "the documents of a stream do not end with its %" PRIu64 " tokens",
                            out->count);
    if (status < 0 && err)
        err->status = MLDF_E_RANGE, err->offset = MLDF_NONE;
    return status < 0 ? MLDF_E_RANGE : status;
}

static mldf_status lay_out(const struct tokens_state *s, const struct source *from, mldf_buffer *scratch,
                           const void **payload, uint64_t *payload_bytes, mldf_error *err) {
    uint64_t ids = from->count * s->width, table = mldfi_align_up(ids, 8), bytes;
    uint64_t entries = mldfi_tokens_entry(s->type_id) * (from->documents + from->sentences);
    if (!mldfi_add_u64(table, entries, &bytes) || bytes > SIZE_MAX / 2)
        return mldfi_fail(err, MLDF_E_LIMIT, "%" PRIu64 " tokens", from->count);
    if (s->type_id == MLDF_TEXT_TOKENIZED)
        bytes = ids;
    TRY(mldfi_buffer_resize(scratch, (size_t)bytes, err));
    mldfi_ids_convert(from->dtype, from->ids, from->count, s->dtype, scratch->data);
    *payload = scratch->data;
    *payload_bytes = bytes;
    if (s->type_id == MLDF_TEXT_TOKENIZED || bytes == 0)
        return MLDF_OK;
    memset(scratch->data + ids, 0, (size_t)(table - ids));
    if (from->table) {
        memcpy(scratch->data + table, from->table, (size_t)entries);
    } else if (from->sentences) { /* one paragraph of one sentence */
        mldfi_store_u32(scratch->data + table, (uint32_t)from->count);
        mldfi_store_u32(scratch->data + table + 4, (uint32_t)from->count);
    } else if (from->documents) { /* one; a piece begins its document */
        mldfi_store_u64(scratch->data + table, from->count);
    }
    return MLDF_OK;
}

static mldf_status tokens_encode(void *user, const void *state, const mldf_value *value, uint8_t *record,
                                 mldf_buffer *scratch, const void **payload, uint64_t *payload_bytes, mldf_error *err) {
    const struct tokens_state *s = state;
    struct source from = {0};
    (void)user;
    *payload = NULL;
    *payload_bytes = 0;
    if (s->draft)
        return mldfi_fail(err, MLDF_E_TYPE, "a field in the form of the 1.0 draft: its values can only be copied");
    if (value->kind != MLDF_KIND_ARRAY && value->kind != MLDF_KIND_BYTES)
        return mldfi_wrong_kind(value, "an array of integers", err);
    mldf_status status = mldfi_check_data(value, err);
    if (status == MLDF_OK)
        status = value->kind == MLDF_KIND_ARRAY ? from_array(s, value, &from, err) : from_bytes(s, value, &from, err);
    if (status < 0)
        return status;
    bool small = s->type_id != MLDF_TOKEN_STREAM;
    if (small && (from.count > UINT32_MAX || from.documents > UINT32_MAX))
        return mldfi_fail(err, MLDF_E_RANGE,
                          "%" PRIu64 " tokens in %" PRIu64 " documents; a record holds up to 2^32 - 1", from.count,
                          from.documents);
    uint64_t at = mldfi_ids_find_outside(from.dtype, from.ids, from.count, s->limit);
    if (at < from.count) {
        struct tokens_record r = {.count = from.count,
                                  .documents = from.table ? from.documents : 0,
                                  .sentences = from.table ? from.sentences : 0};
        return outside(s, &r, from.table, mldfi_id_at(from.dtype, from.ids, at), at, MLDF_E_RANGE, err);
    }
    if (from.dtype == s->dtype && s->type_id == MLDF_TEXT_TOKENIZED) {
        *payload = from.ids;
        *payload_bytes = from.count * s->width;
    } else if ((status = lay_out(s, &from, scratch, payload, payload_bytes, err)) < 0) {
        return status;
    }
    if (s->type_id == MLDF_TEXT_TOKENIZED) {
        mldfi_store_u32(record + TOKENS_COUNT_41, (uint32_t)from.count);
    } else if (s->type_id == MLDF_TEXT_PACKED) {
        mldfi_store_u32(record + TOKENS_COUNT, (uint32_t)from.count);
        mldfi_store_u32(record + TOKENS_PIECES_42, (uint32_t)from.documents);
    } else if (s->type_id == MLDF_TEXT_HIERARCHICAL) {
        mldfi_store_u32(record + TOKENS_COUNT, (uint32_t)from.count);
        mldfi_store_u32(record + TOKENS_PARAGRAPHS_43, (uint32_t)from.documents);
        mldfi_store_u32(record + TOKENS_SENTENCES_43, (uint32_t)from.sentences);
        mldfi_store_u32(record + TOKENS_ZERO_43, 0);
    } else {
        mldfi_store_u64(record + TOKENS_COUNT, from.count);
        mldfi_store_u64(record + TOKENS_DOCUMENTS_44, from.documents);
    }
    return MLDF_OK;
}

/* ---- What others ask ------------------------------------------------------------------------------------------------------- */

static void tokens_observe(const void *state, const uint8_t *record, struct observation *out) {
    const struct tokens_state *s = state;
    uint64_t count = s->draft                            ? mldfi_load_u16(record + TOKENS_COUNT_41)
                     : s->type_id == MLDF_TEXT_TOKENIZED ? mldfi_load_u32(record + TOKENS_COUNT_41)
                     : s->type_id != MLDF_TOKEN_STREAM   ? mldfi_load_u32(record + TOKENS_COUNT)
                                                         : mldfi_load_u64(record + TOKENS_COUNT);
    memset(out, 0, sizeof *out);
    if (s->draft)
        return;
    out->has_units = true;
    out->units = count;
    out->ndim = 1;
    out->dims[0] = count > UINT32_MAX ? UINT32_MAX : (uint32_t)count;
}

static mldf_status tokens_range(const void *state, const uint8_t *record, const void *payload, uint64_t payload_bytes,
                                uint64_t *least, uint64_t *most, mldf_error *err) {
    const struct tokens_state *s = state;
    struct tokens_record r;
    if (s->draft || !mldfi_tokens_record(s, record, payload_bytes, &r) || r.count == 0 || r.bytes > payload_bytes)
        return MLDF_END;
    struct id_range range = mldfi_ids_range(r.dtype, payload, r.count);
    if (range.least < 0 || range.most >= s->limit) {
        uint64_t at = mldfi_ids_find_outside(r.dtype, payload, r.count, s->limit);
        const uint8_t *table = r.table < payload_bytes ? (const uint8_t *)payload + r.table : NULL;
        if (!table)
            r.documents = r.sentences = 0;
        return outside(s, &r, table, mldfi_id_at(r.dtype, payload, at), at, MLDF_E_RANGE, err);
    }
    *least = (uint64_t)range.least;
    *most = range.most;
    return MLDF_OK;
}

static void tokens_describe(const void *state, mldf_field *info) {
    const struct tokens_state *s = state;
    if (s->draft)
        return;
    info->dtype = s->dtype;
    info->ndim = 1;
    info->dims[0] = -1;
}

static mldf_status tokens_edge(const struct schema_field *field, const struct value_bounds *bounds, struct edge *out,
                               mldf_error *err) {
    const struct tokens_state *s = field->state;
    if (s->draft)
        return mldfi_fail(
            err, MLDF_E_UNSUPPORTED,
            "field \"%s\" has tokens in the form of the 1.0 draft, whose rows differ in width: a pipeline "
            "cannot read it",
            field->name);
    mldf_status status = mldfi_array_edge(field, bounds, out, err);
    mldfi_set_axes(out->axes, "t");
    if (out->most[0] == UINT32_MAX) /* a stream: statistics hold no more */
        out->most[0] = MLDF_NONE, out->dims[0] = DIM_VARIES;
    return status;
}

static bool tokens_steps(const struct schema_field *field, const uint8_t *record, struct field_steps *out) {
    const struct tokens_state *s = field->state;
    if (s->draft)
        return false;
    *out = (struct field_steps){s->type_id == MLDF_TOKEN_STREAM     ? mldfi_load_u64(record + 16)
                                : s->type_id != MLDF_TEXT_TOKENIZED ? mldfi_load_u32(record + 16)
                                                                    : mldfi_load_u32(record + 12),
                                0};
    return true;
}

#define TYPE(NAME, ID, TEXT, BIND, STREAM, ENDING, EXPORT, JSON, SAME, PARTS) \
    const struct field_type NAME = { \
        .type = {sizeof(mldf_type), ID, TEXT, NULL, BIND, tokens_unbind, tokens_encode, tokens_decode}, \
        .name = TEXT, \
        .draft_differs = (ID) == MLDF_TEXT_PACKED || (ID) == MLDF_TEXT_HIERARCHICAL, \
        .observe = tokens_observe, \
        .range = tokens_range, \
        .describe = tokens_describe, \
        .argument_names = token_arguments, \
        .canonical = tokens_canonical, \
        .check_deep = tokens_check_deep, \
        .never_compressed = STREAM, \
        .in_chunks = STREAM, \
        .edge = tokens_edge, \
        .steps = tokens_steps, \
        .sizes = SIZES_DIMS, \
        .ending = ENDING, \
        .export = EXPORT, \
        .value_json = JSON, \
        .same = SAME, \
        .letter = 'a', \
        PARTS}
#define LEVELS \
    .part = mldfi_level_part, .part_edge = mldfi_level_part_edge, .part_table = mldfi_level_part_table, \
    .part_column = mldfi_level_part_column,
TYPE(mldfi_type_text_tokenized, MLDF_TEXT_TOKENIZED, "text_tokenized", bind_tokenized, false, "npy", NULL,
     mldfi_tokens_json, NULL, );
TYPE(mldfi_type_text_packed, MLDF_TEXT_PACKED, "text_packed", bind_packed, false, "json", mldfi_tokens_export,
     mldfi_tokens_json, mldfi_packed_same, );
TYPE(mldfi_type_text_hierarchical, MLDF_TEXT_HIERARCHICAL, "text_hierarchical", bind_hierarchical, false, "json",
     mldfi_tokens_export, mldfi_tokens_json, mldfi_levels_same, LEVELS);
TYPE(mldfi_type_token_stream, MLDF_TOKEN_STREAM, "token_stream", bind_stream, true, "json", mldfi_tokens_export,
     mldfi_tokens_json, mldfi_stream_same, );
