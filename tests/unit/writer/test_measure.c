/* The meter against real files: the same number of bytes after every sample, whatever the schema, the options and the size. */
#include <sys/stat.h>

#include "dataset.h"
#include "tool/copy_sample.h"
#include "writer/measure.h"

static const char *path_of(const char *name) {
    static char paths[4][512];
    static unsigned next;
    char *out = paths[next++ % 4];
    snprintf(out, 512, "%s/%s", check_tmpdir(), name);
    return out;
}

struct source {
    struct copy_fields fields;
    struct copy_sample sample;
};

static void source_begin(struct source *s, const mldf_reader *reader, const mldf_schema *schema) {
    mldf_error err;
    memset(s, 0, sizeof *s);
    s->fields.stored = true;
    s->fields.keys = mldf_reader_has_keys(reader);
    REQUIRE_OK(mldfi_fields_begin(&s->fields, schema, &err), &err);
    REQUIRE_OK(mldfi_fields_match(&s->fields, mldf_reader_schema(reader), &err), &err);
    REQUIRE_OK(mldfi_sample_begin(&s->sample, s->fields.count, &err), &err);
}

static void source_end(struct source *s) {
    mldfi_sample_end(&s->sample, s->fields.count);
    mldfi_fields_end(&s->fields);
}

/* Size of the file that the first `count` samples of the reader make. */
static uint64_t real_size(const mldf_reader *reader, const mldf_schema *schema, const mldf_writer_options *options,
                          uint64_t count) {
    struct source s;
    const struct copy_sample *c = &s.sample;
    mldf_error err;
    mldf_write_result result = MLDF_WRITE_RESULT_INIT;
    mldf_writer *writer = NULL;
    struct stat st;
    source_begin(&s, reader, schema);
    CHECK_OK(mldf_writer_open(path_of("real.mldf"), schema, options, &writer, &err), &err);
    for (uint64_t i = 0; i < count; i++) {
        CHECK_OK(mldfi_sample_load(&s.sample, &s.fields, reader, i, &err), &err);
        CHECK_OK(mldf_writer_append(writer, c->values, s.fields.count, c->key, c->key_bytes, &err), &err);
    }
    CHECK_OK(mldf_writer_finish(writer, &result, &err), &err);
    source_end(&s);
    CHECK(stat(path_of("real.mldf"), &st) == 0);
    CHECK_EQ_U64(result.file_bytes, (uint64_t)st.st_size);
    return result.file_bytes;
}

static void compare(const struct dataset *d, const mldf_writer_options *options, uint64_t every) {
    struct size_meter meter;
    struct source s;
    const struct copy_sample *c = &s.sample;
    mldf_error err;
    mldf_reader *r = NULL;
    uint64_t size = 0;
    REQUIRE_OK(mldf_reader_open(path_of("source.mldf"), NULL, &r, &err), &err);
    REQUIRE_OK(mldfi_meter_begin(&meter, d->schema, options, &err), &err);
    source_begin(&s, r, d->schema);
    CHECK_EQ_U64(real_size(r, d->schema, options, 0), mldfi_meter_bytes(&meter));
    for (uint64_t i = 0; i < d->samples; i++) {
        REQUIRE_OK(mldfi_sample_load(&s.sample, &s.fields, r, i, &err), &err);
        REQUIRE_OK(mldfi_meter_try(&meter, c->values, c->key, c->key_bytes, &size, &err), &err);
        mldfi_meter_keep(&meter);
        if (i % every == 0 || i + 1 == d->samples)
            CHECK_EQ_U64(real_size(r, d->schema, options, i + 1), size);
        CHECK_EQ_U64(size, mldfi_meter_bytes(&meter));
    }
    mldfi_meter_reset(&meter);
    CHECK_EQ_U64(real_size(r, d->schema, options, 0), mldfi_meter_bytes(&meter));
    source_end(&s);
    mldfi_meter_free(&meter);
    mldf_reader_close(r);
}

static void make_source(struct dataset *d, uint64_t *state, struct dataset_shape shape) {
    mldf_writer_options options = MLDF_WRITER_OPTIONS_INIT;
    mldf_error err;
    dataset_make(d, state, shape);
    options.overwrite = true;
    REQUIRE_OK(dataset_write(d, path_of("source.mldf"), &options, &err), &err);
}

static void meter_equals_real_files(void) {
    static const uint8_t key[32] = {1};
    uint64_t state = check_seed();
    for (unsigned round = 0; round < 24; round++) {
        struct dataset d;
        mldf_writer_options options = MLDF_WRITER_OPTIONS_INIT;
        make_source(&d, &state, (struct dataset_shape){6, 90, round % 3 ? 900 : 6000, true, round % 2 == 0});
        options.overwrite = true;
        options.page_size = round % 4 == 1 ? 4096 : round % 4 == 2 ? 65536 : 0;
        options.no_checksums = round % 5 == 0;
        if (round % 3 == 0) {
            options.card = " {\"b\": 1, \"a\": [ 1.50 ]} ";
            options.card_bytes = strlen(options.card);
        }
        if (round % 6 == 4 && strstr(mldf_build_features(), "sodium"))
            options.secret = (mldf_secret){key, sizeof key, NULL, 0};
        compare(&d, &options, 7);
        dataset_free(&d);
    }
}

/* 16 MiB of data is where the page size changes. */
static void meter_equals_real_files_around_16_mib(void) {
    uint64_t state = check_seed();
    for (unsigned round = 0; round < 3; round++) {
        struct dataset d;
        mldf_writer_options options = MLDF_WRITER_OPTIONS_INIT;
        do
            make_source(&d, &state, (struct dataset_shape){4, 120, 400000, round == 1, true});
        while ((d.samples < 60 || mldf_schema_field(d.schema, 0)->type_id != MLDF_BYTES) && (dataset_free(&d), true));
        options.overwrite = true;
        compare(&d, &options, 9);
        dataset_free(&d);
    }
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(meter_equals_real_files);
    RUN(meter_equals_real_files_around_16_mib);
    return check_end();
}
