/* The table of columns: names in order, and a hash table to find them. See rows.h. */
#include <stdlib.h>
#include <string.h>

#include "tool/rows.h"
#include "util/buffer.h"
#include "util/error.h"

static size_t hash_name(const char *name, size_t bytes) {
    uint64_t h = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    for (size_t i = 0; i < bytes; i++)
        h = (h ^ (unsigned char)name[i]) * UINT64_C(0x100000001b3);
    return (size_t)(h ^ (h >> 32));
}

size_t mldfi_columns_find(const struct columns *columns, const char *name, size_t bytes) {
    if (columns->slot_count == 0)
        return SIZE_MAX;
    for (size_t at = hash_name(name, bytes);; at++) {
        uint32_t slot = columns->slots[at & (columns->slot_count - 1)];
        if (slot == 0)
            return SIZE_MAX;
        const char *have = columns->names[slot - 1];
        if (strlen(have) == bytes && memcmp(have, name, bytes) == 0)
            return slot - 1;
    }
}

static void put(struct columns *columns, size_t index) {
    const char *name = columns->names[index];
    size_t at = hash_name(name, strlen(name));
    while (columns->slots[at & (columns->slot_count - 1)] != 0)
        at++;
    columns->slots[at & (columns->slot_count - 1)] = (uint32_t)index + 1;
}

static mldf_status grow_slots(struct columns *columns, mldf_error *err) {
    size_t count = columns->slot_count ? columns->slot_count * 2 : 64;
    uint32_t *slots = mldfi_alloc_zero(count, sizeof *slots, err);
    if (!slots)
        return MLDF_E_MEMORY;
    free(columns->slots);
    columns->slots = slots;
    columns->slot_count = count;
    for (size_t i = 0; i < columns->count; i++)
        put(columns, i);
    return MLDF_OK;
}

mldf_status mldfi_columns_add(struct columns *columns, const char *name, size_t bytes, mldf_error *err) {
    if (columns->count >= 65535)
        return mldfi_fail(err, MLDF_E_LIMIT, "more than 65535 columns");
    if (memchr(name, 0, bytes))
        return mldfi_fail(err, MLDF_E_SYNTAX, "a column name with a NUL in it");
    if (columns->count * 2 >= columns->slot_count) {
        mldf_status status = grow_slots(columns, err);
        if (status < 0)
            return status;
    }
    mldf_status status =
        mldfi_array_reserve(&columns->names, &columns->capacity, columns->count + 1, sizeof *columns->names, err);
    if (status < 0)
        return status;
    char *copy = mldfi_copy_text(name, bytes, err);
    if (!copy)
        return MLDF_E_MEMORY;
    columns->names[columns->count++] = copy;
    put(columns, columns->count - 1);
    return MLDF_OK;
}

void mldfi_columns_free(struct columns *columns) {
    for (size_t i = 0; i < columns->count; i++)
        free(columns->names[i]);
    free(columns->names);
    free(columns->slots);
    memset(columns, 0, sizeof *columns);
}
