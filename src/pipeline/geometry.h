/* Crops, one resize and mirrors as one map, and what it does to boxes and points. struct geometry itself is in op.h. */
#ifndef MLDF_PIPELINE_GEOMETRY_H
#define MLDF_PIPELINE_GEOMETRY_H

#include "pipeline/op.h"

/* The draw of every operation of op_axis.c: pad, crop the padded picture, resize, mirror; in this order. */
struct axis_draw {
    struct frame from;
    bool padded;
    uint32_t pad_left, pad_top, pad_right, pad_bottom;
    uint32_t x, y, width, height; /* of the padded picture */
    bool resized;
    uint32_t to_width, to_height;
    bool mirror_x, mirror_y;
};

/* Where a point of the picture in front of the step comes to lie behind it. */
void mldfi_axis_point(const struct axis_draw *d, float *x, float *y);
/* f32 arrays [..., 4] and [..., n >= 2]. Boxes are cut at the new picture's sides; one that lies outside becomes empty (x0 = x1, y0 = y1). */
void mldfi_axis_boxes(const struct axis_draw *d, float *boxes, uint64_t count);
void mldfi_axis_points(const struct axis_draw *d, float *points, uint64_t count, uint64_t width);

/* Which power of two a JPEG may be reduced by before this geometry: the largest that leaves the crop at least as large as what it becomes. */
unsigned mldfi_geometry_scale(const struct geometry *g);

#endif
