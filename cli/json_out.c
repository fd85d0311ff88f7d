/* JSON on stdout. Commas and colons come by themselves; strings are always valid UTF-8, whatever the bytes were. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

enum { MAX_DEPTH = 64 };
static bool has_item[MAX_DEPTH];
static int depth;
static bool after_key;

void json_separate(void) {
    if (after_key)
        after_key = false;
    else if (has_item[depth])
        out_char(',');
    has_item[depth] = true;
}

void json_begin(char bracket) {
    json_separate();
    out_char(bracket);
    if (depth + 1 < MAX_DEPTH)
        depth++;
    has_item[depth] = false;
}

void json_end(char bracket) {
    out_char(bracket);
    if (depth > 0)
        depth--;
}

void json_line_end(void) {
    out_char('\n');
    has_item[0] = false;
    depth = 0;
}

/* ---- Strings ------------------------------------------------------------------------------------------------------- */

/* Length of the well-formed UTF-8 sequence at s, or 0. */
static size_t sequence(const unsigned char *s, size_t bytes) {
    if (s[0] < 0x80)
        return 1;
    size_t n = s[0] >= 0xf5 ? 0 : s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : s[0] >= 0xc2 ? 2 : 0;
    if (n == 0 || n > bytes)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xf0 && s[1] < 0x90);
    bool surrogate = s[0] == 0xed && s[1] >= 0xa0, beyond = s[0] == 0xf4 && s[1] >= 0x90;
    return overlong || surrogate || beyond ? 0 : n;
}

static void escape(unsigned char c) {
    static const char letters[] = "btn\0fr";
    if (c == '"' || c == '\\') {
        out_char('\\');
        out_char((char)c);
    } else if (c >= 8 && c <= 13 && c != 11) {
        out_char('\\');
        out_char(letters[c - 8]);
    } else {
        out_printf("\\u%04x", (unsigned)c);
    }
}

static void put_string(const char *text, size_t bytes) {
    const unsigned char *s = (const unsigned char *)text;
    size_t at = 0;
    out_char('"');
    while (at < bytes) {
        size_t run = at;
        while (run < bytes && s[run] >= 0x20 && s[run] < 0x7f && s[run] != '"' && s[run] != '\\')
            run++;
        out_bytes(s + at, run - at);
        at = run;
        if (at >= bytes)
            break;
        size_t n = sequence(s + at, bytes - at);
        if (n == 0)
            out_text("\xef\xbf\xbd");
        else if (n > 1)
            out_bytes(s + at, n);
        else
            escape(s[at]);
        at += n ? n : 1;
    }
    out_char('"');
}

void json_key_bytes(const char *name, size_t bytes) {
    json_separate();
    put_string(name, bytes);
    out_char(':');
    after_key = true;
}

void json_key(const char *name) {
    json_key_bytes(name, strlen(name));
}

void json_string_bytes(const char *text, size_t bytes) {
    json_separate();
    put_string(text, bytes);
}

void json_string(const char *text) {
    json_string_bytes(text, strlen(text));
}

/* ---- Scalars ------------------------------------------------------------------------------------------------------- */

void json_null(void) {
    json_separate();
    out_text("null");
}

void json_bool(bool value) {
    json_separate();
    out_text(value ? "true" : "false");
}

static void put_digits(uint64_t value, bool negative) {
    char text[24];
    size_t at = sizeof text;
    do {
        text[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    if (negative)
        text[--at] = '-';
    out_bytes(text + at, sizeof text - at);
}

void json_u64(uint64_t value) {
    json_separate();
    put_digits(value, false);
}

void json_i64(int64_t value) {
    json_separate();
    put_digits(value < 0 ? 0 - (uint64_t)value : (uint64_t)value, value < 0);
}

void json_u64_or_null(uint64_t value) {
    if (value == MLDF_NONE)
        json_null();
    else
        json_u64(value);
}

void json_double(double value) {
    char text[40];
    if (!isfinite(value)) {
        json_string(isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
        return;
    }
    json_separate();
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text - 3, "%.*g", digits, value);
        double back = strtod(text, NULL);
        if (memcmp(&back, &value, sizeof value) == 0)
            break;
    }
    /* A float stays recognisable as one. */
    if (!strpbrk(text, ".e"))
        strcat(text, ".0");
    out_text(text);
}
