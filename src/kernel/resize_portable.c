/* The two passes of bilinear resizing in plain C: the definition that the files of the instruction sets are compared with. */
#include "kernel/kernels.h"

enum { STRIP = 512 };

void mldfi_down_portable(const uint8_t *rows, size_t stride, const int16_t *weights, uint32_t taps, size_t values,
                         int16_t *out) {
    int32_t sum[STRIP];
    for (size_t from = 0; from < values; from += STRIP) {
        size_t n = values - from < STRIP ? values - from : STRIP;
        for (size_t i = 0; i < n; i++)
            sum[i] = 64;
        for (uint32_t k = 0; k < taps; k++) {
            const uint8_t *row = rows + k * stride + from;
            const int32_t w = weights[k];
            for (size_t i = 0; i < n; i++)
                sum[i] += row[i] * w;
        }
        for (size_t i = 0; i < n; i++)
            out[from + i] = (int16_t)(sum[i] >> 7);
    }
}

#define ACROSS(NAME, N) \
    static void NAME(const struct tap_table *t, const int16_t *row, uint8_t *out) { \
        for (uint32_t i = 0; i < t->count; i++, out += N) { \
            const int16_t *p = row + t->offset[i]; \
            const int16_t *w = t->weights + 2 * (size_t)i; \
            int32_t sum[N]; \
            for (int c = 0; c < N; c++) \
                sum[c] = 1 << 20; \
            for (uint32_t k = 0; k < t->pairs; k++, p += 2 * N, w += 2 * t->stride) \
                for (int c = 0; c < N; c++) \
                    sum[c] += p[c] * w[0] + p[c + N] * w[1]; \
            for (int c = 0; c < N; c++) \
                out[c] = (uint8_t)(sum[c] >> 21); \
        } \
    }
ACROSS(across_1, 1)
ACROSS(across_2, 2)
ACROSS(across_3, 3)
ACROSS(across_4, 4)

/* Weights are never negative and sum to 1: nothing to clamp. */
void mldfi_across_portable(const struct tap_table *table, uint32_t channels, const int16_t *row, uint8_t *out) {
    static void (*const loops[])(const struct tap_table *, const int16_t *, uint8_t *) = {across_1, across_2, across_3,
                                                                                          across_4};
    loops[channels - 1](table, row, out);
}

void mldfi_across_words_portable(const struct tap_table *t, const int16_t *row, int16_t *out) {
    for (size_t i = 0; i < t->stride; i++) {
        const int16_t *p = row + t->offset[i], *w = t->weights + 2 * i;
        int32_t sum = 1 << 14;
        for (uint32_t k = 0; k < t->pairs; k++, p += 2, w += 2 * t->stride)
            sum += p[0] * w[0] + p[1] * w[1];
        out[i] = (int16_t)(sum >> 15);
    }
}

static inline uint8_t limit(int32_t sum) {
    int32_t v = (sum + (1 << 21)) >> 22;
    return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

/* Values are at most 255 * 64, so that every sum fits 32 bits. */
void mldfi_color_words_portable(const int16_t *y, const int16_t *cb, const int16_t *cr, size_t count, uint8_t *r,
                                uint8_t *g, uint8_t *b) {
    for (size_t i = 0; i < count; i++) {
        const int32_t l = y[i] * 65536, u = cb[i] - (128 << 6), v = cr[i] - (128 << 6);
        r[i] = limit(l + 91881 * v);
        g[i] = limit(l - 22554 * u - 46802 * v);
        b[i] = limit(l + 116130 * u);
    }
}
