/* The predicate language as the lexer knows it (util/lex.h). See where.h. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tool/where.h"
#include "util/error.h"

/* Columns count characters from 1; a predicate is one line for those who read of it. */
static size_t column_of(const char *text, size_t at) {
    size_t column = 1;
    for (size_t i = 0; i < at && text[i]; i++)
        column += ((uint8_t)text[i] & 0xC0) != 0x80;
    return column;
}

mldf_status mldfi_where_fail(const char *text, size_t at, mldf_error *err, mldf_status status, const char *format,
                             ...) {
    char message[400];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    mldfi_fail_at(err, status, at, "%s", message);
    mldfi_error_prefix(err, "column %zu", column_of(text, at));
    mldfi_error_path(err, "where");
    return status;
}

static mldf_status fail(const struct lexer *lexer, size_t at, mldf_error *err, const char *message) {
    return mldfi_where_fail(lexer->text, at, err, MLDF_E_ARGUMENT, "%s", message);
}

static size_t word_bytes(const char *text, size_t bytes) {
    size_t at = 0;
    while (at < bytes && (mldfi_lex_begins_name(text[at]) || mldfi_lex_is_digit(text[at])))
        at++;
    return at;
}

static size_t skip_digits(const char *text, size_t at) {
    while (mldfi_lex_is_digit(text[at]))
        at++;
    return at;
}

/* Without a sign: minus is an operator. */
static mldf_status take_number(struct lexer *lexer, mldf_error *err) {
    const char *text = lexer->text;
    size_t begin = lexer->token.at, at = skip_digits(text, begin);
    if (text[at] == '.' && mldfi_lex_is_digit(text[at + 1]))
        at = skip_digits(text, at + 1);
    if (text[at] == 'e' || text[at] == 'E') {
        size_t digits = at + 1 + (text[at + 1] == '+' || text[at + 1] == '-');
        if (mldfi_lex_is_digit(text[digits]))
            at = skip_digits(text, digits);
    }
    if (mldfi_lex_begins_name(text[at]))
        return fail(lexer, begin, err, "a number runs into a word; a name that begins with a digit needs `quotes`");
    lexer->token.bytes = at - begin;
    return MLDF_OK;
}

static const struct lex_sign keywords[] = {
    {"or", TOKEN_OR, NULL},     {"and", TOKEN_AND, NULL},     {"not", TOKEN_NOT, NULL},
    {"in", TOKEN_IN, NULL},     {"is", TOKEN_IS, NULL},       {"null", TOKEN_NULL, NULL},
    {"true", TOKEN_TRUE, NULL}, {"false", TOKEN_FALSE, NULL}, {NULL, TOKEN_END, NULL},
};

static const struct lex_sign signs[] = {
    {"<>", TOKEN_END, "'<>' is written != here"},
    {"==", TOKEN_EQ, NULL},
    {"!=", TOKEN_NE, NULL},
    {"<=", TOKEN_LE, NULL},
    {">=", TOKEN_GE, NULL},
    {"&&", TOKEN_AND, NULL},
    {"||", TOKEN_OR, NULL},
    {"<", TOKEN_LT, NULL},
    {">", TOKEN_GT, NULL},
    {"!", TOKEN_NOT, NULL},
    {"+", TOKEN_PLUS, NULL},
    {"-", TOKEN_MINUS, NULL},
    {"*", TOKEN_STAR, NULL},
    {"/", TOKEN_SLASH, NULL},
    {"%", TOKEN_PERCENT, NULL},
    {"(", TOKEN_OPEN, NULL},
    {")", TOKEN_CLOSE, NULL},
    {"[", TOKEN_LIST, NULL},
    {"]", TOKEN_UNLIST, NULL},
    {",", TOKEN_COMMA, NULL},
    {".", TOKEN_DOT, NULL},
    {"=", TOKEN_END, "'=' is written == here"},
    {"&", TOKEN_END, "'&' is written && or and"},
    {"|", TOKEN_END, "'|' is written || or or"},
    {NULL, TOKEN_END, NULL},
};

const struct language mldfi_where_language = {
    .quotes = "'\"`",
    .escapes = "nrt\\'\"`/",
    .meanings = "\n\r\t\\'\"`/",
    .unicode = true,
    .signs = signs,
    .keywords = keywords,
    .number_begins = "",
    .word = word_bytes,
    .number = take_number,
    .fail = fail,
};
