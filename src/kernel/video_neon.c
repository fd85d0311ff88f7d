/* The loops of video_loops.h for NEON: 8 pixels at a time. */
#if defined(__aarch64__)
#include <arm_neon.h>

#include "kernel/video_rgb.h"

#define VIDEO_BLOCK 8

/* As in video_x86.h: samples of more than 8 bits are taken 32768 lower, and blue has its constant in two halves. */
struct video_sums {
    int16_t luma, red_cr, green_cb, green_cr, blue_cb[2];
    int32_t base[3];
    uint16_t flip;
};

static inline struct video_sums video_sums_of(const struct video_rgb *v) {
    const int64_t lower = v->in.bits > 8 ? 32768 : 0;
    struct video_sums s = {
        .luma = (int16_t)v->luma,
        .red_cr = (int16_t)v->red_cr,
        .green_cb = (int16_t)v->green_cb,
        .green_cr = (int16_t)v->green_cr,
        .blue_cb = {(int16_t)(v->blue_cb / 2), (int16_t)(v->blue_cb - v->blue_cb / 2)},
        .base = {(int32_t)(v->base[0] + lower * (v->luma + v->red_cr)),
                 (int32_t)(v->base[1] + lower * (v->luma + v->green_cb + v->green_cr)),
                 (int32_t)(v->base[2] + lower * (v->luma + v->blue_cb))},
        .flip = (uint16_t)lower,
    };
    return s;
}

static inline uint16x8_t luma_bytes(const uint8_t *p) {
    return vshll_n_u8(vld1_u8(p), 4);
}

static inline uint16x8_t luma_words(const uint8_t *p) {
    return vshlq_n_u16(vreinterpretq_u16_u8(vld1q_u8(p)), 4);
}

static inline uint8x8_t bytes_of(int32x4_t low, int32x4_t high) {
    return vqmovun_s16(
        vcombine_s16(vqmovn_s32(vshrq_n_s32(low, VIDEO_SHIFT)), vqmovn_s32(vshrq_n_s32(high, VIDEO_SHIFT))));
}

static inline void color_block(const struct video_sums *s, uint16x8_t luma, const uint16_t *cb, const uint16_t *cr,
                               uint8_t *out) {
    const uint16x8_t flip = vdupq_n_u16(s->flip);
    const int16x8_t y = vreinterpretq_s16_u16(veorq_u16(luma, flip)),
                    b = vreinterpretq_s16_u16(veorq_u16(vld1q_u16(cb), flip)),
                    r = vreinterpretq_s16_u16(veorq_u16(vld1q_u16(cr), flip));
    int32x4_t sum[3][2];
    for (int half = 0; half < 2; half++) {
        const int16x4_t l = half ? vget_high_s16(y) : vget_low_s16(y), u = half ? vget_high_s16(b) : vget_low_s16(b),
                        v = half ? vget_high_s16(r) : vget_low_s16(r);
        for (int c = 0; c < 3; c++)
            sum[c][half] = vmlal_n_s16(vdupq_n_s32(s->base[c]), l, s->luma);
        sum[0][half] = vmlal_n_s16(sum[0][half], v, s->red_cr);
        sum[1][half] = vmlal_n_s16(vmlal_n_s16(sum[1][half], u, s->green_cb), v, s->green_cr);
        sum[2][half] = vmlal_n_s16(vmlal_n_s16(sum[2][half], u, s->blue_cb[0]), u, s->blue_cb[1]);
    }
    const uint8x8x3_t three = {
        {bytes_of(sum[0][0], sum[0][1]), bytes_of(sum[1][0], sum[1][1]), bytes_of(sum[2][0], sum[2][1])}};
    vst3_u8(out, three);
}

#define VIDEO_NAME(x) x##_neon
#include "kernel/video_loops.h"
#else
typedef int mldfi_not_for_this_processor; /* a file of C is not empty */
#endif
