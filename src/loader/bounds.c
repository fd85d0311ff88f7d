/* What is known of the values of a field before any is decoded: the largest and smallest sides of images, the lengths of arrays. Statistics
 * say the largest; whether all images are of one size, one kind and one number of channels takes a pass over the rows (24 bytes each, read
 * in large pieces), or over the images' headers where a format has no such rows. The pass ends as soon as the rest cannot change the plan: in a
 * file of photographs after a few rows. Only fields that the pipeline names are looked at. */
#include <string.h>

#include "field/image_type.h"
#include "field/type.h"
#include "loader/loader.h"
#include "pipeline/pipeline.h"
#include "util/bytes.h"
#include "util/error.h"

enum { PIECE_FIRST = 1 << 14, PIECE_BYTES = 1 << 20 };

struct gathering {
    struct value_bounds *bounds;
    uint64_t seen;
    bool rgb;      /* one of them has three channels */
    uint64_t last; /* the members of the last record that was looked at, as one number; 0: none */
    uint8_t last_orientation;
};

static void see_dim(struct value_bounds *bounds, uint32_t i, uint64_t size, bool first) {
    if (first || size < bounds->least[i])
        bounds->least[i] = size;
    if (first || size > bounds->most[i])
        bounds->most[i] = size;
}

static void see_image(struct gathering *g, const mldf_image_info *info) {
    struct value_bounds *b = g->bounds;
    bool first = g->seen++ == 0, ink = info->color == MLDF_IMAGE_CMYK || info->color == MLDF_IMAGE_YCCK;
    uint64_t channels = ink ? 3 : info->channels; /* as decoded */
    see_dim(b, 0, info->height, first);
    see_dim(b, 1, info->width, first);
    see_dim(b, 2, channels, first);
    if (first)
        b->bits = info->bits;
    else if (b->bits != info->bits)
        b->bits = 0;
    b->same_channels = b->least[2] == b->most[2];
    g->rgb = g->rgb || channels == 3;
    b->upright = (first || b->upright) && info->orientation < 5;
    b->ndim = 3;
    b->known = true;
}

/* A value that is read: images that no row describes, and arrays without statistics. Bad samples are met later. */
static mldf_status see_value(struct gathering *g, const mldf_reader *reader, uint64_t sample, size_t field, bool image,
                             mldf_buffer *scratch, mldf_error *err) {
    mldf_value value;
    mldf_image_info info;
    mldf_status status = mldf_reader_get(reader, sample, field, scratch, &value, err);
    if (status < 0)
        return mldfi_is_bad(status) ? MLDF_OK : status;
    if (value.kind == MLDF_KIND_NULL)
        return MLDF_OK;
    if (image) {
        if (mldf_image_record(&value, &info, NULL) < 0)
            return MLDF_OK;
        if ((info.width == 0 || info.height == 0) && mldf_image_probe(value.data, (size_t)value.bytes, &info, NULL) < 0)
            return MLDF_OK;
        see_image(g, &info);
        return MLDF_OK;
    }
    bool first = g->seen++ == 0;
    g->bounds->known = true;
    g->bounds->ndim = value.kind == MLDF_KIND_ARRAY ? value.ndim : 1;
    for (uint32_t i = 0; i < g->bounds->ndim; i++)
        see_dim(g->bounds, i, value.kind == MLDF_KIND_ARRAY ? value.dims[i] : value.bytes, first);
    return MLDF_OK;
}

static mldf_status scan_values(struct gathering *g, const mldf_reader *reader, size_t field, bool image,
                               mldf_error *err) {
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    mldf_status status = MLDF_OK;
    for (uint64_t i = 0; i < mldf_reader_sample_count(reader) && status >= 0; i++)
        status = see_value(g, reader, i, field, image, &scratch, err);
    mldf_buffer_free(&scratch);
    return status;
}

/* Neither the sides, nor the channels, nor the bits can turn out alike any more, or it does not matter: images of different channels become
 * RGB, so one that is RGB decides; and only if all have 16 bits are they decoded as such. */
static bool is_settled(const struct gathering *g) {
    const struct value_bounds *b = g->bounds;
    return g->seen > 0 && b->least[0] != b->most[0] && b->least[1] != b->most[1] && b->bits != 16 &&
           (g->rgb || !b->same_channels);
}

static mldf_status scan_row(struct gathering *g, const mldf_reader *reader, size_t field, uint64_t sample,
                            const uint8_t *record, mldf_buffer *scratch, mldf_error *err) {
    mldf_image_info info;
    bool valid = true;
    mldf_status status = MLDF_OK;
    if (reader->schema->fields[field].info.flags & MLDF_FIELD_NULLABLE)
        status = mldfi_reader_is_valid(reader, sample, field, &valid, err);
    if (status < 0 || !valid)
        return status;
    mldfi_image_record_info(record, &info);
    if (!info.width || !info.height)
        return see_value(g, reader, sample, field, true, scratch, err);
    see_image(g, &info);
    g->last = mldfi_load_u64(record + IMAGE_HEIGHT);
    g->last_orientation = record[IMAGE_ORIENTATION];
    return MLDF_OK;
}

/* Height, width, channels, mode, bits and colour stand side by side: a record that has the same of them, and the same orientation, as the last
 * one says nothing new. */
_Static_assert(IMAGE_COLOR - IMAGE_HEIGHT == 7, "eight bytes of a record say what it holds");

/* Rows [from, to) of the metadata table, which lie in memory. MLDF_END: no more are needed. */
static mldf_status scan_rows(struct gathering *g, const mldf_reader *reader, size_t field, uint64_t from, uint64_t to,
                             const uint8_t *rows, bool may_end, mldf_buffer *scratch, mldf_error *err) {
    const uint8_t *record = rows + reader->schema->fields[field].info.row_offset;
    mldf_status status = MLDF_OK;
    for (uint64_t i = from; i < to && status == MLDF_OK; i++, record += reader->row_bytes) {
        if (mldfi_load_u64(record + IMAGE_HEIGHT) == g->last && record[IMAGE_ORIENTATION] == g->last_orientation &&
            g->last)
            continue;
        status = scan_row(g, reader, field, i, record, scratch, err);
        if (status == MLDF_OK && may_end && is_settled(g))
            return MLDF_END;
    }
    return status;
}

/* A piece of rows. The first one is small: mostly it is enough. */
static uint64_t piece_rows(uint64_t at, uint64_t row_bytes) {
    uint64_t bytes = at == 0 ? PIECE_FIRST : PIECE_BYTES;
    return row_bytes < bytes ? bytes / row_bytes : 1;
}

static mldf_status scan_images(struct gathering *g, const mldf_reader *reader, size_t field, mldf_error *err) {
    uint64_t samples = mldf_reader_sample_count(reader), row_bytes = reader->row_bytes;
    mldf_buffer piece = MLDF_BUFFER_INIT, scratch = MLDF_BUFFER_INIT;
    mldf_field_stats stats;
    if (reader->foreign.ops || row_bytes == 0)
        return scan_values(g, reader, field, true, err);
    mldf_status status = mldf_reader_stats(reader, field, &stats, err);
    if (status < 0)
        return status;
    bool largest = status == MLDF_OK && stats.ndim == 3; /* the file says how large its images are */
    status = MLDF_OK;
    for (uint64_t at = 0, end; at < samples && status == MLDF_OK; at = end) {
        uint64_t rows_now = piece_rows(at, row_bytes);
        const uint8_t *rows;
        end = samples - at < rows_now ? samples : at + rows_now;
        piece.size = 0;
        status = mldfi_reader_check_blocks(reader, at * row_bytes, (end - at) * row_bytes, err);
        if (status >= 0)
            status = mldfi_reader_view(reader, reader->tables.metadata.ptr + at * row_bytes, (end - at) * row_bytes,
                                       &piece, &rows, err);
        if (status >= 0)
            status = scan_rows(g, reader, field, at, end, rows, largest, &scratch, err);
    }
    if (status == MLDF_END) { /* the rest was not seen */
        see_dim(g->bounds, 0, stats.dims_max[0], false);
        see_dim(g->bounds, 1, stats.dims_max[1], false);
        see_dim(g->bounds, 2, stats.dims_max[2], false);
        g->bounds->same_channels = false;
        g->bounds->upright = false;
    }
    mldf_buffer_free(&piece);
    mldf_buffer_free(&scratch);
    return status < 0 ? status : MLDF_OK;
}

/* Arrays and bytes: the largest sizes are in the statistics. */
static mldf_status take_statistics(struct gathering *g, const mldf_reader *reader, size_t field, mldf_error *err) {
    const mldf_field *info = mldf_schema_field(reader->schema, field);
    bool array = info->type_id == MLDF_NDARRAY;
    mldf_field_stats stats;
    mldf_status status = mldf_reader_stats(reader, field, &stats, err);
    if (status < 0)
        return status;
    if (status == MLDF_END || (array && stats.ndim != info->ndim))
        return scan_values(g, reader, field, false, err);
    if (stats.present == 0)
        return MLDF_OK;
    bool first = g->seen == 0;
    g->seen += stats.present;
    g->bounds->known = true;
    g->bounds->ndim = array ? info->ndim : 1;
    for (uint32_t i = 0; i < g->bounds->ndim; i++) {
        see_dim(g->bounds, i, array ? stats.dims_max[i] : stats.value_bytes_max, first);
        g->bounds->least[i] = array && info->dims[i] >= 0 ? (uint64_t)info->dims[i] : 0;
    }
    return MLDF_OK;
}

static bool is_named(const mldf_pipeline *pipeline, const char *name) {
    for (size_t s = 0; s < pipeline->statement_count; s++)
        for (size_t b = 0; b < pipeline->statements[s].binding_count; b++) {
            const struct binding *binding = &pipeline->statements[s].bindings[b];
            for (size_t i = 0; i < binding->input_count; i++)
                if (strcmp(binding->inputs[i], name) == 0)
                    return true;
        }
    return false;
}

static bool varies(const mldf_field *field) {
    if (field->type_id == MLDF_BYTES || field->type_id == MLDF_TEXT || field->type_id == MLDF_JSON)
        return true;
    if (field->type_id == MLDF_NDARRAY)
        for (uint32_t i = 0; i < field->ndim; i++)
            if (field->dims[i] < 0)
                return true;
    return false;
}

mldf_status mldfi_bounds_gather(const struct dataset *dataset, const mldf_pipeline *pipeline, struct value_bounds *out,
                                mldf_error *err) {
    const mldf_schema *schema = dataset->schema;
    mldf_status status = MLDF_OK;
    for (size_t f = 0; f < mldf_schema_field_count(schema) && status >= 0; f++) {
        const mldf_field *field = mldf_schema_field(schema, f);
        bool image = field->type_id >= MLDF_IMAGE_RAW && field->type_id <= MLDF_IMAGE;
        struct gathering g = {.bounds = &out[f]};
        if ((!image && !varies(field)) || !is_named(pipeline, field->name))
            continue;
        for (size_t r = 0; r < dataset->count && status >= 0; r++) {
            const mldf_reader *reader = dataset->readers[r];
            size_t its = mldfi_schema_lookup(reader->schema, field->name);
            if (its == SIZE_MAX)
                continue; /* null there, or told when fields are bound */
            status = image ? scan_images(&g, reader, its, err) : take_statistics(&g, reader, its, err);
        }
    }
    return status;
}
