/* Names other formats by their first bytes ("a Parquet file"), so that an error can say what a file is, not only that it is no dataset. */
#ifndef MLDF_UTIL_KNOWN_H
#define MLDF_UTIL_KNOWN_H

#include <stdbool.h>
#include <stddef.h>

/* What follows "is": "compressed with xz", "a Parquet file"; NULL when nothing is known of such bytes. */
const char *mldfi_known_kind(const void *data, size_t bytes);
/* Is it an image, of a format that is known here or not? */
bool mldfi_known_is_image(const void *data, size_t bytes);
/* How such a file gets into a dataset, or NULL. */
const char *mldfi_known_advice(const void *data, size_t bytes);

/* How an MLDF file was damaged on its way, told by what became of its magic, which is there for that: "CR LF became LF"; NULL: it was not. */
const char *mldfi_known_conversion(const void *data, size_t bytes);
/* Is it text: CSV, JSON lines and their like? Looks at the bytes it is given, of which the last character may be cut. */
bool mldfi_looks_like_text(const void *data, size_t bytes);

#endif
