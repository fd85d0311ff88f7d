/* float16 and bfloat16 from float64, rounded to nearest, ties to even, in one step; and back, exactly. */
#ifndef MLDF_TOOL_HALF_H
#define MLDF_TOOL_HALF_H

#include <stdint.h>

uint16_t mldfi_f64_to_f16(double value);
uint16_t mldfi_f64_to_bf16(double value);
double mldfi_f16_to_f64(uint16_t bits);
double mldfi_bf16_to_f64(uint16_t bits);

#endif
