/* Values on standard output, as the library writes them as JSON (mldf_value_json). */
#include <string.h>

#include "cli.h"

enum {
    WHOLE_ARRAY = 1 << 20
}; /* bytes; larger ones are written piece by piece, so that their text need not fit into memory */

/* JSON that is valid and has no white space. */
static void put_json(const char *text, size_t bytes) {
    json_separate();
    for (const char *del;
         bytes && (del = memchr(text, 0x7f, bytes)) != NULL;) { /* in a string: a terminal may obey it */
        size_t before = (size_t)(del - text);
        out_bytes(text, before);
        out_text("\\u007f");
        text += before + 1;
        bytes -= before + 1;
    }
    out_bytes(text, bytes);
}

static bool is_large(const mldf_value *v) {
    return v->kind == MLDF_KIND_ARRAY && v->ndim > 0 && v->bytes > WHOLE_ARRAY;
}

mldf_status value_text(const mldf_schema *schema, size_t field, const mldf_value *v, bool full, mldf_buffer *out,
                       mldf_error *err) {
    out->size = 0;
    return full && is_large(v) ? MLDF_OK : mldf_value_json(schema, field, v, full, out, err);
}

/* An array in full: its text, or that of its parts. */
static void put_pieces(const mldf_schema *schema, size_t field, const mldf_value *v, mldf_buffer *text) {
    mldf_value part = *v;
    if (value_text(schema, field, v, true, text, NULL) < 0)
        out_no_memory();
    else if (text->size)
        put_json((const char *)text->data, text->size);
    if (text->size || out_failed())
        return;
    part.ndim--;
    part.bytes = v->bytes / v->dims[0];
    memmove(part.dims, v->dims + 1, part.ndim * sizeof part.dims[0]);
    json_begin('[');
    for (uint64_t i = 0; i < v->dims[0] && !out_failed(); i++) {
        part.data = (const uint8_t *)v->data + i * part.bytes;
        put_pieces(schema, field, &part, text);
    }
    json_end(']');
}

void render_value(const mldf_schema *schema, size_t field, const mldf_value *v, mldf_buffer *text) {
    if (text->size)
        put_json((const char *)text->data, text->size);
    else
        put_pieces(schema, field, v, text);
}

/* ---- JSON that a file has ------------------------------------------------------------------------------------------ */

/* The text as the value of a JSON field, which is one line; as a string when it is not valid. */
static mldf_status one_line(const char *text, size_t bytes, mldf_buffer *out) {
    mldf_schema *schema = NULL;
    mldf_value value = {.kind = MLDF_KIND_TEXT, .data = text, .bytes = bytes};
    mldf_status status = mldf_schema_new(NULL, &schema, NULL);
    if (status >= 0)
        status = mldf_schema_add_json(schema, "text", 0, NULL);
    if (status >= 0)
        status = mldf_value_json(schema, 0, &value, true, out, NULL);
    mldf_schema_free(schema);
    return status;
}

void json_text(const char *text, size_t bytes) {
    mldf_buffer line = MLDF_BUFFER_INIT;
    if (one_line(text, bytes, &line) < 0)
        out_no_memory();
    else
        put_json((const char *)line.data, line.size);
    mldf_buffer_free(&line);
}

mldf_status json_is_object(const char *text, size_t bytes, bool *object) {
    mldf_buffer line = MLDF_BUFFER_INIT;
    mldf_status status = one_line(text, bytes, &line);
    *object = status >= 0 && line.size && line.data[0] == '{';
    mldf_buffer_free(&line);
    return status;
}

/* ---- Classes ------------------------------------------------------------------------------------------------------- */

void out_class(const mldf_classes *classes, const mldf_value *v) {
    size_t bytes = 0;
    const char *name = class_name(classes, v, &bytes);
    if (!name)
        return;
    out_text(" (");
    for (size_t i = 0; i < bytes; i++) /* what a terminal may obey becomes question marks */
        out_char((unsigned char)name[i] < 32 || name[i] == 127 ? '?' : name[i]);
    out_char(')');
}
