/* Sample keys (section 6): offsets, the keys' bytes, and a table of slots with linear probing. Nothing in it is trusted:
 * offsets are checked at each use (A8), a look-up visits at most every slot once (A9).
 *
 *     S: offsets u64[n+1] | key bytes, padded to 8 | slots u64[2^param]: index + 1, 0 = empty
 *        ▲ 0                                       ▲ keys_bytes_end */
#include <inttypes.h>

#include "reader/foreign.h"
#include "reader/reader.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

enum { SLOTS_AT_ONCE = 64, COMPARE_BYTES = 512 };

bool mldf_reader_has_keys(const mldf_reader *reader) {
    return reader && (reader->keys || (reader->foreign.ops && reader->foreign.ops->key));
}

static mldf_status no_keys(const mldf_reader *reader, mldf_error *err) {
    mldfi_fail(err, MLDF_E_KEY, "the file has no sample keys");
    return mldfi_reader_name_error(reader, err, MLDF_E_KEY);
}

static mldf_status no_such_key(const mldf_reader *reader, const char *key, size_t key_bytes, mldf_error *err) {
    mldfi_fail(err, MLDF_E_NO_SAMPLE, "no sample has the key \"%.*s\"", key_bytes < 200 ? (int)key_bytes : 200,
               key ? key : "");
    return mldfi_reader_name_error(reader, err, MLDF_E_NO_SAMPLE);
}

static mldf_status verify_keys(const mldf_reader *reader, mldf_error *err) {
    return mldfi_reader_check_section(reader, reader->keys, READER_GOOD_KEYS, "6 (keys)", err);
}

/* A8: where the key of a sample is, as a byte of the file. */
mldf_status mldfi_reader_key_range(const mldf_reader *reader, uint64_t sample, uint64_t *at, size_t *bytes,
                                   mldf_error *err) {
    const struct section *s = reader->keys;
    uint8_t words[16];
    TRY(mldfi_reader_copy(reader, s->ptr + 8 * sample, words, sizeof words, err));
    uint64_t begin = mldfi_load_u64(words), end = mldfi_load_u64(words + 8);
    if (begin < 8 * (reader->header.num_samples + 1) || end < begin || end > reader->keys_bytes_end || end == begin ||
        end - begin > FORMAT_MAX_KEY) {
        mldfi_reader_fail(reader, err, MLDF_E_CORRUPT, s->ptr + 8 * sample,
                          "its key: bytes %" PRIu64 " to %" PRIu64 " of section 6", begin, end);
        mldfi_error_place(err, sample, NULL);
        return MLDF_E_CORRUPT;
    }
    *at = s->ptr + begin;
    *bytes = (size_t)(end - begin);
    return MLDF_OK;
}

mldf_status mldf_reader_key(const mldf_reader *reader, uint64_t sample, mldf_buffer *scratch, const char **key,
                            size_t *key_bytes, mldf_error *err) {
    const uint8_t *data;
    uint64_t at;
    if (!reader || !key || !key_bytes)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "getting a key needs a reader and a place for the key");
    if (!mldf_reader_has_keys(reader))
        return no_keys(reader, err);
    if (sample >= reader->header.num_samples)
        return mldfi_reader_no_sample(reader, sample, err);
    if (reader->foreign.ops)
        return reader->foreign.ops->key(reader->foreign.state, sample, key, key_bytes, err);
    if (scratch)
        scratch->size = 0;
    mldf_status status = verify_keys(reader, err);
    if (status < 0 || (status = mldfi_reader_key_range(reader, sample, &at, key_bytes, err)) < 0 ||
        (status = mldfi_reader_view(reader, at, *key_bytes, scratch, &data, err)) < 0)
        return status;
    *key = (const char *)data;
    return MLDF_OK;
}

static mldf_status key_equals(const mldf_reader *reader, uint64_t sample, const uint8_t *key, size_t key_bytes,
                              bool *equal, mldf_error *err) {
    uint8_t piece[COMPARE_BYTES];
    uint64_t at;
    size_t bytes;
    mldf_status status = mldfi_reader_key_range(reader, sample, &at, &bytes, err);
    *equal = status >= 0 && bytes == key_bytes;
    for (size_t done = 0; *equal && done < key_bytes; done += COMPARE_BYTES) {
        size_t now = key_bytes - done < COMPARE_BYTES ? key_bytes - done : (size_t)COMPARE_BYTES;
        if ((status = mldfi_reader_copy(reader, at + done, piece, now, err)) < 0)
            return status;
        *equal = memcmp(piece, key + done, now) == 0;
    }
    return status;
}

/* The slots [slot, slot + count), which do not wrap. MLDF_OK: found; MLDF_END: an empty slot ended the search; *more: neither. */
static mldf_status probe(const mldf_reader *reader, uint64_t slot, size_t count, const uint8_t *key, size_t key_bytes,
                         uint64_t *sample, bool *more, mldf_error *err) {
    uint8_t words[8 * SLOTS_AT_ONCE];
    uint64_t at = reader->keys->ptr + reader->keys_bytes_end + 8 * slot;
    mldf_status status = mldfi_reader_copy(reader, at, words, 8 * count, err);
    *more = false;
    for (size_t i = 0; i < count && status >= 0; i++) {
        uint64_t value = mldfi_load_u64(words + 8 * i);
        bool equal;
        if (value == 0)
            return MLDF_END;
        if (value > reader->header.num_samples)
            return mldfi_reader_fail(reader, err, MLDF_E_CORRUPT, at + 8 * i,
                                     "key slot %" PRIu64 " names sample %" PRIu64 " of %" PRIu64, slot + i, value - 1,
                                     reader->header.num_samples);
        status = key_equals(reader, value - 1, key, key_bytes, &equal, err);
        if (status >= 0 && equal) {
            *sample = value - 1;
            return MLDF_OK;
        }
    }
    *more = status >= 0;
    return status;
}

mldf_status mldf_reader_find_key(const mldf_reader *reader, const char *key, size_t key_bytes, uint64_t *sample,
                                 mldf_error *err) {
    if (!reader || !sample || (!key && key_bytes))
        return mldfi_fail(err, MLDF_E_ARGUMENT, "looking a key up needs a reader, the key and a place for the sample");
    if (!mldf_reader_has_keys(reader))
        return no_keys(reader, err);
    if (reader->foreign.ops) {
        *sample = reader->foreign.ops->find_key(reader->foreign.state, key, key_bytes);
        return *sample == MLDF_NONE ? no_such_key(reader, key, key_bytes, err) : MLDF_OK;
    }
    mldf_status status = verify_keys(reader, err);
    if (status < 0)
        return status;
    uint64_t slots = UINT64_C(1) << reader->keys->param, slot = mldfi_key_hash(key, key_bytes) & (slots - 1);
    uint64_t left = slots;
    size_t step = 1; /* most searches end in one or two slots */
    bool more = true;
    while (left > 0 && more) {
        uint64_t count = step < left ? step : left;
        if (count > slots - slot)
            count = slots - slot;
        status = probe(reader, slot, (size_t)count, (const uint8_t *)key, key_bytes, sample, &more, err);
        if (!more && status == MLDF_OK)
            return MLDF_OK;
        if (status < 0)
            return status;
        left -= count;
        slot = (slot + count) & (slots - 1);
        step = step < SLOTS_AT_ONCE ? step * 2 : (size_t)SLOTS_AT_ONCE;
    }
    return no_such_key(reader, key, key_bytes, err);
}
