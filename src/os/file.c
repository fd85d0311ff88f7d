/* Open files: positional reads and writes that finish what they begin, sizes, syncing, hints, locks and mappings.
 * publish.c makes new files and gives them their names. */
#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "util/buffer.h"
#include "util/error.h"

/* Systems cut or refuse single transfers of 2 GiB and more. */
#define TRANSFER_MAX ((size_t)1 << 30)

static mldf_status refuse_irregular(const struct os_file *file, mldf_error *err) {
    struct stat info;
    if (fstat(file->fd, &info) != 0)
        return mldfi_fail_file_errno(err, errno, file->path, "cannot be examined");
    if (S_ISREG(info.st_mode))
        return MLDF_OK;
    int reason = S_ISDIR(info.st_mode) ? EISDIR : ESPIPE;
    mldf_status status = mldfi_fail_file(err, MLDF_E_IO, file->path, "is %s, not a regular file",
                                         S_ISDIR(info.st_mode)    ? "a folder"
                                         : S_ISFIFO(info.st_mode) ? "a pipe"
                                         : S_ISSOCK(info.st_mode) ? "a socket"
                                                                  : "a device");
    if (err)
        err->sys_errno = reason;
    return status;
}

/* s3://bucket/x, https://host/x: somebody means an address. */
static bool is_address(const char *path) {
    size_t scheme = strspn(path, "abcdefghijklmnopqrstuvwxyz0123456789+.-");
    return scheme > 0 && strncmp(path + scheme, "://", 3) == 0;
}

mldf_status mldfi_fail_open(const char *path, int reason, mldf_error *err) {
    if (reason == ENOENT && is_address(path))
        return mldfi_fail_file(err, MLDF_E_NOT_FOUND, path,
                               "cannot be opened: only local files are read; copy it here first");
    return mldfi_fail_file_errno(err, reason, path, "cannot be opened");
}

mldf_status mldfi_file_open(struct os_file *file, const char *path, os_open_mode mode, mldf_error *err) {
    int flags = (mode == OS_OPEN_READ ? O_RDONLY : O_RDWR) | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    mldf_status status;
    *file = (struct os_file)OS_FILE_NONE;
    file->path = mldfi_copy_text(path, strlen(path), err);
    if (!file->path)
        return MLDF_E_MEMORY;
    do
        file->fd = open(path, flags);
    while (file->fd < 0 && errno == EINTR);
    if (file->fd < 0)
        status = mldfi_fail_open(path, errno, err);
    else
        status = refuse_irregular(file, err);
    /* O_NONBLOCK was for a pipe that nobody writes; some file systems take it seriously on regular files too. */
    if (status == MLDF_OK && fcntl(file->fd, F_SETFL, flags & ~O_NONBLOCK) != 0)
        status = mldfi_fail_open(path, errno, err);
    if (status != MLDF_OK)
        mldfi_file_close(file);
    return status;
}

int mldfi_file_open_stream(const char *path) {
    int flags = O_RDONLY | O_CLOEXEC;
#ifdef __linux__
    struct stat info;
    if (stat(path, &info) == 0 && S_ISFIFO(info.st_mode)) {
        int fd = open(path, flags | O_NONBLOCK);
        if (fd >= 0 && fcntl(fd, F_SETFL, flags) != 0) {
            int reason = errno;
            (void)close(fd);
            errno = reason;
            return -1;
        }
        return fd;
    }
#endif
    return open(path, flags);
}

void mldfi_file_close(struct os_file *file) {
    if (file->fd >= 0)
        (void)close(file->fd); /* what could fail here was reported by mldfi_file_sync */
    file->fd = -1;
    free(file->path);
    file->path = NULL;
    file->temporary = false;
}

mldf_status mldfi_file_size(const struct os_file *file, uint64_t *out, mldf_error *err) {
    struct stat info;
    if (fstat(file->fd, &info) != 0)
        return mldfi_fail_file_errno(err, errno, file->path, "cannot be examined");
    *out = (uint64_t)info.st_size;
    return MLDF_OK;
}

static bool beyond_any_file(uint64_t offset, size_t bytes) {
    return offset > (uint64_t)INT64_MAX || bytes > (uint64_t)INT64_MAX - offset;
}

/* Where the file ends now, which may be far before the bytes that were asked for. */
mldf_status mldfi_file_too_short(int fd, const char *path, uint64_t wanted_end, mldf_error *err) {
    struct stat info;
    if (fstat(fd, &info) != 0)
        return mldfi_fail_file_errno(err, errno, path, "cannot be examined");
    uint64_t end = (uint64_t)info.st_size;
    if (end >= wanted_end) /* it grew again meanwhile */
        return mldfi_fail_file(err, MLDF_E_CHANGED, path, "changed while it was read");
    mldfi_fail_at(err, MLDF_E_CHANGED, end, "ends at byte %llu, %llu bytes too early", (unsigned long long)end,
                  (unsigned long long)(wanted_end - end));
    mldfi_error_path(err, path);
    return MLDF_E_CHANGED;
}

mldf_status mldfi_file_read(const struct os_file *file, uint64_t offset, void *dst, size_t bytes, mldf_error *err) {
    uint8_t *p = dst;
    if (beyond_any_file(offset, bytes))
        return mldfi_file_too_short(file->fd, file->path, UINT64_MAX, err);
    while (bytes > 0) {
        ssize_t n = pread(file->fd, p, bytes < TRANSFER_MAX ? bytes : TRANSFER_MAX, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            mldf_status status = mldfi_fail_file_errno(err, errno, file->path, "cannot be read at byte %llu",
                                                       (unsigned long long)offset);
            if (err)
                err->offset = offset;
            return status;
        }
        if (n == 0)
            return mldfi_file_too_short(file->fd, file->path, offset + bytes, err);
        p += n;
        offset += (uint64_t)n;
        bytes -= (size_t)n;
    }
    return MLDF_OK;
}

mldf_status mldfi_file_write(const struct os_file *file, uint64_t offset, const void *src, size_t bytes,
                             mldf_error *err) {
    const uint8_t *p = src;
    if (beyond_any_file(offset, bytes)) {
        mldfi_fail_at(err, MLDF_E_LIMIT, offset, "no file has a byte %llu", (unsigned long long)offset);
        mldfi_error_path(err, file->path);
        return MLDF_E_LIMIT;
    }
    while (bytes > 0) {
        ssize_t n = pwrite(file->fd, p, bytes < TRANSFER_MAX ? bytes : TRANSFER_MAX, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            mldf_status status = mldfi_fail_file_errno(err, n < 0 ? errno : EIO, file->path,
                                                       "cannot be written at byte %llu", (unsigned long long)offset);
            if (err)
                err->offset = offset;
            return status;
        }
        p += n;
        offset += (uint64_t)n;
        bytes -= (size_t)n;
    }
    return MLDF_OK;
}

mldf_status mldfi_fd_write_all(int fd, const void *src, size_t bytes, mldf_error *err) {
    const uint8_t *p = src;
    while (bytes > 0) {
        ssize_t n = write(fd, p, bytes < TRANSFER_MAX ? bytes : TRANSFER_MAX);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0 && fd == STDOUT_FILENO)
            return mldfi_fail_errno(err, n < 0 ? errno : EIO, "standard output cannot be written");
        if (n <= 0)
            return mldfi_fail_errno(err, n < 0 ? errno : EIO, "descriptor %d cannot be written", fd);
        p += n;
        bytes -= (size_t)n;
    }
    return MLDF_OK;
}

mldf_status mldfi_file_truncate(const struct os_file *file, uint64_t bytes, mldf_error *err) {
    int result;
    if (beyond_any_file(bytes, 0))
        return mldfi_fail_file(err, MLDF_E_LIMIT, file->path, "no file has %llu bytes", (unsigned long long)bytes);
    do
        result = ftruncate(file->fd, (off_t)bytes);
    while (result != 0 && errno == EINTR);
    if (result != 0)
        return mldfi_fail_file_errno(err, errno, file->path, "cannot be resized to %llu bytes",
                                     (unsigned long long)bytes);
    return MLDF_OK;
}

mldf_status mldfi_file_sync(const struct os_file *file, mldf_error *err) {
    int result;
#if defined(__APPLE__)
    /* fsync stops at the drive's cache there; network file systems lack the stronger call. */
    if (fcntl(file->fd, F_FULLFSYNC) == 0)
        return MLDF_OK;
#endif
    do
        result = fsync(file->fd);
    while (result != 0 && errno == EINTR);
    if (result != 0)
        return mldfi_fail_file_errno(err, errno, file->path, "cannot be made durable");
    return MLDF_OK;
}

void mldfi_file_start_writeback(const struct os_file *file, uint64_t offset, uint64_t bytes) {
#if defined(__linux__)
    if (!beyond_any_file(offset, 0) && bytes <= (uint64_t)INT64_MAX - offset)
        (void)sync_file_range(file->fd, (off_t)offset, (off_t)bytes, SYNC_FILE_RANGE_WRITE);
#else
    (void)file, (void)offset, (void)bytes;
#endif
}

void mldfi_file_forget(const struct os_file *file, uint64_t offset, uint64_t bytes) {
#if defined(__linux__)
    if (!beyond_any_file(offset, 0) && bytes <= (uint64_t)INT64_MAX - offset)
        (void)posix_fadvise(file->fd, (off_t)offset, (off_t)bytes, POSIX_FADV_DONTNEED);
#else
    (void)file, (void)offset, (void)bytes;
#endif
}

mldf_status mldfi_file_lock(const struct os_file *file, mldf_error *err) {
    int result;
    do
        result = flock(file->fd, LOCK_EX | LOCK_NB);
    while (result != 0 && errno == EINTR);
    if (result == 0)
        return MLDF_OK;
    if (errno != EWOULDBLOCK)
        return mldfi_fail_file_errno(err, errno, file->path, "cannot be locked");
    mldf_status status = mldfi_fail_file(err, MLDF_E_BUSY, file->path, "is locked: another writer has it open");
    if (err)
        err->sys_errno = EWOULDBLOCK;
    return status;
}

void mldfi_file_unlock(const struct os_file *file) {
    (void)flock(file->fd, LOCK_UN);
}

static mldf_status map_bytes(struct os_map *map, const char *path, int fd, uint64_t bytes, int protection, int flags,
                             void **out, mldf_error *err) {
    *map = (struct os_map){NULL, 0};
    *out = NULL;
    if (bytes == 0)
        return MLDF_OK;
    if (bytes > PTRDIFF_MAX)
        return mldfi_fail_file(err, MLDF_E_LIMIT, path, "%llu bytes do not fit into the address space",
                               (unsigned long long)bytes);
    void *data = mmap(NULL, (size_t)bytes, protection, flags, fd, 0);
    if (data == MAP_FAILED)
        return mldfi_fail_file_errno(err, errno, path, "cannot be mapped into memory");
    *map = (struct os_map){data, bytes};
    *out = data;
    return MLDF_OK;
}

mldf_status mldfi_map_open(struct os_map *map, const struct os_file *file, uint64_t bytes, mldf_error *err) {
    void *data;
    return map_bytes(map, file->path, file->fd, bytes, PROT_READ, MAP_SHARED, &data, err);
}

mldf_status mldfi_map_private(struct os_map *map, const struct os_file *file, uint64_t size, uint8_t **bytes,
                              mldf_error *err) {
    void *data;
    mldf_status status = map_bytes(map, file->path, file->fd, size, PROT_READ, MAP_PRIVATE, &data, err);
    *bytes = data;
    return status;
}

mldf_status mldfi_map_protect(uint8_t *bytes, uint64_t from, uint64_t to, bool writable, mldf_error *err) {
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), first = from / page * page;
    if (from >= to)
        return MLDF_OK;
    if (mprotect(bytes + first, (size_t)(to - first), writable ? PROT_READ | PROT_WRITE : PROT_READ) < 0)
        return mldfi_fail_errno(err, errno, "%llu bytes of a mapping cannot be made %s",
                                (unsigned long long)(to - first), writable ? "writable" : "read-only again");
    return MLDF_OK;
}

mldf_status mldfi_map_copy(struct os_map *map, const void *from, uint64_t size, uint8_t **bytes, mldf_error *err) {
    void *data;
    mldf_status status = map_bytes(map, "", -1, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, &data, err);
    if (status >= 0 && size)
        memcpy(data, from, (size_t)size);
    *bytes = data;
    return status;
}

void mldfi_map_close(struct os_map *map) {
    /* munmap wants a plain pointer; what others see through map->data is never written to. */
    if (map->data)
        (void)munmap((void *)(uintptr_t)map->data, (size_t)map->bytes);
    map->data = NULL;
    map->bytes = 0;
}

double mldfi_time(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
