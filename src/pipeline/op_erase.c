/* Operations that paint: random_translate and cutout as FFCV has them, erasing as torchvision has RandomErasing. All of it is whole rows of
 * memcpy and memset; nothing here looks at a pixel's value. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/geometry.h"
#include "pipeline/op_fill.h"
#include "pipeline/op_help.h"
#include "pipeline/op_warp.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/math.h"

enum { ERASE_SIDE_MAX = 65535 };

/* ---- random_translate ------------------------------------------------------------------------------------------------------------------- */

struct translate_state {
    double fill[FILL_CHANNELS];
};
struct translate_draw {
    struct frame from;
    int32_t x, y; /* where the image's corner goes */
};

enum { TRANSLATE_PADDING, TRANSLATE_FILL };
static const struct op_param translate_params[] = {
    {"padding", PARAM_INT, NULL, 0, ERASE_SIDE_MAX, NULL, 0, 0, "pixels: the greatest shift in each direction"},
    OP_FILL_PARAM("what comes in at the sides: a number, or one for each channel"),
    OP_MASK_FILL_PARAM,
    OP_END_OF_PARAMS,
};

static mldf_status translate_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    mldf_status status = mldfi_moved_infer(op, in, out, err);
    struct translate_state *s;
    if (status < 0)
        return status;
    free(op->state);
    s = op->state = mldfi_alloc_zero(1, sizeof *s, err);
    return s ? mldfi_fill_take_moved(op, TRANSLATE_FILL, TRANSLATE_FILL + 1, s->fill, err) : MLDF_E_MEMORY;
}

static mldf_status translate_draw(const struct op *op, struct rng *rng, const struct frame *frame, void *draw,
                                  struct frame *next, mldf_error *err) {
    struct translate_draw *d = draw;
    int64_t padding = op->args[TRANSLATE_PADDING].i;
    (void)next;
    (void)err;
    d->from = *frame;
    d->y = (int32_t)(padding - (int64_t)mldfi_rng_below(rng, 2 * (uint64_t)padding + 1));
    d->x = (int32_t)(padding - (int64_t)mldfi_rng_below(rng, 2 * (uint64_t)padding + 1));
    return MLDF_OK;
}

static mldf_status translate_shape(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                                   mldf_error *err) {
    const struct translate_draw *d = draw;
    (void)out;
    return mldfi_moved_check(op, &d->from, in, err);
}

/* A side of n pixels shifted by `shift`: new pixels to + 0..count - 1 are old ones from + 0..count - 1. */
struct strip {
    uint64_t to, from, count;
};
static struct strip shifted(uint64_t n, int32_t shift) {
    uint64_t by = (uint64_t)(shift < 0 ? -(int64_t)shift : shift);
    by = by < n ? by : n;
    struct strip s = {shift > 0 ? by : 0, shift < 0 ? by : 0, n - by};
    return s;
}

static void translate_image(const struct translate_state *s, const struct translate_draw *d, const struct tensor *in,
                            const struct tensor *out) {
    struct fill_pixel fill = mldfi_fill_pixel(in->dtype, s->fill);
    uint64_t width = d->from.width, height = d->from.height;
    struct strip x = shifted(width, d->x), y = shifted(height, d->y);
    size_t channels = (size_t)mldfi_tensor_channels(in), together = mldfi_planar(in->axes) ? 1 : channels;
    size_t pixel = together * fill.element, row = (size_t)width * pixel;
    for (size_t plane = 0; plane < channels / together; plane++) {
        size_t at = plane * row * (size_t)height;
        const uint8_t *from = (const uint8_t *)in->data + at + (size_t)y.from * row + (size_t)x.from * pixel;
        uint8_t *to = (uint8_t *)out->data + at + (size_t)y.to * row + (size_t)x.to * pixel;
        if (y.count && x.count > width / 2) { /* in one copy: what comes between the rows is painted below */
            memcpy(to, from, (size_t)(y.count - 1) * row + (size_t)x.count * pixel);
            continue;
        }
        for (uint64_t j = 0; x.count && j < y.count; j++)
            memcpy(to + j * row, from + j * row, (size_t)x.count * pixel);
    }
    mldfi_fill_paint(out, &fill, 0, 0, width, y.to);
    mldfi_fill_paint(out, &fill, 0, y.to + y.count, width, height - y.to - y.count);
    mldfi_fill_paint(out, &fill, 0, y.to, x.to, y.count);
    mldfi_fill_paint(out, &fill, x.to + x.count, y.to, width - x.to - x.count, y.count);
}

static mldf_status translate_run(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                                 struct op_work *work, mldf_error *err) {
    const struct translate_draw *d = draw;
    struct axis_draw move = {.from = d->from, .width = d->from.width, .height = d->from.height};
    uint64_t count;
    (void)work;
    (void)err;
    if (!mldfi_moved_begin(op, in, out, &count)) {
        translate_image(op->state, d, in, out);
        return MLDF_OK;
    }
    /* As a window of the image padded at the sides that it leaves. */
    move.pad_left = d->x > 0 ? (uint32_t)d->x : 0;
    move.pad_top = d->y > 0 ? (uint32_t)d->y : 0;
    move.x = d->x < 0 ? (uint32_t)-d->x : 0;
    move.y = d->y < 0 ? (uint32_t)-d->y : 0;
    if (op->in.role == ROLE_BOXES)
        mldfi_axis_boxes(&move, out->data, count);
    else
        mldfi_axis_points(&move, out->data, count, in->dims[in->ndim - 1]);
    return MLDF_OK;
}

const struct op_type mldfi_op_random_translate = {
    .name = "random_translate",
    .help = "moves the image by up to `padding` pixels each way; its size stays",
    .flags = OP_DRAWS | OP_RANDOM | OP_GROUP,
    .params = translate_params,
    .draw_bytes = sizeof(struct translate_draw),
    .infer = translate_infer,
    .draw = translate_draw,
    .shape = translate_shape,
    .run = translate_run,
};

/* ---- cutout ----------------------------------------------------------------------------------------------------------------------------------- */

struct erase_draw {
    bool on;
    uint32_t x, y, width, height;
    struct rng noise; /* erasing(value=random) */
};
_Static_assert(sizeof(struct erase_draw) <= OP_DRAW_BYTES, "a draw has its bounds");
struct erase_state {
    double fill[FILL_CHANNELS];
    double scale[2], log_ratio[2], chance;
    bool random;
};

/* Images of every type; masks, boxes and points stay. */
static mldf_status erase_begin(struct op *op, const struct edge *in, struct edge *out, struct erase_state **state,
                               mldf_error *err) {
    *out = *in;
    if (!mldfi_edge_carried(in) && (!mldfi_edge_has_pixels(in) || mldfi_edge_channels(in) > FILL_CHANNELS))
        return mldfi_edge_refuse(op, in, "an image of at most four channels", err);
    free(op->state);
    *state = op->state = mldfi_alloc_zero(1, sizeof **state, err);
    return *state ? MLDF_OK : MLDF_E_MEMORY;
}

enum { CUTOUT_SIZE, CUTOUT_FILL };
static const struct op_param cutout_params[] = {
    {"size", PARAM_INT, NULL, 1, ERASE_SIDE_MAX, NULL, 0, 0, "side of the square, pixels; at most the image's"},
    OP_FILL_PARAM("its colour: a number, or one for each channel"),
    OP_END_OF_PARAMS,
};

static mldf_status cutout_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    struct erase_state *s;
    mldf_status status = erase_begin(op, in, out, &s, err);
    return status < 0 || mldfi_edge_carried(in) ? status : mldfi_fill_take(op, CUTOUT_FILL, s->fill, err);
}

static mldf_status cutout_draw(const struct op *op, struct rng *rng, const struct frame *frame, void *draw,
                               struct frame *next, mldf_error *err) {
    uint32_t size = (uint32_t)op->args[CUTOUT_SIZE].i;
    struct erase_draw *d = draw;
    (void)next;
    (void)err;
    *d = (struct erase_draw){.on = true};
    d->width = size < frame->width ? size : frame->width;
    d->height = size < frame->height ? size : frame->height;
    d->y = (uint32_t)mldfi_rng_below(rng, (uint64_t)frame->height - d->height + 1);
    d->x = (uint32_t)mldfi_rng_below(rng, (uint64_t)frame->width - d->width + 1);
    return MLDF_OK;
}

/* Numbers of the image's whole range for integers, normal ones for floats: channel by channel, row by row, as torchvision's tensors are. */
static void paint_noise(const struct erase_draw *d, const struct tensor *image) {
    struct rng rng = d->noise;
    size_t width = (size_t)mldfi_tensor_width(image), channels = (size_t)mldfi_tensor_channels(image);
    size_t step = mldfi_planar(image->axes) ? 1 : channels;
    size_t plane = mldfi_planar(image->axes) ? width * (size_t)mldfi_tensor_height(image) : 1;
    for (size_t c = 0; c < channels; c++)
        for (size_t y = d->y; y < (size_t)d->y + d->height; y++)
            for (size_t x = d->x; x < (size_t)d->x + d->width; x++) {
                size_t at = c * plane + (y * width + x) * step;
                if (image->dtype == MLDF_U8)
                    ((uint8_t *)image->data)[at] = (uint8_t)mldfi_rng_u32(&rng);
                else if (image->dtype == MLDF_U16)
                    ((uint16_t *)image->data)[at] = (uint16_t)mldfi_rng_u32(&rng);
                else
                    ((float *)image->data)[at] = (float)mldfi_rng_normal(&rng);
            }
}

static mldf_status erase_run(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                             struct op_work *work, mldf_error *err) {
    const struct erase_state *s = op->state;
    const struct erase_draw *d = draw;
    mldf_status status = mldfi_op_copy(in, out);
    (void)work;
    if (mldfi_edge_carried(&op->in) || !d->on)
        return status;
    if (mldfi_tensor_channels(out) > FILL_CHANNELS || (uint64_t)d->x + d->width > mldfi_tensor_width(out) ||
        (uint64_t)d->y + d->height > mldfi_tensor_height(out))
        return mldfi_fail(err, MLDF_E_RANGE, "%u x %u pixels at %u, %u leave the image", d->width, d->height, d->x,
                          d->y);
    if (s->random) {
        paint_noise(d, out);
    } else {
        struct fill_pixel fill = mldfi_fill_pixel(out->dtype, s->fill);
        mldfi_fill_paint(out, &fill, d->x, d->y, d->width, d->height);
    }
    return MLDF_OK;
}

const struct op_type mldfi_op_cutout = {
    .name = "cutout",
    .help = "paints a square at a random place",
    .flags = OP_DRAWS | OP_RANDOM | OP_GROUP | OP_IN_PLACE,
    .params = cutout_params,
    .draw_bytes = sizeof(struct erase_draw),
    .infer = cutout_infer,
    .draw = cutout_draw,
    .run = erase_run,
};

/* ---- erasing ---------------------------------------------------------------------------------------------------------------------------------- */

enum { ERASING_P, ERASING_SCALE, ERASING_RATIO, ERASING_VALUE };
static const char *const erasing_values[] = {"random", NULL};
static const struct op_param erasing_params[] = {
    {"p", PARAM_FLOAT, "0.5", 0, 1, NULL, 0, 0, "probability"},
    {"scale", PARAM_FLOATS, "[0.02, 0.33]", 1e-6, 1, NULL, 2, 2, "share of the image's area, between these"},
    {"ratio", PARAM_FLOATS, "[0.3, 3.3]", 1e-3, 1e3, NULL, 2, 2, "height / width, between these"},
    {"value", PARAM_FLOATS, "0", -1e9, 1e9, erasing_values, 1, FILL_CHANNELS,
     "a number, or one for each channel; random: noise, normal for f32, all values alike for integers"},
    OP_END_OF_PARAMS,
};

static mldf_status erasing_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    struct erase_state *s;
    TRY(erase_begin(op, in, out, &s, err));
    s->chance = op->args[ERASING_P].f;
    for (uint32_t k = ERASING_SCALE; k <= ERASING_RATIO; k++)
        if (op->args[k].list[0] > op->args[k].list[1])
            return mldfi_fail(err, MLDF_E_ARGUMENT, "erasing: %s goes from %g to %g; the smaller comes first",
                              op->type->params[k].name, op->args[k].list[0], op->args[k].list[1]);
    for (int i = 0; i < 2; i++) {
        s->scale[i] = op->args[ERASING_SCALE].list[i];
        s->log_ratio[i] = mldfi_log(op->args[ERASING_RATIO].list[i]);
    }
    s->random = op->args[ERASING_VALUE].count == 0;
    if (mldfi_edge_carried(in))
        return MLDF_OK;
    if (s->random && in->dtype != MLDF_U8 && in->dtype != MLDF_U16 && in->dtype != MLDF_F32)
        return mldfi_edge_refuse(op, in, "an image of u8, u16 or f32 for value=random", err);
    return s->random ? MLDF_OK : mldfi_fill_take(op, ERASING_VALUE, s->fill, err);
}

/* Ten tries at a rectangle that is smaller than the image both ways; without luck nothing is erased. */
static mldf_status erasing_draw(const struct op *op, struct rng *rng, const struct frame *frame, void *draw,
                                struct frame *next, mldf_error *err) {
    const struct erase_state *s = op->state;
    struct erase_draw *d = draw;
    double area = (double)frame->width * frame->height;
    (void)next;
    (void)err;
    *d = (struct erase_draw){0};
    bool wanted = mldfi_rng_chance(rng, s->chance);
    for (int i = 0; wanted && !d->on && i < 10; i++) {
        double part = area * mldfi_rng_uniform(rng, s->scale[0], s->scale[1]);
        double ratio = mldfi_exp(mldfi_rng_uniform(rng, s->log_ratio[0], s->log_ratio[1]));
        double h = rint(sqrt(part * ratio)), w = rint(sqrt(part / ratio));
        if (h >= frame->height || w >= frame->width)
            continue;
        d->on = true;
        d->width = (uint32_t)w;
        d->height = (uint32_t)h;
        d->y = (uint32_t)mldfi_rng_below(rng, (uint64_t)frame->height - d->height + 1);
        d->x = (uint32_t)mldfi_rng_below(rng, (uint64_t)frame->width - d->width + 1);
    }
    d->noise = *rng;
    return MLDF_OK;
}

const struct op_type mldfi_op_erasing = {
    .name = "erasing",
    .help = "paints a rectangle of random size at a random place, with a probability",
    .flags = OP_DRAWS | OP_RANDOM | OP_GROUP | OP_IN_PLACE,
    .params = erasing_params,
    .draw_bytes = sizeof(struct erase_draw),
    .infer = erasing_infer,
    .draw = erasing_draw,
    .run = erase_run,
};
