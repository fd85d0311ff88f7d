/* Open addressing over hashes (see name_set.h). tar_group.c finds keys that come twice with it, tar_index.c finds samples. */
#include "interop/name_set.h"

#include <stdlib.h>
#include <xxhash.h>

#include "util/buffer.h"
#include "util/error.h"

struct entry {
    uint64_t low, high;
    uint64_t number_1; /* its number + 1; 0: the entry is empty */
};

struct name_set {
    struct entry *entries;
    size_t capacity, count; /* capacity is a power of two, at most three quarters full */
};

mldf_status mldfi_name_set_new(struct name_set **out, mldf_error *err) {
    *out = mldfi_alloc_zero(1, sizeof **out, err);
    return *out ? MLDF_OK : MLDF_E_MEMORY;
}

void mldfi_name_set_free(struct name_set *set) {
    if (!set)
        return;
    free(set->entries);
    free(set);
}

/* The entry with this hash, or the empty one where it belongs. */
static struct entry *locate(struct entry *entries, size_t capacity, XXH128_hash_t hash) {
    size_t at = (size_t)hash.low64 & (capacity - 1);
    while (entries[at].number_1 && (entries[at].low != hash.low64 || entries[at].high != hash.high64))
        at = (at + 1) & (capacity - 1);
    return &entries[at];
}

static mldf_status grow(struct name_set *set, mldf_error *err) {
    size_t capacity = set->capacity ? set->capacity * 2 : 64;
    struct entry *entries = mldfi_alloc_zero(capacity, sizeof *entries, err);
    if (!entries)
        return MLDF_E_MEMORY;
    for (size_t i = 0; i < set->capacity; i++)
        if (set->entries[i].number_1) {
            XXH128_hash_t hash = {.low64 = set->entries[i].low, .high64 = set->entries[i].high};
            *locate(entries, capacity, hash) = set->entries[i];
        }
    free(set->entries);
    set->entries = entries;
    set->capacity = capacity;
    return MLDF_OK;
}

mldf_status mldfi_name_set_add(struct name_set *set, const void *name, size_t bytes, uint64_t *number,
                               mldf_error *err) {
    if (set->count >= set->capacity / 4 * 3) {
        TRY(grow(set, err));
    }
    XXH128_hash_t hash = XXH3_128bits(name, bytes);
    struct entry *entry = locate(set->entries, set->capacity, hash);
    if (entry->number_1) {
        *number = entry->number_1 - 1;
        return MLDF_END;
    }
    *entry = (struct entry){.low = hash.low64, .high = hash.high64, .number_1 = *number + 1};
    set->count++;
    return MLDF_OK;
}

uint64_t mldfi_name_set_find(const struct name_set *set, const void *name, size_t bytes) {
    if (set->capacity == 0)
        return MLDF_NONE;
    const struct entry *entry = locate(set->entries, set->capacity, XXH3_128bits(name, bytes));
    return entry->number_1 ? entry->number_1 - 1 : MLDF_NONE;
}
