/* One step of a pipeline: NAME or NAME(arguments), its values as they were written. parse.c puts steps into statements; parameters.c gives the
 * values their meaning. */
#include <string.h>

#include "field/type.h"
#include "pipeline/lex.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/number.h"

static mldf_status take_number(struct lexer *lexer, struct literal *out, mldf_error *err) {
    const struct token *t = &lexer->token;
    out->kind = LITERAL_NUMBER;
    out->whole = !memchr(out->text, '.', out->bytes) && !memchr(out->text, 'e', out->bytes) &&
                 !memchr(out->text, 'E', out->bytes);
    if (!mldfi_parse_double(lexer->text + t->at, t->bytes, &out->number))
        return mldfi_lex_fail(lexer, err, "a number beyond 1.8e308");
    return MLDF_OK;
}

/* A number, a word or "text". */
static mldf_status take_plain(struct lexer *lexer, struct literal *out, mldf_error *err) {
    const struct token *t = &lexer->token;
    char room[64];
    mldf_status status = MLDF_OK;
    *out = (struct literal){.text = lexer->text + t->at, .bytes = t->bytes, .offset = (uint32_t)t->at};
    switch (t->kind) {
    case TOKEN_NUMBER:
        status = take_number(lexer, out, err);
        break;
    case TOKEN_NAME:
        out->kind = LITERAL_WORD;
        break;
    case TOKEN_TEXT:
        out->kind = LITERAL_TEXT;
        out->text = t->string;
        out->bytes = t->string_bytes;
        break;
    default:
        return mldfi_lex_fail(lexer, err, "expected a value, found %s", mldfi_lex_found(lexer, room));
    }
    return status == MLDF_OK ? mldfi_lex_next(lexer, err) : status;
}

static mldf_status take_list(struct lexer *lexer, struct literal *out, mldf_error *err) {
    char room[64];
    size_t begin = lexer->token.at;
    *out = (struct literal){.kind = LITERAL_LIST, .text = lexer->text + begin, .offset = (uint32_t)begin};
    mldf_status status = mldfi_lex_next(lexer, err);
    while (status == MLDF_OK && lexer->token.kind != TOKEN_UNLIST) {
        if (out->item_count == OP_MAX_LIST)
            return mldfi_pipeline_fail(lexer->text, lexer->bytes, begin, err, MLDF_E_LIMIT,
                                       "a list of more than %d values", OP_MAX_LIST);
        if (lexer->token.kind == TOKEN_LIST)
            return mldfi_lex_fail(lexer, err, "a list holds numbers and words, not lists");
        status = mldfi_arena_push(lexer->arena, &out->items, out->item_count, sizeof out->items[0], err);
        if (status == MLDF_OK)
            status = take_plain(lexer, &out->items[out->item_count++], err);
        if (status == MLDF_OK && lexer->token.kind == TOKEN_COMMA)
            status = mldfi_lex_next(lexer, err);
        else if (status == MLDF_OK && lexer->token.kind != TOKEN_UNLIST)
            return mldfi_lex_fail(lexer, err, "expected ',' or ']', found %s", mldfi_lex_found(lexer, room));
    }
    if (status < 0)
        return status;
    out->bytes = lexer->token.at + 1 - begin;
    return mldfi_lex_next(lexer, err);
}

mldf_status mldfi_parse_literal(struct lexer *lexer, struct literal *out, mldf_error *err) {
    return lexer->token.kind == TOKEN_LIST ? take_list(lexer, out, err) : take_plain(lexer, out, err);
}

/* value, or NAME = value */
static mldf_status take_argument(struct lexer *lexer, struct argument *out, mldf_error *err) {
    struct token first = lexer->token;
    *out = (struct argument){.offset = (uint32_t)first.at};
    mldf_status status = mldfi_parse_literal(lexer, &out->value, err);
    if (status < 0 || lexer->token.kind != TOKEN_EQUALS)
        return status;
    if (first.kind != TOKEN_NAME)
        return mldfi_lex_fail(lexer, err, "only a parameter's name comes before '='");
    out->name = first.string;
    out->name_bytes = first.string_bytes;
    status = mldfi_lex_next(lexer, err);
    return status == MLDF_OK ? mldfi_parse_literal(lexer, &out->value, err) : status;
}

static mldf_status take_arguments(struct lexer *lexer, struct step *out, mldf_error *err) {
    char room[64];
    bool named = false;
    mldf_status status = mldfi_lex_next(lexer, err); /* ( */
    while (status == MLDF_OK && lexer->token.kind != TOKEN_CLOSE) {
        struct argument argument;
        status = take_argument(lexer, &argument, err);
        if (status < 0)
            return status;
        if (named && !argument.name)
            return mldfi_pipeline_fail(lexer->text, lexer->bytes, argument.offset, err, MLDF_E_SYNTAX,
                                       "a value without a name after one with a name");
        named = named || argument.name;
        status = mldfi_arena_push(lexer->arena, &out->arguments, out->argument_count, sizeof argument, err);
        if (status < 0)
            return status;
        out->arguments[out->argument_count++] = argument;
        if (lexer->token.kind == TOKEN_COMMA)
            status = mldfi_lex_next(lexer, err);
        else if (lexer->token.kind != TOKEN_CLOSE)
            return mldfi_lex_fail(lexer, err, "expected ',' or ')', found %s", mldfi_lex_found(lexer, room));
    }
    return status;
}

/* RandomResizedCrop is random_resized_crop here; names that differ by more than their spelling are in a table. */
static const char *peer_name(const char *name, char room[2 * MLDF_NAME_MAX + 2]) {
    static const struct {
        const char *theirs, *here;
    } others[] = {{"RandomHorizontalFlip", "hflip"},
                  {"HorizontalFlip", "hflip"},
                  {"RandomVerticalFlip", "vflip"},
                  {"VerticalFlip", "vflip"},
                  {"ToTensor", "chw(f32)"},
                  {"ToTorchImage", "chw"},
                  {"PILToTensor", "chw"},
                  {"RandomErasing", "erasing"},
                  {"Compose", "steps joined by |"},
                  {"ConvertImageDtype", "cast"},
                  {"ToImage", "decode"},
                  {"flip", "hflip"},
                  {"crop", "random_crop or center_crop"},
                  {"Crop", "random_crop or center_crop"},
                  {"horizontal_flip", "hflip"},
                  {"vertical_flip", "vflip"},
                  {"to_tensor", "chw(f32)"},
                  {"random_horizontal_flip", "hflip"},
                  {"random_erasing", "erasing"}};
    size_t at = 0;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(name, others[i].theirs) == 0)
            return others[i].here;
    for (const char *p = name; *p && at < 2 * MLDF_NAME_MAX; p++) {
        bool upper = *p >= 'A' && *p <= 'Z';
        if (upper && p > name && !(p[-1] >= 'A' && p[-1] <= 'Z'))
            room[at++] = '_';
        room[at++] = upper ? (char)(*p - 'A' + 'a') : *p;
    }
    room[at] = 0;
    return mldfi_op_find(room, at) ? room : NULL;
}

static mldf_status fail_unknown(const struct lexer *lexer, const struct token *name, mldf_error *err) {
    char wanted[MLDF_NAME_MAX + 1], room[2 * MLDF_NAME_MAX + 2];
    struct suggestion suggestion = {wanted, NULL, 0};
    size_t bytes = name->string_bytes < MLDF_NAME_MAX ? name->string_bytes : MLDF_NAME_MAX;
    memcpy(wanted, name->string, bytes);
    wanted[bytes] = 0;
    mldf_status status = mldfi_pipeline_fail(lexer->text, lexer->bytes, name->at, err, MLDF_E_ARGUMENT,
                                             "there is no operation %s", wanted);
    const char *here = peer_name(wanted, room);
    if (here)
        return mldfi_error_advise(err, status, "here it is %s", here);
    for (size_t i = 0; mldfi_op_at(i); i++)
        mldfi_suggest(&suggestion, mldfi_op_at(i)->name);
    return suggestion.best ? mldfi_error_advise(err, status, "did you mean %s?", suggestion.best) : status;
}

mldf_status mldfi_parse_step(struct lexer *lexer, const mldf_context *context, struct step *out, mldf_error *err) {
    char room[64];
    struct token name = lexer->token;
    *out = (struct step){.offset = (uint32_t)name.at, .bytes = (uint32_t)name.bytes};
    if (name.kind != TOKEN_NAME)
        return mldfi_lex_fail(lexer, err, "expected an operation, found %s", mldfi_lex_found(lexer, room));
    out->type = mldfi_op_find(name.string, name.string_bytes);
    if (!out->type) {
        const struct user_operation *user = mldfi_context_operation(context, name.string, name.string_bytes);
        if (!user)
            return fail_unknown(lexer, &name, err);
        out->type = &user->type;
        out->user = user;
    }
    mldf_status status = mldfi_lex_next(lexer, err);
    if (status < 0 || lexer->token.kind != TOKEN_OPEN)
        return status;
    TRY(take_arguments(lexer, out, err));
    out->bytes = (uint32_t)(lexer->token.at + 1 - out->offset);
    return mldfi_lex_next(lexer, err);
}
