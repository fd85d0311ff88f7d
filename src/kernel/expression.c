/* expression.h: one loop for each kind of step, over a strip that stays in the first-level cache. The functions that IEEE 754 defines are
 * written out here, in operations that vectorise; code_prelude.c writes the same into generated C, and tests compare the bits. */
#include "kernel/expression.h"

#include <math.h>
#include <string.h>

#include "util/math.h"

static inline uint32_t bits_of(float v) {
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static inline float of_bits(uint32_t bits) {
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* Adding and taking away 2^23 leaves no fraction; larger numbers have none. */
static inline float nearest(float v) {
    uint32_t sign = bits_of(v) & 0x80000000u;
    float size = of_bits(bits_of(v) ^ sign), whole = (size + 0x1p23f) - 0x1p23f;
    return of_bits(bits_of(size < 0x1p23f ? whole : size) | sign);
}

static inline float below(float v) {
    float near = nearest(v);
    return of_bits(bits_of(near > v ? near - 1.0f : near) | (bits_of(v) & 0x80000000u));
}

static inline float above(float v) {
    float near = nearest(v);
    return of_bits(bits_of(near < v ? near + 1.0f : near) | (bits_of(v) & 0x80000000u));
}

static inline float truth(bool value) {
    return value ? 1.0f : 0.0f;
}

/* Not "!=": of a NaN it is 1 too, and compilers would warn. */
static inline bool is_true(float v) {
    return !(v >= 0.0f && v <= 0.0f);
}

static inline bool equal(float a, float b) {
    return a >= b && a <= b;
}

/* double for the root: the rounding to f32 is the only one that counts, 53 bits being more than twice 24 and two. */
#define CASES(DO) \
    DO(EXPRESSION_NEGATE, of_bits(bits_of(a) ^ 0x80000000u)) \
    DO(EXPRESSION_NOT, truth(!is_true(a))) \
    DO(EXPRESSION_ABS, of_bits(bits_of(a) & 0x7fffffffu)) \
    DO(EXPRESSION_SQRT, (float)sqrt((double)a)) \
    DO(EXPRESSION_FLOOR, below(a)) \
    DO(EXPRESSION_CEIL, above(a)) \
    DO(EXPRESSION_ROUND, nearest(a)) \
    DO(EXPRESSION_EXP, (float)mldfi_exp((double)a)) \
    DO(EXPRESSION_LOG, (float)mldfi_log((double)a)) \
    DO(EXPRESSION_LOG2, (float)mldfi_log2((double)a)) \
    DO(EXPRESSION_LOG10, (float)mldfi_log10((double)a)) \
    DO(EXPRESSION_SIN, (float)mldfi_sin((double)a)) \
    DO(EXPRESSION_COS, (float)mldfi_cos((double)a)) \
    DO(EXPRESSION_TAN, (float)mldfi_tan((double)a)) \
    DO(EXPRESSION_TANH, (float)mldfi_tanh((double)a)) \
    DO(EXPRESSION_ADD, a + b) \
    DO(EXPRESSION_SUBTRACT, a - b) \
    DO(EXPRESSION_MULTIPLY, a *b) \
    DO(EXPRESSION_DIVIDE, a / b) \
    DO(EXPRESSION_MIN, a < b ? a : b) \
    DO(EXPRESSION_MAX, a > b ? a : b) \
    DO(EXPRESSION_LESS, truth(a < b)) \
    DO(EXPRESSION_AT_MOST, truth(a <= b)) \
    DO(EXPRESSION_EQUAL, truth(equal(a, b))) \
    DO(EXPRESSION_UNEQUAL, truth(!equal(a, b))) \
    DO(EXPRESSION_AND, truth(is_true(a) && is_true(b))) \
    DO(EXPRESSION_OR, truth(is_true(a) || is_true(b))) \
    DO(EXPRESSION_POW, (float)mldfi_pow((double)a, (double)b)) \
    DO(EXPRESSION_ATAN2, (float)mldfi_atan2((double)a, (double)b)) \
    DO(EXPRESSION_SELECT, is_true(a) ? b : c)

unsigned mldfi_expression_operands(expression_code code) {
    return code < EXPRESSION_ADD ? 1 : code < EXPRESSION_SELECT ? 2 : 3;
}

float mldfi_expression_apply(expression_code code, float a, float b, float c) {
    switch (code) {
#define APPLY(CODE, RESULT) \
    case CODE: \
        return RESULT;
        CASES(APPLY)
    case EXPRESSION_CODES:
    default:
        return 0.0f;
    }
}

static unsigned strip_of(const struct expression *e, unsigned slot) {
    return slot < EXPRESSION_FIRST_RESULT
               ? slot
               : EXPRESSION_FIRST_CONSTANT + e->constant_count + slot - EXPRESSION_FIRST_RESULT;
}

float *mldfi_expression_slot(const struct expression *e, float *room, unsigned slot) {
    return room + (size_t)strip_of(e, slot) * EXPRESSION_STRIP;
}

size_t mldfi_expression_room(const struct expression *e) {
    /* one more than there are results: the strip that is handed out */
    return (size_t)(EXPRESSION_FIRST_CONSTANT + e->constant_count + e->result_count + 1) * EXPRESSION_STRIP *
           sizeof(float);
}

void mldfi_expression_begin(const struct expression *e, float *room) {
    for (uint32_t i = 0; i < e->constant_count; i++) {
        float *strip = mldfi_expression_slot(e, room, EXPRESSION_FIRST_CONSTANT + i);
        for (size_t k = 0; k < EXPRESSION_STRIP; k++)
            strip[k] = e->constants[i];
    }
}

static void run_step(const struct expression *e, const struct expression_step *step, float *room, size_t count) {
    const float *pa = mldfi_expression_slot(e, room, step->a), *pb = mldfi_expression_slot(e, room, step->b);
    const float *pc = mldfi_expression_slot(e, room, step->c);
    float *out = mldfi_expression_slot(e, room, step->out);
    switch ((expression_code)step->code) {
#define STRIP(CODE, RESULT) \
    case CODE: \
        for (size_t k = 0; k < count; k++) { \
            float a = pa[k], b = pb[k], c = pc[k]; \
            (void)b, (void)c; \
            out[k] = RESULT; \
        } \
        break;
        CASES(STRIP)
    case EXPRESSION_CODES:
    default:
        break;
    }
}

const float *mldfi_expression_strip(const struct expression *e, float *room, size_t count) {
    for (uint32_t i = 0; i < e->step_count; i++)
        run_step(e, &e->steps[i], room, count);
    const float *from = mldfi_expression_slot(e, room, e->result);
    float *out = room + (size_t)(EXPRESSION_FIRST_CONSTANT + e->constant_count + e->result_count) * EXPRESSION_STRIP;
    for (size_t k = 0; k < count; k++) {
        uint32_t bits = bits_of(from[k]);
        out[k] = of_bits((bits & 0x7fffffffu) > 0x7f800000u ? 0x7fc00000u : bits);
    }
    return out;
}
