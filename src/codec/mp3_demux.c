/* MP3 files taken apart: tags, then frames of MPEG-1, 2 and 2.5 Layer III, each with a header that says its length. A frame with a Xing, Info or
 * VBRI tag holds no sound; LAME's says how many samples its encoder put in front and behind. No library is needed. */
#include <inttypes.h>
#include <string.h>

#include "codec/audio_stream.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

enum { HEADER = 4, DECODER_DELAY = 529, BACK_MAX = 255 };

struct frame {
    uint32_t bytes, rate, samples;
    unsigned channels, side; /* bytes of side information, with the header and CRC in front of it */
    unsigned crc;            /* bytes of CRC */
    bool mpeg1;
};

/* A frame's header; false: there is none, or of another layer or free format. */
static bool read_header(const uint8_t *p, size_t room, struct frame *out) {
    static const uint16_t rates1[15] = {0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320};
    static const uint16_t rates2[15] = {0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160};
    static const uint32_t samplings[3] = {44100, 48000, 32000};
    if (room < HEADER || p[0] != 0xff || (p[1] & 0xe0) != 0xe0)
        return false;
    unsigned version = p[1] >> 3 & 3, layer = p[1] >> 1 & 3, bits = p[2] >> 4, sampling = p[2] >> 2 & 3;
    if (version == 1 || layer != 1 || bits == 0 || bits == 15 || sampling == 3 || (p[3] & 3) == 2)
        return false;
    out->mpeg1 = version == 3;
    out->rate = samplings[sampling] >> (version == 3 ? 0 : version == 2 ? 1 : 2);
    out->samples = out->mpeg1 ? 1152 : 576;
    out->channels = p[3] >> 6 == 3 ? 1 : 2;
    uint32_t kilobits = out->mpeg1 ? rates1[bits] : rates2[bits];
    out->bytes = out->samples / 8 * kilobits * 1000 / out->rate + (p[2] >> 1 & 1);
    out->crc = p[1] & 1 ? 0 : 2;
    out->side = HEADER + out->crc + (out->mpeg1 ? (out->channels == 1 ? 17 : 32) : (out->channels == 1 ? 9 : 17));
    return out->bytes > out->side;
}

size_t mldfi_mp3_frame_bytes(const uint8_t *packet, size_t bytes) {
    struct frame frame;
    return read_header(packet, bytes, &frame) && frame.bytes <= bytes ? frame.bytes : 0;
}

/* Free format: every bit rate but 0 is in the table. */
static bool is_free_format(const uint8_t *p, size_t room) {
    return room >= HEADER && p[0] == 0xff && (p[1] & 0xe0) == 0xe0 && (p[1] >> 1 & 3) == 1 && p[2] >> 4 == 0 &&
           (p[2] >> 2 & 3) != 3;
}

static uint32_t be32(const uint8_t *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Bytes of the ID3v2 or APEv2 tag that begins here; 0: none does. */
static size_t tag_bytes(const uint8_t *p, size_t room) {
    enum { ID3_HEAD = 10, APE_HEAD = 32, APE_IS_HEADER = 0x20 };
    if (room >= ID3_HEAD && memcmp(p, "ID3", 3) == 0 && !((p[6] | p[7] | p[8] | p[9]) & 0x80))
        return ((size_t)p[6] << 21 | (size_t)p[7] << 14 | (size_t)p[8] << 7 | p[9]) + ID3_HEAD +
               (p[5] & 0x10 ? ID3_HEAD : 0);
    if (room >= APE_HEAD && memcmp(p, "APETAGEX", 8) == 0 &&
        (p[23] & APE_IS_HEADER)) /* its size is without the header */
        return (size_t)mldfi_load_u32(p + 12) + APE_HEAD;
    return 0;
}

/* Tags in front, as often as they are there. */
static size_t skip_tags(const uint8_t *data, size_t bytes) {
    size_t at = 0, size;
    while ((size = tag_bytes(data + at, bytes - at)) != 0) {
        if (size >= bytes - at)
            return at;
        at += size;
    }
    return at;
}

static bool same_stream(const struct frame *a, const struct frame *b) {
    return a->rate == b->rate && a->channels == b->channels && a->mpeg1 == b->mpeg1;
}

/* A frame at `at`, and another one, or the end, where it ends. */
static bool is_start(const uint8_t *data, size_t bytes, size_t at, struct frame *frame) {
    struct frame next;
    if (!read_header(data + at, bytes - at, frame) || frame->bytes > bytes - at)
        return false;
    size_t end = at + frame->bytes;
    return end == bytes || (read_header(data + end, bytes - end, &next) && same_stream(frame, &next)) ||
           (bytes - end >= 3 && (memcmp(data + end, "TAG", 3) == 0 || memcmp(data + end, "APE", 3) == 0));
}

static size_t find_start(const uint8_t *data, size_t bytes, size_t at, struct frame *frame) {
    for (; bytes - at >= HEADER; at++)
        if (data[at] == 0xff && is_start(data, bytes, at, frame))
            return at;
    return bytes;
}

static bool is_mp3(const uint8_t *data, size_t bytes) {
    struct frame frame;
    size_t at = skip_tags(data, bytes);
    if (at == 0)
        return is_start(data, bytes, 0, &frame) || (is_free_format(data, bytes) && bytes > 64);
    if (bytes - at >= 4 && memcmp(data + at, "fLaC", 4) == 0)
        return false;
    size_t most = bytes - at > 4096 ? at + 4096 : bytes;
    return find_start(data, most, at, &frame) < most;
}

/* Xing or Info, and what LAME adds to it; VBRI. True: the frame is such a tag. */
static bool read_tag(const uint8_t *p, const struct frame *frame, uint64_t *skip, uint64_t *trim) {
    size_t at = frame->side - frame->crc; /* LAME counts without the CRC */
    const uint8_t *end = p + frame->bytes;
    for (int i = 0; i < 2; i++, at += frame->crc) {
        const uint8_t *q = p + at;
        if (end - q < 8 || (memcmp(q, "Xing", 4) != 0 && memcmp(q, "Info", 4) != 0))
            continue;
        uint32_t flags = be32(q + 4);
        q += 8 + (flags & 1 ? 4 : 0) + (flags & 2 ? 4 : 0) + (flags & 4 ? 100 : 0) + (flags & 8 ? 4 : 0);
        if (end - q >= 24 && (memcmp(q, "LAME", 4) == 0 || memcmp(q, "Lavc", 4) == 0 || memcmp(q, "Lavf", 4) == 0)) {
            uint32_t delay = (uint32_t)q[21] << 4 | q[22] >> 4, padding = (uint32_t)(q[22] & 15) << 8 | q[23];
            *skip = delay + DECODER_DELAY;
            *trim = padding > DECODER_DELAY ? padding - DECODER_DELAY : 0;
        }
        return true;
    }
    return frame->bytes >= 36 + 26 && memcmp(p + 36, "VBRI", 4) == 0;
}

/* How many packets in front of the last one hold bits of it: the reservoir. */
static uint8_t find_back(const uint8_t *p, const struct frame *frame, const uint32_t *main_bytes, size_t count) {
    const uint8_t *side = p + HEADER + frame->crc;
    uint32_t need = frame->mpeg1 ? (uint32_t)side[0] << 1 | side[1] >> 7 : side[0];
    unsigned back = 0;
    while (need > 0 && back < count && back < BACK_MAX) {
        uint32_t has = main_bytes[(count - 1 - back) % BACK_MAX];
        back++;
        need = has < need ? need - has : 0;
    }
    return (uint8_t)back;
}

static mldf_status walk(const uint8_t *data, size_t bytes, size_t at, struct frame frame, struct audio_parts *out,
                        size_t *end, mldf_error *err) {
    uint32_t main_bytes[BACK_MAX]; /* of the last packets: what each has for main data */
    struct frame next;
    mldf_status status = MLDF_OK;
    for (;;) {
        uint8_t back = find_back(data + at, &frame, main_bytes, out->count);
        main_bytes[out->count % BACK_MAX] = frame.bytes - frame.side;
        if ((status = mldfi_audio_parts_add(out, (struct audio_packet){at, frame.bytes, frame.samples, back}, err)) < 0)
            return status;
        *end = at + frame.bytes;
        size_t found = *end;
        if (!(read_header(data + found, bytes - found, &next) && next.bytes <= bytes - found &&
              same_stream(&frame, &next))) {
            found = find_start(data, bytes, *end, &next); /* past what is no frame */
            if (found == bytes)
                return MLDF_OK;
            if (!same_stream(&frame, &next))
                return mldfi_fail_at(err, MLDF_E_UNSUPPORTED, found,
                                     "MP3: frames of %" PRIu32 " Hz and %u channels follow those of %" PRIu32
                                     " Hz and %u; convert the file to one of them first",
                                     next.rate, next.channels, frame.rate, frame.channels);
            if (found - at > AUDIO_PACKET_BYTES) /* what is between belongs to the packet before */
                return mldfi_audio_long_packet(out->count - 1, at, found - at, err);
            out->packets[out->count - 1].bytes = (uint32_t)(found - at);
        }
        at = found;
        frame = next;
    }
}

static mldf_status demux(const uint8_t *data, size_t bytes, struct audio_parts *out, mldf_error *err) {
    struct frame frame;
    uint64_t skip = 0, trim = 0, total;
    size_t tags = skip_tags(data, bytes), at = find_start(data, bytes, tags, &frame), end = at;
    if (at == bytes && is_free_format(data + tags, bytes - tags))
        return mldfi_fail_at(err, MLDF_E_UNSUPPORTED, tags,
                             "MP3 of free format is not taken; encode the file again at a usual bit rate");
    if (at == bytes)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, tags, "MP3: no two frames in a row");
    out->info = (mldf_audio_info){.rate = frame.rate, .channels = frame.channels, .codec = MLDF_AUDIO_MP3};
    if (read_tag(data + at, &frame, &skip, &trim)) {
        size_t after = at + frame.bytes;
        at = find_start(data, bytes, after, &frame);
        if (at == bytes)
            return mldfi_fail_at(err, MLDF_E_TRUNCATED, after, "MP3: no frame follows the one with the encoder's tag");
    }
    TRY(walk(data, bytes, at, frame, out, &end, err));
    total = (uint64_t)out->count * frame.samples;
    out->skip = skip < total ? skip : total;
    out->trim = trim < total - out->skip ? trim : total - out->skip;
    out->info.samples = total - out->skip - out->trim;
    out->data = data;
    out->whole = true;
    out->head_bytes = at;
    out->tail_bytes = bytes - end;
    return MLDF_OK;
}

const struct audio_container mldfi_container_mp3 = {"MP3", is_mp3, demux};
