/* Rewriting: chains of typed operations become stages. Passes, in order:
 *
 *   source   decode and the crops, resize and mirrors behind it become one stage: a region decoded, one resampling pass
 *   finish   a run of point-wise steps becomes one pass, and joins the source stage when it follows it directly
 *   code     other runs of point-wise steps become a C function (code.h)
 *   batch    the last stage writes into the batch (run.c)
 *
 * Every pass is written down for explain. A reference plan has no passes: each operation is a stage, on the portable kernels. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "field/video_source.h"
#include "pipeline/decode_audio.h"
#include "pipeline/source.h"
#include "util/buffer.h"
#include "util/error.h"

static mldf_status add_step(struct plan *plan, const struct chain *chain, const char *text, size_t *out,
                            mldf_error *err) {
    mldf_buffer name = MLDF_BUFFER_INIT;
    mldf_status status = mldfi_buffer_printf(&name, err, "%s%s%s", chain ? chain->name : "", chain ? ": " : "", text);
    char **names = status < 0 ? NULL : realloc(plan->step_names, (plan->step_count + 1) * sizeof *names);
    if (names) {
        plan->step_names = names;
        names[plan->step_count] = mldfi_copy_text((const char *)name.data, name.size, err);
        if (names[plan->step_count])
            *out = plan->step_count++;
        else
            status = MLDF_E_MEMORY;
    } else if (status == MLDF_OK) {
        status = mldfi_fail_memory(err, sizeof *names);
    }
    mldf_buffer_free(&name);
    return status;
}

/* "a + b + c" of operations. */
static mldf_status names_of(const struct op *ops, size_t count, mldf_buffer *out, mldf_error *err) {
    mldf_status status = MLDF_OK;
    out->size = 0;
    for (size_t i = 0; status == MLDF_OK && i < count; i++)
        status = mldfi_buffer_printf(out, err, "%s%s", i ? " + " : "", ops[i].type->name);
    return status == MLDF_OK ? mldf_buffer_append(out, "", 1, err) : status;
}

static mldf_status plan_source(struct plan *plan, struct chain *chain, struct stage *stage, mldf_error *err) {
    mldf_buffer text = MLDF_BUFFER_INIT;
    size_t unused, count = 1;
    unsigned takes = mldfi_source_of(chain->ops[stage->first].type->decodes)->takes;
    stage->kind = STAGE_SOURCE;
    while (stage->first + count < chain->op_count && (chain->ops[stage->first + count].type->flags & takes))
        count++;
    stage->count = count;
    mldfi_plan_finish(plan, chain, stage->first + count, &stage->finish);
    mldf_status status = add_step(plan, chain, chain->ops[stage->first].type->name, &stage->step, err);
    size_t behind = count - 1 + (stage->finish.use ? stage->finish.count : 0);
    if (status == MLDF_OK)
        status = names_of(chain->ops + stage->first + 1, behind, &text, err);
    if (status == MLDF_OK)
        status = add_step(plan, chain, behind ? (const char *)text.data : "copy", &unused, err);
    if (status == MLDF_OK)
        status = mldfi_buffer_printf(
            &plan->log, err, "  source   %s: %s%s%s%s\n", chain->name, chain->ops[stage->first].type->name,
            behind ? " + " : "", behind ? (const char *)text.data : "",
            stage->finish.use
                ? (stage->finish.affine ? " (one pass into the batch)" : " (look-up tables, into the batch)")
                : "");
    mldf_buffer_free(&text);
    return status;
}

/* What neither the affine kernels nor tables do. */
static mldf_status plan_code(struct plan *plan, struct chain *chain, struct stage *stage, mldf_error *err) {
    size_t count, first = stage->first, end = first;
    while (end < chain->op_count && chain->ops[end].frames == chain->ops[first].frames)
        end++;
    mldf_status status = mldfi_code_add(plan->code, chain->ops + first, end - first, &count, &stage->code, err);
    if (status == MLDF_OK && count) {
        stage->kind = STAGE_CODE;
        stage->count = count;
    }
    return status;
}

static mldf_status plan_stage(struct plan *plan, struct chain *chain, size_t first, struct stage *stage,
                              mldf_error *err) {
    const struct op *op = &chain->ops[first];
    mldf_buffer text = MLDF_BUFFER_INIT;
    *stage = (struct stage){.kind = STAGE_OP, .first = first, .count = 1};
    if (op->type->decodes)
        return plan_source(plan, chain, stage, err);
    mldf_status status = MLDF_OK;
    if (op->type->flags & OP_PAIR) {
        stage->kind = STAGE_PAIR;
        plan->pairs = true;
    } else if (op->type->flags & OP_INPUTS) {
        stage->kind = STAGE_JOIN;
    } else {
        mldfi_plan_finish(plan, chain, first, &stage->finish);
        /* A single step gains nothing from a table; the affine pass is always the better one. */
        if (stage->finish.use && (stage->finish.affine || stage->finish.count > 1)) {
            stage->kind = STAGE_FINISH;
            stage->count = stage->finish.count;
        } else if (!plan->options.reference) {
            status = plan_code(plan, chain, stage, err);
        }
    }
    if (status == MLDF_OK)
        status = names_of(op, stage->count, &text, err);
    if (status == MLDF_OK)
        status = add_step(plan, chain, (const char *)text.data, &stage->step, err);
    if (status == MLDF_OK && stage->kind == STAGE_FINISH)
        status = mldfi_buffer_printf(&plan->log, err, "  finish   %s: %s (%s)\n", chain->name, (const char *)text.data,
                                     stage->finish.affine ? "one pass" : "look-up tables");
    if (status == MLDF_OK && stage->kind == STAGE_CODE)
        status = mldfi_buffer_printf(&plan->log, err, "  code     %s: %s (generated C)\n", chain->name,
                                     (const char *)text.data);
    mldf_buffer_free(&text);
    return status;
}

static mldf_status plan_chain(struct plan *plan, struct chain *chain, mldf_error *err) {
    mldf_status status = MLDF_OK;
    chain->stages = mldfi_alloc_zero(chain->op_count + 1, sizeof *chain->stages, err);
    if (!chain->stages)
        return MLDF_E_MEMORY;
    for (size_t at = 0; status == MLDF_OK && at < chain->op_count;) {
        if (chain->ops[at].type->flags & OP_COLLATE)
            break;
        struct stage *stage = &chain->stages[chain->stage_count];
        status = plan_stage(plan, chain, at, stage, err);
        chain->stage_count++;
        at += stage->count + (stage->kind == STAGE_SOURCE && stage->finish.use ? stage->finish.count : 0);
    }
    return status;
}

static int compare_sizes(const void *a, const void *b) {
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

/* Where each chain's value goes: which output it is, and whether another chain takes it. */
static void note_uses(struct graph *graph) {
    for (size_t i = 0; i < graph->chain_count; i++)
        graph->chains[i].target = SIZE_MAX;
    for (size_t i = 0; i < graph->output_count; i++)
        graph->chains[graph->outputs[i]].target = i;
    for (size_t i = 0; i < graph->chain_count; i++)
        for (size_t k = 0; k < graph->chains[i].input_count; k++)
            graph->chains[graph->chains[i].inputs[k]].feeds = true;
}

static mldf_status list_fields(struct plan *plan, mldf_error *err) {
    size_t n = plan->graph.chain_count;
    plan->fields = mldfi_alloc_zero(n + 1, sizeof *plan->fields, err);
    if (!plan->fields)
        return MLDF_E_MEMORY;
    for (size_t i = 0; i < n; i++) {
        const struct chain *c = &plan->graph.chains[i];
        if (c->field != SIZE_MAX)
            plan->fields[plan->field_count++] = c->field;
    }
    qsort(plan->fields, plan->field_count, sizeof *plan->fields, compare_sizes);
    size_t unique = 0;
    for (size_t i = 0; i < plan->field_count; i++)
        if (i == 0 || plan->fields[i] != plan->fields[i - 1])
            plan->fields[unique++] = plan->fields[i];
    plan->field_count = unique;
    return MLDF_OK;
}

static mldf_status log_op(struct plan *plan, const struct op *op, mldf_error *err) {
    mldf_status status = mldfi_buffer_printf(&plan->log, err, "\n      | %-22s ", op->type->name);
    if (status == MLDF_OK && op->frames)
        status = mldfi_buffer_append_text(&plan->log, "each frame: ", err);
    if (status == MLDF_OK)
        status = mldfi_edge_write(&op->out, &plan->log, err);
    if (status == MLDF_OK && op->type->explain)
        op->type->explain(op, &plan->log);
    return status;
}

static mldf_status log_chain(struct plan *plan, const struct chain *c, mldf_error *err) {
    mldf_status status = mldfi_buffer_printf(&plan->log, err, "  %s: ", c->name);
    if (status == MLDF_OK)
        status = mldfi_edge_write(&c->source, &plan->log, err);
    for (size_t i = 0; status == MLDF_OK && i <= c->op_count; i++) {
        if (c->fill && c->fill_at == i)
            status = log_op(plan, c->fill, err);
        if (status == MLDF_OK && i < c->op_count)
            status = log_op(plan, &c->ops[i], err);
    }
    return status == MLDF_OK ? mldfi_buffer_printf(&plan->log, err, "\n") : status;
}

static mldf_status choose_kernels(struct plan *plan, mldf_error *err) {
    const char *isa = plan->options.isa;
    if (plan->options.reference)
        plan->kernels = mldfi_kernels(ISA_PORTABLE);
    else
        plan->kernels = isa ? mldfi_kernels_named(isa) : mldfi_kernels_best();
    if (!plan->kernels)
        return mldfi_fail(err, MLDF_E_UNSUPPORTED, "instruction set %s: unknown, or not to be had on this processor",
                          isa);
    return MLDF_OK;
}

mldf_status mldfi_plan_new(const mldf_pipeline *pipeline, const mldf_schema *schema, const struct value_bounds *bounds,
                           const struct plan_options *options, struct plan **out, mldf_error *err) {
    struct plan *plan = mldfi_alloc_zero(1, sizeof *plan, err);
    size_t unused;
    *out = NULL;
    if (!plan)
        return MLDF_E_MEMORY;
    plan->options = *options;
    mldf_status status = choose_kernels(plan, err);
    if (status == MLDF_OK)
        status = mldfi_graph_new(pipeline, schema, bounds, options, &plan->graph, err);
    plan->options.decode = NULL; /* the caller's, used up */
    if (status == MLDF_OK)
        status = mldfi_code_new(options, plan->kernels->isa, &plan->code, err);
    if (status == MLDF_OK)
        status = add_step(plan, NULL, "read", &unused, err);
    if (status == MLDF_OK)
        status = mldfi_buffer_printf(&plan->log, err, "types:\n");
    for (size_t i = 0; status == MLDF_OK && i < plan->graph.chain_count; i++)
        status = log_chain(plan, &plan->graph.chains[i], err);
    if (status == MLDF_OK)
        status = mldfi_buffer_printf(
            &plan->log, err, plan->options.reference ? "reference: nothing is rewritten\n" : "rewritten, for %s:\n",
            plan->kernels->name);
    for (size_t i = 0; status == MLDF_OK && i < plan->graph.chain_count; i++)
        status = plan_chain(plan, &plan->graph.chains[i], err);
    if (status == MLDF_OK) {
        note_uses(&plan->graph);
        mldfi_plan_note_once(&plan->graph);
        mldfi_plan_note_prepared(&plan->graph);
        status = list_fields(plan, err);
        if (status == MLDF_OK)
            status = mldfi_plan_note_shares(plan, err);
        mldfi_plan_note_direct(&plan->graph);
        for (size_t i = 0; i < plan->graph.chain_count; i++) {
            plan->steps = plan->steps || plan->graph.chains[i].op_count > 0;
            plan->tabled = plan->tabled || mldfi_is_tabled(&plan->graph.chains[i]);
        }
    }
    if (status < 0) {
        mldfi_plan_free(plan);
        return status;
    }
    mldfi_code_start(plan->code);
    *out = plan;
    return MLDF_OK;
}

void mldfi_plan_free(struct plan *plan) {
    if (!plan)
        return;
    mldfi_code_free(plan->code);
    for (size_t i = 0; i < plan->graph.chain_count; i++)
        free(plan->graph.chains[i].stages);
    mldfi_graph_free(&plan->graph);
    for (size_t i = 0; i < plan->step_count; i++)
        free(plan->step_names[i]);
    free(plan->step_names);
    free(plan->shares);
    free(plan->fields);
    mldf_buffer_free(&plan->log);
    free(plan);
}

mldf_status mldfi_plan_explain(const struct plan *plan, mldf_buffer *out, mldf_error *err) {
    mldf_status status = mldf_buffer_append(out, plan->log.data, plan->log.size, err);
    if (status == MLDF_OK)
        status = mldfi_explain_passes(plan, out, err);
    if (status == MLDF_OK)
        status = mldfi_code_explain(plan->code, out, err);
    if (status == MLDF_OK)
        status = mldfi_buffer_printf(out, err, "steps:\n");
    for (size_t i = 0; status == MLDF_OK && i < plan->step_count; i++)
        status = mldfi_buffer_printf(out, err, "  %s\n", plan->step_names[i]);
    return status;
}

size_t mldfi_plan_output_count(const struct plan *plan) {
    return plan->graph.output_count;
}

const struct plan_output *mldfi_plan_output(const struct plan *plan, size_t index) {
    return &plan->graph.chains[plan->graph.outputs[index]].output;
}

bool mldfi_plan_pairs(const struct plan *plan) {
    return plan->pairs;
}

bool mldfi_plan_names(const struct plan *plan, size_t field) {
    return plan->graph.named[field];
}

const char *mldfi_plan_decoder(const struct plan *plan) {
    const char *found = NULL;
    for (size_t i = 0; i < plan->graph.chain_count && !found; i++) {
        const struct frame_source *video = plan->graph.chains[i].source.video;
        found = video && video->decoder ? video->decoder() : NULL;
    }
    return found;
}

bool mldfi_plan_sound(const struct plan *plan, size_t *chain, const char **field, const struct audio_choice **choice) {
    for (; *chain < plan->graph.chain_count; ++*chain) {
        const struct chain *c = &plan->graph.chains[*chain];
        if (!c->field_name || c->part || !c->op_count || c->ops[0].type->decodes != FAMILY_AUDIO)
            continue;
        *field = c->field_name;
        *choice = &((const struct decode_audio_state *)c->ops[0].state)->want.choice;
        return true;
    }
    return false;
}

const size_t *mldfi_plan_fields(const struct plan *plan, size_t *count) {
    *count = plan->field_count;
    return plan->fields;
}

size_t mldfi_plan_step_count(const struct plan *plan) {
    return plan->step_count;
}

const char *mldfi_plan_step_name(const struct plan *plan, size_t step) {
    return plan->step_names[step];
}
