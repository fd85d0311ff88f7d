/* Generated C: a run of point-wise steps becomes one C function over an array's elements, all functions of a plan one source, and that
 * machine code in the background. Until it is there, and where there is no compiler, the steps run one by one; the bits are the same.
 *
 *   code_write.c       the text: loops, conversions, constants           code_expression.c   an expression's statements
 *   code_prelude.c     the functions that all sources begin with         code.c              compiling, cache, loading; who waits
 *
 * No string of a file or of a pipeline enters the text: it is made of the words in these files and of numbers. */
#ifndef MLDF_PIPELINE_CODE_H
#define MLDF_PIPELINE_CODE_H

#include "kernel/expression.h"
#include "pipeline/op.h"

/* What emit of an operation writes to (op.h). The element is in a variable v<step>, of C type mldfi_code_type(op->in.dtype); emit appends
 * statements that end with one that defines v<step + 1>. */
struct code_writer {
    mldf_buffer *out;    /* statements */
    mldf_buffer *tables; /* constants, in front of the function */
    unsigned function, step;
    bool
        uses_channel; /* set by emit: statements use the variable c, the index in the last dimension (of an image: the channel) */
};

const char *mldfi_code_type(mldf_dtype dtype);
/* "v3" as `to`, converted as kernel/cast.h says; appended. */
mldf_status mldfi_code_convert(mldf_dtype from, mldf_dtype to, unsigned variable, mldf_buffer *out, mldf_error *err);
/* 0x1.8p+1f; appended. */
mldf_status mldfi_code_float(float value, mldf_buffer *out, mldf_error *err);
/* const T v<step + 1> = v<step>, converted. */
mldf_status mldfi_code_cast(const struct op *op, struct code_writer *w, mldf_error *err);
/* v * scale[c] + shift[c]. */
mldf_status mldfi_code_affine(const struct op *op, const float *scale, const float *shift, uint32_t count,
                              struct code_writer *w, mldf_error *err);
mldf_status mldfi_code_expression(const struct op *op, const struct expression *e, struct code_writer *w,
                                  mldf_error *err);

/* Types, conversions and IEEE functions, in C. */
const char *mldfi_code_prelude(void);
/* The transcendental functions that generated code calls: ours, so that the bits are. In the order of the prelude's struct. */
struct code_functions {
    double (*exp)(double), (*log)(double), (*log2)(double), (*log10)(double), (*sin)(double), (*cos)(double),
        (*tan)(double), (*tanh)(double), (*pow)(double, double), (*atan2)(double, double);
};
extern const struct code_functions mldfi_code_functions;

/* in and out do not overlap. rows x period elements; where a layout changes, period is the number of channels. */
typedef void (*code_function)(const void *in, void *out, unsigned long long rows, unsigned long long period,
                              const struct code_functions *functions);

/* ---- Of a plan ---------------------------------------------------------------------------------------------------------------- */

struct code;
struct plan_options;

mldf_status mldfi_code_new(const struct plan_options *options, enum isa isa, struct code **out, mldf_error *err);
/* Cancels a compiler that runs, and waits for that. Takes NULL. */
void mldfi_code_free(struct code *code);
/* A function for as many of the operations as can be written in C, from the first on. *count 0: none, and nothing was added. */
mldf_status mldfi_code_add(struct code *code, const struct op *ops, size_t op_count, size_t *count, size_t *index,
                           mldf_error *err);
/* All functions are there: begins to compile, or, as the options say, compiles. A failure of the compiler is a warning of the context. */
void mldfi_code_start(struct code *code);
/* NULL: not there (yet). Any thread. */
code_function mldfi_code_get(const struct code *code, size_t index);
/* "ready", "compiling" ... with the reason; appended. Nothing when there are no functions. */
mldf_status mldfi_code_explain(const struct code *code, mldf_buffer *out, mldf_error *err);
/* The whole source, for tests. */
const mldf_buffer *mldfi_code_source(const struct code *code);
/* How it came: for tests. */
typedef enum code_state {
    CODE_OFF,       /* no functions, not wanted, or no compiler */
    CODE_COMPILING, /* in the background */
    CODE_COMPILED,
    CODE_CACHED, /* found in the cache */
    CODE_FAILED
} code_state;
code_state mldfi_code_state(const struct code *code);
/* Waits until it no longer compiles. */
void mldfi_code_wait(struct code *code);

/* ---- One source --------------------------------------------------------------------------------------------------------------- */

struct os_library;
/* Compiles (or finds in the context's cache) and loads. own: the user's C, which may use the C library. MLDF_E_UNSUPPORTED without a
 * compiler. cancel may be NULL. */
mldf_status mldfi_code_build(const mldf_context *context, enum isa isa, const char *source, size_t bytes, bool own,
                             const _Atomic(bool) *cancel, struct os_library **out, bool *cached, mldf_error *err);

#endif
