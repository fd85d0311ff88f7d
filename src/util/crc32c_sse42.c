/* CRC-32C with SSE4.2's crc32 instruction in three streams, put together by carry-less multiplication (PCLMULQDQ).
 * crc32c_variants.h draws the idea; crc32c.c chooses at run time. */
#include "util/crc32c_variants.h"

#if defined(__x86_64__)
#include <nmmintrin.h>
#include <wmmintrin.h>

#include "util/bytes.h"

#define ISA __attribute__((target("sse4.2,pclmul")))

/* x^(8n - 33) mod P, bit-reflected, for n bytes: the product with a 32-bit CRC, taken as 64 bits and sent through crc32
 * once more (which multiplies by x^32 and reduces; the reflected product is short of one x), is the CRC moved n bytes on. */
#define SHIFT_256 0xb9e02b86
#define SHIFT_512 0xdd7e3b0c
#define SHIFT_4096 0x82f89c77
#define SHIFT_8192 0x54a86326

bool mldfi_crc32c_sse42_usable(void) {
    return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul");
}

ISA static uint64_t multiply(uint64_t crc, uint64_t shift) {
    __m128i product = _mm_clmulepi64_si128(_mm_cvtsi64_si128((long long)crc), _mm_cvtsi64_si128((long long)shift), 0);
    return (uint64_t)_mm_cvtsi128_si64(product);
}

/* One block of three pieces. */
ISA static inline uint64_t three(uint64_t crc, const uint8_t *p, size_t piece, uint64_t once, uint64_t twice) {
    uint64_t c0 = crc, c1 = 0, c2 = 0;
    for (size_t i = 0; i < piece; i += 16) {
        c0 = _mm_crc32_u64(c0, mldfi_load_u64(p + i));
        c1 = _mm_crc32_u64(c1, mldfi_load_u64(p + piece + i));
        c2 = _mm_crc32_u64(c2, mldfi_load_u64(p + 2 * piece + i));
        c0 = _mm_crc32_u64(c0, mldfi_load_u64(p + i + 8));
        c1 = _mm_crc32_u64(c1, mldfi_load_u64(p + piece + i + 8));
        c2 = _mm_crc32_u64(c2, mldfi_load_u64(p + 2 * piece + i + 8));
    }
    return c2 ^ _mm_crc32_u64(0, multiply(c0, twice) ^ multiply(c1, once));
}

ISA uint32_t mldfi_crc32c_sse42(uint32_t crc, const void *data, size_t bytes) {
    const uint8_t *p = data;
    uint64_t c = (uint32_t)~crc;
    for (; bytes >= 3 * CRC32C_LONG_PIECE; p += 3 * CRC32C_LONG_PIECE, bytes -= 3 * CRC32C_LONG_PIECE)
        c = three(c, p, CRC32C_LONG_PIECE, SHIFT_4096, SHIFT_8192);
    for (; bytes >= 3 * CRC32C_SHORT_PIECE; p += 3 * CRC32C_SHORT_PIECE, bytes -= 3 * CRC32C_SHORT_PIECE)
        c = three(c, p, CRC32C_SHORT_PIECE, SHIFT_256, SHIFT_512);
    for (; bytes >= 8; p += 8, bytes -= 8)
        c = _mm_crc32_u64(c, mldfi_load_u64(p));
    for (; bytes > 0; p++, bytes--)
        c = _mm_crc32_u8((uint32_t)c, *p);
    return ~(uint32_t)c;
}
#else
typedef int mldfi_no_sse42; /* a translation unit must not be empty */
#endif
