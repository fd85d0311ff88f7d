/* Runs of one channel as floats: what the loops over colours work on, whatever the type and the layout. */
#ifndef MLDF_KERNEL_COLOR_BLOCK_H
#define MLDF_KERNEL_COLOR_BLOCK_H

#include "kernel/color.h"

enum { COLOR_BLOCK = 128 };

/* 1 / 255 and 1 / 65535 in two parts; see color_loops.h. */
#define COLOR_HI_8 0x1.01p-8f
#define COLOR_LO_8 ((float)(1.0 / 255.0 - 0x1.01p-8))
#define COLOR_HI_16 0x1p-16f
#define COLOR_LO_16 ((float)(1.0 / 65535.0 - 0x1p-16))

/* 2^16 / 13, rounded up; see color_sharpen.h. */
#define SHARPEN_13 5042u

static inline void mldfi_block_load(const struct pixels *p, size_t channel, size_t at, size_t n, float *out) {
    size_t first = channel * p->plane + at * p->step, step = p->step;
    if (p->dtype == MLDF_U8) {
        const uint8_t *in = (const uint8_t *)p->data + first;
        for (size_t k = 0; k < n; k++)
            out[k] = (float)in[k * step];
    } else if (p->dtype == MLDF_U16) {
        const uint16_t *in = (const uint16_t *)p->data + first;
        for (size_t k = 0; k < n; k++)
            out[k] = (float)in[k * step];
    } else {
        const float *in = (const float *)p->data + first;
        for (size_t k = 0; k < n; k++)
            out[k] = in[k * step];
    }
}

/* Integers are cut off; values lie in 0..white already. */
static inline void mldfi_block_store(const struct pixels *p, size_t channel, size_t at, size_t n, const float *in) {
    size_t first = channel * p->plane + at * p->step, step = p->step;
    if (p->dtype == MLDF_U8) {
        uint8_t *out = (uint8_t *)p->data + first;
        for (size_t k = 0; k < n; k++)
            out[k * step] = (uint8_t)(int32_t)in[k];
    } else if (p->dtype == MLDF_U16) {
        uint16_t *out = (uint16_t *)p->data + first;
        for (size_t k = 0; k < n; k++)
            out[k * step] = (uint16_t)(int32_t)in[k];
    } else {
        float *out = (float *)p->data + first;
        for (size_t k = 0; k < n; k++)
            out[k * step] = in[k];
    }
}

/* A NaN stays one. Two choices between a value and its bound, one after the other, are one instruction each. */
static inline float mldfi_held(float v, float white) {
    float low = v > white ? white : v;
    return low < 0 ? 0 : low;
}

static inline size_t mldfi_block_size(const struct pixels *p, size_t at) {
    return p->count - at < COLOR_BLOCK ? p->count - at : COLOR_BLOCK;
}

#endif
