/* normalize, to_float, scale: y = x * a + b with constants of the channel, from any real type to f32. The constants are computed in
 * double and rounded once; the map itself is a product and a sum in f32, each rounded. kernel/finish.h does the same at the end of a
 * chain of images (mldfi_op_affine). */
#include <math.h>
#include <stdlib.h>

#include "kernel/cast.h"
#include "pipeline/code.h"
#include "pipeline/op_affine.h"
#include "pipeline/op_help.h"
#include "pipeline/op_point.h"
#include "util/buffer.h"
#include "util/error.h"

struct affine {
    uint32_t count; /* 1: the same for every element */
    float *scale, *shift;
};

static mldf_status affine_new(uint32_t count, struct op *op, struct affine **out, mldf_error *err) {
    struct affine *a = mldfi_alloc(sizeof *a + 2 * sizeof(float) * count, err);
    if (!a)
        return MLDF_E_MEMORY;
    a->count = count;
    a->scale = (float *)(a + 1);
    a->shift = a->scale + count;
    free(op->state); /* infer may run twice */
    op->state = *out = a;
    return MLDF_OK;
}

static bool is_real(mldf_dtype dtype) {
    return dtype != MLDF_DTYPE_NONE && dtype != MLDF_C64 && dtype != MLDF_C128;
}

static bool takes_numbers(const struct edge *in) {
    return (in->kind == VALUE_ARRAY || in->kind == VALUE_IMAGE) && is_real(in->dtype);
}

/* A number that f32 cannot hold would make every output infinite. */
static mldf_status round_constant(const char *what, double value, float *out, mldf_error *err) {
    *out = (float)value;
    if (!isfinite(*out))
        return mldfi_fail(err, MLDF_E_ARGUMENT, "%s: %g is too large for f32", what, value);
    return MLDF_OK;
}

/* Vectors of optical flow are numbers that a network wants small; nothing else that moves with an image is changed. */
static bool is_left(const struct edge *e) {
    return mldfi_edge_carried(e) && e->role != ROLE_FLOW;
}

static mldf_status affine_run(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                              struct op_work *work, mldf_error *err) {
    const struct affine *a = op->state;
    size_t count = (size_t)mldfi_tensor_count(in);
    (void)draw;
    (void)work;
    (void)err;
    if (is_left(&op->in))
        return mldfi_op_copy(in, out);
    if (a->count > 1 && mldfi_planar(in->axes)) {
        size_t plane = count / a->count, element = mldf_dtype_bytes(in->dtype);
        for (uint32_t c = 0; c < a->count; c++)
            mldfi_affine(in->dtype, (const uint8_t *)in->data + c * plane * element, a->scale + c, a->shift + c, 1,
                         (float *)out->data + c * plane, plane);
    } else {
        mldfi_affine(in->dtype, in->data, a->scale, a->shift, a->count, out->data, count);
    }
    return MLDF_OK;
}

static mldf_status affine_emit(const struct op *op, struct code_writer *w, mldf_error *err) {
    const struct affine *a = op->state;
    return a ? mldfi_code_affine(op, a->scale, a->shift, a->count, w, err) : mldfi_code_cast(op, w, err); /* carried */
}

/* ---- normalize ------------------------------------------------------------------------------------------------------------- */

enum { MEAN, STD, UNIT };
/* The published statistics of the training sets, in 0..1. */
static const char *const preset_names[] = {"imagenet", "cifar10", "half", NULL};
static const struct preset {
    uint32_t count;
    double mean[3], std[3];
} presets[] = {
    {3, {0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}},
    {3, {0.4914, 0.4822, 0.4465}, {0.2470, 0.2435, 0.2616}},
    {1, {0.5}, {0.5}},
};
static const char *const preset_std[] = {"preset", NULL};

static const struct op_param normalize_params[] = {
    {"mean", PARAM_FLOATS, NULL, 0, 0, preset_names, 1, OP_MAX_LIST,
     "mean of each channel, or one for all; the words mean the mean and std of that data set (half: 0.5 and 0.5)"},
    {"std", PARAM_FLOATS, "preset", 0, 0, preset_std, 1, OP_MAX_LIST,
     "standard deviation of each channel, or one for all; preset: the one that belongs to mean's word"},
    {"unit", PARAM_INT, "1", 1, 255, NULL, 0, 0,
     "what mean and std are given in: 1 when white is 1.0, 255 when white is 255; f32 values are taken as they are"},
    OP_END_OF_PARAMS,
};

/* The largest value of a type that images come in; 1 for those that have no such thing. */
static double white_of(mldf_dtype dtype) {
    return dtype == MLDF_U8 ? 255.0 : dtype == MLDF_U16 ? 65535.0 : 1.0;
}

/* How many constants the input's channels can take; 0: any number of elements, so one constant alone. */
static uint32_t channels_of(const struct edge *in) {
    int64_t channels = in->ndim == 0 ? 0 : in->kind == VALUE_IMAGE ? mldfi_edge_channels(in) : in->dims[in->ndim - 1];
    return channels > 0 && channels <= OP_MAX_LIST ? (uint32_t)channels : 0;
}

static mldf_status normalize_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    const struct arg *mean = &op->args[MEAN], *std = &op->args[STD];
    const double *means = mean->list, *stds = std->list;
    uint32_t mean_count = mean->count, std_count = std->count, channels = channels_of(in), count;
    double white = white_of(in->dtype), unit = 1;
    struct affine *a;
    mldf_status s;
    *out = *in;
    if (is_left(in))
        return MLDF_OK;
    if (!takes_numbers(in))
        return mldfi_edge_refuse(op, in, "an image or an array of numbers", err);
    if (mean->i >= 0) {
        means = presets[mean->i].mean;
        mean_count = presets[mean->i].count;
    } else if (white > 1) {
        unit = op->args[UNIT].f;
        if (op->args[UNIT].i != 1 && op->args[UNIT].i != 255)
            return mldfi_fail(err, MLDF_E_ARGUMENT, "unit is 1 or 255, not %lld", (long long)op->args[UNIT].i);
    }
    if (std->i >= 0) {
        if (mean->i < 0)
            return mldfi_fail(err, MLDF_E_ARGUMENT, "std must be given when mean is given as numbers");
        stds = presets[mean->i].std;
        std_count = presets[mean->i].count;
    }
    count = mean_count > std_count ? mean_count : std_count;
    if (count == 0 || (mean_count != 1 && mean_count != count) || (std_count != 1 && std_count != count))
        return mldfi_fail(err, MLDF_E_ARGUMENT, "%u means and %u deviations", mean_count, std_count);
    if (count > 1 && count != channels) {
        if (channels)
            return mldfi_fail(err, MLDF_E_TYPE, "constants for %u channels, the input has %u%s", count, channels,
                              count == 3 && mldfi_edge_has_pixels(in) ? "; decode(channels=3) makes 3" : "");
        return mldfi_fail(err, MLDF_E_TYPE, "constants for %u channels, the input's channels vary", count);
    }
    s = affine_new(count, op, &a, err);
    for (uint32_t c = 0; !s && c < count; c++) {
        double m = means[mean_count == 1 ? 0 : c], d = stds[std_count == 1 ? 0 : c];
        if (!(d > 0))
            return mldfi_fail(err, MLDF_E_ARGUMENT, "std must be above 0, not %g", d);
        s = round_constant("1 / std", unit / (white * d), &a->scale[c], err);
        if (!s)
            s = round_constant("mean / std", -m / d, &a->shift[c], err);
    }
    out->dtype = MLDF_F32;
    return s;
}

const struct op_type mldfi_op_normalize = {
    .name = "normalize",
    .help = "(x - mean) / std for each channel, u8 and u16 scaled to 0..1 first; gives f32",
    .flags = OP_POINT | OP_GROUP,
    .params = normalize_params,
    .infer = normalize_infer,
    .run = affine_run,
    .emit = affine_emit,
};

/* ---- to_float ------------------------------------------------------------------------------------------------------------------ */

static mldf_status to_float_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    struct affine *a;
    mldf_status s;
    float scale = 1;
    *out = *in;
    if (is_left(in))
        return MLDF_OK;
    switch (in->dtype) {
    case MLDF_U8:
        scale = 1.0f / 255.0f;
        break;
    case MLDF_U16:
        scale = 1.0f / 65535.0f;
        break;
    case MLDF_I8:
        scale = 1.0f / 127.0f;
        break;
    case MLDF_I16:
        scale = 1.0f / 32767.0f;
        break;
    case MLDF_BOOL:
    case MLDF_F16:
    case MLDF_BF16:
    case MLDF_F32:
    case MLDF_F64:
        break;
    default:
        return mldfi_edge_refuse(op, in, "numbers of at most 16 bits, or floats (cast or scale the others)", err);
    }
    if (!takes_numbers(in))
        return mldfi_edge_refuse(op, in, "an image or an array of numbers", err);
    s = affine_new(1, op, &a, err);
    if (s)
        return s;
    a->scale[0] = scale;
    a->shift[0] = 0;
    out->dtype = MLDF_F32;
    return MLDF_OK;
}

const struct op_type mldfi_op_to_float = {
    .name = "to_float",
    .help =
        "f32 in 0..1: u8 times 1/255, u16 times 1/65535, signed types by their largest value; floats keep their value",
    .flags = OP_POINT | OP_GROUP,
    .infer = to_float_infer,
    .run = affine_run,
    .emit = affine_emit,
};

/* ---- scale ----------------------------------------------------------------------------------------------------------------------- */

static const struct op_param scale_params[] = {
    {"factor", PARAM_FLOAT, NULL, 0, 0, NULL, 0, 0, "what each element is multiplied by"},
    {"offset", PARAM_FLOAT, "0", 0, 0, NULL, 0, 0, "what is added then"},
    OP_END_OF_PARAMS,
};

static mldf_status scale_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    struct affine *a;
    mldf_status s;
    *out = *in;
    if (!takes_numbers(in))
        return mldfi_edge_refuse(op, in, "an image or an array of numbers", err);
    out->dtype = MLDF_F32;
    s = affine_new(1, op, &a, err);
    if (!s)
        s = round_constant("factor", op->args[0].f, &a->scale[0], err);
    if (!s)
        s = round_constant("offset", op->args[1].f, &a->shift[0], err);
    return s;
}

static mldf_status scale_run(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                             struct op_work *work, mldf_error *err) {
    const struct affine *a = op->state;
    (void)draw;
    (void)work;
    (void)err;
    mldfi_affine(in->dtype, in->data, a->scale, a->shift, 1, out->data, (size_t)mldfi_tensor_count(in));
    return MLDF_OK;
}

const struct op_type mldfi_op_scale = {
    .name = "scale",
    .help = "x * factor + offset in f32, for images and any array of numbers",
    .flags = OP_POINT | OP_GROUP,
    .params = scale_params,
    .infer = scale_infer,
    .run = scale_run,
    .emit = affine_emit,
};

/* ---- What the planner asks ----------------------------------------------------------------------------------------------------- */

bool mldfi_op_affine(const struct op *op, float scale[4], float shift[4]) {
    const struct edge *in = &op->in;
    const struct affine *a = op->state;
    if (!mldfi_edge_has_pixels(in) || (in->dtype != MLDF_U8 && in->dtype != MLDF_U16) || op->out.dtype != MLDF_F32)
        return false;
    if (mldfi_edge_channels(in) > 4)
        return false;
    if (op->type == &mldfi_op_cast) {
        for (int c = 0; c < 4; c++) {
            scale[c] = 1;
            shift[c] = 0;
        }
        return true;
    }
    if ((op->type != &mldfi_op_normalize && op->type != &mldfi_op_to_float && op->type != &mldfi_op_scale) || !a)
        return false;
    for (uint32_t c = 0; c < 4; c++) {
        uint32_t from = a->count == 1 ? 0 : c < a->count ? c : a->count - 1;
        scale[c] = a->scale[from];
        shift[c] = a->shift[from];
    }
    return true;
}
