/* Videos as media: any frames of a stored video, decoded, and when each is shown. How a field type keeps its frames is its video_store: frames of
 * their own (VIDEO_FRAMES), packets (VIDEO_COMPRESSED). Which frames are wanted is decided by those who ask, in src/pipeline.
 *
 *     record ──info──► how many frames, how large        no payload
 *     bytes  ──times─► when each frame is shown          the frame table alone
 *     bytes  ──decode► the frames, one after the other   the packets that they need */
#ifndef MLDF_FIELD_VIDEO_MEDIA_H
#define MLDF_FIELD_VIDEO_MEDIA_H

#include "field/audio_packets.h" /* struct audio_bytes: some of a payload's bytes */
#include "field/edge.h"
#include "field/media.h"
#include "kernel/raster.h"

struct schema_field;
struct kernels;

/* What a record says. */
struct video_info {
    uint64_t frames;           /* that are shown */
    uint32_t width, height;    /* upright */
    uint32_t channels;         /* 1 or 3 */
    uint32_t bits;             /* 8; 16 where frames have more than 8 */
    uint32_t fps_num, fps_den; /* frames a second, on average; den 0: not known */
    const uint8_t *record;     /* all of it */
    const struct schema_field *field;
};

/* Frame i is shown from ticks[i] to ticks[i + 1], in units of num / den seconds; frame 0 of the whole video begins at 0. They ascend. */
struct video_times {
    uint64_t num, den;
    uint64_t count;       /* frames */
    const int64_t *ticks; /* count + 1; until the worker's next value */
};

/* What is wanted of frames. */
struct video_want {
    const uint64_t *frames; /* numbers below info.frames, in any order; a number may come again */
    size_t count;
    const struct kernels *kernels; /* loops of this instruction set; every one gives the same pixels */
    bool matrix_auto;              /* frames that do not say their matrix: 709 from 720 lines on; otherwise 601 */
};

/* Gets frame number want->frames[index], upright, RGB or grey, as pixels that are there until it returns; frames come in the order in which
 * they are decoded, each index once. */
typedef mldf_status (*video_sink)(void *user, size_t index, const struct raster *pixels, mldf_error *err);

struct video_store {
    /* Errors: the record contradicts itself or the number of bytes. */
    mldf_status (*info)(const struct schema_field *field, const mldf_value *value, struct video_info *out,
                        mldf_error *err);
    /* worker: the kit's of FAMILY_VIDEO. */
    mldf_status (*times)(void *worker, const struct video_info *info, const struct audio_bytes *in,
                         struct video_times *out, mldf_error *err);
    mldf_status (*decode)(void *worker, const struct video_info *info, const struct audio_bytes *in,
                          const struct video_want *want, video_sink sink, void *user, mldf_error *err);
    /* About which bytes frames [from, from + count) need, for hints to the system. NULL: all. */
    void (*guess)(const struct video_info *info, uint64_t total, uint64_t from, uint64_t count, uint64_t *offset,
                  uint64_t *bytes);
};

/* The frame that is shown at a tick: the last that begins at it or before; 0 before the first. */
uint64_t mldfi_video_frame_at(const struct video_times *times, int64_t tick);
/* Seconds as a tick: the nearest, because k / 30 in floating point lies below the exact time about every other time. */
int64_t mldfi_video_tick(const struct video_times *times, double seconds);

/* What a thread keeps for videos: the kit's worker of FAMILY_VIDEO. */
struct video_worker {
    mldf_buffer ticks;    /* of video_times */
    struct media_kit kit; /* of other families: frames that are images */
    void *av;             /* decoders of packets (video_decode.c); NULL: none yet */
    mldf_buffer work[4];
};

#endif
