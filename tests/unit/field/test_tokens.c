/* TEXT_TOKENIZED, TEXT_PACKED, TOKEN_STREAM: records, narrowing, ids outside the vocabulary, tables, the draft's form, statistics, edges. */
#include "field/edge.h"
#include "field/tokens.h"
#include "fields.h"
#include "util/buffer.h"
#include "util/bytes.h"

static mldf_value ids_of(mldf_dtype dtype, const void *data, uint64_t count) {
    mldf_value v = value_of(MLDF_KIND_ARRAY, data, count * mldf_dtype_bytes(dtype));
    v.dtype = dtype;
    v.ndim = 1;
    v.dims[0] = count;
    return v;
}

static mldf_status encode_in(const mldf_schema *s, const mldf_value *v, mldf_buffer *scratch, struct encoded *out,
                             mldf_error *err) {
    const struct schema_field *f = &s->fields[0];
    memset(out, 0, sizeof *out);
    return f->type->type.encode(NULL, f->state, v, out->record, scratch, &out->payload, &out->payload_bytes, err);
}

static void records_have_16_24_and_32_bytes(void) {
    static const struct {
        uint16_t type;
        uint32_t bytes;
        uint16_t flag;
        const char *name;
    } cases[] = {{MLDF_TEXT_TOKENIZED, 16, MLDF_FIELD_SIZE32, "text_tokenized"},
                 {MLDF_TEXT_PACKED, 24, MLDF_FIELD_SIZE64, "text_packed"},
                 {MLDF_TOKEN_STREAM, 32, MLDF_FIELD_SIZE64, "token_stream"}};
    for (size_t i = 0; i < 3; i++) {
        mldf_error err;
        mldf_schema *s = one_field(cases[i].type, "{\"vocabulary\":50257}", 0, &err);
        REQUIRE(s != NULL);
        const mldf_field *f = mldf_schema_field(s, 0);
        CHECK_EQ_STR(cases[i].name, f->type_name);
        CHECK_EQ_STR("{\"dtype\":\"<u2\",\"vocabulary\":50257}", f->arguments);
        CHECK_EQ_U64(cases[i].bytes, f->record_bytes);
        CHECK_EQ_U64(cases[i].flag, f->flags);
        CHECK_EQ_INT(MLDF_U16, f->dtype);
        CHECK_EQ_INT(-1, f->dims[0]);
        CHECK(s->fields[0].layout.viewable);
        mldf_schema_free(s);
    }
}

static void ids_that_have_the_width_are_not_copied(void) {
    static const uint16_t ids[] = {1, 2, 50256};
    mldf_error err;
    struct encoded e;
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    mldf_value v = ids_of(MLDF_U16, ids, 3), out;
    mldf_schema *s = one_field(MLDF_TEXT_TOKENIZED, "{\"vocabulary\":50257}", 0, &err);
    REQUIRE(s != NULL);
    CHECK_OK(encode_in(s, &v, &scratch, &e, &err), &err);
    CHECK(e.payload == ids);
    CHECK_EQ_U64(3, mldfi_load_u32(e.record + 12));
    CHECK_OK(decode(s, &e, &out, &err), &err);
    CHECK(out.data == ids && out.dims[0] == 3 && out.ndim == 1 && out.dtype == MLDF_U16);
    mldf_buffer_free(&scratch);
    mldf_schema_free(s);
}

static void wider_ids_are_narrowed_and_checked(void) {
    static const int64_t ids[] = {0, 70000, 99999}, bad[] = {5, 100000, 1}, negative[] = {5, 6, -1};
    static const uint64_t huge[] = {1, UINT64_MAX};
    mldf_error err;
    struct encoded e;
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    mldf_value v = ids_of(MLDF_I64, ids, 3), out;
    mldf_schema *s = one_field(MLDF_TEXT_TOKENIZED, "{\"vocabulary\":100000}", 0, &err);
    REQUIRE(s != NULL);
    CHECK_OK(encode_in(s, &v, &scratch, &e, &err), &err);
    CHECK_OK(decode(s, &e, &out, &err), &err);
    CHECK_EQ_INT(MLDF_I32, out.dtype);
    CHECK_EQ_U64(70000, mldfi_load_u32((const uint8_t *)out.data + 4));
    v = ids_of(MLDF_I64, bad, 3);
    CHECK_STATUS(MLDF_E_RANGE, encode_in(s, &v, &scratch, &e, &err), &err);
    CHECK_EQ_STR("token 1 is 100000, outside the vocabulary: 0 to 99999", err.message);
    v = ids_of(MLDF_I64, negative, 3);
    CHECK_STATUS(MLDF_E_RANGE, encode_in(s, &v, &scratch, &e, &err), &err);
    v = ids_of(MLDF_U64, huge, 2);
    CHECK_STATUS(MLDF_E_RANGE, encode_in(s, &v, &scratch, &e, &err), &err);
    v = ids_of(MLDF_F32, ids, 3);
    CHECK_STATUS(MLDF_E_TYPE, encode_in(s, &v, &scratch, &e, &err), &err);
    mldf_buffer_free(&scratch);
    mldf_schema_free(s);
}

static void streams_and_packed_sequences_have_tables(void) {
    static const int32_t ids[] = {1, 2, 3, 4, 5};
    static const uint64_t ends[] = {2, 2, 5}, pieces[] = {2, 4};
    static const uint32_t from[] = {7, 0};
    mldf_buffer form = MLDF_BUFFER_INIT, scratch = MLDF_BUFFER_INIT;
    mldf_error err;
    struct encoded e;
    mldf_value v, out;
    mldf_tokens t;
    uint64_t begin, end;
    mldf_schema *s = one_field(MLDF_TOKEN_STREAM, "{\"vocabulary\":300}", 0, &err);
    REQUIRE(s != NULL);
    CHECK_OK(mldf_tokens_value(MLDF_TOKEN_STREAM, MLDF_I32, ids, 5, ends, NULL, 3, &form, &v, &err), &err);
    CHECK_OK(encode_in(s, &v, &scratch, &e, &err), &err);
    CHECK_EQ_U64(16 + 24, e.payload_bytes);
    CHECK_OK(check_deep(s, &e, &err), &err);
    CHECK_OK(decode(s, &e, &out, &err), &err);
    CHECK_EQ_U64(10, out.bytes);
    CHECK_OK(mldf_tokens_of(mldf_schema_field(s, 0), &out, &t, &err), &err);
    CHECK_OK(mldf_tokens_document(&t, 2, &begin, &end, &err), &err);
    CHECK(begin == 2 && end == 5);
    CHECK_STATUS(MLDF_E_RANGE, mldf_tokens_document(&t, 3, &begin, &end, &err), &err);
    CHECK_OK(mldf_tokens_value(MLDF_TOKEN_STREAM, MLDF_I32, ids, 5, ends, NULL, 2, &form, &v, &err), &err);
    CHECK_STATUS(MLDF_E_RANGE, encode_in(s, &v, &scratch, &e, &err), &err); /* the last does not end with the tokens */
    mldf_schema_free(s);
    s = one_field(MLDF_TEXT_PACKED, "{\"dtype\":\"<i4\"}", 0, &err);
    REQUIRE(s != NULL);
    CHECK_OK(mldf_tokens_value(MLDF_TEXT_PACKED, MLDF_I32, ids, 5, pieces, from, 2, &form, &v, &err), &err);
    CHECK_OK(encode_in(s, &v, &scratch, &e, &err), &err);
    CHECK_EQ_U64(24 + 16, e.payload_bytes);
    CHECK_EQ_U64(7, mldfi_load_u32((const uint8_t *)e.payload + 28));
    CHECK_OK(decode(s, &e, &out, &err), &err);
    mldfi_store_u32(e.record + 20, 3);
    CHECK_STATUS(MLDF_E_CORRUPT, decode(s, &e, &out, &err), &err);
    CHECK_EQ_U64(RECORD_AT + 8, err.offset);
    mldf_schema_free(s);
    mldf_buffer_free(&form);
    mldf_buffer_free(&scratch);
}

static void a_pipeline_sees_an_array_along_t(void) {
    mldf_error err;
    struct edge edge = {0};
    struct value_bounds bounds = {.known = true, .ndim = 1, .least = {0}, .most = {77}};
    mldf_schema *s = one_field(MLDF_TEXT_TOKENIZED, "{\"vocabulary\":300}", 0, &err);
    REQUIRE(s != NULL);
    CHECK_OK(s->fields[0].type->edge(&s->fields[0], &bounds, &edge, &err), &err);
    CHECK_EQ_INT(VALUE_ARRAY, edge.kind);
    CHECK_EQ_STR("t", edge.axes);
    CHECK_EQ_INT(MLDF_U16, edge.dtype);
    CHECK_EQ_INT(DIM_VARIES, edge.dims[0]);
    CHECK_EQ_U64(77, edge.most[0]);
    mldf_schema_free(s);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(records_have_16_24_and_32_bytes);
    RUN(ids_that_have_the_width_are_not_copied);
    RUN(wider_ids_are_narrowed_and_checked);
    RUN(streams_and_packed_sequences_have_tables);
    RUN(a_pipeline_sees_an_array_along_t);
    return check_end();
}
