/* Weights of the bilinear kernels: whole numbers in units of 1/(16 n) of a pixel, so that they are exact; see resize.h. Doubles hold
 * them: sides are below 2^24, so nothing passes 2^53. */
#include "kernel/resample.h"

static uint32_t output_of(const struct axis *a, uint32_t i) {
    return a->from + (a->mirror ? a->count - 1 - i : i);
}

static double centre_of(const struct axis *a, uint32_t i) {
    return 2.0 * (double)a->box_from * a->target + (2.0 * output_of(a, i) + 1.0) * (double)a->box_size;
}

void mldfi_axis_begin(const struct axis *a, struct axis_plan *plan) {
    double stretched = 2.0 * (double)a->box_size;
    plan->pixel = 16.0 * a->target;
    plan->inverse = 1.0 / plan->pixel;
    plan->wide = a->antialias && stretched > plan->pixel ? stretched : plan->pixel;
    /* those with weight, and one or two beside them by rounding */
    uint64_t steps = (uint64_t)(2.0 * plan->wide / plan->pixel) + 3;
    plan->steps = steps < a->size ? (uint32_t)steps : a->size;
}

uint32_t mldfi_axis_nearest(const struct axis *a, uint32_t i) {
    uint32_t p = (uint32_t)(centre_of(a, i) / (16.0 * a->target));
    return p < a->size ? p : a->size - 1;
}

static inline double weight_at(double wide, double at) {
    double weight = wide - __builtin_fabs(at);
    return weight > 0.0 ? weight : 0.0;
}

/* The same number of steps for every output, and no branches in them: random crops ask for hundreds of these per image. */
static uint32_t pixel_weights(const struct axis *a, const struct axis_plan *plan, uint32_t i, uint32_t *first,
                              int16_t *weights) {
    const double pixel = plan->pixel, wide = plan->wide, centre = centre_of(a, i);
    const double low = (centre - wide) * plan->inverse - 0.5;
    const uint32_t steps = plan->steps, last = a->size - steps;
    uint32_t from = low > 0 ? (uint32_t)low : 0, n = 0, none = 0;
    from = from < last ? from : last;
    const double begin = pixel * from + pixel / 2 - centre;
    double sum = 0.0, run = 0.0, at = begin;
    for (uint32_t k = 0; k < steps; k++, at += pixel)
        sum += weight_at(wide, at);
    const double ratio = 16384.0 / sum;
    int32_t before = 0;
    at = begin;
    for (uint32_t k = 0; k < steps; k++, at += pixel) {
        run += weight_at(wide, at);
        int32_t now = (int32_t)(run * ratio + 0.5);
        weights[n] = (int16_t)(now - before);
        none += now == 0;
        n += (uint32_t)(now > 0) & (uint32_t)(before < 16384);
        before = now;
    }
    *first = from + none;
    return n;
}

/* Weights of n pixels become those of samples, in place: a sample is written when all its pixels have been read. Quarters until the rounding. */
static uint32_t spread_weights(const struct axis *a, uint32_t *first, uint32_t n, int16_t *weights) {
    const bool fancy = a->spread == SPREAD_FANCY;
    uint32_t pixel = a->spread_at + *first, now = fancy && pixel > 0 ? (pixel - 1) / 2 : pixel / 2, out = 0;
    int32_t here = 0, next = 0, sum = 0, before = 0; /* of sample `now` and the one after it */
    *first = now;
    for (uint32_t k = 0; k < n; k++, pixel++) {
        const int32_t w = weights[k];
        const uint32_t low = fancy && pixel > 0 ? (pixel - 1) / 2 : pixel / 2;
        if (low > now) {
            sum += here;
            weights[out++] = (int16_t)(((sum + 2) >> 2) - before);
            before = (sum + 2) >> 2;
            here = next;
            next = 0;
            now = low;
        }
        bool alone = !fancy || pixel == 0 || now + 1 >= a->spread_size;
        int32_t own = alone ? 4 : pixel % 2 ? 3 : 1;
        here += own * w;
        next += (4 - own) * w;
    }
    sum += here;
    weights[out++] = (int16_t)(((sum + 2) >> 2) - before);
    before = (sum + 2) >> 2;
    if (next > 0)
        weights[out++] = (int16_t)(((sum + next + 2) >> 2) - before);
    return out;
}

uint32_t mldfi_axis_bilinear(const struct axis *a, const struct axis_plan *plan, uint32_t i, uint32_t *first,
                             int16_t *weights) {
    uint32_t n = pixel_weights(a, plan, i, first, weights);
    return a->spread == SPREAD_NONE ? n : spread_weights(a, first, n, weights);
}
