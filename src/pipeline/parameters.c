/* Arguments become values: each against its parameter's kind, range, choices and count; those not given get their default, which is text of
 * the same language. step.c reads the text; op_text.c makes whole operations of it. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "field/type.h"
#include "pipeline/lex.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/number.h"

/* What a value is bound for, and where to complain. */
struct binder {
    const char *text; /* the pipeline's, or a default's */
    size_t text_bytes;
    const char *operation;
    const struct op_param *param;
};

/* "line 1, column 17: crop: size: ..."; REFUSE_CALL, where no one parameter is at fault: "... crop: ..." */
#define REFUSE(b, at, status, ...) refuse((b), (at), err, (status), __VA_ARGS__)
#define REFUSE_CALL(b, at, status, ...) \
    refuse(&(struct binder){(b)->text, (b)->text_bytes, (b)->operation, NULL}, (at), err, (status), __VA_ARGS__)
__attribute__((format(printf, 5, 6))) static mldf_status refuse(const struct binder *b, size_t at, mldf_error *err,
                                                                mldf_status status, const char *format, ...) {
    char message[320];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    mldfi_fail(err, status, "%s%s%s", b->param ? b->param->name : "", b->param ? ": " : "", message);
    mldfi_error_prefix(err, "%s", b->operation);
    return mldfi_pipeline_place(b->text, b->text_bytes, at, err, status);
}

static bool is_word(const struct literal *value, const char *word) {
    return value->kind != LITERAL_LIST && strlen(word) == value->bytes && memcmp(word, value->text, value->bytes) == 0;
}

/* "; did you mean x?" for the nearest of the names, or "". */
static const char *nearest(const char *text, size_t bytes, const char *const *names, char room[96]) {
    char wanted[MLDF_NAME_MAX + 1];
    struct suggestion suggestion = {wanted, NULL, 0};
    size_t used = bytes < MLDF_NAME_MAX ? bytes : MLDF_NAME_MAX;
    memcpy(wanted, text, used);
    wanted[used] = 0;
    room[0] = 0;
    for (; names && *names; names++)
        mldfi_suggest(&suggestion, *names);
    if (suggestion.best)
        (void)snprintf(room, 96, "; did you mean %s?", suggestion.best);
    return room;
}

/* ---- One value ----------------------------------------------------------------------------------------------------------------------- */

static mldf_status check_number(const struct binder *b, const struct literal *value, bool whole, double *out,
                                mldf_error *err) {
    const struct op_param *p = b->param;
    char least[32], most[32];
    if (value->kind != LITERAL_NUMBER)
        return REFUSE(b, value->offset, MLDF_E_ARGUMENT, "wants a %snumber", whole ? "whole " : "");
    if (whole && !value->whole)
        return REFUSE(b, value->offset, MLDF_E_ARGUMENT, "wants a whole number");
    bool bounded = p->least < 0 || p->least > 0 || p->most < 0 || p->most > 0;
    if (bounded && (value->number < p->least || value->number > p->most)) {
        (void)snprintf(least, sizeof least, "%.10g", p->least);
        (void)snprintf(most, sizeof most, "%.10g", p->most);
        return isinf(p->most) ? REFUSE(b, value->offset, MLDF_E_ARGUMENT, "%.*s is below %s", (int)value->bytes,
                                       value->text, least)
                              : REFUSE(b, value->offset, MLDF_E_ARGUMENT, "%.*s is not between %s and %s",
                                       (int)value->bytes, value->text, least, most);
    }
    *out = value->number;
    return MLDF_OK;
}

static mldf_status bind_int(const struct binder *b, const struct literal *value, struct arg *out, mldf_error *err) {
    TRY(check_number(b, value, true, &out->f, err));
    if (!mldfi_parse_i64(value->text, value->bytes, &out->i))
        return REFUSE(b, value->offset, MLDF_E_ARGUMENT, "%.*s does not fit 64 bits", (int)value->bytes, value->text);
    return MLDF_OK;
}

static mldf_status bind_bool(const struct binder *b, const struct literal *value, struct arg *out, mldf_error *err) {
    out->i = is_word(value, "true");
    if (!out->i && !is_word(value, "false"))
        return REFUSE(b, value->offset, MLDF_E_ARGUMENT, "wants true or false");
    return MLDF_OK;
}

/* Index of the word among the choices, or -1. */
static int64_t choice_of(const struct op_param *p, const struct literal *value) {
    for (int64_t i = 0; p->choices && p->choices[i]; i++)
        if (is_word(value, p->choices[i]))
            return i;
    return -1;
}

/* "a, b or c" */
static void list_choices(const struct op_param *p, char *out, size_t room) {
    size_t used = 0;
    out[0] = 0;
    for (size_t i = 0; p->choices && p->choices[i] && used < room; i++) {
        const char *separator = i == 0 ? "" : p->choices[i + 1] ? ", " : " or ";
        int n = snprintf(out + used, room - used, "%s%s", separator, p->choices[i]);
        used += n > 0 ? (size_t)n : 0;
    }
}

static mldf_status refuse_choice(const struct binder *b, const struct literal *value, const char *also,
                                 mldf_error *err) {
    char choices[192], room[96];
    list_choices(b->param, choices, sizeof choices);
    if (value->kind == LITERAL_LIST)
        return REFUSE(b, value->offset, MLDF_E_ARGUMENT, "wants %s%s", also, choices);
    return REFUSE(b, value->offset, MLDF_E_ARGUMENT, "wants %s%s, not %.*s%s", also, choices,
                  (int)(value->bytes < 40 ? value->bytes : 40), value->text,
                  nearest(value->text, value->kind == LITERAL_NUMBER ? 0 : value->bytes, b->param->choices, room));
}

static mldf_status bind_choice(const struct binder *b, const struct literal *value, struct arg *out, mldf_error *err) {
    out->i = choice_of(b->param, value);
    return out->i < 0 ? refuse_choice(b, value, "", err) : MLDF_OK;
}

static mldf_status bind_text(const struct binder *b, const struct literal *value, struct arg *out, mldf_error *err) {
    if (value->kind != LITERAL_TEXT && value->kind != LITERAL_WORD)
        return REFUSE(b, value->offset, MLDF_E_ARGUMENT, "wants \"text\"");
    out->text = mldfi_copy_text(value->text, value->bytes, err);
    out->text_bytes = value->bytes;
    return out->text ? MLDF_OK : MLDF_E_MEMORY;
}

static mldf_status bind_list(const struct binder *b, const struct literal *value, struct arg *out, mldf_error *err) {
    const struct op_param *p = b->param;
    const struct literal *items = value->kind == LITERAL_LIST ? value->items : value;
    size_t count = value->kind == LITERAL_LIST ? value->item_count : 1;
    mldf_status status = MLDF_OK;
    out->i = choice_of(p, value);
    if (out->i >= 0)
        return MLDF_OK;
    if (value->kind == LITERAL_WORD || value->kind == LITERAL_TEXT)
        return p->choices ? refuse_choice(b, value, "numbers, ", err)
                          : REFUSE(b, value->offset, MLDF_E_ARGUMENT, "wants a number or a [list]");
    if (p->max_count && (count < p->min_count || count > p->max_count))
        return p->min_count == p->max_count
                   ? REFUSE(b, value->offset, MLDF_E_ARGUMENT, "wants %u numbers, not %zu", p->min_count, count)
                   : REFUSE(b, value->offset, MLDF_E_ARGUMENT, "wants %u to %u numbers, not %zu", p->min_count,
                            p->max_count, count);
    out->list = mldfi_alloc_zero(count ? count : 1, sizeof out->list[0], err);
    if (!out->list)
        return MLDF_E_MEMORY;
    out->count = (uint32_t)count;
    for (size_t i = 0; i < count && status == MLDF_OK; i++)
        status = check_number(b, &items[i], p->kind == PARAM_INTS, &out->list[i], err);
    return status;
}

/* float32 is f32 here, uint8 is u8. */
static mldf_dtype dtype_meant(const struct literal *value) {
    static const struct {
        const char *front, *here;
    } names[] = {{"float", "f"}, {"bfloat", "bf"}, {"int", "i"}, {"uint", "u"}};
    char word[16];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t bytes = strlen(names[i].front);
        if (value->bytes <= bytes || value->bytes > bytes + 3 || memcmp(value->text, names[i].front, bytes) != 0)
            continue;
        int n = snprintf(word, sizeof word, "%s%.*s", names[i].here, (int)(value->bytes - bytes), value->text + bytes);
        return mldfi_dtype_word(word, (size_t)n);
    }
    return MLDF_DTYPE_NONE;
}

static mldf_status bind_dtype(const struct binder *b, const struct literal *value, struct arg *out, mldf_error *err) {
    out->i = value->kind == LITERAL_LIST ? MLDF_DTYPE_NONE : (int64_t)mldfi_dtype_word(value->text, value->bytes);
    if (out->i != MLDF_DTYPE_NONE || (b->param->fallback && is_word(value, b->param->fallback)))
        return MLDF_OK;
    if (value->kind != LITERAL_LIST && dtype_meant(value) != MLDF_DTYPE_NONE)
        return REFUSE(b, value->offset, MLDF_E_ARGUMENT, "%.*s is %s here", (int)value->bytes, value->text,
                      mldfi_dtype_short(dtype_meant(value)));
    return REFUSE(b, value->offset, MLDF_E_ARGUMENT,
                  "wants an element type: bool, u8, i8, u16, i16, u32, i32, u64, i64, f16, bf16, f32, f64");
}

static mldf_status bind_value(const struct binder *b, const struct literal *value, struct arg *out, mldf_error *err) {
    out->offset = value->offset;
    switch (b->param->kind) {
    case PARAM_INT:
        return bind_int(b, value, out, err);
    case PARAM_FLOAT:
        return check_number(b, value, false, &out->f, err);
    case PARAM_BOOL:
        return bind_bool(b, value, out, err);
    case PARAM_CHOICE:
        return bind_choice(b, value, out, err);
    case PARAM_TEXT:
        return bind_text(b, value, out, err);
    case PARAM_INTS:
    case PARAM_FLOATS:
        return bind_list(b, value, out, err);
    case PARAM_DTYPE:
        return bind_dtype(b, value, out, err);
    default:
        return MLDF_E_STATE;
    }
}

/* ---- Defaults --------------------------------------------------------------------------------------------------------------------------- */

/* "" is nothing: no numbers, no text, no element type. */
static mldf_status bind_nothing(const struct op_param *param, struct arg *out, mldf_error *err) {
    if (param->kind == PARAM_INTS || param->kind == PARAM_FLOATS || param->kind == PARAM_CHOICE)
        out->i = -1;
    if (param->kind != PARAM_TEXT)
        return MLDF_OK;
    out->text = mldfi_copy_text("", 0, err);
    return out->text ? MLDF_OK : MLDF_E_MEMORY;
}

static mldf_status bind_fallback(const char *operation, const struct op_param *param, struct arg *out,
                                 mldf_error *err) {
    struct arena arena = {0};
    struct literal value;
    struct lexer lexer = mldfi_pipeline_lexer(param->fallback, strlen(param->fallback), &arena);
    struct binder b = {lexer.text, lexer.bytes, operation, param};
    if (lexer.bytes == 0)
        return bind_nothing(param, out, err);
    mldf_status status = mldfi_lex_next(&lexer, err);
    if (status == MLDF_OK)
        status = mldfi_parse_literal(&lexer, &value, err);
    if (status == MLDF_OK)
        status = bind_value(&b, &value, out, err);
    mldfi_arena_free(&arena);
    return status;
}

/* ---- All arguments of a step ----------------------------------------------------------------------------------------------------------- */

static size_t param_count(const struct op_type *type) {
    size_t n = 0;
    while (type->params && type->params[n].name && n < OP_MAX_PARAMS)
        n++;
    return n;
}

/* "; it has size, filter ...", for a name that is like none of them. */
static const char *list_names(const char *const *names, char room[200]) {
    size_t at = 0;
    for (size_t i = 0; names[i] && at < 150; i++) {
        int wrote = snprintf(room + at, 200 - at, "%s%s", i ? ", " : "; it has ", names[i]);
        at += wrote > 0 ? (size_t)wrote : 0;
    }
    room[at < 200 ? at : 199] = 0;
    return room;
}

static mldf_status fail_name(const struct mldf_pipeline *pipeline, const struct op_type *type,
                             const struct argument *argument, mldf_error *err) {
    const char *names[OP_MAX_PARAMS + 1] = {NULL};
    char room[96], list[200] = "";
    size_t count = param_count(type);
    for (size_t i = 0; i < count; i++)
        names[i] = type->params[i].name;
    const char *hint = nearest(argument->name, argument->name_bytes, names, room);
    return mldfi_pipeline_fail(pipeline->text, pipeline->text_bytes, argument->offset, err, MLDF_E_ARGUMENT,
                               "%s has no parameter %.*s%s", type->name,
                               (int)(argument->name_bytes < 60 ? argument->name_bytes : 60), argument->name,
                               hint[0] ? hint : list_names(names, list));
}

/* A word without a name that the choice at its place does not have belongs to the choice that has it: window(30, pad). */
static size_t place_word(const struct op_type *type, const struct literal *value, size_t place, size_t count) {
    if (place >= count || value->kind != LITERAL_WORD || type->params[place].kind != PARAM_CHOICE ||
        choice_of(&type->params[place], value) >= 0)
        return place;
    for (size_t i = 0; i < count; i++)
        if (type->params[i].kind == PARAM_CHOICE && choice_of(&type->params[i], value) >= 0)
            return i;
    return place;
}

/* Which parameter the argument is for. */
static mldf_status place_argument(const struct mldf_pipeline *pipeline, const struct step *step, size_t argument,
                                  size_t *out, mldf_error *err) {
    const struct argument *a = &step->arguments[argument];
    size_t count = param_count(step->type);
    if (!a->name) {
        *out = place_word(step->type, &a->value, argument, count); /* all before it are by place too */
        if (*out < count)
            return MLDF_OK;
        if (count == 0)
            return mldfi_pipeline_fail(pipeline->text, pipeline->text_bytes, a->offset, err, MLDF_E_ARGUMENT,
                                       "%s takes no arguments", step->type->name);
        return mldfi_pipeline_fail(pipeline->text, pipeline->text_bytes, a->offset, err, MLDF_E_ARGUMENT,
                                   "%s takes at most %zu argument%s", step->type->name, count, count == 1 ? "" : "s");
    }
    for (size_t i = 0; i < count; i++)
        if (strlen(step->type->params[i].name) == a->name_bytes &&
            memcmp(step->type->params[i].name, a->name, a->name_bytes) == 0) {
            *out = i;
            return MLDF_OK;
        }
    return fail_name(pipeline, step->type, a, err);
}

/* A registered operation takes numbers, by place, as many as it likes. */
static mldf_status bind_user(const struct mldf_pipeline *pipeline, const struct step *step, struct op *op,
                             mldf_error *err) {
    static const struct op_param any = {.name = "arguments", .kind = PARAM_FLOATS};
    struct binder b = {pipeline->text, pipeline->text_bytes, step->type->name, &any};
    mldf_status status = MLDF_OK;
    op->args[0].i = -1;
    op->args[0].list = mldfi_alloc_zero(step->argument_count + 1, sizeof(double), err);
    if (!op->args[0].list)
        return MLDF_E_MEMORY;
    op->args[0].count = (uint32_t)step->argument_count;
    op->args[0].given = step->argument_count > 0;
    for (size_t i = 0; i < step->argument_count && status == MLDF_OK; i++) {
        if (step->arguments[i].name)
            return fail_name(pipeline, step->type, &step->arguments[i], err);
        status = check_number(&b, &step->arguments[i].value, false, &op->args[0].list[i], err);
    }
    return status;
}

/* resize(224, 224), center_crop(10, 10): a number after a number that may be a pair, where no number fits or none is likely. A padding as large as
 * the crop is a side too; random_crop(32, 4) is what others write. By its name every number is taken. */
static bool is_second_side(const struct step *step, size_t argument, size_t place) {
    const struct op_param *p = &step->type->params[place];
    if (argument != 1 || place != 1 || step->arguments[1].name || step->arguments[0].value.kind != LITERAL_NUMBER ||
        step->arguments[1].value.kind != LITERAL_NUMBER || p[-1].kind != PARAM_INTS || p[-1].max_count != 2)
        return false;
    bool size = strcmp(p[-1].name, "size") == 0;
    if (size && p->kind == PARAM_INTS)
        return step->arguments[1].value.number >= step->arguments[0].value.number;
    return p->kind == PARAM_CHOICE || (p->kind == PARAM_FLOATS && (size || p->min_count > 1)) ||
           (p->kind == PARAM_FLOAT && p->most > 0 && step->arguments[1].value.number > p->most);
}

static mldf_status refuse_second_side(const struct binder *b, const struct step *step, size_t i, mldf_error *err) {
    const struct literal *first = &step->arguments[i - 1].value, *second = &step->arguments[i].value;
    char named[80] = "";
    if (b->param->kind == PARAM_INTS || b->param->kind == PARAM_FLOATS)
        (void)snprintf(named, sizeof named, "; or name it: %s=%.*s", b->param->name,
                       (int)(second->bytes < 30 ? second->bytes : 30), second->text);
    return REFUSE_CALL(b, second->offset, MLDF_E_ARGUMENT, "height and width are one argument: %s([%.*s, %.*s])%s",
                       step->type->name, (int)first->bytes, first->text, (int)second->bytes, second->text,
                       b->param->min_count > 1 ? "" : named);
}

static mldf_status bind_all(const struct mldf_pipeline *pipeline, const struct step *step, struct op *op,
                            mldf_error *err) {
    size_t count = param_count(step->type), at = 0;
    mldf_status status = MLDF_OK;
    for (size_t i = 0; i < step->argument_count; i++) {
        status = place_argument(pipeline, step, i, &at, err);
        if (status < 0)
            return status;
        struct binder b = {pipeline->text, pipeline->text_bytes, step->type->name, &step->type->params[at]};
        if (op->args[at].given)
            return REFUSE(&b, step->arguments[i].offset, MLDF_E_ARGUMENT, "given twice");
        op->args[at].given = true;
        if (is_second_side(step, i, at))
            return refuse_second_side(&b, step, i, err);
        status = bind_value(&b, &step->arguments[i].value, &op->args[at], err);
        if (status < 0)
            return status;
    }
    for (size_t i = 0; i < count && status == MLDF_OK; i++) {
        const struct op_param *param = &step->type->params[i];
        if (op->args[i].given)
            continue;
        op->args[i].offset = step->offset;
        if (!param->fallback)
            return mldfi_pipeline_fail(pipeline->text, pipeline->text_bytes, step->offset, err, MLDF_E_ARGUMENT,
                                       "%s: %s must be given: %s", step->type->name, param->name,
                                       param->help ? param->help : "it has no default");
        status = bind_fallback(step->type->name, param, &op->args[i], err);
        op->args[i].offset = step->offset;
    }
    return status;
}

mldf_status mldfi_bind_parameters(const struct mldf_pipeline *pipeline, const struct step *step, struct op *op,
                                  mldf_error *err) {
    memset(op, 0, sizeof *op);
    op->type = step->type;
    op->user = step->user;
    op->offset = step->offset;
    op->bytes = step->bytes;
    mldf_status status = step->user ? bind_user(pipeline, step, op, err) : bind_all(pipeline, step, op, err);
    if (status < 0)
        mldfi_free_parameters(op);
    return status;
}

void mldfi_free_parameters(struct op *op) {
    for (size_t i = 0; i < OP_MAX_PARAMS; i++) {
        free(op->args[i].list);
        free(op->args[i].text);
        op->args[i].list = NULL;
        op->args[i].text = NULL;
        op->args[i].count = 0;
    }
}
