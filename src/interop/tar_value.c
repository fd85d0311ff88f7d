/* Parts of a tar's samples as values, by the type of the field that they belong to. See tar_about.h; foreign_tar.c turns the values into
 * records, pack gives them to a writer. */
#include <math.h>
#include <string.h>

#include "field/npy.h"
#include "interop/tar_about.h"
#include "interop/tar_npz.h"
#include "util/error.h"
#include "util/number.h"

static bool is_space(char c) {
    return c == '\n' || c == '\r' || c == '\t' || c == ' ';
}

/* White space around a number does not count. */
static void trim(const char **text, uint64_t *bytes) {
    while (*bytes && is_space((*text)[*bytes - 1]))
        (*bytes)--;
    while (*bytes && is_space(**text))
        (*text)++, (*bytes)--;
}

static mldf_status refuse(const char *text, uint64_t bytes, const char *what, mldf_error *err) {
    return mldfi_fail(err, MLDF_E_TYPE, "not %s: '%.*s'", what, (int)(bytes < 40 ? bytes : 40), text);
}

static mldf_status number_value(const mldf_field *field, const char *text, uint64_t bytes, mldf_value *out,
                                mldf_error *err) {
    trim(&text, &bytes);
    if (field->type_id == MLDF_FLOAT) {
        static const struct {
            const char *name;
            double value;
        } others[] = {{"nan", NAN}, {"-nan", NAN}, {"inf", INFINITY}, {"-inf", -INFINITY}};
        out->kind = MLDF_KIND_FLOAT;
        for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
            if (strlen(others[i].name) == bytes && memcmp(others[i].name, text, (size_t)bytes) == 0) {
                out->as.f = others[i].value;
                return MLDF_OK;
            }
        return mldfi_parse_double(text, (size_t)bytes, &out->as.f) ? MLDF_OK : refuse(text, bytes, "a number", err);
    }
    out->kind = field->dtype == MLDF_U64 ? MLDF_KIND_UINT : MLDF_KIND_INT;
    if (field->dtype == MLDF_U64)
        return mldfi_parse_u64(text, (size_t)bytes, &out->as.u) ? MLDF_OK
                                                                : refuse(text, bytes, "an unsigned integer", err);
    return mldfi_tar_integer((const uint8_t *)text, bytes, &out->as.i, err);
}

static bool ends_in_npy(const char *extension) {
    const char *dot = strrchr(extension, '.');
    return strcmp(dot ? dot + 1 : extension, "npy") == 0;
}

/* An array of an .npy, or of an entry of an .npz. */
static mldf_status array_value(const void *data, uint64_t bytes, uint64_t max_decoded, mldf_buffer *scratch,
                               mldf_value *out, mldf_error *err) {
    mldf_buffer inflated = MLDF_BUFFER_INIT;
    const uint8_t *npy;
    uint64_t npy_bytes;
    mldf_status status = mldfi_npz_unwrap(data, bytes, max_decoded, &inflated, &npy, &npy_bytes, err);
    if (status >= 0)
        status = mldfi_npy_value(npy, npy_bytes, scratch, out, err);
    if (status >= 0 && inflated.size && scratch->size == 0) { /* the value is in it */
        mldf_buffer old = *scratch;
        *scratch = inflated;
        inflated = old;
    }
    mldf_buffer_free(&inflated);
    return status;
}

mldf_status mldfi_tar_value(const struct schema_field *field, const char *extension, const void *data, uint64_t bytes,
                            uint64_t max_decoded, mldf_buffer *scratch, mldf_value *out, mldf_error *err) {
    const struct field_type *type = field->type;
    *out = (mldf_value){.kind = MLDF_KIND_BYTES, .data = data, .bytes = bytes};
    switch (field->info.type_id) {
    case MLDF_INT:
    case MLDF_FLOAT:
        return number_value(&field->info, data, bytes, out, err);
    case MLDF_TEXT:
    case MLDF_JSON:
        out->kind = MLDF_KIND_TEXT;
        return MLDF_OK;
    case MLDF_BYTES:
        if (mldfi_npz_is(extension)) {
            const uint8_t *npy;
            mldf_status status = mldfi_npz_unwrap(data, bytes, max_decoded, scratch, &npy, &out->bytes, err);
            out->data = npy;
            return status;
        }
        return MLDF_OK;
    case MLDF_INLINE:
        return ends_in_npy(extension) ? mldfi_npy_value(data, bytes, scratch, out, err) : MLDF_OK;
    default:
        if (type && type->files)
            return MLDF_OK;
        if (type && type->ending && strcmp(type->ending, "npy") == 0)
            return array_value(data, bytes, max_decoded, scratch, out, err);
        return mldfi_fail(err, MLDF_E_TYPE, "fields of type %s are not made from members of a tar",
                          field->info.type_name);
    }
}
