/* Tables of utterances: CSV, TSV or JSON lines whose rows name a recording, and maybe a part of it.
 *
 *     Common Voice   client_id  path  sentence  age  gender ...      paths are in clips/ beside the table; client_id is the speaker
 *     NeMo           {"audio_filepath":…, "text":…, "offset":…, "duration":…}
 *     any            the column of --files, and start or offset with duration or end: seconds
 *
 * All other columns are text. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tool/corpus.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/number.h"

struct roles {
    size_t path, begin, duration, end, text, key;
    bool common_voice, nemo;
};

static size_t column(const struct columns *columns, const char *name) {
    return mldfi_columns_find(columns, name, strlen(name));
}

/* False: not a table of utterances. */
static bool find_roles(const struct columns *columns, const mldf_pack_options *options, struct roles *out) {
    *out = (struct roles){.path = SIZE_MAX};
    out->begin = column(columns, "start");
    out->begin = out->begin == SIZE_MAX ? column(columns, "offset") : out->begin;
    out->duration = column(columns, "duration");
    out->end = column(columns, "end");
    out->text = column(columns, "sentence");
    out->key = options->key_column ? column(columns, options->key_column) : SIZE_MAX;
    out->nemo = column(columns, "audio_filepath") != SIZE_MAX && options->file_column_count == 0;
    out->common_voice = column(columns, "client_id") != SIZE_MAX && out->text != SIZE_MAX &&
                        column(columns, "path") != SIZE_MAX && options->file_column_count == 0;
    if (out->nemo || out->common_voice) {
        out->path = column(columns, out->nemo ? "audio_filepath" : "path");
        return true;
    }
    bool parts = out->begin != SIZE_MAX && (out->duration != SIZE_MAX || out->end != SIZE_MAX);
    if (options->file_column_count == 1 && parts)
        out->path = column(columns, options->file_columns[0]);
    return out->path != SIZE_MAX;
}

bool mldfi_is_speech_table(const char *path, const mldf_pack_options *options) {
    struct rows rows = {0};
    struct columns columns = {0};
    struct rows_options how = {.format = options->format, .may_add = true, .delimiter = options->delimiter};
    struct roles roles;
    bool found = false;
    if (mldfi_rows_open(&rows, path, &how, &columns, NULL) >= 0) {
        bool header = columns.count > 0; /* CSV and TSV have one; of JSON lines the first object is asked */
        if (header || mldfi_rows_next(&rows, &columns, true, NULL) == MLDF_OK)
            found = find_roles(&columns, options, &roles);
    }
    mldfi_rows_close(&rows);
    mldfi_columns_free(&columns);
    return found;
}

/* ---- Rows ------------------------------------------------------------------------------------------------------------------------ */

/* A cell as text; numbers and other JSON as they are written. false: null or not there. */
static bool cell_text(const struct cell *cell, const char **text, size_t *bytes, mldf_buffer *scratch,
                      mldf_status *status, mldf_error *err) {
    if (cell->kind == CELL_ABSENT)
        return false;
    *text = cell->text;
    *bytes = cell->bytes;
    if (cell->kind == CELL_TEXT)
        return true;
    const struct json_node *node = &cell->json->nodes[cell->node];
    if (node->kind == MLDFI_JSON_NULL)
        return false;
    *text = node->text;
    *bytes = (size_t)node->text_bytes;
    if (node->kind == MLDFI_JSON_STRING || node->kind == MLDFI_JSON_NUMBER)
        return true;
    scratch->size = 0;
    *status = mldfi_json_canonical(cell->json, cell->node, scratch, err);
    *text = (const char *)scratch->data;
    *bytes = scratch->size;
    return *status >= 0;
}

static mldf_status seconds(const struct rows *rows, size_t at, const struct columns *columns, double *out, bool *given,
                           mldf_error *err) {
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    const char *text;
    size_t bytes;
    mldf_status status = MLDF_OK;
    *given = at != SIZE_MAX && cell_text(&rows->cells[at], &text, &bytes, &scratch, &status, err) && bytes > 0;
    if (status >= 0 && *given && (!mldfi_parse_double(text, bytes, out) || *out < 0))
        status =
            mldfi_fail_line(err, MLDF_E_SYNTAX, rows->input.name, rows->line, "%s is not a number of seconds: %.*s",
                            columns->names[at], (int)(bytes < 40 ? bytes : 40), text);
    mldf_buffer_free(&scratch);
    return status;
}

/* A part of the recording, where the row says so. NeMo's duration without an offset is that of the whole file. */
static mldf_status set_part(const struct rows *rows, const struct roles *roles, const struct columns *columns,
                            struct corpus_item *item, mldf_error *err) {
    double begin = 0, duration = 0, end = 0;
    bool has_begin = false, has_duration = false, has_end = false;
    mldf_status status = seconds(rows, roles->begin, columns, &begin, &has_begin, err);
    if (status >= 0)
        status = seconds(rows, roles->duration, columns, &duration, &has_duration, err);
    if (status >= 0)
        status = seconds(rows, roles->end, columns, &end, &has_end, err);
    if (status < 0 || !has_begin || roles->common_voice)
        return status;
    item->part = true;
    item->begin = begin;
    item->end = has_duration ? begin + duration : has_end ? end : -1;
    if ((has_duration || has_end) && item->end <= begin)
        return mldfi_fail_line(err, MLDF_E_SYNTAX, rows->input.name, rows->line, "the part from %g to %g s is empty",
                               begin, item->end);
    return MLDF_OK;
}

static const char *column_name(const struct roles *roles, const struct columns *columns, size_t at) {
    const char *name = columns->names[at];
    if (roles->common_voice && strcmp(name, "client_id") == 0)
        return "speaker";
    return roles->common_voice && at == roles->text ? "text" : name;
}

static mldf_status add_row(struct corpus *corpus, const char *table, const struct rows *rows, const struct roles *roles,
                           const struct columns *columns, mldf_buffer *scratch, mldf_error *err) {
    char key[64], path[4096];
    const char *text, *id = key;
    size_t bytes, id_bytes;
    struct corpus_item *item;
    mldf_status status = MLDF_OK;
    if (!cell_text(&rows->cells[roles->path], &text, &bytes, scratch, &status, err) || bytes == 0)
        return status < 0 ? status
                          : mldfi_fail_line(err, MLDF_E_SYNTAX, rows->input.name, rows->line, "no recording is named");
    if (bytes >= sizeof path - 8)
        return mldfi_fail_line(err, MLDF_E_SYNTAX, rows->input.name, rows->line, "a path of %zu bytes", bytes);
    snprintf(path, sizeof path, "%s%.*s", roles->common_voice && !memchr(text, '/', bytes) ? "clips/" : "", (int)bytes,
             text);
    id_bytes = (size_t)snprintf(key, sizeof key, "%" PRIu64, rows->line);
    if (roles->common_voice) {
        id = path;
        id_bytes = strlen(path);
    } else if (roles->key != SIZE_MAX && !cell_text(&rows->cells[roles->key], &id, &id_bytes, scratch, &status, err)) {
        return mldfi_fail_line(err, MLDF_E_KEY, rows->input.name, rows->line, "no key");
    }
    status = mldfi_corpus_add(corpus, table, rows->line, id, id_bytes, path, strlen(path), &item, err);
    if (status >= 0)
        status = set_part(rows, roles, columns, item, err);
    for (size_t c = 0; c < columns->count && status >= 0; c++) {
        bool role = c == roles->path || c == roles->key ||
                    (!roles->common_voice && (c == roles->begin || c == roles->duration || c == roles->end));
        if (!role && cell_text(&rows->cells[c], &text, &bytes, scratch, &status, err))
            status = mldfi_corpus_set(corpus, item, column_name(roles, columns, c), text, bytes, err);
    }
    return status;
}

mldf_status mldfi_corpus_table(struct corpus *corpus, const char *path, const mldf_pack_options *options,
                               mldf_error *err) {
    struct rows rows = {0};
    struct columns columns = {0};
    struct rows_options how = {.format = options->format, .may_add = true, .delimiter = options->delimiter};
    struct roles roles;
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    mldf_status status = mldfi_rows_open(&rows, path, &how, &columns, err);
    while (status >= 0 && (status = mldfi_rows_next(&rows, &columns, true, err)) == MLDF_OK) {
        if (!find_roles(&columns, options, &roles))
            status = mldfi_fail_file(err, MLDF_E_SYNTAX, path, "no column names recordings");
        else if (options->key_column && roles.key == SIZE_MAX)
            status = mldfi_fail_file(err, MLDF_E_KEY, path, "the key column '%.80s' is missing", options->key_column);
        else
            status = add_row(corpus, path, &rows, &roles, &columns, &scratch, err);
    }
    mldfi_rows_close(&rows);
    mldfi_columns_free(&columns);
    mldf_buffer_free(&scratch);
    return status == MLDF_END ? MLDF_OK : status;
}
