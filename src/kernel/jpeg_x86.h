/* What the loops of jpeg_lanes.h need on x86, for registers of any width. */
#include <immintrin.h>
#include <stdint.h>

#include "kernel/jpeg.h"

#define STORE_VALUES(TO, VALUES) \
    _mm_storeu_si128((__m128i *)(void *)(TO), _mm_cvtepi8_epi16(_mm_cvtsi64_si128((long long)(VALUES))))

#define V1 __m128i
#define STEP static inline __attribute__((always_inline))

STEP __m128i load_lane(const void *p) {
    return _mm_loadu_si128((const __m128i *)p);
}
STEP void store_lane(void *p, __m128i v) {
    _mm_storeu_si128((__m128i *)p, v);
}
STEP void store_halves(uint8_t *first, uint8_t *second, __m128i v) {
    _mm_storel_epi64((__m128i *)(void *)first, v);
    _mm_storeh_pd((double *)(void *)second, _mm_castsi128_pd(v));
}

/* 48 bytes of three planes of 16. */
STEP void store_rgb(uint8_t *out, __m128i r, __m128i g, __m128i b) {
    const __m128i r0 = _mm_setr_epi8(0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1, -1, 5);
    const __m128i g0 = _mm_setr_epi8(-1, 0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1, -1);
    const __m128i b0 = _mm_setr_epi8(-1, -1, 0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1);
    const __m128i r1 = _mm_setr_epi8(-1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1, 10, -1);
    const __m128i g1 = _mm_setr_epi8(5, -1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1, 10);
    const __m128i b1 = _mm_setr_epi8(-1, 5, -1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1);
    const __m128i r2 = _mm_setr_epi8(-1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15, -1, -1);
    const __m128i g2 = _mm_setr_epi8(-1, -1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15, -1);
    const __m128i b2 = _mm_setr_epi8(10, -1, -1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15);
#define PART(N) \
    store_lane(out + 16 * N, _mm_or_si128(_mm_or_si128(_mm_shuffle_epi8(r, r##N), _mm_shuffle_epi8(g, g##N)), \
                                          _mm_shuffle_epi8(b, b##N)))
    PART(0);
    PART(1);
    PART(2);
#undef PART
}
STEP void store_rgba(uint8_t *out, __m128i r, __m128i g, __m128i b) {
    const __m128i a = _mm_set1_epi8(-1), rg0 = _mm_unpacklo_epi8(r, g), rg1 = _mm_unpackhi_epi8(r, g);
    const __m128i ba0 = _mm_unpacklo_epi8(b, a), ba1 = _mm_unpackhi_epi8(b, a);
    store_lane(out, _mm_unpacklo_epi16(rg0, ba0));
    store_lane(out + 16, _mm_unpackhi_epi16(rg0, ba0));
    store_lane(out + 32, _mm_unpacklo_epi16(rg1, ba1));
    store_lane(out + 48, _mm_unpackhi_epi16(rg1, ba1));
}
