/* The loops of video_loops.h for AVX2: 16 pixels at a time. */
#if defined(__AVX2__)
#include "kernel/color_x86.h"

#define VIDEO_BLOCK 16
#define VIDEO_V __m256i
#define VIDEO_OP(x) _mm256_##x
#define VIDEO_BITS(x) _mm256_##x##_si256

static inline __m256i luma_bytes(const uint8_t *p) {
    return _mm256_slli_epi16(_mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(const void *)p)), 4);
}

static inline __m128i bytes_of(__m256i v) {
    return _mm_packus_epi16(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
}

static inline void store_rgb(uint8_t *out, __m256i r, __m256i g, __m256i b) {
    const __m128i v0 = bytes_of(r), v1 = bytes_of(g), v2 = bytes_of(b);
    store_16(out, MIX(0));
    store_16(out + 16, MIX(1));
    store_16(out + 32, MIX(2));
}

#include "kernel/video_x86.h"
#define VIDEO_NAME(x) x##_avx2
#include "kernel/video_loops.h"
#else
typedef int mldfi_not_for_this_processor; /* a file of C is not empty */
#endif
