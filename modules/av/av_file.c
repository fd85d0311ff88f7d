/* The module libmldf-avformat-N.so: files taken apart into packets, and packets put into files, by libavformat, in memory (src/codec/av_module.h). It is
 * used when packing and extracting alone. No protocol is ever opened: a playlist that names other files reads nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libavformat/avformat.h>
#include <libavutil/display.h>
#include <libavutil/log.h>

#include "av_codecs.h"

enum { IO_BYTES = 64 << 10 };

struct file {
    AVFormatContext *format;
    AVIOContext *io;
    AVPacket *packet;
    const uint8_t *data;
    uint64_t bytes, at;
    uint8_t *made; /* what is written: the file */
    uint64_t room;
    AVRational base[256]; /* of what is written, as the packets have it */
};

static int fail(char text[AV_TEXT], const char *what, int code) {
    char reason[AV_ERROR_MAX_STRING_SIZE];
    av_strerror(code, reason, sizeof reason);
    snprintf(text, AV_TEXT, "%s: %s", what, reason);
    return -1;
}

/* ---- Memory as a file ------------------------------------------------------------------------------------------------------------------ */

static int read_bytes(void *user, uint8_t *out, int bytes) {
    struct file *f = user;
    uint64_t left = f->bytes - f->at, n = (uint64_t)bytes < left ? (uint64_t)bytes : left;
    if (n == 0)
        return AVERROR_EOF;
    memcpy(out, f->data + f->at, n);
    f->at += n;
    return (int)n;
}

static int64_t seek_bytes(void *user, int64_t offset, int whence) {
    struct file *f = user;
    int64_t from = whence == SEEK_CUR ? (int64_t)f->at : whence == SEEK_END ? (int64_t)f->bytes : 0;
    if (whence == AVSEEK_SIZE)
        return (int64_t)f->bytes;
    if (offset < -from || (uint64_t)(from + offset) > f->bytes)
        return AVERROR(EINVAL);
    f->at = (uint64_t)(from + offset);
    return (int64_t)f->at;
}

static int write_bytes(void *user, uint8_t *in, int bytes) {
    struct file *f = user;
    uint64_t end = f->at + (uint64_t)bytes;
    if (end > f->room) {
        uint64_t room = end + end / 2 + IO_BYTES;
        uint8_t *more = realloc(f->made, room);
        if (!more)
            return AVERROR(ENOMEM);
        memset(more + f->room, 0, room - f->room);
        f->made = more;
        f->room = room;
    }
    memcpy(f->made + f->at, in, (size_t)bytes);
    f->at = end;
    if (end > f->bytes)
        f->bytes = end;
    return bytes;
}

/* A reference to another file is never followed. */
static int refuse_io(AVFormatContext *s, AVIOContext **io, const char *url, int flags, AVDictionary **options) {
    (void)s, (void)io, (void)url, (void)flags, (void)options;
    return AVERROR(EPERM);
}

static int make_io(struct file *f, int writes) {
    uint8_t *room = av_malloc(IO_BYTES);
    if (!room)
        return AVERROR(ENOMEM);
    f->io = avio_alloc_context(room, IO_BYTES, writes, f, writes ? NULL : read_bytes, writes ? write_bytes : NULL,
                               seek_bytes);
    if (!f->io)
        av_free(room);
    return f->io ? 0 : AVERROR(ENOMEM);
}

static void close_file(void *file) {
    struct file *f = file;
    if (f->format && f->format->iformat)
        avformat_close_input(&f->format);
    avformat_free_context(f->format);
    if (f->io)
        av_freep(&f->io->buffer);
    avio_context_free(&f->io);
    av_packet_free(&f->packet);
    free(f->made);
    free(f);
}

/* ---- In -------------------------------------------------------------------------------------------------------------------------------------- */

/* Formats that are one file of packets; lists of other files, devices and scripts are none of them. */
static const char allowed[] =
    "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,mpegts,mpeg,ogg,flv,asf,h264,hevc,m4v,mpegvideo,obu,ivf,aac,mp3,flac,"
    "wav,aiff,caf,w64,ac3,eac3,mjpeg,gif,nut,mxf,av1,latm,loas";

static int open_in(struct file *f, const char *name, char text[AV_TEXT]) {
    int code = make_io(f, 0);
    f->format = code < 0 ? NULL : avformat_alloc_context();
    f->packet = av_packet_alloc();
    if (!f->format || !f->packet)
        return fail(text, "file", AVERROR(ENOMEM));
    f->format->pb = f->io;
    f->format->io_open = refuse_io;
    f->format->flags |= AVFMT_FLAG_CUSTOM_IO;
    f->format->format_whitelist = av_strdup(allowed);
    f->format->max_streams = 256;
    code = avformat_open_input(&f->format, name, NULL, NULL);
    if (code < 0)
        return fail(text, "libavformat does not open it", code);
    code = avformat_find_stream_info(f->format, NULL);
    return code < 0 ? fail(text, "libavformat finds no streams", code) : 0;
}

static int open_file(const uint8_t *data, size_t bytes, const char *name, void **out, uint32_t *streams,
                     char text[AV_TEXT]) {
    struct file *f = calloc(1, sizeof *f);
    *out = NULL;
    if (!f)
        return fail(text, "file", AVERROR(ENOMEM));
    f->data = data;
    f->bytes = bytes;
    if (open_in(f, name, text) < 0) {
        close_file(f);
        return -1;
    }
    *streams = f->format->nb_streams;
    *out = f;
    return 0;
}

static int kind_of(enum AVMediaType type) {
    switch (type) {
    case AVMEDIA_TYPE_VIDEO:
        return AV_KIND_VIDEO;
    case AVMEDIA_TYPE_AUDIO:
        return AV_KIND_AUDIO;
    case AVMEDIA_TYPE_SUBTITLE:
        return AV_KIND_SUBTITLE;
    default:
        return AV_KIND_DATA;
    }
}

/* The display matrix as quarter turns clockwise, after a mirror from left to right. */
static void read_turn(const AVStream *s, struct av_stream *out) {
    size_t bytes;
    const int32_t *m = (const int32_t *)(const void *)av_stream_get_side_data(s, AV_PKT_DATA_DISPLAYMATRIX, &bytes);
    if (!m || bytes < 9 * sizeof *m)
        return;
    int32_t copy[9];
    memcpy(copy, m, sizeof copy);
    /* A negative determinant mirrors. */
    if ((int64_t)copy[0] * copy[4] - (int64_t)copy[1] * copy[3] < 0) {
        out->mirrored = 1;
        av_display_matrix_flip(copy, 1, 0);
    }
    double turn = -av_display_rotation_get(copy); /* counterclockwise is positive there */
    int32_t degrees = turn >= -1e6 && turn <= 1e6 ? (int32_t)(turn < 0 ? turn - 0.5 : turn + 0.5) : -1;
    degrees = (degrees % 360 + 360) % 360;
    if (out->mirrored) /* the matrix turns and then mirrors */
        degrees = (360 - degrees) % 360;
    out->rotation = degrees % 90 == 0 ? degrees : -1;
}

static int64_t time_of(int64_t t) {
    return t == AV_NOPTS_VALUE ? AV_NO_TIME : t;
}

static void get_stream(void *file, uint32_t index, struct av_stream *out) {
    const AVStream *s = ((struct file *)file)->format->streams[index];
    const AVCodecParameters *p = s->codecpar;
    const int kind = kind_of(p->codec_type);
    AVRational fps = s->avg_frame_rate.num > 0 && s->avg_frame_rate.den > 0 ? s->avg_frame_rate : s->r_frame_rate;
    *out = (struct av_stream){
        .kind = kind,
        .codec = av_codec_number(kind, p->codec_id),
        .codec_name = avcodec_get_name(p->codec_id),
        .tag = p->codec_tag,
        .profile = p->profile,
        .level = p->level,
        .base_num = (uint32_t)s->time_base.num,
        .base_den = (uint32_t)s->time_base.den,
        .extra = p->extradata,
        .extra_bytes = p->extradata_size > 0 ? (size_t)p->extradata_size : 0,
        .width = p->width > 0 ? (uint32_t)p->width : 0,
        .height = p->height > 0 ? (uint32_t)p->height : 0,
        .aspect_num = p->sample_aspect_ratio.num > 0 ? (uint32_t)p->sample_aspect_ratio.num : 0,
        .aspect_den = p->sample_aspect_ratio.den > 0 ? (uint32_t)p->sample_aspect_ratio.den : 0,
        .field_order = (uint8_t)p->field_order,
        .primaries = (uint8_t)p->color_primaries,
        .transfer = (uint8_t)p->color_trc,
        .matrix = (uint8_t)p->color_space,
        .range = (uint8_t)p->color_range,
        .site = (uint8_t)p->chroma_location,
        .rate = p->sample_rate > 0 ? (uint32_t)p->sample_rate : 0,
        .channels = p->ch_layout.nb_channels > 0 ? (uint32_t)p->ch_layout.nb_channels : 0,
        .bits = p->bits_per_raw_sample > 0 ? (uint32_t)p->bits_per_raw_sample : (uint32_t)p->bits_per_coded_sample,
        .block_align = p->block_align > 0 ? (uint32_t)p->block_align : 0,
        .frame_samples = p->frame_size > 0 ? (uint32_t)p->frame_size : 0,
        .mask = p->ch_layout.order == AV_CHANNEL_ORDER_NATIVE ? (uint32_t)p->ch_layout.u.mask : 0,
        .fps_num = fps.num > 0 && fps.den > 0 ? (uint32_t)fps.num : 0,
        .fps_den = fps.num > 0 && fps.den > 0 ? (uint32_t)fps.den : 0,
        .reorder = p->video_delay,
        .pcm = (uint8_t)av_pcm_of(p->codec_id),
        .start = time_of(s->start_time),
        .attached = (s->disposition & (AV_DISPOSITION_ATTACHED_PIC | AV_DISPOSITION_TIMED_THUMBNAILS)) != 0};
    read_turn(s, out);
}

static uint32_t load_u32(const uint8_t *p) {
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static int next_packet(void *file, struct av_packet *out, char text[AV_TEXT]) {
    struct file *f = file;
    size_t bytes;
    av_packet_unref(f->packet);
    int code = av_read_frame(f->format, f->packet);
    if (code == AVERROR_EOF)
        return 0;
    if (code < 0)
        return fail(text, "libavformat", code);
    const AVPacket *p = f->packet;
    *out = (struct av_packet){.stream = (uint32_t)p->stream_index,
                              .pts = time_of(p->pts),
                              .dts = time_of(p->dts),
                              .duration = p->duration > 0 ? p->duration : 0,
                              .key = (p->flags & AV_PKT_FLAG_KEY) != 0,
                              .discard = (p->flags & AV_PKT_FLAG_DISCARD) != 0,
                              .corrupt = (p->flags & AV_PKT_FLAG_CORRUPT) != 0,
                              .data = p->data,
                              .bytes = p->size > 0 ? (size_t)p->size : 0};
    const uint8_t *skips = av_packet_get_side_data(p, AV_PKT_DATA_SKIP_SAMPLES, &bytes);
    if (skips && bytes >= 8) {
        out->skip = load_u32(skips);
        out->trim = load_u32(skips + 4);
    }
    out->extra = av_packet_get_side_data(p, AV_PKT_DATA_NEW_EXTRADATA, &bytes);
    out->extra_bytes = out->extra ? bytes : 0;
    return 1;
}

/* ---- Out ----------------------------------------------------------------------------------------------------------------------------------- */

static int set_stream(AVStream *to, const struct av_stream *s) {
    AVCodecParameters *p = to->codecpar;
    p->codec_type = s->kind == AV_KIND_VIDEO ? AVMEDIA_TYPE_VIDEO : AVMEDIA_TYPE_AUDIO;
    p->codec_id = s->pcm ? av_pcm_id(s->pcm) : av_codec_id(s->kind, s->codec);
    if (s->pcm)
        p->bits_per_coded_sample = av_get_bits_per_sample(p->codec_id);
    p->profile = s->profile;
    p->level = s->level;
    p->width = (int)s->width;
    p->height = (int)s->height;
    p->field_order = s->field_order;
    p->color_primaries = s->primaries;
    p->color_trc = s->transfer;
    p->color_space = s->matrix;
    p->color_range = s->range;
    p->chroma_location = s->site;
    p->sample_rate = (int)s->rate;
    p->bits_per_raw_sample = (int)s->bits;
    p->block_align = (int)s->block_align;
    p->frame_size = (int)s->frame_samples;
    p->initial_padding = (int)s->skip;
    p->video_delay = s->reorder;
    if (s->kind == AV_KIND_AUDIO)
        av_channel_layout_default(&p->ch_layout, (int)s->channels);
    to->time_base = (AVRational){(int)s->base_num, (int)s->base_den}; /* a wish; write_scaled converts */
    if (s->aspect_num && s->aspect_den)
        to->sample_aspect_ratio = p->sample_aspect_ratio = (AVRational){(int)s->aspect_num, (int)s->aspect_den};
    if (s->extra_bytes) {
        p->extradata = av_mallocz(s->extra_bytes + AV_INPUT_BUFFER_PADDING_SIZE);
        if (!p->extradata)
            return AVERROR(ENOMEM);
        memcpy(p->extradata, s->extra, s->extra_bytes);
        p->extradata_size = (int)s->extra_bytes;
    }
    if (s->kind == AV_KIND_VIDEO && (s->rotation > 0 || s->mirrored)) {
        int32_t *m = (int32_t *)(void *)av_stream_new_side_data(to, AV_PKT_DATA_DISPLAYMATRIX, 9 * sizeof *m);
        if (!m)
            return AVERROR(ENOMEM);
        av_display_rotation_set(m, s->mirrored ? -s->rotation : s->rotation);
        if (s->mirrored)
            av_display_matrix_flip(m, 1, 0);
    }
    return 0;
}

static int create(const char *format, const struct av_stream *streams, uint32_t count, void **out, char text[AV_TEXT]) {
    struct file *f = calloc(1, sizeof *f);
    *out = NULL;
    int code = f ? make_io(f, 1) : AVERROR(ENOMEM);
    if (code >= 0 && !(f->packet = av_packet_alloc()))
        code = AVERROR(ENOMEM);
    if (code >= 0)
        code = avformat_alloc_output_context2(&f->format, NULL, format, NULL);
    if (code >= 0 && count > 256)
        code = AVERROR(EINVAL);
    for (uint32_t i = 0; code >= 0 && i < count; i++) {
        AVStream *s = avformat_new_stream(f->format, NULL);
        code = s ? set_stream(s, &streams[i]) : AVERROR(ENOMEM);
        f->base[i] = (AVRational){(int)streams[i].base_num, (int)streams[i].base_den};
    }
    if (code >= 0) {
        f->format->pb = f->io;
        f->format->flags |= AVFMT_FLAG_BITEXACT | AVFMT_FLAG_CUSTOM_IO;
        f->format->avoid_negative_ts = AVFMT_AVOID_NEG_TS_DISABLED;
        code = avformat_write_header(f->format, NULL);
    }
    if (code < 0) {
        fail(text, format, code);
        if (f)
            close_file(f);
        return -1;
    }
    *out = f;
    return 0;
}

static int write_packet(void *file, const struct av_packet *in, char text[AV_TEXT]) {
    struct file *f = file;
    AVPacket *p = f->packet;
    int code = in->bytes > (size_t)INT32_MAX / 2 ? AVERROR(EINVAL) : av_new_packet(p, (int)in->bytes);
    if (code < 0)
        return fail(text, "packet", code);
    if (in->bytes)
        memcpy(p->data, in->data, in->bytes);
    p->stream_index = (int)in->stream;
    p->pts = in->pts == AV_NO_TIME ? AV_NOPTS_VALUE : in->pts;
    p->dts = in->dts == AV_NO_TIME ? AV_NOPTS_VALUE : in->dts;
    p->duration = in->duration;
    p->flags = in->key ? AV_PKT_FLAG_KEY : 0;
    return 0;
}

/* The muxer's time base may differ from the one that packets come with. */
static int write_scaled(void *file, const struct av_packet *in, char text[AV_TEXT]) {
    struct file *f = file;
    if (write_packet(file, in, text) < 0)
        return -1;
    av_packet_rescale_ts(f->packet, f->base[in->stream], f->format->streams[in->stream]->time_base);
    int code = av_interleaved_write_frame(f->format, f->packet);
    av_packet_unref(f->packet);
    return code < 0 ? fail(text, f->format->oformat->name, code) : 0;
}

static int finish(void *file, const uint8_t **data, size_t *bytes, char text[AV_TEXT]) {
    struct file *f = file;
    int code = av_write_trailer(f->format);
    avio_flush(f->io);
    *data = f->made;
    *bytes = f->bytes;
    return code < 0 ? fail(text, f->format->oformat->name, code) : 0;
}

static char version[64];

/* libavformat logs without asking, and has no level of its own: a process that packs is quiet. */
__attribute__((constructor)) static void begin(void) {
    const unsigned have = avformat_version();
    snprintf(version, sizeof version, "libavformat %u.%u.%u", have >> 16, have >> 8 & 255, have & 255);
}

__attribute__((visibility("default"))) const struct av_file_module *mldf_av_file_module(char text[AV_TEXT]);
const struct av_file_module *mldf_av_file_module(char text[AV_TEXT]) {
    static const struct av_file_module module = {.abi = AV_MODULE_ABI,
                                                 .version = version,
                                                 .open = open_file,
                                                 .stream = get_stream,
                                                 .packet = next_packet,
                                                 .close = close_file,
                                                 .create = create,
                                                 .write = write_scaled,
                                                 .finish = finish,
                                                 .discard = close_file};
    if (avformat_version() >> 16 != LIBAVFORMAT_VERSION_MAJOR || avcodec_version() >> 16 != LIBAVCODEC_VERSION_MAJOR) {
        snprintf(text, AV_TEXT, "this module was compiled for libavformat %d, and %s was loaded",
                 LIBAVFORMAT_VERSION_MAJOR, version);
        return NULL;
    }
    av_log_set_level(AV_LOG_QUIET);
    return &module;
}
