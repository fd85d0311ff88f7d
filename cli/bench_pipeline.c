/* What mldf bench measures: without a pipeline every field is decoded, so that the numbers are those of the file and not of an empty batch; with one, the
 * fields that it leaves out are reported. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bench.h"

/* A decoded sample that is larger is resized: a batch of photos as they are would not fit into memory. */
enum { DECODED_MOST = 1 << 20 };

static bool is_word(const char *name) {
    static const char *const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    return name[0] && strchr(letters, name[0]) &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") == strlen(name);
}

static mldf_status append(mldf_buffer *out, const char *text, mldf_error *err) {
    return mldf_buffer_append(out, text, strlen(text), err);
}

/* A field's name as pipelines have it. */
static mldf_status append_name(mldf_buffer *out, const char *name, mldf_error *err) {
    if (is_word(name))
        return append(out, name, err);
    mldf_status status = append(out, "`", err);
    for (const char *at = name; *at && status == MLDF_OK; at++) {
        if (*at == '`' || *at == '\\')
            status = append(out, "\\", err);
        if (status == MLDF_OK)
            status = mldf_buffer_append(out, at, 1, err);
    }
    return status == MLDF_OK ? append(out, "`", err) : status;
}

/* A loader that is only looked at. */
static mldf_status try_loader(const struct bench *b, const char *pipeline, mldf_loader **out, mldf_error *err) {
    mldf_loader_options options = b->options;
    options.pipeline = pipeline;
    options.threads = 0;
    options.codegen = MLDF_CODEGEN_OFF;
    return mldf_loader_new((const mldf_reader *const *)b->readers, b->v->file_count, &options, out, err);
}

/* Does the pipeline give batches of a bearable size? */
static mldf_status is_good(const struct bench *b, const char *pipeline, const char *field, bool *good,
                           mldf_error *err) {
    mldf_loader *loader;
    mldf_output output;
    mldf_status status = try_loader(b, pipeline, &loader, err);
    *good = status >= 0;
    if (status < 0)
        return status == MLDF_E_MEMORY ? status : MLDF_OK;
    for (size_t i = 0; mldf_loader_output(loader, i, &output) == MLDF_OK; i++) {
        uint64_t bytes = mldf_dtype_bytes(output.dtype);
        for (uint32_t d = 0; d < output.ndim && bytes <= DECODED_MOST; d++)
            bytes *= output.dims[d] > 0 ? (uint64_t)output.dims[d] : 1;
        if (strcmp(output.name, field) == 0)
            *good = bytes <= DECODED_MOST;
    }
    mldf_loader_free(loader);
    return MLDF_OK;
}

static bool is_nullable(const struct bench *b, const char *field) {
    const mldf_schema *schema = mldf_reader_schema(b->readers[0]);
    size_t at;
    return mldf_schema_find(schema, field, &at, NULL) == MLDF_OK &&
           (mldf_schema_field(schema, at)->flags & MLDF_FIELD_NULLABLE);
}

/* Adds a statement that makes an output of the field, if there is one. */
static mldf_status add_field(const struct bench *b, const char *field, mldf_buffer *text, mldf_error *err) {
    static const char *const plain[] = {"decode", "resize([224, 224])", "pad", "ragged", NULL};
    static const char *const nullable[] = {"resize([224, 224]) | fill", "fill | pad", "fill | ragged", NULL};
    const char *const *steps = is_nullable(b, field) ? nullable : plain;
    size_t before = text->size;
    for (size_t i = 0; steps[i]; i++) {
        bool good = false;
        text->size = before;
        mldf_status status = before ? append(text, "; ", err) : MLDF_OK;
        if (status == MLDF_OK)
            status = append_name(text, field, err);
        if (status == MLDF_OK)
            status = append(text, ": ", err);
        if (status == MLDF_OK)
            status = append(text, steps[i], err);
        if (status == MLDF_OK)
            status = mldf_buffer_append(text, "", 1, err);
        if (status == MLDF_OK)
            status = is_good(b, (const char *)text->data, field, &good, err);
        if (status < 0)
            return status;
        text->size--; /* the terminator */
        if (good)
            return MLDF_OK;
    }
    text->size = before;
    return MLDF_OK;
}

/* The fields that need a statement: all of them where there is no loader. */
static const char *left_out(const struct bench *b, const mldf_loader *loader, size_t index) {
    const mldf_schema *schema = mldf_reader_schema(b->readers[0]);
    if (loader)
        return mldf_loader_left_out(loader, index);
    return index < mldf_schema_field_count(schema) ? mldf_schema_field(schema, index)->name : NULL;
}

int bench_default_pipeline(struct bench *b) {
    mldf_loader *loader = NULL;
    mldf_error err;
    const char *field;
    if (b->options.pipeline || b->view || option_given(b->v, "hash"))
        return EXIT_FINE; /* hashes are compared with those of other versions: what a loader gives without a pipeline stays as it is */
    mldf_status status = try_loader(b, NULL, &loader, &err);
    /* Perhaps no field is an output by itself. Whatever else is wrong is reported by the loader that is run. */
    if (status == MLDF_E_MEMORY)
        return report_error(b->v, NULL, &err);
    loader = status < 0 ? NULL : loader;
    status = MLDF_OK;
    for (size_t i = 0; status == MLDF_OK && (field = left_out(b, loader, i)) != NULL; i++)
        status = add_field(b, field, &b->pipeline, &err);
    mldf_loader_free(loader);
    if (status == MLDF_OK && b->pipeline.size) {
        note(b->v, "no pipeline was given: fields are decoded by %.*s", (int)b->pipeline.size,
             (const char *)b->pipeline.data);
        status = mldf_buffer_append(&b->pipeline, "", 1, &err);
        b->options.pipeline = (const char *)b->pipeline.data;
    }
    return status < 0 ? report_error(b->v, NULL, &err) : EXIT_FINE;
}

void bench_warn_left_out(const struct bench *b) {
    char names[400] = "", message[600];
    const char *field;
    size_t count = 0, used = 0;
    for (; (field = mldf_loader_left_out(b->loader, count)) != NULL; count++)
        if (used + strlen(field) + 8 < sizeof names)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", count ? ", " : "", field);
    if (!count)
        return;
    (void)snprintf(
        message, sizeof message,
        "left out of the batches, as no statement of the pipeline names %s: %s (\"NAME: drop\" leaves a field "
        "out without this warning)",
        count == 1 ? "this field" : "these fields", names);
    warn(b->v, "", message);
}
