/* A clock, medians, random numbers, and how a benchmark speaks and gives up. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

double bench_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double bench_cpu(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double bench_process_cpu(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Jiffies of all CPUs, all processes; -1 where the system does not say. */
static double busy_seconds(void) {
    FILE *file = fopen("/proc/stat", "r");
    unsigned long long user, nice, system, idle, wait, irq, softirq;
    int got = file ? fscanf(file, "cpu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system, &idle, &wait, &irq,
                            &softirq)
                   : 0;
    if (file)
        fclose(file);
    return got == 7 ? (double)(user + nice + system) / (double)sysconf(_SC_CLK_TCK) : -1;
}

static double own_seconds(void) {
    double sum = 0;
    for (int i = 0; i < 2; i++) {
        struct rusage usage;
        getrusage(i ? RUSAGE_CHILDREN : RUSAGE_SELF, &usage);
        sum += (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
               1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
    }
    return sum;
}

struct bench_others bench_others_begin(void) {
    return (struct bench_others){bench_now(), busy_seconds(), own_seconds()};
}

double bench_others_end(const struct bench_others *begin) {
    double busy = busy_seconds(), others = busy - begin->busy - (own_seconds() - begin->own);
    if (busy < 0)
        return -1;
    return others < 0 ? 0 : others / (bench_now() - begin->wall);
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double *sorted(const double *values, size_t count) {
    double *copy = malloc(count * sizeof *copy);
    if (!copy || count == 0)
        bench_die("no memory, or nothing to take the median of");
    memcpy(copy, values, count * sizeof *copy);
    qsort(copy, count, sizeof *copy, by_value);
    return copy;
}

double bench_median(const double *values, size_t count) {
    double *copy = sorted(values, count);
    double middle = count % 2 ? copy[count / 2] : (copy[count / 2 - 1] + copy[count / 2]) / 2;
    free(copy);
    return middle;
}

double bench_largest(const double *values, size_t count) {
    double *copy = sorted(values, count), largest = copy[count - 1];
    free(copy);
    return largest;
}

double bench_spread(const double *values, size_t count) {
    double *copy = sorted(values, count);
    double range = copy[count - 1] - copy[0];
    free(copy);
    return range / bench_median(values, count);
}

uint64_t bench_random(struct bench_random *random) {
    uint64_t x = random->state;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    random->state = x;
    return x * UINT64_C(2685821657736338717);
}

uint64_t bench_below(struct bench_random *random, uint64_t limit) {
    return bench_random(random) % limit;
}

void bench_die(const char *format, ...) {
    va_list args;
    va_start(args, format);
    fputs("bench: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(1);
}

void bench_check(mldf_status status, const mldf_error *err, const char *what) {
    if (status < 0)
        bench_die("%s: %s (%s)", what, MLDF_ERROR_TEXT(err), mldf_status_name(status));
}

void bench_note(const char *format, ...) {
    va_list args;
    va_start(args, format);
    fputs("  .. ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
}
