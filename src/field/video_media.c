/* See video_media.h: a thread's worker for videos, and times. */
#include "field/video_media.h"

#include <math.h>
#include <stdlib.h>

#include "util/buffer.h"

static mldf_status open_worker(void **worker, mldf_error *err) {
    *worker = mldfi_alloc_zero(1, sizeof(struct video_worker), err);
    return *worker ? MLDF_OK : MLDF_E_MEMORY;
}

static void close_worker(void *worker) {
    struct video_worker *w = worker;
    mldf_buffer_free(&w->ticks);
    for (size_t i = 0; i < sizeof w->work / sizeof w->work[0]; i++)
        mldf_buffer_free(&w->work[i]);
    mldfi_kit_free(&w->kit);
    free(w);
}

static void trim_worker(void *worker) {
    struct video_worker *w = worker;
    mldfi_buffer_trim(&w->ticks, MEDIA_KEEP_BYTES);
    for (size_t i = 0; i < sizeof w->work / sizeof w->work[0]; i++)
        mldfi_buffer_trim(&w->work[i], MEDIA_KEEP_BYTES);
    mldfi_kit_trim(&w->kit);
}

const struct media mldfi_media_video = {.open = open_worker, .close = close_worker, .trim = trim_worker};

uint64_t mldfi_video_frame_at(const struct video_times *times, int64_t tick) {
    uint64_t low = 0, high = times->count; /* the answer is in [low, high) */
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (times->ticks[middle] <= tick)
            low = middle;
        else
            high = middle;
    }
    return low;
}

int64_t mldfi_video_tick(const struct video_times *times, double seconds) {
    double tick = floor(seconds * ((double)times->den / (double)times->num) + 0.5);
    return tick >= 0x1p62 ? INT64_MAX : tick <= -0x1p62 ? INT64_MIN : (int64_t)tick;
}
