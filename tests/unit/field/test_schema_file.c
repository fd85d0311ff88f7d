/* Schemas from descriptors: round trips of random schemas, known, unknown and private types, faults with their byte, drafts. */
#include "fields.h"

enum { AT = 5000, TEXT_AT = 77000 };

static mldf_status add(mldf_schema *s, const struct descriptor *d, const char *arguments, mldf_error *err) {
    return mldfi_schema_add_descriptor(s, d, arguments, strlen(arguments), false, AT, err);
}

static struct descriptor descriptor(const char *name, uint16_t type_id, uint16_t flags, uint32_t bytes, uint16_t align,
                                    uint32_t offset) {
    struct descriptor d = {.type_id = type_id,
                           .flags = flags,
                           .metadata_size = bytes,
                           .row_align = align,
                           .row_offset = offset,
                           .arguments_offset = TEXT_AT};
    snprintf(d.name, sizeof d.name, "%s", name);
    return d;
}

static void add_random_field(mldf_schema *s, uint64_t *rng, int index, mldf_error *err) {
    static const struct {
        uint16_t type_id;
        const char *arguments;
    } kinds[] = {
        {MLDF_INT, "{}"},
        {MLDF_INT, "{\"dtype\":\"<u2\"}"},
        {MLDF_FLOAT, NULL},
        {MLDF_BYTES, NULL},
        {MLDF_JSON, NULL},
        {MLDF_TEXT, NULL},
        {MLDF_NDARRAY, "{\"dtype\":\"<f2\",\"shape\":[null,3,null]}"},
        {MLDF_INLINE, "{\"descr\":[[\"\",\"|u1\",[5]]]}"},
        {MLDF_INLINE, "{\"descr\":[[\"a\",\"<f4\"],[\"b\",\"<i2\",[2]]]}"},
        {MLDF_INLINE,
         "{\"descr\":[[\"long_name_number_one\",\"<f4\"],[\"long_name_number_two\",\"<f4\"],[\"long_name_number_three\","
         "\"<f4\"],[\"long_name_number_four\",\"<f4\"]]}"},
    };
    size_t k = check_rand_below(rng, sizeof kinds / sizeof kinds[0]);
    char name[32];
    snprintf(name, sizeof name, "field_%d", index);
    CHECK_OK(mldf_schema_add(s, name, kinds[k].type_id, kinds[k].arguments,
                             check_rand(rng) & 1 ? MLDF_FIELD_NULLABLE : 0, err),
             err);
}

static void random_schemas_survive_as_descriptors(void) {
    uint64_t rng = check_seed();
    mldf_error err;
    for (int round = 0; round < 300; round++) {
        mldf_schema *s, *back;
        REQUIRE_OK(mldf_schema_new(NULL, &s, &err), &err);
        REQUIRE_OK(mldf_schema_new(NULL, &back, &err), &err);
        int count = 1 + (int)check_rand_below(&rng, 12);
        for (int i = 0; i < count; i++)
            add_random_field(s, &rng, i, &err);
        for (size_t i = 0; i < mldf_schema_field_count(s); i++) {
            struct descriptor d, decoded;
            uint8_t bytes[FORMAT_DESCRIPTOR_BYTES];
            bool is_long;
            mldfi_schema_descriptor(s, i, &d, &is_long);
            mldfi_descriptor_encode(&d, bytes);
            REQUIRE_OK(mldfi_descriptor_decode(bytes, AT, &decoded, &err), &err);
            const char *text = is_long ? mldf_schema_field(s, i)->arguments : (const char *)decoded.arguments;
            size_t text_bytes = is_long ? strlen(text) : decoded.arguments_bytes;
            CHECK_EQ_INT(is_long, decoded.arguments_bytes == FORMAT_LONG_ARGUMENTS);
            REQUIRE_OK(mldfi_schema_add_descriptor(back, &decoded, text, text_bytes, false, AT, &err), &err);
        }
        mldf_buffer a = MLDF_BUFFER_INIT, b = MLDF_BUFFER_INIT;
        CHECK_OK(mldf_schema_write(s, &a, &err), &err);
        CHECK_OK(mldf_schema_write(back, &b, &err), &err);
        CHECK_BYTES_EQ(a.data, a.size, b.data, b.size);
        CHECK_EQ_U64(mldf_schema_row_bytes(s), mldf_schema_row_bytes(back));
        CHECK_EQ_U64(s->payload_count, back->payload_count);
        mldf_buffer_free(&a);
        mldf_buffer_free(&b);
        mldf_schema_free(s);
        mldf_schema_free(back);
    }
}

static void unknown_types_are_kept_as_the_file_has_them(void) {
    mldf_schema *s;
    mldf_error err;
    struct descriptor d = descriptor("sound", 20, MLDF_FIELD_SIZE32 | MLDF_FIELD_NULLABLE, 24, 8, 8);
    REQUIRE_OK(mldf_schema_new(NULL, &s, &err), &err);
    CHECK_OK(add(s, &d, "{ \"b\":1, \"a\":2 }", &err), &err);
    d = descriptor("odd", 999, 0, 7, 1, 40);
    CHECK_OK(add(s, &d, "", &err), &err);
    d = descriptor("own", 0x9000, 0, 4, 4, 48);
    CHECK_OK(add(s, &d, "{\"type\":\"org.example.x\"}", &err), &err);
    const mldf_field *f = mldf_schema_field(s, 0);
    CHECK(!f->known);
    CHECK_EQ_STR("audio_waveform", f->type_name);
    CHECK_EQ_STR("{\"a\":2,\"b\":1}", f->arguments);
    CHECK_EQ_U64(8, f->row_offset);
    CHECK_EQ_STR("unknown", mldf_schema_field(s, 1)->type_name);
    CHECK_EQ_STR("{}", mldf_schema_field(s, 1)->arguments);
    CHECK_EQ_STR("unknown", mldf_schema_field(s, 2)->type_name);
    CHECK_EQ_U64(56, mldf_schema_row_bytes(s));
    CHECK_EQ_U64(1, s->payload_count);
    mldf_schema *copy;
    CHECK_OK(mldfi_schema_copy(s, &copy, &err), &err);
    CHECK(!mldf_schema_field(copy, 0)->known);
    mldf_value v = value_of(MLDF_KIND_STORED, "x", 1);
    v.record = "12345678901234567890123";
    v.record_bytes = 24;
    CHECK_OK(mldfi_field_check_stored(&copy->fields[0], &v, &err), &err);
    mldf_schema_free(copy);
    mldf_schema_free(s);
}

static void faults_name_their_byte(void) {
    static const struct {
        const char *name;
        uint16_t type_id, flags;
        uint32_t bytes;
        uint16_t align;
        uint32_t offset;
        const char *arguments;
        uint64_t at;
    } cases[] = {
        {"first", MLDF_INT, 0, 8, 8, 8, "", AT},                                    /* the name is there */
        {"x", MLDF_INT, 0, 8, 8, 0, "", AT + 72},                                   /* overlaps */
        {"x", MLDF_INT, 0, 8, 8, 8, "{", TEXT_AT},                                  /* not JSON */
        {"x", MLDF_INT, 0, 8, 8, 8, "[]", TEXT_AT},                                 /* not an object */
        {"x", 777, 0, 8, 8, 8, "{\"a\":1,\"a\":1}", TEXT_AT},                       /* a key twice */
        {"x", MLDF_INT, 0, 8, 8, 8, "{\"dtype\":\"<f8\"}", TEXT_AT},                /* breaks the type's rule */
        {"x", MLDF_NDARRAY, MLDF_FIELD_SIZE64, 16, 8, 8, "", TEXT_AT},              /* likewise */
        {"x", MLDF_INLINE, 0, 8, 8, 8, "{\"descr\":[[\"a\",\"<f4\",2]]}", TEXT_AT}, /* a file has lists */
        {"x", 0x8000, 0, 8, 8, 8, "", TEXT_AT},                                     /* no "type" */
        {"x", 0x8000, 0, 8, 8, 8, "{\"type\":\"\"}", TEXT_AT},                      /* likewise */
        {"x", 0x8000, 0, 8, 8, 8, "{\"type\":7}", TEXT_AT},                         /* likewise */
        {"x", MLDF_BYTES, MLDF_FIELD_SIZE32, 16, 8, 8, "", AT + 66},                /* another payload form */
        {"x", MLDF_INT, MLDF_FIELD_SIZE32, 16, 8, 8, "", AT + 66},                  /* likewise */
        {"x", MLDF_INT, 0, 16, 8, 8, "", AT + 68},                                  /* another size */
        {"x", MLDF_NDARRAY, MLDF_FIELD_SIZE64, 16, 8, 8, "{\"dtype\":\"<f4\",\"shape\":[null]}", AT + 68},
        {"x", MLDF_INLINE, 0, 12, 4, 8, "{\"descr\":[[\"a\",\"<f4\"],[\"b\",\"<f4\"]]}", AT + 68},
    };
    mldf_schema *s;
    mldf_error err;
    struct descriptor d = descriptor("first", MLDF_INT, 0, 8, 8, 0);
    REQUIRE_OK(mldf_schema_new(NULL, &s, &err), &err);
    CHECK_OK(add(s, &d, "{\"dtype\":\"<i4\",\"note\":\"kept\"}", &err), &err); /* an unknown key is ignored and kept */
    CHECK_EQ_STR("{\"dtype\":\"<i4\",\"note\":\"kept\"}", mldf_schema_field(s, 0)->arguments);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        d = descriptor(cases[i].name, cases[i].type_id, cases[i].flags, cases[i].bytes, cases[i].align,
                       cases[i].offset);
        CHECK_STATUS(MLDF_E_CORRUPT, add(s, &d, cases[i].arguments, &err), &err);
        CHECK_EQ_U64(cases[i].at, err.offset);
        CHECK_EQ_STR(cases[i].name, err.field);
    }
    CHECK_EQ_U64(1, mldf_schema_field_count(s));
    mldf_schema_free(s);
}

static void arguments_nested_deeper_than_64_are_refused(void) {
    mldf_error err;
    for (size_t depth = 64; depth <= 65; depth++) {
        char text[256] = "{\"a\":";
        size_t used = strlen(text);
        memset(text + used, '[', depth - 1);
        memset(text + used + depth - 1, ']', depth - 1);
        strcpy(text + used + 2 * (depth - 1), "}");
        mldf_schema *s;
        struct descriptor d = descriptor("x", 999, 0, 8, 8, 0);
        REQUIRE_OK(mldf_schema_new(NULL, &s, &err), &err);
        CHECK_STATUS(depth == 64 ? MLDF_OK : MLDF_E_CORRUPT, add(s, &d, text, &err), &err);
        mldf_schema_free(s);
    }
}

static void draft_fields_are_known_where_they_need_no_arguments(void) {
    static const struct {
        const char *name;
        uint16_t type_id, flags;
        uint32_t bytes;
        uint16_t align;
        bool known;
        uint32_t offset;
    } cases[] = {
        {"own", 0x8005, 0, 3, 1, false, 0},
        {"label", MLDF_INT, 0, 8, 8, true, 8},
        {"image", 11, MLDF_FIELD_SIZE32, 20, 8, false, 16},
        {"array", MLDF_NDARRAY, MLDF_FIELD_SIZE64, 16, 8, false, 40},
        {"text", MLDF_TEXT, MLDF_FIELD_SIZE32, 16, 8, true, 56},
        {"short", MLDF_INT, 0, 4, 4, true, 72},
        {"odd", MLDF_INT, 0, 3, 1, false, 76},
        {"raw", MLDF_BYTES, MLDF_FIELD_SIZE64, 16, 8, true, 80},
    };
    mldf_schema *s;
    mldf_error err;
    REQUIRE_OK(mldf_schema_new(NULL, &s, &err), &err);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct descriptor d =
            descriptor(cases[i].name, cases[i].type_id, cases[i].flags, cases[i].bytes, cases[i].align, 0);
        CHECK_OK(mldfi_schema_add_descriptor(s, &d, "\x01\x02garbage", 9, true, AT, &err), &err);
        CHECK_EQ_INT(cases[i].known, mldf_schema_field(s, i)->known);
        CHECK_EQ_U64(cases[i].offset, mldf_schema_field(s, i)->row_offset);
    }
    CHECK_EQ_U64(96, mldf_schema_row_bytes(s));
    struct descriptor again = descriptor("raw", MLDF_INT, 0, 8, 8, 0);
    CHECK_STATUS(MLDF_E_CORRUPT, mldfi_schema_add_descriptor(s, &again, "", 0, true, AT, &err), &err);
    CHECK_EQ_U64(AT, err.offset);
    mldf_schema_free(s);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(random_schemas_survive_as_descriptors);
    RUN(unknown_types_are_kept_as_the_file_has_them);
    RUN(faults_name_their_byte);
    RUN(arguments_nested_deeper_than_64_are_refused);
    RUN(draft_fields_are_known_where_they_need_no_arguments);
    return check_end();
}
