/* CSV and TSV: RFC 4180 with the tolerance that real files need. Its one idea: a row is first found whole in the input's window,
 * then checked (UTF-8, NUL), and only then are quoted cells unescaped; so every error has its exact line and column.
 *
 * Accepted: LF and CRLF line ends, a byte-order mark, quoted cells with separators, line ends and "" in them, a quote inside an
 * unquoted cell, blank lines (skipped), a last line without its line end. Refused: bytes that are not UTF-8, NUL, a lone carriage
 * return, text after a closing quote, a quote that is never closed, rows with another number of cells than the header.
 * Lines count from 1, and a cell's column is the byte in its line, also from 1. Next: rows.h. */
#ifndef MLDF_TOOL_CSV_H
#define MLDF_TOOL_CSV_H

#include "tool/input.h"

struct csv_cell {
    const char *text; /* valid until the next row */
    size_t bytes;
    size_t offset; /* in the row, before unescaping */
    bool quoted;
    uint64_t line, column;
};

struct csv {
    struct input *input;
    char separator;
    uint64_t line; /* of the next row */
    bool started;
    struct csv_cell *cells;
    size_t cell_count, cell_capacity;
    uint64_t row_line; /* first line of the row in cells */
    size_t pending;    /* bytes of the row that is given up at the next call */
    mldf_buffer plain; /* cells that had "" in them: the window itself is never changed, it may be read again */
    /* while a row is scanned */
    size_t at;         /* offset from input->begin */
    size_t line_start; /* of the line that `at` is in */
    uint64_t scan_line;
};

void mldfi_csv_begin(struct csv *csv, struct input *input, char separator);
void mldfi_csv_free(struct csv *csv);
/* The next row that is not blank; MLDF_END after the last. MLDF_E_SYNTAX is an error in this row alone: the next call goes on
 * after it. row_line is set in both cases. */
mldf_status mldfi_csv_next(struct csv *csv, mldf_error *err);

#endif
