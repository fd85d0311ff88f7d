/* The loops of warp.h, as text: a file for each instruction set includes it, and the compiler makes the vectors. Every coordinate is computed from
 * x and y alone, so that no error grows along a row, and by the same IEEE operations everywhere.
 *
 * A row goes by blocks: places of its pixels in doubles; offsets of those that lie well inside, all others having -1; then runs of pixels that
 * have offsets, in straight loops, and the others one by one. Before the include:
 *     WARP_NAME(x)    the name of x for this set
 *     color_x86.h     for `join`; or not
 *     WARP_PLACES     the file that finds places and offsets, in place of what is here */
#include <string.h>

#include "kernel/variants.h"
#include "kernel/warp.h"

enum {
    BLOCK = 128,
    FULL = 16
}; /* pixels of a row that are worked on together; a run's arithmetic is done for whole groups of FULL */
enum { OFFSET_UNSURE = -1, OFFSET_OUTSIDE = -2 }; /* to be looked at one by one; nothing but `fill` */

struct block {
    const struct warp_side *in, *out;
    size_t first, count, channels; /* `count` pixels from pixel `first` of `out` on */
    size_t x, y;                   /* of the first */
    const struct warp_map *map;
    const void *fill;
    float error;               /* for WARP_PLACES: of places in floats */
    bool along;                /* the row may lie in the input as it is */
    double u[BLOCK], v[BLOCK]; /* where they come from; a block has whole groups */
    int32_t offset[BLOCK];     /* of the pixel at (floor u, floor v), in elements; or: */
    float fx[BLOCK + FULL], fy[BLOCK + FULL];
};

/* ---- Places -------------------------------------------------------------------------------------------------------------- */

/* Images too large for offsets of 31 bits have none. */
static bool has_offsets(const struct block *b, size_t last) {
    size_t row = b->in->width * b->in->step;
    return last > 0 && b->in->width < 1 << 24 && b->in->height < 1 << 24 && row < 1 << 28 &&
           b->in->height * row < (size_t)1 << 31;
}

#ifdef WARP_PLACES
#include WARP_PLACES
#endif

#ifndef WARP_PLACES
static void find_places(struct block *b, const struct warp_map *map, size_t x, size_t y) {
    const double *m = map->m;
    double first = (double)x + 0.5, row = (double)y + 0.5;
    double u = m[1] * row + m[2], v = m[4] * row + m[5], w = m[7] * row + m[8], du = m[0], dv = m[3], dw = m[6];
    int32_t count = (int32_t)b->count;
    for (int32_t k = 0; k < count; k++) {
        double at = first + (double)k;
        b->u[k] = du * at + u;
        b->v[k] = dv * at + v;
    }
    if (!map->perspective)
        return;
    for (int32_t k = 0; k < count; k++) {
        double by = dw * (first + (double)k) + w;
        bool ahead = by > 0;
        double over = ahead ? by : 1;
        b->u[k] = ahead ? b->u[k] / over : -8;
        b->v[k] = ahead ? b->v[k] / over : -8;
    }
}

/* Offsets of the pixels that lie in 0 .. width, 0 .. height (not included) and not behind `last`; fx, fy: how far behind the pixel's place.
 * Places that are `margin` away from there are outside. */
__attribute__((always_inline)) static inline void find_offsets(struct block *b, double width, double height,
                                                               double margin, size_t last) {
    size_t row = b->in->width * b->in->step;
    int32_t count = (int32_t)b->count, step = (int32_t)b->in->step, wide = (int32_t)row, most = (int32_t)last - 1;
    double u[BLOCK], v[BLOCK], shift = 0.5 * margin;
    if (!has_offsets(b, last)) {
        for (int32_t k = 0; k < count; k++)
            b->offset[k] = OFFSET_UNSURE;
        return;
    }
    for (int32_t k = 0; k < count; k++) {
        double x = b->u[k] - shift, y = b->v[k] - shift;
        bool inside = (x >= 0) & (x < width) & (y >= 0) & (y < height);
        bool near = margin > 0 && ((x > -margin) & (x < width + margin) & (y > -margin) & (y < height + margin));
        u[k] = inside ? x : near ? OFFSET_UNSURE : OFFSET_OUTSIDE;
        v[k] = inside ? y : 0;
    }
    for (int32_t k = 0; k < count; k++) {
        int32_t x = (int32_t)u[k], y = (int32_t)v[k], offset = y * wide + x * step;
        if (margin > 0) { /* a constant: pixels have no fractions */
            b->fx[k] = (float)(u[k] - (double)x);
            b->fy[k] = (float)(v[k] - (double)y);
        }
        offset = offset > most ? OFFSET_UNSURE : offset;
        b->offset[k] = x < 0 ? x : offset;
    }
}

static void find_all(struct block *b, double width, double height, bool neighbours, size_t last) {
    find_places(b, b->map, b->x, b->y);
    if (neighbours) /* two copies of the loop */
        find_offsets(b, width, height, 1, last);
    else
        find_offsets(b, width, height, 0, last);
}
#endif

static void find_pixels(struct block *b, size_t last) {
    find_all(b, (double)b->in->width, (double)b->in->height, false, last);
}

static void find_neighbours(struct block *b, size_t last) {
    find_all(b, (double)b->in->width - 1, (double)b->in->height - 1, true, last);
}

/* FULL offsets are pixels of the image; FULL offsets are outside. */
#ifdef COLOR_SPLIT
static inline __m128i four_offsets(const int32_t *offset) {
    return _mm_loadu_si128((const __m128i *)(const void *)offset);
}

static inline bool all_pixels(const int32_t *o) {
    __m128i some = _mm_or_si128(four_offsets(o), four_offsets(o + 4));
    some = _mm_or_si128(some, _mm_or_si128(four_offsets(o + 8), four_offsets(o + 12)));
    return _mm_movemask_epi8(_mm_srai_epi32(some, 31)) == 0;
}

static inline bool all_outside(const int32_t *o) {
    const __m128i outside = _mm_set1_epi32(OFFSET_OUTSIDE);
    __m128i same =
        _mm_and_si128(_mm_cmpeq_epi32(four_offsets(o), outside), _mm_cmpeq_epi32(four_offsets(o + 4), outside));
    same = _mm_and_si128(same, _mm_cmpeq_epi32(four_offsets(o + 8), outside));
    same = _mm_and_si128(same, _mm_cmpeq_epi32(four_offsets(o + 12), outside));
    return _mm_movemask_epi8(same) == 0xffff;
}
#else
static inline bool all_pixels(const int32_t *o) {
    int32_t all = 0;
    for (size_t i = 0; i < FULL; i++)
        all |= o[i];
    return all >= 0;
}

static inline bool all_outside(const int32_t *o) {
    int32_t other = 0;
    for (size_t i = 0; i < FULL; i++)
        other |= o[i] ^ OFFSET_OUTSIDE;
    return other == 0;
}
#endif

/* How many pixels from k on have an offset, and how many are outside. */
static size_t run_of(const struct block *b, size_t k) {
    size_t end = k;
    while (end + FULL <= b->count && all_pixels(b->offset + end))
        end += FULL;
    while (end < b->count && b->offset[end] >= 0)
        end++;
    return end - k;
}

static size_t outside_of(const struct block *b, size_t k) {
    size_t end = k;
    while (end + FULL <= b->count && all_outside(b->offset + end))
        end += FULL;
    while (end < b->count && b->offset[end] == OFFSET_OUTSIDE)
        end++;
    return end - k;
}

/* ---- Nearest -------------------------------------------------------------------------------------------------------------- */

/* A run that lies in the input as it does in the output. */
static bool is_straight(const struct block *b, size_t k, size_t n) {
    int32_t step = (int32_t)b->in->step, other = 0;
    if (!b->along || b->out->step != b->in->step)
        return false;
    for (size_t i = k + 1; i < k + n; i++)
        other |= (b->offset[i] - b->offset[i - 1]) ^ step;
    return other == 0;
}

static void copy_straight(const struct block *b, size_t k, size_t n, size_t element) {
    const uint8_t *from = (const uint8_t *)b->in->data + (size_t)b->offset[k] * element;
    uint8_t *o = (uint8_t *)b->out->data + (b->first + k) * b->out->step * element;
    size_t planes = b->in->plane == 1 && b->in->step >= b->channels ? 1 : b->channels; /* planes may be of one pixel */
    for (size_t c = 0; c < planes; c++)
        memcpy(o + c * b->out->plane * element, from + c * b->in->plane * element, n * b->in->step * element);
}

/* 8-bit RGB by four bytes, of which the last belongs to the next pixel. */
static void copy_rgb8(const struct block *b, size_t k, size_t n) {
    const uint8_t *from = b->in->data;
    uint8_t *o = (uint8_t *)b->out->data + (b->first + k) * 3;
    size_t i = 0;
#ifdef COLOR_SPLIT
    /* Four pixels in 16 bytes, of which the last four are written again. */
    const __m128i close = _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
    for (; i + 6 <= n; i += 4) {
        int32_t pixel[4];
        for (size_t j = 0; j < 4; j++)
            memcpy(&pixel[j], from + b->offset[k + i + j], 4);
        __m128i four = _mm_setr_epi32(pixel[0], pixel[1], pixel[2], pixel[3]);
        _mm_storeu_si128((__m128i *)(void *)(o + 3 * i), _mm_shuffle_epi8(four, close));
    }
#endif
    for (; i + 1 < n; i++)
        memcpy(o + 3 * i, from + b->offset[k + i], 4);
    memcpy(o + 3 * (n - 1), from + b->offset[k + n - 1], 3);
}

/* Bytes that are all the same. */
static inline bool one_value(const void *bytes, size_t count) {
    const uint8_t *b = bytes;
    for (size_t i = 1; i < count; i++)
        if (b[i] != b[0])
            return false;
    return true;
}

#define FILL(NAME, TYPE) \
    static void fill_##NAME(const struct block *b, size_t k, size_t n, const TYPE *fill) { \
        size_t step = b->out->step; \
        if (n > 0 && sizeof(TYPE) == 1 && b->out->plane == 1 && step == b->channels && one_value(fill, step)) { \
            memset((uint8_t *)b->out->data + (b->first + k) * step, *(const uint8_t *)fill, n * step); \
            return; \
        } \
        for (size_t c = 0; n > 0 && c < b->channels; c++) { \
            TYPE *o = (TYPE *)b->out->data + (b->first + k) * step + c * b->out->plane, v = fill[c]; \
            for (size_t i = 0; i < n; i++) \
                o[i * step] = v; \
        } \
    }

#define NEAREST(NAME, TYPE) \
    FILL(NAME, TYPE) \
    static void one_##NAME(const struct block *b, size_t k) { \
        TYPE *o = (TYPE *)b->out->data + (b->first + k) * b->out->step; \
        double u = b->u[k], v = b->v[k]; \
        bool inside = u >= 0 && u < (double)b->in->width && v >= 0 && v < (double)b->in->height; \
        const TYPE *i = b->fill; \
        if (inside) \
            i = (const TYPE *)b->in->data + ((size_t)v * b->in->width + (size_t)u) * b->in->step; \
        for (size_t c = 0; c < b->channels; c++) \
            o[c * b->out->plane] = i[c * (inside ? b->in->plane : 1)]; \
    } \
    static inline void some_##NAME(const struct block *b, size_t k, size_t n, size_t channels) { \
        const TYPE *from = b->in->data; \
        TYPE *o = (TYPE *)b->out->data + (b->first + k) * b->out->step; \
        for (size_t i = 0; i < n; i++, o += b->out->step) \
            for (size_t c = 0; c < channels; c++) \
                o[c * b->out->plane] = from[(size_t)b->offset[k + i] + c * b->in->plane]; \
    } \
    static void NAME(struct block *b) { \
        bool rgb8 = sizeof(TYPE) == 1 && b->channels == 3 && b->in->step == 3 && b->out->step == 3; \
        size_t pixels = b->in->width * b->in->height * b->in->step, slack = rgb8 ? 3 : 0; \
        find_pixels(b, pixels > slack ? pixels - slack : 0); \
        for (size_t k = 0, n; k < b->count; k += n) { \
            if ((n = outside_of(b, k)) > 0) \
                fill_##NAME(b, k, n, b->fill); \
            else if ((n = run_of(b, k)) == 0) \
                one_##NAME(b, k), n = 1; \
            else if (is_straight(b, k, n)) \
                copy_straight(b, k, n, sizeof(TYPE)); \
            else if (rgb8) \
                copy_rgb8(b, k, n); \
            else if (b->channels == 3) \
                some_##NAME(b, k, n, 3); \
            else if (b->channels == 1) \
                some_##NAME(b, k, n, 1); \
            else \
                some_##NAME(b, k, n, b->channels); \
        } \
    }
NEAREST(nearest_1, uint8_t)
NEAREST(nearest_2, uint16_t)
NEAREST(nearest_4, uint32_t)
NEAREST(nearest_8, uint64_t)

/* ---- Bilinear ------------------------------------------------------------------------------------------------------------- */

static inline float between(float a, float b, float d, float e, float fx, float fy) {
    float above = a + (b - a) * fx, below = d + (e - d) * fx;
    return above + (below - above) * fy;
}

/* The pixel whose centre lies at or before a place, and how far the place is behind it. */
struct spot {
    ptrdiff_t x, y;
    float fx, fy;
    bool near; /* some of the four pixels around it are in the image */
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
    return s;
}

/* Below 2^22 adding and taking away this leaves a whole number, rounded to the nearest even. */
#define WHOLE(TYPE, v) (TYPE)(int32_t)(((v) + 0x1.8p23f) - 0x1.8p23f)
#define REAL(TYPE, v) (v)

/* one_NAME is for pixels that may lie outside, some_NAME for a run: the four taps of its pixels are laid out beside each other, so that the
 * arithmetic is a straight loop. */
#define BILINEAR(NAME, TYPE, STORE) \
    FILL(NAME, TYPE) \
    static float tap_##NAME(const struct warp_side *in, const TYPE *from, ptrdiff_t x, ptrdiff_t y, float fill) { \
        if (x < 0 || y < 0 || (size_t)x >= in->width || (size_t)y >= in->height) \
            return fill; \
        return (float)from[((size_t)y * in->width + (size_t)x) * in->step]; \
    } \
    static void one_##NAME(const struct block *b, size_t k) { \
        struct spot s = find_spot(b->in, b->u[k] - 0.5, b->v[k] - 0.5); \
        TYPE *o = (TYPE *)b->out->data + (b->first + k) * b->out->step; \
        const float *fill = b->fill; \
        for (size_t c = 0; c < b->channels; c++, o += b->out->plane) { \
            const TYPE *p = (const TYPE *)b->in->data + c * b->in->plane; \
            if (!s.near) { \
                *o = STORE(TYPE, fill[c]); \
                continue; \
            } \
            float left = tap_##NAME(b->in, p, s.x, s.y, fill[c]); \
            float right = tap_##NAME(b->in, p, s.x + 1, s.y, fill[c]); \
            float low_left = tap_##NAME(b->in, p, s.x, s.y + 1, fill[c]); \
            float low_right = tap_##NAME(b->in, p, s.x + 1, s.y + 1, fill[c]); \
            *o = STORE(TYPE, between(left, right, low_left, low_right, s.fx, s.fy)); \
        } \
    } \
    static void outside_##NAME(const struct block *b, size_t k, size_t n) { \
        TYPE fill[4] = {0}; \
        for (size_t c = 0; c < b->channels; c++) \
            fill[c] = STORE(TYPE, ((const float *)b->fill)[c]); \
        fill_##NAME(b, k, n, fill); \
    } \
    static void some_##NAME(const struct block *b, size_t k, size_t n) { \
        size_t right = b->in->step, down = b->in->width * b->in->step, step = b->out->step; \
        TYPE tap[4][BLOCK], result[BLOCK]; \
        for (size_t c = 0; c < b->channels; c++) { \
            const TYPE *from = (const TYPE *)b->in->data + c * b->in->plane; \
            TYPE *o = (TYPE *)b->out->data + (b->first + k) * step + c * b->out->plane; \
            for (size_t i = 0; i < n; i++) { \
                const TYPE *p = from + (size_t)b->offset[k + i]; \
                tap[0][i] = p[0]; \
                tap[1][i] = p[right]; \
                tap[2][i] = p[down]; \
                tap[3][i] = p[down + right]; \
            } \
            for (size_t i = 0; i < n; i++) \
                result[i] = STORE(TYPE, between((float)tap[0][i], (float)tap[1][i], (float)tap[2][i], \
                                                (float)tap[3][i], b->fx[k + i], b->fy[k + i])); \
            for (size_t i = 0; i < n; i++) \
                o[i * step] = result[i]; \
        } \
    }
BILINEAR(bilinear_u8, uint8_t, WHOLE)
BILINEAR(bilinear_u16, uint16_t, WHOLE)
BILINEAR(bilinear_f32, float, REAL)

#ifdef COLOR_SPLIT
/* 8 bytes and 8 bytes into one store. */
static inline void pair_of(const uint8_t *one, const uint8_t *two, uint32_t *out) {
    __m128i low = _mm_loadl_epi64((const __m128i *)(const void *)one);
    __m128i high = _mm_loadl_epi64((const __m128i *)(const void *)two);
    _mm_storeu_si128((__m128i *)(void *)out, _mm_unpacklo_epi64(low, high));
}
#endif

/* Two pixels of 8-bit RGB beside each other, as two words of which the second's upper half is not theirs: r g b r | g b . . */
#define BYTE(word, k) (float)(int32_t)(((word) >> (8 * (k))) & 255)
static void some_rgb8(const struct block *b, size_t k, size_t n) {
    uint32_t above[2 * BLOCK], below[2 * BLOCK];
    int32_t value[3][BLOCK];
    uint8_t color[3][BLOCK], *o = (uint8_t *)b->out->data + (b->first + k) * 3;
    const uint8_t *from = b->in->data, *low = from + b->in->width * 3;
    const float *fx = b->fx + k, *fy = b->fy + k;
    size_t full = (n + FULL - 1) / FULL * FULL;
    size_t i = 0;
#ifdef COLOR_SPLIT
    for (; i + 2 <= n; i += 2) {
        pair_of(from + b->offset[k + i], from + b->offset[k + i + 1], above + 2 * i);
        pair_of(low + b->offset[k + i], low + b->offset[k + i + 1], below + 2 * i);
    }
#endif
    for (; i < n; i++) {
        memcpy(above + 2 * i, from + b->offset[k + i], 8);
        memcpy(below + 2 * i, low + b->offset[k + i], 8);
    }
    memset(above + 2 * n, 0, (full - n) * 8);
    memset(below + 2 * n, 0, (full - n) * 8);
    for (i = 0; i < full; i++) {
        uint32_t a = above[2 * i], c = above[2 * i + 1], d = below[2 * i], e = below[2 * i + 1];
        value[0][i] = WHOLE(int32_t, between(BYTE(a, 0), BYTE(a, 3), BYTE(d, 0), BYTE(d, 3), fx[i], fy[i]));
        value[1][i] = WHOLE(int32_t, between(BYTE(a, 1), BYTE(c, 0), BYTE(d, 1), BYTE(e, 0), fx[i], fy[i]));
        value[2][i] = WHOLE(int32_t, between(BYTE(a, 2), BYTE(c, 1), BYTE(d, 2), BYTE(e, 1), fx[i], fy[i]));
    }
    for (size_t c = 0; c < 3; c++)
        for (i = 0; i < full; i++)
            color[c][i] = (uint8_t)value[c][i];
    i = 0;
#ifdef COLOR_SPLIT
    for (; i + 16 <= n; i += 16)
        join(color[0] + i, color[1] + i, color[2] + i, o + 3 * i);
#endif
    for (; i < n; i++) {
        o[3 * i] = color[0][i];
        o[3 * i + 1] = color[1][i];
        o[3 * i + 2] = color[2][i];
    }
}

/* one, some, outside: for a pixel, for a run and for a run of `fill`. slack: elements behind a pixel's neighbours that are read too. */
static inline void bilinear(struct block *b, size_t slack, void (*one)(const struct block *, size_t),
                            void (*some)(const struct block *, size_t, size_t),
                            void (*outside)(const struct block *, size_t, size_t)) {
    const struct warp_side *in = b->in;
    size_t all = in->width * in->height * in->step, used = (in->width + 2) * in->step + slack;
    find_neighbours(b, all >= used ? all - used + 1 : 0);
    for (size_t k = 0, n; k < b->count; k += n) {
        if ((n = run_of(b, k)) > 0)
            some(b, k, n);
        else if ((n = outside_of(b, k)) > 0)
            outside(b, k, n);
        else
            one(b, k), n = 1;
    }
}

static void blocks_u8(struct block *b) {
    if (b->channels == 3 && b->in->step == 3 && b->out->step == 3)
        bilinear(b, 2, one_bilinear_u8, some_rgb8, outside_bilinear_u8);
    else
        bilinear(b, 0, one_bilinear_u8, some_bilinear_u8, outside_bilinear_u8);
}

static void blocks_u16(struct block *b) {
    bilinear(b, 0, one_bilinear_u16, some_bilinear_u16, outside_bilinear_u16);
}

static void blocks_f32(struct block *b) {
    bilinear(b, 0, one_bilinear_f32, some_bilinear_f32, outside_bilinear_f32);
}

/* ---- Rows ----------------------------------------------------------------------------------------------------------------------- */

static void each_block(const struct warp *w, void (*run)(struct block *b)) {
    struct block b = {.in = w->in, .out = w->out, .channels = w->channels, .map = w->map, .fill = w->fill};
    const double *m = w->map->m;
    b.along = !w->map->perspective && m[0] >= 1 && m[0] <= 1 && m[3] >= 0 && m[3] <= 0;
#ifdef WARP_PLACES
    b.error = rough_error(&b);
#endif
    for (size_t y = 0; y < b.out->height; y++)
        for (size_t x = 0; x < b.out->width; x += BLOCK) {
            b.first = y * b.out->width + x;
            b.count = b.out->width - x < BLOCK ? b.out->width - x : BLOCK;
            b.x = x;
            b.y = y;
            run(&b);
        }
}

void WARP_NAME(mldfi_warp_nearest)(const struct warp *w) {
    each_block(w, w->element == 1 ? nearest_1 : w->element == 2 ? nearest_2 : w->element == 4 ? nearest_4 : nearest_8);
}

void WARP_NAME(mldfi_warp_bilinear)(const struct warp *w) {
    each_block(w, w->element == 1 ? blocks_u8 : w->element == 2 ? blocks_u16 : blocks_f32);
}
