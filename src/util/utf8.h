/* UTF-8 as RFC 3629 has it: no surrogates, no overlong forms, nothing above U+10FFFF. */
#ifndef MLDF_UTIL_UTF8_H
#define MLDF_UTIL_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Number of leading bytes that are valid: equal to `bytes` when all are. Fast for ASCII. */
size_t mldfi_utf8_valid_prefix(const void *text, size_t bytes);

/* Length of the character at p (1..4) when it is valid and lies within `bytes` (at least 1); 0 otherwise.
 * The second byte's range is what excludes overlong forms, surrogates and U+110000 and above. */
static inline size_t mldfi_utf8_character(const uint8_t *p, size_t bytes) {
    uint8_t first = p[0];
    if (first < 0x80)
        return 1;
    if (first < 0xC2 || first > 0xF4)
        return 0;
    if (first < 0xE0)
        return bytes >= 2 && (p[1] & 0xC0) == 0x80 ? 2 : 0;
    uint8_t low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    uint8_t high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    size_t length = first < 0xF0 ? 3 : 4;
    if (bytes < length || p[1] < low || p[1] > high || (p[2] & 0xC0) != 0x80)
        return 0;
    return length == 3 || (p[3] & 0xC0) == 0x80 ? length : 0;
}

#endif
