/* Schemas built in C: names, the row, compression, copies, finding; many fields in little time. */
#include "fields.h"

static void row_follows_c_alignment(void) {
    mldf_schema *s;
    mldf_error err;
    REQUIRE_OK(mldf_schema_new(NULL, &s, &err), &err);
    CHECK_EQ_U64(0, mldf_schema_row_bytes(s));
    CHECK_OK(mldf_schema_add(s, "flag", MLDF_INLINE, "{\"descr\":[[\"\",\"|u1\",[3]]]}", 0, &err), &err);
    CHECK_EQ_U64(3, mldf_schema_row_bytes(s));
    CHECK_OK(mldf_schema_add(s, "half", MLDF_INLINE, "{\"descr\":[[\"\",\"<f2\"]]}", MLDF_FIELD_NULLABLE, &err), &err);
    CHECK_OK(mldf_schema_add(s, "text", MLDF_TEXT, NULL, 0, &err), &err);
    CHECK_OK(mldf_schema_add(s, "last", MLDF_INLINE, "{\"descr\":[[\"\",\"|u1\"]]}", MLDF_FIELD_NULLABLE, &err), &err);
    CHECK_OK(mldf_schema_add(s, "data", MLDF_BYTES, NULL, MLDF_FIELD_COMPRESSED, &err), &err);
    static const uint32_t offsets[] = {0, 4, 8, 24, 32};
    static const size_t payload[] = {SIZE_MAX, SIZE_MAX, 0, SIZE_MAX, 1},
                        nullable[] = {SIZE_MAX, 0, SIZE_MAX, 1, SIZE_MAX};
    REQUIRE_EQ_U64(5, mldf_schema_field_count(s));
    for (size_t i = 0; i < 5; i++) {
        CHECK_EQ_U64(offsets[i], mldf_schema_field(s, i)->row_offset);
        CHECK_EQ_U64(payload[i], s->fields[i].payload_index);
        CHECK_EQ_U64(nullable[i], s->fields[i].nullable_index);
    }
    CHECK_EQ_U64(48, mldf_schema_row_bytes(s));
    CHECK_EQ_U64(2, s->payload_count);
    CHECK_EQ_U64(2, s->nullable_count);
    CHECK(mldf_schema_field(s, 5) == NULL);
    mldf_schema_free(s);
}

static void names_are_checked(void) {
    static const char *const bad[] = {"", "a\nb", "\x7f", "\xc3\x28",
                                      "0123456789012345678901234567890123456789012345678901234567890123"};
    mldf_schema *s;
    mldf_error err;
    REQUIRE_OK(mldf_schema_new(NULL, &s, &err), &err);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CHECK_STATUS(MLDF_E_SCHEMA, mldf_schema_add(s, bad[i], MLDF_INT, NULL, 0, &err), &err);
    CHECK_OK(
        mldf_schema_add(s, "012345678901234567890123456789012345678901234567890123456789012", MLDF_INT, NULL, 0, &err),
        &err);
    CHECK_OK(mldf_schema_add(s,
                             "gr\xc3\xb6\xc3\x9f"
                             "e",
                             MLDF_INT, NULL, 0, &err),
             &err);
    CHECK_STATUS(MLDF_E_SCHEMA,
                 mldf_schema_add(s,
                                 "gr\xc3\xb6\xc3\x9f"
                                 "e",
                                 MLDF_FLOAT, NULL, 0, &err),
                 &err);
    CHECK_EQ_STR("gr\xc3\xb6\xc3\x9f"
                 "e",
                 err.field);
    CHECK_EQ_U64(2, mldf_schema_field_count(s));
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_schema_add(s, NULL, MLDF_INT, NULL, 0, &err), &err);
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_schema_add(NULL, "x", MLDF_INT, NULL, 0, NULL), NULL);
    CHECK_STATUS(MLDF_E_SCHEMA, mldf_schema_add(s, "x", MLDF_INT, "{\"k\":1}", 0, NULL), NULL);
    mldf_schema_free(s);
}

static void types_and_flags_are_checked(void) {
    mldf_schema *s;
    mldf_error err;
    REQUIRE_OK(mldf_schema_new(NULL, &s, &err), &err);
    CHECK_STATUS(MLDF_E_SCHEMA, mldf_schema_add(s, "x", 0, NULL, 0, &err), &err);
    CHECK_STATUS(MLDF_E_SCHEMA, mldf_schema_add(s, "x", 7, NULL, 0, &err), &err);
    CHECK_STATUS(MLDF_E_SCHEMA, mldf_schema_add(s, "x", 45, NULL, 0, &err), &err);
    CHECK_CONTAINS("45", TEXT(err));
    CHECK_STATUS(MLDF_E_SCHEMA, mldf_schema_add(s, "x", 0x8000, NULL, 0, &err), &err);
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_schema_add(s, "x", MLDF_BYTES, NULL, MLDF_FIELD_SIZE64, &err), &err);
    CHECK_STATUS(MLDF_E_SCHEMA, mldf_schema_add(s, "x", MLDF_INT, NULL, MLDF_FIELD_COMPRESSED, &err), &err);
    CHECK_CONTAINS("no payload", TEXT(err));
    CHECK_EQ_U64(0, mldf_schema_field_count(s));
    mldf_schema_free(s);
}

static void compression_is_set_afterwards_too(void) {
    mldf_schema *s = one_field(MLDF_BYTES, NULL, 0, NULL), *i = one_field(MLDF_INT, NULL, 0, NULL);
    mldf_error err;
    CHECK_OK(mldf_schema_compress(s, 0, 19, &err), &err);
    CHECK_EQ_U64(MLDF_FIELD_COMPRESSED | MLDF_FIELD_SIZE64, mldf_schema_field(s, 0)->flags);
    CHECK_EQ_INT(19, mldf_schema_field(s, 0)->compress_level);
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_schema_compress(s, 0, 0, &err), &err);
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_schema_compress(s, 0, 23, &err), &err);
    CHECK_STATUS(MLDF_E_NO_FIELD, mldf_schema_compress(s, 1, 3, &err), &err);
    CHECK_STATUS(MLDF_E_SCHEMA, mldf_schema_compress(i, 0, 3, &err), &err);
    mldf_schema_free(s);
    mldf_schema_free(i);
}

static void find_suggests_the_nearest_name(void) {
    mldf_schema *s;
    mldf_error err;
    size_t at = 99;
    static const char *const names[] = {"label", "image", "feature_vector", "id"};
    REQUIRE_OK(mldf_schema_new(NULL, &s, &err), &err);
    for (size_t i = 0; i < 4; i++)
        CHECK_OK(mldf_schema_add(s, names[i], MLDF_INT, NULL, 0, &err), &err);
    CHECK_OK(mldf_schema_find(s, "image", &at, &err), &err);
    CHECK_EQ_U64(1, at);
    CHECK_STATUS(MLDF_E_NO_FIELD, mldf_schema_find(s, "lable", &at, &err), &err);
    CHECK_CONTAINS("did you mean \"label\"", TEXT(err));
    CHECK_STATUS(MLDF_E_NO_FIELD, mldf_schema_find(s, "feature", &at, &err), &err);
    CHECK_CONTAINS("did you mean \"feature_vector\"", TEXT(err));
    CHECK_STATUS(MLDF_E_NO_FIELD, mldf_schema_find(s, "images_of_cats", &at, &err), &err);
    CHECK_CONTAINS("\"image\"", TEXT(err));
    CHECK_STATUS(MLDF_E_NO_FIELD, mldf_schema_find(s, "xy", &at, &err), &err);
    CHECK(strstr(TEXT(err), "did you mean") == NULL);
    CHECK_STATUS(MLDF_E_NO_FIELD, mldf_schema_find(s, "", &at, &err), &err);
    mldf_schema_free(s);
}

static void copy_is_independent(void) {
    mldf_schema *s = one_field(MLDF_INLINE, "{\"descr\":[[\"a\",\"<f4\"],[\"b\",\"<i4\",[2]]]}", MLDF_FIELD_NULLABLE,
                               NULL),
                *copy;
    mldf_error err;
    mldf_member m;
    CHECK_OK(mldf_schema_add(s, "n", MLDF_NDARRAY, "{\"dtype\":\"<f8\",\"shape\":[null]}", 0, &err), &err);
    CHECK_OK(mldf_schema_compress(s, 1, 7, &err), &err);
    REQUIRE_OK(mldfi_schema_copy(s, &copy, &err), &err);
    CHECK_EQ_U64(mldf_schema_row_bytes(s), mldf_schema_row_bytes(copy));
    mldf_schema_free(s);
    CHECK_EQ_STR("n", mldf_schema_field(copy, 1)->name);
    CHECK_EQ_INT(7, mldf_schema_field(copy, 1)->compress_level);
    CHECK_EQ_U64(16, mldf_schema_field(copy, 1)->row_offset);
    CHECK_OK(mldf_field_member(copy, 0, 1, &m, &err), &err);
    CHECK_EQ_STR("b", m.path);
    CHECK_EQ_U64(1, copy->nullable_count);
    CHECK_OK(mldf_schema_add(copy, "more", MLDF_INT, NULL, 0, &err), &err);
    mldf_schema_free(copy);
}

static void limits_of_rows_and_fields_hold(void) {
    mldf_schema *s;
    mldf_error err;
    char name[32];
    mldf_status status = MLDF_OK;
    REQUIRE_OK(mldf_schema_new(NULL, &s, &err), &err);
    for (int i = 0; i < 4096 && status == MLDF_OK; i++) {
        snprintf(name, sizeof name, "f%d", i);
        status = mldf_schema_add(s, name, MLDF_INLINE, "{\"descr\":[[\"\",\"|u1\",[4096]]]}", 0, &err);
    }
    CHECK_OK(status, &err);
    CHECK_EQ_U64(FORMAT_MAX_ROW, mldf_schema_row_bytes(s));
    CHECK_STATUS(MLDF_E_LIMIT, mldf_schema_add(s, "one_more", MLDF_INT, NULL, 0, &err), &err);
    mldf_schema_free(s);
    REQUIRE_OK(mldf_schema_new(NULL, &s, &err), &err);
    status = MLDF_OK;
    for (int i = 0; i < 65535 && status == MLDF_OK; i++) {
        snprintf(name, sizeof name, "f%d", i);
        status = mldf_schema_add(s, name, MLDF_FLOAT, NULL, 0, &err);
    }
    CHECK_OK(status, &err);
    CHECK_STATUS(MLDF_E_LIMIT, mldf_schema_add(s, "one_more", MLDF_INT, NULL, 0, &err), &err);
    size_t at;
    CHECK_OK(mldf_schema_find(s, "f65534", &at, &err), &err);
    CHECK_EQ_U64(65534, at);
    mldf_schema_free(s);
}

static void dtypes_have_numpys_names_and_sizes(void) {
    static const char *const names[] = {"",    "|b1", "|i1", "|u1",      "<i2", "<u2", "<i4", "<u4",
                                        "<i8", "<u8", "<f2", "bfloat16", "<f4", "<f8", "<c8", "<c16"};
    static const size_t bytes[] = {0, 1, 1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8, 8, 16};
    for (int i = 0; i < 16; i++) {
        CHECK_EQ_STR(names[i], mldf_dtype_name((mldf_dtype)i));
        CHECK_EQ_U64(bytes[i], mldf_dtype_bytes((mldf_dtype)i));
        CHECK_EQ_INT(i, mldf_dtype_parse(names[i], strlen(names[i])));
    }
    CHECK_EQ_STR("", mldf_dtype_name((mldf_dtype)99));
    CHECK_EQ_U64(0, mldf_dtype_bytes((mldf_dtype)-1));
    CHECK_EQ_INT(MLDF_DTYPE_NONE, mldf_dtype_parse("<f4 ", 4));
}

/* What the short functions make is what mldf_schema_parse makes of the JSON. */
static void the_common_types_need_no_json(void) {
    static const char want[] =
        "{\"fields\":[{\"name\":\"a\",\"type\":\"int\"},{\"name\":\"b\",\"type\":\"int\",\"dtype\":\"|u1\"},"
        "{\"name\":\"c\",\"type\":\"float\",\"nullable\":true},{\"name\":\"d\",\"type\":\"bytes\"},"
        "{\"name\":\"e\",\"type\":\"text\"},{\"name\":\"f\",\"type\":\"json\"},"
        "{\"name\":\"g\",\"type\":\"ndarray\",\"dtype\":\"<f4\",\"shape\":[null,80]},"
        "{\"name\":\"h\",\"type\":\"ndarray\",\"dtype\":\"bfloat16\",\"shape\":[]},"
        "{\"name\":\"i\",\"type\":\"image\"},{\"name\":\"j\",\"type\":\"image\",\"encode\":\"jpeg\",\"quality\":80},"
        "{\"name\":\"k\",\"type\":\"audio_compressed\"},{\"name\":\"l\",\"type\":\"text_tokenized\",\"vocabulary\":50257}]}";
    static const int64_t dims[] = {-1, 80};
    mldf_schema *parsed, *made;
    mldf_buffer a = MLDF_BUFFER_INIT, b = MLDF_BUFFER_INIT;
    mldf_error err;
    REQUIRE_OK(mldf_schema_parse(NULL, want, strlen(want), &parsed, &err), &err);
    REQUIRE_OK(mldf_schema_new(NULL, &made, &err), &err);
    CHECK_OK(mldf_schema_add_int(made, "a", MLDF_DTYPE_NONE, 0, &err), &err);
    CHECK_OK(mldf_schema_add_int(made, "b", MLDF_U8, 0, &err), &err);
    CHECK_OK(mldf_schema_add_float(made, "c", MLDF_FIELD_NULLABLE, &err), &err);
    CHECK_OK(mldf_schema_add_bytes(made, "d", 0, &err), &err);
    CHECK_OK(mldf_schema_add_text(made, "e", 0, &err), &err);
    CHECK_OK(mldf_schema_add_json(made, "f", 0, &err), &err);
    CHECK_OK(mldf_schema_add_ndarray(made, "g", MLDF_F32, 2, dims, 0, &err), &err);
    CHECK_OK(mldf_schema_add_ndarray(made, "h", MLDF_BF16, 0, NULL, 0, &err), &err);
    CHECK_OK(mldf_schema_add_image(made, "i", NULL, 0, &err), &err);
    CHECK_OK(mldf_schema_add_image(made, "j", "{\"encode\":\"jpeg\",\"quality\":80}", 0, &err), &err);
    CHECK_OK(mldf_schema_add_audio(made, "k", NULL, 0, &err), &err);
    CHECK_OK(mldf_schema_add_tokens(made, "l", 50257, 0, &err), &err);
    CHECK_OK(mldf_schema_write(parsed, &a, &err), &err);
    CHECK_OK(mldf_schema_write(made, &b, &err), &err);
    CHECK_BYTES_EQ(a.data, a.size, b.data, b.size);
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_schema_add_ndarray(made, "m", MLDF_F32, 9, dims, 0, &err), &err);
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_schema_add_ndarray(made, "m", MLDF_F32, 2, NULL, 0, &err), &err);
    CHECK_STATUS(MLDF_E_SCHEMA, mldf_schema_add_int(made, "m", MLDF_F32, 0, &err), &err);
    CHECK_STATUS(MLDF_E_SCHEMA, mldf_schema_add_ndarray(made, "m", MLDF_DTYPE_NONE, 2, dims, 0, &err), &err);
    mldf_buffer_free(&a);
    mldf_buffer_free(&b);
    mldf_schema_free(parsed);
    mldf_schema_free(made);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(row_follows_c_alignment);
    RUN(names_are_checked);
    RUN(types_and_flags_are_checked);
    RUN(compression_is_set_afterwards_too);
    RUN(find_suggests_the_nearest_name);
    RUN(copy_is_independent);
    RUN(limits_of_rows_and_fields_hold);
    RUN(the_common_types_need_no_json);
    RUN(dtypes_have_numpys_names_and_sizes);
    return check_end();
}
