/* The loader as others measure theirs: batches of a file through a pipeline, each batch summed; and the floor under it, bare libjpeg-turbo
 * decoding the same regions at the same scale on the same number of threads.
 *
 *     bench_loader FILE PIPELINE THREADS BATCH EPOCHS [sum|touch|floor]      prints {"rate": samples/s, "cpu_rate": samples per CPU second}
 *
 * touch: batches are taken and released, nothing is summed. floor: PIPELINE is read for its output size only (random_resized_crop(N)).
 * copy: a memcpy of as many bytes as the batches have, instead of the loader. bench/rivals/compare.py runs it beside the others. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#include "bench.h"
#include "pipeline/geometry.h"
#include "pipeline/pipeline.h"

enum { THREADS_MAX = 64 };

static void fail(const mldf_error *err) {
    fprintf(stderr, "bench_loader: %s\n", MLDF_ERROR_TEXT(err));
    exit(1);
}

static void print_rate(uint64_t samples, double seconds, double cpu) {
    printf("{\"rate\": %.1f, \"cpu_rate\": %.1f}\n", (double)samples / seconds, (double)samples / cpu);
}

/* Eight sums, as numpy and torch have them or better. */
static float sum(const float *values, size_t count) {
    float lanes[16] = {0};
    for (size_t i = 0; i + 16 <= count; i += 16)
        for (size_t k = 0; k < 16; k++)
            lanes[k] += values[i + k];
    for (size_t k = 1; k < 16; k++)
        lanes[0] += lanes[k];
    return lanes[0];
}

/* ---- The loader -------------------------------------------------------------------------------------------------------------- */

static uint64_t epoch_of(mldf_loader *loader, uint64_t epoch, bool summed, volatile float *sink) {
    mldf_error err = {0};
    mldf_batch *batch;
    uint64_t samples = 0;
    mldf_status status = mldf_loader_begin(loader, epoch, 0, &err);
    while (status == MLDF_OK && (status = mldf_loader_next(loader, -1, &batch, &err)) == MLDF_OK) {
        mldf_array array;
        for (size_t i = 0; summed && mldf_batch_array(batch, i, &array) == MLDF_OK; i++)
            if (array.dtype == MLDF_F32)
                *sink += sum(array.data, array.bytes / 4);
        samples += mldf_batch_sample_count(batch);
        mldf_batch_release(batch);
    }
    if (status < 0)
        fail(&err);
    return samples;
}

static void run_loader(const mldf_reader *reader, const char *pipeline, int threads, uint64_t batch, uint64_t epochs,
                       bool summed) {
    mldf_loader_options o = MLDF_LOADER_OPTIONS_INIT;
    mldf_error err = {0};
    mldf_loader *loader;
    volatile float sink = 0;
    o.pipeline = pipeline;
    o.order = MLDF_ORDER_RANDOM;
    o.threads = threads;
    o.batch_size = batch;
    o.seed = 1;
    if (mldf_loader_new(&reader, 1, &o, &loader, &err) < 0)
        fail(&err);
    (void)epoch_of(loader, 0, summed, &sink);
    double start = bench_now(), cpu = bench_process_cpu();
    uint64_t samples = 0;
    for (uint64_t e = 1; e <= epochs; e++)
        samples += epoch_of(loader, e, summed, &sink);
    print_rate(samples, bench_now() - start, bench_process_cpu() - cpu);
    mldf_loader_free(loader);
}

/* ---- The floor ----------------------------------------------------------------------------------------------------------------- */

struct floor {
    const mldf_reader *reader;
    const struct op *op;
    mldf_order *order;
    uint64_t epoch, count;
    size_t field;
    atomic_uint_fast64_t next;
};

/* One image's region as the loader would ask for it, decoded by nothing but libjpeg-turbo. */
static void decode(struct jpeg_decompress_struct *c, const struct floor *f, uint64_t position, uint8_t **row,
                   size_t *room) {
    mldf_error err = {0};
    mldf_place place;
    mldf_value value;
    struct rng rng;
    struct axis_draw d;
    struct geometry g;
    if (mldf_order_at(f->order, f->epoch, position, &place, &err) < 0 ||
        mldf_reader_get(f->reader, place.sample, f->field, NULL, &value, &err) < 0)
        fail(&err);
    jpeg_mem_src(c, value.data, (unsigned long)value.bytes);
    jpeg_read_header(c, TRUE);
    struct frame frame = {.width = c->image_width, .height = c->image_height}, next;
    mldfi_rng_begin(&rng, 1, f->epoch, position, f->op->stream);
    (void)f->op->type->draw(f->op, &rng, &frame, &d, &next, &err);
    mldfi_geometry_begin(&g, frame.width, frame.height);
    (void)f->op->type->geometry(f->op, &d, &g);
    unsigned scale = mldfi_geometry_scale(&g);
    c->scale_num = 1;
    c->scale_denom = scale;
    c->out_color_space = JCS_RGB;
    c->dct_method = JDCT_ISLOW;
    jpeg_start_decompress(c);
    JDIMENSION x = g.x / scale, width = (g.x + g.width + scale - 1) / scale - x;
    JDIMENSION y = g.y / scale, bottom = (g.y + g.height + scale - 1) / scale;
    if (bottom > c->output_height)
        bottom = c->output_height;
    if (x + width > c->output_width)
        width = c->output_width - x;
    jpeg_crop_scanline(c, &x, &width);
    if ((size_t)c->output_width * 3 > *room) {
        *room = (size_t)c->output_width * 3;
        *row = realloc(*row, *room);
    }
    if (y)
        (void)jpeg_skip_scanlines(c, y);
    for (; y < bottom; y++)
        (void)jpeg_read_scanlines(c, row, 1);
    jpeg_abort_decompress(c);
}

static void *floor_thread(void *argument) {
    struct floor *f = argument;
    struct jpeg_decompress_struct c;
    struct jpeg_error_mgr errors;
    uint8_t *row = NULL;
    size_t room = 0;
    uint64_t i;
    c.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&c);
    while ((i = atomic_fetch_add(&f->next, 1)) < f->count)
        decode(&c, f, i, &row, &room);
    jpeg_destroy_decompress(&c);
    free(row);
    return NULL;
}

static void run_floor(const mldf_reader *reader, const char *pipeline, int threads, uint64_t epochs) {
    struct edge in = {.kind = VALUE_IMAGE,
                      .role = ROLE_IMAGE,
                      .dtype = MLDF_U8,
                      .ndim = 3,
                      .dims = {DIM_VARIES, DIM_VARIES, 3},
                      .most = {65535, 65535, 3}};
    mldf_order_options o = MLDF_ORDER_OPTIONS_INIT;
    mldf_error err = {0};
    struct op op;
    struct floor f = {.reader = reader, .op = &op, .count = mldf_reader_sample_count(reader)};
    static const char stream[] = "image/random_resized_crop/0/0";
    char text[256];
    const char *step = strstr(pipeline, "random_resized_crop");
    o.kind = MLDF_ORDER_RANDOM;
    o.seed = 1;
    if (!step)
        exit(2);
    snprintf(text, sizeof text, "%.*s", (int)(strcspn(step, ")") + 1), step);
    if (mldfi_op_from_text(text, &in, &op, &err) < 0 || mldf_order_new(f.count, &o, &f.order, &err) < 0 ||
        mldf_schema_find(mldf_reader_schema(reader), "image", &f.field, &err) < 0)
        fail(&err);
    op.stream = mldfi_rng_stream(stream, sizeof stream - 1);
    double start = 0, cpu = 0;
    for (uint64_t e = 0; e <= epochs; e++) {
        pthread_t threads_[THREADS_MAX];
        if (e == 1) {
            start = bench_now();
            cpu = bench_process_cpu();
        }
        f.epoch = e;
        atomic_store(&f.next, 0);
        for (int i = 0; i < threads; i++)
            if (pthread_create(&threads_[i], NULL, floor_thread, &f) != 0)
                exit(1);
        for (int i = 0; i < threads; i++)
            pthread_join(threads_[i], NULL);
    }
    print_rate(f.count * epochs, bench_now() - start, bench_process_cpu() - cpu);
    mldfi_op_free(&op);
    mldf_order_free(f.order);
}

/* ---- memcpy ---------------------------------------------------------------------------------------------------------------------- */

struct copy {
    uint8_t *from, *to;
    size_t bytes, batches;
    atomic_size_t next;
};

/* Four batches' memory in turn, as the loader's pool has it. */
static void *copy_thread(void *argument) {
    struct copy *c = argument;
    size_t i;
    while ((i = atomic_fetch_add(&c->next, 1)) < c->batches)
        memcpy(c->to + i % 4 * c->bytes, c->from + i % 8 * c->bytes, c->bytes);
    return NULL;
}

/* memcpy of the bytes that the batches have: what no loader can beat that writes them from memory of the same size. */
static void run_copy(const mldf_reader *reader, const char *pipeline, int threads, uint64_t batch, uint64_t epochs) {
    mldf_loader_options o = MLDF_LOADER_OPTIONS_INIT;
    mldf_error err = {0};
    mldf_loader *loader;
    mldf_output out;
    uint64_t samples = mldf_reader_sample_count(reader);
    struct copy c = {.bytes = (size_t)batch};
    o.pipeline = pipeline;
    o.threads = 0;
    if (mldf_loader_new(&reader, 1, &o, &loader, &err) < 0 || mldf_loader_output(loader, 0, &out) != MLDF_OK)
        fail(&err);
    for (uint32_t i = 0; i < out.ndim; i++)
        c.bytes *= (size_t)out.dims[i];
    c.bytes *= mldf_dtype_bytes(out.dtype);
    mldf_loader_free(loader);
    c.batches = (size_t)((samples * epochs + batch - 1) / batch);
    c.from = malloc(8 * c.bytes);
    c.to = malloc(4 * c.bytes);
    memset(c.from, 1, 8 * c.bytes);
    memset(c.to, 1, 4 * c.bytes);
    double start = bench_now(), cpu = bench_process_cpu();
    pthread_t threads_[THREADS_MAX];
    for (int i = 0; i < threads; i++)
        if (pthread_create(&threads_[i], NULL, copy_thread, &c) != 0)
            exit(1);
    for (int i = 0; i < threads; i++)
        pthread_join(threads_[i], NULL);
    print_rate(samples * epochs, bench_now() - start, bench_process_cpu() - cpu);
    free(c.from);
    free(c.to);
}

int main(int argc, char **argv) {
    mldf_error err = {0};
    mldf_reader *reader;
    if (argc < 6) {
        fprintf(stderr, "usage: bench_loader FILE PIPELINE THREADS BATCH EPOCHS [sum|touch|floor|copy]\n");
        return 2;
    }
    int threads = atoi(argv[3]);
    uint64_t batch = strtoull(argv[4], NULL, 10), epochs = strtoull(argv[5], NULL, 10);
    const char *mode = argc > 6 ? argv[6] : "sum";
    if (threads < 0 || threads > THREADS_MAX || batch == 0 || epochs == 0)
        return 2;
    if (mldf_reader_open(argv[1], NULL, &reader, &err) < 0)
        fail(&err);
    if (strcmp(mode, "floor") == 0)
        run_floor(reader, argv[2], threads, epochs);
    else if (strcmp(mode, "copy") == 0)
        run_copy(reader, argv[2], threads, batch, epochs);
    else
        run_loader(reader, argv[2], threads, batch, epochs, strcmp(mode, "sum") == 0);
    mldf_reader_close(reader);
    return 0;
}
