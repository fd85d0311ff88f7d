/* Writing the payload of AUDIO_COMPRESSED: audio_packets.h. */
#include <string.h>

#include "field/audio_packets.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/crc32c.h"
#include "util/error.h"

struct layout {
    uint32_t flags, duration, stream_bytes;
    uint64_t packet_bytes, decoded, first, total, head_bytes, tail_bytes, file_bytes;
    uint64_t offsets_at, samples_at, back_at;
};

/* Equal durations, but for the last packet's, which may be shorter; 0: they are not. */
static uint32_t same_duration(const struct audio_parts *parts) {
    uint32_t d = parts->count ? parts->packets[0].samples : 1;
    for (size_t i = 0; i < parts->count; i++) {
        uint32_t n = parts->packets[i].samples;
        if (n == 0 || (i + 1 < parts->count ? n != d : n > d))
            return 0;
    }
    return d;
}

static struct layout plan(const struct audio_parts *parts, unsigned flags, size_t file_bytes, bool keep) {
    struct layout l = {.flags = flags, .duration = parts->cut ? 0 : same_duration(parts)};
    bool back = false,
         whole = parts->whole && parts->head_bytes <= PACKETS_KEPT_MAX && parts->tail_bytes <= PACKETS_KEPT_MAX;
    uint64_t n = parts->count;
    for (size_t i = 0; i < parts->count; i++) {
        l.packet_bytes += parts->packets[i].bytes;
        l.decoded += parts->packets[i].samples;
        back = back || parts->packets[i].back;
    }
    l.flags |= parts->history ? PACKETS_HISTORY : 0;
    l.flags |= parts->cut ? PACKETS_CUT : 0;
    l.flags |= l.duration ? 0 : PACKETS_VARY;
    l.flags |= l.packet_bytes > UINT32_MAX ? PACKETS_WIDE_OFFSETS : 0;
    l.flags |= !l.duration && l.decoded > UINT32_MAX ? PACKETS_WIDE_SAMPLES : 0;
    l.flags |= back ? PACKETS_BACK : 0;
    l.flags |= whole ? PACKETS_FILE : 0;
    l.head_bytes = whole ? parts->head_bytes : 0;
    l.tail_bytes = whole ? parts->tail_bytes : 0;
    l.file_bytes = keep && !whole ? file_bytes : 0;
    l.stream_bytes = PACKETS_STREAM + (uint32_t)mldfi_align_up(parts->extra.size, 8);
    uint64_t at = PACKETS_HEADER + l.stream_bytes;
    l.offsets_at = at;
    at += mldfi_align_up((n + 1) * (l.flags & PACKETS_WIDE_OFFSETS ? 8 : 4), 8);
    l.samples_at = at;
    at += l.flags & PACKETS_VARY ? mldfi_align_up((n + 1) * (l.flags & PACKETS_WIDE_SAMPLES ? 8 : 4), 8) : 0;
    l.back_at = at;
    at += back ? mldfi_align_up(n, 8) : 0;
    l.first = at + l.head_bytes;
    l.total = l.first + l.packet_bytes + l.tail_bytes + l.file_bytes;
    return l;
}

static void store(uint8_t *p, size_t i, bool wide, uint64_t v) {
    if (wide)
        mldfi_store_u64(p + 8 * i, v);
    else
        mldfi_store_u32(p + 4 * i, (uint32_t)v);
}

static void write_head(const struct audio_parts *parts, const struct layout *l, uint8_t *p) {
    uint8_t *s = p + PACKETS_HEADER;
    mldfi_store_u32(p, PACKETS_VERSION);
    mldfi_store_u32(p + 4, l->flags);
    mldfi_store_u64(p + 8, parts->count);
    mldfi_store_u32(p + 16, l->duration);
    mldfi_store_u32(p + 20, l->stream_bytes);
    mldfi_store_u64(p + 24, l->first);
    mldfi_store_u64(p + 32, l->packet_bytes);
    mldfi_store_u32(p + 40, (uint32_t)l->head_bytes);
    mldfi_store_u32(p + 44, (uint32_t)l->tail_bytes);
    mldfi_store_u64(p + 48, l->file_bytes);
    mldfi_store_u16(s, 1);
    s[2] = (uint8_t)parts->info.codec;
    mldfi_store_u32(s + 8, parts->info.rate);
    mldfi_store_u16(s + 12, (uint16_t)parts->info.channels);
    mldfi_store_u16(s + 14, (uint16_t)parts->info.bits);
    mldfi_store_u32(s + 16, parts->info.mask);
    mldfi_store_u32(s + 24, 1);
    mldfi_store_u32(s + 28, parts->info.rate);
    mldfi_store_u64(s + 32, parts->skip);
    mldfi_store_u64(s + 40, parts->trim);
    mldfi_store_u32(s + 48, parts->preroll);
    mldfi_store_u32(s + 52, (uint32_t)parts->extra.size);
    if (parts->extra.size)
        memcpy(s + PACKETS_STREAM, parts->extra.data, parts->extra.size);
    mldfi_store_u32(p + 56, mldfi_crc32c(mldfi_crc32c(0, p, 56), s, l->stream_bytes));
}

static void write_packets(const struct audio_parts *parts, const struct layout *l, const uint8_t *file, uint8_t *p) {
    bool wide = l->flags & PACKETS_WIDE_OFFSETS, wide_samples = l->flags & PACKETS_WIDE_SAMPLES;
    uint64_t offset = 0, sample = 0;
    size_t i = 0;
    for (;; i++) {
        store(p + l->offsets_at, i, wide, offset);
        if (l->flags & PACKETS_VARY)
            store(p + l->samples_at, i, wide_samples, sample);
        if (i == parts->count)
            break;
        const struct audio_packet *packet = &parts->packets[i];
        if (l->flags & PACKETS_BACK)
            p[l->back_at + i] = packet->back;
        if (packet->bytes)
            memcpy(p + l->first + offset, parts->data + packet->offset, packet->bytes);
        offset += packet->bytes;
        sample += packet->samples;
    }
    if (l->head_bytes)
        memcpy(p + l->first - l->head_bytes, file, (size_t)l->head_bytes);
    if (l->tail_bytes)
        memcpy(p + l->first + offset, parts->data + parts->head_bytes + offset, (size_t)l->tail_bytes);
    if (l->file_bytes)
        memcpy(p + l->total - l->file_bytes, file, (size_t)l->file_bytes);
}

mldf_status mldfi_packets_build(const struct audio_parts *parts, unsigned flags, const void *file, size_t file_bytes,
                                bool keep, mldf_buffer *out, mldf_error *err) {
    uint8_t *where;
    if (parts->extra.size > AUDIO_EXTRA_MAX)
        return mldfi_fail(err, MLDF_E_LIMIT, "%zu bytes for the decoder are too many", parts->extra.size);
    struct layout l = plan(parts, flags, file_bytes, keep);
    TRY(mldfi_buffer_extend(out, (size_t)l.total, &where, err));
    memset(where, 0, (size_t)(l.first - l.head_bytes));
    write_head(parts, &l, where);
    write_packets(parts, &l, file, where);
    return MLDF_OK;
}
