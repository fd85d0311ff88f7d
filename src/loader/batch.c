/* The arrays of a batch: which there are (from the plan's outputs, once), where they lie in the batch's one block (at multiples of 64), and
 * where each sample goes in them. A sample's results are written there and nowhere else, so any thread may do any of them. */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "format/names.h"
#include "loader/loader.h"
#include "os/memory.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

/* ---- Which arrays there are --------------------------------------------------------------------------------------------------- */

/* Names are made twice: once to count their bytes (pool->names NULL), once for good. */
struct naming {
    struct batch_pool *pool;
    size_t bytes, count;
};

static struct array_plan *add_array(struct naming *naming, enum array_kind kind, const char *name, const char *suffix,
                                    mldf_dtype dtype) {
    size_t name_bytes = strlen(name), suffix_bytes = strlen(suffix);
    struct array_plan *array = naming->pool->arrays ? &naming->pool->arrays[naming->count] : NULL;
    if (array) {
        char *at = naming->pool->names + naming->bytes;
        memcpy(at, name, name_bytes);
        memcpy(at + name_bytes, suffix, suffix_bytes + 1);
        array->name = at;
        array->kind = kind;
        array->dtype = dtype;
        array->inner = 1;
    }
    naming->bytes += name_bytes + suffix_bytes + 1;
    naming->count++;
    return array;
}

/* What a sample has however long it is. */
static mldf_status take_inner(struct array_plan *array, const struct plan_output *output, mldf_error *err) {
    const struct edge *edge = &output->edge;
    for (uint32_t i = 0; i < edge->ndim; i++) {
        if (mldfi_length_at(output, i) < PLAN_LENGTHS)
            continue;
        if (edge->dims[i] < 0)
            return mldfi_fail(
                err, MLDF_E_TYPE,
                "output %s: dimension %u differs from sample to sample; resize, crop, pad or ragged make a "
                "batch of it",
                array->name, i);
        if (!mldfi_mul_u64(array->inner, (uint64_t)edge->dims[i], &array->inner))
            return mldfi_fail(err, MLDF_E_LIMIT, "output %s is too large", array->name);
    }
    return MLDF_OK;
}

/* One more array that comes with an output. */
static void add_companion(struct naming *naming, enum array_kind kind, const struct plan_output *output, size_t index,
                          const char *suffix, mldf_dtype dtype) {
    struct array_plan *array = add_array(naming, kind, output->name, suffix, dtype);
    if (!array)
        return;
    array->output = index;
    array->of = output;
}

/* When the frames of a clip are shown. */
static void add_clip_times(struct naming *naming, const struct plan_output *output, size_t index) {
    static const struct {
        enum array_kind kind;
        const char *suffix;
    } times[] = {{ARRAY_CLIP_PTS, ".pts"}, {ARRAY_CLIP_START, ".start"}, {ARRAY_CLIP_END, ".end"}};
    for (size_t i = output->clips.frames ? 0 : 1; i < 3; i++) {
        struct array_plan *array = add_array(naming, times[i].kind, output->clips.base, times[i].suffix, MLDF_F64);
        if (!array)
            continue;
        array->output = index;
        array->of = output;
    }
}

static mldf_status add_output(struct naming *naming, const struct plan_output *output, size_t index, bool samples,
                              mldf_error *err) {
    static const enum array_kind kinds[] = {ARRAY_FIXED, ARRAY_PAD, ARRAY_RAGGED};
    const struct edge *edge = &output->edge;
    struct array_plan *array = add_array(naming, kinds[output->collate], output->name, "", edge->dtype);
    if (output->collate == COLLATE_PAD) {
        add_companion(naming, ARRAY_LENGTH, output, index, "_length", MLDF_I64);
        if (output->mask)
            add_companion(naming, ARRAY_MASK, output, index, "_mask", MLDF_BOOL);
    } else if (output->collate == COLLATE_RAGGED) {
        add_companion(naming, ARRAY_OFFSET, output, index, "_offset", MLDF_I64);
    }
    if (samples && output->waves && output->collate != COLLATE_FIXED)
        add_companion(naming, ARRAY_SAMPLES, output, index, "_samples", MLDF_I64);
    if (output->clips.sound)
        add_companion(naming, ARRAY_CLIP_SOUND, output, index, "_valid", MLDF_I64);
    else if (output->clips.frames)
        add_companion(naming, ARRAY_CLIP_VALID, output, index, "_valid", MLDF_BOOL);
    else if (output->valid)
        add_companion(naming, ARRAY_FILLED, output, index, "_valid", MLDF_BOOL);
    if (output->clips.times)
        add_clip_times(naming, output, index);
    if (!array)
        return MLDF_OK;
    array->output = index;
    array->of = output;
    naming->pool->has_runs = naming->pool->has_runs || output->run.each;
    if (output->collate != COLLATE_FIXED && edge->ndim == 0)
        return mldfi_fail(err, MLDF_E_TYPE, "output %s is one number: it has no length to pad", output->name);
    return take_inner(array, output, err);
}

static mldf_status add_all(struct naming *naming, const struct plan *plan, const mldf_loader_options *want,
                           mldf_error *err) {
    mldf_status status = MLDF_OK;
    naming->bytes = naming->count = 0;
    for (size_t i = 0; i < mldfi_plan_output_count(plan) && status >= 0; i++)
        status = add_output(naming, mldfi_plan_output(plan, i), i, want->want_samples, err);
    if (want->want_index)
        add_array(naming, ARRAY_INDEX, "index", "", MLDF_U64);
    if (want->want_row)
        add_array(naming, ARRAY_ROW, "row", "", MLDF_U64);
    if (want->want_valid)
        add_array(naming, ARRAY_VALID, "valid", "", MLDF_BOOL);
    return status;
}

static const char *array_name(const void *owner, size_t ordinal) {
    return ((const struct batch_pool *)owner)->arrays[ordinal].name;
}

static mldf_status check_names(const struct batch_pool *pool, mldf_error *err) {
    struct name_index names = {0};
    mldf_status status = MLDF_OK;
    for (size_t i = 0; i < pool->array_count && status == MLDF_OK; i++) {
        const char *name = pool->arrays[i].name;
        if (mldfi_names_find(&names, name, array_name, pool) != SIZE_MAX)
            status = mldfi_fail(err, MLDF_E_ARGUMENT, "two outputs would have the name %s: rename one (new = %s: ...)",
                                name, name);
        else
            status = mldfi_names_add(&names, name, array_name, pool, err);
    }
    mldfi_names_free(&names);
    return status;
}

mldf_status mldfi_batch_pool_new(const struct plan *plan, const mldf_loader_options *want, const mldf_memory_hook *hook,
                                 size_t idle_most, struct batch_pool **out, mldf_error *err) {
    struct batch_pool *pool = mldfi_alloc_zero(1, sizeof *pool, err);
    struct naming naming = {pool, 0, 0};
    if (!pool)
        return MLDF_E_MEMORY;
    pthread_mutex_init(&pool->lock, NULL);
    mldfi_fork_guard_begin(&pool->guard);
    if (hook)
        pool->hook = *hook;
    pool->idle_most = idle_most;
    mldf_status status = add_all(&naming, plan, want, err);
    if (status >= 0 && !((pool->names = mldfi_alloc(naming.bytes + 1, err)) &&
                         (pool->arrays = mldfi_alloc_zero(naming.count + 1, sizeof *pool->arrays, err))))
        status = MLDF_E_MEMORY;
    pool->array_count = naming.count;
    if (status >= 0)
        status = add_all(&naming, plan, want, err);
    for (size_t i = 0; status >= 0 && i < pool->array_count; i++)
        pool->extras = pool->extras || (pool->arrays[i].kind > ARRAY_RAGGED && pool->arrays[i].kind != ARRAY_OFFSET);
    if (status >= 0)
        status = check_names(pool, err);
    if (status < 0) {
        mldfi_batch_pool_close(pool);
        return status;
    }
    *out = pool;
    return MLDF_OK;
}

/* ---- Where they lie ------------------------------------------------------------------------------------------------------------- */

static bool is_padded(const struct array_plan *plan) {
    return plan->kind == ARRAY_PAD || plan->kind == ARRAY_MASK;
}

/* What every sample of a padded output is filled up to. */
static struct plan_length batch_room(const struct array_plan *plan, size_t samples, const struct plan_length *lengths,
                                     size_t outputs) {
    struct plan_length most = {{0}};
    if (mldfi_length_open(plan->of))
        for (size_t i = 0; i < samples; i++)
            most = mldfi_length_most(most, lengths[i * outputs + plan->output]);
    return mldfi_length_room(plan->of, most);
}

/* Dims of a sample; false: their product is too large. */
static bool shape_sample(const struct array_plan *plan, const struct plan_length *room, mldf_array *array,
                         uint64_t *count) {
    bool values = plan->kind <= ARRAY_RAGGED;
    uint32_t at = 1;
    for (uint32_t i = 0; (values || plan->kind == ARRAY_MASK) && i < plan->of->edge.ndim; i++) {
        uint32_t length = mldfi_length_at(plan->of, i);
        if (length < PLAN_LENGTHS && plan->kind != ARRAY_RAGGED)
            array->dims[at++] = room->n[length];
        else if (length == PLAN_LENGTHS && values)
            array->dims[at++] = (uint64_t)plan->of->edge.dims[i];
    }
    if (plan->kind == ARRAY_LENGTH && plan->of->length_count > 1)
        array->dims[at++] = plan->of->length_count;
    if (plan->kind >= ARRAY_CLIP_VALID && plan->kind <= ARRAY_CLIP_SOUND) {
        if (plan->of->clips.count > 1)
            array->dims[at++] = plan->of->clips.count;
        if (plan->kind <= ARRAY_CLIP_PTS)
            array->dims[at++] = plan->of->clips.frames;
    }
    array->ndim = at;
    *count = 1;
    for (uint32_t i = 1; i < at; i++)
        if (!mldfi_mul_u64(*count, array->dims[i], count))
            return false;
    return true;
}

static bool is_run(const struct array_plan *plan) {
    return plan->kind == ARRAY_FIXED && plan->of->run.each;
}

/* dims and rows of one array; false: too large. */
static bool shape_array(const struct array_plan *plan, size_t samples, const struct plan_length *lengths,
                        size_t outputs, mldf_array *array, size_t *row) {
    uint64_t item = mldf_dtype_bytes(plan->dtype), first = samples, bytes, each;
    struct plan_length room = {{0}};
    array->name = plan->name;
    array->dtype = plan->dtype;
    if (plan->kind == ARRAY_RAGGED) {
        first = 0;
        for (size_t i = 0; i < samples; i++)
            if (!mldfi_add_u64(first, lengths[i * outputs + plan->output].n[0], &first))
                return false;
    } else if (plan->kind == ARRAY_OFFSET) {
        first = samples + 1;
    } else if (is_padded(plan)) {
        room = batch_room(plan, samples, lengths, outputs);
    }
    array->dims[0] = first;
    if (!shape_sample(plan, &room, array, &each))
        return false;
    if (!mldfi_mul_u64(each, item, &each) || !mldfi_mul_u64(each, first, &bytes) || bytes > SIZE_MAX / 4)
        return false;
    array->bytes = (size_t)bytes;
    if (is_run(plan)) { /* and the end */
        array->bytes += item;
        array->dims[0] = array->bytes / item;
        array->ndim = 1;
    }
    *row = plan->kind == ARRAY_RAGGED || plan->kind == ARRAY_OFFSET ? 0 : (size_t)each;
    return true;
}

static mldf_status too_large(const char *name, size_t samples, mldf_error *err) {
    return mldfi_fail(err, MLDF_E_LIMIT, "a batch of %zu samples of output %s does not fit into memory", samples, name);
}

/* How often `inner` is there in a sample, as far as that is known. */
static uint64_t fixed_count(const struct array_plan *plan) {
    return is_padded(plan) && !mldfi_length_open(plan->of) ? mldfi_length_count(plan->of, plan->of->length) : 1;
}

mldf_status mldfi_batch_pool_check(const struct batch_pool *pool, uint64_t samples, mldf_error *err) {
    uint64_t each = sizeof(struct slot), total, have = mldfi_memory_bytes();
    bool fits = true;
    for (size_t i = 0; i < pool->array_count && fits; i++) {
        const struct array_plan *plan = &pool->arrays[i];
        uint64_t bytes = mldf_dtype_bytes(plan->dtype);
        if (plan->kind == ARRAY_RAGGED)
            continue;
        fits = mldfi_mul_u64(bytes, plan->inner, &bytes) && mldfi_mul_u64(bytes, fixed_count(plan), &bytes) &&
               mldfi_add_u64(each, bytes, &each);
    }
    if (!fits || !mldfi_mul_u64(each, samples, &total))
        total = UINT64_MAX;
    if (have == 0 || total <= have)
        return MLDF_OK;
    return mldfi_fail(
        err, MLDF_E_LIMIT, "a batch of %llu samples takes %llu MB at least, and this machine has %llu: smaller batches",
        (unsigned long long)samples, (unsigned long long)(total / 1000000), (unsigned long long)(have / 1000000));
}

/* Bytes of the whole batch. */
static mldf_status block_bytes(const struct batch_pool *pool, size_t samples, const struct plan_length *lengths,
                               size_t outputs, size_t *out, mldf_error *err) {
    uint64_t total = 0;
    for (size_t i = 0; i < pool->array_count; i++) {
        mldf_array array;
        size_t row;
        if (!shape_array(&pool->arrays[i], samples, lengths, outputs, &array, &row) ||
            !mldfi_add_u64(total, mldfi_align_up(array.bytes, 64), &total) || total > SIZE_MAX / 4)
            return too_large(pool->arrays[i].name, samples, err);
    }
    *out = (size_t)total;
    return MLDF_OK;
}

static void set_offsets(const struct array_plan *plan, size_t samples, const struct plan_length *lengths,
                        size_t outputs, mldf_array *array) {
    int64_t *offsets = array->data, sum = 0;
    for (size_t i = 0; i < samples; i++) {
        offsets[i] = sum;
        sum += (int64_t)lengths[i * outputs + plan->output].n[0];
    }
    offsets[samples] = sum;
}

mldf_status mldfi_batch_new(struct batch_pool *pool, size_t samples, const struct plan_length *lengths, size_t outputs,
                            mldf_batch **out, mldf_error *err) {
    size_t bytes = 0, at = 0;
    mldf_batch *batch;
    mldf_status status = block_bytes(pool, samples, lengths, outputs, &bytes, err);
    if (status >= 0)
        status = mldfi_batch_pool_get(pool, bytes, &batch, err);
    if (status < 0)
        return status;
    batch->samples = samples;
    for (size_t i = 0; i < pool->array_count; i++) {
        mldf_array *array = &batch->arrays[i];
        (void)shape_array(&pool->arrays[i], samples, lengths, outputs, array, &batch->rows[i]);
        array->data = batch->memory + at;
        at += (size_t)mldfi_align_up(array->bytes, 64);
        if (pool->arrays[i].kind == ARRAY_OFFSET)
            set_offsets(&pool->arrays[i], samples, lengths, outputs, array);
        if (is_run(&pool->arrays[i]) && samples == 0)
            *(int32_t *)array->data = 0;
    }
    *out = batch;
    return MLDF_OK;
}

/* ---- One sample in them ------------------------------------------------------------------------------------------------------------ */

static struct plan_length target_room(const struct array_plan *plan, const mldf_array *array) {
    struct plan_length room = {{0}};
    for (uint32_t i = 0; i < plan->of->length_count; i++)
        room.n[i] = array->dims[1 + plan->of->length_dims[i]];
    return room;
}

void mldfi_batch_targets(const mldf_batch *batch, size_t row, const struct plan_length *lengths,
                         struct plan_target *targets) {
    const struct batch_pool *pool = batch->pool;
    for (size_t i = 0; i < pool->array_count; i++) {
        const struct array_plan *plan = &pool->arrays[i];
        const mldf_array *array = &batch->arrays[i];
        struct plan_target *target = &targets[plan->output];
        if (plan->kind == ARRAY_FIXED) {
            target->data = (uint8_t *)array->data + row * batch->rows[i];
        } else if (plan->kind == ARRAY_PAD) {
            target->data = (uint8_t *)array->data + row * batch->rows[i];
            target->room = target_room(plan, array);
        } else if (plan->kind == ARRAY_RAGGED) {
            /* its offsets are the next array */
            const int64_t *offsets = batch->arrays[i + 1].data;
            size_t step = (size_t)plan->inner * mldf_dtype_bytes(plan->dtype);
            target->data = (uint8_t *)array->data + (size_t)offsets[row] * step;
            target->room = lengths[plan->output];
        }
    }
}

static void set_length(const struct array_plan *plan, uint8_t *at, const struct plan_length *length) {
    for (uint32_t i = 0; i < plan->of->length_count; i++)
        mldfi_store_u64(at + 8 * i, length->n[i]);
}

static void set_run(bool *mask, size_t room, uint64_t length) {
    size_t set = length < room ? (size_t)length : room;
    memset(mask, 1, set);
    memset(mask + set, 0, room - set);
}

/* Runs along the last length: true up to it where all before are inside. */
static void set_mask(const struct array_plan *plan, const mldf_array *array, bool *mask,
                     const struct plan_length *length) {
    uint32_t last = plan->of->length_count - 1;
    size_t runs = 1, room = (size_t)array->dims[1 + last];
    for (uint32_t i = 0; i < last; i++)
        runs *= (size_t)array->dims[1 + i];
    for (size_t run = 0; run < runs; run++) {
        size_t rest = run;
        bool inside = true;
        for (uint32_t i = last; i-- > 0; rest /= (size_t)array->dims[1 + i])
            inside = inside && rest % (size_t)array->dims[1 + i] < length->n[i];
        set_run(mask + run * room, room, inside ? length->n[last] : 0);
    }
}

static void set_clips(const struct array_plan *plan, uint8_t *at, size_t bytes, struct clip_notes notes) {
    const void *from = plan->kind == ARRAY_CLIP_VALID   ? (const void *)notes.valid
                       : plan->kind == ARRAY_CLIP_PTS   ? (const void *)notes.pts
                       : plan->kind == ARRAY_CLIP_START ? (const void *)notes.start
                       : plan->kind == ARRAY_CLIP_SOUND ? (const void *)notes.samples
                                                        : (const void *)notes.end;
    memcpy(at, from, bytes);
}

void mldfi_batch_extras(const mldf_batch *batch, size_t row, const struct plan_length *lengths,
                        const struct sample_numbers *numbers, const struct plan_worker *worker, unsigned side) {
    const struct batch_pool *pool = batch->pool;
    for (size_t i = 0; i < pool->array_count; i++) {
        const struct array_plan *plan = &pool->arrays[i];
        uint8_t *at = (uint8_t *)batch->arrays[i].data + row * batch->rows[i];
        if (plan->kind == ARRAY_LENGTH)
            set_length(plan, at, &lengths[plan->output]);
        else if (plan->kind == ARRAY_MASK)
            set_mask(plan, &batch->arrays[i], (bool *)at, &lengths[plan->output]);
        else if (plan->kind == ARRAY_SAMPLES)
            mldfi_store_u64(at, lengths[plan->output].n[PLAN_SAMPLES]);
        else if (plan->kind >= ARRAY_CLIP_VALID && plan->kind <= ARRAY_CLIP_SOUND)
            set_clips(plan, at, batch->rows[i], mldfi_worker_clips(worker, side, plan->output));
        else if (plan->kind == ARRAY_FILLED)
            *(bool *)at = !mldfi_worker_filled(worker, side, plan->output);
        else if (plan->kind == ARRAY_INDEX)
            mldfi_store_u64(at, numbers->index);
        else if (plan->kind == ARRAY_ROW)
            mldfi_store_u64(at, numbers->row);
        else if (plan->kind == ARRAY_VALID)
            *(bool *)at = numbers->valid;
    }
}

void mldfi_batch_finish_runs(mldf_batch *batch) {
    for (size_t i = 0; i < batch->pool->array_count; i++) {
        const struct array_plan *plan = &batch->pool->arrays[i];
        mldf_array *array = &batch->arrays[i];
        size_t count;
        if (!is_run(plan))
            continue;
        struct item_run run = {plan->of->run.each, plan->of->run.own, plan->of->run.ragged};
        mldfi_item_run_finish(&run, array->data, batch->samples, (size_t)plan->inner, &count);
        array->dims[0] = count;
        array->bytes = count * sizeof(int32_t);
    }
}

void mldfi_batch_compact(mldf_batch *batch, const bool *keep) {
    size_t kept = 0;
    for (size_t i = 0; i < batch->samples; i++)
        kept += keep[i];
    for (size_t a = 0; a < batch->pool->array_count; a++) {
        mldf_array *array = &batch->arrays[a];
        size_t row = batch->rows[a], to = 0;
        for (size_t from = 0; from < batch->samples; from++) {
            if (!keep[from])
                continue;
            if (to != from)
                memcpy((uint8_t *)array->data + to * row, (uint8_t *)array->data + from * row, row);
            to++;
        }
        array->dims[0] = kept;
        array->bytes = kept * row;
    }
    batch->samples = kept;
}

/* ---- For the user ----------------------------------------------------------------------------------------------------------------- */

size_t mldf_batch_sample_count(const mldf_batch *batch) {
    return batch->samples;
}

size_t mldf_batch_array_count(const mldf_batch *batch) {
    return batch->pool->array_count;
}

mldf_status mldf_batch_array(const mldf_batch *batch, size_t index, mldf_array *out) {
    if (index >= batch->pool->array_count)
        return MLDF_END;
    *out = batch->arrays[index];
    return MLDF_OK;
}

void mldf_batch_place(const mldf_batch *batch, uint64_t *epoch, uint64_t *ordinal, uint64_t *consumed) {
    if (epoch)
        *epoch = batch->epoch;
    if (ordinal)
        *ordinal = batch->ordinal;
    if (consumed)
        *consumed = batch->consumed;
}

/* Each array is hashed by itself, then the hashes, so that equal bytes with other borders differ. */
void mldf_batch_hash(const mldf_batch *batch, uint8_t digest[16]) {
    XXH128_canonical_t sum = {{0}};
    uint8_t both[2 * sizeof sum.digest];
    for (size_t i = 0; i < batch->pool->array_count; i++) {
        memcpy(both, sum.digest, sizeof sum.digest);
        XXH128_canonicalFromHash(&sum, XXH3_128bits(batch->arrays[i].data, batch->arrays[i].bytes));
        memcpy(both + sizeof sum.digest, sum.digest, sizeof sum.digest);
        XXH128_canonicalFromHash(&sum, XXH3_128bits(both, sizeof both));
    }
    memcpy(digest, sum.digest, sizeof sum.digest);
}
