/* Opening a file that must lie below a folder, whatever links stand on the way. */
#ifndef MLDF_OS_BENEATH_H
#define MLDF_OS_BENEATH_H

#include "mldf/base.h"

/* A descriptor for reading (O_NONBLOCK, so that a pipe does not wait), or -1 with errno: EXDEV when a link leads out of `root`. Links that
 * stay below root are followed; root itself may be one. `path` is relative and has no ".". */
int mldfi_open_beneath(const char *root, const char *path);

#endif
