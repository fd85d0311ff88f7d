/* tests/fault/failing_alloc.h: the n-th allocation of the library fails. Include it in one test, list the five symbols in its .wrap file, and
 * set `countdown` to n; it is 0 when that allocation was reached. Shared libraries (zstd, codecs) are not affected. With fsync in the .wrap
 * file too nothing waits for the disk: thousands of runs would take as long as it likes, and power is not what fails here. */
#ifndef MLDF_TESTS_FAILING_ALLOC_H
#define MLDF_TESTS_FAILING_ALLOC_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

static atomic_long countdown; /* the allocation that fails; 0: none */

static bool fails(void) {
    return atomic_load(&countdown) > 0 && atomic_fetch_sub(&countdown, 1) == 1;
}

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__real_aligned_alloc(size_t align, size_t bytes);
int __real_posix_memalign(void **out, size_t align, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);
void *__wrap_aligned_alloc(size_t align, size_t bytes);
int __wrap_posix_memalign(void **out, size_t align, size_t bytes);

void *__wrap_malloc(size_t bytes) {
    return fails() ? (errno = ENOMEM, NULL) : __real_malloc(bytes);
}
void *__wrap_calloc(size_t count, size_t bytes) {
    return fails() ? (errno = ENOMEM, NULL) : __real_calloc(count, bytes);
}
void *__wrap_realloc(void *old, size_t bytes) {
    return fails() ? (errno = ENOMEM, NULL) : __real_realloc(old, bytes);
}
void *__wrap_aligned_alloc(size_t align, size_t bytes) {
    return fails() ? (errno = ENOMEM, NULL) : __real_aligned_alloc(align, bytes);
}
int __wrap_posix_memalign(void **out, size_t align, size_t bytes) {
    return fails() ? ENOMEM : __real_posix_memalign(out, align, bytes);
}

int __wrap_fsync(int fd);
int __wrap_fsync(int fd) {
    (void)fd;
    return 0;
}

#endif
