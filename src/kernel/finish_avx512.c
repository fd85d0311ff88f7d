/* The last pass with AVX-512 (F, BW, DQ, VL): sixteen pixels at once. */
#include "kernel/variants.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#include <immintrin.h>
#include <string.h>

enum { LANES = 16 };
#define HAVE_F16 1
typedef __m512i ints;
typedef __m512 floats;

static inline __m128i load_16(const uint8_t *p) {
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}

static inline ints chunks(const uint8_t *p, ptrdiff_t step) {
    ints v = _mm512_castsi128_si512(load_16(p));
    v = _mm512_mask_broadcast_i32x4(v, 0x00f0, load_16(p + step));
    v = _mm512_mask_broadcast_i32x4(v, 0x0f00, load_16(p + 2 * step));
    return _mm512_mask_broadcast_i32x4(v, 0xf000, load_16(p + 3 * step));
}

static inline ints spread(__m128i mask) {
    return _mm512_broadcast_i32x4(mask);
}

static inline ints shuffle(ints v, ints mask) {
    return _mm512_shuffle_epi8(v, mask);
}

static inline ints widen(const uint8_t *p) {
    return _mm512_cvtepu8_epi32(load_16(p));
}

static inline floats same(float v) {
    return _mm512_set1_ps(v);
}

static inline floats load_floats(const float *p) {
    return _mm512_loadu_ps(p);
}

static inline floats line(ints v, floats a, floats b) {
    return _mm512_add_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(v), a), b);
}

static inline void put_f32(float *dst, floats v) {
    _mm512_storeu_ps(dst, v);
}

static inline void put_f16(uint16_t *dst, floats v) {
    _mm256_storeu_si256((__m256i *)(void *)dst, _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

static inline void put_bf16(uint16_t *dst, floats v) {
    ints bits = _mm512_castps_si512(v), odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    bits = _mm512_srli_epi32(_mm512_add_epi32(_mm512_add_epi32(bits, odd), _mm512_set1_epi32(0x7fff)), 16);
    _mm256_storeu_si256((__m256i *)(void *)dst, _mm512_cvtepi32_epi16(bits));
}

#include "kernel/finish_x86.h"

void mldfi_finish_avx512(const struct finish_row *f, const uint8_t *in, size_t pixels, void *dst) {
    finish(f, in, pixels, dst);
}
#endif
