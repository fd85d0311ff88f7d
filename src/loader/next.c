/* What the user's thread does: begin an epoch, take the next batch, cancel. Workers run ahead of it inside one epoch; at its end they wait
 * until the next one is begun. */
#include <stdlib.h>
#include <string.h>

#include "loader/loader.h"
#include "os/file.h"
#include "os/thread.h"
#include "util/error.h"

/* Lock held. span: a window of buckets that was begun; NULL: none. */
static mldf_status begin_locked(mldf_loader *loader, uint64_t epoch, uint64_t consumed, const struct bucket_span *span,
                                mldf_error *err) {
    if (consumed > loader->count)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "position %llu is beyond the epoch's end at %llu",
                          (unsigned long long)consumed, (unsigned long long)loader->count);
    loader->cancelled = false; /* a cancel that comes from now on counts */
    mldfi_crew_halt(loader);
    TRY(mldfi_series_begin(loader, epoch, consumed, span, err));
    mldfi_prefetch_begin(loader);
    loader->begun = true;
    loader->epoch = epoch;
    loader->consumed = consumed;
    loader->span = span ? *span : (struct bucket_span){0};
    if (!loader->cancelled)
        mldfi_crew_resume(loader);
    return MLDF_OK;
}

mldf_status mldfi_loader_begin_at(mldf_loader *loader, uint64_t epoch, uint64_t consumed,
                                  const struct bucket_span *span, mldf_error *err) {
    pthread_mutex_lock(&loader->lock);
    mldf_status status = begin_locked(loader, epoch, consumed, span, err);
    pthread_mutex_unlock(&loader->lock);
    return status;
}

mldf_status mldf_loader_begin(mldf_loader *loader, uint64_t epoch, uint64_t consumed, mldf_error *err) {
    mldf_status status = mldfi_loader_check(loader, "begin", err);
    return status < 0 ? status : mldfi_loader_begin_at(loader, epoch, consumed, NULL, err);
}

/* ---- Next --------------------------------------------------------------------------------------------------------------------------- */

/* Lock held: the oldest job is done and leaves the ring. */
static mldf_status take(mldf_loader *loader, mldf_batch **out, mldf_error *err) {
    struct job *job = &loader->jobs[loader->taken % loader->job_count];
    mldf_status status = MLDF_OK;
    mldfi_bad_keep(loader, job);
    if (job->failed_slot != SIZE_MAX) {
        status = job->failure.status;
        if (err)
            *err = job->failure;
    } else {
        mldf_batch *batch = job->batch;
        job->batch = NULL;
        batch->epoch = job->epoch;
        batch->ordinal = job->ordinal;
        batch->consumed = job->consumed;
        loader->tally.samples += batch->samples;
        loader->tally.batches++;
        *out = batch;
    }
    if (job->count || job->failed_slot == SIZE_MAX) { /* not one that could not even be planned */
        loader->consumed = job->consumed;
        loader->span = job->span;
    }
    mldfi_prefetch_forget(loader, job);
    mldfi_crew_pop(loader);
    return status;
}

/* Lock held: nothing is in flight and nothing will be. */
static bool is_over(const mldf_loader *loader) {
    return loader->taken == loader->planned && !loader->planning && loader->series.ended;
}

static bool is_ready(const mldf_loader *loader) {
    return loader->taken != loader->opened && loader->jobs[loader->taken % loader->job_count].state == JOB_DONE;
}

/* Lock held. One step of the caller's own, or a wait for the workers; false: the time has passed. */
static bool bide(mldf_loader *loader, double deadline) {
    if (loader->thread_count == 0) {
        loader->workers[0].until = deadline;
        if (!mldfi_crew_step(&loader->workers[0]))
            return false; /* cannot be: a caller that works always finds something until the batch is there */
        return deadline < 0 || mldfi_time() < deadline;
    }
    if (deadline < 0) {
        pthread_cond_wait(&loader->ready, &loader->lock);
        return true;
    }
    double left = deadline - mldfi_time();
    if (left <= 0)
        return false;
    (void)mldfi_cond_wait_ms(&loader->ready, &loader->lock, (unsigned)(left * 1000) + 1);
    return true;
}

static mldf_status end_epoch(mldf_loader *loader) {
    loader->begun = false;
    loader->halt = true;
    loader->tally.seconds += mldfi_time() - loader->tally.epoch_started;
    loader->tally.epoch_started = 0;
    loader->epoch++;
    loader->consumed = 0;
    loader->span = (struct bucket_span){0};
    return MLDF_END;
}

static mldf_status next_locked(mldf_loader *loader, int timeout_ms, mldf_batch **out, mldf_error *err) {
    mldf_status status = MLDF_OK;
    if (!loader->begun && !loader->cancelled)
        status = begin_locked(loader, loader->epoch, 0, NULL, err);
    if (status < 0)
        return status;
    double start = mldfi_time(), deadline = timeout_ms < 0 ? -1 : start + timeout_ms / 1000.0;
    if (loader->tally.epoch_started == 0)
        loader->tally.epoch_started = start;
    for (;;) {
        if (loader->cancelled) {
            status = mldfi_fail(err, MLDF_E_CANCELLED, "the loader was cancelled");
            break;
        }
        if (is_ready(loader)) {
            status = take(loader, out, err);
            break;
        }
        if (is_over(loader))
            return end_epoch(loader);
        if (!bide(loader, deadline) && !is_ready(loader)) {
            status = MLDF_AGAIN;
            break;
        }
    }
    loader->tally.wait_loader += mldfi_time() - start;
    return status;
}

mldf_status mldf_loader_next(mldf_loader *loader, int timeout_ms, mldf_batch **out, mldf_error *err) {
    TRY(mldfi_loader_check(loader, "next", err));
    if (!out)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "next needs a place for the batch");
    *out = NULL;
    pthread_mutex_lock(&loader->lock);
    mldf_status status = next_locked(loader, timeout_ms, out, err);
    pthread_mutex_unlock(&loader->lock);
    return status;
}

void mldf_loader_cancel(mldf_loader *loader) {
    if (mldfi_loader_check(loader, "cancel", NULL) < 0)
        return;
    pthread_mutex_lock(&loader->lock);
    loader->cancelled = true;
    loader->halt = true;
    pthread_cond_broadcast(&loader->ready);
    pthread_mutex_unlock(&loader->lock);
}
