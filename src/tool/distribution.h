/* One distribution while it is gathered, number by number. Its one idea: sums are exact, and what would need all values at once
 * (percentiles, histograms) comes from a reservoir of MLDF_SUMMARY_KEPT of them. */
#ifndef MLDF_TOOL_DISTRIBUTION_H
#define MLDF_TOOL_DISTRIBUTION_H

#include "mldf/tool.h"

/* Starts as {0}. */
struct gather {
    mldf_distribution out;
    double m2; /* sum of squared distances from the mean */
    double *kept;
    size_t kept_count, kept_capacity;
    uint64_t random;
};

/* x is finite. */
mldf_status mldfi_gather_add(struct gather *gather, double x, mldf_error *err);
/* Fills in out; nothing is added any more. */
void mldfi_gather_end(struct gather *gather);
void mldfi_gather_free(struct gather *gather);

#endif
