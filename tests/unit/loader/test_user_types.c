/* User-defined types in a pipeline: the bytes that their decode gives; a type that gives anything else is refused sample by sample, one that
 * nobody registered when the loader is made. */
#include "loader_files.h"

enum { SAMPLES = 37 };

/* `twice` stores bytes and gives each of them twice, so that lengths are those of decode, not of the file. */
static mldf_status bind(void *user, const char *arguments, mldf_record_layout *layout, void **state, mldf_error *err) {
    (void)user, (void)arguments, (void)state, (void)err;
    *layout = (mldf_record_layout){16, 8, MLDF_FIELD_SIZE64, false};
    return MLDF_OK;
}

static mldf_status encode(void *user, const void *state, const mldf_value *value, uint8_t *record, mldf_buffer *scratch,
                          const void **payload, uint64_t *payload_bytes, mldf_error *err) {
    (void)user, (void)state, (void)record, (void)scratch, (void)err;
    *payload = value->data;
    *payload_bytes = value->bytes;
    return MLDF_OK;
}

/* user: not NULL for a type that gives the number of bytes instead. */
static mldf_status decode(void *user, const void *state, const uint8_t *record, const void *payload,
                          uint64_t payload_bytes, mldf_buffer *scratch, mldf_value *out, mldf_error *err) {
    (void)state, (void)record;
    if (user) {
        out->kind = MLDF_KIND_UINT;
        out->as.u = payload_bytes;
        return MLDF_OK;
    }
    scratch->size = 0;
    for (uint64_t i = 0; i < 2 * payload_bytes; i++)
        if (mldf_buffer_append(scratch, (const uint8_t *)payload + i / 2, 1, err) < 0)
            return MLDF_E_MEMORY;
    out->kind = MLDF_KIND_BYTES;
    out->data = scratch->data;
    out->bytes = scratch->size;
    return MLDF_OK;
}

static mldf_context *context_of(bool numbers) {
    static int mark;
    mldf_type type = MLDF_TYPE_INIT;
    mldf_context *context = NULL;
    mldf_error err;
    type.id = 0x8801;
    type.name = "org.example.twice";
    type.user = numbers ? &mark : NULL;
    type.bind = bind;
    type.encode = encode;
    type.decode = decode;
    CHECK_OK(mldf_context_new(&context, &err), &err);
    CHECK_OK(mldf_context_register_type(context, &type, &err), &err);
    return context;
}

static void write_file(const char *path) {
    mldf_context *context = context_of(false);
    mldf_schema *schema;
    mldf_writer *writer;
    mldf_error err;
    mldf_writer_options how = MLDF_WRITER_OPTIONS_INIT;
    how.context = context;
    how.overwrite = true;
    CHECK_OK(mldf_schema_new(context, &schema, &err), &err);
    CHECK_OK(mldf_schema_add(schema, "x", 0x8801, NULL, MLDF_FIELD_NULLABLE | MLDF_FIELD_COMPRESSED, &err), &err);
    CHECK_OK(mldf_schema_add(schema, "label", MLDF_INT, NULL, 0, &err), &err);
    CHECK_OK(mldf_writer_open(path, schema, &how, &writer, &err), &err);
    for (uint64_t i = 0; i < SAMPLES; i++) {
        mldf_value values[2] = {{.kind = MLDF_KIND_BYTES, .data = "abcdefghij", .bytes = i % 11},
                                {.kind = MLDF_KIND_INT, .as.i = (int64_t)i}};
        if (i % 5 == 3)
            values[0] = (mldf_value){.kind = MLDF_KIND_NULL};
        CHECK_OK(mldf_writer_append(writer, values, 2, NULL, 0, &err), &err);
    }
    CHECK_OK(mldf_writer_finish(writer, NULL, &err), &err);
    mldf_schema_free(schema);
    mldf_context_free(context);
}

static mldf_reader *open_with(const mldf_context *context) {
    mldf_reader_options how = MLDF_READER_OPTIONS_INIT;
    mldf_reader *reader = NULL;
    mldf_error err;
    how.context = context;
    CHECK_OK(mldf_reader_open(check_tmp("user.mldf"), &how, &reader, &err), &err);
    return reader;
}

static mldf_loader_options options(const mldf_context *context, const char *text) {
    mldf_loader_options o = files_options(text, 8, 2);
    o.context = context;
    return o;
}

static void check_batch(const mldf_batch *batch, const void *user) {
    const int64_t *offset = files_array(batch, "x_offset").data, *label = files_array(batch, "label").data;
    const char *x = files_array(batch, "x").data;
    (void)user;
    for (size_t i = 0; i < mldf_batch_sample_count(batch); i++) {
        int64_t bytes = label[i] % 5 == 3 ? 0 : 2 * (label[i] % 11);
        CHECK_EQ_INT(bytes, offset[i + 1] - offset[i]);
        for (int64_t k = 0; k < bytes; k++)
            CHECK_EQ_INT("abcdefghij"[k / 2], x[offset[i] + k]);
    }
}

static void bytes_are_those_that_decode_gives(void) {
    mldf_context *context = context_of(false);
    mldf_reader *reader = open_with(context);
    mldf_loader_options o = options(context, "x: fill | ragged");
    files_each(reader, &o, SAMPLES, 0, check_batch, NULL);
    mldf_reader_close(reader);
    mldf_context_free(context);
}

static void values_of_another_kind_are_bad_samples(void) {
    mldf_context *context = context_of(true);
    mldf_reader *reader = open_with(context);
    mldf_loader_options o = options(context, "x: fill | ragged");
    o.bad = MLDF_BAD_SKIP;
    mldf_loader *loader = files_loader(reader, &o);
    struct hashes hashes;
    mldf_bad_sample bad = MLDF_BAD_SAMPLE_INIT;
    mldf_error err;
    REQUIRE(loader);
    files_run(loader, &hashes);
    CHECK_EQ_U64(7, hashes.samples); /* the nulls */
    REQUIRE_OK(mldf_loader_bad_sample(loader, 0, &bad, &err), &err);
    CHECK_EQ_INT(MLDF_E_TYPE, bad.error.status);
    CHECK_EQ_STR("x", bad.error.field);
    mldf_loader_free(loader);
    mldf_reader_close(reader);
    mldf_context_free(context);
}

static void a_type_that_nobody_registered_is_refused(void) {
    mldf_reader *reader = open_with(NULL);
    mldf_loader_options o = options(NULL, "x: ragged");
    mldf_loader *loader;
    mldf_error err;
    CHECK_STATUS(MLDF_E_TYPE, mldf_loader_new((const mldf_reader *const[]){reader}, 1, &o, &loader, &err), &err);
    mldf_reader_close(reader);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    write_file(check_tmp("user.mldf"));
    RUN(bytes_are_those_that_decode_gives);
    RUN(values_of_another_kind_are_bad_samples);
    RUN(a_type_that_nobody_registered_is_refused);
    return check_end();
}
