/* The family `any`: gather, reshape, flatten, squeeze, and of several inputs concat and stack. */
#include "pipeline/op_any.h"

#include <inttypes.h>

#include "pipeline/op_help.h"
#include "util/bytes.h"
#include "util/error.h"

static bool is_array(const struct edge *in) {
    return in->kind != VALUE_ENCODED;
}

/* The input's type without what it meant. */
static void begin_array(const struct edge *in, struct edge *out) {
    *out = *in;
    out->kind = VALUE_ARRAY;
    out->role = ROLE_NONE;
    mldfi_edge_unname(out);
}

static mldf_status copy_run(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                            struct op_work *work, mldf_error *err) {
    (void)op;
    (void)draw;
    (void)work;
    (void)err;
    return mldfi_op_copy(in, out);
}

/* Elements of a value, or DIM_VARIES. */
static int64_t count_of(const int64_t *dims, uint32_t ndim) {
    int64_t count = 1;
    for (uint32_t i = 0; i < ndim; i++)
        if (dims[i] == DIM_VARIES || __builtin_mul_overflow(count, dims[i], &count))
            return DIM_VARIES;
    return count;
}

/* An upper bound of it, or MLDF_NONE. */
static uint64_t most_count(const struct edge *in) {
    uint64_t count = 1;
    for (uint32_t i = 0; i < in->ndim; i++) {
        uint64_t most = in->dims[i] == DIM_VARIES ? in->most[i] : (uint64_t)in->dims[i];
        if (most == MLDF_NONE || !mldfi_mul_u64(count, most, &count))
            return MLDF_NONE;
    }
    return count;
}

/* ---- gather ------------------------------------------------------------------------------------------------------------------------ */

static const struct op_param gather_params[] = {
    {"indices", PARAM_INTS, NULL, 0, 0x1p40, NULL, 1, OP_MAX_LIST,
     "which places of the first dimension, in this order"},
    OP_END_OF_PARAMS,
};

static mldf_status gather_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    if (!is_array(in) || in->ndim == 0)
        return mldfi_edge_refuse(op, in, "an array of at least one dimension", err);
    begin_array(in, out);
    for (uint32_t k = 0; in->dims[0] != DIM_VARIES && k < op->args[0].count; k++)
        if (op->args[0].list[k] >= (double)in->dims[0])
            return mldfi_fail(err, MLDF_E_ARGUMENT, "there is no index %g in a dimension of %" PRId64,
                              op->args[0].list[k], in->dims[0]);
    return MLDF_OK;
}

static void gather_dims(const struct op *op, const void *draw, const int64_t *in, int64_t *out) {
    (void)draw;
    memcpy(out, in, op->in.ndim * sizeof *out);
    out[0] = op->args[0].count;
}

static mldf_status gather_check(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                                mldf_error *err) {
    (void)draw;
    (void)out;
    for (uint32_t k = 0; k < op->args[0].count; k++)
        if (op->args[0].list[k] >= (double)in->dims[0])
            return mldfi_fail(err, MLDF_E_RANGE, "there is no index %g in a dimension of %" PRIu64, op->args[0].list[k],
                              in->dims[0]);
    return MLDF_OK;
}

static mldf_status gather_run(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                              struct op_work *work, mldf_error *err) {
    size_t item = op->args[0].count ? mldfi_tensor_bytes(out) / op->args[0].count : 0;
    (void)draw;
    (void)work;
    (void)err;
    for (uint32_t k = 0; item && k < op->args[0].count; k++)
        memcpy((uint8_t *)out->data + k * item, (const uint8_t *)in->data + (size_t)op->args[0].list[k] * item, item);
    return MLDF_OK;
}

static const struct op_type mldfi_op_gather = {
    .name = "gather",
    .help = "some places of an array's first dimension",
    .params = gather_params,
    .infer = gather_infer,
    .dims = gather_dims,
    .shape = gather_check,
    .run = gather_run,
};

/* ---- reshape, flatten, squeeze -------------------------------------------------------------------------------------------------------- */

static const struct op_param reshape_params[] = {
    {"shape", PARAM_INTS, NULL, -1, 0x1p40, NULL, 1, MLDF_MAX_DIMS, "the new dimensions; one may be -1: what is left"},
    OP_END_OF_PARAMS,
};

/* Dims of so many elements, by the list with at most one -1. False: they do not come out even. */
static bool resolve(const struct arg *shape, uint64_t count, uint64_t *dims) {
    uint64_t known = 1;
    uint32_t open = UINT32_MAX;
    for (uint32_t i = 0; i < shape->count; i++) {
        dims[i] = shape->list[i] < 0 ? 1 : (uint64_t)shape->list[i];
        if (shape->list[i] < 0)
            open = i;
        else if (!mldfi_mul_u64(known, dims[i], &known))
            return false;
    }
    if (open == UINT32_MAX)
        return known == count;
    if (known == 0 || count % known)
        return false;
    dims[open] = count / known;
    return true;
}

static mldf_status reshape_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    const struct arg *shape = &op->args[0];
    int64_t count = count_of(in->dims, in->ndim);
    uint64_t dims[MLDF_MAX_DIMS], most = most_count(in);
    uint32_t open = 0;
    if (!is_array(in))
        return mldfi_edge_refuse(op, in, "an array", err);
    for (uint32_t i = 0; i < shape->count; i++)
        open += shape->list[i] < 0;
    if (open > 1)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "only one dimension may be -1");
    if (count != DIM_VARIES && !resolve(shape, (uint64_t)count, dims))
        return mldfi_edge_refuse(op, in, "as many elements as the shape has", err);
    begin_array(in, out);
    out->ndim = shape->count;
    for (uint32_t i = 0; i < shape->count; i++) {
        bool fixed = count != DIM_VARIES || shape->list[i] >= 0;
        out->dims[i] = !fixed ? DIM_VARIES : count != DIM_VARIES ? (int64_t)dims[i] : (int64_t)shape->list[i];
        out->most[i] = fixed ? (uint64_t)out->dims[i] : most; /* rough, but a bound */
    }
    return MLDF_OK;
}

static mldf_status reshape_shape(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                                 mldf_error *err) {
    (void)draw;
    if (!resolve(&op->args[0], mldfi_tensor_count(in), out->dims))
        return mldfi_fail(err, MLDF_E_RANGE, "%" PRIu64 " elements do not fill the shape", mldfi_tensor_count(in));
    return MLDF_OK;
}

static const struct op_type mldfi_op_reshape = {
    .name = "reshape",
    .help = "the same elements in other dimensions",
    .flags = OP_IN_PLACE,
    .params = reshape_params,
    .infer = reshape_infer,
    .shape = reshape_shape,
    .run = copy_run,
};

static mldf_status flatten_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    if (!is_array(in))
        return mldfi_edge_refuse(op, in, "an array", err);
    begin_array(in, out);
    out->ndim = 1;
    return MLDF_OK;
}

static void flatten_dims(const struct op *op, const void *draw, const int64_t *in, int64_t *out) {
    (void)draw;
    out[0] = count_of(in, op->in.ndim);
}

static const struct op_type mldfi_op_flatten = {
    .name = "flatten",
    .help = "all elements in one dimension",
    .flags = OP_IN_PLACE,
    .infer = flatten_infer,
    .dims = flatten_dims,
    .run = copy_run,
};

static mldf_status squeeze_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    if (!is_array(in))
        return mldfi_edge_refuse(op, in, "an array", err);
    begin_array(in, out);
    out->ndim = 0;
    for (uint32_t i = 0; i < in->ndim; i++)
        out->ndim += in->dims[i] != 1;
    return MLDF_OK;
}

static void squeeze_dims(const struct op *op, const void *draw, const int64_t *in, int64_t *out) {
    uint32_t n = 0;
    (void)draw;
    for (uint32_t i = 0; i < op->in.ndim; i++)
        if (op->in.dims[i] != 1)
            out[n++] = in[i];
}

static const struct op_type mldfi_op_squeeze = {
    .name = "squeeze",
    .help = "without the dimensions that are always 1",
    .flags = OP_IN_PLACE,
    .infer = squeeze_infer,
    .dims = squeeze_dims,
    .run = copy_run,
};

/* ---- concat, stack ------------------------------------------------------------------------------------------------------------------- */

static const struct op_param axis_params[] = {
    {"axis", PARAM_INT, "0", -MLDF_MAX_DIMS, MLDF_MAX_DIMS - 1, NULL, 0, 0, "which dimension; -1 is the last"},
    OP_END_OF_PARAMS,
};

/* The axis counted from the front, for an output of ndim dimensions; UINT32_MAX: there is none. */
static uint32_t axis_of(const struct op *op, uint32_t ndim) {
    int64_t axis = op->args[0].i < 0 ? op->args[0].i + ndim : op->args[0].i;
    return axis >= 0 && axis < (int64_t)ndim ? (uint32_t)axis : UINT32_MAX;
}

/* Fixed dimensions, one type, the same number of dimensions; the same sizes except along `free_axis`. */
static mldf_status check_inputs(const struct op *op, const struct edge *in, size_t count, uint32_t free_axis,
                                mldf_error *err) {
    for (size_t k = 0; k < count; k++) {
        if (!is_array(&in[k]) || count_of(in[k].dims, in[k].ndim) == DIM_VARIES)
            return mldfi_edge_refuse(op, &in[k], "inputs of fixed shape", err);
        if (in[k].dtype != in[0].dtype)
            return mldfi_edge_refuse(op, &in[k], "inputs of one element type (cast the others)", err);
        if (in[k].ndim != in[0].ndim)
            return mldfi_edge_refuse(op, &in[k], "inputs of as many dimensions as the first", err);
        for (uint32_t i = 0; i < in[k].ndim; i++)
            if (i != free_axis && in[k].dims[i] != in[0].dims[i])
                return mldfi_edge_refuse(op, &in[k], "inputs of the first one's sizes", err);
    }
    return MLDF_OK;
}

static mldf_status stack_infer(struct op *op, const struct edge *in, size_t count, struct edge *out, mldf_error *err) {
    mldf_status s = check_inputs(op, in, count, UINT32_MAX, err);
    uint32_t axis = axis_of(op, in[0].ndim + 1);
    if (s)
        return s;
    if (axis == UINT32_MAX || in[0].ndim == MLDF_MAX_DIMS)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "there is no axis %" PRId64 " in %u dimensions", op->args[0].i,
                          in[0].ndim + 1);
    begin_array(&in[0], out);
    out->ndim = in[0].ndim + 1;
    for (uint32_t i = 0; i < out->ndim; i++) {
        out->dims[i] = i == axis ? (int64_t)count : in[0].dims[i - (i > axis)];
        out->most[i] = (uint64_t)out->dims[i];
    }
    return MLDF_OK;
}

static mldf_status concat_infer(struct op *op, const struct edge *in, size_t count, struct edge *out, mldf_error *err) {
    uint32_t axis = axis_of(op, in[0].ndim ? in[0].ndim : 1);
    int64_t sum = 0;
    mldf_status s = check_inputs(op, in, count, axis, err);
    if (s)
        return s;
    if (axis == UINT32_MAX)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "there is no axis %" PRId64 " in %u dimensions", op->args[0].i,
                          in[0].ndim);
    begin_array(&in[0], out);
    out->ndim = in[0].ndim ? in[0].ndim : 1; /* numbers make a list */
    for (size_t k = 0; k < count; k++)
        if (__builtin_add_overflow(sum, in[k].ndim ? in[k].dims[axis] : 1, &sum))
            return mldfi_fail(err, MLDF_E_LIMIT, "the inputs are too large together");
    out->dims[axis] = sum;
    out->most[axis] = (uint64_t)sum;
    return MLDF_OK;
}

/* Both: outer repetitions of each input's part in turn. */
static mldf_status join_run(const struct op *op, const void *draw, const struct tensor *in, size_t count,
                            struct tensor *out, struct op_work *work, mldf_error *err) {
    uint32_t axis = axis_of(op, out->ndim);
    uint64_t outer = 1;
    uint8_t *to = out->data;
    (void)draw, (void)work, (void)err;
    for (uint32_t i = 0; i < axis; i++)
        outer *= out->dims[i];
    for (uint64_t o = 0; o < outer; o++)
        for (size_t k = 0; k < count; k++) {
            size_t part = mldfi_tensor_bytes(&in[k]) / (size_t)outer;
            if (part)
                memcpy(to, (const uint8_t *)in[k].data + (size_t)o * part, part);
            to += part;
        }
    return MLDF_OK;
}

static const struct op_type mldfi_op_concat = {
    .name = "concat",
    .help = "several inputs one after the other along a dimension; numbers make a list",
    .flags = OP_INPUTS,
    .params = axis_params,
    .infer_many = concat_infer,
    .run_many = join_run,
};

static const struct op_type mldfi_op_stack = {
    .name = "stack",
    .help = "several inputs of one shape along a new dimension",
    .flags = OP_INPUTS,
    .params = axis_params,
    .infer_many = stack_infer,
    .run_many = join_run,
};

const struct op_type *const mldfi_ops_any[] = {
    &mldfi_op_concat,  &mldfi_op_flatten,       &mldfi_op_gather,  &mldfi_op_label_smoothing, &mldfi_op_one_hot,
    &mldfi_op_reshape, &mldfi_op_replace_label, &mldfi_op_squeeze, &mldfi_op_stack,           NULL,
};
