/* The loops of jpeg.h, compiled for AVX2: a pair of blocks at a time. */
#if defined(__AVX2__)
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC target("bmi,bmi2,lzcnt") /* kernels.c asks for them too */
#endif
#include "kernel/jpeg_x86.h"

#define V __m256i
#define JPEG_LANES 2
#define OP(x) _mm256_##x
#define V_ZERO _mm256_setzero_si256()
#define V_OR _mm256_or_si256
#define V_XOR _mm256_xor_si256

STEP V lanes(const int16_t *p, size_t step) {
    return _mm256_inserti128_si256(_mm256_castsi128_si256(load_lane(p)), load_lane(p + step), 1);
}
STEP V same(const void *p) {
    return _mm256_broadcastsi128_si256(load_lane(p));
}
STEP V1 lane(V v, int k) {
    return k ? _mm256_extracti128_si256(v, 1) : _mm256_castsi256_si128(v);
}
STEP V pixels(const uint8_t *p) {
    return _mm256_cvtepu8_epi16(load_lane(p));
}
STEP void store_words(void *p, V v) {
    _mm256_storeu_si256((V *)p, v);
}
STEP V1 bytes_of(V words) {
    return _mm256_castsi256_si128(_mm256_permute4x64_epi64(_mm256_packus_epi16(words, words), 0xd8));
}
#include "kernel/jpeg_lanes.h"

const struct jpeg_kernels mldfi_jpeg_avx2 = {
    segments, dcs,  {mldfi_jpeg_transform_1, transform_2, transform_4, transform_8}, up_across, up_both, up_down,
    color,    join,
};
#else
typedef int mldfi_not_for_this_processor; /* a file of C is not empty */
#endif
