/* base64 (RFC 4648, the standard alphabet). */
#ifndef MLDF_UTIL_BASE64_H
#define MLDF_UTIL_BASE64_H

#include "mldf/base.h"

/* Appends the bytes of base64 text, with or without padding. False when it is not. */
bool mldfi_base64_decode(const char *text, size_t bytes, mldf_buffer *out);
/* With padding, appended. */
mldf_status mldfi_base64_encode(const uint8_t *data, size_t bytes, mldf_buffer *out, mldf_error *err);

#endif
