/* The folder of compiled code: objects by the hash of all that they were made from. A folder that others could have written to is not used;
 * a file in it that is not what was put there is not either. No function reports an error: a cache that does not work is no cache. */
#ifndef MLDF_OS_CODE_CACHE_H
#define MLDF_OS_CODE_CACHE_H

#include "mldf/base.h"

enum { CODE_KEY_BYTES = 32 };

struct os_cache {
    int fd;          /* the folder; -1: no cache */
    uint64_t most;   /* bytes that it may hold */
    char reason[96]; /* why there is none; "" when no folder was asked for */
};
enum { OS_CACHE_MOST = 64 << 20 };

/* folder NULL: none. Made with mode 0700 when it is missing, with the folders above it. */
void mldfi_cache_open(const char *folder, struct os_cache *out);
void mldfi_cache_close(struct os_cache *cache);
/* True: `object` is what was put under this key, byte for byte. */
bool mldfi_cache_get(const struct os_cache *cache, const uint8_t key[CODE_KEY_BYTES], mldf_buffer *object);
/* Written aside and renamed; then the oldest go until the rest is below `most`. */
void mldfi_cache_put(const struct os_cache *cache, const uint8_t key[CODE_KEY_BYTES], const void *object, size_t bytes);

#endif
