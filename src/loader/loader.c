/* Making and ending a loader: options are checked, the pipeline is compiled for the files, the order is made, threads are started. Whatever
 * is wrong with any of them is told by mldf_loader_new. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "field/type.h"
#include "items/steps.h"
#include "loader/loader.h"
#include "mldf/image.h"
#include "os/file.h"
#include "os/thread.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"
#include "util/options.h"
#include "util/random.h"

mldf_status mldfi_loader_check(const mldf_loader *loader, const char *what, mldf_error *err) {
    if (!loader)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "%s without a loader", what);
    if (mldfi_fork_guard_is_ours(&loader->pool->guard))
        return MLDF_OK;
    return mldfi_fail(
        err, MLDF_E_STATE,
        "%s: this loader belongs to the process that was forked: its threads are not here; make a new one", what);
}

/* ---- Options ------------------------------------------------------------------------------------------------------------------------- */

#define BUDGET_SECONDS_MAX 1e12

static mldf_status check_options(mldf_loader_options *o, mldf_error *err) {
    if (o->world_size == 0 || o->rank >= o->world_size)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "rank %u of %u", o->rank, o->world_size);
    if (!o->batch_size && !o->global_batch_size)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "batch_size and global_batch_size are both 0");
    if (o->batch_size > LOADER_MAX_BATCH || o->global_batch_size > LOADER_MAX_BATCH * o->world_size)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "batches of more than 2^31 samples");
    if (o->global_batch_size && o->global_batch_size < o->world_size)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "a global batch of %llu on %u ranks leaves some without",
                          (unsigned long long)o->global_batch_size, o->world_size);
    if ((unsigned)o->last > MLDF_LAST_PAD || (unsigned)o->bad > MLDF_BAD_SUBSTITUTE ||
        (unsigned)o->codegen > MLDF_CODEGEN_WAIT)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "last, bad or codegen has a value that does not exist");
    if (o->threads < -1)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "%d threads", o->threads);
    if (o->budget && o->budget_seconds != 0)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "budget and budget_seconds: give one of them");
    if (!(o->budget_seconds >= 0 && o->budget_seconds <= BUDGET_SECONDS_MAX))
        return mldfi_fail(err, MLDF_E_ARGUMENT, "a budget of %g seconds", o->budget_seconds);
    if ((unsigned)o->curriculum > MLDF_CURRICULUM_GROW_P2)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "a curriculum that does not exist");
    if (o->curriculum) {
        o->bucket_window = 1; /* the epoch, when its length is known */
        o->cycles = o->cycles ? o->cycles : 8;
    }
    if ((o->budget || o->budget_seconds > 0 || o->bucket_output) && !o->bucket_window)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "buckets need bucket_window: how many positions are sorted together");
    if (o->memory && (!o->memory->alloc || !o->memory->free))
        return mldfi_fail(err, MLDF_E_ARGUMENT, "a memory hook needs both functions");
    return MLDF_OK;
}

/* ---- The order ------------------------------------------------------------------------------------------------------------------------ */

/* Mean bytes of a sample, or of an item, as it is stored, for the blocks of the quasi-random order; 0: not known. */
static uint64_t sample_bytes(const struct dataset *dataset) {
    uint64_t bytes = 0, samples = mldfi_dataset_count(dataset);
    for (size_t r = 0; r < dataset->count; r++) {
        const mldf_reader *reader = dataset->readers[r];
        uint64_t sum = 0;
        mldf_field_stats stats = MLDF_FIELD_STATS_INIT;
        if (mldf_reader_payload_bytes(reader, &sum, NULL) != MLDF_OK) {
            sum = 0;
            for (size_t f = 0; f < reader->schema->field_count; f++)
                if (mldf_reader_stats(reader, f, &stats, NULL) == MLDF_OK)
                    sum += stats.stored_bytes;
        }
        bytes += sum;
    }
    uint64_t mean = samples ? bytes / samples : 0;
    return mean == 0 && bytes && dataset->view ? 1 : mean; /* windows that overlap: less than a byte of its own */
}

static mldf_status make_order(mldf_loader *loader, mldf_error *err) {
    const mldf_loader_options *o = &loader->options;
    mldf_order_options want = MLDF_ORDER_OPTIONS_INIT;
    if (o->own_order) {
        loader->order = o->own_order;
    } else {
        want.kind = o->order;
        want.seed = o->seed;
        want.block = o->block;
        want.window = o->window;
        if (want.kind == MLDF_ORDER_QUASI_RANDOM && !want.block)
            want.sample_bytes = sample_bytes(&loader->dataset);
        TRY(mldf_order_new(mldfi_dataset_count(&loader->dataset), &want, &loader->made, err));
        loader->order = loader->made;
    }
    loader->count = mldf_order_count(loader->order);
    return mldfi_dataset_order(&loader->dataset, loader->order, o->own_order != NULL, err);
}

/* ---- The plan ------------------------------------------------------------------------------------------------------------------------- */

/* The smallest limit that a reader was opened with; 0: none. */
static uint64_t decoded_limit(const struct dataset *dataset) {
    uint64_t least = 0;
    for (size_t i = 0; i < dataset->count; i++) {
        uint64_t limit = mldf_reader_max_decoded(dataset->readers[i]);
        if (limit && (least == 0 || limit < least))
            least = limit;
    }
    return least;
}

/* plan_options.cut */
static void cut_edge(void *user, size_t field, struct edge *edge) {
    const struct dataset *dataset = user;
    size_t window = dataset->view->steps && field < dataset->own_fields
                        ? mldfi_steps_find(dataset->view, mldf_schema_field(dataset->schema, field)->name)
                        : SIZE_MAX;
    if (window != SIZE_MAX)
        mldfi_steps_edge(dataset->view, window, edge);
    else if (field == dataset->cut)
        dataset->view->map->edge(dataset->view, edge);
    else if (dataset->elements && dataset->elements[field])
        mldfi_item_element_edge(edge);
}

/* plan_options.is_default, plan_options.run */
static bool made_default(void *user, size_t field) {
    const struct dataset *dataset = user;
    return mldfi_item_is_default(dataset->view, field);
}

static void made_run(void *user, size_t field, struct plan_run *out) {
    const struct dataset *dataset = user;
    struct item_run run;
    mldfi_item_run(dataset->view, field, &run);
    *out = (struct plan_run){run.each, run.own, run.ragged};
}

static mldf_status compile(mldf_loader *loader, mldf_error *err) {
    const mldf_loader_options *o = &loader->options;
    const char *text = o->pipeline ? o->pipeline : "";
    const mldf_schema *schema = loader->dataset.schema;
    struct plan_options want = {.context = o->context,
                                .exact = o->exact,
                                .reference = o->reference,
                                .isa = o->isa,
                                .codegen = (int)o->codegen,
                                .seed = o->seed,
                                .max_bytes = decoded_limit(&loader->dataset),
                                .cut = loader->dataset.view ? cut_edge : NULL,
                                .cut_user = &loader->dataset};
    if (loader->dataset.made_by_view) {
        want.is_default = made_default;
        want.run = made_run;
    }
    mldf_pipeline *decode;
    mldf_status status = mldfi_decode_options_parse(o->context, o->decode, &decode, err);
    want.decode = decode;
    if (status >= 0)
        status = mldf_pipeline_parse(o->context, text, strlen(text), &loader->pipeline, err);
    if (status < 0) {
        mldf_pipeline_free(decode);
        return status;
    }
    struct value_bounds *bounds = mldfi_alloc_zero(mldf_schema_field_count(schema) + 1, sizeof *bounds, err);
    status = bounds ? mldfi_bounds_gather(&loader->dataset, loader->pipeline, bounds, err) : MLDF_E_MEMORY;
    if (status >= 0)
        status = mldfi_plan_new(loader->pipeline, schema, bounds, &want, &loader->plan, err);
    free(bounds);
    mldf_pipeline_free(decode);
    if (status < 0)
        return status;
    loader->outputs = mldfi_plan_output_count(loader->plan);
    loader->pairs = mldfi_plan_pairs(loader->plan);
    for (size_t i = 0; i < loader->outputs; i++) {
        const struct plan_output *output = mldfi_plan_output(loader->plan, i);
        loader->measures = loader->measures || output->collate != COLLATE_FIXED;
        loader->two_phase = loader->two_phase || mldfi_length_open(output);
    }
    size_t count;
    const size_t *used = mldfi_plan_fields(loader->plan, &count);
    return mldfi_dataset_bind(&loader->dataset, used, count, err);
}

static mldf_status no_bucket_output(const mldf_loader *loader, const char *name, mldf_error *err) {
    struct suggestion near = {name, NULL, 0};
    for (size_t i = 0; i < loader->outputs; i++)
        if (mldfi_plan_output(loader->plan, i)->collate != COLLATE_FIXED)
            mldfi_suggest(&near, mldfi_plan_output(loader->plan, i)->name);
    return near.best ? mldfi_fail(err, MLDF_E_ARGUMENT, "no output %.63s to sort by; did you mean %s?", name, near.best)
                     : mldfi_fail(err, MLDF_E_ARGUMENT, "no output %.63s to sort by", name);
}

/* Seconds as elements of the bucket's output, which is what batches are cut by and states remember. */
static mldf_status settle_budget(mldf_loader *loader, mldf_error *err) {
    const struct bucket *bucket = &loader->series.bucket;
    const struct plan_output *output = bucket->of;
    double seconds = loader->options.budget_seconds;
    struct ratio rate = output->edge.rate;
    if (seconds == 0)
        return MLDF_OK;
    if (!rate.den || output->length_count != 1)
        return mldfi_fail(
            err, MLDF_E_ARGUMENT,
            "a budget of %g seconds: output %s has no time axis of a known rate; give the budget in elements", seconds,
            output->name);
    /* Not less than one step: a batch has a sample at least. A rounding error must not make 300 s of 100 frames 29,999. */
    double steps = floor(seconds * (double)rate.num / (double)rate.den * (1 + 0x1p-50));
    uint64_t budget;
    if (steps >= 0x1p62 || !mldfi_mul_u64(steps < 1 ? 1 : (uint64_t)steps, bucket->inner, &budget))
        return mldfi_fail(err, MLDF_E_LIMIT, "a budget of %g seconds of output %s is too large", seconds, output->name);
    loader->options.budget = budget;
    return MLDF_OK;
}

static mldf_status find_bucket_output(mldf_loader *loader, mldf_error *err) {
    const char *name = loader->options.bucket_output;
    struct bucket *bucket = &loader->series.bucket;
    if (!loader->options.bucket_window)
        return MLDF_OK;
    for (size_t i = 0; i < loader->outputs; i++) {
        const struct plan_output *output = mldfi_plan_output(loader->plan, i);
        if (name ? strcmp(name, output->name) != 0 : output->collate == COLLATE_FIXED)
            continue;
        if (output->collate == COLLATE_FIXED)
            return mldfi_fail(err, MLDF_E_ARGUMENT, "output %s has one length: there is nothing to sort by", name);
        bucket->output = i;
        bucket->of = output;
        bucket->window = loader->options.bucket_window;
        bucket->inner = 1;
        for (uint32_t d = 0; d < output->edge.ndim; d++)
            if (mldfi_length_at(output, d) == PLAN_LENGTHS)
                bucket->inner *= output->edge.dims[d] > 0 ? (uint64_t)output->edge.dims[d] : 1;
        return settle_budget(loader, err);
    }
    return name ? no_bucket_output(loader, name, err)
                : mldfi_fail(err, MLDF_E_ARGUMENT, "buckets need an output that is padded or ragged");
}

/* Samples of a batch of this rank, at most. */
static uint64_t largest_batch(const mldf_loader *loader) {
    const mldf_loader_options *o = &loader->options;
    uint64_t global = mldfi_global_batch(o), each = global / o->world_size + (global % o->world_size != 0);
    if (o->budget && loader->series.bucket.window)
        each = 1; /* the budget says */
    return loader->count && (o->last == MLDF_LAST_PAD || each < loader->count) ? each : loader->count;
}

/* A run's numbers are i32. */
static mldf_status check_runs(const mldf_loader *loader, mldf_error *err) {
    uint64_t samples = largest_batch(loader);
    for (size_t i = 0; i < loader->outputs; i++) {
        const struct plan_output *output = mldfi_plan_output(loader->plan, i);
        if (output->run.each && samples > (uint64_t)(INT32_MAX - 1) / output->run.each)
            return mldfi_fail(
                err, MLDF_E_LIMIT,
                "output %s: a batch of %llu samples of %llu tokens each has 2^31 or more: smaller batches",
                output->name, (unsigned long long)samples, (unsigned long long)output->run.each);
    }
    return MLDF_OK;
}

/* ---- New and free ---------------------------------------------------------------------------------------------------------------------- */

static mldf_status build(mldf_loader *loader, const mldf_reader *const *readers, size_t reader_count, mldf_error *err) {
    const mldf_loader_options *o = &loader->options;
    mldf_status status = mldfi_dataset_begin(&loader->dataset, readers, reader_count, err);
    if (status >= 0)
        status = mldfi_dataset_view(&loader->dataset, o->view, o->seed, err);
    if (status >= 0)
        status = mldfi_direct_begin(loader, err);
    if (status >= 0)
        status = make_order(loader, err);
    if (status >= 0)
        status = compile(loader, err);
    if (status >= 0)
        status = mldfi_curriculum_check(loader, err);
    if (status >= 0)
        status = find_bucket_output(loader, err);
    if (status >= 0 && o->curriculum)
        loader->series.bucket.window = loader->count ? loader->count : 1;
    if (status >= 0)
        status = mldfi_identity_new(&loader->identity, err);
    if (status >= 0)
        status = mldfi_batch_pool_new(loader->plan, o, o->memory, 4, &loader->pool, err);
    if (status >= 0)
        status = mldfi_batch_pool_check(loader->pool, largest_batch(loader), err);
    if (status >= 0)
        status = check_runs(loader, err);
    if (status >= 0)
        status = mldfi_crew_new(loader, err);
    return status;
}

static void destroy(mldf_loader *loader) {
    mldfi_crew_free(loader);
    mldfi_prefetch_end(loader);
    mldfi_count_end(&loader->counting);
    mldfi_series_free(&loader->series);
    mldfi_batch_pool_close(loader->pool);
    mldfi_plan_free(loader->plan);
    mldf_pipeline_free(loader->pipeline);
    mldf_order_free(loader->made);
    mldfi_direct_end(loader);
    mldfi_dataset_free(&loader->dataset);
    mldfi_identity_free(loader->identity);
    pthread_cond_destroy(&loader->work);
    pthread_cond_destroy(&loader->ready);
    pthread_cond_destroy(&loader->quiet);
    pthread_mutex_destroy(&loader->lock);
    free(loader->ledger);
    free(loader->bucket_name);
    free(loader);
}

mldf_status mldf_loader_new(const mldf_reader *const *readers, size_t reader_count, const mldf_loader_options *options,
                            mldf_loader **out, mldf_error *err) {
    mldf_loader_options own = MLDF_LOADER_OPTIONS_INIT;
    if (!out)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "a new loader needs a place for it");
    mldf_status status = mldfi_take_options(&own, sizeof own, "mldf_loader_options", options, err);
    if (status == MLDF_OK)
        status = check_options(&own, err);
    if (status < 0)
        return status;
    mldf_loader *loader = mldfi_alloc_zero(1, sizeof *loader, err);
    if (!loader)
        return MLDF_E_MEMORY;
    loader->options = own;
    loader->bad_stream = mldfi_rng_stream("loader/substitute", 17);
    loader->bucket_stream = mldfi_rng_stream("loader/bucket", 13);
    pthread_mutex_init(&loader->lock, NULL);
    pthread_cond_init(&loader->work, NULL);
    mldfi_cond_init(&loader->ready);
    pthread_cond_init(&loader->quiet, NULL);
    status = build(loader, readers, reader_count, err);
    /* What the caller's memory holds may go when this returns. */
    if (status >= 0 && own.bucket_output &&
        !(loader->bucket_name = mldfi_copy_text(own.bucket_output, strlen(own.bucket_output), err)))
        status = MLDF_E_MEMORY;
    loader->options.bucket_output = loader->bucket_name;
    loader->options.pipeline = NULL;
    loader->options.isa = NULL;
    loader->options.memory = NULL;
    if (status < 0) {
        destroy(loader);
        return status;
    }
    *out = loader;
    return MLDF_OK;
}

void mldf_loader_free(mldf_loader *loader) {
    /* In a child of fork neither threads nor locks can be trusted: what the loader holds goes with the process. */
    if (loader && mldfi_fork_guard_is_ours(&loader->pool->guard))
        destroy(loader);
}

/* ---- What it makes ------------------------------------------------------------------------------------------------------------------------ */

const char *mldf_loader_left_out(const mldf_loader *loader, size_t index) {
    const mldf_schema *schema = loader->dataset.schema;
    for (size_t i = 0; i < mldf_schema_field_count(schema); i++)
        if (!mldfi_plan_names(loader->plan, i) && index-- == 0)
            return mldf_schema_field(schema, i)->name;
    return NULL;
}

size_t mldf_loader_output_count(const mldf_loader *loader) {
    return loader->pool->array_count;
}

/* Dims of the output's samples, those that are lengths or those that are not, or both; -1 where pad has left them to the batch. */
static void show_dims(const struct array_plan *array, bool lengths, bool others, mldf_output *out) {
    for (uint32_t i = 0; i < array->of->edge.ndim; i++)
        if (mldfi_length_at(array->of, i) < PLAN_LENGTHS ? lengths : others)
            out->dims[out->ndim++] = array->of->edge.dims[i];
}

mldf_status mldf_loader_output(const mldf_loader *loader, size_t index, mldf_output *out) {
    if (index >= loader->pool->array_count)
        return MLDF_END;
    const struct array_plan *array = &loader->pool->arrays[index];
    *out = (mldf_output){.name = array->name, .dtype = array->dtype};
    if (array->kind == ARRAY_FIXED && array->of->run.each)
        return MLDF_OK; /* one run of numbers for the batch */
    if (array->kind <= ARRAY_RAGGED)
        show_dims(array, array->kind != ARRAY_RAGGED, true, out);
    else if (array->kind == ARRAY_MASK)
        show_dims(array, true, false, out);
    else if (array->kind >= ARRAY_CLIP_VALID && array->kind <= ARRAY_CLIP_SOUND) {
        if (array->of->clips.count > 1)
            out->dims[out->ndim++] = array->of->clips.count;
        if (array->kind <= ARRAY_CLIP_PTS)
            out->dims[out->ndim++] = (int64_t)array->of->clips.frames;
    } else if (array->kind == ARRAY_LENGTH && array->of->length_count > 1)
        out->dims[out->ndim++] = array->of->length_count;
    return MLDF_OK;
}

mldf_status mldf_loader_explain(const mldf_loader *loader, mldf_buffer *out, mldf_error *err) {
    const mldf_view *view = loader->dataset.view;
    if (view) {
        uint64_t rows, without, unmeasured;
        mldf_view_rows(view, &rows, &without, &unmeasured);
        mldf_status status = mldfi_buffer_printf(
            out, err, "view: %s: %llu items of %llu rows; %llu rows give none, %llu are null or cannot be read\n\n",
            mldf_view_text(view), (unsigned long long)mldf_view_count(view), (unsigned long long)rows,
            (unsigned long long)without, (unsigned long long)unmeasured);
        if (status < 0)
            return status;
    }
    return mldfi_plan_explain(loader->plan, out, err);
}

/* Of an epoch of `count` positions. */
static uint64_t batches_of(const mldf_loader *loader, uint64_t count) {
    const mldf_loader_options *o = &loader->options;
    uint64_t global = mldfi_global_batch(o), window = loader->series.bucket.window;
    bool drop = o->last == MLDF_LAST_DROP;
    if (window && o->budget)
        return count; /* each holds at least one sample */
    if (!window)
        window = count ? count : 1;
    uint64_t whole = count / window, rest = count % window;
    return whole * (window / global + (!drop && window % global != 0)) + rest / global + (!drop && rest % global != 0);
}

uint64_t mldf_loader_batch_bound(const mldf_loader *loader) {
    return batches_of(loader, loader->count);
}

mldf_status mldf_loader_batch_count(mldf_loader *loader, uint64_t epoch, int timeout_ms, uint64_t *out,
                                    mldf_error *err) {
    TRY(mldfi_loader_check(loader, "batch_count", err));
    if (!out)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "batch_count needs a place for the number");
    struct kept kept;
    pthread_mutex_lock(&loader->lock);
    mldfi_kept_begin(loader, epoch, 0, &kept);
    pthread_mutex_unlock(&loader->lock);
    *out = batches_of(loader, kept.end);
    if (!loader->series.bucket.window || !loader->options.budget)
        return MLDF_OK;
    return mldfi_bucket_count(loader, epoch, timeout_ms < 0 ? -1 : mldfi_time() + timeout_ms / 1000.0, out, err);
}
