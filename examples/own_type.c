/* A field type of your own that a loader decodes straight into its batches, on its own threads.
 *
 *     own_type FILE
 *
 * The type stores a series of measurements (i32, any number of channels) as differences from one step to the next, each in one to five
 * bytes: slowly changing values need one. The program writes a small file, loads it in batches through
 *     series: pad
 * and prints what it got. docs/types-of-your-own.md explains the functions.
 *
 *     record   0 ptr u64 · 8 size u64 · 16 steps u32 · 20 zero            payload   channel by channel, step by step
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mldf/mldf.h"

enum { SAMPLES = 6, CHANNELS = 2, RECORD_STEPS = 16 };

static void stop(const char *what, const mldf_error *err) {
    fprintf(stderr, "%s: %s\n", what, MLDF_ERROR_TEXT(err));
    exit(1);
}

static mldf_status fail(mldf_error *err, mldf_status status, const char *message) {
    snprintf(err->message, sizeof err->message, "%s", message);
    return status;
}

/* ---- The type ------------------------------------------------------------------------------------------------------------- */

/* The arguments of a field: {"channels":2}. bind makes this of them. */
struct series {
    uint32_t channels;
};

static mldf_status series_bind(void *user, const char *arguments, mldf_record_layout *layout, void **state,
                               mldf_error *err) {
    const char *at = strstr(arguments, "\"channels\":");
    long channels = at ? strtol(at + strlen("\"channels\":"), NULL, 10) : 0;
    struct series *s;
    (void)user;
    if (channels < 1 || channels > 1024)
        return fail(err, MLDF_E_SCHEMA, "the argument \"channels\" must be 1 to 1024");
    s = malloc(sizeof *s);
    if (!s)
        return fail(err, MLDF_E_MEMORY, "no memory");
    s->channels = (uint32_t)channels;
    layout->record_bytes = 24;
    layout->record_align = 8;
    layout->payload_flag = MLDF_FIELD_SIZE64;
    *state = s;
    return MLDF_OK;
}

static void series_unbind(void *user, void *state) {
    (void)user;
    free(state);
}

/* {} means one channel: the file always says how many. */
static mldf_status series_canonical(void *user, const char *arguments, mldf_buffer *out, mldf_error *err) {
    static const char one[] = "{\"channels\":1}";
    (void)user;
    if (strstr(arguments, "\"channels\":"))
        return mldf_buffer_append(out, arguments, strlen(arguments), err);
    return mldf_buffer_append(out, one, sizeof one - 1, err);
}

/* Every value is an array of <i4: steps, which vary, and channels. */
static mldf_status series_describe(void *user, const void *state, mldf_dtype *dtype, uint32_t *ndim, int64_t *dims,
                                   mldf_error *err) {
    const struct series *s = state;
    (void)user, (void)err;
    *dtype = MLDF_I32;
    *ndim = 2;
    dims[0] = -1;
    dims[1] = s->channels;
    return MLDF_OK;
}

/* What a thread keeps: here, room for the values of all channels at one step. A codec's handle would be here too. */
struct worker {
    int64_t *last;
    size_t room;
};

static mldf_status series_open(void *user, void **worker, mldf_error *err) {
    (void)user;
    *worker = calloc(1, sizeof(struct worker));
    return *worker ? MLDF_OK : fail(err, MLDF_E_MEMORY, "no memory");
}

static void series_close(void *user, void *worker) {
    struct worker *w = worker;
    (void)user;
    free(w->last);
    free(w);
}

static mldf_status reset(struct worker *w, uint32_t channels, mldf_error *err) {
    if (channels > w->room) {
        int64_t *more = realloc(w->last, channels * sizeof *more);
        if (!more)
            return fail(err, MLDF_E_MEMORY, "no memory");
        w->last = more;
        w->room = channels;
    }
    memset(w->last, 0, channels * sizeof *w->last);
    return MLDF_OK;
}

/* Differences go into scratch: zigzag, seven bits a byte. */
static mldf_status series_encode(void *user, void *worker, const void *state, const mldf_value *value, uint8_t *record,
                                 mldf_buffer *scratch, const void **payload, uint64_t *payload_bytes, mldf_error *err) {
    const struct series *s = state;
    struct worker *w = worker;
    const uint8_t *in = value->data;
    mldf_status status;
    (void)user;
    if (value->kind != MLDF_KIND_ARRAY || value->dtype != MLDF_I32 || value->ndim != 2 || value->dims[1] != s->channels)
        return fail(err, MLDF_E_TYPE, "a series is an array of <i4: steps x channels");
    if (value->dims[0] > UINT32_MAX / 4 || value->bytes != value->dims[0] * s->channels * 4)
        return fail(err, MLDF_E_RANGE, "a series of too many steps, or of other bytes than its shape says");
    if ((status = reset(w, s->channels, err)) < 0)
        return status;
    scratch->size = 0;
    for (uint64_t i = 0; i < value->dims[0] * s->channels; i++) {
        int32_t x;
        uint8_t bytes[5];
        size_t n = 0;
        memcpy(&x, in + 4 * i, 4);
        int64_t step = x - w->last[i % s->channels];
        uint64_t code = step < 0 ? 2 * (uint64_t)-step - 1 : 2 * (uint64_t)step;
        w->last[i % s->channels] = x;
        for (; code >= 128; code >>= 7)
            bytes[n++] = (uint8_t)(code | 128);
        bytes[n++] = (uint8_t)code;
        if ((status = mldf_buffer_append(scratch, bytes, n, err)) < 0)
            return status;
    }
    uint32_t steps = (uint32_t)value->dims[0];
    memcpy(record + RECORD_STEPS, &steps, 4);
    *payload = scratch->data;
    *payload_bytes = scratch->size;
    return MLDF_OK;
}

/* Called by the loader's threads. The record and the payload come from a file, so nothing in them is believed. */
static mldf_status series_decode(void *user, void *worker, const void *state, const uint8_t *record,
                                 const void *payload, uint64_t payload_bytes, void *dst, uint64_t *dims,
                                 mldf_error *err) {
    const struct series *s = state;
    struct worker *w = worker;
    const uint8_t *in = payload;
    uint64_t at = 0;
    uint32_t steps;
    mldf_status status;
    (void)user;
    memcpy(&steps, record + RECORD_STEPS, 4);
    if ((uint64_t)steps * s->channels > payload_bytes) /* a value has at least one byte */
        return fail(err, MLDF_E_CORRUPT, "more steps than the payload can hold");
    dims[0] = steps;
    if (!dst)
        return MLDF_OK; /* only the dims were asked for */
    if ((status = reset(w, s->channels, err)) < 0)
        return status;
    for (uint64_t i = 0; i < (uint64_t)steps * s->channels; i++) {
        uint64_t code = 0;
        unsigned shift = 0;
        do {
            if (at == payload_bytes || shift > 28)
                return fail(err, MLDF_E_CORRUPT, "the payload ends inside a number, or has one that is too long");
            code |= (uint64_t)(in[at] & 127) << shift;
            shift += 7;
        } while (in[at++] & 128);
        int64_t x = w->last[i % s->channels] + (int64_t)(code >> 1 ^ (0 - (code & 1)));
        if (x < INT32_MIN || x > INT32_MAX)
            return fail(err, MLDF_E_CORRUPT, "a value beyond 32 bits");
        w->last[i % s->channels] = x;
        int32_t narrow = (int32_t)x;
        memcpy((uint8_t *)dst + 4 * i, &narrow, 4);
    }
    return at == payload_bytes ? MLDF_OK : fail(err, MLDF_E_CORRUPT, "bytes after the last step");
}

/* A person sees the last step: {"steps":3,"last":[9,1]} */
static mldf_status series_json(void *user, const void *state, const mldf_value *value, mldf_buffer *out,
                               mldf_error *err) {
    const struct series *s = state;
    const uint8_t *data = value->data;
    uint64_t steps = value->dims[0];
    char text[64];
    (void)user;
    int n = snprintf(text, sizeof text, "{\"steps\":%" PRIu64 ",\"last\":[", steps);
    mldf_status status = mldf_buffer_append(out, text, (size_t)n, err);
    for (uint32_t c = 0; steps && c < s->channels && status == MLDF_OK; c++) {
        int32_t x;
        memcpy(&x, data + 4 * ((steps - 1) * s->channels + c), 4);
        n = snprintf(text, sizeof text, "%s%" PRId32, c ? "," : "", x);
        status = mldf_buffer_append(out, text, (size_t)n, err);
    }
    return status == MLDF_OK ? mldf_buffer_append(out, "]}", 2, err) : status;
}

static mldf_context *make_context(mldf_error *err) {
    mldf_context *context;
    mldf_type type = MLDF_TYPE_INIT;
    type.id = 0x8123;
    type.name = "org.example.series";
    type.bind = series_bind;
    type.unbind = series_unbind;
    type.canonical = series_canonical;
    type.describe = series_describe;
    type.open_worker = series_open;
    type.close_worker = series_close;
    type.encode_worker = series_encode;
    type.decode_into = series_decode; /* decode need not be there: the reader uses this one */
    type.value_json = series_json;
    if (mldf_context_new(&context, err) < 0 || mldf_context_register_type(context, &type, err) < 0)
        stop("context", err);
    return context;
}

/* ---- The program ---------------------------------------------------------------------------------------------------------- */

static void write_file(const char *path, const mldf_context *context, mldf_error *err) {
    mldf_writer_options options = MLDF_WRITER_OPTIONS_INIT;
    mldf_schema *schema;
    mldf_writer *writer;
    options.context = context;
    options.overwrite = true;
    if (mldf_schema_new(context, &schema, err) < 0 ||
        mldf_schema_add(schema, "series", 0x8123, "{\"channels\":2}", 0, err) < 0 ||
        mldf_writer_open(path, schema, &options, &writer, err) < 0)
        stop(path, err);
    mldf_schema_free(schema);
    for (int i = 0; i < SAMPLES; i++) {
        int32_t x[SAMPLES][CHANNELS];
        mldf_value value = {.kind = MLDF_KIND_ARRAY, .dtype = MLDF_I32, .ndim = 2, .data = x};
        for (int t = 0; t <= i % 4; t++) {
            x[t][0] = 100 * i + t * t;
            x[t][1] = -1000000 * i - t;
        }
        value.dims[0] = (uint64_t)(i % 4) + 1;
        value.dims[1] = CHANNELS;
        value.bytes = value.dims[0] * CHANNELS * 4;
        if (mldf_writer_append(writer, &value, 1, NULL, 0, err) < 0)
            stop(path, err);
    }
    if (mldf_writer_finish(writer, NULL, err) < 0)
        stop(path, err);
}

static void print_batch(mldf_batch *batch) {
    mldf_array series;
    if (mldf_batch_array(batch, 0, &series) != MLDF_OK)
        return;
    uint64_t numbers = series.dims[1] * series.dims[2];
    printf("%s %" PRIu64 " x %" PRIu64 " x %" PRIu64 "\n", mldf_dtype_name(series.dtype), series.dims[0],
           series.dims[1], series.dims[2]);
    for (uint64_t i = 0; i < series.dims[0]; i++)
        for (uint64_t k = 0; k < numbers; k++)
            printf("%" PRId32 "%s", ((const int32_t *)series.data)[i * numbers + k], k + 1 < numbers ? " " : "\n");
}

int main(int argc, char **argv) {
    mldf_error err;
    mldf_loader_options options = MLDF_LOADER_OPTIONS_INIT;
    mldf_reader_options how = MLDF_READER_OPTIONS_INIT;
    mldf_reader *reader;
    mldf_loader *loader;
    mldf_batch *batch;
    mldf_status status;
    if (argc != 2) {
        fprintf(stderr, "usage: own_type FILE\n");
        return 2;
    }
    mldf_context *context = make_context(&err);
    write_file(argv[1], context, &err);
    how.context = context;
    if (mldf_reader_open(argv[1], &how, &reader, &err) < 0)
        stop(argv[1], &err);
    options.context = context;
    options.batch_size = 3;
    options.threads = 2;
    options.pipeline = "series: pad";
    if (mldf_loader_new((const mldf_reader *const[]){reader}, 1, &options, &loader, &err) < 0)
        stop("loader", &err);
    while ((status = mldf_loader_next(loader, -1, &batch, &err)) == MLDF_OK) {
        print_batch(batch);
        mldf_batch_release(batch);
    }
    if (status < 0)
        stop("loader", &err);
    mldf_loader_free(loader);
    mldf_reader_close(reader);
    mldf_context_free(context);
    return 0;
}
