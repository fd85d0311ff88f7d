/* Nulls on their way into a batch: what `fill` (op_null.c) tells the graph and the run. */
#ifndef MLDF_PIPELINE_NULL_H
#define MLDF_PIPELINE_NULL_H

#include "pipeline/op.h"

extern const struct op_type mldfi_op_null;

/* Does the output bring NAME_valid? */
bool mldfi_null_wants_valid(const struct op *op);
/* What a null becomes, in `room`: the constant in the shape of op->out; where its length varies, nothing. */
mldf_status mldfi_null_value(const struct op *op, mldf_buffer *room, struct tensor *out, mldf_error *err);

#endif
