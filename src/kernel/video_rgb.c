/* See video_rgb.h. */
#include "kernel/video_rgb.h"

#include <string.h>

enum { SHIFT = 18 }; /* 2^-14, and sixteenths of chroma */

static const struct {
    uint32_t number;
    double kr, kb;
} matrices[] = {
    {1, 0.2126, 0.0722}, {4, 0.30, 0.11},     {5, 0.299, 0.114},    {6, 0.299, 0.114},
    {7, 0.212, 0.087},   {9, 0.2627, 0.0593}, {10, 0.2627, 0.0593},
};
enum { MATRICES = sizeof matrices / sizeof matrices[0] };

bool mldfi_video_matrix_known(uint32_t matrix) {
    for (int i = 0; i < MATRICES; i++)
        if (matrices[i].number == matrix)
            return true;
    return false;
}

static int64_t fixed(double x) {
    double scaled = x * (double)(1 << 14);
    return (int64_t)(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
}

void mldfi_video_rgb_begin(struct video_rgb *v, const struct video_planes *in, uint32_t bits) {
    double most = bits == 16 ? 65535 : 255, one = (double)((uint32_t)1 << (in->bits - 8));
    double luma = in->full ? most / (256 * one - 1) : most / (219 * one);
    double chroma = in->full ? most / (256 * one - 1) : most / (224 * one);
    double kr = 0.299, kb = 0.114;
    for (int i = 0; i < MATRICES; i++)
        if (matrices[i].number == in->matrix) {
            kr = matrices[i].kr;
            kb = matrices[i].kb;
        }
    double kg = 1 - kr - kb;
    v->in = *in;
    v->most = (int32_t)most;
    v->luma = fixed(luma);
    v->red_cr = fixed(chroma * 2 * (1 - kr));
    v->blue_cb = fixed(chroma * 2 * (1 - kb));
    v->green_cb = fixed(-chroma * 2 * (1 - kb) * kb / kg);
    v->green_cr = fixed(-chroma * 2 * (1 - kr) * kr / kg);
    int64_t black = in->full ? 0 : (int64_t)16 << (in->bits - 8), middle = (int64_t)16 * 128 << (in->bits - 8);
    int64_t start = ((int64_t)1 << (SHIFT - 1)) - 16 * black * v->luma;
    v->base[0] = start - middle * v->red_cr;
    v->base[1] = start - middle * (v->green_cb + v->green_cr);
    v->base[2] = start - middle * v->blue_cb;
}

static uint32_t sample(const uint8_t *row, uint32_t wide, size_t i) {
    uint16_t two;
    if (!wide)
        return row[i];
    memcpy(&two, row + 2 * i, 2);
    return two;
}

/* Where the centre of pixel i of luma lies in chroma: entry *near with weight (4 - far)/4, *other with far/4. */
static void place(uint32_t i, uint32_t shift, bool between, uint32_t size, uint32_t *near, uint32_t *other,
                  int32_t *far) {
    *near = *other = shift ? i / 2 : i;
    *far = 0;
    if (!shift)
        return;
    if (!between) { /* at even pixels */
        *far = i & 1 ? 2 : 0;
        *other = *near + (i & 1);
    } else {
        *far = 1;
        *other = i & 1 ? *near + 1 : *near ? *near - 1 : 0;
    }
    *near = *near < size ? *near : size - 1;
    *other = *other < size ? *other : size - 1;
}

/* One component's samples [first, first + count) of row y, interpolated down: in quarters. */
static void down(const struct video_rgb *v, int c, uint32_t y, uint32_t first, uint32_t count, int32_t *out) {
    const struct video_planes *p = &v->in;
    uint32_t height = p->shift_y ? (p->height + 1) / 2 : p->height, near, other, wide = p->bits > 8;
    int32_t far;
    place(y, p->shift_y, p->between_y, height, &near, &other, &far);
    const uint8_t *a = p->plane[c] + (ptrdiff_t)near * p->stride[c], *b = p->plane[c] + (ptrdiff_t)other * p->stride[c];
    if (!wide) {
        for (uint32_t i = 0; i < count; i++)
            out[i] = (4 - far) * a[first + i] + far * b[first + i];
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        out[i] = (4 - far) * (int32_t)sample(a, 1, first + i) + far * (int32_t)sample(b, 1, first + i);
}

/* Chroma of pixels [x, x + count): in sixteenths. in: what `down` made of the component from `first` on. */
static void across(const struct video_rgb *v, uint32_t x, uint32_t count, uint32_t first, uint32_t size,
                   const int32_t *in, int32_t *out) {
    const struct video_planes *p = &v->in;
    if (!p->shift_x) {
        for (uint32_t i = 0; i < count; i++)
            out[i] = 4 * in[i];
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t near, other;
        int32_t far;
        place(x + i, 1, p->between_x, size, &near, &other, &far);
        out[i] = (4 - far) * in[near - first] + far * in[other - first];
    }
}

static int32_t hold(int64_t value, int32_t most) {
    value >>= SHIFT;
    return (int32_t)(value < 0 ? 0 : value > most ? most : value);
}

static void put(const struct video_rgb *v, uint32_t i, int32_t r, int32_t g, int32_t b, void *out) {
    if (v->most == 255) {
        uint8_t *to = (uint8_t *)out + 3 * (size_t)i;
        to[0] = (uint8_t)r, to[1] = (uint8_t)g, to[2] = (uint8_t)b;
    } else {
        uint16_t three[3] = {(uint16_t)r, (uint16_t)g, (uint16_t)b};
        memcpy((uint8_t *)out + 6 * (size_t)i, three, sizeof three);
    }
}

/* Planes of G, B, R, or grey: each number alone. */
static void row_plain(const struct video_rgb *v, uint32_t x, uint32_t y, uint32_t count, void *out) {
    const struct video_planes *p = &v->in;
    const uint32_t wide = p->bits > 8, last = p->planes - 1;
    const uint8_t *row[3];
    for (uint32_t c = 0; c < 3; c++)
        row[c] = p->plane[c < last ? c : last] + (ptrdiff_t)y * p->stride[c < last ? c : last];
    const int64_t base = ((int64_t)1 << (SHIFT - 1)) - (p->full ? 0 : ((int64_t)16 * 16 << (p->bits - 8)) * v->luma);
    for (uint32_t i = 0; i < count; i++) {
        int32_t n[3];
        for (uint32_t c = 0; c < 3; c++)
            n[c] = hold(base + 16 * (int64_t)sample(row[c], wide, x + i) * v->luma, v->most);
        if (p->planes == 3)
            put(v, i, n[2], n[0], n[1], out);
        else
            put(v, i, n[0], n[0], n[0], out);
    }
}

/* The usual case: 32 bits are enough, for up to 12 bits in and 8 out. */
static void row_small(const struct video_rgb *v, const int32_t *luma, const int32_t *cb, const int32_t *cr,
                      uint32_t count, uint8_t *out) {
    const int32_t kl = (int32_t)v->luma * 16, rr = (int32_t)v->red_cr, gb = (int32_t)v->green_cb,
                  gr = (int32_t)v->green_cr, bb = (int32_t)v->blue_cb;
    const int32_t b0 = (int32_t)v->base[0], b1 = (int32_t)v->base[1], b2 = (int32_t)v->base[2];
    for (uint32_t i = 0; i < count; i++) {
        const int32_t y = luma[i] * kl;
        int32_t r = (b0 + y + cr[i] * rr) >> SHIFT, g = (b1 + y + cb[i] * gb + cr[i] * gr) >> SHIFT,
                b = (b2 + y + cb[i] * bb) >> SHIFT;
        r = r < 0 ? 0 : r > 255 ? 255 : r;
        g = g < 0 ? 0 : g > 255 ? 255 : g;
        b = b < 0 ? 0 : b > 255 ? 255 : b;
        out[3 * i] = (uint8_t)r, out[3 * i + 1] = (uint8_t)g, out[3 * i + 2] = (uint8_t)b;
    }
}

void mldfi_video_rgb_row(const struct video_rgb *v, uint32_t x, uint32_t y, uint32_t count, int32_t *room, void *out) {
    const struct video_planes *p = &v->in;
    if (p->planes == 1 || p->rgb) {
        row_plain(v, x, y, count, out);
        return;
    }
    const uint32_t size = p->shift_x ? (p->width + 1) / 2 : p->width;
    uint32_t first = p->shift_x ? x / 2 : x, end = p->shift_x ? (x + count - 1) / 2 + 2 : x + count;
    first = p->shift_x && p->between_x && first ? first - 1 : first;
    end = end < size ? end : size;
    int32_t *luma = room, *cb = luma + count, *cr = cb + count, *some = cr + count;
    const uint8_t *row = p->plane[0] + (ptrdiff_t)y * p->stride[0];
    if (p->bits > 8)
        for (uint32_t i = 0; i < count; i++)
            luma[i] = (int32_t)sample(row, 1, x + i);
    else
        for (uint32_t i = 0; i < count; i++)
            luma[i] = row[x + i];
    down(v, 1, y, first, end - first, some);
    across(v, x, count, first, size, some, cb);
    down(v, 2, y, first, end - first, some);
    across(v, x, count, first, size, some, cr);
    if (v->most == 255 &&
        p->bits <= 12) { /* |sums| stay below 2^31: numbers are at most 2^8 in 2^-18, and twice that above and below */
        row_small(v, luma, cb, cr, count, out);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        const int64_t l = 16 * (int64_t)luma[i] * v->luma;
        put(v, i, hold(v->base[0] + l + cr[i] * v->red_cr, v->most),
            hold(v->base[1] + l + cb[i] * v->green_cb + cr[i] * v->green_cr, v->most),
            hold(v->base[2] + l + cb[i] * v->blue_cb, v->most), out);
    }
}
