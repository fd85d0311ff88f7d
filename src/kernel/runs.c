/* runs.h: loops that the compiler makes vectors of. */
#include "kernel/runs.h"

void mldfi_run_fill_i32(int32_t value, int32_t *out, size_t count) {
    for (size_t i = 0; i < count; i++)
        out[i] = value;
}

void mldfi_run_fill_i64(int64_t value, int64_t *out, size_t count) {
    for (size_t i = 0; i < count; i++)
        out[i] = value;
}

void mldfi_run_count_i32(int32_t first, int32_t *out, size_t count) {
    for (size_t i = 0; i < count; i++)
        out[i] = first + (int32_t)i;
}

void mldfi_run_count_i64(int64_t first, int64_t *out, size_t count) {
    for (size_t i = 0; i < count; i++)
        out[i] = first + (int64_t)i;
}
