/* The copying loop. See copy_samples.h. */
#include "tool/copy_samples.h"

#include <stdlib.h>
#include <string.h>

#include "tool/recode.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

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

static bool has_field(const mldf_reader *reader, const char *name) {
    size_t ignored;
    return mldf_schema_find(mldf_reader_schema(reader), name, &ignored, NULL) == MLDF_OK;
}

static mldf_status begin(struct copier *c, const mldf_reader *reader, const mldf_schema *target, bool keys,
                         bool partial, mldf_error *err) {
    memset(c, 0, sizeof *c);
    c->reader = reader;
    c->keys = keys;
    c->count = mldf_schema_field_count(target);
    c->from = mldfi_alloc_zero(c->count + 1, sizeof *c->from, err);
    c->is_json = mldfi_alloc_zero(c->count + 1, sizeof *c->is_json, err);
    c->values = mldfi_alloc_zero(c->count + 1, sizeof *c->values, err);
    c->scratch = mldfi_alloc_zero(c->count + 1, sizeof *c->scratch, err);
    mldf_status status = c->from && c->is_json && c->values && c->scratch ? MLDF_OK : MLDF_E_MEMORY;
    for (size_t i = 0; status == MLDF_OK && i < c->count; i++) {
        const mldf_field *field = mldf_schema_field(target, i);
        c->is_json[i] = field->type_id == MLDF_JSON;
        status = mldfi_match_field(mldf_reader_schema(reader), field, &c->from[i], err);
        if (status < 0 && partial && (field->flags & MLDF_FIELD_NULLABLE) && !has_field(reader, field->name)) {
            c->from[i] = SIZE_MAX;
            status = MLDF_OK;
        }
    }
    if (status < 0)
        mldfi_copier_end(c);
    return status;
}

mldf_status mldfi_copier_begin(struct copier *c, const mldf_reader *reader, const mldf_schema *target, bool keys,
                               mldf_error *err) {
    return begin(c, reader, target, keys, false, err);
}

mldf_status mldfi_copier_begin_partial(struct copier *c, const mldf_reader *reader, const mldf_schema *target,
                                       bool keys, mldf_error *err) {
    mldf_status status = begin(c, reader, target, keys, true, err);
    if (status >= 0 && (status = mldfi_match_no_other(mldf_reader_schema(reader), target, err)) < 0)
        mldfi_copier_end(c);
    return status;
}

void mldfi_copier_end(struct copier *c) {
    for (size_t i = 0; c->scratch && i < c->count; i++)
        mldf_buffer_free(&c->scratch[i]);
    mldf_buffer_free(&c->key_scratch);
    free(c->from);
    free(c->is_json);
    free(c->values);
    free(c->scratch);
    memset(c, 0, sizeof *c);
}

/* Bytes of a payload as they stand in the file, from its record. */
static uint64_t stored_bytes(const mldf_field *field, const mldf_value *value) {
    const uint8_t *record = value->record;
    if (value->kind == MLDF_KIND_NULL || !record)
        return 0;
    if (field->flags & MLDF_FIELD_SIZE64)
        return mldfi_load_u64(record + 8);
    return field->flags & MLDF_FIELD_SIZE32 ? mldfi_load_u32(record + 8) : 0;
}

mldf_status mldfi_copier_load(struct copier *c, uint64_t sample, uint64_t *bytes, mldf_error *err) {
    const mldf_schema *schema = mldf_reader_schema(c->reader);
    mldf_status status = MLDF_OK;
    *bytes = 0;
    for (size_t i = 0; status == MLDF_OK && i < c->count; i++) {
        if (c->from[i] == SIZE_MAX) {
            memset(&c->values[i], 0, sizeof c->values[i]);
            continue;
        }
        const mldf_field *field = mldf_schema_field(schema, c->from[i]);
        status = mldf_reader_get_stored(c->reader, sample, c->from[i], &c->scratch[i], &c->values[i], err);
        if (status < 0)
            return status;
        /* JSON of no bytes is how a 1.0 file says that there is no value. */
        if (c->is_json[i] && c->values[i].bytes == 0)
            c->values[i].kind = MLDF_KIND_NULL;
        *bytes += stored_bytes(field, &c->values[i]) + field->record_bytes;
        if (c->encode)
            status = mldfi_recode_value(c->encode, c->reader, sample, c->from[i], &c->scratch[i], &c->values[i], err);
    }
    c->key = NULL;
    c->key_bytes = 0;
    if (status == MLDF_OK && c->keys)
        status = mldf_reader_key(c->reader, sample, &c->key_scratch, &c->key, &c->key_bytes, err);
    *bytes += c->key_bytes;
    return status;
}

mldf_status mldfi_copier_store(struct copier *c, mldf_error *err) {
    return mldf_writer_append(c->writer, c->values, c->count, c->key, c->key_bytes, err);
}

mldf_status mldfi_copy_samples_as(const mldf_reader *reader, mldf_writer *writer, bool keys,
                                  const struct recoding *recoding, struct input_watch *watch, mldf_error *err) {
    struct copier c;
    uint64_t samples = mldf_reader_sample_count(reader), bytes;
    const mldf_schema *schema = recoding->encode ? recoding->schema : mldf_writer_schema(writer);
    mldf_status status = mldfi_copier_begin(&c, reader, schema, keys, err);
    if (status < 0)
        return status;
    c.writer = writer;
    c.encode = recoding->encode;
    status = mldfi_match_no_other(mldf_reader_schema(reader), schema, err);
    for (uint64_t i = 0; status == MLDF_OK && i < samples; i++) {
        status = mldfi_copier_load(&c, i, &bytes, err);
        if (status == MLDF_OK)
            status = mldfi_copier_store(&c, err);
        watch->now.bytes_done += bytes;
        watch->now.samples_done++;
        if (status == MLDF_OK && i % 64 == 0)
            status = mldfi_watch(watch, false, err);
    }
    mldfi_copier_end(&c);
    return status;
}

mldf_status mldfi_copy_samples(const mldf_reader *reader, mldf_writer *writer, bool keys, struct input_watch *watch,
                               mldf_error *err) {
    return mldfi_copy_samples_as(reader, writer, keys, &(struct recoding){NULL, NULL}, watch, err);
}
