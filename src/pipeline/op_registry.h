/* The families of operations: one array for each op_*.c file, ended by NULL. Declared here, listed in op_registry.c. */
#ifndef MLDF_PIPELINE_OP_REGISTRY_H
#define MLDF_PIPELINE_OP_REGISTRY_H

#include "pipeline/op.h"

extern const struct op_type *const mldfi_ops_statement[]; /* op_registry.c: drop */
extern const struct op_type *const mldfi_ops_decode[];
extern const struct op_type *const mldfi_ops_decode_audio[];
extern const struct op_type *const mldfi_ops_decode_video[];
extern const struct op_type *const mldfi_ops_window[];
extern const struct op_type *const mldfi_ops_clip[];
extern const struct op_type *const mldfi_ops_resample[];
extern const struct op_type *const mldfi_ops_wave[];
extern const struct op_type *const mldfi_ops_trim[];
extern const struct op_type *const mldfi_ops_mix_wave[];
extern const struct op_type *const mldfi_ops_spectrum[];
extern const struct op_type *const mldfi_ops_fbank[];
extern const struct op_type *const mldfi_ops_log[];
extern const struct op_type *const mldfi_ops_spec_augment[];
extern const struct op_type *const mldfi_ops_axis[];
extern const struct op_type *const mldfi_ops_point[];
extern const struct op_type *const mldfi_ops_any[];
extern const struct op_type *const mldfi_ops_pair[];
extern const struct op_type *const mldfi_ops_collate[];
extern const struct op_type *const mldfi_ops_null[];
extern const struct op_type *const mldfi_ops_warp[];
extern const struct op_type *const mldfi_ops_code[];

/* The one step along time after which a recording still begins when it did. */
extern const struct op_type mldfi_op_resample;

/* `drop`: a step that graph.c understands by itself. */
extern const struct op_type mldfi_op_drop;

#endif
