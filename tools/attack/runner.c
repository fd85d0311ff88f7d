/* attack_runner: mutants by the thousand, in one process that forks: a child does some runs, and when it dies the parent notes the run that it
 * died of and forks again behind it. Built with the sanitizers (make attack). Reads the corpus from standard input, a line for each file:
 * KIND <tab> PATH <tab> SECRET; writes findings to standard output, a line each: RUN <tab> KIND <tab> FILE <tab> WORDS.
 *
 *   attack_runner SEED FIRST COUNT FOLDER [kinds,...]        runs FIRST .. FIRST + COUNT - 1 in an empty folder
 *   attack_runner --make SEED RUN OUT [kinds,...]            writes the mutant of a run, and prints which file it was
 *
 * ATTACK_PLANT=crash|overflow|hang|leak|silent|leftover plants that fault in every tenth run: the attack's own test. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "use.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

enum { FILES_MAX = 2000, RUNS_OF_A_CHILD = 100, SECONDS_OF_A_RUN = 60, MEMORY_MAX_MB = 1500, ASAN_EXIT = 99 };

static struct seed_file files[FILES_MAX];
static struct content truths[FILES_MAX];
static size_t file_count;
static volatile uint64_t *shared; /* [0]: the run that the child is at; [1]: when it stopped at the end of its work */
static uint64_t run_now;
static const struct seed_file *base_now;

/* Nothing waits for a disk: what is tested here is not power. */
int fsync(int fd);
int fsync(int fd) {
    (void)fd;
    return 0;
}

static void finding(const char *kind, const char *format, ...) {
    char line[1024];
    int used = snprintf(line, sizeof line, "%llu\t%s\t%s\t", (unsigned long long)run_now, kind,
                        base_now ? base_now->path : "");
    va_list args;
    va_start(args, format);
    used += vsnprintf(line + used, sizeof line - (size_t)used - 1, format, args);
    va_end(args);
    if (used > (int)sizeof line - 2)
        used = (int)sizeof line - 2;
    for (int i = 0; i < used; i++)
        if (line[i] == '\n')
            line[i] = ' ';
    line[used++] = '\n';
    (void)!write(STDOUT_FILENO, line, (size_t)used);
}

static bool listed(const char *list, const char *kind) {
    const char *at = list ? strstr(list, kind) : NULL;
    return !list || (at && (at == list || at[-1] == ',') && (at[strlen(kind)] == ',' || at[strlen(kind)] == 0));
}

static void read_corpus(const char *kinds) {
    char line[4096];
    while (file_count < FILES_MAX && fgets(line, sizeof line, stdin)) {
        struct seed_file *f = &files[file_count];
        char *kind = strtok(line, "\t\n"), *path = strtok(NULL, "\t\n"), *secret = strtok(NULL, "\t\n");
        if (!kind || !path || !listed(kinds, kind))
            continue;
        snprintf(f->kind, sizeof f->kind, "%s", kind);
        snprintf(f->secret, sizeof f->secret, "%s", secret ? secret : "");
        f->path = strdup(path);
        FILE *in = fopen(path, "rb");
        f->data = malloc(1 << 20);
        if (!in || !f->data) {
            fprintf(stderr, "attack_runner: %s: %s\n", path, strerror(errno));
            exit(3);
        }
        f->size = fread(f->data, 1, 1 << 20, in);
        fclose(in);
        if (f->size)
            file_count++;
    }
    if (file_count == 0) {
        fprintf(stderr, "attack_runner: no file in the corpus\n");
        exit(3);
    }
}

static void make_mutant(uint64_t seed, uint64_t run, struct rng *rng, struct mutant *out) {
    *rng = rng_of_run(seed, run);
    base_now = &files[rng_below(rng, file_count)];
    const struct seed_file *other = &files[rng_below(rng, file_count)];
    mutate(rng, base_now, other, out);
}

static void plant(const char *what, struct mutant *m) {
    if (!what)
        return;
    if (strcmp(what, "crash") == 0)
        abort();
    if (strcmp(what, "overflow") == 0) {
        volatile char *p = malloc(8);
        p[8 + (m->size & 0)] = 1;
    }
    if (strcmp(what, "hang") == 0)
        for (;;)
            pause();
    if (strcmp(what, "leak") == 0)
        ((volatile char *)malloc(100))[0] = 1;
    if (strcmp(what, "leftover") == 0)
        (void)!close(open("left.tmp", O_CREAT | O_WRONLY, 0600));
}

static void child(uint64_t seed, uint64_t first, uint64_t end, const char *folder) {
    struct mutant m = {0};
    struct rng rng;
    const char *planted = getenv("ATTACK_PLANT");
    for (uint64_t run = first; run < end; run++) {
        struct itimerval limit = {.it_value = {.tv_sec = planted ? 2 : SECONDS_OF_A_RUN}};
        shared[0] = run_now = run;
        setitimer(ITIMER_REAL, &limit, NULL);
        make_mutant(seed, run, &rng, &m);
        struct use use = {folder, base_now, &truths[base_now - files], finding};
        struct content other = {0};
        if (run % 10 == 9)
            plant(planted, &m);
        if (run % 10 == 9 && planted && strcmp(planted, "silent") == 0) {
            other = *use.truth; /* what is compared with is wrong, as if every value of the file were */
            other.values = calloc(other.samples * other.fields + 1, sizeof other.values[0]);
            for (size_t i = 0; other.values && i < other.samples * other.fields; i++)
                other.values[i] = 1;
            use.truth = &other;
        }
        use_mutant(&use, &rng, &m);
        free(other.values);
    }
    setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
    free(m.data);
    shared[1] = 1;
#if defined(__SANITIZE_ADDRESS__)
    if (__lsan_do_recoverable_leak_check())
        finding("sanitizer", "leak in the runs %llu to %llu", (unsigned long long)first, (unsigned long long)end - 1);
#endif
    _exit(0);
}

static void report_death(int status) {
    run_now = shared[0];
    base_now = NULL;
    if (shared[1])
        finding("sanitizer", "the check for leaks died: status %d", status);
    else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        finding("time-out", "more than %d s", SECONDS_OF_A_RUN);
    else if (WIFEXITED(status) && WEXITSTATUS(status) == ASAN_EXIT)
        finding("sanitizer", "a sanitizer ended the run (see the log)");
    else
        finding("crash", "%s %d", WIFSIGNALED(status) ? "signal" : "exit code",
                WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

static int attack(uint64_t seed, uint64_t first, uint64_t count, const char *folder) {
    for (size_t i = 0; i < file_count; i++)
        content_of(&files[i], &truths[i]);
    if (chdir(folder) != 0) {
        fprintf(stderr, "attack_runner: %s: %s\n", folder, strerror(errno));
        return 3;
    }
    for (uint64_t at = first, end = first + count; at < end;) {
        uint64_t stop = end - at < RUNS_OF_A_CHILD ? end : at + RUNS_OF_A_CHILD;
        struct rusage usage;
        int status;
        shared[0] = at, shared[1] = 0;
        pid_t pid = fork();
        if (pid == 0)
            child(seed, at, stop, folder);
        if (pid < 0 || wait4(pid, &status, 0, &usage) != pid)
            return 3;
        if (usage.ru_maxrss / 1024 > MEMORY_MAX_MB) {
            run_now = at;
            finding("memory", "%ld MB in the runs %llu to %llu", usage.ru_maxrss / 1024, (unsigned long long)at,
                    (unsigned long long)stop - 1);
        }
        if (status != 0) {
            report_death(status);
            empty_folder(folder, NULL);
        }
        at = status == 0 || shared[1] ? stop : shared[0] + 1;
    }
    return 0;
}

static int make_one(uint64_t seed, uint64_t run, const char *out) {
    struct mutant m = {0};
    struct rng rng;
    make_mutant(seed, run, &rng, &m);
    FILE *f = fopen(out, "wb");
    if (!f || fwrite(m.data, 1, m.size, f) != m.size || fclose(f) != 0) {
        fprintf(stderr, "attack_runner: %s: %s\n", out, strerror(errno));
        return 3;
    }
    printf("%s\t%s\t%s\t%d\t%s\n", base_now->kind, base_now->path, base_now->secret, m.mended, m.what);
    free(m.data);
    return 0;
}

int main(int argc, char **argv) {
    bool make = argc > 1 && strcmp(argv[1], "--make") == 0;
    if (argc < 5) {
        fprintf(stderr, "attack_runner: SEED FIRST COUNT FOLDER [KINDS], or --make SEED RUN OUT [KINDS]\n");
        return 2;
    }
    shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 3;
    read_corpus(argc > 5 ? argv[5] : NULL);
    uint64_t numbers[3];
    for (int i = 0; i < 3; i++)
        numbers[i] = strtoull(argv[1 + i], NULL, 10);
    return make ? make_one(numbers[1], numbers[2], argv[4]) : attack(numbers[0], numbers[1], numbers[2], argv[4]);
}
