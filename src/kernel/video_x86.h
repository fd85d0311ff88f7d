/* The colours of video_loops.h for the x86 sets: pairs of 16-bit numbers times pairs of constants, summed in 32 bits. The including file defines
 *
 *     VIDEO_V, VIDEO_BLOCK                  a vector of VIDEO_BLOCK numbers of 16 bits
 *     VIDEO_OP(x), VIDEO_BITS(x)            the intrinsic x for it; the same for those that end in the number of its bits
 *     luma_bytes(p)                         16 times VIDEO_BLOCK bytes
 *     store_rgb(out, r, g, b)               3 * VIDEO_BLOCK bytes, held in 0..255
 *
 * Sixteen times 12 bits do not fit into 16 with a sign: samples of more than 8 bits are taken 32768 lower, which the base makes up for. The constant of blue is above
 * 2^15 for some matrices: chroma goes in twice, with half of it each. */
#include <stdint.h>

#include "kernel/video_rgb.h"

struct video_sums {
    VIDEO_V luma_red, luma_green, luma_blue; /* pairs for (luma, Cr) */
    VIDEO_V chroma_green, chroma_blue;       /* pairs for (Cb, Cb) */
    VIDEO_V base[3];
    VIDEO_V flip;
};

static inline VIDEO_V pair_of(int64_t low, int64_t high) {
    return VIDEO_OP(set1_epi32)((int32_t)(((uint32_t)high << 16) | ((uint32_t)low & 0xffff)));
}

static inline struct video_sums video_sums_of(const struct video_rgb *v) {
    const int64_t lower = v->in.bits > 8 ? 32768 : 0;
    const int64_t red = v->luma + v->red_cr, green = v->luma + v->green_cb + v->green_cr, blue = v->luma + v->blue_cb;
    struct video_sums s = {
        .luma_red = pair_of(v->luma, v->red_cr),
        .luma_green = pair_of(v->luma, v->green_cr),
        .luma_blue = pair_of(v->luma, 0),
        .chroma_green = pair_of(v->green_cb, 0),
        .chroma_blue = pair_of(v->blue_cb / 2, v->blue_cb - v->blue_cb / 2),
        .base = {VIDEO_OP(set1_epi32)((int32_t)(v->base[0] + lower * red)),
                 VIDEO_OP(set1_epi32)((int32_t)(v->base[1] + lower * green)),
                 VIDEO_OP(set1_epi32)((int32_t)(v->base[2] + lower * blue))},
        .flip = VIDEO_OP(set1_epi16)((int16_t)(uint16_t)lower),
    };
    return s;
}

static inline VIDEO_V load_words(const void *p) {
    return VIDEO_BITS(loadu)((const VIDEO_V *)p);
}

static inline VIDEO_V luma_words(const uint8_t *p) {
    return VIDEO_OP(slli_epi16)(load_words(p), 4);
}

#define SUM_OF(pairs, weights) VIDEO_OP(madd_epi16)(pairs, weights)
#define ADD(a, b) VIDEO_OP(add_epi32)(a, b)
#define CUT(sum) VIDEO_OP(srai_epi32)(sum, VIDEO_SHIFT)

/* The low or high halves of 128 bits: what is taken apart so is put together again in order by packs. */
#define RED(lc) CUT(ADD(SUM_OF(lc, s->luma_red), s->base[0]))
#define GREEN(lc, cc) CUT(ADD(ADD(SUM_OF(lc, s->luma_green), SUM_OF(cc, s->chroma_green)), s->base[1]))
#define BLUE(lc, cc) CUT(ADD(ADD(SUM_OF(lc, s->luma_blue), SUM_OF(cc, s->chroma_blue)), s->base[2]))

static inline void color_block(const struct video_sums *s, VIDEO_V luma, const uint16_t *cb, const uint16_t *cr,
                               uint8_t *out) {
    const VIDEO_V y = VIDEO_BITS(xor)(luma, s->flip), b = VIDEO_BITS(xor)(load_words(cb), s->flip),
                  r = VIDEO_BITS(xor)(load_words(cr), s->flip);
    const VIDEO_V low = VIDEO_OP(unpacklo_epi16)(y, r), high = VIDEO_OP(unpackhi_epi16)(y, r);
    const VIDEO_V low_b = VIDEO_OP(unpacklo_epi16)(b, b), high_b = VIDEO_OP(unpackhi_epi16)(b, b);
    store_rgb(out, VIDEO_OP(packs_epi32)(RED(low), RED(high)),
              VIDEO_OP(packs_epi32)(GREEN(low, low_b), GREEN(high, high_b)),
              VIDEO_OP(packs_epi32)(BLUE(low, low_b), BLUE(high, high_b)));
}
