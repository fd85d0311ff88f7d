/* Text → a program of steps (kernel/expression.h), by recursive descent. What has constant operands alone is computed here, by the very
 * operation that would run: so folding changes no bit. */
#include <string.h>

#include "pipeline/expression_parse.h"
#include "util/error.h"
#include "util/number.h"

struct parser {
    const char *text;
    size_t bytes, at;
    const double *numbers;
    size_t number_count;
    unsigned nesting;
    unsigned live; /* results lie on a stack: the first free slot */
    struct expression *out;
    mldf_error *err;
};

/* A constant, or a slot. */
struct operand {
    bool constant;
    float value;
    uint8_t slot;
};

#define FAIL(p, place, status, ...) mldfi_fail_at((p)->err, (status), (place), __VA_ARGS__)

static mldf_status take_choice(struct parser *p, struct operand *out);

/* ---- Steps ----------------------------------------------------------------------------------------------------------------- */

static mldf_status slot_of(struct parser *p, const struct operand *o, size_t at, uint8_t *out) {
    struct expression *e = p->out;
    if (!o->constant) {
        *out = o->slot;
        return MLDF_OK;
    }
    for (uint32_t i = 0; i < e->constant_count; i++)
        if (memcmp(&e->constants[i], &o->value, sizeof(float)) == 0) {
            *out = (uint8_t)(EXPRESSION_FIRST_CONSTANT + i);
            return MLDF_OK;
        }
    if (e->constant_count == EXPRESSION_MAX_CONSTANTS)
        return FAIL(p, at, MLDF_E_LIMIT, "more than %d different numbers", EXPRESSION_MAX_CONSTANTS);
    *out = (uint8_t)(EXPRESSION_FIRST_CONSTANT + e->constant_count);
    e->constants[e->constant_count++] = o->value;
    return MLDF_OK;
}

static struct operand fold(expression_code code, unsigned count, const struct operand *operands) {
    float values[3] = {0, 0, 0};
    for (unsigned i = 0; i < count; i++)
        values[i] = operands[i].value;
    return (struct operand){true, mldfi_expression_apply(code, values[0], values[1], values[2]), 0};
}

/* The operands that are results are the topmost of the stack; the lowest of them makes room for the new one. */
static mldf_status add_step(struct parser *p, expression_code code, const struct operand *operands, size_t at,
                            struct operand *out) {
    struct expression *e = p->out;
    unsigned count = mldfi_expression_operands(code), slot = p->live;
    uint8_t slots[3] = {0, 0, 0};
    mldf_status status = MLDF_OK;
    bool constant = true;
    for (unsigned i = 0; i < count; i++) {
        constant = constant && operands[i].constant;
        if (!operands[i].constant && operands[i].slot >= EXPRESSION_FIRST_RESULT && operands[i].slot < slot)
            slot = operands[i].slot;
    }
    if (constant) {
        *out = fold(code, count, operands);
        return MLDF_OK;
    }
    if (e->step_count == EXPRESSION_MAX_STEPS)
        return FAIL(p, at, MLDF_E_LIMIT, "more than %d operations", EXPRESSION_MAX_STEPS);
    if (slot >= EXPRESSION_SLOTS)
        return FAIL(p, at, MLDF_E_LIMIT, "more than %d results that wait for others; simplify it",
                    EXPRESSION_MAX_RESULTS);
    for (unsigned i = 0; i < count && status == MLDF_OK; i++)
        status = slot_of(p, &operands[i], at, &slots[i]);
    e->steps[e->step_count++] = (struct expression_step){(uint8_t)code, (uint8_t)slot, slots[0], slots[1], slots[2]};
    p->live = slot + 1;
    if (p->live - EXPRESSION_FIRST_RESULT > e->result_count)
        e->result_count = p->live - EXPRESSION_FIRST_RESULT;
    *out = (struct operand){false, 0, (uint8_t)slot};
    return status;
}

/* ---- Words ------------------------------------------------------------------------------------------------------------------ */

static void skip_blanks(struct parser *p) {
    while (p->at < p->bytes && memchr(" \t\r\n", p->text[p->at], 4))
        p->at++;
}

/* Is `word` next? Then it is behind us. */
static bool take(struct parser *p, const char *word) {
    size_t bytes = strlen(word);
    skip_blanks(p);
    if (p->bytes - p->at < bytes || memcmp(p->text + p->at, word, bytes) != 0)
        return false;
    p->at += bytes;
    return true;
}

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* "expected X, found Y" */
static mldf_status unexpected(struct parser *p, const char *wanted) {
    skip_blanks(p);
    if (p->at == p->bytes)
        return FAIL(p, p->at, MLDF_E_SYNTAX, "expected %s, found the end", wanted);
    unsigned char c = (unsigned char)p->text[p->at];
    if (c < 0x20 || c > 0x7e)
        return FAIL(p, p->at, MLDF_E_SYNTAX, "expected %s, found byte 0x%02x", wanted, c);
    return FAIL(p, p->at, MLDF_E_SYNTAX, "expected %s, found '%c'", wanted, c);
}

static mldf_status enter(struct parser *p) {
    if (++p->nesting > EXPRESSION_MAX_NESTING)
        return FAIL(p, p->at, MLDF_E_LIMIT, "nested deeper than %d", EXPRESSION_MAX_NESTING);
    return MLDF_OK;
}

/* ---- Values ------------------------------------------------------------------------------------------------------------------ */

static mldf_status take_number(struct parser *p, struct operand *out) {
    const char *begin = p->text + p->at, *bad = NULL;
    bool integer;
    double value;
    const char *end = mldfi_number_end(begin, p->text + p->bytes, &integer, &bad);
    if (!end)
        return FAIL(p, (size_t)((bad ? bad : begin) - p->text), MLDF_E_SYNTAX, "this is not a number");
    if (!mldfi_parse_double(begin, (size_t)(end - begin), &value))
        return FAIL(p, p->at, MLDF_E_SYNTAX, "a number beyond 1.8e308");
    p->at = (size_t)(end - p->text);
    *out = (struct operand){true, (float)value, 0};
    return MLDF_OK;
}

static const struct function {
    const char *name;
    int code; /* -1: clamp */
    unsigned operands;
} functions[] = {
    {"abs", EXPRESSION_ABS, 1},     {"atan2", EXPRESSION_ATAN2, 2},
    {"ceil", EXPRESSION_CEIL, 1},   {"clamp", -1, 3},
    {"cos", EXPRESSION_COS, 1},     {"exp", EXPRESSION_EXP, 1},
    {"floor", EXPRESSION_FLOOR, 1}, {"if", EXPRESSION_SELECT, 3},
    {"log", EXPRESSION_LOG, 1},     {"log10", EXPRESSION_LOG10, 1},
    {"log2", EXPRESSION_LOG2, 1},   {"max", EXPRESSION_MAX, 2},
    {"min", EXPRESSION_MIN, 2},     {"pow", EXPRESSION_POW, 2},
    {"round", EXPRESSION_ROUND, 1}, {"sin", EXPRESSION_SIN, 1},
    {"sqrt", EXPRESSION_SQRT, 1},   {"tan", EXPRESSION_TAN, 1},
    {"tanh", EXPRESSION_TANH, 1},
};

static const struct function *find_function(const char *name, size_t bytes) {
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strlen(functions[i].name) == bytes && memcmp(functions[i].name, name, bytes) == 0)
            return &functions[i];
    return NULL;
}

/* ( value, value ... ) */
static mldf_status take_call(struct parser *p, const struct function *f, size_t at, struct operand *out) {
    struct operand operands[3];
    mldf_status status = take(p, "(") ? MLDF_OK : unexpected(p, "'('");
    for (unsigned i = 0; status == MLDF_OK && i < f->operands; i++) {
        if (i && !take(p, ","))
            return unexpected(p, "','");
        status = take_choice(p, &operands[i]);
    }
    if (status == MLDF_OK && !take(p, ")"))
        return unexpected(p, f->operands == 1 ? "')'" : "')' after the last operand");
    if (status < 0)
        return status;
    if (f->code >= 0)
        return add_step(p, (expression_code)f->code, operands, at, out);
    /* clamp: not below the second, then not above the third. The third is still on the stack meanwhile. */
    unsigned live = p->live;
    struct operand held[2] = {{0}, operands[2]};
    status = add_step(p, EXPRESSION_MAX, operands, at, &held[0]);
    p->live = p->live > live ? p->live : live;
    return status == MLDF_OK ? add_step(p, EXPRESSION_MIN, held, at, out) : status;
}

static mldf_status take_name(struct parser *p, struct operand *out) {
    size_t at = p->at;
    const char *name = p->text + at;
    while (p->at < p->bytes && (is_letter(p->text[p->at]) || is_digit(p->text[p->at])))
        p->at++;
    size_t bytes = p->at - at;
    const struct function *f = find_function(name, bytes);
    uint64_t number;
    *out = (struct operand){false, 0, EXPRESSION_X};
    if (f)
        return take_call(p, f, at, out);
    if (bytes == 1 && name[0] == 'x')
        return MLDF_OK;
    if (bytes == 1 && name[0] == 'c') {
        out->slot = EXPRESSION_CHANNEL;
        p->out->uses_channel = true;
        return MLDF_OK;
    }
    out->constant = true;
    if (bytes == 2 && memcmp(name, "pi", 2) == 0) {
        out->value = 0x1.921fb6p+1f;
        return MLDF_OK;
    }
    if (name[0] == 'p' && mldfi_parse_u64(name + 1, bytes - 1, &number)) {
        if (number >= p->number_count)
            return FAIL(p, at, MLDF_E_SYNTAX, "%.*s is not given: p has %zu number%s", (int)(bytes < 24 ? bytes : 24),
                        name, p->number_count, p->number_count == 1 ? "" : "s");
        out->value = (float)p->numbers[number];
        return MLDF_OK;
    }
    return FAIL(p, at, MLDF_E_SYNTAX, "%.*s is unknown: there are x, c, pi, p0 ... and functions such as min and sqrt",
                (int)(bytes < 24 ? bytes : 24), name);
}

static mldf_status take_primary(struct parser *p, struct operand *out) {
    skip_blanks(p);
    if (p->at < p->bytes && is_digit(p->text[p->at]))
        return take_number(p, out);
    if (p->at < p->bytes && is_letter(p->text[p->at]))
        return take_name(p, out);
    if (!take(p, "("))
        return unexpected(p, "a value");
    mldf_status status = take_choice(p, out);
    if (status == MLDF_OK && !take(p, ")"))
        return unexpected(p, "')'");
    return status;
}

/* ---- Operators, the strongest first ---------------------------------------------------------------------------------------------- */

static mldf_status take_unary(struct parser *p, struct operand *out) {
    mldf_status status = enter(p);
    struct operand operand;
    if (status < 0)
        return status;
    size_t at = p->at;
    bool negate = take(p, "-"), plus = !negate && take(p, "+"), invert = !negate && !plus && take(p, "!");
    if (negate || plus || invert)
        status = take_unary(p, &operand);
    else
        status = take_primary(p, out);
    if (status == MLDF_OK && plus)
        *out = operand;
    if (status == MLDF_OK && (negate || invert))
        status = add_step(p, negate ? EXPRESSION_NEGATE : EXPRESSION_NOT, &operand, at, out);
    p->nesting--;
    return status;
}

static mldf_status take_product(struct parser *p, struct operand *out) {
    mldf_status status = take_unary(p, out);
    for (;;) {
        struct operand pair[2] = {*out, {0}};
        skip_blanks(p);
        size_t at = p->at;
        bool times = status == MLDF_OK && take(p, "*");
        if (status < 0 || (!times && !take(p, "/")))
            return status;
        status = take_unary(p, &pair[1]);
        if (status == MLDF_OK)
            status = add_step(p, times ? EXPRESSION_MULTIPLY : EXPRESSION_DIVIDE, pair, at, out);
    }
}

static mldf_status take_sum(struct parser *p, struct operand *out) {
    mldf_status status = take_product(p, out);
    for (;;) {
        struct operand pair[2] = {*out, {0}};
        skip_blanks(p);
        size_t at = p->at;
        bool plus = status == MLDF_OK && take(p, "+");
        if (status < 0 || (!plus && !take(p, "-")))
            return status;
        status = take_product(p, &pair[1]);
        if (status == MLDF_OK)
            status = add_step(p, plus ? EXPRESSION_ADD : EXPRESSION_SUBTRACT, pair, at, out);
    }
}

static const struct comparison {
    const char *sign;
    expression_code code;
    bool turned;
} comparisons[] = {{"<=", EXPRESSION_AT_MOST, false}, {">=", EXPRESSION_AT_MOST, true}, {"==", EXPRESSION_EQUAL, false},
                   {"!=", EXPRESSION_UNEQUAL, false}, {"<", EXPRESSION_LESS, false},    {">", EXPRESSION_LESS, true}};

static const struct comparison *take_comparison(struct parser *p) {
    for (size_t i = 0; i < sizeof comparisons / sizeof *comparisons; i++)
        if (take(p, comparisons[i].sign))
            return &comparisons[i];
    return NULL;
}

static mldf_status take_relation(struct parser *p, struct operand *out) {
    TRY(take_sum(p, out));
    skip_blanks(p);
    size_t at = p->at;
    const struct comparison *c = take_comparison(p);
    if (!c)
        return MLDF_OK;
    struct operand pair[2] = {*out, *out};
    mldf_status status = take_sum(p, &pair[c->turned ? 0 : 1]);
    if (status == MLDF_OK)
        status = add_step(p, c->code, pair, at, out);
    skip_blanks(p);
    at = p->at;
    if (status == MLDF_OK && take_comparison(p))
        return FAIL(p, at, MLDF_E_SYNTAX, "comparisons do not chain: write a < b && b < c");
    return status;
}

/* && before ||. */
static mldf_status take_logic(struct parser *p, bool either, struct operand *out) {
    mldf_status status = either ? take_logic(p, false, out) : take_relation(p, out);
    for (;;) {
        struct operand pair[2] = {*out, {0}};
        skip_blanks(p);
        size_t at = p->at;
        if (status < 0 || !take(p, either ? "||" : "&&"))
            return status;
        status = either ? take_logic(p, false, &pair[1]) : take_relation(p, &pair[1]);
        if (status == MLDF_OK)
            status = add_step(p, either ? EXPRESSION_OR : EXPRESSION_AND, pair, at, out);
    }
}

/* condition ? value : value */
static mldf_status take_choice(struct parser *p, struct operand *out) {
    struct operand parts[3];
    mldf_status status = enter(p);
    if (status == MLDF_OK)
        status = take_logic(p, true, &parts[0]);
    skip_blanks(p);
    size_t at = p->at;
    if (status == MLDF_OK && !take(p, "?")) {
        *out = parts[0];
        p->nesting--;
        return MLDF_OK;
    }
    if (status == MLDF_OK)
        status = take_choice(p, &parts[1]);
    if (status == MLDF_OK && !take(p, ":"))
        return unexpected(p, "':'");
    if (status == MLDF_OK)
        status = take_choice(p, &parts[2]);
    if (status == MLDF_OK)
        status = add_step(p, EXPRESSION_SELECT, parts, at, out);
    p->nesting--;
    return status;
}

mldf_status mldfi_expression_parse(const char *text, size_t bytes, const double *numbers, size_t number_count,
                                   struct expression *out, mldf_error *err) {
    struct parser p = {text, bytes, 0, numbers, number_count, 0, EXPRESSION_FIRST_RESULT, out, err};
    struct operand result = {0};
    out->step_count = out->constant_count = out->result_count = 0;
    out->uses_channel = false;
    if (bytes > EXPRESSION_MAX_TEXT)
        return FAIL(&p, 0, MLDF_E_LIMIT, "%zu bytes; at most %d are allowed", bytes, EXPRESSION_MAX_TEXT);
    mldf_status status = take_choice(&p, &result);
    skip_blanks(&p);
    if (status == MLDF_OK && p.at < bytes)
        return unexpected(&p, "an operator or the end");
    if (status == MLDF_OK)
        status = slot_of(&p, &result, 0, &out->result);
    return status;
}
