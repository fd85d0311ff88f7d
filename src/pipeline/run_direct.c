/* A field's value that goes into the batch as it is stored, or cast to another type of element: a number, or an array whose dims are the same in every
 * sample. Labels, features, embeddings and windows of tokens are such: from the reader to their place, with no shape to work out and nothing between. What is different about a value (a null, an
 * array that is not as its field says) is left to the long way, run_value.c, which knows what to do and what to say. */
#include <string.h>

#include "kernel/cast.h"
#include "pipeline/op_point.h"
#include "pipeline/stage.h"

/* No step, or a cast alone. */
static bool is_plain(const struct chain *c) {
    if (c->stage_count == 0)
        return true;
    const struct stage *stage = &c->stages[0];
    return c->stage_count == 1 && stage->count == 1 && (stage->kind == STAGE_OP || stage->kind == STAGE_CODE) &&
           c->ops[stage->first].type == &mldfi_op_cast && !c->ops[stage->first].frames;
}

static bool is_direct(const struct chain *c) {
    const struct edge *e = &c->source;
    bool fixed = e->kind == VALUE_ARRAY || e->kind == VALUE_IMAGE;
    for (uint32_t i = 0; i < e->ndim && fixed; i++)
        fixed = e->dims[i] >= 0;
    return fixed && c->field != SIZE_MAX && !c->part && !c->into && c->share == SIZE_MAX && is_plain(c) &&
           c->target != SIZE_MAX && !c->feeds && c->output.collate == COLLATE_FIXED;
}

void mldfi_plan_note_direct(struct graph *graph) {
    for (size_t i = 0; i < graph->chain_count; i++) {
        struct chain *c = &graph->chains[i];
        struct tensor t = mldfi_tensor_of(&c->source);
        c->direct = is_direct(c);
        for (uint32_t k = 0; c->direct && k < t.ndim; k++)
            t.dims[k] = (uint64_t)c->source.dims[k];
        c->direct_count = c->direct ? (size_t)mldfi_tensor_count(&t) : 0;
    }
}

/* Loops over elements want them at multiples of their size. */
static bool is_as_said(const struct chain *c, const mldf_value *v) {
    const struct edge *e = &c->source;
    size_t element = mldfi_dtype_size(e->dtype), align = element > 8 ? 8 : element;
    bool same = v->kind == MLDF_KIND_ARRAY && v->dtype == e->dtype && v->ndim == e->ndim &&
                v->bytes / element >= c->direct_count && (uintptr_t)v->data % align == 0;
    for (uint32_t i = 0; same && i < e->ndim; i++)
        same = v->dims[i] == (uint64_t)e->dims[i];
    return same;
}

static inline bool is_number(const mldf_value *v) {
    return v->kind == MLDF_KIND_INT || v->kind == MLDF_KIND_UINT || v->kind == MLDF_KIND_FLOAT;
}

mldf_status mldfi_run_direct(const struct run *r, struct side *side, size_t chain, const struct plan_target *target,
                             mldf_error *err) {
    const struct chain *c = &r->plan->graph.chains[chain];
    struct chain_memory *memory = &side->chains[chain];
    mldf_dtype from = c->source.dtype, to = c->output.edge.dtype;
    uint64_t aside; /* a number before its cast */
    const void *data = &aside;
    mldf_value v;
    mldf_status status = r->feed->get(r->feed->user, side->position, c->field, &memory->value, &v, err);
    memory->filled = false;
    if (status >= 0 && c->source.ndim == 0 && is_number(&v)) {
        status = mldfi_take_number(&v, from, from == to ? target->data : &aside, err);
        if (status >= 0 && from == to)
            return MLDF_OK;
    } else if (status >= 0) {
        if (!is_as_said(c, &v))
            return MLDF_AGAIN;
        r->worker->bytes += v.bytes;
        data = v.data;
    }
    if (status < 0)
        mldfi_name_chain(c, err);
    else if (from != to && r->plan->kernels->widen(from, data, to, target->data, c->direct_count))
        return MLDF_OK;
    else if (c->direct_count)
        mldfi_convert_elements(from, data, to, target->data, c->direct_count);
    return status;
}
