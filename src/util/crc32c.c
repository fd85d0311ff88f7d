/* CRC-32C without special instructions (eight table look-ups for eight bytes), and the choice between it and the
 * hardware: crc32c_sse42.c, crc32c_armcrc.c. */
#include "util/crc32c.h"

#include "util/bytes.h"
#include "util/crc32c_variants.h"
#include "util/crc_table.h"

static const uint32_t table[8][256] = {
    CRC_ROW(0xf26b8303u, 0xe13b70f7u, 0xc79a971fu, 0x8ad958cfu, 0x105ec76fu, 0x20bd8edeu, 0x417b1dbcu, 0x82f63b78u),
    CRC_ROW(0x13a29877u, 0x274530eeu, 0x4e8a61dcu, 0x9d14c3b8u, 0x3fc5f181u, 0x7f8be302u, 0xff17c604u, 0xfbc3faf9u),
    CRC_ROW(0xa541927eu, 0x4f6f520du, 0x9edea41au, 0x38513ec5u, 0x70a27d8au, 0xe144fb14u, 0xc76580d9u, 0x8b277743u),
    CRC_ROW(0xdd45aab8u, 0xbf672381u, 0x7b2231f3u, 0xf64463e6u, 0xe964b13du, 0xd725148bu, 0xaba65fe7u, 0x52a0c93fu),
    CRC_ROW(0x38116facu, 0x7022df58u, 0xe045beb0u, 0xc5670b91u, 0x8f2261d3u, 0x1ba8b557u, 0x37516aaeu, 0x6ea2d55cu),
    CRC_ROW(0xef306b19u, 0xdb8ca0c3u, 0xb2f53777u, 0x6006181fu, 0xc00c303eu, 0x85f4168du, 0x0e045bebu, 0x1c08b7d6u),
    CRC_ROW(0x68032cc8u, 0xd0065990u, 0xa5e0c5d1u, 0x4e2dfd53u, 0x9c5bfaa6u, 0x3d5b83bdu, 0x7ab7077au, 0xf56e0ef4u),
    CRC_ROW(0x493c7d27u, 0x9278fa4eu, 0x211d826du, 0x423b04dau, 0x847609b4u, 0x0d006599u, 0x1a00cb32u, 0x34019664u),
};

static uint32_t eight_bytes(uint32_t crc, const uint8_t *p) {
    uint64_t v = mldfi_load_u64(p) ^ crc;
    return table[7][v & 255] ^ table[6][v >> 8 & 255] ^ table[5][v >> 16 & 255] ^ table[4][v >> 24 & 255] ^
           table[3][v >> 32 & 255] ^ table[2][v >> 40 & 255] ^ table[1][v >> 48 & 255] ^ table[0][v >> 56];
}

uint32_t mldfi_crc32c_portable(uint32_t crc, const void *data, size_t bytes) {
    const uint8_t *p = data;
    crc = ~crc;
    for (; bytes >= 8; p += 8, bytes -= 8)
        crc = eight_bytes(crc, p);
    for (; bytes > 0; p++, bytes--)
        crc = crc >> 8 ^ table[0][(crc ^ *p) & 255];
    return ~crc;
}

/* The question is a load and a test: cheap enough to ask every time instead of keeping a global answer. */
mldfi_crc32c_fn mldfi_crc32c_hardware(void) {
#if defined(__x86_64__)
    if (mldfi_crc32c_sse42_usable())
        return mldfi_crc32c_sse42;
#elif defined(__aarch64__)
    if (mldfi_crc32c_armcrc_usable())
        return mldfi_crc32c_armcrc;
#endif
    return NULL;
}

uint32_t mldfi_crc32c(uint32_t crc, const void *data, size_t bytes) {
    mldfi_crc32c_fn hardware = mldfi_crc32c_hardware();
    return hardware ? hardware(crc, data, bytes) : mldfi_crc32c_portable(crc, data, bytes);
}
