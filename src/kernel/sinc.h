/* Resampling of recordings as torchaudio defines it: a sinc of six zero crossings on each side under a Hann window, cut off at 0.99 of the lower rate.
 * For a ratio orig : new without a common factor, output j of block b (j < new) is
 *
 *     y[b·new + j] = Σ_k  h_j[k] · x[b·orig + k - width]        h computed in double, rounded to float; taps with |t| >= 6 left out; sums in the order of k
 *
 * The phases are anchored at sample 0, so a piece of the result has the same bits as the same piece of the whole. Eight blocks go through the lanes
 * of fft.h at a time; where `new` is small, several blocks are one. */
#ifndef MLDF_KERNEL_SINC_H
#define MLDF_KERNEL_SINC_H

#include "kernel/fft.h"

enum { SINC_TAPS_MAX = 1 << 22 };

struct sinc {
    uint32_t orig, new;    /* reduced */
    uint32_t step, phases; /* inputs and outputs of a block: multiples of orig and new */
    uint32_t width;        /* inputs in front of a block, and behind it, that matter */
    struct band_table taps;
    void *memory;
};
/* From a rate to another. Refuses more than SINC_TAPS_MAX taps. */
mldf_status mldfi_sinc_new(uint32_t from, uint32_t to, struct sinc *out, mldf_error *err);
void mldfi_sinc_free(struct sinc *s);

/* ⌈n · new / orig⌉; UINT64_MAX where that does not fit. */
uint64_t mldfi_sinc_length(const struct sinc *s, uint64_t n);
/* The inputs [*from, *from + *count) of a recording of n that outputs [first, first + outputs) are made from. */
void mldfi_sinc_inputs(const struct sinc *s, uint64_t n, uint64_t first, uint64_t outputs, uint64_t *from,
                       uint64_t *count);
/* Floats of memory that mldfi_sinc_run works in. */
size_t mldfi_sinc_work(const struct sinc *s);
/* Outputs [first, first + outputs) from inputs [from, from + count); inputs that are not there are 0. */
void mldfi_sinc_run(const struct sinc *s, const struct fft_kernels *k, const float *in, uint64_t from, uint64_t count,
                    uint64_t first, uint64_t outputs, float *out, float *work);

#endif
