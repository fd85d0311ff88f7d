/* A program that was compiled against headers of another day (older_headers.py): what it knows of the structs that may grow is less, or more, than
 * what the library knows. Each struct stands before bytes that nobody may read or write. Compiled as C99, linked with the shared library. */
#include <stdio.h>
#include <string.h>

#include "mldf/mldf.h"

enum { GUARD = 96, FILLED = 0xa5 };

static int failures;

static void check(int fine, const char *what, int line) {
    if (!fine) {
        printf("older.c:%d: %s\n", line, what);
        failures++;
    }
}
#define CHECK(condition) check((condition) != 0, #condition, __LINE__)

static mldf_error err;
#define OK(call) \
    do { \
        mldf_status status_ = (call); \
        check(status_ == MLDF_OK, #call, __LINE__); \
        if (status_ < 0) \
            printf("  %s\n", MLDF_ERROR_TEXT(&err)); \
    } while (0)

/* A struct, then bytes that are not its own. */
#define GUARDED(type, name, init) \
    struct { \
        type it; \
        unsigned char guard[GUARD]; \
    } name; \
    do { \
        static const type initial = init; \
        memset(&name, FILLED, sizeof name); \
        memcpy(&name.it, &initial, sizeof initial); \
    } while (0)
#define UNTOUCHED(name) check_guard(name.guard, #name, __LINE__)

static void check_guard(const unsigned char *guard, const char *name, int line) {
    int i;
    for (i = 0; i < GUARD; i++)
        if (guard[i] != FILLED) {
            printf("older.c:%d: the library wrote behind %s: byte %d\n", line, name, i);
            failures++;
            return;
        }
}

static void write_file(const char *path) {
    mldf_schema *schema;
    mldf_writer *writer;
    mldf_value values[2];
    int64_t dims[2];
    int i;
    GUARDED(mldf_writer_options, options, MLDF_WRITER_OPTIONS_INIT);
    GUARDED(mldf_write_result, result, MLDF_WRITE_RESULT_INIT);
    options.it.threads = 0;
    options.it.overwrite = true;
    dims[0] = -1;
    dims[1] = 2;
    OK(mldf_schema_new(NULL, &schema, &err));
    OK(mldf_schema_add_int(schema, "label", MLDF_I64, 0, &err));
    OK(mldf_schema_add_ndarray(schema, "feat", MLDF_F32, 2, dims, MLDF_FIELD_NULLABLE, &err));
    OK(mldf_writer_open(path, schema, &options.it, &writer, &err));
    for (i = 0; i < 10; i++) {
        memset(values, 0, sizeof values);
        values[0].kind = MLDF_KIND_INT;
        values[0].as.i = i;
        OK(mldf_writer_append(writer, values, 2, NULL, 0, &err));
    }
    OK(mldf_writer_finish(writer, &result.it, &err));
    CHECK(result.it.samples == 10);
    UNTOUCHED(options);
    UNTOUCHED(result);
    mldf_schema_free(schema);
}

static void read_file(const char *path) {
    mldf_reader *reader;
    mldf_loader *loader;
    mldf_batch *batch;
    GUARDED(mldf_reader_options, options, MLDF_READER_OPTIONS_INIT);
    GUARDED(mldf_file_info, info, MLDF_FILE_INFO_INIT);
    GUARDED(mldf_field_stats, stats, MLDF_FIELD_STATS_INIT);
    GUARDED(mldf_loader_options, loading, MLDF_LOADER_OPTIONS_INIT);
    GUARDED(mldf_loader_stats, loaded, MLDF_LOADER_STATS_INIT);
    GUARDED(mldf_verify_options, verifying, MLDF_VERIFY_OPTIONS_INIT);
    GUARDED(mldf_verify_result, verified, MLDF_VERIFY_RESULT_INIT);
    OK(mldf_reader_open(path, &options.it, &reader, &err));
    OK(mldf_reader_info(reader, &info.it, &err));
    CHECK(info.it.num_samples == 10 && info.it.version_major == 1);
    OK(mldf_reader_stats(reader, 0, &stats.it, &err));
    CHECK(stats.it.present == 10 && stats.it.max.i == 9);
    loading.it.batch_size = 4;
    loading.it.threads = 0;
    OK(mldf_loader_new((const mldf_reader *const *)&reader, 1, &loading.it, &loader, &err));
    OK(mldf_loader_next(loader, -1, &batch, &err));
    CHECK(mldf_batch_sample_count(batch) == 4);
    mldf_batch_release(batch);
    OK(mldf_loader_get_stats(loader, &loaded.it, &err));
    CHECK(loaded.it.samples == 4);
    mldf_loader_free(loader);
    mldf_reader_close(reader);
    OK(mldf_verify(path, &verifying.it, &verified.it, &err));
    CHECK(verified.it.good_samples == 10 && verified.it.problems == 0);
    UNTOUCHED(options);
    UNTOUCHED(info);
    UNTOUCHED(stats);
    UNTOUCHED(loading);
    UNTOUCHED(loaded);
    UNTOUCHED(verifying);
    UNTOUCHED(verified);
}

static void use_tools(const char *path, const char *twice) {
    const char *both[2];
    mldf_reader *reader;
    GUARDED(mldf_writer_options, writing, MLDF_WRITER_OPTIONS_INIT);
    GUARDED(mldf_merge_options, merging, MLDF_MERGE_OPTIONS_INIT);
    GUARDED(mldf_select_options, selecting, MLDF_SELECT_OPTIONS_INIT);
    GUARDED(mldf_pack_result, result, MLDF_PACK_RESULT_INIT);
    both[0] = both[1] = path;
    writing.it.overwrite = true;
    merging.it.writer = selecting.it.writer = &writing.it;
    OK(mldf_merge(both, 2, twice, &merging.it, &result.it, &err));
    CHECK(result.it.written == 20);
    OK(mldf_reader_open(path, NULL, &reader, &err));
    OK(mldf_select(reader, twice, &selecting.it, &result.it, &err));
    CHECK(result.it.written == 10);
    mldf_reader_close(reader);
    UNTOUCHED(writing);
    UNTOUCHED(merging);
    UNTOUCHED(selecting);
    UNTOUCHED(result);
}

static void use_images(void) {
    static const uint8_t gray[12] = {0};
    mldf_image_pixels pixels;
    mldf_buffer png = MLDF_BUFFER_INIT;
    GUARDED(mldf_image_info, info, MLDF_IMAGE_INFO_INIT);
    GUARDED(mldf_image_options, options, MLDF_IMAGE_OPTIONS_INIT);
    mldf_image_shape shape;
    pixels.data = gray;
    pixels.width = 4;
    pixels.height = 3;
    pixels.channels = 1;
    pixels.bits = 8;
    OK(mldf_image_encode_png(&pixels, -1, &png, &err));
    OK(mldf_image_probe(png.data, png.size, &info.it, &err));
    CHECK(info.it.width == 4 && info.it.height == 3 && info.it.mode == MLDF_IMAGE_MODE_PNG);
    OK(mldf_image_decoded_shape(png.data, png.size, &options.it, &shape, &err));
    CHECK(shape.bytes == 12);
    UNTOUCHED(info);
    UNTOUCHED(options);
    mldf_buffer_free(&png);
}

static void use_audio(void) {
    unsigned pad;
    mldf_buffer file = MLDF_BUFFER_INIT;
    GUARDED(mldf_audio_info, info, MLDF_AUDIO_INFO_INIT);
    GUARDED(mldf_wav, wav, MLDF_WAV_INIT);
    info.it.samples = 3;
    info.it.rate = 8000;
    info.it.channels = 2;
    info.it.bits = 16;
    OK(mldf_audio_check_room(&info.it, 12, 0, &err));
    OK(mldf_wav_header(&info.it, &file, &pad, &err));
    OK(mldf_buffer_append(&file, "samples here", 12, &err));
    OK(mldf_wav_parse(file.data, file.size, &wav.it, &err));
    CHECK(wav.it.data_offset == 44 && wav.it.data_bytes == 12 && wav.it.missing_bytes == 0);
    CHECK(wav.it.struct_bytes == sizeof wav.it);
#ifdef NEWER /* the older mldf_wav has no info yet */
    CHECK(wav.it.info.struct_bytes == sizeof wav.it.info && wav.it.info.samples == 3 && wav.it.info.tomorrow == 0);
    file.size = 0;
    OK(mldf_wav_header(&wav.it.info, &file, &pad, &err));
#endif
    UNTOUCHED(info);
    UNTOUCHED(wav);
    mldf_buffer_free(&file);
}

#ifdef NEWER
/* What this library does not know is refused when it is asked for, and is 0 in what it gives. */
static void ask_for_tomorrow(const char *path) {
    mldf_reader *reader = NULL;
    mldf_reader_options options = MLDF_READER_OPTIONS_INIT;
    mldf_file_info info = MLDF_FILE_INFO_INIT;
    options.tomorrow = 1;
    CHECK(mldf_reader_open(path, &options, &reader, &err) == MLDF_E_ARGUMENT);
    CHECK(strstr(err.message, "mldf_reader_options") != NULL);
    info.tomorrow = 7;
    OK(mldf_reader_open(path, NULL, &reader, &err));
    OK(mldf_reader_info(reader, &info, &err));
    CHECK(info.tomorrow == 0);
    mldf_reader_close(reader);
}
#endif

int main(int argc, char **argv) {
    if (argc != 3)
        return 2;
    write_file(argv[1]);
    read_file(argv[1]);
    use_tools(argv[1], argv[2]);
    use_images();
    use_audio();
#ifdef NEWER
    ask_for_tomorrow(argv[1]);
#endif
    if (failures == 0)
        printf("fine\n");
    return failures != 0;
}
