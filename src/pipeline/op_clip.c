/* clip: which frames of a video make a sample, by number or by time; and what turns them round, leaves some out, moves them. After decode_video the
 * choice goes into the source: only these frames are read and decoded (source_video.c).
 *
 *   stride   frames s, s + stride ...            span = (frames - 1) * stride + 1 must fit: s = 0 ... n - span
 *   fps      the frames that are shown at T, T + 1/fps ...; T is the pts of a frame from which all are inside the video
 *
 * `start` chooses s, or the frame whose pts T is, among the `fit` first ones. Times are exact (field/frame_times.h): fps is taken as a decimal number of
 * six digits, so k / fps is a fraction. In a group the leader draws; a member begins with its own frame that is shown at the leader's T. */
#include "pipeline/clip.h"

#include <inttypes.h>
#include <string.h>

#include "pipeline/op_help.h"
#include "pipeline/op_registry.h"
#include "util/buffer.h"
#include "util/error.h"

enum { COUNT_MAX = 1024 };
__extension__ typedef unsigned __int128 wide;
#define FRAMES_MAX 0x1p20
#define FPS_PARTS 1000000

static const char *const starts[] = {"random", "center", "uniform", "fixed", "centre", NULL};
static const char *const shorts[] = {"repeat_last", "wrap", "zero", "drop", "error", NULL};
static const struct op_param params[] = {
    {"frames", PARAM_INT, "0", 0, FRAMES_MAX, NULL, 0, 0, "frames of a clip"},
    {"stride", PARAM_INT, "1", 1, 0x1p31, NULL, 0, 0, "every so many frames of the video"},
    {"fps", PARAM_FLOAT, "0", 0, 1000, NULL, 0, 0,
     "frames a second of the clip, by the times of the video's frames; instead of stride. 0: by stride"},
    {"start", PARAM_CHOICE, "random", 0, 0, starts, 0, 0,
     "where a clip begins: anywhere with equal chance, in the middle, the clips of `count` spread evenly from the first to the last possible frame, or "
     "at `first`"},
    {"count", PARAM_INT, "1", 1, COUNT_MAX, NULL, 0, 0,
     "clips of one video; more than one add an axis in front: (count, frames, ...)"},
    {"short", PARAM_CHOICE, "repeat_last", 0, 0, shorts, 0, 0,
     "a video without enough frames: its last one again, from its first one on, zeros, fewer frames, or error. NAME_valid says which frames there are"},
    {"first", PARAM_FLOAT, "0", 0, 1e9, NULL, 0, 0,
     "where a fixed clip begins: number of the frame or sample, or seconds if fps is given"},
    {"samples", PARAM_INT, "0", 0, 0x1p31, NULL, 0, 0,
     "sound: exactly so many samples from the clip's beginning on, zeros where there are none. 0: what is heard while the clip's frames are shown"},
    OP_END_OF_PARAMS,
};

/* ---- Which frames ---------------------------------------------------------------------------------------------------------------- */

static uint64_t scaled(uint64_t random, uint64_t below) {
    return (uint64_t)(((wide)random * below) >> 64);
}

/* A value without times is a video of one frame a tick. */
static struct frame_times times_of(const struct frame_times *times, uint64_t length) {
    if (times)
        return *times;
    return (struct frame_times){.count = length, .tick = {1, 1}};
}

/* 1/fps in ticks is num / den. */
static void step_ticks(const struct clip_state *s, const struct frame_times *t, frame_wide *num, frame_wide *den) {
    *num = (frame_wide)t->tick.den * (frame_wide)s->fps_den;
    *den = (frame_wide)t->tick.num * (frame_wide)s->fps_num;
}

/* The frame that clip i of the leader begins with. */
uint64_t mldfi_clip_start(const struct clip_state *s, const struct clip_draw *d, const struct frame_times *t,
                          uint32_t i) {
    uint64_t spare = d->fit - 1;
    if (s->start == START_RANDOM)
        return scaled(mldfi_mix64(d->key + i * UINT64_C(0x9e3779b97f4a7c15)), d->fit);
    if (s->start == START_UNIFORM && s->count > 1)
        return (uint64_t)((frame_wide)spare * i / (s->count - 1));
    if (s->start != START_FIXED)
        return spare / 2;
    if (s->fps_den == 0)
        return s->first;
    uint64_t found = mldfi_frame_at_seconds(t, s->first_seconds);
    return found == MLDF_NONE ? 0 : found;
}

/* The same of any member. */
static uint64_t start_of(const struct op *op, const struct clip_draw *d, const struct frame_times *t, bool timed,
                         uint32_t i) {
    const struct clip_state *s = op->state;
    if (op->leads || !d->timed || !timed || i >= CLIPS_SHARED)
        return mldfi_clip_start(s, d, t, i);
    uint64_t found =
        mldfi_frame_at_tick(t, (frame_wide)d->begins[i] * (frame_wide)d->tick.num * (frame_wide)t->tick.den,
                            (frame_wide)d->tick.den * (frame_wide)t->tick.num);
    return found == MLDF_NONE ? 0 : found;
}

static bool pick_by_time(const struct clip_state *s, const struct frame_times *t, uint64_t start, uint64_t k,
                         uint64_t *number) {
    frame_wide num, den, end = mldfi_frame_pts(t, t->count), begin = mldfi_frame_pts(t, 0);
    step_ticks(s, t, &num, &den);
    frame_wide at = mldfi_frame_pts(t, start) * den + (frame_wide)k * num;
    bool there = at < end * den;
    if (!there && s->shorter == SHORT_WRAP && end > begin)
        at = begin * den + (at - begin * den) % ((end - begin) * den);
    *number = mldfi_frame_at_tick(t, at, den);
    if (*number == MLDF_NONE)
        *number = 0;
    return there;
}

static bool pick(const struct op *op, const void *room, const struct frame_times *times, uint64_t length, uint64_t k,
                 uint64_t *number) {
    const struct clip_state *s = op->state;
    const struct frame_times t = times_of(times, length);
    uint64_t start = start_of(op, room, &t, times != NULL, (uint32_t)(k / s->frames)), within = k % s->frames;
    bool there;
    *number = MLDF_NONE;
    if (length == 0)
        return false;
    if (s->fps_den) {
        there = pick_by_time(s, &t, start < length ? start : length - 1, within, number) && start < length;
    } else {
        *number = start + within * s->stride;
        there = *number < length;
        if (!there)
            *number = s->shorter == SHORT_WRAP ? *number % length : length - 1;
    }
    if (!there && (s->shorter == SHORT_ZERO || s->shorter == SHORT_DROP))
        *number = MLDF_NONE;
    return there;
}

struct clip_ticks mldfi_clip_ticks(const struct clip_state *s, const struct frame_times *t, uint64_t from) {
    frame_wide begin = mldfi_frame_pts(t, from), num, den;
    if (s->fps_den == 0)
        return (struct clip_ticks){begin, 1, mldfi_frame_until(t, from + s->frames * s->stride), 1};
    step_ticks(s, t, &num, &den);
    return (struct clip_ticks){begin, 1, begin * den + (frame_wide)s->frames * num, den};
}

void mldfi_clip_span(const struct op *op, const void *room, const struct frame_times *times, uint64_t length,
                     uint32_t i, double *start, double *end) {
    const struct clip_state *s = op->state;
    const struct frame_times t = times_of(times, length);
    struct clip_ticks ticks = mldfi_clip_ticks(s, &t, start_of(op, room, &t, times != NULL, i));
    *start = mldfi_frame_seconds(&t, ticks.begin, ticks.begin_den);
    *end = mldfi_frame_seconds(&t, ticks.end, ticks.end_den);
}

/* ---- Types ----------------------------------------------------------------------------------------------------------------------- */

static mldf_status read_arguments(const struct op *op, struct clip_state *s, mldf_error *err) {
    const struct arg *a = op->args;
    double fps = a[CLIP_FPS].f, first = a[CLIP_FIRST].f;
    *s = (struct clip_state){.frames = (uint64_t)a[CLIP_FRAMES].i,
                             .stride = (uint64_t)a[CLIP_STRIDE].i,
                             .count = (uint32_t)a[CLIP_COUNT].i,
                             .start = a[CLIP_START].i == START_CENTRE ? START_CENTER : (int)a[CLIP_START].i,
                             .shorter = (int)a[CLIP_SHORT].i,
                             .first_seconds = first,
                             .samples = (uint64_t)a[CLIP_SAMPLES].i};
    if (fps > 0) {
        s->fps_num = (uint64_t)(fps * FPS_PARTS + 0.5);
        s->fps_den = FPS_PARTS;
        for (uint64_t p = 10; s->fps_den > 1 && s->fps_num % p == 0 && s->fps_den % p == 0;)
            s->fps_num /= p, s->fps_den /= p;
    }
    if (s->frames == 0 && s->samples == 0)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "frames must be given: frames of a clip (of a recording: samples)");
    if (fps > 0 && a[CLIP_STRIDE].given)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "give either stride or fps, not both");
    if (fps > 0 && s->fps_num == 0)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "fps must be at least 0.000001, not %g", fps);
    if (a[CLIP_FIRST].given && s->start != START_FIXED)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "first needs start=fixed");
    if (fps == 0 && first != (double)(uint64_t)first)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "first is the number of a frame, not %g; seconds need fps", first);
    s->first = (uint64_t)first;
    if (s->start == START_FIXED && s->count > 1)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "count=%" PRIu32 " fixed clips would be the same clip", s->count);
    if (s->shorter == SHORT_DROP && s->count > 1)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "short=drop gives clips of different lengths: count must be 1");
    if (s->frames * s->count > (uint64_t)FRAMES_MAX)
        return mldfi_fail(err, MLDF_E_LIMIT, "%" PRIu32 " clips of %" PRIu64 " frames are more than 2^20 frames",
                          s->count, s->frames);
    return MLDF_OK;
}

static mldf_status infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    uint32_t at = mldfi_time_axis(in->axes, in->ndim);
    bool sound = mldfi_clip_takes_sound(in);
    if (!sound && ((in->kind != VALUE_IMAGE && in->kind != VALUE_ARRAY) || at != 0 || in->ndim == 0))
        return mldfi_edge_refuse(op, in, "a video, a clip of images, a recording, or an array", err);
    if (in->clips > 1)
        return mldfi_edge_refuse(op, in, "one clip, not several", err);
    struct clip_state *s = op->state = mldfi_alloc_zero(1, sizeof *s, err);
    if (!s)
        return MLDF_E_MEMORY;
    mldf_status status = read_arguments(op, s, err);
    if (status == MLDF_OK && sound)
        return mldfi_clip_sound_infer(op, in, out, err);
    if (status == MLDF_OK && s->frames == 0)
        status = mldfi_fail(err, MLDF_E_ARGUMENT, "samples is for sound; a video needs frames");
    if (status == MLDF_OK && in->role == ROLE_FLOW && s->stride > 1)
        status = mldfi_fail(err, MLDF_E_ARGUMENT,
                            "stride %" PRIu64 " of optical flow, which goes from one frame to the next",
                            (uint64_t)s->stride);
    if (status == MLDF_OK && s->fps_den && !in->timed)
        status = mldfi_fail(err, MLDF_E_TYPE,
                            "fps needs the times of a video's frames, which are known in front of the first step along "
                            "time alone; use stride");
    if (status == MLDF_OK && !op->leads && in->timed && s->count > CLIPS_SHARED)
        status = mldfi_fail(err, MLDF_E_ARGUMENT, "videos that are cut together: count can be at most %d, not %" PRIu32,
                            CLIPS_SHARED, s->count);
    if (status < 0)
        return status;
    op->times = in->timed;
    *out = *in;
    out->timed = false;
    out->clips = s->count;
    out->rate = out->seconds = (struct ratio){0, 0};
    mldfi_edge_fix(out, 0, (int64_t)(s->frames * s->count));
    if (s->shorter == SHORT_DROP)
        out->dims[0] = DIM_VARIES;
    return MLDF_OK;
}

void mldfi_clip_counts(const struct op *op, uint32_t *count, uint64_t *frames) {
    const struct clip_state *s = op->state;
    *count = s->count;
    *frames = s->shorter == SHORT_DROP || s->sound ? 0 : s->frames;
}

/* ---- Samples --------------------------------------------------------------------------------------------------------------------- */

static uint64_t count_fits(const struct clip_state *s, const struct frame_times *t) {
    uint64_t span, n = t->count;
    if (s->fps_den == 0) {
        span = (s->frames - 1) * s->stride + 1;
        return n >= span ? n - span + 1 : 1;
    }
    frame_wide num, den;
    step_ticks(s, t, &num, &den);
    uint64_t last = mldfi_frame_at_tick(t, mldfi_frame_pts(t, n) * den - (frame_wide)(s->frames - 1) * num - 1, den);
    return last == MLDF_NONE ? 1 : last + 1;
}

static mldf_status check_length(const struct op *op, struct clip_draw *d, const struct frame *frame, mldf_error *err) {
    const struct clip_state *s = op->state;
    uint64_t number;
    if (frame->t == 0 && s->shorter != SHORT_ZERO && s->shorter != SHORT_DROP)
        return mldfi_fail(err, MLDF_E_RANGE, "the video has no frames");
    for (uint32_t i = 0; i < s->count && s->shorter == SHORT_ERROR; i++)
        if (!pick(op, d, frame->times, frame->t, (i + 1) * s->frames - 1, &number))
            return mldfi_fail(err, MLDF_E_RANGE, "the video has %" PRIu64 " frames, too few for a clip of %" PRIu64,
                              frame->t, s->frames);
    d->shown = s->frames;
    if (s->shorter == SHORT_DROP)
        while (d->shown && !pick(op, d, frame->times, frame->t, d->shown - 1, &number))
            d->shown--;
    return MLDF_OK;
}

static mldf_status draw(const struct op *op, struct rng *rng, const struct frame *frame, void *room, struct frame *next,
                        mldf_error *err) {
    const struct clip_state *s = op->state;
    struct clip_draw *d = room;
    const struct frame_times t = times_of(frame->times, frame->t);
    if (s->sound)
        return mldfi_clip_sound_draw(op, rng, frame, room, next, err);
    if (s->fps_den && !frame->times)
        return mldfi_fail(err, MLDF_E_STATE, "the times of the frames are not known here");
    *d = (struct clip_draw){
        .fit = count_fits(s, &t), .timed = frame->times != NULL, .tick = t.tick, .times = frame->times};
    if (s->start == START_RANDOM)
        d->key = mldfi_rng_u64(rng);
    for (uint32_t i = 0; i < s->count && i < CLIPS_SHARED; i++)
        d->begins[i] = (int64_t)mldfi_frame_pts(&t, mldfi_clip_start(s, d, &t, i));
    mldf_status status = check_length(op, d, frame, err);
    next->t = s->shorter == SHORT_DROP ? d->shown : s->frames * s->count;
    return status;
}

static mldf_status shape(const struct op *op, const void *room, const struct tensor *in, struct tensor *out,
                         mldf_error *err) {
    const struct clip_state *s = op->state;
    const struct clip_draw *d = room;
    if (s->sound)
        return mldfi_clip_sound_shape(op, room, in, out, err);
    memcpy(out->dims, in->dims, sizeof out->dims);
    out->dims[0] = s->shorter == SHORT_DROP ? d->shown : s->frames * s->count;
    return MLDF_OK;
}

/* Of an array in memory; of clip, reverse, subsample and jitter alike. */
static mldf_status gather(const struct op *op, const void *room, const struct tensor *in, struct tensor *out,
                          struct op_work *work, mldf_error *err) {
    size_t step = mldfi_dtype_size(in->dtype);
    (void)err;
    for (uint32_t i = 1; i < in->ndim; i++)
        step *= (size_t)in->dims[i];
    for (uint64_t k = 0; k < out->dims[0]; k++) {
        uint8_t *to = (uint8_t *)out->data + k * step;
        uint64_t number;
        (void)op->type->pick(op, room, work->times, in->dims[0], k, &number);
        if (number < in->dims[0])
            memcpy(to, (const uint8_t *)in->data + number * step, step);
        else
            memset(to, 0, step);
    }
    return MLDF_OK;
}

static mldf_status run(const struct op *op, const void *room, const struct tensor *in, struct tensor *out,
                       struct op_work *work, mldf_error *err) {
    return mldfi_clip_is_sound(op) ? mldfi_clip_sound_run(op, room, in, out, work, err)
                                   : gather(op, room, in, out, work, err);
}

const struct op_type mldfi_op_clip = {
    .name = "clip",
    .help = "frames of a video, by number or by time: random, in the middle, spread evenly or fixed; with the sound of "
            "that time. Also of a recording by itself, and of an array's first dimension",
    .flags = OP_DRAWS | OP_RANDOM | OP_GROUP | OP_TIME,
    .params = params,
    .quiet = "samples",
    .draw_bytes = sizeof(struct sound_draw),
    .infer = infer,
    .draw = draw,
    .follow = mldfi_clip_sound_follow,
    .pick = pick,
    .shape = shape,
    .run = run,
};

/* ---- Frames of a clip, rearranged ------------------------------------------------------------------------------------------------- */

/* One clip, or an array whose first dimension is meant. */
static mldf_status infer_frames(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    uint32_t at = mldfi_time_axis(in->axes, in->ndim);
    if ((in->kind != VALUE_IMAGE && in->kind != VALUE_ARRAY) || at != 0 || in->ndim == 0)
        return mldfi_edge_refuse(op, in, "a video, a clip of images, or an array", err);
    if (in->role == ROLE_FLOW)
        return mldfi_edge_refuse(op, in, "a clip of images (the motion between other frames is another)", err);
    if (in->clips > 1)
        return mldfi_edge_refuse(op, in, "one clip, not several", err);
    *out = *in;
    out->timed = false;
    return MLDF_OK;
}

static const struct op_param reverse_params[] = {
    {"p", PARAM_FLOAT, "0.5", 0, 1, NULL, 0, 0, "probability"},
    OP_END_OF_PARAMS,
};

static mldf_status reverse_draw(const struct op *op, struct rng *rng, const struct frame *frame, void *room,
                                struct frame *next, mldf_error *err) {
    (void)frame, (void)next, (void)err;
    *(bool *)room = mldfi_rng_chance(rng, op->args[0].f);
    return MLDF_OK;
}

static bool reverse_pick(const struct op *op, const void *room, const struct frame_times *times, uint64_t length,
                         uint64_t k, uint64_t *number) {
    (void)op, (void)times;
    *number = *(const bool *)room ? length - 1 - k : k;
    return true;
}

static const struct op_type op_reverse = {
    .name = "time_reverse",
    .help = "the frames of a clip in reverse order, with some probability",
    .flags = OP_DRAWS | OP_RANDOM | OP_GROUP | OP_TIME,
    .params = reverse_params,
    .draw_bytes = sizeof(bool),
    .infer = infer_frames,
    .draw = reverse_draw,
    .pick = reverse_pick,
    .run = gather,
};

enum { SUBSAMPLE_STRIDE, SUBSAMPLE_RANDOM };
static const struct op_param subsample_params[] = {
    {"stride", PARAM_INT, NULL, 1, 0x1p31, NULL, 0, 0, "every so many frames remain"},
    {"random", PARAM_BOOL, "false", 0, 0, NULL, 0, 0,
     "begin with any of the first `stride` frames instead of the first"},
    OP_END_OF_PARAMS,
};

/* As many as there are from any beginning, so that all samples have as many. */
static uint64_t subsampled(const struct op *op, uint64_t length) {
    uint64_t stride = (uint64_t)op->args[SUBSAMPLE_STRIDE].i;
    if (op->args[SUBSAMPLE_RANDOM].i == 0)
        return (length + stride - 1) / stride;
    return length < stride ? length > 0 : length / stride;
}

static mldf_status subsample_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    TRY(infer_frames(op, in, out, err));
    if (in->dims[0] >= 0)
        mldfi_edge_fix(out, 0, (int64_t)subsampled(op, (uint64_t)in->dims[0]));
    else if (in->most[0] != MLDF_NONE)
        out->most[0] = subsampled(op, in->most[0]);
    out->rate = out->seconds = (struct ratio){0, 0};
    return MLDF_OK;
}

static mldf_status subsample_draw(const struct op *op, struct rng *rng, const struct frame *frame, void *room,
                                  struct frame *next, mldf_error *err) {
    uint64_t stride = (uint64_t)op->args[SUBSAMPLE_STRIDE].i, *from = room, choices = stride;
    (void)err;
    if (frame->t < stride)
        choices = frame->t ? frame->t : 1;
    *from = op->args[SUBSAMPLE_RANDOM].i ? mldfi_rng_below(rng, choices) : 0;
    next->t = subsampled(op, frame->t);
    return MLDF_OK;
}

static mldf_status subsample_shape(const struct op *op, const void *room, const struct tensor *in, struct tensor *out,
                                   mldf_error *err) {
    (void)room, (void)err;
    memcpy(out->dims, in->dims, sizeof out->dims);
    out->dims[0] = subsampled(op, in->dims[0]);
    return MLDF_OK;
}

static bool subsample_pick(const struct op *op, const void *room, const struct frame_times *times, uint64_t length,
                           uint64_t k, uint64_t *number) {
    (void)times;
    *number = *(const uint64_t *)room + k * (uint64_t)op->args[SUBSAMPLE_STRIDE].i;
    if (*number < length)
        return true;
    *number = length ? length - 1 : MLDF_NONE; /* a member that is shorter than its leader */
    return false;
}

static const struct op_type op_subsample = {
    .name = "time_subsample",
    .help = "every so many of a clip's frames",
    .flags = OP_DRAWS | OP_RANDOM | OP_GROUP | OP_TIME,
    .params = subsample_params,
    .draw_bytes = sizeof(uint64_t),
    .infer = subsample_infer,
    .draw = subsample_draw,
    .pick = subsample_pick,
    .shape = subsample_shape,
    .run = gather,
};

static const struct op_param jitter_params[] = {
    {"frames", PARAM_INT, "1", 0, 0x1p31, NULL, 0, 0,
     "each frame is replaced by one at most so many before or after it"},
    OP_END_OF_PARAMS,
};

static mldf_status jitter_draw(const struct op *op, struct rng *rng, const struct frame *frame, void *room,
                               struct frame *next, mldf_error *err) {
    (void)op, (void)frame, (void)next, (void)err;
    *(uint64_t *)room = mldfi_rng_u64(rng);
    return MLDF_OK;
}

static bool jitter_pick(const struct op *op, const void *room, const struct frame_times *times, uint64_t length,
                        uint64_t k, uint64_t *number) {
    uint64_t most = (uint64_t)op->args[0].i;
    uint64_t random = mldfi_mix64(*(const uint64_t *)room + k * UINT64_C(0x9e3779b97f4a7c15));
    uint64_t moved = k + scaled(random, 2 * most + 1);
    (void)times;
    *number = moved < most ? 0 : moved - most < length ? moved - most : length - 1;
    return true;
}

static const struct op_type op_jitter = {
    .name = "time_jitter",
    .help = "each frame of a clip is replaced by a neighbour at random",
    .flags = OP_DRAWS | OP_RANDOM | OP_GROUP | OP_TIME,
    .params = jitter_params,
    .draw_bytes = sizeof(uint64_t),
    .infer = infer_frames,
    .draw = jitter_draw,
    .pick = jitter_pick,
    .run = gather,
};

const struct op_type *const mldfi_ops_clip[] = {&mldfi_op_clip, &op_reverse, &op_subsample, &op_jitter, NULL};
