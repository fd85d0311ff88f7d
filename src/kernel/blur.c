/* blur.h. A row across is widened by its mirror image at both ends, then every tap is one loop along it; down, every tap is one loop along a
 * row. So all inner loops are straight runs that compilers turn into vectors, and integers and floats have the same shape. */
#include "kernel/blur.h"

#include <math.h>
#include <string.h>

#include "util/math.h"

void mldfi_blur_weights(uint32_t radius, double sigma, struct blur_weights *out) {
    double value[BLUR_MAX_RADIUS + 1], sum = 1;
    uint32_t rest = 65536;
    value[0] = 1;
    for (uint32_t k = 1; k <= radius; k++) {
        double x = k / sigma;
        value[k] = mldfi_exp(-0.5 * x * x);
        sum += 2 * value[k];
    }
    out->radius = radius;
    for (uint32_t k = 0; k <= radius; k++) {
        out->real[k] = (float)(value[k] / sum);
        out->whole[k] = (uint32_t)rint(value[k] / sum * 65536);
        rest -= k ? 2 * out->whole[k] : 0;
    }
    out->whole[0] = rest;
}

/* Index i of a side of n > 0 pixels, mirrored at both ends as often as it takes. */
static size_t mirrored(ptrdiff_t i, size_t n) {
    ptrdiff_t period = 2 * ((ptrdiff_t)n - 1);
    if (period == 0)
        return 0;
    i %= period;
    i = i < 0 ? i + period : i;
    return (size_t)(i < (ptrdiff_t)n ? i : period - i);
}

/* Bytes of one element between across and down. */
static size_t middle_bytes(size_t element) {
    return element == 1 ? 2 : 4;
}

static size_t up8(size_t bytes) {
    return (bytes + 7) / 8 * 8;
}

/* scratch: all rows after across | one widened row | one row of sums */
static size_t wide_bytes(const struct blur *b) {
    return up8((b->width + 2 * (size_t)b->across->radius) * b->channels * b->element);
}

size_t mldfi_blur_scratch(const struct blur *b) {
    size_t row = b->width * b->channels;
    if (row > SIZE_MAX / 64 || (row && b->height > SIZE_MAX / 64 / row))
        return SIZE_MAX;
    return up8(row * b->height * middle_bytes(b->element)) + wide_bytes(b) + row * 8;
}

static void widen(const struct blur *b, size_t y, uint8_t *wide) {
    size_t pixel = b->channels * b->element, radius = b->across->radius, row = b->width * pixel;
    const uint8_t *in = (const uint8_t *)b->in + y * row;
    for (size_t i = 0; i < radius; i++) {
        memcpy(wide + i * pixel, in + mirrored((ptrdiff_t)i - (ptrdiff_t)radius, b->width) * pixel, pixel);
        memcpy(wide + (radius + b->width + i) * pixel, in + mirrored((ptrdiff_t)(b->width + i), b->width) * pixel,
               pixel);
    }
    memcpy(wide + radius * pixel, in, row);
}

/* TYPE: of pixels; MIDDLE: between the passes; WEIGHT: of the taps; SUM_*: of a pass. TAP_* is a weight times the sum of two values, ACROSS and
 * DOWN make MIDDLE and TYPE of a sum. Products of 16 by 16 bits are what every instruction set has. */
#define BLUR(NAME, TYPE, MIDDLE, WEIGHTS, WEIGHT, SUM_ACROSS, SUM_DOWN, TAP_ACROSS, TAP_DOWN, ACROSS, DOWN) \
    static void across_##NAME(const struct blur *b, const TYPE *wide, SUM_ACROSS *restrict sums, \
                              MIDDLE *restrict to) { \
        size_t n = b->width * b->channels; \
        const TYPE *v = wide + b->across->radius * b->channels; \
        for (size_t i = 0; i < n; i++) \
            sums[i] = (SUM_ACROSS)b->across->WEIGHTS[0] * (SUM_ACROSS)v[i]; \
        for (size_t k = 1; k <= b->across->radius; k++) { \
            WEIGHT w = (WEIGHT)b->across->WEIGHTS[k]; \
            const TYPE *before = v - k * b->channels, *behind = v + k * b->channels; \
            for (size_t i = 0; i < n; i++) \
                sums[i] += TAP_ACROSS(w, before[i], behind[i]); \
        } \
        for (size_t i = 0; i < n; i++) \
            to[i] = (MIDDLE)(ACROSS(sums[i])); \
    } \
    static void down_##NAME(const struct blur *b, const MIDDLE *rows, size_t y, SUM_DOWN *restrict sums, \
                            TYPE *restrict to) { \
        size_t n = b->width * b->channels; \
        const MIDDLE *v = rows + y * n; \
        for (size_t i = 0; i < n; i++) \
            sums[i] = (SUM_DOWN)b->down->WEIGHTS[0] * (SUM_DOWN)v[i]; \
        for (size_t k = 1; k <= b->down->radius; k++) { \
            WEIGHT w = (WEIGHT)b->down->WEIGHTS[k]; \
            const MIDDLE *above = rows + mirrored((ptrdiff_t)y - (ptrdiff_t)k, b->height) * n; \
            const MIDDLE *below = rows + mirrored((ptrdiff_t)(y + k), b->height) * n; \
            for (size_t i = 0; i < n; i++) \
                sums[i] += TAP_DOWN(w, above[i], below[i]); \
        } \
        for (size_t i = 0; i < n; i++) \
            to[i] = (TYPE)(DOWN(sums[i])); \
    } \
    static void blur_##NAME(const struct blur *b, uint8_t *scratch) { \
        size_t n = b->width * b->channels; \
        MIDDLE *rows = (MIDDLE *)(void *)scratch; \
        uint8_t *wide = scratch + up8(n * b->height * sizeof(MIDDLE)), *sums = wide + wide_bytes(b); \
        for (size_t y = 0; y < b->height; y++) { \
            widen(b, y, wide); \
            across_##NAME(b, (const TYPE *)(const void *)wide, (SUM_ACROSS *)(void *)sums, rows + y * n); \
        } \
        for (size_t y = 0; y < b->height; y++) \
            down_##NAME(b, rows, y, (SUM_DOWN *)(void *)sums, (TYPE *)b->out + y * n); \
    }
#define TAP_U8(w, a, b) ((uint32_t)(w) * (uint16_t)((a) + (b)))
#define TAP_U16(w, a, b) ((uint32_t)(w) * (a) + (uint32_t)(w) * (b))
#define TAP_U32(w, a, b) ((uint64_t)(w) * ((uint64_t)(a) + (b)))
#define TAP_F32(w, a, b) ((w) * ((a) + (b)))
#define AS_IT_IS(v) (v)
#define ROUND_8(v) (((v) + (1u << 7)) >> 8)
#define ROUND_24(v) (((v) + (1u << 23)) >> 24)
#define ROUND_32(v) (((v) + (UINT64_C(1) << 31)) >> 32)
/* No sum passes its type: the weights add up to 2^16, and 255 * 2^16 >> 8 times 2^16 and the half is below 2^32. Weights beside the middle
 * are at most 2^15. */
BLUR(u8, uint8_t, uint16_t, whole, uint16_t, uint32_t, uint32_t, TAP_U8, TAP_U16, ROUND_8, ROUND_24)
BLUR(u16, uint16_t, uint32_t, whole, uint16_t, uint32_t, uint64_t, TAP_U16, TAP_U32, AS_IT_IS, ROUND_32)
BLUR(f32, float, float, real, float, float, float, TAP_F32, TAP_F32, AS_IT_IS, AS_IT_IS)

void mldfi_blur(const struct blur *b, void *scratch) {
    if (b->width == 0 || b->height == 0)
        return;
    if (b->element == 1)
        blur_u8(b, scratch);
    else if (b->element == 2)
        blur_u16(b, scratch);
    else
        blur_f32(b, scratch);
}
