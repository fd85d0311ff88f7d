/* Stored audio as float. One definition for every machine: integers are converted with one rounding (only 32 bits need it), the
 * division by a power of two is exact. Loops are plain, for the compiler to vectorise. */
#ifndef MLDF_KERNEL_PCM_H
#define MLDF_KERNEL_PCM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mldf/audio.h"

/* Bytes of one number, or 0 when the pair has no meaning. */
unsigned mldfi_pcm_bytes(unsigned codec, unsigned bits);
/* count numbers from src, which has no alignment. The pair must have a meaning. */
void mldfi_pcm_to_f32(unsigned codec, unsigned bits, const void *src, size_t count, float *dst);
/* count numbers of `bytes` (2, 3, 4 or 8) each from the other byte order. dst may be src. */
void mldfi_pcm_swap(unsigned bytes, const void *src, size_t count, void *dst);

#endif
