/* mldf/view.h: what a sample is. A view makes items of the stored rows: windows of a token stream, ten-second pieces of an hour of sound.
 * Nothing is copied: an item is a place in a row. A loader with a view (mldf_loader_options.view) gives batches of items.
 *
 * Caveats
 *   - The readers must outlive the view, and the view every loader that has it. A view is immutable and shared by threads.
 *   - A view is of these readers in this order: a loader takes it with the same ones only.
 *   - Making one looks at every row's record once, unless the field's shape is fixed and it has no nulls. Afterwards an item is found by
 *     one look into a table of the rows and a search among the few rows that share the entry: constant time unless lengths differ wildly.
 *     The table has at most 24 bytes a row, and none where all rows are equally long.
 *
 *     mldf_view *view;
 *     mldf_loader_options o = MLDF_LOADER_OPTIONS_INIT;
 *     mldf_view_new(&reader, 1, "windows(tokens, 1025)", &view, &err);
 *     o.view = view;
 *     o.pipeline = "tokens: cast(i64)";
 *     mldf_loader_new(&reader, 1, &o, &loader, &err);     // batches of [64, 1025]
 *
 * docs/guides/views.md says what each view means.
 *
 * Stability: experimental.
 */
#ifndef MLDF_VIEW_H
#define MLDF_VIEW_H

#include "reader.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mldf_view mldf_view;

/* text: "rows", "windows(FIELD, LENGTH, stride=, random=, across=, unit=)", "expand(FIELD, every=, length=, last=, unit=)",
 * "segments(FIELD, by=)", "steps(GROUP, windows=, time=, edge=, tolerance=, drop_last=)", "pow2(FIELD, LEAST, MOST)" or "packed(FIELD, LENGTH, algorithm=, align=, long=, max_pieces=, bos=, eos= ...)". MLDF_E_SYNTAX and MLDF_E_ARGUMENT
 * name the byte of the text (err->offset) or the parameter. */
MLDF_API MLDF_NODISCARD mldf_status mldf_view_new(const mldf_reader *const *readers, size_t reader_count,
                                                  const char *text, mldf_view **out, mldf_error *err);
/* The same of these rows alone (all readers' rows counted through, ascending, each once): for packed, whose items are of many rows, and for pow2. A plan
 * that a file stores is of all its rows and is not used then. rows NULL: all of them. */
MLDF_API MLDF_NODISCARD mldf_status mldf_view_new_of(const mldf_reader *const *readers, size_t reader_count,
                                                     const char *text, const uint64_t *rows, uint64_t row_count,
                                                     mldf_view **out, mldf_error *err);
MLDF_API void mldf_view_free(mldf_view *view);

/* Items of all readers; and of one of them. */
MLDF_API uint64_t mldf_view_count(const mldf_view *view);
MLDF_API uint64_t mldf_view_count_of(const mldf_view *view, size_t reader);
/* Elements of every item; 0: items differ, or it depends on the rate of each recording. */
MLDF_API uint64_t mldf_view_length(const mldf_view *view);
/* The text with every parameter by name: equal for views that mean the same. */
MLDF_API const char *mldf_view_text(const mldf_view *view);
/* The fields of an item: those of the first reader; of packed its own (tokens, labels, positions ...), each of one shape. Of documents of several parts
 * there is one more, multimodal, with the images of the item: mldf/multimodal.h reads its value. */
MLDF_API const mldf_schema *mldf_view_schema(const mldf_view *view);
/* Are they its own? */
MLDF_API bool mldf_view_makes_fields(const mldf_view *view);
/* Is this field of the view's schema in a batch that does not name its outputs? Of fields that are not the rows', a few are not. */
MLDF_API bool mldf_view_field_is_default(const mldf_view *view, size_t field);
/* The field that is cut; "" for rows. */
MLDF_API const char *mldf_view_field(const mldf_view *view);
/* The field whose entries are the items ("segments" of that view): of it, and of the fields that go along it, an item has its own entry. "" where
 * there is none. */
MLDF_API const char *mldf_view_along(const mldf_view *view);
/* 128 bits over the canonical text, the number of items and the rows' lengths: a loader's state knows its view by it. Parameters of packed that
 * change what items show, not which there are, do not count. */
MLDF_API void mldf_view_digest(const mldf_view *view, uint8_t digest[16]);
/* Rows of which no item is made: too short, or empty; and rows whose value is null or whose record cannot be read: each of these is one
 * item, which is null or a bad sample. */
MLDF_API void mldf_view_rows(const mldf_view *view, uint64_t *rows, uint64_t *without_items, uint64_t *unmeasured);

/* Where a part of an item is stored. */
typedef struct mldf_piece {
    uint32_t reader;
    uint64_t row;    /* sample of that reader */
    uint64_t from;   /* first element along the field's first dimension; of a recording, first sample */
    uint64_t length; /* elements that are there; what an item lacks at its end is zeros */
} mldf_piece;
/* Up to `room` pieces of an item, in order; *count: how many there are. draw: places a random window (from = draw / 2^64 of the possible
 * ones); a loader draws it from (seed, epoch, position). Views without random windows ignore it. */
MLDF_API MLDF_NODISCARD mldf_status mldf_view_locate(const mldf_view *view, uint64_t item, uint64_t draw,
                                                     mldf_piece *pieces, size_t room, size_t *count, mldf_error *err);
/* The items that begin in a row (all readers' rows counted through): [*first, *first + *count). */
MLDF_API MLDF_NODISCARD mldf_status mldf_view_items(const mldf_view *view, uint64_t row, uint64_t *first,
                                                    uint64_t *count, mldf_error *err);
/* All items that have a piece of a row, up to `room` of them, ascending; *count: how many there are. packed looks through its table: a few
 * nanoseconds for each piece there is. */
MLDF_API MLDF_NODISCARD mldf_status mldf_view_find(const mldf_view *view, uint64_t row, uint64_t *items, size_t room,
                                                   size_t *count, mldf_error *err);
/* A field of an item: the cut one as its stored elements (a recording's as [t, channels], or as bytes where its samples are no numbers
 * of a dtype), another one as its row has it, or the item's entry of it (mldf_view_along). field: of mldf_view_schema. Data lives in the mapping
 * or in scratch. */
MLDF_API MLDF_NODISCARD mldf_status mldf_view_get(const mldf_view *view, uint64_t item, uint64_t draw, size_t field,
                                                  mldf_buffer *scratch, mldf_value *out, mldf_error *err);

#ifdef __cplusplus
}
#endif
#endif
