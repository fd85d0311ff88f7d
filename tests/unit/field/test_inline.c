/* INLINE: descr against NumPy's own answers, what is refused, values in and out. */
#include "descr_cases.h"
#include "fields.h"
#include "util/bytes.h"

static mldf_schema *inline_field(const char *descr, mldf_error *err) {
    mldf_buffer text = MLDF_BUFFER_INIT;
    mldf_schema *s = NULL;
    if (mldf_buffer_append(&text, "{\"descr\":", 9, err) == MLDF_OK &&
        mldf_buffer_append(&text, descr, strlen(descr), err) == MLDF_OK &&
        mldf_buffer_append(&text, "}", 2, err) == MLDF_OK)
        s = one_field(MLDF_INLINE, (const char *)text.data, 0, err);
    mldf_buffer_free(&text);
    return s;
}

/* path:type:offset:itemsize:dims:strides; for each leaf. */
static void describe_leaves(const mldf_schema *s, char *out, size_t room) {
    mldf_member m;
    mldf_error err;
    mldf_status status;
    size_t used = 0;
    out[0] = 0;
    for (size_t i = 0; (status = mldf_field_member(s, 0, i, &m, &err)) == MLDF_OK; i++) {
        used += (size_t)snprintf(out + used, room - used, "%s:%s:%u:%u:", m.path, m.type, m.offset, m.itemsize);
        for (uint32_t k = 0; k < m.ndim; k++)
            used += (size_t)snprintf(out + used, room - used, "%s%u", k ? "," : "", m.dims[k]);
        used += (size_t)snprintf(out + used, room - used, ":");
        for (uint32_t k = 0; k < m.ndim; k++)
            used += (size_t)snprintf(out + used, room - used, "%s%u", k ? "," : "", m.strides[k]);
        used += (size_t)snprintf(out + used, room - used, ";");
        CHECK_EQ_INT(mldf_dtype_parse(m.type, strlen(m.type)), m.dtype);
    }
    CHECK_EQ_INT(MLDF_END, status);
}

static void descr_gives_what_numpy_gives(void) {
    static char leaves[8192];
    mldf_error err;
    for (size_t i = 0; i < sizeof descr_cases / sizeof descr_cases[0]; i++) {
        const struct descr_case *c = &descr_cases[i];
        mldf_schema *s = inline_field(c->descr, &err);
        if (!s)
            check_fail(__FILE__, __LINE__, "%s: %s", c->descr, err.message);
        REQUIRE(s != NULL);
        describe_leaves(s, leaves, sizeof leaves);
        CHECK_EQ_STR(c->leaves, leaves);
        CHECK_EQ_U64(c->itemsize, mldf_schema_field(s, 0)->record_bytes);
        CHECK_EQ_U64(c->align, mldf_schema_field(s, 0)->record_align);
        mldf_schema_free(s);
    }
}

static void bare_member_is_an_array(void) {
    static const float box[4] = {1, 2, 3, 4};
    mldf_error err;
    struct encoded e;
    mldf_value out, v = value_of(MLDF_KIND_ARRAY, box, 16);
    mldf_schema *s = inline_field("[[\"\",\"<f4\",4]]", &err);
    REQUIRE(s != NULL);
    CHECK_EQ_STR("{\"descr\":[[\"\",\"<f4\",[4]]]}", mldf_schema_field(s, 0)->arguments);
    CHECK_EQ_INT(MLDF_F32, mldf_schema_field(s, 0)->dtype);
    CHECK_EQ_INT(4, mldf_schema_field(s, 0)->dims[0]);
    CHECK_EQ_U64(4, mldf_schema_field(s, 0)->record_align);
    v.ndim = 1;
    v.dims[0] = 4;
    CHECK_OK(encode(s, &v, &e, &err), &err);
    CHECK_MEM_EQ(box, e.record, 16);
    CHECK(e.payload == NULL && e.payload_bytes == 0);
    CHECK_OK(decode(s, &e, &out, &err), &err);
    CHECK_EQ_INT(MLDF_KIND_ARRAY, out.kind);
    CHECK_EQ_INT(MLDF_F32, out.dtype);
    CHECK_EQ_U64(4, out.dims[0]);
    CHECK(out.data == e.record);
    v.dims[0] = 3;
    CHECK_STATUS(MLDF_E_TYPE, encode(s, &v, &e, &err), &err);
    v.dims[0] = 4;
    v.dtype = MLDF_F64;
    CHECK_STATUS(MLDF_E_TYPE, encode(s, &v, &e, &err), &err);
    v = value_of(MLDF_KIND_BYTES, box, 12);
    CHECK_STATUS(MLDF_E_RANGE, encode(s, &v, &e, &err), &err);
    mldf_schema_free(s);
    s = inline_field("[[\"\",\"|S3\"]]", &err); /* bare, but no numbers */
    REQUIRE(s != NULL);
    v = value_of(MLDF_KIND_BYTES, "abc", 3);
    CHECK_OK(encode(s, &v, &e, &err), &err);
    CHECK_OK(decode(s, &e, &out, &err), &err);
    CHECK_EQ_INT(MLDF_KIND_STRUCT, out.kind);
    mldf_schema_free(s);
}

static void struct_is_its_bytes(void) {
    static const uint8_t bytes[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    mldf_error err;
    struct encoded e;
    mldf_value out, v = value_of(MLDF_KIND_STRUCT, bytes, 10);
    mldf_schema *s = inline_field("[[\"a\",\"<u2\"],[\"b\",\"<u8\"]]", &err);
    REQUIRE(s != NULL);
    CHECK_EQ_U64(1, mldf_schema_field(s, 0)->record_align); /* b lies at 2 */
    CHECK_OK(encode(s, &v, &e, &err), &err);
    CHECK_OK(decode(s, &e, &out, &err), &err);
    CHECK_EQ_INT(MLDF_KIND_STRUCT, out.kind);
    CHECK_BYTES_EQ(bytes, sizeof bytes, out.data, (size_t)out.bytes);
    v.kind = MLDF_KIND_ARRAY;
    CHECK_STATUS(MLDF_E_TYPE, encode(s, &v, &e, &err), &err);
    v.kind = MLDF_KIND_FLOAT;
    CHECK_STATUS(MLDF_E_TYPE, encode(s, &v, &e, &err), &err);
    mldf_schema_free(s);
}

static void bare_struct_and_bfloat16_are_possible(void) {
    static char leaves[1024];
    mldf_error err;
    mldf_schema *s = inline_field("[[\"\",[[\"x\",\"bfloat16\"],[\"\",\"|V2\"],[\"y\",\"<f4\",[]]],[5,2]]]", &err);
    REQUIRE(s != NULL);
    describe_leaves(s, leaves, sizeof leaves);
    CHECK_EQ_STR("x:bfloat16:0:2:5,2:16,8;y:<f4:4:4:5,2:16,8;", leaves);
    CHECK_EQ_STR("{\"descr\":[[\"\",[[\"x\",\"bfloat16\"],[\"\",\"|V2\"],[\"y\",\"<f4\"]],[5,2]]]}",
                 mldf_schema_field(s, 0)->arguments);
    CHECK_EQ_INT(MLDF_DTYPE_NONE, mldf_schema_field(s, 0)->dtype);
    CHECK_EQ_U64(4, mldf_schema_field(s, 0)->record_align);
    mldf_schema_free(s);
}

static void padding_is_zero_whatever_was_there(void) {
    static const char *const descr =
        "[[\"a\",\"|u1\"],[\"\",\"|V3\"],[\"c\",[[\"d\",\"<u2\"],[\"\",\"|V1\"],[\"e\",\"|u1\",[2]]],[2]]]";
    static const uint8_t wanted[14] = {1, 0, 0, 0, 1, 1, 0, 1, 1, 1, 1, 0, 1, 1};
    mldf_error err;
    struct encoded e;
    uint8_t given[14];
    memset(given, 1, sizeof given);
    mldf_schema *s = inline_field(descr, &err);
    REQUIRE(s != NULL);
    mldf_value v = value_of(MLDF_KIND_STRUCT, given, sizeof given);
    CHECK_OK(encode(s, &v, &e, &err), &err);
    CHECK(memcmp(wanted, e.record, sizeof wanted) == 0);
    mldf_schema_free(s);
}

static void faulty_descr_names_the_member(void) {
    static const struct {
        const char *descr, *part;
    } cases[] = {
        {"[]", "descr"},
        {"{}", "descr"},
        {"[3]", "[name, type]"},
        {"[[\"a\"]]", "[name, type]"},
        {"[[\"a\",\"<f4\",[2],1]]", "[name, type]"},
        {"[[1,\"<f4\"]]", "[name, type]"},
        {"[[\"a\",7]]", "member \"a\""},
        {"[[\"a\",\">f4\"]]", "member \"a\""},
        {"[[\"a\",\"|S0\"]]", "member \"a\""},
        {"[[\"a\",\"|S01\"]]", "member \"a\""},
        {"[[\"a\",\"<S1\"]]", "member \"a\""},
        {"[[\"a\",\"|S-1\"]]", "member \"a\""},
        {"[[\"a\",\"|S99999999999999999999\"]]", "member \"a\""},
        {"[[\"a\",\"<f4\",[0]]]", "member \"a\""},
        {"[[\"a\",\"<f4\",0]]", "member \"a\""},
        {"[[\"a\",\"<f4\",[null]]]", "member \"a\""},
        {"[[\"a\",\"<f4\",[1025]]]", "4096"},
        {"[[\"a\",\"|u1\",[4294967297]]]", "more elements"},
        {"[[\"a\",\"|u1\",[4096]],[\"b\",\"|u1\"]]", "member \"b\""},
        {"[[\"p\",[[\"x\",\"<f4\"],[\"x\",\"<f4\"]]]]", "member \"p.x\""},
        {"[[\"a\",\"<f4\"],[\"\",\"<f4\"]]", "no name"},
        {"[[\"p\",[[\"\",\"<f4\"]]]]", "no name"},
        {"[[\"\",[[\"x\",\"<f4\"]]],[\"b\",\"<f4\"]]", "without a name"},
        {"[[\"p\",[]]]", "member \"p\""},
        {"[[\"a\\u0001\",\"<f4\"]]", "control"},
        {"[[\"p\",[[\"x\",\"|u1\",[1,1,1,1,1]]],[1,1,1,1]]]", "8 dimensions"},
        {"[[\"a\",[[\"b\",[[\"c\",[[\"d\",[[\"e\",[[\"f\",[[\"g\",[[\"h\",[[\"i\",\"|u1\"]]]]]]]]]]]]]]]]]]", "deeper"},
    };
    mldf_error err;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        mldf_schema *s = inline_field(cases[i].descr, &err);
        if (s)
            check_fail(__FILE__, __LINE__, "accepted: %s", cases[i].descr);
        else
            CHECK_CONTAINS(cases[i].part, TEXT(err));
        CHECK_EQ_INT(MLDF_E_SCHEMA, err.status);
        mldf_schema_free(s);
    }
}

static void members_and_paths_are_bounded(void) {
    static char text[8192];
    mldf_error err;
    for (int count = 256; count <= 257; count++) {
        size_t used = (size_t)snprintf(text, sizeof text, "[");
        for (int i = 0; i < count; i++)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s[\"m%d\",\"|u1\"]", i ? "," : "", i);
        snprintf(text + used, sizeof text - used, "]");
        mldf_schema *s = inline_field(text, &err);
        CHECK((s != NULL) == (count == 256));
        mldf_schema_free(s);
    }
    for (int bytes = 255; bytes <= 256; bytes++) {
        snprintf(text, sizeof text, "[[\"%0*d\",\"|u1\"]]", bytes, 0);
        mldf_schema *s = inline_field(text, &err);
        CHECK((s != NULL) == (bytes == 255));
        mldf_schema_free(s);
    }
}

static void random_texts_never_do_harm(void) {
    static const char *const pieces[] = {"[",       "]",   ",", "\"\"",    "\"a\"",          "\"<f4\"",
                                         "\"|V9\"", "[2]", "3", "\"<U2\"", "[\"b\",\"|u1\"]"};
    uint64_t rng = check_seed();
    for (int i = 0; i < 20000; i++) {
        char text[256] = "[[";
        mldf_error err;
        size_t parts = 1 + check_rand_below(&rng, 14);
        for (size_t k = 0; k < parts; k++)
            strcat(text, pieces[check_rand_below(&rng, sizeof pieces / sizeof pieces[0])]);
        strcat(text, "]]");
        mldf_schema_free(inline_field(text, &err));
    }
}

static void characters_beyond_unicode_are_refused(void) {
    mldf_error err;
    struct encoded e;
    uint8_t bytes[2 * 12];
    mldf_schema *s = inline_field("[[\"p\",[[\"t\",\"<U2\"],[\"n\",\"<i4\"]],[2]]]", &err);
    REQUIRE(s != NULL);
    memset(bytes, 0, sizeof bytes);
    mldfi_store_u32(bytes + 8, UINT32_MAX); /* n: any bits */
    mldfi_store_u32(bytes + 16, 0x10FFFF);
    mldf_value v = value_of(MLDF_KIND_STRUCT, bytes, sizeof bytes);
    CHECK_OK(encode(s, &v, &e, &err), &err);
    CHECK_OK(check_deep(s, &e, &err), &err);
    mldfi_store_u32(bytes + 16, 0x110000);
    CHECK_STATUS(MLDF_E_RANGE, encode(s, &v, &e, &err), &err);
    CHECK_CONTAINS("\"p.t\"", TEXT(err));
    memcpy(e.record, bytes, sizeof bytes);
    CHECK_STATUS(MLDF_E_CORRUPT, check_deep(s, &e, &err), &err);
    CHECK_EQ_U64(RECORD_AT, err.offset);
    mldf_schema_free(s);
}

static void members_of_other_types_are_refused(void) {
    mldf_error err;
    mldf_member m;
    mldf_schema *s = one_field(MLDF_INT, NULL, 0, &err);
    CHECK_STATUS(MLDF_E_TYPE, mldf_field_member(s, 0, 0, &m, &err), &err);
    CHECK_STATUS(MLDF_E_NO_FIELD, mldf_field_member(s, 1, 0, &m, &err), &err);
    mldf_schema_free(s);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(descr_gives_what_numpy_gives);
    RUN(bare_member_is_an_array);
    RUN(struct_is_its_bytes);
    RUN(bare_struct_and_bfloat16_are_possible);
    RUN(padding_is_zero_whatever_was_there);
    RUN(faulty_descr_names_the_member);
    RUN(members_and_paths_are_bounded);
    RUN(random_texts_never_do_harm);
    RUN(characters_beyond_unicode_are_refused);
    RUN(members_of_other_types_are_refused);
    return check_end();
}
