/* Which operations of a step could be done once, when the file is packed, instead of for every epoch: those that give the same result each time.
 * That takes more than an operation that draws nothing: all that stands before it in its chain, and in the chains that it is made of, must be of
 * that kind too. What makes a value's elements wider (to_float, normalize) is not counted: the file would grow by more than the time is worth. */
#include <stdio.h>
#include <string.h>

#include "pipeline/stage.h"

static bool is_fixed(const struct op *op) {
    return (op->type->flags & (OP_RANDOM | OP_PAIR | OP_COLLATE)) == 0;
}

static bool is_wider(const struct op *op) {
    return op->in.kind != VALUE_ENCODED && mldf_dtype_bytes(op->out.dtype) > mldf_dtype_bytes(op->in.dtype);
}

void mldfi_plan_note_once(struct graph *graph) {
    for (size_t c = 0; c < graph->chain_count; c++) {
        struct chain *chain = &graph->chains[c];
        bool fixed = true;
        for (size_t i = 0; i < chain->input_count; i++) {
            const struct chain *input = &graph->chains[chain->inputs[i]]; /* stands in front: it is known */
            fixed = fixed && input->once == input->op_count;
        }
        while (fixed && chain->once < chain->op_count && is_fixed(&chain->ops[chain->once]) &&
               !is_wider(&chain->ops[chain->once]))
            chain->once++;
    }
}

/* The operations [*first, *first + *count) of a stage that are timed as this step; false: none of them. */
static bool operations_of(const struct stage *stage, size_t step, size_t *first, size_t *count) {
    bool source = stage->kind == STAGE_SOURCE;
    *first = stage->first;
    *count = source ? 1 : stage->count;
    if (step == stage->step)
        return true;
    *first = stage->first + 1; /* what stands behind decode is timed apart */
    *count = stage->count - 1 + (stage->finish.use ? stage->finish.count : 0);
    return source && step == stage->step + 1;
}

static void write_names(const struct op *ops, size_t count, char *out, size_t room) {
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        int n = snprintf(out + at, room - at, "%s%s", i ? " + " : "", ops[i].type->name);
        if (n < 0 || (size_t)n >= room - at) {
            out[at] = 0; /* whole names only */
            return;
        }
        at += (size_t)n;
    }
}

void mldfi_plan_step_once(const struct plan *plan, size_t step, char *out, size_t room) {
    size_t first, count;
    out[0] = 0;
    for (size_t c = 0; c < plan->graph.chain_count; c++) {
        const struct chain *chain = &plan->graph.chains[c];
        for (size_t s = 0; s < chain->stage_count; s++) {
            if (!operations_of(&chain->stages[s], step, &first, &count))
                continue;
            if (chain->once > first)
                write_names(chain->ops + first, chain->once - first < count ? chain->once - first : count, out, room);
            return;
        }
    }
}
