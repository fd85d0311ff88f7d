/* See video_media.h. */
#include "field/video_media.h"

#include <stdlib.h>

#include "util/buffer.h"

static mldf_status open_worker(void **worker, mldf_error *err) {
    *worker = mldfi_alloc_zero(1, sizeof(struct video_worker), err);
    return *worker ? MLDF_OK : MLDF_E_MEMORY;
}

static void close_worker(void *worker) {
    struct video_worker *w = worker;
    for (int i = 0; i < VIDEO_DECODERS; i++) {
        if (w->decoders[i].decoder)
            w->module->close(w->decoders[i].decoder);
        mldf_buffer_free(&w->decoders[i].extra);
    }
    mldf_buffer_free(&w->pixels);
    mldf_buffer_free(&w->frames);
    mldf_buffer_free(&w->packets);
    mldf_buffer_free(&w->rows);
    free(w);
}

static void trim_worker(void *worker) {
    struct video_worker *w = worker;
    mldfi_buffer_trim(&w->pixels, MEDIA_KEEP_BYTES);
    mldfi_buffer_trim(&w->frames, MEDIA_KEEP_BYTES);
    mldfi_buffer_trim(&w->packets, MEDIA_KEEP_BYTES);
    mldfi_buffer_trim(&w->rows, MEDIA_KEEP_BYTES);
}

const struct media mldfi_media_video = {.open = open_worker, .close = close_worker, .trim = trim_worker};
