/* The index kept beside a tar archive: it saves the walk and never changes what is read. */
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "interop/tar_sidecar.h"
#include "mldf/mldf.h"
#include "util/bytes.h"
#include "util/crc32c.h"

enum { SAMPLES = 40 };

static char archive[400], kept[420];
static mldf_context *context;
static unsigned warnings;
static char last_warning[600];

static void on_warning(void *user, const char *message) {
    (void)user;
    warnings++;
    snprintf(last_warning, sizeof last_warning, "%s", message);
}

/* salt changes contents, not sizes; every third sample has no .txt. */
static void make_archive(char salt) {
    struct tar_writer *w = NULL;
    mldf_error err;
    REQUIRE_OK(mldfi_tar_writer_open(&w, archive, true, &err), &err);
    for (int i = 0; i < SAMPLES; i++) {
        char key[20], text[600];
        snprintf(key, sizeof key, "dir/s%04d", i);
        memset(text, salt, sizeof text);
        snprintf(text, sizeof text, "%c%05d", salt, i * 7);
        CHECK_OK(mldfi_tar_writer_part(w, key, "bin", text, (uint64_t)(i * 13 % 600) + 8, &err), &err);
        CHECK_OK(mldfi_tar_writer_part(w, key, "cls", text + 1, 5, &err), &err);
        if (i % 3)
            CHECK_OK(mldfi_tar_writer_part(w, key, "txt", text, 6, &err), &err);
    }
    CHECK_OK(mldfi_tar_writer_finish(w, &err), &err);
    mldfi_tar_writer_free(w);
}

static void fresh(void) {
    snprintf(archive, sizeof archive, "%s/a.tar", check_tmpdir());
    snprintf(kept, sizeof kept, "%s.mldfidx", archive);
    (void)unlink(kept);
    make_archive('x');
}

static mldf_reader *open_as(mldf_tar_index how) {
    mldf_reader_options options = MLDF_READER_OPTIONS_INIT;
    mldf_reader *reader = NULL;
    mldf_error err;
    options.context = context;
    options.tar_index = how;
    warnings = 0;
    last_warning[0] = 0;
    CHECK_OK(mldf_reader_open(archive, &options, &reader, &err), &err);
    return reader;
}

/* Everything that a reader shows, as one text. */
static uint32_t everything(const mldf_reader *r) {
    const mldf_schema *schema = mldf_reader_schema(r);
    mldf_buffer scratch = MLDF_BUFFER_INIT, key_scratch = MLDF_BUFFER_INIT;
    uint32_t crc = 0;
    mldf_error err;
    for (size_t f = 0; f < mldf_schema_field_count(schema); f++) {
        const mldf_field *field = mldf_schema_field(schema, f);
        crc = mldfi_crc32c(crc, field->name, strlen(field->name));
        crc = mldfi_crc32c(crc, &field->type_id, sizeof field->type_id);
        crc = mldfi_crc32c(crc, &field->flags, sizeof field->flags);
    }
    for (uint64_t i = 0; i < mldf_reader_sample_count(r); i++) {
        const char *key;
        size_t key_bytes;
        uint64_t found = MLDF_NONE;
        CHECK_OK(mldf_reader_key(r, i, &key_scratch, &key, &key_bytes, &err), &err);
        crc = mldfi_crc32c(crc, key, key_bytes);
        CHECK_OK(mldf_reader_find_key(r, key, key_bytes, &found, &err), &err);
        CHECK_EQ_U64(i, found);
        for (size_t f = 0; f < mldf_schema_field_count(schema); f++) {
            mldf_value v;
            scratch.size = 0;
            CHECK_OK(mldf_reader_get(r, i, f, &scratch, &v, &err), &err);
            crc = mldfi_crc32c(crc, &v.kind, sizeof v.kind);
            crc = mldfi_crc32c(crc, v.data, v.data ? (size_t)v.bytes : 0);
            crc = mldfi_crc32c(crc, &v.as.u, v.kind == MLDF_KIND_INT ? 8 : 0);
        }
    }
    mldf_buffer_free(&scratch);
    mldf_buffer_free(&key_scratch);
    return crc;
}

static uint32_t read_as(mldf_tar_index how) {
    mldf_reader *r = open_as(how);
    uint32_t crc = r ? everything(r) : 0;
    mldf_reader_close(r);
    return crc;
}

/* The kept index is not used, and what is read is right all the same. */
static void expect_ignored(const char *why) {
    uint32_t want = read_as(MLDF_TAR_INDEX_IGNORE);
    CHECK_EQ_U64(0, warnings);
    CHECK_EQ_U64(want, read_as(MLDF_TAR_INDEX_USE));
    CHECK_EQ_U64(1, warnings);
    CHECK_CONTAINS(".mldfidx is not used: ", last_warning);
    CHECK_CONTAINS(why, last_warning);
}

static void seal(uint8_t *data, size_t bytes) {
    mldfi_store_u32(data + bytes - 4, mldfi_crc32c(0, data, bytes - 4));
}

static void a_kept_index_shows_the_same_samples(void) {
    fresh();
    uint32_t walked = read_as(MLDF_TAR_INDEX_USE);
    CHECK(access(kept, F_OK) != 0);
    CHECK_EQ_U64(walked, read_as(MLDF_TAR_INDEX_KEEP));
    CHECK(access(kept, F_OK) == 0);
    CHECK_EQ_U64(walked, read_as(MLDF_TAR_INDEX_USE));
    CHECK_EQ_U64(0, warnings);
    CHECK_EQ_U64(walked, read_as(MLDF_TAR_INDEX_KEEP));
    CHECK_EQ_U64(0, warnings);
}

static void a_kept_index_is_used(void) {
    fresh();
    uint32_t walked = read_as(MLDF_TAR_INDEX_KEEP);
    size_t bytes;
    uint8_t *data = check_read_file(kept, &bytes);
    REQUIRE(data && bytes > 100);
    uint8_t *key = data + bytes - 4 - 10; /* "dir/s0039" and its end */
    CHECK_EQ_STR("dir/s0039", (const char *)key);
    key[8] = 'Z';
    seal(data, bytes);
    CHECK(check_write_file(kept, data, bytes));
    mldf_reader *r = open_as(MLDF_TAR_INDEX_USE);
    uint64_t found = 0;
    mldf_error err;
    CHECK_OK(mldf_reader_find_key(r, "dir/s003Z", 9, &found, &err), &err);
    CHECK_EQ_U64(39, found);
    mldf_reader_close(r);
    CHECK_EQ_U64(walked, read_as(MLDF_TAR_INDEX_IGNORE));
    free(data);
}

static void set_time(const struct timespec *time) {
    struct timespec both[2] = {*time, *time};
    CHECK_EQ_INT(0, utimensat(AT_FDCWD, archive, both, 0));
}

static void an_archive_that_changed_is_walked(void) {
    struct stat before;
    fresh();
    (void)read_as(MLDF_TAR_INDEX_KEEP);
    CHECK_EQ_INT(0, stat(archive, &before));
    make_archive('y'); /* the same size */
    expect_ignored("has changed since");
    make_archive('x');
    struct timespec later = {before.st_mtim.tv_sec + 1, before.st_mtim.tv_nsec};
    set_time(&later);
    expect_ignored("has changed since");
    set_time(&before.st_mtim);
    CHECK(read_as(MLDF_TAR_INDEX_USE) != 0);
    CHECK_EQ_U64(0, warnings);
    /* The time is right and a header is not: a member was renamed. */
    int fd = open(archive, O_WRONLY);
    uint8_t block[512];
    unsigned sum = 0;
    REQUIRE(fd >= 0);
    size_t bytes;
    uint8_t *tar = check_read_file(archive, &bytes);
    memcpy(block, tar, sizeof block);
    block[0] = 'D';
    memset(block + 148, ' ', 8);
    for (size_t i = 0; i < sizeof block; i++)
        sum += block[i];
    snprintf((char *)block + 148, 8, "%06o", sum);
    CHECK_EQ_INT(512, pwrite(fd, block, sizeof block, 0));
    close(fd);
    free(tar);
    set_time(&before.st_mtim);
    expect_ignored("headers");
    CHECK_EQ_INT(0, truncate(archive, (off_t)bytes - 512));
    set_time(&before.st_mtim);
    expect_ignored("has changed since");
}

static void every_damaged_byte_and_every_cut_is_found(void) {
    fresh();
    uint32_t walked = read_as(MLDF_TAR_INDEX_KEEP);
    size_t bytes;
    uint8_t *data = check_read_file(kept, &bytes);
    REQUIRE(data != NULL);
    for (size_t i = 0; i < bytes; i++) {
        data[i] ^= (uint8_t)(1u << i % 8);
        CHECK(check_write_file(kept, data, bytes));
        mldf_reader *r = open_as(MLDF_TAR_INDEX_USE);
        CHECK_EQ_U64(1, warnings);
        CHECK_EQ_U64(SAMPLES, mldf_reader_sample_count(r));
        if (i % 97 == 0)
            CHECK_EQ_U64(walked, everything(r));
        mldf_reader_close(r);
        data[i] ^= (uint8_t)(1u << i % 8);
    }
    for (size_t i = 0; i < bytes; i += i < 100 ? 1 : 61) {
        CHECK(check_write_file(kept, data, i));
        mldf_reader_close(open_as(MLDF_TAR_INDEX_USE));
        CHECK_EQ_U64(1, warnings);
    }
    CHECK(check_write_file(kept, data, bytes));
    CHECK_EQ_U64(walked, read_as(MLDF_TAR_INDEX_USE));
    CHECK_EQ_U64(0, warnings);
    free(data);
}

/* Values of the index, wrong one at a time, under a checksum that is right. */
static void an_index_that_lies_is_refused(void) {
    static const struct {
        size_t at, bytes;
        uint64_t value;
        const char *why;
    } lies[] = {
        {8, 4, 2, "version 2"},
        {36, 4, 4, "extension"},
        {36, 4, UINT32_MAX, "counts"},
        {40, 8, SAMPLES + 1, "counts"},
        {40, 8, UINT64_MAX / 8 + 1, "counts"},
        {48, 8, UINT64_MAX / 20 + 2, "counts"},
        {64, 8, UINT64_MAX, "counts"},
        {72, 8, 0, "part 0"},   /* the first part's offset */
        {72, 8, 513, "part 0"}, /* not on a block */
        {72, 8, UINT64_MAX - 511, "part 0"},
        {80, 8, UINT64_MAX - 511, "part 0"}, /* its size: beyond the end */
        {80, 8, 1 << 20, "part 0"},
        {88, 4, 3, "part 0"},    /* its extension: there is none of that number */
        {92, 8, 512, "part 1"},  /* overlaps the first */
        {108, 4, 0, "sample 0"}, /* the second part of the first sample: .bin again */
    };
    fresh();
    (void)read_as(MLDF_TAR_INDEX_KEEP);
    size_t bytes;
    uint8_t *data = check_read_file(kept, &bytes), *copy = malloc(bytes);
    REQUIRE(data && copy);
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        memcpy(copy, data, bytes);
        memcpy(copy + lies[i].at, &lies[i].value, lies[i].bytes);
        seal(copy, bytes);
        CHECK(check_write_file(kept, copy, bytes));
        expect_ignored(lies[i].why);
    }
    free(data);
    free(copy);
}

/* Any bytes under a right checksum: refused, or every part lies inside the archive. */
static void random_lies_stay_inside_the_archive(void) {
    size_t bytes, tar_bytes;
    fresh();
    (void)read_as(MLDF_TAR_INDEX_KEEP);
    uint8_t *data = check_read_file(kept, &bytes), *tar = check_read_file(archive, &tar_bytes), *copy = malloc(bytes);
    REQUIRE(data && tar && copy);
    srand((unsigned)check_seed());
    for (int n = 0; n < 20000; n++) {
        memcpy(copy, data, bytes);
        for (int k = rand() % 4; k >= 0; k--)
            copy[8 + (size_t)rand() % (n % 2 ? bytes - 12 : 200)] = (uint8_t)(rand() % 3 ? rand() : 0);
        seal(copy, bytes);
        struct tar_index index;
        struct tar_binding binding;
        mldf_error err;
        if (mldfi_tar_sidecar_decode(&index, copy, bytes, tar, tar_bytes, &binding, &err) < 0)
            continue;
        for (size_t i = 0; i < index.part_count; i++)
            CHECK(mldfi_range_inside(index.parts[i].offset, index.parts[i].bytes, tar_bytes));
        (void)mldfi_tar_sidecar_probe(&index);
        for (size_t i = 0; i < index.sample_count; i++)
            CHECK_EQ_U64(index.samples[i].key_bytes, strlen((const char *)index.keys.data + index.samples[i].key_at));
        mldfi_tar_index_free(&index);
    }
    free(data);
    free(tar);
    free(copy);
}

static size_t files_here(void) {
    size_t count = 0;
    DIR *dir = opendir(check_tmpdir());
    while (dir && readdir(dir))
        count++;
    if (dir)
        closedir(dir);
    return count;
}

static void what_cannot_be_kept_is_refused_and_nothing_is_left(void) {
    mldf_reader_options options = MLDF_READER_OPTIONS_INIT;
    mldf_reader *r = NULL;
    mldf_error err;
    options.tar_index = MLDF_TAR_INDEX_KEEP;
    fresh();
    CHECK(check_write_file(kept, "my own notes", 12));
    size_t files = files_here();
    CHECK_STATUS(MLDF_E_EXISTS, mldf_reader_open(archive, &options, &r, &err), &err);
    CHECK(r == NULL);
    CHECK_EQ_U64(files, files_here());
    size_t bytes;
    uint8_t *notes = check_read_file(kept, &bytes);
    CHECK_BYTES_EQ("my own notes", 12, notes, bytes);
    free(notes);
    expect_ignored("not a kept index");
    CHECK_EQ_INT(0, unlink(kept));
    CHECK_EQ_INT(0, mkdir(kept, 0777));
    CHECK(mldf_reader_open(archive, &options, &r, &err) < 0);
    CHECK_EQ_INT(0, rmdir(kept));
    options.tar_index = (mldf_tar_index)7;
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_reader_open(archive, &options, &r, &err), &err);
}

int main(int argc, char **argv) {
    mldf_error err;
    check_begin(argc, argv);
    CHECK_OK(mldf_context_new(&context, &err), &err);
    mldf_context_set_warning(context, on_warning, NULL);
    RUN(a_kept_index_shows_the_same_samples);
    RUN(a_kept_index_is_used);
    RUN(an_archive_that_changed_is_walked);
    RUN(every_damaged_byte_and_every_cut_is_found);
    RUN(an_index_that_lies_is_refused);
    RUN(random_lies_stay_inside_the_archive);
    RUN(what_cannot_be_kept_is_refused_and_nothing_is_left);
    mldf_context_free(context);
    return check_end();
}
