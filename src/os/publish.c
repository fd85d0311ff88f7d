/* New files: made under a temporary name in the target's own folder, and given their name in one atomic step, so that
 * a target is either the old file or the whole new one.
 *
 *     create_beside --> write, sync --> publish (rename, sync the folder)
 *                           \--> discard
 *
 * file.c reads and writes what is open. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "os/file.h"
#include "util/buffer.h"
#include "util/error.h"

/* Of the target's name in the temporary one: names end at 255 bytes. */
enum { NAME_PART_MAX = 200, TRIES = 64 };

/* Bytes of the folder part of path, its slash included; 0 when there is none. */
static size_t folder_bytes(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

static mldf_status check_target(const char *target, mldf_error *err) {
    struct stat info;
    const char *name = target + folder_bytes(target);
    if (*name == 0 || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "\"%s\" does not name a file", target);
    if (stat(target, &info) == 0 && S_ISDIR(info.st_mode)) {
        mldf_status status = mldfi_fail(err, MLDF_E_IO, "%s is a folder, not a regular file", target);
        if (err)
            err->sys_errno = EISDIR;
        return status;
    }
    return MLDF_OK;
}

/* Writes "<folder>.<name>.<12 hex digits>.tmp" to path, which has room for it. */
static mldf_status temporary_name(char *path, size_t room, const char *target, mldf_error *err) {
    uint8_t random[6];
    size_t folder = folder_bytes(target);
    if (getentropy(random, sizeof random) != 0)
        return mldfi_fail_errno(err, errno, "%s: no random bytes for a temporary name", target);
    (void)snprintf(path, room, "%.*s.%.*s.%02x%02x%02x%02x%02x%02x.tmp", (int)folder, target, (int)NAME_PART_MAX,
                   target + folder, random[0], random[1], random[2], random[3], random[4], random[5]);
    return MLDF_OK;
}

mldf_status mldfi_file_create_beside(struct os_file *file, const char *target, mldf_error *err) {
    file->fd = -1;
    file->path = NULL;
    mldf_status status = check_target(target, err);
    if (status != MLDF_OK)
        return status;
    size_t length = strlen(target);
    if (length > INT32_MAX)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "a path of %zu bytes", length);
    size_t room = length + 32;
    file->path = mldfi_alloc(room, err);
    if (!file->path)
        return MLDF_E_MEMORY;
    for (int i = 0; i < TRIES && status == MLDF_OK; i++) {
        status = temporary_name(file->path, room, target, err);
        if (status != MLDF_OK)
            break;
        file->fd = open(file->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0666);
        if (file->fd >= 0)
            return MLDF_OK;
        if (errno != EEXIST && errno != EINTR)
            status = mldfi_fail_errno(err, errno, "%s: no file can be created in its folder", target);
    }
    if (status == MLDF_OK)
        status = mldfi_fail_errno(err, EEXIST, "%s: no free temporary name beside it", target);
    mldfi_file_close(file);
    return status;
}

mldf_status mldfi_file_create_unlinked(struct os_file *file, const char *target, mldf_error *err) {
    mldf_status status = mldfi_file_create_beside(file, target, err);
    if (status == MLDF_OK && unlink(file->path) != 0) {
        status = mldfi_fail_errno(err, errno, "%s cannot be unlinked", file->path);
        mldfi_file_close(file);
    }
    return status;
}

static bool missing_operation(int number) {
    return number == EINVAL || number == ENOSYS || number == ENOTSUP || number == EOPNOTSUPP;
}

/* O_TMPFILE where the system and the file system have it. */
static int open_nameless(const char *folder) {
#if defined(O_TMPFILE)
    int fd = open(folder, O_RDWR | O_TMPFILE | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0 || !(missing_operation(errno) || errno == EISDIR))
        return fd;
#endif
    char path[4096];
    if (snprintf(path, sizeof path, "%s/.mldf.XXXXXX", folder) >= (int)sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    int named = mkstemp(path);
    if (named >= 0) {
        (void)unlink(path);
        (void)fcntl(named, F_SETFD, FD_CLOEXEC);
    }
    return named;
}

mldf_status mldfi_file_create_temporary(struct os_file *file, const char *folder, mldf_error *err) {
    *file = (struct os_file)OS_FILE_NONE;
    file->path = mldfi_copy_text(folder, strlen(folder), err);
    if (!file->path)
        return MLDF_E_MEMORY;
    file->fd = open_nameless(folder);
    if (file->fd >= 0)
        return MLDF_OK;
    mldf_status status =
        mldfi_fail_errno(err, errno, "the temporary folder %s takes no file (TMPDIR names another)", folder);
    mldfi_file_close(file);
    return status;
}

void mldfi_file_space(const struct os_file *file, uint64_t *available, uint64_t *total) {
    struct statvfs info;
    *available = *total = UINT64_MAX;
    if (fstatvfs(file->fd, &info) != 0 || info.f_frsize == 0 || info.f_blocks == 0)
        return;
    *available = (uint64_t)info.f_bavail * info.f_frsize;
    *total = (uint64_t)info.f_blocks * info.f_frsize;
}

mldf_status mldfi_file_exists(const char *path, bool *out, mldf_error *err) {
    struct stat info;
    *out = lstat(path, &info) == 0;
    if (!*out && errno != ENOENT && errno != ENOTDIR)
        return mldfi_fail_errno(err, errno, "%s cannot be examined", path);
    return MLDF_OK;
}

/* Renames without replacing. Returns 0 or an errno; EEXIST when the target is there. */
static int rename_to_new(const char *from, const char *to) {
#if defined(__linux__)
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
        return 0;
    if (!missing_operation(errno))
        return errno;
#elif defined(__APPLE__)
    if (renamex_np(from, to, RENAME_EXCL) == 0)
        return 0;
    if (!missing_operation(errno))
        return errno;
#endif
    if (link(from, to) == 0) {
        (void)unlink(from); /* a leftover name is harmless, a reported failure of a finished file is not */
        return 0;
    }
    if (errno != EPERM && errno != EMLINK && !missing_operation(errno))
        return errno;
    /* No hard links either: take the name with an empty file, which fails if it is there, then replace that. */
    int fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0600);
    if (fd < 0)
        return errno;
    (void)close(fd);
    if (rename(from, to) == 0)
        return 0;
    int reason = errno;
    (void)unlink(to);
    return reason;
}

/* A new file must not be more open than the one that it replaces. */
static int keep_permissions(const struct os_file *file, const char *target) {
    struct stat old, new;
    if (stat(target, &old) != 0)
        return errno == ENOENT ? 0 : errno;
    if (!S_ISREG(old.st_mode) || fstat(file->fd, &new) != 0 || ((old.st_mode ^ new.st_mode) & 0777) == 0)
        return 0;
    return fchmod(file->fd, old.st_mode & 0777) == 0 ? 0 : errno;
}

static int rename_over(const struct os_file *file, const char *target) {
    int reason = keep_permissions(file, target);
    if (reason != 0)
        return reason;
    return rename(file->path, target) == 0 ? 0 : errno;
}

/* The name itself becomes durable when its folder is synced. Special file systems cannot do that, and a folder may be
 * writable without being readable: neither is a reason to fail. Opened before the rename, so that little can fail after. */
static mldf_status open_folder(const char *target, int *fd, mldf_error *err) {
    size_t bytes = folder_bytes(target);
    char *folder = bytes ? mldfi_copy_text(target, bytes, err) : mldfi_copy_text(".", 1, err);
    if (!folder)
        return MLDF_E_MEMORY;
    mldf_status status = MLDF_OK;
    *fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*fd < 0 && errno != EACCES)
        status = mldfi_fail_errno(err, errno, "%s cannot be opened", folder);
    free(folder);
    return status;
}

static mldf_status sync_folder(int fd, const char *target, mldf_error *err) {
    int result = 0;
    if (fd < 0)
        return MLDF_OK;
    do
        result = fsync(fd);
    while (result != 0 && errno == EINTR);
    if (result == 0 || missing_operation(errno))
        return MLDF_OK;
    return mldfi_fail_errno(err, errno, "%s is in place, but its folder cannot be made durable", target);
}

/* After a failed rename file->path stays the temporary name, so that a discard never removes the target. */
mldf_status mldfi_file_publish(struct os_file *file, const char *target, bool overwrite, mldf_error *err) {
    int folder = -1;
    char *path = mldfi_copy_text(target, strlen(target), err);
    mldf_status status = path ? open_folder(target, &folder, err) : MLDF_E_MEMORY;
    if (status == MLDF_OK) {
        int reason = overwrite ? rename_over(file, target) : rename_to_new(file->path, target);
        if (reason == EEXIST)
            status = mldfi_fail(err, MLDF_E_EXISTS, "%s exists, and overwriting was not asked for", target);
        else if (reason != 0)
            status = mldfi_fail_errno(err, reason, "%s cannot be put in place", target);
    }
    if (status == MLDF_OK) {
        free(file->path);
        file->path = path;
        path = NULL;
        status = sync_folder(folder, target, err);
    }
    if (folder >= 0)
        (void)close(folder);
    free(path);
    return status;
}

void mldfi_file_discard(struct os_file *file) {
    if (file->path)
        (void)unlink(file->path);
    mldfi_file_close(file);
}
