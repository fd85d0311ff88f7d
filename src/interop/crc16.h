/* CRC-16/MODBUS (reflected 0xA001, no final xor), the checksum of every sample of a TBL file. crc16.c, crc16_pclmul.c. */
#ifndef MLDF_INTEROP_CRC16_H
#define MLDF_INTEROP_CRC16_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CRC16_START = 0xFFFF };

/* Continues a CRC: start with CRC16_START. */
uint16_t mldfi_crc16(uint16_t crc, const void *data, size_t bytes);
/* The variants, for tests and benchmarks. */
uint16_t mldfi_crc16_portable(uint16_t crc, const void *data, size_t bytes);
#if defined(__x86_64__)
bool mldfi_crc16_pclmul_usable(void);
uint16_t mldfi_crc16_pclmul(uint16_t crc, const void *data, size_t bytes);
#endif

#endif
