/* Where samples come from: several readers make one dataset, one after the other; the plan is made for the first one's fields, and each
 * other reader says where it has them. The fields of a tar archive are what its samples happen to have, so archives together have those of all, and
 * what one of them lacks is null there. With a mixture of as many parts as readers, a part is a reader. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "field/type.h"
#include "items/packed.h"
#include "items/steps.h"
#include "loader/loader.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"
#include "util/random.h"

static mldf_status add_missing(mldf_schema *schema, const mldf_schema *from, bool first, mldf_error *err) {
    for (size_t f = 0; f < mldf_schema_field_count(from); f++) {
        const mldf_field *field = mldf_schema_field(from, f);
        uint16_t flags = first ? field->flags & MLDF_FIELD_NULLABLE : MLDF_FIELD_NULLABLE;
        if (mldfi_schema_lookup(schema, field->name) != SIZE_MAX)
            continue;
        TRY(mldf_schema_add(schema, field->name, field->type_id, field->arguments, flags, err));
    }
    return MLDF_OK;
}

/* The fields of the first reader; of archives, those of all of them. */
static mldf_status unite(struct dataset *dataset, mldf_error *err) {
    dataset->schema = mldf_reader_schema(dataset->readers[0]);
    dataset->archives = dataset->count > 1;
    for (size_t r = 0; r < dataset->count && dataset->archives; r++)
        dataset->archives = strcmp(mldf_reader_format(dataset->readers[r]), "tar") == 0;
    if (!dataset->archives)
        return MLDF_OK;
    mldf_status status = mldf_schema_new(NULL, &dataset->made, err);
    for (size_t r = 0; r < dataset->count && status >= 0; r++)
        status = add_missing(dataset->made, mldf_reader_schema(dataset->readers[r]), r == 0, err);
    dataset->schema = dataset->made;
    return status;
}

mldf_status mldfi_dataset_begin(struct dataset *dataset, const mldf_reader *const *readers, size_t count,
                                mldf_error *err) {
    if (!readers || count == 0)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "a loader needs a reader");
    if (count > UINT32_MAX)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "%zu readers are too many", count);
    dataset->readers = mldfi_alloc_zero(count, sizeof *dataset->readers, err);
    dataset->first = mldfi_alloc_zero(count + 1, sizeof *dataset->first, err);
    if (!dataset->readers || !dataset->first)
        return MLDF_E_MEMORY;
    dataset->count = count;
    for (size_t i = 0; i < count; i++) {
        if (!readers[i])
            return mldfi_fail(err, MLDF_E_ARGUMENT, "reader %zu is NULL", i);
        dataset->readers[i] = readers[i];
        if (!mldfi_add_u64(dataset->first[i], mldf_reader_sample_count(readers[i]), &dataset->first[i + 1]))
            return mldfi_fail(err, MLDF_E_LIMIT, "the readers have more samples than can be counted");
    }
    mldf_status status = unite(dataset, err);
    dataset->field_count = status < 0 ? 0 : mldf_schema_field_count(dataset->schema);
    return status;
}

void mldfi_dataset_free(struct dataset *dataset) {
    free(dataset->readers);
    free(dataset->first);
    free(dataset->fields);
    free(dataset->elements);
    mldf_schema_free(dataset->made);
    memset(dataset, 0, sizeof *dataset);
}

/* ---- Fields ---------------------------------------------------------------------------------------------------------------- */

static bool same_type(const struct schema_field *one, const struct schema_field *other) {
    const mldf_field *a = &one->info, *b = &other->info;
    if (mldfi_match_by_record(one, other))
        return true;
    if (a->type_id >= MLDF_PRIVATE && strcmp(a->type_name, b->type_name) != 0)
        return false;
    if (a->type_id != b->type_id || a->dtype != b->dtype || a->ndim != b->ndim)
        return false;
    for (uint32_t i = 0; i < a->ndim; i++)
        if (a->dims[i] != b->dims[i])
            return false;
    bool parts = one->type && (one->type->part || one->type->by_arguments);
    return !parts || strcmp(a->arguments, b->arguments) == 0;
}

static enum field_way way_of(const struct dataset *dataset, size_t reader, size_t field, size_t found) {
    if (field == dataset->cut)
        return dataset->cut_in_source ? WAY_PIECE : WAY_CUT;
    if (dataset->elements && dataset->elements[field])
        return WAY_ELEMENT;
    return mldfi_reader_is_direct(dataset->readers[reader], found) ? WAY_DIRECT : WAY_READ;
}

/* A field with windows (steps), or the mask of one: false: neither. */
static bool bind_window(const struct dataset *dataset, size_t reader, size_t field, struct bound_field *bound) {
    const struct steps *steps = dataset->view ? dataset->view->steps : NULL;
    if (!steps)
        return false;
    bound->field = SIZE_MAX;
    if (field >= dataset->own_fields) {
        bound->way = WAY_PAD;
        bound->window = field - dataset->own_fields;
        return true;
    }
    bound->window = mldfi_steps_find(dataset->view, mldf_schema_field(dataset->schema, field)->name);
    if (bound->window == SIZE_MAX)
        return false;
    bound->way = WAY_STACK;
    if (steps->fields[bound->window].video) {
        bound->way = WAY_FRAMES;
        bound->field = steps->fields[bound->window].fields[reader];
        bound->of = &mldf_reader_schema(dataset->readers[reader])->fields[bound->field];
    }
    return true;
}

static mldf_status bind_field(struct dataset *dataset, size_t reader, size_t field, mldf_error *err) {
    const mldf_field *want = mldf_schema_field(dataset->schema, field);
    struct bound_field *bound = &dataset->fields[reader * dataset->field_count + field];
    size_t *found = &bound->field;
    bound->way = WAY_NONE;
    if (bind_window(dataset, reader, field, bound))
        return MLDF_OK;
    if (dataset->archives &&
        mldfi_schema_lookup(mldf_reader_schema(dataset->readers[reader]), want->name) == SIZE_MAX) {
        *found = SIZE_MAX;
        return MLDF_OK;
    }
    mldf_status status = mldf_schema_find(mldf_reader_schema(dataset->readers[reader]), want->name, found, err);
    if (status >= 0) {
        const struct schema_field *its = &mldf_reader_schema(dataset->readers[reader])->fields[*found];
        const mldf_field *have = &its->info;
        if (same_type(&dataset->schema->fields[field], its)) {
            bound->of = its;
            bound->way = way_of(dataset, reader, field, *found);
            return MLDF_OK;
        }
        status = mldfi_fail(err, MLDF_E_TYPE, "field %s is %s %s here and %s %s in the first file", want->name,
                            have->type_name, have->arguments, want->type_name, want->arguments);
        mldfi_error_place(err, MLDF_NONE, want->name);
    }
    return mldfi_reader_name_error(dataset->readers[reader], err, status);
}

mldf_status mldfi_dataset_bind(struct dataset *dataset, const size_t *used, size_t used_count, mldf_error *err) {
    size_t cells;
    if (__builtin_mul_overflow(dataset->count, dataset->field_count, &cells))
        return mldfi_fail_memory(err, SIZE_MAX);
    free(dataset->fields);
    dataset->fields = mldfi_alloc_zero(cells + 1, sizeof *dataset->fields, err);
    if (!dataset->fields)
        return MLDF_E_MEMORY;
    mldf_status status = MLDF_OK;
    for (size_t r = 0; r < dataset->count && status >= 0 && !dataset->made_by_view; r++)
        for (size_t i = 0; i < used_count && status >= 0; i++)
            status = bind_field(dataset, r, used[i], err);
    return status;
}

/* ---- Places ------------------------------------------------------------------------------------------------------------------ */

mldf_status mldfi_dataset_order(struct dataset *dataset, const mldf_order *order, bool own, mldf_error *err) {
    dataset->by_part = own && dataset->count > 1 && order->form == ORDER_MIXTURE;
    if (dataset->by_part && order->part_count != dataset->count)
        return mldfi_fail(
            err, MLDF_E_ARGUMENT,
            "the order is a mixture of %zu parts and there are %zu readers: with several readers a part is a "
            "reader",
            order->part_count, dataset->count);
    if (dataset->by_part && dataset->view &&
        ((dataset->view->packed && dataset->view->packed->plan_count == 1) || dataset->view->pow2))
        return mldfi_fail(err, MLDF_E_ARGUMENT,
                          "the view %s has sequences of several files, and the order is a mixture of files%s",
                          dataset->view->text, dataset->view->packed ? ": per_file packs each by itself" : "");
    return MLDF_OK;
}

/* NAME_is_pad of every field with windows, behind the fields of the files. */
static mldf_status add_masks(struct dataset *dataset, const struct steps *steps, mldf_error *err) {
    if (dataset->archives)
        return mldfi_fail(err, MLDF_E_UNSUPPORTED, "the view steps needs files of rows, not archives");
    dataset->own_fields = dataset->field_count;
    mldf_status status = mldfi_schema_copy(dataset->schema, &dataset->made, err);
    for (size_t i = 0; i < steps->count && status >= 0; i++) {
        char name[MLDF_NAME_MAX + 32], shape[64];
        (void)snprintf(name, sizeof name, "%s_is_pad", steps->fields[i].name);
        (void)snprintf(shape, sizeof shape, "{\"dtype\":\"|b1\",\"shape\":[%u]}", steps->fields[i].count);
        status = mldf_schema_add(dataset->made, name, MLDF_NDARRAY, shape, 0, err);
    }
    if (status >= 0) {
        dataset->schema = dataset->made;
        dataset->field_count = mldf_schema_field_count(dataset->made);
        for (size_t i = 0; i < steps->count; i++)
            dataset->cut_in_source = dataset->cut_in_source || steps->fields[i].video;
    }
    return status;
}

mldf_status mldfi_dataset_view(struct dataset *dataset, const mldf_view *view, uint64_t seed, mldf_error *err) {
    dataset->cut = SIZE_MAX;
    if (!view)
        return MLDF_OK;
    bool same = view->reader_count == dataset->count;
    for (size_t i = 0; i < dataset->count && same; i++)
        same = view->readers[i] == dataset->readers[i];
    if (!same)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "the view %s is of other readers than the loader's", view->text);
    if (mldfi_view_is_rows(view))
        return MLDF_OK;
    dataset->view = view;
    dataset->seed = seed;
    dataset->stream = mldfi_rng_stream("loader/view", 11);
    if (mldfi_view_computes(view)) {
        dataset->made_by_view = true;
        dataset->schema = view->schema;
        dataset->field_count = mldf_schema_field_count(view->schema);
        return MLDF_OK;
    }
    if (view->steps)
        return add_masks(dataset, view->steps, err);
    mldf_status status = mldf_schema_find(dataset->schema, view->field, &dataset->cut, err);
    if (status >= 0) {
        struct edge edge = {0};
        const struct schema_field *field = &dataset->schema->fields[dataset->cut];
        dataset->cut_in_source = field->type->edge(field, NULL, &edge, NULL) >= 0 && edge.kind == VALUE_ENCODED;
    }
    if (status >= 0 && view->map->along) {
        dataset->elements = mldfi_alloc_zero(dataset->schema->field_count + 1, sizeof *dataset->elements, err);
        for (size_t f = 0; f < dataset->schema->field_count && dataset->elements; f++)
            dataset->elements[f] = mldfi_view_mode(view, dataset->schema->fields[f].name) == ITEM_ELEMENT;
        status = dataset->elements ? MLDF_OK : MLDF_E_MEMORY;
    }
    return status;
}

uint64_t mldfi_dataset_count(const struct dataset *dataset) {
    return dataset->view ? mldf_view_count(dataset->view) : dataset->first[dataset->count];
}

uint64_t mldfi_dataset_row(const struct dataset *dataset, const struct seat *seat) {
    return dataset->first[seat->reader] + seat->sample;
}

uint64_t mldfi_dataset_item(const struct dataset *dataset, const struct seat *seat) {
    return dataset->view ? seat->item.item : mldfi_dataset_row(dataset, seat);
}

static mldf_status no_place(const struct dataset *dataset, uint64_t position, const mldf_place *place,
                            mldf_error *err) {
    return mldfi_fail(err, MLDF_E_ARGUMENT,
                      "position %" PRIu64 " of the order is %s %" PRIu64 " of part %" PRIu32 ", which the %s not have",
                      position, dataset->view ? "item" : "sample", place->sample, place->part,
                      dataset->view ? "view does" : "readers do");
}

/* An item's number: of all readers, or with a mixture of readers of one of them. */
static mldf_status seat_item(const struct dataset *dataset, uint64_t epoch, uint64_t position, const mldf_place *place,
                             struct seat *out, mldf_error *err) {
    const mldf_view *view = dataset->view;
    uint64_t first = 0, count = mldf_view_count(view), draw = 0;
    if (dataset->by_part && place->part < dataset->count) {
        first = view->first_item[place->part];
        count = mldf_view_count_of(view, place->part);
    }
    if (place->sample >= count || (dataset->by_part && place->part >= dataset->count))
        return no_place(dataset, position, place, err);
    if (view->random) {
        struct rng rng;
        mldfi_rng_begin(&rng, dataset->seed, epoch, position, dataset->stream);
        draw = mldfi_rng_u64(&rng);
    }
    mldfi_view_place(view, first + place->sample, draw, epoch, &out->item);
    out->position = position;
    out->sample = out->item.row;
    out->reader = out->item.reader;
    return MLDF_OK;
}

static inline mldf_status seat_one(const struct dataset *dataset, uint64_t epoch, uint64_t position,
                                   const mldf_place *place, struct seat *out, mldf_error *err) {
    size_t reader = 0;
    uint64_t sample = place->sample;
    if (dataset->view)
        return seat_item(dataset, epoch, position, place, out, err);
    if (dataset->by_part) {
        reader = place->part;
    } else if (dataset->count > 1 && sample < dataset->first[dataset->count]) {
        size_t low = 0, high = dataset->count; /* first[low] <= sample < first[high] */
        while (high - low > 1) {
            size_t middle = low + (high - low) / 2;
            if (dataset->first[middle] <= sample)
                low = middle;
            else
                high = middle;
        }
        reader = low;
        sample -= dataset->first[low];
    }
    if (reader >= dataset->count || sample >= dataset->first[reader + 1] - dataset->first[reader])
        return no_place(dataset, position, place, err);
    out->position = position;
    out->sample = sample;
    out->reader = (uint32_t)reader;
    return MLDF_OK;
}

mldf_status mldfi_dataset_seat(const struct dataset *dataset, uint64_t epoch, uint64_t position,
                               const mldf_place *place, struct seat *out, mldf_error *err) {
    return seat_one(dataset, epoch, position, place, out, err);
}

mldf_status mldfi_dataset_seats(const struct dataset *dataset, uint64_t epoch, uint64_t first, const mldf_place *places,
                                size_t count, struct slot *slots, mldf_error *err) {
    mldf_status status = MLDF_OK;
    for (size_t i = 0; i < count && status >= 0; i++)
        status = seat_one(dataset, epoch, first + i, &places[i], &slots[i].seat, err);
    return status;
}
