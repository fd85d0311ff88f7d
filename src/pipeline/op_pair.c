/* mixup, cutmix, label_mixup: a sample and its partner (the position with the lowest bit turned over). Each side has a draw of its own and uses
 * it for itself (shared: both use that of the even position, so that a pair splits its two samples without rest); in a group the image and the label share it:
 *
 *     image, label: mixup(0.2)          label a vector of floats: one_hot before
 *     image, label: label_mixup(0.2)    label a whole number: becomes f32 [label, partner's label, lambda]
 *
 * Where `run` is set it comes first, for each side: it makes the triple, into which run_pair puts the partner's label and lambda. When a
 * sample is its own partner, nothing changes, and its draw is its own. One lambda for a whole batch, as FFCV's same_lambda has it, would make
 * samples depend on how the epoch is cut into batches; a pair is the largest group that does not. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "kernel/cast.h"
#include "kernel/mix.h"
#include "pipeline/op_help.h"
#include "pipeline/op_registry.h"
#include "util/buffer.h"
#include "util/error.h"

enum { PAIR_ALPHA, PAIR_LABELS, PAIR_SHARED, LABEL_MIXUP_SHARED = 1 };
enum { LABELS_VECTOR, LABELS_TRIPLE };
static const char *const label_words[] = {"vector", "triple", NULL};
#define ALPHA_PARAM \
    { "alpha", PARAM_FLOAT, "1", 0, 1e6, NULL, 0, 0, "lambda is drawn from Beta(alpha, alpha); above 0" }
#define SHARED_PARAM \
    { \
        "shared", PARAM_BOOL, "false", 0, 0, NULL, 0, 0, \
            "one draw for a sample and its partner: that of the even position of the epoch" \
    }
static const struct op_param pair_params[] = {
    ALPHA_PARAM,
    {"labels", PARAM_CHOICE, "vector", 0, 0, label_words, 0, 0,
     "vector: labels are vectors of floats and are mixed; triple: a whole number becomes f32 [label, partner's label, lambda]"},
    SHARED_PARAM,
    OP_END_OF_PARAMS,
};
static const struct op_param label_mixup_params[] = {ALPHA_PARAM, SHARED_PARAM, OP_END_OF_PARAMS};

typedef enum pair_part { PART_IMAGE, PART_VECTOR, PART_TRIPLE } pair_part;
struct pair_state {
    pair_part part;
    bool shared;
};

/* lambda: how much of a sample is its own. cutmix: what the box leaves of it. */
struct pair_draw {
    double lambda;
    uint32_t width, height; /* of the image that was drawn for */
    uint32_t x0, y0, x1, y1;
};

/* ---- Types ------------------------------------------------------------------------------------------------------------------------- */

static bool is_whole(mldf_dtype dtype) {
    return dtype >= MLDF_BOOL && dtype <= MLDF_U64;
}

static mldf_status choose_part(const struct op *op, const struct edge *in, bool triple, bool boxes, pair_part *part,
                               mldf_error *err) {
    bool mask = in->role == ROLE_MASK;
    if (in->kind == VALUE_IMAGE && (boxes || !mask)) {
        *part = PART_IMAGE;
        return boxes || mldfi_mixable(in->dtype) ? MLDF_OK
                                                 : mldfi_edge_refuse(op, in, "an image of u8, u16 or floats", err);
    }
    if (in->kind == VALUE_ARRAY && !mldfi_edge_carried(in)) {
        if (triple && in->ndim == 0 && is_whole(in->dtype)) {
            *part = PART_TRIPLE;
            return MLDF_OK;
        }
        *part = PART_VECTOR;
        if (!is_whole(in->dtype) && mldfi_mixable(in->dtype))
            return MLDF_OK;
        if (triple)
            return mldfi_edge_refuse(op, in, "an image, one whole number, or floats", err);
        return mldfi_edge_refuse(
            op, in, "an image, or a label as floats (one_hot before it, or label_mixup for whole numbers)", err);
    }
    return mldfi_edge_refuse(op, in, boxes ? "images, masks and labels" : "images and labels", err);
}

static mldf_status pair_infer(struct op *op, const struct edge *in, struct edge *out, bool triple, bool boxes,
                              bool shared, mldf_error *err) {
    struct pair_state *state;
    pair_part part = PART_IMAGE;
    mldf_status s;
    *out = *in;
    if (!(op->args[PAIR_ALPHA].f > 0))
        return mldfi_fail(err, MLDF_E_ARGUMENT, "alpha must be above 0");
    s = choose_part(op, in, triple, boxes, &part, err);
    if (s)
        return s;
    for (uint32_t i = 0; i < in->ndim; i++)
        if (in->dims[i] == DIM_VARIES)
            return mldfi_edge_refuse(op, in, "values of fixed shape (crop or resize before it)", err);
    state = mldfi_alloc(sizeof *state, err);
    if (!state)
        return MLDF_E_MEMORY;
    state->part = part;
    state->shared = shared;
    free(op->state);
    op->state = state;
    if (part == PART_TRIPLE) {
        out->dtype = MLDF_F32;
        out->ndim = 1;
    }
    return MLDF_OK;
}

static void triple_dims(const struct op *op, const void *draw, const int64_t *in, int64_t *out) {
    const struct pair_state *state = op->state;
    (void)draw;
    memcpy(out, in, op->in.ndim * sizeof *out);
    if (state->part == PART_TRIPLE)
        out[0] = 3;
}

/* A sample alone: all its own. */
static mldf_status triple_run(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                              struct op_work *work, mldf_error *err) {
    const struct pair_state *state = op->state;
    float *to = out->data;
    (void)draw;
    (void)work;
    (void)err;
    if (state->part != PART_TRIPLE)
        return mldfi_op_copy(in, out);
    to[0] = to[1] = (float)mldfi_element_f64(in->dtype, in->data, 0);
    to[2] = 1;
    return MLDF_OK;
}

/* ---- Both sides of labels ------------------------------------------------------------------------------------------------------------ */

static mldf_status check_sides(const struct tensor *a, const struct tensor *b, mldf_error *err) {
    if (a->dtype != b->dtype || a->ndim != b->ndim || memcmp(a->dims, b->dims, a->ndim * sizeof a->dims[0]) != 0)
        return mldfi_fail(err, MLDF_E_TYPE, "a sample and its partner have different shapes");
    return MLDF_OK;
}

static void pair_labels(const struct pair_state *state, double of_a, double of_b, struct tensor *a, struct tensor *b) {
    if (state->part == PART_TRIPLE) {
        float *x = a->data, *y = b->data;
        x[1] = y[0];
        y[1] = x[0];
        x[2] = (float)of_a;
        y[2] = (float)of_b;
    } else {
        mldfi_mix(a->dtype, a->data, b->data, (size_t)mldfi_tensor_count(a), of_a, of_b);
    }
}

/* ---- mixup ----------------------------------------------------------------------------------------------------------------------------- */

static mldf_status mixup_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    return pair_infer(op, in, out, op->args[PAIR_LABELS].i == LABELS_TRIPLE, false, op->args[PAIR_SHARED].i, err);
}

static mldf_status label_mixup_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    return pair_infer(op, in, out, true, false, op->args[LABEL_MIXUP_SHARED].i, err);
}

static mldf_status mixup_draw(const struct op *op, struct rng *rng, const struct frame *frame, void *draw,
                              struct frame *next, mldf_error *err) {
    struct pair_draw *d = draw;
    double alpha = op->args[PAIR_ALPHA].f;
    (void)next;
    (void)err;
    memset(d, 0, sizeof *d);
    d->width = frame->width;
    d->height = frame->height;
    d->lambda = mldfi_rng_beta(rng, alpha, alpha);
    return MLDF_OK;
}

static mldf_status mixup_pair(const struct op *op, const void *draw_a, const void *draw_b, struct tensor *a,
                              struct tensor *b, struct op_work *work, mldf_error *err) {
    const struct pair_state *state = op->state;
    const struct pair_draw *da = draw_a, *db = state->shared ? draw_a : draw_b;
    mldf_status s = check_sides(a, b, err);
    (void)work;
    if (s || a->data == b->data)
        return s;
    pair_labels(state, da->lambda, db->lambda, a, b);
    return MLDF_OK;
}

static const struct op_type mldfi_op_mixup = {
    .name = "mixup",
    .help = "lambda of a sample and 1 - lambda of its partner, images and labels alike",
    .flags = OP_DRAWS | OP_RANDOM | OP_PAIR | OP_GROUP | OP_IN_PLACE, /* a triple is longer than any number */
    .params = pair_params,
    .draw_bytes = sizeof(struct pair_draw),
    .infer = mixup_infer,
    .draw = mixup_draw,
    .dims = triple_dims,
    .run = triple_run,
    .run_pair = mixup_pair,
};

static const struct op_type mldfi_op_label_mixup = {
    .name = "label_mixup",
    .help = "mixup for labels that are whole numbers: they become f32 [label, partner's label, lambda]",
    .flags = OP_DRAWS | OP_RANDOM | OP_PAIR | OP_GROUP | OP_IN_PLACE, /* a triple is longer than any number */
    .params = label_mixup_params,
    .draw_bytes = sizeof(struct pair_draw),
    .infer = label_mixup_infer,
    .draw = mixup_draw,
    .dims = triple_dims,
    .run = triple_run,
    .run_pair = mixup_pair,
};

/* ---- cutmix ----------------------------------------------------------------------------------------------------------------------------- */

static mldf_status cutmix_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    return pair_infer(op, in, out, op->args[PAIR_LABELS].i == LABELS_TRIPLE, true, op->args[PAIR_SHARED].i, err);
}

/* One side of the box: half of its length around a random middle, cut at the ends. */
static void draw_side(struct rng *rng, uint32_t size, double half, uint32_t *from, uint32_t *to) {
    uint64_t middle = size ? mldfi_rng_below(rng, size) : 0, reach = (uint64_t)(half * size);
    *from = (uint32_t)(middle > reach ? middle - reach : 0);
    *to = (uint32_t)(middle + reach < size ? middle + reach : size);
}

static mldf_status cutmix_draw(const struct op *op, struct rng *rng, const struct frame *frame, void *draw,
                               struct frame *next, mldf_error *err) {
    struct pair_draw *d = draw;
    double area, half;
    mixup_draw(op, rng, frame, draw, next, err);
    half = 0.5 * sqrt(1 - d->lambda);
    draw_side(rng, frame->width, half, &d->x0, &d->x1);
    draw_side(rng, frame->height, half, &d->y0, &d->y1);
    area = (double)frame->width * (double)frame->height;
    d->lambda = area > 0 ? 1 - (double)(d->x1 - d->x0) * (double)(d->y1 - d->y0) / area : 1;
    return MLDF_OK;
}

/* A box of an image ↔ dense memory. */
static void move_box(const struct tensor *t, const struct pair_draw *d, uint8_t *dense, bool out) {
    size_t element = mldf_dtype_bytes(t->dtype), width = (size_t)mldfi_tensor_width(t);
    size_t height = (size_t)mldfi_tensor_height(t), channels = (size_t)mldfi_tensor_channels(t);
    size_t planes = mldfi_planar(t->axes) ? channels : 1, pixel = mldfi_planar(t->axes) ? element : element * channels;
    size_t bytes = (d->x1 - d->x0) * pixel;
    for (size_t c = 0; bytes && c < planes; c++) /* for nothing there is no memory */
        for (size_t y = d->y0; y < d->y1; y++, dense += bytes) {
            uint8_t *at = (uint8_t *)t->data + ((c * height + y) * width + d->x0) * pixel;
            memcpy(out ? dense : at, out ? at : dense, bytes);
        }
}

static size_t box_bytes(const struct tensor *t, const struct pair_draw *d) {
    return (size_t)(d->x1 - d->x0) * (d->y1 - d->y0) * (size_t)mldfi_tensor_channels(t) * mldf_dtype_bytes(t->dtype);
}

static mldf_status cut_images(const struct pair_draw *da, const struct pair_draw *db, struct tensor *a,
                              struct tensor *b, struct op_work *work, mldf_error *err) {
    mldf_status s;
    for (int side = 0; side < 2; side++) {
        const struct pair_draw *d = side ? db : da;
        if (d->width != mldfi_tensor_width(a) || d->height != mldfi_tensor_height(a))
            return mldfi_fail(err, MLDF_E_TYPE,
                              "the box is for an image of %" PRIu32 " x %" PRIu32 ", this one has %" PRIu64
                              " x %" PRIu64,
                              d->width, d->height, mldfi_tensor_width(a), mldfi_tensor_height(a));
    }
    s = mldf_buffer_reserve(&work->scratch[0], box_bytes(b, da), err);
    if (!s)
        s = mldf_buffer_reserve(&work->scratch[1], box_bytes(a, db), err);
    if (s)
        return s;
    move_box(b, da, work->scratch[0].data, true);
    move_box(a, db, work->scratch[1].data, true);
    move_box(a, da, work->scratch[0].data, false);
    move_box(b, db, work->scratch[1].data, false);
    return MLDF_OK;
}

static mldf_status cutmix_pair(const struct op *op, const void *draw_a, const void *draw_b, struct tensor *a,
                               struct tensor *b, struct op_work *work, mldf_error *err) {
    const struct pair_state *state = op->state;
    const struct pair_draw *da = draw_a, *db = state->shared ? draw_a : draw_b;
    mldf_status s = check_sides(a, b, err);
    if (s || a->data == b->data)
        return s;
    if (state->part == PART_IMAGE)
        return cut_images(da, db, a, b, work, err);
    pair_labels(state, da->lambda, db->lambda, a, b);
    return MLDF_OK;
}

static const struct op_type mldfi_op_cutmix = {
    .name = "cutmix",
    .help = "a box of the partner's image (and mask) in the sample's; labels are mixed by what the box leaves",
    .flags = OP_DRAWS | OP_RANDOM | OP_PAIR | OP_GROUP | OP_IN_PLACE, /* a triple is longer than any number */
    .params = pair_params,
    .draw_bytes = sizeof(struct pair_draw),
    .infer = cutmix_infer,
    .draw = cutmix_draw,
    .dims = triple_dims,
    .run = triple_run,
    .run_pair = cutmix_pair,
};

const struct op_type *const mldfi_ops_pair[] = {&mldfi_op_cutmix, &mldfi_op_label_mixup, &mldfi_op_mixup, NULL};
