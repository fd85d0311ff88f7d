/* The input is a choice (1 byte), then a record of optical flow and its payload, or the bytes of a .flo file. What decodes and passes the deep check is
 * written again, and must keep its shape. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "field/field.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int good) {
    if (!good)
        abort();
}

/* Encodes, decodes, and says whether there was a value. */
static bool again(const struct schema_field *field, const mldf_value *value) {
    uint8_t record[32] = {0};
    mldf_buffer scratch = MLDF_BUFFER_INIT, made = MLDF_BUFFER_INIT;
    const struct type_core *type = &field->type->type;
    const void *payload;
    uint64_t bytes;
    mldf_value out;
    mldf_error err;
    bool good = type->encode(NULL, field->state, value, record, &scratch, &payload, &bytes, &err) == MLDF_OK;
    if (good) {
        require(mldfi_field_decode(field, record, 0, payload, bytes, 0, &made, &out, &err) == MLDF_OK);
        require(field->type->check_deep(field->state, record, payload, bytes, &err) == MLDF_OK);
        if (value->kind == MLDF_KIND_ARRAY)
            require(out.bytes == value->bytes && memcmp(out.dims, value->dims, 4 * sizeof *out.dims) == 0);
        for (uint64_t i = 0; i < out.bytes / 4; i++)
            require(!isinf(((const float *)out.data)[i]));
    }
    mldf_buffer_free(&scratch);
    mldf_buffer_free(&made);
    return good;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    enum { RECORD = 32, HEAD = 1 + RECORD };
    mldf_schema *schema;
    mldf_error err;
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    if (size < 1 || size > 1 << 16 || mldf_schema_new(NULL, &schema, &err) < 0)
        return 0;
    require(mldf_schema_add(schema, "x", MLDF_VIDEO_OPTICAL_FLOW, data[0] & 1 ? "{\"dtype\":\"|i1\"}" : NULL, 0,
                            &err) == MLDF_OK);
    const struct schema_field *field = &schema->fields[0];
    mldf_value value = {.kind = MLDF_KIND_BYTES, .data = data + 1, .bytes = size - 1};
    if (data[0] & 2) {
        (void)again(field, &value);
    } else if (size >= HEAD) {
        const void *payload = size > HEAD ? data + HEAD : NULL;
        if (mldfi_field_decode(field, data + 1, 0, payload, size - HEAD, 0, &scratch, &value, &err) == MLDF_OK &&
            field->type->check_deep(field->state, data + 1, payload, size - HEAD, &err) == MLDF_OK)
            require(again(field, &value));
    }
    mldf_buffer_free(&scratch);
    mldf_schema_free(schema);
    return 0;
}
