/* Item maps: from an item's number to pieces of stored rows (mldf/view.h is the public face).
 *
 *   view.c        new, free, what a view tells            view_text.c   "windows(x, 1025)" → map, field, parameters; canonical text
 *   view_rows.c   rows             view_windows.c windows             view_expand.c expand           one file for each map
 *   view_packed.c packed: packed.h says more
 *   view_pow2.c   pow2: documents in pieces of powers of two
 *   view_segments.c segments       view_steps.c steps: steps.h says more
 *   row_table.c   row → items in front of it, made once; item → row in constant time
 *   item_value.c  the value of an item's field: pieces        item_element.c  the k-th entry of a row's value
 *
 * The words: a *position* is a place in an epoch, an *item* is what the order gives there, a *piece* is (reader, row, from, length). The order maps
 * positions to items, the view maps items to pieces; draws, buckets and substitutes stay keyed by the position. */
#ifndef MLDF_ITEMS_ITEMS_H
#define MLDF_ITEMS_ITEMS_H

#include "field/edge.h"
#include "mldf/view.h"
#include "reader/reader.h"

/* What becomes of a field. */
typedef enum item_mode {
    ITEM_ANCHOR, /* the value of the row that the item begins in */
    ITEM_CUT,    /* its pieces end to end along the first dimension (time) */
    ITEM_ELEMENT, /* the entry of the row's value that the item is: of an array along its first dimension, of a JSON array an element */
    ITEM_STACK /* one entry for each piece, along a new dimension */
} item_mode;

/* Where an item is: its first piece, and how long it is. */
struct item_place {
    uint64_t item, draw, epoch;
    uint64_t row; /* of the reader: the anchor */
    uint32_t reader;
    bool odd;            /* the row is null, or could not be measured: the item is what reading it gives */
    uint64_t within;     /* ELEMENT: which entry */
    bool several;        /* more pieces follow: item_map.piece gives them */
    uint64_t from, have; /* the first piece, in steps of the cut field */
    uint64_t steps;      /* of the item: what no piece has is zeros at its end */
};

/* ---- Parameters (view_text.c) ---------------------------------------------------------------------------------------------- */

typedef enum item_kind {
    ITEM_NUMBER,
    ITEM_FLAG,
    ITEM_CHOICE,
    ITEM_NAME,
    ITEM_ID /* a token: its number, or `own`, what the field's arguments say */
} item_kind;
#define ITEM_OWN (-2.0)
struct item_param {
    const char *name; /* NULL: the end. "WORD.NAME": also written as NAME inside the brackets behind the choice WORD */
    item_kind kind;
    const char *const *words; /* CHOICE */
    bool needed;
    bool quiet; /* is not written while it is not given */
    bool shows; /* changes what an item shows, not which items there are: no part of the digest */
};
struct item_arg {
    bool given;
    double number; /* FLAG: 0 or 1; CHOICE: the word's index */
    char *name;    /* NAME: of a field; malloc'ed */
};
enum { ITEM_PARAMS = 40 };

/* ---- The table (row_table.c) ------------------------------------------------------------------------------------------------ */

/* What is known of one row: its steps, and how many of them are a second. */
struct row_steps {
    uint64_t steps; /* MLDF_NONE: null, or not to be read */
    uint32_t rate;  /* 0: none */
};
/* Counts [first[row], first[row + 1]) belong to a row; a count is an item, or a step. */
struct row_table {
    uint64_t rows, count;
    struct row_steps same; /* of every row, while there is no table */
    uint64_t same_count;
    uint64_t *first; /* rows + 1; NULL: all rows are the same */
    uint64_t *steps;
    uint32_t *rates; /* NULL: all are same.rate */
    uint64_t capacity;
    uint32_t *top; /* row that count k << shift belongs to */
    unsigned shift;
};

struct mldf_view {
    const struct item_map *map;
    const mldf_reader **readers;
    size_t reader_count;
    uint64_t *first_row;  /* reader_count + 1 */
    uint64_t *first_item; /* reader_count + 1 */
    char *text;           /* canonical */
    char *field;          /* "": none */
    size_t *fields;       /* the cut field in each reader's schema */
    struct item_arg args[ITEM_PARAMS];
    struct row_table table;
    struct segment_table *segments; /* of the map segments (view_segments.c) */
    bool random;                    /* locate wants a draw */
    bool seconds;                   /* lengths of the text are seconds */
    uint64_t empty_rows, odd_rows;
    uint8_t digest[16];
    const uint64_t *rows; /* those that the view is of, or NULL: all. The caller's: of open alone */
    uint64_t row_count;
    struct steps *steps;   /* of the map steps (steps.h) */
    struct packed *packed; /* of packed sequences */
    struct pow2 *pow2;     /* of the map pow2 (pow2.h) */
    mldf_schema *schema;   /* the fields of an item, where they are not the rows' */
};

/* ---- Maps -------------------------------------------------------------------------------------------------------------------- */

struct item_map {
    const char *name;
    const struct item_param *params;
    bool cuts;        /* its first argument is the field that it cuts */
    bool parts;       /* which may be one of multimodal samples */
    uint32_t version; /* of the algorithm: part of the digest */
    /* Checks the arguments, fills in what was not given, makes the tables and view->first_item. */
    mldf_status (*open)(mldf_view *view, mldf_error *err);
    /* The item, which exists; out->item and draw are set. */
    void (*locate)(const mldf_view *view, struct item_place *out);
    /* Piece `index` (> 0) of an item of several. false: there are no more. */
    bool (*piece)(const mldf_view *view, const struct item_place *place, size_t index, mldf_piece *out);
    /* The items that begin in a row. */
    void (*items)(const mldf_view *view, uint64_t row, uint64_t *first, uint64_t *count);
    /* The items of documents [first, end), ascending, where a row's are not a run: puts `room` of them, and returns how many there are. */
    size_t (*find)(const mldf_view *view, uint64_t first, uint64_t end, uint64_t *items, size_t room);
    /* What becomes of a field; NULL: the named one is CUT, all others are ANCHOR. */
    item_mode (*mode)(const mldf_view *view, const char *field);
    /* The type of the cut field's value in an item. */
    void (*edge)(const mldf_view *view, struct edge *edge);
    /* The field whose entries are the items, so that others go along it; NULL: there is none. */
    const char *(*along)(const mldf_view *view);
    void (*free)(mldf_view *view); /* what open made; NULL: nothing */
};
extern const struct item_map mldfi_view_rows, mldfi_view_windows, mldfi_view_expand, mldfi_view_segments,
    mldfi_view_packed, mldfi_view_steps, mldfi_view_pow2;

/* Into view->map, field and args. */
mldf_status mldfi_view_parse(mldf_view *view, const char *text, mldf_error *err);
/* The text from the arguments as open left them; shows: with those that are no part of the digest. The caller frees it. */
mldf_status mldfi_view_write(const mldf_view *view, bool shows, char **out, mldf_error *err);

/* Looks at all rows of all readers: count(view, row) is how many counts a row gives. Fills view->table and the numbers of rows. */
mldf_status mldfi_row_table_make(mldf_view *view, uint64_t (*count)(const mldf_view *view, struct row_steps row),
                                 mldf_error *err);
void mldfi_row_table_free(struct row_table *table);
/* The row, counted through all readers, that a count belongs to; *within: which of the row's own it is. */
uint64_t mldfi_row_table_find(const struct row_table *table, uint64_t at, uint64_t *within);
struct row_steps mldfi_row_table_steps(const struct row_table *table, uint64_t row);
uint64_t mldfi_row_table_first(const struct row_table *table, uint64_t row);
uint64_t mldfi_row_table_end(const struct row_table *table, uint64_t row);
/* For maps whose counts are items: the row that out->item is of, into out; *within: which of the row's own. odd where it has no length. */
struct row_steps mldfi_view_locate_row(const mldf_view *view, struct item_place *out, uint64_t *within);
/* And the items of a row. */
void mldfi_view_row_items(const mldf_view *view, uint64_t row, uint64_t *first, uint64_t *count);
/* The reader of a row that is counted through; *row becomes the reader's own number. */
uint32_t mldfi_view_reader_of(const mldf_view *view, uint64_t *row);

/* Seconds as a text gives them, to the nanosecond; and round(k * nanos * rate / 10^9), half up. */
uint64_t mldfi_item_nanos(double seconds);
uint64_t mldfi_item_steps(uint64_t k, uint64_t nanos, uint32_t rate);
/* A length of the text in steps of a row: seconds where `seconds`, else steps. */
uint64_t mldfi_item_length(double number, bool seconds, uint32_t rate);
/* Are lengths of this view seconds? unit=seconds|steps, by default seconds where the field has a rate. MLDF_E_ARGUMENT names the parameter. */
enum { UNIT_AUTO, UNIT_SECONDS, UNIT_STEPS };
mldf_status mldfi_view_unit(mldf_view *view, struct item_arg *unit, bool *seconds, mldf_error *err);
/* A length must be > 0, whole where it is steps, and not beyond 2^40 steps or 10^6 seconds. */
mldf_status mldfi_view_check_length(const char *name, double number, bool seconds, mldf_error *err);
/* The cut edge: dimension t is `number` long in every item (exact), or at most. */
void mldfi_view_set_length(struct edge *edge, double number, bool seconds, bool exact);

/* ---- What others use ---------------------------------------------------------------------------------------------------------- */

static inline bool mldfi_view_is_rows(const mldf_view *view) {
    return !view || view->map == &mldfi_view_rows;
}
/* What becomes of a field of this name. */
static inline item_mode mldfi_view_mode(const mldf_view *view, const char *field) {
    if (view->map->mode)
        return view->map->mode(view, field);
    return view->map->cuts && __builtin_strcmp(view->field, field) == 0 ? ITEM_CUT : ITEM_ANCHOR;
}
/* How long a reader's row is; MLDF_NONE: not known. */
uint64_t mldfi_view_row_steps(const mldf_view *view, uint32_t reader, uint64_t row);
/* Documents: rows, but of packed streams their documents. The items that have a piece of one, ascending; returns how many, and puts `room`. */
uint64_t mldfi_view_documents(const mldf_view *view);
size_t mldfi_view_find_document(const mldf_view *view, uint64_t document, uint64_t epoch, uint64_t *items, size_t room);
/* An item that exists. */
void mldfi_view_place(const mldf_view *view, uint64_t item, uint64_t draw, uint64_t epoch, struct item_place *out);

/* Arrays of rows that lie in a mapping, so that the next item of the same row is a sum and no look at the row. One thread's. Begins as {0}. */
enum { ITEM_CACHE = 16 };
struct item_cache {
    struct {
        const mldf_reader *reader;
        uint64_t row;
        mldf_value value;
    } rows[ITEM_CACHE];
    mldf_buffer aside; /* a piece on its way into an item of several, or into a longer one */
    struct packed_item *packed;
    uint64_t bytes; /* of stored values that went into computed ones */
};
void mldfi_item_cache_free(struct item_cache *cache);
/* The processor begins to fetch the item, where its row is in the cache above: the next item, while one is worked on. */
void mldfi_item_prefetch(const mldf_reader *const *readers, const struct item_place *place,
                         const struct item_cache *cache);
/* The row's whole value: kind, dims, bytes; data where it is at hand without reading, in the mapping or in scratch. */
mldf_status mldfi_item_row(const mldf_reader *reader, uint64_t row, size_t field, struct item_cache *cache,
                           mldf_buffer *scratch, mldf_value *out, mldf_error *err);
/* Does the data lie in the reader's mapping? */
bool mldfi_item_is_mapped(const mldf_reader *reader, const void *data);

/* Are the item's fields its own (view->schema), all of them of one shape? Then these give them: */
static inline bool mldfi_view_computes(const mldf_view *view) {
    return view->schema != NULL;
}
/* Field of view->schema, written to dst, which has room for all of it. */
mldf_status mldfi_item_compute(const mldf_view *view, const mldf_reader *const *readers, const struct item_place *place,
                               size_t field, struct item_cache *cache, void *dst, mldf_error *err);
/* The same as a value in scratch; record: without its data. */
mldf_status mldfi_item_computed(const mldf_view *view, const mldf_reader *const *readers,
                                const struct item_place *place, size_t field, bool record, struct item_cache *cache,
                                mldf_buffer *scratch, mldf_value *out, mldf_error *err);
/* Is the field in every batch that does not say which it wants? */
bool mldfi_item_is_default(const mldf_view *view, size_t field);
/* Is the field of all samples of a batch one run of i32, each sample's on top of those before (cu_seqlens)? */
struct item_run {
    uint64_t each; /* what a sample adds; 0: it is no run */
    bool own;      /* it adds its own last number instead */
    bool ragged;   /* entries that a sample does not have are left out */
};
void mldfi_item_run(const mldf_view *view, size_t field, struct item_run *out);
/* samples * width numbers become one run, in place, and one more number, the end. *count: how many there are then. */
void mldfi_item_run_finish(const struct item_run *run, int32_t *data, size_t samples, size_t width, size_t *count);

/* The cut field's stored elements. readers: the view's, or copies of them. record: what it is, data NULL. */
mldf_status mldfi_item_value(const mldf_view *view, const mldf_reader *const *readers, const struct item_place *place,
                             bool record, struct item_cache *cache, mldf_buffer *scratch, mldf_value *out,
                             mldf_error *err);

/* item_element.c: the entry of a row's value that the item is, of a reader's field. A JSON string becomes its text, other elements their JSON. aside:
 * for the whole value. */
mldf_status mldfi_item_element(const mldf_reader *reader, size_t field, const struct item_place *place,
                               mldf_buffer *aside, mldf_buffer *scratch, mldf_value *out, mldf_error *err);
/* The type of such an entry. */
void mldfi_item_element_edge(struct edge *edge);

#endif
