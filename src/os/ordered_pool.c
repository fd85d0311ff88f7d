/* The ordered pool (see ordered_pool.h): three counters chase each other round a ring.
 *
 *     first_out <= next_run <= next_in <= first_out + slot_count
 *     taken by the owner   by a worker   submitted by the owner */
#include "os/ordered_pool.h"

#include <stdlib.h>

#include "os/thread.h"
#include "util/buffer.h"

struct pool {
    struct pool_work work;
    unsigned thread_count;
    struct pool_thread {
        struct pool *pool;
        pthread_t thread;
        void *worker;
    } * threads;

    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t submitted, ready;
    bool stop;
    uint64_t next_in, next_run, first_out;
    bool *finished; /* one for each slot */
};

static void *slot_at(const struct pool *pool, uint64_t job) {
    return (uint8_t *)pool->work.slots + (size_t)(job % pool->work.slot_count) * pool->work.slot_bytes;
}

static void *worker_at(const struct pool *pool, unsigned thread) {
    return pool->work.workers ? (uint8_t *)pool->work.workers + thread * pool->work.worker_bytes : NULL;
}

static void *run_thread(void *argument) {
    const struct pool_thread *self = argument;
    struct pool *pool = self->pool;
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (!pool->stop && pool->next_run == pool->next_in)
            pthread_cond_wait(&pool->submitted, &pool->lock);
        if (pool->stop)
            break;
        uint64_t job = pool->next_run++;
        pthread_mutex_unlock(&pool->lock);
        pool->work.run(self->worker, slot_at(pool, job));
        pthread_mutex_lock(&pool->lock);
        pool->finished[job % pool->work.slot_count] = true;
        pthread_cond_signal(&pool->ready);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

mldf_status mldfi_pool_new(struct pool **out, unsigned threads, const struct pool_work *work, mldf_error *err) {
    *out = NULL;
    struct pool *pool = mldfi_alloc_zero(1, sizeof *pool, err);
    if (!pool)
        return MLDF_E_MEMORY;
    pool->work = *work;
    pthread_mutex_init(&pool->lock, NULL);
    mldfi_cond_init(&pool->submitted);
    mldfi_cond_init(&pool->ready);
    mldf_status status = MLDF_OK;
    pool->finished = mldfi_alloc_zero(work->slot_count, sizeof *pool->finished, err);
    pool->threads = mldfi_alloc_zero(threads + 1, sizeof *pool->threads, err);
    if (!pool->finished || !pool->threads)
        status = MLDF_E_MEMORY;
    while (status >= 0 && pool->thread_count < threads) {
        struct pool_thread *next = &pool->threads[pool->thread_count];
        *next = (struct pool_thread){.pool = pool, .worker = worker_at(pool, pool->thread_count)};
        status = mldfi_thread_start(&next->thread, run_thread, next, err);
        if (status >= 0)
            pool->thread_count++;
    }
    if (status < 0 && pool->thread_count == 0) {
        mldfi_pool_free(pool);
        return status;
    }
    *out = pool;
    return MLDF_OK;
}

void mldfi_pool_free(struct pool *pool) {
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->stop = true;
    pthread_cond_broadcast(&pool->submitted);
    pthread_mutex_unlock(&pool->lock);
    for (unsigned i = 0; i < pool->thread_count; i++)
        (void)pthread_join(pool->threads[i].thread, NULL);
    pthread_cond_destroy(&pool->ready);
    pthread_cond_destroy(&pool->submitted);
    pthread_mutex_destroy(&pool->lock);
    free(pool->threads);
    free(pool->finished);
    free(pool);
}

void *mldfi_pool_slot(struct pool *pool) {
    /* next_in and first_out change on this thread alone. */
    return pool->next_in - pool->first_out < pool->work.slot_count ? slot_at(pool, pool->next_in) : NULL;
}

void mldfi_pool_submit(struct pool *pool) {
    size_t place = (size_t)(pool->next_in % pool->work.slot_count);
    if (pool->thread_count == 0)
        pool->work.run(worker_at(pool, 0), slot_at(pool, pool->next_in));
    pthread_mutex_lock(&pool->lock);
    pool->finished[place] = pool->thread_count == 0;
    pool->next_in++;
    pthread_cond_signal(&pool->submitted);
    pthread_mutex_unlock(&pool->lock);
}

bool mldfi_pool_wait_ms(struct pool *pool, unsigned milliseconds) {
    if (pool->first_out == pool->next_in)
        return true;
    const bool *done = &pool->finished[pool->first_out % pool->work.slot_count];
    pthread_mutex_lock(&pool->lock);
    if (!*done)
        mldfi_cond_wait_ms(&pool->ready, &pool->lock, milliseconds);
    bool is_done = *done;
    pthread_mutex_unlock(&pool->lock);
    return is_done;
}

void *mldfi_pool_oldest(struct pool *pool) {
    if (pool->first_out == pool->next_in)
        return NULL;
    pthread_mutex_lock(&pool->lock);
    while (!pool->finished[pool->first_out % pool->work.slot_count])
        pthread_cond_wait(&pool->ready, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
    return slot_at(pool, pool->first_out);
}

void mldfi_pool_release(struct pool *pool) {
    pthread_mutex_lock(&pool->lock);
    pool->finished[pool->first_out % pool->work.slot_count] = false;
    pool->first_out++;
    pthread_mutex_unlock(&pool->lock);
}
