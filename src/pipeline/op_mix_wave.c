/* Two recordings made one: add_noise puts the second under the first at a signal-to-noise ratio, mix_sample does so with the recording of another sample,
 * reverb lets the first sound in the room whose impulse response the second is.
 *
 *     heard = [audio, noise]: add_noise(snr=[0, 20])
 *     audio: mix_sample(snr=[0, 20], p=0.2)
 *     heard = [audio, room]: reverb(p=0.5)
 *
 * The result is as long as the first recording. Convolutions are done by overlap-add, eight blocks in the eight lanes of the transform (kernel/fft.h),
 * so every instruction set gives the same bits. The way back is the forward transform too: of a real signal y with spectrum Y, w = Re Y - Im Y is its
 * Hartley transform, which is its own inverse, and Hartley's transform of w is Re W - Im W. */
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/fft.h"
#include "pipeline/op_help.h"
#include "pipeline/op_registry.h"
#include "pipeline/spectrum.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/math.h"

/* ---- What both share ------------------------------------------------------------------------------------------------------------------ */

static uint64_t channels_of(const struct tensor *t) {
    return t->ndim == 2 ? t->dims[0] : 1;
}

/* Numbers of channels that vary are known with the values alone. */
static mldf_status same_channels(const struct tensor *in, mldf_error *err) {
    uint64_t own = channels_of(&in[0]), other = channels_of(&in[1]);
    if (other == 1 || other == own)
        return MLDF_OK;
    return mldfi_fail(err, MLDF_E_RANGE,
                      "%" PRIu64 " channels beside a recording of %" PRIu64 ": one, or as many, are needed", other,
                      own);
}

static mldf_status two_waves(struct op *op, const struct edge *in, size_t count, const char *second, struct edge *out,
                             mldf_error *err) {
    if (count != 2)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "it takes two inputs, a recording and %s, not %zu", second, count);
    for (size_t i = 0; i < 2; i++)
        if (!mldfi_edge_is_wave(&in[i]))
            return mldfi_edge_refuse(op, &in[i], i ? second : "a recording", err);
    int64_t own = in[0].ndim == 2 ? in[0].dims[0] : 1, other = in[1].ndim == 2 ? in[1].dims[0] : 1;
    if (other != 1 && other != own)
        return mldfi_fail(err, MLDF_E_TYPE,
                          "%s of %" PRId64 " channels for a recording of %" PRId64 ": it has one, or as many", second,
                          other, own);
    if (in[0].rate.den && in[1].rate.den && in[0].rate.num * in[1].rate.den != in[1].rate.num * in[0].rate.den)
        return mldfi_fail(err, MLDF_E_TYPE,
                          "%s at another rate than the recording's; decode_audio(rate=) or resample makes them equal",
                          second);
    *out = in[0];
    return MLDF_OK;
}

static mldf_status as_first(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                            mldf_error *err) {
    (void)op, (void)draw, (void)err;
    memcpy(out->dims, in[0].dims, sizeof out->dims);
    return MLDF_OK;
}

/* ---- add_noise -------------------------------------------------------------------------------------------------------------------------- */

struct noise_draw {
    bool on;
    uint64_t sample;  /* mix_sample: whose it is */
    double db, place; /* place: where the noise begins, of the places that there are */
};
enum { NOISE_SNR, NOISE_P };
static const struct op_param noise_params[] = {
    {"snr", PARAM_FLOATS, NULL, -200, 200, NULL, 1, 2,
     "decibels of the recording over the noise; [least, most]: drawn between them"},
    {"p", PARAM_FLOAT, "1", 0, 1, NULL, 0, 0, "the chance that noise is added"},
    OP_END_OF_PARAMS,
};

static mldf_status check_snr(const struct op *op, mldf_error *err) {
    const struct arg *snr = &op->args[NOISE_SNR];
    if (snr->count == 2 && snr->list[0] > snr->list[1])
        return mldfi_fail(err, MLDF_E_ARGUMENT, "[%g, %g]: the first is the least", snr->list[0], snr->list[1]);
    return MLDF_OK;
}

static mldf_status noise_infer(struct op *op, const struct edge *in, size_t count, struct edge *out, mldf_error *err) {
    mldf_status status = check_snr(op, err);
    return status < 0 ? status : two_waves(op, in, count, "noise", out, err);
}

static mldf_status draw_noise(const struct op *op, struct rng *rng, const struct frame *frame, void *room,
                              struct frame *next, mldf_error *err) {
    const struct arg *snr = &op->args[NOISE_SNR];
    struct noise_draw *d = room;
    (void)next, (void)err;
    d->sample = frame->sample;
    d->on = mldfi_rng_chance(rng, op->args[NOISE_P].f);
    d->db = snr->count == 1 ? snr->list[0] : mldfi_rng_uniform(rng, snr->list[0], snr->list[1]);
    d->place = mldfi_rng_uniform(rng, 0, 1);
    return MLDF_OK;
}

/* Noise that is longer begins anywhere; noise that is shorter begins anywhere in itself, and again from its beginning. */
static uint64_t noise_start(const struct noise_draw *d, uint64_t n, uint64_t m) {
    uint64_t places = m >= n ? m - n + 1 : m, start = (uint64_t)(d->place * (double)places);
    return start < places ? start : places - 1;
}

/* y = x + noise from its sample `start` on; y may be x. Energies are those of what is heard, as torchaudio.functional.add_noise has them. */
static void mix_noise(const float *x, uint64_t n, const float *noise, uint64_t m, uint64_t start, double db, float *y) {
    double signal = 0, heard = 0;
    for (uint64_t i = 0, at = start; i < n; i++, at = at + 1 < m ? at + 1 : 0) {
        signal += (double)x[i] * (double)x[i];
        heard += (double)noise[at] * (double)noise[at];
    }
    double by = heard > 0 ? sqrt(signal / heard) * mldfi_exp(-db * 0.11512925464970229) : 0; /* ln 10 / 20 */
    for (uint64_t i = 0, at = start; i < n; i++, at = at + 1 < m ? at + 1 : 0)
        y[i] = (float)((double)x[i] + by * (double)noise[at]);
}

static mldf_status run_noise(const struct op *op, const void *draw, const struct tensor *in, size_t count,
                             struct tensor *out, struct op_work *work, mldf_error *err) {
    const struct noise_draw *d = draw;
    uint64_t n = in[0].dims[in[0].ndim - 1], m = in[1].dims[in[1].ndim - 1], others = channels_of(&in[1]);
    mldf_status status = same_channels(in, err);
    (void)op, (void)count, (void)work;
    if (status < 0 || !d->on || m == 0)
        return status < 0 ? status : mldfi_op_copy(&in[0], out);
    uint64_t start = noise_start(d, n, m);
    for (uint64_t c = 0; c < channels_of(&in[0]); c++)
        mix_noise((const float *)in[0].data + c * n, n, (const float *)in[1].data + (others > 1 ? c : 0) * m, m, start,
                  d->db, (float *)out->data + c * n);
    return MLDF_OK;
}

static const struct op_type op_add_noise = {
    .name = "add_noise",
    .help = "[recording, noise]: the noise under the recording at a signal-to-noise ratio, as torchaudio's add_noise",
    .flags = OP_INPUTS | OP_DRAWS | OP_RANDOM,
    .params = noise_params,
    .draw_bytes = sizeof(struct noise_draw),
    .infer_many = noise_infer,
    .draw = draw_noise,
    .shape = as_first,
    .run_many = run_noise,
};

/* ---- mix_sample ------------------------------------------------------------------------------------------------------------------------- */

static mldf_status sample_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    mldf_status status = check_snr(op, err);
    *out = *in;
    if (status == MLDF_OK && !mldfi_edge_is_wave(in))
        status = mldfi_edge_refuse(op, in, "a recording", err);
    return status;
}

static mldf_status copy_sample(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                               struct op_work *work, mldf_error *err) {
    (void)op, (void)draw, (void)work, (void)err;
    return mldfi_op_copy(in, out);
}

/* A sample that is its own partner, at the end of an epoch or where the order repeats samples. */
static bool is_itself(const struct noise_draw *a, const struct noise_draw *b, const struct tensor *x,
                      const struct tensor *y) {
    return a->sample == b->sample && memcmp(x->dims, y->dims, x->ndim * sizeof x->dims[0]) == 0 &&
           memcmp(x->data, y->data, mldfi_tensor_bytes(x)) == 0;
}

/* `other`: as it was before the mixture, with as many channels. */
static void mix_side(const struct noise_draw *d, const struct tensor *own, const float *other, uint64_t m) {
    uint64_t n = own->dims[own->ndim - 1];
    for (uint64_t c = 0; d->on && n && m && c < channels_of(own); c++)
        mix_noise((const float *)own->data + c * n, n, other + c * m, m, noise_start(d, n, m), d->db,
                  (float *)own->data + c * n);
}

static mldf_status run_sample(const struct op *op, const void *draw_a, const void *draw_b, struct tensor *a,
                              struct tensor *b, struct op_work *work, mldf_error *err) {
    const struct noise_draw *da = draw_a, *db = draw_b;
    size_t bytes = mldfi_tensor_bytes(a);
    (void)op;
    if (channels_of(a) != channels_of(b)) /* each is read in the channels of the other */
        return mldfi_fail(err, MLDF_E_RANGE,
                          "recordings of %" PRIu64 " and of %" PRIu64 " channels; mix_sample needs as many in both",
                          channels_of(a), channels_of(b));
    if (is_itself(da, db, a, b))
        return MLDF_OK;
    TRY(mldfi_buffer_resize(&work->scratch[0], bytes + 1, err));
    if (bytes)
        memcpy(work->scratch[0].data, a->data, bytes);
    mix_side(da, a, b->data, b->dims[b->ndim - 1]);
    mix_side(db, b, (const float *)(void *)work->scratch[0].data, a->dims[a->ndim - 1]);
    return MLDF_OK;
}

static const struct op_type op_mix_sample = {
    .name = "mix_sample",
    .help = "another sample's recording under this one at a signal-to-noise ratio: its partner's, as in mixup",
    .flags = OP_DRAWS | OP_RANDOM | OP_PAIR | OP_IN_PLACE,
    .params = noise_params,
    .draw_bytes = sizeof(struct noise_draw),
    .infer = sample_infer,
    .draw = draw_noise,
    .run = copy_sample,
    .run_pair = run_sample,
};

/* ---- reverb ------------------------------------------------------------------------------------------------------------------------------- */

struct reverb_draw {
    bool on;
};
enum { REVERB_P, REVERB_NORMALIZE, REVERB_ALIGN };
static const struct op_param reverb_params[] = {
    {"p", PARAM_FLOAT, "1", 0, 1, NULL, 0, 0, "the chance that it is done"},
    {"normalize", PARAM_BOOL, "true", 0, 0, NULL, 0, 0, "the impulse response divided by its root sum of squares"},
    {"align", PARAM_BOOL, "true", 0, 0, NULL, 0, 0,
     "begin where the impulse response is loudest, so that the sound stays where it was in time"},
    OP_END_OF_PARAMS,
};

static mldf_status draw_reverb(const struct op *op, struct rng *rng, const struct frame *frame, void *room,
                               struct frame *next, mldf_error *err) {
    (void)frame, (void)next, (void)err;
    ((struct reverb_draw *)room)->on = mldfi_rng_chance(rng, op->args[REVERB_P].f);
    return MLDF_OK;
}

enum { PIECE_LEAST = 512, FFT_SIZES = 7 };
_Static_assert(2 * PIECE_LEAST << (FFT_SIZES - 1) == FFT_MAX, "one transform for each size");

/* The transforms of all samples: how long impulse responses are decides which are made, once each. */
struct reverb_state {
    pthread_mutex_t lock; /* guards what follows; transforms that were given out do not change */
    struct fft ffts[FFT_SIZES];
};

static mldf_status reverb_infer(struct op *op, const struct edge *in, size_t count, struct edge *out, mldf_error *err) {
    struct reverb_state *s = op->state = mldfi_alloc_zero(1, sizeof *s, err);
    if (!s)
        return MLDF_E_MEMORY;
    pthread_mutex_init(&s->lock, NULL);
    return two_waves(op, in, count, "an impulse response", out, err);
}

static void free_reverb(void *state) {
    struct reverb_state *s = state;
    for (size_t i = 0; s && i < FFT_SIZES; i++)
        mldfi_fft_free(&s->ffts[i]);
    if (s)
        pthread_mutex_destroy(&s->lock);
    free(s);
}

/* The transform of blocks that a piece of the impulse response fits into twice. */
static mldf_status get_fft(struct reverb_state *s, uint64_t piece, const struct fft **out, mldf_error *err) {
    size_t i = 0;
    mldf_status status = MLDF_OK;
    while (i + 1 < FFT_SIZES && ((uint64_t)PIECE_LEAST << i) < piece)
        i++;
    pthread_mutex_lock(&s->lock);
    if (!s->ffts[i].n && (status = mldfi_fft_new(2 * PIECE_LEAST << i, &s->ffts[i], err)) < 0)
        s->ffts[i] = (struct fft){0};
    pthread_mutex_unlock(&s->lock);
    *out = &s->ffts[i];
    return status;
}

struct convolution {
    const struct fft *fft;
    const struct fft_kernels *kernels;
    float *lanes, *room, *spectrum, *response; /* [n][8]; the transform's work; [bins][2][8]; [bins][2] */
};

/* In the worker's scratch, which grows to what the longest impulse response needs and stays. */
static mldf_status begin_convolution(const struct fft *fft, struct op_work *work, struct convolution *v,
                                     mldf_error *err) {
    size_t all = (size_t)fft->n * FFT_LANES, wide = (size_t)fft->bins * 2 * FFT_LANES, room = mldfi_fft_work(fft);
    mldf_status status =
        mldfi_buffer_resize(&work->scratch[0], (all + room + wide + (size_t)fft->bins * 2) * sizeof(float), err);
    if (status < 0)
        return status;
    v->fft = fft;
    v->kernels = work->kernels->fft;
    v->lanes = (float *)(void *)work->scratch[0].data;
    v->room = v->lanes + all;
    v->spectrum = v->room + room;
    v->response = v->spectrum + wide;
    return MLDF_OK;
}

/* The spectrum of a piece of the impulse response: into `response`, from lane 0. */
static void take_response(struct convolution *v, const float *h, uint64_t count, float by) {
    memset(v->lanes, 0, (size_t)v->fft->n * FFT_LANES * sizeof(float));
    for (uint64_t i = 0; i < count; i++)
        v->lanes[i * FFT_LANES] = h[i] * by;
    v->kernels->real(v->fft, v->lanes, v->room, v->spectrum);
    for (size_t k = 0; k < (size_t)v->fft->bins * 2; k++)
        v->response[k] = v->spectrum[k * FFT_LANES];
}

/* Eight blocks from sample `at` of x on, convolved; y[i] is sample i + shift of the result. */
static void eight_blocks(struct convolution *v, const float *x, uint64_t n, uint64_t at, int64_t shift, float *y) {
    uint32_t size = v->fft->n, block = size / 2;
    memset(v->lanes, 0, (size_t)size * FFT_LANES * sizeof(float));
    for (unsigned lane = 0; lane < FFT_LANES; lane++) {
        uint64_t from = at + (uint64_t)lane * block;
        for (uint64_t i = 0; i < block && from + i < n; i++)
            v->lanes[i * FFT_LANES + lane] = x[from + i];
    }
    v->kernels->real(v->fft, v->lanes, v->room, v->spectrum);
    for (uint32_t k = 0; k < v->fft->bins; k++) {
        float hr = v->response[2 * k], hi = v->response[2 * k + 1];
        const float *s = v->spectrum + (size_t)k * 2 * FFT_LANES;
        for (unsigned lane = 0; lane < FFT_LANES; lane++) {
            float re = s[lane] * hr - s[FFT_LANES + lane] * hi, im = s[lane] * hi + s[FFT_LANES + lane] * hr;
            v->lanes[(size_t)k * FFT_LANES + lane] = re - im;
            if (k && k < size - k)
                v->lanes[(size_t)(size - k) * FFT_LANES + lane] = re + im;
        }
    }
    v->kernels->real(v->fft, v->lanes, v->room, v->spectrum);
    for (unsigned lane = 0; lane < FFT_LANES; lane++) {
        int64_t to = (int64_t)(at + (uint64_t)lane * block) - shift; /* of the block's first sample */
        if (at + (uint64_t)lane * block >= n)
            break;
        for (uint32_t i = 0; i < size; i++) {
            uint32_t k = i <= size / 2 ? i : size - i;
            float re = v->spectrum[(size_t)k * 2 * FFT_LANES + lane],
                  im = v->spectrum[((size_t)k * 2 + 1) * FFT_LANES + lane];
            if (to + i >= 0 && (uint64_t)(to + i) < n)
                y[to + i] += (i == k ? re - im : re + im) / (float)size;
        }
    }
}

/* y = x * h from sample `shift` of it on, as long as x. */
static void convolve(struct convolution *v, const float *x, uint64_t n, const float *h, uint64_t m, float by,
                     uint64_t shift, float *y) {
    uint64_t piece = v->fft->n / 2;
    memset(y, 0, (size_t)n * sizeof *y);
    for (uint64_t p = 0; p < m; p += piece) {
        take_response(v, h + p, m - p < piece ? m - p : piece, by);
        for (uint64_t at = 0; at < n; at += (uint64_t)FFT_LANES * piece)
            eight_blocks(v, x, n, at, (int64_t)shift - (int64_t)p, y);
    }
}

static mldf_status run_reverb(const struct op *op, const void *draw, const struct tensor *in, size_t count,
                              struct tensor *out, struct op_work *work, mldf_error *err) {
    uint64_t n = in[0].dims[in[0].ndim - 1], m = in[1].dims[in[1].ndim - 1], others = channels_of(&in[1]);
    mldf_status status = same_channels(in, err);
    (void)count;
    if (status < 0 || !((const struct reverb_draw *)draw)->on || n == 0)
        return status < 0 ? status : mldfi_op_copy(&in[0], out);
    if (m == 0)
        return mldfi_fail(err, MLDF_E_RANGE, "the impulse response has no samples");
    const struct fft *fft;
    struct convolution v;
    status = get_fft(op->state, m, &fft, err);
    if (status == MLDF_OK)
        status = begin_convolution(fft, work, &v, err);
    if (status < 0)
        return status;
    for (uint64_t c = 0; c < channels_of(&in[0]); c++) {
        const float *h = (const float *)in[1].data + (others > 1 ? c : 0) * m;
        double squares = 0;
        uint64_t loudest = 0;
        for (uint64_t i = 0; i < m; i++) {
            squares += (double)h[i] * (double)h[i];
            loudest = fabsf(h[i]) > fabsf(h[loudest]) ? i : loudest;
        }
        float by = op->args[REVERB_NORMALIZE].i && squares > 0 ? (float)(1 / sqrt(squares)) : 1;
        convolve(&v, (const float *)in[0].data + c * n, n, h, m, by, op->args[REVERB_ALIGN].i ? loudest : 0,
                 (float *)out->data + c * n);
    }
    return MLDF_OK;
}

static const struct op_type op_reverb = {
    .name = "reverb",
    .help = "[recording, impulse response]: the recording as it sounds in that room, as long as before",
    .flags = OP_INPUTS | OP_DRAWS | OP_RANDOM,
    .params = reverb_params,
    .draw_bytes = sizeof(struct reverb_draw),
    .infer_many = reverb_infer,
    .free_state = free_reverb,
    .draw = draw_reverb,
    .shape = as_first,
    .run_many = run_reverb,
};

const struct op_type *const mldfi_ops_mix_wave[] = {&op_add_noise, &op_mix_sample, &op_reverb, NULL};
