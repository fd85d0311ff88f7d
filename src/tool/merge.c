/* mldf_merge: the samples of any number of files, one file after the other. Two passes: the first compares the schemas, so that a
 * mistake is found before anything is written, the second copies. Files are open one at a time. See copy.h for the copying. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "field/field.h"
#include "tool/copy.h"
#include "tool/derive.h"
#include "tool/pack.h"
#include "tool/pack_source.h"
#include "tool/plan_tokens.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/options.h"

struct merge {
    const char *const *paths;
    size_t count;
    const mldf_merge_options *options;
    mldf_writer_options writing;
    mldf_schema *schema; /* of the result: the first file's */
    mldf_buffer card, own_card;
    struct icc_set icc; /* the colour profiles of all cards */
    uint64_t *samples;  /* of each file, as the first pass found them */
    uint64_t total;
    size_t keys_from; /* the first file that has samples, which decides about keys; SIZE_MAX: none yet */
    bool keys;
    struct copy copy;
    struct input_watch watch;
};

static mldf_status open_input(const struct merge *m, size_t i, mldf_reader **out, mldf_error *err) {
    mldf_reader_options reading = MLDF_READER_OPTIONS_INIT;
    reading.context = m->writing.context;
    reading.secret = m->options->source_secret;
    reading.verify = true;
    mldf_status status = mldf_reader_open(m->paths[i], &reading, out, err);
    if (status < 0)
        mldfi_error_path(err, m->paths[i]);
    return status;
}

/* ---- The first pass ------------------------------------------------------------------------------------------------ */

/* A null in any of the files needs a nullable field in the result. */
static mldf_status compare_schema(struct merge *m, size_t i, const mldf_schema *schema, bool *nullable,
                                  mldf_error *err) {
    mldf_error why;
    size_t have, ignored;
    for (size_t f = 0; f < m->schema->field_count; f++) {
        if (mldfi_match_field(schema, &m->schema->fields[f].info, &have, &why) < 0)
            return mldfi_fail_file(err, MLDF_E_SCHEMA, m->paths[i], "%s, as in %s", why.message, m->paths[0]);
        nullable[f] |= (mldf_schema_field(schema, have)->flags & MLDF_FIELD_NULLABLE) != 0;
    }
    for (size_t f = 0; f < mldf_schema_field_count(schema); f++) {
        const char *name = mldf_schema_field(schema, f)->name;
        if (mldf_schema_find(m->schema, name, &ignored, NULL) < 0)
            return mldfi_fail_file(err, MLDF_E_SCHEMA, m->paths[i], "field '%s' is not in %s", name, m->paths[0]);
    }
    return MLDF_OK;
}

static mldf_status compare_keys(struct merge *m, size_t i, const mldf_reader *reader, mldf_error *err) {
    bool keys = mldf_reader_has_keys(reader);
    if (mldf_reader_sample_count(reader) == 0)
        return MLDF_OK;
    if (m->keys_from == SIZE_MAX) {
        m->keys_from = i;
        m->keys = keys;
    } else if (m->keys != keys) {
        return mldfi_fail_file(err, MLDF_E_KEY, m->paths[i], "has %ssample keys, and %s has %s", keys ? "" : "no ",
                               m->paths[m->keys_from], keys ? "none" : "them");
    }
    return MLDF_OK;
}

static mldf_status take_profiles(struct merge *m, const mldf_reader *reader, mldf_error *err) {
    mldf_buffer card = MLDF_BUFFER_INIT;
    mldf_status status = mldf_reader_card(reader, &card, err);
    if (status == MLDF_OK)
        status = mldfi_icc_take_card(&m->icc, (const char *)card.data, card.size, err);
    mldf_buffer_free(&card);
    return status < 0 ? status : MLDF_OK;
}

/* The card is the first file's or the caller's; the profiles are those of all. */
static mldf_status add_profiles(struct merge *m, mldf_error *err) {
    if (m->icc.count == 0)
        return MLDF_OK;
    mldf_status status = mldfi_icc_card(&m->icc, m->writing.card, m->writing.card_bytes, &m->own_card, err);
    m->writing.card = (const char *)m->own_card.data;
    m->writing.card_bytes = m->own_card.size;
    return status;
}

static mldf_status look_at(struct merge *m, size_t i, bool **nullable, mldf_error *err) {
    mldf_reader *reader;
    mldf_schema *schema = NULL;
    TRY(open_input(m, i, &reader, err));
    mldf_status status = mldfi_derive_schema(reader, m->writing.context, NULL, 0, &schema, err);
    if (status == MLDF_OK && i == 0) {
        m->schema = schema;
        schema = NULL;
        *nullable = mldfi_alloc_zero(m->schema->field_count + 1, sizeof **nullable, err);
        status = *nullable ? MLDF_OK : MLDF_E_MEMORY;
        if (status == MLDF_OK)
            status = mldfi_apply_compress(m->writing.context, m->schema, m->options->compress_fields,
                                          m->options->compress_count, err);
        if (status == MLDF_OK)
            status = mldfi_derive_options(reader, m->schema, &m->writing, &m->card, err);
    } else if (status == MLDF_OK) {
        status = compare_schema(m, i, schema, *nullable, err);
    }
    if (status == MLDF_OK)
        status = compare_keys(m, i, reader, err);
    if (status == MLDF_OK)
        status = take_profiles(m, reader, err);
    m->samples[i] = mldf_reader_sample_count(reader);
    m->total += m->samples[i];
    mldf_schema_free(schema);
    mldf_reader_close(reader);
    return status;
}

static mldf_status look_at_all(struct merge *m, mldf_error *err) {
    bool *nullable = NULL;
    mldf_status status = MLDF_OK;
    for (size_t i = 0; status == MLDF_OK && i < m->count; i++) {
        status = look_at(m, i, &nullable, err);
        if (status == MLDF_OK)
            status = mldfi_watch(&m->watch, false, err);
    }
    if (status == MLDF_OK) {
        mldf_schema *changed;
        for (size_t f = 0; f < m->schema->field_count; f++)
            if (nullable[f])
                m->schema->fields[f].info.flags |= MLDF_FIELD_NULLABLE;
        /* Copying counts the nullable fields again. */
        status = mldfi_schema_copy(m->schema, &changed, err);
        if (status == MLDF_OK) {
            mldf_schema_free(m->schema);
            m->schema = changed;
        }
    }
    free(nullable);
    return status;
}

/* ---- The second pass ----------------------------------------------------------------------------------------------- */

static mldf_status copy_file(struct merge *m, size_t i, mldf_error *err) {
    mldf_reader *reader;
    mldf_status status = open_input(m, i, &reader, err);
    if (status < 0)
        return status;
    if (mldf_reader_sample_count(reader) != m->samples[i])
        status = mldfi_fail(err, MLDF_E_CHANGED, "the file grew or shrank while it was merged");
    if (status == MLDF_OK)
        status = mldfi_copy_from(&m->copy, reader, m->paths[i], err);
    if (status == MLDF_OK)
        status = mldfi_match_no_other(mldf_reader_schema(reader), m->schema, err);
    if (status == MLDF_OK)
        status = mldfi_copy_all(&m->copy, err);
    if (status == MLDF_OK)
        mldfi_drop_plans(reader, m->options->writer->context);
    mldf_reader_close(reader);
    if (status < 0 && status != MLDF_E_CANCELLED)
        mldfi_error_path(err, m->paths[i]);
    return status;
}

static mldf_status copy_all(struct merge *m, mldf_writer *writer, mldf_error *err) {
    struct writer_sink sink;
    mldfi_sink_over(&sink, writer);
    m->copy.sink = &sink.base;
    m->copy.watch = &m->watch;
    m->copy.fields.stored = true;
    m->copy.fields.keys = m->keys;
    mldf_status status = mldfi_copy_begin(&m->copy, m->schema, err);
    for (size_t i = 0; status == MLDF_OK && i < m->count; i++)
        status = copy_file(m, i, err);
    return status;
}

/* The writer found two equal keys, and the later sample is err's, of that file: both get their file's name. */
static void name_both_files(const struct merge *m, size_t file, mldf_error *err) {
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    mldf_reader *later, *reader;
    const char *key;
    size_t key_bytes;
    uint64_t sample = err->sample, other;
    mldf_error ignored;
    if (open_input(m, file, &later, &ignored) < 0)
        return;
    bool known = mldf_reader_key(later, sample, &scratch, &key, &key_bytes, &ignored) == MLDF_OK;
    for (size_t i = 0; known && i <= file; i++) {
        if (open_input(m, i, &reader, &ignored) < 0)
            break;
        known = mldf_reader_find_key(reader, key, key_bytes, &other, NULL) != MLDF_OK;
        mldf_reader_close(reader);
        if (!known)
            mldfi_fail(err, MLDF_E_KEY,
                       "%.150s sample %" PRIu64 " and %.150s sample %" PRIu64 " have the same key '%.*s'", m->paths[i],
                       other, m->paths[file], sample, (int)(key_bytes < 100 ? key_bytes : 100), key);
    }
    mldf_buffer_free(&scratch);
    mldf_reader_close(later);
}

static mldf_status merge(struct merge *m, const char *out, mldf_pack_result *result, mldf_error *err) {
    mldf_writer *writer;
    mldf_status status = look_at_all(m, err);
    if (status == MLDF_OK)
        status = add_profiles(m, err);
    if (status < 0)
        return status;
    m->watch.now.samples_total = m->total;
    TRY(mldfi_open_output(out, m->schema, &m->writing, &writer, err));
    status = mldfi_copy_finish(&m->copy, writer, copy_all(m, writer, err), result, err);
    if (status == MLDF_E_KEY && err->sample != MLDF_NONE)
        name_both_files(m, m->copy.blamed, err);
    return status;
}

mldf_status mldf_merge(const char *const *paths, size_t path_count, const char *out, const mldf_merge_options *given,
                       mldf_pack_result *result, mldf_error *err) {
    mldf_merge_options own = MLDF_MERGE_OPTIONS_INIT;
    const mldf_merge_options *options = &own;
    mldf_writer_options writing = MLDF_WRITER_OPTIONS_INIT;
    mldf_pack_result done = MLDF_PACK_RESULT_INIT;
    mldf_error local;
    if (!err)
        err = &local;
    if (!paths || !out)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "merge needs files and a target");
    mldf_status status = mldfi_take_options(&own, sizeof own, "mldf_merge_options", given, err);
    if (status == MLDF_OK)
        status = mldfi_take_writer(&writing, &own.writer, result, err);
    if (status < 0)
        return status;
    if (path_count == 0)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "no file was given");
    struct merge m = {
        .paths = paths, .count = path_count, .options = options, .writing = writing, .keys_from = SIZE_MAX};
    mldfi_watch_begin(&m.watch, &writing, "merge", MLDF_NONE);
    m.samples = mldfi_alloc_zero(path_count, sizeof *m.samples, err);
    status = m.samples ? mldfi_check_output(out, writing.overwrite, err) : MLDF_E_MEMORY;
    if (status == MLDF_OK)
        status = mldfi_sources_are_not_target(paths, path_count, out, err);
    if (status == MLDF_OK)
        status = merge(&m, out, &done, err);
    free(m.samples);
    mldfi_copy_end(&m.copy);
    mldf_buffer_free(&m.card);
    mldf_buffer_free(&m.own_card);
    mldfi_icc_free(&m.icc);
    mldf_schema_free(m.schema);
    mldfi_give_result(result, &done, sizeof done);
    return status;
}
