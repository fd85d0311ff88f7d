/* .beton files: those that the real FFCV wrote (every value and every blob), what our writer makes, and files that lie. */
#include <zstd.h>

#include "check.h"
#include "interop/beton.h"
#include "mldf/mldf.h"
#include "sha1.h"
#include "util/bytes.h"
#include "util/json.h"

static const char *const golden_names[] = {"all_w1",        "custom255", "fixed48_jpg", "img_bytes", "img_label_prop",
                                           "img_label_raw", "multipage", "scalars",     "shuffled"};
enum { GOLDEN_COUNT = sizeof golden_names / sizeof golden_names[0] };

/* They are mostly zeros, so the tree has them compressed. */
static uint8_t *golden(const char *name, size_t *bytes) {
    char path[200];
    size_t packed_bytes;
    snprintf(path, sizeof path, "tests/golden/beton/%s.beton.zst", name);
    uint8_t *packed = check_read_file(check_source(path), &packed_bytes);
    if (!packed) {
        fprintf(stderr, "%s is missing\n", path);
        exit(3);
    }
    unsigned long long size = ZSTD_getFrameContentSize(packed, packed_bytes);
    uint8_t *data = malloc((size_t)size);
    *bytes = ZSTD_decompress(data, (size_t)size, packed, packed_bytes);
    CHECK_EQ_U64(size, *bytes);
    free(packed);
    return data;
}

static struct beton *open_bytes(const uint8_t *data, size_t bytes) {
    struct beton *b = NULL;
    mldf_error err;
    CHECK_OK(mldfi_beton_open(&b, data, bytes, NULL, &err), &err);
    return b;
}

/* ---- Golden files against their manifest ---------------------------------------------------------------------------------- */

static struct json expected;

static uint32_t member(uint32_t object, const char *key) {
    uint32_t at = mldfi_json_find(&expected, object, key);
    if (at == UINT32_MAX)
        fprintf(stderr, "expected.json lacks %s\n", key);
    return at;
}

static uint64_t number(uint32_t object, const char *key) {
    uint64_t value = 0;
    CHECK(mldfi_json_u64(&expected, member(object, key), &value));
    return value;
}

static void check_value(const struct beton_field *f, const struct beton_value *v, uint32_t want) {
    const struct json_node *node = &expected.nodes[want];
    if (f->type == BETON_INT) {
        int64_t i = 0;
        CHECK(mldfi_json_i64(&expected, want, &i));
        CHECK_EQ_INT(i, v->integer);
        return;
    }
    if (f->type == BETON_FLOAT) {
        double d = 0;
        CHECK(mldfi_json_double(&expected, want, &d));
        CHECK_EQ_F64(d, v->real);
        return;
    }
    REQUIRE_EQ_INT(MLDFI_JSON_OBJECT, node->kind);
    uint64_t bytes = v->bytes + (f->type == BETON_JSON); /* the manifest counts the NUL */
    char digest[41];
    REQUIRE_EQ_U64(number(want, "size"), bytes);
    sha1_hex(v->data, (size_t)bytes, digest);
    CHECK(mldfi_json_is_text(&expected, member(want, "sha1"), digest));
    if (f->type == BETON_IMAGE) {
        CHECK_EQ_U64(number(want, "mode"), v->mode);
        CHECK_EQ_U64(number(want, "w"), v->width);
        CHECK_EQ_U64(number(want, "h"), v->height);
    }
}

static void check_field(const struct beton_field *f, uint32_t want, bool custom) {
    CHECK_EQ_U64(custom && number(want, "type") == 4 ? BETON_CUSTOM : number(want, "type"), f->type);
    CHECK(mldfi_json_is_text(&expected, member(want, "name"), f->name));
    uint32_t shape = mldfi_json_find(&expected, want, "shape");
    if (shape == UINT32_MAX || f->type == BETON_CUSTOM)
        return;
    REQUIRE_EQ_U64(expected.nodes[shape].count, f->ndim);
    uint32_t side = mldfi_json_first(&expected, shape);
    for (uint32_t i = 0; i < f->ndim; i++, side = expected.nodes[side].next) {
        uint64_t value = 0;
        CHECK(mldfi_json_u64(&expected, side, &value));
        CHECK_EQ_U64(value, f->shape[i]);
    }
    char descr[100];
    const struct json_node *dtype = &expected.nodes[member(want, "dtype")];
    snprintf(descr, sizeof descr, "[[\"\", \"%.*s\"]]", (int)dtype->text_bytes, dtype->text);
    CHECK_BYTES_EQ(descr, strlen(descr), f->descr, f->descr_bytes);
}

static void check_golden(const char *name) {
    char file[100], digest[41];
    size_t bytes;
    uint8_t *data = golden(name, &bytes);
    snprintf(file, sizeof file, "%s.beton", name);
    uint32_t want = member(0, file);
    CHECK_EQ_U64(number(want, "file_size"), bytes);
    sha1_hex(data, bytes, digest);
    CHECK(mldfi_json_is_text(&expected, member(want, "sha1"), digest));
    CHECK(mldfi_beton_is(data, bytes));
    struct beton *b = open_bytes(data, bytes);
    REQUIRE(b != NULL);
    const struct beton_info *info = mldfi_beton_info(b);
    CHECK_EQ_U64(number(want, "page_size"), info->page_size);
    CHECK_EQ_U64(number(want, "alloc_table_ptr"), info->table_offset);
    CHECK_EQ_U64(number(want, "alloc_entries"), info->entry_count);
    CHECK_EQ_U64(number(want, "meta_itemsize"), info->row_bytes);
    REQUIRE_EQ_U64(number(want, "num_samples"), info->count);
    uint32_t fields = member(want, "fields"), offsets = member(want, "meta_offsets"), rows = member(want, "rows");
    REQUIRE_EQ_U64(expected.nodes[fields].count, info->field_count);
    uint32_t field = mldfi_json_first(&expected, fields), offset = mldfi_json_first(&expected, offsets);
    for (uint32_t i = 0; i < info->field_count; i++) {
        uint64_t at = 0;
        check_field(mldfi_beton_field(b, i), field, strcmp(name, "custom255") == 0);
        CHECK(mldfi_json_u64(&expected, offset, &at));
        CHECK_EQ_U64(at, mldfi_beton_field(b, i)->offset);
        field = expected.nodes[field].next;
        offset = expected.nodes[offset].next;
    }
    REQUIRE_EQ_U64(info->count, expected.nodes[rows].count);
    uint32_t row = mldfi_json_first(&expected, rows);
    for (uint64_t s = 0; s < info->count; s++, row = expected.nodes[row].next) {
        uint32_t value = mldfi_json_first(&expected, row);
        for (uint32_t i = 0; i < info->field_count; i++, value = expected.nodes[value].next) {
            struct beton_value got;
            mldf_error err;
            CHECK_OK(mldfi_beton_value(b, s, i, &got, &err), &err);
            check_value(mldfi_beton_field(b, i), &got, value);
        }
    }
    uint64_t problems = 1;
    CHECK_OK(mldfi_beton_verify(b, NULL, NULL, &problems, NULL), NULL);
    CHECK_EQ_U64(0, problems);
    mldfi_beton_close(b);
    free(data);
}

static void golden_files_have_every_value_of_their_manifest(void) {
    size_t bytes;
    uint8_t *text = check_read_file(check_source("tests/golden/beton/expected.json"), &bytes);
    mldf_error err;
    REQUIRE(text != NULL);
    REQUIRE_OK(mldfi_json_parse(&expected, (const char *)text, bytes, &err), &err);
    for (int i = 0; i < GOLDEN_COUNT; i++)
        check_golden(golden_names[i]);
    mldfi_json_free(&expected);
    free(text);
}

/* ---- Writing ----------------------------------------------------------------------------------------------------------------- */

enum { FIELDS = 16 };

static void copy_fields(const struct beton *b, struct beton_write_field *out, char descr[FIELDS][200]) {
    for (uint32_t i = 0; i < mldfi_beton_info(b)->field_count; i++) {
        const struct beton_field *f = mldfi_beton_field(b, i);
        snprintf(descr[i], 200, "%.*s", (int)f->descr_bytes, f->descr ? f->descr : "");
        out[i] = (struct beton_write_field){.type = f->type,
                                            .name = f->name,
                                            .ndim = f->ndim,
                                            .shape = f->shape,
                                            .descr = descr[i],
                                            .arguments = f->arguments,
                                            .record = {f->bytes, 8},
                                            .has_blob = f->has_blob,
                                            .ptr_at = f->ptr_at};
    }
}

static void copy_file(const struct beton *b, const char *path, struct beton_write_options options) {
    struct beton_write_field fields[FIELDS];
    char descr[FIELDS][200];
    struct beton_writer *w;
    mldf_error err;
    options.overwrite = true;
    copy_fields(b, fields, descr);
    uint32_t count = mldfi_beton_info(b)->field_count;
    REQUIRE_OK(mldfi_beton_writer_open(&w, path, fields, count, &options, &err), &err);
    for (uint64_t s = 0; s < mldfi_beton_info(b)->count; s++) {
        struct beton_input values[FIELDS];
        for (uint32_t i = 0; i < count; i++) {
            struct beton_value v;
            CHECK_OK(mldfi_beton_value(b, s, i, &v, &err), &err);
            values[i] = (struct beton_input){.integer = v.integer,
                                             .real = v.real,
                                             .mode = v.mode,
                                             .width = v.width,
                                             .height = v.height,
                                             .data = v.data,
                                             .bytes = v.bytes,
                                             .record = v.record};
        }
        CHECK_OK(mldfi_beton_writer_add(w, values, &err), &err);
    }
    CHECK_OK(mldfi_beton_writer_finish(w, NULL, &err), &err);
    mldfi_beton_writer_free(w);
}

static void check_same_values(const struct beton *a, const struct beton *b) {
    REQUIRE_EQ_U64(mldfi_beton_info(a)->count, mldfi_beton_info(b)->count);
    for (uint64_t s = 0; s < mldfi_beton_info(a)->count; s++)
        for (uint32_t i = 0; i < mldfi_beton_info(a)->field_count; i++) {
            struct beton_value x, y;
            mldf_error err;
            CHECK_OK(mldfi_beton_value(a, s, i, &x, &err), &err);
            CHECK_OK(mldfi_beton_value(b, s, i, &y, &err), &err);
            CHECK_EQ_INT(x.integer, y.integer);
            CHECK_EQ_F64(x.real, y.real);
            CHECK(x.mode == y.mode && x.width == y.width && x.height == y.height);
            CHECK_BYTES_EQ(x.data, (size_t)x.bytes, y.data, (size_t)y.bytes);
        }
}

static void check_copy(const struct beton *from, const char *path) {
    size_t bytes;
    uint64_t problems = 1;
    uint8_t *data = check_read_file(path, &bytes);
    struct beton *b = open_bytes(data, bytes);
    REQUIRE(b != NULL);
    check_same_values(from, b);
    CHECK_OK(mldfi_beton_verify(b, NULL, NULL, &problems, NULL), NULL);
    CHECK_EQ_U64(0, problems);
    mldfi_beton_close(b);
    free(data);
}

/* One worker of FFCV writes samples in order: then our file is the same, byte for byte. */
static void writer_makes_the_bytes_of_the_real_ffcv(void) {
    for (int i = 0; i < GOLDEN_COUNT; i++)
        for (int known = 0; known < 2; known++) {
            size_t want_bytes, got_bytes;
            uint8_t *want = golden(golden_names[i], &want_bytes);
            struct beton *b = open_bytes(want, want_bytes);
            REQUIRE(b != NULL);
            struct beton_write_options options = BETON_WRITE_OPTIONS_INIT;
            const char *path = check_tmp("same.beton");
            options.count = known ? mldfi_beton_info(b)->count : MLDF_NONE;
            options.page_size = mldfi_beton_info(b)->page_size;
            options.align = 1;
            options.full_pages = true;
            copy_file(b, path, options);
            uint8_t *got = check_read_file(path, &got_bytes);
            if (want_bytes != got_bytes || memcmp(want, got, want_bytes) != 0)
                check_fail(__FILE__, __LINE__, "%s: our copy differs", golden_names[i]);
            free(got);
            mldfi_beton_close(b);
            free(want);
        }
}

static void copies_with_aligned_blobs_have_the_same_values(void) {
    for (int i = 0; i < GOLDEN_COUNT; i++)
        for (int known = 0; known < 2; known++) {
            size_t bytes;
            uint8_t *data = golden(golden_names[i], &bytes);
            struct beton *b = open_bytes(data, bytes);
            REQUIRE(b != NULL);
            struct beton_write_options options = BETON_WRITE_OPTIONS_INIT;
            options.align = i % 2 ? 64 : 8;
            options.count = known ? mldfi_beton_info(b)->count : MLDF_NONE;
            copy_file(b, check_tmp("copy.beton"), options);
            check_copy(b, check_tmp("copy.beton"));
            mldfi_beton_close(b);
            free(data);
        }
}

static struct beton_writer *bytes_writer(const char *path, struct beton_write_options options) {
    static const struct beton_write_field fields[] = {
        {.type = BETON_BYTES, .name = "a"}, {.type = BETON_JSON, .name = "b"}, {.type = BETON_BYTES, .name = "c"}};
    struct beton_writer *w = NULL;
    mldf_error err;
    options.overwrite = true;
    CHECK_OK(mldfi_beton_writer_open(&w, path, fields, 3, &options, &err), &err);
    return w;
}

static void empty_blobs_have_places_of_their_own(void) {
    for (int packed = 0; packed < 2; packed++) {
        const char *path = check_tmp("empty.beton");
        struct beton_write_options options = BETON_WRITE_OPTIONS_INIT;
        options.align = packed ? 1 : 8;
        struct beton_writer *w = bytes_writer(path, options);
        REQUIRE(w != NULL);
        mldf_error err;
        struct beton_input values[3] = {{.data = ""}, {.data = "{\"x\": 1}", .bytes = 8}, {.data = NULL}};
        for (int i = 0; i < 5; i++)
            CHECK_OK(mldfi_beton_writer_add(w, values, &err), &err);
        CHECK_OK(mldfi_beton_writer_finish(w, NULL, &err), &err);
        mldfi_beton_writer_free(w);
        size_t bytes;
        uint8_t *data = check_read_file(path, &bytes);
        struct beton *b = open_bytes(data, bytes);
        REQUIRE(b != NULL);
        REQUIRE_EQ_U64(15, mldfi_beton_info(b)->entry_count);
        uint64_t last = 0;
        for (uint64_t s = 0; s < 5; s++)
            for (uint32_t i = 0; i < 3; i++) {
                struct beton_value v;
                CHECK_OK(mldfi_beton_value(b, s, i, &v, &err), &err);
                CHECK_EQ_U64(i == 1 ? 8 : 0, v.bytes);
                CHECK(v.ptr > last);
                last = v.ptr;
            }
        mldfi_beton_close(b);
        free(data);
    }
}

/* A sample larger than a page hangs FFCV's writer; ours takes larger pages, also in the middle of a file. */
static void pages_grow_with_the_largest_sample(void) {
    size_t big = 5 << 20;
    char *large = malloc(big);
    memset(large, 'x', big);
    for (int known = 0; known < 2; known++) {
        const char *path = check_tmp("grow.beton");
        struct beton_write_options options = BETON_WRITE_OPTIONS_INIT;
        options.count = known ? 30 : MLDF_NONE;
        struct beton_writer *w = bytes_writer(path, options);
        REQUIRE(w != NULL);
        mldf_error err;
        for (int i = 0; i < 30; i++) {
            struct beton_input values[3] = {{.data = large, .bytes = i == 20 ? big : 300000},
                                            {.data = "1", .bytes = 1},
                                            {.data = "abc", .bytes = 3}};
            CHECK_OK(mldfi_beton_writer_add(w, values, &err), &err);
        }
        struct beton_totals totals;
        CHECK_OK(mldfi_beton_writer_finish(w, &totals, &err), &err);
        CHECK_EQ_U64(8 << 20, totals.page_size);
        mldfi_beton_writer_free(w);
        size_t bytes;
        uint64_t problems = 1;
        uint8_t *data = check_read_file(path, &bytes);
        CHECK_EQ_U64(totals.file_bytes, bytes);
        struct beton *b = open_bytes(data, bytes);
        REQUIRE(b != NULL);
        CHECK_OK(mldfi_beton_verify(b, NULL, NULL, &problems, NULL), NULL);
        CHECK_EQ_U64(0, problems);
        struct beton_value v;
        CHECK_OK(mldfi_beton_value(b, 20, 0, &v, &err), &err);
        CHECK_BYTES_EQ(large, big, v.data, (size_t)v.bytes);
        mldfi_beton_close(b);
        free(data);
    }
    free(large);
}

static void check_fields_refused(const struct beton_write_field *fields, size_t count) {
    struct beton_write_options options = BETON_WRITE_OPTIONS_INIT;
    struct beton_writer *w = NULL;
    mldf_error err;
    CHECK_STATUS(MLDF_E_SCHEMA, mldfi_beton_writer_open(&w, check_tmp("no.beton"), fields, count, &options, &err),
                 &err);
    CHECK(w == NULL);
}

static void writer_refuses_what_ffcv_cannot_hold(void) {
    uint64_t shape[2] = {3, 0};
    struct beton_write_field two[2] = {{.type = BETON_INT, .name = "sixteen_letters_A"},
                                       {.type = BETON_INT, .name = "sixteen_letters_B"}};
    check_fields_refused((struct beton_write_field[]){{.type = BETON_INT, .name = "\xc3\xa4"}}, 1);
    check_fields_refused((struct beton_write_field[]){{.type = BETON_INT, .name = ""}}, 1);
    check_fields_refused((struct beton_write_field[]){{.type = 9, .name = "x"}}, 1);
    check_fields_refused(
        (struct beton_write_field[]){{.type = BETON_NDARRAY, .name = "x", .descr = "[[\"\", \"<f4\"]]"}}, 1);
    check_fields_refused(
        (struct beton_write_field[]){
            {.type = BETON_NDARRAY, .name = "x", .ndim = 2, .shape = shape, .descr = "[[\"\", \"<f4\"]]"}},
        1);
    check_fields_refused(
        (struct beton_write_field[]){
            {.type = BETON_NDARRAY, .name = "x", .ndim = 1, .shape = shape, .descr = "[[\"\", \"|O\"]]"}},
        1);
    struct beton_write_options options = BETON_WRITE_OPTIONS_INIT;
    struct beton_writer *w = NULL;
    mldf_error err;
    check_fields_refused(two, 2);
    two[1].name = "sixteen_letterz_B"; /* the fifteenth differs */
    REQUIRE_OK(mldfi_beton_writer_open(&w, check_tmp("no.beton"), two, 2, &options, &err), &err);
    mldfi_beton_writer_free(w);
    struct beton_write_field fields[3] = {
        {.type = BETON_IMAGE, .name = "i"},
        {.type = BETON_NDARRAY, .name = "a", .ndim = 1, .shape = shape, .descr = "[[\"\", \"<f4\"]]"},
        {.type = BETON_JSON, .name = "j"}};
    REQUIRE_OK(mldfi_beton_writer_open(&w, check_tmp("no.beton"), fields, 3, &options, &err), &err);
    struct beton_input good[3] = {{.mode = 1, .width = 1, .height = 1, .data = "rgb", .bytes = 3},
                                  {.data = "123456789012", .bytes = 12},
                                  {.data = "1", .bytes = 1}};
    struct beton_input v[3];
#define TRY(status, change) \
    memcpy(v, good, sizeof v); \
    change; \
    CHECK_STATUS(status, mldfi_beton_writer_add(w, v, &err), &err)
    TRY(MLDF_E_LIMIT, v[0].width = 65536);
    TRY(MLDF_E_RANGE, v[0].mode = 2);
    TRY(MLDF_E_RANGE, v[0].bytes = 2);
    TRY(MLDF_E_RANGE, v[1].bytes = 11);
    TRY(MLDF_E_SYNTAX, v[2].data = "{");
    TRY(MLDF_E_LIMIT, v[0] = ((struct beton_input){.data = "", .bytes = (uint64_t)1 << 31}));
    TRY(MLDF_OK, (void)0);
#undef TRY
    mldfi_beton_writer_free(w);
    CHECK(access(check_tmp("no.beton"), F_OK) != 0);
}

/* ---- Files that lie ---------------------------------------------------------------------------------------------------------- */

static void check_open_fails(const uint8_t *data, size_t bytes, mldf_status want, uint64_t offset) {
    struct beton *b;
    mldf_error err;
    CHECK_STATUS(want, mldfi_beton_open(&b, data, bytes, NULL, &err), &err);
    CHECK_EQ_U64(offset, err.offset);
    mldfi_beton_close(b);
}

static void open_refuses_headers_that_lie(void) {
    size_t bytes;
    uint8_t *data = golden("scalars", &bytes), keep[24];
    memcpy(keep, data, 24);
    check_open_fails(data, 10, MLDF_E_TRUNCATED, 10);
    check_open_fails(data, 500, MLDF_E_TRUNCATED, 500);
    data[0] = 1;
    check_open_fails(data, bytes, MLDF_E_VERSION, 0);
    memcpy(data, keep, 24);
    mldfi_store_u16(data + 2, 0);
    check_open_fails(data, bytes, MLDF_E_CORRUPT, 2);
    memcpy(data, keep, 24);
    mldfi_store_u32(data + 4, 4096);
    check_open_fails(data, bytes, MLDF_E_CORRUPT, 4);
    memcpy(data, keep, 24);
    mldfi_store_u64(data + 8, UINT64_MAX / 16 + 1); /* 16 N wraps to 0 */
    check_open_fails(data, bytes, MLDF_E_CORRUPT, 8);
    mldfi_store_u64(data + 8, 11);
    check_open_fails(data, bytes, MLDF_E_TRUNCATED, 8);
    memcpy(data, keep, 24);
    mldfi_store_u64(data + 16, UINT64_MAX);
    check_open_fails(data, bytes, MLDF_E_TRUNCATED, 16);
    mldfi_store_u64(data + 16, 100);
    check_open_fails(data, bytes, MLDF_E_CORRUPT, 16);
    memcpy(data, keep, 24);
    data[24] = 9; /* a type that nobody knows */
    check_open_fails(data, bytes, MLDF_E_CORRUPT, 24);
    free(data);
}

static void check_value_fails(const struct beton *b, uint64_t sample, uint32_t field) {
    struct beton_value v;
    mldf_error err;
    CHECK_STATUS(MLDF_E_CORRUPT, mldfi_beton_value(b, sample, field, &v, &err), &err);
    CHECK_EQ_U64(sample, err.sample);
    CHECK_EQ_STR(mldfi_beton_field(b, field)->name, err.field);
    CHECK_EQ_U64(mldfi_beton_info(b)->rows_offset + sample * mldfi_beton_info(b)->row_bytes +
                     mldfi_beton_field(b, field)->offset,
                 err.offset);
    uint64_t problems = 0;
    CHECK_OK(mldfi_beton_verify(b, NULL, NULL, &problems, NULL), NULL);
    CHECK(problems >= 1);
}

static void rows_that_lie_give_errors_with_their_place(void) {
    size_t bytes;
    uint8_t *data = golden("all_w1", &bytes), row[96];
    struct beton *b = open_bytes(data, bytes); /* borrowed: changes below are seen */
    REQUIRE(b != NULL);
    uint8_t *second = data + mldfi_beton_info(b)->rows_offset + 96;
    memcpy(row, second, 96);
    mldfi_store_u64(second + 16 + 5, 77); /* the raw image's ptr is in no table */
    check_value_fails(b, 1, 2);
    memcpy(second, row, 96);
    second[16] = 2; /* an unknown mode */
    check_value_fails(b, 1, 2);
    memcpy(second, row, 96);
    mldfi_store_u16(second + 17, 60000); /* wider than its blob */
    check_value_fails(b, 1, 2);
    memcpy(second, row, 96);
    mldfi_store_u64(second + 42 + 8, UINT64_MAX - 5); /* bytes: ptr + size wraps */
    check_value_fails(b, 1, 4);
    memcpy(second, row, 96);
    mldfi_store_u64(second + 42, 30); /* bytes inside the header */
    check_value_fails(b, 1, 4);
    memcpy(second, row, 96);
    mldfi_beton_close(b);
    free(data);
}

static void custom_widths_are_found_or_taken_from_the_caller(void) {
    size_t bytes;
    uint8_t *data = golden("custom255", &bytes);
    struct beton *b = open_bytes(data, bytes);
    REQUIRE(b != NULL);
    CHECK_EQ_U64(8, mldfi_beton_field(b, 0)->bytes);
    mldfi_beton_close(b);
    mldf_error err;
    struct beton_width width = {16, 8};
    struct beton_options options = {&width, 1};
    CHECK_OK(mldfi_beton_open(&b, data, bytes, &options, &err), &err);
    CHECK_EQ_U64(24, mldfi_beton_info(b)->row_bytes);
    mldfi_beton_close(b);
    mldfi_store_u64(data + 24 + 2 * 1041, 1); /* the first row's ptr points nowhere: nothing fits */
    CHECK_STATUS(MLDF_E_SCHEMA, mldfi_beton_open(&b, data, bytes, NULL, &err), &err);
    CHECK_EQ_STR("s", err.field);
    free(data);
    /* images and bytes, as if somebody had derived a class from them */
    data = golden("img_bytes", &bytes);
    struct beton *plain = open_bytes(data, bytes);
    uint8_t *copy = malloc(bytes);
    memcpy(copy, data, bytes);
    copy[24] = copy[24 + 1041] = BETON_CUSTOM;
    b = open_bytes(copy, bytes);
    REQUIRE(b != NULL && plain != NULL);
    CHECK_EQ_U64(13, mldfi_beton_field(b, 0)->bytes);
    CHECK_EQ_U64(16, mldfi_beton_field(b, 1)->bytes);
    CHECK_EQ_U64(29, mldfi_beton_info(b)->row_bytes);
    struct beton_value x, y;
    CHECK_OK(mldfi_beton_value(plain, 3, 0, &x, &err), &err);
    CHECK_OK(mldfi_beton_value(b, 3, 0, &y, &err), &err);
    CHECK_BYTES_EQ(x.data, (size_t)x.bytes, y.data, (size_t)y.bytes);
    mldfi_beton_close(b);
    mldfi_beton_close(plain);
    free(copy);
    free(data);
}

static void convert(const char *from, const char *to) {
    mldf_writer_options writing = MLDF_WRITER_OPTIONS_INIT;
    mldf_convert_options options = MLDF_CONVERT_OPTIONS_INIT;
    mldf_error err;
    options.writer = &writing;
    writing.overwrite = true;
    CHECK_OK(mldf_convert(&from, 1, to, &options, NULL, &err), &err);
}

/* Types, arguments, blobs, and every byte of the records but the ptr. */
static void check_same_custom(const struct beton *a, const struct beton *b) {
    mldf_error err;
    REQUIRE_EQ_U64(mldfi_beton_info(a)->field_count, mldfi_beton_info(b)->field_count);
    REQUIRE_EQ_U64(mldfi_beton_info(a)->count, mldfi_beton_info(b)->count);
    CHECK_EQ_U64(mldfi_beton_info(a)->row_bytes, mldfi_beton_info(b)->row_bytes);
    for (uint32_t f = 0; f < mldfi_beton_info(a)->field_count; f++) {
        const struct beton_field *x = mldfi_beton_field(a, f), *y = mldfi_beton_field(b, f);
        CHECK_EQ_U64(x->type, y->type);
        CHECK_EQ_STR(x->name, y->name);
        REQUIRE_EQ_U64(x->bytes, y->bytes);
        CHECK_EQ_U64(x->offset, y->offset);
        CHECK_EQ_U64(x->ptr_at, y->ptr_at);
        CHECK_MEM_EQ(x->arguments, y->arguments, BETON_ARGUMENTS);
        for (uint64_t i = 0; i < mldfi_beton_info(a)->count; i++) {
            struct beton_value v, w;
            uint8_t left[32] = {0}, right[32] = {0};
            CHECK_OK(mldfi_beton_value(a, i, f, &v, &err), &err);
            CHECK_OK(mldfi_beton_value(b, i, f, &w, &err), &err);
            CHECK_BYTES_EQ(v.data, (size_t)v.bytes, w.data, (size_t)w.bytes);
            memcpy(left, v.record, x->bytes);
            memcpy(right, w.record, x->bytes);
            if (x->has_blob) {
                memset(left + x->ptr_at, 0, 8);
                memset(right + x->ptr_at, 0, 8);
            }
            CHECK_MEM_EQ(left, right, x->bytes);
        }
    }
}

static void check_custom_journey(const uint8_t *data, size_t bytes) {
    char from[400], between[400], back[400];
    size_t back_bytes;
    snprintf(from, sizeof from, "%s/from.beton", check_tmpdir());
    snprintf(between, sizeof between, "%s/between.mldf", check_tmpdir());
    snprintf(back, sizeof back, "%s/back.beton", check_tmpdir());
    REQUIRE(check_write_file(from, data, bytes));
    convert(from, between);
    convert(between, back);
    uint8_t *again = check_read_file(back, &back_bytes);
    REQUIRE(again != NULL);
    struct beton *a = open_bytes(data, bytes), *b = open_bytes(again, back_bytes);
    REQUIRE(a != NULL && b != NULL);
    check_same_custom(a, b);
    mldfi_beton_close(a);
    mldfi_beton_close(b);
    free(again);
}

static void custom_fields_survive_the_way_through_mldf(void) {
    size_t bytes;
    uint8_t *data = golden("custom255", &bytes);
    check_custom_journey(data, bytes);
    free(data);
    data = golden("img_bytes", &bytes);
    data[24] = data[24 + 1041] = BETON_CUSTOM; /* records of 13 and 16 bytes */
    for (size_t i = 0; i < BETON_ARGUMENTS; i++)
        data[24 + 17 + i] = (uint8_t)(i * 7 + 1);
    data[24 + 1041 + 17 + 3] = 9;
    check_custom_journey(data, bytes);
    /* A field that has the name already: the samples come back, the type does not. */
    char from[400], between[400];
    snprintf(from, sizeof from, "%s/from.beton", check_tmpdir());
    snprintf(between, sizeof between, "%s/between.mldf", check_tmpdir());
    memset(data + 24 + 1, 0, 16);
    memset(data + 24 + 1041 + 1, 0, 16);
    memcpy(data + 24 + 1, "x", 1);
    memcpy(data + 24 + 1041 + 1, "x_record", 8);
    REQUIRE(check_write_file(from, data, bytes));
    convert(from, between);
    convert(between, from);
    uint8_t *again = check_read_file(from, &bytes);
    CHECK_EQ_U64(BETON_BYTES, again[24]);
    CHECK_EQ_U64(BETON_CUSTOM, again[24 + 1041]);
    free(again);
    free(data);
}

static uint8_t *convert_many(const char *from, const char *to, int threads, size_t *bytes) {
    const char *sources[30];
    mldf_writer_options writing = MLDF_WRITER_OPTIONS_INIT;
    mldf_convert_options options = MLDF_CONVERT_OPTIONS_INIT;
    mldf_error err;
    for (size_t i = 0; i < 30; i++)
        sources[i] = from;
    options.writer = &writing;
    writing.overwrite = true;
    writing.threads = threads;
    CHECK_OK(mldf_convert(sources, 30, to, &options, NULL, &err), &err);
    return check_read_file(to, bytes);
}

/* More samples than are under way at once: what is written for one must not be another's. */
static void custom_fields_are_the_same_on_any_number_of_threads(void) {
    char from[400], to[400];
    size_t bytes, want_bytes, got_bytes;
    uint8_t *data = golden("img_bytes", &bytes), first[13], other[13];
    data[24] = data[24 + 1041] = BETON_CUSTOM;
    snprintf(from, sizeof from, "%s/threads.beton", check_tmpdir());
    snprintf(to, sizeof to, "%s/many.beton", check_tmpdir());
    REQUIRE(check_write_file(from, data, bytes));
    uint8_t *want = convert_many(from, to, 0, &want_bytes);
    REQUIRE(want != NULL);
    struct beton *a = open_bytes(data, bytes), *b = open_bytes(want, want_bytes);
    REQUIRE(a != NULL && b != NULL);
    uint64_t samples = mldfi_beton_info(a)->count;
    REQUIRE_EQ_U64(30 * samples, mldfi_beton_info(b)->count);
    for (uint64_t i = 0; i < 30 * samples; i++) {
        struct beton_value v, w;
        mldf_error err;
        CHECK_EQ_U64(BETON_CUSTOM, mldfi_beton_field(b, 0)->type);
        CHECK_OK(mldfi_beton_value(a, i % samples, 0, &v, &err), &err);
        CHECK_OK(mldfi_beton_value(b, i, 0, &w, &err), &err);
        CHECK_BYTES_EQ(v.data, (size_t)v.bytes, w.data, (size_t)w.bytes);
        memcpy(first, v.record, 13);
        memcpy(other, w.record, 13);
        memset(first + mldfi_beton_field(a, 0)->ptr_at, 0, 8);
        memset(other + mldfi_beton_field(b, 0)->ptr_at, 0, 8);
        CHECK_MEM_EQ(first, other, 13);
    }
    const int threads[] = {1, 2, 7};
    for (size_t i = 0; i < 3; i++) {
        uint8_t *got = convert_many(from, to, threads[i], &got_bytes);
        CHECK(got != NULL);
        CHECK_BYTES_EQ(want, want_bytes, got, got_bytes);
        free(got);
    }
    mldfi_beton_close(a);
    mldfi_beton_close(b);
    free(want);
    free(data);
}

/* An unsorted table, and an empty blob at the place of the next one. */
static void tables_in_any_order_and_shared_places_read(void) {
    const char *path = check_tmp("order.beton");
    struct beton_writer *w = bytes_writer(path, (struct beton_write_options)BETON_WRITE_OPTIONS_INIT);
    REQUIRE(w != NULL);
    mldf_error err;
    for (int i = 0; i < 10; i++) {
        struct beton_input v[3] = {
            {.data = "", .bytes = 0}, {.data = "true", .bytes = 4}, {.data = "0123456789", .bytes = (uint64_t)i}};
        CHECK_OK(mldfi_beton_writer_add(w, v, &err), &err);
    }
    CHECK_OK(mldfi_beton_writer_finish(w, NULL, &err), &err);
    mldfi_beton_writer_free(w);
    size_t bytes;
    uint8_t *data = check_read_file(path, &bytes);
    struct beton *b = open_bytes(data, bytes);
    REQUIRE(b != NULL);
    uint64_t table = mldfi_beton_info(b)->table_offset, n = mldfi_beton_info(b)->entry_count;
    uint8_t *copy = malloc(bytes);
    memcpy(copy, data, bytes);
    for (uint64_t i = 0; i < n; i++)
        memcpy(copy + table + i * 24, data + table + (n - 1 - i) * 24, 24);
    for (uint64_t s = 0; s < 10; s++) { /* the empty blob moves to where the JSON is */
        uint8_t *row = copy + mldfi_beton_info(b)->rows_offset + s * 48;
        for (uint64_t i = 0; i < n; i++)
            if (mldfi_load_u64(copy + table + i * 24 + 8) == mldfi_load_u64(row))
                mldfi_store_u64(copy + table + i * 24 + 8, mldfi_load_u64(row + 16));
        mldfi_store_u64(row, mldfi_load_u64(row + 16));
    }
    struct beton *mixed = open_bytes(copy, bytes);
    REQUIRE(mixed != NULL);
    check_same_values(b, mixed);
    uint64_t problems = 1;
    CHECK_OK(mldfi_beton_verify(mixed, NULL, NULL, &problems, NULL), NULL);
    CHECK_EQ_U64(0, problems);
    mldfi_beton_close(mixed);
    mldfi_beton_close(b);
    free(copy);
    free(data);
}

static void damaged_files_are_read_without_harm(void) {
    uint64_t seed = check_seed();
    size_t bytes;
    uint8_t *data = golden("all_w1", &bytes);
    uint64_t rows = 24 + 8 * 1041, table = 4194304;
    for (int round = 0; round < 400; round++) {
        uint8_t undo[8];
        uint64_t where[8];
        int changes = 1 + (int)check_rand_below(&seed, 8);
        for (int i = 0; i < changes; i++) {
            uint64_t kind = check_rand_below(&seed, 4);
            where[i] = kind == 0   ? check_rand_below(&seed, 24)
                       : kind == 1 ? check_rand_below(&seed, rows)
                       : kind == 2 ? rows + check_rand_below(&seed, 96 * 40)
                                   : table + check_rand_below(&seed, bytes - table);
            undo[i] = data[where[i]];
            data[where[i]] = check_rand_below(&seed, 2) ? (uint8_t)check_rand(&seed) : 0xFF;
        }
        struct beton *b;
        size_t size = check_rand_below(&seed, 8) ? bytes : bytes - check_rand_below(&seed, 6000);
        if (mldfi_beton_open(&b, data, size, NULL, NULL) >= 0) {
            CHECK(mldfi_beton_verify(b, NULL, NULL, NULL, NULL) >= 0);
            for (uint64_t s = 0; s < mldfi_beton_info(b)->count; s += 7)
                for (uint32_t i = 0; i < mldfi_beton_info(b)->field_count; i++) {
                    struct beton_value v;
                    if (mldfi_beton_value(b, s, i, &v, NULL) >= 0 && v.bytes > 0)
                        CHECK(v.data >= data && v.data[v.bytes - 1] + v.data[0] >= 0);
                }
            mldfi_beton_close(b);
        }
        for (int i = changes - 1; i >= 0; i--)
            data[where[i]] = undo[i];
    }
    free(data);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(golden_files_have_every_value_of_their_manifest);
    RUN(writer_makes_the_bytes_of_the_real_ffcv);
    RUN(copies_with_aligned_blobs_have_the_same_values);
    RUN(empty_blobs_have_places_of_their_own);
    RUN(pages_grow_with_the_largest_sample);
    RUN(writer_refuses_what_ffcv_cannot_hold);
    RUN(open_refuses_headers_that_lie);
    RUN(rows_that_lie_give_errors_with_their_place);
    RUN(custom_widths_are_found_or_taken_from_the_caller);
    RUN(custom_fields_survive_the_way_through_mldf);
    RUN(custom_fields_are_the_same_on_any_number_of_threads);
    RUN(tables_in_any_order_and_shared_places_read);
    RUN(damaged_files_are_read_without_harm);
    return check_end();
}
