/* Samples into a .beton file: each field becomes FFCV's of the same kind. A file that came from a .beton has a note in its card,
 * {"beton":{"fields":{"x":"tensor"},"page_size":N}}, that decides where FFCV has two kinds for one of ours. See sink.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "field/field.h"
#include "interop/beton.h"
#include "interop/sink.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/json.h"

struct beton_column {
    uint64_t shape[MLDF_MAX_DIMS];
    char descr[48];
};

struct beton_sink {
    struct sample_sink base;
    struct beton_writer *writer;
    const mldf_schema *schema;
    size_t count;                     /* fields of the file */
    size_t *from;                     /* field of the schema for each */
    struct beton_write_field *fields; /* name and shape point into the schema and the columns */
    struct beton_column *columns;
    struct beton_input *inputs;
};

static void free_sink(struct beton_sink *s) {
    mldfi_beton_writer_free(s->writer);
    free(s->from);
    free(s->fields);
    free(s->columns);
    free(s->inputs);
    free(s);
}

/* ---- One sample --------------------------------------------------------------------------------------------------------- */

static mldf_status prepare(const struct sample_sink *sink, struct sink_kit *kit, mldf_image_decoder **decoder,
                           const mldf_value *values, mldf_error *err) {
    const struct beton_sink *s = (const struct beton_sink *)sink;
    for (size_t i = 0; i < s->count; i++) {
        size_t from = s->from[i];
        const mldf_field *field = mldf_schema_field(s->schema, from);
        if (s->fields[i].type != BETON_IMAGE || values[from].kind == MLDF_KIND_NULL)
            continue;
        mldf_status status = mldfi_picture_make(&kit->makers[from], decoder, field, &values[from], PICTURE_BETON,
                                                &kit->pictures[from], err);
        if (status < 0) {
            mldfi_error_place(err, MLDF_NONE, field->name);
            return status;
        }
    }
    return MLDF_OK;
}

static void put_picture(struct beton_input *input, const struct picture *picture) {
    input->mode = picture->info.mode == MLDF_IMAGE_MODE_JPEG ? BETON_IMAGE_JPEG : BETON_IMAGE_RAW;
    input->width = picture->info.width;
    input->height = picture->info.height;
    input->data = picture->data;
    input->bytes = picture->bytes;
}

static mldf_status put(struct beton_sink *s, size_t i, const struct picture *picture, const mldf_value *value,
                       mldf_error *err) {
    struct beton_input *input = &s->inputs[i];
    memset(input, 0, sizeof *input);
    if (value->kind == MLDF_KIND_NULL)
        return mldfi_fail(err, MLDF_E_NULL, "the value is null, and a .beton file has no nulls");
    switch (s->fields[i].type) {
    case BETON_INT:
        if (value->kind == MLDF_KIND_UINT && value->as.u > INT64_MAX)
            return mldfi_fail(err, MLDF_E_RANGE, "%" PRIu64 " does not fit FFCV's signed integers", value->as.u);
        input->integer = value->as.i;
        return MLDF_OK;
    case BETON_FLOAT:
        input->real = value->as.f;
        return MLDF_OK;
    case BETON_IMAGE:
        put_picture(input, picture);
        return MLDF_OK;
    default:
        input->data = value->data;
        input->bytes = value->bytes;
        return MLDF_OK;
    }
}

static mldf_status append(struct sample_sink *sink, const struct sink_kit *kit, const mldf_value *values,
                          const char *key, size_t key_bytes, mldf_error *err) {
    struct beton_sink *s = (struct beton_sink *)sink;
    (void)key, (void)key_bytes;
    for (size_t i = 0; i < s->count; i++) {
        const mldf_field *field = mldf_schema_field(s->schema, s->from[i]);
        mldf_status status = put(s, i, &kit->pictures[s->from[i]], &values[s->from[i]], err);
        if (status < 0) {
            mldfi_error_place(err, MLDF_NONE, field->name);
            return status;
        }
    }
    return mldfi_beton_writer_add(s->writer, s->inputs, err);
}

static mldf_status finish(struct sample_sink *sink, struct sink_result *result, mldf_error *err) {
    struct beton_sink *s = (struct beton_sink *)sink;
    struct beton_totals totals = {0};
    mldf_status status = mldfi_beton_writer_finish(s->writer, &totals, err);
    *result = (struct sink_result){totals.samples, totals.file_bytes};
    free_sink(s);
    return status;
}

static void give_up(struct sample_sink *sink) {
    free_sink((struct beton_sink *)sink);
}

static const struct sink_ops ops = {prepare, append, NULL, finish, give_up};

/* ---- Fields ------------------------------------------------------------------------------------------------------------- */

/* NULL, or why this field cannot be an array of FFCV's. */
static const char *set_array(const mldf_field *field, struct beton_write_field *out, struct beton_column *column) {
    if (field->dtype == MLDF_DTYPE_NONE)
        return "is a struct";
    if (field->dtype == MLDF_BF16)
        return "is of bfloat16, which NumPy has not";
    if (field->ndim == 0)
        return "has no dimensions";
    for (uint32_t i = 0; i < field->ndim; i++) {
        if (field->dims[i] < 0)
            return "has a shape that varies";
        if (field->dims[i] == 0)
            return "has a dimension of 0";
        column->shape[i] = (uint64_t)field->dims[i];
    }
    snprintf(column->descr, sizeof column->descr, "[[\"\", \"%s\"]]", mldf_dtype_name(field->dtype));
    out->type = BETON_NDARRAY;
    out->ndim = field->ndim;
    out->shape = column->shape;
    out->descr = column->descr;
    return NULL;
}

static const char *set_type(const mldf_field *field, struct beton_write_field *out, struct beton_column *column) {
    switch (field->type_id) {
    case MLDF_INT:
        out->type = BETON_INT;
        return NULL;
    case MLDF_FLOAT:
        out->type = BETON_FLOAT;
        return NULL;
    case MLDF_BYTES:
    case MLDF_TEXT:
        out->type = BETON_BYTES;
        return NULL;
    case MLDF_JSON:
        out->type = BETON_JSON;
        return NULL;
    case MLDF_NDARRAY:
    case MLDF_INLINE:
        return set_array(field, out, column);
    default:
        out->type = BETON_IMAGE;
        return mldfi_is_image_type(field->type_id) ? NULL : "is of a type that FFCV has not";
    }
}

/* The note on a .beton's fields and pages in a card; nodes of `json`, or UINT32_MAX. */
static uint32_t find_note(const struct sink_options *options, struct json *json, const char *name) {
    if (!options->card || mldfi_json_parse(json, options->card, options->card_bytes, NULL) != MLDF_OK ||
        json->nodes[0].kind != MLDFI_JSON_OBJECT)
        return UINT32_MAX;
    uint32_t note = mldfi_json_find(json, 0, "beton");
    if (note == UINT32_MAX || json->nodes[note].kind != MLDFI_JSON_OBJECT)
        return UINT32_MAX;
    return mldfi_json_find(json, note, name);
}

static void use_note(const struct sink_options *options, struct beton_sink *s, uint64_t *page_size) {
    struct json json = {0};
    uint64_t size;
    uint32_t at = find_note(options, &json, "page_size");
    if (at != UINT32_MAX && mldfi_json_u64(&json, at, &size) && size >= BETON_PAGE_MIN && size <= BETON_PAGE_MAX &&
        (size & (size - 1)) == 0)
        *page_size = size;
    uint32_t fields = find_note(options, &json, "fields");
    if (fields != UINT32_MAX && json.nodes[fields].kind == MLDFI_JSON_OBJECT)
        for (size_t i = 0; i < s->count; i++) {
            at = mldfi_json_find(&json, fields, s->fields[i].name);
            if (at == UINT32_MAX)
                continue;
            if (s->fields[i].type == BETON_NDARRAY &&
                mldfi_json_is_text(&json, at, mldfi_beton_type_name(BETON_TENSOR)))
                s->fields[i].type = BETON_TENSOR;
            if (s->fields[i].type == BETON_BYTES && !mldfi_json_is_text(&json, at, mldfi_beton_type_name(BETON_BYTES)))
                mldfi_warn(options->writer->context, "field %s becomes plain bytes: it was %.*s", s->fields[i].name,
                           (int)json.nodes[at].text_bytes, json.nodes[at].text);
        }
    mldfi_json_free(&json);
}

static mldf_status choose_fields(struct beton_sink *s, const struct sink_options *options, mldf_error *err) {
    const mldf_context *context = options->writer->context;
    for (size_t i = 0; i < mldf_schema_field_count(s->schema); i++) {
        const mldf_field *field = mldf_schema_field(s->schema, i);
        const char *why = set_type(field, &s->fields[s->count], &s->columns[s->count]);
        if (why && !options->drop_fields)
            return mldfi_fail(err, MLDF_E_SCHEMA,
                              "field %s (%s) %s, so it has no place in a .beton file; choose others "
                              "(--fields) or leave out what does not fit (--drop-fields)",
                              field->name, field->type_name, why);
        if (why) {
            mldfi_warn(context, "field %s is left out: it %s", field->name, why);
            continue;
        }
        if (strlen(field->name) > BETON_NAME)
            mldfi_warn(context, "the name %s is cut to %.16s: FFCV's names have 16 bytes", field->name, field->name);
        s->fields[s->count].name = field->name;
        s->from[s->count++] = i;
    }
    if (s->count == 0)
        return mldfi_fail(err, MLDF_E_SCHEMA, "no field is left for the .beton file");
    return MLDF_OK;
}

mldf_status mldfi_sink_open_beton(struct sample_sink **out, const struct sink_options *options, mldf_error *err) {
    struct beton_write_options writing = BETON_WRITE_OPTIONS_INIT;
    size_t count = mldf_schema_field_count(options->schema);
    struct beton_sink *s = mldfi_alloc_zero(1, sizeof *s, err);
    if (!s)
        return MLDF_E_MEMORY;
    s->base.ops = &ops;
    s->schema = options->schema;
    s->from = mldfi_alloc_zero(count + 1, sizeof *s->from, err);
    s->fields = mldfi_alloc_zero(count + 1, sizeof *s->fields, err);
    s->columns = mldfi_alloc_zero(count + 1, sizeof *s->columns, err);
    s->inputs = mldfi_alloc_zero(count + 1, sizeof *s->inputs, err);
    mldf_status status =
        s->from && s->fields && s->columns && s->inputs ? choose_fields(s, options, err) : MLDF_E_MEMORY;
    if (status >= 0) {
        use_note(options, s, &writing.page_size);
        if (options->writer->page_size)
            writing.page_size = options->writer->page_size;
        writing.count = options->count;
        writing.overwrite = options->writer->overwrite;
        status = mldfi_beton_writer_open(&s->writer, options->path, s->fields, s->count, &writing, err);
    }
    if (status >= 0 && options->keys)
        mldfi_warn(options->writer->context, "the sample keys are left out: a .beton file has no place for them");
    if (status < 0)
        free_sink(s);
    else
        *out = &s->base;
    return status;
}
