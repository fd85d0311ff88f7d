/* An index of names that belong to someone else: open addressing over their ordinals, so that tens of thousands of
 * fields are checked for duplicates in linear time. Start with {0}. */
#ifndef MLDF_FORMAT_NAMES_H
#define MLDF_FORMAT_NAMES_H

#include "mldf/base.h"

struct name_index {
    uint32_t *slots; /* ordinal + 1; 0: empty */
    size_t slot_count, used;
};

/* How the index gets at the name of an ordinal that was added before. Terminated. */
typedef const char *(*mldfi_name_fn)(const void *owner, size_t ordinal);

/* Ordinal of the name, or SIZE_MAX. */
size_t mldfi_names_find(const struct name_index *index, const char *name, mldfi_name_fn name_of, const void *owner);
/* Adds ordinal index->used under this name, which must not be there yet. */
mldf_status mldfi_names_add(struct name_index *index, const char *name, mldfi_name_fn name_of, const void *owner,
                            mldf_error *err);
void mldfi_names_free(struct name_index *index);

#endif
