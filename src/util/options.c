/* The rule for public structs that may grow: see options.h. */
#include "util/options.h"

#include <string.h>

#include "util/error.h"

/* No struct of this library is that large: a larger number is memory that nobody initialised. */
enum { LARGEST_STRUCT = 65536 };

static mldf_status size_of(const char *name, const void *given, size_t *bytes, mldf_error *err) {
    memcpy(bytes, given, sizeof *bytes);
    if (*bytes < sizeof *bytes || *bytes > LARGEST_STRUCT)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "%s: struct_bytes is %zu: begin with the struct's _INIT macro", name,
                          *bytes);
    return MLDF_OK;
}

mldf_status mldfi_take_options(void *own, size_t own_bytes, const char *name, const void *given, mldf_error *err) {
    size_t bytes;
    if (!given)
        return MLDF_OK;
    TRY(size_of(name, given, &bytes, err));
    for (size_t i = own_bytes; i < bytes; i++)
        if (((const uint8_t *)given)[i])
            return mldfi_fail(err, MLDF_E_ARGUMENT,
                              "%s: byte %zu is set; this library knows %zu of the program's %zu bytes: it is older "
                              "than the header that the program was compiled with",
                              name, i, own_bytes, bytes);
    memcpy(own, given, bytes < own_bytes ? bytes : own_bytes);
    memcpy(own, &own_bytes, sizeof own_bytes);
    return MLDF_OK;
}

mldf_status mldfi_check_result(const char *name, const void *out, mldf_error *err) {
    size_t bytes;
    return out ? size_of(name, out, &bytes, err) : MLDF_OK;
}

void mldfi_give_result(void *out, const void *own, size_t own_bytes) {
    size_t bytes;
    if (!out)
        return;
    if (size_of("", out, &bytes, NULL) < 0) /* the caller checked it, or must not write to it */
        return;
    size_t both = bytes < own_bytes ? bytes : own_bytes;
    memcpy((char *)out + sizeof bytes, (const char *)own + sizeof bytes, both - sizeof bytes);
    if (bytes > both)
        memset((char *)out + both, 0, bytes - both);
}
