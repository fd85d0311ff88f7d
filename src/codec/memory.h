/* Memory that other libraries take. libspng, libwebp and libtiff tell a caller "damaged" for some allocations that failed inside them, and
 * libtiff goes on without a tag that it had no memory to read. malloc itself says so in errno, which belongs to this thread: errno is
 * cleared before such a library is called and looked at after it, whatever the library says. */
#ifndef MLDF_CODEC_MEMORY_H
#define MLDF_CODEC_MEMORY_H

#include <errno.h>
#include <stdlib.h>

#include "util/error.h"

static inline void mldfi_memory_watch(void) {
    errno = 0;
}

/* Has an allocation failed since mldfi_memory_watch? */
static inline bool mldfi_memory_failed(void) {
    return errno == ENOMEM;
}

/* Can `bytes` be had now? They are given back at once, for the library that is called next. Versions of libwebp (1.2.4) and libtiff (4.5.0) end
 * the process when a small allocation fails; so memory that is short fails here, before them. Other threads may still take it. */
static inline mldf_status mldfi_memory_probe(size_t bytes, const char *who, mldf_error *err) {
    void *volatile room = malloc(bytes);
    if (!room)
        return mldfi_fail(err, MLDF_E_MEMORY, "no memory to decode a %s: %zu bytes", who, bytes);
    free(room);
    return MLDF_OK;
}

#endif
