/* Arrays of every element type and a 16-bit image as a plan's feed has them, and whole pipelines over them. */
#ifndef MLDF_TESTS_PIPELINE_ARRAYS_H
#define MLDF_TESTS_PIPELINE_ARRAYS_H

#include "check.h"
#include "field/image_type.h"
#include "pipeline/plan.h"
#include "util/bytes.h"

enum { ARRAY_SAMPLES = 3, ARRAY_FIELDS = 14, ARRAY_IMAGE = 13, ARRAY_OUTPUTS = 600 };

/* Shapes that begin and end inside a vector; the last field is the image. */
static const struct array_field {
    const char *name, *dtype, *shape;
    mldf_dtype type;
    uint32_t ndim;
    uint64_t dims[3];
} array_fields[ARRAY_FIELDS - 1] = {
    {"b1", "|b1", "[37]", MLDF_BOOL, 1, {37}},        {"u8", "|u1", "[5,7,3]", MLDF_U8, 3, {5, 7, 3}},
    {"i8", "|i1", "[300]", MLDF_I8, 1, {300}},        {"u16", "<u2", "[11,3]", MLDF_U16, 2, {11, 3}},
    {"i16", "<i2", "[257]", MLDF_I16, 1, {257}},      {"u32", "<u4", "[31]", MLDF_U32, 1, {31}},
    {"i32", "<i4", "[64]", MLDF_I32, 1, {64}},        {"u64", "<u8", "[19]", MLDF_U64, 1, {19}},
    {"i64", "<i8", "[8,3]", MLDF_I64, 2, {8, 3}},     {"f16", "<f2", "[70]", MLDF_F16, 1, {70}},
    {"f32", "<f4", "[100,3]", MLDF_F32, 2, {100, 3}}, {"f64", "<f8", "[41]", MLDF_F64, 1, {41}},
    {"one", "<f4", "[1]", MLDF_F32, 1, {1}},
};
enum { ARRAY_WIDTH = 13, ARRAY_HEIGHT = 9 };

struct arrays {
    mldf_schema *schema;
    struct value_bounds bounds[ARRAY_FIELDS];
    uint8_t data[ARRAY_SAMPLES][ARRAY_FIELDS][4096];
    uint8_t record[IMAGE_RECORD];
};

CHECK_UNUSED static bool arrays_begin(struct arrays *all, uint64_t seed) {
    char json[4096];
    uint64_t state = seed;
    size_t at = (size_t)snprintf(json, sizeof json, "{\"fields\":[");
    memset(all, 0, sizeof *all);
    for (size_t i = 0; i < ARRAY_FIELDS - 1; i++)
        at += (size_t)snprintf(json + at, sizeof json - at,
                               "{\"name\":\"%s\",\"type\":\"ndarray\",\"dtype\":\"%s\",\"shape\":%s},",
                               array_fields[i].name, array_fields[i].dtype, array_fields[i].shape);
    snprintf(json + at, sizeof json - at, "{\"name\":\"image\",\"type\":\"image_raw\"}]}");
    mldf_error err;
    if (mldf_schema_parse(NULL, json, strlen(json), &all->schema, &err) < 0) {
        check_fail(__FILE__, __LINE__, "%s", err.message);
        return false;
    }
    all->bounds[ARRAY_IMAGE] = (struct value_bounds){.known = true,
                                                     .ndim = 3,
                                                     .least = {ARRAY_HEIGHT, ARRAY_WIDTH, 3},
                                                     .most = {ARRAY_HEIGHT, ARRAY_WIDTH, 3},
                                                     .image = {16, true, false}};
    check_rand_bytes(&state, all->data, sizeof all->data);
    /* half of the f32 are of a size that people use; a bool is 0 or 1 */
    for (size_t s = 0; s < ARRAY_SAMPLES; s++) {
        for (size_t k = 0; k < 4096; k++)
            all->data[s][0][k] &= 1;
        for (size_t k = 0; k < 4096; k += 8) {
            float v = (float)(int32_t)(check_rand(&state) >> 32) / 1048576.0f;
            memcpy(&all->data[s][10][k], &v, 4);
        }
    }
    uint8_t *r = all->record;
    mldfi_store_u32(r + IMAGE_SIZE, ARRAY_WIDTH * ARRAY_HEIGHT * 6);
    mldfi_store_u16(r + IMAGE_HEIGHT, ARRAY_HEIGHT);
    mldfi_store_u16(r + IMAGE_WIDTH, ARRAY_WIDTH);
    r[IMAGE_CHANNELS] = 3;
    r[IMAGE_MODE] = MLDF_IMAGE_MODE_RAW;
    r[IMAGE_BITS] = 16;
    return true;
}

CHECK_UNUSED static void arrays_end(struct arrays *all) {
    mldf_schema_free(all->schema);
}

CHECK_UNUSED static mldf_status arrays_get(void *user, uint64_t position, size_t field, mldf_buffer *scratch,
                                           mldf_value *out, mldf_error *err) {
    struct arrays *all = user;
    (void)scratch, (void)err;
    memset(out, 0, sizeof *out);
    out->data = all->data[position % ARRAY_SAMPLES][field];
    if (field == ARRAY_IMAGE) {
        out->kind = MLDF_KIND_BYTES;
        out->bytes = ARRAY_WIDTH * ARRAY_HEIGHT * 6;
        out->record = all->record;
        out->record_bytes = IMAGE_RECORD;
        return MLDF_OK;
    }
    const struct array_field *f = &array_fields[field];
    out->kind = MLDF_KIND_ARRAY;
    out->dtype = f->type;
    out->ndim = f->ndim;
    out->bytes = mldf_dtype_bytes(f->type);
    for (uint32_t i = 0; i < f->ndim; i++) {
        out->dims[i] = f->dims[i];
        out->bytes *= f->dims[i];
    }
    return MLDF_OK;
}

/* All samples through a plan, outputs one behind the other. */
CHECK_UNUSED static mldf_status arrays_run_plan(struct arrays *all, const struct plan *plan, mldf_buffer *out,
                                                mldf_error *err) {
    static _Alignas(64) uint8_t room[ARRAY_OUTPUTS][8192]; /* nothing is allocated: tests/fault counts */
    static struct plan_target targets[ARRAY_OUTPUTS];
    struct plan_feed feed = {.user = all, .get = arrays_get};
    struct plan_worker *worker = NULL;
    mldf_status status = mldfi_worker_new(plan, &worker, err);
    size_t count = mldfi_plan_output_count(plan);
    out->size = 0;
    if (count > ARRAY_OUTPUTS)
        check_fail(__FILE__, __LINE__, "%zu outputs", count);
    for (size_t o = 0; o < count && o < ARRAY_OUTPUTS; o++)
        targets[o].data = room[o];
    for (uint64_t p = 0; status == MLDF_OK && p < ARRAY_SAMPLES; p++) {
        status = mldfi_plan_run(plan, worker, &feed, 1, p, targets, err);
        for (size_t o = 0; o < count; o++) {
            const struct edge *e = &mldfi_plan_output(plan, o)->edge;
            size_t bytes = mldf_dtype_bytes(e->dtype);
            for (uint32_t k = 0; k < e->ndim; k++)
                bytes *= (size_t)e->dims[k];
            if (status == MLDF_OK)
                status = mldf_buffer_append(out, targets[o].data, bytes, err);
        }
    }
    mldfi_worker_free(worker);
    return status;
}

CHECK_UNUSED static mldf_status arrays_plan(const struct arrays *all, const char *text,
                                            const struct plan_options *options, struct plan **plan, mldf_error *err) {
    mldf_pipeline *pipeline;
    *plan = NULL;
    mldf_status status = mldf_pipeline_parse(options->context, text, strlen(text), &pipeline, err);
    if (status < 0)
        return status;
    status = mldfi_plan_new(pipeline, all->schema, all->bounds, options, plan, err);
    mldf_pipeline_free(pipeline);
    return status;
}

#endif
