/* What the files that make a video's frame table share: video_index.c decodes every packet once and lists the frames, video_starts.c finds where decoding
 * for each begins, and proves it. */
#ifndef MLDF_FIELD_VIDEO_INDEX_H
#define MLDF_FIELD_VIDEO_INDEX_H

#include "field/video_type.h"

enum { NO_IMAGE = 0 };

/* What came of one packet in the first pass. */
struct outcome {
    uint64_t hash;  /* of its image's planes; NO_IMAGE: it has none */
    uint32_t order; /* in which images came */
    bool failed;    /* no decoder takes it */
};

struct video_indexing {
    struct video_worker *w;
    struct video_parts *parts;
    struct outcome *outcomes; /* one a packet */
    struct kept_video *kept;
    uint32_t images;
    uint32_t *first_of; /* a packet's: the first frame that starts there; UINT32_MAX: none */
    uint32_t *next_of;  /* a frame's: the next one that starts where it does */
    uint64_t fed;       /* packets, in proofs */
};

uint64_t mldfi_video_hash(const struct av_image *image);
/* A decoder of the configuration, in x->kept. */
mldf_status mldfi_indexing_decoder(struct video_indexing *x, uint16_t config, mldf_error *err);
/* MLDF_E_CANCELLED when whoever waits for this video wants it no longer. */
mldf_status mldfi_indexing_goes_on(const struct video_indexing *x, uint64_t packets, mldf_error *err);

/* Every frame's start: the last key that gives it, proved where its bytes alone do not say so; keys that lie lose their flag. */
mldf_status mldfi_video_starts(struct video_indexing *x, mldf_error *err);

/* Marks packets that no other packet needs, proved (video_spare.c). */
mldf_status mldfi_video_mark_spare(struct video_indexing *x, mldf_error *err);

#endif
