/* Videos as the pipeline sees them, whatever they are stored as: so many frames of one size, each shown from a tick on, and pixels of any of them. A
 * field type with frames fills a struct frame_source and names it in its edge (struct edge, `video`); `clip`, the image operations, the times in a batch
 * and reading single frames then work for it. video_frames_source.c (frames stored one by one) is the plain example.
 *
 * The life of a sample (src/pipeline/source_video.c):
 *   extent   from the record: size, number of frames; from the payload's first bytes, if it asks for them: the table of times
 *   draws    `clip` chooses numbers of frames from these alone
 *   ranges   which bytes that will need, for prefetching
 *   decode   those frames, in ascending order, each once; what each becomes is the caller's to do */
#ifndef MLDF_FIELD_VIDEO_SOURCE_H
#define MLDF_FIELD_VIDEO_SOURCE_H

#include "field/audio_packets.h"
#include "field/frame_times.h"
#include "field/media.h"
#include "kernel/raster.h"

struct kernels;

struct video_info {
    uint32_t width, height, channels, bits; /* as decoded: upright; bits of a channel, 8 or 16 */
    struct frame_times times;               /* count is the number of frames; pts may point into the head */
    bool reducible;                         /* decode can give the frames at 1/2, 1/4 or 1/8 of their size */
};

/* Which colours a video has that does not say it: of decode_video, in its order. */
enum frame_matrix { FRAME_BT601, FRAME_BY_LINES, FRAME_BT709 };
enum { FRAME_HD_LINES = 720 }; /* FRAME_BY_LINES: BT.709 from here on */

/* What is wanted of every frame: a window of it, at a scale, as pixels. */
struct frame_wish {
    uint32_t x, y, width, height; /* at the scale; inside the frame */
    unsigned scale;               /* 1, and where info.reducible 2, 4, 8 */
    int channels, bits;
    uint64_t max_bytes;            /* of one frame, decoded; 0: the codecs' own limit */
    const struct kernels *kernels; /* NULL: the best there are */
    int matrix;                    /* enum frame_matrix */
};

/* Frame numbers[k]: exactly the window. Valid until it returns. */
typedef mldf_status (*frame_taker)(void *user, size_t k, const struct raster *pixels, mldf_error *err);

struct frame_source {
    /* What the value is: it has its record, and its bytes are those of the payload (data may be NULL). head: the payload's first head_bytes, or all of
     * them; NULL at the first call. MLDF_END: *wanted first bytes are needed; called again with them, at most twice. times: out->times must be
     * complete; otherwise its pts may be left NULL even where frames have times of their own. */
    mldf_status (*extent)(const void *state, const mldf_value *value, const void *head, uint64_t head_bytes, bool times,
                          struct video_info *out, uint64_t *wanted, mldf_error *err);
    /* About which bytes of the payload these frames are in, one interval; 0 bytes: nothing is known. May be NULL. */
    void (*guess)(const void *state, const mldf_value *value, const struct video_info *info, uint64_t first,
                  uint64_t last, uint64_t *offset, uint64_t *bytes);
    /* Gives the frames to `take`, k from 0 to count - 1. numbers: ascending, each once, below info->times.count. in: the payload's bytes. kit: the
     * thread's. */
    mldf_status (*decode)(struct media_kit *kit, const void *state, const mldf_value *value,
                          const struct video_info *info, const struct audio_bytes *in, const uint64_t *numbers,
                          size_t count, const struct frame_wish *wish, frame_taker take, void *user, mldf_error *err);
    /* Name and version of the decoder, where another version's frames may differ. NULL, or returns NULL: nothing of the kind. */
    const char *(*decoder)(void);
};

extern const struct frame_source mldfi_video_frames_source; /* video_frames_source.c */

#endif
