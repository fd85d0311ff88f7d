/* Keys that are there twice: the later sample is skipped and told of, or ends the file at once; whatever the threads, in new files and
 * behind old ones, and where the set is full at least at the end. */
#include "check.h"
#include "mldf/mldf.h"
#include "writer/writer.h"

enum { SAMPLES = 30000, DIFFERENT = 20000 };

struct told {
    uint64_t count;
    uint8_t skipped[SAMPLES];
};

static void on_skipped(void *user, uint64_t submitted, const mldf_error *why) {
    struct told *told = user;
    CHECK_EQ_INT(MLDF_E_KEY, why->status);
    REQUIRE(submitted < SAMPLES);
    told->skipped[submitted] = 1;
    told->count++;
}

static const char *path_of(const char *name) {
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", check_tmpdir(), name);
    return path;
}

static mldf_writer *open_writer(const char *path, mldf_writer_options *options, bool append) {
    mldf_schema *schema = NULL;
    mldf_writer *w = NULL;
    mldf_error err;
    if (append) {
        CHECK_OK(mldf_writer_open_append(path, options, &w, &err), &err);
        return w;
    }
    CHECK_OK(mldf_schema_new(NULL, &schema, &err), &err);
    CHECK_OK(mldf_schema_add(schema, "n", MLDF_INT, NULL, 0, &err), &err);
    CHECK_OK(mldf_schema_add(schema, "b", MLDF_BYTES, NULL, 0, &err), &err);
    options->overwrite = true;
    CHECK_OK(mldf_writer_open(path, schema, options, &w, &err), &err);
    mldf_schema_free(schema);
    return w;
}

static mldf_status add(mldf_writer *w, uint64_t n, uint64_t key, mldf_error *err) {
    char text[32];
    mldf_value values[2] = {{0}, {0}};
    int bytes = snprintf(text, sizeof text, "key-%llu", (unsigned long long)key);
    values[0].kind = MLDF_KIND_INT;
    values[0].as.i = (int64_t)n;
    values[1].kind = MLDF_KIND_BYTES;
    values[1].data = (const uint8_t *)text;
    values[1].bytes = (uint64_t)bytes;
    return mldf_writer_append(w, values, 2, text, (size_t)bytes, err);
}

/* Every sample of the file has the number that came first with its key. */
static void check_file(const char *path, const uint64_t *first, uint64_t want) {
    mldf_reader *r = NULL;
    mldf_error err;
    mldf_value value;
    uint64_t found;
    char text[32];
    REQUIRE_OK(mldf_reader_open(path, NULL, &r, &err), &err);
    CHECK_EQ_U64(want, mldf_reader_sample_count(r));
    for (uint64_t k = 0; k < DIFFERENT; k++) {
        int bytes = snprintf(text, sizeof text, "key-%llu", (unsigned long long)k);
        mldf_status st = mldf_reader_find_key(r, text, (size_t)bytes, &found, &err);
        CHECK((st == MLDF_OK) == (first[k] != MLDF_NONE));
        if (st != MLDF_OK)
            continue;
        CHECK_OK(mldf_reader_get(r, found, 0, NULL, &value, &err), &err);
        CHECK_EQ_U64(first[k], (uint64_t)value.as.i);
    }
    mldf_reader_close(r);
}

static void the_later_sample_is_skipped(void) {
    static struct told told;
    static uint64_t first[DIFFERENT], keys[SAMPLES];
    for (int threads = 0; threads < 4; threads += 3)
        for (unsigned parts = 1; parts < 3; parts++) {
            uint64_t state = check_seed(), kept = 0, n = 0;
            const char *path = path_of("skip.mldf");
            mldf_error err;
            memset(first, 0xff, sizeof first);
            for (size_t i = 0; i < SAMPLES; i++) {
                keys[i] = check_rand(&state) % DIFFERENT;
                if (first[keys[i]] == MLDF_NONE) {
                    first[keys[i]] = i;
                    kept++;
                }
            }
            uint64_t skipped = 0;
            for (unsigned part = 0; part < parts; part++) {
                mldf_writer_options options = MLDF_WRITER_OPTIONS_INIT;
                mldf_write_result result = MLDF_WRITE_RESULT_INIT;
                memset(&told, 0, sizeof told);
                options.threads = threads;
                options.skip_bad_samples = true;
                options.skipped = on_skipped;
                options.skipped_user = &told;
                mldf_writer *w = open_writer(path, &options, part > 0);
                uint64_t begin = n, end = part + 1 == parts ? SAMPLES : SAMPLES / 3;
                REQUIRE(w != NULL);
                for (; n < end; n++)
                    CHECK_OK(add(w, n, keys[n], &err), &err);
                CHECK_OK(mldf_writer_finish(w, &result, &err), &err);
                CHECK_EQ_U64(told.count, result.skipped);
                for (uint64_t i = begin; i < end; i++)
                    CHECK_EQ_U64(first[keys[i]] != i, told.skipped[i - begin]);
                skipped += told.count;
            }
            CHECK_EQ_U64(SAMPLES - kept, skipped);
            check_file(path, first, kept);
        }
}

static void without_skipping_the_file_ends_at_once(void) {
    for (int threads = 0; threads < 3; threads += 2) {
        mldf_writer_options options = MLDF_WRITER_OPTIONS_INIT;
        mldf_error err;
        mldf_status st = MLDF_OK;
        uint64_t n = 0;
        options.threads = threads;
        mldf_writer *w = open_writer(path_of("stop.mldf"), &options, false);
        REQUIRE(w != NULL);
        for (; n < 1000000 && st >= 0; n++)
            st = add(w, n, n == 9000 ? 17 : n, &err);
        CHECK_STATUS(MLDF_E_KEY, st, &err);
        CHECK(n < 500000); /* long before the end, though not at the very sample */
        CHECK_EQ_STR("samples 17 and 9000 have the same key \"key-17\"", err.message);
        CHECK_EQ_U64(9000, err.sample);
        mldf_writer_abort(w);
        CHECK(access(path_of("stop.mldf"), F_OK) != 0);
    }
}

/* 768 keys: what comes after them is compared with these, and at the end with everything. */
static void a_full_set_leaves_the_rest_to_the_end(void) {
    static struct told told;
    mldf_writer_options options = MLDF_WRITER_OPTIONS_INIT;
    mldf_write_result result = MLDF_WRITE_RESULT_INIT;
    mldf_error err;
    memset(&told, 0, sizeof told);
    options.skip_bad_samples = true;
    options.skipped = on_skipped;
    options.skipped_user = &told;
    for (int twice = 0; twice < 2; twice++) {
        mldf_writer *w = open_writer(path_of("full.mldf"), &options, false);
        REQUIRE(w != NULL);
        w->seen.max_bits = 10;
        for (uint64_t n = 0; n < 9000; n++)
            CHECK_OK(add(w, n, n == 8000 ? 5 : twice && n == 8500 ? 8100 : n, &err), &err);
        CHECK_STATUS(twice ? MLDF_E_KEY : MLDF_OK, mldf_writer_finish(w, &result, &err), &err);
        CHECK_EQ_U64(1, told.count);
        CHECK_EQ_U64(1, told.skipped[8000]);
        memset(&told, 0, sizeof told);
    }
}

/* A sample that is bad for another reason does not take its key with it. */
static void the_key_of_a_bad_sample_is_free(void) {
    mldf_schema *schema;
    mldf_writer *w;
    mldf_error err;
    mldf_writer_options options = MLDF_WRITER_OPTIONS_INIT;
    mldf_write_result result = MLDF_WRITE_RESULT_INIT;
    options.skip_bad_samples = true;
    CHECK_OK(mldf_schema_new(NULL, &schema, &err), &err);
    CHECK_OK(mldf_schema_add(schema, "j", MLDF_JSON, NULL, 0, &err), &err);
    CHECK_OK(mldf_writer_open(path_of("free.mldf"), schema, &options, &w, &err), &err);
    const char *texts[] = {"1", "{", "2", "3", "4"}, *keys[] = {"a", "b", "b", "b", "a"};
    for (size_t i = 0; i < 5; i++) {
        mldf_value value = {0};
        value.kind = MLDF_KIND_TEXT;
        value.data = (const uint8_t *)texts[i];
        value.bytes = strlen(texts[i]);
        CHECK_OK(mldf_writer_append(w, &value, 1, keys[i], 1, &err), &err);
    }
    CHECK_OK(mldf_writer_finish(w, &result, &err), &err);
    CHECK_EQ_U64(2, result.samples);
    CHECK_EQ_U64(3, result.skipped);
    mldf_schema_free(schema);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(the_later_sample_is_skipped);
    RUN(without_skipping_the_file_ends_at_once);
    RUN(a_full_set_leaves_the_rest_to_the_end);
    RUN(the_key_of_a_bad_sample_is_free);
    return check_end();
}
