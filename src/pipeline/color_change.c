/* op_color.h: one change of colour by one number, and the parts of an operation that makes it. */
#include <math.h>
#include <stdlib.h>

#include "pipeline/op_color.h"
#include "pipeline/op_help.h"
#include "util/buffer.h"
#include "util/error.h"

struct pixels mldfi_pixels(const struct tensor *image) {
    struct pixels p = {
        image->data, image->dtype, (size_t)mldfi_tensor_pixels(image), (size_t)mldfi_tensor_channels(image), 0, 0};
    p.step = mldfi_planar(image->axes) ? 1 : p.channels;
    p.plane = mldfi_planar(image->axes) ? p.count : 1;
    return p;
}

static mldf_status sharpen(const struct pixels *p, size_t width, double factor, struct op_work *work, mldf_error *err) {
    mldf_status s = mldf_buffer_reserve(&work->scratch[0], 2 * width * p->step * mldf_dtype_bytes(p->dtype), err);
    if (s == MLDF_OK && width > 0)
        work->kernels->sharpen(p, width, factor, work->scratch[0].data);
    return s;
}

static struct recolor recolor_of(const struct color_step *step, float mean) {
    float value = (float)step->value;
    switch (step->change) {
    case CHANGE_CONTRAST: /* with one value for the whole image */
        return (struct recolor){RECOLOR_BLEND, value, mean * (float)(1.0 - step->value)};
    case CHANGE_SATURATION:
        return mldfi_saturation(step->value);
    case CHANGE_HUE:
        return (struct recolor){RECOLOR_HUE, value, 0};
    case CHANGE_GRAY:
        return (struct recolor){RECOLOR_GRAY, 0, 0};
    default:
        return (struct recolor){RECOLOR_BLEND, value, 0};
    }
}

void mldfi_color_changes(const struct color_step *steps, size_t count, const struct tensor *image,
                         struct op_work *work) {
    struct pixels p = mldfi_pixels(image);
    struct recolor run[COLOR_STEPS_MOST];
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        float mean = 0;
        if (steps[i].change == CHANGE_CONTRAST) { /* what came before has to be done, for its mean gray */
            mean = mldfi_recolor(work->kernels, &p, run, n, true);
            n = 0;
        }
        run[n++] = recolor_of(&steps[i], mean);
        if (n == COLOR_STEPS_MOST || i + 1 == count) {
            (void)mldfi_recolor(work->kernels, &p, run, n, false);
            n = 0;
        }
    }
}

mldf_status mldfi_color_change(color_change change, double value, const struct tensor *image, struct op_work *work,
                               mldf_error *err) {
    struct pixels p = mldfi_pixels(image);
    struct tone tone = {TONE_SOLARIZE, (float)value, 0};
    switch (change) {
    case CHANGE_BRIGHTNESS:
    case CHANGE_CONTRAST:
    case CHANGE_SATURATION:
    case CHANGE_HUE:
    case CHANGE_GRAY:
        mldfi_color_changes(&(struct color_step){change, value}, 1, image, work);
        break;
    case CHANGE_SHARPNESS:
        return sharpen(&p, (size_t)mldfi_tensor_width(image), value, work, err);
    case CHANGE_INVERT:
        tone.a = -INFINITY;
        mldfi_tone(work->kernels, &p, &tone, false);
        break;
    case CHANGE_SOLARIZE:
        mldfi_tone(work->kernels, &p, &tone, false);
        break;
    case CHANGE_POSTERIZE:
        tone.kind = TONE_POSTERIZE;
        mldfi_tone(work->kernels, &p, &tone, false);
        break;
    case CHANGE_GAMMA:
        tone.kind = TONE_GAMMA;
        tone.b = 1;
        mldfi_tone(work->kernels, &p, &tone, false);
        break;
    case CHANGE_AUTOCONTRAST:
        mldfi_autocontrast(work->kernels, &p);
        break;
    case CHANGE_EQUALIZE:
        mldfi_equalize(work->kernels, &p);
        break;
    case CHANGE_NONE:
    default:
        break;
    }
    return MLDF_OK;
}

/* ---- Parts of operations ------------------------------------------------------------------------------------------------------ */

mldf_status mldfi_color_infer(const struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    *out = *in;
    if (mldfi_edge_carried(in))
        return MLDF_OK;
    if (!mldfi_edge_has_pixels(in) || (in->dtype != MLDF_U8 && in->dtype != MLDF_U16 && in->dtype != MLDF_F32))
        return mldfi_edge_refuse(op, in, "an image of u8, u16 or f32", err);
    if (mldfi_edge_channels(in) > 4)
        return mldfi_edge_refuse(op, in, "an image of gray or RGB, with or without alpha", err);
    return MLDF_OK;
}

mldf_status mldfi_color_state(struct op *op, const struct edge *in, struct edge *out, color_change change, double value,
                              double chance, mldf_error *err) {
    struct color_state *state;
    mldf_status s = mldfi_color_infer(op, in, out, err);
    if (s)
        return s;
    state = mldfi_alloc(sizeof *state, err);
    if (!state)
        return MLDF_E_MEMORY;
    state->change = change;
    state->value = value;
    state->chance = chance;
    free(op->state);
    op->state = state;
    return MLDF_OK;
}

mldf_status mldfi_color_draw(const struct op *op, struct rng *rng, const struct frame *frame, void *draw,
                             struct frame *next, mldf_error *err) {
    struct color_draw *d = draw;
    (void)frame;
    (void)next;
    (void)err;
    d->on = mldfi_rng_chance(rng, ((const struct color_state *)op->state)->chance);
    return MLDF_OK;
}

mldf_status mldfi_color_run(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                            struct op_work *work, mldf_error *err) {
    const struct color_state *state = op->state;
    const struct color_draw *d = draw;
    mldfi_op_copy(in, out);
    if (mldfi_edge_carried(&op->in) || (op->type->draw && !d->on))
        return MLDF_OK;
    if (mldfi_tensor_channels(out) > 4)
        return mldfi_fail(err, MLDF_E_TYPE, "an image of %llu channels",
                          (unsigned long long)mldfi_tensor_channels(out));
    return mldfi_color_change(state->change, state->value, out, work, err);
}
