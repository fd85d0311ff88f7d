/* Where a document comes: the inverse of what the loader does. Its items (the view's inverse), their positions in the epoch (the order's), the batch
 * and rank that each belongs to (series.c). Nothing is read but, for documents of packed sequences, the plan. */
#include <stdlib.h>

#include "loader/loader.h"
#include "util/buffer.h"
#include "util/error.h"

struct answers {
    mldf_loader_place *out;
    size_t room, count;
};

/* This position's batch, rank and slot; nothing where it does not come. */
static void add_position(const mldf_loader *loader, const struct kept *kept, uint64_t epoch, uint64_t position,
                         struct answers *answers) {
    const mldf_loader_options *o = &loader->options;
    uint64_t number, run, global = mldfi_global_batch(o);
    if (!mldfi_kept_number(kept, position, &number))
        return;
    uint64_t index = (number - kept->from) / global, at = (number - kept->from) % global;
    uint64_t left = kept->end - kept->from - index * global, samples = left < global ? left : global;
    if (samples < global && o->last == MLDF_LAST_DROP)
        return;
    uint64_t first = mldfi_kept_position(kept, kept->from + index * global, &run);
    uint64_t shared = o->last == MLDF_LAST_PAD ? global : samples;
    uint64_t each = shared / o->world_size, more = shared % o->world_size, wide = more * (each + 1);
    mldf_loader_place place = {.epoch = epoch};
    place.batch = kept->from / global + (kept->from % global != 0) + (first - kept->from) / global;
    place.rank = (uint32_t)(at < wide ? at / (each + 1) : more + (at - wide) / each);
    place.slot = at < wide ? at % (each + 1) : (at - wide) % each;
    if (answers->count < answers->room)
        answers->out[answers->count] = place;
    answers->count++;
}

static int by_number(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* The positions of one place, appended. */
static mldf_status find_place(const mldf_loader *loader, uint64_t epoch, const mldf_place *place, uint64_t **positions,
                              size_t *capacity, size_t *count, mldf_error *err) {
    size_t found = 0;
    mldf_status status = mldf_order_find_all(loader->order, epoch, place, NULL, 0, &found, err);
    if (status >= 0)
        status = mldfi_array_reserve(positions, capacity, *count + found + 1, sizeof **positions, err);
    if (status >= 0)
        status = mldf_order_find_all(loader->order, epoch, place, *positions + *count, found, &found, err);
    if (status >= 0)
        *count += found;
    return status;
}

/* An item, or a sample, of all readers: the order's places for it. */
static mldf_status find_item(const mldf_loader *loader, uint64_t epoch, uint64_t item, uint64_t **positions,
                             size_t *capacity, size_t *count, mldf_error *err) {
    const struct dataset *d = &loader->dataset;
    const uint64_t *first = d->view ? d->view->first_item : d->first;
    mldf_status status = MLDF_OK;
    mldf_place place = {item, 0};
    if (d->by_part) {
        while (item >= first[place.part + 1])
            place.part++;
        place.sample -= first[place.part];
        return find_place(loader, epoch, &place, positions, capacity, count, err);
    }
    size_t parts = loader->order->part_count ? loader->order->part_count : 1;
    for (; place.part < parts && status >= 0; place.part++)
        status = find_place(loader, epoch, &place, positions, capacity, count, err);
    return status;
}

static mldf_status find_items(const mldf_loader *loader, uint64_t document, uint64_t epoch, uint64_t **items,
                              size_t *count, mldf_error *err) {
    const struct dataset *d = &loader->dataset;
    uint64_t rows = d->view ? mldfi_view_documents(d->view) : d->first[d->count];
    if (document >= rows)
        return mldfi_fail(err, MLDF_E_NO_SAMPLE, "no %s %llu: there are %llu", d->view ? "document" : "sample",
                          (unsigned long long)document, (unsigned long long)rows);
    *count = d->view ? mldfi_view_find_document(d->view, document, epoch, NULL, 0) : 1;
    if (!(*items = mldfi_alloc_zero(*count + 1, sizeof **items, err)))
        return MLDF_E_MEMORY;
    (*items)[0] = document;
    if (d->view)
        (void)mldfi_view_find_document(d->view, document, epoch, *items, *count);
    return MLDF_OK;
}

mldf_status mldf_loader_where(mldf_loader *loader, uint64_t epoch, uint64_t document, mldf_loader_place *places,
                              size_t room, size_t *count, mldf_error *err) {
    uint64_t *items = NULL, *positions = NULL;
    size_t item_count = 0, position_count = 0, capacity = 0;
    struct answers answers = {places, room, 0};
    struct kept kept, before;
    mldf_status status = mldfi_loader_check(loader, "where", err);
    if (status >= 0 && (!count || (!places && room)))
        status = mldfi_fail(err, MLDF_E_ARGUMENT, "where needs a place for the answers and their number");
    if (status >= 0 && loader->series.bucket.window)
        status = mldfi_fail(err, MLDF_E_UNSUPPORTED,
                            "with buckets or a budget, batches are made of lengths as they come: where is not known");
    if (status >= 0)
        status = find_items(loader, document, epoch, &items, &item_count, err);
    for (size_t i = 0; i < item_count && status >= 0; i++)
        status = find_item(loader, epoch, items[i], &positions, &capacity, &position_count, err);
    if (status >= 0) {
        pthread_mutex_lock(&loader->lock);
        mldfi_kept_begin(loader, epoch, mldfi_epoch_from(loader, epoch), &kept);
        mldfi_kept_begin(loader, epoch, 0, &before);
        pthread_mutex_unlock(&loader->lock);
        if (positions)
            qsort(positions, position_count, sizeof *positions, by_number);
        for (size_t i = 0; i < position_count;
             i++) /* what came before a state was loaded came in batches like those of now */
            add_position(loader, positions[i] < kept.from ? &before : &kept, epoch, positions[i], &answers);
        *count = answers.count;
    }
    free(items);
    free(positions);
    return status;
}
