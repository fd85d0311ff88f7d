/* The last pass with SSE4.1: four pixels at once. float16 needs more than that and is left to the portable loop. */
#include "kernel/variants.h"

#if defined(__SSE4_1__)
#include <smmintrin.h>
#include <string.h>

enum { LANES = 4 };
#define HAVE_F16 0
typedef __m128i ints;
typedef __m128 floats;

static inline ints chunks(const uint8_t *p, ptrdiff_t step) {
    (void)step;
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}

static inline ints spread(__m128i mask) {
    return mask;
}

static inline ints shuffle(ints v, ints mask) {
    return _mm_shuffle_epi8(v, mask);
}

static inline ints widen(const uint8_t *p) {
    int32_t four;
    memcpy(&four, p, sizeof four);
    return _mm_cvtepu8_epi32(_mm_cvtsi32_si128(four));
}

static inline floats same(float v) {
    return _mm_set1_ps(v);
}

static inline floats load_floats(const float *p) {
    return _mm_loadu_ps(p);
}

static inline floats line(ints v, floats a, floats b) {
    return _mm_add_ps(_mm_mul_ps(_mm_cvtepi32_ps(v), a), b);
}

static inline void put_f32(float *dst, floats v) {
    _mm_storeu_ps(dst, v);
}

static inline void put_bf16(uint16_t *dst, floats v) {
    ints bits = _mm_castps_si128(v), odd = _mm_and_si128(_mm_srli_epi32(bits, 16), _mm_set1_epi32(1));
    bits = _mm_srli_epi32(_mm_add_epi32(_mm_add_epi32(bits, odd), _mm_set1_epi32(0x7fff)), 16);
    _mm_storel_epi64((__m128i *)(void *)dst, _mm_packus_epi32(bits, bits));
}

#include "kernel/finish_x86.h"

void mldfi_finish_sse4(const struct finish_row *f, const uint8_t *in, size_t pixels, void *dst) {
    finish(f, in, pixels, dst);
}
#endif
