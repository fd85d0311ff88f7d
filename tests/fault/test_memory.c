/* Every allocation fails once: write, append, read and verify give MLDF_E_MEMORY or succeed, leave nothing behind and, under the
 * address sanitizer, leak nothing. The old target is untouched by a failed write. */
#include <errno.h>

#include "dataset.h"
/* ZDICT_trainFromBuffer of libzstd 1.5.4 ends the process for some allocations of its own. */
#define FAILING_ALLOC_OURS_ONLY 1
#include "fault/failing_alloc.h"
#include "writer/field_writer.h"

struct scene {
    struct dataset data;
    char path[512];
    mldf_writer_options options;
};

static mldf_status do_write(struct scene *scene, mldf_error *err) {
    return dataset_write(&scene->data, scene->path, &scene->options, err);
}

static mldf_status do_append(struct scene *scene, mldf_error *err) {
    mldf_writer *w;
    mldf_status st = mldf_writer_open_append(scene->path, &scene->options, &w, err);
    if (st < 0)
        return st;
    st = dataset_feed(&scene->data, w, 0, scene->data.samples, err);
    if (st < 0) {
        mldf_writer_abort(w);
        return st;
    }
    return mldf_writer_finish(w, NULL, err);
}

static mldf_status do_read(struct scene *scene, mldf_error *err) {
    mldf_reader *r;
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    mldf_reader_options options = MLDF_READER_OPTIONS_INIT;
    options.backend = MLDF_BACKEND_READ;
    options.verify = true;
    options.secret = scene->options.secret;
    mldf_status st = mldf_reader_open(scene->path, &options, &r, err);
    if (st < 0)
        return st;
    mldf_value v;
    for (size_t i = 0; i < scene->data.samples * scene->data.fields && st >= 0; i++)
        st = mldf_reader_get(r, i / scene->data.fields, i % scene->data.fields, &scratch, &v, err);
    mldf_buffer_free(&scratch);
    mldf_reader_close(r);
    return st;
}

static mldf_status do_verify(struct scene *scene, mldf_error *err) {
    mldf_verify_options options = MLDF_VERIFY_OPTIONS_INIT;
    mldf_verify_result result = MLDF_VERIFY_RESULT_INIT;
    options.deep = true;
    options.threads = 0;
    options.secret = scene->options.secret;
    mldf_status st = mldf_verify(scene->path, &options, &result, err);
    if (st >= 0)
        CHECK_EQ_U64(0, result.problems);
    return st;
}

static mldf_status do_add_field(struct scene *scene, mldf_error *err) {
    mldf_schema *field = NULL;
    mldf_writer *w = NULL;
    mldf_status st = mldf_schema_new(NULL, &field, err);
    if (st >= 0)
        st = mldf_schema_add(field, "added", MLDF_TEXT, NULL, MLDF_FIELD_NULLABLE, err);
    if (st >= 0)
        st = mldfi_writer_open_add_field(scene->path, field, &scene->options, &w, err);
    for (size_t s = 0; s < scene->data.samples && st >= 0; s++) {
        mldf_value value = {.kind = s % 3 ? MLDF_KIND_TEXT : MLDF_KIND_NULL, .data = "text", .bytes = 4};
        st = mldf_writer_append(w, &value, 1, NULL, 0, err);
    }
    if (st >= 0)
        st = mldf_writer_finish(w, NULL, err);
    else
        mldf_writer_abort(w);
    mldf_schema_free(field);
    return st;
}

/* s*.mldf and p*.mldf: what do_merge and do_derive make. */
static void remove_results(void) {
    DIR *dir = opendir(check_tmpdir());
    char path[1024];
    for (struct dirent *e; dir && (e = readdir(dir));) {
        snprintf(path, sizeof path, "%s/%.255s", check_tmpdir(), e->d_name);
        if (strchr("sp", e->d_name[0]) && strstr(e->d_name, ".mldf"))
            CHECK_EQ_INT(0, unlink(path));
    }
    if (dir)
        closedir(dir);
}

static mldf_status do_merge(struct scene *scene, mldf_error *err) {
    mldf_merge_options options = MLDF_MERGE_OPTIONS_INIT;
    const char *path = scene->path;
    char out[512];
    snprintf(out, sizeof out, "%s/s.mldf", check_tmpdir());
    options.writer = &scene->options;
    options.source_secret = scene->options.secret;
    mldf_status st = mldf_merge(&path, 1, out, &options, NULL, err);
    CHECK_EQ_INT(st >= 0, access(out, F_OK) == 0);
    long left = atomic_exchange(&countdown, 0); /* the test's own work has memory */
    remove_results();
    atomic_store(&countdown, left);
    return st;
}

/* What a reader is needed for; the results go away again. */
static mldf_status do_derive(struct scene *scene, mldf_error *err) {
    mldf_reader_options reading = MLDF_READER_OPTIONS_INIT;
    mldf_select_options selecting = MLDF_SELECT_OPTIONS_INIT;
    mldf_split_options splitting = MLDF_SPLIT_OPTIONS_INIT;
    const double fractions[2] = {0.5, 0.5};
    char out[512], pattern[512], folder[512];
    mldf_reader *r;
    mldf_summary *summary = NULL;
    snprintf(out, sizeof out, "%s/s.mldf", check_tmpdir());
    snprintf(pattern, sizeof pattern, "%s/p{}.mldf", check_tmpdir());
    snprintf(folder, sizeof folder, "%s/x", check_tmpdir());
    reading.secret = scene->options.secret;
    mldf_status st = mldf_reader_open(scene->path, &reading, &r, err);
    if (st < 0)
        return st;
    selecting.writer = splitting.writer = &scene->options;
    selecting.where = "contains(lower(key), 'n') or len(key) in [1, -2, 3] and not (index % 2 == 0.5)";
    splitting.fractions = fractions;
    splitting.fraction_count = 2;
    splitting.shuffle = true;
    if ((st = mldf_select(r, out, &selecting, NULL, err)) >= 0 &&
        (st = mldf_split(r, pattern, &splitting, NULL, err)) >= 0 &&
        (st = mldf_extract(r, folder, NULL, NULL, err)) >= 0)
        st = mldf_summary_new(r, NULL, &summary, err);
    mldf_summary_free(summary);
    mldf_reader_close(r);
    long left = atomic_exchange(&countdown, 0);
    check_remove_tree(folder);
    remove_results();
    atomic_store(&countdown, left);
    return st;
}

static size_t files_in(const char *folder) {
    size_t count = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir && (e = readdir(dir));)
        count += e->d_name[0] != '.' || strlen(e->d_name) > 2;
    if (dir)
        closedir(dir);
    return count;
}

/* Runs `act` with the 1st, 2nd, 3rd ... allocation failing until a run needs no more; `restore` puts the file back before each. */
static void fail_each(struct scene *scene, mldf_status (*act)(struct scene *, mldf_error *), bool rewrite) {
    long n = 1;
    size_t old_bytes = 0;
    uint8_t *old = dataset_load(scene->path, &old_bytes);
    for (;; n++) {
        mldf_error err;
        atomic_store(&countdown, n);
        mldf_status st = act(scene, &err);
        bool ran_out = atomic_load(&countdown) > 0;
        atomic_store(&countdown, 0);
        if (st < 0) {
            CHECK_STATUS(MLDF_E_MEMORY, st, &err);
            CHECK(err.message[0] != 0);
            size_t now_bytes = 0;
            uint8_t *now = dataset_load(scene->path, &now_bytes);
            CHECK((now == NULL) == (old == NULL));
            if (now && old)
                CHECK_BYTES_EQ(old, old_bytes, now, now_bytes);
            free(now);
        }
        CHECK_EQ_U64((st >= 0 && rewrite) || old ? 1 : 0, files_in(check_tmpdir()));
        if (rewrite && st >= 0) { /* it succeeded in spite of the failure: start from the old file again */
            FILE *file = old ? fopen(scene->path, "wb") : NULL;
            if (file) {
                CHECK_EQ_U64(old_bytes, fwrite(old, 1, old_bytes, file));
                fclose(file);
            } else {
                unlink(scene->path);
            }
        }
        if (ran_out || n > 20000)
            break;
    }
    CHECK(n > 3 && n < 20000);
    printf("    %ld allocations\n", n - 1);
    free(old);
}

static uint64_t base_seed;

/* A sanitizer makes each of thousands of runs slow: fewer samples pass the same allocations less often. */
enum { SAMPLES = FAILING_ALLOC_SANITIZED ? 12 : 30 };

static void begin(struct scene *scene, int threads, bool encrypt) {
    static const uint8_t key[32] = {7};
    uint64_t state = base_seed;
    memset(scene, 0, sizeof *scene);
    scene->options = (mldf_writer_options)MLDF_WRITER_OPTIONS_INIT;
    scene->options.threads = threads;
    scene->options.overwrite = true;
    scene->options.dictionary = !encrypt;
    scene->options.card = "{\"a\":1}";
    scene->options.card_bytes = 7;
    if (encrypt && strstr(mldf_build_features(), "sodium")) {
        scene->options.secret.key = key;
        scene->options.secret.key_bytes = 32;
    }
    snprintf(scene->path, sizeof scene->path, "%s/memory.mldf", check_tmpdir());
    do
        dataset_make(&scene->data, &state, (struct dataset_shape){6, SAMPLES, 3000, true, true});
    while (scene->data.samples < 5 && (dataset_free(&scene->data), true));
}

static void all_steps(int threads, bool encrypt) {
    struct scene scene;
    begin(&scene, threads, encrypt);
    fail_each(&scene, do_write, true);
    mldf_error err;
    REQUIRE_STATUS(MLDF_OK, do_write(&scene, &err), &err);
    fail_each(&scene, do_write, true);
    fail_each(&scene, do_read, false);
    fail_each(&scene, do_verify, false);
    char(*keys)[24] = scene.data.keys; /* the same keys again would be refused */
    for (size_t i = 0; keys && i < scene.data.samples; i++)
        keys[i][0] = 'n';
    fail_each(&scene, do_append, true);
    fail_each(&scene, do_add_field, true);
    fail_each(&scene, do_merge, false);
    fail_each(&scene, do_derive, false);
    unlink(scene.path);
    dataset_free(&scene.data);
}

static void each_allocation_fails_on_the_callers_thread(void) {
    all_steps(0, false);
}
static void each_allocation_fails_with_two_threads(void) {
    all_steps(2, false);
}
static void each_allocation_fails_in_an_encrypted_file(void) {
    all_steps(0, true);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    base_seed = check_seed();
    RUN(each_allocation_fails_on_the_callers_thread);
    RUN(each_allocation_fails_with_two_threads);
    RUN(each_allocation_fails_in_an_encrypted_file);
    return check_end();
}
