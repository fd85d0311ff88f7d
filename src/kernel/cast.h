/* Arrays from one element type to another, and from interleaved to planar.
 *
 * The values of a conversion:
 *   integer → integer   modulo 2^bits, as C and NumPy have it
 *   float → integer     to the nearest, ties to even; held at the type's ends; NaN is 0
 *   → bool              0 stays 0, all else (NaN too) is 1
 *   → float             to the nearest, ties to even; f16 and bf16 of the f32
 * A complex number becomes only another complex type. */
#ifndef MLDF_KERNEL_CAST_H
#define MLDF_KERNEL_CAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mldf/schema.h"

float mldfi_f16_to_f32(uint16_t value);
float mldfi_bf16_to_f32(uint16_t value);

bool mldfi_convertible(mldf_dtype from, mldf_dtype to);
/* mldfi_convertible(from, to). in and out are aligned as their types want, and the same only when the types are. */
void mldfi_convert_elements(mldf_dtype from, const void *in, mldf_dtype to, void *out, size_t count);

/* One element of any type that is not complex, as a double (rounded when a 64-bit integer is large). */
double mldfi_element_f64(mldf_dtype dtype, const void *data, size_t index);

/* pixels x channels elements ↔ channels x pixels elements. element: 1, 2, 4, 8 or 16 bytes. */
void mldfi_to_planar(const void *in, size_t pixels, size_t channels, size_t element, void *out);
void mldfi_to_interleaved(const void *in, size_t pixels, size_t channels, size_t element, void *out);

/* y = (float)v * scale + shift in two roundings; the channels take turns (period), or `count` values of one channel with period 1.
 * from: any real type. */
void mldfi_affine(mldf_dtype from, const void *in, const float *scale, const float *shift, size_t period, float *out,
                  size_t count);

#endif
