/* Making a pack plan (packing.h).
 *
 * best-fit: documents longer than a bin are cut into full bins and one rest; what is shorter than a bin is sorted by length, longest first, equal
 * ones by document, or with a seed by a hash of it (a counting sort), and each goes into the fullest bin that takes it. Bins of equal room are a stack. The bins that have room r
 * are found through a bitmap over r with two summaries above it: the next set bit is three steps away. So a plan costs O(documents + length).
 * next-fit: documents in their order; what does not fit opens a new bin. concat: all documents end to end, cut every `length` tokens. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/format.h"
#include "format/packing.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/random.h"

enum { LENGTH_MOST = 1 << 30, ENDS_LEAST = 4 };

mldf_status mldfi_packing_check_rule(const struct packing_rule *r, mldf_error *err) {
    if (r->length < 1 || r->length > LENGTH_MOST)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "a length of %" PRIu32 " tokens; 1 to %d are possible", r->length,
                          LENGTH_MOST);
    if (r->align < 1 || r->length % r->align)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "an alignment of %" PRIu32 " does not divide the length %" PRIu32,
                          r->align, r->length);
    if ((r->bos || r->eos) && r->length < ENDS_LEAST)
        return mldfi_fail(err, MLDF_E_ARGUMENT,
                          "a length of %" PRIu32 " tokens with bos or eos; at least %d are needed", r->length,
                          ENDS_LEAST);
    if (r->algorithm < PACKING_BEST_FIT || r->algorithm > PACKING_CONCAT)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "packing algorithm %u is not known", r->algorithm);
    if (r->long_documents > PACKING_DROP)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "rule %u for long documents is not known", r->long_documents);
    if (r->algorithm == PACKING_CONCAT && (r->align != 1 || r->max_pieces || r->long_documents != PACKING_CUT))
        return mldfi_fail(err, MLDF_E_ARGUMENT,
                          "concat cuts documents wherever a sequence ends: it has no align, max_pieces or long");
    if (r->seed && r->algorithm != PACKING_BEST_FIT)
        return mldfi_fail(err, MLDF_E_ARGUMENT,
                          "a seed is for best-fit: next-fit and concat keep the documents' order");
    return MLDF_OK;
}

bool mldfi_packing_same_rule(const struct packing_rule *a, const struct packing_rule *b) {
    return a->length == b->length && a->align == b->align && a->max_pieces == b->max_pieces && a->bos == b->bos &&
           a->eos == b->eos && a->algorithm == b->algorithm && a->long_documents == b->long_documents &&
           a->seed == b->seed;
}

uint64_t mldfi_packing_hash(const uint64_t *lengths, uint64_t rows) {
    return mldfi_key_hash(lengths, (size_t)(8 * rows));
}

void mldfi_packing_free(struct packing *p) {
    if (p->ranks) {
        free(p->ranks->ends);
        free(p->ranks->rank);
        free(p->ranks->piece);
        free(p->ranks);
    }
    free(p->memory);
    free(p->starts);
    memset(p, 0, sizeof *p);
}

enum { LARGE = 4 << 20 };

static void *take_block(const struct packing_rule *r, uint64_t count, size_t bytes, mldf_error *err) {
    void *memory = mldfi_alloc((size_t)count * bytes, err);
    if (memory && r->large && count * bytes >= LARGE)
        r->large(memory, (size_t)count * bytes);
    return memory;
}

/* ---- Documents --------------------------------------------------------------------------------------------------------------------- */

/* How a document is divided: `full` pieces that take a bin each, then a rest of `rest` places (0: none). With eos a rest of eos alone takes a token of
 * the piece before, which is then one shorter. */
struct division {
    uint64_t full;
    uint32_t rest;
    bool short_last; /* the last full piece is one token shorter */
};

static inline struct division divide(const struct packing_rule *r, uint64_t tokens) {
    uint64_t places = mldfi_packing_whole(r, tokens);
    struct division d = {0, 0, false};
    if (places <= r->length) {
        if (places == r->length)
            d.full = 1;
        else
            d.rest = (uint32_t)places;
        return d;
    }
    if (r->long_documents == PACKING_DROP)
        return d;
    if (r->long_documents == PACKING_TRUNCATE) {
        d.full = 1;
        return d;
    }
    d.full = places / r->length;
    d.rest = (uint32_t)(places % r->length);
    if (r->eos && d.rest == 1) {
        d.rest = 2;
        d.short_last = true;
    }
    return d;
}

/* Piece k of a document in stored tokens. */
static inline void piece_of(const struct packing_rule *r, uint64_t document, uint64_t tokens, const struct division *d,
                            uint64_t k, struct packing_piece *out) {
    uint64_t begin = k * r->length, end = begin + r->length, lead = r->bos != 0;
    if (d->short_last)
        begin -= k == d->full, end -= k + 1 == d->full;
    if (k == d->full)
        end = begin + d->rest;
    begin = begin > lead ? begin - lead : 0; /* only the first piece has bos */
    end -= lead;
    if (r->long_documents == PACKING_TRUNCATE && r->eos && mldfi_packing_whole(r, tokens) > r->length && end >= tokens)
        end = tokens - 1; /* the document goes on: no eos */
    out->document = document;
    out->from = (uint32_t)begin;
    out->length = (uint32_t)((end < tokens ? end : tokens) - begin);
}

/* Of best-fit: what is counted in the same pass. */
struct tally {
    uint64_t *sizes; /* by size: rests of it */
    uint64_t rests, full;
};

static mldf_status count_documents(const struct packing_rule *r, const uint64_t *lengths, struct packing *p,
                                   struct tally *tally, mldf_error *err) {
    for (uint64_t i = 0; i < p->rows; i++) {
        if (!mldfi_packing_is_there(lengths[i]))
            continue;
        if (lengths[i] > UINT32_MAX - 2)
            return mldfi_fail(err, MLDF_E_LIMIT,
                              "document %" PRIu64 " has %" PRIu64 " tokens; a plan holds up to 2^32 - 3", i,
                              lengths[i]);
        struct division d = divide(r, lengths[i]);
        p->pieces += d.full + (d.rest != 0);
        if (tally) {
            tally->full += d.full;
            tally->rests += d.rest != 0;
            tally->sizes[d.rest]++; /* sizes[0] is of nothing */
        }
        if (d.full + (d.rest != 0) == 1 && mldfi_packing_whole(r, lengths[i]) <= r->length) { /* most of them */
            p->placed += lengths[i];
            continue;
        }
        p->cut += d.full + (d.rest != 0) > 1;
        uint64_t placed = lengths[i];
        if (mldfi_packing_whole(r, lengths[i]) > r->length && r->long_documents == PACKING_DROP)
            placed = 0;
        else if (mldfi_packing_whole(r, lengths[i]) > r->length && r->long_documents == PACKING_TRUNCATE) {
            placed = r->length - (r->bos != 0);
            if (placed >= lengths[i])
                placed = lengths[i] - (r->eos != 0);
            p->cut++;
        }
        p->placed += placed;
        p->left_out += lengths[i] - placed;
    }
    return MLDF_OK;
}

/* ---- The table that is filled ------------------------------------------------------------------------------------------------------- */

static inline void put_piece(const struct packing *p, uint8_t *table, uint64_t index,
                             const struct packing_piece *piece) {
    uint8_t *at = table + (p->wide ? 16 : 12) * index;
    if (p->wide)
        mldfi_store_u64(at, piece->document), at += 8;
    else
        mldfi_store_u32(at, (uint32_t)piece->document), at += 4;
    mldfi_store_u32(at, piece->from);
    mldfi_store_u32(at + 4, piece->length);
}

static mldf_status take_memory(struct packing *p, uint64_t bins, mldf_error *err) {
    uint64_t bytes, table = p->pieces;
    if (!mldfi_mul_u64(table, p->wide ? 16 : 12, &table) || !mldfi_mul_u64(bins + 1, 8, &bytes) ||
        !mldfi_add_u64(bytes, table, &bytes) || bytes > SIZE_MAX / 2)
        return mldfi_fail_memory(err, SIZE_MAX);
    p->memory = take_block(&p->rule, bytes ? bytes : 1, 1, err);
    if (!p->memory)
        return MLDF_E_MEMORY;
    p->bins = bins;
    p->first = p->memory;
    p->table = p->first + 8 * (bins + 1);
    return MLDF_OK;
}

/* ---- Bins by their room -------------------------------------------------------------------------------------------------------------- */

struct open_bin {
    uint32_t next; /* the bin that came to this room before; UINT32_MAX: none */
    uint32_t pieces;
};

struct rooms {
    uint64_t *bits[3]; /* bits[1] and bits[2] say which words below are not 0 */
    size_t words[3];
    uint32_t *head; /* by room: the bin that came to it last; valid where its bit is set */
    struct open_bin *bins;
};

static inline void rooms_set(struct rooms *s, uint32_t room) {
    s->bits[0][room >> 6] |= UINT64_C(1) << (room & 63);
    s->bits[1][room >> 12] |= UINT64_C(1) << (room >> 6 & 63);
    s->bits[2][room >> 18] |= UINT64_C(1) << (room >> 12 & 63);
}

static inline void rooms_clear(struct rooms *s, uint32_t room) {
    if (s->bits[0][room >> 6] &= ~(UINT64_C(1) << (room & 63)))
        return;
    if (s->bits[1][room >> 12] &= ~(UINT64_C(1) << (room >> 6 & 63)))
        return;
    s->bits[2][room >> 18] &= ~(UINT64_C(1) << (room >> 12 & 63));
}

/* The least room from `least` on that a bin has; UINT32_MAX: none. */
static inline uint32_t rooms_find(const struct rooms *s, uint32_t least) {
    uint64_t word = s->bits[0][least >> 6] >> (least & 63);
    if (word)
        return least + (uint32_t)__builtin_ctzll(word);
    size_t at = (least >> 6) + 1; /* a word of level 0 */
    if (at >= s->words[0])
        return UINT32_MAX;
    word = s->bits[1][at >> 6] >> (at & 63);
    if (!word) {
        size_t up = (at >> 6) + 1; /* a word of level 1 */
        if (up >= s->words[1])
            return UINT32_MAX;
        word = s->bits[2][up >> 6] >> (up & 63);
        if (word) {
            up += (size_t)__builtin_ctzll(word);
        } else {
            size_t top = (up >> 6) + 1;
            while (top < s->words[2] && !s->bits[2][top])
                top++;
            if (top >= s->words[2])
                return UINT32_MAX;
            up = top * 64 + (size_t)__builtin_ctzll(s->bits[2][top]);
        }
        at = up * 64;
        word = s->bits[1][up];
    }
    at += (size_t)__builtin_ctzll(word);
    return (uint32_t)(at * 64) + (uint32_t)__builtin_ctzll(s->bits[0][at]);
}

static mldf_status rooms_begin(struct rooms *s, const struct packing_rule *r, uint64_t bins, mldf_error *err) {
    size_t words = ((size_t)r->length >> 6) + 1;
    for (int i = 0; i < 3; i++, words = (words >> 6) + 1) {
        s->words[i] = words;
        s->bits[i] = mldfi_alloc_zero(words, 8, err);
    }
    s->head = mldfi_alloc(((size_t)r->length + 1) * sizeof *s->head, err);
    s->bins = take_block(r, bins + 1, sizeof *s->bins, err);
    return s->bits[0] && s->bits[1] && s->bits[2] && s->head && s->bins ? MLDF_OK : MLDF_E_MEMORY;
}

static void rooms_end(struct rooms *s) {
    for (int i = 0; i < 3; i++)
        free(s->bits[i]);
    free(s->head);
    free(s->bins);
}

/* ---- Best fit ------------------------------------------------------------------------------------------------------------------------ */

/* What remains of a document besides full bins. Documents and their rests are kept together, so that sorting and placing touch memory once. */
struct rest {
    uint32_t document;
    uint32_t places; /* REST_CUT: full pieces of the document stand before it */
};
#define REST_CUT (UINT32_C(1) << 31)

struct best_fit {
    struct rooms rooms;
    uint64_t *starts;   /* by length: where it begins in order */
    struct rest *order; /* rests shorter than a bin, longest first */
    uint32_t *bin;      /* where each went */
    uint64_t rests, full;
};

static inline uint32_t aligned(const struct packing_rule *r, uint32_t size) {
    return r->align == 1 ? size : (size + r->align - 1) / r->align * r->align;
}

/* Counting sort by the rest, longest first; equal ones keep their order. starts begins as the number of rests of each size. */
static mldf_status sort_rests(struct best_fit *b, const struct packing_rule *r, const uint64_t *lengths, uint64_t rows,
                              mldf_error *err) {
    uint64_t at = 0;
    for (uint32_t size = r->length; size > 0; size--) {
        uint64_t count = b->starts[size];
        b->starts[size] = at;
        at += count;
    }
    b->order = take_block(r, b->rests + 1, sizeof *b->order, err);
    b->bin = take_block(r, b->rests + 1, sizeof *b->bin, err);
    if (!b->order || !b->bin)
        return MLDF_E_MEMORY;
    for (uint64_t i = 0; i < rows; i++) {
        if (!mldfi_packing_is_there(lengths[i]))
            continue;
        struct division d = divide(r, lengths[i]);
        if (!d.rest)
            continue;
        b->order[b->starts[d.rest]++] = (struct rest){(uint32_t)i, d.rest | (d.full ? REST_CUT : 0)};
    }
    return MLDF_OK;
}

/* A rest and its place among those that take as much. */
struct drawn {
    uint64_t key;
    struct rest rest;
};

static int by_key(const void *a, const void *b) {
    const struct drawn *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->rest.document < y->rest.document ? -1 : x->rest.document > y->rest.document;
}

/* seed: those that take equal places go by a hash of their document. After sorting, starts[size] is where the ones of that size end. */
static mldf_status shuffle_ties(struct best_fit *b, const struct packing_rule *r, mldf_error *err) {
    uint64_t begin = 0, most = 0, key = mldfi_mix64(r->seed);
    for (uint32_t size = r->length; size > 0; begin = b->starts[size--])
        most = b->starts[size] - begin > most ? b->starts[size] - begin : most;
    struct drawn *drawn = mldfi_alloc((size_t)(most + 1) * sizeof *drawn, err);
    if (!drawn)
        return MLDF_E_MEMORY;
    begin = 0;
    for (uint32_t size = r->length; size > 0; begin = b->starts[size--]) {
        size_t count = (size_t)(b->starts[size] - begin);
        for (size_t i = 0; i < count; i++)
            drawn[i] = (struct drawn){mldfi_mix64(key + b->order[begin + i].document), b->order[begin + i]};
        if (count > 1)
            qsort(drawn, count, sizeof *drawn, by_key);
        for (size_t i = 0; i < count; i++)
            b->order[begin + i] = drawn[i].rest;
    }
    free(drawn);
    return MLDF_OK;
}

/* Each rest into the fullest bin that takes it. Returns the number of bins. */
static uint32_t place_rests(struct best_fit *b, const struct packing_rule *r) {
    struct rooms *s = &b->rooms;
    uint32_t bins = 0;
    for (uint64_t i = 0; i < b->rests; i++) {
        uint32_t size = aligned(r, b->order[i].places & ~REST_CUT), room = rooms_find(s, size), bin;
        if (room == UINT32_MAX) {
            bin = bins++;
            s->bins[bin].pieces = 0;
            room = r->length;
        } else {
            bin = s->head[room];
            if ((s->head[room] = s->bins[bin].next) == UINT32_MAX)
                rooms_clear(s, room);
            else
                __builtin_prefetch(&s->bins[s->head[room]], 1); /* it is the next one, mostly */
        }
        b->bin[i] = bin;
        room -= size;
        if (++s->bins[bin].pieces == r->max_pieces || room == 0)
            continue;
        bool others = s->bits[0][room >> 6] >> (room & 63) & 1;
        s->bins[bin].next = others ? s->head[room] : UINT32_MAX;
        s->head[room] = bin;
        if (!others)
            rooms_set(s, room);
    }
    return bins;
}

static void write_full(const struct packing *p, const uint64_t *lengths, uint8_t *first, uint8_t *table) {
    uint64_t at = 0;
    for (uint64_t i = 0; i < p->rows; i++) {
        if (!mldfi_packing_is_there(lengths[i]) || mldfi_packing_whole(&p->rule, lengths[i]) < p->rule.length)
            continue;
        struct division d = divide(&p->rule, lengths[i]);
        for (uint64_t k = 0; k < d.full; k++, at++) {
            struct packing_piece piece;
            piece_of(&p->rule, i, lengths[i], &d, k, &piece);
            mldfi_store_u64(first + 8 * at, at);
            put_piece(p, table, at, &piece);
        }
    }
}

enum { AHEAD = 12 };

/* Bins that one piece fills come first, in the order of documents; then the others in the order in which they were opened. */
static mldf_status write_bins(struct best_fit *b, struct packing *p, const uint64_t *lengths, uint32_t bins,
                              mldf_error *err) {
    TRY(take_memory(p, b->full + bins, err));
    uint8_t *first = p->memory, *table = first + 8 * (p->bins + 1);
    write_full(p, lengths, first, table);
    struct open_bin *open =
        b->rooms.bins; /* `next` becomes the place of a bin's next piece, counted from the first rest */
    uint32_t at = 0;
    p->most_pieces = b->full ? 1 : 0;
    for (uint32_t bin = 0; bin < bins; bin++) {
        uint32_t pieces = open[bin].pieces;
        mldfi_store_u64(first + 8 * (b->full + bin), b->full + at);
        open[bin].next = at;
        at += pieces;
        p->most_pieces = pieces > p->most_pieces ? pieces : p->most_pieces;
    }
    mldfi_store_u64(first + 8 * p->bins, b->full + at);
    uint32_t ends = (p->rule.bos != 0) + (p->rule.eos != 0);
    size_t entry = p->wide ? 16 : 12;
    for (uint64_t i = 0; i < b->rests; i++) {
        struct rest rest = b->order[i];
        struct packing_piece piece = {rest.document, 0, rest.places - ends};
        if (i + 2 * AHEAD < b->rests) { /* bins and documents are anywhere: their memory, then that of the pieces */
            if (b->order[i + 2 * AHEAD].places & REST_CUT)
                __builtin_prefetch(&lengths[b->order[i + 2 * AHEAD].document]);
            __builtin_prefetch(&open[b->bin[i + 2 * AHEAD]], 1);
            __builtin_prefetch(table + entry * (b->full + open[b->bin[i + AHEAD]].next), 1);
        }
        if (rest.places & REST_CUT) {
            struct division d = divide(&p->rule, lengths[rest.document]);
            piece_of(&p->rule, rest.document, lengths[rest.document], &d, d.full, &piece);
        }
        uint32_t to = open[b->bin[i]].next++;
        put_piece(p, table, b->full + to, &piece);
        if (p->ranks) {
            p->ranks->rank[to] = (uint32_t)i;
            p->ranks->piece[i] = to;
        }
    }
    return MLDF_OK;
}

/* After sorting, starts[size] is where the rests of that size end: what ranks need. */
static mldf_status begin_ranks(struct best_fit *b, struct packing *p, mldf_error *err) {
    struct packing_ranks *ranks = p->ranks = mldfi_alloc_zero(1, sizeof *ranks, err);
    if (!ranks)
        return MLDF_E_MEMORY;
    ranks->full = b->full;
    ranks->rank = take_block(&p->rule, b->rests + 1, sizeof *ranks->rank, err);
    ranks->piece = take_block(&p->rule, b->rests + 1, sizeof *ranks->piece, err);
    ranks->ends = mldfi_alloc_zero((size_t)p->rule.length + 2, sizeof *ranks->ends, err);
    if (!ranks->rank || !ranks->piece || !ranks->ends)
        return MLDF_E_MEMORY;
    memcpy(ranks->ends, b->starts, ((size_t)p->rule.length + 1) * sizeof *ranks->ends);
    return MLDF_OK;
}

static mldf_status best_fit(struct packing *p, const uint64_t *lengths, mldf_error *err) {
    struct best_fit b = {0};
    if (p->rows >= UINT32_MAX)
        return mldfi_fail(err, MLDF_E_LIMIT, "%" PRIu64 " rows; best-fit plans up to 2^32 - 2", p->rows);
    struct tally tally = {mldfi_alloc_zero((size_t)p->rule.length + 2, sizeof *tally.sizes, err), 0, 0};
    b.starts = tally.sizes;
    mldf_status status = b.starts ? count_documents(&p->rule, lengths, p, &tally, err) : MLDF_E_MEMORY;
    b.rests = tally.rests;
    b.full = tally.full;
    if (status >= 0)
        status = sort_rests(&b, &p->rule, lengths, p->rows, err);
    if (status >= 0 && p->rule.seed)
        status = shuffle_ties(&b, &p->rule, err);
    if (status >= 0 && p->rule.ranked)
        status = begin_ranks(&b, p, err);
    if (status >= 0)
        status = rooms_begin(&b.rooms, &p->rule, b.rests, err);
    if (status >= 0)
        status = write_bins(&b, p, lengths, place_rests(&b, &p->rule), err);
    rooms_end(&b.rooms);
    free(b.starts);
    free(b.order);
    free(b.bin);
    return status;
}

/* ---- Next fit ------------------------------------------------------------------------------------------------------------------------ */

/* Runs through all pieces; with `first` NULL it only counts the bins. */
static uint64_t next_fit_pass(struct packing *p, const uint64_t *lengths, uint8_t *first, uint8_t *table) {
    const struct packing_rule *r = &p->rule;
    uint64_t bins = 0, at = 0;
    uint32_t room = 0, in_bin = 0;
    for (uint64_t i = 0; i < p->rows; i++) {
        if (!mldfi_packing_is_there(lengths[i]))
            continue;
        struct division d = divide(r, lengths[i]);
        for (uint64_t k = 0; k < d.full + (d.rest != 0); k++, at++) {
            struct packing_piece piece;
            piece_of(r, i, lengths[i], &d, k, &piece);
            uint32_t size = aligned(r, k < d.full ? r->length : d.rest);
            if (size > room || (r->max_pieces && in_bin == r->max_pieces)) {
                if (first)
                    mldfi_store_u64(first + 8 * bins, at);
                bins++;
                room = r->length;
                in_bin = 0;
            }
            room -= size;
            if (++in_bin > p->most_pieces)
                p->most_pieces = in_bin;
            if (table)
                put_piece(p, table, at, &piece);
        }
    }
    if (first)
        mldfi_store_u64(first + 8 * bins, at);
    return bins;
}

static mldf_status next_fit(struct packing *p, const uint64_t *lengths, mldf_error *err) {
    TRY(take_memory(p, next_fit_pass(p, lengths, NULL, NULL), err));
    uint8_t *first = p->memory;
    next_fit_pass(p, lengths, first, first + 8 * (p->bins + 1));
    return MLDF_OK;
}

mldf_status mldfi_packing_make(const struct packing_rule *rule, const uint64_t *lengths, uint64_t rows,
                               struct packing *out, mldf_error *err) {
    if (rule->algorithm == PACKING_CONCAT)
        return mldfi_packing_concat(rule, (struct packing_source){NULL, lengths}, rows, out, err);
    mldf_status status = mldfi_packing_check_rule(rule, err);
    memset(out, 0, sizeof *out);
    out->rule = *rule;
    out->version = PACKING_VERSION;
    out->rows = rows;
    out->wide = rows > UINT32_MAX;
    if (status >= 0 && rule->algorithm == PACKING_NEXT_FIT)
        status = count_documents(rule, lengths, out, NULL, err);
    if (status < 0)
        return status;
    out->lengths_hash = mldfi_packing_hash(lengths, rows);
    return rule->algorithm == PACKING_BEST_FIT ? best_fit(out, lengths, err) : next_fit(out, lengths, err);
}
