/* Between the files of the parser: where_parse.c (operators), where_operand.c (what they stand between) and where_field.c, which finds fields by
 * their names. */
#ifndef MLDF_TOOL_WHERE_PARSE_H
#define MLDF_TOOL_WHERE_PARSE_H

#include "tool/where.h"

struct parser {
    struct lexer lexer;
    struct where *where;
    mldf_error *err;
    int depth;
};

/* ---- Tokens; short names, as nobody else includes this ------------------------------------------------------------- */

static inline mldf_status next(struct parser *p) {
    return mldfi_lex_next(&p->lexer, p->err);
}

static inline bool is(const struct parser *p, token_kind kind) {
    return p->lexer.token.kind == kind;
}

static inline mldf_status fail_at(struct parser *p, size_t at, const char *message) {
    return mldfi_where_fail(p->lexer.text, at, p->err, MLDF_E_ARGUMENT, "%s", message);
}

static inline mldf_status fail_here(struct parser *p, const char *message) {
    return fail_at(p, p->lexer.token.at, message);
}

static inline mldf_status expect(struct parser *p, token_kind kind, const char *message) {
    return is(p, kind) ? next(p) : fail_here(p, message);
}

/* ---- Nodes --------------------------------------------------------------------------------------------------------- */

static inline where_type type_of(const struct parser *p, uint32_t node) {
    return p->where->nodes[node].type;
}

mldf_status mldfi_where_new(struct parser *parser, where_op op, where_type type, size_t at, uint32_t *out);
mldf_status mldfi_where_binary(struct parser *p, where_op op, where_type type, size_t at, uint32_t a, uint32_t b,
                               uint32_t *out);
/* "WANTED is needed here, and this is ...". */
mldf_status mldfi_where_refuse(struct parser *p, uint32_t node, const char *wanted);
bool mldfi_where_textual(where_type type);

/* ---- Between the files --------------------------------------------------------------------------------------------- */

/* From `or` down. */
mldf_status mldfi_where_expression(struct parser *p, uint32_t *out);
bool mldfi_where_is_literal(const struct parser *p);
mldf_status mldfi_where_literal(struct parser *p, uint32_t *out);
/* A field, index, key, or a call: a name is the current token. */
mldf_status mldfi_where_name(struct parser *p, uint32_t *out);
/* A node for the field `name`, which stands at `at`, and the steps from `first` on. A field's own name may hold dots: the longest
 * name that is a field's counts. */
mldf_status mldfi_where_resolve(struct parser *parser, const char *name, size_t at, size_t first, uint32_t *out);

#endif
