/* NDARRAY: arguments, shapes that are fixed or vary, bytes that do not fit, dimensions whose product would wrap. */
#include "fields.h"
#include "util/bytes.h"

static mldf_value array(const void *data, uint64_t bytes, mldf_dtype dtype, uint32_t ndim, const uint64_t *dims) {
    mldf_value v = value_of(MLDF_KIND_ARRAY, data, bytes);
    v.dtype = dtype;
    v.ndim = ndim;
    memcpy(v.dims, dims, ndim * sizeof dims[0]);
    return v;
}

static const float floats[12];

static void fixed_shape_takes_arrays_and_their_bytes(void) {
    mldf_error err;
    struct encoded e;
    mldf_value out, v = array(floats, 48, MLDF_F32, 2, (uint64_t[]){3, 4});
    mldf_schema *s = one_field(MLDF_NDARRAY, "{\"shape\":[3,4],\"dtype\":\"<f4\"}", 0, &err);
    REQUIRE(s != NULL);
    const mldf_field *f = mldf_schema_field(s, 0);
    CHECK_EQ_STR("{\"dtype\":\"<f4\",\"shape\":[3,4]}", f->arguments);
    CHECK_EQ_U64(16, f->record_bytes);
    CHECK_EQ_U64(2, f->ndim);
    CHECK_EQ_INT(4, f->dims[1]);
    CHECK(s->fields[0].layout.viewable);
    CHECK_OK(encode(s, &v, &e, &err), &err);
    CHECK(e.payload == floats);
    CHECK_OK(decode(s, &e, &out, &err), &err);
    CHECK_EQ_INT(MLDF_KIND_ARRAY, out.kind);
    CHECK_EQ_INT(MLDF_F32, out.dtype);
    CHECK_EQ_U64(2, out.ndim);
    CHECK_EQ_U64(3, out.dims[0]);
    CHECK_EQ_U64(4, out.dims[1]);
    v = value_of(MLDF_KIND_BYTES, floats, 48);
    CHECK_OK(encode(s, &v, &e, &err), &err);
    v.bytes = 44;
    CHECK_STATUS(MLDF_E_RANGE, encode(s, &v, &e, &err), &err);
    v.kind = MLDF_KIND_TEXT;
    CHECK_STATUS(MLDF_E_TYPE, encode(s, &v, &e, &err), &err);
    e.payload_bytes = 44;
    CHECK_STATUS(MLDF_E_CORRUPT, decode(s, &e, &out, &err), &err);
    CHECK_EQ_U64(RECORD_AT + 8, err.offset);
    mldf_schema_free(s);
}

static void varying_shape_stores_all_dimensions(void) {
    mldf_error err;
    struct encoded e;
    struct observation seen;
    mldf_value out, v = array(floats, 24, MLDF_DTYPE_NONE, 3, (uint64_t[]){1, 2, 3});
    mldf_schema *s = one_field(MLDF_NDARRAY, "{\"dtype\":\"<f4\",\"shape\":[null,2,null]}", 0, &err);
    REQUIRE(s != NULL);
    CHECK_EQ_U64(32, mldf_schema_field(s, 0)->record_bytes);
    CHECK_EQ_INT(-1, mldf_schema_field(s, 0)->dims[0]);
    CHECK_OK(encode(s, &v, &e, &err), &err);
    CHECK_EQ_U64(1, mldfi_load_u32(e.record + 16));
    CHECK_EQ_U64(2, mldfi_load_u32(e.record + 20));
    CHECK_EQ_U64(3, mldfi_load_u32(e.record + 24));
    CHECK_EQ_U64(0, mldfi_load_u64(e.record));
    CHECK_OK(decode(s, &e, &out, &err), &err);
    CHECK_EQ_U64(3, out.dims[2]);
    s->fields[0].type->observe(s->fields[0].state, e.record, &seen);
    CHECK_EQ_U64(3, seen.ndim);
    CHECK_EQ_U64(2, seen.dims[1]);

    mldfi_store_u32(e.record + 20, 3); /* fixed to 2 */
    CHECK_STATUS(MLDF_E_CORRUPT, decode(s, &e, &out, &err), &err);
    CHECK_EQ_U64(RECORD_AT + 20, err.offset);
    mldfi_store_u32(e.record + 20, 2);
    mldfi_store_u32(e.record + 24, 4);
    CHECK_STATUS(MLDF_E_CORRUPT, decode(s, &e, &out, &err), &err);
    CHECK_EQ_U64(RECORD_AT + 8, err.offset);

    v.dims[1] = 3;
    CHECK_STATUS(MLDF_E_TYPE, encode(s, &v, &e, &err), &err);
    CHECK_CONTAINS("[null,2,null]", TEXT(err));
    v.dims[1] = 2;
    v.ndim = 2;
    CHECK_STATUS(MLDF_E_TYPE, encode(s, &v, &e, &err), &err);
    v.ndim = 3;
    v.dtype = MLDF_I32;
    CHECK_STATUS(MLDF_E_TYPE, encode(s, &v, &e, &err), &err);
    CHECK_CONTAINS("<i4", TEXT(err));
    v = value_of(MLDF_KIND_BYTES, floats, 24);
    CHECK_STATUS(MLDF_E_TYPE, encode(s, &v, &e, &err), &err);
    mldf_schema_free(s);
}

static void dimensions_whose_product_wraps_are_refused(void) {
    mldf_error err;
    struct encoded e;
    const uint64_t big = UINT64_C(1) << 31, huge = UINT64_C(1) << 32;
    /* 2^31 * 2^31 * 4 bytes = 2^64 = 0 in 64 bits. */
    mldf_value out, v = array(floats, 0, MLDF_F32, 2, (uint64_t[]){big, big});
    mldf_schema *s = one_field(MLDF_NDARRAY, "{\"dtype\":\"<f4\",\"shape\":[null,null]}", 0, &err);
    REQUIRE(s != NULL);
    CHECK_STATUS(MLDF_E_RANGE, encode(s, &v, &e, &err), &err);
    mldfi_store_u32(e.record + 16, (uint32_t)big);
    mldfi_store_u32(e.record + 20, (uint32_t)big);
    CHECK_STATUS(MLDF_E_CORRUPT, decode(s, &e, &out, &err), &err);
    CHECK_EQ_U64(RECORD_AT + 8, err.offset);
    v.dims[0] = huge;
    v.dims[1] = 0;
    CHECK_STATUS(MLDF_E_RANGE, encode(s, &v, &e, &err), &err);
    CHECK_CONTAINS("4294967296", TEXT(err));
    mldf_schema_free(s);
    s = one_field(MLDF_NDARRAY, "{\"dtype\":\"<f4\",\"shape\":[2147483648,2147483648]}", 0, &err);
    REQUIRE(s != NULL);
    v = value_of(MLDF_KIND_BYTES, floats, 0);
    CHECK_STATUS(MLDF_E_RANGE, encode(s, &v, &e, &err), &err);
    CHECK_STATUS(MLDF_E_CORRUPT, decode(s, &e, &out, &err), &err);
    mldf_schema_free(s);
}

static void a_dimension_of_zero_makes_an_empty_value(void) {
    mldf_error err;
    struct encoded e;
    mldf_value out, v = array(NULL, 0, MLDF_U8, 3, (uint64_t[]){UINT32_MAX, UINT32_MAX, 0});
    mldf_schema *s = one_field(MLDF_NDARRAY, "{\"dtype\":\"|u1\",\"shape\":[null,null,0]}", 0, &err);
    REQUIRE(s != NULL);
    CHECK_OK(encode(s, &v, &e, &err), &err);
    CHECK_OK(decode(s, &e, &out, &err), &err);
    CHECK_EQ_U64(0, out.bytes);
    mldf_schema_free(s);
    s = one_field(MLDF_NDARRAY, "{\"dtype\":\"<c16\",\"shape\":[]}", 0, &err);
    REQUIRE(s != NULL);
    v = array(floats, 16, MLDF_C128, 0, v.dims);
    CHECK_OK(encode(s, &v, &e, &err), &err);
    CHECK_OK(decode(s, &e, &out, &err), &err);
    CHECK_EQ_U64(0, out.ndim);
    mldf_schema_free(s);
}

static void record_grows_by_whole_words(void) {
    static const char *const shapes[] = {"null", "null,1", "null,1,1", "1,null,1,1", "1,1,1,1,1,1,1,null"};
    static const uint32_t bytes[] = {24, 24, 32, 32, 48};
    mldf_error err;
    for (size_t i = 0; i < 5; i++) {
        char text[128];
        snprintf(text, sizeof text, "{\"dtype\":\"bfloat16\",\"shape\":[%s]}", shapes[i]);
        mldf_schema *s = one_field(MLDF_NDARRAY, text, 0, &err);
        REQUIRE(s != NULL);
        CHECK_EQ_U64(bytes[i], mldf_schema_field(s, 0)->record_bytes);
        CHECK_EQ_INT(MLDF_BF16, mldf_schema_field(s, 0)->dtype);
        mldf_schema_free(s);
    }
}

static void faulty_arguments_are_named(void) {
    static const struct {
        const char *arguments, *part;
    } cases[] = {
        {NULL, "\"dtype\""},
        {"{\"dtype\":\"<f4\"}", "\"shape\""},
        {"{\"dtype\":\"float32\",\"shape\":[]}", "bfloat16"},
        {"{\"dtype\":\">f4\",\"shape\":[]}", "<f4"},
        {"{\"dtype\":\"<f4\",\"shape\":3}", "not a list"},
        {"{\"dtype\":\"<f4\",\"shape\":[3,-1]}", "dimension 1"},
        {"{\"dtype\":\"<f4\",\"shape\":[1.5]}", "dimension 0"},
        {"{\"dtype\":\"<f4\",\"shape\":[4294967296]}", "4294967296"},
        {"{\"dtype\":\"<f4\",\"shape\":[99999999999999999999]}", "dimension 0"},
        {"{\"dtype\":\"<f4\",\"shape\":[1,1,1,1,1,1,1,1,1]}", "9 dimensions"},
        {"{\"dtype\":\"<f4\",\"shape\":[1],\"shap\":1}", "did you mean \"shape\""},
        {"{\"dtype\":\"<f4\",\"shape\":[1],\"dtype\":\"<f4\"}", "not JSON"},
        {"[]", "object"},
        {"{", "not JSON"},
    };
    mldf_error err;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CHECK(one_field(MLDF_NDARRAY, cases[i].arguments, 0, &err) == NULL);
        CHECK_EQ_INT(MLDF_E_SCHEMA, err.status);
        CHECK_EQ_STR("f", err.field);
        CHECK_CONTAINS("field \"f\"", TEXT(err));
        CHECK_CONTAINS(cases[i].part, TEXT(err));
    }
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(fixed_shape_takes_arrays_and_their_bytes);
    RUN(varying_shape_stores_all_dimensions);
    RUN(dimensions_whose_product_wraps_are_refused);
    RUN(a_dimension_of_zero_makes_an_empty_value);
    RUN(record_grows_by_whole_words);
    RUN(faulty_arguments_are_named);
    return check_end();
}
