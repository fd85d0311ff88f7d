/* autoaugment: one of 25 pairs of changes, each with a probability and a magnitude of its own, which were found by search for a dataset
 * (AutoAugment, Cubuk and others, 2018). Pairs and magnitudes are the published ones in torchvision's reading; op_augment.c has the changes. */
#include "pipeline/op_augment.h"
#include "pipeline/op_help.h"
#include "pipeline/op_point.h"

enum { POLICIES = 3, PAIRS = 25, MAGNITUDES = 10 };

/* Whether a change is made, in tenths; its magnitude, 0 to 9 (0 where it has none). */
struct policy_item {
    uint8_t kind, tenths, magnitude;
};

/* clang-format off */
static const struct policy_item policies[POLICIES][PAIRS][2] = {
    /* imagenet */
    {
        {{AUGMENT_POSTERIZE, 4, 8}, {AUGMENT_ROTATE, 6, 9}},
        {{AUGMENT_SOLARIZE, 6, 5}, {AUGMENT_AUTOCONTRAST, 6, 0}},
        {{AUGMENT_EQUALIZE, 8, 0}, {AUGMENT_EQUALIZE, 6, 0}},
        {{AUGMENT_POSTERIZE, 6, 7}, {AUGMENT_POSTERIZE, 6, 6}},
        {{AUGMENT_EQUALIZE, 4, 0}, {AUGMENT_SOLARIZE, 2, 4}},
        {{AUGMENT_EQUALIZE, 4, 0}, {AUGMENT_ROTATE, 8, 8}},
        {{AUGMENT_SOLARIZE, 6, 3}, {AUGMENT_EQUALIZE, 6, 0}},
        {{AUGMENT_POSTERIZE, 8, 5}, {AUGMENT_EQUALIZE, 10, 0}},
        {{AUGMENT_ROTATE, 2, 3}, {AUGMENT_SOLARIZE, 6, 8}},
        {{AUGMENT_EQUALIZE, 6, 0}, {AUGMENT_POSTERIZE, 4, 6}},
        {{AUGMENT_ROTATE, 8, 8}, {AUGMENT_COLOR, 4, 0}},
        {{AUGMENT_ROTATE, 4, 9}, {AUGMENT_EQUALIZE, 6, 0}},
        {{AUGMENT_EQUALIZE, 0, 0}, {AUGMENT_EQUALIZE, 8, 0}},
        {{AUGMENT_INVERT, 6, 0}, {AUGMENT_EQUALIZE, 10, 0}},
        {{AUGMENT_COLOR, 6, 4}, {AUGMENT_CONTRAST, 10, 8}},
        {{AUGMENT_ROTATE, 8, 8}, {AUGMENT_COLOR, 10, 2}},
        {{AUGMENT_COLOR, 8, 8}, {AUGMENT_SOLARIZE, 8, 7}},
        {{AUGMENT_SHARPNESS, 4, 7}, {AUGMENT_INVERT, 6, 0}},
        {{AUGMENT_SHEAR_X, 6, 5}, {AUGMENT_EQUALIZE, 10, 0}},
        {{AUGMENT_COLOR, 4, 0}, {AUGMENT_EQUALIZE, 6, 0}},
        {{AUGMENT_EQUALIZE, 4, 0}, {AUGMENT_SOLARIZE, 2, 4}},
        {{AUGMENT_SOLARIZE, 6, 5}, {AUGMENT_AUTOCONTRAST, 6, 0}},
        {{AUGMENT_INVERT, 6, 0}, {AUGMENT_EQUALIZE, 10, 0}},
        {{AUGMENT_COLOR, 6, 4}, {AUGMENT_CONTRAST, 10, 8}},
        {{AUGMENT_EQUALIZE, 8, 0}, {AUGMENT_EQUALIZE, 6, 0}},
    },
    /* cifar10 */
    {
        {{AUGMENT_INVERT, 1, 0}, {AUGMENT_CONTRAST, 2, 6}},
        {{AUGMENT_ROTATE, 7, 2}, {AUGMENT_TRANSLATE_X, 3, 9}},
        {{AUGMENT_SHARPNESS, 8, 1}, {AUGMENT_SHARPNESS, 9, 3}},
        {{AUGMENT_SHEAR_Y, 5, 8}, {AUGMENT_TRANSLATE_Y, 7, 9}},
        {{AUGMENT_AUTOCONTRAST, 5, 0}, {AUGMENT_EQUALIZE, 9, 0}},
        {{AUGMENT_SHEAR_Y, 2, 7}, {AUGMENT_POSTERIZE, 3, 7}},
        {{AUGMENT_COLOR, 4, 3}, {AUGMENT_BRIGHTNESS, 6, 7}},
        {{AUGMENT_SHARPNESS, 3, 9}, {AUGMENT_BRIGHTNESS, 7, 9}},
        {{AUGMENT_EQUALIZE, 6, 0}, {AUGMENT_EQUALIZE, 5, 0}},
        {{AUGMENT_CONTRAST, 6, 7}, {AUGMENT_SHARPNESS, 6, 5}},
        {{AUGMENT_COLOR, 7, 7}, {AUGMENT_TRANSLATE_X, 5, 8}},
        {{AUGMENT_EQUALIZE, 3, 0}, {AUGMENT_AUTOCONTRAST, 4, 0}},
        {{AUGMENT_TRANSLATE_Y, 4, 3}, {AUGMENT_SHARPNESS, 2, 6}},
        {{AUGMENT_BRIGHTNESS, 9, 6}, {AUGMENT_COLOR, 2, 8}},
        {{AUGMENT_SOLARIZE, 5, 2}, {AUGMENT_INVERT, 0, 0}},
        {{AUGMENT_EQUALIZE, 2, 0}, {AUGMENT_AUTOCONTRAST, 6, 0}},
        {{AUGMENT_EQUALIZE, 2, 0}, {AUGMENT_EQUALIZE, 6, 0}},
        {{AUGMENT_COLOR, 9, 9}, {AUGMENT_EQUALIZE, 6, 0}},
        {{AUGMENT_AUTOCONTRAST, 8, 0}, {AUGMENT_SOLARIZE, 2, 8}},
        {{AUGMENT_BRIGHTNESS, 1, 3}, {AUGMENT_COLOR, 7, 0}},
        {{AUGMENT_SOLARIZE, 4, 5}, {AUGMENT_AUTOCONTRAST, 9, 0}},
        {{AUGMENT_TRANSLATE_Y, 9, 9}, {AUGMENT_TRANSLATE_Y, 7, 9}},
        {{AUGMENT_AUTOCONTRAST, 9, 0}, {AUGMENT_SOLARIZE, 8, 3}},
        {{AUGMENT_EQUALIZE, 8, 0}, {AUGMENT_INVERT, 1, 0}},
        {{AUGMENT_TRANSLATE_Y, 7, 9}, {AUGMENT_AUTOCONTRAST, 9, 0}},
    },
    /* svhn */
    {
        {{AUGMENT_SHEAR_X, 9, 4}, {AUGMENT_INVERT, 2, 0}},
        {{AUGMENT_SHEAR_Y, 9, 8}, {AUGMENT_INVERT, 7, 0}},
        {{AUGMENT_EQUALIZE, 6, 0}, {AUGMENT_SOLARIZE, 6, 6}},
        {{AUGMENT_INVERT, 9, 0}, {AUGMENT_EQUALIZE, 6, 0}},
        {{AUGMENT_EQUALIZE, 6, 0}, {AUGMENT_ROTATE, 9, 3}},
        {{AUGMENT_SHEAR_X, 9, 4}, {AUGMENT_AUTOCONTRAST, 8, 0}},
        {{AUGMENT_SHEAR_Y, 9, 8}, {AUGMENT_INVERT, 4, 0}},
        {{AUGMENT_SHEAR_Y, 9, 5}, {AUGMENT_SOLARIZE, 2, 6}},
        {{AUGMENT_INVERT, 9, 0}, {AUGMENT_AUTOCONTRAST, 8, 0}},
        {{AUGMENT_EQUALIZE, 6, 0}, {AUGMENT_ROTATE, 9, 3}},
        {{AUGMENT_SHEAR_X, 9, 4}, {AUGMENT_SOLARIZE, 3, 3}},
        {{AUGMENT_SHEAR_Y, 8, 8}, {AUGMENT_INVERT, 7, 0}},
        {{AUGMENT_EQUALIZE, 9, 0}, {AUGMENT_TRANSLATE_Y, 6, 6}},
        {{AUGMENT_INVERT, 9, 0}, {AUGMENT_EQUALIZE, 6, 0}},
        {{AUGMENT_CONTRAST, 3, 3}, {AUGMENT_ROTATE, 8, 4}},
        {{AUGMENT_INVERT, 8, 0}, {AUGMENT_TRANSLATE_Y, 0, 2}},
        {{AUGMENT_SHEAR_Y, 7, 6}, {AUGMENT_SOLARIZE, 4, 8}},
        {{AUGMENT_INVERT, 6, 0}, {AUGMENT_ROTATE, 8, 4}},
        {{AUGMENT_SHEAR_Y, 3, 7}, {AUGMENT_TRANSLATE_X, 9, 3}},
        {{AUGMENT_SHEAR_X, 1, 6}, {AUGMENT_INVERT, 6, 0}},
        {{AUGMENT_SOLARIZE, 7, 2}, {AUGMENT_TRANSLATE_Y, 6, 7}},
        {{AUGMENT_SHEAR_Y, 8, 4}, {AUGMENT_INVERT, 8, 0}},
        {{AUGMENT_SHEAR_X, 7, 9}, {AUGMENT_TRANSLATE_Y, 8, 3}},
        {{AUGMENT_SHEAR_Y, 8, 5}, {AUGMENT_AUTOCONTRAST, 7, 0}},
        {{AUGMENT_SHEAR_X, 7, 2}, {AUGMENT_INVERT, 1, 0}},
    },
};
/* clang-format on */

enum { AUTO_POLICY, AUTO_INTERPOLATION, AUTO_FILL };
static const char *const policy_words[] = {"imagenet", "cifar10", "svhn", NULL};
static const struct op_param autoaugment_params[] = {
    {"policy", PARAM_CHOICE, "imagenet", 0, 0, policy_words, 0, 0,
     "the dataset that it was found for: imagenet, cifar10 or svhn"},
    AUGMENT_INTERPOLATION_PARAM,
    AUGMENT_FILL_PARAM,
    OP_END_OF_PARAMS,
};

static mldf_status autoaugment_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    return mldfi_augment_infer(op, in, out, AUTO_INTERPOLATION, AUTO_FILL, err);
}

/* Every number is drawn whether it is used or not, so that a sample's later numbers do not depend on its pair. */
static mldf_status autoaugment_draw(const struct op *op, struct rng *rng, const struct frame *frame, void *draw,
                                    struct frame *next, mldf_error *err) {
    const struct policy_item(*pairs)[2] = policies[op->args[AUTO_POLICY].i];
    const struct policy_item *pair = pairs[mldfi_rng_below(rng, PAIRS)];
    struct augment_draw *d = draw;
    (void)next;
    (void)err;
    d->count = 0;
    for (int i = 0; i < 2; i++) {
        bool done = mldfi_rng_chance(rng, pair[i].tenths / 10.0), negative = mldfi_rng_chance(rng, 0.5);
        double part = pair[i].magnitude / (double)(MAGNITUDES - 1);
        struct augment_item *item = &d->items[d->count];
        if (!done)
            continue;
        item->kind = pair[i].kind;
        item->value = mldfi_augment_magnitude(&mldfi_augment_space, item->kind, part, frame);
        if (negative && mldfi_augment_signed(item->kind))
            item->value = -item->value;
        d->count++;
    }
    return MLDF_OK;
}

const struct op_type mldfi_op_autoaugment = {
    .name = "autoaugment",
    .help = "AutoAugment: one of 25 pairs of changes of colour and place, as found for ImageNet, CIFAR-10 or SVHN",
    .flags = OP_DRAWS | OP_RANDOM | OP_IN_PLACE,
    .params = autoaugment_params,
    .draw_bytes = sizeof(struct augment_draw),
    .infer = autoaugment_infer,
    .draw = autoaugment_draw,
    .run = mldfi_augment_run,
};
