/* Interrupted writing: whatever the moment, a resumed run ends with the bytes of an uninterrupted one, and leaves no partial files. */
#include <sys/wait.h>

#include "dataset.h"

static uint64_t base_seed;

static bool exists(const char *path) {
    return access(path, F_OK) == 0;
}

/* One leg: goes on from where the last checkpoint was, saves now and then, and stops early unless `to_end`. Returns true when done. */
static bool leg(struct dataset *d, const char *path, const mldf_writer_options *options, uint64_t *state, bool to_end,
                bool kill_it) {
    mldf_error err;
    mldf_writer *w = NULL;
    mldf_status st = mldf_writer_open(path, d->schema, options, &w, &err);
    CHECK_STATUS(MLDF_OK, st, &err);
    if (st < 0)
        return true;
    size_t position_bytes, at = 0, all = d->samples;
    const void *position = mldf_writer_position(w, &position_bytes);
    if (position) {
        CHECK_EQ_U64(sizeof at, position_bytes);
        memcpy(&at, position, sizeof at);
        CHECK_EQ_U64(at, mldf_writer_sample_count(w));
    }
    while (at < all) {
        size_t to = at + 1 + check_rand(state) % (all / 5 + 1);
        if (to > all)
            to = all;
        CHECK_OK(dataset_feed(d, w, at, to, &err), &err);
        at = to;
        unsigned what = (unsigned)(check_rand(state) % 5);
        if (what < 2)
            CHECK(mldf_writer_checkpoint(w, &at, sizeof at, &err) >= 0);
        else if (what == 2 && !to_end) {
            if (kill_it)
                _exit(0);
            mldf_writer_abort(w);
            return false;
        }
    }
    CHECK_OK(mldf_writer_finish(w, NULL, &err), &err);
    return true;
}

static void resume_many_times(uint64_t seed, struct dataset_shape shape, mldf_writer_options options, bool fork_it) {
    struct dataset d;
    mldf_error err;
    uint64_t state = seed;
    char whole[512], path[512], partial[600], tables[600];
    dataset_make(&d, &state, shape);
    snprintf(whole, sizeof whole, "%s/whole.mldf", check_tmpdir());
    snprintf(path, sizeof path, "%s/resumed.mldf", check_tmpdir());
    snprintf(partial, sizeof partial, "%s.partial", path);
    snprintf(tables, sizeof tables, "%s.partial.tables", path);
    unlink(path);
    options.overwrite = true;
    REQUIRE_STATUS(MLDF_OK, dataset_write(&d, whole, &options, &err), &err);
    options.resume = true;
    options.overwrite = false;
    bool done = false;
    for (int i = 0; i < 12 && !done; i++) {
        if (fork_it && i < 10) {
            pid_t child = fork();
            if (child == 0)
                _exit(leg(&d, path, &options, &state, false, true) ? 1 : 0);
            int status = 0;
            waitpid(child, &status, 0);
            CHECK(WIFEXITED(status));
            (void)check_rand(&state);
            done = exists(path);
        } else {
            done = leg(&d, path, &options, &state, i >= 10, false);
        }
    }
    CHECK(!exists(partial));
    CHECK(!exists(tables));
    dataset_check_same_files(whole, path);
    dataset_free(&d);
}

static void small_files_resume_to_the_same_bytes(void) {
    for (uint64_t i = 0; i < 30; i++) {
        mldf_writer_options options = MLDF_WRITER_OPTIONS_INIT;
        options.threads = (int)(i % 3);
        resume_many_times(base_seed + i, (struct dataset_shape){6, 60, 3000, i % 2, i % 3 == 0}, options, false);
    }
}

static void larger_files_resume_to_the_same_bytes(void) {
    for (uint64_t i = 0; i < 8; i++) {
        mldf_writer_options options = MLDF_WRITER_OPTIONS_INIT;
        options.threads = (int)(i % 3);
        options.page_size = i % 4 == 3 ? 65536 : 0;
        options.dictionary = i % 4 == 2;
        resume_many_times(base_seed + 100 + i, (struct dataset_shape){5, 600, 30000, true, i % 2}, options, false);
    }
}

static void killed_processes_resume_to_the_same_bytes(void) {
    for (uint64_t i = 0; i < 10; i++) {
        mldf_writer_options options = MLDF_WRITER_OPTIONS_INIT;
        options.threads = (int)(i % 3);
        resume_many_times(base_seed + 200 + i, (struct dataset_shape){5, 400, 20000, true, i % 2}, options, true);
    }
}

static void another_schema_is_refused_and_nothing_is_lost(void) {
    struct dataset d;
    mldf_error err;
    mldf_writer *w;
    char path[512], partial[600];
    uint64_t state = base_seed + 300;
    size_t position = 1;
    do
        dataset_make(&d, &state, (struct dataset_shape){3, 30, 300, false, false});
    while (d.samples < 2 && (dataset_free(&d), true));
    snprintf(path, sizeof path, "%s/other.mldf", check_tmpdir());
    snprintf(partial, sizeof partial, "%s.partial", path);
    mldf_writer_options options = MLDF_WRITER_OPTIONS_INIT;
    options.resume = true;
    REQUIRE_STATUS(MLDF_OK, mldf_writer_open(path, d.schema, &options, &w, &err), &err);
    CHECK_OK(dataset_feed(&d, w, 0, 1, &err), &err);
    CHECK_OK(mldf_writer_checkpoint(w, &position, sizeof position, &err), &err);
    mldf_writer *second;
    CHECK_STATUS(MLDF_E_BUSY, mldf_writer_open(path, d.schema, &options, &second, &err), &err);
    mldf_writer_abort(w);
    CHECK(exists(partial));
    options.page_size = 8192;
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_writer_open(path, d.schema, &options, &w, &err), &err);
    CHECK(exists(partial));
    options.page_size = 0;
    REQUIRE_STATUS(MLDF_OK, mldf_writer_open(path, d.schema, &options, &w, &err), &err);
    CHECK_OK(dataset_feed(&d, w, 1, d.samples, &err), &err);
    CHECK_OK(mldf_writer_finish(w, NULL, &err), &err);
    mldf_reader *r;
    REQUIRE_STATUS(MLDF_OK, mldf_reader_open(path, NULL, &r, &err), &err);
    dataset_check(&d, r);
    mldf_reader_close(r);
    dataset_free(&d);
}

/* Text under a name; what it was is asked for with text_stays. */
static void put_text(const char *path, const char *text) {
    FILE *f = fopen(path, "wb");
    REQUIRE(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

static void text_stays(const char *path, const char *text) {
    char got[8192] = {0};
    FILE *f = fopen(path, "rb");
    REQUIRE(f);
    got[fread(got, 1, sizeof got - 1, f)] = 0;
    fclose(f);
    CHECK_EQ_STR(text, got);
}

/* One sample of bytes, and a checkpoint. */
static void begin_bytes(const char *path, const mldf_schema *schema, const mldf_writer_options *options) {
    static const uint8_t bytes[3000] = {7};
    mldf_value value = {.kind = MLDF_KIND_BYTES, .data = bytes, .bytes = sizeof bytes};
    mldf_writer *w;
    mldf_error err;
    REQUIRE_STATUS(MLDF_OK, mldf_writer_open(path, schema, options, &w, &err), &err);
    CHECK_OK(mldf_writer_append(w, &value, 1, NULL, 0, &err), &err);
    CHECK_OK(mldf_writer_checkpoint(w, "x", 1, &err), &err);
    mldf_writer_abort(w);
}

static void files_of_others_are_left_alone(void) {
    mldf_schema *schema;
    mldf_writer *w;
    mldf_error err;
    char path[512], partial[600], tables[600], long_text[5000];
    snprintf(path, sizeof path, "%s/mine.mldf", check_tmpdir());
    snprintf(partial, sizeof partial, "%s.partial", path);
    snprintf(tables, sizeof tables, "%s.partial.tables", path);
    memset(long_text, 'a', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = 0;
    REQUIRE_STATUS(MLDF_OK, mldf_schema_new(NULL, &schema, &err), &err);
    REQUIRE_STATUS(MLDF_OK, mldf_schema_add(schema, "b", MLDF_BYTES, NULL, 0, &err), &err);
    mldf_writer_options options = MLDF_WRITER_OPTIONS_INIT;
    options.resume = true;
    options.page_size = 4096; /* data are written at once */
    const char *texts[] = {"a download", long_text};
    for (unsigned which = 1; which < 4; which++)
        for (size_t i = 0; i < 2; i++) {
            if (which & 1)
                put_text(partial, texts[i]);
            if (which & 2)
                put_text(tables, texts[i]);
            CHECK_STATUS(MLDF_E_EXISTS, mldf_writer_open(path, schema, &options, &w, &err), &err);
            CHECK_CONTAINS(which & 2 ? tables : partial, TEXT(err));
            CHECK_EQ_INT((which & 1) != 0, exists(partial));
            CHECK_EQ_INT((which & 2) != 0, exists(tables));
            if (which & 1)
                text_stays(partial, texts[i]);
            if (which & 2)
                text_stays(tables, texts[i]);
            unlink(partial);
            unlink(tables);
        }
    /* Empty ones have nothing to lose. */
    put_text(partial, "");
    put_text(tables, "");
    begin_bytes(path, schema, &options);
    /* Half of what was kept is not enough to go on. */
    CHECK(exists(partial) && exists(tables));
    unlink(partial);
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_writer_open(path, schema, &options, &w, &err), &err);
    CHECK_CONTAINS("lacks the data", TEXT(err));
    CHECK(exists(tables));
    unlink(partial);
    unlink(tables);
    begin_bytes(path, schema, &options);
    REQUIRE_STATUS(MLDF_OK, mldf_writer_open(path, schema, &options, &w, &err), &err);
    CHECK_EQ_U64(1, mldf_writer_sample_count(w));
    CHECK_OK(mldf_writer_finish(w, NULL, &err), &err);
    mldf_schema_free(schema);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    base_seed = check_seed();
    RUN(small_files_resume_to_the_same_bytes);
    RUN(larger_files_resume_to_the_same_bytes);
    RUN(killed_processes_resume_to_the_same_bytes);
    RUN(another_schema_is_refused_and_nothing_is_lost);
    RUN(files_of_others_are_left_alone);
    return check_end();
}
