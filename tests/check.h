/* tests/check.h: all the test framework there is. One header, no registration:
 *
 *     #include "check.h"
 *
 *     static void crc32c_of_nothing_is_zero(void) {
 *         CHECK_EQ_U64(0, mldf_crc32c(0, NULL, 0));
 *     }
 *
 *     int main(int argc, char **argv) {
 *         check_begin(argc, argv);             (optional: `test_x NAME...` then runs only those)
 *         RUN(crc32c_of_nothing_is_zero);
 *         return check_end();
 *     }
 *
 * CHECK... prints file, line and both values, marks the test as failed and goes on; REQUIRE... also returns from the
 * function it stands in (which must return void). The first value is the expected one. CHECK may be used from any thread.
 * MLDF_TEST_SEED=N repeats a random run; check_seed() prints the seed it gives. check_tmpdir() is removed at exit; keep it
 * with MLDF_TEST_KEEP=1. Values are evaluated once.
 */
#ifndef MLDF_TESTS_CHECK_H
#define MLDF_TESTS_CHECK_H

#include <dirent.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "mldf/base.h"

#if defined(__GNUC__)
#define CHECK_UNUSED __attribute__((unused))
#define CHECK_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define CHECK_UNUSED
#define CHECK_PRINTF(f, a)
#endif

static atomic_uint check_failures_; /* in the test that runs now */
static unsigned check_failed_tests_, check_run_tests_;
static int check_argc_;
static char **check_argv_;

CHECK_UNUSED CHECK_PRINTF(3, 4) static void check_fail(const char *file, int line, const char *format, ...) {
    char text[4096];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    /* A loop over every bit of a file should not fill the disk with the same line. */
    unsigned n = atomic_fetch_add(&check_failures_, 1u);
    if (n < 50)
        fprintf(stderr, "%s:%d: %s\n", file, line, text);
    else if (n == 50)
        fprintf(stderr, "%s:%d: more failures, not shown\n", file, line);
}

CHECK_UNUSED static bool check_true_(bool good, const char *file, int line, const char *text) {
    if (!good)
        check_fail(file, line, "not true: %s", text);
    return good;
}

CHECK_UNUSED static bool check_eq_u64_(uint64_t want, uint64_t got, const char *file, int line, const char *text) {
    if (want != got)
        check_fail(file, line, "%s: expected %" PRIu64 " (0x%" PRIx64 "), got %" PRIu64 " (0x%" PRIx64 ")", text, want,
                   want, got, got);
    return want == got;
}

CHECK_UNUSED static bool check_eq_int_(int64_t want, int64_t got, const char *file, int line, const char *text) {
    if (want != got)
        check_fail(file, line, "%s: expected %" PRId64 ", got %" PRId64, text, want, got);
    return want == got;
}

/* Exact, but every NaN equals every NaN. */
CHECK_UNUSED static bool check_eq_f64_(double want, double got, const char *file, int line, const char *text) {
    bool both_nan = (want != want) && (got != got);
    bool good = both_nan || (want <= got && want >= got);
    if (!good)
        check_fail(file, line, "%s: expected %.17g, got %.17g", text, want, got);
    return good;
}

CHECK_UNUSED static bool check_eq_str_(const char *want, const char *got, const char *file, int line,
                                       const char *text) {
    bool good = (want == got) || (want && got && strcmp(want, got) == 0);
    if (!good)
        check_fail(file, line, "%s:\n    expected \"%s\"\n    got      \"%s\"", text, want ? want : "(null)",
                   got ? got : "(null)");
    return good;
}

CHECK_UNUSED static bool check_contains_(const char *part, const char *whole, const char *file, int line,
                                         const char *text) {
    bool good = whole && part && strstr(whole, part);
    if (!good)
        check_fail(file, line, "%s:\n    expected a text with \"%s\"\n    got \"%s\"", text, part ? part : "(null)",
                   whole ? whole : "(null)");
    return good;
}

CHECK_UNUSED static void check_hex_(char *out, size_t out_bytes, const uint8_t *data, size_t bytes, size_t from) {
    size_t used = 0;
    out[0] = 0;
    for (size_t i = from; i < bytes && i < from + 16 && used + 4 < out_bytes; i++)
        used += (size_t)snprintf(out + used, out_bytes - used, "%02x ", data[i]);
}

CHECK_UNUSED static bool check_mem_eq_(const void *want, size_t want_bytes, const void *got, size_t got_bytes,
                                       const char *file, int line, const char *text) {
    const uint8_t *w = (const uint8_t *)want, *g = (const uint8_t *)got;
    char wh[64], gh[64];
    if (want_bytes != got_bytes) {
        check_fail(file, line, "%s: expected %zu bytes, got %zu", text, want_bytes, got_bytes);
        return false;
    }
    for (size_t i = 0; i < want_bytes; i++) {
        if (w[i] == g[i])
            continue;
        check_hex_(wh, sizeof wh, w, want_bytes, i);
        check_hex_(gh, sizeof gh, g, got_bytes, i);
        check_fail(file, line, "%s: first difference at byte %zu of %zu:\n    expected %s\n    got      %s", text, i,
                   want_bytes, wh, gh);
        return false;
    }
    return true;
}

CHECK_UNUSED static bool check_status_(mldf_status want, mldf_status got, const mldf_error *err, const char *file,
                                       int line, const char *text) {
    if (want == got)
        return true;
    if (err && got < 0)
        check_fail(file, line,
                   "%s: expected %s (%d), got %s (%d)\n    offset %" PRId64 ", sample %" PRId64
                   ", field \"%s\", errno %d: %s",
                   text, mldf_status_name(want), (int)want, mldf_status_name(got), (int)got, (int64_t)err->offset,
                   (int64_t)err->sample, err->field, err->sys_errno, err->message);
    else
        check_fail(file, line, "%s: expected %s (%d), got %s (%d)", text, mldf_status_name(want), (int)want,
                   mldf_status_name(got), (int)got);
    return false;
}

#define CHECK(cond) ((void)check_true_((cond) ? true : false, __FILE__, __LINE__, #cond))
#define CHECK_EQ_U64(want, got) ((void)check_eq_u64_((want), (got), __FILE__, __LINE__, #got))
#define CHECK_EQ_INT(want, got) ((void)check_eq_int_((want), (got), __FILE__, __LINE__, #got))
#define CHECK_EQ_F64(want, got) ((void)check_eq_f64_((want), (got), __FILE__, __LINE__, #got))
#define CHECK_EQ_STR(want, got) ((void)check_eq_str_((want), (got), __FILE__, __LINE__, #got))
/* The whole text of an error, as a user sees it: CHECK_CONTAINS("x.mldf: sample 3", TEXT(err)). Until the calling block ends. */
#define TEXT(err) MLDF_ERROR_TEXT(&(err))

#define CHECK_CONTAINS(part, whole) ((void)check_contains_((part), (whole), __FILE__, __LINE__, #whole))
/* CHECK_MEM_EQ(want, got, bytes); the second form also compares the lengths. */
#define CHECK_MEM_EQ(want, got, bytes) ((void)check_mem_eq_((want), (bytes), (got), (bytes), __FILE__, __LINE__, #got))
#define CHECK_BYTES_EQ(want, want_bytes, got, got_bytes) \
    ((void)check_mem_eq_((want), (want_bytes), (got), (got_bytes), __FILE__, __LINE__, #got))
/* err: the mldf_error * that the call filled, or NULL. The expression is evaluated before err is looked at. */
#define CHECK_STATUS(want, expr, err) \
    do { \
        mldf_status check_got_ = (expr); \
        (void)check_status_((want), check_got_, (err), __FILE__, __LINE__, #expr); \
    } while (0)
#define CHECK_OK(expr, err) CHECK_STATUS(MLDF_OK, expr, err)

#define REQUIRE(cond) \
    do { \
        if (!check_true_((cond) ? true : false, __FILE__, __LINE__, #cond)) \
            return; \
    } while (0)
#define REQUIRE_EQ_U64(want, got) \
    do { \
        if (!check_eq_u64_((want), (got), __FILE__, __LINE__, #got)) \
            return; \
    } while (0)
#define REQUIRE_EQ_INT(want, got) \
    do { \
        if (!check_eq_int_((want), (got), __FILE__, __LINE__, #got)) \
            return; \
    } while (0)
#define REQUIRE_EQ_STR(want, got) \
    do { \
        if (!check_eq_str_((want), (got), __FILE__, __LINE__, #got)) \
            return; \
    } while (0)
#define REQUIRE_MEM_EQ(want, got, bytes) \
    do { \
        if (!check_mem_eq_((want), (bytes), (got), (bytes), __FILE__, __LINE__, #got)) \
            return; \
    } while (0)
#define REQUIRE_STATUS(want, expr, err) \
    do { \
        mldf_status check_got_ = (expr); \
        if (!check_status_((want), check_got_, (err), __FILE__, __LINE__, #expr)) \
            return; \
    } while (0)
#define REQUIRE_OK(expr, err) REQUIRE_STATUS(MLDF_OK, expr, err)

/* ---- Running ---------------------------------------------------------------------------------------------------- */

CHECK_UNUSED static void check_begin(int argc, char **argv) {
    check_argc_ = argc;
    check_argv_ = argv;
}

CHECK_UNUSED static bool check_wanted_(const char *name) {
    for (int i = 1; i < check_argc_; i++)
        if (strcmp(check_argv_[i], name) == 0)
            return true;
    return check_argc_ <= 1;
}

CHECK_UNUSED static void check_run_(void (*test)(void), const char *name) {
    if (!check_wanted_(name))
        return;
    atomic_store(&check_failures_, 0u);
    check_run_tests_++;
    test();
    bool good = atomic_load(&check_failures_) == 0;
    if (!good)
        check_failed_tests_++;
    printf("%s %s\n", good ? "ok" : "FAIL", name);
    fflush(stdout);
}
#define RUN(test) check_run_((test), #test)

/* The exit code for main: 0 when every test passed. */
CHECK_UNUSED static int check_end(void) {
    printf("%u run, %u failed\n", check_run_tests_, check_failed_tests_);
    return check_failed_tests_ ? 1 : 0;
}

/* ---- Waiting for another thread or process ------------------------------------------------------------------------ */

/* Until the condition holds. The limit ends a test that would hang; no result may depend on how quick the machine is, so it is long. */
#define CHECK_SOON(condition) \
    do { \
        time_t check_began_ = time(NULL); \
        while (!(condition) && time(NULL) - check_began_ < 300) \
            usleep(1000); \
        if (!(condition)) \
            check_fail(__FILE__, __LINE__, "did not happen within five minutes: %s", #condition); \
    } while (0)

/* ---- Random numbers: splitmix64, the same everywhere -------------------------------------------------------------- */

CHECK_UNUSED static uint64_t check_seed(void) {
    const char *text = getenv("MLDF_TEST_SEED");
    uint64_t seed;
    if (text && *text) {
        seed = strtoull(text, NULL, 0);
    } else {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        seed = ((uint64_t)now.tv_sec * 1000003u) ^ ((uint64_t)now.tv_nsec << 20) ^ (uint64_t)getpid();
        seed &= 0xffffffffffffu;
    }
    printf("seed %" PRIu64 " (repeat with MLDF_TEST_SEED=%" PRIu64 ")\n", seed, seed);
    fflush(stdout);
    return seed;
}

CHECK_UNUSED static uint64_t check_rand(uint64_t *state) {
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* 0 .. bound - 1; 0 when bound is 0. */
CHECK_UNUSED static uint64_t check_rand_below(uint64_t *state, uint64_t bound) {
    return bound ? check_rand(state) % bound : 0;
}

CHECK_UNUSED static void check_rand_bytes(uint64_t *state, void *out, size_t bytes) {
    uint8_t *p = (uint8_t *)out;
    for (size_t i = 0; i < bytes; i++)
        p[i] = (uint8_t)(check_rand(state) >> 32);
}

/* ---- Files ------------------------------------------------------------------------------------------------------ */

static char check_tmpdir_path_[512];
static pid_t check_tmpdir_owner_;

CHECK_UNUSED static void check_remove_tree(const char *path) {
    struct stat st;
    if (lstat(path, &st) != 0)
        return;
    if (S_ISDIR(st.st_mode)) {
        chmod(path, 0700);
        DIR *dir = opendir(path);
        struct dirent *entry;
        while (dir && (entry = readdir(dir)) != NULL) {
            char child[4096];
            if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
                continue;
            int n = snprintf(child, sizeof child, "%s/%s", path, entry->d_name);
            if (n > 0 && (size_t)n < sizeof child)
                check_remove_tree(child);
        }
        if (dir)
            closedir(dir);
        rmdir(path);
    } else {
        unlink(path);
    }
}

CHECK_UNUSED static void check_remove_tmpdir_(void) {
    if (check_tmpdir_path_[0] && check_tmpdir_owner_ == getpid())
        check_remove_tree(check_tmpdir_path_);
}

/* A fresh folder of this process, the same one at every call. */
CHECK_UNUSED static const char *check_tmpdir(void) {
    if (check_tmpdir_path_[0])
        return check_tmpdir_path_;
    const char *base = getenv("TMPDIR");
    int n =
        snprintf(check_tmpdir_path_, sizeof check_tmpdir_path_, "%s/mldf-test-XXXXXX", base && *base ? base : "/tmp");
    if (n < 0 || (size_t)n >= sizeof check_tmpdir_path_ || !mkdtemp(check_tmpdir_path_)) {
        perror("check_tmpdir");
        exit(3);
    }
    check_tmpdir_owner_ = getpid();
    if (getenv("MLDF_TEST_KEEP"))
        fprintf(stderr, "keeping %s\n", check_tmpdir_path_);
    else
        atexit(check_remove_tmpdir_);
    return check_tmpdir_path_;
}

/* check_tmpdir()/name, in one of eight buffers that take turns. */
CHECK_UNUSED static const char *check_tmp(const char *name) {
    static char paths[8][1024];
    static unsigned turn;
    char *path = paths[turn++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", check_tmpdir(), name);
    return path;
}

/* A file of the source tree ("docs/spec/vectors/..."), wherever the test runs. */
CHECK_UNUSED static const char *check_source(const char *name) {
    static char paths[8][2048];
    static unsigned turn;
    char *path = paths[turn++ % 8];
    const char *root = getenv("MLDF_SOURCE_DIR");
    snprintf(path, sizeof paths[0], "%s/%s", root && *root ? root : ".", name);
    return path;
}

/* The whole file in memory that the caller frees, or NULL. Ends the test program when memory runs out. */
CHECK_UNUSED static uint8_t *check_read_file(const char *path, size_t *bytes) {
    FILE *f = fopen(path, "rb");
    size_t capacity = 65536, used = 0;
    *bytes = 0;
    if (!f)
        return NULL;
    uint8_t *data = (uint8_t *)malloc(capacity);
    for (;;) {
        if (!data) {
            fprintf(stderr, "check_read_file: no memory\n");
            exit(3);
        }
        size_t n = fread(data + used, 1, capacity - used, f);
        used += n;
        if (n == 0)
            break;
        if (used == capacity) {
            capacity *= 2;
            data = (uint8_t *)realloc(data, capacity);
        }
    }
    fclose(f);
    *bytes = used;
    return data;
}

CHECK_UNUSED static bool check_write_file(const char *path, const void *data, size_t bytes) {
    FILE *f = fopen(path, "wb");
    if (!f)
        return false;
    bool good = fwrite(data, 1, bytes, f) == bytes;
    return fclose(f) == 0 && good;
}

#endif
