/* Pixels in memory, rows apart by a stride: what the kernels read. */
#ifndef MLDF_KERNEL_RASTER_H
#define MLDF_KERNEL_RASTER_H

#include <stddef.h>
#include <stdint.h>

/* Interleaved channels. Nothing behind the last pixel of the last row is ever read. 16-bit values are of this machine and may stand
 * at odd addresses. */
struct raster {
    uint8_t *data;
    uint32_t width, height;
    uint32_t channels; /* 1 to 4 */
    uint32_t bits;     /* of a channel: 8, 16 */
    size_t stride;     /* bytes between rows */
};

#endif
