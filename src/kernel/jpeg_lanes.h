/* The loops of jpeg.h as one text for each instruction set with vectors. A register is JPEG_LANES lanes of 16 bytes, and each lane works on a
 * block of its own; nothing crosses lanes. Every product is half of a madd, and sums are linear in 32 bits, so that any grouping gives the same
 * numbers as the portable text.
 *
 * Before the include:
 *     V, V1, JPEG_LANES         the register, one lane of it, and how many: 1, or 2 (a pair of blocks)
 *     OP(x)                     the operation x in the words of x86: add_epi32, madd_epi16, unpacklo_epi16 ...
 *     V_ZERO, V_OR, V_XOR       whole registers
 *     lanes(p, step)            eight words at p for the first lane, at p + step for the next ...
 *     same(p)                   the same 16 bytes in every lane
 *     lane(v, k)                lane k of v
 *     pixels(p)                 8 * JPEG_LANES bytes as words
 *     store_words(p, v)         a whole register
 *     store_halves(p, q, v1)    the first eight bytes of a lane to p, the others to q
 *     store_lane(p, v1)         a lane
 *     store_rgb, store_rgba     three lanes of bytes as 16 pixels
 *     load_lane(p), bytes_of(v) a lane; with two lanes: 16 words as bytes, held to 0 ... 255
 *     STORE_VALUES              see jpeg_segments.h */
#include <string.h>

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

/* With one lane, the first blocks of all pairs come before the second ones: `which` says whose turn it is. */
enum { TURNS = JPEG_LANES == 1 ? 2 : 1 };

ALWAYS uint8_t *place_of(const struct jpeg_blocks *b, size_t block) {
    return (block % 2 ? b->b : b->a) + block / 2 * b->step;
}

/* Constants A and B for the words of a pair. */
#define PAIR(A, B) OP(set1_epi32)((int)((uint32_t)(uint16_t)(int16_t)(B) << 16 | (uint16_t)(int16_t)(A)))
#define TIMES(X, A, B) OP(madd_epi16)(X, PAIR(A, B))
#define ADD OP(add_epi32)
#define SUB OP(sub_epi32)
#define SHIFTED(X, BY) OP(srai_epi32)(X, BY)

/* Row i of the quantisers for each lane. */
ALWAYS V quantisers(const struct jpeg_quantisers *q, int i, size_t which) {
    return lanes(q->natural[JPEG_LANES == 1 ? which : 0] + 8 * i, 64);
}

/* One tile of 4 x 2 from the 16 places of its group. */
#define TILE(GROUP, T) \
    V_OR(OP(shuffle_epi8)(g[2 * (GROUP)], same(q->shuffle[4 * (GROUP) + 2 * (T)])), \
         OP(shuffle_epi8)(g[2 * (GROUP) + 1], same(q->shuffle[4 * (GROUP) + 2 * (T) + 1])))

/* Four rows of each block, dequantised, of which the low band has four columns; the other four are zero. */
ALWAYS void load_low(const struct jpeg_blocks *b, size_t block, V x[8]) {
    const struct jpeg_quantisers *q = b->q;
    const int16_t *low = b->low + block * JPEG_LOW_STRIDE;
    const V g[2] = {lanes(low, JPEG_LOW_STRIDE), lanes(low + 8, JPEG_LOW_STRIDE)};
    const V a0 = TILE(0, 0), a1 = TILE(0, 1), none = V_ZERO;
    x[0] = OP(unpacklo_epi64)(a0, none);
    x[1] = OP(unpackhi_epi64)(a0, none);
    x[2] = OP(unpacklo_epi64)(a1, none);
    x[3] = OP(unpackhi_epi64)(a1, none);
#pragma GCC unroll 8
    for (int i = 0; i < 4; i++)
        x[i] = OP(mullo_epi16)(x[i], quantisers(q, i, block % 2));
#pragma GCC unroll 8
    for (int i = 4; i < 8; i++)
        x[i] = none;
}

/* Eight rows of each block, dequantised. */
ALWAYS void load_rows(const struct jpeg_blocks *b, size_t block, V x[8]) {
    const struct jpeg_quantisers *q = b->q;
    const int16_t *low = b->low + block * JPEG_LOW_STRIDE, *high = b->high + block * JPEG_HIGH_STRIDE;
    V g[8];
    g[0] = lanes(low, JPEG_LOW_STRIDE);
    g[1] = lanes(low + 8, JPEG_LOW_STRIDE);
#pragma GCC unroll 8
    for (int i = 0; i < 6; i++)
        g[2 + i] = lanes(high + 1 + 8 * i, JPEG_HIGH_STRIDE);
    const V a0 = TILE(0, 0), a1 = TILE(0, 1), b0 = TILE(1, 0), b1 = TILE(1, 1);
    const V c0 = TILE(2, 0), c1 = TILE(2, 1), d0 = TILE(3, 0), d1 = TILE(3, 1);
    x[0] = OP(unpacklo_epi64)(a0, b0);
    x[1] = OP(unpackhi_epi64)(a0, b0);
    x[2] = OP(unpacklo_epi64)(a1, c0);
    x[3] = OP(unpackhi_epi64)(a1, c0);
    x[4] = OP(unpacklo_epi64)(b1, d0);
    x[5] = OP(unpackhi_epi64)(b1, d0);
    x[6] = OP(unpacklo_epi64)(c1, d1);
    x[7] = OP(unpackhi_epi64)(c1, d1);
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++)
        x[i] = OP(mullo_epi16)(x[i], quantisers(q, i, block % 2));
}

/* Four columns of each block, of eight values. */
#define HALF_8(UNPACK, SHIFT, H) \
    do { \
        const V p04 = UNPACK(x[0], x[4]), p26 = UNPACK(x[2], x[6]); \
        const V p13 = UNPACK(x[1], x[3]), p57 = UNPACK(x[5], x[7]); \
        const V half = OP(set1_epi32)(1 << ((SHIFT)-1)); \
        const V e0 = ADD(TIMES(p04, 8192, 8192), half), e1 = ADD(TIMES(p04, 8192, -8192), half); \
        const V e3 = TIMES(p26, 4433 + 6270, 4433), e2 = TIMES(p26, 4433, 4433 - 15137); \
        const V t0 = ADD(e0, e3), t3 = SUB(e0, e3), t1 = ADD(e1, e2), t2 = SUB(e1, e2); \
        const V o0 = ADD(TIMES(p13, 2260, -6436), TIMES(p57, 9633, -11363)); \
        const V o1 = ADD(TIMES(p13, 6437, -11362), TIMES(p57, 2261, 9633)); \
        const V o2 = ADD(TIMES(p13, 9633, -2259), TIMES(p57, -11362, -6436)); \
        const V o3 = ADD(TIMES(p13, 11363, 9633), TIMES(p57, 6437, 2260)); \
        H[0] = SHIFTED(ADD(t0, o3), SHIFT); \
        H[7] = SHIFTED(SUB(t0, o3), SHIFT); \
        H[1] = SHIFTED(ADD(t1, o2), SHIFT); \
        H[6] = SHIFTED(SUB(t1, o2), SHIFT); \
        H[2] = SHIFTED(ADD(t2, o1), SHIFT); \
        H[5] = SHIFTED(SUB(t2, o1), SHIFT); \
        H[3] = SHIFTED(ADD(t3, o0), SHIFT); \
        H[4] = SHIFTED(SUB(t3, o0), SHIFT); \
    } while (0)
#define PASS_8(SHIFT) \
    do { \
        V l[8], h[8]; \
        HALF_8(OP(unpacklo_epi16), SHIFT, l); \
        HALF_8(OP(unpackhi_epi16), SHIFT, h); \
        _Pragma("GCC unroll 8") for (int n_ = 0; n_ < 8; n_++) x[n_] = OP(packs_epi32)(l[n_], h[n_]); \
    } while (0)

ALWAYS void transpose(V x[8]) {
    V a[8], b[8];
#pragma GCC unroll 8
    for (int i = 0; i < 4; i++) {
        a[2 * i] = OP(unpacklo_epi16)(x[2 * i], x[2 * i + 1]);
        a[2 * i + 1] = OP(unpackhi_epi16)(x[2 * i], x[2 * i + 1]);
    }
#pragma GCC unroll 8
    for (int i = 0; i < 2; i++)
#pragma GCC unroll 8
        for (int j = 0; j < 2; j++) {
            b[4 * i + 2 * j] = OP(unpacklo_epi32)(a[4 * i + j], a[4 * i + j + 2]);
            b[4 * i + 2 * j + 1] = OP(unpackhi_epi32)(a[4 * i + j], a[4 * i + j + 2]);
        }
#pragma GCC unroll 8
    for (int i = 0; i < 4; i++) {
        x[2 * i] = OP(unpacklo_epi64)(b[i], b[i + 4]);
        x[2 * i + 1] = OP(unpackhi_epi64)(b[i], b[i + 4]);
    }
}

ALWAYS void transform_to_8(const struct jpeg_blocks *b, unsigned which) {
    const V middle = OP(set1_epi8)((char)0x80);
    const size_t s = b->stride;
    for (size_t i = 0; i < b->pairs; i++) {
        V x[8], c[4];
        load_rows(b, 2 * i + which, x);
        PASS_8(11);
        transpose(x);
        PASS_8(18);
        /* x: columns. As bytes, two columns side by side, then turned. */
#pragma GCC unroll 8
        for (int k = 0; k < 4; k++) {
            V y = V_XOR(OP(packs_epi16)(x[2 * k], x[2 * k + 1]), middle);
            c[k] = OP(unpacklo_epi8)(y, OP(unpackhi_epi64)(y, y));
        }
        const V l0 = OP(unpacklo_epi16)(c[0], c[1]), h0 = OP(unpackhi_epi16)(c[0], c[1]);
        const V l1 = OP(unpacklo_epi16)(c[2], c[3]), h1 = OP(unpackhi_epi16)(c[2], c[3]);
        const V r[4] = {OP(unpacklo_epi32)(l0, l1), OP(unpackhi_epi32)(l0, l1), OP(unpacklo_epi32)(h0, h1),
                        OP(unpackhi_epi32)(h0, h1)};
#pragma GCC unroll 8
        for (int n = 0; n < JPEG_LANES; n++) {
            uint8_t *to = place_of(b, 2 * i + which + (unsigned)n);
#pragma GCC unroll 8
            for (size_t k = 0; k < 4; k++)
                store_halves(to + 2 * k * s, to + (2 * k + 1) * s, lane(r[k], n));
        }
    }
}

static void transform_8(const struct jpeg_blocks *b) {
    for (unsigned which = 0; which < TURNS; which++)
        transform_to_8(b, which);
}

/* 4 x 4: the constants of jidctred.c as pairs; -17799 and 20995 fit 16 bits. */
#define HALF_4(UNPACK, SHIFT, H) \
    do { \
        const V p0 = UNPACK(x[0], V_ZERO), p26 = UNPACK(x[2], x[6]); \
        const V p13 = UNPACK(x[1], x[3]), p57 = UNPACK(x[5], x[7]); \
        const V even = ADD(TIMES(p0, 16384, 0), OP(set1_epi32)(1 << ((SHIFT)-1))); \
        const V tilt = TIMES(p26, 15137, -6270); \
        const V inner = ADD(TIMES(p13, 8697, -17799), TIMES(p57, 11893, -1730)); \
        const V outer = ADD(TIMES(p13, 20995, 7373), TIMES(p57, -4926, -4176)); \
        const V up = ADD(even, tilt), down = SUB(even, tilt); \
        H[0] = SHIFTED(ADD(up, outer), SHIFT); \
        H[3] = SHIFTED(SUB(up, outer), SHIFT); \
        H[1] = SHIFTED(ADD(down, inner), SHIFT); \
        H[2] = SHIFTED(SUB(down, inner), SHIFT); \
    } while (0)

ALWAYS void transform_to_4(const struct jpeg_blocks *b, unsigned which, const bool low_band) {
    /* Bytes 4 * column + row → 4 * row + column. */
    static const uint8_t turn[16] = {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};
    const V middle = OP(set1_epi8)((char)0x80);
    for (size_t i = 0; i < b->pairs; i++) {
        V x[8], l[4], h[4], r[4];
        if (low_band)
            load_low(b, 2 * i + which, x);
        else
            load_rows(b, 2 * i + which, x);
        HALF_4(OP(unpacklo_epi16), 12, l);
        if (!low_band)
            HALF_4(OP(unpackhi_epi16), 12, h);
#pragma GCC unroll 8
        for (int k = 0; k < 4; k++)
            r[k] = OP(packs_epi32)(l[k], low_band ? V_ZERO : h[k]);
#pragma GCC unroll 8
        for (int k = 0; k < 8; k++)
            x[k] = k < 4 ? r[k] : V_ZERO;
        transpose(x);
        HALF_4(OP(unpacklo_epi16), 19, l); /* four rows: the lower half has them all */
        const V bytes = V_XOR(OP(packs_epi16)(OP(packs_epi32)(l[0], l[1]), OP(packs_epi32)(l[2], l[3])), middle);
        const V out = OP(shuffle_epi8)(bytes, same(turn));
#pragma GCC unroll 8
        for (int k = 0; k < JPEG_LANES; k++) {
            uint8_t rows[16], *to = place_of(b, 2 * i + which + (unsigned)k);
            store_lane(rows, lane(out, k));
#pragma GCC unroll 8
            for (size_t y = 0; y < 4; y++)
                memcpy(to + y * b->stride, rows + 4 * y, 4);
        }
    }
}

static void transform_4(const struct jpeg_blocks *b) {
    for (unsigned which = 0; which < TURNS; which++) {
        if (b->high)
            transform_to_4(b, which, false);
        else
            transform_to_4(b, which, true);
    }
}

/* 2 x 2, the blocks of two pairs at a time. 32768 is a shift. Columns first: */
#define HALF_2(UNPACK, R0, R1) \
    do { \
        const V even = ADD(SHIFTED(UNPACK(V_ZERO, x[0]), 1), OP(set1_epi32)(1 << 12)); \
        const V odd = ADD(TIMES(UNPACK(x[1], x[3]), 29692, -10426), TIMES(UNPACK(x[5], x[7]), 6967, -5906)); \
        R0 = SHIFTED(ADD(even, odd), 13); \
        R1 = SHIFTED(SUB(even, odd), 13); \
    } while (0)
ALWAYS void columns_to_2(const struct jpeg_blocks *b, size_t block, const bool low_band, V row[2]) {
    V x[8], l[2], h[2];
    if (low_band)
        load_low(b, block, x);
    else
        load_rows(b, block, x);
    HALF_2(OP(unpacklo_epi16), l[0], l[1]);
    if (!low_band)
        HALF_2(OP(unpackhi_epi16), h[0], h[1]);
    for (int k = 0; k < 2; k++)
        row[k] = OP(packs_epi32)(l[k], low_band ? V_ZERO : h[k]);
}

/* Then rows: in each lane those of one block. */
ALWAYS void transform_to_2(const struct jpeg_blocks *b, unsigned which, const bool low_band) {
    static const int16_t odds_of[8] = {0, 29692, 0, -10426, 0, 6967, 0, -5906};
    static const uint8_t order[16] = {0, 4, 1, 5, 2, 6, 3, 7, 128, 128, 128, 128, 128, 128, 128, 128};
    const V odds = same(odds_of), none = V_ZERO, half = OP(set1_epi32)(1 << 19);
    for (size_t i = 0; i < b->pairs; i += 2) {
        const size_t first_block = 2 * i + which, other_block = i + 1 < b->pairs ? first_block + 2 : first_block;
        V m[2], n[2];
        columns_to_2(b, first_block, low_band, m);
        columns_to_2(b, other_block, low_band, n);
        const V odd = OP(hadd_epi32)(OP(hadd_epi32)(OP(madd_epi16)(m[0], odds), OP(madd_epi16)(m[1], odds)),
                                     OP(hadd_epi32)(OP(madd_epi16)(n[0], odds), OP(madd_epi16)(n[1], odds)));
        const V first = OP(unpacklo_epi32)(OP(unpacklo_epi16)(none, m[0]), OP(unpacklo_epi16)(none, m[1]));
        const V second = OP(unpacklo_epi32)(OP(unpacklo_epi16)(none, n[0]), OP(unpacklo_epi16)(none, n[1]));
        const V even = ADD(SHIFTED(OP(unpacklo_epi64)(first, second), 1), half);
        const V words = OP(packs_epi32)(SHIFTED(ADD(even, odd), 20), SHIFTED(SUB(even, odd), 20));
        const V bytes = V_XOR(OP(packs_epi16)(words, words), OP(set1_epi8)((char)0x80));
        const V turned = OP(shuffle_epi8)(bytes, same(order));
#pragma GCC unroll 8
        for (int k = 0; k < JPEG_LANES; k++) {
            uint8_t rows[16];
            store_lane(rows, lane(turned, k));
            uint8_t *to = place_of(b, first_block + (unsigned)k), *next = place_of(b, other_block + (unsigned)k);
            const size_t at = other_block == first_block ? 0 : 4;
            memcpy(next, rows + at, 2);
            memcpy(next + b->stride, rows + at + 2, 2);
            memcpy(to, rows, 2);
            memcpy(to + b->stride, rows + 2, 2);
        }
    }
}

static void transform_2(const struct jpeg_blocks *b) {
    for (unsigned which = 0; which < TURNS; which++) {
        if (b->high)
            transform_to_2(b, which, false);
        else
            transform_to_2(b, which, true);
    }
}

/* ---- Upsampling ------------------------------------------------------------------------------------------------------------ */

enum { AT_ONCE = 8 * JPEG_LANES };
_Static_assert(2 * AT_ONCE <= JPEG_PLANE_PAD, "what is written and read behind a row");

ALWAYS V thrice(V x) {
    return OP(add_epi16)(x, OP(add_epi16)(x, x));
}
ALWAYS void store_pairs(uint8_t *out, V even, V odd) {
    store_words(out, V_OR(even, OP(slli_epi16)(odd, 8)));
}

static void up_across(const struct jpeg_up *u) {
    const uint8_t *in = u->near;
    for (size_t i = 0; i < u->count; i += AT_ONCE) {
        const V now = thrice(pixels(in + i));
        const V even = OP(add_epi16)(OP(add_epi16)(now, pixels(in + i - 1)), OP(set1_epi16)(1));
        const V odd = OP(add_epi16)(OP(add_epi16)(now, pixels(in + i + 1)), OP(set1_epi16)(2));
        store_pairs(u->out + 2 * i, OP(srli_epi16)(even, 2), OP(srli_epi16)(odd, 2));
    }
    if (u->first)
        u->out[0] = in[0];
    if (u->last)
        u->out[2 * u->count - 1] = in[u->count - 1];
}

ALWAYS V both(const struct jpeg_up *u, size_t i, int by) {
    return OP(add_epi16)(thrice(pixels(u->near + i + by)), pixels(u->far + i + by));
}
ALWAYS unsigned both_at(const struct jpeg_up *u, size_t i) {
    return 3u * u->near[i] + u->far[i];
}

static void up_both(const struct jpeg_up *u) {
    for (size_t i = 0; i < u->count; i += AT_ONCE) {
        const V now = thrice(both(u, i, 0));
        const V even = OP(add_epi16)(OP(add_epi16)(now, both(u, i, -1)), OP(set1_epi16)(8));
        const V odd = OP(add_epi16)(OP(add_epi16)(now, both(u, i, 1)), OP(set1_epi16)(7));
        store_pairs(u->out + 2 * i, OP(srli_epi16)(even, 4), OP(srli_epi16)(odd, 4));
    }
    if (u->first)
        u->out[0] = (uint8_t)((4 * both_at(u, 0) + 8) >> 4);
    if (u->last)
        u->out[2 * u->count - 1] = (uint8_t)((4 * both_at(u, u->count - 1) + 7) >> 4);
}

static void up_down(const struct jpeg_up *u, int add) {
    const V more = OP(set1_epi16)((short)add);
    for (size_t i = 0; i < u->count; i += 16) {
        const V a = OP(srli_epi16)(OP(add_epi16)(both(u, i, 0), more), 2);
#if JPEG_LANES == 1
        const V b = OP(srli_epi16)(OP(add_epi16)(both(u, i + 8, 0), more), 2);
        store_lane(u->out + i, OP(packus_epi16)(a, b));
#else
        store_lane(u->out + i, bytes_of(a));
#endif
    }
}

/* ---- Colour ---------------------------------------------------------------------------------------------------------------- */

/* libjpeg's constants less whole numbers, so that they fit 16 bits: 1.402 = 1 + 26345 / 65536, 1.772 = 2 - 14942 / 65536, 0.71414 = 1 - 18734 / 65536. */
ALWAYS void color_words(const uint8_t *y, const uint8_t *cb, const uint8_t *cr, V rgb[3]) {
    const V half = OP(set1_epi16)(128), one = OP(set1_epi16)(1), round = OP(set1_epi32)(32768);
    const V l = pixels(y), u = OP(sub_epi16)(pixels(cb), half), w = OP(sub_epi16)(pixels(cr), half);
    const V u2 = OP(add_epi16)(u, u), w2 = OP(add_epi16)(w, w);
    const V ru = OP(srai_epi16)(OP(add_epi16)(OP(mulhi_epi16)(w2, OP(set1_epi16)(26345)), one), 1);
    const V bu = OP(srai_epi16)(OP(add_epi16)(OP(mulhi_epi16)(u2, OP(set1_epi16)(-14942)), one), 1);
    const V g0 = SHIFTED(ADD(TIMES(OP(unpacklo_epi16)(u, w), -22554, 18734), round), 16);
    const V g1 = SHIFTED(ADD(TIMES(OP(unpackhi_epi16)(u, w), -22554, 18734), round), 16);
    rgb[0] = OP(add_epi16)(OP(add_epi16)(l, w), ru);
    rgb[1] = OP(sub_epi16)(OP(add_epi16)(l, OP(packs_epi32)(g0, g1)), w);
    rgb[2] = OP(add_epi16)(OP(add_epi16)(l, u2), bu);
}

/* 16 pixels. */
ALWAYS void color_bytes(const uint8_t *y, const uint8_t *cb, const uint8_t *cr, V1 rgb[3]) {
#if JPEG_LANES == 1
    V a[3], b[3];
    color_words(y, cb, cr, a);
    color_words(y + 8, cb + 8, cr + 8, b);
    for (int k = 0; k < 3; k++)
        rgb[k] = OP(packus_epi16)(a[k], b[k]);
#else
    V a[3];
    color_words(y, cb, cr, a);
    for (int k = 0; k < 3; k++)
        rgb[k] = bytes_of(a[k]);
#endif
}

static void color(const uint8_t *y, const uint8_t *cb, const uint8_t *cr, size_t count, unsigned channels,
                  uint8_t *out) {
    for (size_t i = 0; i < count; i += 16, out += 16 * (size_t)channels) {
        V1 rgb[3];
        color_bytes(y + i, cb + i, cr + i, rgb);
        if (channels == 3)
            store_rgb(out, rgb[0], rgb[1], rgb[2]);
        else
            store_rgba(out, rgb[0], rgb[1], rgb[2]);
    }
}

static void join(const uint8_t *r, const uint8_t *g, const uint8_t *b, size_t count, unsigned channels, uint8_t *out) {
    for (size_t i = 0; i < count; i += 16, out += 16 * (size_t)channels) {
        const V1 x = load_lane(r + i), y = load_lane(g + i), z = load_lane(b + i);
        if (channels == 3)
            store_rgb(out, x, y, z);
        else
            store_rgba(out, x, y, z);
    }
}
