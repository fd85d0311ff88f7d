/* See video_packets.h: reading the tables. video_packets_build.c writes them. */
#include "field/video_packets.h"

#include <inttypes.h>
#include <string.h>

#include "util/bytes.h"
#include "util/crc32c.h"
#include "util/error.h"

static mldf_status wrong(uint64_t at, const char *what, uint64_t value, mldf_error *err) {
    return mldfi_fail(err, MLDF_E_CORRUPT, "byte %" PRIu64 " of the value: %s %" PRIu64, at, what, value);
}

/* ---- Record ------------------------------------------------------------------------------------------------------------------------------ */

static mldf_status wrong_record(unsigned at, const char *what, uint64_t value, mldf_error *err) {
    return mldfi_fail_at(err, MLDF_E_CORRUPT, at, "%s %" PRIu64, what, value);
}

static mldf_status check_sound(const uint8_t *r, uint64_t payload_bytes, mldf_error *err) {
    uint64_t samples = mldfi_load_u64(r + VIDEO_SOUND_SAMPLES), bytes = mldfi_load_u64(r + VIDEO_SOUND_BYTES);
    uint32_t rate = mldfi_load_u32(r + VIDEO_SOUND_RATE), channels = mldfi_load_u16(r + VIDEO_SOUND_CHANNELS);
    bool none = samples == 0 && bytes == 0 && rate == 0 && channels == 0 && r[VIDEO_SOUND_BITS] == 0 &&
                r[VIDEO_SOUND_CODEC] == 0;
    if (none)
        return MLDF_OK;
    if (bytes > payload_bytes - VIDEO_HEAD)
        return wrong_record(VIDEO_SOUND_BYTES, "so many bytes of sound:", bytes, err);
    if (rate == 0)
        return wrong_record(VIDEO_SOUND_RATE, "sound with a sampling rate of", rate, err);
    if (channels == 0)
        return wrong_record(VIDEO_SOUND_CHANNELS, "sound with so many channels:", channels, err);
    return MLDF_OK;
}

mldf_status mldfi_video_check_record(const uint8_t *r, uint64_t payload_bytes, mldf_error *err) {
    uint32_t frames = mldfi_load_u32(r + VIDEO_FRAMES), keys = mldfi_load_u32(r + VIDEO_KEYS);
    uint32_t num = mldfi_load_u32(r + VIDEO_FPS_NUM), den = mldfi_load_u32(r + VIDEO_FPS_DEN);
    if (payload_bytes < VIDEO_HEAD + VIDEO_STREAM || frames > payload_bytes / VIDEO_FRAME)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, VIDEO_SIZE,
                             "%" PRIu64 " bytes, and a video of %" PRIu32 " frames needs more", payload_bytes, frames);
    if (keys > payload_bytes / VIDEO_PACKET)
        return wrong_record(VIDEO_KEYS, "so many key frames:", keys, err);
    if (mldfi_load_u16(r + VIDEO_WIDTH) == 0)
        return wrong_record(VIDEO_WIDTH, "frames of width", 0, err);
    if (mldfi_load_u16(r + VIDEO_HEIGHT) == 0)
        return wrong_record(VIDEO_HEIGHT, "frames of height", 0, err);
    if ((num == 0) != (den == 0))
        return wrong_record(VIDEO_FPS_NUM, "frames a second that are no ratio:", num, err);
    if (r[VIDEO_STREAMS] == 0)
        return wrong_record(VIDEO_STREAMS, "so many streams:", 0, err);
    if (mldfi_load_u16(r + VIDEO_ZERO))
        return wrong_record(VIDEO_ZERO, "two bytes that must be 0 are", mldfi_load_u16(r + VIDEO_ZERO), err);
    return check_sound(r, payload_bytes, err);
}

bool mldfi_video_sound_record(const uint8_t *r, uint8_t out[32]) {
    memset(out, 0, 32);
    mldfi_store_u64(out + 8, mldfi_load_u64(r + VIDEO_SOUND_BYTES));
    mldfi_store_u64(out + 16, mldfi_load_u64(r + VIDEO_SOUND_SAMPLES));
    mldfi_store_u32(out + 24, mldfi_load_u32(r + VIDEO_SOUND_RATE));
    mldfi_store_u16(out + 28, mldfi_load_u16(r + VIDEO_SOUND_CHANNELS));
    out[30] = r[VIDEO_SOUND_BITS];
    out[31] = r[VIDEO_SOUND_CODEC];
    return mldfi_load_u32(r + VIDEO_SOUND_RATE) != 0;
}

/* ---- Head and streams ----------------------------------------------------------------------------------------------------------------- */

static mldf_status read_head(const uint8_t *h, uint64_t total, struct video_head *out, mldf_error *err) {
    uint32_t version = mldfi_load_u16(h), flags = mldfi_load_u32(h + 4);
    out->total = total;
    out->streams = mldfi_load_u16(h + 2);
    uint64_t table = mldfi_load_u64(h + 8);
    out->data_at = mldfi_load_u64(h + 16);
    out->data_bytes = mldfi_load_u64(h + 24);
    if (version != VIDEO_VERSION)
        return mldfi_fail(err, MLDF_E_FEATURE,
                          "byte 0 of the value: version %" PRIu32 " of the video's table; %d is known", version,
                          VIDEO_VERSION);
    if (flags)
        return mldfi_fail(err, MLDF_E_FEATURE, "byte 4 of the value: flags 0x%" PRIx32 " of the video's table", flags);
    if (out->streams == 0 || out->streams > VIDEO_STREAMS_MAX)
        return wrong(2, "so many streams:", out->streams, err);
    if (table < VIDEO_HEAD + (uint64_t)out->streams * VIDEO_STREAM || table > VIDEO_TABLE_MAX || table > total)
        return wrong(8, "a stream table that ends at byte", table, err);
    if (out->data_at < table || !mldfi_range_inside(out->data_at, out->data_bytes, total))
        return wrong(16, "packets that begin at byte", out->data_at, err);
    if (mldfi_load_u64(h + 32) != total)
        return wrong(32, "the value has other than so many bytes:", mldfi_load_u64(h + 32), err);
    out->table_bytes = table;
    return MLDF_OK;
}

static mldf_status read_video(const uint8_t *s, uint64_t at, const struct video_head *h, struct video_stream *out,
                              mldf_error *err) {
    uint64_t end;
    out->codec = s[2];
    out->tag = mldfi_load_u32(s + 4);
    out->profile = (int32_t)mldfi_load_u32(s + 8);
    out->level = (int32_t)mldfi_load_u32(s + 12);
    out->tick = (struct ratio){mldfi_load_u32(s + 16), mldfi_load_u32(s + 20)};
    out->first = (int64_t)mldfi_load_u64(s + 24);
    out->end = (int64_t)mldfi_load_u64(s + 32);
    out->packets_at = mldfi_load_u64(s + 40);
    out->frames_at = mldfi_load_u64(s + 48);
    out->packets = mldfi_load_u32(s + 56);
    out->frames = mldfi_load_u32(s + 60);
    out->configs_at = mldfi_load_u64(s + 64);
    out->configs = mldfi_load_u16(s + 72);
    out->reorder = s[74];
    out->turn = s[75] & 3;
    out->mirror = s[75] >> 2 & 1;
    out->width = mldfi_load_u32(s + 76);
    out->height = mldfi_load_u32(s + 80);
    out->aspect_num = mldfi_load_u32(s + 84);
    out->aspect_den = mldfi_load_u32(s + 88);
    out->planes = s[92], out->bits = s[93], out->shift_x = s[94], out->shift_y = s[95];
    out->rgb = s[96], out->field_order = s[97], out->primaries = s[98], out->transfer = s[99];
    out->matrix = s[100], out->range = s[101], out->site = s[102];
    if (out->tick.num == 0 || out->tick.den == 0)
        return wrong(at + 16, "a time base of", out->tick.num, err);
    if (out->packets == 0 || !mldfi_mul_u64(out->packets, VIDEO_PACKET, &end) || out->packets_at < h->table_bytes ||
        out->packets_at > h->data_at || end > h->data_at - out->packets_at)
        return wrong(at + 40, "an index of packets at byte", out->packets_at, err);
    if (!mldfi_mul_u64(out->frames, VIDEO_FRAME, &end) || out->frames_at < h->table_bytes ||
        out->frames_at > h->data_at || end > h->data_at - out->frames_at)
        return wrong(at + 48, "a table of frames at byte", out->frames_at, err);
    if (out->configs == 0 || out->configs > VIDEO_CONFIGS_MAX ||
        !mldfi_range_inside(out->configs_at, (uint64_t)out->configs * VIDEO_CONFIG, h->table_bytes))
        return wrong(at + 64, "configurations at byte", out->configs_at, err);
    if (s[75] & ~7)
        return wrong(at + 75, "a turn of", s[75], err);
    if (out->reorder > VIDEO_REORDER_MAX)
        return wrong(at + 74, "a decoder that holds back so many frames:", out->reorder, err);
    if (out->width == 0 || out->height == 0 || out->width > VIDEO_SIDE_MAX || out->height > VIDEO_SIDE_MAX)
        return wrong(at + 76, "frames of width", out->width, err);
    if ((out->planes != 1 && out->planes != 3) || out->bits < 8 || out->bits > 16 || out->shift_x > 1 ||
        out->shift_y > out->shift_x || out->rgb > 1)
        return wrong(at + 92, "planes of a kind that is not known:", out->planes, err);
    if (out->end < out->first || (out->first < 0 && out->end > INT64_MAX + out->first))
        return wrong(at + 32, "times that end before they begin:", (uint64_t)out->end, err);
    return MLDF_OK;
}

static mldf_status read_sound(const uint8_t *s, uint64_t at, const struct video_head *h, struct video_sound *out,
                              mldf_error *err) {
    out->there = true;
    out->info = (mldf_audio_info){.samples = mldfi_load_u64(s + 112),
                                  .rate = mldfi_load_u32(s + 104),
                                  .channels = mldfi_load_u16(s + 108),
                                  .bits = s[110],
                                  .codec = (mldf_audio_codec)s[2]};
    out->start_num = (int64_t)mldfi_load_u64(s + 144);
    out->start_den = mldfi_load_u64(s + 152);
    out->at = mldfi_load_u64(s + 160);
    out->bytes = mldfi_load_u64(s + 168);
    if (out->start_den == 0)
        return wrong(at + 152, "a sound that starts at a time over", 0, err);
    if (out->at < h->data_at || !mldfi_range_inside(out->at, out->bytes, h->total))
        return wrong(at + 160, "sound at byte", out->at, err);
    return MLDF_OK;
}

static mldf_status read_streams(const uint8_t *streams, struct video_head *out, mldf_error *err) {
    bool video = false;
    mldf_status status = MLDF_OK;
    for (uint32_t i = 0; i < out->streams && status == MLDF_OK; i++) {
        const uint8_t *s = streams + (size_t)i * VIDEO_STREAM;
        uint64_t at = VIDEO_HEAD + (uint64_t)i * VIDEO_STREAM;
        uint32_t kind = mldfi_load_u16(s);
        if (kind == 0 && !video) {
            video = true;
            status = read_video(s, at, out, &out->video, err);
        } else if (kind == 1 && !out->sound.there) {
            status = read_sound(s, at, out, &out->sound, err);
        } else if (kind > 3) {
            status =
                mldfi_fail(err, MLDF_E_FEATURE, "byte %" PRIu64 " of the value: a stream of kind %" PRIu32, at, kind);
        }
    }
    return status == MLDF_OK && !video ? wrong(VIDEO_HEAD, "no video among so many streams:", out->streams, err)
                                       : status;
}

/* The record against the table: who looks at one alone must not be lied to. */
static mldf_status compare(const uint8_t *r, const struct video_head *h, mldf_error *err) {
    const struct video_stream *v = &h->video;
    bool sideways = v->turn & 1;
    uint32_t width = sideways ? v->height : v->width, height = sideways ? v->width : v->height;
    const struct video_sound *s = &h->sound;
    if (mldfi_load_u32(r + VIDEO_FRAMES) != v->frames)
        return wrong(VIDEO_HEAD + 60, "the record's frames are not the table's:", v->frames, err);
    if (r[VIDEO_CODEC] != v->codec)
        return wrong(VIDEO_HEAD + 2, "the record's codec is not the stream's:", v->codec, err);
    if (mldfi_load_u16(r + VIDEO_WIDTH) != width || mldfi_load_u16(r + VIDEO_HEIGHT) != height)
        return wrong(VIDEO_HEAD + 76, "the record's size is not the stream's, which has width", v->width, err);
    if (mldfi_load_u64(r + VIDEO_SOUND_SAMPLES) != s->info.samples ||
        mldfi_load_u64(r + VIDEO_SOUND_BYTES) != s->bytes || mldfi_load_u32(r + VIDEO_SOUND_RATE) != s->info.rate ||
        mldfi_load_u16(r + VIDEO_SOUND_CHANNELS) != s->info.channels || r[VIDEO_SOUND_BITS] != s->info.bits ||
        r[VIDEO_SOUND_CODEC] != (uint8_t)s->info.codec || (s->there && s->at + s->bytes != h->total))
        return wrong(VIDEO_HEAD + VIDEO_STREAM,
                     "the record's sound is not the stream's, which has so many samples:", s->info.samples, err);
    return MLDF_OK;
}

mldf_status mldfi_video_open(const uint8_t *record, const struct audio_bytes *in, struct video_head *out,
                             mldf_error *err) {
    uint8_t head[VIDEO_HEAD];
    const void *data;
    const uint8_t *config;
    uint64_t look = in->total < VIDEO_FIRST_LOOK ? in->total : VIDEO_FIRST_LOOK;
    memset(out, 0, sizeof *out);
    if (in->total < VIDEO_HEAD + VIDEO_STREAM)
        return mldfi_fail(err, MLDF_E_CORRUPT, "a value of %" PRIu64 " bytes has no video's table", in->total);
    mldf_status status = in->get(in->user, 0, look, &data, err);
    if (status < 0)
        return status;
    memcpy(head, data, sizeof head);
    if ((status = read_head(head, in->total, out, err)) < 0)
        return status;
    if (look < out->table_bytes && (status = in->get(in->user, 0, out->table_bytes, &data, err)) < 0)
        return status;
    const uint8_t *table = (const uint8_t *)data + VIDEO_HEAD;
    uint32_t crc = mldfi_crc32c(mldfi_crc32c(0, head, 56), table, out->table_bytes - VIDEO_HEAD);
    if (crc != mldfi_load_u32(head + 56))
        return wrong(56, "the CRC of the video's table is", crc, err);
    status = read_streams(table, out, err);
    if (status == MLDF_OK && record)
        status = compare(record, out, err);
    if (status < 0)
        return status;
    config = (const uint8_t *)data + out->video.configs_at;
    out->extra_at = mldfi_load_u64(config);
    out->extra_bytes = mldfi_load_u32(config + 8);
    if (!mldfi_range_inside(out->extra_at, out->extra_bytes, out->table_bytes))
        return wrong(out->video.configs_at, "a configuration at byte", out->extra_at, err);
    return MLDF_OK;
}

mldf_status mldfi_video_config(const struct video_head *head, const struct audio_bytes *in, uint32_t index,
                               const uint8_t **data, uint32_t *bytes, mldf_error *err) {
    const void *entry, *got = NULL;
    uint64_t at = head->video.configs_at + (uint64_t)index * VIDEO_CONFIG;
    if (index >= head->video.configs)
        return wrong(head->video.configs_at, "no configuration", index, err);
    TRY(in->get(in->user, at, VIDEO_CONFIG, &entry, err));
    uint64_t offset = mldfi_load_u64(entry);
    *bytes = mldfi_load_u32((const uint8_t *)entry + 8);
    if (!mldfi_range_inside(offset, *bytes, head->table_bytes))
        return wrong(at, "a configuration at byte", offset, err);
    mldf_status status = *bytes ? in->get(in->user, offset, *bytes, &got, err) : MLDF_OK;
    *data = got;
    return status;
}

/* ---- Entries ------------------------------------------------------------------------------------------------------------------------------ */

mldf_status mldfi_video_packets(const struct video_head *head, const struct audio_bytes *in, uint32_t from,
                                uint32_t count, uint64_t *end, struct video_packet *out, mldf_error *err) {
    const void *data;
    uint64_t at = head->video.packets_at + (uint64_t)from * VIDEO_PACKET;
    if (!mldfi_range_inside(from, count, head->video.packets))
        return wrong(head->video.packets_at, "no packet", (uint64_t)from + count, err);
    TRY(in->get(in->user, at, (uint64_t)count * VIDEO_PACKET, &data, err));
    for (uint32_t i = 0; i < count; i++, at += VIDEO_PACKET) {
        const uint8_t *p = (const uint8_t *)data + (size_t)i * VIDEO_PACKET;
        int32_t back = (int32_t)mldfi_load_u32(p + 20);
        out[i] = (struct video_packet){.pts = (int64_t)mldfi_load_u64(p),
                                       .offset = mldfi_load_u64(p + 8),
                                       .bytes = mldfi_load_u32(p + 16),
                                       .duration = mldfi_load_u32(p + 24),
                                       .flags = mldfi_load_u16(p + 28),
                                       .config = mldfi_load_u16(p + 30)};
        out[i].dts = back == INT32_MIN || out[i].pts == INT64_MIN || (back > 0 && out[i].pts < INT64_MIN + back) ||
                             (back < 0 && out[i].pts > INT64_MAX + back)
                         ? INT64_MIN
                         : out[i].pts - back;
        if (!mldfi_range_inside(out[i].offset, out[i].bytes, head->data_bytes))
            return wrong(at + 8, "a packet outside of the packets' bytes, at", out[i].offset, err);
        if (out[i].flags & ~PACKET_FLAGS)
            return wrong(at + 28, "flags of a packet that are not known:", out[i].flags, err);
        if (out[i].config >= head->video.configs)
            return wrong(at + 30, "a packet with configuration", out[i].config, err);
        out[i].offset += head->data_at;
        if (out[i].offset < *end)
            return wrong(at + 8, "a packet that begins before the end of the one before it, at", out[i].offset, err);
        *end = out[i].offset + out[i].bytes;
    }
    return MLDF_OK;
}

mldf_status mldfi_video_frames(const struct video_head *head, const struct audio_bytes *in, uint32_t from,
                               uint32_t count, struct video_frame *out, mldf_error *err) {
    const void *data;
    uint64_t at = head->video.frames_at + (uint64_t)from * VIDEO_FRAME;
    if (!mldfi_range_inside(from, count, head->video.frames))
        return wrong(head->video.frames_at, "no frame", (uint64_t)from + count, err);
    TRY(in->get(in->user, at, (uint64_t)count * VIDEO_FRAME, &data, err));
    for (uint32_t i = 0; i < count; i++, at += VIDEO_FRAME) {
        const uint8_t *p = (const uint8_t *)data + (size_t)i * VIDEO_FRAME;
        out[i] = (struct video_frame){.pts = (int64_t)mldfi_load_u64(p),
                                      .packet = mldfi_load_u32(p + 8),
                                      .start = mldfi_load_u32(p + 12),
                                      .duration = mldfi_load_u32(p + 16),
                                      .back = mldfi_load_u16(p + 20),
                                      .config = mldfi_load_u16(p + 22)};
        if (out[i].packet >= head->video.packets)
            return wrong(at + 8, "a frame of packet", out[i].packet, err);
        if (out[i].start > out[i].packet || out[i].back > out[i].packet - out[i].start)
            return wrong(at + 12, "a frame whose decoding starts at packet", out[i].start, err);
        if (out[i].config >= head->video.configs)
            return wrong(at + 22, "a frame with configuration", out[i].config, err);
    }
    return MLDF_OK;
}

mldf_status mldfi_video_check_tables(const struct video_head *head, const struct audio_bytes *in, mldf_error *err) {
    enum { BLOCK = 64 };
    struct video_packet packets[BLOCK];
    struct video_frame frames[BLOCK];
    mldf_status status = MLDF_OK;
    int64_t last = 0;
    uint64_t end = 0;
    for (uint32_t i = 0; i < head->video.configs && status == MLDF_OK; i++) {
        const uint8_t *config;
        uint32_t bytes;
        status = mldfi_video_config(head, in, i, &config, &bytes, err);
    }
    for (uint32_t i = 0; i < head->video.packets && status == MLDF_OK; i += BLOCK) {
        uint32_t left = head->video.packets - i;
        status = mldfi_video_packets(head, in, i, left < BLOCK ? left : BLOCK, &end, packets, err);
    }
    for (uint32_t i = 0; i < head->video.frames && status == MLDF_OK; i += BLOCK) {
        uint32_t left = head->video.frames - i, count = left < BLOCK ? left : BLOCK;
        status = mldfi_video_frames(head, in, i, count, frames, err);
        for (uint32_t k = 0; k < count && status == MLDF_OK; last = frames[k++].pts)
            if (frames[k].pts < last || frames[k].pts > head->video.end - head->video.first ||
                (i + k == 0 && frames[k].pts))
                status = wrong(head->video.frames_at + (uint64_t)(i + k) * VIDEO_FRAME,
                               "times of frames that do not ascend: frame", i + k, err);
    }
    return status;
}
