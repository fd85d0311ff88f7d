/* The step `clip` from the inside: op_clip.c chooses frames of a video, op_clip_sound.c samples of a recording, clips.c tells the batch what they are. */
#ifndef MLDF_PIPELINE_CLIP_H
#define MLDF_PIPELINE_CLIP_H

#include "field/frame_times.h"
#include "pipeline/op.h"

extern const struct op_type mldfi_op_clip;

enum clip_param { CLIP_FRAMES, CLIP_STRIDE, CLIP_FPS, CLIP_START, CLIP_COUNT, CLIP_SHORT, CLIP_FIRST, CLIP_SAMPLES };
enum { START_RANDOM, START_CENTER, START_UNIFORM, START_FIXED, START_CENTRE };
enum { SHORT_REPEAT, SHORT_WRAP, SHORT_ZERO, SHORT_DROP, SHORT_ERROR };
enum { CLIPS_SHARED = 8 };

struct clip_state {
    uint64_t frames, stride, first;
    uint64_t fps_num, fps_den; /* den 0: by stride */
    double first_seconds;
    uint32_t count;
    int start, shorter;
    uint64_t samples; /* of a recording; 0: those that are heard while the frames are shown */
    bool sound;       /* the value is a recording */
    struct ratio rate;
    uint64_t length; /* of a recording's clip, if all are as long; 0: they differ */
};

struct clip_draw {
    uint64_t key;   /* of random starts */
    uint64_t fit;   /* frames that a clip may begin with: [0, fit) */
    uint64_t shown; /* frames that there are, for short=drop */
    bool timed;
    struct ratio tick;
    int64_t begins[CLIPS_SHARED];    /* the ticks at which the leader's clips begin */
    const struct frame_times *times; /* of the leader, until the sample ends; NULL: not known */
};

/* What a recording's clips are cut by: the draw of op_clip_sound.c. */
struct sound_draw {
    struct clip_draw lead;         /* a recording that is cut alone draws itself; */
    const struct clip_draw *video; /* otherwise the leader's draw */
    struct start start;
    uint64_t length; /* of the recording, in front of the step */
};
_Static_assert(sizeof(struct sound_draw) <= OP_DRAW_BYTES, "a draw must fit");

/* Clips of a sample, and frames of each; frames 0: samples differ. */
void mldfi_clip_counts(const struct op *op, uint32_t *count, uint64_t *frames);
/* When clip i begins and ends, in seconds; times: of the video in front of the step, which has `length` frames. */
void mldfi_clip_span(const struct op *op, const void *draw, const struct frame_times *times, uint64_t length,
                     uint32_t i, double *start, double *end);
/* Where clip i of the leader begins and ends, in exact ticks: num / den. */
struct clip_ticks {
    frame_wide begin, begin_den, end, end_den;
};
struct clip_ticks mldfi_clip_ticks(const struct clip_state *s, const struct frame_times *times, uint64_t from);
/* The frame, or the sample, that clip i of the leader begins with. */
uint64_t mldfi_clip_start(const struct clip_state *s, const struct clip_draw *draw, const struct frame_times *times,
                          uint32_t i);

/* ---- Recordings (op_clip_sound.c) ------------------------------------------------------------------------------------------------------ */

/* Clip i of a recording: `zeros` zeros, `have` samples from `from` on, and zeros up to `steps`. */
struct sound_cut {
    uint64_t zeros, from, have, steps;
};
void mldfi_clip_cut(const struct op *op, const void *draw, uint32_t i, struct sound_cut *out);
/* Does the step cut a recording? */
static inline bool mldfi_clip_is_sound(const struct op *op) {
    return op->type == &mldfi_op_clip && ((const struct clip_state *)op->state)->sound;
}
/* Is it a recording with a rate, which clip cuts as one? */
bool mldfi_clip_takes_sound(const struct edge *in);
/* As op_type has them. */
mldf_status mldfi_clip_sound_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err);
mldf_status mldfi_clip_sound_draw(const struct op *op, struct rng *rng, const struct frame *frame, void *room,
                                  struct frame *next, mldf_error *err);
mldf_status mldfi_clip_sound_follow(const struct op *op, const void *leaders, const struct frame *frame, void *room,
                                    mldf_error *err);
mldf_status mldfi_clip_sound_shape(const struct op *op, const void *room, const struct tensor *in, struct tensor *out,
                                   mldf_error *err);
mldf_status mldfi_clip_sound_run(const struct op *op, const void *room, const struct tensor *in, struct tensor *out,
                                 struct op_work *work, mldf_error *err);

#endif
