/* What a user of the installed library would begin with: C99, and C++ as well. */
#include <stdio.h>
#include <string.h>

#include <mldf/mldf.h>

static int fail(const char *what, const mldf_error *err) {
    fprintf(stderr, "%s: %s\n", what, MLDF_ERROR_TEXT(err));
    return 1;
}

int main(int argc, char **argv) {
    const char *path = argc > 1 ? argv[1] : "program.mldf";
    mldf_error err;
    mldf_schema *schema = NULL;
    mldf_writer *writer = NULL;
    mldf_reader *reader = NULL;
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    mldf_value values[2];
    size_t i;

    if (mldf_schema_new(NULL, &schema, &err) < 0 || mldf_schema_add(schema, "label", MLDF_INT, NULL, 0, &err) < 0 ||
        mldf_schema_add(schema, "text", MLDF_TEXT, NULL, 0, &err) < 0)
        return fail("schema", &err);
    if (mldf_writer_open(path, schema, NULL, &writer, &err) < 0)
        return fail("open to write", &err);
    for (i = 0; i < 3; i++) {
        memset(values, 0, sizeof values);
        values[0].kind = MLDF_KIND_INT;
        values[0].as.i = (int64_t)i;
        values[1].kind = MLDF_KIND_TEXT;
        values[1].data = "hello";
        values[1].bytes = 5;
        if (mldf_writer_append(writer, values, 2, NULL, 0, &err) < 0) {
            mldf_writer_abort(writer);
            return fail("append", &err);
        }
    }
    if (mldf_writer_finish(writer, NULL, &err) < 0)
        return fail("finish", &err);
    mldf_schema_free(schema);

    if (mldf_reader_open(path, NULL, &reader, &err) < 0)
        return fail("open", &err);
    if (mldf_reader_get(reader, 2, 0, &scratch, values, &err) < 0 ||
        mldf_reader_get(reader, 2, 1, &scratch, values + 1, &err) < 0)
        return fail("get", &err);
    printf("mldf %s: %d samples, label %d, text %.*s\n", mldf_version(), (int)mldf_reader_sample_count(reader),
           (int)values[0].as.i, (int)values[1].bytes, (const char *)values[1].data);
    mldf_buffer_free(&scratch);
    mldf_reader_close(reader);
    return 0;
}
