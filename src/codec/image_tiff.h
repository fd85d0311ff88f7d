/* What image_tiff_probe.c tells image_tiff.c. */
#ifndef MLDF_CODEC_IMAGE_TIFF_H
#define MLDF_CODEC_IMAGE_TIFF_H

#include "codec/image.h"

/* Photometric interpretations. */
enum {
    TIFF_WHITE_IS_ZERO = 0,
    TIFF_BLACK_IS_ZERO = 1,
    TIFF_RGB = 2,
    TIFF_PALETTE = 3,
    TIFF_SEPARATED = 5,
    TIFF_YCBCR = 6
};

struct tiff_page {
    uint32_t bits, samples, sample_format, photometric, compression;
    uint32_t extra_count, extra; /* extra samples, and what the first is: 1 premultiplied alpha */
};
mldf_status mldfi_tiff_page(const uint8_t *data, size_t bytes, struct tiff_page *page, mldf_image_info *out,
                            mldf_error *err);
mldf_status mldfi_tiff_decode(struct image_job *job, mldf_error *err);

#endif
