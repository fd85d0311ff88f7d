/* Writing: throughput against dd, compression on more threads, and rows.
 *
 * Disks drift, and on many of them a block that was never written, or was given back, is several times slower than one in use: a
 * contender that gets other blocks than its rival is measured by its luck. So each writes its file twice in a row and only the
 * second time counts; the contenders take turns, in another order each round; everything written before is on disk when a clock
 * starts; and the ratio is the median of the rounds' ratios. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

enum { MAX_ROUNDS = 32, PAYLOAD = 100000 };

extern char **environ;

/* ---- The source: memory for the writer, a file in memory for dd --------------------------------------------------------- */

struct source {
    char path[BENCH_PATH];
    uint8_t *data;
    size_t bytes;
};

/* In the shared-memory file system, else a file in the folder, which has just been written and so is in the page cache. */
static void make_source(const struct settings *settings, struct source *source, size_t bytes) {
    snprintf(source->path, sizeof source->path, "/dev/shm/mldf-bench-%ld", (long)getpid());
    int fd = open(source->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || posix_fallocate(fd, 0, (off_t)bytes) != 0) {
        if (fd >= 0) {
            close(fd);
            unlink(source->path);
        }
        data_path(settings, "source", source->path);
        fd = open(source->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0)
            bench_die("%s: %s", source->path, strerror(errno));
    }
    void *data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (data == MAP_FAILED)
        bench_die("%s cannot be mapped: %s", source->path, strerror(errno));
    close(fd);
    source->data = data;
    source->bytes = bytes;
    data_fill_random(data, bytes, 11);
}

static void free_source(struct source *source) {
    munmap(source->data, source->bytes);
    data_remove(source->path);
}

/* ---- Contenders ----------------------------------------------------------------------------------------------------------- */

static double run_dd(const struct source *source, const char *path) {
    char from[BENCH_PATH + 4], to[BENCH_PATH + 4];
    snprintf(from, sizeof from, "if=%s", source->path);
    snprintf(to, sizeof to, "of=%s", path);
    char program[] = "dd", size[] = "bs=4M", sync[] = "conv=fsync", quiet[] = "status=none";
    char *arguments[] = {program, from, to, size, sync, quiet, NULL};
    pid_t child;
    int status = 0;
    double start = bench_now();
    if (posix_spawnp(&child, program, NULL, NULL, arguments, environ) != 0 || waitpid(child, &status, 0) != child ||
        status != 0)
        bench_die("dd failed with status %d", status);
    return bench_now() - start;
}

static double run_writer(const struct source *source, const char *path, int threads) {
    double start = bench_now();
    data_write_payloads(path, source->data, source->bytes, PAYLOAD, source->bytes / PAYLOAD, threads, 0);
    return bench_now() - start;
}

/* ---- Throughput ------------------------------------------------------------------------------------------------------------ */

enum { DD, THREADS_0, THREADS_1, THREADS_2, CONTENDERS };

static double run_contender(const struct settings *settings, const struct source *source, const char *path, int which) {
    double speed[2];
    for (int i = 0; i < 2; i++) {
        data_remove(path);
        data_settle(settings);
        double seconds = which == DD ? run_dd(source, path) : run_writer(source, path, which - THREADS_0);
        speed[i] = (double)source->bytes / seconds / 1e6;
    }
    if (which == DD)
        bench_note("dd: %.0f, then %.0f MB/s", speed[0], speed[1]);
    else
        bench_note("%d threads: %.0f, then %.0f MB/s", which - THREADS_0, speed[0], speed[1]);
    return speed[1];
}

void bench_throughput(const struct settings *settings) {
    static double speed[CONTENDERS][MAX_ROUNDS], ratio[MAX_ROUNDS];
    char path[BENCH_PATH], name[64], text[96];
    struct source source;
    int rounds = settings->rounds < MAX_ROUNDS ? settings->rounds : MAX_ROUNDS;
    snprintf(text, sizeof text, "Writer: 100 kB payloads, %.2f GB, raw, durable; %d rounds",
             (double)settings->bytes / 1e9, rounds);
    report_part(text);
    data_path(settings, "out", path);
    make_source(settings, &source, (size_t)(settings->bytes / PAYLOAD * PAYLOAD));
    for (int r = 0; r < rounds; r++) {
        for (int k = 0; k < CONTENDERS; k++) {
            int which = (k + r) % CONTENDERS;
            speed[which][r] = run_contender(settings, &source, path, which);
        }
    }
    report_add("write.dd", "dd bs=4M conv=fsync", bench_median(speed[DD], (size_t)rounds), "MB/s", 0);
    report_add("write.dd_spread", "dd, largest - smallest, of the median",
               100 * bench_spread(speed[DD], (size_t)rounds), "%", 0);
    for (int which = THREADS_0; which < CONTENDERS; which++) {
        snprintf(name, sizeof name, "write.threads_%d", which - THREADS_0);
        snprintf(text, sizeof text, "writer, %d threads", which - THREADS_0);
        report_add(name, text, bench_median(speed[which], (size_t)rounds), "MB/s", 0);
        for (int r = 0; r < rounds; r++)
            ratio[r] = speed[which][r] / speed[DD][r];
        snprintf(name, sizeof name, "write.ratio_%d", which - THREADS_0);
        snprintf(text, sizeof text, "writer, %d threads : dd", which - THREADS_0);
        report_goal(name, text, bench_median(ratio, (size_t)rounds), "x", 2, GOAL_AT_LEAST, 0.7);
    }
    data_remove(path);
    free_source(&source);
}

/* ---- Compression ----------------------------------------------------------------------------------------------------------- */

void bench_zstd(const struct settings *settings) {
    enum { SOURCE = 64 << 20, EACH = 64 << 10, ROUNDS = 7 };
    static double speed[3][ROUNDS], work[3][ROUNDS], ratio[ROUNDS];
    char path[BENCH_PATH], name[64], text[96];
    uint64_t total = settings->quick ? UINT64_C(64) << 20 : UINT64_C(256) << 20, file_bytes = 0;
    char *source = data_alloc(SOURCE);
    data_fill_text(source, SOURCE, 17);
    snprintf(text, sizeof text, "Writer: 64 KiB of text per payload, %.2f GB, zstd level 3; %d rounds",
             (double)total / 1e9, ROUNDS);
    report_part(text);
    for (int r = -1; r < ROUNDS; r++)
        for (int k = 0; k < 3; k++) {
            int threads = (k + r + 1) % 3;
            data_path(settings, "text.mldf", path);
            data_settle(settings);
            double start = bench_now(), cpu = bench_process_cpu();
            file_bytes = data_write_payloads(path, source, SOURCE, EACH, total / EACH, threads, 3);
            if (r < 0)
                break; /* one run to warm up */
            speed[threads][r] = (double)total / (bench_now() - start) / 1e6;
            work[threads][r] = bench_process_cpu() - cpu;
        }
    for (int threads = 0; threads < 3; threads++) {
        snprintf(name, sizeof name, "zstd.threads_%d", threads);
        snprintf(text, sizeof text, "%d threads", threads);
        report_add(name, text, bench_median(speed[threads], ROUNDS), "MB/s", 0);
    }
    for (int r = 0; r < ROUNDS; r++)
        ratio[r] = speed[2][r] / speed[1][r];
    report_goal("zstd.ratio", "2 threads : 1 thread", bench_median(ratio, ROUNDS), "x", 2, GOAL_AT_LEAST, 1.6);
    report_add("zstd.ratio_best", "  the best round", bench_largest(ratio, ROUNDS), "x", 2);
    for (int r = 0; r < ROUNDS; r++)
        ratio[r] = work[2][r] / work[1][r];
    report_add("zstd.work", "  CPU time, 2 threads : 1 thread (1: threads cost nothing)", bench_median(ratio, ROUNDS),
               "x", 2);
    report_add("zstd.size", "file : text", (double)file_bytes / (double)total, "x", 2);
    data_remove(path);
    free(source);
}

/* ---- Rows ------------------------------------------------------------------------------------------------------------------ */

void bench_rows(const struct settings *settings) {
    enum { ROUNDS = 5 };
    static double speed[3][ROUNDS];
    char path[BENCH_PATH], name[64], text[96];
    uint64_t count = settings->quick ? 1000000 : 10000000, file_bytes = 0;
    report_part(settings->quick ? "Writer: 10^6 rows of int + float, durable"
                                : "Writer: 10^7 rows of int + float, durable");
    for (int r = 0; r < ROUNDS; r++)
        for (int k = 0; k < 3; k++) {
            int threads = (k + r) % 3;
            data_path(settings, "rows.mldf", path);
            data_settle(settings);
            double start = bench_now();
            file_bytes = data_write_rows(path, count, threads);
            speed[threads][r] = (double)count / (bench_now() - start) / 1e6;
        }
    for (int threads = 0; threads < 3; threads++) {
        snprintf(name, sizeof name, "rows.threads_%d", threads);
        snprintf(text, sizeof text, "%d threads", threads);
        report_add(name, text, bench_median(speed[threads], ROUNDS), "Mrows/s", 2);
    }
    report_add("rows.bytes", "bytes of file per row", (double)file_bytes / (double)count, "B", 3);
    data_remove(path);
}
