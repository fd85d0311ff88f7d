/* The loops of jpeg.h, compiled for AVX-512: two pairs of blocks at a time. Reduced sizes and colours, of which a register would hold more than a
 * row's slack, are those of AVX2. */
#if defined(__AVX512BW__)
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC target("bmi,bmi2,lzcnt") /* every processor with AVX-512 has them */
#endif
#include "kernel/jpeg_x86.h"

#define V __m512i
#define JPEG_LANES 4
#define OP(x) _mm512_##x
#define V_ZERO _mm512_setzero_si512()
#define V_OR _mm512_or_si512
#define V_XOR _mm512_xor_si512

STEP V lanes(const int16_t *p, size_t step) {
    V v = _mm512_castsi128_si512(load_lane(p));
    v = _mm512_inserti32x4(v, load_lane(p + step), 1);
    v = _mm512_inserti32x4(v, load_lane(p + 2 * step), 2);
    return _mm512_inserti32x4(v, load_lane(p + 3 * step), 3);
}
STEP V same(const void *p) {
    return _mm512_broadcast_i32x4(load_lane(p));
}
STEP V same_pair(const int16_t *p, const int16_t *q) {
    return _mm512_broadcast_i64x4(_mm256_inserti128_si256(_mm256_castsi128_si256(load_lane(p)), load_lane(q), 1));
}
STEP V1 lane(V v, int k) {
    return k == 0   ? _mm512_castsi512_si128(v)
           : k == 1 ? _mm512_extracti32x4_epi32(v, 1)
           : k == 2 ? _mm512_extracti32x4_epi32(v, 2)
                    : _mm512_extracti32x4_epi32(v, 3);
}
STEP V pixels(const uint8_t *p) {
    return _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)(const void *)p));
}
STEP void store_words(void *p, V v) {
    _mm512_storeu_si512(p, v);
}
#include "kernel/jpeg_lanes.h"

static void transform_8(const struct jpeg_blocks *b) {
    const size_t done = transform_8_of(b, 0);
    struct jpeg_blocks rest = *b;
    rest.low += done * 2 * JPEG_LOW_STRIDE;
    rest.high += done * 2 * JPEG_HIGH_STRIDE;
    rest.a += done * b->step;
    rest.b += done * b->step;
    rest.pairs -= done;
    if (rest.pairs)
        mldfi_jpeg_avx2.transform[3](&rest);
}

static void transform_2(const struct jpeg_blocks *b) {
    mldfi_jpeg_avx2.transform[1](b);
}
static void transform_4(const struct jpeg_blocks *b) {
    mldfi_jpeg_avx2.transform[2](b);
}
static void color(const uint8_t *y, const uint8_t *cb, const uint8_t *cr, size_t count, unsigned channels,
                  uint8_t *out) {
    mldfi_jpeg_avx2.color(y, cb, cr, count, channels, out);
}
static void join(const uint8_t *r, const uint8_t *g, const uint8_t *b, size_t count, unsigned channels, uint8_t *out) {
    mldfi_jpeg_avx2.join(r, g, b, count, channels, out);
}

const struct jpeg_kernels mldfi_jpeg_avx512 = {
    segments, dcs, {mldfi_jpeg_transform_1, transform_2, transform_4, transform_8}, up_across, up_both, color, join,
};
#else
typedef int mldfi_not_for_this_processor; /* a file of C is not empty */
#endif
