/* Whole numbers into wider ones, element by element: tokens of 8, 16 or 32 bits into the integers that a model takes. A text for each instruction
 * set. The including file defines WIDEN_NAME, and for each pair NAME_BLOCK(in, out): WIDEN_BLOCK elements at once. Exact, so all sets
 * give the same bits. */
#include <stddef.h>
#include <stdint.h>

#include "kernel/variants.h"

#define WIDEN(NAME, FROM, TO) \
    static void NAME(const FROM *in, TO *out, size_t count) { \
        size_t at = 0; \
        for (; at + WIDEN_BLOCK <= count; at += WIDEN_BLOCK) \
            NAME##_BLOCK(in + at, out + at); \
        for (; at < count; at++) \
            out[at] = in[at]; \
    }
WIDEN(u8_i64, uint8_t, int64_t)
WIDEN(u16_i64, uint16_t, int64_t)
WIDEN(u32_i64, uint32_t, int64_t)
WIDEN(i32_i64, int32_t, int64_t)
WIDEN(u8_i32, uint8_t, int32_t)
WIDEN(u16_i32, uint16_t, int32_t)

bool WIDEN_NAME(mldfi_widen)(mldf_dtype from, const void *in, mldf_dtype to, void *out, size_t count) {
    if (from == MLDF_U8 && to == MLDF_I64)
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
