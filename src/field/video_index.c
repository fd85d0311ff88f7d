/* The frame table of a video: every packet is decoded once, in order, and that is the truth. A frame is shown at the time of its packet; decoding for it
 * begins at the last key at or before its packet that is not shown after it. A key is trusted where its bytes say that nothing behind it looks in front of
 * it; others (recovery points, what a container calls a key) are proved: decoding from there must give the same planes. One that does not loses its
 * flag. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "field/video_type.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

enum { MAX_LIES = 8, MAX_PASSES = 4, NO_IMAGE = 0 };

/* What came of one packet. */
struct outcome {
    uint64_t hash;  /* of its image's planes; NO_IMAGE: it has none */
    uint32_t order; /* in which images came */
};

struct index {
    struct video_worker *w;
    struct video_parts *parts;
    struct outcome *outcomes; /* one a packet */
    struct kept_video *kept;
    uint32_t images;
    uint32_t *first_of; /* a packet's: the first frame that starts there; UINT32_MAX: none */
    uint32_t *next_of;  /* a frame's: the next one that starts where it does */
};

static uint64_t hash_image(const struct av_image *image) {
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

static mldf_status take_first(struct index *x, mldf_error *err) {
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
        mldf_status status = describe(&x->parts->video, &image, x->images == 0, (uint32_t)image.id, err);
        if (status < 0)
            return status;
        o->hash = hash_image(&image);
        o->order = x->images++;
    }
    return MLDF_OK;
}

static mldf_status get_decoder(struct index *x, uint16_t config, mldf_error *err) {
    const struct video_config *c = &x->parts->configs[config];
    return mldfi_video_decoder(x->w, &x->parts->video, c->bytes ? x->parts->extra.data + c->at : NULL, c->bytes,
                               &x->kept, err);
}

static mldf_status drain_first(struct index *x, int *reorder, mldf_error *err) {
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

static mldf_status decode_all(struct index *x, int *reorder, mldf_error *err) {
    struct video_parts *p = x->parts;
    char text[AV_TEXT] = "";
    bool open = false;
    mldf_status status = MLDF_OK;
    x->images = 0;
    memset(x->outcomes, 0, p->packet_count * sizeof *x->outcomes);
    for (size_t i = 0; i < p->packet_count && status == MLDF_OK; i++) {
        const struct video_packet *k = &p->packets[i];
        if (open && k->config != p->packets[i - 1].config) {
            status = drain_first(x, reorder, err);
            open = false;
        }
        if (status == MLDF_OK && !open) {
            status = get_decoder(x, k->config, err);
            open = status == MLDF_OK;
        }
        if (status < 0 || k->bytes == 0)
            continue;
        if (x->w->module->send(x->kept->decoder, p->data.data + k->offset, k->bytes, i, text) < 0) {
            if (x->images) /* before the first image: a recording that was cut */
                status = mldfi_fail(err, MLDF_E_CORRUPT, "packet %zu cannot be decoded: %s", i, text);
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

/* ---- Frames in the order of time -------------------------------------------------------------------------------------------------------------- */

/* Where packets have no pts: the k-th image is shown at the k-th smallest dts, or at the k-th multiple of a frame's duration. */
static int by_time(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static mldf_status invent_times(struct index *x, mldf_error *err) {
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

static mldf_status list_frames(struct index *x, mldf_error *err) {
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

/* ---- Keys ------------------------------------------------------------------------------------------------------------------------------------------ */

static bool is_trusted(const struct video_parts *p, const struct video_packet *k) {
    const struct video_config *c = &p->configs[k->config];
    return mldfi_video_is_clean(p->video.codec, c->bytes ? p->extra.data + c->at : NULL, c->bytes,
                                p->data.data + k->offset, k->bytes);
}

/* Each frame begins at the last key at or before its own packet that is shown no later than it. */
static void assign_starts(struct video_parts *p, const uint32_t *key_before) {
    for (size_t i = 0; i < p->frame_count; i++) {
        struct video_frame *f = &p->frames[i];
        uint32_t at = key_before[f->packet - f->back];
        while (at != UINT32_MAX && p->packets[at].pts > f->pts + p->video.first)
            at = at ? key_before[at - 1] : UINT32_MAX;
        if (at == UINT32_MAX) { /* none: from the first packet of its configuration */
            at = f->packet - f->back;
            while (at && p->packets[at - 1].config == f->config)
                at--;
        }
        f->start = at;
    }
}

static void find_keys(const struct video_parts *p, uint32_t *key_before) {
    uint32_t last = UINT32_MAX;
    for (size_t i = 0; i < p->packet_count; i++) {
        if (i && p->packets[i].config != p->packets[i - 1].config)
            last = UINT32_MAX;
        if (p->packets[i].flags & PACKET_KEY)
            last = (uint32_t)i;
        key_before[i] = last;
    }
}

/* ---- Proofs ---------------------------------------------------------------------------------------------------------------------------------------- */

static bool take_proof(struct index *x, uint32_t first, uint32_t last, uint8_t *same) {
    struct av_image image;
    char text[AV_TEXT];
    int code;
    while ((code = x->w->module->image(x->kept->decoder, &image, text)) > 0)
        if (image.id >= first && image.id <= last && !image.corrupt)
            same[image.id - first] = hash_image(&image) == x->outcomes[image.id].hash;
    return code == 0;
}

static void list_starts(struct index *x) {
    const struct video_parts *p = x->parts;
    memset(x->first_of, 0xff, p->packet_count * sizeof *x->first_of);
    for (size_t i = p->frame_count; i-- > 0;) {
        x->next_of[i] = x->first_of[p->frames[i].start];
        x->first_of[p->frames[i].start] = (uint32_t)i;
    }
}

/* Do packets first to last, decoded by themselves, give the images of the frames that start there? */
static mldf_status prove(struct index *x, uint32_t key, bool *right, mldf_error *err) {
    struct video_parts *p = x->parts;
    uint32_t last = key;
    char text[AV_TEXT];
    *right = true;
    for (uint32_t i = x->first_of[key]; i != UINT32_MAX; i = x->next_of[i])
        last = p->frames[i].packet > last ? p->frames[i].packet : last;
    if (x->first_of[key] == UINT32_MAX)
        return MLDF_OK;
    uint8_t *same = mldfi_alloc_zero((size_t)last - key + 1, 1, err);
    mldf_status status = same ? get_decoder(x, p->packets[key].config, err) : MLDF_E_MEMORY;
    if (status < 0) {
        free(same);
        return status;
    }
    for (uint32_t i = key; i <= last && *right; i++) {
        const struct video_packet *k = &p->packets[i];
        if (k->bytes && x->w->module->send(x->kept->decoder, p->data.data + k->offset, k->bytes, i, text) < 0)
            continue; /* leading images whose references are missing; what matters is compared */
        *right = take_proof(x, key, last, same);
    }
    if (*right)
        *right = x->w->module->send(x->kept->decoder, NULL, 0, 0, text) >= 0 && take_proof(x, key, last, same);
    mldfi_video_drop(x->w, x->kept);
    for (uint32_t i = x->first_of[key]; i != UINT32_MAX && *right; i = x->next_of[i])
        *right = same[p->frames[i].packet - p->frames[i].back - key];
    free(same);
    return MLDF_OK;
}

/* unproved: one byte a packet. */
static mldf_status prove_keys(struct index *x, uint32_t *key_before, uint8_t *unproved, mldf_error *err) {
    struct video_parts *p = x->parts;
    unsigned lies = 0;
    bool again = true;
    for (size_t i = 0; i < p->packet_count; i++)
        unproved[i] = (p->packets[i].flags & PACKET_KEY) && i && !is_trusted(p, &p->packets[i]);
    while (again) {
        again = false;
        find_keys(p, key_before);
        assign_starts(p, key_before);
        list_starts(x);
        for (size_t i = 0; i < p->packet_count && !again; i++) {
            bool right;
            if (!unproved[i])
                continue;
            mldf_status status = prove(x, (uint32_t)i, &right, err);
            if (status < 0)
                return status;
            unproved[i] = 0;
            if (right)
                continue;
            again = true;
            p->packets[i].flags &= (uint16_t)~PACKET_KEY;
            if (i && key_before[i - 1] != UINT32_MAX && key_before[i - 1] &&
                !is_trusted(p, &p->packets[key_before[i - 1]]))
                unproved[key_before[i - 1]] = 1; /* its frames are more now */
            if (++lies <= MAX_LIES)
                continue;
            for (size_t k = 1; k < p->packet_count; k++) /* a file whose keys lie: none is believed */
                if ((p->packets[k].flags & PACKET_KEY) && !is_trusted(p, &p->packets[k])) {
                    p->packets[k].flags &= (uint16_t)~PACKET_KEY;
                    unproved[k] = 0;
                }
        }
    }
    return MLDF_OK;
}

static mldf_status run(struct index *x, int reorder, mldf_error *err) {
    struct video_parts *p = x->parts;
    mldf_status status = MLDF_OK;
    for (int pass = 0; pass < MAX_PASSES && status == MLDF_OK; pass++) {
        int seen = reorder;
        p->video.reorder = (uint32_t)reorder;
        status = decode_all(x, &seen, err);
        if (seen <= reorder)
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
    struct index x = {.w = w, .parts = p};
    size_t n = p->packet_count;
    uint32_t *key_before = mldfi_alloc_zero(n + 1, sizeof *key_before, err);
    uint8_t *unproved = mldfi_alloc_zero(n + 1, 1, err);
    x.outcomes = mldfi_alloc_zero(n + 1, sizeof *x.outcomes, err);
    x.first_of = mldfi_alloc_zero(n + 1, sizeof *x.first_of, err);
    x.next_of = mldfi_alloc_zero(n + 1, sizeof *x.next_of, err); /* no more frames than packets */
    mldf_status status = key_before && unproved && x.outcomes && x.first_of && x.next_of ? MLDF_OK : MLDF_E_MEMORY;
    if (status == MLDF_OK && n >= UINT32_MAX)
        status = mldfi_fail(err, MLDF_E_LIMIT, "%zu packets", n);
    if (status == MLDF_OK)
        status = run(&x, reorder < 0 ? 0 : reorder > VIDEO_REORDER_MAX ? VIDEO_REORDER_MAX : reorder, err);
    if (status == MLDF_OK)
        status = prove_keys(&x, key_before, unproved, err);
    free(x.outcomes);
    free(x.first_of);
    free(x.next_of);
    free(key_before);
    free(unproved);
    return status;
}
