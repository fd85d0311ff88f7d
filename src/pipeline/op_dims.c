/* Dims of an operation's output, of types and of samples: where they are a function of the input's alone, the operation states it once
 * (op_type.dims in op.h), and both are made of it here. */
#include <string.h>

#include "pipeline/op.h"
#include "pipeline/pipeline.h"

void mldfi_infer_dims(struct op *op) {
    const struct edge *in = &op->in;
    int64_t most[MLDF_MAX_DIMS], out[MLDF_MAX_DIMS];
    if (!op->type->dims)
        return;
    op->type->dims(op, NULL, in->dims, op->out.dims);
    /* The largest of the output come of the largest of the input; MLDF_NONE is DIM_VARIES as a number. */
    for (uint32_t i = 0; i < in->ndim; i++)
        most[i] = in->dims[i] == DIM_VARIES ? (int64_t)in->most[i] : in->dims[i];
    op->type->dims(op, NULL, most, out);
    for (uint32_t i = 0; i < op->out.ndim; i++)
        op->out.most[i] = (uint64_t)out[i];
}

mldf_status mldfi_op_shape(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                           mldf_error *err) {
    int64_t from[MLDF_MAX_DIMS], to[MLDF_MAX_DIMS];
    if (op->type->dims) {
        for (uint32_t i = 0; i < in->ndim; i++)
            from[i] = (int64_t)in->dims[i];
        op->type->dims(op, draw, from, to);
        for (uint32_t i = 0; i < out->ndim; i++)
            out->dims[i] = (uint64_t)to[i];
    }
    return op->type->shape ? op->type->shape(op, draw, in, out, err) : MLDF_OK;
}
