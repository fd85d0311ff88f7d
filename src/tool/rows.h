/* Rows of cells, whatever the source: CSV, TSV, JSON lines or a JSON array of objects. Its one idea: cells stand in the order of one table of columns that all
 * sources share, so inference (infer.h) and conversion (convert.h) never see where a column stood in its file. */
#ifndef MLDF_TOOL_ROWS_H
#define MLDF_TOOL_ROWS_H

#include "mldf/tool.h"
#include "tool/csv.h"
#include "tool/jsonl.h"
#include "tool/table_format.h"

/* ---- The table of columns ----------------------------------------------------------------------------------------- */

struct columns {
    char **names;
    size_t count, capacity;
    uint32_t *slots; /* hash table: index + 1, 0 = empty; slot_count is a power of two, at most half full */
    size_t slot_count;
};
/* SIZE_MAX when there is no such column. */
size_t mldfi_columns_find(const struct columns *columns, const char *name, size_t bytes);
mldf_status mldfi_columns_add(struct columns *columns, const char *name, size_t bytes, mldf_error *err);
void mldfi_columns_free(struct columns *columns);

/* ---- Cells -------------------------------------------------------------------------------------------------------- */

typedef enum cell_kind { CELL_ABSENT = 0, CELL_TEXT, CELL_JSON } cell_kind;

struct cell {
    cell_kind kind;
    bool quoted;      /* TEXT */
    const char *text; /* TEXT: the unescaped cell */
    size_t bytes;
    const struct json *json; /* JSON */
    uint32_t node;
    uint64_t line, column;
};

/* ---- One source ---------------------------------------------------------------------------------------------------- */

struct rows {
    struct input input;
    struct table_format table;
    struct csv csv;
    struct jsonl jsonl;
    size_t *header; /* CSV: column of each cell */
    size_t header_count;
    struct cell *cells; /* columns->count of them after mldfi_rows_next */
    size_t cell_capacity;
    uint64_t line; /* of the row */
    bool open;
};

/* Opens the source and reads a CSV file's header. may_add: columns that are not in the table yet are added to it; otherwise they are
 * errors. same_columns: a CSV header must have every column of the table. */
struct rows_options {
    mldf_source_format format;
    bool record, may_add, same_columns;
    struct input_watch *watch;
    char delimiter; /* CSV: 0 finds it */
};
mldf_status mldfi_rows_open(struct rows *rows, const char *path, const struct rows_options *options,
                            struct columns *columns, mldf_error *err);
/* The same over an input that is already open; takes it over, also when it fails. */
mldf_status mldfi_rows_open_input(struct rows *rows, struct input *input, const struct rows_options *options,
                                  struct columns *columns, mldf_error *err);
/* Starts again at the first row. */
mldf_status mldfi_rows_rewind(struct rows *rows, const struct rows_options *options, struct columns *columns,
                              mldf_error *err);
void mldfi_rows_close(struct rows *rows);

/* MLDF_OK with rows->cells, or MLDF_END. MLDF_E_SYNTAX, MLDF_E_TYPE: this row is bad, the next call goes on after it. */
mldf_status mldfi_rows_next(struct rows *rows, struct columns *columns, bool may_add, mldf_error *err);
/* Byte and line of the row that comes next, and how to get back there (regular files). */
void mldfi_rows_tell(const struct rows *rows, uint64_t *offset, uint64_t *line);
mldf_status mldfi_rows_seek(struct rows *rows, uint64_t offset, uint64_t line, mldf_error *err);

#endif
