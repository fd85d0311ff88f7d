/* What a batch says of the frames in it: which of them the video has (NAME_valid), when they are shown (BASE.pts), when each clip begins and ends. Every
 * frame of the result is followed back through the chain's steps along axis t to the frame of the stored video that it is. */
#include <math.h>

#include "field/frame_times.h"
#include "pipeline/clip.h"
#include "pipeline/source.h"
#include "util/buffer.h"
#include "util/error.h"

enum { STEPS_MAX = 16 };

/* The steps along t, and how long the value is in front of each. */
struct trail {
    const struct op *ops[STEPS_MAX];
    const void *draws[STEPS_MAX];
    uint64_t lengths[STEPS_MAX];
    size_t count, clip; /* clip: which of them it is */
    uint64_t length;    /* of the result */
};

static mldf_status follow(const struct chain *c, const struct side *side, uint64_t steps, struct trail *out,
                          mldf_error *err) {
    struct frame frame = {.t = steps};
    *out = (struct trail){.clip = STEPS_MAX};
    for (size_t i = 0; i < c->op_count; i++) {
        const struct op *op = &c->ops[i];
        struct frame next = frame;
        if (!(op->type->flags & OP_TIME))
            continue;
        if (out->count == STEPS_MAX)
            return mldfi_fail(err, MLDF_E_LIMIT, "more than %d steps along time", STEPS_MAX);
        if (op->type == &mldfi_op_clip && out->clip == STEPS_MAX)
            out->clip = out->count;
        out->ops[out->count] = op;
        out->draws[out->count] = side->draws[op->shared];
        out->lengths[out->count++] = frame.t;
        TRY(mldfi_step_time(op, side->draws[op->shared], &frame, &next, err));
        frame.t = next.t;
    }
    out->length = frame.t;
    return MLDF_OK;
}

/* The stored frame that frame k of the result is; MLDF_NONE: zeros. */
static bool trace(const struct trail *trail, const struct frame_times *times, uint64_t k, uint64_t *number) {
    bool valid = true;
    *number = k;
    for (size_t i = trail->count; i-- > 0 && *number != MLDF_NONE;) {
        const struct op *op = trail->ops[i];
        uint64_t at = *number;
        if (op->type->pick) {
            valid = op->type->pick(op, trail->draws[i], i ? NULL : times, trail->lengths[i], at, number) && valid;
            continue;
        }
        struct span span = op->type->pull(op, trail->draws[i], trail->lengths[i], (struct span){at, 1});
        *number = span.count ? span.from : MLDF_NONE;
    }
    return valid && *number != MLDF_NONE;
}

struct layout {
    double *pts, *start, *end;
    bool *valid;
};

static struct layout lay_out(uint8_t *at, uint64_t entries, uint32_t count) {
    struct layout out;
    out.pts = (double *)(void *)at;
    out.start = out.pts + entries;
    out.end = out.start + count;
    out.valid = (bool *)(out.end + count);
    return out;
}

static size_t entries_of(const struct plan_clips *clips) {
    return (size_t)clips->frames * clips->count;
}

/* Of a recording: how many samples of each clip it has. */
static mldf_status note_sound(const struct chain *c, struct side *side, struct chain_memory *memory, mldf_error *err) {
    const struct plan_clips *clips = &c->output.clips;
    const struct op *op = c->ops;
    mldf_status status = mldfi_buffer_resize(&memory->notes, clips->count * sizeof(int64_t), err);
    while (!mldfi_clip_is_sound(op))
        op++;
    for (uint32_t i = 0; i < clips->count && status == MLDF_OK; i++) {
        struct sound_cut cut = {0};
        if (!memory->null)
            mldfi_clip_cut(op, side->draws[op->shared], i, &cut);
        ((int64_t *)(void *)memory->notes.data)[i] = (int64_t)cut.have;
    }
    return status;
}

mldf_status mldfi_note_clips(const struct run *r, struct side *side, size_t chain, mldf_error *err) {
    const struct chain *c = &r->plan->graph.chains[chain];
    const struct plan_clips *clips = &c->output.clips;
    struct chain_memory *memory = &side->chains[chain];
    if (clips->sound)
        return note_sound(c, side, memory, err);
    const struct frame_times *times =
        mldfi_chain_source(c) && clips->times ? memory->source->frame.times : NULL; /* in front of all steps */
    size_t entries = entries_of(clips);
    struct trail trail = {.clip = STEPS_MAX};
    mldf_status status = mldfi_buffer_resize(&memory->notes, entries * 9 + 16 * (size_t)clips->count + 16, err);
    if (status == MLDF_OK && !memory->null)
        status = follow(c, side, memory->steps, &trail, err);
    if (status < 0)
        return status;
    struct layout out = lay_out(memory->notes.data, entries, clips->count);
    for (uint64_t k = 0; k < entries; k++) {
        uint64_t number = MLDF_NONE;
        out.valid[k] = !memory->null && k < trail.length && trace(&trail, times, k, &number);
        if (times && number >= times->count) { /* zeros at the end of a view's piece */
            out.valid[k] = false;
            number = MLDF_NONE;
        }
        out.pts[k] = times && number != MLDF_NONE ? mldfi_frame_seconds(times, mldfi_frame_pts(times, number), 1) : NAN;
    }
    for (uint32_t i = 0; i < clips->count; i++) {
        out.start[i] = out.end[i] = NAN;
        if (times && !memory->null && trail.clip == 0)
            mldfi_clip_span(trail.ops[0], trail.draws[0], times, trail.lengths[0], i, &out.start[i], &out.end[i]);
    }
    return MLDF_OK;
}

struct clip_notes mldfi_worker_clips(const struct plan_worker *worker, unsigned side, size_t output) {
    const struct graph *graph = &worker->plan->graph;
    const struct plan_clips *clips = &graph->chains[graph->outputs[output]].output.clips;
    struct chain_memory *memory = &worker->sides[side].chains[graph->outputs[output]];
    if (clips->sound)
        return (struct clip_notes){.samples = (const int64_t *)(const void *)memory->notes.data};
    struct layout l = lay_out(memory->notes.data, entries_of(clips), clips->count);
    return (struct clip_notes){l.valid, l.pts, l.start, l.end, NULL};
}
