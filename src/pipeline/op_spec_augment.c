/* spec_augment: stretches of time and of frequency are masked, as torchaudio's SpecAugment draws them (Park and others, 2019, without time warping):
 * for each mask v = u · param, start = ⌊u' · (size - v)⌋, and ⌊v⌋ frames or bands are masked from there. Sizes are those of the value itself,
 * before padding. */
#include <stdlib.h>

#include "pipeline/grid.h"
#include "pipeline/op_help.h"
#include "pipeline/op_registry.h"

enum { MASKS = 12 }; /* along each axis */
enum { TIME_MASKS, TIME, FREQ_MASKS, FREQ, P, VALUE };
static const char *const values[] = {"zero", "mean", NULL};
static const struct op_param params[] = {
    {"time_masks", PARAM_INT, "2", 0, MASKS, NULL, 0, 0, "how many stretches of time"},
    {"time", PARAM_INT, "100", 0, 0x1p30, NULL, 0, 0, "each has fewer frames than this"},
    {"freq_masks", PARAM_INT, "2", 0, MASKS, NULL, 0, 0, "how many stretches of frequency"},
    {"freq", PARAM_INT, "27", 0, 0x1p30, NULL, 0, 0, "each has fewer bands than this"},
    {"p", PARAM_FLOAT, "1", 0, 1, NULL, 0, 0, "no mask is longer than this part of the frames, or of the bands"},
    {"value", PARAM_CHOICE, "mean", 0, 0, values, 0, 0, "what masks are filled with: zero, or the value's mean"},
    OP_END_OF_PARAMS,
};

struct mask_draw {
    uint32_t times, freqs;
    struct stretch {
        uint32_t from, count;
    } masks[2 * MASKS]; /* of time, then of frequency */
};
_Static_assert(sizeof(struct mask_draw) <= OP_DRAW_BYTES, "a draw has its bounds");

static mldf_status infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    if (!mldfi_edge_is_grid(in) || in->dims[mldfi_grid_bands_at(in->axes)] < 0)
        return mldfi_edge_refuse(op, in, "a spectrogram of a fixed number of bands", err);
    *out = *in;
    return MLDF_OK;
}

/* One mask of an axis. `size` is less than 2^31: what is larger is masked in its first part. */
static struct stretch draw_mask(struct rng *rng, double param, double part, uint64_t size) {
    double n = size > INT32_MAX ? INT32_MAX : (double)size, most = part < 1 ? (double)(uint64_t)(n * part) : n;
    struct stretch none = {0, 0};
    if (part < 1 && most < param)
        param = most;
    double v = mldfi_rng_unit(rng) * param, u = mldfi_rng_unit(rng);
    if (param < 1)
        return none;
    int64_t from = (int64_t)(u * (n - v)),
            end = from + (int64_t)v; /* from < 0 where the mask is longer than the axis */
    from = from < 0 ? 0 : from;
    end = end > (int64_t)n ? (int64_t)n : end;
    return end > from ? (struct stretch){(uint32_t)from, (uint32_t)(end - from)} : none;
}

static mldf_status draw(const struct op *op, struct rng *rng, const struct frame *frame, void *room, struct frame *next,
                        mldf_error *err) {
    struct mask_draw *d = room;
    uint64_t bands = (uint64_t)op->in.dims[mldfi_grid_bands_at(op->in.axes)];
    (void)next, (void)err;
    d->times = (uint32_t)op->args[TIME_MASKS].i;
    d->freqs = (uint32_t)op->args[FREQ_MASKS].i;
    for (uint32_t i = 0; i < d->times; i++)
        d->masks[i] = draw_mask(rng, op->args[TIME].f, op->args[P].f, frame->t);
    for (uint32_t i = 0; i < d->freqs; i++)
        d->masks[d->times + i] = draw_mask(rng, op->args[FREQ].f, op->args[P].f, bands);
    return MLDF_OK;
}

static void paint(const struct grid *g, float *x, struct stretch mask, bool time, float value) {
    uint64_t t0 = time ? mask.from : 0, t1 = time ? mask.from + (uint64_t)mask.count : g->frames;
    uint64_t b0 = time ? 0 : mask.from, b1 = time ? g->bands : mask.from + (uint64_t)mask.count;
    t1 = t1 < g->frames ? t1 : g->frames;
    b1 = b1 < g->bands ? b1 : g->bands;
    for (uint64_t c = 0; c < g->items; c++)
        for (uint64_t b = b0; b < b1; b++)
            for (uint64_t t = t0; t < t1; t++)
                x[c * g->item + b * g->band + t * g->frame] = value;
}

static mldf_status run(const struct op *op, const void *room, const struct tensor *in, struct tensor *out,
                       struct op_work *work, mldf_error *err) {
    const struct mask_draw *d = room;
    struct grid g = mldfi_grid_of(in);
    uint64_t count = mldfi_tensor_count(in);
    double sum = 0;
    (void)work, (void)err;
    for (uint64_t i = 0; i < count && op->args[VALUE].i; i++)
        sum += (double)((const float *)in->data)[i];
    float value = count ? (float)(sum / (double)count) : 0;
    mldfi_op_copy(in, out);
    for (uint32_t i = 0; i < d->times + d->freqs; i++)
        paint(&g, out->data, d->masks[i], i < d->times, value);
    return MLDF_OK;
}

static const struct op_type op_spec_augment = {
    .name = "spec_augment",
    .help = "masks stretches of time and of frequency in a spectrogram, as torchaudio's SpecAugment",
    .flags = OP_DRAWS | OP_RANDOM | OP_IN_PLACE,
    .params = params,
    .draw_bytes = sizeof(struct mask_draw),
    .infer = infer,
    .draw = draw,
    .run = run,
};

const struct op_type *const mldfi_ops_spec_augment[] = {&op_spec_augment, NULL};
