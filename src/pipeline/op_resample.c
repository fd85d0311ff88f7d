/* resample and speed: recordings at another rate, as torchaudio's Resample and Speed. Both are anchored at the first sample and go into the source
 * (source_audio.c): what follows them reads only what it is made from. */
#include <inttypes.h>
#include <stdlib.h>

#include "kernel/sinc.h"
#include "pipeline/op_help.h"
#include "pipeline/op_registry.h"
#include "pipeline/spectrum.h"
#include "util/buffer.h"
#include "util/error.h"

enum { FACTORS = 16 };
struct resample_state {
    uint32_t count;
    struct sinc sincs[FACTORS]; /* one for resample, one a factor for speed; orig 0: as it is */
};
struct resample_draw {
    uint32_t which;
};

static void free_state(void *state) {
    struct resample_state *s = state;
    for (uint32_t i = 0; s && i < s->count; i++)
        mldfi_sinc_free(&s->sincs[i]);
    free(s);
}

static const struct sinc *sinc_of(const struct op *op, const void *draw) {
    const struct resample_state *s = op->state;
    return &s->sincs[((const struct resample_draw *)draw)->which];
}

static mldf_status add_sinc(struct resample_state *s, uint32_t from, uint32_t to, mldf_error *err) {
    struct sinc *sinc = &s->sincs[s->count++];
    return from == to ? (*sinc = (struct sinc){.orig = 1, .new = 1}, MLDF_OK) : mldfi_sinc_new(from, to, sinc, err);
}

static bool stays(const struct sinc *s) {
    return s->orig == s->new;
}

static uint64_t length_of(const struct sinc *s, uint64_t n) {
    return stays(s) ? n : mldfi_sinc_length(s, n);
}

/* The type of the result: as long as the longest of what may come. */
static void set_length(const struct resample_state *s, const struct edge *in, struct edge *out) {
    uint32_t t = in->ndim - 1;
    for (uint32_t i = 0; i < s->count; i++) {
        int64_t size = in->dims[t] < 0 ? DIM_VARIES : (int64_t)length_of(&s->sincs[i], (uint64_t)in->dims[t]);
        uint64_t most = in->most[t] == MLDF_NONE ? MLDF_NONE : length_of(&s->sincs[i], in->most[t]);
        out->dims[t] = i == 0 || out->dims[t] == size ? size : DIM_VARIES;
        out->most[t] = i == 0 || most > out->most[t] ? most : out->most[t];
    }
}

/* ---- resample --------------------------------------------------------------------------------------------------------------------------- */

enum { RESAMPLE_RATE, RESAMPLE_FROM };
static const struct op_param resample_params[] = {
    {"rate", PARAM_INT, NULL, 1, 0x1p31, NULL, 0, 0, "samples a second that come out"},
    {"from", PARAM_INT, "0", 0, 0x1p31, NULL, 0, 0, "samples a second of a value that has no rate"},
    OP_END_OF_PARAMS,
};

static mldf_status begin(struct op *op, const struct edge *in, const struct arg *rate, uint32_t *from,
                         mldf_error *err) {
    if (!mldfi_edge_is_wave(in))
        return mldfi_edge_refuse(op, in, "a recording", err);
    TRY(mldfi_wave_rate(in, rate, from, err));
    op->state = mldfi_alloc_zero(1, sizeof(struct resample_state), err);
    return op->state ? MLDF_OK : MLDF_E_MEMORY;
}

static mldf_status resample_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    uint32_t from, to = (uint32_t)op->args[RESAMPLE_RATE].i;
    mldf_status status = begin(op, in, &op->args[RESAMPLE_FROM], &from, err);
    if (status == MLDF_OK)
        status = add_sinc(op->state, from, to, err);
    if (status < 0)
        return status;
    *out = *in;
    set_length(op->state, in, out);
    out->rate = (struct ratio){to, 1};
    return MLDF_OK;
}

static mldf_status resample_draw(const struct op *op, struct rng *rng, const struct frame *frame, void *room,
                                 struct frame *next, mldf_error *err) {
    (void)rng, (void)err;
    *(struct resample_draw *)room = (struct resample_draw){0};
    next->t = length_of(sinc_of(op, room), frame->t);
    return MLDF_OK;
}

static struct span pull(const struct op *op, const void *draw, uint64_t length, struct span want) {
    const struct sinc *s = sinc_of(op, draw);
    struct span need;
    if (stays(s))
        return want;
    mldfi_sinc_inputs(s, length, want.from, want.count, &need.from, &need.count);
    return need;
}

static mldf_status shape(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                         mldf_error *err) {
    uint64_t n = in->dims[in->ndim - 1], length = length_of(sinc_of(op, draw), n);
    memcpy(out->dims, in->dims, sizeof out->dims);
    out->dims[in->ndim - 1] = length;
    return length > UINT64_MAX / 64
               ? mldfi_fail(err, MLDF_E_LIMIT, "%" PRIu64 " samples become too many at the new rate", n)
               : MLDF_OK;
}

static mldf_status part(const struct op *op, const void *draw, struct span have, const struct tensor *in,
                        struct span want, struct tensor *out, struct op_work *work, mldf_error *err) {
    const struct sinc *s = sinc_of(op, draw);
    uint64_t rows = in->ndim == 2 ? in->dims[0] : 1;
    if (!stays(s)) {
        TRY(mldfi_buffer_resize(&work->scratch[0], mldfi_sinc_work(s) * sizeof(float), err));
    }
    for (uint64_t c = 0; c < rows; c++) {
        const float *from = (const float *)in->data + c * in->dims[in->ndim - 1];
        float *to = (float *)out->data + c * out->dims[out->ndim - 1];
        if (!stays(s)) {
            mldfi_sinc_run(s, work->kernels->fft, from, have.from, have.count, want.from, want.count, to,
                           (float *)(void *)work->scratch[0].data);
            continue;
        }
        uint64_t some = have.count < want.count ? have.count : want.count;
        if (some)
            memcpy(to, from, (size_t)some * sizeof *to);
        if (want.count > some)
            memset(to + some, 0, (size_t)(want.count - some) * sizeof *to);
    }
    return MLDF_OK;
}

static mldf_status run(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                       struct op_work *work, mldf_error *err) {
    return part(op, draw, (struct span){0, in->dims[in->ndim - 1]}, in, (struct span){0, out->dims[out->ndim - 1]}, out,
                work, err);
}

const struct op_type mldfi_op_resample = {
    .name = "resample",
    .help = "a recording at another sampling rate: torchaudio's windowed sinc, n * rate / from samples, rounded up",
    .flags = OP_DRAWS | OP_TIME,
    .params = resample_params,
    .draw_bytes = sizeof(struct resample_draw),
    .infer = resample_infer,
    .free_state = free_state,
    .draw = resample_draw,
    .pull = pull,
    .part = part,
    .shape = shape,
    .run = run,
};

/* ---- speed -------------------------------------------------------------------------------------------------------------------------------- */

enum { SPEED_FACTORS, SPEED_RATE };
static const struct op_param speed_params[] = {
    {"factors", PARAM_FLOATS, "[0.9, 1, 1.1]", 0.01, 100, NULL, 1, FACTORS, "one of these, each with equal chance"},
    {"rate", PARAM_INT, "0", 0, 0x1p31, NULL, 0, 0, "samples a second of a value that has no rate; does not resample"},
    OP_END_OF_PARAMS,
};

static mldf_status speed_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    const struct arg *factors = &op->args[SPEED_FACTORS];
    uint32_t rate;
    mldf_status status = begin(op, in, &op->args[SPEED_RATE], &rate, err);
    for (uint32_t i = 0; i < factors->count && status == MLDF_OK; i++)
        status = add_sinc(op->state, (uint32_t)(factors->list[i] * rate), rate, err);
    if (status < 0)
        return status;
    *out = *in;
    set_length(op->state, in, out);
    out->seconds = (struct ratio){0, 0};
    return MLDF_OK;
}

static mldf_status speed_draw(const struct op *op, struct rng *rng, const struct frame *frame, void *room,
                              struct frame *next, mldf_error *err) {
    const struct resample_state *s = op->state;
    struct resample_draw *d = room;
    (void)err;
    d->which = (uint32_t)mldfi_rng_below(rng, s->count);
    next->t = length_of(&s->sincs[d->which], frame->t);
    return MLDF_OK;
}

static const struct op_type op_speed = {
    .name = "speed",
    .help = "a recording faster or slower, its pitch with it: resampled from factor * rate, as torchaudio's Speed",
    .flags = OP_DRAWS | OP_RANDOM | OP_TIME,
    .params = speed_params,
    .draw_bytes = sizeof(struct resample_draw),
    .infer = speed_infer,
    .free_state = free_state,
    .draw = speed_draw,
    .pull = pull,
    .part = part,
    .shape = shape,
    .run = run,
};

const struct op_type *const mldfi_ops_resample[] = {&mldfi_op_resample, &op_speed, NULL};
