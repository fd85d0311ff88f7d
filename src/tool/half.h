/* float16 and bfloat16 from float64, rounded to nearest, ties to even, in one step. kernel/cast.h has the way back. */
#ifndef MLDF_TOOL_HALF_H
#define MLDF_TOOL_HALF_H

#include <stdint.h>

uint16_t mldfi_f64_to_f16(double value);
uint16_t mldfi_f64_to_bf16(double value);

#endif
