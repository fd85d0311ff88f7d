/* The pieces of one item with their tokens: pointers into the file's mapping where the tokens are stored as they are, else copies. Each piece is held
 * against its row here: a plan that a file stores may say anything. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "field/tokens.h"
#include "field/type.h"
#include "items/packed.h"
#include "util/buffer.h"
#include "util/error.h"

void mldfi_packed_item_free(struct packed_item *item) {
    if (!item)
        return;
    free(item->pieces);
    free(item->tokens);
    free(item->images);
    mldf_buffer_free(&item->arena);
    mldf_buffer_free(&item->aside);
    mldf_buffer_free(&item->whole);
    free(item);
}

static mldf_status bad_plan(const mldf_view *view, const mldf_reader *reader, uint64_t item, const char *what,
                            mldf_error *err) {
    mldfi_fail(err, MLDF_E_CORRUPT,
               "item %" PRIu64 " of the pack plan of field %s %s; mldf plan-tokens makes a new one", item, view->field,
               what);
    mldfi_error_place(err, MLDF_NONE, view->field);
    return mldfi_reader_name_error(reader, err, MLDF_E_CORRUPT);
}

static mldf_status in_row(const mldf_reader *reader, uint64_t row, const char *field, mldf_status status,
                          mldf_error *err) {
    mldfi_error_place(err, row, field);
    return mldfi_reader_name_error(reader, err, status);
}

/* The bytes of `count` tokens from row_from on, to where they stay: in the mapping, or in the arena. */
static mldf_status take_ids(const mldf_reader *reader, size_t field, const mldf_value *value, struct packed_item *item,
                            struct packed_piece *piece, uint64_t count, bool *moved, mldf_error *err) {
    size_t width = mldf_dtype_bytes(piece->dtype), bytes = (size_t)count * width;
    const uint8_t *from = value->data ? (const uint8_t *)value->data + piece->row_from * width : NULL;
    mldf_value part;
    piece->ids = from;
    if (bytes == 0)
        return MLDF_OK;
    if (from && mldfi_item_is_mapped(reader, from) && (uintptr_t)from % width == 0)
        return MLDF_OK;
    if (!from) {
        mldf_status status =
            mldf_reader_get_range(reader, piece->row, field, piece->row_from * width, bytes, &item->aside, &part, err);
        if (status < 0)
            return status;
        from = part.data;
    }
    size_t at = (size_t)mldfi_align_up(item->arena.size, 8);
    mldf_status status = mldf_buffer_reserve(&item->arena, at + bytes, err);
    if (status < 0)
        return status;
    memcpy(item->arena.data + at, from, bytes);
    item->arena.size = at + bytes;
    piece->ids = (const uint8_t *)(uintptr_t)at; /* an offset, until the arena has come to rest */
    *moved = true;
    return MLDF_OK;
}

/* One piece: its document's row, whether it fits there, which ends it has, its tokens. *moved: they are in the arena. */
static mldf_status take_piece(const mldf_view *view, const mldf_reader *const *readers, const struct packed_step *step,
                              bool concat, struct item_cache *cache, struct packed_item *item, struct packed_piece *out,
                              bool *moved, mldf_error *err) {
    const struct packed *p = view->packed;
    uint64_t begin, known;
    mldf_value value;
    *out = (struct packed_piece){.document = step->document, .from = step->from, .length = step->length};
    mldfi_packed_document(view, p, step->document, &out->reader, &out->row, &begin, &known);
    const mldf_reader *reader = readers[out->reader];
    size_t field = view->fields[out->reader];
    mldf_status status = mldfi_item_row(reader, out->row, field, cache, &item->aside, &value, err);
    if (status < 0)
        return in_row(reader, out->row, view->field, status, err);
    if (value.kind != MLDF_KIND_ARRAY || value.ndim != 1) {
        mldfi_fail(err, MLDF_E_CORRUPT, "row %" PRIu64 ", field %s is null, and the plan has a piece of it", out->row,
                   view->field);
        return in_row(reader, out->row, view->field, MLDF_E_CORRUPT, err);
    }
    out->tokens = known == MLDF_NONE ? value.dims[0] : known;
    out->row_from = begin + step->from;
    out->dtype = value.dtype;
    if (out->length > out->tokens || out->from > out->tokens - out->length || begin > value.dims[0] ||
        out->tokens > value.dims[0] - begin) {
        mldfi_fail(err, MLDF_E_CORRUPT,
                   "row %" PRIu64 ", field %s has %" PRIu64 " tokens, and the plan has a piece from %" PRIu64
                   " to %" PRIu64 " of it",
                   out->row, view->field, out->tokens, out->from, out->from + out->length);
        return in_row(reader, out->row, view->field, MLDF_E_CORRUPT, err);
    }
    bool last = out->from + out->length == out->tokens;
    out->bos = concat ? step->bos : p->bos >= 0 && out->from == 0;
    out->eos = concat ? step->eos : p->eos >= 0 && last;
    out->more = !last && (concat || view->args[PACKED_LONG].number == PACKING_CUT);
    out->more_eos = last && p->eos >= 0 && !out->eos;
    status = take_ids(reader, field, &value, item, out, out->length + out->more, moved, err);
    return status < 0 ? in_row(reader, out->row, view->field, status, err) : status;
}

/* ends=next: concat goes on with the item after this one. Its first piece is looked at alone. */
static mldf_status find_following(const mldf_view *view, const mldf_reader *const *readers, uint64_t number,
                                  struct item_cache *cache, struct packed_item *item, mldf_error *err) {
    const struct packed *p = view->packed;
    struct packed_walk walk;
    struct packed_step step;
    struct packed_piece *piece = &item->next;
    bool moved = false;
    size_t plan = 0;
    item->following = LABEL_NONE;
    piece->length = 0;
    while (number >= p->first_item[plan + 1])
        plan++;
    if (p->ends != ENDS_NEXT || p->plans[plan].rule.algorithm != PACKING_CONCAT ||
        number + 1 == p->first_item[plan + 1])
        return MLDF_OK;
    mldfi_packed_walk(view, number + 1, 0, &walk);
    if (!mldfi_packed_next(&walk, &step))
        return MLDF_OK;
    if (step.bos) {
        item->following = p->bos;
        return MLDF_OK;
    }
    TRY(take_piece(view, readers, &step, true, cache, item, piece, &moved, err));
    if (piece->length == 0) {
        item->following = p->eos;
        return MLDF_OK;
    }
    if (p->objective == OBJECTIVE_FIM && piece->length >= FIM_LEAST)
        return MLDF_OK; /* that item's draws may put a mark there */
    const uint8_t *ids = moved ? item->arena.data + (uintptr_t)piece->ids : piece->ids;
    item->following = mldfi_id_at(piece->dtype, ids, 0);
    return MLDF_OK;
}

static mldf_status take_all(const mldf_view *view, const mldf_reader *const *readers, uint64_t number,
                            struct item_cache *cache, struct packed_item *item, mldf_error *err) {
    const struct packed *p = view->packed;
    struct packed_walk walk;
    struct packed_step step;
    uint64_t at = 0;
    mldf_status status = MLDF_OK;
    mldfi_packed_walk(view, number, item->epoch, &walk);
    const mldf_reader *owner = readers[p->plan_count > 1 ? (size_t)(walk.plan - p->plans) : 0];
    item->count = item->image_count = 0;
    item->arena.size = 0;
    while (status >= 0 && mldfi_packed_next(&walk, &step)) {
        struct packed_piece *piece = &item->pieces[item->count];
        bool moved = false;
        if (item->count == p->most_pieces || at >= p->length)
            return bad_plan(view, owner, number, "has more pieces than the plan says", err);
        if (step.document - walk.first_document >= walk.plan->rows)
            return bad_plan(view, owner, number, "names a document that is not there", err);
        if (p->parts)
            status = mldfi_packed_parts_piece(view, readers, &step, at, item, piece, err);
        else
            status = take_piece(view, readers, &step, walk.concat, cache, item, piece, &moved, err);
        moved = moved || p->parts;
        if (status < 0)
            return status;
        uint64_t places = piece->length + piece->bos + piece->eos;
        if (places == 0 || places > p->length - at)
            return bad_plan(view, owner, number, "has more tokens than a sequence", err);
        piece->begin = (uint32_t)at;
        piece->places = (uint32_t)places;
        at = mldfi_packed_align(at + places, p->align);
        cache->bytes += piece->length * mldf_dtype_bytes(piece->dtype);
        item->moved[item->count++] = moved;
    }
    if (item->count == 0)
        return bad_plan(view, owner, number, "has no pieces", err);
    status = find_following(view, readers, number, cache, item, err);
    for (size_t i = 0; i < item->count; i++)
        if (item->moved[i])
            item->pieces[i].ids = item->arena.data + (uintptr_t)item->pieces[i].ids;
    return status;
}

static mldf_status new_item(const mldf_view *view, struct packed_item **out, mldf_error *err) {
    const struct packed *p = view->packed;
    struct packed_item *item = mldfi_alloc_zero(1, sizeof *item, err);
    if (!item)
        return MLDF_E_MEMORY;
    item->pieces = mldfi_alloc_zero((size_t)p->most_pieces + 1, sizeof *item->pieces + 1, err);
    if (item->pieces && p->objective != OBJECTIVE_CAUSAL)
        item->tokens = mldfi_alloc_zero(2 * (size_t)p->length, sizeof *item->tokens, err);
    if (!item->pieces || (p->objective != OBJECTIVE_CAUSAL && !item->tokens)) {
        mldfi_packed_item_free(item);
        return MLDF_E_MEMORY;
    }
    item->moved = (bool *)(item->pieces + p->most_pieces + 1);
    *out = item;
    return MLDF_OK;
}

mldf_status mldfi_packed_gather(const mldf_view *view, const mldf_reader *const *readers,
                                const struct item_place *place, struct item_cache *cache, struct packed_item **out,
                                mldf_error *err) {
    mldf_status status = MLDF_OK;
    if (cache->packed && cache->packed->view != view) {
        mldfi_packed_item_free(cache->packed);
        cache->packed = NULL;
    }
    if (!cache->packed)
        status = new_item(view, &cache->packed, err);
    if (status < 0)
        return status;
    struct packed_item *item = *out = cache->packed;
    if (item->view == view && item->item == place->item && item->draw == place->draw && item->epoch == place->epoch)
        return MLDF_OK;
    item->view = view;
    item->item = MLDF_NONE;
    item->draw = place->draw;
    item->epoch = place->epoch;
    status = take_all(view, readers, place->item, cache, item, err);
    if (status >= 0 && view->packed->objective != OBJECTIVE_CAUSAL)
        status = mldfi_packed_objective(view, item, err);
    if (status >= 0)
        item->item = place->item;
    return status;
}
