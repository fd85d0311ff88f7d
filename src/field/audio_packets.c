/* See audio_packets.h: reading the table. audio_packets_build.c writes it. */
#include "field/audio_packets.h"

#include <inttypes.h>
#include <string.h>

#include "util/bytes.h"
#include "util/crc32c.h"
#include "util/error.h"

mldf_status mldfi_audio_from_memory(void *user, uint64_t offset, uint64_t bytes, const void **data, mldf_error *err) {
    (void)bytes, (void)err;
    *data = ((const struct audio_memory *)user)->data + offset;
    return MLDF_OK;
}

/* ---- Header and stream entry -------------------------------------------------------------------------------------------------------- */

static mldf_status wrong(uint64_t at, const char *what, uint64_t value, mldf_error *err) {
    return mldfi_fail(err, MLDF_E_CORRUPT, "byte %" PRIu64 " of the value: %s %" PRIu64, at, what, value);
}

static mldf_status read_header(const uint8_t *h, uint64_t total, struct packets_head *out, uint32_t *stream_bytes,
                               mldf_error *err) {
    uint32_t version = mldfi_load_u32(h);
    out->flags = mldfi_load_u32(h + 4);
    out->count = mldfi_load_u64(h + 8);
    out->duration = mldfi_load_u32(h + 16);
    *stream_bytes = mldfi_load_u32(h + 20);
    out->first = mldfi_load_u64(h + 24);
    out->bytes = mldfi_load_u64(h + 32);
    out->head_bytes = mldfi_load_u32(h + 40);
    out->tail_bytes = mldfi_load_u32(h + 44);
    out->file_bytes = mldfi_load_u64(h + 48);
    if (version != PACKETS_VERSION)
        return mldfi_fail(err, MLDF_E_FEATURE,
                          "byte 0 of the value: version %" PRIu32 " of the packet table; %d is known", version,
                          PACKETS_VERSION);
    if (out->flags & ~(uint32_t)PACKETS_FLAGS)
        return mldfi_fail(err, MLDF_E_FEATURE, "byte 4 of the value: flags 0x%" PRIx32 " of the packet table",
                          out->flags);
    if ((out->flags & PACKETS_CUT) && !(out->flags & PACKETS_VARY))
        return wrong(4, "flags of packets that are cut, and their durations do not vary:", out->flags, err);
    if ((out->duration == 0) != ((out->flags & PACKETS_VARY) != 0) || out->duration > AUDIO_PACKET_SAMPLES)
        return wrong(16, "packets of so many samples each:", out->duration, err);
    if (*stream_bytes < PACKETS_STREAM || *stream_bytes % 8 || *stream_bytes > PACKETS_STREAM + AUDIO_EXTRA_MAX)
        return wrong(20, "a stream table of so many bytes:", *stream_bytes, err);
    if (out->head_bytes > PACKETS_KEPT_MAX)
        return wrong(40, "so many bytes of the file's head:", out->head_bytes, err);
    if (out->tail_bytes > PACKETS_KEPT_MAX)
        return wrong(44, "so many bytes of the file's tail:", out->tail_bytes, err);
    if (out->count > total)
        return wrong(8, "more packets than bytes:", out->count, err);
    return MLDF_OK;
}

/* Where the columns are, and that all of it lies in the payload, in order. */
static mldf_status place(uint64_t total, uint32_t stream_bytes, struct packets_head *out, mldf_error *err) {
    uint64_t at = PACKETS_HEADER + stream_bytes, n = out->count; /* n is at most the bytes: nothing wraps */
    out->offsets_at = at;
    at += mldfi_align_up((n + 1) * (out->flags & PACKETS_WIDE_OFFSETS ? 8 : 4), 8);
    out->samples_at = at;
    if (out->flags & PACKETS_VARY)
        at += mldfi_align_up((n + 1) * (out->flags & PACKETS_WIDE_SAMPLES ? 8 : 4), 8);
    out->back_at = at;
    if (out->flags & PACKETS_BACK)
        at += mldfi_align_up(n, 8);
    if (at > total || out->first > total || out->first < at + out->head_bytes)
        return wrong(24, "the packets begin at byte", out->first, err);
    if (out->bytes > total - out->first)
        return wrong(32, "packets of so many bytes:", out->bytes, err);
    if (!mldfi_range_inside(out->file_bytes, out->tail_bytes, total - out->first - out->bytes))
        return wrong(48, "a kept file of so many bytes:", out->file_bytes, err);
    return MLDF_OK;
}

static mldf_status read_stream(const mldf_audio_info *info, const uint8_t *s, uint32_t stream_bytes,
                               struct packets_head *out, mldf_error *err) {
    enum { AT = PACKETS_HEADER };
    if (mldfi_load_u16(s) != 1)
        return wrong(AT, "a stream of kind", mldfi_load_u16(s), err);
    if (s[2] != (uint8_t)info->codec)
        return wrong(AT + 2, "the record's codec is not the stream's:", s[2], err);
    if (mldfi_load_u32(s + 8) != info->rate)
        return wrong(AT + 8, "the record's rate is not the stream's:", mldfi_load_u32(s + 8), err);
    if (mldfi_load_u16(s + 12) != info->channels)
        return wrong(AT + 12, "the record's channels are not the stream's:", mldfi_load_u16(s + 12), err);
    if (mldfi_load_u16(s + 14) != info->bits)
        return wrong(AT + 14, "the record's bits are not the stream's:", mldfi_load_u16(s + 14), err);
    out->mask = mldfi_load_u32(s + 16);
    out->skip = mldfi_load_u64(s + 32);
    out->trim = mldfi_load_u64(s + 40);
    out->preroll = mldfi_load_u32(s + 48);
    out->extra_bytes = mldfi_load_u32(s + 52);
    if (out->extra_bytes > stream_bytes - PACKETS_STREAM)
        return wrong(AT + 52, "so many bytes for the decoder:", out->extra_bytes, err);
    if (!mldfi_add_u64(info->samples, out->skip, &out->decoded) ||
        !mldfi_add_u64(out->decoded, out->trim, &out->decoded))
        return wrong(AT + 32, "so many samples to skip:", out->skip, err);
    return MLDF_OK;
}

/* All packets but the last have the duration, and the last at least one sample. */
static mldf_status check_count(const struct packets_head *h, mldf_error *err) {
    uint64_t d = h->duration, most;
    if (h->count == 0)
        return h->decoded ? wrong(8, "no packets, and so many samples:", h->decoded, err) : MLDF_OK;
    if (d && (!mldfi_mul_u64(h->count, d, &most) || h->decoded > most || h->decoded <= most - d))
        return wrong(8, "so many packets cannot hold the recording's samples:", h->count, err);
    return MLDF_OK;
}

mldf_status mldfi_packets_open(const mldf_audio_info *info, const struct audio_bytes *in, struct packets_head *out,
                               const uint8_t **extra, mldf_error *err) {
    uint8_t header[PACKETS_HEADER];
    uint32_t stream_bytes;
    const void *data;
    uint64_t look = in->total < PACKETS_FIRST_LOOK ? in->total : PACKETS_FIRST_LOOK;
    if (in->total < PACKETS_HEADER + PACKETS_STREAM)
        return mldfi_fail(err, MLDF_E_CORRUPT, "a value of %" PRIu64 " bytes has no packet table", in->total);
    mldf_status status = in->get(in->user, 0, look, &data, err);
    if (status < 0)
        return status;
    memcpy(header, data, sizeof header);
    if ((status = read_header(header, in->total, out, &stream_bytes, err)) < 0 ||
        (status = place(in->total, stream_bytes, out, err)) < 0)
        return status;
    const uint8_t *stream = (const uint8_t *)data + PACKETS_HEADER;
    if (look < (uint64_t)PACKETS_HEADER + stream_bytes) { /* inside: place() looked */
        if ((status = in->get(in->user, PACKETS_HEADER, stream_bytes, &data, err)) < 0)
            return status;
        stream = data;
    }
    uint32_t crc = mldfi_crc32c(mldfi_crc32c(0, header, 56), stream, stream_bytes);
    if (crc != mldfi_load_u32(header + 56))
        return wrong(56, "the CRC of the packet table's head is", crc, err);
    if ((status = read_stream(info, stream, stream_bytes, out, err)) < 0)
        return status;
    *extra = stream + PACKETS_STREAM;
    return check_count(out, err);
}

/* ---- Columns ------------------------------------------------------------------------------------------------------------------------- */

/* Entries [from, from + count] of a column: they must not descend, and none is above `most`. */
static mldf_status column(const struct audio_bytes *in, uint64_t at, bool wide, uint64_t from, size_t count,
                          uint64_t most, uint64_t *out, mldf_error *err) {
    uint64_t width = wide ? 8 : 4;
    const void *data;
    TRY(in->get(in->user, at + from * width, (count + 1) * width, &data, err));
    for (size_t i = 0; i <= count; i++) {
        out[i] = wide ? mldfi_load_u64((const uint8_t *)data + 8 * i) : mldfi_load_u32((const uint8_t *)data + 4 * i);
        if (out[i] > most || (i && out[i] < out[i - 1]))
            return wrong(at + (from + i) * width, "an entry of the packet table that is not in order:", out[i], err);
    }
    return MLDF_OK;
}

mldf_status mldfi_packets_offsets(const struct packets_head *head, const struct audio_bytes *in, uint64_t from,
                                  size_t count, uint64_t *out, mldf_error *err) {
    return column(in, head->offsets_at, head->flags & PACKETS_WIDE_OFFSETS, from, count, head->bytes, out, err);
}

mldf_status mldfi_packets_samples(const struct packets_head *head, const struct audio_bytes *in, uint64_t from,
                                  size_t count, uint64_t *out, mldf_error *err) {
    if (head->flags & PACKETS_VARY)
        return column(in, head->samples_at, head->flags & PACKETS_WIDE_SAMPLES, from, count, head->decoded, out, err);
    for (size_t i = 0; i <= count; i++) {
        uint64_t sample = (from + i) * head->duration;
        out[i] = sample < head->decoded ? sample : head->decoded;
    }
    return MLDF_OK;
}

/* Where durations vary: guesses by proportion, a block of entries at a time, and halves what is left where guesses do not help. */
static mldf_status search(const struct packets_head *head, const struct audio_bytes *in, uint64_t at, uint64_t *packet,
                          uint64_t *begin, mldf_error *err) {
    enum { BLOCK = 128 };
    uint64_t entries[BLOCK + 1], low = 0, high = head->count, low_sample = 0, high_sample = head->decoded;
    for (int step = 0; low < high; step++) {
        uint64_t span = high - low, guess = low + span / 2;
        if (step % 3 != 2 && high_sample > low_sample)
            guess = low + (uint64_t)((double)span * ((double)(at - low_sample) / (double)(high_sample - low_sample)));
        uint64_t from = guess > low + BLOCK / 2 ? guess - BLOCK / 2 : low;
        if (from + BLOCK > high)
            from = high > low + BLOCK ? high - BLOCK : low;
        size_t count = (size_t)(high - from < BLOCK ? high - from : BLOCK);
        TRY(mldfi_packets_samples(head, in, from, count, entries, err));
        if (at < entries[0]) {
            high = from;
            high_sample = entries[0];
        } else if (at >= entries[count]) {
            low = from + count;
            low_sample = entries[count];
        } else {
            size_t i = 0;
            while (at >= entries[i + 1])
                i++;
            *packet = from + i;
            *begin = entries[i];
            return MLDF_OK;
        }
    }
    return wrong(head->samples_at, "no packet of the table holds sample", at, err);
}

mldf_status mldfi_packets_find(const struct packets_head *head, const struct audio_bytes *in, uint64_t at,
                               uint64_t *packet, uint64_t *begin, mldf_error *err) {
    if (head->flags & PACKETS_VARY)
        return search(head, in, at, packet, begin, err);
    *packet = at / head->duration;
    *begin = *packet * head->duration;
    return MLDF_OK;
}

mldf_status mldfi_packets_check(const struct packets_head *head, const struct audio_bytes *in, mldf_error *err) {
    enum { BLOCK = 256 };
    uint64_t entries[BLOCK + 1], last_offset = 0, last_sample = 0;
    mldf_status status = MLDF_OK;
    for (uint64_t from = 0; status == MLDF_OK && from < head->count; from += BLOCK) {
        size_t count = (size_t)(head->count - from < BLOCK ? head->count - from : BLOCK);
        status = mldfi_packets_offsets(head, in, from, count, entries, err);
        if (status == MLDF_OK && entries[0] != last_offset)
            return wrong(head->offsets_at, "the packets' offsets do not begin at 0, or jump, at packet", from, err);
        last_offset = entries[count];
        if (status == MLDF_OK)
            status = mldfi_packets_samples(head, in, from, count, entries, err);
        if (status == MLDF_OK && entries[0] != last_sample)
            return wrong(head->samples_at, "the packets' samples do not begin at 0, or jump, at packet", from, err);
        last_sample = entries[count];
    }
    if (status == MLDF_OK && last_offset != head->bytes)
        return wrong(32, "packets of so many bytes, and their offsets say otherwise:", head->bytes, err);
    if (status == MLDF_OK && last_sample != head->decoded)
        return wrong(head->samples_at, "the packets' samples end at", last_sample, err);
    return status;
}
