/* Threads: one reader shared by many, and many short-lived writers that finish, fail or are cancelled. For the thread sanitizer above all. */
#include <pthread.h>

#include "dataset.h"

enum { READERS = 6, WRITERS = 40 };

struct task {
    const struct dataset *data;
    const mldf_reader *reader;
    uint64_t seed;
};

static void *read_randomly(void *argument) {
    const struct task *task = argument;
    const struct dataset *d = task->data;
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    uint64_t state = task->seed;
    for (int i = 0; i < 3000; i++) {
        mldf_error err;
        mldf_value got;
        size_t s = check_rand(&state) % d->samples, f = check_rand(&state) % d->fields;
        mldf_status st = mldf_reader_get(task->reader, s, f, &scratch, &got, &err);
        CHECK_STATUS(MLDF_OK, st, &err);
        if (st >= 0)
            CHECK(dataset_same_value(&d->values[s * d->fields + f], &got));
        uint64_t found;
        CHECK_OK(mldf_reader_find_key(task->reader, d->keys[s], strlen(d->keys[s]), &found, &err), &err);
    }
    mldf_buffer_free(&scratch);
    return NULL;
}

static void one_reader_serves_many_threads(void) {
    for (int way = 0; way < 4; way++) {
        struct dataset d;
        mldf_error err;
        mldf_reader *r;
        char path[512];
        uint64_t state = check_seed();
        do
            dataset_make(&d, &state, (struct dataset_shape){8, 400, 3000, true, true});
        while (d.samples < 100 && (dataset_free(&d), true));
        snprintf(path, sizeof path, "%s/shared.mldf", check_tmpdir());
        mldf_writer_options how = MLDF_WRITER_OPTIONS_INIT;
        how.overwrite = true;
        how.dictionary = way & 1;
        REQUIRE_STATUS(MLDF_OK, dataset_write(&d, path, &how, &err), &err);
        mldf_reader_options options = MLDF_READER_OPTIONS_INIT;
        options.backend = way & 1 ? MLDF_BACKEND_READ : MLDF_BACKEND_MAP;
        options.verify = way & 2;
        REQUIRE_STATUS(MLDF_OK, mldf_reader_open(path, &options, &r, &err), &err);
        pthread_t threads[READERS];
        struct task tasks[READERS];
        for (int t = 0; t < READERS; t++) {
            tasks[t] = (struct task){&d, r, state + (uint64_t)t};
            pthread_create(&threads[t], NULL, read_randomly, &tasks[t]);
        }
        for (int t = 0; t < READERS; t++)
            pthread_join(threads[t], NULL);
        mldf_reader_close(r);
        dataset_free(&d);
    }
}

static void *cancel_soon(void *w) {
    usleep(500);
    mldf_writer_cancel(w);
    return NULL;
}

static void writers_end_in_every_way(void) {
    uint64_t state = check_seed();
    for (int i = 0; i < WRITERS; i++) {
        struct dataset d;
        mldf_error err;
        mldf_writer *w;
        pthread_t canceller;
        char path[512];
        dataset_make(&d, &state, (struct dataset_shape){5, 600, 9000, true, i % 2});
        snprintf(path, sizeof path, "%s/w%d.mldf", check_tmpdir(), i);
        mldf_writer_options options = MLDF_WRITER_OPTIONS_INIT;
        options.threads = i % 5;
        options.dictionary = i % 3 == 0;
        REQUIRE_STATUS(MLDF_OK, mldf_writer_open(path, d.schema, &options, &w, &err), &err);
        bool cancel = i % 4 == 1;
        if (cancel)
            pthread_create(&canceller, NULL, cancel_soon, w);
        mldf_status st = dataset_feed(&d, w, 0, d.samples, &err);
        if (cancel)
            pthread_join(canceller, NULL);
        if (i % 4 == 2 || st < 0)
            mldf_writer_abort(w);
        else
            st = mldf_writer_finish(w, NULL, &err);
        if (st < 0)
            CHECK_STATUS(MLDF_E_CANCELLED, st, &err);
        if (st >= 0 && i % 4 != 2)
            dataset_check_verify(path, NULL, d.samples);
        else
            CHECK(access(path, F_OK) != 0);
        dataset_free(&d);
    }
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(one_reader_serves_many_threads);
    RUN(writers_end_in_every_way);
    return check_end();
}
