/* The pipeline's language as the lexer knows it (util/lex.h), and the place of an error in a pipeline's text. parse.c reads the tokens. */
#include "pipeline/lex.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "util/error.h"
#include "util/number.h"

/* ---- Errors ------------------------------------------------------------------------------------------------------------------ */

mldf_status mldfi_pipeline_place(const char *text, size_t text_bytes, size_t at, mldf_error *err, mldf_status status) {
    size_t line, column;
    char place[64];
    if (!err)
        return status;
    mldfi_lex_place(text, at < text_bytes ? at : text_bytes, &line, &column);
    (void)snprintf(place, sizeof place, "line %zu, column %zu", line, column);
    mldfi_error_path(err, place);
    err->offset = at;
    return status;
}

mldf_status mldfi_pipeline_fail(const char *text, size_t text_bytes, size_t at, mldf_error *err, mldf_status status,
                                const char *format, ...) {
    char message[MLDF_MESSAGE_MAX + 1];
    va_list args;
    if (!err)
        return status;
    va_start(args, format);
    (void)vsnprintf(message, sizeof message, format, args);
    va_end(args);
    mldfi_fail_at(err, status, at, "%s", message);
    return mldfi_pipeline_place(text, text_bytes, at, err, status);
}

static mldf_status fail(const struct lexer *lexer, size_t at, mldf_error *err, const char *message) {
    return mldfi_pipeline_fail(lexer->text, lexer->bytes, at, err, MLDF_E_SYNTAX, "%s", message);
}

/* ---- Words and numbers --------------------------------------------------------------------------------------------------------- */

/* "[12]" behind a word: one of several parts. */
static size_t number_bytes(const char *text, size_t bytes) {
    enum { DIGITS = 9 };
    size_t at = 1;
    if (bytes < 3 || text[0] != '[')
        return 0;
    while (at < bytes && at <= DIGITS && mldfi_lex_is_digit(text[at]))
        at++;
    return at > 1 && at < bytes && text[at] == ']' ? at + 1 : 0;
}

/* Dots are part of a word inside, and a number in brackets at its end. */
static size_t word_bytes(const char *text, size_t bytes) {
    size_t at = 0;
    if (bytes == 0 || !mldfi_lex_begins_name(text[0]))
        return 0;
    while (at < bytes) {
        bool dot = text[at] == '.' && at + 1 < bytes &&
                   (mldfi_lex_begins_name(text[at + 1]) || mldfi_lex_is_digit(text[at + 1]));
        if (!mldfi_lex_begins_name(text[at]) && !mldfi_lex_is_digit(text[at]) && !dot)
            break;
        at++;
    }
    return at + number_bytes(text + at, bytes - at);
}

bool mldfi_is_bare_word(const char *text, size_t bytes) {
    return bytes > 0 && word_bytes(text, bytes) == bytes;
}

static mldf_status take_number(struct lexer *lexer, mldf_error *err) {
    const char *begin = lexer->text + lexer->token.at, *end = lexer->text + lexer->bytes, *bad = begin;
    bool integer;
    const char *behind = mldfi_number_end(begin, end, &integer, &bad);
    if (!behind && (bad < end && *bad == '.'))
        return fail(lexer, lexer->token.at, err, "a number begins with a digit: 0.5");
    if (!behind)
        return fail(lexer, (size_t)(bad - lexer->text), err, "this number lacks a digit");
    if (behind < end && (mldfi_lex_begins_name(*behind) || mldfi_lex_is_digit(*behind) || *behind == '.'))
        return fail(lexer, lexer->token.at, err,
                    mldfi_lex_is_digit(*behind)
                        ? "a number has no leading zeros"
                        : "a number runs into a word; a name that begins with a digit needs `quotes`");
    lexer->token.bytes = (size_t)(behind - begin);
    return MLDF_OK;
}

/* ---- The language -------------------------------------------------------------------------------------------------------------- */

static const struct lex_sign signs[] = {
    {",", TOKEN_COMMA, NULL},
    {":", TOKEN_COLON, NULL},
    {"=", TOKEN_EQUALS, NULL},
    {"|", TOKEN_PIPE, NULL},
    {"(", TOKEN_OPEN, NULL},
    {")", TOKEN_CLOSE, NULL},
    {"[", TOKEN_LIST, NULL},
    {"]", TOKEN_UNLIST, NULL},
    {";", TOKEN_BREAK, NULL},
    {"\n", TOKEN_BREAK, NULL},
    {"'", TOKEN_END, "text is written in \"double quotes\" here"},
    {NULL, TOKEN_END, NULL},
};

static const struct language language = {
    .quotes = "\"`",
    .escapes = "nrt\\\"`",
    .meanings = "\n\r\t\\\"`",
    .lines = true,
    .signs = signs,
    .number_begins = "-.",
    .word = word_bytes,
    .number = take_number,
    .fail = fail,
};

struct lexer mldfi_pipeline_lexer(const char *text, size_t bytes, struct arena *arena) {
    return (struct lexer){&language, text, bytes, {TOKEN_END, 0, 0, NULL, 0}, 0, arena};
}
