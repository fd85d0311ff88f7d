/* Tokens of the pipeline's language, and the memory of what is parsed. lex.c makes tokens, step.c steps of them, parse.c statements. */
#ifndef MLDF_PIPELINE_LEX_H
#define MLDF_PIPELINE_LEX_H

#include "pipeline/pipeline.h"

enum {
    PIPELINE_MAX_TEXT = 1 << 16,
    PIPELINE_MAX_STATEMENTS = 1024,
    PIPELINE_MAX_STEPS = 4096,
    PIPELINE_MAX_INPUTS = 64
};

typedef enum token_kind {
    TOKEN_END,
    TOKEN_BREAK,  /* newline or ; */
    TOKEN_NAME,   /* a bare word: letters, digits, _ and, inside, dots */
    TOKEN_QUOTED, /* `a name` */
    TOKEN_NUMBER,
    TOKEN_TEXT, /* "..." */
    TOKEN_COMMA,
    TOKEN_COLON,
    TOKEN_EQUALS,
    TOKEN_PIPE,
    TOKEN_OPEN,  /* ( */
    TOKEN_CLOSE, /* ) */
    TOKEN_LIST,  /* [ */
    TOKEN_UNLIST /* ] */
} token_kind;

struct token {
    token_kind kind;
    size_t at, bytes;   /* in the text */
    const char *string; /* NAME: in the text; QUOTED, TEXT: unescaped, in the arena */
    size_t string_bytes;
};

/* Newlines are blanks inside ( ) and [ ], behind | , : = and in front of |. */
struct lexer {
    const char *text;
    size_t bytes;
    struct token token;  /* the current one */
    unsigned depth;      /* of ( and [ that are open */
    struct arena *arena; /* for unescaped text */
};
/* Begin with {text, bytes, {0}, 0, arena}. */
mldf_status mldfi_lex_next(struct lexer *lexer, mldf_error *err);
/* "line 1, column 17: ..." at a token, or at the current one: MLDF_E_SYNTAX. */
__attribute__((format(printf, 3, 4))) mldf_status mldfi_lex_fail(const struct lexer *lexer, mldf_error *err,
                                                                 const char *format, ...);
/* What stands there, for "expected ..., found %s". */
const char *mldfi_lex_found(const struct lexer *lexer, char room[64]);

/* Needs no quotes as a name or a word. */
bool mldfi_is_bare_word(const char *text, size_t bytes);

/* ---- Memory of a parsed text: freed at once -------------------------------------------------------------------------------- */

/* Zeroed. */
void *mldfi_arena_alloc(struct arena *arena, size_t count, size_t bytes, mldf_error *err);
char *mldfi_arena_copy(struct arena *arena, const char *text, size_t bytes, mldf_error *err);
/* Room for one more item behind `count`; moves the items when needed. Grows at 1, 2, 4, 8 ... */
mldf_status mldfi_arena_push(struct arena *arena, void *array, size_t count, size_t item_bytes, mldf_error *err);
void mldfi_arena_free(struct arena *arena);

/* ---- Steps (step.c) ------------------------------------------------------------------------------------------------------------ */

/* NAME or NAME(arguments) at the current token; ends behind it. */
mldf_status mldfi_parse_step(struct lexer *lexer, const mldf_context *context, struct step *out, mldf_error *err);
/* One value: number, word, "text" or [list]. */
mldf_status mldfi_parse_literal(struct lexer *lexer, struct literal *out, mldf_error *err);

/* A name as a pipeline's text has it, in quotes where it needs them, appended (write_text.c). */
mldf_status mldfi_pipeline_write_name(const char *name, mldf_buffer *out, mldf_error *err);

#endif
