/* Batches of samples through the ordered pool. See convert_batch.h.
 *
 *     any thread    read (a stream: the caller), check, decompress, decode; images in the target's form     run_batch
 *     the caller    append to the sink, in order; errors, skipped samples, progress    take_batch
 */
#include "tool/convert_batch.h"
#include "tool/plan_tokens.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/file.h"
#include "reader/reader.h"
#include "tool/recode.h"
#include "util/buffer.h"
#include "util/error.h"

enum {
    BATCH_BYTES =
        256 << 10,      /* of values, about, in one batch: how many samples those are is guessed from the ones before */
    BATCH_SAMPLES = 64, /* at most */
    BATCHES_PER_THREAD = 2,    /* under way */
    STREAM_BYTES = 64 << 20,   /* of a stream, under way, before the next batch is read */
    SCRATCH_KEEP = 4 << 20,    /* a larger buffer goes back after use */
    CONVERT_THREADS_MAX = 1024 /* as the writer has it */
};

struct convert_sample {
    mldf_value *values;
    mldf_buffer *scratch; /* one for each field */
    mldf_buffer key_scratch;
    const char *key;
    size_t key_bytes;
    struct sink_kit kit;
    mldf_status status;
    mldf_error err;
};

struct convert_batch {
    const struct convert *convert;
    const mldf_reader *reader;
    uint64_t first; /* sample of the source */
    size_t count;
    bool is_read;                   /* of a stream: only what is done with the values is left for the thread */
    uint64_t bytes;                 /* then */
    struct convert_sample *samples; /* BATCH_SAMPLES, of which `made` have their arrays */
    size_t made;
    struct media_kit media; /* of the thread that has the batch */
};

/* ---- On any thread ----------------------------------------------------------------------------------------------------------- */

static mldf_status make_sample(struct convert_sample *s, size_t fields, mldf_error *err) {
    s->values = mldfi_alloc_zero(fields + 1, sizeof *s->values, err);
    s->scratch = mldfi_alloc_zero(fields + 1, sizeof *s->scratch, err);
    return s->values && s->scratch ? mldfi_sink_kit_begin(&s->kit, fields, err) : MLDF_E_MEMORY;
}

static mldf_status get_value(const struct convert *c, const struct convert_batch *b, struct convert_sample *s,
                             uint64_t sample, size_t i, mldf_error *err) {
    mldf_value *value = &s->values[i];
    if (c->from[i] == SIZE_MAX) {
        memset(value, 0, sizeof *value);
        return MLDF_OK;
    }
    /* A type that is not known here can only be copied; a sink that leaves it out does not look. */
    if (!c->sink->stored && mldf_schema_field(c->schema, i)->known)
        return mldf_reader_get(b->reader, sample, c->from[i], &s->scratch[i], value, err);
    mldf_status status = mldf_reader_get_stored(b->reader, sample, c->from[i], &s->scratch[i], value, err);
    /* JSON of no bytes is how a 1.0 file says that there is no value. */
    if (status == MLDF_OK && value->bytes == 0 && mldf_schema_field(c->schema, i)->type_id == MLDF_JSON)
        value->kind = MLDF_KIND_NULL;
    if (status == MLDF_OK && c->options.encode)
        status = mldfi_recode_value(c->options.encode, b->reader, sample, c->from[i], &s->scratch[i], value, err);
    return status;
}

static mldf_status read_sample(const struct convert_batch *b, struct convert_sample *s, uint64_t sample,
                               mldf_error *err) {
    const struct convert *c = b->convert;
    mldf_status status = MLDF_OK;
    s->key = NULL;
    s->key_bytes = 0;
    if (c->sources.keys)
        status = mldf_reader_key(b->reader, sample, &s->key_scratch, &s->key, &s->key_bytes, err);
    for (size_t i = 0; status == MLDF_OK && i < c->count; i++)
        status = get_value(c, b, s, sample, i, err);
    return status;
}

/* Sample i of the batch into its place. */
static void read_one(struct convert_batch *b, size_t i) {
    struct convert_sample *s = &b->samples[i];
    s->status = MLDF_OK;
    if (i == b->made) {
        s->status = make_sample(s, b->convert->count, &s->err);
        b->made++;
    }
    if (s->status == MLDF_OK)
        s->status = read_sample(b, s, b->first + i, &s->err);
}

static void run_batch(void *worker, void *slot) {
    (void)worker;
    struct convert_batch *b = slot;
    const struct sample_sink *sink = b->convert->sink;
    for (size_t i = 0; i < b->count; i++) {
        struct convert_sample *s = &b->samples[i];
        if (!b->is_read)
            read_one(b, i);
        if (s->status == MLDF_OK && sink->ops->prepare)
            s->status = sink->ops->prepare(sink, &s->kit, &b->media, s->values, &s->err);
        if (s->status < 0 && !b->convert->options.skip_bad_samples)
            b->count = i + 1; /* nobody will look at the rest */
        mldfi_kit_trim(&b->media);
    }
}

/* A stream gives its samples in order: the caller's thread takes them from it. As many as were wished for, fewer when they are large. */
static void read_batch(struct convert_batch *b) {
    bool failed = false;
    size_t i = 0;
    b->is_read = true;
    b->bytes = 0;
    for (; i < b->count && b->bytes < BATCH_BYTES && !failed; i++) {
        const struct convert_sample *s = &b->samples[i];
        read_one(b, i);
        for (size_t k = 0; s->status == MLDF_OK && k < b->convert->count; k++)
            b->bytes += s->values[k].bytes;
        failed = s->status < 0 && !b->convert->options.skip_bad_samples;
    }
    b->count = i;
}

/* ---- Where samples come from ------------------------------------------------------------------------------------------------- */

/* The next sample of the target is this one. */
static mldf_status note_place(struct convert *c, size_t source, uint64_t sample, mldf_error *err) {
    if (c->run_count) {
        const struct convert_run *last = &c->runs[c->run_count - 1];
        if (last->source == source && last->sample + (c->appended - last->first) == sample)
            return MLDF_OK;
        if (last->first == c->appended)
            c->run_count--; /* its only sample was left out */
    }
    mldf_status status = mldfi_array_reserve(&c->runs, &c->run_capacity, c->run_count + 1, sizeof *c->runs, err);
    if (status >= 0)
        c->runs[c->run_count++] = (struct convert_run){c->appended, sample, source};
    return status;
}

static bool find_place(const struct convert *c, uint64_t appended, size_t *source, uint64_t *sample) {
    size_t low = 0, high = c->run_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (c->runs[middle].first <= appended)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return false;
    *source = c->runs[low - 1].source;
    *sample = c->runs[low - 1].sample + (appended - c->runs[low - 1].first);
    return true;
}

void mldfi_convert_place(const struct convert *c, mldf_error *err) {
    uint64_t sample;
    size_t source;
    if (!err || err->sample == MLDF_NONE || !find_place(c, err->sample, &source, &sample))
        return;
    err->sample = sample;
    mldfi_error_path(err, c->sources.list[source].name);
}

/* ---- Skipped samples ----------------------------------------------------------------------------------------------------------- */

static void tell_skip(struct convert *c, size_t source, uint64_t sample, const char *key, size_t key_bytes,
                      const char *message) {
    char place[600];
    const char *path = c->sources.list[source].name;
    mldf_skip skip = {place, message};
    c->skipped++;
    if (key)
        snprintf(place, sizeof place, "%.300s: %.*s", path, (int)(key_bytes < 200 ? key_bytes : 200), key);
    else
        snprintf(place, sizeof place, "%.300s: sample %" PRIu64, path, sample);
    if (c->options.skip)
        c->options.skip(c->options.skip_user, &skip);
}

void mldfi_convert_skipped(void *convert, uint64_t appended, const mldf_error *why) {
    struct convert *c = convert;
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    mldf_error named = *why;
    const char *key = NULL;
    uint64_t sample = appended;
    size_t source = 0, key_bytes = 0;
    (void)find_place(c, appended, &source, &sample);
    if (named.field[0])
        mldfi_error_prefix(&named, "field %s", named.field);
    named.sample = MLDF_NONE; /* the place has it */
    /* The reader is still there: before it is closed, the sink has settled. */
    const mldf_reader *reader = c->sources.list[source].reader;
    if (c->sources.keys && reader && mldf_reader_key(reader, sample, &scratch, &key, &key_bytes, NULL) < 0)
        key = NULL;
    tell_skip(c, source, sample, key, key_bytes, MLDF_ERROR_TEXT(&named));
    mldf_buffer_free(&scratch);
}

/* A sample that cannot be read or has no place in the target. The sink is asked first whether an earlier one is bad: it comes first, in the
 * list as in an error. */
static mldf_status refuse(struct convert *c, size_t source, const struct convert_sample *s, uint64_t sample,
                          mldf_error *why, bool fatal, mldf_error *err) {
    mldf_error earlier;
    bool ends =
        why->status == MLDF_E_MEMORY || why->status == MLDF_E_CANCELLED || why->status == MLDF_E_CHANGED || fatal;
    mldf_status settled = ends || !c->sink->ops->settle ? MLDF_OK : c->sink->ops->settle(c->sink, &earlier);
    if (settled < 0) {
        mldfi_convert_place(c, &earlier);
        if (err)
            *err = earlier;
        return settled;
    }
    if (c->options.skip_bad_samples && !ends) {
        tell_skip(c, source, sample, s->key, s->key_bytes, MLDF_ERROR_TEXT(why));
        return MLDF_OK;
    }
    if (!ends)
        why->sample = sample;
    mldfi_error_path(why, c->sources.list[source].name);
    if (err)
        *err = *why;
    return why->status;
}

/* ---- On the caller's thread ---------------------------------------------------------------------------------------------------- */

/* What went wrong with the target's file, not with the sample. */
static bool is_fatal(mldf_status status) {
    return status == MLDF_E_STATE ||
           (status <= MLDF_E_IO && status >= MLDF_E_KEY_WRONG && status != MLDF_E_UNSUPPORTED);
}

static mldf_status take_sample(struct convert *c, size_t source, struct convert_sample *s, uint64_t sample,
                               mldf_error *err) {
    mldf_error why;
    for (size_t i = 0; s->status == MLDF_OK && i < c->count; i++)
        c->watch.now.bytes_done += s->values[i].bytes;
    c->watch.now.samples_done++;
    if (s->status < 0)
        return refuse(c, source, s, sample, &s->err, false, err);
    mldf_status status = note_place(c, source, sample, err);
    if (status < 0)
        return status;
    status = c->sink->ops->append(c->sink, &s->kit, s->values, s->key, s->key_bytes, &why);
    if (status == MLDF_END)
        tell_skip(c, source, sample, s->key, s->key_bytes, "nothing in it has a place in this format");
    if (status == MLDF_OK)
        c->appended++;
    if (status >= 0)
        return status;
    /* The writer counts the samples of its file, and may speak of an earlier one; the others mean this one. */
    if (c->sink->ops->settle && why.sample != MLDF_NONE) {
        mldfi_convert_place(c, &why);
        if (err)
            *err = why;
        return status;
    }
    return refuse(c, source, s, sample, &why, is_fatal(status), err);
}

static void trim(struct convert *c, struct convert_sample *s) {
    for (size_t i = 0; i < c->count; i++)
        if (s->scratch && s->scratch[i].capacity > SCRATCH_KEEP)
            mldf_buffer_free(&s->scratch[i]);
    if (s->kit.rooms)
        mldfi_sink_kit_trim(&s->kit);
}

static mldf_status take_batch(struct convert *c, size_t source, struct convert_batch *b, mldf_error *err) {
    mldf_status status = MLDF_OK;
    for (size_t i = 0; i < b->count && status >= 0; i++) {
        status = take_sample(c, source, &b->samples[i], b->first + i, err);
        trim(c, &b->samples[i]);
    }
    return status < 0 ? status : mldfi_watch(&c->watch, false, err);
}

static size_t batch_size(const struct convert *c) {
    uint64_t done = c->watch.now.samples_done;
    if (done < 16)
        return 1;
    uint64_t wanted = BATCH_BYTES / (c->watch.now.bytes_done / done + 1);
    return wanted < 1 ? 1 : wanted > BATCH_SAMPLES ? BATCH_SAMPLES : (size_t)wanted;
}

mldf_status mldfi_convert_source(struct convert *c, size_t source, mldf_error *err) {
    mldf_reader *reader;
    struct convert_batch *b;
    mldf_status status = mldfi_sources_reader(&c->sources, source, &reader, err);
    if (status < 0)
        return status;
    mldfi_drop_plans(reader, c->options.writer->context);
    for (size_t i = 0; i < c->count; i++)
        c->from[i] = mldfi_sources_field(&c->sources, reader, c->chosen[i]);
    uint64_t samples = mldf_reader_sample_count(reader), next = 0, under_way = 0;
    while (status >= 0) {
        while (next < samples && under_way < STREAM_BYTES && (b = mldfi_pool_slot(c->pool)) != NULL) {
            size_t size = batch_size(c);
            b->reader = reader;
            b->first = next;
            b->count = size < samples - next ? size : (size_t)(samples - next);
            b->is_read = false;
            b->bytes = 0;
            if (reader->foreign.in_order)
                read_batch(b);
            under_way += b->bytes;
            next += b->count;
            mldfi_pool_submit(c->pool);
        }
        if (!(b = mldfi_pool_oldest(c->pool)))
            break;
        under_way -= b->bytes;
        status = take_batch(c, source, b, err);
        mldfi_pool_release(c->pool);
    }
    if (status >= 0 && c->options.skip_bad_samples && c->sink->ops->settle &&
        (status = c->sink->ops->settle(c->sink, err)) < 0)
        mldfi_convert_place(c, err);
    while (mldfi_pool_oldest(c->pool)) /* after a failure: the reader is in use until all are done */
        mldfi_pool_release(c->pool);
    mldfi_sources_done(&c->sources, source);
    return status;
}

mldf_status mldfi_convert_begin(struct convert *c, mldf_error *err) {
    int threads = c->options.writer->threads < 0 ? mldfi_cpu_count() : c->options.writer->threads;
    if (threads > CONVERT_THREADS_MAX)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "%d threads; at most %d are possible", threads, CONVERT_THREADS_MAX);
    c->from = mldfi_alloc_zero(c->count + 1, sizeof *c->from, err);
    c->batch_count = threads ? (size_t)threads * BATCHES_PER_THREAD + 1 : 1;
    c->batches = mldfi_alloc_zero(c->batch_count, sizeof *c->batches, err);
    if (!c->from || !c->batches)
        return MLDF_E_MEMORY;
    for (size_t i = 0; i < c->batch_count; i++) {
        c->batches[i].convert = c;
        c->batches[i].samples = mldfi_alloc_zero(BATCH_SAMPLES, sizeof *c->batches[i].samples, err);
        if (!c->batches[i].samples)
            return MLDF_E_MEMORY;
    }
    struct pool_work work = {
        .run = run_batch, .slots = c->batches, .slot_count = c->batch_count, .slot_bytes = sizeof *c->batches};
    return mldfi_pool_new(&c->pool, (unsigned)threads, &work, err);
}

static void free_sample(struct convert_sample *s, size_t fields) {
    for (size_t i = 0; s->scratch && i < fields; i++)
        mldf_buffer_free(&s->scratch[i]);
    mldf_buffer_free(&s->key_scratch);
    mldfi_sink_kit_end(&s->kit);
    free(s->values);
    free(s->scratch);
}

void mldfi_convert_end(struct convert *c) {
    mldfi_pool_free(c->pool);
    for (size_t i = 0; c->batches && i < c->batch_count; i++) {
        struct convert_batch *b = &c->batches[i];
        for (size_t k = 0; b->samples && k < b->made; k++)
            free_sample(&b->samples[k], c->count);
        mldfi_kit_free(&b->media);
        free(b->samples);
    }
    free(c->batches);
    free(c->from);
    free(c->runs);
}
