/* Documents end to end, cut at every `length` places: a plan that is computed, not stored. One pass over the lengths keeps where every 64th row begins; what
 * is between is summed up when it is asked for. So a plan of 10^7 rows is 1.2 MB, and of a file whose index is mapped nothing is copied. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "format/packing.h"
#include "util/buffer.h"
#include "util/error.h"

enum { BLOCK = 64, CHUNK = 64 * BLOCK };

static bool read_lengths(const struct packing_source *s, uint64_t first, uint64_t count, uint64_t *out) {
    if (s->read)
        return s->read(s->state, first, count, out);
    memcpy(out, (const uint64_t *)s->state + first, (size_t)count * sizeof *out);
    return true;
}

static uint64_t places_of(const struct packing_rule *r, uint64_t tokens) {
    return mldfi_packing_is_there(tokens) ? mldfi_packing_whole(r, tokens) : 0;
}

/* What the source cannot say any more has no tokens: the piece is then found not to fit its row. */
static uint64_t length_of(const struct packing *p, uint64_t row) {
    uint64_t length;
    return read_lengths(&p->source, row, 1, &length) ? length : 0;
}

/* ---- Looking up -------------------------------------------------------------------------------------------------------------------- */

uint64_t mldfi_packing_concat_place(const struct packing *p, uint64_t row) {
    uint64_t lengths[BLOCK], at = p->starts[row / BLOCK], count = row % BLOCK;
    if (count == 0 || !read_lengths(&p->source, row - count, count, lengths))
        return at;
    for (uint64_t i = 0; i < count; i++)
        at += places_of(&p->rule, lengths[i]);
    return at;
}

void mldfi_packing_concat_begin(const struct packing *p, uint64_t bin, struct packing_cursor *out) {
    uint64_t blocks = (p->rows + BLOCK - 1) / BLOCK, low = 0, high = blocks, total = p->starts[blocks];
    uint64_t lengths[BLOCK], i = 0;
    *out = (struct packing_cursor){.at = bin * p->rule.length};
    out->end = out->at + p->rule.length < total ? out->at + p->rule.length : total;
    while (high - low > 1) { /* the last block that begins at the place or before it */
        uint64_t middle = low + (high - low) / 2;
        if (p->starts[middle] <= out->at)
            low = middle;
        else
            high = middle;
    }
    out->row = low * BLOCK;
    out->begin = p->starts[low];
    uint64_t count = p->rows - out->row < BLOCK ? p->rows - out->row : BLOCK;
    if (!read_lengths(&p->source, out->row, count, lengths))
        return;
    for (uint64_t places; i < count; i++, out->begin += places) {
        places = places_of(&p->rule, lengths[i]);
        if (out->begin + places > out->at)
            break;
    }
    out->row += i;
}

bool mldfi_packing_concat_next(const struct packing *p, struct packing_cursor *c, struct packing_piece *out) {
    while (c->row < p->rows && c->at < c->end) {
        uint64_t row = c->row, length = length_of(p, row), begin = c->begin, lead = p->rule.bos != 0;
        uint64_t end = begin + places_of(&p->rule, length), stop = end < c->end ? end : c->end;
        if (stop == end) {
            c->row++;
            c->begin = end;
        }
        if (stop <= c->at)
            continue; /* an empty row */
        uint64_t from = c->at - begin, to = stop - begin;
        c->at = stop;
        c->bos = lead && from == 0;
        c->eos = p->rule.eos && stop == end;
        from = from > lead ? from - lead : 0;
        to = to > lead ? to - lead : 0;
        *out = (struct packing_piece){row, (uint32_t)from, (uint32_t)((to < length ? to : length) - from)};
        return true;
    }
    return false;
}

/* ---- Making ------------------------------------------------------------------------------------------------------------------------ */

/* What goes from one row to the next. */
struct run {
    uint64_t at, used; /* places so far, and of the last sequence */
    uint32_t in_bin;
};

static mldf_status add_rows(struct packing *p, struct run *run, const uint64_t *lengths, uint64_t first, uint64_t count,
                            mldf_error *err) {
    uint64_t length = p->rule.length, more = mldfi_packing_whole(&p->rule, 0), at = run->at, used = run->used;
    uint64_t placed = p->placed, pieces = p->pieces;
    uint32_t in_bin = run->in_bin, most = p->most_pieces;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t tokens = lengths[i], end = used + tokens + more;
        if (i % BLOCK == 0)
            p->starts[(first + i) / BLOCK] = at;
        if (!mldfi_packing_is_there(tokens)) {
            p->empty += tokens == 0;
            p->nulls += tokens != 0;
            continue;
        }
        if (tokens > UINT32_MAX - 2)
            return mldfi_fail(err, MLDF_E_LIMIT,
                              "document %" PRIu64 " has %" PRIu64 " tokens; a plan holds up to 2^32 - 3", first + i,
                              tokens);
        at += tokens + more;
        placed += tokens;
        pieces++;
        in_bin = used ? in_bin + 1 : 1;
        most = in_bin > most ? in_bin : most;
        if (end > length) { /* divided only here: most documents end in the sequence that they begin in */
            pieces += (end - 1) / length;
            p->cut++;
            in_bin = 1;
            end %= length;
        }
        used = end == length ? 0 : end;
    }
    *run = (struct run){at, used, in_bin};
    p->placed = placed;
    p->pieces = pieces;
    p->most_pieces = most;
    return MLDF_OK;
}

static mldf_status add_all(struct packing *p, XXH64_state_t *hash, mldf_error *err) {
    uint64_t lengths[CHUNK], blocks = (p->rows + BLOCK - 1) / BLOCK;
    struct run run = {0};
    XXH64_reset(hash, 0);
    for (uint64_t at = 0; at < p->rows; at += CHUNK) {
        uint64_t count = p->rows - at < CHUNK ? p->rows - at : CHUNK;
        if (!read_lengths(&p->source, at, count, lengths))
            return MLDF_END;
        XXH64_update(hash, lengths, (size_t)count * sizeof *lengths);
        TRY(add_rows(p, &run, lengths, at, count, err));
    }
    p->starts[blocks] = run.at;
    p->lengths_hash = XXH64_digest(hash);
    p->bins = run.at / p->rule.length + (run.at % p->rule.length != 0);
    return MLDF_OK;
}

mldf_status mldfi_packing_concat(const struct packing_rule *rule, struct packing_source source, uint64_t rows,
                                 struct packing *out, mldf_error *err) {
    memset(out, 0, sizeof *out);
    TRY(mldfi_packing_check_rule(rule, err));
    out->rule = *rule;
    out->version = PACKING_VERSION;
    out->rows = rows;
    out->wide = rows > UINT32_MAX;
    out->source = source;
    out->starts = mldfi_alloc_zero((size_t)(rows / BLOCK) + 2, sizeof *out->starts, err);
    if (!out->starts)
        return MLDF_E_MEMORY;
    XXH64_state_t *hash = XXH64_createState();
    mldf_status status = hash ? add_all(out, hash, err) : mldfi_fail_memory(err, 0);
    XXH64_freeState(hash);
    return status;
}
