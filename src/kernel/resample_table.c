/* Weights for resizing. A target pixel's centre is projected into the source; a filter around it, stretched by the scale when
 * shrinking (that is the antialiasing), gives each source pixel a weight; the weights are normalised and rounded to integers.
 * No function of libm is used, so that every machine has the same tables. resample.c applies them. */
#include <string.h>

#include "kernel/resample.h"

static double filter_box(double x) {
    return x > -0.5 && x <= 0.5 ? 1.0 : 0.0;
}

static double filter_triangle(double x) {
    x = x < 0 ? -x : x;
    return x < 1.0 ? 1.0 - x : 0.0;
}

/* Keys' cubic with a = -1/2: equation 4 of "Cubic convolution interpolation for digital image processing", 1981. Pillow's, and PyTorch's
 * with antialias; OpenCV, and PyTorch without antialias, have a = -3/4. */
static double filter_cubic(double x) {
    const double a = -0.5;
    x = x < 0 ? -x : x;
    if (x < 1.0)
        return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
    return x < 2.0 ? (((x - 5.0) * x + 8.0) * x - 4.0) * a : 0.0;
}

/* sin(pi * x) for |x| <= 3: reduced to [-1/2, 1/2], then its series. */
static double sin_pi(double x) {
    static const double c[] = {3.14159265358979323846,   -5.16771278004997002925,   2.55016403987734544385,
                               -0.599264529320792076887, 0.0821458866111282287985,  -0.00737043094571435077722,
                               0.000466302805767612567,  -0.0000219153534478302172, 0.000000795205400147551260};
    double sign = 1.0, sum = 0.0;
    if (x < 0) {
        x = -x;
        sign = -1.0;
    }
    while (x >= 1.0) {
        x -= 1.0;
        sign = -sign;
    }
    if (x > 0.5)
        x = 1.0 - x;
    for (int i = 8; i >= 0; i--)
        sum = sum * (x * x) + c[i];
    return sign * sum * x;
}

static double sinc(double x) {
    const double pi = 3.14159265358979323846;
    return x < 1e-12 && x > -1e-12 ? 1.0 : sin_pi(x) / (pi * x);
}

static double filter_lanczos(double x) {
    return x > -3.0 && x < 3.0 ? sinc(x) * sinc(x / 3.0) : 0.0;
}

static const struct {
    double (*weight)(double);
    double support;
} filters[] = {
    [MLDF_IMAGE_BOX] = {filter_box, 0.5},       [MLDF_IMAGE_BILINEAR] = {filter_triangle, 1.0},
    [MLDF_IMAGE_BICUBIC] = {filter_cubic, 2.0}, [MLDF_IMAGE_LANCZOS] = {filter_lanczos, 3.0},
    [MLDF_IMAGE_AREA] = {filter_triangle, 1.0}, /* without antialias; else it has its own weights */
};

/* An axis in doubles. */
struct scale {
    double start, scale, wide;
    bool by_area;
};

static struct scale scale_of(const struct axis *a) {
    struct scale s = {(double)a->box_from / 8.0, (double)a->box_size / 8.0 / a->target, 1.0, false};
    if (a->antialias && s.scale > 1.0)
        s.wide = s.scale;
    s.by_area = a->antialias && a->filter == MLDF_IMAGE_AREA;
    return s;
}

static uint64_t taps_of(const struct axis *a) {
    struct scale s = scale_of(a);
    double reach = s.by_area ? s.wide / 2 : filters[a->filter].support * s.wide;
    return (uint64_t)reach * 2 + 4;
}

size_t mldfi_resample_table_bytes(const struct axis *a) {
    uint64_t taps = taps_of(a), most = (uint64_t)1 << 40;
    if (taps > most / 16 || (taps + 2) * 4 > most / a->count)
        return 0;
    return (size_t)(((taps + 2) * 4 * a->count + 8 * taps + 15) / 8 * 8);
}

/* The part of each source pixel that the target pixel covers, enlarging too: OpenCV's INTER_AREA, one axis at a time. */
static uint32_t weigh_area(const struct axis *a, const struct scale *s, uint32_t i, uint32_t taps, uint32_t *first,
                           double *weights) {
    double from = s->start + i * s->scale, to = s->start + (i + 1) * s->scale;
    uint32_t n = 0;
    *first = (uint32_t)from;
    for (uint32_t x = *first; x < a->size && x < to && n < taps; x++, n++) {
        double left = x < from ? from : x, right = x + 1.0 > to ? to : x + 1.0;
        weights[n] = right > left ? right - left : 0.0;
    }
    return n;
}

/* Weights of one target pixel, not yet normalised. Returns how many. */
static uint32_t weigh(const struct axis *a, uint32_t i, uint32_t taps, uint32_t *first, double *weights) {
    struct scale s = scale_of(a);
    if (s.by_area)
        return weigh_area(a, &s, i, taps, first, weights);
    double support = filters[a->filter].support * s.wide, centre = s.start + (i + 0.5) * s.scale;
    double low = centre - support + 0.5, high = centre + support + 0.5;
    uint32_t from = low < 0 ? 0 : (uint32_t)low, to = high > a->size ? a->size : (uint32_t)high;
    uint32_t n = to > from ? to - from : 0;
    n = n > taps ? taps : n;
    for (uint32_t k = 0; k < n; k++)
        weights[k] = filters[a->filter].weight((k + from - centre + 0.5) / s.wide);
    *first = from;
    return n;
}

static int32_t fixed(double weight) {
    double v = weight * (1 << MLDFI_RESAMPLE_BITS);
    return (int32_t)(v < 0 ? v - 0.5 : v + 0.5);
}

void mldfi_resample_table(struct resample_table *t, void *memory, const struct axis *a) {
    t->count = a->count;
    t->taps = (uint32_t)taps_of(a);
    double *weights = memory;
    t->first = (uint32_t *)(void *)(weights + t->taps);
    t->used = t->first + t->count;
    t->weights = (int32_t *)(t->used + t->count);
    for (uint32_t i = 0; i < t->count; i++) {
        double sum = 0.0;
        int32_t *out = t->weights + (size_t)i * t->taps;
        uint32_t n = weigh(a, a->from + (a->mirror ? a->count - 1 - i : i), t->taps, &t->first[i], weights);
        if (n == 0) { /* the centre on the very edge: its pixel */
            t->first[i] = t->first[i] < a->size ? t->first[i] : a->size - 1;
            weights[n++] = 1.0;
        }
        for (uint32_t k = 0; k < n; k++)
            sum += weights[k];
        for (uint32_t k = 0; k < n; k++)
            out[k] = fixed(sum != 0.0 ? weights[k] / sum : weights[k]);
        t->used[i] = n;
    }
}
