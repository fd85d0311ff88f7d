/* What an epoch reads from the disk when nothing of the file is in memory: random and quasi-random order, mapped and read, with and without
 * hints. The page cache forgets the file before each run; /proc/self/io says what came from the disk.
 *
 *     bench_cold FILE [THREADS [FIELDS-PIPELINE]]     a table: order, back end, seconds, MB from the disk, times the file's size
 *
 * By default every field is fetched and nothing is decoded (pipeline: each image's bytes would need decode, so sizes are read by a
 * resize to 8 x 8). */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench.h"

static void fail(const char *what) {
    fprintf(stderr, "bench_cold: %s\n", what);
    exit(1);
}

static void forget(const char *path) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fdatasync(fd) != 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0)
        fail("the page cache cannot be told to forget the file");
    close(fd);
}

static uint64_t disk_bytes(void) {
    char line[128];
    unsigned long long bytes = 0;
    FILE *f = fopen("/proc/self/io", "r");
    if (!f)
        fail("no /proc/self/io");
    while (fgets(line, sizeof line, f))
        if (sscanf(line, "read_bytes: %llu", &bytes) == 1)
            break;
    fclose(f);
    return bytes;
}

static void run(const char *path, uint64_t file_bytes, mldf_order_kind kind, mldf_backend backend, bool hints,
                int threads, const char *pipeline) {
    mldf_reader_options ro = MLDF_READER_OPTIONS_INIT;
    mldf_loader_options o = MLDF_LOADER_OPTIONS_INIT;
    mldf_error err = {0};
    mldf_reader *reader;
    mldf_loader *loader;
    mldf_batch *batch;
    uint64_t samples = 0;
    forget(path);
    ro.backend = backend;
    o.pipeline = pipeline;
    o.order = kind;
    o.seed = 1;
    o.threads = threads;
    o.prefetch = hints;
    uint64_t before = disk_bytes();
    double start = bench_now();
    if (mldf_reader_open(path, &ro, &reader, &err) < 0 ||
        mldf_loader_new((const mldf_reader *const *)&reader, 1, &o, &loader, &err) < 0)
        fail(MLDF_ERROR_TEXT(&err));
    mldf_status status;
    while ((status = mldf_loader_next(loader, -1, &batch, &err)) == MLDF_OK) {
        samples += mldf_batch_sample_count(batch);
        mldf_batch_release(batch);
    }
    if (status < 0)
        fail(MLDF_ERROR_TEXT(&err));
    double seconds = bench_now() - start, bytes = (double)(disk_bytes() - before);
    printf("%-13s %-5s %-6s %8.2f s %10.1f MB %8.3f x the file %10.0f samples/s\n", mldf_order_kind_name(kind),
           backend == MLDF_BACKEND_MAP ? "map" : "read", hints ? "hints" : "none", seconds, bytes / 1e6,
           bytes / (double)file_bytes, (double)samples / seconds);
    mldf_loader_free(loader);
    mldf_reader_close(reader);
}

int main(int argc, char **argv) {
    struct stat info;
    if (argc < 2 || stat(argv[1], &info) != 0)
        fail("usage: bench_cold FILE [THREADS [PIPELINE]]");
    int threads = argc > 2 ? atoi(argv[2]) : 2;
    const char *pipeline = argc > 3 ? argv[3] : "image: resize([8, 8], filter=nearest)";
    static const mldf_order_kind kinds[] = {MLDF_ORDER_SEQUENTIAL, MLDF_ORDER_RANDOM, MLDF_ORDER_QUASI_RANDOM};
    for (size_t k = 0; k < 3; k++)
        for (int backend = 0; backend < 2; backend++)
            for (int hints = 0; hints < 2; hints++)
                run(argv[1], (uint64_t)info.st_size, kinds[k], backend ? MLDF_BACKEND_READ : MLDF_BACKEND_MAP, hints,
                    threads, pipeline);
    return 0;
}
