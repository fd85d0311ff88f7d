/* Text into statements: which outputs are made of what, by which steps. Nothing is known of a file yet; the arguments of every step are bound
 * once, so that all that can be wrong without a file is found here. Grammar: docs/pipeline.md. graph.c goes on. */
#include <stdlib.h>
#include <string.h>

#include "pipeline/lex.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/utf8.h"

enum { NAME_MAX_BYTES = 255 };

struct parser {
    struct lexer lexer;
    struct mldf_pipeline *pipeline;
    size_t step_count;
};

/* ---- Names ------------------------------------------------------------------------------------------------------------------------------ */

static bool at_word(const struct lexer *lexer, const char *word) {
    const struct token *t = &lexer->token;
    return t->kind == TOKEN_NAME && t->string_bytes == strlen(word) && memcmp(t->string, word, t->string_bytes) == 0;
}

/* A name into the arena. */
static mldf_status take_name(struct parser *p, const char *wanted, char **out, mldf_error *err) {
    const struct token *t = &p->lexer.token;
    char room[64];
    if (t->kind != TOKEN_NAME && t->kind != TOKEN_QUOTED)
        return mldfi_lex_fail(&p->lexer, err, "expected %s, found %s", wanted, mldfi_lex_found(&p->lexer, room));
    if (t->string_bytes == 0)
        return mldfi_lex_fail(&p->lexer, err, "a name is not empty");
    if (t->string_bytes > NAME_MAX_BYTES)
        return mldfi_lex_fail(&p->lexer, err, "a name has at most %d bytes", NAME_MAX_BYTES);
    for (size_t i = 0; i < t->string_bytes; i++)
        if ((uint8_t)t->string[i] < 0x20 || t->string[i] == 0x7F)
            return mldfi_lex_fail(&p->lexer, err, "a name holds no control characters");
    *out = mldfi_arena_copy(p->lexer.arena, t->string, t->string_bytes, err);
    return *out ? mldfi_lex_next(&p->lexer, err) : MLDF_E_MEMORY;
}

/* One more input: a name to come, or the output's own. */
static mldf_status push_input(struct parser *p, struct binding *out, bool own, mldf_error *err) {
    struct arena *arena = p->lexer.arena;
    uint32_t place = own ? out->offset : (uint32_t)p->lexer.token.at;
    mldf_status status = mldfi_arena_push(arena, &out->inputs, out->input_count, sizeof out->inputs[0], err);
    if (status == MLDF_OK)
        status = mldfi_arena_push(arena, &out->places, out->input_count, sizeof out->places[0], err);
    if (status == MLDF_OK && own)
        out->inputs[out->input_count] = out->output;
    else if (status == MLDF_OK)
        status = take_name(p, "a field", &out->inputs[out->input_count], err);
    if (status == MLDF_OK)
        out->places[out->input_count++] = place;
    return status;
}

/* [A, B] */
static mldf_status take_inputs(struct parser *p, struct binding *out, mldf_error *err) {
    char room[64];
    size_t begin = p->lexer.token.at;
    mldf_status status = mldfi_lex_next(&p->lexer, err);
    out->listed = true;
    while (status == MLDF_OK && p->lexer.token.kind != TOKEN_UNLIST) {
        if (out->input_count == PIPELINE_MAX_INPUTS)
            return mldfi_pipeline_fail(p->lexer.text, p->lexer.bytes, begin, err, MLDF_E_LIMIT, "more than %d inputs",
                                       PIPELINE_MAX_INPUTS);
        status = push_input(p, out, false, err);
        if (status == MLDF_OK && p->lexer.token.kind == TOKEN_COMMA)
            status = mldfi_lex_next(&p->lexer, err);
        else if (status == MLDF_OK && p->lexer.token.kind != TOKEN_UNLIST)
            return mldfi_lex_fail(&p->lexer, err, "expected ',' or ']', found %s", mldfi_lex_found(&p->lexer, room));
    }
    if (status == MLDF_OK && out->input_count == 0)
        return mldfi_pipeline_fail(p->lexer.text, p->lexer.bytes, begin, err, MLDF_E_SYNTAX,
                                   "a list of inputs is not empty");
    return status == MLDF_OK ? mldfi_lex_next(&p->lexer, err) : status;
}

/* ---- Bindings ---------------------------------------------------------------------------------------------------------------------------- */

static mldf_status take_role(struct parser *p, struct binding *out, mldf_error *err) {
    static const struct {
        const char *word;
        value_role role;
    } roles[] = {{"image", ROLE_IMAGE},
                 {"mask", ROLE_MASK},
                 {"boxes", ROLE_BOXES},
                 {"points", ROLE_POINTS},
                 {"flow", ROLE_FLOW}};
    char room[64];
    mldf_status status = mldfi_lex_next(&p->lexer, err); /* as */
    if (status < 0)
        return status;
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (at_word(&p->lexer, roles[i].word)) {
            out->role = roles[i].role;
            return mldfi_lex_next(&p->lexer, err);
        }
    return mldfi_lex_fail(&p->lexer, err, "expected image, mask, boxes, points or flow, found %s",
                          mldfi_lex_found(&p->lexer, room));
}

/* Names that the loader gives to outputs of its own. */
static mldf_status check_output(const struct parser *p, const struct statement *statement,
                                const struct binding *binding, mldf_error *err) {
    static const char *const reserved[] = {"index", "valid", "key"};
    const char *text = p->lexer.text;
    size_t bytes = p->lexer.bytes;
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (strcmp(binding->output, reserved[i]) == 0)
            return mldfi_pipeline_fail(text, bytes, binding->offset, err, MLDF_E_ARGUMENT,
                                       "%s is the name of an output of the loader's own; write my_%s = ...",
                                       reserved[i], reserved[i]);
    for (size_t i = 0; i < statement->binding_count; i++)
        if (strcmp(statement->bindings[i].output, binding->output) == 0)
            return mldfi_pipeline_fail(text, bytes, binding->offset, err, MLDF_E_ARGUMENT,
                                       "%s is named twice in one statement", binding->output);
    return MLDF_OK;
}

/* NAME, OUT = NAME, OUT = [A, B], each with "as ROLE" behind it. */
static mldf_status take_binding(struct parser *p, struct statement *statement, mldf_error *err) {
    struct binding b = {.offset = (uint32_t)p->lexer.token.at};
    mldf_status status = take_name(p, "the name of an output", &b.output, err);
    if (status == MLDF_OK && p->lexer.token.kind == TOKEN_EQUALS) {
        status = mldfi_lex_next(&p->lexer, err);
        if (status == MLDF_OK)
            status = p->lexer.token.kind == TOKEN_LIST ? take_inputs(p, &b, err) : push_input(p, &b, false, err);
    } else if (status == MLDF_OK) {
        status = push_input(p, &b, true, err);
    }
    if (status == MLDF_OK && at_word(&p->lexer, "as"))
        status = take_role(p, &b, err);
    if (status == MLDF_OK)
        status = check_output(p, statement, &b, err);
    if (status == MLDF_OK)
        status = mldfi_arena_push(p->lexer.arena, &statement->bindings, statement->binding_count, sizeof b, err);
    if (status == MLDF_OK)
        statement->bindings[statement->binding_count++] = b;
    return status;
}

/* ---- Statements ---------------------------------------------------------------------------------------------------------------------------- */

/* What only the operation understands. */
static mldf_status check_step(const struct parser *p, const struct op *op, mldf_error *err) {
    mldf_error own;
    size_t at = op->offset;
    mldf_status status = op->type->check(op, &at, &own);
    if (status >= 0)
        return MLDF_OK;
    if (err)
        *err = own;
    mldfi_error_prefix(err, "%s", op->type->name);
    return mldfi_pipeline_place(p->lexer.text, p->lexer.bytes, at, err, status);
}

static mldf_status take_step(struct parser *p, struct statement *statement, mldf_error *err) {
    struct op op;
    if (p->step_count == PIPELINE_MAX_STEPS)
        return mldfi_pipeline_fail(p->lexer.text, p->lexer.bytes, p->lexer.token.at, err, MLDF_E_LIMIT,
                                   "more than %d steps", PIPELINE_MAX_STEPS);
    mldf_status status =
        mldfi_arena_push(p->lexer.arena, &statement->steps, statement->step_count, sizeof statement->steps[0], err);
    if (status < 0)
        return status;
    struct step *step = &statement->steps[statement->step_count];
    status = mldfi_parse_step(&p->lexer, p->pipeline->context, step, err);
    if (status == MLDF_OK)
        status = mldfi_bind_parameters(p->pipeline, step, &op, err);
    if (status < 0)
        return status;
    if (step->type->check)
        status = check_step(p, &op, err);
    mldfi_free_parameters(&op);
    if (status < 0)
        return status;
    statement->step_count++;
    p->step_count++;
    return MLDF_OK;
}

static mldf_status take_statement(struct parser *p, struct statement *out, mldf_error *err) {
    char room[64];
    mldf_status status = take_binding(p, out, err);
    while (status == MLDF_OK && p->lexer.token.kind == TOKEN_COMMA) {
        status = mldfi_lex_next(&p->lexer, err);
        if (status == MLDF_OK)
            status = take_binding(p, out, err);
    }
    if (status < 0)
        return status;
    bool steps = p->lexer.token.kind == TOKEN_COLON;
    while (steps && status == MLDF_OK) {
        status = mldfi_lex_next(&p->lexer, err); /* : or | */
        if (status == MLDF_OK)
            status = take_step(p, out, err);
        steps = p->lexer.token.kind == TOKEN_PIPE;
    }
    if (status < 0 || p->lexer.token.kind == TOKEN_BREAK || p->lexer.token.kind == TOKEN_END)
        return status;
    if (out->step_count)
        return mldfi_lex_fail(&p->lexer, err, "expected '|' or the end of the statement, found %s",
                              mldfi_lex_found(&p->lexer, room));
    status = mldfi_lex_fail(&p->lexer, err, "expected ':' and steps, found %s", mldfi_lex_found(&p->lexer, room));
    return mldfi_error_advise(err, status,
                              "a statement is FIELD: STEP | STEP, as in image: resize([224, 224]) | hflip");
}

static mldf_status take_all(struct parser *p, mldf_error *err) {
    struct mldf_pipeline *out = p->pipeline;
    mldf_status status = mldfi_lex_next(&p->lexer, err);
    while (status == MLDF_OK && p->lexer.token.kind != TOKEN_END) {
        if (p->lexer.token.kind == TOKEN_BREAK) {
            status = mldfi_lex_next(&p->lexer, err);
            continue;
        }
        if (out->statement_count == PIPELINE_MAX_STATEMENTS)
            return mldfi_pipeline_fail(p->lexer.text, p->lexer.bytes, p->lexer.token.at, err, MLDF_E_LIMIT,
                                       "more than %d statements", PIPELINE_MAX_STATEMENTS);
        status = mldfi_arena_push(&out->arena, &out->statements, out->statement_count, sizeof out->statements[0], err);
        if (status == MLDF_OK)
            status = take_statement(p, &out->statements[out->statement_count++], err);
    }
    return status;
}

static mldf_status parse(struct mldf_pipeline *pipeline, mldf_error *err) {
    size_t valid = mldfi_utf8_valid_prefix(pipeline->text, pipeline->text_bytes);
    struct parser p = {mldfi_pipeline_lexer(pipeline->text, pipeline->text_bytes, &pipeline->arena), pipeline, 0};
    if (valid < pipeline->text_bytes)
        return mldfi_pipeline_fail(pipeline->text, valid, valid, err, MLDF_E_SYNTAX, "this is not UTF-8");
    return take_all(&p, err);
}

mldf_status mldf_pipeline_parse(const mldf_context *context, const char *text, size_t text_bytes, mldf_pipeline **out,
                                mldf_error *err) {
    if (!out || (!text && text_bytes))
        return mldfi_fail(err, MLDF_E_ARGUMENT, "mldf_pipeline_parse: %s is NULL", out ? "text" : "out");
    *out = NULL;
    if (text_bytes > PIPELINE_MAX_TEXT)
        return mldfi_fail(err, MLDF_E_LIMIT, "a pipeline of %zu bytes; at most %d are allowed", text_bytes,
                          PIPELINE_MAX_TEXT);
    mldf_pipeline *pipeline = mldfi_alloc_zero(1, sizeof *pipeline, err);
    if (!pipeline)
        return MLDF_E_MEMORY;
    pipeline->context = context;
    pipeline->text_bytes = text_bytes;
    pipeline->text = mldfi_arena_copy(&pipeline->arena, text, text_bytes, err);
    mldf_status status = pipeline->text ? parse(pipeline, err) : MLDF_E_MEMORY;
    if (status < 0)
        mldf_pipeline_free(pipeline);
    else
        *out = pipeline;
    return status;
}

void mldf_pipeline_free(mldf_pipeline *pipeline) {
    if (!pipeline)
        return;
    mldfi_arena_free(&pipeline->arena);
    free(pipeline);
}
