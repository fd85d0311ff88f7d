/* Every file of docs/spec/vectors/invalid gives the status and the byte that its manifest says: when it is opened (mapped, by
 * positional reads, from memory), at the access named, or as the first problem that verify reports. */
#include "golden.h"

struct invalid {
    const struct json *json;
    uint32_t at;
    char file[128], status[32], when[16], call[16], find[64], field[64];
    uint64_t offset, sample;
    struct golden_secret secret_room;
    mldf_secret secret;
    const char *path;
};

static void load_entry(struct invalid *v, const struct json *json, uint32_t at) {
    v->json = json;
    v->at = at;
    golden_text(json, at, "file", v->file, sizeof v->file);
    golden_text(json, at, "status", v->status, sizeof v->status);
    golden_text(json, at, "when", v->when, sizeof v->when);
    golden_text(json, at, "call", v->call, sizeof v->call);
    golden_text(json, at, "find", v->find, sizeof v->find);
    golden_text(json, at, "field", v->field, sizeof v->field);
    v->offset = golden_number(json, at, "offset");
    v->sample = golden_number(json, at, "sample");
    v->secret = golden_secret(json, at, &v->secret_room);
    char name[192];
    snprintf(name, sizeof name, "docs/spec/vectors/invalid/%s", v->file);
    v->path = check_source(name);
}

static void check_place(const struct invalid *v, const char *how, mldf_status status, const mldf_error *err) {
    if (strcmp(mldf_status_name(status), v->status) != 0)
        check_fail(__FILE__, __LINE__, "%s (%s): expected %s, got %s: %s", v->file, how, v->status,
                   mldf_status_name(status), status < 0 ? err->message : "");
    else if (err->offset != v->offset)
        check_fail(__FILE__, __LINE__, "%s (%s): expected byte %" PRId64 ", got %" PRId64 ": %s", v->file, how,
                   (int64_t)v->offset, (int64_t)err->offset, err->message);
}

/* ---- Opening and access ------------------------------------------------------------------------------------------------ */

static mldf_status do_access(const struct invalid *v, const mldf_reader *reader, mldf_error *err) {
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    mldf_status status;
    const char *key;
    size_t key_bytes, field = SIZE_MAX;
    uint64_t found;
    mldf_value value;
    if (strcmp(v->call, "key") == 0)
        status = mldf_reader_key(reader, v->sample, &scratch, &key, &key_bytes, err);
    else if (strcmp(v->call, "find") == 0)
        status = mldf_reader_find_key(reader, v->find, strlen(v->find), &found, err);
    else if (strcmp(v->call, "card") == 0)
        status = mldf_reader_card(reader, &scratch, err);
    else if ((status = mldf_schema_find(mldf_reader_schema(reader), v->field, &field, err)) >= 0)
        status = mldf_reader_get(reader, v->sample, field, &scratch, &value, err);
    mldf_buffer_free(&scratch);
    return status;
}

static void check_reader(const struct invalid *v, const char *how, mldf_reader *reader, mldf_status status,
                         mldf_error *err) {
    if (strcmp(v->when, "open") == 0) {
        check_place(v, how, status, err);
    } else if (status < 0) {
        check_fail(__FILE__, __LINE__, "%s (%s) does not open: %s", v->file, how, err->message);
    } else {
        status = do_access(v, reader, err);
        check_place(v, how, status, err);
    }
    mldf_reader_close(reader);
}

static void check_all_sources(const struct invalid *v) {
    mldf_reader_options options = MLDF_READER_OPTIONS_INIT;
    mldf_reader *reader = NULL;
    mldf_error err = {0};
    options.secret = v->secret;
    mldf_status status = mldf_reader_open(v->path, &options, &reader, &err);
    check_reader(v, "map", reader, status, &err);
    options.backend = MLDF_BACKEND_READ;
    reader = NULL;
    status = mldf_reader_open(v->path, &options, &reader, &err);
    check_reader(v, "read", reader, status, &err);
    size_t bytes;
    uint8_t *data = check_read_file(v->path, &bytes);
    reader = NULL;
    status = mldf_reader_open_memory(data, bytes, &options, &reader, &err);
    check_reader(v, "memory", reader, status, &err);
    free(data);
}

/* ---- verify --------------------------------------------------------------------------------------------------------------- */

struct seen {
    mldf_error first;
    uint64_t count;
};

static void note(void *user, const mldf_error *problem) {
    struct seen *seen = user;
    if (seen->count++ == 0)
        seen->first = *problem;
}

static void check_verify(const struct invalid *v, int threads) {
    mldf_verify_options options = MLDF_VERIFY_OPTIONS_INIT;
    mldf_verify_result result = MLDF_VERIFY_RESULT_INIT;
    struct seen seen = {.count = 0};
    mldf_error err;
    options.deep = golden_true(v->json, v->at, "deep") || strcmp(v->when, "access") == 0;
    options.threads = threads;
    options.secret = v->secret;
    options.problem = note;
    options.problem_user = &seen;
    mldf_status status = mldf_verify(v->path, &options, &result, &err);
    if (strncmp(v->status, "key_", 4) == 0)
        return; /* a matter of the caller: verify goes on without the key, or returns the error */
    CHECK_OK(status, &err);
    CHECK_EQ_U64(seen.count, result.problems);
    /* A lookup for a key or field that is not there is the caller's mistake, not the file's. */
    if (strncmp(v->status, "no_", 3) == 0)
        return;
    if (seen.count == 0) {
        check_fail(__FILE__, __LINE__, "%s: verify finds nothing (%d threads)", v->file, threads);
        return;
    }
    if (strcmp(v->when, "access") == 0)
        return; /* found; what is found first there may be the checksum of what was edited */
    check_place(v, threads ? "verify, threads" : "verify", seen.first.status, &seen.first);
    if (strcmp(v->when, "verify") == 0) {
        CHECK_EQ_U64(v->sample, seen.first.sample);
        CHECK_EQ_STR(v->field, seen.first.field);
    }
}

/* ---- Tests ------------------------------------------------------------------------------------------------------------------ */

static struct golden_json manifest;

static void for_each(void (*use)(const struct invalid *)) {
    const struct json *json = &manifest.tree;
    size_t used = 0;
    for (uint32_t at = mldfi_json_first(json, 0); at < json->nodes[0].next; at = json->nodes[at].next) {
        struct invalid v;
        load_entry(&v, json, at);
        if ((v.secret.key || v.secret.passphrase) && !golden_can_decrypt())
            continue;
        use(&v);
        used++;
    }
    CHECK(used > 200);
}

static void use_reader(const struct invalid *v) {
    if (strcmp(v->when, "verify") != 0)
        check_all_sources(v);
}

static void use_verify(const struct invalid *v) {
    check_verify(v, 0);
    check_verify(v, 3);
}

static void reader_gives_status_and_byte_of_every_invalid_file(void) {
    for_each(use_reader);
}

static void verify_finds_what_is_wrong_with_every_invalid_file(void) {
    for_each(use_verify);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    if (golden_load(&manifest, check_source("docs/spec/vectors/invalid/manifest.json"))) {
        RUN(reader_gives_status_and_byte_of_every_invalid_file);
        RUN(verify_finds_what_is_wrong_with_every_invalid_file);
    }
    golden_free(&manifest);
    return check_end();
}
