/* LD_PRELOAD: the n-th call of one kind fails, or ends the process, once. ATTACK_FAIL=KIND:N:WHAT, with KIND malloc, open, read, write,
 * fsync, rename, ftruncate, mmap, close, unlink, or any (all of them but malloc, counted together); WHAT is an errno's number, "short" (one
 * byte is read or written) or "kill" (SIGKILL in place of the call). ATTACK_FAIL_LOG names a file that is made when it fires.
 * ATTACK_COUNT names a file that gets the number of calls at the end. fsync is never passed on: no run waits for a disk. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

enum kind { MALLOC, OPEN, READ, WRITE, FSYNC, RENAME, FTRUNCATE, MMAP, CLOSE, UNLINK, KINDS };
static const char *const names[KINDS] = {"malloc", "open",      "read", "write", "fsync",
                                         "rename", "ftruncate", "mmap", "close", "unlink"};
static atomic_long counts[KINDS], any;
static int chosen = -1; /* a kind; KINDS: any */
static long number;
static int code; /* errno; -1: short; -2: kill */
static const char *log_path;
static atomic_bool ready;

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);
void *__libc_memalign(size_t align, size_t bytes);

__attribute__((constructor)) static void begin(void) {
    const char *text = getenv("ATTACK_FAIL"), *colon = text ? strchr(text, ':') : NULL;
    log_path = getenv("ATTACK_FAIL_LOG");
    if (colon) {
        for (int k = 0; k < KINDS; k++)
            if (strlen(names[k]) == (size_t)(colon - text) && strncmp(text, names[k], (size_t)(colon - text)) == 0)
                chosen = k;
        if (strncmp(text, "any:", 4) == 0)
            chosen = KINDS;
        number = strtol(colon + 1, NULL, 10);
        const char *what = strchr(colon + 1, ':');
        code = !what ? EIO : strcmp(what, ":short") == 0 ? -1 : strcmp(what, ":kill") == 0 ? -2 : atoi(what + 1);
    }
    atomic_store(&ready, true);
}

__attribute__((destructor)) static void end(void) {
    const char *path = getenv("ATTACK_COUNT");
    char text[400];
    int used = 0;
    if (!path)
        return;
    for (int k = 0; k < KINDS; k++)
        used += snprintf(text + used, sizeof text - (size_t)used, "%s %ld\n", names[k], atomic_load(&counts[k]));
    used += snprintf(text + used, sizeof text - (size_t)used, "any %ld\n", atomic_load(&any));
    long fd = syscall(SYS_openat, AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
    (void)syscall(SYS_write, fd, text, used);
    (void)syscall(SYS_close, fd);
}

/* 0: go on; else what is to happen. */
static int strike(enum kind kind) {
    if (!atomic_load(&ready))
        return 0;
    long mine = atomic_fetch_add(&counts[kind], 1) + 1, all = kind == MALLOC ? 0 : atomic_fetch_add(&any, 1) + 1;
    if (!((chosen == (int)kind && mine == number) || (chosen == KINDS && kind != MALLOC && all == number)))
        return 0;
    if (log_path) {
        long fd = syscall(SYS_openat, AT_FDCWD, log_path, O_CREAT | O_WRONLY, 0600);
        (void)syscall(SYS_close, fd);
    }
    if (code == -2)
        (void)syscall(SYS_kill, getpid(), SIGKILL);
    if (code > 0)
        errno = code;
    return code;
}

#define REAL(name) \
    static __typeof__(&name) real; \
    if (!real) \
    real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

void *malloc(size_t bytes) {
    return strike(MALLOC) ? NULL : __libc_malloc(bytes);
}
void *calloc(size_t count, size_t bytes) {
    return strike(MALLOC) ? NULL : __libc_calloc(count, bytes);
}
void *realloc(void *old, size_t bytes) {
    return strike(MALLOC) ? NULL : __libc_realloc(old, bytes);
}
void *aligned_alloc(size_t align, size_t bytes) {
    return strike(MALLOC) ? NULL : __libc_memalign(align, bytes);
}
int posix_memalign(void **out, size_t align, size_t bytes) {
    void *p = strike(MALLOC) ? NULL : __libc_memalign(align, bytes);
    if (!p)
        return ENOMEM;
    *out = p;
    return 0;
}

#define OPEN_BODY(call) \
    mode_t mode = 0; \
    if (flags & (O_CREAT | O_TMPFILE)) { \
        va_list args; \
        va_start(args, flags); \
        mode = (mode_t)va_arg(args, int); \
        va_end(args); \
    } \
    return strike(OPEN) > 0 ? -1 : (int)syscall call

int open(const char *path, int flags, ...) {
    OPEN_BODY((SYS_openat, AT_FDCWD, path, flags, mode));
}
int open64(const char *path, int flags, ...) {
    OPEN_BODY((SYS_openat, AT_FDCWD, path, flags, mode));
}
int openat(int at, const char *path, int flags, ...) {
    OPEN_BODY((SYS_openat, at, path, flags, mode));
}
int openat64(int at, const char *path, int flags, ...) {
    OPEN_BODY((SYS_openat, at, path, flags, mode));
}

static size_t allowed(int what, size_t bytes) {
    return what == -1 && bytes > 1 ? 1 : bytes;
}
ssize_t read(int fd, void *data, size_t bytes) {
    int what = strike(READ);
    return what > 0 ? -1 : (ssize_t)syscall(SYS_read, fd, data, allowed(what, bytes));
}
ssize_t pread(int fd, void *data, size_t bytes, off_t at) {
    int what = strike(READ);
    return what > 0 ? -1 : (ssize_t)syscall(SYS_pread64, fd, data, allowed(what, bytes), at);
}
ssize_t pread64(int fd, void *data, size_t bytes, off64_t at) {
    return pread(fd, data, bytes, at);
}
ssize_t write(int fd, const void *data, size_t bytes) {
    int what = fd == STDERR_FILENO ? 0 : strike(WRITE); /* the message must get out */
    return what > 0 ? -1 : (ssize_t)syscall(SYS_write, fd, data, allowed(what, bytes));
}
ssize_t pwrite(int fd, const void *data, size_t bytes, off_t at) {
    int what = strike(WRITE);
    return what > 0 ? -1 : (ssize_t)syscall(SYS_pwrite64, fd, data, allowed(what, bytes), at);
}
ssize_t pwrite64(int fd, const void *data, size_t bytes, off64_t at) {
    return pwrite(fd, data, bytes, at);
}
ssize_t copy_file_range(int in, off64_t *in_at, int out, off64_t *out_at, size_t bytes, unsigned flags) {
    int what = strike(WRITE);
    return what > 0 ? -1 : (ssize_t)syscall(SYS_copy_file_range, in, in_at, out, out_at, allowed(what, bytes), flags);
}
int fsync(int fd) {
    (void)fd;
    return strike(FSYNC) > 0 ? -1 : 0;
}
int fdatasync(int fd) {
    return fsync(fd);
}
int rename(const char *from, const char *to) {
    return strike(RENAME) > 0 ? -1 : (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}
int renameat(int from_at, const char *from, int to_at, const char *to) {
    return strike(RENAME) > 0 ? -1 : (int)syscall(SYS_renameat2, from_at, from, to_at, to, 0);
}
int renameat2(int from_at, const char *from, int to_at, const char *to, unsigned flags) {
    return strike(RENAME) > 0 ? -1 : (int)syscall(SYS_renameat2, from_at, from, to_at, to, flags);
}
int link(const char *from, const char *to) {
    return strike(RENAME) > 0 ? -1 : (int)syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
}
int linkat(int from_at, const char *from, int to_at, const char *to, int flags) {
    return strike(RENAME) > 0 ? -1 : (int)syscall(SYS_linkat, from_at, from, to_at, to, flags);
}
int ftruncate(int fd, off_t bytes) {
    return strike(FTRUNCATE) > 0 ? -1 : (int)syscall(SYS_ftruncate, fd, bytes);
}
int ftruncate64(int fd, off64_t bytes) {
    return ftruncate(fd, bytes);
}
void *mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset) {
    if (strike(MMAP) > 0)
        return MAP_FAILED;
    return (void *)syscall(SYS_mmap, at, bytes, protection, flags, fd, offset);
}
void *mmap64(void *at, size_t bytes, int protection, int flags, int fd, off64_t offset) {
    return mmap(at, bytes, protection, flags, fd, offset);
}
int close(int fd) {
    int what = strike(CLOSE), keep = errno;
    int result = (int)syscall(SYS_close, fd); /* Linux closes it even when it reports a failure */
    if (what > 0)
        errno = keep;
    return what > 0 ? -1 : result;
}
int unlink(const char *path) {
    return strike(UNLINK) > 0 ? -1 : (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}
