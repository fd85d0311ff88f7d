/* mix.h: both sides of a pair in one pass, so that neither needs a copy. */
#include "kernel/mix.h"

#include <math.h>

#include "kernel/cast.h"
#include "kernel/kernels.h"

bool mldfi_mixable(mldf_dtype dtype) {
    return dtype == MLDF_U8 || dtype == MLDF_U16 || dtype == MLDF_F16 || dtype == MLDF_BF16 || dtype == MLDF_F32 ||
           dtype == MLDF_F64;
}

#define SAME(v) (v)
#define ROUND_U8(v) (uint8_t) rintf(v)
#define ROUND_U16(v) (uint16_t) rintf(v)
#define MIX(NAME, TYPE, REAL, LOAD, STORE) \
    static void NAME(TYPE *a, TYPE *b, size_t count, double of_a, double of_b) { \
        REAL a1 = (REAL)of_a, a2 = (REAL)(1 - of_a), b1 = (REAL)of_b, b2 = (REAL)(1 - of_b); \
        for (size_t i = 0; i < count; i++) { \
            REAL x = LOAD(a[i]), y = LOAD(b[i]); \
            a[i] = STORE(x * a1 + y * a2); \
            b[i] = STORE(y * b1 + x * b2); \
        } \
    }
MIX(mix_u8, uint8_t, float, SAME, ROUND_U8)
MIX(mix_u16, uint16_t, float, SAME, ROUND_U16)
MIX(mix_f16, uint16_t, float, mldfi_f16_to_f32, mldfi_f32_to_f16)
MIX(mix_bf16, uint16_t, float, mldfi_bf16_to_f32, mldfi_f32_to_bf16)
MIX(mix_f32, float, float, SAME, SAME)
MIX(mix_f64, double, double, SAME, SAME)

void mldfi_mix(mldf_dtype dtype, void *a, void *b, size_t count, double of_a, double of_b) {
    switch (dtype) {
    case MLDF_U8:
        mix_u8(a, b, count, of_a, of_b);
        break;
    case MLDF_U16:
        mix_u16(a, b, count, of_a, of_b);
        break;
    case MLDF_F16:
        mix_f16(a, b, count, of_a, of_b);
        break;
    case MLDF_BF16:
        mix_bf16(a, b, count, of_a, of_b);
        break;
    case MLDF_F32:
        mix_f32(a, b, count, of_a, of_b);
        break;
    default:
        mix_f64(a, b, count, of_a, of_b);
        break;
    }
}
