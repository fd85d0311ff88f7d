/* What a part of a WebDataset sample becomes: its field's type by its extension, its number by its text; which keys and sizes are
 * refused. Shared by the reader of archives (foreign_tar.c) and by pack. */
#include <stdio.h>
#include <string.h>

#include "interop/tar.h"
#include "util/error.h"
#include "util/number.h"
#include "util/utf8.h"

static bool one_of(const char *text, const char *const *list) {
    while (*list && strcmp(*list, text) != 0)
        list++;
    return *list != NULL;
}

/* What is behind the last dot. */
static const char *ending_of(const char *extension) {
    const char *dot = strrchr(extension, '.');
    return dot ? dot + 1 : extension;
}

archive_part mldfi_tar_file(const char *extension, const struct field_type **type) {
    char name[TAR_ENDING_MAX + 2];
    const struct file_ending *ending = NULL;
    snprintf(name, sizeof name, ".%.*s", TAR_ENDING_MAX, ending_of(extension));
    *type = mldfi_type_of_file(name, &ending);
    if (ending && ending->type)
        *type = ending->type;
    return ending ? ending->archive : ARCHIVE_BYTES;
}

uint16_t mldfi_tar_type(const char *extension) {
    static const char *const integers[] = {"cls", "cls2", "class", "count", "index", "inx", "id", NULL};
    static const char *const texts[] = {"txt", "text", "transcript", NULL};
    const char *last = ending_of(extension);
    const struct field_type *files;
    if (mldfi_tar_file(extension, &files) != ARCHIVE_BYTES)
        return files->type.id;
    if (one_of(last, integers))
        return MLDF_INT;
    if (one_of(last, texts))
        return MLDF_TEXT;
    if (strcmp(last, "npy") == 0 || strcmp(last, "npz") == 0)
        return MLDF_NDARRAY;
    return strcmp(last, "json") == 0 ? MLDF_JSON : MLDF_BYTES;
}

mldf_status mldfi_tar_integer(const uint8_t *data, uint64_t bytes, int64_t *out, mldf_error *err) {
    while (bytes && (data[bytes - 1] == '\n' || data[bytes - 1] == '\r' || data[bytes - 1] == ' '))
        bytes--;
    while (bytes && *data == ' ')
        data++, bytes--;
    if (!mldfi_parse_i64((const char *)data, (size_t)bytes, out))
        return mldfi_fail(err, MLDF_E_TYPE, "not an integer: '%.*s'", (int)(bytes < 40 ? bytes : 40),
                          (const char *)data);
    return MLDF_OK;
}

mldf_status mldfi_tar_check_key(const char *key, size_t bytes, uint64_t offset, mldf_error *err) {
    enum { SHOWN = 100 };
    char shown[4 * SHOWN + 1];
    size_t n = 0;
    if (mldfi_utf8_valid_prefix(key, bytes) == bytes)
        return MLDF_OK;
    for (size_t i = 0; i < bytes && i < SHOWN; i++) {
        unsigned char c = (unsigned char)key[i];
        n += (size_t)snprintf(shown + n, sizeof shown - n, c < 0x20 || c >= 0x7f || c == '\\' ? "\\x%02x" : "%c", c);
    }
    shown[n] = 0;
    return mldfi_fail_at(
        err, MLDF_E_KEY, offset,
        "the key %s of the member at byte %llu is not UTF-8; rename the file and make the archive again", shown,
        (unsigned long long)(offset >= TAR_BLOCK ? offset - TAR_BLOCK : offset));
}

mldf_status mldfi_tar_member_too_large(const char *name, uint64_t bytes, uint64_t offset, mldf_error *err) {
    return mldfi_fail_at(err, MLDF_E_LIMIT, offset,
                         "%.120s has %llu bytes, and a member of a compressed archive is held in memory: at most %llu; "
                         "decompress the archive first",
                         name, (unsigned long long)bytes, (unsigned long long)TAR_STREAMED_MEMBER_MAX);
}
