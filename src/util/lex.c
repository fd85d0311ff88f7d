/* The reading of tokens, by the table of a language. See lex.h. */
#include "util/lex.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "util/error.h"

/* ---- Errors ------------------------------------------------------------------------------------------------------------------ */

void mldfi_lex_place(const char *text, size_t at, size_t *line, size_t *column) {
    *line = *column = 1;
    for (size_t i = 0; i < at; i++) {
        if (text[i] == '\n') {
            ++*line;
            *column = 1;
        } else {
            *column += ((uint8_t)text[i] & 0xC0) != 0x80;
        }
    }
}

mldf_status mldfi_lex_fail(const struct lexer *lexer, mldf_error *err, const char *format, ...) {
    char message[MLDF_MESSAGE_MAX + 1];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return lexer->language->fail(lexer, lexer->token.at, err, message);
}

const char *mldfi_lex_found(const struct lexer *lexer, char room[64]) {
    enum { SHOWN = 24 };
    const struct token *t = &lexer->token;
    size_t shown = t->bytes < SHOWN ? t->bytes : SHOWN;
    if (t->kind == TOKEN_END)
        return "the end";
    if (t->kind == TOKEN_BREAK)
        return lexer->text[t->at] == ';' ? "';'" : "the end of the line";
    while (shown > 0 && shown < t->bytes && ((uint8_t)lexer->text[t->at + shown] & 0xC0) == 0x80)
        shown--;
    const char *quote = t->kind == TOKEN_TEXT || t->kind == TOKEN_QUOTED ? "" : "'";
    (void)snprintf(room, 64, "%s%.*s%s%s", quote, (int)shown, lexer->text + t->at, shown < t->bytes ? "..." : "",
                   quote);
    return room;
}

/* ---- Quoted text -------------------------------------------------------------------------------------------------------------- */

static size_t put_character(char *out, uint32_t c) {
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xC0 | c >> 6);
        out[1] = (char)(0x80 | (c & 63));
        return 2;
    }
    out[0] = (char)(0xE0 | c >> 12);
    out[1] = (char)(0x80 | (c >> 6 & 63));
    out[2] = (char)(0x80 | (c & 63));
    return 3;
}

/* \uXXXX: the four digits behind `at`. The text's last 0 is none. */
static mldf_status take_unicode(const struct lexer *lexer, size_t at, uint32_t *out, mldf_error *err) {
    *out = 0;
    for (size_t i = at + 2; i < at + 6; i++) {
        char d = lexer->text[i];
        uint32_t digit = mldfi_lex_is_digit(d)    ? (uint32_t)(d - '0')
                         : (d >= 'a' && d <= 'f') ? (uint32_t)(d - 'a' + 10)
                         : (d >= 'A' && d <= 'F') ? (uint32_t)(d - 'A' + 10)
                                                  : 16;
        if (digit == 16)
            return lexer->language->fail(lexer, at, err, "\\u takes four hexadecimal digits");
        *out = *out << 4 | digit;
    }
    if (*out >= 0xD800 && *out < 0xE000)
        return lexer->language->fail(lexer, at, err, "\\u names half a character; write the character itself");
    return MLDF_OK;
}

/* The escape at *at, which ends behind it; *used grows by what it means. */
static mldf_status take_escape(const struct lexer *lexer, size_t *at, char *out, size_t *used, mldf_error *err) {
    const struct language *l = lexer->language;
    char c = lexer->text[*at + 1];
    uint32_t character = 0;
    if (c == 'u' && l->unicode) {
        TRY(take_unicode(lexer, *at, &character, err));
        *at += 6;
    } else {
        const char *found = c ? strchr(l->escapes, c) : NULL;
        if (!found)
            return l->fail(lexer, *at, err, "unknown escape; \\\\ is a backslash");
        character = (uint8_t)l->meanings[found - l->escapes];
        *at += 2;
    }
    *used += put_character(out + *used, character);
    return MLDF_OK;
}

static mldf_status take_quoted(struct lexer *lexer, mldf_error *err) {
    const struct language *l = lexer->language;
    size_t begin = lexer->token.at, at = begin + 1, used = 0;
    char quote = lexer->text[begin];
    /* Nothing becomes longer by being unescaped: the end, escaped quotes passed over, bounds it. */
    size_t end = at;
    while (end < lexer->bytes && lexer->text[end] != quote && !(l->lines && lexer->text[end] == '\n'))
        end += lexer->text[end] == '\\' ? 2 : 1;
    char *out = mldfi_arena_alloc(lexer->arena, end - begin + 1, 1, err);
    mldf_status status = out ? MLDF_OK : MLDF_E_MEMORY;
    while (status == MLDF_OK && at < end && at < lexer->bytes) {
        if (lexer->text[at] == '\\')
            status = take_escape(lexer, &at, out, &used, err);
        else
            out[used++] = lexer->text[at++];
    }
    if (status < 0)
        return status;
    if (end >= lexer->bytes || lexer->text[end] != quote)
        return l->fail(lexer, begin, err, quote == '`' ? "this name is never closed" : "this text is never closed");
    lexer->token.kind = quote == '`' ? TOKEN_QUOTED : TOKEN_TEXT;
    lexer->token.bytes = end + 1 - begin;
    lexer->token.string = out;
    lexer->token.string_bytes = used;
    return MLDF_OK;
}

/* ---- Words and signs ------------------------------------------------------------------------------------------------------------ */

/* A keyword in lower or in upper case. */
static bool is_keyword(const char *keyword, const char *text, size_t bytes) {
    size_t lower = 0, upper = 0;
    if (strlen(keyword) != bytes)
        return false;
    for (size_t i = 0; i < bytes; i++) {
        lower += text[i] == keyword[i];
        upper += text[i] == keyword[i] - 'a' + 'A';
    }
    return lower == bytes || upper == bytes;
}

static void take_word(struct lexer *lexer) {
    struct token *t = &lexer->token;
    t->kind = TOKEN_NAME;
    t->string = lexer->text + t->at;
    t->bytes = t->string_bytes = lexer->language->word(t->string, lexer->bytes - t->at);
    for (const struct lex_sign *k = lexer->language->keywords; k && k->text; k++)
        if (is_keyword(k->text, t->string, t->bytes))
            t->kind = k->kind;
}

static mldf_status take_sign(struct lexer *lexer, mldf_error *err) {
    const char *text = lexer->text + lexer->token.at;
    const struct lex_sign *sign = lexer->language->signs;
    while (sign->text && strncmp(text, sign->text, strlen(sign->text)) != 0)
        sign++;
    if (sign->hint)
        return mldfi_lex_fail(lexer, err, "%s", sign->hint);
    if (!sign->text && ((uint8_t)*text < 0x20 || *text == 0x7F))
        return mldfi_lex_fail(lexer, err, "the byte 0x%02x has no meaning here", (unsigned)(uint8_t)*text);
    if (!sign->text)
        return mldfi_lex_fail(lexer, err, "'%c' has no meaning here", *text);
    lexer->token.kind = sign->kind;
    lexer->token.bytes = strlen(sign->text);
    if (sign->kind == TOKEN_OPEN || sign->kind == TOKEN_LIST)
        lexer->depth++;
    if ((sign->kind == TOKEN_CLOSE || sign->kind == TOKEN_UNLIST) && lexer->depth > 0)
        lexer->depth--;
    return MLDF_OK;
}

/* ---- The next token -------------------------------------------------------------------------------------------------------------- */

/* Behind blanks, comments and, when `newlines`, newlines. */
static size_t skip_blanks(const struct lexer *lexer, size_t at, bool newlines) {
    while (at < lexer->bytes) {
        char c = lexer->text[at];
        if (c == '#' && lexer->language->lines)
            while (at < lexer->bytes && lexer->text[at] != '\n')
                at++;
        else if (c == ' ' || c == '\t' || c == '\r' || (newlines && c == '\n'))
            at++;
        else
            break;
    }
    return at;
}

/* Does the statement go on behind a newline, after this token? */
static bool goes_on(const struct lexer *lexer) {
    token_kind last = lexer->token.kind;
    return !lexer->language->lines || lexer->depth > 0 || last == TOKEN_PIPE || last == TOKEN_COMMA ||
           last == TOKEN_COLON || last == TOKEN_EQUALS;
}

mldf_status mldfi_lex_next(struct lexer *lexer, mldf_error *err) {
    size_t at = skip_blanks(lexer, lexer->token.at + lexer->token.bytes, goes_on(lexer));
    if (at < lexer->bytes && lexer->text[at] == '\n') {
        size_t next = skip_blanks(lexer, at, true);
        if (next < lexer->bytes && lexer->text[next] == '|')
            at = next;
    }
    lexer->token = (struct token){TOKEN_END, at, 0, NULL, 0};
    if (at >= lexer->bytes)
        return MLDF_OK;
    char c = lexer->text[at];
    if (c && strchr(lexer->language->quotes, c))
        return take_quoted(lexer, err);
    if (mldfi_lex_is_digit(c) || (c && strchr(lexer->language->number_begins, c))) {
        lexer->token.kind = TOKEN_NUMBER;
        return lexer->language->number(lexer, err);
    }
    if (!mldfi_lex_begins_name(c))
        return take_sign(lexer, err);
    take_word(lexer);
    return MLDF_OK;
}
