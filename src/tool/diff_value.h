/* Are two values of one field the same content? JSON by its canonical form, floats by their bits with every NaN equal to every other,
 * INLINE member by member without its padding. */
#ifndef MLDF_TOOL_DIFF_VALUE_H
#define MLDF_TOOL_DIFF_VALUE_H

#include "mldf/schema.h"

struct value_compare {
    const mldf_schema *schema; /* of the first file */
    size_t field;
    mldf_buffer a, b; /* canonical JSON */
};
/* *equal is set; an error only when JSON in a file does not parse or memory is short. */
mldf_status mldfi_values_equal(struct value_compare *compare, const mldf_value *x, const mldf_value *y, bool *equal,
                               mldf_error *err);
/* Two JSON texts. */
mldf_status mldfi_json_equal(const void *x, size_t x_bytes, const void *y, size_t y_bytes, mldf_buffer *a,
                             mldf_buffer *b, bool *equal, mldf_error *err);
/* A short text of a value for a message. */
void mldfi_value_text(const mldf_value *value, char *out, size_t out_bytes);

/* How two values that are not equal differ (diff_text.c). */
void mldfi_value_difference(const struct value_compare *compare, const mldf_value *x, const mldf_value *y, char *out,
                            size_t out_bytes);

#endif
