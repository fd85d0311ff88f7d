/* A schema with a field of every kind, what is known of it, and graphs as text. */
#ifndef MLDF_TESTS_GRAPHS_H
#define MLDF_TESTS_GRAPHS_H

#include "check.h"
#include "field/field.h"
#include "pipeline/pipeline.h"

static const char graph_schema[] =
    "{\"fields\":["
    "{\"name\":\"image\",\"type\":\"image_jpeg\"},"
    "{\"name\":\"seg\",\"type\":\"image_png\"},"
    "{\"name\":\"label\",\"type\":\"int\"},"
    "{\"name\":\"score\",\"type\":\"float\"},"
    "{\"name\":\"x\",\"type\":\"ndarray\",\"dtype\":\"<f4\",\"shape\":[8]},"
    "{\"name\":\"y\",\"type\":\"ndarray\",\"dtype\":\"<f4\",\"shape\":[8]},"
    "{\"name\":\"box\",\"type\":\"ndarray\",\"dtype\":\"<f4\",\"shape\":[null,4]},"
    "{\"name\":\"pts\",\"type\":\"ndarray\",\"dtype\":\"<i4\",\"shape\":[5,3]},"
    "{\"name\":\"tokens\",\"type\":\"ndarray\",\"dtype\":\"<i4\",\"shape\":[null]},"
    "{\"name\":\"raster\",\"type\":\"ndarray\",\"dtype\":\"|u1\",\"shape\":[6,7]},"
    "{\"name\":\"caption\",\"type\":\"text\"},"
    "{\"name\":\"small\",\"type\":\"int\",\"dtype\":\"|u1\"},"
    "{\"name\":\"pose\",\"type\":\"inline\",\"descr\":[[\"x\",\"<f4\"],[\"tag\",\"|S6\"],[\"name\",\"<U2\",[3]]]},"
    "{\"name\":\"vec\",\"type\":\"inline\",\"descr\":[[\"\",\"<f2\",[4]]]},"
    "{\"name\":\"index\",\"type\":\"int\"}]}";
enum { GRAPH_FIELDS = 15 };

CHECK_UNUSED static void graph_bounds(struct value_bounds *out) {
    memset(out, 0, GRAPH_FIELDS * sizeof *out);
    out[0] = (struct value_bounds){true, 3, {100, 90, 3}, {375, 500, 3}, .image = {8, true, false}};
    out[1] = (struct value_bounds){true, 3, {100, 90, 1}, {375, 500, 1}, .image = {8, true, false}};
    out[8] = (struct value_bounds){.known = true, .ndim = 1, .least = {1}, .most = {512}};
}

CHECK_UNUSED static void graph_print_edge(const struct edge *edge, mldf_buffer *out) {
    CHECK_OK(mldfi_edge_write(edge, out, NULL), NULL);
}

CHECK_UNUSED static void graph_print(mldf_buffer *out, const char *format, ...) CHECK_PRINTF(2, 3);
CHECK_UNUSED static void graph_print(mldf_buffer *out, const char *format, ...) {
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    CHECK_OK(mldf_buffer_append(out, text, strlen(text), NULL), NULL);
}

/* A field that came by itself. */
CHECK_UNUSED static bool graph_is_default(const struct chain *c) {
    return c->field != SIZE_MAX && !c->hidden && !c->part && c->op_count == 0 && c->source.kind == VALUE_ARRAY &&
           c->source.role == ROLE_NONE && c->offset == 0;
}

/* One line for each chain that a statement made: "image(0): u8 ... > decode > hflip/0* = u8 ..."; /n: the shared draw, *: leads. */
CHECK_UNUSED static void graph_write(const struct graph *g, mldf_buffer *out) {
    static const char *const collate[] = {"", " pad", " ragged"};
    for (size_t i = 0; i < g->chain_count; i++) {
        const struct chain *c = &g->chains[i];
        if (graph_is_default(c))
            continue;
        graph_print(out, "%s%s%s", c->hidden ? "-" : "", c->name, c->field == SIZE_MAX ? "[" : "(");
        if (c->field != SIZE_MAX)
            graph_print(out, "%zu%s%s)", c->field, c->part ? "." : "", c->part ? c->part->name : "");
        for (size_t k = 0; k < c->input_count; k++)
            graph_print(out, "%zu%s", c->inputs[k], k + 1 < c->input_count ? "," : "]");
        graph_print(out, ": ");
        graph_print_edge(&c->source, out);
        for (size_t k = 0; k < c->op_count; k++) {
            graph_print(out, " > %s", c->ops[k].type->name);
            if (c->ops[k].type->flags & OP_DRAWS)
                graph_print(out, "/%u%s", c->ops[k].shared, c->ops[k].leads ? "*" : "");
        }
        if (!c->hidden) {
            graph_print(out, " = ");
            graph_print_edge(&c->output.edge, out);
            graph_print(out, "%s", collate[c->output.collate]);
        }
        graph_print(out, "\n");
    }
    graph_print(out, "%u:", g->shared_count);
    for (size_t i = 0; i < g->output_count; i++)
        if (!graph_is_default(&g->chains[g->outputs[i]]))
            graph_print(out, " %s", g->chains[g->outputs[i]].name);
}

/* text NULL: no pipeline. */
CHECK_UNUSED static mldf_status graph_of(const char *text, const mldf_schema *schema, mldf_pipeline **pipeline,
                                         struct graph *out, mldf_error *err) {
    struct value_bounds bounds[GRAPH_FIELDS];
    struct plan_options options = {0};
    *pipeline = NULL;
    memset(err, 0, sizeof *err);
    memset(out, 0, sizeof *out);
    graph_bounds(bounds);
    mldf_status status = text ? mldf_pipeline_parse(NULL, text, strlen(text), pipeline, err) : MLDF_OK;
    return status == MLDF_OK ? mldfi_graph_new(*pipeline, schema, bounds, &options, out, err) : status;
}

#endif
