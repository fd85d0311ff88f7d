/* pad and ragged say how values of different lengths become a batch; truncate cuts a value's first dimension. */
#include <stdlib.h>

#include "pipeline/collate.h"
#include "pipeline/op_help.h"
#include "pipeline/pipeline.h"
#include "pipeline/registry.h"
#include "util/buffer.h"
#include "util/error.h"

/* Lists of something: at least one dimension, the others fixed. */
static mldf_status check_list(const struct op *op, const struct edge *in, mldf_error *err) {
    if (in->kind == VALUE_ENCODED || in->ndim == 0)
        return mldfi_edge_refuse(op, in, "an array of at least one dimension, or bytes", err);
    for (uint32_t i = 1; i < in->ndim; i++)
        if (in->dims[i] == DIM_VARIES)
            return mldfi_edge_refuse(op, in, "dimensions that are fixed, except the first", err);
    return MLDF_OK;
}

static mldf_status collate_new(struct op *op, plan_collate kind, struct collate_state **out, mldf_error *err) {
    struct collate_state *state = mldfi_alloc_zero(1, sizeof *state, err);
    if (!state)
        return MLDF_E_MEMORY;
    state->kind = kind;
    free(op->state);
    op->state = *out = state;
    return MLDF_OK;
}

/* ---- pad ------------------------------------------------------------------------------------------------------------------- */

enum { PAD_LENGTH, PAD_VALUE, PAD_MASK };
static const struct op_param pad_params[] = {
    {"length", PARAM_INT, "0", 0, 0x1p40, NULL, 0, 0,
     "what every sample is filled up to; a longer one is an error (truncate first); 0: the longest of the batch"},
    {"value", PARAM_FLOAT, "0", 0, 0, NULL, 0, 0, "what is filled in"},
    {"mask", PARAM_BOOL, "false", 0, 0, NULL, 0, 0, "one more output NAME_mask: true where there is data"},
    OP_END_OF_PARAMS,
};

static mldf_status pad_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    struct collate_state *state;
    mldf_status s = check_list(op, in, err);
    int64_t length = op->args[PAD_LENGTH].i;
    *out = *in;
    if (!s && !mldfi_dtype_holds(in->dtype, op->args[PAD_VALUE].f))
        s = mldfi_fail(err, MLDF_E_ARGUMENT, "value %g does not fit the element type %s", op->args[PAD_VALUE].f,
                       mldfi_dtype_short(in->dtype));
    if (!s && length > 0 && in->dims[0] != DIM_VARIES && in->dims[0] > length)
        s = mldfi_fail(err, MLDF_E_TYPE, "every value has the length %lld, which is more than %lld",
                       (long long)in->dims[0], (long long)length);
    if (!s)
        s = collate_new(op, COLLATE_PAD, &state, err);
    if (s)
        return s;
    state->length = (uint64_t)length;
    state->fill = op->args[PAD_VALUE].f;
    state->mask = op->args[PAD_MASK].i != 0;
    return MLDF_OK;
}

static const struct op_type mldfi_op_pad = {
    .name = "pad",
    .help = "a batch of values of different lengths as one array, filled up at their ends; last step of an output",
    .flags = OP_COLLATE,
    .params = pad_params,
    .infer = pad_infer,
};

/* ---- ragged ------------------------------------------------------------------------------------------------------------------- */

static mldf_status ragged_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    struct collate_state *state;
    mldf_status s = check_list(op, in, err);
    *out = *in;
    return s ? s : collate_new(op, COLLATE_RAGGED, &state, err);
}

static const struct op_type mldfi_op_ragged = {
    .name = "ragged",
    .help =
        "a batch of values of different lengths one behind the other, and where each begins; last step of an output",
    .flags = OP_COLLATE,
    .infer = ragged_infer,
};

/* ---- truncate -------------------------------------------------------------------------------------------------------------------- */

enum { TRUNCATE_LENGTH, TRUNCATE_SIDE };
static const char *const sides[] = {"right", "left", NULL};
static const struct op_param truncate_params[] = {
    {"length", PARAM_INT, NULL, 0, 0x1p40, NULL, 0, 0, "how much of the first dimension may remain"},
    {"side", PARAM_CHOICE, "right", 0, 0, sides, 0, 0, "right: the end is cut off; left: the beginning"},
    OP_END_OF_PARAMS,
};

static mldf_status truncate_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    uint64_t length = (uint64_t)op->args[TRUNCATE_LENGTH].i;
    *out = *in;
    if ((in->kind != VALUE_ARRAY && in->kind != VALUE_BYTES) || in->ndim == 0)
        return mldfi_edge_refuse(op, in, "an array of at least one dimension, or bytes", err);
    if (in->dims[0] != DIM_VARIES && (uint64_t)in->dims[0] > length)
        out->dims[0] = (int64_t)length;
    if (in->most[0] > length) /* MLDF_NONE too */
        out->most[0] = length;
    return MLDF_OK;
}

static mldf_status truncate_shape(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                                  mldf_error *err) {
    uint64_t length = (uint64_t)op->args[TRUNCATE_LENGTH].i;
    (void)draw;
    (void)err;
    memcpy(out->dims, in->dims, sizeof out->dims);
    if (out->dims[0] > length)
        out->dims[0] = length;
    return MLDF_OK;
}

static mldf_status truncate_run(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                                struct op_work *work, mldf_error *err) {
    size_t all = mldfi_tensor_bytes(in), kept = mldfi_tensor_bytes(out);
    (void)draw;
    (void)work;
    (void)err;
    if (kept)
        memcpy(out->data, (const uint8_t *)in->data + (op->args[TRUNCATE_SIDE].i ? all - kept : 0), kept);
    return MLDF_OK;
}

static const struct op_type mldfi_op_truncate = {
    .name = "truncate",
    .help = "at most so much of an array's first dimension",
    .params = truncate_params,
    .infer = truncate_infer,
    .shape = truncate_shape,
    .run = truncate_run,
};

const struct op_type *const mldfi_ops_collate[] = {&mldfi_op_pad, &mldfi_op_ragged, &mldfi_op_truncate, NULL};
