/* The first bytes of files that people have at hand when they mean to give a dataset or a table. See known.h. */
#include "util/known.h"

#include <string.h>

struct kind {
    size_t at, bytes;
    const char *magic, *what;
};

static const struct kind kinds[] = {
    {0, 2, "\x1f\x8b", "compressed with gzip"},
    {0, 4, "\x28\xb5\x2f\xfd", "compressed with zstd"},
    {0, 3, "BZh", "compressed with bzip2"},
    {0, 6,
     "\xfd"
     "7zXZ\0",
     "compressed with xz"},
    {0, 4, "\x04\x22\x4d\x18", "compressed with lz4"},
    {0, 4, "PK\x03\x04", "a zip archive"},
    {0, 6, "7z\xbc\xaf\x27\x1c", "a 7z archive"},
    {0, 4, "PAR1", "a Parquet file"},
    {0, 6, "ARROW1", "an Arrow file"},
    {0, 8, "\x89HDF\r\n\x1a\n", "an HDF5 file"},
    {0, 6, "\x93NUMPY", "a NumPy array"},
    {0, 3, "\xff\xd8\xff", "a JPEG picture"},
    {0, 8, "\x89PNG\r\n\x1a\n", "a PNG picture"},
    {8, 4, "WEBP", "a WebP picture"},
    {0, 4, "GIF8", "a GIF picture"},
    {0, 5, "%PDF-", "a PDF document"},
    {0, 2, "\xff\xfe", "text in UTF-16, where UTF-8 is read"},
    {0, 2, "\xfe\xff", "text in UTF-16, where UTF-8 is read"},
};

const char *mldfi_known_kind(const void *data, size_t bytes) {
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const struct kind *k = &kinds[i];
        if (bytes >= k->at + k->bytes && memcmp((const char *)data + k->at, k->magic, k->bytes) == 0)
            return k->what;
    }
    return NULL;
}
