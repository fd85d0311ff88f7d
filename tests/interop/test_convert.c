/* mldf_convert from the library's side: results, cancelling, options that contradict each other. tests/cli/cases/convert.sh has the
 * rules of each format. */
#include "check.h"
#include "mldf/mldf.h"

enum { SAMPLES = 300 };

static void path_of(char out[400], const char *name) {
    snprintf(out, 400, "%s/%s", check_tmpdir(), name);
}

/* Bytes, a label and a key for each sample. */
static void make_file(const char *path) {
    mldf_schema *schema;
    mldf_writer *writer;
    mldf_error err;
    CHECK_OK(mldf_schema_new(NULL, &schema, &err), &err);
    CHECK_OK(mldf_schema_add(schema, "image", MLDF_BYTES, NULL, 0, &err), &err);
    CHECK_OK(mldf_schema_add(schema, "label", MLDF_INT, NULL, MLDF_FIELD_NULLABLE, &err), &err);
    CHECK_OK(mldf_writer_open(path, schema, NULL, &writer, &err), &err);
    for (int i = 0; i < SAMPLES; i++) {
        uint8_t data[64];
        char key[16];
        mldf_value values[2] = {{0}, {0}};
        memset(data, i, sizeof data);
        values[0].kind = MLDF_KIND_BYTES;
        values[0].data = data;
        values[0].bytes = (uint64_t)(i % 65);
        values[1].kind = i % 7 ? MLDF_KIND_INT : MLDF_KIND_NULL;
        values[1].as.i = i;
        snprintf(key, sizeof key, "k%d", i);
        CHECK_OK(mldf_writer_append(writer, values, 2, key, strlen(key), &err), &err);
    }
    CHECK_OK(mldf_writer_finish(writer, NULL, &err), &err);
    mldf_schema_free(schema);
}

static void check_equal(const char *a, const char *b, uint64_t want) {
    mldf_reader *x, *y;
    mldf_error err;
    uint64_t differences = MLDF_NONE;
    CHECK_OK(mldf_reader_open(a, NULL, &x, &err), &err);
    CHECK_OK(mldf_reader_open(b, NULL, &y, &err), &err);
    CHECK_OK(mldf_diff(x, y, NULL, &differences, &err), &err);
    CHECK_EQ_U64(want, differences);
    mldf_reader_close(x);
    mldf_reader_close(y);
}

static void every_format_takes_the_samples_and_gives_them_back(void) {
    static const char *const formats[] = {"mldf", "tbl1", "tbl2", "beton", "tar"};
    /* TBL: no keys, no `image` of the type bytes; version 1 also no label, .beton no keys, tar other names and types. */
    char from[400], to[400];
    path_of(from, "source.mldf");
    make_file(from);
    const char *sources[] = {from}, *fields[] = {"image"};
    for (size_t i = 0; i < 5; i++) {
        mldf_writer_options writing = MLDF_WRITER_OPTIONS_INIT;
        mldf_convert_options options = MLDF_CONVERT_OPTIONS_INIT;
        mldf_pack_result result = MLDF_PACK_RESULT_INIT;
        mldf_error err;
        struct stat st;
        path_of(to, formats[i]);
        options.format = formats[i];
        options.writer = &writing;
        writing.threads = (int)i;
        if (i == 1 || i == 3) {
            options.fields = fields;
            options.field_count = 1;
        }
        CHECK_OK(mldf_convert(sources, 1, to, &options, &result, &err), &err);
        CHECK_EQ_U64(SAMPLES, result.written);
        CHECK(stat(to, &st) == 0);
        CHECK_EQ_U64((uint64_t)st.st_size, result.bytes);
        mldf_reader *reader;
        CHECK_OK(mldf_reader_open(to, NULL, &reader, &err), &err);
        CHECK_EQ_STR(formats[i], mldf_reader_format(reader));
        CHECK_EQ_U64(SAMPLES, mldf_reader_sample_count(reader));
        mldf_reader_close(reader);
    }
    path_of(to, "mldf");
    check_equal(from, to, 0);
}

static void bytes_do_not_depend_on_threads(void) {
    char from[400], one[400], many[400];
    mldf_error err;
    path_of(from, "source2.mldf");
    make_file(from);
    const char *sources[] = {from, from};
    path_of(one, "one.tbl");
    path_of(many, "many.tbl");
    for (int threads = 0; threads <= 4; threads += 4) {
        mldf_writer_options writing = MLDF_WRITER_OPTIONS_INIT;
        mldf_convert_options options = MLDF_CONVERT_OPTIONS_INIT;
        options.writer = &writing;
        writing.threads = threads;
#ifdef MLDF_HAVE_LZ4
        options.lz4 = true;
#endif
        CHECK_OK(mldf_convert(sources, 2, threads ? many : one, &options, NULL, &err), &err);
    }
    size_t a_bytes, b_bytes;
    uint8_t *a = check_read_file(one, &a_bytes), *b = check_read_file(many, &b_bytes);
    CHECK(a && b);
    CHECK_BYTES_EQ(a, a_bytes, b, b_bytes);
    free(a);
    free(b);
}

static bool stop(void *user, const mldf_progress *progress) {
    (void)user;
    CHECK_EQ_STR("convert", progress->phase);
    return false;
}

static void a_cancelled_run_leaves_nothing(void) {
    static const char *const formats[] = {"mldf", "tbl2", "beton", "tar"};
    char from[400], folder[400], to[800];
    path_of(from, "source3.mldf");
    path_of(folder, "cancelled");
    CHECK(mkdir(folder, 0777) == 0);
    make_file(from);
    const char *sources[] = {from}, *fields[] = {"image"};
    for (size_t i = 0; i < 4; i++) {
        mldf_writer_options writing = MLDF_WRITER_OPTIONS_INIT;
        mldf_convert_options options = MLDF_CONVERT_OPTIONS_INIT;
        mldf_error err;
        options.format = formats[i];
        options.writer = &writing;
        writing.progress = stop;
        options.fields = fields;
        options.field_count = 1;
        snprintf(to, sizeof to, "%s/out", folder);
        CHECK_STATUS(MLDF_E_CANCELLED, mldf_convert(sources, 1, to, &options, NULL, &err), &err);
        CHECK(rmdir(folder) == 0); /* empty */
        CHECK(mkdir(folder, 0777) == 0);
    }
}

static void what_makes_no_sense_is_refused(void) {
    char from[400], to[400];
    mldf_error err;
    path_of(from, "source4.mldf");
    path_of(to, "nothing.tbl");
    make_file(from);
    const char *sources[] = {from}, *both[] = {from, from}, *twice[] = {"image", "image"};
    mldf_convert_options options = MLDF_CONVERT_OPTIONS_INIT;
    options.format = "zip";
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_convert(sources, 1, to, &options, NULL, &err), &err);
    options.format = "tbl1";
    CHECK_STATUS(MLDF_E_SCHEMA, mldf_convert(sources, 1, to, &options, NULL, &err), &err);
    options.format = "beton";
    CHECK_STATUS(MLDF_E_NULL, mldf_convert(sources, 1, to, &options, NULL, &err), &err);
    CHECK_EQ_U64(0, err.sample);
    CHECK_EQ_STR("label", err.field);
    options.format = "mldf";
    CHECK_STATUS(MLDF_E_KEY, mldf_convert(both, 2, to, &options, NULL, &err), &err);
    options.fields = twice;
    options.field_count = 2;
    CHECK(mldf_convert(sources, 1, to, &options, NULL, &err) < 0);
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_convert(NULL, 0, to, NULL, NULL, &err), &err);
    CHECK(access(to, F_OK) != 0);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(every_format_takes_the_samples_and_gives_them_back);
    RUN(bytes_do_not_depend_on_threads);
    RUN(a_cancelled_run_leaves_nothing);
    RUN(what_makes_no_sense_is_refused);
    return check_end();
}
