/* Element types: size and text form. The texts are NumPy's, so that a descr can be handed to NumPy as it is. */
#include <string.h>

#include "field/edge.h"
#include "mldf/schema.h"

static const char *const names[] = {
    [MLDF_DTYPE_NONE] = "", [MLDF_BOOL] = "|b1", [MLDF_I8] = "|i1",  [MLDF_U8] = "|u1",
    [MLDF_I16] = "<i2",     [MLDF_U16] = "<u2",  [MLDF_I32] = "<i4", [MLDF_U32] = "<u4",
    [MLDF_I64] = "<i8",     [MLDF_U64] = "<u8",  [MLDF_F16] = "<f2", [MLDF_BF16] = "bfloat16",
    [MLDF_F32] = "<f4",     [MLDF_F64] = "<f8",  [MLDF_C64] = "<c8", [MLDF_C128] = "<c16",
};
enum { DTYPE_COUNT = sizeof names / sizeof names[0] };
const uint8_t mldfi_dtype_sizes[DTYPE_COUNT] = {
    [MLDF_BOOL] = 1, [MLDF_I8] = 1,  [MLDF_U8] = 1,  [MLDF_I16] = 2, [MLDF_U16] = 2,
    [MLDF_I32] = 4,  [MLDF_U32] = 4, [MLDF_I64] = 8, [MLDF_U64] = 8, [MLDF_F16] = 2,
    [MLDF_BF16] = 2, [MLDF_F32] = 4, [MLDF_F64] = 8, [MLDF_C64] = 8, [MLDF_C128] = 16,
};

static bool is_dtype(mldf_dtype dtype) {
    return (unsigned)dtype < DTYPE_COUNT;
}

size_t mldf_dtype_bytes(mldf_dtype dtype) {
    return is_dtype(dtype) ? mldfi_dtype_sizes[dtype] : 0;
}

const char *mldf_dtype_name(mldf_dtype dtype) {
    return is_dtype(dtype) ? names[dtype] : "";
}

mldf_dtype mldf_dtype_parse(const char *text, size_t text_bytes) {
    for (unsigned i = MLDF_BOOL; i < DTYPE_COUNT; i++)
        if (strlen(names[i]) == text_bytes && memcmp(names[i], text, text_bytes) == 0)
            return (mldf_dtype)i;
    return MLDF_DTYPE_NONE;
}
