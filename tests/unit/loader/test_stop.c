/* Stopping: whoever cancels or frees a loader waits for one sample of each worker, not for the run of samples that it took on; a caller
 * that does the work itself comes back when its time has passed. */
#include <pthread.h>

#include "loader/loader.h"
#include "loader_files.h"

enum { QUICK = 2000, SAMPLES = 4000, BATCH = 500, THREADS = 2 };

struct slow {
    atomic_bool open;          /* samples in hand may end */
    atomic_uint in_hand, late; /* calls that wait or waited; calls that began when it was open already */
    mldf_loader *loader;
};

/* Quick at first, so that workers take long runs; then each sample waits until it may end. */
static mldf_status slow_run(void *user, const mldf_operation_call *call, const mldf_tensor *in, mldf_tensor *out,
                            mldf_error *err) {
    struct slow *slow = user;
    (void)err;
    if (atomic_load(&slow->open))
        atomic_fetch_add(&slow->late, 1);
    if (call->position >= QUICK) {
        atomic_fetch_add(&slow->in_hand, 1);
        CHECK_SOON(atomic_load(&slow->open));
    }
    memcpy(out->data, in->data, mldf_dtype_bytes(in->dtype));
    return MLDF_OK;
}

/* For a thread of its own: opens when the loader has been told to stop, which whoever frees it does not come back to say. */
static void *open_when_stopped(void *argument) {
    struct slow *slow = argument;
    CHECK_SOON(atomic_load(&slow->loader->halt));
    atomic_store(&slow->open, true);
    return NULL;
}

static void make_number(const void *user, uint64_t i, mldf_value *values) {
    (void)user;
    values[0] = (mldf_value){.kind = MLDF_KIND_INT, .as.i = (int64_t)i};
}

static mldf_reader *numbers(const char *path) {
    static const struct files_field fields[] = {{"n", MLDF_INT, NULL, 0}, {NULL, 0, NULL, 0}};
    files_make(path, fields, SAMPLES, make_number, NULL);
    return files_open(path, MLDF_BACKEND_MAP);
}

/* Every worker is in the middle of a slow sample when this returns. */
static mldf_loader *busy_loader(const mldf_reader *reader, const mldf_context *context, struct slow *slow) {
    mldf_loader_options o = MLDF_LOADER_OPTIONS_INIT;
    mldf_batch *batch;
    mldf_error err;
    o.context = context;
    o.pipeline = "n: slow";
    o.batch_size = BATCH;
    o.threads = THREADS;
    o.in_flight = SAMPLES / BATCH;
    mldf_loader *loader = files_loader(reader, &o);
    CHECK_OK(mldf_loader_next(loader, -1, &batch, &err), &err);
    mldf_batch_release(batch);
    CHECK_SOON(atomic_load(&slow->in_hand) == THREADS);
    return loader;
}

static void a_stop_waits_for_the_samples_in_hand_alone(void) {
    mldf_reader *reader = numbers(check_tmp("stop.mldf"));
    for (int by_free = 0; by_free < 2; by_free++) {
        struct slow slow = {0};
        mldf_operation operation = MLDF_OPERATION_INIT;
        mldf_context *context;
        mldf_batch *batch;
        mldf_error err;
        pthread_t opener;
        operation.name = "slow";
        operation.user = &slow;
        operation.run = slow_run;
        CHECK_OK(mldf_context_new(&context, &err), &err);
        CHECK_OK(mldf_context_register_operation(context, &operation, &err), &err);
        slow.loader = busy_loader(reader, context, &slow);
        if (by_free) {
            REQUIRE(pthread_create(&opener, NULL, open_when_stopped, &slow) == 0);
            mldf_loader_free(slow.loader);
            pthread_join(opener, NULL);
        } else {
            mldf_loader_cancel(slow.loader);
            CHECK_EQ_INT(MLDF_E_CANCELLED, mldf_loader_next(slow.loader, -1, &batch, &err)); /* waits for nobody */
            atomic_store(&slow.open, true);
            mldf_loader_free(slow.loader);
        }
        CHECK_EQ_INT(THREADS, atomic_load(&slow.in_hand));
        CHECK_EQ_INT(0, atomic_load(&slow.late));
        mldf_context_free(context);
    }
    mldf_reader_close(reader);
}

/* What was broken off is not handed out: a new beginning gives all samples. */
static void a_beginning_after_a_stop_is_whole(void) {
    mldf_reader *reader = numbers(check_tmp("again.mldf"));
    mldf_loader_options o = MLDF_LOADER_OPTIONS_INIT;
    struct hashes want, got;
    mldf_error err;
    mldf_batch *batch;
    o.pipeline = "n: cast(f32)";
    o.batch_size = BATCH;
    o.threads = 3;
    o.order = MLDF_ORDER_RANDOM;
    files_epoch(reader, &o, 0, &want);
    CHECK_EQ_U64(SAMPLES, want.samples);
    mldf_loader *loader = files_loader(reader, &o);
    for (int i = 0; i < 200; i++) {
        CHECK_OK(mldf_loader_begin(loader, 1, 0, &err), &err);
        if (i & 1) {
            CHECK_OK(mldf_loader_next(loader, -1, &batch, &err), &err);
            mldf_batch_release(batch);
        }
        if (i & 2)
            mldf_loader_cancel(loader);
        CHECK_OK(mldf_loader_begin(loader, 0, 0, &err), &err);
        files_run(loader, &got);
        files_check_same(&want, &got, "after a stop");
    }
    mldf_loader_free(loader);
    mldf_reader_close(reader);
}

static void make_list(const void *user, uint64_t i, mldf_value *values) {
    static const int32_t list[16] = {3};
    uint64_t length = i * 7 % 16;
    (void)user;
    values[0] = (mldf_value){
        .kind = MLDF_KIND_ARRAY, .dtype = MLDF_I32, .data = list, .bytes = length * 4, .ndim = 1, .dims = {length}};
}

/* Without threads a window of buckets is planned a few samples at a time, also when another size of window was begun before. */
static void planning_a_window_minds_the_time(void) {
    static const struct files_field fields[] = {{"t", MLDF_NDARRAY, "{\"dtype\": \"<i4\", \"shape\": [null]}", 0},
                                                {NULL, 0, NULL, 0}};
    const char *path = check_tmp("window.mldf");
    files_make(path, fields, SAMPLES, make_list, NULL);
    mldf_reader *reader = files_open(path, MLDF_BACKEND_MAP);
    mldf_loader_options o = files_options("t: pad", BATCH, THREADS);
    struct hashes want = {0}, got = {0};
    mldf_buffer state = MLDF_BUFFER_INIT;
    mldf_error err;
    for (uint64_t again = 0; again < 2; again++) { /* from the beginning; from the end of a window of 1,500 */
        uint64_t most = 0;
        for (int mindful = 0; mindful < 2; mindful++) {
            struct hashes *out = mindful ? &got : &want;
            uint64_t waits = 0;
            mldf_batch *batch;
            mldf_status status;
            o.bucket_window = 2000;
            o.threads = mindful ? 0 : THREADS;
            mldf_loader *loader = files_loader(reader, &o);
            CHECK_OK(again ? mldf_loader_restore(loader, (const char *)state.data, state.size, &err)
                           : mldf_loader_begin(loader, 0, 0, &err),
                     &err);
            memset(out, 0, sizeof *out);
            while ((status = mldf_loader_next(loader, mindful ? 0 : -1, &batch, &err)) != MLDF_END && status >= 0) {
                if (status == MLDF_AGAIN) {
                    waits++;
                    continue;
                }
                most = waits > most ? waits : most;
                waits = 0;
                mldf_batch_hash(batch, out->digest[out->count++]);
                out->samples += mldf_batch_sample_count(batch);
                mldf_batch_release(batch);
            }
            CHECK_STATUS(MLDF_END, status, &err);
            mldf_loader_free(loader);
        }
        CHECK_EQ_U64(SAMPLES - again * 1500, want.samples);
        files_check_same(&want, &got, "a few samples at a time");
        CHECK(most >= 100); /* a call looks at 16 lengths when it has no time */
        if (again)
            break;
        o.bucket_window = 1500;
        mldf_loader *loader = files_loader(reader, &o);
        for (int i = 0; i < 1500 / BATCH; i++) {
            mldf_batch *batch;
            CHECK_OK(mldf_loader_next(loader, -1, &batch, &err), &err);
            mldf_batch_release(batch);
        }
        CHECK_OK(mldf_loader_state(loader, &state, &err), &err);
        mldf_loader_free(loader);
    }
    mldf_buffer_free(&state);
    mldf_reader_close(reader);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(a_stop_waits_for_the_samples_in_hand_alone);
    RUN(a_beginning_after_a_stop_is_whole);
    RUN(planning_a_window_minds_the_time);
    return check_end();
}
