/* The hot loops, once for each instruction set, chosen at run time. Every set gives the same bytes: tests compare them with memcmp.
 *
 *     kernels.c            the choice
 *     finish_*.c           the last pass over pixels: affine map, type, layout
 *     resize_*.c           the two passes of bilinear resizing
 *     color_*.c            changes of colour: one text, color_loops.h, compiled for each
 *     fft_*.c              spectra of recordings: one text, fft_loops.h
 *     jpeg_*.c             the fast JPEG store: bits, transforms, upsampling, colour
 *     video_*.c            planes of decoded video to RGB: one text, video_loops.h
 *
 * A file whose name ends in an instruction set is compiled for it and only called where the processor has it. */
#ifndef MLDF_KERNEL_KERNELS_H
#define MLDF_KERNEL_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mldf/schema.h"

enum isa { ISA_PORTABLE, ISA_SSE4, ISA_AVX2, ISA_AVX512, ISA_NEON };
enum { ISA_COUNT = ISA_NEON + 1 };

/* A run of pixels through the last pass: y = (float)v * scale[c] + shift[c] in two roundings for float types, v itself for others. */
struct finish_row {
    uint32_t channels, bits; /* of the input: 1 to 4; 8, 16 */
    mldf_dtype dtype;        /* U8, U16: then of the input's bits; F32, F16, BF16 */
    bool planar;
    bool mirror;  /* the first output pixel is the last input pixel */
    size_t plane; /* planar: elements from one plane to the next */
    float scale[4], shift[4];
};

/* Weights of the horizontal pass of bilinear resizing: pairs of neighbouring pixels, 2^-14. Behind `count` there are pixels without
 * weight up to `stride`, so that kernels work in whole blocks. */
struct tap_table {
    uint32_t count;         /* output pixels */
    uint32_t pairs;         /* of taps, the same for every pixel */
    size_t stride;          /* count rounded up to TAP_BLOCK */
    const uint32_t *offset; /* [stride]: values (not pixels) from the row's start to the first tap */
    const int16_t *weights; /* [pairs][stride][2] */
    uint32_t span; /* the most values from the first tap to the last in a block of TAP_BLOCK pixels, of one channel */
};
enum {
    TAP_BLOCK = 16,
    ROW_SLACK = 64,   /* bytes behind a row in the kernels' own memory that may be read and written */
    PLANE_LEAST = 32, /* pixels of a row, and the largest span, for the passes in planes */
    PLANE_SPAN = 64,
    PLANE_SLACK = 128 /* bytes behind the last plane */
};

struct resample_table; /* resample.h */
struct resample_rows;
struct pixels; /* color.h */
struct recolor;
struct blur_line;     /* blur.h */
struct warp;          /* warp.h */
struct fft_kernels;   /* fft.h */
struct jpeg_kernels;  /* jpeg.h */
struct video_kernels; /* video_rgb.h */

struct kernels {
    enum isa isa;
    const char *name; /* "portable", "sse4", "avx2", "avx512", "neon" */
    /* Vertical pass: out[i] = (sum over k of rows[k * stride + i] * weights[k] + 64) >> 7, weights in 2^-14 with a sum of 1. */
    void (*down)(const uint8_t *rows, size_t stride, const int16_t *weights, uint32_t taps, size_t values,
                 int16_t *out);
    /* Horizontal pass: clamp((sum of taps * weights + 2^20) >> 21), count * channels bytes. ROW_SLACK behind both rows. */
    void (*across)(const struct tap_table *table, uint32_t channels, const int16_t *row, uint8_t *out);
    /* The same in planes, or NULL: with the channels apart, the taps of sixteen pixels come out of one or two registers. Rows of three
     * channels with at least PLANE_LEAST pixels; `plane` values from plane to plane, PLANE_SLACK behind them. */
    void (*down_planes)(const uint8_t *rows, size_t stride, const int16_t *weights, uint32_t taps, size_t pixels,
                        int16_t *out, size_t plane);
    /* 1 or 3 planes; a table of one channel with a span of PLANE_SPAN at most. Planes of `out` are table->stride bytes apart. */
    void (*across_planes)(const struct tap_table *table, uint32_t planes, const int16_t *row, size_t plane,
                          uint8_t *out);
    /* The horizontal pass of a row of one channel without its rounding to bytes: (sum + 2^14) >> 15, in 2^-6. PLANE_SLACK behind the row;
     * table->stride values are written. */
    void (*across_words)(const struct tap_table *table, const int16_t *row, int16_t *out);
    /* JFIF's YCbCr in 2^-6 to bytes of three planes: libjpeg's constants in 2^-16, rounded once: (sum + 2^21) >> 22. count: a multiple of
     * TAP_BLOCK. */
    void (*color_words)(const int16_t *y, const int16_t *cb, const int16_t *cr, size_t count, uint8_t *r, uint8_t *g,
                        uint8_t *b);
    /* The passes of resample.h for 8 bits, with ROW_SLACK behind every row. */
    void (*wide_across)(const struct resample_table *table, uint32_t channels, const uint8_t *in, uint8_t *out);
    void (*wide_down)(const struct resample_rows *rows, const int32_t *weights, uint32_t used, uint8_t *out,
                      size_t samples);
    /* dst: the first pixel's element in the first plane. scale and shift are finite. */
    void (*finish)(const struct finish_row *f, const uint8_t *in, size_t pixels, void *dst);
    /* Colours (color.h). 0.2989 r + 0.587 g + 0.114 b into an image of the same type: into each of its colours; its own alpha is not touched.
     * Gray is copied. to may be p. */
    void (*gray)(const struct pixels *p, const struct pixels *to);
    /* mldfi_recolor, which calls it. */
    float (*recolor)(const struct pixels *p, const struct recolor *steps, size_t count, bool mean);
    /* Each value of an image of 8 bits by its colour's table; alpha stays. */
    void (*byte_tables)(const struct pixels *p, const uint8_t table[3][256]);
    bool tables_first; /* byte_tables is faster than one step of arithmetic */
    /* Sharpness: v + (1 - factor) * (smooth - v), smooth being the 3 x 3 mean with weight 5 in the middle, rounded for integers; the
     * outermost pixels stay. rows: memory for two rows of the image, aligned to its elements. */
    void (*sharpen)(const struct pixels *p, size_t width, double factor, void *rows);
    /* One row of each pass of blur.h. element: 1 (u8), 2 (u16), 4 (f32) bytes. */
    void (*blur_across)(const struct blur_line *l, size_t element);
    void (*blur_down)(const struct blur_line *l, size_t element);
    /* warp.h */
    void (*warp_nearest)(const struct warp *w);
    void (*warp_bilinear)(const struct warp *w);
    /* widen_loops.h: the elements of one whole-number type as another that holds them all; out is not in. false: not this pair (cast.h has all). */
    bool (*widen)(mldf_dtype from, const void *in, mldf_dtype to, void *out, size_t count);
    const struct fft_kernels *fft;     /* fft.h */
    const struct jpeg_kernels *jpeg;   /* jpeg.h */
    const struct video_kernels *video; /* video_rgb.h */
};

/* NULL: not built, or this processor cannot run it. */
const struct kernels *mldfi_kernels(enum isa isa);
const struct kernels *mldfi_kernels_best(void);
/* By name; NULL when it is unknown or unusable. */
const struct kernels *mldfi_kernels_named(const char *name);

/* The portable loops, which the others use for what they do not speed up. */
void mldfi_down_portable(const uint8_t *rows, size_t stride, const int16_t *weights, uint32_t taps, size_t values,
                         int16_t *out);
void mldfi_across_portable(const struct tap_table *table, uint32_t channels, const int16_t *row, uint8_t *out);
void mldfi_across_words_portable(const struct tap_table *table, const int16_t *row, int16_t *out);
void mldfi_color_words_portable(const int16_t *y, const int16_t *cb, const int16_t *cr, size_t count, uint8_t *r,
                                uint8_t *g, uint8_t *b);
void mldfi_wide_across_portable(const struct resample_table *table, uint32_t channels, const uint8_t *in, uint8_t *out);
void mldfi_wide_down_portable(const struct resample_rows *rows, const int32_t *weights, uint32_t used, uint8_t *out,
                              size_t samples);
void mldfi_finish_portable(const struct finish_row *f, const uint8_t *in, size_t pixels, void *dst);

/* float32 to the narrow types, rounded to nearest, ties to even. */
uint16_t mldfi_f32_to_f16(float value);
uint16_t mldfi_f32_to_bf16(float value);

#endif
