/* The loops of fft.h, as text: a file for each instruction set includes it. Before the include: FFT_NAME(x), the name of x for this set. Vectors
 * of eight floats are the compiler's own; where registers are smaller it uses two. */
#include <string.h>

#include "kernel/fft.h"
#include "kernel/variants.h"
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wpsabi" /* the functions that pass vectors are all in this file */
#endif

typedef float v8 __attribute__((vector_size(32)));
typedef int32_t i8 __attribute__((vector_size(32)));
typedef v8 v8_loose __attribute__((aligned(4), may_alias));

#define V(p) (*(const v8_loose *)(const void *)(p))
#define SET(p, x) (*(v8_loose *)(void *)(p) = (x))

static inline v8 spread(float x) {
    return (v8){x, x, x, x, x, x, x, x};
}

/* ---- Into the lanes and out of them ---------------------------------------------------------------------------------------------------- */

#if defined(__AVX2__)
static inline void transpose(__m256 r[8]) {
    __m256 t[8], u[8];
    for (int i = 0; i < 8; i += 2) {
        t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
    }
    for (int i = 0; i < 8; i += 4) {
        u[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
        u[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xEE);
        u[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
        u[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xEE);
    }
    for (int i = 0; i < 4; i++) {
        r[i] = _mm256_permute2f128_ps(u[i], u[i + 4], 0x20);
        r[i + 4] = _mm256_permute2f128_ps(u[i], u[i + 4], 0x31);
    }
}

static size_t load_blocks(const float *const rows[FFT_LANES], size_t count, const float *window, float *out) {
    size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        __m256 r[8];
        for (int k = 0; k < 8; k++)
            r[k] = _mm256_loadu_ps(rows[k] + i);
        transpose(r);
        for (int k = 0; k < 8; k++)
            _mm256_storeu_ps(out + (i + (size_t)k) * 8,
                             window ? _mm256_mul_ps(r[k], _mm256_broadcast_ss(window + i + k)) : r[k]);
    }
    return i;
}

static size_t store_blocks(const float *in, size_t count, float *const rows[FFT_LANES], unsigned lanes) {
    size_t i = 0;
    for (; i + 8 <= count && lanes == FFT_LANES; i += 8) {
        __m256 r[8];
        for (int k = 0; k < 8; k++)
            r[k] = _mm256_loadu_ps(in + (i + (size_t)k) * 8);
        transpose(r);
        for (int k = 0; k < 8; k++)
            _mm256_storeu_ps(rows[k] + i, r[k]);
    }
    return i;
}
#else
static size_t load_blocks(const float *const rows[FFT_LANES], size_t count, const float *window, float *out) {
    (void)rows, (void)count, (void)window, (void)out;
    return 0;
}
static size_t store_blocks(const float *in, size_t count, float *const rows[FFT_LANES], unsigned lanes) {
    (void)in, (void)count, (void)rows, (void)lanes;
    return 0;
}
#endif

static void load(const float *const rows[FFT_LANES], size_t count, const float *window, float *out) {
    for (size_t i = load_blocks(rows, count, window, out); i < count; i++)
        for (int k = 0; k < FFT_LANES; k++)
            out[i * FFT_LANES + (size_t)k] = window ? rows[k][i] * window[i] : rows[k][i];
}

static void store(const float *in, size_t count, float *const rows[FFT_LANES], unsigned lanes) {
    for (size_t i = store_blocks(in, count, rows, lanes); i < count; i++)
        for (unsigned k = 0; k < lanes; k++)
            rows[k][i] = in[i * FFT_LANES + k];
}

static void clean(float *x, size_t count, bool dc, float preemphasis, const float *window) {
    v8 sum = spread(0), last;
    if (count == 0)
        return;
    for (size_t i = 0; i < count && dc; i++)
        sum += V(x + i * 8);
    sum /= spread((float)count);
    last = V(x) - sum;
    for (size_t i = 0; i < count; i++) {
        v8 now = V(x + i * 8) - sum;
        SET(x + i * 8, (now - spread(preemphasis) * last) * spread(window[i]));
        last = now;
    }
}

/* ---- The transform ------------------------------------------------------------------------------------------------------------------------- */

struct pair {
    v8 re, im;
};

static inline struct pair take(const float *p) {
    return (struct pair){V(p), V(p + 8)};
}
static inline void put(float *p, struct pair x) {
    SET(p, x.re);
    SET(p + 8, x.im);
}
static inline struct pair add(struct pair a, struct pair b) {
    return (struct pair){a.re + b.re, a.im + b.im};
}
static inline struct pair sub(struct pair a, struct pair b) {
    return (struct pair){a.re - b.re, a.im - b.im};
}
/* -i times it */
static inline struct pair back(struct pair a) {
    return (struct pair){a.im, -a.re};
}
static inline struct pair scale(struct pair a, float by) {
    return (struct pair){a.re * spread(by), a.im * spread(by)};
}
/* times cos - i sin */
static inline struct pair turn(struct pair a, const float *w) {
    v8 c = spread(w[0]), s = spread(w[1]);
    return (struct pair){a.re * c + a.im * s, a.im * c - a.re * s};
}

/* One butterfly: from x, its inputs `step` floats apart, to y, its outputs `gap` floats apart. w NULL: no twiddles. */
static inline __attribute__((always_inline)) void butterfly(uint32_t radix, const float *x, size_t step, float *y,
                                                            size_t gap, const float *w) {
    struct pair out[5];
    struct pair a = take(x), b = take(x + step);
    if (radix == 2) {
        out[0] = add(a, b);
        out[1] = sub(a, b);
    } else if (radix == 4) {
        struct pair c = take(x + 2 * step), d = take(x + 3 * step);
        struct pair ac = add(a, c), bd = add(b, d), dac = sub(a, c), dbd = back(sub(b, d));
        out[0] = add(ac, bd);
        out[1] = add(dac, dbd);
        out[2] = sub(ac, bd);
        out[3] = sub(dac, dbd);
    } else if (radix == 3) {
        struct pair c = take(x + 2 * step), bc = add(b, c), d = back(scale(sub(b, c), 0.8660254037844386F));
        struct pair m = sub(a, scale(bc, 0.5F));
        out[0] = add(a, bc);
        out[1] = add(m, d);
        out[2] = sub(m, d);
    } else {
        struct pair c = take(x + 2 * step), d = take(x + 3 * step), e = take(x + 4 * step);
        struct pair be = add(b, e), cd = add(c, d), dbe = sub(b, e), dcd = sub(c, d);
        struct pair m1 = add(add(a, scale(be, 0.30901699437494745F)), scale(cd, -0.8090169943749475F));
        struct pair m2 = add(add(a, scale(be, -0.8090169943749475F)), scale(cd, 0.30901699437494745F));
        struct pair n1 = back(add(scale(dbe, 0.9510565162951535F), scale(dcd, 0.5877852522924731F)));
        struct pair n2 = back(sub(scale(dbe, 0.5877852522924731F), scale(dcd, 0.9510565162951535F)));
        out[0] = add(a, add(be, cd));
        out[1] = add(m1, n1);
        out[2] = add(m2, n2);
        out[3] = sub(m2, n2);
        out[4] = sub(m1, n1);
    }
    put(y, out[0]);
    for (uint32_t k = 1; k < radix; k++)
        put(y + k * gap, w ? turn(out[k], w + 2 * (size_t)(k - 1)) : out[k]);
}

static inline __attribute__((always_inline)) void pass(uint32_t radix, const struct fft_pass *p, const float *tables,
                                                       const float *x, float *y) {
    size_t point = 2 * FFT_LANES, step = (size_t)p->stride * p->count * point, gap = p->stride * point;
    const float *w = tables + p->twiddles;
    for (size_t q = 0; q < p->stride; q++)
        butterfly(radix, x + q * point, step, y + q * point, gap, NULL);
    for (size_t i = 1; i < p->count; i++, w += 2 * (size_t)(radix - 1)) {
        const float *from = x + i * p->stride * point;
        float *to = y + i * p->stride * radix * point;
        for (size_t q = 0; q < p->stride; q++)
            butterfly(radix, from + q * point, step, to + q * point, gap, w);
    }
}

/* The spectrum of real frames from that of pairs of samples: with z = x[2j] + i x[2j + 1],
 *     X[k] = (Z[k] + conj Z[m - k]) / 2 - i e^(-2πik/n) (Z[k] - conj Z[m - k]) / 2 */
static void untangle(const struct fft *fft, const float *z, float *out) {
    const float *w = fft->tables + fft->turn;
    size_t m = fft->points, point = 2 * FFT_LANES;
    struct pair first = take(z);
    put(out, (struct pair){first.re + first.im, spread(0)});
    put(out + m * point, (struct pair){first.re - first.im, spread(0)});
    for (size_t k = 1; k <= m / 2; k++) {
        struct pair a = take(z + k * point), b = take(z + (m - k) * point);
        struct pair even = {(a.re + b.re) * spread(0.5F), (a.im - b.im) * spread(0.5F)};
        struct pair odd =
            turn(back((struct pair){(a.re - b.re) * spread(0.5F), (a.im + b.im) * spread(0.5F)}), w + 2 * k);
        put(out + k * point, add(even, odd));
        put(out + (m - k) * point, (struct pair){even.re - odd.re, odd.im - even.im});
    }
}

static void real(const struct fft *fft, float *x, float *work, float *out) {
    float *from = x, *to = work;
    size_t point = 2 * FFT_LANES;
    if (fft->n % 2) { /* as complex numbers without an imaginary part; work has room for them twice */
        for (size_t i = 0; i < fft->n; i++)
            put(work + i * point, (struct pair){V(x + i * 8), spread(0)});
        from = work;
        to = work + fft->points * point;
    }
    for (uint32_t i = 0; i < fft->pass_count; i++) {
        const struct fft_pass *p = &fft->passes[i];
        if (p->radix == 4)
            pass(4, p, fft->tables, from, to);
        else if (p->radix == 2)
            pass(2, p, fft->tables, from, to);
        else if (p->radix == 3)
            pass(3, p, fft->tables, from, to);
        else
            pass(5, p, fft->tables, from, to);
        float *swap = from;
        from = to;
        to = swap;
    }
    if (fft->n % 2 == 0)
        untangle(fft, from, out);
    else
        memcpy(out, from, fft->bins * point * sizeof *out);
}

static void power(const float *spectrum, size_t bins, bool root, float *out) {
    for (size_t i = 0; i < bins; i++) {
        struct pair x = take(spectrum + i * 16);
        v8 p = x.re * x.re + x.im * x.im;
        if (root)
            for (int k = 0; k < 8; k++)
                p[k] = __builtin_sqrtf(p[k]);
        SET(out + i * 8, p);
    }
}

/* ---- Sums and logarithms ------------------------------------------------------------------------------------------------------------------------ */

/* Four bands at a time: their sums do not wait for one another. */
static void bands(const struct band_table *t, const float *in, float *out) {
    uint32_t b = 0;
    for (; b + 4 <= t->bands; b += 4) {
        uint32_t least = t->count[b];
        v8 sum[4];
        for (uint32_t k = 0; k < 4; k++) {
            sum[k] = spread(0);
            least = t->count[b + k] < least ? t->count[b + k] : least;
        }
        const float *x0 = in + (size_t)t->first[b] * 8, *w0 = t->weights + t->at[b];
        const float *x1 = in + (size_t)t->first[b + 1] * 8, *w1 = t->weights + t->at[b + 1];
        const float *x2 = in + (size_t)t->first[b + 2] * 8, *w2 = t->weights + t->at[b + 2];
        const float *x3 = in + (size_t)t->first[b + 3] * 8, *w3 = t->weights + t->at[b + 3];
        for (size_t i = 0; i < least; i++) {
            sum[0] += V(x0 + i * 8) * spread(w0[i]);
            sum[1] += V(x1 + i * 8) * spread(w1[i]);
            sum[2] += V(x2 + i * 8) * spread(w2[i]);
            sum[3] += V(x3 + i * 8) * spread(w3[i]);
        }
        for (uint32_t k = 0; k < 4; k++) {
            const float *x = in + (size_t)t->first[b + k] * 8, *w = t->weights + t->at[b + k];
            for (size_t i = least; i < t->count[b + k]; i++)
                sum[k] += V(x + i * 8) * spread(w[i]);
            SET(out + (size_t)(b + k) * 8, sum[k]);
        }
    }
    for (; b < t->bands; b++) {
        const float *x = in + (size_t)t->first[b] * 8, *w = t->weights + t->at[b];
        v8 sum = spread(0);
        for (size_t i = 0; i < t->count[b]; i++)
            sum += V(x + i * 8) * spread(w[i]);
        SET(out + (size_t)b * 8, sum);
    }
}

/* ln x for normal x: x = 2^e m, m in [√½, √2); the polynomial of Cephes' logf (Moshier), within 2 units in the last place. */
static inline v8 log8(v8 x) {
    i8 bits = (i8)x, e = (bits >> 23) - 126;
    v8 m = (v8)((bits & 0x007FFFFF) | 0x3F000000); /* [½, 1) */
    i8 small = m < spread(0.70710678F);            /* all ones: -1 */
    e += small;
    m = m + (v8)((i8)m & small) - spread(1);
    v8 f = __builtin_convertvector(e, v8), z = m * m;
    v8 y = spread(7.0376836292E-2F);
    y = y * m + spread(-1.1514610310E-1F);
    y = y * m + spread(1.1676998740E-1F);
    y = y * m + spread(-1.2420140846E-1F);
    y = y * m + spread(1.4249322787E-1F);
    y = y * m + spread(-1.6668057665E-1F);
    y = y * m + spread(2.0000714765E-1F);
    y = y * m + spread(-2.4999993993E-1F);
    y = y * m + spread(3.3333331174E-1F);
    y = y * m * z;
    y = y + f * spread(-2.12194440E-4F);
    y = y - spread(0.5F) * z;
    return (m + y) + f * spread(0.693359375F);
}

static inline v8 choose(i8 which, v8 yes, v8 no) {
    return (v8)(((i8)yes & which) | ((i8)no & ~which));
}

static inline v8 floored_log(v8 x, v8 least, v8 by) {
    v8 held = choose(x <= least, least, x);
    i8 finite = ((i8)held & 0x7F800000) != 0x7F800000;
    return choose(finite, log8(held), held) * by;
}

static void logarithm(const float *in, float *out, size_t count, float floor, float by) {
    size_t i = 0;
    for (; i + 8 <= count; i += 8)
        SET(out + i, floored_log(V(in + i), spread(floor), spread(by)));
    if (i < count) {
        float last[8] = {0};
        memcpy(last, in + i, (count - i) * sizeof *last);
        SET(last, floored_log(V(last), spread(floor), spread(by)));
        memcpy(out + i, last, (count - i) * sizeof *last);
    }
}

const struct fft_kernels FFT_NAME(mldfi_fft) = {load, clean, real, power, bands, store, logarithm};
