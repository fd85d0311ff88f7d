/* One element of an array or a struct's member as a number. Used by the predicates of select and by stats. */
#ifndef MLDF_TOOL_ELEMENT_H
#define MLDF_TOOL_ELEMENT_H

#include "mldf/schema.h"

/* out->kind becomes INT, UINT (MLDF_U64) or FLOAT, and out->as is set; false for complex numbers and MLDF_DTYPE_NONE. BOOL is INT 0 or 1. */
bool mldfi_element(mldf_dtype dtype, const uint8_t *bytes, mldf_value *out);

#endif
