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
static inline __m256i half_numbers(__m128i halves) { /* half_number of eight */
    const __m256i most = _mm256_set1_epi32(0x7c00 << 13), shift = _mm256_set1_epi32(112 << 23);
    const __m256i wide = _mm256_cvtepu16_epi32(halves);
    const __m256i moved = _mm256_slli_epi32(_mm256_and_si256(wide, _mm256_set1_epi32(0x7fff)), 13);
    const __m256i exponent = _mm256_and_si256(moved, most), top = _mm256_cmpeq_epi32(exponent, most);
    const __m256i nan = _mm256_and_si256(_mm256_cmpgt_epi32(moved, most), _mm256_set1_epi32(0x400000));
    __m256i bits = _mm256_add_epi32(moved, shift);
    bits = _mm256_or_si256(_mm256_add_epi32(bits, _mm256_and_si256(top, shift)), nan);
    const __m256i small = _mm256_add_epi32(bits, _mm256_set1_epi32(1 << 23));
    const __m256 number = _mm256_sub_ps(_mm256_castsi256_ps(small), _mm256_castsi256_ps(_mm256_set1_epi32(113 << 23)));
    const __m256i zero = _mm256_cmpeq_epi32(exponent, _mm256_setzero_si256());
    bits = _mm256_blendv_epi8(bits, _mm256_castps_si256(number), zero);
    const __m256i sign = _mm256_slli_epi32(_mm256_and_si256(wide, _mm256_set1_epi32(0x8000)), 16);
    return _mm256_or_si256(bits, sign);
}
#define f16_f32_BLOCK(in, out) SIXTEEN(in, out, 8, bytes_16, half_numbers)
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
