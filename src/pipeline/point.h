/* What op_point.c tells the rewriting passes. */
#ifndef MLDF_PIPELINE_POINT_H
#define MLDF_PIPELINE_POINT_H

#include "pipeline/op.h"

/* True for normalize, to_float and scale on integer pictures: y = (float)v * scale[c] + shift[c] in two roundings. */
bool mldfi_op_affine(const struct op *op, float scale[4], float shift[4]);

#endif
