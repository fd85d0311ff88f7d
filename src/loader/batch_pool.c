/* The memory of batches. A block that a batch gives back serves a later one, so that in the long run nothing is allocated and no page is
 * touched for the first time. When the user keeps batches, the pool grows instead of waiting. Batches outlive the loader: the pool, which
 * also holds the names of the arrays, goes with the last of them. */
#include <stdlib.h>
#include <string.h>

#include "loader/loader.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

static void free_memory(const struct batch_pool *pool, uint8_t *memory, size_t capacity) {
    if (!memory)
        return;
    if (pool->hook.alloc)
        pool->hook.free(pool->hook.user, memory, capacity);
    else
        mldfi_block_free(memory, capacity);
}

static void free_batch(mldf_batch *batch) {
    free_memory(batch->pool, batch->memory, batch->capacity);
    free(batch);
}

static void free_pool(struct batch_pool *pool) {
    while (pool->idle) {
        mldf_batch *batch = pool->idle;
        pool->idle = batch->next;
        free_batch(batch);
    }
    mldfi_fork_guard_end(&pool->guard);
    pthread_mutex_destroy(&pool->lock);
    free(pool->arrays);
    free(pool->names);
    free(pool);
}

void mldfi_batch_pool_close(struct batch_pool *pool) {
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->closed = true;
    bool last = pool->live == 0;
    pthread_mutex_unlock(&pool->lock);
    if (last)
        free_pool(pool);
}

/* ---- Taking ---------------------------------------------------------------------------------------------------------------- */

/* Lock held: the smallest idle batch that is large enough, or else any. */
static mldf_batch *pick_locked(struct batch_pool *pool, size_t bytes) {
    mldf_batch **best = NULL;
    for (mldf_batch **at = &pool->idle; *at; at = &(*at)->next) {
        if (!best || ((*at)->capacity >= bytes && ((*best)->capacity < bytes || (*at)->capacity < (*best)->capacity)))
            best = at;
    }
    if (!best)
        return NULL;
    mldf_batch *batch = *best;
    *best = batch->next;
    pool->idle_count--;
    return batch;
}

static mldf_batch *new_batch(struct batch_pool *pool, mldf_error *err) {
    size_t arrays = pool->array_count;
    mldf_batch *batch =
        mldfi_alloc_zero(1, sizeof *batch + arrays * (sizeof *batch->arrays + sizeof *batch->rows), err);
    if (!batch)
        return NULL;
    batch->pool = pool;
    batch->arrays = (mldf_array *)(void *)(batch + 1);
    batch->rows = (size_t *)(void *)(batch->arrays + arrays);
    return batch;
}

/* Sizes that differ from batch to batch are rounded up, so that blocks fit again. */
static size_t roomy(size_t bytes) {
    size_t step = 4096;
    while (step < bytes / 16)
        step *= 2;
    return bytes > SIZE_MAX - step ? bytes : (bytes + step - 1) / step * step;
}

static mldf_status give_memory(struct batch_pool *pool, mldf_batch *batch, size_t bytes, mldf_error *err) {
    if (batch->memory && batch->capacity >= bytes)
        return MLDF_OK;
    free_memory(pool, batch->memory, batch->capacity);
    batch->memory = NULL;
    batch->capacity = 0;
    size_t wanted = roomy(bytes), got = wanted;
    uint8_t *memory = pool->hook.alloc ? pool->hook.alloc(pool->hook.user, wanted) : mldfi_block_alloc(wanted, &got);
    if (!memory)
        return mldfi_fail_memory(err, wanted);
    batch->memory = memory;
    batch->capacity = got;
    if ((uintptr_t)memory % 64 == 0)
        return MLDF_OK;
    return mldfi_fail(err, MLDF_E_ARGUMENT, "the memory hook gave memory that is not aligned to 64 bytes");
}

mldf_status mldfi_batch_pool_get(struct batch_pool *pool, size_t bytes, mldf_batch **out, mldf_error *err) {
    pthread_mutex_lock(&pool->lock);
    mldf_batch *batch = pick_locked(pool, bytes);
    pthread_mutex_unlock(&pool->lock);
    if (!batch && !(batch = new_batch(pool, err)))
        return MLDF_E_MEMORY;
    mldf_status status = give_memory(pool, batch, bytes, err);
    if (status < 0) {
        free_batch(batch);
        return status;
    }
    atomic_store_explicit(&batch->references, 1, memory_order_relaxed);
    pthread_mutex_lock(&pool->lock);
    pool->live++;
    pthread_mutex_unlock(&pool->lock);
    *out = batch;
    return MLDF_OK;
}

/* ---- Giving back ------------------------------------------------------------------------------------------------------------ */

static void give_back(mldf_batch *batch) {
    struct batch_pool *pool = batch->pool;
    pthread_mutex_lock(&pool->lock);
    bool keep = !pool->closed && pool->idle_count < pool->idle_most;
    if (keep) {
        batch->next = pool->idle;
        pool->idle = batch;
        pool->idle_count++;
    }
    pthread_mutex_unlock(&pool->lock);
    if (!keep)
        free_batch(batch);
    /* `live` counts this batch up to here, so that nobody frees the pool before. */
    pthread_mutex_lock(&pool->lock);
    bool last = --pool->live == 0 && pool->closed;
    pthread_mutex_unlock(&pool->lock);
    if (last)
        free_pool(pool);
}

void mldf_batch_retain(mldf_batch *batch) {
    if (batch)
        atomic_fetch_add_explicit(&batch->references, 1, memory_order_relaxed);
}

void mldf_batch_release(mldf_batch *batch) {
    /* In a child the pool's lock may be held by a thread that is not there: the memory goes with the process. */
    if (!batch || !mldfi_fork_guard_is_ours(&batch->pool->guard))
        return;
    if (atomic_fetch_sub_explicit(&batch->references, 1, memory_order_acq_rel) == 1)
        give_back(batch);
}
