/* tests/loader_files.h: small files with images, labels and token lists for tests of the loader, and ways to run through an epoch. */
#ifndef MLDF_TESTS_LOADER_FILES_H
#define MLDF_TESTS_LOADER_FILES_H

#include "check.h"
#include "mldf/mldf.h"

/* ---- Writing ------------------------------------------------------------------------------------------------------------------------- */

struct files_field {
    const char *name;
    uint16_t type;
    const char *arguments; /* NULL: none */
    uint16_t flags;
};
enum { FILES_MOST_FIELDS = 8 };

/* Fills in the values of a sample, one for each field; what they point to lives until the next call. */
typedef void files_values(const void *user, uint64_t sample, mldf_value *values);

/* A file of these fields, in place of one that is there; fields end with a name NULL. */
CHECK_UNUSED static void files_make(const char *path, const struct files_field *fields, uint64_t samples,
                                    files_values *make, const void *user) {
    mldf_schema *schema;
    mldf_writer *writer;
    mldf_error err;
    mldf_writer_options how = MLDF_WRITER_OPTIONS_INIT;
    size_t count = 0;
    how.overwrite = true;
    how.threads = 0;
    CHECK_OK(mldf_schema_new(NULL, &schema, &err), &err);
    for (const struct files_field *f = fields; f->name; f++, count++)
        CHECK_OK(mldf_schema_add(schema, f->name, f->type, f->arguments, f->flags, &err), &err);
    CHECK(count <= FILES_MOST_FIELDS);
    CHECK_OK(mldf_writer_open(path, schema, &how, &writer, &err), &err);
    for (uint64_t i = 0; i < samples; i++) {
        mldf_value values[FILES_MOST_FIELDS] = {{0}};
        make(user, i, values);
        CHECK_OK(mldf_writer_append(writer, values, count, NULL, 0, &err), &err);
    }
    CHECK_OK(mldf_writer_finish(writer, NULL, &err), &err);
    mldf_schema_free(schema);
}

/* Pixels of 8 bits as a value. */
CHECK_UNUSED static mldf_value files_pixels(const uint8_t *pixels, uint32_t width, uint32_t height) {
    return (mldf_value){.kind = MLDF_KIND_ARRAY,
                        .dtype = MLDF_U8,
                        .data = pixels,
                        .bytes = (uint64_t)width * height * 3,
                        .ndim = 3,
                        .dims = {height, width, 3}};
}

struct files_shape {
    uint64_t samples;
    bool jpeg;          /* else raw pixels */
    uint32_t width;     /* 0: each image has its own */
    bool tokens;        /* a field `tokens`, u16, of 1 to 40 elements */
    uint64_t bad_every; /* > 0: every so many-th image is damaged JPEG, beginning with sample bad_every / 2 */
};

/* Pixels that follow from the sample's number. */
CHECK_UNUSED static void files_image(uint64_t sample, uint32_t width, uint32_t height, uint8_t *pixels) {
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width; x++)
            for (uint32_t c = 0; c < 3; c++)
                *pixels++ = (uint8_t)(x * 5 + y * (3 + c) + sample * 37 + (x * y) % 7);
}

CHECK_UNUSED static uint64_t files_tokens(uint64_t sample) {
    return 1 + sample * 7919 % 40;
}

CHECK_UNUSED static void files_sample(const void *user, uint64_t i, mldf_value *values) {
    static _Thread_local uint8_t pixels[64 * 64 * 3], jpeg[64 * 64 * 6];
    static _Thread_local uint16_t tokens[64];
    const struct files_shape *shape = user;
    uint32_t width = shape->width ? shape->width : 20 + (uint32_t)(i * 13 % 40);
    uint32_t height = shape->width ? shape->width : 18 + (uint32_t)(i * 29 % 42);
    uint64_t count = files_tokens(i);
    files_image(i, width, height, pixels);
    values[0] = files_pixels(pixels, width, height);
    if (shape->jpeg) {
        mldf_image_pixels p = {pixels, width, height, 3, 8};
        mldf_buffer made = MLDF_BUFFER_INIT;
        mldf_error err;
        CHECK_OK(mldf_image_encode_jpeg(&p, NULL, &made, &err), &err);
        CHECK(made.size <= sizeof jpeg);
        memcpy(jpeg, made.data, made.size < sizeof jpeg ? made.size : sizeof jpeg);
        values[0] = (mldf_value){.kind = MLDF_KIND_BYTES, .data = jpeg, .bytes = made.size};
        /* The end is missing: the header stays good. */
        if (shape->bad_every && i % shape->bad_every == shape->bad_every / 2)
            values[0].bytes -= 20;
        mldf_buffer_free(&made);
    }
    values[1] = (mldf_value){.kind = MLDF_KIND_INT, .as.i = (int64_t)i};
    for (uint64_t k = 0; k < count; k++)
        tokens[k] = (uint16_t)(i * 100 + k);
    values[2] = (mldf_value){
        .kind = MLDF_KIND_ARRAY, .dtype = MLDF_U16, .data = tokens, .bytes = count * 2, .ndim = 1, .dims = {count}};
}

CHECK_UNUSED static void files_write(const char *path, const struct files_shape *shape) {
    struct files_field fields[] = {{"image", MLDF_IMAGE, NULL, 0},
                                   {"label", MLDF_INT, NULL, 0},
                                   {"tokens", MLDF_NDARRAY, "{\"dtype\":\"<u2\",\"shape\":[null]}", 0},
                                   {NULL, 0, NULL, 0}};
    if (!shape->tokens)
        fields[2].name = NULL;
    files_make(path, fields, shape->samples, files_sample, shape);
}

CHECK_UNUSED static mldf_reader *files_open(const char *path, mldf_backend backend) {
    mldf_reader_options how = MLDF_READER_OPTIONS_INIT;
    mldf_reader *reader = NULL;
    mldf_error err;
    how.backend = backend;
    CHECK_OK(mldf_reader_open(path, &how, &reader, &err), &err);
    return reader;
}

/* ---- Epochs -------------------------------------------------------------------------------------------------------------------------- */

enum { HASHES_MAX = 512 };
struct hashes {
    size_t count, samples, errors;
    uint8_t digest[HASHES_MAX][16];
    mldf_error last;
};

/* The hash of every batch of the epoch that is begun, or of the next one. */
CHECK_UNUSED static void files_run(mldf_loader *loader, struct hashes *out) {
    mldf_batch *batch;
    memset(out, 0, sizeof *out);
    for (;;) {
        mldf_status status = mldf_loader_next(loader, -1, &batch, &out->last);
        if (status == MLDF_END)
            return;
        if (status < 0) {
            if (++out->errors > 1000)
                return;
            continue;
        }
        CHECK(out->count < HASHES_MAX);
        mldf_batch_hash(batch, out->digest[out->count++ % HASHES_MAX]);
        out->samples += mldf_batch_sample_count(batch);
        mldf_batch_release(batch);
    }
}

CHECK_UNUSED static mldf_loader *files_loader(const mldf_reader *reader, const mldf_loader_options *options) {
    mldf_loader *loader = NULL;
    mldf_error err;
    CHECK_OK(mldf_loader_new(&reader, 1, options, &loader, &err), &err);
    return loader;
}

/* One epoch with these options; the loader is new and goes again. */
CHECK_UNUSED static void files_epoch(const mldf_reader *reader, const mldf_loader_options *options, uint64_t epoch,
                                     struct hashes *out) {
    mldf_error err;
    mldf_loader *loader = files_loader(reader, options);
    memset(out, 0, sizeof *out);
    if (!loader)
        return;
    CHECK_OK(mldf_loader_begin(loader, epoch, 0, &err), &err);
    files_run(loader, out);
    mldf_loader_free(loader);
}

/* What most tests ask for: random order, the samples' numbers in each batch. */
CHECK_UNUSED static mldf_loader_options files_options(const char *pipeline, uint64_t batch_size, int threads) {
    mldf_loader_options o = MLDF_LOADER_OPTIONS_INIT;
    o.pipeline = pipeline;
    o.order = MLDF_ORDER_RANDOM;
    o.batch_size = batch_size;
    o.threads = threads;
    o.want_index = true;
    return o;
}

typedef void files_look(const mldf_batch *batch, const void *user);

/* Epoch 0, each batch shown to `look` (NULL: only counted): so many samples come, and so many are bad. */
CHECK_UNUSED static void files_each(const mldf_reader *reader, const mldf_loader_options *options, uint64_t samples,
                                    uint64_t bad, files_look *look, const void *user) {
    mldf_loader *loader = files_loader(reader, options);
    mldf_batch *batch;
    mldf_error err;
    mldf_status status;
    uint64_t seen = 0;
    REQUIRE(loader);
    while ((status = mldf_loader_next(loader, -1, &batch, &err)) == MLDF_OK) {
        if (look)
            look(batch, user);
        seen += mldf_batch_sample_count(batch);
        mldf_batch_release(batch);
    }
    CHECK_STATUS(MLDF_END, status, &err);
    CHECK_EQ_U64(samples, seen);
    CHECK_EQ_U64(bad, mldf_loader_bad_count(loader));
    mldf_loader_free(loader);
}

CHECK_UNUSED static void files_check_same(const struct hashes *want, const struct hashes *got, const char *what) {
    if (want->count != got->count || want->samples != got->samples || want->errors != got->errors)
        check_fail(__FILE__, __LINE__, "%s: %zu batches, %zu samples, %zu errors; expected %zu, %zu, %zu (%s)", what,
                   got->count, got->samples, got->errors, want->count, want->samples, want->errors, got->last.message);
    for (size_t i = 0; i < want->count && i < got->count; i++)
        if (memcmp(want->digest[i], got->digest[i], 16) != 0) {
            check_fail(__FILE__, __LINE__, "%s: batch %zu differs", what, i);
            return;
        }
}

/* An epoch of all samples has the same batches by the reference plan and on any number of threads. */
CHECK_UNUSED static void files_check_plans(const mldf_reader *reader, const mldf_loader_options *options,
                                           uint64_t samples) {
    mldf_loader_options o = *options;
    struct hashes want, got;
    o.threads = 0;
    o.reference = true;
    files_epoch(reader, &o, 1, &want);
    CHECK_EQ_U64(samples, want.samples);
    CHECK_EQ_U64(0, want.errors);
    o.reference = false;
    for (; o.threads < 5; o.threads += 2) {
        files_epoch(reader, &o, 1, &got);
        files_check_same(&want, &got, o.pipeline);
    }
}

CHECK_UNUSED static mldf_array files_array(const mldf_batch *batch, const char *name) {
    mldf_array array = {0};
    for (size_t i = 0; mldf_batch_array(batch, i, &array) == MLDF_OK; i++)
        if (strcmp(array.name, name) == 0)
            return array;
    check_fail(__FILE__, __LINE__, "no array %s", name);
    memset(&array, 0, sizeof array);
    return array;
}

/* The number of a batch's sample, with want_index. */
CHECK_UNUSED static uint64_t files_index(const mldf_batch *batch, size_t i) {
    return ((const uint64_t *)files_array(batch, "index").data)[i];
}

#endif
