/* Two arrays of one type mixed into each other. */
#ifndef MLDF_KERNEL_MIX_H
#define MLDF_KERNEL_MIX_H

#include <stdbool.h>
#include <stddef.h>

#include "mldf/schema.h"

/* U8, U16, F16, BF16, F32, F64. */
bool mldfi_mixable(mldf_dtype dtype);
/* a = a * of_a + b * (1 - of_a), b = b * of_b + a * (1 - of_b), both from what they were; in f32 (F64: in f64): two products and a sum, each
 * rounded; integers to the nearest even. */
void mldfi_mix(mldf_dtype dtype, void *a, void *b, size_t count, double of_a, double of_b);

#endif
