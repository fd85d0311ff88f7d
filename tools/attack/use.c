/* A mutant is opened, read, verified, loaded, and handed to the functions that write. The rules that are checked:
 *   - a failure has a message, leaves no file, and leaves a file that it was to change as it was;
 *   - what was written verifies;
 *   - a file with checksums (unmended), or one that was opened with its key (mended or not), gives its true values, or an error. */
#include "use.h"

#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mldf/image.h"
#include "mldf/loader.h"
#include "mldf/mldf.h"
#include "mldf/tool.h"

enum { SAMPLES_MAX = 2000, WRITE_MAX = 20000 };

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
    mldf_file_info info;
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

struct run {
    const struct use *use;
    struct rng *rng;
    const struct mutant *mutant;
    char path[512], other[512]; /* the mutant; a second file */
    mldf_secret secret;
    uint8_t key[MLDF_KEY_BYTES];
    bool guarded;      /* changed values must be noticed */
    char problem[300]; /* the first that the last verify told of */
};

static void write_file(const char *path, const void *data, size_t bytes) {
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, 1, bytes, f) != bytes || fclose(f) != 0)
        abort();
}

/* Are these the file's bytes? *how says in words what differs. */
static bool file_is(const char *path, const uint8_t *data, size_t bytes, char how[80]) {
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

static void check_error(struct run *run, const char *what, mldf_status status, const mldf_error *err) {
    if (status < 0 && (err->status != status || err->message[0] == 0))
        run->use->finding("exit", "%s: status %d, error says %d '%s'", what, status, err->status, err->message);
}

static void keep_problem(void *user, const mldf_error *problem) {
    struct run *run = user;
    if (!run->problem[0])
        snprintf(run->problem, sizeof run->problem, "%s: %s", mldf_status_name(problem->status), problem->message);
}

/* How many problems verify finds; -1: it could not be done. */
static long problems_of(struct run *run, const char *path, bool deep) {
    mldf_verify_options options = MLDF_VERIFY_OPTIONS_INIT;
    mldf_verify_result result;
    mldf_error err;
    options.threads = 0;
    options.deep = deep;
    options.secret = run->secret;
    options.problem = keep_problem;
    options.problem_user = run;
    run->problem[0] = 0;
    memset(&result, 0, sizeof result);
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

/* After a function that makes a new file: nothing there when it failed; else it verifies and has the truth. */
static void check_output(struct run *run, const char *what, const char *path, mldf_status status, const mldf_error *err,
                         bool whole) {
    struct stat st;
    bool there = lstat(path, &st) == 0;
    check_error(run, what, status, err);
    if (status < 0 && there)
        run->use->finding("leftover", "%s failed (%s) and left its output", what, err->message);
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
    mldf_file_info info;
    mldf_reader *r;
    mldf_error err;
    options.secret = run->secret;
    if (mldf_reader_open(run->path, &options, &r, &err) < 0)
        return false;
    mldf_reader_info(r, &info);
    mldf_reader_close(r);
    return info.header_recovered || info.ignored_bytes;
}

/* A file that was to be changed in place, after a failure: as it was. */
static void check_unchanged(struct run *run, const char *what, mldf_status status, const mldf_error *err) {
    char how[80];
    if (status >= 0 || file_is(run->other, run->mutant->data, run->mutant->size, how))
        return;
    if (needs_mending(run))
        run->use->finding("note", "%s mended the header or cut the end, then failed", what);
    else
        run->use->finding("changed", "%s failed and the file is %s (%s)", what, how, err->message);
}

/* After a function that changes a file in place. */
static void check_in_place(struct run *run, const char *what, mldf_status status, const mldf_error *err, long before,
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

/* ---- The loader --------------------------------------------------------------------------------------------------------- */

static void load(struct run *run) {
    mldf_reader_options options = MLDF_READER_OPTIONS_INIT;
    mldf_loader_options lo = MLDF_LOADER_OPTIONS_INIT;
    mldf_reader *r;
    mldf_loader *loader;
    mldf_batch *batch;
    mldf_error err;
    char text[2048];
    size_t used = 0;
    options.secret = run->secret;
    options.verify = rng_below(run->rng, 2);
    if (mldf_reader_open(run->path, &options, &r, &err) < 0)
        return;
    const mldf_schema *schema = mldf_reader_schema(r);
    text[0] = 0;
    for (size_t f = 0; f < mldf_schema_field_count(schema) && used < 1500; f++) {
        const mldf_field *field = mldf_schema_field(schema, f);
        size_t length = strspn(field->name, "abcdefghijklmnopqrstuvwxyz_0123456789");
        const char *steps = NULL;
        if (field->name[0] < 'a' || field->name[0] > 'z' || field->name[length])
            continue;
        if (field->type_id == 13 || strstr(field->type_name, "image"))
            steps = "decode | resize([9, 7]) | hflip | chw(f32)";
        else if (field->type_id == MLDF_NDARRAY || strstr(field->type_name, "text") ||
                 strstr(field->type_name, "bytes"))
            steps = rng_below(run->rng, 2) ? "pad" : "ragged";
        if (steps)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s: %s%s\n", field->name,
                                     field->flags & MLDF_FIELD_NULLABLE ? "fill | " : "", steps);
    }
    lo.pipeline = rng_below(run->rng, 4) ? text : NULL;
    lo.batch_size = 1 + rng_below(run->rng, 9);
    lo.order = rng_below(run->rng, 2) ? MLDF_ORDER_RANDOM : MLDF_ORDER_QUASI_RANDOM;
    lo.threads = (int)rng_below(run->rng, 8) == 0 ? 2 : 0;
    lo.bad = (mldf_bad)rng_below(run->rng, 3);
    lo.codegen = MLDF_CODEGEN_OFF;
    lo.want_index = true;
    const mldf_reader *readers[1] = {r};
    mldf_status status = mldf_loader_new(readers, 1, &lo, &loader, &err);
    check_error(run, "loader", status, &err);
    if (status == MLDF_OK) {
        for (int batches = 0; batches < 200; batches++) {
            status = mldf_loader_next(loader, -1, &batch, &err);
            check_error(run, "batch", status, &err);
            if (status == MLDF_E_MEMORY || status == MLDF_END)
                break;
            if (status == MLDF_OK) {
                uint8_t digest[16];
                mldf_batch_hash(batch, digest);
                mldf_batch_release(batch);
            }
        }
        mldf_loader_free(loader);
    }
    mldf_reader_close(r);
}

/* ---- Functions that write ----------------------------------------------------------------------------------------------- */

static void append_to_copy(struct run *run, long before) {
    mldf_pack_options po = MLDF_PACK_OPTIONS_INIT;
    mldf_pack_result result;
    mldf_error err;
    const char *sources[1] = {run->use->base->path};
    po.writer.threads = 0;
    po.writer.secret = run->secret;
    po.number_keys = true;
    write_file(run->other, run->mutant->data, run->mutant->size);
    mldf_status status = mldf_append(run->other, sources, 1, &po, &result, &err);
    check_in_place(run, "append", status, &err, before, false);
}

static void add_field_to_copy(struct run *run, long before) {
    mldf_add_field_options ao = MLDF_ADD_FIELD_OPTIONS_INIT;
    mldf_reader_options options = MLDF_READER_OPTIONS_INIT;
    mldf_pack_result result;
    mldf_reader *r;
    mldf_error err;
    char rows[600];
    options.secret = run->secret;
    if (mldf_reader_open(run->path, &options, &r, &err) < 0)
        return;
    uint64_t samples = mldf_reader_sample_count(r);
    mldf_reader_close(r);
    if (samples > SAMPLES_MAX)
        return;
    snprintf(rows, sizeof rows, "%s/rows.csv", run->use->folder);
    FILE *f = fopen(rows, "w");
    if (!f)
        abort();
    fputs("attack_extra\n", f);
    for (uint64_t i = 0; i < samples; i++)
        fprintf(f, "%llu\n", (unsigned long long)i);
    fclose(f);
    ao.threads = 0;
    ao.secret = run->secret;
    write_file(run->other, run->mutant->data, run->mutant->size);
    mldf_status status = mldf_add_field(run->other, "attack_extra", rows, &ao, &result, &err);
    unlink(rows);
    check_error(run, "add-field", status, &err);
    check_unchanged(run, "add-field", status, &err);
    if (status >= 0 && before == 0 && problems_of(run, run->other, false) != 0)
        run->use->finding("output", "add-field made a file that verified one that does not: %s", run->problem);
    unlink(run->other);
}

static void repair_copy(struct run *run, long before) {
    mldf_repair_options ro = MLDF_REPAIR_OPTIONS_INIT;
    mldf_repair_result result;
    mldf_error err;
    ro.threads = 0;
    ro.secret = run->secret;
    char how[80];
    write_file(run->other, run->mutant->data, run->mutant->size);
    mldf_status status = mldf_repair(run->other, NULL, &ro, &result, &err);
    if (status >= 0 && !result.changed && !file_is(run->other, run->mutant->data, run->mutant->size, how))
        run->use->finding("changed", "repair says it changed nothing, and did");
    check_in_place(run, "repair", status, &err, before, false);
    char out[600];
    snprintf(out, sizeof out, "%s/out.mldf", run->use->folder);
    status = mldf_repair(run->path, out, &ro, &result, &err);
    bool guarded = run->guarded;
    run->guarded = guarded && status >= 0 && !result.unchecked && result.samples_lost == 0;
    check_output(run, "repair -o", out, status, &err, false);
    run->guarded = guarded;
}

static void convert(struct run *run) {
    static const char *const names[] = {"out.mldf",   "out.tar",     "out.tbl", "out.beton",
                                        "out.tar.gz", "out.tar.zst", "out.mldf"};
    mldf_convert_options co = MLDF_CONVERT_OPTIONS_INIT;
    mldf_pack_result result;
    mldf_error err;
    char out[600];
    const char *sources[1] = {run->path};
    size_t which = (size_t)rng_below(run->rng, sizeof names / sizeof names[0]);
    snprintf(out, sizeof out, "%s/%s", run->use->folder, names[which]);
    co.writer.threads = rng_below(run->rng, 6) ? 0 : 2;
    co.source_secret = run->secret;
    co.drop_fields = which != 0 && rng_below(run->rng, 2);
    co.skip_bad_samples = rng_below(run->rng, 2);
    mldf_status status = mldf_convert(sources, 1, out, &co, &result, &err);
    bool guarded = run->guarded;
    mldf_secret secret = run->secret;
    run->guarded = guarded && (which == 0 || which == 6) && !co.skip_bad_samples;
    memset(&run->secret, 0, sizeof run->secret);
    check_output(run, "convert", out, status, &err, run->guarded);
    run->guarded = guarded;
    run->secret = secret;
}

static void repack(struct run *run) {
    mldf_repack_options ro = MLDF_REPACK_OPTIONS_INIT;
    mldf_pack_result result;
    mldf_error err;
    char out[600];
    snprintf(out, sizeof out, "%s/out.mldf", run->use->folder);
    ro.writer.threads = 0;
    ro.source_secret = run->secret;
    ro.writer.secret = run->secret;
    ro.decompress = rng_below(run->rng, 2);
    mldf_status status = mldf_repack(run->path, out, &ro, &result, &err);
    check_output(run, "repack", out, status, &err, true);
    if (rng_below(run->rng, 2)) {
        write_file(run->other, run->mutant->data, run->mutant->size);
        status = mldf_repack(run->other, NULL, &ro, &result, &err);
        check_in_place(run, "repack in place", status, &err, -1, true);
    }
}

static void merge_and_select(struct run *run) {
    mldf_merge_options mo = MLDF_MERGE_OPTIONS_INIT;
    mldf_select_options so = MLDF_SELECT_OPTIONS_INIT;
    mldf_split_options po = MLDF_SPLIT_OPTIONS_INIT;
    mldf_reader_options options = MLDF_READER_OPTIONS_INIT;
    mldf_pack_result result;
    mldf_reader *r;
    mldf_error err;
    char out[600];
    const char *paths[2] = {run->path, run->use->base->path};
    snprintf(out, sizeof out, "%s/out.mldf", run->use->folder);
    mo.writer.threads = so.writer.threads = po.writer.threads = 0;
    mo.source_secret = run->secret;
    mo.writer.secret = so.writer.secret = po.writer.secret = run->secret;
    mldf_status status = mldf_merge(paths, 1 + rng_below(run->rng, 2), out, &mo, &result, &err);
    check_output(run, "merge", out, status, &err, false);
    options.secret = run->secret;
    options.verify = true;
    if (mldf_reader_open(run->path, &options, &r, &err) < 0)
        return;
    so.where = rng_below(run->rng, 4) == 0 ? "label == 10" : NULL;
    status = mldf_select(r, out, &so, &result, &err);
    bool guarded = run->guarded;
    run->guarded = guarded && !so.where;
    check_output(run, "select", out, status, &err, true);
    run->guarded = false;
    po.count = 1 + mldf_reader_sample_count(r) / 2;
    snprintf(out, sizeof out, "%s/part{}.mldf", run->use->folder);
    status = mldf_split(r, out, &po, &result, &err);
    for (int k = 0; k < 2; k++) {
        snprintf(out, sizeof out, "%s/part%d.mldf", run->use->folder, k);
        if (k == 0 || access(out, F_OK) == 0)
            check_output(run, "split", out, status, &err, false);
    }
    run->guarded = guarded;
    mldf_reader_close(r);
}

static void remove_tree(const char *path) {
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

static void look_and_extract(struct run *run) {
    mldf_reader_options options = MLDF_READER_OPTIONS_INIT;
    mldf_extract_options eo = MLDF_EXTRACT_OPTIONS_INIT;
    mldf_diff_options dopt = MLDF_DIFF_OPTIONS_INIT;
    mldf_summary_options so = MLDF_SUMMARY_OPTIONS_INIT;
    mldf_summary *summary;
    mldf_pack_result result;
    mldf_reader *r, *base;
    mldf_error err;
    struct stat st;
    char out[600];
    uint64_t differences;
    options.secret = run->secret;
    options.verify = rng_below(run->rng, 2);
    if (mldf_reader_open(run->path, &options, &r, &err) < 0)
        return;
    mldf_status status = mldf_summary_new(r, &so, &summary, &err);
    check_error(run, "stats", status, &err);
    if (status == MLDF_OK)
        mldf_summary_free(summary);
    if (mldf_reader_open(run->use->base->path, &options, &base, &err) == MLDF_OK) {
        check_error(run, "diff", mldf_diff(r, base, &dopt, &differences, &err), &err);
        mldf_reader_close(base);
    }
    snprintf(out, sizeof out, "%s/dir", run->use->folder);
    status = mldf_extract(r, out, &eo, &result, &err);
    check_error(run, "extract", status, &err);
    if (status < 0 && lstat(out, &st) == 0)
        run->use->finding("leftover", "extract failed (%s) and left its folder", err.message);
    remove_tree(out);
    mldf_reader_close(r);
}

/* ---- Texts, tables and images --------------------------------------------------------------------------------------------- */

static void use_table(struct run *run, const char *schema_text) {
    mldf_pack_options po = MLDF_PACK_OPTIONS_INIT;
    mldf_pack_result result;
    mldf_schema *schema = NULL;
    mldf_error err;
    char out[600];
    const char *sources[1] = {run->path};
    snprintf(out, sizeof out, "%s/out.mldf", run->use->folder);
    if (schema_text && mldf_schema_parse(NULL, schema_text, strlen(schema_text), &schema, &err) < 0)
        schema = NULL;
    po.schema = schema;
    po.writer.threads = rng_below(run->rng, 6) ? 0 : 2;
    po.skip_bad_rows = rng_below(run->rng, 2);
    mldf_status status = mldf_pack(sources, 1, out, &po, &result, &err);
    check_output(run, "pack", out, status, &err, false);
    mldf_schema_free(schema);
}

static void use_text(struct run *run, const char *kind) {
    const char *text = (const char *)run->mutant->data;
    size_t bytes = run->mutant->size;
    mldf_buffer out = MLDF_BUFFER_INIT, again = MLDF_BUFFER_INIT;
    mldf_error err;
    mldf_status status = MLDF_OK;
    if (strcmp(kind, "schema") == 0) {
        mldf_schema *schema, *second;
        status = mldf_schema_parse(NULL, text, bytes, &schema, &err);
        if (status == MLDF_OK) {
            if (mldf_schema_write(schema, &out, &err) < 0 ||
                mldf_schema_parse(NULL, (const char *)out.data, out.size, &second, &err) < 0)
                run->use->finding("exit", "schema: what was written does not parse: %s", err.message);
            else
                mldf_schema_free(second);
            mldf_schema_free(schema);
        }
    } else if (strcmp(kind, "pipeline") == 0) {
        mldf_pipeline *pipeline, *second;
        status = mldf_pipeline_parse(NULL, text, bytes, &pipeline, &err);
        if (status == MLDF_OK) {
            if (mldf_pipeline_write(pipeline, &out, &err) < 0 ||
                mldf_pipeline_parse(NULL, (const char *)out.data, out.size, &second, &err) < 0)
                run->use->finding("exit", "pipeline: the canonical form does not parse: %s", err.message);
            else {
                if (mldf_pipeline_write(second, &again, &err) < 0 || again.size != out.size ||
                    (out.size && memcmp(again.data, out.data, out.size) != 0))
                    run->use->finding("exit", "pipeline: the canonical form is not canonical: %.*s", (int)out.size,
                                      (const char *)out.data);
                mldf_pipeline_free(second);
            }
            mldf_pipeline_free(pipeline);
        }
    } else if (strcmp(kind, "state") == 0) {
        mldf_order_state state;
        status = mldf_order_state_parse(text, bytes, &state, &err);
    } else { /* card */
        mldf_writer_options wo = MLDF_WRITER_OPTIONS_INIT;
        mldf_writer *w;
        mldf_schema *schema;
        if (mldf_schema_new(NULL, &schema, &err) < 0 || mldf_schema_add(schema, "x", 1, NULL, 0, &err) < 0)
            abort();
        wo.card = text, wo.card_bytes = bytes, wo.threads = 0;
        status = mldf_writer_open(run->other, schema, &wo, &w, &err);
        if (status == MLDF_OK)
            status = mldf_writer_finish(w, NULL, &err);
        check_output(run, "card", run->other, status, &err, false);
        mldf_schema_free(schema);
    }
    check_error(run, kind, status, &err);
    mldf_buffer_free(&out);
    mldf_buffer_free(&again);
}

static void use_image(struct run *run) {
    const uint8_t *data = run->mutant->data;
    size_t bytes = run->mutant->size;
    mldf_image_options o = MLDF_IMAGE_OPTIONS_INIT;
    mldf_image_info info;
    mldf_image_shape shape;
    mldf_buffer out = MLDF_BUFFER_INIT;
    mldf_error err;
    uint8_t *exact = malloc(bytes ? bytes : 1); /* so that a byte too far is seen */
    if (!exact)
        return;
    memcpy(exact, data, bytes);
    check_error(run, "probe", mldf_image_probe(exact, bytes, &info, &err), &err);
    (void)mldf_image_icc(exact, bytes, &out, &err);
    out.size = 0;
    (void)mldf_image_to_baseline(exact, bytes, 0, &out, &err);
    out.size = 0;
    (void)mldf_image_strip(exact, bytes, ~0u, &out, &err);
    o.channels = (int)rng_below(run->rng, 2) ? 3 : 0;
    o.orient = rng_below(run->rng, 2);
    mldf_status status = mldf_image_decoded_shape(exact, bytes, &o, &shape, &err);
    check_error(run, "shape", status, &err);
    if (status == MLDF_OK && shape.bytes < (64u << 20)) {
        uint8_t *pixels = malloc(shape.bytes ? shape.bytes : 1);
        if (pixels)
            check_error(run, "decode", mldf_image_decode(NULL, exact, bytes, &o, pixels, shape.bytes, &err), &err);
        free(pixels);
    }
    free(exact);
    mldf_buffer_free(&out);
}

/* ---- One run -------------------------------------------------------------------------------------------------------------- */

static void use_file(struct run *run) {
    long problems = problems_of(run, run->path, rng_below(run->rng, 2));
    compare(run, "read", run->path, problems == 0, true);
    if (run->mutant->size > WRITE_MAX && rng_below(run->rng, 8))
        return;
    for (int i = 0; i < 2; i++)
        switch (rng_below(run->rng, 9)) {
        case 0:
        case 1:
            load(run);
            break;
        case 2:
            append_to_copy(run, problems);
            break;
        case 3:
            repair_copy(run, problems);
            break;
        case 4:
            convert(run);
            break;
        case 5:
            repack(run);
            break;
        case 6:
            merge_and_select(run);
            break;
        case 7:
            add_field_to_copy(run, problems);
            break;
        default:
            look_and_extract(run);
        }
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
        use_table(&run, NULL);
    else if (strcmp(kind, "schema") == 0 || strcmp(kind, "card") == 0 || strcmp(kind, "pipeline") == 0 ||
             strcmp(kind, "state") == 0)
        use_text(&run, kind);
    else {
        if (strcmp(kind, "tar") == 0 && rng_below(rng, 4) == 0)
            use_table(&run, NULL);
        use_file(&run);
    }
    if (!file_is(run.path, m->data, m->size, how))
        use->finding("changed", "the file that was only read is %s", how);
    unlink(run.path);
    empty_folder(use->folder, use->finding);
}
