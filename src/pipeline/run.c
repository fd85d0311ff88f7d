/* A sample through the stages of its chains, into the batch. Each chain has two buffers that take turns; its last stage writes straight to
 * its place in the batch. With pairs, a sample and its partner go side by side: each up to the pair operation, then both through it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/file.h"
#include "pipeline/clip.h"
#include "pipeline/frames.h"
#include "pipeline/source.h"
#include "pipeline/spectrum.h"
#include "util/buffer.h"
#include "util/error.h"

double mldfi_worker_clock(const struct plan_worker *worker) {
    return worker->timing ? mldfi_time() : 0.0;
}

/* ---- Workers -------------------------------------------------------------------------------------------------------------- */

static mldf_status side_begin(const struct plan *plan, struct side *side, mldf_error *err) {
    side->draws = mldfi_alloc_zero(plan->graph.shared_count + 1, OP_DRAW_BYTES, err);
    side->drawn = mldfi_alloc_zero(plan->graph.shared_count + 1, sizeof *side->drawn, err);
    side->chains = mldfi_alloc_zero(plan->graph.chain_count + 1, sizeof *side->chains, err);
    if (!side->draws || !side->drawn || !side->chains)
        return MLDF_E_MEMORY;
    TRY(mldfi_held_new(plan, side, err));
    for (size_t i = 0; i < plan->graph.chain_count; i++)
        if (mldfi_chain_source(&plan->graph.chains[i]) &&
            !(side->chains[i].source = mldfi_alloc_zero(1, sizeof(struct source_run), err)))
            return MLDF_E_MEMORY;
    return MLDF_OK;
}

mldf_status mldfi_worker_new(const struct plan *plan, struct plan_worker **out, mldf_error *err) {
    struct plan_worker *w = mldfi_alloc_zero(1, sizeof *w, err);
    *out = NULL;
    if (!w)
        return MLDF_E_MEMORY;
    w->plan = plan;
    w->work.kernels = plan->kernels;
    w->times = mldfi_alloc_zero(plan->step_count + 1, sizeof *w->times, err);
    mldf_status status = w->times ? mldfi_resize_work_new(&w->work.resize, err) : MLDF_E_MEMORY;
    if (status == MLDF_OK)
        status = side_begin(plan, &w->sides[0], err);
    if (status == MLDF_OK && plan->pairs)
        status = side_begin(plan, &w->sides[1], err);
    if (status < 0) {
        mldfi_worker_free(w);
        return status;
    }
    *out = w;
    return MLDF_OK;
}

static void side_end(const struct plan *plan, struct side *side) {
    for (size_t i = 0; side->chains && i < plan->graph.chain_count; i++) {
        mldf_buffer_free(&side->chains[i].value);
        mldf_buffer_free(&side->chains[i].buffers[0]);
        mldf_buffer_free(&side->chains[i].buffers[1]);
        mldf_buffer_free(&side->chains[i].table);
        mldf_buffer_free(&side->chains[i].notes);
        mldf_buffer_free(&side->chains[i].pts);
        mldf_buffer_free(&side->chains[i].numbers);
        mldf_buffer_free(&side->chains[i].picked);
        mldfi_part_free(side, &side->chains[i]);
        free(side->chains[i].source);
    }
    free(side->entry_draws);
    free(side->entry_drawn);
    mldfi_held_free(plan, side);
    free(side->draws);
    free(side->drawn);
    free(side->chains);
}

void mldfi_worker_free(struct plan_worker *worker) {
    if (!worker)
        return;
    side_end(worker->plan, &worker->sides[0]);
    side_end(worker->plan, &worker->sides[1]);
    for (int i = 0; i < 3; i++)
        mldf_buffer_free(&worker->work.scratch[i]);
    mldfi_resize_work_free(worker->work.resize);
    mldfi_kit_free(&worker->kit);
    mldf_buffer_free(&worker->pixels);
    free(worker->ranges.items);
    free(worker->times);
    free(worker);
}

void mldfi_worker_timing(struct plan_worker *worker, bool on) {
    worker->timing = on;
}

const double *mldfi_worker_times(const struct plan_worker *worker) {
    return worker->times;
}

bool mldfi_worker_filled(const struct plan_worker *worker, unsigned side, size_t output) {
    return worker->sides[side].chains[worker->plan->graph.outputs[output]].filled;
}

uint64_t mldfi_worker_bytes(const struct plan_worker *worker) {
    return worker->bytes;
}

/* ---- Draws and room ---------------------------------------------------------------------------------------------------------- */

mldf_status mldfi_draw(const struct run *r, struct side *side, const struct op *op, struct frame *frame,
                       const void **draw, mldf_error *err) {
    *draw = NULL;
    if (!(op->type->flags & OP_DRAWS))
        return MLDF_OK;
    void *room = side->draws[op->shared];
    bool *drawn = &side->drawn[op->shared];
    if (side->entry) {
        mldf_status made = mldfi_entry_draw(r->plan, side, op->shared, &room, &drawn, err);
        if (made < 0)
            return made;
    }
    *draw = room;
    if (op->own_draw)
        return side->drawn[op->follows]
                   ? op->type->follow(op, side->draws[op->follows], frame, room, err)
                   : mldfi_fail(err, MLDF_E_STATE, "what it shares a draw with has drawn nothing: its value is null");
    if (*drawn && !op->leads)
        return MLDF_OK;
    if (side->many && !op->leads)
        return mldfi_fail(err, MLDF_E_RANGE,
                          "part %llu has no counterpart: the sample has fewer of the parts that it moves with",
                          (unsigned long long)side->entry);
    struct rng rng;
    frame->sample = side->sample;
    struct frame next = *frame;
    /* Each of several parts draws for itself: an odd number times the entry gives each its own stream. */
    mldfi_rng_begin(&rng, r->plan->options.seed, r->epoch, side->position,
                    op->stream + (uint32_t)side->entry * 0x9E3779B1u);
    mldf_status status = op->type->draw(op, &rng, frame, room, &next, err);
    *frame = next;
    *drawn = true;
    return status;
}

mldf_status mldfi_stage_room(struct chain_memory *memory, struct tensor *out, void *dst, size_t dst_bytes, int *in,
                             mldf_error *err) {
    size_t bytes = mldfi_tensor_bytes(out);
    if (dst && bytes <= dst_bytes) {
        out->data = dst;
        *in = -1;
        return MLDF_OK;
    }
    *in = memory->in == 0 ? 1 : 0;
    mldf_status status = mldfi_buffer_resize(&memory->buffers[*in], bytes ? bytes : 1, err);
    out->data = memory->buffers[*in].data;
    return status;
}

/* How long the last wave on the way was: what is made from it (frames, a spectrum) does not say. */
static void note_wave(const struct chain *c, const struct op *op, struct chain_memory *memory) {
    if (c->output.waves && mldfi_edge_is_recording(&op->out))
        memory->samples = memory->tensor.dims[memory->tensor.ndim - 1];
}

/* ---- Stages -------------------------------------------------------------------------------------------------------------------- */

struct tensor mldfi_tensor_like(const struct op *op, const struct tensor *in) {
    struct tensor out = mldfi_tensor_of(&op->out);
    if (in && out.ndim == in->ndim) {
        memcpy(out.dims, in->dims, sizeof out.dims);
        if (memcmp(out.axes, in->axes, sizeof out.axes) == 0)
            return out;
    } else
        for (uint32_t i = 0; i < out.ndim; i++)
            out.dims[i] = op->out.dims[i] == DIM_VARIES ? 0 : (uint64_t)op->out.dims[i];
    if (in && op->in.kind == VALUE_IMAGE && op->out.kind == VALUE_IMAGE)
        mldfi_tensor_set_image(&out, mldfi_tensor_height(in), mldfi_tensor_width(in), mldfi_tensor_channels(in));
    return out;
}

mldf_status mldfi_in_step(const struct op *op, mldf_status status, mldf_error *err) {
    if (status < 0 && err && !err->context[0]) /* a step inside this one has named itself */
        mldfi_error_prefix(err, "%s", op->type->name);
    return status;
}

/* A clip's sound may be longer than the recording: its zeros count as decoded sound. */
static mldf_status check_sound(const struct run *r, const struct op *op, const struct tensor *value,
                               const struct tensor *out, mldf_error *err) {
    uint64_t rows = 1;
    size_t bytes;
    if (!mldfi_clip_is_sound(op))
        return MLDF_OK;
    for (uint32_t i = 0; i + 1 < out->ndim; i++)
        rows *= out->dims[i];
    return mldfi_sound_room(r->plan->options.max_bytes, mldfi_tensor_bytes(value), out->dims[out->ndim - 1], rows,
                            sizeof(float), &bytes, err);
}

mldf_status mldfi_shape_step(const struct run *r, const struct op *op, const void *draw, const struct tensor *value,
                             struct tensor *out, mldf_error *err) {
    struct tensor frame = *value;
    if (op->frames)
        mldfi_frame_at(value, 0, &frame);
    *out = mldfi_tensor_like(op, &frame);
    mldf_status status = mldfi_op_shape(op, draw, &frame, out, err);
    if (op->frames)
        mldfi_clip_of(out, value->dims[0], value, out);
    return status == MLDF_OK ? check_sound(r, op, value, out, err) : status;
}

/* The step on every frame, or on the one value that is no clip. */
static mldf_status run_frames(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                              struct op_work *work, mldf_error *err) {
    mldf_status status = MLDF_OK;
    if (!op->frames)
        return op->type->run(op, draw, in, out, work, err);
    for (uint64_t k = 0; k < in->dims[0] && status == MLDF_OK; k++) {
        struct tensor from, to;
        mldfi_frame_at(in, k, &from);
        mldfi_frame_at(out, k, &to);
        status = op->type->run(op, draw, &from, &to, work, err);
    }
    return status;
}

/* Frames that stay as large keep their places. */
static bool stays_in_place(const struct op *op, const struct tensor *in, const struct tensor *out) {
    size_t before = mldfi_tensor_bytes(in), after = mldfi_tensor_bytes(out);
    return (op->type->flags & OP_IN_PLACE) && (op->frames ? after == before : after <= before);
}

mldf_status mldfi_run_op(const struct run *r, struct side *side, size_t chain, const struct op *op, void *dst,
                         size_t dst_bytes, mldf_error *err) {
    struct chain_memory *memory = &side->chains[chain];
    const void *draw;
    struct tensor out;
    int in;
    memory->frame.start = memory->start;
    mldf_status status = mldfi_draw(r, side, op, &memory->frame, &draw, err);
    if (status == MLDF_OK)
        status = mldfi_shape_step(r, op, draw, &memory->tensor, &out, err);
    if (status < 0)
        return mldfi_in_step(op, status, err);
    if (memory->in >= 0 && !dst && stays_in_place(op, &memory->tensor, &out)) {
        out.data = memory->tensor.data;
        in = memory->in;
    } else {
        status = mldfi_stage_room(memory, &out, dst, dst_bytes, &in, err);
    }
    r->worker->work.times = memory->frame.times;
    r->worker->work.epoch = r->epoch;
    r->worker->work.position = side->position;
    r->worker->work.sample = side->sample;
    if (status == MLDF_OK)
        status = run_frames(op, draw, &memory->tensor, &out, &r->worker->work, err);
    memory->frame = mldfi_frame_of(&out);
    memory->tensor = out;
    memory->in = in;
    note_wave(&r->plan->graph.chains[chain], op, memory);
    return mldfi_in_step(op, status, err);
}

mldf_status mldfi_run_finish_stage(const struct run *r, struct side *side, size_t chain, const struct finish_plan *plan,
                                   void *dst, size_t dst_bytes, mldf_error *err) {
    struct chain_memory *memory = &side->chains[chain];
    const struct chain *c = &r->plan->graph.chains[chain];
    const struct op *last = &c->ops[plan->first + plan->count - 1];
    const struct tensor *t = &memory->tensor;
    struct raster image = {t->data,
                           (uint32_t)mldfi_tensor_width(t),
                           (uint32_t)mldfi_tensor_height(t),
                           (uint32_t)mldfi_tensor_channels(t),
                           t->dtype == MLDF_U8 ? 8 : 16,
                           0};
    struct tensor out = mldfi_tensor_of(&last->out);
    uint64_t frames = last->frames ? t->dims[0] : 1;
    int in;
    image.stride = (size_t)image.width * image.channels * (image.bits / 8);
    mldfi_tensor_set_image(&out, image.height, image.width, image.channels);
    size_t step = mldfi_tensor_bytes(&out);
    if (last->frames)
        mldfi_clip_of(&out, frames, t, &out);
    mldf_status status = mldfi_stage_room(memory, &out, dst, dst_bytes, &in, err);
    for (uint64_t k = 0; k < frames && status == MLDF_OK; k++) {
        image.data = (uint8_t *)t->data + k * image.stride * image.height;
        status = mldfi_run_finish(r, side, c, plan, &image, false, false, (uint8_t *)out.data + k * step, err);
    }
    memory->tensor = out;
    memory->in = in;
    return status;
}

static mldf_status run_join(const struct run *r, struct side *side, size_t chain, const struct op *op, void *dst,
                            size_t dst_bytes, mldf_error *err) {
    const struct chain *c = &r->plan->graph.chains[chain];
    struct chain_memory *memory = &side->chains[chain];
    struct tensor inputs[JOIN_MAX], out = mldfi_tensor_like(op, NULL);
    int in;
    for (size_t i = 0; i < c->input_count; i++)
        inputs[i] = side->chains[c->inputs[i]].tensor;
    memory->in = -1;
    const void *draw;
    memory->frame = mldfi_frame_of(&inputs[0]);
    mldf_status status = mldfi_draw(r, side, op, &memory->frame, &draw, err);
    if (status == MLDF_OK)
        status = mldfi_op_shape(op, draw, inputs, &out, err);
    if (status == MLDF_OK)
        status = mldfi_stage_room(memory, &out, dst, dst_bytes, &in, err);
    if (status == MLDF_OK)
        status = op->type->run_many(op, draw, inputs, c->input_count, &out, &r->worker->work, err);
    memory->frame = mldfi_frame_of(&out);
    memory->tensor = out;
    memory->in = status == MLDF_OK ? in : -1;
    note_wave(c, op, memory);
    return mldfi_in_step(op, status, err);
}

static mldf_status run_stage(const struct run *r, struct side *side, size_t chain, const struct stage *stage, void *dst,
                             size_t dst_bytes, mldf_error *err) {
    const struct chain *c = &r->plan->graph.chains[chain];
    const struct op *op = c->ops + stage->first;
    mldf_status status;
    if (stage->kind == STAGE_SOURCE) {
        status = mldfi_run_source(r, side, chain, stage, dst, dst_bytes, err);
        if (status == MLDF_OK && !side->chains[chain].null)
            note_wave(c, op + stage->count - 1, &side->chains[chain]);
        return status;
    }
    double start = mldfi_worker_clock(r->worker);
    if (stage->kind == STAGE_FINISH)
        status = mldfi_run_finish_stage(r, side, chain, &stage->finish, dst, dst_bytes, err);
    else if (stage->kind == STAGE_CODE)
        status = mldfi_run_code(r, side, chain, stage, dst, dst_bytes, err);
    else if (stage->kind == STAGE_JOIN)
        status = run_join(r, side, chain, op, dst, dst_bytes, err);
    else
        status = mldfi_run_op(r, side, chain, op, dst, dst_bytes, err);
    r->worker->times[stage->step] += mldfi_worker_clock(r->worker) - start;
    return status;
}

/* ---- Chains ---------------------------------------------------------------------------------------------------------------------------- */

void mldfi_name_chain(const struct chain *c, mldf_error *err) {
    mldfi_error_place(err, MLDF_NONE, c->field_name ? c->field_name : c->name);
}

/* A stage of a chain whose value is a constant: its steps behind fill, one by one; fused or not, they give the same bits. */
static mldf_status run_filled(const struct run *r, struct side *side, size_t chain, const struct stage *stage,
                              void *dst, size_t dst_bytes, mldf_error *err) {
    const struct chain *c = &r->plan->graph.chains[chain];
    bool joined = stage->kind == STAGE_SOURCE && stage->finish.use;
    size_t end = stage->first + stage->count + (joined ? stage->finish.count : 0);
    mldf_status status = MLDF_OK;
    for (size_t i = stage->first > c->fill_at ? stage->first : c->fill_at; status == MLDF_OK && i < end; i++)
        status = mldfi_run_op(r, side, chain, &c->ops[i], i + 1 == end ? dst : NULL, dst_bytes, err);
    return status;
}

mldf_status mldfi_run_stages(const struct run *r, struct side *side, size_t chain, size_t first, size_t end, void *into,
                             size_t into_bytes, mldf_error *err) {
    const struct chain *c = &r->plan->graph.chains[chain];
    void *whole = c->stage_count == 0 ? into : NULL; /* the value as it is stored goes into the batch */
    mldf_status status = MLDF_OK;
    if (first == 0 && c->output.waves)
        side->chains[chain].samples = c->input_count == 1 ? side->chains[c->inputs[0]].samples : 0;
    if (first == 0)
        status = mldfi_begin_chain(r, side, chain, whole, whole ? into_bytes : 0, err);
    if (first == 0 && status == MLDF_OK && c->output.clips.count && !mldfi_chain_source(c))
        side->chains[chain].steps = mldfi_frame_of(&side->chains[chain].tensor).t;
    for (size_t i = first; status == MLDF_OK && i < end; i++) {
        void *dst = i + 1 == c->stage_count ? into : NULL;
        size_t dst_bytes = dst ? into_bytes : 0;
        if (!side->chains[chain].null)
            status = run_stage(r, side, chain, &c->stages[i], dst, dst_bytes, err);
        if (status == MLDF_OK && side->chains[chain].null) /* the source stage finds it out */
            status = run_filled(r, side, chain, &c->stages[i], dst, dst_bytes, err);
    }
    return status;
}

mldf_status mldfi_run_chain(const struct run *r, struct side *side, size_t chain, size_t first, size_t end,
                            const struct plan_target *target, mldf_error *err) {
    const struct chain *c = &r->plan->graph.chains[chain];
    mldf_status status;
    if (mldfi_is_all(c))
        status = mldfi_run_entries(r, side, chain, target, err);
    else
        status = mldfi_run_stages(r, side, chain, first, end, target ? target->data : NULL,
                                  target ? mldfi_room_bytes(&c->output, target) : 0, err);
    if (status == MLDF_OK && end == c->stage_count && target && c->output.clips.count)
        status = mldfi_note_clips(r, side, chain, err);
    if (status == MLDF_OK && end == c->stage_count && target) {
        struct tensor out = side->chains[chain].tensor;
        if (c->output.edge.clips > 1) /* axis t becomes two */
            mldfi_split_clips(&out, c->output.edge.clips);
        status = mldfi_deliver(&c->output, &out, target, err);
    }
    if (status < 0)
        mldfi_name_chain(c, err);
    return status;
}

void mldfi_begin_side(const struct plan *plan, const struct plan_feed *feed, struct side *side, uint64_t position) {
    side->position = position;
    if (plan->steps)
        side->sample = feed->index ? feed->index(feed->user, position) : position;
    if (plan->graph.shared_count)
        memset(side->drawn, 0, plan->graph.shared_count * sizeof *side->drawn);
    if (plan->share_count)
        mldfi_held_begin(plan, side);
    if (plan->tabled)
        mldfi_part_begin(plan, side);
}

static const struct plan_target *target_of(const struct plan *plan, const struct plan_target *targets, size_t chain) {
    size_t target = plan->graph.chains[chain].target;
    return targets && target != SIZE_MAX ? &targets[target] : NULL;
}

mldf_status mldfi_plan_run(const struct plan *plan, struct plan_worker *worker, const struct plan_feed *feed,
                           uint64_t epoch, uint64_t position, const struct plan_target *targets, mldf_error *err) {
    struct run r = {plan, worker, feed, epoch, false};
    mldf_status status = MLDF_OK;
    if (plan->pairs)
        return mldfi_fail(err, MLDF_E_STATE, "a plan with pairs runs pairs");
    mldfi_begin_side(plan, feed, &worker->sides[0], position);
    for (size_t i = 0; status == MLDF_OK && i < plan->graph.chain_count; i++) {
        const struct chain *c = &plan->graph.chains[i];
        const struct plan_target *target = target_of(plan, targets, i);
        bool direct =
            c->direct && target && !feed->into && !worker->timing; /* the long way tells reading from the rest */
        if (direct)
            status = mldfi_run_direct(&r, &worker->sides[0], i, target, err);
        if (!direct || status == MLDF_AGAIN)
            status = mldfi_run_chain(&r, &worker->sides[0], i, 0, c->stage_count, target, err);
    }
    return status;
}

/* ---- Pairs -------------------------------------------------------------------------------------------------------------------------------- */

/* Of clips, frame by frame: both must have as many. */
static mldf_status mix_frames(const struct op *op, const void *draw_a, const void *draw_b, struct tensor *a,
                              struct tensor *b, struct op_work *work, mldf_error *err) {
    mldf_status status = MLDF_OK;
    if (!op->frames)
        return op->type->run_pair(op, draw_a, draw_b, a, b, work, err);
    if (a->dims[0] != b->dims[0])
        return mldfi_fail(err, MLDF_E_RANGE, "clips of %" PRIu64 " and %" PRIu64 " frames cannot be mixed", a->dims[0],
                          b->dims[0]);
    for (uint64_t k = 0; k < a->dims[0] && status == MLDF_OK; k++) {
        struct tensor x, y;
        mldfi_frame_at(a, k, &x);
        mldfi_frame_at(b, k, &y);
        status = op->type->run_pair(op, draw_a, draw_b, &x, &y, work, err);
    }
    return status;
}

/* First each side by itself (`run`: into memory of our own, in the type that the operation gives), then both together. */
static mldf_status run_pair(const struct run *r, size_t chain, const struct stage *stage, mldf_error *err) {
    const struct op *op = &r->plan->graph.chains[chain].ops[stage->first];
    struct plan_worker *w = r->worker;
    struct side *a = &w->sides[0], *b = &w->sides[1];
    double start = mldfi_worker_clock(w);
    mldf_status status = mldfi_run_op(r, a, chain, op, NULL, 0, err);
    if (status == MLDF_OK)
        status = mldfi_run_op(r, b, chain, op, NULL, 0, err);
    if (status == MLDF_OK)
        status = mix_frames(op, a->draws[op->shared], b->draws[op->shared], &a->chains[chain].tensor,
                            &b->chains[chain].tensor, &w->work, err);
    w->times[stage->step] += mldfi_worker_clock(w) - start;
    return mldfi_in_step(op, status, err);
}

/* wanted: the targets of each side's sample, NULL when that sample is only here as the partner of the other. Up to its last pair operation a chain
 * runs on both sides; what follows, only where its result is of use. */
static mldf_status run_both(const struct run *r, size_t chain, const struct plan_target *const wanted[2],
                            mldf_error *err) {
    const struct chain *c = &r->plan->graph.chains[chain];
    struct plan_worker *w = r->worker;
    mldf_status status = MLDF_OK;
    bool shared = c->hidden || c->feeds;
    size_t from = 0;
    for (size_t i = 0; status == MLDF_OK && i <= c->stage_count; i++) {
        bool tail = i == c->stage_count, pair = !tail && c->stages[i].kind == STAGE_PAIR;
        if (!tail && !pair)
            continue;
        for (int k = 0; status == MLDF_OK && k < 2; k++)
            if (pair || wanted[k] || shared)
                status = mldfi_run_chain(r, &w->sides[k], chain, from, i,
                                         tail ? target_of(r->plan, wanted[k], chain) : NULL, err);
        if (status == MLDF_OK && pair)
            status = run_pair(r, chain, &c->stages[i], err);
        from = i + 1;
    }
    if (status < 0)
        mldfi_name_chain(c, err);
    return status;
}

mldf_status mldfi_plan_run_pair(const struct plan *plan, struct plan_worker *worker, const struct plan_feed *feed,
                                uint64_t epoch, uint64_t even, bool alone, const struct plan_target *targets_even,
                                const struct plan_target *targets_odd, mldf_error *err) {
    struct run r = {plan, worker, feed, epoch, false};
    mldf_status status = MLDF_OK;
    mldfi_begin_side(plan, feed, &worker->sides[0], even);
    mldfi_begin_side(plan, feed, &worker->sides[1], alone ? even : even + 1);
    for (size_t i = 0; status == MLDF_OK && i < plan->graph.chain_count; i++)
        status = run_both(&r, i, (const struct plan_target *const[2]){targets_even, targets_odd}, err);
    return status;
}
