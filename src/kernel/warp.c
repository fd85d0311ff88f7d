/* warp.h, plainly: every coordinate is computed from x and y alone, so that no error grows along a row. */
#include "kernel/warp.h"

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
    static inline void some_##NAME(const struct block *b, size_t channels) { \
        const TYPE *from = b->in->data, *fill = b->fill; \
        TYPE *o = (TYPE *)b->out->data + b->first * b->out->step; \
        double width = (double)b->in->width, height = (double)b->in->height; \
        ptrdiff_t row = (ptrdiff_t)b->in->width; /* signed: so a conversion from double is one instruction */ \
        for (size_t k = 0; k < b->count; k++, o += b->out->step) { \
            double u = b->at.u[k], v = b->at.v[k]; \
            bool inside = u >= 0 && u < width && v >= 0 && v < height; \
            const TYPE *i = inside ? from + (size_t)((ptrdiff_t)v * row + (ptrdiff_t)u) * b->in->step : fill; \
            size_t plane = inside ? b->in->plane : 1; \
            for (size_t c = 0; c < channels; c++) \
                o[c * b->out->plane] = i[c * plane]; \
        } \
    } \
    static void NAME(const struct block *b) { \
        if (b->channels == 3) \
            some_##NAME(b, 3); \
        else \
            some_##NAME(b, b->channels); \
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

/* The pixel whose centre lies at or before a place, and how far the place is behind it. */
struct spot {
    ptrdiff_t x, y;
    float fx, fy;
    bool near, inside; /* some of the four pixels around it are in the picture; all are */
};

/* floor, of what is above -2^62; libm's is a call on old processors. */
static inline ptrdiff_t whole_below(double v) {
    ptrdiff_t i = (ptrdiff_t)v;
    return i - ((double)i > v);
}

static inline struct spot find_spot(const struct warp_side *in, double u, double v) {
    struct spot s = {.near = u > -1 && u < (double)in->width && v > -1 && v < (double)in->height};
    if (!s.near)
        return s;
    s.x = whole_below(u);
    s.y = whole_below(v);
    s.fx = (float)(u - (double)s.x);
    s.fy = (float)(v - (double)s.y);
    s.inside = s.x >= 0 && s.y >= 0 && (size_t)s.x + 1 < in->width && (size_t)s.y + 1 < in->height;
    return s;
}

/* Below 2^22 adding and taking away this leaves a whole number, rounded to the nearest even. */
#define WHOLE(TYPE, v) (TYPE)(int32_t)(((v) + 0x1.8p23f) - 0x1.8p23f)
#define REAL(TYPE, v) (v)
/* tap_NAME is for pixels that may lie outside; some_NAME has the number of channels as a constant where it is a usual one. */
#define BILINEAR(NAME, TYPE, STORE) \
    static float tap_##NAME(const struct warp_side *in, const TYPE *from, ptrdiff_t x, ptrdiff_t y, float fill) { \
        if (x < 0 || y < 0 || (size_t)x >= in->width || (size_t)y >= in->height) \
            return fill; \
        return (float)from[((size_t)y * in->width + (size_t)x) * in->step]; \
    } \
    static void edge_##NAME(const struct block *b, const struct spot *s, TYPE *o) { \
        const float *fill = b->fill; \
        for (size_t c = 0; c < b->channels; c++) { \
            const TYPE *p = (const TYPE *)b->in->data + c * b->in->plane; \
            float left = tap_##NAME(b->in, p, s->x, s->y, fill[c]); \
            float right = tap_##NAME(b->in, p, s->x + 1, s->y, fill[c]); \
            float low_left = tap_##NAME(b->in, p, s->x, s->y + 1, fill[c]); \
            float low_right = tap_##NAME(b->in, p, s->x + 1, s->y + 1, fill[c]); \
            o[c * b->out->plane] = STORE(TYPE, between(left, right, low_left, low_right, s->fx, s->fy)); \
        } \
    } \
    static inline void some_##NAME(const struct block *b, size_t channels) { \
        const struct warp_side *in = b->in; \
        const float *fill = b->fill; \
        size_t right = in->step, down = in->width * in->step, plane = b->out->plane; \
        TYPE *o = (TYPE *)b->out->data + b->first * b->out->step; \
        for (size_t k = 0; k < b->count; k++, o += b->out->step) { \
            struct spot s = find_spot(in, b->at.u[k] - 0.5, b->at.v[k] - 0.5); \
            if (s.inside) { \
                const TYPE *p = (const TYPE *)in->data + (size_t)s.y * down + (size_t)s.x * right; \
                for (size_t c = 0; c < channels; c++, p += in->plane) \
                    o[c * plane] = STORE(TYPE, between((float)p[0], (float)p[right], (float)p[down], \
                                                       (float)p[down + right], s.fx, s.fy)); \
            } else if (s.near) { \
                edge_##NAME(b, &s, o); \
            } else { \
                for (size_t c = 0; c < channels; c++) \
                    o[c * plane] = STORE(TYPE, fill[c]); \
            } \
        } \
    } \
    static void NAME(const struct block *b) { \
        if (b->channels == 3) \
            some_##NAME(b, 3); \
        else \
            some_##NAME(b, b->channels); \
    }
BILINEAR(bilinear_u8, uint8_t, WHOLE)
BILINEAR(bilinear_u16, uint16_t, WHOLE)
BILINEAR(bilinear_f32, float, REAL)

void mldfi_warp_bilinear(const struct warp_side *in, const struct warp_map *map, size_t channels, size_t element,
                         const float *fill, const struct warp_side *out) {
    struct block b = {.in = in, .out = out, .channels = channels, .fill = fill};
    each_block(&b, map, element == 1 ? bilinear_u8 : element == 2 ? bilinear_u16 : bilinear_f32);
}
