/* Recordings as media: any window of the numbers that are stored, as float. */
#ifndef MLDF_FIELD_AUDIO_MEDIA_H
#define MLDF_FIELD_AUDIO_MEDIA_H

#include "field/audio_packets.h"
#include "field/media.h"
#include "mldf/audio.h"

/* A decoder that stays open for values of the same codec with the same beginning. */
struct kept_decoder {
    const struct audio_decoder *type;
    void *decoder; /* NULL: none */
    mldf_audio_codec codec;
    uint32_t rate, channels, bits;
    struct audio_choice choice;
    mldf_buffer extra;
    uint64_t used;
};
enum { AUDIO_DECODERS = 8 };

/* What a thread keeps for recordings: the kit's worker of FAMILY_AUDIO. */
struct audio_worker {
    mldf_buffer block, pcm, file;
    struct kept_decoder decoders[AUDIO_DECODERS];
    uint64_t clock;
    uint64_t max_bytes; /* of the kit */
};
void mldfi_audio_drop_decoders(struct audio_worker *w);

/* How a recording is decoded. */
struct audio_want {
    bool mono; /* the mean of the channels */
    struct audio_choice choice;
};

/* Samples [from, from + count) of a value whose bytes `in` gives, as mldfi_audio_read gives them. They must be in the recording. want NULL: all
 * channels, by the usual decoders. */
mldf_status mldfi_audio_window(void *worker, const mldf_audio_info *info, const struct audio_bytes *in, uint64_t from,
                               uint64_t count, const struct audio_want *want, float *out, size_t stride,
                               mldf_error *err);
/* The whole recording, decoded once from its beginning: channels interleaved, integers of width x 8 bits where the codec has them and floats
 * (width 4) otherwise. A packet is in memory at a time, besides `out`. */
mldf_status mldfi_audio_unpack(void *worker, const mldf_audio_info *info, const struct audio_bytes *in, bool whole,
                               unsigned width, uint8_t *out, mldf_error *err);
/* Bytes of a compressed value that such a window will about need, for hints to the system. */
void mldfi_audio_guess(const mldf_audio_info *info, uint64_t total, uint64_t from, uint64_t count, uint64_t *offset,
                       uint64_t *bytes);
/* The whole table of a compressed value; decode: and every packet, to the end. */
mldf_status mldfi_audio_check_packets(void *worker, const mldf_audio_info *info, const void *payload, uint64_t bytes,
                                      bool decode, mldf_error *err);
/* Can a value with this record have so many bytes? */
mldf_status mldfi_audio_check_bytes(const mldf_audio_info *info, uint64_t bytes, mldf_error *err);

/* The bytes of a value that hold samples [from, from + count), which the recording has. */
void mldfi_audio_range(const mldf_audio_info *info, uint64_t from, uint64_t count, uint64_t *offset, uint64_t *bytes);
/* Those bytes as float, channel by channel, each `stride` numbers behind the one before it; mono: the mean of the channels. worker: of the
 * kit's FAMILY_AUDIO. */
mldf_status mldfi_audio_read(void *worker, const mldf_audio_info *info, const void *data, uint64_t count, bool mono,
                             float *out, size_t stride, mldf_error *err);

#endif
