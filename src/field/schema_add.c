/* mldf_schema_add_int and the like: the arguments of the common types as C values instead of JSON. Each writes the JSON and calls
 * mldf_schema_add, which checks it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "mldf/schema.h"
#include "util/error.h"

mldf_status mldf_schema_add_int(mldf_schema *schema, const char *name, mldf_dtype dtype, uint16_t flags,
                                mldf_error *err) {
    char arguments[32];
    snprintf(arguments, sizeof arguments, "{\"dtype\":\"%s\"}", mldf_dtype_name(dtype));
    return mldf_schema_add(schema, name, MLDF_INT, dtype == MLDF_DTYPE_NONE ? NULL : arguments, flags, err);
}

mldf_status mldf_schema_add_float(mldf_schema *schema, const char *name, uint16_t flags, mldf_error *err) {
    return mldf_schema_add(schema, name, MLDF_FLOAT, NULL, flags, err);
}

mldf_status mldf_schema_add_bytes(mldf_schema *schema, const char *name, uint16_t flags, mldf_error *err) {
    return mldf_schema_add(schema, name, MLDF_BYTES, NULL, flags, err);
}

mldf_status mldf_schema_add_text(mldf_schema *schema, const char *name, uint16_t flags, mldf_error *err) {
    return mldf_schema_add(schema, name, MLDF_TEXT, NULL, flags, err);
}

mldf_status mldf_schema_add_json(mldf_schema *schema, const char *name, uint16_t flags, mldf_error *err) {
    return mldf_schema_add(schema, name, MLDF_JSON, NULL, flags, err);
}

mldf_status mldf_schema_add_ndarray(mldf_schema *schema, const char *name, mldf_dtype dtype, uint32_t ndim,
                                    const int64_t *dims, uint16_t flags, mldf_error *err) {
    char arguments[64 + MLDF_MAX_DIMS * 22];
    if (ndim > MLDF_MAX_DIMS || (ndim && !dims))
        return mldfi_fail(err, MLDF_E_ARGUMENT, "mldf_schema_add_ndarray: %" PRIu32 " dimensions; 0 to %d are possible",
                          ndim, MLDF_MAX_DIMS);
    size_t used =
        (size_t)snprintf(arguments, sizeof arguments, "{\"dtype\":\"%s\",\"shape\":[", mldf_dtype_name(dtype));
    for (uint32_t i = 0; i < ndim; i++) {
        const char *comma = i ? "," : "";
        used +=
            (size_t)(dims[i] == -1 ? snprintf(arguments + used, sizeof arguments - used, "%snull", comma)
                                   : snprintf(arguments + used, sizeof arguments - used, "%s%" PRId64, comma, dims[i]));
    }
    memcpy(arguments + used, "]}", 3);
    return mldf_schema_add(schema, name, MLDF_NDARRAY, arguments, flags, err);
}

mldf_status mldf_schema_add_image(mldf_schema *schema, const char *name, const char *arguments, uint16_t flags,
                                  mldf_error *err) {
    return mldf_schema_add(schema, name, MLDF_IMAGE, arguments, flags, err);
}

mldf_status mldf_schema_add_audio(mldf_schema *schema, const char *name, const char *arguments, uint16_t flags,
                                  mldf_error *err) {
    return mldf_schema_add(schema, name, MLDF_AUDIO_COMPRESSED, arguments, flags, err);
}

mldf_status mldf_schema_add_tokens(mldf_schema *schema, const char *name, uint64_t vocabulary, uint16_t flags,
                                   mldf_error *err) {
    char arguments[48];
    snprintf(arguments, sizeof arguments, "{\"vocabulary\":%" PRIu64 "}", vocabulary);
    return mldf_schema_add(schema, name, MLDF_TEXT_TOKENIZED, arguments, flags, err);
}
