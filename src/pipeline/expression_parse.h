/* Expressions as text: see docs/operations-of-your-own.md for the language. */
#ifndef MLDF_PIPELINE_EXPRESSION_PARSE_H
#define MLDF_PIPELINE_EXPRESSION_PARSE_H

#include "kernel/expression.h"
#include "mldf/base.h"

enum {
    EXPRESSION_MAX_TEXT = 4096,
    EXPRESSION_MAX_NESTING = 64,
    EXPRESSION_MAX_NUMBERS = 16 /* p0 ... p15 */
};

/* numbers: the values of p0, p1 ... MLDF_E_SYNTAX or MLDF_E_LIMIT with err->offset, the byte of the text that is wrong. */
mldf_status mldfi_expression_parse(const char *text, size_t bytes, const double *numbers, size_t number_count,
                                   struct expression *out, mldf_error *err);

#endif
