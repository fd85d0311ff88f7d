/* Validating UTF-8: sixteen ASCII bytes at a time, everything else character by character (utf8.h). */
#include "util/utf8.h"

#include "util/bytes.h"

#define HIGH_BITS UINT64_C(0x8080808080808080)

size_t mldfi_utf8_valid_prefix(const void *text, size_t bytes) {
    const uint8_t *p = text;
    size_t at = 0;
    while (at < bytes) {
        if (p[at] < 0x80) {
            while (bytes - at >= 16 && ((mldfi_load_u64(p + at) | mldfi_load_u64(p + at + 8)) & HIGH_BITS) == 0)
                at += 16;
            while (at < bytes && p[at] < 0x80)
                at++;
            continue;
        }
        size_t length = mldfi_utf8_character(p + at, bytes - at);
        if (length == 0)
            return at;
        at += length;
    }
    return at;
}
