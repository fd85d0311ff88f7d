/* Packets that no other packet needs: a reader that does not want their image leaves them out, which is about half of a video with B-frames. Candidates are
 * found by what their bytes say, where the standard promises it: H.264, HEVC and AV1. VP8, VP9, MPEG-4 and MPEG-2 have state outside of their reference images, and
 * are never marked. All candidates of a video are proved together: decoding without them must give every other image as before, or none is marked. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "field/video_av1.h"
#include "field/video_index.h"
#include "util/buffer.h"
#include "util/error.h"

struct sparing {
    struct video_indexing *x;
    uint8_t *spare;   /* one a packet */
    uint32_t missing; /* images that must still come */
    bool right;
};

static const uint8_t *extra_of(const struct video_parts *p, const struct video_packet *k, uint32_t *bytes) {
    const struct video_config *c = &p->configs[k->config];
    *bytes = c->bytes;
    return c->bytes ? p->extra.data + c->at : NULL;
}

/* The packet has an image, and the next one has its own: no field of an image is apart. */
static bool is_whole(const struct video_indexing *x, size_t i) {
    return x->outcomes[i].hash != NO_IMAGE && (i + 1 == x->parts->packet_count || x->outcomes[i + 1].hash != NO_IMAGE);
}

static uint32_t find_candidates(struct sparing *s) {
    const struct video_parts *p = s->x->parts;
    uint32_t count = 0, bytes;
    unsigned highest = 0;
    for (size_t i = 0; i < p->packet_count; i++) {
        const uint8_t *extra = extra_of(p, &p->packets[i], &bytes);
        unsigned layer =
            mldfi_video_layer(p->video.codec, extra, bytes, p->data.data + p->packets[i].offset, p->packets[i].bytes);
        highest = layer > highest ? layer : highest;
    }
    struct av1_sequence sequence = {0};
    for (size_t i = 0; i < p->packet_count; i++) {
        const struct video_packet *k = &p->packets[i];
        const uint8_t *extra = extra_of(p, k, &bytes), *data = p->data.data + k->offset;
        bool spare;
        if (p->video.codec == AV_VIDEO_AV1) { /* av1C: four bytes, then units */
            if ((i == 0 || k->config != p->packets[i - 1].config) && bytes > 4)
                (void)mldfi_av1_is_spare(&sequence, extra + 4, bytes - 4);
            spare = mldfi_av1_is_spare(&sequence, data, k->bytes);
        } else {
            spare = mldfi_video_is_spare(p->video.codec, highest, extra, bytes, data, k->bytes);
        }
        s->spare[i] = spare && !(k->flags & PACKET_KEY) && is_whole(s->x, i);
        count += s->spare[i];
    }
    return count;
}

static void take(struct sparing *s) {
    struct video_indexing *x = s->x;
    struct av_image image;
    char text[AV_TEXT];
    int code;
    while ((code = x->w->module->image(x->kept->decoder, &image, text)) > 0) {
        uint64_t hash = image.id < x->parts->packet_count ? x->outcomes[image.id].hash : NO_IMAGE;
        if (hash == NO_IMAGE && image.corrupt) /* what a cut recording begins with */
            continue;
        s->right = s->right && hash != NO_IMAGE && !s->spare[image.id] && mldfi_video_hash(&image) == hash;
        s->missing -= s->missing > 0;
    }
    s->right = s->right && code == 0;
}

static void drain(struct sparing *s) {
    char text[AV_TEXT];
    if (s->x->w->module->send(s->x->kept->decoder, NULL, 0, 0, text) < 0)
        s->right = false;
    else
        take(s);
    mldfi_video_drop(s->x->w, s->x->kept);
}

static mldf_status decode_others(struct sparing *s, mldf_error *err) {
    struct video_indexing *x = s->x;
    const struct video_parts *p = x->parts;
    char text[AV_TEXT];
    bool open = false;
    mldf_status status = MLDF_OK;
    for (size_t i = 0; i < p->packet_count && status == MLDF_OK && s->right; i++) {
        const struct video_packet *k = &p->packets[i];
        if (open && k->config != p->packets[i - 1].config) {
            drain(s);
            open = false;
        }
        status = mldfi_indexing_goes_on(x, 0, err);
        if (status == MLDF_OK && !open) {
            status = mldfi_indexing_decoder(x, k->config, err);
            open = status == MLDF_OK;
        }
        if (status < 0 || k->bytes == 0 || s->spare[i])
            continue;
        if (x->w->module->send(x->kept->decoder, p->data.data + k->offset, k->bytes, i, text) < 0)
            s->right = false;
        else
            take(s);
    }
    if (open && status == MLDF_OK && s->right)
        drain(s);
    else if (open)
        mldfi_video_drop(x->w, x->kept);
    return status;
}

mldf_status mldfi_video_mark_spare(struct video_indexing *x, mldf_error *err) {
    struct video_parts *p = x->parts;
    struct sparing s = {.x = x, .right = true};
    if (p->video.codec != AV_VIDEO_H264 && p->video.codec != AV_VIDEO_HEVC && p->video.codec != AV_VIDEO_AV1)
        return MLDF_OK;
    s.spare = mldfi_alloc_zero(p->packet_count + 1, 1, err);
    if (!s.spare)
        return MLDF_E_MEMORY;
    uint32_t count = find_candidates(&s);
    s.missing = x->images - count;
    mldf_status status = count ? decode_others(&s, err) : MLDF_OK;
    for (size_t i = 0; status == MLDF_OK && count && s.right && s.missing == 0 && i < p->packet_count; i++)
        if (s.spare[i])
            p->packets[i].flags |= PACKET_UNUSED;
    free(s.spare);
    return status;
}
