/* CRC-32C (Castagnoli), in hardware where the CPU has it (SSE4.2, ARMv8 CRC), three streams at a time. */
#ifndef MLDF_UTIL_CRC32C_H
#define MLDF_UTIL_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Continues a CRC: start with 0. crc32c(crc32c(0, a), b) == crc32c(0, a then b). */
uint32_t mldfi_crc32c(uint32_t crc, const void *data, size_t bytes);
/* The variants, for tests and benchmarks; NULL where the CPU lacks it. */
typedef uint32_t (*mldfi_crc32c_fn)(uint32_t crc, const void *data, size_t bytes);
uint32_t mldfi_crc32c_portable(uint32_t crc, const void *data, size_t bytes);
mldfi_crc32c_fn mldfi_crc32c_hardware(void);

#endif
