/* cast.h: blocks of values go through int64_t or double, whichever holds them exactly; the pairs that matter have loops of their
 * own. */
#include <math.h>
#include <string.h>

#include "kernel/cast.h"
#include "kernel/kernels.h"

float mldfi_f16_to_f32(uint16_t value) {
    uint32_t sign = (uint32_t)(value & 0x8000) << 16, exponent = value >> 10 & 31, fraction = value & 0x3ff, bits;
    float out;
    if (exponent == 0) { /* zero and what lies below the normal numbers: fraction * 2^-24, exact */
        out = (float)fraction * 0x1p-24f;
        return sign ? -out : out;
    }
    if (exponent == 31)
        bits = sign | 0x7f800000 | fraction << 13;
    else
        bits = sign | (exponent + 112) << 23 | fraction << 13;
    memcpy(&out, &bits, sizeof out);
    return out;
}

float mldfi_bf16_to_f32(uint16_t value) {
    uint32_t bits = (uint32_t)value << 16;
    float out;
    memcpy(&out, &bits, sizeof out);
    return out;
}

static bool is_complex(mldf_dtype dtype) {
    return dtype == MLDF_C64 || dtype == MLDF_C128;
}

static bool is_float(mldf_dtype dtype) {
    return dtype == MLDF_F16 || dtype == MLDF_BF16 || dtype == MLDF_F32 || dtype == MLDF_F64;
}

bool mldfi_convertible(mldf_dtype from, mldf_dtype to) {
    if (from == MLDF_DTYPE_NONE || to == MLDF_DTYPE_NONE)
        return false;
    return from == to || is_complex(from) == is_complex(to);
}

/* ---- Blocks ------------------------------------------------------------------------------------------------------- */

enum { BLOCK = 256 };
union block {
    int64_t i[BLOCK]; /* the bits of a u64 */
    double f[BLOCK];
};

#define EACH(COUNT, STATEMENT) \
    for (size_t k = 0; k < (COUNT); k++) \
    STATEMENT

static void load(mldf_dtype dtype, const void *in, size_t at, size_t n, union block *b) {
    switch (dtype) {
    case MLDF_BOOL:
        EACH(n, b->i[k] = ((const uint8_t *)in)[at + k] != 0);
        break;
    case MLDF_I8:
        EACH(n, b->i[k] = ((const int8_t *)in)[at + k]);
        break;
    case MLDF_U8:
        EACH(n, b->i[k] = ((const uint8_t *)in)[at + k]);
        break;
    case MLDF_I16:
        EACH(n, b->i[k] = ((const int16_t *)in)[at + k]);
        break;
    case MLDF_U16:
        EACH(n, b->i[k] = ((const uint16_t *)in)[at + k]);
        break;
    case MLDF_I32:
        EACH(n, b->i[k] = ((const int32_t *)in)[at + k]);
        break;
    case MLDF_U32:
        EACH(n, b->i[k] = ((const uint32_t *)in)[at + k]);
        break;
    case MLDF_I64:
    case MLDF_U64:
        memcpy(b->i, (const int64_t *)in + at, n * 8);
        break;
    case MLDF_F16:
        EACH(n, b->f[k] = mldfi_f16_to_f32(((const uint16_t *)in)[at + k]));
        break;
    case MLDF_BF16:
        EACH(n, b->f[k] = mldfi_bf16_to_f32(((const uint16_t *)in)[at + k]));
        break;
    case MLDF_F32:
        EACH(n, b->f[k] = ((const float *)in)[at + k]);
        break;
    default: /* F64 */
        memcpy(b->f, (const double *)in + at, n * 8);
        break;
    }
}

/* Nearest, ties to even, inside [low, high]; both are whole numbers that a double holds. */
static inline double held(double v, double low, double high) {
    v = rint(v);
    return v >= high ? high : v >= low ? v : v < low ? low : 0;
}

static inline int64_t held_i64(double v) {
    v = rint(v);
    return v >= 0x1p63 ? INT64_MAX : v >= -0x1p63 ? (int64_t)v : v < -0x1p63 ? INT64_MIN : 0;
}

static inline uint64_t held_u64(double v) {
    v = rint(v);
    return v >= 0x1p64 ? UINT64_MAX : v > 0 ? (uint64_t)v : 0;
}

static void store_float(mldf_dtype dtype, const union block *b, size_t n, void *out, size_t at) {
    switch (dtype) {
    case MLDF_BOOL:
        EACH(n, ((uint8_t *)out)[at + k] = !(b->f[k] >= 0 && b->f[k] <= 0));
        break;
    case MLDF_I8:
        EACH(n, ((int8_t *)out)[at + k] = (int8_t)held(b->f[k], -128, 127));
        break;
    case MLDF_U8:
        EACH(n, ((uint8_t *)out)[at + k] = (uint8_t)held(b->f[k], 0, 255));
        break;
    case MLDF_I16:
        EACH(n, ((int16_t *)out)[at + k] = (int16_t)held(b->f[k], -32768, 32767));
        break;
    case MLDF_U16:
        EACH(n, ((uint16_t *)out)[at + k] = (uint16_t)held(b->f[k], 0, 65535));
        break;
    case MLDF_I32:
        EACH(n, ((int32_t *)out)[at + k] = (int32_t)held(b->f[k], -2147483648.0, 2147483647.0));
        break;
    case MLDF_U32:
        EACH(n, ((uint32_t *)out)[at + k] = (uint32_t)held(b->f[k], 0, 4294967295.0));
        break;
    case MLDF_I64:
        EACH(n, ((int64_t *)out)[at + k] = held_i64(b->f[k]));
        break;
    case MLDF_U64:
        EACH(n, ((uint64_t *)out)[at + k] = held_u64(b->f[k]));
        break;
    case MLDF_F16:
        EACH(n, ((uint16_t *)out)[at + k] = mldfi_f32_to_f16((float)b->f[k]));
        break;
    case MLDF_BF16:
        EACH(n, ((uint16_t *)out)[at + k] = mldfi_f32_to_bf16((float)b->f[k]));
        break;
    case MLDF_F32:
        EACH(n, ((float *)out)[at + k] = (float)b->f[k]);
        break;
    default:
        memcpy((double *)out + at, b->f, n * 8);
        break;
    }
}

/* A 64-bit integer as a float in one rounding. */
static inline float whole_f32(int64_t v, bool is_unsigned) {
    return is_unsigned ? (float)(uint64_t)v : (float)v;
}

static void store_whole(mldf_dtype dtype, const union block *b, bool is_unsigned, size_t n, void *out, size_t at) {
    switch (dtype) {
    case MLDF_BOOL:
        EACH(n, ((uint8_t *)out)[at + k] = b->i[k] != 0);
        break;
    case MLDF_I8:
    case MLDF_U8:
        EACH(n, ((uint8_t *)out)[at + k] = (uint8_t)b->i[k]);
        break;
    case MLDF_I16:
    case MLDF_U16:
        EACH(n, ((uint16_t *)out)[at + k] = (uint16_t)b->i[k]);
        break;
    case MLDF_I32:
    case MLDF_U32:
        EACH(n, ((uint32_t *)out)[at + k] = (uint32_t)b->i[k]);
        break;
    case MLDF_I64:
    case MLDF_U64:
        memcpy((int64_t *)out + at, b->i, n * 8);
        break;
    case MLDF_F16:
        EACH(n, ((uint16_t *)out)[at + k] = mldfi_f32_to_f16(whole_f32(b->i[k], is_unsigned)));
        break;
    case MLDF_BF16:
        EACH(n, ((uint16_t *)out)[at + k] = mldfi_f32_to_bf16(whole_f32(b->i[k], is_unsigned)));
        break;
    case MLDF_F32:
        EACH(n, ((float *)out)[at + k] = whole_f32(b->i[k], is_unsigned));
        break;
    default:
        EACH(n, ((double *)out)[at + k] = is_unsigned ? (double)(uint64_t)b->i[k] : (double)b->i[k]);
        break;
    }
}

static void convert_complex(mldf_dtype from, const void *in, void *out, size_t count) {
    if (from == MLDF_C64)
        EACH(2 * count, ((double *)out)[k] = ((const float *)in)[k]);
    else
        EACH(2 * count, ((float *)out)[k] = (float)((const double *)in)[k]);
}

/* Token ids to what models take: one pass, without the block in between. */
#define WIDEN(NAME, FROM, TO) \
    static void NAME(const FROM *restrict in, TO *restrict out, size_t count) { \
        EACH(count, out[k] = (TO)in[k]); \
    }
WIDEN(u8_to_i32, uint8_t, int32_t)
WIDEN(u8_to_i64, uint8_t, int64_t)
WIDEN(u16_to_i32, uint16_t, int32_t)
WIDEN(u16_to_i64, uint16_t, int64_t)
WIDEN(i32_to_i64, int32_t, int64_t)

static bool widen(mldf_dtype from, const void *in, mldf_dtype to, void *out, size_t count) {
    if (from == MLDF_U16 && to == MLDF_I64)
        u16_to_i64(in, out, count);
    else if (from == MLDF_U16 && to == MLDF_I32)
        u16_to_i32(in, out, count);
    else if (from == MLDF_I32 && to == MLDF_I64)
        i32_to_i64(in, out, count);
    else if (from == MLDF_U8 && to == MLDF_I64)
        u8_to_i64(in, out, count);
    else if (from == MLDF_U8 && to == MLDF_I32)
        u8_to_i32(in, out, count);
    else
        return false;
    return true;
}

void mldfi_convert_elements(mldf_dtype from, const void *in, mldf_dtype to, void *out, size_t count) {
    union block b;
    if (widen(from, in, to, out, count))
        return;
    if (from == to) {
        if (in != out && count)
            memcpy(out, in, count * mldf_dtype_bytes(from));
    } else if (is_complex(from)) {
        convert_complex(from, in, out, count);
    } else if (from == MLDF_U8 && to == MLDF_F32) {
        EACH(count, ((float *)out)[k] = (float)((const uint8_t *)in)[k]);
    } else if (from == MLDF_F32 && to == MLDF_F16) {
        EACH(count, ((uint16_t *)out)[k] = mldfi_f32_to_f16(((const float *)in)[k]));
    } else if (from == MLDF_F32 && to == MLDF_BF16) {
        EACH(count, ((uint16_t *)out)[k] = mldfi_f32_to_bf16(((const float *)in)[k]));
    } else {
        for (size_t at = 0; at < count; at += BLOCK) {
            size_t n = count - at < BLOCK ? count - at : BLOCK;
            load(from, in, at, n, &b);
            if (is_float(from))
                store_float(to, &b, n, out, at);
            else
                store_whole(to, &b, from == MLDF_U64, n, out, at);
        }
    }
}

double mldfi_element_f64(mldf_dtype dtype, const void *data, size_t index) {
    union block b;
    load(dtype, data, index, 1, &b);
    if (is_float(dtype))
        return b.f[0];
    return dtype == MLDF_U64 ? (double)(uint64_t)b.i[0] : (double)b.i[0];
}

/* ---- Layout ----------------------------------------------------------------------------------------------------------- */

struct wide {
    uint64_t part[2];
};

#define LAYOUT(NAME, TYPE) \
    static void planar_##NAME(const TYPE *in, size_t pixels, size_t channels, TYPE *out) { \
        for (size_t c = 0; c < channels; c++) \
            for (size_t i = 0; i < pixels; i++) \
                out[c * pixels + i] = in[i * channels + c]; \
    } \
    static void interleaved_##NAME(const TYPE *in, size_t pixels, size_t channels, TYPE *out) { \
        for (size_t c = 0; c < channels; c++) \
            for (size_t i = 0; i < pixels; i++) \
                out[i * channels + c] = in[c * pixels + i]; \
    }
LAYOUT(1, uint8_t)
LAYOUT(2, uint16_t)
LAYOUT(4, uint32_t)
LAYOUT(8, uint64_t)
LAYOUT(16, struct wide)

#define CHOOSE(WAY) \
    switch (element) { \
    case 1: \
        WAY##_1(in, pixels, channels, out); \
        break; \
    case 2: \
        WAY##_2(in, pixels, channels, out); \
        break; \
    case 4: \
        WAY##_4(in, pixels, channels, out); \
        break; \
    case 8: \
        WAY##_8(in, pixels, channels, out); \
        break; \
    default: \
        WAY##_16(in, pixels, channels, out); \
        break; \
    }

void mldfi_to_planar(const void *in, size_t pixels, size_t channels, size_t element, void *out) {
    CHOOSE(planar)
}

void mldfi_to_interleaved(const void *in, size_t pixels, size_t channels, size_t element,
                          void *out){CHOOSE(interleaved)}
/* ---- Affine map --------------------------------------------------------------------------------------------------------- */

#define AFFINE(NAME, TYPE) \
    static void NAME(const TYPE *in, const float *scale, const float *shift, size_t period, float *out, \
                     size_t count) { \
        if (period == 1) { \
            float a = scale[0], b = shift[0]; \
            for (size_t i = 0; i < count; i++) \
                out[i] = (float)in[i] * a + b; \
            return; \
        } \
        for (size_t i = 0; i < count; i += period) \
            for (size_t c = 0; c < period && i + c < count; c++) \
                out[i + c] = (float)in[i + c] * scale[c] + shift[c]; \
    }
AFFINE(affine_u8, uint8_t) AFFINE(affine_u16, uint16_t) AFFINE(affine_f32, float)

    void mldfi_affine(mldf_dtype from, const void *in, const float *scale, const float *shift, size_t period,
                      float *out, size_t count) {
    if (period == 0)
        return;
    if (from == MLDF_U8)
        affine_u8(in, scale, shift, period, out, count);
    else if (from == MLDF_U16)
        affine_u16(in, scale, shift, period, out, count);
    else {
        mldfi_convert_elements(from, in, MLDF_F32, out, count);
        affine_f32(out, scale, shift, period, out, count);
    }
}
