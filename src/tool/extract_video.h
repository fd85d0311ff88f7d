/* Videos that extract writes otherwise than as one file: frames as images, a clip of some frames, the sound. */
#ifndef MLDF_TOOL_EXTRACT_VIDEO_H
#define MLDF_TOOL_EXTRACT_VIDEO_H

#include "field/field.h"
#include "field/media.h"
#include "mldf/tool.h"

/* How values of a field become files: FILE, for all that are not videos too, or what the options say. Stored frames have no other file than theirs. */
mldf_extract_video mldfi_extract_how(const struct schema_field *field, const mldf_extract_options *options);

/* A frame as an image file. */
typedef mldf_status (*frame_writer)(void *user, uint64_t number, const struct exported *file, mldf_error *err);

struct frames_out {
    uint64_t written;
    uint32_t rate_num, rate_den; /* frames a second; 0: frames have times of their own */
};
/* The chosen frames, ascending: stored files as they are, others as PNG. */
mldf_status mldfi_extract_frames(const mldf_schema *schema, size_t field, const mldf_value *value,
                                 const mldf_extract_options *options, struct media_kit *kit, struct export_room *room,
                                 frame_writer put, void *user, struct frames_out *out, mldf_error *err);
/* The chosen frames as a video file: packets are copied. */
mldf_status mldfi_extract_clip(const mldf_schema *schema, size_t field, const mldf_value *value,
                               const mldf_extract_options *options, struct media_kit *kit, struct export_room *room,
                               struct exported *out, mldf_error *err);
/* The sound as a WAV file of 32-bit floats. MLDF_ABSENT: there is none. */
mldf_status mldfi_extract_sound(const mldf_value *value, struct export_room *room, struct exported *out,
                                mldf_error *err);

#endif
