/* The loops of jpeg.h, compiled for NEON: a block at a time, with the operations that jpeg_lanes.h names as x86 does. */
#if defined(__aarch64__)
#include <arm_neon.h>
#include <stddef.h>

#include "kernel/jpeg.h"

#define V int16x8_t
#define V1 int16x8_t
#define JPEG_LANES 1
#define OP(x) n_##x
#define V_ZERO vdupq_n_s16(0)
#define V_OR vorrq_s16
#define V_XOR veorq_s16
#define STEP static inline __attribute__((always_inline))
#define STORE_VALUES(TO, VALUES) vst1q_s16(TO, vmovl_s8(vcreate_s8(VALUES)))

/* A register is words; these are its other faces. */
#define AS_32(x) vreinterpretq_s32_s16(x)
#define OF_32(x) vreinterpretq_s16_s32(x)
#define AS_64(x) vreinterpretq_s64_s16(x)
#define OF_64(x) vreinterpretq_s16_s64(x)
#define AS_8(x) vreinterpretq_s8_s16(x)
#define OF_8(x) vreinterpretq_s16_s8(x)
#define AS_BYTES(x) vreinterpretq_u8_s16(x)
#define OF_BYTES(x) vreinterpretq_s16_u8(x)

STEP V n_set1_epi32(int x) {
    return OF_32(vdupq_n_s32(x));
}
STEP V n_set1_epi16(int x) {
    return vdupq_n_s16((int16_t)x);
}
STEP V n_set1_epi8(char x) {
    return OF_8(vdupq_n_s8((int8_t)x));
}
STEP V n_add_epi32(V a, V b) {
    return OF_32(vaddq_s32(AS_32(a), AS_32(b)));
}
STEP V n_sub_epi32(V a, V b) {
    return OF_32(vsubq_s32(AS_32(a), AS_32(b)));
}
STEP V n_srai_epi32(V a, int by) {
    return OF_32(vshlq_s32(AS_32(a), vdupq_n_s32(-by)));
}
STEP V n_hadd_epi32(V a, V b) {
    return OF_32(vpaddq_s32(AS_32(a), AS_32(b)));
}
STEP V n_madd_epi16(V a, V b) {
    return OF_32(vpaddq_s32(vmull_s16(vget_low_s16(a), vget_low_s16(b)), vmull_high_s16(a, b)));
}
STEP V n_add_epi16(V a, V b) {
    return vaddq_s16(a, b);
}
STEP V n_sub_epi16(V a, V b) {
    return vsubq_s16(a, b);
}
STEP V n_mullo_epi16(V a, V b) {
    return vmulq_s16(a, b);
}
STEP V n_mulhi_epi16(V a, V b) {
    return vuzp2q_s16(OF_32(vmull_s16(vget_low_s16(a), vget_low_s16(b))), OF_32(vmull_high_s16(a, b)));
}
STEP V n_srai_epi16(V a, int by) {
    return vshlq_s16(a, vdupq_n_s16((int16_t)-by));
}
STEP V n_srli_epi16(V a, int by) {
    return vreinterpretq_s16_u16(vshlq_u16(vreinterpretq_u16_s16(a), vdupq_n_s16((int16_t)-by)));
}
STEP V n_slli_epi16(V a, int by) {
    return vshlq_s16(a, vdupq_n_s16((int16_t)by));
}
STEP V n_packs_epi32(V a, V b) {
    return vqmovn_high_s32(vqmovn_s32(AS_32(a)), AS_32(b));
}
STEP V n_packs_epi16(V a, V b) {
    return OF_8(vqmovn_high_s16(vqmovn_s16(a), b));
}
STEP V n_packus_epi16(V a, V b) {
    return OF_BYTES(vqmovun_high_s16(vqmovun_s16(a), b));
}
STEP V n_unpacklo_epi8(V a, V b) {
    return OF_8(vzip1q_s8(AS_8(a), AS_8(b)));
}
STEP V n_unpacklo_epi16(V a, V b) {
    return vzip1q_s16(a, b);
}
STEP V n_unpackhi_epi16(V a, V b) {
    return vzip2q_s16(a, b);
}
STEP V n_unpacklo_epi32(V a, V b) {
    return OF_32(vzip1q_s32(AS_32(a), AS_32(b)));
}
STEP V n_unpackhi_epi32(V a, V b) {
    return OF_32(vzip2q_s32(AS_32(a), AS_32(b)));
}
STEP V n_unpacklo_epi64(V a, V b) {
    return OF_64(vzip1q_s64(AS_64(a), AS_64(b)));
}
STEP V n_unpackhi_epi64(V a, V b) {
    return OF_64(vzip2q_s64(AS_64(a), AS_64(b)));
}
/* Places of 16 and more give 0, as those with the highest bit set do on x86. */
STEP V n_shuffle_epi8(V a, V places) {
    return OF_BYTES(vqtbl1q_u8(AS_BYTES(a), AS_BYTES(places)));
}

STEP V load_lane(const void *p) {
    return OF_BYTES(vld1q_u8(p));
}
STEP void store_lane(void *p, V v) {
    vst1q_u8(p, AS_BYTES(v));
}
STEP void store_words(void *p, V v) {
    store_lane(p, v);
}
STEP void store_halves(uint8_t *first, uint8_t *second, V v) {
    vst1_u8(first, vget_low_u8(AS_BYTES(v)));
    vst1_u8(second, vget_high_u8(AS_BYTES(v)));
}
STEP V lanes(const int16_t *p, size_t step) {
    (void)step;
    return load_lane(p);
}
STEP V same(const void *p) {
    return load_lane(p);
}
STEP V lane(V v, int k) {
    (void)k;
    return v;
}
STEP V pixels(const uint8_t *p) {
    return vreinterpretq_s16_u16(vmovl_u8(vld1_u8(p)));
}
STEP void store_rgb(uint8_t *out, V r, V g, V b) {
    vst3q_u8(out, (uint8x16x3_t){{AS_BYTES(r), AS_BYTES(g), AS_BYTES(b)}});
}
STEP void store_rgba(uint8_t *out, V r, V g, V b) {
    vst4q_u8(out, (uint8x16x4_t){{AS_BYTES(r), AS_BYTES(g), AS_BYTES(b), vdupq_n_u8(255)}});
}
#include "kernel/jpeg_lanes.h"

const struct jpeg_kernels mldfi_jpeg_neon = {
    segments, dcs,  {mldfi_jpeg_transform_1, transform_2, transform_4, transform_8}, up_across, up_both, up_down,
    color,    join,
};
#else
typedef int mldfi_not_for_this_processor; /* a file of C is not empty */
#endif
