/* Changes of colour, in place. Images of u8, u16 or f32 (0..1), interleaved or planar, gray or RGB; alpha is left alone.
 *
 * The definitions are torchvision's for tensors: computed in f32, held in 0..white, and integers cut off (not rounded) unless said
 * otherwise. Sums over an image are exact integers, or doubles in the order of the pixels. */
#ifndef MLDF_KERNEL_COLOR_H
#define MLDF_KERNEL_COLOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mldf/schema.h"

struct kernels; /* kernels.h */

struct pixels {
    void *data;
    mldf_dtype dtype;   /* U8, U16, F32 */
    size_t count;       /* pixels */
    size_t channels;    /* 1 to 4: gray, gray + alpha, RGB, RGBA */
    size_t step, plane; /* elements from a pixel to the next, and from a channel to the next */
};

/* 255, 65535, 1. */
float mldfi_white(mldf_dtype dtype);
/* 1 or 3 */
static inline size_t mldfi_colors(const struct pixels *p) {
    return p->channels >= 3 ? 3 : 1;
}

/* ---- Pixels for themselves (color_tone.c) ----------------------------------------------------------------------------- */

typedef enum tone_kind {
    TONE_BLEND,     /* v * a + b, held */
    TONE_STRETCH,   /* (v - a) / b, held */
    TONE_SOLARIZE,  /* v >= a: white - v */
    TONE_POSTERIZE, /* the a highest bits; floats: floor(v * 2^a) / 2^a */
    TONE_GAMMA      /* of 0..1: v^a * b, held; back to integers as floor(v * (white + 0.999)) */
} tone_kind;
struct tone {
    tone_kind kind;
    float a, b;
};
/* tones[0] for every colour, or one for each of them. */
void mldfi_tone(const struct kernels *k, const struct pixels *p, const struct tone *tones, bool each);
/* What lies between the darkest and the lightest value of each colour becomes the whole range. */
void mldfi_autocontrast(const struct kernels *k, const struct pixels *p);
/* Histogram equalization of each colour, by Pillow's table of 256 steps; u16 by the high bytes (times 257), floats by v * 255.999. A
 * colour with too few pixels beside its lightest value stays. */
void mldfi_equalize(const struct kernels *k, const struct pixels *p);

/* ---- Pixels' colours together (color.c; color_loops.h) ------------------------------------------------------------------- */

/* A step of what recolor does to every pixel. Gray images have no hue, no saturation and stay gray. */
struct recolor {
    enum {
        RECOLOR_BLEND,    /* v * a + b, held; for 8 bits within 2^31 before */
        RECOLOR_SATURATE, /* v * a + gray * b, held: mldfi_saturation */
        RECOLOR_HUE, /* turned by a, a part of the circle, -0.5..0.5; back to integers as floor(v * (white + 0.999)) */
        RECOLOR_GRAY /* gray in all colours: 0.2989 r + 0.587 g + 0.114 b, which is cut off for integers */
    } kind;
    float a, b;
};
static inline struct recolor mldfi_saturation(double ratio) {
    return (struct recolor){RECOLOR_SATURATE, (float)ratio, (float)(1.0 - ratio)};
}
/* All steps in one pass, as if there were a pass for each. Returns the mean gray of the result when `mean`, else anything; 0 for an empty image. */
float mldfi_recolor(const struct kernels *k, const struct pixels *p, const struct recolor *steps, size_t count,
                    bool mean);

/* One channel's values into a channel of another image of the same type and size. */
void mldfi_copy_channel(const struct pixels *from, size_t channel, const struct pixels *to, size_t to_channel);
/* gray, recolor, byte_tables and sharpen are in struct kernels: they have loops for each instruction set. */

#endif
