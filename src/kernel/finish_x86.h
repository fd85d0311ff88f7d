/* The last pass for 8-bit pixels with the vectors of one x86 instruction set. finish_sse4.c, finish_avx2.c and finish_avx512.c define
 * the words below and include this; it is the same algorithm at three widths.
 *
 *     LANES                    pixels at once: 4, 8, 16; a chunk is four of them, 4 * channels bytes
 *     ints, floats             vectors of LANES 32-bit numbers
 *     chunks(p, step)          16 bytes at p, p + step, p + 2 step ..., one for each 128-bit part
 *     spread(m)                a 128-bit mask in every part
 *     shuffle(v, m)            bytes, inside each part
 *     widen(p)                 LANES bytes to ints
 *     line(v, a, b)            (float)v * a + b, rounded twice
 *     same(x), load_floats(p)
 *     put_f32, put_f16, put_bf16 (dst, element, floats)
 *     HAVE_F16                 0: float16 is left to the portable loop
 *
 * Loads of 16 bytes take a chunk at their beginning or at their end, so that none leaves the run of pixels. */

enum { SLOP = 12 }; /* pixels of one channel in a load beyond its chunk */

/* Where byte q * channels + c of a chunk goes: pixel q's own 32 bits. Backwards for mirrored runs. */
static inline __m128i channel_mask(uint32_t channels, uint32_t c, bool backwards, bool at_end) {
    int n = (int)channels, from = (int)c + (at_end ? 16 - 4 * n : 0), step = n;
    if (backwards) {
        from += 3 * n;
        step = -n;
    }
    return _mm_setr_epi8((char)from, -1, -1, -1, (char)(from + step), -1, -1, -1, (char)(from + 2 * step), -1, -1, -1,
                         (char)(from + 3 * step), -1, -1, -1);
}

/* Calls BLOCK(p, step, masks, i) for LANES output pixels from i on, for all of `pixels`; the last block may overlap the one before.
 * Needs pixels >= LANES + SLOP. */
#define FOR_BLOCKS(BLOCK, N) \
    const size_t chunk = 4 * (N), over = 16 - chunk, bytes = pixels * (N); \
    const ptrdiff_t step = f->mirror ? -(ptrdiff_t)chunk : (ptrdiff_t)chunk; \
    ints usual[N], other[N]; \
    for (uint32_t c = 0; c < (N); c++) { \
        usual[c] = spread(channel_mask((N), c, f->mirror, f->mirror)); \
        other[c] = spread(channel_mask((N), c, f->mirror, !f->mirror)); \
    } \
    size_t i = 0; \
    if (!f->mirror) { \
        for (; (i + LANES) * (N) + over <= bytes; i += LANES) \
            BLOCK(in + i * (N), usual, i); \
        for (; i < pixels; i += LANES) { \
            size_t at = i + LANES <= pixels ? i : pixels - LANES; \
            BLOCK(in + at * (N)-over, other, at); \
        } \
    } else { \
        const uint8_t *end = in + bytes - chunk; \
        for (; i + LANES <= pixels && bytes - (i + LANES) * (N) >= over; i += LANES) \
            BLOCK(end - i * (N)-over, usual, i); \
        for (; i < pixels; i += LANES) { \
            size_t at = i + LANES <= pixels ? i : pixels - LANES; \
            BLOCK(end - at * (N), other, at); \
        } \
    }

#define PLANAR(NAME, N, OUT) \
    static void NAME(const struct finish_row *f, const uint8_t *in, size_t pixels, OUT *dst) { \
        floats a[N], b[N]; \
        for (uint32_t c = 0; c < (N); c++) { \
            a[c] = same(f->scale[c]); \
            b[c] = same(f->shift[c]); \
        } \
        FOR_BLOCKS(NAME##_block, N) \
    }
#define PLANAR_BLOCK(P, MASKS, AT, N, PUT) \
    do { \
        const ints v = chunks(P, step); \
        for (uint32_t c = 0; c < (N); c++) \
            PUT(dst + c * f->plane + (AT), line(shuffle(v, (MASKS)[c]), a[c], b[c])); \
    } while (0)

#define planar_1_f32_block(P, M, AT) PLANAR_BLOCK(P, M, AT, 1, put_f32)
#define planar_2_f32_block(P, M, AT) PLANAR_BLOCK(P, M, AT, 2, put_f32)
#define planar_3_f32_block(P, M, AT) PLANAR_BLOCK(P, M, AT, 3, put_f32)
#define planar_4_f32_block(P, M, AT) PLANAR_BLOCK(P, M, AT, 4, put_f32)
PLANAR(planar_1_f32, 1, float)
PLANAR(planar_2_f32, 2, float)
PLANAR(planar_3_f32, 3, float)
PLANAR(planar_4_f32, 4, float)

#define planar_1_bf16_block(P, M, AT) PLANAR_BLOCK(P, M, AT, 1, put_bf16)
#define planar_2_bf16_block(P, M, AT) PLANAR_BLOCK(P, M, AT, 2, put_bf16)
#define planar_3_bf16_block(P, M, AT) PLANAR_BLOCK(P, M, AT, 3, put_bf16)
#define planar_4_bf16_block(P, M, AT) PLANAR_BLOCK(P, M, AT, 4, put_bf16)
PLANAR(planar_1_bf16, 1, uint16_t)
PLANAR(planar_2_bf16, 2, uint16_t)
PLANAR(planar_3_bf16, 3, uint16_t)
PLANAR(planar_4_bf16, 4, uint16_t)

#if HAVE_F16
#define planar_1_f16_block(P, M, AT) PLANAR_BLOCK(P, M, AT, 1, put_f16)
#define planar_2_f16_block(P, M, AT) PLANAR_BLOCK(P, M, AT, 2, put_f16)
#define planar_3_f16_block(P, M, AT) PLANAR_BLOCK(P, M, AT, 3, put_f16)
#define planar_4_f16_block(P, M, AT) PLANAR_BLOCK(P, M, AT, 4, put_f16)
PLANAR(planar_1_f16, 1, uint16_t)
PLANAR(planar_2_f16, 2, uint16_t)
PLANAR(planar_3_f16, 3, uint16_t)
PLANAR(planar_4_f16, 4, uint16_t)
#endif

/* Interleaved: the run is one row of values whose scales repeat after `channels`, so after three vectors in any case. */
#define FLAT(NAME, OUT, PUT) \
    static void NAME(const struct finish_row *f, const uint8_t *in, size_t pixels, OUT *dst) { \
        float scale[6 * LANES], shift[6 * LANES]; \
        const size_t values = pixels * f->channels, period = 3 * LANES; \
        for (uint32_t j = 0, c = 0; j < 6 * LANES; j++, c = c + 1 == f->channels ? 0 : c + 1) { \
            scale[j] = f->scale[c]; \
            shift[j] = f->shift[c]; \
        } \
        const floats a0 = load_floats(scale), a1 = load_floats(scale + LANES), a2 = load_floats(scale + 2 * LANES); \
        const floats b0 = load_floats(shift), b1 = load_floats(shift + LANES), b2 = load_floats(shift + 2 * LANES); \
        size_t i = 0; \
        for (; i + period <= values; i += period) { \
            PUT(dst + i, line(widen(in + i), a0, b0)); \
            PUT(dst + i + LANES, line(widen(in + i + LANES), a1, b1)); \
            PUT(dst + i + 2 * LANES, line(widen(in + i + 2 * LANES), a2, b2)); \
        } \
        while (i < values) { \
            size_t at = i + LANES <= values ? i : values - LANES, turn = at % f->channels; \
            PUT(dst + at, line(widen(in + at), load_floats(scale + turn), load_floats(shift + turn))); \
            i = at + LANES; \
        } \
    }
FLAT(flat_f32, float, put_f32)
FLAT(flat_bf16, uint16_t, put_bf16)
#if HAVE_F16
FLAT(flat_f16, uint16_t, put_f16)
#endif

/* One channel: the same scale everywhere. */
#define ONE(NAME, OUT, PUT) \
    static void NAME(const struct finish_row *f, const uint8_t *in, size_t pixels, OUT *dst) { \
        const floats a = same(f->scale[0]), b = same(f->shift[0]); \
        size_t i = 0; \
        for (; i + LANES <= pixels; i += LANES) \
            PUT(dst + i, line(widen(in + i), a, b)); \
        if (i < pixels) \
            PUT(dst + pixels - LANES, line(widen(in + pixels - LANES), a, b)); \
    }
ONE(one_f32, float, put_f32)
ONE(one_bf16, uint16_t, put_bf16)
#if HAVE_F16
ONE(one_f16, uint16_t, put_f16)
#endif

/* ---- Bytes to planes: sixteen pixels, four chunks, a transposition of 32-bit words. 128 bits do at every width. ------------------ */

static inline __m128i plane_mask(uint32_t channels, bool backwards, bool at_end) {
    char m[16];
    for (uint32_t c = 0; c < 4; c++)
        for (uint32_t q = 0; q < 4; q++)
            m[4 * c + q] = c < channels
                               ? (char)((backwards ? 3 - q : q) * channels + c + (at_end ? 16 - 4 * channels : 0))
                               : (char)-1;
    return _mm_loadu_si128((const __m128i *)(const void *)m);
}

static inline void planes_16(const uint8_t *p, ptrdiff_t step, __m128i mask, uint32_t channels, uint8_t *dst,
                             size_t plane) {
    __m128i v[4];
    for (int q = 0; q < 4; q++)
        v[q] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(const void *)(p + q * step)), mask);
    __m128i t0 = _mm_unpacklo_epi32(v[0], v[1]), t1 = _mm_unpacklo_epi32(v[2], v[3]);
    __m128i t2 = _mm_unpackhi_epi32(v[0], v[1]), t3 = _mm_unpackhi_epi32(v[2], v[3]);
    _mm_storeu_si128((__m128i *)(void *)dst, _mm_unpacklo_epi64(t0, t1));
    if (channels > 1)
        _mm_storeu_si128((__m128i *)(void *)(dst + plane), _mm_unpackhi_epi64(t0, t1));
    if (channels > 2)
        _mm_storeu_si128((__m128i *)(void *)(dst + 2 * plane), _mm_unpacklo_epi64(t2, t3));
    if (channels > 3)
        _mm_storeu_si128((__m128i *)(void *)(dst + 3 * plane), _mm_unpackhi_epi64(t2, t3));
}

static void planar_u8(const struct finish_row *f, const uint8_t *in, size_t pixels, uint8_t *dst) {
    enum { BLOCK = 16 };
    const size_t n = f->channels, chunk = 4 * n, over = 16 - chunk, bytes = pixels * n;
    const ptrdiff_t step = f->mirror ? -(ptrdiff_t)chunk : (ptrdiff_t)chunk;
    const __m128i usual = plane_mask(f->channels, f->mirror, f->mirror);
    const __m128i other = plane_mask(f->channels, f->mirror, !f->mirror);
    for (size_t i = 0; i < pixels; i += BLOCK) {
        size_t at = i + BLOCK <= pixels ? i : pixels - BLOCK;
        if (!f->mirror) {
            bool fits = (at + BLOCK) * n + over <= bytes;
            planes_16(in + at * n - (fits ? 0 : over), step, fits ? usual : other, f->channels, dst + at, f->plane);
        } else {
            bool fits = bytes - (at + BLOCK) * n >= over;
            planes_16(in + bytes - chunk - at * n - (fits ? over : 0), step, fits ? usual : other, f->channels,
                      dst + at, f->plane);
        }
    }
}

/* ---- Choice ----------------------------------------------------------------------------------------------------------------------- */

/* Pixels of 2, 3 or 4 bytes, the last one first. 16 bytes at a time: as many whole pixels as they hold, at their end. */
static void backwards(const uint8_t *in, size_t pixels, size_t n, uint8_t *out) {
    static const uint8_t orders[3][16] = {{14, 15, 12, 13, 10, 11, 8, 9, 6, 7, 4, 5, 2, 3, 0, 1},
                                          {13, 14, 15, 10, 11, 12, 7, 8, 9, 4, 5, 6, 1, 2, 3, 0},
                                          {12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3}};
    /* The same for a load at its beginning: a pixel of 3 bytes has its byte more behind it, not in front. */
    static const uint8_t firsts[3][16] = {{14, 15, 12, 13, 10, 11, 8, 9, 6, 7, 4, 5, 2, 3, 0, 1},
                                          {12, 13, 14, 9, 10, 11, 6, 7, 8, 3, 4, 5, 0, 1, 2, 15},
                                          {12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3}};
    static const uint8_t held[3] = {8, 5, 4};
    size_t at_once = held[n - 2], over = n == 3, i = 0;
    const __m128i mask = _mm_loadu_si128((const __m128i *)(const void *)orders[n - 2]);
    for (; i + at_once + over <= pixels; i += at_once) {
        const uint8_t *p = in + (pixels - i - at_once) * n - over;
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
        _mm_storeu_si128((__m128i *)(void *)(out + i * n), _mm_shuffle_epi8(v, mask));
    }
    if (i < pixels &&
        pixels >=
            at_once +
                over) { /* the first ones, which overlap: 16 bytes at their beginning, as many stored as are whole pixels */
        const __m128i first = _mm_loadu_si128((const __m128i *)(const void *)firsts[n - 2]);
        __m128i v = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(const void *)in), first);
        uint8_t *end = out + (pixels - at_once) * n;
        _mm_storel_epi64((__m128i *)(void *)end, v);
        _mm_storel_epi64((__m128i *)(void *)(end + at_once * n - 8),
                         n == 3 ? _mm_srli_si128(v, 7) : _mm_srli_si128(v, 8));
        return;
    }
    for (; i < pixels; i++)
        for (size_t c = 0; c < n; c++)
            out[i * n + c] = in[(pixels - 1 - i) * n + c];
}

/* Interleaved and mirrored: pixels in the right order first. */
static void turn_round(const struct finish_row *f, const uint8_t *in, size_t pixels, void *dst,
                       void (*run)(const struct finish_row *, const uint8_t *, size_t, void *)) {
    enum { STRIP = 512 };
    uint8_t strip[STRIP * 4];
    size_t n = f->channels, element = f->dtype == MLDF_F32 ? 4 : 2;
    if (f->dtype == MLDF_U8) {
        backwards(in, pixels, n, dst);
        return;
    }
    struct finish_row plain = *f;
    plain.mirror = false;
    for (size_t from = 0; from < pixels; from += STRIP) {
        size_t part = pixels - from < STRIP ? pixels - from : STRIP;
        const uint8_t *p = in + (pixels - from) * n;
        backwards(p - part * n, part, n, strip);
        run(&plain, strip, part, (uint8_t *)dst + from * n * element);
    }
}

static bool run_planar(const struct finish_row *f, const uint8_t *in, size_t pixels, void *dst) {
    static void (*const f32[])(const struct finish_row *, const uint8_t *, size_t,
                               float *) = {planar_1_f32, planar_2_f32, planar_3_f32, planar_4_f32};
    static void (*const bf16[])(const struct finish_row *, const uint8_t *, size_t,
                                uint16_t *) = {planar_1_bf16, planar_2_bf16, planar_3_bf16, planar_4_bf16};
    switch (f->dtype) {
    case MLDF_F32:
        f32[f->channels - 1](f, in, pixels, dst);
        return true;
    case MLDF_BF16:
        bf16[f->channels - 1](f, in, pixels, dst);
        return true;
#if HAVE_F16
    case MLDF_F16: {
        static void (*const f16[])(const struct finish_row *, const uint8_t *, size_t,
                                   uint16_t *) = {planar_1_f16, planar_2_f16, planar_3_f16, planar_4_f16};
        f16[f->channels - 1](f, in, pixels, dst);
        return true;
    }
#endif
    case MLDF_U8:
        planar_u8(f, in, pixels, dst);
        return true;
    default:
        return false;
    }
}

static void run_flat(const struct finish_row *f, const uint8_t *in, size_t pixels, void *dst) {
    if (pixels * f->channels < LANES || (f->dtype == MLDF_F16 && !HAVE_F16))
        mldfi_finish_portable(f, in, pixels, dst);
    else if (f->dtype == MLDF_F32)
        (f->channels == 1 ? one_f32 : flat_f32)(f, in, pixels, dst);
    else if (f->dtype == MLDF_BF16)
        (f->channels == 1 ? one_bf16 : flat_bf16)(f, in, pixels, dst);
#if HAVE_F16
    else if (f->dtype == MLDF_F16)
        (f->channels == 1 ? one_f16 : flat_f16)(f, in, pixels, dst);
#endif
    else if (f->dtype == MLDF_U8)
        memcpy(dst, in, pixels * f->channels);
    else
        mldfi_finish_portable(f, in, pixels, dst);
}

static void finish(const struct finish_row *f, const uint8_t *in, size_t pixels, void *dst) {
    bool large = pixels >= (LANES > 16 ? LANES : 16) + SLOP;
    if (f->bits != 8)
        mldfi_finish_portable(f, in, pixels, dst);
    else if (!f->planar && !f->mirror)
        run_flat(f, in, pixels, dst);
    else if (!f->planar && f->channels > 1)
        turn_round(f, in, pixels, dst, run_flat);
    else if (!large || !run_planar(f, in, pixels, dst))
        mldfi_finish_portable(f, in, pixels, dst);
}
