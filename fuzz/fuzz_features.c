/* The input is the type and arguments of a field of stored features, a record and a payload: decoded and checked to the last id. A value that passes the
 * deep check is handed to the writer's encoder, and must come back as it was. */
#include <stdlib.h>
#include <string.h>

#include "field/field.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int good) {
    if (!good)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    enum { RECORD = 24, HEAD = 1 + RECORD };
    static const struct {
        uint16_t type;
        const char *arguments;
    } kinds[] = {{MLDF_AUDIO_SPECTROGRAM, "{\"dtype\":\"<f2\"}"},
                 {MLDF_AUDIO_SPECTROGRAM, "{\"bins\":3,\"dtype\":\"<f4\",\"layout\":\"ft\"}"},
                 {MLDF_AUDIO_CODEC_TOKENS, "{\"vocabulary\":200}"},
                 {MLDF_AUDIO_CODEC_TOKENS, "{\"codebooks\":2,\"rate\":[75,1],\"vocabulary\":1024}"},
                 {MLDF_AUDIO_CODEC_TOKENS, "{\"vocabulary\":2147483648}"}};
    mldf_schema *schema;
    mldf_error err;
    mldf_value value;
    struct media_kit kit = {0};
    if (size < HEAD || size > 1 << 16 || mldf_schema_new(NULL, &schema, &err) < 0)
        return 0;
    size_t kind = data[0] % (sizeof kinds / sizeof kinds[0]);
    require(mldf_schema_add(schema, "x", kinds[kind].type, kinds[kind].arguments, 0, &err) == MLDF_OK);
    const struct schema_field *field = &schema->fields[0];
    const uint8_t *record = data + 1, *payload = size > HEAD ? data + HEAD : NULL;
    uint64_t bytes = size - HEAD;
    if (mldfi_field_decode(field, record, 0, payload, bytes, 0, NULL, &value, &err) == MLDF_OK) {
        require(value.kind == MLDF_KIND_ARRAY && value.ndim == 2 &&
                value.dims[0] * value.dims[1] * mldf_dtype_bytes(value.dtype) == bytes);
        if (mldfi_field_check_deep(field, &kit, record, 0, payload, bytes, 0, &err) == MLDF_OK) {
            mldf_buffer scratch = MLDF_BUFFER_INIT;
            uint8_t second[RECORD] = {0};
            const void *out;
            uint64_t out_bytes;
            require(field->type->type.encode(NULL, field->state, &value, second, &scratch, &out, &out_bytes, &err) ==
                    MLDF_OK);
            require(out_bytes == bytes && memcmp(second + 16, record + 16, RECORD - 16) == 0);
            mldf_buffer_free(&scratch);
        }
    }
    mldfi_kit_free(&kit);
    mldf_schema_free(schema);
    return 0;
}
