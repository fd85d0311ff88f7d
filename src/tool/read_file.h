/* One whole file into memory, for sources that name files. */
#ifndef MLDF_TOOL_READ_FILE_H
#define MLDF_TOOL_READ_FILE_H

#include "mldf/base.h"

/* Regular files only, of at most `limit` bytes (MLDF_E_LIMIT above). A file that changes while it is read is MLDF_E_CHANGED.
 * Messages do not name the path: the caller knows the better name. */
mldf_status mldfi_read_file(const char *path, uint64_t limit, mldf_buffer *out, mldf_error *err);
/* The same from a descriptor, which is closed; below 0: errno says why. */
mldf_status mldfi_read_opened(int fd, uint64_t limit, mldf_buffer *out, mldf_error *err);

#endif
