/* How single cells and JSON numbers read: boolean, integer, float or mere words. See infer.h. */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "tool/infer.h"
#include "util/number.h"

bool mldfi_int_is_exact(int64_t value) {
    uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    return mldfi_uint_is_exact(magnitude);
}

bool mldfi_uint_is_exact(uint64_t value) {
    if (value == 0)
        return true;
    return (value >> __builtin_ctzll(value)) <= (UINT64_C(1) << 53);
}

static bool is_word(const char *text, size_t bytes, const char *word) {
    return strlen(word) == bytes && strncasecmp(text, word, bytes) == 0;
}

/* Only the spellings that programs write. */
static bool is_bool(const char *text, size_t bytes, int64_t *out) {
    static const char *const words[6] = {"false", "true", "False", "True", "FALSE", "TRUE"};
    for (size_t i = 0; i < 6; i++) {
        if (strlen(words[i]) == bytes && memcmp(text, words[i], bytes) == 0) {
            *out = (int64_t)(i & 1);
            return true;
        }
    }
    return false;
}

static bool is_nonfinite(const char *text, size_t bytes, double *out) {
    bool negative = bytes > 0 && text[0] == '-';
    size_t skip = bytes > 0 && (text[0] == '-' || text[0] == '+');
    if (is_word(text, bytes, "nan")) {
        *out = (double)NAN;
        return true;
    }
    if (is_word(text + skip, bytes - skip, "inf") || is_word(text + skip, bytes - skip, "infinity")) {
        *out = negative ? -(double)INFINITY : (double)INFINITY;
        return true;
    }
    return false;
}

static size_t count_digits(const char *text, size_t bytes) {
    size_t n = 0;
    while (n < bytes && text[n] >= '0' && text[n] <= '9')
        n++;
    return n;
}

/* The parts of a decimal number: sign, whole digits, fraction digits, exponent. False when it is none. */
struct decimal {
    bool negative, plus, has_point, has_exponent;
    const char *whole, *fraction, *exponent;
    size_t whole_digits, fraction_digits, exponent_bytes;
};
static bool split_decimal(const char *text, size_t bytes, struct decimal *d) {
    size_t at = 0;
    memset(d, 0, sizeof *d);
    if (bytes > 0 && (text[0] == '-' || text[0] == '+')) {
        d->negative = text[0] == '-';
        d->plus = text[0] == '+';
        at = 1;
    }
    d->whole = text + at;
    d->whole_digits = count_digits(text + at, bytes - at);
    at += d->whole_digits;
    if (at < bytes && text[at] == '.') {
        d->has_point = true;
        at++;
        d->fraction = text + at;
        d->fraction_digits = count_digits(text + at, bytes - at);
        at += d->fraction_digits;
    }
    if (d->whole_digits + d->fraction_digits == 0)
        return false;
    if (at < bytes && (text[at] == 'e' || text[at] == 'E')) {
        size_t sign = at + 1 < bytes && (text[at + 1] == '-' || text[at + 1] == '+');
        size_t digits = count_digits(text + at + 1 + sign, bytes - at - 1 - sign);
        if (digits == 0)
            return false;
        d->has_exponent = true;
        d->exponent = text + at;
        d->exponent_bytes = 1 + sign + digits;
        at += d->exponent_bytes;
    }
    return at == bytes;
}

static bool digits_u64(const char *text, size_t bytes, uint64_t *out) {
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; i++)
        if (__builtin_mul_overflow(value, UINT64_C(10), &value) ||
            __builtin_add_overflow(value, (uint64_t)(text[i] - '0'), &value))
            return false;
    *out = value;
    return true;
}

/* JSON's grammar is what the number parser takes, so ".5", "5." and leading zeros are put into that form first. */
static bool read_float(const struct decimal *d, double *out) {
    char text[800];
    size_t zeros = 0, at = 0;
    while (zeros + 1 < d->whole_digits && d->whole[zeros] == '0')
        zeros++;
    size_t whole = d->whole_digits - zeros;
    if (whole + d->fraction_digits + d->exponent_bytes + 8 > sizeof text)
        return false;
    if (d->negative)
        text[at++] = '-';
    if (whole == 0)
        text[at++] = '0';
    memcpy(text + at, d->whole + zeros, whole);
    at += whole;
    if (d->fraction_digits) {
        text[at++] = '.';
        memcpy(text + at, d->fraction, d->fraction_digits);
        at += d->fraction_digits;
    }
    if (d->exponent_bytes)
        memcpy(text + at, d->exponent, d->exponent_bytes);
    at += d->exponent_bytes;
    return mldfi_parse_double(text, at, out) && isfinite(*out);
}

static text_kind read_integer(const struct decimal *d, struct text_number *out) {
    uint64_t magnitude;
    bool fits = digits_u64(d->whole, d->whole_digits, &magnitude);
    if (!fits || (d->negative && magnitude > (uint64_t)INT64_MAX + 1)) {
        if (!read_float(d, &out->f))
            out->f = (double)INFINITY;
        return TEXT_BIG;
    }
    if (d->negative) {
        out->i = (int64_t)(0 - magnitude);
        return TEXT_INT;
    }
    out->u = magnitude;
    if (magnitude > INT64_MAX)
        return TEXT_UINT;
    out->i = (int64_t)magnitude;
    return TEXT_INT;
}

text_kind mldfi_read_text(const char *text, size_t bytes, bool loose, struct text_number *out) {
    struct decimal d;
    if (bytes == 0)
        return TEXT_EMPTY;
    while (bytes > 1 && (text[0] == ' ' || text[0] == '\t')) {
        text++;
        bytes--;
    }
    while (bytes > 1 && (text[bytes - 1] == ' ' || text[bytes - 1] == '\t'))
        bytes--;
    if (is_bool(text, bytes, &out->i))
        return TEXT_BOOL;
    if (is_nonfinite(text, bytes, &out->f))
        return TEXT_FLOAT;
    if (!split_decimal(text, bytes, &d))
        return TEXT_WORDS;
    if (!loose && (d.plus || (d.whole_digits > 1 && d.whole[0] == '0')))
        return TEXT_WORDS;
    if (!d.has_point && !d.has_exponent)
        return read_integer(&d, out);
    return read_float(&d, &out->f) ? TEXT_FLOAT : TEXT_WORDS;
}

text_kind mldfi_read_json_number(const char *text, size_t bytes, struct text_number *out) {
    struct decimal d;
    if (!split_decimal(text, bytes, &d))
        return TEXT_WORDS;
    if (!d.has_point && !d.has_exponent)
        return read_integer(&d, out);
    return mldfi_parse_double(text, bytes, &out->f) && isfinite(out->f) ? TEXT_FLOAT : TEXT_WORDS;
}

bool mldfi_json_nonfinite(const struct json *json, uint32_t node, double *out) {
    if (json->nodes[node].kind != MLDFI_JSON_STRING)
        return false;
    if (mldfi_json_is_text(json, node, "NaN"))
        *out = (double)NAN;
    else if (mldfi_json_is_text(json, node, "Infinity"))
        *out = (double)INFINITY;
    else if (mldfi_json_is_text(json, node, "-Infinity"))
        *out = -(double)INFINITY;
    else
        return false;
    return true;
}
