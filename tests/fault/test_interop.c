/* Every allocation, read and write of the neighbours' formats fails once: each gives the status that says so or succeeds all the
 * same, leaves no temporary file, leaves the old target alone and, under the address sanitizer, leaks nothing. */
#include <errno.h>
#include <sys/statvfs.h>
#include <sys/types.h>

#include "check.h"
#include "fault/failing_alloc.h"
#include "interop/beton.h"
#include "interop/tar.h"
#include "interop/tbl.h"
#include "mldf/reader.h"

static atomic_long io_countdown; /* the call that fails; 0: none */

static bool io_fails(void) {
    return atomic_load(&io_countdown) > 0 && atomic_fetch_sub(&io_countdown, 1) == 1;
}

ssize_t __real_pread(int fd, void *dst, size_t bytes, off_t offset);
ssize_t __real_pwrite(int fd, const void *src, size_t bytes, off_t offset);
ssize_t __real_copy_file_range(int in, off_t *in_at, int out, off_t *out_at, size_t bytes, unsigned flags);
ssize_t __wrap_pread(int fd, void *dst, size_t bytes, off_t offset);
ssize_t __wrap_pwrite(int fd, const void *src, size_t bytes, off_t offset);
ssize_t __wrap_copy_file_range(int in, off_t *in_at, int out, off_t *out_at, size_t bytes, unsigned flags);

static fsblkcnt_t disk_blocks, disk_free; /* 0: as the system says */
int __real_fstatvfs(int fd, struct statvfs *out);
int __wrap_fstatvfs(int fd, struct statvfs *out);
int __wrap_fstatvfs(int fd, struct statvfs *out) {
    int result = __real_fstatvfs(fd, out);
    if (disk_blocks) {
        out->f_frsize = 4096;
        out->f_blocks = disk_blocks;
        out->f_bavail = disk_free;
    }
    return result;
}

ssize_t __wrap_pread(int fd, void *dst, size_t bytes, off_t offset) {
    return io_fails() ? (errno = EIO, -1) : __real_pread(fd, dst, bytes, offset);
}
ssize_t __wrap_pwrite(int fd, const void *src, size_t bytes, off_t offset) {
    return io_fails() ? (errno = ENOSPC, -1) : __real_pwrite(fd, src, bytes, offset);
}
ssize_t __wrap_copy_file_range(int in, off_t *in_at, int out, off_t *out_at, size_t bytes, unsigned flags) {
    /* One failure that ends the copy, then one that makes it go through memory. */
    if (io_fails())
        return errno = ENOSPC, -1;
    if (io_fails())
        return errno = EXDEV, -1;
    return __real_copy_file_range(in, in_at, out, out_at, bytes, flags);
}

/* ---- What is done ----------------------------------------------------------------------------------------------------------- */

enum { BIG = 1300000 }; /* more than a stage keeps in memory */
static uint8_t big[BIG];
static char target[600];

static mldf_status write_tbl(bool compress, unsigned threads, uint64_t count, mldf_error *err) {
    struct tbl_write_options options = TBL_WRITE_OPTIONS_INIT;
    struct tbl_writer *w;
    struct tbl_metadata m = {TBL_META_JSON, (const uint8_t *)"{}", 2};
    options.compress = compress;
    options.threads = threads;
    options.overwrite = true;
    options.count = count;
    mldf_status status = mldfi_tbl_writer_open(&w, target, &options, err);
    if (status < 0)
        return status;
    for (int i = 0; i < 6 && status >= 0; i++) {
        struct tbl_sample s = {.data = big, .bytes = i % 2 ? BIG : 1000, .format = TBL_JPEG, .metadata = &m};
        status = mldfi_tbl_writer_add(w, &s, err);
    }
    if (status >= 0)
        status = mldfi_tbl_writer_metadata(w, 0, &m, err);
    if (status >= 0)
        status = mldfi_tbl_writer_finish(w, NULL, err);
    mldfi_tbl_writer_free(w);
    return status;
}

static bool lz4(void) {
    return strstr(mldf_build_features(), "lz4") != NULL;
}
static mldf_status tbl_streamed(mldf_error *err) {
    return write_tbl(false, 0, MLDF_NONE, err);
}
static mldf_status tbl_counted(mldf_error *err) {
    return write_tbl(lz4(), 0, 6, err);
}
static mldf_status tbl_threaded(mldf_error *err) {
    return write_tbl(lz4(), 2, MLDF_NONE, err);
}

static uint8_t *input;
static size_t input_bytes;

static mldf_status tbl_read(mldf_error *err) {
    struct tbl *tbl;
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    mldf_status status = mldfi_tbl_open(&tbl, input, input_bytes, err);
    if (status < 0)
        return status;
    for (uint64_t i = 0; i < mldfi_tbl_info(tbl)->count && status >= 0; i++) {
        const uint8_t *data;
        uint64_t bytes;
        struct tbl_metadata m;
        status = mldfi_tbl_payload(tbl, i, true, &scratch, &data, &bytes, err);
        if (status >= 0)
            status = mldfi_tbl_find_metadata(tbl, i, &m, err);
    }
    mldf_buffer_free(&scratch);
    mldfi_tbl_close(tbl);
    return status;
}

static mldf_status write_beton(uint64_t count, mldf_error *err) {
    static const uint64_t shape[] = {2};
    static const struct beton_write_field fields[] = {
        {.type = BETON_BYTES, .name = "b"},
        {.type = BETON_NDARRAY, .name = "a", .ndim = 1, .shape = shape, .descr = "[[\"\", \"<f4\"]]"},
        {.type = BETON_JSON, .name = "j"}};
    struct beton_write_options options = BETON_WRITE_OPTIONS_INIT;
    struct beton_writer *w;
    options.overwrite = true;
    options.count = count;
    mldf_status status = mldfi_beton_writer_open(&w, target, fields, 3, &options, err);
    if (status < 0)
        return status;
    for (int i = 0; i < 4 && status >= 0; i++) {
        struct beton_input v[3] = {{.data = big, .bytes = BIG}, {.data = big, .bytes = 8}, {.data = "{}", .bytes = 2}};
        status = mldfi_beton_writer_add(w, v, err);
    }
    if (status >= 0)
        status = mldfi_beton_writer_finish(w, NULL, err);
    mldfi_beton_writer_free(w);
    return status;
}
static mldf_status beton_streamed(mldf_error *err) {
    return write_beton(MLDF_NONE, err);
}
static mldf_status beton_counted(mldf_error *err) {
    return write_beton(4, err);
}

static mldf_status beton_read(mldf_error *err) {
    struct beton *b;
    mldf_status status = mldfi_beton_open(&b, input, input_bytes, NULL, err);
    if (status < 0)
        return status;
    CHECK_EQ_U64(8, mldfi_beton_field(b, 1)->bytes);
    for (uint64_t s = 0; s < 4 && status >= 0; s++) {
        struct beton_value v;
        status = mldfi_beton_value(b, s, 0, &v, err);
    }
    mldfi_beton_close(b);
    return status;
}

static mldf_status tar_written_as(tar_compression kind, mldf_error *err) {
    struct tar_writer *w;
    char long_key[400];
    snprintf(long_key, sizeof long_key, "%0300d", 1);
    mldf_status status = mldfi_tar_writer_open(&w, target, true, err);
    if (status < 0)
        return status;
    status = mldfi_tar_writer_compress(w, kind, err);
    if (status >= 0)
        status = mldfi_tar_writer_part(w, "k", "bin", big, BIG, err);
    if (status >= 0)
        status = mldfi_tar_writer_part(w, "k", "txt", "text", 4, err);
    if (status >= 0)
        status = mldfi_tar_writer_part(w, long_key, "bin", big, 100000, err);
    if (status >= 0)
        status = mldfi_tar_writer_finish(w, err);
    mldfi_tar_writer_free(w);
    return status;
}

static mldf_status tar_written(mldf_error *err) {
    return tar_written_as(TAR_PLAIN, err);
}

static mldf_status tar_gz_written(mldf_error *err) {
    return tar_written_as(TAR_GZIP, err);
}

static mldf_status tar_zst_written(mldf_error *err) {
    return tar_written_as(TAR_ZSTD, err);
}

struct drip {
    size_t at;
};
static mldf_status pull(void *user, void *dst, size_t room, size_t *got, mldf_error *err) {
    struct drip *drip = user;
    (void)err;
    *got = room < input_bytes - drip->at ? room : input_bytes - drip->at;
    memcpy(dst, input + drip->at, *got);
    drip->at += *got;
    return MLDF_OK;
}

static mldf_status tar_streamed(mldf_error *err) {
    struct drip drip = {0};
    struct tar_input *from;
    struct tar_group *group = NULL;
    struct tar_sample s;
    mldf_status status = mldfi_tar_input_pull(&from, pull, &drip, err);
    if (status >= 0)
        status = mldfi_tar_group_new(&group, NULL, err);
    if (status >= 0)
        status = mldfi_tar_group_begin(group, from, "x.tar", err);
    while (status == MLDF_OK)
        status = mldfi_tar_group_next(group, &s, err);
    mldfi_tar_group_free(group);
    mldfi_tar_input_free(from);
    return status;
}

static mldf_status tar_indexed(mldf_error *err) {
    struct tar_index index;
    mldf_status status = mldfi_tar_index_build(&index, input, input_bytes, NULL, NULL, err);
    if (status >= 0)
        mldfi_tar_index_free(&index);
    return status;
}

static mldf_status shards_expanded(mldf_error *err) {
    struct tar_shards shards;
    mldf_status status = mldfi_tar_shards_expand(&shards, "{a,b}-{000..020}.tar", err);
    if (status >= 0)
        mldfi_tar_shards_free(&shards);
    return status;
}

/* The compressed archive under the target's name, in order or at random. */
static mldf_status compressed_read(bool in_order, mldf_error *err) {
    mldf_reader_options options = MLDF_READER_OPTIONS_INIT;
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    mldf_reader *reader = NULL;
    mldf_value value;
    options.sequential = in_order;
    mldf_status status = mldf_reader_open(target, &options, &reader, err);
    for (uint64_t i = 0; status >= 0 && i < mldf_reader_sample_count(reader); i++)
        for (size_t f = 0; status >= 0 && f < mldf_schema_field_count(mldf_reader_schema(reader)); f++)
            status = mldf_reader_get_stored(reader, i, f, &scratch, &value, err);
    mldf_buffer_free(&scratch);
    mldf_reader_close(reader);
    return status;
}

static mldf_status compressed_in_order(mldf_error *err) {
    return compressed_read(true, err);
}

static mldf_status compressed_at_random(mldf_error *err) {
    return compressed_read(false, err);
}

/* ---- Every failure ----------------------------------------------------------------------------------------------------------- */

static size_t files_in(const char *folder) {
    size_t count = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir && (e = readdir(dir));)
        count += e->d_name[0] != '.' || strlen(e->d_name) > 2;
    if (dir)
        closedir(dir);
    return count;
}

static void fail_each(mldf_status (*act)(mldf_error *), atomic_long *failing, bool writes) {
    long n = 1;
    bool ran_out = false;
    for (; !ran_out && n < 5000; n++) {
        mldf_error err;
        if (writes)
            CHECK(check_write_file(target, "old", 3));
        atomic_store(failing, n);
        mldf_status status = act(&err);
        ran_out = atomic_exchange(failing, 0) > 0;
        if (status < 0) {
            if (failing == &countdown)
                CHECK_STATUS(MLDF_E_MEMORY, status, &err);
            else
                CHECK(status == MLDF_E_IO || status == MLDF_E_NO_SPACE);
            CHECK(err.message[0] != 0);
            size_t bytes = 0;
            uint8_t *now = writes ? check_read_file(target, &bytes) : NULL;
            if (writes)
                CHECK_BYTES_EQ("old", 3, now, bytes);
            free(now);
        }
        if (writes)
            CHECK_EQ_U64(1, files_in(check_tmpdir()));
        if (ran_out)
            CHECK(status >= 0);
    }
    CHECK(ran_out);
}

static void writing_survives(mldf_status (*act)(mldf_error *)) {
    fail_each(act, &countdown, true);
    fail_each(act, &io_countdown, true);
}

static void load(mldf_status (*make)(mldf_error *)) {
    mldf_error err;
    CHECK_OK(make(&err), &err);
    free(input);
    input = check_read_file(target, &input_bytes);
}

static void tbl_writing_survives_every_failure(void) {
    writing_survives(tbl_streamed);
    writing_survives(tbl_counted);
    writing_survives(tbl_threaded);
}

static void beton_writing_survives_every_failure(void) {
    writing_survives(beton_streamed);
    writing_survives(beton_counted);
}

static void tar_writing_survives_every_failure(void) {
    writing_survives(tar_written);
    writing_survives(tar_gz_written);
    writing_survives(tar_zst_written);
}

static void reading_survives_every_failure(void) {
    load(tbl_counted);
    fail_each(tbl_read, &countdown, false);
    load(beton_counted);
    fail_each(beton_read, &countdown, false);
    load(tar_written);
    fail_each(tar_streamed, &countdown, false);
    fail_each(tar_indexed, &countdown, false);
    load(tar_gz_written);
    fail_each(tar_streamed, &countdown, false);
    load(tar_zst_written);
    fail_each(tar_streamed, &countdown, false);
    fail_each(shards_expanded, &countdown, false);
    free(input);
    input = NULL;
}

static void compressed_tar_survives_every_failure(void) {
    mldf_status (*const made[])(mldf_error *) = {tar_gz_written, tar_zst_written};
    for (size_t i = 0; i < 2; i++) {
        mldf_error err;
        CHECK_OK(made[i](&err), &err);
        fail_each(compressed_in_order, &countdown, false);
        fail_each(compressed_at_random, &countdown, false);
        fail_each(compressed_in_order, &io_countdown, false);
        fail_each(compressed_at_random, &io_countdown, false);
    }
}

static void unpacking_leaves_room_on_the_disk(void) {
    mldf_error err;
    CHECK_OK(tar_gz_written(&err), &err);
    disk_blocks = 1000000; /* of 4 KiB */
    disk_free = disk_blocks / 20;
    CHECK_STATUS(MLDF_E_NO_SPACE, compressed_at_random(&err), &err);
    CHECK(strstr(TEXT(err), "the temporary folder /tmp has free") != NULL);
    CHECK(strstr(TEXT(err), target) != NULL);
    CHECK_OK(compressed_in_order(&err), &err);
    disk_free = disk_blocks / 10;
    CHECK_OK(compressed_at_random(&err), &err);
    disk_blocks = 0;
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    snprintf(target, sizeof target, "%s", check_tmp("target"));
    for (size_t i = 0; i < BIG; i++)
        big[i] = (uint8_t)(i >> 5);
    RUN(tbl_writing_survives_every_failure);
    RUN(beton_writing_survives_every_failure);
    RUN(tar_writing_survives_every_failure);
    RUN(reading_survives_every_failure);
    RUN(compressed_tar_survives_every_failure);
    RUN(unpacking_leaves_room_on_the_disk);
    return check_end();
}
