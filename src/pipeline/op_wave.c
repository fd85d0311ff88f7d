/* Recordings as waves: channels, mono, gain, normalize_wave, noise, dither, preemphasis. Each sees the value as it is when the step is reached: before a
 * window the whole recording, behind it the cut alone. Sums are in double, from the first sample to the last. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "pipeline/op_help.h"
#include "pipeline/op_registry.h"
#include "pipeline/spectrum.h"
#include "util/error.h"
#include "util/math.h"

static mldf_status wave_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    if (!mldfi_edge_is_wave(in))
        return mldfi_edge_refuse(op, in, "a recording", err);
    *out = *in;
    return MLDF_OK;
}

/* ---- mono, channels ------------------------------------------------------------------------------------------------------------------- */

static mldf_status mono_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    mldf_status status = wave_infer(op, in, out, err);
    if (status < 0 || in->ndim == 1)
        return status;
    if (in->dims[0] == 0)
        return mldfi_edge_refuse(op, in, "at least one channel", err);
    out->ndim = 1;
    mldfi_set_axes(out->axes, "t");
    return MLDF_OK;
}

static void mono_dims(const struct op *op, const void *draw, const int64_t *in, int64_t *out) {
    (void)draw;
    out[0] = in[op->in.ndim - 1];
}

/* As decode_audio(mono=true): the sum of the channels in their order, times 1 / channels. */
static mldf_status mono_run(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                            struct op_work *work, mldf_error *err) {
    const float *x = in->data;
    float *y = out->data;
    uint64_t n = out->dims[0], channels = in->ndim == 2 ? in->dims[0] : 1;
    (void)op, (void)draw, (void)work, (void)err;
    if (channels == 1)
        return mldfi_op_copy(in, out);
    for (uint64_t i = 0; i < n; i++) {
        float sum = x[i];
        for (uint64_t c = 1; c < channels; c++)
            sum += x[c * n + i];
        y[i] = sum / (float)channels;
    }
    return MLDF_OK;
}

static const struct op_type op_mono = {
    .name = "mono",
    .help = "the mean of a recording's channels: (t)",
    .infer = mono_infer,
    .dims = mono_dims,
    .run = mono_run,
};

enum { CHANNELS_MAX = 64 };
static const struct op_param channels_params[] = {
    {"which", PARAM_INTS, NULL, 0, 65535, NULL, 1, CHANNELS_MAX, "numbers of channels, from 0, in this order"},
    OP_END_OF_PARAMS,
};

static mldf_status channels_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    const struct arg *which = &op->args[0];
    int64_t have = in->ndim == 2 ? in->dims[0] : 1;
    TRY(wave_infer(op, in, out, err));
    for (uint32_t i = 0; i < which->count; i++)
        if (which->list[i] >= (double)have)
            return mldfi_fail(err, MLDF_E_ARGUMENT, "there is no channel %g; the recordings have %" PRId64,
                              which->list[i], have);
    out->ndim = which->count == 1 ? 1 : 2;
    mldfi_set_axes(out->axes, which->count == 1 ? "t" : "ct");
    return MLDF_OK;
}

static void channels_dims(const struct op *op, const void *draw, const int64_t *in, int64_t *out) {
    (void)draw;
    out[0] = op->args[0].count;
    out[op->out.ndim - 1] = in[op->in.ndim - 1];
}

static mldf_status channels_run(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                                struct op_work *work, mldf_error *err) {
    size_t n = (size_t)in->dims[in->ndim - 1];
    (void)draw, (void)work, (void)err;
    for (uint32_t i = 0; i < op->args[0].count && n; i++)
        memcpy((float *)out->data + i * n, (const float *)in->data + (size_t)op->args[0].list[i] * n,
               n * sizeof(float));
    return MLDF_OK;
}

static const struct op_type op_channels = {
    .name = "channels",
    .help = "some of a recording's channels: (t) where it is one",
    .params = channels_params,
    .infer = channels_infer,
    .dims = channels_dims,
    .run = channels_run,
};

/* ---- gain, normalize_wave ---------------------------------------------------------------------------------------------------------------- */

struct gain_draw {
    float by;
};
static const struct op_param gain_params[] = {
    {"db", PARAM_FLOATS, NULL, -200, 200, NULL, 1, 2, "decibels; [least, most]: drawn between them for each sample"},
    OP_END_OF_PARAMS,
};

/* One number, or one between two. */
static double draw_between(const struct arg *range, struct rng *rng) {
    return range->count == 1 ? range->list[0] : mldfi_rng_uniform(rng, range->list[0], range->list[1]);
}

static mldf_status check_range(const struct arg *range, mldf_error *err) {
    return range->count == 2 && range->list[0] > range->list[1]
               ? mldfi_fail(err, MLDF_E_ARGUMENT, "[%g, %g]: the first is the least", range->list[0], range->list[1])
               : MLDF_OK;
}

static mldf_status range_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    mldf_status status = check_range(&op->args[0], err);
    return status < 0 ? status : wave_infer(op, in, out, err);
}

static double from_db(double db) {
    return mldfi_exp(db * 0.11512925464970229); /* ln 10 / 20 */
}

static mldf_status gain_draw(const struct op *op, struct rng *rng, const struct frame *frame, void *room,
                             struct frame *next, mldf_error *err) {
    (void)frame, (void)next, (void)err;
    ((struct gain_draw *)room)->by = (float)from_db(draw_between(&op->args[0], rng));
    return MLDF_OK;
}

static void scale(const struct tensor *in, struct tensor *out, double minus, double by) {
    const float *x = in->data;
    float *y = out->data;
    for (uint64_t i = 0, n = mldfi_tensor_count(in); i < n; i++)
        y[i] = (float)(((double)x[i] - minus) * by);
}

static mldf_status gain_run(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                            struct op_work *work, mldf_error *err) {
    (void)op, (void)work, (void)err;
    scale(in, out, 0, (double)((const struct gain_draw *)draw)->by);
    return MLDF_OK;
}

static const struct op_type op_gain = {
    .name = "gain",
    .help = "a recording louder or softer",
    .flags = OP_DRAWS | OP_RANDOM | OP_IN_PLACE,
    .params = gain_params,
    .draw_bytes = sizeof(struct gain_draw),
    .infer = range_infer,
    .draw = gain_draw,
    .run = gain_run,
};

enum { NORMALIZE_BY, NORMALIZE_DB };
enum { BY_PEAK, BY_RMS, BY_STANDARD };
static const char *const kinds[] = {"peak", "rms", "standard", NULL};
static const struct op_param normalize_params[] = {
    {"by", PARAM_CHOICE, "peak", 0, 0, kinds, 0, 0,
     "the greatest magnitude, or the root mean square, becomes `db`; standard: mean 0 and variance 1 "
     "((x - mean) / sqrt(variance + 1e-7), as wav2vec 2.0)"},
    {"db", PARAM_FLOAT, "0", -200, 200, NULL, 0, 0, "decibels of full scale, for peak and rms"},
    OP_END_OF_PARAMS,
};

struct level {
    double mean, square, peak; /* mean of the squares */
};

static struct level measure(const struct tensor *t) {
    struct level l = {0, 0, 0};
    uint64_t n = mldfi_tensor_count(t);
    for (uint64_t i = 0; i < n; i++) {
        double x = (double)((const float *)t->data)[i];
        l.mean += x;
        l.square += x * x;
        l.peak = fabs(x) > l.peak ? fabs(x) : l.peak;
    }
    l.mean = n ? l.mean / (double)n : 0;
    l.square = n ? l.square / (double)n : 0;
    return l;
}

static mldf_status normalize_run(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                                 struct op_work *work, mldf_error *err) {
    struct level l = measure(in);
    double to = from_db(op->args[NORMALIZE_DB].f), now = op->args[NORMALIZE_BY].i == BY_PEAK ? l.peak : sqrt(l.square);
    (void)draw, (void)work, (void)err;
    if (op->args[NORMALIZE_BY].i != BY_STANDARD) {
        scale(in, out, 0, now > 0 ? to / now : 1); /* silence stays */
        return MLDF_OK;
    }
    double squares = 0;
    uint64_t n = mldfi_tensor_count(in);
    for (uint64_t i = 0; i < n; i++) {
        double d = (double)((const float *)in->data)[i] - l.mean;
        squares += d * d;
    }
    scale(in, out, l.mean, 1 / sqrt((n ? squares / (double)n : 0) + 1e-7));
    return MLDF_OK;
}

static const struct op_type op_normalize_wave = {
    .name = "normalize_wave",
    .help = "a recording at a given level: by its peak, its root mean square, or its mean and variance",
    .flags = OP_IN_PLACE,
    .params = normalize_params,
    .infer = wave_infer,
    .run = normalize_run,
};

/* ---- noise, dither -------------------------------------------------------------------------------------------------------------------------- */

struct noise_draw {
    bool on;
    double db;
    struct rng rng;
};
_Static_assert(sizeof(struct noise_draw) <= OP_DRAW_BYTES, "a draw has its bounds");
enum { NOISE_SNR, NOISE_P };
static const struct op_param noise_params[] = {
    {"snr", PARAM_FLOATS, NULL, -200, 200, NULL, 1, 2,
     "decibels of the recording over the noise; [least, most]: drawn between them"},
    {"p", PARAM_FLOAT, "1", 0, 1, NULL, 0, 0, "the chance that noise is added"},
    OP_END_OF_PARAMS,
};
static const struct op_param dither_params[] = {
    {"amount", PARAM_FLOAT, "1", 0, 32768, NULL, 0, 0, "standard deviation, in steps of 16 bits (1 / 32768)"},
    OP_END_OF_PARAMS,
};

static mldf_status noise_draw(const struct op *op, struct rng *rng, const struct frame *frame, void *room,
                              struct frame *next, mldf_error *err) {
    struct noise_draw *d = room;
    bool dither = op->type->params == dither_params;
    (void)frame, (void)next, (void)err;
    d->on = dither || mldfi_rng_chance(rng, op->args[NOISE_P].f);
    d->db = dither ? 0 : draw_between(&op->args[NOISE_SNR], rng);
    d->rng = *rng;
    return MLDF_OK;
}

static mldf_status noise_run(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                             struct op_work *work, mldf_error *err) {
    const struct noise_draw *d = draw;
    struct rng rng = d->rng; /* of the draw a copy: a sample that is run again is the same */
    bool dither = op->type->params == dither_params;
    (void)work, (void)err;
    if (!d->on)
        return mldfi_op_copy(in, out);
    double by = dither ? op->args[0].f / 32768 : sqrt(measure(in).square) / from_db(d->db);
    const float *x = in->data;
    float *y = out->data;
    for (uint64_t i = 0, n = mldfi_tensor_count(in); i < n; i++)
        y[i] = (float)((double)x[i] + by * mldfi_rng_normal(&rng));
    return MLDF_OK;
}

static const struct op_type op_noise = {
    .name = "noise",
    .help = "adds white noise at a signal-to-noise ratio",
    .flags = OP_DRAWS | OP_RANDOM | OP_IN_PLACE,
    .params = noise_params,
    .draw_bytes = sizeof(struct noise_draw),
    .infer = range_infer,
    .draw = noise_draw,
    .run = noise_run,
};

static const struct op_type op_dither = {
    .name = "dither",
    .help = "adds white noise of a fixed strength, as Kaldi's dither",
    .flags = OP_DRAWS | OP_RANDOM | OP_IN_PLACE,
    .params = dither_params,
    .draw_bytes = sizeof(struct noise_draw),
    .infer = wave_infer,
    .draw = noise_draw,
    .run = noise_run,
};

/* ---- preemphasis -------------------------------------------------------------------------------------------------------------------------------- */

static const struct op_param preemphasis_params[] = {
    {"by", PARAM_FLOAT, "0.97", -1, 1, NULL, 0, 0, "x[i] - by * x[i - 1]; the first sample stays"},
    OP_END_OF_PARAMS,
};

static mldf_status preemphasis_run(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                                   struct op_work *work, mldf_error *err) {
    uint64_t n = in->dims[in->ndim - 1], rows = in->ndim == 2 ? in->dims[0] : 1;
    float by = (float)op->args[0].f;
    (void)draw, (void)work, (void)err;
    for (uint64_t c = 0; c < rows && n; c++) {
        const float *x = (const float *)in->data + c * n;
        float *y = (float *)out->data + c * n;
        for (uint64_t i = n; i-- > 1;)
            y[i] = x[i] - by * x[i - 1];
        y[0] = x[0];
    }
    return MLDF_OK;
}

static const struct op_type op_preemphasis = {
    .name = "preemphasis",
    .help = "a recording with its low tones reduced, as torchaudio's preemphasis",
    .flags = OP_IN_PLACE,
    .params = preemphasis_params,
    .infer = wave_infer,
    .run = preemphasis_run,
};

const struct op_type *const mldfi_ops_wave[] = {&op_mono,  &op_channels, &op_gain,        &op_normalize_wave,
                                                &op_noise, &op_dither,   &op_preemphasis, NULL};
