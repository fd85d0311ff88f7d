/* Numbers as text, independent of the locale and exact. */
#ifndef MLDF_UTIL_NUMBER_H
#define MLDF_UTIL_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Shortest of %.15g, %.16g, %.17g that reads back equal; integral values below 1e15 print without exponent; always with '.', whatever
 * the locale; a finite value only. out holds 32 bytes. Returns the length. */
size_t mldfi_format_double(char out[32], double value);
/* The whole of text must be a number of JSON's grammar (no leading zeros, no +, no hex), correctly rounded. */
bool mldfi_parse_double(const char *text, size_t bytes, double *out);
/* -?digits, the whole of text; false when it does not fit. */
bool mldfi_parse_i64(const char *text, size_t bytes, int64_t *out);
bool mldfi_parse_u64(const char *text, size_t bytes, uint64_t *out);

#endif
