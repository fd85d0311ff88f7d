/* JSON that comes from a file and goes out again: checked (RFC 8259) and stripped of white space, so that a line stays a line. A text that
 * is not JSON is printed as a string instead. */
#include <string.h>

#include "cli.h"

enum { MAX_NESTING = 512 };

struct scan {
    const char *at, *end;
};

static void skip_space(struct scan *s) {
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\t' || *s->at == '\n' || *s->at == '\r'))
        s->at++;
}

static bool scan_word(struct scan *s, const char *word) {
    size_t n = strlen(word);
    if ((size_t)(s->end - s->at) < n || memcmp(s->at, word, n) != 0)
        return false;
    s->at += n;
    return true;
}

static bool scan_digits(struct scan *s) {
    const char *begin = s->at;
    while (s->at < s->end && *s->at >= '0' && *s->at <= '9')
        s->at++;
    return s->at > begin;
}

static bool scan_number(struct scan *s) {
    if (s->at < s->end && *s->at == '-')
        s->at++;
    if (s->at < s->end && *s->at == '0')
        s->at++;
    else if (!scan_digits(s))
        return false;
    if (s->at < s->end && *s->at == '.') {
        s->at++;
        if (!scan_digits(s))
            return false;
    }
    if (s->at < s->end && (*s->at == 'e' || *s->at == 'E')) {
        s->at++;
        if (s->at < s->end && (*s->at == '+' || *s->at == '-'))
            s->at++;
        return scan_digits(s);
    }
    return true;
}

static bool is_hex(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Strings of well-formed UTF-8 is the library's promise for JSON fields; control characters and escapes are looked at here. */
static bool scan_string(struct scan *s) {
    if (s->at >= s->end || *s->at != '"')
        return false;
    for (s->at++; s->at < s->end; s->at++) {
        unsigned char c = (unsigned char)*s->at;
        if (c == '"') {
            s->at++;
            return true;
        }
        if (c < 0x20)
            return false;
        if (c != '\\')
            continue;
        if (++s->at >= s->end)
            return false;
        if (*s->at == 'u') {
            if (s->end - s->at < 5 || !is_hex(s->at[1]) || !is_hex(s->at[2]) || !is_hex(s->at[3]) || !is_hex(s->at[4]))
                return false;
            s->at += 4;
        } else if (!strchr("\"\\/bfnrt", *s->at)) {
            return false;
        }
    }
    return false;
}

static bool scan_value(struct scan *s, int nesting);

/* The inside of an object or a list, behind its opening bracket. */
static bool scan_items(struct scan *s, char close, int nesting) {
    skip_space(s);
    if (s->at < s->end && *s->at == close) {
        s->at++;
        return true;
    }
    for (;;) {
        skip_space(s);
        if (close == '}') {
            if (!scan_string(s))
                return false;
            skip_space(s);
            if (s->at >= s->end || *s->at++ != ':')
                return false;
        }
        if (!scan_value(s, nesting + 1))
            return false;
        if (s->at >= s->end)
            return false;
        char c = *s->at++;
        if (c == close)
            return true;
        if (c != ',')
            return false;
    }
}

/* A value and the white space around it. */
static bool scan_value(struct scan *s, int nesting) {
    bool good;
    skip_space(s);
    if (s->at >= s->end || nesting > MAX_NESTING)
        return false;
    char c = *s->at;
    if (c == '{' || c == '[') {
        s->at++;
        good = scan_items(s, c == '{' ? '}' : ']', nesting);
    } else if (c == '"') {
        good = scan_string(s);
    } else if (c == 't' || c == 'f' || c == 'n') {
        good = scan_word(s, c == 't' ? "true" : c == 'f' ? "false" : "null");
    } else {
        good = scan_number(s);
    }
    skip_space(s);
    return good;
}

static void put_without_space(const char *text, size_t bytes) {
    size_t begin = 0;
    bool quoted = false;
    for (size_t i = 0; i < bytes; i++) {
        char c = text[i];
        if (quoted && c == '\\') {
            i++;
        } else if (c == '"') {
            quoted = !quoted;
        } else if (!quoted && (c == ' ' || c == '\t' || c == '\n' || c == '\r')) {
            out_bytes(text + begin, i - begin);
            begin = i + 1;
        }
    }
    out_bytes(text + begin, bytes - begin);
}

void json_text(const char *text, size_t bytes) {
    struct scan s = {text, text + bytes};
    bool valid = scan_value(&s, 0) && s.at == s.end;
    if (!valid) {
        json_string_bytes(text, bytes);
        return;
    }
    json_separate();
    put_without_space(text, bytes);
}

bool json_is_object(const char *text, size_t bytes) {
    struct scan s = {text, text + bytes};
    skip_space(&s);
    return s.at < s.end && *s.at == '{' && scan_value(&s, 0) && s.at == s.end;
}
