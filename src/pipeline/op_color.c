/* Operations on an image's colours: contrast, saturation, hue, sharpness, autocontrast, equalize, gray, and color_jitter, which does four
 * of them in random order. color_change.c has what they share. */
#include "pipeline/op_color.h"

#include <stdlib.h>

#include "pipeline/op_help.h"
#include "pipeline/op_point.h"
#include "util/buffer.h"
#include "util/error.h"

/* ---- Fixed factors --------------------------------------------------------------------------------------------------------------- */

static const struct op_param contrast_params[] = {
    {"factor", PARAM_FLOAT, NULL, 0, 1e6, NULL, 0, 0, "0 is the image's mean gray, 1 the image itself"},
    OP_END_OF_PARAMS,
};
static const struct op_param saturation_params[] = {
    {"factor", PARAM_FLOAT, NULL, 0, 1e6, NULL, 0, 0, "0 is the gray image, 1 the image itself"},
    OP_END_OF_PARAMS,
};
static const struct op_param hue_params[] = {
    {"factor", PARAM_FLOAT, NULL, -0.5, 0.5, NULL, 0, 0, "part of the circle of hues; 0.5 gives the opposite hues"},
    OP_END_OF_PARAMS,
};

static mldf_status contrast_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    return mldfi_color_state(op, in, out, CHANGE_CONTRAST, op->args[0].f, 1, err);
}

static mldf_status saturation_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    return mldfi_color_state(op, in, out, CHANGE_SATURATION, op->args[0].f, 1, err);
}

static mldf_status hue_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    return mldfi_color_state(op, in, out, CHANGE_HUE, op->args[0].f, 1, err);
}

const struct op_type mldfi_op_contrast = {
    .name = "contrast",
    .help = "blends with the image's mean gray",
    .flags = OP_IN_PLACE | OP_GROUP,
    .params = contrast_params,
    .infer = contrast_infer,
    .run = mldfi_color_run,
};
const struct op_type mldfi_op_saturation = {
    .name = "saturation",
    .help = "blends with the gray image",
    .flags = OP_IN_PLACE | OP_GROUP,
    .params = saturation_params,
    .infer = saturation_infer,
    .run = mldfi_color_run,
};
const struct op_type mldfi_op_hue = {
    .name = "hue",
    .help = "turns all hues by the same angle",
    .flags = OP_IN_PLACE | OP_GROUP,
    .params = hue_params,
    .infer = hue_infer,
    .run = mldfi_color_run,
};

/* ---- With a probability ------------------------------------------------------------------------------------------------------------ */

static const struct op_param sharpness_params[] = {
    {"factor", PARAM_FLOAT, NULL, 0, 1e6, NULL, 0, 0, "0 is smooth, 1 the image itself, 2 sharper"},
    OP_CHANCE_PARAM("0.5"),
    OP_END_OF_PARAMS,
};
static const struct op_param half_params[] = {OP_CHANCE_PARAM("0.5"), OP_END_OF_PARAMS};
static const struct op_param tenth_params[] = {OP_CHANCE_PARAM("0.1"), OP_END_OF_PARAMS};

static mldf_status sharpness_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    return mldfi_color_state(op, in, out, CHANGE_SHARPNESS, op->args[0].f, op->args[1].f, err);
}

static mldf_status autocontrast_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    return mldfi_color_state(op, in, out, CHANGE_AUTOCONTRAST, 0, op->args[0].f, err);
}

static mldf_status equalize_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    return mldfi_color_state(op, in, out, CHANGE_EQUALIZE, 0, op->args[0].f, err);
}

static mldf_status random_grayscale_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    return mldfi_color_state(op, in, out, CHANGE_GRAY, 0, op->args[0].f, err);
}

const struct op_type mldfi_op_sharpness = {
    .name = "sharpness",
    .help = "blends with the smoothed image, with a probability",
    .flags = OP_DRAWS | OP_RANDOM | OP_IN_PLACE | OP_GROUP,
    .params = sharpness_params,
    .draw_bytes = sizeof(struct color_draw),
    .infer = sharpness_infer,
    .draw = mldfi_color_draw,
    .run = mldfi_color_run,
};
const struct op_type mldfi_op_autocontrast = {
    .name = "autocontrast",
    .help = "stretches each colour to the whole range, with a probability",
    .flags = OP_DRAWS | OP_RANDOM | OP_IN_PLACE | OP_GROUP,
    .params = half_params,
    .draw_bytes = sizeof(struct color_draw),
    .infer = autocontrast_infer,
    .draw = mldfi_color_draw,
    .run = mldfi_color_run,
};
const struct op_type mldfi_op_equalize = {
    .name = "equalize",
    .help = "spreads each colour's histogram evenly, with a probability",
    .flags = OP_DRAWS | OP_RANDOM | OP_IN_PLACE | OP_GROUP,
    .params = half_params,
    .draw_bytes = sizeof(struct color_draw),
    .infer = equalize_infer,
    .draw = mldfi_color_draw,
    .run = mldfi_color_run,
};
const struct op_type mldfi_op_random_grayscale = {
    .name = "random_grayscale",
    .help = "gray in all three colours, with a probability",
    .flags = OP_DRAWS | OP_RANDOM | OP_IN_PLACE | OP_GROUP,
    .params = tenth_params,
    .draw_bytes = sizeof(struct color_draw),
    .infer = random_grayscale_infer,
    .draw = mldfi_color_draw,
    .run = mldfi_color_run,
};

/* ---- grayscale ----------------------------------------------------------------------------------------------------------------------- */

static const struct op_param grayscale_params[] = {
    {"channels", PARAM_INT, "1", 1, 3, NULL, 0, 0,
     "colours of the output, 1 or 3; alpha comes on top when the input has it"},
    OP_END_OF_PARAMS,
};

/* Channels of the output: the colours asked for, and alpha where there is one. */
static int64_t gray_channels(const struct op *op, int64_t in) {
    return op->args[0].i + (in % 2 == 0);
}

static mldf_status grayscale_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    mldf_status s = mldfi_color_infer(op, in, out, err);
    uint32_t at = mldfi_axis(in->axes, 'c');
    if (s || mldfi_edge_carried(in))
        return s;
    if (op->args[0].i == 2)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "channels is 1 or 3, not 2");
    if (in->dims[at] == DIM_VARIES) {
        out->most[at] = (uint64_t)op->args[0].i + 1;
    } else {
        out->dims[at] = gray_channels(op, in->dims[at]);
        out->most[at] = (uint64_t)out->dims[at];
    }
    return MLDF_OK;
}

static mldf_status grayscale_shape(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                                   mldf_error *err) {
    (void)draw;
    (void)err;
    memcpy(out->dims, in->dims, sizeof out->dims);
    if (!mldfi_edge_carried(&op->in))
        out->dims[mldfi_axis(in->axes, 'c')] = (uint64_t)gray_channels(op, (int64_t)mldfi_tensor_channels(in));
    return MLDF_OK;
}

static mldf_status grayscale_run(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                                 struct op_work *work, mldf_error *err) {
    struct pixels from, to;
    (void)draw;
    (void)err;
    if (mldfi_edge_carried(&op->in))
        return mldfi_op_copy(in, out);
    from = mldfi_pixels(in);
    to = mldfi_pixels(out);
    work->kernels->gray(&from, &to);
    if (from.channels % 2 == 0)
        mldfi_copy_channel(&from, from.channels - 1, &to, to.channels - 1);
    return MLDF_OK;
}

const struct op_type mldfi_op_grayscale = {
    .name = "grayscale",
    .help = "0.2989 r + 0.587 g + 0.114 b; always (random_grayscale: sometimes)",
    .flags = OP_GROUP,
    .params = grayscale_params,
    .infer = grayscale_infer,
    .shape = grayscale_shape,
    .run = grayscale_run,
};

/* ---- color_jitter --------------------------------------------------------------------------------------------------------------------- */

enum { JITTERS = 4, JITTER_CHANCE = 4 };
static const struct op_param jitter_params[] = {
    {"brightness", PARAM_FLOATS, "0", 0, 1e6, NULL, 1, 2, "x: a factor from max(0, 1 - x) to 1 + x; or [from, to]"},
    {"contrast", PARAM_FLOATS, "0", 0, 1e6, NULL, 1, 2, "as brightness"},
    {"saturation", PARAM_FLOATS, "0", 0, 1e6, NULL, 1, 2, "as brightness"},
    {"hue", PARAM_FLOATS, "0", -0.5, 0.5, NULL, 1, 2, "x: a turn from -x to x of the circle; or [from, to]"},
    OP_CHANCE_PARAM("1"),
    OP_END_OF_PARAMS,
};
static const color_change jitter_changes[JITTERS] = {CHANGE_BRIGHTNESS, CHANGE_CONTRAST, CHANGE_SATURATION, CHANGE_HUE};

struct jitter {
    bool on[JITTERS]; /* one whose range is nothing but "no change" is left out */
    double from[JITTERS], to[JITTERS];
};
struct jitter_draw {
    bool on;
    uint8_t order[JITTERS];
    double value[JITTERS];
};

static mldf_status jitter_range(const struct op *op, uint32_t k, struct jitter *j, mldf_error *err) {
    const struct arg *arg = &op->args[k];
    double middle = k == 3 ? 0 : 1, x = arg->list[0];
    if (arg->count == 2) {
        j->from[k] = arg->list[0];
        j->to[k] = arg->list[1];
    } else if (x < 0) {
        return mldfi_fail(err, MLDF_E_ARGUMENT, "hue: %g is below 0; give [from, to] for other ranges", x);
    } else {
        j->from[k] = k < 3 && x > 1 ? 0 : middle - x;
        j->to[k] = middle + x;
    }
    if (j->from[k] > j->to[k])
        return mldfi_fail(err, MLDF_E_ARGUMENT, "%s: [%g, %g] is backwards", op->type->params[k].name, j->from[k],
                          j->to[k]);
    j->on[k] = j->from[k] < middle || j->to[k] > middle;
    return MLDF_OK;
}

static mldf_status jitter_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    mldf_status s = mldfi_color_infer(op, in, out, err);
    struct jitter *j;
    if (s)
        return s;
    j = mldfi_alloc_zero(1, sizeof *j, err);
    if (!j)
        return MLDF_E_MEMORY;
    free(op->state);
    op->state = j;
    for (uint32_t k = 0; k < JITTERS && !s; k++)
        s = jitter_range(op, k, j, err);
    return s;
}

/* Every number is drawn whether it is used or not: what one parameter is does not change what another gets. */
static mldf_status jitter_draw(const struct op *op, struct rng *rng, const struct frame *frame, void *draw,
                               struct frame *next, mldf_error *err) {
    const struct jitter *j = op->state;
    struct jitter_draw *d = draw;
    (void)frame;
    (void)next;
    (void)err;
    d->on = mldfi_rng_chance(rng, op->args[JITTER_CHANCE].f);
    for (uint8_t k = 0; k < JITTERS; k++)
        d->order[k] = k;
    for (uint32_t k = JITTERS - 1; k > 0; k--) {
        uint32_t other = (uint32_t)mldfi_rng_below(rng, k + 1);
        uint8_t kept = d->order[k];
        d->order[k] = d->order[other];
        d->order[other] = kept;
    }
    for (uint32_t k = 0; k < JITTERS; k++)
        d->value[k] = mldfi_rng_uniform(rng, j->from[k], j->to[k]);
    return MLDF_OK;
}

static mldf_status jitter_run(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                              struct op_work *work, mldf_error *err) {
    const struct jitter *j = op->state;
    const struct jitter_draw *d = draw;
    (void)err;
    mldf_status s = mldfi_op_copy(in, out);
    if (mldfi_edge_carried(&op->in) || !d->on)
        return s;
    struct color_step steps[JITTERS];
    size_t count = 0;
    for (uint32_t k = 0; k < JITTERS; k++) {
        uint8_t which = d->order[k];
        if (j->on[which])
            steps[count++] = (struct color_step){jitter_changes[which], d->value[which]};
    }
    mldfi_color_changes(steps, count, out, work);
    return s;
}

const struct op_type mldfi_op_color_jitter = {
    .name = "color_jitter",
    .help = "random brightness, contrast, saturation and hue, in random order",
    .flags = OP_DRAWS | OP_RANDOM | OP_IN_PLACE | OP_GROUP,
    .params = jitter_params,
    .draw_bytes = sizeof(struct jitter_draw),
    .infer = jitter_infer,
    .draw = jitter_draw,
    .run = jitter_run,
};
