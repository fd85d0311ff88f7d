/* See base64.h. */
#include "util/base64.h"

#include "util/buffer.h"

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

mldf_status mldfi_base64_encode(const uint8_t *data, size_t bytes, mldf_buffer *out, mldf_error *err) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    mldf_status status =
        bytes > SIZE_MAX / 2 ? MLDF_E_MEMORY : mldf_buffer_reserve(out, out->size + bytes / 3 * 4 + 4, err);
    for (size_t i = 0; status == MLDF_OK && i < bytes; i += 3) {
        size_t left = bytes - i;
        uint32_t bits =
            (uint32_t)data[i] << 16 | (left > 1 ? (uint32_t)data[i + 1] << 8 : 0) | (left > 2 ? data[i + 2] : 0);
        out->data[out->size++] = (uint8_t)digits[bits >> 18];
        out->data[out->size++] = (uint8_t)digits[bits >> 12 & 63];
        out->data[out->size++] = left > 1 ? (uint8_t)digits[bits >> 6 & 63] : '=';
        out->data[out->size++] = left > 2 ? (uint8_t)digits[bits & 63] : '=';
    }
    return status;
}
