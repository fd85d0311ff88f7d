/* The beginning of a chain whose values must be decoded: the pipeline's half of a family of media (field/media.h has the decoder's half). What
 * is the same for all is in run_source.c; a family says, in its source_*.c:
 *
 *   extent    how large the value is, from its record where that says it, else from its first bytes
 *   begin, take, settle    which of the operations after decode go into the source: what they do not select is not decoded
 *   ranges    which bytes of the payload that needs
 *   produce   the decoded value into the chain's memory or straight into the batch, finished where it can be
 */
#ifndef MLDF_PIPELINE_SOURCE_H
#define MLDF_PIPELINE_SOURCE_H

#include "field/field.h"
#include "pipeline/stage.h"

enum { SOURCE_OWN_BYTES = 512 };

struct source_run {
    const struct run *run;
    struct side *side;
    const struct chain *chain;
    size_t chain_index;
    const struct stage *stage;
    const struct source_type *type;
    mldf_value value;        /* the record, and of the payload what was fetched so far; of a part: its own */
    struct part_place place; /* of a part; otherwise its offset is 0 */
    struct frame frame;      /* of the whole value, as decoded; of its piece, where it is one */
    bool pieced;             /* the sample is a piece of the value: */
    struct plan_piece piece; /* this one */
    const void *head;        /* the payload's first bytes, for an extent that asked for them: */
    uint64_t head_bytes, head_wanted;
    bool absent;     /* the value has no such part, */
    bool silent;     /* and an empty one is taken instead */
    uint64_t whole;  /* bytes of the payload */
    size_t composed; /* operations after decode that produce does */
    _Alignas(16) uint8_t own[SOURCE_OWN_BYTES];
};

/* Of a value's payload. */
struct byte_range {
    uint64_t offset, bytes;
};
enum { SOURCE_RANGES = 8, SOURCE_LOOKS = 3 };

struct source_type {
    unsigned takes; /* flags of the operations that may go into the source: OP_AXIS, OP_TIME */
    /* Can the chain go on with an empty value where the part that it reads is absent? Then s->silent is set before extent. NULL: no. */
    bool (*takes_nothing)(const struct chain *chain);
    /* Fills s->frame and checks it against what the plan was made for. MLDF_END: the record does not say enough; it is called again with the
     * first s->head_wanted bytes in s->head (or all, if there are fewer), and s->value is gone then. At most SOURCE_LOOKS times. */
    mldf_status (*extent)(struct source_run *s, mldf_error *err);
    /* The dims of what s->composed operations give; t has their type. */
    void (*shape)(const struct source_run *s, struct tensor *t);
    /* Before the first operation; each in turn, with its draw and the frames in front of it and behind it (false: it, and all behind it, run by themselves);
     * after the last one. */
    void (*begin)(struct source_run *s);
    bool (*take)(struct source_run *s, const struct op *op, const void *draw, const struct frame *before,
                 const struct frame *after);
    mldf_status (*settle)(struct source_run *s, mldf_error *err);
    /* The bytes that produce will fetch, at most SOURCE_RANGES. NULL: the whole payload, which comes with the record. */
    mldf_status (*ranges)(const struct source_run *s, struct byte_range *out, size_t *count);
    /* Decodes what settle decided on, through s->composed operations and, when `finished`, through the stage's finish. */
    mldf_status (*produce)(struct source_run *s, bool finished, void *dst, size_t dst_bytes, mldf_error *err);
};
extern const struct source_type mldfi_source_image; /* source_image.c */
extern const struct source_type mldfi_source_audio; /* source_audio.c */
extern const struct source_type mldfi_source_video; /* source_video.c */
const struct source_type *mldfi_source_of(media_family family);

static inline const void *mldfi_source_state(const struct source_run *s) {
    return s->chain->ops[s->stage->first].state;
}
/* NULL: the chain does not decode. */
static inline const struct source_type *mldfi_chain_source(const struct chain *c) {
    return c->stage_count && c->stages[0].kind == STAGE_SOURCE ? mldfi_source_of(c->ops[0].type->decodes) : NULL;
}
/* The whole payload, where s->value has the record alone. */
mldf_status mldfi_source_fetch(struct source_run *s, mldf_error *err);
/* A part of it: *data until the chain's next fetch. Counts as read. s->value.record is gone then. */
mldf_status mldfi_source_range(struct source_run *s, struct byte_range range, const void **data, mldf_error *err);

/* When a part that is a sound begins. */
mldf_status mldfi_source_start(struct source_run *s, struct start *out, mldf_error *err);

/* source_pixels.c: what sources of pixels share. The window of an image that a geometry needs, at 1 / scale of its size. */
struct pixel_window {
    uint32_t x, y, width, height;
};
struct pixel_window mldfi_pixel_window(const struct geometry *g, unsigned scale, uint32_t width, uint32_t height);
/* From the pixels of that window, or its planes, what the geometry makes of it, finished by the stage's finish or as plain pixels, dense at dst. */
struct planes;
mldf_status mldfi_pixels_deliver(const struct source_run *s, const struct geometry *g, unsigned scale,
                                 struct pixel_window window, const struct raster *image, const struct planes *planes,
                                 bool finished, void *dst, mldf_error *err);

/* held.c: bytes of the payload from the feed, or from what was fetched for all chains of the field; and those that an extent asks for. */
mldf_status mldfi_read_range(const struct run *r, struct side *side, size_t chain, struct byte_range range,
                             const void **data, mldf_error *err);
mldf_status mldfi_read_head(const struct run *r, struct side *side, size_t chain, struct byte_range range,
                            const void **data, mldf_error *err);

#endif
