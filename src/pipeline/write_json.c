/* A parsed pipeline as JSON, for programs that want to know what a text says without a parser: outputs, inputs, steps and arguments. write_text.c
 * writes the same as text. */
#include <string.h>

#include "pipeline/lex.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/json.h"

/* Where the JSON goes. After the first failure nothing is written. */
struct json_writer {
    mldf_buffer *out;
    mldf_error *err;
    mldf_status status;
};

static void put(struct json_writer *w, const char *text) {
    if (w->status == MLDF_OK)
        w->status = mldfi_buffer_append_text(w->out, text, w->err);
}

static void put_string(struct json_writer *w, const char *text, size_t bytes) {
    if (w->status == MLDF_OK)
        w->status = mldfi_json_append_string(w->out, text, bytes, w->err);
}

static void put_word(struct json_writer *w, const char *word) {
    put_string(w, word, strlen(word));
}

static void put_number(struct json_writer *w, double value, bool whole) {
    if (w->status == MLDF_OK)
        w->status = whole ? mldfi_buffer_printf(w->out, w->err, "%.0f", value)
                          : mldfi_json_append_double(w->out, value, w->err);
}

static void put_names(struct json_writer *w, char *const *names, size_t count) {
    for (size_t i = 0; i < count; i++) {
        put(w, i ? "," : "[");
        put_word(w, names[i]);
    }
    put(w, count ? "]" : "[]");
}

/* ---- Steps ------------------------------------------------------------------------------------------------------------------------ */

static void put_numbers(struct json_writer *w, const struct arg *arg, bool whole) {
    if (arg->count == 1) {
        put_number(w, arg->list[0], whole);
        return;
    }
    put(w, "[");
    for (uint32_t i = 0; i < arg->count; i++) {
        put(w, i ? "," : "");
        put_number(w, arg->list[i], whole);
    }
    put(w, "]");
}

static void put_value(struct json_writer *w, const struct op_param *param, const struct arg *arg) {
    bool list = param->kind == PARAM_INTS || param->kind == PARAM_FLOATS;
    if (!arg->given && param->fallback && param->fallback[0] == 0)
        put(w, "null");
    else if (param->kind == PARAM_INT && w->status == MLDF_OK)
        w->status = mldfi_buffer_printf(w->out, w->err, "%lld", (long long)arg->i);
    else if (param->kind == PARAM_FLOAT)
        put_number(w, arg->f, false);
    else if (param->kind == PARAM_BOOL)
        put(w, arg->i ? "true" : "false");
    else if (param->kind == PARAM_TEXT)
        put_string(w, arg->text, arg->text_bytes);
    else if (param->kind == PARAM_DTYPE)
        put_word(w, arg->i == MLDF_DTYPE_NONE ? param->fallback : mldfi_dtype_short((mldf_dtype)arg->i));
    else if (list && arg->i < 0)
        put_numbers(w, arg, param->kind == PARAM_INTS);
    else if (list || param->kind == PARAM_CHOICE)
        put_word(w, param->choices[arg->i]);
}

/* {"size":224,...}; of a registered operation, which has no names for them, the list of its numbers. */
static void put_arguments(struct json_writer *w, const struct op *op) {
    if (op->user) {
        put(w, "[");
        for (uint32_t i = 0; i < op->args[0].count; i++) {
            put(w, i ? "," : "");
            put_number(w, op->args[0].list[i], false);
        }
        put(w, "]");
        return;
    }
    put(w, "{");
    for (size_t i = 0; op->type->params && i < OP_MAX_PARAMS && op->type->params[i].name; i++) {
        put(w, i ? "," : "");
        put_word(w, op->type->params[i].name);
        put(w, ":");
        put_value(w, &op->type->params[i], &op->args[i]);
    }
    put(w, "}");
}

static void put_step(struct json_writer *w, const mldf_pipeline *pipeline, const struct step *step) {
    mldf_buffer text = MLDF_BUFFER_INIT;
    struct op op;
    if (w->status == MLDF_OK)
        w->status = mldfi_bind_parameters(pipeline, step, &op, w->err);
    if (w->status < 0)
        return;
    w->status = mldfi_op_write(&op, &text, w->err);
    put(w, "{\"name\":");
    put_word(w, op.type->name);
    put(w, ",\"arguments\":");
    put_arguments(w, &op);
    put(w, ",\"text\":");
    put_string(w, (const char *)text.data, text.size);
    put(w, "}");
    mldfi_free_parameters(&op);
    mldf_buffer_free(&text);
}

/* ---- Statements --------------------------------------------------------------------------------------------------------------------- */

static void put_binding(struct json_writer *w, const struct binding *b) {
    static const char *const roles[] = {
        [ROLE_NONE] = "null",       [ROLE_IMAGE] = "\"image\"",   [ROLE_MASK] = "\"mask\"",
        [ROLE_BOXES] = "\"boxes\"", [ROLE_POINTS] = "\"points\"", [ROLE_FLOW] = "\"flow\""};
    put(w, "{\"name\":");
    put_word(w, b->output);
    put(w, ",\"inputs\":");
    put_names(w, b->inputs, b->input_count);
    put(w, b->listed ? ",\"list\":true,\"role\":" : ",\"list\":false,\"role\":");
    put(w, roles[b->role]);
    put(w, "}");
}

static void put_statement(struct json_writer *w, const mldf_pipeline *pipeline, const struct statement *s) {
    put(w, "{\"outputs\":[");
    for (size_t i = 0; i < s->binding_count; i++) {
        put(w, i ? "," : "");
        put_binding(w, &s->bindings[i]);
    }
    put(w, "],\"steps\":[");
    for (size_t i = 0; i < s->step_count && w->status == MLDF_OK; i++) {
        put(w, i ? "," : "");
        put_step(w, pipeline, &s->steps[i]);
    }
    put(w, "]}");
}

mldf_status mldf_pipeline_json(const mldf_pipeline *pipeline, mldf_buffer *out, mldf_error *err) {
    if (!pipeline || !out)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "mldf_pipeline_json: %s is NULL", pipeline ? "out" : "pipeline");
    struct json_writer w = {out, err, MLDF_OK};
    size_t before = out->size;
    put(&w, "[");
    for (size_t i = 0; i < pipeline->statement_count && w.status == MLDF_OK; i++) {
        put(&w, i ? "," : "");
        put_statement(&w, pipeline, &pipeline->statements[i]);
    }
    put(&w, "]");
    if (w.status < 0)
        out->size = before;
    return w.status;
}
