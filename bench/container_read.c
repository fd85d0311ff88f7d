/* Reading: how long an open takes, and one value of a random sample. Everything is hot: the files are in the page cache and their
 * pages are mapped before the clock starts. Nothing waits, so the clock is the thread's own: what is measured is the library, the
 * system calls of an open, and the machine's memory. */
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"

enum { ACCESSES = 1 << 20, ROUNDS = 9, BATCH = 256, PAYLOAD = 1024 };

static mldf_reader *open_reader(const char *path) {
    mldf_reader *reader;
    mldf_error err;
    bench_check(mldf_reader_open(path, NULL, &reader, &err), &err, "opening a reader");
    return reader;
}

/* ---- Open ---------------------------------------------------------------------------------------------------------------- */

static double time_open(const char *path) {
    double start = bench_cpu();
    mldf_reader *reader = open_reader(path);
    double seconds = bench_cpu() - start;
    mldf_reader_close(reader);
    return seconds;
}

void bench_open(const struct settings *settings) {
    enum { OPENS = 2001 };
    static double small[OPENS], large[OPENS];
    char few[BENCH_PATH], many[BENCH_PATH];
    uint64_t count = settings->quick ? 1000000 : 10000000;
    report_part("Open (int + float, hot)");
    data_path(settings, "few.mldf", few);
    data_path(settings, "many.mldf", many);
    data_write_rows(few, 1000, 0);
    data_write_rows(many, count, 0);
    for (size_t i = 0; i < OPENS; i++) { /* in turns, so that both see the same machine */
        small[i] = time_open(few);
        large[i] = time_open(many);
    }
    double a = bench_median(small, OPENS), b = bench_median(large, OPENS);
    report_add("open.1e3", "10^3 samples", a * 1e6, "us", 1);
    report_add(settings->quick ? "open.1e6" : "open.1e7", settings->quick ? "10^6 samples" : "10^7 samples", b * 1e6,
               "us", 1);
    report_goal("open.ratio", "many samples : few samples", b / a, "x", 2, GOAL_AT_MOST, 2);
    data_remove(few);
    data_remove(many);
}

/* ---- Random access ------------------------------------------------------------------------------------------------------- */

static uint64_t *random_order(uint64_t limit) {
    struct bench_random random = {20240229};
    uint64_t *order = data_alloc(ACCESSES * sizeof *order);
    for (size_t i = 0; i < ACCESSES; i++)
        order[i] = bench_below(&random, limit);
    return order;
}

static volatile uint64_t sink; /* keeps the sums */

/* The int field of random samples, through the library. */
static double get_int(const mldf_reader *reader, const uint64_t *order) {
    uint64_t sum = 0;
    mldf_value value;
    mldf_error err;
    double start = bench_cpu();
    for (size_t i = 0; i < ACCESSES; i++) {
        bench_check(mldf_reader_get(reader, order[i], 0, NULL, &value, &err), &err, "reading an int");
        sum += (uint64_t)value.as.i;
    }
    sink = sum;
    return (bench_cpu() - start) / ACCESSES;
}

/* The same with each index made from the value before it: nothing overlaps, so this is the latency. Every value is below 2^63. */
static double get_int_chained(const mldf_reader *reader, const uint64_t *order) {
    uint64_t last = 0;
    mldf_value value;
    mldf_error err;
    double start = bench_cpu();
    for (size_t i = 0; i < ACCESSES; i++) {
        bench_check(mldf_reader_get(reader, order[i] + (last >> 63), 0, NULL, &value, &err), &err, "reading an int");
        last = value.as.u;
    }
    sink = last;
    return (bench_cpu() - start) / ACCESSES;
}

static double gather_int(const mldf_reader *reader, const uint64_t *order) {
    uint64_t sum = 0, batch[BATCH];
    mldf_error err;
    double start = bench_cpu();
    for (size_t i = 0; i < ACCESSES; i += BATCH) {
        bench_check(mldf_reader_gather(reader, order + i, BATCH, 0, batch, 8, &err), &err, "gathering");
        for (size_t k = 0; k < BATCH; k++)
            sum += batch[k];
    }
    sink = sum;
    return (bench_cpu() - start) / ACCESSES;
}

/* No library: a load from an array that is as large as the table. */
static double load_bare(const uint64_t *array, const uint64_t *order) {
    uint64_t sum = 0;
    double start = bench_cpu();
    for (size_t i = 0; i < ACCESSES; i++)
        sum += array[2 * order[i]];
    sink = sum;
    return (bench_cpu() - start) / ACCESSES;
}

static double load_bare_chained(const uint64_t *array, const uint64_t *order) {
    uint64_t value = 0;
    double start = bench_cpu();
    for (size_t i = 0; i < ACCESSES; i++)
        value = array[2 * (order[i] + (value >> 63))];
    sink = value;
    return (bench_cpu() - start) / ACCESSES;
}

static double get_bytes(const mldf_reader *reader, const uint64_t *order) {
    uint64_t sum = 0;
    mldf_value value;
    mldf_error err;
    double start = bench_cpu();
    for (size_t i = 0; i < ACCESSES; i++) {
        bench_check(mldf_reader_get(reader, order[i], 0, NULL, &value, &err), &err, "reading a payload");
        sum += *(const uint8_t *)value.data + value.bytes;
    }
    sink = sum;
    return (bench_cpu() - start) / ACCESSES;
}

static void touch_all(const mldf_reader *reader) {
    uint64_t sum = 0, count = mldf_reader_sample_count(reader);
    mldf_value value;
    mldf_error err;
    for (uint64_t i = 0; i < count; i++) {
        bench_check(mldf_reader_get(reader, i, 0, NULL, &value, &err), &err, "reading");
        sum += value.data ? *(const uint8_t *)value.data : value.as.u;
    }
    sink = sum;
}

static void get_rows(const struct settings *settings, const char *path) {
    uint64_t count = settings->quick ? 1000000 : 10000000;
    double each[ROUNDS], chained[ROUNDS], gathered[ROUNDS], bare[ROUNDS], bare_chained[ROUNDS];
    data_write_rows(path, count, 0);
    mldf_reader *reader = open_reader(path);
    uint64_t *order = random_order(count), *array = data_alloc(count * 16);
    touch_all(reader);
    for (uint64_t i = 0; i < 2 * count; i++)
        array[i] = i;
    for (size_t i = 0; i < ROUNDS; i++) {
        each[i] = get_int(reader, order) * 1e9;
        chained[i] = get_int_chained(reader, order) * 1e9;
        gathered[i] = gather_int(reader, order) * 1e9;
        bare[i] = load_bare(array, order) * 1e9;
        bare_chained[i] = load_bare_chained(array, order) * 1e9;
    }
    report_goal("get.int", "int field", bench_median(each, ROUNDS), "ns", 1, GOAL_BELOW, 200);
    report_goal("get.gather", "int field, gather of 256, per item", bench_median(gathered, ROUNDS), "ns", 1, GOAL_BELOW,
                200);
    report_add("get.bare", "  for comparison: load from an array of the table's size", bench_median(bare, ROUNDS), "ns",
               1);
    report_add("get.int_latency", "int field, each access waits for the one before", bench_median(chained, ROUNDS),
               "ns", 1);
    report_add("get.bare_latency", "  for comparison: the same load, waiting too", bench_median(bare_chained, ROUNDS),
               "ns", 1);
    free(array);
    free(order);
    mldf_reader_close(reader);
}

static void get_payloads(const struct settings *settings, const char *path) {
    enum { SOURCE = 8 << 20 };
    uint64_t count = settings->quick ? 10000 : 100000;
    double each[ROUNDS];
    void *source = data_alloc(SOURCE);
    data_fill_random(source, SOURCE, 5);
    data_write_payloads(path, source, SOURCE, PAYLOAD, count, 0, 0);
    free(source);
    mldf_reader *reader = open_reader(path);
    uint64_t *order = random_order(count);
    touch_all(reader);
    for (size_t i = 0; i < ROUNDS; i++)
        each[i] = get_bytes(reader, order) * 1e9;
    report_goal("get.bytes", "bytes of 1 KiB: pointer and size, first byte touched", bench_median(each, ROUNDS), "ns",
                1, GOAL_BELOW, 200);
    free(order);
    mldf_reader_close(reader);
}

void bench_get(const struct settings *settings) {
    char path[BENCH_PATH];
    report_part(settings->quick ? "Random access, hot (10^6 rows; 10^4 payloads)"
                                : "Random access, hot (10^7 rows; 10^5 payloads)");
    data_path(settings, "rows.mldf", path);
    get_rows(settings, path);
    data_path(settings, "payloads.mldf", path);
    get_payloads(settings, path);
    data_remove(path);
}
