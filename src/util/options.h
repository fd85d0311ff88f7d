/* Options structs begin with struct_bytes: what the caller was compiled with. A shorter one leaves the rest at its default, a longer
 * one has members that this version does not know. */
#ifndef MLDF_UTIL_OPTIONS_H
#define MLDF_UTIL_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Copies what both know of *given over *own, which holds the defaults. NULL: nothing. False: struct_bytes is 0. */
static inline bool mldfi_take_options(void *own, size_t own_bytes, const void *given) {
    size_t bytes;
    if (!given)
        return true;
    memcpy(&bytes, given, sizeof bytes);
    if (bytes == 0)
        return false;
    memcpy(own, given, bytes < own_bytes ? bytes : own_bytes);
    return true;
}

#endif
