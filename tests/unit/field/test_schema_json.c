/* The JSON form: both list forms, arguments in both places, round trips, and faults that name field and member. */
#include "fields.h"

static mldf_schema *parse(const char *text, mldf_error *err) {
    mldf_schema *s;
    return mldf_schema_parse(NULL, text, strlen(text), &s, err) < 0 ? NULL : s;
}

static void expect_text(const mldf_schema *s, const char *want) {
    mldf_buffer out = MLDF_BUFFER_INIT;
    mldf_error err;
    CHECK_OK(mldf_schema_write(s, &out, &err), &err);
    CHECK_BYTES_EQ(want, strlen(want), out.data, out.size);
    mldf_buffer_free(&out);
}

static void written_schema_parses_to_itself(void) {
    static const char text[] =
        "{\"fields\":[{\"name\":\"label\",\"type\":\"int\",\"dtype\":\"|u1\"},"
        "{\"name\":\"score\",\"type\":\"float\",\"nullable\":true},"
        "{\"name\":\"say \\\"hi\\\"\",\"type\":\"text\",\"compress\":9},"
        "{\"name\":\"feat\",\"type\":\"ndarray\",\"dtype\":\"<f4\",\"shape\":[null,80],\"nullable\":true,\"compress\":true},"
        "{\"name\":\"box\",\"type\":\"inline\",\"descr\":[[\"x\",\"<f4\"],[\"p\",[[\"y\",\"|S3\"]],[2]]]},"
        "{\"name\":\"extra\",\"type\":\"json\"},{\"name\":\"raw\",\"type\":\"bytes\"}]}";
    mldf_error err;
    mldf_schema *s = parse(text, &err);
    REQUIRE(s != NULL);
    CHECK_EQ_U64(7, mldf_schema_field_count(s));
    CHECK_EQ_INT(9, mldf_schema_field(s, 2)->compress_level);
    CHECK_EQ_INT(0, mldf_schema_field(s, 3)->compress_level);
    CHECK_EQ_U64(MLDF_FIELD_NULLABLE | MLDF_FIELD_COMPRESSED | MLDF_FIELD_SIZE64, mldf_schema_field(s, 3)->flags);
    expect_text(s, text);
    mldf_schema_free(s);
}

static void other_spellings_mean_the_same(void) {
    static const char text[] =
        "[ {\"type\":\"ndarray\", \"name\":\"x\", \"arguments\":{\"shape\":[2],\"dtype\":\"<f4\"}, \"nullable\":false, \"compress\":false},\n"
        "  {\"name\":\"y\", \"type\": 1, \"dtype\":\"<i8\"}, {\"name\":\"z\",\"type\":3,\"arguments\":{}},"
        "  {\"name\":\"b\",\"type\":\"inline\",\"descr\":[[\"\",\"<f4\",4]]} ]";
    mldf_error err;
    mldf_schema *s = parse(text, &err);
    REQUIRE(s != NULL);
    expect_text(
        s,
        "{\"fields\":[{\"name\":\"x\",\"type\":\"ndarray\",\"dtype\":\"<f4\",\"shape\":[2]},{\"name\":\"y\",\"type\":\"int\"},"
        "{\"name\":\"z\",\"type\":\"bytes\"},{\"name\":\"b\",\"type\":\"inline\",\"descr\":[[\"\",\"<f4\",[4]]]}]}");
    mldf_schema_free(s);
}

static void faults_name_field_and_member(void) {
    static const struct {
        const char *text;
        mldf_status status;
        const char *part, *field;
    } cases[] = {
        {"", MLDF_E_SYNTAX, "", ""},
        {"[{\"name\":\"a\",}]", MLDF_E_SYNTAX, "", ""},
        {"3", MLDF_E_SCHEMA, "list of fields", ""},
        {"{}", MLDF_E_SCHEMA, "\"fields\"", ""},
        {"{\"fields\":{}}", MLDF_E_SCHEMA, "list", ""},
        {"{\"fields\":[]}", MLDF_E_SCHEMA, "no fields", ""},
        {"[]", MLDF_E_SCHEMA, "no fields", ""},
        {"{\"fields\":[],\"version\":1}", MLDF_E_SCHEMA, "beside \"fields\"", ""},
        {"[1]", MLDF_E_SCHEMA, "fields[0]", ""},
        {"[{\"type\":\"int\"}]", MLDF_E_SCHEMA, "fields[0]: \"name\" is missing", ""},
        {"[{\"name\":1,\"type\":\"int\"}]", MLDF_E_SCHEMA, "fields[0]: \"name\"", ""},
        {"[{\"name\":\"a\\u0000b\",\"type\":\"int\"}]", MLDF_E_SCHEMA, "control", ""},
        {"[{\"name\":\"\",\"type\":\"int\"}]", MLDF_E_SCHEMA, "is empty", ""},
        {"[{\"name\":\"a\"}]", MLDF_E_SCHEMA, "field \"a\": \"type\" is missing", "a"},
        {"[{\"name\":\"a\",\"type\":\"itn\"}]", MLDF_E_SCHEMA, "did you mean \"int\"", "a"},
        {"[{\"name\":\"a\",\"type\":\"text_hierarchical\"}]", MLDF_E_SCHEMA, "vocabulary", "a"},
        {"[{\"name\":\"a\",\"type\":65536}]", MLDF_E_SCHEMA, "\"type\"", "a"},
        {"[{\"name\":\"a\",\"type\":null}]", MLDF_E_SCHEMA, "\"type\"", "a"},
        {"[{\"name\":\"a\",\"type\":\"int\",\"nullable\":1}]", MLDF_E_SCHEMA, "\"nullable\"", "a"},
        {"[{\"name\":\"a\",\"type\":\"text\",\"compress\":23}]", MLDF_E_SCHEMA, "\"compress\"", "a"},
        {"[{\"name\":\"a\",\"type\":\"text\",\"compress\":\"yes\"}]", MLDF_E_SCHEMA, "\"compress\"", "a"},
        {"[{\"name\":\"a\",\"type\":\"int\",\"compress\":true}]", MLDF_E_SCHEMA, "no payload", "a"},
        {"[{\"name\":\"a\",\"type\":\"int\",\"arguments\":[]}]", MLDF_E_SCHEMA, "\"arguments\"", "a"},
        {"[{\"name\":\"a\",\"type\":\"int\",\"arguments\":{},\"dtype\":\"<i4\"}]", MLDF_E_SCHEMA, "\"arguments\"", "a"},
        {"[{\"name\":\"a\",\"type\":\"int\",\"nulable\":true}]", MLDF_E_SCHEMA, "\"nulable\"", "a"},
        {"[{\"name\":\"a\",\"type\":\"int\"},{\"name\":\"a\",\"type\":\"int\"}]", MLDF_E_SCHEMA, "already", "a"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        mldf_error err = {.status = MLDF_OK};
        mldf_schema *s = parse(cases[i].text, &err);
        if (s)
            check_fail(__FILE__, __LINE__, "accepted: %s", cases[i].text);
        CHECK_EQ_INT(cases[i].status, err.status);
        CHECK_CONTAINS(cases[i].part, TEXT(err));
        CHECK_EQ_STR(cases[i].field, err.field);
        mldf_schema_free(s);
    }
}

static void ten_thousand_fields_parse_quickly(void) {
    mldf_buffer text = MLDF_BUFFER_INIT;
    mldf_error err;
    char field[64];
    REQUIRE_OK(mldf_buffer_append(&text, "[", 1, &err), &err);
    for (int i = 0; i < 10000; i++) {
        int n = snprintf(field, sizeof field, "%s{\"name\":\"column_%d\",\"type\":\"int\"}", i ? "," : "", i);
        REQUIRE_OK(mldf_buffer_append(&text, field, (size_t)n, &err), &err);
    }
    REQUIRE_OK(mldf_buffer_append(&text, "]", 2, &err), &err);
    mldf_schema *s = parse((const char *)text.data, &err);
    REQUIRE(s != NULL);
    CHECK_EQ_U64(10000, mldf_schema_field_count(s));
    CHECK_EQ_U64(80000, mldf_schema_row_bytes(s));
    mldf_schema_free(s);
    mldf_buffer_free(&text);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(written_schema_parses_to_itself);
    RUN(other_spellings_mean_the_same);
    RUN(faults_name_field_and_member);
    RUN(ten_thousand_fields_parse_quickly);
    return check_end();
}
