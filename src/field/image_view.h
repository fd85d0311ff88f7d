/* Decoded pixels for the pipeline, without a copy where none is needed. image_value.c. */
#ifndef MLDF_FIELD_IMAGE_VIEW_H
#define MLDF_FIELD_IMAGE_VIEW_H

#include "kernel/raster.h"
#include "mldf/image.h"

/* mldf_image_value_decode without copies: `out` points into the value's own bytes (raw pixels that need no conversion) or into the
 * decoder's memory, and is valid until the next use of either. It is for reading only. For 16 bits it may stand at an odd address. */
mldf_status mldfi_image_value_view(mldf_image_decoder *decoder, const mldf_value *value,
                                   const mldf_image_options *options, struct raster *out, mldf_error *err);

/* The components of the region instead of its pixels: Y, Cb, Cr as stored, at the options' scale, in the value's bytes or the decoder's memory. MLDF_END: the
 * image has none: it is not YCbCr of 4:4:4, 4:2:2 or 4:2:0, or is turned. */
struct planes;
mldf_status mldfi_image_value_planes(mldf_image_decoder *decoder, const mldf_value *value,
                                     const mldf_image_options *options, struct planes *out, mldf_error *err);

struct kernels;
/* Loops of this instruction set from now on; every one gives the same pixels. */
void mldfi_image_decoder_use(mldf_image_decoder *decoder, const struct kernels *kernels);

#endif
