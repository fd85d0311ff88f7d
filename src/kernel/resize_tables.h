/* Tables of weights in the form that resizing wants, with the last few kept, and what resize.c, resize_planes.c and resize_floats.c share. Private to them and
 * resize_tables.c. */
#ifndef MLDF_KERNEL_RESIZE_TABLES_H
#define MLDF_KERNEL_RESIZE_TABLES_H

#include "kernel/kernels.h"
#include "kernel/resample.h"
#include "kernel/resize.h"

struct row_taps {
    struct tap_table table;
    uint32_t first, pixels; /* columns of the image that have weight; offsets count from `first` */
};

struct column_taps {
    const uint32_t *first, *used; /* [count]: rows of each output row */
    const int16_t *weights;       /* [count][taps] */
    uint32_t taps;
};

enum { KEPT_TABLES = 4 };
struct kept_table {
    struct axis axis; /* count 0: empty */
    uint32_t channels;
    mldf_buffer memory;
    union {
        struct row_taps row;
        struct column_taps column;
        struct resample_table wide;
    } as;
};
struct table_set {
    struct kept_table kept[KEPT_TABLES];
    uint32_t next; /* the one to be replaced */
};
struct resize_tables {
    struct table_set row, column, wide_row, wide_column;
};

/* Zeroes are an empty set. */
void mldfi_resize_tables_free(struct resize_tables *tables);
/* The results are valid until two others of their kind have been asked for. */
mldf_status mldfi_row_taps(struct resize_tables *tables, const struct axis *axis, uint32_t channels,
                           const struct row_taps **out, mldf_error *err);
mldf_status mldfi_column_taps(struct resize_tables *tables, const struct axis *axis, const struct column_taps **out,
                              mldf_error *err);
mldf_status mldfi_wide_taps(struct resize_tables *tables, const struct axis *axis, bool columns,
                            const struct resample_table **out, mldf_error *err);

struct resize_work {
    struct resize_tables tables;
    mldf_buffer sums; /* int16 rows of the bilinear passes; the ring of the others */
    mldf_buffer row;  /* one row of output pixels */
};
/* The axes of a spec for an image of these sides. */
void mldfi_resize_axes(const struct resize_spec *spec, uint32_t width, uint32_t height, mldf_image_filter filter,
                       struct axis *x, struct axis *y);
/* MLDF_E_ARGUMENT for a spec, pixels or a finish that make no sense. */
mldf_status mldfi_resize_check(const struct resize_spec *spec, const struct raster *in, const struct axis *x,
                               const struct axis *y, const struct finish *finish, mldf_error *err);
/* How each channel of an image in planes is finished: as an image of one channel. */
void mldfi_finish_channels(const struct finish_row *all, uint32_t channels, struct finish_row out[4]);

#endif
