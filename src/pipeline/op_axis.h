/* What the operations along the axes share: their state, and the parts that are the same for all of them.
 *   op_axis.c          what is done with an image, a mask, boxes and points; the list
 *   op_axis_resize.c   resize, random_resized_crop, center_resized_crop
 *   op_axis_crop.c     center_crop, random_crop, hflip, vflip */
#ifndef MLDF_PIPELINE_OP_AXIS_H
#define MLDF_PIPELINE_OP_AXIS_H

#include "pipeline/geometry.h"
#include "pipeline/op_fill.h"

enum { SIDE_MAX = 65535 };

struct axis_state {
    uint32_t width, height; /* target; height 0: `width` is the shorter side's */
    uint32_t max_size;
    int filter; /* enum resize_filter */
    bool antialias;
    double scale[2], log_ratio[2], ratio[2]; /* random_resized_crop; [0] of ratio: center_resized_crop */
    uint32_t pad[4];                         /* random_crop: left, top, right, bottom */
    bool pad_if_needed;
    double fill[FILL_CHANNELS];
    double p;
};

/* The operation's state, and what comes out. Images of any layout for what only moves pixels; `resamples`: integer pixels, interleaved. */
mldf_status mldfi_axis_infer(struct op *op, const struct edge *in, bool resamples, struct edge *out,
                             struct axis_state **state, mldf_error *err);
/* A draw that changes nothing. */
struct axis_draw *mldfi_axis_draw_begin(void *draw, const struct frame *frame);
/* An array that serves as an image may have no pixels; then there is nothing to make larger. */
mldf_status mldfi_axis_check(const struct frame *frame, mldf_error *err);
/* The image's size behind the step. */
mldf_status mldfi_axis_draw_end(const struct axis_draw *d, struct frame *next);
/* size n: a square; [h, w]. */
void mldfi_axis_size(const struct op *op, struct axis_state *s);

/* Of every one of them (op.h). */
bool mldfi_axis_geometry(const struct op *op, const void *draw, struct geometry *g);
mldf_status mldfi_axis_shape(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                             mldf_error *err);
mldf_status mldfi_axis_run(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                           struct op_work *work, mldf_error *err);

#define SIZE_PARAM(text) \
    { "size", PARAM_INTS, NULL, 1, SIDE_MAX, NULL, 1, 2, text }
#define END_PARAM \
    { NULL, PARAM_INT, NULL, 0, 0, NULL, 0, 0, NULL }

#define AXIS_OP(NAME, TEXT, HELP, FLAGS, PARAMS, INFER, DRAW) \
    const struct op_type NAME = {.name = TEXT, \
                                 .help = HELP, \
                                 .flags = OP_DRAWS | OP_AXIS | OP_GROUP | (FLAGS), \
                                 .params = PARAMS, \
                                 .draw_bytes = sizeof(struct axis_draw), \
                                 .infer = INFER, \
                                 .draw = DRAW, \
                                 .geometry = mldfi_axis_geometry, \
                                 .shape = mldfi_axis_shape, \
                                 .run = mldfi_axis_run}

extern const struct op_type mldfi_op_resize, mldfi_op_random_resized_crop, mldfi_op_center_resized_crop,
    mldfi_op_center_crop, mldfi_op_random_crop, mldfi_op_hflip, mldfi_op_vflip;

#endif
