/* See keyset.h. Keys of samples that are placed are read back from the tables' streams, those of the job in hand from the job. */
#include "writer/keyset.h"

#include <stdlib.h>
#include <string.h>

#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"
#include "writer/writer.h"

enum { LEAST_BITS = 10, INDEX_BITS = 40, HASHES_AT_ONCE = 512 };

#define INDEX_MASK ((UINT64_C(1) << INDEX_BITS) - 1)

/* The kept samples of a job: their keys, by position. */
struct kept_key {
    const uint8_t *key;
    size_t bytes;
};

struct check {
    struct key_set *set;
    struct table_builder *tables;
    struct kept_key *kept;
    size_t kept_count;
    mldf_buffer scratch;
};

void mldfi_keyset_free(struct key_set *set) {
    free(set->slots);
    *set = (struct key_set){.max_bits = set->max_bits};
}

static uint64_t limit_of(const struct key_set *set) {
    return (UINT64_C(1) << set->bits) / 4 * 3;
}

static uint64_t slot_of(uint64_t hash, uint64_t index) {
    return hash >> INDEX_BITS << INDEX_BITS | (index + 1);
}

/* Without looking for an equal one; what does not fit is left out. */
static void put(struct key_set *set, uint64_t hash, uint64_t index) {
    uint64_t mask = (UINT64_C(1) << set->bits) - 1, at = hash & mask;
    if (set->count >= limit_of(set) || index + 1 > INDEX_MASK)
        return;
    while (set->slots[at])
        at = (at + 1) & mask;
    set->slots[at] = slot_of(hash, index);
    set->count++;
}

static mldf_status fill(struct key_set *set, const struct table_builder *tables, mldf_error *err) {
    uint8_t chunk[8 * HASHES_AT_ONCE];
    uint64_t count = tables->samples < limit_of(set) ? tables->samples : limit_of(set);
    mldf_status status = MLDF_OK;
    for (uint64_t at = 0; at < count && status >= 0; at += HASHES_AT_ONCE) {
        size_t part = count - at < HASHES_AT_ONCE ? (size_t)(count - at) : HASHES_AT_ONCE;
        status = mldfi_stream_read(&tables->key_hashes, 8 * at, chunk, 8 * part, err);
        for (size_t i = 0; i < part && status >= 0; i++)
            put(set, mldfi_load_u64(chunk + 8 * i), at + i);
    }
    return status;
}

/* Room for so many keys more, as far as the limit goes. All that are in the set stand in the tables. */
static mldf_status reserve(struct key_set *set, const struct table_builder *tables, size_t more, mldf_error *err) {
    unsigned most = set->max_bits ? set->max_bits : KEYSET_MAX_BITS, bits = set->slots ? set->bits : LEAST_BITS;
    uint64_t wanted = tables->samples + more;
    while (bits < most && (UINT64_C(1) << bits) / 4 * 3 < wanted)
        bits++;
    if (bits > most)
        bits = most;
    if (set->slots && bits == set->bits)
        return MLDF_OK;
    uint64_t *slots = mldfi_alloc_zero((size_t)1 << bits, sizeof *slots, err);
    if (!slots)
        return MLDF_E_MEMORY;
    free(set->slots);
    *set = (struct key_set){slots, bits, 0, set->max_bits};
    return fill(set, tables, err);
}

static mldf_status same_key(struct check *c, uint64_t index, const struct kept_key *key, bool *same, mldf_error *err) {
    if (index >= c->tables->samples) {
        const struct kept_key *other = &c->kept[index - c->tables->samples];
        *same = other->bytes == key->bytes && memcmp(other->key, key->key, key->bytes) == 0;
        return MLDF_OK;
    }
    mldf_status status = mldfi_key_read(c->tables, index, &c->scratch, err);
    *same = status >= 0 && c->scratch.size == key->bytes && memcmp(c->scratch.data, key->key, key->bytes) == 0;
    return status;
}

/* The index of the sample that has this key, or MLDF_NONE. */
static mldf_status find(struct check *c, uint64_t hash, const struct kept_key *key, uint64_t *found, mldf_error *err) {
    const struct key_set *set = c->set;
    uint64_t mask = (UINT64_C(1) << set->bits) - 1;
    bool same = false;
    *found = MLDF_NONE;
    for (uint64_t at = hash & mask; set->slots[at]; at = (at + 1) & mask) {
        if ((set->slots[at] ^ hash) >> INDEX_BITS)
            continue;
        uint64_t index = (set->slots[at] & INDEX_MASK) - 1;
        TRY(same_key(c, index, key, &same, err));
        if (same) {
            *found = index;
            return MLDF_OK;
        }
    }
    return MLDF_OK;
}

static void explain(mldf_error *why, const struct kept_key *key, uint64_t first, uint64_t second, bool skipping) {
    int shown = (int)(key->bytes < 100 ? key->bytes : 100);
    if (skipping) {
        mldfi_fail(why, MLDF_E_KEY, "the key \"%.*s\" is that of sample %llu too", shown, (const char *)key->key,
                   (unsigned long long)first);
        return;
    }
    mldfi_fail(why, MLDF_E_KEY, "samples %llu and %llu have the same key \"%.*s\"", (unsigned long long)first,
               (unsigned long long)second, shown, (const char *)key->key);
    mldfi_error_place(why, second, NULL);
}

static mldf_status check_samples(struct check *c, struct job *job, bool skipping, mldf_error *err) {
    size_t given_bad = job->bad_count, next_bad = 0, at = 0;
    mldf_status status = MLDF_OK;
    for (size_t s = 0; s < job->samples && status >= 0; s++) {
        struct kept_key key = {job->keys.data + at, job->key_bytes[s]};
        at += key.bytes;
        if (next_bad < given_bad && job->bad[next_bad].sample == s) {
            next_bad++;
            continue;
        }
        uint64_t found = MLDF_NONE, index = c->tables->samples + c->kept_count;
        uint64_t hash = key.bytes ? mldfi_key_hash(key.key, key.bytes) : 0;
        if (key.bytes)
            status = find(c, hash, &key, &found, err);
        if (status >= 0 && found != MLDF_NONE) {
            mldf_error why;
            explain(&why, &key, found, index, skipping);
            status = mldfi_job_add_bad(job, s, &why, err);
            continue;
        }
        c->kept[c->kept_count++] = key;
        if (key.bytes)
            put(c->set, hash, index);
    }
    if (given_bad && job->bad_count > given_bad)
        mldfi_job_sort_bad(job);
    return status;
}

mldf_status mldfi_keyset_check(struct key_set *set, struct table_builder *tables, struct job *job, bool skipping,
                               mldf_error *err) {
    struct check c = {.set = set, .tables = tables};
    if (job->keys.size == 0 || tables->keys == KEYS_NONE)
        return MLDF_OK;
    mldf_status status = reserve(set, tables, job->samples, err);
    if (status >= 0 && !(c.kept = mldfi_alloc_zero(job->samples, sizeof *c.kept, err)))
        status = MLDF_E_MEMORY;
    if (status >= 0)
        status = check_samples(&c, job, skipping, err);
    free(c.kept);
    mldf_buffer_free(&c.scratch);
    return status;
}
