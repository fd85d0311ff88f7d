/* Reading past the page cache (O_DIRECT): for files larger than memory that are read once. A second descriptor of an open file does it for
 * large reads; small ones (rows, records) stay with the page cache. */
#ifndef MLDF_OS_DIRECT_H
#define MLDF_OS_DIRECT_H

#include "os/file.h"

struct os_direct {
    int fd;
};
enum { OS_DIRECT_LEAST = 16 << 10 }; /* smaller reads are not worth a block's alignment */

/* MLDF_E_UNSUPPORTED where the system or the file system has no such thing. */
mldf_status mldfi_direct_open(struct os_direct *direct, const struct os_file *file, mldf_error *err);
void mldfi_direct_close(struct os_direct *direct);
/* All of [offset, offset + bytes), or MLDF_E_CHANGED when the file ends before. */
mldf_status mldfi_direct_read(const struct os_direct *direct, const char *path, uint64_t offset, void *dst,
                              size_t bytes, mldf_error *err);

#endif
