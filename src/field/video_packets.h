/* The payload of VIDEO_COMPRESSED: packets of one video stream and its sound, with tables in front, so that any frames are found without a look at the
 * rest and without a demuxer (docs/spec/fields.md has the bytes):
 *
 *     head 64 · stream entries 192 each · configurations · frame table 24 each · packet index 32 each · video packets · sound
 *
 * Sound is stored as in AUDIO_COMPRESSED: a table of its own with packets (audio_packets.h); that of the first audio stream is last.
 *
 * Parsing takes bytes and knows nothing of where they come from. Nothing that a file says is used before it is bounded. */
#ifndef MLDF_FIELD_VIDEO_PACKETS_H
#define MLDF_FIELD_VIDEO_PACKETS_H

#include "field/audio_packets.h"
#include "field/edge.h"

/* Places in a record: ptr u64, size u64, then these. */
enum {
    VIDEO_SIZE = 8,
    VIDEO_FRAMES = 16,
    VIDEO_KEYS = 20,
    VIDEO_WIDTH = 24,
    VIDEO_HEIGHT = 26,
    VIDEO_FPS_NUM = 28,
    VIDEO_FPS_DEN = 32,
    VIDEO_CODEC = 36,
    VIDEO_STREAMS = 37,
    VIDEO_ZERO = 38,
    VIDEO_DURATION = 40, /* microseconds */
    VIDEO_SOUND_SAMPLES = 48,
    VIDEO_SOUND_BYTES = 56,
    VIDEO_SOUND_RATE = 64,
    VIDEO_SOUND_CHANNELS = 68,
    VIDEO_SOUND_BITS = 70,
    VIDEO_SOUND_CODEC = 71,
    VIDEO_RECORD = 72
};

enum {
    VIDEO_VERSION = 1,
    VIDEO_HEAD = 64,
    VIDEO_STREAM = 192,
    VIDEO_CONFIG = 16,
    VIDEO_PACKET = 32,
    VIDEO_FRAME = 24,
    VIDEO_STREAMS_MAX = 64,
    VIDEO_CONFIGS_MAX = 1024,
    VIDEO_TABLE_MAX = 16 << 20, /* of the stream table with its configurations */
    VIDEO_FIRST_LOOK = 1024,    /* bytes that hold head, streams and most configurations */
    VIDEO_SIDE_MAX = 32768,     /* pixels of a frame's side */
    VIDEO_REORDER_MAX = 16      /* frames that a decoder holds back; no codec has more */
};

/* Times and durations, in ticks: with these no sum overflows. */
#define VIDEO_TICKS_MAX (INT64_C(1) << 60)
static inline bool mldfi_video_time_fits(int64_t ticks) { /* INT64_MIN: none */
    return ticks == INT64_MIN || (ticks >= -VIDEO_TICKS_MAX && ticks <= VIDEO_TICKS_MAX);
}

/* Flags of a packet, and of a frame. */
enum { PACKET_KEY = 1, PACKET_DISCARD = 2, PACKET_UNUSED = 4, PACKET_CORRUPT = 8, PACKET_FLAGS = 15 };

struct video_packet {
    int64_t pts, dts; /* INT64_MIN: none */
    uint64_t offset;  /* in the payload */
    uint32_t bytes, duration;
    uint16_t flags, config;
};

struct video_frame {
    int64_t pts;     /* ticks after the first frame's */
    uint32_t packet; /* the last one it needs */
    uint32_t start;  /* decoding begins with this one */
    uint32_t duration;
    uint16_t back; /* its own packet is so many before `packet` */
    uint16_t config;
};

/* The video stream of a value. */
struct video_stream {
    uint32_t codec, tag;
    int32_t profile, level;
    struct ratio tick;  /* seconds: num / den */
    int64_t first, end; /* pts of the first frame; where the last one ends */
    uint32_t packets, frames;
    uint64_t packets_at, frames_at;
    uint32_t configs;
    uint64_t configs_at;
    uint32_t reorder;
    uint32_t turn;          /* quarter turns clockwise that make it upright */
    bool mirror;            /* left and right change places before it is turned */
    uint32_t width, height; /* as decoded */
    uint32_t aspect_num, aspect_den;
    uint8_t planes, bits, shift_x, shift_y, rgb;
    uint8_t field_order, primaries, transfer, matrix, range, site;
};

struct video_sound { /* the first audio stream */
    bool there;
    uint64_t at, bytes;
    mldf_audio_info info;
    int64_t
        start_num; /* when its first sample is heard, after the first frame is shown: start_num / start_den seconds */
    uint64_t start_den;
};

struct video_head {
    uint64_t total;
    uint64_t table_bytes;         /* head, streams and configurations */
    uint64_t data_at, data_bytes; /* the video's packets */
    uint32_t streams;
    struct video_stream video;
    struct video_sound sound;
    /* Configuration 0: bytes of the payload. */
    uint64_t extra_at;
    uint32_t extra_bytes;
};

/* What the record says, checked against itself and the payload's bytes. Offsets of errors count from the record's first byte. */
mldf_status mldfi_video_check_record(const uint8_t *record, uint64_t payload_bytes, mldf_error *err);
/* The sound's record, as a field AUDIO_COMPRESSED would have it; false: there is none. */
bool mldfi_video_sound_record(const uint8_t *record, uint8_t out[32]);

/* Reads head and stream table, and checks them against the record (NULL: it is gone), their CRC and the payload's size. Messages name the byte of the
 * value. */
mldf_status mldfi_video_open(const uint8_t *record, const struct audio_bytes *in, struct video_head *out,
                             mldf_error *err);
/* Bytes of configuration `index`, in memory until the next call of get. */
mldf_status mldfi_video_config(const struct video_head *head, const struct audio_bytes *in, uint32_t index,
                               const uint8_t **data, uint32_t *bytes, mldf_error *err);
/* Entries [from, from + count), each checked: packets lie in the packets' bytes, one after the other, frames name packets in order. end: where the
 * packets before them end, 0 where nothing is known, and then where these do; a file whose packets share bytes would be decoded at many times its size. */
mldf_status mldfi_video_packets(const struct video_head *head, const struct audio_bytes *in, uint32_t from,
                                uint32_t count, uint64_t *end, struct video_packet *out, mldf_error *err);
mldf_status mldfi_video_frames(const struct video_head *head, const struct audio_bytes *in, uint32_t from,
                               uint32_t count, struct video_frame *out, mldf_error *err);
/* All entries, and that times ascend. */
mldf_status mldfi_video_check_tables(const struct video_head *head, const struct audio_bytes *in, mldf_error *err);

/* ---- Writing (video_packets_build.c) -------------------------------------------------------------------------------------------- */

struct video_config {
    size_t at;
    uint32_t bytes;
};

/* A file taken apart. Begins as {0}. */
struct video_parts {
    struct video_stream video; /* packets_at and the like are found when it is built */
    uint32_t fps_num, fps_den;
    struct video_packet *packets; /* offset: in data */
    size_t packet_count, packet_capacity;
    struct video_frame *frames;
    size_t frame_count, frame_capacity;
    mldf_buffer data, extra;
    struct video_config *configs;
    size_t config_count, config_capacity;
    uint32_t streams; /* that the file had */
    bool sound;
    mldf_audio_info sound_info;
    mldf_buffer sound_payload;
    int64_t start_num;
    uint64_t start_den;
};
void mldfi_video_parts_free(struct video_parts *parts);
/* The record without ptr and size, and the payload, appended. */
mldf_status mldfi_video_build(const struct video_parts *parts, uint8_t *record, mldf_buffer *out, mldf_error *err);

#endif
