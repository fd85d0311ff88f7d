/* What a part of a WebDataset sample becomes: its field's type by its extension, its number by its text. Shared by the reader of
 * archives (foreign_tar.c) and by pack. */
#include <string.h>

#include "interop/tar.h"
#include "mldf/schema.h"
#include "util/error.h"
#include "util/number.h"

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

bool mldfi_tar_is_read_image(const char *extension) {
    static const char *const images[] = {"jpg", "jpeg", "png", "webp", "bmp", "tif", "tiff", NULL};
    return one_of(ending_of(extension), images);
}

uint16_t mldfi_tar_type(const char *extension) {
    static const char *const others[] = {"ppm", "pgm", "gif", NULL};
    static const char *const integers[] = {"cls", "cls2", "class", "count", "index", "inx", "id", NULL};
    static const char *const texts[] = {"txt", "text", "transcript", NULL};
    const char *last = ending_of(extension);
    if (mldfi_tar_is_read_image(extension) || one_of(last, others))
        return MLDF_IMAGE;
    if (one_of(last, integers))
        return MLDF_INT;
    if (one_of(last, texts))
        return MLDF_TEXT;
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
