/* mldf_value_json: values of every kind as JSON, in a summary and in full. */
#include "check.h"
#include "mldf/schema.h"

static mldf_schema *schema;

static size_t add(const char *name, uint16_t type, const char *arguments) {
    mldf_error err;
    CHECK_OK(mldf_schema_add(schema, name, type, arguments, 0, &err), &err);
    return mldf_schema_field_count(schema) - 1;
}

/* Terminated; static. Nothing is left of a failure. */
static const char *shown(size_t field, const mldf_value *value, bool full) {
    static char text[4096];
    mldf_buffer out = MLDF_BUFFER_INIT;
    mldf_error err;
    CHECK_OK(mldf_buffer_append(&out, "-", 1, &err), &err);
    CHECK_OK(mldf_value_json(schema, field, value, full, &out, &err), &err);
    size_t size = out.size < sizeof text ? out.size : sizeof text - 1;
    memcpy(text, out.data, size);
    text[size] = 0;
    mldf_buffer_free(&out);
    CHECK(text[0] == '-');
    return text + 1;
}

static mldf_value text_value(const char *text) {
    return (mldf_value){.kind = MLDF_KIND_TEXT, .data = text, .bytes = strlen(text)};
}

static void numbers_are_numbers(void) {
    size_t number = add("number", MLDF_INT, "{\"dtype\":\"<i8\"}"), flag = add("flag", MLDF_INT, "{\"dtype\":\"|b1\"}"),
           big = add("big", MLDF_INT, "{\"dtype\":\"<u8\"}"), real = add("real", MLDF_FLOAT, NULL);
    mldf_value null = {.kind = MLDF_KIND_NULL}, least = {.kind = MLDF_KIND_INT, .as.i = INT64_MIN},
               yes = {.kind = MLDF_KIND_INT, .as.i = 1}, most = {.kind = MLDF_KIND_UINT, .as.u = UINT64_MAX},
               tenth = {.kind = MLDF_KIND_FLOAT, .as.f = 0.1}, zero = {.kind = MLDF_KIND_FLOAT, .as.f = -0.0},
               never = {.kind = MLDF_KIND_FLOAT, .as.f = -1.0 / 0.0};
    CHECK_EQ_STR("null", shown(number, &null, true));
    CHECK_EQ_STR("-9223372036854775808", shown(number, &least, false));
    CHECK_EQ_STR("true", shown(flag, &yes, false));
    CHECK_EQ_STR("18446744073709551615", shown(big, &most, false));
    CHECK_EQ_STR("0.1", shown(real, &tenth, false));
    CHECK_EQ_STR("-0.0", shown(real, &zero, false));
    CHECK_EQ_STR("\"-Infinity\"", shown(real, &never, false));
}

static void text_is_a_string_and_json_itself(void) {
    size_t text = add("text", MLDF_TEXT, NULL), json = add("json", MLDF_JSON, NULL);
    mldf_value v = text_value("a\"\n\xc3\xa4\xff\xe2\x82"), empty = {.kind = MLDF_KIND_TEXT};
    CHECK_EQ_STR("\"a\\\"\\n\xc3\xa4\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"", shown(text, &v, false));
    CHECK_EQ_STR("\"\"", shown(text, &empty, false));
    v = text_value(" { \"a b\\\" \" :\t[ 1 ,\n2 ] } ");
    CHECK_EQ_STR("{\"a b\\\" \":[1,2]}", shown(json, &v, false));
    v = text_value("{\"a\": ");
    CHECK_EQ_STR("\"{\\\"a\\\": \"", shown(json, &v, false));
    CHECK_EQ_STR("\"\"", shown(json, &empty, false));
}

static void arrays_are_lists_and_large_ones_summaries(void) {
    size_t field = add("array", MLDF_NDARRAY, "{\"dtype\":\"<i2\",\"shape\":[null,null]}");
    int16_t numbers[2][3] = {{1, -2, 3}, {4, 5, -32768}}, many[65] = {0};
    float pairs[2][2] = {{1, -2.5f}, {0, 4}};
    mldf_value v = {.kind = MLDF_KIND_ARRAY,
                    .data = numbers,
                    .bytes = sizeof numbers,
                    .dtype = MLDF_I16,
                    .ndim = 2,
                    .dims = {2, 3}};
    CHECK_EQ_STR("[[1,-2,3],[4,5,-32768]]", shown(field, &v, false));
    v = (mldf_value){.kind = MLDF_KIND_ARRAY, .data = pairs, .bytes = 16, .dtype = MLDF_C64, .ndim = 1, .dims = {2}};
    CHECK_EQ_STR("[[1.0,-2.5],[0.0,4.0]]", shown(field, &v, false));
    v = (mldf_value){
        .kind = MLDF_KIND_ARRAY, .data = many, .bytes = 130, .dtype = MLDF_I16, .ndim = 2, .dims = {65, 1}};
    CHECK_EQ_STR("{\"dtype\":\"<i2\",\"shape\":[65,1],"
                 "\"sha256\":\"e55a5c27736a8761c8e96acec072102325e08cb2d0dbb4d4702cfe38f8ab0709\"}",
                 shown(field, &v, false));
    CHECK(strncmp("[[0],[0],[0],", shown(field, &v, true), 13) == 0);
}

static void arrays_without_elements_end(void) {
    size_t field = add("hollow", MLDF_NDARRAY, "{\"dtype\":\"<i2\",\"shape\":[null,null,null]}");
    mldf_value v = {.kind = MLDF_KIND_ARRAY, .dtype = MLDF_I16, .ndim = 3, .dims = {0, UINT64_C(1) << 40, 7}};
    CHECK_EQ_STR("[]", shown(field, &v, true));
    v.dims[0] = 2, v.dims[1] = 0;
    CHECK_EQ_STR("[[],[]]", shown(field, &v, false));
    v.dims[0] = UINT64_C(1) << 40;
    CHECK(strncmp("{\"dtype\":\"<i2\",\"shape\":[1099511627776,0,7],", shown(field, &v, true), 43) == 0);
}

static void structs_are_objects(void) {
    size_t field = add("box", MLDF_INLINE,
                       "{\"descr\":[[\"x\",\"<f4\"],[\"\",\"|V4\"],[\"s\",\"|S3\"],[\"u\",\"<U2\"],[\"v\",\"|V2\"],"
                       "[\"n\",[[\"a b\",\"|u1\",[2]]]]]}");
    uint8_t record[] = {0, 0, 0x80, 0x3f, 9, 9, 9, 9, 'h', 'i', 0, 0xe4, 0, 0, 0, 0, 0, 0, 0, 0xab, 1, 7, 8};
    mldf_value v = {.kind = MLDF_KIND_STRUCT, .data = record, .bytes = sizeof record};
    CHECK_EQ_STR("{\"x\":1.0,\"s\":\"hi\",\"u\":\"\xc3\xa4\",\"v\":\"ab01\",\"n\":{\"a b\":[7,8]}}",
                 shown(field, &v, false));
    record[9] = 0xff;
    CHECK(strstr(shown(field, &v, false), "\"s\":{\"hex\":\"68ff\"}") != NULL);
    v.bytes = 10; /* shorter than its members */
    mldf_buffer out = MLDF_BUFFER_INIT;
    mldf_error err;
    CHECK_STATUS(MLDF_E_CORRUPT, mldf_value_json(schema, field, &v, false, &out, &err), &err);
    CHECK_EQ_U64(0, out.size);
    mldf_buffer_free(&out);
}

static void bytes_are_their_size_and_hash(void) {
#define ABC "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    size_t field = add("blob", MLDF_BYTES, NULL);
    const uint8_t record[] = {1, 255};
    mldf_value v = {.kind = MLDF_KIND_BYTES, .data = "abc", .bytes = 3, .record = record, .record_bytes = 2};
    CHECK_EQ_STR("{\"bytes\":3,\"sha256\":\"" ABC "\"}", shown(field, &v, false));
    CHECK_EQ_STR("{\"bytes\":3,\"sha256\":\"" ABC "\",\"base64\":\"YWJj\"}", shown(field, &v, true));
    v.kind = MLDF_KIND_STORED;
    CHECK_EQ_STR("{\"bytes\":3,\"sha256\":\"" ABC "\",\"record\":\"01ff\"}", shown(field, &v, false));
}

static void what_is_missing_is_named(void) {
    mldf_value v = {.kind = MLDF_KIND_NULL};
    mldf_buffer out = MLDF_BUFFER_INIT;
    mldf_error err;
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_value_json(NULL, 0, &v, false, &out, &err), &err);
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_value_json(schema, 1000, &v, false, &out, &err), &err);
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_value_json(schema, 0, NULL, false, &out, &err), &err);
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_value_json(schema, 0, &v, false, NULL, &err), &err);
    v.kind = (mldf_kind)77;
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_value_json(schema, 0, &v, false, &out, &err), &err);
    CHECK_EQ_STR("mldf_value_json: a value of kind 77", err.message);
}

int main(int argc, char **argv) {
    mldf_error err;
    check_begin(argc, argv);
    if (mldf_schema_new(NULL, &schema, &err) < 0)
        return 1;
    RUN(numbers_are_numbers);
    RUN(text_is_a_string_and_json_itself);
    RUN(arrays_are_lists_and_large_ones_summaries);
    RUN(arrays_without_elements_end);
    RUN(structs_are_objects);
    RUN(bytes_are_their_size_and_hash);
    RUN(what_is_missing_is_named);
    mldf_schema_free(schema);
    return check_end();
}
