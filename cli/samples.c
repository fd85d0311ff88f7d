/* head and cat: samples as text or JSON lines, or the bytes of one field. Which samples: all, the first n, a range, a list, keys. cmd_head.c and
 * cmd_cat.c differ in the default only. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

struct selection {
    mldf_reader *reader;
    mldf_view *view; /* NULL: samples are rows */
    const char *path;
    uint64_t begin, end; /* a range, unless list is set */
    uint64_t *list;
    size_t list_count;
    uint64_t limit;
    size_t *fields;
    size_t field_count;
    mldf_buffer *scratch; /* one for each selected field */
    mldf_buffer *texts;   /* and the value of each as JSON */
    mldf_buffer key_scratch;
    bool full;
    mldf_classes **classes; /* of each field, or NULL; text alone */
    struct token_text text;
};

/* Of rows, or of items that have fields of their own. */
static const mldf_schema *schema_of(const struct selection *s) {
    return s->view ? mldf_view_schema(s->view) : mldf_reader_schema(s->reader);
}

static uint64_t sample_count(const struct selection *s) {
    return s->view ? mldf_view_count(s->view) : mldf_reader_sample_count(s->reader);
}

/* ---- Which samples ------------------------------------------------------------------------------------------------- */

bool parse_side(const char *text, size_t bytes, uint64_t count, uint64_t otherwise, uint64_t *out) {
    uint64_t value = 0;
    bool negative = bytes > 0 && text[0] == '-';
    if (bytes == 0) {
        *out = otherwise;
        return true;
    }
    if (bytes == (size_t)negative)
        return false;
    for (size_t i = negative; i < bytes; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        if (__builtin_mul_overflow(value, UINT64_C(10), &value) ||
            __builtin_add_overflow(value, (uint64_t)(text[i] - '0'), &value))
            value = UINT64_MAX / 16;
    }
    if (negative)
        *out = value > count ? 0 : count - value;
    else
        *out = value > count ? count : value;
    return true;
}

static bool parse_range(const struct invocation *v, const char *text, struct selection *s) {
    uint64_t count = sample_count(s);
    const char *colon = strchr(text, ':');
    if (colon && !strchr(colon + 1, ':') && parse_side(text, (size_t)(colon - text), count, 0, &s->begin) &&
        parse_side(colon + 1, strlen(colon + 1), count, count, &s->end)) {
        if (s->end < s->begin)
            s->end = s->begin;
        return true;
    }
    usage_error(v, "--range: '%s' is not A:B with whole numbers", text);
    return false;
}

static size_t count_items(const char *text) {
    size_t n = 1;
    for (; *text; text++)
        n += *text == ',';
    return n;
}

static int parse_samples(const struct invocation *v, const char *text, struct selection *s) {
    uint64_t count = sample_count(s);
    s->list = calloc(count_items(text) + 1, sizeof *s->list);
    for (const char *p = text; s->list;) {
        const char *comma = strchr(p, ',');
        size_t bytes = comma ? (size_t)(comma - p) : strlen(p);
        char word[32];
        uint64_t value;
        if (bytes == 0 || bytes >= sizeof word)
            return usage_error(v, "--samples: '%s' is not a list of sample numbers", text);
        memcpy(word, p, bytes);
        word[bytes] = 0;
        bool negative = word[0] == '-';
        if (!parse_count(v, "--samples", word + negative, &value))
            return EXIT_USAGE;
        if (negative ? value == 0 || value > count : value >= count)
            return complain(v, EXIT_DATA, "%s: there is no sample %s: the %s has %" PRIu64, s->path, word,
                            s->view ? "view" : "file", count);
        s->list[s->list_count++] = negative ? count - value : value;
        if (!comma)
            return EXIT_FINE;
        p = comma + 1;
    }
    return no_memory(v);
}

static int parse_keys(const struct invocation *v, const char *text, struct selection *s) {
    mldf_error err;
    s->list = calloc(count_items(text) + 1, sizeof *s->list);
    if (!s->list)
        return no_memory(v);
    /* A key may hold a comma: the whole text is tried first. */
    if (mldf_reader_has_keys(s->reader) && *text) {
        mldf_status status = mldf_reader_find_key(s->reader, text, strlen(text), &s->list[0], &err);
        s->list_count = status == MLDF_OK;
        if (status != MLDF_E_NO_SAMPLE && status != MLDF_E_KEY)
            return status < 0 ? report_error(v, s->path, &err) : EXIT_FINE;
    }
    for (const char *p = text;;) {
        const char *comma = strchr(p, ',');
        size_t bytes = comma ? (size_t)(comma - p) : strlen(p);
        if (mldf_reader_find_key(s->reader, p, bytes, &s->list[s->list_count++], &err) < 0)
            return report_error(v, s->path, &err);
        if (!comma)
            return EXIT_FINE;
        p = comma + 1;
    }
}

static int choose_samples(const struct invocation *v, struct selection *s, bool head) {
    const char *n = option_value(v, "n"), *range = option_value(v, "range"), *samples = option_value(v, "samples"),
               *keys = option_value(v, "keys");
    if ((range != NULL) + (samples != NULL) + (keys != NULL) > 1)
        return usage_error(v, "only one of --range, --samples and --keys can be given");
    if (keys && s->view)
        return usage_error(v, "--keys: a key is of a row; with --view items are chosen by --range or --samples");
    s->begin = 0;
    s->end = sample_count(s);
    s->limit = head && !range && !samples && !keys ? 10 : MLDF_NONE;
    if (n && !parse_count(v, "-n", n, &s->limit))
        return EXIT_USAGE;
    if (range)
        return parse_range(v, range, s) ? EXIT_FINE : EXIT_USAGE;
    if (samples)
        return parse_samples(v, samples, s);
    return keys ? parse_keys(v, keys, s) : EXIT_FINE;
}

/* ---- Which fields -------------------------------------------------------------------------------------------------- */

static int add_field(const struct invocation *v, struct selection *s, const char *name, size_t bytes) {
    char word[MLDF_NAME_MAX + 1];
    mldf_error err;
    if (bytes > MLDF_NAME_MAX)
        return usage_error(v, "no field has a name of %zu bytes", bytes);
    memcpy(word, name, bytes);
    word[bytes] = 0;
    if (mldf_schema_find(schema_of(s), word, &s->fields[s->field_count], &err) < 0)
        return report_error(v, s->path, &err);
    for (size_t i = 0; i < s->field_count; i++)
        if (s->fields[i] == s->fields[s->field_count])
            return usage_error(v, "--fields: '%s' is there twice", word);
    s->field_count++;
    return EXIT_FINE;
}

static int choose_fields(const struct invocation *v, struct selection *s) {
    const char *list = option_value(v, "fields"), *raw = option_value(v, "raw");
    size_t all = mldf_schema_field_count(schema_of(s)), room = all;
    int code = EXIT_FINE;
    if (list && raw)
        return usage_error(v, "--fields and --raw cannot be given together");
    if (list)
        room = count_items(list);
    s->fields = calloc(room + 1, sizeof *s->fields);
    s->scratch = calloc(room + 1, sizeof *s->scratch);
    s->texts = calloc(room + 1, sizeof *s->texts);
    if (!s->fields || !s->scratch || !s->texts)
        return no_memory(v);
    if (raw)
        return add_field(v, s, raw, strlen(raw));
    if (!list) {
        for (size_t i = 0; i < all; i++)
            if (!s->view || mldf_view_field_is_default(s->view, i))
                s->fields[s->field_count++] = i;
        return EXIT_FINE;
    }
    for (const char *p = list; code == EXIT_FINE;) {
        const char *comma = strchr(p, ',');
        code = add_field(v, s, p, comma ? (size_t)(comma - p) : strlen(p));
        if (!comma)
            break;
        p = comma + 1;
    }
    return code;
}

/* ---- Printing ------------------------------------------------------------------------------------------------------ */

static mldf_status get(struct selection *s, uint64_t sample, size_t i, mldf_value *out, mldf_error *err) {
    size_t field = s->fields[i];
    if (s->view)
        return mldf_view_get(s->view, sample, 0, field, &s->scratch[i], out, err);
    if (mldf_schema_field(mldf_reader_schema(s->reader), field)->known)
        return mldf_reader_get(s->reader, sample, field, &s->scratch[i], out, err);
    return mldf_reader_get_stored(s->reader, sample, field, &s->scratch[i], out, err);
}

/* The row that the sample is, or begins in. */
static mldf_status row_of(const struct selection *s, uint64_t sample, uint64_t *row, mldf_error *err) {
    mldf_piece piece;
    size_t count;
    *row = sample;
    if (!s->view)
        return MLDF_OK;
    mldf_status status = mldf_view_locate(s->view, sample, 0, &piece, 1, &count, err);
    *row = piece.row;
    return status;
}

static mldf_status print_value(struct selection *s, size_t i, const mldf_value *value, mldf_error *err) {
    bool shown;
    const mldf_schema *schema = schema_of(s);
    mldf_status status =
        token_text_show(&s->text, mldf_schema_field(schema, s->fields[i]), value, s->full, &shown, err);
    if (status >= 0 && !shown)
        render_value(schema, s->fields[i], value, &s->texts[i]);
    return status;
}

static mldf_status print_json(struct selection *s, uint64_t sample, const mldf_value *values, mldf_error *err) {
    const mldf_schema *schema = schema_of(s);
    const char *key = NULL;
    size_t key_bytes = 0;
    uint64_t row;
    mldf_status found = row_of(s, sample, &row, err);
    if (found < 0)
        return found;
    if (mldf_reader_has_keys(s->reader)) {
        mldf_status status = mldf_reader_key(s->reader, row, &s->key_scratch, &key, &key_bytes, err);
        if (status < 0)
            return status;
    }
    json_begin('{');
    json_key("index");
    json_u64(sample);
    if (s->view) {
        json_key("row");
        json_u64(row);
    }
    json_key("key");
    if (key)
        json_string_bytes(key, key_bytes);
    else
        json_null();
    json_key("fields");
    json_begin('{');
    for (size_t i = 0; i < s->field_count && found >= 0; i++) {
        const mldf_field *field = mldf_schema_field(schema, s->fields[i]);
        json_key(field->name);
        found = print_value(s, i, &values[i], err);
    }
    json_end('}');
    json_end('}');
    json_line_end();
    return found;
}

static mldf_status print_text(struct selection *s, uint64_t sample, const mldf_value *values, mldf_error *err) {
    const mldf_schema *schema = schema_of(s);
    bool has_key = mldf_reader_has_keys(s->reader);
    const char *key;
    size_t key_bytes;
    uint64_t row;
    mldf_status found = row_of(s, sample, &row, err);
    if (found < 0)
        return found;
    if (has_key) {
        mldf_status status = mldf_reader_key(s->reader, row, &s->key_scratch, &key, &key_bytes, err);
        if (status < 0)
            return status;
    }
    out_printf("sample %" PRIu64, sample);
    if (s->view)
        out_printf(", row %" PRIu64, row);
    if (has_key) {
        out_text(", key ");
        json_string_bytes(key, key_bytes);
    }
    json_line_end();
    for (size_t i = 0; i < s->field_count && found >= 0; i++) {
        const mldf_field *field = mldf_schema_field(schema, s->fields[i]);
        out_printf("  %s: ", field->name);
        found = print_value(s, i, &values[i], err);
        out_class(s->classes[i], &values[i]);
        json_line_end();
    }
    return found;
}

static void print_raw(const mldf_value *v) {
    bool scalar = v->kind == MLDF_KIND_INT || v->kind == MLDF_KIND_UINT || v->kind == MLDF_KIND_FLOAT;
    if (scalar)
        out_bytes(v->record, v->record_bytes);
    else if (v->kind != MLDF_KIND_NULL && v->bytes)
        out_bytes(v->data, (size_t)v->bytes);
}

/* Whose value it is; the library was given a value alone. */
static void place_error(const struct selection *s, uint64_t sample, size_t i, mldf_error *err) {
    err->sample = sample;
    (void)snprintf(err->field, sizeof err->field, "%s", mldf_schema_field(schema_of(s), s->fields[i])->name);
}

static mldf_status print_one(const struct invocation *v, struct selection *s, uint64_t sample, mldf_value *values,
                             bool raw, mldf_error *err) {
    for (size_t i = 0; i < s->field_count; i++) {
        mldf_status status = get(s, sample, i, &values[i], err);
        if (status >= 0 && !raw) { /* what cannot be shown is found before the line begins */
            status = value_text(schema_of(s), s->fields[i], &values[i], s->full, &s->texts[i], err);
            if (status < 0)
                place_error(s, sample, i, err);
        }
        if (status < 0)
            return status;
    }
    if (raw)
        print_raw(&values[0]);
    else
        return v->json ? print_json(s, sample, values, err) : print_text(s, sample, values, err);
    return MLDF_OK;
}

/* The card's names of classes, which stand beside the labels. */
static int find_classes(const struct invocation *v, struct selection *s) {
    mldf_error err;
    s->classes = calloc(s->field_count + 1, sizeof *s->classes);
    size_t *fields = calloc(s->field_count + 1, sizeof *fields), *places = calloc(s->field_count + 1, sizeof *places);
    mldf_classes **found = calloc(s->field_count + 1, sizeof *found);
    size_t count = 0;
    int code = s->classes && fields && places && found ? EXIT_FINE : no_memory(v);
    for (size_t i = 0; code == EXIT_FINE && i < s->field_count; i++) {
        const mldf_field *shown = mldf_schema_field(schema_of(s), s->fields[i]);
        /* What only the view has, no card names. */
        if (shown->type_id == MLDF_INT &&
            mldf_schema_find(mldf_reader_schema(s->reader), shown->name, &fields[count], NULL) >= 0)
            places[count++] = i;
    }
    mldf_status status =
        code == EXIT_FINE && count ? mldf_classes_of(s->reader, fields, count, found, &err) : MLDF_ABSENT;
    for (size_t i = 0; status == MLDF_OK && i < count; i++)
        s->classes[places[i]] = found[i];
    if (status == MLDF_E_MEMORY)
        code = report_error(v, s->path, &err);
    else if (status < 0) /* samples are shown without names; verify says what is wrong with the card */
        warn(v, s->path, MLDF_ERROR_TEXT(&err));
    free(found);
    free(places);
    free(fields);
    return code;
}

static int print_all(const struct invocation *v, struct selection *s) {
    bool raw = option_given(v, "raw");
    mldf_value *values = calloc(s->field_count + 1, sizeof *values);
    mldf_error err;
    uint64_t count = s->list ? s->list_count : s->end - s->begin;
    if (!values)
        return no_memory(v);
    int code = EXIT_FINE;
    for (uint64_t i = 0; i < count && i < s->limit && code == EXIT_FINE && !out_failed(); i++) {
        uint64_t sample = s->list ? s->list[i] : s->begin + i;
        if (interrupted())
            code = complain(v, EXIT_INTERRUPTED, "interrupted");
        else if (print_one(v, s, sample, values, raw, &err) < 0)
            code = report_error(v, s->path, &err);
    }
    free(values);
    return code;
}

const struct option_spec samples_options[] = {
    {'n', NULL, "COUNT", "at most COUNT samples; head: 10 unless samples are named"},
    {0, "range", "A:B", "samples A to B - 1; negative counts from the end, either may be left out"},
    {0, "samples", "I,J,...", "these samples, in this order"},
    {0, "keys", "K,L,...", "the samples with these keys"},
    {0, "fields", "NAME,...", "these fields alone; no other field's bytes are read"},
    {0, "view", "TEXT",
     "samples are the items of this view: windows(FIELD, LENGTH), expand(FIELD, every=N), packed(FIELD, LENGTH)"},
    {0, "raw", "FIELD", "write the bytes of this field and nothing else, one sample after the other"},
    {0, "full", NULL, "arrays and payloads of any size in full"},
    {0, "tokenizer", "TOKENIZER",
     "show tokens as text: sp:MODEL or exec:COMMAND (a program, started without a shell); tokens of bytes are by themselves"},
    {0, "tokenizer-timeout", "SECONDS", "for one answer of the program (default 300)"},
    {0, NULL, NULL, NULL},
};

int cmd_samples(struct invocation *v, bool head) {
    struct selection s;
    memset(&s, 0, sizeof s);
    s.path = v->files[0];
    s.full = option_given(v, "full");
    if (v->json && option_given(v, "raw"))
        return usage_error(v, "--json and --raw cannot be given together");
    bool in_order = !option_given(v, "samples") && !option_given(v, "keys");
    int code = in_order ? open_reader_in_order(v, s.path, true, &s.reader) : open_reader(v, s.path, true, &s.reader);
    if (code == EXIT_FINE && option_given(v, "view"))
        code = open_view(v, (const mldf_reader *const *)&s.reader, 1, option_value(v, "view"), &s.view);
    if (code == EXIT_FINE)
        code = choose_fields(v, &s);
    if (code == EXIT_FINE)
        code = choose_samples(v, &s, head);
    if (code == EXIT_FINE && !v->json)
        code = find_classes(v, &s);
    bool texts = code == EXIT_FINE && !option_given(v, "raw");
    if (texts)
        code = token_text_begin(v, mldf_reader_schema(s.reader), &s.text);
    if (code == EXIT_FINE)
        code = print_all(v, &s);
    if (texts)
        token_text_end(v, &s.text, code == EXIT_FINE);
    for (size_t i = 0; s.classes && i < s.field_count; i++)
        mldf_classes_free(s.classes[i]);
    free(s.classes);
    for (size_t i = 0; s.scratch && i < s.field_count; i++)
        mldf_buffer_free(&s.scratch[i]);
    for (size_t i = 0; s.texts && i < s.field_count; i++)
        mldf_buffer_free(&s.texts[i]);
    mldf_buffer_free(&s.key_scratch);
    free(s.list);
    free(s.fields);
    free(s.scratch);
    free(s.texts);
    mldf_view_free(s.view);
    mldf_reader_close(s.reader);
    return code;
}
