/* Bilinear resizing with SSE4.1. */
#include "kernel/variants.h"

#if defined(__SSE4_1__)
#include <smmintrin.h>
#include <string.h>

enum { LANES = 4 };
typedef __m128i ints;

static inline ints zero(void) {
    return _mm_setzero_si128();
}

static inline ints same(int32_t v) {
    return _mm_set1_epi32(v);
}

static inline ints load(const void *p) {
    return _mm_loadu_si128((const __m128i *)p);
}

static inline void store(void *p, ints v) {
    _mm_storeu_si128((__m128i *)p, v);
}

static inline ints widen(const uint8_t *p) {
    return _mm_cvtepu8_epi16(_mm_loadl_epi64((const __m128i *)(const void *)p));
}

static inline ints low(ints a, ints b) {
    return _mm_unpacklo_epi16(a, b);
}

static inline ints high(ints a, ints b) {
    return _mm_unpackhi_epi16(a, b);
}

static inline ints multiply(ints a, ints b) {
    return _mm_madd_epi16(a, b);
}

static inline ints add(ints a, ints b) {
    return _mm_add_epi32(a, b);
}

static inline ints down_7(ints v) {
    return _mm_srai_epi32(v, 7);
}

static inline ints down_21(ints v) {
    return _mm_srai_epi32(v, 21);
}

static inline ints left_7(ints v) {
    return _mm_slli_epi16(v, 7);
}

static inline ints pack(ints a, ints b) {
    return _mm_packs_epi32(a, b);
}

static inline ints pack_bytes(ints a, ints b) {
    return _mm_packus_epi16(a, b);
}

static inline ints parts(const int16_t *row, const uint32_t *o) {
    return load(row + o[0]);
}

static inline int32_t quad(const int16_t *p) {
    int32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline ints quads(const int16_t *row, const uint32_t *o) {
    return _mm_setr_epi32(quad(row + o[0]), quad(row + o[1]), quad(row + o[2]), quad(row + o[3]));
}

static inline ints shuffle(ints v, ints mask) {
    return _mm_shuffle_epi8(v, mask);
}

static inline ints spread(__m128i mask) {
    return mask;
}

#define pick(V, N) _mm_shuffle_epi32(V, N)

static inline ints close_up(ints v) {
    return shuffle(v, _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1));
}

static inline void store_low_bytes(uint8_t *p, ints v) {
    int32_t bytes = _mm_cvtsi128_si32(pack_bytes(pack(v, v), v));
    memcpy(p, &bytes, sizeof bytes);
}

static inline ints down_15(ints v) {
    return _mm_srai_epi32(v, 15);
}

static inline ints down_22(ints v) {
    return _mm_srai_epi32(v, 22);
}

static inline ints add_words(ints a, ints b) {
    return _mm_add_epi16(a, b);
}

static inline ints sub_words(ints a, ints b) {
    return _mm_sub_epi16(a, b);
}

static inline void store_words(int16_t *p, ints v) {
    _mm_storel_epi64((__m128i *)(void *)p, pack(v, v));
}

static inline void store_bytes(uint8_t *p, ints v) {
    _mm_storel_epi64((__m128i *)(void *)p, pack_bytes(v, v));
}

#include "kernel/resize_x86.h"

void mldfi_down_sse4(const uint8_t *rows, size_t stride, const int16_t *weights, uint32_t taps, size_t values,
                     int16_t *out) {
    down(rows, stride, weights, taps, values, out);
}

void mldfi_across_sse4(const struct tap_table *table, uint32_t channels, const int16_t *row, uint8_t *out) {
    across(table, channels, row, out);
}

void mldfi_across_words_sse4(const struct tap_table *table, const int16_t *row, int16_t *out) {
    words_any(table, row, out);
}

void mldfi_color_words_sse4(const int16_t *y, const int16_t *cb, const int16_t *cr, size_t count, uint8_t *r,
                            uint8_t *g, uint8_t *b) {
    color_words(y, cb, cr, count, r, g, b);
}
#endif
