/* Keys of a file whose section 6 may be damaged. The section holds each key twice over, as bytes and as a slot where its hash leads:
 *
 *     key in place, text, and its slot names the sample        whole
 *     ... and no slot names the sample at all                  the slot is damaged, the key is taken, unchecked
 *     ... and the sample's slot is elsewhere                   the key's bytes are damaged
 *
 * A file has a key for each sample or none. A sample whose key is damaged is not whole; where most keys are damaged it is the keys that
 * are given up, not the samples. */
#include <inttypes.h>
#include <stdlib.h>

#include "tool/repair.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"
#include "util/utf8.h"

enum { EMPTY_SLOTS_PASSED = 64 /* in a table that is damaged itself */ };

struct slots {
    const mldf_reader *reader;
    uint64_t at, mask; /* of the first slot; their number - 1 */
    uint8_t *named;    /* a bit for each sample */
    bool whole;        /* each sample is named once */
};

static bool bit(const uint8_t *bits, uint64_t i) {
    return bits[i / 8] >> (i % 8) & 1;
}

static void set_bit(uint8_t *bits, uint64_t i) {
    bits[i / 8] = (uint8_t)(bits[i / 8] | 1u << (i % 8));
}

static mldf_status read_slot(const struct slots *slots, uint64_t slot, uint64_t *sample, mldf_error *err) {
    uint8_t word[8];
    mldf_status status = mldfi_reader_copy(slots->reader, slots->at + 8 * slot, word, sizeof word, err);
    *sample = status < 0 ? 0 : mldfi_load_u64(word);
    return status;
}

static mldf_status read_slots(struct slots *slots, mldf_error *err) {
    uint64_t count = slots->reader->header.num_samples, named = 0, value;
    slots->whole = true;
    for (uint64_t slot = 0; slot <= slots->mask; slot++) {
        TRY(read_slot(slots, slot, &value, err));
        if (value == 0)
            continue;
        if (value > count || bit(slots->named, value - 1)) {
            slots->whole = false;
            continue;
        }
        set_bit(slots->named, value - 1);
        named++;
    }
    slots->whole = slots->whole && named == count;
    return MLDF_OK;
}

/* Does the way from the key's home slot meet the sample? */
static mldf_status leads_to(const struct slots *slots, const void *key, size_t bytes, uint64_t sample, bool *out,
                            mldf_error *err) {
    uint64_t slot = mldfi_key_hash(key, bytes) & slots->mask, value;
    size_t empty = 0;
    *out = false;
    for (uint64_t step = 0; step <= slots->mask; step++, slot = (slot + 1) & slots->mask) {
        TRY(read_slot(slots, slot, &value, err));
        if (value == sample + 1) {
            *out = true;
            return MLDF_OK;
        }
        if (value == 0 && (slots->whole || ++empty > EMPTY_SLOTS_PASSED))
            break;
    }
    return MLDF_OK;
}

static mldf_status judge_key(struct rescue *rescue, const struct slots *slots, uint64_t sample, mldf_buffer *scratch,
                             bool *good, mldf_error *err) {
    const mldf_reader *reader = rescue->reader;
    const uint8_t *key;
    uint64_t at;
    size_t bytes;
    bool found;
    *good = false;
    mldf_status status = mldfi_reader_key_range(reader, sample, &at, &bytes, err);
    if (status < 0)
        return mldfi_is_damage(status) ? MLDF_OK : status;
    scratch->size = 0;
    if ((status = mldfi_reader_view(reader, at, bytes, scratch, &key, err)) < 0)
        return status;
    if (memchr(key, 0, bytes) || mldfi_utf8_valid_prefix((const char *)key, bytes) != bytes)
        return MLDF_OK;
    if ((status = leads_to(slots, key, bytes, sample, &found, err)) < 0)
        return status;
    *good = found || !bit(slots->named, sample);
    rescue->unchecked = rescue->unchecked || (!found && *good);
    return MLDF_OK;
}

static mldf_status judge_keys(struct rescue *rescue, const struct slots *slots, uint64_t *bad, mldf_error *err) {
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    mldf_status status = MLDF_OK;
    for (uint64_t i = 0; i < rescue->reader->header.num_samples && status >= 0; i++) {
        bool good = true;
        status = judge_key(rescue, slots, i, &scratch, &good, err);
        if (good)
            continue;
        set_bit(rescue->bad_keys, i);
        ++*bad;
    }
    mldf_buffer_free(&scratch);
    return status;
}

mldf_status mldfi_repair_keys(struct rescue *rescue, bool whole, mldf_error *err) {
    const mldf_reader *reader = rescue->reader;
    uint64_t count = reader->header.num_samples, bad = 0;
    rescue->keys = true;
    if (whole)
        return MLDF_OK; /* a key that is not text is found when it is written */
    struct slots slots = {.reader = reader,
                          .at = reader->keys->ptr + reader->keys_bytes_end,
                          .mask = (UINT64_C(1) << reader->keys->param) - 1,
                          .named = mldfi_alloc_zero((size_t)(count / 8 + 1), 1, err)};
    rescue->bad_keys = mldfi_alloc_zero((size_t)(count / 8 + 1), 1, err);
    mldf_status status = slots.named && rescue->bad_keys ? read_slots(&slots, err) : MLDF_E_MEMORY;
    if (status >= 0)
        status = judge_keys(rescue, &slots, &bad, err);
    free(slots.named);
    rescue->keys = bad <= count / 2;
    return status;
}
