/* Images as media: a thread's decoder. */
#include "field/media.h"
#include "mldf/image.h"

_Static_assert(MEDIA_MAX_BYTES == MLDF_IMAGE_MAX_BYTES, "the limit of all media is that of images");

static mldf_status open_worker(void **worker, mldf_error *err) {
    mldf_image_decoder *decoder = NULL;
    mldf_status status = mldf_image_decoder_new(&decoder, err);
    *worker = decoder;
    return status;
}

static void close_worker(void *worker) {
    mldf_image_decoder_free(worker);
}

const struct media mldfi_media_image = {open_worker, close_worker};
