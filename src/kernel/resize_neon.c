/* Bilinear resizing with NEON. */
#include "kernel/variants.h"

#if defined(__aarch64__)
#include <arm_neon.h>

/* Sixteen values. Weights are not negative and sums fit 32 bits without a sign. */
static inline void blend(const uint8_t *p, size_t stride, const int16_t *weights, uint32_t taps, int16_t *out) {
    uint32x4_t a = vdupq_n_u32(64), b = a, c = a, d = a;
    for (uint32_t k = 0; k < taps; k++, p += stride) {
        const uint8x16_t v = vld1q_u8(p);
        const uint16x8_t low = vmovl_u8(vget_low_u8(v)), high = vmovl_u8(vget_high_u8(v));
        const uint16_t w = (uint16_t)weights[k];
        a = vmlal_n_u16(a, vget_low_u16(low), w);
        b = vmlal_n_u16(b, vget_high_u16(low), w);
        c = vmlal_n_u16(c, vget_low_u16(high), w);
        d = vmlal_n_u16(d, vget_high_u16(high), w);
    }
    vst1q_s16(out, vreinterpretq_s16_u16(vcombine_u16(vshrn_n_u32(a, 7), vshrn_n_u32(b, 7))));
    vst1q_s16(out + 8, vreinterpretq_s16_u16(vcombine_u16(vshrn_n_u32(c, 7), vshrn_n_u32(d, 7))));
}

void mldfi_down_neon(const uint8_t *rows, size_t stride, const int16_t *weights, uint32_t taps, size_t values,
                     int16_t *out) {
    enum { STEP = 16 };
    if (values < STEP) {
        mldfi_down_portable(rows, stride, weights, taps, values, out);
        return;
    }
    for (size_t i = 0; i < values; i += STEP) {
        size_t at = i + STEP <= values ? i : values - STEP;
        blend(rows + at, stride, weights, taps, out + at);
    }
}

/* A pixel is a vector of four sums; four pixels at a time. */
#define PIXEL(SUM, P, N, W, K) \
    vmlal_laneq_s16(vmlal_laneq_s16(SUM, vld1_s16(P), W, 2 * (K)), vld1_s16((P) + (N)), W, 2 * (K) + 1)
#define ACROSS(NAME, N, PUT) \
    static void NAME(const struct tap_table *t, const int16_t *row, uint8_t *out) { \
        const int32x4_t half = vdupq_n_s32(1 << 20); \
        for (size_t i = 0; i < t->count; i += 4, out += 4 * (N)) { \
            const uint32_t *o = t->offset + i; \
            const int16_t *w = t->weights + 2 * i, *p = row; \
            int32x4_t s0 = half, s1 = half, s2 = half, s3 = half; \
            for (uint32_t k = 0; k < t->pairs; k++, p += 2 * (N), w += 2 * t->stride) { \
                const int16x8_t weights = vld1q_s16(w); \
                s0 = PIXEL(s0, p + o[0], N, weights, 0); \
                s1 = PIXEL(s1, p + o[1], N, weights, 1); \
                s2 = PIXEL(s2, p + o[2], N, weights, 2); \
                s3 = PIXEL(s3, p + o[3], N, weights, 3); \
            } \
            const int16x8_t a = vcombine_s16(vmovn_s32(vshrq_n_s32(s0, 21)), vmovn_s32(vshrq_n_s32(s1, 21))); \
            const int16x8_t b = vcombine_s16(vmovn_s32(vshrq_n_s32(s2, 21)), vmovn_s32(vshrq_n_s32(s3, 21))); \
            PUT(out, vcombine_u8(vqmovun_s16(a), vqmovun_s16(b))); \
        } \
    }

static inline void put_3(uint8_t *out, uint8x16_t v) {
    static const uint8_t together[16] = {0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 255, 255, 255, 255};
    vst1q_u8(out, vqtbl1q_u8(v, vld1q_u8(together)));
}
ACROSS(across_3, 3, put_3)
ACROSS(across_4, 4, vst1q_u8)

void mldfi_across_neon(const struct tap_table *table, uint32_t channels, const int16_t *row, uint8_t *out) {
    if (channels == 3)
        across_3(table, row, out);
    else if (channels == 4)
        across_4(table, row, out);
    else
        mldfi_across_portable(table, channels, row, out);
}
#endif
