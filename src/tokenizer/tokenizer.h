/* Tokenizers from the inside: a table of functions for each kind (mldf/tokenizer.h has the public face).
 *
 *     tokenizer.c                 opening by name, checks that all kinds share
 *     tokenizer_bytes.c           the bytes themselves
 *     tokenizer_exec.c            a program beside ours; tokenizer_protocol.c has what goes through its pipes. SentencePiece is one
 *                                 (cli/sentencepiece.cc)
 */
#ifndef MLDF_TOKENIZER_TOKENIZER_H
#define MLDF_TOKENIZER_TOKENIZER_H

#include "mldf/tokenizer.h"

enum { TOKENIZER_NAME_MAX = 255 };

/* Asked about 20 times a second while a program is waited for, on the thread that waits: true ends the wait. */
struct tokenizer_cancel {
    bool (*asked)(void *user);
    void *user;
};

/* Documents, all of them UTF-8. */
struct tokenizer_texts {
    const char *const *texts;
    const size_t *bytes;
    size_t count;
    uint64_t total; /* bytes */
};

struct tokenizer_type {
    const char *name;
    bool identity; /* ids are the bytes of the text */
    mldf_status (*open)(struct mldf_tokenizer *tokenizer, const char *argument, mldf_error *err);
    /* May run on several threads at a time. */
    mldf_status (*encode)(struct mldf_tokenizer *tokenizer, const struct tokenizer_texts *texts, uint32_t *counts,
                          mldf_buffer *ids, const struct tokenizer_cancel *cancel, mldf_error *err);
    mldf_status (*decode)(struct mldf_tokenizer *tokenizer, const uint32_t *ids, size_t count, mldf_buffer *text,
                          mldf_error *err);
    mldf_status (*finish)(struct mldf_tokenizer *tokenizer, mldf_error *err); /* NULL: nothing can fail */
    void (*close)(struct mldf_tokenizer *tokenizer);
};
extern const struct tokenizer_type mldfi_tokenizer_bytes, mldfi_tokenizer_exec, mldfi_tokenizer_sentencepiece;

struct mldf_tokenizer {
    const struct tokenizer_type *type;
    mldf_tokenizer_options options;
    mldf_tokenizer_info info; /* points to the texts below */
    uint64_t own_vocabulary;  /* without ids that the caller added */
    char name[TOKENIZER_NAME_MAX + 1], sha256[65];
    void *state; /* the type's */
};

/* mldf_tokenizer_encode that another thread can end: cancel may be NULL. */
mldf_status mldfi_tokenizer_encode(mldf_tokenizer *tokenizer, const struct tokenizer_texts *texts, uint32_t *counts,
                                   mldf_buffer *ids, const struct tokenizer_cancel *cancel, mldf_error *err);
/* What a vocabulary and its special ids must be. */
mldf_status mldfi_tokenizer_check_info(const mldf_tokenizer_info *info, mldf_error *err);

#endif
