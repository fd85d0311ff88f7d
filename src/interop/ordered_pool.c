/* The ordered pool (see ordered_pool.h): three counters chase each other round a ring.
 *
 *     first_out <= next_run <= next_in <= first_out + slot_count
 *     taken by the owner   by a worker   submitted by the owner */
#include "interop/ordered_pool.h"

#include <stdlib.h>

#include "os/thread.h"
#include "util/buffer.h"

struct pool {
    void (*run)(void *slot);
    uint8_t *slots;
    size_t slot_count, slot_bytes;
    unsigned thread_count;
    pthread_t *threads;

    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t work, ready;
    bool stop;
    uint64_t next_in, next_run, first_out;
    bool *finished; /* one for each slot */
};

static void *slot_at(const struct pool *pool, uint64_t job) {
    return pool->slots + (size_t)(job % pool->slot_count) * pool->slot_bytes;
}

static void *worker(void *argument) {
    struct pool *pool = argument;
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (!pool->stop && pool->next_run == pool->next_in)
            pthread_cond_wait(&pool->work, &pool->lock);
        if (pool->stop)
            break;
        uint64_t job = pool->next_run++;
        pthread_mutex_unlock(&pool->lock);
        pool->run(slot_at(pool, job));
        pthread_mutex_lock(&pool->lock);
        pool->finished[job % pool->slot_count] = true;
        pthread_cond_signal(&pool->ready);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

mldf_status mldfi_pool_new(struct pool **out, unsigned threads, void *slots, size_t slot_count, size_t slot_bytes,
                           void (*run)(void *slot), mldf_error *err) {
    *out = NULL;
    struct pool *pool = mldfi_alloc_zero(1, sizeof *pool, err);
    if (!pool)
        return MLDF_E_MEMORY;
    pool->run = run;
    pool->slots = slots;
    pool->slot_count = slot_count;
    pool->slot_bytes = slot_bytes;
    pthread_mutex_init(&pool->lock, NULL);
    mldfi_cond_init(&pool->work);
    mldfi_cond_init(&pool->ready);
    mldf_status status = MLDF_OK;
    pool->finished = mldfi_alloc_zero(slot_count, sizeof *pool->finished, err);
    pool->threads = mldfi_alloc_zero(threads + 1, sizeof *pool->threads, err);
    if (!pool->finished || !pool->threads)
        status = MLDF_E_MEMORY;
    for (unsigned i = 0; status >= 0 && i < threads; i++) {
        status = mldfi_thread_start(&pool->threads[i], worker, pool, err);
        if (status >= 0)
            pool->thread_count++;
    }
    if (status < 0) {
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
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    for (unsigned i = 0; i < pool->thread_count; i++)
        (void)pthread_join(pool->threads[i], NULL);
    pthread_cond_destroy(&pool->ready);
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->lock);
    free(pool->threads);
    free(pool->finished);
    free(pool);
}

void *mldfi_pool_slot(struct pool *pool) {
    /* next_in and first_out change on this thread alone. */
    return pool->next_in - pool->first_out < pool->slot_count ? slot_at(pool, pool->next_in) : NULL;
}

void mldfi_pool_submit(struct pool *pool) {
    size_t place = (size_t)(pool->next_in % pool->slot_count);
    if (pool->thread_count == 0)
        pool->run(slot_at(pool, pool->next_in));
    pthread_mutex_lock(&pool->lock);
    pool->finished[place] = pool->thread_count == 0;
    pool->next_in++;
    pthread_cond_signal(&pool->work);
    pthread_mutex_unlock(&pool->lock);
}

void *mldfi_pool_oldest(struct pool *pool) {
    if (pool->first_out == pool->next_in)
        return NULL;
    pthread_mutex_lock(&pool->lock);
    while (!pool->finished[pool->first_out % pool->slot_count])
        pthread_cond_wait(&pool->ready, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
    return slot_at(pool, pool->first_out);
}

void mldfi_pool_release(struct pool *pool) {
    pthread_mutex_lock(&pool->lock);
    pool->finished[pool->first_out % pool->slot_count] = false;
    pool->first_out++;
    pthread_mutex_unlock(&pool->lock);
}
