/* What libavcodec alone takes: the packets that a program sent to it, recorded and sent again. bench/rivals/video.py compiles both halves.
 *
 *     cc -shared -fPIC -DRECORD ...     preloaded into the program: VIDEO_LOG=FILE gets every packet, drain and flush, with the decoder's settings
 *     cc ...                            video_bare FILE ROUNDS: the same calls, packets ready in memory, frames dropped; least CPU seconds of the rounds
 *
 * The log is a list of {u32 what, u32 context, u64 bytes, bytes}: see enum. One thread of one process writes it. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <libavcodec/avcodec.h>

enum { OPEN, EXTRA, PACKET, DRAIN, FLUSH };
enum { CONTEXTS = 4096 };

struct entry {
    uint32_t what, context;
    uint64_t bytes;
};

struct opened {
    int32_t codec, tag, width, height, reorder, flags;
    char name[32];
};

#if defined(RECORD)
#include <dlfcn.h>

static FILE *log_file;
static AVCodecContext *contexts[CONTEXTS];

static void put(uint32_t what, uint32_t context, const void *data, uint64_t bytes) {
    struct entry e = {what, context, bytes};
    if (!log_file)
        log_file = fopen(getenv("VIDEO_LOG"), "wb");
    fwrite(&e, sizeof e, 1, log_file);
    fwrite(data, 1, bytes, log_file);
    fflush(log_file);
}

static uint32_t number(AVCodecContext *c) {
    uint32_t free_one = CONTEXTS;
    for (uint32_t i = CONTEXTS; i-- > 0;) {
        if (contexts[i] == c)
            return i;
        if (!contexts[i])
            free_one = i;
    }
    contexts[free_one] = c;
    return free_one;
}

#define REAL(name) __typeof__(&name) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

int avcodec_open2(AVCodecContext *c, const AVCodec *codec, AVDictionary **options) {
    REAL(avcodec_open2);
    if (!real)
        real = (__typeof__(real))dlsym(dlopen("libavcodec.so.59", RTLD_LAZY), "avcodec_open2");
    if (codec->type == AVMEDIA_TYPE_VIDEO) {
        struct opened o = {codec->id, (int32_t)c->codec_tag, c->width, c->height, c->has_b_frames, c->flags, ""};
        snprintf(o.name, sizeof o.name, "%s", codec->name);
        put(OPEN, number(c), &o, sizeof o);
        put(EXTRA, number(c), c->extradata, (uint64_t)c->extradata_size);
    }
    return real(c, codec, options);
}

int avcodec_send_packet(AVCodecContext *c, const AVPacket *p) {
    REAL(avcodec_send_packet);
    if (!real)
        real = (__typeof__(real))dlsym(dlopen("libavcodec.so.59", RTLD_LAZY), "avcodec_send_packet");
    if (c->codec_type == AVMEDIA_TYPE_VIDEO)
        put(p ? PACKET : DRAIN, number(c), p ? p->data : NULL, p ? (uint64_t)p->size : 0);
    return real(c, p);
}

void avcodec_flush_buffers(AVCodecContext *c) {
    REAL(avcodec_flush_buffers);
    if (!real)
        real = (__typeof__(real))dlsym(dlopen("libavcodec.so.59", RTLD_LAZY), "avcodec_flush_buffers");
    if (c->codec_type == AVMEDIA_TYPE_VIDEO)
        put(FLUSH, number(c), NULL, 0);
    real(c);
}

#else

static double cpu(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static AVCodecContext *open_decoder(const struct opened *o, const void *extra, uint64_t bytes) {
    const AVCodec *codec = avcodec_find_decoder_by_name(o->name);
    AVCodecContext *c = avcodec_alloc_context3(codec);
    AVDictionary *options = NULL;
    c->thread_count = 1;
    c->codec_tag = (unsigned)o->tag;
    c->width = c->coded_width = o->width;
    c->height = c->coded_height = o->height;
    c->has_b_frames = o->reorder;
    c->flags = o->flags;
    c->extradata = av_mallocz(bytes + AV_INPUT_BUFFER_PADDING_SIZE);
    memcpy(c->extradata, extra, bytes);
    c->extradata_size = (int)bytes;
    if (strcmp(o->name, "libdav1d") == 0)
        av_dict_set(&options, "max_frame_delay", "1", 0);
    if (avcodec_open2(c, codec, &options) < 0)
        exit(1);
    av_dict_free(&options);
    return c;
}

static unsigned long frames;

static void drop_frames(AVCodecContext *c, AVFrame *f) {
    while (avcodec_receive_frame(c, f) >= 0)
        frames++;
}

int main(int argc, char **argv) {
    FILE *in = argc == 3 ? fopen(argv[1], "rb") : NULL;
    if (!in)
        return 2;
    fseek(in, 0, SEEK_END);
    size_t all = (size_t)ftell(in), count = 0, room = 1024;
    rewind(in);
    uint8_t *log = malloc(all);
    if (fread(log, 1, all, in) != all)
        return 1;
    AVPacket **packets = malloc(room * sizeof *packets);
    for (size_t at = 0; at < all;) {
        struct entry e;
        memcpy(&e, log + at, sizeof e);
        if (e.what == PACKET) {
            if (count == room)
                packets = realloc(packets, (room *= 2) * sizeof *packets);
            packets[count] = av_packet_alloc();
            av_new_packet(packets[count], (int)e.bytes);
            memcpy(packets[count++]->data, log + at + sizeof e, e.bytes);
        }
        at += sizeof e + e.bytes;
    }
    AVFrame *f = av_frame_alloc();
    double least = 1e9;
    for (int round = 0; round < atoi(argv[2]); round++) {
        static AVCodecContext *c[CONTEXTS];
        const struct opened *o = NULL;
        size_t packet = 0;
        double start = cpu();
        frames = 0;
        for (size_t at = 0; at < all;) {
            struct entry e;
            memcpy(&e, log + at, sizeof e);
            const uint8_t *data = log + at + sizeof e;
            if (e.what == OPEN) {
                o = (const struct opened *)(const void *)data;
            } else if (e.what == EXTRA) {
                avcodec_free_context(&c[e.context]);
                c[e.context] = open_decoder(o, data, e.bytes);
            } else if (e.what == FLUSH) {
                avcodec_flush_buffers(c[e.context]);
            } else {
                avcodec_send_packet(c[e.context], e.what == DRAIN ? NULL : packets[packet++]);
                drop_frames(c[e.context], f);
            }
            at += sizeof e + e.bytes;
        }
        double took = cpu() - start;
        least = took < least ? took : least;
        for (int i = 0; i < CONTEXTS; i++)
            avcodec_free_context(&c[i]);
    }
    printf("%.6f %zu %lu\n", least, count, frames);
    return 0;
}
#endif
