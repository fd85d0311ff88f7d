/* The writer's public face (mldf/writer.h): opening, taking samples, finishing, giving up. Read writer.h for how samples travel. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "field/along.h"
#include "os/target.h"
#include "os/thread.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"
#include "util/json.h"
#include "util/options.h"
#include "writer/field_writer.h"
#include "writer/settle.h"
#include "writer/writer.h"

static const mldf_writer_options default_options = MLDF_WRITER_OPTIONS_INIT;

/* ---- Opening -------------------------------------------------------------------------------------------------------------- */

static mldf_status take_options(const mldf_writer_options *given, mldf_writer_options *out, mldf_error *err) {
    *out = default_options;
    TRY(mldfi_take_options(out, sizeof *out, "mldf_writer_options", given, err));
    if (out->page_size && (!mldfi_is_power_of_two(out->page_size) || out->page_size < FORMAT_MIN_PAGE ||
                           out->page_size > FORMAT_MAX_PAGE))
        return mldfi_fail(err, MLDF_E_ARGUMENT,
                          "a page size of %llu bytes; it must be a power of two from 4096 to 2^31",
                          (unsigned long long)out->page_size);
    return MLDF_OK;
}

static mldf_status new_writer(const mldf_writer_options *options, mldf_writer **out, mldf_error *err) {
    mldf_writer *writer = mldfi_alloc_zero(1, sizeof *writer, err);
    if (!writer)
        return MLDF_E_MEMORY;
    writer->options = *options;
    writer->options.card = NULL;
    writer->options.secret = (mldf_secret){0, 0, 0, 0};
    writer->context = options->context;
    writer->file = (struct os_file)OS_FILE_NONE;
    writer->stream_fd = -1;
    writer->tables.spill.file = (struct os_file)OS_FILE_NONE;
    pthread_mutex_init(&writer->lock, NULL);
    mldfi_cond_init(&writer->work);
    mldfi_cond_init(&writer->room);
    *out = writer;
    return MLDF_OK;
}

mldf_status mldfi_writer_set_card(mldf_writer *writer, const char *card, size_t card_bytes, mldf_error *err) {
    mldf_buffer text = MLDF_BUFFER_INIT;
    struct json json = {0};
    mldf_status status = mldfi_json_parse(&json, card, card_bytes, err);
    if (status >= 0 && json.nodes[0].kind != MLDFI_JSON_OBJECT)
        status = mldfi_fail(err, MLDF_E_SYNTAX, "not a JSON object");
    if (status >= 0)
        status = mldfi_json_canonical(&json, 0, &text, err);
    if (status >= 0 && text.size > FORMAT_MAX_CARD)
        status = mldfi_fail(err, MLDF_E_LIMIT, "%zu bytes; at most %d are possible", text.size, FORMAT_MAX_CARD);
    char *copy = status >= 0 ? mldfi_copy_text((const char *)text.data, text.size, err) : NULL;
    if (status >= 0 && !copy)
        status = MLDF_E_MEMORY;
    if (copy) {
        free(writer->card);
        writer->card = copy;
        writer->card_bytes = text.size;
    }
    if (status < 0)
        mldfi_error_prefix(err, "the card");
    mldf_buffer_free(&text);
    mldfi_json_free(&json);
    return status;
}

/* What is written must be readable: each descriptor goes through the reader's own checks (a schema that came from a 1.0 file may have
 * fields that only such a file can have). */
static mldf_status check_readable(const mldf_schema *schema, mldf_error *err) {
    mldf_schema *again;
    mldf_status status = mldf_schema_new(schema->context, &again, err);
    if (status < 0)
        return status;
    for (size_t f = 0; f < schema->field_count && status >= 0; f++) {
        const char *arguments = schema->fields[f].info.arguments;
        struct descriptor descriptor;
        bool is_long;
        mldfi_schema_descriptor(schema, f, &descriptor, &is_long);
        bool none = strcmp(arguments, "{}") == 0;
        if (strlen(arguments) > FORMAT_MAX_LONG_ARGUMENTS)
            status = mldfi_fail(err, MLDF_E_LIMIT, "arguments of %zu bytes, more than %d", strlen(arguments),
                                FORMAT_MAX_LONG_ARGUMENTS);
        else
            status = mldfi_schema_add_descriptor(again, &descriptor, none ? "" : arguments,
                                                 none ? 0 : strlen(arguments), false, 0, err);
        if (status < 0 && status != MLDF_E_MEMORY) {
            char why[MLDF_MESSAGE_MAX + 1];
            snprintf(why, sizeof why, "%s", err ? err->message : "");
            status = mldfi_fail(err, MLDF_E_SCHEMA, "field %s cannot be written as it is: %s",
                                schema->fields[f].info.name, why);
            mldfi_error_place(err, MLDF_NONE, schema->fields[f].info.name);
        }
    }
    mldf_schema_free(again);
    return status;
}

/* What a new file and a stream have in common. */
static mldf_status begin_new(mldf_writer *writer, const mldf_schema *schema, const char *spill_beside,
                             const mldf_writer_options *options, mldf_error *err) {
    if (!schema || schema->field_count == 0)
        return mldfi_fail(err, MLDF_E_SCHEMA, "a file needs at least one field");
    mldf_status status = mldfi_schema_copy(schema, &writer->schema, err);
    if (status >= 0)
        status = check_readable(writer->schema, err);
    if (status >= 0)
        status = mldfi_along_check_schema(writer->schema, err);
    if (status >= 0 && options->card)
        status = mldfi_writer_set_card(writer, options->card, options->card_bytes, err);
    bool secret = options->secret.key || options->secret.passphrase;
    if (status >= 0 && options->encrypt_all && !secret)
        status = mldfi_fail(err, MLDF_E_ARGUMENT, "encrypt_all needs a key or a passphrase");
    if (status >= 0 && options->encrypt_all && writer->stream_fd >= 0)
        status = mldfi_fail(err, MLDF_E_ARGUMENT,
                            "encrypt_all needs a file: its tables are encrypted after they are written");
    if (status >= 0 && options->encrypt_all && options->resume)
        status = mldfi_fail(err, MLDF_E_ARGUMENT,
                            "encrypt_all and resume exclude each other: checkpoints are not encrypted");
    if (status >= 0 && secret)
        status = mldfi_crypt_new(&writer->crypt, &options->secret, err);
    for (size_t f = 0; status >= 0 && f < writer->schema->field_count; f++) /* the schema may be that of another file */
        writer->schema->fields[f].chunked = writer->crypt && mldfi_field_seals_chunks(&writer->schema->fields[f]);
    if (status >= 0)
        status = mldfi_tables_init(&writer->tables, writer->schema, spill_beside, err);
    if (status < 0)
        return status;
    for (size_t f = 0; f < writer->schema->field_count; f++)
        writer->dictionary_pending |=
            options->dictionary && (writer->schema->fields[f].info.flags & MLDF_FIELD_COMPRESSED);
    mldfi_place_begin(writer, options->page_size);
    return MLDF_OK;
}

static mldf_status begin_jobs(mldf_writer *writer, mldf_error *err) {
    const mldf_schema *schema = writer->schema;
    size_t each = schema->row_bytes + schema->payload_count * sizeof(struct job_payload);
    writer->job_samples = JOB_BYTES / each < 1 ? 1 : JOB_BYTES / each > JOB_SAMPLES ? JOB_SAMPLES : JOB_BYTES / each;
    writer->staged = mldfi_alloc_zero(schema->field_count, sizeof *writer->staged, err);
    writer->staged_offset = mldfi_alloc_zero(schema->field_count, sizeof *writer->staged_offset, err);
    if (!writer->staged || !writer->staged_offset)
        return MLDF_E_MEMORY;
    return mldfi_schedule_start(writer, err);
}

static mldf_status opened(mldf_writer *writer, mldf_status status, mldf_writer **out) {
    if (status < 0)
        mldf_writer_abort(writer);
    else
        *out = writer;
    return status;
}

mldf_status mldf_writer_open(const char *path, const mldf_schema *schema, const mldf_writer_options *options,
                             mldf_writer **out, mldf_error *err) {
    mldf_writer_options taken;
    mldf_writer *writer;
    *out = NULL;
    mldf_status status = take_options(options, &taken, err);
    if (status >= 0)
        status = mldfi_target_check(path, taken.overwrite, err);
    if (status < 0 || (status = new_writer(&taken, &writer, err)) < 0)
        return status;
    if (!(writer->target = mldfi_copy_text(path, strlen(path), err)))
        status = MLDF_E_MEMORY;
    if (status >= 0 && !taken.resume)
        status = mldfi_file_create_beside(&writer->file, path, err);
    if (status >= 0)
        status = begin_new(writer, schema, path, &taken, err);
    if (status >= 0 && taken.resume)
        status = mldfi_resume_begin(writer, &taken, err);
    if (status >= 0 && taken.page_size)
        status = mldfi_write_front(writer, err);
    if (status >= 0)
        status = begin_jobs(writer, err);
    return opened(writer, status, out);
}

mldf_status mldfi_writer_open_in_set(const char *temporary, const mldf_schema *schema,
                                     const mldf_writer_options *options, mldf_writer **out, mldf_error *err) {
    mldf_status status = mldf_writer_open(temporary, schema, options, out, err);
    if (status >= 0)
        (*out)->in_set = true;
    return status;
}

mldf_status mldf_writer_open_stream(int fd, const mldf_schema *schema, const mldf_writer_options *options,
                                    mldf_writer **out, mldf_error *err) {
    mldf_writer_options taken;
    mldf_writer *writer;
    *out = NULL;
    mldf_status status = take_options(options, &taken, err);
    if (status < 0 || (status = new_writer(&taken, &writer, err)) < 0)
        return status;
    if (fd < 0)
        status = mldfi_fail(err, MLDF_E_ARGUMENT, "descriptor %d", fd);
    writer->stream_fd = fd;
    mldf_buffer beside = MLDF_BUFFER_INIT;
    if (status >= 0)
        status = mldfi_buffer_printf(&beside, err, "%s/mldf-stream", mldfi_temporary_folder(taken.context));
    if (status >= 0)
        status = begin_new(writer, schema, (const char *)beside.data, &taken, err);
    mldf_buffer_free(&beside);
    if (status >= 0 && taken.page_size)
        status = mldfi_write_front(writer, err);
    if (status >= 0)
        status = begin_jobs(writer, err);
    return opened(writer, status, out);
}

mldf_status mldf_writer_open_append(const char *path, const mldf_writer_options *options, mldf_writer **out,
                                    mldf_error *err) {
    mldf_writer_options taken;
    mldf_writer *writer;
    *out = NULL;
    mldf_status status = take_options(options, &taken, err);
    if (status < 0 || (status = new_writer(&taken, &writer, err)) < 0)
        return status;
    status = mldfi_append_begin(writer, path, &taken, err);
    if (status >= 0)
        status = begin_jobs(writer, err);
    return opened(writer, status, out);
}

mldf_status mldfi_writer_open_add_field(const char *path, const mldf_schema *field, const mldf_writer_options *options,
                                        mldf_writer **out, mldf_error *err) {
    mldf_writer_options taken;
    mldf_writer *writer;
    *out = NULL;
    mldf_status status = take_options(options, &taken, err);
    if (status < 0 || (status = new_writer(&taken, &writer, err)) < 0)
        return status;
    status = mldfi_added_field_begin(writer, path, field, &taken, err);
    if (status >= 0)
        status = begin_jobs(writer, err);
    return opened(writer, status, out);
}

const mldf_schema *mldf_writer_schema(const mldf_writer *writer) {
    return writer->schema;
}

uint64_t mldf_writer_sample_count(const mldf_writer *writer) {
    return writer->submitted;
}

void mldf_writer_cancel(mldf_writer *writer) {
    atomic_store(&writer->cancelled, true);
}

/* ---- Samples ---------------------------------------------------------------------------------------------------------------- */

static mldf_status fail_writer(mldf_writer *writer, mldf_status status, const mldf_error *why, mldf_error *err) {
    pthread_mutex_lock(&writer->lock);
    if (!writer->failed)
        writer->failure = *why;
    writer->failed = true;
    pthread_cond_broadcast(&writer->work);
    pthread_mutex_unlock(&writer->lock);
    if (err)
        *err = *why;
    return status;
}

static mldf_status take_job(mldf_writer *writer, mldf_error *err) {
    pthread_mutex_lock(&writer->lock);
    writer->filling = writer->unused;
    if (writer->filling)
        writer->unused = writer->filling->next;
    pthread_mutex_unlock(&writer->lock);
    mldf_status status = writer->filling ? MLDF_OK : mldfi_job_new(writer, &writer->filling, err);
    if (status >= 0) {
        writer->filling->next = NULL;
        writer->filling->first_submitted = writer->submitted;
    }
    return status;
}

/* A sample that cannot be taken: it holds its place in the job, so that skipped samples are told of in order. */
static mldf_status add_bad_sample(mldf_writer *writer, const mldf_error *why, mldf_error *err) {
    struct job *job = writer->filling;
    const mldf_schema *schema = writer->schema;
    uint8_t *row;
    mldf_status status = mldfi_job_add_bad(job, job->samples, why, err);
    if (status >= 0)
        status = mldfi_buffer_extend(&job->rows, schema->row_bytes, &row, err);
    if (status < 0)
        return status;
    memset(row, 0, schema->row_bytes);
    for (size_t p = 0; p < schema->payload_count; p++)
        job->payloads[job->samples * schema->payload_count + p] = (struct job_payload){.kind = MLDF_KIND_NULL};
    job->key_bytes[job->samples++] = 0;
    return MLDF_OK;
}

struct writer_origin mldfi_writer_origin(const mldf_writer *writer) {
    return (struct writer_origin){writer->old_samples, writer->card, writer->card_bytes,
                                  writer->tables.keys == KEYS_ALL, writer->tables.keys == KEYS_NONE};
}

mldf_status mldfi_writer_settle(mldf_writer *writer, mldf_error *err) {
    mldf_error why;
    mldf_status status = mldfi_check(writer, err);
    if (status >= 0 && (status = mldfi_drain(writer, &why)) < 0)
        status = fail_writer(writer, status, &why, err);
    return mldfi_resume_note(writer, status, err);
}

mldf_status mldf_writer_append(mldf_writer *writer, const mldf_value *values, size_t count, const char *key,
                               size_t key_bytes, mldf_error *err) {
    mldf_error why;
    mldf_status status = MLDF_OK;
    if (!writer->filling) {
        status = mldfi_check(writer, err);
        if (status < 0)
            return mldfi_resume_note(writer, status, err);
        if ((status = take_job(writer, &why)) < 0)
            return mldfi_resume_note(writer, fail_writer(writer, status, &why, err), err);
    }
    if (count != writer->schema->field_count)
        status = mldfi_fail(&why, MLDF_E_ARGUMENT, "%zu values for %zu fields", count, writer->schema->field_count);
    else
        status = mldfi_job_add(writer, writer->filling, values, key, key_bytes, &why);
    if (status < 0 && why.sample == MLDF_NONE)
        why.sample = writer->old_samples + writer->submitted;
    if (status < 0 && writer->options.skip_bad_samples && status != MLDF_E_MEMORY)
        status = add_bad_sample(writer, &why, &why);
    if (status < 0) {
        /* A sample before this one may be bad too, and a thread has yet to find out: the first one counts. */
        mldf_status earlier = status == MLDF_E_MEMORY ? MLDF_OK : mldfi_writer_settle(writer, err);
        return earlier < 0 ? earlier : mldfi_resume_note(writer, fail_writer(writer, status, &why, err), err);
    }
    writer->submitted++;
    status = mldfi_job_full(writer, writer->filling) ? mldfi_submit(writer, err) : MLDF_OK;
    return mldfi_resume_note(writer, status, err);
}

mldf_status mldf_writer_set(mldf_writer *writer, size_t field, const mldf_value *value, mldf_error *err) {
    if (field >= writer->schema->field_count)
        return mldfi_fail(err, MLDF_E_NO_FIELD, "field %zu of %zu", field, writer->schema->field_count);
    size_t record_bytes = value->kind == MLDF_KIND_STORED ? value->record_bytes : 0;
    size_t start = writer->staged_bytes.size;
    mldf_status status = MLDF_OK;
    if (record_bytes)
        status = mldf_buffer_append(&writer->staged_bytes, value->record, record_bytes, err);
    if (status >= 0 && value->bytes && value->data)
        status = mldf_buffer_append(&writer->staged_bytes, value->data, (size_t)value->bytes, err);
    if (status < 0)
        return status;
    writer->staged[field] = *value;
    writer->staged_offset[field] = start;
    return MLDF_OK;
}

mldf_status mldf_writer_set_key(mldf_writer *writer, const char *key, size_t key_bytes, mldf_error *err) {
    writer->staged_key.size = 0;
    writer->staged_has_key = true;
    return mldf_buffer_append(&writer->staged_key, key, key_bytes, err);
}

mldf_status mldf_writer_commit(mldf_writer *writer, mldf_error *err) {
    size_t count = writer->schema->field_count;
    for (size_t f = 0; f < count; f++) {
        mldf_value *value = &writer->staged[f];
        const uint8_t *at = writer->staged_bytes.data + writer->staged_offset[f];
        if (value->kind == MLDF_KIND_STORED) {
            value->record = at;
            at += value->record_bytes;
        }
        if (value->bytes && value->data)
            value->data = at;
    }
    const char *key = writer->staged_has_key ? (const char *)writer->staged_key.data : NULL;
    mldf_status status = mldf_writer_append(writer, writer->staged, count, key, key ? writer->staged_key.size : 0, err);
    memset(writer->staged, 0, count * sizeof *writer->staged);
    writer->staged_bytes.size = 0;
    writer->staged_has_key = false;
    return status;
}

/* ---- The end ---------------------------------------------------------------------------------------------------------------- */

/* A field that was added adds no samples: its record begins behind the last one. */
static mldf_status add_history(mldf_writer *writer, mldf_error *err) {
    uint8_t record[FORMAT_HISTORY_BYTES] = {0};
    uint64_t first = writer->adding ? writer->tables.samples : writer->old_samples;
    mldfi_store_u32(record, writer->generation);
    mldfi_store_u64(record + 8, first);
    mldfi_store_u64(record + 16, writer->tables.samples - first);
    return mldf_buffer_append(&writer->history, record, sizeof record, err);
}

static mldf_status finish(mldf_writer *writer, mldf_write_result *result, mldf_error *err) {
    mldf_status status = mldfi_drain(writer, err);
    mldfi_keyset_free(&writer->seen);
    if (status >= 0)
        status = mldfi_place_end(&writer->workers[0], err);
    if (status >= 0 && writer->adding)
        status = mldfi_added_field_join(writer, err);
    if (status >= 0 && writer->appending)
        status = add_history(writer, err);
    uint64_t file_bytes = 0;
    if (status >= 0)
        status = mldfi_finish_file(writer, &file_bytes, err);
    if (status >= 0 && writer->appending)
        status = mldfi_file_check_name(&writer->file, writer->appended, "nothing was added", err);
    if (status >= 0 && writer->target) {
        status = writer->in_set ? mldfi_file_rename(&writer->file, writer->target, true, err)
                                : mldfi_file_publish(&writer->file, writer->target, writer->options.overwrite, err);
        writer->published = status >= 0 || strcmp(writer->file.path, writer->target) == 0;
        if (writer->published && writer->resuming)
            mldfi_resume_remove(writer, false);
    }
    if (status >= 0 && result) {
        result->samples = writer->tables.samples - writer->old_samples;
        result->skipped = writer->skipped_total;
        result->file_bytes = file_bytes;
    }
    writer->finished = status >= 0;
    return status;
}

/* What the types have to say of their fields, as warnings. */
static void report_fields(const mldf_writer *writer) {
    char text[512];
    for (size_t i = 0; writer && writer->schema && i < writer->schema->field_count; i++) {
        const struct schema_field *f = &writer->schema->fields[i];
        if (!f->type || !f->type->report)
            continue;
        f->type->report(f->state, text, sizeof text);
        if (text[0])
            mldfi_warn(writer->context, "field %s: %s", f->info.name, text);
    }
}

mldf_status mldf_writer_finish(mldf_writer *writer, mldf_write_result *result, mldf_error *err) {
    mldf_write_result done = MLDF_WRITE_RESULT_INIT;
    mldf_status status = mldfi_check_result("mldf_write_result", result, err);
    if (status >= 0)
        status = mldfi_resume_note(writer, finish(writer, &done, err), err);
    if (status >= 0)
        mldfi_give_result(result, &done, sizeof done);
    if (status >= 0)
        report_fields(writer);
    mldf_writer_abort(writer); /* frees; removes only what is not finished */
    return status;
}

static void free_jobs(struct job *job) {
    while (job) {
        struct job *next = job->next;
        mldfi_job_free(job);
        job = next;
    }
}

static void undo(mldf_writer *writer) {
    if (writer->finished)
        return;
    mldf_error ignored;
    if (writer->target) {
        if (writer->resuming && !writer->published)
            mldfi_resume_remove(writer, !writer->saved);
        else if (!writer->published)
            mldfi_file_discard(&writer->file);
    } else if (writer->appending) {
        /* Where the old header cannot be put back, the new one stays, with all that it reaches. */
        mldf_status status = MLDF_OK;
        if (writer->header_touched)
            status = mldfi_file_write(&writer->file, FORMAT_HEADER_OFFSET, writer->old_header, FORMAT_HEADER_BYTES,
                                      &ignored);
        if (status >= 0)
            mldfi_file_truncate(&writer->file, writer->old_end, &ignored);
    }
}

void mldf_writer_abort(mldf_writer *writer) {
    if (!writer)
        return;
    atomic_store(&writer->cancelled, true); /* a thread may wait for a tokenizer */
    mldfi_schedule_stop(writer);
    undo(writer);
    mldfi_file_close(&writer->file);
    free_jobs(writer->retire_next);
    free_jobs(writer->unused);
    free_jobs(writer->held);
    mldfi_job_free(writer->filling);
    if (writer->tables.schema)
        mldfi_tables_free(&writer->tables);
    for (size_t i = 0; i < writer->kept_count; i++)
        mldf_buffer_free(&writer->kept[i].bytes);
    free(writer->kept);
    mldfi_added_field_free(writer->adding);
    mldf_buffer_free(&writer->old_descriptors);
    mldf_buffer_free(&writer->old_long_arguments);
    mldf_buffer_free(&writer->history);
    mldf_buffer_free(&writer->dictionary_bytes);
    mldfi_zstd_dictionary_free(writer->dictionary);
    mldfi_crypt_free(writer->crypt);
    mldf_buffer_free(&writer->pending_checks);
    mldf_buffer_free(&writer->taken_checks);
    mldf_buffer_free(&writer->prelude.bytes);
    free(writer->prelude.entries);
    free(writer->skipped);
    free(writer->staged);
    free(writer->staged_offset);
    mldf_buffer_free(&writer->staged_bytes);
    mldf_buffer_free(&writer->staged_key);
    mldf_buffer_free(&writer->position);
    mldf_schema_free(writer->schema);
    free(writer->card);
    mldfi_keyset_free(&writer->seen);
    free(writer->target);
    free(writer->appended);
    pthread_cond_destroy(&writer->work);
    pthread_cond_destroy(&writer->room);
    pthread_mutex_destroy(&writer->lock);
    free(writer);
}
