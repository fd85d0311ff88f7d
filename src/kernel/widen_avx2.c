/* The loops of widen_loops.h for AVX2: sixteen elements at once. */
#if defined(__AVX2__)
#include <immintrin.h>
#include <stdint.h>
#include <string.h>

static inline __m128i bytes_4(const void *p) {
    int32_t bits;
    memcpy(&bits, p, sizeof bits);
    return _mm_cvtsi32_si128(bits);
}
#define bytes_8(p) _mm_loadl_epi64((const __m128i *)(const void *)(p))
#define bytes_16(p) _mm_loadu_si128((const __m128i *)(const void *)(p))
#define put(p, v) _mm256_storeu_si256((__m256i *)(void *)(p), v)

#define WIDEN_NAME(x) x##_avx2
#define WIDEN_BLOCK 16
/* STEP elements of the input fill a register. */
#define SIXTEEN(in, out, STEP, LOAD, CONVERT) \
    for (int k = 0; k < 16; k += (STEP)) \
    put((out) + k, CONVERT(LOAD((in) + k)))
#define u8_i64_BLOCK(in, out) SIXTEEN(in, out, 4, bytes_4, _mm256_cvtepu8_epi64)
#define u16_i64_BLOCK(in, out) SIXTEEN(in, out, 4, bytes_8, _mm256_cvtepu16_epi64)
#define u32_i64_BLOCK(in, out) SIXTEEN(in, out, 4, bytes_16, _mm256_cvtepu32_epi64)
#define i32_i64_BLOCK(in, out) SIXTEEN(in, out, 4, bytes_16, _mm256_cvtepi32_epi64)
#define u8_i32_BLOCK(in, out) SIXTEEN(in, out, 8, bytes_8, _mm256_cvtepu8_epi32)
#define u16_i32_BLOCK(in, out) SIXTEEN(in, out, 8, bytes_16, _mm256_cvtepu16_epi32)
#include "kernel/widen_loops.h"
#else
typedef int mldfi_not_for_this_processor; /* a file of C is not empty */
#endif
