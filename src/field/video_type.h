/* What the files of VIDEO_COMPRESSED share: video_compressed.c is the type, video_encode.c makes values of files, video_sound.c their sound,
 * video_packets_source.c reads frames, video_files.c is about files. */
#ifndef MLDF_FIELD_VIDEO_TYPE_H
#define MLDF_FIELD_VIDEO_TYPE_H

#include "field/type.h"
#include "field/video_decode.h"
#include "field/video_packets.h"

struct frame_source;
extern const struct frame_source mldfi_video_packets_source;

struct video_state {
    bool silent; /* the argument "audio" is false: sound is left out */
};

/* A file as a value, with the thread's worker. */
mldf_status mldfi_video_encode_worker(const struct schema_field *field, void *worker, const mldf_value *value,
                                      uint8_t *record, mldf_buffer *scratch, const void **payload,
                                      uint64_t *payload_bytes, mldf_error *err);
/* The whole sound decoded, where there is one; payload: the video's. */
mldf_status mldfi_video_check_sound(const struct video_head *head, struct media_kit *kit, const uint8_t *payload,
                                    mldf_error *err);
/* video_cut.c. A value that is packed already, as bytes (mldf_video_pack): is it one, and what is stored of it. */
bool mldfi_video_is_packed(const mldf_value *value);
mldf_status mldfi_video_take_packed(const struct video_state *state, const mldf_value *value, uint8_t *record,
                                    mldf_buffer *scratch, const void **payload, uint64_t *payload_bytes,
                                    mldf_error *err);
/* Frames [first, first + count) without sound: the record without ptr and size, and the payload, appended. whole: the record of the whole. What
 * is taken of its tables is checked. */
mldf_status mldfi_video_cut(const uint8_t *whole, const struct video_head *head, const struct audio_bytes *in,
                            uint32_t first, uint32_t count, uint8_t *record, mldf_buffer *out, mldf_error *err);
/* The streams that are taken of a file; UINT32_MAX: there is none. */
void mldfi_video_choose(const struct av_file_module *m, void *file, uint32_t streams, uint32_t *video, uint32_t *sound);
/* Can the sound's codec be stored? */
bool mldfi_video_takes_sound(const struct av_stream *stream);

/* video_sound.c: packets of the sound, and what they become. Begins as {0}. */
struct sound_parts {
    struct audio_parts parts;
    bool any;
    uint8_t pcm; /* enum av_pcm */
    uint32_t base_num, base_den;
    int64_t first; /* pts of the first packet */
    int64_t *pts;  /* of each packet */
    size_t pts_capacity;
};
mldf_status mldfi_sound_begin(struct sound_parts *s, const struct av_stream *stream, mldf_error *err);
mldf_status mldfi_sound_add(struct sound_parts *s, const struct av_packet *p, mldf_error *err);
mldf_status mldfi_sound_finish(struct sound_parts *s, struct video_parts *out, mldf_error *err);
void mldfi_sound_free(struct sound_parts *s);
/* video_sound_runs.c. A packet whose time is not where the samples before it end begins a new run: gaps become silence, and what two runs both have is cut
 * from the first. */
mldf_status mldfi_sound_place(struct sound_parts *s, mldf_error *err);
/* Raw sound: bits of a number; a packet in our byte order; the value. */
unsigned mldfi_sound_pcm_bits(uint8_t pcm);
mldf_status mldfi_sound_pcm_add(struct sound_parts *s, const struct av_packet *in, mldf_error *err);
mldf_status mldfi_sound_pcm_build(const struct sound_parts *s, mldf_buffer *out, mldf_error *err);

/* video_index.c: the frame table, found by decoding; keys that lie lose their flag. */
mldf_status mldfi_video_index(struct video_worker *w, struct video_parts *parts, int reorder, mldf_error *err);

/* video_files.c: traits of field.h. */
extern const struct field_files mldfi_video_files;
mldf_status mldfi_video_export(const struct schema_field *field, const mldf_value *value, struct media_kit *kit,
                               struct export_room *room, struct exported *out, mldf_error *err);
mldf_status mldfi_video_json(const struct schema_field *field, const mldf_value *value, bool full, mldf_buffer *out,
                             mldf_error *err);

#endif
