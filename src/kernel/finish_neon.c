/* The last pass with NEON, which every aarch64 has: sixteen pixels at once, taken apart and put together by its own loads and stores. */
#include "kernel/variants.h"

#if defined(__aarch64__)
#include <arm_neon.h>
#include <string.h>

enum { BLOCK = 16 };

/* Sixteen bytes of one channel, turned round for mirrored runs. */
static inline uint8x16_t order(uint8x16_t v, bool mirror) {
    if (!mirror)
        return v;
    v = vrev64q_u8(v);
    return vextq_u8(v, v, 8);
}

/* Pixels 4 q to 4 q + 3 of a channel as floats. */
static inline float32x4_t line(uint8x16_t v, int q, float scale, float shift) {
    uint16x8_t half = q < 2 ? vmovl_u8(vget_low_u8(v)) : vmovl_u8(vget_high_u8(v));
    uint32x4_t word = q % 2 ? vmovl_u16(vget_high_u16(half)) : vmovl_u16(vget_low_u16(half));
    return vaddq_f32(vmulq_n_f32(vcvtq_f32_u32(word), scale), vdupq_n_f32(shift));
}

static inline uint16x4_t as_f16(float32x4_t v) {
    return vreinterpret_u16_f16(vcvt_f16_f32(v));
}

static inline uint16x4_t as_bf16(float32x4_t v) {
    uint32x4_t bits = vreinterpretq_u32_f32(v), odd = vandq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(1));
    return vshrn_n_u32(vaddq_u32(vaddq_u32(bits, odd), vdupq_n_u32(0x7fff)), 16);
}

static inline float32x4_t as_f32(float32x4_t v) {
    return v;
}

/* The channels of sixteen pixels: c[0] to c[N - 1]. */
static inline void load_1(const uint8_t *p, uint8x16_t *c) {
    c[0] = vld1q_u8(p);
}

static inline void load_2(const uint8_t *p, uint8x16_t *c) {
    uint8x16x2_t v = vld2q_u8(p);
    c[0] = v.val[0], c[1] = v.val[1];
}

static inline void load_3(const uint8_t *p, uint8x16_t *c) {
    uint8x16x3_t v = vld3q_u8(p);
    c[0] = v.val[0], c[1] = v.val[1], c[2] = v.val[2];
}

static inline void load_4(const uint8_t *p, uint8x16_t *c) {
    uint8x16x4_t v = vld4q_u8(p);
    c[0] = v.val[0], c[1] = v.val[1], c[2] = v.val[2], c[3] = v.val[3];
}

/* Runs BODY with `at`, the first output pixel of a block, and its channels c; the last block may overlap the one before. */
#define FOR_BLOCKS(N, BODY) \
    for (size_t i = 0; i < pixels; i += BLOCK) { \
        const size_t at = i + BLOCK <= pixels ? i : pixels - BLOCK; \
        uint8x16_t c[N]; \
        load_##N(in + (f->mirror ? pixels - BLOCK - at : at) * (N), c); \
        for (int k = 0; k < (N); k++) \
            c[k] = order(c[k], f->mirror); \
        BODY \
    }

#define PLANAR(NAME, N, OUT, AS, STORE) \
    static void NAME(const struct finish_row *f, const uint8_t *in, size_t pixels, OUT *dst) { \
        FOR_BLOCKS(N, for (int k = 0; k < (N); k++) for (int q = 0; q < 4; q++) STORE( \
                          dst + (size_t)k * f->plane + at + 4 * q, AS(line(c[k], q, f->scale[k], f->shift[k])));) \
    }
#define FLAT(NAME, N, OUT, TYPE, AS, STORE) \
    static void NAME(const struct finish_row *f, const uint8_t *in, size_t pixels, OUT *dst) { \
        FOR_BLOCKS( \
            N, for (int q = 0; q < 4; q++) { \
                TYPE v; \
                for (int k = 0; k < (N); k++) \
                    v.val[k] = AS(line(c[k], q, f->scale[k], f->shift[k])); \
                STORE(dst + (at + 4 * (size_t)q) * (N), v); \
            }) \
    }
#define ALL(KIND, OUT, AS, STORE) \
    PLANAR(planar_1_##KIND, 1, OUT, AS, STORE) \
    PLANAR(planar_2_##KIND, 2, OUT, AS, STORE) \
    PLANAR(planar_3_##KIND, 3, OUT, AS, STORE) \
    PLANAR(planar_4_##KIND, 4, OUT, AS, STORE)
ALL(f32, float, as_f32, vst1q_f32)
ALL(f16, uint16_t, as_f16, vst1_u16)
ALL(bf16, uint16_t, as_bf16, vst1_u16)
FLAT(flat_2_f32, 2, float, float32x4x2_t, as_f32, vst2q_f32)
FLAT(flat_3_f32, 3, float, float32x4x3_t, as_f32, vst3q_f32)
FLAT(flat_4_f32, 4, float, float32x4x4_t, as_f32, vst4q_f32)
FLAT(flat_2_f16, 2, uint16_t, uint16x4x2_t, as_f16, vst2_u16)
FLAT(flat_3_f16, 3, uint16_t, uint16x4x3_t, as_f16, vst3_u16)
FLAT(flat_4_f16, 4, uint16_t, uint16x4x4_t, as_f16, vst4_u16)
FLAT(flat_2_bf16, 2, uint16_t, uint16x4x2_t, as_bf16, vst2_u16)
FLAT(flat_3_bf16, 3, uint16_t, uint16x4x3_t, as_bf16, vst3_u16)
FLAT(flat_4_bf16, 4, uint16_t, uint16x4x4_t, as_bf16, vst4_u16)

#define PLANAR_U8(N) \
    static void planar_##N##_u8(const struct finish_row *f, const uint8_t *in, size_t pixels, uint8_t *dst) { \
        FOR_BLOCKS(N, for (int k = 0; k < (N); k++) vst1q_u8(dst + (size_t)k * f->plane + at, c[k]);) \
    }
PLANAR_U8(1)
PLANAR_U8(2)
PLANAR_U8(3)
PLANAR_U8(4)

/* One channel interleaved is planar. */
#define CHOOSE(KIND) \
    do { \
        if (f->channels == 1) \
            planar_1_##KIND(f, in, pixels, dst); \
        else if (f->channels == 2) \
            (f->planar ? planar_2_##KIND : flat_2_##KIND)(f, in, pixels, dst); \
        else if (f->channels == 3) \
            (f->planar ? planar_3_##KIND : flat_3_##KIND)(f, in, pixels, dst); \
        else \
            (f->planar ? planar_4_##KIND : flat_4_##KIND)(f, in, pixels, dst); \
    } while (0)

static void finish_u8(const struct finish_row *f, const uint8_t *in, size_t pixels, uint8_t *dst) {
    static void (*const planes[])(const struct finish_row *, const uint8_t *, size_t,
                                  uint8_t *) = {planar_1_u8, planar_2_u8, planar_3_u8, planar_4_u8};
    if (f->planar || f->channels == 1)
        planes[f->channels - 1](f, in, pixels, dst);
    else if (!f->mirror)
        memcpy(dst, in, pixels * f->channels);
    else
        mldfi_finish_portable(f, in, pixels, dst);
}

void mldfi_finish_neon(const struct finish_row *f, const uint8_t *in, size_t pixels, void *dst) {
    if (f->bits != 8 || pixels < BLOCK) {
        mldfi_finish_portable(f, in, pixels, dst);
        return;
    }
    switch (f->dtype) {
    case MLDF_F32:
        CHOOSE(f32);
        break;
    case MLDF_F16:
        CHOOSE(f16);
        break;
    case MLDF_BF16:
        CHOOSE(bf16);
        break;
    default:
        finish_u8(f, in, pixels, dst);
    }
}
#endif
