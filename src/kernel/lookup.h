/* 8-bit pixels through a table of 256 values for each channel: any chain of point-wise steps, exactly, in one pass. */
#ifndef MLDF_KERNEL_LOOKUP_H
#define MLDF_KERNEL_LOOKUP_H

#include "kernel/raster.h"
#include <stdbool.h>

/* table: [channels][256] elements of `size` (1, 2, 4, 8) bytes; dst: dense, planar or interleaved. */
void mldfi_lookup(const struct raster *in, bool mirror_x, bool mirror_y, const void *table, size_t size, bool planar,
                  void *dst);

#endif
