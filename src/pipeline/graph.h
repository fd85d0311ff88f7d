/* What the files of the graph share: chains while they grow.
 *   chain_source.c       names → fields, members, outputs; types of stored values; roles
 *   graph.c        statements → chains
 *   graph_step.c   steps → typed operations
 *   graph_order.c  what comes out: collating, checks, order */
#ifndef MLDF_PIPELINE_GRAPH_H
#define MLDF_PIPELINE_GRAPH_H

#include "field/field.h"
#include "pipeline/lex.h"

/* A chain while the graph is built; same index as in graph.chains. */
struct draft {
    struct edge edge;   /* behind its last op */
    const char *origin; /* names the random streams: the field, or what stood behind = */
    size_t previous;    /* the chain that it goes on from under the same name, or SIZE_MAX */
    size_t step_count;  /* as written, with those of `previous` */
    size_t op_capacity;
    bool listed;   /* made of a [list] of inputs, whose op is still to come */
    bool frozen;   /* an input of another: takes no more ops */
    bool replaced; /* the name belongs to a later chain */
    bool implicit; /* a field's value that a list of inputs asked for */
    bool dropped;
    size_t place; /* among the outputs */
};

/* One draw for several: its leader must come first. */
struct lead {
    size_t leader, member;
};

/* Which statements draw from the same stream. */
struct tuple {
    const char *fields, *outputs;
    size_t view;
};

struct builder {
    const mldf_pipeline *pipeline;
    const mldf_schema *schema;
    const struct value_bounds *bounds;  /* may be NULL */
    const struct plan_options *options; /* may be NULL */
    struct graph *graph;
    struct arena arena;
    struct draft *drafts;
    size_t chain_capacity, draft_capacity;
    struct lead *leads;
    size_t lead_count, lead_capacity;
    struct tuple *tuples;
    size_t tuple_count, tuple_capacity;
    bool *named; /* for each field of the schema: some statement names it */
    size_t place_count;
};

/* ---- chain_source.c ---------------------------------------------------------------------------------------------------------------------------------- */

/* What a name means: a field, or a member of one. SIZE_MAX and *field untouched when it is neither. */
struct source {
    size_t field; /* SIZE_MAX: neither */
    bool is_part;
    struct field_part part;
};
mldf_status mldfi_source_find(const struct builder *b, const char *name, struct source *out, mldf_error *err);
mldf_status mldfi_source_edge(const struct builder *b, const struct source *source, struct edge *out, mldf_error *err);
/* Does the field's type decode into memory (run_into.c)? */
bool mldfi_source_decodes_into(const struct builder *b, const struct source *source);
/* MLDF_E_NO_FIELD with the nearest name. */
mldf_status mldfi_source_unknown(const struct builder *b, const char *name, size_t offset, mldf_error *err);
/* "as mask" and the others: checks and changes the type. */
mldf_status mldfi_role_apply(value_role role, struct edge *edge, mldf_error *err);
/* Does the field become an output when no statement names it? */
bool mldfi_field_is_default(const struct builder *b, size_t field);

/* ---- graph.c ------------------------------------------------------------------------------------------------------------------------------------- */

/* The live chain of this name, or SIZE_MAX. */
size_t mldfi_chain_find(const struct builder *b, const char *name);
/* At a chain's name: "line 1, column 3: NAME: ...". */
__attribute__((format(printf, 5, 6))) mldf_status
mldfi_chain_fail(const struct builder *b, size_t chain, mldf_error *err, mldf_status status, const char *format, ...);

/* ---- graph_parts.c: chains that run for each of several parts ----------------------------------------------------------------------------- */

/* Refuses such a chain where a sample must have one value. */
mldf_status mldfi_check_single(const struct builder *b, size_t chain, mldf_error *err);
/* The members of a statement are all of that kind, or none is. */
mldf_status mldfi_check_alike(const struct builder *b, const size_t *chains, size_t count, mldf_error *err);
/* The type of what all entries together are, once: before a step that makes the batch, or at the chain's end. */
mldf_status mldfi_lift_entries(struct builder *b, size_t chain, mldf_error *err);
/* At the chain's end: flat, unless a step said otherwise. */
mldf_status mldfi_finish_entries(struct builder *b, size_t chain, mldf_error *err);

/* ---- graph_step.c --------------------------------------------------------------------------------------------------------------------------------- */

/* The members of a statement. */
struct target {
    const size_t *chains;
    size_t count;
    const char *fields; /* joined by commas: names the random streams */
    size_t view;
};
mldf_status mldfi_step_append(struct builder *b, const struct target *target, const struct step *step, mldf_error *err);
/* Appends decode where the value is a stored image. */
mldf_status mldfi_chain_decode(struct builder *b, size_t chain, uint32_t offset, mldf_error *err);

/* ---- graph_order.c --------------------------------------------------------------------------------------------------------------------------------- */

/* Fills chain->output; refuses what cannot be a batch. */
mldf_status mldfi_chain_finish(struct builder *b, size_t chain, mldf_error *err);
/* Leaves out what nothing needs, puts inputs and leaders first, lists the outputs. */
mldf_status mldfi_graph_order(struct builder *b, mldf_error *err);
void mldfi_chain_free(struct chain *chain);

#endif
