/* What a file is that is none of ours, for messages that say more than "not this": by its first bytes. */
#ifndef MLDF_UTIL_KNOWN_H
#define MLDF_UTIL_KNOWN_H

#include <stddef.h>

/* What follows "is": "compressed with xz", "a Parquet file"; NULL when nothing is known of such bytes. */
const char *mldfi_known_kind(const void *data, size_t bytes);
/* How such a file gets into a dataset, or NULL. */
const char *mldfi_known_advice(const void *data, size_t bytes);

#endif
