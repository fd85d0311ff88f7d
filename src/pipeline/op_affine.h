/* Steps that are y = x * a + b for each channel, as the planner sees them. */
#ifndef MLDF_PIPELINE_OP_AFFINE_H
#define MLDF_PIPELINE_OP_AFFINE_H

#include "pipeline/op.h"

/* True for a step (normalize, to_float, scale, cast(f32)) that makes f32 of a u8 or u16 image of up to four channels by
 *     y = (float)x * scale[c] + shift[c]
 * in two roundings. All four entries are filled. */
bool mldfi_op_affine(const struct op *op, float scale[4], float shift[4]);

#endif
