/* Side columns: see along.h. Their arguments are read in ndarray.c, which checks each value by itself; here are the checks that need the tokens. */
#include "field/along.h"

#include <inttypes.h>
#include <string.h>

#include "field/tokens.h"
#include "util/bytes.h"
#include "util/error.h"
#include "util/json.h"

enum { RECORD_DIMS = 16 };

const char *mldfi_along_name(const struct schema_field *field) {
    return field->type && field->type->along ? field->type->along(field->state, NULL) : NULL;
}

static bool is_spans(const struct schema_field *field) {
    bool spans = false;
    (void)field->type->along(field->state, &spans);
    return spans;
}

bool mldfi_is_segments(const struct schema_field *field) {
    const mldf_field *info = &field->info;
    return field->type && info->type_id == MLDF_NDARRAY && info->dtype == MLDF_I64 && info->ndim == 2 &&
           info->dims[0] < 0 && info->dims[1] == 2;
}

bool mldfi_is_along_target(const struct schema_field *field) {
    return field->type && (mldfi_is_tokens(field->info.type_id) || mldfi_is_segments(field));
}

uint64_t mldfi_along_count(const struct schema_field *field, const uint8_t *record) {
    struct field_steps steps = {0, 0};
    if (!mldfi_is_segments(field))
        return mldfi_tokens_count(field, record);
    return field->type->steps(field, record, &steps) ? steps.steps : 0;
}

mldf_status mldfi_along_check_schema(const mldf_schema *schema, mldf_error *err) {
    for (size_t f = 0; f < schema->field_count; f++) {
        const char *name = mldfi_along_name(&schema->fields[f]);
        if (!name)
            continue;
        size_t at = mldfi_schema_lookup(schema, name);
        const char *why = at == SIZE_MAX ? "is not there" : NULL;
        if (!why && !mldfi_is_along_target(&schema->fields[at]))
            why = "does not hold tokens, nor segments (int64 of shape [null,2])";
        if (!why && mldfi_is_segments(&schema->fields[at]) && is_spans(&schema->fields[f]))
            why = "holds segments: only tokens have spans";
        if (!why && !mldfi_is_segments(&schema->fields[at]) && schema->fields[f].info.type_id == MLDF_JSON)
            why = "holds tokens: JSON goes along segments";
        if (!why)
            continue;
        mldf_status status = mldfi_fail(err, MLDF_E_SCHEMA, "field \"%s\" goes along \"%s\", which %s",
                                        schema->fields[f].name, name, why);
        mldfi_error_place(err, MLDF_NONE, schema->fields[f].name);
        return status;
    }
    return MLDF_OK;
}

uint64_t mldfi_tokens_count(const struct schema_field *field, const uint8_t *record) {
    uint64_t ptr, bytes;
    struct tokens_record r;
    mldfi_record_payload(field, record, &ptr, &bytes);
    return mldfi_tokens_record(field->state, record, bytes, &r) ? r.count : 0;
}

static uint64_t number_at(mldf_dtype dtype, const uint8_t *data, uint64_t index) {
    int64_t value = mldfi_id_at(dtype, data, index);
    return value < 0 ? UINT64_MAX : (uint64_t)value;
}

static mldf_status check_spans(mldf_dtype dtype, const uint8_t *data, uint64_t count, uint64_t tokens,
                               mldf_error *err) {
    uint64_t before = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t begin = number_at(dtype, data, 2 * i), end = number_at(dtype, data, 2 * i + 1);
        if (begin < before || end < begin || end > tokens)
            return mldfi_fail_at(err, MLDF_E_CORRUPT, MLDF_NONE,
                                 "span %" PRIu64 " is tokens %" PRIu64 " to %" PRIu64
                                 ", the one before ends at %" PRIu64 ", and there are %" PRIu64 " tokens",
                                 i, begin, end, before, tokens);
        before = end;
    }
    return MLDF_OK;
}

/* JSON: an array with an element for each segment. */
static mldf_status check_list(const char *name, const void *data, uint64_t bytes, uint64_t count, mldf_error *err) {
    struct json json = {0};
    mldf_status status = mldfi_json_parse(&json, data, (size_t)bytes, err);
    if (status >= 0 && json.nodes[0].kind != MLDFI_JSON_ARRAY)
        status = mldfi_fail_at(err, MLDF_E_CORRUPT, MLDF_NONE, "not an array, with an element for each entry of \"%s\"",
                               name);
    else if (status >= 0 && json.nodes[0].count != count)
        status =
            mldfi_fail_at(err, MLDF_E_CORRUPT, MLDF_NONE, "%" PRIu32 " elements for the %" PRIu64 " entries of \"%s\"",
                          json.nodes[0].count, count, name);
    mldfi_json_free(&json);
    return status;
}

mldf_status mldfi_along_check(const struct schema_field *field, const uint8_t *record, const void *data, uint64_t bytes,
                              uint64_t count, mldf_error *err) {
    bool spans = false;
    const char *name = field->type->along(field->state, &spans);
    if (field->info.type_id == MLDF_JSON)
        return check_list(name, data, bytes, count, err);
    uint64_t rows = mldfi_load_u32(record + RECORD_DIMS);
    if (spans) {
        uint64_t item = 2 * mldf_dtype_bytes(field->info.dtype);
        return check_spans(field->info.dtype, data, bytes / item < rows ? bytes / item : rows, count, err);
    }
    if (rows == count)
        return MLDF_OK;
    return mldfi_fail_at(err, MLDF_E_CORRUPT, RECORD_DIMS, "%" PRIu64 " entries for the %" PRIu64 " of \"%s\"", rows,
                         count, name);
}
