/* Images seen through a map of the plane: each output pixel looks up where it comes from. The loops are in struct kernels. */
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

/* The output pixel whose centre is (x + 0.5, y + 0.5) = (X, Y) shows the input at
 *     u = (m[0] X + m[1] Y + m[2]) / w
 *     v = (m[3] X + m[4] Y + m[5]) / w        w = m[6] X + m[7] Y + m[8]
 * in the same coordinates, which lies outside where w <= 0. w is 1 unless `perspective`. */
struct warp_map {
    double m[9];
    bool perspective;
};

/* in and out do not overlap.
 * kernels.warp_nearest:  the pixel (floor u, floor v); outside there is `fill` (an element for each channel). element: 1, 2, 4 or 8 bytes.
 * kernels.warp_bilinear: between the four nearest centres in f32, pixels outside being `fill` (a float for each channel); integers are
 *                        rounded to the nearest even. element: 1 (u8), 2 (u16), 4 (f32). */
struct warp {
    const struct warp_side *in, *out;
    const struct warp_map *map;
    size_t channels, element;
    const void *fill;
};

#endif
