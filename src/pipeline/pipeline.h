/* The pipeline from the inside: statements as they were written, and the chains that come of them. */
#ifndef MLDF_PIPELINE_PIPELINE_H
#define MLDF_PIPELINE_PIPELINE_H

#include "field/field.h"
#include "pipeline/op.h"
#include "pipeline/plan.h"
#include "util/arena.h"

/* ---- Text → statements (parse.c) ---------------------------------------------------------------------------------------------- */

typedef enum literal_kind { LITERAL_NUMBER, LITERAL_WORD, LITERAL_TEXT, LITERAL_LIST } literal_kind;
/* An argument's value. Pointers go into the pipeline's own copy of the text, or its arena. */
struct literal {
    literal_kind kind;
    const char *text; /* as written; TEXT: unescaped, without quotes */
    size_t bytes;
    double number;         /* NUMBER */
    bool whole;            /* NUMBER: written without fraction and exponent */
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
    char *output;  /* name of the output */
    char **inputs; /* one name (field, or earlier output), or several: OUT = [a, b] */
    size_t input_count;
    uint32_t *places; /* of the inputs in the text */
    bool listed;      /* written with [ ]: for the first step, which takes several inputs */
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
    struct arena arena;
    char *text;
    size_t text_bytes;
    struct statement *statements;
    size_t statement_count;
};

/* A status at a byte of the text: err->offset, and a message "line 1, column 17: ...". */
mldf_status mldfi_pipeline_place(const char *text, size_t text_bytes, size_t at, mldf_error *err, mldf_status status);
__attribute__((format(printf, 6, 7))) mldf_status mldfi_pipeline_fail(const char *text, size_t text_bytes, size_t at,
                                                                      mldf_error *err, mldf_status status,
                                                                      const char *format, ...);
/* The context's own operation of this name (then step.user, op.user), or NULL (user_op.c). `type` describes it as op_type does a built-in one; the
 * numbers of the text are args[0].list of its ops. */
struct user_operation {
    struct op_type type;
};
const struct user_operation *mldfi_context_operation(const mldf_context *context, const char *name, size_t bytes);

/* decode_options.c: what `from` (plan_options.decode; may be NULL) says of a decoding step that is bound, where its own text says nothing. */
mldf_status mldfi_decode_options_apply(const struct mldf_pipeline *from, struct op *op, mldf_error *err);

/* ---- Arguments → values (parameters.c) ------------------------------------------------------------------------------------------- */

/* Fills op->args from a step's arguments and the type's defaults. */
mldf_status mldfi_bind_parameters(const struct mldf_pipeline *pipeline, const struct step *step, struct op *op,
                                  mldf_error *err);
void mldfi_free_parameters(struct op *op);
/* For tests and composite operations (randaugment): a bound, inferred instance from text such as "hflip(p=0.3)". */
mldf_status mldfi_op_from_text(const char *text, const struct edge *in, struct op *op, mldf_error *err);
void mldfi_op_free(struct op *op);
/* "name(a=1, b=2)", every parameter by name; appended. */
mldf_status mldfi_op_write(const struct op *op, mldf_buffer *out, mldf_error *err);
/* Calls infer, or infer_many where the type has only that; fills op->in and op->out. */
mldf_status mldfi_op_infer(struct op *op, const struct edge *in, size_t count, mldf_error *err);
/* What op_type.dims says of op->out (op_dims.c); and the dims of a sample's output. */
void mldfi_infer_dims(struct op *op);
mldf_status mldfi_op_shape(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                           mldf_error *err);
/* "u8" → MLDF_U8 ...; NONE when unknown. */
mldf_dtype mldfi_dtype_word(const char *word, size_t bytes);
const char *mldfi_dtype_short(mldf_dtype dtype); /* "u8", "f32" ... */
/* Is it the parameter that op_type.quiet names, or one after it? write_text.c. */
bool mldfi_op_may_be_quiet(const struct op_type *type, size_t param);

/* ---- Statements + schema → chains (graph.c) ----------------------------------------------------------------------------------------- */

struct stage;
enum { PREPARE_LENGTHS = 1, PREPARE_RANGES = 2 };
/* One output, or what others are made of. Its value begins as
 *   - a field's value (`field`; with `member`: that part of its record, strided, as member says), or
 *   - that of its `inputs`. Where the statement had a [list], the first op is OP_INPUTS and takes them all (infer_many, run_many); else there is one
 *     input, and the chain goes on from that chain's value, with any op or none. */
struct chain {
    char *name;
    size_t field;                  /* SIZE_MAX: made of `inputs` */
    char *field_name;              /* its name, for errors; NULL: made of `inputs` */
    struct field_part *part;       /* of the field's values; NULL: the whole value */
    const struct schema_field *of; /* with a part that must be located: the schema's */
    size_t *inputs;                /* chains */
    size_t input_count;
    size_t share; /* other chains read the field too: which of the plan's shares (held.c); SIZE_MAX: they do not */
    bool into;    /* the field's type decodes into memory (run_into.c) */
    bool direct;  /* a number or an array of fixed dims that goes into the batch, maybe cast (run_direct.c), */
    size_t direct_count; /* of so many elements */
    struct edge
        source; /* type of the field's value, or of the one input's; of the first operation's output for a list of inputs */
    struct op *ops; /* an OP_COLLATE op stands last */
    size_t op_count;
    struct op *fill; /* what a null becomes in front of ops[fill_at]; NULL: an error. Not one of ops (null.h) */
    size_t fill_at;
    bool lifted;     /* `all`: the output's type has the dimension of the entries, or of their lengths; */
    bool stacked;    /* entries are of one shape: the output has one more dimension */
    bool hidden;     /* no output: dropped, or an input only */
    uint32_t offset; /* of its name in the pipeline's text; 0 for fields that no statement names */
    struct plan_output output;
    struct stage *stages; /* made by plan.c, as is all that follows */
    size_t stage_count;
    size_t target;     /* which output it is; SIZE_MAX: hidden */
    bool feeds;        /* another chain takes its value */
    unsigned prepared; /* PREPARE_...: what depends on it before the sample is run (prepare.c) */
    size_t once;       /* so many operations at its beginning could be done when packing (once.c) */
};
/* Its value is found by the payload's table (run_parts.c); all: it runs once for each of them. */
static inline bool mldfi_is_tabled(const struct chain *c) {
    return c->part && c->part->tabled;
}
static inline bool mldfi_is_all(const struct chain *c) {
    return c->part && c->part->all;
}
struct graph {
    struct chain *chains; /* in an order in which inputs come first, leaders of groups too */
    size_t chain_count;
    size_t *outputs; /* the chains that are not hidden, in the order of the text, then of the schema */
    size_t output_count;
    bool *named;           /* for each field of the schema: a statement names it, or it is an output without one */
    uint32_t shared_count; /* different draws of a sample: op.shared of ops with OP_DRAWS is below this */
};
mldf_status mldfi_graph_new(const mldf_pipeline *pipeline, const mldf_schema *schema, const struct value_bounds *bounds,
                            const struct plan_options *options, struct graph *out, mldf_error *err);
void mldfi_graph_free(struct graph *graph);
/* The type of a field's stored value (chain_source.c). bounds may be NULL. Where they say that all values agree in a dimension, it is fixed: whoever
 * reads values must check that. */
mldf_status mldfi_field_edge(const mldf_schema *schema, size_t field, const struct value_bounds *bounds,
                             struct edge *out, mldf_error *err);

#endif
