/* The input is a choice (1 byte; bit 1: with videos as packets among the kinds), then a record of a multimodal sample and its payload, or a list of parts as a writer gets it. Every part of what decodes is
 * read; what passes the deep check is written again part by part, and must say the same of itself. */
#include <stdlib.h>
#include <string.h>

#include "field/field.h"
#include "mldf/multimodal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { RECORD = 56, HEAD = 1 + RECORD, PARTS_MOST = 64 };
static const char arguments[] =
    "{\"parts\":[{\"role\":\"text\",\"type\":\"text\"},{\"role\":\"image\",\"type\":\"image\"},"
    "{\"role\":\"ids\",\"type\":\"text_tokenized\",\"arguments\":{\"vocabulary\":1000}},"
    "{\"role\":\"boxes\",\"type\":\"ndarray\",\"arguments\":{\"dtype\":\"<f4\",\"shape\":[null,4]}},"
    "{\"role\":\"n\",\"type\":\"int\"},{\"role\":\"meta\",\"type\":\"json\"},"
    "{\"role\":\"sound\",\"type\":\"audio_waveform\"},{\"role\":\"clip\",\"type\":\"video_frames\"}]}";

/* A record that needs wider entries. */
static const char wide[] = "{\"parts\":[{\"role\":\"clip\",\"type\":\"video_compressed\"},"
                           "{\"role\":\"text\",\"type\":\"text\"}]}";

static void require(int good) {
    if (!good)
        abort();
}

static mldf_status encode(const struct schema_field *field, const mldf_value *list, uint8_t *record, mldf_buffer *out,
                          const void **payload, uint64_t *bytes) {
    mldf_error err;
    memset(record, 0, RECORD);
    return field->type->type.encode(NULL, field->state, list, record, out, payload, bytes, &err);
}

/* As stored parts, and back. */
static void again(const mldf_schema *schema, const mldf_value *value) {
    mldf_sample_part parts[PARTS_MOST];
    mldf_buffer scratch[PARTS_MOST], list = MLDF_BUFFER_INIT, out = MLDF_BUFFER_INIT;
    mldf_parts_info before, after;
    uint8_t record[RECORD];
    mldf_error err;
    require(mldf_parts_info_of(schema, 0, value, &before, &err) == MLDF_OK);
    if (before.parts > PARTS_MOST)
        return;
    memset(scratch, 0, sizeof scratch);
    for (uint32_t i = 0; i < before.parts; i++) {
        require(mldf_parts_get(schema, 0, value, i, &scratch[i], &parts[i], NULL, &err) == MLDF_OK);
        if (parts[i].value.kind == MLDF_KIND_NULL)
            continue;
        const uint8_t *at = parts[i].value.record;
        mldf_value stored = {.kind = MLDF_KIND_STORED, .record = at, .record_bytes = parts[i].value.record_bytes};
        const mldf_schema *kinds;
        size_t kind;
        require(mldf_parts_schema(schema, 0, &kinds, &err) == MLDF_OK);
        require(mldf_schema_find(kinds, parts[i].role, &kind, &err) == MLDF_OK);
        if (mldfi_field_has_payload(&kinds->fields[kind])) {
            uint64_t ptr;
            mldfi_record_payload(&kinds->fields[kind], at, &ptr, &stored.bytes);
            stored.data = (const uint8_t *)value->data + ptr;
        }
        parts[i].value = stored;
    }
    require(mldf_parts_list(schema, 0, parts, before.parts, &list, &err) == MLDF_OK);
    mldf_value given = {.kind = MLDF_KIND_BYTES, .data = list.data, .bytes = list.size};
    const void *payload;
    uint64_t bytes;
    require(encode(&schema->fields[0], &given, record, &out, &payload, &bytes) == MLDF_OK);
    mldf_value made = {
        .kind = MLDF_KIND_BYTES, .data = payload, .bytes = bytes, .record = record, .record_bytes = RECORD};
    require(mldf_parts_info_of(schema, 0, &made, &after, &err) == MLDF_OK);
    require(memcmp(&before, &after, sizeof before) == 0);
    require(schema->fields[0].type->check_deep(schema->fields[0].state, record, payload, bytes, &err) == MLDF_OK);
    for (uint32_t i = 0; i < before.parts; i++)
        mldf_buffer_free(&scratch[i]);
    mldf_buffer_free(&list);
    mldf_buffer_free(&out);
}

static void read_parts(const mldf_schema *schema, const mldf_value *value) {
    mldf_buffer scratch = MLDF_BUFFER_INIT, text = MLDF_BUFFER_INIT;
    mldf_error err;
    uint64_t count;
    if (mldf_parts_count(schema, 0, value, &count, &err) == MLDF_OK)
        for (uint64_t i = 0; i < count; i++) {
            mldf_sample_part part;
            require(mldf_parts_get(schema, 0, value, i, &scratch, &part, NULL, &err) <= MLDF_OK);
        }
    require(mldf_value_describe(schema, 0, value, false, &text, &err) <= MLDF_OK);
    mldf_buffer_free(&scratch);
    mldf_buffer_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    mldf_schema *schema;
    mldf_error err;
    mldf_value value = {.kind = MLDF_KIND_BYTES, .data = data + 1, .bytes = size - 1};
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    if (size < 1 || size > 1 << 16 || mldf_schema_new(NULL, &schema, &err) < 0)
        return 0;
    require(mldf_schema_add(schema, "x", MLDF_MULTIMODAL, data[0] & 2 ? wide : arguments, 0, &err) == MLDF_OK);
    const struct schema_field *field = &schema->fields[0];
    if (data[0] & 1) {
        uint8_t record[RECORD];
        const void *payload;
        uint64_t bytes;
        if (encode(field, &value, record, &scratch, &payload, &bytes) == MLDF_OK) {
            mldf_value made = {
                .kind = MLDF_KIND_BYTES, .data = payload, .bytes = bytes, .record = record, .record_bytes = RECORD};
            read_parts(schema, &made);
        }
    } else if (size >= HEAD) {
        const void *payload = size > HEAD ? data + HEAD : NULL;
        if (mldfi_field_decode(field, data + 1, 0, payload, size - HEAD, 0, &scratch, &value, &err) == MLDF_OK) {
            read_parts(schema, &value);
            if (field->type->check_deep(field->state, data + 1, payload, size - HEAD, &err) == MLDF_OK)
                again(schema, &value);
        }
    }
    mldf_buffer_free(&scratch);
    mldf_schema_free(schema);
    return 0;
}
