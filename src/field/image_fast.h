/* Mode 7, the fast JPEG store, as an image: image_fast.c. */
#ifndef MLDF_FIELD_IMAGE_FAST_H
#define MLDF_FIELD_IMAGE_FAST_H

#include "codec/image.h"

/* The payload's own fixed part, compared with what the image's record says. */
mldf_status mldfi_fast_image_info(const uint8_t *data, size_t bytes, mldf_image_info *info, mldf_error *err);
/* A job that was planned, as libjpeg-turbo would do it; job->view: rows of view_stride bytes in decoder->view, 64 bytes behind the last. */
mldf_status mldfi_fast_image_decode(struct image_job *job, mldf_error *err);
/* Frees each piece of the decoder's memory for fast JPEGs that has more than `keep` bytes; its tables, the same for all images, stay. */
void mldfi_fast_image_trim(mldf_image_decoder *decoder, size_t keep);

#endif
