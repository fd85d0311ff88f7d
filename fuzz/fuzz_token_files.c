/* The input is a token file of another trainer with its side files. The first byte says of which format, the second its options; two u16 are the sizes
 * of the first two files, the rest is the third: .idx and .bin of Megatron; .ds, .ds.index and .ds.loss of datatrove; one file of llm.c, nanoGPT, OLMo.
 * What opens is read to its end, and a packed view is made of it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mldf/mldf.h"
#include "util/bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const names[] = {"a.idx",         "a.bin", "a.ds",  "a.ds.index", "a.ds.loss",
                                    "a.ds.metadata", "b.bin", "c.npy", NULL};
static char folder[256];

static void remove_files(void) {
    char path[300];
    for (size_t i = 0; names[i]; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        (void)unlink(path);
    }
}

static void remove_folder(void) {
    remove_files();
    (void)rmdir(folder);
}

static void make_folder(void) {
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%.200s/mldf-fuzz-tokens-XXXXXX", base && *base ? base : "/tmp");
    if (!mkdtemp(folder))
        abort();
    (void)atexit(remove_folder);
}

static void put(const char *name, const uint8_t *data, size_t bytes) {
    char path[300];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(data, 1, bytes, file) != bytes || fclose(file) != 0)
        abort();
}

static void read_all(const mldf_reader *reader) {
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    uint64_t rows = mldf_reader_sample_count(reader), sum = 0;
    size_t fields = mldf_schema_field_count(mldf_reader_schema(reader));
    for (uint64_t i = 0; i < rows && i < 300; i++)
        for (size_t f = 0; f < fields; f++) {
            mldf_value v;
            mldf_error err;
            if (mldf_reader_get(reader, i, f, &scratch, &v, &err) < 0 || v.kind != MLDF_KIND_ARRAY)
                continue;
            for (uint64_t k = 0; k < v.bytes; k++) /* every byte is there */
                sum += ((const uint8_t *)v.data)[k];
        }
    static volatile uint64_t seen;
    seen = sum;
    (void)seen;
    mldf_buffer_free(&scratch);
}

static void view_all(const mldf_reader *reader) {
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    mldf_view *view = NULL;
    mldf_value value;
    mldf_error err;
    if (mldf_view_new(&reader, 1, "packed(tokens, 16, pad=0, eos=1)", &view, &err) < 0)
        return;
    for (uint64_t i = 0; i < mldf_view_count(view) && i < 50; i++)
        if (mldf_view_get(view, i, 0, 1, &scratch, &value, &err) == MLDF_OK && value.bytes != 16 * 8)
            abort();
    mldf_view_free(view);
    mldf_buffer_free(&scratch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const formats[] = {"megatron", "datatrove", "llmc", "nanogpt", "olmo"};
    static const char *const dtypes[] = {NULL, "u8", "u16", "u32", "u64", "i32", "i64", "f32"};
    mldf_token_file how = MLDF_TOKEN_FILE_INIT;
    mldf_reader_options options = MLDF_READER_OPTIONS_INIT;
    mldf_reader *reader = NULL;
    mldf_error err;
    char path[300];
    if (size < 6)
        return 0;
    if (!folder[0])
        make_folder();
    unsigned kind = data[0] % 5;
    size_t left = size - 6, one = mldfi_load_u16(data + 2), two = mldfi_load_u16(data + 4);
    one = one < left ? one : left;
    two = two < left - one ? two : left - one;
    const uint8_t *first = data + 6, *second = first + one, *third = second + two;
    size_t three = left - one - two;
    remove_files();
    const char *main_name = kind == 0 ? "a.idx" : kind == 1 ? "a.ds" : kind == 4 ? "c.npy" : "b.bin";
    put(main_name, first, one);
    if (kind == 0)
        put("a.bin", second, two);
    if (kind == 1) {
        put("a.ds.index", second, two);
        if (data[1] & 0x80)
            put("a.ds.loss", third, three);
        else if (three)
            put("a.ds.metadata", third, three);
    }
    how.format = data[1] & 0x40 ? NULL : formats[kind];
    how.dtype = dtypes[data[1] & 7];
    how.eos = data[1] & 8 ? 1 : -1;
    how.eos_at_given = (data[1] & 16) != 0;
    how.eos_at_start = (data[1] & 32) != 0;
    how.vocabulary = data[0] & 0x80 ? 300 : 0;
    options.token_file = &how;
    snprintf(path, sizeof path, "%s/%s", folder, main_name);
    for (int backend = 0; backend < 2; backend++) {
        options.backend = backend ? MLDF_BACKEND_READ : MLDF_BACKEND_MAP;
        if (mldf_reader_open(path, &options, &reader, &err) < 0)
            continue;
        read_all(reader);
        view_all(reader);
        mldf_reader_close(reader);
        reader = NULL;
    }
    return 0;
}
