/* bench_container: the container's numbers: open, random access, writing, memory, size. `make bench` runs it through run.sh, which
 * makes the folder; docs/benchmarks.md says what each number means. The parts are in container_read.c, container_write.c, container_memory.c and container_layout.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

static const struct part {
    const char *name;
    void (*run)(const struct settings *settings);
} parts[] = {{"memory", bench_memory}, /* first: this process has nothing yet that its children would inherit */
             {"open", bench_open},          {"get", bench_get},   {"throughput", bench_throughput},
             {"zstd", bench_zstd},          {"rows", bench_rows}, {"overhead", bench_overhead},
             {"identical", bench_identical}};
enum { PARTS = sizeof parts / sizeof *parts };

static void usage(FILE *to) {
    fputs("usage: bench_container --dir FOLDER [--quick] [--json] [--only PART,PART] [--mib N] [--rounds N]\n"
          "  --dir      where to write files: on the disk to be measured\n"
          "  --quick    a tenth of most sizes\n"
          "  --json     JSON instead of a table\n"
          "  --only     some parts:",
          to);
    for (size_t i = 0; i < PARTS; i++)
        fprintf(to, " %s", parts[i].name);
    fputs("\n"
          "  --mib      size of the throughput runs in MiB (2048, or what a sixth of the memory holds)\n"
          "  --rounds   of the throughput runs (3)\n",
          to);
}

static bool wanted(const struct settings *settings, const char *name) {
    size_t length = strlen(name);
    for (const char *at = settings->only; at && *at; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == length && strncmp(at, name, length) == 0)
            return true;
    return !settings->only;
}

static void check_names(const char *only) {
    for (const char *at = only; at && *at; at += strcspn(at, ","), at += *at == ',') {
        size_t length = strcspn(at, ","), i = 0;
        while (i < PARTS && (strlen(parts[i].name) != length || strncmp(at, parts[i].name, length) != 0))
            i++;
        if (i == PARTS)
            bench_die("no part \"%.*s\"; see --help", (int)length, at);
    }
}

static uint64_t number(const char *text, uint64_t most) {
    char *end;
    unsigned long long value = strtoull(text, &end, 10);
    if (*end || end == text || value == 0 || value > most)
        bench_die("\"%s\" is not a number from 1 to %llu", text, (unsigned long long)most);
    return value;
}

/* The source, its copy in the page cache and the kernel's need for air must fit. */
static uint64_t fitting_bytes(void) {
    uint64_t most = UINT64_C(2) << 30, memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    return memory / 6 < most ? memory / 6 : most;
}

static void parse(int argc, char **argv, struct settings *settings) {
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--quick") == 0) {
            settings->quick = true;
        } else if (strcmp(argv[i], "--json") == 0) {
            settings->json = true;
        } else if (strcmp(argv[i], "--help") == 0) {
            usage(stdout);
            exit(0);
        } else if (value && strcmp(argv[i], "--dir") == 0) {
            settings->folder = argv[++i];
        } else if (value && strcmp(argv[i], "--only") == 0) {
            settings->only = argv[++i];
        } else if (value && strcmp(argv[i], "--mib") == 0) {
            settings->bytes = number(argv[++i], 1 << 20) << 20;
        } else if (value && strcmp(argv[i], "--rounds") == 0) {
            settings->rounds = (int)number(argv[++i], 32);
        } else {
            usage(stderr);
            exit(2);
        }
    }
    if (!settings->folder) {
        usage(stderr);
        exit(2);
    }
    check_names(settings->only);
    if (settings->bytes == 0)
        settings->bytes = settings->quick ? fitting_bytes() / 10 : fitting_bytes();
}

int main(int argc, char **argv) {
    struct settings settings = {.rounds = 3};
    parse(argc, argv, &settings);
    for (size_t i = 0; i < PARTS; i++)
        if (wanted(&settings, parts[i].name)) {
            char name[64];
            struct bench_others others = bench_others_begin();
            parts[i].run(&settings);
            snprintf(name, sizeof name, "%s.others", parts[i].name);
            report_add(name, "(CPUs that other processes kept busy meanwhile)", bench_others_end(&others), "CPUs", 2);
        }
    report_print(&settings);
    return 0;
}
