/* The family `point`, and of it what changes each value by itself: brightness, gamma, invert, solarize, posterize. */
#include "pipeline/op_point.h"
#include "pipeline/op_color.h"
#include "pipeline/op_help.h"
#include "util/error.h"

/* ---- brightness, gamma, invert --------------------------------------------------------------------------------------------------------- */

static const struct op_param brightness_params[] = {
    {"factor", PARAM_FLOAT, NULL, 0, 1e6, NULL, 0, 0, "0 is black, 1 the image itself, 2 twice as bright"},
    OP_END_OF_PARAMS,
};

static mldf_status brightness_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    return mldfi_color_state(op, in, out, CHANGE_BRIGHTNESS, op->args[0].f, 1, err);
}

const struct op_type mldfi_op_brightness = {
    .name = "brightness",
    .help = "every colour times a factor",
    .flags = OP_POINT | OP_IN_PLACE | OP_GROUP,
    .params = brightness_params,
    .infer = brightness_infer,
    .run = mldfi_color_run,
};

static const struct op_param gamma_params[] = {
    {"gamma", PARAM_FLOAT, NULL, 0, 1000, NULL, 0, 0, "the exponent: above 1 darker, below 1 lighter"},
    OP_END_OF_PARAMS,
};

static mldf_status gamma_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    return mldfi_color_state(op, in, out, CHANGE_GAMMA, op->args[0].f, 1, err);
}

const struct op_type mldfi_op_gamma = {
    .name = "gamma",
    .help = "every colour, of 0..1, to a power",
    .flags = OP_POINT | OP_IN_PLACE | OP_GROUP,
    .params = gamma_params,
    .infer = gamma_infer,
    .run = mldfi_color_run,
};

static mldf_status invert_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    return mldfi_color_state(op, in, out, CHANGE_INVERT, 0, 1, err);
}

const struct op_type mldfi_op_invert = {
    .name = "invert",
    .help = "white minus the value; always (random_invert: sometimes)",
    .flags = OP_POINT | OP_IN_PLACE | OP_GROUP,
    .infer = invert_infer,
    .run = mldfi_color_run,
};

static const struct op_param random_invert_params[] = {OP_CHANCE_PARAM("0.5"), OP_END_OF_PARAMS};

static mldf_status random_invert_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    return mldfi_color_state(op, in, out, CHANGE_INVERT, 0, op->args[0].f, err);
}

const struct op_type mldfi_op_random_invert = {
    .name = "random_invert",
    .help = "white minus the value, with a probability",
    .flags = OP_DRAWS | OP_RANDOM | OP_POINT | OP_IN_PLACE | OP_GROUP,
    .params = random_invert_params,
    .draw_bytes = sizeof(struct color_draw),
    .infer = random_invert_infer,
    .draw = mldfi_color_draw,
    .run = mldfi_color_run,
};

/* ---- solarize -------------------------------------------------------------------------------------------------------------------- */

static const struct op_param solarize_params[] = {
    {"threshold", PARAM_FLOAT, "128", 0, 65535, NULL, 0, 0,
     "values from here on are inverted; in the type's own values (u16: default 32768, f32: 0.5)"},
    OP_CHANCE_PARAM("0.5"),
    OP_END_OF_PARAMS,
};

static mldf_status solarize_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    double threshold = op->args[0].f, white = (double)mldfi_white(in->dtype);
    if (!op->args[0].given && in->dtype != MLDF_U8)
        threshold = in->dtype == MLDF_U16 ? 32768 : 0.5;
    if (threshold > white && !mldfi_edge_carried(in))
        return mldfi_fail(err, MLDF_E_ARGUMENT, "threshold %g is above white, %g", threshold, white);
    return mldfi_color_state(op, in, out, CHANGE_SOLARIZE, threshold, op->args[1].f, err);
}

const struct op_type mldfi_op_solarize = {
    .name = "solarize",
    .help = "inverts what is as bright as a threshold, with a probability",
    .flags = OP_DRAWS | OP_RANDOM | OP_POINT | OP_IN_PLACE | OP_GROUP,
    .params = solarize_params,
    .draw_bytes = sizeof(struct color_draw),
    .infer = solarize_infer,
    .draw = mldfi_color_draw,
    .run = mldfi_color_run,
};

/* ---- posterize ------------------------------------------------------------------------------------------------------------------- */

static const struct op_param posterize_params[] = {
    {"bits", PARAM_INT, NULL, 0, 16, NULL, 0, 0, "how many of the highest bits remain"},
    OP_CHANCE_PARAM("0.5"),
    OP_END_OF_PARAMS,
};

static mldf_status posterize_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    return mldfi_color_state(op, in, out, CHANGE_POSTERIZE, op->args[0].f, op->args[1].f, err);
}

const struct op_type mldfi_op_posterize = {
    .name = "posterize",
    .help = "fewer levels of each colour, with a probability",
    .flags = OP_DRAWS | OP_RANDOM | OP_POINT | OP_IN_PLACE | OP_GROUP,
    .params = posterize_params,
    .draw_bytes = sizeof(struct color_draw),
    .infer = posterize_infer,
    .draw = mldfi_color_draw,
    .run = mldfi_color_run,
};

/* ---- All of the family ------------------------------------------------------------------------------------------------------------- */

const struct op_type *const mldfi_ops_point[] = {
    &mldfi_op_autocontrast,
    &mldfi_op_brightness,
    &mldfi_op_cast,
    &mldfi_op_chw,
    &mldfi_op_color_jitter,
    &mldfi_op_contrast,
    &mldfi_op_equalize,
    &mldfi_op_gamma,
    &mldfi_op_grayscale,
    &mldfi_op_hue,
    &mldfi_op_hwc,
    &mldfi_op_invert,
    &mldfi_op_normalize,
    &mldfi_op_posterize,
    &mldfi_op_autoaugment,
    &mldfi_op_randaugment,
    &mldfi_op_random_grayscale,
    &mldfi_op_random_invert,
    &mldfi_op_saturation,
    &mldfi_op_scale,
    &mldfi_op_sharpness,
    &mldfi_op_solarize,
    &mldfi_op_to_float,
    &mldfi_op_trivialaugment,
    NULL,
};
