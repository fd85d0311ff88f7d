/* See frames.h. */
#include "pipeline/frames.h"

#include <string.h>

void mldfi_frame_edge(const struct edge *clip, struct edge *frame) {
    *frame = *clip;
    frame->ndim--;
    memmove(frame->axes, clip->axes + 1, MLDF_MAX_DIMS);
    memmove(frame->dims, clip->dims + 1, (MLDF_MAX_DIMS - 1) * sizeof clip->dims[0]);
    memmove(frame->most, clip->most + 1, (MLDF_MAX_DIMS - 1) * sizeof clip->most[0]);
}

void mldfi_clip_edge(const struct edge *frame, const struct edge *like, struct edge *clip) {
    struct edge out = *frame;
    out.ndim++;
    memmove(out.dims + 1, frame->dims, (MLDF_MAX_DIMS - 1) * sizeof out.dims[0]);
    memmove(out.most + 1, frame->most, (MLDF_MAX_DIMS - 1) * sizeof out.most[0]);
    out.dims[0] = like->dims[0];
    out.most[0] = like->most[0];
    if (frame->axes[0]) {
        memmove(out.axes + 1, frame->axes, MLDF_MAX_DIMS - 1);
        out.axes[0] = mldfi_is_sound_clips(like) ? 'n' : 't';
    }
    *clip = out;
}

void mldfi_frame_at(const struct tensor *clip, uint64_t k, struct tensor *frame) {
    *frame = *clip;
    frame->ndim--;
    memmove(frame->axes, clip->axes + 1, MLDF_MAX_DIMS);
    memmove(frame->dims, clip->dims + 1, (MLDF_MAX_DIMS - 1) * sizeof clip->dims[0]);
    if (clip->data)
        frame->data = (uint8_t *)clip->data + (size_t)k * mldfi_tensor_bytes(frame);
}

void mldfi_clip_of(const struct tensor *frame, uint64_t count, const struct tensor *like, struct tensor *clip) {
    struct tensor out = *frame;
    char letter = like && like->axes[0] ? like->axes[0] : 't';
    out.data = NULL;
    out.ndim++;
    memmove(out.dims + 1, frame->dims, (MLDF_MAX_DIMS - 1) * sizeof out.dims[0]);
    out.dims[0] = count;
    if (frame->axes[0]) {
        memmove(out.axes + 1, frame->axes, MLDF_MAX_DIMS - 1);
        out.axes[0] = letter;
    }
    *clip = out;
}

void mldfi_split_clips(struct tensor *t, uint32_t clips) {
    if (t->ndim == 0 || t->ndim == MLDF_MAX_DIMS)
        return;
    memmove(t->dims + 1, t->dims, (MLDF_MAX_DIMS - 1) * sizeof t->dims[0]);
    memmove(t->axes + 1, t->axes, MLDF_MAX_DIMS - 1);
    t->axes[0] = 'n';
    t->dims[0] = clips;
    t->dims[1] /= clips;
    t->ndim++;
}
