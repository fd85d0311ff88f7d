/* Crops, one resize and mirrors as one map, and what it does to boxes, points and the vectors of optical flow. struct geometry itself is in op.h. */
#ifndef MLDF_PIPELINE_GEOMETRY_H
#define MLDF_PIPELINE_GEOMETRY_H

#include "pipeline/op.h"

/* The draw of every operation of op_axis.h: pad, crop the padded image, resize, mirror; in this order. */
struct axis_draw {
    struct frame from;
    bool padded;
    uint32_t pad_left, pad_top, pad_right, pad_bottom;
    uint32_t x, y, width, height; /* of the padded image */
    bool resized;
    uint32_t to_width, to_height;
    bool mirror_x, mirror_y;
};

/* What every operation that moves pixels takes: images of at most four channels, boxes [..., 4] and points [..., 2 or more]. *out is *in
 * but for boxes and points, which become f32. */
mldf_status mldfi_moved_infer(const struct op *op, const struct edge *in, struct edge *out, mldf_error *err);
/* Sides of an inferred image; DIM_VARIES leaves the bounds as they are. Nothing for what is not an image. */
void mldfi_moved_sides(struct edge *out, int64_t height, int64_t width);
/* MLDF_E_RANGE unless the image is as large as the one that the draw was made for. */
mldf_status mldfi_moved_check(const struct op *op, const struct frame *from, const struct tensor *in, mldf_error *err);
/* Boxes and points as f32; false: it is an image. */
bool mldfi_moved_begin(const struct op *op, const struct tensor *in, struct tensor *out, uint64_t *count);

/* Where a point of the image in front of the step comes to lie behind it. */
void mldfi_axis_point(const struct axis_draw *d, float *x, float *y);
/* f32 arrays [..., 4] and [..., n >= 2]. Boxes are cut at the new image's sides; one that lies outside becomes empty (x0 = x1 or
 * y0 = y1). */
void mldfi_axis_boxes(const struct axis_draw *d, float *boxes, uint64_t count);
void mldfi_axis_points(const struct axis_draw *d, float *points, uint64_t count, uint64_t width);
/* The vectors of optical flow, f32, that already are in their new places: scaled as the image is, and negated along mirrored axes. */
void mldfi_axis_vectors(const struct axis_draw *d, struct tensor *flow);

/* Which power of two a JPEG may be reduced by before this geometry: the largest that leaves the crop at least as large as what it becomes. */
unsigned mldfi_geometry_scale(const struct geometry *g);

#endif
