/* See names.h. The hash is the one of the sample keys (keys.c); at most half of the slots are in use. */
#include "format/names.h"

#include <stdlib.h>
#include <string.h>

#include "format/format.h"
#include "util/buffer.h"

enum { FIRST_SLOTS = 32 };

static size_t home(const struct name_index *index, const char *name) {
    return (size_t)mldfi_key_hash(name, strlen(name)) & (index->slot_count - 1);
}

static void put(struct name_index *index, const char *name, uint32_t ordinal) {
    size_t at = home(index, name);
    while (index->slots[at] != 0)
        at = (at + 1) & (index->slot_count - 1);
    index->slots[at] = ordinal + 1;
}

size_t mldfi_names_find(const struct name_index *index, const char *name, mldfi_name_fn name_of, const void *owner) {
    if (index->slot_count == 0)
        return SIZE_MAX;
    for (size_t at = home(index, name); index->slots[at] != 0; at = (at + 1) & (index->slot_count - 1))
        if (strcmp(name_of(owner, index->slots[at] - 1), name) == 0)
            return index->slots[at] - 1;
    return SIZE_MAX;
}

mldf_status mldfi_names_add(struct name_index *index, const char *name, mldfi_name_fn name_of, const void *owner,
                            mldf_error *err) {
    if (2 * (index->used + 1) > index->slot_count) {
        struct name_index larger = {NULL, index->slot_count ? 2 * index->slot_count : FIRST_SLOTS, index->used};
        larger.slots = mldfi_alloc_zero(larger.slot_count, sizeof larger.slots[0], err);
        if (!larger.slots)
            return MLDF_E_MEMORY;
        for (size_t i = 0; i < index->used; i++)
            put(&larger, name_of(owner, i), (uint32_t)i);
        free(index->slots);
        *index = larger;
    }
    put(index, name, (uint32_t)index->used);
    index->used++;
    return MLDF_OK;
}

void mldfi_names_free(struct name_index *index) {
    free(index->slots);
    *index = (struct name_index){NULL, 0, 0};
}
