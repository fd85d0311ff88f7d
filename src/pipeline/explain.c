/* The plan before and after each pass, one line for each output: what stands in [brackets] runs as one stage. The passes themselves are in
 * plan.c; here their result is read back from the stages. */
#include <string.h>

#include "pipeline/stage.h"
#include "util/buffer.h"

enum pass { PASS_NONE, PASS_SOURCE, PASS_FINISH, PASS_CODE, PASS_COUNT };
static const char *const pass_names[PASS_COUNT] = {"as written", "after source", "after finish", "after code"};

/* How many operations from `at` on are one stage once `pass` is through. */
static size_t group(const struct chain *c, size_t at, enum pass pass) {
    for (size_t i = 0; i < c->stage_count; i++) {
        const struct stage *s = &c->stages[i];
        if (s->first != at)
            continue;
        bool joined = s->kind == STAGE_SOURCE && s->finish.use && pass >= PASS_FINISH;
        if ((s->kind == STAGE_SOURCE && pass >= PASS_SOURCE) || (s->kind == STAGE_FINISH && pass >= PASS_FINISH) ||
            (s->kind == STAGE_CODE && pass >= PASS_CODE))
            return s->count + (joined ? s->finish.count : 0);
        return 1;
    }
    return 1;
}

/* Its name, with a choice that changes what it gives. */
static mldf_status write_operation(const struct op *op, mldf_buffer *out, mldf_error *err) {
    mldf_status status = mldfi_buffer_append_text(out, op->type->name, err);
    for (size_t i = 0; status == MLDF_OK && op->type->quiet && op->type->params[i].name; i++) {
        const struct op_param *param = &op->type->params[i];
        if (op->args[i].i != 0 && mldfi_op_may_be_quiet(op->type, i))
            status = param->choices
                         ? mldfi_buffer_printf(out, err, "(%s=%s)", param->name, param->choices[op->args[i].i])
                         : mldfi_buffer_printf(out, err, "(%s=%lld)", param->name, (long long)op->args[i].i);
    }
    return status;
}

static mldf_status write_chain(const struct chain *c, enum pass pass, mldf_buffer *out, mldf_error *err) {
    mldf_status status = mldfi_buffer_printf(out, err, "    %s:", c->name);
    for (size_t at = 0; status == MLDF_OK && at < c->op_count;) {
        size_t count = group(c, at, pass);
        status = mldfi_buffer_printf(out, err, "%s%s", at ? " | " : " ", count > 1 ? "[" : "");
        for (size_t i = 0; status == MLDF_OK && i < count; i++) {
            bool filled = c->fill && c->fill_at == at + i;
            status = mldfi_buffer_printf(out, err, "%s%s%s", i ? " + " : "", filled ? c->fill->type->name : "",
                                         filled ? (count > 1 ? " + " : " | ") : "");
            if (status == MLDF_OK)
                status = write_operation(&c->ops[at + i], out, err);
        }
        if (status == MLDF_OK && count > 1)
            status = mldf_buffer_append(out, "]", 1, err);
        at += count;
    }
    if (status == MLDF_OK && c->fill && c->fill_at == c->op_count)
        status = mldfi_buffer_printf(out, err, "%s%s", c->op_count ? " | " : " ", c->fill->type->name);
    if (status == MLDF_OK && pass == PASS_CODE && !c->hidden)
        status = mldfi_buffer_printf(out, err, " -> the batch");
    return status == MLDF_OK ? mldf_buffer_append(out, "\n", 1, err) : status;
}

mldf_status mldfi_explain_passes(const struct plan *plan, mldf_buffer *out, mldf_error *err) {
    mldf_status status = mldfi_buffer_printf(out, err, "passes:\n");
    enum pass last = plan->options.reference ? PASS_NONE : PASS_CODE;
    for (enum pass pass = PASS_NONE; status == MLDF_OK && pass <= last; pass++) {
        status = mldfi_buffer_printf(out, err, "  %s\n", pass_names[pass]);
        for (size_t i = 0; status == MLDF_OK && i < plan->graph.chain_count; i++)
            status = write_chain(&plan->graph.chains[i], pass, out, err);
    }
    return status;
}
