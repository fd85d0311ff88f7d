/* cast, chw, hwc: the same values in another type or another order. kernel/cast.h says what a value becomes. */
#include "kernel/cast.h"
#include "pipeline/code.h"
#include "pipeline/op_help.h"
#include "pipeline/op_point.h"
#include "util/buffer.h"
#include "util/error.h"

static mldf_status refuse_dtype(const struct edge *in, mldf_dtype to, mldf_error *err) {
    return mldfi_fail(err, MLDF_E_TYPE, "a value of type %s cannot become %s", mldf_dtype_name(in->dtype),
                      mldf_dtype_name(to));
}

/* ---- cast ------------------------------------------------------------------------------------------------------------------- */

static const struct op_param cast_params[] = {
    {"dtype", PARAM_DTYPE, NULL, 0, 0, NULL, 0, 0,
     "the new type: bool, u8, i64, f16, bf16, f32 ...; float to integer rounds to the nearest even and stops at the type's ends, "
     "integer to integer wraps"},
    OP_END_OF_PARAMS,
};

static mldf_status cast_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    mldf_dtype to = (mldf_dtype)op->args[0].i;
    *out = *in;
    if (in->kind == VALUE_ENCODED)
        return mldfi_edge_refuse(op, in, "a decoded image or an array", err);
    if (!mldfi_convertible(in->dtype, to))
        return refuse_dtype(in, to, err);
    out->dtype = to;
    if (in->kind == VALUE_BYTES && to != MLDF_U8)
        out->kind = VALUE_ARRAY;
    return MLDF_OK;
}

static mldf_status cast_run(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                            struct op_work *work, mldf_error *err) {
    size_t count = (size_t)mldfi_tensor_count(in);
    (void)op, (void)draw, (void)err;
    if (!work->kernels->widen(in->dtype, in->data, out->dtype, out->data, count))
        mldfi_convert_elements(in->dtype, in->data, out->dtype, out->data, count);
    return MLDF_OK;
}

const struct op_type mldfi_op_cast = {
    .name = "cast",
    .help = "the same values in another element type",
    .flags = OP_POINT | OP_GROUP,
    .params = cast_params,
    .infer = cast_infer,
    .run = cast_run,
    .emit = mldfi_code_cast,
};

/* ---- chw, hwc ----------------------------------------------------------------------------------------------------------------- */

static const struct op_param layout_params[] = {
    {"dtype", PARAM_DTYPE, "same", 0, 0, NULL, 0, 0, "also cast to this type; same: keep it"},
    OP_END_OF_PARAMS,
};

/* Dims of one layout become those of the other, where they differ. */
static void layout_dims(const struct op *op, const void *draw, const int64_t *in, int64_t *out) {
    static const uint8_t to_planar[3] = {2, 0, 1}, to_interleaved[3] = {1, 2, 0};
    bool planar = mldfi_planar(op->out.axes), turned = mldfi_planar(op->in.axes) != planar;
    (void)draw;
    for (uint32_t i = 0; i < op->out.ndim; i++)
        out[i] = in[!turned ? i : planar ? to_planar[i] : to_interleaved[i]];
}

static mldf_status layout_infer(struct op *op, const struct edge *in, struct edge *out, bool planar, mldf_error *err) {
    mldf_dtype to = (mldf_dtype)op->args[0].i;
    *out = *in;
    if (in->role == ROLE_BOXES || in->role == ROLE_POINTS)
        return MLDF_OK;
    if (!mldfi_edge_has_pixels(in))
        return mldfi_edge_refuse(op, in, "an image", err);
    if (to == MLDF_DTYPE_NONE)
        to = in->dtype;
    if (!mldfi_convertible(in->dtype, to))
        return refuse_dtype(in, to, err);
    out->dtype = to;
    if (mldfi_planar(in->axes) != planar)
        mldfi_set_axes(out->axes, planar ? "chw" : "hwc");
    return MLDF_OK;
}

/* Turned first, in whichever of the two types is the narrower one; the other step needs no second copy when the types agree. */
static mldf_status layout_run(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                              struct op_work *work, mldf_error *err) {
    size_t count = (size_t)mldfi_tensor_count(in), element = mldf_dtype_bytes(in->dtype);
    const void *turned = in->data;
    (void)op;
    (void)draw;
    if (mldfi_planar(in->axes) != mldfi_planar(out->axes)) {
        size_t pixels = (size_t)mldfi_tensor_pixels(in), channels = (size_t)mldfi_tensor_channels(in);
        void *to = out->data;
        if (in->dtype != out->dtype) {
            mldf_status s = mldf_buffer_reserve(&work->scratch[0], count * element, err);
            if (s)
                return s;
            to = work->scratch[0].data;
        }
        if (mldfi_planar(out->axes))
            mldfi_to_planar(in->data, pixels, channels, element, to);
        else
            mldfi_to_interleaved(in->data, pixels, channels, element, to);
        turned = to;
    }
    mldfi_convert_elements(in->dtype, turned, out->dtype, out->data, count);
    return MLDF_OK;
}

static mldf_status chw_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    return layout_infer(op, in, out, true, err);
}

static mldf_status hwc_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    return layout_infer(op, in, out, false, err);
}

const struct op_type mldfi_op_chw = {
    .name = "chw",
    .help = "an image as channels x height x width",
    .flags = OP_GROUP,
    .params = layout_params,
    .infer = chw_infer,
    .dims = layout_dims,
    .run = layout_run,
    .emit = mldfi_code_cast, /* the loop knows the layouts */
};

const struct op_type mldfi_op_hwc = {
    .name = "hwc",
    .help = "an image as height x width x channels, which it is unless chw comes before",
    .flags = OP_GROUP,
    .params = layout_params,
    .infer = hwc_infer,
    .dims = layout_dims,
    .run = layout_run,
    .emit = mldfi_code_cast, /* the loop knows the layouts */
};
