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

/* Four values; each is the sum of its own pairs of products. */
void mldfi_across_words_neon(const struct tap_table *t, const int16_t *row, int16_t *out) {
    for (size_t i = 0; i < t->stride; i += 4) {
        const uint32_t *o = t->offset + i;
        const int16_t *w = t->weights + 2 * i, *p = row;
        int32x4_t sum = vdupq_n_s32(1 << 14);
        for (uint32_t k = 0; k < t->pairs; k++, p += 2, w += 2 * t->stride) {
            const int16x4x2_t weights = vld2_s16(w);
            const int16_t first[4] = {p[o[0]], p[o[1]], p[o[2]], p[o[3]]};
            const int16_t second[4] = {p[o[0] + 1], p[o[1] + 1], p[o[2] + 1], p[o[3] + 1]};
            sum = vmlal_s16(sum, vld1_s16(first), weights.val[0]);
            sum = vmlal_s16(sum, vld1_s16(second), weights.val[1]);
        }
        vst1_s16(out + i, vmovn_s32(vshrq_n_s32(sum, 15)));
    }
}

static inline uint8x8_t bytes(int32x4_t a, int32x4_t b) {
    return vqmovun_s16(vcombine_s16(vqmovn_s32(vshrq_n_s32(a, 22)), vqmovn_s32(vshrq_n_s32(b, 22))));
}
static inline int32x4_t red(int32x4_t y, int32x4_t v) {
    return vmlaq_n_s32(y, v, 91881);
}
static inline int32x4_t green(int32x4_t y, int32x4_t u, int32x4_t v) {
    return vmlsq_n_s32(vmlsq_n_s32(y, u, 22554), v, 46802);
}
static inline int32x4_t blue(int32x4_t y, int32x4_t u) {
    return vmlaq_n_s32(y, u, 116130);
}

void mldfi_color_words_neon(const int16_t *y, const int16_t *cb, const int16_t *cr, size_t count, uint8_t *r,
                            uint8_t *g, uint8_t *b) {
    const int16x8_t middle = vdupq_n_s16(128 << 6);
    const int32x4_t half = vdupq_n_s32(1 << 21);
    for (size_t i = 0; i < count; i += 8) {
        const int16x8_t l = vld1q_s16(y + i), u = vsubq_s16(vld1q_s16(cb + i), middle);
        const int16x8_t v = vsubq_s16(vld1q_s16(cr + i), middle);
        const int32x4_t l0 = vaddq_s32(vshll_n_s16(vget_low_s16(l), 16), half);
        const int32x4_t l1 = vaddq_s32(vshll_n_s16(vget_high_s16(l), 16), half);
        const int32x4_t u0 = vmovl_s16(vget_low_s16(u)), u1 = vmovl_s16(vget_high_s16(u));
        const int32x4_t v0 = vmovl_s16(vget_low_s16(v)), v1 = vmovl_s16(vget_high_s16(v));
        vst1_u8(r + i, bytes(red(l0, v0), red(l1, v1)));
        vst1_u8(g + i, bytes(green(l0, u0, v0), green(l1, u1, v1)));
        vst1_u8(b + i, bytes(blue(l0, u0), blue(l1, u1)));
    }
}
#endif
