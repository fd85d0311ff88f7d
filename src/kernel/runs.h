/* Runs of equal numbers and of numbers in sequence: paddings, labels that do not count, positions, segments. */
#ifndef MLDF_KERNEL_RUNS_H
#define MLDF_KERNEL_RUNS_H

#include <stddef.h>
#include <stdint.h>

void mldfi_run_fill_i32(int32_t value, int32_t *out, size_t count);
void mldfi_run_fill_i64(int64_t value, int64_t *out, size_t count);
/* first, first + 1, ... */
void mldfi_run_count_i32(int32_t first, int32_t *out, size_t count);
void mldfi_run_count_i64(int64_t first, int64_t *out, size_t count);

#endif
