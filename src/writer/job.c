/* A job: some consecutive samples on their way into the file. The caller copies values in; a worker encodes them. Values without
 * payload are encoded at once, straight into the row, so that their errors come back from the call that made them. Read place.c
 * for what follows. */
#include <stdlib.h>
#include <string.h>

#include "field/along.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"
#include "util/utf8.h"
#include "writer/field_writer.h"
#include "writer/writer.h"

/* What was not sealed in chunks, in a file of an earlier version that is appended to, must be decrypted whole. */
enum { CRYPT_STREAM_MAX = 256 << 20 };

mldf_status mldfi_job_new(mldf_writer *writer, struct job **out, mldf_error *err) {
    const mldf_schema *schema = writer->schema;
    struct job *job = mldfi_alloc_zero(1, sizeof *job, err);
    if (!job)
        return MLDF_E_MEMORY;
    job->payloads = mldfi_alloc_zero(writer->job_samples * schema->payload_count + 1, sizeof *job->payloads, err);
    job->valid = mldfi_alloc_zero(writer->job_samples * schema->nullable_count + 1, 1, err);
    job->key_bytes = mldfi_alloc_zero(writer->job_samples, sizeof *job->key_bytes, err);
    mldf_status status = mldf_buffer_reserve(&job->rows, writer->job_samples * schema->row_bytes, err);
    if (!job->payloads || !job->valid || !job->key_bytes || status < 0) {
        mldfi_job_free(job);
        return MLDF_E_MEMORY;
    }
    *out = job;
    return MLDF_OK;
}

/* A job that carried one huge sample gives its memory back. */
static void shrink(mldf_buffer *buffer) {
    if (buffer->capacity > 8 * JOB_BYTES)
        mldf_buffer_free(buffer);
    buffer->size = 0;
}

void mldfi_job_reset(struct job *job) {
    job->next = NULL;
    job->state = JOB_FILLING;
    job->samples = job->bad_count = job->emit_from = 0;
    shrink(&job->rows);
    shrink(&job->keys);
    shrink(&job->arena);
    shrink(&job->encoded);
}

void mldfi_job_free(struct job *job) {
    if (!job)
        return;
    free(job->payloads);
    free(job->valid);
    free(job->key_bytes);
    free(job->bad);
    mldf_buffer_free(&job->rows);
    mldf_buffer_free(&job->keys);
    mldf_buffer_free(&job->arena);
    mldf_buffer_free(&job->encoded);
    free(job);
}

bool mldfi_job_full(const mldf_writer *writer, const struct job *job) {
    return job->samples == writer->job_samples || job->arena.size + job->keys.size >= JOB_BYTES;
}

mldf_status mldfi_job_add_bad(struct job *job, size_t sample, const mldf_error *why, mldf_error *err) {
    TRY(mldfi_array_reserve(&job->bad, &job->bad_capacity, job->bad_count + 1, sizeof *job->bad, err));
    job->bad[job->bad_count].sample = sample;
    job->bad[job->bad_count++].error = *why;
    return MLDF_OK;
}

/* ---- The caller's side: copying values in ---------------------------------------------------------------------------- */

static mldf_status copy_payload(struct job *job, struct job_payload *to, const mldf_value *value, mldf_error *err) {
    if (value->ndim > MLDF_MAX_DIMS)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "an array of %u dimensions; at most %d are possible", value->ndim,
                          MLDF_MAX_DIMS);
    if (value->bytes > 0 && !value->data)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "a value of %llu bytes without data", (unsigned long long)value->bytes);
    if (value->bytes > SIZE_MAX / 2)
        return mldfi_fail(err, MLDF_E_LIMIT, "a value of %llu bytes", (unsigned long long)value->bytes);
    to->kind = value->kind;
    to->dtype = value->dtype;
    to->number = value->as.u;
    to->ndim = value->kind == MLDF_KIND_ARRAY ? value->ndim : 0;
    uint8_t *where;
    size_t dims_bytes = to->ndim * sizeof(uint64_t);
    size_t pad = (size_t)(-job->arena.size & 63);
    TRY(mldfi_buffer_extend(&job->arena, pad + dims_bytes + (size_t)value->bytes, &where, err));
    to->dims_offset = (size_t)(where - job->arena.data) + pad;
    to->offset = to->dims_offset + dims_bytes;
    to->bytes = value->bytes;
    if (dims_bytes)
        memcpy(job->arena.data + to->dims_offset, value->dims, dims_bytes);
    if (value->bytes)
        memcpy(job->arena.data + to->offset, value->data, (size_t)value->bytes);
    return MLDF_OK;
}

/* A record copied undecoded; its old pointer and size do not come along. */
static mldf_status copy_stored_record(const struct schema_field *field, const mldf_value *value, uint8_t *record,
                                      mldf_error *err) {
    if (value->record_bytes != field->info.record_bytes || !value->record)
        return mldfi_fail(err, MLDF_E_TYPE, "a stored record of %u bytes where the field has %u", value->record_bytes,
                          field->info.record_bytes);
    memcpy(record, value->record, value->record_bytes);
    if (mldfi_field_has_payload(field))
        mldfi_record_set_payload(field, record, 0, 0);
    return MLDF_OK;
}

/* A value that is copied undecoded: its record, and with check_values its payload. */
static mldf_status check_copied(struct worker *worker, const struct schema_field *field, const mldf_value *value,
                                mldf_error *err) {
    mldf_status status = mldfi_field_check_stored(field, value, err);
    if (status >= 0 && worker->writer->options.check_values)
        status = mldfi_field_check_deep(field, &worker->kit, value->record, 0, value->data, value->bytes, 0, err);
    return status;
}

static mldf_status encode_record(mldf_writer *writer, const struct schema_field *field, const mldf_value *value,
                                 uint8_t *record, mldf_error *err) {
    mldf_buffer *scratch = &writer->workers[0].scratch;
    if (value->kind == MLDF_KIND_STORED) {
        mldf_status status = copy_stored_record(field, value, record, err);
        return status < 0 ? status : check_copied(&writer->workers[0], field, value, err);
    }
    if (!field->type)
        return mldfi_fail(err, MLDF_E_TYPE, "type %u is not known here: only stored values can be copied",
                          field->info.type_id);
    const void *payload;
    uint64_t payload_bytes;
    return mldfi_field_encode(field, &writer->workers[0].kit, false, value, record, scratch, &payload, &payload_bytes,
                              err);
}

static mldf_status add_value(mldf_writer *writer, struct job *job, const struct schema_field *field,
                             const mldf_value *value, uint8_t *row, uint8_t *valid, struct job_payload *payloads,
                             mldf_error *err) {
    uint8_t *record = row + field->info.row_offset;
    struct job_payload *payload = mldfi_field_has_payload(field) ? &payloads[field->payload_index] : NULL;
    if (payload)
        *payload = (struct job_payload){.kind = MLDF_KIND_NULL};
    if (field->nullable_index != SIZE_MAX)
        valid[field->nullable_index] = value->kind != MLDF_KIND_NULL;
    if (value->kind == MLDF_KIND_NULL)
        return field->nullable_index != SIZE_MAX
                   ? MLDF_OK
                   : mldfi_fail(err, MLDF_E_NULL, "the value is missing and the field is not nullable");
    if (!payload)
        return encode_record(writer, field, value, record, err);
    if (value->kind == MLDF_KIND_STORED) {
        TRY(copy_stored_record(field, value, record, err));
    } else if (!field->type) {
        return mldfi_fail(err, MLDF_E_TYPE, "type %u is not known here: only stored values can be copied",
                          field->info.type_id);
    }
    return copy_payload(job, payload, value, err);
}

mldf_status mldfi_job_add(mldf_writer *writer, struct job *job, const mldf_value *values, const char *key,
                          size_t key_bytes, mldf_error *err) {
    const mldf_schema *schema = writer->schema;
    size_t arena_size = job->arena.size, keys_size = job->keys.size;
    uint8_t *row;
    mldf_status status = mldfi_buffer_extend(&job->rows, schema->row_bytes, &row, err);
    if (status < 0)
        return status;
    memset(row, 0, schema->row_bytes);
    uint8_t *valid = job->valid + job->samples * schema->nullable_count;
    struct job_payload *payloads = job->payloads + job->samples * schema->payload_count;
    for (size_t f = 0; f < schema->field_count && status >= 0; f++) {
        status = add_value(writer, job, &schema->fields[f], &values[f], row, valid, payloads, err);
        if (status < 0)
            mldfi_error_place(err, MLDF_NONE, schema->fields[f].info.name);
    }
    if (status >= 0 && key && key_bytes > FORMAT_MAX_KEY)
        status = mldfi_fail(err, MLDF_E_KEY, "a key of %zu bytes; keys have 1 to %d", key_bytes, FORMAT_MAX_KEY);
    else if (status >= 0 && key && key_bytes == 0)
        status = mldfi_fail(err, MLDF_E_KEY, "an empty key");
    else if (status >= 0 && key && (memchr(key, 0, key_bytes) || mldfi_utf8_valid_prefix(key, key_bytes) != key_bytes))
        status = mldfi_fail(err, MLDF_E_KEY, "the key is not UTF-8 text without NUL");
    if (status >= 0 && key)
        status = mldf_buffer_append(&job->keys, key, key_bytes, err);
    if (status < 0) {
        job->rows.size -= schema->row_bytes;
        job->arena.size = arena_size;
        job->keys.size = keys_size;
        return status;
    }
    job->key_bytes[job->samples++] = key ? (uint32_t)key_bytes : 0;
    return MLDF_OK;
}

/* ---- The worker's side: encoding ------------------------------------------------------------------------------------- */

static void rebuild_value(const struct job *job, const struct job_payload *payload, const uint8_t *record,
                          uint32_t record_bytes, mldf_value *out) {
    *out = (mldf_value){.kind = payload->kind, .dtype = payload->dtype, .ndim = payload->ndim, .bytes = payload->bytes};
    out->as.u = payload->number;
    out->data = payload->bytes ? job->arena.data + payload->offset : NULL;
    out->record = record;
    out->record_bytes = record_bytes;
    if (payload->ndim)
        memcpy(out->dims, job->arena.data + payload->dims_offset, payload->ndim * sizeof(uint64_t));
}

/* Turns the value into payload bytes: *data, *bytes point into the arena or into worker->scratch. */
static mldf_status run_type(struct worker *worker, const struct job *job, const struct schema_field *field,
                            struct job_payload *payload, uint8_t *record, const void **data, uint64_t *bytes,
                            mldf_error *err) {
    mldf_value value;
    rebuild_value(job, payload, record, field->info.record_bytes, &value);
    if (payload->kind == MLDF_KIND_STORED) {
        *data = value.data;
        *bytes = value.bytes;
        return check_copied(worker, field, &value, err);
    }
    worker->scratch.size = 0;
    return mldfi_field_encode(field, &worker->kit, worker->writer->options.check_values, &value, record,
                              &worker->scratch, data, bytes, err);
}

static mldf_status ready_compressor(struct worker *worker, mldf_error *err) {
    if (worker->compressor && worker->compressor_dictionary == worker->writer->dictionary)
        return MLDF_OK;
    mldfi_zstd_compressor_free(worker->compressor);
    worker->compressor = NULL;
    worker->compressor_dictionary = worker->writer->dictionary;
    return mldfi_zstd_compressor_new(&worker->compressor, worker->writer->dictionary, err);
}

static mldf_status compress_payload(struct worker *worker, struct job *job, const struct schema_field *field,
                                    struct job_payload *payload, const void *data, uint64_t bytes, mldf_error *err) {
    mldf_status status = ready_compressor(worker, err);
    if (status < 0)
        return status;
    int level = field->info.compress_level ? field->info.compress_level : 3;
    size_t start = job->encoded.size;
    if ((status = mldfi_zstd_compress(worker->compressor, level, data, (size_t)bytes, &job->encoded, err)) < 0)
        return status;
    uint64_t raw;
    uint8_t codec;
    mldfi_prefix_decode(job->encoded.data + start, &raw, &codec);
    payload->in_encoded = true;
    payload->offset = start;
    payload->bytes = job->encoded.size - start;
    payload->viewable = payload->viewable && codec == MLDFI_CODEC_STORED;
    return MLDF_OK;
}

/* A side column fits the tokens of its sample, which were encoded before. */
static mldf_status check_along(struct worker *worker, const struct job *job, size_t s, const struct schema_field *field,
                               const uint8_t *record, const void *data, uint64_t bytes, mldf_error *err) {
    const mldf_writer *writer = worker->writer;
    const mldf_schema *schema = writer->schema;
    const char *name = mldfi_along_name(field);
    uint64_t tokens = 0;
    mldf_status status = MLDF_OK;
    if (writer->adding) {
        mldf_buffer scratch = MLDF_BUFFER_INIT;
        status = mldfi_added_field_tokens(writer->adding, name, job->first_submitted + s, &scratch, &tokens, err);
        mldf_buffer_free(&scratch);
    } else {
        const struct schema_field *along = &schema->fields[mldfi_schema_lookup(schema, name)];
        const struct job_payload *payload = &job->payloads[s * schema->payload_count + along->payload_index];
        if (payload->kind != MLDF_KIND_NULL)
            tokens = mldfi_along_count(along, job->rows.data + s * schema->row_bytes + along->info.row_offset);
    }
    if (status >= 0)
        status = mldfi_along_check(field, record, data, bytes, tokens, err);
    if (status == MLDF_E_CORRUPT && err) { /* a value in memory is at fault, not a file */
        err->status = MLDF_E_RANGE;
        err->offset = MLDF_NONE;
    }
    return status == MLDF_E_CORRUPT ? MLDF_E_RANGE : status;
}

static mldf_status encode_payload(struct worker *worker, struct job *job, size_t s, const struct schema_field *field,
                                  struct job_payload *payload, bool side_column, uint8_t *record, mldf_error *err) {
    const void *data = NULL;
    uint64_t bytes = 0;
    mldf_status status = run_type(worker, job, field, payload, record, &data, &bytes, err);
    if (status >= 0 && side_column)
        status = check_along(worker, job, s, field, record, data, bytes, err);
    if (status < 0)
        return status;
    payload->note = (struct value_note){.bytes = bytes};
    if (field->type && field->type->range) {
        status = field->type->range(field->state, record, data, bytes, &payload->note.least, &payload->note.most, err);
        if (status < 0)
            return status;
        payload->note.ranged = status == MLDF_OK;
        status = MLDF_OK;
    }
    if (worker->writer->crypt && !field->chunked && field->type && field->type->never_compressed &&
        bytes > CRYPT_STREAM_MAX)
        return mldfi_fail(
            err, MLDF_E_LIMIT,
            "%llu bytes in one value; encrypted, the whole of it is read for any part: write rows of at most "
            "16 MiB",
            (unsigned long long)bytes);
    bool array =
        field->layout.viewable && (!field->type || !field->type->is_viewable || field->type->is_viewable(record));
    payload->viewable = array && bytes >= 1024 && !worker->writer->crypt;
    if (bytes == 0) {
        payload->bytes = 0;
    } else if (field->info.flags & MLDF_FIELD_COMPRESSED) {
        status = compress_payload(worker, job, field, payload, data, bytes, err);
    } else {
        const uint8_t *from = data;
        payload->in_encoded = from < job->arena.data || from >= job->arena.data + job->arena.size;
        payload->offset = payload->in_encoded ? job->encoded.size : (size_t)(from - job->arena.data);
        payload->bytes = bytes;
        if (payload->in_encoded)
            status = mldf_buffer_append(&job->encoded, data, (size_t)bytes, err);
    }
    uint64_t stored = payload->bytes && worker->writer->crypt ? mldfi_crypt_sealed_bytes(payload->bytes, field->chunked)
                                                              : payload->bytes;
    if (status >= 0 && (field->info.flags & MLDF_FIELD_SIZE32) && stored > UINT32_MAX)
        status = mldfi_fail(err, MLDF_E_RANGE, "%llu bytes; this field's payloads must be smaller than 4 GiB",
                            (unsigned long long)payload->bytes);
    return status;
}

/* The environment's failures end the file; the sample's own only concern the sample. An image that this build cannot decode is
 * the sample's. */
static bool is_fatal(mldf_status status) {
    return status == MLDF_E_MEMORY ||
           (status <= MLDF_E_IO && status >= MLDF_E_KEY_WRONG && status != MLDF_E_UNSUPPORTED);
}

static int by_sample(const void *a, const void *b) {
    size_t x = ((const struct job_bad *)a)->sample, y = ((const struct job_bad *)b)->sample;
    return (x > y) - (x < y);
}

void mldfi_job_sort_bad(struct job *job) {
    qsort(job->bad, job->bad_count, sizeof *job->bad, by_sample);
}

/* The payloads of one sample: side columns, or all others. MLDF_END: the sample is bad, and noted. */
static mldf_status encode_sample(struct worker *worker, struct job *job, size_t s, bool side_columns, mldf_error *err) {
    const mldf_schema *schema = worker->writer->schema;
    for (size_t f = 0; f < schema->field_count; f++) {
        const struct schema_field *field = &schema->fields[f];
        if (field->payload_index == SIZE_MAX || (mldfi_along_name(field) != NULL) != side_columns)
            continue;
        struct job_payload *payload = &job->payloads[s * schema->payload_count + field->payload_index];
        if (payload->kind == MLDF_KIND_NULL)
            continue;
        uint8_t *record = job->rows.data + s * schema->row_bytes + field->info.row_offset;
        mldf_error why;
        mldf_status status = encode_payload(worker, job, s, field, payload, side_columns, record, &why);
        if (payload->kind != MLDF_KIND_STORED || worker->writer->options.check_values) /* otherwise it used nothing */
            mldfi_kit_trim(&worker->kit);
        if (status >= 0)
            continue;
        mldfi_error_place(&why, MLDF_NONE, field->info.name);
        if (is_fatal(status)) {
            *err = why;
            return status;
        }
        return (status = mldfi_job_add_bad(job, s, &why, err)) < 0 ? status : MLDF_END;
    }
    return MLDF_OK;
}

mldf_status mldfi_job_encode(struct worker *worker, struct job *job, mldf_error *err) {
    const mldf_schema *schema = worker->writer->schema;
    mldf_status tokenized = worker->writer->tokenize.tokenizer ? mldfi_job_tokenize(worker, job, err) : MLDF_OK;
    if (tokenized < 0)
        return tokenized;
    size_t given_bad = job->bad_count, next_bad = 0;
    bool side_columns = false;
    for (size_t f = 0; f < schema->field_count; f++)
        side_columns = side_columns || mldfi_along_name(&schema->fields[f]);
    for (size_t s = 0; s < job->samples && schema->payload_count; s++) {
        if (next_bad < given_bad && job->bad[next_bad].sample == s) {
            next_bad++;
            continue;
        }
        mldf_status status = encode_sample(worker, job, s, false, err);
        if (status == MLDF_OK && side_columns)
            status = encode_sample(worker, job, s, true, err);
        if (status < 0)
            return status;
    }
    if (given_bad && job->bad_count > given_bad)
        mldfi_job_sort_bad(job);
    return MLDF_OK;
}
