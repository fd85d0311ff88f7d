/* Changes of colour and place that are chosen by chance: what randaugment, trivialaugment (op_augment.c) and autoaugment (op_autoaugment.c)
 * share. The draw says what is done and by how much; mldfi_augment_run does it, one after the other. */
#ifndef MLDF_PIPELINE_OP_AUGMENT_H
#define MLDF_PIPELINE_OP_AUGMENT_H

#include "pipeline/op.h"

/* In the published order. */
typedef enum augment_kind {
    AUGMENT_IDENTITY,
    AUGMENT_SHEAR_X,
    AUGMENT_SHEAR_Y,
    AUGMENT_TRANSLATE_X,
    AUGMENT_TRANSLATE_Y,
    AUGMENT_ROTATE,
    AUGMENT_BRIGHTNESS,
    AUGMENT_COLOR,
    AUGMENT_CONTRAST,
    AUGMENT_SHARPNESS,
    AUGMENT_POSTERIZE,
    AUGMENT_SOLARIZE,
    AUGMENT_AUTOCONTRAST,
    AUGMENT_EQUALIZE,
    AUGMENT_KINDS, /* randaugment and trivialaugment choose among those above */
    AUGMENT_INVERT = AUGMENT_KINDS
} augment_kind;

/* What the greatest magnitude is. */
struct augment_space {
    double shear;     /* pixels in the side for one along it */
    double translate; /* pixels, or of the side when `relative` */
    bool relative;
    double degrees;
    double blend;     /* of factors, around 1 */
    double lost_bits; /* posterize */
};
/* That of RandAugment, which is AutoAugment's. */
extern const struct augment_space mldfi_augment_space;

enum { AUGMENT_MOST = 10 };
struct augment_item {
    double value;
    uint32_t kind;
};
struct augment_draw {
    uint32_t count;
    struct augment_item items[AUGMENT_MOST];
};
_Static_assert(sizeof(struct augment_draw) <= OP_DRAW_BYTES, "a draw has its bounds");

/* part: 0..1 of the greatest magnitude. */
double mldfi_augment_magnitude(const struct augment_space *space, uint32_t kind, double part,
                               const struct frame *frame);
/* Goes a change both ways? */
static inline bool mldfi_augment_signed(uint32_t kind) {
    return kind >= AUGMENT_SHEAR_X && kind <= AUGMENT_SHARPNESS;
}

/* infer and run of all three; `interpolation` and `fill` are the numbers of those parameters. */
mldf_status mldfi_augment_infer(struct op *op, const struct edge *in, struct edge *out, uint32_t interpolation,
                                uint32_t fill, mldf_error *err);
mldf_status mldfi_augment_run(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                              struct op_work *work, mldf_error *err);

extern const char *const mldfi_augment_interpolations[];
#define AUGMENT_INTERPOLATION_PARAM \
    { \
        "interpolation", PARAM_CHOICE, "nearest", 0, 0, mldfi_augment_interpolations, 0, 0, \
            "for the moves: nearest or bilinear" \
    }
#define AUGMENT_FILL_PARAM \
    { \
        "fill", PARAM_FLOATS, "0", 0, 65535, NULL, 1, 4, \
            "what lies outside the image: a number, or one for each channel" \
    }

#endif
