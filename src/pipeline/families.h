/* The operations by family, each a NULL-terminated list at the end of its op_*.c; registry.c puts them together. */
#ifndef MLDF_PIPELINE_FAMILIES_H
#define MLDF_PIPELINE_FAMILIES_H

#include "pipeline/op.h"

extern const struct op_type *const mldfi_ops_decode[], *const mldfi_ops_axis[];

/* Any numeric dtype but the complex ones. */
mldf_status mldfi_to_f32(const struct tensor *in, float *out, mldf_error *err);

#endif
