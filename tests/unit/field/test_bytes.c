/* BYTES, JSON, TEXT: what is accepted, what is validated when written and what only a deep check finds; copies of stored values. */
#include "fields.h"
#include "util/bytes.h"

static void payload_points_to_the_value_without_a_copy(void) {
    static const uint16_t types[] = {MLDF_BYTES, MLDF_JSON, MLDF_TEXT};
    static const char text[] = "[1, 2]";
    mldf_error err;
    for (size_t i = 0; i < 3; i++) {
        mldf_schema *s = one_field(types[i], NULL, 0, &err);
        struct encoded e;
        mldf_value out;
        REQUIRE(s != NULL);
        for (int kind = MLDF_KIND_BYTES; kind <= MLDF_KIND_TEXT; kind++) {
            mldf_value v = value_of((mldf_kind)kind, text, sizeof text - 1);
            CHECK_OK(encode(s, &v, &e, &err), &err);
            CHECK(e.payload == text);
            CHECK_EQ_U64(sizeof text - 1, e.payload_bytes);
            CHECK_OK(decode(s, &e, &out, &err), &err);
            CHECK(out.data == text);
            CHECK_EQ_INT(types[i] == MLDF_BYTES ? MLDF_KIND_BYTES : MLDF_KIND_TEXT, out.kind);
            CHECK_EQ_U64(16, out.record_bytes);
            CHECK(out.record == e.record);
            CHECK_OK(check_deep(s, &e, &err), &err);
        }
        mldf_value none = value_of(MLDF_KIND_TEXT, NULL, 3), number = value_of(MLDF_KIND_INT, NULL, 0);
        CHECK_STATUS(MLDF_E_ARGUMENT, encode(s, &none, &e, &err), &err);
        CHECK_STATUS(MLDF_E_TYPE, encode(s, &number, &e, &err), &err);
        mldf_schema_free(s);
    }
}

static void empty_bytes_and_text_are_values_and_empty_json_is_not(void) {
    mldf_error err;
    struct encoded e;
    mldf_value v = value_of(MLDF_KIND_BYTES, NULL, 0), out;
    mldf_schema *bytes = one_field(MLDF_BYTES, NULL, 0, &err), *text = one_field(MLDF_TEXT, NULL, 0, &err),
                *json = one_field(MLDF_JSON, NULL, 0, &err);
    CHECK_OK(encode(bytes, &v, &e, &err), &err);
    CHECK_OK(decode(bytes, &e, &out, &err), &err);
    CHECK_EQ_U64(0, out.bytes);
    CHECK_OK(encode(text, &v, &e, &err), &err);
    CHECK_OK(decode(text, &e, &out, &err), &err);
    CHECK_OK(check_deep(text, &e, &err), &err);
    CHECK_STATUS(MLDF_E_SYNTAX, encode(json, &v, &e, &err), &err);
    CHECK_STATUS(MLDF_E_CORRUPT, decode(json, &e, &out, &err), &err);
    CHECK_EQ_U64(RECORD_AT + 8, err.offset);
    mldf_schema_free(bytes);
    mldf_schema_free(text);
    mldf_schema_free(json);
}

static void json_is_validated_with_the_position(void) {
    mldf_error err;
    struct encoded e;
    mldf_schema *s = one_field(MLDF_JSON, NULL, 0, &err);
    mldf_value v = value_of(MLDF_KIND_TEXT, "{\"a\":1,}", 8), out;
    CHECK_STATUS(MLDF_E_SYNTAX, encode(s, &v, &e, &err), &err);
    CHECK_CONTAINS("byte 7", TEXT(err));
    CHECK_EQ_U64(MLDF_NONE, err.offset);
    e.payload = v.data;
    e.payload_bytes = v.bytes;
    CHECK_OK(decode(s, &e, &out, &err), &err);
    CHECK_STATUS(MLDF_E_CORRUPT, check_deep(s, &e, &err), &err);
    CHECK_EQ_U64(PAYLOAD_AT, err.offset);
    mldf_schema_free(s);
}

static void json_refuses_keys_that_are_there_twice(void) {
    static const char *const twice[] = {"{\"1\":2,\"1\":2}", "[{\"a\":{\"b\":1,\"c\":2,\"b\":3}}]",
                                        "{\"a\":1,\"\\u0061\":2}"};
    static const char *const once[] = {"{\"a\":{\"a\":1},\"b\":{\"a\":1}}", "[\"::\",\"::\"]", "{\":\":1,\"::\":2}"};
    mldf_error err;
    struct encoded e;
    mldf_schema *s = one_field(MLDF_JSON, NULL, 0, &err);
    for (size_t i = 0; i < 3; i++) {
        mldf_value v = value_of(MLDF_KIND_TEXT, twice[i], strlen(twice[i]));
        CHECK_STATUS(MLDF_E_SYNTAX, encode(s, &v, &e, &err), &err);
        CHECK_CONTAINS("is there twice", TEXT(err));
        e.payload = v.data;
        e.payload_bytes = v.bytes;
        CHECK_STATUS(MLDF_E_CORRUPT, check_deep(s, &e, &err), &err);
        CHECK_EQ_U64(PAYLOAD_AT, err.offset);
        v = value_of(MLDF_KIND_TEXT, once[i], strlen(once[i]));
        CHECK_OK(encode(s, &v, &e, &err), &err);
        CHECK_OK(check_deep(s, &e, &err), &err);
    }
    mldf_schema_free(s);
}

static void text_is_validated_with_the_position(void) {
    mldf_error err;
    struct encoded e;
    mldf_schema *s = one_field(MLDF_TEXT, NULL, 0, &err);
    mldf_value v = value_of(MLDF_KIND_TEXT, "caf\xc3\xa9 \xff", 7), out;
    CHECK_STATUS(MLDF_E_SYNTAX, encode(s, &v, &e, &err), &err);
    CHECK_CONTAINS("byte 6 of 7 is 0xff", TEXT(err));
    v.bytes = 6;
    CHECK_OK(encode(s, &v, &e, &err), &err);
    e.payload_bytes = 7;
    CHECK_OK(decode(s, &e, &out, &err), &err);
    CHECK_STATUS(MLDF_E_CORRUPT, check_deep(s, &e, &err), &err);
    CHECK_EQ_U64(PAYLOAD_AT, err.offset);
    e.record[14] = 3;
    CHECK_STATUS(MLDF_E_FEATURE, decode(s, &e, &out, &err), &err);
    CHECK_EQ_U64(RECORD_AT + 14, err.offset);
    v.bytes = (uint64_t)UINT32_MAX + 1; /* refused before it is looked at */
    CHECK_STATUS(MLDF_E_RANGE, encode(s, &v, &e, &err), &err);
    mldf_schema_free(s);
}

static void records_have_the_specified_form(void) {
    mldf_error err;
    mldf_schema *s = one_field(MLDF_BYTES, NULL, MLDF_FIELD_NULLABLE | MLDF_FIELD_COMPRESSED, &err);
    const mldf_field *f = mldf_schema_field(s, 0);
    CHECK_EQ_U64(MLDF_FIELD_NULLABLE | MLDF_FIELD_COMPRESSED | MLDF_FIELD_SIZE64, f->flags);
    CHECK_EQ_U64(16, f->record_bytes);
    CHECK_EQ_U64(8, f->record_align);
    mldf_schema_free(s);
    s = one_field(MLDF_TEXT, NULL, 0, &err);
    CHECK_EQ_U64(MLDF_FIELD_SIZE32, mldf_schema_field(s, 0)->flags);
    uint8_t record[16] = {0};
    uint64_t ptr, bytes;
    mldfi_record_set_payload(&s->fields[0], record, 4096, 77);
    mldfi_record_payload(&s->fields[0], record, &ptr, &bytes);
    CHECK_EQ_U64(4096, ptr);
    CHECK_EQ_U64(77, bytes);
    CHECK_EQ_U64(0, mldfi_load_u32(record + 12));
    mldf_schema_free(s);
}

static void stored_values_are_checked_before_they_are_copied(void) {
    mldf_error err;
    uint8_t record[16] = {0};
    mldf_schema *s = one_field(MLDF_JSON, NULL, 0, &err);
    const struct schema_field *f = &s->fields[0];
    mldf_value v = value_of(MLDF_KIND_STORED, "{}", 2);
    v.record = record;
    v.record_bytes = 16;
    CHECK_OK(mldfi_field_check_stored(f, &v, &err), &err);
    v.record_bytes = 24;
    CHECK_STATUS(MLDF_E_TYPE, mldfi_field_check_stored(f, &v, &err), &err);
    CHECK_EQ_STR("f", err.field);
    v.record_bytes = 16;
    v.bytes = 0;
    CHECK_STATUS(MLDF_E_CORRUPT, mldfi_field_check_stored(f, &v, &err), &err);
    CHECK_EQ_U64(MLDF_NONE, err.offset);
    v.kind = MLDF_KIND_TEXT;
    CHECK_STATUS(MLDF_E_TYPE, mldfi_field_check_stored(f, &v, &err), &err);
    mldf_schema_free(s);
    s = one_field(MLDF_INT, NULL, 0, &err);
    v = value_of(MLDF_KIND_STORED, "{}", 2);
    v.record = record;
    v.record_bytes = 8;
    CHECK_STATUS(MLDF_E_TYPE, mldfi_field_check_stored(&s->fields[0], &v, &err), &err);
    v.bytes = 0;
    CHECK_OK(mldfi_field_check_stored(&s->fields[0], &v, &err), &err);
    mldf_schema_free(s);
    s = one_field(MLDF_TEXT, NULL, 0, &err);
    v = value_of(MLDF_KIND_STORED, record, (uint64_t)1 << 32);
    v.record = record;
    v.record_bytes = 16;
    CHECK_STATUS(MLDF_E_RANGE, mldfi_field_check_stored(&s->fields[0], &v, &err), &err);
    mldf_schema_free(s);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(payload_points_to_the_value_without_a_copy);
    RUN(empty_bytes_and_text_are_values_and_empty_json_is_not);
    RUN(json_is_validated_with_the_position);
    RUN(json_refuses_keys_that_are_there_twice);
    RUN(text_is_validated_with_the_position);
    RUN(records_have_the_specified_form);
    RUN(stored_values_are_checked_before_they_are_copied);
    return check_end();
}
