/* Raw YUV 4:2:0 images: full-range BT.601 as in JFIF, three planes. */
#ifndef MLDF_KERNEL_YUV_H
#define MLDF_KERNEL_YUV_H

#include "mldf/image.h"

/* Bytes of an image: Y of width x height, then Cb and Cr of half the sides, rounded up. Sides are at most 2^20. */
static inline uint64_t mldfi_yuv420_bytes(uint32_t width, uint32_t height) {
    return (uint64_t)width * height + 2 * (((uint64_t)width + 1) / 2) * (((uint64_t)height + 1) / 2);
}
/* RGB of the pixels [x, x + pixels) of row y; each chroma sample stands for its four pixels. */
void mldfi_yuv420_row(const uint8_t *planes, uint32_t width, uint32_t height, uint32_t y, uint32_t x, uint32_t pixels,
                      uint8_t *rgb);

#endif
