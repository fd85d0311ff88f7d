/* base64 (RFC 4648), decoding only. See convert.h. */
#include "tool/convert.h"

static int digit(char c) {
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

bool mldfi_base64_decode(const char *text, size_t bytes, mldf_buffer *out) {
    uint32_t bits = 0;
    size_t digits = bytes, padding = 0;
    while (digits > 0 && padding < 2 && text[digits - 1] == '=') {
        digits--;
        padding++;
    }
    if (digits % 4 == 1 || (padding && (digits + padding) % 4 != 0))
        return false;
    if (mldf_buffer_reserve(out, out->size + digits / 4 * 3 + 3, NULL) < 0)
        return false;
    for (size_t i = 0; i < digits; i++) {
        int d = digit(text[i]);
        if (d < 0)
            return false;
        bits = bits << 6 | (uint32_t)d;
        if (i % 4 == 3)
            out->data[out->size++] = (uint8_t)(bits >> 16);
        if (i % 4 == 3)
            out->data[out->size++] = (uint8_t)(bits >> 8);
        if (i % 4 == 3)
            out->data[out->size++] = (uint8_t)bits;
    }
    if (digits % 4 == 2)
        out->data[out->size++] = (uint8_t)(bits >> 4);
    if (digits % 4 == 3) {
        out->data[out->size++] = (uint8_t)(bits >> 10);
        out->data[out->size++] = (uint8_t)(bits >> 2);
    }
    return (digits % 4 == 2 ? bits & 15 : digits % 4 == 3 ? bits & 3 : 0) == 0;
}
