/* The public face of token values (mldf/tokens.h): tables of documents and pieces, values to append, whether two values are the same. */
#include <inttypes.h>
#include <string.h>

#include "field/tokens.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

mldf_status mldf_tokens_of(const mldf_field *field, const mldf_value *value, mldf_tokens *out, mldf_error *err) {
    if (!field || !value || !out)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "mldf_tokens_of: %s is NULL", !field ? "field" : !value ? "value" : "out");
    if (!mldfi_is_tokens(field->type_id) || !field->known || value->kind != MLDF_KIND_ARRAY || !value->record ||
        value->record_bytes != field->record_bytes)
        return mldfi_fail(err, MLDF_E_TYPE, "field \"%s\": not a value of a token field", field->name);
    const uint8_t *record = value->record;
    *out = (mldf_tokens){field->type_id, value->dtype, value->data, value->dims[0], 1, NULL};
    if (field->type_id == MLDF_TEXT_TOKENIZED)
        return MLDF_OK;
    out->documents = field->type_id == MLDF_TEXT_PACKED ? mldfi_load_u32(record + TOKENS_PIECES_42)
                                                        : mldfi_load_u64(record + TOKENS_DOCUMENTS_44);
    if (out->documents)
        out->table = (const uint8_t *)value->data + mldfi_align_up(value->bytes, 8);
    return MLDF_OK;
}

static uint64_t end_of(const mldf_tokens *t, uint64_t index) {
    const uint8_t *entry = (const uint8_t *)t->table + 8 * index;
    if (t->type_id == MLDF_TEXT_TOKENIZED)
        return t->count;
    return t->type_id == MLDF_TEXT_PACKED ? mldfi_load_u32(entry) : mldfi_load_u64(entry);
}

mldf_status mldf_tokens_document(const mldf_tokens *tokens, uint64_t index, uint64_t *begin, uint64_t *end,
                                 mldf_error *err) {
    if (!tokens || !begin || !end)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "mldf_tokens_document: an argument is NULL");
    if (index >= tokens->documents)
        return mldfi_fail(err, MLDF_E_RANGE, "document %" PRIu64 " of %" PRIu64, index, tokens->documents);
    *begin = index ? end_of(tokens, index - 1) : 0;
    *end = end_of(tokens, index);
    if (*begin > *end || *end > tokens->count)
        return mldfi_fail(err, MLDF_E_CORRUPT,
                          "document %" PRIu64 " is tokens %" PRIu64 " to %" PRIu64 " of %" PRIu64, index, *begin, *end,
                          tokens->count);
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
    if (!mldfi_mul_u64(count, mldf_dtype_bytes(dtype), &ids_bytes) || ids_bytes > SIZE_MAX / 4 || documents > SIZE_MAX / 64)
        return mldfi_fail(err, MLDF_E_LIMIT, "%" PRIu64 " tokens", count);
    table = mldfi_align_up(ids_bytes, 8);
    mldf_status status = mldfi_buffer_resize(scratch, (size_t)(TOKENS_HEAD + table + 8 * documents), err);
    if (status < 0)
        return status;
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

bool mldfi_tokens_same_table(const mldf_field *field, const mldf_value *x, const mldf_value *y) {
    mldf_tokens s, t;
    if (mldf_tokens_of(field, x, &s, NULL) < 0 || mldf_tokens_of(field, y, &t, NULL) < 0)
        return true;
    return s.type_id == t.type_id && s.documents == t.documents &&
           (s.type_id == MLDF_TEXT_TOKENIZED || s.documents == 0 ||
            memcmp(s.table, t.table, (size_t)(8 * s.documents)) == 0);
}
