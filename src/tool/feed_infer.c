/* The first look: the columns of all sources and their types, from the first 10,000 rows. See pack.h and infer.h. */
#include <stdlib.h>
#include <string.h>

#include "tool/pack.h"
#include "util/buffer.h"
#include "util/error.h"

struct look {
    struct feed *feed;
    struct guess *guesses;
    size_t capacity;
    struct json scratch;
    uint64_t rows;
    bool json; /* the sources are JSON lines */
};

/* The type of the file that a cell names: "a.wav", or {"path": "a.wav"}. */
static const struct field_type *type_by_name(const struct cell *cell) {
    enum { TAIL = 40 };
    char name[TAIL + 1];
    const char *text = cell->text;
    size_t bytes = cell->kind == CELL_TEXT ? cell->bytes : 0;
    if (cell->kind == CELL_JSON) {
        const struct json_node *node = &cell->json->nodes[cell->node];
        uint32_t path = node->kind == MLDFI_JSON_OBJECT ? mldfi_json_find(cell->json, cell->node, "path") : UINT32_MAX;
        if (path != UINT32_MAX)
            node = &cell->json->nodes[path];
        if (node->kind == MLDFI_JSON_STRING) {
            text = node->text;
            bytes = (size_t)node->text_bytes;
        }
    }
    size_t tail = bytes < TAIL ? bytes : TAIL;
    if (tail == 0)
        return NULL;
    memcpy(name, text + bytes - tail, tail);
    name[tail] = 0;
    return mldfi_type_for_file(name);
}

/* The first file decides about the kind; a later one that needs another type of that kind about the type. */
static void guess_files(struct guess *guess, const struct field_type *type) {
    bool same = guess->files && type && type->files == guess->files->files;
    if (!guess->files || (same && guess->files == mldfi_type_of_kind(type->files)))
        guess->files = type;
}

static mldf_status look_at_row(struct look *look, const struct rows *rows, mldf_error *err) {
    const struct columns *columns = &look->feed->columns;
    size_t had = look->capacity;
    mldf_status status =
        mldfi_array_reserve(&look->guesses, &look->capacity, columns->count, sizeof *look->guesses, err);
    if (status < 0)
        return status;
    for (size_t i = had; i < look->capacity; i++) {
        memset(&look->guesses[i], 0, sizeof look->guesses[i]);
        look->guesses[i].nulls = look->rows; /* a key that appears late was missing before */
    }
    for (size_t i = 0; i < columns->count; i++) {
        mldfi_guess_cell(&look->guesses[i], &rows->cells[i], &look->scratch);
        if (mldfi_feed_names_files(look->feed, columns->names[i]))
            guess_files(&look->guesses[i], type_by_name(&rows->cells[i]));
    }
    /* Slots beyond the columns in use stand for columns to come. */
    for (size_t i = columns->count; i < look->capacity; i++)
        look->guesses[i].nulls++;
    look->rows++;
    return MLDF_OK;
}

static mldf_status look_at_source(struct look *look, size_t source, mldf_error *err) {
    struct feed *feed = look->feed;
    struct rows *rows = &feed->opened[source];
    bool first = source == 0;
    struct rows_options options = {feed->options->format, true, first, !first, &feed->watch, feed->options->delimiter};
    mldf_error local;
    mldf_status status = mldfi_rows_open(rows, feed->sources[source], &options, &feed->columns, err);
    if (status < 0)
        return status;
    bool json = rows->table.format == MLDF_SOURCE_JSONL;
    if (first)
        look->json = json;
    else if (look->json != json)
        return mldfi_fail_file(err, MLDF_E_ARGUMENT, rows->input.name,
                               "CSV and JSON are packed together only with a schema");
    while (look->rows < INFER_ROWS && mldfi_input_may_look(&rows->input)) {
        status = mldfi_rows_next(rows, &feed->columns, json, &local);
        if (status == MLDF_END)
            break;
        if (status == MLDF_OK)
            status = look_at_row(look, rows, &local);
        bool bad_row = status == MLDF_E_SYNTAX || status == MLDF_E_TYPE;
        if (status < 0 && !(bad_row && feed->options->skip_bad_rows)) {
            if (err)
                *err = local;
            return status;
        }
    }
    if (rows->input.seekable)
        mldfi_rows_close(rows);
    return MLDF_OK;
}

/* A name that no field may have: said with the file it comes from. */
static mldf_status add_field(struct look *look, mldf_schema *schema, size_t column, struct inferred *out,
                             mldf_error *err) {
    const char *name = look->feed->columns.names[column];
    struct guess empty = {0};
    const struct guess *guess = column < look->capacity ? &look->guesses[column] : &empty;
    mldfi_guess_decide(guess, look->json, out);
    if (mldfi_feed_names_files(look->feed, name)) {
        out->flags = guess->nulls ? MLDF_FIELD_NULLABLE : 0;
        const struct field_type *type = guess->files ? guess->files : mldfi_type_with_files(0);
        return mldfi_add_file_field(schema, name, type, look->feed->options, out->flags, err);
    }
    if (strcmp(look->feed->text.field, name) == 0) { /* a column of numbers is text too, when it is to be tokenized */
        out->type_id = MLDF_TEXT;
        out->flags = guess->nulls ? MLDF_FIELD_NULLABLE : 0;
        out->arguments[0] = 0;
    }
    mldf_status status =
        mldf_schema_add(schema, name, out->type_id, out->arguments[0] ? out->arguments : NULL, out->flags, err);
    if (status < 0) {
        const char *source = look->feed->sources[0];
        mldfi_error_prefix(err, "column '%.80s'", name);
        mldfi_error_path(err, strcmp(source, "-") == 0 ? "(standard input)" : source);
        return status == MLDF_E_SCHEMA || status == MLDF_E_ARGUMENT || status == MLDF_E_LIMIT ? MLDF_E_SYNTAX : status;
    }
    return MLDF_OK;
}

static mldf_status make_schema(struct look *look, mldf_schema **out, mldf_error *err) {
    struct feed *feed = look->feed;
    const char *key = feed->options->key_column;
    size_t fields = 0;
    mldf_schema *schema;
    mldf_status status = mldf_schema_new(feed->options->writer->context, &schema, err);
    if (status < 0)
        return status;
    feed->inferred = mldfi_alloc_zero(feed->columns.count + 1, sizeof *feed->inferred, err);
    if (!feed->inferred)
        status = MLDF_E_MEMORY;
    for (size_t i = 0; status == MLDF_OK && i < feed->columns.count; i++) {
        if (key && strcmp(key, feed->columns.names[i]) == 0)
            feed->key_column = i;
        else
            status = add_field(look, schema, i, &feed->inferred[fields++], err);
    }
    if (status == MLDF_OK && key && feed->key_column == SIZE_MAX)
        status = mldfi_fail(err, MLDF_E_ARGUMENT, "no column is named '%s', as the key column should be", key);
    if (status == MLDF_OK && fields == 0)
        status =
            mldfi_fail_file(err, MLDF_E_SYNTAX, feed->sources[0], "no columns: there is nothing to make fields of");
    if (status < 0) {
        mldf_schema_free(schema);
        if (err)
            err->status = status;
        return status;
    }
    *out = schema;
    return MLDF_OK;
}

mldf_status mldfi_feed_infer(struct feed *feed, mldf_schema **out, mldf_error *err) {
    struct look look = {feed, NULL, 0, {0}, 0, false};
    mldf_status status = MLDF_OK;
    for (size_t i = 0; status == MLDF_OK && i < feed->source_count && look.rows < INFER_ROWS; i++)
        status = look_at_source(&look, i, err);
    if (status == MLDF_OK)
        status = make_schema(&look, out, err);
    free(look.guesses);
    mldfi_json_free(&look.scratch);
    return status;
}
