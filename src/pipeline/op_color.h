/* Changes of an image's colours by one number, for the operations that do one of them and for those that choose among them. */
#ifndef MLDF_PIPELINE_OP_COLOR_H
#define MLDF_PIPELINE_OP_COLOR_H

#include "kernel/color.h"
#include "pipeline/op.h"

typedef enum color_change {
    CHANGE_NONE,
    CHANGE_BRIGHTNESS,   /* factor */
    CHANGE_CONTRAST,     /* factor */
    CHANGE_SATURATION,   /* factor */
    CHANGE_HUE,          /* part of the circle */
    CHANGE_SHARPNESS,    /* factor */
    CHANGE_SOLARIZE,     /* threshold in the type's own values */
    CHANGE_POSTERIZE,    /* bits */
    CHANGE_GAMMA,        /* exponent */
    CHANGE_INVERT,       /* no number */
    CHANGE_GRAY,         /* no number */
    CHANGE_AUTOCONTRAST, /* no number */
    CHANGE_EQUALIZE      /* no number */
} color_change;

struct pixels mldfi_pixels(const struct tensor *image);
enum { COLOR_STEPS_MOST = 8 };
struct color_step {
    color_change change; /* BRIGHTNESS, CONTRAST, SATURATION, HUE, GRAY */
    double value;
};
/* One after the other, in as few passes over the image as there are: one, and one for each contrast. */
void mldfi_color_changes(const struct color_step *steps, size_t count, const struct tensor *image,
                         struct op_work *work);
/* In place. The image is one that mldfi_color_infer lets pass. Uses work->scratch[0]. */
mldf_status mldfi_color_change(color_change change, double value, const struct tensor *image, struct op_work *work,
                               mldf_error *err);

/* The type stays. Images of u8, u16 and f32 with up to four channels; masks, boxes and points of a group. */
mldf_status mldfi_color_infer(const struct op *op, const struct edge *in, struct edge *out, mldf_error *err);

/* What an operation that makes one change keeps, and draws. */
struct color_state {
    color_change change;
    double value, chance;
};
struct color_draw {
    bool on;
};
/* infer of such an operation. */
mldf_status mldfi_color_state(struct op *op, const struct edge *in, struct edge *out, color_change change, double value,
                              double chance, mldf_error *err);
mldf_status mldfi_color_draw(const struct op *op, struct rng *rng, const struct frame *frame, void *draw,
                             struct frame *next, mldf_error *err);
mldf_status mldfi_color_run(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                            struct op_work *work, mldf_error *err);

#define OP_CHANCE_PARAM(DEFAULT) \
    { "p", PARAM_FLOAT, DEFAULT, 0, 1, NULL, 0, 0, "probability" }

#endif
