/* Counting distinct values: each gets a number in order of first appearance. Used by split (strata) and stats (classes). */
#ifndef MLDF_TOOL_TALLY_H
#define MLDF_TOOL_TALLY_H

#include "mldf/schema.h"

struct tally_entry {
    uint64_t count;
    size_t offset, bytes; /* of the value's key in `keys` */
    mldf_kind kind;
};

struct tally {
    struct tally_entry *entries;
    size_t count, capacity, limit;
    uint32_t *slots; /* hash table: index + 1; a power of two, at most half full */
    size_t slot_count;
    mldf_buffer keys;
    bool overflowed; /* there were more than `limit` */
};

void mldfi_tally_begin(struct tally *tally, size_t limit);
void mldfi_tally_free(struct tally *tally);
/* Counts the value: NULL, INT, UINT, FLOAT, TEXT or BYTES; NaNs are one value. *index is its number, or SIZE_MAX when that would be one
 * too many. */
mldf_status mldfi_tally_add(struct tally *tally, const mldf_value *value, size_t *index, mldf_error *err);
/* The value of an entry; text points into the tally. */
void mldfi_tally_value(const struct tally *tally, size_t index, mldf_value *out);

#endif
