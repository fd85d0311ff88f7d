/* A mutant is opened, read, verified, loaded, and handed to the functions that write. The rules that are checked:
 *   - a failure has a message, leaves no file, and leaves a file that it was to change as it was;
 *   - what was written verifies;
 *   - a file with checksums (unmended), or one that was opened with its key (mended or not), gives its true values, or an error. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run.h"

static uint64_t mix(uint64_t hash, const void *data, size_t bytes) {
    const uint8_t *p = data;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ p[i]) * UINT64_C(0x100000001b3);
    return hash ^ bytes * UINT64_C(0x9e3779b97f4a7c15);
}

static uint64_t value_hash(const mldf_value *v) {
    uint64_t hash = mix(UINT64_C(14695981039346656037), &v->kind, sizeof v->kind);
    if (v->kind == MLDF_KIND_NULL)
        return hash;
    if (v->kind <= MLDF_KIND_FLOAT)
        return mix(hash, &v->as, sizeof v->as);
    hash = mix(hash, &v->dtype, sizeof v->dtype);
    hash = mix(hash, v->dims, v->ndim * sizeof v->dims[0]);
    return mix(hash, v->data, (size_t)v->bytes);
}

static uint64_t schema_hash(const mldf_schema *schema) {
    uint64_t hash = 1;
    for (size_t f = 0; f < mldf_schema_field_count(schema); f++) {
        const mldf_field *info = mldf_schema_field(schema, f);
        hash = mix(hash, info->name, strlen(info->name));
        hash = mix(hash, info->arguments, strlen(info->arguments));
        hash = mix(hash, &info->type_id, sizeof info->type_id);
    }
    return hash;
}

/* Keys and card. false: something could not be read. */
static bool rest_hash(const mldf_reader *r, uint64_t samples, mldf_buffer *scratch, uint64_t *out) {
    mldf_error err;
    uint64_t hash = 2;
    scratch->size = 0;
    mldf_status status = mldf_reader_card(r, scratch, &err);
    if (status < 0)
        return false;
    if (status == MLDF_OK)
        hash = mix(hash, scratch->data, scratch->size);
    for (uint64_t i = 0; i < samples && mldf_reader_has_keys(r); i++) {
        const char *key;
        size_t bytes;
        if (mldf_reader_key(r, i, scratch, &key, &bytes, &err) < 0)
            return false;
        hash = mix(hash, key, bytes);
    }
    *out = hash;
    return true;
}

static void load_secret(const char *text, uint8_t key[MLDF_KEY_BYTES], mldf_secret *out) {
    memset(out, 0, sizeof *out);
    if (strncmp(text, "key:", 4) == 0) {
        for (size_t i = 0; i < MLDF_KEY_BYTES; i++) {
            unsigned byte = 0;
            (void)sscanf(text + 4 + 2 * i, "%2x", &byte);
            key[i] = (uint8_t)byte;
        }
        out->key = key, out->key_bytes = MLDF_KEY_BYTES;
    } else if (strncmp(text, "passphrase:", 11) == 0)
        out->passphrase = text + 11, out->passphrase_bytes = strlen(text + 11);
}

static uint64_t min_u64(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* ---- The truth ---------------------------------------------------------------------------------------------------------- */

void content_of(const struct seed_file *file, struct content *out) {
    mldf_reader_options options = MLDF_READER_OPTIONS_INIT;
    uint8_t key[MLDF_KEY_BYTES];
    mldf_reader *r;
    mldf_error err;
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    mldf_file_info info = MLDF_FILE_INFO_INIT;
    memset(out, 0, sizeof *out);
    load_secret(file->secret, key, &options.secret);
    options.verify = true;
    if (mldf_reader_open(file->path, &options, &r, &err) < 0)
        return;
    mldf_reader_info(r, &info);
    out->opens = true;
    out->checksummed = (strcmp(mldf_reader_format(r), "mldf") == 0 && (info.flags & 4)) ||
                       strstr(file->path, ".tar.gz") != NULL; /* gzip has a CRC as well */
    out->encrypted = info.flags & 8;
    out->states = info.generation > 0 || info.ignored_bytes > 0;
    out->samples = min_u64(mldf_reader_sample_count(r), SAMPLES_MAX);
    out->fields = mldf_schema_field_count(mldf_reader_schema(r));
    out->schema = schema_hash(mldf_reader_schema(r));
    (void)rest_hash(r, out->samples, &scratch, &out->rest);
    out->values = calloc(out->samples * out->fields + 1, sizeof out->values[0]);
    for (uint64_t i = 0; out->values && i < out->samples; i++)
        for (size_t f = 0; f < out->fields; f++) {
            mldf_value v;
            if (mldf_reader_get(r, i, f, &scratch, &v, &err) == MLDF_OK)
                out->values[i * out->fields + f] = value_hash(&v);
        }
    mldf_reader_close(r);
    mldf_buffer_free(&scratch);
}

/* ---- Helpers of a run ------------------------------------------------------------------------------------------------------ */

void write_file(const char *path, const void *data, size_t bytes) {
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, 1, bytes, f) != bytes || fclose(f) != 0)
        abort();
}

bool file_is(const char *path, const uint8_t *data, size_t bytes, char how[80]) {
    FILE *f = fopen(path, "rb");
    uint8_t *copy = malloc(bytes + 1);
    size_t got = f && copy ? fread(copy, 1, bytes + 1, f) : 0, same = 0;
    while (same < got && same < bytes && copy[same] == data[same])
        same++;
    snprintf(how, 80, "%s, %zu bytes were %zu, first at %zu", same == got ? "cut" : "changed", bytes, got, same);
    if (f)
        fclose(f);
    free(copy);
    return same == bytes && got == bytes;
}

void check_error(struct run *run, const char *what, mldf_status status, const mldf_error *err) {
    if (status < 0 && (err->status != status || err->message[0] == 0))
        run->use->finding("exit", "%s: status %d, error says %d '%s'", what, status, err->status, MLDF_ERROR_TEXT(err));
}

static void keep_problem(void *user, const mldf_error *problem) {
    struct run *run = user;
    if (!run->problem[0])
        snprintf(run->problem, sizeof run->problem, "%s: %s", mldf_status_name(problem->status), problem->message);
}

long problems_of(struct run *run, const char *path, bool deep) {
    mldf_verify_options options = MLDF_VERIFY_OPTIONS_INIT;
    mldf_verify_result result = MLDF_VERIFY_RESULT_INIT;
    mldf_error err;
    options.threads = 0;
    options.deep = deep;
    options.secret = run->secret;
    options.problem = keep_problem;
    options.problem_user = run;
    run->problem[0] = 0;
    mldf_status status = mldf_verify(path, &options, &result, &err);
    check_error(run, "verify", status, &err);
    if (result.good_samples > result.num_samples)
        run->use->finding("exit", "verify: %llu good samples of %llu", (unsigned long long)result.good_samples,
                          (unsigned long long)result.num_samples);
    if (status < 0)
        keep_problem(run, &err);
    return status < 0 ? -1 : (long)result.problems;
}

/* Reads everything; compares with the truth where values are guarded. `clean`: verify had nothing to say, so that all must be there.
 * whole: the file has the samples of the base and no others. */
static void compare(struct run *run, const char *what, const char *path, bool clean, bool whole) {
    const struct content *truth = run->use->truth;
    mldf_reader_options options = MLDF_READER_OPTIONS_INIT;
    mldf_reader *r;
    mldf_error err;
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    uint64_t rest = 0;
    options.verify = true;
    options.secret = run->secret;
    options.backend = rng_below(run->rng, 2) ? MLDF_BACKEND_READ : MLDF_BACKEND_MAP;
    mldf_status status = mldf_reader_open(path, &options, &r, &err);
    check_error(run, "open", status, &err);
    if (status < 0)
        return;
    uint64_t samples = min_u64(mldf_reader_sample_count(r), SAMPLES_MAX);
    size_t fields = mldf_schema_field_count(mldf_reader_schema(r));
    bool guarded = run->guarded && truth && truth->opens;
    whole = whole && truth && !truth->states;
    bool same_schema = guarded && schema_hash(mldf_reader_schema(r)) == truth->schema;
    if (guarded && clean && !same_schema)
        run->use->finding("silent", "%s: other fields, and verify finds nothing", what);
    if (guarded && clean && whole && samples != truth->samples)
        run->use->finding("silent", "%s: %llu samples instead of %llu, and verify finds nothing", what,
                          (unsigned long long)samples, (unsigned long long)truth->samples);
    for (uint64_t i = 0; i < samples; i++)
        for (size_t f = 0; f < fields && f < 64; f++) {
            mldf_value v;
            status = mldf_reader_get(r, i, f, &scratch, &v, &err);
            check_error(run, "get", status, &err);
            if (status < 0)
                continue;
            uint64_t hash = value_hash(&v);
            if (same_schema && i < truth->samples && hash != truth->values[i * fields + f] &&
                truth->values[i * fields + f])
                run->use->finding("silent", "%s: sample %llu, field %zu has another value (%s)", what,
                                  (unsigned long long)i, f, clean ? "verify finds nothing" : "read with verify");
        }
    bool read = rest_hash(r, samples, &scratch, &rest);
    if (guarded && clean && whole && read && rest != truth->rest)
        run->use->finding("silent", "%s: another card or other keys, and verify finds nothing", what);
    uint64_t found;
    (void)mldf_reader_find_key(r, "no such key", 11, &found, &err);
    mldf_reader_close(r);
    mldf_buffer_free(&scratch);
}

void check_output(struct run *run, const char *what, const char *path, mldf_status status, const mldf_error *err,
                  bool whole) {
    struct stat st;
    bool there = lstat(path, &st) == 0;
    check_error(run, what, status, err);
    if (status < 0 && there)
        run->use->finding("leftover", "%s failed (%s) and left its output", what, MLDF_ERROR_TEXT(err));
    if (status >= 0 && !there)
        run->use->finding("output", "%s said it had written, and there is no file", what);
    if (status >= 0 && there) {
        long problems = problems_of(run, path, false);
        if (problems != 0)
            run->use->finding(strstr(run->problem, "holds no samples") ? "note" : "output",
                              "%s wrote a file that does not verify: %s", what, run->problem);
        compare(run, what, path, problems == 0, whole);
    }
    unlink(path);
}

/* Has the mutant a header that is not its state, or bytes behind its end? Who opens it to write mends the one and cuts the other. */
static bool needs_mending(struct run *run) {
    mldf_reader_options options = MLDF_READER_OPTIONS_INIT;
    mldf_file_info info = MLDF_FILE_INFO_INIT;
    mldf_reader *r;
    mldf_error err;
    options.secret = run->secret;
    if (mldf_reader_open(run->path, &options, &r, &err) < 0)
        return false;
    mldf_reader_info(r, &info);
    mldf_reader_close(r);
    return info.header_recovered || info.ignored_bytes;
}

void check_unchanged(struct run *run, const char *what, mldf_status status, const mldf_error *err) {
    char how[80];
    if (status >= 0 || file_is(run->other, run->mutant->data, run->mutant->size, how))
        return;
    if (needs_mending(run))
        run->use->finding("note", "%s mended the header or cut the end, then failed", what);
    else
        run->use->finding("changed", "%s failed and the file is %s (%s)", what, how, MLDF_ERROR_TEXT(err));
}

void check_in_place(struct run *run, const char *what, mldf_status status, const mldf_error *err, long before,
                    bool whole) {
    check_error(run, what, status, err);
    check_unchanged(run, what, status, err);
    if (status >= 0) {
        long after = problems_of(run, run->other, false);
        if (before == 0 && after != 0)
            run->use->finding("output", "%s made a file that verified one that does not: %s", what, run->problem);
        compare(run, what, run->other, after == 0, whole);
    }
    unlink(run->other);
}

/* ---- One run -------------------------------------------------------------------------------------------------------------- */

static void use_file(struct run *run) {
    long problems = problems_of(run, run->path, rng_below(run->rng, 2));
    compare(run, "read", run->path, problems == 0, true);
    if (run->mutant->size > WRITE_MAX && rng_below(run->rng, 8))
        return;
    for (int i = 0; i < 2; i++)
        if (rng_below(run->rng, 9) < 2)
            load_batches(run);
        else
            write_something(run, problems);
}

void remove_tree(const char *path) {
    DIR *d = opendir(path);
    struct dirent *e;
    char name[900];
    while (d && (e = readdir(d)))
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) {
            snprintf(name, sizeof name, "%s/%s", path, e->d_name);
            if (unlink(name) != 0)
                remove_tree(name);
        }
    if (d)
        closedir(d);
    rmdir(path);
}

void empty_folder(const char *folder, finding_fn finding) {
    DIR *d = opendir(folder);
    struct dirent *e;
    while (d && (e = readdir(d)))
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) {
            char name[900];
            if (finding)
                finding("leftover", "%s", e->d_name);
            snprintf(name, sizeof name, "%s/%s", folder, e->d_name);
            if (unlink(name) != 0)
                remove_tree(name);
        }
    if (d)
        closedir(d);
}

void use_mutant(const struct use *use, struct rng *rng, const struct mutant *m) {
    const char *kind = use->base->kind, *dot = strrchr(use->base->path, '.');
    char mine[64], how[80];
    struct run run = {.use = use, .rng = rng, .mutant = m};
    if (strncmp(dot ? dot : "", ".gz", 3) == 0 || strncmp(dot ? dot : "", ".zst", 4) == 0)
        dot = dot[1] == 'g' ? ".tar.gz" : ".tar.zst";
    snprintf(mine, sizeof mine, "m%s", dot && strlen(dot) < 16 && !strchr(dot, '/') ? dot : "");
    snprintf(run.path, sizeof run.path, "%s/%s", use->folder, mine);
    snprintf(run.other, sizeof run.other, "%s/copy.mldf", use->folder);
    load_secret(use->base->secret, run.key, &run.secret);
    run.guarded =
        use->truth && ((use->truth->encrypted && use->base->secret[0]) || (use->truth->checksummed && !m->mended));
    write_file(run.path, m->data, m->size);
    if (strcmp(kind, "image") == 0)
        use_image(&run);
    else if (strcmp(kind, "csv") == 0 || strcmp(kind, "jsonl") == 0)
        use_table(&run);
    else if (strcmp(kind, "schema") == 0 || strcmp(kind, "card") == 0 || strcmp(kind, "pipeline") == 0 ||
             strcmp(kind, "state") == 0)
        use_text(&run, kind);
    else {
        if (strcmp(kind, "tar") == 0 && rng_below(rng, 4) == 0)
            use_table(&run);
        use_file(&run);
    }
    if (!file_is(run.path, m->data, m->size, how))
        use->finding("changed", "the file that was only read is %s", how);
    unlink(run.path);
    empty_folder(use->folder, use->finding);
}
