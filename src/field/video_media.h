/* What a thread keeps for videos: the kit's worker of FAMILY_VIDEO. video_decode.c fills it. */
#ifndef MLDF_FIELD_VIDEO_MEDIA_H
#define MLDF_FIELD_VIDEO_MEDIA_H

#include "codec/av.h"
#include "field/media.h"
#include "util/watch.h"

/* A decoder that stays open for streams with the same setup. */
struct kept_video {
    void *decoder; /* NULL: none */
    uint32_t codec, tag, width, height, reorder;
    mldf_buffer extra;
    uint64_t bytes; /* about what it takes */
    uint64_t used;
    bool served; /* it has decoded something */
};
enum { VIDEO_DECODERS = 8 };
/* All of a thread's together. */
#define VIDEO_DECODER_BYTES (UINT64_C(256) << 20)

struct video_worker {
    const struct av_decode_module *module; /* NULL: not yet opened */
    struct kept_video decoders[VIDEO_DECODERS];
    uint64_t clock;
    mldf_buffer pixels, frames, packets, rows;
    bool feed_all;                  /* tests: packets that are not needed are decoded, too */
    const struct work_watch *watch; /* of those who pack; counts packets */
};

#endif
