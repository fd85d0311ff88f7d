/* mldf_add_field: a column of a table becomes a field of an existing file. Rows come in the order of the samples, or are matched by key:
 * then their values wait in a stream that spills, and go to the writer in the samples' order. The writer's side is
 * writer/field_writer.h. */
#include "field/image_type.h"
#include "writer/field_writer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "field/field.h"
#include "tool/pack.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/options.h"
#include "writer/spill.h"

struct addition {
    const char *path, *name, *source;
    const mldf_add_field_options *options;
    mldf_pack_options reading; /* for the feed */
    struct feed feed;
    struct rows *rows;
    size_t column, key_column;
    mldf_schema *schema; /* of the new field */
    bool inferred, numbers_as_text;
    struct converter converter;
    /* matching by key */
    mldf_reader *reader;
    struct spill spill;
    struct spill_stream values;
    uint64_t *places; /* in the stream, for each sample; MLDF_NONE: no row */
    uint64_t unmatched;
};

/* ---- The column and its type ----------------------------------------------------------------------------------------- */

static mldf_status find_column(struct addition *a, mldf_error *err) {
    const struct columns *columns = &a->feed.columns;
    const char *wanted = a->options->column ? a->options->column : a->name, *key = a->options->key_column;
    size_t others = 0, other = 0;
    a->key_column = key ? mldfi_columns_find(columns, key, strlen(key)) : SIZE_MAX;
    a->column = mldfi_columns_find(columns, wanted, strlen(wanted));
    if (key && a->key_column == SIZE_MAX)
        return mldfi_fail_file(err, MLDF_E_ARGUMENT, a->source, "no column is named '%s', as the key column should be",
                               key);
    for (size_t i = 0; i < columns->count; i++)
        if (i != a->key_column) {
            others++;
            other = i;
        }
    if (a->column == SIZE_MAX && !a->options->column && others == 1)
        a->column = other;
    if (a->column == SIZE_MAX)
        return mldfi_fail_file(err, MLDF_E_ARGUMENT, a->source, "no column is named '%s'", wanted);
    return MLDF_OK;
}

/* The field by itself, under its new name. */
static mldf_status make_schema(struct addition *a, const mldf_field *like, mldf_error *err) {
    uint16_t flags = (uint16_t)(like->flags & (MLDF_FIELD_NULLABLE | MLDF_FIELD_COMPRESSED));
    int level = a->options->compress_level ? a->options->compress_level : like->compress_level;
    mldf_status status = mldf_schema_new(a->options->context, &a->schema, err);
    if (status == MLDF_OK)
        status = mldf_schema_add(a->schema, a->name, like->type_id, like->arguments, flags, err);
    if (status == MLDF_OK && level)
        status = mldf_schema_compress(a->schema, 0, level, err);
    return status;
}

static mldf_status take_schema(struct addition *a, mldf_error *err) {
    size_t field;
    const char *wanted = a->options->column ? a->options->column : a->name, *key = a->options->key_column;
    mldf_status status = mldf_schema_find(a->options->schema, a->name, &field, err);
    if (status == MLDF_OK)
        status = make_schema(a, mldf_schema_field(a->options->schema, field), err);
    if (status == MLDF_OK)
        status = mldfi_columns_add(&a->feed.columns, wanted, strlen(wanted), err);
    if (status == MLDF_OK && key && strcmp(key, wanted) != 0)
        status = mldfi_columns_add(&a->feed.columns, key, strlen(key), err);
    return status < 0 ? status : find_column(a, err);
}

static mldf_status infer_schema(struct addition *a, mldf_error *err) {
    mldf_schema *all = NULL;
    size_t field;
    mldf_status status = mldfi_feed_infer(&a->feed, &all, err);
    if (status == MLDF_OK)
        status = find_column(a, err);
    if (status == MLDF_OK)
        status = mldf_schema_find(all, a->feed.columns.names[a->column], &field, err);
    if (status == MLDF_OK) {
        a->inferred = true;
        a->numbers_as_text = a->feed.inferred[field].numbers_as_text;
        status = make_schema(a, mldf_schema_field(all, field), err);
    }
    mldf_schema_free(all);
    return status;
}

/* ---- Rows ---------------------------------------------------------------------------------------------------------- */

static mldf_status open_rows(struct addition *a, mldf_error *err) {
    /* With a schema the columns beside ours are not known, and do not matter. */
    struct rows_options options = {a->options->format, false, a->options->schema != NULL, false, &a->feed.watch, 0};
    a->rows = &a->feed.opened[0];
    mldf_status status = a->rows->open ? mldfi_rows_rewind(a->rows, &options, &a->feed.columns, err)
                                       : mldfi_rows_open(a->rows, a->source, &options, &a->feed.columns, err);
    if (status < 0 || a->rows->table.format == MLDF_SOURCE_JSONL)
        return status;
    size_t found = 0;
    for (size_t i = 0; i < a->rows->header_count; i++)
        found += a->rows->header[i] == a->column || a->rows->header[i] == a->key_column;
    if (found < (a->key_column == SIZE_MAX || a->key_column == a->column ? 1u : 2u)) {
        status = mldfi_fail(err, MLDF_E_ARGUMENT, "a column is missing");
        mldfi_error_line(err, a->source, 1, 1);
    }
    return status;
}

static mldf_status next_value(struct addition *a, mldf_value *out, mldf_error *err) {
    mldf_status status = mldfi_rows_next(a->rows, &a->feed.columns, a->options->schema != NULL, err);
    if (status != MLDF_OK)
        return status;
    const struct cell *cell = &a->rows->cells[a->column];
    status = mldfi_convert(&a->converter, cell, out, err);
    if (status < 0)
        mldfi_error_cell(err, a->rows->input.name, a->rows->line, cell, a->feed.columns.names[a->column],
                         a->schema->fields[0].info.type_name);
    a->feed.watch.now.bytes_done = a->rows->input.consumed;
    if (status == MLDF_OK && a->feed.watch.now.samples_done++ % 64 == 0)
        status = mldfi_watch(&a->feed.watch, false, err);
    return status;
}

static mldf_status feed_in_order(struct addition *a, mldf_writer *writer, uint64_t samples, mldf_error *err) {
    mldf_value value;
    uint64_t rows = 0;
    mldf_status status = open_rows(a, err);
    while (status == MLDF_OK && (status = next_value(a, &value, err)) == MLDF_OK) {
        rows++;
        if (rows <= samples)
            status = mldf_writer_append(writer, &value, 1, NULL, 0, err);
        if (status < 0)
            mldfi_error_line(err, a->rows->input.name, a->rows->line, 0);
    }
    if (status == MLDF_END && rows != samples)
        return mldfi_fail_file(err, MLDF_E_RANGE, a->source,
                               "has %" PRIu64 " rows, and the file has %" PRIu64 " samples", rows, samples);
    return status == MLDF_END ? MLDF_OK : status;
}

/* ---- Matching by key ------------------------------------------------------------------------------------------------- */

/* kind, dtype, ndim as in mldf_value; then its bytes. */
static mldf_status keep_value(struct addition *a, uint64_t sample, const mldf_value *value, mldf_error *err) {
    mldf_value plain = *value;
    plain.data = plain.record = NULL;
    a->places[sample] = mldfi_stream_bytes(&a->values);
    mldf_status status = mldfi_stream_push(&a->values, &plain, sizeof plain, err);
    if (status == MLDF_OK && value->bytes)
        status = mldfi_stream_push(&a->values, value->data, (size_t)value->bytes, err);
    return status;
}

static mldf_status match_row(struct addition *a, const mldf_value *value, mldf_error *err) {
    const struct cell *cell = &a->rows->cells[a->key_column];
    const char *key;
    size_t bytes;
    uint64_t sample;
    mldf_status status = mldfi_convert_key(cell, &key, &bytes, err);
    if (status == MLDF_OK)
        status = mldf_reader_find_key(a->reader, key, bytes, &sample, err);
    if (status == MLDF_OK && a->places[sample] != MLDF_NONE)
        status = mldfi_fail(err, MLDF_E_KEY, "a second row for key '%.*s'", (int)(bytes < 80 ? bytes : 80), key);
    if (status < 0) {
        mldfi_error_cell(err, a->rows->input.name, a->rows->line, cell, a->options->key_column, "key");
        return status;
    }
    a->unmatched--;
    return keep_value(a, sample, value, err);
}

static mldf_status match_rows(struct addition *a, mldf_error *err) {
    mldf_reader_options reading = MLDF_READER_OPTIONS_INIT;
    mldf_value value;
    reading.context = a->options->context;
    reading.secret = a->options->secret;
    reading.verify = true;
    TRY(mldf_reader_open(a->path, &reading, &a->reader, err));
    uint64_t samples = a->unmatched = mldf_reader_sample_count(a->reader);
    if (samples > 0 && !mldf_reader_has_keys(a->reader))
        return mldfi_fail_file(err, MLDF_E_KEY, a->path, "has no sample keys to match");
    a->places = mldfi_alloc_zero((size_t)samples + 1, sizeof *a->places, err);
    TRY(a->places ? mldfi_spill_init(&a->spill, a->path, err) : MLDF_E_MEMORY);
    memset(a->places, 0xff, ((size_t)samples + 1) * sizeof *a->places);
    mldfi_stream_init(&a->values, &a->spill);
    mldf_status status = open_rows(a, err);
    while (status == MLDF_OK && (status = next_value(a, &value, err)) == MLDF_OK)
        status = match_row(a, &value, err);
    return status == MLDF_END ? MLDF_OK : status;
}

/* A sample without a row has a null: a field whose type was inferred becomes nullable for it. */
static mldf_status allow_nulls(struct addition *a, mldf_error *err) {
    mldf_schema *changed;
    uint16_t *flags = &a->schema->fields[0].info.flags;
    if (a->unmatched == 0 || (*flags & MLDF_FIELD_NULLABLE) || !a->inferred)
        return MLDF_OK;
    *flags |= MLDF_FIELD_NULLABLE;
    mldf_status status = mldfi_schema_copy(a->schema, &changed, err);
    if (status == MLDF_OK) {
        mldfi_converter_free(&a->converter); /* it looks into the schema */
        mldf_schema_free(a->schema);
        a->schema = changed;
    }
    return status;
}

static mldf_status feed_matched(struct addition *a, mldf_writer *writer, mldf_error *err) {
    uint64_t samples = mldf_reader_sample_count(a->reader);
    mldf_buffer bytes = MLDF_BUFFER_INIT;
    mldf_status status = MLDF_OK;
    for (uint64_t i = 0; status == MLDF_OK && i < samples; i++) {
        mldf_value value;
        memset(&value, 0, sizeof value);
        if (a->places[i] != MLDF_NONE) {
            status = mldfi_stream_read(&a->values, a->places[i], &value, sizeof value, err);
            if (status == MLDF_OK)
                status = mldfi_buffer_resize(&bytes, (size_t)value.bytes, err);
            if (status == MLDF_OK && value.bytes)
                status =
                    mldfi_stream_read(&a->values, a->places[i] + sizeof value, bytes.data, (size_t)value.bytes, err);
            value.data = bytes.data;
        }
        if (status == MLDF_OK)
            status = mldf_writer_append(writer, &value, 1, NULL, 0, err);
        if (status == MLDF_E_NULL && a->places[i] == MLDF_NONE)
            mldfi_error_prefix(err, "%s has no row for it", a->source);
        if (status == MLDF_OK && i % 64 == 0)
            status = mldfi_watch(&a->feed.watch, false, err);
    }
    mldf_buffer_free(&bytes);
    return status;
}

/* ---- All together -------------------------------------------------------------------------------------------------- */

static mldf_status count_samples(struct addition *a, uint64_t *out, mldf_error *err) {
    mldf_reader_options reading = MLDF_READER_OPTIONS_INIT;
    size_t ignored;
    reading.context = a->options->context;
    reading.without_key = true;
    mldf_status status = mldf_reader_open(a->path, &reading, &a->reader, err);
    if (status < 0)
        return status;
    *out = mldf_reader_sample_count(a->reader);
    if (mldf_schema_find(mldf_reader_schema(a->reader), a->name, &ignored, NULL) == MLDF_OK)
        status = mldfi_fail_file(err, MLDF_E_ARGUMENT, a->path, "has a field '%s' already", a->name);
    mldf_reader_close(a->reader);
    a->reader = NULL;
    return status;
}

static mldf_status write_field(struct addition *a, uint64_t samples, mldf_pack_result *result, mldf_error *err) {
    mldf_writer_options writing = MLDF_WRITER_OPTIONS_INIT;
    mldf_write_result written = MLDF_WRITE_RESULT_INIT;
    mldf_writer *writer;
    writing.context = a->options->context;
    writing.threads = a->options->threads;
    writing.secret = a->options->secret;
    writing.progress = a->options->progress;
    writing.progress_user = a->options->progress_user;
    TRY(mldfi_writer_open_add_field(a->path, a->schema, &writing, &writer, err));
    mldf_status status = a->options->key_column ? feed_matched(a, writer, err) : feed_in_order(a, writer, samples, err);
    if (status < 0) {
        mldf_writer_abort(writer);
        return status;
    }
    status = mldf_writer_finish(writer, &written, err);
    result->written = written.samples;
    result->bytes = written.file_bytes;
    return status;
}

static mldf_status add(struct addition *a, mldf_pack_result *result, mldf_error *err) {
    uint64_t samples = 0;
    mldf_status status = count_samples(a, &samples, err);
    if (status == MLDF_OK)
        status = a->options->schema ? take_schema(a, err) : infer_schema(a, err);
    if (status == MLDF_OK && mldfi_image_icc_in_card(&a->schema->fields[0]))
        status = mldfi_fail(err, MLDF_E_ARGUMENT, "\"icc\": \"card\" is for pack: it takes a second field");
    if (status == MLDF_OK)
        status = mldfi_converter_begin(&a->converter, &a->schema->fields[0], a->inferred, a->numbers_as_text, err);
    if (status == MLDF_OK && a->options->key_column)
        status = match_rows(a, err);
    if (status == MLDF_OK && a->options->key_column)
        status = allow_nulls(a, err);
    return status < 0 ? status : write_field(a, samples, result, err);
}

mldf_status mldf_add_field(const char *path, const char *name, const char *source, const mldf_add_field_options *given,
                           mldf_pack_result *result, mldf_error *err) {
    mldf_add_field_options own = MLDF_ADD_FIELD_OPTIONS_INIT;
    const mldf_add_field_options *options = &own;
    static const mldf_pack_options reading = MLDF_PACK_OPTIONS_INIT;
    mldf_writer_options writing = MLDF_WRITER_OPTIONS_INIT;
    mldf_pack_result done = MLDF_PACK_RESULT_INIT;
    mldf_error local;
    if (!path || !name || !source)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "add-field needs a file, a name and a source");
    mldf_status status = mldfi_take_options(&own, sizeof own, "mldf_add_field_options", given, err);
    if (status == MLDF_OK)
        status = mldfi_check_result("mldf_pack_result", result, err);
    if (status < 0)
        return status;
    struct addition a = {.path = path, .name = name, .source = source, .options = options, .reading = reading};
    a.reading.format = options->format;
    a.reading.writer = &writing;
    writing.context = options->context;
    writing.progress = options->progress;
    writing.progress_user = options->progress_user;
    a.spill.file = (struct os_file)OS_FILE_NONE;
    status = mldfi_feed_begin(&a.feed, &a.source, 1, &a.reading, err ? err : &local);
    a.feed.watch.now.phase = "add-field";
    if (status == MLDF_OK)
        status = add(&a, &done, err ? err : &local);
    mldfi_converter_free(&a.converter);
    mldfi_feed_free(&a.feed);
    mldfi_spill_free(&a.spill);
    mldf_reader_close(a.reader);
    mldf_schema_free(a.schema);
    free(a.places);
    mldfi_give_result(result, &done, sizeof done);
    return status;
}
