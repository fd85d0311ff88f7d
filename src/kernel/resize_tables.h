/* Tables of weights in the form that resize.c wants, with the last few kept. Private to resize.c and resize_tables.c. */
#ifndef MLDF_KERNEL_RESIZE_TABLES_H
#define MLDF_KERNEL_RESIZE_TABLES_H

#include "kernel/kernels.h"
#include "kernel/resample.h"

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
/* The results are valid until KEPT_TABLES others of their kind have been asked for. */
mldf_status mldfi_row_taps(struct resize_tables *tables, const struct axis *axis, uint32_t channels,
                           const struct row_taps **out, mldf_error *err);
mldf_status mldfi_column_taps(struct resize_tables *tables, const struct axis *axis, const struct column_taps **out,
                              mldf_error *err);
mldf_status mldfi_wide_taps(struct resize_tables *tables, const struct axis *axis, bool columns,
                            const struct resample_table **out, mldf_error *err);

#endif
