/* One operation on one value, from text, for tests. */
#ifndef MLDF_TESTS_PIPELINE_OPS_H
#define MLDF_TESTS_PIPELINE_OPS_H

#include "check.h"
#include "pipeline/pipeline.h"

/* A value of our own and its type. */
struct value {
    struct edge edge;
    struct tensor tensor;
    mldf_buffer data;
};

CHECK_UNUSED static bool value_room(struct value *v) {
    size_t bytes = mldfi_tensor_bytes(&v->tensor);
    if (mldf_buffer_reserve(&v->data, bytes + 1, NULL) < 0)
        return false;
    v->tensor.data = v->data.data;
    return true;
}

/* Dims as a list that ends with -1; an image has three. Random bytes; floats 0..1. */
CHECK_UNUSED static bool value_make(struct value *v, value_kind kind, mldf_dtype dtype, bool planar,
                                    const int64_t *dims, uint64_t seed) {
    uint64_t state = seed;
    memset(v, 0, sizeof *v);
    v->edge.kind = kind;
    v->edge.role = kind == VALUE_IMAGE ? ROLE_IMAGE : ROLE_NONE;
    v->edge.dtype = v->tensor.dtype = dtype;
    mldfi_set_axes(v->edge.axes, kind == VALUE_IMAGE || kind == VALUE_ENCODED ? (planar ? "chw" : "hwc") : "");
    mldfi_set_axes(v->tensor.axes, v->edge.axes);
    for (uint32_t n = 0; dims[n] >= 0; n++) {
        v->edge.dims[n] = dims[n];
        v->edge.most[n] = v->tensor.dims[n] = (uint64_t)dims[n];
        v->edge.ndim = v->tensor.ndim = n + 1;
    }
    if (!value_room(v))
        return false;
    check_rand_bytes(&state, v->tensor.data, mldfi_tensor_bytes(&v->tensor));
    for (uint64_t i = 0; dtype == MLDF_F32 && i < mldfi_tensor_count(&v->tensor); i++)
        ((float *)v->tensor.data)[i] = (float)(check_rand(&state) >> 40) / 16777216.0f;
    return true;
}

CHECK_UNUSED static bool image_make(struct value *v, mldf_dtype dtype, int64_t height, int64_t width, int64_t channels,
                                    uint64_t seed) {
    return value_make(v, VALUE_IMAGE, dtype, false, (int64_t[]){height, width, channels, -1}, seed);
}

CHECK_UNUSED static void value_free(struct value *v) {
    mldf_buffer_free(&v->data);
}

/* A bound operation with its draw. */
struct step_run {
    struct op op;
    _Alignas(16) uint8_t draw[OP_DRAW_BYTES];
    struct op_work work;
};

CHECK_UNUSED static mldf_status step_begin(struct step_run *s, const char *text, const struct value *in, uint64_t seed,
                                           mldf_error *err) {
    struct rng rng;
    struct frame frame = {0}, next;
    memset(s, 0, sizeof *s);
    s->work.kernels = mldfi_kernels_best();
    mldf_status status = mldfi_op_from_text(text, &in->edge, &s->op, err);
    if (status < 0 || !s->op.type->draw)
        return status;
    if (in->edge.kind == VALUE_IMAGE)
        frame = (struct frame){.width = (uint32_t)mldfi_tensor_width(&in->tensor),
                               .height = (uint32_t)mldfi_tensor_height(&in->tensor)};
    uint32_t time = mldfi_time_axis(in->tensor.axes, in->tensor.ndim);
    if (time < in->tensor.ndim)
        frame.t = in->tensor.dims[time];
    next = frame;
    mldfi_rng_begin(&rng, seed, 0, 0, 1);
    return s->op.type->draw(&s->op, &rng, &frame, s->draw, &next, err);
}

CHECK_UNUSED static void step_end(struct step_run *s) {
    for (int i = 0; i < 3; i++)
        mldf_buffer_free(&s->work.scratch[i]);
    mldfi_op_free(&s->op);
}

/* The output as its own value. */
CHECK_UNUSED static mldf_status step_run(struct step_run *s, const struct value *in, struct value *out,
                                         mldf_error *err) {
    const struct op *op = &s->op;
    memset(out, 0, sizeof *out);
    out->edge = op->out;
    out->tensor = in->tensor;
    out->tensor.dtype = op->out.dtype;
    mldfi_set_axes(out->tensor.axes, op->out.axes);
    out->tensor.ndim = op->out.ndim;
    mldf_status status = mldfi_op_shape(op, s->draw, &in->tensor, &out->tensor, err);
    if (status < 0)
        return status;
    if (!value_room(out))
        return MLDF_E_MEMORY;
    return op->type->run(op, s->draw, &in->tensor, &out->tensor, &s->work, err);
}

CHECK_UNUSED static mldf_status run_text(const char *text, const struct value *in, uint64_t seed, struct value *out,
                                         mldf_error *err) {
    struct step_run s;
    memset(out, 0, sizeof *out);
    mldf_status status = step_begin(&s, text, in, seed, err);
    if (status == MLDF_OK)
        status = step_run(&s, in, out, err);
    step_end(&s);
    return status;
}

CHECK_UNUSED static void check_same(const struct value *want, const struct value *got, const char *what) {
    size_t bytes = mldfi_tensor_bytes(&want->tensor);
    if (want->tensor.dtype != got->tensor.dtype || want->tensor.ndim != got->tensor.ndim ||
        mldfi_tensor_bytes(&got->tensor) != bytes)
        check_fail(__FILE__, __LINE__, "%s: another type or size", what);
    else if (bytes && memcmp(want->tensor.data, got->tensor.data, bytes) != 0)
        check_fail(__FILE__, __LINE__, "%s: %zu bytes differ", what, bytes);
}

#endif
