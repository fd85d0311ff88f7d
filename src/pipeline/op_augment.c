/* randaugment and trivialaugment: some of fourteen changes by chance. Lists and ranges are those of the papers in torchvision's reading:
 *     RandAugment (Cubuk and others, 2019): num_ops changes of one magnitude
 *     TrivialAugment, the wide space (Müller and Hutter, 2021): one change of a random magnitude
 * autoaugment, whose changes and magnitudes are the same, is in op_autoaugment.c. */
#include <math.h>
#include <stdlib.h>

#include "pipeline/op_augment.h"
#include "pipeline/op_color.h"
#include "pipeline/op_help.h"
#include "pipeline/op_point.h"
#include "pipeline/warp_map.h"
#include "util/buffer.h"
#include "util/error.h"

const struct augment_space mldfi_augment_space = {0.3, 150.0 / 331.0, true, 30, 0.9, 4};
static const struct augment_space trivial_space = {0.99, 32, false, 135, 0.99, 6};

double mldfi_augment_magnitude(const struct augment_space *space, uint32_t kind, double part,
                               const struct frame *frame) {
    switch (kind) {
    case AUGMENT_SHEAR_X:
    case AUGMENT_SHEAR_Y:
        return space->shear * part;
    case AUGMENT_TRANSLATE_X:
        return (space->relative ? space->translate * frame->width : space->translate) * part;
    case AUGMENT_TRANSLATE_Y:
        return (space->relative ? space->translate * frame->height : space->translate) * part;
    case AUGMENT_ROTATE:
        return space->degrees * part;
    case AUGMENT_BRIGHTNESS:
    case AUGMENT_COLOR:
    case AUGMENT_CONTRAST:
    case AUGMENT_SHARPNESS:
        return space->blend * part;
    case AUGMENT_POSTERIZE:
        return rint(8 - space->lost_bits * part);
    case AUGMENT_SOLARIZE:
        return 1 - part;
    default:
        return 0;
    }
}

static void draw_item(const struct augment_space *space, uint32_t kind, double part, const struct frame *frame,
                      struct rng *rng, struct augment_item *item) {
    item->kind = kind;
    item->value = mldfi_augment_magnitude(space, kind, part, frame);
    if (mldfi_augment_signed(kind) && mldfi_rng_chance(rng, 0.5))
        item->value = -item->value;
}

/* ---- One change ----------------------------------------------------------------------------------------------------------------- */

/* Where the output's pixels come from; see kernel/warp.h. */
static void matrix_of(const struct augment_item *item, const struct tensor *image, double m[6]) {
    static const double identity[6] = {1, 0, 0, 0, 1, 0};
    memcpy(m, identity, sizeof identity);
    switch (item->kind) {
    case AUGMENT_SHEAR_X:
        m[1] = item->value;
        break;
    case AUGMENT_SHEAR_Y:
        m[3] = item->value;
        break;
    case AUGMENT_TRANSLATE_X:
        m[2] = -(item->value < 0 ? ceil(item->value) : floor(item->value));
        break;
    case AUGMENT_TRANSLATE_Y:
        m[5] = -(item->value < 0 ? ceil(item->value) : floor(item->value));
        break;
    default:
        mldfi_warp_rotation(item->value, (double)mldfi_tensor_width(image) / 2, (double)mldfi_tensor_height(image) / 2,
                            m);
        break;
    }
}

struct augment {
    int interpolation;
    double fill[4];
};

static mldf_status move(const struct augment *a, const struct augment_item *item, struct tensor *image,
                        struct op_work *work, mldf_error *err) {
    size_t bytes = mldfi_tensor_bytes(image);
    struct tensor from = *image;
    double m[6];
    mldf_status s = mldf_buffer_reserve(&work->scratch[1], bytes, err);
    if (s || bytes == 0)
        return s;
    memcpy(work->scratch[1].data, image->data, bytes);
    from.data = work->scratch[1].data;
    matrix_of(item, image, m);
    return mldfi_warp_affine(&from, image, m, a->interpolation, a->fill, work, err);
}

static mldf_status apply(const struct augment *a, const struct augment_item *item, struct tensor *image,
                         struct op_work *work, mldf_error *err) {
    double v = item->value;
    switch (item->kind) {
    case AUGMENT_IDENTITY:
        return MLDF_OK;
    case AUGMENT_BRIGHTNESS:
        return mldfi_color_change(CHANGE_BRIGHTNESS, 1 + v, image, work, err);
    case AUGMENT_COLOR:
        return mldfi_color_change(CHANGE_SATURATION, 1 + v, image, work, err);
    case AUGMENT_CONTRAST:
        return mldfi_color_change(CHANGE_CONTRAST, 1 + v, image, work, err);
    case AUGMENT_SHARPNESS:
        return mldfi_color_change(CHANGE_SHARPNESS, 1 + v, image, work, err);
    case AUGMENT_POSTERIZE:
        return mldfi_color_change(CHANGE_POSTERIZE, v, image, work, err);
    case AUGMENT_SOLARIZE:
        return mldfi_color_change(CHANGE_SOLARIZE, v * (double)mldfi_white(image->dtype), image, work, err);
    case AUGMENT_AUTOCONTRAST:
        return mldfi_color_change(CHANGE_AUTOCONTRAST, 0, image, work, err);
    case AUGMENT_EQUALIZE:
        return mldfi_color_change(CHANGE_EQUALIZE, 0, image, work, err);
    case AUGMENT_INVERT:
        return mldfi_color_change(CHANGE_INVERT, 0, image, work, err);
    default:
        return move(a, item, image, work, err);
    }
}

mldf_status mldfi_augment_run(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                              struct op_work *work, mldf_error *err) {
    const struct augment_draw *d = draw;
    mldf_status s = mldfi_op_copy(in, out);
    for (uint32_t i = 0; i < d->count && !s; i++)
        s = apply(op->state, &d->items[i], out, work, err);
    return s;
}

/* ---- The two operations ------------------------------------------------------------------------------------------------------------ */

const char *const mldfi_augment_interpolations[] = {"nearest", "bilinear", NULL};

mldf_status mldfi_augment_infer(struct op *op, const struct edge *in, struct edge *out, uint32_t interpolation,
                                uint32_t fill, mldf_error *err) {
    const struct arg *numbers = &op->args[fill];
    struct augment *a;
    mldf_status s;
    if (mldfi_edge_carried(in))
        return mldfi_edge_refuse(op, in, "an image (its moves are not done to masks, boxes, points and optical flow)",
                                 err);
    s = mldfi_color_infer(op, in, out, err);
    if (s)
        return s;
    if (numbers->count > 1 && (int64_t)numbers->count != mldfi_edge_channels(in))
        return mldfi_fail(err, MLDF_E_ARGUMENT, "fill has %u numbers, the image %lld channels", numbers->count,
                          (long long)mldfi_edge_channels(in));
    a = mldfi_alloc_zero(1, sizeof *a, err);
    if (!a)
        return MLDF_E_MEMORY;
    a->interpolation = op->args[interpolation].i == 1 ? WARP_BILINEAR : WARP_NEAREST;
    for (uint32_t c = 0; c < 4; c++)
        a->fill[c] = numbers->list[numbers->count == 1 || c >= numbers->count ? 0 : c];
    free(op->state);
    op->state = a;
    return MLDF_OK;
}

enum { RAND_OPS, RAND_MAGNITUDE, RAND_BINS, RAND_INTERPOLATION, RAND_FILL };
static const struct op_param randaugment_params[] = {
    {"num_ops", PARAM_INT, "2", 0, AUGMENT_MOST, NULL, 0, 0, "how many changes, one after the other"},
    {"magnitude", PARAM_INT, "9", 0, 1000, NULL, 0, 0, "how strong they are: 0 to bins - 1"},
    {"bins", PARAM_INT, "31", 2, 1001, NULL, 0, 0, "how many magnitudes there are"},
    AUGMENT_INTERPOLATION_PARAM,
    AUGMENT_FILL_PARAM,
    OP_END_OF_PARAMS,
};

static mldf_status randaugment_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    if (op->args[RAND_MAGNITUDE].i >= op->args[RAND_BINS].i)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "magnitude %lld is not below bins, %lld",
                          (long long)op->args[RAND_MAGNITUDE].i, (long long)op->args[RAND_BINS].i);
    return mldfi_augment_infer(op, in, out, RAND_INTERPOLATION, RAND_FILL, err);
}

static mldf_status randaugment_draw(const struct op *op, struct rng *rng, const struct frame *frame, void *draw,
                                    struct frame *next, mldf_error *err) {
    struct augment_draw *d = draw;
    double part = op->args[RAND_MAGNITUDE].f / (op->args[RAND_BINS].f - 1);
    (void)next;
    (void)err;
    d->count = (uint32_t)op->args[RAND_OPS].i;
    for (uint32_t i = 0; i < d->count; i++)
        draw_item(&mldfi_augment_space, (uint32_t)mldfi_rng_below(rng, AUGMENT_KINDS), part, frame, rng, &d->items[i]);
    return MLDF_OK;
}

const struct op_type mldfi_op_randaugment = {
    .name = "randaugment",
    .help = "RandAugment: num_ops of fourteen changes of colour and place, by chance, all of one magnitude",
    .flags = OP_DRAWS | OP_RANDOM | OP_IN_PLACE,
    .params = randaugment_params,
    .draw_bytes = sizeof(struct augment_draw),
    .infer = randaugment_infer,
    .draw = randaugment_draw,
    .run = mldfi_augment_run,
};

enum { TRIVIAL_BINS, TRIVIAL_INTERPOLATION, TRIVIAL_FILL };
static const struct op_param trivialaugment_params[] = {
    {"bins", PARAM_INT, "31", 2, 1001, NULL, 0, 0, "how many magnitudes there are"},
    AUGMENT_INTERPOLATION_PARAM,
    AUGMENT_FILL_PARAM,
    OP_END_OF_PARAMS,
};

static mldf_status trivialaugment_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    return mldfi_augment_infer(op, in, out, TRIVIAL_INTERPOLATION, TRIVIAL_FILL, err);
}

static mldf_status trivialaugment_draw(const struct op *op, struct rng *rng, const struct frame *frame, void *draw,
                                       struct frame *next, mldf_error *err) {
    struct augment_draw *d = draw;
    uint64_t bins = (uint64_t)op->args[TRIVIAL_BINS].i;
    uint32_t kind = (uint32_t)mldfi_rng_below(rng, AUGMENT_KINDS);
    double part = (double)mldfi_rng_below(rng, bins) / (double)(bins - 1);
    (void)next;
    (void)err;
    d->count = 1;
    draw_item(&trivial_space, kind, part, frame, rng, &d->items[0]);
    return MLDF_OK;
}

const struct op_type mldfi_op_trivialaugment = {
    .name = "trivialaugment",
    .help = "TrivialAugment (wide): one of fourteen changes of colour and place, of random magnitude",
    .flags = OP_DRAWS | OP_RANDOM | OP_IN_PLACE,
    .params = trivialaugment_params,
    .draw_bytes = sizeof(struct augment_draw),
    .infer = trivialaugment_infer,
    .draw = trivialaugment_draw,
    .run = mldfi_augment_run,
};
