/* Parameters of a packed view that are held against the field: ids and their vocabulary, objectives, tokenizers of several files. view_packed.c has the
 * list of all parameters. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "field/tokens.h"
#include "field/type.h"
#include "items/packed.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/json.h"

#define params mldfi_view_packed.params
#define ID_MOST 2147483647.0

/* ---- Numbers --------------------------------------------------------------------------------------------------------------------- */

mldf_status mldfi_packed_check_whole(const mldf_view *view, int param, double least, double most, mldf_error *err) {
    double number = view->args[param].number;
    if (!view->args[param].given || (number >= least && number <= most && number == (double)(int64_t)number))
        return MLDF_OK;
    return mldfi_fail(err, MLDF_E_ARGUMENT, "view packed: %s is %g; a whole number from %g to %g is needed",
                      params[param].name, number, least, most);
}

static mldf_status check_chance(const mldf_view *view, int param, mldf_error *err) {
    double number = view->args[param].number;
    if (number >= 0 && number <= 1)
        return MLDF_OK;
    return mldfi_fail(err, MLDF_E_ARGUMENT, "view packed: %s is %g; a number from 0 to 1 is needed", params[param].name,
                      number);
}

/* The first reader's field arguments: ids and the number of them. -1: it says nothing. */
struct field_ids {
    int64_t bos, eos, pad;
    uint64_t vocabulary;
};

static mldf_status read_ids(const mldf_view *view, struct field_ids *out, mldf_error *err) {
    const mldf_field *info = mldfi_packed_is_parts(view) ? &mldfi_packed_text_kind(view)->info
                                                         : &view->readers[0]->schema->fields[view->fields[0]].info;
    struct {
        const char *name;
        int64_t *to;
    } names[] = {{"bos", &out->bos}, {"eos", &out->eos}, {"pad", &out->pad}};
    struct json json = {0};
    *out = (struct field_ids){-1, -1, -1, 0};
    if (!mldfi_is_tokens(info->type_id) || !info->arguments[0])
        return MLDF_OK;
    mldf_status status = mldfi_json_parse(&json, info->arguments, strlen(info->arguments), err);
    for (size_t i = 0; status >= 0 && i < 3; i++) {
        uint32_t at = mldfi_json_find(&json, 0, names[i].name);
        if (at == UINT32_MAX || !mldfi_json_i64(&json, at, names[i].to))
            *names[i].to = -1;
    }
    uint32_t at = status >= 0 ? mldfi_json_find(&json, 0, "vocabulary") : UINT32_MAX;
    if (at == UINT32_MAX || !mldfi_json_u64(&json, at, &out->vocabulary))
        out->vocabulary = 0;
    mldfi_json_free(&json);
    return status;
}

static mldf_status check_id(const mldf_view *view, int param, uint64_t vocabulary, mldf_error *err) {
    double number = view->args[param].number;
    mldf_status status = mldfi_packed_check_whole(view, param, 0, ID_MOST, err);
    if (status >= 0 && vocabulary && number >= (double)vocabulary)
        status =
            mldfi_fail(err, MLDF_E_RANGE, "view packed: %s is %.0f, outside the vocabulary of field %s: 0 to %" PRIu64,
                       params[param].name, number, view->field, vocabulary - 1);
    return status;
}

/* An id that was given, or the field's own; *out -1: none. */
static mldf_status take_id(mldf_view *view, int param, int64_t own, uint64_t vocabulary, int64_t *out,
                           mldf_error *err) {
    struct item_arg *arg = &view->args[param];
    *out = -1;
    if (!arg->given)
        return MLDF_OK;
    if (arg->number == ITEM_OWN) {
        if (own < 0)
            return mldfi_fail(err, MLDF_E_ARGUMENT, "view packed: %s=own, and the arguments of field %s say no %s id",
                              params[param].name, view->field, params[param].name);
        arg->number = (double)own;
    }
    *out = (int64_t)arg->number;
    return check_id(view, param, vocabulary, err);
}

mldf_status mldfi_packed_take_ids(mldf_view *view, mldf_error *err) {
    struct packed *p = view->packed;
    struct field_ids own;
    mldf_status status = read_ids(view, &own, err);
    if (status >= 0)
        status = take_id(view, PACKED_BOS, own.bos, own.vocabulary, &p->bos, err);
    if (status >= 0)
        status = take_id(view, PACKED_EOS, own.eos, own.vocabulary, &p->eos, err);
    if (status >= 0)
        status = take_id(view, PACKED_PAD, own.pad, own.vocabulary, &p->pad, err);
    if (status < 0)
        return status;
    p->vocabulary = own.vocabulary;
    if (p->pad < 0)
        p->pad = own.pad >= 0 ? own.pad : own.eos >= 0 ? own.eos : p->eos;
    if (p->pad < 0 && view->args[PACKED_ALGORITHM].number == PACKING_CONCAT - PACKING_BEST_FIT)
        p->pad = 0; /* the end of the last sequence alone */
    if (p->pad < 0)
        return mldfi_fail(err, MLDF_E_ARGUMENT,
                          "view packed: field %s has no pad and no eos id to fill sequences up with: give pad=ID",
                          view->field);
    return MLDF_OK;
}

/* ---- Objectives -------------------------------------------------------------------------------------------------------------------- */

static mldf_status need(const mldf_view *view, int param, mldf_error *err) {
    if (view->args[param].given)
        return check_id(view, param, view->packed->vocabulary, err);
    return mldfi_fail(err, MLDF_E_ARGUMENT, "view packed: objective=%s needs %s",
                      params[PACKED_OBJECTIVE].words[(int)view->args[PACKED_OBJECTIVE].number], params[param].name);
}

static void by_default(mldf_view *view, int param, double number) {
    if (!view->args[param].given)
        view->args[param] = (struct item_arg){.given = true, .number = number};
}

mldf_status mldfi_packed_take_objective(mldf_view *view, mldf_error *err) {
    struct packed *p = view->packed;
    mldf_status status = MLDF_OK;
    p->objective = (int)view->args[PACKED_OBJECTIVE].number;
    for (int i = PACKED_FIM_RATE; i <= PACKED_MLM_KEEP; i++) {
        bool own = i <= PACKED_FIM_SUFFIX ? p->objective == OBJECTIVE_FIM : p->objective == OBJECTIVE_MLM;
        if (view->args[i].given && !own)
            return mldfi_fail(err, MLDF_E_ARGUMENT, "view packed: %s does not go with objective=%s", params[i].name,
                              params[PACKED_OBJECTIVE].words[p->objective]);
    }
    view->random = p->objective != OBJECTIVE_CAUSAL;
    if (p->objective == OBJECTIVE_FIM) {
        by_default(view, PACKED_FIM_RATE, 0.5);
        by_default(view, PACKED_FIM_SPM, 0.5);
        for (int i = PACKED_FIM_PREFIX; i <= PACKED_FIM_SUFFIX && status >= 0; i++)
            status = need(view, i, err);
        if (status >= 0)
            status = check_chance(view, PACKED_FIM_RATE, err);
        return status < 0 ? status : check_chance(view, PACKED_FIM_SPM, err);
    }
    if (p->objective != OBJECTIVE_MLM)
        return MLDF_OK;
    by_default(view, PACKED_MLM_P, 0.15);
    by_default(view, PACKED_MLM_RANDOM, p->vocabulary ? 0.1 : 0);
    by_default(view, PACKED_MLM_KEEP, 0.1);
    status = need(view, PACKED_MLM_MASK, err);
    if (status >= 0)
        status = check_chance(view, PACKED_MLM_P, err);
    if (status >= 0)
        status = check_chance(view, PACKED_MLM_RANDOM, err);
    if (status >= 0)
        status = check_chance(view, PACKED_MLM_KEEP, err);
    if (status >= 0 && view->args[PACKED_MLM_RANDOM].number > 0 && !p->vocabulary)
        status = mldfi_fail(err, MLDF_E_ARGUMENT,
                            "view packed: mlm.random needs a vocabulary, and field %s states none", view->field);
    return status;
}
