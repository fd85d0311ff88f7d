/* Gaussian blur, across and then down; the image is mirrored at its sides (d c b | a b c d | c b a).
 *
 * The weight of distance k is exp(-k^2 / (2 sigma^2)) divided by the sum over all taps. What is computed, on every machine:
 *   integers   weights in 2^-16: those of k > 0 rounded to the nearest even, that of 0 what is missing to 65536.
 *              u8:  across (sum + 2^7) >> 8 into 16 bits, down (sum + 2^23) >> 24
 *              u16: across the whole sum of 32 bits, down (sum + 2^31) >> 32
 *   f32        weights rounded to f32; w[0] v[0] first, then w[k] (v[-k] + v[k]) for k = 1, 2, ... is added, each step rounded */
#ifndef MLDF_KERNEL_BLUR_H
#define MLDF_KERNEL_BLUR_H

#include <stddef.h>
#include <stdint.h>

#include "kernel/kernels.h"

enum { BLUR_MAX_RADIUS = 127 };

struct blur_weights {
    uint32_t radius;
    uint32_t whole[BLUR_MAX_RADIUS + 1];
    float real[BLUR_MAX_RADIUS + 1];
};
/* radius <= BLUR_MAX_RADIUS, sigma > 0. */
void mldfi_blur_weights(uint32_t radius, double sigma, struct blur_weights *out);

/* Interleaved pixels; in and out do not overlap. element: 1 (u8), 2 (u16), 4 (f32) bytes. */
struct blur {
    const struct blur_weights *across, *down;
    const void *in;
    void *out;
    size_t width, height, channels, element;
};
/* Bytes of `scratch`, which is aligned to 8; SIZE_MAX: more than there are. */
size_t mldfi_blur_scratch(const struct blur *b);
void mldfi_blur(const struct kernels *k, const struct blur *b, void *scratch);

/* ---- For the loops of each instruction set (blur_loops.h) ---------------------------------------------------------------- */

enum { BLUR_SLACK = 256 }; /* bytes behind a row in scratch that may be read and written, whatever they hold */

/* One row of one pass. What stands between the passes is the loops' own: 2 bytes a value for u8, 4 for the others. */
struct blur_line {
    const struct blur_weights *weights;
    size_t radius; /* of the weights that count */
    size_t values; /* of the row */
    size_t channels;
    const void *wide; /* across: the row's first value; radius * channels values before and behind, and BLUR_SLACK */
    const void *const *above; /* down: [radius + 1] rows between the passes; above[0] and below[0] are the row itself */
    const void *const *below;
    void *out; /* across: with BLUR_SLACK */
};

#endif
