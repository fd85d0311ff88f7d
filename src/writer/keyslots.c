/* The slot table of section 6, built in bounded memory: 2^param slots of index+1, linear probing from the key's hash.
 *
 * Up to slots_at_once slots are filled in memory. A larger table is cut into parts of that size: the hashes are first sorted
 * into one stream for each part, then part after part is filled; an entry that runs over the end of its part is carried into the next.
 * What runs over the last part belongs at the front of the first, so the parts are filled twice: once to learn what is carried
 * round, once to emit. An entry may stand anywhere behind its home as long as no empty slot lies between, which every order
 * of insertion gives; ours is fixed, so the same keys give the same bytes. */
#include <stdlib.h>
#include <string.h>

#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"
#include "writer/writer.h"

enum { CHUNK_ENTRIES = 512 };

struct entry {
    uint64_t hash, index;
};

struct slots {
    struct table_builder *tables;
    uint64_t mask; /* slots in all - 1 */
    uint64_t part_slots;
    uint64_t part_count;
    struct spill_stream *parts; /* part_count > 1: entries by part */
    uint64_t *slot, *hash;      /* of the part that is being filled */
    struct entry *carried;      /* into the next part */
    size_t carried_count, carried_capacity;
    struct entry *wrapped; /* round from the last part to the first */
    size_t wrapped_count;
};

/* Equal hashes are nearly always equal keys. */
static mldf_status refuse_equal(const struct slots *s, uint64_t first, uint64_t second, mldf_error *err) {
    mldf_buffer a = MLDF_BUFFER_INIT, b = MLDF_BUFFER_INIT;
    mldf_status status = mldfi_key_read(s->tables, first, &a, err);
    if (status >= 0)
        status = mldfi_key_read(s->tables, second, &b, err);
    if (status >= 0 && a.size == b.size && memcmp(a.data, b.data, a.size) == 0) {
        uint64_t earlier = first < second ? first : second, later = first < second ? second : first;
        status =
            mldfi_fail(err, MLDF_E_KEY, "samples %llu and %llu have the same key \"%.*s\"", (unsigned long long)earlier,
                       (unsigned long long)later, (int)(a.size < 100 ? a.size : 100), (const char *)a.data);
        mldfi_error_place(err, later, NULL);
    }
    mldf_buffer_free(&a);
    mldf_buffer_free(&b);
    return status;
}

static mldf_status carry(struct slots *s, struct entry entry, mldf_error *err) {
    mldf_status status;
    for (size_t i = 0; i < s->carried_count; i++)
        if (s->carried[i].hash == entry.hash && (status = refuse_equal(s, s->carried[i].index, entry.index, err)) < 0)
            return status;
    status = mldfi_array_reserve(&s->carried, &s->carried_capacity, s->carried_count + 1, sizeof *s->carried, err);
    if (status >= 0)
        s->carried[s->carried_count++] = entry;
    return status;
}

/* Into the current part, from slot `at` on. A table of one part wraps round in itself. */
static mldf_status insert(struct slots *s, uint64_t at, struct entry entry, mldf_error *err) {
    for (uint64_t probes = 0; probes < s->part_slots; probes++, at++) {
        if (at == s->part_slots) {
            if (s->part_count > 1)
                return carry(s, entry, err);
            at = 0;
        }
        if (s->slot[at] == 0) {
            s->slot[at] = entry.index + 1;
            s->hash[at] = entry.hash;
            return MLDF_OK;
        }
        mldf_status status;
        if (s->hash[at] == entry.hash && (status = refuse_equal(s, s->slot[at] - 1, entry.index, err)) < 0)
            return status;
    }
    return s->part_count > 1 ? carry(s, entry, err) : mldfi_fail(err, MLDF_E_STATE, "the key table is full");
}

/* ---- Parts ---------------------------------------------------------------------------------------------------------------- */

/* Calls insert, or sorts into the parts, for every key in order of index. */
static mldf_status for_each_hash(struct slots *s, bool sort, mldf_error *err) {
    uint8_t chunk[8 * CHUNK_ENTRIES];
    uint64_t count = s->tables->samples;
    mldf_status status = MLDF_OK;
    for (uint64_t at = 0; at < count && status >= 0; at += CHUNK_ENTRIES) {
        size_t part = count - at < CHUNK_ENTRIES ? (size_t)(count - at) : CHUNK_ENTRIES;
        status = mldfi_stream_read(&s->tables->key_hashes, 8 * at, chunk, 8 * part, err);
        for (size_t i = 0; i < part && status >= 0; i++) {
            struct entry entry = {mldfi_load_u64(chunk + 8 * i), at + i};
            uint64_t home = entry.hash & s->mask;
            if (sort)
                status = mldfi_stream_push(&s->parts[home / s->part_slots], &entry, sizeof entry, err);
            else
                status = insert(s, home, entry, err);
        }
    }
    return status;
}

static mldf_status fill_part(struct slots *s, uint64_t part, mldf_error *err) {
    memset(s->slot, 0, (size_t)s->part_slots * 8);
    size_t incoming = s->carried_count;
    struct entry *from = s->carried;
    s->carried = NULL;
    s->carried_count = s->carried_capacity = 0;
    mldf_status status = MLDF_OK;
    for (size_t i = 0; i < incoming && status >= 0; i++)
        status = insert(s, 0, from[i], err);
    free(from);
    struct entry chunk[CHUNK_ENTRIES];
    uint64_t bytes = mldfi_stream_bytes(&s->parts[part]);
    for (uint64_t at = 0; at < bytes && status >= 0; at += sizeof chunk) {
        size_t size = bytes - at < sizeof chunk ? (size_t)(bytes - at) : sizeof chunk;
        status = mldfi_stream_read(&s->parts[part], at, chunk, size, err);
        for (size_t i = 0; i < size / sizeof *chunk && status >= 0; i++)
            status = insert(s, (chunk[i].hash & s->mask) % s->part_slots, chunk[i], err);
    }
    for (size_t i = 0; part == 0 && i < s->wrapped_count && status >= 0; i++)
        status = insert(s, 0, s->wrapped[i], err);
    return status;
}

static mldf_status fill_parts(struct slots *s, mldfi_emit_fn emit, void *user, mldf_error *err) {
    mldf_status status = MLDF_OK;
    s->carried_count = 0;
    for (uint64_t part = 0; part < s->part_count && status >= 0; part++) {
        status = fill_part(s, part, err);
        if (status >= 0 && emit)
            status = emit(user, s->slot, (size_t)s->part_slots * 8, err);
    }
    return status;
}

static mldf_status build_parts(struct slots *s, mldfi_emit_fn emit, void *user, mldf_error *err) {
    s->parts = mldfi_alloc_zero((size_t)s->part_count, sizeof *s->parts, err);
    if (!s->parts)
        return MLDF_E_MEMORY;
    for (uint64_t i = 0; i < s->part_count; i++)
        mldfi_stream_init(&s->parts[i], &s->tables->spill);
    mldf_status status = for_each_hash(s, true, err);
    if (status >= 0)
        status = fill_parts(s, NULL, NULL, err);
    if (status < 0)
        return status;
    s->wrapped = s->carried;
    s->wrapped_count = s->carried_count;
    s->carried = NULL;
    s->carried_count = s->carried_capacity = 0;
    status = fill_parts(s, emit, user, err);
    if (status >= 0 && s->carried_count != s->wrapped_count)
        status = mldfi_fail(err, MLDF_E_KEY, "the keys' hashes are too uneven for a table");
    return status;
}

mldf_status mldfi_key_slots(struct table_builder *tables, uint64_t slots_at_once, mldfi_emit_fn emit, void *user,
                            mldf_error *err) {
    struct slots s = {.tables = tables};
    uint64_t all = UINT64_C(1) << mldfi_key_param(tables->samples);
    s.mask = all - 1;
    s.part_slots = all < slots_at_once ? all : slots_at_once;
    s.part_count = all / s.part_slots;
    s.slot = mldfi_alloc_zero((size_t)s.part_slots, 8, err);
    s.hash = mldfi_alloc_zero((size_t)s.part_slots, 8, err);
    mldf_status status = s.slot && s.hash ? MLDF_OK : MLDF_E_MEMORY;
    if (status >= 0 && s.part_count > 1) {
        status = build_parts(&s, emit, user, err);
    } else if (status >= 0) {
        status = for_each_hash(&s, false, err);
        if (status >= 0)
            status = emit(user, s.slot, (size_t)all * 8, err);
    }
    if (s.parts)
        mldfi_spill_remove(&tables->spill, s.parts, (size_t)s.part_count);
    free(s.parts);
    free(s.slot);
    free(s.hash);
    free(s.carried);
    free(s.wrapped);
    return status;
}
