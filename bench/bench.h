/* What the benchmarks share: the run's settings, a clock, random numbers, the list of results, and data to write.
 *
 * A benchmark is never a test: it prints numbers and says which goals they reach, and ends with 0 whatever they are. It ends with 1
 * only when something did not work. Everything goes into one folder that run.sh makes and removes. */
#ifndef MLDF_BENCH_BENCH_H
#define MLDF_BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mldf/mldf.h"

enum { BENCH_PATH = 4096 };

struct settings {
    const char *folder; /* for files; on the disk to be measured */
    bool quick;         /* a tenth of most sizes */
    bool json;
    uint64_t bytes;   /* of the writer's throughput runs */
    int rounds;       /* of the same */
    const char *only; /* names of parts, separated by commas; NULL: all */
};

/* ---- container_timing.c ------------------------------------------------------------------------------------------------------------ */

double bench_now(void); /* seconds */
double bench_cpu(
    void); /* seconds that this thread ran: what waits for nothing is timed with it, so that other processes do not count */
double bench_process_cpu(void); /* seconds that all threads of this process ran */
/* How many CPUs other processes kept busy meanwhile, on average; -1 when that is not known. */
struct bench_others {
    double wall, busy, own;
};
struct bench_others bench_others_begin(void);
double bench_others_end(const struct bench_others *begin);
double bench_median(const double *values, size_t count);
double bench_largest(const double *values, size_t count);
double bench_spread(const double *values, size_t count); /* (largest - smallest) / median */

/* xorshift64*: fast, and the same numbers everywhere. */
struct bench_random {
    uint64_t state;
};
uint64_t bench_random(struct bench_random *random);
uint64_t bench_below(struct bench_random *random, uint64_t limit);

/* Prints a sentence and ends the program with 1. */
_Noreturn void bench_die(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same when status is an error. */
void bench_check(mldf_status status, const mldf_error *err, const char *what);
/* What is being done now, to stderr. */
void bench_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- container_report.c ------------------------------------------------------------------------------------------------------------ */

enum goal { GOAL_NONE, GOAL_BELOW, GOAL_AT_MOST, GOAL_AT_LEAST };

/* One number. name: dotted, for JSON; text: for people; both are copied. decimals: for the table. */
void report_add(const char *name, const char *text, double value, const char *unit, int decimals);
/* The same with a goal. */
void report_goal(const char *name, const char *text, double value, const char *unit, int decimals, enum goal goal,
                 double limit);
/* The heading above the numbers that follow. */
void report_part(const char *title);
void report_print(const struct settings *settings);

/* ---- container_data.c -------------------------------------------------------------------------------------------------------------- */

/* folder/name into out, which has BENCH_PATH bytes; what stands there is removed. */
void data_path(const struct settings *settings, const char *name, char *out);
void data_remove(const char *path);
uint64_t data_file_bytes(const char *path);
/* Everything written so far is on disk, so that it does not disturb what is timed next. */
void data_settle(const struct settings *settings);
void *data_alloc(size_t bytes);
/* Bytes that no codec makes smaller. */
void data_fill_random(void *bytes, size_t count, uint64_t seed);
/* Sentences of made-up words whose frequencies follow Zipf's law: about as compressible as prose. */
void data_fill_text(char *bytes, size_t count, uint64_t seed);

/* A schema of one field "payload" of type bytes; level 0: stored raw. */
mldf_schema *data_bytes_schema(int level);
/* "label" int and "score" float. */
mldf_schema *data_row_schema(void);
mldf_writer *data_open_writer(const char *path, const mldf_schema *schema, int threads);
uint64_t data_finish(mldf_writer *writer); /* file bytes */
void data_append_bytes(mldf_writer *writer, const void *data, size_t bytes);
/* count rows: label i * 7, score i / 2. Returns the file's bytes. */
uint64_t data_write_rows(const char *path, uint64_t count, int threads);
/* count payloads of `each` bytes, cut one after the other (and again from the start) out of source. */
uint64_t data_write_payloads(const char *path, const void *source, size_t source_bytes, size_t each, uint64_t count,
                             int threads, int level);

/* ---- The parts ----------------------------------------------------------------------------------------------------------- */

void bench_open(const struct settings *settings);       /* container_read.c */
void bench_get(const struct settings *settings);        /* container_read.c */
void bench_throughput(const struct settings *settings); /* container_write.c */
void bench_zstd(const struct settings *settings);       /* container_write.c */
void bench_rows(const struct settings *settings);       /* container_write.c */
void bench_memory(const struct settings *settings);     /* container_memory.c */
void bench_overhead(const struct settings *settings);   /* container_layout.c */
void bench_identical(const struct settings *settings);  /* container_layout.c */

#endif
