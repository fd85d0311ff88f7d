/* Round trips of random schemas and samples: every value comes back, on both back ends, verified or not, and the bytes do not depend on
 * the number of threads. */
#include "dataset.h"

static const uint8_t key[32] = "0123456789abcdef0123456789abcde";

static void read_all_ways(const struct dataset *d, const char *path, const mldf_secret *secret) {
    for (int way = 0; way < 4; way++) {
        mldf_error err;
        mldf_reader *r;
        mldf_reader_options options = MLDF_READER_OPTIONS_INIT;
        options.backend = way & 1 ? MLDF_BACKEND_READ : MLDF_BACKEND_MAP;
        options.verify = way & 2;
        if (secret)
            options.secret = *secret;
        REQUIRE_STATUS(MLDF_OK, mldf_reader_open(path, &options, &r, &err), &err);
        dataset_check(d, r);
        mldf_reader_close(r);
    }
}

static void write_with_threads(const struct dataset *d, const char *dir, const mldf_writer_options *base) {
    static const int threads[] = {0, 1, 2, 8};
    char path[4][512];
    for (int i = 0; i < 4; i++) {
        mldf_error err;
        mldf_writer_options options = *base;
        options.threads = threads[i];
        options.overwrite = true;
        snprintf(path[i], sizeof path[i], "%s/t%d.mldf", dir, threads[i]);
        REQUIRE_STATUS(MLDF_OK, dataset_write(d, path[i], &options, &err), &err);
        if (i > 0 && !base->secret.key)
            dataset_check_same_files(path[0], path[i]);
    }
    const mldf_secret *secret = base->secret.key ? &base->secret : NULL;
    read_all_ways(d, path[2], secret);
    dataset_check_verify(path[3], secret, d->samples);
}

static void round_trip(uint64_t seed, struct dataset_shape shape, const mldf_writer_options *options) {
    struct dataset d;
    uint64_t state = seed;
    dataset_make(&d, &state, shape);
    write_with_threads(&d, check_tmpdir(), options);
    dataset_free(&d);
}

static uint64_t base_seed;

static void small_files_come_back_and_do_not_depend_on_threads(void) {
    mldf_writer_options options = MLDF_WRITER_OPTIONS_INIT;
    for (uint64_t i = 0; i < 60; i++)
        round_trip(base_seed + i, (struct dataset_shape){8, 40, 2000, i % 2, i % 3 == 0}, &options);
}

static void files_beyond_the_prelude_come_back(void) {
    mldf_writer_options options = MLDF_WRITER_OPTIONS_INIT;
    for (uint64_t i = 0; i < 6; i++)
        round_trip(base_seed + 1000 + i, (struct dataset_shape){5, 900, 30000, i % 2, i % 2 == 0}, &options);
}

static void many_small_samples_come_back(void) {
    mldf_writer_options options = MLDF_WRITER_OPTIONS_INIT;
    for (uint64_t i = 0; i < 3; i++)
        round_trip(base_seed + 2000 + i, (struct dataset_shape){3, 20000, 40, i == 1, true}, &options);
}

static void given_page_sizes_and_no_checksums_work(void) {
    mldf_writer_options options = MLDF_WRITER_OPTIONS_INIT;
    options.no_checksums = true;
    for (uint64_t i = 0; i < 6; i++) {
        options.page_size = i % 2 ? 4096 : 65536;
        round_trip(base_seed + 3000 + i, (struct dataset_shape){6, 300, 5000, true, false}, &options);
    }
}

static void dictionaries_and_cards_come_back(void) {
    mldf_writer_options options = MLDF_WRITER_OPTIONS_INIT;
    options.dictionary = true;
    options.card = "{\"title\": \"x\", \"classes\": [\"a\", \"b\"]}";
    options.card_bytes = strlen(options.card);
    for (uint64_t i = 0; i < 4; i++)
        round_trip(base_seed + 4000 + i, (struct dataset_shape){6, 3000, 300, true, false}, &options);
}

static void encrypted_files_come_back(void) {
    mldf_writer_options options = MLDF_WRITER_OPTIONS_INIT;
    options.secret.key = key;
    options.secret.key_bytes = sizeof key;
    if (!strstr(mldf_build_features(), "sodium")) {
        printf("skipped: this build has no libsodium\n");
        return;
    }
    for (uint64_t i = 0; i < 8; i++)
        round_trip(base_seed + 5000 + i, (struct dataset_shape){6, i % 2 ? 500 : 30, 9000, true, i % 2}, &options);
}

/* Append in pieces: the same samples, and every intermediate file is whole. */
static void appended_files_hold_all_samples(void) {
    for (uint64_t i = 0; i < 24; i++) {
        struct dataset d;
        mldf_error err;
        char path[512];
        uint64_t state = base_seed + 6000 + i;
        mldf_secret secret = {key, sizeof key, NULL, 0};
        bool encrypt = i % 4 == 3 && strstr(mldf_build_features(), "sodium");
        dataset_make(&d, &state, (struct dataset_shape){6, 200, i % 3 ? 500 : 30000, i % 2, i % 5 == 0});
        snprintf(path, sizeof path, "%s/append.mldf", check_tmpdir());
        mldf_writer_options options = MLDF_WRITER_OPTIONS_INIT;
        options.threads = (int)(i % 3);
        options.overwrite = true;
        options.no_checksums = i % 7 == 6;
        if (encrypt)
            options.secret = secret;
        size_t at = d.samples ? check_rand(&state) % d.samples : 0, all = d.samples;
        if (d.keys && at == 0 && all)
            at = 1; /* a file without samples does not know yet whether it has keys */
        d.samples = at;
        REQUIRE_STATUS(MLDF_OK, dataset_write(&d, path, &options, &err), &err);
        while (at < all || d.samples < all) {
            size_t to = at + 1 + check_rand(&state) % (all - at);
            mldf_writer *w;
            REQUIRE_STATUS(MLDF_OK, mldf_writer_open_append(path, &options, &w, &err), &err);
            REQUIRE_STATUS(MLDF_OK, dataset_feed(&d, w, at, to, &err), &err);
            REQUIRE_STATUS(MLDF_OK, mldf_writer_finish(w, NULL, &err), &err);
            d.samples = at = to;
            read_all_ways(&d, path, encrypt ? &secret : NULL);
            dataset_check_verify(path, encrypt ? &secret : NULL, d.samples);
        }
        d.samples = all;
        dataset_free(&d);
    }
}

/* An append without payloads leaves a last page without a sample; the payloads of the next one may begin in it. */
static void an_append_without_payloads_leaves_its_page_to_the_next(void) {
    mldf_error err;
    mldf_schema *schema;
    mldf_writer *w;
    char path[512];
    snprintf(path, sizeof path, "%s/pages.mldf", check_tmpdir());
    REQUIRE_STATUS(MLDF_OK, mldf_schema_new(NULL, &schema, &err), &err);
    REQUIRE_STATUS(MLDF_OK, mldf_schema_add(schema, "b", MLDF_BYTES, NULL, 0, &err), &err);
    for (int step = 0; step < 6; step++) {
        mldf_value v = {.kind = MLDF_KIND_BYTES, .data = "some bytes", .bytes = step % 2 ? 0 : 10};
        REQUIRE_STATUS(MLDF_OK,
                       step ? mldf_writer_open_append(path, NULL, &w, &err)
                            : mldf_writer_open(path, schema, NULL, &w, &err),
                       &err);
        CHECK_OK(mldf_writer_append(w, &v, 1, NULL, 0, &err), &err);
        REQUIRE_STATUS(MLDF_OK, mldf_writer_finish(w, NULL, &err), &err);
        dataset_check_verify(path, NULL, (uint64_t)step + 1);
    }
    mldf_schema_free(schema);
}

/* A stream has the bytes of a file but for its front header. */
static void stream_and_file_agree(const struct dataset *d, const mldf_writer_options *options, const char *stream,
                                  const char *plain) {
    mldf_error err;
    FILE *file = fopen(stream, "wb");
    mldf_writer *w;
    REQUIRE(file);
    REQUIRE_STATUS(MLDF_OK, mldf_writer_open_stream(fileno(file), d->schema, options, &w, &err), &err);
    REQUIRE_STATUS(MLDF_OK, dataset_feed(d, w, 0, d->samples, &err), &err);
    REQUIRE_STATUS(MLDF_OK, mldf_writer_finish(w, NULL, &err), &err);
    fclose(file);
    REQUIRE_STATUS(MLDF_OK, dataset_write(d, plain, options, &err), &err);
    size_t a_bytes = 0, b_bytes = 0;
    uint8_t *a = dataset_load(stream, &a_bytes), *b = dataset_load(plain, &b_bytes);
    REQUIRE(a && b);
    CHECK_BYTES_EQ(b + 73, b_bytes - 73, a + 73, a_bytes - 73);
    free(a);
    free(b);
}

static void streamed_files_come_back(void) {
    for (uint64_t i = 0; i < 10; i++) {
        struct dataset d;
        char stream[512], plain[512];
        uint64_t state = base_seed + 7000 + i;
        dataset_make(&d, &state, (struct dataset_shape){6, i < 5 ? 50 : 600, i < 5 ? 500 : 20000, i % 2, false});
        snprintf(stream, sizeof stream, "%s/stream.mldf", check_tmpdir());
        snprintf(plain, sizeof plain, "%s/plain.mldf", check_tmpdir());
        mldf_writer_options options = MLDF_WRITER_OPTIONS_INIT;
        options.overwrite = true;
        options.threads = (int)(i % 4);
        stream_and_file_agree(&d, &options, stream, plain);
        read_all_ways(&d, stream, NULL);
        dataset_free(&d);
    }
}

/* A file that outgrows the layout with small pages was written in part by then; nothing of that may show in the holes of the other
 * layout. A stream is written only once, so it has the bytes that are right. */
static void what_outgrows_small_pages_leaves_nothing_behind(void) {
    enum { BYTES = 600000, SAMPLES = 40 };
    struct dataset d = {.fields = 1, .samples = SAMPLES};
    mldf_error err;
    REQUIRE_STATUS(MLDF_OK, mldf_schema_new(NULL, &d.schema, &err), &err);
    REQUIRE_STATUS(MLDF_OK, mldf_schema_add(d.schema, "x", MLDF_BYTES, NULL, 0, &err), &err);
    d.values = calloc(SAMPLES, sizeof *d.values);
    for (size_t i = 0; i < SAMPLES; i++) {
        uint8_t *bytes = malloc(BYTES);
        memset(bytes, 0xA5, BYTES);
        d.values[i] = (mldf_value){.kind = MLDF_KIND_BYTES, .data = bytes, .bytes = BYTES - 7 * i};
    }
    for (int threads = 0; threads < 3; threads += 2) {
        char stream[512], plain[512];
        snprintf(stream, sizeof stream, "%s/outgrown_stream.mldf", check_tmpdir());
        snprintf(plain, sizeof plain, "%s/outgrown.mldf", check_tmpdir());
        mldf_writer_options options = MLDF_WRITER_OPTIONS_INIT;
        options.overwrite = true;
        options.threads = threads;
        stream_and_file_agree(&d, &options, stream, plain);
    }
    dataset_free(&d);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    base_seed = check_seed();
    RUN(small_files_come_back_and_do_not_depend_on_threads);
    RUN(files_beyond_the_prelude_come_back);
    RUN(many_small_samples_come_back);
    RUN(given_page_sizes_and_no_checksums_work);
    RUN(dictionaries_and_cards_come_back);
    RUN(encrypted_files_come_back);
    RUN(appended_files_hold_all_samples);
    RUN(an_append_without_payloads_leaves_its_page_to_the_next);
    RUN(streamed_files_come_back);
    RUN(what_outgrows_small_pages_leaves_nothing_behind);
    return check_end();
}
