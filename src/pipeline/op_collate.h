/* What `pad` and `ragged` leave in op->state for graph_step.c, which fills the output's description from it. */
#ifndef MLDF_PIPELINE_OP_COLLATE_H
#define MLDF_PIPELINE_OP_COLLATE_H

#include "pipeline/plan.h"

struct collate_state {
    plan_collate kind;
    uint32_t length_count; /* all of it as plan_output has it */
    uint32_t length_dims[PLAN_LENGTHS];
    struct plan_length length;
    uint64_t multiple;
    double fill; /* fits the element type */
    bool mask;
    bool text;
};

#endif
