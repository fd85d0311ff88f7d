/* Maps of the plane onto images, boxes and points, for the operations that turn, shear, move and tilt. */
#ifndef MLDF_PIPELINE_WARP_MAP_H
#define MLDF_PIPELINE_WARP_MAP_H

#include "kernel/warp.h"
#include "pipeline/op.h"

enum { WARP_NEAREST, WARP_BILINEAR };

/* kernel/warp.h says what map and interpolation mean. in and out: images of one type, layout and number of channels (at most four),
 * any sizes, not the same memory; bilinear wants u8, u16 or f32. fill: a number for each channel, in the type's own values, held at its
 * ends. The numbers of the map are finite. */
mldf_status mldfi_warp_image(const struct tensor *in, struct tensor *out, const struct warp_map *map, int interpolation,
                             const double *fill, struct op_work *work, mldf_error *err);
/* The same with the first six numbers of a map. */
mldf_status mldfi_warp_affine(const struct tensor *in, struct tensor *out, const double matrix[6], int interpolation,
                              const double *fill, struct op_work *work, mldf_error *err);

/* The matrix that shows the image turned by `degrees` against the clock around (x, y). Quarter turns are exact. */
void mldfi_warp_rotation(double degrees, double x, double y, double matrix[6]);
/* Sine, cosine and what is made of them, to 15 decimals: so that whole and half numbers are met. */
double mldfi_warp_rounded(double value);

/* The way back. False, and *out is not set, when there is none. */
bool mldfi_warp_invert(const struct warp_map *map, struct warp_map *out);

/* Moves things along a map from the old image to the new one (the way back of what shows an image). Boxes become the hull of their four
 * corners, cut at the new image's sides. f32 arrays [..., 4] and [..., n >= 2]. */
void mldfi_warp_boxes(const struct warp_map *map, const struct frame *to, float *boxes, uint64_t count);
void mldfi_warp_points(const struct warp_map *map, float *points, uint64_t count, uint64_t width);

#endif
