/* What may be written to under a user's name: checked before any work is done. Read file.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "os/target.h"
#include "util/buffer.h"
#include "util/error.h"

mldf_status mldfi_target_check(const char *path, bool overwrite, mldf_error *err) {
    struct stat info;
    if (path[0] == 0)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "an empty file name");
    if (lstat(path, &info) != 0)
        return errno == ENOENT ? MLDF_OK : mldfi_fail_file_errno(err, errno, path, "cannot be examined");
    if (!overwrite)
        return mldfi_fail_exists(err, path);
    if (S_ISLNK(info.st_mode) && stat(path, &info) != 0)
        return errno == ENOENT ? MLDF_OK : mldfi_fail_file_errno(err, errno, path, "cannot be examined");
    if (!S_ISREG(info.st_mode))
        return mldfi_fail_file(err, MLDF_E_ARGUMENT, path, "is not a regular file and is not replaced");
    return MLDF_OK;
}

mldf_status mldfi_file_open_or_create(struct os_file *file, const char *path, mldf_error *err) {
    struct stat info;
    *file = (struct os_file)OS_FILE_NONE;
    if (!(file->path = mldfi_copy_text(path, strlen(path), err)))
        return MLDF_E_MEMORY;
    mldf_status status = MLDF_OK;
    file->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK, 0666);
    if (file->fd < 0 || fstat(file->fd, &info) != 0)
        status = mldfi_fail_file_errno(err, errno, path, "cannot be opened");
    else if (!S_ISREG(info.st_mode))
        status = mldfi_fail_file(err, MLDF_E_IO, path, "is not a regular file");
    if (status < 0)
        mldfi_file_close(file);
    return status;
}

bool mldfi_file_is(const struct os_file *file, const char *path) {
    struct stat open_one, named;
    return file->fd >= 0 && fstat(file->fd, &open_one) == 0 && stat(path, &named) == 0 &&
           open_one.st_dev == named.st_dev && open_one.st_ino == named.st_ino;
}

bool mldfi_file_same(const struct os_file *a, const struct os_file *b) {
    struct stat first, second;
    return fstat(a->fd, &first) == 0 && fstat(b->fd, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

char *mldfi_path_absolute(const char *path, mldf_error *err) {
    mldf_buffer text = MLDF_BUFFER_INIT;
    char *folder = path[0] == '/' ? NULL : getcwd(NULL, 0); /* a folder that was removed has no name: then as given */
    mldf_status status = folder ? mldfi_buffer_printf(&text, err, "%s/", folder) : MLDF_OK;
    if (status >= 0)
        status = mldf_buffer_append(&text, path, strlen(path), err);
    char *result = status >= 0 ? mldfi_copy_text((const char *)text.data, text.size, err) : NULL;
    mldf_buffer_free(&text);
    free(folder);
    return result;
}

mldf_status mldfi_file_check_name(const struct os_file *file, const char *path, const char *consequence,
                                  mldf_error *err) {
    struct stat info;
    if (mldfi_file_is(file, path))
        return MLDF_OK;
    return mldfi_fail_file(err, MLDF_E_CHANGED, file->path, "%s: %s",
                           stat(path, &info) == 0 ? "is another file now: it was replaced meanwhile"
                                                  : "is gone: it was removed or renamed meanwhile",
                           consequence);
}

void mldfi_file_remove(const char *path) {
    (void)unlink(path);
}

mldf_status mldfi_file_stamp(const struct os_file *file, struct os_stamp *out, mldf_error *err) {
    struct stat info;
    if (fstat(file->fd, &info) != 0)
        return mldfi_fail_file_errno(err, errno, file->path, "cannot be examined");
    *out = (struct os_stamp){(uint64_t)info.st_size, info.st_mtim.tv_sec, (uint32_t)info.st_mtim.tv_nsec, 0};
    return MLDF_OK;
}

/* Linux stamps files with a clock of 1 to 10 ms; a time without a fraction may come from one of whole seconds, or of two. */
void mldfi_stamp_settle(const struct os_stamp *stamp) {
    const int64_t tick = stamp->nanoseconds ? 20000000 : 2000000000;
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0 || stamp->seconds > now.tv_sec || now.tv_sec - stamp->seconds > 3)
        return;
    int64_t age = (now.tv_sec - stamp->seconds) * 1000000000 + now.tv_nsec - (int64_t)stamp->nanoseconds;
    if (age < 0 || age >= tick)
        return;
    struct timespec rest = {(tick - age) / 1000000000, (long)((tick - age) % 1000000000)};
    while (nanosleep(&rest, &rest) != 0 && errno == EINTR)
        continue;
}
