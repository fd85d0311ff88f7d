/* The loops of video_rgb.h: one text, compiled for each instruction set. The first two are plain C, which compilers turn into vectors; the colours are in blocks of
 * VIDEO_BLOCK pixels where the including file defines that, and with it:
 *
 *     VIDEO_NAME(x)                           x with the name of the set
 *     struct video_sums, video_sums_of(v)     the constants as the set wants them
 *     luma_bytes(p), luma_words(p)            16 times VIDEO_BLOCK samples of 8 or 16 bits
 *     color_block(s, luma, cb, cr, out)       VIDEO_BLOCK pixels, 3 * VIDEO_BLOCK bytes, neither more nor less
 *
 * Sums are exact in 32 bits, so every set gives the same bytes. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernel/variants.h"
#include "kernel/video_rgb.h"

static void down(const uint8_t *a, const uint8_t *b, bool wide, uint32_t weight_a, uint32_t weight_b, size_t count,
                 uint16_t *restrict out) {
    const uint16_t wa = (uint16_t)weight_a, wb = (uint16_t)weight_b;
    if (!wide) {
        for (size_t i = 0; i < count; i++)
            out[i] = (uint16_t)(a[i] * wa + b[i] * wb);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        uint16_t m, n;
        memcpy(&m, a + 2 * i, 2);
        memcpy(&n, b + 2 * i, 2);
        out[i] = (uint16_t)(m * wa + n * wb);
    }
}

static void across(const uint16_t *in, bool between, size_t count, uint16_t *restrict out) {
    if (between)
        for (size_t i = 0; i < count; i++) {
            out[2 * i] = (uint16_t)(3 * in[i] + in[(ptrdiff_t)i - 1]);
            out[2 * i + 1] = (uint16_t)(3 * in[i] + in[i + 1]);
        }
    else
        for (size_t i = 0; i < count; i++) {
            out[2 * i] = (uint16_t)(4 * in[i]);
            out[2 * i + 1] = (uint16_t)(2 * (in[i] + in[i + 1]));
        }
}

static uint8_t held(int32_t sum) {
    sum >>= VIDEO_SHIFT;
    return (uint8_t)(sum < 0 ? 0 : sum > 255 ? 255 : sum);
}

static void color_plain(const struct video_rgb *v, const uint8_t *luma, bool wide, const uint16_t *cb,
                        const uint16_t *cr, size_t count, uint8_t *out) {
    const int32_t kl = (int32_t)v->luma * 16, rr = (int32_t)v->red_cr, gb = (int32_t)v->green_cb,
                  gr = (int32_t)v->green_cr, bb = (int32_t)v->blue_cb;
    const int32_t b0 = (int32_t)v->base[0], b1 = (int32_t)v->base[1], b2 = (int32_t)v->base[2];
    for (size_t i = 0; i < count; i++) {
        uint16_t two;
        if (wide)
            memcpy(&two, luma + 2 * i, 2);
        else
            two = luma[i];
        const int32_t y = two * kl;
        out[3 * i] = held(b0 + y + cr[i] * rr);
        out[3 * i + 1] = held(b1 + y + cb[i] * gb + cr[i] * gr);
        out[3 * i + 2] = held(b2 + y + cb[i] * bb);
    }
}

#if defined(VIDEO_BLOCK)
static void color(const struct video_rgb *v, const uint8_t *luma, const uint16_t *cb, const uint16_t *cr, size_t count,
                  uint8_t *out) {
    const bool wide = v->in.bits > 8;
    if (count < VIDEO_BLOCK) {
        color_plain(v, luma, wide, cb, cr, count, out);
        return;
    }
    const struct video_sums s = video_sums_of(v);
    for (size_t at = 0;;) {
        color_block(&s, wide ? luma_words(luma + 2 * at) : luma_bytes(luma + at), cb + at, cr + at, out + 3 * at);
        if (at + VIDEO_BLOCK == count)
            return;
        at = at + 2 * VIDEO_BLOCK <= count ? at + VIDEO_BLOCK
                                           : count - VIDEO_BLOCK; /* the last block lies over the one before */
    }
}
#else
static void color(const struct video_rgb *v, const uint8_t *luma, const uint16_t *cb, const uint16_t *cr, size_t count,
                  uint8_t *out) {
    color_plain(v, luma, v->in.bits > 8, cb, cr, count, out);
}
#endif

const struct video_kernels VIDEO_NAME(mldfi_video) = {down, across, color};
