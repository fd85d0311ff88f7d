/* UTF-8 as RFC 3629 has it: no surrogates, no overlong forms, nothing above U+10FFFF. */
#ifndef MLDF_UTIL_UTF8_H
#define MLDF_UTIL_UTF8_H

#include <stddef.h>

/* Number of leading bytes that are valid: equal to `bytes` when all are. Fast for ASCII. */
size_t mldfi_utf8_valid_prefix(const void *text, size_t bytes);

#endif
