/* Element types: size and text form. The texts are NumPy's, so that a descr can be handed to NumPy as it is. */
#include <string.h>

#include "mldf/schema.h"

static const struct {
    const char *name;
    uint8_t bytes;
} dtypes[] = {
    [MLDF_DTYPE_NONE] = {"", 0}, [MLDF_BOOL] = {"|b1", 1}, [MLDF_I8] = {"|i1", 1},  [MLDF_U8] = {"|u1", 1},
    [MLDF_I16] = {"<i2", 2},     [MLDF_U16] = {"<u2", 2},  [MLDF_I32] = {"<i4", 4}, [MLDF_U32] = {"<u4", 4},
    [MLDF_I64] = {"<i8", 8},     [MLDF_U64] = {"<u8", 8},  [MLDF_F16] = {"<f2", 2}, [MLDF_BF16] = {"bfloat16", 2},
    [MLDF_F32] = {"<f4", 4},     [MLDF_F64] = {"<f8", 8},  [MLDF_C64] = {"<c8", 8}, [MLDF_C128] = {"<c16", 16},
};
enum { DTYPE_COUNT = sizeof dtypes / sizeof dtypes[0] };

static bool is_dtype(mldf_dtype dtype) {
    return (unsigned)dtype < DTYPE_COUNT;
}

size_t mldf_dtype_bytes(mldf_dtype dtype) {
    return is_dtype(dtype) ? dtypes[dtype].bytes : 0;
}

const char *mldf_dtype_name(mldf_dtype dtype) {
    return is_dtype(dtype) ? dtypes[dtype].name : "";
}

mldf_dtype mldf_dtype_parse(const char *text, size_t text_bytes) {
    for (unsigned i = MLDF_BOOL; i < DTYPE_COUNT; i++)
        if (strlen(dtypes[i].name) == text_bytes && memcmp(dtypes[i].name, text, text_bytes) == 0)
            return (mldf_dtype)i;
    return MLDF_DTYPE_NONE;
}
