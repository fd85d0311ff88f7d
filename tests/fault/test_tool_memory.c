/* Every allocation fails once while files are converted and appended to, and while the index of a tar is kept and used: MLDF_E_MEMORY or
 * success, nothing is left behind, a file that is appended to is as it was and, under the address sanitizer, nothing leaks. */
#include <dirent.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "fault/failing_alloc.h"
#include "interop/tar.h"
#include "mldf/mldf.h"

static char folder[512], archive[512], target[512], out[600];

/* Images in class folders, packed as pixels; the same images in an archive without a label. */
static void make_sources(void) {
    static const uint8_t pixels[12 * 8 * 3];
    mldf_image_pixels image = {pixels, 12, 8, 3, 8};
    mldf_pack_options options = MLDF_PACK_OPTIONS_INIT;
    mldf_buffer png = MLDF_BUFFER_INIT;
    const char *source = folder;
    struct tar_writer *tar;
    mldf_error err;
    char path[600];
    REQUIRE_OK(mldf_image_encode_png(&image, -1, &png, &err), &err);
    snprintf(folder, sizeof folder, "%s", check_tmp("photos"));
    snprintf(archive, sizeof archive, "%s", check_tmp("shard.tar"));
    snprintf(target, sizeof target, "%s", check_tmp("target.mldf"));
    CHECK(mkdir(folder, 0777) == 0);
    REQUIRE_OK(mldfi_tar_writer_open(&tar, archive, true, &err), &err);
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%c", folder, 'a' + i);
        CHECK(mkdir(path, 0777) == 0);
        snprintf(path, sizeof path, "%s/%c/1", folder, 'a' + i);
        CHECK(check_write_file(path, png.data, png.size));
        snprintf(path, sizeof path, "s%d", i);
        REQUIRE_OK(mldfi_tar_writer_part(tar, path, "png", png.data, png.size, &err), &err);
        REQUIRE_OK(mldfi_tar_writer_part(tar, path, "cls", "7", 1, &err), &err);
    }
    REQUIRE_OK(mldfi_tar_writer_finish(tar, &err), &err);
    mldfi_tar_writer_free(tar);
    mldf_buffer_free(&png);
    options.image_arguments = "{\"encode\":\"raw\"}";
    REQUIRE_OK(mldf_pack(&source, 1, target, &options, NULL, &err), &err);
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

/* Runs until no allocation is left to fail; `after` looks at what the run left, and puts things back. */
static void with_each_failing(mldf_status (*run)(mldf_error *err), void (*after)(mldf_status status)) {
    long n = 1;
    for (bool ran_out = false; !ran_out && n < 20000; n++) {
        mldf_error err;
        atomic_store(&countdown, n);
        mldf_status status = run(&err);
        ran_out = atomic_load(&countdown) > 0;
        atomic_store(&countdown, 0);
        if (status < 0)
            CHECK_STATUS(MLDF_E_MEMORY, status, &err);
        after(status);
        if (ran_out)
            CHECK_STATUS(MLDF_OK, status, &err);
    }
    CHECK(n > 3 && n < 20000);
    printf("    %ld allocations\n", n - 2);
}

/* ---- convert ---------------------------------------------------------------------------------------------------------------- */

static size_t files_before;
static mldf_pack_result result = MLDF_PACK_RESULT_INIT;
static const char *format;
static bool skipping;

static mldf_status convert_once(mldf_error *err) {
    mldf_writer_options writing = MLDF_WRITER_OPTIONS_INIT;
    mldf_convert_options options = MLDF_CONVERT_OPTIONS_INIT;
    const char *source = target;
    options.writer = &writing;
    writing.threads = 0;
    options.format = format;
    options.drop_fields = true;
    options.skip_bad_samples = skipping;
    return mldf_convert(&source, 1, out, &options, &result, err);
}

static void converted(mldf_status status) {
    if (status >= 0)
        CHECK(result.written == 3 && result.skipped == 0);
    CHECK((access(out, F_OK) == 0) == (status >= 0));
    (void)unlink(out);
    CHECK_EQ_U64(files_before, files_here());
}

static void converting_without_memory(void) {
    static const char *const formats[] = {"mldf", "tbl1", "tbl2", "beton", "tar", "tar.gz", "tar.zst"};
    files_before = files_here();
    for (size_t i = 0; i < 2 * sizeof formats / sizeof formats[0]; i++) {
        format = formats[i / 2];
        skipping = i % 2;
        snprintf(out, sizeof out, "%s/out.%s", check_tmpdir(), format);
        with_each_failing(convert_once, converted);
    }
}

/* ---- append ----------------------------------------------------------------------------------------------------------------- */

static uint8_t *old;
static size_t old_bytes;
static const char *source;

static mldf_status append_once(mldf_error *err) {
    mldf_writer_options writing = MLDF_WRITER_OPTIONS_INIT;
    mldf_pack_options options = MLDF_PACK_OPTIONS_INIT;
    options.writer = &writing;
    writing.threads = 0;
    return mldf_append(out, &source, 1, &options, NULL, err);
}

static void appended(mldf_status status) {
    size_t bytes;
    uint8_t *now = check_read_file(out, &bytes);
    if (status < 0)
        CHECK_BYTES_EQ(old, old_bytes, now, bytes);
    else
        CHECK(bytes > old_bytes);
    free(now);
    CHECK(check_write_file(out, old, old_bytes));
}

static void append_with_each_failing(const char *file, const char *from) {
    old = check_read_file(file, &old_bytes);
    source = from;
    snprintf(out, sizeof out, "%s/copy.mldf", check_tmpdir());
    CHECK(check_write_file(out, old, old_bytes));
    with_each_failing(append_once, appended);
    free(old);
}

/* Files without keys, so that the same samples may come again. */
static void appending_without_memory(void) {
    mldf_writer_options writing = MLDF_WRITER_OPTIONS_INIT;
    mldf_convert_options convert = MLDF_CONVERT_OPTIONS_INIT;
    mldf_pack_options pack = MLDF_PACK_OPTIONS_INIT;
    const char *from = target, *tar = archive, *fields[] = {"image", "label"};
    char nokeys[600], tbl[600], parts[600];
    mldf_error err;
    snprintf(nokeys, sizeof nokeys, "%s/nokeys.mldf", check_tmpdir());
    snprintf(tbl, sizeof tbl, "%s/nokeys.beton", check_tmpdir());
    snprintf(parts, sizeof parts, "%s/parts.mldf", check_tmpdir());
    convert.fields = fields;
    convert.field_count = 2;
    REQUIRE_OK(mldf_convert(&from, 1, tbl, &convert, NULL, &err), &err); /* .beton: the keys are gone */
    from = tbl;
    convert.writer = &writing;
    writing.card = "{\"classes\":[\"a\",\"b\",\"c\"]}";
    writing.card_bytes = strlen(writing.card);
    REQUIRE_OK(mldf_convert(&from, 1, nokeys, &convert, NULL, &err), &err);
    append_with_each_failing(nokeys, folder);
    append_with_each_failing(nokeys, tbl);
    append_with_each_failing(nokeys, nokeys);
    REQUIRE_OK(mldf_pack(&tar, 1, parts, &pack, NULL, &err), &err);
    /* The same keys again: refused, but only when all memory was there. */
    char other[600];
    struct tar_writer *w;
    snprintf(other, sizeof other, "%s/other.tar", check_tmpdir());
    REQUIRE_OK(mldfi_tar_writer_open(&w, other, true, &err), &err);
    size_t bytes;
    uint8_t *png = check_read_file(check_tmp("photos/a/1"), &bytes);
    REQUIRE_OK(mldfi_tar_writer_part(w, "t", "png", png, bytes, &err), &err);
    REQUIRE_OK(mldfi_tar_writer_part(w, "t", "cls", "1", 1, &err), &err);
    REQUIRE_OK(mldfi_tar_writer_finish(w, &err), &err);
    mldfi_tar_writer_free(w);
    free(png);
    append_with_each_failing(parts, other);
}

/* ---- The kept index ----------------------------------------------------------------------------------------------------------- */

static mldf_tar_index how;
static char kept[600];

static mldf_status open_once(mldf_error *err) {
    mldf_reader_options options = MLDF_READER_OPTIONS_INIT;
    mldf_reader *reader;
    options.tar_index = how;
    mldf_status status = mldf_reader_open(archive, &options, &reader, err);
    if (status >= 0) {
        uint64_t found = MLDF_NONE;
        CHECK_EQ_U64(3, mldf_reader_sample_count(reader));
        CHECK_OK(mldf_reader_find_key(reader, "s2", 2, &found, err), err);
        CHECK_EQ_U64(2, found);
    }
    mldf_reader_close(reader);
    return status;
}

static void opened(mldf_status status) {
    if (how == MLDF_TAR_INDEX_KEEP) {
        CHECK((access(kept, F_OK) == 0) == (status >= 0));
        (void)unlink(kept);
    }
    CHECK_EQ_U64(files_before, files_here());
}

static void keeping_an_index_without_memory(void) {
    mldf_error err;
    snprintf(kept, sizeof kept, "%s.mldfidx", archive);
    files_before = files_here();
    how = MLDF_TAR_INDEX_KEEP;
    with_each_failing(open_once, opened);
    CHECK_OK(open_once(&err), &err);
    how = MLDF_TAR_INDEX_USE;
    files_before = files_here();
    with_each_failing(open_once, opened);
}

/* ---- Good samples are no bad ones --------------------------------------------------------------------------------------------- */

static char images[600];

static mldf_status verify_once(mldf_error *err) {
    mldf_verify_options options = MLDF_VERIFY_OPTIONS_INIT;
    mldf_verify_result found = MLDF_VERIFY_RESULT_INIT;
    options.deep = true;
    options.threads = 0;
    mldf_status status = mldf_verify(images, &options, &found, err);
    if (status >= 0)
        CHECK(found.problems == 0 && found.good_samples == 3);
    return status;
}

static mldf_status load_once(mldf_error *err) {
    mldf_loader_options options = MLDF_LOADER_OPTIONS_INIT;
    mldf_loader *loader = NULL;
    mldf_reader *reader = NULL;
    mldf_batch *batch;
    options.threads = 0;
    options.pipeline = "image: resize([4, 4]) | chw(u8)";
    options.bad = MLDF_BAD_SKIP;
    mldf_status status = mldf_reader_open(images, NULL, &reader, err);
    if (status >= 0)
        status = mldf_loader_new((const mldf_reader *const *)&reader, 1, &options, &loader, err);
    while (status == MLDF_OK)
        if ((status = mldf_loader_next(loader, -1, &batch, err)) == MLDF_OK)
            mldf_batch_release(batch);
    if (loader)
        CHECK_EQ_U64(0, mldf_loader_bad_count(loader));
    mldf_loader_free(loader);
    mldf_reader_close(reader);
    return status < 0 ? status : MLDF_OK;
}

static void nothing_after(mldf_status status) {
    (void)status;
}

static void a_good_sample_without_memory_is_not_a_bad_one(void) {
    mldf_pack_options options = MLDF_PACK_OPTIONS_INIT;
    const char *from = folder;
    mldf_error err;
    snprintf(images, sizeof images, "%s/images.mldf", check_tmpdir());
    REQUIRE_OK(mldf_pack(&from, 1, images, &options, NULL, &err), &err);
    with_each_failing(verify_once, nothing_after);
    with_each_failing(load_once, nothing_after);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    make_sources();
    RUN(converting_without_memory);
    RUN(appending_without_memory);
    RUN(keeping_an_index_without_memory);
    RUN(a_good_sample_without_memory_is_not_a_bad_one);
    return check_end();
}
