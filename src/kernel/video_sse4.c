/* The loops of video_loops.h for SSE4: 8 pixels at a time. */
#if defined(__SSE4_1__)
#include "kernel/color_x86.h"

#define VIDEO_BLOCK 8
#define VIDEO_V __m128i
#define VIDEO_OP(x) _mm_##x
#define VIDEO_BITS(x) _mm_##x##_si128

static inline __m128i luma_bytes(const uint8_t *p) {
    return _mm_slli_epi16(_mm_cvtepu8_epi16(_mm_loadl_epi64((const __m128i *)(const void *)p)), 4);
}

/* 24 bytes, neither more nor less. */
static inline void store_rgb(uint8_t *out, __m128i r, __m128i g, __m128i b) {
    const __m128i rg = _mm_packus_epi16(r, g), bb = _mm_packus_epi16(b, b);
    const __m128i first =
        _mm_or_si128(_mm_shuffle_epi8(rg, _mm_setr_epi8(0, 8, -1, 1, 9, -1, 2, 10, -1, 3, 11, -1, 4, 12, -1, 5)),
                     _mm_shuffle_epi8(bb, _mm_setr_epi8(-1, -1, 0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1)));
    const __m128i last =
        _mm_or_si128(_mm_shuffle_epi8(rg, _mm_setr_epi8(13, -1, 6, 14, -1, 7, 15, -1, -1, -1, -1, -1, -1, -1, -1, -1)),
                     _mm_shuffle_epi8(bb, _mm_setr_epi8(-1, 5, -1, -1, 6, -1, -1, 7, -1, -1, -1, -1, -1, -1, -1, -1)));
    _mm_storeu_si128((__m128i *)(void *)out, first);
    _mm_storel_epi64((__m128i *)(void *)(out + 16), last);
}

#include "kernel/video_x86.h"
#define VIDEO_NAME(x) x##_sse4
#include "kernel/video_loops.h"
#else
typedef int mldfi_not_for_this_processor; /* a file of C is not empty */
#endif
