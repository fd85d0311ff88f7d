/* mldf/tokens.h: tokens: what a value of a text_tokenized, text_packed, text_hierarchical or token_stream field holds besides its ids.
 *
 * Such a value reads as an array of one dimension: the ids, of the field's dtype (u8, u16 or i32), in place. A text_packed value also has a
 * table of pieces, a token_stream value the ends of its documents, a text_hierarchical value those of its paragraphs and sentences:
 *
 *     mldf_tokens t;                                               // field, value: from mldf_schema_field and mldf_reader_get
 *     uint64_t begin, end;
 *     if (mldf_tokens_of(field, &value, &t, &err) == MLDF_OK)
 *         for (uint64_t d = 0; d < t.documents; d++)
 *             mldf_tokens_document(&t, d, &begin, &end, &err);     // tokens [begin, end)
 *
 * Writing: an array of one dimension of any integer dtype. Each id must be in the field's vocabulary (argument "vocabulary"); one that is
 * not is refused, and the error names its position. With boundaries: mldf_tokens_value (docs/guides/text.md).
 *
 * Stability: experimental.
 */
#ifndef MLDF_TOKENS_H
#define MLDF_TOKENS_H

#include "reader.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mldf_tokens {
    uint16_t type_id; /* MLDF_TEXT_TOKENIZED, MLDF_TEXT_PACKED, MLDF_TEXT_HIERARCHICAL or MLDF_TOKEN_STREAM */
    mldf_dtype dtype; /* of the ids: U8, U16 or I32 */
    const void *ids;  /* may begin at any byte, as `table` */
    uint64_t count;   /* tokens */
    uint64_t
        documents; /* text_tokenized: 1; text_packed: pieces; text_hierarchical: 1, or what mldf_tokens_level gives */
    /* text_packed: {u32 end, u32 from} each; token_stream: u64 end each; a level of text_hierarchical: u32 end each; otherwise NULL */
    const void *table;
} mldf_tokens;

/* What a value that was read holds. Borrowed from it. MLDF_E_TYPE: a null, or not a value of a token field. */
MLDF_API MLDF_NODISCARD mldf_status mldf_tokens_of(const mldf_field *field, const mldf_value *value, mldf_tokens *out,
                                                   mldf_error *err);
/* The same, with the paragraphs or sentences of a text_hierarchical value as its documents. MLDF_E_TYPE where the field has no such level,
 * MLDF_E_CORRUPT where its ends do not ascend to the number of tokens. */
typedef enum mldf_token_level {
    MLDF_LEVEL_DOCUMENT = 0,
    MLDF_LEVEL_PARAGRAPH = 1,
    MLDF_LEVEL_SENTENCE = 2
} mldf_token_level;
MLDF_API MLDF_NODISCARD mldf_status mldf_tokens_level(const mldf_field *field, const mldf_value *value,
                                                      mldf_token_level level, mldf_tokens *out, mldf_error *err);
/* Document (or piece, or what the level is made of) `index` has the tokens [*begin, *end). MLDF_E_RANGE past the last one, MLDF_E_CORRUPT when the table contradicts itself. */
MLDF_API MLDF_NODISCARD mldf_status mldf_tokens_document(const mldf_tokens *tokens, uint64_t index, uint64_t *begin,
                                                         uint64_t *end, mldf_error *err);

/* A value to append to a text_packed or token_stream field: `count` ids of an integer dtype, and where its documents end. ends[documents - 1] is
 * count in a stream, and at most count in a packed sequence (padding follows). from: of packed sequences, the position of a piece's first
 * token in its document; NULL: 0. The value's data is in `scratch`. */
MLDF_API MLDF_NODISCARD mldf_status mldf_tokens_value(uint16_t type_id, mldf_dtype dtype, const void *ids,
                                                      uint64_t count, const uint64_t *ends, const uint32_t *from,
                                                      uint64_t documents, mldf_buffer *scratch, mldf_value *out,
                                                      mldf_error *err);

/* A value to append to a text_hierarchical field. Ends of paragraphs and of sentences are numbers of tokens: each list ascends (nothing is empty) and
 * ends with count, and a paragraph ends where a sentence does. No tokens: no paragraphs and no sentences. The value's data is in `scratch`. */
MLDF_API MLDF_NODISCARD mldf_status mldf_tokens_levels_value(mldf_dtype dtype, const void *ids, uint64_t count,
                                                             const uint32_t *paragraphs, uint64_t paragraph_count,
                                                             const uint32_t *sentences, uint64_t sentence_count,
                                                             mldf_buffer *scratch, mldf_value *out, mldf_error *err);

/* ---- Pack plans --------------------------------------------------------------------------------------------------------------- */

/* Which pieces of which documents make each sequence of `length` tokens. A file keeps plans in section 11 (docs/spec/format.md); the documents
 * themselves are stored once, whatever the plans. */
typedef struct mldf_token_plan {
    size_t struct_bytes;
    const char *field;          /* borrowed from the reader; NULL in the result of mldf_plan_tokens */
    const char *algorithm;      /* "best-fit", "next-fit" or "concat" */
    const char *long_documents; /* "cut", "truncate" or "drop" */
    uint32_t length, align;
    uint32_t max_pieces;  /* allowed in a sequence; 0: any number */
    uint32_t most_pieces; /* in one sequence */
    int64_t bos, eos;     /* ids that are added; -1: none */
    uint64_t rows;        /* that were planned: all, unless samples were appended since */
    uint64_t bins;        /* sequences */
    uint64_t pieces;
    uint64_t tokens, left_out; /* of the documents */
    uint64_t cut_documents;
    uint64_t seed; /* of best-fit; 0: documents that take equal places came by their numbers */
} mldf_token_plan;
#define MLDF_TOKEN_PLAN_INIT \
    { sizeof(mldf_token_plan), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* Plan `index` of a file. MLDF_END past the last. */
MLDF_API MLDF_NODISCARD mldf_status mldf_reader_token_plan(const mldf_reader *reader, size_t index,
                                                           mldf_token_plan *out, mldf_error *err);

typedef struct mldf_plan_tokens_options {
    size_t struct_bytes;
    const mldf_context *context;
    mldf_secret secret;
    const char *field;          /* NULL: the only field of type text_tokenized */
    uint32_t length;            /* tokens of a sequence */
    const char *algorithm;      /* NULL: "best-fit". "concat" is reckoned, not stored: it needs no table */
    uint32_t align;             /* pieces begin at multiples of it; 0: 1 */
    const char *long_documents; /* NULL: "cut" */
    uint32_t max_pieces;
    int64_t bos, eos; /* added to documents; -1: none */
    uint64_t seed;    /* best-fit: documents that take equal places in a random order; 0: by their numbers */
} mldf_plan_tokens_options;
#define MLDF_PLAN_TOKENS_OPTIONS_INIT \
    { sizeof(mldf_plan_tokens_options), 0, {0, 0, 0, 0}, 0, 0, 0, 0, 0, 0, -1, -1, 0 }
/* Adds a plan to a file, or replaces the one with the same options, atomically as an append does. The same lengths give the same bytes. */
MLDF_API MLDF_NODISCARD mldf_status mldf_plan_tokens(const char *path, const mldf_plan_tokens_options *options,
                                                     mldf_token_plan *result, mldf_error *err);

#ifdef __cplusplus
}
#endif
#endif
