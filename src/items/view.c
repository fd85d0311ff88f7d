/* Views: made of a text and readers, and what they tell. items.h says who does what. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "field/tokens.h"
#include "field/type.h"
#include "items/pow2.h"
#include "items/steps.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

__extension__ typedef unsigned __int128 wide;
#define NANO UINT64_C(1000000000)
#define STEPS_MAX 0x1p40
#define SECONDS_MAX 1e6
#define COUNT_LIMIT ((wide)1 << 62)

/* ---- Lengths ---------------------------------------------------------------------------------------------------------------- */

uint64_t mldfi_item_nanos(double seconds) {
    return (uint64_t)(seconds * (double)NANO + 0.5);
}

uint64_t mldfi_item_steps(uint64_t k, uint64_t nanos, uint32_t rate) {
    wide whole = (wide)k * nanos,
         out; /* k and nanos are below 2^62 and 2^50: the product fits, that with the rate may not */
    if (whole > ((wide)1 << 94))
        return MLDF_NONE;
    out = (2 * whole * rate + NANO) / (2 * (wide)NANO);
    return out > COUNT_LIMIT ? MLDF_NONE : (uint64_t)out;
}

uint64_t mldfi_item_length(double number, bool seconds, uint32_t rate) {
    return seconds ? mldfi_item_steps(1, mldfi_item_nanos(number), rate) : (uint64_t)number;
}

/* Are its values stored media in time, each with a rate? */
static bool has_rate(const mldf_view *view) {
    const struct schema_field *f = &view->readers[0]->schema->fields[view->fields[0]];
    struct edge edge = {0};
    return f->type->edge(f, NULL, &edge, NULL) >= 0 && edge.kind == VALUE_ENCODED && edge.axes[0] == 't' &&
           !edge.timed; /* frames of a video are counted: each has a time of its own */
}

mldf_status mldfi_view_unit(mldf_view *view, struct item_arg *unit, bool *seconds, mldf_error *err) {
    bool rate = has_rate(view);
    if (unit->number == UNIT_SECONDS && !rate)
        return mldfi_fail(err, MLDF_E_ARGUMENT,
                          "view %s: field %s has no rate, so its lengths are elements: unit=steps", view->map->name,
                          view->field);
    if (unit->number == UNIT_AUTO)
        unit->number = rate ? UNIT_SECONDS : UNIT_STEPS;
    *seconds = unit->number == UNIT_SECONDS;
    return MLDF_OK;
}

mldf_status mldfi_view_check_length(const char *name, double number, bool seconds, mldf_error *err) {
    if (seconds && !(number >= 1e-9 && number <= SECONDS_MAX))
        return mldfi_fail(err, MLDF_E_ARGUMENT, "%s is %g seconds; 1e-9 to 1e6 can be asked for", name, number);
    if (!seconds && !(number >= 1 && number <= STEPS_MAX && number == (double)(uint64_t)number))
        return mldfi_fail(err, MLDF_E_ARGUMENT, "%s is %g; a whole number of elements from 1 to 2^40 is wanted", name,
                          number);
    return MLDF_OK;
}

void mldfi_view_set_length(struct edge *edge, double number, bool seconds, bool exact) {
    bool known = !seconds || (edge->rate.den == 1 && edge->rate.num <= UINT32_MAX);
    uint64_t steps = known ? mldfi_item_length(number, seconds, (uint32_t)edge->rate.num) : MLDF_NONE;
    edge->dims[0] = exact && known ? (int64_t)steps : DIM_VARIES;
    if (exact || edge->most[0] > steps)
        edge->most[0] = steps;
    edge->seconds = (struct ratio){0, 0};
    if (exact && seconds)
        edge->seconds = (struct ratio){mldfi_item_nanos(number), NANO};
}

/* ---- New and free ------------------------------------------------------------------------------------------------------------ */

static mldf_status take_readers(mldf_view *view, const mldf_reader *const *readers, size_t count, mldf_error *err) {
    view->readers = mldfi_alloc_zero(count, sizeof *view->readers, err);
    view->first_row = mldfi_alloc_zero(count + 1, sizeof *view->first_row, err);
    view->first_item = mldfi_alloc_zero(count + 1, sizeof *view->first_item, err);
    view->fields = mldfi_alloc_zero(count, sizeof *view->fields, err);
    if (!view->readers || !view->first_row || !view->first_item || !view->fields)
        return MLDF_E_MEMORY;
    view->reader_count = count;
    for (size_t i = 0; i < count; i++) {
        if (!readers[i])
            return mldfi_fail(err, MLDF_E_ARGUMENT, "reader %zu is NULL", i);
        view->readers[i] = readers[i];
        if (!mldfi_add_u64(view->first_row[i], mldf_reader_sample_count(readers[i]), &view->first_row[i + 1]))
            return mldfi_fail(err, MLDF_E_LIMIT, "the readers have more samples than can be counted");
    }
    return MLDF_OK;
}

/* The rows that the view is of: each once, ascending. */
static mldf_status choose_rows(mldf_view *view, const uint64_t *rows, uint64_t count, mldf_error *err) {
    uint64_t all = view->first_row[view->reader_count];
    if (view->map != &mldfi_view_packed && view->map != &mldfi_view_pow2)
        return mldfi_fail(err, MLDF_E_ARGUMENT,
                          "view %s: it is made of all rows; an order chooses the items of some (mldf_view_items)",
                          view->map->name);
    for (uint64_t i = 0; i < count; i++)
        if (rows[i] >= all || (i && rows[i] <= rows[i - 1]))
            return mldfi_fail(err, MLDF_E_ARGUMENT,
                              "view %s: row %" PRIu64 " at place %" PRIu64 "; rows below %" PRIu64
                              " are needed, ascending, each once",
                              view->map->name, rows[i], i, all);
    view->rows = rows;
    view->row_count = count;
    return MLDF_OK;
}

/* The field that is cut, in every reader. */
static mldf_status bind(mldf_view *view, mldf_error *err) {
    for (size_t i = 0; i < view->reader_count; i++) {
        const mldf_schema *schema = mldf_reader_schema(view->readers[i]);
        mldf_status status = mldf_schema_find(schema, view->field, &view->fields[i], err);
        if (status >= 0) {
            const struct schema_field *f = &schema->fields[view->fields[i]];
            struct edge edge = {0};
            if (view->map->parts && f->type == &mldfi_type_multimodal && mldfi_packed_is_parts(view))
                continue; /* view_packed.c looks at the kinds of its parts */
            if (!f->type || !f->type->steps || !f->type->edge || f->type->edge(f, NULL, &edge, NULL) < 0 ||
                edge.ndim == 0)
                status = mldfi_fail(err, MLDF_E_TYPE,
                                    "view %s: field %s is %s %s; arrays of one dimension or more and recordings "
                                    "can be cut",
                                    view->map->name, view->field, f->info.type_name, f->info.arguments);
            else
                status = mldfi_tokens_agree(&view->readers[0]->schema->fields[view->fields[0]], f, err);
        }
        if (status < 0) {
            mldfi_error_place(err, MLDF_NONE, view->field);
            return mldfi_reader_name_error(view->readers[i], err, status);
        }
    }
    return MLDF_OK;
}

/* The rows' hash is there; what was asked of them, and what came of it. */
static mldf_status finish_digest(mldf_view *view, mldf_error *err) {
    uint8_t both[16 + 8 + 16];
    XXH128_canonical_t text;
    char *asked = NULL;
    TRY(mldfi_view_write(view, false, &asked, err));
    XXH128_canonicalFromHash(&text, XXH3_128bits(asked, strlen(asked)));
    free(asked);
    memcpy(both, view->digest, 16);
    mldfi_store_u64(both + 16, (uint64_t)view->map->version << 56 ^ view->first_item[view->reader_count]);
    memcpy(both + 24, text.digest, 16);
    XXH128_canonicalFromHash(&text, XXH3_128bits(both, sizeof both));
    memcpy(view->digest, text.digest, sizeof view->digest);
    return MLDF_OK;
}

static mldf_status build(mldf_view *view, const mldf_reader *const *readers, size_t count, const char *text,
                         const uint64_t *rows, uint64_t row_count, mldf_error *err) {
    mldf_status status = mldfi_view_parse(view, text, err);
    if (status >= 0)
        status = take_readers(view, readers, count, err);
    if (status >= 0 && rows)
        status = choose_rows(view, rows, row_count, err);
    if (status >= 0 && view->map->cuts)
        status = bind(view, err);
    if (status >= 0)
        status = view->map->open(view, err);
    if (status >= 0)
        status = mldfi_view_write(view, true, &view->text, err);
    return status < 0 ? status : finish_digest(view, err);
}

mldf_status mldf_view_new(const mldf_reader *const *readers, size_t reader_count, const char *text, mldf_view **out,
                          mldf_error *err) {
    return mldf_view_new_of(readers, reader_count, text, NULL, 0, out, err);
}

mldf_status mldf_view_new_of(const mldf_reader *const *readers, size_t reader_count, const char *text,
                             const uint64_t *rows, uint64_t row_count, mldf_view **out, mldf_error *err) {
    if (!readers || reader_count == 0 || reader_count > UINT32_MAX || !text || !out)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "a new view needs readers, a text and a place for it");
    mldf_view *view = mldfi_alloc_zero(1, sizeof *view, err);
    if (!view)
        return MLDF_E_MEMORY;
    mldf_status status = build(view, readers, reader_count, text, rows, row_count, err);
    if (status < 0) {
        mldf_view_free(view);
        return status;
    }
    *out = view;
    return MLDF_OK;
}

void mldf_view_free(mldf_view *view) {
    if (!view)
        return;
    if (view->map && view->map->free)
        view->map->free(view);
    mldf_schema_free(view->schema);
    mldfi_row_table_free(&view->table);
    for (size_t i = 0; i < ITEM_PARAMS; i++)
        free(view->args[i].name);
    free(view->readers);
    free(view->first_row);
    free(view->first_item);
    free(view->fields);
    free(view->text);
    free(view->field);
    free(view);
}

/* ---- What it tells -------------------------------------------------------------------------------------------------------------- */

uint64_t mldf_view_count(const mldf_view *view) {
    return view->first_item[view->reader_count];
}

uint64_t mldf_view_count_of(const mldf_view *view, size_t reader) {
    return reader < view->reader_count ? view->first_item[reader + 1] - view->first_item[reader] : 0;
}

uint64_t mldf_view_length(const mldf_view *view) {
    struct edge edge = {.ndim = 1, .dims = {DIM_VARIES}, .most = {MLDF_NONE}};
    if (!view->map->cuts)
        return 0;
    if (view->table.same.rate && !view->table.rates)
        edge.rate = (struct ratio){view->table.same.rate, 1};
    view->map->edge(view, &edge);
    return edge.dims[0] > 0 ? (uint64_t)edge.dims[0] : 0;
}

const char *mldf_view_text(const mldf_view *view) {
    return view->text;
}

const mldf_schema *mldf_view_schema(const mldf_view *view) {
    return view->schema ? view->schema : mldf_reader_schema(view->readers[0]);
}

bool mldf_view_makes_fields(const mldf_view *view) {
    return view->schema != NULL;
}

bool mldf_view_field_is_default(const mldf_view *view, size_t field) {
    return !view->schema || mldfi_item_is_default(view, field);
}

const char *mldf_view_field(const mldf_view *view) {
    return view->field ? view->field : "";
}

const char *mldf_view_along(const mldf_view *view) {
    return view->map->along ? view->map->along(view) : "";
}

void mldf_view_digest(const mldf_view *view, uint8_t digest[16]) {
    memcpy(digest, view->digest, 16);
}

void mldf_view_rows(const mldf_view *view, uint64_t *rows, uint64_t *without_items, uint64_t *unmeasured) {
    *rows = view->first_row[view->reader_count];
    *without_items = view->empty_rows;
    *unmeasured = view->odd_rows;
}

uint32_t mldfi_view_reader_of(const mldf_view *view, uint64_t *row) {
    size_t low = 0, high = view->reader_count; /* first_row[low] <= row < first_row[high] */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (view->first_row[middle] <= *row)
            low = middle;
        else
            high = middle;
    }
    *row -= view->first_row[low];
    return (uint32_t)low;
}

struct row_steps mldfi_view_locate_row(const mldf_view *view, struct item_place *out, uint64_t *within) {
    out->row = mldfi_row_table_find(&view->table, out->item, within);
    struct row_steps row = mldfi_row_table_steps(&view->table, out->row);
    out->reader = mldfi_view_reader_of(view, &out->row);
    out->odd = row.steps == MLDF_NONE;
    return row;
}

void mldfi_view_row_items(const mldf_view *view, uint64_t row, uint64_t *first, uint64_t *count) {
    *first = mldfi_row_table_first(&view->table, row);
    *count = mldfi_row_table_end(&view->table, row) - *first;
}

uint64_t mldfi_view_row_steps(const mldf_view *view, uint32_t reader, uint64_t row) {
    return view->map->cuts ? mldfi_row_table_steps(&view->table, view->first_row[reader] + row).steps : MLDF_NONE;
}

void mldfi_view_place(const mldf_view *view, uint64_t item, uint64_t draw, uint64_t epoch, struct item_place *out) {
    *out = (struct item_place){.item = item, .draw = draw, .epoch = epoch};
    view->map->locate(view, out);
}

static mldf_status check_item(const mldf_view *view, uint64_t item, mldf_error *err) {
    if (!view)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "no view was given");
    if (item < mldf_view_count(view))
        return MLDF_OK;
    return mldfi_fail(err, MLDF_E_NO_SAMPLE, "no item %" PRIu64 ": the view %s has %" PRIu64, item, view->text,
                      mldf_view_count(view));
}

mldf_status mldf_view_locate(const mldf_view *view, uint64_t item, uint64_t draw, mldf_piece *pieces, size_t room,
                             size_t *count, mldf_error *err) {
    struct item_place place;
    TRY(check_item(view, item, err));
    if ((!pieces && room) || !count)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "locate needs a place for the pieces and for their number");
    mldfi_view_place(view, item, draw, 0, &place);
    mldf_piece piece = {place.reader, place.row, place.from, place.have};
    size_t found = 0;
    do {
        if (found < room)
            pieces[found] = piece;
        found++;
    } while (place.several && view->map->piece(view, &place, found, &piece));
    *count = found;
    return MLDF_OK;
}

mldf_status mldf_view_items(const mldf_view *view, uint64_t row, uint64_t *first, uint64_t *count, mldf_error *err) {
    if (!view || !first || !count)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "the items of a row need a view and places for two numbers");
    if (row >= view->first_row[view->reader_count])
        return mldfi_fail(err, MLDF_E_NO_SAMPLE, "no row %" PRIu64 ": there are %" PRIu64, row,
                          view->first_row[view->reader_count]);
    if (!view->map->items)
        return mldfi_fail(err, MLDF_E_UNSUPPORTED,
                          "view %s: an item has pieces of many rows, and a row may be in several items: "
                          "mldf_view_find names them",
                          view->map->name);
    view->map->items(view, row, first, count);
    return MLDF_OK;
}

mldf_status mldf_view_find(const mldf_view *view, uint64_t row, uint64_t *items, size_t room, size_t *count,
                           mldf_error *err) {
    if (!view || !count || (!items && room))
        return mldfi_fail(err, MLDF_E_ARGUMENT, "finding a row needs a view and places for items and their number");
    *count = 0;
    if (row >= view->first_row[view->reader_count])
        return mldfi_fail(err, MLDF_E_NO_SAMPLE, "no row %" PRIu64 ": there are %" PRIu64, row,
                          view->first_row[view->reader_count]);
    const struct packed *documents = view->packed;
    if (view->pow2)
        documents = &view->pow2->documents;
    if (view->pow2 && documents->first_of_row)
        *count = view->map->find(view, documents->first_of_row[row], documents->first_of_row[row + 1], items, room);
    else if (view->packed && view->packed->first_of_row)
        *count = mldfi_packed_find(view, view->packed->first_of_row[row], view->packed->first_of_row[row + 1], 0, items,
                                   room);
    else
        *count = mldfi_view_find_document(view, row, 0, items, room);
    return MLDF_OK;
}

uint64_t mldfi_view_documents(const mldf_view *view) {
    if (view->pow2)
        return view->pow2->count;
    return view->packed && !view->packed->parts ? view->packed->first_document[view->packed->plan_count]
                                                : view->first_row[view->reader_count];
}

size_t mldfi_view_find_document(const mldf_view *view, uint64_t document, uint64_t epoch, uint64_t *items,
                                size_t room) {
    uint64_t first, count = 0;
    if (view->packed && view->packed->parts)
        return mldfi_packed_find(view, view->packed->first_of_row[document], view->packed->first_of_row[document + 1],
                                 epoch, items, room);
    if (view->packed)
        return mldfi_packed_find(view, document, document + 1, epoch, items, room);
    if (view->map->find)
        return view->map->find(view, document, document + 1, items, room);
    view->map->items(view, document, &first, &count);
    for (uint64_t i = 0; i < count && i < room; i++)
        items[i] = first + i;
    return (size_t)count;
}

mldf_status mldf_view_get(const mldf_view *view, uint64_t item, uint64_t draw, size_t field, mldf_buffer *scratch,
                          mldf_value *out, mldf_error *err) {
    struct item_place place;
    struct item_cache cache = {0};
    mldf_status status = check_item(view, item, err);
    if (status >= 0 && (!scratch || !out))
        status = mldfi_fail(err, MLDF_E_ARGUMENT, "getting a value needs a scratch buffer and a place for the value");
    if (status < 0)
        return status;
    const mldf_schema *schema = mldf_view_schema(view);
    if (field >= mldf_schema_field_count(schema))
        return view->schema ? mldfi_fail(err, MLDF_E_NO_FIELD, "no field %zu: an item has %zu", field,
                                         mldf_schema_field_count(schema))
                            : mldfi_reader_no_field(view->readers[0], field, err);
    const char *name = schema->fields[field].name;
    mldfi_view_place(view, item, draw, 0, &place);
    if (view->schema) {
        status = mldfi_item_computed(view, view->readers, &place, field, false, &cache, scratch, out, err);
        mldfi_item_cache_free(&cache);
        return status;
    }
    const mldf_reader *reader = view->readers[place.reader];
    if (mldfi_view_mode(view, name) == ITEM_CUT) {
        status = mldfi_item_value(view, view->readers, &place, false, &cache, scratch, out, err);
        mldfi_item_cache_free(&cache);
        return status;
    }
    if (mldfi_view_mode(view, name) == ITEM_STACK) {
        status = mldfi_steps_value(view, view->readers, &place, mldfi_steps_find(view, name), false, &cache, scratch,
                                   out, err);
        mldfi_item_cache_free(&cache);
        return status;
    }
    status = mldf_schema_find(mldf_reader_schema(reader), name, &field, err);
    if (status >= 0 && mldfi_view_mode(view, name) == ITEM_ELEMENT) {
        status = mldfi_item_element(reader, field, &place, &cache.aside, scratch, out, err);
        mldfi_item_cache_free(&cache);
        return status;
    }
    return status < 0 ? status : mldf_reader_get(reader, place.row, field, scratch, out, err);
}
