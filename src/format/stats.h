/* Section 4: statistics of one field, gathered in sample order so that the same samples give the same bytes. */
#ifndef MLDF_FORMAT_STATS_H
#define MLDF_FORMAT_STATS_H

#include "format/format.h"
#include "mldf/reader.h" /* mldf_field_stats */

/* What a type tells of one present value, from its record alone. */
struct observation {
    int number_kind; /* 0 none, 1 i64, 2 u64, 3 f64 */
    union {
        int64_t i;
        uint64_t u;
        double f;
    } number;
    uint32_t ndim;
    uint32_t dims[MLDF_MAX_DIMS];
    bool has_units;
    uint64_t units; /* tokens */
};

struct stats_accumulator {
    mldf_field_stats stats;
    __extension__ __int128 int_sum; /* exact */
    double float_sum, float_carry;  /* Neumaier */
    double huge_sum, huge_carry;    /* of the values from 2^960 on, scaled down */
    uint64_t finite;
};
void mldfi_stats_begin(struct stats_accumulator *acc);
void mldfi_stats_null(struct stats_accumulator *acc);
/* The numbers inside a value lie between least and most. */
void mldfi_stats_range(struct stats_accumulator *acc, uint64_t least, uint64_t most);
void mldfi_stats_add(struct stats_accumulator *acc, const struct observation *seen, uint64_t stored_bytes,
                     uint64_t value_bytes);
void mldfi_stats_end(struct stats_accumulator *acc); /* computes the mean */
void mldfi_stats_encode(const mldf_field_stats *stats, uint8_t out[FORMAT_STATS_BYTES]);
void mldfi_stats_decode(const uint8_t in[FORMAT_STATS_BYTES], mldf_field_stats *out);

#endif
