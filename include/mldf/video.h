/* mldf/video.h: videos: what a value of a video field is, any frames of it as pixels, and frames to be stored.
 *
 *     mldf_video_info info = MLDF_VIDEO_INFO_INIT;
 *     uint64_t numbers[3] = {0, 5, 90};
 *     mldf_video_info_of(schema, field, &value, &info, &err);
 *     uint8_t *pixels = malloc(3 * info.frame_bytes);                  // 3 x height x width x channels
 *     mldf_video_decode(schema, field, &value, numbers, 3, pixels, 3 * info.frame_bytes, &err);
 *
 * A loader takes clips out of videos without reading the rest: the step `clip` of a pipeline (docs/guides/video.md).
 *
 * Caveats
 *   - Bytes are never trusted: tables that contradict each other or the payload's size are MLDF_E_CORRUPT, and name the frame.
 *   - Times are exact: a tick lasts tick_num / tick_den seconds, and a frame's pts is a whole number of ticks.
 *
 * Stability: experimental. */
#ifndef MLDF_VIDEO_H
#define MLDF_VIDEO_H

#include "schema.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mldf_video_info {
    size_t struct_bytes;
    uint64_t frames;
    uint32_t width, height;
    uint32_t channels, bits;     /* as decoded: bits of a channel, 8 or 16 */
    uint32_t tick_num, tick_den; /* a tick lasts tick_num / tick_den seconds */
    bool pts;                    /* frames have times of their own; otherwise frame i is at tick i */
    uint64_t frame_bytes;        /* of one decoded frame */
} mldf_video_info;
#define MLDF_VIDEO_INFO_INIT \
    { sizeof(mldf_video_info), 0, 0, 0, 0, 0, 0, 0, false, 0 }

/* What a value read from a video field is, from its record. MLDF_E_TYPE: it is not a video. */
MLDF_API MLDF_NODISCARD mldf_status mldf_video_info_of(const mldf_schema *schema, size_t field, const mldf_value *value,
                                                       mldf_video_info *out, mldf_error *err);
/* The ticks of all frames into pts[frames]. */
MLDF_API MLDF_NODISCARD mldf_status mldf_video_times(const mldf_schema *schema, size_t field, const mldf_value *value,
                                                     int64_t *pts, size_t count, mldf_error *err);
/* The number of the frame that is shown at a time in seconds: the last one whose pts is not later, the time first rounded to the nearest tick.
 * Before the first frame: 0. */
MLDF_API MLDF_NODISCARD mldf_status mldf_video_find(const mldf_schema *schema, size_t field, const mldf_value *value,
                                                    double seconds, uint64_t *number, mldf_error *err);
/* Frames in any order, also several times, as pixels one after the other: pixels_bytes is count * frame_bytes. */
MLDF_API MLDF_NODISCARD mldf_status mldf_video_decode(const mldf_schema *schema, size_t field, const mldf_value *value,
                                                      const uint64_t *numbers, size_t count, void *pixels,
                                                      size_t pixels_bytes, mldf_error *err);
/* The stored bytes of frame `number` of a value of type video_frames: an image file, or pixels. They are those of the value, or in scratch. */
MLDF_API MLDF_NODISCARD mldf_status mldf_video_frame(const mldf_schema *schema, size_t field, const mldf_value *value,
                                                     uint64_t number, mldf_buffer *scratch, const void **data,
                                                     size_t *bytes, mldf_error *err);

/* One frame to be stored: the bytes of an image file. */
typedef struct mldf_frame {
    const void *data;
    size_t bytes;
} mldf_frame;
/* Frames as one value for a writer's field of type video_frames, appended to out: append it as bytes. A tick lasts fps_den / fps_num seconds; pts
 * NULL: frame i is at tick i. The field needs the argument "pts":true for times of its own. */
MLDF_API MLDF_NODISCARD mldf_status mldf_video_list(const mldf_frame *frames, size_t count, uint32_t fps_num,
                                                    uint32_t fps_den, const int64_t *pts, mldf_buffer *out,
                                                    mldf_error *err);

/* A video file (MP4, MKV ...) as the value that a writer takes for a field of type video_compressed, appended to out: append it as bytes. A writer takes
 * files as they are, too; this is for files whose parts become samples (mldf_video_cut), which are then decoded once for all. The record of what was packed is at
 * out[MLDF_VIDEO_PACKED_RECORD], its payload from out[MLDF_VIDEO_PACKED_PAYLOAD] on. On failure out is as before. */
MLDF_API MLDF_NODISCARD mldf_status mldf_video_pack(const mldf_schema *schema, size_t field, const void *file,
                                                    size_t bytes, mldf_buffer *out, mldf_error *err);
/* Frames [first, first + count) of a stored value of type video_compressed as such a value, appended to out. Packets are copied, from the key that the
 * first frame needs on; nothing is decoded. The sound is left out. */
MLDF_API MLDF_NODISCARD mldf_status mldf_video_cut(const mldf_schema *schema, size_t field, const mldf_value *value,
                                                   uint64_t first, uint64_t count, mldf_buffer *out, mldf_error *err);
enum { MLDF_VIDEO_PACKED_RECORD = 8, MLDF_VIDEO_PACKED_PAYLOAD = 80 };

#ifdef __cplusplus
}
#endif
#endif
