/* gaussian_blur, with torchvision's parameters; kernel/blur.h says what is computed. */
#include <stdlib.h>

#include "kernel/blur.h"
#include "pipeline/op_color.h"
#include "pipeline/op_help.h"
#include "pipeline/op_warp.h"
#include "util/buffer.h"
#include "util/error.h"

enum { BLUR_KERNEL, BLUR_SIGMA, BLUR_P };
static const struct op_param blur_params[] = {
    {"kernel_size", PARAM_INTS, NULL, 1, 2 * BLUR_MAX_RADIUS + 1, NULL, 1, 2,
     "taps, odd: n both ways, or [across, down]"},
    {"sigma", PARAM_FLOATS, "[0.1, 2.0]", 1e-3, 1e3, NULL, 1, 2, "standard deviation in pixels, or between [from, to]"},
    OP_CHANCE_PARAM("1"),
    OP_END_OF_PARAMS,
};

struct blur_state {
    uint32_t radius[2]; /* across, down */
    double sigma[2];
};
struct blur_draw {
    bool on;
    double sigma;
};

static mldf_status blur_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    const struct arg *kernel = &op->args[BLUR_KERNEL], *sigma = &op->args[BLUR_SIGMA];
    mldf_status status = mldfi_color_infer(op, in, out, err);
    struct blur_state *s;
    if (status < 0)
        return status;
    free(op->state);
    s = op->state = mldfi_alloc_zero(1, sizeof *s, err);
    if (!s)
        return MLDF_E_MEMORY;
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t size = (uint32_t)kernel->list[i < kernel->count ? i : 0];
        if (size % 2 == 0)
            return mldfi_fail(err, MLDF_E_ARGUMENT, "gaussian_blur: kernel_size %u is even; odd ones have a middle",
                              size);
        s->radius[i] = size / 2;
        s->sigma[i] = sigma->list[i < sigma->count ? i : 0];
    }
    if (s->sigma[0] > s->sigma[1])
        return mldfi_fail(err, MLDF_E_ARGUMENT, "gaussian_blur: sigma goes from %g to %g; the smaller comes first",
                          s->sigma[0], s->sigma[1]);
    return MLDF_OK;
}

static mldf_status blur_draw(const struct op *op, struct rng *rng, const struct frame *frame, void *draw,
                             struct frame *next, mldf_error *err) {
    const struct blur_state *s = op->state;
    struct blur_draw *d = draw;
    (void)frame;
    (void)next;
    (void)err;
    d->on = mldfi_rng_chance(rng, op->args[BLUR_P].f);
    d->sigma = mldfi_rng_uniform(rng, s->sigma[0], s->sigma[1]);
    return MLDF_OK;
}

static mldf_status blur_run(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                            struct op_work *work, mldf_error *err) {
    const struct blur_state *s = op->state;
    const struct blur_draw *d = draw;
    struct blur_weights across, down;
    if (mldfi_edge_carried(&op->in) || !d->on)
        return mldfi_op_copy(in, out);
    size_t planes = mldfi_planar(in->axes) ? (size_t)mldfi_tensor_channels(in) : 1;
    struct blur b = {.across = &across,
                     .down = &down,
                     .width = (size_t)mldfi_tensor_width(in),
                     .height = (size_t)mldfi_tensor_height(in),
                     .channels = mldfi_planar(in->axes) ? 1 : (size_t)mldfi_tensor_channels(in),
                     .element = mldf_dtype_bytes(in->dtype)};
    mldfi_blur_weights(s->radius[0], d->sigma, &across);
    mldfi_blur_weights(s->radius[1], d->sigma, &down);
    size_t plane = b.width * b.height * b.channels * b.element, scratch = mldfi_blur_scratch(&b);
    if (scratch == SIZE_MAX)
        return mldfi_fail(err, MLDF_E_LIMIT, "gaussian_blur: an image of %zu x %zu", b.width, b.height);
    mldf_status status = mldfi_buffer_resize(&work->scratch[0], scratch, err);
    for (size_t k = 0; k < planes && status == MLDF_OK; k++) {
        b.in = (const uint8_t *)in->data + k * plane;
        b.out = (uint8_t *)out->data + k * plane;
        mldfi_blur(work->kernels, &b, work->scratch[0].data);
    }
    return status;
}

const struct op_type mldfi_op_gaussian_blur = {
    .name = "gaussian_blur",
    .help = "Gaussian blur of random strength",
    .flags = OP_DRAWS | OP_RANDOM | OP_GROUP,
    .params = blur_params,
    .draw_bytes = sizeof(struct blur_draw),
    .infer = blur_infer,
    .draw = blur_draw,
    .run = blur_run,
};
