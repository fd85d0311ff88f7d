/* Samples that cannot be decoded: which errors say so, what stands in for them, and the ledger. */
#include <stdlib.h>
#include <string.h>

#include "loader/loader.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/options.h"
#include "util/random.h"

bool mldfi_is_bad(mldf_status status) {
    switch (status) {
    case MLDF_E_LIMIT:       /* an image beyond the limits of decoding */
    case MLDF_E_UNSUPPORTED: /* a codec or a form of it that is not here */
    case MLDF_E_TRUNCATED:
    case MLDF_E_CORRUPT:
    case MLDF_E_CHECKSUM:
    case MLDF_E_TAMPERED:
    case MLDF_E_TYPE:
    case MLDF_E_RANGE:
    case MLDF_E_NULL:
    case MLDF_E_SYNTAX:
        return true;
    default:
        return false;
    }
}

mldf_status mldfi_substitute(mldf_loader *loader, uint64_t epoch, struct slot *slot, mldf_error *err) {
    struct rng rng;
    mldf_place place;
    uint64_t position = slot->seat.position, other = 0;
    slot->tries++;
    mldfi_rng_begin(&rng, loader->options.seed, epoch, position, loader->bad_stream);
    for (unsigned i = 0; i < slot->tries; i++)
        other = mldfi_rng_below(&rng, loader->count);
    mldfi_order_many(loader->order, epoch, other, 1, &place);
    /* The position stays: with it go the random numbers of the pipeline. */
    return mldfi_dataset_seat(&loader->dataset, epoch, position, &place, &slot->seat, err);
}

mldf_status mldfi_bad_note(mldf_loader *loader, struct job *job, const struct slot *slot, const mldf_error *error,
                           mldf_error *err) {
    struct bad_event event = {.ordinal = slot->ordinal, .tries = slot->tries};
    event.bad.reader = slot->seat.reader;
    event.bad.sample = slot->seat.sample;
    event.bad.epoch = job->epoch;
    event.bad.position = slot->seat.position;
    event.bad.substitute = MLDF_NONE;
    event.bad.error = *error;
    event.bad.item = mldfi_dataset_item(&loader->dataset, &slot->seat);
    pthread_mutex_lock(&loader->lock);
    mldf_status status = mldfi_array_reserve(&job->bad, &job->bad_capacity, job->bad_count + 1, sizeof *job->bad, err);
    if (status >= 0)
        job->bad[job->bad_count++] = event;
    pthread_mutex_unlock(&loader->lock);
    return status;
}

void mldfi_bad_substitute(mldf_loader *loader, struct job *job, const struct slot *slot) {
    uint64_t number = mldfi_dataset_item(&loader->dataset, &slot->seat);
    pthread_mutex_lock(&loader->lock);
    for (size_t i = 0; i < job->bad_count; i++)
        if (job->bad[i].ordinal == slot->ordinal && job->bad[i].tries + 1 == slot->tries)
            job->bad[i].bad.substitute = number;
    pthread_mutex_unlock(&loader->lock);
}

/* ---- The ledger ------------------------------------------------------------------------------------------------------------------ */

static int by_slot(const void *a, const void *b) {
    const struct bad_event *x = a, *y = b;
    if (x->ordinal != y->ordinal)
        return x->ordinal < y->ordinal ? -1 : 1;
    return x->tries < y->tries ? -1 : x->tries > y->tries;
}

void mldfi_bad_keep(mldf_loader *loader, struct job *job) {
    if (job->bad_count == 0)
        return;
    qsort(job->bad, job->bad_count, sizeof *job->bad, by_slot);
    loader->tally.bad += job->bad_count;
    for (size_t i = 0; i < job->bad_count; i++) {
        if (loader->ledger_count == LOADER_LEDGER) {
            loader->ledger[loader->ledger_first] = job->bad[i].bad;
            loader->ledger_first = (loader->ledger_first + 1) % LOADER_LEDGER;
        } else if (mldfi_array_reserve(&loader->ledger, &loader->ledger_capacity, loader->ledger_count + 1,
                                       sizeof *loader->ledger, NULL) >= 0) {
            loader->ledger[loader->ledger_count++] = job->bad[i].bad; /* without memory: counted, not listed */
        }
    }
    job->bad_count = 0;
}

size_t mldf_loader_bad_count(const mldf_loader *loader) {
    return mldfi_loader_check(loader, "", NULL) < 0 ? 0 : loader->ledger_count;
}

mldf_status mldf_loader_bad_sample(const mldf_loader *loader, size_t index, mldf_bad_sample *out, mldf_error *err) {
    TRY(mldfi_loader_check(loader, "the list of bad samples", err));
    if (index >= loader->ledger_count)
        return MLDF_END;
    mldf_status status = mldfi_check_result("mldf_bad_sample", out, err);
    if (status == MLDF_OK)
        mldfi_give_result(out, &loader->ledger[(loader->ledger_first + index) % loader->ledger_count],
                          sizeof *loader->ledger);
    return status;
}
