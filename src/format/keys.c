/* The hash table of the sample keys, section 6: its size and its hash. Probing is linear from hash mod 2^param. */
#include <xxhash.h>

#include "format/format.h"

uint32_t mldfi_key_param(uint64_t num_samples) {
    uint32_t param = 0;
    /* 2^param >= 1.5 n, in whole numbers that cannot wrap: 2^param - n >= ceil(n / 2). */
    while (param < 63 && (((uint64_t)1 << param) < num_samples ||
                          ((uint64_t)1 << param) - num_samples < num_samples / 2 + num_samples % 2))
        param++;
    return param;
}

uint64_t mldfi_key_hash(const void *key, size_t bytes) {
    return XXH64(key, bytes, 0);
}
