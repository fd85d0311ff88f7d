/* What the files of VIDEO_FRAMES share: its state, its record and its payload. video_frames.c is the type, video_frames_encode.c makes payloads,
 * video_frames_source.c reads frames. docs/spec/fields.md has the bytes. */
#ifndef MLDF_FIELD_VIDEO_FRAMES_H
#define MLDF_FIELD_VIDEO_FRAMES_H

#include "field/image_type.h"
#include "field/video_source.h"
#include "mldf/video.h"

/* Places in a record of 32 bytes: ptr u64, size u64, then these. */
enum {
    FRAMES_SIZE = 8,
    FRAMES_COUNT = 16,
    FRAMES_HEIGHT = 20,
    FRAMES_WIDTH = 22,
    FRAMES_FPS_NUM = 24,
    FRAMES_FPS_DEN = 28,
    FRAMES_RECORD = 32
};

struct video_frames_state {
    bool raw;                  /* frames are pixels; otherwise image files: */
    bool jpeg;                 /* JPEG files and fast JPEGs alone */
    uint32_t channels, bits;   /* as decoded */
    bool pts;                  /* payloads have a table of times */
    uint32_t fps_num, fps_den; /* of arrays, which do not say it */
    struct image_state image;  /* how the writer treats frames */
};

/* Payload: offsets u64[n + 1], pts i64[n], frames. */
static inline uint64_t mldfi_frames_table(const struct video_frames_state *s, uint64_t frames) {
    return 8 * (frames + 1) + (s->pts ? 8 * frames : 0);
}
static inline uint64_t mldfi_frames_raw_bytes(const struct video_frames_state *s, uint64_t width, uint64_t height) {
    return width * height * s->channels * (s->bits / 8);
}

void mldfi_frames_record_info(const struct video_frames_state *s, const uint8_t *record, mldf_video_info *out);
/* What the record says against the arguments and the payload's size; err->offset counts from the record's first byte. */
mldf_status mldfi_frames_check_record(const struct video_frames_state *s, const uint8_t *record, uint64_t payload_bytes,
                                      mldf_error *err);
/* An image record for bytes of one frame. MLDF_E_CORRUPT: they are no image that is known. */
mldf_status mldfi_frames_image(const struct video_frames_state *s, const mldf_video_info *info, const void *data,
                               uint64_t bytes, uint8_t record[IMAGE_RECORD], mldf_value *out, mldf_error *err);
/* The stored bytes of a frame of a payload in memory; a fast JPEG as the JPEG file, in scratch. */
mldf_status mldfi_frames_bytes(const struct video_frames_state *s, const struct video_info *info,
                               const mldf_value *value, uint64_t number, mldf_buffer *scratch, const void **data,
                               size_t *bytes, mldf_error *err);
/* The whole table, and every frame to its last pixel. */
mldf_status mldfi_frames_check(const struct video_frames_state *s, const uint8_t *record, const uint8_t *payload,
                               uint64_t bytes, mldf_error *err);

/* Traits of types whose records have num_frames, height and width where FRAMES_COUNT, FRAMES_HEIGHT and FRAMES_WIDTH are. */
mldf_status mldfi_frames_see(const struct schema_field *field, const struct record_block *block, size_t *at,
                             struct survey *s, mldf_error *err);
void mldfi_frames_see_value(const struct schema_field *field, const mldf_value *value, struct survey *s);

mldf_status mldfi_frames_encode(void *user, const void *state, const mldf_value *value, uint8_t *record,
                                mldf_buffer *scratch, const void **payload, uint64_t *payload_bytes, mldf_error *err);
mldf_status mldfi_frames_encode_worker(const struct schema_field *field, void *worker, const mldf_value *value,
                                       uint8_t *record, mldf_buffer *scratch, const void **payload,
                                       uint64_t *payload_bytes, mldf_error *err);

#endif
