/* A loader whose disk is slow or broken, whose memory runs out, whose user cancels, leaves early or forks. Also what the thread sanitizer
 * runs: many short epochs on few samples. mldf_reader_get is replaced, so that any sample may be slow or fail. */
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "failing_alloc.h"
#include "loader_files.h"
#include "reader/reader.h"

enum { SAMPLES = 64 };
static const struct files_shape shape = {.samples = SAMPLES, .jpeg = true, .tokens = true};
static mldf_reader *reader;

#define IMAGES "image: resize([8, 8]) | chw(u8)\ntokens: drop"
#define LISTS \
    "whole = image: hflip | pad(multiple=8, mask=true)\nimage: random_resized_crop(8) | chw(u8)\ntokens: pad(mask=true)\n" \
    "ends = tokens: ragged"

/* ---- What is replaced ----------------------------------------------------------------------------------------------------------------- */

static atomic_ullong slow_sample, slow_us; /* this sample takes so many microseconds */
static atomic_ullong slow_from;            /* all from this one on, too */
static atomic_bool held;                   /* and waits as long as this is set */
static atomic_long waiting;                /* calls that have come that far */
static atomic_bool seen[SAMPLES];          /* which samples were asked for */
static atomic_ullong broken_every;         /* every so many-th sample: the disk fails */
static atomic_ullong no_memory_at;         /* this sample finds no memory */

mldf_status __real_mldf_reader_get(const mldf_reader *r, uint64_t sample, size_t field, mldf_buffer *scratch,
                                   mldf_value *out, mldf_error *err);
mldf_status __wrap_mldf_reader_get(const mldf_reader *r, uint64_t sample, size_t field, mldf_buffer *scratch,
                                   mldf_value *out, mldf_error *err);
mldf_status __wrap_mldf_reader_get(const mldf_reader *r, uint64_t sample, size_t field, mldf_buffer *scratch,
                                   mldf_value *out, mldf_error *err) {
    if (sample < SAMPLES)
        seen[sample] = true;
    if (slow_sample == MLDF_NONE || slow_sample == sample || sample >= slow_from) {
        atomic_fetch_add(&waiting, 1);
        while (held)
            usleep(500);
        if (slow_us)
            usleep((useconds_t)slow_us);
    }
    if (sample == no_memory_at) {
        if (err) {
            memset(err, 0, sizeof *err);
            err->status = MLDF_E_MEMORY;
        }
        return MLDF_E_MEMORY;
    }
    if (broken_every && sample % broken_every == broken_every - 1) {
        if (err) {
            memset(err, 0, sizeof *err);
            err->status = MLDF_E_IO;
            err->sys_errno = EIO;
            err->sample = sample;
            err->offset = MLDF_NONE;
            snprintf(err->message, sizeof err->message, "the disk is broken");
        }
        return MLDF_E_IO;
    }
    return __real_mldf_reader_get(r, sample, field, scratch, out, err);
}

/* Measuring asks for records: it meets the same troubles. */
mldf_status __wrap_mldfi_reader_get_packed(const mldf_reader *r, uint64_t sample, size_t field, mldf_buffer *scratch,
                                           mldf_value *out, mldf_error *err);
mldf_status __wrap_mldfi_reader_get_packed(const mldf_reader *r, uint64_t sample, size_t field, mldf_buffer *scratch,
                                           mldf_value *out, mldf_error *err) {
    return __wrap_mldf_reader_get(r, sample, field, scratch, out, err);
}

mldf_status __wrap_mldfi_reader_get_direct(const mldf_reader *r, uint64_t sample, const struct schema_field *field,
                                           mldf_buffer *scratch, mldf_value *out, mldf_error *err);
mldf_status __wrap_mldfi_reader_get_direct(const mldf_reader *r, uint64_t sample, const struct schema_field *field,
                                           mldf_buffer *scratch, mldf_value *out, mldf_error *err) {
    return __wrap_mldf_reader_get(r, sample, (size_t)(field - r->schema->fields), scratch, out, err);
}

mldf_status __wrap_mldfi_reader_record(const mldf_reader *r, uint64_t sample, size_t field, mldf_buffer *scratch,
                                       mldf_value *out, mldf_error *err);
mldf_status __wrap_mldfi_reader_record(const mldf_reader *r, uint64_t sample, size_t field, mldf_buffer *scratch,
                                       mldf_value *out, mldf_error *err) {
    return __wrap_mldf_reader_get(r, sample, field, scratch, out, err);
}

void *__real_mmap(void *where, size_t bytes, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *where, size_t bytes, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *where, size_t bytes, int protection, int flags, int fd, off_t offset) {
    return fails(bytes) ? (errno = ENOMEM, MAP_FAILED) : __real_mmap(where, bytes, protection, flags, fd, offset);
}

static void calm(void) {
    slow_us = broken_every = 0;
    held = false;
    waiting = 0;
    for (size_t i = 0; i < SAMPLES; i++)
        seen[i] = false;
    slow_sample = slow_from = no_memory_at = MLDF_NONE;
}

static mldf_loader_options basic(const char *pipeline) {
    mldf_loader_options o = MLDF_LOADER_OPTIONS_INIT;
    o.pipeline = pipeline;
    o.batch_size = 8;
    o.order = MLDF_ORDER_RANDOM;
    o.threads = 3;
    o.want_index = true;
    return o;
}

/* ---- Slow ----------------------------------------------------------------------------------------------------------------------------------- */

static bool all_seen(size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!seen[i])
            return false;
    return true;
}

/* While one sample waits, the others go on: all batches behind it that are in flight are read. */
static void a_slow_sample_idles_nobody(void) {
    mldf_loader_options o = basic(IMAGES);
    mldf_batch *batch;
    mldf_error err;
    calm();
    o.order = MLDF_ORDER_SEQUENTIAL;
    o.in_flight = 5;
    slow_sample = 3;
    held = true;
    mldf_loader *loader = files_loader(reader, &o);
    CHECK_EQ_INT(MLDF_AGAIN, mldf_loader_next(loader, 0, &batch, &err));
    CHECK_SOON(all_seen(5 * o.batch_size));
    CHECK_EQ_INT(MLDF_AGAIN, mldf_loader_next(loader, 0, &batch, &err));
    held = false;
    for (int i = 0; i < 5; i++) {
        CHECK_OK(mldf_loader_next(loader, -1, &batch, &err), &err);
        mldf_batch_release(batch);
    }
    mldf_loader_free(loader);
    calm();
}

static void a_time_limit_passes_and_nothing_is_lost(void) {
    for (int threads = 0; threads < 3; threads++) {
        mldf_loader_options o = basic(IMAGES);
        struct hashes want, got = {0};
        mldf_batch *batch;
        size_t agains = 0;
        calm();
        o.threads = threads;
        files_epoch(reader, &o, 0, &want);
        slow_us = 3000; /* longer than the limit: without threads it always passes */
        held = threads > 0;
        mldf_loader *loader = files_loader(reader, &o);
        for (;;) {
            mldf_status status = mldf_loader_next(loader, 2, &batch, &got.last);
            if (status == MLDF_AGAIN) {
                agains++;
                held = false;
                continue;
            }
            if (status == MLDF_END)
                break;
            CHECK_STATUS(MLDF_OK, status, &got.last);
            mldf_batch_hash(batch, got.digest[got.count++]);
            got.samples += mldf_batch_sample_count(batch);
            mldf_batch_release(batch);
        }
        CHECK(agains > 0);
        files_check_same(&want, &got, "with time limits");
        mldf_loader_free(loader);
    }
    calm();
}

/* ---- Broken ---------------------------------------------------------------------------------------------------------------------------------- */

static void a_broken_disk_is_never_a_bad_sample(void) {
    for (int policy = MLDF_BAD_RAISE; policy <= MLDF_BAD_SUBSTITUTE; policy++)
        for (int way = 0; way < 4; way++) {
            mldf_loader_options o = basic(way & 1 ? LISTS : IMAGES);
            mldf_batch *batch;
            mldf_error err;
            calm();
            o.bad = (mldf_bad)policy;
            o.order = MLDF_ORDER_SEQUENTIAL;
            o.threads = way & 2 ? 3 : 0;
            mldf_loader *loader = files_loader(reader, &o);
            broken_every = 16; /* 15, 31, 47, 63: every second batch */
            for (int i = 0; i < 8; i++) {
                mldf_status status = mldf_loader_next(loader, -1, &batch, &err);
                CHECK_STATUS(i % 2 ? MLDF_E_IO : MLDF_OK, status, &err);
                if (status == MLDF_OK)
                    mldf_batch_release(batch);
                else
                    CHECK_EQ_U64((uint64_t)i * 8 + 7, err.sample);
            }
            CHECK_EQ_INT(MLDF_END, mldf_loader_next(loader, -1, &batch, &err));
            CHECK_EQ_U64(0, mldf_loader_bad_count(loader));
            mldf_loader_free(loader);
        }
    calm();
}

static void buckets_meet_a_broken_disk_while_they_are_measured(void) {
    mldf_loader_options o = basic(LISTS);
    mldf_batch *batch;
    mldf_error err;
    struct hashes want, got;
    calm();
    o.bucket_window = 32;
    files_epoch(reader, &o, 0, &want);
    mldf_loader *loader = files_loader(reader, &o);
    broken_every = 4;
    CHECK_STATUS(MLDF_E_IO, mldf_loader_next(loader, -1, &batch, &err), &err);
    CHECK_STATUS(MLDF_E_IO, mldf_loader_next(loader, -1, &batch, &err), &err);
    CHECK_OK(mldf_loader_begin(loader, 0, 0, &err), &err);
    calm(); /* mended: the epoch can be had */
    mldf_status status = MLDF_E_IO;
    while (status == MLDF_E_IO) /* one failure may still be on its way */
        status = mldf_loader_next(loader, -1, &batch, &err);
    CHECK_STATUS(MLDF_OK, status, &err);
    if (status == MLDF_OK)
        mldf_batch_release(batch);
    CHECK_OK(mldf_loader_begin(loader, 0, 0, &err), &err);
    files_run(loader, &got);
    files_check_same(&want, &got, "after the disk was mended");
    mldf_loader_free(loader);
}

/* ---- States ----------------------------------------------------------------------------------------------------------------------------------- */

static bool none_seen(void) {
    for (size_t i = 0; i < SAMPLES; i++)
        if (seen[i])
            return false;
    return true;
}

/* A new loader reads nothing; the first state, taken or loaded, reads a few samples, and no later one does. */
static void only_a_state_reads_samples_to_know_them(void) {
    for (int loads = 0; loads < 2; loads++) {
        mldf_loader_options o = basic(IMAGES);
        mldf_buffer first = MLDF_BUFFER_INIT, second = MLDF_BUFFER_INIT;
        mldf_error err;
        o.threads = 0;
        if (loads) {
            mldf_loader *other = files_loader(reader, &o);
            CHECK_OK(mldf_loader_state(other, &first, &err), &err);
            mldf_loader_free(other);
        }
        calm();
        mldf_loader *loader = files_loader(reader, &o);
        CHECK(none_seen());
        if (loads)
            CHECK_OK(mldf_loader_restore(loader, (const char *)first.data, first.size, &err), &err);
        else
            CHECK_OK(mldf_loader_state(loader, &first, &err), &err);
        CHECK(seen[0] && seen[SAMPLES - 1]);
        calm();
        CHECK_OK(mldf_loader_state(loader, &second, &err), &err);
        CHECK(none_seen());
        CHECK(first.size == second.size && memcmp(first.data, second.data, first.size) == 0);
        mldf_loader_free(loader);
        mldf_buffer_free(&first);
        mldf_buffer_free(&second);
    }
}

/* Memory that ran out on the way leaves nothing half known. */
static void a_state_that_failed_can_be_taken_again(void) {
    mldf_loader_options o = basic(IMAGES);
    mldf_buffer want = MLDF_BUFFER_INIT, text = MLDF_BUFFER_INIT;
    mldf_error err;
    calm();
    o.threads = 0;
    mldf_loader *loader = files_loader(reader, &o);
    CHECK_OK(mldf_loader_state(loader, &want, &err), &err);
    mldf_loader_free(loader);
    loader = files_loader(reader, &o);
    no_memory_at = SAMPLES - 1;
    CHECK_STATUS(MLDF_E_MEMORY, mldf_loader_state(loader, &text, &err), &err);
    CHECK_EQ_U64(0, text.size);
    CHECK_STATUS(MLDF_E_MEMORY, mldf_loader_restore(loader, (const char *)want.data, want.size, &err), &err);
    calm();
    CHECK_OK(mldf_loader_state(loader, &text, &err), &err);
    CHECK(text.size == want.size && memcmp(text.data, want.data, want.size) == 0);
    CHECK_OK(mldf_loader_restore(loader, (const char *)want.data, want.size, &err), &err);
    mldf_loader_free(loader);
    mldf_buffer_free(&want);
    mldf_buffer_free(&text);
}

/* ---- Memory ----------------------------------------------------------------------------------------------------------------------------------- */

/* The n-th allocation fails, for every n: an error or a whole epoch, never a crash or a leak; and the loader goes on afterwards. */
static void every_allocation_may_fail(void) {
    for (int way = 0; way < 4; way++) {
        mldf_loader_options o = basic(way & 1 ? LISTS : IMAGES);
        struct hashes want, got;
        bool reached = true;
        calm();
        o.threads = way & 2 ? 2 : 0;
        o.bucket_window = way == 3 ? 30 : 0;
        files_epoch(reader, &o, 0, &want);
        long n = 0;
        for (n = 1; reached && n < 5000; n += n < 200 || way < 2 ? 1 : 7) {
            mldf_loader *loader = NULL;
            mldf_error err;
            atomic_store(&countdown, n);
            mldf_status status = mldf_loader_new((const mldf_reader *const *)&reader, 1, &o, &loader, &err);
            if (status < 0) {
                CHECK_STATUS(MLDF_E_MEMORY, status, &err);
            } else {
                files_run(loader, &got);
                if (got.errors) {
                    CHECK_STATUS(MLDF_E_MEMORY, got.last.status, &got.last);
                    CHECK(got.count + got.errors >= want.count);
                } else {
                    files_check_same(&want, &got, "with little memory");
                }
            }
            reached = atomic_exchange(&countdown, 0) <= 0;
            if (loader) {
                CHECK_OK(mldf_loader_begin(loader, 0, 0, &err), &err);
                files_run(loader, &got);
                files_check_same(&want, &got, "when there is memory again");
            }
            mldf_loader_free(loader);
        }
        CHECK(n > 40);
        CHECK(!reached);
    }
}

/* ---- Cancel, begin, free ------------------------------------------------------------------------------------------------------------------- */

struct cancel {
    mldf_loader *loader;
    bool let_go; /* afterwards: the caller is the one who is held */
};

/* As soon as somebody is in the middle of a sample. */
static void *cancel_soon(void *argument) {
    const struct cancel *cancel = argument;
    CHECK_SOON(waiting > 0);
    mldf_loader_cancel(cancel->loader);
    if (cancel->let_go)
        held = false;
    return NULL;
}

/* Nothing is ever done here, so that next waits; with threads it returns while they are still held. */
static void cancel_from_another_thread_ends_the_wait(void) {
    for (int threads = 0; threads < 3; threads++) {
        mldf_loader_options o = basic(IMAGES);
        mldf_batch *batch;
        mldf_error err;
        pthread_t thread;
        struct hashes want, got;
        calm();
        o.threads = threads;
        files_epoch(reader, &o, 0, &want);
        mldf_loader *loader = files_loader(reader, &o);
        waiting = 0;
        held = true;
        struct cancel cancel = {loader, threads == 0};
        CHECK_EQ_INT(0, pthread_create(&thread, NULL, cancel_soon, &cancel));
        mldf_status status = MLDF_OK;
        while ((status = mldf_loader_next(loader, -1, &batch, &err)) == MLDF_OK)
            mldf_batch_release(batch);
        CHECK_STATUS(MLDF_E_CANCELLED, status, &err);
        CHECK_STATUS(MLDF_E_CANCELLED, mldf_loader_next(loader, -1, &batch, &err), &err);
        pthread_join(thread, NULL);
        calm();
        CHECK_OK(mldf_loader_begin(loader, 0, 0, &err), &err);
        files_run(loader, &got);
        files_check_same(&want, &got, "after a cancel");
        mldf_loader_free(loader);
    }
}

/* The caller is held inside the count; a second count of the same epoch looks at no sample. */
static void a_cancel_ends_a_count_and_what_was_counted_is_not_counted_again(void) {
    mldf_loader_options o = basic(LISTS);
    mldf_error err;
    pthread_t thread;
    uint64_t want = 0, got = 0;
    calm();
    o.threads = 0;
    o.bucket_window = 40;
    o.budget = 300;
    mldf_loader *loader = files_loader(reader, &o);
    held = true;
    struct cancel cancel = {loader, true};
    CHECK_EQ_INT(0, pthread_create(&thread, NULL, cancel_soon, &cancel));
    CHECK_STATUS(MLDF_E_CANCELLED, mldf_loader_batch_count(loader, 0, -1, &want, &err), &err);
    pthread_join(thread, NULL);
    calm();
    CHECK_OK(mldf_loader_begin(loader, 0, 0, &err), &err);
    CHECK_OK(mldf_loader_batch_count(loader, 0, -1, &want, &err), &err);
    CHECK(!none_seen());
    calm();
    CHECK_OK(mldf_loader_batch_count(loader, 0, -1, &got, &err), &err);
    CHECK_EQ_U64(want, got);
    CHECK(none_seen());
    broken_every = 16; /* a count that failed is not remembered */
    CHECK_STATUS(MLDF_E_IO, mldf_loader_batch_count(loader, 1, -1, &got, &err), &err);
    calm();
    CHECK_OK(mldf_loader_batch_count(loader, 0, -1, &got, &err), &err);
    CHECK_EQ_U64(want, got);
    CHECK(!none_seen());
    mldf_loader_free(loader);
}

/* Short epochs, left at random places, with slow samples, kept batches and cancels in between. */
static void many_short_epochs_end_anywhere(void) {
    uint64_t dice = check_seed();
    mldf_batch *kept[4] = {NULL};
    for (int round = 0; round < 60; round++) {
        mldf_loader_options o = basic(check_rand_below(&dice, 2) ? LISTS : IMAGES);
        mldf_batch *batch;
        mldf_error err;
        calm();
        o.threads = (int)check_rand_below(&dice, 5);
        o.batch_size = 1 + check_rand_below(&dice, 20);
        o.in_flight = (uint32_t)check_rand_below(&dice, 6);
        o.bad = (mldf_bad)check_rand_below(&dice, 3);
        o.forget_behind = check_rand_below(&dice, 4) == 0;
        slow_sample = check_rand_below(&dice, 2) ? MLDF_NONE : check_rand_below(&dice, SAMPLES);
        slow_us = check_rand_below(&dice, 3) == 0 ? 300 : 0;
        mldf_loader *loader = files_loader(reader, &o);
        for (uint64_t epoch = 0; epoch < 4; epoch++) {
            uint64_t batches = check_rand_below(&dice, 12);
            if (check_rand_below(&dice, 3))
                CHECK_OK(mldf_loader_begin(loader, epoch, check_rand_below(&dice, SAMPLES), &err), &err);
            for (uint64_t i = 0; i < batches; i++) {
                mldf_status status = mldf_loader_next(loader, check_rand_below(&dice, 4) ? -1 : 1, &batch, &err);
                if (status == MLDF_E_CANCELLED)
                    CHECK_OK(mldf_loader_begin(loader, epoch, 0, &err), &err);
                if (status != MLDF_OK)
                    continue;
                size_t seat = check_rand_below(&dice, 4);
                mldf_batch_release(kept[seat]);
                kept[seat] = batch;
                if (check_rand_below(&dice, 30) == 0)
                    mldf_loader_cancel(loader);
            }
            mldf_loader_stats stats = MLDF_LOADER_STATS_INIT;
            CHECK_OK(mldf_loader_get_stats(loader, &stats, &err), &err);
        }
        mldf_loader_free(loader);
    }
    for (size_t i = 0; i < 4; i++)
        mldf_batch_release(kept[i]);
    calm();
}

static void *release_later(void *argument) {
    usleep(100);
    mldf_batch_release(argument);
    return NULL;
}

static void batches_are_released_on_other_threads(void) {
    mldf_loader_options o = basic(IMAGES);
    calm();
    o.batch_size = 4;
    mldf_loader *loader = files_loader(reader, &o);
    pthread_t threads[48];
    size_t count = 0;
    mldf_batch *batch;
    mldf_error err;
    for (int epoch = 0; epoch < 3; epoch++)
        while (mldf_loader_next(loader, -1, &batch, &err) == MLDF_OK)
            CHECK_EQ_INT(0, pthread_create(&threads[count++], NULL, release_later, batch));
    mldf_loader_free(loader);
    CHECK_EQ_U64(48, count);
    for (size_t i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

/* ---- Fork -------------------------------------------------------------------------------------------------------------------------------------- */

static int child(mldf_loader *loader, mldf_batch *batch, const uint8_t digest[16]) {
    mldf_error err;
    mldf_batch *other;
    mldf_loader_stats stats = MLDF_LOADER_STATS_INIT;
    mldf_buffer text = MLDF_BUFFER_INIT;
    uint8_t own[16];
    int wrong = 0;
    wrong += mldf_loader_next(loader, -1, &other, &err) != MLDF_E_STATE;
    wrong += mldf_loader_begin(loader, 0, 0, &err) != MLDF_E_STATE;
    wrong += mldf_loader_state(loader, &text, &err) != MLDF_E_STATE;
    wrong += mldf_loader_restore(loader, "{}", 2, &err) != MLDF_E_STATE;
    wrong += mldf_loader_get_stats(loader, &stats, &err) != MLDF_E_STATE;
    wrong += strstr(TEXT(err), "fork") == NULL;
    mldf_loader_cancel(loader);
    mldf_batch_hash(batch, own);
    wrong += memcmp(own, digest, 16) != 0;
    mldf_batch_release(batch);
    mldf_loader_free(loader);
    return wrong;
}

#if defined(__has_feature)
#define SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

/* The first children are born while every worker is in the middle of a sample, and known to be outside malloc; the others while workers do what
 * they do. A sanitizer's malloc, unlike the C library's, may hang in such a child. */
static void a_child_of_fork_gets_an_error_not_a_hang(void) {
    enum { HELD = 5, FREE = SANITIZED ? 0 : 5 };
    mldf_loader_options o = basic(IMAGES);
    struct hashes want, got;
    mldf_batch *batch;
    mldf_error err;
    uint8_t digest[16];
    calm();
    o.order = MLDF_ORDER_SEQUENTIAL;
    files_epoch(reader, &o, 0, &want);
    slow_sample = SAMPLES; /* none */
    slow_from = o.batch_size;
    waiting = 0;
    held = true;
    mldf_loader *loader = files_loader(reader, &o);
    CHECK_OK(mldf_loader_next(loader, -1, &batch, &err), &err);
    mldf_batch_hash(batch, digest);
    for (int i = 0; i < HELD + FREE; i++) {
        if (i == 0)
            CHECK_SOON(waiting == o.threads);
        if (i == HELD)
            calm();
        pid_t process = fork();
        if (process == 0)
            _exit(child(loader, batch, digest));
        int status = -1;
        CHECK(waitpid(process, &status, 0) == process);
        CHECK(WIFEXITED(status));
        CHECK_EQ_INT(0, WEXITSTATUS(status));
    }
    calm();
    mldf_batch_release(batch);
    CHECK_OK(mldf_loader_begin(loader, 0, 0, &err), &err);
    files_run(loader, &got);
    files_check_same(&want, &got, "the parent after forking");
    mldf_loader_free(loader);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    const char *path = check_tmp("loader.mldf");
    calm();
    files_write(path, &shape);
    reader = files_open(path, MLDF_BACKEND_MAP);
    RUN(a_slow_sample_idles_nobody);
    RUN(a_time_limit_passes_and_nothing_is_lost);
    RUN(a_broken_disk_is_never_a_bad_sample);
    RUN(buckets_meet_a_broken_disk_while_they_are_measured);
    RUN(only_a_state_reads_samples_to_know_them);
    RUN(a_state_that_failed_can_be_taken_again);
    RUN(every_allocation_may_fail);
    RUN(cancel_from_another_thread_ends_the_wait);
    RUN(a_cancel_ends_a_count_and_what_was_counted_is_not_counted_again);
    RUN(many_short_epochs_end_anywhere);
    RUN(batches_are_released_on_other_threads);
    RUN(a_child_of_fork_gets_an_error_not_a_hang);
    mldf_reader_close(reader);
    return check_end();
}
