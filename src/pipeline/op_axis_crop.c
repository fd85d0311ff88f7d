/* center_crop, random_crop, hflip, vflip: windows of an image, padded where it is too small, and mirrors. See op_axis.h. */
#include <math.h>
#include <string.h>

#include "pipeline/op_axis.h"
#include "util/error.h"

/* ---- center_crop, random_crop -------------------------------------------------------------------------------------------------------- */

static const struct op_param center_params[] = {SIZE_PARAM("n x n, or [h, w]; a smaller image is padded with `fill`"),
                                                OP_FILL_PARAM("of the padding: a number, or one for each channel"),
                                                OP_MASK_FILL_PARAM, END_PARAM};
static const struct op_param random_crop_params[] = {
    SIZE_PARAM("n x n, or [h, w]"),
    {"padding", PARAM_INTS, "0", 0, SIDE_MAX, NULL, 1, 4, "on all sides, [x, y], or [left, top, right, bottom]"},
    {"pad_if_needed", PARAM_BOOL, "false", 0, 0, NULL, 0, 0, "pad images that are smaller than the crop"},
    OP_FILL_PARAM("of the padding: a number, or one for each channel"),
    OP_MASK_FILL_PARAM,
    END_PARAM};

static mldf_status infer_crop(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    struct axis_state *s = NULL;
    bool random = op->type->flags & OP_RANDOM;
    TRY(mldfi_axis_infer(op, in, false, out, &s, err));
    mldfi_axis_size(op, s);
    if (random) {
        const struct arg *pad = &op->args[1];
        for (uint32_t i = 0; i < 4; i++)
            s->pad[i] = (uint32_t)pad->list[i % pad->count];
        if (pad->count == 3)
            return mldfi_fail(err, MLDF_E_ARGUMENT, "random_crop: padding of 3 numbers; 1, 2 or 4 are understood");
        s->pad_if_needed = op->args[2].i != 0;
    } else {
        s->pad_if_needed = true;
    }
    mldfi_moved_sides(out, s->height, s->width);
    return mldfi_fill_take_moved(op, random ? 3 : 1, random ? 4 : 2, s->fill, err);
}

static mldf_status draw_crop(const struct op *op, struct rng *rng, const struct frame *frame, void *draw,
                             struct frame *next, mldf_error *err) {
    const struct axis_state *s = op->state;
    struct axis_draw *d = mldfi_axis_draw_begin(draw, frame);
    bool random = op->type->flags & OP_RANDOM;
    uint64_t width = (uint64_t)frame->width + s->pad[0] + s->pad[2];
    uint64_t height = (uint64_t)frame->height + s->pad[1] + s->pad[3];
    d->pad_left = s->pad[0], d->pad_top = s->pad[1], d->pad_right = s->pad[2], d->pad_bottom = s->pad[3];
    if ((width < s->width || height < s->height) && !s->pad_if_needed)
        return mldfi_fail(err, MLDF_E_RANGE, "an image of %u x %u is smaller than the crop of %u x %u; pad_if_needed",
                          frame->width, frame->height, s->width, s->height);
    /* torchvision pads both sides for random_crop; for center_crop the smaller half is left and above. */
    if (width < s->width) {
        uint32_t missing = (uint32_t)(s->width - width);
        d->pad_left += random ? missing : missing / 2;
        d->pad_right += random ? missing : missing - missing / 2;
        width += random ? 2 * (uint64_t)missing : missing;
    }
    if (height < s->height) {
        uint32_t missing = (uint32_t)(s->height - height);
        d->pad_top += random ? missing : missing / 2;
        d->pad_bottom += random ? missing : missing - missing / 2;
        height += random ? 2 * (uint64_t)missing : missing;
    }
    d->padded = d->pad_left || d->pad_top || d->pad_right || d->pad_bottom;
    d->width = s->width;
    d->height = s->height;
    if (random) {
        d->y = (uint32_t)mldfi_rng_below(rng, height - s->height + 1);
        d->x = (uint32_t)mldfi_rng_below(rng, width - s->width + 1);
    } else { /* as torchvision: halves are rounded to even */
        d->y = (uint32_t)rint((double)(height - s->height) / 2.0);
        d->x = (uint32_t)rint((double)(width - s->width) / 2.0);
    }
    return mldfi_axis_draw_end(d, next);
}

/* ---- hflip, vflip -------------------------------------------------------------------------------------------------------------------- */

static const struct op_param flip_params[] = {{"p", PARAM_FLOAT, "0.5", 0, 1, NULL, 0, 0, "probability"}, END_PARAM};

static mldf_status infer_flip(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    struct axis_state *s = NULL;
    mldf_status status = mldfi_axis_infer(op, in, false, out, &s, err);
    if (status == MLDF_OK)
        s->p = op->args[0].f;
    return status;
}

static mldf_status draw_flip(const struct op *op, struct rng *rng, const struct frame *frame, void *draw,
                             struct frame *next, mldf_error *err) {
    const struct axis_state *s = op->state;
    struct axis_draw *d = mldfi_axis_draw_begin(draw, frame);
    bool flip = mldfi_rng_chance(rng, s->p);
    (void)err;
    d->mirror_x = flip && op->type->name[0] == 'h';
    d->mirror_y = flip && op->type->name[0] == 'v';
    return mldfi_axis_draw_end(d, next);
}

AXIS_OP(mldfi_op_center_crop, "center_crop", "the middle of the image", 0, center_params, infer_crop, draw_crop);
AXIS_OP(mldfi_op_random_crop, "random_crop", "a window at a random place, optionally of the padded image", OP_RANDOM,
        random_crop_params, infer_crop, draw_crop);
AXIS_OP(mldfi_op_hflip, "hflip", "mirrors left and right with probability p", OP_RANDOM, flip_params, infer_flip,
        draw_flip);
AXIS_OP(mldfi_op_vflip, "vflip", "mirrors top and bottom with probability p", OP_RANDOM, flip_params, infer_flip,
        draw_flip);
