/* Modules: shared objects of ours that are opened when they are first needed, because what they need is large or not everywhere. */
#ifndef MLDF_OS_MODULE_H
#define MLDF_OS_MODULE_H

#include "mldf/base.h"

/* The function `symbol` of the module file `name`, which is looked for beside what contains this code (libmldf.so, the program, the Python
 * extension), in lib/ and mldf/ there, in lib/ and lib/mldf/ next to its folder, and where `make install` puts it. It stays loaded. MLDF_E_UNSUPPORTED: it is not there, or
 * lacks a library; the message says which. A pointer to a function in the clothes of one to an object, as dlsym gives it. */
mldf_status mldfi_module_symbol(const char *name, const char *symbol, void **out, mldf_error *err);

#endif
