/* A table of first bytes: of files that people give by mistake where a dataset or a table belongs. See known.h. */
#include "util/known.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* A table's column may have the name WORD: it counts where what follows is no text, or where it ends the file, too. */
enum { WORD = 1, IMAGE = 2 };

struct kind {
    size_t at, bytes;
    const char *magic, *what;
    unsigned flags;
    const char *advice;
};

#define FROM_PYTHON(read) "read it in Python and write it: mldf.write(\"out.mldf\", " read ")"

static const struct kind kinds[] = {
    {0, 2, "\x1f\x8b", "compressed with gzip", 0, NULL},
    {0, 4, "\x28\xb5\x2f\xfd", "compressed with zstd", 0, NULL},
    {4, 6, "1AY&SY", "compressed with bzip2", 0, "decompress it first (bzip2 -d)"}, /* behind BZh and a digit */
    {0, 6,
     "\xfd"
     "7zXZ\0",
     "compressed with xz", 0, "decompress it first (xz -d)"},
    {0, 4, "\x04\x22\x4d\x18", "compressed with lz4", 0,
     "decompress it first (lz4 -d), or compress it with zstd: those are read"},
    {0, 4, "PK\x03\x04", "a zip archive", 0, NULL},
    {0, 6, "7z\xbc\xaf\x27\x1c", "a 7z archive", 0, NULL},
    {0, 4, "PAR1", "a Parquet file", WORD, FROM_PYTHON("pandas.read_parquet(\"in.parquet\")")},
    {0, 6, "ARROW1", "an Arrow file", WORD, FROM_PYTHON("pyarrow.feather.read_table(\"in.arrow\")")},
    {0, 4, "FEA1", "a Feather file", WORD, FROM_PYTHON("pandas.read_feather(\"in.feather\")")},
    {0, 3, "ORC", "an ORC file", WORD, FROM_PYTHON("pandas.read_orc(\"in.orc\")")},
    {0, 4, "Obj\x01", "an Avro file", 0, NULL},
    {0, 16, "SQLite format 3", "an SQLite database", 0, FROM_PYTHON("pandas.read_sql_query(...)")},
    {0, 8, "\x89HDF\r\n\x1a\n", "an HDF5 file", 0, FROM_PYTHON("{\"x\": h5py.File(\"in.h5\")[\"x\"][:]}")},
    {0, 6, "\x93NUMPY", "a NumPy array", 0, FROM_PYTHON("{\"x\": numpy.load(\"in.npy\")}")},
    {0, 3, "\xff\xd8\xff", "a JPEG image", IMAGE, NULL},
    {0, 8, "\x89PNG\r\n\x1a\n", "a PNG image", IMAGE, NULL},
    {8, 7, "WEBPVP8", "a WebP image", IMAGE, NULL},
    {0, 6, "GIF87a", "a GIF image", IMAGE, NULL},
    {0, 6, "GIF89a", "a GIF image", IMAGE, NULL},
    {0, 5, "%PDF-", "a PDF document", 0, NULL},
    {0, 2, "\xff\xfe", "text in UTF-16, where UTF-8 is read", 0, NULL},
    {0, 2, "\xfe\xff", "text in UTF-16, where UTF-8 is read", 0, NULL},
};

static bool is_kind(const struct kind *k, const uint8_t *data, size_t bytes) {
    size_t end = k->at + k->bytes;
    if (bytes < end || memcmp(data + k->at, k->magic, k->bytes) != 0)
        return false;
    if (!(k->flags & WORD))
        return true;
    if (bytes == end || (data[end] && strchr(",;|\t\n\r", data[end])))
        return false;
    return data[end] < ' ' || data[end] >= 0x80 || memcmp(data + bytes - k->bytes, k->magic, k->bytes) == 0;
}

static const struct kind *find_kind(const void *data, size_t bytes) {
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (is_kind(&kinds[i], data, bytes))
            return &kinds[i];
    return NULL;
}

const char *mldfi_known_kind(const void *data, size_t bytes) {
    const struct kind *kind = find_kind(data, bytes);
    return kind ? kind->what : NULL;
}

bool mldfi_known_is_image(const void *data, size_t bytes) {
    const struct kind *kind = find_kind(data, bytes);
    return kind && (kind->flags & IMAGE);
}

const char *mldfi_known_advice(const void *data, size_t bytes) {
    const struct kind *kind = find_kind(data, bytes);
    return kind ? kind->advice : NULL;
}

const char *mldfi_known_conversion(const void *data, size_t bytes) {
    static const struct {
        size_t bytes;
        const char *front, *what;
    } ways[] = {
        {8, "\x89MLDF\n\x1a\n", "CR LF became LF"},
        {11, "\x89MLDF\r\r\n\x1a\r\n", "LF became CR LF"},
        {10, "\x89MLDF\r\n\x1a\r\n", "LF became CR LF"},
        {9, "\x89MLDF\r\r\x1a\r", "LF became CR"},
        {9, "\x09MLDF\r\n\x1a\n", "the high bit of every byte was cleared"},
        {10, "\xc2\x89MLDF\r\n\x1a\n", "its bytes were encoded as UTF-8"},
        {8, "\xef\xbf\xbdMLDF\r", "its bytes were read as UTF-8"},
        {8, "\xef\xbf\xbdMLDF\n", "its bytes were read as UTF-8"},
    };
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
        if (bytes >= ways[i].bytes && memcmp(data, ways[i].front, ways[i].bytes) == 0)
            return ways[i].what;
    return NULL;
}

bool mldfi_looks_like_text(const void *data, size_t bytes) {
    const uint8_t *at = data;
    size_t lines = 0;
    for (size_t i = 0; i < bytes; i++) {
        if ((at[i] < 32 && at[i] != '\t' && at[i] != '\n' && at[i] != '\r') || at[i] == 127)
            return false;
        lines += at[i] == '\n';
    }
    return bytes > 0 && lines > 0;
}
