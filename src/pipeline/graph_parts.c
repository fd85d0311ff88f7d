/* Chains that run for each of the parts of one kind that a sample has: `doc.image` is all of its images. Steps see one part; the batch sees them one after
 * the other:
 *
 *     one shape (images after resize, numbers)       stacked: [parts, ...]
 *     lists of different lengths (tokens, text)      end to end: [sum of lengths, ...] */
#include "pipeline/clip.h"
#include "pipeline/graph.h"
#include "pipeline/op_collate.h"
#include "util/error.h"

mldf_status mldfi_check_single(const struct builder *b, size_t chain, mldf_error *err) {
    const struct chain *c = &b->graph->chains[chain];
    if (!mldfi_is_all(c))
        return MLDF_OK;
    return mldfi_chain_fail(b, chain, err, MLDF_E_TYPE,
                            "it is any number of parts of a sample; name one of them here: %s.%s[0]", c->field_name,
                            c->part->name);
}

mldf_status mldfi_check_alike(const struct builder *b, const size_t *chains, size_t count, mldf_error *err) {
    for (size_t i = 1; i < count; i++) {
        bool first = mldfi_is_all(&b->graph->chains[chains[0]]), other = mldfi_is_all(&b->graph->chains[chains[i]]);
        if (first != other)
            return mldfi_chain_fail(b, chains[i], err, MLDF_E_TYPE,
                                    "%s is any number of parts of a sample, and %s is one: they cannot share a draw",
                                    b->graph->chains[chains[first ? 0 : i]].name,
                                    b->graph->chains[chains[first ? i : 0]].name);
    }
    return MLDF_OK;
}

mldf_status mldfi_lift_entries(struct builder *b, size_t chain, mldf_error *err) {
    struct chain *c = &b->graph->chains[chain];
    struct edge *edge = &b->drafts[chain].edge;
    bool fixed = true, inner = true;
    if (!mldfi_is_all(c) || c->lifted)
        return MLDF_OK;
    for (uint32_t i = 0; i < edge->ndim; i++) {
        fixed = fixed && edge->dims[i] != DIM_VARIES;
        inner = inner && (i == 0 || edge->dims[i] != DIM_VARIES);
    }
    bool list = edge->kind != VALUE_IMAGE && inner && !fixed && mldfi_time_axis(edge->axes, edge->ndim) == 0;
    if (!fixed && !list)
        return mldfi_chain_fail(b, chain, err, MLDF_E_TYPE, "the shapes of its parts differ; %s",
                                edge->kind == VALUE_IMAGE ? "add resize([h, w]), random_resized_crop or center_crop"
                                                          : "only lists can differ in their first dimension");
    c->lifted = true;
    c->stacked = fixed;
    if (edge->kind == VALUE_IMAGE)
        edge->kind = VALUE_ARRAY;
    edge->role = ROLE_NONE;
    mldfi_edge_unname(edge);
    if (!fixed) {
        edge->most[0] = MLDF_NONE; /* of one part */
        return MLDF_OK;
    }
    if (edge->ndim == MLDF_MAX_DIMS)
        return mldfi_chain_fail(b, chain, err, MLDF_E_TYPE, "its parts have %d dimensions already", MLDF_MAX_DIMS);
    for (uint32_t i = edge->ndim++; i > 0; i--) {
        edge->dims[i] = edge->dims[i - 1];
        edge->most[i] = edge->most[i - 1];
    }
    mldfi_edge_bound(edge, 0, NULL);
    return MLDF_OK;
}

mldf_status mldfi_finish_entries(struct builder *b, size_t chain, mldf_error *err) {
    struct chain *c = &b->graph->chains[chain];
    bool column = mldfi_is_tabled(c) && c->part->column && c->output.collate == COLLATE_FIXED;
    if (!mldfi_is_all(c) && !column)
        return MLDF_OK;
    for (size_t i = 0; i < c->op_count; i++)
        if (c->ops[i].out.clips > 1 || c->ops[i].type == &mldfi_op_clip ||
            (c->ops[i].in.timed && c->ops[i].type->flags & OP_TIME))
            return mldfi_check_single(b, chain, err);
    bool open = !c->lifted;
    mldf_status status = column ? MLDF_OK : mldfi_lift_entries(b, chain, err);
    if (status < 0 || !open)
        return status;
    c->output.collate = COLLATE_RAGGED;
    c->output.length_count = 1;
    c->output.length_dims[0] = 0;
    return MLDF_OK;
}
