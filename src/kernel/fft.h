/* Eight frames of a recording at a time, one in each lane: the Fourier transform, sums over bands, logarithms. Every lane does the same scalar
 * operations in the same order whatever the instruction set, so all sets give the same bits; there are no shuffles except where frames are
 * taken into the lanes and out of them. The loops are in fft_loops.h, one text that is compiled for each set.
 *
 *     rows[8] ── load ──▶ [n][8] ── clean (Kaldi) ──▶ ── real ──▶ [bins][re, im][8] ── power ──▶ [bins][8] ── bands ──▶ [bands][8] ── store ──▶
 *
 * The transform is Stockham's, radix 4, 2, 3 and 5, of half as many complex points as the frame has samples (Van Loan, "Computational
 * Frameworks for the FFT", 1992, section 1.7). Its tables are computed in double and rounded once. */
#ifndef MLDF_KERNEL_FFT_H
#define MLDF_KERNEL_FFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mldf/base.h"

enum { FFT_LANES = 8, FFT_PASSES = 24, FFT_MAX = 1 << 16 };

struct fft_pass {
    uint32_t radix;
    uint32_t count;  /* butterflies that differ: points left / radix */
    uint32_t stride; /* points between neighbours */
    size_t
        twiddles; /* first of [count - 1][radix - 1] pairs (cos, sin) in fft.tables; the first butterfly needs none */
};
struct fft {
    uint32_t n;      /* samples of a frame */
    uint32_t bins;   /* n / 2 + 1 */
    uint32_t points; /* of the complex transform: n / 2, or n where n is odd */
    uint32_t pass_count;
    struct fft_pass passes[FFT_PASSES];
    float *tables;
    size_t turn; /* even n: (cos, sin) of 2πk / n for k in 0..points / 2 in tables */
};

/* n of the form 2^a 3^b 5^c, up to FFT_MAX. */
bool mldfi_fft_fits(uint64_t n);
mldf_status mldfi_fft_new(uint32_t n, struct fft *out, mldf_error *err);
void mldfi_fft_free(struct fft *fft);
/* Floats of memory that `real` works in. */
static inline size_t mldfi_fft_work(const struct fft *fft) {
    return (size_t)fft->points * 2 * FFT_LANES * (fft->n % 2 ? 2 : 1);
}

/* Weighted sums over neighbouring inputs: bands of a spectrum, phases of a resampler. */
struct band_table {
    uint32_t bands;
    const uint32_t *first, *count; /* inputs of each band */
    const uint32_t *at;            /* its first weight */
    const float *weights;
};

struct fft_kernels {
    /* out[i][lane] = rows[lane][i] * window[i], i < count; window NULL: 1. */
    void (*load)(const float *const rows[FFT_LANES], size_t count, const float *window, float *out);
    /* Kaldi: each frame without its mean (dc), x[i] - preemphasis * x[i - 1] (x[0] is its own neighbour), times the window. */
    void (*clean)(float *x, size_t count, bool dc, float preemphasis, const float *window);
    /* x: [n][lanes], which is used up; work: mldfi_fft_work floats; out: [bins][2][lanes]. */
    void (*real)(const struct fft *fft, float *x, float *work, float *out);
    /* [bins][2][lanes] → [bins][lanes]: re² + im²; root: the square root of it. */
    void (*power)(const float *spectrum, size_t bins, bool root, float *out);
    /* out[b][lane] = sum of weights * in[first + i][lane], in that order, beginning with 0. */
    void (*bands)(const struct band_table *table, const float *in, float *out);
    /* rows[lane][i] = in[i][lane] for the lanes < lanes. */
    void (*store)(const float *in, size_t count, float *const rows[FFT_LANES], unsigned lanes);
    /* out[i] = ln(max(in[i], floor)) * scale; floor > 0 and normal. NaN stays. in may be out. */
    void (*log)(const float *in, float *out, size_t count, float floor, float scale);
};

#endif
