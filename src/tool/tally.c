/* See tally.h. */
#include "tool/tally.h"

#include <stdlib.h>
#include <string.h>

#include "format/format.h"
#include "util/buffer.h"
#include "util/bytes.h"

void mldfi_tally_begin(struct tally *tally, size_t limit) {
    memset(tally, 0, sizeof *tally);
    tally->limit = limit;
}

void mldfi_tally_free(struct tally *tally) {
    free(tally->entries);
    free(tally->slots);
    mldf_buffer_free(&tally->keys);
    memset(tally, 0, sizeof *tally);
}

/* The bytes that stand for a value: itself, or its number. */
static const void *key_of(const mldf_value *value, uint8_t number[8], size_t *bytes) {
    double f = value->as.f;
    switch (value->kind) {
    case MLDF_KIND_NULL:
        *bytes = 0;
        return number;
    case MLDF_KIND_FLOAT:
        if (f != f)
            mldfi_store_u64(number, UINT64_C(0x7ff8000000000000));
        else
            mldfi_store_f64(number, f + 0.0); /* -0.0 is 0.0 */
        break;
    case MLDF_KIND_INT:
    case MLDF_KIND_UINT:
        mldfi_store_u64(number, value->as.u);
        break;
    default:
        *bytes = (size_t)value->bytes;
        return value->data ? value->data : number;
    }
    *bytes = 8;
    return number;
}

static uint64_t hash_of(mldf_kind kind, const void *key, size_t bytes) {
    return (bytes ? mldfi_key_hash(key, bytes) : 0) + (uint64_t)kind * UINT64_C(0x9e3779b97f4a7c15);
}

static uint32_t *find_slot(const struct tally *tally, mldf_kind kind, const void *key, size_t bytes) {
    size_t at = (size_t)hash_of(kind, key, bytes) & (tally->slot_count - 1);
    for (; tally->slots[at]; at = (at + 1) & (tally->slot_count - 1)) {
        const struct tally_entry *entry = &tally->entries[tally->slots[at] - 1];
        if (entry->kind == kind && entry->bytes == bytes &&
            (bytes == 0 || memcmp(tally->keys.data + entry->offset, key, bytes) == 0))
            break;
    }
    return &tally->slots[at];
}

static mldf_status grow(struct tally *tally, mldf_error *err) {
    size_t count = tally->slot_count ? 2 * tally->slot_count : 64;
    uint32_t *slots = mldfi_alloc_zero(count, sizeof *slots, err);
    if (!slots)
        return MLDF_E_MEMORY;
    free(tally->slots);
    tally->slots = slots;
    tally->slot_count = count;
    for (size_t i = 0; i < tally->count; i++) {
        const struct tally_entry *entry = &tally->entries[i];
        *find_slot(tally, entry->kind, tally->keys.data + entry->offset, entry->bytes) = (uint32_t)i + 1;
    }
    return MLDF_OK;
}

mldf_status mldfi_tally_add(struct tally *tally, const mldf_value *value, size_t *index, mldf_error *err) {
    uint8_t number[8] = {0};
    size_t bytes;
    const void *key = key_of(value, number, &bytes);
    mldf_status status = MLDF_OK;
    if (2 * (tally->count + 1) > tally->slot_count && (status = grow(tally, err)) < 0)
        return status;
    uint32_t *slot = find_slot(tally, value->kind, key, bytes);
    *index = *slot ? *slot - 1 : SIZE_MAX;
    if (!*slot && tally->count == tally->limit) {
        tally->overflowed = true;
        return MLDF_OK;
    }
    if (!*slot) {
        status = mldfi_array_reserve(&tally->entries, &tally->capacity, tally->count + 1, sizeof *tally->entries, err);
        size_t offset = tally->keys.size;
        if (status == MLDF_OK && bytes)
            status = mldf_buffer_append(&tally->keys, key, bytes, err);
        if (status < 0)
            return status;
        *index = tally->count;
        tally->entries[tally->count++] = (struct tally_entry){0, offset, bytes, value->kind};
        *slot = (uint32_t)tally->count;
    }
    tally->entries[*index].count++;
    return MLDF_OK;
}

void mldfi_tally_value(const struct tally *tally, size_t index, mldf_value *out) {
    const struct tally_entry *entry = &tally->entries[index];
    memset(out, 0, sizeof *out);
    out->kind = entry->kind;
    out->bytes = entry->bytes;
    out->data = tally->keys.data ? tally->keys.data + entry->offset : NULL;
    if (entry->kind == MLDF_KIND_INT || entry->kind == MLDF_KIND_UINT || entry->kind == MLDF_KIND_FLOAT)
        out->as.u = mldfi_load_u64(out->data);
}
