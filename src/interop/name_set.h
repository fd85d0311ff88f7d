/* A set of names, each with a number, that keeps 128-bit hashes instead of the names: 32 to 64 bytes for each, and no two different
 * names are ever taken for the same in practice (XXH3; a billion names collide with a chance of 10^-21). */
#ifndef MLDF_INTEROP_NAME_SET_H
#define MLDF_INTEROP_NAME_SET_H

#include "mldf/base.h"

struct name_set;
mldf_status mldfi_name_set_new(struct name_set **out, mldf_error *err);
void mldfi_name_set_free(struct name_set *set);
/* MLDF_OK: it is new and has this number. MLDF_END: it was there, *number is the one it has. */
mldf_status mldfi_name_set_add(struct name_set *set, const void *name, size_t bytes, uint64_t *number, mldf_error *err);
/* MLDF_NONE: not there. */
uint64_t mldfi_name_set_find(const struct name_set *set, const void *name, size_t bytes);

#endif
