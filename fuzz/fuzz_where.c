/* Any text as a predicate of select, over a small file with a field of every type: compiled, and where that succeeds asked for every
 * sample. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mldf/mldf.h"
#include "tool/where.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char schema_text[] =
    "{\"fields\":[{\"name\":\"i\",\"type\":\"int\",\"nullable\":true},{\"name\":\"b\",\"type\":\"int\",\"dtype\":\"|b1\"},"
    "{\"name\":\"f\",\"type\":\"float\"},{\"name\":\"t\",\"type\":\"text\"},{\"name\":\"y\",\"type\":\"bytes\"},"
    "{\"name\":\"j\",\"type\":\"json\"},{\"name\":\"a\",\"type\":\"ndarray\",\"dtype\":\"<f2\",\"shape\":[null,2]},"
    "{\"name\":\"p\",\"type\":\"inline\",\"descr\":[[\"x\",\"<f4\"],[\"s\",\"|S3\"],[\"q\",[[\"u\",\"<U2\"]],[2]]]}]}";

static mldf_status add_sample(mldf_writer *writer, int n, mldf_error *err) {
    static const uint8_t bytes[8] = {0, 60, 0, 64, 0, 66, 0, 68},
                         record[23] = {0, 0, 128, 63, 'a', 'b', 0, 'x', [15] = 'y'};
    static const char *const json[] = {"{\"k\":[1,\"two\",null,{\"d\":true}],\"n\":18446744073709551615}", "[]",
                                       "\"s\""};
    mldf_value v[8];
    memset(v, 0, sizeof v);
    v[0].kind = n ? MLDF_KIND_INT : MLDF_KIND_NULL;
    v[0].as.i = -n;
    v[1].kind = MLDF_KIND_INT;
    v[1].as.i = n & 1;
    v[2].kind = MLDF_KIND_FLOAT;
    v[2].as.f = n / 3.0;
    v[3] = (mldf_value){.kind = MLDF_KIND_TEXT, .data = "Text", .bytes = (uint64_t)n};
    v[4] = (mldf_value){.kind = MLDF_KIND_BYTES, .data = bytes, .bytes = 3};
    v[5] = (mldf_value){.kind = MLDF_KIND_TEXT, .data = json[n % 3], .bytes = strlen(json[n % 3])};
    v[6] = (mldf_value){.kind = MLDF_KIND_ARRAY, .data = bytes, .bytes = 4 * (uint64_t)n, .dtype = MLDF_F16, .ndim = 2};
    v[6].dims[0] = (uint64_t)n;
    v[6].dims[1] = 2;
    v[7] = (mldf_value){.kind = MLDF_KIND_STRUCT, .data = record, .bytes = sizeof record};
    char key[2] = {(char)('a' + n), 0};
    return mldf_writer_append(writer, v, 8, key, 1, err);
}

/* A file in memory, made once. */
static mldf_reader *make_file(void) {
    mldf_error err;
    mldf_schema *schema = NULL;
    mldf_writer *writer = NULL;
    mldf_reader *reader = NULL;
    mldf_writer_options options = MLDF_WRITER_OPTIONS_INIT;
    int fd = memfd_create("where", 0);
    options.threads = 0;
    if (fd < 0 || mldf_schema_parse(NULL, schema_text, strlen(schema_text), &schema, &err) < 0 ||
        mldf_writer_open_stream(fd, schema, &options, &writer, &err) < 0)
        abort();
    for (int n = 0; n < 3; n++)
        if (add_sample(writer, n, &err) < 0)
            abort();
    if (mldf_writer_finish(writer, NULL, &err) < 0)
        abort();
    size_t bytes = (size_t)lseek(fd, 0, SEEK_END);
    void *data = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (data == MAP_FAILED || mldf_reader_open_memory(data, bytes, NULL, &reader, &err) < 0)
        abort();
    close(fd);
    mldf_schema_free(schema);
    return reader;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static mldf_reader *reader;
    struct where *where;
    mldf_error err;
    bool found;
    if (!reader)
        reader = make_file();
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = 0;
    if (mldfi_where_compile(reader, text, &where, &err) == MLDF_OK) {
        for (uint64_t i = 0; i < 3; i++)
            if (mldfi_where_test(where, i, &found, &err) < 0)
                abort();
        mldfi_where_free(where);
    } else if (strcmp(err.path, "where") != 0) {
        abort();
    }
    free(text);
    return 0;
}
