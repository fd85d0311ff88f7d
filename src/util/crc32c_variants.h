/* The hardware variants of CRC-32C, one file each; crc32c.c chooses. */
#ifndef MLDF_UTIL_CRC32C_VARIANTS_H
#define MLDF_UTIL_CRC32C_VARIANTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Three streams hide the three cycles that one CRC instruction takes. Buffers are cut into blocks of three pieces:
 *
 *     | piece 0 | piece 1 | piece 2 |   crc = crc0 * x^(16 piece) + crc1 * x^(8 piece) + crc2   (polynomials mod P)
 *
 * Long blocks make the recombination cheap, short ones serve buffers of a few kilobytes. */
enum { CRC32C_LONG_PIECE = 4096, CRC32C_SHORT_PIECE = 256 };

#if defined(__x86_64__)
bool mldfi_crc32c_sse42_usable(void);
uint32_t mldfi_crc32c_sse42(uint32_t crc, const void *data, size_t bytes);
#elif defined(__aarch64__)
bool mldfi_crc32c_armcrc_usable(void);
uint32_t mldfi_crc32c_armcrc(uint32_t crc, const void *data, size_t bytes);
#endif

#endif
