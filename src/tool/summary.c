/* mldf_summary: how the values of each field are distributed, in one pass and bounded memory; numbers inside arrays and structs too.
 * distribution.h gathers, this file says what. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mldf/tokens.h"
#include "mldf/tool.h"
#include "tool/described.h"
#include "tool/distribution.h"
#include "tool/element.h"
#include "tool/input.h"
#include "tool/tally.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/options.h"

enum { SHORT_TEXT = 64, MOST_MEASURES = 12 };

/* A number that the records of images and recordings have. */
struct measure_gather {
    char name[32];
    struct gather values;
};

/* The numbers of one member of a struct. */
struct member_gather {
    mldf_member at;
    char name[MLDF_NAME_MAX + sizeof((mldf_member *)0)->path + 4];
    struct gather values;
};

struct field_gather {
    mldf_field_summary out;
    struct member_gather *members; /* INLINE: numeric leaves, in order */
    mldf_field_summary *member_list;
    size_t member_count, member_capacity;
    struct gather values, lengths, bytes, dims[MLDF_MAX_DIMS];
    mldf_distribution *dim_list;
    struct tally tally;
    bool tallied;
    mldf_buffer scratch;
    struct described described;
    struct measure_gather measures[MOST_MEASURES];
    mldf_measure measure_list[MOST_MEASURES];
    size_t measure_count;
};

struct mldf_summary {
    const mldf_reader *reader;
    struct field_gather *fields;
    size_t count;
};

/* ---- One value ----------------------------------------------------------------------------------------------------- */

static bool is_less(const mldf_value *a, const mldf_value *b) {
    return a->kind == MLDF_KIND_UINT    ? a->as.u < b->as.u
           : a->kind == MLDF_KIND_FLOAT ? a->as.f < b->as.f
                                        : a->as.i < b->as.i;
}

static mldf_status add_value(mldf_field_summary *out, struct gather *values, const mldf_value *value, mldf_error *err) {
    double number = value->kind == MLDF_KIND_UINT  ? (double)value->as.u
                    : value->kind == MLDF_KIND_INT ? (double)value->as.i
                                                   : value->as.f;
    if (value->kind == MLDF_KIND_FLOAT && !isfinite(number)) {
        out->nonfinite++;
        return MLDF_OK;
    }
    mldf_value plain = {.kind = value->kind, .as.u = value->as.u};
    if (out->min.kind == MLDF_KIND_NULL || is_less(&plain, &out->min))
        out->min = plain;
    if (out->max.kind == MLDF_KIND_NULL || is_less(&out->max, &plain))
        out->max = plain;
    return mldfi_gather_add(values, number, err);
}

static uint64_t characters(const uint8_t *text, uint64_t bytes) {
    uint64_t count = 0;
    for (uint64_t i = 0; i < bytes; i++)
        count += (text[i] & 0xC0) != 0x80;
    return count;
}

static mldf_status add_element(mldf_field_summary *out, struct gather *values, mldf_dtype dtype, const uint8_t *at,
                               mldf_error *err) {
    mldf_value value;
    if (!mldfi_element(dtype, at, &value))
        return MLDF_OK;
    out->elements++;
    return add_value(out, values, &value, err);
}

static mldf_status add_elements(struct field_gather *f, const mldf_value *value, mldf_error *err) {
    const uint8_t *at = value->data;
    size_t size = mldf_dtype_bytes(value->dtype);
    mldf_status status = MLDF_OK;
    for (uint64_t i = 0; status == MLDF_OK && size && i + size <= value->bytes; i += size)
        status = add_element(&f->out, &f->values, value->dtype, at + i, err);
    return status;
}

/* The numbers of a leaf, the last dimension fastest. */
static mldf_status add_leaf(const mldf_member *m, const uint8_t *record, mldf_field_summary *out, struct gather *values,
                            mldf_error *err) {
    uint32_t index[MLDF_MAX_DIMS] = {0};
    mldf_status status = MLDF_OK;
    for (uint32_t d = 0; d < m->ndim; d++)
        if (m->dims[d] == 0)
            return MLDF_OK;
    for (;;) {
        size_t at = m->offset;
        for (uint32_t d = 0; d < m->ndim; d++)
            at += (size_t)index[d] * m->strides[d];
        status = add_element(out, values, m->dtype, record + at, err);
        uint32_t d = m->ndim;
        while (d > 0 && ++index[d - 1] == m->dims[d - 1])
            index[--d] = 0;
        if (status < 0 || d == 0)
            return status;
    }
}

static mldf_status add_members(struct field_gather *f, const uint8_t *record, mldf_error *err) {
    mldf_status status = MLDF_OK;
    for (size_t i = 0; status == MLDF_OK && i < f->member_count; i++)
        status = add_leaf(&f->members[i].at, record, &f->member_list[i], &f->members[i].values, err);
    return status;
}

static mldf_status add_array(struct field_gather *f, const mldf_value *value, mldf_error *err) {
    uint64_t elements = 1;
    mldf_status status = MLDF_OK;
    f->out.ndim = value->ndim;
    for (uint32_t d = 0; status == MLDF_OK && d < value->ndim; d++) {
        elements *= value->dims[d];
        status = mldfi_gather_add(&f->dims[d], (double)value->dims[d], err);
    }
    return status < 0 ? status : mldfi_gather_add(&f->lengths, (double)elements, err);
}

/* How long documents are; the ids themselves have no distribution that means anything. */
static mldf_status add_tokens(struct field_gather *f, const mldf_tokens *tokens, mldf_error *err) {
    mldf_status status = MLDF_OK;
    f->out.ndim = 1;
    f->out.elements += tokens->count;
    for (uint64_t i = 0, begin, end; status == MLDF_OK && i < tokens->documents; i++) {
        status = mldf_tokens_document(tokens, i, &begin, &end, err);
        if (status == MLDF_OK)
            status = mldfi_gather_add(&f->lengths, (double)(end - begin), err);
    }
    return status < 0 ? status : mldfi_gather_add(&f->dims[0], (double)tokens->count, err);
}

static mldf_status tally(struct field_gather *f, const mldf_field *field, const mldf_value *value, mldf_error *err) {
    size_t ignored;
    bool text = field->type_id == MLDF_TEXT;
    if (!f->tallied)
        return MLDF_OK;
    mldf_status status = MLDF_OK;
    if (!text || value->kind == MLDF_KIND_NULL || value->bytes <= SHORT_TEXT)
        status = mldfi_tally_add(&f->tally, value, &ignored, err);
    else
        f->tally.overflowed = true;
    if (f->tally.overflowed) {
        mldfi_tally_free(&f->tally);
        f->tallied = false;
    }
    return status;
}

static mldf_status add_measure(struct field_gather *f, const char *name, size_t bytes, double number, mldf_error *err) {
    size_t at = 0;
    if (bytes >= sizeof f->measures[0].name)
        return MLDF_OK;
    while (at < f->measure_count &&
           (strlen(f->measures[at].name) != bytes || memcmp(f->measures[at].name, name, bytes) != 0))
        at++;
    if (at == MOST_MEASURES)
        return MLDF_OK;
    if (at == f->measure_count)
        memcpy(f->measures[f->measure_count++].name, name, bytes);
    return mldfi_gather_add(&f->measures[at].values, number, err);
}

/* The numbers of a described value, but its bytes, which have a distribution of their own; and how long it is, where it has samples at a rate. */
static mldf_status add_measures(struct field_gather *f, const mldf_schema *schema, size_t index,
                                const mldf_value *value, mldf_error *err) {
    const struct json *json = &f->described.json;
    double number, samples, rate;
    mldf_status status = mldfi_describe(&f->described, schema, index, value, false, err);
    if (status != MLDF_OK)
        return status == MLDF_ABSENT ? MLDF_OK : status;
    for (uint32_t i = mldfi_json_first(json, 0); status >= 0 && i < json->nodes[0].next; i = json->nodes[i].next) {
        const struct json_node *node = &json->nodes[i];
        if (mldfi_json_double(json, i, &number) && !(node->key_bytes == 5 && memcmp(node->key, "bytes", 5) == 0))
            status = add_measure(f, node->key, node->key_bytes, number, err);
    }
    uint32_t has_samples = mldfi_json_find(json, 0, "samples"), has_rate = mldfi_json_find(json, 0, "rate");
    if (status >= 0 && has_samples != UINT32_MAX && has_rate != UINT32_MAX &&
        mldfi_json_double(json, has_samples, &samples) && mldfi_json_double(json, has_rate, &rate) && rate > 0)
        status = add_measure(f, "seconds", 7, samples / rate, err);
    return status;
}

static mldf_status add_sample(struct mldf_summary *s, size_t index, uint64_t sample, mldf_error *err) {
    struct field_gather *f = &s->fields[index];
    const mldf_field *field = mldf_schema_field(mldf_reader_schema(s->reader), index);
    mldf_value value;
    mldf_status status = field->known ? mldf_reader_get(s->reader, sample, index, &f->scratch, &value, err)
                                      : mldf_reader_get_stored(s->reader, sample, index, &f->scratch, &value, err);
    if (status == MLDF_OK)
        status = tally(f, field, &value, err);
    if (status < 0)
        return status;
    if (value.kind == MLDF_KIND_NULL) {
        f->out.nulls++;
        return MLDF_OK;
    }
    f->out.present++;
    if (value.kind == MLDF_KIND_INT || value.kind == MLDF_KIND_UINT || value.kind == MLDF_KIND_FLOAT)
        return add_value(&f->out, &f->values, &value, err);
    if (field->type_id == MLDF_NDARRAY || (field->type_id == MLDF_INLINE && value.kind == MLDF_KIND_ARRAY))
        status = add_elements(f, &value, err);
    else if (field->type_id == MLDF_INLINE)
        status = add_members(f, value.data, err);
    if (status < 0)
        return status;
    mldf_tokens tokens;
    if (field->dtype != MLDF_DTYPE_NONE && mldf_tokens_of(field, &value, &tokens, NULL) == MLDF_OK)
        status = add_tokens(f, &tokens, err);
    else if (value.kind == MLDF_KIND_ARRAY && field->type_id != MLDF_INLINE)
        status = add_array(f, &value, err);
    else if (field->type_id == MLDF_TEXT)
        status = mldfi_gather_add(&f->lengths, (double)characters(value.data, value.bytes), err);
    if (status == MLDF_OK && (field->flags & (MLDF_FIELD_SIZE32 | MLDF_FIELD_SIZE64)))
        status = mldfi_gather_add(&f->bytes, (double)value.bytes, err);
    if (status == MLDF_OK && mldfi_is_self_describing(mldf_reader_schema(s->reader), index))
        status = add_measures(f, mldf_reader_schema(s->reader), index, &value, err);
    return status;
}

/* ---- The end ------------------------------------------------------------------------------------------------------- */

static int by_count(const void *a, const void *b) {
    const mldf_class_count *x = a, *y = b;
    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    if (x->value.kind != y->value.kind)
        return x->value.kind < y->value.kind ? -1 : 1;
    if (x->value.kind != MLDF_KIND_TEXT)
        return is_less(&x->value, &y->value) ? -1 : is_less(&y->value, &x->value);
    size_t shorter = (size_t)(x->value.bytes < y->value.bytes ? x->value.bytes : y->value.bytes);
    int order = shorter ? memcmp(x->value.data, y->value.data, shorter) : 0;
    return order ? order : (x->value.bytes > y->value.bytes) - (x->value.bytes < y->value.bytes);
}

static mldf_status end_classes(struct field_gather *f, mldf_error *err) {
    if (!f->tallied || f->tally.count == 0)
        return MLDF_OK;
    mldf_class_count *list = mldfi_alloc_zero(f->tally.count, sizeof *list, err);
    if (!list)
        return MLDF_E_MEMORY;
    for (size_t i = 0; i < f->tally.count; i++) {
        mldfi_tally_value(&f->tally, i, &list[i].value);
        list[i].count = f->tally.entries[i].count;
    }
    qsort(list, f->tally.count, sizeof *list, by_count);
    f->out.classes = list;
    f->out.class_count = f->tally.count;
    return MLDF_OK;
}

/* Complex numbers have no order. */
static bool is_number(mldf_dtype dtype) {
    static const uint8_t zero[16];
    mldf_value value;
    return mldfi_element(dtype, zero, &value);
}

static mldf_status end_field(struct field_gather *f, const mldf_field *field, mldf_error *err) {
    bool tokens = field->dtype != MLDF_DTYPE_NONE && /* of the 1.0 draft: rows of different widths */
                  field->type_id >= MLDF_TEXT_TOKENIZED && field->type_id <= MLDF_TOKEN_STREAM;
    bool number = field->type_id == MLDF_INT || field->type_id == MLDF_FLOAT || (!tokens && is_number(field->dtype));
    bool array = field->type_id == MLDF_NDARRAY || tokens,
         payload = field->flags & (MLDF_FIELD_SIZE32 | MLDF_FIELD_SIZE64);
    mldfi_gather_end(&f->values);
    mldfi_gather_end(&f->lengths);
    mldfi_gather_end(&f->bytes);
    f->out.name = field->name;
    f->out.type = field->type_name;
    for (size_t i = 0; i < f->member_count; i++) {
        mldfi_gather_end(&f->members[i].values);
        f->member_list[i].name = f->members[i].name;
        f->member_list[i].type = f->members[i].at.type;
        f->member_list[i].present = f->out.present;
        f->member_list[i].nulls = f->out.nulls;
        f->member_list[i].values = &f->members[i].values.out;
    }
    for (size_t i = 0; i < f->measure_count; i++) {
        mldfi_gather_end(&f->measures[i].values);
        f->measure_list[i] = (mldf_measure){f->measures[i].name, &f->measures[i].values.out};
    }
    f->out.measures = f->measure_list;
    f->out.measure_count = f->measure_count;
    f->out.members = f->member_list;
    f->out.member_count = f->member_count;
    f->out.values = number ? &f->values.out : NULL;
    f->out.lengths = array || field->type_id == MLDF_TEXT ? &f->lengths.out : NULL;
    f->out.bytes = payload ? &f->bytes.out : NULL;
    if (array && f->out.ndim) {
        f->dim_list = mldfi_alloc_zero(f->out.ndim, sizeof *f->dim_list, err);
        if (!f->dim_list)
            return MLDF_E_MEMORY;
        for (uint32_t d = 0; d < f->out.ndim; d++) {
            mldfi_gather_end(&f->dims[d]);
            f->dim_list[d] = f->dims[d].out;
        }
        f->out.dims = f->dim_list;
    }
    return end_classes(f, err);
}

static mldf_status scan(struct mldf_summary *s, const mldf_summary_options *options, mldf_error *err) {
    uint64_t samples = mldf_reader_sample_count(s->reader);
    struct input_watch watch;
    memset(&watch, 0, sizeof watch);
    watch.progress = options->progress;
    watch.user = options->progress_user;
    watch.now = (mldf_progress){.phase = "stats", .samples_total = samples, .bytes_total = MLDF_NONE};
    mldf_status status = MLDF_OK;
    for (uint64_t i = 0; status == MLDF_OK && i < samples; i++) {
        for (size_t f = 0; status == MLDF_OK && f < s->count; f++)
            status = add_sample(s, f, i, err);
        watch.now.samples_done = i + 1;
        if (status == MLDF_OK && i % 64 == 0)
            status = mldfi_watch(&watch, false, err);
    }
    for (size_t f = 0; status == MLDF_OK && f < s->count; f++)
        status = end_field(&s->fields[f], mldf_schema_field(mldf_reader_schema(s->reader), f), err);
    return status;
}

/* "pose.x", or "pose[x]" where a field is named like the first. */
static void name_member(const mldf_schema *schema, const mldf_field *field, struct member_gather *m) {
    size_t ignored;
    snprintf(m->name, sizeof m->name, "%s.%s", field->name, m->at.path);
    if (mldf_schema_find(schema, m->name, &ignored, NULL) == MLDF_OK)
        snprintf(m->name, sizeof m->name, "%s[%s]", field->name, m->at.path);
}

static mldf_status begin_members(struct field_gather *f, const mldf_schema *schema, size_t index, mldf_error *err) {
    const mldf_field *field = mldf_schema_field(schema, index);
    mldf_status status = MLDF_OK;
    mldf_member at;
    if (field->type_id != MLDF_INLINE || !field->known || field->dtype != MLDF_DTYPE_NONE)
        return MLDF_OK;
    for (size_t i = 0; (status = mldf_field_member(schema, index, i, &at, err)) == MLDF_OK; i++) {
        if (!is_number(at.dtype))
            continue;
        status = mldfi_array_reserve(&f->members, &f->member_capacity, f->member_count + 1, sizeof *f->members, err);
        if (status < 0)
            return status;
        struct member_gather *m = &f->members[f->member_count++];
        memset(m, 0, sizeof *m);
        m->at = at;
        name_member(schema, field, m);
    }
    if (status < 0)
        return status;
    f->member_list = mldfi_alloc_zero(f->member_count + 1, sizeof *f->member_list, err);
    return f->member_list ? MLDF_OK : MLDF_E_MEMORY;
}

mldf_status mldf_summary_new(const mldf_reader *reader, const mldf_summary_options *given, mldf_summary **out,
                             mldf_error *err) {
    mldf_summary_options own = MLDF_SUMMARY_OPTIONS_INIT;
    if (!reader || !out)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "a summary needs a reader");
    TRY(mldfi_take_options(&own, sizeof own, "mldf_summary_options", given, err));
    size_t count = mldf_schema_field_count(mldf_reader_schema(reader));
    struct mldf_summary *s = mldfi_alloc_zero(1, sizeof *s, err);
    *out = NULL;
    if (!s)
        return MLDF_E_MEMORY;
    s->reader = reader;
    s->fields = mldfi_alloc_zero(count + 1, sizeof *s->fields, err);
    s->count = s->fields ? count : 0;
    mldf_status status = s->fields ? MLDF_OK : MLDF_E_MEMORY;
    for (size_t i = 0; status == MLDF_OK && i < s->count; i++) {
        status = begin_members(&s->fields[i], mldf_reader_schema(reader), i, err);
        uint16_t type = mldf_schema_field(mldf_reader_schema(reader), i)->type_id;
        s->fields[i].tallied = type == MLDF_INT || type == MLDF_TEXT;
        mldfi_tally_begin(&s->fields[i].tally, MLDF_SUMMARY_CLASSES);
    }
    if (status == MLDF_OK)
        status = scan(s, &own, err);
    if (status < 0)
        mldf_summary_free(s);
    else
        *out = s;
    return status;
}

void mldf_summary_free(mldf_summary *s) {
    if (!s)
        return;
    for (size_t i = 0; i < s->count; i++) {
        struct field_gather *f = &s->fields[i];
        mldfi_gather_free(&f->values);
        mldfi_gather_free(&f->lengths);
        mldfi_gather_free(&f->bytes);
        for (size_t d = 0; d < MLDF_MAX_DIMS; d++)
            mldfi_gather_free(&f->dims[d]);
        for (size_t m = 0; m < f->member_count; m++)
            mldfi_gather_free(&f->members[m].values);
        for (size_t m = 0; m < f->measure_count; m++)
            mldfi_gather_free(&f->measures[m].values);
        mldfi_described_free(&f->described);
        free(f->members);
        free(f->member_list);
        free(f->dim_list);
        free((void *)(uintptr_t)f->out.classes);
        mldfi_tally_free(&f->tally);
        mldf_buffer_free(&f->scratch);
    }
    free(s->fields);
    free(s);
}

const mldf_field_summary *mldf_summary_field(const mldf_summary *s, size_t field) {
    return field < s->count ? &s->fields[field].out : NULL;
}
