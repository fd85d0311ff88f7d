/* The passes of the other filters (bicubic, Lanczos ...) with AVX2: 8-bit pixels, weights of 32 bits. AVX-512 processors use it too. */
#include "kernel/resample.h"
#include "kernel/variants.h"

#if defined(__AVX2__)
#include <immintrin.h>
#include <string.h>

enum { HALF = 1 << (MLDFI_RESAMPLE_BITS - 1) };

static inline __m256i eight(const void *p) {
    long long v;
    memcpy(&v, p, sizeof v);
    return _mm256_set1_epi64x(v);
}

/* (v >> 22) clamped to a byte, of eight sums: as two groups of four bytes in the low halves of the parts. */
static inline __m256i to_bytes(__m256i a) {
    a = _mm256_srai_epi32(a, MLDFI_RESAMPLE_BITS);
    a = _mm256_packs_epi32(a, a);
    return _mm256_packus_epi16(a, a);
}

/* Two taps at once, the channels of one in each part: eight bytes, of which 2 N are used. */
#define ACROSS(NAME, N) \
    static void NAME(const struct resample_table *t, const uint8_t *in, uint8_t *out) { \
        const __m256i spread = \
            _mm256_setr_epi8(0, -1, -1, -1, 1, -1, -1, -1, 2, -1, -1, -1, 3, -1, -1, -1, (N), -1, -1, -1, (N) + 1, -1, \
                             -1, -1, (N) + 2, -1, -1, -1, (N) + 3, -1, -1, -1); \
        const __m256i which = _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1); \
        for (uint32_t i = 0; i < t->count; i++, out += (N)) { \
            const int32_t *w = t->weights + (size_t)i * t->taps; \
            const uint8_t *p = in + (size_t)t->first[i] * (N); \
            __m256i sum = _mm256_setr_epi32(HALF, HALF, HALF, HALF, 0, 0, 0, 0); \
            uint32_t k = 0; \
            for (; k + 2 <= t->used[i]; k += 2, p += 2 * (N)) { \
                __m256i v = _mm256_shuffle_epi8(eight(p), spread); \
                __m256i weights = _mm256_permutevar8x32_epi32(eight(w + k), which); \
                sum = _mm256_add_epi32(sum, _mm256_mullo_epi32(v, weights)); \
            } \
            if (k < t->used[i]) { \
                __m256i v = _mm256_shuffle_epi8(eight(p), spread); \
                __m256i weights = _mm256_setr_epi32(w[k], w[k], w[k], w[k], 0, 0, 0, 0); \
                sum = _mm256_add_epi32(sum, _mm256_mullo_epi32(v, weights)); \
            } \
            sum = _mm256_add_epi32(sum, _mm256_permute2x128_si256(sum, sum, 1)); \
            int32_t pixel = _mm_cvtsi128_si32(_mm256_castsi256_si128(to_bytes(sum))); \
            memcpy(out, &pixel, sizeof pixel); \
        } \
    }
ACROSS(across_3, 3)
ACROSS(across_4, 4)

void mldfi_wide_across_avx2(const struct resample_table *t, uint32_t channels, const uint8_t *in, uint8_t *out) {
    if (channels == 3)
        across_3(t, in, out);
    else if (channels == 4)
        across_4(t, in, out);
    else
        mldfi_resample_across(t, channels, 8, in, out);
}

static inline __m256i tap(const uint8_t *p, __m256i weight) {
    return _mm256_mullo_epi32(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)p)), weight);
}

/* Thirty-two values at a time; ROW_SLACK behind the rows makes whole blocks of them. */
void mldfi_wide_down_avx2(const struct resample_rows *rows, const int32_t *weights, uint32_t used, uint8_t *out,
                          size_t samples) {
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    for (size_t i = 0; i < samples; i += 32) {
        __m256i a = _mm256_set1_epi32(HALF), b = a, c = a, d = a;
        uint32_t row = rows->start;
        for (uint32_t k = 0; k < used; k++) {
            const uint8_t *p = rows->data + row * rows->stride + i;
            const __m256i w = _mm256_set1_epi32(weights[k]);
            a = _mm256_add_epi32(a, tap(p, w));
            b = _mm256_add_epi32(b, tap(p + 8, w));
            c = _mm256_add_epi32(c, tap(p + 16, w));
            d = _mm256_add_epi32(d, tap(p + 24, w));
            row = row + 1 == rows->ring ? 0 : row + 1;
        }
        a = _mm256_packs_epi32(_mm256_srai_epi32(a, MLDFI_RESAMPLE_BITS), _mm256_srai_epi32(b, MLDFI_RESAMPLE_BITS));
        c = _mm256_packs_epi32(_mm256_srai_epi32(c, MLDFI_RESAMPLE_BITS), _mm256_srai_epi32(d, MLDFI_RESAMPLE_BITS));
        a = _mm256_permutevar8x32_epi32(_mm256_packus_epi16(a, c), order);
        _mm256_storeu_si256((__m256i *)(void *)(out + i), a);
    }
}
#endif
