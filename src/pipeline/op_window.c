/* window: a piece of a value along axis t. After decode_audio the window goes into the source: only its bytes are read (source_audio.c).
 *
 * In a group the leader draws, in its own steps; a member of another rate takes the steps of the same time, from ⌈T_a · r⌉ to ⌈T_b · r⌉. */
#include <inttypes.h>
#include <string.h>

#include "pipeline/op_help.h"
#include "pipeline/op_registry.h"
#include "util/buffer.h"
#include "util/error.h"

__extension__ typedef unsigned __int128 wide;

enum { SECONDS, AT, SHORT, STEPS, START };
enum { AT_FIXED, AT_CENTER, AT_RANDOM };
enum { SHORT_KEEP, SHORT_PAD, SHORT_ERROR };
#define STEPS_MAX 0x1p40
#define SECONDS_MAX 1e6
#define NANO UINT64_C(1000000000)

static const char *const places[] = {"fixed", "center", "random", NULL};
static const char *const shorts[] = {"keep", "pad", "error", NULL};
static const struct op_param params[] = {
    {"seconds", PARAM_FLOAT, "0", 0, SECONDS_MAX, NULL, 0, 0,
     "length of the window in seconds, rounded to whole steps of axis t"},
    {"at", PARAM_CHOICE, "fixed", 0, 0, places, 0, 0,
     "where the window is: at `start`, in the middle, or anywhere with equal chance"},
    {"short", PARAM_CHOICE, "keep", 0, 0, shorts, 0, 0,
     "a value shorter than the window: keep what there is, pad its end with zeros, or error"},
    {"samples", PARAM_INT, "0", 0, STEPS_MAX, NULL, 0, 0,
     "length in steps of axis t (samples, frames, rows), instead of seconds"},
    {"start", PARAM_FLOAT, "0", 0, SECONDS_MAX * 1e6, NULL, 0, 0,
     "where a fixed window begins: in seconds, or in samples if the length is in samples"},
    OP_END_OF_PARAMS,
};

struct window_state {
    uint64_t steps, start; /* of the leader */
    int at, shorter;
    uint64_t num, den; /* steps of this value for one of the leader's */
};

struct window_draw {
    uint64_t from, steps; /* of the leader */
};

/* ---- Steps ------------------------------------------------------------------------------------------------------------------- */

/* round(seconds * rate), half up; seconds to the nanosecond. */
static uint64_t steps_of(double seconds, struct ratio rate) {
    wide nanos = (wide)(seconds * (double)NANO + 0.5), den = (wide)rate.den * NANO;
    return (uint64_t)((2 * nanos * rate.num + den) / (2 * den));
}

static uint64_t own_steps(const struct window_state *s, uint64_t leaders) {
    return (uint64_t)(((wide)leaders * s->num + s->den - 1) / s->den);
}

/* What this value, `length` steps long, gives: `have` steps from `from` on, and zeros up to `steps`. */
struct cut {
    uint64_t from, have, steps;
};

static struct cut cut_of(const struct op *op, const struct window_draw *d, uint64_t length) {
    const struct window_state *s = op->state;
    struct cut cut = {own_steps(s, d->from), 0, 0};
    uint64_t end = own_steps(s, d->from + d->steps), there = end < length ? end : length;
    cut.have = cut.from < there ? there - cut.from : 0;
    cut.steps = s->shorter == SHORT_KEEP ? cut.have : end - cut.from;
    return cut;
}

/* ---- Types ------------------------------------------------------------------------------------------------------------------- */

static mldf_status find_steps(const struct op *op, struct window_state *s, mldf_error *err) {
    double seconds = op->args[SECONDS].f, start = op->args[START].f;
    uint64_t samples = (uint64_t)op->args[STEPS].i;
    if ((seconds > 0) == (samples > 0))
        return mldfi_fail(err, MLDF_E_ARGUMENT, "give the length of the window: either seconds or samples");
    if (seconds > 0 && op->lead_rate.den == 0)
        return mldfi_fail(err, MLDF_E_TYPE,
                          "the value has no sampling rate, so its length cannot be given in seconds; use samples=n");
    s->steps = samples ? samples : steps_of(seconds, op->lead_rate);
    if (s->steps == 0 || (double)s->steps > STEPS_MAX)
        return mldfi_fail(err, MLDF_E_ARGUMENT,
                          "%g seconds are %" PRIu64 " samples; the window must have 1 to 2^40 samples", seconds,
                          s->steps);
    if (op->args[START].given && s->at != AT_FIXED)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "start needs at=fixed");
    if (samples && (start > STEPS_MAX || (double)(uint64_t)start < start))
        return mldfi_fail(err, MLDF_E_ARGUMENT, "start must be a whole number of samples up to 2^40, not %g", start);
    if (!samples && start > SECONDS_MAX)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "start must be at most %g seconds, not %g", SECONDS_MAX, start);
    s->start = samples ? (uint64_t)start : steps_of(start, op->lead_rate);
    return MLDF_OK;
}

static mldf_status find_rate(const struct op *op, const struct edge *in, struct window_state *s, mldf_error *err) {
    s->num = s->den = 1;
    if (in->rate.den == 0 && op->lead_rate.den == 0)
        return MLDF_OK;
    if (in->rate.den == 0 || op->lead_rate.den == 0)
        return mldfi_fail(err, MLDF_E_TYPE,
                          "values that are cut together must all have a sampling rate, or none of them");
    if (__builtin_mul_overflow(in->rate.num, op->lead_rate.den, &s->num) ||
        __builtin_mul_overflow(in->rate.den, op->lead_rate.num, &s->den) || s->num > UINT64_MAX / NANO)
        return mldfi_fail(err, MLDF_E_LIMIT, "the sampling rates of the group differ too much");
    return MLDF_OK;
}

/* How long what comes out is. */
static void find_length(const struct op *op, const struct edge *in, uint32_t at, struct edge *out) {
    const struct window_state *s = op->state;
    bool even = (wide)s->steps * s->num % s->den == 0;
    uint64_t most = own_steps(s, s->steps);
    int64_t all = in->dims[at];
    out->dims[at] = even ? (int64_t)most : DIM_VARIES;
    out->most[at] = most;
    if (s->shorter != SHORT_KEEP)
        return;
    if (in->most[at] < most) /* MLDF_NONE is more than any */
        out->most[at] = in->most[at];
    uint64_t left = all < 0 ? 0 : (uint64_t)all < s->start ? 0 : (uint64_t)all - s->start;
    bool same = s->num == s->den && (op->leads || op->lead_steps == all); /* as long as the leader */
    out->dims[at] = all < 0 || !same ? DIM_VARIES : (int64_t)(left < most ? left : most);
    if (all >= 0 && same)
        out->most[at] = (uint64_t)out->dims[at];
}

/* Padding makes values as large as the text says, whatever is stored. */
static mldf_status check_room(const struct window_state *s, const struct edge *in, uint32_t at, mldf_error *err) {
    wide bytes = (wide)own_steps(s, s->steps) * mldf_dtype_bytes(in->dtype);
    for (uint32_t i = 0; i < in->ndim && bytes <= MEDIA_MAX_BYTES; i++)
        bytes *= i != at && in->dims[i] > 0 ? (uint64_t)in->dims[i] : 1;
    if (s->shorter != SHORT_PAD || bytes <= MEDIA_MAX_BYTES)
        return MLDF_OK;
    return mldfi_fail(err, MLDF_E_LIMIT,
                      "a window of %" PRIu64 " samples, padded, has more than the %" PRIu64
                      " bytes that a value may have",
                      s->steps, MEDIA_MAX_BYTES);
}

static mldf_status infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    uint32_t at = mldfi_time_axis(in->axes, in->ndim);
    if (in->kind == VALUE_ENCODED || at >= in->ndim)
        return mldfi_edge_refuse(op, in, "a recording, a clip, an array or bytes", err);
    if (in->clips > 1)
        return mldfi_edge_refuse(op, in, "one clip, not several", err);
    struct window_state *s = op->state = mldfi_alloc_zero(1, sizeof *s, err);
    if (!s)
        return MLDF_E_MEMORY;
    s->at = (int)op->args[AT].i;
    s->shorter = (int)op->args[SHORT].i;
    mldf_status status = find_steps(op, s, err);
    if (status == MLDF_OK)
        status = find_rate(op, in, s, err);
    if (status == MLDF_OK)
        status = check_room(s, in, at, err);
    if (status < 0)
        return status;
    *out = *in;
    out->timed = false;
    find_length(op, in, at, out);
    out->seconds = (struct ratio){0, 0};
    if (s->shorter != SHORT_KEEP && op->lead_rate.den &&
        !__builtin_mul_overflow(s->steps, op->lead_rate.den, &out->seconds.num))
        out->seconds.den = op->lead_rate.num;
    return MLDF_OK;
}

/* ---- Samples ------------------------------------------------------------------------------------------------------------------- */

static mldf_status too_short(const struct window_state *s, uint64_t have, mldf_error *err) {
    return mldfi_fail(err, MLDF_E_RANGE,
                      "the value has %" PRIu64
                      " samples from the start of the window on, and the window needs %" PRIu64,
                      have, s->steps);
}

static mldf_status draw(const struct op *op, struct rng *rng, const struct frame *frame, void *room, struct frame *next,
                        mldf_error *err) {
    const struct window_state *s = op->state;
    struct window_draw *d = room;
    uint64_t spare = frame->t > s->steps ? frame->t - s->steps : 0;
    *d = (struct window_draw){s->start, s->steps};
    if (s->at == AT_CENTER)
        d->from = spare / 2;
    else if (s->at == AT_RANDOM)
        d->from = mldfi_rng_below(rng, spare + 1);
    uint64_t have = d->from < frame->t ? frame->t - d->from : 0;
    if (have < s->steps && s->shorter == SHORT_ERROR)
        return too_short(s, have, err);
    if (have < s->steps && s->shorter == SHORT_KEEP)
        d->steps = have;
    next->t = d->steps;
    return MLDF_OK;
}

static mldf_status shape(const struct op *op, const void *room, const struct tensor *in, struct tensor *out,
                         mldf_error *err) {
    uint32_t at = mldfi_time_axis(in->axes, in->ndim);
    struct cut cut = cut_of(op, room, in->dims[at]);
    memcpy(out->dims, in->dims, sizeof out->dims);
    out->dims[at] = cut.steps;
    if (cut.have < cut.steps && ((const struct window_state *)op->state)->shorter == SHORT_ERROR)
        return too_short(op->state, cut.have, err); /* a member that ends before its leader */
    return MLDF_OK;
}

static struct span pull(const struct op *op, const void *room, uint64_t length, struct span want) {
    struct cut cut = cut_of(op, room, length);
    if (want.from >= cut.have)
        return (struct span){0, 0};
    uint64_t left = cut.have - want.from;
    return (struct span){cut.from + want.from, want.count < left ? want.count : left};
}

static mldf_status run(const struct op *op, const void *room, const struct tensor *in, struct tensor *out,
                       struct op_work *work, mldf_error *err) {
    uint32_t at = mldfi_time_axis(in->axes, in->ndim);
    struct cut cut = cut_of(op, room, in->dims[at]);
    size_t rows = 1, step = mldf_dtype_bytes(in->dtype);
    (void)work, (void)err;
    for (uint32_t i = 0; i < at; i++)
        rows *= (size_t)in->dims[i];
    for (uint32_t i = at + 1; i < in->ndim; i++)
        step *= (size_t)in->dims[i];
    const uint8_t *from = in->data;
    uint8_t *to = out->data;
    size_t have = (size_t)cut.have * step, rest = (size_t)(cut.steps - cut.have) * step;
    for (size_t i = 0; i < rows; i++, to += have + rest) {
        if (have)
            memcpy(to, from + (i * (size_t)in->dims[at] + (size_t)cut.from) * step, have);
        if (rest)
            memset(to + have, 0, rest);
    }
    return MLDF_OK;
}

static const struct op_type op_window = {
    .name = "window",
    .help = "a piece of a recording, of a clip's frames or of an array's first dimension",
    .flags = OP_DRAWS | OP_RANDOM | OP_GROUP | OP_TIME,
    .params = params,
    .draw_bytes = sizeof(struct window_draw),
    .infer = infer,
    .draw = draw,
    .pull = pull,
    .shape = shape,
    .run = run,
};

const struct op_type *const mldfi_ops_window[] = {&op_window, NULL};
