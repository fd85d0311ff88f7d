/* CRC-16/MODBUS by carry-less multiplication: the message is folded, 64 bytes at a time, into 16 bytes that have the same
 * CRC; the tables of crc16.c finish. */
#include "interop/crc16.h"

#if defined(__x86_64__)
#include <emmintrin.h>
#include <wmmintrin.h>

#define ISA __attribute__((target("sse2,pclmul")))

/* A register of 128 bits, moved n bits on, is low * x^(n + 64) + high * x^n. Bits are reflected, so a product comes out
 * one x too high: the constants are x^(n + 63) and x^(n - 1) mod x^16 + x^15 + x^2 + 1, bit 63 - i for x^i. */
#define LOW_512 0xc450000000000000
#define HIGH_512 0x8101000000000000
#define LOW_128 0xccd0000000000000
#define HIGH_128 0xc100000000000000

bool mldfi_crc16_pclmul_usable(void) {
    return __builtin_cpu_supports("pclmul");
}

ISA static inline __m128i fold(__m128i value, __m128i constants, __m128i next) {
    __m128i low = _mm_clmulepi64_si128(value, constants, 0x00);
    __m128i high = _mm_clmulepi64_si128(value, constants, 0x11);
    return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

static inline __m128i load(const uint8_t *p) {
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}

ISA uint16_t mldfi_crc16_pclmul(uint16_t crc, const void *data, size_t bytes) {
    const uint8_t *p = data;
    uint8_t rest[16];
    if (bytes < 64)
        return mldfi_crc16_portable(crc, data, bytes);
    const __m128i by512 = _mm_set_epi64x((long long)HIGH_512, (long long)LOW_512);
    const __m128i by128 = _mm_set_epi64x((long long)HIGH_128, (long long)LOW_128);
    /* The CRC so far stands for a difference in the first two bytes. */
    __m128i a = _mm_xor_si128(load(p), _mm_cvtsi32_si128(crc));
    __m128i b = load(p + 16), c = load(p + 32), d = load(p + 48);
    for (p += 64, bytes -= 64; bytes >= 64; p += 64, bytes -= 64) {
        a = fold(a, by512, load(p));
        b = fold(b, by512, load(p + 16));
        c = fold(c, by512, load(p + 32));
        d = fold(d, by512, load(p + 48));
    }
    a = fold(fold(fold(a, by128, b), by128, c), by128, d);
    for (; bytes >= 16; p += 16, bytes -= 16)
        a = fold(a, by128, load(p));
    _mm_storeu_si128((__m128i *)(void *)rest, a);
    return mldfi_crc16_portable(mldfi_crc16_portable(0, rest, sizeof rest), p, bytes);
}
#else
typedef int mldfi_no_pclmul; /* a translation unit must not be empty */
#endif
