/* resize, random_resized_crop, center_resized_crop: which window of an image becomes which size. See op_axis.h. */
#include <math.h>
#include <string.h>

#include "kernel/resize.h"
#include "pipeline/op_axis.h"
#include "util/error.h"
#include "util/math.h"

static const char *const filters[] = {"nearest", "bilinear", "bicubic", "area", "box", "lanczos", NULL};
static const int filter_ids[] = {RESIZE_NEAREST, RESIZE_BILINEAR, RESIZE_BICUBIC,
                                 RESIZE_AREA,    RESIZE_BOX,      RESIZE_LANCZOS};

#define FILTER_PARAM \
    { "filter", PARAM_CHOICE, "bilinear", 0, 0, filters, 0, 0, "how pixels are weighed; masks always take the nearest" }
#define ANTIALIAS_PARAM \
    { "antialias", PARAM_BOOL, "true", 0, 0, NULL, 0, 0, "widen the filter when shrinking, as Pillow does" }

static void take_filter(const struct op *op, size_t at, struct axis_state *s) {
    s->filter = filter_ids[op->args[at].i];
    s->antialias = op->args[at + 1].i != 0;
}

/* ---- resize ------------------------------------------------------------------------------------------------------------------ */

static const struct op_param resize_params[] = {
    SIZE_PARAM("n: the shorter side becomes n; [h, w]: exactly that"),
    FILTER_PARAM,
    ANTIALIAS_PARAM,
    {"max_size", PARAM_INT, "0", 0, SIDE_MAX, NULL, 0, 0, "with one n: the longer side is at most this; 0: any"},
    END_PARAM};

static mldf_status infer_resize(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    struct axis_state *s = NULL;
    TRY(mldfi_axis_infer(op, in, true, out, &s, err));
    mldfi_axis_size(op, s);
    take_filter(op, 1, s);
    s->max_size = (uint32_t)op->args[3].i;
    if (op->args[0].count == 2) {
        if (s->max_size)
            return mldfi_fail(err, MLDF_E_ARGUMENT, "resize: max_size goes with one number for size, not with [h, w]");
        mldfi_moved_sides(out, s->height, s->width);
        return MLDF_OK;
    }
    if (s->max_size && s->max_size < s->width)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "resize: max_size %u is below size %u", s->max_size, s->width);
    s->height = 0;
    if (in->kind == VALUE_IMAGE && in->dims[0] >= 0 && in->dims[0] == in->dims[1]) {
        mldfi_moved_sides(out, s->width, s->width);
    } else if (in->kind == VALUE_IMAGE) {
        mldfi_moved_sides(out, DIM_VARIES, DIM_VARIES);
        out->most[0] = out->most[1] = s->max_size ? s->max_size : SIDE_MAX;
    }
    return MLDF_OK;
}

static mldf_status draw_resize(const struct op *op, struct rng *rng, const struct frame *frame, void *draw,
                               struct frame *next, mldf_error *err) {
    const struct axis_state *s = op->state;
    struct axis_draw *d = mldfi_axis_draw_begin(draw, frame);
    mldf_status status = mldfi_axis_check(frame, err);
    (void)rng;
    d->resized = true;
    d->to_width = s->width;
    d->to_height = s->height;
    if (status < 0)
        return status;
    if (s->height == 0) {
        /* torchvision: the longer side is size * long / short, cut to a whole number. */
        uint64_t shorter = frame->width < frame->height ? frame->width : frame->height;
        uint64_t longer = frame->width < frame->height ? frame->height : frame->width;
        uint64_t a = s->width, b = a * longer / shorter;
        if (s->max_size && b > s->max_size) {
            a = s->max_size * a / b;
            b = s->max_size;
            a = a ? a : 1;
        }
        if (b > SIDE_MAX)
            return mldfi_fail(err, MLDF_E_LIMIT, "resize: %u x %u becomes %llu wide; the limit is %d; give max_size",
                              frame->width, frame->height, (unsigned long long)b, SIDE_MAX);
        d->to_width = (uint32_t)(frame->width < frame->height ? a : b);
        d->to_height = (uint32_t)(frame->width < frame->height ? b : a);
    }
    return mldfi_axis_draw_end(d, next);
}

/* ---- random_resized_crop ------------------------------------------------------------------------------------------------------- */

static const struct op_param rrc_params[] = {
    SIZE_PARAM("the result: n x n, or [h, w]"),
    {"scale", PARAM_FLOATS, "[0.08, 1.0]", 1e-6, 1, NULL, 2, 2, "share of the image's area, between these"},
    {"ratio", PARAM_FLOATS, "[0.75, 1.3333333333333333]", 1e-3, 1e3, NULL, 2, 2,
     "width / height of the crop, between these"},
    FILTER_PARAM,
    ANTIALIAS_PARAM,
    END_PARAM};

static mldf_status check_range(const char *name, const double range[2], mldf_error *err) {
    if (range[0] > range[1])
        return mldfi_fail(err, MLDF_E_ARGUMENT, "random_resized_crop: %s goes from %g to %g; the smaller comes first",
                          name, range[0], range[1]);
    return MLDF_OK;
}

static mldf_status infer_rrc(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    struct axis_state *s = NULL;
    TRY(mldfi_axis_infer(op, in, true, out, &s, err));
    mldfi_axis_size(op, s);
    take_filter(op, 3, s);
    for (int i = 0; i < 2; i++) {
        s->scale[i] = op->args[1].list[i];
        s->ratio[i] = op->args[2].list[i];
        s->log_ratio[i] = mldfi_log(s->ratio[i]);
    }
    mldfi_moved_sides(out, s->height, s->width);
    mldf_status status = check_range("scale", s->scale, err);
    return status < 0 ? status : check_range("ratio", s->ratio, err);
}

/* torchvision's get_params: ten tries, then the largest central window whose ratio is allowed. */
static mldf_status draw_rrc(const struct op *op, struct rng *rng, const struct frame *frame, void *draw,
                            struct frame *next, mldf_error *err) {
    const struct axis_state *s = op->state;
    struct axis_draw *d = mldfi_axis_draw_begin(draw, frame);
    double width = frame->width, height = frame->height, area = width * height;
    TRY(mldfi_axis_check(frame, err));
    d->resized = true;
    d->to_width = s->width;
    d->to_height = s->height;
    for (int i = 0; i < 10; i++) {
        double target = area * mldfi_rng_uniform(rng, s->scale[0], s->scale[1]);
        double ratio = mldfi_exp(mldfi_rng_uniform(rng, s->log_ratio[0], s->log_ratio[1]));
        double w = rint(sqrt(target * ratio)), h = rint(sqrt(target / ratio));
        if (w < 1 || h < 1 || w > width || h > height)
            continue;
        d->width = (uint32_t)w;
        d->height = (uint32_t)h;
        d->y = (uint32_t)mldfi_rng_below(rng, (uint64_t)frame->height - d->height + 1);
        d->x = (uint32_t)mldfi_rng_below(rng, (uint64_t)frame->width - d->width + 1);
        return mldfi_axis_draw_end(d, next);
    }
    double ratio = width / height, w = width, h = height;
    if (ratio < s->ratio[0])
        h = rint(w / s->ratio[0]);
    else if (ratio > s->ratio[1])
        w = rint(h * s->ratio[1]);
    d->width = w < 1 ? 1 : w > width ? frame->width : (uint32_t)w;
    d->height = h < 1 ? 1 : h > height ? frame->height : (uint32_t)h;
    d->x = (frame->width - d->width) / 2;
    d->y = (frame->height - d->height) / 2;
    return mldfi_axis_draw_end(d, next);
}

/* ---- center_resized_crop ---------------------------------------------------------------------------------------------------------- */

static const struct op_param crc_params[] = {SIZE_PARAM("the result: n x n, or [h, w]"),
                                             {"ratio", PARAM_FLOAT, "0.875", 1e-3, 1, NULL, 0, 0,
                                              "side of the central square crop, as a share of the shorter side"},
                                             FILTER_PARAM,
                                             ANTIALIAS_PARAM,
                                             END_PARAM};

static mldf_status infer_crc(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    struct axis_state *s = NULL;
    TRY(mldfi_axis_infer(op, in, true, out, &s, err));
    mldfi_axis_size(op, s);
    s->ratio[0] = op->args[1].f;
    take_filter(op, 2, s);
    mldfi_moved_sides(out, s->height, s->width);
    return MLDF_OK;
}

/* FFCV's CenterCropRGBImageDecoder: a square of ratio * min(h, w), in the middle. */
static mldf_status draw_crc(const struct op *op, struct rng *rng, const struct frame *frame, void *draw,
                            struct frame *next, mldf_error *err) {
    const struct axis_state *s = op->state;
    struct axis_draw *d = mldfi_axis_draw_begin(draw, frame);
    uint32_t shorter = frame->width < frame->height ? frame->width : frame->height;
    uint32_t side = (uint32_t)(s->ratio[0] * shorter);
    mldf_status status = mldfi_axis_check(frame, err);
    (void)rng;
    if (status < 0)
        return status;
    side = side ? side : 1;
    d->width = d->height = side;
    d->x = (frame->width - side) / 2;
    d->y = (frame->height - side) / 2;
    d->resized = true;
    d->to_width = s->width;
    d->to_height = s->height;
    return mldfi_axis_draw_end(d, next);
}

AXIS_OP(mldfi_op_resize, "resize", "changes the size; antialiased", 0, resize_params, infer_resize, draw_resize);
AXIS_OP(mldfi_op_random_resized_crop, "random_resized_crop", "a random window of random size and ratio, resized",
        OP_RANDOM, rrc_params, infer_rrc, draw_rrc);
AXIS_OP(mldfi_op_center_resized_crop, "center_resized_crop",
        "a square of `ratio` times the shorter side from the middle, resized", 0, crc_params, infer_crc, draw_crc);
