/* See temporary.h. */
#include "os/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/buffer.h"
#include "util/crc32c.h"
#include "util/error.h"

/* Of the target's name in the temporary one: names end at 255 bytes. */
enum { NAME_PART_MAX = 200, SLOTS = 256, HOST_DIGITS = 8, DEPTH = 16, TAIL = 64 };

/* ---- Names ----------------------------------------------------------------------------------------------------------------- */

size_t mldfi_folder_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

char *mldfi_hidden_name(const char *target, const char *tail, mldf_error *err) {
    size_t folder = mldfi_folder_part(target), room = strlen(target) + strlen(tail) + 3;
    char *path = mldfi_alloc(room, err);
    if (path) {
        memcpy(path, target, folder);
        (void)snprintf(path + folder, room - folder, ".%.*s.%s", (int)NAME_PART_MAX, target + folder, tail);
    }
    return path;
}

/* Two hosts that share a folder have two names, or at least two of these numbers. */
static uint32_t host_tag(void) {
    char text[512] = {0};
    (void)gethostname(text, 255);
    size_t bytes = strlen(text) + 1;
    int fd = open("/etc/machine-id", O_RDONLY | O_CLOEXEC);
    ssize_t more = fd < 0 ? 0 : read(fd, text + bytes, 64);
    if (fd >= 0)
        (void)close(fd);
    return mldfi_crc32c(0, text, bytes + (more > 0 ? (size_t)more : 0));
}

static char *slot_path(const char *target, const char *kind, int slot, mldf_error *err) {
    char tail[TAIL];
    (void)snprintf(tail, sizeof tail, "%08x-%d.%s", (unsigned)host_tag(), slot, kind);
    return mldfi_hidden_name(target, tail, err);
}

/* The place of "<host>-<slot>.<kind>" in the name; NULL when it is none of ours. */
static const char *find_tag(const char *name, const char *kind) {
    size_t bytes = strlen(name), end = strlen(kind) + 1;
    if (name[0] != '.' || bytes < end + 3 || name[bytes - end] != '.' || strcmp(name + bytes - end + 1, kind) != 0)
        return NULL;
    const char *p = name + bytes - end, *digits_end = p;
    while (p > name && p[-1] >= '0' && p[-1] <= '9')
        p--;
    if (p == digits_end || p - name < HOST_DIGITS + 3 || p[-1] != '-')
        return NULL;
    p -= HOST_DIGITS + 1;
    return strspn(p, "0123456789abcdef") == HOST_DIGITS && p[-1] == '.' ? p : NULL;
}

bool mldfi_temporary_is(const char *name, const char *kind) {
    return find_tag(name, kind) != NULL;
}

/* ---- Dead or alive ---------------------------------------------------------------------------------------------------------- */

static bool still_named(int fd, const char *path) {
    struct stat open_one, named;
    return fstat(fd, &open_one) == 0 && lstat(path, &named) == 0 && open_one.st_dev == named.st_dev &&
           open_one.st_ino == named.st_ino;
}

/* 0, or EWOULDBLOCK when another has it, or why this file system cannot lock. */
static int lock(int fd) {
    int result;
    do
        result = flock(fd, LOCK_EX | LOCK_NB);
    while (result != 0 && errno == EINTR);
    return result == 0 ? 0 : errno;
}

/* After this a new name is ours; false: one who took it for dead was quicker. */
static bool hold(int fd, const char *path) {
    int reason = lock(fd);
    return reason == EWOULDBLOCK ? false : still_named(fd, path);
}

os_life mldfi_temporary_life(const char *path, bool any_host, struct os_file *file) {
    const char *name = path + mldfi_folder_part(path), *tag = find_tag(name, TEMPORARY_WORK);
    char ours[HOST_DIGITS + 1];
    struct stat info;
    *file = (struct os_file)OS_FILE_NONE;
    if (!tag && !(tag = find_tag(name, TEMPORARY_SET)))
        return OS_LIFE_NONE;
    if (lstat(path, &info) != 0 || (!S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)))
        return OS_LIFE_NONE;
    (void)snprintf(ours, sizeof ours, "%08x", (unsigned)host_tag());
    if (!any_host && memcmp(tag, ours, HOST_DIGITS) != 0)
        return OS_LIFE_ELSEWHERE;
    int how = S_ISDIR(info.st_mode) ? O_RDONLY | O_DIRECTORY : O_RDWR | O_NONBLOCK;
    file->path = mldfi_copy_text(path, strlen(path), NULL);
    file->fd = file->path ? open(path, how | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY) : -1;
    int reason = file->fd < 0 ? EACCES : lock(file->fd);
    if (reason == 0 && still_named(file->fd, path))
        return OS_LIFE_DEAD;
    mldfi_file_close(file);
    return reason == 0 ? OS_LIFE_NONE : reason == EWOULDBLOCK ? OS_LIFE_LIVE : OS_LIFE_UNKNOWN;
}

uint64_t mldfi_file_bytes_if_regular(const struct os_file *file) {
    struct stat info;
    return fstat(file->fd, &info) == 0 && S_ISREG(info.st_mode) ? (uint64_t)info.st_size : 0;
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *place) {
    (void)info;
    (void)kind;
    (void)place;
    (void)remove(path);
    return 0;
}

void mldfi_remove_tree(const char *path) {
    (void)nftw(path, remove_one, DEPTH, FTW_DEPTH | FTW_PHYS);
}

mldf_status mldfi_temporary_bury(struct os_file *dead, mldf_error *err) {
    struct stat info;
    mldf_status status = MLDF_OK;
    if (fstat(dead->fd, &info) == 0 && S_ISDIR(info.st_mode))
        mldfi_remove_tree(dead->path);
    else
        (void)unlink(dead->path);
    if (lstat(dead->path, &info) == 0)
        status = mldfi_fail_file(err, MLDF_E_IO, dead->path, "cannot be removed");
    mldfi_file_close(dead);
    return status;
}

/* ---- Slots -------------------------------------------------------------------------------------------------------------------- */

static mldf_status bury_if_dead(const char *path, temporary_bury bury, void *user, mldf_error *err) {
    struct os_file dead;
    if (mldfi_temporary_life(path, false, &dead) != OS_LIFE_DEAD)
        return MLDF_OK;
    if (bury)
        return bury(user, &dead, err);
    (void)mldfi_temporary_bury(&dead, NULL); /* what cannot be removed stays, and its slot is taken */
    return MLDF_OK;
}

/* The slots from here to the first that nobody has. */
static mldf_status bury_from(const char *target, const char *kind, int slot, temporary_bury bury, void *user,
                             mldf_error *err) {
    struct stat info;
    mldf_status status = MLDF_OK;
    for (bool exists = true; exists && status == MLDF_OK && slot < SLOTS; slot++) {
        char *path = slot_path(target, kind, slot, err);
        if (!path)
            return MLDF_E_MEMORY;
        exists = lstat(path, &info) == 0;
        if (exists)
            status = bury_if_dead(path, bury, user, err);
        free(path);
    }
    return status;
}

void mldfi_temporary_remove_dead(const char *target) {
    (void)bury_from(target, TEMPORARY_WORK, 0, NULL, NULL, NULL);
}

/* How a slot is taken: its descriptor, or -1 with errno; EEXIST when it is taken already. */
typedef int (*take_slot)(const char *path);

static int take_file(const char *path) {
    int fd;
    do
        fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0666);
    while (fd < 0 && errno == EINTR);
    if (fd >= 0 && !hold(fd, path)) {
        (void)close(fd);
        fd = -1;
        errno = EEXIST;
    }
    return fd;
}

/* A folder that cannot be opened or locked is used all the same: nobody else can tell that it is dead either. */
enum { UNLOCKED = -2 };

static int take_folder(const char *path) {
    if (mkdir(path, 0777) != 0)
        return -1;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? (errno = EEXIST, -1) : UNLOCKED;
    if (hold(fd, path))
        return fd;
    (void)close(fd);
    errno = EEXIST;
    return -1;
}

static mldf_status take(take_slot how, const char *target, const char *kind, temporary_bury bury, void *user, int *fd,
                        char **path, mldf_error *err) {
    mldf_status status = MLDF_OK;
    for (int slot = 0; slot < SLOTS; slot++) {
        if (!(*path = slot_path(target, kind, slot, err)))
            return MLDF_E_MEMORY;
        *fd = how(*path);
        if (*fd == -1 && errno == EEXIST) {
            status = bury_if_dead(*path, bury, user, err);
            *fd = status == MLDF_OK ? how(*path) : -1;
        }
        if (*fd != -1)
            return bury_from(target, kind, slot + 1, bury, user, err);
        if (status == MLDF_OK && errno != EEXIST)
            status = mldfi_fail_file_errno(err, errno, target, "no %s can be created in its folder",
                                           how == take_file ? "file" : "folder");
        free(*path);
        *path = NULL;
        if (status < 0)
            return status;
    }
    return mldfi_fail_file_errno(err, EEXIST, target, "no free temporary name beside it");
}

mldf_status mldfi_temporary_create(struct os_file *file, const char *target, const char *kind, temporary_bury bury,
                                   void *user, mldf_error *err) {
    *file = (struct os_file)OS_FILE_NONE;
    mldf_status status = take(take_file, target, kind, bury, user, &file->fd, &file->path, err);
    file->temporary = file->fd >= 0;
    if (status < 0)
        mldfi_file_discard(file);
    return status;
}

mldf_status mldfi_temporary_create_folder(const char *target, char **path, int *lock_fd, mldf_error *err) {
    *lock_fd = -1;
    mldf_status status = take(take_folder, target, TEMPORARY_WORK, NULL, NULL, lock_fd, path, err);
    if (*lock_fd == UNLOCKED)
        *lock_fd = -1;
    return status;
}
