/* Compressed audio: a file taken apart into packets, and packets decoded to numbers. One file for each codec; audio_codecs.c has the table.
 *
 *     file ──demux──► packets, what the decoder must know (extra), what belongs to neither      when packing
 *     packets ──decode──► float                                                                   when loading, verifying
 *
 * Nothing here does I/O or knows how packets are stored: field/audio_packets.h. */
#ifndef MLDF_CODEC_AUDIO_STREAM_H
#define MLDF_CODEC_AUDIO_STREAM_H

#include "mldf/audio.h"
#include "util/watch.h"

/* Limits of what a file may say, so that nothing is allocated for a lie: FLAC blocks have at most 65535 samples, Opus packets 5760. */
enum { AUDIO_PACKET_SAMPLES = 65536, AUDIO_DECODED_CHANNELS = 255, AUDIO_EXTRA_MAX = 1 << 20 };
/* A packet is at most this long: FLAC frames need 2 MiB, and MP3 packets hold what is between two frames too. */
enum { AUDIO_PACKET_BYTES = 1 << 26 };
/* Vorbis' comments are kept up to this length; longer ones (cover art) are not: every window would read them. */
enum { AUDIO_COMMENTS_MAX = 64 << 10 };

struct audio_packet {
    uint64_t offset; /* in audio_parts.data */
    uint32_t bytes;
    uint32_t samples; /* that decoding it gives, in a run of packets */
    uint8_t back;     /* MP3: packets before it that hold bits of it */
};

/* A file taken apart. Begins as {0}. */
struct audio_parts {
    mldf_audio_info info; /* samples: what is left after skip and trim. bits: of lossless codecs; else 0 */
    uint64_t skip, trim;  /* decoded samples that do not belong to the recording, at its beginning and end */
    uint32_t preroll;     /* samples that a decoder needs before it is right again */
    mldf_buffer extra;    /* what the decoder needs: FLAC's STREAMINFO, OpusHead, the headers of Vorbis */
    const uint8_t *data;  /* of all packets: the file, or `made` */
    mldf_buffer made;     /* packets put together that were in pieces */
    struct audio_packet *packets;
    size_t count, capacity;
    bool history; /* what a packet decodes to depends on all that came before */
    bool cut;     /* packets last as long as their samples say, whatever decoding gives; without bytes: silence */
    bool whole;   /* head, packets and tail, end to end, are the file */
    uint64_t head_bytes, tail_bytes;
    const struct work_watch *watch; /* whether to go on, asked while packets are decoded; NULL: nobody */
};
void mldfi_audio_parts_free(struct audio_parts *parts);
mldf_status mldfi_audio_parts_add(struct audio_parts *parts, struct audio_packet packet, mldf_error *err);
/* The error of a packet of more than AUDIO_PACKET_BYTES. */
mldf_status mldfi_audio_long_packet(size_t packet, uint64_t offset, uint64_t bytes, mldf_error *err);

/* How one codec's files are taken apart. */
struct audio_container {
    const char *name;                              /* "FLAC", in messages */
    bool (*is)(const uint8_t *data, size_t bytes); /* by its first bytes */
    /* Of AAC packets are decoded, of others none. Errors name the byte of the file in err->offset. */
    mldf_status (*demux)(const uint8_t *data, size_t bytes, struct audio_parts *out, mldf_error *err);
};
/* NULL: none that this build knows. */
const struct audio_container *mldfi_audio_container(const void *data, size_t bytes);

/* What is chosen of decoders. {0}: the usual ones. */
struct audio_choice {
    bool portable; /* code that gives the same bits on every CPU of an architecture, where the library has it */
    bool ffmpeg_opus;
};

/* What a decoder is opened with. */
struct audio_setup {
    mldf_audio_info info;
    const uint8_t *extra;
    size_t extra_bytes;
    struct audio_choice choice;
};

/* Numbers of a decoded packet: channel c of sample i is data[c * channel_step + i * sample_step]. Until the next call. */
struct audio_block {
    const float *data;
    size_t channel_step, sample_step;
    uint32_t samples;
};

struct audio_decoder {
    const char *name; /* of the library */
    mldf_status (*open)(const struct audio_setup *setup, void **out, mldf_error *err);
    /* Before the first packet of a run, and after an error: everything that came before is forgotten. */
    mldf_status (*begin)(void *decoder, mldf_error *err);
    mldf_status (*decode)(void *decoder, const uint8_t *packet, size_t bytes, struct audio_block *out, mldf_error *err);
    void (*close)(void *decoder);
    /* Checks what only the whole stream can tell (FLAC's MD5); NULL: nothing. data: packets end to end. */
    mldf_status (*check)(const struct audio_setup *setup, const uint8_t *data, uint64_t bytes, uint64_t samples,
                         mldf_error *err);
    /* Does a decoder that was opened with one `extra` decode packets of the other alike? NULL: where they are equal. */
    bool (*same)(const uint8_t *a, size_t a_bytes, const uint8_t *b, size_t b_bytes);
    /* Version of the library, with its name. NULL, or returns NULL: every version gives the same numbers, or there is no library. */
    const char *(*version)(void);
};
/* choice NULL: the usual one. MLDF_E_UNSUPPORTED, in words, when this build has none for the codec. */
mldf_status mldfi_audio_decoder(mldf_audio_codec codec, const struct audio_choice *choice,
                                const struct audio_decoder **out, mldf_error *err);
/* "libmpg123 1.31.2, portable": what the numbers of such recordings depend on. False: on nothing. */
bool mldfi_audio_decoder_name(mldf_audio_codec codec, const struct audio_choice *choice, char *out, size_t room);

/* Is there a decoder here, with its module? */
bool mldfi_audio_decodes(mldf_audio_codec codec);

extern const struct audio_container mldfi_container_flac;
extern const struct audio_container mldfi_container_mp3;
extern const struct audio_container mldfi_container_ogg;                       /* Opus and Vorbis */
extern const struct audio_container mldfi_container_mp4, mldfi_container_adts; /* AAC and ALAC */
extern const struct audio_decoder mldfi_decoder_av;                            /* FFmpeg's, of any codec */
/* Decodes packets that have been taken apart: their samples, the stream's rate and channels, whether it has a history; samples of the whole. */
mldf_status mldfi_av_settle(struct audio_parts *parts, mldf_error *err);
extern const struct audio_decoder mldfi_decoder_flac, mldfi_decoder_mp3, mldfi_decoder_opus, mldfi_decoder_vorbis;

/* Bytes of the frame that a packet of MP3 begins with; 0: there is none. */
size_t mldfi_mp3_frame_bytes(const uint8_t *packet, size_t bytes);

/* Appends a whole file to out: channels interleaved as `info` says (PCM of 8 to 32 bits). */
mldf_status mldfi_flac_encode(const mldf_audio_info *info, const void *pcm, mldf_buffer *out, mldf_error *err);

/* Packets of Opus, with what belongs to them; pcm: channels interleaved. bitrate 0: the encoder's choice. */
mldf_status mldfi_opus_encode(const mldf_audio_info *info, const float *pcm, uint32_t bitrate, struct audio_parts *out,
                              mldf_error *err);

enum { FLAC_STREAMINFO = 34 };

#endif
