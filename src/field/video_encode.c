/* A value of VIDEO_COMPRESSED from the bytes of a video file: taken apart by libavformat (codec/av.h), indexed by decoding (video_index.c), its sound stored
 * beside it (video_sound.c). Nothing is encoded again. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "field/video_type.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

enum { PACKETS_ROOM = 64 << 20 };

void mldfi_video_choose(const struct av_file_module *m, void *file, uint32_t streams, uint32_t *video,
                        uint32_t *sound) {
    struct av_stream s;
    *video = *sound = UINT32_MAX;
    for (uint32_t i = 0; i < streams; i++) {
        m->stream(file, i, &s);
        if (s.kind == AV_KIND_VIDEO && !s.attached && *video == UINT32_MAX)
            *video = i;
        if (s.kind == AV_KIND_AUDIO && *sound == UINT32_MAX && mldfi_video_takes_sound(&s))
            *sound = i;
    }
}

static mldf_status add_config(struct video_parts *p, const uint8_t *extra, size_t bytes, mldf_error *err) {
    const struct video_config *last = p->config_count ? &p->configs[p->config_count - 1] : NULL;
    if (last && last->bytes == bytes && (bytes == 0 || memcmp(p->extra.data + last->at, extra, bytes) == 0))
        return MLDF_OK; /* as before */
    if (bytes > VIDEO_TABLE_MAX / 4 || p->extra.size + bytes > VIDEO_TABLE_MAX || p->config_count >= VIDEO_CONFIGS_MAX)
        return mldfi_fail(err, MLDF_E_LIMIT, "%zu configurations, the last of %zu bytes", p->config_count, bytes);
    mldf_status status =
        mldfi_array_reserve(&p->configs, &p->config_capacity, p->config_count + 1, sizeof *p->configs, err);
    if (status == MLDF_OK) {
        p->configs[p->config_count++] = (struct video_config){p->extra.size, (uint32_t)bytes};
        if (bytes)
            status = mldf_buffer_append(&p->extra, extra, bytes, err);
    }
    return status;
}

static mldf_status take_stream(struct video_parts *p, const struct av_stream *s, mldf_error *err) {
    if (s->codec == AV_VIDEO_OTHER)
        return mldfi_fail(err, MLDF_E_UNSUPPORTED,
                          "the video is %s; H.264, HEVC, VP8, VP9, AV1, MPEG-4, MPEG-2, MJPEG and FFV1 are taken",
                          s->codec_name);
    if (s->rotation < 0)
        return mldfi_fail(err, MLDF_E_UNSUPPORTED,
                          "the video is turned by an angle that is not a multiple of 90 degrees");
    p->video = (struct video_stream){.codec = (uint32_t)s->codec,
                                     .tag = s->tag,
                                     .profile = s->profile,
                                     .level = s->level,
                                     .tick = {s->base_num, s->base_den},
                                     .turn = (uint32_t)s->rotation / 90,
                                     .mirror = s->mirrored != 0,
                                     .width = s->width,
                                     .height = s->height,
                                     .bits = 8,
                                     .aspect_num = s->aspect_num,
                                     .aspect_den = s->aspect_den,
                                     .field_order = s->field_order,
                                     .primaries = s->primaries,
                                     .transfer = s->transfer,
                                     .matrix = s->matrix,
                                     .range = s->range,
                                     .site = s->site};
    p->fps_num = s->fps_num;
    p->fps_den = s->fps_den;
    if (!s->base_num || !s->base_den)
        return mldfi_fail(err, MLDF_E_CORRUPT, "a time base of %" PRIu32 "/%" PRIu32, s->base_num, s->base_den);
    return add_config(p, s->extra, s->extra_bytes, err);
}

static mldf_status add_packet(struct video_parts *p, const struct av_packet *in, mldf_error *err) {
    if (in->bytes > UINT32_MAX || p->packet_count >= UINT32_MAX - 1)
        return mldfi_fail(err, MLDF_E_LIMIT, "packet %zu of %zu bytes", p->packet_count, in->bytes);
    if (!mldfi_video_time_fits(in->pts) || !mldfi_video_time_fits(in->dts) || in->duration > VIDEO_TICKS_MAX)
        return mldfi_fail(err, MLDF_E_CORRUPT,
                          "packet %zu: times that no video has: pts %" PRId64 ", dts %" PRId64 ", duration %" PRId64,
                          p->packet_count, in->pts, in->dts, in->duration);
    mldf_status status = in->extra ? add_config(p, in->extra, in->extra_bytes, err) : MLDF_OK;
    if (status == MLDF_OK)
        status = mldfi_array_reserve(&p->packets, &p->packet_capacity, p->packet_count + 1, sizeof *p->packets, err);
    if (status < 0)
        return status;
    p->packets[p->packet_count++] =
        (struct video_packet){.pts = in->pts,
                              .dts = in->dts,
                              .offset = p->data.size,
                              .bytes = (uint32_t)in->bytes,
                              .duration = in->duration > UINT32_MAX ? UINT32_MAX : (uint32_t)in->duration,
                              .flags = (uint16_t)((in->key ? PACKET_KEY : 0) | (in->discard ? PACKET_DISCARD : 0) |
                                                  (in->corrupt ? PACKET_CORRUPT : 0)),
                              .config = (uint16_t)(p->config_count - 1)};
    return in->bytes ? mldf_buffer_append(&p->data, in->data, in->bytes, err) : MLDF_OK;
}

/* file_bytes: of the whole file. Its packets may be more where Matroska compresses them, but not without end: headers may name the same bytes often. */
static mldf_status take_packets(const struct work_watch *watch, const struct av_file_module *m, void *file,
                                uint64_t file_bytes, uint32_t video, uint32_t audio, struct video_parts *p,
                                struct sound_parts *sound, mldf_error *err) {
    struct av_packet packet;
    char text[AV_TEXT] = "";
    mldf_status status = MLDF_OK;
    const uint64_t most = 16 * file_bytes + PACKETS_ROOM;
    int code;
    while (status == MLDF_OK && (code = m->packet(file, &packet, text)) != 0) {
        if (code < 0)
            return mldfi_fail(err, MLDF_E_CORRUPT, "after packet %zu of the video: %s", p->packet_count, text);
        if (!mldfi_work_goes_on(watch, 0))
            return mldfi_fail(err, MLDF_E_CANCELLED, "cancelled");
        if (packet.stream == video)
            status = add_packet(p, &packet, err);
        else if (packet.stream == audio)
            status = mldfi_sound_add(sound, &packet, err);
        if (status == MLDF_OK && (uint64_t)p->data.size + sound->parts.made.size > most)
            status = mldfi_fail(err, MLDF_E_CORRUPT, "packet %zu: packets of %zu bytes in a file of %" PRIu64,
                                p->packet_count, p->data.size + sound->parts.made.size, file_bytes);
    }
    if (status == MLDF_OK && p->packet_count == 0)
        status = mldfi_fail(err, MLDF_E_CORRUPT, "the video has no packets");
    return status;
}

/* Frames a second of the whole, where the container does not say it. */
static void set_rate(struct video_parts *p) {
    int64_t span = p->frame_count > 1 ? p->frames[p->frame_count - 1].pts : 0;
    if (p->fps_num && p->fps_den)
        return;
    p->fps_num = p->fps_den = 0;
    if (span <= 0)
        return;
    double rate = (double)(p->frame_count - 1) * (double)p->video.tick.den / ((double)span * (double)p->video.tick.num);
    if (rate > 0 && rate < 1e6) {
        p->fps_num = (uint32_t)(rate * 1000 + 0.5);
        p->fps_den = p->fps_num ? 1000 : 0;
    }
}

static mldf_status take_apart(struct video_worker *w, const struct video_state *s, const struct av_file_module *m,
                              void *file, uint64_t file_bytes, uint32_t streams, struct video_parts *p,
                              struct sound_parts *sound, mldf_error *err) {
    struct av_stream stream;
    uint32_t video, audio;
    mldfi_video_choose(m, file, streams, &video, &audio);
    if (video == UINT32_MAX)
        return mldfi_fail(err, MLDF_E_TYPE, "a file with %" PRIu32 " streams, none of which is a video", streams);
    audio = s && s->silent ? UINT32_MAX : audio;
    sound->parts.watch = w->watch;
    p->streams = streams;
    m->stream(file, video, &stream);
    int reorder = stream.reorder;
    mldf_status status = take_stream(p, &stream, err);
    if (status == MLDF_OK && audio != UINT32_MAX) {
        m->stream(file, audio, &stream);
        status = mldfi_sound_begin(sound, &stream, err);
    }
    if (status == MLDF_OK)
        status = take_packets(w->watch, m, file, file_bytes, video, audio, p, sound, err);
    if (status == MLDF_OK)
        status = mldfi_video_index(w, p, reorder, err);
    if (status == MLDF_OK) {
        set_rate(p);
        status = mldfi_sound_finish(sound, p, err);
    }
    return status;
}

mldf_status mldfi_video_encode_worker(const struct schema_field *field, void *worker, const mldf_value *value,
                                      uint8_t *record, mldf_buffer *scratch, const void **payload,
                                      uint64_t *payload_bytes, mldf_error *err) {
    const struct av_file_module *m;
    struct video_parts parts = {0};
    struct sound_parts sound = {0};
    char text[AV_TEXT] = "";
    uint32_t streams = 0;
    void *file;
    *payload = NULL;
    *payload_bytes = 0;
    if (value->kind != MLDF_KIND_BYTES)
        return mldfi_wrong_kind(value, "the bytes of a video file", err);
    mldf_status status = mldfi_check_data(value, err);
    if (status == MLDF_OK && mldfi_video_is_packed(value))
        return mldfi_video_take_packed(field ? field->state : NULL, value, record, scratch, payload, payload_bytes,
                                       err);
    if (status == MLDF_OK)
        status = mldfi_av_file_module(&m, err);
    if (status < 0)
        return status;
    if (m->open(value->data, (size_t)value->bytes, "", &file, &streams, text) < 0)
        return mldfi_fail(err, MLDF_E_TYPE, "not a video that is known: %s", text);
    status = take_apart(worker, field ? field->state : NULL, m, file, value->bytes, streams, &parts, &sound, err);
    m->close(file);
    scratch->size = 0;
    if (status == MLDF_OK)
        status = mldfi_video_build(&parts, record, scratch, err);
    *payload = scratch->data;
    *payload_bytes = scratch->size;
    mldfi_sound_free(&sound);
    mldfi_video_parts_free(&parts);
    return status;
}
