/* Packed sequences from the inside: documents cut into pieces, pieces put together into sequences of one length (docs/guides/packed-sequences.md).
 *
 *   view_packed.c       the map: parameters, fields of an item, places
 *   packed_parameters.c ids and objectives held against the field's vocabulary
 *   packed_plan.c       lengths of documents; plans that are stored or made; item → pieces
 *   packed_item.c       the pieces of one item with their tokens
 *   packed_output.c     tokens, labels, positions ... of an item, written to where they are wanted
 *   packed_objective.c  fill in the middle, masked tokens
 *   packed_parts.c      documents of several parts: tokens, and runs of placeholders for images
 *
 * A document is a row; of a token stream, one of the documents of its rows; of multimodal samples, a row or what was cut of one, so that no image is
 * cut. */
#ifndef MLDF_ITEMS_PACKED_H
#define MLDF_ITEMS_PACKED_H

#include "format/packing.h"
#include "items/items.h"

/* Parameters, in the order of the text. Those from PAD to DTYPE change what an item shows, not which items there are. */
enum {
    PACKED_LENGTH,
    PACKED_ALGORITHM,
    PACKED_ALIGN,
    PACKED_LONG,
    PACKED_MAX_PIECES,
    PACKED_BOS,
    PACKED_EOS,
    PACKED_PER_FILE,
    PACKED_SEED,
    PACKED_RESEED,
    PACKED_OBJECTIVE,
    PACKED_FIM_RATE,
    PACKED_FIM_SPM,
    PACKED_FIM_PREFIX,
    PACKED_FIM_MIDDLE,
    PACKED_FIM_SUFFIX,
    PACKED_MLM_P,
    PACKED_MLM_MASK,
    PACKED_MLM_RANDOM,
    PACKED_MLM_KEEP,
    PACKED_PAD,
    PACKED_ENDS,
    PACKED_SHIFT,
    PACKED_POSITIONS,
    PACKED_BASE,
    PACKED_CU,
    PACKED_MAX,
    PACKED_TARGET,
    PACKED_DTYPE,
    PACKED_IMAGE_ID, /* to MISSING: of documents of several parts */
    PACKED_IMAGE,
    PACKED_IMAGE_TOKENS,
    PACKED_PATCH,
    PACKED_MISSING,
    PACKED_PARAMS
};
enum { OBJECTIVE_CAUSAL, OBJECTIVE_FIM, OBJECTIVE_MLM };
enum { RESEED_NEVER, RESEED_EPOCH };
enum { ENDS_MASK, ENDS_NEXT };
enum { POSITIONS_PIECE, POSITIONS_DOCUMENT };
enum { CU_ROWS, CU_FLAT, CU_RAGGED };
enum { MAX_OBSERVED, MAX_LENGTH };
enum { DTYPE_I64, DTYPE_I32 };

#define LABEL_NONE (-100) /* what losses ignore */
enum { FIM_LEAST = 8 };   /* shorter pieces are left alone */

enum packed_kind {
    KIND_TOKENS,
    KIND_LABELS,
    KIND_POSITIONS,
    KIND_CU,
    KIND_MAX,
    KIND_SEGMENTS,
    KIND_CU_PADDED, /* with align > 1 */
    KIND_DOCUMENTS,
    KIND_LOSS,
    KIND_MASK,
    KIND_IMAGE_MASK, /* of documents of several parts */
    KIND_PARTS,
    KIND_COLUMN
};
enum { PACKED_COLUMNS = 32 };

/* A field of an item. */
struct packed_field {
    enum packed_kind kind;
    size_t column;
};
/* A side column of the tokens. */
struct packed_column {
    const char *name; /* the first reader's */
    mldf_dtype dtype;
    bool spans;
    size_t *fields; /* in each reader */
};

/* Documents of several parts. The stream of one is bos?, the tokens of its text parts and a run of placeholders for each image, in their order, eos?. */
struct packed_parts {
    size_t *image;    /* of each reader: the kind of its images */
    uint32_t *texts;  /* and its kinds of tokens, as bits */
    bool by_record;   /* the record of a sample says how long its stream is */
    int64_t bos, eos; /* -1: none. The plan knows nothing of them */
    int64_t image_id;
    uint32_t image_tokens, patch, missing; /* patch 0: image_tokens of every image; missing: of an image that is null */
    int long_documents;
};

/* A file whose index says how long its documents are. */
struct packed_index {
    const mldf_reader *reader;
    size_t field;
};

struct packed {
    struct packing *plans; /* one of all documents, or one for each reader */
    size_t plan_count;
    uint64_t *first_item, *first_document; /* of each plan; one more */
    mldf_buffer *sections;                 /* of stored plans, where a file is not mapped */
    uint64_t *lengths;                     /* of the documents of made plans; NULL: stored, or indices has them */
    struct packed_index *indices; /* by plan: what a concat plan reads its lengths from; NULL: from `lengths` */
    uint64_t *first_of_row;       /* streams: rows + 1 numbers of documents; NULL: a row is a document */
    uint64_t *starts;             /* streams: where a document begins in its row */
    uint32_t length, align, most_pieces;
    int64_t bos, eos, pad; /* -1: none */
    uint64_t vocabulary;   /* for random ids; 0: not known */
    bool wide;             /* tokens, labels, positions are i64 */
    int objective, ends, positions, cu;
    bool shift, target;
    struct packed_parts *parts; /* NULL: documents are tokens alone */
    int64_t base;
    mldf_dtype *dtypes; /* of the stored ids, by reader */
    struct packed_field fields[KIND_COLUMN + PACKED_COLUMNS];
    size_t field_count, default_count; /* the first ones come without being asked for */
    struct packed_column columns[PACKED_COLUMNS];
    size_t column_count;
};

/* ---- packed_parameters.c ------------------------------------------------------------------------------------------------------- */

/* A number that was given is whole, and from least to most. */
mldf_status mldfi_packed_check_whole(const mldf_view *view, int param, double least, double most, mldf_error *err);
/* bos, eos, pad and the vocabulary: what was given, and what the field's arguments say. */
mldf_status mldfi_packed_take_ids(mldf_view *view, mldf_error *err);
/* The objective with its parameters; after the ids. */
mldf_status mldfi_packed_take_objective(mldf_view *view, mldf_error *err);

/* ---- packed_plan.c ------------------------------------------------------------------------------------------------------------- */

/* Plans for the rule: stored ones where they fit, else made. Fills plans, first_item, first_document, lengths and the digest's 16 bytes. */
mldf_status mldfi_packed_plan(mldf_view *view, const struct packing_rule *rule, mldf_error *err);
/* The documents of all readers: p->lengths, and of streams first_of_row and starts; also where it fails. documents_of[i + 1]: those of readers to i. */
mldf_status mldfi_packed_measure(mldf_view *view, struct packed *p, uint64_t *documents_of, mldf_error *err);
void mldfi_packed_plan_free(struct packed *p, size_t readers);
/* The next multiple of `align`, which need not be a power of two. */
static inline uint64_t mldfi_packed_align(uint64_t at, uint32_t align) {
    return align == 1 ? at : (at + align - 1) / align * align;
}

/* The pieces of an item, one after the other. */
struct packed_walk {
    const struct packing *plan;
    uint64_t first_document;
    uint64_t at, end;
    struct packing_cursor cursor;
    bool concat;
    uint64_t epoch;
};
struct packed_step {
    uint64_t document; /* of all of them */
    uint64_t from, length;
    bool bos, eos; /* concat: known; else to be found out with the document's tokens */
};
/* epoch: which documents of equal length are where, with reseed. */
void mldfi_packed_walk(const mldf_view *view, uint64_t item, uint64_t epoch, struct packed_walk *out);
bool mldfi_packed_next(struct packed_walk *walk, struct packed_step *out);
/* Where a document is: reader, its row, and where it begins there; *tokens: how long it is, or MLDF_NONE: its row says. */
void mldfi_packed_document(const mldf_view *view, const struct packed *p, uint64_t document, uint32_t *reader,
                           uint64_t *row, uint64_t *begin, uint64_t *tokens);

/* The items that have a piece of documents [first, end), ascending; returns how many, and puts `room` of them. */
size_t mldfi_packed_find(const mldf_view *view, uint64_t first, uint64_t end, uint64_t epoch, uint64_t *items,
                         size_t room);

/* ---- packed_item.c ------------------------------------------------------------------------------------------------------------- */

struct packed_piece {
    const uint8_t *ids; /* the piece's first token; one more where `more` */
    mldf_dtype dtype;
    uint32_t reader;
    uint64_t row, document;
    uint64_t from, length; /* in the document */
    uint64_t row_from;     /* in the row */
    uint64_t tokens;       /* of the document */
    uint32_t begin;        /* place in the sequence */
    uint32_t places;
    bool bos, eos;
    bool more;     /* the document goes on behind the piece, with a stored token */
    bool more_eos; /* or with the eos that is added */
};
/* Is the piece its document's end, with eos where that is added? */
static inline bool mldfi_packed_ends_document(const struct packed_piece *e) {
    return !e->more && !e->more_eos && e->from + e->length == e->tokens;
}
/* An image of an item. */
struct packed_image {
    uint32_t reader, begin, count; /* its placeholders */
    uint64_t row, part;
    bool first; /* of its piece */
    bool null;
};
struct packed_item {
    const mldf_view *view;
    uint64_t item, draw, epoch;
    struct packed_piece *pieces; /* the view's most_pieces */
    bool *moved;                 /* by piece: its tokens are in the arena. Behind the pieces */
    size_t count;
    int64_t following;        /* ends=next: the token of the order after the item; LABEL_NONE: none */
    struct packed_piece next; /* the piece that it is the first token of; length 0: it is bos, eos or none */
    mldf_buffer arena;        /* tokens of pieces that are not in a mapping */
    mldf_buffer aside;
    int64_t *tokens; /* of an objective: length of them, and as many labels */
    struct packed_image *images;
    mldf_buffer whole;               /* a sample of several parts, where it is not mapped */
    const mldf_reader *whole_reader; /* whose row whole_row is whole_value; NULL: none */
    uint64_t whole_row;
    mldf_value whole_value;
    size_t image_count, image_capacity;
};
void mldfi_packed_item_free(struct packed_item *item);
/* The item at a place, gathered once and kept. */
mldf_status mldfi_packed_gather(const mldf_view *view, const mldf_reader *const *readers,
                                const struct item_place *place, struct item_cache *cache, struct packed_item **out,
                                mldf_error *err);

/* ---- packed_output.c ------------------------------------------------------------------------------------------------------------ */

/* Tokens, and labels, of an item as i64: what an objective changes. */
void mldfi_packed_tokens_i64(const struct packed *p, const struct packed_item *item, int64_t *out);
void mldfi_packed_labels_i64(const struct packed *p, const struct packed_item *item, int64_t *out);

/* ---- packed_parts.c -------------------------------------------------------------------------------------------------------------- */

/* Is the view's field one of multimodal samples? */
bool mldfi_packed_is_parts(const mldf_view *view);
/* The first reader's kind of tokens, whose arguments have the vocabulary; NULL: there is none. */
const struct schema_field *mldfi_packed_text_kind(const mldf_view *view);
/* Roles and parameters held against the fields of all readers; before the ids. */
mldf_status mldfi_packed_parts_open(mldf_view *view, mldf_error *err);
/* The ids are the stream's, not the plan's; after them. */
mldf_status mldfi_packed_parts_take(mldf_view *view, mldf_error *err);
void mldfi_packed_parts_free(struct packed *p);
/* Where a row's stream is cut: pieces {start, length}, no image in two of them, by `add`. A row that is null or damaged has the one length PACKING_NULL;
 * *odd says so. */
typedef mldf_status (*packed_cut)(void *user, uint64_t start, uint64_t length, mldf_error *err);
mldf_status mldfi_packed_parts_cut(const mldf_view *view, uint32_t reader, uint64_t row, mldf_buffer *scratch,
                                   packed_cut add, void *user, bool *odd, mldf_error *err);
/* One piece of an item: its stream into the item's arena as i64, its images into the item's list. at: its place in the sequence. */
mldf_status mldfi_packed_parts_piece(const mldf_view *view, const mldf_reader *const *readers,
                                     const struct packed_step *step, uint64_t at, struct packed_item *item,
                                     struct packed_piece *out, mldf_error *err);
/* The images of an item as a multimodal sample of the field's own, in scratch. */
mldf_status mldfi_packed_parts_value(const mldf_view *view, const mldf_reader *const *readers,
                                     const struct packed_item *item, size_t field, mldf_buffer *aside,
                                     mldf_buffer *scratch, mldf_value *out, mldf_error *err);
/* The arguments of that field. */
mldf_status mldfi_packed_parts_arguments(const mldf_view *view, mldf_buffer *out, mldf_error *err);

/* ---- packed_objective.c --------------------------------------------------------------------------------------------------------- */

/* Fills item->tokens and the labels behind them. */
mldf_status mldfi_packed_objective(const mldf_view *view, struct packed_item *item, mldf_error *err);

#endif
