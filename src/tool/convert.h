/* A cell becomes a value of its field, or an error that names file, line and column. Its one idea: a converter is made once for
 * each field and knows everything that does not change from row to row.
 *
 *   convert.c     scalars, text, bytes, JSON
 *   array.c       JSON lists into arrays of any dtype
 *   levels_value.c  JSON into hierarchical text
 *   inline_value.c  JSON into INLINE records
 *   file_value.c    paths into the bytes of files */
#ifndef MLDF_TOOL_CONVERT_H
#define MLDF_TOOL_CONVERT_H

#include "tool/file_value.h"
#include "tool/infer.h"

struct converter {
    const mldf_field *field;
    bool strict;          /* inferred: what inference would not have taken for this type is an error */
    bool numbers_as_text; /* see struct inferred */
    bool names_files;     /* text in a cell is a path; always so for types that are made from files */
    const struct field_files *made_from;
    struct file_places *files;
    mldf_buffer scratch; /* holds the value's bytes */
    struct json parsed;  /* CSV: the cell as JSON */
    struct json descr;   /* INLINE: the arguments */
    mldf_buffer descr_text;
};

mldf_status mldfi_converter_begin(struct converter *converter, const struct schema_field *field, bool strict,
                                  bool numbers_as_text, mldf_error *err);
void mldfi_converter_free(struct converter *converter);
/* out->data is valid until the next call. Errors: MLDF_E_TYPE, RANGE, NULL, SYNTAX; the message says what is wrong and what the field
 * is, without the place (see mldfi_error_cell). */
mldf_status mldfi_convert(struct converter *converter, const struct cell *cell, mldf_value *out, mldf_error *err);
/* Puts "file:line:column: column 'name' (type): " in front of the message. */
void mldfi_error_cell(mldf_error *err, const char *file, uint64_t row_line, const struct cell *cell, const char *column,
                      const char *type);
/* A sample key from a cell: text, or an integer's digits. */
mldf_status mldfi_convert_key(const struct cell *cell, const char **key, size_t *key_bytes, mldf_error *err);

/* ---- Between the files of this family ------------------------------------------------------------------------------- */

/* One element from a JSON number, true/false (bool), a pair (complex) or "NaN", "Infinity", "-Infinity" (floats). */
mldf_status mldfi_put_element(mldf_dtype dtype, const struct json *json, uint32_t node, uint8_t *dst, mldf_error *err);
/* An integer of a dtype, range-checked. */
mldf_status mldfi_put_int(mldf_dtype dtype, text_kind kind, const struct text_number *number, mldf_value *out,
                          mldf_error *err);
mldf_status mldfi_convert_array(struct converter *converter, const struct json *json, uint32_t node, mldf_value *out,
                                mldf_error *err);
mldf_status mldfi_convert_levels(struct converter *converter, const struct json *json, uint32_t node, mldf_value *out,
                                 mldf_error *err);
mldf_status mldfi_convert_inline(struct converter *converter, const struct json *json, uint32_t node, mldf_value *out,
                                 mldf_error *err);
/* A short excerpt of a value for a message, quoted with ''. */
const char *mldfi_excerpt(char out[80], const char *text, size_t bytes);

#endif
