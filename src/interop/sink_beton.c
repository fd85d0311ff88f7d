/* Samples into a .beton file: each field becomes FFCV's of the same kind. A file that came from a .beton has a note in its card
 * (beton_note.h) that decides where FFCV has two kinds for one of ours. See sink.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "field/field.h"
#include "interop/beton.h"
#include "interop/beton_note.h"
#include "interop/sink.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/json.h"

struct beton_column {
    uint64_t shape[MLDF_MAX_DIMS];
    char descr[48];
    struct beton_custom *custom;      /* owned */
    size_t rest;                      /* CUSTOM: field of the schema with the record's other bytes, or SIZE_MAX */
    uint8_t record[BETON_RECORD_MAX]; /* CUSTOM: of the sample in hand; append goes through them one at a time */
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
    for (size_t i = 0; s->columns && i < s->count; i++)
        free(s->columns[i].custom);
    free(s->from);
    free(s->fields);
    free(s->columns);
    free(s->inputs);
    free(s);
}

/* ---- One sample --------------------------------------------------------------------------------------------------------- */

static mldf_status prepare(const struct sample_sink *sink, struct sink_kit *kit, struct media_kit *media,
                           const mldf_value *values, mldf_error *err) {
    const struct beton_sink *s = (const struct beton_sink *)sink;
    for (size_t i = 0; i < s->count; i++) {
        size_t from = s->from[i];
        const mldf_field *field = mldf_schema_field(s->schema, from);
        if (s->fields[i].type != BETON_IMAGE || values[from].kind == MLDF_KIND_NULL)
            continue;
        mldf_status status =
            mldfi_image_make(&kit->rooms[from], media, field, &values[from], IMAGE_BETON, &kit->images[from], err);
        if (status < 0) {
            mldfi_error_place(err, MLDF_NONE, field->name);
            return status;
        }
    }
    return MLDF_OK;
}

static void put_image(struct beton_input *input, const struct sink_image *image) {
    input->mode = image->info.mode == MLDF_IMAGE_MODE_JPEG ? BETON_IMAGE_JPEG : BETON_IMAGE_RAW;
    input->width = image->info.width;
    input->height = image->info.height;
    input->data = image->data;
    input->bytes = image->bytes;
}

/* The record but for its ptr, which the writer knows. */
static mldf_status put_custom(struct beton_sink *s, size_t i, const mldf_value *values, mldf_error *err) {
    struct beton_column *c = &s->columns[i];
    uint32_t at = c->custom->ptr_at, bytes = c->custom->record.bytes, rest = mldfi_custom_rest(bytes);
    if (rest) {
        const mldf_value *value = &values[c->rest];
        if (value->kind == MLDF_KIND_NULL || value->bytes != rest)
            return mldfi_fail(err, MLDF_E_NULL, "the record of the custom field is missing");
        memcpy(c->record, value->data, at);
        memcpy(c->record + at + 8, (const uint8_t *)value->data + at, rest - at);
    }
    s->inputs[i].record = c->record;
    return MLDF_OK;
}

static mldf_status put(struct beton_sink *s, size_t i, const struct sink_image *image, const mldf_value *values,
                       mldf_error *err) {
    const mldf_value *value = &values[s->from[i]];
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
        put_image(input, image);
        return MLDF_OK;
    case BETON_CUSTOM:
        input->data = value->data;
        input->bytes = value->bytes;
        return put_custom(s, i, values, err);
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
        mldf_status status = put(s, i, &kit->images[s->from[i]], values, err);
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

/* Where the schema has the other bytes of a custom record; SIZE_MAX: nowhere. */
static size_t find_rest(const mldf_schema *schema, const char *name, uint32_t rest) {
    char wanted[MLDF_NAME_MAX + 16];
    size_t at;
    mldfi_custom_rest_name(name, wanted, sizeof wanted);
    if (mldf_schema_find(schema, wanted, &at, NULL) != MLDF_OK)
        return SIZE_MAX;
    const mldf_field *field = mldf_schema_field(schema, at);
    bool good = field->type_id == MLDF_INLINE && field->dtype == MLDF_U8 && field->ndim == 1 &&
                field->dims[0] == (int64_t)rest && !(field->flags & MLDF_FIELD_NULLABLE);
    return good ? at : SIZE_MAX;
}

/* Was this field custom, and is all there that makes it so again? */
static bool is_custom(const mldf_schema *schema, const struct json *json, uint32_t note, const char *name,
                      struct beton_custom *custom, size_t *rest) {
    size_t at;
    *rest = SIZE_MAX;
    if (mldf_schema_find(schema, name, &at, NULL) != MLDF_OK || mldf_schema_field(schema, at)->type_id != MLDF_BYTES ||
        !mldfi_note_custom(json, note, name, custom))
        return false;
    uint32_t bytes = mldfi_custom_rest(custom->record.bytes);
    *rest = bytes ? find_rest(schema, name, bytes) : SIZE_MAX;
    return bytes == 0 || *rest != SIZE_MAX;
}

/* Is this field the rest of a custom record? Then it is no field of the .beton. */
static bool is_rest(const mldf_schema *schema, const struct json *json, uint32_t note, size_t index) {
    struct beton_custom custom;
    size_t rest;
    for (size_t i = 0; note != UINT32_MAX && i < mldf_schema_field_count(schema); i++)
        if (is_custom(schema, json, note, mldf_schema_field(schema, i)->name, &custom, &rest) && rest == index)
            return true;
    return false;
}

/* Where FFCV has two kinds for one of ours, the note decides. */
static mldf_status use_note(struct beton_sink *s, size_t i, const struct json *json, uint32_t note,
                            const mldf_context *context, mldf_error *err) {
    struct beton_write_field *f = &s->fields[i];
    struct beton_column *c = &s->columns[i];
    struct beton_custom custom;
    uint32_t at = mldfi_note_type(json, note, f->name);
    if (at == UINT32_MAX)
        return MLDF_OK;
    if (f->type == BETON_NDARRAY && mldfi_json_is_text(json, at, mldfi_beton_type_name(BETON_TENSOR)))
        f->type = BETON_TENSOR;
    if (f->type != BETON_BYTES || mldfi_json_is_text(json, at, mldfi_beton_type_name(BETON_BYTES)))
        return MLDF_OK;
    if (!mldfi_json_is_text(json, at, mldfi_beton_type_name(BETON_CUSTOM)) ||
        !is_custom(s->schema, json, note, f->name, &custom, &c->rest)) {
        mldfi_warn(context, "field %s becomes plain bytes: it was %.*s", f->name, (int)json->nodes[at].text_bytes,
                   json->nodes[at].text);
        return MLDF_OK;
    }
    c->custom = mldfi_alloc(sizeof *c->custom, err);
    if (!c->custom)
        return MLDF_E_MEMORY;
    *c->custom = custom;
    f->type = BETON_CUSTOM;
    f->record = custom.record;
    f->has_blob = true;
    f->ptr_at = custom.ptr_at;
    f->arguments = c->custom->arguments;
    return MLDF_OK;
}

static mldf_status choose_fields(struct beton_sink *s, const struct sink_options *options, const struct json *json,
                                 uint32_t note, mldf_error *err) {
    const mldf_context *context = options->writer->context;
    mldf_status status = MLDF_OK;
    for (size_t i = 0; status == MLDF_OK && i < mldf_schema_field_count(s->schema); i++) {
        const mldf_field *field = mldf_schema_field(s->schema, i);
        if (is_rest(s->schema, json, note, i))
            continue;
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
        status = use_note(s, s->count - 1, json, note, context, err);
    }
    if (status < 0)
        return status;
    if (s->count == 0)
        return mldfi_fail(err, MLDF_E_SCHEMA, "no field is left for the .beton file");
    return MLDF_OK;
}

/* The sink without its writer: which fields become what. */
static mldf_status begin_sink(struct beton_sink **out, const struct sink_options *options, const struct json *json,
                              uint32_t note, mldf_error *err) {
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
        s->from && s->fields && s->columns && s->inputs ? choose_fields(s, options, json, note, err) : MLDF_E_MEMORY;
    if (status < 0)
        free_sink(s);
    else
        *out = s;
    return status;
}

mldf_status mldfi_sink_open_beton(struct sample_sink **out, const struct sink_options *options, mldf_error *err) {
    static const char *const held[] = {"beton", NULL};
    struct beton_write_options writing = BETON_WRITE_OPTIONS_INIT;
    struct beton_sink *s = NULL;
    struct json json = {0};
    bool parsed = options->card && mldfi_json_parse(&json, options->card, options->card_bytes, NULL) == MLDF_OK;
    uint32_t note = parsed ? mldfi_note_find(&json) : UINT32_MAX;
    mldf_status status = begin_sink(&s, options, &json, note, err);
    if (status >= 0) {
        (void)mldfi_note_page_size(&json, note, &writing.page_size);
        if (options->writer->page_size)
            writing.page_size = options->writer->page_size;
        writing.count = options->count;
        writing.overwrite = options->writer->overwrite;
        status = mldfi_beton_writer_open(&s->writer, options->path, s->fields, s->count, &writing, err);
        if (status < 0)
            free_sink(s);
    }
    mldfi_json_free(&json);
    if (status < 0)
        return status;
    mldfi_sink_warn_card(options, "a .beton file", held);
    if (options->keys)
        mldfi_warn(options->writer->context, "the sample keys are left out: a .beton file has no place for them");
    *out = &s->base;
    return status;
}

mldf_status mldfi_sink_plan_beton(const struct sink_options *options, const uint64_t *value_bytes,
                                  struct planned_region *out, size_t *count, mldf_error *err) {
    struct beton_write_options writing = BETON_WRITE_OPTIONS_INIT;
    const struct json json = {0};
    struct beton_layout layout;
    struct beton_sink *s;
    TRY(begin_sink(&s, options, &json, UINT32_MAX, err));
    uint64_t *sizes = mldfi_alloc_zero(s->count, sizeof *sizes, err);
    for (size_t i = 0; sizes && i < s->count; i++)
        sizes[i] = value_bytes[s->from[i]];
    writing.count = options->count;
    writing.page_size = options->writer->page_size;
    mldf_status status = sizes ? mldfi_beton_plan(s->fields, s->count, sizes, &writing, &layout, err) : MLDF_E_MEMORY;
    if (status >= 0) {
        uint64_t rows_end = BETON_HEADER + s->count * (uint64_t)BETON_DESCRIPTOR + layout.rows_bytes;
        uint64_t page = writing.page_size ? writing.page_size : BETON_PAGE_MIN;
        out[(*count)++] = (struct planned_region){"header", 1, BETON_HEADER};
        out[(*count)++] = (struct planned_region){"descriptors", 1, s->count * (uint64_t)BETON_DESCRIPTOR};
        out[(*count)++] = (struct planned_region){"metadata", 1, layout.rows_bytes};
        out[(*count)++] =
            (struct planned_region){"data", layout.data_begin == rows_end ? 1 : page,
                                    layout.data_end == MLDF_NONE ? MLDF_NONE : layout.data_end - layout.data_begin};
        out[(*count)++] =
            (struct planned_region){"allocation", layout.data_begin == layout.data_end ? 1 : 8, layout.table_bytes};
    }
    free(sizes);
    free_sink(s);
    return status;
}
