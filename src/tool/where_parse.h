/* Between the parser (where_parse.c) and what finds fields by their names (where_field.c). */
#ifndef MLDF_TOOL_WHERE_PARSE_H
#define MLDF_TOOL_WHERE_PARSE_H

#include "tool/where.h"

struct parser {
    struct where_lexer lexer;
    struct where *where;
    mldf_error *err;
    int depth;
};

mldf_status mldfi_where_new(struct parser *parser, where_op op, where_type type, size_t at, uint32_t *out);
/* A node for the field `name`, which stands at `at`, and the steps from `first` on. A field's own name may hold dots: the longest
 * name that is a field's counts. */
mldf_status mldfi_where_resolve(struct parser *parser, const char *name, size_t at, size_t first, uint32_t *out);

#endif
