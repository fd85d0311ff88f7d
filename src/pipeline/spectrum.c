/* Frames of recordings through the transform, eight at a time: see spectrum.h. */
#include "pipeline/spectrum.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "util/buffer.h"
#include "util/error.h"
#include "util/math.h"

#define TAU 6.28318530717958647692

void mldfi_spectrum_free(struct spectrum *s) {
    mldfi_fft_free(&s->fft);
    free(s->window);
    free(s->band_memory);
    s->window = NULL;
    s->band_memory = NULL;
}

mldf_status mldfi_spectrum_hann(struct spectrum *s, uint32_t n_fft, uint32_t win, uint32_t hop, mldf_error *err) {
    if (win > n_fft)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "win %" PRIu32 " is more than n_fft %" PRIu32, win, n_fft);
    TRY(mldfi_fft_new(n_fft, &s->fft, err));
    s->length = n_fft;
    s->hop = hop;
    s->offset = n_fft / 2;
    s->window = mldfi_alloc_zero(n_fft, sizeof *s->window, err);
    if (!s->window)
        return MLDF_E_MEMORY;
    for (uint32_t i = 0; i < win; i++)
        s->window[(n_fft - win) / 2 + i] = (float)(0.5 - 0.5 * mldfi_cos(TAU * i / win));
    return MLDF_OK;
}

mldf_status mldfi_spectrum_povey(struct spectrum *s, uint32_t win, uint32_t hop, double gain, mldf_error *err) {
    uint32_t n_fft = 1;
    while (n_fft < win)
        n_fft *= 2;
    TRY(mldfi_fft_new(n_fft, &s->fft, err));
    s->length = win;
    s->hop = hop;
    s->offset = 0;
    s->window = mldfi_alloc_zero(win, sizeof *s->window, err);
    if (!s->window)
        return MLDF_E_MEMORY;
    for (uint32_t i = 0; i < win; i++)
        s->window[i] = (float)(gain * mldfi_pow(0.5 - 0.5 * mldfi_cos(win > 1 ? TAU * i / (win - 1) : 0), 0.85));
    return MLDF_OK;
}

uint64_t mldfi_spectrum_frames(const struct spectrum *s, uint64_t n) {
    if (s->pad == FRAME_SNIP)
        return n < s->length ? 0 : 1 + (n - s->length) / s->hop;
    if (s->pad == FRAME_MIRROR)
        return n / s->hop + (n % s->hop + s->hop / 2) / s->hop;
    /* center: the recording with half a frame on both sides; for odd sizes one sample is missing at the end */
    uint64_t room = n + 2 * (uint64_t)s->offset, frames = room < s->length ? 0 : 1 + (room - s->length) / s->hop;
    return frames - (s->drop_last && frames);
}

mldf_status mldfi_spectrum_check(const struct spectrum *s, uint64_t n, mldf_error *err) {
    if (s->pad != FRAME_REFLECT || n > s->offset)
        return MLDF_OK;
    return mldfi_fail(err, MLDF_E_RANGE,
                      "the recording has %" PRIu64 " samples, and its ends cannot be reflected: at least %" PRIu32
                      " are needed",
                      n, s->offset + 1);
}

/* ---- Frames -------------------------------------------------------------------------------------------------------------------------- */

/* Sample i of the padded recording; n > 0 unless zeros are wanted. */
static float padded(const struct spectrum *s, const float *in, int64_t n, int64_t i) {
    while (i < 0 || i >= n) {
        if (s->pad == FRAME_REFLECT)
            i = i < 0 ? -i : 2 * (n - 1) - i;
        else if (s->pad == FRAME_MIRROR)
            i = i < 0 ? -i - 1 : 2 * n - 1 - i;
        else
            return 0;
    }
    return in[i];
}

/* Where frame f is: in the recording, or at one of its ends and so put together in `room`. */
static const float *frame_at(const struct spectrum *s, const float *in, uint64_t n, uint64_t f, float *room) {
    int64_t from = (int64_t)(f * s->hop) - (int64_t)s->offset;
    if (from >= 0 && (uint64_t)from + s->length <= n)
        return in + from;
    for (uint32_t i = 0; i < s->length; i++)
        room[i] = padded(s, in, (int64_t)n, from + i);
    return room;
}

/* A worker's memory for eight frames. */
struct block {
    float *ends, *x, *work, *spectrum, *power, *bands;
};

static mldf_status make_block(const struct spectrum *s, struct op_work *work, struct block *b, mldf_error *err) {
    size_t ends = (size_t)s->length * FFT_LANES, x = (size_t)s->fft.n * FFT_LANES, inner = mldfi_fft_work(&s->fft);
    size_t bins = (size_t)s->fft.bins * FFT_LANES, bands = (size_t)s->bands.bands * FFT_LANES;
    size_t floats = ends + x + inner + 3 * bins + bands;
    TRY(mldfi_buffer_resize(&work->scratch[0], floats * sizeof(float), err));
    b->x = (float *)(void *)work->scratch[0].data; /* aligned to 64, as all that follow are to 32 */
    b->work = b->x + x;
    b->spectrum = b->work + inner;
    b->power = b->spectrum + 2 * bins;
    b->bands = b->power + bins;
    b->ends = b->bands + bands;
    return MLDF_OK;
}

static void put_complex(const float *spectrum, uint32_t bins, float *out, uint64_t frames, uint64_t first,
                        unsigned lanes) {
    for (uint32_t i = 0; i < bins; i++)
        for (unsigned k = 0; k < lanes; k++) {
            float *to = out + 2 * (i * frames + first + k);
            to[0] = spectrum[i * 16 + k];
            to[1] = spectrum[i * 16 + 8 + k];
        }
}

static void put(const struct op_work *work, const float *lanes8, uint32_t rows, enum spectrum_layout layout, float *out,
                uint64_t frames, uint64_t first, unsigned lanes) {
    float *to[FFT_LANES];
    if (layout == SPECTRUM_FT) {
        for (uint32_t i = 0; i < rows; i++)
            memcpy(out + i * frames + first, lanes8 + (size_t)i * FFT_LANES, lanes * sizeof *out);
        return;
    }
    for (unsigned k = 0; k < FFT_LANES; k++)
        to[k] = out + (first + (k < lanes ? k : 0)) * rows;
    work->kernels->fft->store(lanes8, rows, to, lanes);
}

mldf_status mldfi_spectrum_run(const struct spectrum *s, const float *in, uint64_t n, enum spectrum_layout layout,
                               float *out, struct op_work *work, mldf_error *err) {
    const struct fft_kernels *k = work->kernels->fft;
    uint64_t frames = mldfi_spectrum_frames(s, n);
    struct block b = {0};
    mldf_status status = mldfi_spectrum_check(s, n, err);
    if (status == MLDF_OK)
        status = make_block(s, work, &b, err);
    if (status < 0)
        return status;
    for (uint64_t f = 0; f < frames; f += FFT_LANES) {
        unsigned lanes = frames - f < FFT_LANES ? (unsigned)(frames - f) : FFT_LANES;
        const float *rows[FFT_LANES];
        for (unsigned i = 0; i < FFT_LANES; i++) /* lanes without a frame do the last one's work again */
            rows[i] = i < lanes ? frame_at(s, in, n, f + i, b.ends + (size_t)i * s->length) : rows[lanes - 1];
        bool kaldi = s->dc || s->preemphasis > 0;
        k->load(rows, s->length, kaldi ? NULL : s->window, b.x);
        if (kaldi)
            k->clean(b.x, s->length, s->dc, s->preemphasis, s->window);
        memset(b.x + (size_t)s->length * FFT_LANES, 0, (size_t)(s->fft.n - s->length) * FFT_LANES * sizeof *b.x);
        k->real(&s->fft, b.x, b.work, b.spectrum);
        if (layout == SPECTRUM_COMPLEX) {
            put_complex(b.spectrum, s->fft.bins, out, frames, f, lanes);
            continue;
        }
        k->power(b.spectrum, s->fft.bins, s->magnitude, b.power);
        if (s->bands.bands)
            k->bands(&s->bands, b.power, b.bands);
        put(work, s->bands.bands ? b.bands : b.power, mldfi_spectrum_rows(s), layout, out, frames, f, lanes);
    }
    return MLDF_OK;
}
