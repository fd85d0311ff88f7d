/* Who works on what when. Workers take one step at a time with the lock in hand: plan a job, claim a run of slots, open a planned job; they
 * let go of the lock for the work itself. With no threads the caller takes the same steps inside next. A run is long enough (60 µs) that the
 * lock costs nothing; how long that is in samples is measured on the way and changes no result. Read loader.h first. */
#include <stdlib.h>
#include <string.h>

#include "loader/loader.h"
#include "os/file.h"
#include "os/thread.h"
#include "util/buffer.h"
#include "util/error.h"

static struct job *job_at(mldf_loader *loader, uint64_t number) {
    return &loader->jobs[number % loader->job_count];
}

/* Whoever waits for a batch is woken when the lock is free: otherwise it would wake to wait for that. */
static void leave(mldf_loader *loader) {
    bool done = loader->done;
    loader->active++;
    loader->done = false;
    pthread_mutex_unlock(&loader->lock);
    if (done)
        pthread_cond_signal(&loader->ready);
}

static void come_back(mldf_loader *loader) {
    pthread_mutex_lock(&loader->lock);
    if (--loader->active == 0 && loader->halt)
        pthread_cond_broadcast(&loader->quiet);
}

static void wake(mldf_loader *loader) {
    if (loader->waiting)
        pthread_cond_broadcast(&loader->work);
}

/* ---- The phases of a job, with the lock held on entry and exit ---------------------------------------------------------------------- */

static void begin_phase(mldf_loader *loader, struct job *job, enum job_state state) {
    job->state = state;
    job->claimed = job->finished = 0;
    job->limit = job->count;
    wake(loader);
}

static void set_done(mldf_loader *loader, struct job *job) {
    job->state = JOB_DONE;
    if (job == job_at(loader, loader->taken))
        loader->done = true;
}

static void fail_job(mldf_loader *loader, struct job *job, const mldf_error *err) {
    job->failed_slot = 0;
    job->failure = *err;
    set_done(loader, job);
}

/* Slots whose samples are left out are gone; without the lock. */
static void drop_skipped(const mldf_loader *loader, struct job *job) {
    size_t kept = 0;
    for (size_t i = 0; i < job->count; i++) {
        if (job->slots[i].skipped)
            continue;
        if (kept != i) {
            job->slots[kept] = job->slots[i];
            memcpy(&job->lengths[kept * loader->outputs], &job->lengths[i * loader->outputs],
                   loader->outputs * sizeof *job->lengths);
        }
        kept++;
    }
    job->count = kept;
}

/* Memory for the batch, when its size is known. */
static void lay_out(mldf_loader *loader, struct job *job) {
    mldf_error err;
    job->state = JOB_BUSY;
    leave(loader);
    if (loader->two_phase)
        drop_skipped(loader, job);
    mldf_status status = mldfi_batch_new(loader->pool, job->count, job->lengths, loader->outputs, &job->batch, &err);
    come_back(loader);
    if (status < 0)
        fail_job(loader, job, &err);
    else if (job->count == 0)
        set_done(loader, job);
    else
        begin_phase(loader, job, JOB_RUN);
}

/* Leaves out skipped rows of a batch that is otherwise complete; without the lock. */
static mldf_status compact(struct job *job, mldf_error *err) {
    size_t skipped = 0;
    for (size_t i = 0; i < job->count; i++)
        skipped += job->slots[i].skipped;
    if (skipped == 0)
        return MLDF_OK;
    bool *keep = mldfi_alloc_zero(job->count, sizeof *keep, err);
    if (!keep)
        return MLDF_E_MEMORY;
    for (size_t i = 0; i < job->count; i++)
        keep[i] = !job->slots[i].skipped;
    mldfi_batch_compact(job->batch, keep);
    free(keep);
    return MLDF_OK;
}

static void finish(mldf_loader *loader, struct job *job) {
    mldf_error err;
    mldf_status status = MLDF_OK;
    bool skips = loader->options.bad == MLDF_BAD_SKIP;
    if (skips || loader->pool->has_runs) {
        job->state = JOB_BUSY;
        leave(loader);
        if (skips)
            status = compact(job, &err);
        if (status >= 0 && loader->pool->has_runs)
            mldfi_batch_finish_runs(job->batch);
        come_back(loader);
    }
    if (status < 0)
        fail_job(loader, job, &err);
    else
        set_done(loader, job);
}

/* All runs that were claimed are finished, and no more will be. */
static void end_phase(mldf_loader *loader, struct job *job) {
    if (job->failed_slot != SIZE_MAX) {
        set_done(loader, job);
    } else if (job->state == JOB_MEASURE) {
        lay_out(loader, job);
    } else if (job->again) {
        job->again = false;
        mldf_batch *batch = job->batch;
        job->batch = NULL;
        job->state = JOB_BUSY;
        leave(loader);
        mldf_batch_release(batch);
        drop_skipped(loader, job);
        come_back(loader);
        if (job->count)
            begin_phase(loader, job, JOB_MEASURE);
        else
            lay_out(loader, job);
    } else {
        finish(loader, job);
    }
}

/* ---- Claiming ------------------------------------------------------------------------------------------------------------------------------- */

/* The end of a run that begins at job->claimed. */
static size_t run_end(const mldf_loader *loader, const struct job *job) {
    double cost = loader->cost[job->state == JOB_RUN], want = cost > 0 ? LOADER_UNIT_SECONDS / cost : 1;
    size_t left = job->limit - job->claimed, samples = want < (double)left ? (size_t)want : left;
    size_t end = job->claimed + (samples ? samples : 1);
    /* Both of a pair go together: neither is decoded twice. */
    if (loader->pairs && end < job->limit && !(job->slots[end - 1].seat.position & 1) &&
        job->slots[end].seat.position == job->slots[end - 1].seat.position + 1)
        end++;
    return end;
}

/* Step by step times of a unit that was timed, into the tally. */
static void account(struct worker *worker, bool running, size_t samples, double seconds) {
    mldf_loader *loader = worker->loader;
    struct tally *tally = &loader->tally;
    double each = seconds / (double)samples, *cost = &loader->cost[running];
    *cost = *cost > 0 ? *cost * 0.75 + each * 0.25 : each;
    tally->busy += seconds;
    if (!worker->timing)
        return;
    const double *times = mldfi_worker_times(worker->plan);
    for (size_t i = 0; i < mldfi_plan_step_count(loader->plan); i++)
        tally->steps[i] += times[i] - worker->times[i];
    tally->timed += seconds;
}

static void begin_timing(struct worker *worker) {
    size_t steps = mldfi_plan_step_count(worker->loader->plan);
    bool timing = worker->units++ % LOADER_TIME_EVERY == 0;
    if (timing != worker->timing)
        mldfi_worker_timing(worker->plan, timing);
    worker->timing = timing;
    if (timing && steps)
        memcpy(worker->times, mldfi_worker_times(worker->plan), steps * sizeof *worker->times);
}

/* Of values that the worker has read so far. */
static uint64_t stored_bytes(const struct worker *worker) {
    return mldfi_worker_bytes(worker->plan) + worker->items.bytes;
}

static bool step_unit(struct worker *worker) {
    mldf_loader *loader = worker->loader;
    for (uint64_t number = loader->taken; number != loader->opened; number++) {
        struct job *job = job_at(loader, number);
        if ((job->state != JOB_MEASURE && job->state != JOB_RUN) || job->claimed >= job->limit)
            continue;
        size_t from = job->claimed, to = run_end(loader, job);
        bool running = job->state == JOB_RUN;
        job->claimed = to;
        leave(loader);
        begin_timing(worker);
        uint64_t bytes = stored_bytes(worker);
        double start = mldfi_time();
        if (running)
            mldfi_unit_run(worker, job, from, to);
        else
            mldfi_unit_measure(worker, job, from, to);
        double seconds = mldfi_time() - start;
        bytes = stored_bytes(worker) - bytes;
        come_back(loader);
        account(worker, running, to - from, seconds);
        loader->tally.bytes += running ? bytes : 0;
        job->finished += to - from;
        /* Halted: the run may have been broken off, and the job will be dropped. */
        if (!loader->halt && job->finished == job->claimed && job->claimed >= job->limit)
            end_phase(loader, job);
        return true;
    }
    return false;
}

/* ---- Planning and opening ---------------------------------------------------------------------------------------------------------------- */

static void reset_job(struct job *job) {
    job->count = job->claimed = job->finished = job->limit = 0;
    job->failed_slot = SIZE_MAX;
    job->again = false;
    job->bad_count = job->range_count = 0;
    job->batch = NULL;
}

static bool step_plan(struct worker *worker) {
    mldf_loader *loader = worker->loader;
    if (loader->planning || loader->plan_failed || loader->series.ended ||
        loader->planned - loader->opened >= LOADER_AHEAD || loader->planned - loader->taken >= loader->job_count)
        return false;
    struct job *job = job_at(loader, loader->planned);
    mldf_error err;
    loader->planning = true;
    leave(loader);
    reset_job(job);
    mldf_status status = mldfi_series_next(worker, job, &err);
    if (status == MLDF_OK)
        mldfi_prefetch_job(worker, job);
    come_back(loader);
    loader->planning = false;
    if (status < 0) {
        loader->plan_failed = true; /* until this failure was told; then it is tried again */
        job->state = JOB_PLANNED;
        job->failed_slot = 0;
        job->failure = err;
    } else if (status == MLDF_OK) {
        job->state = JOB_PLANNED;
    } else {
        pthread_cond_signal(&loader->ready); /* the end, perhaps of everything */
        wake(loader);
        return true;
    }
    loader->planned++;
    wake(loader);
    return true;
}

static bool step_open(struct worker *worker) {
    mldf_loader *loader = worker->loader;
    if (loader->opened == loader->planned || loader->opened - loader->taken >= loader->in_flight)
        return false;
    struct job *job = job_at(loader, loader->opened++);
    if (job->failed_slot != SIZE_MAX)
        set_done(loader, job);
    else if (loader->two_phase)
        begin_phase(loader, job, JOB_MEASURE);
    else
        lay_out(loader, job);
    return true;
}

bool mldfi_crew_step(struct worker *worker) {
    if (worker->loader->halt)
        return false;
    /* Planning first: what is read soon should be asked for early. */
    return step_plan(worker) || step_unit(worker) || step_open(worker);
}

/* ---- Threads -------------------------------------------------------------------------------------------------------------------------------- */

/* Is it the user who is waited for? */
static bool is_full(mldf_loader *loader) {
    return loader->taken != loader->opened && job_at(loader, loader->taken)->state == JOB_DONE && !loader->halt;
}

static void *worker_main(void *argument) {
    struct worker *worker = argument;
    mldf_loader *loader = worker->loader;
    pthread_mutex_lock(&loader->lock);
    while (!loader->stop) {
        if (mldfi_crew_step(worker))
            continue;
        bool full = is_full(loader);
        double start = mldfi_time();
        if (loader->done)
            pthread_cond_signal(&loader->ready);
        loader->done = false;
        loader->waiting++;
        pthread_cond_wait(&loader->work, &loader->lock);
        loader->waiting--;
        if (full)
            loader->tally.wait_consumer += mldfi_time() - start;
    }
    pthread_mutex_unlock(&loader->lock);
    return NULL;
}

/* Enough batches that everybody has something to do while one sample takes long. */
static size_t default_in_flight(const mldf_loader_options *o, size_t threads) {
    uint64_t batch = mldfi_global_batch(o) / o->world_size;
    uint64_t more = (16 * (uint64_t)threads + batch - 1) / batch;
    if (threads == 0)
        return 1;
    return 2 + (size_t)(more < 1 ? 1 : more > 64 ? 64 : more);
}

static mldf_status start_threads(mldf_loader *loader, size_t wanted, mldf_error *err) {
    mldf_status status = MLDF_OK;
    for (size_t i = 0; i < loader->worker_count && status >= 0; i++)
        status = mldfi_crew_worker_begin(loader, &loader->workers[i], err);
    while (loader->thread_count < wanted && status >= 0) {
        struct worker *worker = &loader->workers[loader->thread_count];
        status = mldfi_thread_start(&worker->thread, worker_main, worker, err);
        loader->thread_count += status >= 0;
    }
    return status;
}

mldf_status mldfi_crew_new(mldf_loader *loader, mldf_error *err) {
    int wanted = loader->options.threads < 0 ? mldfi_cpu_count() : loader->options.threads;
    if (wanted > LOADER_MAX_THREADS)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "%d threads; at most %d are possible", wanted, LOADER_MAX_THREADS);
    loader->in_flight =
        loader->options.in_flight ? loader->options.in_flight : default_in_flight(&loader->options, (size_t)wanted);
    if (loader->in_flight > LOADER_MAX_IN_FLIGHT)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "%zu batches in flight; at most %d are possible", loader->in_flight,
                          LOADER_MAX_IN_FLIGHT);
    loader->job_count = loader->in_flight + LOADER_AHEAD;
    loader->worker_count = wanted ? (size_t)wanted : 1;
    loader->jobs = mldfi_alloc_zero(loader->job_count, sizeof *loader->jobs, err);
    loader->workers = mldfi_alloc_zero(loader->worker_count, sizeof *loader->workers, err);
    loader->tally.steps = mldfi_alloc_zero(mldfi_plan_step_count(loader->plan) + 1, sizeof *loader->tally.steps, err);
    loader->halt = true; /* until the first epoch begins */
    loader->pool->idle_most = loader->in_flight + 2;
    if (!loader->jobs || !loader->workers || !loader->tally.steps)
        return MLDF_E_MEMORY;
    return start_threads(loader, (size_t)wanted, err);
}

static void free_job(struct job *job) {
    free(job->slots);
    free(job->lengths);
    free(job->bad);
    free(job->ranges);
}

void mldfi_crew_free(mldf_loader *loader) {
    pthread_mutex_lock(&loader->lock);
    mldfi_crew_halt(loader);
    loader->stop = true;
    pthread_cond_broadcast(&loader->work);
    pthread_mutex_unlock(&loader->lock);
    for (size_t i = 0; i < loader->thread_count; i++)
        pthread_join(loader->workers[i].thread, NULL);
    for (size_t i = 0; i < loader->worker_count && loader->workers; i++)
        mldfi_crew_worker_end(&loader->workers[i]);
    for (size_t i = 0; i < loader->job_count && loader->jobs; i++)
        free_job(&loader->jobs[i]);
    free(loader->jobs);
    free(loader->workers);
    free(loader->tally.steps);
    free(loader->tally.shown);
}

void mldfi_crew_pop(mldf_loader *loader) {
    struct job *job = job_at(loader, loader->taken);
    if (job->batch)
        mldf_batch_release(job->batch);
    job->batch = NULL;
    loader->taken++;
    if (job->count == 0 && job->failed_slot != SIZE_MAX)
        loader->plan_failed = false; /* it was this one that could not be planned */
    wake(loader);
}

void mldfi_crew_halt(mldf_loader *loader) {
    loader->halt = true;
    while (loader->active)
        pthread_cond_wait(&loader->quiet, &loader->lock);
    while (loader->jobs && loader->taken != loader->planned) {
        if (loader->taken == loader->opened) { /* planned only: holds nothing */
            loader->taken = loader->opened = loader->planned;
            break;
        }
        mldfi_crew_pop(loader);
    }
    loader->plan_failed = false;
}

void mldfi_crew_resume(mldf_loader *loader) {
    loader->halt = false;
    wake(loader);
}
