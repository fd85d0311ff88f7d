/* Every valid file (docs/spec/vectors/valid, tests/golden/draft) reads as its JSON says, through each source, with and without
 * verification, one by one and many at once; and verify finds nothing wrong with it. */
#include "golden.h"

#include "util/number.h"

struct valid {
    const char *folder;
    char name[128];
    bool recovered;
    uint64_t ignored;
    struct golden_secret secret_room;
    mldf_secret secret;
    struct golden_json want;
};

#define WRONG(v, sample, field, ...) \
    do { \
        char text_[512]; \
        snprintf(text_, sizeof text_, __VA_ARGS__); \
        check_fail(__FILE__, __LINE__, "%s, sample %" PRIu64 ", field %s: %s", (v)->name, (uint64_t)(sample), (field), \
                   text_); \
    } while (0)

/* ---- Values ------------------------------------------------------------------------------------------------------------ */

static bool text_is(const struct json *json, uint32_t at, const void *text, uint64_t bytes) {
    return json->nodes[at].kind == MLDFI_JSON_STRING && json->nodes[at].text_bytes == bytes &&
           (bytes == 0 || memcmp(json->nodes[at].text, text, (size_t)bytes) == 0);
}

static bool double_is(const struct json *json, uint32_t at, double value) {
    double want;
    if (value != value)
        return mldfi_json_is_text(json, at, "NaN");
    if (mldfi_json_is_text(json, at, "Infinity"))
        return value > 0 && value - value != 0;
    if (mldfi_json_is_text(json, at, "-Infinity"))
        return value < 0 && value - value != 0;
    return mldfi_json_double(json, at, &want) && memcmp(&want, &value, sizeof value) == 0;
}

static bool int_is(const struct json *json, uint32_t at, const mldf_value *value) {
    int64_t i;
    uint64_t u;
    if (json->nodes[at].kind == MLDFI_JSON_TRUE || json->nodes[at].kind == MLDFI_JSON_FALSE)
        return value->kind == MLDF_KIND_INT && value->as.i == (json->nodes[at].kind == MLDFI_JSON_TRUE);
    if (value->kind == MLDF_KIND_UINT)
        return mldfi_json_u64(json, at, &u) && u == value->as.u;
    return value->kind == MLDF_KIND_INT && mldfi_json_i64(json, at, &i) && i == value->as.i;
}

static bool bytes_are(const struct json *json, uint32_t at, const void *data, uint64_t bytes) {
    char want[65], got[65];
    if (json->nodes[at].kind != MLDFI_JSON_OBJECT)
        return false;
    uint64_t count = golden_number(json, at, "bytes");
    return (count == MLDF_NONE || count == bytes) &&
           strcmp(golden_text(json, at, "sha256", want, sizeof want), golden_sha256(data, (size_t)bytes, got)) == 0;
}

static bool array_is(const struct json *json, uint32_t at, const mldf_value *value) {
    char dtype[16];
    uint32_t shape = mldfi_json_find(json, at, "shape"), d = 0;
    if (!bytes_are(json, at, value->data, value->bytes) || value->kind != MLDF_KIND_ARRAY || shape == UINT32_MAX ||
        strcmp(golden_text(json, at, "dtype", dtype, sizeof dtype), mldf_dtype_name(value->dtype)) != 0 ||
        json->nodes[shape].count != value->ndim)
        return false;
    for (uint32_t i = mldfi_json_first(json, shape); i < json->nodes[shape].next; i = json->nodes[i].next, d++) {
        uint64_t dim;
        if (!mldfi_json_u64(json, i, &dim) || dim != value->dims[d])
            return false;
    }
    return true;
}

/* The same content: objects in any order, numbers by their value. */
static bool same_tree(const struct json *a, uint32_t x, const struct json *b, uint32_t y) {
    const struct json_node *p = &a->nodes[x], *q = &b->nodes[y];
    double one, other;
    if (p->kind != q->kind || p->count != q->count)
        return false;
    if (p->kind == MLDFI_JSON_STRING)
        return text_is(b, y, p->text, p->text_bytes);
    if (p->kind == MLDFI_JSON_NUMBER)
        return mldfi_json_double(a, x, &one) && mldfi_json_double(b, y, &other) && one <= other && one >= other;
    uint32_t v = mldfi_json_first(b, y);
    for (uint32_t u = mldfi_json_first(a, x); u < p->next; u = a->nodes[u].next) {
        char key[256];
        if (p->kind == MLDFI_JSON_OBJECT) {
            snprintf(key, sizeof key, "%.*s", (int)a->nodes[u].key_bytes, a->nodes[u].key);
            v = mldfi_json_find(b, y, key);
        }
        if (v == UINT32_MAX || !same_tree(a, u, b, v))
            return false;
        v = b->nodes[v].next;
    }
    return true;
}

static bool json_is(const struct json *json, uint32_t at, const mldf_value *value) {
    struct json got = {0};
    bool same = mldfi_json_parse(&got, (const char *)value->data, (size_t)value->bytes, NULL) == MLDF_OK &&
                same_tree(json, at, &got, 0);
    mldfi_json_free(&got);
    return same;
}

static bool record_is(const struct json *json, uint32_t at, const void *record, size_t bytes) {
    const uint8_t *p = record;
    char want[8193];
    golden_text(json, at, "record", want, sizeof want);
    if (strlen(want) != 2 * bytes)
        return false;
    for (size_t i = 0; i < bytes; i++) {
        char two[3];
        snprintf(two, sizeof two, "%02x", p[i]);
        if (memcmp(two, want + 2 * i, 2) != 0)
            return false;
    }
    return true;
}

static bool value_is(const mldf_field *field, const struct json *json, uint32_t at, const mldf_value *value) {
    if (json->nodes[at].kind == MLDFI_JSON_NULL && field->type_id != MLDF_JSON)
        return value->kind == MLDF_KIND_NULL;
    if (value->kind == MLDF_KIND_NULL)
        return json->nodes[at].kind == MLDFI_JSON_NULL;
    switch (field->type_id) {
    case MLDF_INT:
        return int_is(json, at, value);
    case MLDF_FLOAT:
        return value->kind == MLDF_KIND_FLOAT && double_is(json, at, value->as.f);
    case MLDF_BYTES:
        return value->kind == MLDF_KIND_BYTES && bytes_are(json, at, value->data, value->bytes);
    case MLDF_NDARRAY:
    case MLDF_AUDIO_SPECTROGRAM:
    case MLDF_AUDIO_CODEC_TOKENS:
    case MLDF_VIDEO_OPTICAL_FLOW:
        return array_is(json, at, value);
    case MLDF_JSON:
        return json_is(json, at, value);
    case MLDF_TEXT:
        return value->kind == MLDF_KIND_TEXT && text_is(json, at, value->data, value->bytes);
    case MLDF_INLINE: /* the reference reader compares the members; here the record is looked at */
        return value->kind == MLDF_KIND_STRUCT || value->kind == MLDF_KIND_ARRAY;
    case MLDF_IMAGE_RAW:
    case MLDF_IMAGE_JPEG:
    case MLDF_IMAGE_PNG:
    case MLDF_IMAGE:
    case MLDF_AUDIO_WAVEFORM:
    case MLDF_AUDIO_COMPRESSED:
    case MLDF_VIDEO_FRAMES:
    case MLDF_VIDEO_COMPRESSED:
    case MLDF_TEXT_TOKENIZED:
    case MLDF_MULTIMODAL:
        return bytes_are(json, at, value->data, value->bytes) &&
               record_is(json, at, value->record, value->record_bytes);
    default:
        return false;
    }
}

static void check_value(const struct valid *v, const mldf_reader *r, uint64_t sample, size_t field, uint32_t at) {
    const mldf_field *info = mldf_schema_field(mldf_reader_schema(r), field);
    const struct json *json = &v->want.tree;
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    mldf_value value;
    mldf_error err;
    if (info->known) {
        bool image = info->type_id >= MLDF_IMAGE_RAW && info->type_id <= MLDF_IMAGE;
        char record[64] = "";
        if (image && json->nodes[at].kind == MLDFI_JSON_OBJECT)
            golden_text(json, at, "record", record, sizeof record);
        mldf_status status = mldf_reader_get(r, sample, field, &scratch, &value, &err);
        if (status >= 0 && strncmp(record + 34, "07", 2) == 0) /* a fast JPEG is expected as it is stored */
            status = mldf_reader_get_stored(r, sample, field, &scratch, &value, &err);
        if (status < 0)
            WRONG(v, sample, info->name, "%s", err.message);
        else if (value.kind != MLDF_KIND_NULL &&
                 (info->type_id >= MLDF_TEXT_PACKED && info->type_id <= MLDF_TOKEN_STREAM)) /* ids, then a table */
            CHECK(mldf_reader_get_stored(r, sample, field, &scratch, &value, &err) == MLDF_OK &&
                  bytes_are(json, at, value.data, value.bytes) &&
                  record_is(json, at, value.record, value.record_bytes));
        else if (!value_is(info, json, at, &value))
            WRONG(v, sample, info->name, "another value than expected, of kind %d, %" PRIu64 " bytes", (int)value.kind,
                  value.bytes);
    } else {
        CHECK_STATUS(json->nodes[at].kind == MLDFI_JSON_NULL ? MLDF_OK : MLDF_E_UNSUPPORTED,
                     mldf_reader_get(r, sample, field, &scratch, &value, &err), NULL);
        if (mldf_reader_get_stored(r, sample, field, &scratch, &value, &err) < 0)
            WRONG(v, sample, info->name, "%s", err.message);
        else if (value.kind == MLDF_KIND_NULL ? json->nodes[at].kind != MLDFI_JSON_NULL
                                              : !record_is(json, at, value.record, value.record_bytes) ||
                                                    !bytes_are(json, at, value.data, value.bytes))
            WRONG(v, sample, info->name, "another stored value than expected");
    }
    mldf_buffer_free(&scratch);
}

/* ---- The whole file ------------------------------------------------------------------------------------------------------ */

static void check_fields(const struct valid *v, const mldf_reader *r) {
    const struct json *json = &v->want.tree;
    const mldf_schema *schema = mldf_reader_schema(r);
    uint32_t fields = mldfi_json_find(json, 0, "fields");
    size_t i = 0;
    REQUIRE_EQ_U64(json->nodes[fields].count, mldf_schema_field_count(schema));
    for (uint32_t at = mldfi_json_first(json, fields); at < json->nodes[fields].next; at = json->nodes[at].next, i++) {
        const mldf_field *f = mldf_schema_field(schema, i);
        mldf_buffer arguments = MLDF_BUFFER_INIT;
        char name[64];
        CHECK_EQ_STR(golden_text(json, at, "name", name, sizeof name), f->name);
        CHECK_EQ_U64(golden_number(json, at, "type_id"), f->type_id);
        CHECK_EQ_U64(golden_number(json, at, "record_bytes"), f->record_bytes);
        CHECK_EQ_U64(golden_number(json, at, "row_offset"), f->row_offset);
        CHECK_EQ_INT(golden_true(json, at, "nullable"), (f->flags & MLDF_FIELD_NULLABLE) != 0);
        CHECK_OK(mldfi_json_canonical(json, mldfi_json_find(json, at, "arguments"), &arguments, NULL), NULL);
        CHECK_BYTES_EQ(arguments.data, arguments.size, f->arguments, strlen(f->arguments));
        mldf_buffer_free(&arguments);
    }
}

static void check_samples(const struct valid *v, const mldf_reader *r) {
    const struct json *json = &v->want.tree;
    uint32_t samples = mldfi_json_find(json, 0, "samples");
    uint64_t i = 0;
    REQUIRE_EQ_U64(json->nodes[samples].count, mldf_reader_sample_count(r));
    for (uint32_t s = mldfi_json_first(json, samples); s < json->nodes[samples].next; s = json->nodes[s].next, i++)
        for (size_t f = 0; f < mldf_schema_field_count(mldf_reader_schema(r)); f++) {
            uint32_t at = mldfi_json_find(json, s, mldf_schema_field(mldf_reader_schema(r), f)->name);
            REQUIRE(at != UINT32_MAX);
            check_value(v, r, i, f, at);
        }
}

static void check_keys(const struct valid *v, const mldf_reader *r) {
    const struct json *json = &v->want.tree;
    uint32_t keys = mldfi_json_find(json, 0, "keys");
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    mldf_error err;
    uint64_t i = 0, found = MLDF_NONE;
    const char *key;
    size_t bytes;
    CHECK_EQ_INT(json->nodes[keys].kind == MLDFI_JSON_ARRAY, mldf_reader_has_keys(r));
    if (json->nodes[keys].kind != MLDFI_JSON_ARRAY) {
        CHECK_STATUS(MLDF_E_KEY, mldf_reader_find_key(r, "a", 1, &found, &err), NULL);
        return;
    }
    for (uint32_t at = mldfi_json_first(json, keys); at < json->nodes[keys].next; at = json->nodes[at].next, i++) {
        CHECK_OK(mldf_reader_key(r, i, &scratch, &key, &bytes, &err), &err);
        CHECK(text_is(json, at, key, bytes));
        CHECK_OK(mldf_reader_find_key(r, json->nodes[at].text, (size_t)json->nodes[at].text_bytes, &found, &err), &err);
        CHECK_EQ_U64(i, found);
    }
    CHECK_STATUS(MLDF_E_NO_SAMPLE, mldf_reader_find_key(r, "no such key", 11, &found, &err), &err);
    CHECK_STATUS(MLDF_E_NO_SAMPLE, mldf_reader_key(r, i, &scratch, &key, &bytes, &err), &err);
    mldf_buffer_free(&scratch);
}

static void check_card(const struct valid *v, const mldf_reader *r) {
    const struct json *json = &v->want.tree;
    uint32_t card = mldfi_json_find(json, 0, "card");
    mldf_buffer got = MLDF_BUFFER_INIT;
    mldf_error err;
    if (json->nodes[card].kind == MLDFI_JSON_NULL) {
        CHECK_STATUS(MLDF_ABSENT, mldf_reader_card(r, &got, &err), &err);
    } else {
        CHECK_OK(mldf_reader_card(r, &got, &err), &err);
        mldf_value card_text = {.data = got.data, .bytes = got.size};
        CHECK(json_is(json, card, &card_text));
    }
    mldf_buffer_free(&got);
}

/* get_many gives what get gives; the stored bytes of each payload are found by their pointer. */
static void check_many(const struct valid *v, const mldf_reader *r) {
    uint64_t n = mldf_reader_sample_count(r), *order = malloc(8 * (n + 1));
    mldf_value *values = calloc(n + 1, sizeof *values), one;
    mldf_buffer many = MLDF_BUFFER_INIT, single = MLDF_BUFFER_INIT;
    mldf_error err;
    if (!order || !values)
        exit(3);
    for (uint64_t i = 0; i < n; i++)
        order[i] = n - 1 - i;
    for (size_t f = 0; f < mldf_schema_field_count(mldf_reader_schema(r)); f++) {
        const mldf_field *info = mldf_schema_field(mldf_reader_schema(r), f);
        if (!info->known)
            continue;
        CHECK_OK(mldf_reader_get_many(r, order, (size_t)n, f, &many, values, &err), &err);
        for (uint64_t i = 0; i < n; i++) {
            CHECK_OK(mldf_reader_get(r, order[i], f, &single, &one, &err), &err);
            if (one.kind != values[i].kind || one.bytes != values[i].bytes ||
                (one.bytes && memcmp(one.data, values[i].data, (size_t)one.bytes) != 0) ||
                (one.kind != MLDF_KIND_NULL && memcmp(one.record, values[i].record, one.record_bytes) != 0))
                WRONG(v, order[i], info->name, "get_many differs from get");
        }
    }
    free(order);
    free(values);
    mldf_buffer_free(&many);
    mldf_buffer_free(&single);
}

static void check_file(const struct valid *v, const mldf_reader *r) {
    const struct json *json = &v->want.tree;
    char version[16], want[16];
    mldf_file_info info = MLDF_FILE_INFO_INIT;
    CHECK_OK(mldf_reader_info(r, &info, NULL), NULL);
    snprintf(version, sizeof version, "%u.%u", info.version_major, info.version_minor);
    CHECK_EQ_STR(golden_text(json, 0, "version", want, sizeof want), version);
    CHECK_EQ_U64(golden_number(json, 0, "flags"), info.flags);
    CHECK_EQ_U64(golden_number(json, 0, "page_size"), info.page_size);
    CHECK_EQ_U64(golden_number(json, 0, "num_samples"), info.num_samples);
    CHECK_EQ_INT(v->recovered, info.header_recovered);
    CHECK_EQ_U64(v->ignored, info.ignored_bytes);
    CHECK_EQ_INT(v->secret.key || v->secret.passphrase, info.authenticated);
    check_fields(v, r);
    check_samples(v, r);
    check_keys(v, r);
    check_card(v, r);
    check_many(v, r);
}

static void check_source_kinds(const struct valid *v, const char *path) {
    mldf_reader_options options = MLDF_READER_OPTIONS_INIT;
    mldf_reader *r;
    mldf_error err;
    options.secret = v->secret;
    for (int i = 0; i < 4; i++) {
        options.backend = i & 1 ? MLDF_BACKEND_READ : MLDF_BACKEND_MAP;
        options.verify = i >= 2;
        CHECK_OK(mldf_reader_open(path, &options, &r, &err), &err);
        if (!r)
            continue;
        /* Encrypted tables are decrypted in a view of the file. */
        CHECK_EQ_INT(!(i & 1) || strstr(path, "encrypted_all"), mldf_reader_is_mapped(r));
        check_file(v, r);
        mldf_reader_close(r);
    }
    size_t bytes;
    uint8_t *data = check_read_file(path, &bytes);
    CHECK_OK(mldf_reader_open_memory(data, bytes, &options, &r, &err), &err);
    if (r)
        check_file(v, r);
    mldf_reader_close(r);
    free(data);
}

static void print_problem(void *user, const mldf_error *problem) {
    mldf_error *last = user;
    *last = *problem;
}

static void check_verify(const struct valid *v, const char *path) {
    for (int threads = 0; threads < 4; threads += 3) {
        mldf_verify_options options = MLDF_VERIFY_OPTIONS_INIT;
        mldf_verify_result result = MLDF_VERIFY_RESULT_INIT;
        mldf_error err, last = {0};
        options.deep = true;
        options.threads = threads;
        options.secret = v->secret;
        options.problem = print_problem;
        options.problem_user = &last;
        CHECK_OK(mldf_verify(path, &options, &result, &err), &err);
        /* A header that is not the state is worth a report, unless the file was streamed. */
        bool stale = v->recovered && strcmp(v->name, "streamed.mldf") != 0;
        if (result.problems != (stale ? 1 : 0))
            check_fail(__FILE__, __LINE__, "%s: verify finds %" PRIu64 " problems, the last: %s (byte %" PRId64 ")",
                       v->name, result.problems, last.message, (int64_t)last.offset);
        CHECK_EQ_U64(result.num_samples, result.good_samples);
    }
}

static void check_vector(struct valid *v, const char *json_name) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", v->folder, json_name);
    if (golden_load(&v->want, check_source(path))) {
        snprintf(path, sizeof path, "%s/%s", v->folder, v->name);
        const char *file = check_source(path);
        check_source_kinds(v, file);
        check_verify(v, file);
    }
    golden_free(&v->want);
}

static void valid_vectors_read_as_their_json_says(void) {
    struct golden_json manifest;
    size_t used = 0;
    if (golden_load(&manifest, check_source("docs/spec/vectors/valid/manifest.json"))) {
        const struct json *json = &manifest.tree;
        for (uint32_t at = mldfi_json_first(json, 0); at < json->nodes[0].next; at = json->nodes[at].next) {
            struct valid v = {.folder = "docs/spec/vectors/valid"};
            char name[128];
            golden_text(json, at, "file", v.name, sizeof v.name);
            v.recovered = golden_true(json, at, "header_recovered");
            v.ignored = golden_number(json, at, "ignored_bytes");
            v.secret = golden_secret(json, at, &v.secret_room);
            if ((v.secret.key || v.secret.passphrase) && !golden_can_decrypt())
                continue;
            check_vector(&v, golden_text(json, at, "json", name, sizeof name));
            used++;
        }
    }
    golden_free(&manifest);
    CHECK(used > 25);
}

static void draft_files_read_as_their_json_says(void) {
    DIR *dir = opendir(check_source("tests/golden/draft"));
    struct dirent *entry;
    size_t used = 0;
    REQUIRE(dir != NULL);
    while ((entry = readdir(dir)) != NULL) {
        struct valid v = {.folder = "tests/golden/draft"};
        size_t length = strlen(entry->d_name);
        char json[128];
        if (length < 5 || length > 100 || strcmp(entry->d_name + length - 5, ".mldf") != 0)
            continue;
        snprintf(v.name, sizeof v.name, "%.100s", entry->d_name);
        snprintf(json, sizeof json, "%.*s.json", (int)length - 5, v.name);
        check_vector(&v, json);
        used++;
    }
    closedir(dir);
    CHECK(used > 5);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(valid_vectors_read_as_their_json_says);
    RUN(draft_files_read_as_their_json_says);
    return check_end();
}
