/* The system's C compiler: finding it, and one source through it to a shared object in memory. No shell, a time limit, nothing left
 * behind. */
#ifndef MLDF_OS_COMPILER_H
#define MLDF_OS_COMPILER_H

#include <stdatomic.h>

#include "mldf/base.h"

struct os_compiler {
    char path[1024];
    uint64_t bytes; /* of the file that the path leads to, and when it was changed: which compiler it is */
    int64_t seconds, nanoseconds;
};
/* A path (with a slash), or a name that is looked for in /usr/bin and /usr/local/bin. MLDF_E_UNSUPPORTED when it is not there or cannot be
 * run. */
mldf_status mldfi_compiler_find(const char *name, struct os_compiler *out, mldf_error *err);

enum { OS_OBJECT_MAX = 16 << 20 };

/* flags ends with NULL and goes in front; libraries too, and goes behind. object is replaced. MLDF_E_UNSUPPORTED with the compiler's first
 * complaint; MLDF_E_CANCELLED when *cancel became true. */
mldf_status mldfi_compile(const struct os_compiler *compiler, const char *const *flags, const char *const *libraries,
                          const void *source, size_t bytes, unsigned limit_ms, const atomic_bool *cancel,
                          mldf_buffer *object, mldf_error *err);

/* A folder of our own, mode 0700, for one file; and its end. */
mldf_status mldfi_private_folder(char path[64], mldf_error *err);

#endif
