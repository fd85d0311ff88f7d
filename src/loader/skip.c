/* Positions of an epoch that are not visited: batches that a run leaves out after a loss spike (mldf_loader_skip). They are kept as ranges of
 * positions, so that they mean the same with other batch sizes and ranks. The rest of the epoch closes up:
 *
 *     positions   from . . . . [ gap ) . . . count        numbers   from . . . . . . . end        batches are cut from numbers
 */
#include <string.h>

#include "loader/loader.h"
#include "util/error.h"

/* ---- Numbers of the positions that stay --------------------------------------------------------------------------------------- */

void mldfi_kept_begin(const mldf_loader *loader, uint64_t epoch, uint64_t from, struct kept *out) {
    *out = (struct kept){.from = from, .end = loader->count, .count = loader->count};
    for (size_t i = 0; i < loader->skip_count; i++) { /* in order, apart from one another */
        struct skip_range gap = loader->skips[i];
        if (gap.epoch != epoch || gap.end <= from || gap.begin >= loader->count)
            continue;
        gap.begin = gap.begin > from ? gap.begin : from;
        gap.end = gap.end < loader->count ? gap.end : loader->count;
        out->gaps[out->gap_count++] = gap;
        out->end -= gap.end - gap.begin;
    }
}

uint64_t mldfi_kept_position(const struct kept *kept, uint64_t number, uint64_t *run) {
    uint64_t position = number, next = kept->count;
    for (size_t i = 0; i < kept->gap_count; i++) {
        if (kept->gaps[i].begin > position) {
            next = kept->gaps[i].begin;
            break;
        }
        position += kept->gaps[i].end - kept->gaps[i].begin;
    }
    *run = next - position;
    return position;
}

bool mldfi_kept_number(const struct kept *kept, uint64_t position, uint64_t *number) {
    *number = position;
    for (size_t i = 0; i < kept->gap_count && kept->gaps[i].begin <= position; i++) {
        if (position < kept->gaps[i].end)
            return false;
        *number -= kept->gaps[i].end - kept->gaps[i].begin;
    }
    return true;
}

/* ---- Leaving out ----------------------------------------------------------------------------------------------------------------- */

mldf_status mldfi_skip_add(mldf_loader *loader, struct skip_range range, mldf_error *err) {
    struct skip_range all[LOADER_SKIPS + 1];
    size_t count = 0, at = 0;
    for (size_t i = 0; i < loader->skip_count; i++) {
        struct skip_range old = loader->skips[i];
        bool touches = old.epoch == range.epoch && old.begin <= range.end && range.begin <= old.end;
        if (touches) {
            range.begin = old.begin < range.begin ? old.begin : range.begin;
            range.end = old.end > range.end ? old.end : range.end;
        } else if (old.epoch >= loader->epoch) { /* those of epochs that are over count no more */
            all[count++] = old;
        }
    }
    while (at < count && (all[at].epoch < range.epoch || (all[at].epoch == range.epoch && all[at].end < range.begin)))
        at++;
    memmove(all + at + 1, all + at, (count - at) * sizeof *all);
    all[at] = range;
    if (++count > LOADER_SKIPS)
        return mldfi_fail(err, MLDF_E_LIMIT, "more than %d ranges of batches to skip", LOADER_SKIPS);
    memcpy(loader->skips, all, count * sizeof *all);
    loader->skip_count = count;
    return MLDF_OK;
}

/* Where batch `ordinal` of the epoch begins; *from: where the epoch began or went on. */
static bool batch_begin(const mldf_loader *loader, uint64_t epoch, uint64_t ordinal, uint64_t *position) {
    uint64_t global = mldfi_global_batch(&loader->options);
    uint64_t from = mldfi_epoch_from(loader, epoch), first = from / global + (from % global != 0);
    if (ordinal < first)
        return false;
    *position = (loader->count - from) / global < ordinal - first ? loader->count : from + (ordinal - first) * global;
    return true;
}

uint64_t mldfi_epoch_from(const mldf_loader *loader, uint64_t epoch) {
    return epoch == loader->series.epoch ? loader->series.from : 0;
}

/* Lock held. The range is of positions, inside the epoch. */
static mldf_status skip_range(mldf_loader *loader, struct skip_range range, mldf_error *err) {
    bool running = loader->begun && loader->epoch == range.epoch;
    mldf_status status = mldfi_skip_add(loader, range, err);
    if (status < 0 || !running)
        return status;
    mldfi_crew_halt(loader); /* what was made ahead is made again without them */
    status = mldfi_series_begin(loader, range.epoch, loader->consumed, NULL, err);
    if (status >= 0) {
        mldfi_prefetch_begin(loader);
        mldfi_crew_resume(loader);
    }
    return status;
}

/* Lock held: positions before this one came already. */
static uint64_t consumed_of(const mldf_loader *loader, uint64_t epoch) {
    bool running = loader->begun && loader->epoch == epoch;
    return running ? loader->consumed : epoch < loader->epoch ? loader->count : 0;
}

static mldf_status check_skips(const mldf_loader *loader, const char *what, uint64_t begin, uint64_t end,
                               mldf_error *err) {
    if (loader->series.bucket.window)
        return mldfi_fail(err, MLDF_E_UNSUPPORTED,
                          "batches of buckets or of a budget cannot be skipped: they have no numbers in advance");
    if (begin >= end)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "%s %llu to %llu to skip: there is none", what,
                          (unsigned long long)begin, (unsigned long long)end);
    return MLDF_OK;
}

static mldf_status skip_batches(mldf_loader *loader, uint64_t epoch, uint64_t begin, uint64_t end, mldf_error *err) {
    struct skip_range range = {.epoch = epoch};
    TRY(check_skips(loader, "batches", begin, end, err));
    bool ahead = batch_begin(loader, epoch, begin, &range.begin) && batch_begin(loader, epoch, end, &range.end);
    if (!ahead || range.begin < consumed_of(loader, epoch))
        return mldfi_fail(err, MLDF_E_ARGUMENT, "batch %llu of epoch %llu came already: load a state from before it",
                          (unsigned long long)begin, (unsigned long long)epoch);
    if (range.begin >= loader->count)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "epoch %llu has no batch %llu", (unsigned long long)epoch,
                          (unsigned long long)begin);
    return skip_range(loader, range, err);
}

static mldf_status skip_positions(mldf_loader *loader, uint64_t epoch, uint64_t begin, uint64_t end, mldf_error *err) {
    TRY(check_skips(loader, "positions", begin, end, err));
    if (begin < consumed_of(loader, epoch))
        return mldfi_fail(err, MLDF_E_ARGUMENT, "position %llu of epoch %llu came already: load a state from before it",
                          (unsigned long long)begin, (unsigned long long)epoch);
    if (end > loader->count)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "position %llu to skip: the epoch has %llu",
                          (unsigned long long)(end - 1), (unsigned long long)loader->count);
    return skip_range(loader, (struct skip_range){epoch, begin, end}, err);
}

static mldf_status skip_any(mldf_loader *loader, uint64_t epoch, uint64_t begin, uint64_t end, bool positions,
                            mldf_error *err) {
    TRY(mldfi_loader_check(loader, "skip", err));
    pthread_mutex_lock(&loader->lock);
    mldf_status status =
        positions ? skip_positions(loader, epoch, begin, end, err) : skip_batches(loader, epoch, begin, end, err);
    pthread_mutex_unlock(&loader->lock);
    return status;
}

mldf_status mldf_loader_skip(mldf_loader *loader, uint64_t epoch, uint64_t begin, uint64_t end, mldf_error *err) {
    return skip_any(loader, epoch, begin, end, false, err);
}

mldf_status mldf_loader_skip_positions(mldf_loader *loader, uint64_t epoch, uint64_t begin, uint64_t end,
                                       mldf_error *err) {
    return skip_any(loader, epoch, begin, end, true, err);
}
