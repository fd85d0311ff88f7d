/* log and db: spectra on a logarithmic scale; mfcc, delta and cmvn: what is made from them. log and db take any array of floats; the others a
 * spectrogram (grid.h). */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "kernel/fft.h"
#include "pipeline/grid.h"
#include "pipeline/op_help.h"
#include "pipeline/op_registry.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/math.h"

#define LEAST_NORMAL 0x1p-126

/* ---- log, db -------------------------------------------------------------------------------------------------------------------------- */

enum { LOG_FLOOR, LOG_BASE };
static const char *const base_words[] = {"e", "two", "ten", NULL};
static const float base_scale[] = {1, 1.4426950408889634F, 0.4342944819032518F};
static const struct op_param log_params[] = {
    {"floor", PARAM_FLOAT, "1e-10", LEAST_NORMAL, 1e30, NULL, 0, 0, "what is less is taken as this"},
    {"base", PARAM_CHOICE, "e", 0, 0, base_words, 0, 0, "of the logarithm: e, two or ten"},
    OP_END_OF_PARAMS,
};

static mldf_status float_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    if (in->kind != VALUE_ARRAY || in->dtype != MLDF_F32)
        return mldfi_edge_refuse(op, in, "an array of f32", err);
    *out = *in;
    return MLDF_OK;
}

static mldf_status log_run(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                           struct op_work *work, mldf_error *err) {
    (void)draw, (void)err;
    work->kernels->fft->log(in->data, out->data, (size_t)mldfi_tensor_count(in), (float)op->args[LOG_FLOOR].f,
                            base_scale[op->args[LOG_BASE].i]);
    return MLDF_OK;
}

static const struct op_type op_log = {
    .name = "log",
    .help = "the logarithm of every element",
    .flags = OP_IN_PLACE,
    .params = log_params,
    .infer = float_infer,
    .run = log_run,
};

enum { DB_TOP, DB_OF, DB_REF, DB_FLOOR };
static const char *const db_of[] = {"power", "magnitude", NULL};
static const char *const db_refs[] = {"one", "max", NULL};
static const struct op_param db_params[] = {
    {"top", PARAM_FLOAT, "0", 0, 1e6, NULL, 0, 0,
     "nothing is more than so many decibels below the value's greatest; 0: no limit"},
    {"of", PARAM_CHOICE, "power", 0, 0, db_of, 0, 0, "10 log10 x of powers, 20 log10 x of magnitudes"},
    {"ref", PARAM_CHOICE, "one", 0, 0, db_refs, 0, 0, "what is 0 dB: one, or the value's greatest"},
    {"floor", PARAM_FLOAT, "1e-10", LEAST_NORMAL, 1e30, NULL, 0, 0, "what is less is taken as this"},
    OP_END_OF_PARAMS,
};

static mldf_status db_run(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                          struct op_work *work, mldf_error *err) {
    size_t count = (size_t)mldfi_tensor_count(in);
    float *x = out->data, most = -INFINITY, top = (float)op->args[DB_TOP].f;
    (void)draw, (void)err;
    work->kernels->fft->log(in->data, x, count, (float)op->args[DB_FLOOR].f,
                            op->args[DB_OF].i ? 8.685889638065036F : 4.342944819032518F);
    if (top <= 0 && !op->args[DB_REF].i)
        return MLDF_OK;
    for (size_t i = 0; i < count; i++)
        most = x[i] > most ? x[i] : most;
    float minus = op->args[DB_REF].i ? most : 0, least = top > 0 ? most - minus - top : -INFINITY;
    for (size_t i = 0; i < count; i++) {
        float v = x[i] - minus;
        x[i] = v < least ? least : v;
    }
    return MLDF_OK;
}

static const struct op_type op_db = {
    .name = "db",
    .help =
        "decibels, as torchaudio's AmplitudeToDB and librosa's power_to_db; the greatest is that of the whole value",
    .flags = OP_IN_PLACE,
    .params = db_params,
    .infer = float_infer,
    .run = db_run,
};

/* ---- mfcc ------------------------------------------------------------------------------------------------------------------------------ */

enum { MFCC_COUNT, MFCC_LIFTER };
enum { MFCC_MAX = 4096 };
static const struct op_param mfcc_params[] = {
    {"count", PARAM_INT, "13", 1, MFCC_MAX, NULL, 0, 0, "coefficients, from the 0th"},
    {"lifter", PARAM_FLOAT, "0", 0, 1e6, NULL, 0, 0,
     "coefficient i times 1 + lifter / 2 sin(pi i / lifter), as Kaldi (22) has it; 0: none"},
    OP_END_OF_PARAMS,
};

/* The orthonormal DCT-II as dense bands. */
static mldf_status mfcc_table(struct band_table *t, uint32_t count, uint32_t bands, double lifter, mldf_error *err) {
    uint32_t *memory = mldfi_alloc_zero(3 * (size_t)count + (size_t)count * bands, sizeof *memory, err);
    if (!memory)
        return MLDF_E_MEMORY;
    uint32_t *many = memory + count, *at = many + count;
    float *weights = (float *)(void *)(at + count);
    *t = (struct band_table){count, memory, many, at, weights};
    for (uint32_t k = 0; k < count; k++) {
        double scale = sqrt((k ? 2.0 : 1.0) / bands);
        if (lifter > 0)
            scale *= 1 + lifter / 2 * mldfi_sin(3.14159265358979323846 * k / lifter);
        many[k] = bands;
        at[k] = k * bands;
        for (uint32_t b = 0; b < bands; b++) /* the angle in quarter turns of 4 · bands, so that it stays small */
            weights[k * bands + b] =
                (float)(scale * mldfi_cos(3.14159265358979323846 *
                                          (double)((uint64_t)k * (2 * b + 1) % (4 * (uint64_t)bands)) / (2.0 * bands)));
    }
    return MLDF_OK;
}

static void mfcc_free(void *state) {
    struct band_table *t = state;
    if (t)
        free((void *)(uintptr_t)t->first);
    free(t);
}

static mldf_status mfcc_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    uint32_t at = mldfi_grid_bands_at(in->axes);
    int64_t count = op->args[MFCC_COUNT].i;
    if (!mldfi_edge_is_grid(in) || in->dims[at] < 1 || in->dims[at] > MFCC_MAX)
        return mldfi_edge_refuse(op, in, "a spectrogram of up to 4096 bands on a logarithmic scale", err);
    if (count > in->dims[at])
        return mldfi_fail(err, MLDF_E_ARGUMENT, "%" PRId64 " coefficients of %" PRId64 " bands", count, in->dims[at]);
    struct band_table *t = op->state = mldfi_alloc_zero(1, sizeof *t, err);
    if (!t)
        return MLDF_E_MEMORY;
    *out = *in;
    return mfcc_table(t, (uint32_t)count, (uint32_t)in->dims[at], op->args[MFCC_LIFTER].f, err);
}

static void mfcc_dims(const struct op *op, const void *draw, const int64_t *in, int64_t *out) {
    (void)draw;
    memcpy(out, in, op->out.ndim * sizeof *out);
    out[mldfi_grid_bands_at(op->in.axes)] = op->args[MFCC_COUNT].i;
}

/* Eight frames into lanes, and results out of them. */
static void take_lanes(const struct fft_kernels *k, const struct grid *g, const float *in, uint64_t first,
                       unsigned lanes, float *x) {
    const float *rows[FFT_LANES];
    for (unsigned i = 0; i < FFT_LANES; i++)
        rows[i] = in + (first + (i < lanes ? i : 0)) * g->frame;
    if (g->band == 1) {
        k->load(rows, (size_t)g->bands, NULL, x);
        return;
    }
    for (uint64_t b = 0; b < g->bands; b++)
        memcpy(x + b * FFT_LANES, in + b * g->band + first, lanes * sizeof *x);
}

static void put_lanes(const struct fft_kernels *k, const struct grid *g, const float *x, uint64_t first, unsigned lanes,
                      float *out) {
    float *rows[FFT_LANES];
    for (unsigned i = 0; i < FFT_LANES; i++)
        rows[i] = out + (first + (i < lanes ? i : 0)) * g->frame;
    if (g->band == 1) {
        k->store(x, (size_t)g->bands, rows, lanes);
        return;
    }
    for (uint64_t b = 0; b < g->bands; b++)
        memcpy(out + b * g->band + first, x + b * FFT_LANES, lanes * sizeof *x);
}

static mldf_status mfcc_run(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                            struct op_work *work, mldf_error *err) {
    const struct band_table *table = op->state;
    const struct fft_kernels *k = work->kernels->fft;
    struct grid from = mldfi_grid_of(in), to = mldfi_grid_of(out);
    size_t room = (size_t)(from.bands + to.bands) * FFT_LANES;
    (void)draw;
    TRY(mldfi_buffer_resize(&work->scratch[0], room * sizeof(float), err));
    float *x = (float *)(void *)work->scratch[0].data, *y = x + from.bands * FFT_LANES;
    memset(x, 0, room * sizeof *x);
    for (uint64_t c = 0; c < from.items; c++)
        for (uint64_t f = 0; f < from.frames; f += FFT_LANES) {
            unsigned lanes = from.frames - f < FFT_LANES ? (unsigned)(from.frames - f) : FFT_LANES;
            take_lanes(k, &from, (const float *)in->data + c * from.item, f, lanes, x);
            k->bands(table, x, y);
            put_lanes(k, &to, y, f, lanes, (float *)out->data + c * to.item);
        }
    return MLDF_OK;
}

static const struct op_type op_mfcc = {
    .name = "mfcc",
    .help = "cepstral coefficients: the orthonormal DCT-II over the bands of a log or dB spectrogram",
    .params = mfcc_params,
    .infer = mfcc_infer,
    .free_state = mfcc_free,
    .dims = mfcc_dims,
    .run = mfcc_run,
};

/* ---- delta, cmvn --------------------------------------------------------------------------------------------------------------------------- */

enum { DELTA_WIDTH, DELTA_EDGES };
enum { DELTA_MAX = 1001 };
static const char *const edges[] = {"replicate", "interp", NULL};
static const struct op_param delta_params[] = {
    {"width", PARAM_INT, "5", 3, DELTA_MAX, NULL, 0, 0, "frames of the regression, odd (librosa's default is 9)"},
    {"edges", PARAM_CHOICE, "replicate", 0, 0, edges, 0, 0,
     "replicate: the end frames go on, as in torchaudio; interp: the slope of the first and last `width` frames, as in "
     "librosa"},
    OP_END_OF_PARAMS,
};

static mldf_status grid_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    if (!mldfi_edge_is_grid(in))
        return mldfi_edge_refuse(op, in, "a spectrogram", err);
    *out = *in;
    return MLDF_OK;
}

static mldf_status delta_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    if (op->args[DELTA_WIDTH].i % 2 == 0)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "width must be odd, not %" PRId64, op->args[DELTA_WIDTH].i);
    return grid_infer(op, in, out, err);
}

static mldf_status delta_shape(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                               mldf_error *err) {
    uint64_t frames = in->dims[in->axes[0] ? mldfi_axis(in->axes, 't') : 0];
    (void)draw, (void)out;
    if (op->args[DELTA_EDGES].i && frames < (uint64_t)op->args[DELTA_WIDTH].i)
        return mldfi_fail(err, MLDF_E_RANGE, "%" PRIu64 " frames, and edges=interp needs %" PRId64, frames,
                          op->args[DELTA_WIDTH].i);
    return MLDF_OK;
}

/* The slope at frame t of one band, frames `step` apart. */
static float slope(const float *x, size_t step, int64_t frames, int64_t t, int64_t n, float denominator) {
    float sum = 0;
    for (int64_t k = 1; k <= n; k++) {
        int64_t a = t - k < 0 ? 0 : t - k, b = t + k >= frames ? frames - 1 : t + k;
        sum += (float)k * (x[(size_t)b * step] - x[(size_t)a * step]);
    }
    return sum / denominator;
}

static mldf_status delta_run(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                             struct op_work *work, mldf_error *err) {
    struct grid g = mldfi_grid_of(in);
    int64_t n = (op->args[DELTA_WIDTH].i - 1) / 2, frames = (int64_t)g.frames;
    bool interp = op->args[DELTA_EDGES].i != 0;
    float denominator = (float)n * (float)(n + 1) * (float)(2 * n + 1) / 3;
    (void)draw, (void)work, (void)err;
    for (uint64_t c = 0; c < g.items; c++)
        for (uint64_t b = 0; b < g.bands; b++) {
            size_t at = c * g.item + b * g.band;
            for (int64_t t = 0; t < frames; t++) {
                int64_t near = t < n ? n : t > frames - 1 - n ? frames - 1 - n : t;
                ((float *)out->data)[at + (size_t)t * g.frame] =
                    slope((const float *)in->data + at, g.frame, frames, interp ? near : t, n, denominator);
            }
        }
    return MLDF_OK;
}

static const struct op_type op_delta = {
    .name = "delta",
    .help = "how a spectrogram changes: the slope of each band over neighbouring frames",
    .params = delta_params,
    .infer = delta_infer,
    .shape = delta_shape,
    .run = delta_run,
};

enum { CMVN_VARIANCE };
static const struct op_param cmvn_params[] = {
    {"variance", PARAM_BOOL, "true", 0, 0, NULL, 0, 0,
     "also divides by the standard deviation (of the frames, not n - 1)"},
    OP_END_OF_PARAMS,
};

static mldf_status cmvn_run(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                            struct op_work *work, mldf_error *err) {
    struct grid g = mldfi_grid_of(in);
    (void)draw, (void)work, (void)err;
    for (uint64_t i = 0; i < g.items * g.bands && g.frames; i++) {
        size_t at = (size_t)(i / g.bands) * g.item + (size_t)(i % g.bands) * g.band;
        const float *x = (const float *)in->data + at;
        float *y = (float *)out->data + at;
        double sum = 0, squares = 0, scale = 1;
        for (uint64_t t = 0; t < g.frames; t++)
            sum += (double)x[t * g.frame];
        double mean = sum / (double)g.frames;
        for (uint64_t t = 0; t < g.frames; t++) {
            double d = (double)x[t * g.frame] - mean;
            squares += d * d;
        }
        double variance = squares / (double)g.frames;
        if (op->args[CMVN_VARIANCE].i)
            scale = 1 / sqrt(variance < 1e-20 ? 1e-20 : variance);
        for (uint64_t t = 0; t < g.frames; t++)
            y[t * g.frame] = (float)(((double)x[t * g.frame] - mean) * scale);
    }
    return MLDF_OK;
}

static const struct op_type op_cmvn = {
    .name = "cmvn",
    .help = "each band of a spectrogram with mean 0 and variance 1 over the value's frames",
    .flags = OP_IN_PLACE,
    .params = cmvn_params,
    .infer = grid_infer,
    .run = cmvn_run,
};

const struct op_type *const mldfi_ops_log[] = {&op_log, &op_db, &op_mfcc, &op_delta, &op_cmvn, NULL};
