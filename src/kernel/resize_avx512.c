/* The loops of resize.h for AVX-512 (F, BW, DQ, VL): bilinear resizing, 16 numbers at once. The same bits as resize_portable.c, which says what is
 * computed; variants.h chooses between them. */
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

static inline ints down_15(ints v) {
    return _mm512_srai_epi32(v, 15);
}

static inline ints down_22(ints v) {
    return _mm512_srai_epi32(v, 22);
}

static inline ints add_words(ints a, ints b) {
    return _mm512_add_epi16(a, b);
}

static inline ints sub_words(ints a, ints b) {
    return _mm512_sub_epi16(a, b);
}

static inline void store_words(int16_t *p, ints v) {
    _mm256_storeu_si256((__m256i *)(void *)p, _mm512_cvtepi32_epi16(v));
}

static inline void store_bytes(uint8_t *p, ints v) {
    _mm256_storeu_si256((__m256i *)(void *)p, _mm512_cvtusepi16_epi8(_mm512_max_epi16(v, zero())));
}

#include "kernel/resize_x86.h"

/* ---- In planes --------------------------------------------------------------------------------------------------------- */

/* Words 3 i + c of 96 in three vectors: first those of the first two, then those of the third in the places left. */
static const uint16_t first_two[3][32] = {
    {0, 3, 6, 9, 12, 15, 18, 21, 24, 27, 30, 33, 36, 39, 42, 45, 48, 51, 54, 57, 60, 63, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {1, 4, 7, 10, 13, 16, 19, 22, 25, 28, 31, 34, 37, 40, 43, 46, 49, 52, 55, 58, 61, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {2, 5, 8, 11, 14, 17, 20, 23, 26, 29, 32, 35, 38, 41, 44, 47, 50, 53, 56, 59, 62, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}};
static const uint16_t and_third[3][32] = {{0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                           16, 17, 18, 19, 20, 21, 34, 37, 40, 43, 46, 49, 52, 55, 58, 61},
                                          {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                           16, 17, 18, 19, 20, 32, 35, 38, 41, 44, 47, 50, 53, 56, 59, 62},
                                          {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                           16, 17, 18, 19, 20, 33, 36, 39, 42, 45, 48, 51, 54, 57, 60, 63}};

static inline ints plane_of(ints x, ints y, ints z, int c) {
    return _mm512_permutex2var_epi16(_mm512_permutex2var_epi16(x, load(first_two[c]), y), load(and_third[c]), z);
}

void mldfi_down_planes_avx512(const uint8_t *rows, size_t stride, const int16_t *weights, uint32_t taps, size_t pixels,
                              int16_t *out, size_t plane) {
    enum { STEP = 32 };
    for (size_t i = 0; i < pixels; i += STEP) {
        size_t at = i + STEP <= pixels ? i : pixels - STEP;
        const uint8_t *p = rows + 3 * at;
        const ints x = blend(p, stride, weights, taps), y = blend(p + 32, stride, weights, taps),
                   z = blend(p + 64, stride, weights, taps);
        store(out + at, plane_of(x, y, z, 0));
        store(out + plane + at, plane_of(x, y, z, 1));
        store(out + 2 * plane + at, plane_of(x, y, z, 2));
    }
}

/* Where the pairs of sixteen pixels lie, in words from the first of them; a pair is one 32-bit word of a permutation. */
static inline ints pairs_at(const uint32_t *o, uint32_t *begin) {
    *begin = o[0] < o[LANES - 1] ? o[0] : o[LANES - 1];
    const ints apart = _mm512_sub_epi32(load(o), same((int32_t)*begin));
    return add(_mm512_or_si512(apart, _mm512_slli_epi32(apart, 16)), same(0x10000));
}

/* Sixteen pixels of each plane, whose taps all lie in the 32 or 64 values that TAKE chooses from. */
#define TAKE_32(P, WHICH) _mm512_permutexvar_epi16(WHICH, load(P))
#define TAKE_64(P, WHICH) _mm512_permutex2var_epi16(load(P), WHICH, load((P) + 32))
#define ONE_PLANE(NAME, TAKE) \
    static void NAME(const struct tap_table *t, const int16_t *row, size_t plane, uint8_t *out) { \
        (void)plane; \
        for (size_t i = 0; i < t->count; i += LANES) { \
            uint32_t begin; \
            ints which = pairs_at(t->offset + i, &begin), sum = same(1 << 20); \
            const int16_t *w = t->weights + 2 * i; \
            for (uint32_t k = 0; k < t->pairs; k++, w += 2 * t->stride) { \
                sum = add(sum, multiply(TAKE(row + begin, which), load(w))); \
                which = add(which, same(0x20002)); \
            } \
            store_low_bytes(out + i, down_21(sum)); \
        } \
    }
#define THREE_PLANES(NAME, TAKE) \
    static void NAME(const struct tap_table *t, const int16_t *row, size_t plane, uint8_t *out) { \
        for (size_t i = 0; i < t->count; i += LANES) { \
            uint32_t begin; \
            ints which = pairs_at(t->offset + i, &begin), x = same(1 << 20), y = x, z = x; \
            const int16_t *w = t->weights + 2 * i, *p = row + begin; \
            for (uint32_t k = 0; k < t->pairs; k++, w += 2 * t->stride) { \
                const ints weights = load(w); \
                x = add(x, multiply(TAKE(p, which), weights)); \
                y = add(y, multiply(TAKE(p + plane, which), weights)); \
                z = add(z, multiply(TAKE(p + 2 * plane, which), weights)); \
                which = add(which, same(0x20002)); \
            } \
            store_low_bytes(out + i, down_21(x)); \
            store_low_bytes(out + t->stride + i, down_21(y)); \
            store_low_bytes(out + 2 * t->stride + i, down_21(z)); \
        } \
    }
ONE_PLANE(one_small, TAKE_32)
ONE_PLANE(one_large, TAKE_64)
THREE_PLANES(three_small, TAKE_32)
THREE_PLANES(three_large, TAKE_64)

void mldfi_across_planes_avx512(const struct tap_table *table, uint32_t planes, const int16_t *row, size_t plane,
                                uint8_t *out) {
    if (planes == 1)
        (table->span <= 32 ? one_small : one_large)(table, row, plane, out);
    else
        (table->span <= 32 ? three_small : three_large)(table, row, plane, out);
}

void mldfi_down_avx512(const uint8_t *rows, size_t stride, const int16_t *weights, uint32_t taps, size_t values,
                       int16_t *out) {
    down(rows, stride, weights, taps, values, out);
}

void mldfi_across_avx512(const struct tap_table *table, uint32_t channels, const int16_t *row, uint8_t *out) {
    across(table, channels, row, out);
}

#define WORDS(NAME, TAKE) \
    static void NAME(const struct tap_table *t, const int16_t *row, int16_t *out) { \
        for (size_t i = 0; i < t->stride; i += LANES) { \
            uint32_t begin; \
            ints which = pairs_at(t->offset + i, &begin), sum = same(1 << 14); \
            const int16_t *w = t->weights + 2 * i; \
            for (uint32_t k = 0; k < t->pairs; k++, w += 2 * t->stride) { \
                sum = add(sum, multiply(TAKE(row + begin, which), load(w))); \
                which = add(which, same(0x20002)); \
            } \
            store_words(out + i, down_15(sum)); \
        } \
    }
WORDS(words_small, TAKE_32)
WORDS(words_large, TAKE_64)

void mldfi_across_words_avx512(const struct tap_table *table, const int16_t *row, int16_t *out) {
    (table->span <= 32 ? words_small : table->span <= PLANE_SPAN ? words_large : words_any)(table, row, out);
}

void mldfi_color_words_avx512(const int16_t *y, const int16_t *cb, const int16_t *cr, size_t count, uint8_t *r,
                              uint8_t *g, uint8_t *b) {
    if (count < 2 * LANES)
        mldfi_color_words_portable(y, cb, cr, count, r, g, b);
    else
        color_words(y, cb, cr, count, r, g, b);
}
#endif
