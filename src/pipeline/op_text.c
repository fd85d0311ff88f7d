/* A single operation from text, bound and inferred: for operations that are made of others, and for tests. */
#include <stdlib.h>
#include <string.h>

#include "pipeline/lex.h"
#include "util/error.h"

static mldf_status parse_one(struct lexer *lexer, struct step *out, mldf_error *err) {
    char room[64];
    mldf_status status = mldfi_lex_next(lexer, err);
    if (status == MLDF_OK)
        status = mldfi_parse_step(lexer, NULL, out, err);
    if (status == MLDF_OK && lexer->token.kind != TOKEN_END)
        status = mldfi_lex_fail(lexer, err, "expected one operation, found %s", mldfi_lex_found(lexer, room));
    return status;
}

/* The type that comes out; the input's when the operation does not say. */
mldf_status mldfi_op_infer(struct op *op, const struct edge *in, size_t count, mldf_error *err) {
    op->in = in[0];
    op->out = in[0];
    if (op->type->infer_many && !op->type->infer)
        return op->type->infer_many(op, in, count, &op->out, err);
    mldf_status status = op->type->infer ? op->type->infer(op, &op->in, &op->out, err) : MLDF_OK;
    if (status == MLDF_OK)
        mldfi_infer_dims(op);
    return status;
}

mldf_status mldfi_op_from_text(const char *text, const struct edge *in, struct op *op, mldf_error *err) {
    struct mldf_pipeline pipeline = {0};
    struct lexer lexer = mldfi_pipeline_lexer(text, strlen(text), &pipeline.arena);
    struct step step;
    memset(op, 0, sizeof *op);
    mldf_status status = parse_one(&lexer, &step, err);
    if (status == MLDF_OK) {
        pipeline.text_bytes = lexer.bytes;
        pipeline.text = (char *)(uintptr_t)text; /* read only: for messages */
        status = mldfi_bind_parameters(&pipeline, &step, op, err);
    }
    mldfi_arena_free(&pipeline.arena);
    if (status < 0)
        return status;
    op->leads = true;
    op->lead_rate = in->rate;
    status = mldfi_op_infer(op, in, 1, err);
    if (status < 0) {
        mldfi_error_prefix(err, "%s", op->type->name);
        mldfi_op_free(op);
    }
    return status;
}

void mldfi_op_free(struct op *op) {
    if (!op || !op->type)
        return;
    mldfi_free_parameters(op);
    if (op->state && op->type->free_state)
        op->type->free_state(op->state);
    else
        free(op->state);
    op->state = NULL;
}
