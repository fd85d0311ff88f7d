/* A folder that is filled out of sight and then appears: as a whole when nothing stands under its name, else by moving its content into
 * the folder that is there. */
#ifndef MLDF_OS_FOLDER_H
#define MLDF_OS_FOLDER_H

#include "mldf/base.h"

struct os_folder {
    char *target;    /* without slashes at the end */
    char *temporary; /* beside it, or in it when it exists */
    bool exists;
    int lock; /* on the temporary folder: temporary.h; -1: none */
};
#define OS_FOLDER_NONE \
    { NULL, NULL, false, -1 }

/* MLDF_E_EXISTS when the target is a folder with something in it and overwrite is false, or is no folder. */
mldf_status mldfi_folder_begin(struct os_folder *folder, const char *target, bool overwrite, mldf_error *err);
/* A new file, its folders made on the way; `path` is relative and has no "." or "..". MLDF_E_EXISTS when it is there already. */
mldf_status mldfi_folder_create(const struct os_folder *folder, const char *path, int *fd, mldf_error *err);
mldf_status mldfi_folder_publish(struct os_folder *folder, mldf_error *err);
/* Removes what was not published and frees the names. */
void mldfi_folder_discard(struct os_folder *folder);

#endif
