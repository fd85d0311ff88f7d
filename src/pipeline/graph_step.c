/* Steps of a statement onto its chains: implicit decoding, one draw for all members, names of random streams, types. graph.c calls. */
#include <stdlib.h>
#include <string.h>

#include "pipeline/clip.h"
#include "pipeline/decode.h"
#include "pipeline/frames.h"
#include "pipeline/graph.h"
#include "pipeline/null.h"
#include "pipeline/op_collate.h"
#include "pipeline/op_registry.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/random.h"

/* "image, step 2, random_crop(300)" as the context, and the place. */
static mldf_status name_step(const struct builder *b, size_t chain, const struct step *step, mldf_status status,
                             mldf_error *err) {
    enum { SHOWN = 48 };
    const struct chain *c = &b->graph->chains[chain];
    size_t number = b->drafts[chain].step_count + 1, shown = step->bytes < SHOWN ? step->bytes : SHOWN;
    if (!err || status == MLDF_E_MEMORY)
        return status;
    if (step->bytes == 0)
        mldfi_error_prefix(err, "%s, %s", c->name, step->type->name);
    else
        mldfi_error_prefix(err, "%s, step %zu, %.*s%s", c->name, number, (int)shown, b->pipeline->text + step->offset,
                           shown < step->bytes ? "..." : "");
    err->offset = step->offset;
    mldfi_error_place(err, MLDF_NONE, c->name);
    return status;
}

/* ---- Draws --------------------------------------------------------------------------------------------------------------------------------------- */

static bool has_pixels(const struct builder *b, size_t chain) {
    value_kind kind = b->drafts[chain].edge.kind;
    return kind == VALUE_IMAGE || kind == VALUE_ENCODED;
}

/* Of those that have the operation's axes the chain made first: for what moves pixels the first image, if there is one; so for what lets sound follow
 * a video. */
static size_t find_leader(const struct builder *b, const struct target *t, const struct op_type *type) {
    size_t best = SIZE_MAX;
    bool pixels = false, sound = false;
    for (size_t i = 0; i < t->count && type->follow; i++)
        sound = sound || mldfi_clip_takes_sound(&b->drafts[t->chains[i]].edge);
    for (size_t i = 0; i < t->count && (sound || !(type->flags & OP_TIME)); i++)
        pixels = pixels || has_pixels(b, t->chains[i]);
    for (size_t i = 0; i < t->count; i++)
        if ((!pixels || has_pixels(b, t->chains[i])) && t->chains[i] < best)
            best = t->chains[i];
    return best;
}

/* How often the operation stands in the chain so far. */
static size_t occurrence(const struct builder *b, size_t chain, const struct op_type *type) {
    size_t n = 0;
    for (; chain != SIZE_MAX; chain = b->drafts[chain].previous)
        for (size_t i = 0; i < b->graph->chains[chain].op_count; i++)
            n += b->graph->chains[chain].ops[i].type == type;
    return n;
}

/* "image,seg/hflip/0/0": fields / operation / occurrence / view. */
static mldf_status name_stream(const struct builder *b, const struct target *t, size_t leader, const struct step *step,
                               uint32_t *out, mldf_error *err) {
    mldf_buffer text = MLDF_BUFFER_INIT;
    mldf_status status = mldfi_buffer_printf(&text, err, "%s/%s/%zu/%zu", t->fields, step->type->name,
                                             occurrence(b, leader, step->type), t->view);
    if (status == MLDF_OK)
        *out = mldfi_rng_stream((const char *)text.data, text.size);
    mldf_buffer_free(&text);
    return status;
}

/* What all members of the step have in common. */
struct draw_place {
    uint32_t stream, shared;
    size_t leader;
    struct ratio rate; /* of the leader's value, its length along axis t, and whether its frames have times */
    int64_t steps;
    bool timed;
};

static mldf_status check_group(const struct builder *b, const struct target *t, const struct step *step, size_t leader,
                               mldf_error *err) {
    unsigned flags = step->type->flags;
    if (t->count > 1 && !(flags & OP_GROUP)) {
        (void)mldfi_fail(err, MLDF_E_ARGUMENT, "it draws for one output alone; give each its own statement");
        return name_step(b, t->chains[0], step, MLDF_E_ARGUMENT, err);
    }
    if (!(flags & OP_GROUP) || (flags & (OP_PAIR | OP_TIME)) || has_pixels(b, leader))
        return MLDF_OK;
    for (size_t i = 0; i < t->count; i++) {
        value_role role = b->drafts[t->chains[i]].edge.role;
        if (role != ROLE_BOXES && role != ROLE_POINTS)
            continue;
        (void)mldfi_fail(err, MLDF_E_ARGUMENT, "%s move with an image: name it in the same statement",
                         role == ROLE_BOXES ? "boxes" : "points");
        return name_step(b, t->chains[i], step, MLDF_E_ARGUMENT, err);
    }
    return MLDF_OK;
}

static mldf_status share_draw(struct builder *b, const struct target *t, const struct step *step,
                              struct draw_place *out, mldf_error *err) {
    *out = (struct draw_place){.leader = find_leader(b, t, step->type)};
    const struct edge *lead = &b->drafts[out->leader].edge;
    uint32_t time = mldfi_time_axis(lead->axes, lead->ndim);
    out->rate = lead->rate;
    out->timed = lead->timed;
    out->steps = time < lead->ndim ? lead->dims[time] : DIM_VARIES;
    if (!(step->type->flags & OP_DRAWS))
        return MLDF_OK;
    mldf_status status = check_group(b, t, step, out->leader, err);
    if (status == MLDF_OK)
        status = mldfi_check_alike(b, t->chains, t->count, err);
    if (status == MLDF_OK)
        status = name_stream(b, t, out->leader, step, &out->stream, err);
    out->shared = b->graph->shared_count;
    for (size_t i = 0; i < t->count && status == MLDF_OK; i++) {
        if (t->chains[i] == out->leader)
            continue;
        status = mldfi_array_reserve(&b->leads, &b->lead_capacity, b->lead_count + 1, sizeof b->leads[0], err);
        if (status == MLDF_OK)
            b->leads[b->lead_count++] = (struct lead){out->leader, t->chains[i]};
    }
    b->graph->shared_count += status == MLDF_OK;
    return status;
}

/* ---- One op --------------------------------------------------------------------------------------------------------------------------------------- */

static mldf_status infer_list(struct builder *b, size_t chain, struct op *op, mldf_error *err) {
    const struct chain *c = &b->graph->chains[chain];
    if (!op->type->infer_many)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "it takes one input; the first step of a list takes several");
    struct edge *edges = mldfi_alloc_zero(c->input_count, sizeof *edges, err);
    if (!edges)
        return MLDF_E_MEMORY;
    mldf_status status = MLDF_OK;
    for (size_t i = 0; i < c->input_count; i++) {
        edges[i] = b->drafts[c->inputs[i]].edge;
        if (edges[i].clips > 1 || mldfi_is_sound_clips(&edges[i]))
            status = mldfi_fail(err, MLDF_E_TYPE, "%s has several clips; a list takes clip(count=1)",
                                b->graph->chains[c->inputs[i]].name);
    }
    op->in = op->out = edges[0];
    if (status == MLDF_OK)
        status = op->type->infer_many(op, edges, c->input_count, &op->out, err);
    free(edges);
    return status;
}

static mldf_status infer_one(struct builder *b, size_t chain, struct op *op, mldf_error *err) {
    if (b->drafts[chain].listed)
        return infer_list(b, chain, op, err);
    if ((op->type->flags & OP_INPUTS) && !op->type->infer)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "it takes several inputs: %s = [a, b]: %s",
                          b->graph->chains[chain].name, op->type->name);
    const struct edge *in = &b->drafts[chain].edge;
    struct edge frame;
    bool mapped = !(op->type->flags & OP_COLLATE) && op->type != &mldfi_op_null;
    op->frames = mapped && (mldfi_is_sound_clips(in) || (mldfi_is_clip(in) && !(op->type->flags & OP_TIME)));
    if (mldfi_is_sound_clips(in) && (op->type->flags & OP_SHRINKS || op->type == &mldfi_op_clip))
        return mldfi_edge_refuse(op, in, "one clip, not several", err);
    if (op->frames)
        mldfi_frame_edge(in, &frame);
    return mldfi_op_infer(op, op->frames ? &frame : in, 1, err);
}

/* What fill needs in front of it: steps that nobody else depends on. */
static mldf_status check_fill(const struct builder *b, size_t at, const struct step *step, mldf_error *err) {
    const struct chain *chain = &b->graph->chains[at];
    const char *what = NULL;
    if (chain->field == SIZE_MAX)
        what = "nulls come from fields: put it into the first statement of one, before others are made of it";
    else if (chain->fill)
        what = "the nulls are filled already";
    for (size_t i = 0; i < chain->op_count && !what; i++)
        if (chain->ops[i].type->flags & OP_PAIR)
            what = "samples are mixed already: put it before that";
    for (size_t i = 0; i < b->lead_count && !what; i++)
        if (b->leads[i].leader == at)
            what = "others share the draws of the steps before it, which a null does not make: put it first";
    if (!what)
        return MLDF_OK;
    (void)mldfi_fail(err, MLDF_E_ARGUMENT, "%s", what);
    return name_step(b, at, step, MLDF_E_ARGUMENT, err);
}

/* fill is kept beside the other steps. */
static mldf_status note_fill(struct chain *chain, struct op *op, mldf_error *err) {
    chain->fill = mldfi_alloc(sizeof *chain->fill, err);
    if (!chain->fill) {
        mldfi_op_free(op);
        return MLDF_E_MEMORY;
    }
    *chain->fill = *op;
    chain->fill_at = chain->op_count;
    chain->output.valid = mldfi_null_wants_valid(op);
    return MLDF_OK;
}

/* pad and ragged: how the batch is made. */
static void note_collate(struct chain *chain, const struct op *op) {
    const struct collate_state *state = op->state;
    chain->output.collate = state->kind;
    chain->output.length_count = state->length_count;
    memcpy(chain->output.length_dims, state->length_dims, sizeof state->length_dims);
    chain->output.length = state->length;
    chain->output.multiple = state->multiple;
    chain->output.fill = state->fill;
    chain->output.mask = state->mask;
    chain->output.text = state->text;
}

static mldf_status append_op(struct builder *b, size_t at, const struct step *step, const struct draw_place *place,
                             mldf_error *err) {
    struct chain *chain = &b->graph->chains[at];
    struct draft *draft = &b->drafts[at];
    TRY(step->type == &mldfi_op_null ? check_fill(b, at, step, err) : MLDF_OK);
    TRY(mldfi_array_reserve(&chain->ops, &draft->op_capacity, chain->op_count + 1, sizeof chain->ops[0], err));
    struct op *op = &chain->ops[chain->op_count];
    TRY(mldfi_bind_parameters(b->pipeline, step, op, err));
    mldf_status status = mldfi_decode_options_apply(b->options ? b->options->decode : NULL, op, err);
    if (status < 0) {
        mldfi_free_parameters(op);
        return status;
    }
    op->stream = place->stream;
    op->shared = place->shared;
    op->leads = place->leader == at;
    op->lead_rate = place->rate;
    op->lead_steps = place->steps;
    op->lead_timed = place->timed;
    op->follows = place->shared;
    status = step->type->flags & OP_COLLATE ? mldfi_lift_entries(b, at, err) : MLDF_OK;
    if (status == MLDF_OK && (step->type->flags & OP_PAIR))
        status = mldfi_check_single(b, at, err);
    if (status == MLDF_OK)
        status = infer_one(b, at, op, err);
    if (status < 0) {
        mldfi_op_free(op);
        return name_step(b, at, step, status, err);
    }
    if (draft->listed)
        chain->source = op->out;
    draft->listed = false;
    if (op->own_draw)
        op->shared = b->graph->shared_count++;
    if (op->frames)
        mldfi_clip_edge(&op->out, &draft->edge, &draft->edge);
    else
        draft->edge = op->out;
    if ((op->type->flags & (OP_TIME | OP_SHRINKS)) && op->type != &mldfi_op_resample)
        draft->edge.anchored = false;
    if (step->type->flags & OP_COLLATE)
        note_collate(chain, op);
    if (step->type == &mldfi_op_null)
        status = note_fill(chain, op, err);
    else
        chain->op_count++;
    draft->step_count += step->bytes > 0;
    return status;
}

static mldf_status append_all(struct builder *b, const struct target *t, const struct step *step, mldf_error *err) {
    struct draw_place place;
    mldf_status status = share_draw(b, t, step, &place, err);
    /* The leader's type may be what the others' inference asks for: first. */
    if (status == MLDF_OK)
        status = append_op(b, place.leader, step, &place, err);
    for (size_t i = 0; i < t->count && status == MLDF_OK; i++)
        if (t->chains[i] != place.leader)
            status = append_op(b, t->chains[i], step, &place, err);
    return status;
}

/* ---- Steps ------------------------------------------------------------------------------------------------------------------------------------------- */

/* The step that nobody wrote. */
static mldf_status append_decode(struct builder *b, const struct target *one, uint32_t offset, mldf_error *err) {
    struct step step = {.type = mldfi_op_decoder(b->drafts[one->chains[0]].edge.family), .offset = offset};
    return append_all(b, one, &step, err);
}

mldf_status mldfi_chain_decode(struct builder *b, size_t chain, uint32_t offset, mldf_error *err) {
    struct target one = {&chain, 1, b->drafts[chain].origin, 0};
    if (b->drafts[chain].listed || b->drafts[chain].edge.kind != VALUE_ENCODED)
        return MLDF_OK;
    return append_decode(b, &one, offset, err);
}

/* Decoding of all members that are still stored. */
static mldf_status decode_members(struct builder *b, const struct target *t, uint32_t offset, mldf_error *err) {
    size_t count = 0;
    size_t *stored = mldfi_alloc_zero(t->count, sizeof *stored, err);
    if (!stored)
        return MLDF_E_MEMORY;
    for (size_t i = 0; i < t->count; i++)
        if (!b->drafts[t->chains[i]].listed && b->drafts[t->chains[i]].edge.kind == VALUE_ENCODED)
            stored[count++] = t->chains[i];
    mldf_status status = MLDF_OK;
    for (size_t i = 0; i < count && status == MLDF_OK; i++) {
        struct target one = {&stored[i], 1, t->fields, t->view};
        status = append_decode(b, &one, offset, err);
    }
    free(stored);
    return status;
}

static mldf_status check_open(const struct builder *b, const struct target *t, const struct step *step,
                              mldf_error *err) {
    for (size_t i = 0; i < t->count; i++) {
        const char *what = NULL;
        if (b->graph->chains[t->chains[i]].output.collate != COLLATE_FIXED)
            what = "nothing follows pad and ragged, which make the batch";
        if (b->drafts[t->chains[i]].dropped)
            what = "nothing follows drop";
        if (what) {
            (void)mldfi_fail(err, MLDF_E_ARGUMENT, "%s", what);
            return name_step(b, t->chains[i], step, MLDF_E_ARGUMENT, err);
        }
    }
    return MLDF_OK;
}

mldf_status mldfi_step_append(struct builder *b, const struct target *t, const struct step *step, mldf_error *err) {
    mldf_status status = check_open(b, t, step, err);
    if (status < 0)
        return status;
    if (step->type == &mldfi_op_drop) {
        for (size_t i = 0; i < t->count; i++)
            b->drafts[t->chains[i]].dropped = b->graph->chains[t->chains[i]].hidden = true;
        return MLDF_OK;
    }
    if (!step->type->decodes)
        status = decode_members(b, t, step->offset, err);
    return status == MLDF_OK ? append_all(b, t, step, err) : status;
}
