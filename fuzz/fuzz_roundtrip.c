/* Fuzz target: the input decides a schema, options and samples; they are written to memory and read back. Whatever the writer takes
 * must come back equal, verified; whatever it refuses, it refuses with a message. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mldf/mldf.h"

struct input {
    const uint8_t *data;
    size_t left;
};

static uint64_t take(struct input *in, size_t bytes) {
    uint64_t v = 0;
    for (size_t i = 0; i < bytes && in->left; i++, in->left--)
        v = v << 8 | *in->data++;
    return v;
}

static const void *take_bytes(struct input *in, uint64_t *bytes) {
    uint64_t want = take(in, 1) % 4 ? take(in, 1) : take(in, 2);
    const void *at = in->data;
    *bytes = want < in->left ? want : in->left;
    in->data += *bytes;
    in->left -= (size_t)*bytes;
    return at;
}

enum { MAX_FIELDS = 6, MAX_SAMPLES = 40 };
static const char *const arguments[][4] = {
    {"{}", "{\"dtype\":\"|b1\"}", "{\"dtype\":\"<u8\"}", "{\"dtype\":\"<i2\"}"},
    {NULL, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL},
    {"{\"dtype\":\"<f4\",\"shape\":[null]}", "{\"dtype\":\"|u1\",\"shape\":[3,null]}",
     "{\"dtype\":\"<c16\",\"shape\":[]}", "{\"dtype\":\"bfloat16\",\"shape\":[null,null]}"},
    {NULL, NULL, NULL, NULL},
    {"{\"descr\":[[\"\",\"<f4\",[2]]]}", "{\"descr\":[[\"a\",\"|u1\"],[\"b\",\"<f8\"]]}",
     "{\"descr\":[[\"s\",\"|S5\"],[\"\",\"|V3\"],[\"n\",[[\"x\",\"<i4\"]],[2]]]}", "{\"descr\":[[\"\",\"|b1\"]]}"},
};
static const uint16_t types[] = {MLDF_INT, MLDF_FLOAT, MLDF_BYTES, MLDF_NDARRAY, MLDF_JSON, MLDF_INLINE};

static mldf_schema *make_schema(struct input *in, mldf_error *err) {
    mldf_schema *schema;
    if (mldf_schema_new(NULL, &schema, err) < 0)
        return NULL;
    size_t count = 1 + take(in, 1) % MAX_FIELDS;
    for (size_t f = 0; f < count; f++) {
        char name[2] = {(char)('a' + f), 0};
        size_t pick = take(in, 1) % 7;
        uint8_t flags = (uint8_t)take(in, 1);
        uint16_t type = pick == 6 ? MLDF_TEXT : types[pick];
        mldf_status st = mldf_schema_add(schema, name, type, pick == 6 ? NULL : arguments[pick][flags >> 4 & 3],
                                         flags & MLDF_FIELD_NULLABLE, err);
        if (st < 0)
            abort();
        uint16_t has = mldf_schema_field(schema, f)->flags;
        if ((flags & 2) && (has & (MLDF_FIELD_SIZE32 | MLDF_FIELD_SIZE64)) &&
            mldf_schema_compress(schema, f, 1 + flags % 3, err) < 0)
            abort();
    }
    return schema;
}

static void make_value(struct input *in, const mldf_field *field, mldf_value *v) {
    memset(v, 0, sizeof *v);
    uint8_t how = (uint8_t)take(in, 1);
    if (how < 40)
        return;
    switch (field->type_id) {
    case MLDF_INT:
        v->kind = how & 1 ? MLDF_KIND_INT : MLDF_KIND_UINT;
        v->as.u = how & 2 ? take(in, 8) : take(in, 1);
        break;
    case MLDF_FLOAT:
        v->kind = MLDF_KIND_FLOAT;
        v->as.u = take(in, 8);
        break;
    case MLDF_NDARRAY:
        v->kind = how & 1 ? MLDF_KIND_ARRAY : MLDF_KIND_BYTES;
        v->dtype = how & 2 ? field->dtype : MLDF_DTYPE_NONE;
        v->ndim = field->ndim;
        v->data = take_bytes(in, &v->bytes);
        for (uint32_t d = 0; d < v->ndim; d++)
            v->dims[d] = field->dims[d] >= 0 ? (uint64_t)field->dims[d] : take(in, 1) % 5;
        if (how & 4) { /* make it fit */
            uint64_t need = mldf_dtype_bytes(field->dtype);
            for (uint32_t d = 0; d < v->ndim; d++)
                need *= v->dims[d];
            static const uint8_t zeros[4096];
            v->data = zeros;
            v->bytes = need < sizeof zeros ? need : sizeof zeros;
        }
        break;
    default:
        v->kind = MLDF_KIND_BYTES;
        v->data = take_bytes(in, &v->bytes);
    }
    if (field->type_id == MLDF_JSON && (how & 1)) {
        v->data = "[1,{\"a\":null}]";
        v->bytes = 14;
    }
}

/* Reads every value back and compares what can be compared byte by byte. */
static void read_back(const uint8_t *data, size_t bytes, const mldf_value (*values)[MAX_FIELDS], size_t samples,
                      size_t fields) {
    mldf_error err;
    mldf_reader *r;
    mldf_reader_options options = MLDF_READER_OPTIONS_INIT;
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    options.verify = true;
    if (mldf_reader_open_memory(data, bytes, &options, &r, &err) < 0 || mldf_reader_sample_count(r) != samples)
        abort();
    for (size_t i = 0; i < samples * fields; i++) {
        const mldf_value *want = &values[i / fields][i % fields];
        mldf_value got;
        if (mldf_reader_get(r, i / fields, i % fields, &scratch, &got, &err) < 0)
            abort();
        if ((want->kind == MLDF_KIND_NULL) != (got.kind == MLDF_KIND_NULL))
            abort();
        if (want->kind >= MLDF_KIND_BYTES &&
            (want->bytes != got.bytes || (got.bytes && memcmp(want->data, got.data, (size_t)got.bytes) != 0)))
            abort();
        if (want->kind != MLDF_KIND_NULL && want->kind < MLDF_KIND_BYTES && want->as.u != got.as.u)
            abort();
    }
    mldf_buffer_free(&scratch);
    mldf_reader_close(r);
}

static size_t write_samples(struct input *in, mldf_writer *w, const mldf_schema *schema,
                            mldf_value (*values)[MAX_FIELDS]) {
    size_t fields = mldf_schema_field_count(schema), count = 0;
    mldf_error err;
    while (in->left && count < MAX_SAMPLES) {
        for (size_t f = 0; f < fields; f++)
            make_value(in, mldf_schema_field(schema, f), &values[count][f]);
        if (mldf_writer_append(w, values[count], fields, NULL, 0, &err) < 0) {
            if (!err.message[0])
                abort();
            return SIZE_MAX;
        }
        count++;
    }
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct input in = {data, size};
    mldf_error err;
    static mldf_value values[MAX_SAMPLES][MAX_FIELDS];
    mldf_writer_options options = MLDF_WRITER_OPTIONS_INIT;
    uint8_t how = (uint8_t)take(&in, 1);
    options.threads = 0;
    options.page_size = how & 1 ? 4096 : 0;
    options.no_checksums = how & 2;
    options.dictionary = how & 4;
    mldf_schema *schema = make_schema(&in, &err);
    int fd = memfd_create("roundtrip", 0);
    mldf_writer *w;
    if (!schema || fd < 0 || mldf_writer_open_stream(fd, schema, &options, &w, &err) < 0)
        abort();
    size_t count = write_samples(&in, w, schema, values);
    mldf_status st = MLDF_E_TYPE;
    if (count == SIZE_MAX)
        mldf_writer_abort(w);
    else
        st = mldf_writer_finish(w, NULL, &err);
    if (st >= 0) {
        size_t bytes = (size_t)lseek(fd, 0, SEEK_END);
        void *file = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
        if (file == MAP_FAILED)
            abort();
        read_back(file, bytes, (const mldf_value(*)[MAX_FIELDS])values, count, mldf_schema_field_count(schema));
        munmap(file, bytes);
    }
    close(fd);
    mldf_schema_free(schema);
    return 0;
}
