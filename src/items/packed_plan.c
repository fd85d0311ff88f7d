/* Plans of a packed view: the lengths of all documents, and the plans that are made of them, or that the files have stored. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "field/along.h"
#include "field/tokens.h"
#include "field/type.h"
#include "items/packed.h"
#include "order/perm.h"
#include "os/memory.h"
#include "reader/foreign.h"
#include "reader/plans.h"
#include "util/buffer.h"
#include "util/error.h"

#define PIECES_MANY UINT64_C(100000000)

void mldfi_packed_plan_free(struct packed *p, size_t readers) {
    for (size_t i = 0; p->plans && i < p->plan_count; i++)
        mldfi_packing_free(&p->plans[i]);
    for (size_t i = 0; p->sections && i < readers; i++)
        mldf_buffer_free(&p->sections[i]);
    free(p->plans);
    free(p->sections);
    free(p->first_item);
    free(p->first_document);
    free(p->indices);
    free(p->lengths);
    free(p->first_of_row);
    free(p->starts);
}

/* ---- Lengths --------------------------------------------------------------------------------------------------------------------- */

static bool is_stream(const mldf_view *view, size_t reader) {
    const struct schema_field *f = &view->readers[reader]->schema->fields[view->fields[reader]];
    return f->info.type_id == MLDF_TOKEN_STREAM;
}

struct growing {
    uint64_t *lengths, *starts;
    size_t lengths_capacity, starts_capacity;
    uint64_t count;
};

static mldf_status add_document(struct growing *g, bool streams, uint64_t start, uint64_t length, mldf_error *err) {
    mldf_status status =
        mldfi_array_reserve(&g->lengths, &g->lengths_capacity, (size_t)g->count + 1, sizeof *g->lengths, err);
    if (status >= 0 && streams)
        status = mldfi_array_reserve(&g->starts, &g->starts_capacity, (size_t)g->count + 1, sizeof *g->starts, err);
    if (status < 0)
        return status;
    g->lengths[g->count] = length;
    if (streams)
        g->starts[g->count] = start;
    g->count++;
    return MLDF_OK;
}

/* The documents of a stream: its table alone is read. */
static mldf_status add_stream(struct growing *g, const mldf_reader *reader, uint64_t row, size_t field,
                              mldf_buffer *scratch, mldf_error *err) {
    mldf_value value, part;
    mldf_status status = mldfi_reader_record(reader, row, field, scratch, &value, err);
    if (status < 0 || value.kind != MLDF_KIND_ARRAY || !value.record)
        return status < 0 ? status : add_document(g, true, 0, PACKING_NULL, err);
    uint64_t documents = mldfi_load_u64((const uint8_t *)value.record + TOKENS_DOCUMENTS_44), tokens = value.dims[0];
    uint64_t table = mldfi_align_up(value.bytes, 8), before = 0;
    if (documents > tokens + 1 || documents > SIZE_MAX / 64)
        return mldfi_fail(err, MLDF_E_CORRUPT, "%" PRIu64 " documents in %" PRIu64 " tokens", documents, tokens);
    if (documents == 0)
        return tokens ? add_document(g, true, 0, tokens, err) : MLDF_OK;
    status = mldf_reader_get_range(reader, row, field, table, 8 * documents, scratch, &part, err);
    for (uint64_t i = 0; i < documents && status >= 0; i++) {
        uint64_t end = mldfi_load_u64((const uint8_t *)part.data + 8 * i);
        if (end < before || end > tokens)
            return mldfi_fail(err, MLDF_E_CORRUPT, "document %" PRIu64 " ends at token %" PRIu64 " of %" PRIu64, i, end,
                              tokens);
        status = add_document(g, true, before, end - before, err);
        before = end;
    }
    if (status >= 0 && before != tokens)
        return mldfi_fail(err, MLDF_E_CORRUPT, "the documents end at token %" PRIu64 " of %" PRIu64, before, tokens);
    return status;
}

/* The row's steps from its record. Of what cannot be read the length is that of a null: nothing of it is in a sequence, and the view counts it. */
static mldf_status add_row(mldf_view *view, struct growing *g, const mldf_reader *reader, uint64_t row, size_t field,
                           mldf_buffer *scratch, bool streams, mldf_error *err) {
    mldf_value value;
    mldf_status status = mldfi_reader_record(reader, row, field, scratch, &value, err);
    bool array = status >= 0 && value.kind == MLDF_KIND_ARRAY && value.ndim == 1;
    if (status < 0 && (status == MLDF_E_MEMORY || status == MLDF_E_IO))
        return status;
    view->odd_rows += !array;
    return add_document(g, streams, 0, array ? value.dims[0] : PACKING_NULL, err);
}

/* A token field of an ordinary file: its rows say the lengths, without a look at a payload, as plan-tokens reads them. */
static mldf_status add_rows(mldf_view *view, struct growing *g, const mldf_reader *reader, size_t field, bool streams,
                            mldf_error *err) {
    const struct schema_field *f = &reader->schema->fields[field];
    uint64_t rows = mldf_reader_sample_count(reader);
    mldf_buffer piece = MLDF_BUFFER_INIT;
    mldf_status status = MLDF_OK;
    for (uint64_t at = 0, end; at < rows && status >= 0; at = end) {
        const uint8_t *block;
        status = mldfi_reader_rows(reader, at, &piece, &block, &end, err);
        for (uint64_t i = at; i < end && status >= 0; i++) {
            bool valid = true;
            if (f->info.flags & MLDF_FIELD_NULLABLE)
                status = mldfi_reader_is_valid(reader, i, field, &valid, err);
            const uint8_t *record = block + (i - at) * reader->row_bytes + f->info.row_offset;
            uint64_t tokens = mldfi_tokens_count(f, record);
            valid = valid && mldfi_reader_can_hold(reader, i, f, record, tokens);
            view->odd_rows += !valid;
            if (status >= 0)
                status = add_document(g, streams, 0, valid ? tokens : PACKING_NULL, err);
        }
    }
    mldf_buffer_free(&piece);
    return status;
}

/* A file whose index says how long its documents are. *known false: it does not. */
static mldf_status add_indexed(mldf_view *view, struct growing *g, const mldf_reader *reader, size_t field, bool *known,
                               mldf_error *err) {
    uint64_t rows = mldf_reader_sample_count(reader);
    *known = false;
    if (!reader->foreign.ops || !reader->foreign.ops->lengths)
        return MLDF_OK;
    mldf_status status =
        mldfi_array_reserve(&g->lengths, &g->lengths_capacity, (size_t)(g->count + rows) + 1, sizeof *g->lengths, err);
    if (status < 0)
        return status;
    *known = reader->foreign.ops->lengths(reader->foreign.state, field, 0, rows, false, g->lengths + g->count);
    for (uint64_t i = 0; *known && i < rows; i++)
        view->odd_rows += g->lengths[g->count + i] == PACKING_NULL;
    g->count += *known ? rows : 0;
    return MLDF_OK;
}

static mldf_status add_cut(void *user, uint64_t start, uint64_t length, mldf_error *err) {
    return add_document(user, true, start, length, err);
}

/* Multimodal samples: a row is a document, or several where it is cut. */
static mldf_status add_parts(mldf_view *view, const struct packed *p, size_t index, struct growing *g,
                             mldf_error *err) {
    uint64_t rows = mldf_reader_sample_count(view->readers[index]), base = view->first_row[index];
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    mldf_status status = MLDF_OK;
    for (uint64_t row = 0; row < rows && status >= 0; row++) {
        bool odd = false;
        p->first_of_row[base + row] = g->count;
        status = mldfi_packed_parts_cut(view, (uint32_t)index, row, &scratch, add_cut, g, &odd, err);
        view->odd_rows += odd;
    }
    mldf_buffer_free(&scratch);
    return status;
}

static mldf_status add_reader(mldf_view *view, const struct packed *p, size_t index, struct growing *g, bool streams,
                              mldf_error *err) {
    const mldf_reader *reader = view->readers[index];
    size_t field = view->fields[index];
    const struct schema_field *f = &reader->schema->fields[field];
    uint64_t rows = mldf_reader_sample_count(reader), base = view->first_row[index];
    if (p->parts)
        return add_parts(view, p, index, g, err);
    bool plain = f->info.type_id == MLDF_TEXT_TOKENIZED && !reader->foreign.ops && !reader->draft &&
                 reader->row_bytes && !streams;
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    mldf_status status = MLDF_OK;
    if (plain)
        return add_rows(view, g, reader, field, false, err);
    bool known = false;
    if (!streams)
        status = add_indexed(view, g, reader, field, &known, err);
    if (status < 0 || known)
        return status;
    for (uint64_t row = 0; row < rows && status >= 0; row++) {
        if (streams)
            p->first_of_row[base + row] = g->count;
        status = is_stream(view, index) ? add_stream(g, reader, row, field, &scratch, err)
                                        : add_row(view, g, reader, row, field, &scratch, streams, err);
        if (status < 0) {
            mldfi_error_place(err, row, view->field);
            mldfi_reader_name_error(reader, err, status);
        }
    }
    mldf_buffer_free(&scratch);
    return status;
}

/* Rows that are not chosen are as nulls. */
static void leave_out(const mldf_view *view, const struct packed *p, uint64_t *lengths) {
    uint64_t next = 0;
    for (uint64_t row = 0; row < view->first_row[view->reader_count]; row++) {
        if (next < view->row_count && view->rows[next] == row) {
            next++;
            continue;
        }
        uint64_t end = p->first_of_row ? p->first_of_row[row + 1] : row + 1;
        for (uint64_t i = p->first_of_row ? p->first_of_row[row] : row; i < end; i++)
            lengths[i] = PACKING_NULL;
    }
}

mldf_status mldfi_packed_measure(mldf_view *view, struct packed *p, uint64_t *documents_of, mldf_error *err) {
    struct growing g = {0};
    bool streams = p->parts != NULL;
    uint64_t rows = view->first_row[view->reader_count];
    mldf_status status = MLDF_OK;
    for (size_t i = 0; i < view->reader_count; i++)
        streams = streams || is_stream(view, i);
    if (streams && !(p->first_of_row = mldfi_alloc_zero((size_t)rows + 1, 8, err)))
        return MLDF_E_MEMORY;
    if (!streams)
        status = mldfi_array_reserve(&g.lengths, &g.lengths_capacity, (size_t)rows + 1, sizeof *g.lengths, err);
    for (size_t i = 0; i < view->reader_count && status >= 0; i++) {
        status = add_reader(view, p, i, &g, streams, err);
        documents_of[i + 1] = g.count;
    }
    p->lengths = g.lengths;
    p->starts = g.starts;
    if (status < 0)
        return status;
    if (streams)
        p->first_of_row[rows] = g.count;
    if (view->rows)
        leave_out(view, p, p->lengths);
    for (uint64_t i = 0; i < g.count; i++)
        view->empty_rows += p->lengths[i] == 0;
    return MLDF_OK;
}

/* ---- Stored plans ------------------------------------------------------------------------------------------------------------------ */

/* A reader's plan of this rule. *found false: it has none that can be used. */
static mldf_status find_stored(const mldf_view *view, size_t index, const struct packing_rule *rule,
                               mldf_buffer *section, struct packing *out, bool *found, mldf_error *err) {
    const mldf_reader *reader = view->readers[index];
    struct packing plans[PACKING_PLANS];
    size_t count;
    *found = false;
    if (reader->foreign.ops)
        return MLDF_OK;
    mldf_status status = mldfi_reader_plans(reader, section, plans, &count, err);
    for (size_t i = 0; i < count && status >= 0 && !*found; i++) {
        if (plans[i].field != view->fields[index] || !mldfi_packing_same_rule(&plans[i].rule, rule) ||
            plans[i].version != PACKING_VERSION)
            continue;
        if (plans[i].rows != mldf_reader_sample_count(reader)) {
            mldfi_warn(reader->context,
                       "%s: its pack plan is of the first %" PRIu64 " samples of %" PRIu64
                       " and is not used; mldf plan-tokens makes a new one",
                       reader->path, plans[i].rows, mldf_reader_sample_count(reader));
            continue;
        }
        if (plans[i].most_pieces > rule->length)
            return mldfi_reader_fail(reader, err, MLDF_E_CORRUPT, MLDF_NONE,
                                     "a pack plan with %" PRIu32 " pieces in a sequence of %" PRIu32 " tokens",
                                     plans[i].most_pieces, rule->length);
        *out = plans[i];
        *found = true;
    }
    return status;
}

static mldf_status use_stored(mldf_view *view, const struct packing_rule *rule, bool *all, mldf_error *err) {
    struct packed *p = view->packed;
    mldf_status status = MLDF_OK;
    *all = !p->parts && rule->algorithm != PACKING_CONCAT && !rule->ranked && !view->rows;
    for (size_t i = 0; i < view->reader_count && status >= 0 && *all; i++)
        status = find_stored(view, i, rule, &p->sections[i], &p->plans[i], all, err);
    for (size_t i = 0; i < view->reader_count && !*all; i++) {
        mldf_buffer_free(&p->sections[i]);
        memset(&p->plans[i], 0, sizeof p->plans[i]);
    }
    for (size_t i = 0; i < view->reader_count && *all; i++)
        p->first_document[i + 1] = view->first_row[i + 1];
    p->plan_count = *all ? view->reader_count : 0;
    return status;
}

/* ---- Concat plans straight from an index ------------------------------------------------------------------------------------------- */

static bool read_index(const void *state, uint64_t first, uint64_t count, uint64_t *out) {
    const struct packed_index *index = state;
    const struct foreign *foreign = &index->reader->foreign;
    return foreign->ops->lengths(foreign->state, index->field, first, count, true, out);
}

/* One plan for each reader, all of whose files have an index of lengths: no length is copied. *done false: the lengths must be measured. */
static mldf_status plan_indexed(mldf_view *view, const struct packing_rule *rule, bool *done, mldf_error *err) {
    struct packed *p = view->packed;
    mldf_status status = MLDF_OK;
    *done = rule->algorithm == PACKING_CONCAT && !view->rows && !p->parts &&
            (view->reader_count == 1 || view->args[PACKED_PER_FILE].number != 0);
    for (size_t i = 0; i < view->reader_count && *done; i++)
        *done = view->readers[i]->foreign.ops && view->readers[i]->foreign.ops->lengths;
    if (!*done)
        return MLDF_OK;
    p->indices = mldfi_alloc_zero(view->reader_count, sizeof *p->indices, err);
    if (!p->indices)
        return MLDF_E_MEMORY;
    for (size_t i = 0; i < view->reader_count && status == MLDF_OK; i++) {
        uint64_t rows = mldf_reader_sample_count(view->readers[i]);
        p->indices[i] = (struct packed_index){view->readers[i], view->fields[i]};
        p->first_document[i + 1] = p->first_document[i] + rows;
        p->plan_count = i + 1;
        status =
            mldfi_packing_concat(rule, (struct packing_source){read_index, &p->indices[i]}, rows, &p->plans[i], err);
    }
    *done = status != MLDF_END;
    for (size_t i = 0; i < p->plan_count; i++) {
        view->empty_rows += *done ? p->plans[i].empty : 0;
        view->odd_rows += *done ? p->plans[i].nulls : 0;
        if (!*done)
            mldfi_packing_free(&p->plans[i]);
    }
    return status < 0 ? status : MLDF_OK;
}

/* ---- All of them ------------------------------------------------------------------------------------------------------------------- */

static mldf_status make_plans(mldf_view *view, const struct packing_rule *rule, mldf_error *err) {
    struct packed *p = view->packed;
    bool each = view->args[PACKED_PER_FILE].number != 0;
    size_t count = each ? view->reader_count : 1;
    struct packing_rule huge = *rule;
    huge.large = mldfi_memory_huge;
    bool done = false;
    mldf_status status = plan_indexed(view, rule, &done, err);
    if (status < 0 || done)
        return status;
    status = mldfi_packed_measure(view, p, p->first_document, err);
    uint64_t all = p->first_document[view->reader_count];
    if (status >= 0 && !each)
        p->first_document[1] = all;
    for (size_t i = 0; i < count && status >= 0; i++) {
        uint64_t first = p->first_document[i];
        p->plan_count = i + 1;
        status = mldfi_packing_make(&huge, p->lengths + first, p->first_document[i + 1] - first, &p->plans[i], err);
        if (status >= 0 && p->plans[i].pieces > PIECES_MANY && rule->algorithm != PACKING_CONCAT)
            mldfi_warn(view->readers[0]->context,
                       "view packed: a plan of %" PRIu64 " pieces was made at opening; mldf plan-tokens stores it in "
                       "the file",
                       p->plans[i].pieces);
    }
    return status;
}

mldf_status mldfi_packed_plan(mldf_view *view, const struct packing_rule *rule, mldf_error *err) {
    struct packed *p = view->packed;
    size_t readers = view->reader_count;
    uint64_t hash[2] = {0, 0};
    bool stored = false;
    p->plans = mldfi_alloc_zero(readers, sizeof *p->plans, err);
    p->sections = mldfi_alloc_zero(readers, sizeof *p->sections, err);
    p->first_item = mldfi_alloc_zero(readers + 1, sizeof *p->first_item, err);
    p->first_document = mldfi_alloc_zero(readers + 1, sizeof *p->first_document, err);
    if (!p->plans || !p->sections || !p->first_item || !p->first_document)
        return MLDF_E_MEMORY;
    mldf_status status = use_stored(view, rule, &stored, err);
    if (status >= 0 && !stored)
        status = make_plans(view, rule, err);
    if (status < 0)
        return status;
    view->args[PACKED_PER_FILE].number = p->plan_count > 1;
    view->args[PACKED_PER_FILE].given = p->plan_count > 1;
    for (size_t i = 0; i < p->plan_count; i++) {
        uint64_t parts[3] = {hash[0], p->plans[i].lengths_hash, p->first_document[i + 1] - p->first_document[i]};
        hash[0] = mldfi_packing_hash(parts, 3);
        p->first_item[i + 1] = p->first_item[i] + p->plans[i].bins;
        if (p->plans[i].most_pieces > p->most_pieces)
            p->most_pieces = p->plans[i].most_pieces;
    }
    for (size_t i = 1; i <= readers; i++) /* of one plan of all readers, the first one has them all */
        view->first_item[i] = p->first_item[i < p->plan_count ? i : p->plan_count];
    hash[1] = p->plan_count;
    memcpy(view->digest, hash, sizeof view->digest);
    return MLDF_OK;
}

/* ---- Looking up -------------------------------------------------------------------------------------------------------------------- */

void mldfi_packed_walk(const mldf_view *view, uint64_t item, uint64_t epoch, struct packed_walk *out) {
    const struct packed *p = view->packed;
    size_t low = 0, high = p->plan_count; /* first_item[low] <= item < first_item[high] */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (p->first_item[middle] <= item)
            low = middle;
        else
            high = middle;
    }
    *out = (struct packed_walk){.plan = &p->plans[low],
                                .first_document = p->first_document[low],
                                .concat = p->plans[low].rule.algorithm == PACKING_CONCAT,
                                .epoch = epoch};
    if (out->concat)
        mldfi_packing_concat_begin(out->plan, item - p->first_item[low], &out->cursor);
    else
        mldfi_packing_bin(out->plan, item - p->first_item[low], &out->at, &out->end);
}

/* reseed=epoch: the piece that has the place of another one of its size in this epoch. Ranked pieces are the ends of their documents. */
static void exchange(const struct packing *plan, uint64_t epoch, uint64_t index, struct packing_piece *piece) {
    const struct packing_ranks *ranks = plan->ranks;
    struct perm perm;
    if (index < ranks->full)
        return;
    uint32_t size = piece->length + (plan->rule.bos && piece->from == 0) + (plan->rule.eos != 0);
    uint64_t begin = ranks->ends[size + 1], rank = ranks->rank[index - ranks->full] - begin;
    struct perm_shape shape = mldfi_perm_shape(ranks->ends[size] - begin);
    mldfi_perm_begin(&perm, &shape, mldfi_perm_key(plan->rule.seed, epoch, PERM_TIES, size));
    mldfi_packing_piece(plan, ranks->full + ranks->piece[begin + mldfi_perm_at(&perm, rank)], piece);
}

bool mldfi_packed_next(struct packed_walk *w, struct packed_step *out) {
    struct packing_piece piece;
    *out = (struct packed_step){0};
    if (w->concat) {
        if (!mldfi_packing_concat_next(w->plan, &w->cursor, &piece))
            return false;
        out->bos = w->cursor.bos;
        out->eos = w->cursor.eos;
    } else {
        if (w->at == w->end)
            return false;
        mldfi_packing_piece(w->plan, w->at, &piece);
        if (w->plan->ranks)
            exchange(w->plan, w->epoch, w->at, &piece);
        w->at++;
    }
    out->document = w->first_document + piece.document;
    out->from = piece.from;
    out->length = piece.length;
    return true;
}

void mldfi_packed_document(const mldf_view *view, const struct packed *p, uint64_t document, uint32_t *reader,
                           uint64_t *row, uint64_t *begin, uint64_t *tokens) {
    *row = document;
    *begin = 0;
    *tokens = MLDF_NONE;
    if (p->first_of_row) {
        uint64_t low = 0, high = view->first_row[view->reader_count]; /* first_of_row[low] <= document */
        while (high - low > 1) {
            uint64_t middle = low + (high - low) / 2;
            if (p->first_of_row[middle] <= document)
                low = middle;
            else
                high = middle;
        }
        *row = low;
        *begin = p->starts[document];
        *tokens = p->lengths[document];
    }
    *reader = mldfi_view_reader_of(view, row);
}

/* Pieces of the table in which a document of [first, end) is, one after the other; equal items once. */
static size_t find_in_table(const struct packing *plan, uint64_t first, uint64_t end, uint64_t first_item,
                            uint64_t epoch, uint64_t *items, size_t room, size_t found) {
    uint64_t last = MLDF_NONE, bin = 0, begin, stop;
    struct packing_piece piece;
    for (; bin < plan->bins; bin++) {
        mldfi_packing_bin(plan, bin, &begin, &stop);
        if (stop - begin > plan->most_pieces)
            continue; /* such an item cannot be read */
        for (; begin < stop; begin++) {
            mldfi_packing_piece(plan, begin, &piece);
            if (plan->ranks)
                exchange(plan, epoch, begin, &piece);
            if (piece.document < first || piece.document >= end || bin == last)
                continue;
            if (found < room)
                items[found] = first_item + bin;
            found++;
            last = bin;
        }
    }
    return found;
}

size_t mldfi_packed_find(const mldf_view *view, uint64_t first, uint64_t end, uint64_t epoch, uint64_t *items,
                         size_t room) {
    const struct packed *p = view->packed;
    size_t found = 0;
    for (size_t i = 0; i < p->plan_count; i++) {
        const struct packing *plan = &p->plans[i];
        uint64_t base = p->first_document[i], from = first > base ? first - base : 0;
        uint64_t to = end > base ? end - base : 0;
        to = to < plan->rows ? to : plan->rows;
        if (from >= to)
            continue;
        if (plan->rule.algorithm != PACKING_CONCAT) {
            found = find_in_table(plan, from, to, p->first_item[i], epoch, items, room, found);
            continue;
        }
        uint64_t begin = mldfi_packing_concat_place(plan, from), stop = mldfi_packing_concat_place(plan, to);
        for (uint64_t bin = begin / plan->rule.length; begin < stop && bin * plan->rule.length < stop; bin++) {
            if (found < room)
                items[found] = p->first_item[i] + bin;
            found++;
        }
    }
    return found;
}
