/* Files that become videos, and videos that become files. Traits of field.h. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "field/audio_media.h"
#include "field/audio_packets.h"
#include "field/video_type.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

static const struct file_ending endings[] = {
    {"mp4", "mp4", ARCHIVE_READ, NULL}, {"mkv", "mkv", ARCHIVE_READ, NULL}, {"webm", NULL, ARCHIVE_READ, NULL},
    {"mov", NULL, ARCHIVE_READ, NULL},  {"m4v", NULL, ARCHIVE_READ, NULL},  {"avi", NULL, ARCHIVE_READ, NULL},
    {"ts", NULL, ARCHIVE_BYTES, NULL},  {"m2ts", NULL, ARCHIVE_READ, NULL}, {"mpg", NULL, ARCHIVE_READ, NULL},
    {"mpeg", NULL, ARCHIVE_READ, NULL}, {"3gp", NULL, ARCHIVE_READ, NULL},  {"ogv", NULL, ARCHIVE_READ, NULL},
    {"flv", NULL, ARCHIVE_READ, NULL},  {NULL, NULL, ARCHIVE_BYTES, NULL},
};

static const char *kind_name(int kind) {
    static const char *const names[] = {"a video", "an audio", "a subtitle", "a data"};
    return names[kind >= 0 && kind < 4 ? kind : 3];
}

/* Streams that begin far apart are put in place by their times; many who meet such files do not expect it. */
static void warn_start(const struct av_stream *video, const struct av_stream *sound, file_warning_fn warn, void *user) {
    char message[160];
    if (video->start == AV_NO_TIME || sound->start == AV_NO_TIME || !video->base_den || !sound->base_den)
        return;
    double late = (double)sound->start * sound->base_num / sound->base_den -
                  (double)video->start * video->base_num / video->base_den;
    if (late >= -0.025 && late <= 0.025)
        return;
    snprintf(message, sizeof message, "the sound begins %.3f s %s the images", late < 0 ? -late : late,
             late < 0 ? "before" : "after");
    warn(user, message);
}

static void warn_streams(const struct av_file_module *m, void *file, uint32_t streams, file_warning_fn warn,
                         void *user) {
    struct av_stream s, first;
    uint32_t video, sound;
    char message[160];
    mldfi_video_choose(m, file, streams, &video, &sound);
    m->stream(file, video, &first);
    if (sound != UINT32_MAX) {
        m->stream(file, sound, &s);
        warn_start(&first, &s, warn, user);
    }
    for (uint32_t i = 0; i < streams; i++) {
        m->stream(file, i, &s);
        if (i == video && (s.transfer == 16 || s.transfer == 18))
            warn(user, s.transfer == 16 ? "the video is HDR (PQ): its numbers are taken as they are"
                                        : "the video is HDR (HLG): its numbers are taken as they are");
        if (i == video && s.field_order > 1)
            warn(user, "the video is interlaced: both fields of a frame are kept in one image");
        if (i == video || i == sound)
            continue;
        snprintf(message, sizeof message, "%s stream (%.40s) is left out", kind_name(s.kind), s.codec_name);
        warn(user, message);
    }
}

/* Opened, not decoded: the encoder finds the rest. */
static mldf_status video_look(const char *name, const void *data, size_t bytes, file_warning_fn warn, void *user,
                              mldf_error *err) {
    const struct av_file_module *m;
    char text[AV_TEXT] = "";
    uint32_t streams = 0, video, sound;
    void *file;
    (void)name;
    if (bytes == 0)
        return mldfi_fail(err, MLDF_E_TRUNCATED, "the file is empty");
    mldf_status status = mldfi_av_file_module(&m, err);
    if (status < 0)
        return status;
    if (m->open(data, bytes, "", &file, &streams, text) < 0)
        return mldfi_fail(err, MLDF_E_TYPE, "not a video that is known: %s", text);
    mldfi_video_choose(m, file, streams, &video, &sound);
    if (video == UINT32_MAX)
        status = mldfi_fail(err, MLDF_E_TYPE, "a file with %" PRIu32 " streams, none of which is a video", streams);
    else if (warn)
        warn_streams(m, file, streams, warn, user);
    m->close(file);
    return status;
}

const struct field_files mldfi_video_files = {
    .field = "video",
    .noun = "a video",
    .plural = "videos",
    .endings = endings,
    .most_bytes = UINT64_MAX,
    .look = video_look,
};

/* ---- Out --------------------------------------------------------------------------------------------------------------------------------------- */

struct writing {
    const struct av_file_module *m;
    void *file;
    const struct video_head *head;
    const struct audio_bytes *in;
    const uint8_t *data; /* of the payload */
    struct packets_head sound;
    struct audio_bytes sound_in;
    uint64_t sound_next; /* packet, or sample of raw sound */
    int64_t sound_last;  /* pts */
    int64_t shift;       /* of times, so that none is below 0 */
};

static mldf_status put(struct writing *w, const struct av_packet *p, mldf_error *err) {
    char text[AV_TEXT] = "";
    return w->m->write(w->file, p, text) < 0 ? mldfi_fail(err, MLDF_E_UNSUPPORTED, "a file of its packets: %s", text)
                                             : MLDF_OK;
}

/* The next packet: where it is in the sound's bytes, and its samples. MLDF_END: there are no more. */
static mldf_status next_sound(struct writing *w, uint64_t place[2], uint64_t samples[2], mldf_error *err) {
    enum { RAW_SAMPLES = 1024 };
    const mldf_audio_info *info = &w->head->sound.info;
    if (mldfi_audio_is_packets(info->codec)) {
        if (w->sound_next >= w->sound.count)
            return MLDF_END;
        mldf_status status = mldfi_packets_offsets(&w->sound, &w->sound_in, w->sound_next, 1, place, err);
        if (status == MLDF_OK)
            status = mldfi_packets_samples(&w->sound, &w->sound_in, w->sound_next, 1, samples, err);
        place[0] += w->sound.first;
        place[1] += w->sound.first;
        return status;
    }
    if (w->sound_next >= info->samples)
        return MLDF_END;
    samples[0] = w->sound_next;
    samples[1] = info->samples - w->sound_next < RAW_SAMPLES ? info->samples : w->sound_next + RAW_SAMPLES;
    for (int i = 0; i < 2; i++)
        place[i] = samples[i] * info->channels * (info->bits / 8);
    return MLDF_OK;
}

/* Sound up to a time in seconds. Silence is not in the file: times jump there. */
static mldf_status write_sound(struct writing *w, double until, mldf_error *err) {
    const struct video_sound *s = &w->head->sound;
    double start = (double)s->start_num / (double)s->start_den;
    uint64_t place[2], samples[2];
    mldf_status status = MLDF_OK;
    while (s->there && (status = next_sound(w, place, samples, err)) == MLDF_OK) {
        int64_t pts =
            (int64_t)samples[0] - (int64_t)w->sound.skip + (int64_t)(start * s->info.rate + (start < 0 ? -0.5 : 0.5));
        if ((double)pts / s->info.rate > until)
            break;
        if (w->sound_next && pts <= w->sound_last) /* muxers want them to ascend */
            pts = w->sound_last + 1;
        struct av_packet p = {.stream = 1,
                              .pts = pts,
                              .dts = pts,
                              .duration = (int64_t)(samples[1] - samples[0]),
                              .key = 1,
                              .data = w->data + s->at + place[0],
                              .bytes = (size_t)(place[1] - place[0])};
        status = p.bytes ? put(w, &p, err) : MLDF_OK;
        if (status < 0)
            return status;
        w->sound_last = p.bytes ? pts : w->sound_last;
        w->sound_next = mldfi_audio_is_packets(s->info.codec) ? w->sound_next + 1 : samples[1];
    }
    return status < 0 ? status : MLDF_OK;
}

/* How raw sound of a value is called. */
static uint8_t pcm_of(const mldf_audio_info *i) {
    switch (i->codec) {
    case MLDF_AUDIO_PCM:
        return i->bits == 8 ? AV_PCM_U8 : i->bits == 16 ? AV_PCM_S16LE : i->bits == 24 ? AV_PCM_S24LE : AV_PCM_S32LE;
    case MLDF_AUDIO_FLOAT:
        return i->bits == 32 ? AV_PCM_F32LE : AV_PCM_F64LE;
    case MLDF_AUDIO_ALAW:
        return AV_PCM_ALAW;
    case MLDF_AUDIO_MULAW:
        return AV_PCM_MULAW;
    default:
        return AV_PCM_NONE;
    }
}

static mldf_status write_packets(struct writing *w, mldf_error *err) {
    const struct video_stream *v = &w->head->video;
    mldf_status status = MLDF_OK;
    int64_t last = INT64_MIN;
    uint64_t end = 0;
    for (uint32_t i = 0; i < v->packets && status == MLDF_OK; i++) {
        struct video_packet k;
        status = mldfi_video_packets(w->head, w->in, i, 1, &end, &k, err);
        if (status < 0)
            break;
        if (!mldfi_video_time_fits(k.pts) || !mldfi_video_time_fits(k.dts))
            return mldfi_fail(err, MLDF_E_UNSUPPORTED, "packet %" PRIu32 ": no file holds a time of %" PRId64 " ticks",
                              i, k.pts);
        struct av_packet p = {.pts = k.pts == INT64_MIN ? AV_NO_TIME : k.pts - v->first,
                              .dts = k.dts == INT64_MIN ? AV_NO_TIME : k.dts - v->first,
                              .duration = k.duration,
                              .key = k.flags & PACKET_KEY,
                              .data = w->data + k.offset,
                              .bytes = k.bytes};
        if (p.dts != AV_NO_TIME && last != INT64_MIN && p.dts <= last) /* muxers want them to ascend */
            p.dts = last + 1;
        last = p.dts == AV_NO_TIME ? last : p.dts;
        status =
            write_sound(w, (double)(last == INT64_MIN ? 0 : last) * (double)v->tick.num / (double)v->tick.den, err);
        if (status == MLDF_OK)
            status = put(w, &p, err);
    }
    return status == MLDF_OK ? write_sound(w, 1e30, err) : status;
}

static struct av_stream video_stream(const struct video_head *h, const uint8_t *data) {
    const struct video_stream *v = &h->video;
    return (struct av_stream){.kind = AV_KIND_VIDEO,
                              .codec = (int)v->codec,
                              .profile = v->profile,
                              .level = v->level,
                              .base_num = (uint32_t)v->tick.num,
                              .base_den = (uint32_t)v->tick.den,
                              .extra = data + h->extra_at,
                              .extra_bytes = h->extra_bytes,
                              .width = v->width,
                              .height = v->height,
                              .aspect_num = v->aspect_num,
                              .aspect_den = v->aspect_den,
                              .rotation = (int32_t)v->turn * 90,
                              .mirrored = v->mirror,
                              .field_order = v->field_order,
                              .primaries = v->primaries,
                              .transfer = v->transfer,
                              .matrix = v->matrix,
                              .range = v->range,
                              .site = v->site,
                              .reorder = (int32_t)v->reorder};
}

/* Times and rates that libavformat can count with. */
static mldf_status check_times(const struct video_head *h, mldf_error *err) {
    const struct video_stream *v = &h->video;
    const struct video_sound *s = &h->sound;
    double start = s->there ? (double)s->start_num / (double)s->start_den : 0;
    if (!mldfi_video_time_fits(v->first))
        return mldfi_fail(err, MLDF_E_UNSUPPORTED, "no file holds a first frame at tick %" PRId64, v->first);
    if (v->tick.num > INT32_MAX || v->tick.den > INT32_MAX)
        return mldfi_fail(err, MLDF_E_UNSUPPORTED, "no file holds ticks of %" PRIu64 "/%" PRIu64 " seconds",
                          (uint64_t)v->tick.num, (uint64_t)v->tick.den);
    if (s->there && s->info.rate > INT32_MAX)
        return mldfi_fail(err, MLDF_E_UNSUPPORTED, "no file holds sound with a sampling rate of %" PRIu32,
                          s->info.rate);
    if (!(start > -1e9 && start < 1e9))
        return mldfi_fail(err, MLDF_E_UNSUPPORTED, "no file holds sound that starts at %g s", start);
    return MLDF_OK;
}

/* MP4 where its codecs are at home there, or where it can hold them and the video is turned, else Matroska. */
static bool suits_mp4(const struct video_head *h) {
    uint32_t c = h->video.codec;
    const mldf_audio_codec s = h->sound.info.codec;
    bool sound =
        !h->sound.there || s == MLDF_AUDIO_AAC || s == MLDF_AUDIO_MP3 || s == MLDF_AUDIO_AC3 || s == MLDF_AUDIO_EAC3;
    if (sound && (h->video.turn || h->video.mirror) && (c == AV_VIDEO_MPEG2 || c == AV_VIDEO_MJPEG))
        return true;
    return sound && h->extra_bytes &&
           (c == AV_VIDEO_H264 || c == AV_VIDEO_HEVC || c == AV_VIDEO_AV1 || c == AV_VIDEO_MPEG4);
}

/* Not every muxer of every FFmpeg writes how a video is turned: the file is looked at. */
static mldf_status check_turn(const struct writing *w, const uint8_t *made, size_t bytes, mldf_error *err) {
    const struct video_stream *v = &w->head->video;
    struct av_stream s = {0};
    char text[AV_TEXT] = "";
    uint32_t streams = 0;
    void *file;
    if (!v->turn && !v->mirror)
        return MLDF_OK;
    if (w->m->open(made, bytes, "", &file, &streams, text) < 0)
        return mldfi_fail(err, MLDF_E_UNSUPPORTED, "a file of its packets: %s", text);
    w->m->stream(file, 0, &s);
    w->m->close(file);
    if (s.rotation != (int32_t)v->turn * 90 || (s.mirrored != 0) != v->mirror)
        return mldfi_fail(err, MLDF_E_UNSUPPORTED,
                          "the video is %sturned by %" PRIu32
                          " degrees, which this FFmpeg does not write into the file",
                          v->mirror ? "mirrored and " : "", v->turn * 90);
    return MLDF_OK;
}

mldf_status mldfi_video_export(const struct schema_field *field, const mldf_value *value, struct media_kit *kit,
                               struct export_room *room, struct exported *out, mldf_error *err) {
    struct audio_memory memory = {value->data}, sound_memory;
    struct audio_bytes in = {mldfi_audio_from_memory, &memory, value->bytes};
    struct video_head head;
    struct av_stream streams[2];
    char text[AV_TEXT] = "";
    const uint8_t *made, *extra = NULL;
    size_t bytes;
    (void)field, (void)kit;
    struct writing w = {.head = &head, .in = &in, .data = value->data};
    if (!value->record || value->record_bytes != VIDEO_RECORD)
        return mldfi_fail(err, MLDF_E_TYPE, "the value is not a video of packets");
    mldf_status status = mldfi_video_open(value->record, &in, &head, err);
    if (status == MLDF_OK)
        status = mldfi_video_check_tables(&head, &in, err);
    if (status == MLDF_OK)
        status = check_times(&head, err);
    if (status == MLDF_OK && head.video.configs > 1)
        status = mldfi_fail(err, MLDF_E_UNSUPPORTED,
                            "the video has %" PRIu32 " configurations of its decoder, and a file is written with one",
                            head.video.configs);
    if (status == MLDF_OK)
        status = mldfi_av_file_module(&w.m, err);
    if (status == MLDF_OK && head.sound.there) {
        sound_memory.data = (const uint8_t *)value->data + head.sound.at;
        w.sound_in = (struct audio_bytes){mldfi_audio_from_memory, &sound_memory, head.sound.bytes};
        status = mldfi_audio_is_packets(head.sound.info.codec)
                     ? mldfi_packets_open(&head.sound.info, &w.sound_in, &w.sound, &extra, err)
                     : mldfi_audio_check_bytes(&head.sound.info, head.sound.bytes, err);
    }
    if (status < 0)
        return status;
    bool mp4 = suits_mp4(&head);
    streams[0] = video_stream(&head, value->data);
    if (head.sound.there)
        streams[1] = (struct av_stream){.kind = AV_KIND_AUDIO,
                                        .codec = (int)head.sound.info.codec,
                                        .base_num = 1,
                                        .base_den = head.sound.info.rate,
                                        .extra = extra,
                                        .extra_bytes = w.sound.extra_bytes,
                                        .rate = head.sound.info.rate,
                                        .channels = head.sound.info.channels,
                                        .bits = head.sound.info.bits,
                                        .frame_samples = w.sound.duration,
                                        .skip = w.sound.skip,
                                        .pcm = pcm_of(&head.sound.info),
                                        .block_align = head.sound.info.channels * (head.sound.info.bits / 8)};
    if (w.m->create(mp4 ? "mp4" : "matroska", streams, head.sound.there ? 2 : 1, &w.file, text) < 0)
        return mldfi_fail(err, MLDF_E_UNSUPPORTED, "a file of its packets: %s", text);
    status = write_packets(&w, err);
    if (status == MLDF_OK && w.m->finish(w.file, &made, &bytes, text) < 0)
        status = mldfi_fail(err, MLDF_E_UNSUPPORTED, "a file of its packets: %s", text);
    if (status == MLDF_OK)
        status = check_turn(&w, made, bytes, err);
    room->file.size = 0;
    if (status == MLDF_OK)
        status = mldf_buffer_append(&room->file, made, bytes, err);
    w.m->discard(w.file);
    *out = (struct exported){
        .ending = mp4 ? "mp4" : "mkv", .data = room->file.data, .bytes = room->file.size, .converted = true};
    return status;
}

mldf_status mldfi_video_json(const struct schema_field *field, const mldf_value *value, bool full, mldf_buffer *out,
                             mldf_error *err) {
    static const char *const codecs[AV_VIDEO_CODECS] = {"other", "h264",  "hevc",  "vp8",   "vp9",
                                                        "av1",   "mpeg4", "mpeg2", "mjpeg", "ffv1"};
    const uint8_t *r = value->record;
    (void)field;
    if (!r || value->record_bytes != VIDEO_RECORD)
        return MLDF_END;
    mldf_status status = mldfi_payload_json_begin(value, out, err);
    uint8_t codec = r[VIDEO_CODEC];
    if (status == MLDF_OK)
        status = mldfi_buffer_printf(
            out, err,
            ",\"frames\":%" PRIu32 ",\"keys\":%" PRIu32 ",\"height\":%u,\"width\":%u,\"fps\":[%" PRIu32 ",%" PRIu32
            "],\"seconds\":%" PRIu64 ".%06u,\"codec\":\"%s\"",
            mldfi_load_u32(r + VIDEO_FRAMES), mldfi_load_u32(r + VIDEO_KEYS), mldfi_load_u16(r + VIDEO_HEIGHT),
            mldfi_load_u16(r + VIDEO_WIDTH), mldfi_load_u32(r + VIDEO_FPS_NUM), mldfi_load_u32(r + VIDEO_FPS_DEN),
            mldfi_load_u64(r + VIDEO_DURATION) / 1000000, (unsigned)(mldfi_load_u64(r + VIDEO_DURATION) % 1000000),
            codecs[codec < AV_VIDEO_CODECS ? codec : 0]);
    if (status == MLDF_OK && mldfi_load_u32(r + VIDEO_SOUND_RATE))
        status = mldfi_buffer_printf(
            out, err, ",\"sound\":{\"samples\":%" PRIu64 ",\"rate\":%" PRIu32 ",\"channels\":%u,\"codec\":\"%s\"}",
            mldfi_load_u64(r + VIDEO_SOUND_SAMPLES), mldfi_load_u32(r + VIDEO_SOUND_RATE),
            mldfi_load_u16(r + VIDEO_SOUND_CHANNELS), mldf_audio_codec_name((mldf_audio_codec)r[VIDEO_SOUND_CODEC]));
    return status < 0 ? status : mldfi_payload_json_end(value, full, out, err);
}
