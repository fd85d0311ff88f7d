/* Where decoding for each frame of a video begins. A packet is a clean key where its bytes say that nothing after it looks in front of it; decoding for every
 * frame after it may begin there. Other keys (recovery points, what a container calls a key) serve the frames that are not shown before them, and are proved:
 * decoding from there must give the same planes as decoding everything. One that does not loses its flag.
 *
 * A file may say anything of keys and times. The work here is bounded, and so is what a reader does with the table: where proofs or readers would
 * decode packets over and over, only clean keys are believed, and then none at all. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "field/video_index.h"
#include "util/buffer.h"
#include "util/error.h"

enum { MAX_LIES = 8 };

struct starts {
    struct video_indexing *x;
    uint8_t *clean;     /* one a packet */
    uint8_t *unproved;  /* one a packet */
    uint32_t *frame_of; /* a packet's; UINT32_MAX: none */
    uint32_t *stack;    /* keys that may still serve: places ascend, and so do times */
};

/* ---- Which key serves which frame --------------------------------------------------------------------------------------------------- */

/* Containers forget flags: what is clean by its bytes is a key. */
static void find_clean(struct starts *s) {
    struct video_parts *p = s->x->parts;
    for (size_t i = 0; i < p->packet_count; i++) {
        struct video_packet *k = &p->packets[i];
        const struct video_config *c = &p->configs[k->config];
        s->clean[i] = mldfi_video_is_clean(p->video.codec, c->bytes ? p->extra.data + c->at : NULL, c->bytes,
                                           p->data.data + k->offset, k->bytes);
        if (s->clean[i])
            k->flags |= PACKET_KEY;
        s->unproved[i] = (k->flags & PACKET_KEY) && i && !s->clean[i];
    }
}

/* The number of keys in the stack that are shown no later than `pts`. A clean key is the first in it, whatever its time. */
static size_t keys_until(const struct starts *s, size_t count, int64_t pts) {
    const struct video_packet *packets = s->x->parts->packets;
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s->clean[s->stack[middle]] || packets[s->stack[middle]].pts <= pts)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void assign(struct starts *s) {
    struct video_parts *p = s->x->parts;
    size_t keys = 0;
    uint32_t first = 0; /* packet of the configuration */
    for (uint32_t i = 0; i < p->packet_count; i++) {
        const struct video_packet *k = &p->packets[i];
        if (i && k->config != p->packets[i - 1].config) {
            keys = 0;
            first = i;
        }
        if (k->flags & PACKET_KEY) {
            while (keys &&
                   (s->clean[i] || (!s->clean[s->stack[keys - 1]] && p->packets[s->stack[keys - 1]].pts >= k->pts)))
                keys--; /* the new one serves whatever that one would */
            s->stack[keys++] = i;
        }
        if (s->frame_of[i] == UINT32_MAX)
            continue;
        struct video_frame *f = &p->frames[s->frame_of[i]];
        size_t serving = keys_until(s, keys, f->pts + p->video.first);
        f->start = serving ? s->stack[serving - 1] : first;
    }
}

static void list_starts(struct video_indexing *x) {
    const struct video_parts *p = x->parts;
    memset(x->first_of, 0xff, p->packet_count * sizeof *x->first_of);
    for (size_t i = p->frame_count; i-- > 0;) {
        x->next_of[i] = x->first_of[p->frames[i].start];
        x->first_of[p->frames[i].start] = (uint32_t)i;
    }
}

/* From now on only clean keys are keys, or none. */
static void distrust(struct starts *s, bool all) {
    struct video_parts *p = s->x->parts;
    for (size_t i = 0; i < p->packet_count; i++) {
        s->unproved[i] = 0;
        if (all || !s->clean[i])
            p->packets[i].flags &= (uint16_t)~PACKET_KEY;
        s->clean[i] = s->clean[i] && !all;
    }
}

/* ---- Proofs --------------------------------------------------------------------------------------------------------------------------- */

/* Packets that readers, and all proofs together, may decode for a table of so many: mldfi_video_decode refuses more. */
static uint64_t most_packets(const struct video_parts *p) {
    return UINT64_C(4) * p->packet_count + 1024;
}

static bool take_proof(struct video_indexing *x, uint32_t first, uint32_t last, uint8_t *same) {
    struct av_image image;
    char text[AV_TEXT];
    int code;
    while ((code = x->w->module->image(x->kept->decoder, &image, text)) > 0)
        if (image.id >= first && image.id <= last && !image.corrupt)
            same[image.id - first] = mldfi_video_hash(&image) == x->outcomes[image.id].hash;
    return code == 0;
}

static mldf_status decode_from(struct video_indexing *x, uint32_t key, uint32_t last, uint8_t *same, bool *right,
                               mldf_error *err) {
    const struct video_parts *p = x->parts;
    char text[AV_TEXT];
    mldf_status status = mldfi_indexing_decoder(x, p->packets[key].config, err);
    if (status < 0)
        return status;
    for (uint32_t i = key; i <= last && *right && status == MLDF_OK; i++) {
        const struct video_packet *k = &p->packets[i];
        status = mldfi_indexing_goes_on(x, 1, err);
        if (k->bytes && x->w->module->send(x->kept->decoder, p->data.data + k->offset, k->bytes, i, text) < 0)
            continue; /* leading images whose references are missing; what matters is compared */
        *right = take_proof(x, key, last, same);
    }
    if (*right && status == MLDF_OK)
        *right = x->w->module->send(x->kept->decoder, NULL, 0, 0, text) >= 0 && take_proof(x, key, last, same);
    mldfi_video_drop(x->w, x->kept);
    return status;
}

/* Do the packets from `key` on, decoded by themselves, give the images of the frames that start there? */
static mldf_status prove(struct video_indexing *x, uint32_t key, bool *right, mldf_error *err) {
    const struct video_parts *p = x->parts;
    uint32_t last = key;
    *right = true;
    for (uint32_t i = x->first_of[key]; i != UINT32_MAX; i = x->next_of[i])
        last = p->frames[i].packet > last ? p->frames[i].packet : last;
    if (x->first_of[key] == UINT32_MAX)
        return MLDF_OK;
    x->fed += (uint64_t)last - key + 1;
    if (x->fed > most_packets(p))
        return MLDF_END;
    uint8_t *same = mldfi_alloc_zero((size_t)last - key + 1, 1, err);
    mldf_status status = same ? decode_from(x, key, last, same, right, err) : MLDF_E_MEMORY;
    for (uint32_t i = x->first_of[key]; i != UINT32_MAX && *right && status == MLDF_OK; i = x->next_of[i])
        *right = same[p->frames[i].packet - p->frames[i].back - key];
    free(same);
    return status;
}

/* The key lies. Its frames become those of keys in front of it, which have more now than they were proved for. */
static void expose(struct starts *s, uint32_t key) {
    const struct video_indexing *x = s->x;
    struct video_parts *p = x->parts;
    p->packets[key].flags &= (uint16_t)~PACKET_KEY;
    assign(s);
    for (uint32_t i = x->first_of[key]; i != UINT32_MAX; i = x->next_of[i]) {
        uint32_t start = p->frames[i].start;
        if (start && (p->packets[start].flags & PACKET_KEY) && !s->clean[start])
            s->unproved[start] = 1;
    }
}

/* One round: until a key is found to lie, or all are proved. MLDF_END: too much work. */
static mldf_status prove_round(struct starts *s, bool *lied, mldf_error *err) {
    struct video_indexing *x = s->x;
    struct video_parts *p = x->parts;
    *lied = false;
    assign(s);
    list_starts(x);
    for (uint32_t i = 0; i < p->packet_count; i++) {
        bool right = true;
        mldf_status status = s->unproved[i] ? prove(x, i, &right, err) : MLDF_OK;
        if (status != MLDF_OK)
            return status;
        s->unproved[i] = 0;
        if (!right) {
            *lied = true;
            expose(s, i);
            return MLDF_OK;
        }
    }
    return MLDF_OK;
}

static mldf_status prove_keys(struct starts *s, mldf_error *err) {
    bool lied = true;
    for (int lies = 0; lied; lies++) {
        mldf_status status = lies > MAX_LIES ? MLDF_END : prove_round(s, &lied, err);
        if (status < 0)
            return status;
        if (status == MLDF_END) { /* a file whose keys lie */
            distrust(s, false);
            assign(s);
            return MLDF_OK;
        }
    }
    return MLDF_OK;
}

/* Packets that a reader decodes for all frames, in the order of time (mldfi_video_decode). */
static uint64_t reading_cost(const struct video_parts *p) {
    uint64_t cost = 0;
    for (size_t i = 0; i < p->frame_count;) {
        uint32_t start = p->frames[i].start, last = p->frames[i].packet;
        size_t end = i;
        for (; end < p->frame_count && p->frames[end].config == p->frames[i].config && p->frames[end].start >= start &&
               p->frames[end].start <= (uint64_t)last + 1;
             end++)
            last = p->frames[end].packet > last ? p->frames[end].packet : last;
        cost += (uint64_t)last - start + 1;
        i = end;
    }
    return cost;
}

static mldf_status find_starts(struct starts *s, mldf_error *err) {
    struct video_parts *p = s->x->parts;
    find_clean(s);
    memset(s->frame_of, 0xff, p->packet_count * sizeof *s->frame_of);
    for (size_t i = 0; i < p->frame_count; i++)
        s->frame_of[p->frames[i].packet - p->frames[i].back] = (uint32_t)i;
    mldf_status status = prove_keys(s, err);
    for (int all = 0; all < 2 && status == MLDF_OK && reading_cost(p) > most_packets(p); all++) {
        distrust(s, all);
        assign(s);
    }
    if (status == MLDF_OK && reading_cost(p) > most_packets(p))
        status = mldfi_fail(err, MLDF_E_UNSUPPORTED,
                            "times of frames that go back and forth between %zu configurations of the decoder",
                            p->config_count);
    return status;
}

mldf_status mldfi_video_starts(struct video_indexing *x, mldf_error *err) {
    struct starts s = {.x = x};
    size_t n = x->parts->packet_count;
    s.clean = mldfi_alloc_zero(n + 1, 1, err);
    s.unproved = mldfi_alloc_zero(n + 1, 1, err);
    s.frame_of = mldfi_alloc_zero(n + 1, sizeof *s.frame_of, err);
    s.stack = mldfi_alloc_zero(n + 1, sizeof *s.stack, err);
    mldf_status status = s.clean && s.unproved && s.frame_of && s.stack ? find_starts(&s, err) : MLDF_E_MEMORY;
    free(s.clean);
    free(s.unproved);
    free(s.frame_of);
    free(s.stack);
    return status;
}
