/* Mode 7, the fast JPEG store, as an image: image_fast.c. */
#ifndef MLDF_FIELD_IMAGE_FAST_H
#define MLDF_FIELD_IMAGE_FAST_H

#include "codec/image.h"

/* The payload's own fixed part, compared with what the image's record says. */
mldf_status mldfi_fast_image_info(const uint8_t *data, size_t bytes, mldf_image_info *info, mldf_error *err);
/* A job that was planned, as libjpeg-turbo would do it; job->view: rows of view_stride bytes in decoder->view, 64 bytes behind the last. */
mldf_status mldfi_fast_image_decode(struct image_job *job, mldf_error *err);
/* The components of a job's region instead, from a payload of mode 7 or a JPEG file: *out points into the decoder's memory. MLDF_END: the image is not
 * YCbCr of a sampling that is known, or its quantisers pass 8 bits. image_planes.c. */
struct planes;
mldf_status mldfi_fast_image_planes(struct image_job *job, struct planes *out, mldf_error *err);
mldf_status mldfi_jpeg_image_planes(struct image_job *job, struct planes *out, mldf_error *err);
/* Of raw planes, mode 6, whose size was checked. */
void mldfi_yuv_image_planes(const struct image_job *job, const uint8_t *data, struct planes *out);
/* Frees each piece of the decoder's memory for fast JPEGs that has more than `keep` bytes; its tables, the same for all images, stay. */
void mldfi_fast_image_trim(mldf_image_decoder *decoder, size_t keep);

#endif
