/* Resizing an image whose components lie in planes: each is resampled on its own grid, and colours are made once, of the result.
 *
 * The definition, the same on every machine: luma as resize.h's bilinear of 8 bits, chroma with weights that are the product of luma's and the
 * component's upsampling (struct axis in resample.h), so that no image of full size is made in between. Down: (sum + 64) >> 7; across: (sum + 2^14) >> 15,
 * in 2^-6; then JFIF's colours with libjpeg's constants in 2^-16, and one rounding to bytes, held to 0..255. Samples of chroma that lie beside
 * the window but have a part in its pixels are read. Then `finish`. */
#ifndef MLDF_KERNEL_RESIZE_PLANES_H
#define MLDF_KERNEL_RESIZE_PLANES_H

#include "kernel/resample.h"
#include "kernel/resize.h"

struct plane_view {
    const uint8_t *data;
    size_t stride;
    uint32_t x, y; /* of data[0] in the component */
};
struct planes {
    struct plane_view part[3]; /* Y, Cb, Cr: at least the samples that the window needs */
    uint32_t x, y;             /* the window's place in the image, in pixels of luma */
    uint32_t width, height;    /* of the window */
    enum axis_spread across, down;
    uint32_t chroma_width, chroma_height; /* samples of the whole component */
};

/* spec: of the window, bilinear. channels: 3, or 4 with an alpha of 255. dst: as for mldfi_resize. */
mldf_status mldfi_resize_planes(const struct kernels *k, const struct planes *in, uint32_t channels,
                                const struct resize_spec *spec, const struct finish *finish, struct resize_work *work,
                                void *dst, mldf_error *err);

#endif
