/* Large blocks: mapped, on huge pages where the system offers them. A batch of images is 150 MB; with pages of 4 KiB its first use costs
 * forty thousand faults, with huge pages seventy-five. Whoever writes a page first takes its fault, so that the threads share that cost
 * instead of waiting for one of them. */
#include "os/memory.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define HUGE_BYTES ((size_t)2 << 20)
#define SMALL_BLOCK ((size_t)256 << 10)

static size_t round_up(size_t bytes, size_t unit) {
    return (bytes + unit - 1) / unit * unit;
}

static void *map_pages(size_t bytes) {
    void *data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return data == MAP_FAILED ? NULL : data;
}

/* A multiple of HUGE_BYTES, aligned to it: more is mapped and both ends are given back. */
static void *map_huge(size_t bytes) {
    uint8_t *data = map_pages(bytes + HUGE_BYTES);
    if (!data)
        return NULL;
    size_t before = (HUGE_BYTES - (uintptr_t)data % HUGE_BYTES) % HUGE_BYTES;
    if (before)
        (void)munmap(data, before);
    (void)munmap(data + before + bytes, HUGE_BYTES - before);
#if defined(MADV_HUGEPAGE)
    (void)madvise(data + before, bytes, MADV_HUGEPAGE);
#endif
    return data + before;
}

void *mldfi_block_alloc(size_t bytes, size_t *capacity) {
    void *data = NULL;
    if (bytes > SIZE_MAX / 2)
        return NULL;
    if (bytes < SMALL_BLOCK) {
        *capacity = round_up(bytes ? bytes : 1, 64);
        return posix_memalign(&data, 64, *capacity) == 0 ? data : NULL;
    }
    *capacity = round_up(bytes, bytes < HUGE_BYTES ? (size_t)64 << 10 : HUGE_BYTES);
    return bytes < HUGE_BYTES ? map_pages(*capacity) : map_huge(*capacity);
}

void mldfi_block_free(void *block, size_t capacity) {
    if (block && capacity < SMALL_BLOCK)
        free(block);
    else if (block)
        (void)munmap(block, capacity);
}

void mldfi_memory_huge(void *memory, size_t bytes) {
#if defined(MADV_HUGEPAGE)
    uintptr_t begin = (uintptr_t)memory, end = begin + bytes;
    begin = (begin + HUGE_BYTES - 1) / HUGE_BYTES * HUGE_BYTES;
    end = end / HUGE_BYTES * HUGE_BYTES;
    if (begin < end)
        (void)madvise((void *)begin, end - begin, MADV_HUGEPAGE);
#else
    (void)memory, (void)bytes;
#endif
}

/* No page is smaller than this; one that is larger is looked at more than once, which costs nothing. */
enum { LEAST_PAGE = 4096 };

void mldfi_memory_touch(const void *data, size_t bytes) {
    const volatile uint8_t *at = data;
    for (size_t i = 0; i < bytes; i += LEAST_PAGE - (uintptr_t)(at + i) % LEAST_PAGE)
        (void)at[i];
}

uint64_t mldfi_memory_bytes(void) {
    long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);
    return pages > 0 && bytes > 0 ? (uint64_t)pages * (uint64_t)bytes : 0;
}

/* ---- Fork ----------------------------------------------------------------------------------------------------------------- */

void mldfi_fork_guard_begin(struct os_fork_guard *guard) {
    guard->process = (long)getpid();
    guard->page = NULL;
#if defined(MADV_WIPEONFORK)
    size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *page = map_pages(bytes);
    if (page && madvise(page, bytes, MADV_WIPEONFORK) != 0) {
        (void)munmap(page, bytes);
        page = NULL;
    }
    if (page)
        *page = 1; /* a child reads zero here */
    guard->page = page;
#endif
}

bool mldfi_fork_guard_is_ours(const struct os_fork_guard *guard) {
    return guard->page ? *guard->page == 1 : guard->process == (long)getpid();
}

void mldfi_fork_guard_end(struct os_fork_guard *guard) {
    if (guard->page)
        (void)munmap(guard->page, (size_t)sysconf(_SC_PAGESIZE));
    guard->page = NULL;
}
