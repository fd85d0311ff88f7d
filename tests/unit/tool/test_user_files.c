/* User-defined types in the tools: value_json is what cat and head show, export_file is what extract and tar write, and diff compares what decode
 * gives. The type here stores a point of two f4; as a file it is CSV. */
#include <sys/stat.h>

#include "check.h"
#include "mldf/mldf.h"

enum { SAMPLES = 3, POINT = 0x8555 };

static mldf_status bind(void *user, const char *arguments, mldf_record_layout *layout, void **state, mldf_error *err) {
    (void)user, (void)arguments, (void)state, (void)err;
    *layout = (mldf_record_layout){16, 8, MLDF_FIELD_SIZE64, false};
    return MLDF_OK;
}

static mldf_status describe(void *user, const void *state, mldf_dtype *dtype, uint32_t *ndim, int64_t *dims,
                            mldf_error *err) {
    (void)user, (void)state, (void)err;
    *dtype = MLDF_F32;
    *ndim = 1;
    dims[0] = 2;
    return MLDF_OK;
}

static mldf_status encode(void *user, const void *state, const mldf_value *value, uint8_t *record, mldf_buffer *scratch,
                          const void **payload, uint64_t *payload_bytes, mldf_error *err) {
    (void)user, (void)state, (void)record, (void)scratch, (void)err;
    *payload = value->data;
    *payload_bytes = value->bytes;
    return MLDF_OK;
}

static mldf_status decode_into(void *user, void *worker, const void *state, const uint8_t *record, const void *payload,
                               uint64_t payload_bytes, void *dst, uint64_t *dims, mldf_error *err) {
    (void)user, (void)worker, (void)state, (void)record, (void)dims, (void)err;
    if (payload_bytes != 8)
        return MLDF_E_CORRUPT;
    memcpy(dst, payload, 8);
    return MLDF_OK;
}

static int point_text(const mldf_value *value, const char *form, char out[64]) {
    float p[2];
    memcpy(p, value->data, sizeof p);
    return snprintf(out, 64, form, (double)p[0], (double)p[1]);
}

static mldf_status value_json(void *user, const void *state, const mldf_value *value, mldf_buffer *out,
                              mldf_error *err) {
    char text[64];
    (void)user, (void)state;
    return mldf_buffer_append(out, text, (size_t)point_text(value, "{ \"x\": %g, \"y\": %g }", text), err);
}

static mldf_status export_file(void *user, const void *state, const mldf_value *value, mldf_buffer *scratch,
                               const char **ending, const void **data, uint64_t *bytes, mldf_error *err) {
    char text[64];
    (void)user, (void)state;
    mldf_status status = mldf_buffer_append(scratch, text, (size_t)point_text(value, "x,y\n%g,%g\n", text), err);
    *ending = "csv";
    *data = scratch->data;
    *bytes = scratch->size;
    return status;
}

static mldf_context *make_context(void) {
    mldf_type type = MLDF_TYPE_INIT;
    mldf_context *context = NULL;
    mldf_error err;
    type.id = POINT;
    type.name = "org.example.point";
    type.bind = bind;
    type.describe = describe;
    type.encode = encode;
    type.decode_into = decode_into;
    type.value_json = value_json;
    type.export_file = export_file;
    CHECK_OK(mldf_context_new(&context, &err), &err);
    CHECK_OK(mldf_context_register_type(context, &type, &err), &err);
    return context;
}

static void write_file(const char *path, const mldf_context *context, float last) {
    mldf_writer_options how = MLDF_WRITER_OPTIONS_INIT;
    mldf_schema *schema;
    mldf_writer *writer;
    mldf_error err;
    how.context = context;
    how.overwrite = true;
    REQUIRE_OK(mldf_schema_new(context, &schema, &err), &err);
    REQUIRE_OK(mldf_schema_add(schema, "at", POINT, NULL, 0, &err), &err);
    REQUIRE_OK(mldf_writer_open(path, schema, &how, &writer, &err), &err);
    for (int i = 0; i < SAMPLES; i++) {
        float p[2] = {(float)i, i == SAMPLES - 1 ? last : 0.5F};
        mldf_value value = {.kind = MLDF_KIND_ARRAY, .dtype = MLDF_F32, .data = p, .bytes = 8, .ndim = 1, .dims = {2}};
        CHECK_OK(mldf_writer_append(writer, &value, 1, NULL, 0, &err), &err);
    }
    CHECK_OK(mldf_writer_finish(writer, NULL, &err), &err);
    mldf_schema_free(schema);
}

static mldf_reader *open_file(const char *name, const mldf_context *context) {
    mldf_reader_options how = MLDF_READER_OPTIONS_INIT;
    mldf_reader *reader = NULL;
    mldf_error err;
    how.context = context;
    CHECK_OK(mldf_reader_open(check_tmp(name), &how, &reader, &err), &err);
    return reader;
}

/* A file's bytes, or as many as there is room for. */
static size_t read_file(const char *path, char *out, size_t room) {
    FILE *file = fopen(path, "rb");
    size_t bytes = file ? fread(out, 1, room, file) : 0;
    if (!file)
        check_fail(__FILE__, __LINE__, "no file %s", path);
    if (file)
        fclose(file);
    return bytes;
}

static bool contains(const char *data, size_t bytes, const char *text) {
    size_t n = strlen(text);
    for (size_t i = 0; i + n <= bytes; i++)
        if (memcmp(data + i, text, n) == 0)
            return true;
    return false;
}

static void people_see_value_json(void) {
    mldf_context *context = make_context();
    mldf_reader *reader = open_file("a.mldf", context);
    mldf_buffer scratch = MLDF_BUFFER_INIT, out = MLDF_BUFFER_INIT;
    mldf_value value;
    mldf_error err;
    REQUIRE_OK(mldf_reader_get(reader, 1, 0, &scratch, &value, &err), &err);
    CHECK_OK(mldf_value_describe(mldf_reader_schema(reader), 0, &value, false, &out, &err), &err);
    CHECK_BYTES_EQ("{\"x\":1,\"y\":0.5}", 15, out.data, out.size);
    mldf_buffer_free(&scratch);
    mldf_buffer_free(&out);
    mldf_reader_close(reader);
    mldf_context_free(context);
}

static void extract_and_tar_write_the_types_files(void) {
    mldf_context *context = make_context();
    mldf_reader *reader = open_file("a.mldf", context);
    mldf_extract_options how = MLDF_EXTRACT_OPTIONS_INIT;
    mldf_writer_options writing = MLDF_WRITER_OPTIONS_INIT;
    mldf_convert_options convert = MLDF_CONVERT_OPTIONS_INIT;
    mldf_pack_result result = MLDF_PACK_RESULT_INIT;
    mldf_error err;
    char folder[512], path[600], data[32768];
    const char *source;
    snprintf(folder, sizeof folder, "%s", check_tmp("points"));
    how.overwrite = true;
    REQUIRE_OK(mldf_extract(reader, folder, &how, &result, &err), &err);
    for (int i = 0; i < SAMPLES; i++) {
        char want[64];
        int n = snprintf(want, sizeof want, "x,y\n%d,0.5\n", i);
        snprintf(path, sizeof path, "%s/%d.csv", folder, i);
        size_t got = read_file(path, data, sizeof data);
        CHECK_BYTES_EQ(want, (size_t)n, data, got);
    }
    mldf_reader_close(reader);
    char from[512], to[512];
    snprintf(from, sizeof from, "%s", check_tmp("a.mldf"));
    snprintf(to, sizeof to, "%s", check_tmp("points.tar"));
    source = from;
    convert.writer = &writing;
    writing.context = context;
    writing.overwrite = true;
    REQUIRE_OK(mldf_convert(&source, 1, to, &convert, &result, &err), &err);
    size_t bytes = read_file(to, data, sizeof data);
    CHECK(contains(data, bytes, "csv") && contains(data, bytes, "x,y\n2,0.5\n"));
    mldf_context_free(context);
}

static void diff_compares_decoded_values(void) {
    mldf_context *context = make_context();
    mldf_reader *a = open_file("a.mldf", context), *b = open_file("b.mldf", context);
    mldf_diff_options how = MLDF_DIFF_OPTIONS_INIT;
    mldf_error err;
    uint64_t differences = 9;
    CHECK_OK(mldf_diff(a, a, &how, &differences, &err), &err);
    CHECK_EQ_U64(0, differences);
    CHECK_OK(mldf_diff(a, b, &how, &differences, &err), &err);
    CHECK_EQ_U64(1, differences);
    mldf_reader_close(a);
    mldf_reader_close(b);
    mldf_context_free(context);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    mldf_context *context = make_context();
    write_file(check_tmp("a.mldf"), context, 0.5F);
    write_file(check_tmp("b.mldf"), context, 0.75F);
    mldf_context_free(context);
    RUN(people_see_value_json);
    RUN(extract_and_tar_write_the_types_files);
    RUN(diff_compares_decoded_values);
    return check_end();
}
