/* Ranges of samples on threads. The calling thread hands out ranges through an ordered pool, reports their problems in order as they
 * end, and shows progress while it waits; the pool's ring bounds memory. Without threads the caller does the ranges itself. */
#include <stdlib.h>
#include <string.h>

#include "os/ordered_pool.h"
#include "tool/verify.h"
#include "util/buffer.h"
#include "util/error.h"

enum { MAX_THREADS = 256, WAIT_MS = 40 };

struct ranges {
    struct verify *verify;
    verify_work work;
    uint64_t step, count; /* of ranges */
    struct verify_worker *workers;
    size_t worker_count;
    struct range_slot *slots;
    size_t slot_count;
};

struct range_slot {
    const struct ranges *ranges;
    struct verify_job job;
};

/* ---- Workers ------------------------------------------------------------------------------------------------------------ */

static mldf_status worker_begin(struct verify_worker *worker, struct verify *verify, bool on_caller, mldf_error *err) {
    memset(worker, 0, sizeof *worker);
    worker->verify = verify;
    worker->on_caller = on_caller;
    worker->maxima = mldfi_alloc_zero(verify->reader->schema->field_count, sizeof *worker->maxima, err);
    return worker->maxima ? MLDF_OK : MLDF_E_MEMORY;
}

static void raise_to(uint64_t *largest, uint64_t value) {
    if (value > *largest)
        *largest = value;
}

static void worker_end(struct verify_worker *worker) {
    struct verify *verify = worker->verify;
    for (size_t i = 0; worker->maxima && i < verify->reader->schema->field_count; i++) {
        mldf_field_stats *all = &verify->maxima[i], *mine = &worker->maxima[i];
        raise_to(&all->stored_bytes_max, mine->stored_bytes_max);
        raise_to(&all->value_bytes_max, mine->value_bytes_max);
        raise_to(&all->units_max, mine->units_max);
        for (size_t d = 0; d < MLDF_MAX_DIMS; d++)
            if (mine->dims_max[d] > all->dims_max[d])
                all->dims_max[d] = mine->dims_max[d];
    }
    verify->payloads += worker->payloads;
    for (size_t i = 0; i < VERIFY_WINDOWS; i++)
        free(worker->windows[i].entries);
    free(worker->maxima);
    mldf_buffer_free(&worker->rows);
    mldf_buffer_free(&worker->checks);
    mldf_buffer_free(&worker->validity);
    mldf_buffer_free(&worker->scratch);
    mldf_buffer_free(&worker->chunk);
    mldfi_kit_free(&worker->kit);
}

static void job_begin(const struct ranges *ranges, struct verify_job *job, uint64_t index) {
    uint64_t total = ranges->verify->reader->header.num_samples, first = index * ranges->step;
    job->first = first;
    job->count = total - first < ranges->step ? total - first : ranges->step;
    job->problem_count = 0;
    job->good = 0;
    job->bad_rows = false;
    job->status = MLDF_OK;
}

/* On the calling thread: hands on what a range found. */
static mldf_status job_end(struct verify *verify, struct verify_job *job, mldf_error *err) {
    for (size_t i = 0; i < job->problem_count; i++)
        mldfi_verify_report(verify, &job->problems[i]);
    verify->result->good_samples += job->good;
    verify->bad_rows = verify->bad_rows || job->bad_rows;
    if (job->status < 0 && err)
        *err = job->error;
    return job->status;
}

/* ---- Ranges ------------------------------------------------------------------------------------------------------------------ */

/* On a thread of the pool. */
static void run_range(void *worker, void *slot) {
    struct range_slot *mine = slot;
    mine->job.status = mine->ranges->work(worker, &mine->job, &mine->job.error);
}

static mldf_status report_oldest(const struct ranges *r, struct pool *pool, mldf_error *err) {
    mldf_status status = MLDF_OK;
    while (status >= 0 && !mldfi_pool_wait_ms(pool, WAIT_MS))
        status = mldfi_verify_tick(r->verify, err);
    if (status < 0)
        return status;
    struct range_slot *slot = mldfi_pool_oldest(pool);
    status = job_end(r->verify, &slot->job, err);
    mldfi_pool_release(pool);
    return status < 0 ? status : mldfi_verify_tick(r->verify, err);
}

static mldf_status run_ranges(struct ranges *r, unsigned threads, mldf_error *err) {
    struct pool_work work = {.run = run_range,
                             .slots = r->slots,
                             .slot_count = r->slot_count,
                             .slot_bytes = sizeof *r->slots,
                             .workers = r->workers,
                             .worker_bytes = sizeof *r->workers};
    struct pool *pool;
    mldf_status status = mldfi_pool_new(&pool, threads, &work, err);
    if (status < 0)
        return status;
    uint64_t next = 0, reported = 0;
    while (status >= 0 && reported < r->count) {
        struct range_slot *slot = next < r->count ? mldfi_pool_slot(pool) : NULL;
        if (slot) {
            slot->ranges = r;
            job_begin(r, &slot->job, next++);
            mldfi_pool_submit(pool);
            continue;
        }
        status = report_oldest(r, pool, err);
        reported++;
    }
    if (status < 0)
        atomic_store(&r->verify->cancelled, true); /* those that run stop soon */
    mldfi_pool_free(pool);
    return status;
}

mldf_status mldfi_verify_ranges(struct verify *verify, verify_work work, uint64_t step, mldf_error *err) {
    uint64_t samples = verify->reader->header.num_samples;
    struct ranges r = {.verify = verify, .work = work, .step = step, .count = samples / step + (samples % step != 0)};
    int asked = verify->options.threads < 0 ? mldfi_cpu_count() : verify->options.threads;
    size_t threads = asked > MAX_THREADS ? MAX_THREADS : (size_t)asked;
    if (threads > r.count)
        threads = (size_t)r.count;
    size_t worker_count = threads ? threads : 1;
    r.slot_count = threads ? 2 * threads : 1;
    r.slots = mldfi_alloc_zero(r.slot_count, sizeof *r.slots, err);
    r.workers = mldfi_alloc_zero(worker_count, sizeof *r.workers, err);
    mldf_status status = r.slots && r.workers ? MLDF_OK : MLDF_E_MEMORY;
    while (status >= 0 && r.worker_count < worker_count)
        status = worker_begin(&r.workers[r.worker_count++], verify, threads == 0, err);
    if (status >= 0)
        status = run_ranges(&r, (unsigned)threads, err);
    for (size_t i = 0; i < r.worker_count; i++)
        worker_end(&r.workers[i]);
    for (size_t i = 0; r.slots && i < r.slot_count; i++)
        free(r.slots[i].job.problems);
    free(r.slots);
    free(r.workers);
    return status;
}
