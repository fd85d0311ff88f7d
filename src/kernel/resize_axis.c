/* Weights of the bilinear kernels: whole numbers in units of 1/(16 n) of a pixel, so that they are exact; see resize.h. Doubles hold
 * them: sides are below 2^24, so nothing passes 2^53. */
#include "kernel/resample.h"

static uint32_t output_of(const struct axis *a, uint32_t i) {
    return a->from + (a->mirror ? a->count - 1 - i : i);
}

static double wide_of(const struct axis *a) {
    double plain = 16.0 * a->target, stretched = 2.0 * (double)a->box_size;
    return a->antialias && stretched > plain ? stretched : plain;
}

static double centre_of(const struct axis *a, uint32_t i) {
    return 2.0 * (double)a->box_from * a->target + (2.0 * output_of(a, i) + 1.0) * (double)a->box_size;
}

uint64_t mldfi_axis_taps(const struct axis *a) {
    uint64_t taps = (uint64_t)(wide_of(a) / (8.0 * a->target)) + 2;
    return taps < a->size ? taps : a->size;
}

uint32_t mldfi_axis_nearest(const struct axis *a, uint32_t i) {
    uint32_t p = (uint32_t)(centre_of(a, i) / (16.0 * a->target));
    return p < a->size ? p : a->size - 1;
}

uint32_t mldfi_axis_bilinear(const struct axis *a, uint32_t i, uint32_t *first, int16_t *weights) {
    const double pixel = 16.0 * a->target, wide = wide_of(a), centre = centre_of(a, i);
    const double low = (centre - wide) / pixel - 0.5, high = (centre + wide) / pixel - 0.5;
    uint32_t from = low < 0 ? 0 : (uint32_t)low, to = high + 1.0 < a->size ? (uint32_t)(high + 1.0) : a->size;
    double sum = 0.0, run = 0.0, at = pixel * from + pixel / 2 - centre;
    /* `from` and `to` are generous by rounding; taps without weight at the ends are left out here. */
    for (uint32_t p = from; p < to; p++, at += pixel) {
        double weight = wide - (at < 0 ? -at : at);
        sum += weight > 0 ? weight : 0;
    }
    const double ratio = 16384.0 / sum;
    int32_t before = 0;
    uint32_t n = 0;
    at = pixel * from + pixel / 2 - centre;
    for (uint32_t p = from; p < to; p++, at += pixel) {
        double weight = wide - (at < 0 ? -at : at);
        run += weight > 0 ? weight : 0;
        int32_t now = (int32_t)(run * ratio + 0.5);
        if (n == 0 && now == 0)
            continue;
        if (n == 0)
            *first = p;
        weights[n++] = (int16_t)(now - before);
        before = now;
        if (now == 16384)
            break;
    }
    return n;
}
