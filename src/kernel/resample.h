/* Antialiased resizing of interleaved pixels: tables of integer weights, one pass along rows, one along columns. resize.h is what
 * pipelines use; mldf_image_resize stands on the same passes. */
#ifndef MLDF_KERNEL_RESAMPLE_H
#define MLDF_KERNEL_RESAMPLE_H

#include "mldf/image.h"

/* How samples of a coarser component become the pixels of an axis, two from each: as libjpeg's fancy upsampling, three parts of the sample that a pixel
 * lies in and one of its neighbour (the sample alone at the image's ends); or the sample itself, twice. */
enum axis_spread { SPREAD_NONE, SPREAD_FANCY, SPREAD_REPEAT };

/* One axis of a resize: a box of `size` pixels becomes `target` pixels, of which a part is made. */
struct axis {
    uint32_t size;               /* pixels of the image; taps stay among them */
    uint64_t box_from, box_size; /* in eighths of a pixel */
    uint32_t target;             /* what the box becomes */
    uint32_t from, count;        /* the part of that */
    bool mirror;                 /* the part's order is turned round */
    bool antialias;              /* stretch the filter when shrinking */
    mldf_image_filter filter;
    /* Weights of a coarser component's samples instead of pixels'; bilinear only. spread_at: where the image's first pixel lies among the pixels of
     * spread_size samples. Taps may then lie beside the image, and count from the component's first sample. */
    enum axis_spread spread;
    uint32_t spread_at, spread_size;
};

/* Weights of the source pixels of each target pixel, as fixed-point integers that sum to 1 within rounding. */
struct resample_table {
    uint32_t count;   /* target pixels */
    uint32_t taps;    /* most weights of one */
    uint32_t *first;  /* [count] source pixel of the first weight */
    uint32_t *used;   /* [count] weights in use */
    int32_t *weights; /* [count * taps], in 2^-MLDFI_RESAMPLE_BITS */
};
enum { MLDFI_RESAMPLE_BITS = 22 }; /* 8-bit pixels, 22 bits, sign and head room for overshoot: 32 */

/* Bytes of memory that a table needs; 0 when it would be absurdly large. */
size_t mldfi_resample_table_bytes(const struct axis *axis);
/* Makes a table in that memory (aligned to 8). */
void mldfi_resample_table(struct resample_table *table, void *memory, const struct axis *axis);

/* resample.c: the two passes. One row across: */
void mldfi_resample_across(const struct resample_table *table, uint32_t channels, uint32_t bits, const uint8_t *in,
                           uint8_t *out);
/* One target row from `used` rows of a ring of `ring` rows that are `stride` bytes apart, beginning with row `start` of the ring. */
struct resample_rows {
    const uint8_t *data;
    size_t stride;
    uint32_t start, ring;
};
void mldfi_resample_down(const struct resample_rows *rows, uint32_t bits, const int32_t *weights, uint32_t used,
                         uint8_t *out, size_t samples);

/* resize_axis.c: integer weights of the bilinear kernels (resize.h has the definition) and nearest pixels. */
struct axis_plan {
    double pixel, inverse, wide; /* 16 n, its inverse, the half width of the triangle */
    uint32_t steps;              /* taps to look at; an output's weights need room for one more */
};
void mldfi_axis_begin(const struct axis *axis, struct axis_plan *plan);
/* Weights of output i of the part, in 2^-14, without zeros at the ends; returns how many, at least 1. Of a coarser component: those of the pixels times
 * the parts that samples have in them, rounded to 2^-14 by their running sums: R(c) = floor(c / 4 + 1/2). */
uint32_t mldfi_axis_bilinear(const struct axis *axis, const struct axis_plan *plan, uint32_t i, uint32_t *first,
                             int16_t *weights);
/* The pixel at floor(centre) of output i of the part. */
uint32_t mldfi_axis_nearest(const struct axis *axis, uint32_t i);

#endif
