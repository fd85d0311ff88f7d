/* Keys that were seen, so that a second sample with the same key is found when it comes and not at the end. 8 bytes for a slot, a quarter to
 * five eighths of them free, at most 256 MiB: 25 million keys. Those after them are compared with these alone, and with each other by
 * keyslots.c when the file is finished. Used in place's turn only (place.c). */
#ifndef MLDF_WRITER_KEYSET_H
#define MLDF_WRITER_KEYSET_H

#include "writer/row_tables.h"

enum { KEYSET_MAX_BITS = 25 };

struct job;

/* Starts as {0}. */
struct key_set {
    uint64_t *slots; /* tag (upper 24 bits of the hash) and index + 1; 0: empty */
    unsigned bits;   /* log2 of their number */
    uint64_t count;
    unsigned max_bits; /* 0: KEYSET_MAX_BITS; smaller in tests */
};

void mldfi_keyset_free(struct key_set *set);
/* Marks the samples of the job whose key is that of an earlier one as bad, in order. skipping: for the message. */
mldf_status mldfi_keyset_check(struct key_set *set, struct table_builder *tables, struct job *job, bool skipping,
                               mldf_error *err);

#endif
