/* mldf/pipeline.h: what is done with each sample on its way into the batch, as text.
 *
 *     image: random_resized_crop(224) | hflip | normalize(imagenet) | chw(f32)
 *
 * A pipeline is a list of statements, separated by newlines or semicolons; # begins a comment. A statement names outputs and the steps
 * that make them:
 *
 *     image: resize(256) | center_crop(224)          output `image` of field `image`
 *     small = image: resize(64)                       output `small` of field `image`: one more view of it
 *     image, seg as mask, box as boxes: hflip         one random draw moves all three
 *     image: normalize(imagenet)                      a later statement of an output goes on where the last one stopped
 *     xy = [x, y]: stack                              one output of several inputs: fields, or outputs made before
 *     y: drop                                         no output (but it may be an input of others)
 *
 * A step is NAME or NAME(arguments); arguments are numbers, words, "text", [lists], by place or by name: crop(224, padding=4). Fields of a
 * fixed shape that no statement names become outputs as they are; all others are left out. mldf_operation_at lists the operations.
 *
 * Text from a file or a command line may name only built-in and registered operations and expressions: C source comes through
 * mldf_context_register_operation alone.
 *
 * Stability: stable.
 */
#ifndef MLDF_PIPELINE_H
#define MLDF_PIPELINE_H

#include "schema.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mldf_pipeline mldf_pipeline;

/* Syntax and the names of operations and parameters are checked here; types when it meets a file (loader.h). MLDF_E_SYNTAX and
 * MLDF_E_ARGUMENT: err->offset is the byte in the text, and the message shows line and column. */
MLDF_API MLDF_NODISCARD mldf_status mldf_pipeline_parse(const mldf_context *context, const char *text,
                                                        size_t text_bytes, mldf_pipeline **out, mldf_error *err);
MLDF_API void mldf_pipeline_free(mldf_pipeline *pipeline);
/* The same pipeline in one canonical form: every parameter by name, without comments. Appended. */
MLDF_API MLDF_NODISCARD mldf_status mldf_pipeline_write(const mldf_pipeline *pipeline, mldf_buffer *out,
                                                        mldf_error *err);
/* What the text says, as JSON, for programs that need no parser of their own: a list with an object for each statement. Appended.
 *
 *     {"outputs":[{"name":"small","inputs":["image"],"list":false,"role":null}],
 *      "steps":[{"name":"hflip","arguments":{"p":0.5},"text":"hflip(p=0.5)"}]}
 *
 * inputs are fields or outputs made before, of "image: ..." the output's own name; list: they were written in [ ]; role: the word after "as", or
 * null. arguments has every parameter by name, with its default where the text says nothing (null: none); of a registered operation it is the list of
 * its numbers. text is the step in canonical form. */
MLDF_API MLDF_NODISCARD mldf_status mldf_pipeline_json(const mldf_pipeline *pipeline, mldf_buffer *out,
                                                       mldf_error *err);

/* ---- The operations there are ------------------------------------------------------------------------------------------ */

typedef struct mldf_parameter_info {
    const char *name;
    const char *type;     /* "int", "float", "bool", "choice", "text", "ints", "floats", "dtype" */
    const char *fallback; /* the default's text; NULL: must be given */
    const char *help;
    const char *const *choices; /* words that it takes, NULL at the end; NULL: none */
} mldf_parameter_info;
typedef struct mldf_operation_info {
    const char *name;
    const char *help;
    size_t parameter_count;
    bool random, pairs, groups;
} mldf_operation_info;
/* MLDF_END past the last. */
MLDF_API MLDF_NODISCARD mldf_status mldf_operation_at(size_t index, mldf_operation_info *out);
MLDF_API MLDF_NODISCARD mldf_status mldf_operation_parameter(size_t operation, size_t index, mldf_parameter_info *out);

/* ---- Operations of your own --------------------------------------------------------------------------------------------- */

/* A value in memory: dense, C order. */
typedef struct mldf_tensor {
    void *data;
    mldf_dtype dtype;
    uint32_t ndim;
    uint64_t dims[MLDF_MAX_DIMS];
} mldf_tensor;

/* What a call may use besides the values: the numbers in the pipeline's text, random numbers that depend on (seed, epoch,
 * position, operation) alone, and which sample it is. */
typedef struct mldf_operation_call {
    const double *arguments;
    size_t argument_count;
    uint64_t random[4];
    uint64_t epoch, position;
    uint64_t
        sample; /* its index in the whole dataset, as the output `index` has it; of a substitute, the substitute's */
} mldf_operation_call;

typedef struct mldf_operation {
    size_t struct_bytes;
    const char *name; /* [a-z_][a-z0-9_]*, none of the built-in ones; copied */
    void *user;
    /* Types: *out comes as a copy of *in; dims are -1 (UINT64_MAX) where samples differ, data is NULL. Asked again, from any thread, with
     * the dims of a sample: the answer must fit the first one and leave none open. NULL: the type stays. */
    mldf_status (*infer)(void *user, const double *arguments, size_t argument_count, const mldf_tensor *in,
                         mldf_tensor *out, mldf_error *err);
    /* Called from several threads at once. out->data has room for the inferred shape; in->data must not be changed. In a statement of several
     * outputs all get the same random numbers. */
    mldf_status (*run)(void *user, const mldf_operation_call *call, const mldf_tensor *in, mldf_tensor *out,
                       mldf_error *err);
    /* Instead of run: C source that defines
     *     int mldf_run(const void *in, void *out, const unsigned long long *dims, const double *arguments,
     *                  const unsigned long long *random);
     * dims are the input's. It is compiled with the context's compiler when a pipeline that names it meets a file (MLDF_E_UNSUPPORTED, with
     * the compiler's words, when that fails); 0 is success. No headers are included. */
    const char *source;
} mldf_operation;
#define MLDF_OPERATION_INIT \
    { sizeof(mldf_operation), 0, 0, 0, 0, 0 }
MLDF_API MLDF_NODISCARD mldf_status mldf_context_register_operation(mldf_context *context,
                                                                    const mldf_operation *operation, mldf_error *err);
/* Where generated code is kept (made with mode 0700 when missing; NULL: nowhere), and the C compiler (a path, or a name that is looked for
 * in /usr/bin and /usr/local/bin; NULL: none, the built-in kernels do everything). Copied. The folder is not used when it belongs to
 * another user, when others may write to it, when it is a link, when its file system forbids programs or when the process runs with
 * another user's rights; it holds at most 64 MiB. A compiler that fails or takes more than 30 s is one warning of the context, which then
 * comes from a thread of the library; results never depend on it. */
MLDF_API MLDF_NODISCARD mldf_status mldf_context_set_compiler(mldf_context *context, const char *cache_folder,
                                                              const char *compiler, mldf_error *err);

#ifdef __cplusplus
}
#endif
#endif
