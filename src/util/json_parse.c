/* Reading JSON: one walk over the text with an explicit stack, that fills a tree or, without one, only validates; keys that are
 * there twice are looked for when their object is closed, in the tree or in a list of the keys of open objects.
 *
 *     VALUE --scalar--> AFTER --','--> VALUE or KEY        AFTER at depth 0: the end of the text
 *       |  '{' '['        ^  \--']' '}' pop--> AFTER
 *       +--push--> KEY, VALUE, or AFTER when the container is empty
 *     KEY --string ':'--> VALUE
 *
 * Plain ASCII inside strings goes eight bytes at a time. json.c looks things up in the tree. */
#include <stdlib.h>
#include <string.h>

#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"
#include "util/json.h"
#include "util/json_members.h"
#include "util/number.h"
#include "util/utf8.h"

/* The keys of the objects that are open, where there is no tree to look into. */
struct open_key {
    uint64_t offset;    /* of its quote in the text */
    uint64_t unescaped; /* its place in strings; MLDF_NONE: it stands in the text */
    uint32_t bytes;
};
struct open_keys {
    struct open_key *list;
    size_t count, capacity;
    mldf_buffer strings;
    struct {
        size_t keys, strings;
    } before[MLDFI_JSON_DEPTH_MAX]; /* each open container */
};

struct scanner {
    const char *text, *p, *end;
    struct json *json;      /* NULL: validate only */
    struct open_keys *keys; /* NULL: the tree knows them, or they do not matter */
    mldf_error *err;
    unsigned depth;
    char closers[MLDFI_JSON_DEPTH_MAX]; /* ']' or '}' that ends each open container */
    uint32_t nodes[MLDFI_JSON_DEPTH_MAX];
    const char *key; /* of the value that comes next; NULL in an array */
    size_t key_bytes;
};

enum step { STEP_VALUE, STEP_KEY, STEP_AFTER };

static mldf_status fail(const struct scanner *s, const char *at, const char *what) {
    uint64_t offset = (uint64_t)(at - s->text);
    if (at >= s->end)
        return mldfi_fail_at(s->err, MLDF_E_SYNTAX, offset, "JSON: the text ends at byte %llu: %s",
                             (unsigned long long)offset, what);
    unsigned char c = (unsigned char)*at;
    if (c > 0x20 && c < 0x7F)
        return mldfi_fail_at(s->err, MLDF_E_SYNTAX, offset, "JSON: byte %llu is '%c': %s", (unsigned long long)offset,
                             c, what);
    return mldfi_fail_at(s->err, MLDF_E_SYNTAX, offset, "JSON: byte %llu is 0x%02x: %s", (unsigned long long)offset, c,
                         what);
}

static inline void skip_space(struct scanner *s) {
    while (s->p < s->end && (*s->p == ' ' || *s->p == '\n' || *s->p == '\r' || *s->p == '\t'))
        s->p++;
}

/* ---- Strings ---------------------------------------------------------------------------------------------------- */

#define ONES UINT64_C(0x0101010101010101)
#define HIGHS UINT64_C(0x8080808080808080)

/* First byte at or after p that is a quote, a backslash, a control character or not ASCII. In each of the four tests a
 * borrow can only mark bytes above a true hit, so the lowest mark is always right. */
static inline const char *skip_plain(const char *p, const char *end) {
    while (end - p >= 8) {
        uint64_t w = mldfi_load_u64(p);
        uint64_t quote = w ^ ONES * '"', slash = w ^ ONES * '\\';
        uint64_t hits = (((quote - ONES) & ~quote) | ((slash - ONES) & ~slash) | ((w - ONES * 0x20) & ~w) | w) & HIGHS;
        if (hits)
            return p + (__builtin_ctzll(hits) >> 3);
        p += 8;
    }
    while (p < end && (unsigned char)*p >= 0x20 && (unsigned char)*p < 0x80 && *p != '"' && *p != '\\')
        p++;
    return p;
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The four digits of \uXXXX at p (after the u); -1 and *bad at the byte that is none. */
static int32_t hex_four(const struct scanner *s, const char *p, const char **bad) {
    int32_t value = 0;
    for (int i = 0; i < 4; i++, p++) {
        int digit = p < s->end ? hex_digit(*p) : -1;
        if (digit < 0) {
            *bad = p;
            return -1;
        }
        value = value * 16 + digit;
    }
    return value;
}

static char *put_character(char *dst, uint32_t code) {
    if (code < 0x80) {
        *dst++ = (char)code;
    } else if (code < 0x800) {
        *dst++ = (char)(0xC0 | code >> 6);
        *dst++ = (char)(0x80 | (code & 63));
    } else if (code < 0x10000) {
        *dst++ = (char)(0xE0 | code >> 12);
        *dst++ = (char)(0x80 | (code >> 6 & 63));
        *dst++ = (char)(0x80 | (code & 63));
    } else {
        *dst++ = (char)(0xF0 | code >> 18);
        *dst++ = (char)(0x80 | (code >> 12 & 63));
        *dst++ = (char)(0x80 | (code >> 6 & 63));
        *dst++ = (char)(0x80 | (code & 63));
    }
    return dst;
}

/* \uXXXX at s->p, with its partner if it is half of a surrogate pair. */
static mldf_status scan_unicode(struct scanner *s, uint32_t *code) {
    const char *start = s->p, *bad;
    int32_t high = hex_four(s, start + 2, &bad), low;
    if (high < 0)
        return fail(s, bad, "four hexadecimal digits must follow \\u");
    s->p = start + 6;
    *code = (uint32_t)high;
    if (high < 0xD800 || high > 0xDFFF)
        return MLDF_OK;
    if (high > 0xDBFF || s->end - s->p < 2 || s->p[0] != '\\' || s->p[1] != 'u')
        return fail(s, start, "half of a surrogate pair");
    low = hex_four(s, s->p + 2, &bad);
    if (low < 0)
        return fail(s, bad, "four hexadecimal digits must follow \\u");
    if (low < 0xDC00 || low > 0xDFFF)
        return fail(s, start, "half of a surrogate pair");
    s->p += 6;
    *code = 0x10000u + (((uint32_t)high & 0x3FFu) << 10) + ((uint32_t)low & 0x3FFu);
    return MLDF_OK;
}

/* The escape at s->p (its backslash). */
static mldf_status scan_escape(struct scanner *s, uint32_t *code) {
    static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    if (s->end - s->p < 2)
        return fail(s, s->end, "an escape is not finished");
    if (s->p[1] == 'u')
        return scan_unicode(s, code);
    const char *letter = s->p[1] ? strchr(letters, s->p[1]) : NULL;
    if (!letter)
        return fail(s, s->p + 1, "no escape is called that");
    *code = (unsigned char)meanings[letter - letters];
    s->p += 2;
    return MLDF_OK;
}

/* Steps over one character that skip_plain stopped at and that is neither quote nor backslash. */
static mldf_status scan_special(struct scanner *s) {
    size_t left = (size_t)(s->end - s->p);
    if (left == 0)
        return fail(s, s->p, "a string is not closed");
    if ((unsigned char)*s->p < 0x20)
        return fail(s, s->p, "control characters must be escaped");
    size_t length = mldfi_utf8_character((const uint8_t *)s->p, left);
    if (length == 0)
        return fail(s, s->p, "not valid UTF-8");
    s->p += length;
    return MLDF_OK;
}

/* The rest of a string that has an escape at s->p; `start` is its first byte. The unescaped text goes to json->strings,
 * which then has room for everything up to the end of the source: it never moves again during this parse. */
static mldf_status scan_escaped(struct scanner *s, const char *start, const char **out, size_t *out_bytes) {
    struct json *json = s->json;
    char *dst = NULL, *first = NULL;
    mldf_status status;
    uint32_t code = 0;
    if (json) {
        status = mldf_buffer_reserve(&json->strings, json->strings.size + (size_t)(s->end - start), s->err);
        if (status != MLDF_OK)
            return status;
        dst = first = (char *)json->strings.data + json->strings.size;
    }
    for (;;) {
        if (dst) {
            memcpy(dst, start, (size_t)(s->p - start));
            dst += s->p - start;
        }
        if (s->p < s->end && *s->p == '"')
            break;
        if ((status = scan_escape(s, &code)) != MLDF_OK)
            return status;
        if (dst)
            dst = put_character(dst, code);
        start = s->p;
        while ((s->p = skip_plain(s->p, s->end)) == s->end || (*s->p != '"' && *s->p != '\\'))
            if ((status = scan_special(s)) != MLDF_OK)
                return status;
    }
    s->p++;
    if (json) {
        *out = first;
        *out_bytes = (size_t)(dst - first);
        json->strings.size += *out_bytes;
    }
    return MLDF_OK;
}

/* The string whose opening quote is at s->p. */
static mldf_status scan_string(struct scanner *s, const char **out, size_t *out_bytes) {
    const char *start = ++s->p;
    mldf_status status;
    for (;;) {
        s->p = skip_plain(s->p, s->end);
        if (s->p < s->end && *s->p == '"') {
            *out = start;
            *out_bytes = (size_t)(s->p++ - start);
            return MLDF_OK;
        }
        if (s->p < s->end && *s->p == '\\')
            return scan_escaped(s, start, out, out_bytes);
        if ((status = scan_special(s)) != MLDF_OK)
            return status;
    }
}

/* ---- Nodes ------------------------------------------------------------------------------------------------------ */

static mldf_status add_node(struct scanner *s, mldfi_json_kind kind, const char *at, const char *text, size_t bytes) {
    struct json *json = s->json;
    if (!json)
        return MLDF_OK;
    if (json->count >= UINT32_MAX - 1)
        return mldfi_fail_at(s->err, MLDF_E_LIMIT, (uint64_t)(at - s->text), "JSON: more than 2^32 - 2 values");
    if (json->count >= json->node_capacity) {
        mldf_status status = mldfi_array_reserve(&json->nodes, &json->node_capacity, (size_t)json->count + 1,
                                                 sizeof *json->nodes, s->err);
        if (status != MLDF_OK)
            return status;
    }
    struct json_node *node = &json->nodes[json->count++];
    node->kind = kind;
    node->next = json->count;
    node->count = 0;
    node->key = s->key;
    node->key_bytes = (uint32_t)s->key_bytes;
    node->text = text;
    node->text_bytes = bytes;
    node->offset = (uint64_t)(at - s->text);
    if (s->depth > 0)
        json->nodes[s->nodes[s->depth - 1]].count++;
    return MLDF_OK;
}

/* Where the key of the value at `value` begins: back over the colon to a quote, then to the quote that no odd number of
 * backslashes precedes. Only for the report of an error. */
static uint64_t key_offset(const char *text, uint64_t value) {
    uint64_t at = value;
    while (text[at - 1] != '"')
        at--;
    for (at -= 2;; at--) {
        uint64_t slashes = 0;
        if (text[at] != '"')
            continue;
        while (slashes < at && text[at - 1 - slashes] == '\\')
            slashes++;
        if (slashes % 2 == 0)
            return at;
    }
}

static mldf_status fail_twice(const struct scanner *s, const char *key, size_t bytes, uint64_t offset) {
    return mldfi_fail_at(s->err, MLDF_E_SYNTAX, offset, "JSON: the key \"%.*s\" is there twice",
                         (int)(bytes < 64 ? bytes : 64), key);
}

/* A node of the tree that is an object is closed. */
static mldf_status check_members(const struct scanner *s, uint32_t object) {
    const struct json *json = s->json;
    uint32_t count = json->nodes[object].count;
    struct json_member few[MLDFI_JSON_FEW_MEMBERS], *members = few;
    if (count > MLDFI_JSON_FEW_MEMBERS && !(members = mldfi_alloc(count * sizeof *members, s->err)))
        return MLDF_E_MEMORY;
    mldfi_json_list_members(json, object, members);
    uint32_t twin = mldfi_json_twin(members, count);
    if (members != few)
        free(members);
    if (twin == UINT32_MAX)
        return MLDF_OK;
    const struct json_node *n = &json->nodes[twin];
    return fail_twice(s, n->key, n->key_bytes, key_offset(s->text, n->offset));
}

/* ---- Keys without a tree ------------------------------------------------------------------------------------------ */

/* The key whose quote is there was scanned: s->p is behind it. */
static mldf_status keep_key(struct scanner *s, const char *quote) {
    struct open_keys *keys = s->keys;
    const char *first = quote + 1, *behind = s->p;
    size_t raw = (size_t)(behind - first) - 1;
    struct open_key key = {(uint64_t)(quote - s->text), MLDF_NONE, (uint32_t)raw};
    mldf_status status = MLDF_OK;
    uint32_t code;
    uint8_t *room;
    if (raw > UINT32_MAX)
        return mldfi_fail_at(s->err, MLDF_E_LIMIT, key.offset, "JSON: a key of 4 GiB or more");
    if (raw && memchr(first, '\\', raw)) {
        key.unescaped = keys->strings.size;
        if ((status = mldfi_buffer_extend(&keys->strings, raw, &room, s->err)) < 0)
            return status;
        char *dst = (char *)room;
        for (s->p = first; s->p < behind - 1 && status >= 0;) {
            if (*s->p != '\\')
                *dst++ = *s->p++;
            else if ((status = scan_escape(s, &code)) >= 0)
                dst = put_character(dst, code);
        }
        s->p = behind;
        key.bytes = (uint32_t)(dst - (char *)room);
        keys->strings.size = (size_t)key.unescaped + key.bytes;
    }
    if (status >= 0)
        status = mldfi_array_reserve(&keys->list, &keys->capacity, keys->count + 1, sizeof *keys->list, s->err);
    if (status >= 0)
        keys->list[keys->count++] = key;
    return status;
}

static const char *key_text(const struct scanner *s, const struct open_key *key) {
    return key->unescaped == MLDF_NONE ? s->text + key->offset + 1
                                       : (const char *)s->keys->strings.data + key->unescaped;
}

/* The container at s->depth is closed: its keys are looked at, and forgotten. (Their bytes stay until the next one is kept.) */
static mldf_status close_keys(struct scanner *s) {
    struct open_keys *keys = s->keys;
    size_t begin = keys->before[s->depth].keys, count = keys->count - begin;
    struct json_member few[MLDFI_JSON_FEW_MEMBERS], *members = few;
    keys->count = begin;
    keys->strings.size = keys->before[s->depth].strings;
    if (count < 2)
        return MLDF_OK;
    const struct open_key *first = keys->list + begin;
    if (count >= UINT32_MAX)
        return mldfi_fail(s->err, MLDF_E_LIMIT, "JSON: an object of more than 2^32 - 2 keys");
    if (count > MLDFI_JSON_FEW_MEMBERS && !(members = mldfi_alloc(count * sizeof *members, s->err)))
        return MLDF_E_MEMORY;
    for (size_t i = 0; i < count; i++)
        members[i] = (struct json_member){key_text(s, &first[i]), first[i].bytes, (uint32_t)i};
    uint32_t twin = mldfi_json_twin(members, count);
    if (members != few)
        free(members);
    return twin == UINT32_MAX ? MLDF_OK
                              : fail_twice(s, key_text(s, &first[twin]), first[twin].bytes, first[twin].offset);
}

/* ---- The walk --------------------------------------------------------------------------------------------------- */

static mldf_status open_container(struct scanner *s, enum step *next) {
    bool object = *s->p == '{';
    char closer = object ? '}' : ']';
    if (s->depth == MLDFI_JSON_DEPTH_MAX)
        return fail(s, s->p, "nested more than 128 deep");
    uint32_t node = s->json ? s->json->count : 0;
    mldf_status status = add_node(s, object ? MLDFI_JSON_OBJECT : MLDFI_JSON_ARRAY, s->p, s->p, 0);
    if (status != MLDF_OK)
        return status;
    if (s->keys) {
        s->keys->before[s->depth].keys = s->keys->count;
        s->keys->before[s->depth].strings = s->keys->strings.size;
    }
    s->closers[s->depth] = closer;
    s->nodes[s->depth++] = node;
    s->p++;
    s->key = NULL;
    s->key_bytes = 0;
    skip_space(s);
    *next = s->p < s->end && *s->p == closer ? STEP_AFTER : object ? STEP_KEY : STEP_VALUE;
    return MLDF_OK;
}

/* The closing bracket is at s->p and is the right one. */
static mldf_status close_container(struct scanner *s) {
    uint32_t at = s->nodes[--s->depth];
    bool object = *s->p++ == '}';
    if (s->keys && object)
        return close_keys(s);
    if (!s->json)
        return MLDF_OK;
    struct json_node *node = &s->json->nodes[at];
    node->next = s->json->count;
    node->text_bytes = (uint64_t)(s->p - node->text);
    return object && node->count > 1 ? check_members(s, at) : MLDF_OK;
}

static mldf_status scan_word(struct scanner *s, const char *word, mldfi_json_kind kind) {
    const char *start = s->p;
    for (const char *w = word; *w; w++, s->p++)
        if (s->p == s->end || *s->p != *w)
            return fail(s, s->p, "expected true, false or null");
    return add_node(s, kind, start, start, (size_t)(s->p - start));
}

static mldf_status scan_number(struct scanner *s) {
    const char *start = s->p, *bad;
    bool integer;
    const char *end = mldfi_number_end(start, s->end, &integer, &bad);
    if (!end)
        return fail(s, bad, "a number needs a digit here");
    s->p = end;
    return add_node(s, MLDFI_JSON_NUMBER, start, start, (size_t)(end - start));
}

static mldf_status scan_value(struct scanner *s, enum step *next) {
    const char *start = s->p, *text = NULL;
    size_t bytes = 0;
    mldf_status status;
    *next = STEP_AFTER;
    if (s->p == s->end)
        return fail(s, s->p, "expected a value");
    switch (*s->p) {
    case '{':
    case '[':
        return open_container(s, next);
    case '"':
        status = scan_string(s, &text, &bytes);
        return status != MLDF_OK ? status : add_node(s, MLDFI_JSON_STRING, start, text, bytes);
    case 't':
        return scan_word(s, "true", MLDFI_JSON_TRUE);
    case 'f':
        return scan_word(s, "false", MLDFI_JSON_FALSE);
    case 'n':
        return scan_word(s, "null", MLDFI_JSON_NULL);
    default:
        if (*s->p == '-' || (*s->p >= '0' && *s->p <= '9'))
            return scan_number(s);
        return fail(s, s->p, "expected a value");
    }
}

static mldf_status scan_key(struct scanner *s) {
    if (s->p == s->end || *s->p != '"')
        return fail(s, s->p, "expected a key in quotes");
    const char *start = s->p;
    mldf_status status = scan_string(s, &s->key, &s->key_bytes);
    if (status == MLDF_OK && s->keys)
        status = keep_key(s, start);
    if (status != MLDF_OK)
        return status;
    if (s->key_bytes > UINT32_MAX)
        return mldfi_fail_at(s->err, MLDF_E_LIMIT, (uint64_t)(start - s->text), "JSON: a key of 4 GiB or more");
    skip_space(s);
    if (s->p == s->end || *s->p != ':')
        return fail(s, s->p, "expected ':' after a key");
    s->p++;
    return MLDF_OK;
}

/* Inside a container, after a value or at an immediate end. */
static mldf_status scan_after(struct scanner *s, enum step *next) {
    char closer = s->closers[s->depth - 1];
    if (s->p < s->end && *s->p == closer) {
        *next = STEP_AFTER;
        return close_container(s);
    }
    if (s->p == s->end || *s->p != ',')
        return fail(s, s->p, closer == '}' ? "expected ',' or '}'" : "expected ',' or ']'");
    s->p++;
    s->key = NULL;
    s->key_bytes = 0;
    *next = closer == '}' ? STEP_KEY : STEP_VALUE;
    return MLDF_OK;
}

static mldf_status walk(struct json *json, struct open_keys *keys, const char *text, size_t bytes, mldf_error *err) {
    struct scanner s;
    enum step step = STEP_VALUE;
    mldf_status status = MLDF_OK;
    s.text = s.p = text;
    s.end = text + bytes;
    s.json = json;
    s.keys = keys;
    s.err = err;
    s.depth = 0;
    s.key = NULL;
    s.key_bytes = 0;
    while (status == MLDF_OK) {
        skip_space(&s);
        if (step == STEP_VALUE) {
            status = scan_value(&s, &step);
        } else if (step == STEP_KEY) {
            status = scan_key(&s);
            step = STEP_VALUE;
        } else if (s.depth > 0) {
            status = scan_after(&s, &step);
        } else {
            return s.p == s.end ? MLDF_OK : fail(&s, s.p, "expected nothing after the value");
        }
    }
    return status;
}

mldf_status mldfi_json_validate(const char *text, size_t bytes, mldf_error *err) {
    return walk(NULL, NULL, bytes ? text : "", bytes, err);
}

mldf_status mldfi_json_validate_strict(const char *text, size_t bytes, mldf_error *err) {
    struct open_keys keys;
    keys.list = NULL;
    keys.count = keys.capacity = 0;
    keys.strings = (mldf_buffer)MLDF_BUFFER_INIT;
    mldf_status status = walk(NULL, &keys, bytes ? text : "", bytes, err);
    free(keys.list);
    mldf_buffer_free(&keys.strings);
    return status;
}

mldf_status mldfi_json_parse(struct json *json, const char *text, size_t bytes, mldf_error *err) {
    json->count = 0;
    json->strings.size = 0;
    mldf_status status = walk(json, NULL, bytes ? text : "", bytes, err);
    if (status != MLDF_OK)
        json->count = 0;
    return status;
}
