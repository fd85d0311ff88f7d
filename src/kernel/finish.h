/* The last pass over pixels: table, affine map, type and layout, straight into the batch. */
#ifndef MLDF_KERNEL_FINISH_H
#define MLDF_KERNEL_FINISH_H

#include "kernel/kernels.h"
#include "kernel/raster.h"

struct finish {
    const uint8_t (*table)[256]; /* NULL, or one table of 256 for each channel, applied first; 8-bit images only */
    bool affine;                 /* y = (float)v * scale[c] + shift[c]: two roundings, never fused; float types only */
    float scale[4], shift[4];
    mldf_dtype
        dtype;   /* U8 of 8-bit images, U16 of 16-bit ones; F32, F16, BF16 (to nearest even from the f32) of both */
    bool planar; /* CHW instead of HWC */
};

/* dst: dense, width * height * channels elements, aligned as its type wants. Nothing can fail: the pipeline's compiler has checked
 * the types. */
void mldfi_finish(const struct kernels *k, const struct raster *in, bool mirror_x, bool mirror_y,
                  const struct finish *finish, void *dst);

/* The parts of it, for those who have rows. mldfi_finish_pick: the kernels to use, which are the portable ones where a number of the
 * map is not finite. mldfi_finish_begin fills `row` for images of `plane` pixels. mldfi_finish_row does a run of pixels; `at`: which
 * pixel of the output is its first. */
const struct kernels *mldfi_finish_pick(const struct kernels *k, const struct finish *finish);
void mldfi_finish_begin(struct finish_row *row, const struct finish *finish, uint32_t channels, uint32_t bits,
                        bool mirror, size_t plane);
void mldfi_finish_row(const struct kernels *k, const struct finish_row *row, const uint8_t (*table)[256],
                      const uint8_t *in, size_t pixels, void *dst, size_t at);

#endif
