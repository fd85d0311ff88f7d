/* CRC-32C with ARMv8's CRC instructions in three streams. Putting the streams together is a multiplication modulo the
 * polynomial in plain C: not every CPU with CRC has PMULL, and once in 12 KiB it does not matter.
 * crc32c_variants.h draws the idea; crc32c.c chooses at run time. */
#include "util/crc32c_variants.h"

#if defined(__aarch64__)
#if !defined(__ARM_FEATURE_CRC32)
#error "compile this file with -march=armv8-a+crc, as cmake/flags.cmake does"
#endif
#include <arm_acle.h>
#if defined(__linux__)
#include <sys/auxv.h>
#endif

#include "util/bytes.h"

#define POLYNOMIAL UINT32_C(0x82f63b78)
/* x^(8 n) mod P, bit-reflected, for n bytes. */
#define SHIFT_256 UINT32_C(0x88e56f72)
#define SHIFT_512 UINT32_C(0x74c360a4)
#define SHIFT_4096 UINT32_C(0x35d73a62)
#define SHIFT_8192 UINT32_C(0x28461564)

/* Linux tells through the auxiliary vector; every 64-bit CPU of the other systems has it. */
bool mldfi_crc32c_armcrc_usable(void) {
#if defined(__linux__)
    const unsigned long crc32_bit = 1ul << 7; /* HWCAP_CRC32 */
    return (getauxval(AT_HWCAP) & crc32_bit) != 0;
#else
    return true;
#endif
}

/* a * b mod P; the highest bit is x^0. */
static uint32_t multiply(uint32_t a, uint32_t b) {
    uint32_t product = 0;
    for (; a != 0; a <<= 1) {
        product ^= b & (0 - (a >> 31));
        b = b >> 1 ^ (POLYNOMIAL & (0 - (b & 1)));
    }
    return product;
}

static inline uint32_t three(uint32_t crc, const uint8_t *p, size_t piece, uint32_t once, uint32_t twice) {
    uint32_t c0 = crc, c1 = 0, c2 = 0;
    for (size_t i = 0; i < piece; i += 8) {
        c0 = __crc32cd(c0, mldfi_load_u64(p + i));
        c1 = __crc32cd(c1, mldfi_load_u64(p + piece + i));
        c2 = __crc32cd(c2, mldfi_load_u64(p + 2 * piece + i));
    }
    return c2 ^ multiply(c0, twice) ^ multiply(c1, once);
}

uint32_t mldfi_crc32c_armcrc(uint32_t crc, const void *data, size_t bytes) {
    const uint8_t *p = data;
    uint32_t c = ~crc;
    for (; bytes >= 3 * CRC32C_LONG_PIECE; p += 3 * CRC32C_LONG_PIECE, bytes -= 3 * CRC32C_LONG_PIECE)
        c = three(c, p, CRC32C_LONG_PIECE, SHIFT_4096, SHIFT_8192);
    for (; bytes >= 3 * CRC32C_SHORT_PIECE; p += 3 * CRC32C_SHORT_PIECE, bytes -= 3 * CRC32C_SHORT_PIECE)
        c = three(c, p, CRC32C_SHORT_PIECE, SHIFT_256, SHIFT_512);
    for (; bytes >= 8; p += 8, bytes -= 8)
        c = __crc32cd(c, mldfi_load_u64(p));
    for (; bytes > 0; p++, bytes--)
        c = __crc32cb(c, *p);
    return ~c;
}
#else
typedef int mldfi_no_armcrc; /* a translation unit must not be empty */
#endif
