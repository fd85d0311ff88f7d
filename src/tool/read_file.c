/* Reading a small file that others may be writing: its size and time must be the same before and after. See read_file.h. */
#include "tool/read_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/buffer.h"
#include "util/error.h"

/* A FIFO must not block the open; reads of a regular file never return EAGAIN. */
static int open_file(const char *path) {
    int fd;
    do
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    while (fd < 0 && errno == EINTR);
    return fd;
}

static mldf_status read_all(int fd, mldf_buffer *out, mldf_error *err) {
    size_t at = 0;
    while (at < out->size) {
        ssize_t got = pread(fd, out->data + at, out->size - at, (off_t)at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return mldfi_fail_errno(err, errno, "cannot be read");
        if (got == 0)
            return mldfi_fail(err, MLDF_E_CHANGED, "became shorter while it was read: %zu bytes of %zu", at, out->size);
        at += (size_t)got;
    }
    return MLDF_OK;
}

static mldf_status check_same(int fd, const struct stat *before, mldf_error *err) {
    struct stat now;
    if (fstat(fd, &now) != 0)
        return mldfi_fail_errno(err, errno, "cannot be read");
    if (now.st_size != before->st_size || now.st_mtim.tv_sec != before->st_mtim.tv_sec ||
        now.st_mtim.tv_nsec != before->st_mtim.tv_nsec)
        return mldfi_fail(err, MLDF_E_CHANGED, "changed while it was read");
    return MLDF_OK;
}

mldf_status mldfi_read_file(const char *path, uint64_t limit, mldf_buffer *out, mldf_error *err) {
    return mldfi_read_opened(open_file(path), limit, out, err);
}

mldf_status mldfi_read_opened(int fd, uint64_t limit, mldf_buffer *out, mldf_error *err) {
    struct stat st;
    mldf_status status = MLDF_OK;
    if (fd < 0)
        return mldfi_fail_errno(err, errno, "cannot be opened");
    if (fstat(fd, &st) != 0)
        status = mldfi_fail_errno(err, errno, "cannot be read");
    else if (!S_ISREG(st.st_mode))
        status = mldfi_fail(err, MLDF_E_TYPE, "is not a regular file");
    else if ((uint64_t)st.st_size > limit || (uint64_t)st.st_size > SIZE_MAX)
        status = mldfi_fail(err, MLDF_E_LIMIT, "has %lld bytes; at most %llu can be packed", (long long)st.st_size,
                            (unsigned long long)limit);
    if (status == MLDF_OK)
        status = mldfi_buffer_resize(out, (size_t)st.st_size, err);
    if (status == MLDF_OK)
        status = read_all(fd, out, err);
    if (status == MLDF_OK)
        status = check_same(fd, &st, err);
    close(fd);
    return status;
}
