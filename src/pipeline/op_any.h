/* The operations of the family `any`: arrays of whatever meaning, and labels. */
#ifndef MLDF_PIPELINE_OP_ANY_H
#define MLDF_PIPELINE_OP_ANY_H

#include "pipeline/op_registry.h"

extern const struct op_type mldfi_op_one_hot, mldfi_op_label_smoothing, mldfi_op_replace_label; /* op_label.c */

#endif
