/* Fields matched by name, and the values of one sample. See copy_sample.h. */
#include "tool/copy_sample.h"

#include <stdlib.h>
#include <string.h>

#include "tool/recode.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

enum { SCRATCH_KEEP = 4 << 20 }; /* a larger buffer goes back after use */

/* ---- Fields ---------------------------------------------------------------------------------------------------------- */

mldf_status mldfi_match_field(const mldf_schema *source, const mldf_field *wanted, size_t *out, mldf_error *err) {
    mldf_status status = mldf_schema_find(source, wanted->name, out, NULL);
    if (status < 0)
        return mldfi_fail(err, MLDF_E_SCHEMA, "there is no field '%s'", wanted->name);
    const mldf_field *have = mldf_schema_field(source, *out);
    if (have->type_id != wanted->type_id)
        return mldfi_fail(err, MLDF_E_SCHEMA, "field '%s' is %s, not %s", wanted->name, have->type_name,
                          wanted->type_name);
    /* A private type of a 1.0 file has no name. */
    bool unnamed = have->type_id >= MLDF_PRIVATE && strcmp(have->arguments, "{}") == 0;
    if (strcmp(have->arguments, wanted->arguments) != 0 && !unnamed)
        return mldfi_fail(err, MLDF_E_SCHEMA, "field '%s' has the arguments %.150s, not %.150s", wanted->name,
                          have->arguments, wanted->arguments);
    /* Known integers are copied as numbers, from the short records of a 1.0 file, too. */
    if (have->record_bytes != wanted->record_bytes && !(have->known && have->type_id == MLDF_INT))
        return mldfi_fail(err, MLDF_E_SCHEMA, "field '%s' has records of %u bytes, not %u", wanted->name,
                          have->record_bytes, wanted->record_bytes);
    return MLDF_OK;
}

mldf_status mldfi_match_no_other(const mldf_schema *source, const mldf_schema *target, mldf_error *err) {
    size_t ignored;
    for (size_t i = 0; i < mldf_schema_field_count(source); i++) {
        const char *name = mldf_schema_field(source, i)->name;
        if (mldf_schema_find(target, name, &ignored, NULL) < 0)
            return mldfi_fail(err, MLDF_E_SCHEMA, "field '%s' is not one of the target's", name);
    }
    return MLDF_OK;
}

mldf_status mldfi_fields_begin(struct copy_fields *f, const mldf_schema *schema, mldf_error *err) {
    f->schema = schema;
    f->count = mldf_schema_field_count(schema);
    f->list = mldfi_alloc_zero(f->count + 1, sizeof *f->list, err);
    return f->list ? MLDF_OK : MLDF_E_MEMORY;
}

void mldfi_fields_set(struct copy_fields *f, size_t field, const mldf_schema *source, size_t from) {
    const mldf_field *wanted = mldf_schema_field(f->schema, field);
    f->list[field] = (struct copy_field){.from = from,
                                         .have = from == SIZE_MAX ? NULL : mldf_schema_field(source, from),
                                         .stored = f->stored || !wanted->known,
                                         .is_json = wanted->type_id == MLDF_JSON};
}

static bool has_field(const mldf_schema *schema, const char *name) {
    size_t ignored;
    return mldf_schema_find(schema, name, &ignored, NULL) == MLDF_OK;
}

static mldf_status match(struct copy_fields *f, const mldf_schema *source, bool partial, mldf_error *err) {
    mldf_status status = MLDF_OK;
    for (size_t i = 0; status == MLDF_OK && i < f->count; i++) {
        const mldf_field *field = mldf_schema_field(f->schema, i);
        size_t from;
        status = mldfi_match_field(source, field, &from, err);
        if (status < 0 && partial && (field->flags & MLDF_FIELD_NULLABLE) && !has_field(source, field->name)) {
            from = SIZE_MAX;
            status = MLDF_OK;
        }
        if (status == MLDF_OK)
            mldfi_fields_set(f, i, source, from);
    }
    return status;
}

mldf_status mldfi_fields_match(struct copy_fields *f, const mldf_schema *source, mldf_error *err) {
    return match(f, source, false, err);
}

mldf_status mldfi_fields_match_partial(struct copy_fields *f, const mldf_schema *source, mldf_error *err) {
    mldf_status status = match(f, source, true, err);
    return status < 0 ? status : mldfi_match_no_other(source, f->schema, err);
}

void mldfi_fields_end(struct copy_fields *f) {
    free(f->list);
    f->list = NULL;
}

/* ---- One sample -------------------------------------------------------------------------------------------------------- */

mldf_status mldfi_sample_begin(struct copy_sample *s, size_t fields, mldf_error *err) {
    memset(s, 0, sizeof *s);
    s->values = mldfi_alloc_zero(fields + 1, sizeof *s->values, err);
    s->scratch = mldfi_alloc_zero(fields + 1, sizeof *s->scratch, err);
    return s->values && s->scratch ? MLDF_OK : MLDF_E_MEMORY;
}

void mldfi_sample_end(struct copy_sample *s, size_t fields) {
    for (size_t i = 0; s->scratch && i < fields; i++)
        mldf_buffer_free(&s->scratch[i]);
    mldf_buffer_free(&s->key_scratch);
    free(s->values);
    free(s->scratch);
    memset(s, 0, sizeof *s);
}

void mldfi_sample_trim(struct copy_sample *s, size_t fields) {
    if (s->bytes + s->memory < SCRATCH_KEEP / 4) /* buffers grow to twice what is in them */
        return;
    for (size_t i = 0; s->scratch && i < fields; i++)
        if (s->scratch[i].capacity > SCRATCH_KEEP)
            mldf_buffer_free(&s->scratch[i]);
}

/* Bytes of a payload as they are in the file, from its record; of a value that was decoded its own. */
static uint64_t payload_bytes(const mldf_field *field, const mldf_value *value) {
    const uint8_t *record = value->record;
    if (value->kind == MLDF_KIND_NULL)
        return 0;
    if (!record)
        return value->bytes;
    if (field->flags & MLDF_FIELD_SIZE64)
        return mldfi_load_u64(record + 8);
    return field->flags & MLDF_FIELD_SIZE32 ? mldfi_load_u32(record + 8) : 0;
}

static mldf_status load_value(struct copy_sample *s, const struct copy_fields *f, const mldf_reader *reader,
                              uint64_t number, size_t i, mldf_error *err) {
    const struct copy_field *field = &f->list[i];
    mldf_value *value = &s->values[i];
    if (field->from == SIZE_MAX) {
        memset(value, 0, sizeof *value);
        return MLDF_OK;
    }
    mldf_status status = field->stored ? mldf_reader_get_stored(reader, number, field->from, &s->scratch[i], value, err)
                                       : mldf_reader_get(reader, number, field->from, &s->scratch[i], value, err);
    if (status < 0)
        return status;
    /* JSON of no bytes is how a 1.0 file says that there is no value. */
    if (field->stored && field->is_json && value->bytes == 0)
        value->kind = MLDF_KIND_NULL;
    s->bytes += payload_bytes(field->have, value) + field->have->record_bytes;
    if (field->stored && f->encode)
        status = mldfi_recode_value(f->encode, reader, number, field->from, &s->scratch[i], value, err);
    s->memory += value->bytes;
    return status;
}

mldf_status mldfi_sample_load(struct copy_sample *s, const struct copy_fields *f, const mldf_reader *reader,
                              uint64_t number, mldf_error *err) {
    mldf_status status = MLDF_OK;
    s->key = NULL;
    s->key_bytes = 0;
    s->bytes = s->memory = 0;
    if (f->keys)
        status = mldf_reader_key(reader, number, &s->key_scratch, &s->key, &s->key_bytes, err);
    for (size_t i = 0; status == MLDF_OK && i < f->count; i++)
        status = load_value(s, f, reader, number, i, err);
    s->bytes += s->key_bytes;
    return status;
}
