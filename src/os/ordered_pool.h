/* A small ordered pool: jobs go in one after the other, run on any thread, and come out in the order in which they went in.
 * One thread (the owner) submits and takes; a ring of slots bounds what is under way. Without threads a job runs when it is
 * submitted. What a job computes must depend on its slot alone: then results are the same for any number of threads. */
#ifndef MLDF_OS_ORDERED_POOL_H
#define MLDF_OS_ORDERED_POOL_H

#include "mldf/base.h"

struct pool;

/* What the pool works on: arrays of the caller that outlive it. */
struct pool_work {
    void (*run)(void *worker, void *slot);
    void *slots;
    size_t slot_count, slot_bytes;
    void *workers; /* what a thread keeps from job to job: one for each thread, at least one. NULL: nothing */
    size_t worker_bytes;
};

/* It is not an error if the machine gives fewer threads than asked for, as long as there is one. */
mldf_status mldfi_pool_new(struct pool **out, unsigned threads, const struct pool_work *work, mldf_error *err);
/* Waits for jobs that run; those not begun are dropped. */
void mldfi_pool_free(struct pool *pool);

/* The slot of the next job, to be filled; NULL when the ring is full. */
void *mldfi_pool_slot(struct pool *pool);
void mldfi_pool_submit(struct pool *pool);
/* Waits up to so many milliseconds for the oldest job; true if it is done or there is none. */
bool mldfi_pool_wait_ms(struct pool *pool, unsigned milliseconds);
/* Waits for the oldest job; NULL when there is none. The slot is free again after mldfi_pool_release. */
void *mldfi_pool_oldest(struct pool *pool);
void mldfi_pool_release(struct pool *pool);

#endif
