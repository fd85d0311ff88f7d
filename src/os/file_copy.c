/* File to file: copy_file_range shares or moves the pages without a detour through this process. Where the kernel or the
 * file systems cannot, four mebibytes at a time go through memory. */
#include "os/file_copy.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "util/buffer.h"
#include "util/error.h"

enum { COPY_PIECE = 4 << 20 };

/* Copies what the kernel will copy; the caller does the rest. *done counts. */
static mldf_status by_kernel(const struct os_file *from, uint64_t from_offset, const struct os_file *to,
                             uint64_t to_offset, uint64_t bytes, uint64_t *done, mldf_error *err) {
    *done = 0;
#if defined(__linux__)
    while (*done < bytes) {
        off_t in = (off_t)(from_offset + *done), out = (off_t)(to_offset + *done);
        uint64_t left = bytes - *done;
        ssize_t n = copy_file_range(from->fd, &in, to->fd, &out, left < 1u << 30 ? (size_t)left : 1u << 30, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == ENOSPC || errno == EDQUOT || errno == EIO))
            return mldfi_fail_file_errno(err, errno, to->path, "cannot copy %llu bytes to byte %llu",
                                         (unsigned long long)left, (unsigned long long)out);
        if (n <= 0) /* another file system, an old kernel, or the end of the file: reading will tell */
            break;
        *done += (uint64_t)n;
    }
#else
    (void)from, (void)from_offset, (void)to, (void)to_offset, (void)bytes, (void)err;
#endif
    return MLDF_OK;
}

mldf_status mldfi_file_copy(const struct os_file *from, uint64_t from_offset, const struct os_file *to,
                            uint64_t to_offset, uint64_t bytes, mldf_error *err) {
    uint64_t done;
    mldf_status status = by_kernel(from, from_offset, to, to_offset, bytes, &done, err);
    if (status < 0 || done == bytes)
        return status;
    size_t piece = bytes - done < COPY_PIECE ? (size_t)(bytes - done) : COPY_PIECE;
    void *memory = mldfi_alloc(piece, err);
    if (!memory)
        return MLDF_E_MEMORY;
    while (status >= 0 && done < bytes) {
        size_t now = bytes - done < piece ? (size_t)(bytes - done) : piece;
        status = mldfi_file_read(from, from_offset + done, memory, now, err);
        if (status >= 0)
            status = mldfi_file_write(to, to_offset + done, memory, now, err);
        done += now;
    }
    free(memory);
    return status;
}

mldf_status mldfi_fd_read(int fd, void *dst, size_t room, size_t *got, mldf_error *err) {
    ssize_t n;
    do
        n = read(fd, dst, room);
    while (n < 0 && errno == EINTR);
    *got = n > 0 ? (size_t)n : 0;
    return n < 0 ? mldfi_fail_errno(err, errno, "cannot read from descriptor %d", fd) : MLDF_OK;
}
