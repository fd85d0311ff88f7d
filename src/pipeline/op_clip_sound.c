/* clip on recordings. The sound of a video's clips, in one statement with its frames: the samples that are heard from the first frame's time T_a up to T_b,
 * when the frame after the last would be shown:
 *
 *     ⌈(T_a - s) · r⌉ ... ⌈(T_b - s) · r⌉      s: when the sound begins, r: its rate; exact numbers, so the sounds of clips that follow
 *                                              each other are the whole sound, cut nowhere twice
 *
 * or exactly `samples` from the same place on. A recording that is cut alone draws its own places, in samples. What the recording does not have is zeros;
 * NAME_valid counts what it has. Several clips have an axis n in front, over which later steps are mapped (frames.h). */
#include <inttypes.h>
#include <string.h>

#include "pipeline/clip.h"
#include "pipeline/op_help.h"
#include "pipeline/spectrum.h"
#include "util/error.h"

/* Samples that no clip of a video has: 66 days at 192 kHz. */
enum { SPAN_BITS = 40 };

bool mldfi_clip_takes_sound(const struct edge *in) {
    return mldfi_edge_is_wave(in) && in->axes[0] && (in->rate.den || in->anchored);
}

/* ---- Types ------------------------------------------------------------------------------------------------------------------------- */

/* The parameters that a recording cut alone has no use for. */
static mldf_status check_alone(const struct op *op, const struct clip_state *s, mldf_error *err) {
    const struct arg *a = op->args;
    if (s->samples == 0)
        return mldfi_fail(err, MLDF_E_ARGUMENT,
                          "a recording by itself is cut by samples=n; with a video in the same statement "
                          "(\"v, v.audio: clip(...)\") it is cut by the times of the frames");
    if (a[CLIP_FRAMES].i || a[CLIP_FPS].f > 0 || a[CLIP_STRIDE].given)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "frames, fps and stride are for videos; a recording has samples");
    if (s->shorter == SHORT_WRAP || s->shorter == SHORT_DROP)
        return mldfi_fail(err, MLDF_E_ARGUMENT,
                          "a recording that is too short is filled up with zeros, or an error (short=error)");
    return MLDF_OK;
}

static mldf_status check_member(const struct op *op, const struct edge *in, mldf_error *err) {
    if (!op->lead_timed)
        return mldfi_fail(err, MLDF_E_TYPE,
                          "sound is cut by the times of a video's frames, which are known in front of the video's "
                          "first step along time alone");
    if (in->rate.den == 0)
        return mldfi_fail(err, MLDF_E_TYPE, "the sound has no sampling rate: none of the videos has sound");
    if (!in->anchored)
        return mldfi_fail(err, MLDF_E_TYPE,
                          "the recording was cut or moved in time before, so it does not say what is heard when; "
                          "clip comes first");
    return MLDF_OK;
}

/* Samples of the time that a clip by fps takes: whole, or one more for some clips. */
static void find_length(const struct clip_state *s, bool leads, uint64_t *whole, uint64_t *most) {
    *whole = s->samples;
    *most = s->samples ? s->samples : MLDF_NONE;
    if (s->samples || leads || s->fps_den == 0)
        return;
    frame_wide n = (frame_wide)(s->frames * s->fps_den) * (frame_wide)s->rate.num,
               d = (frame_wide)s->fps_num * (frame_wide)s->rate.den;
    if (n / d >= (frame_wide)1 << SPAN_BITS)
        return;
    *whole = n % d ? 0 : (uint64_t)(n / d);
    *most = (uint64_t)(n / d) + (n % d != 0);
}

mldf_status mldfi_clip_sound_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    struct clip_state *s = op->state;
    uint64_t most;
    s->sound = true;
    s->rate = in->rate;
    TRY(op->leads ? check_alone(op, s, err) : check_member(op, in, err));
    op->own_draw = !op->leads;
    find_length(s, op->leads, &s->length, &most);
    if (s->count > 1 && s->length == 0)
        return mldfi_fail(err, MLDF_E_TYPE,
                          "the sounds of several clips must be equally long, and here they need not be; samples=n "
                          "takes exactly n samples of each");
    *out = *in;
    out->anchored = false;
    out->seconds = (struct ratio){0, 0};
    uint32_t at = out->ndim - 1;
    out->dims[at] = s->length ? (int64_t)s->length : DIM_VARIES;
    out->most[at] = most;
    if (s->length && !__builtin_mul_overflow(s->length, s->rate.den, &out->seconds.num))
        out->seconds.den = s->rate.num;
    if (s->count == 1)
        return MLDF_OK;
    memmove(out->dims + 1, out->dims, (MLDF_MAX_DIMS - 1) * sizeof out->dims[0]);
    memmove(out->most + 1, out->most, (MLDF_MAX_DIMS - 1) * sizeof out->most[0]);
    memmove(out->axes + 1, out->axes, MLDF_MAX_DIMS - 1);
    out->axes[0] = 'n';
    out->ndim++;
    mldfi_edge_fix(out, 0, s->count);
    return MLDF_OK;
}

/* ---- Samples ------------------------------------------------------------------------------------------------------------------------- */

mldf_status mldfi_clip_sound_draw(const struct op *op, struct rng *rng, const struct frame *frame, void *room,
                                  struct frame *next, mldf_error *err) {
    const struct clip_state *s = op->state;
    struct sound_draw *d = room;
    *d = (struct sound_draw){.length = frame->t};
    d->lead.fit = frame->t >= s->samples ? frame->t - s->samples + 1 : 1;
    if (s->start == START_RANDOM)
        d->lead.key = mldfi_rng_u64(rng);
    next->t = s->samples;
    if (s->shorter == SHORT_ERROR && (frame->t < s->samples || (s->start == START_FIXED && s->first >= d->lead.fit)))
        return mldfi_fail(err, MLDF_E_RANGE,
                          "the recording has %" PRIu64 " samples, too few for a clip of %" PRIu64 " from there on",
                          frame->t, s->samples);
    return MLDF_OK;
}

/* [*from, *to) in samples, before the first one too. False: times that no video has. */
static bool find_span(const struct clip_state *s, const struct sound_draw *d, uint32_t i, int64_t *from, int64_t *to) {
    const struct frame_times *t = d->video->times;
    struct clip_ticks ticks = mldfi_clip_ticks(s, t, mldfi_clip_start(s, d->video, t, i));
    if (!mldfi_sample_at(t, ticks.begin, ticks.begin_den, d->start, s->rate, from))
        return false;
    if (s->samples)
        *to = *from + (int64_t)s->samples;
    return s->samples || mldfi_sample_at(t, ticks.end, ticks.end_den, d->start, s->rate, to);
}

mldf_status mldfi_clip_sound_follow(const struct op *op, const void *leaders, const struct frame *frame, void *room,
                                    mldf_error *err) {
    const struct clip_state *s = op->state;
    struct sound_draw *d = room;
    int64_t from, to;
    *d = (struct sound_draw){.video = leaders, .start = frame->start, .length = frame->t};
    if (!d->video->times)
        return mldfi_fail(err, MLDF_E_STATE, "the times of the video's frames are not known here");
    for (uint32_t i = 0; i < s->count; i++) {
        if (!find_span(s, d, i, &from, &to) || to < from)
            return mldfi_fail(err, MLDF_E_CORRUPT, "the video has times at which there is no sound");
        if (to - from >= (int64_t)1 << SPAN_BITS)
            return mldfi_fail(err, MLDF_E_CORRUPT,
                              "the frames of clip %" PRIu32 " are shown for the time of %" PRId64
                              " samples; no video is so long",
                              i, to - from);
    }
    return MLDF_OK;
}

void mldfi_clip_cut(const struct op *op, const void *room, uint32_t i, struct sound_cut *out) {
    const struct clip_state *s = op->state;
    const struct sound_draw *d = room;
    int64_t from, to;
    if (d->video) {
        (void)find_span(s, d, i, &from, &to); /* follow has found that it can */
    } else {
        from = (int64_t)mldfi_clip_start(s, &d->lead, NULL, i);
        to = from + (int64_t)s->samples;
    }
    int64_t length = d->length < (uint64_t)1 << 62 ? (int64_t)d->length : (int64_t)1 << 62;
    int64_t first = from < 0 ? 0 : from < length ? from : length, last = to < first ? first : to < length ? to : length;
    int64_t steps = to - from, zeros = from < 0 ? -from : 0;
    *out = (struct sound_cut){(uint64_t)(zeros < steps ? zeros : steps), (uint64_t)first, (uint64_t)(last - first),
                              (uint64_t)steps};
}

mldf_status mldfi_clip_sound_shape(const struct op *op, const void *room, const struct tensor *in, struct tensor *out,
                                   mldf_error *err) {
    const struct clip_state *s = op->state;
    struct sound_cut cut;
    uint32_t first = s->count > 1;
    (void)err;
    mldfi_clip_cut(op, room, 0, &cut);
    out->dims[0] = s->count;
    if (in->ndim == 2)
        out->dims[first] = in->dims[0];
    out->dims[out->ndim - 1] = cut.steps;
    return MLDF_OK;
}

mldf_status mldfi_clip_sound_run(const struct op *op, const void *room, const struct tensor *in, struct tensor *out,
                                 struct op_work *work, mldf_error *err) {
    const struct clip_state *s = op->state;
    uint64_t rows = in->ndim == 2 ? in->dims[0] : 1, length = in->dims[in->ndim - 1];
    float *to = out->data;
    (void)work, (void)err;
    memset(to, 0, mldfi_tensor_bytes(out));
    for (uint32_t i = 0; i < s->count; i++) {
        struct sound_cut cut;
        mldfi_clip_cut(op, room, i, &cut);
        for (uint64_t c = 0; c < rows; c++, to += cut.steps)
            if (cut.have)
                memcpy(to + cut.zeros, (const float *)in->data + c * length + cut.from, (size_t)cut.have * sizeof *to);
    }
    return MLDF_OK;
}
