/* TEXT_HIERARCHICAL's levels: where the paragraphs and sentences of a document end, as two tables of u32 after its ids.
 *
 *     ids         t0 t1 t2 t3 t4 t5 t6 t7
 *     sentences   |-----|--|  |--------|        ends 2 3 5 8: they ascend, and the last is the number of tokens
 *     paragraphs  |--------|-----------|        ends 3 8: each is the end of a sentence, too
 *
 * A level is a part of the value, FIELD.paragraphs or FIELD.sentences: its ends, read without the ids. Values and records are in tokens_type.c. */
#include <inttypes.h>
#include <string.h>

#include "field/edge.h"
#include "field/tokens.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

enum { PARAGRAPHS, SENTENCES, LEVELS };
static const char *const names[LEVELS] = {"paragraphs", "sentences"};

static uint64_t count_of(const struct tokens_record *r, size_t level) {
    return level == PARAGRAPHS ? r->documents : r->sentences;
}

/* ---- Checks ------------------------------------------------------------------------------------------------------------------------ */

static mldf_status check_last(const struct tokens_record *r, size_t level, uint32_t end, mldf_error *err) {
    if (end == r->count)
        return MLDF_OK;
    return mldfi_fail_at(err, MLDF_E_CORRUPT, MLDF_NONE,
                         "the last of %" PRIu64 " %s ends at %" PRIu32 ", and there are %" PRIu64 " tokens",
                         count_of(r, level), names[level], end, r->count);
}

mldf_status mldfi_levels_check(const struct tokens_record *r, const uint8_t *table, mldf_error *err) {
    if (r->documents < (r->count > 0) || r->documents > r->sentences)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, TOKENS_PARAGRAPHS_43,
                             "%" PRIu64 " paragraphs of %" PRIu64 " sentences, %" PRIu64 " tokens", r->documents,
                             r->sentences, r->count);
    if (r->sentences > r->count)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, TOKENS_SENTENCES_43, "%" PRIu64 " sentences of %" PRIu64 " tokens",
                             r->sentences, r->count);
    for (size_t level = 0; table && level < LEVELS && r->count; level++) {
        uint64_t last = level == PARAGRAPHS ? r->documents : r->documents + r->sentences;
        TRY(check_last(r, level, mldfi_load_u32(table + 4 * (last - 1)), err));
    }
    return MLDF_OK;
}

static mldf_status check_ascending(const struct tokens_record *r, size_t level, const uint8_t *ends, mldf_error *err) {
    uint32_t before = 0;
    for (uint64_t i = 0; i < count_of(r, level); i++) {
        uint32_t end = mldfi_load_u32(ends + 4 * i);
        if (end <= before || end > r->count)
            return mldfi_fail_at(err, MLDF_E_CORRUPT, MLDF_NONE,
                                 "%.*s %" PRIu64 " ends at token %" PRIu32 ", the one before at %" PRIu32
                                 ", of %" PRIu64,
                                 (int)strlen(names[level]) - 1, names[level], i, end, before, r->count);
        before = end;
    }
    return check_last(r, level, before, err);
}

mldf_status mldfi_levels_check_ends(const struct tokens_record *r, const uint8_t *table, mldf_error *err) {
    const uint8_t *sentences = table ? table + 4 * r->documents : NULL;
    mldf_status status = check_ascending(r, PARAGRAPHS, table, err);
    if (status == MLDF_OK)
        status = check_ascending(r, SENTENCES, sentences, err);
    for (uint64_t i = 0, at = 0; i < r->documents && status == MLDF_OK; i++) {
        uint32_t end = mldfi_load_u32(table + 4 * i);
        while (at < r->sentences && mldfi_load_u32(sentences + 4 * at) < end)
            at++;
        if (at == r->sentences || mldfi_load_u32(sentences + 4 * at) != end)
            return mldfi_fail_at(err, MLDF_E_CORRUPT, MLDF_NONE,
                                 "paragraph %" PRIu64 " ends at token %" PRIu32 ", inside a sentence", i, end);
    }
    return status;
}

/* ---- Parts ------------------------------------------------------------------------------------------------------------------------- */

mldf_status mldfi_level_part(const struct schema_field *field, size_t index, struct field_part *out, mldf_error *err) {
    (void)field, (void)err;
    if (index >= LEVELS)
        return MLDF_END;
    memset(out, 0, sizeof *out);
    strcpy(out->name, names[index]);
    out->index = index;
    out->tabled = out->column = true;
    return MLDF_OK;
}

mldf_status mldfi_level_part_edge(const struct schema_field *field, const struct field_part *part,
                                  const struct value_bounds *bounds, struct edge *out, mldf_error *err) {
    (void)field, (void)part, (void)bounds, (void)err;
    out->kind = VALUE_ARRAY;
    out->dtype = MLDF_I64;
    out->ndim = 1;
    mldfi_edge_bound(out, 0, NULL);
    return MLDF_OK;
}

uint64_t mldfi_level_part_table(const struct schema_field *field, const struct field_part *part, const uint8_t *record,
                                uint64_t *offset) {
    struct tokens_record r;
    if (!mldfi_tokens_record(field->state, record, 0, &r)) {
        *offset = UINT64_MAX; /* outside every payload */
        return 1;
    }
    *offset = r.table + (part->index == SENTENCES ? 4 * r.documents : 0);
    return 4 * count_of(&r, part->index);
}

mldf_status mldfi_level_part_column(const struct schema_field *field, const struct field_part *part,
                                    const uint8_t *record, uint64_t payload_bytes, const uint8_t *table,
                                    mldf_buffer *out, mldf_error *err) {
    struct tokens_record r;
    (void)payload_bytes; /* of an array its ids */
    if (!mldfi_tokens_record(field->state, record, 0, &r))
        return mldfi_fail(err, MLDF_E_CORRUPT, "a record that makes no sense");
    mldf_status status = mldfi_levels_check(&r, NULL, err);
    if (status == MLDF_OK)
        status = check_ascending(&r, part->index, table, err);
    if (status < 0 && err)
        err->offset = MLDF_NONE;
    for (uint64_t i = 0; i < count_of(&r, part->index) && status == MLDF_OK; i++) {
        int64_t end = mldfi_load_u32(table + 4 * i);
        status = mldf_buffer_append(out, &end, sizeof end, err);
    }
    return status;
}

bool mldfi_levels_same(const mldf_value *a, const mldf_value *b) {
    const uint8_t *x = a->record, *y = b->record;
    uint64_t table = mldfi_align_up(a->bytes, 8);
    if (memcmp(x + TOKENS_COUNT, y + TOKENS_COUNT, 12) != 0)
        return false;
    uint64_t entries = (uint64_t)mldfi_load_u32(x + TOKENS_PARAGRAPHS_43) + mldfi_load_u32(x + TOKENS_SENTENCES_43);
    return entries == 0 ||
           memcmp((const uint8_t *)a->data + table, (const uint8_t *)b->data + table, (size_t)(4 * entries)) == 0;
}

/* ---- The public face (mldf/tokens.h) ----------------------------------------------------------------------------------------------- */

mldf_status mldf_tokens_level(const mldf_field *field, const mldf_value *value, mldf_token_level level,
                              mldf_tokens *out, mldf_error *err) {
    TRY(mldf_tokens_of(field, value, out, err));
    if (level == MLDF_LEVEL_DOCUMENT)
        return MLDF_OK;
    if (field->type_id != MLDF_TEXT_HIERARCHICAL || (level != MLDF_LEVEL_PARAGRAPH && level != MLDF_LEVEL_SENTENCE))
        return mldfi_fail(err, MLDF_E_TYPE, "field \"%s\" of type %s has no level %d", field->name, field->type_name,
                          (int)level);
    const uint8_t *record = value->record;
    struct tokens_record r = {.count = value->dims[0],
                              .documents = mldfi_load_u32(record + TOKENS_PARAGRAPHS_43),
                              .sentences = mldfi_load_u32(record + TOKENS_SENTENCES_43)};
    const size_t which = level == MLDF_LEVEL_PARAGRAPH ? PARAGRAPHS : SENTENCES;
    out->documents = count_of(&r, which);
    if (out->documents) /* a value of no tokens has no data */
        out->table = (const uint8_t *)value->data + mldfi_align_up(value->bytes, 8) +
                     (which == PARAGRAPHS ? 0 : 4 * r.documents);
    return check_ascending(&r, which, out->table, err);
}

mldf_status mldf_tokens_levels_value(mldf_dtype dtype, const void *ids, uint64_t count, const uint32_t *paragraphs,
                                     uint64_t paragraph_count, const uint32_t *sentences, uint64_t sentence_count,
                                     mldf_buffer *scratch, mldf_value *out, mldf_error *err) {
    uint64_t bytes, entries;
    if (!scratch || !out || (!ids && count) || (!paragraphs && paragraph_count) || (!sentences && sentence_count) ||
        dtype < MLDF_I8 || dtype > MLDF_U64)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "mldf_tokens_levels_value: %s",
                          !scratch || !out                      ? "scratch or out is NULL"
                          : !ids && count                       ? "ids is NULL"
                          : dtype < MLDF_I8 || dtype > MLDF_U64 ? "the dtype is not of integers"
                                                                : "an array of ends is NULL");
    if (!mldfi_mul_u64(count, mldf_dtype_bytes(dtype), &bytes) || bytes > SIZE_MAX / 4 ||
        paragraph_count > UINT32_MAX || sentence_count > UINT32_MAX)
        return mldfi_fail(err, MLDF_E_LIMIT, "%" PRIu64 " tokens, %" PRIu64 " paragraphs, %" PRIu64 " sentences", count,
                          paragraph_count, sentence_count);
    uint64_t table = mldfi_align_up(bytes, 8);
    entries = paragraph_count + sentence_count;
    TRY(mldfi_buffer_resize(scratch, (size_t)(TOKENS_HEAD + table + 4 * entries), err));
    uint8_t *p = scratch->data;
    mldfi_store_u64(p, count);
    mldfi_store_u32(p + 8, (uint32_t)paragraph_count);
    mldfi_store_u32(p + 12, (uint32_t)sentence_count);
    mldfi_store_u32(p + 16, (uint32_t)dtype);
    mldfi_store_u32(p + 20, 0);
    if (bytes)
        memcpy(p + TOKENS_HEAD, ids, (size_t)bytes);
    memset(p + TOKENS_HEAD + bytes, 0, (size_t)(table - bytes));
    p += TOKENS_HEAD + table;
    for (uint64_t i = 0; i < entries; i++)
        mldfi_store_u32(p + 4 * i, i < paragraph_count ? paragraphs[i] : sentences[i - paragraph_count]);
    *out = (mldf_value){.kind = MLDF_KIND_BYTES, .data = scratch->data, .bytes = scratch->size};
    return MLDF_OK;
}
