/* Ranges of samples on threads. Ranges are taken in order by whichever thread is free; the calling thread reports their
 * problems in order as they end, and lets the threads run only a window of ranges ahead, so that memory stays bounded.
 *
 *     reported ──► [done][done][running][running][ ][ ] ◄── next        (ring of `slots`)
 *
 * Without threads the caller does the ranges itself, one after the other. */
#include <stdlib.h>
#include <string.h>

#include "os/thread.h"
#include "tool/verify.h"
#include "util/buffer.h"
#include "util/error.h"

enum { MAX_THREADS = 256, WAIT_MS = 40 };

struct ranges {
    struct verify *verify;
    verify_work work;
    uint64_t step, count; /* of ranges */
    pthread_mutex_t lock;
    pthread_cond_t ended;  /* a range ended, or a worker did */
    pthread_cond_t opened; /* the window moved, or all must stop */
    /* guarded by lock */
    uint64_t next, reported;
    struct verify_job *slots;
    size_t slot_count;
    bool stop;
};

struct range_thread {
    pthread_t thread;
    struct ranges *ranges;
    struct verify_worker worker;
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
    job->done = false;
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

/* ---- On the caller -------------------------------------------------------------------------------------------------------- */

static mldf_status run_on_caller(struct ranges *ranges, mldf_error *err) {
    struct verify_worker worker;
    struct verify_job job = {0};
    mldf_status status = worker_begin(&worker, ranges->verify, true, err);
    for (uint64_t i = 0; i < ranges->count && status >= 0; i++) {
        job_begin(ranges, &job, i);
        job.status = ranges->work(&worker, &job, &job.error);
        status = job_end(ranges->verify, &job, err);
        if (status >= 0)
            status = mldfi_verify_tick(ranges->verify, err);
    }
    free(job.problems);
    worker_end(&worker);
    return status;
}

/* ---- On threads ------------------------------------------------------------------------------------------------------------ */

static void *run_thread(void *argument) {
    struct range_thread *self = argument;
    struct ranges *r = self->ranges;
    pthread_mutex_lock(&r->lock);
    while (!r->stop && r->next < r->count) {
        if (r->next - r->reported >= r->slot_count) {
            pthread_cond_wait(&r->opened, &r->lock);
            continue;
        }
        uint64_t index = r->next++;
        struct verify_job *job = &r->slots[index % r->slot_count];
        job_begin(r, job, index);
        pthread_mutex_unlock(&r->lock);
        job->status = r->work(&self->worker, job, &job->error);
        pthread_mutex_lock(&r->lock);
        job->done = true;
        pthread_cond_signal(&r->ended);
    }
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

/* The calling thread: waits for ranges in order, reports them, shows progress. */
static mldf_status collect(struct ranges *r, mldf_error *err) {
    mldf_status status = MLDF_OK;
    for (uint64_t i = 0; i < r->count && status >= 0; i++) {
        struct verify_job *job = &r->slots[i % r->slot_count];
        pthread_mutex_lock(&r->lock);
        while (!(r->next > i && job->done) && status >= 0) {
            mldfi_cond_wait_ms(&r->ended, &r->lock, WAIT_MS);
            pthread_mutex_unlock(&r->lock);
            status = mldfi_verify_tick(r->verify, err);
            pthread_mutex_lock(&r->lock);
        }
        pthread_mutex_unlock(&r->lock);
        if (status >= 0)
            status = job_end(r->verify, job, err);
        if (status >= 0)
            status = mldfi_verify_tick(r->verify, err);
        pthread_mutex_lock(&r->lock);
        job->done = false;
        r->reported = i + 1;
        pthread_cond_broadcast(&r->opened);
        pthread_mutex_unlock(&r->lock);
    }
    return status;
}

static void stop_all(struct ranges *r, mldf_status status) {
    pthread_mutex_lock(&r->lock);
    r->stop = true;
    if (status < 0)
        atomic_store(&r->verify->cancelled, true);
    pthread_cond_broadcast(&r->opened);
    pthread_mutex_unlock(&r->lock);
}

static mldf_status run_threads(struct ranges *r, struct range_thread *threads, size_t wanted, mldf_error *err) {
    size_t begun = 0, started = 0;
    mldf_status status = MLDF_OK;
    for (; begun < wanted && status >= 0; begun++) {
        threads[begun].ranges = r;
        status = worker_begin(&threads[begun].worker, r->verify, false, err);
    }
    while (status >= 0 && started < wanted) {
        status = mldfi_thread_start(&threads[started].thread, run_thread, &threads[started], err);
        if (status >= 0)
            started++;
    }
    /* A machine that gives fewer threads than asked for is no reason to fail. */
    if (status < 0 && started > 0)
        status = MLDF_OK;
    if (status >= 0)
        status = collect(r, err);
    stop_all(r, status);
    for (size_t i = 0; i < started; i++)
        pthread_join(threads[i].thread, NULL);
    for (size_t i = 0; i < begun; i++)
        worker_end(&threads[i].worker);
    return status;
}

mldf_status mldfi_verify_ranges(struct verify *verify, verify_work work, uint64_t step, mldf_error *err) {
    uint64_t samples = verify->reader->header.num_samples;
    struct ranges r = {.verify = verify, .work = work, .step = step, .count = samples / step + (samples % step != 0)};
    int asked = verify->options.threads < 0 ? mldfi_cpu_count() : verify->options.threads;
    size_t threads = asked > MAX_THREADS ? MAX_THREADS : (size_t)asked;
    if (threads > r.count)
        threads = (size_t)r.count;
    if (threads == 0)
        return run_on_caller(&r, err);
    r.slot_count = 2 * threads;
    r.slots = mldfi_alloc_zero(r.slot_count, sizeof *r.slots, err);
    struct range_thread *list = mldfi_alloc_zero(threads, sizeof *list, err);
    mldf_status status = MLDF_E_MEMORY;
    if (r.slots && list) {
        pthread_mutex_init(&r.lock, NULL);
        mldfi_cond_init(&r.ended);
        pthread_cond_init(&r.opened, NULL);
        status = run_threads(&r, list, threads, err);
        pthread_cond_destroy(&r.opened);
        pthread_cond_destroy(&r.ended);
        pthread_mutex_destroy(&r.lock);
    }
    for (size_t i = 0; r.slots && i < r.slot_count; i++)
        free(r.slots[i].problems);
    free(r.slots);
    free(list);
    return status;
}
