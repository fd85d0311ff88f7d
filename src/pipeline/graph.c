/* Statements meet a schema: chains of typed operations, one for each output. Names become fields (chain_source.c), steps are bound and inferred one
 * after the other for all members of their statement, and share one draw. graph_order.c looks at what comes out; plan.c goes on.
 *
 * A chain that others take as an input is frozen: a later statement of the same name begins a new chain with the old one as its input. */
#include "pipeline/graph.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/buffer.h"
#include "util/error.h"

mldf_status mldfi_chain_fail(const struct builder *b, size_t chain, mldf_error *err, mldf_status status,
                             const char *format, ...) {
    char message[400];
    const struct chain *c = &b->graph->chains[chain];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    mldfi_fail(err, status, "%s", message);
    mldfi_error_prefix(err, "%s", c->name);
    (void)mldfi_pipeline_place(b->pipeline->text, b->pipeline->text_bytes, c->offset, err, status);
    mldfi_error_place(err, MLDF_NONE, c->name);
    return status;
}

/* An error that knows no place gets one. */
static mldf_status place_error(const struct builder *b, uint32_t offset, mldf_status status, mldf_error *err) {
    if (!err || status == MLDF_E_MEMORY)
        return status;
    return mldfi_pipeline_place(b->pipeline->text, b->pipeline->text_bytes, offset, err, status);
}

/* ---- Chains ------------------------------------------------------------------------------------------------------------------------------------- */

size_t mldfi_chain_find(const struct builder *b, const char *name) {
    for (size_t i = 0; i < b->graph->chain_count; i++)
        if (!b->drafts[i].implicit && !b->drafts[i].replaced && strcmp(b->graph->chains[i].name, name) == 0)
            return i;
    return SIZE_MAX;
}

/* A chain without source and ops. */
static mldf_status chain_new(struct builder *b, const char *name, uint32_t offset, size_t *out, mldf_error *err) {
    struct graph *g = b->graph;
    mldf_status status =
        mldfi_array_reserve(&g->chains, &b->chain_capacity, g->chain_count + 1, sizeof g->chains[0], err);
    if (status == MLDF_OK)
        status = mldfi_array_reserve(&b->drafts, &b->draft_capacity, g->chain_count + 1, sizeof b->drafts[0], err);
    char *copy = status == MLDF_OK ? mldfi_copy_text(name, strlen(name), err) : NULL;
    if (!copy)
        return MLDF_E_MEMORY;
    g->chains[g->chain_count] = (struct chain){.name = copy, .field = SIZE_MAX, .offset = offset};
    b->drafts[g->chain_count] = (struct draft){.previous = SIZE_MAX, .place = b->place_count++};
    *out = g->chain_count++;
    return MLDF_OK;
}

/* A chain of a field or of a part of its values. origin: the name that was written. */
static mldf_status chain_of_source(struct builder *b, const char *name, const struct source *source, const char *origin,
                                   uint32_t offset, size_t *out, mldf_error *err) {
    struct edge edge;
    mldf_status status = mldfi_source_edge(b, source, &edge, err);
    if (status < 0)
        return place_error(b, offset, status, err);
    TRY(chain_new(b, name, offset, out, err));
    struct chain *chain = &b->graph->chains[*out];
    const char *field = mldf_schema_field(b->schema, source->field)->name;
    chain->field = source->field;
    chain->field_name = mldfi_copy_text(field, strlen(field), err);
    if (!chain->field_name)
        return MLDF_E_MEMORY;
    chain->source = b->drafts[*out].edge = edge;
    chain->into = mldfi_source_decodes_into(b, source);
    b->drafts[*out].origin = origin;
    b->named[source->field] = true;
    if (source->is_part) {
        chain->part = mldfi_alloc(sizeof *chain->part, err);
        if (!chain->part)
            return MLDF_E_MEMORY;
        *chain->part = source->part;
        chain->of = &b->schema->fields[source->field];
    }
    return MLDF_OK;
}

/* A chain that goes on from the value of another one. */
static mldf_status chain_of_chain(struct builder *b, const char *name, size_t input, uint32_t offset, size_t *out,
                                  mldf_error *err) {
    if (b->graph->chains[input].output.collate != COLLATE_FIXED)
        return mldfi_chain_fail(b, input, err, MLDF_E_ARGUMENT,
                                "it ends with a step for whole batches: nothing follows");
    mldf_status status = mldfi_check_single(b, input, err);
    if (status == MLDF_OK)
        status = mldfi_chain_decode(b, input, offset, err);
    if (status == MLDF_OK)
        status = chain_new(b, name, offset, out, err);
    if (status < 0)
        return status;
    struct chain *chain = &b->graph->chains[*out];
    chain->inputs = mldfi_alloc(sizeof chain->inputs[0], err);
    if (!chain->inputs)
        return MLDF_E_MEMORY;
    chain->inputs[chain->input_count++] = input;
    chain->source = b->drafts[*out].edge = b->drafts[input].edge;
    b->drafts[*out].origin = b->graph->chains[input].name;
    b->drafts[input].frozen = true;
    return MLDF_OK;
}

/* ---- Bindings ------------------------------------------------------------------------------------------------------------------------------------- */

/* One of a list: an output made before, else a field's value. */
static mldf_status find_input(struct builder *b, const char *name, uint32_t offset, size_t *out, mldf_error *err) {
    struct source source;
    *out = mldfi_chain_find(b, name);
    for (size_t i = 0; i < b->graph->chain_count && *out == SIZE_MAX; i++)
        if (b->drafts[i].implicit && strcmp(b->graph->chains[i].name, name) == 0)
            *out = i;
    mldf_status status = MLDF_OK;
    if (*out == SIZE_MAX) {
        status = mldfi_source_find(b, name, &source, err);
        if (status < 0)
            return status;
        if (source.field == SIZE_MAX)
            return mldfi_source_unknown(b, name, offset, err);
        status = chain_of_source(b, name, &source, name, offset, out, err);
        if (status < 0)
            return status;
        b->drafts[*out].implicit = b->graph->chains[*out].hidden = true;
    }
    if (b->graph->chains[*out].output.collate != COLLATE_FIXED)
        return mldfi_chain_fail(b, *out, err, MLDF_E_ARGUMENT,
                                "it ends with a step for whole batches: no input of others");
    if ((status = mldfi_check_single(b, *out, err)) < 0)
        return status;
    status = mldfi_chain_decode(b, *out, offset, err);
    b->drafts[*out].frozen = true;
    return status;
}

/* "[x,y]" */
static char *list_origin(struct builder *b, const struct binding *binding, mldf_error *err) {
    mldf_buffer text = MLDF_BUFFER_INIT;
    char *out = NULL;
    mldf_status status = MLDF_OK;
    for (size_t i = 0; i < binding->input_count && status == MLDF_OK; i++)
        status = mldfi_buffer_printf(&text, err, "%s%s", i ? "," : "[", binding->inputs[i]);
    if (status == MLDF_OK)
        status = mldfi_buffer_append_text(&text, "]", err);
    if (status == MLDF_OK)
        out = mldfi_arena_copy(&b->arena, (const char *)text.data, text.size, err);
    mldf_buffer_free(&text);
    return out;
}

static mldf_status bind_list(struct builder *b, const struct binding *binding, size_t *out, mldf_error *err) {
    mldf_status status = MLDF_OK;
    size_t *inputs = mldfi_alloc_zero(binding->input_count, sizeof *inputs, err);
    char *origin = inputs ? list_origin(b, binding, err) : NULL;
    if (!origin)
        status = MLDF_E_MEMORY;
    for (size_t i = 0; i < binding->input_count && status == MLDF_OK; i++)
        status = find_input(b, binding->inputs[i], binding->places[i], &inputs[i], err);
    if (status == MLDF_OK)
        status = chain_new(b, binding->output, binding->offset, out, err);
    if (status < 0) {
        free(inputs);
        return status;
    }
    b->graph->chains[*out].inputs = inputs;
    b->graph->chains[*out].input_count = binding->input_count;
    b->drafts[*out].origin = origin;
    b->drafts[*out].listed = true;
    return MLDF_OK;
}

/* A later statement of an output. */
static mldf_status bind_again(struct builder *b, const struct binding *binding, size_t old, size_t *out,
                              mldf_error *err) {
    struct draft *draft = &b->drafts[old];
    *out = old;
    if (binding->listed || strcmp(binding->inputs[0], binding->output) != 0)
        return mldfi_pipeline_fail(b->pipeline->text, b->pipeline->text_bytes, binding->offset, err, MLDF_E_ARGUMENT,
                                   "%s is made already; `%s: ...` goes on with it", binding->output, binding->output);
    if (draft->dropped)
        return mldfi_pipeline_fail(b->pipeline->text, b->pipeline->text_bytes, binding->offset, err, MLDF_E_ARGUMENT,
                                   "%s was dropped; nothing follows", binding->output);
    if (!draft->frozen)
        return MLDF_OK;
    TRY(chain_of_chain(b, binding->output, old, binding->offset, out, err));
    draft = &b->drafts[*out];
    draft->previous = old;
    draft->origin = b->drafts[old].origin;
    draft->place = b->drafts[old].place;
    draft->step_count = b->drafts[old].step_count;
    b->graph->chains[*out].output.valid = b->graph->chains[old].output.valid;
    b->drafts[old].replaced = b->graph->chains[old].hidden = true;
    return MLDF_OK;
}

/* The chain that a binding means; made when it is new. */
static mldf_status find_binding(struct builder *b, const struct binding *binding, size_t *out, mldf_error *err) {
    const char *input = binding->inputs[0];
    struct source source;
    *out = mldfi_chain_find(b, binding->output);
    if (*out != SIZE_MAX)
        return bind_again(b, binding, *out, out, err);
    if (binding->listed)
        return bind_list(b, binding, out, err);
    TRY(mldfi_source_find(b, input, &source, err));
    if (source.field != SIZE_MAX)
        return chain_of_source(b, binding->output, &source, input, binding->offset, out, err);
    size_t made = mldfi_chain_find(b, input);
    if (made == SIZE_MAX)
        return mldfi_source_unknown(b, input, binding->places[0], err);
    if (b->drafts[made].listed)
        return mldfi_chain_fail(b, made, err, MLDF_E_ARGUMENT, "a list of inputs needs a step that takes several");
    return chain_of_chain(b, binding->output, made, binding->offset, out, err);
}

static mldf_status bind_role(struct builder *b, const struct binding *binding, size_t chain, mldf_error *err) {
    struct draft *draft = &b->drafts[chain];
    if (binding->role == ROLE_NONE || binding->role == draft->edge.role)
        return MLDF_OK;
    if (b->graph->chains[chain].op_count > 0 || draft->listed)
        return mldfi_pipeline_fail(b->pipeline->text, b->pipeline->text_bytes, binding->offset, err, MLDF_E_ARGUMENT,
                                   "%s: say what it is where it is first named", binding->output);
    mldf_status status = mldfi_role_apply(binding->role, &draft->edge, err);
    if (status < 0) {
        mldfi_error_prefix(err, "%s", binding->output);
        return place_error(b, binding->offset, status, err);
    }
    b->graph->chains[chain].source = draft->edge;
    return MLDF_OK;
}

/* ---- Statements --------------------------------------------------------------------------------------------------------------------------------------- */

/* The names of a statement's members, joined by commas: outputs, or what they are made of. */
static char *join_names(struct builder *b, const size_t *chains, size_t count, bool origins, mldf_error *err) {
    mldf_buffer text = MLDF_BUFFER_INIT;
    char *out = NULL;
    mldf_status status = MLDF_OK;
    for (size_t i = 0; i < count && status == MLDF_OK; i++)
        status = mldfi_buffer_printf(&text, err, "%s%s", i ? "," : "",
                                     origins ? b->drafts[chains[i]].origin : b->graph->chains[chains[i]].name);
    if (status == MLDF_OK)
        out = mldfi_arena_copy(&b->arena, (const char *)text.data, text.size, err);
    mldf_buffer_free(&text);
    return out;
}

/* view: how many other tuples of outputs were made of these fields before. */
static mldf_status find_view(struct builder *b, struct target *t, mldf_error *err) {
    struct tuple tuple = {join_names(b, t->chains, t->count, true, err), NULL, 0};
    if (tuple.fields)
        tuple.outputs = join_names(b, t->chains, t->count, false, err);
    if (!tuple.outputs)
        return MLDF_E_MEMORY;
    t->fields = tuple.fields;
    for (size_t i = 0; i < b->tuple_count; i++) {
        if (strcmp(b->tuples[i].fields, tuple.fields) != 0)
            continue;
        if (strcmp(b->tuples[i].outputs, tuple.outputs) == 0) {
            t->view = b->tuples[i].view;
            return MLDF_OK;
        }
        tuple.view++;
    }
    t->view = tuple.view;
    mldf_status status =
        mldfi_array_reserve(&b->tuples, &b->tuple_capacity, b->tuple_count + 1, sizeof b->tuples[0], err);
    if (status == MLDF_OK)
        b->tuples[b->tuple_count++] = tuple;
    return status;
}

static mldf_status add_statement(struct builder *b, const struct statement *s, mldf_error *err) {
    size_t *chains = mldfi_alloc_zero(s->binding_count, sizeof *chains, err);
    struct target target = {chains, s->binding_count, "", 0};
    mldf_status status = chains ? MLDF_OK : MLDF_E_MEMORY;
    for (size_t i = 0; i < s->binding_count && status == MLDF_OK; i++) {
        status = find_binding(b, &s->bindings[i], &chains[i], err);
        if (status == MLDF_OK)
            status = bind_role(b, &s->bindings[i], chains[i], err);
    }
    if (status == MLDF_OK)
        status = find_view(b, &target, err);
    for (size_t i = 0; i < s->step_count && status == MLDF_OK; i++)
        status = mldfi_step_append(b, &target, &s->steps[i], err);
    free(chains);
    return status;
}

/* Fields of a fixed shape that no statement names. Names that the loader takes for itself are left out. */
static mldf_status add_defaults(struct builder *b, mldf_error *err) {
    size_t written = b->graph->chain_count;
    mldf_status status = MLDF_OK;
    for (size_t i = 0; i < mldf_schema_field_count(b->schema) && status == MLDF_OK; i++) {
        const mldf_field *field = mldf_schema_field(b->schema, i);
        struct source source = {.field = i};
        size_t chain;
        bool reserved =
            strcmp(field->name, "index") == 0 || strcmp(field->name, "valid") == 0 || strcmp(field->name, "key") == 0;
        bool taken = false;
        for (size_t k = 0; k < written && !taken; k++)
            taken = !b->drafts[k].implicit && strcmp(b->graph->chains[k].name, field->name) == 0;
        if (b->named[i] || reserved || taken || !mldfi_field_is_default(b, i))
            continue;
        status = chain_of_source(b, field->name, &source, field->name, 0, &chain, err);
    }
    return status;
}

static mldf_status build(struct builder *b, mldf_error *err) {
    mldf_status status = MLDF_OK;
    b->named = mldfi_alloc_zero(mldf_schema_field_count(b->schema) + 1, sizeof *b->named, err);
    if (!b->named)
        return MLDF_E_MEMORY;
    for (size_t i = 0; b->pipeline && i < b->pipeline->statement_count && status == MLDF_OK; i++)
        status = add_statement(b, &b->pipeline->statements[i], err);
    if (status == MLDF_OK)
        status = add_defaults(b, err);
    for (size_t i = 0; i < b->graph->chain_count && status == MLDF_OK; i++)
        if (!b->graph->chains[i].hidden)
            status = mldfi_chain_finish(b, i, err);
    return status == MLDF_OK ? mldfi_graph_order(b, err) : status;
}

mldf_status mldfi_graph_new(const mldf_pipeline *pipeline, const mldf_schema *schema, const struct value_bounds *bounds,
                            const struct plan_options *options, struct graph *out, mldf_error *err) {
    static const mldf_pipeline nothing = {.text = NULL};
    struct builder b = {.pipeline = pipeline ? pipeline : &nothing,
                        .schema = schema,
                        .bounds = bounds,
                        .options = options,
                        .graph = out};
    memset(out, 0, sizeof *out);
    mldf_status status = build(&b, err);
    free(b.drafts);
    free(b.leads);
    free(b.tuples);
    out->named = b.named;
    mldfi_arena_free(&b.arena);
    if (status < 0)
        mldfi_graph_free(out);
    return status;
}

void mldfi_graph_free(struct graph *graph) {
    if (!graph)
        return;
    for (size_t i = 0; i < graph->chain_count; i++)
        mldfi_chain_free(&graph->chains[i]);
    free(graph->chains);
    free(graph->outputs);
    free(graph->named);
    memset(graph, 0, sizeof *graph);
}
