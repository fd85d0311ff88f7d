/* A shared object from memory into the process. */
#ifndef MLDF_OS_LIBRARY_H
#define MLDF_OS_LIBRARY_H

#include "mldf/base.h"

struct os_library;
mldf_status mldfi_library_load(const void *object, size_t bytes, struct os_library **out, mldf_error *err);
/* NULL: no such name. A pointer to a function in the clothes of one to an object, as dlsym gives it. */
void *mldfi_library_symbol(const struct os_library *library, const char *name);
/* Takes NULL. */
void mldfi_library_close(struct os_library *library);

#endif
