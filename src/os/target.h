/* The check that comes before writing a file under a user's name. */
#ifndef MLDF_OS_TARGET_H
#define MLDF_OS_TARGET_H

#include "mldf/base.h"

/* MLDF_E_EXISTS when something is there and may not be replaced; never lets a device, a pipe or a folder be replaced. */
mldf_status mldfi_target_check(const char *path, bool overwrite, mldf_error *err);

#endif
