/* mldf/tokenizer.h: text into token ids, with tokenizers that exist; and a writer that tokenizes what it is given.
 *
 *     mldf_tokenizer *t;
 *     if (mldf_tokenizer_open("exec:python3 -m mldf.tokenize tokenizer.json", NULL, &t, &err) < 0) ...
 *     mldf_tokenize_options how = MLDF_TOKENIZE_OPTIONS_INIT;
 *     how.tokenizer = t;
 *     how.field = "tokens";                       // of type text_tokenized; its values are given as MLDF_KIND_TEXT
 *     if (mldf_writer_tokenize(writer, &how, &err) < 0) ...
 *
 * What can go wrong first:
 *   - "exec:" starts a program. Its text is split into words, no shell is involved, and it never comes from a data file.
 *   - A tokenizer outlives the writers that use it. Any number of threads may encode at a time.
 *
 * Stability: experimental.
 */
#ifndef MLDF_TOKENIZER_H
#define MLDF_TOKENIZER_H

#include "writer.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mldf_tokenizer mldf_tokenizer;

typedef struct mldf_tokenizer_options {
    size_t struct_bytes;
    unsigned timeout_seconds; /* for one request to a program; 0: 300 */
    unsigned processes;       /* programs that run side by side; 0: 1 */
    int64_t bos,
        eos; /* ids in place of the tokenizer's own; -1: its own. One that it does not have enlarges the vocabulary */
} mldf_tokenizer_options;
#define MLDF_TOKENIZER_OPTIONS_INIT \
    { sizeof(mldf_tokenizer_options), 0, 0, -1, -1 }

/* what:
 *   "bytes"         the bytes of the text, a vocabulary of 256
 *   "sp:MODEL"      a SentencePiece model, through the program mldf-sentencepiece; MLDF_E_UNSUPPORTED where it is not installed;
 *                   "sentencepiece:MODEL" is the same
 *   "exec:COMMAND"  a program that speaks the protocol of docs/tokenizers.md; words are separated by spaces, '...' and "..." keep them
 *                   together */
MLDF_API MLDF_NODISCARD mldf_status mldf_tokenizer_open(const char *what, const mldf_tokenizer_options *options,
                                                        mldf_tokenizer **out, mldf_error *err);

/* What a tokenizer says of itself. */
typedef struct mldf_tokenizer_info {
    const char *name;
    const char *sha256;    /* of its file, 64 hexadecimal digits in lower case; NULL: not known */
    uint64_t vocabulary;   /* every id is below */
    int64_t bos, eos, pad; /* ids; -1: none */
    const char
        *specials; /* "text": strings such as <|endoftext|> inside documents are text; "parse": they become their ids */
    bool decodes;  /* mldf_tokenizer_decode works */
} mldf_tokenizer_info;
/* Borrowed from the tokenizer. */
MLDF_API const mldf_tokenizer_info *mldf_tokenizer_describe(const mldf_tokenizer *tokenizer);

/* Ids of `count` documents, UTF-8: counts[i] ids of document i, as uint32_t one after the other, appended to `ids`. A document at fault is named
 * in err->sample, counted from 0. MLDF_E_SYNTAX: it is not UTF-8; MLDF_E_RANGE: the tokenizer refuses it; MLDF_E_IO: the program failed. */
MLDF_API MLDF_NODISCARD mldf_status mldf_tokenizer_encode(mldf_tokenizer *tokenizer, const char *const *texts,
                                                          const size_t *bytes, size_t count, uint32_t *counts,
                                                          mldf_buffer *ids, mldf_error *err);
/* The text of ids, UTF-8 where the ids are of whole characters, appended. MLDF_E_UNSUPPORTED: this tokenizer cannot. */
MLDF_API MLDF_NODISCARD mldf_status mldf_tokenizer_decode(mldf_tokenizer *tokenizer, const uint32_t *ids, size_t count,
                                                          mldf_buffer *text, mldf_error *err);
/* Ends the programs of a tokenizer in order: MLDF_E_IO when one does not end well within 10 s. Frees, whatever comes out. */
MLDF_API MLDF_NODISCARD mldf_status mldf_tokenizer_finish(mldf_tokenizer *tokenizer, mldf_error *err);
/* Ends them at once. NULL is fine. */
MLDF_API void mldf_tokenizer_free(mldf_tokenizer *tokenizer);

/* ---- A writer that tokenizes ---------------------------------------------------------------------------------------------------- */

typedef struct mldf_tokenize_options {
    size_t struct_bytes;
    mldf_tokenizer *tokenizer;
    const char *field; /* of type text_tokenized */
    bool bos, eos;     /* put the tokenizer's bos before, its eos after each document */
    bool replace;      /* bytes that are not UTF-8 become U+FFFD; false: such a document is a bad sample */
} mldf_tokenize_options;
#define MLDF_TOKENIZE_OPTIONS_INIT \
    { sizeof(mldf_tokenize_options), 0, 0, false, false, false }

/* The arguments of a text_tokenized field for what a tokenizer makes, as JSON, terminated, appended. */
MLDF_API MLDF_NODISCARD mldf_status mldf_tokenize_arguments(const mldf_tokenize_options *options, mldf_buffer *out,
                                                            mldf_error *err);
/* Before the first sample: from now on values of the field may be MLDF_KIND_TEXT or MLDF_KIND_BYTES, and are tokenized on the writer's threads, about
 * 1 MiB of text at a time. Ids (arrays) are taken as before. MLDF_E_SCHEMA: the field's arguments name another tokenizer. */
MLDF_API MLDF_NODISCARD mldf_status mldf_writer_tokenize(mldf_writer *writer, const mldf_tokenize_options *options,
                                                         mldf_error *err);

#ifdef __cplusplus
}
#endif
#endif
