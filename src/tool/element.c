/* See element.h. */
#include "tool/element.h"

#include "kernel/cast.h"
#include "util/bytes.h"

static double load_f32(const uint8_t *bytes) {
    float value;
    memcpy(&value, bytes, sizeof value);
    return (double)value;
}

bool mldfi_element(mldf_dtype dtype, const uint8_t *bytes, mldf_value *out) {
    out->kind = dtype >= MLDF_F16 ? MLDF_KIND_FLOAT : dtype == MLDF_U64 ? MLDF_KIND_UINT : MLDF_KIND_INT;
    switch (dtype) {
    case MLDF_BOOL:
        out->as.i = bytes[0] != 0;
        return true;
    case MLDF_I8:
        out->as.i = (int8_t)bytes[0];
        return true;
    case MLDF_U8:
        out->as.i = bytes[0];
        return true;
    case MLDF_I16:
        out->as.i = (int16_t)mldfi_load_u16(bytes);
        return true;
    case MLDF_U16:
        out->as.i = mldfi_load_u16(bytes);
        return true;
    case MLDF_I32:
        out->as.i = (int32_t)mldfi_load_u32(bytes);
        return true;
    case MLDF_U32:
        out->as.i = mldfi_load_u32(bytes);
        return true;
    case MLDF_I64:
    case MLDF_U64:
        out->as.u = mldfi_load_u64(bytes);
        return true;
    case MLDF_F16:
        out->as.f = (double)mldfi_f16_to_f32(mldfi_load_u16(bytes));
        return true;
    case MLDF_BF16:
        out->as.f = (double)mldfi_bf16_to_f32(mldfi_load_u16(bytes));
        return true;
    case MLDF_F32:
        out->as.f = load_f32(bytes);
        return true;
    case MLDF_F64:
        out->as.f = mldfi_load_f64(bytes);
        return true;
    default:
        return false;
    }
}
