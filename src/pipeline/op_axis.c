/* Geometry along the axes: resize, random_resized_crop, center_resized_crop, center_crop, random_crop, hflip, vflip.
 *
 * Each only decides, in its draw, on padding, a window, a size and mirrors (struct axis_draw); what is then done with an image, a mask,
 * boxes, points or optical flow is one function for all of them, here; op_axis_resize.c and op_axis_crop.c decide. plan.c takes runs of them into the decoder and the resampler. */
#include <stdlib.h>
#include <string.h>

#include "kernel/resize.h"
#include "pipeline/op_axis.h"
#include "pipeline/op_registry.h"
#include "util/buffer.h"
#include "util/error.h"

/* ---- What all of them share -------------------------------------------------------------------------------------------- */

mldf_status mldfi_axis_infer(struct op *op, const struct edge *in, bool resamples, struct edge *out,
                             struct axis_state **state, mldf_error *err) {
    TRY(mldfi_moved_infer(op, in, out, err));
    bool weighable = in->dtype == MLDF_U8 || in->dtype == MLDF_U16 || in->role == ROLE_MASK || in->role == ROLE_FLOW;
    if (resamples && in->kind == VALUE_IMAGE && in->role == ROLE_FLOW && mldfi_planar(in->axes))
        return mldfi_edge_refuse(op, in, "optical flow before chw", err);
    if (resamples && in->kind == VALUE_IMAGE && (mldfi_planar(in->axes) || !weighable))
        return mldfi_edge_refuse(op, in, "an image of 8 or 16 bits, before normalize, to_float and chw", err);
    *state = op->state = mldfi_alloc_zero(1, sizeof **state, err);
    return *state ? MLDF_OK : MLDF_E_MEMORY;
}

bool mldfi_axis_geometry(const struct op *op, const void *draw, struct geometry *g) {
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

mldf_status mldfi_axis_shape(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                             mldf_error *err) {
    const struct axis_draw *d = draw;
    mldf_status status = mldfi_moved_check(op, &d->from, in, err);
    if (status < 0 || op->in.kind != VALUE_IMAGE)
        return status;
    uint32_t y = mldfi_axis(in->axes, 'h');
    out->dims[y] = d->resized ? d->to_height : d->height;
    out->dims[y + 1] = d->resized ? d->to_width : d->width;
    return MLDF_OK;
}

/* One plane of elements of `size` bytes: the window of the padded image. Rows and columns that the image has are copied; between the end of one
 * row's and the beginning of the next one's lies one run of `fill`. */
static void crop_plane(const struct axis_draw *d, const uint8_t *in, uint8_t *out, size_t size, const uint8_t *fill) {
    uint64_t edge = (uint64_t)d->pad_left + d->from.width, bottom = (uint64_t)d->pad_top + d->from.height;
    uint64_t first = d->x > d->pad_left ? d->x : d->pad_left, top = d->y > d->pad_top ? d->y : d->pad_top;
    uint64_t end = (uint64_t)d->x + d->width < edge ? (uint64_t)d->x + d->width : edge;
    uint64_t last = (uint64_t)d->y + d->height < bottom ? (uint64_t)d->y + d->height : bottom;
    bool flat = mldfi_fill_is_flat(fill, size);
    if (first >= end || top >= last) {
        mldfi_fill_run(out, fill, size, flat, (size_t)d->width * d->height);
        return;
    }
    size_t row = (size_t)d->from.width * size, shown = (size_t)(end - first) * size, gap = d->width - (end - first);
    size_t before = (size_t)(top - d->y) * d->width + (size_t)(first - d->x);
    size_t after = (size_t)d->width * d->height - before - (size_t)(last - top - 1) * d->width - (size_t)(end - first);
    const uint8_t *from = in + (size_t)(top - d->pad_top) * row + (size_t)(first - d->pad_left) * size;
    mldfi_fill_run(out, fill, size, flat, before);
    out += before * size;
    if (gap == 0 && shown == row) { /* rows as they stand in the image */
        memcpy(out, from, (size_t)(last - top) * row);
        mldfi_fill_run(out + (size_t)(last - top) * row, fill, size, flat, after);
        return;
    }
    for (uint64_t y = top; y < last; y++, from += row) {
        memcpy(out, from, shown);
        out += shown;
        size_t empty = y + 1 < last ? gap : after;
        if (empty)
            mldfi_fill_run(out, fill, size, flat, empty);
        out += empty * size;
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
    size_t channels = (size_t)mldfi_tensor_channels(in), together = mldfi_planar(in->axes) ? 1 : channels;
    size_t size = fill.element * together;
    size_t from = (size_t)d->from.width * d->from.height * size, to = (size_t)d->width * d->height * size;
    bool mirror = (d->mirror_x || d->mirror_y) && !d->resized;
    if (mirror && !mldfi_planar(in->axes) && (in->dtype == MLDF_U8 || in->dtype == MLDF_U16)) {
        struct finish plain = {.dtype = in->dtype};
        size_t row = (size_t)d->from.width * size;
        struct raster window = {(uint8_t *)in->data + d->y * row + d->x * size,
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

/* For masks of floats: the pixels that the resampler's nearest takes, at floor((i + 1/2) * from / to), then the mirrors. */
static void pick_nearest(const struct axis_draw *d, const uint8_t *in, size_t pixel, uint8_t *out) {
    for (uint32_t j = 0; j < d->to_height; j++) {
        uint64_t down = d->mirror_y ? d->to_height - 1 - j : j, y = (2 * down + 1) * d->height / (2ULL * d->to_height);
        const uint8_t *row = in + (size_t)y * d->width * pixel;
        for (uint32_t i = 0; i < d->to_width; i++, out += pixel) {
            uint64_t across = d->mirror_x ? d->to_width - 1 - i : i;
            memcpy(out, row + (size_t)((2 * across + 1) * d->width / (2ULL * d->to_width)) * pixel, pixel);
        }
    }
}

/* Vectors in f32, not yet scaled. */
static mldf_status resample_flow(const struct op *op, const struct axis_draw *d, const float *in, float *out,
                                 struct op_work *work, mldf_error *err) {
    const struct axis_state *s = op->state;
    struct raster size = {.width = d->width, .height = d->height};
    struct resize_spec spec = mldfi_resize_whole(&size, d->to_width, d->to_height, (enum resize_filter)s->filter);
    spec.antialias = s->antialias;
    spec.mirror_x = d->mirror_x;
    spec.mirror_y = d->mirror_y;
    return mldfi_resize_floats(in, d->width, d->height, 2, &spec, work->resize, out, err);
}

static mldf_status resample(const struct op *op, const struct axis_draw *d, const struct tensor *in, struct tensor *out,
                            struct op_work *work, mldf_error *err) {
    const struct axis_state *s = op->state;
    struct finish plain = {.dtype = in->dtype};
    struct tensor cropped = *in;
    struct raster image;
    bool whole = !d->padded && d->width == d->from.width && d->height == d->from.height;
    size_t pixel = mldf_dtype_bytes(in->dtype) * (size_t)mldfi_tensor_channels(in);
    if (!whole) {
        TRY(mldfi_buffer_resize(&work->scratch[0], (size_t)d->width * d->height * pixel, err));
        cropped.data = work->scratch[0].data;
        move_pixels(op, d, in, work, cropped.data);
    }
    if (op->in.role == ROLE_FLOW && s->filter != RESIZE_NEAREST)
        return resample_flow(op, d, cropped.data, out->data, work, err);
    if (in->dtype != MLDF_U8 && in->dtype != MLDF_U16) {
        pick_nearest(d, cropped.data, pixel, out->data);
        return MLDF_OK;
    }
    image = (struct raster){
        cropped.data, d->width, d->height, (uint32_t)mldfi_tensor_channels(in), in->dtype == MLDF_U8 ? 8 : 16, 0};
    image.stride = (size_t)d->width * image.channels * (image.bits / 8);
    int filter = op->in.role == ROLE_MASK ? RESIZE_NEAREST : s->filter;
    struct resize_spec spec = mldfi_resize_whole(&image, d->to_width, d->to_height, (enum resize_filter)filter);
    spec.antialias = s->antialias;
    spec.mirror_x = d->mirror_x;
    spec.mirror_y = d->mirror_y;
    return mldfi_resize(work->kernels, &image, &spec, &plain, work->resize, out->data, err);
}

mldf_status mldfi_axis_run(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                           struct op_work *work, mldf_error *err) {
    const struct axis_draw *d = draw;
    uint64_t count;
    if (!mldfi_moved_begin(op, in, out, &count)) {
        mldf_status status = MLDF_OK;
        if (d->resized)
            status = resample(op, d, in, out, work, err);
        else
            move_pixels(op, d, in, work, out->data);
        if (op->in.role == ROLE_FLOW && status == MLDF_OK)
            mldfi_axis_vectors(d, out);
        return status;
    }
    if (op->in.role == ROLE_BOXES)
        mldfi_axis_boxes(d, out->data, count);
    else
        mldfi_axis_points(d, out->data, count, in->dims[in->ndim - 1]);
    return MLDF_OK;
}

struct axis_draw *mldfi_axis_draw_begin(void *draw, const struct frame *frame) {
    struct axis_draw *d = draw;
    *d = (struct axis_draw){.from = *frame, .width = frame->width, .height = frame->height};
    return d;
}

mldf_status mldfi_axis_check(const struct frame *frame, mldf_error *err) {
    if (frame->width == 0 || frame->height == 0)
        return mldfi_fail(err, MLDF_E_RANGE, "an image of %u x %u pixels", frame->width, frame->height);
    return MLDF_OK;
}

mldf_status mldfi_axis_draw_end(const struct axis_draw *d, struct frame *next) {
    next->width = d->resized ? d->to_width : d->width;
    next->height = d->resized ? d->to_height : d->height;
    return MLDF_OK;
}

void mldfi_axis_size(const struct op *op, struct axis_state *s) {
    const struct arg *size = &op->args[0];
    s->height = (uint32_t)size->list[0];
    s->width = (uint32_t)size->list[size->count - 1];
}

_Static_assert(sizeof(struct axis_draw) <= OP_DRAW_BYTES, "a draw must fit");

const struct op_type *const mldfi_ops_axis[] = {&mldfi_op_resize,
                                                &mldfi_op_random_resized_crop,
                                                &mldfi_op_center_resized_crop,
                                                &mldfi_op_center_crop,
                                                &mldfi_op_random_crop,
                                                &mldfi_op_hflip,
                                                &mldfi_op_vflip,
                                                NULL};
