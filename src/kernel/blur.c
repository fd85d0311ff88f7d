/* blur.h. A row across is widened by its mirror image at both ends; as many rows as the way down looks at are kept in a ring. The loops along
 * rows are in blur_loops.h. */
#include "kernel/blur.h"

#include <math.h>
#include <string.h>

#include "util/math.h"

void mldfi_blur_weights(uint32_t radius, double sigma, struct blur_weights *out) {
    double value[BLUR_MAX_RADIUS + 1], sum = 1;
    uint32_t rest = 65536;
    value[0] = 1;
    for (uint32_t k = 1; k <= radius; k++) {
        double x = k / sigma;
        value[k] = mldfi_exp(-0.5 * x * x);
        sum += 2 * value[k];
    }
    out->radius = radius;
    for (uint32_t k = 0; k <= radius; k++) {
        out->real[k] = (float)(value[k] / sum);
        out->whole[k] = (uint32_t)rint(value[k] / sum * 65536);
        rest -= k ? 2 * out->whole[k] : 0;
    }
    out->whole[0] = rest;
}

/* Index i of a side of n > 0 pixels, mirrored at both ends as often as it takes. */
static size_t mirrored(ptrdiff_t i, size_t n) {
    ptrdiff_t period = 2 * ((ptrdiff_t)n - 1);
    if (period == 0)
        return 0;
    if (i >= 0 && i < (ptrdiff_t)n)
        return (size_t)i;
    i %= period;
    i = i < 0 ? i + period : i;
    return (size_t)(i < (ptrdiff_t)n ? i : period - i);
}

/* Weights of 0 at the end count for nothing, unless what they weigh may be infinite. */
static size_t reach(const struct blur_weights *w, size_t element) {
    size_t radius = w->radius;
    while (element < 4 && radius > 0 && w->whole[radius] == 0)
        radius--;
    return radius;
}

/* ---- Scratch -------------------------------------------------------------------------------------------------------------- */

static size_t up64(size_t bytes) {
    return (bytes + 63) / 64 * 64;
}

/* scratch: one widened row | a ring of rows after across, as many as the way down sees at once; each with its slack */
struct ring {
    uint8_t *rows;
    size_t count, stride;
};

static size_t wide_bytes(const struct blur *b) {
    return up64((b->width + 2 * (size_t)b->across->radius) * b->channels * b->element + BLUR_SLACK);
}

static struct ring ring_of(const struct blur *b, uint8_t *scratch) {
    size_t seen = 2 * (size_t)b->down->radius + 1;
    return (struct ring){scratch ? scratch + wide_bytes(b) : NULL, b->height < seen ? b->height : seen,
                         up64(b->width * b->channels * (b->element == 1 ? 2 : 4) + BLUR_SLACK)};
}

size_t mldfi_blur_scratch(const struct blur *b) {
    if (b->channels && b->width > SIZE_MAX / 64 / b->channels - 4096)
        return SIZE_MAX;
    struct ring ring = ring_of(b, NULL);
    return ring.count > SIZE_MAX / 4 / ring.stride ? SIZE_MAX : wide_bytes(b) + ring.count * ring.stride;
}

/* ---- The passes ------------------------------------------------------------------------------------------------------------- */

static void widen(const struct blur *b, size_t radius, size_t y, uint8_t *wide) {
    size_t pixel = b->channels * b->element, row = b->width * pixel;
    const uint8_t *in = (const uint8_t *)b->in + y * row;
    for (size_t i = 0; i < radius; i++) {
        memcpy(wide + i * pixel, in + mirrored((ptrdiff_t)i - (ptrdiff_t)radius, b->width) * pixel, pixel);
        memcpy(wide + (radius + b->width + i) * pixel, in + mirrored((ptrdiff_t)(b->width + i), b->width) * pixel,
               pixel);
    }
    memcpy(wide + radius * pixel, in, row);
}

/* Every row across is made when the way down first sees it; the one it takes the place of is out of sight by then. */
void mldfi_blur(const struct kernels *k, const struct blur *b, void *scratch) {
    const void *above[BLUR_MAX_RADIUS + 1], *below[BLUR_MAX_RADIUS + 1];
    struct ring ring = ring_of(b, scratch);
    struct blur_line across = {
        b->across, reach(b->across, b->element), b->width * b->channels, b->channels, NULL, NULL, NULL, NULL};
    struct blur_line down = across;
    uint8_t *wide = scratch;
    size_t made = 0;
    if (b->width == 0 || b->height == 0 || b->channels == 0)
        return;
    memset(wide, 0, wide_bytes(b)); /* for the slack */
    across.wide = wide + across.radius * b->channels * b->element;
    down.weights = b->down;
    down.radius = reach(b->down, b->element);
    down.above = above;
    down.below = below;
    for (size_t y = 0; y < b->height; y++) {
        for (; made < b->height && made <= y + down.radius; made++) {
            widen(b, across.radius, made, wide);
            across.out = ring.rows + made % ring.count * ring.stride;
            k->blur_across(&across, b->element);
        }
        for (size_t i = 0; i <= down.radius; i++) {
            above[i] = ring.rows + mirrored((ptrdiff_t)y - (ptrdiff_t)i, b->height) % ring.count * ring.stride;
            below[i] = ring.rows + mirrored((ptrdiff_t)(y + i), b->height) % ring.count * ring.stride;
        }
        down.out = (uint8_t *)b->out + y * down.values * b->element;
        k->blur_down(&down, b->element);
    }
}
