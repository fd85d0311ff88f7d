/* Antialiased resizing of interleaved pixels: tables of integer weights, one pass along rows, one along columns. */
#ifndef MLDF_KERNEL_RESAMPLE_H
#define MLDF_KERNEL_RESAMPLE_H

#include "mldf/image.h"

/* Weights of the source pixels of each target pixel, as fixed-point integers that sum to 1 within rounding. */
struct resample_table {
    uint32_t count;   /* target pixels */
    uint32_t taps;    /* most weights of one */
    uint32_t *first;  /* [count] source pixel of the first weight */
    uint32_t *used;   /* [count] weights in use */
    int32_t *weights; /* [count * taps], in 2^-MLDFI_RESAMPLE_BITS */
};
enum { MLDFI_RESAMPLE_BITS = 22 }; /* 8-bit pixels, 22 bits, sign and head room for overshoot: 32 */

/* Bytes of memory that a table needs; 0 when it would be absurdly large. */
size_t mldfi_resample_table_bytes(uint32_t source, uint32_t target, mldf_image_filter filter);
/* Makes a table in that memory (aligned to 8). `scratch` holds `taps` doubles behind the weights. */
void mldfi_resample_table(struct resample_table *table, void *memory, uint32_t source, uint32_t target,
                          mldf_image_filter filter);

#endif
