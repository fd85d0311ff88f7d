/* The loops over the colours of a pixel together, as text: a file for each instruction set includes it, and the compiler makes the vectors. So every
 * set gives the same bits: the same IEEE operations in the same order, without contraction (-ffp-contract=off). Before the include:
 *     COLOR_NAME(x)    the name of x for this set
 *     split, join      16 pixels of RGB, 8 bits, into three runs and back; or neither (COLOR_SPLIT says so)
 *     COLOR_LANES      color_lanes.h knows this set: 8-bit RGB, pixel by pixel, which is what most images are, stays in registers (color_pixels.h) */
#include <string.h>

#include "kernel/color_block.h"
#include "kernel/variants.h"

static bool is_rgb8(const struct pixels *p) {
    return p->dtype == MLDF_U8 && p->step == 3 && p->plane == 1;
}

static void load_colors(const struct pixels *p, size_t at, size_t n, float color[3][COLOR_BLOCK]) {
    uint8_t run[3][COLOR_BLOCK];
    if (!is_rgb8(p)) {
        for (size_t c = 0; c < 3; c++)
            mldfi_block_load(p, c, at, n, color[c]);
        return;
    }
    const uint8_t *in = (const uint8_t *)p->data + 3 * at;
    size_t k = 0;
#ifdef COLOR_SPLIT
    for (; k + 16 <= n; k += 16)
        split(in + 3 * k, run[0] + k, run[1] + k, run[2] + k);
#endif
    for (; k < n; k++) {
        run[0][k] = in[3 * k];
        run[1][k] = in[3 * k + 1];
        run[2][k] = in[3 * k + 2];
    }
    for (size_t c = 0; c < 3; c++)
        for (k = 0; k < n; k++)
            color[c][k] = (float)run[c][k];
}

static void store_colors(const struct pixels *p, size_t at, size_t n, float color[3][COLOR_BLOCK]) {
    uint8_t run[3][COLOR_BLOCK];
    if (!is_rgb8(p)) {
        for (size_t c = 0; c < 3; c++)
            mldfi_block_store(p, c, at, n, color[c]);
        return;
    }
    for (size_t c = 0; c < 3; c++)
        for (size_t k = 0; k < n; k++)
            run[c][k] = (uint8_t)(int32_t)color[c][k];
    uint8_t *out = (uint8_t *)p->data + 3 * at;
    size_t k = 0;
#ifdef COLOR_SPLIT
    for (; k + 16 <= n; k += 16)
        join(run[0] + k, run[1] + k, run[2] + k, out + 3 * k);
#endif
    for (; k < n; k++) {
        out[3 * k] = run[0][k];
        out[3 * k + 1] = run[1][k];
        out[3 * k + 2] = run[2][k];
    }
}

/* ---- Gray --------------------------------------------------------------------------------------------------------------- */

static void gray_block(const float *r, const float *g, const float *b, size_t n, bool whole, float *out) {
    for (size_t k = 0; k < n; k++)
        out[k] = r[k] * 0.2989f + g[k] * 0.587f + b[k] * 0.114f;
    for (size_t k = 0; whole && k < n; k++)
        out[k] = (float)(int32_t)out[k];
}

static void load_gray(const struct pixels *p, size_t at, size_t n, bool whole, float *out) {
    float color[3][COLOR_BLOCK];
    if (p->channels < 3) {
        mldfi_block_load(p, 0, at, n, out);
        return;
    }
    load_colors(p, at, n, color);
    gray_block(color[0], color[1], color[2], n, whole, out);
}

void COLOR_NAME(mldfi_gray)(const struct pixels *p, const struct pixels *to) {
    float color[3][COLOR_BLOCK], gray[COLOR_BLOCK];
    for (size_t at = 0; at < p->count; at += COLOR_BLOCK) {
        size_t n = mldfi_block_size(p, at);
        load_gray(p, at, n, false, gray);
        if (to->channels >= 3) {
            for (size_t c = 0; c < 3; c++)
                memcpy(color[c], gray, n * sizeof *gray);
            store_colors(to, at, n, color);
        } else {
            mldfi_block_store(to, 0, at, n, gray);
        }
    }
}

/* ---- Hue ------------------------------------------------------------------------------------------------------------------ */

/* The whole part of 0 .. 6; of a NaN, which only floats can have, 0. */
static inline float steps(float v) {
    float sum = 0.0f;
    sum += v >= 1.0f ? 1.0f : 0.0f;
    sum += v >= 2.0f ? 1.0f : 0.0f;
    sum += v >= 3.0f ? 1.0f : 0.0f;
    sum += v >= 4.0f ? 1.0f : 0.0f;
    sum += v >= 5.0f ? 1.0f : 0.0f;
    sum += v >= 6.0f ? 1.0f : 0.0f;
    return sum;
}

/* v * hi + v * lo is v / white, rounded once, for every whole v: v * hi is exact, and what v * lo lacks is too little to matter. There are few
 * enough of them to try (tests/unit/kernel/test_color.c). Back they come as floor(v * back). */
struct whole_range {
    float hi, lo, white, back;
};

static struct whole_range whole_range(mldf_dtype dtype) {
    float white = mldfi_white(dtype), back = (float)((double)white + 1.0 - 1e-3);
    if (dtype == MLDF_U8)
        return (struct whole_range){COLOR_HI_8, COLOR_LO_8, white, back};
    return (struct whole_range){COLOR_HI_16, COLOR_LO_16, white, back};
}

/* Pixels of 0..1 (whole: of 0..white) through hue, saturation, value and back: without branches,
 * so that the compiler can take several at a time. */
__attribute__((always_inline)) static inline void turn_block(float *restrict red, float *restrict green,
                                                             float *restrict blue, size_t n, float turn, bool whole,
                                                             struct whole_range of) {
    float hi = of.hi, lo = of.lo, white = of.white, back = of.back;
    for (size_t k = 0; k < n; k++) {
        float r = red[k], g = green[k], b = blue[k];
        r = whole ? r * hi + r * lo : r;
        g = whole ? g * hi + g * lo : g;
        b = whole ? b * hi + b * lo : b;
        float most = r > g ? r : g, least = r > g ? g : r;
        most = b > most ? b : most;
        least = b < least ? b : least;
        float range = most - least;
        bool flat = range <= 0; /* gray */
        float s = range / (flat ? 1.0f : most), divisor = flat ? 1.0f : range;
        float x = g >= most ? r : g, y = g >= most ? b : r, base = g >= most ? 2.0f : 4.0f;
        x = r >= most ? b : x;
        y = r >= most ? g : y;
        base = r >= most ? 0.0f : base;
        float h = (most - x) / divisor + base - (most - y) / divisor;
        h = h * (float)(1.0 / 6.0) + 1.0f; /* 5/6 .. 11/6 */
        h -= h >= 1.0f ? 1.0f : 0.0f;
        h += turn; /* -0.5 .. 1.5 */
        float wrapped = h >= 1.0f ? h - 1.0f : h;
        h = h < 0.0f ? h + 1.0f : wrapped;
        float h6 = h * 6.0f, sector = whole ? (float)(int32_t)h6 : steps(h6);
        float f = h6 - sector, sf = s * f, rest = 1.0f - s;
        float q = mldfi_held((1.0f - sf) * most, 1.0f), t = mldfi_held((sf + rest) * most, 1.0f),
              p = mldfi_held(rest * most, 1.0f), v = most;
        sector -= sector >= 6.0f ? 6.0f : 0.0f;
        /*  sector   0  1  2  3  4  5
         *  red      v  q  p  p  t  v
         *  green    t  v  v  q  p  p
         *  blue     p  p  t  v  v  q */
        r = sector >= 5.0f ? v : t;
        r = sector >= 4.0f ? r : p;
        r = sector >= 2.0f ? r : q;
        r = sector >= 1.0f ? r : v;
        g = sector >= 4.0f ? p : q;
        g = sector >= 3.0f ? g : v;
        g = sector >= 1.0f ? g : t;
        b = sector >= 5.0f ? q : v;
        b = sector >= 3.0f ? b : t;
        b = sector >= 2.0f ? b : p;
        red[k] = whole ? mldfi_held(r * back, white) : r;
        green[k] = whole ? mldfi_held(g * back, white) : g;
        blue[k] = whole ? mldfi_held(b * back, white) : b;
    }
}

/* ---- All of them, one after the other ------------------------------------------------------------------------------------- */

static void cut_block(float *v, size_t n) {
    for (size_t k = 0; k < n; k++)
        v[k] = (float)(int32_t)v[k];
}

static void blend_block(float *restrict v, const float *restrict with, size_t n, float a, float b, float white) {
    if (!with)
        for (size_t k = 0; k < n; k++)
            v[k] = mldfi_held(v[k] * a + b, white);
    else
        for (size_t k = 0; k < n; k++)
            v[k] = mldfi_held(v[k] * a + with[k] * b, white);
}

/* One step on a block of `colors` runs. Between steps whole numbers are whole, as they would be in the image. */
static void recolor_block(float color[3][COLOR_BLOCK], size_t colors, size_t n, const struct recolor *step,
                          mldf_dtype dtype) {
    float gray[COLOR_BLOCK], white = mldfi_white(dtype);
    bool is_whole = dtype != MLDF_F32;
    if (step->kind != RECOLOR_BLEND && colors < 3)
        return;
    if (step->kind == RECOLOR_HUE) {
        if (is_whole) /* two copies of the loop */
            turn_block(color[0], color[1], color[2], n, step->a, true, whole_range(dtype));
        else
            turn_block(color[0], color[1], color[2], n, step->a, false, whole_range(dtype));
    } else if (step->kind == RECOLOR_GRAY) {
        gray_block(color[0], color[1], color[2], n, false, gray);
        for (size_t c = 0; c < 3; c++)
            memcpy(color[c], gray, n * sizeof *gray);
    } else {
        bool with_gray = step->kind == RECOLOR_SATURATE;
        if (with_gray)
            gray_block(color[0], color[1], color[2], n, is_whole, gray);
        for (size_t c = 0; c < colors; c++)
            blend_block(color[c], with_gray ? gray : NULL, n, step->a, step->b, white);
    }
    for (size_t c = 0; is_whole && c < colors; c++)
        cut_block(color[c], n);
}

#ifdef COLOR_LANES
#include "kernel/color_pixels.h"
#endif

float COLOR_NAME(mldfi_recolor)(const struct pixels *p, const struct recolor *steps, size_t count, bool mean) {
    float color[3][COLOR_BLOCK], gray[COLOR_BLOCK];
    size_t colors = mldfi_colors(p);
    bool is_whole = p->dtype != MLDF_F32;
    uint64_t sum = 0;
    double real = 0;
#ifdef COLOR_LANES
    if (is_rgb8(p))
        return recolor_rgb8(p, steps, count, mean);
#endif
    for (size_t at = 0; at < p->count; at += COLOR_BLOCK) {
        size_t n = mldfi_block_size(p, at);
        if (colors == 3)
            load_colors(p, at, n, color);
        else
            mldfi_block_load(p, 0, at, n, color[0]);
        for (size_t i = 0; i < count; i++)
            recolor_block(color, colors, n, &steps[i], p->dtype);
        if (count && colors == 3)
            store_colors(p, at, n, color);
        else if (count)
            mldfi_block_store(p, 0, at, n, color[0]);
        if (!mean)
            continue;
        if (colors == 3)
            gray_block(color[0], color[1], color[2], n, is_whole, gray);
        else
            memcpy(gray, color[0], n * sizeof *gray);
        uint32_t part = 0; /* at most 128 times 65535 */
        for (size_t k = 0; is_whole && k < n; k++)
            part += (uint32_t)(int32_t)gray[k];
        sum += part;
        for (size_t k = 0; !is_whole && k < n; k++)
            real += gray[k];
    }
    return mean && p->count ? (float)((is_whole ? (double)sum : real) / (double)p->count) : 0;
}
