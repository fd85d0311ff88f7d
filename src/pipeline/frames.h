/* Clips: values whose first axis is t. An operation on images is mapped over the frames: it infers, draws and shapes once, for one frame, and
 * runs on each, so every frame equals the single image with that draw. Operations see frames only; op->frames says that they are mapped.
 * Several clips of a recording have the first axis n, and every operation is mapped over it in the same way: each clip is a "frame" here. */
#ifndef MLDF_PIPELINE_FRAMES_H
#define MLDF_PIPELINE_FRAMES_H

#include "pipeline/op.h"

static inline bool mldfi_is_clip(const struct edge *e) {
    return e->kind == VALUE_IMAGE && e->axes[0] == 't';
}
static inline bool mldfi_is_sound_clips(const struct edge *e) {
    return e->axes[0] == 'n';
}
/* The type of one frame of a clip. */
void mldfi_frame_edge(const struct edge *clip, struct edge *frame);
/* The type of a clip of such frames, as many as `like` has. */
void mldfi_clip_edge(const struct edge *frame, const struct edge *like, struct edge *clip);
/* Frame k of a clip. */
void mldfi_frame_at(const struct tensor *clip, uint64_t k, struct tensor *frame);
/* A clip of `count` such frames; no data. like: a value with the same first axis; NULL: it is t. */
void mldfi_clip_of(const struct tensor *frame, uint64_t count, const struct tensor *like, struct tensor *clip);
/* Frames that are `clips` clips end to end, with an axis for the clips in front. */
void mldfi_split_clips(struct tensor *t, uint32_t clips);

#endif
