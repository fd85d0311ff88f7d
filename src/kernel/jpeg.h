/* The loops of the fast JPEG store (docs/spec/fast-jpeg.md): from bits to coefficients, to samples, to pixels. Results are those of
 * libjpeg-turbo's integer decoder: jidctint.c and jidctred.c, fancy upsampling, YCbCr → RGB; and every instruction set gives the same bits for any
 * input, also for coefficients that no encoder writes. src/field/image_fast.c puts the steps together.
 *
 * One lookup: the next 12 bits say everything about the next eight places of a block: values, bits used, places to go on. Several segments are
 * decoded in turn, lookup by lookup. */
#ifndef MLDF_KERNEL_JPEG_H
#define MLDF_KERNEL_JPEG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    JPEG_WINDOW_BITS = 12,
    JPEG_WINDOW = 1 << JPEG_WINDOW_BITS,
    JPEG_MOST_ENDS = 31,   /* of blocks in one lookup */
    JPEG_LOOKUPS = 4,      /* between two looks at where a segment ends */
    JPEG_LOW_STRIDE = 16,  /* places of a block: the DC, then 15 */
    JPEG_HIGH_STRIDE = 64, /* one that is not used, 48, and others that are not used */
    JPEG_PLANE_PAD = 64    /* bytes beside each row of samples that may be read and written */
};

/* For each window: meta: bits 0-5 bits used, 6 slow, 7-17 places to add, 18-31 a mask with sign for the place then; values for the eight places that
 * follow. Slow (a value that the window does not hold): bits 0-5 the word's, 7-17 run, 18-31 size. */
struct jpeg_window {
    uint32_t meta[JPEG_WINDOW];
    uint64_t values[JPEG_WINDOW];
};
/* For each window: difference and bits used; size: so many bits follow, which the window does not hold. */
struct jpeg_dc_window {
    struct {
        int16_t value;
        uint8_t length, size;
    } entry[JPEG_WINDOW];
};
/* From the lengths and words of the code's symbols (src/codec/fast_jpeg.h). stride: JPEG_LOW_STRIDE or JPEG_HIGH_STRIDE. */
void mldfi_jpeg_window(const uint8_t *length, const uint16_t *word, unsigned stride, struct jpeg_window *out);
void mldfi_jpeg_dc_window(const uint8_t *length, const uint16_t *word, struct jpeg_dc_window *out);

/* One segment: its first bit; places [place, end) of the output, all zero before. */
struct jpeg_job {
    uint64_t at;
    uint32_t place, end;
};
/* Places behind a job's end that may be written too. */
static inline uint32_t mldfi_jpeg_spill(unsigned stride) {
    return (JPEG_LOOKUPS + 1) * (JPEG_MOST_ENDS + 1) * stride;
}

/* Quantisers and order of the two blocks that are transformed at a time. */
struct jpeg_quantisers {
    int16_t natural[2][64];
    uint8_t scan[64];        /* place → natural place */
    uint8_t shuffle[16][16]; /* byte shuffles that undo the order: [group][tile][half] */
};
void mldfi_jpeg_quantisers(const uint8_t *first, const uint8_t *second, const uint8_t *zigzag, const uint8_t *scan,
                           struct jpeg_quantisers *out);

/* Pairs of blocks, one pair after the other in memory: the first of pair i goes to a + i * step, the second to b + i * step. */
struct jpeg_blocks {
    const int16_t *low;  /* JPEG_LOW_STRIDE for each block */
    const int16_t *high; /* JPEG_HIGH_STRIDE; NULL: all zero, for results of less than 8 samples on a side */
    size_t pairs;
    const struct jpeg_quantisers *q;
    uint8_t *a, *b;
    size_t step, stride;
};

/* Each of `count` samples becomes two: three parts of it and one of its neighbour. first, last: the row's own ends are among them. Rows have
 * JPEG_PLANE_PAD beside them. */
struct jpeg_up {
    const uint8_t *near, *far; /* two rows of which the result has three parts and one; or the same row twice */
    size_t count;
    bool first, last;
    uint8_t *out;
};

struct jpeg_kernels {
    /* False: the bits end early. 64 bytes behind the bits can be read. */
    bool (*segments)(const uint8_t *bits, uint64_t count, const struct jpeg_window *t, int16_t *out,
                     struct jpeg_job *jobs, size_t jobs_count);
    /* DCs of four rows of MCUs: `count` of each, rounded up to a multiple of four, into rows `stride` apart. lag: 1 or 2. */
    bool (*dcs)(const uint8_t *bits, uint64_t limit, const uint64_t at[4], const struct jpeg_dc_window *t, size_t count,
                unsigned lag, int16_t *out, size_t stride);
    /* Blocks to 1, 2, 4 or 8 samples on a side: by log2. */
    void (*transform[4])(const struct jpeg_blocks *b);
    void (*up_across)(const struct jpeg_up *u); /* h2v1, of `near` */
    void (*up_both)(const struct jpeg_up *u);   /* one row of h2v2 */
    /* One row of h1v2, as many samples as there are; add: 1 or 2, before a division by four. Up to 15 bytes behind it are written. */
    void (*up_down)(const struct jpeg_up *u, int add);
    /* One row of pixels; channels: 3, or 4 with an alpha of 255. Up to 64 bytes behind it are written. */
    void (*color)(const uint8_t *y, const uint8_t *cb, const uint8_t *cr, size_t count, unsigned channels,
                  uint8_t *out);
    /* The same of samples that are red, green and blue. */
    void (*join)(const uint8_t *r, const uint8_t *g, const uint8_t *b, size_t count, unsigned channels, uint8_t *out);
};
extern const struct jpeg_kernels mldfi_jpeg_portable;
#if defined(__x86_64__)
extern const struct jpeg_kernels mldfi_jpeg_sse4, mldfi_jpeg_avx2;
#elif defined(__aarch64__)
extern const struct jpeg_kernels mldfi_jpeg_neon;
#endif

/* A DC is all that it takes. */
void mldfi_jpeg_transform_1(const struct jpeg_blocks *b);

#endif
