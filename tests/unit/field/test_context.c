/* Contexts: warnings, and user-defined types from registration to values. The type here stores a temperature as text behind
 * one byte in the record that says its unit. */
#include "fields.h"

static int bound; /* states that live */

static mldf_status temperature_bind(void *user, const char *arguments, mldf_record_layout *layout, void **state,
                                    mldf_error *err) {
    (void)err;
    if (strstr(arguments, "\"refuse\":true"))
        return MLDF_E_SCHEMA; /* without filling err */
    uint32_t bytes = strstr(arguments, "\"odd\":true") ? 13 : 16;
    *layout = (mldf_record_layout){bytes, 8, MLDF_FIELD_SIZE32, false};
    *state = malloc(1);
    bound++;
    return user == &bound ? MLDF_OK : MLDF_E_STATE;
}

static void temperature_unbind(void *user, void *state) {
    (void)user;
    free(state);
    bound--;
}

static mldf_status temperature_encode(void *user, const void *state, const mldf_value *value, uint8_t *record,
                                      mldf_buffer *scratch, const void **payload, uint64_t *payload_bytes,
                                      mldf_error *err) {
    (void)user, (void)state, (void)scratch, (void)err;
    record[12] = 'C';
    *payload = value->data;
    *payload_bytes = value->bytes;
    return MLDF_OK;
}

static mldf_status temperature_decode(void *user, const void *state, const uint8_t *record, const void *payload,
                                      uint64_t payload_bytes, mldf_buffer *scratch, mldf_value *out, mldf_error *err) {
    (void)user, (void)state, (void)scratch, (void)err;
    memset(out, 0, sizeof *out);
    out->kind = MLDF_KIND_TEXT;
    out->data = payload;
    out->bytes = payload_bytes;
    return record[12] == 'C' ? MLDF_OK : MLDF_E_CORRUPT;
}

static mldf_type temperature(void) {
    mldf_type t = MLDF_TYPE_INIT;
    t.id = 0x8123;
    t.name = "org.example.temperature";
    t.user = &bound;
    t.bind = temperature_bind;
    t.unbind = temperature_unbind;
    t.encode = temperature_encode;
    t.decode = temperature_decode;
    return t;
}

static mldf_context *context_with_temperature(void) {
    mldf_context *c = NULL;
    mldf_type t = temperature();
    char name[] = "org.example.temperature"; /* copied */
    mldf_error err;
    t.name = name;
    CHECK_OK(mldf_context_new(&c, &err), &err);
    CHECK_OK(mldf_context_register_type(c, &t, &err), &err);
    name[0] = 'X';
    return c;
}

static void registration_checks_id_name_and_functions(void) {
    static const char *const bad_names[] = {
        "",
        "plain",
        ".x",
        "x.",
        "org.Example",
        "org example.x",
        "org.b\xc3\xa4r",
        "a.0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"};
    mldf_context *c = context_with_temperature();
    mldf_error err;
    mldf_type t = temperature();
    CHECK_STATUS(MLDF_E_SCHEMA, mldf_context_register_type(c, &t, &err), &err);
    t.name = "org.example.other";
    CHECK_STATUS(MLDF_E_SCHEMA, mldf_context_register_type(c, &t, &err), &err);
    t = temperature();
    t.id = 0x8124;
    CHECK_STATUS(MLDF_E_SCHEMA, mldf_context_register_type(c, &t, &err), &err);
    t.name = "org.example.other";
    t.id = 0x7fff;
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_context_register_type(c, &t, &err), &err);
    t.id = 0x8124;
    for (size_t i = 0; i < sizeof bad_names / sizeof bad_names[0]; i++) {
        t.name = bad_names[i];
        CHECK_STATUS(MLDF_E_ARGUMENT, mldf_context_register_type(c, &t, &err), &err);
    }
    t.name = "org.example.other";
    t.encode = NULL;
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_context_register_type(c, &t, &err), &err);
    t = temperature();
    t.struct_bytes = 8;
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_context_register_type(c, &t, &err), &err);
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_context_register_type(NULL, &t, &err), &err);
    mldf_context_free(c);
    mldf_context_free(NULL);
}

/* mldf_type as version 1 of it was: what a program has that was compiled then. */
struct type_v1 {
    size_t struct_bytes;
    uint16_t id;
    const char *name;
    void *user;
    mldf_status (*bind)(void *, const char *, mldf_record_layout *, void **, mldf_error *);
    void (*unbind)(void *, void *);
    mldf_status (*encode)(void *, const void *, const mldf_value *, uint8_t *, mldf_buffer *, const void **, uint64_t *,
                          mldf_error *);
    mldf_status (*decode)(void *, const void *, const uint8_t *, const void *, uint64_t, mldf_buffer *, mldf_value *,
                          mldf_error *);
};

static void version_1_still_works(void) {
    struct {
        struct type_v1 type;
        uint8_t beyond[128]; /* not the type's: whatever was in the program's memory */
    } old = {.type = {sizeof(struct type_v1), 0x8123, "org.example.temperature", &bound, temperature_bind,
                      temperature_unbind, temperature_encode, temperature_decode}};
    mldf_context *c;
    mldf_schema *s;
    mldf_error err;
    struct encoded e;
    mldf_value v = value_of(MLDF_KIND_TEXT, "21.5", 4), out;
    memset(old.beyond, 0xa5, sizeof old.beyond);
    CHECK_EQ_U64(64, sizeof(struct type_v1)); /* the offset of the first member of version 2 */
    REQUIRE_OK(mldf_context_new(&c, &err), &err);
    REQUIRE_OK(mldf_context_register_type(c, (const mldf_type *)(const void *)&old, &err), &err);
    REQUIRE_OK(mldf_schema_new(c, &s, &err), &err);
    REQUIRE_OK(mldf_schema_add(s, "a", 0x8123, NULL, 0, &err), &err);
    CHECK_EQ_INT(MLDF_DTYPE_NONE, mldf_schema_field(s, 0)->dtype);
    CHECK_OK(encode(s, &v, &e, &err), &err);
    CHECK_OK(decode(s, &e, &out, &err), &err);
    CHECK_EQ_U64(4, out.bytes);
    mldf_schema_free(s);
    mldf_context_free(c);
    REQUIRE_OK(mldf_context_new(&c, &err), &err);
    old.type.struct_bytes--;
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_context_register_type(c, (const mldf_type *)(const void *)&old, &err), &err);
    CHECK_CONTAINS("struct_bytes is 63", TEXT(err));
    mldf_context_free(c);
}

/* What describe and decode of the type below give. */
static struct {
    mldf_dtype dtype;
    uint32_t ndim;
    int64_t dim;
    mldf_status status;
    mldf_value value;
} says;

static mldf_status says_describe(void *user, const void *state, mldf_dtype *dtype, uint32_t *ndim, int64_t *dims,
                                 mldf_error *err) {
    (void)user, (void)state, (void)err;
    *dtype = says.dtype;
    *ndim = says.ndim;
    dims[0] = says.dim;
    return says.status;
}

static mldf_status says_decode(void *user, const void *state, const uint8_t *record, const void *payload,
                               uint64_t payload_bytes, mldf_buffer *scratch, mldf_value *out, mldf_error *err) {
    (void)user, (void)state, (void)record, (void)payload, (void)payload_bytes, (void)scratch, (void)err;
    *out = says.value;
    return MLDF_OK;
}

/* {"unit":"C"} is the default, and "note" does not count. */
static mldf_status says_canonical(void *user, const char *arguments, mldf_buffer *out, mldf_error *err) {
    (void)user;
    if (strstr(arguments, "nonsense"))
        return mldf_buffer_append(out, "[1]", 3, err);
    if (strstr(arguments, "refuse"))
        return MLDF_E_SCHEMA;
    const char *text = strstr(arguments, "\"unit\":\"F\"") ? "{\"z\":1,\"unit\":\"F\"}" : "{\"z\":1,\"unit\":\"C\"}";
    return mldf_buffer_append(out, text, strlen(text), err);
}

static mldf_context *context_that_says(mldf_schema **schema, bool canonical) {
    mldf_context *c = NULL;
    mldf_type t = temperature();
    mldf_error err;
    t.describe = says_describe;
    t.decode = says_decode;
    t.canonical = canonical ? says_canonical : NULL;
    CHECK_OK(mldf_context_new(&c, &err), &err);
    CHECK_OK(mldf_context_register_type(c, &t, &err), &err);
    CHECK_OK(mldf_schema_new(c, schema, &err), &err);
    return c;
}

static void descriptions_are_checked(void) {
    static const struct {
        mldf_dtype dtype;
        uint32_t ndim;
        int64_t dim;
        mldf_status status;
    } bad[] = {{MLDF_DTYPE_NONE, 1, 3, 0}, {(mldf_dtype)99, 1, 3, 0},  {MLDF_U8, 9, 3, 0},
               {MLDF_U8, 1, -2, 0},        {MLDF_U8, 1, INT64_MIN, 0}, {MLDF_U8, 1, 3, MLDF_E_SCHEMA}};
    mldf_schema *s;
    mldf_error err;
    mldf_context *c = context_that_says(&s, false);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        says.dtype = bad[i].dtype;
        says.ndim = bad[i].ndim;
        says.dim = bad[i].dim;
        says.status = bad[i].status;
        CHECK_STATUS(MLDF_E_SCHEMA, mldf_schema_add(s, "a", 0x8123, NULL, 0, &err), &err);
        CHECK_CONTAINS("describe", TEXT(err));
        CHECK_EQ_INT(0, bound);
    }
    says.status = MLDF_OK;
    mldf_schema_free(s);
    mldf_context_free(c);
}

static void decoded_values_are_what_was_described(void) {
    static const uint8_t bytes[64];
    const struct {
        mldf_status status;
        mldf_value value;
    } cases[] = {
        {MLDF_OK, {.kind = MLDF_KIND_ARRAY, .dtype = MLDF_I16, .ndim = 1, .dims = {3}, .data = bytes, .bytes = 6}},
        {MLDF_OK, {.kind = MLDF_KIND_ARRAY, .dtype = MLDF_I16, .ndim = 1, .dims = {0}}},
        {MLDF_E_CORRUPT, {.kind = MLDF_KIND_BYTES, .data = bytes, .bytes = 6}},
        {MLDF_E_CORRUPT, {.kind = MLDF_KIND_INT}},
        {MLDF_E_CORRUPT,
         {.kind = MLDF_KIND_ARRAY, .dtype = MLDF_U16, .ndim = 1, .dims = {3}, .data = bytes, .bytes = 6}},
        {MLDF_E_CORRUPT,
         {.kind = MLDF_KIND_ARRAY, .dtype = MLDF_I16, .ndim = 2, .dims = {3, 1}, .data = bytes, .bytes = 6}},
        {MLDF_E_CORRUPT,
         {.kind = MLDF_KIND_ARRAY, .dtype = MLDF_I16, .ndim = 1, .dims = {4}, .data = bytes, .bytes = 6}},
        {MLDF_E_CORRUPT,
         {.kind = MLDF_KIND_ARRAY,
          .dtype = MLDF_I16,
          .ndim = 1,
          .dims = {UINT64_MAX / 2 + 4},
          .data = bytes,
          .bytes = 6}},
        {MLDF_E_STATE, {.kind = MLDF_KIND_ARRAY, .dtype = MLDF_I16, .ndim = 1, .dims = {3}, .bytes = 6}},
        {MLDF_E_STATE, {.kind = MLDF_KIND_STORED, .data = bytes, .bytes = 6}},
        {MLDF_E_STATE, {.kind = (mldf_kind)77, .data = bytes, .bytes = 6}},
    };
    mldf_schema *s;
    mldf_error err;
    struct encoded e;
    mldf_value v = value_of(MLDF_KIND_TEXT, "21.5", 4), out;
    mldf_context *c = context_that_says(&s, false);
    says.dtype = MLDF_I16;
    says.ndim = 1;
    says.dim = -1;
    REQUIRE_OK(mldf_schema_add(s, "a", 0x8123, NULL, 0, &err), &err);
    CHECK_EQ_INT(MLDF_I16, mldf_schema_field(s, 0)->dtype);
    CHECK_OK(encode(s, &v, &e, &err), &err);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        says.value = cases[i].value;
        CHECK_STATUS(cases[i].status, decode(s, &e, &out, &err), &err);
    }
    says.value = cases[0].value;
    says.dim = 4; /* of another field: three elements are one too few */
    REQUIRE_OK(mldf_schema_add(s, "b", 0x8123, NULL, 0, &err), &err);
    CHECK_STATUS(MLDF_E_CORRUPT,
                 mldfi_field_decode(&s->fields[1], e.record, 0, e.payload, e.payload_bytes, 0, NULL, &out, &err), &err);
    CHECK_CONTAINS("dimension 0 the size 3, and the field's shape is [4]", TEXT(err));
    mldf_schema_free(s);
    mldf_context_free(c);
}

static void arguments_have_a_canonical_form(void) {
    static const char *const same[] = {NULL, "{}", "{\"unit\":\"C\"}", "{\"note\":[1, 2],\"unit\":\"C\"}",
                                       "{\"type\":\"org.example.temperature\"}"};
    mldf_schema *s;
    mldf_error err;
    mldf_context *c = context_that_says(&s, true);
    says.dtype = MLDF_I16;
    says.ndim = 0;
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        char name[2] = {(char)('a' + i), 0};
        REQUIRE_OK(mldf_schema_add(s, name, 0x8123, same[i], 0, &err), &err);
        CHECK_EQ_STR("{\"type\":\"org.example.temperature\",\"unit\":\"C\",\"z\":1}",
                     mldf_schema_field(s, i)->arguments);
    }
    CHECK_STATUS(MLDF_E_SCHEMA, mldf_schema_add(s, "x", 0x8123, "{\"nonsense\":1}", 0, &err), &err);
    CHECK_STATUS(MLDF_E_SCHEMA, mldf_schema_add(s, "x", 0x8123, "{\"refuse\":1}", 0, &err), &err);
    CHECK_CONTAINS("canonical gives no reason", TEXT(err));
    mldf_schema_free(s);
    CHECK_EQ_INT(0, bound);
    mldf_context_free(c);
}

static mldf_status other_open(void *user, void **worker, mldf_error *err) {
    (void)user, (void)worker, (void)err;
    return MLDF_OK;
}

static void functions_belong_together(void) {
    mldf_context *c;
    mldf_error err;
    REQUIRE_OK(mldf_context_new(&c, &err), &err);
    mldf_type t = temperature();
    t.decode = NULL;
    t.describe = says_describe;
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_context_register_type(c, &t, &err), &err);
    CHECK_CONTAINS("decode (or describe and decode_into)", TEXT(err));
    t = temperature();
    t.open_worker = other_open;
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_context_register_type(c, &t, &err), &err);
    CHECK_CONTAINS("open_worker without close_worker", TEXT(err));
    mldf_context_free(c);
}

static const char *json_text, *file_ending;

static mldf_status says_json(void *user, const void *state, const mldf_value *value, mldf_buffer *out,
                             mldf_error *err) {
    (void)user, (void)state, (void)value;
    return mldf_buffer_append(out, json_text, strlen(json_text), err);
}

static mldf_status says_file(void *user, const void *state, const mldf_value *value, mldf_buffer *scratch,
                             const char **ending, const void **data, uint64_t *bytes, mldf_error *err) {
    (void)user, (void)state;
    CHECK_OK(mldf_buffer_append(scratch, "t=", 2, err), err);
    CHECK_OK(mldf_buffer_append(scratch, value->data, value->bytes, err), err);
    *ending = file_ending;
    *data = scratch->data;
    *bytes = scratch->size;
    return MLDF_OK;
}

static void values_become_json_and_files(void) {
    static const char *const bad_endings[] = {NULL, "", ".csv", "a/b", "CSV", "0123456789abcdef"};
    mldf_context *c;
    mldf_schema *s;
    mldf_error err;
    mldf_type t = temperature();
    mldf_value v = value_of(MLDF_KIND_TEXT, "21.5", 4);
    mldf_buffer out = MLDF_BUFFER_INIT;
    struct export_room room = {.work = MLDF_BUFFER_INIT, .file = MLDF_BUFFER_INIT};
    struct exported file;
    t.value_json = says_json;
    t.export_file = says_file;
    REQUIRE_OK(mldf_context_new(&c, &err), &err);
    REQUIRE_OK(mldf_context_register_type(c, &t, &err), &err);
    REQUIRE_OK(mldf_schema_new(c, &s, &err), &err);
    REQUIRE_OK(mldf_schema_add(s, "a", 0x8123, NULL, 0, &err), &err);
    const struct schema_field *f = &s->fields[0];
    CHECK_OK(mldf_buffer_append(&out, "x", 1, &err), &err);
    json_text = "{ \"unit\": \"C\",\n \"t\": 21.5 }\n";
    CHECK_OK(f->type->value_json(f, &v, false, &out, &err), &err);
    CHECK_BYTES_EQ("x{\"t\":21.5,\"unit\":\"C\"}", 22, out.data, out.size);
    json_text = "{\"t\":";
    CHECK_STATUS(MLDF_E_SYNTAX, f->type->value_json(f, &v, false, &out, &err), &err);
    CHECK_CONTAINS("org.example.temperature: what value_json gives", TEXT(err));
    for (int i = 0; i < 2; i++) { /* the room serves again */
        file_ending = "txt";
        CHECK_OK(f->type->export(f, &v, NULL, &room, &file, &err), &err);
        CHECK_EQ_STR("txt", file.ending);
        CHECK_BYTES_EQ("t=21.5", 6, file.data, (size_t)file.bytes);
    }
    for (size_t i = 0; i < sizeof bad_endings / sizeof bad_endings[0]; i++) {
        file_ending = bad_endings[i];
        CHECK_STATUS(MLDF_E_STATE, f->type->export(f, &v, NULL, &room, &file, &err), &err);
    }
    mldf_buffer_free(&out);
    mldf_buffer_free(&room.file);
    mldf_schema_free(s);
    mldf_context_free(c);
}

/* A schema that was made with one type is still good when more are registered. */
static void types_stay_where_they_are(void) {
    mldf_context *c = context_with_temperature();
    mldf_schema *s;
    mldf_error err;
    struct encoded e;
    mldf_value v = value_of(MLDF_KIND_TEXT, "21.5", 4), out;
    REQUIRE_OK(mldf_schema_new(c, &s, &err), &err);
    REQUIRE_OK(mldf_schema_add(s, "a", 0x8123, NULL, 0, &err), &err);
    for (uint16_t i = 0; i < 100; i++) {
        char name[32];
        mldf_type t = temperature();
        snprintf(name, sizeof name, "org.example.other%u", i);
        t.name = name;
        t.id = (uint16_t)(0x9000 + i);
        REQUIRE_OK(mldf_context_register_type(c, &t, &err), &err);
    }
    CHECK_OK(encode(s, &v, &e, &err), &err);
    CHECK_OK(decode(s, &e, &out, &err), &err);
    mldf_schema_free(s);
    mldf_context_free(c);
}

static void user_defined_field_carries_its_name(void) {
    mldf_context *c = context_with_temperature();
    mldf_schema *s;
    mldf_error err;
    uint16_t id;
    CHECK_OK(mldf_type_id(c, "org.example.temperature", &id, &err), &err);
    CHECK_EQ_U64(0x8123, id);
    CHECK_STATUS(MLDF_E_SCHEMA, mldf_type_id(NULL, "org.example.temperature", &id, &err), &err);
    REQUIRE_OK(mldf_schema_new(c, &s, &err), &err);
    CHECK_OK(mldf_schema_add(s, "a", 0x8123, NULL, 0, &err), &err);
    CHECK_EQ_STR("{\"type\":\"org.example.temperature\"}", mldf_schema_field(s, 0)->arguments);
    CHECK_EQ_STR("org.example.temperature", mldf_schema_field(s, 0)->type_name);
    CHECK_EQ_U64(MLDF_FIELD_SIZE32, mldf_schema_field(s, 0)->flags);
    CHECK_OK(mldf_schema_add(s, "b", 0x8123, " { \"zone\": 3, \"name\": 1 }", 0, &err), &err);
    CHECK_EQ_STR("{\"name\":1,\"type\":\"org.example.temperature\",\"zone\":3}", mldf_schema_field(s, 1)->arguments);
    CHECK_OK(mldf_schema_add(s, "c", 0x8123, "{\"type\":\"org.example.temperature\"}", 0, &err), &err);
    CHECK_STATUS(MLDF_E_SCHEMA, mldf_schema_add(s, "d", 0x8123, "{\"type\":\"org.example.x\"}", 0, &err), &err);
    CHECK_STATUS(MLDF_E_SCHEMA, mldf_schema_add(s, "d", 0x8123, "{\"refuse\":true}", 0, &err), &err);
    CHECK_CONTAINS("org.example.temperature: bind gives no reason", TEXT(err));
    CHECK_EQ_INT(MLDF_E_SCHEMA, err.status);
    CHECK_STATUS(MLDF_E_SCHEMA, mldf_schema_add(s, "d", 0x8123, "{\"odd\":true}", 0, &err), &err);
    CHECK_CONTAINS("13 bytes", TEXT(err));
    CHECK_EQ_INT(3, bound);

    mldf_buffer text = MLDF_BUFFER_INIT;
    mldf_schema *back;
    CHECK_OK(mldf_schema_write(s, &text, &err), &err);
    CHECK_OK(mldf_schema_parse(c, (const char *)text.data, text.size, &back, &err), &err);
    CHECK_EQ_STR(mldf_schema_field(s, 1)->arguments, mldf_schema_field(back, 1)->arguments);
    CHECK_EQ_INT(6, bound);
    mldf_buffer_free(&text);
    mldf_schema_free(back);
    mldf_schema_free(s);
    CHECK_EQ_INT(0, bound);
    mldf_context_free(c);
}

static void user_defined_values_pass(void) {
    mldf_context *c = context_with_temperature();
    mldf_schema *s;
    mldf_error err;
    struct encoded e;
    mldf_value v = value_of(MLDF_KIND_TEXT, "21.5", 4), out;
    REQUIRE_OK(mldf_schema_new(c, &s, &err), &err);
    REQUIRE_OK(mldf_schema_add(s, "a", 0x8123, NULL, 0, &err), &err);
    CHECK_OK(encode(s, &v, &e, &err), &err);
    CHECK_OK(decode(s, &e, &out, &err), &err);
    CHECK_EQ_U64(4, out.bytes);
    v = value_of(MLDF_KIND_STORED, "21.5", 4);
    v.record = e.record;
    v.record_bytes = 16;
    CHECK_OK(mldfi_field_check_stored(&s->fields[0], &v, &err), &err);
    e.record[12] = 'F';
    CHECK_STATUS(MLDF_E_CORRUPT, decode(s, &e, &out, &err), &err);
    CHECK_EQ_INT(MLDF_E_CORRUPT, err.status);
    CHECK_EQ_U64(PAYLOAD_AT, err.offset);
    CHECK_STATUS(MLDF_E_CORRUPT, mldfi_field_check_stored(&s->fields[0], &v, &err), &err);
    CHECK_STATUS(MLDF_E_CORRUPT, decode(s, &e, &out, NULL), NULL);
    mldf_schema_free(s);
    mldf_context_free(c);
}

static void id_alone_never_identifies_a_private_type(void) {
    mldf_context *c = context_with_temperature();
    mldf_schema *s;
    mldf_error err;
    struct descriptor d = {.name = "same_id",
                           .type_id = 0x8123,
                           .flags = MLDF_FIELD_SIZE32,
                           .metadata_size = 16,
                           .row_align = 8,
                           .arguments_offset = 700};
    static const char other[] = "{\"type\":\"com.example.other\"}", same[] = "{\"type\":\"org.example.temperature\"}";
    REQUIRE_OK(mldf_schema_new(c, &s, &err), &err);
    CHECK_OK(mldfi_schema_add_descriptor(s, &d, other, strlen(other), false, 0, &err), &err);
    CHECK(!mldf_schema_field(s, 0)->known);
    strcpy(d.name, "same_name");
    d.row_offset = 16;
    CHECK_OK(mldfi_schema_add_descriptor(s, &d, same, strlen(same), false, 0, &err), &err);
    CHECK(mldf_schema_field(s, 1)->known);
    strcpy(d.name, "refused");
    d.row_offset = 32;
    static const char refused[] = "{\"refuse\":true,\"type\":\"org.example.temperature\"}";
    CHECK_STATUS(MLDF_E_CORRUPT, mldfi_schema_add_descriptor(s, &d, refused, strlen(refused), false, 0, &err), &err);
    CHECK_EQ_U64(700, err.offset);
    mldf_schema_free(s);
    CHECK_EQ_INT(0, bound);
    mldf_context_free(c);
}

static char last_warning[512];

static void remember(void *user, const char *message) {
    CHECK(user == last_warning);
    snprintf(last_warning, sizeof last_warning, "%s", message);
}

static void warnings_reach_the_hook(void) {
    mldf_context *c;
    mldf_error err;
    REQUIRE_OK(mldf_context_new(&c, &err), &err);
    mldfi_warn(NULL, "nobody %d", 1);
    mldfi_warn(c, "nobody %d", 2);
    mldf_context_set_warning(c, remember, last_warning);
    mldfi_warn(c, "bytes after the end: %d", 3);
    CHECK_EQ_STR("bytes after the end: 3", last_warning);
    mldf_context_free(c);
}

static void type_names_lead_to_ids(void) {
    uint16_t id = 0;
    mldf_error err;
    CHECK_OK(mldf_type_id(NULL, "text", &id, &err), &err);
    CHECK_EQ_U64(40, id);
    CHECK_OK(mldf_type_id(NULL, "multimodal", &id, &err), &err);
    CHECK_EQ_U64(50, id);
    CHECK_STATUS(MLDF_E_SCHEMA, mldf_type_id(NULL, "ndaray", &id, &err), &err);
    CHECK_CONTAINS("\"ndarray\"", TEXT(err));
    CHECK_STATUS(MLDF_E_SCHEMA, mldf_type_id(NULL, "unknown", &id, &err), &err);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(registration_checks_id_name_and_functions);
    RUN(version_1_still_works);
    RUN(descriptions_are_checked);
    RUN(decoded_values_are_what_was_described);
    RUN(arguments_have_a_canonical_form);
    RUN(functions_belong_together);
    RUN(values_become_json_and_files);
    RUN(types_stay_where_they_are);
    RUN(user_defined_field_carries_its_name);
    RUN(user_defined_values_pass);
    RUN(id_alone_never_identifies_a_private_type);
    RUN(warnings_reach_the_hook);
    RUN(type_names_lead_to_ids);
    return check_end();
}
