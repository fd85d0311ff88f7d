/* Stopping anywhere and going on, with other threads, ranks, batch sizes: nothing is lost, nothing comes twice. */
#include "loader_files.h"

enum { SAMPLES = 97 };
static const struct files_shape shape = {.samples = SAMPLES, .width = 8, .tokens = true};
static mldf_reader *reader;

struct seen {
    unsigned times[SAMPLES];
    uint64_t total;
};

static mldf_loader_options basic(void) {
    mldf_loader_options o = MLDF_LOADER_OPTIONS_INIT;
    o.pipeline = "image: drop\ntokens: pad";
    o.order = MLDF_ORDER_RANDOM;
    o.seed = 5;
    o.batch_size = 3;
    o.threads = 2;
    o.want_index = o.want_valid = true;
    return o;
}

static void count_batch(const mldf_batch *batch, struct seen *seen) {
    mldf_array index = files_array(batch, "index"), valid = files_array(batch, "valid");
    for (size_t i = 0; i < mldf_batch_sample_count(batch); i++)
        if (((const bool *)valid.data)[i]) {
            seen->times[((const uint64_t *)index.data)[i]]++;
            seen->total++;
        }
}

static void check_each_once(const struct seen *seen, const char *what) {
    for (size_t i = 0; i < SAMPLES; i++)
        if (seen->times[i] != 1) {
            check_fail(__FILE__, __LINE__, "%s: sample %zu came %u times", what, i, seen->times[i]);
            return;
        }
}

/* `batches` global batches on `ranks` ranks from a state on (NULL: the beginning); all ranks must agree on the state that they leave.
 * False: the epoch ended. */
static bool run_ranks(const mldf_loader_options *options, uint32_t ranks, uint64_t batches, char *state,
                      struct seen *seen) {
    char after[1024] = "";
    bool ended = false;
    for (uint32_t rank = 0; rank < ranks; rank++) {
        mldf_loader_options o = *options;
        mldf_buffer text = MLDF_BUFFER_INIT;
        mldf_batch *batch;
        mldf_error err;
        o.rank = rank;
        o.world_size = ranks;
        mldf_loader *loader = files_loader(reader, &o);
        if (!loader)
            return false;
        if (state[0])
            CHECK_OK(mldf_loader_restore(loader, state, strlen(state), &err), &err);
        for (uint64_t i = 0; i < batches; i++) {
            mldf_status status = mldf_loader_next(loader, -1, &batch, &err);
            if (status == MLDF_END) {
                ended = true;
                break;
            }
            CHECK_STATUS(MLDF_OK, status, &err);
            if (status < 0)
                break;
            count_batch(batch, seen);
            mldf_batch_release(batch);
        }
        CHECK_OK(mldf_loader_state(loader, &text, &err), &err);
        CHECK_OK(mldf_buffer_append(&text, "", 1, &err), &err);
        CHECK(text.size < 1000);
        if (rank)
            CHECK_EQ_STR(after, (const char *)text.data);
        snprintf(after, sizeof after, "%s", (const char *)text.data);
        mldf_buffer_free(&text);
        mldf_loader_free(loader);
    }
    snprintf(state, 1024, "%s", after);
    return !ended;
}

static void ranks_share_an_epoch_without_loss(void) {
    for (uint32_t ranks = 1; ranks <= 5; ranks++)
        for (int last = 0; last < 3; last++) {
            mldf_loader_options o = basic();
            struct seen seen = {{0}, 0};
            char state[1024] = "", what[64];
            o.last = (mldf_last)last;
            CHECK(!run_ranks(&o, ranks, 1000, state, &seen));
            snprintf(what, sizeof what, "%u ranks, last %d", ranks, last);
            if (last == MLDF_LAST_DROP)
                CHECK_EQ_U64(SAMPLES / (3 * ranks) * 3 * ranks, seen.total);
            else
                check_each_once(&seen, what);
        }
}

/* One → two → four → three ranks, stopping at every batch boundary once. */
static void resume_changes_ranks(const mldf_loader_options *options, const char *name) {
    static const uint32_t ranks[] = {1, 2, 4, 3};
    for (uint64_t stop = 1; stop < 12; stop++) {
        struct seen seen = {{0}, 0};
        char state[1024] = "", what[96];
        bool more = true;
        for (size_t leg = 0; more; leg++)
            more = run_ranks(options, ranks[leg % 4], leg < 3 ? stop : 1000, state, &seen);
        snprintf(what, sizeof what, "%s, stop every %u batches", name, (unsigned)stop);
        check_each_once(&seen, what);
    }
}

static void every_boundary_resumes_on_other_ranks(void) {
    mldf_loader_options o = basic();
    resume_changes_ranks(&o, "random");
    o.order = MLDF_ORDER_QUASI_RANDOM;
    o.block = 5;
    o.window = 2;
    resume_changes_ranks(&o, "quasi-random");
    o.batch_size = 0;
    o.global_batch_size = 12;
    resume_changes_ranks(&o, "global batches");
}

static void buckets_resume_on_other_ranks(void) {
    mldf_loader_options o = basic();
    o.bucket_window = 20;
    resume_changes_ranks(&o, "buckets");
    o.bucket_window = 1000;
    resume_changes_ranks(&o, "one bucket window");
    o.bucket_window = 30;
    o.budget = 100;
    resume_changes_ranks(&o, "budget");
}

/* Other batch sizes, budgets and windows on each leg. */
static void everything_may_change_between_runs(void) {
    uint64_t dice = check_seed();
    for (int round = 0; round < 60; round++) {
        struct seen seen = {{0}, 0};
        char state[1024] = "", what[64];
        bool more = true, buckets = check_rand_below(&dice, 2);
        for (int leg = 0; more && leg < 200; leg++) {
            mldf_loader_options o = basic();
            o.batch_size = 1 + check_rand_below(&dice, 7);
            o.threads = (int)check_rand_below(&dice, 4);
            o.in_flight = (uint32_t)check_rand_below(&dice, 4);
            if (buckets) {
                o.bucket_window = 1 + check_rand_below(&dice, 40);
                o.budget = check_rand_below(&dice, 2) ? 30 + check_rand_below(&dice, 100) : 0;
            }
            more =
                run_ranks(&o, (uint32_t)(1 + check_rand_below(&dice, 4)), 1 + check_rand_below(&dice, 4), state, &seen);
        }
        snprintf(what, sizeof what, "round %d, %s", round, buckets ? "buckets" : "plain");
        check_each_once(&seen, what);
    }
}

/* The batches after a restore are those of an uninterrupted run. */
static void a_resumed_run_gives_the_same_batches(void) {
    mldf_loader_options o = basic();
    mldf_batch *batch;
    mldf_error err;
    for (int way = 0; way < 2; way++) {
        struct hashes want, got;
        o.bucket_window = way ? 25 : 0;
        files_epoch(reader, &o, 0, &want);
        for (size_t stop = 0; stop <= want.count; stop += 3) {
            mldf_buffer state = MLDF_BUFFER_INIT;
            mldf_loader *loader = files_loader(reader, &o);
            for (size_t i = 0; i < stop; i++) {
                CHECK_OK(mldf_loader_next(loader, -1, &batch, &err), &err);
                mldf_batch_release(batch);
            }
            CHECK_OK(mldf_loader_state(loader, &state, &err), &err);
            mldf_loader_free(loader);
            loader = files_loader(reader, &o);
            CHECK_OK(mldf_loader_restore(loader, (const char *)state.data, state.size, &err), &err);
            files_run(loader, &got);
            CHECK_EQ_U64(want.count - stop, got.count);
            CHECK_MEM_EQ(want.digest[stop], got.digest[0], 16 * got.count);
            /* and the next epoch follows */
            CHECK_OK(mldf_loader_next(loader, -1, &batch, &err), &err);
            uint64_t epoch = 0;
            mldf_batch_place(batch, &epoch, NULL, NULL);
            CHECK_EQ_U64(1, epoch);
            mldf_batch_release(batch);
            mldf_loader_free(loader);
            mldf_buffer_free(&state);
        }
    }
}

static void global_batches_hold_the_same_samples_on_any_number_of_ranks(void) {
    mldf_loader_options o = basic();
    o.batch_size = 0;
    o.global_batch_size = 8;
    for (uint32_t ranks = 1; ranks <= 4; ranks *= 2) {
        static uint64_t sums[20];
        uint64_t got[20] = {0};
        for (uint32_t rank = 0; rank < ranks; rank++) {
            mldf_batch *batch;
            mldf_error err;
            o.rank = rank;
            o.world_size = ranks;
            mldf_loader *loader = files_loader(reader, &o);
            CHECK_EQ_U64(13, mldf_loader_batch_bound(loader));
            for (size_t i = 0; mldf_loader_next(loader, -1, &batch, &err) == MLDF_OK; i++) {
                mldf_array index = files_array(batch, "index"), valid = files_array(batch, "valid");
                for (size_t k = 0; k < mldf_batch_sample_count(batch); k++)
                    if (((const bool *)valid.data)[k])
                        got[i] += (uint64_t)1 << (((const uint64_t *)index.data)[k] % 61);
                mldf_batch_release(batch);
            }
            mldf_loader_free(loader);
        }
        if (ranks == 1)
            memcpy(sums, got, sizeof sums);
        CHECK_MEM_EQ(sums, got, sizeof sums);
    }
}

static void a_state_of_something_else_is_refused(void) {
    mldf_loader_options o = basic();
    mldf_buffer state = MLDF_BUFFER_INIT;
    mldf_error err;
    mldf_batch *batch;
    o.bucket_window = 20;
    mldf_loader *loader = files_loader(reader, &o);
    CHECK_OK(mldf_loader_next(loader, -1, &batch, &err), &err);
    mldf_batch_release(batch);
    CHECK_OK(mldf_loader_state(loader, &state, &err), &err);
    mldf_loader_free(loader);
    o.seed = 6;
    loader = files_loader(reader, &o);
    CHECK_STATUS(MLDF_E_STATE, mldf_loader_restore(loader, (const char *)state.data, state.size, &err), &err);
    mldf_loader_free(loader);
    o = basic(); /* no buckets: the state is inside a window */
    loader = files_loader(reader, &o);
    CHECK_STATUS(MLDF_E_STATE, mldf_loader_restore(loader, (const char *)state.data, state.size, &err), &err);
    CHECK_CONTAINS("window", TEXT(err));
    CHECK_STATUS(MLDF_E_SYNTAX, mldf_loader_restore(loader, "{", 1, &err), &err);
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_loader_begin(loader, 0, SAMPLES + 1, &err), &err);
    mldf_loader_free(loader);
    mldf_buffer_free(&state);
}

static mldf_status restore_text(mldf_loader *loader, const char *front, const char *values, mldf_error *err) {
    char text[1024];
    int bytes = snprintf(text, sizeof text, "%s%s}", front, values);
    return mldf_loader_restore(loader, text, (size_t)bytes, err);
}

/* The state with its values changed in every way: another value is refused, what is no value of a field here is not compared. */
static void a_state_of_other_samples_is_refused(void) {
    static const char *const strange[] = {"",
                                          ",\"values\":{}",
                                          ",\"values\":[1]",
                                          ",\"values\":7,\"keys\":\"k\"",
                                          ",\"values\":{\"label\":null,\"gone\":\"i0123456789abcdef\",\"tokens\":{}}",
                                          ",\"values\":{\"label\":\"i\",\"image\":\"\",\"\":\"\"}",
                                          ",\"values\":{\"label\":\"f0123456789abcdef\"}"};
    mldf_loader_options o = basic();
    mldf_buffer state = MLDF_BUFFER_INIT;
    mldf_error err;
    mldf_loader *loader = files_loader(reader, &o);
    REQUIRE(loader);
    CHECK_OK(mldf_loader_state(loader, &state, &err), &err);
    CHECK_OK(mldf_buffer_append(&state, "", 1, &err), &err);
    char *front = (char *)state.data, *values = strstr(front, ",\"values\":{\"label\":\"i");
    REQUIRE(values);
    CHECK(strstr(values, "\"tokens\":\"a") && strstr(values, "\"image\":\"p") && !strstr(front, "\"keys\""));
    CHECK_OK(mldf_loader_restore(loader, front, strlen(front), &err), &err);
    char *digit = strstr(values, ":\"i") + 5;
    *digit = *digit == '0' ? '1' : '0';
    CHECK_STATUS(MLDF_E_STATE, mldf_loader_restore(loader, front, strlen(front), &err), &err);
    CHECK_CONTAINS("of other samples: field label", TEXT(err));
    *values = 0;
    for (size_t i = 0; i < sizeof strange / sizeof strange[0]; i++)
        CHECK_OK(restore_text(loader, front, strange[i], &err), &err);
    /* A field that the state's loader chose, and this one did not. */
    CHECK_STATUS(MLDF_E_STATE, restore_text(loader, front, ",\"values\":{\"tokens\":\"a0123456789abcdef\"}", &err),
                 &err);
    CHECK_STATUS(MLDF_E_STATE, restore_text(loader, front, ",\"values\":{\"image\":\"p0123456789abcdef\"}", &err),
                 &err);
    mldf_loader_free(loader);
    mldf_buffer_free(&state);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    const char *path = check_tmp("resume.mldf");
    files_write(path, &shape);
    reader = files_open(path, MLDF_BACKEND_MAP);
    RUN(ranks_share_an_epoch_without_loss);
    RUN(every_boundary_resumes_on_other_ranks);
    RUN(buckets_resume_on_other_ranks);
    RUN(everything_may_change_between_runs);
    RUN(a_resumed_run_gives_the_same_batches);
    RUN(global_batches_hold_the_same_samples_on_any_number_of_ranks);
    RUN(a_state_of_something_else_is_refused);
    RUN(a_state_of_other_samples_is_refused);
    mldf_reader_close(reader);
    return check_end();
}
