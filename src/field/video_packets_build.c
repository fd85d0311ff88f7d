/* Writing the payload of VIDEO_COMPRESSED: video_packets.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "field/video_packets.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/crc32c.h"
#include "util/error.h"

void mldfi_video_parts_free(struct video_parts *parts) {
    free(parts->packets);
    free(parts->frames);
    free(parts->configs);
    mldf_buffer_free(&parts->data);
    mldf_buffer_free(&parts->extra);
    mldf_buffer_free(&parts->sound_payload);
    *parts = (struct video_parts){0};
}

struct layout {
    uint32_t streams;
    uint64_t configs_at, extra_at, table, packets_at, frames_at, data_at, sound_at, total;
};

static struct layout plan(const struct video_parts *p) {
    struct layout l = {.streams = p->sound ? 2 : 1};
    l.configs_at = VIDEO_HEAD + (uint64_t)l.streams * VIDEO_STREAM;
    l.extra_at = l.configs_at + p->config_count * VIDEO_CONFIG;
    l.table = mldfi_align_up(l.extra_at + p->extra.size, 8);
    l.frames_at = l.table; /* in front, because times are asked for without packets */
    l.packets_at = l.frames_at + (uint64_t)p->frame_count * VIDEO_FRAME;
    l.data_at = mldfi_align_up(l.packets_at + (uint64_t)p->packet_count * VIDEO_PACKET, 64);
    l.sound_at = l.data_at + p->data.size;
    if (p->sound)
        l.sound_at = mldfi_align_up(l.sound_at, 64);
    l.total = l.sound_at + (p->sound ? p->sound_payload.size : 0);
    return l;
}

static void write_video(const struct video_parts *p, const struct layout *l, uint8_t *s) {
    const struct video_stream *v = &p->video;
    s[2] = (uint8_t)v->codec;
    mldfi_store_u32(s + 4, v->tag);
    mldfi_store_u32(s + 8, (uint32_t)v->profile);
    mldfi_store_u32(s + 12, (uint32_t)v->level);
    mldfi_store_u32(s + 16, (uint32_t)v->tick.num);
    mldfi_store_u32(s + 20, (uint32_t)v->tick.den);
    mldfi_store_u64(s + 24, (uint64_t)v->first);
    mldfi_store_u64(s + 32, (uint64_t)v->end);
    mldfi_store_u64(s + 40, l->packets_at);
    mldfi_store_u64(s + 48, l->frames_at);
    mldfi_store_u32(s + 56, (uint32_t)p->packet_count);
    mldfi_store_u32(s + 60, (uint32_t)p->frame_count);
    mldfi_store_u64(s + 64, l->configs_at);
    mldfi_store_u16(s + 72, (uint16_t)p->config_count);
    s[74] = (uint8_t)v->reorder;
    s[75] = (uint8_t)(v->turn | (v->mirror ? 4U : 0U));
    mldfi_store_u32(s + 76, v->width);
    mldfi_store_u32(s + 80, v->height);
    mldfi_store_u32(s + 84, v->aspect_num);
    mldfi_store_u32(s + 88, v->aspect_den);
    s[92] = v->planes, s[93] = v->bits, s[94] = v->shift_x, s[95] = v->shift_y;
    s[96] = v->rgb, s[97] = v->field_order, s[98] = v->primaries, s[99] = v->transfer;
    s[100] = v->matrix, s[101] = v->range, s[102] = v->site;
}

static void write_sound(const struct video_parts *p, const struct layout *l, uint8_t *s) {
    mldfi_store_u16(s, 1);
    s[2] = (uint8_t)p->sound_info.codec;
    mldfi_store_u32(s + 16, 1);
    mldfi_store_u32(s + 20, p->sound_info.rate);
    mldfi_store_u32(s + 104, p->sound_info.rate);
    mldfi_store_u16(s + 108, (uint16_t)p->sound_info.channels);
    s[110] = (uint8_t)p->sound_info.bits;
    mldfi_store_u64(s + 112, p->sound_info.samples);
    mldfi_store_u64(s + 144, (uint64_t)p->start_num);
    mldfi_store_u64(s + 152, p->start_den);
    mldfi_store_u64(s + 160, l->sound_at);
    mldfi_store_u64(s + 168, p->sound_payload.size);
}

static void write_tables(const struct video_parts *p, const struct layout *l, uint8_t *out) {
    for (size_t i = 0; i < p->config_count; i++) {
        uint8_t *c = out + l->configs_at + i * VIDEO_CONFIG;
        mldfi_store_u64(c, l->extra_at + p->configs[i].at);
        mldfi_store_u32(c + 8, p->configs[i].bytes);
    }
    if (p->extra.size)
        memcpy(out + l->extra_at, p->extra.data, p->extra.size);
    for (size_t i = 0; i < p->packet_count; i++) {
        const struct video_packet *k = &p->packets[i];
        uint8_t *e = out + l->packets_at + i * VIDEO_PACKET;
        bool near =
            k->dts != INT64_MIN && k->pts != INT64_MIN && k->pts - k->dts < INT32_MAX && k->pts - k->dts > INT32_MIN;
        mldfi_store_u64(e, (uint64_t)k->pts);
        mldfi_store_u64(e + 8, k->offset);
        mldfi_store_u32(e + 16, k->bytes);
        mldfi_store_u32(e + 20, near ? (uint32_t)(int32_t)(k->pts - k->dts) : (uint32_t)INT32_MIN);
        mldfi_store_u32(e + 24, k->duration);
        mldfi_store_u16(e + 28, k->flags);
        mldfi_store_u16(e + 30, k->config);
    }
    for (size_t i = 0; i < p->frame_count; i++) {
        const struct video_frame *f = &p->frames[i];
        uint8_t *e = out + l->frames_at + i * VIDEO_FRAME;
        mldfi_store_u64(e, (uint64_t)f->pts);
        mldfi_store_u32(e + 8, f->packet);
        mldfi_store_u32(e + 12, f->start);
        mldfi_store_u32(e + 16, f->duration);
        mldfi_store_u16(e + 20, f->back);
        mldfi_store_u16(e + 22, f->config);
    }
}

static void write_record(const struct video_parts *p, const struct layout *l, uint8_t *r) {
    const struct video_stream *v = &p->video;
    bool sideways = v->turn & 1;
    uint32_t keys = 0;
    for (size_t i = 0; i < p->packet_count; i++)
        keys += p->packets[i].flags & PACKET_KEY;
    mldfi_store_u32(r + VIDEO_FRAMES, (uint32_t)p->frame_count);
    mldfi_store_u32(r + VIDEO_KEYS, keys);
    mldfi_store_u16(r + VIDEO_WIDTH, (uint16_t)(sideways ? v->height : v->width));
    mldfi_store_u16(r + VIDEO_HEIGHT, (uint16_t)(sideways ? v->width : v->height));
    mldfi_store_u32(r + VIDEO_FPS_NUM, p->fps_num);
    mldfi_store_u32(r + VIDEO_FPS_DEN, p->fps_den);
    r[VIDEO_CODEC] = (uint8_t)v->codec;
    r[VIDEO_STREAMS] = (uint8_t)l->streams;
    mldfi_store_u16(r + VIDEO_ZERO, 0);
    double seconds = (double)(v->end - v->first) * (double)v->tick.num / (double)v->tick.den;
    mldfi_store_u64(r + VIDEO_DURATION, seconds < 1e12 ? (uint64_t)(seconds * 1e6 + 0.5) : 0);
    memset(r + VIDEO_SOUND_SAMPLES, 0, VIDEO_RECORD - VIDEO_SOUND_SAMPLES);
    if (!p->sound)
        return;
    mldfi_store_u64(r + VIDEO_SOUND_SAMPLES, p->sound_info.samples);
    mldfi_store_u64(r + VIDEO_SOUND_BYTES, p->sound_payload.size);
    mldfi_store_u32(r + VIDEO_SOUND_RATE, p->sound_info.rate);
    mldfi_store_u16(r + VIDEO_SOUND_CHANNELS, (uint16_t)p->sound_info.channels);
    r[VIDEO_SOUND_BITS] = (uint8_t)p->sound_info.bits;
    r[VIDEO_SOUND_CODEC] = (uint8_t)p->sound_info.codec;
}

mldf_status mldfi_video_build(const struct video_parts *p, uint8_t *record, mldf_buffer *out, mldf_error *err) {
    struct layout l = plan(p);
    uint8_t *to;
    if (l.table > VIDEO_TABLE_MAX || p->config_count > VIDEO_CONFIGS_MAX)
        return mldfi_fail(err, MLDF_E_LIMIT, "%zu configurations of %zu bytes are too many", p->config_count,
                          p->extra.size);
    if (p->frame_count > UINT32_MAX || p->packet_count > UINT32_MAX)
        return mldfi_fail(err, MLDF_E_LIMIT, "%zu frames are more than a record holds", p->frame_count);
    TRY(mldfi_buffer_extend(out, (size_t)l.total, &to, err));
    memset(to, 0, (size_t)l.data_at);
    mldfi_store_u16(to, VIDEO_VERSION);
    mldfi_store_u16(to + 2, (uint16_t)l.streams);
    mldfi_store_u64(to + 8, l.table);
    mldfi_store_u64(to + 16, l.data_at);
    mldfi_store_u64(to + 24, p->data.size);
    mldfi_store_u64(to + 32, l.total);
    write_video(p, &l, to + VIDEO_HEAD);
    if (p->sound)
        write_sound(p, &l, to + VIDEO_HEAD + VIDEO_STREAM);
    write_tables(p, &l, to);
    mldfi_store_u32(to + 56, mldfi_crc32c(mldfi_crc32c(0, to, 56), to + VIDEO_HEAD, (size_t)l.table - VIDEO_HEAD));
    if (p->data.size)
        memcpy(to + l.data_at, p->data.data, p->data.size);
    if (p->sound) {
        memset(to + l.data_at + p->data.size, 0, (size_t)(l.sound_at - l.data_at - p->data.size));
        memcpy(to + l.sound_at, p->sound_payload.data, p->sound_payload.size);
    }
    write_record(p, &l, record);
    return MLDF_OK;
}
