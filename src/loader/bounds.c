/* What is known of the values of a field before any is decoded: the largest and smallest sizes, and what else its type wants to know
 * (field_type.see). Where statistics do not say it, this takes a pass over the rows, read in large pieces, or over the values where a format has no
 * such rows. The type ends the pass as soon as the rest cannot change the plan. Only fields that the pipeline names are looked at. */
#include <string.h>

#include "field/type.h"
#include "loader/loader.h"
#include "pipeline/pipeline.h"
#include "util/error.h"

/* A field of one file. */
struct column {
    const mldf_reader *reader;
    const struct schema_field *field;
    size_t ordinal;
};

/* ---- Values ------------------------------------------------------------------------------------------------------------------ */

/* The sizes of any value. */
static void see_sizes(struct survey *s, const mldf_value *value) {
    bool first = s->seen++ == 0, array = value->kind == MLDF_KIND_ARRAY;
    s->bounds->known = true;
    s->bounds->ndim = array ? value->ndim : 1;
    for (uint32_t i = 0; i < s->bounds->ndim; i++)
        mldfi_bounds_see(s->bounds, i, array ? value->dims[i] : value->bytes, first);
}

/* A value that no row describes. Bad samples are met later. */
static mldf_status see_value(struct survey *s, const struct column *c, uint64_t sample, mldf_buffer *scratch,
                             mldf_error *err) {
    mldf_value value;
    mldf_status status = mldf_reader_get(c->reader, sample, c->ordinal, scratch, &value, err);
    if (status < 0)
        return mldfi_is_bad(status) ? MLDF_OK : status;
    if (value.kind == MLDF_KIND_NULL)
        return MLDF_OK;
    if (c->field->type && c->field->type->see_value)
        c->field->type->see_value(c->field, &value, s);
    else
        see_sizes(s, &value);
    return MLDF_OK;
}

static mldf_status scan_values(struct survey *s, const struct column *c, mldf_error *err) {
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    mldf_status status = MLDF_OK;
    for (uint64_t i = 0; i < mldf_reader_sample_count(c->reader) && status >= 0; i++)
        status = see_value(s, c, i, &scratch, err);
    mldf_buffer_free(&scratch);
    return status;
}

/* ---- Rows -------------------------------------------------------------------------------------------------------------------- */

struct rows {
    const struct column *column;
    uint64_t first;
};

static mldf_status is_present(const void *owner, size_t i, bool *out, mldf_error *err) {
    const struct rows *rows = owner;
    return mldfi_reader_is_valid(rows->column->reader, rows->first + i, rows->column->ordinal, out, err);
}

/* Rows [from, to) of the metadata table, which lie in memory. MLDF_END: no more are needed. */
static mldf_status scan_block(struct survey *s, const struct column *c, uint64_t from, uint64_t to, const uint8_t *rows,
                              mldf_buffer *scratch, mldf_error *err) {
    struct rows owner = {c, from};
    struct record_block block = {.records = rows + c->field->info.row_offset,
                                 .stride = (size_t)c->reader->row_bytes,
                                 .count = (size_t)(to - from),
                                 .is_present = c->field->info.flags & MLDF_FIELD_NULLABLE ? is_present : NULL,
                                 .owner = &owner};
    size_t at = 0;
    for (;;) {
        mldf_status status = c->field->type->see(c->field, &block, &at, s, err);
        if (status != MLDF_OK || at == block.count)
            return status;
        status = see_value(s, c, from + at++, scratch, err);
        if (status < 0)
            return status;
    }
}

static mldf_status scan_rows(struct survey *s, const struct column *c, mldf_error *err) {
    const mldf_reader *reader = c->reader;
    uint64_t samples = mldf_reader_sample_count(reader);
    mldf_buffer piece = MLDF_BUFFER_INIT, scratch = MLDF_BUFFER_INIT;
    mldf_field_stats stats = MLDF_FIELD_STATS_INIT;
    mldf_status status = mldf_reader_stats(reader, c->ordinal, &stats, err);
    if (status < 0)
        return status;
    s->stats = status == MLDF_OK ? &stats : NULL;
    status = MLDF_OK;
    for (uint64_t at = 0, end; at < samples && status == MLDF_OK; at = end) {
        const uint8_t *rows;
        status = mldfi_reader_rows(reader, at, &piece, &rows, &end, err);
        if (status >= 0)
            status = scan_block(s, c, at, end, rows, &scratch, err);
    }
    s->stats = NULL;
    mldf_buffer_free(&piece);
    mldf_buffer_free(&scratch);
    return status < 0 ? status : MLDF_OK;
}

/* ---- Statistics -------------------------------------------------------------------------------------------------------------- */

static mldf_status take_statistics(struct survey *s, const struct column *c, mldf_error *err) {
    const mldf_field *info = &c->field->info;
    bool dims = c->field->type->sizes == SIZES_DIMS;
    mldf_field_stats stats = MLDF_FIELD_STATS_INIT;
    mldf_status status = mldf_reader_stats(c->reader, c->ordinal, &stats, err);
    if (status < 0)
        return status;
    if (status == MLDF_ABSENT || (dims && stats.ndim != info->ndim))
        return scan_values(s, c, err);
    if (stats.present == 0)
        return MLDF_OK;
    bool first = s->seen == 0;
    s->seen += stats.present;
    s->bounds->known = true;
    s->bounds->ndim = dims ? info->ndim : 1;
    for (uint32_t i = 0; i < s->bounds->ndim; i++) {
        mldfi_bounds_see(s->bounds, i, dims ? stats.dims_max[i] : stats.value_bytes_max, first);
        s->bounds->least[i] = dims && info->dims[i] >= 0 ? (uint64_t)info->dims[i] : 0;
    }
    return MLDF_OK;
}

/* ---- Fields ------------------------------------------------------------------------------------------------------------------ */

/* Does the text name the field, or a part of its values? */
static bool is_named(const mldf_pipeline *pipeline, const struct schema_field *field) {
    size_t bytes = strlen(field->name);
    for (size_t s = 0; s < pipeline->statement_count; s++)
        for (size_t b = 0; b < pipeline->statements[s].binding_count; b++) {
            const struct binding *binding = &pipeline->statements[s].bindings[b];
            for (size_t i = 0; i < binding->input_count; i++) {
                const char *input = binding->inputs[i];
                if (strncmp(input, field->name, bytes) == 0 &&
                    (input[bytes] == 0 || (input[bytes] == '.' && field->type && field->type->part)))
                    return true;
            }
        }
    return false;
}

/* Is there anything to find out? */
static bool is_open(const struct schema_field *field) {
    if (!field->type || (!field->type->see && field->type->sizes == SIZES_NONE))
        return false;
    if (field->type->see || field->type->sizes == SIZES_BYTES)
        return true;
    for (uint32_t i = 0; i < field->info.ndim; i++)
        if (field->info.dims[i] < 0)
            return true;
    return false;
}

static mldf_status gather_file(struct survey *s, const struct column *c, const struct field_type *type,
                               mldf_error *err) {
    const struct field_type *its = c->field->type;
    if (!its)
        return scan_values(s, c, err);
    if (its->see != type->see || its->sizes != type->sizes)
        return MLDF_OK; /* of another type: told when fields are bound */
    if (!its->see)
        return take_statistics(s, c, err);
    return c->reader->foreign.ops || c->reader->row_bytes == 0 ? scan_values(s, c, err) : scan_rows(s, c, err);
}

mldf_status mldfi_bounds_gather(const struct dataset *dataset, const mldf_pipeline *pipeline, struct value_bounds *out,
                                mldf_error *err) {
    const mldf_schema *schema = dataset->schema;
    mldf_status status = MLDF_OK;
    for (size_t f = 0; f < schema->field_count && status >= 0; f++) {
        const struct schema_field *field = &schema->fields[f];
        struct survey survey = {.bounds = &out[f]};
        if (!is_open(field) || !is_named(pipeline, field))
            continue;
        for (size_t r = 0; r < dataset->count && status >= 0; r++) {
            const mldf_reader *reader = dataset->readers[r];
            size_t its = mldfi_schema_lookup(reader->schema, field->name);
            if (its == SIZE_MAX)
                continue; /* null there, or told when fields are bound */
            struct column column = {reader, &reader->schema->fields[its], its};
            status = gather_file(&survey, &column, field->type, err);
        }
    }
    return status;
}
