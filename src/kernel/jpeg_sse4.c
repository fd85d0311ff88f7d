/* The loops of jpeg.h, compiled for SSE4: a block at a time. */
#if defined(__SSE4_1__)
#include "kernel/jpeg_x86.h"

#define V __m128i
#define JPEG_LANES 1
#define OP(x) _mm_##x
#define V_ZERO _mm_setzero_si128()
#define V_OR _mm_or_si128
#define V_XOR _mm_xor_si128

STEP V lanes(const int16_t *p, size_t step) {
    (void)step;
    return load_lane(p);
}
STEP V same(const void *p) {
    return load_lane(p);
}
STEP V1 lane(V v, int k) {
    (void)k;
    return v;
}
STEP V pixels(const uint8_t *p) {
    return _mm_cvtepu8_epi16(_mm_loadl_epi64((const __m128i *)(const void *)p));
}
STEP void store_words(void *p, V v) {
    store_lane(p, v);
}
#include "kernel/jpeg_lanes.h"

const struct jpeg_kernels mldfi_jpeg_sse4 = {
    segments, dcs,  {mldfi_jpeg_transform_1, transform_2, transform_4, transform_8}, up_across, up_both, up_down,
    color,    join,
};
#else
typedef int mldfi_not_for_this_processor; /* a file of C is not empty */
#endif
