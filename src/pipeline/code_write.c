/* The text of generated code: conversions, affine maps, and the loop around a run of steps. code_expression.c writes expressions. */
#include <string.h>

#include "pipeline/code.h"
#include "pipeline/code_write.h"
#include "pipeline/op_help.h"
#include "util/buffer.h"
#include "util/error.h"

const char *mldfi_code_type(mldf_dtype dtype) {
    switch (dtype) {
    case MLDF_BOOL:
    case MLDF_U8:
        return "u8";
    case MLDF_I8:
        return "i8";
    case MLDF_U16:
    case MLDF_F16:
    case MLDF_BF16:
        return "u16";
    case MLDF_I16:
        return "i16";
    case MLDF_U32:
        return "u32";
    case MLDF_I32:
        return "i32";
    case MLDF_U64:
        return "u64";
    case MLDF_I64:
        return "i64";
    case MLDF_F32:
        return "f32";
    case MLDF_F64:
        return "f64";
    default:
        return NULL;
    }
}

static bool is_float(mldf_dtype dtype) {
    return dtype == MLDF_F16 || dtype == MLDF_BF16 || dtype == MLDF_F32 || dtype == MLDF_F64;
}

/* In front of and behind a value of type `from`, as a number that C computes with. */
static void number_of(mldf_dtype from, const char **front, const char **behind) {
    *front = from == MLDF_F16 ? "f16_f32(" : from == MLDF_BF16 ? "bf16_f32(" : from == MLDF_BOOL ? "(" : "";
    *behind = from == MLDF_F16 || from == MLDF_BF16 ? ")" : from == MLDF_BOOL ? " != 0)" : "";
}

static void from_float(mldf_dtype from, mldf_dtype to, const char **front, const char **behind) {
    bool wide = from == MLDF_F64;
    *behind = ")";
    switch (to) {
    case MLDF_I8:
        *front = wide ? "(i8)(i32)held_d(" : "(i8)(i32)held_f(";
        *behind = ", -128, 127)";
        break;
    case MLDF_U8:
        *front = wide ? "(u8)(i32)held_d(" : "(u8)(i32)held_f(";
        *behind = ", 0, 255)";
        break;
    case MLDF_I16:
        *front = wide ? "(i16)(i32)held_d(" : "(i16)(i32)held_f(";
        *behind = ", -32768, 32767)";
        break;
    case MLDF_U16:
        *front = wide ? "(u16)(i32)held_d(" : "(u16)(i32)held_f(";
        *behind = ", 0, 65535)";
        break;
    case MLDF_I32:
        *front = "(i32)held_d(";
        *behind = ", -2147483648.0, 2147483647.0)";
        break;
    case MLDF_U32:
        *front = "(u32)held_d(";
        *behind = ", 0, 4294967295.0)";
        break;
    case MLDF_I64:
        *front = "held_i64(";
        break;
    default:
        *front = "held_u64(";
        break;
    }
}

mldf_status mldfi_code_convert(mldf_dtype from, mldf_dtype to, unsigned variable, mldf_buffer *out, mldf_error *err) {
    const char *front, *behind, *inner_front, *inner_behind;
    if (from == to)
        return mldfi_buffer_printf(out, err, "v%u", variable);
    number_of(from, &inner_front, &inner_behind);
    if (to == MLDF_BOOL) {
        front = "(u8)(0 != "; /* a NaN is not 0 */
        behind = ")";
    } else if (to == MLDF_F16 || to == MLDF_BF16) {
        front = to == MLDF_F16 ? "f32_f16((f32)" : "f32_bf16((f32)";
        behind = ")";
    } else if (is_float(to) || !is_float(from)) {
        return mldfi_buffer_printf(out, err, "(%s)%sv%u%s", mldfi_code_type(to), inner_front, variable, inner_behind);
    } else {
        from_float(from, to, &front, &behind);
    }
    return mldfi_buffer_printf(out, err, "%s%sv%u%s%s", front, inner_front, variable, inner_behind, behind);
}

/* Written by hand: printf's %a has the locale's decimal point. */
mldf_status mldfi_code_float(float value, mldf_buffer *out, mldf_error *err) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    const char *sign = bits >> 31 ? "-" : "";
    unsigned exponent = bits >> 23 & 255, fraction = (bits & 0x7fffff) << 1;
    if (exponent == 255)
        return mldfi_buffer_append_text(out,
                                        fraction     ? "of_bits(0x7fc00000u)"
                                        : bits >> 31 ? "of_bits(0xff800000u)"
                                                     : "of_bits(0x7f800000u)",
                                        err);
    if (exponent == 0)
        return mldfi_buffer_printf(out, err, "(%s0x0.%06xp-126f)", sign, fraction);
    return mldfi_buffer_printf(out, err, "(%s0x1.%06xp%+df)", sign, fraction, (int)exponent - 127);
}

mldf_status mldfi_code_cast(const struct op *op, struct code_writer *w, mldf_error *err) {
    const char *type = mldfi_code_type(op->out.dtype);
    if (!type || !mldfi_code_type(op->in.dtype))
        return MLDF_END;
    mldf_status status = mldfi_buffer_printf(w->out, err, "const %s v%u = ", type, w->step + 1);
    if (status == MLDF_OK)
        status = mldfi_code_convert(op->in.dtype, op->out.dtype, w->step, w->out, err);
    return status == MLDF_OK ? mldfi_buffer_append_text(w->out, ";\n", err) : status;
}

static mldf_status write_table(char name, const float *values, uint32_t count, struct code_writer *w, mldf_error *err) {
    mldf_status status = mldfi_buffer_printf(w->tables, err, "static const f32 %c%u_%u[%u] = {", name, w->function,
                                             w->step, (unsigned)count);
    for (uint32_t i = 0; i < count && status == MLDF_OK; i++) {
        if (i)
            status = mldfi_buffer_append_text(w->tables, ", ", err);
        if (status == MLDF_OK)
            status = mldfi_code_float(values[i], w->tables, err);
    }
    return status == MLDF_OK ? mldfi_buffer_append_text(w->tables, "};\n", err) : status;
}

static mldf_status write_constant(char name, const float *values, uint32_t count, struct code_writer *w,
                                  mldf_error *err) {
    return count == 1 ? mldfi_code_float(values[0], w->out, err)
                      : mldfi_buffer_printf(w->out, err, "%c%u_%u[c]", name, w->function, w->step);
}

mldf_status mldfi_code_affine(const struct op *op, const float *scale, const float *shift, uint32_t count,
                              struct code_writer *w, mldf_error *err) {
    mldf_status status = MLDF_OK;
    if (!mldfi_code_type(op->in.dtype))
        return MLDF_END;
    if (count > 1) {
        w->uses_channel = true;
        status = write_table('a', scale, count, w, err);
        if (status == MLDF_OK)
            status = write_table('b', shift, count, w, err);
    }
    if (status == MLDF_OK)
        status = mldfi_buffer_printf(w->out, err, "const f32 x%u = ", w->step);
    if (status == MLDF_OK)
        status = mldfi_code_convert(op->in.dtype, MLDF_F32, w->step, w->out, err);
    if (status == MLDF_OK)
        status = mldfi_buffer_printf(w->out, err, ";\nconst f32 m%u = x%u * ", w->step, w->step);
    if (status == MLDF_OK)
        status = write_constant('a', scale, count, w, err);
    if (status == MLDF_OK)
        status = mldfi_buffer_printf(w->out, err, ";\nconst f32 v%u = m%u + ", w->step + 1, w->step);
    if (status == MLDF_OK)
        status = write_constant('b', shift, count, w, err);
    return status == MLDF_OK ? mldfi_buffer_append_text(w->out, ";\n", err) : status;
}

/* ---- The loop ------------------------------------------------------------------------------------------------------------------ */

/* How often c takes turns; 0: only the call says it. */
static uint64_t known_period(const struct edge *in) {
    int64_t n = in->ndim == 0 ? 1 : in->kind == VALUE_IMAGE ? mldfi_edge_channels(in) : in->dims[in->ndim - 1];
    return n > 0 ? (uint64_t)n : 0;
}

static mldf_status write_loop(const struct op *ops, size_t count, const struct code_writer *w, mldf_buffer *out,
                              mldf_error *err) {
    bool from = mldfi_planar(ops[0].in.axes), to = mldfi_planar(ops[count - 1].out.axes);
    const char *loop, *in_at = "i", *out_at = "i";
    if (from == to && !w->uses_channel) {
        loop = "for (u64 i = 0; i < rows * period; i++) {\n";
    } else if (!from && !to) {
        loop = "for (u64 i = 0; i < rows; i++)\nfor (u64 c = 0; c < n; c++) {\n";
        in_at = out_at = "i * n + c";
    } else {
        loop = "for (u64 c = 0; c < n; c++)\nfor (u64 i = 0; i < rows; i++) {\n";
        in_at = from ? "c * rows + i" : "i * n + c";
        out_at = to ? "c * rows + i" : "i * n + c";
    }
    mldf_status status =
        mldfi_buffer_printf(out, err, "%sconst %s v0 = in[%s];\n", loop, mldfi_code_type(ops[0].in.dtype), in_at);
    if (status == MLDF_OK)
        status = mldf_buffer_append(out, w->out->data, w->out->size, err);
    return status == MLDF_OK ? mldfi_buffer_printf(out, err, "out[%s] = v%u;\n}\n}\n", out_at, w->step) : status;
}

static mldf_status write_function(const struct op *ops, size_t count, const struct code_writer *w, mldf_buffer *out,
                                  mldf_error *err) {
    uint64_t period = known_period(&ops[0].in);
    mldf_status status = w->tables->size ? mldf_buffer_append(out, w->tables->data, w->tables->size, err) : MLDF_OK;
    if (status == MLDF_OK)
        status = mldfi_buffer_printf(
            out, err,
            "__attribute__((visibility(\"default\"))) void mldf_code_%u(const void *restrict from, void "
            "*restrict to, u64 rows, u64 period, const struct functions *f) {\n"
            "const %s *restrict in = from;\n%s *restrict out = to;\n",
            w->function, mldfi_code_type(ops[0].in.dtype), mldfi_code_type(ops[count - 1].out.dtype));
    if (status == MLDF_OK &&
        w->uses_channel + (mldfi_planar(ops[0].in.axes) != mldfi_planar(ops[count - 1].out.axes)) > 0)
        status = period ? mldfi_buffer_printf(out, err, "const u64 n = %lluull;\n", (unsigned long long)period)
                        : mldfi_buffer_append_text(out, "const u64 n = period;\n", err);
    return status == MLDF_OK ? write_loop(ops, count, w, out, err) : status;
}

/* Only what leaves the image's place in the world alone: no draws, and a layout or the element itself. */
static bool can_emit(const struct op *op) {
    return op->type->emit && !(op->type->flags & OP_DRAWS) && mldfi_code_type(op->in.dtype) &&
           mldfi_code_type(op->out.dtype) && (op->in.kind == VALUE_ARRAY || op->in.kind == VALUE_IMAGE) &&
           op->out.kind == op->in.kind;
}

mldf_status mldfi_code_write(const struct op *ops, size_t op_count, unsigned function, size_t *count, mldf_buffer *out,
                             mldf_error *err) {
    mldf_buffer statements = MLDF_BUFFER_INIT, tables = MLDF_BUFFER_INIT;
    struct code_writer w = {&statements, &tables, function, 0, false};
    size_t before = out->size;
    mldf_status status = MLDF_OK;
    *count = 0;
    while (*count < op_count && can_emit(&ops[*count])) {
        size_t mark = statements.size, table_mark = tables.size;
        status = ops[*count].type->emit(&ops[*count], &w, err);
        if (status != MLDF_OK) {
            statements.size = mark;
            tables.size = table_mark;
            break;
        }
        w.step++;
        (*count)++;
    }
    if (status >= 0)
        status = *count ? write_function(ops, *count, &w, out, err) : MLDF_OK;
    if (status < 0)
        out->size = before;
    mldf_buffer_free(&statements);
    mldf_buffer_free(&tables);
    return status;
}
