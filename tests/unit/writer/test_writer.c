/* The writer's manners: errors that name their sample and field, skipped samples in order, cancelling, targets that are never harmed. */
#include <pthread.h>
#include <sys/stat.h>

#include "dataset.h"

static mldf_schema *make_schema(void) {
    mldf_error err;
    mldf_schema *schema = NULL;
    CHECK_OK(mldf_schema_new(NULL, &schema, &err), &err);
    CHECK_OK(mldf_schema_add(schema, "label", MLDF_INT, "{\"dtype\":\"|u1\"}", 0, &err), &err);
    CHECK_OK(mldf_schema_add(schema, "meta", MLDF_JSON, NULL, MLDF_FIELD_NULLABLE, &err), &err);
    return schema;
}

static mldf_status put(mldf_writer *w, int64_t label, const char *json, const char *key, mldf_error *err) {
    mldf_value v[2];
    memset(v, 0, sizeof v);
    v[0].kind = MLDF_KIND_INT;
    v[0].as.i = label;
    if (json) {
        v[1].kind = MLDF_KIND_TEXT;
        v[1].data = json;
        v[1].bytes = strlen(json);
    }
    return mldf_writer_append(w, v, 2, key, key ? strlen(key) : 0, err);
}

static const char *path_of(const char *name) {
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", check_tmpdir(), name);
    return path;
}

static size_t files_left(void) {
    size_t count = 0;
    DIR *dir = opendir(check_tmpdir());
    for (struct dirent *e; dir && (e = readdir(dir));)
        count += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    if (dir)
        closedir(dir);
    return count;
}

/* Appends until an error comes back, from a call or from finish. */
static mldf_status write_until_error(int threads, size_t bad_at, int64_t bad_label, const char *bad_json,
                                     mldf_error *err) {
    mldf_schema *schema = make_schema();
    mldf_writer_options options = MLDF_WRITER_OPTIONS_INIT;
    mldf_writer *w;
    options.threads = threads;
    mldf_status st = mldf_writer_open(path_of("error.mldf"), schema, &options, &w, err);
    for (size_t i = 0; i < 20000 && st >= 0; i++)
        st = i == bad_at ? put(w, bad_label, bad_json, NULL, err) : put(w, 1, "{}", NULL, err);
    if (st >= 0)
        st = mldf_writer_finish(w, NULL, err);
    else
        mldf_writer_abort(w);
    mldf_schema_free(schema);
    return st;
}

static void a_value_out_of_range_is_refused_at_once_with_its_place(void) {
    mldf_error err;
    CHECK_STATUS(MLDF_E_RANGE, write_until_error(2, 123, 256, "{}", &err), &err);
    CHECK_EQ_U64(123, err.sample);
    CHECK_EQ_STR("label", err.field);
    CHECK_EQ_U64(0, files_left());
}

static void a_bad_payload_surfaces_with_its_place_for_any_number_of_threads(void) {
    for (int threads = 0; threads < 4; threads++) {
        mldf_error err;
        CHECK_STATUS(MLDF_E_SYNTAX, write_until_error(threads, 15000, 1, "{\"a\":}", &err), &err);
        CHECK_EQ_U64(15000, err.sample);
        CHECK_EQ_STR("meta", err.field);
        CHECK_EQ_U64(0, files_left());
    }
}

/* Bad JSON is found on a thread, a bad label in the call: whichever is found first, the first in the file is named. */
static void the_first_of_two_bad_samples_is_named_for_any_number_of_threads(void) {
    static const int threads[] = {0, 1, 4};
    for (size_t i = 0; i < 3; i++)
        for (size_t gap = 1; gap < 10000; gap = gap * 5 + 1) {
            mldf_schema *schema = make_schema();
            mldf_writer_options options = MLDF_WRITER_OPTIONS_INIT;
            mldf_error err;
            mldf_writer *w;
            options.threads = threads[i];
            mldf_status st = mldf_writer_open(path_of("order.mldf"), schema, &options, &w, &err);
            for (size_t n = 0; st >= 0 && n < 20000; n++)
                st = put(w, n == 37 + gap ? 700 : 1, n == 37 ? "{" : "{}", NULL, &err);
            CHECK_STATUS(MLDF_E_SYNTAX, st, &err);
            CHECK_EQ_U64(37, err.sample);
            mldf_writer_abort(w);
            mldf_schema_free(schema);
        }
}

static void a_missing_value_of_a_plain_field_is_refused(void) {
    mldf_error err;
    mldf_schema *schema = make_schema();
    mldf_writer *w;
    REQUIRE_STATUS(MLDF_OK, mldf_writer_open(path_of("null.mldf"), schema, NULL, &w, &err), &err);
    CHECK_STATUS(MLDF_E_NULL, mldf_writer_commit(w, &err), &err);
    CHECK_EQ_STR("label", err.field);
    CHECK_EQ_U64(0, err.sample);
    CHECK_STATUS(MLDF_E_NULL, mldf_writer_finish(w, NULL, &err), &err); /* the failure stays */
    CHECK_EQ_U64(0, files_left());
    mldf_schema_free(schema);
}

struct skip_list {
    uint64_t at[64];
    size_t count;
};

static void note_skip(void *user, uint64_t submitted, const mldf_error *why) {
    struct skip_list *list = user;
    CHECK(why->message[0] && why->field[0]);
    if (list->count < 64)
        list->at[list->count++] = submitted;
}

static void skipped_samples_are_told_of_in_order(void) {
    for (int threads = 0; threads < 3; threads++) {
        mldf_error err;
        struct skip_list skips = {{0}, 0};
        mldf_schema *schema = make_schema();
        mldf_writer_options options = MLDF_WRITER_OPTIONS_INIT;
        mldf_writer *w;
        mldf_write_result result = MLDF_WRITE_RESULT_INIT;
        mldf_reader *r;
        options.threads = threads;
        options.skip_bad_samples = true;
        options.skipped = note_skip;
        options.skipped_user = &skips;
        const char *path = path_of("skip.mldf");
        REQUIRE_STATUS(MLDF_OK, mldf_writer_open(path, schema, &options, &w, &err), &err);
        for (int64_t i = 0; i < 10000; i++) {
            char key[16];
            snprintf(key, sizeof key, "k%d", (int)i);
            CHECK_OK(put(w, i % 1000 == 7 ? 999 : i % 200, i % 1000 == 8 ? "nonsense" : "1", key, &err), &err);
        }
        CHECK_OK(mldf_writer_finish(w, &result, &err), &err);
        CHECK_EQ_U64(9980, result.samples);
        CHECK_EQ_U64(20, result.skipped);
        CHECK_EQ_U64(20, skips.count);
        for (size_t i = 0; i < skips.count; i++)
            CHECK_EQ_U64(i / 2 * 1000 + 7 + i % 2, skips.at[i]);
        REQUIRE_STATUS(MLDF_OK, mldf_reader_open(path, NULL, &r, &err), &err);
        uint64_t found = 0;
        CHECK_OK(mldf_reader_find_key(r, "k9", 2, &found, &err), &err);
        CHECK_EQ_U64(7, found);
        CHECK_STATUS(MLDF_E_NO_SAMPLE, mldf_reader_find_key(r, "k7", 2, &found, &err), &err);
        mldf_reader_close(r);
        dataset_check_verify(path, NULL, 9980);
        unlink(path);
        mldf_schema_free(schema);
    }
}

static void keys_are_all_or_none_and_unique(void) {
    static const char *const bad[][2] = {{"a", NULL}, {NULL, "a"}, {"a", "a"}, {"a", ""}, {"a", "\xff"}};
    for (size_t i = 0; i < 5; i++) {
        mldf_error err;
        mldf_schema *schema = make_schema();
        mldf_writer *w;
        REQUIRE_STATUS(MLDF_OK, mldf_writer_open(path_of("keys.mldf"), schema, NULL, &w, &err), &err);
        CHECK_OK(put(w, 1, "1", bad[i][0], &err), &err);
        mldf_status st = put(w, 1, "1", bad[i][1], &err);
        if (st < 0)
            mldf_writer_abort(w);
        else
            st = mldf_writer_finish(w, NULL, &err);
        CHECK_STATUS(MLDF_E_KEY, st, &err);
        CHECK_EQ_U64(1, err.sample);
        mldf_schema_free(schema);
    }
    CHECK_EQ_U64(0, files_left());
}

static void an_existing_target_is_only_replaced_on_request(void) {
    mldf_error err;
    mldf_schema *schema = make_schema();
    mldf_writer *w;
    const char *path = path_of("there.mldf");
    FILE *file = fopen(path, "w");
    fputs("precious", file);
    fclose(file);
    CHECK(chmod(path, 0640) == 0);
    CHECK_STATUS(MLDF_E_EXISTS, mldf_writer_open(path, schema, NULL, &w, &err), &err);
    mldf_writer_options options = MLDF_WRITER_OPTIONS_INIT;
    options.overwrite = true;
    REQUIRE_STATUS(MLDF_OK, mldf_writer_open(path, schema, &options, &w, &err), &err);
    CHECK_OK(put(w, 1, NULL, NULL, &err), &err);
    mldf_writer_abort(w);
    size_t bytes = 0;
    uint8_t *now = dataset_load(path, &bytes);
    CHECK_BYTES_EQ("precious", 8, now, bytes);
    free(now);
    REQUIRE_STATUS(MLDF_OK, mldf_writer_open(path, schema, &options, &w, &err), &err);
    CHECK_OK(put(w, 1, NULL, NULL, &err), &err);
    CHECK_OK(mldf_writer_finish(w, NULL, &err), &err);
    struct stat info;
    CHECK(stat(path, &info) == 0 && (info.st_mode & 0777) == 0640);
    dataset_check_verify(path, NULL, 1);
    unlink(path);
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_writer_open("/dev/null", schema, &options, &w, &err), &err);
    CHECK_STATUS(MLDF_E_NOT_FOUND, mldf_writer_open(path_of("no/such/folder.mldf"), schema, &options, &w, &err), &err);
    CHECK_EQ_U64(0, files_left());
    mldf_schema_free(schema);
}

static void *cancel_later(void *w) {
    usleep(20000);
    mldf_writer_cancel(w);
    return NULL;
}

static void a_cancel_from_another_thread_leaves_nothing(void) {
    for (int threads = 0; threads < 3; threads++) {
        mldf_error err;
        mldf_schema *schema = make_schema();
        mldf_writer_options options = MLDF_WRITER_OPTIONS_INIT;
        mldf_writer *w;
        pthread_t thread;
        options.threads = threads;
        REQUIRE_STATUS(MLDF_OK, mldf_writer_open(path_of("cancel.mldf"), schema, &options, &w, &err), &err);
        pthread_create(&thread, NULL, cancel_later, w);
        mldf_status st = MLDF_OK;
        while (st >= 0)
            st = put(w, 1, "{}", NULL, &err);
        CHECK_STATUS(MLDF_E_CANCELLED, st, &err);
        pthread_join(thread, NULL);
        mldf_writer_abort(w);
        CHECK_EQ_U64(0, files_left());
        mldf_schema_free(schema);
    }
}

static bool stop_now(void *user, const mldf_progress *progress) {
    (void)progress;
    *(int *)user += 1;
    return false;
}

static void a_progress_hook_that_says_no_cancels_finish(void) {
    mldf_error err;
    int calls = 0;
    mldf_schema *schema = make_schema();
    mldf_writer_options options = MLDF_WRITER_OPTIONS_INIT;
    mldf_writer *w;
    options.threads = 0;
    options.progress = stop_now;
    options.progress_user = &calls;
    REQUIRE_STATUS(MLDF_OK, mldf_writer_open(path_of("hook.mldf"), schema, &options, &w, &err), &err);
    mldf_status st = put(w, 1, "{}", NULL, &err);
    if (st >= 0)
        st = mldf_writer_finish(w, NULL, &err);
    CHECK_STATUS(MLDF_E_CANCELLED, st, &err);
    CHECK(calls > 0);
    CHECK_EQ_U64(0, files_left());
    mldf_schema_free(schema);
}

static void an_append_that_is_given_up_leaves_the_old_file(void) {
    mldf_error err;
    mldf_schema *schema = make_schema();
    mldf_writer *w, *second;
    const char *path = path_of("append.mldf");
    REQUIRE_STATUS(MLDF_OK, mldf_writer_open(path, schema, NULL, &w, &err), &err);
    CHECK_OK(put(w, 1, "{}", NULL, &err), &err);
    REQUIRE_STATUS(MLDF_OK, mldf_writer_finish(w, NULL, &err), &err);
    size_t before_bytes = 0, after_bytes = 0;
    uint8_t *before = dataset_load(path, &before_bytes);
    REQUIRE_STATUS(MLDF_OK, mldf_writer_open_append(path, NULL, &w, &err), &err);
    CHECK_STATUS(MLDF_E_BUSY, mldf_writer_open_append(path, NULL, &second, &err), &err);
    for (int i = 0; i < 9000; i++)
        CHECK_OK(put(w, 1, "[1,2,3]", NULL, &err), &err);
    mldf_writer_abort(w);
    uint8_t *after = dataset_load(path, &after_bytes);
    CHECK_BYTES_EQ(before, before_bytes, after, after_bytes);
    free(before);
    free(after);
    unlink(path);
    mldf_schema_free(schema);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(a_value_out_of_range_is_refused_at_once_with_its_place);
    RUN(a_bad_payload_surfaces_with_its_place_for_any_number_of_threads);
    RUN(the_first_of_two_bad_samples_is_named_for_any_number_of_threads);
    RUN(a_missing_value_of_a_plain_field_is_refused);
    RUN(skipped_samples_are_told_of_in_order);
    RUN(keys_are_all_or_none_and_unique);
    RUN(an_existing_target_is_only_replaced_on_request);
    RUN(a_cancel_from_another_thread_leaves_nothing);
    RUN(a_progress_hook_that_says_no_cancels_finish);
    RUN(an_append_that_is_given_up_leaves_the_old_file);
    return check_end();
}
