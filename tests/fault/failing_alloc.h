/* tests/fault/failing_alloc.h: the n-th allocation of the process fails, in the library, in the codecs' shared libraries and in the C library
 * alike. Include it in one test, list the five symbols in its .wrap file, and set `countdown` to n; it is 0 when that allocation was reached.
 * With FAILING_ALLOC_OURS_ONLY defined before, with a sanitizer (which has a malloc of its own) or another C library than glibc, only the
 * library's own allocations fail. With
 * fsync in the .wrap file too nothing waits for the disk: thousands of runs would take as long as it likes, and power is not what fails here. */
#ifndef MLDF_TESTS_FAILING_ALLOC_H
#define MLDF_TESTS_FAILING_ALLOC_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

static atomic_long countdown; /* the allocation that fails; 0: none */
static atomic_size_t largest; /* bytes of the largest allocation that was asked for since it was set to 0 */

static bool fails(size_t bytes) {
    size_t most = atomic_load(&largest);
    while (bytes > most && !atomic_compare_exchange_weak(&largest, &most, bytes))
        ;
    return atomic_load(&countdown) > 0 && atomic_fetch_sub(&countdown, 1) == 1;
}

#ifdef __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define FAILING_ALLOC_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FAILING_ALLOC_SANITIZED 1
#endif
#ifdef FAILING_ALLOC_SANITIZED
#define FAILING_ALLOC_OURS_ONLY 1
#else
#define FAILING_ALLOC_SANITIZED 0
#endif

#if defined(__GLIBC__) && !defined(FAILING_ALLOC_OURS_ONLY)
/* The program's malloc is that of its shared libraries too. */
enum { FAILING_ALLOC_EVERYWHERE = 1 };
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);
void *__libc_memalign(size_t align, size_t bytes);
#define REAL_MALLOC __libc_malloc
#define REAL_CALLOC __libc_calloc
#define REAL_REALLOC __libc_realloc
#define REAL_ALIGNED __libc_memalign
#else
enum { FAILING_ALLOC_EVERYWHERE = 0 };
void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__real_aligned_alloc(size_t align, size_t bytes);
#define REAL_MALLOC __real_malloc
#define REAL_CALLOC __real_calloc
#define REAL_REALLOC __real_realloc
#define REAL_ALIGNED __real_aligned_alloc
#endif

void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);
void *__wrap_aligned_alloc(size_t align, size_t bytes);
int __wrap_posix_memalign(void **out, size_t align, size_t bytes);

void *__wrap_malloc(size_t bytes) {
    return fails(bytes) ? (errno = ENOMEM, NULL) : REAL_MALLOC(bytes);
}
void *__wrap_calloc(size_t count, size_t bytes) {
    return fails(count * bytes) ? (errno = ENOMEM, NULL) : REAL_CALLOC(count, bytes);
}
void *__wrap_realloc(void *old, size_t bytes) {
    return fails(bytes) ? (errno = ENOMEM, NULL) : REAL_REALLOC(old, bytes);
}
void *__wrap_aligned_alloc(size_t align, size_t bytes) {
    return fails(bytes) ? (errno = ENOMEM, NULL) : REAL_ALIGNED(align, bytes);
}
int __wrap_posix_memalign(void **out, size_t align, size_t bytes) {
    void *memory = fails(bytes) ? NULL : REAL_ALIGNED(align, bytes);
    if (memory)
        *out = memory;
    return memory ? 0 : ENOMEM;
}

#if defined(__GLIBC__) && !defined(FAILING_ALLOC_OURS_ONLY)
/* By these names for the shared libraries, which the linker does not wrap. */
#define EVERYWHERE __attribute__((visibility("default"), used))
EVERYWHERE void *everywhere_malloc(size_t bytes) __asm__("malloc");
EVERYWHERE void *everywhere_calloc(size_t count, size_t bytes) __asm__("calloc");
EVERYWHERE void *everywhere_realloc(void *old, size_t bytes) __asm__("realloc");
EVERYWHERE void *everywhere_aligned_alloc(size_t align, size_t bytes) __asm__("aligned_alloc");
EVERYWHERE int everywhere_posix_memalign(void **out, size_t align, size_t bytes) __asm__("posix_memalign");

void *everywhere_malloc(size_t bytes) {
    return __wrap_malloc(bytes);
}
void *everywhere_calloc(size_t count, size_t bytes) {
    return __wrap_calloc(count, bytes);
}
void *everywhere_realloc(void *old, size_t bytes) {
    return __wrap_realloc(old, bytes);
}
void *everywhere_aligned_alloc(size_t align, size_t bytes) {
    return __wrap_aligned_alloc(align, bytes);
}
int everywhere_posix_memalign(void **out, size_t align, size_t bytes) {
    return __wrap_posix_memalign(out, align, bytes);
}
#endif

int __wrap_fsync(int fd);
int __wrap_fsync(int fd) {
    (void)fd;
    return 0;
}

#endif
