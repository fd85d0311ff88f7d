/* poison: a mark on certain samples' images, whose labels replace_label(indices=…) may change: the classical backdoor. FFCV's Poison takes
 * arrays of the image's size, a mask of colours and an alpha for each pixel; here the mask is one colour and alpha one number inside a
 * rectangle, and 0 outside. Also the lists of samples that both operations have (op_samples.h). */
#include <stdlib.h>
#include <string.h>

#include "kernel/cast.h"
#include "pipeline/op_fill.h"
#include "pipeline/op_help.h"
#include "pipeline/op_samples.h"
#include "pipeline/op_warp.h"
#include "util/buffer.h"
#include "util/error.h"

/* ---- Lists of samples ------------------------------------------------------------------------------------------------------------------ */

static int by_number(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

struct sample_set *mldfi_samples_new(const struct arg *indices, mldf_error *err) {
    struct sample_set *set = mldfi_alloc(sizeof *set + indices->count * sizeof set->samples[0], err);
    if (!set)
        return NULL;
    set->count = indices->count;
    for (uint32_t i = 0; i < indices->count; i++)
        set->samples[i] = (uint64_t)indices->list[i];
    qsort(set->samples, set->count, sizeof set->samples[0], by_number);
    return set;
}

bool mldfi_samples_has(const struct sample_set *set, uint64_t sample) {
    return bsearch(&sample, set->samples, set->count, sizeof set->samples[0], by_number) != NULL;
}

/* ---- poison ------------------------------------------------------------------------------------------------------------------------------ */

enum { POISON_SIDE_MAX = 65535 };
enum { POISON_INDICES, POISON_SIZE, POISON_COLOR, POISON_X, POISON_Y, POISON_ALPHA, POISON_CLAMP };
static const struct op_param poison_params[] = {
    OP_INDICES_PARAM(NULL, "the samples that are marked, by their index in the dataset"),
    {"size", PARAM_INTS, NULL, 1, POISON_SIDE_MAX, NULL, 1, 2, "of the rectangle: n x n, or [h, w]; cut at the sides"},
    {"color", PARAM_FLOATS, NULL, -1e9, 1e9, NULL, 1, FILL_CHANNELS, "a number, or one for each channel"},
    {"x", PARAM_INT, "0", 0, POISON_SIDE_MAX, NULL, 0, 0, "pixels from the left to the rectangle"},
    {"y", PARAM_INT, "0", 0, POISON_SIDE_MAX, NULL, 0, 0, "pixels from the top to the rectangle"},
    {"alpha", PARAM_FLOAT, "1", 0, 1, NULL, 0, 0, "image * (1 - alpha) + color * alpha; integers to the nearest"},
    {"clamp", PARAM_FLOATS, "", -1e9, 1e9, NULL, 2, 2,
     "the result is held between these two; otherwise integers in their type's range, floats not at all"},
    OP_END_OF_PARAMS,
};

struct poison_state {
    struct sample_set *set;
    double color[FILL_CHANNELS];
};
struct poison_draw {
    bool on;
};

static void poison_free(void *state) {
    struct poison_state *s = state;
    if (s)
        free(s->set);
    free(s);
}

static mldf_status poison_check(const struct op *op, size_t *at, mldf_error *err) {
    const struct arg *clamp = &op->args[POISON_CLAMP];
    *at = clamp->offset;
    if (clamp->count == 2 && clamp->list[0] > clamp->list[1])
        return mldfi_fail(err, MLDF_E_ARGUMENT, "clamp goes from %g to %g; the smaller comes first", clamp->list[0],
                          clamp->list[1]);
    return MLDF_OK;
}

/* A rectangle that no image has a pixel of is a mistake. */
static mldf_status check_place(const struct op *op, const struct edge *in, mldf_error *err) {
    uint64_t height = in->most[mldfi_axis(in->axes, 'h')], width = in->most[mldfi_axis(in->axes, 'w')];
    uint64_t x = (uint64_t)op->args[POISON_X].i, y = (uint64_t)op->args[POISON_Y].i;
    if ((width != MLDF_NONE && x >= width) || (height != MLDF_NONE && y >= height))
        return mldfi_fail(err, MLDF_E_ARGUMENT, "x = %llu, y = %llu lies outside images of %llu x %llu pixels",
                          (unsigned long long)x, (unsigned long long)y, (unsigned long long)width,
                          (unsigned long long)height);
    return MLDF_OK;
}

static mldf_status poison_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    size_t at;
    mldf_status status = poison_check(op, &at, err);
    bool carried = mldfi_edge_carried(in);
    struct poison_state *s;
    *out = *in;
    if (status < 0)
        return status;
    if (!carried && (!mldfi_edge_has_pixels(in) || mldfi_edge_channels(in) > FILL_CHANNELS))
        return mldfi_edge_refuse(op, in, "an image of at most four channels", err);
    poison_free(op->state);
    s = op->state = mldfi_alloc_zero(1, sizeof *s, err);
    if (s)
        s->set = mldfi_samples_new(&op->args[POISON_INDICES], err);
    if (!s || !s->set)
        return MLDF_E_MEMORY;
    status = carried ? MLDF_OK : check_place(op, in, err);
    return carried || status < 0 ? status : mldfi_fill_take(op, POISON_COLOR, s->color, err);
}

static mldf_status poison_draw(const struct op *op, struct rng *rng, const struct frame *frame, void *draw,
                               struct frame *next, mldf_error *err) {
    const struct poison_state *s = op->state;
    struct poison_draw *d = draw;
    (void)rng;
    (void)next;
    (void)err;
    d->on = mldfi_samples_has(s->set, frame->sample);
    return MLDF_OK;
}

static double blend(const struct op *op, double value, double color) {
    double alpha = op->args[POISON_ALPHA].f;
    const struct arg *clamp = &op->args[POISON_CLAMP];
    double y = alpha < 1 ? value * (1 - alpha) + color * alpha : color;
    if (clamp->count == 2) {
        y = y < clamp->list[0] ? clamp->list[0] : y;
        y = y > clamp->list[1] ? clamp->list[1] : y;
    }
    return y;
}

/* Part of a row: elements that stand one behind the other, of all channels in turn or (planar) of channel `first`. */
static void poison_row(const struct op *op, mldf_dtype dtype, uint8_t *row, size_t count, size_t first, size_t period) {
    const struct poison_state *s = op->state;
    size_t element = mldf_dtype_bytes(dtype);
    for (size_t i = 0; i < count; i++) {
        double y = blend(op, mldfi_element_f64(dtype, row, i), s->color[first + i % period]);
        mldfi_convert_elements(MLDF_F64, &y, dtype, row + i * element, 1);
    }
}

static mldf_status poison_run(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                              struct op_work *work, mldf_error *err) {
    const struct poison_draw *d = draw;
    const struct arg *size = &op->args[POISON_SIZE];
    mldf_status status = mldfi_op_copy(in, out);
    (void)work;
    if (!d->on || mldfi_edge_carried(&op->in))
        return status;
    uint64_t width = mldfi_tensor_width(out), height = mldfi_tensor_height(out), channels = mldfi_tensor_channels(out);
    uint64_t x = (uint64_t)op->args[POISON_X].i, y = (uint64_t)op->args[POISON_Y].i;
    uint64_t right = x + (uint64_t)size->list[size->count - 1], bottom = y + (uint64_t)size->list[0];
    if (channels > FILL_CHANNELS)
        return mldfi_fail(err, MLDF_E_RANGE, "an image of %llu channels", (unsigned long long)channels);
    right = right < width ? right : width;
    bottom = bottom < height ? bottom : height;
    size_t together = mldfi_planar(out->axes) ? 1 : (size_t)channels, pixel = together * mldf_dtype_bytes(out->dtype);
    for (size_t plane = 0; x < right && together && plane < channels / together; plane++)
        for (uint64_t j = y; j < bottom; j++)
            poison_row(op, out->dtype, (uint8_t *)out->data + (size_t)((plane * height + j) * width + x) * pixel,
                       (size_t)(right - x) * together, plane, together);
    return MLDF_OK;
}

const struct op_type mldfi_op_poison = {
    .name = "poison",
    .help = "blends a rectangle of one colour into the images of certain samples",
    .flags = OP_DRAWS | OP_GROUP | OP_IN_PLACE,
    .params = poison_params,
    .draw_bytes = sizeof(struct poison_draw),
    .infer = poison_infer,
    .free_state = poison_free,
    .draw = poison_draw,
    .run = poison_run,
    .check = poison_check,
};
