/* 16 pixels of RGB in 48 bytes into three runs of 16, and back: for the x86 sets, all of which have byte shuffles. */
#ifndef MLDF_KERNEL_COLOR_X86_H
#define MLDF_KERNEL_COLOR_X86_H

#include <immintrin.h>
#include <stdint.h>

#define COLOR_SPLIT 1

/* 16 numbers F(a, b, 0) .. F(a, b, 15). */
#define SIXTEEN(F, a, b) \
    _mm_setr_epi8(F(a, b, 0), F(a, b, 1), F(a, b, 2), F(a, b, 3), F(a, b, 4), F(a, b, 5), F(a, b, 6), F(a, b, 7), \
                  F(a, b, 8), F(a, b, 9), F(a, b, 10), F(a, b, 11), F(a, b, 12), F(a, b, 13), F(a, b, 14), \
                  F(a, b, 15))
/* Where pixel k's colour c stands in the part-th 16 bytes; -1: not there. */
#define FROM(c, part, k) \
    (char)((3 * (k) + (c) >= 16 * (part) && 3 * (k) + (c) < 16 * (part) + 16) ? 3 * (k) + (c)-16 * (part) : -1)
/* Which pixel's colour c is byte k of the part-th 16 bytes; -1: none. */
#define TO(c, part, k) (char)((16 * (part) + (k)) % 3 == (c) ? (16 * (part) + (k)) / 3 : -1)

static inline __m128i load_16(const uint8_t *p) {
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}

static inline void store_16(uint8_t *p, __m128i v) {
    _mm_storeu_si128((__m128i *)(void *)p, v);
}

#define PICK(F, c) \
    _mm_or_si128(_mm_or_si128(_mm_shuffle_epi8(v0, SIXTEEN(F, c, 0)), _mm_shuffle_epi8(v1, SIXTEEN(F, c, 1))), \
                 _mm_shuffle_epi8(v2, SIXTEEN(F, c, 2)))

static inline void split(const uint8_t *in, uint8_t *r, uint8_t *g, uint8_t *b) {
    __m128i v0 = load_16(in), v1 = load_16(in + 16), v2 = load_16(in + 32);
    store_16(r, PICK(FROM, 0));
    store_16(g, PICK(FROM, 1));
    store_16(b, PICK(FROM, 2));
}

#define MIX(part) \
    _mm_or_si128(_mm_or_si128(_mm_shuffle_epi8(v0, SIXTEEN(TO, 0, part)), _mm_shuffle_epi8(v1, SIXTEEN(TO, 1, part))), \
                 _mm_shuffle_epi8(v2, SIXTEEN(TO, 2, part)))

static inline void join(const uint8_t *r, const uint8_t *g, const uint8_t *b, uint8_t *out) {
    __m128i v0 = load_16(r), v1 = load_16(g), v2 = load_16(b);
    store_16(out, MIX(0));
    store_16(out + 16, MIX(1));
    store_16(out + 32, MIX(2));
}

#endif
