/* Evaluating a predicate for one sample. Nulls: a comparison with a null is false, arithmetic and functions of a null give null, and a
 * null where a condition is needed counts as false. The same goes for JSON values of the wrong kind. See where.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tool/where.h"
#include "util/buffer.h"
#include "util/error.h"

static mldf_status eval(struct where *w, uint32_t at, struct where_value *out, mldf_error *err);

/* ---- Comparing ----------------------------------------------------------------------------------------------------- */

enum { UNORDERED = 2 };

static bool is_number(const struct where_value *v) {
    return v->kind == WHERE_BOOL || v->kind == WHERE_INT || v->kind == WHERE_UINT || v->kind == WHERE_FLOAT;
}

/* An integer as sign and magnitude. */
static uint64_t magnitude(const struct where_value *v, bool *negative) {
    *negative = v->kind == WHERE_INT && v->as.i < 0;
    if (v->kind == WHERE_BOOL)
        return v->as.b;
    return *negative ? 0 - (uint64_t)v->as.i : v->as.u;
}

/* A whole number that is not negative against a float that is not NaN, exactly. */
static int compare_whole(uint64_t whole, double f) {
    if (f < 0)
        return 1;
    if (f >= 18446744073709551616.0)
        return -1;
    uint64_t part = (uint64_t)f;
    if (whole != part)
        return whole < part ? -1 : 1;
    return f > (double)part ? -1 : 0;
}

static int compare_mixed(const struct where_value *integer, double f) {
    bool negative;
    uint64_t m = magnitude(integer, &negative);
    if (isnan(f))
        return UNORDERED;
    return negative ? -compare_whole(m, -f) : compare_whole(m, f);
}

static int compare_numbers(const struct where_value *a, const struct where_value *b) {
    if (a->kind == WHERE_FLOAT && b->kind == WHERE_FLOAT)
        return isnan(a->as.f) || isnan(b->as.f) ? UNORDERED : (a->as.f > b->as.f) - (a->as.f < b->as.f);
    if (b->kind == WHERE_FLOAT)
        return compare_mixed(a, b->as.f);
    if (a->kind == WHERE_FLOAT) {
        int turned = compare_mixed(b, a->as.f);
        return turned == UNORDERED ? UNORDERED : -turned;
    }
    bool na, nb;
    uint64_t ma = magnitude(a, &na), mb = magnitude(b, &nb);
    if (na != nb)
        return na ? -1 : 1;
    int order = (ma > mb) - (ma < mb);
    return na ? -order : order;
}

static bool is_string(const struct where_value *v) {
    return v->kind == WHERE_TEXT || v->kind == WHERE_BYTES;
}

static int compare_strings(const struct where_value *a, const struct where_value *b) {
    size_t shorter = (size_t)(a->bytes < b->bytes ? a->bytes : b->bytes);
    int order = shorter ? memcmp(a->data, b->data, shorter) : 0;
    return order ? (order > 0) - (order < 0) : (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

int mldfi_where_compare(const struct where_value *a, const struct where_value *b) {
    if (is_number(a) && is_number(b))
        return compare_numbers(a, b);
    if (is_string(a) && is_string(b))
        return compare_strings(a, b);
    return UNORDERED;
}

static bool holds(where_op op, const struct where_value *a, const struct where_value *b) {
    if (a->kind == WHERE_NULL || b->kind == WHERE_NULL)
        return false;
    int order = mldfi_where_compare(a, b);
    switch (op) {
    case OP_EQ:
        return order == 0;
    case OP_NE:
        return order != 0;
    case OP_LT:
        return order == -1;
    case OP_LE:
        return order == -1 || order == 0;
    case OP_GT:
        return order == 1;
    default:
        return order == 1 || order == 0;
    }
}

/* ---- Arithmetic ---------------------------------------------------------------------------------------------------- */

static double as_double(const struct where_value *v) {
    switch (v->kind) {
    case WHERE_BOOL:
        return v->as.b;
    case WHERE_INT:
        return (double)v->as.i;
    case WHERE_UINT:
        return (double)v->as.u;
    default:
        return v->as.f;
    }
}

static bool as_i64(const struct where_value *v, int64_t *out) {
    if (v->kind == WHERE_BOOL)
        *out = v->as.b;
    else
        *out = v->as.i;
    return v->kind == WHERE_BOOL || v->kind == WHERE_INT || (v->kind == WHERE_UINT && v->as.u <= INT64_MAX);
}

/* In 64 bits; false where that overflows, or the result is no whole number. */
static bool whole_arithmetic(where_op op, int64_t x, int64_t y, int64_t *out) {
    switch (op) {
    case OP_ADD:
        return !__builtin_add_overflow(x, y, out);
    case OP_SUBTRACT:
        return !__builtin_sub_overflow(x, y, out);
    case OP_MULTIPLY:
        return !__builtin_mul_overflow(x, y, out);
    case OP_MODULO: /* the sign is the divisor's */
        *out = y == -1 ? 0 : x % y;
        if (*out != 0 && (*out < 0) != (y < 0))
            *out += y;
        return true;
    default:
        return false;
    }
}

static void arithmetic(where_op op, const struct where_value *a, const struct where_value *b, struct where_value *out) {
    int64_t x, y;
    memset(out, 0, sizeof *out);
    if (!is_number(a) || !is_number(b))
        return;
    double f = as_double(a), g = as_double(b);
    bool zero = !(g < 0) && !(g > 0) && !isnan(g);
    if (zero && (op == OP_DIVIDE || op == OP_MODULO))
        return;
    if (as_i64(a, &x) && as_i64(b, &y) && whole_arithmetic(op, x, y, &out->as.i)) {
        out->kind = WHERE_INT;
        return;
    }
    out->kind = WHERE_FLOAT;
    switch (op) {
    case OP_ADD:
        out->as.f = f + g;
        break;
    case OP_SUBTRACT:
        out->as.f = f - g;
        break;
    case OP_MULTIPLY:
        out->as.f = f * g;
        break;
    case OP_DIVIDE:
        out->as.f = f / g;
        break;
    default:
        out->as.f = f - floor(f / g) * g;
    }
}

/* ---- Functions ----------------------------------------------------------------------------------------------------- */

static void set_count(struct where_value *out, uint64_t count) {
    memset(out, 0, sizeof *out);
    out->kind = WHERE_UINT;
    out->as.u = count;
}

/* Characters of text, bytes of bytes, elements of the rest. */
static void length_of(const struct where_value *v, struct where_value *out) {
    uint64_t count = 0;
    switch (v->kind) {
    case WHERE_TEXT:
        for (uint64_t i = 0; i < v->bytes; i++)
            count += ((uint8_t)v->data[i] & 0xC0) != 0x80;
        set_count(out, count);
        break;
    case WHERE_BYTES:
        set_count(out, v->bytes);
        break;
    case WHERE_ARRAY:
        memset(out, 0, sizeof *out);
        if (v->bytes != MLDF_NONE)
            set_count(out, v->bytes);
        break;
    case WHERE_JSON:
        set_count(out, v->json->nodes[v->node].count);
        break;
    default:
        memset(out, 0, sizeof *out);
    }
}

static bool list_contains(const struct where_value *list, const struct where_value *wanted) {
    const struct json *json = list->json;
    if (json->nodes[list->node].kind != MLDFI_JSON_ARRAY)
        return false;
    for (uint32_t i = mldfi_json_first(json, list->node); i < json->nodes[list->node].next; i = json->nodes[i].next) {
        struct where_value item;
        mldfi_where_json(json, i, &item);
        if (item.kind == WHERE_NULL ? wanted->kind == WHERE_NULL : holds(OP_EQ, &item, wanted))
            return true;
    }
    return false;
}

static bool finds(where_op op, const struct where_value *text, const struct where_value *part) {
    if (op == OP_CONTAINS && text->kind == WHERE_JSON)
        return list_contains(text, part);
    if (!is_string(text) || !is_string(part) || part->bytes > text->bytes)
        return false;
    size_t bytes = (size_t)part->bytes, last = (size_t)text->bytes - bytes;
    if (bytes == 0)
        return true;
    if (op == OP_STARTSWITH)
        return memcmp(text->data, part->data, bytes) == 0;
    if (op == OP_ENDSWITH)
        return memcmp(text->data + last, part->data, bytes) == 0;
    for (size_t i = 0; i <= last; i++) {
        const char *found = memchr(text->data + i, part->data[0], last - i + 1);
        if (!found)
            return false;
        i = (size_t)(found - text->data);
        if (memcmp(found, part->data, bytes) == 0)
            return true;
    }
    return false;
}

/* ASCII letters only: other alphabets need tables that change with every version of Unicode. */
static mldf_status lower(struct where_node *node, const struct where_value *v, struct where_value *out,
                         mldf_error *err) {
    memset(out, 0, sizeof *out);
    if (!is_string(v))
        return MLDF_OK;
    TRY(mldfi_buffer_resize(&node->scratch, (size_t)v->bytes, err));
    for (uint64_t i = 0; i < v->bytes; i++) {
        char c = v->data[i];
        node->scratch.data[i] = (uint8_t)(c >= 'A' && c <= 'Z' ? c + 32 : c);
    }
    out->kind = v->kind;
    out->data = (const char *)node->scratch.data;
    out->bytes = v->bytes;
    return MLDF_OK;
}

/* ---- Nodes --------------------------------------------------------------------------------------------------------- */

static void set_bool(struct where_value *out, bool value) {
    memset(out, 0, sizeof *out);
    out->kind = WHERE_BOOL;
    out->as.b = value;
}

static bool is_true(const struct where_value *v) {
    return v->kind == WHERE_BOOL && v->as.b;
}

/* The second side is looked at only when it matters. */
static mldf_status eval_logic(struct where *w, const struct where_node *node, struct where_value *out,
                              mldf_error *err) {
    mldf_status status = eval(w, node->a, out, err);
    bool first = status == MLDF_OK && is_true(out);
    if (status == MLDF_OK && node->op != OP_NOT && first == (node->op == OP_AND)) {
        status = eval(w, node->b, out, err);
        set_bool(out, is_true(out));
        return status;
    }
    set_bool(out, node->op == OP_NOT ? !first : first);
    return status;
}

static bool in_list(const struct where *w, const struct where_node *node, const struct where_value *a) {
    for (uint32_t i = 0; i < node->count; i++) {
        const struct where_value *item = &w->nodes[node->b + i].value;
        if (item->kind == WHERE_NULL ? a->kind == WHERE_NULL : holds(OP_EQ, a, item))
            return true;
    }
    return false;
}

static mldf_status eval_pair(struct where *w, struct where_node *node, struct where_value *out, mldf_error *err) {
    struct where_value a, b;
    mldf_status status = eval(w, node->a, &a, err);
    if (status == MLDF_OK)
        status = eval(w, node->b, &b, err);
    if (status < 0)
        return status;
    if (node->op >= OP_ADD && node->op <= OP_MODULO)
        arithmetic(node->op, &a, &b, out);
    else if (node->op >= OP_EQ && node->op <= OP_GE)
        set_bool(out, holds(node->op, &a, &b));
    else
        set_bool(out, finds(node->op, &a, &b));
    return MLDF_OK;
}

static mldf_status eval_one(struct where *w, struct where_node *node, struct where_value *out, mldf_error *err) {
    struct where_value a, zero = {.kind = WHERE_INT};
    if (node->op == OP_BYTES && w->nodes[node->a].op == OP_FIELD && w->nodes[node->a].count == 0)
        return mldfi_where_field_bytes(w, &w->nodes[node->a], out, err);
    TRY(eval(w, node->a, &a, err));
    switch (node->op) {
    case OP_IS_NULL:
        set_bool(out, a.kind == WHERE_NULL);
        break;
    case OP_IN:
        set_bool(out, in_list(w, node, &a));
        break;
    case OP_NEGATE:
        arithmetic(OP_SUBTRACT, &zero, &a, out);
        break;
    case OP_LOWER:
        return lower(node, &a, out, err);
    case OP_BYTES:
        memset(out, 0, sizeof *out);
        if (is_string(&a))
            set_count(out, a.bytes);
        break;
    default:
        length_of(&a, out);
    }
    return MLDF_OK;
}

static mldf_status eval(struct where *w, uint32_t at, struct where_value *out, mldf_error *err) {
    struct where_node *node = &w->nodes[at];
    size_t key_bytes = 0;
    switch (node->op) {
    case OP_LITERAL:
        *out = node->value;
        return MLDF_OK;
    case OP_FIELD:
        return mldfi_where_field(w, node, out, err);
    case OP_INDEX:
        set_count(out, w->sample);
        return MLDF_OK;
    case OP_KEY: {
        memset(out, 0, sizeof *out);
        mldf_status status = mldf_reader_key(w->reader, w->sample, &w->key_scratch, &out->data, &key_bytes, err);
        out->kind = WHERE_TEXT;
        out->bytes = key_bytes;
        return status;
    }
    case OP_NOT:
    case OP_AND:
    case OP_OR:
        return eval_logic(w, node, out, err);
    case OP_IN:
    case OP_IS_NULL:
    case OP_NEGATE:
    case OP_LEN:
    case OP_BYTES:
    case OP_LOWER:
        return eval_one(w, node, out, err);
    default:
        return eval_pair(w, node, out, err);
    }
}

mldf_status mldfi_where_test(struct where *w, uint64_t sample, bool *out, mldf_error *err) {
    struct where_value value;
    w->sample = sample;
    for (size_t i = 0; i < w->slot_count; i++)
        w->slots[i].loaded = false;
    mldf_status status = eval(w, w->root, &value, err);
    *out = status == MLDF_OK && is_true(&value);
    return status;
}

void mldfi_where_free(struct where *w) {
    if (!w)
        return;
    for (size_t i = 0; i < w->node_count; i++)
        mldf_buffer_free(&w->nodes[i].scratch);
    for (size_t i = 0; i < w->step_count; i++)
        free(w->steps[i].name);
    for (size_t i = 0; i < w->slot_count; i++) {
        mldf_buffer_free(&w->slots[i].scratch);
        mldfi_json_free(&w->slots[i].json);
        mldfi_described_free(&w->slots[i].described);
    }
    mldf_buffer_free(&w->key_scratch);
    free(w->nodes);
    free(w->steps);
    free(w->slots);
    free(w);
}
