/* What others ask of the step `clip` (op_clip.c): clips.c, which tells the batch when its frames are shown. */
#ifndef MLDF_PIPELINE_CLIP_H
#define MLDF_PIPELINE_CLIP_H

#include "pipeline/op.h"

extern const struct op_type mldfi_op_clip;

/* Clips of a sample, and frames of each; frames 0: samples differ. */
void mldfi_clip_counts(const struct op *op, uint32_t *count, uint64_t *frames);
/* When clip i begins and ends, in seconds; times: of the video in front of the step, which has `length` frames. */
void mldfi_clip_span(const struct op *op, const void *draw, const struct frame_times *times, uint64_t length,
                     uint32_t i, double *start, double *end);

#endif
