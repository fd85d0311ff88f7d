/* segments(field, by=segments): the parts of a recording that a field of its row names, or the paragraphs or sentences of hierarchical text.
 *
 *   row    audio     |------------------ n samples ------------------|
 *          segments  [[b0, e0], [b1, e1], ...]        int64 of shape (k, 2): [begin, end) in samples; they may overlap, in any order
 *   items            one for each segment: audio[b:e]; fields along="segments" give their k-th entry, the segments [b, e], others the row's value
 *
 * Of a text_hierarchical field by=paragraphs and by=sentences are its own levels: their tables alone are read, and an item is a paragraph's or sentence's
 * tokens.
 * The segments of all rows are read once, when the view is made: 16 bytes for each. Rows may share a payload, so a small file could name any number
 * of them: together they may have 1 GiB, or as many bytes as the files where that is more. A segment that passes the end of its recording is an item that is
 * a bad sample; so is a row whose segments cannot be read. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "field/along.h"
#include "items/items.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

enum { BY };
static const struct item_param params[] = {{"by", ITEM_NAME, NULL, .needed = false}, {0}};

struct segment {
    uint64_t begin, end; /* begin > end: could not be read */
};
struct segment_table {
    uint64_t *first; /* rows + 1: items in front of each row */
    struct segment *items;
    size_t count, capacity, most;
    uint64_t longest;
    bool levels; /* paragraphs or sentences of the field itself: no column names them */
};
#define TABLE_ALWAYS (UINT64_C(1) << 30)

static uint64_t one(const mldf_view *view, struct row_steps row) {
    (void)view, (void)row;
    return 1;
}

static void free_segments(mldf_view *view) {
    if (view->segments) {
        free(view->segments->first);
        free(view->segments->items);
    }
    free(view->segments);
    view->segments = NULL;
}

static mldf_status add(struct segment_table *t, struct segment item, mldf_error *err) {
    if (t->count >= t->most)
        return mldfi_fail(err, MLDF_E_LIMIT, "view segments: more than %zu segments in files of that size", t->most);
    TRY(mldfi_array_reserve(&t->items, &t->capacity, t->count + 1, sizeof *t->items, err));
    t->items[t->count++] = item;
    if (item.begin <= item.end && item.end - item.begin > t->longest)
        t->longest = item.end - item.begin;
    return MLDF_OK;
}

/* A level of the view's field, if `by` is one. Files differ in types, so each is asked. */
static bool find_level(const mldf_view *view, size_t reader, struct field_part *out) {
    const struct schema_field *f = &view->readers[reader]->schema->fields[view->fields[reader]];
    if (f->info.type_id != MLDF_TEXT_HIERARCHICAL || !f->type)
        return false;
    for (size_t i = 0; f->type->part(f, i, out, NULL) == MLDF_OK; i++)
        if (strcmp(out->name, view->args[BY].name) == 0)
            return true;
    return false;
}

/* Is it of the row, not of the machine? */
static bool is_bad_row(mldf_status status) {
    return status <= MLDF_E_MAGIC || status == MLDF_E_LIMIT || status == MLDF_E_UNSUPPORTED;
}

/* The paragraphs or sentences of one row, from their table alone. */
static mldf_status add_levels(mldf_view *view, const mldf_reader *reader, size_t field, const struct field_part *level,
                              uint64_t row, mldf_buffer *scratch, mldf_buffer *ends, mldf_error *err) {
    const struct schema_field *f = &reader->schema->fields[field];
    uint8_t record[PART_RECORD_MAX];
    mldf_value value, part = {0};
    uint64_t offset = 0, bytes = 0, before = 0;
    mldf_status status = mldfi_reader_record(reader, row, field, scratch, &value, err);
    if (status >= 0 && (value.kind != MLDF_KIND_ARRAY || !value.record))
        return MLDF_OK;
    if (status >= 0) {
        memcpy(record, value.record, f->info.record_bytes);
        bytes = f->type->part_table(f, level, record, &offset);
        status = bytes ? mldf_reader_get_range(reader, row, field, offset, bytes, scratch, &part, err) : MLDF_OK;
    }
    ends->size = 0;
    if (status >= 0)
        status = f->type->part_column(f, level, record, value.bytes, part.data, ends, err);
    if (is_bad_row(status))
        return add(view->segments, (struct segment){1, 0}, err);
    for (size_t i = 0; i < ends->size && status >= 0; i += 8) {
        uint64_t end = mldfi_load_u64(ends->data + i);
        status = add(view->segments, (struct segment){before, end}, err);
        before = end;
    }
    return status;
}

/* The segments of one row; a null has none. */
static mldf_status add_row(mldf_view *view, const mldf_reader *reader, size_t field, uint64_t row, mldf_buffer *scratch,
                           mldf_error *err) {
    mldf_value value;
    mldf_status status = mldf_reader_get(reader, row, field, scratch, &value, err);
    if (is_bad_row(status))
        return add(view->segments, (struct segment){1, 0}, err);
    uint64_t count = status >= 0 && value.kind == MLDF_KIND_ARRAY ? value.bytes / 16 : 0;
    const uint8_t *at = value.data;
    for (uint64_t i = 0; i < count && status >= 0; i++, at += 16) {
        struct segment item = {mldfi_load_u64(at), mldfi_load_u64(at + 8)};
        if (item.begin > INT64_MAX || item.end > INT64_MAX) /* below 0 */
            item = (struct segment){1, 0};
        status = add(view->segments, item, err);
    }
    return status;
}

static mldf_status find_column(const mldf_view *view, size_t reader, size_t *out, mldf_error *err) {
    const mldf_schema *schema = mldf_reader_schema(view->readers[reader]);
    const char *name = view->args[BY].name;
    mldf_status status = mldf_schema_find(schema, name, out, err);
    if (status >= 0 && !mldfi_is_segments(&schema->fields[*out]))
        status =
            mldfi_fail(err, MLDF_E_TYPE,
                       "view segments: field %s is %s %s; begin and end of each segment are int64 of shape [null,2]",
                       name, schema->fields[*out].info.type_name, schema->fields[*out].info.arguments);
    if (status >= 0)
        return status;
    mldfi_error_place(err, MLDF_NONE, name);
    return mldfi_reader_name_error(view->readers[reader], err, status);
}

static mldf_status read_segments(mldf_view *view, mldf_error *err) {
    struct segment_table *t = view->segments;
    mldf_buffer scratch = MLDF_BUFFER_INIT, ends = MLDF_BUFFER_INIT;
    uint64_t at = 0, bytes = 0;
    mldf_status status = MLDF_OK;
    for (size_t r = 0; r < view->reader_count; r++)
        bytes += view->readers[r]->physical_bytes;
    t->most = (size_t)((bytes > TABLE_ALWAYS ? bytes : TABLE_ALWAYS) / sizeof *t->items);
    for (size_t r = 0; r < view->reader_count && status >= 0; r++) {
        uint64_t rows = view->first_row[r + 1] - view->first_row[r];
        size_t field = view->fields[r];
        struct field_part level;
        bool levels = find_level(view, r, &level);
        t->levels = t->levels || levels;
        if (!levels)
            status = find_column(view, r, &field, err);
        for (uint64_t i = 0; i < rows && status >= 0; i++, at++) {
            t->first[at] = t->count;
            status = levels ? add_levels(view, view->readers[r], field, &level, i, &scratch, &ends, err)
                            : add_row(view, view->readers[r], field, i, &scratch, err);
            view->empty_rows += t->count == t->first[at];
        }
        view->first_item[r + 1] = t->count;
    }
    t->first[at] = t->count;
    mldf_buffer_free(&scratch);
    mldf_buffer_free(&ends);
    return status;
}

static mldf_status open_segments(mldf_view *view, mldf_error *err) {
    uint64_t rows = view->first_row[view->reader_count];
    if (!view->args[BY].name && !(view->args[BY].name = mldfi_copy_text("segments", 8, err)))
        return MLDF_E_MEMORY;
    mldf_status status = mldfi_row_table_make(view, one, err);
    view->segments = status >= 0 ? mldfi_alloc_zero(1, sizeof *view->segments, err) : NULL;
    if (!view->segments)
        return status < 0 ? status : MLDF_E_MEMORY;
    if (rows >= SIZE_MAX / 8 ||
        !(view->segments->first = mldfi_alloc_zero((size_t)rows + 1, sizeof *view->segments->first, err)))
        return MLDF_E_MEMORY;
    status = read_segments(view, err);
    if (status >= 0) { /* the table's digest is of the recordings' lengths */
        XXH128_canonical_t sum;
        uint8_t both[32];
        XXH128_canonicalFromHash(
            &sum, XXH3_128bits(view->segments->items, view->segments->count * sizeof *view->segments->items));
        memcpy(both, view->digest, 16);
        memcpy(both + 16, sum.digest, 16);
        XXH128_canonicalFromHash(&sum, XXH3_128bits(both, sizeof both));
        memcpy(view->digest, sum.digest, 16);
    }
    return status;
}

/* The row, of all readers, that an item is of. */
static uint64_t row_of(const struct segment_table *t, uint64_t rows, uint64_t item) {
    uint64_t low = 0, high = rows; /* first[low] <= item < first[high] */
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (t->first[middle] <= item)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void locate(const mldf_view *view, struct item_place *out) {
    const struct segment_table *t = view->segments;
    uint64_t row = row_of(t, view->first_row[view->reader_count], out->item);
    const struct segment *item = &t->items[out->item];
    out->within = out->item - t->first[row];
    out->odd = item->begin > item->end || mldfi_row_table_steps(&view->table, row).steps == MLDF_NONE;
    out->row = row;
    out->reader = mldfi_view_reader_of(view, &out->row);
    if (out->odd)
        return;
    out->from = item->begin;
    out->have = out->steps = item->end - item->begin;
}

static void items(const mldf_view *view, uint64_t row, uint64_t *first, uint64_t *count) {
    *first = view->segments->first[row];
    *count = view->segments->first[row + 1] - *first;
}

static item_mode mode(const mldf_view *view, const char *field) {
    const mldf_schema *schema = mldf_reader_schema(view->readers[0]);
    size_t at = mldfi_schema_lookup(schema, field);
    const char *along = at == SIZE_MAX ? NULL : mldfi_along_name(&schema->fields[at]);
    if (strcmp(view->field, field) == 0)
        return ITEM_CUT;
    if (view->segments->levels)
        return ITEM_ANCHOR;
    bool entry = strcmp(view->args[BY].name, field) == 0 || (along && strcmp(along, view->args[BY].name) == 0);
    return entry ? ITEM_ELEMENT : ITEM_ANCHOR;
}

static void edge(const mldf_view *view, struct edge *out) {
    out->dims[0] = DIM_VARIES;
    if (out->most[0] > view->segments->longest)
        out->most[0] = view->segments->longest;
    out->seconds = (struct ratio){0, 0};
}

static const char *along(const mldf_view *view) {
    return view->segments->levels ? "" : view->args[BY].name;
}

const struct item_map mldfi_view_segments = {
    .name = "segments",
    .params = params,
    .cuts = true,
    .version = 1,
    .open = open_segments,
    .locate = locate,
    .items = items,
    .mode = mode,
    .edge = edge,
    .along = along,
    .free = free_segments,
};
