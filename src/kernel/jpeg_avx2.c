/* The loops of jpeg.h with AVX2. Transforms take two blocks at a time, one in each half of a register; every product is half of a pmaddwd, and sums
 * are linear in 32 bits, so that any grouping gives the same numbers as the portable text. */
#include "kernel/jpeg.h"

#if defined(__x86_64__)
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC target("bmi,bmi2,lzcnt") /* kernels.c asks for them too */
#endif
#include <immintrin.h>
#include <string.h>

#define STORE_VALUES(TO, VALUES) \
    _mm_storeu_si128((__m128i *)(void *)(TO), _mm_cvtepi8_epi16(_mm_cvtsi64_si128((long long)(VALUES))))
#include "kernel/jpeg_segments.h"

static bool segments(const uint8_t *bits, uint64_t count, const struct jpeg_window *t, int16_t *out,
                     struct jpeg_job *jobs, size_t jobs_count) {
    return run_segments(bits, count, t, out, jobs, jobs_count);
}

static bool dcs(const uint8_t *bits, uint64_t limit, const uint64_t at[4], const struct jpeg_dc_window *t, size_t count,
                unsigned lag, int16_t *out, size_t stride) {
    return lag == 1 ? run_dcs(bits, limit, at, t, count, 1, out, stride)
                    : run_dcs(bits, limit, at, t, count, 2, out, stride);
}

/* ---- Transforms ------------------------------------------------------------------------------------------------------------ */

typedef __m256i v;

/* Constants A and B for the words of a pair. */
#define PAIR(A, B) _mm256_set1_epi32((int)((uint32_t)(uint16_t)(int16_t)(B) << 16 | (uint16_t)(int16_t)(A)))
#define TIMES(X, A, B) _mm256_madd_epi16(X, PAIR(A, B))
#define ADD _mm256_add_epi32
#define SUB _mm256_sub_epi32

ALWAYS v two(const int16_t *a, const int16_t *b) {
    return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)a)),
                                   _mm_loadu_si128((const __m128i *)(const void *)b), 1);
}
ALWAYS v twice(const void *p) {
    return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)p));
}

/* One tile of 4 x 2 from the 16 places of its group. */
#define TILE(GROUP, T) \
    _mm256_or_si256(_mm256_shuffle_epi8(g[2 * (GROUP)], twice(q->shuffle[4 * (GROUP) + 2 * (T)])), \
                    _mm256_shuffle_epi8(g[2 * (GROUP) + 1], twice(q->shuffle[4 * (GROUP) + 2 * (T) + 1])))

/* Four rows of both blocks, dequantised, of which the low band has four columns; the other four are zero. */
ALWAYS void load_low(const struct jpeg_quantisers *q, const int16_t *low, v x[8]) {
    const v g[2] = {two(low, low + JPEG_LOW_STRIDE), two(low + 8, low + JPEG_LOW_STRIDE + 8)};
    const v a0 = TILE(0, 0), a1 = TILE(0, 1), none = _mm256_setzero_si256();
    x[0] = _mm256_unpacklo_epi64(a0, none);
    x[1] = _mm256_unpackhi_epi64(a0, none);
    x[2] = _mm256_unpacklo_epi64(a1, none);
    x[3] = _mm256_unpackhi_epi64(a1, none);
#pragma GCC unroll 8
    for (int i = 0; i < 4; i++)
        x[i] = _mm256_mullo_epi16(x[i], two(q->natural[0] + 8 * i, q->natural[1] + 8 * i));
#pragma GCC unroll 8
    for (int i = 4; i < 8; i++)
        x[i] = none;
}

/* Eight rows of both blocks, dequantised. */
ALWAYS void load_rows(const struct jpeg_quantisers *q, const int16_t *low, const int16_t *high, v x[8]) {
    v g[8];
    g[0] = two(low, low + JPEG_LOW_STRIDE);
    g[1] = two(low + 8, low + JPEG_LOW_STRIDE + 8);
#pragma GCC unroll 8
    for (int i = 0; i < 6; i++)
        g[2 + i] = two(high + 1 + 8 * i, high + JPEG_HIGH_STRIDE + 1 + 8 * i);
    const v a0 = TILE(0, 0), a1 = TILE(0, 1), b0 = TILE(1, 0), b1 = TILE(1, 1);
    const v c0 = TILE(2, 0), c1 = TILE(2, 1), d0 = TILE(3, 0), d1 = TILE(3, 1);
    x[0] = _mm256_unpacklo_epi64(a0, b0);
    x[1] = _mm256_unpackhi_epi64(a0, b0);
    x[2] = _mm256_unpacklo_epi64(a1, c0);
    x[3] = _mm256_unpackhi_epi64(a1, c0);
    x[4] = _mm256_unpacklo_epi64(b1, d0);
    x[5] = _mm256_unpackhi_epi64(b1, d0);
    x[6] = _mm256_unpacklo_epi64(c1, d1);
    x[7] = _mm256_unpackhi_epi64(c1, d1);
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++)
        x[i] = _mm256_mullo_epi16(x[i], two(q->natural[0] + 8 * i, q->natural[1] + 8 * i));
}

/* Four columns of each block, of eight values. */
#define HALF_8(UNPACK, SHIFT, H) \
    do { \
        const v p04 = UNPACK(x[0], x[4]), p26 = UNPACK(x[2], x[6]); \
        const v p13 = UNPACK(x[1], x[3]), p57 = UNPACK(x[5], x[7]); \
        const v half = _mm256_set1_epi32(1 << ((SHIFT)-1)); \
        const v e0 = ADD(TIMES(p04, 8192, 8192), half), e1 = ADD(TIMES(p04, 8192, -8192), half); \
        const v e3 = TIMES(p26, 4433 + 6270, 4433), e2 = TIMES(p26, 4433, 4433 - 15137); \
        const v t0 = ADD(e0, e3), t3 = SUB(e0, e3), t1 = ADD(e1, e2), t2 = SUB(e1, e2); \
        const v o0 = ADD(TIMES(p13, 2260, -6436), TIMES(p57, 9633, -11363)); \
        const v o1 = ADD(TIMES(p13, 6437, -11362), TIMES(p57, 2261, 9633)); \
        const v o2 = ADD(TIMES(p13, 9633, -2259), TIMES(p57, -11362, -6436)); \
        const v o3 = ADD(TIMES(p13, 11363, 9633), TIMES(p57, 6437, 2260)); \
        H[0] = _mm256_srai_epi32(ADD(t0, o3), SHIFT); \
        H[7] = _mm256_srai_epi32(SUB(t0, o3), SHIFT); \
        H[1] = _mm256_srai_epi32(ADD(t1, o2), SHIFT); \
        H[6] = _mm256_srai_epi32(SUB(t1, o2), SHIFT); \
        H[2] = _mm256_srai_epi32(ADD(t2, o1), SHIFT); \
        H[5] = _mm256_srai_epi32(SUB(t2, o1), SHIFT); \
        H[3] = _mm256_srai_epi32(ADD(t3, o0), SHIFT); \
        H[4] = _mm256_srai_epi32(SUB(t3, o0), SHIFT); \
    } while (0)
#define PASS_8(SHIFT) \
    do { \
        v l[8], h[8]; \
        HALF_8(_mm256_unpacklo_epi16, SHIFT, l); \
        HALF_8(_mm256_unpackhi_epi16, SHIFT, h); \
        _Pragma("GCC unroll 8") for (int n_ = 0; n_ < 8; n_++) x[n_] = _mm256_packs_epi32(l[n_], h[n_]); \
    } while (0)

ALWAYS void transpose(v x[8]) {
    v a[8], b[8];
#pragma GCC unroll 8
    for (int i = 0; i < 4; i++) {
        a[2 * i] = _mm256_unpacklo_epi16(x[2 * i], x[2 * i + 1]);
        a[2 * i + 1] = _mm256_unpackhi_epi16(x[2 * i], x[2 * i + 1]);
    }
#pragma GCC unroll 8
    for (int i = 0; i < 2; i++)
#pragma GCC unroll 8
        for (int j = 0; j < 2; j++) {
            b[4 * i + 2 * j] = _mm256_unpacklo_epi32(a[4 * i + j], a[4 * i + j + 2]);
            b[4 * i + 2 * j + 1] = _mm256_unpackhi_epi32(a[4 * i + j], a[4 * i + j + 2]);
        }
#pragma GCC unroll 8
    for (int i = 0; i < 4; i++) {
        x[2 * i] = _mm256_unpacklo_epi64(b[i], b[i + 4]);
        x[2 * i + 1] = _mm256_unpackhi_epi64(b[i], b[i + 4]);
    }
}

ALWAYS void store_two(uint8_t *first, uint8_t *second, __m128i rows) {
    _mm_storel_epi64((__m128i *)(void *)first, rows);
    _mm_storeh_pd((double *)(void *)second, _mm_castsi128_pd(rows));
}

static void transform_8(const struct jpeg_blocks *b) {
    const struct jpeg_quantisers *q = b->q;
    const v middle = _mm256_set1_epi8((char)0x80);
    const size_t s = b->stride;
    for (size_t i = 0; i < b->pairs; i++) {
        v x[8], c[4];
        load_rows(q, b->low + i * 2 * JPEG_LOW_STRIDE, b->high + i * 2 * JPEG_HIGH_STRIDE, x);
        PASS_8(11);
        transpose(x);
        PASS_8(18);
        /* x: columns. As bytes, two columns side by side, then turned. */
#pragma GCC unroll 8
        for (int k = 0; k < 4; k++) {
            v y = _mm256_xor_si256(_mm256_packs_epi16(x[2 * k], x[2 * k + 1]), middle);
            c[k] = _mm256_unpacklo_epi8(y, _mm256_unpackhi_epi64(y, y));
        }
        const v l0 = _mm256_unpacklo_epi16(c[0], c[1]), h0 = _mm256_unpackhi_epi16(c[0], c[1]);
        const v l1 = _mm256_unpacklo_epi16(c[2], c[3]), h1 = _mm256_unpackhi_epi16(c[2], c[3]);
        const v r[4] = {_mm256_unpacklo_epi32(l0, l1), _mm256_unpackhi_epi32(l0, l1), _mm256_unpacklo_epi32(h0, h1),
                        _mm256_unpackhi_epi32(h0, h1)};
        uint8_t *first = b->a + i * b->step, *second = b->b + i * b->step;
#pragma GCC unroll 8
        for (size_t k = 0; k < 4; k++) {
            store_two(first + 2 * k * s, first + (2 * k + 1) * s, _mm256_castsi256_si128(r[k]));
            store_two(second + 2 * k * s, second + (2 * k + 1) * s, _mm256_extracti128_si256(r[k], 1));
        }
    }
}

/* 4 x 4: the constants of jidctred.c as pairs; -17799 and 20995 fit 16 bits. */
#define HALF_4(UNPACK, SHIFT, H) \
    do { \
        const v p0 = UNPACK(x[0], _mm256_setzero_si256()), p26 = UNPACK(x[2], x[6]); \
        const v p13 = UNPACK(x[1], x[3]), p57 = UNPACK(x[5], x[7]); \
        const v even = ADD(TIMES(p0, 16384, 0), _mm256_set1_epi32(1 << ((SHIFT)-1))); \
        const v tilt = TIMES(p26, 15137, -6270); \
        const v inner = ADD(TIMES(p13, 8697, -17799), TIMES(p57, 11893, -1730)); \
        const v outer = ADD(TIMES(p13, 20995, 7373), TIMES(p57, -4926, -4176)); \
        const v up = ADD(even, tilt), down = SUB(even, tilt); \
        H[0] = _mm256_srai_epi32(ADD(up, outer), SHIFT); \
        H[3] = _mm256_srai_epi32(SUB(up, outer), SHIFT); \
        H[1] = _mm256_srai_epi32(ADD(down, inner), SHIFT); \
        H[2] = _mm256_srai_epi32(SUB(down, inner), SHIFT); \
    } while (0)

ALWAYS void transform_to_4(const struct jpeg_blocks *b, const bool low_band) {
    const struct jpeg_quantisers *q = b->q;
    const v middle = _mm256_set1_epi8((char)0x80);
    /* Bytes 4 * column + row → 4 * row + column. */
    const v turn = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    for (size_t i = 0; i < b->pairs; i++) {
        v x[8], l[4], h[4], r[4];
        if (low_band)
            load_low(q, b->low + i * 2 * JPEG_LOW_STRIDE, x);
        else
            load_rows(q, b->low + i * 2 * JPEG_LOW_STRIDE, b->high + i * 2 * JPEG_HIGH_STRIDE, x);
        HALF_4(_mm256_unpacklo_epi16, 12, l);
        if (!low_band)
            HALF_4(_mm256_unpackhi_epi16, 12, h);
#pragma GCC unroll 8
        for (int k = 0; k < 4; k++)
            r[k] = _mm256_packs_epi32(l[k], low_band ? _mm256_setzero_si256() : h[k]);
#pragma GCC unroll 8
        for (int k = 0; k < 8; k++)
            x[k] = k < 4 ? r[k] : _mm256_setzero_si256();
        transpose(x);
        HALF_4(_mm256_unpacklo_epi16, 19, l); /* four rows: the lower half has them all */
        const v bytes = _mm256_xor_si256(
            _mm256_packs_epi16(_mm256_packs_epi32(l[0], l[1]), _mm256_packs_epi32(l[2], l[3])), middle);
        const v out = _mm256_shuffle_epi8(bytes, turn);
        const __m128i half[2] = {_mm256_castsi256_si128(out), _mm256_extracti128_si256(out, 1)};
#pragma GCC unroll 8
        for (int k = 0; k < 2; k++) {
            uint8_t rows[16], *to = (k ? b->b : b->a) + i * b->step;
            _mm_storeu_si128((__m128i *)(void *)rows, half[k]);
#pragma GCC unroll 8
            for (size_t y = 0; y < 4; y++)
                memcpy(to + y * b->stride, rows + 4 * y, 4);
        }
    }
}

static void transform_4(const struct jpeg_blocks *b) {
    if (b->high)
        transform_to_4(b, false);
    else
        transform_to_4(b, true);
}

/* 2 x 2, two pairs of blocks at a time. 32768 is a shift. Columns first: */
#define HALF_2(UNPACK, R0, R1) \
    do { \
        const v even = ADD(_mm256_srai_epi32(UNPACK(_mm256_setzero_si256(), x[0]), 1), _mm256_set1_epi32(1 << 12)); \
        const v odd = ADD(TIMES(UNPACK(x[1], x[3]), 29692, -10426), TIMES(UNPACK(x[5], x[7]), 6967, -5906)); \
        R0 = _mm256_srai_epi32(ADD(even, odd), 13); \
        R1 = _mm256_srai_epi32(SUB(even, odd), 13); \
    } while (0)
ALWAYS void columns_to_2(const struct jpeg_blocks *b, size_t pair, const bool low_band, v row[2]) {
    v x[8], l[2], h[2];
    if (low_band)
        load_low(b->q, b->low + pair * 2 * JPEG_LOW_STRIDE, x);
    else
        load_rows(b->q, b->low + pair * 2 * JPEG_LOW_STRIDE, b->high + pair * 2 * JPEG_HIGH_STRIDE, x);
    HALF_2(_mm256_unpacklo_epi16, l[0], l[1]);
    if (!low_band)
        HALF_2(_mm256_unpackhi_epi16, h[0], h[1]);
    for (int k = 0; k < 2; k++)
        row[k] = _mm256_packs_epi32(l[k], low_band ? _mm256_setzero_si256() : h[k]);
}

/* Then rows: in each half of a register those of one block. */
ALWAYS void transform_to_2(const struct jpeg_blocks *b, const bool low_band) {
    const v odds = _mm256_broadcastsi128_si256(_mm_setr_epi16(0, 29692, 0, -10426, 0, 6967, 0, -5906));
    const v none = _mm256_setzero_si256(), half = _mm256_set1_epi32(1 << 19);
    const __m128i order = _mm_setr_epi8(0, 4, 1, 5, 2, 6, 3, 7, -1, -1, -1, -1, -1, -1, -1, -1);
    for (size_t i = 0; i < b->pairs; i += 2) {
        const size_t other = i + 1 < b->pairs ? i + 1 : i;
        v m[2], n[2];
        columns_to_2(b, i, low_band, m);
        columns_to_2(b, other, low_band, n);
        const v odd =
            _mm256_hadd_epi32(_mm256_hadd_epi32(_mm256_madd_epi16(m[0], odds), _mm256_madd_epi16(m[1], odds)),
                              _mm256_hadd_epi32(_mm256_madd_epi16(n[0], odds), _mm256_madd_epi16(n[1], odds)));
        const v first = _mm256_unpacklo_epi32(_mm256_unpacklo_epi16(none, m[0]), _mm256_unpacklo_epi16(none, m[1]));
        const v second = _mm256_unpacklo_epi32(_mm256_unpacklo_epi16(none, n[0]), _mm256_unpacklo_epi16(none, n[1]));
        const v even = ADD(_mm256_srai_epi32(_mm256_unpacklo_epi64(first, second), 1), half);
        const v words =
            _mm256_packs_epi32(_mm256_srai_epi32(ADD(even, odd), 20), _mm256_srai_epi32(SUB(even, odd), 20));
        const v bytes = _mm256_xor_si256(_mm256_packs_epi16(words, words), _mm256_set1_epi8((char)0x80));
        for (int k = 0; k < 2; k++) {
            const __m128i of = k ? _mm256_extracti128_si256(bytes, 1) : _mm256_castsi256_si128(bytes);
            const uint64_t rows = (uint64_t)_mm_cvtsi128_si64(_mm_shuffle_epi8(of, order));
            uint8_t *to = (k ? b->b : b->a) + i * b->step, *next = (k ? b->b : b->a) + other * b->step;
            memcpy(next, (const uint8_t *)&rows + (other == i ? 0 : 4), 2);
            memcpy(next + b->stride, (const uint8_t *)&rows + (other == i ? 2 : 6), 2);
            memcpy(to, &rows, 2);
            memcpy(to + b->stride, (const uint8_t *)&rows + 2, 2);
        }
    }
}

static void transform_2(const struct jpeg_blocks *b) {
    if (b->high)
        transform_to_2(b, false);
    else
        transform_to_2(b, true);
}

/* ---- Upsampling ------------------------------------------------------------------------------------------------------------ */

ALWAYS v wide(const uint8_t *p) {
    return _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(const void *)p));
}
ALWAYS v thrice(v x) {
    return _mm256_add_epi16(x, _mm256_add_epi16(x, x));
}
ALWAYS void store_pairs(uint8_t *out, v even, v odd) {
    _mm256_storeu_si256((v *)(void *)out, _mm256_or_si256(even, _mm256_slli_epi16(odd, 8)));
}

static void up_across(const struct jpeg_up *u) {
    const uint8_t *in = u->near;
    for (size_t i = 0; i < u->count; i += 16) {
        const v now = thrice(wide(in + i));
        const v even = _mm256_add_epi16(_mm256_add_epi16(now, wide(in + i - 1)), _mm256_set1_epi16(1));
        const v odd = _mm256_add_epi16(_mm256_add_epi16(now, wide(in + i + 1)), _mm256_set1_epi16(2));
        store_pairs(u->out + 2 * i, _mm256_srli_epi16(even, 2), _mm256_srli_epi16(odd, 2));
    }
    if (u->first)
        u->out[0] = in[0];
    if (u->last)
        u->out[2 * u->count - 1] = in[u->count - 1];
}

ALWAYS v both(const struct jpeg_up *u, size_t i, int by) {
    return _mm256_add_epi16(thrice(wide(u->near + i + by)), wide(u->far + i + by));
}
ALWAYS unsigned both_at(const struct jpeg_up *u, size_t i) {
    return 3u * u->near[i] + u->far[i];
}

static void up_both(const struct jpeg_up *u) {
    for (size_t i = 0; i < u->count; i += 16) {
        const v now = thrice(both(u, i, 0));
        const v even = _mm256_add_epi16(_mm256_add_epi16(now, both(u, i, -1)), _mm256_set1_epi16(8));
        const v odd = _mm256_add_epi16(_mm256_add_epi16(now, both(u, i, 1)), _mm256_set1_epi16(7));
        store_pairs(u->out + 2 * i, _mm256_srli_epi16(even, 4), _mm256_srli_epi16(odd, 4));
    }
    if (u->first)
        u->out[0] = (uint8_t)((4 * both_at(u, 0) + 8) >> 4);
    if (u->last)
        u->out[2 * u->count - 1] = (uint8_t)((4 * both_at(u, u->count - 1) + 7) >> 4);
}

/* ---- Colour ---------------------------------------------------------------------------------------------------------------- */

/* 48 bytes of three planes of 16. */
ALWAYS void store_rgb(uint8_t *out, __m128i r, __m128i g, __m128i b) {
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
    _mm_storeu_si128( \
        (__m128i *)(void *)(out + 16 * N), \
        _mm_or_si128(_mm_or_si128(_mm_shuffle_epi8(r, r##N), _mm_shuffle_epi8(g, g##N)), _mm_shuffle_epi8(b, b##N)))
    PART(0);
    PART(1);
    PART(2);
#undef PART
}
ALWAYS void store_rgba(uint8_t *out, __m128i r, __m128i g, __m128i b) {
    const __m128i a = _mm_set1_epi8(-1), rg0 = _mm_unpacklo_epi8(r, g), rg1 = _mm_unpackhi_epi8(r, g);
    const __m128i ba0 = _mm_unpacklo_epi8(b, a), ba1 = _mm_unpackhi_epi8(b, a);
    _mm_storeu_si128((__m128i *)(void *)out, _mm_unpacklo_epi16(rg0, ba0));
    _mm_storeu_si128((__m128i *)(void *)(out + 16), _mm_unpackhi_epi16(rg0, ba0));
    _mm_storeu_si128((__m128i *)(void *)(out + 32), _mm_unpacklo_epi16(rg1, ba1));
    _mm_storeu_si128((__m128i *)(void *)(out + 48), _mm_unpackhi_epi16(rg1, ba1));
}
ALWAYS __m128i bytes_of(v words) {
    return _mm256_castsi256_si128(_mm256_permute4x64_epi64(_mm256_packus_epi16(words, words), 0xd8));
}

/* libjpeg's constants less whole numbers, so that they fit 16 bits: 1.402 = 1 + 26345 / 65536, 1.772 = 2 - 14942 / 65536, 0.71414 = 1 - 18734 / 65536. */
static void color(const uint8_t *y, const uint8_t *cb, const uint8_t *cr, size_t count, unsigned channels,
                  uint8_t *out) {
    const v half = _mm256_set1_epi16(128), one = _mm256_set1_epi16(1), round = _mm256_set1_epi32(32768);
    for (size_t i = 0; i < count; i += 16, out += 16 * (size_t)channels) {
        const v l = wide(y + i), u = _mm256_sub_epi16(wide(cb + i), half), w = _mm256_sub_epi16(wide(cr + i), half);
        const v u2 = _mm256_add_epi16(u, u), w2 = _mm256_add_epi16(w, w);
        const v ru = _mm256_srai_epi16(_mm256_add_epi16(_mm256_mulhi_epi16(w2, _mm256_set1_epi16(26345)), one), 1);
        const v bu = _mm256_srai_epi16(_mm256_add_epi16(_mm256_mulhi_epi16(u2, _mm256_set1_epi16(-14942)), one), 1);
        const v r = _mm256_add_epi16(_mm256_add_epi16(l, w), ru), b = _mm256_add_epi16(_mm256_add_epi16(l, u2), bu);
        const v g0 = _mm256_srai_epi32(ADD(TIMES(_mm256_unpacklo_epi16(u, w), -22554, 18734), round), 16);
        const v g1 = _mm256_srai_epi32(ADD(TIMES(_mm256_unpackhi_epi16(u, w), -22554, 18734), round), 16);
        const v g = _mm256_sub_epi16(_mm256_add_epi16(l, _mm256_packs_epi32(g0, g1)), w);
        if (channels == 3)
            store_rgb(out, bytes_of(r), bytes_of(g), bytes_of(b));
        else
            store_rgba(out, bytes_of(r), bytes_of(g), bytes_of(b));
    }
}

static void join(const uint8_t *r, const uint8_t *g, const uint8_t *b, size_t count, unsigned channels, uint8_t *out) {
    for (size_t i = 0; i < count; i += 16, out += 16 * (size_t)channels) {
        const __m128i x = _mm_loadu_si128((const __m128i *)(const void *)(r + i));
        const __m128i y = _mm_loadu_si128((const __m128i *)(const void *)(g + i));
        const __m128i z = _mm_loadu_si128((const __m128i *)(const void *)(b + i));
        if (channels == 3)
            store_rgb(out, x, y, z);
        else
            store_rgba(out, x, y, z);
    }
}

const struct jpeg_kernels mldfi_jpeg_avx2 = {
    segments, dcs, {mldfi_jpeg_transform_1, transform_2, transform_4, transform_8}, up_across, up_both, color, join,
};
#endif
