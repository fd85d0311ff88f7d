/* The last pass in plain C: the definition that the files of the instruction sets are compared with. */
#include <string.h>

#include "kernel/kernels.h"
#include "util/bytes.h"

/* Both formats are float32's sign, exponent and fraction with fewer bits, so rounding is an addition to the bits. */
uint16_t mldfi_f32_to_bf16(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if ((bits & 0x7fffffff) > 0x7f800000)
        return (uint16_t)(bits >> 16 | 0x40); /* a NaN stays one */
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

uint16_t mldfi_f32_to_f16(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t sign = bits >> 16 & 0x8000, v = bits & 0x7fffffff;
    if (v > 0x7f800000)
        return (uint16_t)(sign | 0x7e00 | (v >> 13 & 0x3ff));
    if (v >= 0x477ff000) /* 65520, half way to what would be the next power of two */
        return (uint16_t)(sign | 0x7c00);
    if (v >= 0x38800000) /* 2^-14, the smallest normal number */
        return (uint16_t)(sign | (v - 0x38000000 + 0xfff + (v >> 13 & 1)) >> 13);
    if (v < 0x33000000) /* below 2^-25, half of the smallest */
        return (uint16_t)sign;
    uint32_t shift = 126 - (v >> 23), fraction = (v & 0x7fffff) | 0x800000; /* in units of 2^-24 */
    uint32_t kept = fraction >> shift, rest = fraction & ((1u << shift) - 1), half = 1u << (shift - 1);
    return (uint16_t)(sign | (kept + (rest > half || (rest == half && (kept & 1)))));
}

static inline uint32_t load_8(const uint8_t *p) {
    return *p;
}

static inline uint32_t load_16(const uint8_t *p) {
    return mldfi_load_u16(p);
}

static inline float affine(uint32_t v, float scale, float shift) {
    float product = (float)v * scale;
    return product + shift;
}

#define VALUE(v, a, b) (v)
#define AS_F32(v, a, b) affine(v, a, b)
#define AS_F16(v, a, b) mldfi_f32_to_f16(affine(v, a, b))
#define AS_BF16(v, a, b) mldfi_f32_to_bf16(affine(v, a, b))

/* One channel after the other. */
#define ROW(NAME, LOAD, BYTES, OUT, CONVERT) \
    static void NAME(const struct finish_row *f, const uint8_t *in, size_t pixels, OUT *dst) { \
        const ptrdiff_t pixel = (ptrdiff_t)f->channels * BYTES, step = f->mirror ? -pixel : pixel; \
        const size_t out_step = f->planar ? 1 : f->channels; \
        for (uint32_t c = 0; c < f->channels; c++) { \
            const uint8_t *p = in + (f->mirror ? (pixels - 1) * (size_t)pixel : 0) + (size_t)c * BYTES; \
            OUT *out = dst + (f->planar ? c * f->plane : c); \
            const float a = f->scale[c], b = f->shift[c]; \
            (void)a, (void)b; \
            for (size_t i = 0; i < pixels; i++, out += out_step) \
                *out = (OUT)CONVERT(LOAD(p + (ptrdiff_t)i * step), a, b); \
        } \
    }
ROW(row_8_u8, load_8, 1, uint8_t, VALUE)
ROW(row_8_f32, load_8, 1, float, AS_F32)
ROW(row_8_f16, load_8, 1, uint16_t, AS_F16)
ROW(row_8_bf16, load_8, 1, uint16_t, AS_BF16)
ROW(row_16_u16, load_16, 2, uint16_t, VALUE)
ROW(row_16_f32, load_16, 2, float, AS_F32)
ROW(row_16_f16, load_16, 2, uint16_t, AS_F16)
ROW(row_16_bf16, load_16, 2, uint16_t, AS_BF16)

void mldfi_finish_portable(const struct finish_row *f, const uint8_t *in, size_t pixels, void *dst) {
    bool wide = f->bits == 16;
    if (pixels == 0)
        return;
    switch (f->dtype) {
    case MLDF_F32:
        (wide ? row_16_f32 : row_8_f32)(f, in, pixels, dst);
        break;
    case MLDF_F16:
        (wide ? row_16_f16 : row_8_f16)(f, in, pixels, dst);
        break;
    case MLDF_BF16:
        (wide ? row_16_bf16 : row_8_bf16)(f, in, pixels, dst);
        break;
    default:
        if (wide)
            row_16_u16(f, in, pixels, dst);
        else
            row_8_u8(f, in, pixels, dst);
    }
}
