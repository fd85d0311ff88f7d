/* Packets of a video decoded to planes: video_decode.c. Used when loading, when verifying, and by the packer to prove its table. */
#ifndef MLDF_FIELD_VIDEO_DECODE_H
#define MLDF_FIELD_VIDEO_DECODE_H

#include "field/video_media.h"
#include "field/video_packets.h"

/* One decoded image, as planes; a decoder keeps several. More is refused when packing, loading and verifying. */
#define VIDEO_IMAGE_BYTES (MEDIA_MAX_BYTES / 8)
/* MLDF_E_LIMIT where the images of such a stream are larger. */
mldf_status mldfi_video_check_size(const struct video_stream *stream, mldf_error *err);

/* Frame `number`, decoded; until it returns. */
typedef mldf_status (*video_taker)(void *user, uint64_t number, const struct av_image *image, mldf_error *err);

/* Gives the frames, ascending and each once, to `take`, in the order in which they are decoded. worker: the kit's of FAMILY_VIDEO. */
mldf_status mldfi_video_decode(struct video_worker *worker, const struct video_head *head, const struct audio_bytes *in,
                               const uint64_t *numbers, size_t count, video_taker take, void *user, mldf_error *err);
/* A decoder for the stream with this configuration, new or used; it has no packet in it. */
mldf_status mldfi_video_decoder(struct video_worker *worker, const struct video_stream *stream, const uint8_t *extra,
                                uint32_t extra_bytes, struct kept_video **out, mldf_error *err);
/* After an error a decoder is closed: flushing does not make it new. */
void mldfi_video_drop(struct video_worker *worker, struct kept_video *kept);

/* Does decoding begin anew with this packet, by what its bytes say: an IDR image, a key frame of VP9, an image of MJPEG? (video_keys.c) */
bool mldfi_video_is_clean(uint32_t codec, const uint8_t *extra, uint32_t extra_bytes, const uint8_t *data,
                          uint32_t data_bytes);
/* HEVC: the highest TemporalId of its slices, plus 1; others: 0. */
unsigned mldfi_video_layer(uint32_t codec, const uint8_t *extra, uint32_t extra_bytes, const uint8_t *data,
                           uint32_t data_bytes);
/* Do its bytes say that no other packet needs it? H.264: nal_ref_idc 0 in every slice; HEVC: a sub-layer non-reference image of the stream's highest layer. */
bool mldfi_video_is_spare(uint32_t codec, unsigned highest, const uint8_t *extra, uint32_t extra_bytes,
                          const uint8_t *data, uint32_t data_bytes);

#endif
