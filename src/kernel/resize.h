/* Resampling of a window of an image, with everything that follows in the same pass: a part of the result, mirroring, and `finish`.
 *
 * The definition, the same on every machine (tests/python states it in NumPy):
 *
 * - bilinear, 8 bits: vertical first, in integers. An axis of `size` pixels gets from `box` (in eighths) to n pixels; in units of
 *   1/(16 n) of a pixel the centre of output i is 2 * box_from * n + (2 i + 1) * box_size, that of input p is 8 n (2 p + 1), and
 *   wide = max(16 n, 2 box_size), or 16 n without antialias. Tap p weighs max(0, wide - |difference of the centres|), for p inside the
 *   image. Weights become 2^-14 by rounding their running sums: R(c) = floor(c * (16384 / sum) + 0.5), weight k = R(c after k) -
 *   R(c before k); so they are never negative and sum to 16384. Down: (sum + 64) >> 7 into int16; across: (sum + 2^20) >> 21.
 * - nearest: the pixel at floor(centre).
 * - the other filters, and bilinear of 16 bits: across, then down, both rounded to the image's own depth, weights in 2^-22
 *   (resample_table.c), as mldf_image_resize does it. Across first, as Pillow before 13.
 * - bicubic has a = -1/2, as Pillow, with and without antialias; taps outside the image do not count.
 * - area: the share of each pixel that is covered, enlarging too, as OpenCV's INTER_AREA; without antialias bilinear.
 *
 * Then `finish`, on the rounded pixels. */
#ifndef MLDF_KERNEL_RESIZE_H
#define MLDF_KERNEL_RESIZE_H

#include "kernel/finish.h"
#include "mldf/image.h"

enum resize_filter {
    RESIZE_BOX = MLDF_IMAGE_BOX,
    RESIZE_BILINEAR = MLDF_IMAGE_BILINEAR,
    RESIZE_BICUBIC = MLDF_IMAGE_BICUBIC,
    RESIZE_LANCZOS = MLDF_IMAGE_LANCZOS,
    RESIZE_AREA = MLDF_IMAGE_AREA,
    RESIZE_NEAREST
};

struct resize_spec {
    uint32_t box_x, box_y, box_width, box_height; /* in eighths of a pixel of the image; taps stay inside the image */
    uint32_t width, height;                       /* what the box becomes */
    uint32_t x, y, out_width, out_height;         /* the part of that which is made */
    bool mirror_x, mirror_y;                      /* of that part */
    enum resize_filter filter;
    bool antialias; /* true: the filter is stretched when shrinking; false: plain interpolation at any scale */
};
enum { RESIZE_MAX_SIDE = 1 << 24 }; /* pixels, of images and results */

/* The whole image to width x height: the usual beginning of a spec. */
static inline struct resize_spec mldfi_resize_whole(const struct raster *in, uint32_t width, uint32_t height,
                                                    enum resize_filter filter) {
    struct resize_spec spec = {0, 0,     in->width * 8, in->height * 8, width, height, 0,
                               0, width, height,        false,          false, filter, true};
    return spec;
}

/* One worker's: weights of the last geometries and row buffers. It grows and is never allocated per sample. */
struct resize_work;
mldf_status mldfi_resize_work_new(struct resize_work **out, mldf_error *err);
void mldfi_resize_work_free(struct resize_work *work);

/* dst: as for mldfi_finish, out_width x out_height pixels. MLDF_E_ARGUMENT for a spec that makes no sense, MLDF_E_LIMIT, MLDF_E_MEMORY. */
mldf_status mldfi_resize(const struct kernels *k, const struct raster *in, const struct resize_spec *spec,
                         const struct finish *finish, struct resize_work *work, void *dst, mldf_error *err);
/* The same of interleaved floats, with the weights of resample_table.c divided by their sum, down and then across, in doubles, rounded once. NaN spreads
 * to what has a part of it. Not nearest. spec: of a whole image, mirrored or not. */
mldf_status mldfi_resize_floats(const float *in, uint32_t width, uint32_t height, uint32_t channels,
                                const struct resize_spec *spec, struct resize_work *work, float *out, mldf_error *err);

#endif
