/* The family `point`. */
#include "pipeline/op_point.h"

const struct op_type *const mldfi_ops_point[] = {
    &mldfi_op_cast, &mldfi_op_chw, &mldfi_op_hwc, &mldfi_op_normalize, &mldfi_op_scale, &mldfi_op_to_float, NULL,
};
