/* Values as JSON text that pack reads back: numbers, and INLINE records as objects and nested lists. What is not finite is a string. */
#ifndef MLDF_TOOL_VALUE_JSON_H
#define MLDF_TOOL_VALUE_JSON_H

#include "mldf/schema.h"

/* NULL, INT, UINT, FLOAT, and values of INLINE fields. Appended to out. */
mldf_status mldfi_value_json(const mldf_field *field, const mldf_value *value, mldf_buffer *out, mldf_error *err);

#endif
