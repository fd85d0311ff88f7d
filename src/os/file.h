/* Files: positional I/O that retries EINTR and short transfers, durable publishing, locks, mappings. The only place where the
 * operating system is called for files. Messages name the path. */
#ifndef MLDF_OS_FILE_H
#define MLDF_OS_FILE_H

#include "mldf/base.h"

struct os_file {
    int fd;         /* -1: none */
    char *path;     /* for messages; owned */
    bool temporary; /* path is a temporary name of this file: mldfi_file_discard removes it */
};
#define OS_FILE_NONE \
    { -1, NULL, false }

/* A file that cannot be opened, by errno; an address (s3://bucket/x) gets its own message. */
mldf_status mldfi_fail_open(const char *path, int reason, mldf_error *err);

typedef enum os_open_mode { OS_OPEN_READ, OS_OPEN_READ_WRITE } os_open_mode;
/* O_CLOEXEC. Refuses directories, and anything but a regular file (a FIFO would hang: opened O_NONBLOCK first). */
mldf_status mldfi_file_open(struct os_file *file, const char *path, os_open_mode mode, mldf_error *err);
/* To read from front to back, a FIFO too; -1 with errno. A FIFO that nobody writes yet is there at once on Linux, whose poll tells that
 * from one that nobody writes any more: so the wait is poll's, and can be watched. Elsewhere it is open that waits; a signal ends it. */
int mldfi_file_open_stream(const char *path);
void mldfi_file_close(struct os_file *file);
mldf_status mldfi_file_size(const struct os_file *file, uint64_t *out, mldf_error *err);
/* The MLDF_E_CHANGED of a read that wanted bytes up to wanted_end: at the byte where the file ends. */
mldf_status mldfi_file_too_short(int fd, const char *path, uint64_t wanted_end, mldf_error *err);
/* All of [offset, offset+bytes), or MLDF_E_CHANGED when the file ends before. */
mldf_status mldfi_file_read(const struct os_file *file, uint64_t offset, void *dst, size_t bytes, mldf_error *err);
/* All of it; a full disk is MLDF_E_NO_SPACE. Any thread. */
mldf_status mldfi_file_write(const struct os_file *file, uint64_t offset, const void *src, size_t bytes,
                             mldf_error *err);
/* Sequential write to a descriptor that cannot seek; EPIPE is MLDF_E_IO. */
mldf_status mldfi_fd_write_all(int fd, const void *src, size_t bytes, mldf_error *err);
mldf_status mldfi_file_truncate(const struct os_file *file, uint64_t bytes, mldf_error *err);
mldf_status mldfi_file_sync(const struct os_file *file, mldf_error *err);
/* Hint: begin writing this range to the disk now (sync_file_range on Linux, nothing elsewhere). Cannot fail. */
void mldfi_file_start_writeback(const struct os_file *file, uint64_t offset, uint64_t bytes);
/* Hint: the page cache may forget this range. Cannot fail. */
void mldfi_file_forget(const struct os_file *file, uint64_t offset, uint64_t bytes);
/* Exclusive advisory lock for the open file, not waiting: MLDF_E_BUSY when another holds it. Ends with close. */
mldf_status mldfi_file_lock(const struct os_file *file, mldf_error *err);
/* For every copy of the descriptor, also one that a forked process has. */
void mldfi_file_unlock(const struct os_file *file);

/* A new file with a temporary name beside `target` (temporary.h), mode 0666 & ~umask, locked until it is published, discarded or closed.
 * Reports, before any work, a folder that does not exist or cannot be written. */
mldf_status mldfi_file_create_beside(struct os_file *file, const char *target, mldf_error *err);
/* The same without a name: for spill data. */
mldf_status mldfi_file_create_unlinked(struct os_file *file, const char *target, mldf_error *err);
/* A file without a name in `folder`, for its owner alone. */
mldf_status mldfi_file_create_temporary(struct os_file *file, const char *folder, mldf_error *err);
/* Bytes that may still be written to the file's disk, and the disk's size; both UINT64_MAX when the system does not say. */
void mldfi_file_space(const struct os_file *file, uint64_t *available, uint64_t *total);
/* Does `path` exist (even as a dangling link)? */
mldf_status mldfi_file_exists(const char *path, bool *out, mldf_error *err);
/* Renames file->path to target and syncs the folder. overwrite false: MLDF_E_EXISTS if target appeared meanwhile, atomically
 * (renameat2 RENAME_NOREPLACE, or link+unlink where that is missing). With overwrite the old file's permission bits are kept.
 * After the rename the file is no longer temporary, and a discard leaves it: also when the sync fails, which the message says. */
mldf_status mldfi_file_publish(struct os_file *file, const char *target, bool overwrite, mldf_error *err);
/* The two steps of it, for several files: publish_set.c. */
mldf_status mldfi_file_rename(struct os_file *file, const char *target, bool overwrite, mldf_error *err);
mldf_status mldfi_file_sync_folder(const char *target, mldf_error *err);
/* All that a small file holds, from the temporary name to the target's. */
mldf_status mldfi_file_write_whole(const char *target, const void *data, size_t bytes, bool overwrite, mldf_error *err);
/* Removes the name if it is temporary (ignoring errors), and closes. */
void mldfi_file_discard(struct os_file *file);

struct os_map {
    const uint8_t *data; /* NULL when bytes == 0 */
    uint64_t bytes;
};
mldf_status mldfi_map_open(struct os_map *map, const struct os_file *file, uint64_t bytes, mldf_error *err);
/* A view of one's own, of a file or of memory: *bytes is map->data. The file does not change. That of a file is read-only until mldfi_map_protect
 * lets a part be written to: the system sets memory aside for all that is writable, and a file may be larger than that. */
mldf_status mldfi_map_private(struct os_map *map, const struct os_file *file, uint64_t size, uint8_t **bytes,
                              mldf_error *err);
mldf_status mldfi_map_copy(struct os_map *map, const void *data, uint64_t size, uint8_t **bytes, mldf_error *err);
/* Bytes [from, to) of such a view, in whole pages, can be written to, or no longer. */
mldf_status mldfi_map_protect(uint8_t *bytes, uint64_t from, uint64_t to, bool writable, mldf_error *err);
void mldfi_map_close(struct os_map *map);

/* CPUs this process may use: affinity and the cgroup's cpu.max (v2) or cfs quota (v1), at least 1. */
int mldfi_cpu_count(void);
/* Monotonic seconds. */
double mldfi_time(void);

#endif
