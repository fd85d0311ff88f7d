/* Batches of one length each, of the items of a view pow2: every full one has the same number of tokens (budget, of each rank), so short items come many
 * together. Nothing is measured and nothing is padded: items of a length are a run of numbers, which a keyed permutation goes through.
 *
 *   natural     the batches of all lengths in one random order
 *   grow-p2(c)  c cycles; in each one the lengths grow, and a c-th of the batches of every length comes
 *
 * What fills no batch comes in a smaller one: after the others of its length in the last cycle, of natural at the end; last=drop leaves it out. The epoch is
 * one window of bucket.c, so that a state finishes it as it was planned, also on other ranks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "items/pow2.h"
#include "loader/loader.h"
#include "order/perm.h"
#include "util/buffer.h"
#include "util/error.h"

struct curriculum_batch {
    uint64_t first; /* number inside its length */
    uint32_t k, count;
};

static const struct pow2 *lengths_of(const mldf_loader *loader) {
    return loader->dataset.view->pow2;
}

void mldfi_curriculum_name(const mldf_loader *loader, char out[CURRICULUM_NAME]) {
    const mldf_loader_options *o = &loader->options;
    out[0] = 0;
    if (o->curriculum == MLDF_CURRICULUM_NATURAL)
        (void)snprintf(out, CURRICULUM_NAME, "natural");
    else if (o->curriculum == MLDF_CURRICULUM_GROW_P2)
        (void)snprintf(out, CURRICULUM_NAME, "grow-p2(%u)", o->cycles);
}

uint64_t mldfi_curriculum_longest(const mldf_loader *loader) {
    return UINT64_C(1) << lengths_of(loader)->most;
}

mldf_status mldfi_curriculum_check(const mldf_loader *loader, mldf_error *err) {
    const mldf_loader_options *o = &loader->options;
    char name[CURRICULUM_NAME];
    if (!o->curriculum)
        return MLDF_OK;
    mldfi_curriculum_name(loader, name);
    if (!loader->dataset.view || !loader->dataset.view->pow2)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "the order %s is for the view pow2(FIELD, LEAST, MOST)", name);
    if (o->own_order)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "the order %s chooses batches: it takes no mixture and no weights",
                          name);
    uint64_t most = mldfi_curriculum_longest(loader);
    if (o->budget < most)
        return mldfi_fail(err, MLDF_E_ARGUMENT,
                          "the order %s needs a budget: tokens of a rank's batch, at least the longest item's %llu",
                          name, (unsigned long long)most);
    return MLDF_OK;
}

/* Items of a global batch of 2^(least + k) tokens each. */
static uint64_t batch_of(const struct pow2 *p, const struct bucket_span *span, uint32_t k) {
    uint64_t items;
    return mldfi_mul_u64(span->budget >> (p->least + k), span->ranks, &items) ? items : UINT64_MAX;
}

/* Full batches of a length, and whether there is a smaller one behind them. */
static uint64_t batches_of(const struct pow2 *p, const struct bucket_span *span, uint32_t k, bool drop, bool *rest) {
    uint64_t items = p->first[k + 1] - p->first[k], each = batch_of(p, span, k);
    *rest = !drop && items % each != 0;
    return items / each;
}

uint64_t mldfi_curriculum_count(const mldf_loader *loader, const struct bucket_span *span) {
    const struct pow2 *p = lengths_of(loader);
    uint64_t count = 0;
    for (uint32_t k = 0; k < p->classes; k++) {
        bool rest;
        count += batches_of(p, span, k, loader->options.last == MLDF_LAST_DROP, &rest);
        count += rest;
    }
    return count;
}

struct planning {
    const struct pow2 *pow2;
    const struct bucket_span *span;
    struct curriculum_batch *out;
    size_t count;
    bool drop;
};

/* Full batches [begin, end) of a length, and what is left behind them. */
static void add_batches(struct planning *p, uint32_t k, uint64_t begin, uint64_t end, bool leftover) {
    uint64_t each = batch_of(p->pow2, p->span, k), items = p->pow2->first[k + 1] - p->pow2->first[k];
    for (; begin < end; begin++)
        p->out[p->count++] = (struct curriculum_batch){begin * each, k, (uint32_t)each};
    if (leftover && !p->drop && items % each)
        p->out[p->count++] = (struct curriculum_batch){items / each * each, k, (uint32_t)(items % each)};
}

/* More cycles than a length has batches would be empty. */
static uint64_t useful_cycles(const struct planning *p, uint64_t cycles) {
    uint64_t most = 1;
    bool rest;
    for (uint32_t k = 0; k < p->pow2->classes; k++) {
        uint64_t full = batches_of(p->pow2, p->span, k, p->drop, &rest);
        most = full > most ? full : most;
    }
    return cycles < most ? cycles : most;
}

static void plan_cycles(struct planning *p, uint64_t wanted) {
    const uint64_t cycles = useful_cycles(p, wanted);
    bool rest;
    for (uint64_t cycle = 0; cycle < cycles; cycle++)
        for (uint32_t k = 0; k < p->pow2->classes; k++) {
            uint64_t full = batches_of(p->pow2, p->span, k, p->drop, &rest);
            uint64_t each = full / cycles, more = full % cycles; /* the first cycles take one more */
            uint64_t begin = cycle * each + (cycle < more ? cycle : more);
            add_batches(p, k, begin, begin + each + (cycle < more), cycle + 1 == cycles);
        }
}

static mldf_status plan_natural(struct planning *p, uint64_t key, bool random, mldf_error *err) {
    for (uint32_t k = 0; k < p->pow2->classes; k++) {
        bool rest;
        add_batches(p, k, 0, batches_of(p->pow2, p->span, k, p->drop, &rest), false);
    }
    size_t full = p->count;
    if (random && full > 1) {
        struct curriculum_batch *sorted = mldfi_alloc(full * sizeof *sorted, err);
        struct perm_shape shape = mldfi_perm_shape(full);
        struct perm perm;
        if (!sorted)
            return MLDF_E_MEMORY;
        mldfi_perm_begin(&perm, &shape, key);
        memcpy(sorted, p->out, full * sizeof *sorted);
        for (size_t i = 0; i < full; i++)
            p->out[i] = sorted[mldfi_perm_at(&perm, i)];
        free(sorted);
    }
    for (uint32_t k = 0; k < p->pow2->classes; k++)
        add_batches(p, k, 0, 0, true);
    return MLDF_OK;
}

mldf_status mldfi_curriculum_plan(mldf_loader *loader, mldf_error *err) {
    const mldf_loader_options *o = &loader->options;
    struct bucket *bucket = &loader->series.bucket;
    const struct pow2 *pow2 = lengths_of(loader);
    uint64_t count = mldfi_curriculum_count(loader, &bucket->span), epoch = loader->series.epoch;
    bool random = o->order != MLDF_ORDER_SEQUENTIAL;
    if (batch_of(pow2, &bucket->span, 0) > UINT32_MAX || count > SIZE_MAX / 64)
        return mldfi_fail(err, MLDF_E_LIMIT, "a budget of %llu tokens on %u ranks is too large",
                          (unsigned long long)bucket->span.budget, bucket->span.ranks);
    free(bucket->turn);
    free(bucket->perms);
    bucket->turn = mldfi_alloc((size_t)(count + 1) * sizeof *bucket->turn, err);
    bucket->perms = mldfi_alloc_zero(pow2->classes, sizeof *bucket->perms, err);
    mldf_status status = bucket->turn && bucket->perms ? MLDF_OK : MLDF_E_MEMORY;
    if (status >= 0)
        status =
            mldfi_array_reserve(&bucket->cuts, &bucket->cut_capacity, (size_t)count + 2, sizeof *bucket->cuts, err);
    if (status < 0)
        return status;
    for (uint32_t k = 0; k < pow2->classes && random; k++) {
        uint64_t items = pow2->first[k + 1] - pow2->first[k];
        struct perm_shape shape = mldfi_perm_shape(items);
        if (items)
            mldfi_perm_begin(&bucket->perms[k], &shape, mldfi_perm_key(o->seed, epoch, PERM_LENGTH, pow2->least + k));
    }
    struct planning p = {pow2, &bucket->span, bucket->turn, 0, o->last == MLDF_LAST_DROP};
    if (o->curriculum == MLDF_CURRICULUM_GROW_P2)
        plan_cycles(&p, o->cycles);
    else
        status = plan_natural(&p, mldfi_perm_key(o->seed, epoch, PERM_BATCHES, 0), random, err);
    bucket->cuts[0] = 0;
    for (size_t i = 0; i < p.count; i++)
        bucket->cuts[i + 1] = bucket->cuts[i] + p.out[i].count;
    bucket->batch_count = bucket->full = status < 0 ? 0 : p.count;
    return status;
}

uint64_t mldfi_curriculum_item(const mldf_loader *loader, size_t slot) {
    const struct bucket *bucket = &loader->series.bucket;
    const struct curriculum_batch *batch = &bucket->turn[bucket->next];
    uint64_t number = batch->first + slot;
    if (loader->options.order != MLDF_ORDER_SEQUENTIAL)
        number = mldfi_perm_at(&bucket->perms[batch->k], number);
    return lengths_of(loader)->first[batch->k] + number;
}
