/* The formats beside each other, through the public interface: a tar of images converted to TBL and to MLDF against a plain durable
 * write of the same bytes, 10,000 random reads from each format, and sizes against the tar.
 *
 *     bench_formats [DIR [MIB]]     DIR: where the files go (default /tmp); MIB: of images at each size (default 400)
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "mldf/mldf.h"

enum { READS = 10000, ROUNDS = 3 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void fail(const char *what, const mldf_error *err) {
    fprintf(stderr, "bench_formats: %s: %s\n", what, MLDF_ERROR_TEXT(err));
    exit(1);
}

static uint64_t next(uint64_t *state) {
    *state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = (*state ^ (*state >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    return z ^ (z >> 27);
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t count) {
    qsort(values, count, sizeof *values, by_value);
    return values[count / 2];
}

static uint64_t file_bytes(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 ? (uint64_t)info.st_size : 0;
}

/* Images that do not compress: a JPEG of a few pixels followed by noise after its end mark, which every reader keeps. */
static void write_source(const char *path, size_t count, size_t each) {
    mldf_error err;
    mldf_schema *schema;
    mldf_writer *writer;
    mldf_buffer jpeg = MLDF_BUFFER_INIT;
    uint8_t gray[64 * 64] = {0};
    mldf_image_pixels pixels = {gray, 64, 64, 1, 8};
    mldf_writer_options options = MLDF_WRITER_OPTIONS_INIT;
    uint64_t state = 1;
    uint8_t *data = malloc(each + 8);
    options.overwrite = true;
    if (!data || mldf_image_encode_jpeg(&pixels, NULL, &jpeg, &err) < 0 || mldf_schema_new(NULL, &schema, &err) < 0 ||
        mldf_schema_add(schema, "jpg", MLDF_IMAGE, NULL, 0, &err) < 0 ||
        mldf_writer_open(path, schema, &options, &writer, &err) < 0)
        fail(path, &err);
    for (size_t i = 0; i < count; i++) {
        char key[32];
        mldf_value value = {.kind = MLDF_KIND_BYTES, .data = data, .bytes = each};
        for (size_t at = 0; at < each; at += 8) {
            uint64_t word = next(&state);
            memcpy(data + at, &word, 8);
        }
        memcpy(data, jpeg.data, jpeg.size < each ? jpeg.size : each);
        int bytes = snprintf(key, sizeof key, "%08zu", i);
        if (mldf_writer_append(writer, &value, 1, key, (size_t)bytes, &err) < 0)
            fail(path, &err);
    }
    if (mldf_writer_finish(writer, NULL, &err) < 0)
        fail(path, &err);
    free(data);
    mldf_buffer_free(&jpeg);
    mldf_schema_free(schema);
}

static double convert(const char *from, const char *to) {
    mldf_error err;
    mldf_writer_options writing = MLDF_WRITER_OPTIONS_INIT;
    mldf_convert_options options = MLDF_CONVERT_OPTIONS_INIT;
    options.writer = &writing;
    writing.overwrite = true;
    options.drop_fields = true; /* .beton has no keys, TBL neither */
    double began = now();
    if (mldf_convert(&from, 1, to, &options, NULL, &err) < 0)
        fail(to, &err);
    return now() - began;
}

/* What `dd bs=4M conv=fsync` does. */
static double copy_durably(const char *from, const char *to) {
    enum { BLOCK = 4 << 20 };
    double began = now();
    int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    char *block = malloc(BLOCK);
    ssize_t got = 0;
    while (in >= 0 && out >= 0 && block && (got = read(in, block, BLOCK)) > 0)
        if (write(out, block, (size_t)got) != got)
            exit(1);
    if (out < 0 || got < 0 || fsync(out) != 0)
        exit(1);
    close(in);
    close(out);
    free(block);
    return now() - began;
}

/* Nanoseconds for each of 10,000 random reads: pointer and size, first byte touched. */
static double random_reads(const char *path, double *open_ms) {
    mldf_error err;
    mldf_reader *reader;
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    mldf_value value;
    uint64_t state = 7, sum = 0;
    double began = now();
    if (mldf_reader_open(path, NULL, &reader, &err) < 0)
        fail(path, &err);
    *open_ms = (now() - began) * 1e3;
    uint64_t count = mldf_reader_sample_count(reader);
    double rounds[ROUNDS + 1];
    for (int r = 0; r <= ROUNDS; r++) {
        began = now();
        for (int i = 0; i < READS; i++) {
            if (mldf_reader_get(reader, next(&state) % count, 0, &scratch, &value, &err) < 0)
                fail(path, &err);
            sum += *(const uint8_t *)value.data;
        }
        rounds[r] = (now() - began) * 1e9 / READS;
    }
    mldf_buffer_free(&scratch);
    mldf_reader_close(reader);
    if (sum == 1)
        printf(" ");                   /* keeps the reads */
    return median(rounds + 1, ROUNDS); /* the first one warms up */
}

static void one_size(const char *dir, size_t each, size_t mib) {
    static const char *const formats[] = {"tar", "tbl", "beton", "mldf"};
    char source[512], path[4][512], copy[512];
    size_t count = (mib << 20) / each;
    double seconds[3][ROUNDS], open_ms;
    snprintf(source, sizeof source, "%s/bench-source.mldf", dir);
    snprintf(copy, sizeof copy, "%s/bench-copy", dir);
    for (int f = 0; f < 4; f++)
        snprintf(path[f], sizeof path[f], "%s/bench-formats.%s", dir, formats[f]);
    write_source(source, count, each);
    convert(source, path[0]);
    convert(source, path[2]);
    unlink(source);
    double mb = (double)count * (double)each / 1e6;
    for (int r = -1; r < ROUNDS; r++) { /* the first round warms up */
        double dd = copy_durably(path[0], copy), tbl = convert(path[0], path[1]), own = convert(path[0], path[3]);
        if (r >= 0)
            seconds[0][r] = dd, seconds[1][r] = tbl, seconds[2][r] = own;
    }
    double dd = median(seconds[0], ROUNDS), tbl = median(seconds[1], ROUNDS), own = median(seconds[2], ROUNDS);
    printf("%zu images of %zu kB\n", count, each / 1000);
    printf("  write + fsync of the tar   %8.0f MB/s\n", mb / dd);
    printf("  tar -> tbl                 %8.0f MB/s  %8.0f samples/s  %.2f x\n", mb / tbl, (double)count / tbl,
           dd / tbl);
    printf("  tar -> mldf                %8.0f MB/s  %8.0f samples/s  %.2f x\n", mb / own, (double)count / own,
           dd / own);
    double tar_bytes = (double)file_bytes(path[0]);
    for (int f = 0; f < 4; f++) {
        double ns = random_reads(path[f], &open_ms);
        printf("  %-6s random read %7.0f ns, open %7.2f ms, size %.4f of the tar\n", formats[f], ns, open_ms,
               (double)file_bytes(path[f]) / tar_bytes);
        unlink(path[f]);
    }
    unlink(copy);
}

int main(int argc, char **argv) {
    static const size_t sizes[] = {10000, 40000, 110000};
    size_t mib = argc > 2 ? (size_t)strtoul(argv[2], NULL, 10) : 400;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        one_size(argc > 1 ? argv[1] : "/tmp", sizes[i], mib);
    return 0;
}
