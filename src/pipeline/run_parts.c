/* Values that a table in the payload says (field_part.tabled): the parts of a multimodal sample, the levels of hierarchical text. The table is read once
 * for a chain and a sample, then each part's bytes alone:
 *
 *     record ─► table ─► entry ─► a record and bytes, as a field of the part's kind would have them
 *
 * A chain of all parts of a kind runs once for each, with a draw of its own; what it gives goes one after the other into the batch. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/source.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

/* ---- The table -------------------------------------------------------------------------------------------------------------------- */

void mldfi_part_begin(const struct plan *plan, struct side *side) {
    for (size_t i = 0; i < plan->graph.chain_count; i++)
        side->chains[i].part.known = side->chains[i].part.has_whole = false;
    side->many = false;
    side->entry = 0;
    if (side->entry_drawn)
        memset(side->entry_drawn, 0, side->entry_count * plan->graph.shared_count * sizeof *side->entry_drawn);
}

void mldfi_part_free(struct side *side, struct chain_memory *memory) {
    (void)side;
    mldf_buffer_free(&memory->part.table);
    mldf_buffer_free(&memory->part.bytes);
    mldf_buffer_free(&memory->part.made);
    mldf_buffer_free(&memory->part.gather);
}

static const uint8_t *record_of(const struct part_memory *m) {
    return m->table.data;
}
enum { RECORD_ROOM = PART_RECORD_MAX }; /* the table begins after it */

/* Bytes of the sample's payload, where the record alone was read. */
static mldf_status read_bytes(const struct run *r, struct side *side, size_t chain, const mldf_value *whole,
                              struct byte_range range, mldf_buffer *scratch, const void **data, mldf_error *err) {
    const struct plan_feed *feed = r->feed;
    mldf_value value;
    if (whole->data || range.bytes == 0) {
        *data = range.bytes ? (const uint8_t *)whole->data + range.offset : NULL;
        return MLDF_OK;
    }
    size_t field = r->plan->graph.chains[chain].field;
    if (feed->range) {
        mldf_status status =
            feed->range(feed->user, side->position, field, range.offset, range.bytes, scratch, &value, err);
        *data = value.data;
        return status;
    }
    mldf_status status = feed->get(feed->user, side->position, field, scratch, &value, err);
    *data = status == MLDF_OK ? (const uint8_t *)value.data + range.offset : NULL;
    return status;
}

static mldf_status read_whole(const struct run *r, struct side *side, size_t chain, mldf_value *out, mldf_error *err) {
    const struct part_memory *m = &side->chains[chain].part;
    if (m->has_whole) {
        *out = m->whole;
        return MLDF_OK;
    }
    return mldfi_read_value(r, side, chain, r->feed->range != NULL, out, err);
}

/* Damage in a packed part would look like another image, so its bytes are not read by themselves: a feed checks those of the whole value. */
static mldf_status read_checked(const struct run *r, struct side *side, size_t chain, mldf_value *out,
                                mldf_error *err) {
    struct part_memory *m = &side->chains[chain].part;
    mldf_status status = m->has_whole ? MLDF_OK : mldfi_read_value(r, side, chain, false, &m->whole, err);
    m->has_whole = status == MLDF_OK;
    *out = m->whole;
    return status;
}

/* Record and table into the chain's memory. */
static mldf_status open_table(const struct run *r, struct side *side, size_t chain, mldf_error *err) {
    const struct chain *c = &r->plan->graph.chains[chain];
    struct part_memory *m = &side->chains[chain].part;
    mldf_value whole;
    const void *table;
    if (m->known)
        return MLDF_OK;
    TRY(read_whole(r, side, chain, &whole, err));
    m->next = m->at = 0;
    m->null = whole.kind == MLDF_KIND_NULL;
    m->known = m->null;
    if (m->null)
        return MLDF_OK;
    if (!whole.record || whole.record_bytes > RECORD_ROOM)
        return mldfi_fail(err, MLDF_E_TYPE, "the value has no record");
    uint64_t offset, bytes = c->of->type->part_table(c->of, c->part, whole.record, &offset);
    /* An array is its first bytes, and its type has seen that the payload holds the table, too. */
    if (whole.kind != MLDF_KIND_ARRAY && !mldfi_range_inside(offset, bytes, whole.bytes))
        return mldfi_fail(err, MLDF_E_CORRUPT, "a table of %" PRIu64 " bytes in a value of %" PRIu64, bytes,
                          whole.bytes);
    m->payload_bytes = whole.bytes;
    TRY(mldfi_buffer_resize(&m->table, RECORD_ROOM + (size_t)bytes, err));
    memcpy(m->table.data, whole.record, whole.record_bytes);
    mldf_status status = read_bytes(r, side, chain, &whole, (struct byte_range){offset, bytes}, &m->bytes, &table, err);
    if (status == MLDF_OK && bytes)
        memcpy(m->table.data + RECORD_ROOM, table, (size_t)bytes);
    m->known = status == MLDF_OK;
    return status;
}

static mldf_status next_entry(const struct chain *c, struct part_memory *m, struct part_place *place, bool *null,
                              mldf_error *err) {
    memset(place, 0, sizeof *place);
    mldf_status status = c->of->type->part_entry(c->of, c->part, record_of(m), m->payload_bytes,
                                                 m->table.data + RECORD_ROOM, &m->at, place, null, err);
    if (status == MLDF_OK && !mldfi_range_inside(place->offset, place->bytes, m->payload_bytes))
        return mldfi_fail(err, MLDF_E_CORRUPT, "a part's bytes pass the end of the value");
    return status;
}

/* The entry that the chain is at. Nulls are entries where the chain fills them; otherwise they are left out of `all`. MLDF_END: there is none. */
static mldf_status find_entry(const struct run *r, struct side *side, size_t chain, struct part_place *place,
                              bool *null, mldf_error *err) {
    const struct chain *c = &r->plan->graph.chains[chain];
    struct part_memory *m = &side->chains[chain].part;
    uint64_t wanted = c->part->all ? side->entry : c->part->number;
    mldf_status status = open_table(r, side, chain, err);
    if (status < 0)
        return status;
    if (m->null)
        return MLDF_END;
    if (m->next > wanted)
        m->next = m->at = 0;
    for (;;) {
        uint64_t at = m->at;
        status = next_entry(c, m, place, null, err);
        if (status != MLDF_OK)
            return status;
        if (*null && c->part->all && !c->fill)
            continue;
        if (m->next == wanted) {
            m->at = at; /* it may be asked for again */
            return MLDF_OK;
        }
        m->next++;
    }
}

static mldf_status count_entries(const struct run *r, struct side *side, size_t chain, uint64_t *count,
                                 mldf_error *err) {
    const struct chain *c = &r->plan->graph.chains[chain];
    struct part_memory *m = &side->chains[chain].part;
    struct part_place place;
    bool null;
    *count = 0;
    mldf_status status = open_table(r, side, chain, err);
    if (status < 0 || m->null)
        return status;
    m->next = m->at = 0;
    while ((status = next_entry(c, m, &place, &null, err)) == MLDF_OK)
        *count += !null || c->fill;
    m->next = m->at = 0;
    return status == MLDF_END ? MLDF_OK : status;
}

/* ---- One part --------------------------------------------------------------------------------------------------------------------- */

mldf_status mldfi_part_value(const struct run *r, struct side *side, size_t chain, bool record, mldf_value *out,
                             struct part_place *place, mldf_error *err) {
    struct part_memory *m = &side->chains[chain].part;
    const struct field_type *type = r->plan->graph.chains[chain].part->kind->type;
    bool null = false;
    mldf_value whole;
    memset(out, 0, sizeof *out);
    mldf_status status = find_entry(r, side, chain, place, &null, err);
    if (status < 0)
        return status;
    if (status == MLDF_END || null) {
        out->kind = MLDF_KIND_NULL;
        return MLDF_OK;
    }
    out->kind = MLDF_KIND_STORED;
    out->record = place->record;
    out->record_bytes = place->record_bytes;
    out->bytes = place->bytes;
    bool checked = !record && type && type->is_packed && type->is_packed(place->record);
    status = checked ? read_checked(r, side, chain, &whole, err) : read_whole(r, side, chain, &whole, err);
    if (status == MLDF_OK && whole.data)
        out->data = (const uint8_t *)whole.data + place->offset;
    if (status < 0 || record || whole.data)
        return status;
    return read_bytes(r, side, chain, &whole, (struct byte_range){place->offset, place->bytes}, &m->bytes, &out->data,
                      err);
}

mldf_status mldfi_part_fetch(const struct run *r, struct side *side, size_t chain, bool record, mldf_value *out,
                             mldf_error *err) {
    const struct chain *c = &r->plan->graph.chains[chain];
    struct part_memory *m = &side->chains[chain].part;
    const struct schema_field *kind = c->part->kind;
    mldf_value stored;
    mldf_status status;
    memset(out, 0, sizeof *out);
    if (!c->part->column) {
        status = mldfi_part_value(r, side, chain, record && mldfi_field_has_payload(kind), &stored, &m->place, err);
        if (status < 0 || stored.kind == MLDF_KIND_NULL)
            return status;
        status = mldfi_field_decode(kind, m->place.record, 0, stored.data, stored.bytes, 0, &m->made, out, err);
        if (status < 0 && err) {
            err->offset = MLDF_NONE;
            err->field[0] = 0;
        }
        r->worker->bytes += stored.bytes;
        return status;
    }
    status = open_table(r, side, chain, err);
    if (status < 0 || m->null)
        return status;
    m->bytes.size = 0;
    status = c->of->type->part_column(c->of, c->part, record_of(m), m->payload_bytes, m->table.data + RECORD_ROOM,
                                      &m->bytes, err);
    out->kind = MLDF_KIND_ARRAY;
    out->dtype = c->source.dtype;
    out->ndim = 1;
    out->data = m->bytes.data;
    out->bytes = m->bytes.size;
    out->dims[0] = m->bytes.size / mldf_dtype_bytes(c->source.dtype);
    return status;
}

/* ---- All of them ------------------------------------------------------------------------------------------------------------------- */

mldf_status mldfi_entry_draw(const struct plan *plan, struct side *side, uint32_t shared, void **room, bool **drawn,
                             mldf_error *err) {
    size_t each = plan->graph.shared_count, at = (size_t)(side->entry - 1) * each + shared,
           need = (size_t)side->entry * each;
    mldf_status status =
        mldfi_array_reserve(&side->entry_draws, &side->entry_draw_capacity, need, sizeof side->entry_draws[0], err);
    if (status == MLDF_OK)
        status = mldfi_array_reserve(&side->entry_drawn, &side->entry_drawn_capacity, need, sizeof side->entry_drawn[0],
                                     err);
    if (status < 0)
        return status;
    for (; side->entry_count < side->entry; side->entry_count++)
        memset(side->entry_drawn + side->entry_count * each, 0, each * sizeof *side->entry_drawn);
    *room = side->entry_draws[at];
    *drawn = &side->entry_drawn[at];
    return MLDF_OK;
}

/* The type of the chain's result, with so many entries, or so long. */
static void lift(const struct chain *c, uint64_t entries, uint64_t steps, struct tensor *t) {
    const struct edge *edge = &c->output.edge;
    *t = mldfi_tensor_of(edge);
    for (uint32_t i = 0; i < edge->ndim; i++)
        t->dims[i] = i == 0 ? (c->stacked ? entries : steps) : (uint64_t)edge->dims[i];
}

static mldf_status in_entry(const struct chain *c, uint64_t entry, mldf_status status, mldf_error *err) {
    if (status < 0)
        mldfi_error_prefix(err, "%s[%" PRIu64 "]", c->part->name, entry);
    return status;
}

/* Lengths by which batches were planned came from the record alone (mldfi_plan_record_length): the parts are held against it. */
static mldf_status check_total(const struct chain *c, const struct part_memory *m, uint64_t entries, uint64_t steps,
                               mldf_error *err) {
    uint64_t said, found = c->stacked ? entries : steps;
    if (m->null || !mldfi_counts_entries(c) ||
        !c->of->type->part_total(c->of, c->part, record_of(m), c->stacked, &said) || said == found)
        return MLDF_OK;
    return mldfi_fail(err, MLDF_E_CORRUPT, "%s: the record says %" PRIu64 "%s, and the parts have %" PRIu64,
                      c->part->name, said, c->stacked ? " parts" : "", found);
}

mldf_status mldfi_shape_entries(const struct run *r, struct side *side, size_t chain, mldf_error *err) {
    const struct chain *c = &r->plan->graph.chains[chain];
    struct chain_memory *memory = &side->chains[chain];
    uint64_t count, steps = 0, samples = 0;
    bool looks = !c->stacked || c->output.waves;
    mldf_status status = count_entries(r, side, chain, &count, err);
    side->many = true;
    for (uint64_t i = 0; looks && i < count && status == MLDF_OK; i++) {
        side->entry = i;
        status = in_entry(c, i, mldfi_shape_one(r, side, chain, err), err);
        steps += memory->tensor.dims[0];
        samples += memory->samples;
    }
    memory->samples = samples;
    side->many = false;
    side->entry = 0;
    memory->null = memory->filled = false;
    lift(c, count, steps, &memory->tensor);
    if (status == MLDF_OK)
        status = check_total(c, &memory->part, count, steps, err);
    memory->frame = mldfi_frame_of(&memory->tensor);
    if (status < 0)
        mldfi_name_chain(c, err);
    return status;
}

/* The entry's result behind those before it: where it was made, or in the chain's memory. */
static mldf_status keep_entry(struct chain_memory *memory, mldf_buffer *gather, uint8_t *into, size_t room, size_t done,
                              mldf_error *err) {
    const struct tensor *t = &memory->tensor;
    size_t bytes = mldfi_tensor_bytes(t);
    if (!into)
        return mldf_buffer_append(gather, t->data, bytes, err);
    if (bytes > room - done)
        return mldfi_fail(err, MLDF_E_RANGE, "the parts do not fit their place in the batch");
    if (bytes && t->data != into + done)
        memmove(into + done, t->data, bytes);
    return MLDF_OK;
}

mldf_status mldfi_run_entries(const struct run *r, struct side *side, size_t chain, const struct plan_target *target,
                              mldf_error *err) {
    const struct chain *c = &r->plan->graph.chains[chain];
    struct chain_memory *memory = &side->chains[chain];
    bool flat = target && c->output.collate == COLLATE_RAGGED;
    uint8_t *into = flat ? target->data : NULL;
    size_t room = flat ? mldfi_room_bytes(&c->output, target) : 0, done = 0;
    mldf_buffer *gather = &memory->part.gather;
    uint64_t count, steps = 0, samples = 0;
    mldf_status status = count_entries(r, side, chain, &count, err);
    gather->size = 0;
    side->many = true;
    for (uint64_t i = 0; i < count && status == MLDF_OK; i++) {
        side->entry = i;
        status =
            mldfi_run_stages(r, side, chain, 0, c->stage_count, into ? into + done : NULL, into ? room - done : 0, err);
        if (status == MLDF_OK)
            status = keep_entry(memory, gather, into, room, done, err);
        if (status == MLDF_OK) {
            done += mldfi_tensor_bytes(&memory->tensor);
            steps += memory->tensor.ndim ? memory->tensor.dims[0] : 1;
            samples += memory->samples;
        }
        in_entry(c, i, status, err);
    }
    memory->samples = samples;
    side->many = false;
    side->entry = 0;
    memory->null = memory->filled = false;
    lift(c, count, steps, &memory->tensor);
    if (status == MLDF_OK)
        status = check_total(c, &memory->part, count, steps, err);
    memory->tensor.data = into ? into : gather->data;
    memory->in = -1;
    return status;
}
