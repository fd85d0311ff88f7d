/* Numbers as text, both ways, whatever the host program's locale is. Nearly every number takes a short exact path; the
 * rest goes to the C library's conversion with the "C" locale. json.h is the main customer. */
#include "util/number.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __has_include
#if __has_include(<xlocale.h>)
#include <xlocale.h>
#endif
#endif

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

const char *mldfi_number_end(const char *p, const char *end, bool *integer, const char **p_bad) {
    *integer = true;
    if (p < end && *p == '-')
        p++;
    if (p == end || !is_digit(*p))
        goto bad;
    if (*p == '0')
        p++; /* nothing but a fraction or an exponent may follow */
    else
        while (p < end && is_digit(*p))
            p++;
    if (p < end && *p == '.') {
        *integer = false;
        p++;
        if (p == end || !is_digit(*p))
            goto bad;
        while (p < end && is_digit(*p))
            p++;
    }
    if (p < end && (*p == 'e' || *p == 'E')) {
        *integer = false;
        p++;
        if (p < end && (*p == '+' || *p == '-'))
            p++;
        if (p == end || !is_digit(*p))
            goto bad;
        while (p < end && is_digit(*p))
            p++;
    }
    return p;
bad:
    *p_bad = p;
    return NULL;
}

/* ---- Text to double --------------------------------------------------------------------------------------------- */

/* Enough significant digits to decide every rounding: 767 is the most a double's half-way point has. */
enum { DIGITS_MAX = 800 };
/* Beyond what any text could balance with a long row of zeros. */
#define EXPONENT_MAX INT64_C(1000000000000000)

struct decimal {
    bool negative;
    bool sticky;      /* a non-zero digit was left out */
    int digit_count;  /* without leading zeros */
    int64_t exponent; /* value = 0.d1d2d3... * 10^exponent */
    char digits[DIGITS_MAX];
};

/* Takes a text of JSON's grammar apart. */
static void take_apart(const char *p, const char *end, struct decimal *out) {
    int64_t point = 0, written = 0;
    bool fraction = false;
    out->negative = *p == '-';
    out->sticky = false;
    out->digit_count = 0;
    for (p += out->negative; p < end && *p != 'e' && *p != 'E'; p++) {
        if (*p == '.') {
            fraction = true;
            continue;
        }
        if (!fraction)
            point++;
        if (*p == '0' && out->digit_count == 0) {
            point--; /* a leading zero: before the point it does not count, after it it moves the value down */
            continue;
        }
        if (out->digit_count < DIGITS_MAX)
            out->digits[out->digit_count++] = *p;
        else if (*p != '0')
            out->sticky = true;
    }
    if (p < end) {
        bool down = p[1] == '-';
        for (p += 1 + (p[1] == '-' || p[1] == '+'); p < end; p++)
            if (written < EXPONENT_MAX)
                written = written * 10 + (*p - '0');
        written = down ? -written : written;
    }
    out->exponent = point + written;
}

/* Mantissa below 2^53 and a power of ten that a double holds exactly: one rounding, so the result is the right one. */
static bool exact_path(const struct decimal *d, double *out) {
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    uint64_t mantissa = 0;
    int64_t power = d->exponent - d->digit_count;
    if (d->digit_count > 19 || power < -22 || power > 22)
        return false;
    for (int i = 0; i < d->digit_count; i++)
        mantissa = mantissa * 10 + (uint64_t)(d->digits[i] - '0');
    if (mantissa > UINT64_C(1) << 53)
        return false;
    double value = power < 0 ? (double)mantissa / powers[-power] : (double)mantissa * powers[power];
    *out = d->negative ? -value : value;
    return true;
}

/* Writes "0.<digits>e<exponent>" and lets the C library round it. */
static bool library_path(const struct decimal *d, double *out) {
    char text[DIGITS_MAX + 40];
    size_t used = 0;
    text[used++] = d->negative ? '-' : '0';
    if (d->negative)
        text[used++] = '0';
    text[used++] = '.';
    memcpy(text + used, d->digits, (size_t)d->digit_count);
    used += (size_t)d->digit_count;
    if (d->sticky)
        text[used++] = '1';
    (void)snprintf(text + used, sizeof text - used, "e%lld", (long long)d->exponent);
    /* "C" is built in: newlocale only hands out a pointer to it. */
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!c)
        return false;
    *out = strtod_l(text, NULL, c);
    freelocale(c);
    return isfinite(*out);
}

bool mldfi_parse_double(const char *text, size_t bytes, double *out) {
    struct decimal d;
    bool integer;
    const char *bad;
    if (mldfi_number_end(text, text + bytes, &integer, &bad) != text + bytes)
        return false;
    take_apart(text, text + bytes, &d);
    if (d.digit_count == 0) {
        *out = d.negative ? -0.0 : 0.0;
        return true;
    }
    return exact_path(&d, out) || library_path(&d, out);
}

/* ---- Double to text --------------------------------------------------------------------------------------------- */

/* printf's decimal point is the locale's and may be several bytes: whatever is not part of a number becomes '.'. */
static size_t mend_point(char *text, size_t bytes) {
    size_t used = 0;
    bool point = false;
    for (size_t i = 0; i < bytes; i++) {
        char c = text[i];
        if (is_digit(c) || c == '-' || c == '+' || c == 'e') {
            text[used++] = c;
        } else if (!point) {
            point = true;
            text[used++] = '.';
        }
    }
    text[used] = 0;
    return used;
}

size_t mldfi_format_double(char out[32], double value) {
    size_t used = 0;
    double back;
    if (!isfinite(value)) {
        out[0] = 0;
        return 0;
    }
    if (fabs(value) < 1e15 && value == (double)(int64_t)value) {
        long long whole = (long long)value;
        return (size_t)snprintf(out, 32, "%s%lld.0", whole == 0 && signbit(value) ? "-" : "", whole);
    }
    for (int digits = 15; digits <= 17; digits++) {
        int n = snprintf(out, 32, "%.*g", digits, value);
        used = mend_point(out, (size_t)n);
        if (mldfi_parse_double(out, used, &back) && back == value)
            break;
    }
    if (!memchr(out, '.', used) && !memchr(out, 'e', used)) {
        memcpy(out + used, ".0", 3);
        used += 2;
    }
    return used;
}

/* ---- Integers --------------------------------------------------------------------------------------------------- */

static bool parse_digits(const char *p, const char *end, uint64_t *out) {
    uint64_t value = 0;
    if (p == end)
        return false;
    for (; p < end; p++) {
        if (!is_digit(*p) || __builtin_mul_overflow(value, UINT64_C(10), &value) ||
            __builtin_add_overflow(value, (uint64_t)(*p - '0'), &value))
            return false;
    }
    *out = value;
    return true;
}

bool mldfi_parse_u64(const char *text, size_t bytes, uint64_t *out) {
    uint64_t value;
    bool negative = bytes > 0 && text[0] == '-';
    if (!parse_digits(text + negative, text + bytes, &value) || (negative && value != 0))
        return false;
    *out = value;
    return true;
}

bool mldfi_parse_i64(const char *text, size_t bytes, int64_t *out) {
    uint64_t value;
    bool negative = bytes > 0 && text[0] == '-';
    if (!parse_digits(text + negative, text + bytes, &value) || value > (uint64_t)INT64_MAX + negative)
        return false;
    *out = negative ? (int64_t)(0 - value) : (int64_t)value;
    return true;
}
