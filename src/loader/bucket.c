/* Batches of samples of like length. The global order is cut into windows; the samples of a window are sorted by length and cut into global
 * batches, whose turn is shuffled so that short ones do not always come first; what does not fill a batch is the window's last. The plan of
 * a window does not depend on the rank, nor (but for a budget) on the number of ranks: a window that was begun is finished as it was
 * planned, split among the ranks that there are now; the next one is planned with the options of now.
 *
 * The consumed position inside a window counts the samples of its plan that were handed out. */
#include <stdlib.h>
#include <string.h>

#include "loader/loader.h"
#include "os/file.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"
#include "util/random.h"

enum { COUNT_SOME = 16 }; /* samples between two looks at the clock */

/* ---- Planning a window -------------------------------------------------------------------------------------------------------- */

struct entry {
    struct plan_length length;
    uint64_t position;
};

static int by_length(const void *a, const void *b) {
    const struct entry *x = a, *y = b;
    int order = mldfi_length_compare(&x->length, &y->length);
    if (order)
        return order;
    return x->position < y->position ? -1 : x->position > y->position;
}

/* watch: the loader may be told to stop meanwhile. */
static mldf_status measure(struct worker *worker, uint64_t epoch, const struct bucket_span *span, bool watch,
                           struct entry *entries, mldf_error *err) {
    mldf_loader *loader = worker->loader;
    size_t output = loader->series.bucket.output;
    mldf_place places[256];
    mldf_status status = MLDF_OK;
    for (uint64_t at = span->begin; at < span->end && status >= 0;) {
        size_t now = span->end - at < 256 ? (size_t)(span->end - at) : 256;
        mldfi_order_many(loader->order, epoch, at, now, places);
        for (size_t i = 0; i < now && status >= 0; i++, at++) {
            struct entry *entry = &entries[at - span->begin];
            struct seat seat;
            if (watch &&
                atomic_load_explicit(&loader->halt, memory_order_relaxed)) /* told to nobody: the plan is dropped */
                return mldfi_fail(err, MLDF_E_CANCELLED, "the loader stops");
            entry->position = at;
            status = mldfi_dataset_seat(&loader->dataset, epoch, at, &places[i], &seat, err);
            if (status >= 0)
                status = mldfi_unit_length(worker, epoch, &seat, output, &entry->length, err);
        }
    }
    return status;
}

/* Would this many samples, with this as their longest, be too much for a rank? Ragged outputs are reckoned as if they were padded. */
static bool over_budget(const struct bucket *bucket, uint64_t samples, struct plan_length longest) {
    const struct bucket_span *span = &bucket->span;
    uint64_t each = samples / span->ranks + (samples % span->ranks != 0), elements;
    uint64_t count = mldfi_length_count(bucket->of, mldfi_length_room(bucket->of, longest));
    return !mldfi_mul_u64(each, count, &elements) || !mldfi_mul_u64(elements, bucket->inner, &elements) ||
           elements > span->budget;
}

/* Cuts the sorted samples; cuts[0 .. batch_count], of which those below `full` are whole. */
static mldf_status cut(struct bucket *bucket, const struct entry *entries, size_t count, mldf_error *err) {
    const struct bucket_span *span = &bucket->span;
    struct plan_length longest = {{0}}; /* of the batch; it is sorted by the first of them alone */
    size_t begin = 0;
    mldf_status status = MLDF_OK;
    bucket->batch_count = 0;
    for (size_t i = 0; i <= count && status >= 0; i++) {
        uint64_t samples = i - begin;
        struct plan_length next = i < count ? entries[i].length : (struct plan_length){{0}};
        longest = mldfi_length_most(longest, next);
        bool whole = i < count && samples > 0 &&
                     (span->budget ? over_budget(bucket, samples + 1, longest) : samples == span->batch);
        whole = whole || (i == count && !span->budget && samples == span->batch);
        if (whole || (i == count && samples > 0)) {
            status = mldfi_array_reserve(&bucket->cuts, &bucket->cut_capacity, bucket->batch_count + 2,
                                         sizeof *bucket->cuts, err);
            if (status < 0)
                break;
            bucket->cuts[bucket->batch_count++] = begin;
            bucket->cuts[bucket->batch_count] = i;
            bucket->full = bucket->batch_count - !whole;
            begin = i;
            longest = next;
        }
    }
    return status;
}

/* Puts the whole batches into a random turn, the leftover last: positions and cuts are written anew. */
static mldf_status shuffle(const mldf_loader *loader, struct bucket *bucket, const struct entry *entries,
                           mldf_error *err) {
    struct rng rng;
    size_t batches = bucket->batch_count, at = 0;
    size_t *turn = mldfi_alloc_zero(2 * batches + 2, sizeof *turn, err), *cuts = turn + batches + 1;
    if (!turn)
        return MLDF_E_MEMORY;
    memcpy(cuts, bucket->cuts, (batches + 1) * sizeof *cuts);
    for (size_t i = 0; i < batches; i++)
        turn[i] = i;
    mldfi_rng_begin(&rng, loader->options.seed, loader->series.epoch, bucket->span.begin, loader->bucket_stream);
    for (size_t i = bucket->full; i > 1; i--) {
        size_t other = (size_t)mldfi_rng_below(&rng, i), kept = turn[i - 1];
        turn[i - 1] = turn[other];
        turn[other] = kept;
    }
    for (size_t i = 0; i < batches; i++) {
        bucket->cuts[i] = at;
        for (size_t k = cuts[turn[i]]; k < cuts[turn[i] + 1]; k++)
            bucket->positions[at++] = entries[k].position;
    }
    bucket->cuts[batches] = at;
    free(turn);
    return MLDF_OK;
}

static mldf_status reserve(struct bucket *bucket, size_t count, mldf_error *err) {
    if (count <= bucket->capacity)
        return MLDF_OK;
    free(bucket->positions);
    bucket->capacity = 0;
    if (!(bucket->positions = mldfi_alloc_zero(count, sizeof *bucket->positions, err)))
        return MLDF_E_MEMORY;
    bucket->capacity = count;
    return MLDF_OK;
}

/* The lengths of a window, some at a time; MLDF_AGAIN: the caller's time has passed. */
static mldf_status measure_window(struct worker *worker, mldf_error *err) {
    mldf_loader *loader = worker->loader;
    struct bucket *bucket = &loader->series.bucket;
    mldf_status status = MLDF_OK;
    while (bucket->measured < bucket->span.end && status >= 0) {
        struct bucket_span some = {.begin = bucket->measured, .end = bucket->span.end};
        if (worker->until > 0 && some.end - some.begin > COUNT_SOME)
            some.end = some.begin + COUNT_SOME;
        struct entry *entries = (struct entry *)bucket->entries + (some.begin - bucket->span.begin);
        status = measure(worker, loader->series.epoch, &some, true, entries, err);
        bucket->measured = some.end;
        if (status >= 0 && some.end < bucket->span.end && mldfi_time() >= worker->until)
            return MLDF_AGAIN;
    }
    return status;
}

static mldf_status plan_window(struct worker *worker, mldf_error *err) {
    mldf_loader *loader = worker->loader;
    struct bucket *bucket = &loader->series.bucket;
    size_t count = (size_t)(bucket->span.end - bucket->span.begin);
    mldf_status status = MLDF_OK;
    if (loader->options.curriculum) {
        bucket->next = 0;
        return mldfi_curriculum_plan(loader, err);
    }
    if (!bucket->entries) {
        bucket->measured = bucket->span.begin;
        bucket->entries = mldfi_alloc_zero(count, sizeof(struct entry), err);
        status = bucket->entries ? reserve(bucket, count, err) : MLDF_E_MEMORY;
    }
    if (status >= 0)
        status = measure_window(worker, err);
    if (status == MLDF_AGAIN)
        return status;
    struct entry *entries = bucket->entries;
    bucket->entries = NULL;
    if (status >= 0) {
        qsort(entries, count, sizeof *entries, by_length);
        status = cut(bucket, entries, count, err);
    }
    if (status >= 0)
        status = shuffle(loader, bucket, entries, err);
    free(entries);
    bucket->next = 0;
    if (status < 0)
        bucket->batch_count = 0;
    return status;
}

/* ---- Going along --------------------------------------------------------------------------------------------------------------- */

/* The window that holds `at`, planned with the options of now; or the one that was begun before. */
static mldf_status enter(struct worker *worker, uint64_t at, mldf_error *err) {
    mldf_loader *loader = worker->loader;
    struct bucket *bucket = &loader->series.bucket;
    const mldf_loader_options *o = &loader->options;
    /* From a saved state, or its plan is half made. */
    bool begun = bucket->entries || (bucket->span.begin < at && at < bucket->span.end);
    if (!begun) {
        uint64_t end = (at / bucket->window + 1) * bucket->window, begin = at / bucket->window * bucket->window;
        if (bucket->span.end == at && at != 0)
            begin = at; /* behind a window of another size */
        bucket->span = (struct bucket_span){begin, end < loader->count ? end : loader->count, mldfi_global_batch(o),
                                            o->budget, o->world_size};
    }
    mldf_status status = plan_window(worker, err);
    /* Batches that were handed out already. */
    while (status == MLDF_OK && bucket->next < bucket->batch_count &&
           bucket->span.begin + bucket->cuts[bucket->next + 1] <= at)
        bucket->next++;
    return status;
}

/* This rank's part of batch [from, to) of the plan. */
static mldf_status fill(mldf_loader *loader, struct job *job, size_t from, size_t to, mldf_error *err) {
    const struct bucket *bucket = &loader->series.bucket;
    const mldf_loader_options *o = &loader->options;
    size_t samples = to - from, shared = samples;
    if (o->last == MLDF_LAST_PAD && !bucket->span.budget)
        shared = (size_t)bucket->span.batch;
    else if (o->last == MLDF_LAST_PAD)
        shared = (samples + o->world_size - 1) / o->world_size * o->world_size;
    size_t each = shared / o->world_size, more = shared % o->world_size;
    size_t first = o->rank * each + (o->rank < more ? o->rank : more), count = each + (o->rank < more);
    bool none = count == 0;
    if (none) {
        first = o->rank % samples;
        count = 1;
    }
    mldf_status status = mldfi_job_reserve(loader, job, count, err);
    for (size_t i = 0; i < count && status >= 0; i++) {
        struct slot *slot = &job->slots[i];
        size_t at = (first + i) % samples;
        uint64_t position = bucket->turn ? bucket->span.begin + from + at : bucket->positions[from + at];
        mldf_place place = {0, 0};
        if (bucket->turn)
            place.sample = mldfi_curriculum_item(loader, at);
        else
            mldfi_order_many(loader->order, job->epoch, position, 1, &place);
        *slot = (struct slot){.ordinal = (uint32_t)i, .valid = !none && first + i < samples};
        status = mldfi_dataset_seat(&loader->dataset, job->epoch, position, &place, &slot->seat, err);
    }
    job->count = status < 0 ? 0 : count;
    return status;
}

mldf_status mldfi_bucket_next(struct worker *worker, struct job *job, mldf_error *err) {
    mldf_loader *loader = worker->loader;
    struct series *series = &loader->series;
    struct bucket *bucket = &series->bucket;
    bool drop = loader->options.last == MLDF_LAST_DROP;
    for (;;) {
        size_t end = drop ? bucket->full : bucket->batch_count;
        if (bucket->batch_count && bucket->next < end)
            break;
        if (bucket->batch_count)
            series->from = bucket->span.end;
        bucket->batch_count = 0;
        if (series->from >= loader->count)
            return MLDF_END;
        mldf_status status = enter(worker, series->from, err);
        if (status != MLDF_OK)
            return status;
        if (bucket->batch_count == 0) /* no length fills a batch, and what does not is left out */
            series->from = bucket->span.end;
    }
    size_t from = bucket->cuts[bucket->next], to = bucket->cuts[bucket->next + 1];
    mldf_status status = fill(loader, job, from, to, err);
    if (status < 0)
        return status;
    bucket->next++;
    job->consumed = bucket->span.begin + to;
    job->span = bucket->span;
    /* What is left out at the end of a window counts as consumed with its last batch. */
    if (drop && bucket->next >= bucket->full)
        job->consumed = bucket->span.end;
    return MLDF_OK;
}

/* ---- Counting ------------------------------------------------------------------------------------------------------------------ */

/* What was counted stays. */
static void free_tools(struct bucket_count *count) {
    if (count->worker)
        mldfi_crew_worker_end(count->worker);
    free(count->worker);
    free(count->entries);
    count->worker = NULL;
    count->entries = NULL;
}

void mldfi_count_end(struct bucket_count *count) {
    free_tools(count);
    *count = (struct bucket_count){0};
}

static mldf_status begin_count(mldf_loader *loader, uint64_t epoch, mldf_error *err) {
    struct bucket_count *count = &loader->counting;
    uint64_t window = loader->series.bucket.window;
    mldfi_count_end(count);
    count->epoch = epoch;
    count->window = window < loader->count ? window : loader->count;
    count->entries = mldfi_alloc_zero((size_t)count->window + 1, sizeof(struct entry), err);
    count->worker = mldfi_alloc_zero(1, sizeof *count->worker, err); /* the others may be at work */
    count->begun = true;
    return count->entries && count->worker ? mldfi_crew_worker_begin(loader, count->worker, err) : MLDF_E_MEMORY;
}

/* The window that ends here is planned once more, and forgotten. */
static mldf_status count_window(mldf_loader *loader, uint64_t begin, mldf_error *err) {
    struct bucket_count *count = &loader->counting;
    const mldf_loader_options *o = &loader->options;
    const struct bucket *plan = &loader->series.bucket;
    struct bucket bucket = {.window = plan->window, .output = plan->output, .of = plan->of, .inner = plan->inner};
    bucket.span = (struct bucket_span){begin, count->at, mldfi_global_batch(o), o->budget, o->world_size};
    qsort(count->entries, (size_t)(count->at - begin), sizeof(struct entry), by_length);
    mldf_status status = cut(&bucket, count->entries, (size_t)(count->at - begin), err);
    count->batches += o->last == MLDF_LAST_DROP ? bucket.full : bucket.batch_count;
    free(bucket.cuts);
    return status;
}

static mldf_status count_some(mldf_loader *loader, mldf_error *err) {
    struct bucket_count *count = &loader->counting;
    uint64_t begin = count->at / count->window * count->window;
    uint64_t end = loader->count - begin < count->window ? loader->count : begin + count->window;
    struct bucket_span some = {.begin = count->at, .end = end - count->at < COUNT_SOME ? end : count->at + COUNT_SOME};
    mldf_status status =
        measure(count->worker, count->epoch, &some, false, (struct entry *)count->entries + (count->at - begin), err);
    count->at = some.end;
    return status >= 0 && count->at == end ? count_window(loader, begin, err) : status;
}

static bool is_cancelled(mldf_loader *loader) {
    pthread_mutex_lock(&loader->lock);
    bool cancelled = loader->cancelled;
    pthread_mutex_unlock(&loader->lock);
    return cancelled;
}

mldf_status mldfi_bucket_count(mldf_loader *loader, uint64_t epoch, double deadline, uint64_t *out, mldf_error *err) {
    struct bucket_count *count = &loader->counting;
    mldf_status status = MLDF_OK;
    if (loader->options.curriculum) {
        struct bucket_span span = {.budget = loader->options.budget, .ranks = loader->options.world_size};
        *out = mldfi_curriculum_count(loader, &span);
        return MLDF_OK;
    }
    if (!count->begun || count->epoch != epoch)
        status = begin_count(loader, epoch, err);
    while (status >= 0 && count->at < loader->count) {
        if (is_cancelled(loader))
            return mldfi_fail(err, MLDF_E_CANCELLED, "the loader was cancelled");
        status = count_some(loader, err);
        if (status >= 0 && count->at < loader->count && deadline >= 0 && mldfi_time() >= deadline)
            return MLDF_AGAIN;
    }
    if (status < 0) {
        mldfi_count_end(count);
        return status;
    }
    free_tools(count);
    *out = count->batches;
    return MLDF_OK;
}
