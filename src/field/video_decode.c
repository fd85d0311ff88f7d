/* See video_decode.h. Frames are decoded in runs: from the start packet of the first wanted frame to the last packet that a wanted frame needs, then the
 * decoder is drained and flushed. A frame whose own start is within the run, or right behind it, belongs to it. Images are known by the number of
 * their packet, never by the order in which they come. */
#include "field/video_decode.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

enum { FRAME_BLOCK = 512, PACKET_BLOCK = 256, READ_BYTES = 8 << 20 };

/* ---- Decoders that a thread keeps ---------------------------------------------------------------------------------------------------- */

void mldfi_video_drop(struct video_worker *w, struct kept_video *k) {
    if (k->decoder)
        w->module->close(k->decoder);
    k->decoder = NULL;
    mldf_buffer_free(&k->extra);
    k->bytes = 0;
}

static bool is_for(const struct kept_video *k, const struct video_stream *s, const uint8_t *extra, uint32_t bytes) {
    return k->decoder && k->codec == s->codec && k->tag == s->tag && k->width == s->width && k->height == s->height &&
           k->reorder == s->reorder && k->extra.size == bytes &&
           (bytes == 0 || memcmp(k->extra.data, extra, bytes) == 0);
}

/* The least recently used ones make way, until there is a place and memory for one more. */
static struct kept_video *make_room(struct video_worker *w, uint64_t bytes) {
    for (;;) {
        struct kept_video *oldest = NULL, *free_one = NULL;
        uint64_t sum = bytes;
        for (int i = 0; i < VIDEO_DECODERS; i++) {
            struct kept_video *k = &w->decoders[i];
            sum += k->bytes;
            if (!k->decoder)
                free_one = k;
            else if (!oldest || k->used < oldest->used)
                oldest = k;
        }
        if (free_one && (sum <= VIDEO_DECODER_BYTES || !oldest))
            return free_one;
        mldfi_video_drop(w, oldest);
    }
}

mldf_status mldfi_video_decoder(struct video_worker *w, const struct video_stream *s, const uint8_t *extra,
                                uint32_t extra_bytes, struct kept_video **out, mldf_error *err) {
    char text[AV_TEXT] = "";
    TRY(w->module ? MLDF_OK : mldfi_av_decode_module(&w->module, err));
    for (int i = 0; i < VIDEO_DECODERS; i++)
        if (is_for(&w->decoders[i], s, extra, extra_bytes)) {
            w->decoders[i].used = ++w->clock;
            *out = &w->decoders[i];
            return MLDF_OK;
        }
    uint64_t frame = (uint64_t)s->width * s->height * (s->bits > 8 ? 2 : 1) * 3 / 2;
    struct kept_video *k = make_room(w, frame * 18);
    TRY(mldf_buffer_append(&k->extra, extra, extra_bytes, err));
    struct av_setup setup = {.kind = AV_KIND_VIDEO,
                             .codec = (int)s->codec,
                             .tag = s->tag,
                             .extra = k->extra.data,
                             .extra_bytes = extra_bytes,
                             .width = s->width,
                             .height = s->height,
                             .reorder = (int)s->reorder,
                             .max_pixels = (uint64_t)s->width * s->height + (UINT64_C(1) << 20)};
    if (w->module->open(&setup, &k->decoder, text) < 0) {
        k->decoder = NULL;
        mldf_buffer_free(&k->extra);
        return mldfi_fail(err, MLDF_E_CORRUPT, "%s", text);
    }
    k->codec = s->codec;
    k->tag = s->tag;
    k->width = s->width;
    k->height = s->height;
    k->reorder = s->reorder;
    k->bytes = frame * 18;
    k->served = false;
    k->used = ++w->clock;
    *out = k;
    return MLDF_OK;
}

/* ---- A run of packets ----------------------------------------------------------------------------------------------------------------- */

struct wanted {
    uint32_t packet; /* its own */
    bool given;
    uint64_t number;
};

struct run {
    struct video_worker *w;
    const struct video_head *head;
    const struct audio_bytes *in;
    struct kept_video *kept;
    struct wanted *wanted; /* by packet */
    size_t count, given;
    uint32_t start, last;
    uint64_t fed; /* packets, in all runs */
    uint16_t config;
    video_taker take;
    void *user;
};

static int by_packet(const void *a, const void *b) {
    const struct wanted *x = a, *y = b;
    return x->packet < y->packet ? -1 : x->packet > y->packet;
}

static struct wanted *find(const struct run *r, uint64_t packet) {
    struct wanted key = {.packet = (uint32_t)packet};
    return packet > UINT32_MAX ? NULL : bsearch(&key, r->wanted, r->count, sizeof key, by_packet);
}

static mldf_status take_image(struct run *r, const struct av_image *image, mldf_error *err) {
    const struct video_stream *v = &r->head->video;
    struct wanted *wanted = find(r, image->id);
    if (!wanted || wanted->given)
        return MLDF_OK;
    if (image->width != v->width || image->height != v->height)
        return mldfi_fail(err, MLDF_E_CORRUPT,
                          "frame %" PRIu64 ": %" PRIu32 " x %" PRIu32 " pixels, and the table says %" PRIu32
                          " x %" PRIu32,
                          wanted->number, image->width, image->height, v->width, v->height);
    if (image->planes != v->planes || image->bits != v->bits || image->shift_x != v->shift_x ||
        image->shift_y != v->shift_y || image->rgb != v->rgb)
        return mldfi_fail(err, MLDF_E_CORRUPT, "frame %" PRIu64 ": %u planes of %u bits, and the table says %u of %u",
                          wanted->number, image->planes, image->bits, v->planes, v->bits);
    if (image->corrupt)
        return mldfi_fail(err, MLDF_E_CORRUPT, "frame %" PRIu64 ": its packets are damaged", wanted->number);
    wanted->given = true;
    r->given++;
    return r->take(r->user, wanted->number, image, err);
}

static mldf_status receive(struct run *r, mldf_error *err) {
    struct av_image image;
    char text[AV_TEXT] = "";
    mldf_status status = MLDF_OK;
    int code;
    while (status == MLDF_OK && (code = r->w->module->image(r->kept->decoder, &image, text)) != 0)
        status = code < 0 ? mldfi_fail(err, MLDF_E_CORRUPT, "%s", text) : take_image(r, &image, err);
    return status;
}

static mldf_status send_one(struct run *r, const uint8_t *data, const struct video_packet *p, uint32_t number,
                            mldf_error *err) {
    char text[AV_TEXT] = "";
    static const uint8_t none;
    if (p->bytes == 0)
        return MLDF_OK;
    if (r->w->module->send(r->kept->decoder, data ? data : &none, p->bytes, number, text) < 0)
        return mldfi_fail(err, MLDF_E_CORRUPT, "packet %" PRIu32 " (byte %" PRIu64 " of the value): %s", number,
                          p->offset, text);
    return receive(r, err);
}

/* Packets that nothing else is made from are not decoded unless they are wanted. */
static bool is_needed(const struct run *r, const struct video_packet *p, uint32_t number) {
    return !(p->flags & PACKET_UNUSED) || r->w->feed_all || find(r, number);
}

static mldf_status send_block(struct run *r, uint32_t first, const struct video_packet *packets, uint32_t count,
                              mldf_error *err) {
    mldf_status status = MLDF_OK;
    for (uint32_t i = 0; i < count && status == MLDF_OK;) {
        uint64_t begin = packets[i].offset, end = begin + packets[i].bytes;
        const void *data;
        uint32_t some = i + 1; /* packets that lie end to end are one read */
        while (some < count && packets[some].offset == end && end - begin < READ_BYTES)
            end += packets[some++].bytes;
        status = r->in->get(r->in->user, begin, end - begin, &data, err);
        for (; i < some && status == MLDF_OK; i++) {
            if (packets[i].config != r->config)
                return mldfi_fail(err, MLDF_E_CORRUPT, "packet %" PRIu32 ": configuration %u inside a run of %u",
                                  first + i, packets[i].config, r->config);
            if (r->given < r->count && is_needed(r, &packets[i], first + i))
                status = send_one(r, (const uint8_t *)data + (packets[i].offset - begin), &packets[i], first + i, err);
        }
    }
    return status;
}

static mldf_status feed(struct run *r, mldf_error *err) {
    struct video_packet packets[PACKET_BLOCK];
    char text[AV_TEXT] = "";
    uint64_t end = 0, most = UINT64_C(4) * r->head->video.packets + 1024;
    mldf_status status = MLDF_OK;
    for (uint32_t at = r->start; at <= r->last && status == MLDF_OK && r->given < r->count;) {
        uint32_t left = r->last - at + 1, count = left < PACKET_BLOCK ? left : PACKET_BLOCK;
        r->fed += count;
        if (r->fed > most) /* a right table names each packet about once */
            return mldfi_fail(err, MLDF_E_CORRUPT,
                              "frame %" PRIu64 ": the table of frames starts over and over, %" PRIu64
                              " packets of %" PRIu32,
                              r->wanted[0].number, r->fed, r->head->video.packets);
        status = mldfi_video_packets(r->head, r->in, at, count, &end, packets, err);
        if (status == MLDF_OK)
            status = send_block(r, at, packets, count, err);
        at += count;
    }
    if (status == MLDF_OK && r->given < r->count) {
        if (r->w->module->send(r->kept->decoder, NULL, 0, 0, text) < 0)
            return mldfi_fail(err, MLDF_E_CORRUPT, "%s", text);
        status = receive(r, err);
    }
    for (size_t i = 0; status == MLDF_OK && i < r->count; i++)
        if (!r->wanted[i].given)
            status =
                mldfi_fail(err, MLDF_E_CORRUPT, "frame %" PRIu64 ": packets %" PRIu32 " to %" PRIu32 " do not give it",
                           r->wanted[i].number, r->start, r->last);
    return status;
}

/* A decoder that was flushed is as good as a new one where decoding begins anew, and not at a recovery point: H.264's then still knows of keys that it met. */
static mldf_status needs_new(struct run *r, bool *out, mldf_error *err) {
    struct video_packet packet;
    const void *data;
    const uint32_t codec = r->head->video.codec;
    uint64_t end = 0;
    *out = false;
    if (codec != AV_VIDEO_H264 && codec != AV_VIDEO_HEVC)
        return MLDF_OK;
    mldf_status status = mldfi_video_packets(r->head, r->in, r->start, 1, &end, &packet, err);
    if (status == MLDF_OK)
        status = r->in->get(r->in->user, packet.offset, packet.bytes, &data, err);
    if (status == MLDF_OK)
        *out = !mldfi_video_is_clean(codec, r->kept->extra.data, (uint32_t)r->kept->extra.size, data, packet.bytes);
    return status;
}

static mldf_status get_decoder(struct run *r, mldf_error *err) {
    const uint8_t *extra;
    uint32_t bytes;
    bool fresh = false;
    mldf_status status = mldfi_video_config(r->head, r->in, r->config, &extra, &bytes, err);
    if (status == MLDF_OK)
        status = mldfi_video_decoder(r->w, &r->head->video, extra, bytes, &r->kept, err);
    if (status == MLDF_OK && r->kept->served)
        status = needs_new(r, &fresh, err);
    if (status == MLDF_OK && fresh) {
        mldfi_video_drop(r->w, r->kept);
        status = mldfi_video_config(r->head, r->in, r->config, &extra, &bytes, err);
        if (status == MLDF_OK)
            status = mldfi_video_decoder(r->w, &r->head->video, extra, bytes, &r->kept, err);
    }
    return status;
}

static mldf_status decode_run(struct run *r, mldf_error *err) {
    qsort(r->wanted, r->count, sizeof *r->wanted, by_packet);
    TRY(get_decoder(r, err));
    r->kept->served = true;
    mldf_status status = feed(r, err);
    if (status < 0)
        mldfi_video_drop(r->w, r->kept);
    else
        r->w->module->flush(r->kept->decoder);
    return status;
}

/* ---- Frames ------------------------------------------------------------------------------------------------------------------------------- */

/* Entries of the wanted frames, neighbouring ones in one read. */
static mldf_status read_frames(const struct video_head *head, const struct audio_bytes *in, const uint64_t *numbers,
                               size_t count, struct video_frame *out, mldf_error *err) {
    struct video_frame block[FRAME_BLOCK];
    mldf_status status = MLDF_OK;
    for (size_t i = 0; i < count && status == MLDF_OK;) {
        uint64_t first = numbers[i];
        size_t end = i + 1;
        while (end < count && numbers[end] - first < FRAME_BLOCK)
            end++;
        if (numbers[end - 1] >= head->video.frames)
            return mldfi_fail(err, MLDF_E_CORRUPT, "no frame %" PRIu64 ": the table has %" PRIu32, numbers[end - 1],
                              head->video.frames);
        status = mldfi_video_frames(head, in, (uint32_t)first, (uint32_t)(numbers[end - 1] - first + 1), block, err);
        for (; i < end && status == MLDF_OK; i++)
            out[i] = block[numbers[i] - first];
    }
    return status;
}

mldf_status mldfi_video_check_size(const struct video_stream *s, mldf_error *err) {
    uint64_t width = ((uint64_t)s->width + s->shift_x) >> s->shift_x,
             height = ((uint64_t)s->height + s->shift_y) >> s->shift_y;
    uint64_t samples = (uint64_t)s->width * s->height + (s->planes == 3 ? 2 * width * height : 0);
    uint64_t bytes = samples * (s->bits > 8 ? 2 : 1);
    if (bytes > VIDEO_IMAGE_BYTES)
        return mldfi_fail(err, MLDF_E_LIMIT,
                          "frames of %" PRIu32 " x %" PRIu32 " pixels, %" PRIu64 " bytes; %" PRIu64 " are allowed",
                          s->width, s->height, bytes, VIDEO_IMAGE_BYTES);
    return MLDF_OK;
}

mldf_status mldfi_video_decode(struct video_worker *w, const struct video_head *head, const struct audio_bytes *in,
                               const uint64_t *numbers, size_t count, video_taker take, void *user, mldf_error *err) {
    struct run r = {.w = w, .head = head, .in = in, .take = take, .user = user};
    if (count > SIZE_MAX / 64)
        return mldfi_fail(err, MLDF_E_LIMIT, "%zu frames", count);
    mldf_status status = mldfi_video_check_size(&head->video, err);
    if (status == MLDF_OK)
        status = mldfi_buffer_resize(&w->frames, count * (sizeof(struct video_frame) + sizeof(struct wanted)) + 1, err);
    if (status < 0)
        return status;
    struct video_frame *frames = (struct video_frame *)(void *)w->frames.data;
    struct wanted *wanted = (struct wanted *)(void *)(frames + count);
    status = read_frames(head, in, numbers, count, frames, err);
    for (size_t i = 0; i < count && status == MLDF_OK;) {
        size_t end = i;
        r.start = frames[i].start;
        r.last = frames[i].packet;
        r.config = frames[i].config;
        for (; end < count && frames[end].config == r.config && frames[end].start >= r.start &&
               (uint64_t)frames[end].start <= (uint64_t)r.last + 1;
             end++) {
            r.last = frames[end].packet > r.last ? frames[end].packet : r.last;
            wanted[end - i] = (struct wanted){frames[end].packet - frames[end].back, false, numbers[end]};
        }
        r.wanted = wanted;
        r.count = end - i;
        r.given = 0;
        status = decode_run(&r, err);
        i = end;
    }
    return status;
}
