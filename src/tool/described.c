/* See described.h. */
#include "tool/described.h"

#include "field/field.h"

bool mldfi_is_self_describing(const mldf_schema *schema, size_t field) {
    const struct schema_field *f = field < schema->field_count ? &schema->fields[field] : NULL;
    return f && f->type && (f->type->self_describing || f->type->describes_records) && f->type->value_json;
}

mldf_status mldfi_describe(struct described *d, const mldf_schema *schema, size_t field, const mldf_value *value,
                           bool hash, mldf_error *err) {
    mldf_value shown = *value;
    if (!hash && mldfi_is_self_describing(schema, field))
        shown.bytes = 0;
    d->text.size = 0;
    mldf_status status = mldf_value_describe(schema, field, &shown, false, &d->text, err);
    return status == MLDF_OK ? mldfi_json_parse(&d->json, (const char *)d->text.data, d->text.size, err) : status;
}

void mldfi_described_free(struct described *d) {
    mldf_buffer_free(&d->text);
    mldfi_json_free(&d->json);
}
