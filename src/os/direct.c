/* O_DIRECT wants offset, length and memory on multiples of the device's block: a read is widened to whole blocks of 4 KiB, goes to memory of
 * its own, and what was asked for is copied out. The copy is small against the disk. */
#include "os/direct.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/error.h"

enum { BLOCK = 4096, PIECE = 4 << 20 };

#if defined(__linux__) && defined(O_DIRECT)
mldf_status mldfi_direct_open(struct os_direct *direct, const struct os_file *file, mldf_error *err) {
    char name[64];
    /* The same file, whatever stands under its name now. */
    snprintf(name, sizeof name, "/proc/self/fd/%d", file->fd);
    direct->fd = file->fd < 0 ? -1 : open(name, O_RDONLY | O_CLOEXEC | O_DIRECT);
    if (direct->fd >= 0)
        return MLDF_OK;
    return mldfi_fail_file(err, MLDF_E_UNSUPPORTED, file->path ? file->path : "a file in memory",
                           "cannot be read past the page cache: %s", file->fd < 0 ? "it has no file" : strerror(errno));
}
#else
mldf_status mldfi_direct_open(struct os_direct *direct, const struct os_file *file, mldf_error *err) {
    direct->fd = -1;
    return mldfi_fail_file(err, MLDF_E_UNSUPPORTED, file->path ? file->path : "a file in memory",
                           "this system does not read past the page cache");
}
#endif

void mldfi_direct_close(struct os_direct *direct) {
    if (direct->fd >= 0)
        (void)close(direct->fd);
    direct->fd = -1;
}

/* Whole blocks from `offset` on; *got may end at the file's end, anywhere in a block. */
static mldf_status read_blocks(const struct os_direct *direct, const char *path, uint64_t offset, uint8_t *block,
                               size_t bytes, size_t *got, mldf_error *err) {
    ssize_t n;
    *got = 0;
    while (*got < bytes) {
        do
            n = pread(direct->fd, block + *got, bytes - *got, (off_t)(offset + *got));
        while (n < 0 && errno == EINTR);
        if (n < 0)
            return mldfi_fail_file_errno(err, errno, path, "cannot be read at byte %llu",
                                         (unsigned long long)(offset + *got));
        *got += (size_t)n;
        if (n == 0 || *got % BLOCK)
            break; /* the end */
    }
    return MLDF_OK;
}

mldf_status mldfi_direct_read(const struct os_direct *direct, const char *path, uint64_t offset, void *dst,
                              size_t bytes, mldf_error *err) {
    size_t lead = (size_t)(offset % BLOCK), room = lead + bytes < PIECE ? lead + bytes : PIECE, done = 0;
    void *memory = NULL;
    mldf_status status = MLDF_OK;
    room = (room + BLOCK - 1) / BLOCK * BLOCK;
    if (posix_memalign(&memory, BLOCK, room) != 0)
        return mldfi_fail_memory(err, room);
    while (done < bytes && status >= 0) {
        uint64_t at = offset + done;
        size_t skip = (size_t)(at % BLOCK), want = bytes - done < room - skip ? bytes - done : room - skip, got;
        size_t blocks = (skip + want + BLOCK - 1) / BLOCK * BLOCK;
        status = read_blocks(direct, path, at - skip, memory, blocks, &got, err);
        if (status >= 0 && got < skip + want)
            status = mldfi_file_too_short(direct->fd, path, offset + bytes, err);
        if (status >= 0)
            memcpy((uint8_t *)dst + done, (uint8_t *)memory + skip, want);
        done += want;
    }
    free(memory);
    return status;
}
