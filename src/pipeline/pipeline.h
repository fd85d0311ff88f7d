/* The pipeline from the inside: statements as they were written, and the chains that come of them. */
#ifndef MLDF_PIPELINE_PIPELINE_H
#define MLDF_PIPELINE_PIPELINE_H

#include "pipeline/op.h"
#include "pipeline/plan.h"

/* ---- Text → statements (parse.c) ---------------------------------------------------------------------------------------------- */

typedef enum literal_kind { LITERAL_NUMBER, LITERAL_WORD, LITERAL_TEXT, LITERAL_LIST } literal_kind;
/* An argument's value. Pointers go into the pipeline's own copy of the text, or its arena. */
struct literal {
    literal_kind kind;
    const char *text; /* as written; TEXT: unescaped, without quotes */
    size_t bytes;
    double number;    /* NUMBER */
    bool whole;       /* NUMBER: written without fraction and exponent */
    struct literal *items; /* LIST: numbers or words */
    size_t item_count;
    uint32_t offset;
};
struct argument {
    const char *name; /* NULL: by place */
    size_t name_bytes;
    uint32_t offset;
    struct literal value;
};
struct step {
    const struct op_type *type; /* found when parsed */
    const void *user;           /* struct user_operation of the context, when it is one */
    struct argument *arguments;
    size_t argument_count;
    uint32_t offset, bytes;
};
struct binding {
    char *output;     /* name of the output */
    char **inputs;    /* one name (field, or earlier output), or several: OUT = [a, b] */
    size_t input_count;
    value_role role;  /* ROLE_NONE: by the field's type */
    uint32_t offset;
};
struct statement {
    struct binding *bindings;
    size_t binding_count;
    struct step *steps;
    size_t step_count;
};
struct mldf_pipeline {
    const mldf_context *context;
    char *text;
    size_t text_bytes;
    struct statement *statements;
    size_t statement_count;
};

/* MLDF_E_SYNTAX (or another status) at a byte of the text: "line 1, column 17: ..." with the line and a caret below in the message when it fits. */
__attribute__((format(printf, 5, 6))) mldf_status mldfi_pipeline_fail(const char *text, size_t text_bytes,
                                                                      mldf_error *err, mldf_status status,
                                                                      const char *format, ...);

/* ---- Arguments → values (parameters.c) ------------------------------------------------------------------------------------------- */

/* Fills op->args from a step's arguments and the type's defaults. */
mldf_status mldfi_bind_parameters(const struct mldf_pipeline *pipeline, const struct step *step, struct op *op, mldf_error *err);
void mldfi_free_parameters(struct op *op);
/* For tests and composite operations (randaugment): a bound, inferred instance from text such as "hflip(p=0.3)". */
mldf_status mldfi_op_from_text(const char *text, const struct edge *in, struct op *op, mldf_error *err);
void mldfi_op_free(struct op *op);
/* "u8" → MLDF_U8 ...; NONE when unknown. */
mldf_dtype mldfi_dtype_word(const char *word, size_t bytes);
const char *mldfi_dtype_short(mldf_dtype dtype); /* "u8", "f32" ... */

/* ---- Statements + schema → chains (graph.c) ----------------------------------------------------------------------------------------- */

struct stage;
struct chain {
    char *name;
    size_t field;     /* SIZE_MAX: made of `inputs` */
    size_t *inputs;   /* chains */
    size_t input_count;
    struct edge source; /* type of the field's value; of the first operation's output for a chain of inputs */
    struct op *ops;
    size_t op_count;
    bool hidden;      /* dropped */
    struct plan_output output;
    struct stage *stages; /* made by plan.c */
    size_t stage_count;
};
struct graph {
    struct chain *chains; /* in an order in which inputs come first, leaders of groups too */
    size_t chain_count;
    uint32_t shared_count; /* different draws of a sample: op.shared is below this */
};
mldf_status mldfi_graph_new(const mldf_pipeline *pipeline, const mldf_schema *schema, const struct plan_bounds *bounds,
                            const struct plan_options *options, struct graph *out, mldf_error *err);
void mldfi_graph_free(struct graph *graph);
/* The type of a field's stored value. */
mldf_status mldfi_field_edge(const mldf_field *field, const struct plan_bounds *bounds, struct edge *out, mldf_error *err);

#endif
