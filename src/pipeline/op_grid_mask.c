/* grid_mask: squares on a regular grid are painted (GridMask, Chen and others, 2020, in TurboLoader's reading: the grid is not turned). The grid's step
 * is a share of the image's shorter side, a square's side is a share of the step, and the grid begins at a random place. */
#include <stdlib.h>

#include "pipeline/op_fill.h"
#include "pipeline/op_help.h"
#include "pipeline/op_warp.h"
#include "util/buffer.h"
#include "util/error.h"

enum { GRID_STEP, GRID_RATIO, GRID_P, GRID_FILL };
static const struct op_param grid_params[] = {
    {"step", PARAM_FLOATS, "0.5", 1e-4, 1, NULL, 1, 2,
     "of the grid, as a share of the shorter side; [a, b]: drawn between these"},
    {"ratio", PARAM_FLOAT, "0.6", 0, 1, NULL, 0, 0, "side of a square, as a share of the step"},
    {"p", PARAM_FLOAT, "0.5", 0, 1, NULL, 0, 0, "probability"},
    OP_FILL_PARAM("the squares' colour: a number, or one for each channel"),
    OP_END_OF_PARAMS,
};

struct grid_state {
    double fill[FILL_CHANNELS];
};
struct grid_draw {
    bool on;
    uint32_t step, side; /* pixels */
    uint32_t x, y;       /* where in a cell of the grid the image begins */
};

/* Images of every type; masks, boxes and points stay. */
static mldf_status grid_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    const struct arg *step = &op->args[GRID_STEP];
    struct grid_state *s;
    *out = *in;
    if (!mldfi_edge_carried(in) && (!mldfi_edge_has_pixels(in) || mldfi_edge_channels(in) > FILL_CHANNELS))
        return mldfi_edge_refuse(op, in, "an image of at most four channels", err);
    if (step->count == 2 && step->list[0] > step->list[1])
        return mldfi_fail(err, MLDF_E_ARGUMENT, "grid_mask: step goes from %g to %g; the smaller comes first",
                          step->list[0], step->list[1]);
    free(op->state);
    s = op->state = mldfi_alloc_zero(1, sizeof *s, err);
    if (!s)
        return MLDF_E_MEMORY;
    return mldfi_edge_carried(in) ? MLDF_OK : mldfi_fill_take(op, GRID_FILL, s->fill, err);
}

static mldf_status grid_draw(const struct op *op, struct rng *rng, const struct frame *frame, void *draw,
                             struct frame *next, mldf_error *err) {
    const struct arg *step = &op->args[GRID_STEP];
    uint32_t shorter = frame->width < frame->height ? frame->width : frame->height;
    struct grid_draw *d = draw;
    (void)next;
    (void)err;
    *d = (struct grid_draw){.on = mldfi_rng_chance(rng, op->args[GRID_P].f)};
    double part = step->count == 2 ? mldfi_rng_uniform(rng, step->list[0], step->list[1]) : step->list[0];
    d->step = (uint32_t)(shorter * part);
    d->step = d->step < 2 ? 2 : d->step;
    d->side = (uint32_t)(d->step * op->args[GRID_RATIO].f);
    d->x = (uint32_t)mldfi_rng_below(rng, d->step);
    d->y = (uint32_t)mldfi_rng_below(rng, d->step);
    return MLDF_OK;
}

/* The k-th stretch of painted pixels of a side of n: those whose place in their cell is below `side`. */
static uint64_t stretch(const struct grid_draw *d, uint64_t k, uint32_t at, uint64_t n, uint64_t *count) {
    uint64_t from = k * d->step, to = from + d->side, shift = at;
    from = from > shift ? from - shift : 0;
    to = to > shift ? to - shift : 0;
    to = to < n ? to : n;
    *count = to > from ? to - from : 0;
    return from;
}

static mldf_status grid_run(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                            struct op_work *work, mldf_error *err) {
    const struct grid_state *s = op->state;
    const struct grid_draw *d = draw;
    mldf_status status = mldfi_op_copy(in, out);
    (void)work;
    if (mldfi_edge_carried(&op->in) || !d->on || d->side == 0)
        return status;
    if (mldfi_tensor_channels(out) > FILL_CHANNELS)
        return mldfi_fail(err, MLDF_E_RANGE, "an image of %llu channels; at most four",
                          (unsigned long long)mldfi_tensor_channels(out));
    struct fill_pixel fill = mldfi_fill_pixel(out->dtype, s->fill);
    uint64_t width = mldfi_tensor_width(out), height = mldfi_tensor_height(out);
    for (uint64_t j = 0; j * d->step < height + d->y; j++) {
        uint64_t high, y = stretch(d, j, d->y, height, &high);
        for (uint64_t i = 0; high && i * d->step < width + d->x; i++) {
            uint64_t wide, x = stretch(d, i, d->x, width, &wide);
            if (wide)
                mldfi_fill_paint(out, &fill, x, y, wide, high);
        }
    }
    return MLDF_OK;
}

const struct op_type mldfi_op_grid_mask = {
    .name = "grid_mask",
    .help = "paints squares on a grid that begins at a random place, with a probability",
    .flags = OP_DRAWS | OP_RANDOM | OP_GROUP | OP_IN_PLACE,
    .params = grid_params,
    .draw_bytes = sizeof(struct grid_draw),
    .infer = grid_infer,
    .draw = grid_draw,
    .run = grid_run,
};
