/* Operations of your own: a C function, C source and an expression in one pipeline.
 *
 *     own_operation FILE
 *
 * writes a small file of vectors, loads it in batches through
 *     x: center | soften(0.5) | expr("clamp(x, -1, 1)")
 * and prints the batches. docs/operations-of-your-own.md explains it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mldf/mldf.h"

enum { SAMPLES = 6, LENGTH = 4 };

static void stop(const char *what, const mldf_error *err) {
    fprintf(stderr, "%s: %s\n", what, MLDF_ERROR_TEXT(err));
    exit(1);
}

static void warn(void *user, const char *message) {
    (void)user;
    fprintf(stderr, "warning: %s\n", message);
}

/* Takes the mean away. The type stays, so there is no infer; it could be called from several threads at once. */
static mldf_status center(void *user, const mldf_operation_call *call, const mldf_tensor *in, mldf_tensor *out,
                          mldf_error *err) {
    const float *x = in->data;
    float *y = out->data, sum = 0;
    (void)user, (void)call, (void)err;
    for (uint64_t i = 0; i < in->dims[0]; i++)
        sum += x[i];
    for (uint64_t i = 0; i < in->dims[0]; i++)
        y[i] = x[i] - sum / (float)in->dims[0];
    return MLDF_OK;
}

static mldf_status center_infer(void *user, const double *arguments, size_t argument_count, const mldf_tensor *in,
                                mldf_tensor *out, mldf_error *err) {
    (void)user, (void)arguments, (void)argument_count, (void)out;
    if (in->dtype == MLDF_F32 && in->ndim == 1)
        return MLDF_OK;
    snprintf(err->message, sizeof err->message, "takes a vector of f32");
    return MLDF_E_TYPE;
}

/* Compiled when the loader is made. No headers: declare what you need. */
static const char soften_source[] =
    "double tanh(double);\n"
    "int mldf_run(const void *in, void *out, const unsigned long long *dims, const double *arguments,\n"
    "             const unsigned long long *random) {\n"
    "    const float *x = in;\n"
    "    float *y = out;\n"
    "    for (unsigned long long i = 0; i < dims[0]; i++)\n"
    "        y[i] = (float)(tanh(x[i] * arguments[0]) / arguments[0]);\n"
    "    return 0;\n"
    "}\n";

static mldf_context *make_context(mldf_error *err) {
    mldf_context *context;
    mldf_operation by_function = MLDF_OPERATION_INIT, by_source = MLDF_OPERATION_INIT;
    by_function.name = "center";
    by_function.infer = center_infer;
    by_function.run = center;
    by_source.name = "soften";
    by_source.source = soften_source;
    if (mldf_context_new(&context, err) < 0 || mldf_context_register_operation(context, &by_function, err) < 0 ||
        mldf_context_register_operation(context, &by_source, err) < 0 ||
        mldf_context_set_compiler(context, NULL, "cc", err) < 0)
        stop("context", err);
    mldf_context_set_warning(context, warn, NULL);
    return context;
}

static void write_file(const char *path, mldf_error *err) {
    static const char text[] = "{\"fields\":[{\"name\":\"x\",\"type\":\"ndarray\",\"dtype\":\"<f4\",\"shape\":[4]}]}";
    mldf_schema *schema;
    mldf_writer *writer;
    if (mldf_schema_parse(NULL, text, strlen(text), &schema, err) < 0 ||
        mldf_writer_open(path, schema, NULL, &writer, err) < 0)
        stop(path, err);
    for (int s = 0; s < SAMPLES; s++) {
        float x[LENGTH];
        mldf_value value;
        for (int i = 0; i < LENGTH; i++)
            x[i] = (float)(s * i) / 4;
        memset(&value, 0, sizeof value);
        value.kind = MLDF_KIND_ARRAY;
        value.dtype = MLDF_F32;
        value.ndim = 1;
        value.dims[0] = LENGTH;
        value.data = x;
        value.bytes = sizeof x;
        if (mldf_writer_append(writer, &value, 1, NULL, 0, err) < 0)
            stop(path, err);
    }
    if (mldf_writer_finish(writer, NULL, err) < 0)
        stop(path, err);
    mldf_schema_free(schema);
}

static void print_batch(mldf_batch *batch) {
    mldf_array x;
    if (mldf_batch_array(batch, 0, &x) != MLDF_OK)
        return;
    for (uint64_t s = 0; s < x.dims[0]; s++)
        for (uint64_t i = 0; i < x.dims[1]; i++)
            printf("%6.3f%s", (double)((const float *)x.data)[s * x.dims[1] + i], i + 1 < x.dims[1] ? " " : "\n");
}

int main(int argc, char **argv) {
    mldf_error err;
    mldf_reader *reader;
    mldf_loader *loader;
    mldf_batch *batch;
    mldf_status status;
    mldf_loader_options options = MLDF_LOADER_OPTIONS_INIT;
    if (argc != 2) {
        fprintf(stderr, "usage: own_operation FILE\n");
        return 2;
    }
    write_file(argv[1], &err);
    mldf_context *context = make_context(&err);
    options.context = context;
    options.pipeline = "x: center | soften(0.5) | expr(\"clamp(x, -1, 1)\")";
    options.batch_size = 2;
    if (mldf_reader_open(argv[1], NULL, &reader, &err) < 0)
        stop(argv[1], &err);
    const mldf_reader *readers[] = {reader};
    if (mldf_loader_new(readers, 1, &options, &loader, &err) < 0)
        stop("pipeline", &err);
    while ((status = mldf_loader_next(loader, -1, &batch, &err)) == MLDF_OK) {
        print_batch(batch);
        mldf_batch_release(batch);
    }
    if (status < 0)
        stop("next", &err);
    mldf_loader_free(loader);
    mldf_reader_close(reader);
    mldf_context_free(context);
    return 0;
}
