/* The rows of blur.h, as text: a file for each instruction set includes it. All sums stay in registers over all taps; a row is read and written
 * in whole blocks, for which its scratch has room, except that the last block of an image's row goes through a small array. Before the include:
 *     BLUR_NAME(x)    the name of x for this set
 *     BLUR_VECTOR     bytes of its vectors
 *     blur_x86.h      the rows of u8 by products of pairs; or not, then they are here */
#include <string.h>

#include "kernel/blur.h"
#include "kernel/variants.h"

/* Values that fit a vector of 32-bit lanes, and vectors of a block. */
enum { BLUR_LANES = BLUR_VECTOR / 4, BLUR_PARTS = 4, BLUR_BLOCK = BLUR_LANES * BLUR_PARTS };
typedef uint32_t lanes_u32 __attribute__((vector_size(BLUR_VECTOR)));
typedef uint16_t lanes_u16 __attribute__((vector_size(BLUR_VECTOR / 2)));
typedef float lanes_f32 __attribute__((vector_size(BLUR_VECTOR)));
_Static_assert(BLUR_BLOCK * 4 <= BLUR_SLACK, "a block that begins in the row ends in its slack");

static inline lanes_f32 load_f32(const float *p) {
    lanes_f32 v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline lanes_u32 load_u32(const uint32_t *p) {
    lanes_u32 v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline lanes_u32 load_u16(const uint16_t *p) {
    lanes_u16 v;
    memcpy(&v, p, sizeof v);
    return __builtin_convertvector(v, lanes_u32);
}

/* Where a block of BLUR_BLOCK values goes: `last` when fewer are left of the row; take_last then moves them. */
static inline void *place_block(const struct blur_line *l, size_t at, size_t bytes, void *last) {
    return l->values - at < BLUR_BLOCK ? last : (uint8_t *)l->out + at * bytes;
}

static inline void take_last(const struct blur_line *l, size_t at, size_t bytes, const void *last) {
    if (l->values - at < BLUR_BLOCK)
        memcpy((uint8_t *)l->out + at * bytes, last, (l->values - at) * bytes);
}

/* ---- f32 ---------------------------------------------------------------------------------------------------------------------- */

/* above(k) and below(k) are the two places of tap k. */
#define BLUR_F32_BLOCK(ABOVE, BELOW) \
    lanes_f32 sum[BLUR_PARTS]; \
    for (size_t j = 0; j < BLUR_PARTS; j++) \
        sum[j] = l->weights->real[0] * load_f32(middle + j * BLUR_LANES); \
    for (size_t k = 1; k <= l->radius; k++) { \
        const float *a = (ABOVE), *b = (BELOW); \
        float w = l->weights->real[k]; \
        for (size_t j = 0; j < BLUR_PARTS; j++) \
            sum[j] += w * (load_f32(a + j * BLUR_LANES) + load_f32(b + j * BLUR_LANES)); \
    }

static void across_f32(const struct blur_line *l) {
    for (size_t i = 0; i < l->values; i += BLUR_BLOCK) {
        const float *middle = (const float *)l->wide + i;
        BLUR_F32_BLOCK(middle - k * l->channels, middle + k * l->channels)
        memcpy((float *)l->out + i, sum, sizeof sum);
    }
}

static void down_f32(const struct blur_line *l) {
    for (size_t i = 0; i < l->values; i += BLUR_BLOCK) {
        const float *middle = (const float *)l->above[0] + i;
        BLUR_F32_BLOCK((const float *)l->above[k] + i, (const float *)l->below[k] + i)
        float last[BLUR_BLOCK], *to = place_block(l, i, sizeof *to, last);
        memcpy(to, sum, sizeof sum);
        take_last(l, i, sizeof *to, last);
    }
}

/* ---- u16 ---------------------------------------------------------------------------------------------------------------------- */

static void across_u16(const struct blur_line *l) {
    for (size_t i = 0; i < l->values; i += BLUR_BLOCK) {
        const uint16_t *middle = (const uint16_t *)l->wide + i;
        lanes_u32 sum[BLUR_PARTS];
        for (size_t j = 0; j < BLUR_PARTS; j++)
            sum[j] = l->weights->whole[0] * load_u16(middle + j * BLUR_LANES);
        for (size_t k = 1; k <= l->radius; k++) {
            const uint16_t *a = middle - k * l->channels, *b = middle + k * l->channels;
            uint32_t w = l->weights->whole[k];
            for (size_t j = 0; j < BLUR_PARTS; j++)
                sum[j] += w * (load_u16(a + j * BLUR_LANES) + load_u16(b + j * BLUR_LANES));
        }
        memcpy((uint32_t *)l->out + i, sum, sizeof sum);
    }
}

/* The upper and the lower 16 bits have sums of their own, as products of 32 bits are what there is. Neither passes 32 bits, nor does what is
 * added up in the end: 65535 * 65536 and the half. */
static void down_u16(const struct blur_line *l) {
    for (size_t i = 0; i < l->values; i += BLUR_BLOCK) {
        lanes_u32 high[BLUR_PARTS], low[BLUR_PARTS];
        uint16_t last[BLUR_BLOCK], *to = place_block(l, i, sizeof *to, last);
        memset(high, 0, sizeof high);
        memset(low, 0, sizeof low);
        for (size_t k = 0; k <= l->radius; k++) {
            const uint32_t *a = (const uint32_t *)l->above[k] + i, *b = (const uint32_t *)l->below[k] + i;
            uint32_t w = k ? l->weights->whole[k] : l->weights->whole[0] / 2; /* an even number */
            for (size_t j = 0; j < BLUR_PARTS; j++) {
                lanes_u32 u = load_u32(a + j * BLUR_LANES), d = load_u32(b + j * BLUR_LANES);
                high[j] += w * ((u >> 16) + (d >> 16));
                low[j] += w * ((u & 0xffff) + (d & 0xffff));
            }
        }
        for (size_t j = 0; j < BLUR_PARTS; j++) {
            lanes_u32 v = (high[j] + (low[j] >> 16) + 0x8000u) >> 16;
            lanes_u16 narrow = __builtin_convertvector(v, lanes_u16);
            memcpy(to + j * BLUR_LANES, &narrow, sizeof narrow);
        }
        take_last(l, i, sizeof *to, last);
    }
}

/* ---- u8 ----------------------------------------------------------------------------------------------------------------------- */

/* No sum passes 32 bits: the weights add up to 2^16, and 255 * 2^16 >> 8 times 2^16 and the half is below 2^32. */
#ifndef BLUR_PAIRS
enum { BLUR_RUN = 512 }; /* values whose sums are kept */

/* By themselves, lest the compiler mingle two taps and forget about vectors. */
__attribute__((noinline)) static void add_u8(const uint8_t *a, const uint8_t *b, uint16_t w, size_t n,
                                             uint32_t *restrict sum) {
    for (size_t j = 0; j < n; j++)
        sum[j] += (uint32_t)w * (uint16_t)(a[j] + b[j]);
}

__attribute__((noinline)) static void add_u16(const uint16_t *a, const uint16_t *b, uint16_t w, size_t n,
                                              uint32_t *restrict sum) {
    for (size_t j = 0; j < n; j++)
        sum[j] += (uint32_t)w * a[j] + (uint32_t)w * b[j];
}

static void across_u8(const struct blur_line *l) {
    uint16_t *out = l->out;
    for (size_t i = 0; i < l->values; i += BLUR_RUN) {
        const uint8_t *middle = (const uint8_t *)l->wide + i;
        size_t n = l->values - i < BLUR_RUN ? l->values - i : BLUR_RUN;
        uint32_t sum[BLUR_RUN];
        for (size_t j = 0; j < n; j++)
            sum[j] = l->weights->whole[0] * middle[j] + (1u << 7);
        for (size_t k = 1; k <= l->radius; k++)
            add_u8(middle - k * l->channels, middle + k * l->channels, (uint16_t)l->weights->whole[k], n, sum);
        for (size_t j = 0; j < n; j++)
            out[i + j] = (uint16_t)(sum[j] >> 8);
    }
}

static void down_u8(const struct blur_line *l) {
    uint8_t *out = l->out;
    for (size_t i = 0; i < l->values; i += BLUR_RUN) {
        const uint16_t *middle = (const uint16_t *)l->above[0] + i;
        size_t n = l->values - i < BLUR_RUN ? l->values - i : BLUR_RUN;
        uint32_t sum[BLUR_RUN];
        for (size_t j = 0; j < n; j++)
            sum[j] = l->weights->whole[0] * middle[j] + (1u << 23);
        for (size_t k = 1; k <= l->radius; k++)
            add_u16((const uint16_t *)l->above[k] + i, (const uint16_t *)l->below[k] + i,
                    (uint16_t)l->weights->whole[k], n, sum);
        for (size_t j = 0; j < n; j++)
            out[i + j] = (uint8_t)(sum[j] >> 24);
    }
}
#endif

/* -------------------------------------------------------------------------------------------------------------------------------- */

void BLUR_NAME(mldfi_blur_across)(const struct blur_line *l, size_t element) {
    if (element == 1)
        across_u8(l);
    else if (element == 2)
        across_u16(l);
    else
        across_f32(l);
}

void BLUR_NAME(mldfi_blur_down)(const struct blur_line *l, size_t element) {
    if (element == 1)
        down_u8(l);
    else if (element == 2)
        down_u16(l);
    else
        down_f32(l);
}
