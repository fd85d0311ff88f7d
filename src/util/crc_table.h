/* Tables of CRCs, spelt from few numbers. A CRC is linear: the entry of byte b is the xor of the entries of its bits. So a row of 256 follows from
 * the eight entries of 1, 2, 4 .. 128, and the compiler does the rest. Row k of a table: the CRC of the byte followed by k zero bytes. */
#ifndef MLDF_UTIL_CRC_TABLE_H
#define MLDF_UTIL_CRC_TABLE_H

#define CRC_ENTRY(b, c0, c1, c2, c3, c4, c5, c6, c7) \
    (((b)&1 ? c0 : 0) ^ ((b)&2 ? c1 : 0) ^ ((b)&4 ? c2 : 0) ^ ((b)&8 ? c3 : 0) ^ ((b)&16 ? c4 : 0) ^ \
     ((b)&32 ? c5 : 0) ^ ((b)&64 ? c6 : 0) ^ ((b)&128 ? c7 : 0))
#define CRC_ENTRIES4(b, ...) \
    CRC_ENTRY(b, __VA_ARGS__), CRC_ENTRY(b + 1, __VA_ARGS__), CRC_ENTRY(b + 2, __VA_ARGS__), \
        CRC_ENTRY(b + 3, __VA_ARGS__)
#define CRC_ENTRIES16(b, ...) \
    CRC_ENTRIES4(b, __VA_ARGS__), CRC_ENTRIES4(b + 4, __VA_ARGS__), CRC_ENTRIES4(b + 8, __VA_ARGS__), \
        CRC_ENTRIES4(b + 12, __VA_ARGS__)
#define CRC_ENTRIES64(b, ...) \
    CRC_ENTRIES16(b, __VA_ARGS__), CRC_ENTRIES16(b + 16, __VA_ARGS__), CRC_ENTRIES16(b + 32, __VA_ARGS__), \
        CRC_ENTRIES16(b + 48, __VA_ARGS__)
#define CRC_ROW(...) \
    { \
        CRC_ENTRIES64(0, __VA_ARGS__), CRC_ENTRIES64(64, __VA_ARGS__), CRC_ENTRIES64(128, __VA_ARGS__), \
            CRC_ENTRIES64(192, __VA_ARGS__) \
    }

#endif
