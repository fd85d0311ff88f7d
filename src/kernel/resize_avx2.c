/* Bilinear resizing with AVX2. */
#include "kernel/variants.h"

#if defined(__AVX2__)
#include <immintrin.h>
#include <string.h>

enum { LANES = 8 };
typedef __m256i ints;

static inline __m128i load_16(const void *p) {
    return _mm_loadu_si128((const __m128i *)p);
}

static inline ints zero(void) {
    return _mm256_setzero_si256();
}

static inline ints same(int32_t v) {
    return _mm256_set1_epi32(v);
}

static inline ints load(const void *p) {
    return _mm256_loadu_si256((const __m256i *)p);
}

static inline void store(void *p, ints v) {
    _mm256_storeu_si256((__m256i *)p, v);
}

static inline ints widen(const uint8_t *p) {
    return _mm256_cvtepu8_epi16(load_16(p));
}

static inline ints low(ints a, ints b) {
    return _mm256_unpacklo_epi16(a, b);
}

static inline ints high(ints a, ints b) {
    return _mm256_unpackhi_epi16(a, b);
}

static inline ints multiply(ints a, ints b) {
    return _mm256_madd_epi16(a, b);
}

static inline ints add(ints a, ints b) {
    return _mm256_add_epi32(a, b);
}

static inline ints down_7(ints v) {
    return _mm256_srai_epi32(v, 7);
}

static inline ints down_21(ints v) {
    return _mm256_srai_epi32(v, 21);
}

static inline ints left_7(ints v) {
    return _mm256_slli_epi16(v, 7);
}

static inline ints pack(ints a, ints b) {
    return _mm256_packs_epi32(a, b);
}

static inline ints pack_bytes(ints a, ints b) {
    return _mm256_packus_epi16(a, b);
}

static inline ints parts(const int16_t *row, const uint32_t *o) {
    return _mm256_inserti128_si256(_mm256_castsi128_si256(load_16(row + o[0])), load_16(row + o[4]), 1);
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
    return _mm256_inserti128_si256(_mm256_castsi128_si256(four(row, o)), four(row, o + 4), 1);
}

static inline ints shuffle(ints v, ints mask) {
    return _mm256_shuffle_epi8(v, mask);
}

static inline ints spread(__m128i mask) {
    return _mm256_broadcastsi128_si256(mask);
}

#define pick(V, N) _mm256_shuffle_epi32(V, N)

static inline ints close_up(ints v) {
    const ints words = _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 3, 7);
    const __m128i bytes = _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
    return _mm256_permutevar8x32_epi32(shuffle(v, spread(bytes)), words);
}

static inline void store_low_bytes(uint8_t *p, ints v) {
    v = pack_bytes(pack(v, v), v);
    const __m128i both = _mm_unpacklo_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    _mm_storel_epi64((__m128i *)(void *)p, both);
}

static inline ints down_15(ints v) {
    return _mm256_srai_epi32(v, 15);
}

static inline ints down_22(ints v) {
    return _mm256_srai_epi32(v, 22);
}

static inline ints add_words(ints a, ints b) {
    return _mm256_add_epi16(a, b);
}

static inline ints sub_words(ints a, ints b) {
    return _mm256_sub_epi16(a, b);
}

static inline void store_words(int16_t *p, ints v) {
    const ints words = _mm256_permute4x64_epi64(pack(v, v), 0x08);
    _mm_storeu_si128((__m128i *)(void *)p, _mm256_castsi256_si128(words));
}

static inline void store_bytes(uint8_t *p, ints v) {
    const ints bytes = _mm256_permute4x64_epi64(pack_bytes(v, v), 0x08);
    _mm_storeu_si128((__m128i *)(void *)p, _mm256_castsi256_si128(bytes));
}

#include "kernel/resize_x86.h"

void mldfi_down_avx2(const uint8_t *rows, size_t stride, const int16_t *weights, uint32_t taps, size_t values,
                     int16_t *out) {
    down(rows, stride, weights, taps, values, out);
}

void mldfi_across_avx2(const struct tap_table *table, uint32_t channels, const int16_t *row, uint8_t *out) {
    across(table, channels, row, out);
}

void mldfi_across_words_avx2(const struct tap_table *table, const int16_t *row, int16_t *out) {
    words_any(table, row, out);
}

void mldfi_color_words_avx2(const int16_t *y, const int16_t *cb, const int16_t *cr, size_t count, uint8_t *r,
                            uint8_t *g, uint8_t *b) {
    color_words(y, cb, cr, count, r, g, b);
}
#endif
