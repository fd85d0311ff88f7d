/* Bilinear resizing with AVX-512 (F, BW, DQ, VL). */
#include "kernel/variants.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#include <immintrin.h>
#include <string.h>

enum { LANES = 16 };
typedef __m512i ints;

static inline __m128i load_16(const void *p) {
    return _mm_loadu_si128((const __m128i *)p);
}

static inline ints zero(void) {
    return _mm512_setzero_si512();
}

static inline ints same(int32_t v) {
    return _mm512_set1_epi32(v);
}

static inline ints load(const void *p) {
    return _mm512_loadu_si512(p);
}

static inline void store(void *p, ints v) {
    _mm512_storeu_si512(p, v);
}

static inline ints widen(const uint8_t *p) {
    return _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)(const void *)p));
}

static inline ints low(ints a, ints b) {
    return _mm512_unpacklo_epi16(a, b);
}

static inline ints high(ints a, ints b) {
    return _mm512_unpackhi_epi16(a, b);
}

static inline ints multiply(ints a, ints b) {
    return _mm512_madd_epi16(a, b);
}

static inline ints add(ints a, ints b) {
    return _mm512_add_epi32(a, b);
}

static inline ints down_7(ints v) {
    return _mm512_srai_epi32(v, 7);
}

static inline ints down_21(ints v) {
    return _mm512_srai_epi32(v, 21);
}

static inline ints left_7(ints v) {
    return _mm512_slli_epi16(v, 7);
}

static inline ints pack(ints a, ints b) {
    return _mm512_packs_epi32(a, b);
}

static inline ints pack_bytes(ints a, ints b) {
    return _mm512_packus_epi16(a, b);
}

static inline ints parts(const int16_t *row, const uint32_t *o) {
    ints v = _mm512_castsi128_si512(load_16(row + o[0]));
    v = _mm512_mask_broadcast_i32x4(v, 0x00f0, load_16(row + o[4]));
    v = _mm512_mask_broadcast_i32x4(v, 0x0f00, load_16(row + o[8]));
    return _mm512_mask_broadcast_i32x4(v, 0xf000, load_16(row + o[12]));
}

static inline int32_t quad(const int16_t *p) {
    int32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline __m128i four(const int16_t *row, const uint32_t *o) {
    return _mm_setr_epi32(quad(row + o[0]), quad(row + o[1]), quad(row + o[2]), quad(row + o[3]));
}

static inline ints quads(const int16_t *row, const uint32_t *o) {
    ints v = _mm512_castsi128_si512(four(row, o));
    v = _mm512_inserti32x4(v, four(row, o + 4), 1);
    v = _mm512_inserti32x4(v, four(row, o + 8), 2);
    return _mm512_inserti32x4(v, four(row, o + 12), 3);
}

static inline ints shuffle(ints v, ints mask) {
    return _mm512_shuffle_epi8(v, mask);
}

static inline ints spread(__m128i mask) {
    return _mm512_broadcast_i32x4(mask);
}

#define pick(V, N) _mm512_shuffle_epi32(V, (_MM_PERM_ENUM)(N))

static inline ints close_up(ints v) {
    const ints words = _mm512_setr_epi32(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 3, 7, 11, 15);
    const __m128i bytes = _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
    return _mm512_permutexvar_epi32(words, shuffle(v, spread(bytes)));
}

static inline void store_low_bytes(uint8_t *p, ints v) {
    _mm_storeu_si128((__m128i *)(void *)p, _mm512_cvtepi32_epi8(v));
}

#include "kernel/resize_x86.h"

void mldfi_down_avx512(const uint8_t *rows, size_t stride, const int16_t *weights, uint32_t taps, size_t values,
                       int16_t *out) {
    down(rows, stride, weights, taps, values, out);
}

void mldfi_across_avx512(const struct tap_table *table, uint32_t channels, const int16_t *row, uint8_t *out) {
    across(table, channels, row, out);
}
#endif
