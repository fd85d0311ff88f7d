/* tests/dataset.h: random schemas and samples, writing them and comparing a reader with them. The seed decides everything. */
#ifndef MLDF_TESTS_DATASET_H
#define MLDF_TESTS_DATASET_H

#include "check.h"
#include "mldf/mldf.h"

struct dataset {
    mldf_schema *schema;
    size_t fields, samples;
    mldf_value *values; /* samples × fields; data owned */
    char (*keys)[24];   /* NULL: none */
};

struct dataset_shape {
    size_t max_fields, max_samples;
    size_t max_bytes; /* of a payload */
    bool compress;    /* let fields be compressed */
    bool keys;
};

static const struct {
    uint16_t type;
    const char *arguments;
} dataset_types[] = {
    {MLDF_INT, NULL},
    {MLDF_INT, "{\"dtype\":\"|u1\"}"},
    {MLDF_INT, "{\"dtype\":\"<u8\"}"},
    {MLDF_FLOAT, NULL},
    {MLDF_BYTES, NULL},
    {MLDF_TEXT, NULL},
    {MLDF_JSON, NULL},
    {MLDF_NDARRAY, "{\"dtype\":\"<f4\",\"shape\":[null,3]}"},
    {MLDF_NDARRAY, "{\"dtype\":\"<i2\",\"shape\":[5]}"},
    {MLDF_NDARRAY, "{\"dtype\":\"|u1\",\"shape\":[null,null,2]}"},
    {MLDF_NDARRAY, "{\"dtype\":\"<f8\",\"shape\":[]}"},
    {MLDF_INLINE, "{\"descr\":[[\"\",\"<f4\",[4]]]}"},
    {MLDF_INLINE, "{\"descr\":[[\"id\",\"<u2\"],[\"flag\",\"|b1\"],[\"box\",[[\"x\",\"<f4\"],[\"y\",\"<f4\"]],[2]]]}"},
};
enum { DATASET_TYPES = sizeof dataset_types / sizeof *dataset_types };

CHECK_UNUSED static void *dataset_bytes(uint64_t *state, size_t bytes, bool text) {
    char *p = malloc(bytes + 1);
    for (size_t i = 0; p && i < bytes; i++)
        p[i] = text ? (char)('a' + check_rand(state) % 7) : (char)check_rand(state);
    return p;
}

CHECK_UNUSED static size_t dataset_length(uint64_t *state, size_t max) {
    switch (check_rand(state) % 4) {
    case 0:
        return 0;
    case 1:
        return check_rand(state) % 20;
    default:
        return check_rand(state) % (max + 1);
    }
}

CHECK_UNUSED static void dataset_array(uint64_t *state, const mldf_field *field, size_t max_bytes, mldf_value *v) {
    size_t item = mldf_dtype_bytes(field->dtype), count = 1;
    v->kind = MLDF_KIND_ARRAY;
    v->dtype = field->dtype;
    v->ndim = field->ndim;
    size_t side = field->type_id == MLDF_NDARRAY && field->ndim == 3 ? 40 : max_bytes / 12;
    for (uint32_t d = 0; d < field->ndim; d++) {
        v->dims[d] = field->dims[d] >= 0 ? (uint64_t)field->dims[d] : dataset_length(state, side);
        count *= (size_t)v->dims[d];
    }
    v->bytes = count * item;
    v->data = dataset_bytes(state, count * item, false);
}

CHECK_UNUSED static void dataset_value(uint64_t *state, const mldf_field *field, size_t max_bytes, mldf_value *v) {
    memset(v, 0, sizeof *v);
    if ((field->flags & MLDF_FIELD_NULLABLE) && check_rand(state) % 3 == 0)
        return;
    switch (field->type_id) {
    case MLDF_INT:
        v->kind = field->dtype == MLDF_U64 ? MLDF_KIND_UINT : MLDF_KIND_INT;
        v->as.u = field->dtype == MLDF_U8 ? check_rand(state) % 256 : check_rand(state);
        break;
    case MLDF_FLOAT:
        v->kind = MLDF_KIND_FLOAT;
        v->as.f = (double)(int64_t)check_rand(state) / 1000.0;
        break;
    case MLDF_BYTES:
    case MLDF_TEXT:
        v->kind = field->type_id == MLDF_TEXT ? MLDF_KIND_TEXT : MLDF_KIND_BYTES;
        v->bytes = dataset_length(state, max_bytes);
        v->data = dataset_bytes(state, (size_t)v->bytes, field->type_id == MLDF_TEXT);
        break;
    case MLDF_JSON: {
        char *text = malloc(64);
        v->kind = MLDF_KIND_TEXT;
        v->bytes =
            (uint64_t)snprintf(text, 64, "{\"n\": %llu, \"l\": [1, null]}", (unsigned long long)check_rand(state));
        v->data = text;
        break;
    }
    case MLDF_INLINE:
        if (field->ndim) {
            dataset_array(state, field, max_bytes, v);
        } else {
            v->kind = MLDF_KIND_STRUCT;
            v->bytes = field->record_bytes;
            v->data = dataset_bytes(state, field->record_bytes, false);
        }
        break;
    default:
        dataset_array(state, field, max_bytes, v);
    }
}

CHECK_UNUSED static void dataset_make(struct dataset *d, uint64_t *state, struct dataset_shape shape) {
    mldf_error err;
    memset(d, 0, sizeof *d);
    CHECK_OK(mldf_schema_new(NULL, &d->schema, &err), &err);
    d->fields = 1 + check_rand(state) % shape.max_fields;
    d->samples = check_rand(state) % (shape.max_samples + 1);
    for (size_t f = 0; f < d->fields; f++) {
        char name[32];
        size_t pick = check_rand(state) % DATASET_TYPES;
        uint16_t flags = check_rand(state) % 3 == 0 ? MLDF_FIELD_NULLABLE : 0;
        snprintf(name, sizeof name, "field_%zu", f);
        CHECK_OK(mldf_schema_add(d->schema, name, dataset_types[pick].type, dataset_types[pick].arguments, flags, &err),
                 &err);
        const mldf_field *field = mldf_schema_field(d->schema, f);
        bool payload = field->flags & (MLDF_FIELD_SIZE32 | MLDF_FIELD_SIZE64);
        if (shape.compress && payload && check_rand(state) % 2)
            CHECK_OK(mldf_schema_compress(d->schema, f, 1 + (int)(check_rand(state) % 5), &err), &err);
    }
    d->values = calloc(d->samples * d->fields + 1, sizeof *d->values);
    d->keys = shape.keys ? calloc(d->samples + 1, sizeof *d->keys) : NULL;
    for (size_t s = 0; s < d->samples; s++) {
        for (size_t f = 0; f < d->fields; f++)
            dataset_value(state, mldf_schema_field(d->schema, f), shape.max_bytes, &d->values[s * d->fields + f]);
        if (d->keys)
            snprintf(d->keys[s], sizeof d->keys[s], "k%llx-%zu", (unsigned long long)(check_rand(state) & 0xffff), s);
    }
}

CHECK_UNUSED static void dataset_free(struct dataset *d) {
    for (size_t i = 0; d->values && i < d->samples * d->fields; i++)
        free((void *)(uintptr_t)d->values[i].data);
    free(d->values);
    free(d->keys);
    mldf_schema_free(d->schema);
    memset(d, 0, sizeof *d);
}

/* Samples [from, to) into an open writer. Alternates between the two ways of giving a sample. */
CHECK_UNUSED static mldf_status dataset_feed(const struct dataset *d, mldf_writer *w, size_t from, size_t to,
                                             mldf_error *err) {
    mldf_status st = MLDF_OK;
    for (size_t s = from; s < to && st >= 0; s++) {
        const mldf_value *values = &d->values[s * d->fields];
        const char *key = d->keys ? d->keys[s] : NULL;
        if (s % 3) {
            st = mldf_writer_append(w, values, d->fields, key, key ? strlen(key) : 0, err);
            continue;
        }
        for (size_t f = d->fields; f-- > 0 && st >= 0;)
            st = mldf_writer_set(w, f, &values[f], err);
        if (st >= 0 && key)
            st = mldf_writer_set_key(w, key, strlen(key), err);
        if (st >= 0)
            st = mldf_writer_commit(w, err);
    }
    return st;
}

CHECK_UNUSED static mldf_status dataset_write(const struct dataset *d, const char *path,
                                              const mldf_writer_options *options, mldf_error *err) {
    mldf_writer *w;
    mldf_status st = mldf_writer_open(path, d->schema, options, &w, err);
    if (st < 0)
        return st;
    st = dataset_feed(d, w, 0, d->samples, err);
    if (st < 0) {
        mldf_writer_abort(w);
        return st;
    }
    return mldf_writer_finish(w, NULL, err);
}

CHECK_UNUSED static bool dataset_same_value(const mldf_value *want, const mldf_value *got) {
    if (want->kind == MLDF_KIND_NULL || got->kind == MLDF_KIND_NULL)
        return want->kind == got->kind;
    if (want->kind == MLDF_KIND_INT || want->kind == MLDF_KIND_UINT || want->kind == MLDF_KIND_FLOAT)
        return got->kind == want->kind && got->as.u == want->as.u;
    if (want->kind == MLDF_KIND_ARRAY) {
        if (got->kind != MLDF_KIND_ARRAY || got->ndim != want->ndim || got->dtype != want->dtype)
            return false;
        for (uint32_t i = 0; i < want->ndim; i++)
            if (got->dims[i] != want->dims[i])
                return false;
    }
    return got->bytes == want->bytes && (want->bytes == 0 || memcmp(got->data, want->data, (size_t)want->bytes) == 0);
}

/* Every value and key, in a stride that is not the order of the file. */
CHECK_UNUSED static void dataset_check(const struct dataset *d, const mldf_reader *r) {
    mldf_error err;
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    CHECK_EQ_U64(d->samples, mldf_reader_sample_count(r));
    CHECK_EQ_U64(d->fields, mldf_schema_field_count(mldf_reader_schema(r)));
    for (size_t i = 0; i < d->samples; i++) {
        size_t s = (i * 7919) % d->samples;
        for (size_t f = 0; f < d->fields; f++) {
            mldf_value got;
            mldf_status st = mldf_reader_get(r, s, f, &scratch, &got, &err);
            CHECK_STATUS(MLDF_OK, st, &err);
            if (st >= 0 && !dataset_same_value(&d->values[s * d->fields + f], &got))
                check_fail(__FILE__, __LINE__, "sample %zu, field %zu (%s %s) differs", s, f,
                           mldf_schema_field(d->schema, f)->type_name, mldf_schema_field(d->schema, f)->arguments);
        }
        if (d->keys) {
            const char *key;
            size_t bytes;
            uint64_t found = 0;
            CHECK_OK(mldf_reader_key(r, s, &scratch, &key, &bytes, &err), &err);
            CHECK_BYTES_EQ(d->keys[s], strlen(d->keys[s]), key, bytes);
            CHECK_OK(mldf_reader_find_key(r, d->keys[s], strlen(d->keys[s]), &found, &err), &err);
            CHECK_EQ_U64(s, found);
        }
    }
    mldf_buffer_free(&scratch);
}

/* The whole of a file. */
CHECK_UNUSED static uint8_t *dataset_load(const char *path, size_t *bytes) {
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    fseek(file, 0, SEEK_END);
    *bytes = (size_t)ftell(file);
    rewind(file);
    uint8_t *data = malloc(*bytes + 1);
    if (data && fread(data, 1, *bytes, file) != *bytes) {
        free(data);
        data = NULL;
    }
    fclose(file);
    return data;
}

CHECK_UNUSED static void dataset_check_same_files(const char *a, const char *b) {
    size_t a_bytes = 0, b_bytes = 0;
    uint8_t *x = dataset_load(a, &a_bytes), *y = dataset_load(b, &b_bytes);
    CHECK(x && y);
    if (x && y)
        CHECK_BYTES_EQ(x, a_bytes, y, b_bytes);
    free(x);
    free(y);
}

CHECK_UNUSED static void dataset_print_problem(void *user, const mldf_error *problem) {
    (void)user;
    fprintf(stderr, "    problem: %s at %lld, sample %lld, field \"%s\": %s\n", mldf_status_name(problem->status),
            (long long)problem->offset, (long long)problem->sample, problem->field, problem->message);
}

/* mldf_verify, deep, finds nothing wrong. */
CHECK_UNUSED static void dataset_check_verify(const char *path, const mldf_secret *secret, uint64_t samples) {
    mldf_error err;
    mldf_verify_options options = MLDF_VERIFY_OPTIONS_INIT;
    mldf_verify_result result = MLDF_VERIFY_RESULT_INIT;
    options.deep = true;
    options.problem = dataset_print_problem;
    if (secret)
        options.secret = *secret;
    CHECK_OK(mldf_verify(path, &options, &result, &err), &err);
    CHECK_EQ_U64(0, result.problems);
    CHECK_EQ_U64(samples, result.good_samples);
}

#endif
