/* What `pad` and `ragged` leave in op->state for graph_step.c, which fills the output's description from it. */
#ifndef MLDF_PIPELINE_OP_COLLATE_H
#define MLDF_PIPELINE_OP_COLLATE_H

#include "pipeline/plan.h"

struct collate_state {
    plan_collate kind;
    uint64_t length;   /* PAD, SIDES: as plan_output has it */
    uint64_t multiple; /* PAD, SIDES: at least 1 */
    double fill;       /* PAD, SIDES: fits the element type */
    bool mask;         /* PAD, SIDES */
};

#endif
