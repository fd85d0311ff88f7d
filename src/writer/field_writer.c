/* Adding a field: the new values go through the writer as if they were a file of one field, whose payloads stand behind the old file's
 * end. At the end the two sets of tables become one:
 *
 *     old row      | a | b |            rows of the new field   | c |
 *     joined row   | a | b | c |        checks, validity, statistics the same way; allocation tables one after the other;
 *                                       of each page's two lowest samples the lower
 *
 * finish_file.c then writes all of it, and a new descriptor table, in the same order as an append: so a crash leaves the old file or the
 * new one. See append_writer.h. */
#include "writer/field_writer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "field/along.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"
#include "writer/append_writer.h"

enum { BATCH = 4096 }; /* records or words at once */

struct added_field {
    mldf_schema *alone;  /* the new field by itself: the writer's schema until the tables are joined */
    mldf_schema *joined; /* of the result; NULL once the writer has it */
    mldf_reader *reader; /* the old file */
    char *path;
};

void mldfi_added_field_free(struct added_field *added) {
    if (!added)
        return;
    mldf_schema_free(added->joined);
    mldf_schema_free(added->alone);
    mldf_reader_close(added->reader);
    free(added->path);
    free(added);
}

static mldf_status join_schemas(mldf_writer *writer, const mldf_schema *field, mldf_error *err) {
    struct added_field *added = writer->adding;
    if (mldf_schema_field_count(field) != 1)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "%zu fields instead of one to add", mldf_schema_field_count(field));
    const mldf_field *info = &field->fields[0].info;
    uint16_t flags = (uint16_t)(info->flags & (MLDF_FIELD_NULLABLE | MLDF_FIELD_COMPRESSED));
    added->joined = writer->schema; /* a copy of the reader's */
    writer->schema = NULL;
    writer->first_field = added->joined->field_count;
    mldf_status status = mldfi_schema_copy(field, &writer->schema, err);
    if (status >= 0)
        status = mldf_schema_add(added->joined, info->name, info->type_id, info->arguments, flags, err);
    if (status >= 0) {
        struct schema_field *alone = &writer->schema->fields[0];
        alone->chunked = writer->crypt && mldfi_field_seals_chunks(alone);
        added->joined->fields[writer->first_field].chunked = alone->chunked;
    }
    return status < 0 ? status : mldfi_along_check_schema(added->joined, err);
}

mldf_status mldfi_added_field_tokens(const struct added_field *added, const char *name, uint64_t sample,
                                     mldf_buffer *scratch, uint64_t *out, mldf_error *err) {
    const mldf_reader *reader = added->reader;
    size_t at = mldfi_schema_lookup(reader->schema, name);
    const uint8_t *row;
    bool valid = false;
    *out = 0;
    if (at == SIZE_MAX || sample >= reader->header.num_samples)
        return MLDF_OK; /* the schema was checked; too many samples are refused at the end */
    mldf_status status = mldfi_reader_is_valid(reader, sample, at, &valid, err);
    scratch->size = 0;
    if (status >= 0 && valid && (status = mldfi_reader_row(reader, sample, scratch, &row, err)) >= 0)
        *out = mldfi_along_count(&reader->schema->fields[at], row + reader->schema->fields[at].info.row_offset);
    return status;
}

mldf_status mldfi_added_field_begin(mldf_writer *writer, const char *path, const mldf_schema *field,
                                    const mldf_writer_options *options, mldf_error *err) {
    struct added_field *added = writer->adding = mldfi_alloc_zero(1, sizeof *added, err);
    if (!added || !(added->path = mldfi_copy_text(path, strlen(path), err)))
        return MLDF_E_MEMORY;
    mldf_status status = mldfi_append_open(writer, path, options, &added->reader, err);
    if (status >= 0)
        status = join_schemas(writer, field, err);
    if (status >= 0)
        status = mldfi_tables_init(&writer->tables, writer->schema, path, err);
    if (status < 0)
        return status;
    writer->tables.data_ptr = writer->data_ptr;
    writer->tables.page_size = writer->page_size;
    writer->old_samples = 0; /* samples count from the file's first */
    return mldfi_append_settle(writer, added->reader, err);
}

/* ---- Rows ---------------------------------------------------------------------------------------------------------- */

struct row_join {
    const struct table_builder *new_tables;
    const struct schema_field *field; /* in the joined schema */
    uint32_t old_end;                 /* of the old records in a row */
    uint8_t *row, *records, *bits;    /* one joined row; a batch of new rows and of their validity */
};

static mldf_status load_batch(struct row_join *j, uint64_t sample, mldf_error *err) {
    const struct table_builder *tables = j->new_tables;
    uint64_t left = tables->samples - sample, row_bytes = tables->schema->row_bytes;
    size_t count = left < BATCH ? (size_t)left : BATCH;
    mldf_status status =
        mldfi_stream_read(&tables->rows, sample * row_bytes, j->records, (size_t)(count * row_bytes), err);
    if (status >= 0 && tables->schema->nullable_count)
        status = mldfi_stream_read(&tables->validity[0], sample / 8, j->bits, (count + 7) / 8, err);
    return status;
}

static mldf_status extend_row(void *user, uint64_t sample, const uint8_t **row, uint8_t *valid, mldf_error *err) {
    struct row_join *j = user;
    size_t at = sample % BATCH;
    TRY(at == 0 ? load_batch(j, sample, err) : MLDF_OK);
    memcpy(j->row, *row, j->old_end);
    memcpy(j->row + j->field->info.row_offset, j->records + at * j->new_tables->schema->row_bytes,
           j->field->info.record_bytes);
    if (j->field->nullable_index != SIZE_MAX)
        valid[j->field->nullable_index] = j->bits[at / 8] >> (at % 8) & 1;
    *row = j->row;
    return MLDF_OK;
}

static mldf_status join_rows(mldf_writer *writer, const struct table_builder *new_tables, mldf_error *err) {
    const mldf_schema *old = writer->adding->reader->schema, *schema = writer->schema;
    const mldf_field *last = &old->fields[old->field_count - 1].info;
    struct row_join j = {.new_tables = new_tables,
                         .field = &schema->fields[old->field_count],
                         .old_end = last->row_offset + last->record_bytes};
    struct row_extension extension = {extend_row, &j};
    j.row = mldfi_alloc_zero(1, schema->row_bytes, err);
    j.records = mldfi_alloc_zero(BATCH, new_tables->schema->row_bytes, err);
    j.bits = mldfi_alloc_zero(BATCH / 8, 1, err);
    mldf_status status = j.row && j.records && j.bits ? MLDF_OK : MLDF_E_MEMORY;
    if (status >= 0)
        status = mldfi_replay_rows(writer, writer->adding->reader, &extension, err);
    free(j.row);
    free(j.records);
    free(j.bits);
    return status;
}

/* ---- Checks and pages ---------------------------------------------------------------------------------------------- */

struct word_join {
    struct table_builder *to;
    const struct spill_stream *from; /* of the new field */
    size_t columns;                  /* checks: payload fields of the old file */
    uint64_t done;                   /* samples, or pages */
};

/* Whole samples at a time: the old words, then the new one. */
static mldf_status join_checks(void *user, const uint8_t *bytes, size_t count, mldf_error *err) {
    struct word_join *j = user;
    size_t step = 4 * j->columns;
    mldf_status status = MLDF_OK;
    for (size_t at = 0; at < count && status >= 0; at += step, j->done++) {
        uint8_t word[4];
        status = mldfi_stream_read(j->from, 4 * j->done, word, sizeof word, err);
        if (status >= 0)
            status = mldfi_stream_push(&j->to->checks, bytes + at, step, err);
        if (status >= 0)
            status = mldfi_stream_push(&j->to->checks, word, sizeof word, err);
    }
    return status;
}

/* Pages without a sample wait, as in an append. */
static mldf_status push_page(struct table_builder *to, uint64_t page, uint64_t sample, mldf_error *err) {
    uint8_t word[8];
    if (sample == UINT64_MAX)
        return MLDF_OK;
    mldf_status status = mldfi_tables_fill_pages(to, page, err);
    mldfi_store_u64(word, sample);
    if (status >= 0)
        status = mldfi_stream_push(&to->page_map, word, sizeof word, err);
    to->pages++;
    return status;
}

static mldf_status new_page(const struct word_join *j, uint64_t page, uint64_t *sample, mldf_error *err) {
    uint8_t word[8];
    *sample = UINT64_MAX;
    if (8 * page >= mldfi_stream_bytes(j->from))
        return MLDF_OK;
    mldf_status status = mldfi_stream_read(j->from, 8 * page, word, sizeof word, err);
    *sample = mldfi_load_u64(word);
    return status;
}

static mldf_status join_pages(void *user, const uint8_t *bytes, size_t count, mldf_error *err) {
    struct word_join *j = user;
    mldf_status status = MLDF_OK;
    for (size_t at = 0; at + 8 <= count && status >= 0; at += 8, j->done++) {
        uint64_t old = mldfi_load_u64(bytes + at), new;
        status = new_page(j, j->done, &new, err);
        if (status >= 0)
            status = push_page(j->to, j->done, old < new ? old : new, err);
    }
    return status;
}

static mldf_status copy_stream(const struct spill_stream *from, struct spill_stream *to, mldf_error *err) {
    uint8_t chunk[BATCH];
    uint64_t bytes = mldfi_stream_bytes(from);
    mldf_status status = MLDF_OK;
    for (uint64_t at = 0; at < bytes && status >= 0; at += sizeof chunk) {
        size_t part = bytes - at < sizeof chunk ? (size_t)(bytes - at) : sizeof chunk;
        status = mldfi_stream_read(from, at, chunk, part, err);
        if (status >= 0)
            status = mldfi_stream_push(to, chunk, part, err);
    }
    return status;
}

static mldf_status push_words(void *user, const uint8_t *bytes, size_t count, mldf_error *err) {
    struct word_join *j = user;
    return mldfi_stream_push(&j->to->checks, bytes, count, err);
}

static mldf_status join_words(mldf_writer *writer, const struct table_builder *new_tables, mldf_error *err) {
    const mldf_reader *reader = writer->adding->reader;
    struct word_join checks = {&writer->tables, &new_tables->checks, reader->schema->payload_count, 0};
    struct word_join pages = {&writer->tables, &new_tables->page_map, 0, 0};
    bool payload = new_tables->schema->payload_count > 0;
    mldf_status status = MLDF_OK;
    if (reader->checks)
        status = mldfi_replay_section(reader, reader->checks, 4 * checks.columns * BATCH,
                                      payload ? join_checks : push_words, &checks, err);
    else
        status = copy_stream(&new_tables->checks, &writer->tables.checks, err);
    if (status >= 0)
        status = mldfi_replay_page_map(reader, join_pages, &pages, err);
    for (uint64_t left = mldfi_stream_bytes(&new_tables->page_map) / 8; pages.done < left && status >= 0;
         pages.done++) {
        uint64_t sample;
        status = new_page(&pages, pages.done, &sample, err);
        if (status >= 0)
            status = push_page(&writer->tables, pages.done, sample, err);
    }
    return status;
}

/* ---- All together -------------------------------------------------------------------------------------------------- */

static mldf_status join(mldf_writer *writer, struct table_builder *new_tables, mldf_error *err) {
    const mldf_reader *reader = writer->adding->reader;
    if (new_tables->samples != reader->header.num_samples)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "%" PRIu64 " values for the %" PRIu64 " samples of the file",
                          new_tables->samples, reader->header.num_samples);
    mldf_status status = mldfi_tables_end(new_tables, err); /* completes the bitmap and the mean */
    if (status >= 0)
        status = join_rows(writer, new_tables, err);
    if (status >= 0)
        status = mldfi_replay_allocation(writer, reader, err);
    if (status >= 0)
        status = copy_stream(&new_tables->allocations, &writer->tables.allocations, err);
    if (status >= 0)
        status = join_words(writer, new_tables, err);
    if (status >= 0) { /* what rows do not say: the largest value of a compressed field, the ids of tokens */
        struct stats_accumulator *to = &writer->tables.stats[writer->first_field];
        const mldf_field_stats *from = &new_tables->stats[0].stats;
        to->stats.value_bytes_max = from->value_bytes_max;
        if (new_tables->schema->fields[0].type && new_tables->schema->fields[0].type->range && from->number_kind == 2)
            mldfi_stats_range(to, from->min.u, from->max.u);
    }
    return status;
}

mldf_status mldfi_added_field_join(mldf_writer *writer, mldf_error *err) {
    struct added_field *added = writer->adding;
    struct table_builder new_tables;
    mldfi_tables_move(&new_tables, &writer->tables);
    added->alone = writer->schema;
    writer->schema = added->joined;
    added->joined = NULL;
    mldf_status status = mldfi_tables_init(&writer->tables, writer->schema, added->path, err);
    writer->tables.data_ptr = writer->data_ptr;
    writer->tables.page_size = writer->page_size;
    if (status >= 0)
        status = join(writer, &new_tables, err);
    mldfi_tables_free(&new_tables);
    return status;
}
