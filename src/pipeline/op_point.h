/* The operations of the family `point`: each output element depends on one input element, or on the image's colours alone. */
#ifndef MLDF_PIPELINE_OP_POINT_H
#define MLDF_PIPELINE_OP_POINT_H

#include "pipeline/op_registry.h"

extern const struct op_type mldfi_op_normalize, mldfi_op_to_float, mldfi_op_scale; /* op_affine.c */
extern const struct op_type mldfi_op_cast, mldfi_op_chw, mldfi_op_hwc;             /* op_layout.c */
extern const struct op_type mldfi_op_brightness, mldfi_op_gamma, mldfi_op_invert, mldfi_op_random_invert,
    mldfi_op_solarize, mldfi_op_posterize; /* op_point.c */
extern const struct op_type mldfi_op_contrast, mldfi_op_saturation, mldfi_op_hue, mldfi_op_sharpness,
    mldfi_op_autocontrast, mldfi_op_equalize, mldfi_op_grayscale, mldfi_op_random_grayscale,
    mldfi_op_color_jitter;                                                 /* op_color.c */
extern const struct op_type mldfi_op_randaugment, mldfi_op_trivialaugment; /* op_augment.c */
extern const struct op_type mldfi_op_autoaugment;                          /* op_autoaugment.c */

#endif
