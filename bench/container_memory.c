/* The writer's memory: the largest resident size of a process that does nothing but write, at one size and at ten times that. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

enum { PAYLOAD = 100000, SOURCE = 16 << 20 };

static double peak_mib(void) {
#if defined(__linux__)
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    double kib = -1;
    while (file && kib < 0 && fgets(line, sizeof line, file))
        if (sscanf(line, "VmHWM: %lf", &kib) == 1)
            kib = kib < 0 ? 0 : kib;
    if (file)
        fclose(file);
    if (kib < 0)
        bench_die("no VmHWM in the process's status");
    return kib / 1024;
#else
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss / (1 << 20);
#endif
}

/* What the parent had is not this child's. */
static void forget_peak(void) {
#if defined(__linux__)
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (file) {
        fputs("5", file);
        fclose(file);
    }
#endif
}

enum work { WORK_NOTHING, WORK_PAYLOADS, WORK_ROWS };

static void child(enum work work, const char *path, uint64_t amount, int threads) {
    uint8_t *source = data_alloc(SOURCE);
    data_fill_random(source, SOURCE, 23);
    if (work == WORK_PAYLOADS)
        data_write_payloads(path, source, SOURCE, PAYLOAD, amount / PAYLOAD, threads, 0);
    else if (work == WORK_ROWS)
        data_write_rows(path, amount, threads);
    free(source);
}

/* Peak of a child process that does the work. */
static double measure(const char *path, enum work work, uint64_t amount, int threads) {
    int ends[2];
    double peak = 0;
    if (pipe(ends) != 0)
        bench_die("no pipe: %s", strerror(errno));
    fflush(NULL);
    pid_t pid = fork();
    if (pid < 0)
        bench_die("no child process: %s", strerror(errno));
    if (pid == 0) {
        forget_peak();
        child(work, path, amount, threads);
        peak = peak_mib();
        _exit(write(ends[1], &peak, sizeof peak) == sizeof peak ? 0 : 1);
    }
    int status = 0;
    close(ends[1]);
    if (read(ends[0], &peak, sizeof peak) != sizeof peak || waitpid(pid, &status, 0) != pid || status != 0)
        bench_die("the child process failed with status %d", status);
    close(ends[0]);
    data_remove(path);
    return peak;
}

static void compare(const char *path, enum work work, const char *name, const char *what, uint64_t small,
                    uint64_t large, const char *small_text, const char *large_text) {
    char key[64], text[96];
    double a = measure(path, work, small, 2), b = measure(path, work, large, 2);
    snprintf(key, sizeof key, "memory.%s_small", name);
    snprintf(text, sizeof text, "%s %s", small_text, what);
    report_add(key, text, a, "MiB", 1);
    snprintf(key, sizeof key, "memory.%s_large", name);
    snprintf(text, sizeof text, "%s %s", large_text, what);
    report_add(key, text, b, "MiB", 1);
    snprintf(key, sizeof key, "memory.%s_growth", name);
    snprintf(text, sizeof text, "growth from %s to %s %s", small_text, large_text, what);
    report_goal(key, text, b - a, "MiB", 1, GOAL_AT_MOST, 64);
}

void bench_memory(const struct settings *settings) {
    char path[BENCH_PATH];
    uint64_t gib = UINT64_C(1) << 30;
    bool quick = settings->quick;
    report_part("Writer: peak memory of the process, 2 threads");
    data_path(settings, "memory.mldf", path);
    report_add("memory.nothing", "without a writer (program and 16 MiB of source)", measure(path, WORK_NOTHING, 0, 0),
               "MiB", 1);
    compare(path, WORK_PAYLOADS, "payloads", "of 100 kB payloads", quick ? gib / 10 : gib, quick ? gib : 10 * gib,
            quick ? "0.1 GiB" : "1 GiB", quick ? "1 GiB" : "10 GiB");
    compare(path, WORK_ROWS, "rows", "int + float rows", quick ? 1000000 : 10000000, quick ? 10000000 : 100000000,
            quick ? "10^6" : "10^7", quick ? "10^7" : "10^8");
}
