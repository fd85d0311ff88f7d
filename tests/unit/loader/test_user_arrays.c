/* User-defined types that describe arrays: what a loader makes of them is what it makes of an NDARRAY of the same values, decoded by its threads
 * straight into the batch; workers are opened once for each thread; what lies about itself is a bad sample.
 *
 * The type here stores pixels (u8, h x w x 3, or a list of them) xor a key that stands in the field's arguments. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "loader_files.h"

enum { SAMPLES = 40, OPEN_ID = 0x8901, RECORD_H = 16, RECORD_W = 20, THREADS = 2 };

/* What goes wrong, with sample 7 alone. */
enum lie { LIE_NONE, LIE_HUGE, LIE_WRAP, LIE_CHANNELS, LIE_CHANGES, LIE_REASON, LIE_SILENT, LIE_WORKER };
static _Atomic(enum lie) lie;
static atomic_int opened, closed, decoded, foreign; /* foreign: a worker was used by two threads at once */
static const void *_Atomic places[2][SAMPLES];      /* where arrays and lists of a sample were decoded to */

struct worker {
    atomic_int used;
    uint8_t table[256];
    int key;
};

struct field_state {
    uint8_t key;
    bool fixed, list;
};

static mldf_status bind(void *user, const char *arguments, mldf_record_layout *layout, void **state, mldf_error *err) {
    struct field_state *s = calloc(1, sizeof *s);
    const char *key = strstr(arguments, "\"key\":");
    (void)user, (void)err;
    if (!s)
        return MLDF_E_MEMORY;
    s->key = key ? (uint8_t)atoi(key + 6) : 0;
    s->list = strstr(arguments, "\"list\":true") != NULL;
    s->fixed = strstr(arguments, "\"fixed\":true") != NULL;
    *layout = (mldf_record_layout){24, 8, MLDF_FIELD_SIZE64, false};
    *state = s;
    return MLDF_OK;
}

static void unbind(void *user, void *state) {
    (void)user;
    free(state);
}

static mldf_status describe(void *user, const void *state, mldf_dtype *dtype, uint32_t *ndim, int64_t *dims,
                            mldf_error *err) {
    const struct field_state *s = state;
    (void)user, (void)err;
    *dtype = MLDF_U8;
    *ndim = s->list ? 2 : 3;
    dims[0] = s->fixed ? 5 : -1;
    dims[1] = s->fixed ? 4 : s->list ? 3 : -1;
    dims[2] = s->list ? 0 : 3;
    return MLDF_OK;
}

static mldf_status open_worker(void *user, void **worker, mldf_error *err) {
    (void)user;
    if (lie == LIE_WORKER) {
        snprintf(err->message, sizeof err->message, "no more handles");
        return MLDF_E_MEMORY;
    }
    struct worker *w = calloc(1, sizeof *w);
    w->key = -1;
    *worker = w;
    opened++;
    return MLDF_OK;
}

static void close_worker(void *user, void *worker) {
    (void)user;
    free(worker);
    closed++;
}

static void begin(struct worker *w, uint8_t key) {
    foreign += atomic_fetch_add(&w->used, 1) != 0;
    for (int i = 0; i < 256 && w->key != key; i++)
        w->table[i] = (uint8_t)i ^ key;
    w->key = key;
}

static mldf_status encode_worker(void *user, void *worker, const void *state, const mldf_value *value, uint8_t *record,
                                 mldf_buffer *scratch, const void **payload, uint64_t *payload_bytes, mldf_error *err) {
    const struct field_state *s = state;
    struct worker *w = worker;
    uint32_t h = (uint32_t)value->dims[0], width = s->list ? 1 : (uint32_t)value->dims[1];
    (void)user;
    begin(w, s->key);
    scratch->size = 0;
    for (uint64_t i = 0; i < value->bytes; i++)
        if (mldf_buffer_append(scratch, &w->table[((const uint8_t *)value->data)[i]], 1, err) < 0)
            return MLDF_E_MEMORY;
    memcpy(record + RECORD_H, &h, 4);
    memcpy(record + RECORD_W, &width, 4);
    *payload = scratch->data;
    *payload_bytes = scratch->size;
    atomic_fetch_sub(&w->used, 1);
    return MLDF_OK;
}

static mldf_status deceive(uint64_t sample, bool list, void *dst, uint64_t *dims, mldf_error *err) {
    if (sample != 7)
        return MLDF_OK;
    if (lie == LIE_HUGE && !dst)
        dims[0] = UINT64_C(1) << 32;
    if (lie == LIE_WRAP && !dst)
        dims[0] = UINT64_C(1) << 63;
    if (lie == LIE_CHANNELS && !dst)
        dims[list ? 1 : 2] = 4;
    if (lie == LIE_CHANGES && dst)
        dims[0]++;
    if (lie == LIE_REASON)
        snprintf(err->message, sizeof err->message, "the values are green");
    return lie == LIE_REASON || lie == LIE_SILENT ? MLDF_E_CORRUPT : MLDF_OK;
}

static mldf_status decode_into(void *user, void *worker, const void *state, const uint8_t *record, const void *payload,
                               uint64_t payload_bytes, void *dst, uint64_t *dims, mldf_error *err) {
    const struct field_state *s = state;
    struct worker *w = worker;
    const uint8_t *in = payload;
    uint32_t h, width;
    (void)user;
    memcpy(&h, record + RECORD_H, 4);
    memcpy(&width, record + RECORD_W, 4);
    if ((uint64_t)h * width * 3 != payload_bytes)
        return MLDF_E_CORRUPT;
    uint64_t sample = payload_bytes ? in[0] ^ s->key : UINT64_MAX; /* pixel 0 is the sample's number */
    dims[0] = h;
    if (!s->list)
        dims[1] = width;
    mldf_status status = deceive(sample, s->list, dst, dims, err);
    if (!dst || status < 0)
        return status;
    begin(w, s->key);
    for (uint64_t i = 0; i < payload_bytes; i++)
        ((uint8_t *)dst)[i] = w->table[in[i]];
    if (sample < SAMPLES)
        places[s->list][sample] = dst;
    decoded++;
    atomic_fetch_sub(&w->used, 1);
    return MLDF_OK;
}

static mldf_context *make_context(void) {
    mldf_type type = MLDF_TYPE_INIT;
    mldf_context *context = NULL;
    mldf_error err;
    type.id = OPEN_ID;
    type.name = "org.example.pixels";
    type.bind = bind;
    type.unbind = unbind;
    type.describe = describe;
    type.open_worker = open_worker;
    type.close_worker = close_worker;
    type.encode_worker = encode_worker;
    type.decode_into = decode_into;
    CHECK_OK(mldf_context_new(&context, &err), &err);
    CHECK_OK(mldf_context_register_type(context, &type, &err), &err);
    return context;
}

/* The same values as u, of the type, and n, an NDARRAY; as uf and nf of a fixed shape; as ul and nl a list of pixels, or null. */
static void write_file(const char *path, const mldf_context *context, int key) {
    static const char array[] = "{\"dtype\":\"|u1\",\"shape\":[null,null,3]}",
                      list[] = "{\"dtype\":\"|u1\",\"shape\":[null,3]}",
                      fixed[] = "{\"dtype\":\"|u1\",\"shape\":[5,4,3]}";
    mldf_writer_options how = MLDF_WRITER_OPTIONS_INIT;
    mldf_schema *schema;
    mldf_writer *writer;
    mldf_error err;
    char arguments[64], fixed_arguments[64], list_arguments[64];
    snprintf(arguments, sizeof arguments, "{\"key\":%d}", key);
    snprintf(fixed_arguments, sizeof fixed_arguments, "{\"key\":%d,\"fixed\":true}", key + 1);
    snprintf(list_arguments, sizeof list_arguments, "{\"key\":%d,\"list\":true}", key + 2);
    how.context = context;
    how.overwrite = true;
    how.threads = THREADS;
    REQUIRE_OK(mldf_schema_new(context, &schema, &err), &err);
    CHECK_OK(mldf_schema_add(schema, "u", OPEN_ID, arguments, 0, &err), &err);
    CHECK_OK(mldf_schema_add(schema, "n", MLDF_NDARRAY, array, 0, &err), &err);
    CHECK_OK(mldf_schema_add(schema, "uf", OPEN_ID, fixed_arguments, MLDF_FIELD_COMPRESSED, &err), &err);
    CHECK_OK(mldf_schema_add(schema, "nf", MLDF_NDARRAY, fixed, 0, &err), &err);
    CHECK_OK(mldf_schema_add(schema, "ul", OPEN_ID, list_arguments, MLDF_FIELD_NULLABLE, &err), &err);
    CHECK_OK(mldf_schema_add(schema, "nl", MLDF_NDARRAY, list, MLDF_FIELD_NULLABLE, &err), &err);
    CHECK_EQ_INT(MLDF_U8, mldf_schema_field(schema, 0)->dtype);
    CHECK_EQ_U64(3, mldf_schema_field(schema, 0)->ndim);
    CHECK(mldf_schema_field(schema, 0)->dims[0] == -1 && mldf_schema_field(schema, 2)->dims[0] == 5);
    REQUIRE_OK(mldf_writer_open(path, schema, &how, &writer, &err), &err);
    for (uint64_t i = 0; i < SAMPLES; i++) {
        uint8_t pixels[16 * 16 * 3], small[5 * 4 * 3];
        uint32_t h = 3 + (uint32_t)(i * 5 % 11), w = 2 + (uint32_t)(i * 3 % 13);
        for (uint32_t k = 0; k < h * w * 3; k++)
            pixels[k] = (uint8_t)(k * 7 + i);
        for (uint32_t k = 0; k < sizeof small; k++)
            small[k] = (uint8_t)(k * 5 + i);
        mldf_value open = files_pixels(pixels, w, h), fix = files_pixels(small, 4, 5);
        mldf_value some = {.kind = MLDF_KIND_ARRAY, .dtype = MLDF_U8, .data = pixels, .bytes = h * 3, .ndim = 2};
        some.dims[0] = h;
        some.dims[1] = 3;
        if (i % 5 == 3)
            some = (mldf_value){.kind = MLDF_KIND_NULL};
        mldf_value values[6] = {open, open, fix, fix, some, some};
        CHECK_OK(mldf_writer_append(writer, values, 6, NULL, 0, &err), &err);
    }
    CHECK_OK(mldf_writer_finish(writer, NULL, &err), &err);
    mldf_schema_free(schema);
}

static mldf_reader *open_file(const char *path, const mldf_context *context, mldf_backend backend) {
    mldf_reader_options how = MLDF_READER_OPTIONS_INIT;
    mldf_reader *reader = NULL;
    mldf_error err;
    how.context = context;
    how.backend = backend;
    CHECK_OK(mldf_reader_open(path, &how, &reader, &err), &err);
    return reader;
}

/* ---- The same as an array ------------------------------------------------------------------------------------------------------------------ */

static void check_same(const mldf_batch *batch, const void *user) {
    mldf_array a = files_array(batch, "a"), b = files_array(batch, "b");
    uint64_t bytes = mldf_dtype_bytes(a.dtype);
    (void)user;
    CHECK_EQ_U64(b.ndim, a.ndim);
    CHECK_EQ_INT(b.dtype, a.dtype);
    for (uint32_t i = 0; i < a.ndim; i++) {
        CHECK_EQ_U64(b.dims[i], a.dims[i]);
        bytes *= a.dims[i];
    }
    CHECK_MEM_EQ(b.data, a.data, (size_t)bytes);
}

static void every_step_sees_the_array(void) {
    static const char *const texts[] = {
        "a = uf; b = nf",
        "a = uf: cast(f32); b = nf: cast(f32)",
        "a = uf as image: resize([8, 8]) | chw(f16); b = nf as image: resize([8, 8]) | chw(f16)",
        "a = ul: fill | ragged; b = nl: fill | ragged",
        "a = ul: fill | pad(multiple=4); b = nl: fill | pad(multiple=4)",
        "a = ul: fill | cast(f32) | pad; b = nl: fill | cast(f32) | pad",
        "a = u as image: pad; b = n as image: pad",
        "a = u as image: resize([6, 9]); b = n as image: resize([6, 9])",
        "a = u as image; b = n as image; a, b: random_resized_crop(8)",
    };
    mldf_context *context = make_context();
    mldf_reader *reader = open_file(check_tmp("one.mldf"), context, MLDF_BACKEND_MAP);
    mldf_reader *read = open_file(check_tmp("one.mldf"), context, MLDF_BACKEND_READ);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        mldf_loader_options o = files_options(texts[i], 7, THREADS);
        mldf_loader *loader;
        mldf_error err;
        o.context = context;
        mldf_status status = mldf_loader_new((const mldf_reader *const[]){reader}, 1, &o, &loader, &err);
        CHECK_STATUS(MLDF_OK, status, &err);
        if (status < 0)
            continue;
        mldf_loader_free(loader);
        files_each(reader, &o, SAMPLES, 0, check_same, NULL);
        files_each(read, &o, SAMPLES, 0, check_same, NULL);
        files_check_plans(reader, &o, SAMPLES);
    }
    mldf_reader_close(read);
    mldf_reader_close(reader);
    mldf_context_free(context);
    CHECK_EQ_INT(0, foreign);
}

static void fixed_arrays_come_by_themselves(void) {
    mldf_context *context = make_context();
    mldf_reader *reader = open_file(check_tmp("one.mldf"), context, MLDF_BACKEND_MAP);
    mldf_loader_options o = files_options("a = uf; b = nf", 8, 0);
    mldf_error err;
    mldf_loader *loader;
    mldf_batch *batch;
    o.context = context;
    o.pipeline = NULL;
    REQUIRE_OK(mldf_loader_new((const mldf_reader *const[]){reader}, 1, &o, &loader, &err), &err);
    REQUIRE_OK(mldf_loader_next(loader, -1, &batch, &err), &err);
    CHECK_EQ_U64(5, files_array(batch, "uf").dims[1]);
    mldf_batch_release(batch);
    mldf_loader_free(loader);
    mldf_reader_close(reader);
    mldf_context_free(context);
}

/* ---- How it is decoded ----------------------------------------------------------------------------------------------------------------------- */

/* user: not NULL for a ragged list. */
static void check_places(const mldf_batch *batch, const void *user) {
    mldf_array a = files_array(batch, "a");
    const uint64_t *index = files_array(batch, "index").data;
    const int64_t *offset = user ? files_array(batch, "a_offset").data : NULL;
    for (size_t i = 0; i < mldf_batch_sample_count(batch); i++) {
        const uint8_t *want = (const uint8_t *)a.data + (offset ? (size_t)offset[i] * 3 : i * 5 * 4 * 3);
        CHECK((user && index[i] % 5 == 3) || places[user != NULL][index[i]] == want);
    }
}

static void values_are_decoded_into_the_batch(void) {
    mldf_context *context = make_context();
    mldf_reader *reader = open_file(check_tmp("one.mldf"), context, MLDF_BACKEND_MAP);
    mldf_loader_options o = files_options("a = uf", SAMPLES, THREADS);
    o.context = context;
    opened = closed = decoded = 0;
    files_each(reader, &o, SAMPLES, 0, check_places, NULL);
    CHECK_EQ_INT(SAMPLES, decoded);
    o.pipeline = "a = ul: fill | ragged";
    files_each(reader, &o, SAMPLES, 0, check_places, "ragged");
    CHECK(opened >= 2 && opened <= 2 * (THREADS + 1));
    CHECK_EQ_INT(opened, closed);
    mldf_reader_close(reader);
    mldf_context_free(context);
}

static void readers_decode_without_decode(void) {
    mldf_context *context = make_context();
    mldf_reader *reader = open_file(check_tmp("one.mldf"), context, MLDF_BACKEND_MAP);
    mldf_buffer scratch = MLDF_BUFFER_INIT, other = MLDF_BUFFER_INIT;
    mldf_value u, n;
    mldf_error err;
    opened = closed = 0;
    for (uint64_t i = 0; i < SAMPLES; i++) {
        CHECK_OK(mldf_reader_get(reader, i, 4, &scratch, &u, &err), &err);
        CHECK_OK(mldf_reader_get(reader, i, 5, &other, &n, &err), &err);
        CHECK_EQ_INT(n.kind, u.kind);
        if (n.kind == MLDF_KIND_NULL)
            continue;
        CHECK_EQ_U64(n.dims[0], u.dims[0]);
        CHECK_BYTES_EQ(n.data, (size_t)n.bytes, u.data, (size_t)u.bytes);
    }
    CHECK_EQ_INT(1, opened); /* kept between calls */
    mldf_buffer_free(&scratch);
    mldf_buffer_free(&other);
    mldf_reader_close(reader);
    mldf_context_free(context);
    CHECK_EQ_INT(1, closed);
}

/* Two files whose fields have other arguments: each value is decoded with the state of its own file. */
static void each_file_has_its_state(void) {
    mldf_context *context = make_context();
    const mldf_reader *readers[] = {open_file(check_tmp("one.mldf"), context, MLDF_BACKEND_MAP),
                                    open_file(check_tmp("two.mldf"), context, MLDF_BACKEND_MAP)};
    mldf_loader_options o = files_options("a = uf; b = nf", 7, THREADS);
    mldf_loader *loader;
    mldf_batch *batch;
    mldf_error err;
    uint64_t seen = 0;
    o.context = context;
    REQUIRE_OK(mldf_loader_new(readers, 2, &o, &loader, &err), &err);
    while (mldf_loader_next(loader, -1, &batch, &err) == MLDF_OK) {
        check_same(batch, NULL);
        seen += mldf_batch_sample_count(batch);
        mldf_batch_release(batch);
    }
    CHECK_EQ_U64(2 * SAMPLES, seen);
    mldf_loader_free(loader);
    mldf_reader_close((mldf_reader *)(uintptr_t)readers[0]);
    mldf_reader_close((mldf_reader *)(uintptr_t)readers[1]);
    mldf_context_free(context);
}

/* ---- Lies -------------------------------------------------------------------------------------------------------------------------------------- */

static void lies_are_bad_samples(void) {
    static const struct {
        enum lie lie;
        mldf_status status;
        const char *words;
    } cases[] = {
        {LIE_HUGE, MLDF_E_LIMIT, "4294967296 x"},
        {LIE_WRAP, MLDF_E_LIMIT, "9223372036854775808 x"},
        {LIE_CHANNELS, MLDF_E_CORRUPT, "the size 4, and the field's shape is [null,"},
        {LIE_CHANGES, MLDF_E_CORRUPT, "other dimensions than before"},
        {LIE_REASON, MLDF_E_CORRUPT, "the values are green"},
        {LIE_SILENT, MLDF_E_CORRUPT, "decode_into gives no reason"},
    };
    static const char *const texts[] = {"a = ul: fill | ragged", "a = u as image: resize([4, 4])"};
    mldf_context *context = make_context();
    mldf_reader *reader = open_file(check_tmp("one.mldf"), context, MLDF_BACKEND_MAP);
    for (size_t i = 0; i < 2 * sizeof cases / sizeof cases[0]; i++) {
        mldf_loader_options o = files_options(texts[i % 2], 7, THREADS);
        mldf_loader *loader;
        struct hashes hashes;
        mldf_bad_sample bad = MLDF_BAD_SAMPLE_INIT;
        mldf_error err;
        lie = cases[i / 2].lie;
        o.context = context;
        o.bad = MLDF_BAD_SKIP;
        loader = files_loader(reader, &o);
        REQUIRE(loader);
        files_run(loader, &hashes);
        CHECK_EQ_U64(SAMPLES - 1, hashes.samples);
        REQUIRE_OK(mldf_loader_bad_sample(loader, 0, &bad, &err), &err);
        CHECK_EQ_INT(cases[i / 2].status, bad.error.status);
        CHECK_EQ_U64(7, bad.error.sample);
        CHECK_EQ_STR(i % 2 ? "u" : "ul", bad.error.field);
        CHECK_CONTAINS(cases[i / 2].words, TEXT(bad.error));
        CHECK_CONTAINS(i % 2 ? "sample 7, field u:" : "sample 7, field ul:", TEXT(bad.error));
        mldf_loader_free(loader);
    }
    lie = LIE_NONE;
    mldf_reader_close(reader);
    mldf_context_free(context);
}

static void a_worker_that_cannot_be_opened_ends_the_epoch(void) {
    mldf_context *context = make_context();
    mldf_reader *reader = open_file(check_tmp("one.mldf"), context, MLDF_BACKEND_MAP);
    mldf_loader_options o = files_options("a = uf", 7, THREADS);
    mldf_batch *batch;
    mldf_error err;
    o.context = context;
    lie = LIE_WORKER;
    mldf_loader *loader = files_loader(reader, &o);
    REQUIRE(loader);
    CHECK_STATUS(MLDF_E_MEMORY, mldf_loader_next(loader, -1, &batch, &err), &err);
    CHECK_CONTAINS("no more handles", TEXT(err));
    lie = LIE_NONE;
    mldf_loader_free(loader);
    mldf_reader_close(reader);
    mldf_context_free(context);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    mldf_context *context = make_context();
    write_file(check_tmp("one.mldf"), context, 90);
    write_file(check_tmp("two.mldf"), context, 17);
    mldf_context_free(context);
    CHECK_EQ_INT(opened, closed);
    CHECK(opened >= 2 && opened <= 2 * (THREADS + 1));
    RUN(every_step_sees_the_array);
    RUN(fixed_arrays_come_by_themselves);
    RUN(values_are_decoded_into_the_batch);
    RUN(readers_decode_without_decode);
    RUN(each_file_has_its_state);
    RUN(lies_are_bad_samples);
    RUN(a_worker_that_cannot_be_opened_ends_the_epoch);
    return check_end();
}
