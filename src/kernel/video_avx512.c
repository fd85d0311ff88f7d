/* The loops of video_loops.h for AVX-512: 32 pixels at a time. */
#if defined(__AVX512BW__)
#include "kernel/color_x86.h"

#define VIDEO_BLOCK 32
#define VIDEO_V __m512i
#define VIDEO_OP(x) _mm512_##x
#define VIDEO_BITS(x) _mm512_##x##_si512

static inline __m512i luma_bytes(const uint8_t *p) {
    return _mm512_slli_epi16(_mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)(const void *)p)), 4);
}

/* Sixteen pixels in each half of v0, v1 and v2. */
#define MIX_BOTH(part) \
    _mm256_or_si256(_mm256_or_si256(_mm256_shuffle_epi8(v0, _mm256_broadcastsi128_si256(SIXTEEN(TO, 0, part))), \
                                    _mm256_shuffle_epi8(v1, _mm256_broadcastsi128_si256(SIXTEEN(TO, 1, part)))), \
                    _mm256_shuffle_epi8(v2, _mm256_broadcastsi128_si256(SIXTEEN(TO, 2, part))))

static inline void store_32(uint8_t *p, __m256i v) {
    _mm256_storeu_si256((__m256i *)(void *)p, v);
}

static inline __m256i bytes_of(__m512i v) {
    return _mm512_cvtusepi16_epi8(_mm512_max_epi16(v, _mm512_setzero_si512()));
}

static inline void store_rgb(uint8_t *out, __m512i r, __m512i g, __m512i b) {
    const __m256i v0 = bytes_of(r), v1 = bytes_of(g), v2 = bytes_of(b);
    const __m256i m0 = MIX_BOTH(0), m1 = MIX_BOTH(1), m2 = MIX_BOTH(2);
    store_32(out, _mm256_permute2x128_si256(m0, m1, 0x20));
    store_32(out + 32, _mm256_blend_epi32(m2, m0, 0xf0));
    store_32(out + 64, _mm256_permute2x128_si256(m1, m2, 0x31));
}

#include "kernel/video_x86.h"
#define VIDEO_NAME(x) x##_avx512
#include "kernel/video_loops.h"
#else
typedef int mldfi_not_for_this_processor; /* a file of C is not empty */
#endif
