/* merge, select, split and add-field on random data: nothing is lost, nothing is changed, and a cancel leaves nothing behind. */
#include "dataset.h"

#include "writer/field_writer.h"

static const char *path_of(const char *name) {
    static char paths[8][512];
    static unsigned next;
    char *out = paths[next++ % 8];
    snprintf(out, 512, "%s/%s", check_tmpdir(), name);
    return out;
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
    (void)progress;
    return ++*(unsigned *)user < 2;
}

static void make(struct dataset *d, uint64_t *state, const char *path, struct dataset_shape shape,
                 const mldf_secret *secret) {
    mldf_writer_options options = MLDF_WRITER_OPTIONS_INIT;
    mldf_error err;
    dataset_make(d, state, shape);
    options.overwrite = true;
    options.threads = (int)(check_rand(state) % 3);
    if (secret)
        options.secret = *secret;
    CHECK_STATUS(MLDF_OK, dataset_write(d, path, &options, &err), &err);
}

/* Verified, deep, and nothing is wrong. */
static void check_whole(const char *path) {
    mldf_verify_options options = MLDF_VERIFY_OPTIONS_INIT;
    mldf_verify_result result = MLDF_VERIFY_RESULT_INIT;
    mldf_error err;
    options.deep = true;
    options.problem = dataset_print_problem;
    CHECK_OK(mldf_verify(path, &options, &result, &err), &err);
    CHECK_EQ_U64(0, result.problems);
}

static uint64_t differences(const char *a, const char *b) {
    mldf_reader *ra = NULL, *rb = NULL;
    mldf_error err;
    uint64_t count = MLDF_NONE;
    CHECK_OK(mldf_reader_open(a, NULL, &ra, &err), &err);
    CHECK_OK(mldf_reader_open(b, NULL, &rb, &err), &err);
    if (ra && rb)
        CHECK_OK(mldf_diff(ra, rb, NULL, &count, &err), &err);
    mldf_reader_close(ra);
    mldf_reader_close(rb);
    return count;
}

static void split_parts_merge_to_the_whole(void) {
    uint64_t state = check_seed();
    for (int round = 0; round < 12; round++) {
        struct dataset d;
        mldf_error err;
        mldf_reader *r = NULL;
        const char *whole = path_of("whole.mldf"), *merged = path_of("merged.mldf"),
                   *pattern = path_of("part-{:02d}.mldf");
        make(&d, &state, whole, (struct dataset_shape){5, 300, round % 2 ? 300 : 5000, true, round % 3 == 0}, NULL);
        mldf_writer_options writing = MLDF_WRITER_OPTIONS_INIT;
        mldf_split_options splitting = MLDF_SPLIT_OPTIONS_INIT;
        double fractions[] = {0.5, 0.3, 0.2};
        splitting.writer = &writing;
        writing.overwrite = true;
        if (round % 3 == 0)
            splitting.count = 1 + d.samples / 4;
        else if (round % 3 == 1)
            splitting.bytes = 20000;
        else {
            splitting.fractions = fractions;
            splitting.fraction_count = 3;
        }
        mldf_pack_result result = MLDF_PACK_RESULT_INIT;
        CHECK_OK(mldf_reader_open(whole, NULL, &r, &err), &err);
        CHECK_OK(mldf_split(r, pattern, &splitting, &result, &err), &err);
        mldf_reader_close(r);
        CHECK_EQ_U64(d.samples, result.written);
        char names[100][512];
        const char *list[100];
        size_t parts = 0;
        for (; parts < 100; parts++) {
            snprintf(names[parts], sizeof names[parts], "%s/part-%02zu.mldf", check_tmpdir(), parts);
            list[parts] = names[parts];
            if (access(names[parts], F_OK) != 0)
                break;
            check_whole(names[parts]);
        }
        mldf_merge_options merging = MLDF_MERGE_OPTIONS_INIT;
        merging.writer = &writing;
        CHECK_OK(mldf_merge(list, parts, merged, &merging, &result, &err), &err);
        CHECK_EQ_U64(0, differences(whole, merged));
        for (size_t i = 0; i < parts; i++)
            unlink(names[i]);
        dataset_free(&d);
    }
    CHECK_EQ_U64(0, files_with(".tmp"));
}

/* ---- select -------------------------------------------------------------------------------------------------------- */

static void select_takes_what_was_asked_for(void) {
    uint64_t state = check_seed();
    for (int round = 0; round < 8; round++) {
        struct dataset d;
        mldf_error err;
        mldf_reader *r = NULL, *got = NULL;
        const char *whole = path_of("whole.mldf"), *out = path_of("selected.mldf");
        make(&d, &state, whole, (struct dataset_shape){5, 100, 2000, true, round % 2 == 0}, NULL);
        CHECK_OK(mldf_reader_open(whole, NULL, &r, &err), &err);
        size_t fields = 1 + check_rand(&state) % d.fields;
        const char *names[8];
        for (size_t f = 0; f < fields; f++)
            names[f] = mldf_schema_field(d.schema, d.fields - 1 - f)->name;
        mldf_sample_range range = {d.samples / 3, d.samples};
        mldf_writer_options writing = MLDF_WRITER_OPTIONS_INIT;
        mldf_select_options options = MLDF_SELECT_OPTIONS_INIT;
        options.writer = &writing;
        writing.overwrite = true;
        options.fields = names;
        options.field_count = fields;
        options.ranges = &range;
        options.range_count = 1;
        options.where = "index % 2 == 0";
        CHECK_OK(mldf_select(r, out, &options, NULL, &err), &err);
        check_whole(out);
        CHECK_OK(mldf_reader_open(out, NULL, &got, &err), &err);
        mldf_buffer a = MLDF_BUFFER_INIT;
        uint64_t at = 0;
        for (uint64_t i = range.begin; got && i < range.end; i++) {
            for (size_t f = 0; i % 2 == 0 && f < fields; f++) {
                mldf_value value;
                CHECK_OK(mldf_reader_get(got, at, f, &a, &value, &err), &err);
                CHECK(dataset_same_value(&d.values[i * d.fields + d.fields - 1 - f], &value));
            }
            at += i % 2 == 0;
        }
        CHECK_EQ_U64(at, got ? mldf_reader_sample_count(got) : MLDF_NONE);
        mldf_buffer_free(&a);
        mldf_reader_close(got);
        mldf_reader_close(r);
        dataset_free(&d);
    }
}

/* ---- split --------------------------------------------------------------------------------------------------------- */

struct tallies {
    unsigned parts;
    uint64_t sizes[8];
};

static void note_part(void *user, const mldf_part *part) {
    struct tallies *t = user;
    t->sizes[t->parts++] = part->samples;
}

/* A class for each sample, a few large ones, both: the parts have the sizes that the fractions say, within one. */
static void strata_keep_the_parts_in_proportion(void) {
    mldf_error err;
    for (uint64_t classes = 1; classes <= 1000; classes *= 10) {
        const char *whole = path_of("strata.mldf");
        mldf_schema *schema;
        mldf_writer *w;
        mldf_reader *r = NULL;
        CHECK_OK(mldf_schema_new(NULL, &schema, &err), &err);
        CHECK_OK(mldf_schema_add(schema, "c", MLDF_INT, NULL, 0, &err), &err);
        mldf_writer_options writing = MLDF_WRITER_OPTIONS_INIT;
        writing.overwrite = true;
        CHECK_OK(mldf_writer_open(whole, schema, &writing, &w, &err), &err);
        for (uint64_t i = 0; i < 1000; i++) {
            mldf_value value = {.kind = MLDF_KIND_INT, .as.i = (int64_t)(i % classes)};
            CHECK_OK(mldf_writer_append(w, &value, 1, NULL, 0, &err), &err);
        }
        CHECK_OK(mldf_writer_finish(w, NULL, &err), &err);
        CHECK_OK(mldf_reader_open(whole, NULL, &r, &err), &err);
        const double fractions[] = {0.8, 0.15, 0.05};
        struct tallies tallies = {0, {0}};
        mldf_split_options options = MLDF_SPLIT_OPTIONS_INIT;
        options.writer = &writing;
        options.fractions = fractions;
        options.fraction_count = 3;
        options.by = "c";
        options.shuffle = classes % 2 == 0;
        options.part = note_part;
        options.part_user = &tallies;
        CHECK_OK(mldf_split(r, path_of("s{}.mldf"), &options, NULL, &err), &err);
        CHECK_EQ_U64(3, tallies.parts);
        CHECK(tallies.sizes[0] >= 799 && tallies.sizes[0] <= 801);
        CHECK(tallies.sizes[1] >= 149 && tallies.sizes[1] <= 151);
        CHECK(tallies.sizes[2] >= 49 && tallies.sizes[2] <= 51);
        mldf_reader_close(r);
        mldf_schema_free(schema);
    }
}

static void a_name_that_is_taken_leaves_no_part(void) {
    struct dataset d;
    mldf_error err;
    mldf_reader *r = NULL;
    uint64_t state = 5;
    const char *whole = path_of("whole.mldf");
    do
        make(&d, &state, whole, (struct dataset_shape){2, 60, 100, false, false}, NULL);
    while (d.samples < 30 && (dataset_free(&d), true));
    CHECK_OK(mldf_reader_open(whole, NULL, &r, &err), &err);
    mldf_split_options options = MLDF_SPLIT_OPTIONS_INIT;
    options.count = 10;
    CHECK(check_write_file(path_of("taken-2.mldf"), "x", 1));
    CHECK_STATUS(MLDF_E_EXISTS, mldf_split(r, path_of("taken-{}.mldf"), &options, NULL, &err), &err);
    options.count = 0;
    options.bytes = 100;
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_split(r, path_of("taken-{}.mldf"), &options, NULL, &err), &err);
    CHECK_CONTAINS("without any sample", TEXT(err));
    options.bytes = 5200;
    CHECK_STATUS(MLDF_E_EXISTS, mldf_split(r, path_of("taken-{}.mldf"), &options, NULL, &err), &err);
    CHECK_EQ_U64(1, files_with("taken-"));
    unlink(path_of("taken-2.mldf"));
    mldf_reader_close(r);
    dataset_free(&d);
}

struct part_sizes {
    uint64_t limit, count, largest, samples[2000];
};

static void on_part(void *user, const mldf_part *part) {
    struct part_sizes *sizes = user;
    struct stat st;
    CHECK(stat(part->path, &st) == 0 && (uint64_t)st.st_size == part->bytes);
    CHECK(part->bytes <= sizes->limit);
    if (part->bytes > sizes->largest)
        sizes->largest = part->bytes;
    sizes->samples[sizes->count++ % 2000] = part->samples;
}

/* Size of the file with samples [from, from + count) of the reader. */
static uint64_t size_of_range(const mldf_reader *r, uint64_t from, uint64_t count) {
    mldf_writer_options writing = MLDF_WRITER_OPTIONS_INIT;
    mldf_select_options options = MLDF_SELECT_OPTIONS_INIT;
    mldf_pack_result result = MLDF_PACK_RESULT_INIT;
    mldf_error err;
    mldf_sample_range range = {from, from + count};
    options.ranges = &range;
    options.range_count = 1;
    options.writer = &writing;
    writing.overwrite = true;
    CHECK_OK(mldf_select(r, path_of("range.mldf"), &options, &result, &err), &err);
    return result.bytes;
}

static void no_part_is_larger_than_asked_for_nor_could_take_one_more(void) {
    uint64_t state = check_seed();
    for (unsigned round = 0; round < 6; round++) {
        struct dataset d;
        struct part_sizes sizes = {0};
        mldf_error err;
        mldf_pack_result result = MLDF_PACK_RESULT_INIT;
        mldf_reader *r = NULL;
        mldf_writer_options writing = MLDF_WRITER_OPTIONS_INIT;
        mldf_split_options options = MLDF_SPLIT_OPTIONS_INIT;
        const char *whole = path_of("whole.mldf");
        make(&d, &state, whole, (struct dataset_shape){4, 200, 400, round % 2 == 0, round % 3 == 0}, NULL);
        REQUIRE_OK(mldf_reader_open(whole, NULL, &r, &err), &err);
        sizes.limit = options.bytes = 20000 + 777 * round;
        options.writer = &writing;
        writing.overwrite = true;
        options.part = on_part;
        options.part_user = &sizes;
        REQUIRE_OK(mldf_split(r, path_of("part-{}.mldf"), &options, &result, &err), &err);
        CHECK_EQ_U64(d.samples, result.written);
        uint64_t from = 0;
        for (size_t i = 0; i + 1 < sizes.count; i++) {
            CHECK(size_of_range(r, from, sizes.samples[i]) <= sizes.limit);
            CHECK(size_of_range(r, from, sizes.samples[i] + 1) > sizes.limit);
            from += sizes.samples[i];
        }
        mldf_reader_close(r);
        dataset_free(&d);
    }
}

static void a_cancelled_split_leaves_nothing(void) {
    struct dataset d;
    mldf_error err;
    mldf_reader *r = NULL;
    uint64_t state = 9;
    const char *whole = path_of("whole.mldf");
    do
        make(&d, &state, whole, (struct dataset_shape){4, 400, 20000, false, false}, NULL);
    while (d.samples < 200 && (dataset_free(&d), true));
    CHECK_OK(mldf_reader_open(whole, NULL, &r, &err), &err);
    mldf_writer_options writing = MLDF_WRITER_OPTIONS_INIT;
    mldf_split_options options = MLDF_SPLIT_OPTIONS_INIT;
    unsigned calls = 0;
    options.count = 1;
    options.writer = &writing;
    writing.progress = refuse;
    writing.progress_user = &calls;
    CHECK_STATUS(MLDF_E_CANCELLED, mldf_split(r, path_of("gone-{}.mldf"), &options, NULL, &err), &err);
    CHECK_EQ_U64(0, files_with("gone-"));
    mldf_reader_close(r);
    dataset_free(&d);
}

/* ---- add-field ----------------------------------------------------------------------------------------------------- */

/* All but the last field are written, the last is added: the result is the whole dataset, before and after an append and a repack. */
static void add_last_field(struct dataset *d, const char *path, const mldf_secret *secret, mldf_error *err) {
    mldf_schema *first, *last;
    size_t before = d->samples - d->samples / 4, kept = d->fields - 1;
    CHECK_OK(mldf_schema_new(NULL, &first, err), err);
    CHECK_OK(mldf_schema_new(NULL, &last, err), err);
    for (size_t f = 0; f < d->fields; f++) {
        const mldf_field *field = mldf_schema_field(d->schema, f);
        uint16_t flags = field->flags & (MLDF_FIELD_NULLABLE | MLDF_FIELD_COMPRESSED);
        CHECK_OK(mldf_schema_add(f < kept ? first : last, field->name, field->type_id, field->arguments, flags, err),
                 err);
    }
    mldf_writer_options options = MLDF_WRITER_OPTIONS_INIT;
    mldf_writer *w;
    options.overwrite = true;
    if (secret)
        options.secret = *secret;
    CHECK_OK(mldf_writer_open(path, first, &options, &w, err), err);
    for (size_t s = 0; s < before; s++)
        CHECK_OK(mldf_writer_append(w, &d->values[s * d->fields], kept, d->keys ? d->keys[s] : NULL,
                                    d->keys ? strlen(d->keys[s]) : 0, err),
                 err);
    CHECK_OK(mldf_writer_finish(w, NULL, err), err);
    CHECK_OK(mldfi_writer_open_add_field(path, last, &options, &w, err), err);
    for (size_t s = 0; s < before; s++)
        CHECK_OK(mldf_writer_append(w, &d->values[s * d->fields + kept], 1, NULL, 0, err), err);
    CHECK_OK(mldf_writer_finish(w, NULL, err), err);
    dataset_check_verify(path, secret, before);
    CHECK_OK(mldf_writer_open_append(path, &options, &w, err), err);
    CHECK_OK(dataset_feed(d, w, before, d->samples, err), err);
    CHECK_OK(mldf_writer_finish(w, NULL, err), err);
    mldf_schema_free(first);
    mldf_schema_free(last);
}

static void a_field_that_was_added_is_like_any_other(void) {
    static const uint8_t key[MLDF_KEY_BYTES] = {7};
    const mldf_secret secret = {key, sizeof key, NULL, 0};
    uint64_t state = check_seed();
    bool sodium = strstr(mldf_build_features(), "sodium") != NULL;
    for (int round = 0; round < 60; round++) {
        struct dataset d;
        mldf_error err;
        mldf_reader *r = NULL;
        mldf_reader_options reading = MLDF_READER_OPTIONS_INIT;
        const mldf_secret *used = sodium && round % 4 == 3 ? &secret : NULL;
        const char *path = path_of("added.mldf");
        dataset_make(&d, &state,
                     (struct dataset_shape){5, round % 5 ? 200 : 9000, round % 5 ? 3000 : 40, true, round % 3 == 0});
        if (d.fields > 1) {
            add_last_field(&d, path, used, &err);
            dataset_check_verify(path, used, d.samples);
            reading.verify = true;
            if (used)
                reading.secret = *used;
            CHECK_OK(mldf_reader_open(path, &reading, &r, &err), &err);
            if (r)
                dataset_check(&d, r);
            mldf_reader_close(r);
        }
        dataset_free(&d);
    }
}

static void too_few_values_leave_the_file_as_it_was(void) {
    struct dataset d;
    mldf_error err;
    uint64_t state = 3;
    const char *path = path_of("few.mldf"), *copy = path_of("few_before.mldf");
    size_t bytes = 0;
    do
        make(&d, &state, path, (struct dataset_shape){2, 20, 100, false, false}, NULL);
    while (d.samples < 5 && (dataset_free(&d), true));
    uint8_t *before = dataset_load(path, &bytes);
    CHECK(before && check_write_file(copy, before, bytes));
    free(before);
    mldf_schema *field;
    mldf_writer *w;
    CHECK_OK(mldf_schema_new(NULL, &field, &err), &err);
    CHECK_OK(mldf_schema_add(field, "new", MLDF_TEXT, NULL, 0, &err), &err);
    mldf_value value = {.kind = MLDF_KIND_TEXT, .data = "x", .bytes = 1};
    CHECK_OK(mldfi_writer_open_add_field(path, field, NULL, &w, &err), &err);
    CHECK_OK(mldf_writer_append(w, &value, 1, NULL, 0, &err), &err);
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_writer_finish(w, NULL, &err), &err);
    dataset_check_same_files(copy, path);
    CHECK_OK(mldfi_writer_open_add_field(path, field, NULL, &w, &err), &err);
    mldf_writer_abort(w);
    dataset_check_same_files(copy, path);
    mldf_schema_free(field);
    CHECK_OK(mldf_schema_new(NULL, &field, &err), &err);
    CHECK_OK(mldf_schema_add(field, "field_0", MLDF_TEXT, NULL, 0, &err), &err);
    CHECK_STATUS(MLDF_E_SCHEMA, mldfi_writer_open_add_field(path, field, NULL, &w, &err), &err);
    dataset_check_same_files(copy, path);
    mldf_schema_free(field);
    dataset_free(&d);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(split_parts_merge_to_the_whole);
    RUN(select_takes_what_was_asked_for);
    RUN(strata_keep_the_parts_in_proportion);
    RUN(a_name_that_is_taken_leaves_no_part);
    RUN(no_part_is_larger_than_asked_for_nor_could_take_one_more);
    RUN(a_cancelled_split_leaves_nothing);
    RUN(a_field_that_was_added_is_like_any_other);
    RUN(too_few_values_leave_the_file_as_it_was);
    return check_end();
}
