/* CSV rows and JSON objects as cells in the order of the columns. See rows.h. */
#include "tool/rows.h"

#include <stdlib.h>
#include <string.h>

#include "util/buffer.h"
#include "util/error.h"

/* ---- CSV header ---------------------------------------------------------------------------------------------------- */

static mldf_status fail_cell(const struct rows *rows, uint64_t line, uint64_t column, mldf_status status,
                             mldf_error *err, const char *before, const char *name, size_t name_bytes,
                             const char *after) {
    int shown = name_bytes > 100 ? 100 : (int)name_bytes;
    mldfi_fail(err, status, "%s%.*s%s", before, shown, name, after);
    mldfi_error_line(err, rows->input.name, line, column);
    return status;
}

static mldf_status map_header_cell(struct rows *rows, size_t index, bool may_add, struct columns *columns, bool *seen,
                                   mldf_error *err) {
    const struct csv_cell *cell = &rows->csv.cells[index];
    if (cell->bytes == 0)
        return fail_cell(rows, cell->line, cell->column, MLDF_E_SYNTAX, err, "a column without a name", "", 0, "");
    for (size_t i = 0; i < cell->bytes; i++)
        if ((unsigned char)cell->text[i] < ' ' && !strchr("\t\r\n", cell->text[i]))
            return fail_cell(rows, cell->line, cell->column + i, MLDF_E_SYNTAX, err,
                             "a control character in the name of a column: is this a text file?", "", 0, "");
    size_t column = mldfi_columns_find(columns, cell->text, cell->bytes);
    if (column == SIZE_MAX) {
        if (!may_add)
            return fail_cell(rows, cell->line, cell->column, MLDF_E_TYPE, err, "column '", cell->text, cell->bytes,
                             "' is not one of the columns expected (a schema field or a column of the first source)");
        TRY(mldfi_columns_add(columns, cell->text, cell->bytes, err));
        column = columns->count - 1;
    }
    if (seen[column])
        return fail_cell(rows, cell->line, cell->column, MLDF_E_SYNTAX, err, "two columns are named '", cell->text,
                         cell->bytes, "'");
    seen[column] = true;
    rows->header[index] = column;
    return MLDF_OK;
}

static mldf_status map_header(struct rows *rows, const struct rows_options *options, struct columns *columns,
                              mldf_error *err) {
    size_t count = rows->csv.cell_count, before = columns->count;
    mldf_status status = MLDF_OK;
    bool *seen = mldfi_alloc_zero(before + count + 1, sizeof *seen, err);
    rows->header = mldfi_alloc_zero(count + 1, sizeof *rows->header, err);
    rows->header_count = count;
    if (!seen || !rows->header)
        status = MLDF_E_MEMORY;
    for (size_t i = 0; status == MLDF_OK && i < count; i++)
        status = map_header_cell(rows, i, options->may_add, columns, seen, err);
    for (size_t i = 0; status == MLDF_OK && options->same_columns && i < before; i++)
        if (!seen[i])
            status = fail_cell(rows, rows->csv.row_line, 1, MLDF_E_TYPE, err, "column '", columns->names[i],
                               strlen(columns->names[i]), "' is missing");
    free(seen);
    return status;
}

static mldf_status read_header(struct rows *rows, const struct rows_options *options, struct columns *columns,
                               mldf_error *err) {
    mldf_status status = mldfi_csv_next(&rows->csv, err);
    if (status < 0)
        return status;
    if (status == MLDF_END) {
        status = mldfi_fail(err, MLDF_E_SYNTAX, "no header line: the file is empty");
        mldfi_error_line(err, rows->input.name, 1, 1);
        return status;
    }
    return map_header(rows, options, columns, err);
}

/* ---- Open, rewind, close ------------------------------------------------------------------------------------------- */

static mldf_status begin(struct rows *rows, const struct rows_options *options, struct columns *columns,
                         mldf_error *err) {
    if (rows->table.format == MLDF_SOURCE_JSONL) {
        mldfi_jsonl_begin(&rows->jsonl, &rows->input, rows->table.array);
        return MLDF_OK;
    }
    mldfi_csv_begin(&rows->csv, &rows->input, rows->table.delimiter);
    return read_header(rows, options, columns, err);
}

mldf_status mldfi_rows_open_input(struct rows *rows, struct input *input, const struct rows_options *options,
                                  struct columns *columns, mldf_error *err) {
    memset(rows, 0, sizeof *rows);
    rows->input = *input;
    rows->open = true;
    struct table_format given = {options->format, options->delimiter, false};
    mldf_status status = mldfi_table_format(&rows->input, &given, &rows->table, err);
    if (status == MLDF_OK)
        status = begin(rows, options, columns, err);
    if (status < 0)
        mldfi_rows_close(rows);
    return status;
}

mldf_status mldfi_rows_open(struct rows *rows, const char *path, const struct rows_options *options,
                            struct columns *columns, mldf_error *err) {
    struct input input;
    memset(rows, 0, sizeof *rows);
    TRY(mldfi_input_open(&input, path, options->record, options->watch, err));
    return mldfi_rows_open_input(rows, &input, options, columns, err);
}

static void free_parsers(struct rows *rows) {
    mldfi_csv_free(&rows->csv);
    mldfi_jsonl_free(&rows->jsonl);
    free(rows->header);
    rows->header = NULL;
}

mldf_status mldfi_rows_rewind(struct rows *rows, const struct rows_options *options, struct columns *columns,
                              mldf_error *err) {
    free_parsers(rows);
    mldf_status status = mldfi_input_rewind(&rows->input, err);
    return status < 0 ? status : begin(rows, options, columns, err);
}

void mldfi_rows_close(struct rows *rows) {
    if (!rows->open)
        return;
    free_parsers(rows);
    free(rows->cells);
    mldfi_input_close(&rows->input);
    memset(rows, 0, sizeof *rows);
}

void mldfi_rows_tell(const struct rows *rows, uint64_t *offset, uint64_t *line) {
    bool json = rows->table.format == MLDF_SOURCE_JSONL;
    *offset = rows->input.consumed + (json ? rows->jsonl.pending : rows->csv.pending);
    *line = !json ? rows->csv.line : rows->table.array ? rows->jsonl.next_line : rows->jsonl.line;
}

mldf_status mldfi_rows_seek(struct rows *rows, uint64_t offset, uint64_t line, mldf_error *err) {
    mldf_status status = mldfi_input_seek(&rows->input, offset, err);
    rows->csv.pending = rows->jsonl.pending = 0;
    rows->csv.line = rows->jsonl.line = rows->jsonl.next_line = line;
    rows->csv.started = rows->jsonl.started = true;
    return status;
}

/* ---- Rows ---------------------------------------------------------------------------------------------------------- */

static mldf_status clear_cells(struct rows *rows, size_t count, mldf_error *err) {
    mldf_status status = mldfi_array_reserve(&rows->cells, &rows->cell_capacity, count + 1, sizeof *rows->cells, err);
    if (status == MLDF_OK)
        memset(rows->cells, 0, count * sizeof *rows->cells);
    return status;
}

static mldf_status next_csv(struct rows *rows, const struct columns *columns, mldf_error *err) {
    mldf_status status = mldfi_csv_next(&rows->csv, err);
    rows->line = rows->csv.row_line;
    if (status != MLDF_OK)
        return status;
    if (rows->csv.cell_count != rows->header_count) {
        size_t extra = rows->csv.cell_count > rows->header_count ? rows->header_count : rows->csv.cell_count - 1;
        const struct csv_cell *cell = &rows->csv.cells[extra];
        status = mldfi_fail(err, MLDF_E_SYNTAX, "%zu cell%s, but the header has %zu", rows->csv.cell_count,
                            rows->csv.cell_count == 1 ? "" : "s", rows->header_count);
        mldfi_error_line(err, rows->input.name, cell->line, cell->column);
        return status;
    }
    TRY(clear_cells(rows, columns->count, err));
    for (size_t i = 0; i < rows->header_count; i++) {
        const struct csv_cell *from = &rows->csv.cells[i];
        struct cell *to = &rows->cells[rows->header[i]];
        to->kind = CELL_TEXT;
        to->quoted = from->quoted;
        to->text = from->text;
        to->bytes = from->bytes;
        to->line = from->line;
        to->column = from->column;
    }
    return MLDF_OK;
}

/* The column of a member: most lines have their keys in the same order, so the next column is tried first. */
static size_t member_column(const struct columns *columns, const struct json_node *node, size_t guess) {
    if (guess < columns->count) {
        const char *name = columns->names[guess];
        if (strlen(name) == node->key_bytes && memcmp(name, node->key, node->key_bytes) == 0)
            return guess;
    }
    return mldfi_columns_find(columns, node->key, node->key_bytes);
}

static mldf_status add_key(struct rows *rows, struct columns *columns, const struct json_node *node, bool may_add,
                           mldf_error *err) {
    uint64_t line, at;
    mldfi_jsonl_place(&rows->jsonl, node->offset, &line, &at);
    if (node->key_bytes == 0)
        return fail_cell(rows, line, at, MLDF_E_SYNTAX, err, "a column without a name", "", 0, "");
    if (!may_add)
        return fail_cell(rows, line, at, MLDF_E_TYPE, err, "column '", node->key, node->key_bytes,
                         "' is not known: no field of the schema, and not in the rows that the types were taken from");
    mldf_status status = mldfi_columns_add(columns, node->key, node->key_bytes, err);
    return status < 0 ? status : clear_cells(rows, columns->count, err);
}

static mldf_status next_jsonl(struct rows *rows, struct columns *columns, bool may_add, mldf_error *err) {
    mldf_status status = mldfi_jsonl_next(&rows->jsonl, err);
    const struct json *json = &rows->jsonl.tree;
    rows->line = rows->jsonl.line;
    if (status != MLDF_OK)
        return status;
    /* Unknown keys first, so that the cells are cleared once. */
    size_t guess = 0;
    for (uint32_t i = mldfi_json_first(json, 0); i < json->nodes[0].next; i = json->nodes[i].next) {
        size_t column = member_column(columns, &json->nodes[i], guess);
        if (column == SIZE_MAX) {
            status = add_key(rows, columns, &json->nodes[i], may_add, err);
            if (status < 0)
                return status;
            column = columns->count - 1;
        }
        guess = column + 1;
    }
    status = clear_cells(rows, columns->count, err);
    guess = 0;
    for (uint32_t i = mldfi_json_first(json, 0); status == MLDF_OK && i < json->nodes[0].next;
         i = json->nodes[i].next) {
        size_t column = member_column(columns, &json->nodes[i], guess);
        struct cell *cell = &rows->cells[column];
        cell->kind = CELL_JSON;
        cell->json = json;
        cell->node = i;
        mldfi_jsonl_place(&rows->jsonl, json->nodes[i].offset, &cell->line, &cell->column);
        guess = column + 1;
    }
    return status;
}

mldf_status mldfi_rows_next(struct rows *rows, struct columns *columns, bool may_add, mldf_error *err) {
    if (rows->table.format == MLDF_SOURCE_JSONL)
        return next_jsonl(rows, columns, may_add, err);
    return next_csv(rows, columns, err);
}
