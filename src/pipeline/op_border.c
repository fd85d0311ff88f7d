/* border: pixels added at an image's sides, as torchvision's Pad and numpy.pad have them: one colour, the outermost pixels, or the image
 * mirrored. Masks of a group grow alike, boxes and points move. (pad is another operation: it makes samples of a batch equally long.) */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/geometry.h"
#include "pipeline/op_fill.h"
#include "pipeline/op_help.h"
#include "pipeline/op_warp.h"
#include "util/buffer.h"
#include "util/error.h"

enum { BORDER_MOST = 65535 };
enum { BORDER_PADDING, BORDER_MODE, BORDER_FILL };
enum { MODE_CONSTANT, MODE_EDGE, MODE_REFLECT, MODE_SYMMETRIC };
static const char *const mode_words[] = {"constant", "edge", "reflect", "symmetric", NULL};
static const struct op_param border_params[] = {
    {"padding", PARAM_INTS, NULL, 0, BORDER_MOST, NULL, 1, 4,
     "pixels on all sides, [x, y], or [left, top, right, bottom]"},
    {"mode", PARAM_CHOICE, "constant", 0, 0, mode_words, 0, 0,
     "constant: `fill`; edge: the outermost pixels; reflect, symmetric: mirrored without and with the outermost pixels"},
    OP_FILL_PARAM("of mode constant: a number, or one for each channel"),
    OP_MASK_FILL_PARAM,
    OP_END_OF_PARAMS,
};

struct border_state {
    uint32_t left, top, right, bottom;
    double fill[FILL_CHANNELS];
};

static void grow(struct edge *out, uint32_t axis, uint64_t by) {
    if (out->dims[axis] != DIM_VARIES)
        out->dims[axis] += (int64_t)by;
    if (out->most[axis] != MLDF_NONE)
        out->most[axis] += by;
}

static mldf_status border_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    const struct arg *pad = &op->args[BORDER_PADDING];
    mldf_status status = mldfi_moved_infer(op, in, out, err);
    struct border_state *s;
    if (status < 0)
        return status;
    if (in->role == ROLE_FLOW && op->args[BORDER_MODE].i >= MODE_REFLECT)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "border: mode %s of optical flow; constant and edge are possible",
                          mode_words[op->args[BORDER_MODE].i]);
    if (pad->count == 3)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "border: padding of 3 numbers; 1, 2 or 4 are understood");
    free(op->state);
    s = op->state = mldfi_alloc_zero(1, sizeof *s, err);
    if (!s)
        return MLDF_E_MEMORY;
    s->left = (uint32_t)pad->list[0];
    s->top = (uint32_t)pad->list[1 % pad->count];
    s->right = (uint32_t)pad->list[2 % pad->count];
    s->bottom = (uint32_t)pad->list[3 % pad->count];
    if (in->kind == VALUE_IMAGE) {
        uint32_t y = mldfi_axis(in->axes, 'h');
        grow(out, y, (uint64_t)s->top + s->bottom);
        grow(out, y + 1, (uint64_t)s->left + s->right);
    }
    return mldfi_fill_take_moved(op, BORDER_FILL, BORDER_FILL + 1, s->fill, err);
}

static mldf_status border_draw(const struct op *op, struct rng *rng, const struct frame *frame, void *draw,
                               struct frame *next, mldf_error *err) {
    const struct border_state *s = op->state;
    struct axis_draw *d = draw;
    uint64_t width = (uint64_t)frame->width + s->left + s->right, height = (uint64_t)frame->height + s->top + s->bottom;
    (void)rng;
    if (op->args[BORDER_MODE].i != MODE_CONSTANT && (frame->width == 0 || frame->height == 0))
        return mldfi_fail(err, MLDF_E_RANGE, "an image of %u x %u has no pixels to repeat", frame->width,
                          frame->height);
    if (width > UINT32_MAX || height > UINT32_MAX)
        return mldfi_fail(err, MLDF_E_LIMIT, "%" PRIu64 " x %" PRIu64 " pixels are too many", width, height);
    memset(d, 0, sizeof *d);
    d->from = *frame;
    d->padded = true;
    d->pad_left = s->left, d->pad_top = s->top, d->pad_right = s->right, d->pad_bottom = s->bottom;
    d->width = next->width = (uint32_t)width;
    d->height = next->height = (uint32_t)height;
    return MLDF_OK;
}

static mldf_status border_shape(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                                mldf_error *err) {
    const struct axis_draw *d = draw;
    mldf_status status = mldfi_moved_check(op, &d->from, in, err);
    if (status < 0 || op->in.kind != VALUE_IMAGE)
        return status;
    uint32_t y = mldfi_axis(in->axes, 'h');
    out->dims[y] = d->height;
    out->dims[y + 1] = d->width;
    return MLDF_OK;
}

/* Which of n pixels is at place i, which may lie outside; NONE for a constant there. Mirrors repeat as numpy.pad's do. */
static const uint32_t NONE = UINT32_MAX;
static uint32_t source_of(int64_t i, uint32_t n, int64_t mode) {
    int64_t period = mode == MODE_REFLECT ? 2 * (int64_t)n - 2 : 2 * (int64_t)n;
    if (i >= 0 && i < n)
        return (uint32_t)i;
    if (mode == MODE_CONSTANT)
        return NONE;
    if (mode == MODE_EDGE || period == 0)
        return i < 0 ? 0 : n - 1;
    i %= period;
    i += i < 0 ? period : 0;
    if (i < n)
        return (uint32_t)i;
    return (uint32_t)(mode == MODE_REFLECT ? period - i : period - 1 - i);
}

/* One row: its pixels outside by the table, those inside in one piece. */
static void border_row(const struct axis_draw *d, const uint32_t *columns, const uint8_t *from, uint8_t *to,
                       size_t size, const uint8_t *fill, bool flat) {
    size_t inside = d->pad_left, after = inside + d->from.width;
    if (d->width && columns[0] == NONE)
        mldfi_fill_run(to, fill, size, flat, inside);
    else
        for (size_t i = 0; i < inside; i++)
            memcpy(to + i * size, from + columns[i] * size, size);
    if (d->from.width)
        memcpy(to + inside * size, from, d->from.width * size);
    if (after < d->width && columns[after] == NONE)
        mldfi_fill_run(to + after * size, fill, size, flat, d->width - after);
    else
        for (size_t i = after; i < d->width; i++)
            memcpy(to + i * size, from + columns[i] * size, size);
}

static mldf_status border_image(const struct op *op, const struct axis_draw *d, const struct tensor *in,
                                struct tensor *out, struct op_work *work, mldf_error *err) {
    const struct border_state *s = op->state;
    struct fill_pixel fill = mldfi_fill_pixel(in->dtype, s->fill);
    size_t channels = (size_t)mldfi_tensor_channels(in), together = mldfi_planar(in->axes) ? 1 : channels;
    size_t size = together * fill.element, row = d->from.width * size, wide = d->width * size;
    int64_t mode = op->args[BORDER_MODE].i;
    mldf_status status = mldf_buffer_reserve(&work->scratch[0], (size_t)d->width * sizeof(uint32_t), err);
    uint32_t *columns = (void *)work->scratch[0].data;
    if (status < 0)
        return status;
    if (channels > FILL_CHANNELS)
        return mldfi_fail(err, MLDF_E_RANGE, "an image of %zu channels; at most four", channels);
    for (uint32_t i = 0; i < d->width; i++)
        columns[i] = source_of((int64_t)i - d->pad_left, d->from.width, mode);
    for (size_t plane = 0; together && plane < channels / together; plane++) {
        const uint8_t *from = (const uint8_t *)in->data + plane * row * d->from.height;
        uint8_t *to = (uint8_t *)out->data + plane * wide * d->height;
        const uint8_t *value = (const uint8_t *)fill.aligned + plane * fill.element;
        bool flat = mldfi_fill_is_flat(value, size);
        for (uint32_t j = 0; j < d->height; j++, to += wide) {
            uint32_t y = source_of((int64_t)j - d->pad_top, d->from.height, mode);
            if (y == NONE)
                mldfi_fill_run(to, value, size, flat, d->width);
            else
                border_row(d, columns, from + y * row, to, size, value, flat);
        }
    }
    return MLDF_OK;
}

static mldf_status border_run(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                              struct op_work *work, mldf_error *err) {
    const struct axis_draw *d = draw;
    uint64_t count;
    if (!mldfi_moved_begin(op, in, out, &count))
        return border_image(op, d, in, out, work, err);
    if (op->in.role == ROLE_BOXES)
        mldfi_axis_boxes(d, out->data, count);
    else
        mldfi_axis_points(d, out->data, count, in->dims[in->ndim - 1]);
    return MLDF_OK;
}

const struct op_type mldfi_op_border = {
    .name = "border",
    .help = "adds pixels at the sides: one colour, the outermost pixels, or the image mirrored",
    .flags = OP_DRAWS | OP_GROUP,
    .params = border_params,
    .draw_bytes = sizeof(struct axis_draw),
    .infer = border_infer,
    .draw = border_draw,
    .shape = border_shape,
    .run = border_run,
};
