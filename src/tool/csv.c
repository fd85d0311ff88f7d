/* The CSV scanner. See csv.h for what is accepted. One cell at a time: scan_quoted or scan_plain moves `at` behind the cell,
 * end_of_cell looks at what follows. Offsets count from the beginning of the row, because the window may move when it grows. */
#include "tool/csv.h"

#include <stdlib.h>
#include <string.h>

#include "util/buffer.h"
#include "util/error.h"
#include "util/utf8.h"

void mldfi_csv_begin(struct csv *csv, struct input *input, char separator) {
    memset(csv, 0, sizeof *csv);
    csv->input = input;
    csv->separator = separator;
    csv->line = 1;
}

void mldfi_csv_free(struct csv *csv) {
    free(csv->cells);
    mldf_buffer_free(&csv->plain);
    memset(csv, 0, sizeof *csv);
}

static const char *row_text(const struct csv *csv) {
    return csv->input->data + csv->input->begin;
}

static void new_line(struct csv *csv, size_t next) {
    csv->scan_line++;
    csv->line_start = next;
}

/* An error in this row. The rest of its line is skipped, so that the caller may go on behind it. */
static mldf_status bad_row(struct csv *csv, uint64_t line, uint64_t column, const char *what, mldf_error *err) {
    for (;;) {
        int c = mldfi_input_peek(csv->input, csv->at, err);
        if (c == -2)
            return err->status;
        if (c == -1)
            break;
        csv->at++;
        if (c == '\n') {
            new_line(csv, csv->at);
            break;
        }
    }
    csv->line = csv->scan_line;
    csv->pending = csv->at;
    mldf_status status = mldfi_fail(err, MLDF_E_SYNTAX, "%s", what);
    mldfi_error_line(err, csv->input->name, line, column);
    return status;
}

static mldf_status add_cell(struct csv *csv, size_t begin, size_t end, bool quoted, uint64_t line, uint64_t column,
                            mldf_error *err) {
    mldf_status status =
        mldfi_array_reserve(&csv->cells, &csv->cell_capacity, csv->cell_count + 1, sizeof *csv->cells, err);
    if (status < 0)
        return status;
    struct csv_cell *cell = &csv->cells[csv->cell_count++];
    cell->text = NULL; /* known when the row is whole: see finish_row */
    cell->offset = begin;
    cell->bytes = end - begin;
    cell->quoted = quoted;
    cell->line = line;
    cell->column = column;
    return MLDF_OK;
}

/* From the opening quote to behind the closing one. */
static mldf_status scan_quoted(struct csv *csv, mldf_error *err) {
    uint64_t line = csv->scan_line, column = csv->at - csv->line_start + 1;
    size_t begin = ++csv->at;
    for (;;) {
        int c = mldfi_input_peek(csv->input, csv->at, err);
        if (c == -2)
            return err->status;
        if (c == -1)
            return bad_row(csv, line, column, "a quote that is not closed before the end of the file", err);
        csv->at++;
        if (c == '\n') {
            new_line(csv, csv->at);
        } else if (c == '"') {
            int next = mldfi_input_peek(csv->input, csv->at, err);
            if (next == -2)
                return err->status;
            if (next != '"')
                return add_cell(csv, begin, csv->at - 1, true, line, column, err);
            csv->at++;
        }
    }
}

static mldf_status scan_plain(struct csv *csv, mldf_error *err) {
    uint64_t line = csv->scan_line, column = csv->at - csv->line_start + 1;
    size_t begin = csv->at;
    for (;;) {
        int c = mldfi_input_peek(csv->input, csv->at, err);
        if (c == -2)
            return err->status;
        if (c >= 0 && c != csv->separator && c != '\n' && c != '\r') {
            /* the fast lane: no function call while the window lasts */
            const char *p = row_text(csv) + csv->at + 1, *end = csv->input->data + csv->input->end;
            while (p < end && *p != csv->separator && *p != '\n' && *p != '\r')
                p++;
            csv->at = (size_t)(p - row_text(csv));
            continue;
        }
        return add_cell(csv, begin, csv->at, false, line, column, err);
    }
}

/* What follows a cell: 1 another cell, 0 the row is complete (its line end is consumed), < 0 an error. */
static int end_of_cell(struct csv *csv, mldf_error *err) {
    int c = mldfi_input_peek(csv->input, csv->at, err);
    if (c == csv->separator) {
        csv->at++;
        return 1;
    }
    if (c == '\r') {
        int next = mldfi_input_peek(csv->input, csv->at + 1, err);
        if (next == '\n' || next == -1) {
            csv->at++;
            c = next;
        } else if (next == -2) {
            c = -2;
        } else {
            return bad_row(csv, csv->scan_line, csv->at - csv->line_start + 1,
                           "a carriage return that is neither part of a line end nor inside quotes", err);
        }
    }
    if (c == '\n') {
        csv->at++;
        new_line(csv, csv->at);
        return 0;
    }
    if (c == -1)
        return 0;
    if (c == -2)
        return err->status;
    return bad_row(csv, csv->scan_line, csv->at - csv->line_start + 1, "text after a closing quote", err);
}

/* Line and column of an offset in the raw row. */
static mldf_status fail_at_offset(struct csv *csv, size_t offset, const char *what, mldf_error *err) {
    const char *text = row_text(csv);
    uint64_t line = csv->row_line;
    size_t start = 0;
    for (size_t i = 0; i < offset; i++) {
        if (text[i] == '\n') {
            line++;
            start = i + 1;
        }
    }
    mldf_status status = mldfi_fail(err, MLDF_E_SYNTAX, "%s", what);
    mldfi_error_line(err, csv->input->name, line, offset - start + 1);
    return status;
}

/* A quoted cell with "" in it, copied to `to` with single quotes. Returns its length. */
static size_t unescape(char *to, const char *from, size_t bytes) {
    size_t n = 0;
    for (size_t i = 0; i < bytes; i++) {
        to[n++] = from[i];
        if (from[i] == '"')
            i++; /* the scanner saw to it that quotes come in pairs */
    }
    return n;
}

static mldf_status check_text(struct csv *csv, const char *text, mldf_error *err) {
    size_t good = mldfi_utf8_valid_prefix(text, csv->at);
    const char *nul = memchr(text, 0, csv->at);
    if (nul && (size_t)(nul - text) < good)
        return fail_at_offset(csv, (size_t)(nul - text), "a NUL byte", err);
    if (good < csv->at)
        return fail_at_offset(csv, good, "bytes that are not UTF-8", err);
    return MLDF_OK;
}

static mldf_status finish_row(struct csv *csv, mldf_error *err) {
    const char *text = row_text(csv);
    mldf_status status = check_text(csv, text, err);
    csv->plain.size = 0;
    for (size_t i = 0; status == MLDF_OK && i < csv->cell_count; i++) {
        struct csv_cell *cell = &csv->cells[i];
        cell->text = text + cell->offset;
        if (!cell->quoted || !memchr(cell->text, '"', cell->bytes))
            continue;
        /* Unescaped cells are never longer than the row, so this reserves once and no pointer moves. */
        status = mldf_buffer_reserve(&csv->plain, csv->at, err);
        if (status < 0)
            break;
        char *to = (char *)csv->plain.data + csv->plain.size;
        cell->bytes = unescape(to, cell->text, cell->bytes);
        cell->text = to;
        csv->plain.size += cell->bytes;
    }
    return status;
}

static mldf_status skip_mark(struct csv *csv, mldf_error *err) {
    static const unsigned char mark[3] = {0xef, 0xbb, 0xbf};
    csv->started = true;
    for (size_t i = 0; i < 3; i++) {
        int c = mldfi_input_peek(csv->input, i, err);
        if (c == -2)
            return err->status;
        if (c != mark[i])
            return MLDF_OK;
    }
    mldfi_input_consume(csv->input, 3);
    return MLDF_OK;
}

/* One row, blank or not. */
static mldf_status scan_row(struct csv *csv, mldf_error *err) {
    csv->cell_count = 0;
    csv->at = csv->line_start = 0;
    csv->row_line = csv->scan_line = csv->line;
    int c = mldfi_input_peek(csv->input, 0, err);
    if (c == -2)
        return err->status;
    if (c == -1)
        return MLDF_END;
    for (int more = 1; more != 0;) {
        c = mldfi_input_peek(csv->input, csv->at, err);
        if (c == -2)
            return err->status;
        TRY(c == '"' ? scan_quoted(csv, err) : scan_plain(csv, err));
        more = end_of_cell(csv, err);
        if (more < 0)
            return (mldf_status)more;
    }
    csv->line = csv->scan_line;
    csv->pending = csv->at;
    return MLDF_OK;
}

mldf_status mldfi_csv_next(struct csv *csv, mldf_error *err) {
    mldf_error local;
    if (!err)
        err = &local; /* peek reports through it */
    for (;;) {
        mldfi_input_consume(csv->input, csv->pending);
        csv->pending = 0;
        mldf_status status = csv->started ? MLDF_OK : skip_mark(csv, err);
        if (status == MLDF_OK)
            status = scan_row(csv, err);
        if (status != MLDF_OK)
            return status;
        if (csv->cell_count == 1 && csv->cells[0].bytes == 0 && !csv->cells[0].quoted)
            continue;
        return finish_row(csv, err);
    }
}
