/* mldf_plan: where everything will stand in a file of n equal samples. It follows docs/spec/format.md as the writer does, but walks
 * pages, not samples: equal samples repeat their places from one page to the next. The round-trip tests compare it with real files. */
#include <stdlib.h>
#include <string.h>

#include "field/field.h"
#include "format/format.h"
#include "interop/sink.h"
#include "mldf/tool.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"
#include "util/options.h"

/* ---- The data region ----------------------------------------------------------------------------------------------- */

struct sample_shape {
    struct placement *payloads; /* of every sample, empty ones left out */
    size_t count;
    bool known; /* every size is */
};

/* Bytes of every value of a field, or MLDF_NONE. */
static uint64_t value_bytes(const struct schema_field *field, uint64_t given) {
    uint64_t bytes = given;
    if (field->info.type_id == MLDF_NDARRAY) {
        uint64_t fixed = mldf_dtype_bytes(field->info.dtype);
        bool varies = false;
        for (uint32_t i = 0; i < field->info.ndim; i++) {
            varies |= field->info.dims[i] < 0;
            if (!varies && !mldfi_mul_u64(fixed, (uint64_t)field->info.dims[i], &fixed))
                return MLDF_NONE;
        }
        if (!varies)
            bytes = fixed;
    }
    return bytes;
}

/* Bytes of every stored value of a field, or MLDF_NONE. */
static uint64_t stored_bytes(const struct schema_field *field, uint64_t given) {
    uint64_t bytes = value_bytes(field, given);
    /* How well zstd does is not known before. */
    if ((field->info.flags & MLDF_FIELD_COMPRESSED) && bytes != 0)
        return MLDF_NONE;
    return bytes;
}

/* There is no record to ask yet; the arguments say what values will be. */
static bool is_array(const struct schema_field *field, uint64_t bytes) {
    const struct field_type *type = field->type;
    return field->layout.viewable && (!type || !type->expects_array || type->expects_array(field->state, bytes));
}

static mldf_status shape_sample(const mldf_schema *schema, const uint64_t *given, struct sample_shape *shape,
                                mldf_error *err) {
    shape->known = true;
    shape->count = 0;
    shape->payloads = mldfi_alloc_zero(schema->payload_count + 1, sizeof *shape->payloads, err);
    if (!shape->payloads)
        return MLDF_E_MEMORY;
    for (size_t i = 0; i < schema->field_count; i++) {
        const struct schema_field *field = &schema->fields[i];
        if (!mldfi_field_has_payload(field))
            continue;
        uint64_t bytes = stored_bytes(field, given ? given[i] : MLDF_NONE);
        if (bytes == MLDF_NONE) {
            shape->known = false;
        } else if (bytes > 0) {
            if ((field->info.flags & MLDF_FIELD_SIZE32) && bytes > UINT32_MAX)
                return mldfi_fail(err, MLDF_E_RANGE, "field '%s' holds at most 4294967295 bytes", field->info.name);
            struct placement *p = &shape->payloads[shape->count++];
            p->bytes = bytes;
            p->align = is_array(field, bytes) && bytes >= 1024 ? 64 : 8;
        }
    }
    return MLDF_OK;
}

/* Where the pattern of places begins again. */
struct mark {
    bool set;
    uint64_t sample, cursor;
};

/* Places samples from *sample on until the cursor stands at the same place of a unit again, then skips whole repetitions.
 * unit: a page, when the page rule may move samples; 64 bytes otherwise. */
static bool skip_repeats(struct mark *mark, uint64_t unit, uint64_t samples, uint64_t *sample, uint64_t *cursor) {
    if (!mark->set || mark->cursor % unit != *cursor % unit) {
        if (!mark->set) {
            mark->set = true;
            mark->sample = *sample;
            mark->cursor = *cursor;
        }
        return true;
    }
    uint64_t period = *sample - mark->sample, step = *cursor - mark->cursor, left = samples - *sample;
    if (period == 0 || left < period)
        return true;
    uint64_t times = left / period, move;
    if (!mldfi_mul_u64(times, step, &move) || !mldfi_add_u64(*cursor, move, cursor) || *cursor > UINT64_C(1) << 62)
        return false;
    *sample += times * period;
    return true;
}

/* The end of the data of `samples` equal samples. */
static mldf_status place_all(const struct sample_shape *shape, uint64_t samples, uint64_t page_size, uint64_t *cursor,
                             mldf_error *err) {
    struct mark mark = {false, 0, 0};
    uint64_t span_end = 0;
    if (shape->count == 0 || samples == 0)
        return MLDF_OK;
    if (!mldfi_place_sample(shape->payloads, shape->count, page_size, &span_end))
        return mldfi_fail(err, MLDF_E_LIMIT, "the file would pass 2^63 bytes");
    bool paged = span_end - shape->payloads[0].ptr < page_size / 8;
    for (uint64_t i = 0; i < samples; i++) {
        uint64_t before = *cursor;
        if (!mldfi_place_sample(shape->payloads, shape->count, page_size, cursor))
            return mldfi_fail(err, MLDF_E_LIMIT, "the file would pass 2^63 bytes");
        /* With the page rule the pattern is that of a page: look at it once for each. */
        uint64_t done = i + 1;
        bool new_page = before / page_size != shape->payloads[0].ptr / page_size || before % page_size == 0;
        if ((!paged || new_page) && !skip_repeats(&mark, paged ? page_size : 64, samples, &done, cursor))
            return mldfi_fail(err, MLDF_E_LIMIT, "the file would pass 2^62 bytes");
        i = done - 1;
    }
    return MLDF_OK;
}

static uint64_t first_page(size_t fields, uint64_t page_size) {
    return mldfi_align_up(FORMAT_DESCRIPTOR_OFFSET + (uint64_t)FORMAT_DESCRIPTOR_BYTES * fields, page_size);
}

/* Page size, and the data region with it. *end is MLDF_NONE when sizes are not known. */
static mldf_status plan_data(const mldf_schema *schema, const mldf_plan_options *options,
                             const struct sample_shape *shape, uint64_t *page_size, uint64_t *begin, uint64_t *end,
                             mldf_error *err) {
    bool automatic = options->page_size == 0;
    *page_size = automatic ? FORMAT_AUTO_SMALL_PAGE : options->page_size;
    *begin = first_page(schema->field_count, *page_size);
    *end = *begin;
    if (!shape->known && options->samples > 0) {
        *end = MLDF_NONE;
        if (automatic)
            *page_size = *begin = MLDF_NONE;
        return MLDF_OK;
    }
    mldf_status status = place_all(shape, options->samples, *page_size, end, err);
    uint64_t payloads;
    if (!mldfi_mul_u64(options->samples, shape->count, &payloads))
        payloads = UINT64_MAX;
    if (status < 0 || !automatic || !mldfi_wants_large_pages(*end - *begin, payloads))
        return status;
    *page_size = FORMAT_AUTO_PAGE;
    *begin = *end = first_page(schema->field_count, *page_size);
    return place_all(shape, options->samples, *page_size, end, err);
}

/* ---- Regions ------------------------------------------------------------------------------------------------------- */

struct region_list {
    mldf_region *regions;
    size_t count;
    uint64_t at; /* MLDF_NONE: not known from here on */
    bool overflow;
    uint64_t *bytes; /* of each region, or NULL */
};

static void add_at(struct region_list *list, const char *name, uint64_t begin, uint64_t end) {
    mldf_region *region = &list->regions[list->count++];
    region->name = name;
    region->begin = begin;
    region->end = end;
    if (list->bytes)
        list->bytes[list->count - 1] = begin != MLDF_NONE && end != MLDF_NONE ? end - begin : MLDF_NONE;
}

/* A region that begins at the next multiple of `align`. */
static void add(struct region_list *list, const char *name, uint64_t align, uint64_t bytes) {
    uint64_t begin = list->at == MLDF_NONE ? MLDF_NONE : mldfi_align_up(list->at, align), end = MLDF_NONE;
    if (begin != MLDF_NONE && bytes != MLDF_NONE)
        list->overflow |= !mldfi_add_u64(begin, bytes, &end) || end > UINT64_C(1) << 62;
    if (list->overflow)
        end = MLDF_NONE;
    add_at(list, name, begin, end);
    if (list->bytes)
        list->bytes[list->count - 1] = bytes;
    list->at = end;
}

static uint64_t times(struct region_list *list, uint64_t a, uint64_t b) {
    uint64_t product;
    if (!mldfi_mul_u64(a, b, &product) || product > UINT64_C(1) << 62) {
        list->overflow = true;
        return MLDF_NONE;
    }
    return product;
}

static uint64_t long_argument_bytes(const mldf_schema *schema) {
    uint64_t count = 0, text = 0;
    for (size_t i = 0; i < schema->field_count; i++) {
        struct descriptor descriptor;
        bool is_long = false;
        mldfi_schema_descriptor(schema, i, &descriptor, &is_long);
        if (is_long) {
            count++;
            text += strlen(schema->fields[i].info.arguments);
        }
    }
    return count ? 8 + 24 * count + text : 0;
}

static void add_sections(struct region_list *list, const mldf_schema *schema, const mldf_plan_options *options,
                         uint64_t row_table, uint64_t allocation_table, uint64_t pages) {
    size_t before = list->count;
    uint64_t blocks = MLDF_NONE, n = options->samples, long_arguments = long_argument_bytes(schema);
    if (allocation_table != MLDF_NONE)
        blocks = mldfi_crc_blocks((uint64_t)FORMAT_DESCRIPTOR_BYTES * schema->field_count) +
                 mldfi_crc_blocks(row_table) + mldfi_crc_blocks(allocation_table);
    uint64_t crcs = options->no_checksums ? 0 : blocks == MLDF_NONE ? MLDF_NONE : 4 * blocks;
    add(list, mldfi_section_name(SECTION_TABLES), 8, crcs == MLDF_NONE ? MLDF_NONE : FORMAT_TABLES_BYTES + crcs);
    if (!options->no_checksums && schema->payload_count)
        add(list, mldfi_section_name(SECTION_CHECKS), 8, times(list, n, 4 * schema->payload_count));
    if (schema->nullable_count)
        add(list, mldfi_section_name(SECTION_VALIDITY), 8,
            times(list, mldfi_align_up((n + 7) / 8, 8), schema->nullable_count));
    if (schema->payload_count)
        add(list, mldfi_section_name(SECTION_PAGE_MAP), 8, pages == MLDF_NONE ? MLDF_NONE : times(list, pages, 8));
    if (long_arguments)
        add(list, mldfi_section_name(SECTION_LONG_ARGUMENTS), 8, long_arguments);
    add(list, mldfi_section_name(SECTION_STATS), 8, (uint64_t)FORMAT_STATS_BYTES * schema->field_count);
    size_t sections = list->count - before;
    add(list, "directory", 8, FORMAT_DIRECTORY_HEAD_BYTES + FORMAT_DIRECTORY_ENTRY_BYTES * sections);
    add(list, "footer", 8, FORMAT_FOOTER_BYTES);
}

static mldf_status plan_regions(const mldf_schema *schema, const mldf_plan_options *options,
                                const struct sample_shape *shape, struct region_list *list, mldf_error *err) {
    uint64_t page_size, begin, end, pages = MLDF_NONE;
    uint64_t descriptors = (uint64_t)FORMAT_DESCRIPTOR_BYTES * schema->field_count;
    TRY(plan_data(schema, options, shape, &page_size, &begin, &end, err));
    add_at(list, "magic", 0, FORMAT_MAGIC_BYTES);
    add_at(list, "header", FORMAT_HEADER_OFFSET, FORMAT_PREFIX_BYTES);
    add_at(list, "descriptors", FORMAT_DESCRIPTOR_OFFSET, FORMAT_DESCRIPTOR_OFFSET + descriptors);
    add_at(list, "data", begin, end);
    if (end != MLDF_NONE)
        pages = (mldfi_align_up(end, 64) - begin + page_size - 1) / page_size;
    uint64_t rows = times(list, options->samples, schema->row_bytes);
    uint64_t allocations =
        shape->known ? times(list, options->samples, (uint64_t)FORMAT_ALLOCATION_BYTES * shape->count) : MLDF_NONE;
    if (!shape->known && options->samples == 0)
        allocations = 0;
    list->at = end;
    add(list, "metadata", 64, rows);
    add(list, "allocation", 64, allocations);
    add_sections(list, schema, options, rows, allocations, pages);
    if (list->overflow)
        return mldfi_fail(err, MLDF_E_LIMIT, "the file would pass 2^62 bytes");
    return MLDF_OK;
}

/* The bytes of all payloads, one after the other, or MLDF_NONE. */
static uint64_t all_payloads(struct region_list *list, const struct sample_shape *shape, uint64_t samples) {
    uint64_t sum = 0;
    for (size_t i = 0; shape->known && i < shape->count; i++)
        list->overflow |= !mldfi_add_u64(sum, shape->payloads[i].bytes, &sum);
    return shape->known || samples == 0 ? times(list, sum, samples) : MLDF_NONE;
}

/* The draft, version 1.0: rows before data, whose first page follows them. Its writers put payloads one after the other. */
static void plan_draft(const mldf_schema *schema, const mldf_plan_options *options, const struct sample_shape *shape,
                       struct region_list *list) {
    uint64_t page = options->page_size ? options->page_size : FORMAT_AUTO_PAGE;
    add_at(list, "magic", 0, FORMAT_MAGIC_BYTES);
    add_at(list, "header", FORMAT_HEADER_OFFSET, FORMAT_PREFIX_BYTES);
    list->at = FORMAT_DESCRIPTOR_OFFSET;
    add(list, "descriptors", 1, (uint64_t)FORMAT_DESCRIPTOR_BYTES * schema->field_count);
    add(list, "metadata", 1, times(list, options->samples, schema->row_bytes));
    add(list, "data", page, all_payloads(list, shape, options->samples));
    uint64_t entries = times(list, options->samples, (uint64_t)FORMAT_ALLOCATION_BYTES * shape->count);
    add(list, "allocation", 1, shape->known || options->samples == 0 ? entries : MLDF_NONE);
}

/* Another format: its writer says which fields become what, and where that goes. */
static mldf_status plan_other(const mldf_schema *schema, const mldf_plan_options *options, struct region_list *list,
                              mldf_error *err) {
    bool beton = strcmp(options->layout, "beton") == 0;
    mldf_writer_options writer = MLDF_WRITER_OPTIONS_INIT;
    struct sink_options writing = {
        .format = beton ? "beton" : "tbl2", .schema = schema, .count = options->samples, .writer = &writer};
    struct planned_region regions[SINK_REGIONS];
    size_t count = 0;
    uint64_t *bytes = mldfi_alloc_zero(schema->field_count, sizeof *bytes, err);
    if (!bytes)
        return MLDF_E_MEMORY;
    writer.page_size = options->page_size;
    for (size_t i = 0; i < schema->field_count; i++)
        bytes[i] = value_bytes(&schema->fields[i], options->payload_bytes ? options->payload_bytes[i] : MLDF_NONE);
    mldf_status status = beton ? mldfi_sink_plan_beton(&writing, bytes, regions, &count, err)
                               : mldfi_sink_plan_tbl(&writing, bytes, regions, &count, err);
    for (size_t i = 0; i < count; i++)
        add(list, regions[i].name, regions[i].align, regions[i].bytes);
    free(bytes);
    return status;
}

static mldf_status plan_layout(const mldf_schema *schema, const mldf_plan_options *options,
                               const struct sample_shape *shape, struct region_list *list, mldf_error *err) {
    mldf_status status = MLDF_OK;
    if (!options->layout || strcmp(options->layout, "mldf") == 0)
        return plan_regions(schema, options, shape, list, err);
    if (strcmp(options->layout, "1.0") == 0)
        plan_draft(schema, options, shape, list);
    else if (strcmp(options->layout, "tbl") == 0 || strcmp(options->layout, "beton") == 0)
        status = plan_other(schema, options, list, err);
    else
        return mldfi_fail(err, MLDF_E_ARGUMENT, "a layout named '%.20s'; mldf, 1.0, tbl and beton can be planned",
                          options->layout);
    if (status < 0)
        return status;
    return list->overflow ? mldfi_fail(err, MLDF_E_LIMIT, "the file would pass 2^62 bytes") : MLDF_OK;
}

mldf_status mldf_plan(const mldf_schema *schema, const mldf_plan_options *given, mldf_region *regions,
                      size_t *region_count, mldf_error *err) {
    mldf_plan_options own = MLDF_PLAN_OPTIONS_INIT;
    const mldf_plan_options *options = &own;
    struct sample_shape shape = {NULL, 0, false};
    struct region_list list = {regions, 0, 0, false, NULL};
    if (!schema || !regions || !region_count)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "plan needs a schema and room for regions");
    TRY(mldfi_take_options(&own, sizeof own, "mldf_plan_options", given, err));
    *region_count = 0;
    uint64_t page = options->page_size;
    if (page && (!mldfi_is_power_of_two(page) || page < FORMAT_MIN_PAGE || page > FORMAT_MAX_PAGE))
        return mldfi_fail(err, MLDF_E_ARGUMENT,
                          "a page size of %llu bytes; it must be a power of two from 4096 to 2^31",
                          (unsigned long long)page);
    if (schema->field_count == 0)
        return mldfi_fail(err, MLDF_E_SCHEMA, "the schema has no fields");
    mldf_status status = shape_sample(schema, options->payload_bytes, &shape, err);
    list.bytes = options->region_bytes;
    if (status == MLDF_OK)
        status = plan_layout(schema, options, &shape, &list, err);
    free(shape.payloads);
    if (status == MLDF_OK)
        *region_count = list.count;
    return status;
}
