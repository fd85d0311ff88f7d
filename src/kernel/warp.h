/* Pictures seen through an affine map: each output pixel looks up where it comes from. */
#ifndef MLDF_KERNEL_WARP_H
#define MLDF_KERNEL_WARP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Elements of any size for nearest; U8, U16, F32 for bilinear. */
struct warp_side {
    void *data;
    size_t width, height;
    size_t step, plane; /* elements from a pixel to the next, and from a channel to the next */
};

/* The output pixel whose centre is (x + 0.5, y + 0.5) shows the input at
 *     u = matrix[0] (x + 0.5) + matrix[1] (y + 0.5) + matrix[2]
 *     v = matrix[3] (x + 0.5) + matrix[4] (y + 0.5) + matrix[5]
 * in the same coordinates: nearest is the pixel (floor u, floor v). Outside there is `fill` (an element for each channel).
 * element: 1, 2, 4 or 8 bytes. */
void mldfi_warp_nearest(const struct warp_side *in, const double matrix[6], size_t channels, size_t element,
                        const void *fill, const struct warp_side *out);
/* Between the four nearest centres in f32, pixels outside being `fill`; integers are rounded to the nearest even.
 * element: 1 (u8), 2 (u16), 4 (f32). */
void mldfi_warp_bilinear(const struct warp_side *in, const double matrix[6], size_t channels, size_t element,
                         const float *fill, const struct warp_side *out);

#endif
