/* Tokens of the predicate language. See where.h. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tool/where.h"
#include "util/error.h"
#include "util/utf8.h"

/* Columns count characters from 1. */
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

static mldf_status fail(const struct where_lexer *lexer, size_t at, mldf_error *err, const char *message) {
    return mldfi_where_fail(lexer->text, at, err, MLDF_E_ARGUMENT, "%s", message);
}

static bool is_name_start(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (uint8_t)c >= 0x80;
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* ---- Strings ------------------------------------------------------------------------------------------------------- */

static mldf_status put_character(struct where_lexer *lexer, uint32_t c, mldf_error *err) {
    uint8_t out[4];
    size_t n = 0;
    if (c < 0x80) {
        out[n++] = (uint8_t)c;
    } else if (c < 0x800) {
        out[n++] = (uint8_t)(0xC0 | c >> 6);
        out[n++] = (uint8_t)(0x80 | (c & 63));
    } else {
        out[n++] = (uint8_t)(0xE0 | c >> 12);
        out[n++] = (uint8_t)(0x80 | (c >> 6 & 63));
        out[n++] = (uint8_t)(0x80 | (c & 63));
    }
    return mldf_buffer_append(&lexer->string, out, n, err);
}

/* \uXXXX; *at stands at the u and ends behind the digits. */
static mldf_status take_unicode(struct where_lexer *lexer, size_t *at, mldf_error *err) {
    uint32_t c = 0;
    size_t begin = *at - 1;
    for (int i = 0; i < 4; i++) {
        char d = lexer->text[++*at];
        uint32_t digit = is_digit(d)              ? (uint32_t)(d - '0')
                         : (d >= 'a' && d <= 'f') ? (uint32_t)(d - 'a' + 10)
                         : (d >= 'A' && d <= 'F') ? (uint32_t)(d - 'A' + 10)
                                                  : 16;
        if (digit == 16)
            return fail(lexer, begin, err, "\\u takes four hexadecimal digits");
        c = c << 4 | digit;
    }
    ++*at;
    if (c >= 0xD800 && c < 0xE000)
        return fail(lexer, begin, err, "\\u names half a character; write the character itself");
    return put_character(lexer, c, err);
}

static mldf_status take_escape(struct where_lexer *lexer, size_t *at, mldf_error *err) {
    static const char from[] = "nrt\\'\"`/", to[] = "\n\r\t\\'\"`/";
    char c = lexer->text[++*at];
    const char *found = c ? strchr(from, c) : NULL;
    if (c == 'u')
        return take_unicode(lexer, at, err);
    if (!found)
        return fail(lexer, *at - 1, err, "unknown escape; \\\\ is a backslash");
    ++*at;
    return put_character(lexer, (uint8_t)to[found - from], err);
}

/* Quotes are ', " and `; a backslash escapes. */
static mldf_status take_string(struct where_lexer *lexer, mldf_error *err) {
    size_t begin = lexer->at, at = begin + 1;
    char quote = lexer->text[begin];
    mldf_status status = MLDF_OK;
    lexer->string.size = 0;
    while (status == MLDF_OK && at < lexer->bytes && lexer->text[at] != quote) {
        if (lexer->text[at] == '\\') {
            status = take_escape(lexer, &at, err);
            continue;
        }
        status = mldf_buffer_append(&lexer->string, lexer->text + at, 1, err);
        at++;
    }
    if (status < 0)
        return status;
    if (at >= lexer->bytes)
        return fail(lexer, begin, err, quote == '`' ? "this name is never closed" : "this text is never closed");
    status = mldf_buffer_append(&lexer->string, "", 1, err);
    if (status < 0)
        return status;
    lexer->token.kind = quote == '`' ? TOKEN_QUOTED : TOKEN_STRING;
    lexer->token.bytes = at + 1 - begin;
    lexer->token.string = (char *)lexer->string.data;
    lexer->token.string_bytes = lexer->string.size - 1;
    return MLDF_OK;
}

/* ---- Words, numbers, signs ------------------------------------------------------------------------------------------ */

static const struct {
    const char *lower, *upper;
    where_token_kind kind;
} keywords[] = {
    {"or", "OR", TOKEN_OR}, {"and", "AND", TOKEN_AND},    {"not", "NOT", TOKEN_NOT},    {"in", "IN", TOKEN_IN},
    {"is", "IS", TOKEN_IS}, {"null", "NULL", TOKEN_NULL}, {"true", "TRUE", TOKEN_TRUE}, {"false", "FALSE", TOKEN_FALSE},
};

static void take_word(struct where_lexer *lexer) {
    size_t begin = lexer->at, at = begin;
    while (at < lexer->bytes && (is_name_start(lexer->text[at]) || is_digit(lexer->text[at])))
        at++;
    lexer->token.kind = TOKEN_NAME;
    lexer->token.bytes = at - begin;
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
        if (strlen(keywords[i].lower) == at - begin &&
            (memcmp(lexer->text + begin, keywords[i].lower, at - begin) == 0 ||
             memcmp(lexer->text + begin, keywords[i].upper, at - begin) == 0))
            lexer->token.kind = keywords[i].kind;
}

static mldf_status take_number(struct where_lexer *lexer, mldf_error *err) {
    const char *text = lexer->text;
    size_t begin = lexer->at, at = begin;
    while (is_digit(text[at]))
        at++;
    if (text[at] == '.' && is_digit(text[at + 1])) {
        at++;
        while (is_digit(text[at]))
            at++;
    }
    if (text[at] == 'e' || text[at] == 'E') {
        size_t digits = at + 1 + (text[at + 1] == '+' || text[at + 1] == '-');
        if (is_digit(text[digits])) {
            at = digits;
            while (is_digit(text[at]))
                at++;
        }
    }
    if (is_name_start(text[at]))
        return fail(lexer, begin, err, "a number runs into a word; a name that begins with a digit needs `quotes`");
    lexer->token.kind = TOKEN_NUMBER;
    lexer->token.bytes = at - begin;
    return MLDF_OK;
}

static const struct {
    const char *text;
    where_token_kind kind;
} signs[] = {
    {"==", TOKEN_EQ},   {"!=", TOKEN_NE},  {"<=", TOKEN_LE},    {">=", TOKEN_GE},     {"&&", TOKEN_AND},
    {"||", TOKEN_OR},   {"<", TOKEN_LT},   {">", TOKEN_GT},     {"!", TOKEN_NOT},     {"+", TOKEN_PLUS},
    {"-", TOKEN_MINUS}, {"*", TOKEN_STAR}, {"/", TOKEN_SLASH},  {"%", TOKEN_PERCENT}, {"(", TOKEN_OPEN},
    {")", TOKEN_CLOSE}, {"[", TOKEN_LIST}, {"]", TOKEN_UNLIST}, {",", TOKEN_COMMA},   {".", TOKEN_DOT},
};

static mldf_status take_sign(struct where_lexer *lexer, mldf_error *err) {
    const char *at = lexer->text + lexer->at;
    if (strncmp(at, "<>", 2) == 0)
        return fail(lexer, lexer->at, err, "'<>' is written != here");
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (strncmp(at, signs[i].text, strlen(signs[i].text)) == 0) {
            lexer->token.kind = signs[i].kind;
            lexer->token.bytes = strlen(signs[i].text);
            return MLDF_OK;
        }
    if (*at == '=')
        return fail(lexer, lexer->at, err, "'=' is written == here");
    if (*at == '&' || *at == '|')
        return fail(lexer, lexer->at, err, *at == '&' ? "'&' is written && or and" : "'|' is written || or or");
    return mldfi_where_fail(lexer->text, lexer->at, err, MLDF_E_ARGUMENT, "'%c' has no meaning here", *at);
}

mldf_status mldfi_where_next(struct where_lexer *lexer, mldf_error *err) {
    lexer->at += lexer->token.bytes;
    while (lexer->at < lexer->bytes && strchr(" \t\r\n", lexer->text[lexer->at]))
        lexer->at++;
    lexer->token = (struct where_token){TOKEN_END, lexer->at, 0, NULL, 0};
    if (lexer->at >= lexer->bytes)
        return MLDF_OK;
    char c = lexer->text[lexer->at];
    if (c == '\'' || c == '"' || c == '`')
        return take_string(lexer, err);
    if (is_digit(c))
        return take_number(lexer, err);
    if (!is_name_start(c))
        return take_sign(lexer, err);
    take_word(lexer);
    return MLDF_OK;
}
