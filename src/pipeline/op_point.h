/* The operations of the family `point`: each output element depends on one input element, or on the picture's colours alone. */
#ifndef MLDF_PIPELINE_OP_POINT_H
#define MLDF_PIPELINE_OP_POINT_H

#include "pipeline/op.h"

extern const struct op_type *const mldfi_ops_point[]; /* ends with NULL */

extern const struct op_type mldfi_op_normalize, mldfi_op_to_float, mldfi_op_scale; /* op_affine.c */
extern const struct op_type mldfi_op_cast, mldfi_op_chw, mldfi_op_hwc;             /* op_layout.c */

#endif
