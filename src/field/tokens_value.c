/* The public face of token values (mldf/tokens.h): tables of documents and pieces, values to append, whether two values are the same. */
#include <inttypes.h>
#include <string.h>

#include "field/tokens.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

mldf_status mldf_tokens_of(const mldf_field *field, const mldf_value *value, mldf_tokens *out, mldf_error *err) {
    if (!field || !value || !out)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "mldf_tokens_of: %s is NULL",
                          !field   ? "field"
                          : !value ? "value"
                                   : "out");
    if (!mldfi_is_tokens(field->type_id) || !field->known || value->kind != MLDF_KIND_ARRAY || !value->record ||
        value->record_bytes != field->record_bytes)
        return mldfi_fail(err, MLDF_E_TYPE, "field \"%s\": not a value of a token field", field->name);
    const uint8_t *record = value->record;
    *out = (mldf_tokens){field->type_id, value->dtype, value->data, value->dims[0], 1, NULL};
    if (field->type_id == MLDF_TEXT_TOKENIZED || field->type_id == MLDF_TEXT_HIERARCHICAL)
        return MLDF_OK;
    out->documents = field->type_id == MLDF_TEXT_PACKED ? mldfi_load_u32(record + TOKENS_PIECES_42)
                                                        : mldfi_load_u64(record + TOKENS_DOCUMENTS_44);
    if (out->documents)
        out->table = (const uint8_t *)value->data + mldfi_align_up(value->bytes, 8);
    return MLDF_OK;
}

static uint64_t end_of(const mldf_tokens *t, uint64_t index) {
    if (!t->table) /* one document */
        return t->count;
    const uint8_t *entry = (const uint8_t *)t->table + mldfi_tokens_entry(t->type_id) * index;
    return t->type_id == MLDF_TOKEN_STREAM ? mldfi_load_u64(entry) : mldfi_load_u32(entry);
}

mldf_status mldf_tokens_document(const mldf_tokens *tokens, uint64_t index, uint64_t *begin, uint64_t *end,
                                 mldf_error *err) {
    if (!tokens || !begin || !end)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "mldf_tokens_document: an argument is NULL");
    if (index >= tokens->documents)
        return mldfi_fail(err, MLDF_E_RANGE, "document %" PRIu64 " of %" PRIu64, index, tokens->documents);
    *begin = index ? end_of(tokens, index - 1) : 0;
    *end = end_of(tokens, index);
    bool empty = *begin == *end && tokens->table && tokens->type_id == MLDF_TEXT_HIERARCHICAL;
    if (*begin > *end || *end > tokens->count || empty)
        return mldfi_fail(err, MLDF_E_CORRUPT, "document %" PRIu64 " is tokens %" PRIu64 " to %" PRIu64 " of %" PRIu64,
                          index, *begin, *end, tokens->count);
    return MLDF_OK;
}

mldf_status mldf_tokens_value(uint16_t type_id, mldf_dtype dtype, const void *ids, uint64_t count, const uint64_t *ends,
                              const uint32_t *from, uint64_t documents, mldf_buffer *scratch, mldf_value *out,
                              mldf_error *err) {
    uint64_t ids_bytes, table;
    if (type_id != MLDF_TEXT_PACKED && type_id != MLDF_TOKEN_STREAM)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "mldf_tokens_value: type %u has no table of documents", type_id);
    if (!scratch || !out || (!ids && count) || (!ends && documents) || dtype < MLDF_I8 || dtype > MLDF_U64)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "mldf_tokens_value: %s",
                          !scratch || !out ? "scratch or out is NULL"
                          : !ids && count  ? "ids is NULL"
                          : !ends          ? "ends is NULL"
                                           : "the dtype is not of integers");
    if (!mldfi_mul_u64(count, mldf_dtype_bytes(dtype), &ids_bytes) || ids_bytes > SIZE_MAX / 4 ||
        documents > SIZE_MAX / 64)
        return mldfi_fail(err, MLDF_E_LIMIT, "%" PRIu64 " tokens", count);
    table = mldfi_align_up(ids_bytes, 8);
    TRY(mldfi_buffer_resize(scratch, (size_t)(TOKENS_HEAD + table + 8 * documents), err));
    uint8_t *p = scratch->data;
    mldfi_store_u64(p, count);
    mldfi_store_u64(p + 8, documents);
    mldfi_store_u32(p + 16, (uint32_t)dtype);
    mldfi_store_u32(p + 20, 0);
    if (ids_bytes)
        memcpy(p + TOKENS_HEAD, ids, (size_t)ids_bytes);
    memset(p + TOKENS_HEAD + ids_bytes, 0, (size_t)(table - ids_bytes));
    for (uint64_t i = 0; i < documents; i++) {
        uint8_t *entry = p + TOKENS_HEAD + table + 8 * i;
        if (type_id == MLDF_TOKEN_STREAM) {
            mldfi_store_u64(entry, ends[i]);
        } else if (ends[i] > UINT32_MAX) {
            return mldfi_fail(err, MLDF_E_RANGE, "piece %" PRIu64 " ends at token %" PRIu64, i, ends[i]);
        } else {
            mldfi_store_u32(entry, (uint32_t)ends[i]);
            mldfi_store_u32(entry + 4, from ? from[i] : 0);
        }
    }
    *out = (mldf_value){.kind = MLDF_KIND_BYTES, .data = p, .bytes = scratch->size};
    return MLDF_OK;
}

/* ---- Traits (field.h) -------------------------------------------------------------------------------------------------------- */

static bool same_table(const mldf_value *a, const mldf_value *b, uint64_t x, uint64_t y) {
    uint64_t table = mldfi_align_up(a->bytes, 8);
    return x == y &&
           (x == 0 || memcmp((const uint8_t *)a->data + table, (const uint8_t *)b->data + table, (size_t)(8 * x)) == 0);
}

bool mldfi_packed_same(const mldf_value *a, const mldf_value *b) {
    return same_table(a, b, mldfi_load_u32((const uint8_t *)a->record + TOKENS_PIECES_42),
                      mldfi_load_u32((const uint8_t *)b->record + TOKENS_PIECES_42));
}

bool mldfi_stream_same(const mldf_value *a, const mldf_value *b) {
    return same_table(a, b, mldfi_load_u64((const uint8_t *)a->record + TOKENS_DOCUMENTS_44),
                      mldfi_load_u64((const uint8_t *)b->record + TOKENS_DOCUMENTS_44));
}

static mldf_status ids_json(const mldf_tokens *t, mldf_buffer *out, mldf_error *err) {
    mldf_status status = mldfi_buffer_append_text(out, "[", err);
    for (uint64_t i = 0; i < t->count && status >= 0; i++)
        status = mldfi_buffer_printf(out, err, "%s%" PRId64, i ? "," : "", mldfi_id_at(t->dtype, t->ids, i));
    return status < 0 ? status : mldfi_buffer_append_text(out, "]", err);
}

static mldf_status list_ends(const mldf_tokens *t, const char *name, mldf_buffer *out, mldf_error *err) {
    mldf_status status = mldfi_buffer_printf(out, err, ",\"%s\":[", name);
    for (uint64_t i = 0; i < t->documents && status >= 0; i++)
        status = mldfi_buffer_printf(out, err, "%s%" PRIu64, i ? "," : "", end_of(t, i));
    return status;
}

/* Of hierarchical text: the ends of both levels, or of one with more entries than `most` their number. */
static mldf_status levels_json(const mldf_field *field, const mldf_value *value, uint64_t most, mldf_buffer *out,
                               mldf_error *err) {
    mldf_status status = MLDF_OK;
    for (int level = MLDF_LEVEL_PARAGRAPH; level <= MLDF_LEVEL_SENTENCE && status >= 0; level++) {
        const char *name = level == MLDF_LEVEL_PARAGRAPH ? "paragraphs" : "sentences";
        mldf_tokens t;
        status = mldf_tokens_level(field, value, (mldf_token_level)level, &t, err);
        if (status >= 0 && t.documents > most)
            status = mldfi_buffer_printf(out, err, ",\"%s\":%" PRIu64, name, t.documents);
        else if (status >= 0 && (status = list_ends(&t, name, out, err)) >= 0)
            status = mldfi_buffer_append_text(out, "]", err);
    }
    return status;
}

static mldf_status ends_json(const mldf_tokens *t, mldf_buffer *out, mldf_error *err) {
    mldf_status status = list_ends(t, "ends", out, err);
    if (status >= 0 && t->type_id == MLDF_TEXT_PACKED)
        status = mldfi_buffer_append_text(out, "],\"from\":[", err);
    for (uint64_t i = 0; t->type_id == MLDF_TEXT_PACKED && i < t->documents && status >= 0; i++)
        status = mldfi_buffer_printf(out, err, "%s%" PRIu32, i ? "," : "",
                                     mldfi_load_u32((const uint8_t *)t->table + 8 * i + 4));
    return status < 0 ? status : mldfi_buffer_append_text(out, "]", err);
}

/* Tokens of the 1.0 draft are shown as they always were: their bytes and their record. */
static mldf_status draft_json(const mldf_value *value, mldf_buffer *out, mldf_error *err) {
    mldf_status status = mldfi_payload_json_begin(value, out, err);
    if (status >= 0)
        status = mldfi_buffer_append_text(out, ",\"record\":\"", err);
    for (uint32_t i = 0; i < value->record_bytes && status >= 0; i++)
        status = mldfi_buffer_printf(out, err, "%02x", ((const uint8_t *)value->record)[i]);
    return status < 0 ? status : mldfi_buffer_append_text(out, "\"}", err);
}

mldf_status mldfi_tokens_json(const struct schema_field *field, const mldf_value *value, bool full, mldf_buffer *out,
                              mldf_error *err) {
    enum { SHOWN = 64 };
    mldf_tokens t;
    (void)full; /* all ids are an array, which others write */
    if (((const struct tokens_state *)field->state)->draft)
        return draft_json(value, out, err);
    if (mldf_tokens_of(&field->info, value, &t, NULL) < 0 || t.type_id == MLDF_TEXT_TOKENIZED)
        return MLDF_END;
    mldf_status status;
    if (t.count <= SHOWN) {
        status = mldfi_buffer_append_text(out, "{\"tokens\":", err);
        if (status >= 0)
            status = ids_json(&t, out, err);
    } else {
        status = mldfi_payload_json_begin(value, out, err);
        if (status >= 0)
            status = mldfi_buffer_printf(out, err, ",\"dtype\":\"%s\",\"tokens\":%" PRIu64, mldf_dtype_name(t.dtype),
                                         t.count);
    }
    if (status >= 0 && t.type_id == MLDF_TEXT_HIERARCHICAL)
        status = levels_json(&field->info, value, SHOWN, out, err);
    else if (status >= 0)
        status = mldfi_buffer_printf(out, err, ",\"documents\":%" PRIu64, t.documents);
    if (status >= 0 && t.type_id != MLDF_TEXT_HIERARCHICAL && t.documents <= SHOWN)
        status = ends_json(&t, out, err);
    return status < 0 ? status : mldfi_buffer_append_text(out, "}", err);
}

/* {"tokens":[…],"ends":[…]}, of hierarchical text {"tokens":[…],"paragraphs":[…],"sentences":[…]}: an array alone would lose the documents. */
mldf_status mldfi_tokens_export(const struct schema_field *field, const mldf_value *value, struct media_kit *kit,
                                struct export_room *room, struct exported *out, mldf_error *err) {
    mldf_tokens t;
    mldf_buffer *file = &room->file;
    (void)kit;
    mldf_status status = mldf_tokens_of(&field->info, value, &t, err);
    file->size = 0;
    if (status >= 0)
        status = mldfi_buffer_append_text(file, "{\"tokens\":", err);
    if (status >= 0)
        status = ids_json(&t, file, err);
    if (status >= 0)
        status = t.type_id == MLDF_TEXT_HIERARCHICAL ? levels_json(&field->info, value, UINT64_MAX, file, err)
                                                     : ends_json(&t, file, err);
    if (status >= 0)
        status = mldfi_buffer_append_text(file, "}", err);
    *out = (struct exported){.ending = "json", .data = file->data, .bytes = file->size};
    return status;
}
