/* Types of values in words: "u8 375x500x3 image"; element types by their short names, and what they hold; sizes. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernel/cast.h"
#include "pipeline/pipeline.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

/* ---- Element types ---------------------------------------------------------------------------------------------------------------- */

static const char *const dtype_words[] = {
    [MLDF_DTYPE_NONE] = "none", [MLDF_BOOL] = "bool", [MLDF_I8] = "i8",   [MLDF_U8] = "u8",
    [MLDF_I16] = "i16",         [MLDF_U16] = "u16",   [MLDF_I32] = "i32", [MLDF_U32] = "u32",
    [MLDF_I64] = "i64",         [MLDF_U64] = "u64",   [MLDF_F16] = "f16", [MLDF_BF16] = "bf16",
    [MLDF_F32] = "f32",         [MLDF_F64] = "f64",   [MLDF_C64] = "c64", [MLDF_C128] = "c128",
};
enum { DTYPE_WORDS = sizeof dtype_words / sizeof *dtype_words };

mldf_dtype mldfi_dtype_word(const char *word, size_t bytes) {
    for (unsigned i = MLDF_BOOL; i < DTYPE_WORDS; i++)
        if (strlen(dtype_words[i]) == bytes && memcmp(dtype_words[i], word, bytes) == 0)
            return (mldf_dtype)i;
    return MLDF_DTYPE_NONE;
}

const char *mldfi_dtype_short(mldf_dtype dtype) {
    return (unsigned)dtype < DTYPE_WORDS ? dtype_words[dtype] : "none";
}

bool mldfi_dtype_holds(mldf_dtype dtype, double value) {
    static const struct {
        double least, most;
    } ends[] = {
        [MLDF_BOOL] = {0, 1},
        [MLDF_I8] = {-128, 127},
        [MLDF_U8] = {0, 255},
        [MLDF_I16] = {-32768, 32767},
        [MLDF_U16] = {0, 65535},
        [MLDF_I32] = {-2147483648.0, 2147483647.0},
        [MLDF_U32] = {0, 4294967295.0},
        [MLDF_I64] = {-0x1p63, 0x1p63 - 1024},
        [MLDF_U64] = {0, 0x1p64 - 2048},
    };
    if (dtype >= MLDF_F16)
        return true; /* as near as it gets */
    return value >= ends[dtype].least && value <= ends[dtype].most && !(floor(value) < value);
}

void mldfi_dtype_element(mldf_dtype dtype, double value, uint64_t element[2]) {
    element[0] = element[1] = 0;
    if (dtype == MLDF_C64 || dtype == MLDF_C128)
        dtype = dtype == MLDF_C64 ? MLDF_F32 : MLDF_F64;
    mldfi_convert_elements(MLDF_F64, &value, dtype, element, 1);
}

/* ---- Sizes -------------------------------------------------------------------------------------------------------------------------- */

/* What does not fit: UINT64_MAX, larger than any memory, unless one of the dims is 0. */
uint64_t mldfi_tensor_count_large(const struct tensor *t) {
    uint64_t count = 1;
    bool fits = true;
    for (uint32_t i = 0; i < t->ndim && i < MLDF_MAX_DIMS; i++) {
        if (t->dims[i] == 0)
            return 0;
        fits = fits && mldfi_mul_u64(count, t->dims[i], &count);
    }
    return fits ? count : UINT64_MAX;
}

/* ---- Words --------------------------------------------------------------------------------------------------------------------------- */

/* "375x500x3", "?x80", "up to 375" is "<=375". */
static mldf_status write_dims(const struct edge *edge, mldf_buffer *out, mldf_error *err) {
    mldf_status status = MLDF_OK;
    for (uint32_t i = 0; i < edge->ndim && i < MLDF_MAX_DIMS && status == MLDF_OK; i++) {
        const char *separator = i ? "x" : " ";
        if (edge->dims[i] != DIM_VARIES)
            status = mldfi_buffer_printf(out, err, "%s%lld", separator, (long long)edge->dims[i]);
        else if (edge->most[i] != MLDF_NONE)
            status = mldfi_buffer_printf(out, err, "%s<=%llu", separator, (unsigned long long)edge->most[i]);
        else
            status = mldfi_buffer_printf(out, err, "%s?", separator);
    }
    return status;
}

static const char *noun_of(const struct edge *edge) {
    static const char *const arrays[] = {[ROLE_NONE] = "array",  [ROLE_IMAGE] = "array",   [ROLE_MASK] = "mask",
                                         [ROLE_BOXES] = "boxes", [ROLE_POINTS] = "points", [ROLE_FLOW] = "flow"};
    bool mask = edge->role == ROLE_MASK;
    if (edge->role == ROLE_FLOW)
        return mldfi_planar(edge->axes) ? "planar flow" : "flow";
    switch (edge->kind) {
    case VALUE_ENCODED:
        return mask ? "stored mask" : mldfi_stored_noun(edge->family);
    case VALUE_IMAGE:
        if (edge->axes[0] == 't')
            return mldfi_planar(edge->axes) ? "planar clip" : "clip";
        return mldfi_planar(edge->axes) ? (mask ? "planar mask" : "planar image") : (mask ? "mask" : "image");
    case VALUE_BYTES:
        return "bytes";
    case VALUE_ARRAY:
    default:
        if (edge->axes[mldfi_axis(edge->axes, 'f')])
            return "spectrogram";
        if (edge->rate.den)
            return "recording";
        return edge->ndim == 0 ? "number" : arrays[(unsigned)edge->role <= ROLE_FLOW ? edge->role : ROLE_NONE];
    }
}

mldf_status mldfi_edge_write(const struct edge *edge, mldf_buffer *out, mldf_error *err) {
    mldf_status status = mldfi_buffer_append_text(out, mldfi_dtype_short(edge->dtype), err);
    if (status == MLDF_OK)
        status = write_dims(edge, out, err);
    return status == MLDF_OK ? mldfi_buffer_printf(out, err, " %s", noun_of(edge)) : status;
}

mldf_status mldfi_edge_refuse(const struct op *op, const struct edge *in, const char *wanted, mldf_error *err) {
    mldf_buffer text = MLDF_BUFFER_INIT;
    mldf_status status = mldfi_edge_write(in, &text, err);
    (void)op; /* graph.c says which step it is */
    if (status == MLDF_OK)
        status = mldfi_fail(err, MLDF_E_TYPE, "wants %s, gets %.*s", wanted, (int)text.size, (const char *)text.data);
    mldf_buffer_free(&text);
    return status;
}
