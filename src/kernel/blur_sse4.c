/* The rows of blur.h, compiled for SSE4. */
#if defined(__SSE4_1__)
#include <immintrin.h>
#include <stdint.h>
#include <string.h>

static inline __m128i load_bytes(const uint8_t *p) {
    return _mm_cvtepu8_epi16(_mm_loadl_epi64((const __m128i *)(const void *)p));
}

static inline void store_bytes(uint8_t *p, __m128i v) {
    _mm_storel_epi64((__m128i *)(void *)p, _mm_packus_epi16(v, v));
}

#define BLUR_V __m128i
#define BLUR_V_BYTES 16
#define BLUR_OP(x) _mm_##x
#include "kernel/blur_x86.h"
#define BLUR_NAME(x) x##_sse4
#define BLUR_VECTOR 16
#include "kernel/blur_loops.h"
#else
typedef int mldfi_not_for_this_processor; /* a file of C is not empty */
#endif
