/* The rows of blur.h, compiled for AVX-512. */
#if defined(__AVX512BW__)
#include <immintrin.h>
#include <stdint.h>

static inline __m512i load_bytes(const uint8_t *p) {
    return _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)(const void *)p));
}

static inline void store_bytes(uint8_t *p, __m512i v) {
    _mm256_storeu_si256((__m256i *)(void *)p, _mm512_cvtepi16_epi8(v));
}

#define BLUR_V __m512i
#define BLUR_V_BYTES 64
#define BLUR_OP(x) _mm512_##x
#include "kernel/blur_x86.h"
#define BLUR_NAME(x) x##_avx512
#define BLUR_VECTOR 64
#include "kernel/blur_loops.h"
#else
typedef int mldfi_not_for_this_processor; /* a file of C is not empty */
#endif
