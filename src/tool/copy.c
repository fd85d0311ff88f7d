/* The copying loop. See copy.h. */
#include "tool/copy.h"

#include <stdlib.h>
#include <string.h>

#include "util/buffer.h"
#include "util/error.h"

struct copy {
    const mldf_reader *reader;
    mldf_writer *writer;
    size_t count;
    size_t *from; /* the reader's field for each of the writer's */
    bool *is_json;
    mldf_value *values;
    mldf_buffer *scratch; /* one for each field */
    mldf_buffer key_scratch;
};

static mldf_status match_field(const mldf_schema *source, const mldf_field *wanted, size_t *out, mldf_error *err) {
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
    if (have->record_bytes != wanted->record_bytes)
        return mldfi_fail(err, MLDF_E_SCHEMA, "field '%s' has records of %u bytes, not %u", wanted->name,
                          have->record_bytes, wanted->record_bytes);
    return MLDF_OK;
}

static mldf_status match_fields(struct copy *c, mldf_error *err) {
    const mldf_schema *source = mldf_reader_schema(c->reader), *target = mldf_writer_schema(c->writer);
    mldf_status status = MLDF_OK;
    for (size_t i = 0; status == MLDF_OK && i < c->count; i++) {
        c->is_json[i] = mldf_schema_field(target, i)->type_id == MLDF_JSON;
        status = match_field(source, mldf_schema_field(target, i), &c->from[i], err);
    }
    if (status < 0)
        return status;
    /* Names are unique on both sides, so equal counts mean equal sets. */
    for (size_t i = 0; i < mldf_schema_field_count(source); i++) {
        size_t ignored;
        const char *name = mldf_schema_field(source, i)->name;
        if (mldf_schema_find(target, name, &ignored, NULL) < 0)
            return mldfi_fail(err, MLDF_E_SCHEMA, "field '%s' is not one of the target's", name);
    }
    return MLDF_OK;
}

static mldf_status copy_one(struct copy *c, uint64_t sample, bool keys, uint64_t *bytes, mldf_error *err) {
    const char *key = NULL;
    size_t key_bytes = 0;
    mldf_status status = MLDF_OK;
    for (size_t i = 0; status == MLDF_OK && i < c->count; i++) {
        status = mldf_reader_get_stored(c->reader, sample, c->from[i], &c->scratch[i], &c->values[i], err);
        /* JSON of no bytes is how a 1.0 file says that there is no value. */
        if (status == MLDF_OK && c->is_json[i] && c->values[i].bytes == 0)
            c->values[i].kind = MLDF_KIND_NULL;
        *bytes += c->values[i].bytes + c->values[i].record_bytes;
    }
    if (status == MLDF_OK && keys)
        status = mldf_reader_key(c->reader, sample, &c->key_scratch, &key, &key_bytes, err);
    if (status == MLDF_OK)
        status = mldf_writer_append(c->writer, c->values, c->count, key, key_bytes, err);
    return status;
}

static void free_copy(struct copy *c) {
    for (size_t i = 0; c->scratch && i < c->count; i++)
        mldf_buffer_free(&c->scratch[i]);
    mldf_buffer_free(&c->key_scratch);
    free(c->from);
    free(c->is_json);
    free(c->values);
    free(c->scratch);
}

mldf_status mldfi_copy_samples(const mldf_reader *reader, mldf_writer *writer, bool keys, struct input_watch *watch,
                               mldf_error *err) {
    struct copy c;
    memset(&c, 0, sizeof c);
    c.reader = reader;
    c.writer = writer;
    c.count = mldf_schema_field_count(mldf_writer_schema(writer));
    uint64_t samples = mldf_reader_sample_count(reader);
    mldf_status status = MLDF_OK;
    c.from = mldfi_alloc_zero(c.count + 1, sizeof *c.from, err);
    c.is_json = mldfi_alloc_zero(c.count + 1, sizeof *c.is_json, err);
    c.values = mldfi_alloc_zero(c.count + 1, sizeof *c.values, err);
    c.scratch = mldfi_alloc_zero(c.count + 1, sizeof *c.scratch, err);
    if (!c.from || !c.is_json || !c.values || !c.scratch)
        status = MLDF_E_MEMORY;
    if (status == MLDF_OK)
        status = match_fields(&c, err);
    for (uint64_t i = 0; status == MLDF_OK && i < samples; i++) {
        status = copy_one(&c, i, keys, &watch->now.bytes_done, err);
        watch->now.samples_done++;
        if (status == MLDF_OK && i % 64 == 0)
            status = mldfi_watch(watch, false, err);
    }
    free_copy(&c);
    return status;
}
