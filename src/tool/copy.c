/* Batches of samples through the ordered pool. See copy.h.
 *
 *     any thread    load (of a stream: the caller), check, decompress, decode; images in the target's form     run_batch
 *     the caller    filter; append to the sink, in order; errors, skipped samples, progress                    fill_batch, take_batch
 */
#include "tool/copy.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/file.h"
#include "reader/reader.h"
#include "tool/derive.h"
#include "util/buffer.h"
#include "util/error.h"

enum {
    BATCH_BYTES =
        256 << 10,      /* of values, about, in one batch: how many samples those are is guessed from the ones before */
    BATCH_SAMPLES = 64, /* at most */
    BATCHES_PER_THREAD = 2,  /* under way */
    STREAM_BYTES = 64 << 20, /* of a stream, under way, before the next batch is read */
    COPY_THREADS_MAX = 1024, /* as the writer has it */
    ROWS_BETWEEN_LOOKS = 64  /* at the clock, where each takes no time */
};

struct batch_sample {
    uint64_t number; /* row of the source */
    struct copy_sample is;
    struct sink_kit kit;
    bool made; /* its arrays */
    mldf_status status;
    mldf_error *err; /* its place in the batch's errors: away from here, so that good samples are close together */
};

struct copy_batch {
    const struct copy *copy;
    const mldf_reader *reader;
    size_t count;
    bool is_read;                 /* of a stream: only what is done with the values is left for the thread */
    uint64_t memory;              /* then */
    struct batch_sample *samples; /* BATCH_SAMPLES */
    mldf_error *errors;           /* of those that are bad */
    struct media_kit media;       /* of the thread that has the batch */
};

/* Samples [first, ...) of the target are [sample, ...) of a source. */
struct copy_run {
    uint64_t first, sample;
    size_t source;
};

/* ---- On any thread ----------------------------------------------------------------------------------------------------------- */

static void load(const struct copy_batch *b, struct batch_sample *s) {
    const struct copy_fields *fields = &b->copy->fields;
    if (!s->made) {
        s->made = true;
        s->status = mldfi_sample_begin(&s->is, fields->count, s->err);
        if (s->status == MLDF_OK && b->copy->sink->ops->prepare)
            s->status = mldfi_sink_kit_begin(&s->kit, fields->count, s->err);
    }
    if (s->status == MLDF_OK)
        s->status = mldfi_sample_load(&s->is, fields, b->reader, s->number, s->err);
}

static void prepare(struct copy_batch *b, struct batch_sample *s) {
    const struct sample_sink *sink = b->copy->sink;
    if (!sink->ops->prepare)
        return;
    if (s->status == MLDF_OK)
        s->status = sink->ops->prepare(sink, &s->kit, &b->media, s->is.values, s->err);
    mldfi_kit_trim(&b->media);
}

static void run_batch(void *worker, void *slot) {
    (void)worker;
    struct copy_batch *b = slot;
    for (size_t i = 0; i < b->count; i++) {
        struct batch_sample *s = &b->samples[i];
        if (!b->is_read && s->status == MLDF_OK)
            load(b, s);
        prepare(b, s);
        if (s->status < 0 && !b->copy->skip)
            b->count = i + 1; /* nobody will look at the rest */
    }
}

/* ---- Where samples come from ------------------------------------------------------------------------------------------------- */

/* The next sample of the target is this row of the source in hand. */
static mldf_status note_place(struct copy *c, uint64_t sample, mldf_error *err) {
    size_t source = c->name_count - 1;
    if (c->run_count) {
        const struct copy_run *last = &c->runs[c->run_count - 1];
        if (last->source == source && last->sample + (c->appended - last->first) == sample)
            return MLDF_OK;
        if (last->first == c->appended)
            c->run_count--; /* its only sample was left out */
    }
    mldf_status status = mldfi_array_reserve(&c->runs, &c->run_capacity, c->run_count + 1, sizeof *c->runs, err);
    if (status >= 0)
        c->runs[c->run_count++] = (struct copy_run){c->appended, sample, source};
    return status;
}

static bool find_place(const struct copy *c, uint64_t appended, size_t *source, uint64_t *sample) {
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

/* Of two samples with one key the writer gives its own numbers, not those of the sources. */
static void say_whose_numbers(mldf_error *err) {
    if (err->status == MLDF_E_KEY)
        mldfi_error_prefix(err, "counted in the new file");
}

void mldfi_copy_place(struct copy *c, mldf_error *err) {
    uint64_t sample;
    if (!err || err->sample == MLDF_NONE || !find_place(c, err->sample, &c->blamed, &sample))
        return;
    err->sample = sample;
    say_whose_numbers(err);
    mldfi_error_path(err, c->names[c->blamed]);
}

/* ---- Skipped samples ----------------------------------------------------------------------------------------------------------- */

static void tell_skip(struct copy *c, size_t source, uint64_t sample, const char *key, size_t key_bytes,
                      const char *message) {
    char place[600];
    mldf_skip skip = {place, message};
    c->skipped++;
    if (key)
        snprintf(place, sizeof place, "%.300s: %.*s", c->names[source], (int)(key_bytes < 200 ? key_bytes : 200), key);
    else
        snprintf(place, sizeof place, "%.300s: sample %" PRIu64, c->names[source], sample);
    if (c->tell_skip)
        c->tell_skip(c->tell_user, &skip);
}

void mldfi_copy_skipped(void *copy, uint64_t appended, const mldf_error *why) {
    struct copy *c = copy;
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    mldf_error named = *why;
    say_whose_numbers(&named);
    const char *key = NULL;
    uint64_t sample = appended;
    size_t source = 0, key_bytes = 0;
    (void)find_place(c, appended, &source, &sample);
    if (named.field[0])
        mldfi_error_prefix(&named, "field %s", named.field);
    named.sample = MLDF_NONE; /* the place has it */
    /* The reader is still there: before it is closed, the sink has settled. */
    if (c->fields.keys && c->reader && mldf_reader_key(c->reader, sample, &scratch, &key, &key_bytes, NULL) < 0)
        key = NULL;
    tell_skip(c, source, sample, key, key_bytes, MLDF_ERROR_TEXT(&named));
    mldf_buffer_free(&scratch);
}

/* A sample that cannot be read or has no place in the target. The sink is asked first whether an earlier one is bad: it comes first, in the
 * list as in an error. */
static mldf_status refuse(struct copy *c, const struct batch_sample *s, mldf_error *why, bool fatal, mldf_error *err) {
    mldf_error earlier;
    bool ends =
        why->status == MLDF_E_MEMORY || why->status == MLDF_E_CANCELLED || why->status == MLDF_E_CHANGED || fatal;
    mldf_status settled = ends || !c->sink->ops->settle ? MLDF_OK : c->sink->ops->settle(c->sink, &earlier);
    if (settled < 0) {
        mldfi_copy_place(c, &earlier);
        if (err)
            *err = earlier;
        return settled;
    }
    if (c->skip && !ends) {
        tell_skip(c, c->name_count - 1, s->number, s->is.key, s->is.key_bytes, MLDF_ERROR_TEXT(why));
        return MLDF_OK;
    }
    if (!ends)
        why->sample = s->number;
    mldfi_error_path(why, c->names[c->name_count - 1]);
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

static mldf_status take_sample(struct copy *c, struct batch_sample *s, mldf_error *err) {
    mldf_error why;
    c->watch->now.bytes_done += s->is.bytes;
    c->watch->now.samples_done++;
    c->memory += s->is.memory;
    c->loaded++;
    if (s->status < 0)
        return refuse(c, s, s->err, false, err);
    TRY(note_place(c, s->number, err));
    mldf_status status = c->sink->ops->append(c->sink, &s->kit, s->is.values, s->is.key, s->is.key_bytes, &why);
    if (status == MLDF_END)
        tell_skip(c, c->name_count - 1, s->number, s->is.key, s->is.key_bytes,
                  "nothing in it has a place in this format");
    if (status == MLDF_OK)
        c->appended++;
    if (status >= 0)
        return status;
    /* The writer counts the samples of its file, and may speak of an earlier one; the others mean this one. */
    if (c->sink->ops->settle && why.sample != MLDF_NONE) {
        mldfi_copy_place(c, &why);
        if (err)
            *err = why;
        return status;
    }
    return refuse(c, s, &why, is_fatal(status), err);
}

/* Buffers that one large sample needed. */
static void give_back(const struct copy *c, struct batch_sample *s) {
    mldfi_sample_trim(&s->is, c->fields.count);
    if (s->kit.rooms)
        mldfi_sink_kit_trim(&s->kit);
}

static mldf_status take_batch(struct copy *c, struct copy_batch *b, mldf_error *err) {
    mldf_status status = MLDF_OK;
    for (size_t i = 0; i < b->count && status >= 0; i++) {
        status = take_sample(c, &b->samples[i], err);
        give_back(c, &b->samples[i]);
    }
    return status < 0 ? status : mldfi_watch(c->watch, false, err);
}

static size_t batch_size(const struct copy *c) {
    if (c->loaded < 16)
        return 1;
    uint64_t wanted = BATCH_BYTES / (c->memory / c->loaded + 1);
    return wanted < 1 ? 1 : wanted > BATCH_SAMPLES ? BATCH_SAMPLES : (size_t)wanted;
}

/* The place in the rows that are asked for. */
struct cursor {
    const struct copy_rows *rows;
    size_t range;
    uint64_t next;
    uint64_t unwanted;
};

static void cursor_at(struct cursor *at, size_t range) {
    at->range = range;
    if (range < at->rows->count)
        at->next = at->rows->ranges[range].begin;
}

static bool next_row(struct cursor *at, uint64_t *out) {
    while (at->range < at->rows->count && at->next >= at->rows->ranges[at->range].end)
        cursor_at(at, at->range + 1);
    if (at->range >= at->rows->count)
        return false;
    *out = at->next++;
    return true;
}

/* The next row into *s; MLDF_END: there is none. *wanted: it is not to be left out. */
static inline mldf_status choose(struct cursor *at, struct batch_sample *s, mldf_error *why, bool *wanted) {
    *wanted = true;
    if (!next_row(at, &s->number))
        return MLDF_END;
    s->status = MLDF_OK;
    s->err = why;
    if (at->rows->wanted) {
        s->is.bytes = s->is.memory = 0;
        s->is.key = NULL;
        s->status = at->rows->wanted(at->rows->user, s->number, wanted, why);
        *wanted = *wanted || s->status < 0;
    }
    return MLDF_OK;
}

/* As many rows as make a batch; none when there are no more. A stream gives its samples in order: they are read here, fewer when they are
 * large. < 0 only when cancelled. */
static mldf_status fill_batch(struct copy *c, struct copy_batch *b, struct cursor *at, mldf_error *err) {
    size_t size = batch_size(c);
    bool wanted, failed = false;
    mldf_status status = MLDF_OK;
    b->reader = c->reader;
    b->is_read = c->reader->foreign.in_order;
    b->memory = 0;
    for (b->count = 0; b->count < size && b->memory < BATCH_BYTES && !failed && status >= 0;) {
        struct batch_sample *s = &b->samples[b->count];
        if (choose(at, s, &b->errors[b->count], &wanted) == MLDF_END)
            break;
        if (!wanted) {
            if (++at->unwanted % ROWS_BETWEEN_LOOKS == 0)
                status = mldfi_watch(c->watch, false, err);
            continue;
        }
        if (s->status == MLDF_OK && b->is_read) {
            load(b, s);
            b->memory += s->is.memory;
        }
        failed = s->status < 0 && !c->skip;
        b->count++;
    }
    if (failed)
        cursor_at(at, at->rows->count); /* the error ends it all */
    return status;
}

/* Without threads: one sample after the other, in the same place. */
static mldf_status run_alone(struct copy *c, struct cursor *at, mldf_error *err) {
    struct copy_batch *b = c->batches;
    struct batch_sample *s = b->samples;
    mldf_status status = MLDF_OK;
    bool wanted;
    b->reader = c->reader;
    for (uint64_t rows = 0; status >= 0 && choose(at, s, b->errors, &wanted) == MLDF_OK; rows++) {
        if (wanted) {
            if (s->status == MLDF_OK)
                load(b, s);
            prepare(b, s);
            status = take_sample(c, s, err);
            give_back(c, s);
        }
        if (status >= 0 && rows % ROWS_BETWEEN_LOOKS == 0)
            status = mldfi_watch(c->watch, false, err);
    }
    return status;
}

static mldf_status run(struct copy *c, const struct copy_rows *rows, mldf_error *err) {
    struct cursor at = {.rows = rows};
    struct copy_batch *b;
    mldf_status status = MLDF_OK;
    uint64_t under_way = 0;
    cursor_at(&at, 0);
    if (!c->pool)
        return run_alone(c, &at, err);
    while (status >= 0) {
        while (under_way < STREAM_BYTES && (b = mldfi_pool_slot(c->pool)) != NULL) {
            status = fill_batch(c, b, &at, err);
            if (status < 0)
                return status;
            if (b->count == 0)
                break;
            under_way += b->memory;
            mldfi_pool_submit(c->pool);
        }
        if (!(b = mldfi_pool_oldest(c->pool)))
            break;
        under_way -= b->memory;
        status = take_batch(c, b, err);
        mldfi_pool_release(c->pool);
    }
    return status;
}

mldf_status mldfi_copy_rows(struct copy *c, const struct copy_rows *rows, mldf_error *err) {
    mldf_status status = run(c, rows, err);
    if (status >= 0 && c->skip && c->sink->ops->settle && (status = c->sink->ops->settle(c->sink, err)) < 0)
        mldfi_copy_place(c, err);
    while (c->pool && mldfi_pool_oldest(c->pool)) /* after a failure: the reader is in use until all are done */
        mldfi_pool_release(c->pool);
    return status;
}

mldf_status mldfi_copy_all(struct copy *c, mldf_error *err) {
    mldf_sample_range all = {0, mldf_reader_sample_count(c->reader)};
    return mldfi_copy_rows(c, &(struct copy_rows){.ranges = &all, .count = 1}, err);
}

mldf_status mldfi_copy_from_matched(struct copy *c, const mldf_reader *reader, const char *name, mldf_error *err) {
    TRY(mldfi_array_reserve(&c->names, &c->name_capacity, c->name_count + 1, sizeof *c->names, err));
    c->names[c->name_count++] = name;
    c->reader = reader;
    return MLDF_OK;
}

mldf_status mldfi_copy_from(struct copy *c, const mldf_reader *reader, const char *name, mldf_error *err) {
    mldf_status status = mldfi_fields_match(&c->fields, mldf_reader_schema(reader), err);
    return status < 0 ? status : mldfi_copy_from_matched(c, reader, name, err);
}

/* ---- Beginning and end ----------------------------------------------------------------------------------------------------------- */

mldf_status mldfi_copy_begin(struct copy *c, const mldf_schema *schema, mldf_error *err) {
    int threads = c->threads < 0 ? mldfi_cpu_count() : c->threads;
    if (threads > COPY_THREADS_MAX)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "%d threads; at most %d are possible", threads, COPY_THREADS_MAX);
    mldf_status status = mldfi_fields_begin(&c->fields, schema, err);
    c->batch_count = threads ? (size_t)threads * BATCHES_PER_THREAD + 1 : 1;
    c->batches = mldfi_alloc_zero(c->batch_count, sizeof *c->batches, err);
    if (status < 0 || !c->batches)
        return MLDF_E_MEMORY;
    for (size_t i = 0; i < c->batch_count; i++) {
        c->batches[i].copy = c;
        c->batches[i].samples = mldfi_alloc_zero(BATCH_SAMPLES, sizeof *c->batches[i].samples, err);
        c->batches[i].errors = mldfi_alloc_zero(BATCH_SAMPLES, sizeof *c->batches[i].errors, err);
        if (!c->batches[i].samples || !c->batches[i].errors)
            return MLDF_E_MEMORY;
    }
    if (threads == 0)
        return MLDF_OK;
    struct pool_work work = {
        .run = run_batch, .slots = c->batches, .slot_count = c->batch_count, .slot_bytes = sizeof *c->batches};
    return mldfi_pool_new(&c->pool, (unsigned)threads, &work, err);
}

mldf_status mldfi_copy_begin_one(struct copy *c, const mldf_reader *reader, const mldf_schema *schema,
                                 struct input_watch *watch, mldf_error *err) {
    c->watch = watch;
    c->fields.stored = true;
    c->fields.keys = mldf_reader_has_keys(reader);
    mldf_status status = mldfi_copy_begin(c, schema, err);
    return status < 0 ? status : mldfi_copy_from(c, reader, NULL, err);
}

mldf_status mldfi_copy_finish(struct copy *c, mldf_writer *writer, mldf_status status, mldf_pack_result *result,
                              mldf_error *err) {
    if (status < 0)
        return mldfi_end_output(writer, status, result, err);
    status = mldfi_end_output(writer, status, result, err);
    if (status < 0)
        mldfi_copy_place(c, err);
    return status;
}

void mldfi_copy_end(struct copy *c) {
    mldfi_pool_free(c->pool);
    for (size_t i = 0; c->batches && i < c->batch_count; i++) {
        struct copy_batch *b = &c->batches[i];
        for (size_t k = 0; b->samples && k < BATCH_SAMPLES; k++) {
            mldfi_sample_end(&b->samples[k].is, c->fields.count);
            mldfi_sink_kit_end(&b->samples[k].kit);
        }
        mldfi_kit_free(&b->media);
        free(b->samples);
        free(b->errors);
    }
    mldfi_fields_end(&c->fields);
    free(c->batches);
    free(c->names);
    free(c->runs);
}
