/* CRC-16/MODBUS by sixteen table look-ups for sixteen bytes, and the choice between that and carry-less multiplication
 * (crc16_pclmul.c). */
#include "interop/crc16.h"

#include "util/bytes.h"
#include "util/crc_table.h"

static const uint16_t table[16][256] = {
    CRC_ROW(0xc0c1u, 0xc181u, 0xc301u, 0xc601u, 0xcc01u, 0xd801u, 0xf001u, 0xa001u),
    CRC_ROW(0x9001u, 0x6001u, 0xc002u, 0xc007u, 0xc00du, 0xc019u, 0xc031u, 0xc061u),
    CRC_ROW(0xc051u, 0xc0a1u, 0xc141u, 0xc281u, 0xc501u, 0xca01u, 0xd401u, 0xe801u),
    CRC_ROW(0xfc01u, 0xb801u, 0x3001u, 0x6002u, 0xc004u, 0xc00bu, 0xc015u, 0xc029u),
    CRC_ROW(0xc03du, 0xc079u, 0xc0f1u, 0xc1e1u, 0xc3c1u, 0xc781u, 0xcf01u, 0xde01u),
    CRC_ROW(0xd101u, 0xe201u, 0x8401u, 0x4801u, 0x9002u, 0x6007u, 0xc00eu, 0xc01fu),
    CRC_ROW(0xc010u, 0xc023u, 0xc045u, 0xc089u, 0xc111u, 0xc221u, 0xc441u, 0xc881u),
    CRC_ROW(0xccc1u, 0xd981u, 0xf301u, 0xa601u, 0x0c01u, 0x1802u, 0x3004u, 0x6008u),
    CRC_ROW(0x900du, 0x6019u, 0xc032u, 0xc067u, 0xc0cdu, 0xc199u, 0xc331u, 0xc661u),
    CRC_ROW(0xc551u, 0xcaa1u, 0xd541u, 0xea81u, 0x9501u, 0x6a01u, 0xd402u, 0xe807u),
    CRC_ROW(0xfc04u, 0xb80bu, 0x3015u, 0x602au, 0xc054u, 0xc0abu, 0xc155u, 0xc2a9u),
    CRC_ROW(0xc3fdu, 0xc7f9u, 0xcff1u, 0xdfe1u, 0xffc1u, 0xbf81u, 0x3f01u, 0x7e02u),
    CRC_ROW(0x8102u, 0x4207u, 0x840eu, 0x481fu, 0x903eu, 0x607fu, 0xc0feu, 0xc1ffu),
    CRC_ROW(0xc100u, 0xc203u, 0xc405u, 0xc809u, 0xd011u, 0xe021u, 0x8041u, 0x4081u),
    CRC_ROW(0x00c1u, 0x0182u, 0x0304u, 0x0608u, 0x0c10u, 0x1820u, 0x3040u, 0x6080u),
    CRC_ROW(0x90c1u, 0x6181u, 0xc302u, 0xc607u, 0xcc0du, 0xd819u, 0xf031u, 0xa061u),
};

/* The eight bytes of v, followed by `zeros` zero bytes. */
static inline uint32_t eight(uint64_t v, int zeros) {
    return table[zeros + 7][v & 255] ^ table[zeros + 6][v >> 8 & 255] ^ table[zeros + 5][v >> 16 & 255] ^
           table[zeros + 4][v >> 24 & 255] ^ table[zeros + 3][v >> 32 & 255] ^ table[zeros + 2][v >> 40 & 255] ^
           table[zeros + 1][v >> 48 & 255] ^ table[zeros][v >> 56];
}

uint16_t mldfi_crc16_portable(uint16_t start, const void *data, size_t bytes) {
    const uint8_t *p = data;
    uint32_t crc = start;
    for (; bytes >= 16; p += 16, bytes -= 16)
        crc = eight(mldfi_load_u64(p) ^ crc, 8) ^ eight(mldfi_load_u64(p + 8), 0);
    for (; bytes > 0; p++, bytes--)
        crc = crc >> 8 ^ table[0][(crc ^ *p) & 255];
    return (uint16_t)crc;
}

uint16_t mldfi_crc16(uint16_t crc, const void *data, size_t bytes) {
#if defined(__x86_64__)
    if (bytes >= 256 && mldfi_crc16_pclmul_usable())
        return mldfi_crc16_pclmul(crc, data, bytes);
#endif
    return mldfi_crc16_portable(crc, data, bytes);
}
