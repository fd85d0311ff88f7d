/* Prints samples of a dataset as JSON, one on a line: every field, whatever its type, by mldf_value_json.
 *
 *     cc print_samples.c $(pkg-config --cflags --libs libmldf) && ./a.out FILE [COUNT]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <mldf/mldf.h>

static mldf_status print_sample(const mldf_reader *reader, uint64_t sample, mldf_buffer *scratch, mldf_buffer *line,
                                mldf_error *err) {
    const mldf_schema *schema = mldf_reader_schema(reader);
    mldf_status status = MLDF_OK;
    printf("%" PRIu64, sample);
    for (size_t i = 0; i < mldf_schema_field_count(schema) && status >= 0; i++) {
        mldf_value value;
        line->size = 0;
        status = mldf_reader_get(reader, sample, i, scratch, &value, err);
        if (status >= 0) /* false: large arrays and payloads as their size and hash */
            status = mldf_value_json(schema, i, &value, false, line, err);
        if (status >= 0)
            printf(" %s=%.*s", mldf_schema_field(schema, i)->name, (int)line->size, (const char *)line->data);
    }
    putchar('\n');
    return status;
}

int main(int argc, char **argv) {
    mldf_buffer scratch = MLDF_BUFFER_INIT, line = MLDF_BUFFER_INIT;
    mldf_reader *reader = NULL;
    mldf_error err;
    if (argc < 2) {
        fprintf(stderr, "usage: %s FILE [COUNT]\n", argv[0]);
        return 2;
    }
    mldf_status status = mldf_reader_open(argv[1], NULL, &reader, &err);
    uint64_t count = status >= 0 ? mldf_reader_sample_count(reader) : 0;
    if (argc > 2 && strtoull(argv[2], NULL, 10) < count)
        count = strtoull(argv[2], NULL, 10);
    for (uint64_t i = 0; i < count && status >= 0; i++)
        status = print_sample(reader, i, &scratch, &line, &err);
    if (status < 0)
        fprintf(stderr, "%s\n", MLDF_ERROR_TEXT(&err));
    mldf_buffer_free(&scratch);
    mldf_buffer_free(&line);
    mldf_reader_close(reader);
    return status < 0;
}
