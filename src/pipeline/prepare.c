/* What a sample will be, before it is run. Everything here follows from extents and draws alone:
 *
 *   the extents of the sources that matter, leaders of groups first    (a family's `extent`, from the record)
 *     → the draws that need extents alone                              (run_source.c, mldfi_draw)
 *     → what the steps select: windows, shapes
 *     → lengths, for batches whose size depends on them (MEASURE); byte ranges, for what is read in advance (prefetch)
 *
 * RUN begins with the same step for each source in turn. Rows are looked at and no payload is, unless a row does not say
 * enough; no operation runs, except where several inputs are joined.
 *
 * Chains are in an order in which inputs and leaders of groups come first. `prepared` marks those that a length or a byte range
 * depends on: the chain itself, what it is made of, and who draws for it. So a member never draws. */
#include <inttypes.h>

#include "pipeline/source.h"
#include "pipeline/spectrum.h"
#include "util/error.h"

/* ---- Which chains count ------------------------------------------------------------------------------------------------------------------ */

/* Geometry moves boxes and points, and leaves as many of them: what it drew is not asked for. */
static bool keeps_count(const struct op *op) {
    return (op->in.role == ROLE_BOXES || op->in.role == ROLE_POINTS) && (op->type->flags & OP_DRAWS) &&
           !(op->type->flags & OP_TIME) && !op->user;
}

/* The chain whose op makes this draw. */
static size_t leader_of(const struct graph *graph, uint32_t shared) {
    for (size_t i = 0; i < graph->chain_count; i++)
        for (size_t k = 0; k < graph->chains[i].op_count; k++) {
            const struct op *op = &graph->chains[i].ops[k];
            if ((op->type->flags & OP_DRAWS) && op->shared == shared && op->leads)
                return i;
        }
    return SIZE_MAX;
}

/* What depends on a chain depends on its inputs and on the leaders of its draws; all of them are in front of it. */
static void pass_on(struct graph *graph, const struct chain *c) {
    for (size_t k = 0; k < c->input_count; k++)
        graph->chains[c->inputs[k]].prepared |= c->prepared;
    for (size_t k = 0; k < c->op_count; k++) {
        const struct op *op = &c->ops[k];
        size_t leader = (op->type->flags & OP_DRAWS) && !keeps_count(op) ? leader_of(graph, op->follows) : SIZE_MAX;
        if (leader != SIZE_MAX)
            graph->chains[leader].prepared |= c->prepared;
    }
}

/* Is the chain's value made from a recording, through waves? */
static bool has_waves(const struct graph *graph, const struct chain *c) {
    bool waves =
        mldfi_edge_is_recording(&c->source) || (c->input_count == 1 && graph->chains[c->inputs[0]].output.waves);
    for (size_t k = 0; k < c->op_count && !waves; k++)
        waves = mldfi_edge_is_recording(&c->ops[k].out);
    return waves;
}

/* May values become shorter than their shapes say? What several inputs are made into is measured by making it. */
static bool has_shrinking(const struct graph *graph, const struct chain *c) {
    bool shrinks = c->input_count == 1 && graph->chains[c->inputs[0]].output.shrinks;
    for (size_t k = 0; k < c->op_count && !shrinks; k++)
        shrinks = c->ops[k].type->flags & OP_SHRINKS;
    return shrinks;
}

void mldfi_plan_note_prepared(struct graph *graph) {
    for (size_t i = 0; i < graph->chain_count; i++) {
        graph->chains[i].output.waves = has_waves(graph, &graph->chains[i]);
        graph->chains[i].output.shrinks = has_shrinking(graph, &graph->chains[i]);
    }
    for (size_t i = graph->chain_count; i-- > 0;) {
        struct chain *c = &graph->chains[i];
        const struct source_type *source = mldfi_chain_source(c);
        if (!c->hidden && c->output.collate != COLLATE_FIXED)
            c->prepared |= PREPARE_LENGTHS;
        if (source && source->ranges && !mldfi_is_tabled(c))
            c->prepared |= PREPARE_RANGES;
        if (c->prepared)
            pass_on(graph, c);
    }
}

/* ---- Shapes ---------------------------------------------------------------------------------------------------------------------------------- */

/* The shape that the chain's own steps begin with, in its memory; *first: the first of them. What several inputs are made into is known when
 * it is made. *ran: the chain was run to its end, to know that. */
static mldf_status begin_shape(const struct run *r, struct side *side, size_t chain, size_t *first, bool *ran,
                               mldf_error *err) {
    const struct chain *c = &r->plan->graph.chains[chain];
    struct chain_memory *memory = &side->chains[chain];
    mldf_status status = MLDF_OK;
    *first = 0;
    /* Values that are stored one after the other need their true lengths. */
    bool exact = c->output.shrinks && c->output.collate == COLLATE_RAGGED;
    *ran = (c->stage_count && c->stages[0].kind == STAGE_JOIN) || exact;
    if (*ran) {
        struct run whole = *r;
        whole.measuring = false;
        for (size_t i = 0; status == MLDF_OK && i <= chain; i++)
            status = mldfi_run_chain(&whole, side, i, 0, r->plan->graph.chains[i].stage_count, NULL, err);
        *first = c->op_count;
    } else if (c->field == SIZE_MAX) {
        memory->null = false;
        mldfi_take_input(r, side, chain);
    } else if (c->stage_count && c->stages[0].kind == STAGE_SOURCE) {
        status = mldfi_source_shape(r, side, chain, first, err);
    } else {
        status = mldfi_fetch_value(r, side, chain, NULL, 0, err);
    }
    if (memory->null && *first != c->op_count) /* what ran whole has been filled */
        *first = c->fill_at;
    return status;
}

/* How long the wave is that the value now is, or was made from. first: the chain's steps from there on are to come. */
static void note_samples(const struct chain *c, size_t first, struct side *side, struct chain_memory *memory) {
    const struct tensor *t = &memory->tensor;
    if (!c->output.waves)
        return;
    if (mldfi_edge_is_recording(first ? &c->ops[first - 1].out : &c->source))
        memory->samples = t->dims[t->ndim - 1];
    else if (first == 0)
        memory->samples = c->input_count == 1 ? side->chains[c->inputs[0]].samples : 0;
}

/* The shape of a chain's result, in its memory (without the data). */
mldf_status mldfi_shape_one(const struct run *r, struct side *side, size_t chain, mldf_error *err) {
    const struct chain *c = &r->plan->graph.chains[chain];
    struct chain_memory *memory = &side->chains[chain];
    struct tensor *t = &memory->tensor;
    size_t first;
    bool ran;
    memory->samples = 0;
    mldf_status status = begin_shape(r, side, chain, &first, &ran, err);
    if (status == MLDF_OK && !memory->null && !ran)
        note_samples(c, first, side, memory);
    for (size_t i = first; status == MLDF_OK && i < c->op_count; i++) {
        const struct op *op = &c->ops[i];
        const void *draw;
        if (op->type->flags & OP_COLLATE)
            continue;
        struct tensor next = mldfi_tensor_like(op, t);
        if (!keeps_count(op)) {
            memory->frame.start = memory->start;
            status = mldfi_draw(r, side, op, &memory->frame, &draw, err);
            if (status == MLDF_OK)
                status = mldfi_shape_step(r, op, draw, t, &next, err);
            status = mldfi_in_step(op, status, err);
        }
        *t = next;
        memory->frame = mldfi_frame_of(t);
        note_samples(c, i + 1, side, memory);
    }
    if (status < 0)
        mldfi_name_chain(c, err);
    return status;
}

static mldf_status shape_of(const struct run *r, struct side *side, size_t chain, mldf_error *err) {
    return mldfi_is_all(&r->plan->graph.chains[chain]) ? mldfi_shape_entries(r, side, chain, err)
                                                       : mldfi_shape_one(r, side, chain, err);
}

static mldf_status length_of(const struct chain *c, const struct chain_memory *memory, struct plan_length *out,
                             mldf_error *err) {
    const struct plan_output *output = &c->output;
    const struct tensor *t = &memory->tensor;
    bool large = false;
    out->n[PLAN_SAMPLES] = memory->samples;
    for (uint32_t i = 0; i < output->length_count; i++) {
        out->n[i] = t->dims[output->length_dims[i]];
        large = large || out->n[i] > PLAN_SIDE_MAX;
    }
    if (!large || output->edge.kind != VALUE_IMAGE)
        return MLDF_OK;
    mldf_status status = mldfi_fail(err, MLDF_E_LIMIT, "%" PRIu64 " x %" PRIu64 " pixels are too many for pad",
                                    mldfi_tensor_width(t), mldfi_tensor_height(t));
    mldfi_name_chain(c, err);
    return status;
}

void mldfi_worker_lengths(const struct plan_worker *worker, unsigned side, struct plan_length *lengths) {
    const struct graph *graph = &worker->plan->graph;
    for (size_t i = 0; i < graph->chain_count; i++) {
        const struct chain *c = &graph->chains[i];
        const struct chain_memory *memory = &worker->sides[side].chains[i];
        if (c->target == SIZE_MAX || !c->output.shrinks || c->output.collate == COLLATE_FIXED || memory->null)
            continue;
        (void)length_of(c, memory, &lengths[c->target], NULL);
    }
}

/* Shapes of all chains that matter, in their memory. */
static mldf_status prepare(const struct run *r, struct side *side, uint64_t position, unsigned need, mldf_error *err) {
    const struct graph *graph = &r->plan->graph;
    uint64_t bytes = r->worker->bytes; /* they are counted when the sample is run */
    mldf_status status = MLDF_OK;
    mldfi_begin_side(r->plan, r->feed, side, position);
    for (size_t i = 0; status == MLDF_OK && i < graph->chain_count; i++)
        if (graph->chains[i].prepared & need)
            status = shape_of(r, side, i, err);
    r->worker->bytes = bytes;
    return status;
}

mldf_status mldfi_prepare_later(const struct run *r, struct side *side, size_t chain, size_t last, mldf_error *err) {
    const struct graph *graph = &r->plan->graph;
    struct run shapes = *r;
    uint64_t bytes = r->worker->bytes;
    mldf_status status = MLDF_OK;
    shapes.measuring = true;
    for (size_t i = chain + 1; i <= last && status == MLDF_OK; i++)
        if (graph->chains[i].prepared & PREPARE_RANGES)
            status = shape_of(&shapes, side, i, err);
    r->worker->bytes = bytes;
    return status;
}

mldf_status mldfi_plan_prepare(const struct plan *plan, struct plan_worker *worker, const struct plan_feed *feed,
                               uint64_t epoch, uint64_t position, struct plan_length *lengths,
                               struct plan_ranges *ranges, mldf_error *err) {
    struct run r = {plan, worker, feed, epoch, true};
    struct side *side = &worker->sides[0];
    unsigned need = (lengths ? PREPARE_LENGTHS : 0) | (ranges ? PREPARE_RANGES : 0);
    mldf_status status = prepare(&r, side, position, need, err);
    for (size_t i = 0; lengths && i < plan->graph.output_count; i++)
        lengths[i] = (struct plan_length){{0}};
    if (ranges)
        ranges->count = 0;
    for (size_t i = 0; status == MLDF_OK && i < plan->graph.chain_count; i++) {
        const struct chain *c = &plan->graph.chains[i];
        if (lengths && c->target != SIZE_MAX && c->output.collate != COLLATE_FIXED)
            status = length_of(c, &side->chains[i], &lengths[c->target], err);
        if (status == MLDF_OK && ranges)
            status = mldfi_source_ranges(&r, side, i, ranges, err);
    }
    return status;
}

bool mldfi_counts_entries(const struct chain *c) {
    const struct plan_output *output = &c->output;
    bool kept = c->stacked;
    for (size_t i = 0; i < c->op_count && !kept; i++)
        if (!(c->ops[i].type->flags & (OP_POINT | OP_COLLATE)))
            return false;
    return mldfi_is_all(c) && mldfi_is_tabled(c) && !c->fill && !output->waves && output->length_count == 1 &&
           output->length_dims[0] == 0 && c->of->type->part_total;
}

mldf_status mldfi_plan_record_length(const struct plan *plan, struct plan_worker *worker, const struct plan_feed *feed,
                                     uint64_t position, size_t output, struct plan_length *out, mldf_error *err) {
    const size_t chain = plan->graph.outputs[output];
    const struct chain *c = &plan->graph.chains[chain];
    mldf_value value;
    *out = (struct plan_length){{0}};
    if (!mldfi_counts_entries(c) || !feed->record)
        return MLDF_END;
    mldf_status status =
        feed->record(feed->user, position, c->field, &worker->sides[0].chains[chain].part.bytes, &value, err);
    if (status < 0 || value.kind == MLDF_KIND_NULL)
        return status;
    if (!value.record)
        return MLDF_END;
    return c->of->type->part_total(c->of, c->part, value.record, c->stacked, &out->n[0]) ? MLDF_OK : MLDF_END;
}

bool mldfi_plan_has_ranges(const struct plan *plan, size_t field) {
    bool some = false;
    for (size_t i = 0; i < plan->graph.chain_count; i++) {
        const struct chain *c = &plan->graph.chains[i];
        if ((c->prepared & PREPARE_RANGES) && c->stage_count && c->stages[0].kind == STAGE_JOIN)
            return false; /* its shape is known when it is made */
        const struct source_type *source = mldfi_chain_source(c);
        if (c->field == field && (!(source && source->ranges) || mldfi_is_tabled(c)))
            return false; /* this one reads all of it */
        some = some || c->field == field;
    }
    return some;
}

bool mldfi_plan_prepares(const struct plan *plan, size_t field) {
    for (size_t i = 0; i < plan->graph.chain_count; i++)
        if (plan->graph.chains[i].field == field && (plan->graph.chains[i].prepared & PREPARE_RANGES))
            return true;
    return false;
}
