/* See video_rgb.h. */
#include "kernel/video_rgb.h"

#include <string.h>

#include "kernel/kernels.h"

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
    int64_t start = ((int64_t)1 << (VIDEO_SHIFT - 1)) - 16 * black * v->luma;
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

/* Chroma of one component for pixels from x on, in sixteenths; returns the first of them. some: memory for a row of quarters. */
static const uint16_t *chroma(const struct video_kernels *k, const struct video_planes *p, int c, uint32_t x,
                              uint32_t y, uint32_t count, uint16_t *some, uint16_t *out) {
    const uint32_t wide = p->bits > 8, height = p->shift_y ? (p->height + 1) / 2 : p->height;
    uint32_t near, other;
    int32_t far;
    place(y, p->shift_y, p->between_y, height, &near, &other, &far);
    const uint32_t weight = (uint32_t)far, rest = 4 - weight;
    const uint8_t *a = p->plane[c] + (ptrdiff_t)near * p->stride[c], *b = p->plane[c] + (ptrdiff_t)other * p->stride[c];
    if (!p->shift_x) {
        k->down(a + ((size_t)x << wide), b + ((size_t)x << wide), wide, 4 * rest, 4 * weight, count, out);
        return out;
    }
    const uint32_t size = (p->width + 1) / 2, first = x / 2, end = (x + count - 1) / 2 + 1;
    const size_t from = first ? first - 1 : 0, to = end < size ? end + 1 : end;
    k->down(a + (from << wide), b + (from << wide), wide, rest, weight, to - from, some + 1 - (first - from));
    if (first == 0) /* what lies outside is what lies at the edge */
        some[0] = some[1];
    if (end == size)
        some[end - first + 1] = some[end - first];
    k->across(some + 1, p->between_x, end - first, out);
    return out + (x & 1);
}

static int32_t hold(int64_t value, int32_t most) {
    value >>= VIDEO_SHIFT;
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
    const int64_t base =
        ((int64_t)1 << (VIDEO_SHIFT - 1)) - (p->full ? 0 : ((int64_t)16 * 16 << (p->bits - 8)) * v->luma);
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

/* More bits than 12, or 16 in the result: pixel by pixel. */
static void row_large(const struct video_rgb *v, uint32_t x, uint32_t y, uint32_t count, void *out) {
    const struct video_planes *p = &v->in;
    const uint32_t wide = p->bits > 8,
                   size[2] = {p->shift_x ? (p->width + 1) / 2 : p->width, p->shift_y ? (p->height + 1) / 2 : p->height};
    uint32_t near[2], other[2];
    int32_t far[2];
    place(y, p->shift_y, p->between_y, size[1], &near[1], &other[1], &far[1]);
    for (uint32_t i = 0; i < count; i++) {
        int64_t c[3] = {0, 0, 0};
        place(x + i, p->shift_x, p->between_x, size[0], &near[0], &other[0], &far[0]);
        for (int plane = 1; plane < 3; plane++) {
            const uint8_t *a = p->plane[plane] + (ptrdiff_t)near[1] * p->stride[plane];
            const uint8_t *b = p->plane[plane] + (ptrdiff_t)other[1] * p->stride[plane];
            c[plane] =
                (4 - far[0]) *
                    ((4 - far[1]) * (int64_t)sample(a, wide, near[0]) + far[1] * (int64_t)sample(b, wide, near[0])) +
                far[0] *
                    ((4 - far[1]) * (int64_t)sample(a, wide, other[0]) + far[1] * (int64_t)sample(b, wide, other[0]));
        }
        const int64_t l = 16 * (int64_t)sample(p->plane[0] + (ptrdiff_t)y * p->stride[0], wide, x + i) * v->luma;
        put(v, i, hold(v->base[0] + l + c[2] * v->red_cr, v->most),
            hold(v->base[1] + l + c[1] * v->green_cb + c[2] * v->green_cr, v->most),
            hold(v->base[2] + l + c[1] * v->blue_cb, v->most), out);
    }
}

void mldfi_video_rgb_row(const struct kernels *k, const struct video_rgb *v, uint32_t x, uint32_t y, uint32_t count,
                         uint16_t *room, void *out) {
    const struct video_planes *p = &v->in;
    if (p->planes == 1 || p->rgb) {
        row_plain(v, x, y, count, out);
        return;
    }
    const uint32_t wide = p->bits > 8;
    const uint8_t *luma = p->plane[0] + (ptrdiff_t)y * p->stride[0] + ((size_t)x << wide);
    if (v->most == 255 && p->bits <= 12) { /* |sums| stay below 2^31: results are at most 3 * 2^8 in 2^-18 */
        uint16_t *some = room + 2 * ((size_t)count + 3);
        const uint16_t *cb = chroma(k->video, p, 1, x, y, count, some, room);
        const uint16_t *cr = chroma(k->video, p, 2, x, y, count, some, room + count + 3);
        k->video->color(v, luma, cb, cr, count, out);
        return;
    }
    row_large(v, x, y, count, out);
}
