/* Counting what columns hold, and the decision. See infer.h. number_text.c reads single numbers. */
#include "tool/infer.h"

#include <stdio.h>
#include <string.h>

static void guess_number(struct guess *guess, text_kind kind, const struct text_number *number) {
    switch (kind) {
    case TEXT_INT:
        guess->ints++;
        guess->negative += number->i < 0;
        guess->int_inexact |= !mldfi_int_is_exact(number->i);
        break;
    case TEXT_UINT:
        guess->ints++;
        guess->above_i64++;
        guess->int_inexact |= !mldfi_uint_is_exact(number->u);
        break;
    case TEXT_BIG:
        guess->big++;
        break;
    case TEXT_FLOAT:
        guess->floats++;
        break;
    default:
        guess->texts++;
    }
}

/* A list counts as such when it holds numbers only. */
static bool guess_list(struct guess *guess, const struct json *json, uint32_t node) {
    const struct json_node *list = &json->nodes[node];
    struct guess seen = {0};
    if (list->count == 0)
        return false;
    for (uint32_t i = mldfi_json_first(json, node); i < list->next; i = json->nodes[i].next) {
        struct text_number number;
        if (json->nodes[i].kind != MLDFI_JSON_NUMBER)
            return false;
        text_kind kind = mldfi_read_json_number(json->nodes[i].text, json->nodes[i].text_bytes, &number);
        guess_number(&seen, kind, &number);
        if (seen.texts || seen.big)
            return false;
    }
    if (guess->lists == 0)
        guess->list_length = list->count;
    guess->list_ragged |= guess->list_length != list->count;
    guess->list_float |= seen.floats > 0;
    guess->list_inexact |= seen.int_inexact;
    guess->list_beyond_i64 |= seen.above_i64 > 0;
    guess->lists++;
    return true;
}

static void guess_node(struct guess *guess, const struct json *json, uint32_t node) {
    const struct json_node *n = &json->nodes[node];
    struct text_number number;
    double ignored;
    switch (n->kind) {
    case MLDFI_JSON_NULL:
        guess->nulls++;
        return;
    case MLDFI_JSON_FALSE:
    case MLDFI_JSON_TRUE:
        guess->bools++;
        break;
    case MLDFI_JSON_NUMBER: {
        text_kind kind = mldfi_read_json_number(n->text, n->text_bytes, &number);
        if (kind == TEXT_WORDS)
            guess->nested++; /* a number that no field can hold stays JSON */
        else
            guess_number(guess, kind, &number);
        break;
    }
    case MLDFI_JSON_STRING:
        if (mldfi_json_nonfinite(json, node, &ignored))
            guess->nonfinite++;
        else
            guess->texts++;
        break;
    case MLDFI_JSON_ARRAY:
        if (!guess_list(guess, json, node))
            guess->nested++;
        break;
    case MLDFI_JSON_OBJECT:
        guess->nested++;
        break;
    }
    guess->values++;
}

static void guess_text(struct guess *guess, const char *text, size_t bytes, struct json *scratch) {
    struct text_number number;
    text_kind kind = mldfi_read_text(text, bytes, false, &number);
    if (kind == TEXT_EMPTY) {
        guess->nulls++;
        return;
    }
    if (kind == TEXT_WORDS && (text[0] == '[' || text[0] == '{') && guess->texts == 0 &&
        mldfi_json_parse(scratch, text, bytes, NULL) == MLDF_OK) {
        guess_node(guess, scratch, 0);
        return;
    }
    guess->values++;
    if (kind == TEXT_BOOL)
        guess->bools++;
    else
        guess_number(guess, kind, &number);
}

void mldfi_guess_cell(struct guess *guess, const struct cell *cell, struct json *scratch) {
    switch (cell->kind) {
    case CELL_ABSENT:
        guess->nulls++;
        break;
    case CELL_TEXT:
        guess_text(guess, cell->text, cell->bytes, scratch);
        break;
    case CELL_JSON:
        guess_node(guess, cell->json, cell->node);
        break;
    }
}

static void choose(struct inferred *out, uint16_t type_id, const char *arguments) {
    out->type_id = type_id;
    snprintf(out->arguments, sizeof out->arguments, "%s", arguments);
}

/* True when the lists make an array field. */
static bool decide_list(const struct guess *g, struct inferred *out) {
    char arguments[64];
    bool floats = g->list_float;
    if (g->lists != g->values || g->list_ragged || g->list_beyond_i64 || (floats && g->list_inexact))
        return false;
    if (g->list_length > UINT32_MAX)
        return false;
    snprintf(arguments, sizeof arguments, "{\"dtype\":\"%s\",\"shape\":[%llu]}", floats ? "<f8" : "<i8",
             (unsigned long long)g->list_length);
    choose(out, MLDF_NDARRAY, arguments);
    return true;
}

/* True when the column is one of numbers. */
static bool decide_number(const struct guess *g, bool json, struct inferred *out) {
    bool signs_clash = g->above_i64 > 0 && g->negative > 0;
    if (g->ints == g->values && !signs_clash) {
        choose(out, MLDF_INT, g->above_i64 ? "{\"dtype\":\"<u8\"}" : "");
        return true;
    }
    if (g->ints + g->big == g->values) {
        choose(out, MLDF_TEXT, "");
        out->numbers_as_text = json;
        return true;
    }
    if (g->ints + g->floats + g->nonfinite == g->values && g->ints + g->floats > 0 && !g->int_inexact) {
        choose(out, MLDF_FLOAT, "");
        return true;
    }
    return false;
}

void mldfi_guess_decide(const struct guess *g, bool json, struct inferred *out) {
    memset(out, 0, sizeof *out);
    if (g->nulls)
        out->flags = MLDF_FIELD_NULLABLE;
    if (g->values == 0) {
        out->flags = MLDF_FIELD_NULLABLE;
        choose(out, json ? MLDF_JSON : MLDF_TEXT, "");
    } else if (g->bools == g->values) {
        choose(out, MLDF_INT, "{\"dtype\":\"|b1\"}");
    } else if (decide_number(g, json, out) || decide_list(g, out)) {
        /* chosen */
    } else if (g->lists + g->nested == g->values) {
        choose(out, MLDF_JSON, "");
    } else if (!json || g->texts + g->nonfinite == g->values) {
        choose(out, MLDF_TEXT, "");
    } else {
        choose(out, MLDF_JSON, "");
    }
    /* An empty cell of a text column is an empty text, not a null. */
    if (!json && out->type_id == MLDF_TEXT && g->values > 0)
        out->flags = 0;
}
