/* Ogg files taken apart (RFC 3533; Opus: RFC 7845): pages to packets of the first stream of sound. Packets are put together, as they may lie on
 * several pages; granule positions say where the recording begins and ends in what is decoded. */
#include <inttypes.h>
#include <string.h>

#include "codec/ogg.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

enum { PAGE_HEAD = 27, CONTINUED = 1, FIRST = 2, LAST = 4, OPUS_HEAD = 19 };
static const uint64_t no_granule = UINT64_MAX;

uint32_t mldfi_ogg_crc(const uint8_t *page, size_t bytes) {
    static const uint32_t polynomial = 0x04c11db7;
    uint32_t table[256], crc = 0;
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t v = i << 24;
        for (int k = 0; k < 8; k++)
            v = v << 1 ^ (v & 0x80000000u ? polynomial : 0);
        table[i] = v;
    }
    for (size_t i = 0; i < bytes; i++)
        crc = crc << 8 ^ table[crc >> 24 ^ (i >= 22 && i < 26 ? 0 : page[i])];
    return crc;
}

const uint8_t *mldfi_vorbis_order(uint32_t channels) {
    static const uint8_t orders[9][8] = {[3] = {0, 2, 1},
                                         [5] = {0, 2, 1, 3, 4},
                                         [6] = {0, 2, 1, 5, 3, 4},
                                         [7] = {0, 2, 1, 6, 5, 3, 4},
                                         [8] = {0, 2, 1, 7, 5, 6, 3, 4}};
    return channels == 3 || (channels >= 5 && channels <= 8) ? orders[channels] : NULL;
}

uint32_t mldfi_opus_samples(const uint8_t *packet, size_t bytes) {
    if (bytes == 0)
        return 0;
    unsigned config = packet[0] >> 3, code = packet[0] & 3, count = code == 0 ? 1 : 2;
    static const uint16_t silk[4] = {480, 960, 1920, 2880}, celt[4] = {120, 240, 480, 960};
    uint32_t size = config < 12 ? silk[config & 3] : config < 16 ? (config & 1 ? 960u : 480u) : celt[config & 3];
    if (code == 3) {
        if (bytes < 2)
            return 0;
        count = packet[1] & 63;
    }
    return size * count <= 5760 ? size * count : 0;
}

/* ---- Pages to packets ----------------------------------------------------------------------------------------------------------------- */

struct page {
    size_t at, bytes, body;
    unsigned flags, segments;
    uint64_t granule;
    uint32_t serial;
};

static mldf_status read_page(const uint8_t *data, size_t bytes, size_t at, struct page *out, mldf_error *err) {
    const uint8_t *p = data + at;
    if (bytes - at < PAGE_HEAD || bytes - at < (size_t)PAGE_HEAD + p[26])
        return MLDF_END; /* cut short: what is before it counts */
    if (memcmp(p, "OggS", 4) != 0 || p[4] != 0)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, at, "Ogg: no page where one must begin");
    *out = (struct page){at, 0, PAGE_HEAD + (size_t)p[26], p[5], p[26], mldfi_load_u64(p + 6), mldfi_load_u32(p + 14)};
    out->bytes = out->body;
    for (unsigned i = 0; i < out->segments; i++)
        out->bytes += p[PAGE_HEAD + i];
    if (out->bytes > bytes - at)
        return MLDF_END;
    if (mldfi_ogg_crc(p, out->bytes) != mldfi_load_u32(p + 22))
        return mldfi_fail_at(err, MLDF_E_CORRUPT, at, "Ogg: the CRC of the page is wrong");
    return MLDF_OK;
}

struct demux {
    struct audio_parts *out;
    uint32_t serial;
    bool open; /* a packet goes on on the next page */
    size_t headers, packet_at;
    struct vorbis_sizes *sizes;
    uint32_t block;                  /* Vorbis: of the packet before */
    uint64_t total;                  /* samples of all packets so far */
    uint64_t first_end, first_total; /* granule of the first page with sound, and the samples up to its end */
    uint64_t last_end;
    bool first_is_last;
};

static bool is_opus(const uint8_t *p, size_t bytes) {
    return bytes >= OPUS_HEAD && memcmp(p, "OpusHead", 8) == 0;
}

static bool is_vorbis(const uint8_t *p, size_t bytes) {
    return bytes >= 30 && memcmp(p, "\x01vorbis", 7) == 0;
}

/* Vorbis' three headers: 2, two lengths in Xiph's lacing, the headers. `extra` holds them end to end so far. */
static mldf_status lace_headers(struct audio_parts *out, const size_t lengths[3], mldf_error *err) {
    mldf_buffer laced = MLDF_BUFFER_INIT;
    mldf_status status = mldf_buffer_append(&laced, "\x02", 1, err);
    for (int i = 0; i < 2; i++) {
        size_t left = lengths[i];
        for (; left >= 255 && status == MLDF_OK; left -= 255)
            status = mldf_buffer_append(&laced, "\xff", 1, err);
        uint8_t byte = (uint8_t)left;
        if (status == MLDF_OK)
            status = mldf_buffer_append(&laced, &byte, 1, err);
    }
    if (status == MLDF_OK)
        status = mldf_buffer_append(&laced, out->extra.data, out->extra.size, err);
    mldf_buffer_free(&out->extra);
    out->extra = laced;
    return status;
}

static mldf_status take_header(struct demux *d, const uint8_t *p, size_t bytes, uint64_t at, size_t lengths[3],
                               mldf_error *err) {
    struct audio_parts *out = d->out;
    mldf_status status = MLDF_OK;
    if (d->headers == 0 && is_opus(p, bytes)) {
        out->info = (mldf_audio_info){.rate = 48000, .channels = p[9], .codec = MLDF_AUDIO_OPUS};
        out->skip = mldfi_load_u16(p + 10);
        if ((p[8] & 0xf0) || p[9] == 0 || (p[18] == 0 && p[9] > 2) || (p[18] && bytes < (size_t)OPUS_HEAD + 2 + p[9]))
            return mldfi_fail_at(err, MLDF_E_CORRUPT, at, "Opus: version %u, %u channels", p[8], p[9]);
        status = mldf_buffer_append(&out->extra, p, bytes, err);
    } else if (out->info.codec != MLDF_AUDIO_OPUS) {
        if (bytes < (d->headers ? 7u : 30u) || p[0] != 1 + 2 * d->headers || memcmp(p + 1, "vorbis", 6) != 0)
            return mldfi_fail_at(err, MLDF_E_CORRUPT, at, "Vorbis: header %zu is not where it must be", d->headers + 1);
        if (d->headers == 0) {
            out->info =
                (mldf_audio_info){.rate = mldfi_load_u32(p + 12), .channels = p[11], .codec = MLDF_AUDIO_VORBIS};
            if (out->info.rate == 0 || out->info.channels == 0)
                return mldfi_fail_at(err, MLDF_E_CORRUPT, at, "Vorbis: %u channels, %" PRIu32 " Hz", p[11],
                                     out->info.rate);
        }
        static const uint8_t no_comments[16] = "\x03vorbis\0\0\0\0\0\0\0\0\x01"; /* no vendor, none, framing */
        if (d->headers == 1 && bytes > AUDIO_COMMENTS_MAX) {
            p = no_comments;
            bytes = sizeof no_comments;
        }
        lengths[d->headers] = bytes;
        status = mldf_buffer_append(&out->extra, p, bytes, err);
        if (status == MLDF_OK && d->headers == 2 && (status = lace_headers(out, lengths, err)) == MLDF_OK)
            status = mldfi_vorbis_sizes_new(out->extra.data, out->extra.size, &d->sizes, err);
        out->preroll = 1;
    }
    d->headers++;
    return status;
}

/* A packet of sound that is complete. */
static mldf_status take_packet(struct demux *d, uint64_t at, mldf_error *err) {
    struct audio_parts *out = d->out;
    const uint8_t *p = out->made.data + d->packet_at;
    size_t bytes = out->made.size - d->packet_at;
    uint32_t samples;
    if (out->info.codec == MLDF_AUDIO_OPUS) {
        samples = mldfi_opus_samples(p, bytes);
        if (samples == 0)
            return mldfi_fail_at(err, MLDF_E_CORRUPT, at, "Opus: packet %zu has no duration", out->count);
    } else {
        if (bytes == 0 || (p[0] & 1)) { /* a header again, or nothing: no sound */
            out->made.size = d->packet_at;
            return MLDF_OK;
        }
        uint32_t block = mldfi_vorbis_block(d->sizes, p, bytes);
        if (block == 0)
            return mldfi_fail_at(err, MLDF_E_CORRUPT, at, "Vorbis: packet %zu is not one of its stream", out->count);
        samples = d->block ? d->block / 4 + block / 4 : 0;
        d->block = block;
    }
    d->total += samples;
    if (bytes > AUDIO_PACKET_BYTES)
        return mldfi_audio_long_packet(out->count, at, bytes, err);
    return mldfi_audio_parts_add(out, (struct audio_packet){d->packet_at, (uint32_t)bytes, samples, 0}, err);
}

static mldf_status take_page(struct demux *d, const uint8_t *data, const struct page *page, size_t lengths[3],
                             mldf_error *err) {
    const uint8_t *table = data + page->at + PAGE_HEAD, *body = data + page->at + page->body;
    size_t needed = d->out->info.codec == MLDF_AUDIO_OPUS ? 2 : 3;
    mldf_buffer *made = &d->out->made;
    size_t before = d->out->count;
    bool dropped = (page->flags & CONTINUED) && !d->open; /* the end of a packet whose beginning is not here */
    if (!(page->flags & CONTINUED) && d->open)
        made->size = d->packet_at;
    d->open = page->flags & CONTINUED ? d->open : false;
    for (unsigned i = 0; i < page->segments; i++, body += table[i - 1]) {
        if (!d->open && !dropped)
            d->packet_at = made->size;
        mldf_status status = dropped ? MLDF_OK : mldf_buffer_append(made, body, table[i], err);
        bool complete = table[i] < 255;
        d->open = !complete && !dropped;
        if (status == MLDF_OK && complete && !dropped && d->headers < needed) {
            status = take_header(d, made->data + d->packet_at, made->size - d->packet_at, page->at, lengths, err);
            made->size = d->packet_at;
            needed = d->out->info.codec == MLDF_AUDIO_OPUS ? 2 : 3;
        } else if (status == MLDF_OK && complete && !dropped) {
            status = take_packet(d, page->at, err);
        }
        dropped = dropped && !complete;
        if (status < 0)
            return status;
    }
    if (page->granule != no_granule && d->out->count > before) {
        if (d->first_end == no_granule) {
            d->first_end = page->granule;
            d->first_total = d->total;
            d->first_is_last = page->flags & LAST;
        }
        d->last_end = page->granule;
    }
    return MLDF_OK;
}

/* ---- Where the recording begins and ends ----------------------------------------------------------------------------------------------- */

static void settle(struct demux *d) {
    struct audio_parts *out = d->out;
    uint64_t begin = 0; /* granule of the first decoded sample, above 0 in what was cut out of a stream */
    if (d->first_end == no_granule)
        d->first_end = d->last_end = d->first_total = d->total;
    if (d->first_end > d->first_total)
        begin = d->first_end - d->first_total;
    else if (!d->first_is_last && out->info.codec == MLDF_AUDIO_VORBIS)
        out->skip = d->first_total - d->first_end; /* less than the packets give: it begins later */
    uint64_t end = d->last_end - (d->last_end < begin ? d->last_end : begin) +
                   (out->info.codec == MLDF_AUDIO_VORBIS ? out->skip : 0);
    if (end < d->total)
        out->trim = d->total - end;
    if (out->skip > d->total)
        out->skip = d->total;
    if (out->trim > d->total - out->skip)
        out->trim = d->total - out->skip;
    out->info.samples = d->total - out->skip - out->trim;
}

static mldf_status find_stream(const uint8_t *data, size_t bytes, uint32_t *serial, mldf_error *err) {
    struct page page;
    mldf_status status = MLDF_OK;
    for (size_t at = 0; at < bytes && (status = read_page(data, bytes, at, &page, err)) == MLDF_OK; at += page.bytes) {
        const uint8_t *body = data + page.at + page.body;
        size_t room = page.bytes - page.body;
        *serial = page.serial;
        if (!(page.flags & FIRST))
            break;
        if (is_opus(body, room) || is_vorbis(body, room))
            return MLDF_OK;
    }
    return status < 0 ? status
                      : mldfi_fail_at(err, MLDF_E_UNSUPPORTED, 0, "Ogg: no stream of Opus or Vorbis at its beginning");
}

static mldf_status demux_pages(struct demux *d, const uint8_t *data, size_t bytes, mldf_error *err) {
    struct page page;
    size_t lengths[3] = {0};
    bool ended = false;
    mldf_status status = find_stream(data, bytes, &d->serial, err);
    for (size_t at = 0; status == MLDF_OK && at < bytes; at += page.bytes) {
        status = read_page(data, bytes, at, &page, err);
        if (status == MLDF_OK && ended && (page.flags & FIRST))
            return mldfi_fail_at(err, MLDF_E_UNSUPPORTED, at,
                                 "Ogg: a second stream follows the first; split the file into its streams first");
        if (status == MLDF_OK && page.serial == d->serial) {
            status = take_page(d, data, &page, lengths, err);
            ended = page.flags & LAST;
        }
    }
    if (status == MLDF_END)
        status = MLDF_OK; /* cut short */
    if (status == MLDF_OK && d->headers < (d->out->info.codec == MLDF_AUDIO_OPUS ? 2u : 3u))
        status = mldfi_fail_at(err, MLDF_E_TRUNCATED, bytes, "Ogg: the file ends in its headers");
    if (d->open)
        d->out->made.size = d->packet_at;
    return status;
}

static mldf_status demux(const uint8_t *data, size_t bytes, struct audio_parts *out, mldf_error *err) {
    struct demux d = {.out = out, .first_end = no_granule};
    mldf_status status = demux_pages(&d, data, bytes, err);
    mldfi_vorbis_sizes_free(d.sizes);
    if (status < 0)
        return status;
    settle(&d);
    out->data = out->made.data;
    return MLDF_OK;
}

static bool is_ogg(const uint8_t *data, size_t bytes) {
    return bytes >= PAGE_HEAD && memcmp(data, "OggS", 4) == 0;
}

const struct audio_container mldfi_container_ogg = {"Ogg", is_ogg, demux};
