/* Images as media: what a thread keeps to decode and encode them. */
#include <stdlib.h>
#include <string.h>

#include "codec/fast_jpeg.h"
#include "field/image_type.h"
#include "util/buffer.h"
#include "util/error.h"

_Static_assert(MEDIA_MAX_BYTES == MLDF_IMAGE_MAX_BYTES, "the limit of all media is that of images");

static mldf_status open_worker(void **worker, mldf_error *err) {
    *worker = mldfi_alloc_zero(1, sizeof(struct image_worker), err);
    return *worker ? MLDF_OK : MLDF_E_MEMORY;
}

static void close_worker(void *worker) {
    mldfi_image_worker_end(worker);
    free(worker);
}

static void trim_worker(void *worker) {
    struct image_worker *w = worker;
    mldfi_image_decoder_trim(&w->decoder, MEDIA_KEEP_BYTES);
    mldfi_buffer_trim(&w->pixels, MEDIA_KEEP_BYTES);
    mldfi_buffer_trim(&w->resized, MEDIA_KEEP_BYTES);
    mldfi_buffer_trim(&w->work, MEDIA_KEEP_BYTES);
    mldfi_buffer_trim(&w->icc, MEDIA_KEEP_BYTES);
}

void mldfi_image_worker_end(struct image_worker *w) {
    mldfi_image_decoder_end(&w->decoder);
    mldfi_jpeg_encoder_free(w->jpeg);
    mldf_buffer_free(&w->pixels);
    mldf_buffer_free(&w->resized);
    mldf_buffer_free(&w->work);
    mldf_buffer_free(&w->icc);
}

/* A fast JPEG becomes the JPEG again, by which every rule of the record is checked, and both must give the same pixels: members that the file's bytes do
 * not depend on are wrong otherwise. */
static mldf_status check_fast(struct image_worker *w, const mldf_value *value, mldf_error *err) {
    mldf_buffer jpeg = MLDF_BUFFER_INIT, pixels = MLDF_BUFFER_INIT;
    mldf_image_shape shape;
    size_t bytes = 0;
    mldf_status status = mldfi_fast_restore(value->data, (size_t)value->bytes, MLDF_IMAGE_MAX_BYTES, &jpeg, err);
    if (status == MLDF_OK)
        status = mldf_image_value_shape(value, NULL, &shape, err);
    if (status == MLDF_OK) {
        bytes = (size_t)shape.bytes;
        status = mldfi_buffer_resize(&pixels, 2 * bytes, err);
    }
    if (status == MLDF_OK)
        status = mldf_image_value_decode(&w->decoder, value, NULL, pixels.data, bytes, err);
    if (status == MLDF_OK)
        status = mldf_image_decode(&w->decoder, jpeg.data, jpeg.size, NULL, pixels.data + bytes, bytes, err);
    if (status == MLDF_OK && memcmp(pixels.data, pixels.data + bytes, bytes) != 0)
        status = mldfi_fail(err, MLDF_E_CORRUPT, "fast JPEG: its pixels are not those of the JPEG that it gives");
    mldf_buffer_free(&jpeg);
    mldf_buffer_free(&pixels);
    return status;
}

static mldf_status check(void *worker, const uint8_t *record, const void *payload, uint64_t payload_bytes,
                         mldf_error *err) {
    struct image_worker *w = worker;
    mldf_image_info info;
    mldfi_image_record_info(record, &info);
    mldf_value value = {.kind = MLDF_KIND_BYTES,
                        .data = payload,
                        .bytes = payload_bytes,
                        .record = record,
                        .record_bytes = IMAGE_RECORD};
    bool fast = info.mode == MLDF_IMAGE_MODE_FAST_JPEG;
    if (!fast && (info.mode < MLDF_IMAGE_MODE_JPEG || info.mode > MLDF_IMAGE_MODE_TIFF))
        return MLDF_OK;
    mldf_status status =
        fast ? check_fast(w, &value, err) : mldfi_image_check(&w->decoder, payload, (size_t)payload_bytes, err);
    if (status < 0 && err)
        err->offset = MLDF_NONE; /* of the image; the message has it */
    return status;
}

const struct media mldfi_media_image = {
    .open = open_worker,
    .close = close_worker,
    .trim = trim_worker,
    .encode = mldfi_image_encode_with,
    .check = check,
};
