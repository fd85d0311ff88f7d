/* The input is a token field's type, a record and a payload: decoded, checked to the last id, its documents walked; a value that passes the deep check
 * is handed to the writer's encoder in the bytes form, and must come back as it was. */
#include <stdlib.h>
#include <string.h>

#include "field/along.h"
#include "field/tokens.h"
#include "util/bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int good) {
    if (!good)
        abort();
}

static void walk(const mldf_field *field, const mldf_value *value) {
    mldf_tokens tokens;
    mldf_error err;
    uint64_t begin, end;
    require(mldf_tokens_of(field, value, &tokens, &err) == MLDF_OK);
    for (uint64_t i = 0; i < tokens.documents && i < 1 << 16; i++)
        if (mldf_tokens_document(&tokens, i, &begin, &end, &err) == MLDF_OK)
            require(begin <= end && end <= tokens.count);
    for (int level = MLDF_LEVEL_PARAGRAPH; level <= MLDF_LEVEL_SENTENCE; level++) {
        bool levels = field->type_id == MLDF_TEXT_HIERARCHICAL;
        mldf_status status = mldf_tokens_level(field, value, (mldf_token_level)level, &tokens, &err);
        require(levels ? status == MLDF_OK || status == MLDF_E_CORRUPT : status == MLDF_E_TYPE);
        for (uint64_t i = 0; status == MLDF_OK && i < tokens.documents && i < 1 << 16; i++)
            if (mldf_tokens_document(&tokens, i, &begin, &end, &err) == MLDF_OK)
                require(begin < end && end <= tokens.count);
    }
}

/* The levels as a pipeline reads them. A value that passes the deep check has them. */
static void parts(const struct schema_field *field, const uint8_t *record, const uint8_t *payload, uint64_t bytes,
                  bool good) {
    struct field_part part;
    mldf_error err;
    for (size_t i = 0; field->type->part && field->type->part(field, i, &part, &err) == MLDF_OK; i++) {
        mldf_buffer out = MLDF_BUFFER_INIT;
        uint64_t offset, table = field->type->part_table(field, &part, record, &offset);
        mldf_status status = MLDF_E_CORRUPT;
        if (mldfi_range_inside(offset, table, bytes))
            status = field->type->part_column(field, &part, record, bytes, payload + offset, &out, &err);
        require(!good || (status == MLDF_OK && out.size == 2 * table));
        mldf_buffer_free(&out);
    }
}

/* A value that is good in every respect is written as it was. */
static void again(const struct schema_field *field, const uint8_t *record, const uint8_t *payload, uint64_t bytes) {
    struct tokens_record r;
    mldf_buffer form = MLDF_BUFFER_INIT, scratch = MLDF_BUFFER_INIT;
    mldf_value value = {.kind = MLDF_KIND_ARRAY, .data = payload, .ndim = 1};
    uint8_t second[32] = {0};
    const void *out;
    uint64_t out_bytes;
    mldf_error err;
    require(mldfi_tokens_record(field->state, record, bytes, &r));
    if (field->info.type_id == MLDF_TEXT_TOKENIZED) {
        value.dtype = r.dtype;
        value.dims[0] = r.count;
        value.bytes = bytes;
    } else {
        uint8_t head[TOKENS_HEAD] = {0};
        mldfi_store_u64(head, r.count);
        mldfi_store_u64(head + 8,
                        field->info.type_id == MLDF_TEXT_HIERARCHICAL ? r.documents | r.sentences << 32 : r.documents);
        mldfi_store_u32(head + 16, (uint32_t)r.dtype);
        if (mldf_buffer_append(&form, head, sizeof head, &err) < 0 ||
            mldf_buffer_append(&form, payload, (size_t)bytes, &err) < 0)
            abort();
        value = (mldf_value){.kind = MLDF_KIND_BYTES, .data = form.data, .bytes = form.size};
    }
    require(field->type->type.encode(NULL, field->state, &value, second, &scratch, &out, &out_bytes, &err) == MLDF_OK);
    require(out_bytes == bytes && (r.count == 0 || memcmp(out, payload, (size_t)(r.count * r.width)) == 0));
    require(memcmp(second + 12, record + 12, field->info.record_bytes - 12) == 0 ||
            field->info.type_id != MLDF_TEXT_TOKENIZED);
    mldf_buffer_free(&form);
    mldf_buffer_free(&scratch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const uint16_t types[] = {MLDF_TEXT_TOKENIZED, MLDF_TEXT_PACKED, MLDF_TOKEN_STREAM, MLDF_TEXT_HIERARCHICAL};
    static const char *const arguments[] = {"{\"vocabulary\":200}", "{\"dtype\":\"<u2\"}", "{\"dtype\":\"<i4\"}",
                                            "{\"vocabulary\":1000,\"dtype\":\"<i4\"}"};
    mldf_schema *schema;
    mldf_error err;
    mldf_value value;
    if (size < 34 || size > 1 << 16 || mldf_schema_new(NULL, &schema, &err) < 0)
        return 0;
    require(mldf_schema_add(schema, "t", types[data[0] % 4], arguments[data[1] % 4], 0, &err) == MLDF_OK);
    const struct schema_field *field = &schema->fields[0];
    const uint8_t *record = data + 2, *payload = data + 34;
    uint64_t bytes = size - 34;
    if (mldfi_field_decode(field, record, 0, bytes ? payload : NULL, bytes, 0, NULL, &value, &err) == MLDF_OK) {
        walk(&field->info, &value);
        struct media_kit kit = {0};
        bool good = mldfi_field_check_deep(field, &kit, record, 0, bytes ? payload : NULL, bytes, 0, &err) == MLDF_OK;
        if (good)
            again(field, record, payload, bytes);
        parts(field, record, payload, bytes, good);
        mldfi_kit_free(&kit);
    }
    mldf_schema_free(schema);
    return 0;
}
