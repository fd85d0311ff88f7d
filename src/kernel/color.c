/* color.h: what looks at the colours of a pixel together, in blocks of floats. */
#include <string.h>

#include "kernel/color_block.h"

float mldfi_white(mldf_dtype dtype) {
    return dtype == MLDF_U8 ? 255.0f : dtype == MLDF_U16 ? 65535.0f : 1.0f;
}

/* ---- Gray --------------------------------------------------------------------------------------------------------------- */

static void gray_block(const float *r, const float *g, const float *b, size_t n, bool whole, float *out) {
    for (size_t k = 0; k < n; k++)
        out[k] = r[k] * 0.2989f + g[k] * 0.587f + b[k] * 0.114f;
    for (size_t k = 0; whole && k < n; k++)
        out[k] = (float)(int32_t)out[k];
}

static void load_colors(const struct pixels *p, size_t at, size_t n, float color[3][COLOR_BLOCK]) {
    for (size_t c = 0; c < 3; c++)
        mldfi_block_load(p, c, at, n, color[c]);
}

void mldfi_gray(const struct pixels *p, const struct pixels *to) {
    float color[3][COLOR_BLOCK], gray[COLOR_BLOCK];
    for (size_t at = 0; at < p->count; at += COLOR_BLOCK) {
        size_t n = mldfi_block_size(p, at);
        if (p->channels < 3) {
            mldfi_block_load(p, 0, at, n, gray);
        } else {
            load_colors(p, at, n, color);
            gray_block(color[0], color[1], color[2], n, false, gray);
        }
        for (size_t c = 0; c < mldfi_colors(to); c++)
            mldfi_block_store(to, c, at, n, gray);
    }
}

void mldfi_copy_channel(const struct pixels *from, size_t channel, const struct pixels *to, size_t to_channel) {
    float v[COLOR_BLOCK];
    for (size_t at = 0; at < from->count; at += COLOR_BLOCK) {
        size_t n = mldfi_block_size(from, at);
        mldfi_block_load(from, channel, at, n, v);
        mldfi_block_store(to, to_channel, at, n, v);
    }
}

float mldfi_gray_mean(const struct pixels *p) {
    float color[3][COLOR_BLOCK], gray[COLOR_BLOCK];
    bool whole = p->dtype != MLDF_F32;
    uint64_t sum = 0;
    double real = 0;
    if (p->count == 0)
        return 0;
    for (size_t at = 0; at < p->count; at += COLOR_BLOCK) {
        size_t n = mldfi_block_size(p, at);
        if (p->channels < 3) {
            mldfi_block_load(p, 0, at, n, gray);
        } else {
            load_colors(p, at, n, color);
            gray_block(color[0], color[1], color[2], n, whole, gray);
        }
        for (size_t k = 0; k < n; k++) {
            if (whole)
                sum += (uint64_t)(uint32_t)(int32_t)gray[k];
            else
                real += gray[k];
        }
    }
    return (float)((whole ? (double)sum : real) / (double)p->count);
}

void mldfi_saturate(const struct pixels *p, double ratio) {
    float color[3][COLOR_BLOCK], gray[COLOR_BLOCK], a = (float)ratio, b = (float)(1.0 - ratio);
    float white = mldfi_white(p->dtype);
    if (p->channels < 3)
        return;
    for (size_t at = 0; at < p->count; at += COLOR_BLOCK) {
        size_t n = mldfi_block_size(p, at);
        load_colors(p, at, n, color);
        gray_block(color[0], color[1], color[2], n, p->dtype != MLDF_F32, gray);
        for (size_t c = 0; c < 3; c++) {
            for (size_t k = 0; k < n; k++)
                color[c][k] = mldfi_held(color[c][k] * a + gray[k] * b, white);
            mldfi_block_store(p, c, at, n, color[c]);
        }
    }
}

/* ---- Hue ------------------------------------------------------------------------------------------------------------------ */

/* Pixels of 0..1 through hue, saturation, value and back: without branches, so that the compiler can take several at a time. */
static void turn_block(float *restrict red, float *restrict green, float *restrict blue, size_t n, float turn) {
    for (size_t k = 0; k < n; k++) {
        float r = red[k], g = green[k], b = blue[k];
        float most = r > g ? r : g, least = r > g ? g : r;
        most = b > most ? b : most;
        least = b < least ? b : least;
        float range = most - least;
        bool flat = range <= 0; /* gray */
        float s = range / (flat ? 1.0f : most), divisor = flat ? 1.0f : range;
        float rc = (most - r) / divisor, gc = (most - g) / divisor, bc = (most - b) / divisor;
        float from_r = bc - gc, from_g = rc + 2.0f - bc, from_b = gc + 4.0f - rc;
        float h = g >= most ? from_g : from_b;
        h = r >= most ? from_r : h;
        h = h * (float)(1.0 / 6.0) + 1.0f; /* 5/6 .. 11/6 */
        h -= h >= 1.0f ? 1.0f : 0.0f;
        h += turn; /* -0.5 .. 1.5 */
        float wrapped = h >= 1.0f ? h - 1.0f : h;
        h = h < 0.0f ? h + 1.0f : wrapped;
        float h6 = h * 6.0f, sector = 0.0f;
        sector += h6 >= 1.0f ? 1.0f : 0.0f;
        sector += h6 >= 2.0f ? 1.0f : 0.0f;
        sector += h6 >= 3.0f ? 1.0f : 0.0f;
        sector += h6 >= 4.0f ? 1.0f : 0.0f;
        sector += h6 >= 5.0f ? 1.0f : 0.0f;
        sector += h6 >= 6.0f ? 1.0f : 0.0f;
        float f = h6 - sector, sf = s * f, rest = 1.0f - s;
        float q = mldfi_held((1.0f - sf) * most, 1.0f), t = mldfi_held((sf + rest) * most, 1.0f),
              p = mldfi_held(rest * most, 1.0f), v = most;
        sector -= sector >= 6.0f ? 6.0f : 0.0f;
        /*  sector   0  1  2  3  4  5
         *  red      v  q  p  p  t  v
         *  green    t  v  v  q  p  p
         *  blue     p  p  t  v  v  q */
        float x = sector >= 5.0f ? v : t;
        x = sector >= 4.0f ? x : p;
        x = sector >= 2.0f ? x : q;
        red[k] = sector >= 1.0f ? x : v;
        x = sector >= 4.0f ? p : q;
        x = sector >= 3.0f ? x : v;
        green[k] = sector >= 1.0f ? x : t;
        x = sector >= 5.0f ? q : v;
        x = sector >= 3.0f ? x : t;
        blue[k] = sector >= 2.0f ? x : p;
    }
}

void mldfi_turn_hue(const struct pixels *p, double turn) {
    float color[3][COLOR_BLOCK], white = mldfi_white(p->dtype), back = (float)((double)white + 1.0 - 1e-3);
    bool whole = p->dtype != MLDF_F32;
    if (p->channels < 3)
        return;
    for (size_t at = 0; at < p->count; at += COLOR_BLOCK) {
        size_t n = mldfi_block_size(p, at);
        load_colors(p, at, n, color);
        for (size_t c = 0; whole && c < 3; c++)
            for (size_t k = 0; k < n; k++)
                color[c][k] /= white;
        turn_block(color[0], color[1], color[2], n, (float)turn);
        for (size_t c = 0; c < 3; c++) {
            for (size_t k = 0; whole && k < n; k++)
                color[c][k] = mldfi_held(color[c][k] * back, white);
            mldfi_block_store(p, c, at, n, color[c]);
        }
    }
}

/* ---- Sharpness --------------------------------------------------------------------------------------------------------------- */

/* A run of elements of one row: neighbours are `step` apart along the row and `row` between rows. */
#define SHARPEN(NAME, TYPE, SMOOTH) \
    static void NAME(const TYPE *restrict m, size_t row, size_t step, size_t n, float keep, float white, \
                     TYPE *restrict out) { \
        const TYPE *u = m - row, *d = m + row; \
        for (size_t k = 0; k < n; k++) { \
            float v = (float)m[k], smooth = SMOOTH; \
            out[k] = (TYPE)mldfi_held(v + (smooth - v) * keep, white); \
        } \
    }
#define A13 ((float)(1.0 / 13.0))
#define B13 ((float)(5.0 / 13.0))
#define SUM (u[k - step] + u[k] + u[k + step] + m[k - step] + 5 * m[k] + m[k + step] + d[k - step] + d[k] + d[k + step])
/* The sum is exact, and a thirteenth of it is at least 1/26 away from where rounding turns: far more than the product's error. */
#define WHOLE (float)(int32_t)((float)SUM * A13 + 0.5f)
#define REAL \
    (u[k - step] * A13 + u[k] * A13 + u[k + step] * A13 + m[k - step] * A13 + m[k] * B13 + m[k + step] * A13 + \
     d[k - step] * A13 + d[k] * A13 + d[k + step] * A13)
SHARPEN(sharpen_u8, uint8_t, WHOLE)
SHARPEN(sharpen_u16, uint16_t, WHOLE)
SHARPEN(sharpen_f32, float, REAL)

static void sharpen_run(const struct pixels *from, size_t at, size_t row, size_t step, size_t n, float keep,
                        const struct pixels *to) {
    float white = mldfi_white(from->dtype);
    if (from->dtype == MLDF_U8)
        sharpen_u8((const uint8_t *)from->data + at, row, step, n, keep, white, (uint8_t *)to->data + at);
    else if (from->dtype == MLDF_U16)
        sharpen_u16((const uint16_t *)from->data + at, row, step, n, keep, white, (uint16_t *)to->data + at);
    else
        sharpen_f32((const float *)from->data + at, row, step, n, keep, white, (float *)to->data + at);
}

/* Interleaved channels go together, alpha too, which is put back in the end. */
void mldfi_sharpen(const struct pixels *from, size_t width, double factor, const struct pixels *to) {
    size_t height = width ? from->count / width : 0, step = from->step, row = width * step;
    size_t planes = from->plane == 1 ? 1 : mldfi_colors(from);
    float keep = (float)(1.0 - factor);
    memcpy(to->data, from->data, from->count * from->channels * mldf_dtype_bytes(from->dtype));
    if (height <= 2 || width <= 2)
        return;
    for (size_t c = 0; c < planes; c++)
        for (size_t y = 1; y + 1 < height; y++)
            sharpen_run(from, c * from->plane + y * row + step, row, step, row - 2 * step, keep, to);
    if (from->channels % 2 == 0)
        mldfi_copy_channel(from, from->channels - 1, to, from->channels - 1);
}
