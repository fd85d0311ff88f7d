/* What the tests of src/field/ share: a schema of one field, and encoding and decoding one value of it. */
#ifndef MLDF_TESTS_FIELDS_H
#define MLDF_TESTS_FIELDS_H

#include "check.h"
#include "field/field.h"

/* A schema with the one field "f"; NULL and err filled when it is refused. */
CHECK_UNUSED static mldf_schema *one_field(uint16_t type_id, const char *arguments, uint16_t flags, mldf_error *err) {
    mldf_schema *schema;
    if (mldf_schema_new(NULL, &schema, err) < 0)
        return NULL;
    if (mldf_schema_add(schema, "f", type_id, arguments, flags, err) < 0) {
        mldf_schema_free(schema);
        return NULL;
    }
    return schema;
}

/* One value in its encoded form. */
struct encoded {
    uint8_t record[4096];
    const void *payload;
    uint64_t payload_bytes;
};

CHECK_UNUSED static mldf_status encode(const mldf_schema *schema, const mldf_value *value, struct encoded *out,
                                       mldf_error *err) {
    const struct schema_field *field = &schema->fields[0];
    memset(out, 0, sizeof *out);
    return field->type->type.encode(field->type->type.user, field->state, value, out->record, NULL, &out->payload,
                                    &out->payload_bytes, err);
}

enum { RECORD_AT = 10000, PAYLOAD_AT = 20000 };

CHECK_UNUSED static mldf_status decode(const mldf_schema *schema, const struct encoded *in, mldf_value *out,
                                       mldf_error *err) {
    return mldfi_field_decode(&schema->fields[0], in->record, RECORD_AT, in->payload, in->payload_bytes, PAYLOAD_AT,
                              NULL, out, err);
}

CHECK_UNUSED static mldf_status check_deep(const mldf_schema *schema, const struct encoded *in, mldf_error *err) {
    struct media_kit kit = {0};
    mldf_status status = mldfi_field_check_deep(&schema->fields[0], &kit, in->record, RECORD_AT, in->payload,
                                                in->payload_bytes, PAYLOAD_AT, err);
    mldfi_kit_free(&kit);
    return status;
}

CHECK_UNUSED static mldf_value value_of(mldf_kind kind, const void *data, uint64_t bytes) {
    mldf_value v;
    memset(&v, 0, sizeof v);
    v.kind = kind;
    v.data = data;
    v.bytes = bytes;
    return v;
}

#endif
