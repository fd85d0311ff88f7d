/* bench_interop --dir FOLDER [--mib N] [--rounds N] [--json]: the neighbours' formats. CRC-16; writing TBL plain and LZ4, with
 * the number of samples known and not; tar to TBL through a pipe's interface; reading with checksums; opening a tar. Every write is measured
 * beside the same bytes written in blocks of 4 MiB with one fsync, as `dd bs=4M conv=fsync` does. docs/guides/interop.md quotes
 * it. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "interop/crc16.h"
#include "interop/tar.h"
#include "interop/tbl.h"
#include "os/file.h"

enum { SAMPLE = 40000, ROUNDS_MAX = 20 }; /* bytes of a small image */

static uint8_t *source;
static uint64_t source_bytes, samples;
static const struct settings *run;

static double rate(double seconds) {
    return (double)source_bytes / seconds / 1e6;
}

static void crc16(void) {
    report_part("CRC-16/MODBUS");
    volatile uint16_t sink;
    double begin = bench_cpu();
    sink = mldfi_crc16_portable(CRC16_START, source, source_bytes);
    report_add("crc16.portable", "tables, no special instructions", rate(bench_cpu() - begin) / 1e3, "GB/s", 2);
    begin = bench_cpu();
    for (int i = 0; i < 4; i++)
        sink = mldfi_crc16(CRC16_START, source, source_bytes);
    report_goal("crc16.chosen", "what this CPU gets", rate((bench_cpu() - begin) / 4) / 1e3, "GB/s", 2, GOAL_AT_LEAST,
                1.5);
    begin = bench_cpu();
    for (uint64_t i = 0; i < samples; i++)
        sink = mldfi_crc16(CRC16_START, source + i * SAMPLE, SAMPLE);
    report_add("crc16.samples", "the same on 40 kB at a time", rate(bench_cpu() - begin) / 1e3, "GB/s", 2);
    (void)sink;
}

/* The same bytes in blocks of 4 MiB, and one fsync. */
static double plain_write(const char *path) {
    data_settle(run);
    double begin = bench_now();
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        bench_die("cannot write %s", path);
    for (uint64_t at = 0; at < source_bytes;) {
        uint64_t left = source_bytes - at;
        ssize_t n = write(fd, source + at, left < 4 << 20 ? (size_t)left : 4 << 20);
        if (n <= 0)
            bench_die("cannot write %s", path);
        at += (uint64_t)n;
    }
    if (fsync(fd) != 0 || close(fd) != 0)
        bench_die("cannot write %s", path);
    double seconds = bench_now() - begin;
    data_remove(path);
    return seconds;
}

static double tbl_write(const char *path, bool known, bool compress, unsigned threads) {
    struct tbl_write_options options = TBL_WRITE_OPTIONS_INIT;
    struct tbl_writer *w;
    mldf_error err;
    options.count = known ? samples : MLDF_NONE;
    options.compress = compress;
    options.threads = threads;
    options.overwrite = true;
    data_settle(run);
    double begin = bench_now();
    bench_check(mldfi_tbl_writer_open(&w, path, &options, &err), &err, path);
    for (uint64_t i = 0; i < samples; i++) {
        struct tbl_sample s = {.data = source + i * SAMPLE, .bytes = SAMPLE, .format = TBL_JPEG};
        bench_check(mldfi_tbl_writer_add(w, &s, &err), &err, path);
    }
    bench_check(mldfi_tbl_writer_finish(w, NULL, &err), &err, path);
    mldfi_tbl_writer_free(w);
    return bench_now() - begin;
}

static void write_one(const char *name, const char *text, bool known, bool compress, unsigned threads) {
    char path[BENCH_PATH];
    double ours[ROUNDS_MAX], ratio[ROUNDS_MAX];
    data_path(run, "bench.tbl", path);
    for (int i = 0; i < run->rounds; i++) {
        double plain = plain_write(path);
        double seconds = tbl_write(path, known, compress, threads);
        ours[i] = rate(seconds);
        ratio[i] = plain / seconds;
        data_remove(path);
    }
    char dotted[100];
    snprintf(dotted, sizeof dotted, "tbl.%s", name);
    report_add(dotted, text, bench_median(ours, (size_t)run->rounds), "MB/s", 0);
    snprintf(dotted, sizeof dotted, "tbl.%s.ratio", name);
    report_add(dotted, "... against a plain write with fsync", bench_median(ratio, (size_t)run->rounds), "times", 2);
}

static void write_tar(const char *path) {
    struct tar_writer *w;
    mldf_error err;
    bench_check(mldfi_tar_writer_open(&w, path, true, &err), &err, path);
    for (uint64_t i = 0; i < samples; i++) {
        char key[32];
        snprintf(key, sizeof key, "%09llu", (unsigned long long)i);
        bench_check(mldfi_tar_writer_part(w, key, "jpg", source + i * SAMPLE, SAMPLE, &err), &err, path);
    }
    bench_check(mldfi_tar_writer_finish(w, &err), &err, path);
    mldfi_tar_writer_free(w);
}

/* Samples in order, without knowing how many: payloads are written twice. */
static void stream_tar(const char *from, const char *to) {
    struct tbl_write_options options = TBL_WRITE_OPTIONS_INIT;
    struct tbl_writer *w;
    struct tar_input *input;
    struct tar_group *group;
    struct tar_sample sample;
    mldf_error err;
    mldf_status status;
    options.overwrite = true;
    int fd = open(from, O_RDONLY | O_CLOEXEC);
    bench_check(mldfi_tar_input_fd(&input, fd, &err), &err, from);
    bench_check(mldfi_tar_group_new(&group, NULL, &err), &err, from);
    bench_check(mldfi_tar_group_begin(group, input, from, &err), &err, from);
    bench_check(mldfi_tbl_writer_open(&w, to, &options, &err), &err, to);
    while ((status = mldfi_tar_group_next(group, &sample, &err)) == MLDF_OK) {
        struct tbl_sample s = {.data = sample.parts[0].data, .bytes = sample.parts[0].bytes, .format = TBL_JPEG};
        bench_check(mldfi_tbl_writer_add(w, &s, &err), &err, to);
    }
    bench_check(status, &err, from);
    bench_check(mldfi_tbl_writer_finish(w, NULL, &err), &err, to);
    mldfi_tbl_writer_free(w);
    mldfi_tar_group_free(group);
    mldfi_tar_input_free(input);
    close(fd);
}

/* A plain archive is mapped and counted first. */
static void map_tar(const char *from, const char *to) {
    struct tbl_write_options options = TBL_WRITE_OPTIONS_INIT;
    struct tbl_writer *w;
    struct tar_index index;
    struct os_file file;
    struct os_map map;
    uint64_t bytes;
    mldf_error err;
    bench_check(mldfi_file_open(&file, from, OS_OPEN_READ, &err), &err, from);
    bench_check(mldfi_file_size(&file, &bytes, &err), &err, from);
    bench_check(mldfi_map_open(&map, &file, bytes, &err), &err, from);
    bench_check(mldfi_tar_index_build(&index, map.data, map.bytes, NULL, NULL, &err), &err, from);
    options.overwrite = true;
    options.count = index.sample_count;
    bench_check(mldfi_tbl_writer_open(&w, to, &options, &err), &err, to);
    for (size_t i = 0; i < index.sample_count; i++) {
        const struct tar_index_part *part = &index.parts[index.samples[i].first_part];
        struct tbl_sample s = {.data = map.data + part->offset, .bytes = part->bytes, .format = TBL_JPEG};
        bench_check(mldfi_tbl_writer_add(w, &s, &err), &err, to);
    }
    bench_check(mldfi_tbl_writer_finish(w, NULL, &err), &err, to);
    mldfi_tbl_writer_free(w);
    mldfi_tar_index_free(&index);
    mldfi_map_close(&map);
    mldfi_file_close(&file);
}

static void tar_to_tbl(const char *name, const char *text, void (*convert)(const char *, const char *)) {
    char from[BENCH_PATH], to[BENCH_PATH], dotted[100];
    double ours[ROUNDS_MAX], ratio[ROUNDS_MAX];
    data_path(run, "bench.tar", from);
    data_path(run, "bench.tbl", to);
    write_tar(from);
    for (int i = 0; i < run->rounds; i++) {
        double plain = plain_write(to);
        data_settle(run);
        double begin = bench_now();
        convert(from, to);
        double seconds = bench_now() - begin;
        ours[i] = rate(seconds);
        ratio[i] = plain / seconds;
    }
    double median = bench_median(ours, (size_t)run->rounds);
    report_add(name, text, median, "MB/s", 0);
    snprintf(dotted, sizeof dotted, "%s.samples", name);
    report_add(dotted, "... of 40 kB each", median * 1e6 / SAMPLE, "samples/s", 0);
    snprintf(dotted, sizeof dotted, "%s.ratio", name);
    report_add(dotted, "... against a plain write with fsync", bench_median(ratio, (size_t)run->rounds), "times", 2);
    data_remove(from);
    data_remove(to);
}

static void verified_read(void) {
    char path[BENCH_PATH];
    struct os_file file;
    struct os_map map;
    struct tbl *tbl;
    uint64_t bytes, problems;
    mldf_error err;
    data_path(run, "bench.tbl", path);
    (void)tbl_write(path, true, false, 0);
    bench_check(mldfi_file_open(&file, path, OS_OPEN_READ, &err), &err, path);
    bench_check(mldfi_file_size(&file, &bytes, &err), &err, path);
    bench_check(mldfi_map_open(&map, &file, bytes, &err), &err, path);
    bench_check(mldfi_tbl_open(&tbl, map.data, map.bytes, &err), &err, path);
    double best = 0;
    for (int i = 0; i < run->rounds; i++) {
        double begin = bench_now();
        bench_check(mldfi_tbl_verify(tbl, NULL, NULL, &problems, &err), &err, path);
        double now = rate(bench_now() - begin) / 1e3;
        best = now > best ? now : best;
    }
    report_add("tbl.verified_read", "reading with checksums, mapped, in the page cache", best, "GB/s", 2);
    mldfi_tbl_close(tbl);
    mldfi_map_close(&map);
    mldfi_file_close(&file);
    data_remove(path);
}

/* ---- Opening a tar ---------------------------------------------------------------------------------------------------------- */

enum { OPEN_SAMPLES = 50000, OPEN_BYTES = 3000 }; /* an image and a label each: 100,000 members */

static void write_many(const char *path) {
    struct tar_writer *w;
    mldf_error err;
    bench_check(mldfi_tar_writer_open(&w, path, true, &err), &err, path);
    for (uint64_t i = 0; i < OPEN_SAMPLES; i++) {
        char key[32];
        snprintf(key, sizeof key, "%09llu", (unsigned long long)i);
        bench_check(mldfi_tar_writer_part(w, key, "jpg", source + i % 100 * OPEN_BYTES, OPEN_BYTES, &err), &err, path);
        bench_check(mldfi_tar_writer_part(w, key, "cls", key + 5, 4, &err), &err, path);
    }
    bench_check(mldfi_tar_writer_finish(w, &err), &err, path);
    mldfi_tar_writer_free(w);
}

/* Milliseconds. cold: the page cache has forgotten the archive and its index. */
static double open_once(const char *path, const char *kept, mldf_tar_index how, bool cold) {
    mldf_reader_options options = MLDF_READER_OPTIONS_INIT;
    mldf_reader *reader;
    mldf_error err;
    options.tar_index = how;
    for (int i = 0; cold && i < 2; i++) {
        struct os_file file;
        bench_check(mldfi_file_open(&file, i ? kept : path, OS_OPEN_READ, &err), &err, path);
        bench_check(mldfi_file_sync(&file, &err), &err, path);
        mldfi_file_forget(&file, 0, 0);
        mldfi_file_close(&file);
    }
    double begin = bench_now();
    bench_check(mldf_reader_open(path, &options, &reader, &err), &err, path);
    double seconds = bench_now() - begin;
    if (mldf_reader_sample_count(reader) != OPEN_SAMPLES)
        bench_die("%s: wrong number of samples", path);
    mldf_reader_close(reader);
    return seconds * 1e3;
}

static void open_tar(void) {
    static const struct {
        const char *name, *text;
        mldf_tar_index how;
        bool cold;
    } kinds[] = {
        {"tar_open.walk", "walked, in the page cache", MLDF_TAR_INDEX_IGNORE, false},
        {"tar_open.kept", "with the index kept beside it, in the page cache", MLDF_TAR_INDEX_USE, false},
        {"tar_open.walk_cold", "walked, not in the page cache", MLDF_TAR_INDEX_IGNORE, true},
        {"tar_open.kept_cold", "with the index kept beside it, not in the page cache", MLDF_TAR_INDEX_USE, true}};
    char path[BENCH_PATH], kept[BENCH_PATH];
    double times[ROUNDS_MAX];
    data_path(run, "open.tar", path);
    data_path(run, "open.tar.mldfidx", kept);
    write_many(path);
    report_part("Opening a tar of 100,000 members");
    (void)open_once(path, kept, MLDF_TAR_INDEX_KEEP, false);
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        for (int i = 0; i < run->rounds; i++)
            times[i] = open_once(path, kept, kinds[k].how, kinds[k].cold);
        report_add(kinds[k].name, kinds[k].text, bench_median(times, (size_t)run->rounds), "ms", 2);
    }
    data_remove(path);
    data_remove(kept);
}

int main(int argc, char **argv) {
    struct settings settings = {.folder = NULL, .bytes = UINT64_C(512) << 20, .rounds = 3};
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--json") == 0)
            settings.json = true;
        else if (strcmp(argv[i], "--dir") == 0)
            settings.folder = value, i++;
        else if (strcmp(argv[i], "--mib") == 0)
            settings.bytes = strtoull(value, NULL, 10) << 20, i++;
        else if (strcmp(argv[i], "--rounds") == 0)
            settings.rounds = atoi(value), i++;
        else
            bench_die("usage: bench_interop --dir FOLDER [--mib N] [--rounds N] [--json]");
    }
    if (!settings.folder || settings.bytes < 1 << 20 || settings.rounds < 1 || settings.rounds > ROUNDS_MAX)
        bench_die("usage: bench_interop --dir FOLDER [--mib N] [--rounds 1..%d] [--json]", ROUNDS_MAX);
    run = &settings;
    samples = settings.bytes / SAMPLE;
    source_bytes = samples * SAMPLE;
    source = data_alloc(source_bytes);
    data_fill_random(source, source_bytes, 1);
    crc16();
    report_part("TBL, samples of 40 kB");
    write_one("counted", "version 2, number of samples known", true, false, 0);
    write_one("streamed", "version 2, number not known", false, false, 0);
    write_one("lz4", "LZ4, one thread (nothing shrinks)", true, true, 0);
    write_one("lz4_2", "LZ4, two threads", true, true, 2);
    tar_to_tbl("tar_to_tbl.mapped", "tar in a file to TBL", map_tar);
    tar_to_tbl("tar_to_tbl.pipe", "tar from a pipe to TBL", stream_tar);
    verified_read();
    open_tar();
    report_print(&settings);
    free(source);
    return 0;
}
