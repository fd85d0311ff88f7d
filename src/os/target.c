/* What may be written to under a user's name: checked before any work is done. Read file.h. */
#include <errno.h>
#include <sys/stat.h>

#include "os/target.h"
#include "util/error.h"

mldf_status mldfi_target_check(const char *path, bool overwrite, mldf_error *err)
{
    struct stat info;
    if (path[0] == 0)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "an empty file name");
    if (lstat(path, &info) != 0)
        return errno == ENOENT ? MLDF_OK : mldfi_fail_errno(err, errno, "%s", path);
    if (!overwrite)
        return mldfi_fail(err, MLDF_E_EXISTS, "%s exists; it is only replaced on request", path);
    if (S_ISLNK(info.st_mode) && stat(path, &info) != 0)
        return errno == ENOENT ? MLDF_OK : mldfi_fail_errno(err, errno, "%s", path);
    if (!S_ISREG(info.st_mode))
        return mldfi_fail(err, MLDF_E_ARGUMENT, "%s is not a regular file and is not replaced", path);
    return MLDF_OK;
}
