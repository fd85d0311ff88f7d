/* Numbers as text, independent of the locale and exact. */
#ifndef MLDF_UTIL_NUMBER_H
#define MLDF_UTIL_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Shortest of %.15g, %.16g, %.17g that reads back equal; always with '.' as the decimal point, whatever the locale; a finite value
 * only. A float stays a float: what would look like an integer gets ".0" ("1.0", "-0.0"; but "1e+20"). out holds 32 bytes,
 * terminated. Returns the length. */
size_t mldfi_format_double(char out[32], double value);
/* The whole of text must be a number of JSON's grammar (no leading zeros, no +, no hex), correctly rounded. False also when the
 * value is beyond the range of a double. */
bool mldfi_parse_double(const char *text, size_t bytes, double *out);
/* First byte after the number of JSON's grammar that begins at p, or NULL with *p_bad at the byte that breaks it. *integer: it has
 * neither fraction nor exponent. */
const char *mldfi_number_end(const char *p, const char *end, bool *integer, const char **p_bad);
/* -?digits, the whole of text; false when it does not fit. */
bool mldfi_parse_i64(const char *text, size_t bytes, int64_t *out);
bool mldfi_parse_u64(const char *text, size_t bytes, uint64_t *out);

#endif
