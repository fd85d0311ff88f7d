/* Every allocation fails once while a folder, an archive and a table that names files are packed, bad rows refused or skipped: MLDF_E_MEMORY or
 * success with every sample, nothing is left behind and, under the address sanitizer, nothing leaks. */
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

/* ---- The sources ---------------------------------------------------------------------------------------------------------- */

static char folder[512], archive[512], table[512], recordings[512], wavs[512], out[512];

static void put(const char *path, const void *data, size_t bytes) {
    CHECK(check_write_file(path, data, bytes));
}

static void make_sources(void) {
    static const uint8_t pixels[12 * 8 * 3];
    mldf_image_pixels image = {pixels, 12, 8, 3, 8};
    mldf_buffer png = MLDF_BUFFER_INIT;
    struct tar_writer *tar;
    mldf_error err;
    char path[600];
    REQUIRE_OK(mldf_image_encode_png(&image, -1, &png, &err), &err);
    snprintf(folder, sizeof folder, "%s", check_tmp("photos"));
    snprintf(archive, sizeof archive, "%s", check_tmp("shard.tar"));
    snprintf(table, sizeof table, "%s", check_tmp("table.csv"));
    snprintf(out, sizeof out, "%s", check_tmp("out.mldf"));
    CHECK(mkdir(folder, 0777) == 0);
    REQUIRE_OK(mldfi_tar_writer_open(&tar, archive, true, &err), &err);
    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/%c", folder, 'a' + i);
        CHECK(mkdir(path, 0777) == 0);
        snprintf(path, sizeof path, "%s/%c/1.png", folder, 'a' + i);
        put(path, png.data, png.size);
        snprintf(path, sizeof path, "s%d", i);
        REQUIRE_OK(mldfi_tar_writer_part(tar, path, "png", png.data, png.size, &err), &err);
        REQUIRE_OK(mldfi_tar_writer_part(tar, path, "cls", "7", 1, &err), &err);
    }
    REQUIRE_OK(mldfi_tar_writer_finish(tar, &err), &err);
    mldfi_tar_writer_free(tar);
    mldf_buffer_free(&png);
    put(table, "image,n\nphotos/a/1.png,1\nphotos/b/1.png,2\n", 42);
}

static void make_recordings(void) {
    static const mldf_audio_info info = {sizeof(mldf_audio_info), 4, 8000, 1, 16, MLDF_AUDIO_PCM, 0};
    mldf_buffer wav = MLDF_BUFFER_INIT;
    struct tar_writer *tar;
    unsigned pad;
    mldf_error err;
    char path[600];
    snprintf(recordings, sizeof recordings, "%s", check_tmp("speech"));
    snprintf(wavs, sizeof wavs, "%s", check_tmp("wavs.tar"));
    REQUIRE_OK(mldf_wav_header(&info, &wav, &pad, &err), &err);
    REQUIRE_OK(mldf_buffer_append(&wav, "12345678", 8, &err), &err);
    CHECK(mkdir(recordings, 0777) == 0);
    REQUIRE_OK(mldfi_tar_writer_open(&tar, wavs, true, &err), &err);
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%d.wav", recordings, i);
        put(path, wav.data, wav.size);
        snprintf(path, sizeof path, "s%d", i);
        REQUIRE_OK(mldfi_tar_writer_part(tar, path, "wav", wav.data, wav.size, &err), &err);
    }
    REQUIRE_OK(mldfi_tar_writer_finish(tar, &err), &err);
    mldfi_tar_writer_free(tar);
    mldf_buffer_free(&wav);
}

/* ---- Packing --------------------------------------------------------------------------------------------------------------- */

static void each_failing(const char *source, const char *column, uint64_t samples, bool skip) {
    mldf_writer_options writing = MLDF_WRITER_OPTIONS_INIT;
    mldf_pack_options options = MLDF_PACK_OPTIONS_INIT;
    long n = 1;
    options.writer = &writing;
    writing.threads = 0;
    writing.check_values = true;
    if (source != recordings && source != wavs)
        options.image_arguments = "{\"encode\":\"jpeg\",\"max_resolution\":6}";
    options.skip_bad_rows = skip;
    options.file_columns = &column;
    options.file_column_count = column != NULL;
    for (bool ran_out = false; !ran_out && n < 20000; n++) {
        mldf_pack_result result = MLDF_PACK_RESULT_INIT;
        mldf_error err;
        atomic_store(&countdown, n);
        mldf_status status = mldf_pack(&source, 1, out, &options, &result, &err);
        ran_out = atomic_load(&countdown) > 0;
        atomic_store(&countdown, 0);
        if (status < 0)
            CHECK_STATUS(MLDF_E_MEMORY, status, &err);
        else
            CHECK(result.written == samples && result.skipped == 0);
        CHECK((access(out, F_OK) == 0) == (status >= 0));
        (void)unlink(out);
        if (ran_out)
            CHECK_STATUS(MLDF_OK, status, &err);
    }
    CHECK(n > 3 && n < 20000);
    printf("    %ld allocations\n", n - 2);
}

static void pack_with_each_failing(const char *source, const char *column, uint64_t samples) {
    each_failing(source, column, samples, false);
    each_failing(source, column, samples, true);
}

static void a_folder_without_memory(void) {
    pack_with_each_failing(folder, NULL, 4);
}

static void an_archive_without_memory(void) {
    pack_with_each_failing(archive, NULL, 4);
}

static void a_table_of_files_without_memory(void) {
    pack_with_each_failing(table, "image", 2);
}

static void recordings_without_memory(void) {
    pack_with_each_failing(recordings, NULL, 3);
    pack_with_each_failing(wavs, NULL, 3);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    make_sources();
    make_recordings();
    RUN(a_folder_without_memory);
    RUN(an_archive_without_memory);
    RUN(a_table_of_files_without_memory);
    RUN(recordings_without_memory);
    return check_end();
}
