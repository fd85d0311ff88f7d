/* The text of a pipeline on its way to statements: util/lex.h makes tokens by the language of lex.c, step.c steps of them, parse.c statements. */
#ifndef MLDF_PIPELINE_LEX_H
#define MLDF_PIPELINE_LEX_H

#include "pipeline/pipeline.h"
#include "util/lex.h"

enum {
    PIPELINE_MAX_TEXT = 1 << 16,
    PIPELINE_MAX_STATEMENTS = 1024,
    PIPELINE_MAX_STEPS = 4096,
    PIPELINE_MAX_INPUTS = 64
};

/* Errors are MLDF_E_SYNTAX, "line 1, column 17: ...". */
struct lexer mldfi_pipeline_lexer(const char *text, size_t bytes, struct arena *arena);
/* Needs no quotes as a name or a word. */
bool mldfi_is_bare_word(const char *text, size_t bytes);

/* ---- Steps (step.c) ------------------------------------------------------------------------------------------------------------ */

/* NAME or NAME(arguments) at the current token; ends behind it. */
mldf_status mldfi_parse_step(struct lexer *lexer, const mldf_context *context, struct step *out, mldf_error *err);
/* One value: number, word, "text" or [list]. */
mldf_status mldfi_parse_literal(struct lexer *lexer, struct literal *out, mldf_error *err);

/* A name as a pipeline's text has it, in quotes where it needs them, appended (write_text.c). */
mldf_status mldfi_pipeline_write_name(const char *name, mldf_buffer *out, mldf_error *err);

#endif
