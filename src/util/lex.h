/* Text into tokens, for the library's two small languages: pipelines (pipeline/lex.c) and the predicates of select (tool/where_lex.c). Its one idea:
 * what differs between them is a table, struct language; quotes, escapes, signs, newlines and the place of an error are read in one way. */
#ifndef MLDF_UTIL_LEX_H
#define MLDF_UTIL_LEX_H

#include "util/arena.h"

typedef enum token_kind {
    TOKEN_END,
    TOKEN_BREAK,  /* newline or ; */
    TOKEN_NAME,   /* a bare word that is no keyword */
    TOKEN_QUOTED, /* `a name` */
    TOKEN_NUMBER,
    TOKEN_TEXT, /* "..." */
    TOKEN_COMMA,
    TOKEN_OPEN,   /* ( */
    TOKEN_CLOSE,  /* ) */
    TOKEN_LIST,   /* [ */
    TOKEN_UNLIST, /* ] */
    /* pipelines */
    TOKEN_COLON,
    TOKEN_EQUALS,
    TOKEN_PIPE,
    /* predicates */
    TOKEN_DOT,
    TOKEN_OR,
    TOKEN_AND,
    TOKEN_NOT,
    TOKEN_IN,
    TOKEN_IS,
    TOKEN_NULL,
    TOKEN_TRUE,
    TOKEN_FALSE,
    TOKEN_EQ, /* to GE: comparisons, side by side */
    TOKEN_NE,
    TOKEN_LT,
    TOKEN_LE,
    TOKEN_GT,
    TOKEN_GE,
    TOKEN_PLUS,
    TOKEN_MINUS,
    TOKEN_STAR,
    TOKEN_SLASH,
    TOKEN_PERCENT
} token_kind;

struct token {
    token_kind kind;
    size_t at, bytes;   /* in the text */
    const char *string; /* NAME: in the text; QUOTED, TEXT: unescaped, with a 0 behind it, in the arena */
    size_t string_bytes;
};

struct lexer;

/* A sign or keyword; or, with a hint, what somebody may write who knows another language. A list ends with text NULL. */
struct lex_sign {
    const char *text;
    token_kind kind;
    const char *hint;
};

struct language {
    const char *quotes;             /* ` is for names, the others for text */
    const char *escapes, *meanings; /* what may follow a backslash, and the byte that each is */
    bool unicode;                   /* \u with four hexadecimal digits, too */
    bool lines; /* # begins a comment, quoted text ends in its line, and a newline is a token: but not inside ( ) and
                                       * [ ], behind | , : = and in front of | */
    const struct lex_sign *signs;                   /* those that begin like others come first */
    const struct lex_sign *keywords;                /* in lower case, or NULL; all upper case is the same */
    const char *number_begins;                      /* with one of these or a digit */
    size_t (*word)(const char *text, size_t bytes); /* bytes of the bare word that text begins with */
    /* The number that the current token begins with: sets its bytes, or fails. */
    mldf_status (*number)(struct lexer *lexer, mldf_error *err);
    /* An error at that byte, as the language tells them. */
    mldf_status (*fail)(const struct lexer *lexer, size_t at, mldf_error *err, const char *message);
};

/* Begins as {language, text, bytes, {0}, 0, arena}. */
struct lexer {
    const struct language *language;
    const char *text; /* with a 0 behind it */
    size_t bytes;
    struct token token;  /* the current one */
    unsigned depth;      /* of ( and [ that are open */
    struct arena *arena; /* for unescaped text */
};
mldf_status mldfi_lex_next(struct lexer *lexer, mldf_error *err);
/* At the current token. */
__attribute__((format(printf, 3, 4))) mldf_status mldfi_lex_fail(const struct lexer *lexer, mldf_error *err,
                                                                 const char *format, ...);
/* What is there, for "expected ..., found %s". */
const char *mldfi_lex_found(const struct lexer *lexer, char room[64]);

/* Lines end with \n; columns count characters from 1. */
void mldfi_lex_place(const char *text, size_t at, size_t *line, size_t *column);
static inline bool mldfi_lex_is_digit(char c) {
    return c >= '0' && c <= '9';
}
static inline bool mldfi_lex_begins_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 0x80;
}

#endif
