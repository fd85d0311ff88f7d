/* A small ordered pool: jobs go in one after the other, run on any thread, and come out in the order in which they went in.
 * One thread (the owner) submits and takes; a ring of slots bounds what is under way. Without threads a job runs when it is
 * submitted. What a job computes must depend on its slot alone: then results are the same for any number of threads. */
#ifndef MLDF_INTEROP_ORDERED_POOL_H
#define MLDF_INTEROP_ORDERED_POOL_H

#include "mldf/base.h"

struct pool;

/* `slots` points to slot_count objects of slot_bytes each, the caller's, that outlive the pool. */
mldf_status mldfi_pool_new(struct pool **out, unsigned threads, void *slots, size_t slot_count, size_t slot_bytes,
                           void (*run)(void *slot), mldf_error *err);
/* Waits for jobs that run; those not begun are dropped. */
void mldfi_pool_free(struct pool *pool);

/* The slot of the next job, to be filled; NULL when the ring is full. */
void *mldfi_pool_slot(struct pool *pool);
void mldfi_pool_submit(struct pool *pool);
/* Waits for the oldest job; NULL when there is none. The slot is free again after mldfi_pool_release. */
void *mldfi_pool_oldest(struct pool *pool);
void mldfi_pool_release(struct pool *pool);

#endif
