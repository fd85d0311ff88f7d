/* A pipeline as text again, in one form: a line for each statement, every parameter by name, defaults too. Two texts that mean the same step by
 * step give the same bytes. parse.c reads it. */
#include <string.h>

#include "pipeline/lex.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/number.h"

/* In quotes, with escapes. */
static mldf_status write_quoted(const char *text, size_t bytes, char quote, mldf_buffer *out, mldf_error *err) {
    static const char from[] = "\n\r\t\\", to[] = "nrt\\";
    mldf_status status = mldf_buffer_append(out, &quote, 1, err);
    for (size_t i = 0; i < bytes && status == MLDF_OK; i++) {
        const char *found = text[i] ? strchr(from, text[i]) : NULL;
        char escape[2] = {'\\', found ? to[found - from] : text[i]};
        bool escaped = found || text[i] == quote;
        status = mldf_buffer_append(out, escaped ? escape : escape + 1, escaped ? 2 : 1, err);
    }
    return status == MLDF_OK ? mldf_buffer_append(out, &quote, 1, err) : status;
}

mldf_status mldfi_pipeline_write_name(const char *name, mldf_buffer *out, mldf_error *err) {
    size_t bytes = strlen(name);
    return mldfi_is_bare_word(name, bytes) ? mldf_buffer_append(out, name, bytes, err)
                                           : write_quoted(name, bytes, '`', out, err);
}

/* ---- Arguments ---------------------------------------------------------------------------------------------------------------------------- */

static mldf_status write_number(double value, bool whole, mldf_buffer *out, mldf_error *err) {
    char text[32];
    if (whole) /* was written as one; as text it stays one, whatever its size */
        return mldfi_buffer_printf(out, err, "%.0f", value);
    return mldf_buffer_append(out, text, mldfi_format_double(text, value), err);
}

static mldf_status write_list(const struct arg *arg, bool whole, mldf_buffer *out, mldf_error *err) {
    mldf_status status = MLDF_OK;
    if (arg->count == 1)
        return write_number(arg->list[0], whole, out, err);
    for (uint32_t i = 0; i < arg->count && status == MLDF_OK; i++) {
        status = mldfi_buffer_append_text(out, i ? ", " : "[", err);
        if (status == MLDF_OK)
            status = write_number(arg->list[i], whole, out, err);
    }
    return status == MLDF_OK ? mldfi_buffer_append_text(out, arg->count ? "]" : "[]", err) : status;
}

/* Nothing to write: a default of "". */
static bool is_nothing(const struct op_param *param, const struct arg *arg) {
    return !arg->given && param->fallback && param->fallback[0] == 0;
}

/* Nothing new to say: op_type.quiet. */
bool mldfi_op_may_be_quiet(const struct op_type *type, size_t param) {
    for (size_t i = 0; type->quiet && i <= param; i++)
        if (strcmp(type->quiet, type->params[i].name) == 0)
            return true;
    return false;
}

static mldf_status write_word(const char *word, mldf_buffer *out, mldf_error *err) {
    size_t bytes = strlen(word);
    double number;
    return mldfi_is_bare_word(word, bytes) || mldfi_parse_double(word, bytes, &number)
               ? mldf_buffer_append(out, word, bytes, err)
               : write_quoted(word, bytes, '"', out, err);
}

static mldf_status write_value(const struct op_param *param, const struct arg *arg, mldf_buffer *out, mldf_error *err) {
    switch (param->kind) {
    case PARAM_INT:
        return mldfi_buffer_printf(out, err, "%lld", (long long)arg->i);
    case PARAM_FLOAT:
        return write_number(arg->f, false, out, err);
    case PARAM_BOOL:
        return mldfi_buffer_append_text(out, arg->i ? "true" : "false", err);
    case PARAM_CHOICE:
        return write_word(param->choices[arg->i], out, err);
    case PARAM_TEXT:
        return write_quoted(arg->text, arg->text_bytes, '"', out, err);
    case PARAM_INTS:
    case PARAM_FLOATS:
        return arg->i >= 0 ? write_word(param->choices[arg->i], out, err)
                           : write_list(arg, param->kind == PARAM_INTS, out, err);
    case PARAM_DTYPE:
        return write_word(arg->i == MLDF_DTYPE_NONE ? param->fallback : mldfi_dtype_short((mldf_dtype)arg->i), out,
                          err);
    default:
        return MLDF_E_STATE;
    }
}

static mldf_status write_arguments(const struct op *op, mldf_buffer *out, mldf_error *err) {
    const char *separator = "(";
    mldf_status status = MLDF_OK;
    for (size_t i = 0; op->type->params && op->type->params[i].name && i < OP_MAX_PARAMS && status == MLDF_OK; i++) {
        const struct op_param *param = &op->type->params[i];
        if (is_nothing(param, &op->args[i]) || (op->args[i].i == 0 && mldfi_op_may_be_quiet(op->type, i)))
            continue;
        status = mldfi_buffer_printf(out, err, "%s%s=", separator, param->name);
        if (status == MLDF_OK)
            status = write_value(param, &op->args[i], out, err);
        separator = ", ";
    }
    if (status == MLDF_OK && separator[0] == ',')
        status = mldfi_buffer_append_text(out, ")", err);
    return status;
}

/* A registered operation's numbers, by place. */
static mldf_status write_user_arguments(const struct op *op, mldf_buffer *out, mldf_error *err) {
    const struct arg *arg = &op->args[0];
    mldf_status status = MLDF_OK;
    for (uint32_t i = 0; i < arg->count && status == MLDF_OK; i++) {
        status = mldfi_buffer_append_text(out, i ? ", " : "(", err);
        if (status == MLDF_OK)
            status = write_number(arg->list[i], false, out, err);
    }
    return status == MLDF_OK && arg->count ? mldfi_buffer_append_text(out, ")", err) : status;
}

mldf_status mldfi_op_write(const struct op *op, mldf_buffer *out, mldf_error *err) {
    TRY(mldfi_buffer_append_text(out, op->type->name, err));
    return op->user ? write_user_arguments(op, out, err) : write_arguments(op, out, err);
}

/* ---- Statements ----------------------------------------------------------------------------------------------------------------------------- */

static mldf_status write_binding(const struct binding *b, mldf_buffer *out, mldf_error *err) {
    static const char *const roles[] = {
        [ROLE_NONE] = "",           [ROLE_IMAGE] = " as image",   [ROLE_MASK] = " as mask",
        [ROLE_BOXES] = " as boxes", [ROLE_POINTS] = " as points", [ROLE_FLOW] = " as flow"};
    bool plain = !b->listed && strcmp(b->inputs[0], b->output) == 0;
    mldf_status status = mldfi_pipeline_write_name(b->output, out, err);
    if (status == MLDF_OK && !plain)
        status = mldfi_buffer_append_text(out, b->listed ? " = [" : " = ", err);
    for (size_t i = 0; !plain && i < b->input_count && status == MLDF_OK; i++) {
        if (i)
            status = mldfi_buffer_append_text(out, ", ", err);
        if (status == MLDF_OK)
            status = mldfi_pipeline_write_name(b->inputs[i], out, err);
    }
    if (status == MLDF_OK && b->listed)
        status = mldfi_buffer_append_text(out, "]", err);
    return status == MLDF_OK ? mldfi_buffer_append_text(out, roles[b->role], err) : status;
}

static mldf_status write_step(const mldf_pipeline *pipeline, const struct step *step, mldf_buffer *out,
                              mldf_error *err) {
    struct op op;
    TRY(mldfi_bind_parameters(pipeline, step, &op, err));
    mldf_status status = mldfi_op_write(&op, out, err);
    mldfi_free_parameters(&op);
    return status;
}

static mldf_status write_statement(const mldf_pipeline *pipeline, const struct statement *s, mldf_buffer *out,
                                   mldf_error *err) {
    mldf_status status = MLDF_OK;
    for (size_t i = 0; i < s->binding_count && status == MLDF_OK; i++) {
        if (i)
            status = mldfi_buffer_append_text(out, ", ", err);
        if (status == MLDF_OK)
            status = write_binding(&s->bindings[i], out, err);
    }
    for (size_t i = 0; i < s->step_count && status == MLDF_OK; i++) {
        status = mldfi_buffer_append_text(out, i ? " | " : ": ", err);
        if (status == MLDF_OK)
            status = write_step(pipeline, &s->steps[i], out, err);
    }
    return status;
}

mldf_status mldf_pipeline_write(const mldf_pipeline *pipeline, mldf_buffer *out, mldf_error *err) {
    mldf_status status = MLDF_OK;
    if (!pipeline || !out)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "mldf_pipeline_write: %s is NULL", pipeline ? "out" : "pipeline");
    size_t before = out->size;
    for (size_t i = 0; i < pipeline->statement_count && status == MLDF_OK; i++) {
        if (i)
            status = mldfi_buffer_append_text(out, "\n", err);
        if (status == MLDF_OK)
            status = write_statement(pipeline, &pipeline->statements[i], out, err);
    }
    if (status < 0)
        out->size = before;
    return status;
}
