/* See sinc_set.h. */
#include "pipeline/sinc_set.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>

#include "util/buffer.h"
#include "util/error.h"

enum { RATES_MAX = 64 };

struct sinc_set {
    uint32_t to;
    pthread_mutex_t lock; /* guards what follows; entries that were given out do not change */
    uint32_t count;
    struct entry {
        uint32_t from;
        struct sinc sinc;
    } entries[RATES_MAX];
};

mldf_status mldfi_sinc_set_new(uint32_t to, struct sinc_set **out, mldf_error *err) {
    struct sinc_set *set = *out = mldfi_alloc_zero(1, sizeof *set, err);
    if (!set)
        return MLDF_E_MEMORY;
    set->to = to;
    pthread_mutex_init(&set->lock, NULL);
    return MLDF_OK;
}

void mldfi_sinc_set_free(struct sinc_set *set) {
    if (!set)
        return;
    for (uint32_t i = 0; i < set->count; i++)
        mldfi_sinc_free(&set->entries[i].sinc);
    pthread_mutex_destroy(&set->lock);
    free(set);
}

static mldf_status find(struct sinc_set *set, uint32_t from, const struct sinc **out, mldf_error *err) {
    for (uint32_t i = 0; i < set->count; i++)
        if (set->entries[i].from == from) {
            *out = &set->entries[i].sinc;
            return MLDF_OK;
        }
    if (set->count == RATES_MAX)
        return mldfi_fail(err, MLDF_E_LIMIT,
                          "%" PRIu32 " Hz is one rate more than the %d that decode_audio resamples from", from,
                          RATES_MAX);
    struct entry *entry = &set->entries[set->count];
    mldf_status status = mldfi_sinc_new(from, set->to, &entry->sinc, err);
    if (status < 0) {
        mldfi_sinc_free(&entry->sinc);
        return status;
    }
    entry->from = from;
    set->count++;
    *out = &entry->sinc;
    return MLDF_OK;
}

mldf_status mldfi_sinc_set_get(struct sinc_set *set, uint32_t from, const struct sinc **out, mldf_error *err) {
    *out = NULL;
    if (from == set->to)
        return MLDF_OK;
    pthread_mutex_lock(&set->lock);
    mldf_status status = find(set, from, out, err);
    pthread_mutex_unlock(&set->lock);
    return status;
}
