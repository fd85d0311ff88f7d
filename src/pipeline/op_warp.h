/* The operations of the family `warp`: images turned, moved and tilted, painted over, blurred. */
#ifndef MLDF_PIPELINE_OP_WARP_H
#define MLDF_PIPELINE_OP_WARP_H

#include "pipeline/op_registry.h"

extern const struct op_type mldfi_op_cutout, mldfi_op_erasing, mldfi_op_random_translate; /* op_erase.c */
extern const struct op_type mldfi_op_border;                                              /* op_border.c */
extern const struct op_type mldfi_op_grid_mask;                                           /* op_grid_mask.c */
extern const struct op_type mldfi_op_gaussian_blur;                                       /* op_blur.c */
extern const struct op_type mldfi_op_poison;                                              /* op_poison.c */

#endif
