/* The rows of blur.h, compiled for AVX2. */
#if defined(__AVX2__)
#include <immintrin.h>
#include <stdint.h>

static inline __m256i load_bytes(const uint8_t *p) {
    return _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(const void *)p));
}

static inline void store_bytes(uint8_t *p, __m256i v) {
    __m128i bytes = _mm_packus_epi16(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    _mm_storeu_si128((__m128i *)(void *)p, bytes);
}

#define BLUR_V __m256i
#define BLUR_V_BYTES 32
#define BLUR_OP(x) _mm256_##x
#include "kernel/blur_x86.h"
#define BLUR_NAME(x) x##_avx2
#define BLUR_VECTOR 32
#include "kernel/blur_loops.h"
#else
typedef int mldfi_not_for_this_processor; /* a file of C is not empty */
#endif
