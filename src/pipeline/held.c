/* What several chains read of one field of a sample: the crops of one image, members of one struct, streams of one clip. It is fetched once and kept
 * until the sample ends. Chains that read parts of the payload are prepared together when the first of them fetches, and the union of their
 * ranges is read:
 *
 *     clip.video   window ─► bytes  a ······ b
 *     clip.audio   window ─► bytes        a' ···· b'        one read: a ·········· b'
 *
 * A field that one chain reads alone goes straight to the feed. */
#include <stdlib.h>

#include "pipeline/source.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

/* ---- Which fields ----------------------------------------------------------------------------------------------------------------------------- */

mldf_status mldfi_plan_note_shares(struct plan *plan, mldf_error *err) {
    struct graph *graph = &plan->graph;
    plan->shares = mldfi_alloc_zero(graph->chain_count + 1, sizeof *plan->shares, err);
    if (!plan->shares)
        return MLDF_E_MEMORY;
    for (size_t i = 0; i < graph->chain_count; i++)
        graph->chains[i].share = SIZE_MAX;
    for (size_t i = 0; i < graph->chain_count; i++) {
        struct chain *c = &graph->chains[i];
        struct plan_share share = {c->field, i, false};
        if (c->field == SIZE_MAX || c->share != SIZE_MAX)
            continue;
        for (size_t k = i + 1; k < graph->chain_count; k++)
            if (graph->chains[k].field == c->field) {
                graph->chains[k].share = plan->share_count;
                share.last = k;
            }
        if (share.last == i)
            continue;
        c->share = plan->share_count;
        share.ranges = mldfi_plan_has_ranges(plan, c->field);
        plan->shares[plan->share_count++] = share;
    }
    return MLDF_OK;
}

mldf_status mldfi_held_new(const struct plan *plan, struct side *side, mldf_error *err) {
    side->held = mldfi_alloc_zero(plan->share_count + 1, sizeof *side->held, err);
    return side->held ? MLDF_OK : MLDF_E_MEMORY;
}

void mldfi_held_free(const struct plan *plan, struct side *side) {
    for (size_t i = 0; side->held && i < plan->share_count; i++) {
        struct held *h = &side->held[i];
        mldf_buffer_free(&h->value_scratch);
        mldf_buffer_free(&h->record_scratch);
        mldf_buffer_free(&h->head_scratch);
        for (size_t k = 0; k < h->piece_capacity; k++)
            mldf_buffer_free(&h->pieces[k].scratch);
        free(h->pieces);
    }
    free(side->held);
}

void mldfi_held_begin(const struct plan *plan, struct side *side) {
    for (size_t i = 0; i < plan->share_count; i++) {
        struct held *h = &side->held[i];
        h->has_value = h->has_record = h->has_pieces = h->counted = false;
        h->head_bytes = 0;
    }
}

static struct held *held_of(const struct run *r, struct side *side, size_t chain) {
    size_t share = r->plan->graph.chains[chain].share;
    return share == SIZE_MAX ? NULL : &side->held[share];
}

/* ---- Values ------------------------------------------------------------------------------------------------------------------------------------ */

mldf_status mldfi_read_value(const struct run *r, struct side *side, size_t chain, bool record, mldf_value *out,
                             mldf_error *err) {
    const struct plan_feed *feed = r->feed;
    size_t field = r->plan->graph.chains[chain].field;
    struct held *h = held_of(r, side, chain);
    mldf_buffer *scratch = h ? &h->value_scratch : &side->chains[chain].value;
    mldf_status status;
    if (h && h->has_value) {
        *out = h->value;
        return MLDF_OK;
    }
    if (!record || !feed->record) {
        status = feed->get(feed->user, side->position, field, scratch, out, err);
        if (h && status == MLDF_OK) {
            h->value = *out;
            h->has_value = true;
        }
        return status;
    }
    if (!h)
        return feed->record(feed->user, side->position, field, scratch, out, err);
    status =
        h->has_record ? MLDF_OK : feed->record(feed->user, side->position, field, &h->record_scratch, &h->record, err);
    h->has_record = status == MLDF_OK;
    if (status == MLDF_OK)
        *out = h->record;
    return status;
}

mldf_status mldfi_read_stored(const struct run *r, struct side *side, size_t chain, mldf_value *out,
                              const struct schema_field **of, mldf_error *err) {
    const struct plan_feed *feed = r->feed;
    size_t field = r->plan->graph.chains[chain].field;
    struct held *h = held_of(r, side, chain);
    if (!feed->stored)
        return mldfi_fail(err, MLDF_E_STATE, "this feed has no stored values");
    if (!h)
        return feed->stored(feed->user, side->position, field, &side->chains[chain].value, out, of, err);
    mldf_status status = MLDF_OK;
    if (!h->has_value)
        status = feed->stored(feed->user, side->position, field, &h->value_scratch, &h->value, &h->of, err);
    h->has_value = status == MLDF_OK;
    *out = h->value;
    *of = h->of;
    return status;
}

void mldfi_count_value(const struct run *r, struct side *side, size_t chain, uint64_t bytes) {
    struct held *h = held_of(r, side, chain);
    if (h && h->counted)
        return;
    if (h) {
        h->counted = true;
        bytes = h->has_value ? h->value.bytes : bytes;
    }
    r->worker->bytes += bytes;
}

/* ---- Parts of payloads --------------------------------------------------------------------------------------------------------------------------- */

static int by_offset(const void *a, const void *b) {
    const struct plan_range *x = a, *y = b;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Those of one field, sorted, overlapping and neighbouring ones made one. Returns how many there are. */
static size_t unite(struct plan_ranges *ranges, size_t field) {
    size_t kept = 0, count = 0;
    for (size_t i = 0; i < ranges->count; i++)
        if (ranges->items[i].field == field && ranges->items[i].bytes)
            ranges->items[count++] = ranges->items[i];
    if (count)
        qsort(ranges->items, count, sizeof *ranges->items, by_offset);
    for (size_t i = 0; i < count; i++) {
        struct plan_range *last = kept ? &ranges->items[kept - 1] : NULL, next = ranges->items[i];
        if (!last || next.offset > last->offset + last->bytes)
            ranges->items[kept++] = next;
        else if (next.offset + next.bytes > last->offset + last->bytes)
            last->bytes = next.offset + next.bytes - last->offset;
    }
    return kept;
}

static mldf_status make_pieces(struct held *h, size_t count, mldf_error *err) {
    size_t before = h->piece_capacity;
    mldf_status status = mldfi_array_reserve(&h->pieces, &h->piece_capacity, count, sizeof *h->pieces, err);
    for (size_t i = before; i < h->piece_capacity; i++)
        h->pieces[i] = (struct held_piece){0};
    return status;
}

/* What all chains of the field will read of this sample. Those before this one read nothing. */
static mldf_status fetch_union(const struct run *r, struct side *side, size_t chain, struct held *h, mldf_error *err) {
    const struct plan_share *share = &r->plan->shares[r->plan->graph.chains[chain].share];
    const struct plan_feed *feed = r->feed;
    struct plan_ranges *ranges = &r->worker->ranges;
    ranges->count = 0;
    mldf_status status = mldfi_prepare_later(r, side, chain, share->last, err);
    for (size_t i = chain; i <= share->last && status == MLDF_OK; i++)
        if (r->plan->graph.chains[i].field == share->field)
            status = mldfi_source_ranges(r, side, i, ranges, err);
    size_t count = status == MLDF_OK ? unite(ranges, share->field) : 0;
    if (status == MLDF_OK)
        status = make_pieces(h, count, err);
    for (size_t i = 0; i < count && status == MLDF_OK; i++) {
        struct held_piece *piece = &h->pieces[i];
        mldf_value part;
        piece->offset = ranges->items[i].offset;
        piece->bytes = ranges->items[i].bytes;
        status = feed->range(feed->user, side->position, share->field, piece->offset, piece->bytes, &piece->scratch,
                             &part, err);
        piece->data = part.data;
        r->worker->bytes += piece->bytes;
    }
    h->piece_count = count;
    h->has_pieces = status == MLDF_OK;
    return status;
}

mldf_status mldfi_read_range(const struct run *r, struct side *side, size_t chain, struct byte_range range,
                             const void **data, mldf_error *err) {
    const struct chain *c = &r->plan->graph.chains[chain];
    const struct plan_feed *feed = r->feed;
    struct held *h = held_of(r, side, chain);
    mldf_value part;
    if (h && r->plan->shares[c->share].ranges) {
        mldf_status status = h->has_pieces ? MLDF_OK : fetch_union(r, side, chain, h, err);
        if (status < 0)
            return status;
        for (size_t i = 0; i < h->piece_count; i++) {
            const struct held_piece *piece = &h->pieces[i];
            if (range.offset >= piece->offset &&
                mldfi_range_inside(range.offset - piece->offset, range.bytes, piece->bytes)) {
                *data = (const uint8_t *)piece->data + (range.offset - piece->offset);
                return MLDF_OK;
            }
        }
    }
    mldf_status status = feed->range(feed->user, side->position, c->field, range.offset, range.bytes,
                                     &side->chains[chain].value, &part, err);
    *data = part.data;
    r->worker->bytes += range.bytes;
    return status;
}

mldf_status mldfi_read_head(const struct run *r, struct side *side, size_t chain, struct byte_range range,
                            const void **data, mldf_error *err) {
    const struct plan_feed *feed = r->feed;
    struct held *h = held_of(r, side, chain);
    mldf_buffer *scratch = h ? &h->head_scratch : &side->chains[chain].value;
    mldf_value part;
    if (h && h->head_bytes >= range.bytes && h->head_offset == range.offset) {
        *data = h->head;
        return MLDF_OK;
    }
    mldf_status status = feed->range(feed->user, side->position, r->plan->graph.chains[chain].field, range.offset,
                                     range.bytes, scratch, &part, err);
    *data = part.data;
    if (h) {
        h->head = part.data;
        h->head_offset = range.offset;
        h->head_bytes = status == MLDF_OK ? range.bytes : 0;
    }
    return status;
}
