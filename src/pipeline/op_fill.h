/* The parameters `fill` and `mask_fill` of operations that show what was not in the image (rotations, borders) or paint over it (erasing): their
 * numbers become pixels of the image's type. */
#ifndef MLDF_PIPELINE_OP_FILL_H
#define MLDF_PIPELINE_OP_FILL_H

#include "pipeline/op.h"

enum { FILL_CHANNELS = 4 };

/* The parameters `fill` and, for operations that move masks, `mask_fill`. */
#define OP_FILL_PARAM(HELP) \
    { "fill", PARAM_FLOATS, "0", -1e9, 1e9, NULL, 1, FILL_CHANNELS, HELP }
#define OP_MASK_FILL_PARAM \
    { "mask_fill", PARAM_FLOAT, "0", -1e9, 1e9, NULL, 0, 0, "the same for masks: their class of what was not there" }

/* The numbers of a parameter of kind FLOATS, one for each channel; checked against the type of the image op->in. Anything that is not
 * an image gets zeros. */
mldf_status mldfi_fill_take(const struct op *op, uint32_t param, double fill[FILL_CHANNELS], mldf_error *err);
/* That, for a mask the number of mask_fill, for optical flow 0. */
mldf_status mldfi_fill_take_moved(const struct op *op, uint32_t param, uint32_t mask_param, double fill[FILL_CHANNELS],
                                  mldf_error *err);

/* One pixel, or for planar images one element of each channel, as bytes. */
struct fill_pixel {
    uint64_t aligned[FILL_CHANNELS];
    size_t element; /* bytes */
};
struct fill_pixel mldfi_fill_pixel(mldf_dtype dtype, const double fill[FILL_CHANNELS]);

/* `count` times the `size` bytes of value. flat: they are all the same byte, which is asked for once. */
bool mldfi_fill_is_flat(const uint8_t *value, size_t size);
void mldfi_fill_run(uint8_t *to, const uint8_t *value, size_t size, bool flat, size_t count);

/* Paints a rectangle that lies inside the image. The image has at most four channels. */
void mldfi_fill_paint(const struct tensor *image, const struct fill_pixel *pixel, uint64_t x, uint64_t y,
                      uint64_t width, uint64_t height);

#endif
