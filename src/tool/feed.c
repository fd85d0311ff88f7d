/* Rows into a writer. Conversion happens here, on the caller's thread, so that errors name line and column; compression and
 * checksums happen on the writer's threads. See pack.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/file.h"
#include "tool/pack.h"
#include "util/buffer.h"
#include "util/error.h"

/* Something odd about a file that the row in hand names. */
static void on_file_warning(void *user, const char *message) {
    const struct feed *feed = user;
    char place[512];
    snprintf(place, sizeof place, "%.480s:%" PRIu64, feed->row->input.name, feed->row->line);
    mldfi_feed_warn(feed, place, message);
}

mldf_status mldfi_feed_begin(struct feed *feed, const char *const *sources, size_t source_count,
                             const mldf_pack_options *options, mldf_error *err) {
    memset(feed, 0, sizeof *feed);
    feed->options = options;
    feed->sources = sources;
    feed->source_count = source_count;
    feed->key_column = SIZE_MAX;
    feed->files.given_root = options->file_root;
    feed->files.allow_outside = options->allow_outside;
    feed->files.warn = on_file_warning;
    feed->files.warn_user = feed;
    feed->watch.progress = options->writer->progress;
    feed->watch.user = options->writer->progress_user;
    feed->watch.now.phase = "pack";
    feed->watch.now.samples_total = MLDF_NONE;
    feed->watch.now.bytes_total = MLDF_NONE;
    feed->opened = mldfi_alloc_zero(source_count + 1, sizeof *feed->opened, err);
    feed->ring_line = mldfi_alloc_zero(FEED_RING, sizeof *feed->ring_line, err);
    feed->ring_source = mldfi_alloc_zero(FEED_RING, sizeof *feed->ring_source, err);
    if (!feed->opened || !feed->ring_line || !feed->ring_source)
        return MLDF_E_MEMORY;
    return options->text_field ? mldfi_text_names(&feed->text, options->text_field, err) : MLDF_OK;
}

mldf_status mldfi_feed_guard(struct feed *feed, const char *out, mldf_error *err) {
    bool exists = false;
    mldf_status status = strcmp(out, "-") == 0 ? MLDF_OK : mldfi_file_exists(out, &exists, err);
    feed->target = feed->files.target = exists ? out : NULL;
    return status;
}

void mldfi_feed_free(struct feed *feed) {
    mldf_schema_free(feed->texts);
    if (feed->opened)
        for (size_t i = 0; i < feed->source_count; i++)
            mldfi_rows_close(&feed->opened[i]);
    if (feed->converters)
        for (size_t i = 0; i < feed->converter_count; i++)
            mldfi_converter_free(&feed->converters[i]);
    mldfi_columns_free(&feed->columns);
    mldfi_files_free(&feed->files);
    mldfi_icc_free(&feed->icc);
    free(feed->opened);
    free(feed->field_column);
    free(feed->converters);
    free(feed->inferred);
    free(feed->values);
    free(feed->ring_line);
    free(feed->ring_source);
    for (size_t i = 0; feed->ring_place && i < FEED_RING; i++)
        free(feed->ring_place[i]);
    free(feed->ring_place);
    memset(feed, 0, sizeof *feed);
}

/* ---- The schema ---------------------------------------------------------------------------------------------------- */

bool mldfi_feed_names_files(const struct feed *feed, const char *column) {
    for (size_t i = 0; i < feed->options->file_column_count; i++)
        if (strcmp(feed->options->file_columns[i], column) == 0)
            return true;
    return false;
}

static mldf_status set_files(struct feed *feed, struct converter *c, mldf_error *err) {
    uint16_t type = c->field->type_id;
    c->files = &feed->files;
    if (!mldfi_feed_names_files(feed, c->field->name))
        return MLDF_OK;
    if (type != MLDF_BYTES && type != MLDF_TEXT && !c->names_files)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "column '%s' names files, and a field of type %s is not read from one",
                          c->field->name, c->field->type_name);
    c->names_files = true;
    return MLDF_OK;
}

static mldf_status check_file_columns(const struct feed *feed, mldf_error *err) {
    for (size_t i = 0; i < feed->options->file_column_count; i++) {
        size_t field;
        TRY(mldf_schema_find(feed->schema, feed->options->file_columns[i], &field, err));
    }
    return MLDF_OK;
}

static mldf_status make_converters(struct feed *feed, mldf_error *err) {
    size_t count = feed->field_count = mldf_schema_field_count(feed->schema);
    feed->converters = mldfi_alloc_zero(count + 1, sizeof *feed->converters, err);
    free(feed->values); /* samples that are no rows may have come before */
    feed->values = mldfi_alloc_zero(count + 1, sizeof *feed->values, err);
    feed->field_column = mldfi_alloc_zero(count + 1, sizeof *feed->field_column, err);
    if (!feed->converters || !feed->values || !feed->field_column)
        return MLDF_E_MEMORY;
    feed->converter_count = count;
    for (size_t i = 0; i < count; i++) {
        const mldf_field *field = mldf_schema_field(feed->schema, i);
        const struct inferred *inferred = feed->inferred ? &feed->inferred[i] : NULL;
        feed->field_column[i] = mldfi_columns_find(&feed->columns, field->name, strlen(field->name));
        mldf_status status = mldfi_converter_begin(&feed->converters[i], &feed->schema->fields[i], inferred != NULL,
                                                   inferred && inferred->numbers_as_text, err);
        if (status == MLDF_OK)
            status = set_files(feed, &feed->converters[i], err);
        if (status < 0)
            return status;
    }
    return check_file_columns(feed, err);
}

mldf_status mldfi_feed_use_schema(struct feed *feed, const mldf_schema *schema, mldf_error *err) {
    const char *key = feed->options->key_column;
    mldf_status status = MLDF_OK;
    feed->schema = schema;
    if (!feed->inferred) {
        for (size_t i = 0; status == MLDF_OK && i < mldf_schema_field_count(schema); i++) {
            const char *name = mldf_schema_field(schema, i)->name;
            if (key && strcmp(key, name) == 0)
                return mldfi_fail(err, MLDF_E_ARGUMENT, "'%s' is both the key column and a field of the schema", key);
            status = mldfi_columns_add(&feed->columns, name, strlen(name), err);
        }
        if (status == MLDF_OK && key) {
            feed->key_column = feed->columns.count;
            status = mldfi_columns_add(&feed->columns, key, strlen(key), err);
        }
    }
    return status < 0 ? status : make_converters(feed, err);
}

static mldf_status check_missing(const struct feed *feed, const struct rows *rows, size_t column, mldf_error *err) {
    const char *name = feed->columns.names[column];
    mldf_status status = MLDF_OK;
    size_t field;
    if (column == feed->key_column)
        status = mldfi_fail(err, MLDF_E_KEY, "the key column '%s' is missing", name);
    else if (mldf_schema_find(feed->schema, name, &field, NULL) == MLDF_OK &&
             !(mldf_schema_field(feed->schema, field)->flags & MLDF_FIELD_NULLABLE))
        status = mldfi_fail(err, MLDF_E_NULL, "there is no column '%s', and the field is not nullable", name);
    if (status < 0)
        mldfi_error_line(err, rows->input.name, 1, 1);
    return status;
}

/* A CSV file that lacks the column of a field that must have a value is refused before its first row. */
static mldf_status check_header(const struct feed *feed, const struct rows *rows, mldf_error *err) {
    bool *there = mldfi_alloc_zero(feed->columns.count + 1, sizeof *there, err);
    mldf_status status = there ? MLDF_OK : MLDF_E_MEMORY;
    for (size_t h = 0; there && h < rows->header_count; h++)
        if (rows->header[h] < feed->columns.count)
            there[rows->header[h]] = true;
    for (size_t i = 0; status == MLDF_OK && i < feed->columns.count; i++)
        if (!there[i])
            status = check_missing(feed, rows, i, err);
    free(there);
    return status;
}

/* ---- Errors of workers --------------------------------------------------------------------------------------------- */

/* "file:line" of a submitted row, or only what is still known. */
static void place_of(const struct feed *feed, uint64_t submitted, char out[512]) {
    bool known = submitted < feed->submitted && feed->submitted - submitted <= FEED_RING;
    if (!known) {
        snprintf(out, 512, "row %" PRIu64, submitted);
        return;
    }
    size_t slot = submitted % FEED_RING;
    if (feed->ring_place && feed->ring_place[slot]) {
        snprintf(out, 512, "%.500s", feed->ring_place[slot]);
        return;
    }
    const char *source = feed->sources[feed->ring_source[slot]];
    snprintf(out, 512, "%.480s:%" PRIu64, strcmp(source, "-") == 0 ? "(standard input)" : source,
             feed->ring_line[slot]);
}

void mldfi_feed_place(const struct feed *feed, mldf_error *err) {
    char place[512];
    if (!err || err->sample == MLDF_NONE || feed->options->skip_bad_rows)
        return;
    place_of(feed, err->sample - feed->first_sample, place);
    mldfi_error_outer(err, place);
}

static void on_skipped(void *user, uint64_t submitted, const mldf_error *why) {
    struct feed *feed = user;
    char place[512];
    mldf_skip skip = {place, MLDF_ERROR_TEXT(why)};
    place_of(feed, submitted, place);
    feed->skipped++;
    if (feed->options->skip)
        feed->options->skip(feed->options->skip_user, &skip);
}

/* A writer that is cancelled while it waits drops the rows in hand. A run that can be resumed stops between two rows instead. */
static bool on_progress(void *user, const mldf_progress *progress) {
    struct feed *feed = user;
    bool go_on = feed->watch.progress(feed->watch.user, progress);
    if (!go_on && !feed->finishing)
        feed->interrupted = true;
    return go_on || !feed->finishing;
}

void mldfi_feed_hooks(struct feed *feed, mldf_writer_options *writer) {
    writer->skip_bad_samples = feed->options->skip_bad_rows;
    writer->skipped = on_skipped;
    writer->skipped_user = feed;
    if (feed->options->resume && feed->watch.progress) {
        writer->progress = on_progress;
        writer->progress_user = feed;
    }
}

/* ---- Rows ---------------------------------------------------------------------------------------------------------- */

static bool is_row_error(mldf_status status) {
    return status == MLDF_E_SYNTAX || status == MLDF_E_TYPE || status == MLDF_E_RANGE || status == MLDF_E_NULL ||
           status == MLDF_E_KEY;
}

static void skip_row(struct feed *feed, const struct rows *rows, const mldf_error *why) {
    char place[512];
    snprintf(place, sizeof place, "%.480s:%" PRIu64, rows->input.name, rows->line);
    mldf_skip skip = {place, MLDF_ERROR_TEXT(why)};
    feed->skipped++;
    if (feed->options->skip)
        feed->options->skip(feed->options->skip_user, &skip);
}

static mldf_status convert_row(struct feed *feed, const struct rows *rows, const char **key, size_t *key_bytes,
                               mldf_error *err) {
    static const struct cell absent = {CELL_ABSENT, false, NULL, 0, NULL, 0, 0, 0};
    for (size_t i = 0; i < feed->field_count; i++) {
        size_t column = feed->field_column[i];
        const struct cell *cell = column == SIZE_MAX ? &absent : &rows->cells[column];
        mldf_status status = mldfi_convert(&feed->converters[i], cell, &feed->values[i], err);
        if (status < 0) {
            const mldf_field *field = mldf_schema_field(feed->schema, i);
            mldfi_error_cell(err, rows->input.name, rows->line, cell, field->name, field->type_name);
            return status;
        }
    }
    *key = NULL;
    *key_bytes = 0;
    if (feed->key_column == SIZE_MAX)
        return MLDF_OK;
    const struct cell *cell = &rows->cells[feed->key_column];
    mldf_status status = mldfi_convert_key(cell, key, key_bytes, err);
    if (status < 0)
        mldfi_error_cell(err, rows->input.name, rows->line, cell, feed->options->key_column, "key");
    return status;
}

static mldf_status feed_row(struct feed *feed, struct rows *rows, size_t source, mldf_error *err) {
    const char *key;
    size_t key_bytes;
    mldf_status status = mldfi_rows_next(rows, &feed->columns, false, err);
    bool bad_row = is_row_error(status);
    if (status == MLDF_OK) {
        status = convert_row(feed, rows, &key, &key_bytes, err);
        /* A file that a cell names may fail in any way: still only this row is bad. One that is the target ends the run. */
        bad_row = status < 0 && status != MLDF_E_MEMORY && status != MLDF_E_CANCELLED && !feed->files.target_named;
    }
    if (bad_row && feed->options->skip_bad_rows) {
        skip_row(feed, rows, err);
        return MLDF_OK;
    }
    if (status != MLDF_OK || (status = mldfi_icc_take(&feed->icc, feed->values, err)) < 0)
        return status;
    size_t slot = feed->submitted % FEED_RING;
    feed->ring_line[slot] = rows->line;
    feed->ring_source[slot] = (uint32_t)source;
    if (feed->ring_place) {
        free(feed->ring_place[slot]);
        feed->ring_place[slot] = NULL;
    }
    feed->submitted++;
    status = mldf_writer_append(feed->writer, feed->values, feed->field_count, key, key_bytes, err);
    if (status < 0)
        mldfi_feed_place(feed, err);
    return status;
}

mldf_status mldfi_feed_source(struct feed *feed, size_t source, mldf_error *err) {
    struct rows *rows = &feed->opened[source];
    struct rows_options options = {feed->options->format,  false,        false,
                                   feed->inferred != NULL, &feed->watch, feed->options->delimiter};
    mldf_error local;
    if (!err)
        err = &local;
    feed->row = rows;
    TRY(mldfi_files_enter(&feed->files, feed->sources[source], err));
    mldf_status status = rows->open ? mldfi_rows_rewind(rows, &options, &feed->columns, err)
                                    : mldfi_rows_open(rows, feed->sources[source], &options, &feed->columns, err);
    if (status == MLDF_OK && rows->table.format != MLDF_SOURCE_JSONL)
        status = check_header(feed, rows, err);
    uint64_t before = feed->watch.now.bytes_done;
    if (status == MLDF_OK && source == feed->start.source && feed->start.offset)
        status = mldfi_rows_seek(rows, feed->start.offset, feed->start.line, err);
    mldfi_rows_tell(rows, &feed->row_end, &feed->row_end_line);
    for (uint64_t n = 0; status == MLDF_OK; n++) {
        status = feed_row(feed, rows, source, err);
        if (status == MLDF_OK)
            mldfi_rows_tell(rows, &feed->row_end, &feed->row_end_line);
        feed->watch.now.samples_done = feed->submitted;
        feed->watch.now.bytes_done = before + rows->input.consumed;
        if (status == MLDF_OK && n % 64 == 0)
            status = mldfi_watch(&feed->watch, false, err);
        if (status == MLDF_OK && feed->interrupted)
            status = mldfi_fail(err, MLDF_E_CANCELLED, "cancelled");
        if (status == MLDF_OK && n % 64 == 0 && feed->options->resume)
            status = mldfi_feed_checkpoint(feed, source, false, err);
    }
    if (status == MLDF_E_CANCELLED && feed->options->resume)
        (void)mldfi_feed_checkpoint(feed, source, true, NULL);
    mldfi_rows_close(rows);
    return status == MLDF_END ? MLDF_OK : status;
}
