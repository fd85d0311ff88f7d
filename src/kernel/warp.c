/* warp.h, plainly: every coordinate is computed from x and y alone, so that no error grows along a row. */
#include "kernel/warp.h"

#include <math.h>

enum { BLOCK = 128 }; /* pixels of a row whose places are worked out together */

struct places {
    double u[BLOCK], v[BLOCK];
};

static void find_places(const struct warp_map *map, size_t x, size_t y, size_t count, struct places *p) {
    const double *m = map->m;
    double row = (double)y + 0.5, u = m[1] * row + m[2], v = m[4] * row + m[5], w = m[7] * row + m[8];
    for (size_t k = 0; k < count; k++) {
        double at = (double)(x + k) + 0.5;
        p->u[k] = m[0] * at + u;
        p->v[k] = m[3] * at + v;
    }
    for (size_t k = 0; map->perspective && k < count; k++) {
        double by = m[6] * ((double)(x + k) + 0.5) + w;
        p->u[k] = by > 0 ? p->u[k] / by : -8;
        p->v[k] = by > 0 ? p->v[k] / by : -8;
    }
}

/* What a loop over a block gets: `count` pixels from pixel `first` of `out` on, and where they come from. */
struct block {
    const struct warp_side *in, *out;
    size_t first, count, channels;
    const void *fill;
    struct places at;
};

static void each_block(struct block *b, const struct warp_map *map, void (*run)(const struct block *b)) {
    for (size_t y = 0; y < b->out->height; y++)
        for (size_t x = 0; x < b->out->width; x += BLOCK) {
            b->first = y * b->out->width + x;
            b->count = b->out->width - x < BLOCK ? b->out->width - x : BLOCK;
            find_places(map, x, y, b->count, &b->at);
            run(b);
        }
}

/* ---- Nearest -------------------------------------------------------------------------------------------------------------- */

#define NEAREST(NAME, TYPE) \
    static void NAME(const struct block *b) { \
        const TYPE *from = b->in->data, *fill = b->fill; \
        TYPE *o = (TYPE *)b->out->data + b->first * b->out->step; \
        double width = (double)b->in->width, height = (double)b->in->height; \
        for (size_t k = 0; k < b->count; k++, o += b->out->step) { \
            double u = b->at.u[k], v = b->at.v[k]; \
            bool inside = u >= 0 && u < width && v >= 0 && v < height; \
            const TYPE *i = inside ? from + ((size_t)v * b->in->width + (size_t)u) * b->in->step : fill; \
            size_t plane = inside ? b->in->plane : 1; \
            for (size_t c = 0; c < b->channels; c++) \
                o[c * b->out->plane] = i[c * plane]; \
        } \
    }
NEAREST(nearest_1, uint8_t)
NEAREST(nearest_2, uint16_t)
NEAREST(nearest_4, uint32_t)
NEAREST(nearest_8, uint64_t)

void mldfi_warp_nearest(const struct warp_side *in, const struct warp_map *map, size_t channels, size_t element,
                        const void *fill, const struct warp_side *out) {
    struct block b = {.in = in, .out = out, .channels = channels, .fill = fill};
    each_block(&b, map, element == 1 ? nearest_1 : element == 2 ? nearest_2 : element == 4 ? nearest_4 : nearest_8);
}

/* ---- Bilinear ------------------------------------------------------------------------------------------------------------- */

static inline float between(float a, float b, float d, float e, float fx, float fy) {
    float above = a + (b - a) * fx, below = d + (e - d) * fx;
    return above + (below - above) * fy;
}

#define WHOLE(TYPE, v) (TYPE) rintf(v)
#define REAL(TYPE, v) (v)
/* i, j: the pixel whose centre lies at or before the place; -1 is outside. tap_NAME is for pixels that may lie there. */
#define BILINEAR(NAME, TYPE, STORE) \
    static float tap_##NAME(const struct warp_side *in, const TYPE *from, ptrdiff_t x, ptrdiff_t y, float fill) { \
        if (x < 0 || y < 0 || (size_t)x >= in->width || (size_t)y >= in->height) \
            return fill; \
        return (float)from[((size_t)y * in->width + (size_t)x) * in->step]; \
    } \
    static void NAME(const struct block *b) { \
        const struct warp_side *in = b->in; \
        const float *fill = b->fill; \
        size_t right = in->step, down = in->width * in->step; \
        TYPE *o = (TYPE *)b->out->data + b->first * b->out->step; \
        for (size_t k = 0; k < b->count; k++, o += b->out->step) { \
            double u = b->at.u[k] - 0.5, v = b->at.v[k] - 0.5; \
            bool near = u > -1 && u < (double)in->width && v > -1 && v < (double)in->height; \
            double left = near ? floor(u) : -2, top = near ? floor(v) : -2; \
            float fx = near ? (float)(u - left) : 0, fy = near ? (float)(v - top) : 0; \
            ptrdiff_t i = (ptrdiff_t)left, j = (ptrdiff_t)top; \
            bool inside = i >= 0 && j >= 0 && (size_t)i + 1 < in->width && (size_t)j + 1 < in->height; \
            for (size_t c = 0; c < b->channels; c++) { \
                const TYPE *s = (const TYPE *)in->data + c * in->plane; \
                float value; \
                if (inside) { \
                    s += (size_t)j * down + (size_t)i * right; \
                    value = between((float)s[0], (float)s[right], (float)s[down], (float)s[down + right], fx, fy); \
                } else { \
                    value = between(tap_##NAME(in, s, i, j, fill[c]), tap_##NAME(in, s, i + 1, j, fill[c]), \
                                    tap_##NAME(in, s, i, j + 1, fill[c]), tap_##NAME(in, s, i + 1, j + 1, fill[c]), \
                                    fx, fy); \
                } \
                o[c * b->out->plane] = STORE(TYPE, value); \
            } \
        } \
    }
BILINEAR(bilinear_u8, uint8_t, WHOLE)
BILINEAR(bilinear_u16, uint16_t, WHOLE)
BILINEAR(bilinear_f32, float, REAL)

void mldfi_warp_bilinear(const struct warp_side *in, const struct warp_map *map, size_t channels, size_t element,
                         const float *fill, const struct warp_side *out) {
    struct block b = {.in = in, .out = out, .channels = channels, .fill = fill};
    each_block(&b, map, element == 1 ? bilinear_u8 : element == 2 ? bilinear_u16 : bilinear_f32);
}
