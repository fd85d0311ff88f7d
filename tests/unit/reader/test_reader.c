/* The reader: zero-copy, scratch buffers, batches, pointers, verification on demand, warnings, user-defined types, threads. */
#include <fcntl.h>
#include <pthread.h>

#include "made.h"

static const char *path_of(const char *name, const struct made *made) {
    const char *path = check_tmp(name);
    made_file(path, made);
    return path;
}

static mldf_reader *open_with(const char *path, mldf_backend backend, bool verify) {
    mldf_reader_options options = MLDF_READER_OPTIONS_INIT;
    mldf_reader *r = NULL;
    mldf_error err;
    options.backend = backend;
    options.verify = verify;
    CHECK_OK(mldf_reader_open(path, &options, &r, &err), &err);
    return r;
}

static void every_sample_reads_back_through_every_source(void) {
    const char *path = path_of("all.mldf", &(struct made){.samples = 500, .keys = true});
    for (int i = 0; i < 4; i++) {
        mldf_reader *r = open_with(path, i & 1 ? MLDF_BACKEND_READ : MLDF_BACKEND_MAP, i >= 2);
        REQUIRE(r);
        CHECK_EQ_U64(500, mldf_reader_sample_count(r));
        for (uint64_t s = 0; s < 500; s++) {
            mldf_error err = {0};
            uint64_t found;
            char key[64];
            if (!made_is(r, s, s, &err))
                check_fail(__FILE__, __LINE__, "sample %" PRIu64 ": %s", s, err.message);
            int bytes = snprintf(key, sizeof key, "key-%" PRIu64, s);
            CHECK_OK(mldf_reader_find_key(r, key, (size_t)bytes, &found, &err), &err);
            CHECK_EQ_U64(s, found);
        }
        mldf_reader_close(r);
    }
}

static void raw_payloads_of_a_mapping_need_no_scratch_and_no_copy(void) {
    const char *path = path_of("raw.mldf", &(struct made){.samples = 20});
    mldf_reader *r = open_with(path, MLDF_BACKEND_MAP, false);
    REQUIRE(r);
    const void *rows, *again;
    uint64_t bytes;
    mldf_error err;
    mldf_value a, b;
    REQUIRE_OK(mldf_reader_rows(r, &rows, &bytes, &err), &err);
    CHECK_EQ_U64(20 * mldf_schema_row_bytes(mldf_reader_schema(r)), bytes);
    REQUIRE_OK(mldf_reader_get(r, 2, MADE_BLOB, NULL, &a, &err), &err);
    REQUIRE_OK(mldf_reader_get(r, 2, MADE_BLOB, NULL, &b, &err), &err);
    CHECK(a.data == b.data);
    again = (const uint8_t *)rows + 2 * mldf_schema_row_bytes(mldf_reader_schema(r)) +
            mldf_schema_field(mldf_reader_schema(r), MADE_BLOB)->row_offset;
    CHECK(a.record == again);
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_reader_get(r, 2, MADE_PACKED, NULL, &a, &err), &err);
    mldf_reader_close(r);
    r = open_with(path, MLDF_BACKEND_READ, false);
    REQUIRE(r);
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_reader_get(r, 2, MADE_BLOB, NULL, &a, &err), &err);
    CHECK_STATUS(MLDF_E_STATE, mldf_reader_rows(r, &rows, &bytes, &err), &err);
    CHECK(!mldf_reader_is_mapped(r));
    mldf_reader_close(r);
}

static void what_is_not_there_is_named(void) {
    const char *path = path_of("few.mldf", &(struct made){.samples = 3});
    mldf_reader *r = open_with(path, MLDF_BACKEND_MAP, false);
    mldf_error err;
    mldf_value v;
    uint64_t n = 3, out;
    REQUIRE(r);
    CHECK_STATUS(MLDF_E_NO_SAMPLE, mldf_reader_get(r, 3, 0, NULL, &v, &err), &err);
    CHECK_EQ_U64(3, err.sample);
    CHECK_CONTAINS("few.mldf", TEXT(err));
    CHECK_STATUS(MLDF_E_NO_FIELD, mldf_reader_get(r, 0, MADE_FIELDS, NULL, &v, &err), &err);
    CHECK_STATUS(MLDF_E_NO_SAMPLE, mldf_reader_get_many(r, &n, 1, 0, NULL, &v, &err), &err);
    CHECK_STATUS(MLDF_E_NO_FIELD, mldf_reader_get_many(r, &n, 1, 99, NULL, &v, &err), &err);
    CHECK_STATUS(MLDF_E_KEY, mldf_reader_find_key(r, "a", 1, &out, &err), &err);
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_reader_get(NULL, 0, 0, NULL, &v, &err), &err);
    mldf_reader_close(r);
    mldf_reader_close(NULL);
    CHECK_STATUS(MLDF_E_NOT_FOUND, mldf_reader_open(check_tmp("nowhere.mldf"), NULL, &r, &err), &err);
    CHECK(r == NULL);
    CHECK(mldf_reader_open(check_tmpdir(), NULL, &r, &err) < 0);
}

static void gather_copies_items_and_zeros_for_nulls(void) {
    const char *path = path_of("gather.mldf", &(struct made){.samples = 50});
    for (int backend = 0; backend < 2; backend++) {
        mldf_reader *r = open_with(path, (mldf_backend)backend, backend == 1);
        uint64_t order[50];
        int64_t labels[50];
        uint16_t fixed[50][4];
        mldf_error err;
        REQUIRE(r);
        for (uint64_t i = 0; i < 50; i++)
            order[i] = (i * 17) % 50;
        REQUIRE_OK(mldf_reader_gather(r, order, 50, MADE_LABEL, labels, 8, &err), &err);
        REQUIRE_OK(mldf_reader_gather(r, order, 50, MADE_FIXED, fixed, 8, &err), &err);
        for (size_t i = 0; i < 50; i++) {
            CHECK_EQ_INT((int64_t)order[i] * 3 - 5, labels[i]);
            CHECK_EQ_U64(made_null(order[i]) ? 0 : order[i], fixed[i][0]);
            CHECK_EQ_U64(made_null(order[i]) ? 0 : 3, fixed[i][3]);
        }
        CHECK_STATUS(MLDF_E_ARGUMENT, mldf_reader_gather(r, order, 50, MADE_LABEL, labels, 4, &err), &err);
        CHECK_STATUS(MLDF_E_TYPE, mldf_reader_gather(r, order, 50, MADE_BLOB, labels, 8, &err), &err);
        order[49] = 50;
        CHECK_STATUS(MLDF_E_NO_SAMPLE, mldf_reader_gather(r, order, 50, MADE_LABEL, labels, 8, &err), &err);
        mldf_reader_close(r);
    }
}

static void valid_tells_nulls_from_values(void) {
    const char *path = path_of("valid.mldf", &(struct made){.samples = 50});
    for (int backend = 0; backend < 2; backend++) {
        mldf_reader *r = open_with(path, (mldf_backend)backend, backend == 1);
        uint64_t order[50];
        uint8_t valid[50];
        size_t nulls = 0;
        mldf_error err;
        REQUIRE(r);
        for (uint64_t i = 0; i < 50; i++)
            order[i] = (i * 17) % 50;
        REQUIRE_OK(mldf_reader_valid(r, order, 50, MADE_FIXED, valid, &err), &err);
        for (size_t i = 0; i < 50; i++) {
            CHECK_EQ_INT(!made_null(order[i]), valid[i]);
            nulls += !valid[i];
        }
        CHECK(nulls > 0 && nulls < 50);
        REQUIRE_OK(mldf_reader_valid(r, order, 50, MADE_LABEL, valid, &err), &err);
        for (size_t i = 0; i < 50; i++)
            CHECK_EQ_INT(1, valid[i]);
        CHECK_STATUS(MLDF_E_NO_FIELD, mldf_reader_valid(r, order, 50, 99, valid, &err), &err);
        order[49] = 50;
        CHECK_STATUS(MLDF_E_NO_SAMPLE, mldf_reader_valid(r, order, 50, MADE_LABEL, valid, &err), &err);
        mldf_reader_close(r);
    }
}

static void values_of_many_samples_share_one_scratch_buffer(void) {
    const char *path = path_of("many.mldf", &(struct made){.samples = 300});
    for (int backend = 0; backend < 2; backend++) {
        mldf_reader *r = open_with(path, (mldf_backend)backend, false);
        uint64_t order[300];
        static mldf_value values[300];
        mldf_buffer scratch = MLDF_BUFFER_INIT;
        mldf_error err;
        REQUIRE(r);
        for (uint64_t i = 0; i < 300; i++)
            order[i] = 299 - i;
        REQUIRE_OK(mldf_reader_get_many(r, order, 300, MADE_PACKED, &scratch, values, &err), &err);
        for (size_t i = 0; i < 300; i++) {
            uint8_t want[512];
            memset(want, (int)(order[i] & 255), sizeof want);
            CHECK_BYTES_EQ(want, (size_t)(100 + order[i] % 400), values[i].data, (size_t)values[i].bytes);
        }
        mldf_buffer_free(&scratch);
        mldf_reader_close(r);
    }
}

static void stored_bytes_are_found_by_their_pointer(void) {
    const char *path = path_of("ptr.mldf", &(struct made){.samples = 100});
    mldf_reader *r = open_with(path, MLDF_BACKEND_MAP, false);
    mldf_error err;
    size_t found = 0;
    REQUIRE(r);
    for (uint64_t i = 0; i < 100; i++) {
        const void *data;
        uint64_t bytes, ptr;
        mldf_value v;
        REQUIRE_OK(mldf_reader_get(r, i, MADE_BLOB, NULL, &v, &err), &err);
        if (v.kind == MLDF_KIND_NULL || v.bytes == 0)
            continue;
        memcpy(&ptr, v.record, 8);
        REQUIRE_OK(mldf_reader_read_ptr(r, ptr, NULL, &data, &bytes, &err), &err);
        CHECK(data == v.data && bytes == v.bytes);
        CHECK_STATUS(MLDF_E_NO_SAMPLE, mldf_reader_read_ptr(r, ptr + 1, NULL, &data, &bytes, &err), &err);
        found++;
    }
    CHECK(found > 50);
    mldf_reader_close(r);
}

/* ---- Damage -------------------------------------------------------------------------------------------------------------- */

static void flip(const char *path, uint64_t at) {
    int fd = open(path, O_RDWR | O_CLOEXEC);
    uint8_t byte;
    REQUIRE(fd >= 0);
    CHECK(pread(fd, &byte, 1, (off_t)at) == 1);
    byte ^= 0x10;
    CHECK(pwrite(fd, &byte, 1, (off_t)at) == 1);
    close(fd);
}

static void verification_names_sample_and_field(void) {
    const char *path = path_of("flip.mldf", &(struct made){.samples = 40, .keys = true});
    mldf_reader *r = open_with(path, MLDF_BACKEND_MAP, false);
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    mldf_value v;
    mldf_error err;
    uint64_t ptr;
    REQUIRE(r);
    REQUIRE_OK(mldf_reader_get(r, 17, MADE_BLOB, NULL, &v, &err), &err);
    REQUIRE(v.kind == MLDF_KIND_NULL || v.bytes > 0);
    REQUIRE_OK(mldf_reader_get(r, 18, MADE_BLOB, NULL, &v, &err), &err);
    REQUIRE(v.bytes > 0);
    memcpy(&ptr, v.record, 8);
    mldf_reader_close(r);
    flip(path, ptr + 1);
    r = open_with(path, MLDF_BACKEND_MAP, true);
    CHECK_STATUS(MLDF_E_CHECKSUM, mldf_reader_get(r, 18, MADE_BLOB, &scratch, &v, &err), &err);
    CHECK_EQ_U64(18, err.sample);
    CHECK_EQ_STR("blob", err.field);
    CHECK_EQ_U64(ptr, err.offset);
    CHECK_CONTAINS("sample 18, field blob", TEXT(err));
    CHECK_OK(mldf_reader_get(r, 19, MADE_BLOB, &scratch, &v, &err), &err);
    mldf_reader_close(r);
    mldf_buffer_free(&scratch);
}

static void a_bad_row_pointer_is_reported_at_its_record(void) {
    const char *path = path_of("row.mldf", &(struct made){.samples = 40});
    mldf_file_info info = MLDF_FILE_INFO_INIT;
    mldf_reader *r = open_with(path, MLDF_BACKEND_MAP, false);
    mldf_error err;
    mldf_value v;
    REQUIRE(r);
    CHECK_OK(mldf_reader_info(r, &info, NULL), NULL);
    const mldf_field *field = mldf_schema_field(mldf_reader_schema(r), MADE_BLOB);
    uint64_t record = info.metadata_ptr + 16 * mldf_schema_row_bytes(mldf_reader_schema(r)) + field->row_offset;
    mldf_reader_close(r);
    flip(path, record + 5); /* the pointer passes the end by far */
    r = open_with(path, MLDF_BACKEND_MAP, false);
    REQUIRE(r);
    CHECK_STATUS(MLDF_E_CORRUPT, mldf_reader_get(r, 16, MADE_BLOB, NULL, &v, &err), &err);
    CHECK_EQ_U64(record, err.offset);
    CHECK_CONTAINS("sample 16, field blob: ptr", TEXT(err));
    CHECK_CONTAINS("passes the end of the file at", TEXT(err));
    mldf_reader_close(r);
    r = open_with(path, MLDF_BACKEND_MAP, true);
    REQUIRE(r);
    CHECK_STATUS(MLDF_E_CHECKSUM, mldf_reader_get(r, 3, MADE_LABEL, NULL, &v, &err), &err);
    CHECK_EQ_U64(info.metadata_ptr, err.offset);
    mldf_reader_close(r);
}

static void a_file_that_shrinks_under_positional_reads_is_an_error(void) {
    const char *path = path_of("shrink.mldf", &(struct made){.samples = 200});
    mldf_reader *r = open_with(path, MLDF_BACKEND_READ, false);
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    mldf_value v;
    mldf_error err;
    REQUIRE(r);
    CHECK(truncate(path, 5000) == 0);
    CHECK_STATUS(MLDF_E_CHANGED, mldf_reader_get(r, 199, MADE_TEXT, &scratch, &v, &err), &err);
    CHECK_EQ_U64(5000, err.offset);
    CHECK_EQ_U64(199, err.sample); /* so the loader leaves the byte as it is */
    CHECK_EQ_STR("text", err.field);
    CHECK_CONTAINS("ends at byte 5000", TEXT(err));
    mldf_reader_close(r);
    mldf_buffer_free(&scratch);
}

/* ---- Warnings ----------------------------------------------------------------------------------------------------------------- */

static char warnings[2048];

static void note_warning(void *user, const char *message) {
    (void)user;
    strncat(warnings, message, sizeof warnings - strlen(warnings) - 2);
    strcat(warnings, "\n");
}

static void oddities_are_told_through_the_context(void) {
    static const struct {
        const char *file, *part;
    } odd[] = {
        {"newer_minor.mldf", "newer"}, {"torn_header.mldf", "front header"}, {"trailing_garbage.mldf", "ignored"}};
    mldf_context *context;
    mldf_error err;
    REQUIRE_OK(mldf_context_new(&context, &err), &err);
    mldf_context_set_warning(context, note_warning, NULL);
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        mldf_reader_options options = MLDF_READER_OPTIONS_INIT;
        mldf_reader *r;
        char name[128];
        warnings[0] = 0;
        options.context = context;
        snprintf(name, sizeof name, "docs/spec/vectors/valid/%s", odd[i].file);
        CHECK_OK(mldf_reader_open(check_source(name), &options, &r, &err), &err);
        CHECK_CONTAINS(odd[i].part, warnings);
        CHECK(strchr(warnings, '\n') == strrchr(warnings, '\n')); /* once */
        mldf_reader_close(r);
    }
    mldf_context_free(context);
}

/* ---- User-defined types ---------------------------------------------------------------------------------------------------- */

/* A payload that is stored reversed; decode uses scratch from its first byte, as it may. */
static mldf_status reversed_bind(void *user, const char *arguments, mldf_record_layout *layout, void **state,
                                 mldf_error *err) {
    (void)user, (void)arguments, (void)state, (void)err;
    *layout = (mldf_record_layout){16, 8, MLDF_FIELD_SIZE64, false};
    return MLDF_OK;
}

static mldf_status reverse(const void *in, uint64_t bytes, mldf_buffer *scratch, mldf_error *err) {
    mldf_status status = mldf_buffer_reserve(scratch, (size_t)bytes + 1, err);
    for (uint64_t i = 0; status >= 0 && i < bytes; i++)
        scratch->data[i] = ((const uint8_t *)in)[bytes - 1 - i];
    return status;
}

static mldf_status reversed_encode(void *user, const void *state, const mldf_value *value, uint8_t *record,
                                   mldf_buffer *scratch, const void **payload, uint64_t *payload_bytes,
                                   mldf_error *err) {
    (void)user, (void)state, (void)record;
    mldf_status status = reverse(value->data, value->bytes, scratch, err);
    *payload = scratch->data;
    *payload_bytes = value->bytes;
    return status;
}

static mldf_status reversed_decode(void *user, const void *state, const uint8_t *record, const void *payload,
                                   uint64_t payload_bytes, mldf_buffer *scratch, mldf_value *out, mldf_error *err) {
    (void)user, (void)state, (void)record;
    mldf_status status = reverse(payload, payload_bytes, scratch, err);
    out->kind = MLDF_KIND_BYTES;
    out->data = scratch->data;
    out->bytes = payload_bytes;
    return status;
}

static void make_reversed(const char *path, const mldf_context *context, uint16_t flags) {
    mldf_writer_options options = MLDF_WRITER_OPTIONS_INIT;
    mldf_schema *schema;
    mldf_writer *w = NULL;
    mldf_error err;
    options.context = context;
    options.threads = 0;
    REQUIRE_OK(mldf_schema_new(context, &schema, &err), &err);
    REQUIRE_OK(mldf_schema_add(schema, "back", 0x8001, NULL, flags, &err), &err);
    REQUIRE_OK(mldf_writer_open(path, schema, &options, &w, &err), &err);
    for (int i = 0; i < 40; i++) {
        char text[64];
        mldf_value v = {.kind = MLDF_KIND_BYTES, .data = text};
        v.bytes = (uint64_t)snprintf(text, sizeof text, "%d: some text to turn round, and round again", i);
        CHECK_OK(mldf_writer_append(w, &v, 1, NULL, 0, &err), &err);
    }
    CHECK_OK(mldf_writer_finish(w, NULL, &err), &err);
    mldf_schema_free(schema);
}

static void user_defined_types_decode_through_every_source(void) {
    mldf_type type = MLDF_TYPE_INIT;
    mldf_context *context;
    mldf_error err;
    type.id = 0x8001;
    type.name = "org.example.reversed";
    type.bind = reversed_bind;
    type.encode = reversed_encode;
    type.decode = reversed_decode;
    REQUIRE_OK(mldf_context_new(&context, &err), &err);
    REQUIRE_OK(mldf_context_register_type(context, &type, &err), &err);
    for (int i = 0; i < 4; i++) {
        const char *path = check_tmp(i & 2 ? "reversed_z.mldf" : "reversed.mldf");
        mldf_reader_options options = MLDF_READER_OPTIONS_INIT;
        mldf_reader *r;
        mldf_buffer scratch = MLDF_BUFFER_INIT;
        mldf_value values[40];
        uint64_t order[40];
        if (!(i & 1))
            make_reversed(path, context, i & 2 ? MLDF_FIELD_COMPRESSED : 0);
        options.context = context;
        options.backend = i & 1 ? MLDF_BACKEND_READ : MLDF_BACKEND_MAP;
        REQUIRE_OK(mldf_reader_open(path, &options, &r, &err), &err);
        for (uint64_t s = 0; s < 40; s++)
            order[s] = s;
        REQUIRE_OK(mldf_reader_get_many(r, order, 40, 0, &scratch, values, &err), &err);
        for (int s = 0; s < 40; s++) {
            char text[64];
            int bytes = snprintf(text, sizeof text, "%d: some text to turn round, and round again", s);
            CHECK_BYTES_EQ(text, (size_t)bytes, values[s].data, (size_t)values[s].bytes);
        }
        mldf_buffer_free(&scratch);
        mldf_reader_close(r);
        /* Without the type: listed and copied, not decoded. */
        REQUIRE_OK(mldf_reader_open(path, NULL, &r, &err), &err);
        CHECK_STATUS(MLDF_E_UNSUPPORTED, mldf_reader_get(r, 0, 0, &scratch, values, &err), &err);
        CHECK_OK(mldf_reader_get_stored(r, 0, 0, &scratch, values, &err), &err);
        mldf_buffer_free(&scratch);
        mldf_reader_close(r);
    }
    mldf_context_free(context);
}

/* ---- Encryption ------------------------------------------------------------------------------------------------------------- */

static void an_encrypted_file_needs_its_key(void) {
    uint8_t key[32] = {1, 2, 3}, wrong[32] = {3, 2, 1};
    if (!strstr(mldf_build_features(), "sodium"))
        return;
    const char *path = path_of("secret.mldf", &(struct made){.samples = 20, .secret = {.key = key, .key_bytes = 32}});
    mldf_reader_options options = MLDF_READER_OPTIONS_INIT;
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    mldf_reader *r;
    mldf_error err;
    mldf_value v;
    CHECK_STATUS(MLDF_E_KEY_MISSING, mldf_reader_open(path, &options, &r, &err), &err);
    options.secret = (mldf_secret){.key = wrong, .key_bytes = 32};
    CHECK_STATUS(MLDF_E_KEY_WRONG, mldf_reader_open(path, &options, &r, &err), &err);
    options.secret = (mldf_secret){0};
    options.without_key = true;
    REQUIRE_OK(mldf_reader_open(path, &options, &r, &err), &err);
    CHECK_OK(mldf_reader_get(r, 1, MADE_LABEL, &scratch, &v, &err), &err);
    CHECK_STATUS(MLDF_E_KEY_MISSING, mldf_reader_get(r, 1, MADE_TEXT, &scratch, &v, &err), &err);
    mldf_reader_close(r);
    options = (mldf_reader_options)MLDF_READER_OPTIONS_INIT;
    options.secret = (mldf_secret){.key = key, .key_bytes = 32};
    for (int i = 0; i < 2; i++) {
        options.backend = (mldf_backend)i;
        REQUIRE_OK(mldf_reader_open(path, &options, &r, &err), &err);
        for (uint64_t s = 0; s < 20; s++)
            CHECK(made_is(r, s, s, &err));
        mldf_reader_close(r);
    }
    mldf_buffer_free(&scratch);
}

/* ---- Threads ------------------------------------------------------------------------------------------------------------------ */

static void *read_all(void *argument) {
    const mldf_reader *r = argument;
    mldf_error err = {0};
    for (uint64_t round = 0; round < 3; round++)
        for (uint64_t s = 0; s < mldf_reader_sample_count(r); s++)
            if (!made_is(r, s, s, &err)) {
                check_fail(__FILE__, __LINE__, "sample %" PRIu64 ": %s", s, err.message);
                return NULL;
            }
    return NULL;
}

static void threads_share_a_reader(void) {
    const char *path = path_of("threads.mldf", &(struct made){.samples = 300, .keys = true});
    for (int backend = 0; backend < 2; backend++) {
        mldf_reader *r = open_with(path, (mldf_backend)backend, true);
        pthread_t threads[20]; /* more than the idle decompressors that a reader keeps */
        REQUIRE(r);
        for (size_t i = 0; i < 20; i++)
            REQUIRE(pthread_create(&threads[i], NULL, read_all, r) == 0);
        for (size_t i = 0; i < 20; i++)
            pthread_join(threads[i], NULL);
        mldf_reader_close(r);
    }
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(every_sample_reads_back_through_every_source);
    RUN(raw_payloads_of_a_mapping_need_no_scratch_and_no_copy);
    RUN(what_is_not_there_is_named);
    RUN(gather_copies_items_and_zeros_for_nulls);
    RUN(valid_tells_nulls_from_values);
    RUN(values_of_many_samples_share_one_scratch_buffer);
    RUN(stored_bytes_are_found_by_their_pointer);
    RUN(verification_names_sample_and_field);
    RUN(a_bad_row_pointer_is_reported_at_its_record);
    RUN(a_file_that_shrinks_under_positional_reads_is_an_error);
    RUN(oddities_are_told_through_the_context);
    RUN(user_defined_types_decode_through_every_source);
    RUN(an_encrypted_file_needs_its_key);
    RUN(threads_share_a_reader);
    return check_end();
}
