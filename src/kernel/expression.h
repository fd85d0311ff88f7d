/* Arithmetic expressions over the elements of an array, as a short program of f32 steps. Each step is one operation with one rounding;
 * transcendental functions are computed in double (util/math.h) and rounded once. pipeline/expression_parse.c makes programs of text,
 * pipeline/code_expression.c makes C of programs.
 *
 * A step's operands and result are slots: strips of 256 values. Slot 0 is the element, 1 its channel, then come the constants, then the
 * results, which take turns. */
#ifndef MLDF_KERNEL_EXPRESSION_H
#define MLDF_KERNEL_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum expression_code {
    /* one operand */
    EXPRESSION_NEGATE,
    EXPRESSION_NOT, /* 1 for 0, else 0 */
    EXPRESSION_ABS,
    EXPRESSION_SQRT,
    EXPRESSION_FLOOR,
    EXPRESSION_CEIL,
    EXPRESSION_ROUND, /* ties to even */
    EXPRESSION_EXP,
    EXPRESSION_LOG,
    EXPRESSION_LOG2,
    EXPRESSION_LOG10,
    EXPRESSION_SIN,
    EXPRESSION_COS,
    EXPRESSION_TAN,
    EXPRESSION_TANH,
    /* two */
    EXPRESSION_ADD,
    EXPRESSION_SUBTRACT,
    EXPRESSION_MULTIPLY,
    EXPRESSION_DIVIDE,
    EXPRESSION_MIN, /* a < b ? a : b, so b when one of them is NaN */
    EXPRESSION_MAX, /* a > b ? a : b */
    EXPRESSION_LESS,
    EXPRESSION_AT_MOST,
    EXPRESSION_EQUAL,
    EXPRESSION_UNEQUAL,
    EXPRESSION_AND,
    EXPRESSION_OR,
    EXPRESSION_POW,
    EXPRESSION_ATAN2,
    /* three */
    EXPRESSION_SELECT, /* a != 0 ? b : c; NaN is not 0 */
    EXPRESSION_CODES
} expression_code;

enum {
    EXPRESSION_STRIP = 256,
    EXPRESSION_MAX_STEPS = 512,
    EXPRESSION_MAX_CONSTANTS = 64,
    EXPRESSION_MAX_RESULTS = 32,
    EXPRESSION_X = 0,
    EXPRESSION_CHANNEL = 1,
    EXPRESSION_FIRST_CONSTANT = 2,
    EXPRESSION_FIRST_RESULT = EXPRESSION_FIRST_CONSTANT + EXPRESSION_MAX_CONSTANTS,
    EXPRESSION_SLOTS = EXPRESSION_FIRST_RESULT + EXPRESSION_MAX_RESULTS
};

struct expression_step {
    uint8_t code;
    uint8_t out, a, b, c; /* slots; operands that the code does not have are 0 */
};

struct expression {
    uint32_t step_count, constant_count, result_count;
    uint8_t result; /* the slot that holds it */
    bool uses_channel;
    float constants[EXPRESSION_MAX_CONSTANTS];
    struct expression_step steps[EXPRESSION_MAX_STEPS];
};

/* Operands of a code: 1 to 3. */
unsigned mldfi_expression_operands(expression_code code);
/* One step on three numbers. */
float mldfi_expression_apply(expression_code code, float a, float b, float c);

/* Bytes of strips that a run needs, aligned to 64. */
size_t mldfi_expression_room(const struct expression *e);
/* The constants into their strips: once before a series of runs. */
void mldfi_expression_begin(const struct expression *e, float *room);
/* Runs the steps over `count` <= EXPRESSION_STRIP values. The caller has filled slot 0 and, when it is used, slot 1. Returns the result's
 * strip; every NaN in it is the same one, 0x7fc00000. */
const float *mldfi_expression_strip(const struct expression *e, float *room, size_t count);
/* Where a slot's strip lies. */
float *mldfi_expression_slot(const struct expression *e, float *room, unsigned slot);

#endif
