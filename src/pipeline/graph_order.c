/* What comes out of the chains: how samples become a batch, whether they can, which chains are needed at all, and in which order they run: inputs
 * and leaders of groups first. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/names.h"
#include "pipeline/clip.h"
#include "pipeline/graph.h"
#include "util/buffer.h"
#include "util/error.h"

void mldfi_chain_free(struct chain *chain) {
    for (size_t i = 0; i < chain->op_count; i++)
        mldfi_op_free(&chain->ops[i]);
    free(chain->ops);
    if (chain->fill)
        mldfi_op_free(chain->fill);
    free(chain->fill);
    free(chain->name);
    free(chain->field_name);
    free(chain->part);
    free(chain->inputs);
    memset(chain, 0, sizeof *chain);
}

/* ---- Batches --------------------------------------------------------------------------------------------------------------------------------------- */

/* " (up to 375x500x3)", or nothing when a bound is not known; an image's sides have always one, which says nothing. */
static mldf_status write_most(const struct edge *edge, mldf_buffer *out, mldf_error *err) {
    mldf_status status = mldfi_buffer_append_text(out, "", err);
    for (uint32_t i = 0; i < edge->ndim; i++)
        if (edge->most[i] == MLDF_NONE || (edge->kind == VALUE_IMAGE && edge->most[i] >= UINT16_MAX))
            return mldf_buffer_append(out, "", 1, err);
    for (uint32_t i = 0; i < edge->ndim && status == MLDF_OK; i++)
        status = mldfi_buffer_printf(out, err, "%s%llu", i ? "x" : " (up to ", (unsigned long long)edge->most[i]);
    return status == MLDF_OK ? mldf_buffer_append(out, ")", 2, err) : status;
}

static mldf_status refuse_varying(const struct builder *b, size_t chain, mldf_error *err) {
    const struct edge *edge = &b->drafts[chain].edge;
    mldf_buffer most = MLDF_BUFFER_INIT;
    bool inner = false;
    for (uint32_t i = 1; i < edge->ndim; i++)
        inner = inner || edge->dims[i] == DIM_VARIES;
    mldf_status status = write_most(edge, &most, err);
    if (status == MLDF_OK && edge->kind == VALUE_IMAGE)
        status = mldfi_chain_fail(b, chain, err, MLDF_E_TYPE,
                                  "its size differs from sample to sample%s; add resize([h, w]), random_resized_crop, "
                                  "center_crop or pad",
                                  (const char *)most.data);
    else if (status == MLDF_OK && inner)
        status = mldfi_chain_fail(b, chain, err, MLDF_E_TYPE,
                                  "its shape differs from sample to sample%s, and not in the first dimension alone%s",
                                  (const char *)most.data, edge->axes[mldfi_axis(edge->axes, 't')] ? "; add pad" : "");
    else if (status == MLDF_OK)
        status =
            mldfi_chain_fail(b, chain, err, MLDF_E_TYPE,
                             "its length differs from sample to sample%s; add pad or ragged", (const char *)most.data);
    mldf_buffer_free(&most);
    return status;
}

/* A length that pad fixes; 0: it does not. */
static void take_length(struct edge *edge, uint32_t dim, uint64_t length) {
    if (length == 0)
        return;
    edge->dims[dim] = (int64_t)length;
    edge->most[dim] = length;
}

/* The chain's first clip: what comes with its frames, and one more axis where there are several. */
static mldf_status take_clips(const struct builder *b, size_t at, mldf_error *err) {
    struct chain *chain = &b->graph->chains[at];
    struct plan_output *out = &chain->output;
    struct edge *edge = &out->edge;
    const struct op *clip = NULL;
    bool first = true;
    for (size_t i = 0; i < chain->op_count && !clip; i++) {
        if (chain->ops[i].type == &mldfi_op_clip)
            clip = &chain->ops[i];
        first = first && (clip || !(chain->ops[i].type->flags & OP_TIME));
    }
    bool named = edge->ndim && (edge->axes[0] == 't' || !edge->axes[0]);
    if (edge->clips > 1 && (out->collate != COLLATE_FIXED || !named || edge->ndim == MLDF_MAX_DIMS))
        return mldfi_chain_fail(b, at, err, MLDF_E_TYPE,
                                "several clips of a video must have one size: add resize or a crop instead of pad");
    if (clip && mldfi_clip_is_sound(clip)) {
        out->clips.sound = true;
        mldfi_clip_counts(clip, &out->clips.count, &out->clips.frames);
    } else if (clip && named) {
        mldfi_clip_counts(clip, &out->clips.count, &out->clips.frames);
        if (edge->dims[0] < 0 || (uint64_t)edge->dims[0] % out->clips.count)
            out->clips.frames = 0;
        else if (out->clips.frames)
            out->clips.frames =
                (uint64_t)edge->dims[0] / out->clips.count; /* steps after the clip may leave some out */
        out->clips.times = first && clip->in.timed;
        out->clips.base = chain->part && strncmp(chain->name, chain->field_name, strlen(chain->field_name)) == 0
                              ? chain->field_name
                              : chain->name;
    }
    if (edge->clips <= 1)
        return MLDF_OK;
    memmove(edge->dims + 1, edge->dims, (MLDF_MAX_DIMS - 1) * sizeof edge->dims[0]);
    memmove(edge->most + 1, edge->most, (MLDF_MAX_DIMS - 1) * sizeof edge->most[0]);
    memmove(edge->axes + 1, edge->axes, MLDF_MAX_DIMS - 1);
    edge->axes[0] = 'n';
    edge->ndim++;
    mldfi_edge_fix(edge, 0, edge->clips);
    mldfi_edge_fix(edge, 1, edge->dims[1] / edge->clips);
    return MLDF_OK;
}

mldf_status mldfi_chain_finish(struct builder *b, size_t at, mldf_error *err) {
    if (b->drafts[at].listed)
        return mldfi_chain_fail(b, at, err, MLDF_E_ARGUMENT, "a list of inputs needs a step that takes several");
    TRY(mldfi_chain_decode(b, at, b->graph->chains[at].offset, err));
    mldf_status status = mldfi_finish_entries(b, at, err);
    if (status < 0)
        return status;
    struct chain *chain = &b->graph->chains[at];
    struct plan_output *out = &chain->output;
    out->name = chain->name;
    out->edge = b->drafts[at].edge;
    if (out->collate != COLLATE_FIXED && out->edge.ndim == 0)
        return mldfi_chain_fail(b, at, err, MLDF_E_TYPE, "a number has no length to pad");
    for (uint32_t i = 0; i < out->edge.ndim; i++)
        if (out->edge.dims[i] == DIM_VARIES && mldfi_length_at(out, i) == PLAN_LENGTHS)
            return refuse_varying(b, at, err);
    if ((status = take_clips(b, at, err)) < 0)
        return status;
    for (uint32_t i = 0; i < out->length_count; i++)
        take_length(&out->edge, out->length_dims[i], out->length.n[i]);
    if (b->options && b->options->run && chain->field != SIZE_MAX)
        b->options->run(b->options->cut_user, chain->field, &out->run);
    if (out->run.each && (chain->op_count || out->collate != COLLATE_FIXED))
        return mldfi_chain_fail(b, at, err, MLDF_E_ARGUMENT,
                                "it goes through the whole batch as one run: no steps can follow");
    return MLDF_OK;
}

/* The outputs by their names; two may have one here, and the first is enough. */
struct shown {
    const struct graph *graph;
    size_t *chains; /* ordinal -> chain */
    struct name_index names;
};

static const char *shown_name(const void *owner, size_t ordinal) {
    const struct shown *shown = owner;
    return shown->graph->chains[shown->chains[ordinal]].name;
}

static mldf_status list_shown(struct shown *shown, mldf_error *err) {
    mldf_status status = MLDF_OK;
    shown->chains = mldfi_alloc_zero(shown->graph->chain_count + 1, sizeof *shown->chains, err);
    if (!shown->chains)
        return MLDF_E_MEMORY;
    for (size_t i = 0; i < shown->graph->chain_count && status == MLDF_OK; i++) {
        const struct chain *chain = &shown->graph->chains[i];
        if (chain->hidden || mldfi_names_find(&shown->names, chain->name, shown_name, shown) != SIZE_MAX)
            continue;
        shown->chains[shown->names.used] = i;
        status = mldfi_names_add(&shown->names, chain->name, shown_name, shown, err);
    }
    return status;
}

/* x_length, x_offset, x_mask and x_valid come with x. */
static mldf_status check_beside(const struct builder *b, const struct shown *shown, size_t at, mldf_error *err) {
    static const char *const suffixes[] = {"_length", "_offset", "_mask", "_valid"};
    const struct chain *chain = &b->graph->chains[at];
    const struct plan_output *out = &chain->output;
    bool used[] = {out->collate == COLLATE_PAD, out->collate == COLLATE_RAGGED, out->mask,
                   out->valid || out->clips.frames || out->clips.sound};
    for (size_t s = 0; s < sizeof used; s++) {
        if (!used[s])
            continue;
        size_t room = strlen(chain->name) + strlen(suffixes[s]) + 1;
        char *name = mldfi_alloc(room, err);
        if (!name)
            return MLDF_E_MEMORY;
        (void)snprintf(name, room, "%s%s", chain->name, suffixes[s]);
        size_t found = mldfi_names_find(&shown->names, name, shown_name, shown);
        free(name);
        if (found != SIZE_MAX)
            return mldfi_chain_fail(b, shown->chains[found], err, MLDF_E_ARGUMENT,
                                    "%s makes an output of this name itself", chain->name);
    }
    return MLDF_OK;
}

static mldf_status check_names(const struct builder *b, mldf_error *err) {
    struct shown shown = {.graph = b->graph};
    mldf_status status = list_shown(&shown, err);
    for (size_t i = 0; i < b->graph->chain_count && status == MLDF_OK; i++)
        if (!b->graph->chains[i].hidden)
            status = check_beside(b, &shown, i, err);
    mldfi_names_free(&shown.names);
    free(shown.chains);
    return status;
}

/* ---- Order ------------------------------------------------------------------------------------------------------------------------------------------ */

/* Outputs, and all that they wait for. */
static void mark_needed(const struct builder *b, bool *needed) {
    const struct graph *g = b->graph;
    bool more = true;
    for (size_t i = 0; i < g->chain_count; i++)
        needed[i] = !g->chains[i].hidden;
    while (more) {
        more = false;
        for (size_t i = 0; i < g->chain_count; i++)
            for (size_t k = 0; needed[i] && k < g->chains[i].input_count; k++) {
                more = more || !needed[g->chains[i].inputs[k]];
                needed[g->chains[i].inputs[k]] = true;
            }
        for (size_t i = 0; i < b->lead_count; i++)
            if (needed[b->leads[i].member] && !needed[b->leads[i].leader])
                needed[b->leads[i].leader] = more = true;
    }
}

/* Has all that the chain waits for been done? */
static bool is_ready(const struct builder *b, size_t chain, const bool *done) {
    const struct chain *c = &b->graph->chains[chain];
    for (size_t i = 0; i < c->input_count; i++)
        if (!done[c->inputs[i]])
            return false;
    for (size_t i = 0; i < b->lead_count; i++)
        if (b->leads[i].member == chain && !done[b->leads[i].leader])
            return false;
    return true;
}

/* order[n] is the chain that comes n-th; each as early in the text as what it waits for allows. */
static mldf_status sort_chains(const struct builder *b, const bool *needed, bool *done, size_t *order, size_t *out,
                               mldf_error *err) {
    size_t count = b->graph->chain_count, used = 0, first = 0;
    for (;;) {
        while (first < count && (done[first] || !needed[first]))
            first++;
        size_t next = first;
        while (next < count && (done[next] || !needed[next] || !is_ready(b, next, done)))
            next++;
        if (next == count)
            break;
        done[next] = true;
        order[used++] = next;
    }
    *out = used;
    return first == count ? MLDF_OK
                          : mldfi_chain_fail(b, first, err, MLDF_E_ARGUMENT,
                                             "its statements and those of others wait for each other in a circle");
}

static mldf_status list_outputs(struct builder *b, const size_t *order, mldf_error *err) {
    struct graph *g = b->graph;
    g->outputs = mldfi_alloc_zero(b->place_count + 1, sizeof g->outputs[0], err);
    if (!g->outputs)
        return MLDF_E_MEMORY;
    for (size_t i = 0; i < g->chain_count; i++)
        if (!g->chains[i].hidden)
            g->outputs[b->drafts[order[i]].place] = i + 1;
    for (size_t place = 0; place < b->place_count; place++)
        if (g->outputs[place])
            g->outputs[g->output_count++] = g->outputs[place] - 1;
    return g->output_count
               ? MLDF_OK
               : mldfi_fail(err, MLDF_E_ARGUMENT,
                            "nothing comes out: fields of a fixed shape do by themselves, all others where a "
                            "statement names them");
}

/* Moves the chains to their places; inputs follow. */
static mldf_status move_chains(struct builder *b, const size_t *order, size_t used, mldf_error *err) {
    struct graph *g = b->graph;
    size_t count = g->chain_count;
    struct chain *sorted = mldfi_alloc_zero(used + 1, sizeof *sorted, err);
    size_t *places = mldfi_alloc_zero(count + 1, sizeof *places, err);
    if (!sorted || !places) {
        free(sorted);
        free(places);
        return MLDF_E_MEMORY;
    }
    for (size_t i = 0; i < used; i++) {
        places[order[i]] = i;
        sorted[i] = g->chains[order[i]];
        memset(&g->chains[order[i]], 0, sizeof g->chains[0]);
    }
    for (size_t i = 0; i < used; i++)
        for (size_t k = 0; k < sorted[i].input_count; k++)
            sorted[i].inputs[k] = places[sorted[i].inputs[k]];
    for (size_t i = 0; i < count; i++)
        mldfi_chain_free(&g->chains[i]);
    free(places);
    free(g->chains);
    g->chains = sorted;
    g->chain_count = used;
    return list_outputs(b, order, err);
}

mldf_status mldfi_graph_order(struct builder *b, mldf_error *err) {
    size_t count = b->graph->chain_count, used = 0;
    TRY(check_names(b, err));
    bool *flags = mldfi_alloc_zero(2 * count + 1, sizeof *flags, err);
    size_t *order = flags ? mldfi_alloc_zero(count + 1, sizeof *order, err) : NULL;
    mldf_status status = order ? MLDF_OK : MLDF_E_MEMORY;
    if (status == MLDF_OK) {
        mark_needed(b, flags);
        status = sort_chains(b, flags, flags + count, order, &used, err);
    }
    if (status == MLDF_OK)
        status = move_chains(b, order, used, err);
    free(flags);
    free(order);
    return status;
}
