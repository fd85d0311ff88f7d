/* What `pad` and `ragged` leave in op->state for graph.c, which fills the output's description from it. */
#ifndef MLDF_PIPELINE_COLLATE_H
#define MLDF_PIPELINE_COLLATE_H

#include "pipeline/plan.h"

struct collate_state {
    plan_collate kind;
    uint64_t length; /* PAD: 0 is the longest of the batch */
    double fill;     /* PAD: fits the element type */
    bool mask;       /* PAD */
};

#endif
