/* FLAC files taken apart (RFC 9639): metadata, then frames. A frame does not say how long it is: the next one begins where a header stands
 * whose CRC-8 is right, whose number follows, and in front of which the CRC-16 of the frame before is right. No library is needed. */
#include <inttypes.h>
#include <string.h>

#include "codec/audio_stream.h"
#include "util/buffer.h"
#include "util/error.h"

enum { MARKER = 4, BLOCK_HEAD = 4, FRAME_LEAST = 9, HEADER_MOST = 16 };

static uint8_t crc8(const uint8_t *data, size_t bytes) {
    uint8_t crc = 0;
    for (size_t i = 0; i < bytes; i++) {
        crc ^= data[i];
        for (int k = 0; k < 8; k++)
            crc = (uint8_t)(crc << 1 ^ (crc & 0x80 ? 0x07 : 0));
    }
    return crc;
}

static void make_crc16(uint16_t table[256]) {
    for (unsigned i = 0; i < 256; i++) {
        uint16_t crc = (uint16_t)(i << 8);
        for (int k = 0; k < 8; k++)
            crc = (uint16_t)(crc << 1 ^ (crc & 0x8000 ? 0x8005 : 0));
        table[i] = crc;
    }
}

static uint32_t be24(const uint8_t *p) {
    return (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
}

struct frame {
    uint64_t number; /* of the frame, or of its first sample where `variable` */
    uint32_t samples;
    bool variable;
};

/* The number, in the manner of UTF-8 with up to 7 bytes. Returns how many; 0: it is none. */
static size_t read_number(const uint8_t *p, size_t room, uint64_t *out) {
    size_t more = 0;
    if (room == 0)
        return 0;
    for (uint8_t mask = 0x80; mask & p[0]; mask = (uint8_t)(mask >> 1))
        more++;
    if (more == 1 || more > 7 || (more ? more : 1) > room)
        return 0;
    uint64_t v = more == 0 ? p[0] : p[0] & (0xffu >> (more + 1));
    for (size_t i = 1; i < more; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        v = v << 6 | (p[i] & 0x3f);
    }
    *out = v;
    return more ? more : 1;
}

/* A frame's header; false: there is none here. */
static bool read_header(const uint8_t *p, size_t room, const struct audio_parts *parts, struct frame *out) {
    static const uint16_t sizes[16] = {0,   192, 576,  1152, 2304, 4608, 0,     0,
                                       256, 512, 1024, 2048, 4096, 8192, 16384, 32768};
    if (room < FRAME_LEAST || p[0] != 0xff || (p[1] & 0xfe) != 0xf8)
        return false;
    unsigned size = p[2] >> 4, rate = p[2] & 15, channels = p[3] >> 4;
    if (size == 0 || rate == 15 || channels > 10 || (p[3] & 1) ||
        (channels < 8 ? channels + 1 : 2) != parts->info.channels)
        return false;
    out->variable = p[1] & 1;
    size_t at = 4, digits = read_number(p + 4, room - 4, &out->number);
    at += digits;
    if (digits == 0 || at + 5 > room)
        return false;
    out->samples = sizes[size];
    if (size == 6)
        out->samples = (uint32_t)p[at++] + 1;
    if (size == 7) {
        out->samples = ((uint32_t)p[at] << 8 | p[at + 1]) + 1;
        at += 2;
    }
    at += rate == 12 ? 1 : rate >= 13 ? 2 : 0;
    return at < room && crc8(p, at) == p[at];
}

/* STREAMINFO, and where the frames begin. */
static mldf_status read_metadata(const uint8_t *data, size_t bytes, size_t *at, struct audio_parts *out,
                                 mldf_error *err) {
    bool last = false, first = true;
    while (!last) {
        if (bytes - *at < BLOCK_HEAD || bytes - *at - BLOCK_HEAD < be24(data + *at + 1))
            return mldfi_fail_at(err, MLDF_E_TRUNCATED, bytes, "the FLAC file ends in its metadata");
        unsigned kind = data[*at] & 0x7f;
        uint32_t length = be24(data + *at + 1);
        const uint8_t *block = data + *at + BLOCK_HEAD;
        last = data[*at] & 0x80;
        if (first != (kind == 0) || (first && length != FLAC_STREAMINFO) || kind == 127)
            return mldfi_fail_at(err, MLDF_E_CORRUPT, *at, "FLAC: metadata block %u of %" PRIu32 " bytes, where %s",
                                 kind, length, first ? "STREAMINFO must be" : "it has no place");
        if (first) {
            out->info.rate = be24(block + 10) >> 4;
            out->info.channels = (block[12] >> 1 & 7u) + 1;
            out->info.bits = ((block[12] & 1u) << 4 | block[13] >> 4) + 1;
            out->info.codec = MLDF_AUDIO_FLAC;
            out->info.samples = (uint64_t)(block[13] & 15) << 32 | (uint64_t)block[14] << 24 | be24(block + 15);
            if (out->info.rate == 0 || out->info.bits < 4)
                return mldfi_fail_at(err, MLDF_E_CORRUPT, *at, "FLAC: %" PRIu32 " samples a second of %" PRIu32 " bits",
                                     out->info.rate, out->info.bits);
            TRY(mldf_buffer_append(&out->extra, block, FLAC_STREAMINFO, err));
        }
        first = false;
        *at += BLOCK_HEAD + length;
    }
    return MLDF_OK;
}

/* ID3v2 in front of a FLAC file, as some programs put it. */
static size_t id3_bytes(const uint8_t *data, size_t bytes) {
    if (bytes < 10 || memcmp(data, "ID3", 3) != 0 || ((data[6] | data[7] | data[8] | data[9]) & 0x80))
        return 0;
    size_t size = (size_t)data[6] << 21 | (size_t)data[7] << 14 | (size_t)data[8] << 7 | data[9];
    size += 10 + (data[5] & 0x10 ? 10 : 0);
    return size < bytes ? size : 0;
}

static bool is_flac(const uint8_t *data, size_t bytes) {
    size_t at = id3_bytes(data, bytes);
    return bytes - at >= MARKER && memcmp(data + at, "fLaC", MARKER) == 0;
}

/* The most bytes that a frame can have: what its samples need as they are, twice, or what STREAMINFO says. */
static size_t longest_frame(const struct audio_parts *parts, const struct frame *frame) {
    uint64_t plain = ((uint64_t)frame->samples * (parts->info.bits + 1) + 7) / 8 * parts->info.channels;
    uint64_t most = 2 * plain + 1024, said = be24(parts->extra.data + 7);
    return (size_t)(said > most ? said : most);
}

/* What programs put behind the last frame. */
static bool is_tag(const uint8_t *p, size_t room) {
    return (room >= 3 && (memcmp(p, "TAG", 3) == 0 || memcmp(p, "ID3", 3) == 0)) ||
           (room >= 8 && memcmp(p, "APETAGEX", 8) == 0);
}

/* Where the frame that begins at `at` ends: at the next frame; where it is the last one, at a tag, at the file's end, or at the last place that its
 * CRC allows; 0: nowhere. *next is the one that follows. */
static size_t find_end(const uint8_t *data, size_t bytes, size_t at, const struct frame *frame,
                       const struct audio_parts *parts, const uint16_t table[256], struct frame *next, bool *more) {
    uint16_t crc = 0; /* of [at, i): 0 after a frame with its own CRC */
    size_t ended = 0, most = longest_frame(parts, frame), stop = bytes - at > most ? at + most : bytes;
    bool tag = false;
    *more = false;
    for (size_t i = at; i < stop; i++) {
        if (crc == 0 && i >= at + FRAME_LEAST) {
            if (data[i] == 0xff && read_header(data + i, bytes - i, parts, next) && next->variable == frame->variable &&
                next->number == frame->number + (frame->variable ? frame->samples : 1)) {
                *more = true;
                return i;
            }
            if (!tag)
                ended = i;
            tag = tag || is_tag(data + i, bytes - i);
        }
        crc = (uint16_t)(crc << 8 ^ table[crc >> 8 ^ data[i]]);
    }
    return crc == 0 && stop == bytes && !tag ? bytes : ended;
}

/* Does a later frame of the stream follow? Then the one that seemed to be the last is damaged: by chance a CRC is right in one of 65536 places. */
static bool has_later(const uint8_t *data, size_t bytes, size_t at, const struct frame *last,
                      const struct audio_parts *parts) {
    struct frame frame;
    for (const uint8_t *p = data + at; (p = memchr(p, 0xff, (size_t)(data + bytes - p))) != NULL; p++)
        if (read_header(p, (size_t)(data + bytes - p), parts, &frame) && frame.variable == last->variable &&
            frame.number > last->number)
            return true;
    return false;
}

static mldf_status demux(const uint8_t *data, size_t bytes, struct audio_parts *out, mldf_error *err) {
    size_t at = id3_bytes(data, bytes) + MARKER;
    uint16_t table[256];
    struct frame frame, next;
    uint64_t total = 0, stated;
    make_crc16(table);
    mldf_status status = read_metadata(data, bytes, &at, out, err);
    if (status < 0)
        return status;
    out->data = data;
    out->whole = true;
    out->head_bytes = at;
    stated = out->info.samples;
    bool more = at < bytes && read_header(data + at, bytes - at, out, &frame);
    if (!more && at < bytes && stated)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, at, "FLAC: no frame where the first must be");
    if (more && frame.number != 0)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, at, "FLAC: the first frame has number %" PRIu64, frame.number);
    while (more && status == MLDF_OK) {
        size_t end = find_end(data, bytes, at, &frame, out, table, &next, &more);
        if (end == 0 || (!more && has_later(data, bytes, end, &frame, out)))
            return mldfi_fail_at(err, MLDF_E_CORRUPT, at,
                                 "FLAC: the frame with sample %" PRIu64 " is damaged or cut short: its CRC is wrong",
                                 total);
        status = mldfi_audio_parts_add(out, (struct audio_packet){at, (uint32_t)(end - at), frame.samples, 0}, err);
        total += frame.samples;
        at = end;
        frame = next;
    }
    if (status < 0)
        return status;
    if (stated && total != stated)
        return mldfi_fail_at(err, total < stated ? MLDF_E_TRUNCATED : MLDF_E_CORRUPT, at,
                             "FLAC: frames of %" PRIu64 " samples, and the header says %" PRIu64, total, stated);
    out->info.samples = total;
    out->tail_bytes = bytes - at;
    return MLDF_OK;
}

const struct audio_container mldfi_container_flac = {"FLAC", is_flac, demux};
