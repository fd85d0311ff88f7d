/* The files themselves: what they cost beyond their payloads, and that the number of threads does not show in them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

enum { SOURCE = 16 << 20 };

/* ---- Overhead -------------------------------------------------------------------------------------------------------------- */

/* Sizes are `mean`, or spread evenly from half of it to one and a half. In percent of the payload bytes. */
static double overhead(const struct settings *settings, const uint8_t *source, size_t mean, bool spread) {
    struct bench_random random = {mean};
    uint64_t total = settings->quick ? UINT64_C(256) << 20 : UINT64_C(512) << 20, payload_bytes = 0;
    char path[BENCH_PATH];
    data_path(settings, "overhead.mldf", path);
    mldf_schema *schema = data_bytes_schema(0);
    mldf_writer *writer = data_open_writer(path, schema, 0);
    while (payload_bytes < total) {
        size_t bytes = spread ? mean / 2 + (size_t)bench_below(&random, mean + 1) : mean;
        data_append_bytes(writer, source + bench_below(&random, SOURCE - bytes), bytes);
        payload_bytes += bytes;
    }
    data_finish(writer);
    uint64_t file_bytes = data_file_bytes(path);
    mldf_schema_free(schema);
    data_remove(path);
    return 100 * ((double)file_bytes / (double)payload_bytes - 1);
}

void bench_overhead(const struct settings *settings) {
    static const struct {
        const char *name;
        size_t bytes;
    } sizes[] = {{"1 kB", 1000}, {"30 kB", 30000}, {"300 kB", 300000}, {"3 MB", 3000000}};
    uint8_t *source = data_alloc(SOURCE);
    data_fill_random(source, SOURCE, 31);
    report_part("File bytes beyond the payload bytes, with checksums, automatic page size");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int spread = 0; spread < 2; spread++) {
            char name[64], text[96];
            snprintf(name, sizeof name, "overhead.%zu%s", sizes[i].bytes, spread ? "_spread" : "");
            snprintf(text, sizeof text,
                     spread ? "payloads of %s on average, 0.5 to 1.5 times that" : "payloads of %s, all equal",
                     sizes[i].name);
            report_goal(name, text, overhead(settings, source, sizes[i].bytes, spread), "%", 2, GOAL_BELOW, 7);
        }
    free(source);
}

/* ---- Threads ---------------------------------------------------------------------------------------------------------------- */

static mldf_schema *mixed_schema(void) {
    static const char json[] =
        "{\"fields\":[{\"name\":\"label\",\"type\":\"int\"},{\"name\":\"score\",\"type\":\"float\"},"
        "{\"name\":\"blob\",\"type\":\"bytes\",\"nullable\":true},"
        "{\"name\":\"text\",\"type\":\"bytes\",\"compress\":3},"
        "{\"name\":\"feat\",\"type\":\"ndarray\",\"dtype\":\"<f4\",\"shape\":[null,16]}]}";
    mldf_schema *schema;
    mldf_error err;
    bench_check(mldf_schema_parse(NULL, json, sizeof json - 1, &schema, &err), &err, "the mixed schema");
    return schema;
}

/* Every kind of field, keys, nulls, and sizes from nothing to several jobs' worth. */
static void write_mixed(const char *path, const uint8_t *noise, const char *words, uint64_t count, int threads) {
    struct bench_random random = {41};
    mldf_schema *schema = mixed_schema();
    mldf_writer *writer = data_open_writer(path, schema, threads);
    mldf_error err;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t blob = bench_below(&random, 100) == 0 ? bench_below(&random, 4000000) : bench_below(&random, 20000);
        uint64_t text = bench_below(&random, 30000), rows = bench_below(&random, 100);
        mldf_value values[5] = {
            {.kind = MLDF_KIND_INT, .as.i = (int64_t)i},
            {.kind = MLDF_KIND_FLOAT, .as.f = (double)i},
            {.kind = MLDF_KIND_BYTES, .data = noise + bench_below(&random, SOURCE / 2), .bytes = blob},
            {.kind = MLDF_KIND_BYTES, .data = words + bench_below(&random, SOURCE / 2), .bytes = text},
            {.kind = MLDF_KIND_ARRAY,
             .dtype = MLDF_F32,
             .data = noise,
             .bytes = rows * 64,
             .ndim = 2,
             .dims = {rows, 16}}};
        char key[32];
        int key_bytes = snprintf(key, sizeof key, "sample-%llu", (unsigned long long)i);
        if (bench_below(&random, 10) == 0)
            values[2] = (mldf_value){.kind = MLDF_KIND_NULL};
        bench_check(mldf_writer_append(writer, values, 5, key, (size_t)key_bytes, &err), &err, "appending a sample");
    }
    data_finish(writer);
    mldf_schema_free(schema);
}

static bool same_files(const char *left, const char *right) {
    static uint8_t a[1 << 16], b[1 << 16];
    FILE *x = fopen(left, "rb"), *y = fopen(right, "rb");
    if (!x || !y)
        bench_die("%s or %s cannot be opened: %s", left, right, strerror(errno));
    size_t n, m;
    do {
        n = fread(a, 1, sizeof a, x);
        m = fread(b, 1, sizeof b, y);
    } while (n == m && n > 0 && memcmp(a, b, n) == 0);
    fclose(x);
    fclose(y);
    return n == 0 && m == 0;
}

void bench_identical(const struct settings *settings) {
    static const int threads[] = {1, 2, 8};
    char first[BENCH_PATH], other[BENCH_PATH];
    uint64_t count = settings->quick ? 1000 : 10000;
    uint8_t *noise = data_alloc(SOURCE);
    char *words = data_alloc(SOURCE);
    data_fill_random(noise, SOURCE, 43);
    data_fill_text(words, SOURCE, 47);
    report_part("Bytes of a mixed file against those written with 0 threads (1: identical)");
    data_path(settings, "threads0.mldf", first);
    write_mixed(first, noise, words, count, 0);
    report_add("identical.bytes", "size of the file", (double)data_file_bytes(first) / 1e6, "MB", 1);
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        char name[64], text[96];
        data_path(settings, "threads.mldf", other);
        write_mixed(other, noise, words, count, threads[i]);
        snprintf(name, sizeof name, "identical.threads_%d", threads[i]);
        snprintf(text, sizeof text, "%d threads", threads[i]);
        report_goal(name, text, same_files(first, other) ? 1 : 0, "", 0, GOAL_AT_LEAST, 1);
        data_remove(other);
    }
    data_remove(first);
    free(noise);
    free(words);
}
