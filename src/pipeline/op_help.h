/* What the op_*.c files share: questions about edges, and values that a step only carries along. */
#ifndef MLDF_PIPELINE_OP_HELP_H
#define MLDF_PIPELINE_OP_HELP_H

#include <string.h>

#include "pipeline/op.h"

#define OP_END_OF_PARAMS \
    { NULL, PARAM_INT, NULL, 0, 0, NULL, 0, 0, NULL }

/* In a group a change of colour leaves these as they are. */
static inline bool mldfi_edge_carried(const struct edge *e) {
    return e->role == ROLE_MASK || e->role == ROLE_BOXES || e->role == ROLE_POINTS || e->role == ROLE_FLOW;
}

/* One frame of pixels, in any layout. */
static inline bool mldfi_edge_has_pixels(const struct edge *e) {
    return e->kind == VALUE_IMAGE && e->ndim == 3;
}

/* The dimension of a list that may vary: t, or the first where there is none. */
static inline uint32_t mldfi_list_axis(const struct edge *e) {
    uint32_t at = mldfi_time_axis(e->axes, e->ndim);
    return at < e->ndim ? at : 0;
}

/* DIM_VARIES when samples differ. */
static inline int64_t mldfi_edge_channels(const struct edge *e) {
    return e->dims[mldfi_axis(e->axes, 'c')];
}

/* The value as it is; the types of in and out are the same. */
static inline mldf_status mldfi_op_copy(const struct tensor *in, struct tensor *out) {
    size_t bytes = mldfi_tensor_bytes(in);
    if (in->data != out->data && bytes)
        memcpy(out->data, in->data, bytes);
    return MLDF_OK;
}

static inline uint64_t mldfi_tensor_pixels(const struct tensor *t) {
    return mldfi_tensor_height(t) * mldfi_tensor_width(t);
}

#endif
