/* Geometry along the axes: resize, random_resized_crop, center_resized_crop, center_crop, random_crop, hflip, vflip.
 *
 * Each only decides, in its draw, on padding, a window, a size and mirrors (struct axis_draw); what is then done with a picture, a mask,
 * boxes or points is one function for all of them. plan.c takes runs of them into the decoder and the resampler. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/resize.h"
#include "pipeline/geometry.h"
#include "pipeline/op_fill.h"
#include "pipeline/registry.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/math.h"

enum { SIDE_MAX = 65535 };

struct axis_state {
    uint32_t width, height; /* target; height 0: `width` is the shorter side's */
    uint32_t max_size;
    int filter; /* enum resize_filter */
    bool antialias;
    double scale[2], log_ratio[2], ratio[2]; /* random_resized_crop; [0] of ratio: center_resized_crop */
    uint32_t pad[4];                         /* random_crop: left, top, right, bottom */
    bool pad_if_needed;
    double fill[FILL_CHANNELS];
    double p;
};

static const char *const filters[] = {"nearest", "bilinear", "bicubic", "area", "box", "lanczos", NULL};
static const int filter_ids[] = {RESIZE_NEAREST, RESIZE_BILINEAR, RESIZE_BICUBIC,
                                 RESIZE_AREA,    RESIZE_BOX,      RESIZE_LANCZOS};

/* ---- What all of them share -------------------------------------------------------------------------------------------- */

static mldf_status new_state(struct op *op, struct axis_state **out, mldf_error *err) {
    *out = op->state = mldfi_alloc_zero(1, sizeof **out, err);
    return *out ? MLDF_OK : MLDF_E_MEMORY;
}

/* Pictures of any layout for what only moves pixels; `resamples`: integer pixels, interleaved. */
static mldf_status accept(struct op *op, const struct edge *in, bool resamples, struct edge *out, mldf_error *err) {
    mldf_status status = mldfi_moved_infer(op, in, out, err);
    if (status == MLDF_OK && resamples && in->kind == VALUE_PICTURE &&
        (in->planar || (in->dtype != MLDF_U8 && in->dtype != MLDF_U16)))
        return mldfi_edge_refuse(op, in, "a picture of 8 or 16 bits, before normalize, to_float and chw", err);
    return status;
}

static bool geometry(const struct op *op, const void *draw, struct geometry *g) {
    const struct axis_state *s = op->state;
    const struct axis_draw *d = draw;
    struct geometry before = *g;
    if (d->padded || g->part_width != d->from.width || g->part_height != d->from.height)
        return false;
    bool whole = d->x == 0 && d->y == 0 && d->width == d->from.width && d->height == d->from.height;
    if ((!whole && !mldfi_geometry_crop(g, d->x, d->y, d->width, d->height)) ||
        (d->resized && !mldfi_geometry_resize(g, d->to_width, d->to_height, s->filter, s->antialias))) {
        *g = before;
        return false;
    }
    mldfi_geometry_mirror(g, d->mirror_x, d->mirror_y);
    return true;
}

static mldf_status shape(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                         mldf_error *err) {
    const struct axis_draw *d = draw;
    mldf_status status = mldfi_moved_check(op, &d->from, in, err);
    if (status < 0 || op->in.kind != VALUE_PICTURE)
        return status;
    uint32_t y = in->planar ? 1 : 0;
    out->dims[y] = d->resized ? d->to_height : d->height;
    out->dims[y + 1] = d->resized ? d->to_width : d->width;
    return MLDF_OK;
}

static void repeat(uint8_t *to, const uint8_t *value, size_t size, size_t count) {
    size_t same = 1;
    while (same < size && value[same] == value[0])
        same++;
    if (same == size && count)
        memset(to, value[0], size * count);
    for (size_t i = 0; same < size && i < count; i++)
        memcpy(to + i * size, value, size);
}

/* One plane of elements of `size` bytes: the window of the padded picture. */
static void crop_plane(const struct axis_draw *d, const uint8_t *in, uint8_t *out, size_t size, const uint8_t *fill) {
    /* Columns of the window that the picture has. */
    uint64_t first = d->x > d->pad_left ? d->x : d->pad_left, edge = (uint64_t)d->pad_left + d->from.width;
    uint64_t end = (uint64_t)d->x + d->width < edge ? (uint64_t)d->x + d->width : edge;
    if (first >= end)
        first = end = d->x;
    size_t before = (size_t)(first - d->x), shown = (size_t)(end - first), row = (size_t)d->from.width * size;
    for (uint32_t j = 0; j < d->height; j++, out += d->width * size) {
        uint64_t y = (uint64_t)d->y + j;
        bool inside = shown && y >= d->pad_top && y - d->pad_top < d->from.height;
        if (!inside) {
            repeat(out, fill, size, d->width);
            continue;
        }
        repeat(out, fill, size, before);
        memcpy(out + before * size, in + (size_t)(y - d->pad_top) * row + (size_t)(first - d->pad_left) * size,
               shown * size);
        repeat(out + (before + shown) * size, fill, size, d->width - before - shown);
    }
}

/* The same mirrored; without padding. */
static void mirror_plane(const struct axis_draw *d, const uint8_t *in, uint8_t *out, size_t size) {
    for (uint32_t j = 0; j < d->height; j++) {
        uint32_t y = d->y + (d->mirror_y ? d->height - 1 - j : j);
        const uint8_t *from = in + ((size_t)y * d->from.width + d->x) * size;
        for (uint32_t i = 0; i < d->width; i++, out += size)
            memcpy(out, from + (size_t)(d->mirror_x ? d->width - 1 - i : i) * size, size);
    }
}

/* Padding and the window, and of steps that do not resize the mirrors too. */
static void move_pixels(const struct op *op, const struct axis_draw *d, const struct tensor *in, struct op_work *work,
                        uint8_t *out) {
    const struct axis_state *s = op->state;
    struct fill_pixel fill = mldfi_fill_pixel(in->dtype, s->fill);
    size_t channels = (size_t)mldfi_tensor_channels(in), together = in->planar ? 1 : channels;
    size_t size = fill.element * together;
    size_t from = (size_t)d->from.width * d->from.height * size, to = (size_t)d->width * d->height * size;
    bool mirror = (d->mirror_x || d->mirror_y) && !d->resized;
    if (mirror && !in->planar && (in->dtype == MLDF_U8 || in->dtype == MLDF_U16)) {
        struct finish plain = {.dtype = in->dtype};
        size_t row = (size_t)d->from.width * size;
        struct picture window = {(uint8_t *)in->data + d->y * row + d->x * size,
                                 d->width,
                                 d->height,
                                 (uint32_t)channels,
                                 in->dtype == MLDF_U8 ? 8 : 16,
                                 row};
        mldfi_finish(work->kernels, &window, d->mirror_x, d->mirror_y, &plain, out);
        return;
    }
    for (size_t c = 0; c < channels / together; c++) {
        const uint8_t *plane = (const uint8_t *)in->data + c * from;
        if (mirror)
            mirror_plane(d, plane, out + c * to, size);
        else
            crop_plane(d, plane, out + c * to, size, (const uint8_t *)fill.aligned + c * fill.element);
    }
}

static mldf_status resample(const struct op *op, const struct axis_draw *d, const struct tensor *in, struct tensor *out,
                            struct op_work *work, mldf_error *err) {
    const struct axis_state *s = op->state;
    struct finish plain = {.dtype = in->dtype};
    struct tensor cropped = *in;
    struct picture picture;
    bool whole = !d->padded && d->width == d->from.width && d->height == d->from.height;
    if (!whole) {
        size_t pixel = mldf_dtype_bytes(in->dtype) * (size_t)mldfi_tensor_channels(in);
        mldf_status status = mldfi_buffer_resize(&work->scratch[0], (size_t)d->width * d->height * pixel, err);
        if (status < 0)
            return status;
        cropped.data = work->scratch[0].data;
        move_pixels(op, d, in, work, cropped.data);
    }
    picture = (struct picture){
        cropped.data, d->width, d->height, (uint32_t)mldfi_tensor_channels(in), in->dtype == MLDF_U8 ? 8 : 16, 0};
    picture.stride = (size_t)d->width * picture.channels * (picture.bits / 8);
    int filter = op->in.role == ROLE_MASK ? RESIZE_NEAREST : s->filter;
    struct resize_spec spec = mldfi_resize_whole(&picture, d->to_width, d->to_height, (enum resize_filter)filter);
    spec.antialias = s->antialias;
    spec.mirror_x = d->mirror_x;
    spec.mirror_y = d->mirror_y;
    return mldfi_resize(work->kernels, &picture, &spec, &plain, work->resize, out->data, err);
}

static mldf_status run(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                       struct op_work *work, mldf_error *err) {
    const struct axis_draw *d = draw;
    uint64_t count;
    if (!mldfi_moved_begin(op, in, out, &count)) {
        if (d->resized)
            return resample(op, d, in, out, work, err);
        move_pixels(op, d, in, work, out->data);
        return MLDF_OK;
    }
    if (op->in.role == ROLE_BOXES)
        mldfi_axis_boxes(d, out->data, count);
    else
        mldfi_axis_points(d, out->data, count, in->dims[in->ndim - 1]);
    return MLDF_OK;
}

/* A draw that changes nothing. */
static struct axis_draw *begin_draw(void *draw, const struct frame *frame) {
    struct axis_draw *d = draw;
    *d = (struct axis_draw){.from = *frame, .width = frame->width, .height = frame->height};
    return d;
}

/* An array that serves as a picture may have no pixels; then there is nothing to make larger. */
static mldf_status check_pixels(const struct op *op, const struct frame *frame, mldf_error *err) {
    if (frame->width == 0 || frame->height == 0)
        return mldfi_fail(err, MLDF_E_RANGE, "%s: a picture of %u x %u pixels", op->type->name, frame->width,
                          frame->height);
    return MLDF_OK;
}

static mldf_status end_draw(const struct axis_draw *d, struct frame *next) {
    next->width = d->resized ? d->to_width : d->width;
    next->height = d->resized ? d->to_height : d->height;
    return MLDF_OK;
}

/* ---- Parameters ------------------------------------------------------------------------------------------------------------ */

#define SIZE_PARAM(text) \
    { "size", PARAM_INTS, NULL, 1, SIDE_MAX, NULL, 1, 2, text }
#define FILTER_PARAM \
    { "filter", PARAM_CHOICE, "bilinear", 0, 0, filters, 0, 0, "how pixels are weighed; masks always take the nearest" }
#define ANTIALIAS_PARAM \
    { "antialias", PARAM_BOOL, "true", 0, 0, NULL, 0, 0, "widen the filter when shrinking, as Pillow does" }
#define END_PARAM \
    { NULL, PARAM_INT, NULL, 0, 0, NULL, 0, 0, NULL }

/* size n: a square; [h, w]. */
static void take_size(const struct op *op, struct axis_state *s) {
    const struct arg *size = &op->args[0];
    s->height = (uint32_t)size->list[0];
    s->width = (uint32_t)size->list[size->count - 1];
}

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
    mldf_status status = accept(op, in, true, out, err);
    if (status == MLDF_OK)
        status = new_state(op, &s, err);
    if (status < 0)
        return status;
    take_size(op, s);
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
    if (in->kind == VALUE_PICTURE && in->dims[0] >= 0 && in->dims[0] == in->dims[1]) {
        mldfi_moved_sides(out, s->width, s->width);
    } else if (in->kind == VALUE_PICTURE) {
        mldfi_moved_sides(out, DIM_VARIES, DIM_VARIES);
        out->most[0] = out->most[1] = s->max_size ? s->max_size : SIDE_MAX;
    }
    return MLDF_OK;
}

static mldf_status draw_resize(const struct op *op, struct rng *rng, const struct frame *frame, void *draw,
                               struct frame *next, mldf_error *err) {
    const struct axis_state *s = op->state;
    struct axis_draw *d = begin_draw(draw, frame);
    mldf_status status = check_pixels(op, frame, err);
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
    return end_draw(d, next);
}

/* ---- random_resized_crop ------------------------------------------------------------------------------------------------------- */

static const struct op_param rrc_params[] = {
    SIZE_PARAM("the result: n x n, or [h, w]"),
    {"scale", PARAM_FLOATS, "[0.08, 1.0]", 1e-6, 1, NULL, 2, 2, "share of the picture's area, between these"},
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
    mldf_status status = accept(op, in, true, out, err);
    if (status == MLDF_OK)
        status = new_state(op, &s, err);
    if (status < 0)
        return status;
    take_size(op, s);
    take_filter(op, 3, s);
    for (int i = 0; i < 2; i++) {
        s->scale[i] = op->args[1].list[i];
        s->ratio[i] = op->args[2].list[i];
        s->log_ratio[i] = mldfi_log(s->ratio[i]);
    }
    mldfi_moved_sides(out, s->height, s->width);
    status = check_range("scale", s->scale, err);
    return status < 0 ? status : check_range("ratio", s->ratio, err);
}

/* torchvision's get_params: ten tries, then the largest central window whose ratio is allowed. */
static mldf_status draw_rrc(const struct op *op, struct rng *rng, const struct frame *frame, void *draw,
                            struct frame *next, mldf_error *err) {
    const struct axis_state *s = op->state;
    struct axis_draw *d = begin_draw(draw, frame);
    double width = frame->width, height = frame->height, area = width * height;
    mldf_status status = check_pixels(op, frame, err);
    if (status < 0)
        return status;
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
        return end_draw(d, next);
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
    return end_draw(d, next);
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
    mldf_status status = accept(op, in, true, out, err);
    if (status == MLDF_OK)
        status = new_state(op, &s, err);
    if (status < 0)
        return status;
    take_size(op, s);
    s->ratio[0] = op->args[1].f;
    take_filter(op, 2, s);
    mldfi_moved_sides(out, s->height, s->width);
    return MLDF_OK;
}

/* FFCV's CenterCropRGBImageDecoder: a square of ratio * min(h, w), in the middle. */
static mldf_status draw_crc(const struct op *op, struct rng *rng, const struct frame *frame, void *draw,
                            struct frame *next, mldf_error *err) {
    const struct axis_state *s = op->state;
    struct axis_draw *d = begin_draw(draw, frame);
    uint32_t shorter = frame->width < frame->height ? frame->width : frame->height;
    uint32_t side = (uint32_t)(s->ratio[0] * shorter);
    mldf_status status = check_pixels(op, frame, err);
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
    return end_draw(d, next);
}

/* ---- center_crop, random_crop -------------------------------------------------------------------------------------------------------- */

static const struct op_param center_params[] = {SIZE_PARAM("n x n, or [h, w]; a smaller picture is padded with `fill`"),
                                                OP_FILL_PARAM("of the padding: a number, or one for each channel"),
                                                OP_MASK_FILL_PARAM, END_PARAM};
static const struct op_param random_crop_params[] = {
    SIZE_PARAM("n x n, or [h, w]"),
    {"padding", PARAM_INTS, "0", 0, SIDE_MAX, NULL, 1, 4, "on all sides, [x, y], or [left, top, right, bottom]"},
    {"pad_if_needed", PARAM_BOOL, "false", 0, 0, NULL, 0, 0, "pad pictures that are smaller than the crop"},
    OP_FILL_PARAM("of the padding: a number, or one for each channel"),
    OP_MASK_FILL_PARAM,
    END_PARAM};

static mldf_status infer_crop(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    struct axis_state *s = NULL;
    bool random = op->type->flags & OP_RANDOM;
    mldf_status status = accept(op, in, false, out, err);
    if (status == MLDF_OK)
        status = new_state(op, &s, err);
    if (status < 0)
        return status;
    take_size(op, s);
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
    struct axis_draw *d = begin_draw(draw, frame);
    bool random = op->type->flags & OP_RANDOM;
    uint64_t width = (uint64_t)frame->width + s->pad[0] + s->pad[2];
    uint64_t height = (uint64_t)frame->height + s->pad[1] + s->pad[3];
    d->pad_left = s->pad[0], d->pad_top = s->pad[1], d->pad_right = s->pad[2], d->pad_bottom = s->pad[3];
    if ((width < s->width || height < s->height) && !s->pad_if_needed)
        return mldfi_fail(err, MLDF_E_RANGE,
                          "%s: a picture of %u x %u is smaller than the crop of %u x %u; pad_if_needed", op->type->name,
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
    return end_draw(d, next);
}

/* ---- hflip, vflip -------------------------------------------------------------------------------------------------------------------- */

static const struct op_param flip_params[] = {{"p", PARAM_FLOAT, "0.5", 0, 1, NULL, 0, 0, "probability"}, END_PARAM};

static mldf_status infer_flip(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    struct axis_state *s = NULL;
    mldf_status status = accept(op, in, false, out, err);
    if (status == MLDF_OK)
        status = new_state(op, &s, err);
    if (status == MLDF_OK)
        s->p = op->args[0].f;
    return status;
}

static mldf_status draw_flip(const struct op *op, struct rng *rng, const struct frame *frame, void *draw,
                             struct frame *next, mldf_error *err) {
    const struct axis_state *s = op->state;
    struct axis_draw *d = begin_draw(draw, frame);
    bool flip = mldfi_rng_chance(rng, s->p);
    (void)err;
    d->mirror_x = flip && op->type->name[0] == 'h';
    d->mirror_y = flip && op->type->name[0] == 'v';
    return end_draw(d, next);
}

/* ---- The family ------------------------------------------------------------------------------------------------------------------------ */

#define AXIS(NAME, TEXT, HELP, FLAGS, PARAMS, INFER, DRAW) \
    static const struct op_type NAME = {.name = TEXT, \
                                        .help = HELP, \
                                        .flags = OP_DRAWS | OP_AXIS | OP_GROUP | (FLAGS), \
                                        .params = PARAMS, \
                                        .draw_bytes = sizeof(struct axis_draw), \
                                        .infer = INFER, \
                                        .draw = DRAW, \
                                        .geometry = geometry, \
                                        .shape = shape, \
                                        .run = run}
AXIS(op_resize, "resize", "changes the size; antialiased", 0, resize_params, infer_resize, draw_resize);
AXIS(op_rrc, "random_resized_crop", "a random window of random size and ratio, resized", OP_RANDOM, rrc_params,
     infer_rrc, draw_rrc);
AXIS(op_crc, "center_resized_crop", "a square of `ratio` times the shorter side from the middle, resized", 0,
     crc_params, infer_crc, draw_crc);
AXIS(op_center_crop, "center_crop", "the middle of the picture", 0, center_params, infer_crop, draw_crop);
AXIS(op_random_crop, "random_crop", "a window at a random place, optionally of the padded picture", OP_RANDOM,
     random_crop_params, infer_crop, draw_crop);
AXIS(op_hflip, "hflip", "mirrors left and right with probability p", OP_RANDOM, flip_params, infer_flip, draw_flip);
AXIS(op_vflip, "vflip", "mirrors top and bottom with probability p", OP_RANDOM, flip_params, infer_flip, draw_flip);

_Static_assert(sizeof(struct axis_draw) <= OP_DRAW_BYTES, "a draw must fit");

const struct op_type *const mldfi_ops_axis[] = {&op_resize,      &op_rrc,   &op_crc,   &op_center_crop,
                                                &op_random_crop, &op_hflip, &op_vflip, NULL};
