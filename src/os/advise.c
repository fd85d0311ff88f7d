/* madvise, mincore and posix_fadvise behind one face. */
#include "os/advise.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

/* Linux reads no more than its readahead size (128 KiB by default) for one hint, however large the range. */
#define WANT_PIECE ((uint64_t)128 << 10)

static uint64_t page_bytes(void) {
    long bytes = sysconf(_SC_PAGESIZE);
    return bytes > 0 ? (uint64_t)bytes : 4096;
}

/* madvise takes a plain pointer; the mapping stays read-only. */
static void *place(const struct os_map *map, uint64_t offset) {
    return (void *)(uintptr_t)(map->data + offset);
}

/* The pages that the range touches (outer) or fills (inner); false: none. */
static bool pages_of(const struct os_map *map, uint64_t offset, uint64_t bytes, bool inner, uint64_t *from,
                     uint64_t *to) {
    uint64_t page = page_bytes();
    if (!map->data || offset >= map->bytes || bytes == 0)
        return false;
    uint64_t end = bytes < map->bytes - offset ? offset + bytes : map->bytes;
    *from = inner ? (offset + page - 1) / page * page : offset / page * page;
    *to = inner && end != map->bytes ? end / page * page : end;
    return *from < *to;
}

void mldfi_map_pattern(const struct os_map *map, os_pattern pattern) {
    int advice = pattern == OS_PATTERN_RANDOM       ? MADV_RANDOM
                 : pattern == OS_PATTERN_SEQUENTIAL ? MADV_SEQUENTIAL
                                                    : MADV_NORMAL;
    if (map->data)
        (void)madvise(place(map, 0), (size_t)map->bytes, advice);
}

void mldfi_map_want(const struct os_map *map, uint64_t offset, uint64_t bytes) {
    uint64_t from, to;
    if (!pages_of(map, offset, bytes, false, &from, &to))
        return;
    for (uint64_t at = from; at < to; at += WANT_PIECE)
        (void)madvise(place(map, at), (size_t)(to - at < WANT_PIECE ? to - at : WANT_PIECE), MADV_WILLNEED);
}

void mldfi_map_forget(const struct os_map *map, const struct os_file *file, uint64_t offset, uint64_t bytes) {
    uint64_t from, to;
    if (!pages_of(map, offset, bytes, true, &from, &to))
        return;
    /* The page cache keeps what a process has mapped: first the one, then the other. */
    (void)madvise(place(map, from), (size_t)(to - from), MADV_DONTNEED);
    if (file->fd >= 0)
        mldfi_file_forget(file, from, to - from);
}

bool mldfi_map_is_resident(const struct os_map *map, uint64_t offset) {
#if defined(__linux__)
    unsigned char state = 1;
    uint64_t from, to;
    if (!pages_of(map, offset, 1, false, &from, &to))
        return true;
    return mincore(place(map, from), 1, &state) != 0 || (state & 1);
#else
    (void)map, (void)offset;
    return true;
#endif
}

void mldfi_file_want(const struct os_file *file, uint64_t offset, uint64_t bytes) {
#if defined(__linux__)
    if (file->fd < 0 || offset > (uint64_t)INT64_MAX || bytes > (uint64_t)INT64_MAX - offset)
        return;
    for (uint64_t done = 0; done < bytes; done += WANT_PIECE) {
        uint64_t now = bytes - done < WANT_PIECE ? bytes - done : WANT_PIECE;
        (void)posix_fadvise(file->fd, (off_t)(offset + done), (off_t)now, POSIX_FADV_WILLNEED);
    }
#else
    (void)file, (void)offset, (void)bytes;
#endif
}
