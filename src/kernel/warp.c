/* warp.h, plainly: every coordinate is computed from x and y alone, so that no error grows along a row. */
#include "kernel/warp.h"

#include <math.h>

/* Where output pixel x of a row comes from, beside what the row adds. */
struct row {
    double u, v, du, dv;
};

static struct row row_of(const double m[6], size_t y) {
    double at = (double)y + 0.5;
    struct row r = {m[1] * at + m[2], m[4] * at + m[5], m[0], m[3]};
    return r;
}

/* ---- Nearest -------------------------------------------------------------------------------------------------------------- */

#define NEAREST(NAME, TYPE) \
    static void NAME(const struct warp_side *in, const double matrix[6], size_t channels, const TYPE *fill, \
                     const struct warp_side *out) { \
        const TYPE *from = in->data; \
        TYPE *to = out->data; \
        double width = (double)in->width, height = (double)in->height; \
        for (size_t y = 0; y < out->height; y++) { \
            struct row r = row_of(matrix, y); \
            for (size_t x = 0; x < out->width; x++) { \
                double at = (double)x + 0.5, u = r.du * at + r.u, v = r.dv * at + r.v; \
                TYPE *o = to + (y * out->width + x) * out->step; \
                if (u >= 0 && u < width && v >= 0 && v < height) { \
                    const TYPE *i = from + ((size_t)v * in->width + (size_t)u) * in->step; \
                    for (size_t c = 0; c < channels; c++) \
                        o[c * out->plane] = i[c * in->plane]; \
                } else { \
                    for (size_t c = 0; c < channels; c++) \
                        o[c * out->plane] = fill[c]; \
                } \
            } \
        } \
    }
NEAREST(nearest_1, uint8_t)
NEAREST(nearest_2, uint16_t)
NEAREST(nearest_4, uint32_t)
NEAREST(nearest_8, uint64_t)

void mldfi_warp_nearest(const struct warp_side *in, const double matrix[6], size_t channels, size_t element,
                        const void *fill, const struct warp_side *out) {
    if (element == 1)
        nearest_1(in, matrix, channels, fill, out);
    else if (element == 2)
        nearest_2(in, matrix, channels, fill, out);
    else if (element == 4)
        nearest_4(in, matrix, channels, fill, out);
    else
        nearest_8(in, matrix, channels, fill, out);
}

/* ---- Bilinear ------------------------------------------------------------------------------------------------------------- */

#define WHOLE(TYPE, v) (TYPE) rintf(v)
#define REAL(TYPE, v) (v)
/* left, top: the pixel whose centre lies at or before (u, v); -1 is outside. */
#define BILINEAR(NAME, TYPE, STORE) \
    static inline float tap_##NAME(const struct warp_side *in, const TYPE *from, ptrdiff_t x, ptrdiff_t y, \
                                   float fill) { \
        if (x < 0 || y < 0 || (size_t)x >= in->width || (size_t)y >= in->height) \
            return fill; \
        return (float)from[((size_t)y * in->width + (size_t)x) * in->step]; \
    } \
    static void NAME(const struct warp_side *in, const double matrix[6], size_t channels, const float *fill, \
                     const struct warp_side *out) { \
        double width = (double)in->width, height = (double)in->height; \
        for (size_t y = 0; y < out->height; y++) { \
            struct row r = row_of(matrix, y); \
            for (size_t x = 0; x < out->width; x++) { \
                double at = (double)x + 0.5, u = r.du * at + r.u - 0.5, v = r.dv * at + r.v - 0.5; \
                bool near = u > -1 && u < width && v > -1 && v < height; \
                double left = near ? floor(u) : -2, top = near ? floor(v) : -2; \
                float fx = near ? (float)(u - left) : 0, fy = near ? (float)(v - top) : 0; \
                ptrdiff_t i = (ptrdiff_t)left, j = (ptrdiff_t)top; \
                for (size_t c = 0; c < channels; c++) { \
                    const TYPE *from = (const TYPE *)in->data + c * in->plane; \
                    float a = tap_##NAME(in, from, i, j, fill[c]), b = tap_##NAME(in, from, i + 1, j, fill[c]); \
                    float d = tap_##NAME(in, from, i, j + 1, fill[c]), \
                          e = tap_##NAME(in, from, i + 1, j + 1, fill[c]); \
                    float above = a + (b - a) * fx, below = d + (e - d) * fx, value = above + (below - above) * fy; \
                    ((TYPE *)out->data)[(y * out->width + x) * out->step + c * out->plane] = STORE(TYPE, value); \
                } \
            } \
        } \
    }
BILINEAR(bilinear_u8, uint8_t, WHOLE)
BILINEAR(bilinear_u16, uint16_t, WHOLE)
BILINEAR(bilinear_f32, float, REAL)

void mldfi_warp_bilinear(const struct warp_side *in, const double matrix[6], size_t channels, size_t element,
                         const float *fill, const struct warp_side *out) {
    if (element == 1)
        bilinear_u8(in, matrix, channels, fill, out);
    else if (element == 2)
        bilinear_u16(in, matrix, channels, fill, out);
    else
        bilinear_f32(in, matrix, channels, fill, out);
}
