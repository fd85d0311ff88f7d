/* A field's value that goes into the batch as it is stored: a number, or an array whose dims are the same in every sample. Labels, indices, features and
 * embeddings are such: from the reader to their place, with no step, no shape to work out and nothing between. What is different about a value (a null, an
 * array that is not as its field says) is left to the long way, run_value.c, which knows what to do and what to say. */
#include <string.h>

#include "pipeline/stage.h"

static bool is_direct(const struct chain *c) {
    const struct edge *e = &c->source;
    bool fixed = e->kind == VALUE_ARRAY || e->kind == VALUE_IMAGE;
    for (uint32_t i = 0; i < e->ndim && fixed; i++)
        fixed = e->dims[i] >= 0;
    return fixed && c->field != SIZE_MAX && !c->part && !c->into && c->share == SIZE_MAX && c->stage_count == 0 &&
           c->target != SIZE_MAX && !c->feeds && c->output.collate == COLLATE_FIXED;
}

void mldfi_plan_note_direct(struct graph *graph) {
    for (size_t i = 0; i < graph->chain_count; i++) {
        struct chain *c = &graph->chains[i];
        struct tensor t = mldfi_tensor_of(&c->source);
        c->direct = is_direct(c);
        for (uint32_t k = 0; c->direct && k < t.ndim; k++)
            t.dims[k] = (uint64_t)c->source.dims[k];
        c->direct_bytes = c->direct ? mldfi_tensor_bytes(&t) : 0;
    }
}

static bool is_as_said(const struct edge *e, const mldf_value *v, size_t bytes) {
    bool same = v->kind == MLDF_KIND_ARRAY && v->dtype == e->dtype && v->ndim == e->ndim && v->bytes >= bytes;
    for (uint32_t i = 0; same && i < e->ndim; i++)
        same = v->dims[i] == (uint64_t)e->dims[i];
    return same;
}

mldf_status mldfi_run_direct(const struct run *r, struct side *side, size_t chain, const struct plan_target *target,
                             mldf_error *err) {
    const struct chain *c = &r->plan->graph.chains[chain];
    struct chain_memory *memory = &side->chains[chain];
    mldf_value v;
    mldf_status status = r->feed->get(r->feed->user, side->position, c->field, &memory->value, &v, err);
    memory->filled = false;
    if (status < 0) {
        mldfi_name_chain(c, err);
        return status;
    }
    if (c->source.ndim == 0 && (v.kind == MLDF_KIND_INT || v.kind == MLDF_KIND_UINT || v.kind == MLDF_KIND_FLOAT)) {
        status = mldfi_take_number(&v, c->source.dtype, target->data, err);
        if (status < 0)
            mldfi_name_chain(c, err);
        return status;
    }
    if (!is_as_said(&c->source, &v, c->direct_bytes))
        return MLDF_AGAIN;
    if (c->direct_bytes)
        memcpy(target->data, v.data, c->direct_bytes);
    r->worker->bytes += v.bytes;
    return MLDF_OK;
}
