/* Copying a range from one file to another, by the kernel where it can (copy_file_range), else through memory; and reading from a
 * descriptor that cannot seek. */
#ifndef MLDF_OS_FILE_COPY_H
#define MLDF_OS_FILE_COPY_H

#include "os/file.h"

/* All of it; MLDF_E_CHANGED when `from` ends before. The ranges must not overlap when both files are the same. */
mldf_status mldfi_file_copy(const struct os_file *from, uint64_t from_offset, const struct os_file *to,
                            uint64_t to_offset, uint64_t bytes, mldf_error *err);
/* What is there now, at least one byte; *got = 0 at the end. */
mldf_status mldfi_fd_read(int fd, void *dst, size_t room, size_t *got, mldf_error *err);

#endif
