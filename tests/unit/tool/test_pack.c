/* pack, append, repack and diff through the library: cancel, what is left over, unknown types, plan against brute force. */
#include <dirent.h>

#include "check.h"
#include "field/field.h"
#include "format/format.h"
#include "mldf/mldf.h"
#include "util/bytes.h"

static void put(const char *path, const char *text) {
    CHECK(check_write_file(path, text, strlen(text)));
}

static unsigned files_with(const char *part) {
    unsigned count = 0;
    DIR *dir = opendir(check_tmpdir());
    struct dirent *entry;
    while (dir && (entry = readdir(dir)) != NULL)
        count += strstr(entry->d_name, part) != NULL;
    if (dir)
        closedir(dir);
    return count;
}

static bool refuse(void *user, const mldf_progress *progress) {
    unsigned *calls = user;
    (void)progress;
    return ++*calls < 2;
}

static void a_cancelled_pack_leaves_nothing(void) {
    mldf_writer_options writing = MLDF_WRITER_OPTIONS_INIT;
    mldf_pack_options options = MLDF_PACK_OPTIONS_INIT;
    mldf_error err;
    unsigned calls = 0;
    const char *source = check_tmp("cancel.csv"), *out = check_tmp("cancel.mldf");
    FILE *f = fopen(source, "w");
    REQUIRE(f != NULL);
    fputs("a,b\n", f);
    for (int i = 0; i < 2000000; i++)
        fprintf(f, "%d,text %d\n", i, i);
    fclose(f);
    options.writer = &writing;
    writing.progress = refuse;
    writing.progress_user = &calls;
    CHECK_STATUS(MLDF_E_CANCELLED, mldf_pack(&source, 1, out, &options, NULL, &err), &err);
    CHECK_EQ_U64(0, files_with("cancel.mldf"));
}

static bool count_differences(void *user, const mldf_difference *difference) {
    (void)user;
    (void)difference;
    return true;
}

static uint64_t differences(const char *a, const char *b) {
    mldf_diff_options options = MLDF_DIFF_OPTIONS_INIT;
    mldf_reader *ra = NULL, *rb = NULL;
    mldf_error err;
    uint64_t count = MLDF_NONE;
    options.difference = count_differences;
    CHECK_OK(mldf_reader_open(a, NULL, &ra, &err), &err);
    CHECK_OK(mldf_reader_open(b, NULL, &rb, &err), &err);
    if (ra && rb)
        CHECK_OK(mldf_diff(ra, rb, &options, &count, &err), &err);
    mldf_reader_close(ra);
    mldf_reader_close(rb);
    return count;
}

/* A private type that only the writing side knows: its record is {ptr, size u64, tag u64}. */
static mldf_status bind_tagged(void *user, const char *arguments, mldf_record_layout *layout, void **state,
                               mldf_error *err) {
    (void)user, (void)arguments, (void)state, (void)err;
    layout->record_bytes = 24;
    layout->record_align = 8;
    layout->payload_flag = MLDF_FIELD_SIZE64;
    layout->viewable = false;
    return MLDF_OK;
}

static mldf_status encode_tagged(void *user, const void *state, const mldf_value *value, uint8_t *record,
                                 mldf_buffer *scratch, const void **payload, uint64_t *payload_bytes, mldf_error *err) {
    (void)user, (void)state, (void)scratch, (void)err;
    mldfi_store_u64(record + 16, value->bytes * 3);
    *payload = value->data;
    *payload_bytes = value->bytes;
    return MLDF_OK;
}

static mldf_status decode_tagged(void *user, const void *state, const uint8_t *record, const void *payload,
                                 uint64_t payload_bytes, mldf_buffer *scratch, mldf_value *out, mldf_error *err) {
    (void)user, (void)state, (void)record, (void)scratch, (void)err;
    out->kind = MLDF_KIND_BYTES;
    out->data = payload;
    out->bytes = payload_bytes;
    return MLDF_OK;
}

static void write_tagged(const char *path, const char *last) {
    mldf_type type = MLDF_TYPE_INIT;
    mldf_context *context;
    mldf_schema *schema;
    mldf_writer *writer;
    mldf_writer_options options = MLDF_WRITER_OPTIONS_INIT;
    mldf_error err;
    type.id = 0x8123;
    type.name = "org.example.tagged";
    type.bind = bind_tagged;
    type.encode = encode_tagged;
    type.decode = decode_tagged;
    REQUIRE_OK(mldf_context_new(&context, &err), &err);
    REQUIRE_OK(mldf_context_register_type(context, &type, &err), &err);
    REQUIRE_OK(mldf_schema_new(context, &schema, &err), &err);
    REQUIRE_OK(mldf_schema_add(schema, "p", 0x8123, "{\"type\":\"org.example.tagged\"}", MLDF_FIELD_NULLABLE, &err),
               &err);
    REQUIRE_OK(mldf_schema_add(schema, "i", MLDF_INT, NULL, 0, &err), &err);
    options.context = context;
    options.overwrite = true;
    REQUIRE_OK(mldf_writer_open(path, schema, &options, &writer, &err), &err);
    for (int i = 0; i < 10; i++) {
        mldf_value v[2] = {{0}};
        v[0].kind = i == 3 ? MLDF_KIND_NULL : MLDF_KIND_BYTES;
        v[0].data = i == 9 ? last : "payload";
        v[0].bytes = i == 3 ? 0 : strlen(v[0].data);
        v[1].kind = MLDF_KIND_INT;
        v[1].as.i = i;
        REQUIRE_OK(mldf_writer_append(writer, v, 2, NULL, 0, &err), &err);
    }
    REQUIRE_OK(mldf_writer_finish(writer, NULL, &err), &err);
    mldf_schema_free(schema);
    mldf_context_free(context);
}

static void fields_of_unknown_type_are_copied_and_compared(void) {
    mldf_repack_options options = MLDF_REPACK_OPTIONS_INIT;
    mldf_pack_result result = MLDF_PACK_RESULT_INIT;
    mldf_error err;
    const char *a = check_tmp("u1.mldf"), *b = check_tmp("u2.mldf"), *c = check_tmp("u3.mldf");
    const char *compress = "p=5";
    write_tagged(a, "payload");
    write_tagged(b, "other!!");
    options.compress_fields = &compress;
    options.compress_count = 1;
    REQUIRE_OK(mldf_repack(a, c, &options, &result, &err), &err);
    CHECK_EQ_U64(10, result.written);
    CHECK_EQ_U64(0, differences(a, c));
    CHECK_EQ_U64(1, differences(a, b));
    REQUIRE_OK(mldf_append(c, &a, 1, NULL, &result, &err), &err);
    CHECK_EQ_U64(10, result.written);
    CHECK_EQ_U64(1, differences(a, c)); /* the number of samples */
}

static void rows_are_appended_with_the_types_of_the_file(void) {
    mldf_pack_result result = MLDF_PACK_RESULT_INIT;
    mldf_error err;
    const char *one = check_tmp("one.csv"), *two = check_tmp("two.jsonl"), *out = check_tmp("rows.mldf");
    put(one, "x,t\n1,a\n2,b\n");
    put(two, "{\"t\":\"007\",\"x\":3}\n");
    REQUIRE_OK(mldf_pack(&one, 1, out, NULL, &result, &err), &err);
    CHECK_EQ_U64(2, result.written);
    CHECK_STATUS(MLDF_E_EXISTS, mldf_pack(&one, 1, out, NULL, &result, &err), &err);
    const char *both[2] = {two, one};
    REQUIRE_OK(mldf_append(out, both, 2, NULL, &result, &err), &err);
    CHECK_EQ_U64(3, result.written);
    put(two, "{\"t\":\"x\",\"x\":\"no\"}\n");
    CHECK_STATUS(MLDF_E_TYPE, mldf_append(out, &two, 1, NULL, &result, &err), &err);
    CHECK_CONTAINS("two.jsonl:1:14: column 'x' (int): ", TEXT(err));
    CHECK_EQ_STR("x", err.field);
}

/* The end of the data, sample by sample. */
static uint64_t brute_force(uint64_t n, uint64_t begin, uint64_t page, const uint64_t *sizes, size_t count) {
    for (uint64_t i = 0; i < n; i++) {
        struct placement payloads[4];
        size_t used = 0;
        for (size_t k = 0; k < count; k++)
            if (sizes[k])
                payloads[used++] = (struct placement){sizes[k], 0, 8, 0};
        CHECK(mldfi_place_sample(payloads, used, page, &begin));
    }
    return begin;
}

static void plans_equal_sample_by_sample_placement(void) {
    mldf_schema *schema;
    mldf_error err;
    uint64_t seed = check_seed();
    REQUIRE_OK(mldf_schema_new(NULL, &schema, &err), &err);
    REQUIRE_OK(mldf_schema_add(schema, "a", MLDF_TEXT, NULL, 0, &err), &err);
    REQUIRE_OK(mldf_schema_add(schema, "b", MLDF_BYTES, NULL, 0, &err), &err);
    for (int round = 0; round < 300; round++) {
        mldf_plan_options options = MLDF_PLAN_OPTIONS_INIT;
        mldf_region regions[MLDF_PLAN_REGIONS];
        size_t count;
        uint64_t sizes[2], largest = UINT64_C(1) << check_rand_below(&seed, 15);
        sizes[0] = check_rand_below(&seed, largest + 1);
        sizes[1] = check_rand_below(&seed, 3) ? check_rand_below(&seed, largest + 1) : 0;
        options.samples = check_rand_below(&seed, 5000);
        options.page_size = UINT64_C(4096) << check_rand_below(&seed, 6);
        options.payload_bytes = sizes;
        REQUIRE_OK(mldf_plan(schema, &options, regions, &count, &err), &err);
        CHECK_EQ_STR("data", regions[3].name);
        CHECK_EQ_U64(brute_force(options.samples, regions[3].begin, options.page_size, sizes, 2), regions[3].end);
    }
    mldf_schema_free(schema);
}

/* What a caller in C can get wrong is said, not followed: no pointer, options that were not initialised, options of an older header. */
static void misuse_is_an_error(void) {
    const char *source = check_tmp("misuse.csv"), *out = check_tmp("misuse.mldf"), *sources[] = {source};
    mldf_pack_options packing = MLDF_PACK_OPTIONS_INIT;
    mldf_repack_options repacking = MLDF_REPACK_OPTIONS_INIT;
    mldf_error err;
    FILE *f = fopen(source, "w");
    REQUIRE(f);
    fputs("a\n1\n", f);
    fclose(f);
    CHECK_EQ_INT(MLDF_E_ARGUMENT, mldf_pack(NULL, 1, out, NULL, NULL, &err));
    CHECK_EQ_INT(MLDF_E_ARGUMENT, mldf_pack(sources, 1, NULL, NULL, NULL, &err));
    CHECK_EQ_INT(MLDF_E_ARGUMENT, mldf_append(NULL, sources, 1, NULL, NULL, &err));
    CHECK_EQ_INT(MLDF_E_ARGUMENT, mldf_append(out, NULL, 1, NULL, NULL, &err));
    CHECK_EQ_INT(MLDF_E_ARGUMENT, mldf_repack(NULL, out, NULL, NULL, &err));
    CHECK_EQ_INT(MLDF_E_ARGUMENT, mldf_diff(NULL, NULL, NULL, NULL, &err));
    CHECK_EQ_INT(MLDF_E_ARGUMENT, mldf_plan(NULL, NULL, NULL, NULL, &err));
    packing.struct_bytes = repacking.struct_bytes = 0;
    CHECK_EQ_INT(MLDF_E_ARGUMENT, mldf_pack(sources, 1, out, &packing, NULL, &err));
    CHECK_EQ_INT(MLDF_E_ARGUMENT, mldf_append(out, sources, 1, &packing, NULL, &err));
    CHECK_EQ_INT(MLDF_E_ARGUMENT, mldf_repack(out, NULL, &repacking, NULL, &err));
    packing.struct_bytes = offsetof(mldf_pack_options, key_column); /* an older caller: what follows is not read */
    packing.key_column = "no such column";
    CHECK_OK(mldf_pack(sources, 1, out, &packing, NULL, &err), &err);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(a_cancelled_pack_leaves_nothing);
    RUN(fields_of_unknown_type_are_copied_and_compared);
    RUN(rows_are_appended_with_the_types_of_the_file);
    RUN(plans_equal_sample_by_sample_placement);
    RUN(misuse_is_an_error);
    return check_end();
}
