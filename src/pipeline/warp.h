/* Affine maps of pictures, for the operations that turn, shear and move. */
#ifndef MLDF_PIPELINE_WARP_H
#define MLDF_PIPELINE_WARP_H

#include "pipeline/op.h"

enum { WARP_NEAREST, WARP_BILINEAR };

/* kernel/warp.h says what matrix and interpolation mean. in and out: pictures of one type, layout and number of channels (at most four),
 * any sizes, not the same memory; bilinear wants u8, u16 or f32. fill: a number for each channel, in the type's own values, held at its
 * ends. The matrix is finite. */
mldf_status mldfi_warp_affine(const struct tensor *in, struct tensor *out, const double matrix[6], int interpolation,
                              const double *fill, struct op_work *work, mldf_error *err);

/* The matrix that shows the picture turned by `degrees` against the clock around (x, y). */
void mldfi_warp_rotation(double degrees, double x, double y, double matrix[6]);

#endif
