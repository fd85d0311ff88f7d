/* The payload of AUDIO_COMPRESSED: packets of one stream with a table in front of them, so that any window is found without a look at the rest
 * (docs/spec/fields.md has the bytes):
 *
 *     header 64 · stream entry 64 + extra · columns: offsets, first samples, back · head of the file · packets · its tail · kept file
 *
 * Parsing takes bytes and knows nothing of where they come from; windows ask a function for them (struct audio_bytes). */
#ifndef MLDF_FIELD_AUDIO_PACKETS_H
#define MLDF_FIELD_AUDIO_PACKETS_H

#include "codec/audio_stream.h"

enum {
    PACKETS_VERSION = 1,
    PACKETS_HEADER = 64,
    PACKETS_STREAM = 64,
    PACKETS_KEPT_MAX = 64 << 10, /* of a file's head and of its tail */
    PACKETS_FIRST_LOOK = 512     /* bytes that hold the header and most streams' extra */
};

/* Is a value of this codec a table with packets? */
static inline bool mldfi_audio_is_packets(mldf_audio_codec codec) {
    return (codec >= MLDF_AUDIO_FLAC && codec <= MLDF_AUDIO_ALAC) || codec == MLDF_AUDIO_AC3 ||
           codec == MLDF_AUDIO_EAC3;
}

/* Flags of the header. */
enum {
    PACKETS_WIDE_OFFSETS = 1, /* u64 instead of u32 */
    PACKETS_VARY = 2,         /* durations vary: there is a column of first samples */
    PACKETS_WIDE_SAMPLES = 4,
    PACKETS_BACK = 8,
    PACKETS_HISTORY = 16, /* decoding depends on all that came before: windows begin at anchors, with a new decoder */
    PACKETS_FILE = 32,    /* head, packets and tail are the file */
    /* Durations are what is heard: decoded samples beyond are cut, zeros follow where some lack; an empty packet is silence. */
    PACKETS_CUT = 128,
    PACKETS_FLAGS = 63 | 128
};

/* Some of a payload's bytes, until the next call. The range is inside the payload. */
struct audio_bytes {
    mldf_status (*get)(void *user, uint64_t offset, uint64_t bytes, const void **data, mldf_error *err);
    void *user;
    uint64_t total;
};
struct audio_memory { /* a payload that is in memory */
    const uint8_t *data;
};
mldf_status mldfi_audio_from_memory(void *user, uint64_t offset, uint64_t bytes, const void **data, mldf_error *err);

/* What header and stream entry say, checked against each other, the record and the payload's size. */
struct packets_head {
    uint32_t flags, duration;
    uint64_t count, decoded; /* packets; samples before skip and trim */
    uint64_t first, bytes;   /* where packet 0 begins; of all packets */
    uint32_t head_bytes, tail_bytes;
    uint64_t file_bytes;
    uint64_t skip, trim;
    uint32_t preroll, mask;
    uint64_t offsets_at, samples_at, back_at; /* the columns */
    uint32_t extra_bytes;
};
/* Reads both; *extra: the decoder's, until the next call of get. Errors name the byte of the payload in their text. */
mldf_status mldfi_packets_open(const mldf_audio_info *info, const struct audio_bytes *in, struct packets_head *out,
                               const uint8_t **extra, mldf_error *err);
/* The packet that holds decoded sample `at` (below head->decoded), and the sample that it begins with. */
mldf_status mldfi_packets_find(const struct packets_head *head, const struct audio_bytes *in, uint64_t at,
                               uint64_t *packet, uint64_t *begin, mldf_error *err);
/* Offsets of packets [from, from + count] after packet 0, checked: ascending and inside. */
mldf_status mldfi_packets_offsets(const struct packets_head *head, const struct audio_bytes *in, uint64_t from,
                                  size_t count, uint64_t *out, mldf_error *err);
/* First samples of packets [from, from + count], likewise. */
mldf_status mldfi_packets_samples(const struct packets_head *head, const struct audio_bytes *in, uint64_t from,
                                  size_t count, uint64_t *out, mldf_error *err);
/* All of both columns. */
mldf_status mldfi_packets_check(const struct packets_head *head, const struct audio_bytes *in, mldf_error *err);

/* Appends the payload of a file that was taken apart. keep: the file itself goes along where head, packets and tail do not make it up. */
mldf_status mldfi_packets_build(const struct audio_parts *parts, unsigned flags, const void *file, size_t file_bytes,
                                bool keep, mldf_buffer *out, mldf_error *err);

#endif
