/* An expression's program (kernel/expression.h) as C statements: one for each step. */
#include "pipeline/code.h"
#include "util/buffer.h"
#include "util/error.h"

/* What stands in front of, between and behind the operands. */
static const struct form {
    const char *front, *between, *behind;
} forms[EXPRESSION_CODES] = {
    [EXPRESSION_NEGATE] = {"-", "", ""},
    [EXPRESSION_NOT] = {"e_flag(!", "", ")"},
    [EXPRESSION_ABS] = {"of_bits(0x7fffffffu & bits(", "", "))"},
    [EXPRESSION_SQRT] = {"__builtin_sqrtf(", "", ")"},
    [EXPRESSION_FLOOR] = {"e_floor(", "", ")"},
    [EXPRESSION_CEIL] = {"e_ceil(", "", ")"},
    [EXPRESSION_ROUND] = {"e_near(", "", ")"},
    [EXPRESSION_EXP] = {"(f32)f->exp(", "", ")"},
    [EXPRESSION_LOG] = {"(f32)f->log(", "", ")"},
    [EXPRESSION_LOG2] = {"(f32)f->log2(", "", ")"},
    [EXPRESSION_LOG10] = {"(f32)f->log10(", "", ")"},
    [EXPRESSION_SIN] = {"(f32)f->sin(", "", ")"},
    [EXPRESSION_COS] = {"(f32)f->cos(", "", ")"},
    [EXPRESSION_TAN] = {"(f32)f->tan(", "", ")"},
    [EXPRESSION_TANH] = {"(f32)f->tanh(", "", ")"},
    [EXPRESSION_ADD] = {"", " + ", ""},
    [EXPRESSION_SUBTRACT] = {"", " - ", ""},
    [EXPRESSION_MULTIPLY] = {"", " * ", ""},
    [EXPRESSION_DIVIDE] = {"", " / ", ""},
    [EXPRESSION_MIN] = {"e_min(", ", ", ")"},
    [EXPRESSION_MAX] = {"e_max(", ", ", ")"},
    [EXPRESSION_LESS] = {"e_flag(", " < ", ")"},
    [EXPRESSION_AT_MOST] = {"e_flag(", " <= ", ")"},
    [EXPRESSION_EQUAL] = {"e_flag(", " == ", ")"},
    [EXPRESSION_UNEQUAL] = {"e_flag(", " != ", ")"},
    [EXPRESSION_AND] = {"e_flag((", " != 0) & (", " != 0))"},
    [EXPRESSION_OR] = {"e_flag((", " != 0) | (", " != 0))"},
    [EXPRESSION_POW] = {"(f32)f->pow(", ", ", ")"},
    [EXPRESSION_ATAN2] = {"(f32)f->atan2(", ", ", ")"},
    [EXPRESSION_SELECT] = {"e_select(", ", ", ")"},
};

struct names {
    unsigned step;                         /* of the chain: makes names unique */
    uint32_t made[EXPRESSION_MAX_RESULTS]; /* which step made what lies in a result's slot now */
};

static mldf_status write_operand(const struct expression *e, const struct names *names, uint8_t slot, mldf_buffer *out,
                                 mldf_error *err) {
    if (slot == EXPRESSION_X)
        return mldfi_buffer_printf(out, err, "x%u", names->step);
    if (slot == EXPRESSION_CHANNEL)
        return mldfi_buffer_printf(out, err, "c%u", names->step);
    if (slot < EXPRESSION_FIRST_RESULT)
        return mldfi_code_float(e->constants[slot - EXPRESSION_FIRST_CONSTANT], out, err);
    return mldfi_buffer_printf(out, err, "e%u_%u", names->step, (unsigned)names->made[slot - EXPRESSION_FIRST_RESULT]);
}

static mldf_status write_step(const struct expression *e, struct names *names, uint32_t index, mldf_buffer *out,
                              mldf_error *err) {
    const struct expression_step *s = &e->steps[index];
    const struct form *form = &forms[s->code];
    const uint8_t slots[3] = {s->a, s->b, s->c};
    unsigned count = mldfi_expression_operands((expression_code)s->code);
    mldf_status status =
        mldfi_buffer_printf(out, err, "const f32 e%u_%u = %s", names->step, (unsigned)index, form->front);
    for (unsigned i = 0; i < count && status == MLDF_OK; i++) {
        if (i)
            status = mldfi_buffer_append_text(out, form->between, err);
        if (status == MLDF_OK)
            status = write_operand(e, names, slots[i], out, err);
    }
    names->made[s->out - EXPRESSION_FIRST_RESULT] = index;
    return status == MLDF_OK ? mldfi_buffer_printf(out, err, "%s;\n", form->behind) : status;
}

mldf_status mldfi_code_expression(const struct op *op, const struct expression *e, struct code_writer *w,
                                  mldf_error *err) {
    struct names names = {.step = w->step};
    bool channel = e->uses_channel && op->in.kind == VALUE_IMAGE;
    mldf_status status = mldfi_buffer_printf(w->out, err, "const f32 x%u = ", w->step);
    if (status == MLDF_OK)
        status = mldfi_code_convert(op->in.dtype, MLDF_F32, w->step, w->out, err);
    if (status == MLDF_OK)
        status =
            mldfi_buffer_printf(w->out, err, ";\nconst f32 c%u = %s;\n", w->step, channel ? "(f32)(i32)c" : "0.0f");
    w->uses_channel = w->uses_channel || channel;
    for (uint32_t i = 0; i < e->step_count && status == MLDF_OK; i++)
        status = write_step(e, &names, i, w->out, err);
    if (status == MLDF_OK)
        status = mldfi_buffer_printf(w->out, err, "const f32 v%u = e_result(", w->step + 1);
    if (status == MLDF_OK)
        status = write_operand(e, &names, e->result, w->out, err);
    return status == MLDF_OK ? mldfi_buffer_append_text(w->out, ");\n", err) : status;
}
