/* interop_files FOLDER [BETON...]: files for the real TurboLoader and the real FFCV to read. tools/interop/check_*.py know what
 * must be in them: the samples of the TBL files follow from a formula, the .beton files are copies of those given. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interop/beton.h"
#include "interop/tar.h"
#include "interop/tbl.h"
#include "os/file.h"

enum { SAMPLES = 300, FIELDS = 32, SIDE = 24 };

static void must(mldf_status status, const mldf_error *err) {
    if (status >= 0)
        return;
    fprintf(stderr, "interop_files: %s: %s\n", mldf_status_name(status), err->message);
    exit(1);
}

/* ---- TBL -------------------------------------------------------------------------------------------------------------------- */

static size_t sample_bytes(unsigned i) {
    return i * i * 37 % 5000;
}

static void fill(uint8_t *p, size_t bytes, unsigned i) {
    for (size_t j = 0; j < bytes; j++)
        p[j] = (uint8_t)(i * 31 + (i % 2 ? j * j * 7 + (j >> 3) * j : j >> 4));
}

static void write_tbl(const char *folder, const char *name, bool compress, bool known, unsigned threads) {
    char path[1000];
    uint8_t data[5000];
    struct tbl_writer *w;
    mldf_error err;
    struct tbl_write_options options = TBL_WRITE_OPTIONS_INIT;
    options.compress = compress;
    options.threads = threads;
    options.overwrite = true;
    options.count = known ? SAMPLES : MLDF_NONE;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    must(mldfi_tbl_writer_open(&w, path, &options, &err), &err);
    for (unsigned i = 0; i < SAMPLES; i++) {
        char text[50];
        fill(data, sample_bytes(i), i);
        int n = snprintf(text, sizeof text, "{\"label\": %u}", i % 10);
        struct tbl_metadata m = {TBL_META_JSON, (const uint8_t *)text, (uint32_t)n};
        struct tbl_sample s = {.data = data,
                               .bytes = sample_bytes(i),
                               .format = (uint8_t)(i % 6),
                               .width = i * 13 % 1000,
                               .height = i * 17 % 1000,
                               .metadata = i % 3 ? NULL : &m};
        must(mldfi_tbl_writer_add(w, &s, &err), &err);
    }
    must(mldfi_tbl_writer_finish(w, NULL, &err), &err);
    mldfi_tbl_writer_free(w);
}

static void write_raw_tbl(const char *folder) {
    char path[1000];
    uint8_t pixels[SIDE * SIDE * 3];
    struct tbl_writer *w;
    mldf_error err;
    struct tbl_write_options options = TBL_WRITE_OPTIONS_INIT;
    options.overwrite = true;
    snprintf(path, sizeof path, "%s/raw.tbl", folder);
    must(mldfi_tbl_writer_open(&w, path, &options, &err), &err);
    for (unsigned i = 0; i < 40; i++) {
        fill(pixels, sizeof pixels, i);
        struct tbl_sample s = {
            .data = pixels, .bytes = sizeof pixels, .format = TBL_RAW_U8, .width = SIDE, .height = SIDE};
        must(mldfi_tbl_writer_add(w, &s, &err), &err);
    }
    must(mldfi_tbl_writer_finish(w, NULL, &err), &err);
    mldfi_tbl_writer_free(w);
}

/* ---- tar -------------------------------------------------------------------------------------------------------------------- */

/* Names of every length up to 400, so that each way of writing a name is met. */
static void write_tar(const char *folder) {
    char path[1000], key[500];
    uint8_t data[2000];
    struct tar_writer *w;
    mldf_error err;
    snprintf(path, sizeof path, "%s/names.tar", folder);
    must(mldfi_tar_writer_open(&w, path, true, &err), &err);
    for (unsigned i = 1; i <= 400; i++) {
        memset(key, 'k', i);
        for (unsigned j = 60; j + 8 < i; j += 61)
            key[j] = '/';
        snprintf(key + i, sizeof key - i, i % 7 ? "%u" : "\xc3\xa4%u", i);
        fill(data, i * 5 % 2000, i);
        must(mldfi_tar_writer_part(w, key, "bin", data, i * 5 % 2000, &err), &err);
        must(mldfi_tar_writer_part(w, key, "cls", "7", 1, &err), &err);
    }
    must(mldfi_tar_writer_finish(w, &err), &err);
    mldfi_tar_writer_free(w);
}

/* ---- .beton ------------------------------------------------------------------------------------------------------------------ */

static struct beton_writer *writer_like(const struct beton *b, const char *path, uint64_t count) {
    struct beton_write_field fields[FIELDS];
    static char descr[FIELDS][800];
    struct beton_write_options options = BETON_WRITE_OPTIONS_INIT;
    struct beton_writer *w;
    mldf_error err;
    uint32_t n = mldfi_beton_info(b)->field_count;
    for (uint32_t i = 0; i < n && i < FIELDS; i++) {
        const struct beton_field *f = mldfi_beton_field(b, i);
        snprintf(descr[i], sizeof descr[i], "%.*s", (int)f->descr_bytes, f->descr ? f->descr : "");
        fields[i] = (struct beton_write_field){.type = f->type,
                                               .name = f->name,
                                               .ndim = f->ndim,
                                               .shape = f->shape,
                                               .descr = descr[i],
                                               .arguments = f->arguments,
                                               .record = {f->bytes, 8},
                                               .has_blob = f->has_blob,
                                               .ptr_at = f->ptr_at};
    }
    options.overwrite = true;
    options.count = count;
    must(mldfi_beton_writer_open(&w, path, fields, n, &options, &err), &err);
    return w;
}

/* In our own layout: aligned blobs, pages of the smallest size, a short last page. */
static void copy_beton(const char *folder, const char *from, bool known) {
    char path[1000];
    const char *name = strrchr(from, '/') ? strrchr(from, '/') + 1 : from;
    struct os_file file;
    struct os_map map;
    struct beton *b;
    uint64_t bytes;
    mldf_error err;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    must(mldfi_file_open(&file, from, OS_OPEN_READ, &err), &err);
    must(mldfi_file_size(&file, &bytes, &err), &err);
    must(mldfi_map_open(&map, &file, bytes, &err), &err);
    must(mldfi_beton_open(&b, map.data, map.bytes, NULL, &err), &err);
    struct beton_writer *w = writer_like(b, path, known ? mldfi_beton_info(b)->count : MLDF_NONE);
    for (uint64_t s = 0; s < mldfi_beton_info(b)->count; s++) {
        struct beton_input values[FIELDS];
        for (uint32_t i = 0; i < mldfi_beton_info(b)->field_count; i++) {
            struct beton_value v;
            must(mldfi_beton_value(b, s, i, &v, &err), &err);
            values[i] = (struct beton_input){v.integer, v.real, v.mode, v.width, v.height, v.data, v.bytes, v.record};
        }
        must(mldfi_beton_writer_add(w, values, &err), &err);
    }
    must(mldfi_beton_writer_finish(w, NULL, &err), &err);
    mldfi_beton_writer_free(w);
    mldfi_beton_close(b);
    mldfi_map_close(&map);
    mldfi_file_close(&file);
}

/* Sample 5 is larger than the smallest page, and some blobs are empty. */
static void write_large_beton(const char *folder) {
    static const struct beton_write_field fields[] = {
        {.type = BETON_BYTES, .name = "b"}, {.type = BETON_INT, .name = "i"}, {.type = BETON_BYTES, .name = "e"}};
    char path[1000];
    size_t largest = 3000000;
    uint8_t *data = malloc(largest);
    struct beton_write_options options = BETON_WRITE_OPTIONS_INIT;
    struct beton_writer *w;
    mldf_error err;
    if (!data)
        exit(1);
    options.overwrite = true;
    snprintf(path, sizeof path, "%s/large.beton", folder);
    must(mldfi_beton_writer_open(&w, path, fields, 3, &options, &err), &err);
    for (unsigned i = 0; i < 20; i++) {
        size_t bytes = i == 5 ? largest : 100000 + i;
        fill(data, bytes, i);
        struct beton_input values[3] = {{.data = data, .bytes = bytes}, {.integer = i}, {.data = data, .bytes = i % 2}};
        must(mldfi_beton_writer_add(w, values, &err), &err);
    }
    must(mldfi_beton_writer_finish(w, NULL, &err), &err);
    mldfi_beton_writer_free(w);
    free(data);
}

int main(int argc, char **argv) {
    if (argc < 2) {
        fprintf(stderr, "usage: interop_files FOLDER [BETON...]\n");
        return 2;
    }
    write_tbl(argv[1], "plain.tbl", false, true, 0);
    if (strstr(mldf_build_features(), "lz4"))
        write_tbl(argv[1], "lz4.tbl", true, false, 2);
    write_raw_tbl(argv[1]);
    write_large_beton(argv[1]);
    write_tar(argv[1]);
    for (int i = 2; i < argc; i++)
        copy_beton(argv[1], argv[i], i % 2);
    return 0;
}
