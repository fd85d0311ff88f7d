/* Files of many fields: twice the fields are twice the comparisons of names, not four times. The comparisons are counted, so nothing
 * depends on how quick the machine is. */
#include <stdatomic.h>

#include "check.h"
#include "mldf/mldf.h"

static atomic_ulong compared;

int __real_strcmp(const char *a, const char *b);
int __real_strncmp(const char *a, const char *b, size_t bytes);
int __wrap_strcmp(const char *a, const char *b);
int __wrap_strncmp(const char *a, const char *b, size_t bytes);

int __wrap_strcmp(const char *a, const char *b) {
    atomic_fetch_add(&compared, 1);
    return __real_strcmp(a, b);
}
int __wrap_strncmp(const char *a, const char *b, size_t bytes) {
    atomic_fetch_add(&compared, 1);
    return __real_strncmp(a, b, bytes);
}

static char path[600], out[700];
enum { FEW = 500, MANY = 4 * FEW };

static void make_file(size_t fields) {
    mldf_schema *schema;
    mldf_writer *writer;
    mldf_error err;
    mldf_writer_options options = MLDF_WRITER_OPTIONS_INIT;
    mldf_value *values = calloc(fields, sizeof *values);
    options.overwrite = true;
    REQUIRE(values != NULL);
    CHECK_OK(mldf_schema_new(NULL, &schema, &err), &err);
    for (size_t i = 0; i < fields; i++) {
        char name[32];
        snprintf(name, sizeof name, "field%zu", i);
        CHECK_OK(mldf_schema_add(schema, name, MLDF_INT, NULL, 0, &err), &err);
        values[i].kind = MLDF_KIND_INT;
        values[i].as.i = (int64_t)i;
    }
    CHECK_OK(mldf_writer_open(path, schema, &options, &writer, &err), &err);
    CHECK_OK(mldf_writer_append(writer, values, fields, NULL, 0, &err), &err);
    CHECK_OK(mldf_writer_finish(writer, NULL, &err), &err);
    mldf_schema_free(schema);
    free(values);
}

static void load(mldf_reader *reader) {
    mldf_loader_options options = MLDF_LOADER_OPTIONS_INIT;
    mldf_loader *loader;
    mldf_error err;
    options.batch_size = 1;
    REQUIRE_STATUS(MLDF_OK, mldf_loader_new((const mldf_reader *const *)&reader, 1, &options, &loader, &err), &err);
    mldf_loader_free(loader);
}

static void to_tar(mldf_reader *reader) {
    mldf_convert_options options = MLDF_CONVERT_OPTIONS_INIT;
    const char *const sources[] = {path};
    mldf_error err;
    (void)reader;
    check_remove_tree(out);
    options.format = "tar";
    CHECK_OK(mldf_convert(sources, 1, out, &options, NULL, &err), &err);
}

static unsigned long comparisons(void (*act)(mldf_reader *), size_t fields) {
    mldf_reader *reader;
    mldf_error err;
    make_file(fields);
    CHECK_OK(mldf_reader_open(path, NULL, &reader, &err), &err);
    unsigned long before = atomic_load(&compared);
    act(reader);
    unsigned long count = atomic_load(&compared) - before;
    mldf_reader_close(reader);
    return count;
}

static void check_linear(void (*act)(mldf_reader *), const char *name) {
    unsigned long few = comparisons(act, FEW), many = comparisons(act, MANY);
    printf("    %s: %lu comparisons for %d fields, %lu for %d\n", name, few, FEW, many, MANY);
    CHECK(many < 8 * few + 1000); /* quadratic: 16 times */
    CHECK(many < 100u * MANY);
}

static void comparisons_grow_with_the_fields(void) {
    check_linear(load, "loader");
    check_linear(to_tar, "tar");
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    snprintf(path, sizeof path, "%s/wide.mldf", check_tmpdir());
    snprintf(out, sizeof out, "%s/out", check_tmpdir());
    RUN(comparisons_grow_with_the_fields);
    return check_end();
}
