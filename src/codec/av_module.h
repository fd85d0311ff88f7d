/* What libmldf and the two modules that use FFmpeg say to each other. libmldf links no part of FFmpeg: it opens a module at its first use.
 *
 *     libmldf-av-59.so       decodes packets           libavcodec, libavutil       loading and packing
 *     libmldf-avformat-59.so takes files apart, and writes them   libavformat too   packing and extract alone
 *
 * The number is libavcodec's major version, which a module is compiled for. A module calls nothing of libmldf; its functions return 0 or more, and
 * below 0 an error whose reason is in the text. Plain numbers cross the border: which AVCodecID is H.264 is the module's business. */
#ifndef MLDF_CODEC_AV_MODULE_H
#define MLDF_CODEC_AV_MODULE_H

#include <stddef.h>
#include <stdint.h>

enum { AV_MODULE_ABI = 3, AV_TEXT = 256 };

/* Codecs of video, as records and stream tables have them (docs/spec/fields.md). */
enum av_video_codec {
    AV_VIDEO_OTHER = 0,
    AV_VIDEO_H264 = 1,
    AV_VIDEO_HEVC = 2,
    AV_VIDEO_VP8 = 3,
    AV_VIDEO_VP9 = 4,
    AV_VIDEO_AV1 = 5,
    AV_VIDEO_MPEG4 = 6,
    AV_VIDEO_MPEG2 = 7,
    AV_VIDEO_MJPEG = 8,
    AV_VIDEO_FFV1 = 9,
    AV_VIDEO_CODECS
};

/* Kinds of streams. Codecs of audio are mldf_audio_codec's numbers, 255 for others. */
enum { AV_KIND_VIDEO = 0, AV_KIND_AUDIO = 1, AV_KIND_SUBTITLE = 2, AV_KIND_DATA = 3, AV_AUDIO_OTHER = 255 };

/* Raw sound: how a number of it is stored in a packet. Codecs of such streams are mldf_audio_codec's 0, 16, 17 and 18. */
enum av_pcm {
    AV_PCM_NONE = 0,
    AV_PCM_U8,
    AV_PCM_S8,
    AV_PCM_S16LE,
    AV_PCM_S16BE,
    AV_PCM_S24LE,
    AV_PCM_S24BE,
    AV_PCM_S32LE,
    AV_PCM_S32BE,
    AV_PCM_F32LE,
    AV_PCM_F32BE,
    AV_PCM_F64LE,
    AV_PCM_F64BE,
    AV_PCM_ALAW,
    AV_PCM_MULAW
};

/* What a decoder is opened with. */
struct av_setup {
    int kind, codec;
    uint32_t tag; /* the container's name of the codec */
    const uint8_t *extra;
    size_t extra_bytes;
    uint32_t width, height; /* video, as coded */
    int reorder;            /* frames that the decoder may hold back */
    uint32_t rate, channels, bits, block_align;
    uint64_t max_pixels;
    int portable; /* code that gives the same bits on every CPU, slower */
};

/* A decoded image: one plane (grey) or three (Y, Cb, Cr; G, B, R if rgb). Until the next call. */
struct av_image {
    uint64_t id; /* of the packet that it came from */
    const uint8_t *plane[3];
    ptrdiff_t stride[3];
    uint32_t width, height;
    uint8_t planes, bits;     /* above 8: samples are u16 of this machine */
    uint8_t shift_x, shift_y; /* of chroma: 0 or 1 */
    uint8_t full, rgb;        /* full range; planes are G, B, R */
    uint8_t matrix, site;     /* as ITU-T H.273 and FFmpeg's AVChromaLocation number them; 2 and 0: not said */
    uint8_t primaries, transfer;
    uint8_t interlaced, corrupt;
};

/* Decoded sound: plane c, or one plane with channels interleaved. Until the next call. */
struct av_sound {
    const float *plane[64];
    uint32_t samples, channels, rate;
};

struct av_decode_module {
    uint32_t abi;
    const char *version; /* "libavcodec 59.37.100" */
    int (*open)(const struct av_setup *setup, void **out, char text[AV_TEXT]);
    /* A packet; data NULL: there are no more. */
    int (*send)(void *decoder, const uint8_t *data, size_t bytes, uint64_t id, char text[AV_TEXT]);
    /* 1: there is one. 0: it wants packets, or there are no more. */
    int (*image)(void *decoder, struct av_image *out, char text[AV_TEXT]);
    int (*sound)(void *decoder, struct av_sound *out, char text[AV_TEXT]);
    int (*reorder)(void *decoder); /* frames that it holds back, as far as it knows by now */
    void (*flush)(void *decoder);
    void (*close)(void *decoder);
};
#define AV_DECODE_SYMBOL "mldf_av_decode_module"

/* ---- Files ---------------------------------------------------------------------------------------------------------------------------- */

#define AV_NO_TIME INT64_MIN

struct av_stream {
    int kind, codec;
    const char *codec_name; /* FFmpeg's */
    uint32_t tag;
    int32_t profile, level;
    uint32_t base_num, base_den; /* seconds of a tick */
    const uint8_t *extra;
    size_t extra_bytes;
    uint32_t width, height;
    uint32_t aspect_num, aspect_den; /* of a pixel; 0: not said */
    int32_t rotation;                /* degrees clockwise that make it upright: 0, 90, 180, 270; -1: another matrix */
    int32_t mirrored;
    uint8_t field_order, primaries, transfer, matrix, range, site;
    uint32_t rate, channels, bits, block_align, frame_samples;
    uint32_t mask;
    uint32_t fps_num, fps_den;
    int32_t reorder;
    uint64_t skip;    /* audio: samples at the front that do not belong to it */
    uint8_t attached; /* a cover image, not a video */
    uint8_t pcm;      /* enum av_pcm */
    int64_t start;    /* pts of what is shown or heard first, as far as the container says; AV_NO_TIME: it does not */
};

struct av_packet {
    uint32_t stream;
    int64_t pts, dts, duration;
    uint8_t key, discard, corrupt;
    const uint8_t *data; /* until the next call */
    size_t bytes;
    const uint8_t *extra; /* a new one from here on; NULL: as before */
    size_t extra_bytes;
    uint32_t skip, trim; /* samples that the container says do not count */
};

struct av_file_module {
    uint32_t abi;
    const char *version; /* "libavformat 59.27.100" */
    /* data stays the caller's, and where it is. name: a hint, for formats that have no mark. */
    int (*open)(const uint8_t *data, size_t bytes, const char *name, void **out, uint32_t *streams, char text[AV_TEXT]);
    void (*stream)(void *file, uint32_t index, struct av_stream *out);
    /* 1: a packet. 0: there are no more. */
    int (*packet)(void *file, struct av_packet *out, char text[AV_TEXT]);
    void (*close)(void *file);
    /* A file of these streams. format: "matroska", "mp4", "adts" ... */
    int (*create)(const char *format, const struct av_stream *streams, uint32_t count, void **out, char text[AV_TEXT]);
    int (*write)(void *file, const struct av_packet *packet, char text[AV_TEXT]);
    /* *data is the file's until close. */
    int (*finish)(void *file, const uint8_t **data, size_t *bytes, char text[AV_TEXT]);
    void (*discard)(void *file);
};
#define AV_FILE_SYMBOL "mldf_av_file_module"

#endif
