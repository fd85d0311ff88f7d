/* code_cache.h. A file is  magic | key | SHA-256 of the object | object , named by the key in hex. Everything is asked of descriptors that
 * are already open: between a look at a name and its use the name could change.  */
#include "os/code_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "os/compiler.h"
#include "os/file.h"
#include "util/buffer.h"

static const char magic[8] = {'M', 'L', 'D', 'F', 'C', 'O', 'D', '1'};
enum { HEADER = 8 + CODE_KEY_BYTES + 32, NAME = 2 * CODE_KEY_BYTES };

/* ---- The folder ------------------------------------------------------------------------------------------------------------------- */

/* Every part of the path that is missing. */
static void make_folders(const char *folder) {
    char path[1024];
    size_t bytes = strlen(folder);
    if (bytes == 0 || bytes >= sizeof path)
        return;
    memcpy(path, folder, bytes + 1);
    for (size_t i = 1; i <= bytes; i++)
        if (path[i] == '/' || path[i] == 0) {
            path[i] = 0;
            (void)mkdir(path, 0700);
            path[i] = folder[i];
        }
}

static const char *fault_of(int fd) {
    struct stat st;
    struct statvfs file_system;
    if (getuid() != geteuid() || getgid() != getegid())
        return "the program runs with another user's rights";
    if (fstat(fd, &st) != 0 || !S_ISDIR(st.st_mode))
        return "it is not a folder";
    if (st.st_uid != geteuid())
        return "it belongs to another user";
    if (st.st_mode & (S_IWGRP | S_IWOTH))
        return "others may write to it";
    if (fstatvfs(fd, &file_system) != 0)
        return "its file system does not answer";
#if defined(ST_NOEXEC)
    if (file_system.f_flag & ST_NOEXEC)
        return "its file system forbids programs";
#endif
    return NULL;
}

void mldfi_cache_open(const char *folder, struct os_cache *out) {
    *out = (struct os_cache){.fd = -1, .most = OS_CACHE_MOST};
    if (!folder)
        return;
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) {
        make_folders(folder);
        fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    }
    const char *fault = fd < 0 ? "it cannot be opened" : fault_of(fd);
    if (fault) {
        (void)snprintf(out->reason, sizeof out->reason, "%s", fault);
        if (fd >= 0)
            (void)close(fd);
        return;
    }
    out->fd = fd;
}

void mldfi_cache_close(struct os_cache *cache) {
    if (cache->fd >= 0)
        (void)close(cache->fd);
    cache->fd = -1;
}

/* ---- Files ----------------------------------------------------------------------------------------------------------------------- */

static void name_of(const uint8_t key[CODE_KEY_BYTES], char out[NAME + 1]) {
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < CODE_KEY_BYTES; i++) {
        out[2 * i] = digits[key[i] >> 4];
        out[2 * i + 1] = digits[key[i] & 15];
    }
    out[NAME] = 0;
}

/* Ours alone, and of a size that can be right. */
static bool is_sound(int fd, size_t *bytes) {
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & (S_IWGRP | S_IWOTH)) ||
        st.st_size <= HEADER || st.st_size > HEADER + OS_OBJECT_MAX)
        return false;
    *bytes = (size_t)st.st_size;
    return true;
}

bool mldfi_cache_get(const struct os_cache *cache, const uint8_t key[CODE_KEY_BYTES], mldf_buffer *object) {
    char name[NAME + 1];
    uint8_t header[HEADER], digest[32];
    size_t bytes = 0;
    if (cache->fd < 0)
        return false;
    name_of(key, name);
    int fd = openat(cache->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return false;
    struct os_file file = {fd, name, false};
    bool good = is_sound(fd, &bytes) && mldfi_file_read(&file, 0, header, HEADER, NULL) == MLDF_OK &&
                memcmp(header, magic, sizeof magic) == 0 && memcmp(header + 8, key, CODE_KEY_BYTES) == 0 &&
                mldfi_buffer_resize(object, bytes - HEADER, NULL) == MLDF_OK &&
                mldfi_file_read(&file, HEADER, object->data, object->size, NULL) == MLDF_OK;
    if (good) {
        mldf_sha256(object->data, object->size, digest);
        good = memcmp(digest, header + 8 + CODE_KEY_BYTES, sizeof digest) == 0;
    }
    if (good)
        (void)futimens(fd, NULL); /* used: not the oldest any more */
    (void)close(fd);
    return good;
}

static bool write_file(int fd, const uint8_t key[CODE_KEY_BYTES], const void *object, size_t bytes) {
    uint8_t header[HEADER];
    memcpy(header, magic, sizeof magic);
    memcpy(header + 8, key, CODE_KEY_BYTES);
    mldf_sha256(object, bytes, header + 8 + CODE_KEY_BYTES);
    return mldfi_fd_write_all(fd, header, HEADER, NULL) == MLDF_OK &&
           mldfi_fd_write_all(fd, object, bytes, NULL) == MLDF_OK;
}

/* ---- Size ------------------------------------------------------------------------------------------------------------------------- */

struct entry {
    char name[NAME + 16];
    time_t changed;
    uint64_t bytes;
};
enum { MOST_ENTRIES = 4096 };

static bool is_ours(const char *name) {
    return (strlen(name) == NAME && strspn(name, "0123456789abcdef") == NAME) || strncmp(name, "new-", 4) == 0;
}

static size_t list_entries(int folder, struct entry *entries) {
    size_t count = 0;
    int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        if (fd >= 0)
            (void)close(fd);
        return 0;
    }
    for (struct dirent *d; count < MOST_ENTRIES && (d = readdir(dir));) {
        struct stat st;
        if (!is_ours(d->d_name) || strlen(d->d_name) >= sizeof entries->name ||
            fstatat(folder, d->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        memcpy(entries[count].name, d->d_name, strlen(d->d_name) + 1);
        entries[count].changed = st.st_mtime;
        entries[count++].bytes = (uint64_t)st.st_size;
    }
    (void)closedir(dir);
    return count;
}

static int older(const void *a, const void *b) {
    const struct entry *x = a, *y = b;
    if (x->changed != y->changed)
        return x->changed < y->changed ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* The oldest go first; what a killed process left half written is old after an hour. `keep` was just made. */
static void trim(const struct os_cache *cache, const char *keep) {
    struct entry *entries = malloc(MOST_ENTRIES * sizeof *entries);
    uint64_t sum = 0;
    if (!entries)
        return;
    size_t count = list_entries(cache->fd, entries);
    time_t now = time(NULL);
    qsort(entries, count, sizeof *entries, older);
    for (size_t i = 0; i < count; i++)
        sum += entries[i].bytes;
    for (size_t i = 0; i < count; i++) {
        bool half = strncmp(entries[i].name, "new-", 4) == 0;
        if (strcmp(entries[i].name, keep) == 0 || (half ? now - entries[i].changed < 3600 : sum <= cache->most))
            continue;
        (void)unlinkat(cache->fd, entries[i].name, 0);
        sum -= entries[i].bytes;
    }
    free(entries);
}

void mldfi_cache_put(const struct os_cache *cache, const uint8_t key[CODE_KEY_BYTES], const void *object,
                     size_t bytes) {
    char name[NAME + 1], fresh[NAME + 16];
    if (cache->fd < 0 || bytes > OS_OBJECT_MAX)
        return;
    name_of(key, name);
    int fd = -1;
    for (unsigned i = 0; fd < 0 && i < 16; i++) {
        (void)snprintf(fresh, sizeof fresh, "new-%.16s-%ld-%u", name, (long)getpid(), i);
        fd = openat(cache->fd, fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0 && errno != EEXIST)
            return;
    }
    if (fd < 0)
        return;
    bool good = write_file(fd, key, object, bytes);
    good = close(fd) == 0 && good;
    if (!good || renameat(cache->fd, fresh, cache->fd, name) != 0)
        (void)unlinkat(cache->fd, fresh, 0);
    trim(cache, name);
}
