/* Pack plans: which pieces of which documents make each sequence of a fixed number of tokens (a bin). A plan is made from the documents' lengths
 * alone (packing_fit.c; end to end: packing_concat.c), or is a view of section 11 of a file (packing_section.c). Pure functions: no I/O, no threads.
 *
 *     bin b has the pieces first(b) … first(b + 1); a piece is tokens [from, from + length) of a document (a row of the file)
 *
 * A document that is not empty is the sequence bos? ∥ its tokens ∥ eos?. bos stands only in its first piece (from = 0), eos only in its last
 * (from + length = its tokens). Empty documents and nulls give nothing. */
#ifndef MLDF_FORMAT_PACKING_H
#define MLDF_FORMAT_PACKING_H

#include "mldf/base.h"
#include "util/bytes.h"

enum { PACKING_BEST_FIT = 1, PACKING_NEXT_FIT = 2, PACKING_CONCAT = 3 }; /* numbers as in a file */
enum { PACKING_CUT = 0, PACKING_TRUNCATE = 1, PACKING_DROP = 2 }; /* what becomes of documents longer than a bin */
enum { PACKING_VERSION = 1 };                                     /* of the algorithms */
#define PACKING_NULL UINT64_MAX                                   /* the length of a null */

/* What a plan was made by: its key. Two plans of a field with equal keys are the same plan. */
struct packing_rule {
    uint32_t length;     /* of a bin in tokens, bos and eos counted */
    uint32_t align;      /* pieces begin at multiples of it; divides length; at least 1 */
    uint32_t max_pieces; /* in a bin; 0: any number */
    uint32_t bos, eos;   /* the id + 1; 0: not added */
    uint8_t algorithm;
    uint8_t long_documents;
    uint64_t seed; /* best-fit: documents that take equal places come in a random order; 0: by their numbers */
    bool
        ranked; /* best-fit: the plan says which pieces take equal places (struct packing_ranks). Not part of what is stored */
    /* Is called for each large block of memory that the plan takes, before it is used: huge pages may be asked for. NULL: nobody is. */
    void (*large)(void *memory, size_t bytes);
};

struct packing_piece {
    uint64_t document;
    uint32_t from, length;
};

/* Pieces that take equal places may change places with one another, and every sequence is still full as it was. Pieces beyond those that fill a bin alone
 * are ranked, the longest first: those of `size` places have the ranks [ends[size + 1], ends[size]). */
struct packing_ranks {
    uint64_t full;   /* pieces of the table that fill a bin alone: they are the first ones */
    uint64_t *ends;  /* by size, to length + 1 */
    uint32_t *rank;  /* of piece full + i */
    uint32_t *piece; /* of a rank: its number, less full */
};

/* Where the lengths of a concat plan come from. */
struct packing_source {
    /* The lengths of rows [first, first + count). The same at every call. False: it cannot say. NULL: `state` is an array of them. */
    bool (*read)(const void *state, uint64_t first, uint64_t count, uint64_t *out);
    const void *state;
};

struct packing {
    struct packing_rule rule;
    uint64_t bins, pieces;
    uint64_t rows;                /* that were planned: the first ones of the file */
    uint64_t placed, left_out;    /* tokens of documents */
    uint64_t cut;                 /* documents in more than one piece, or truncated */
    uint64_t lengths_hash;        /* XXH64 of the rows' lengths as u64, PACKING_NULL for nulls */
    uint32_t most_pieces;         /* in one bin */
    uint16_t field;               /* in a file */
    uint8_t version;              /* of the algorithm that made it */
    bool wide;                    /* documents are u64 in the table, not u32 */
    const uint8_t *first, *table; /* u64[bins + 1]; pieces of 12 or 16 bytes. NULL with concat */
    uint64_t *starts;             /* concat: where each block of rows begins in the run of all documents; one more */
    struct packing_source source; /* concat: the caller's */
    uint64_t empty, nulls;        /* concat: rows of no tokens, rows that are null */
    struct packing_ranks *ranks;  /* rule.ranked */
    void *memory;                 /* owned: what first and table point into; NULL: a view */
};

/* MLDF_E_ARGUMENT when a rule makes no sense. */
mldf_status mldfi_packing_check_rule(const struct packing_rule *rule, mldf_error *err);
bool mldfi_packing_same_rule(const struct packing_rule *a, const struct packing_rule *b);
/* Makes a plan. The same lengths and rule give the same plan. `lengths` must outlive a concat plan. A document of 2^32 tokens or more is
 * MLDF_E_LIMIT. Start with {0}; free it in any case. */
mldf_status mldfi_packing_make(const struct packing_rule *rule, const uint64_t *lengths, uint64_t rows,
                               struct packing *out, mldf_error *err);
void mldfi_packing_free(struct packing *packing);
uint64_t mldfi_packing_hash(const uint64_t *lengths, uint64_t rows);

/* Pieces of bin b: numbers [*begin, *end). O(1); for best-fit and next-fit. A damaged table gives an empty bin. */
static inline void mldfi_packing_bin(const struct packing *p, uint64_t bin, uint64_t *begin, uint64_t *end) {
    *begin = mldfi_load_u64(p->first + 8 * bin);
    *end = mldfi_load_u64(p->first + 8 * bin + 8);
    if (*begin > *end || *end > p->pieces)
        *begin = *end = 0;
}
static inline void mldfi_packing_piece(const struct packing *p, uint64_t index, struct packing_piece *out) {
    const uint8_t *at = p->table + (p->wide ? 16 : 12) * index;
    out->document = p->wide ? mldfi_load_u64(at) : mldfi_load_u32(at);
    at += p->wide ? 8 : 4;
    out->from = mldfi_load_u32(at);
    out->length = mldfi_load_u32(at + 4);
}
/* The pieces of a concat bin, one after the other. False: the bin is complete. A bin may end between bos and the first token, or before eos: so a piece
 * may have no token, and the cursor says which ends the last piece has. */
struct packing_cursor {
    uint64_t row, begin; /* the next row, and where it begins in the run of all documents */
    uint64_t at, end;    /* the next place there, and the bin's end */
    bool bos, eos;       /* of the piece that was given last */
};
void mldfi_packing_concat_begin(const struct packing *p, uint64_t bin, struct packing_cursor *out);
bool mldfi_packing_concat_next(const struct packing *p, struct packing_cursor *cursor, struct packing_piece *out);

/* Where a row (or the number of rows: the end) begins in the run of all documents. */
uint64_t mldfi_packing_concat_place(const struct packing *p, uint64_t row);
/* A concat plan in one pass over the lengths, of which none is kept: the sums of blocks of rows are. `source` must outlive the plan. MLDF_END: it
 * cannot say. */
mldf_status mldfi_packing_concat(const struct packing_rule *rule, struct packing_source source, uint64_t rows,
                                 struct packing *out, mldf_error *err);

/* A document with its ends: what it takes. */
static inline uint64_t mldfi_packing_whole(const struct packing_rule *r, uint64_t tokens) {
    return tokens + (r->bos != 0) + (r->eos != 0);
}
static inline bool mldfi_packing_is_there(uint64_t tokens) {
    return tokens != 0 && tokens != PACKING_NULL;
}

/* Tokens that a piece takes, bos and eos counted; `tokens` are those of its document. */
static inline uint64_t mldfi_packing_places(const struct packing_rule *rule, const struct packing_piece *piece,
                                            uint64_t tokens) {
    return (uint64_t)piece->length + (rule->bos && piece->from == 0) +
           (rule->eos && (uint64_t)piece->from + piece->length == tokens);
}

/* ---- Section 11 (packing_section.c) ------------------------------------------------------------------------------------------------ */

enum { PACKING_HEAD = 8, PACKING_HEADER = 128, PACKING_PLANS = 64 };

/* The plans of a section of `bytes` bytes: views into it, which need `count` entries of out (PACKING_PLANS). A section of another version
 * has none. err->offset: the byte of the section. */
mldf_status mldfi_packing_read(const uint8_t *section, uint64_t bytes, uint64_t param, uint64_t fields,
                               uint64_t samples, struct packing *out, size_t *count, mldf_error *err);
/* Appends a section with these plans (none is concat). */
mldf_status mldfi_packing_write(const struct packing *plans, size_t count, mldf_buffer *out, mldf_error *err);

#endif
