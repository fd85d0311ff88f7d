/* The two passes of bilinear resizing with the vectors of one x86 instruction set. resize_sse4.c, resize_avx2.c and resize_avx512.c
 * define the words below and include this.
 *
 *     LANES                    32-bit numbers in a vector: 4, 8, 16; PARTS of 128 bits: 1, 2, 4
 *     ints, zero(), same(i), load(p), store(p, v)
 *     widen(p)                 2 * LANES bytes to 16-bit numbers
 *     low(a, b), high(a, b)    16-bit numbers of a and b in turns, inside each part
 *     multiply(a, b)           products of 16-bit numbers, neighbours added
 *     add(a, b), down_7(v), down_21(v), left_7(v) (16 bits)
 *     pack(a, b)               32 to 16 bits, signed, inside each part: undoes low and high
 *     pack_bytes(a, b)         16 to 8 bits, unsigned
 *     parts(row, o)            16 bytes at row + o[0], row + o[4], row + o[8] ..., one for each part
 *     quads(row, o)            4 bytes at row + o[0], row + o[1] ...
 *     shuffle(v, m), spread(m), pick(v, n): word n of each part in all of it
 *     close_up(v)              12 of 16 bytes of each part, moved together
 *     down_15(v), down_22(v); add_words(a, b), sub_words(a, b)
 *     store_words(p, v)        LANES 32-bit numbers as 16 bits
 *     store_bytes(p, v)        2 * LANES 16-bit numbers as bytes, held to 0..255
 */

/* ---- Down -------------------------------------------------------------------------------------------------------------- */

/* 2 * LANES values from two rows at a time. */
static inline ints blend(const uint8_t *p, size_t stride, const int16_t *weights, uint32_t taps) {
    ints a = same(64), b = a;
    uint32_t k = 0;
    for (; k + 2 <= taps; k += 2, p += 2 * stride) {
        int32_t pair;
        memcpy(&pair, weights + k, sizeof pair);
        const ints w = same(pair), first = widen(p), second = widen(p + stride);
        a = add(a, multiply(low(first, second), w));
        b = add(b, multiply(high(first, second), w));
    }
    if (k < taps) {
        const ints w = same(weights[k]), first = widen(p);
        a = add(a, multiply(low(first, zero()), w));
        b = add(b, multiply(high(first, zero()), w));
    }
    return pack(down_7(a), down_7(b));
}

static void down(const uint8_t *rows, size_t stride, const int16_t *weights, uint32_t taps, size_t values,
                 int16_t *out) {
    enum { STEP = 2 * LANES };
    if (values < STEP) {
        mldfi_down_portable(rows, stride, weights, taps, values, out);
        return;
    }
    if (taps == 1) { /* weight 1 */
        for (size_t i = 0; i < values; i += STEP) {
            size_t at = i + STEP <= values ? i : values - STEP;
            store(out + at, left_7(widen(rows + at)));
        }
        return;
    }
    for (size_t i = 0; i < values; i += STEP) {
        size_t at = i + STEP <= values ? i : values - STEP;
        store(out + at, blend(rows + at, stride, weights, taps));
    }
}

/* ---- Across -------------------------------------------------------------------------------------------------------------- */

/* Two neighbouring pixels as 16-bit channels: the same channel of both side by side. */
static inline __m128i pair_mask(uint32_t channels) {
    char m[16];
    for (uint32_t c = 0; c < 4; c++)
        for (uint32_t j = 0; j < 4; j++) /* byte j % 2 of pixel j / 2 */
            m[4 * c + j] = c < channels ? (char)(2 * (c + j / 2 * channels) + j % 2) : (char)-1;
    return _mm_loadu_si128((const __m128i *)(const void *)m);
}

/* Pixel i + 4 p + q of a block of LANES: its channels in part p of vector q. So packing gives them in order. */
#define ACROSS(NAME, N, PAIRS, PUT) \
    static void NAME(const struct tap_table *t, const int16_t *row, uint8_t *out) { \
        const ints mask = spread(pair_mask(N)), half = same(1 << 20); \
        for (size_t i = 0; i < t->count; i += LANES, out += LANES * (N)) { \
            const uint32_t *o = t->offset + i; \
            const int16_t *w = t->weights + 2 * i, *p = row; \
            ints s0 = half, s1 = half, s2 = half, s3 = half; \
            for (uint32_t k = 0; k < (PAIRS); k++, p += 2 * (N), w += 2 * t->stride) { \
                const ints weights = load(w); \
                s0 = add(s0, multiply(shuffle(parts(p, o), mask), pick(weights, 0x00))); \
                s1 = add(s1, multiply(shuffle(parts(p, o + 1), mask), pick(weights, 0x55))); \
                s2 = add(s2, multiply(shuffle(parts(p, o + 2), mask), pick(weights, 0xaa))); \
                s3 = add(s3, multiply(shuffle(parts(p, o + 3), mask), pick(weights, 0xff))); \
            } \
            PUT(out, pack_bytes(pack(down_21(s0), down_21(s1)), pack(down_21(s2), down_21(s3)))); \
        } \
    }
#define PUT_3(OUT, V) store(OUT, close_up(V))
#define PUT_4(OUT, V) store(OUT, V)
ACROSS(across_3_one, 3, 1, PUT_3)
ACROSS(across_3_two, 3, 2, PUT_3)
ACROSS(across_3_any, 3, t->pairs, PUT_3)
ACROSS(across_4, 4, t->pairs, PUT_4)

/* One channel: a pair of pixels is 32 bits. */
static void across_1(const struct tap_table *t, const int16_t *row, uint8_t *out) {
    for (size_t i = 0; i < t->count; i += LANES, out += LANES) {
        const int16_t *w = t->weights + 2 * i, *p = row;
        ints sum = same(1 << 20);
        for (uint32_t k = 0; k < t->pairs; k++, p += 2, w += 2 * t->stride)
            sum = add(sum, multiply(quads(p, t->offset + i), load(w)));
        sum = down_21(sum);
        store_low_bytes(out, sum);
    }
}

static void across(const struct tap_table *t, uint32_t channels, const int16_t *row, uint8_t *out) {
    if (channels == 1)
        across_1(t, row, out);
    else if (channels == 3)
        (t->pairs == 1 ? across_3_one : t->pairs == 2 ? across_3_two : across_3_any)(t, row, out);
    else if (channels == 4)
        across_4(t, row, out);
    else
        mldfi_across_portable(t, channels, row, out);
}

/* ---- Planes ------------------------------------------------------------------------------------------------------------- */

static inline void words_any(const struct tap_table *t, const int16_t *row, int16_t *out) {
    for (size_t i = 0; i < t->stride; i += LANES) {
        const int16_t *w = t->weights + 2 * i, *p = row;
        ints sum = same(1 << 14);
        for (uint32_t k = 0; k < t->pairs; k++, p += 2, w += 2 * t->stride)
            sum = add(sum, multiply(quads(p, t->offset + i), load(w)));
        store_words(out + i, down_15(sum));
    }
}

/* WHOLE * 65536 + A * a + B * b, rounded: the constants less whole numbers, so that they fit 16 bits. */
static inline ints mix(ints whole, ints a, ints b, int32_t pair) {
    const ints half = same(1 << 21), w = same(pair);
    const ints l = add(add(low(zero(), whole), half), multiply(low(a, b), w));
    const ints h = add(add(high(zero(), whole), half), multiply(high(a, b), w));
    return pack(down_22(l), down_22(h));
}

/* 1.402 = 1 + 26345 / 65536, 0.71414 = 1 - 18734 / 65536, 1.772 = 2 - 14942 / 65536. */
static inline void color_words(const int16_t *y, const int16_t *cb, const int16_t *cr, size_t count, uint8_t *r,
                               uint8_t *g, uint8_t *b) {
    const ints middle = same(128 << 6 | 128 << 22);
    for (size_t i = 0; i < count; i += 2 * LANES) {
        const size_t at = i + 2 * LANES <= count ? i : count - 2 * LANES;
        const ints l = load(y + at), u = sub_words(load(cb + at), middle), v = sub_words(load(cr + at), middle);
        store_bytes(r + at, mix(add_words(l, v), v, u, 26345));
        store_bytes(g + at, mix(sub_words(l, v), u, v, (int32_t)((uint32_t)18734 << 16 | (uint16_t)(int16_t)-22554)));
        store_bytes(b + at, mix(add_words(l, add_words(u, u)), u, v, (uint16_t)(int16_t)-14942));
    }
}
