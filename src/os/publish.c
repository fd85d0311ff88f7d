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
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "os/file.h"
#include "os/temporary.h"
#include "util/buffer.h"
#include "util/error.h"

static mldf_status check_target(const char *target, mldf_error *err) {
    struct stat info;
    const char *name = target + mldfi_folder_part(target);
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

mldf_status mldfi_file_create_beside(struct os_file *file, const char *target, mldf_error *err) {
    *file = (struct os_file)OS_FILE_NONE;
    mldf_status status = check_target(target, err);
    return status < 0 ? status : mldfi_temporary_create(file, target, TEMPORARY_WORK, NULL, NULL, err);
}

static bool missing_operation(int number) {
    return number == EINVAL || number == ENOSYS || number == ENOTSUP || number == EOPNOTSUPP;
}

/* A file that never has a name, so that a kill leaves nothing; -1 where the system or the file system has no such files. */
static int open_nameless(const char *folder) {
#if defined(O_TMPFILE)
    return open(folder[0] ? folder : ".", O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);
#else
    (void)folder;
    errno = ENOTSUP;
    return -1;
#endif
}

static int open_nameless_beside(const char *target) {
    char *folder = mldfi_copy_text(target, mldfi_folder_part(target), NULL);
    int fd = folder ? open_nameless(folder) : -1;
    free(folder);
    return fd;
}

mldf_status mldfi_file_create_unlinked(struct os_file *file, const char *target, mldf_error *err) {
    *file = (struct os_file)OS_FILE_NONE;
    if ((file->fd = open_nameless_beside(target)) >= 0) {
        if ((file->path = mldfi_hidden_name(target, TEMPORARY_WORK, err)))
            return MLDF_OK;
        mldfi_file_close(file);
        return MLDF_E_MEMORY;
    }
    mldf_status status = mldfi_file_create_beside(file, target, err);
    if (status == MLDF_OK && unlink(file->path) != 0) {
        status = mldfi_fail_errno(err, errno, "%s cannot be unlinked", file->path);
        mldfi_file_close(file);
    }
    file->temporary = false;
    return status;
}

/* The same where there are such files; elsewhere the name goes at once. */
static int open_temporary(const char *folder) {
    char path[4096];
    int fd = open_nameless(folder);
    if (fd >= 0 || !(missing_operation(errno) || errno == EISDIR))
        return fd;
    if (snprintf(path, sizeof path, "%s/.mldf.XXXXXX", folder) >= (int)sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    fd = mkstemp(path);
    if (fd >= 0) {
        (void)unlink(path);
        (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    }
    return fd;
}

mldf_status mldfi_file_create_temporary(struct os_file *file, const char *folder, mldf_error *err) {
    *file = (struct os_file)OS_FILE_NONE;
    file->path = mldfi_copy_text(folder, strlen(folder), err);
    if (!file->path)
        return MLDF_E_MEMORY;
    file->fd = open_temporary(folder);
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

/* ---- The name becomes durable --------------------------------------------------------------------------------------------- */

/* Special file systems cannot sync a folder, and a folder may be writable without being readable: neither is a reason to fail. */
static mldf_status open_folder(const char *target, int *fd, mldf_error *err) {
    size_t bytes = mldfi_folder_part(target);
    char *folder = bytes ? mldfi_copy_text(target, bytes, err) : mldfi_copy_text(".", 1, err);
    *fd = -1;
    if (!folder)
        return MLDF_E_MEMORY;
    mldf_status status = MLDF_OK;
    *fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*fd < 0 && errno != EACCES)
        status = mldfi_fail_errno(err, errno, "%s cannot be opened", folder);
    free(folder);
    return status;
}

/* 0 or an errno. */
static int sync_folder(int fd) {
    int result = 0;
    if (fd < 0)
        return 0;
    do
        result = fsync(fd);
    while (result != 0 && errno == EINTR);
    return result == 0 || missing_operation(errno) ? 0 : errno;
}

mldf_status mldfi_file_sync_folder(const char *target, mldf_error *err) {
    int folder, reason;
    mldf_status status = open_folder(target, &folder, err);
    if (status == MLDF_OK && (reason = sync_folder(folder)) != 0)
        status = mldfi_fail_errno(err, reason, "%s: its folder cannot be made durable", target);
    if (folder >= 0)
        (void)close(folder);
    return status;
}

/* ---- The name changes ---------------------------------------------------------------------------------------------------------- */

/* The lock was for the temporary name; a process that was forked meanwhile must not keep the target locked. */
mldf_status mldfi_file_rename(struct os_file *file, const char *target, bool overwrite, mldf_error *err) {
    char *path = mldfi_copy_text(target, strlen(target), err);
    if (!path)
        return MLDF_E_MEMORY;
    int reason = overwrite ? rename_over(file, target) : rename_to_new(file->path, target);
    if (reason != 0) {
        free(path);
        if (reason == EEXIST)
            return mldfi_fail_exists(err, target);
        return mldfi_fail_errno(err, reason, "%s cannot be put in place", target);
    }
    mldfi_file_unlock(file);
    free(file->path);
    file->path = path;
    file->temporary = false;
    return MLDF_OK;
}

/* The folder is opened before the rename, so that little can fail after. */
mldf_status mldfi_file_publish(struct os_file *file, const char *target, bool overwrite, mldf_error *err) {
    int folder, reason;
    mldf_status status = open_folder(target, &folder, err);
    if (status == MLDF_OK)
        status = mldfi_file_rename(file, target, overwrite, err);
    if (status == MLDF_OK && (reason = sync_folder(folder)) != 0)
        status = mldfi_fail_errno(err, reason, "%s is in place, but its folder cannot be made durable", target);
    if (folder >= 0)
        (void)close(folder);
    return status;
}

mldf_status mldfi_file_write_whole(const char *target, const void *data, size_t bytes, bool overwrite,
                                   mldf_error *err) {
    struct os_file file = OS_FILE_NONE;
    mldf_status status = mldfi_file_create_beside(&file, target, err);
    if (status == MLDF_OK)
        status = mldfi_file_write(&file, 0, data, bytes, err);
    if (status == MLDF_OK)
        status = mldfi_file_sync(&file, err);
    if (status == MLDF_OK)
        status = mldfi_file_publish(&file, target, overwrite, err);
    mldfi_file_discard(&file);
    return status;
}

void mldfi_file_discard(struct os_file *file) {
    if (file->path && file->temporary)
        (void)unlink(file->path);
    mldfi_file_close(file);
}
