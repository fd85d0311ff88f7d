/* expr("..."): an arithmetic expression over each element, in f32. kernel/expression.h runs it in strips; as part of a longer chain, and
 * where there is a compiler, it becomes C (code_expression.c). */
#include <stdlib.h>

#include "kernel/cast.h"
#include "pipeline/code.h"
#include "pipeline/expression_parse.h"
#include "pipeline/op_help.h"
#include "pipeline/op_registry.h"
#include "util/buffer.h"
#include "util/error.h"

enum { TEXT, NUMBERS };

static const struct op_param expr_params[] = {
    {"text", PARAM_TEXT, NULL, 0, 0, NULL, 0, 0,
     "over x, the element, and c, an image's channel: + - * / < <= == && || ! ?: if min max clamp abs sqrt floor ceil round exp log "
     "log2 log10 sin cos tan tanh pow atan2 pi"},
    {"p", PARAM_FLOATS, "", 0, 0, NULL, 1, EXPRESSION_MAX_NUMBERS, "numbers that the text calls p0, p1 ..."},
    OP_END_OF_PARAMS,
};

static mldf_status parse(const struct op *op, struct expression *out, mldf_error *err) {
    const struct arg *text = &op->args[TEXT], *numbers = &op->args[NUMBERS];
    return mldfi_expression_parse(text->text, text->text_bytes, numbers->list, numbers->count, out, err);
}

/* When the pipeline is read: the text alone. The place counts from the text's first byte, behind the quote. */
static mldf_status expr_check(const struct op *op, size_t *at, mldf_error *err) {
    mldf_error own = {.offset = 0};
    struct expression *e = mldfi_alloc(sizeof *e, err);
    if (!e)
        return MLDF_E_MEMORY;
    mldf_status status = parse(op, e, &own);
    free(e);
    if (status < 0) {
        *at = op->args[TEXT].offset;
        mldfi_error_prefix(&own, "column %llu of the expression", (unsigned long long)own.offset + 1);
        if (err)
            *err = own;
        return status;
    }
    return MLDF_OK;
}

static mldf_status expr_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    bool number = in->dtype != MLDF_DTYPE_NONE && in->dtype != MLDF_C64 && in->dtype != MLDF_C128;
    *out = *in;
    if ((in->kind != VALUE_ARRAY && in->kind != VALUE_IMAGE) || !number)
        return mldfi_edge_refuse(op, in, "an image or an array of numbers", err);
    struct expression *e = mldfi_alloc(sizeof *e, err);
    if (!e)
        return MLDF_E_MEMORY;
    free(op->state); /* infer may run twice */
    op->state = e;
    mldf_status status = parse(op, e, err);
    if (status < 0 && err)
        mldfi_error_prefix(err, "column %llu of the expression", (unsigned long long)err->offset + 1);
    out->dtype = MLDF_F32;
    return status;
}

/* `count` elements whose channels are first, first + 1 ... modulo period. */
static void run_part(const struct expression *e, const struct tensor *in, size_t begin, size_t count, size_t first,
                     size_t period, float *room, float *out) {
    size_t element = mldf_dtype_bytes(in->dtype);
    size_t strip = period > EXPRESSION_STRIP ? EXPRESSION_STRIP : EXPRESSION_STRIP / period * period;
    float *x = mldfi_expression_slot(e, room, EXPRESSION_X), *c = mldfi_expression_slot(e, room, EXPRESSION_CHANNEL);
    for (size_t at = 0; at < count; at += strip) {
        size_t n = count - at < strip ? count - at : strip;
        /* strips of whole periods all have the same channels */
        for (size_t k = 0; e->uses_channel && (at == 0 || period > EXPRESSION_STRIP) && k < n; k++)
            c[k] = (float)(first + (at + k) % period);
        mldfi_convert_elements(in->dtype, (const uint8_t *)in->data + (begin + at) * element, MLDF_F32, x, n);
        memcpy(out + begin + at, mldfi_expression_strip(e, room, n), n * sizeof(float));
    }
}

static mldf_status expr_run(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                            struct op_work *work, mldf_error *err) {
    const struct expression *e = op->state;
    size_t count = (size_t)mldfi_tensor_count(in), channels = 1;
    (void)draw;
    mldf_status status = mldf_buffer_reserve(&work->scratch[0], mldfi_expression_room(e), err);
    if (status < 0 || count == 0)
        return status;
    float *room = (float *)(void *)work->scratch[0].data;
    mldfi_expression_begin(e, room);
    if (e->uses_channel && op->in.kind == VALUE_IMAGE)
        channels = (size_t)mldfi_tensor_channels(in);
    if (!mldfi_planar(in->axes)) {
        run_part(e, in, 0, count, 0, channels, room, out->data);
        return MLDF_OK;
    }
    size_t plane = count / channels;
    for (size_t c = 0; c < channels; c++)
        run_part(e, in, c * plane, plane, c, 1, room, out->data);
    return MLDF_OK;
}

static mldf_status expr_emit(const struct op *op, struct code_writer *w, mldf_error *err) {
    return mldfi_code_expression(op, op->state, w, err);
}

const struct op_type mldfi_op_expr = {
    .name = "expr",
    .help = "an arithmetic expression over each element, in f32: expr(\"clamp(x * 2 - 1, 0, 1)\")",
    .flags = OP_POINT | OP_IN_PLACE | OP_GROUP,
    .params = expr_params,
    .check = expr_check,
    .infer = expr_infer,
    .run = expr_run,
    .emit = expr_emit,
};

const struct op_type *const mldfi_ops_code[] = {&mldfi_op_expr, NULL};
