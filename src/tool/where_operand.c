/* What stands between the operators of a predicate: literals, calls of functions, names of fields with the steps behind them. The operators are
 * where_parse.c's. */
#include <string.h>

#include "tool/where.h"
#include "tool/where_parse.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/number.h"

/* ---- Literals ------------------------------------------------------------------------------------------------------ */

static mldf_status number_literal(struct parser *p, struct where_value *out) {
    const struct token *token = &p->lexer.token;
    const char *text = p->lexer.text + token->at;
    if (mldfi_parse_i64(text, token->bytes, &out->as.i)) {
        out->kind = WHERE_INT;
    } else if (mldfi_parse_u64(text, token->bytes, &out->as.u)) {
        out->kind = WHERE_UINT;
    } else if (mldfi_parse_double(text, token->bytes, &out->as.f)) {
        out->kind = WHERE_FLOAT;
    } else {
        return fail_here(p, "this number does not read: no leading zeros, and no more than a float64 holds");
    }
    return MLDF_OK;
}

static mldf_status text_literal(struct parser *p, uint32_t node) {
    struct where_node *n = &p->where->nodes[node];
    mldf_status status =
        mldf_buffer_append(&n->scratch, p->lexer.token.string, p->lexer.token.string_bytes + 1, p->err);
    n->value.kind = WHERE_TEXT;
    n->value.data = (const char *)n->scratch.data;
    n->value.bytes = p->lexer.token.string_bytes;
    return status;
}

bool mldfi_where_is_literal(const struct parser *p) {
    token_kind kind = p->lexer.token.kind;
    return kind == TOKEN_NUMBER || kind == TOKEN_TEXT || kind == TOKEN_TRUE || kind == TOKEN_FALSE ||
           kind == TOKEN_NULL;
}

mldf_status mldfi_where_literal(struct parser *p, uint32_t *out) {
    static const where_type types[] = {[TOKEN_NUMBER] = TYPE_NUMBER,
                                       [TOKEN_TEXT] = TYPE_TEXT,
                                       [TOKEN_NULL] = TYPE_NULL,
                                       [TOKEN_TRUE] = TYPE_BOOL,
                                       [TOKEN_FALSE] = TYPE_BOOL};
    token_kind kind = p->lexer.token.kind;
    mldf_status status = mldfi_where_new(p, OP_LITERAL, types[kind], p->lexer.token.at, out);
    if (status < 0)
        return status;
    struct where_node *node = &p->where->nodes[*out];
    if (kind == TOKEN_NUMBER) {
        status = number_literal(p, &node->value);
    } else if (kind == TOKEN_TEXT) {
        status = text_literal(p, *out);
    } else if (kind != TOKEN_NULL) {
        node->value.kind = WHERE_BOOL;
        node->value.as.b = kind == TOKEN_TRUE;
    }
    return status < 0 ? status : next(p);
}

/* ---- Calls --------------------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    where_op op;
    int arguments;
    where_type type;
} functions[] = {
    {"len", OP_LEN, 1, TYPE_NUMBER},         {"bytes", OP_BYTES, 1, TYPE_NUMBER},
    {"contains", OP_CONTAINS, 2, TYPE_BOOL}, {"startswith", OP_STARTSWITH, 2, TYPE_BOOL},
    {"endswith", OP_ENDSWITH, 2, TYPE_BOOL}, {"lower", OP_LOWER, 1, TYPE_TEXT},
};

static mldf_status check_arguments(struct parser *p, where_op op, uint32_t a, uint32_t b) {
    where_type type = type_of(p, a);
    if (op == OP_BYTES)
        return p->where->nodes[a].op == OP_FIELD || mldfi_where_textual(type)
                   ? MLDF_OK
                   : mldfi_where_refuse(p, a, "a field or text");
    if (op == OP_LEN)
        return mldfi_where_textual(type) || type == TYPE_ARRAY
                   ? MLDF_OK
                   : mldfi_where_refuse(p, a, "text, bytes, an array or a JSON value");
    if (!mldfi_where_textual(type))
        return mldfi_where_refuse(p, a, op == OP_CONTAINS ? "text, bytes or a JSON list" : "text or bytes");
    /* A JSON list may hold anything. */
    if (op == OP_LOWER || (op == OP_CONTAINS && type == TYPE_ANY) || mldfi_where_textual(type_of(p, b)))
        return MLDF_OK;
    return mldfi_where_refuse(p, b, "text");
}

static mldf_status parse_call(struct parser *p, const char *name, size_t at, uint32_t *out) {
    uint32_t arguments[2] = {0, 0};
    size_t f = 0, count = sizeof functions / sizeof *functions;
    while (f < count && strcmp(functions[f].name, name) != 0)
        f++;
    if (f == count)
        return mldfi_where_fail(
            p->lexer.text, at, p->err, MLDF_E_ARGUMENT,
            "there is no function '%.40s'; there are len, bytes, contains, startswith, endswith and lower", name);
    mldf_status status = next(p);
    for (int i = 0; status == MLDF_OK && i < functions[f].arguments; i++) {
        if (i > 0)
            status = expect(p, TOKEN_COMMA, "a comma and a second argument are missing");
        if (status == MLDF_OK)
            status = mldfi_where_expression(p, &arguments[i]);
    }
    if (status == MLDF_OK && is(p, TOKEN_COMMA))
        return fail_here(p, functions[f].arguments == 1 ? "this function takes one argument"
                                                        : "this function takes two arguments");
    if (status == MLDF_OK)
        status = expect(p, TOKEN_CLOSE, "')' is missing");
    if (status == MLDF_OK)
        status = check_arguments(p, functions[f].op, arguments[0], arguments[1]);
    return status < 0 ? status
                      : mldfi_where_binary(p, functions[f].op, functions[f].type, at, arguments[0], arguments[1], out);
}

/* ---- Names --------------------------------------------------------------------------------------------------------- */

static mldf_status add_step(struct parser *p, const char *name, size_t bytes, int64_t index) {
    struct where *w = p->where;
    mldf_status status = mldfi_array_reserve(&w->steps, &w->step_capacity, w->step_count + 1, sizeof *w->steps, p->err);
    char *copy = status == MLDF_OK && name ? mldfi_copy_text(name, bytes, p->err) : NULL;
    if (status < 0 || (name && !copy))
        return MLDF_E_MEMORY;
    w->steps[w->step_count++] = (struct where_step){copy, index};
    return MLDF_OK;
}

/* ["name"] or [3]; the bracket is the current token. */
static mldf_status parse_index(struct parser *p) {
    mldf_status status = next(p);
    if (status < 0)
        return status;
    bool negative = is(p, TOKEN_MINUS);
    if (negative && (status = next(p)) < 0)
        return status;
    if (is(p, TOKEN_TEXT) && !negative) {
        status = add_step(p, p->lexer.token.string, p->lexer.token.string_bytes, 0);
    } else {
        int64_t index;
        if (!is(p, TOKEN_NUMBER) || !mldfi_parse_i64(p->lexer.text + p->lexer.token.at, p->lexer.token.bytes, &index))
            return fail_here(p, "between [ and ] a whole number or a quoted name is needed");
        status = add_step(p, NULL, 0, negative ? -index : index);
    }
    if (status == MLDF_OK)
        status = next(p);
    return status < 0 ? status : expect(p, TOKEN_UNLIST, "']' is missing");
}

static mldf_status parse_steps(struct parser *p) {
    mldf_status status = MLDF_OK;
    while (status == MLDF_OK && (is(p, TOKEN_DOT) || is(p, TOKEN_LIST))) {
        if (is(p, TOKEN_LIST)) {
            status = parse_index(p);
            continue;
        }
        if ((status = next(p)) < 0)
            break;
        /* A keyword after a dot is a name like any other. */
        const struct token *token = &p->lexer.token;
        bool word = token->kind == TOKEN_NAME || (token->kind >= TOKEN_OR && token->kind <= TOKEN_FALSE);
        if (token->kind == TOKEN_QUOTED)
            status = add_step(p, token->string, token->string_bytes, 0);
        else if (word)
            status = add_step(p, p->lexer.text + token->at, token->bytes, 0);
        else
            status = fail_here(p, "a name is missing after the dot");
        if (status == MLDF_OK)
            status = next(p);
    }
    return status;
}

mldf_status mldfi_where_name(struct parser *p, uint32_t *out) {
    struct token token = p->lexer.token;
    bool quoted = token.kind == TOKEN_QUOTED;
    char name[256];
    size_t bytes = quoted ? token.string_bytes : token.bytes;
    if (bytes >= sizeof name)
        return fail_here(p, "no field has a name that long");
    memcpy(name, quoted ? token.string : p->lexer.text + token.at, bytes);
    name[bytes] = 0;
    TRY(next(p));
    if (!quoted && is(p, TOKEN_OPEN))
        return parse_call(p, name, token.at, out);
    if (!quoted && strcmp(name, "index") == 0)
        return mldfi_where_new(p, OP_INDEX, TYPE_NUMBER, token.at, out);
    if (!quoted && strcmp(name, "key") == 0) {
        if (!mldf_reader_has_keys(p->where->reader))
            return fail_at(p, token.at, "the file has no sample keys; a field of that name is written `key`");
        return mldfi_where_new(p, OP_KEY, TYPE_TEXT, token.at, out);
    }
    size_t first = p->where->step_count;
    mldf_status status = parse_steps(p);
    return status < 0 ? status : mldfi_where_resolve(p, name, token.at, first, out);
}
