/* The check that comes before writing a file under a user's name. */
#ifndef MLDF_OS_TARGET_H
#define MLDF_OS_TARGET_H

#include "mldf/base.h"
#include "os/file.h"

/* MLDF_E_EXISTS when something is there and may not be replaced; never lets a device, a pipe or a folder be replaced. */
mldf_status mldfi_target_check(const char *path, bool overwrite, mldf_error *err);

/* Opens `path` for reading and writing, and makes it if it is not there; never follows a link, never opens anything but a regular file. */
mldf_status mldfi_file_open_or_create(struct os_file *file, const char *path, mldf_error *err);
/* Is `path` another name of this open file? False when there is no such file. */
bool mldfi_file_is(const struct os_file *file, const char *path);
/* Are these one file, opened twice? */
bool mldfi_file_same(const struct os_file *a, const struct os_file *b);
/* The path from the root, links not followed, so that it stays a name of the file when the process changes its folder. Freed by the
 * caller; NULL: no memory. */
char *mldfi_path_absolute(const char *path, mldf_error *err);
/* A file that is changed in place must still be reached by its name: otherwise MLDF_E_CHANGED, with `consequence` behind the reason. */
mldf_status mldfi_file_check_name(const struct os_file *file, const char *path, const char *consequence,
                                  mldf_error *err);
/* Removes a name; that it was not there is no error. */
void mldfi_file_remove(const char *path);

/* What tells one state of a file from the next. */
struct os_stamp {
    uint64_t bytes;
    int64_t seconds; /* of the last change */
    uint32_t nanoseconds;
    uint32_t zero; /* so that two can be compared byte by byte */
};
mldf_status mldfi_file_stamp(const struct os_file *file, struct os_stamp *out, mldf_error *err);
/* Waits, two seconds at most, until a change made now would give another stamp: clocks of file systems tick slowly. */
void mldfi_stamp_settle(const struct os_stamp *stamp);

#endif
