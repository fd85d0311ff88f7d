/* A writer that tokenizes (mldf/tokenizer.h). A job is what a tokenizer wants: about 1 MiB of consecutive samples on a worker's thread. So
 * before a job is encoded, the texts of one field go through the tokenizer together, and each value becomes the array of ids that a caller
 * could have given: what follows (job.c, the field's type) checks and narrows them as ever. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "field/field.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/json.h"
#include "util/options.h"
#include "util/utf8.h"
#include "writer/writer.h"

/* ---- Arguments ------------------------------------------------------------------------------------------------------------ */

static mldf_status take_options(mldf_tokenize_options *own, const mldf_tokenize_options *given, mldf_error *err) {
    TRY(mldfi_take_options(own, sizeof *own, "mldf_tokenize_options", given, err));
    if (!own->tokenizer)
        return mldfi_fail(err, MLDF_E_ARGUMENT,
                          "tokenizing needs a tokenizer, and options from MLDF_TOKENIZE_OPTIONS_INIT");
    const mldf_tokenizer_info *info = mldf_tokenizer_describe(own->tokenizer);
    if (own->eos && info->eos < 0)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "the tokenizer %s names no eos that could end documents", info->name);
    if (own->bos && info->bos < 0)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "the tokenizer %s names no bos that could begin documents", info->name);
    return MLDF_OK;
}

static mldf_status append_id(mldf_buffer *out, const char *name, int64_t id, mldf_error *err) {
    return id < 0 ? MLDF_OK : mldfi_buffer_printf(out, err, "\"%s\":%" PRId64 ",", name, id);
}

mldf_status mldf_tokenize_arguments(const mldf_tokenize_options *given, mldf_buffer *out, mldf_error *err) {
    mldf_tokenize_options options = MLDF_TOKENIZE_OPTIONS_INIT;
    TRY(take_options(&options, given, err));
    const mldf_tokenizer_info *info = mldf_tokenizer_describe(options.tokenizer);
    mldf_status status = mldfi_buffer_append_text(out, "{", err);
    if (status == MLDF_OK)
        status = append_id(out, "bos", info->bos, err);
    if (status == MLDF_OK)
        status = append_id(out, "eos", info->eos, err);
    if (status == MLDF_OK && info->eos >= 0)
        status = mldfi_buffer_printf(out, err, "\"eos_inside\":%s,", options.eos ? "true" : "false");
    if (status == MLDF_OK)
        status = append_id(out, "pad", info->pad, err);
    if (status == MLDF_OK)
        status = mldfi_buffer_printf(out, err, "\"specials\":\"%s\",\"tokenizer\":", info->specials);
    if (status == MLDF_OK)
        status = mldfi_json_append_string(out, info->name, strlen(info->name), err);
    if (status == MLDF_OK && info->sha256)
        status = mldfi_buffer_printf(out, err, ",\"tokenizer_sha256\":\"%s\"", info->sha256);
    if (status == MLDF_OK)
        status = mldfi_buffer_printf(out, err, ",\"vocabulary\":%" PRIu64 "}", info->vocabulary);
    return status == MLDF_OK ? mldf_buffer_append(out, "", 1, err) : status;
}

/* What the field says of its tokenizer, where it says something. */
static mldf_status check_field(const mldf_field *field, const mldf_tokenizer_info *info, mldf_error *err) {
    struct json json = {0};
    uint64_t vocabulary = info->vocabulary;
    if (field->type_id != MLDF_TEXT_TOKENIZED)
        return mldfi_fail(err, MLDF_E_SCHEMA,
                          "field \"%s\" is of type %s; text becomes tokens in a text_tokenized field", field->name,
                          field->type_name);
    mldf_status status = mldfi_json_parse(&json, field->arguments, strlen(field->arguments), err);
    if (status < 0)
        return status;
    uint32_t hash = mldfi_json_find(&json, 0, "tokenizer_sha256"), size = mldfi_json_find(&json, 0, "vocabulary");
    if (hash != UINT32_MAX && info->sha256 && !mldfi_json_is_text(&json, hash, info->sha256))
        status = mldfi_fail(err, MLDF_E_SCHEMA,
                            "field \"%s\" was made with another tokenizer: its SHA-256 is %.16s…, not "
                            "%.16s…",
                            field->name, json.nodes[hash].text, info->sha256);
    else if (size != UINT32_MAX && mldfi_json_u64(&json, size, &vocabulary) && vocabulary != info->vocabulary)
        status = mldfi_fail(err, MLDF_E_SCHEMA,
                            "field \"%s\" has a vocabulary of %" PRIu64 " ids, and the tokenizer %s one of %" PRIu64,
                            field->name, vocabulary, info->name, info->vocabulary);
    mldfi_json_free(&json);
    return status;
}

mldf_status mldf_writer_tokenize(mldf_writer *writer, const mldf_tokenize_options *given, mldf_error *err) {
    mldf_tokenize_options options = MLDF_TOKENIZE_OPTIONS_INIT;
    size_t field;
    mldf_status status = take_options(&options, given, err);
    if (status == MLDF_OK && writer->filling)
        status = mldfi_fail(err, MLDF_E_STATE, "a tokenizer is given before the first sample");
    if (status == MLDF_OK)
        status = mldf_schema_find(writer->schema, options.field ? options.field : "", &field, err);
    if (status == MLDF_OK)
        status = check_field(mldf_schema_field(writer->schema, field), mldf_tokenizer_describe(options.tokenizer), err);
    if (status < 0)
        return status;
    options.field = NULL; /* the caller's */
    writer->tokenize = options;
    writer->tokenize_field = field;
    return MLDF_OK;
}

/* ---- A job's texts -------------------------------------------------------------------------------------------------------- */

struct batch {
    const char **texts;
    size_t *bytes, *samples;
    uint32_t *counts;
    size_t count;
    mldf_buffer replaced; /* texts with U+FFFD */
    mldf_buffer ids;
};

static void batch_free(struct batch *batch) {
    free((void *)batch->texts);
    free(batch->bytes);
    free(batch->samples);
    free(batch->counts);
    mldf_buffer_free(&batch->replaced);
    mldf_buffer_free(&batch->ids);
}

/* Bytes at p that are the beginning of a character and then no character: one U+FFFD stands for them, as in Python and in browsers. */
static size_t broken_bytes(const uint8_t *p, size_t bytes) {
    if (p[0] < 0xC2 || p[0] > 0xF4)
        return 1;
    uint8_t low = p[0] == 0xE0   ? 0xA0
                  : p[0] == 0xF0 ? 0x90
                                 : 0x80,
            high = p[0] == 0xED   ? 0x9F
                   : p[0] == 0xF4 ? 0x8F
                                  : 0xBF;
    size_t length = p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : 4, n = 1;
    if (bytes > 1 && p[1] >= low && p[1] <= high)
        for (n = 2; n < length && n < bytes && (p[n] & 0xC0) == 0x80;)
            n++;
    return n;
}

static mldf_status replace(const uint8_t *p, size_t bytes, mldf_buffer *out, mldf_error *err) {
    mldf_status status = MLDF_OK;
    for (size_t at = 0; status == MLDF_OK && at < bytes;) {
        size_t good = mldfi_utf8_valid_prefix(p + at, bytes - at);
        status = mldf_buffer_append(out, p + at, good, err);
        at += good;
        if (status == MLDF_OK && at < bytes) {
            status = mldf_buffer_append(out, "\xEF\xBF\xBD", 3, err);
            at += broken_bytes(p + at, bytes - at);
        }
    }
    return status;
}

static struct job_payload *payload_of(const mldf_writer *writer, struct job *job, size_t sample) {
    const mldf_schema *schema = writer->schema;
    return &job->payloads[sample * schema->payload_count + schema->fields[writer->tokenize_field].payload_index];
}

static bool is_text(const struct job_payload *payload) {
    return payload->kind == MLDF_KIND_TEXT || payload->kind == MLDF_KIND_BYTES;
}

/* All texts of the job; with `replace` a mended copy of those that need one. Room for pointers comes first: the copies move while they grow. */
static mldf_status collect(const mldf_writer *writer, struct job *job, struct batch *batch, mldf_error *err) {
    size_t n = 0;
    batch->texts = mldfi_alloc_zero(job->samples + 1, sizeof *batch->texts, err);
    batch->bytes = mldfi_alloc_zero(job->samples + 1, sizeof *batch->bytes, err);
    batch->samples = mldfi_alloc_zero(job->samples + 1, sizeof *batch->samples, err);
    batch->counts = mldfi_alloc_zero(job->samples + 1, sizeof *batch->counts, err);
    size_t *offsets = mldfi_alloc_zero(job->samples + 1, sizeof *offsets, err);
    mldf_status status =
        batch->texts && batch->bytes && batch->samples && batch->counts && offsets ? MLDF_OK : MLDF_E_MEMORY;
    for (size_t s = 0; status == MLDF_OK && s < job->samples; s++) {
        const struct job_payload *payload = payload_of(writer, job, s);
        if (!is_text(payload))
            continue;
        const uint8_t *text = job->arena.data + payload->offset;
        size_t bytes = (size_t)payload->bytes;
        batch->samples[n] = s;
        batch->texts[n] = (const char *)text;
        batch->bytes[n] = bytes;
        offsets[n] = SIZE_MAX;
        if (writer->tokenize.replace && bytes && mldfi_utf8_valid_prefix(text, bytes) != bytes) {
            offsets[n] = batch->replaced.size;
            status = replace(text, bytes, &batch->replaced, err);
            batch->bytes[n] = batch->replaced.size - offsets[n];
        }
        n++;
    }
    for (size_t i = 0; status == MLDF_OK && i < n; i++)
        if (offsets[i] != SIZE_MAX)
            batch->texts[i] = (const char *)batch->replaced.data + offsets[i];
    free(offsets);
    batch->count = n;
    return status;
}

static bool is_cancelled(void *user) {
    return atomic_load(&((mldf_writer *)user)->cancelled);
}

/* On the caller's own thread the progress hook is asked, too. */
static bool ask_hook(void *user) {
    mldf_writer *writer = user;
    return mldfi_tick(writer, "write", writer->bytes_written, MLDF_NONE, NULL) < 0;
}

/* Asks until every document has its ids or is noted as bad. */
static mldf_status encode(struct worker *worker, struct job *job, struct batch *batch, mldf_error *err) {
    mldf_writer *writer = worker->writer;
    struct tokenizer_cancel cancel = {worker == writer->workers ? ask_hook : is_cancelled, writer};
    for (;;) {
        mldf_error why;
        struct tokenizer_texts texts = {batch->texts, batch->bytes, batch->count, 0};
        mldf_status status =
            mldfi_tokenizer_encode(writer->tokenize.tokenizer, &texts, batch->counts, &batch->ids, &cancel, &why);
        if (status >= 0)
            return status;
        bool document = why.sample < batch->count;
        size_t at = document ? (size_t)why.sample : 0;
        if (!document || (status != MLDF_E_RANGE && status != MLDF_E_SYNTAX)) {
            why.sample = document ? writer->old_samples + job->first_submitted + batch->samples[at] : MLDF_NONE;
            *err = why;
            return status;
        }
        why.sample = MLDF_NONE;
        mldfi_error_place(&why, MLDF_NONE, mldf_schema_field(writer->schema, writer->tokenize_field)->name);
        payload_of(writer, job, batch->samples[at])->kind = MLDF_KIND_NULL;
        if ((status = mldfi_job_add_bad(job, batch->samples[at], &why, err)) < 0)
            return status;
        if (!writer->options.skip_bad_samples) { /* it ends the file: the others need no ids */
            for (size_t i = 0; i < batch->count; i++)
                payload_of(writer, job, batch->samples[i])->kind = MLDF_KIND_NULL;
            batch->count = 0;
            return MLDF_OK;
        }
        size_t rest = batch->count - at - 1;
        memmove(batch->texts + at, batch->texts + at + 1, rest * sizeof *batch->texts);
        memmove(batch->bytes + at, batch->bytes + at + 1, rest * sizeof *batch->bytes);
        memmove(batch->samples + at, batch->samples + at + 1, rest * sizeof *batch->samples);
        batch->count--;
    }
}

/* A value becomes an array of u32: dims, then the ids, behind all that the arena has. */
static mldf_status put(const mldf_writer *writer, struct job *job, struct job_payload *payload, const uint8_t *ids,
                       uint32_t count, mldf_error *err) {
    const mldf_tokenizer_info *info = mldf_tokenizer_describe(writer->tokenize.tokenizer);
    bool bos = writer->tokenize.bos, eos = writer->tokenize.eos;
    uint64_t total = (uint64_t)count + bos + eos;
    uint8_t *at;
    size_t pad = (size_t)(-job->arena.size & 63);
    TRY(mldfi_buffer_extend(&job->arena, pad + sizeof total + (size_t)total * 4, &at, err));
    at += pad;
    payload->kind = MLDF_KIND_ARRAY;
    payload->dtype = MLDF_U32;
    payload->ndim = 1;
    payload->dims_offset = (size_t)(at - job->arena.data);
    payload->offset = payload->dims_offset + sizeof total;
    payload->bytes = total * 4;
    memcpy(at, &total, sizeof total);
    at += sizeof total;
    uint32_t first = (uint32_t)info->bos, last = (uint32_t)info->eos;
    if (bos)
        memcpy(at, &first, 4), at += 4;
    if (count)
        memcpy(at, ids, (size_t)count * 4), at += (size_t)count * 4;
    if (eos)
        memcpy(at, &last, 4);
    return MLDF_OK;
}

mldf_status mldfi_job_tokenize(struct worker *worker, struct job *job, mldf_error *err) {
    mldf_writer *writer = worker->writer;
    struct batch batch = {0};
    size_t given_bad = job->bad_count;
    mldf_status status = collect(writer, job, &batch, err);
    if (status == MLDF_OK && batch.count)
        status = encode(worker, job, &batch, err);
    const uint8_t *ids = batch.ids.data;
    for (size_t i = 0; status == MLDF_OK && i < batch.count; i++) {
        status = put(writer, job, payload_of(writer, job, batch.samples[i]), ids, batch.counts[i], err);
        ids = ids ? ids + (size_t)batch.counts[i] * 4 : NULL;
    }
    if (job->bad_count > given_bad)
        mldfi_job_sort_bad(job);
    batch_free(&batch);
    return status;
}
