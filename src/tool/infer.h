/* Types from values: what the first 10,000 rows of a table say about each column. Its one idea: count what was seen, decide once at
 * the end. The rules are in the user's guide: integers, floats, booleans, text, nested values, lists of numbers of one length. */
#ifndef MLDF_TOOL_INFER_H
#define MLDF_TOOL_INFER_H

#include "field/field.h"
#include "tool/rows.h"

enum { INFER_ROWS = 10000 };

/* What one column has shown so far. */
struct guess {
    uint64_t values; /* not null */
    uint64_t nulls;
    uint64_t bools, floats, texts, nested;
    uint64_t nonfinite; /* JSON strings "NaN", "Infinity", "-Infinity": floats beside numbers, text otherwise */
    uint64_t ints;      /* fit 64 bits, one way or the other */
    uint64_t above_i64, negative; /* of ints */
    uint64_t big;                 /* integers beyond 64 bits */
    bool int_inexact;             /* an integer that a float64 cannot hold */
    uint64_t lists;               /* lists of numbers */
    uint64_t list_length;
    bool list_ragged, list_float, list_inexact, list_beyond_i64;
    const struct field_type *files; /* of a column that names files: what they are, by the first name that says it */
};

void mldfi_guess_cell(struct guess *guess, const struct cell *cell, struct json *scratch);

struct inferred {
    uint16_t type_id;
    uint16_t flags;       /* MLDF_FIELD_NULLABLE */
    char arguments[64];   /* "" when none */
    bool numbers_as_text; /* JSON lines: a TEXT column that holds integers beyond 64 bits */
};
/* json: from JSON lines, where a mixture is JSON; in CSV it is text. */
void mldfi_guess_decide(const struct guess *guess, bool json, struct inferred *out);

/* How the text of a CSV cell reads. Spaces around numbers do not count. */
typedef enum text_kind {
    TEXT_EMPTY,
    TEXT_BOOL,
    TEXT_INT,
    TEXT_UINT /* above i64 */,
    TEXT_BIG,
    TEXT_FLOAT,
    TEXT_WORDS
} text_kind;
struct text_number {
    int64_t i;
    uint64_t u;
    double f; /* FLOAT; BIG: the nearest, or infinity */
};
/* loose: leading zeros and a plus sign are numbers too (the user's schema says that it is a number). */
text_kind mldfi_read_text(const char *text, size_t bytes, bool loose, struct text_number *out);
/* A JSON number: TEXT_INT, TEXT_UINT, TEXT_BIG, TEXT_FLOAT; TEXT_WORDS when beyond float64. */
text_kind mldfi_read_json_number(const char *text, size_t bytes, struct text_number *out);
bool mldfi_int_is_exact(int64_t value);
bool mldfi_uint_is_exact(uint64_t value);
/* The spelling that the command prints for what JSON has no number for. */
bool mldfi_json_nonfinite(const struct json *json, uint32_t node, double *out);

#endif
