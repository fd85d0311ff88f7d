/* The module libmldf-av-N.so: packets decoded by libavcodec (src/codec/av_module.h). One thread a decoder; workers are what runs in parallel. Nothing is
 * logged. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libavcodec/avcodec.h>
#include <libavutil/cpu.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>

#include "av_codecs.h"

struct decoder {
    AVCodecContext *context;
    AVPacket *packet;
    AVFrame *frame;
    AVBufferRef *bytes; /* of the last packet, with the zeros behind it that decoders read */
    float *room;        /* sound that is not float */
    size_t room_bytes;
    int portable;
    int plain; /* portable, and the next packet may make it choose code for a CPU */
};

/* FFmpeg chooses code for the CPU by flags of the whole process: when a decoder is opened, with the first packet, and Opus whenever SILK begins, which any
 * packet may do. A decoder whose numbers must not depend on the CPU does so without flags, alone: all others of this module open and decode under the read
 * lock, for they may choose at any time too. Writers come first, or many readers would keep them out for ever. */
#ifdef PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP
static pthread_rwlock_t choosing = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
#else
static pthread_rwlock_t choosing = PTHREAD_RWLOCK_INITIALIZER;
#endif

static int begin_choosing(int plain) {
    int flags = 0;
    if (!plain) {
        pthread_rwlock_rdlock(&choosing);
        return flags;
    }
    pthread_rwlock_wrlock(&choosing);
    flags = av_get_cpu_flags();
    av_force_cpu_flags(0);
    return flags;
}

static void end_choosing(int plain, int flags) {
    if (plain)
        av_force_cpu_flags(flags);
    pthread_rwlock_unlock(&choosing);
}

static int fail(char text[AV_TEXT], const char *what, int code) {
    char reason[AV_ERROR_MAX_STRING_SIZE];
    av_strerror(code, reason, sizeof reason);
    snprintf(text, AV_TEXT, "%s: %s", what, reason);
    return -1;
}

static void close_decoder(void *decoder) {
    struct decoder *d = decoder;
    avcodec_free_context(&d->context);
    av_packet_free(&d->packet);
    av_buffer_unref(&d->bytes);
    av_frame_free(&d->frame);
    free(d->room);
    free(d);
}

static const AVCodec *find(const struct av_setup *s) {
    enum AVCodecID id = av_codec_id(s->kind, s->codec);
    /* The float decoders: MP3's own name is the one of fixed point. AV1's native decoder needs hardware. */
    if (id == AV_CODEC_ID_MP3)
        return avcodec_find_decoder_by_name("mp3float");
    if (id == AV_CODEC_ID_OPUS)
        return avcodec_find_decoder_by_name("opus");
    if (id == AV_CODEC_ID_VORBIS)
        return avcodec_find_decoder_by_name("vorbis");
    if (id == AV_CODEC_ID_AV1) {
        const AVCodec *codec = avcodec_find_decoder_by_name("libdav1d");
        return codec ? codec : avcodec_find_decoder_by_name("libaom-av1");
    }
    if (id == AV_CODEC_ID_VP8)
        return avcodec_find_decoder_by_name("vp8");
    if (id == AV_CODEC_ID_VP9)
        return avcodec_find_decoder_by_name("vp9");
    return id == AV_CODEC_ID_NONE ? NULL : avcodec_find_decoder(id);
}

static int set_up(AVCodecContext *c, const struct av_setup *s) {
    c->thread_count = 1;
    c->thread_type = 0;
    c->log_level_offset = 200; /* below what anybody prints */
    c->codec_tag = s->tag;
    /* OUTPUT_CORRUPT: a frame that is drained after a recovery point would be held back, though nothing is missing. What is missing is in `corrupt`. */
    c->flags |= AV_CODEC_FLAG_BITEXACT | AV_CODEC_FLAG_UNALIGNED | AV_CODEC_FLAG_OUTPUT_CORRUPT;
    c->error_concealment = 0;
    c->max_pixels = s->max_pixels ? (int64_t)s->max_pixels : INT64_C(1) << 28;
    if (s->kind == AV_KIND_VIDEO) {
        c->width = c->coded_width = (int)s->width;
        c->height = c->coded_height = (int)s->height;
        c->has_b_frames = s->reorder;
        c->idct_algo = FF_IDCT_SIMPLE;
    } else {
        c->sample_rate = (int)s->rate;
        c->bits_per_coded_sample = (int)s->bits;
        c->block_align = (int)s->block_align;
        av_channel_layout_default(&c->ch_layout, (int)s->channels);
        c->request_sample_fmt = AV_SAMPLE_FMT_FLTP;
    }
    if (s->extra_bytes == 0)
        return 0;
    c->extradata = av_mallocz(s->extra_bytes + AV_INPUT_BUFFER_PADDING_SIZE);
    if (!c->extradata)
        return AVERROR(ENOMEM);
    memcpy(c->extradata, s->extra, s->extra_bytes);
    c->extradata_size = (int)s->extra_bytes;
    return 0;
}

static int open_decoder(const struct av_setup *s, void **out, char text[AV_TEXT]) {
    const AVCodec *codec = find(s);
    struct decoder *d = calloc(1, sizeof *d);
    AVDictionary *options = NULL;
    *out = NULL;
    if (!d)
        return fail(text, "decoder", AVERROR(ENOMEM));
    if (!codec) {
        free(d);
        snprintf(text, AV_TEXT, "this FFmpeg has no decoder for %s", avcodec_get_name(av_codec_id(s->kind, s->codec)));
        return -1;
    }
    d->context = avcodec_alloc_context3(codec);
    d->packet = av_packet_alloc();
    d->frame = av_frame_alloc();
    int code = d->context && d->packet && d->frame ? set_up(d->context, s) : AVERROR(ENOMEM);
    if (code >= 0 && strcmp(codec->name, "libdav1d") == 0)
        av_dict_set(&options, "max_frame_delay", "1", 0);
    if (code >= 0 && (codec->id == AV_CODEC_ID_AC3 || codec->id == AV_CODEC_ID_EAC3))
        av_dict_set(&options, "cons_noisegen", "1", 0); /* noise that depends on the packet, not on those before it */
    if (code >= 0) {
        int flags = begin_choosing(s->portable);
        code = avcodec_open2(d->context, codec, &options);
        end_choosing(s->portable, flags);
        d->portable = d->plain = s->portable;
    }
    av_dict_free(&options);
    if (code < 0) {
        close_decoder(d);
        return fail(text, codec->name, code);
    }
    *out = d;
    return 0;
}

/* A copy of the packet, for decoders read zeros behind it. The memory of the one before is used again where no decoder holds it any more. */
static int copy_packet(struct decoder *d, const uint8_t *data, size_t bytes) {
    const size_t all = bytes + AV_INPUT_BUFFER_PADDING_SIZE;
    if (!d->bytes || d->bytes->size < all || !av_buffer_is_writable(d->bytes)) {
        av_buffer_unref(&d->bytes);
        d->bytes = av_buffer_alloc(all + all / 2);
    }
    d->packet->buf = d->bytes ? av_buffer_ref(d->bytes) : NULL;
    if (!d->packet->buf)
        return AVERROR(ENOMEM);
    memcpy(d->bytes->data, data, bytes);
    memset(d->bytes->data + bytes, 0, AV_INPUT_BUFFER_PADDING_SIZE);
    d->packet->data = d->bytes->data;
    d->packet->size = (int)bytes;
    return 0;
}

static int send(void *decoder, const uint8_t *data, size_t bytes, uint64_t id, char text[AV_TEXT]) {
    struct decoder *d = decoder;
    int code = 0;
    if (bytes > (size_t)INT32_MAX - AV_INPUT_BUFFER_PADDING_SIZE)
        return fail(text, "a packet of more than 2 GiB", AVERROR(EINVAL));
    if (data) {
        code = copy_packet(d, data, bytes);
        if (code < 0)
            return fail(text, "packet", code);
        d->packet->pts = (int64_t)id;
        d->context->reordered_opaque = (int64_t)id;
    }
    int flags = begin_choosing(d->plain);
    code = avcodec_send_packet(d->context, data ? d->packet : NULL);
    end_choosing(d->plain, flags);
    if (data)
        av_packet_unref(d->packet);
    return code < 0 && code != AVERROR_EOF ? fail(text, d->context->codec->name, code) : 0;
}

/* 1, 0 or an error. What a packet has left over is decoded here. */
static int receive(struct decoder *d, char text[AV_TEXT]) {
    int flags = begin_choosing(d->plain), code = avcodec_receive_frame(d->context, d->frame);
    end_choosing(d->plain, flags);
    if (code == AVERROR(EAGAIN) || code == AVERROR_EOF)
        return 0;
    return code < 0 ? fail(text, d->context->codec->name, code) : 1;
}

static int is_full(const AVFrame *f) {
    switch (f->format) {
    case AV_PIX_FMT_YUVJ420P:
    case AV_PIX_FMT_YUVJ422P:
    case AV_PIX_FMT_YUVJ444P:
        return 1;
    default:
        return f->color_range == AVCOL_RANGE_JPEG;
    }
}

static int describe(const AVFrame *f, struct av_image *out, char text[AV_TEXT]) {
    const AVPixFmtDescriptor *p = av_pix_fmt_desc_get(f->format);
    const uint64_t odd = AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_BITSTREAM | AV_PIX_FMT_FLAG_HWACCEL |
                         AV_PIX_FMT_FLAG_BE | AV_PIX_FMT_FLAG_FLOAT | AV_PIX_FMT_FLAG_ALPHA | AV_PIX_FMT_FLAG_BAYER;
    int planes = p ? p->nb_components : 0, bytes = p && p->comp[0].depth > 8 ? 2 : 1;
    int fits = p && !(p->flags & odd) && (planes == 1 || planes == 3) && p->comp[0].depth <= 16 &&
               p->log2_chroma_w <= 1 && p->log2_chroma_h <= p->log2_chroma_w;
    for (int i = 0; fits && i < planes; i++)
        fits = p->comp[i].step == bytes && p->comp[i].offset == 0 && p->comp[i].shift == 0 &&
               p->comp[i].depth == p->comp[0].depth;
    if (!fits) {
        snprintf(text, AV_TEXT, "pixel format %s; planes of grey, 4:2:0, 4:2:2, 4:4:4 or RGB are known",
                 p ? p->name : "none");
        return -1;
    }
    *out = (struct av_image){.id = (uint64_t)f->reordered_opaque,
                             .width = (uint32_t)f->width,
                             .height = (uint32_t)f->height,
                             .planes = (uint8_t)planes,
                             .bits = (uint8_t)p->comp[0].depth,
                             .shift_x = planes == 3 ? p->log2_chroma_w : 0,
                             .shift_y = planes == 3 ? p->log2_chroma_h : 0,
                             .full = (uint8_t)is_full(f),
                             .rgb = (p->flags & AV_PIX_FMT_FLAG_RGB) != 0,
                             .matrix = (uint8_t)f->colorspace,
                             .site = (uint8_t)f->chroma_location,
                             .primaries = (uint8_t)f->color_primaries,
                             .transfer = (uint8_t)f->color_trc,
                             .interlaced = f->interlaced_frame != 0,
                             .corrupt = f->decode_error_flags != 0 || (f->flags & AV_FRAME_FLAG_CORRUPT) != 0};
    for (int i = 0; i < planes; i++) {
        int plane = out->rgb ? i : p->comp[i].plane; /* GBR lies as G, B, R */
        out->plane[i] = f->data[plane];
        out->stride[i] = f->linesize[plane];
        if (!f->data[plane]) {
            snprintf(text, AV_TEXT, "pixel format %s without plane %d", p->name, plane);
            return -1;
        }
    }
    return 1;
}

static int image(void *decoder, struct av_image *out, char text[AV_TEXT]) {
    struct decoder *d = decoder;
    int got = receive(d, text);
    return got == 1 ? describe(d->frame, out, text) : got;
}

static int grow(struct decoder *d, size_t bytes) {
    if (bytes > d->room_bytes) {
        float *more = realloc(d->room, bytes);
        if (!more)
            return -1;
        d->room = more;
        d->room_bytes = bytes;
    }
    return 0;
}

/* Integers of lossless codecs as i / 2^(bits - 1). */
static int convert(struct decoder *d, const AVFrame *f, struct av_sound *out, char text[AV_TEXT]) {
    const enum AVSampleFormat format = f->format;
    const int planar = av_sample_fmt_is_planar(format), channels = f->ch_layout.nb_channels;
    const size_t n = (size_t)f->nb_samples;
    if (grow(d, (n * (size_t)channels + 1) * sizeof(float)) < 0)
        return fail(text, "samples", AVERROR(ENOMEM));
    for (int c = 0; c < channels; c++) {
        float *to = d->room + (size_t)c * n;
        const uint8_t *from = planar ? f->extended_data[c] : f->extended_data[0];
        const size_t step = planar ? 1 : (size_t)channels, at = planar ? 0 : (size_t)c;
        out->plane[c] = to;
        for (size_t i = 0; i < n; i++)
            switch (av_get_packed_sample_fmt(format)) {
            case AV_SAMPLE_FMT_U8:
                to[i] = (float)(from[at + i * step] - 128) / 0x1p7f;
                break;
            case AV_SAMPLE_FMT_S16:
                to[i] = (float)((const int16_t *)(const void *)from)[at + i * step] / 0x1p15f;
                break;
            case AV_SAMPLE_FMT_S32:
                to[i] = (float)((const int32_t *)(const void *)from)[at + i * step] / 0x1p31f;
                break;
            case AV_SAMPLE_FMT_FLT:
                to[i] = ((const float *)(const void *)from)[at + i * step];
                break;
            default:
                snprintf(text, AV_TEXT, "samples of format %s", av_get_sample_fmt_name(format));
                return -1;
            }
    }
    return 1;
}

static int sound(void *decoder, struct av_sound *out, char text[AV_TEXT]) {
    struct decoder *d = decoder;
    int got = receive(d, text);
    if (got != 1)
        return got;
    const AVFrame *f = d->frame;
    d->plain = d->portable && d->context->codec_id == AV_CODEC_ID_OPUS;
    if (f->ch_layout.nb_channels < 1 || f->ch_layout.nb_channels > 64) {
        snprintf(text, AV_TEXT, "%d channels", f->ch_layout.nb_channels);
        return -1;
    }
    out->samples = (uint32_t)f->nb_samples;
    out->channels = (uint32_t)f->ch_layout.nb_channels;
    out->rate = (uint32_t)f->sample_rate;
    if (f->format != AV_SAMPLE_FMT_FLTP)
        return convert(d, f, out, text);
    for (uint32_t c = 0; c < out->channels; c++)
        out->plane[c] = (const float *)(const void *)f->extended_data[c];
    return 1;
}

static int reorder(void *decoder) {
    return ((struct decoder *)decoder)->context->has_b_frames;
}

static void flush(void *decoder) {
    struct decoder *d = decoder;
    d->plain = d->portable;
    avcodec_flush_buffers(d->context);
}

static char version[64];

/* When the module is loaded, so that threads find it written. */
__attribute__((constructor)) static void write_version(void) {
    const unsigned have = avcodec_version();
    snprintf(version, sizeof version, "libavcodec %u.%u.%u", have >> 16, have >> 8 & 255, have & 255);
}

/* The version is compared before any other call: structs of another major version are laid out otherwise. */
__attribute__((visibility("default"))) const struct av_decode_module *mldf_av_decode_module(char text[AV_TEXT]);
const struct av_decode_module *mldf_av_decode_module(char text[AV_TEXT]) {
    static const struct av_decode_module module = {.abi = AV_MODULE_ABI,
                                                   .version = version,
                                                   .open = open_decoder,
                                                   .send = send,
                                                   .image = image,
                                                   .sound = sound,
                                                   .reorder = reorder,
                                                   .flush = flush,
                                                   .close = close_decoder};
    if (avcodec_version() >> 16 != LIBAVCODEC_VERSION_MAJOR) {
        snprintf(text, AV_TEXT, "this module was compiled for libavcodec %d, and %s was loaded",
                 LIBAVCODEC_VERSION_MAJOR, version);
        return NULL;
    }
    return &module;
}
