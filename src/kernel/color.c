/* color.h: what looks at the colours of a pixel together, in blocks of floats. */
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

/* One pixel of 0..1 through hue, saturation, value and back. */
static inline void turn_pixel(float *red, float *green, float *blue, float turn) {
    float r = *red, g = *green, b = *blue;
    float most = r > g ? r : g, least = r > g ? g : r;
    most = b > most ? b : most;
    least = b < least ? b : least;
    float range = most - least;
    bool flat = !(range > 0 || range < 0); /* gray */
    float s = range / (flat ? 1.0f : most), divisor = flat ? 1.0f : range;
    float rc = (most - r) / divisor, gc = (most - g) / divisor, bc = (most - b) / divisor;
    float h = r >= most ? bc - gc : g >= most ? rc + 2.0f - bc : gc + 4.0f - rc;
    h = h * (float)(1.0 / 6.0) + 1.0f; /* 5/6 .. 11/6 */
    h = h >= 1.0f ? h - 1.0f : h;
    h += turn; /* -0.5 .. 1.5 */
    h = h < 0.0f ? h + 1.0f : h >= 1.0f ? h - 1.0f : h;
    float h6 = h * 6.0f;
    int32_t sector = h6 >= 0 && h6 < 7 ? (int32_t)h6 : 0; /* floats may hold anything */
    float f = h6 - (float)sector, sf = s * f, rest = 1.0f - s;
    float q = mldfi_held((1.0f - sf) * most, 1.0f), t = mldfi_held((sf + rest) * most, 1.0f),
          p = mldfi_held(rest * most, 1.0f), v = most;
    sector = sector >= 6 ? 0 : sector;
    *red = sector == 0 || sector == 5 ? v : sector == 1 ? q : sector == 4 ? t : p;
    *green = sector == 1 || sector == 2 ? v : sector == 0 ? t : sector == 3 ? q : p;
    *blue = sector == 3 || sector == 4 ? v : sector == 2 ? t : sector == 5 ? q : p;
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
        for (size_t k = 0; k < n; k++)
            turn_pixel(&color[0][k], &color[1][k], &color[2][k], (float)turn);
        for (size_t c = 0; c < 3; c++) {
            for (size_t k = 0; whole && k < n; k++)
                color[c][k] = mldfi_held(color[c][k] * back, white);
            mldfi_block_store(p, c, at, n, color[c]);
        }
    }
}

/* ---- Sharpness --------------------------------------------------------------------------------------------------------------- */

/* Rows of whole numbers: nine taps as integers, exactly rounded. */
#define SHARPEN(NAME, TYPE, SMOOTH) \
    static void NAME(const TYPE *in, size_t row, size_t step, size_t n, float keep, float white, TYPE *out) { \
        for (size_t k = 0; k < n; k++) { \
            const TYPE *m = in + k * step, *u = m - row, *d = m + row; \
            float v = (float)*m, smooth = SMOOTH(TYPE); \
            out[k * step] = (TYPE)mldfi_held(v + (smooth - v) * keep, white); \
        } \
    }
/* A whole number is never half way between two thirteenths, so that this is the nearest. */
#define WHOLE(TYPE) \
    (float)((2u * ((uint32_t)u[0 - step] + u[0] + u[step] + m[0 - step] + 5u * m[0] + m[step] + d[0 - step] + d[0] + \
                   d[step]) + \
             13u) / \
            26u)
#define A13 ((float)(1.0 / 13.0))
#define B13 ((float)(5.0 / 13.0))
#define REAL(TYPE) \
    (u[0 - step] * A13 + u[0] * A13 + u[step] * A13 + m[0 - step] * A13 + m[0] * B13 + m[step] * A13 + \
     d[0 - step] * A13 + d[0] * A13 + d[step] * A13)
SHARPEN(sharpen_u8, uint8_t, WHOLE)
SHARPEN(sharpen_u16, uint16_t, WHOLE)
SHARPEN(sharpen_f32, float, REAL)

void mldfi_sharpen(const struct pixels *from, size_t width, double factor, const struct pixels *to) {
    size_t height = width ? from->count / width : 0, step = from->step, row = width * step;
    float keep = (float)(1.0 - factor), white = mldfi_white(from->dtype);
    for (size_t c = 0; c < from->channels; c++)
        mldfi_copy_channel(from, c, to, c);
    if (height <= 2 || width <= 2)
        return;
    for (size_t c = 0; c < mldfi_colors(from); c++)
        for (size_t y = 1; y + 1 < height; y++) {
            size_t at = c * from->plane + y * row + step;
            if (from->dtype == MLDF_U8)
                sharpen_u8((const uint8_t *)from->data + at, row, step, width - 2, keep, white,
                           (uint8_t *)to->data + at);
            else if (from->dtype == MLDF_U16)
                sharpen_u16((const uint16_t *)from->data + at, row, step, width - 2, keep, white,
                            (uint16_t *)to->data + at);
            else
                sharpen_f32((const float *)from->data + at, row, step, width - 2, keep, white, (float *)to->data + at);
        }
}
