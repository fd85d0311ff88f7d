/* The last pass with AVX2 and F16C: eight pixels at once. */
#include "kernel/variants.h"

#if defined(__AVX2__) && defined(__F16C__)
#include <immintrin.h>
#include <string.h>

enum { LANES = 8 };
#define HAVE_F16 1
typedef __m256i ints;
typedef __m256 floats;

static inline __m128i load_16(const uint8_t *p) {
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}

static inline ints chunks(const uint8_t *p, ptrdiff_t step) {
    return _mm256_inserti128_si256(_mm256_castsi128_si256(load_16(p)), load_16(p + step), 1);
}

static inline ints spread(__m128i mask) {
    return _mm256_broadcastsi128_si256(mask);
}

static inline ints shuffle(ints v, ints mask) {
    return _mm256_shuffle_epi8(v, mask);
}

static inline ints widen(const uint8_t *p) {
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)p));
}

static inline floats same(float v) {
    return _mm256_set1_ps(v);
}

static inline floats load_floats(const float *p) {
    return _mm256_loadu_ps(p);
}

static inline floats line(ints v, floats a, floats b) {
    return _mm256_add_ps(_mm256_mul_ps(_mm256_cvtepi32_ps(v), a), b);
}

static inline void put_f32(float *dst, floats v) {
    _mm256_storeu_ps(dst, v);
}

static inline void put_f16(uint16_t *dst, floats v) {
    _mm_storeu_si128((__m128i *)(void *)dst, _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
}

static inline void put_bf16(uint16_t *dst, floats v) {
    ints bits = _mm256_castps_si256(v), odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    bits = _mm256_srli_epi32(_mm256_add_epi32(_mm256_add_epi32(bits, odd), _mm256_set1_epi32(0x7fff)), 16);
    bits = _mm256_permute4x64_epi64(_mm256_packus_epi32(bits, bits), 0x08);
    _mm_storeu_si128((__m128i *)(void *)dst, _mm256_castsi256_si128(bits));
}

#include "kernel/finish_x86.h"

void mldfi_finish_avx2(const struct finish_row *f, const uint8_t *in, size_t pixels, void *dst) {
    finish(f, in, pixels, dst);
}
#endif
