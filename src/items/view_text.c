/* A view's text: NAME(FIELD, VALUE, PARAMETER=VALUE, FLAG, ...) into a map, a field and arguments, and back with every parameter by name. A field
 * whose name is more than letters, digits, '_', '.', '/' and '-' stands in double quotes ("" inside is one quote). */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "field/type.h"
#include "items/items.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/number.h"

enum { TEXT_MAX = 65536 };

static const struct item_map *const maps[] = {
    &mldfi_view_rows,   &mldfi_view_windows, &mldfi_view_expand, &mldfi_view_segments,
    &mldfi_view_packed, &mldfi_view_steps,   &mldfi_view_pow2,   NULL};

/* A word, a number or a quoted name. */
struct word {
    const char *text;
    size_t bytes;
    size_t at;
    bool quoted;
};
struct scan {
    const char *text;
    size_t at;
    mldf_error *err;
};

/* ---- Words ------------------------------------------------------------------------------------------------------------------ */

static mldf_status syntax(const struct scan *s, size_t at, const char *expected) {
    return mldfi_fail_at(s->err, MLDF_E_SYNTAX, at, "view, byte %zu of \"%.200s\": %s is expected", at, s->text,
                         expected);
}

static void blanks(struct scan *s) {
    while (s->text[s->at] == ' ' || s->text[s->at] == '\t' || s->text[s->at] == '\n')
        s->at++;
}

static bool take(struct scan *s, char c) {
    blanks(s);
    if (s->text[s->at] != c)
        return false;
    s->at++;
    return true;
}

static bool is_plain(char c) {
    return isalnum((unsigned char)c) || strchr("_./-+", c) || (unsigned char)c >= 0x80;
}

static mldf_status take_word(struct scan *s, struct word *out) {
    blanks(s);
    *out = (struct word){s->text + s->at, 0, s->at, false};
    if (s->text[s->at] == '"') {
        out->quoted = true;
        out->text++;
        for (s->at++; s->text[s->at] && (s->text[s->at] != '"' || s->text[s->at + 1] == '"'); out->bytes++)
            s->at += 1 + (s->text[s->at] == '"');
        out->bytes = (size_t)(s->text + s->at - out->text);
        return take(s, '"') ? MLDF_OK : syntax(s, s->at, "a closing quote");
    }
    while (s->text[s->at] && is_plain(s->text[s->at]))
        s->at++, out->bytes++;
    return out->bytes ? MLDF_OK : syntax(s, s->at, "a name or a number");
}

static bool is_word(const struct word *w, const char *text) {
    return !w->quoted && strlen(text) == w->bytes && memcmp(text, w->text, w->bytes) == 0;
}

/* ---- Arguments -------------------------------------------------------------------------------------------------------------- */

static mldf_status find_param(const mldf_view *view, const struct word *name, size_t *out, mldf_error *err) {
    char wanted[64];
    size_t bytes = name->bytes < sizeof wanted ? name->bytes : sizeof wanted - 1;
    memcpy(wanted, name->text, bytes);
    wanted[bytes] = 0;
    struct suggestion near = {wanted, NULL, 0};
    for (size_t i = 0; view->map->params[i].name; i++) {
        *out = i;
        if (is_word(name, view->map->params[i].name))
            return MLDF_OK;
        mldfi_suggest(&near, view->map->params[i].name);
    }
    return mldfi_fail_at(err, MLDF_E_ARGUMENT, name->at, "view %s: no parameter %s%s%s%s", view->map->name, wanted,
                         near.best ? "; did you mean " : "", near.best ? near.best : "", near.best ? "?" : "");
}

static mldf_status take_choice(const mldf_view *view, const struct item_param *param, const struct word *value,
                               struct item_arg *arg, mldf_error *err) {
    static const char *const flags[] = {"false", "true", NULL};
    const char *const *words = param->kind == ITEM_FLAG ? flags : param->words;
    char list[128] = "";
    for (size_t i = 0; words[i]; i++) {
        arg->number = (double)i;
        if (is_word(value, words[i]))
            return MLDF_OK;
        strncat(strncat(list, i ? ", " : "", sizeof list - strlen(list) - 1), words[i], sizeof list - strlen(list) - 1);
    }
    return mldfi_fail_at(err, MLDF_E_ARGUMENT, value->at, "view %s: %s is one of %s, not %.*s", view->map->name,
                         param->name, list, (int)(value->bytes < 64 ? value->bytes : 64), value->text);
}

/* A field's name; quotes inside quotes are written twice. */
static mldf_status copy_name(const struct word *word, char **out, mldf_error *err) {
    if (!(*out = mldfi_copy_text(word->text, word->bytes, err)))
        return MLDF_E_MEMORY;
    size_t to = 0;
    for (size_t from = 0; word->quoted && from < word->bytes; from++, to++) {
        from += word->text[from] == '"';
        (*out)[to] = word->text[from];
    }
    if (word->quoted)
        (*out)[to] = 0;
    return MLDF_OK;
}

static mldf_status take_value(const mldf_view *view, size_t index, const struct word *value, struct item_arg *arg,
                              mldf_error *err) {
    const struct item_param *param = &view->map->params[index];
    if (arg->given)
        return mldfi_fail_at(err, MLDF_E_ARGUMENT, value->at, "view %s: %s is given twice", view->map->name,
                             param->name);
    arg->given = true;
    if (param->kind == ITEM_NAME)
        return copy_name(value, &arg->name, err);
    if (param->kind == ITEM_FLAG || param->kind == ITEM_CHOICE)
        return take_choice(view, param, value, arg, err);
    if (param->kind == ITEM_ID && is_word(value, "own")) {
        arg->number = ITEM_OWN;
        return MLDF_OK;
    }
    if (!value->quoted && mldfi_parse_double(value->text, value->bytes, &arg->number))
        return MLDF_OK;
    return mldfi_fail_at(err, MLDF_E_ARGUMENT, value->at, "view %s: %s is a number%s, not %.*s", view->map->name,
                         param->name, param->kind == ITEM_ID ? " or own" : "",
                         (int)(value->bytes < 64 ? value->bytes : 64), value->text);
}

/* The parameters of a choice in brackets behind it: WORD(VALUE, NAME=VALUE) are "WORD.NAME" of the list. */
static mldf_status take_nested(mldf_view *view, struct scan *s, const struct word *choice) {
    const struct item_param *params = view->map->params;
    size_t next = 0;
    mldf_status status = MLDF_OK;
    for (bool more = false; status >= 0 && !take(s, ')'); more = true) {
        struct word word, value;
        char name[64];
        size_t index = ITEM_PARAMS;
        if (more && !take(s, ','))
            return syntax(s, s->at, ", or )");
        if ((status = take_word(s, &word)) < 0)
            return status;
        if (take(s, '=')) {
            (void)snprintf(name, sizeof name, "%.*s.%.*s", (int)(choice->bytes < 24 ? choice->bytes : 24), choice->text,
                           (int)(word.bytes < 24 ? word.bytes : 24), word.text);
            status = find_param(view, &(struct word){name, strlen(name), word.at, false}, &index, s->err);
            if (status >= 0)
                status = take_word(s, &value);
        } else {
            value = word;
            for (; params[next].name && index == ITEM_PARAMS; next++)
                if (strncmp(params[next].name, choice->text, choice->bytes) == 0 &&
                    params[next].name[choice->bytes] == '.' && !view->args[next].given)
                    index = next;
            if (index == ITEM_PARAMS)
                return mldfi_fail_at(s->err, MLDF_E_ARGUMENT, word.at, "view %s: too many values in %.*s(...)",
                                     view->map->name, (int)(choice->bytes < 24 ? choice->bytes : 24), choice->text);
        }
        if (status >= 0)
            status = take_value(view, index, &value, &view->args[index], s->err);
    }
    return status;
}

/* VALUE, FLAG, or NAME=VALUE. *place: the next parameter that may come without its name. */
static mldf_status take_argument(mldf_view *view, struct scan *s, size_t *place) {
    struct word word, value;
    size_t index;
    mldf_status status = take_word(s, &word);
    if (status < 0)
        return status;
    if (take(s, '=')) {
        status = find_param(view, &word, &index, s->err);
        if (status >= 0)
            status = take_word(s, &value);
        *place = ITEM_PARAMS;
        if (status >= 0)
            status = take_value(view, index, &value, &view->args[index], s->err);
        if (status >= 0 && view->map->params[index].kind == ITEM_CHOICE && take(s, '('))
            status = take_nested(view, s, &value);
        return status;
    }
    const struct item_param *params = view->map->params;
    for (size_t i = 0; params[i].name; i++)
        if (params[i].kind == ITEM_FLAG && is_word(&word, params[i].name))
            return take_value(view, i, &(struct word){"true", 4, word.at, false}, &view->args[i], s->err);
    if (*place == ITEM_PARAMS)
        return syntax(s, word.at, "NAME=VALUE, as after the first named parameter,");
    if (!params[*place].name)
        return mldfi_fail_at(s->err, MLDF_E_ARGUMENT, word.at, "view %s: too many values", view->map->name);
    status = take_value(view, *place, &word, &view->args[*place], s->err);
    ++*place;
    return status;
}

static mldf_status take_field(mldf_view *view, struct scan *s) {
    struct word word;
    TRY(take_word(s, &word));
    return copy_name(&word, &view->field, s->err);
}

static mldf_status take_map(mldf_view *view, struct scan *s) {
    struct word word;
    TRY(take_word(s, &word));
    for (size_t i = 0; maps[i] && !view->map; i++)
        if (is_word(&word, maps[i]->name))
            view->map = maps[i];
    if (view->map)
        return MLDF_OK;
    return mldfi_fail_at(s->err, MLDF_E_ARGUMENT, word.at,
                         "no view %.*s; there are rows, windows, expand, segments, packed, pow2 and steps",
                         (int)(word.bytes < 64 ? word.bytes : 64), word.text);
}

mldf_status mldfi_view_parse(mldf_view *view, const char *text, mldf_error *err) {
    struct scan s = {text, 0, err};
    size_t place = 0;
    if (strlen(text) > TEXT_MAX)
        return mldfi_fail(err, MLDF_E_LIMIT, "a view's text of %zu bytes; %d are the most", strlen(text), TEXT_MAX);
    mldf_status status = take_map(view, &s);
    if (status < 0)
        return status;
    bool open = take(&s, '('), more = open && view->map->cuts;
    if (view->map->cuts && !open)
        return syntax(&s, s.at, "(FIELD, ...)");
    if (more)
        status = take_field(view, &s);
    for (; status >= 0 && open && !take(&s, ')');) {
        if (more && !take(&s, ','))
            return syntax(&s, s.at, ", or )");
        more = true;
        status = take_argument(view, &s, &place);
    }
    blanks(&s);
    if (status >= 0 && s.text[s.at])
        return syntax(&s, s.at, "the end");
    for (size_t i = 0; status >= 0 && view->map->params[i].name; i++)
        if (view->map->params[i].needed && !view->args[i].given)
            return mldfi_fail(err, MLDF_E_ARGUMENT, "view %s: %s is not given", view->map->name,
                              view->map->params[i].name);
    return status;
}

/* ---- Back to text ------------------------------------------------------------------------------------------------------------ */

static mldf_status write_field(const char *name, mldf_buffer *out, mldf_error *err) {
    bool plain = name[0] != 0;
    for (const char *p = name; *p; p++)
        plain = plain && is_plain(*p);
    mldf_status status = mldf_buffer_append(out, "\"", plain ? 0 : 1, err);
    for (const char *p = name; *p && status >= 0; p++)
        status = mldf_buffer_append(out, *p == '"' ? "\"\"" : p, *p == '"' ? 2 : 1, err);
    return status < 0 ? status : mldf_buffer_append(out, "\"", plain ? 0 : 1, err);
}

static mldf_status write_value(const struct item_param *param, const struct item_arg *arg, mldf_buffer *out,
                               mldf_error *err) {
    double number = arg->number;
    char text[32];
    if (param->kind == ITEM_NAME)
        return write_field(arg->name, out, err);
    if (param->kind == ITEM_FLAG)
        return mldfi_buffer_append_text(out, number != 0 ? "true" : "false", err);
    if (param->kind == ITEM_CHOICE)
        return mldfi_buffer_append_text(out, param->words[(size_t)number], err);
    if (number < 0x1p53 && number == (double)(uint64_t)number)
        return mldfi_buffer_printf(out, err, "%" PRIu64, (uint64_t)number);
    mldfi_format_double(text, number);
    return mldfi_buffer_append_text(out, text, err);
}

mldf_status mldfi_view_write(const mldf_view *view, bool shows, char **out_text, mldf_error *err) {
    mldf_buffer out = MLDF_BUFFER_INIT;
    mldf_status status = mldfi_buffer_append_text(&out, view->map->name, err);
    bool first = !view->map->cuts;
    if (view->map->params && view->map->params[0].name) {
        if (status >= 0)
            status = mldf_buffer_append(&out, "(", 1, err);
        if (status >= 0 && view->map->cuts)
            status = write_field(view->field, &out, err);
        for (size_t i = 0; status >= 0 && view->map->params[i].name; i++) {
            const struct item_param *param = &view->map->params[i];
            if ((param->quiet && !view->args[i].given) || (param->shows && !shows))
                continue;
            status = mldfi_buffer_printf(&out, err, "%s%s=", first ? "" : ", ", param->name);
            first = false;
            if (status >= 0)
                status = write_value(param, &view->args[i], &out, err);
        }
        if (status >= 0)
            status = mldf_buffer_append(&out, ")", 1, err);
    }
    if (status >= 0 && !(*out_text = mldfi_copy_text((const char *)out.data, out.size, err)))
        status = MLDF_E_MEMORY;
    mldf_buffer_free(&out);
    return status;
}
