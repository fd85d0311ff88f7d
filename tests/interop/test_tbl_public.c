/* mldf/tbl.h: writing and reading TBL files sample by sample, what is refused, and files of the real TurboLoader. test_tbl.c has the format. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "mldf/mldf.h"

static char path[1024];
static mldf_error err;

static mldf_tbl_writer *writer_of(unsigned version, bool compress) {
    mldf_tbl_writer_options options = MLDF_TBL_WRITER_OPTIONS_INIT;
    mldf_tbl_writer *writer = NULL;
    options.version = version;
    options.compress = compress;
    options.overwrite = true;
    options.created = 1700000000;
    options.dataset_version = 7;
    CHECK_OK(mldf_tbl_writer_new(path, &options, &writer, &err), &err);
    return writer;
}

static void check_sample(const mldf_tbl *tbl, uint64_t i, unsigned format, const void *want, size_t want_bytes) {
    mldf_buffer room = MLDF_BUFFER_INIT;
    mldf_tbl_entry entry = MLDF_TBL_ENTRY_INIT;
    const void *data;
    uint64_t bytes;
    CHECK_OK(mldf_tbl_get_entry(tbl, i, &entry, &err), &err);
    CHECK_EQ_U64(format, entry.format);
    CHECK_EQ_U64(want_bytes, entry.bytes);
    CHECK_EQ_U64(sizeof entry, entry.struct_bytes);
    CHECK_OK(mldf_tbl_read(tbl, i, &room, &data, &bytes, &err), &err);
    CHECK_EQ_U64(want_bytes, bytes);
    CHECK(bytes == 0 || memcmp(want, data, want_bytes) == 0);
    mldf_buffer_free(&room);
}

#if defined(MLDF_HAVE_LZ4)
enum { WAYS = 2 };
#else
enum { WAYS = 1 };
#endif

static void samples_and_metadata_come_back(void) {
    for (int compress = 0; compress < WAYS; compress++) {
        char same[5000];
        unsigned type;
        uint64_t sample, bytes;
        const void *data;
        mldf_tbl *tbl;
        mldf_tbl_info info = MLDF_TBL_INFO_INIT;
        memset(same, 'A', sizeof same);
        mldf_tbl_writer *writer = writer_of(2, compress);
        CHECK_OK(mldf_tbl_writer_add(writer, MLDF_TBL_JPEG, 640, 480, same, sizeof same, &sample, &err), &err);
        CHECK_EQ_U64(0, sample);
        CHECK_OK(mldf_tbl_writer_add(writer, MLDF_TBL_PNG, 0, 0, "png!", 4, &sample, &err), &err);
        CHECK_EQ_U64(1, sample);
        CHECK_OK(mldf_tbl_writer_add(writer, MLDF_TBL_RAW_U8, 2, 1, "abcdef", 6, NULL, &err), &err);
        CHECK_OK(mldf_tbl_writer_add(writer, MLDF_TBL_UNKNOWN, 0, 0, NULL, 0, NULL, &err), &err);
        CHECK_EQ_U64(4, mldf_tbl_writer_count(writer));
        CHECK_OK(mldf_tbl_writer_add_metadata(writer, 1, MLDF_TBL_META_JSON, "{\"x\":1}", 7, &err), &err);
        CHECK_OK(mldf_tbl_writer_finish(writer, &err), &err);
        mldf_tbl_writer_free(writer);
        CHECK_OK(mldf_tbl_open(path, &tbl, &err), &err);
        CHECK_OK(mldf_tbl_get_info(tbl, &info, &err), &err);
        CHECK_EQ_U64(2, info.version);
        CHECK_EQ_U64(4, info.count);
        CHECK_EQ_U64(compress, info.compressed);
        CHECK_EQ_U64(1, info.has_metadata);
        CHECK_EQ_U64(1700000000, info.created);
        CHECK_EQ_U64(7, info.dataset_version);
        check_sample(tbl, 0, MLDF_TBL_JPEG, same, sizeof same);
        check_sample(tbl, 1, MLDF_TBL_PNG, "png!", 4);
        check_sample(tbl, 2, MLDF_TBL_RAW_U8, "abcdef", 6);
        check_sample(tbl, 3, MLDF_TBL_UNKNOWN, "", 0);
        mldf_tbl_entry entry = MLDF_TBL_ENTRY_INIT;
        CHECK_OK(mldf_tbl_get_entry(tbl, 0, &entry, &err), &err);
        CHECK_EQ_U64(compress, entry.compressed);
        CHECK_EQ_U64(640, entry.width);
        CHECK(compress ? entry.stored_bytes < 100 : entry.stored_bytes == sizeof same);
        CHECK_OK(mldf_tbl_read_metadata(tbl, 1, &type, &data, &bytes, &err), &err);
        CHECK_EQ_U64(MLDF_TBL_META_JSON, type);
        CHECK_EQ_U64(7, bytes);
        CHECK(memcmp(data, "{\"x\":1}", 7) == 0);
        CHECK_STATUS(MLDF_END, mldf_tbl_read_metadata(tbl, 0, &type, &data, &bytes, &err), &err);
        CHECK_STATUS(MLDF_E_NO_SAMPLE, mldf_tbl_get_entry(tbl, 4, &entry, &err), &err);
        CHECK(strcmp(err.path, path) == 0);
        mldf_tbl_close(tbl);
    }
}

static void version_1_has_neither_metadata_nor_videos(void) {
    mldf_tbl_writer *writer = writer_of(1, false);
    mldf_tbl *tbl;
    CHECK_OK(mldf_tbl_writer_add(writer, MLDF_TBL_JPEG, 0, 0, "one", 3, NULL, &err), &err);
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_tbl_writer_add(writer, MLDF_TBL_MP4, 0, 0, "two", 3, NULL, &err), &err);
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_tbl_writer_add_metadata(writer, 0, MLDF_TBL_META_JSON, "{}", 2, &err), &err);
    CHECK_OK(mldf_tbl_writer_finish(writer, &err), &err);
    CHECK_STATUS(MLDF_E_STATE, mldf_tbl_writer_finish(writer, &err), &err);
    CHECK_STATUS(MLDF_E_STATE, mldf_tbl_writer_add(writer, MLDF_TBL_JPEG, 0, 0, "x", 1, NULL, &err), &err);
    mldf_tbl_writer_free(writer);
    CHECK_OK(mldf_tbl_open(path, &tbl, &err), &err);
    check_sample(tbl, 0, MLDF_TBL_JPEG, "one", 3);
    CHECK_EQ_U64(1, mldf_tbl_count(tbl));
    mldf_tbl_close(tbl);
}

static void refuses_what_a_tbl_file_cannot_hold(void) {
    mldf_tbl_writer_options options = MLDF_TBL_WRITER_OPTIONS_INIT;
    mldf_tbl_writer *writer = writer_of(2, false), *none;
    mldf_tbl *tbl;
    CHECK_STATUS(MLDF_E_RANGE, mldf_tbl_writer_add(writer, MLDF_TBL_RAW_U8, 2, 2, "abc", 3, NULL, &err), &err);
    CHECK(mldf_tbl_writer_add(writer, MLDF_TBL_JPEG, 70000, 1, "abc", 3, NULL, &err) < 0);
    CHECK_STATUS(MLDF_E_NO_SAMPLE, mldf_tbl_writer_add_metadata(writer, 0, 1, "{}", 2, &err), &err);
    CHECK_OK(mldf_tbl_writer_add(writer, MLDF_TBL_JPEG, 1, 1, "abc", 3, NULL, &err), &err);
    CHECK_STATUS(MLDF_E_RANGE, mldf_tbl_writer_add_metadata(writer, 0, 0, "{}", 2, &err), &err);
    mldf_tbl_writer_free(writer); /* without finish: the file of before is there */
    CHECK_OK(mldf_tbl_open(path, &tbl, &err), &err);
    mldf_tbl_close(tbl);
    CHECK_STATUS(MLDF_E_EXISTS, mldf_tbl_writer_new(path, &options, &none, &err), &err);
    options.version = 3;
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_tbl_writer_new(path, &options, &none, &err), &err);
    options.struct_bytes = 0;
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_tbl_writer_new(path, &options, &none, &err), &err);
    CHECK_STATUS(MLDF_E_NOT_FOUND, mldf_tbl_open(check_tmp("no/such.tbl"), &tbl, &err), &err);
    CHECK(tbl == NULL);
    CHECK_STATUS(MLDF_E_MAGIC, mldf_tbl_open("/proc/self/exe", &tbl, &err), &err);
    mldf_tbl_close(NULL);
    mldf_tbl_writer_free(NULL);
}

static void endings_and_formats(void) {
    CHECK_EQ_U64(MLDF_TBL_JPEG, mldf_tbl_format_of(".JPG"));
    CHECK_EQ_U64(MLDF_TBL_JPEG, mldf_tbl_format_of("jpeg"));
    CHECK_EQ_U64(MLDF_TBL_TIFF, mldf_tbl_format_of("tif"));
    CHECK_EQ_U64(MLDF_TBL_UNKNOWN, mldf_tbl_format_of("txt"));
    CHECK_EQ_U64(MLDF_TBL_UNKNOWN, mldf_tbl_format_of(""));
    CHECK_EQ_U64(MLDF_TBL_UNKNOWN, mldf_tbl_format_of(NULL));
    CHECK(strcmp(".jpg", mldf_tbl_extension_of(MLDF_TBL_JPEG)) == 0);
    CHECK(strcmp(".bin", mldf_tbl_extension_of(MLDF_TBL_UNKNOWN)) == 0);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    (void)snprintf(path, sizeof path, "%s", check_tmp("samples.tbl"));
    RUN(samples_and_metadata_come_back);
    RUN(version_1_has_neither_metadata_nor_videos);
    RUN(refuses_what_a_tbl_file_cannot_hold);
    RUN(endings_and_formats);
    return check_end();
}
