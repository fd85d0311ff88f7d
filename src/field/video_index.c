/* The frame table of a video: every packet is decoded once, in order, and that is the truth. A frame is shown at the time of its packet. Where decoding for
 * it begins: video_starts.c. */
#include "field/video_index.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

enum { MAX_PASSES = 4 };

uint64_t mldfi_video_hash(const struct av_image *image) {
    uint64_t hash = (uint64_t)image->width << 32 | image->height;
    for (unsigned c = 0; c < image->planes; c++) {
        uint32_t width = c ? (image->width + image->shift_x) >> image->shift_x : image->width;
        uint32_t height = c ? (image->height + image->shift_y) >> image->shift_y : image->height;
        for (uint32_t y = 0; y < height; y++)
            hash = XXH64(image->plane[c] + (ptrdiff_t)y * image->stride[c], (size_t)width * (image->bits > 8 ? 2 : 1),
                         hash);
    }
    return hash == NO_IMAGE ? 1 : hash;
}

mldf_status mldfi_indexing_goes_on(const struct video_indexing *x, uint64_t packets, mldf_error *err) {
    return mldfi_work_goes_on(x->w->watch, packets) ? MLDF_OK : mldfi_fail(err, MLDF_E_CANCELLED, "cancelled");
}

/* ---- The first pass ------------------------------------------------------------------------------------------------------------------------ */

/* The first image says what all are like. */
static mldf_status describe(struct video_stream *v, const struct av_image *i, bool first, uint32_t packet,
                            mldf_error *err) {
    if (first) {
        v->width = i->width;
        v->height = i->height;
        v->planes = i->planes, v->bits = i->bits, v->shift_x = i->shift_x, v->shift_y = i->shift_y, v->rgb = i->rgb;
        if (i->width > VIDEO_SIDE_MAX || i->height > VIDEO_SIDE_MAX || !i->width || !i->height)
            return mldfi_fail(err, MLDF_E_LIMIT, "frames of %" PRIu32 " x %" PRIu32 " pixels", i->width, i->height);
        return mldfi_video_check_size(v, err);
    }
    if (i->width != v->width || i->height != v->height || i->planes != v->planes || i->bits != v->bits ||
        i->shift_x != v->shift_x || i->shift_y != v->shift_y || i->rgb != v->rgb)
        return mldfi_fail(err, MLDF_E_UNSUPPORTED,
                          "packet %" PRIu32 ": the video changes from %" PRIu32 " x %" PRIu32
                          " pixels of %u bits to %" PRIu32 " x %" PRIu32
                          " of %u; cut it there, or make one size of it with ffmpeg",
                          packet, v->width, v->height, v->bits, i->width, i->height, i->bits);
    return MLDF_OK;
}

static mldf_status take_first(struct video_indexing *x, mldf_error *err) {
    struct av_image image;
    char text[AV_TEXT] = "";
    int code;
    while ((code = x->w->module->image(x->kept->decoder, &image, text)) != 0) {
        if (code < 0)
            return mldfi_fail(err, MLDF_E_UNSUPPORTED, "%s", text);
        if (image.id >= x->parts->packet_count)
            return mldfi_fail(err, MLDF_E_CORRUPT, "an image of no packet");
        struct outcome *o = &x->outcomes[image.id];
        if (image.corrupt && x->images == 0)
            continue; /* what a cut recording begins with */
        if (image.corrupt)
            return mldfi_fail(err, MLDF_E_CORRUPT, "packet %" PRIu64 " is damaged", image.id);
        if (o->hash != NO_IMAGE)
            return mldfi_fail(err, MLDF_E_UNSUPPORTED, "packet %" PRIu64 " has two images", image.id);
        TRY(describe(&x->parts->video, &image, x->images == 0, (uint32_t)image.id, err));
        o->hash = mldfi_video_hash(&image);
        o->order = x->images++;
    }
    return MLDF_OK;
}

mldf_status mldfi_indexing_decoder(struct video_indexing *x, uint16_t config, mldf_error *err) {
    const struct video_config *c = &x->parts->configs[config];
    return mldfi_video_decoder(x->w, &x->parts->video, c->bytes ? x->parts->extra.data + c->at : NULL, c->bytes,
                               &x->kept, err);
}

static mldf_status drain_first(struct video_indexing *x, int *reorder, mldf_error *err) {
    char text[AV_TEXT] = "";
    int now = x->w->module->reorder(x->kept->decoder);
    if (now > *reorder)
        *reorder = now > VIDEO_REORDER_MAX ? VIDEO_REORDER_MAX : now;
    mldf_status status = x->w->module->send(x->kept->decoder, NULL, 0, 0, text) < 0
                             ? mldfi_fail(err, MLDF_E_CORRUPT, "%s", text)
                             : take_first(x, err);
    mldfi_video_drop(x->w, x->kept);
    return status;
}

static mldf_status decode_all(struct video_indexing *x, int *reorder, bool *failed, mldf_error *err) {
    struct video_parts *p = x->parts;
    char text[AV_TEXT] = "";
    bool open = false;
    mldf_status status = MLDF_OK;
    *failed = false;
    x->images = 0;
    memset(x->outcomes, 0, p->packet_count * sizeof *x->outcomes);
    for (size_t i = 0; i < p->packet_count && status == MLDF_OK; i++) {
        const struct video_packet *k = &p->packets[i];
        if (open && k->config != p->packets[i - 1].config) {
            status = drain_first(x, reorder, err);
            open = false;
        }
        if (status == MLDF_OK && !open) {
            status = mldfi_indexing_decoder(x, k->config, err);
            open = status == MLDF_OK;
        }
        if (status == MLDF_OK)
            status = mldfi_indexing_goes_on(x, 1, err);
        if (status < 0 || k->bytes == 0)
            continue;
        if (x->w->module->send(x->kept->decoder, p->data.data + k->offset, k->bytes, i, text) < 0) {
            if (x->images)
                status = mldfi_fail(err, MLDF_E_CORRUPT, "packet %zu cannot be decoded: %s", i, text);
            x->outcomes[i].failed = true; /* before the first image: a recording that was cut */
            *failed = true;
            continue;
        }
        status = take_first(x, err);
    }
    if (status == MLDF_OK && open)
        return drain_first(x, reorder, err);
    if (open)
        mldfi_video_drop(x->w, x->kept);
    return status;
}

/* Packets in front of the first image that no decoder takes: nothing needs them, and readers would stop at them. */
static void drop_failed(struct video_indexing *x) {
    struct video_parts *p = x->parts;
    size_t kept = 0;
    for (size_t i = 0; i < p->packet_count; i++)
        if (!x->outcomes[i].failed)
            p->packets[kept++] = p->packets[i];
    p->packet_count = kept;
}

/* ---- Frames in the order of time -------------------------------------------------------------------------------------------------------------- */

/* Where packets have no pts: the k-th image is shown at the k-th smallest dts, or at the k-th multiple of a frame's duration. */
static int by_time(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static mldf_status invent_times(struct video_indexing *x, mldf_error *err) {
    struct video_parts *p = x->parts;
    bool missing = false;
    size_t known = 0;
    for (size_t i = 0; i < p->packet_count; i++) {
        missing = missing || (x->outcomes[i].hash != NO_IMAGE && p->packets[i].pts == INT64_MIN);
        known += p->packets[i].dts != INT64_MIN;
    }
    if (!missing)
        return MLDF_OK;
    int64_t *times = mldfi_alloc_zero(p->packet_count + 1, sizeof *times, err);
    if (!times)
        return MLDF_E_MEMORY;
    bool have = known == p->packet_count;
    for (size_t i = 0; i < p->packet_count; i++)
        times[i] = p->packets[i].dts;
    if (have)
        qsort(times, p->packet_count, sizeof *times, by_time);
    double step = p->fps_num ? (double)p->video.tick.den * p->fps_den / ((double)p->video.tick.num * p->fps_num) : 1;
    for (size_t i = 0; i < p->packet_count; i++) {
        uint32_t order = x->outcomes[i].order;
        double even = (double)order * step + 0.5;
        p->packets[i].pts = x->outcomes[i].hash == NO_IMAGE ? INT64_MIN
                            : have                          ? times[order]
                            : even < 0x1p60                 ? (int64_t)even
                                                            : VIDEO_TICKS_MAX;
    }
    free(times);
    return MLDF_OK;
}

struct shown {
    int64_t pts;
    uint32_t packet, order;
};

static int by_pts(const void *a, const void *b) {
    const struct shown *x = a, *y = b;
    if (x->pts != y->pts)
        return x->pts < y->pts ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static mldf_status list_frames(struct video_indexing *x, mldf_error *err) {
    struct video_parts *p = x->parts;
    size_t n = 0;
    struct shown *list = mldfi_alloc_zero(p->packet_count + 1, sizeof *list, err);
    mldf_status status =
        list ? mldfi_array_reserve(&p->frames, &p->frame_capacity, x->images + 1, sizeof *p->frames, err)
             : MLDF_E_MEMORY;
    for (size_t i = 0; status == MLDF_OK && i < p->packet_count; i++)
        if (x->outcomes[i].hash != NO_IMAGE && !(p->packets[i].flags & PACKET_DISCARD))
            list[n++] = (struct shown){p->packets[i].pts, (uint32_t)i, x->outcomes[i].order};
    if (status == MLDF_OK)
        qsort(list, n, sizeof *list, by_pts);
    p->frame_count = status == MLDF_OK ? n : 0;
    for (size_t i = 0; status == MLDF_OK && i < n; i++) {
        uint32_t last = list[i].packet; /* a second field in a packet of its own has no image of its own */
        while (last + 1 < p->packet_count && x->outcomes[last + 1].hash == NO_IMAGE && last - list[i].packet < 8 &&
               p->packets[last + 1].config == p->packets[last].config)
            last++;
        int64_t duration = i + 1 < n ? list[i + 1].pts - list[i].pts : (int64_t)p->packets[list[i].packet].duration;
        if (duration <= 0 && i + 1 == n && i)
            duration = list[i].pts - list[i - 1].pts;
        p->frames[i] = (struct video_frame){.pts = list[i].pts - list[0].pts,
                                            .packet = last,
                                            .duration = duration > UINT32_MAX ? UINT32_MAX : (uint32_t)duration,
                                            .back = (uint16_t)(last - list[i].packet),
                                            .config = p->packets[list[i].packet].config};
    }
    if (status == MLDF_OK && n) {
        p->video.first = list[0].pts;
        p->video.end = list[n - 1].pts + p->frames[n - 1].duration;
    }
    free(list);
    return status;
}

/* ---- The whole ---------------------------------------------------------------------------------------------------------------------------- */

static mldf_status run(struct video_indexing *x, int reorder, mldf_error *err) {
    struct video_parts *p = x->parts;
    mldf_status status = MLDF_OK;
    for (int pass = 0; pass < MAX_PASSES && status == MLDF_OK; pass++) {
        int seen = reorder;
        bool failed;
        p->video.reorder = (uint32_t)reorder;
        status = decode_all(x, &seen, &failed, err);
        if (failed && status == MLDF_OK && x->images)
            drop_failed(x);
        else if (seen <= reorder)
            break;
        reorder = seen; /* it held back too few at first, and may have let go images too early */
    }
    if (status == MLDF_OK && x->images == 0)
        status = mldfi_fail(err, MLDF_E_CORRUPT, "no packet of the video gives an image");
    if (status == MLDF_OK)
        status = invent_times(x, err);
    if (status == MLDF_OK)
        status = list_frames(x, err);
    if (status == MLDF_OK && p->frame_count == 0)
        status =
            mldfi_fail(err, MLDF_E_CORRUPT, "the video's edit list shows none of its %" PRIu32 " images", x->images);
    return status;
}

mldf_status mldfi_video_index(struct video_worker *w, struct video_parts *p, int reorder, mldf_error *err) {
    struct video_indexing x = {.w = w, .parts = p};
    size_t n = p->packet_count;
    x.outcomes = mldfi_alloc_zero(n + 1, sizeof *x.outcomes, err);
    x.first_of = mldfi_alloc_zero(n + 1, sizeof *x.first_of, err);
    x.next_of = mldfi_alloc_zero(n + 1, sizeof *x.next_of, err); /* no more frames than packets */
    mldf_status status = x.outcomes && x.first_of && x.next_of ? MLDF_OK : MLDF_E_MEMORY;
    if (status == MLDF_OK && n >= UINT32_MAX)
        status = mldfi_fail(err, MLDF_E_LIMIT, "%zu packets", n);
    if (status == MLDF_OK)
        status = run(&x, reorder < 0 ? 0 : reorder > VIDEO_REORDER_MAX ? VIDEO_REORDER_MAX : reorder, err);
    if (status == MLDF_OK)
        status = mldfi_video_starts(&x, err);
    if (status == MLDF_OK)
        status = mldfi_video_mark_spare(&x, err);
    free(x.outcomes);
    free(x.first_of);
    free(x.next_of);
    return status;
}
