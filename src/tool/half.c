/* Narrow floats. Both formats are sign, exponent, fraction like float64, so one function with their widths does both. */
#include "tool/half.h"

#include <string.h>

/* fraction_bits of the target, its exponent bias. Values too large become infinity, too small subnormal or zero. */
static uint16_t narrow(double value, int fraction_bits, int bias) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint16_t sign = (uint16_t)(bits >> 48 & 0x8000);
    int exponent = (int)(bits >> 52 & 0x7ff);
    uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
    int max_exponent = 2 * bias + 1;
    if (exponent == 0x7ff) {
        uint16_t special = (uint16_t)(max_exponent << fraction_bits);
        return (uint16_t)(sign | special | (fraction ? 1u << (fraction_bits - 1) : 0u));
    }
    if (exponent == 0)
        return sign; /* a float64 subnormal is far below the smallest narrow one */
    int e = exponent - 1023 + bias;
    uint64_t significand = fraction | UINT64_C(1) << 52;
    int shift = 52 - fraction_bits + (e > 0 ? 0 : 1 - e);
    if (shift > 63)
        return sign;
    uint64_t kept = significand >> shift, rest = significand & ((UINT64_C(1) << shift) - 1),
             half = UINT64_C(1) << (shift - 1);
    if (rest > half || (rest == half && (kept & 1)))
        kept++;
    /* A carry out of the fraction raises the exponent by itself, because the two fields are neighbours. */
    uint64_t result = e > 0 ? ((uint64_t)(e - 1) << fraction_bits) + kept : kept;
    uint64_t infinity = (uint64_t)max_exponent << fraction_bits;
    return (uint16_t)(sign | (result > infinity ? infinity : result));
}

uint16_t mldfi_f64_to_f16(double value) {
    return narrow(value, 10, 15);
}

uint16_t mldfi_f64_to_bf16(double value) {
    return narrow(value, 7, 127);
}
