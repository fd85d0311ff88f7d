/* Numbers into wider ones, element by element: tokens of 8, 16 or 32 bits into the integers that a model takes, stored features of f16 into f32. A text for
 * each instruction set. The including file defines WIDEN_NAME, and for each pair NAME_BLOCK(in, out): WIDEN_BLOCK elements at once. Exact, so all sets
 * give the same bits. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernel/variants.h"

#define WIDEN(NAME, FROM, TO) \
    static void NAME(const FROM *in, TO *out, size_t count) { \
        size_t at = 0; \
        for (; at + WIDEN_BLOCK <= count; at += WIDEN_BLOCK) \
            NAME##_BLOCK(in + at, out + at); \
        for (; at < count; at++) \
            out[at] = in[at]; \
    }
/* Bits are moved and the exponent is set right; a subnormal by a subtraction that is exact. NaNs come out quiet, as cast.c has them. */
static inline float half_number(uint16_t half) {
    const uint32_t most = 0x7c00u << 13, moved = (half & 0x7fffu) << 13, exponent = moved & most;
    uint32_t bits = moved + (112u << 23);
    float number;
    if (exponent == most)
        bits = (bits + (112u << 23)) | (moved > most ? 0x400000u : 0);
    if (exponent == 0) {
        const uint32_t small = 113u << 23;
        float one;
        bits += 1u << 23;
        memcpy(&number, &bits, sizeof number);
        memcpy(&one, &small, sizeof one);
        number -= one;
        memcpy(&bits, &number, sizeof bits);
    }
    bits |= (uint32_t)(half & 0x8000u) << 16;
    memcpy(&number, &bits, sizeof number);
    return number;
}
static void f16_f32(const uint16_t *in, float *out, size_t count) {
    size_t at = 0;
    for (; at + WIDEN_BLOCK <= count; at += WIDEN_BLOCK)
        f16_f32_BLOCK(in + at, out + at);
    for (; at < count; at++)
        out[at] = half_number(in[at]);
}
WIDEN(u8_i64, uint8_t, int64_t)
WIDEN(u16_i64, uint16_t, int64_t)
WIDEN(u32_i64, uint32_t, int64_t)
WIDEN(i32_i64, int32_t, int64_t)
WIDEN(u8_i32, uint8_t, int32_t)
WIDEN(u16_i32, uint16_t, int32_t)

bool WIDEN_NAME(mldfi_widen)(mldf_dtype from, const void *in, mldf_dtype to, void *out, size_t count) {
    if (from == MLDF_F16 && to == MLDF_F32)
        f16_f32(in, out, count);
    else if (from == MLDF_U8 && to == MLDF_I64)
        u8_i64(in, out, count);
    else if (from == MLDF_U16 && to == MLDF_I64)
        u16_i64(in, out, count);
    else if (from == MLDF_U32 && to == MLDF_I64)
        u32_i64(in, out, count);
    else if (from == MLDF_I32 && to == MLDF_I64)
        i32_i64(in, out, count);
    else if (from == MLDF_U8 && to == MLDF_I32)
        u8_i32(in, out, count);
    else if (from == MLDF_U16 && to == MLDF_I32)
        u16_i32(in, out, count);
    else
        return false;
    return true;
}
