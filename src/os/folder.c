/* See folder.h. */
#include "os/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/temporary.h"
#include "util/buffer.h"
#include "util/error.h"

/* folder/name, to be freed. */
static char *join(const char *folder, const char *name, mldf_error *err) {
    size_t bytes = strlen(folder) + strlen(name) + 2;
    char *path = mldfi_alloc(bytes, err);
    if (path)
        snprintf(path, bytes, "%s/%s", folder, name);
    return path;
}

static bool is_dot(const char *name) {
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* ---- Beginning ----------------------------------------------------------------------------------------------------- */

static mldf_status check_empty(struct os_folder *folder, bool overwrite, mldf_error *err) {
    struct stat info;
    if (stat(folder->target, &info) != 0)
        return errno == ENOENT ? MLDF_OK : mldfi_fail_errno(err, errno, "%s cannot be examined", folder->target);
    if (!S_ISDIR(info.st_mode))
        return mldfi_fail(err, MLDF_E_EXISTS, "%s: already exists and is not a folder", folder->target);
    folder->exists = true;
    DIR *dir = opendir(folder->target);
    if (!dir)
        return mldfi_fail_errno(err, errno, "%s cannot be read", folder->target);
    bool empty = true;
    for (struct dirent *entry; empty && (entry = readdir(dir)) != NULL;)
        empty = is_dot(entry->d_name);
    closedir(dir);
    return empty || overwrite
               ? MLDF_OK
               : mldfi_fail(err, MLDF_E_EXISTS,
                            "%s: already exists and is not empty; use -f to write into it (Python: overwrite=True)",
                            folder->target);
}

/* Beside the target, or in it: then both are on one file system, and nobody else sees a new name. */
static mldf_status make_temporary(struct os_folder *folder, mldf_error *err) {
    char *inside = folder->exists ? join(folder->target, "extract", err) : NULL;
    if (folder->exists && !inside)
        return MLDF_E_MEMORY;
    mldf_status status =
        mldfi_temporary_create_folder(inside ? inside : folder->target, &folder->temporary, &folder->lock, err);
    free(inside);
    return status;
}

mldf_status mldfi_folder_begin(struct os_folder *folder, const char *target, bool overwrite, mldf_error *err) {
    size_t bytes = strlen(target);
    *folder = (struct os_folder)OS_FOLDER_NONE;
    if (bytes == 0)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "a folder without a name");
    while (bytes > 1 && target[bytes - 1] == '/')
        bytes--;
    folder->target = mldfi_copy_text(target, bytes, err);
    mldf_status status = folder->target ? check_empty(folder, overwrite, err) : MLDF_E_MEMORY;
    if (status == MLDF_OK)
        status = make_temporary(folder, err);
    if (status < 0)
        mldfi_folder_discard(folder);
    return status;
}

/* ---- Filling ------------------------------------------------------------------------------------------------------- */

/* The folders on the way to path. */
static mldf_status make_parents(char *path, size_t from, mldf_error *err) {
    for (char *slash = strchr(path + from, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        int reason = mkdir(path, 0777) == 0 || errno == EEXIST ? 0 : errno;
        *slash = '/';
        if (reason)
            return mldfi_fail_errno(err, reason, "%s: its folder cannot be made", path + from);
    }
    return MLDF_OK;
}

mldf_status mldfi_folder_create(const struct os_folder *folder, const char *path, int *fd, mldf_error *err) {
    char *full = join(folder->temporary, path, err);
    mldf_status status = MLDF_OK;
    if (!full)
        return MLDF_E_MEMORY;
    *fd = open(full, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0666);
    if (*fd < 0 && errno == ENOENT) {
        status = make_parents(full, strlen(folder->temporary) + 1, err);
        if (status == MLDF_OK)
            *fd = open(full, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0666);
    }
    if (status == MLDF_OK && *fd < 0)
        status = mldfi_fail_errno(err, errno, "%s cannot be made", path);
    free(full);
    return status;
}

/* ---- The end ------------------------------------------------------------------------------------------------------- */

static mldf_status move_content(const char *from, const char *to, mldf_error *err);

/* A folder that is there already takes in what the new one holds; anything else is replaced. */
static mldf_status move_entry(const char *from, const char *to, mldf_error *err) {
    struct stat old, new;
    bool both = lstat(from, &new) == 0 && S_ISDIR(new.st_mode) && stat(to, &old) == 0 && S_ISDIR(old.st_mode);
    if (both) {
        mldf_status status = move_content(from, to, err);
        if (status == MLDF_OK)
            (void)rmdir(from);
        return status;
    }
    return rename(from, to) == 0 ? MLDF_OK : mldfi_fail_errno(err, errno, "%s cannot be put in place", to);
}

static mldf_status move_content(const char *from, const char *to, mldf_error *err) {
    DIR *dir = opendir(from);
    mldf_status status = dir ? MLDF_OK : mldfi_fail_errno(err, errno, "%s cannot be read", from);
    for (struct dirent *entry; status == MLDF_OK && (entry = readdir(dir)) != NULL;) {
        if (is_dot(entry->d_name))
            continue;
        char *a = join(from, entry->d_name, err), *b = join(to, entry->d_name, err);
        status = a && b ? move_entry(a, b, err) : MLDF_E_MEMORY;
        free(a);
        free(b);
    }
    if (dir)
        closedir(dir);
    return status;
}

mldf_status mldfi_folder_publish(struct os_folder *folder, mldf_error *err) {
    mldf_status status = MLDF_OK;
    if (folder->exists)
        status = move_content(folder->temporary, folder->target, err);
    else if (rename(folder->temporary, folder->target) != 0)
        status = mldfi_fail_errno(err, errno, "%s cannot be put in place", folder->target);
    if (status == MLDF_OK && folder->exists)
        (void)rmdir(folder->temporary);
    if (status == MLDF_OK) {
        free(folder->temporary);
        folder->temporary = NULL;
    }
    return status;
}

void mldfi_folder_discard(struct os_folder *folder) {
    if (folder->temporary)
        mldfi_remove_tree(folder->temporary);
    if (folder->lock >= 0)
        (void)close(folder->lock);
    free(folder->temporary);
    free(folder->target);
    *folder = (struct os_folder)OS_FOLDER_NONE;
}
