/* Which batch comes next: the epoch's order, cut into global batches, and this rank's part of each. Everything follows from (order, epoch,
 * consumed position, batch size, rank, ranks), so resuming is beginning somewhere else. bucket.c does the same for batches of samples of
 * like length. One worker at a time is here. */
#include <stdlib.h>
#include <string.h>

#include "loader/loader.h"
#include "util/buffer.h"
#include "util/error.h"

uint64_t mldfi_global_batch(const mldf_loader_options *options) {
    return options->global_batch_size ? options->global_batch_size : options->batch_size * options->world_size;
}

mldf_status mldfi_series_begin(mldf_loader *loader, uint64_t epoch, uint64_t consumed, const struct bucket_span *span,
                               mldf_error *err) {
    struct series *series = &loader->series;
    if (consumed > loader->count)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "position %llu is beyond the epoch's %llu",
                          (unsigned long long)consumed, (unsigned long long)loader->count);
    series->epoch = epoch;
    series->from = consumed;
    series->index = 0;
    uint64_t global = mldfi_global_batch(&loader->options);
    series->ordinal = consumed / global + (consumed % global != 0);
    series->ended = false;
    mldfi_kept_begin(loader, epoch, consumed, &series->kept);
    series->bucket.batch_count = series->bucket.next = 0;
    series->bucket.span = span ? *span : (struct bucket_span){0};
    free(series->bucket.entries);
    series->bucket.entries = NULL;
    return MLDF_OK;
}

void mldfi_series_free(struct series *series) {
    free(series->bucket.positions);
    free(series->bucket.cuts);
    free(series->bucket.entries);
    free(series->bucket.turn);
    free(series->bucket.perms);
}

mldf_status mldfi_job_reserve(mldf_loader *loader, struct job *job, size_t count, mldf_error *err) {
    size_t have = job->capacity;
    TRY(mldfi_array_reserve(&job->slots, &have, count, sizeof *job->slots, err));
    if (loader->measures && have != job->capacity) {
        free(job->lengths);
        job->lengths = NULL;
        job->capacity = 0; /* slots are there; lengths are asked for again */
        if (!(job->lengths = mldfi_alloc_zero(have * loader->outputs, sizeof *job->lengths, err)))
            return MLDF_E_MEMORY;
    }
    job->capacity = have;
    return MLDF_OK;
}

/* A run of positions that lie in the epoch. */
static mldf_status fill_run(mldf_loader *loader, struct job *job, size_t at, uint64_t first, size_t count,
                            mldf_error *err) {
    mldf_place places[256];
    mldf_status status = MLDF_OK;
    for (size_t done = 0; done < count && status >= 0;) {
        size_t now = count - done < 256 ? count - done : 256;
        mldfi_order_many(loader->order, job->epoch, first + done, now, places);
        status =
            mldfi_dataset_seats(&loader->dataset, job->epoch, first + done, places, now, &job->slots[at + done], err);
        done += now;
    }
    return status;
}

static mldf_status fill(mldf_loader *loader, struct job *job, const mldf_share *share, mldf_error *err) {
    size_t count = (size_t)share->count;
    mldf_status status = mldfi_job_reserve(loader, job, count, err);
    for (size_t i = 0; i < count && status >= 0; i++)
        job->slots[i] = (struct slot){.ordinal = (uint32_t)i, .valid = i < share->valid};
    const struct kept *kept = &loader->series.kept;
    for (size_t done = 0; done < count && status >= 0;) {
        uint64_t number = share->first + done, left, position;
        if (number < kept->end) {
            position = mldfi_kept_position(kept, number, &left);
        } else { /* beyond the end positions begin again at 0 */
            position = (number - kept->end) % loader->count;
            left = loader->count - position;
        }
        size_t now = left < count - done ? (size_t)left : count - done;
        status = fill_run(loader, job, done, position, now, err);
        done += now;
    }
    job->count = status < 0 ? 0 : count;
    return status;
}

static mldf_status next_share(mldf_loader *loader, struct job *job, mldf_error *err) {
    const mldf_loader_options *o = &loader->options;
    struct series *series = &loader->series;
    mldf_share_options want = MLDF_SHARE_OPTIONS_INIT;
    mldf_share share;
    want.count = series->kept.end;
    want.from = series->from;
    want.batch_size = o->global_batch_size ? 0 : o->batch_size;
    want.global_batch_size = o->global_batch_size;
    want.rank = o->rank;
    want.world_size = o->world_size;
    want.last = o->last;
    mldf_status status = mldf_share_batch(&want, series->index, &share, err);
    if (status != MLDF_OK)
        return status;
    uint64_t run, global = mldfi_global_batch(o), first = mldfi_kept_position(&series->kept, share.global_first, &run);
    job->consumed = loader->count;
    bool rest = !series->kept.gap_count || o->last != MLDF_LAST_DROP || series->kept.end - share.global_end >= global;
    if (share.global_end < series->kept.end && rest) /* else what is left out at the end counts as consumed */
        job->consumed = mldfi_kept_position(&series->kept, share.global_end - 1, &run) + 1;
    job->ordinal = series->ordinal + (first - series->from) / global;
    job->span = (struct bucket_span){0};
    status = fill(loader, job, &share, err);
    if (status >= 0)
        series->index++;
    return status;
}

mldf_status mldfi_series_next(struct worker *worker, struct job *job, mldf_error *err) {
    mldf_loader *loader = worker->loader;
    struct series *series = &loader->series;
    mldf_status status = MLDF_END;
    job->epoch = series->epoch;
    job->ordinal = series->ordinal;
    if (loader->count)
        status = series->bucket.window ? mldfi_bucket_next(worker, job, err) : next_share(loader, job, err);
    if (status == MLDF_OK && series->bucket.window)
        series->ordinal++;
    else if (status == MLDF_END)
        series->ended = true;
    return status;
}
