/* The parser of the predicate language: recursive descent, one function for each level of precedence. Types are settled as soon as a node is
 * made. where_operand.c reads what the operators stand between; see where.h. */
#include <stdlib.h>
#include <string.h>

#include "mldf/tool.h"
#include "tool/where.h"
#include "tool/where_parse.h"
#include "util/buffer.h"
#include "util/error.h"

/* ---- Nodes --------------------------------------------------------------------------------------------------------- */

mldf_status mldfi_where_new(struct parser *p, where_op op, where_type type, size_t at, uint32_t *out) {
    struct where *w = p->where;
    TRY(mldfi_array_reserve(&w->nodes, &w->node_capacity, w->node_count + 1, sizeof *w->nodes, p->err));
    memset(&w->nodes[w->node_count], 0, sizeof *w->nodes);
    w->nodes[w->node_count] = (struct where_node){.op = op, .type = type, .at = at};
    *out = (uint32_t)w->node_count++;
    return MLDF_OK;
}

mldf_status mldfi_where_binary(struct parser *p, where_op op, where_type type, size_t at, uint32_t a, uint32_t b,
                               uint32_t *out) {
    mldf_status status = mldfi_where_new(p, op, type, at, out);
    if (status == MLDF_OK) {
        p->where->nodes[*out].a = a;
        p->where->nodes[*out].b = b;
    }
    return status;
}

/* ---- Types --------------------------------------------------------------------------------------------------------- */

static const char *type_name(where_type type) {
    static const char *const names[] = {"a JSON value", "null",  "a truth value", "a number",
                                        "text",         "bytes", "an array",      "a struct"};
    return names[type];
}

mldf_status mldfi_where_refuse(struct parser *p, uint32_t node, const char *wanted) {
    return mldfi_where_fail(p->lexer.text, p->where->nodes[node].at, p->err, MLDF_E_ARGUMENT,
                            "%s is needed here, and this is %s", wanted, type_name(type_of(p, node)));
}

static mldf_status need_condition(struct parser *p, uint32_t node) {
    where_type type = type_of(p, node);
    return type == TYPE_BOOL || type == TYPE_ANY || type == TYPE_NULL ? MLDF_OK
                                                                      : mldfi_where_refuse(p, node, "a condition");
}

static bool is_numeric(where_type type) {
    return type == TYPE_NUMBER || type == TYPE_BOOL || type == TYPE_ANY || type == TYPE_NULL;
}

static mldf_status need_number(struct parser *p, uint32_t node) {
    return is_numeric(type_of(p, node)) ? MLDF_OK : mldfi_where_refuse(p, node, "a number");
}

bool mldfi_where_textual(where_type type) {
    return type == TYPE_TEXT || type == TYPE_BYTES || type == TYPE_ANY || type == TYPE_NULL;
}

static bool comparable(where_type a, where_type b) {
    if (a == TYPE_ARRAY || a == TYPE_STRUCT || b == TYPE_ARRAY || b == TYPE_STRUCT)
        return a == TYPE_NULL || b == TYPE_NULL;
    return (is_numeric(a) && is_numeric(b)) || (mldfi_where_textual(a) && mldfi_where_textual(b));
}

/* label == 'dark': the card's names of classes stand for their numbers. *done: the text has become a number. */
static mldf_status name_to_label(struct parser *p, uint32_t field, uint32_t text, bool *done) {
    struct where_node *f = &p->where->nodes[field], *t = &p->where->nodes[text];
    mldf_classes *classes;
    uint64_t number = 0;
    *done = false;
    if (f->op != OP_FIELD || f->count || f->type != TYPE_NUMBER || t->op != OP_LITERAL || t->value.kind != WHERE_TEXT)
        return MLDF_OK;
    mldf_status status = mldf_classes_new(p->where->reader, p->where->slots[f->slot].field, &classes, p->err);
    if (status != MLDF_OK)
        return status == MLDF_ABSENT ? MLDF_OK : status;
    *done = mldf_classes_find(classes, t->value.data, (size_t)t->value.bytes, &number);
    size_t first_bytes = 0;
    const char *first = mldf_classes_name(classes, 0, &first_bytes);
    if (!*done)
        status = mldfi_where_fail(p->lexer.text, t->at, p->err, MLDF_E_ARGUMENT,
                                  "no class is called '%.60s': the card names %zu, the first is '%.*s'", t->value.data,
                                  mldf_classes_count(classes), (int)(first_bytes < 60 ? first_bytes : 60),
                                  first ? first : "");
    mldf_classes_free(classes);
    if (*done) {
        t->type = TYPE_NUMBER;
        t->value = (struct where_value){.kind = WHERE_UINT, .as.u = number};
    }
    return status;
}

static mldf_status need_comparable(struct parser *p, uint32_t a, uint32_t b, size_t at) {
    bool done;
    mldf_status status = name_to_label(p, a, b, &done);
    if (status == MLDF_OK && !done)
        status = name_to_label(p, b, a, &done);
    if (status < 0 || done)
        return status;
    if (comparable(type_of(p, a), type_of(p, b)))
        return MLDF_OK;
    return mldfi_where_fail(p->lexer.text, at, p->err, MLDF_E_ARGUMENT, "%s cannot be compared with %s",
                            type_name(type_of(p, a)), type_name(type_of(p, b)));
}

/* ---- Expressions --------------------------------------------------------------------------------------------------- */

static mldf_status parse_primary(struct parser *p, uint32_t *out) {
    if (mldfi_where_is_literal(p))
        return mldfi_where_literal(p, out);
    if (is(p, TOKEN_NAME) || is(p, TOKEN_QUOTED))
        return mldfi_where_name(p, out);
    if (!is(p, TOKEN_OPEN))
        return fail_here(p,
                         is(p, TOKEN_END) ? "the expression ends where a value is needed" : "a value is needed here");
    mldf_status status = next(p);
    if (status == MLDF_OK)
        status = mldfi_where_expression(p, out);
    return status < 0 ? status : expect(p, TOKEN_CLOSE, "')' is missing");
}

/* A negative literal is a literal, so that it can stand in a list. */
static mldf_status negate(struct parser *p, uint32_t a, size_t at, uint32_t *out) {
    struct where_node *node = &p->where->nodes[a];
    if (node->op == OP_LITERAL && node->value.kind == WHERE_INT && node->value.as.i == INT64_MIN)
        node->value = (struct where_value){.kind = WHERE_UINT, .as.u = UINT64_C(1) << 63};
    else if (node->op == OP_LITERAL && node->value.kind == WHERE_INT)
        node->value.as.i = -node->value.as.i;
    else if (node->op == OP_LITERAL && node->value.kind == WHERE_FLOAT)
        node->value.as.f = -node->value.as.f;
    else if (node->op == OP_LITERAL && node->value.kind == WHERE_UINT && node->value.as.u == UINT64_C(1) << 63)
        node->value = (struct where_value){.kind = WHERE_INT, .as.i = INT64_MIN};
    else if (node->op == OP_LITERAL && node->value.kind == WHERE_UINT)
        node->value = (struct where_value){.kind = WHERE_FLOAT, .as.f = -(double)node->value.as.u};
    else
        return mldfi_where_binary(p, OP_NEGATE, TYPE_NUMBER, at, a, 0, out);
    *out = a;
    return MLDF_OK;
}

static mldf_status parse_unary(struct parser *p, uint32_t *out) {
    size_t at = p->lexer.token.at;
    uint32_t a;
    if (!is(p, TOKEN_MINUS))
        return parse_primary(p, out);
    if (++p->depth > WHERE_MAX_DEPTH)
        return fail_here(p, "the expression is nested too deeply");
    mldf_status status = next(p);
    if (status == MLDF_OK)
        status = parse_unary(p, &a);
    if (status == MLDF_OK)
        status = need_number(p, a);
    p->depth--;
    return status < 0 ? status : negate(p, a, at, out);
}

static mldf_status parse_product(struct parser *p, uint32_t *out) {
    mldf_status status = parse_unary(p, out);
    while (status == MLDF_OK && (is(p, TOKEN_STAR) || is(p, TOKEN_SLASH) || is(p, TOKEN_PERCENT))) {
        where_op op = is(p, TOKEN_STAR) ? OP_MULTIPLY : is(p, TOKEN_SLASH) ? OP_DIVIDE : OP_MODULO;
        size_t at = p->lexer.token.at;
        uint32_t a = *out, b;
        if ((status = next(p)) == MLDF_OK && (status = parse_unary(p, &b)) == MLDF_OK &&
            (status = need_number(p, a)) == MLDF_OK && (status = need_number(p, b)) == MLDF_OK)
            status = mldfi_where_binary(p, op, TYPE_NUMBER, at, a, b, out);
    }
    return status;
}

static mldf_status parse_sum(struct parser *p, uint32_t *out) {
    mldf_status status = parse_product(p, out);
    while (status == MLDF_OK && (is(p, TOKEN_PLUS) || is(p, TOKEN_MINUS))) {
        where_op op = is(p, TOKEN_PLUS) ? OP_ADD : OP_SUBTRACT;
        size_t at = p->lexer.token.at;
        uint32_t a = *out, b;
        if ((status = next(p)) == MLDF_OK && (status = parse_product(p, &b)) == MLDF_OK &&
            (status = need_number(p, a)) == MLDF_OK && (status = need_number(p, b)) == MLDF_OK)
            status = mldfi_where_binary(p, op, TYPE_NUMBER, at, a, b, out);
    }
    return status;
}

/* [1, 2, 'x'] after in, or (1, 2, 'x') as in SQL; the literals follow each other. */
static mldf_status parse_list(struct parser *p, uint32_t a, uint32_t *out) {
    size_t at = p->lexer.token.at;
    uint32_t first = (uint32_t)p->where->node_count, count = 0, item;
    mldf_status status = next(p);
    bool round = status == MLDF_OK && is(p, TOKEN_OPEN);
    if (status == MLDF_OK)
        status = round ? next(p) : expect(p, TOKEN_LIST, "in needs a list: [1, 2]");
    while (status == MLDF_OK && !is(p, round ? TOKEN_CLOSE : TOKEN_UNLIST)) {
        if (count > 0 &&
            (status = expect(p, TOKEN_COMMA, round ? "',' or ')' is missing" : "',' or ']' is missing")) < 0)
            break;
        if (!mldfi_where_is_literal(p) && !is(p, TOKEN_MINUS)) {
            status = fail_here(p, "a list holds numbers, texts, true, false and null only");
        } else {
            status = parse_unary(p, &item);
            if (status == MLDF_OK && item != first + count)
                status = fail_at(p, at, "a list holds numbers, texts, true, false and null only");
        }
        if (status == MLDF_OK && (status = need_comparable(p, a, item, p->where->nodes[item].at)) == MLDF_OK)
            count++;
    }
    if (status == MLDF_OK)
        status = next(p);
    if (status == MLDF_OK)
        status = mldfi_where_binary(p, OP_IN, TYPE_BOOL, at, a, first, out);
    if (status == MLDF_OK)
        p->where->nodes[*out].count = count;
    return status;
}

static mldf_status parse_is(struct parser *p, uint32_t a, uint32_t *out) {
    size_t at = p->lexer.token.at;
    mldf_status status = next(p);
    bool negative = status == MLDF_OK && is(p, TOKEN_NOT);
    if (negative)
        status = next(p);
    if (status == MLDF_OK)
        status = expect(p, TOKEN_NULL, "is is followed by null or not null");
    if (status == MLDF_OK)
        status = mldfi_where_binary(p, OP_IS_NULL, TYPE_BOOL, at, a, 0, out);
    return status == MLDF_OK && negative ? mldfi_where_binary(p, OP_NOT, TYPE_BOOL, at, *out, 0, out) : status;
}

/* x == null and x != null ask for null itself; every other comparison with a null is false. */
static mldf_status make_comparison(struct parser *p, where_op op, size_t at, uint32_t a, uint32_t b, uint32_t *out) {
    const struct where_node *x = &p->where->nodes[a], *y = &p->where->nodes[b];
    bool null_a = x->op == OP_LITERAL && x->value.kind == WHERE_NULL,
         null_b = y->op == OP_LITERAL && y->value.kind == WHERE_NULL;
    mldf_status status = need_comparable(p, a, b, at);
    if (status < 0 || !(null_a || null_b) || (op != OP_EQ && op != OP_NE))
        return status < 0 ? status : mldfi_where_binary(p, op, TYPE_BOOL, at, a, b, out);
    status = mldfi_where_binary(p, OP_IS_NULL, TYPE_BOOL, at, null_b ? a : b, 0, out);
    return status == MLDF_OK && op == OP_NE ? mldfi_where_binary(p, OP_NOT, TYPE_BOOL, at, *out, 0, out) : status;
}

static bool is_comparison(const struct parser *p) {
    return p->lexer.token.kind >= TOKEN_EQ && p->lexer.token.kind <= TOKEN_GE;
}

static mldf_status parse_comparison(struct parser *p, uint32_t *out) {
    static const where_op ops[] = {OP_EQ, OP_NE, OP_LT, OP_LE, OP_GT, OP_GE};
    uint32_t a, b;
    mldf_status status = parse_sum(p, &a);
    *out = a;
    if (status < 0)
        return status;
    size_t at = p->lexer.token.at;
    if (is(p, TOKEN_IS))
        return parse_is(p, a, out);
    if (is(p, TOKEN_IN))
        return parse_list(p, a, out);
    if (is(p, TOKEN_NOT)) {
        if ((status = next(p)) < 0)
            return status;
        if (!is(p, TOKEN_IN))
            return fail_here(p, "'in' is missing after not");
        status = parse_list(p, a, out);
        return status < 0 ? status : mldfi_where_binary(p, OP_NOT, TYPE_BOOL, at, *out, 0, out);
    }
    if (!is_comparison(p))
        return MLDF_OK;
    where_op op = ops[p->lexer.token.kind - TOKEN_EQ];
    if ((status = next(p)) < 0 || (status = parse_sum(p, &b)) < 0)
        return status;
    if (is_comparison(p))
        return fail_here(p, "comparisons do not chain: write a < b and b < c");
    return make_comparison(p, op, at, a, b, out);
}

static mldf_status parse_not(struct parser *p, uint32_t *out) {
    size_t at = p->lexer.token.at;
    uint32_t a;
    if (!is(p, TOKEN_NOT))
        return parse_comparison(p, out);
    if (++p->depth > WHERE_MAX_DEPTH)
        return fail_here(p, "the expression is nested too deeply");
    mldf_status status = next(p);
    if (status == MLDF_OK)
        status = parse_not(p, &a);
    if (status == MLDF_OK)
        status = need_condition(p, a);
    p->depth--;
    return status < 0 ? status : mldfi_where_binary(p, OP_NOT, TYPE_BOOL, at, a, 0, out);
}

static mldf_status parse_and(struct parser *p, uint32_t *out) {
    mldf_status status = parse_not(p, out);
    while (status == MLDF_OK && is(p, TOKEN_AND)) {
        size_t at = p->lexer.token.at;
        uint32_t a = *out, b;
        if ((status = next(p)) == MLDF_OK && (status = parse_not(p, &b)) == MLDF_OK &&
            (status = need_condition(p, a)) == MLDF_OK && (status = need_condition(p, b)) == MLDF_OK)
            status = mldfi_where_binary(p, OP_AND, TYPE_BOOL, at, a, b, out);
    }
    return status;
}

mldf_status mldfi_where_expression(struct parser *p, uint32_t *out) {
    if (++p->depth > WHERE_MAX_DEPTH)
        return fail_here(p, "the expression is nested too deeply");
    mldf_status status = parse_and(p, out);
    while (status == MLDF_OK && is(p, TOKEN_OR)) {
        size_t at = p->lexer.token.at;
        uint32_t a = *out, b;
        if ((status = next(p)) == MLDF_OK && (status = parse_and(p, &b)) == MLDF_OK &&
            (status = need_condition(p, a)) == MLDF_OK && (status = need_condition(p, b)) == MLDF_OK)
            status = mldfi_where_binary(p, OP_OR, TYPE_BOOL, at, a, b, out);
    }
    p->depth--;
    return status;
}

mldf_status mldfi_where_compile(const mldf_reader *reader, const char *text, struct where **out, mldf_error *err) {
    struct arena arena = {0};
    struct parser p = {.lexer = {&mldfi_where_language, text, strlen(text), {TOKEN_END, 0, 0, NULL, 0}, 0, &arena},
                       .err = err};
    *out = NULL;
    if (p.lexer.bytes > WHERE_MAX_TEXT)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "where: %zu bytes of text; at most %d are possible", p.lexer.bytes,
                          WHERE_MAX_TEXT);
    p.where = mldfi_alloc_zero(1, sizeof *p.where, err);
    if (!p.where)
        return MLDF_E_MEMORY;
    p.where->reader = reader;
    mldf_status status = next(&p);
    if (status == MLDF_OK)
        status = mldfi_where_expression(&p, &p.where->root);
    if (status == MLDF_OK && !is(&p, TOKEN_END))
        status = fail_here(&p, "the expression should end here");
    if (status == MLDF_OK)
        status = need_condition(&p, p.where->root);
    mldfi_arena_free(&arena);
    if (status < 0)
        mldfi_where_free(p.where);
    else
        *out = p.where;
    return status;
}
