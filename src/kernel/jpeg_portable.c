/* The loops of jpeg.h for any processor, and their definition. Arithmetic is in 32 bits that wrap; what goes between the passes of a transform is
 * held to 16 bits: both are what vectors do. */
#include <string.h>

#include "kernel/jpeg.h"

static inline void store_values(int16_t *to, uint64_t values) {
    for (int i = 0; i < 8; i++)
        to[i] = (int8_t)(uint8_t)(values >> (8 * i));
}
#define STORE_VALUES(TO, VALUES) store_values(TO, VALUES)
#include "kernel/jpeg_segments.h"

static bool segments(const uint8_t *bits, uint64_t count, const struct jpeg_window *t, int16_t *out,
                     struct jpeg_job *jobs, size_t jobs_count) {
    return run_segments(bits, count, t, out, jobs, jobs_count);
}

static bool dcs(const uint8_t *bits, uint64_t limit, const uint64_t at[4], const struct jpeg_dc_window *t, size_t count,
                unsigned lag, int16_t *out, size_t stride) {
    return lag == 1 ? run_dcs(bits, limit, at, t, count, 1, out, stride)
                    : run_dcs(bits, limit, at, t, count, 2, out, stride);
}

/* ---- Transforms ------------------------------------------------------------------------------------------------------------ */

static void dequantise(const struct jpeg_blocks *b, size_t block, int32_t out[64]) {
    const int16_t *low = b->low + block * JPEG_LOW_STRIDE, *high = b->high ? b->high + block * JPEG_HIGH_STRIDE : NULL;
    const int16_t *q = b->q->natural[block % 2];
    for (unsigned i = 0; i < 64; i++) {
        unsigned at = b->q->scan[i];
        int v = i < 16 ? low[i] : high ? high[i - 15] : 0;
        out[at] = (int16_t)(uint16_t)((uint32_t)v * (uint32_t)q[at]);
    }
}

/* (value + half) >> shift of a sum that wraps. */
static int32_t descale(uint32_t value, unsigned shift) {
    return (int32_t)(value + (UINT32_C(1) << (shift - 1))) >> shift;
}
static int32_t hold(int32_t value) {
    return value < INT16_MIN ? INT16_MIN : value > INT16_MAX ? INT16_MAX : value;
}
static uint8_t sample(int32_t value) {
    return (uint8_t)(value < -128 ? 0 : value > 127 ? 255 : value + 128);
}
static uint32_t product(int32_t value, int32_t constant) {
    return (uint32_t)value * (uint32_t)constant;
}

/* jidctint.c: Loeffler, Ligtenberg, Moschytz with constants of 13 bits; the odd part as a matrix of its sums. */
static void pass_8(const int32_t *x, size_t stride, uint32_t out[8]) {
    const int32_t x0 = x[0], x1 = x[stride], x2 = x[2 * stride], x3 = x[3 * stride];
    const int32_t x4 = x[4 * stride], x5 = x[5 * stride], x6 = x[6 * stride], x7 = x[7 * stride];
    const uint32_t e0 = product(x0, 8192) + product(x4, 8192), e1 = product(x0, 8192) - product(x4, 8192);
    const uint32_t e3 = product(x2, 4433 + 6270) + product(x6, 4433);
    const uint32_t e2 = product(x2, 4433) + product(x6, 4433 - 15137);
    const uint32_t even[4] = {e0 + e3, e1 + e2, e1 - e2, e0 - e3};
    const uint32_t odd[4] = {
        product(x1, 11363) + product(x3, 9633) + product(x5, 6437) + product(x7, 2260),
        product(x1, 9633) + product(x3, -2259) + product(x5, -11362) + product(x7, -6436),
        product(x1, 6437) + product(x3, -11362) + product(x5, 2261) + product(x7, 9633),
        product(x1, 2260) + product(x3, -6436) + product(x5, 9633) + product(x7, -11363),
    };
    for (unsigned i = 0; i < 4; i++) {
        out[i] = even[i] + odd[i];
        out[7 - i] = even[i] - odd[i];
    }
}

static void transform_8(const struct jpeg_blocks *b) {
    int32_t value[64], middle[64];
    uint32_t sums[8];
    for (size_t block = 0; block < 2 * b->pairs; block++) {
        uint8_t *out = (block % 2 ? b->b : b->a) + block / 2 * b->step;
        dequantise(b, block, value);
        for (unsigned x = 0; x < 8; x++) {
            pass_8(value + x, 8, sums);
            for (unsigned y = 0; y < 8; y++)
                middle[8 * y + x] = hold(descale(sums[y], 11));
        }
        for (unsigned y = 0; y < 8; y++) {
            pass_8(middle + 8 * (size_t)y, 1, sums);
            for (unsigned x = 0; x < 8; x++)
                out[y * b->stride + x] = sample(descale(sums[x], 18));
        }
    }
}

/* jidctred.c: 4 x 4 from all but the fourth row and column. */
static void pass_4(const int32_t *x, size_t stride, uint32_t out[4]) {
    const uint32_t even = product(x[0], 16384);
    const uint32_t tilt = product(x[2 * stride], 15137) + product(x[6 * stride], -6270);
    const uint32_t inner = product(x[7 * stride], -1730) + product(x[5 * stride], 11893) +
                           product(x[3 * stride], -17799) + product(x[stride], 8697);
    const uint32_t outer = product(x[7 * stride], -4176) + product(x[5 * stride], -4926) +
                           product(x[3 * stride], 7373) + product(x[stride], 20995);
    out[0] = even + tilt + outer;
    out[3] = even + tilt - outer;
    out[1] = even - tilt + inner;
    out[2] = even - tilt - inner;
}

static void transform_4(const struct jpeg_blocks *b) {
    int32_t value[64], middle[32];
    uint32_t sums[4];
    for (size_t block = 0; block < 2 * b->pairs; block++) {
        uint8_t *out = (block % 2 ? b->b : b->a) + block / 2 * b->step;
        dequantise(b, block, value);
        for (unsigned x = 0; x < 8; x++) {
            pass_4(value + x, 8, sums);
            for (unsigned y = 0; y < 4; y++)
                middle[8 * y + x] = hold(descale(sums[y], 12));
        }
        for (unsigned y = 0; y < 4; y++) {
            pass_4(middle + 8 * (size_t)y, 1, sums);
            for (unsigned x = 0; x < 4; x++)
                out[y * b->stride + x] = sample(descale(sums[x], 19));
        }
    }
}

/* 2 x 2 from the first and the odd rows and columns. */
static void pass_2(const int32_t *x, size_t stride, uint32_t out[2]) {
    const uint32_t even = product(x[0], 32768);
    const uint32_t odd = product(x[7 * stride], -5906) + product(x[5 * stride], 6967) + product(x[3 * stride], -10426) +
                         product(x[stride], 29692);
    out[0] = even + odd;
    out[1] = even - odd;
}

static void transform_2(const struct jpeg_blocks *b) {
    int32_t value[64], middle[16];
    uint32_t sums[2];
    for (size_t block = 0; block < 2 * b->pairs; block++) {
        uint8_t *out = (block % 2 ? b->b : b->a) + block / 2 * b->step;
        dequantise(b, block, value);
        for (unsigned x = 0; x < 8; x++) {
            pass_2(value + x, 8, sums);
            middle[x] = hold(descale(sums[0], 13));
            middle[8 + x] = hold(descale(sums[1], 13));
        }
        for (unsigned y = 0; y < 2; y++) {
            pass_2(middle + 8 * (size_t)y, 1, sums);
            for (unsigned x = 0; x < 2; x++)
                out[y * b->stride + x] = sample(descale(sums[x], 20));
        }
    }
}

void mldfi_jpeg_transform_1(const struct jpeg_blocks *b) {
    for (size_t block = 0; block < 2 * b->pairs; block++) {
        int16_t dc =
            (int16_t)(uint16_t)((uint32_t)b->low[block * JPEG_LOW_STRIDE] * (uint32_t)b->q->natural[block % 2][0]);
        (block % 2 ? b->b : b->a)[block / 2 * b->step] = sample((dc + 4) >> 3);
    }
}

/* ---- Upsampling (jdsample.c) ----------------------------------------------------------------------------------------------- */

static void up_across(const struct jpeg_up *u) {
    const uint8_t *in = u->near;
    for (size_t i = 0; i < u->count; i++) {
        bool left = u->first && i == 0, right = u->last && i + 1 == u->count;
        const unsigned now = in[i];
        u->out[2 * i] = (uint8_t)(left ? now : (3 * now + in[(ptrdiff_t)i - 1] + 1) >> 2);
        u->out[2 * i + 1] = (uint8_t)(right ? now : (3 * now + in[i + 1] + 2) >> 2);
    }
}

static unsigned both(const struct jpeg_up *u, ptrdiff_t i) {
    return 3u * u->near[i] + u->far[i];
}

static void up_both(const struct jpeg_up *u) {
    for (size_t i = 0; i < u->count; i++) {
        ptrdiff_t at = (ptrdiff_t)i;
        const unsigned now = both(u, at), before = both(u, u->first && i == 0 ? at : at - 1);
        const unsigned after = both(u, u->last && i + 1 == u->count ? at : at + 1);
        u->out[2 * i] = (uint8_t)((3 * now + before + 8) >> 4);
        u->out[2 * i + 1] = (uint8_t)((3 * now + after + 7) >> 4);
    }
}

static void up_down(const struct jpeg_up *u, int add) {
    for (size_t i = 0; i < u->count; i++)
        u->out[i] = (uint8_t)((both(u, (ptrdiff_t)i) + (unsigned)add) >> 2);
}

/* ---- Colour (jdcolor.c) ---------------------------------------------------------------------------------------------------- */

static uint8_t limit(int v) {
    return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

static void color(const uint8_t *y, const uint8_t *cb, const uint8_t *cr, size_t count, unsigned channels,
                  uint8_t *out) {
    for (size_t i = 0; i < count; i++, out += channels) {
        const int u = cb[i] - 128, v = cr[i] - 128;
        out[0] = limit(y[i] + ((91881 * v + 32768) >> 16));
        out[1] = limit(y[i] + ((-22554 * u - 46802 * v + 32768) >> 16));
        out[2] = limit(y[i] + ((116130 * u + 32768) >> 16));
        if (channels == 4)
            out[3] = 255;
    }
}

static void join(const uint8_t *r, const uint8_t *g, const uint8_t *b, size_t count, unsigned channels, uint8_t *out) {
    for (size_t i = 0; i < count; i++, out += channels) {
        out[0] = r[i];
        out[1] = g[i];
        out[2] = b[i];
        if (channels == 4)
            out[3] = 255;
    }
}

const struct jpeg_kernels mldfi_jpeg_portable = {
    segments, dcs,  {mldfi_jpeg_transform_1, transform_2, transform_4, transform_8}, up_across, up_both, up_down,
    color,    join,
};
