/* Composition of crops, a resize and mirrors. The one idea: everything that only chooses pixels is exact, so any number of crops and
 * mirrors folds into windows and two flags; resampling rounds, so at most one resize is taken, and none behind a mirror (its weights are
 * not symmetric to the last bit). */
#include "pipeline/geometry.h"

#include "kernel/cast.h"
#include "util/error.h"

void mldfi_geometry_begin(struct geometry *g, uint32_t width, uint32_t height) {
    *g = (struct geometry){.width = width,
                           .height = height,
                           .to_width = width,
                           .to_height = height,
                           .part_width = width,
                           .part_height = height,
                           .antialias = true};
}

bool mldfi_geometry_crop(struct geometry *g, uint32_t x, uint32_t y, uint32_t width, uint32_t height) {
    if (width == 0 || height == 0 || x > g->part_width || width > g->part_width - x || y > g->part_height ||
        height > g->part_height - y)
        return false;
    if (g->mirror_x)
        x = g->part_width - x - width;
    if (g->mirror_y)
        y = g->part_height - y - height;
    g->part_width = width;
    g->part_height = height;
    if (g->resized) {
        g->part_x += x;
        g->part_y += y;
        return true;
    }
    g->x += x;
    g->y += y;
    g->width = g->to_width = width;
    g->height = g->to_height = height;
    return true;
}

bool mldfi_geometry_resize(struct geometry *g, uint32_t width, uint32_t height, int filter, bool antialias) {
    if (g->resized || g->mirror_x || g->mirror_y)
        return false;
    g->resized = true;
    g->to_width = g->part_width = width;
    g->to_height = g->part_height = height;
    g->filter = filter;
    g->antialias = antialias;
    return true;
}

void mldfi_geometry_mirror(struct geometry *g, bool x, bool y) {
    g->mirror_x ^= x;
    g->mirror_y ^= y;
}

unsigned mldfi_geometry_scale(const struct geometry *g) {
    unsigned scale = 1;
    while (g->resized && scale < 8 && g->width / (2 * scale) >= g->to_width && g->height / (2 * scale) >= g->to_height)
        scale *= 2;
    return scale;
}

void mldfi_axis_point(const struct axis_draw *d, float *x, float *y) {
    float px = *x + (float)d->pad_left - (float)d->x, py = *y + (float)d->pad_top - (float)d->y;
    float width = (float)d->width, height = (float)d->height;
    if (d->resized) {
        px = px * ((float)d->to_width / width);
        py = py * ((float)d->to_height / height);
        width = (float)d->to_width;
        height = (float)d->to_height;
    }
    *x = d->mirror_x ? width - px : px;
    *y = d->mirror_y ? height - py : py;
}

static float cut(float v, float most) {
    return v < 0.0f ? 0.0f : v > most ? most : v;
}

void mldfi_axis_boxes(const struct axis_draw *d, float *boxes, uint64_t count) {
    float width = (float)(d->resized ? d->to_width : d->width), height = (float)(d->resized ? d->to_height : d->height);
    for (uint64_t i = 0; i < count; i++) {
        float *b = boxes + 4 * i, x0 = b[0], y0 = b[1], x1 = b[2], y1 = b[3];
        mldfi_axis_point(d, &x0, &y0);
        mldfi_axis_point(d, &x1, &y1);
        b[0] = cut(x0 < x1 ? x0 : x1, width);
        b[1] = cut(y0 < y1 ? y0 : y1, height);
        b[2] = cut(x0 < x1 ? x1 : x0, width);
        b[3] = cut(y0 < y1 ? y1 : y0, height);
    }
}

void mldfi_axis_points(const struct axis_draw *d, float *points, uint64_t count, uint64_t width) {
    for (uint64_t i = 0; i < count; i++)
        mldfi_axis_point(d, points + i * width, points + i * width + 1);
}

void mldfi_axis_vectors(const struct axis_draw *d, struct tensor *flow) {
    float by[2] = {d->mirror_x ? -1.0f : 1.0f, d->mirror_y ? -1.0f : 1.0f};
    size_t pixels = (size_t)(mldfi_tensor_height(flow) * mldfi_tensor_width(flow));
    bool planar = mldfi_planar(flow->axes);
    float *v = flow->data;
    if (d->resized) {
        by[0] *= (float)d->to_width / (float)d->width;
        by[1] *= (float)d->to_height / (float)d->height;
    }
    if (by[0] == 1.0f && by[1] == 1.0f)
        return;
    for (size_t i = 0; i < 2 * pixels; i++)
        v[i] *= by[planar ? i >= pixels : i % 2];
}

/* ---- What moves ------------------------------------------------------------------------------------------------------------------- */

mldf_status mldfi_moved_infer(const struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    *out = *in;
    if (in->role == ROLE_BOXES || in->role == ROLE_POINTS) {
        bool boxes = in->role == ROLE_BOXES;
        int64_t last = in->kind == VALUE_ARRAY && in->ndim > 0 ? in->dims[in->ndim - 1] : 0;
        if (boxes ? last != 4 : last < 2)
            return mldfi_edge_refuse(op, in, boxes ? "boxes [..., 4]" : "points [..., 2 or more]", err);
        if (!mldfi_convertible(in->dtype, MLDF_F32))
            return mldfi_edge_refuse(op, in, "real numbers", err);
        out->dtype = MLDF_F32;
        return MLDF_OK;
    }
    if (in->kind != VALUE_IMAGE || in->ndim != 3)
        return mldfi_edge_refuse(op, in, "an image", err);
    if (in->role == ROLE_FLOW && in->dtype != MLDF_F32)
        return mldfi_edge_refuse(op, in, "optical flow of f32, before cast", err);
    if (in->dims[mldfi_axis(in->axes, 'c')] > 4)
        return mldfi_edge_refuse(op, in, "an image of at most four channels", err);
    return MLDF_OK;
}

void mldfi_moved_sides(struct edge *out, int64_t height, int64_t width) {
    if (out->kind != VALUE_IMAGE)
        return;
    uint32_t y = mldfi_axis(out->axes, 'h');
    out->dims[y] = height;
    out->dims[y + 1] = width;
    if (height >= 0)
        out->most[y] = (uint64_t)height;
    if (width >= 0)
        out->most[y + 1] = (uint64_t)width;
}

mldf_status mldfi_moved_check(const struct op *op, const struct frame *from, const struct tensor *in, mldf_error *err) {
    if (op->in.kind == VALUE_IMAGE &&
        (mldfi_tensor_width(in) != from->width || mldfi_tensor_height(in) != from->height))
        return mldfi_fail(err, MLDF_E_RANGE, "%llu x %llu pixels, and the image that it moves with has %u x %u",
                          (unsigned long long)mldfi_tensor_width(in), (unsigned long long)mldfi_tensor_height(in),
                          from->width, from->height);
    return MLDF_OK;
}

bool mldfi_moved_begin(const struct op *op, const struct tensor *in, struct tensor *out, uint64_t *count) {
    uint64_t elements = mldfi_tensor_count(in), last = in->ndim ? in->dims[in->ndim - 1] : 0;
    if (op->in.kind == VALUE_IMAGE)
        return false;
    mldfi_convert_elements(in->dtype, in->data, MLDF_F32, out->data, (size_t)elements);
    *count = last ? elements / last : 0;
    return true;
}
