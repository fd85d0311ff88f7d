/* Public structs that may grow begin with `size_t struct_bytes`: what the caller was compiled with (mldf/base.h states the rule). These
 * functions are the one place that reads it:
 *   - options come in by mldfi_take_options: a shorter struct, of an older program, leaves the rest at its default; of a longer one, of a
 *     newer program, the members that this version does not know must be 0;
 *   - results go out by mldfi_give_result: a shorter struct gets what it has room for, the rest of a longer one becomes 0.
 */
#ifndef MLDF_UTIL_OPTIONS_H
#define MLDF_UTIL_OPTIONS_H

#include "mldf/base.h"

/* Copies what both know of *given over *own, which holds the defaults; own->struct_bytes becomes own_bytes. NULL: nothing. `name`: the struct's. */
mldf_status mldfi_take_options(void *own, size_t own_bytes, const char *name, const void *given, mldf_error *err);

/* Is *out a struct of this kind? Before work begins whose result goes there. NULL is. */
mldf_status mldfi_check_result(const char *name, const void *out, mldf_error *err);
/* Copies what both know of *own to *out; out->struct_bytes stays. NULL: nothing. */
void mldfi_give_result(void *out, const void *own, size_t own_bytes);

#endif
