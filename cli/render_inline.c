/* INLINE records as JSON. The descr in the field's arguments is canonical JSON ({"descr":[["x","<f4"],["box","<i2",[4]]]}), so a cursor that
 * steps over it is all the parser that is needed. A struct is an object, a shape a nested list, padding is left out. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

struct walk {
    const char *descr;     /* where we are in the text */
    const uint8_t *record; /* where we are in the record */
};

/* A JSON string without its quotes; the cursor moves behind it. Names may hold escapes, types do not. */
static void take_string(const char **at, const char **begin, size_t *bytes) {
    const char *p = *at + 1;
    *begin = p;
    while (*p && *p != '"')
        p += *p == '\\' && p[1] ? 2 : 1;
    *bytes = (size_t)(p - *begin);
    *at = *p ? p + 1 : p;
}

static void skip_value(const char **at) {
    int nesting = 0;
    const char *begin;
    size_t bytes;
    do {
        if (**at == '"') {
            take_string(at, &begin, &bytes);
            continue;
        }
        nesting += (**at == '[' || **at == '{') - (**at == ']' || **at == '}');
        (*at)++;
    } while (**at && (nesting > 0 || (**at != ',' && **at != ']')));
}

static void render_struct(struct walk *w);

/* Zero bytes at the end of a fixed string do not belong to it. */
static void render_fixed_string(char code, size_t length, const uint8_t *p) {
    if (code == 'V') {
        render_hex(p, length);
        return;
    }
    if (code == 'S') {
        while (length > 0 && p[length - 1] == 0)
            length--;
        json_string_bytes((const char *)p, length);
        return;
    }
    char *text = malloc(4 * length + 1);
    size_t n = 0;
    if (!text)
        out_no_memory();
    for (size_t i = 0; text && i < length; i++) {
        uint32_t c;
        memcpy(&c, p + 4 * i, 4);
        if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
            c = 0xfffd;
        if (c < 0x80) {
            text[n++] = (char)c;
        } else if (c < 0x800) {
            text[n++] = (char)(0xc0 | c >> 6);
            text[n++] = (char)(0x80 | (c & 63));
        } else if (c < 0x10000) {
            text[n++] = (char)(0xe0 | c >> 12);
            text[n++] = (char)(0x80 | (c >> 6 & 63));
            text[n++] = (char)(0x80 | (c & 63));
        } else {
            text[n++] = (char)(0xf0 | c >> 18);
            text[n++] = (char)(0x80 | (c >> 12 & 63));
            text[n++] = (char)(0x80 | (c >> 6 & 63));
            text[n++] = (char)(0x80 | (c & 63));
        }
    }
    while (n > 0 && text[n - 1] == 0)
        n--;
    json_string_bytes(text ? text : "", n);
    free(text);
}

/* One item of the type at the cursor; the cursor ends behind the type, the record behind the item. */
static void render_item(struct walk *w) {
    const char *type;
    size_t bytes;
    if (*w->descr == '[') {
        render_struct(w);
        return;
    }
    take_string(&w->descr, &type, &bytes);
    mldf_dtype dtype = mldf_dtype_parse(type, bytes);
    if (dtype != MLDF_DTYPE_NONE) {
        render_element(dtype, w->record);
        w->record += mldf_dtype_bytes(dtype);
        return;
    }
    size_t length = bytes > 2 ? (size_t)strtoul(type + 2, NULL, 10) : 0;
    render_fixed_string(bytes > 1 ? type[1] : 'V', length, w->record);
    w->record += bytes > 1 && type[1] == 'U' ? 4 * length : length;
}

/* shape: the text behind "[" of the dimensions that are left, or at "]" when there are none. */
static void render_shaped(struct walk *w, const char *type, const char *shape) {
    if (*shape < '0' || *shape > '9') {
        w->descr = type;
        render_item(w);
        return;
    }
    char *next;
    unsigned long count = strtoul(shape, &next, 10);
    if (*next == ',')
        next++;
    json_begin('[');
    for (unsigned long i = 0; i < count && count <= 4096; i++)
        render_shaped(w, type, next);
    json_end(']');
}

/* Type and shape of a member; the cursor stands at the type and ends behind the member's "]". */
static void render_member(struct walk *w) {
    const char *type = w->descr, *end = type;
    skip_value(&end);
    if (*end == ',') {
        const char *shape = end + 1;
        const char *after = shape;
        skip_value(&after);
        render_shaped(w, type, *shape == '[' ? shape + 1 : shape);
        end = after;
    } else {
        render_item(w);
    }
    w->descr = *end == ']' ? end + 1 : end;
}

static bool is_padding(const char *type) {
    return type[0] == '"' && type[1] && type[2] == 'V';
}

/* [["x","<f4"],["","|V4"],...] at the cursor. */
static void render_struct(struct walk *w) {
    json_begin('{');
    w->descr++;
    while (*w->descr == '[' || *w->descr == ',') {
        const char *name;
        size_t bytes;
        if (*w->descr == ',') {
            w->descr++;
            continue;
        }
        w->descr++;
        take_string(&w->descr, &name, &bytes);
        w->descr++; /* the comma */
        if (bytes == 0 && is_padding(w->descr)) {
            w->record += strtoul(w->descr + 3, NULL, 10);
            skip_value(&w->descr);
            w->descr++;
            continue;
        }
        /* The name is JSON already, escapes and all. */
        json_separate();
        out_char('"');
        out_bytes(name, bytes);
        out_text("\":");
        json_after_key();
        render_member(w);
    }
    w->descr++;
    json_end('}');
}

void render_inline(const mldf_field *field, const uint8_t *record) {
    const char *list = strstr(field->arguments, "\"descr\":[");
    struct walk w = {list ? list + 8 : NULL, record};
    if (!list) {
        render_hex(record, field->record_bytes);
        return;
    }
    /* One unnamed member that is not padding is a bare array. */
    if (strncmp(w.descr, "[[\"\",", 5) == 0 && !is_padding(w.descr + 5)) {
        w.descr += 5;
        render_member(&w);
        return;
    }
    render_struct(&w);
}
