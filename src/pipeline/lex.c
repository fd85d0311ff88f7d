/* Tokens of the pipeline's language. One idea: whether a newline ends a statement is decided here, so that the parser never sees the others.
 * See lex.h; parse.c reads the tokens. */
#include "pipeline/lex.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"
#include "util/number.h"

/* ---- Memory ------------------------------------------------------------------------------------------------------------------ */

struct arena_block {
    struct arena_block *next;
    max_align_t data[];
};

void *mldfi_arena_alloc(struct arena *arena, size_t count, size_t bytes, mldf_error *err) {
    uint64_t room, all;
    if (!mldfi_mul_u64(count, bytes, &room) || !mldfi_add_u64(room, sizeof(struct arena_block), &all) ||
        all > PTRDIFF_MAX) {
        (void)mldfi_fail_memory(err, SIZE_MAX);
        return NULL;
    }
    struct arena_block *block = mldfi_alloc_zero(1, (size_t)all, err);
    if (!block)
        return NULL;
    block->next = arena->blocks;
    arena->blocks = block;
    return block->data;
}

char *mldfi_arena_copy(struct arena *arena, const char *text, size_t bytes, mldf_error *err) {
    char *copy = mldfi_arena_alloc(arena, bytes + 1, 1, err);
    if (copy && bytes)
        memcpy(copy, text, bytes);
    return copy;
}

mldf_status mldfi_arena_push(struct arena *arena, void *array, size_t count, size_t item_bytes, mldf_error *err) {
    void *old;
    if (count & (count - 1))
        return MLDF_OK; /* room for the next power of two was made before */
    memcpy(&old, array, sizeof old);
    void *items = mldfi_arena_alloc(arena, count ? count * 2 : 1, item_bytes, err);
    if (!items)
        return MLDF_E_MEMORY;
    if (count)
        memcpy(items, old, count * item_bytes);
    memcpy(array, &items, sizeof items);
    return MLDF_OK;
}

void mldfi_arena_free(struct arena *arena) {
    while (arena->blocks) {
        struct arena_block *next = arena->blocks->next;
        free(arena->blocks);
        arena->blocks = next;
    }
}

/* ---- Errors ------------------------------------------------------------------------------------------------------------------ */

/* Lines end with \n; columns count characters from 1. */
static void place_of(const char *text, size_t at, size_t *line, size_t *column) {
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

__attribute__((format(printf, 6, 0))) static mldf_status fail_at(const char *text, size_t bytes, size_t at,
                                                                 mldf_error *err, mldf_status status,
                                                                 const char *format, va_list args) {
    char message[MLDF_MESSAGE_MAX + 1];
    if (!err)
        return status;
    vsnprintf(message, sizeof message, format, args);
    mldfi_fail_at(err, status, at, "%s", message);
    return mldfi_pipeline_place(text, bytes, at, err, status);
}

mldf_status mldfi_pipeline_place(const char *text, size_t text_bytes, size_t at, mldf_error *err, mldf_status status) {
    size_t line, column;
    char place[64];
    if (!err)
        return status;
    place_of(text, at < text_bytes ? at : text_bytes, &line, &column);
    (void)snprintf(place, sizeof place, "line %zu, column %zu", line, column);
    mldfi_error_path(err, place);
    err->offset = at;
    return status;
}

mldf_status mldfi_pipeline_fail(const char *text, size_t text_bytes, size_t at, mldf_error *err, mldf_status status,
                                const char *format, ...) {
    va_list args;
    va_start(args, format);
    (void)fail_at(text, text_bytes, at, err, status, format, args);
    va_end(args);
    return status;
}

mldf_status mldfi_lex_fail(const struct lexer *lexer, mldf_error *err, const char *format, ...) {
    va_list args;
    va_start(args, format);
    (void)fail_at(lexer->text, lexer->bytes, lexer->token.at, err, MLDF_E_SYNTAX, format, args);
    va_end(args);
    return MLDF_E_SYNTAX;
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

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_name_start(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (uint8_t)c >= 0x80;
}

/* "[12]" behind a word: one of several parts. */
static size_t number_bytes(const char *text, size_t bytes) {
    enum { DIGITS = 9 };
    size_t at = 1;
    if (bytes < 3 || text[0] != '[')
        return 0;
    while (at < bytes && at <= DIGITS && is_digit(text[at]))
        at++;
    return at > 1 && at < bytes && text[at] == ']' ? at + 1 : 0;
}

/* Bytes of the bare word at the beginning of text; dots are part of it inside, and a number in brackets at its end. */
static size_t word_bytes(const char *text, size_t bytes) {
    size_t at = 0;
    if (bytes == 0 || !is_name_start(text[0]))
        return 0;
    while (at < bytes) {
        bool dot = text[at] == '.' && at + 1 < bytes && (is_name_start(text[at + 1]) || is_digit(text[at + 1]));
        if (!is_name_start(text[at]) && !is_digit(text[at]) && !dot)
            break;
        at++;
    }
    return at + number_bytes(text + at, bytes - at);
}

bool mldfi_is_bare_word(const char *text, size_t bytes) {
    return bytes > 0 && word_bytes(text, bytes) == bytes;
}

static mldf_status fail_byte(struct lexer *lexer, size_t at, mldf_error *err, const char *message) {
    lexer->token.at = at;
    return mldfi_lex_fail(lexer, err, "%s", message);
}

/* Quotes are " and `; a backslash stands before a quote, a backslash, n, r or t. */
static mldf_status take_quoted(struct lexer *lexer, mldf_error *err) {
    static const char from[] = "nrt\\\"`", to[] = "\n\r\t\\\"`";
    size_t begin = lexer->token.at, at = begin + 1, used = 0;
    char quote = lexer->text[begin];
    while (at < lexer->bytes && lexer->text[at] != quote && lexer->text[at] != '\n')
        at += lexer->text[at] == '\\' ? 2 : 1;
    if (at >= lexer->bytes || lexer->text[at] == '\n')
        return fail_byte(lexer, begin, err, quote == '`' ? "this name is never closed" : "this text is never closed");
    char *out = mldfi_arena_alloc(lexer->arena, at - begin, 1, err);
    if (!out)
        return MLDF_E_MEMORY;
    for (size_t i = begin + 1; i < at; i++) {
        char c = lexer->text[i];
        if (c == '\\') {
            const char *found = strchr(from, lexer->text[++i]);
            if (!found || !*found)
                return fail_byte(lexer, i - 1, err, "unknown escape; \\\\ is a backslash");
            c = to[found - from];
        }
        out[used++] = c;
    }
    lexer->token.kind = quote == '`' ? TOKEN_QUOTED : TOKEN_TEXT;
    lexer->token.bytes = at + 1 - begin;
    lexer->token.string = out;
    lexer->token.string_bytes = used;
    return MLDF_OK;
}

/* ---- Words, numbers, signs ------------------------------------------------------------------------------------------------------ */

static void take_word(struct lexer *lexer) {
    struct token *t = &lexer->token;
    t->kind = TOKEN_NAME;
    t->string = lexer->text + t->at;
    t->bytes = t->string_bytes = word_bytes(t->string, lexer->bytes - t->at);
}

static mldf_status take_number(struct lexer *lexer, mldf_error *err) {
    const char *begin = lexer->text + lexer->token.at, *end = lexer->text + lexer->bytes, *bad = begin;
    bool integer;
    const char *behind = mldfi_number_end(begin, end, &integer, &bad);
    if (!behind && (bad < end && *bad == '.'))
        return fail_byte(lexer, (size_t)(begin - lexer->text), err, "a number begins with a digit: 0.5");
    if (!behind)
        return fail_byte(lexer, (size_t)(bad - lexer->text), err, "this number lacks a digit");
    if (behind < end && (is_name_start(*behind) || is_digit(*behind) || *behind == '.'))
        return fail_byte(lexer, (size_t)(begin - lexer->text), err,
                         is_digit(*behind)
                             ? "a number has no leading zeros"
                             : "a number runs into a word; a name that begins with a digit needs `quotes`");
    lexer->token.kind = TOKEN_NUMBER;
    lexer->token.bytes = (size_t)(behind - begin);
    return MLDF_OK;
}

static mldf_status take_sign(struct lexer *lexer, mldf_error *err) {
    static const char signs[] = ",:=|()[];\n";
    static const token_kind kinds[] = {TOKEN_COMMA, TOKEN_COLON, TOKEN_EQUALS, TOKEN_PIPE,  TOKEN_OPEN,
                                       TOKEN_CLOSE, TOKEN_LIST,  TOKEN_UNLIST, TOKEN_BREAK, TOKEN_BREAK};
    char c = lexer->text[lexer->token.at];
    const char *found = c ? strchr(signs, c) : NULL;
    if (!found && c == '\'')
        return mldfi_lex_fail(lexer, err, "text is written in \"double quotes\" here");
    if (!found && ((uint8_t)c < 0x20 || c == 0x7F))
        return mldfi_lex_fail(lexer, err, "the byte 0x%02x has no meaning here", (unsigned)(uint8_t)c);
    if (!found)
        return mldfi_lex_fail(lexer, err, "'%c' has no meaning here", c);
    lexer->token.kind = kinds[found - signs];
    lexer->token.bytes = 1;
    if (c == '(' || c == '[')
        lexer->depth++;
    if ((c == ')' || c == ']') && lexer->depth > 0)
        lexer->depth--;
    return MLDF_OK;
}

/* Behind blanks, comments and, when `lines`, newlines. */
static size_t skip_blanks(const struct lexer *lexer, size_t at, bool lines) {
    while (at < lexer->bytes) {
        char c = lexer->text[at];
        if (c == '#')
            while (at < lexer->bytes && lexer->text[at] != '\n')
                at++;
        else if (c == ' ' || c == '\t' || c == '\r' || (lines && c == '\n'))
            at++;
        else
            break;
    }
    return at;
}

mldf_status mldfi_lex_next(struct lexer *lexer, mldf_error *err) {
    token_kind last = lexer->token.kind;
    size_t at = lexer->token.at + lexer->token.bytes;
    bool continues =
        lexer->depth > 0 || last == TOKEN_PIPE || last == TOKEN_COMMA || last == TOKEN_COLON || last == TOKEN_EQUALS;
    at = skip_blanks(lexer, at, continues);
    if (at < lexer->bytes && lexer->text[at] == '\n') {
        size_t next = skip_blanks(lexer, at, true);
        if (next < lexer->bytes && lexer->text[next] == '|')
            at = next;
    }
    lexer->token = (struct token){TOKEN_END, at, 0, NULL, 0};
    if (at >= lexer->bytes)
        return MLDF_OK;
    char c = lexer->text[at];
    if (c == '"' || c == '`')
        return take_quoted(lexer, err);
    if (is_digit(c) || c == '-' || c == '.')
        return take_number(lexer, err);
    if (!is_name_start(c))
        return take_sign(lexer, err);
    take_word(lexer);
    return MLDF_OK;
}
