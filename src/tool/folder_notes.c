/* Transcripts beside recordings: see folder_notes.h. Lists are read whole when the folder is listed; files beside a recording when it is packed. */
#include "tool/folder_notes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tool/read_file.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/utf8.h"

#define LIST_MAX (UINT64_C(1) << 30)
#define SIDE_MAX (UINT64_C(1) << 30)
static const char list_ending[] = ".trans.txt";

static bool ends_with(const char *name, const char *ending) {
    size_t n = strlen(name), e = strlen(ending);
    return n > e && strcmp(name + n - e, ending) == 0;
}

/* Bytes of a path without its ending: up to the last dot behind the last slash. */
static size_t stem_bytes(const char *path) {
    const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
    return dot && (!slash || dot > slash + 1) ? (size_t)(dot - path) : strlen(path);
}

mldf_status mldfi_notes_see(struct folder_notes *notes, const char *path, mldf_error *err) {
    if (!ends_with(path, list_ending))
        return MLDF_OK;
    mldf_status status =
        mldfi_array_reserve(&notes->lists, &notes->list_capacity, notes->list_count + 1, sizeof *notes->lists, err);
    char *copy = status >= 0 ? mldfi_copy_text(path, strlen(path), err) : NULL;
    if (!copy)
        return status < 0 ? status : MLDF_E_MEMORY;
    notes->lists[notes->list_count++] = copy;
    return MLDF_OK;
}

/* ---- Lists ---------------------------------------------------------------------------------------------------------------------- */

static int by_path(const void *a, const void *b) {
    return strcmp(((const struct note *)a)->path, ((const struct note *)b)->path);
}

/* "ID TEXT": the recording is ID in the list's own folder. */
static mldf_status add_line(struct folder_notes *notes, const char *list, uint64_t line, const char *text, size_t bytes,
                            mldf_error *err) {
    const char *blank = memchr(text, ' ', bytes), *slash = strrchr(list, '/');
    size_t id = blank ? (size_t)(blank - text) : bytes, folder = slash ? (size_t)(slash - list) + 1 : 0;
    if (memchr(text, '/', id) || memchr(text, 0, bytes))
        return mldfi_fail(err, MLDF_E_SYNTAX,
                          "%s, line %" PRIu64 ": the name of a recording is expected, then its text", list, line);
    size_t valid = mldfi_utf8_valid_prefix(text, bytes);
    if (valid < bytes)
        return mldfi_fail(err, MLDF_E_SYNTAX, "%s, line %" PRIu64 ", byte %zu is not UTF-8", list, line, valid + 1);
    mldf_status status =
        mldfi_array_reserve(&notes->notes, &notes->note_capacity, notes->note_count + 1, sizeof *notes->notes, err);
    char *path = status >= 0 ? mldfi_alloc(folder + id + 1, err) : NULL;
    if (!path)
        return status < 0 ? status : MLDF_E_MEMORY;
    memcpy(path, list, folder);
    memcpy(path + folder, text, id);
    path[folder + id] = 0;
    size_t from = blank ? id + 1 : bytes;
    notes->notes[notes->note_count++] = (struct note){path, text + from, bytes - from};
    return MLDF_OK;
}

static mldf_status read_list(struct folder_notes *notes, const char *path, mldf_buffer *file, mldf_error *err) {
    mldf_status status = mldfi_read_file(path, LIST_MAX, file, err);
    if (status < 0)
        mldfi_error_prefix(err, "%s", path);
    uint64_t line = 1;
    for (size_t at = 0; status >= 0 && at < file->size; line++) {
        const char *text = (const char *)file->data + at, *end = memchr(text, '\n', file->size - at);
        size_t all = end ? (size_t)(end - text) : file->size - at, bytes = all;
        bytes -= bytes && text[bytes - 1] == '\r';
        at += all + 1;
        if (bytes)
            status = add_line(notes, path, line, text, bytes, err);
    }
    return status;
}

static mldf_status read_lists(struct folder_notes *notes, mldf_error *err) {
    notes->files = mldfi_alloc_zero(notes->list_count, sizeof *notes->files, err);
    mldf_status status = notes->files ? MLDF_OK : MLDF_E_MEMORY;
    for (size_t i = 0; i < notes->list_count && status >= 0; i++)
        status = read_list(notes, notes->lists[i], &notes->files[i], err);
    if (status < 0)
        return status;
    qsort(notes->notes, notes->note_count, sizeof *notes->notes, by_path);
    for (size_t i = 1; i < notes->note_count; i++)
        if (by_path(&notes->notes[i - 1], &notes->notes[i]) == 0)
            return mldfi_fail(err, MLDF_E_KEY, "%s has two transcripts", notes->notes[i].path);
    return MLDF_OK;
}

static const struct note *find_note(const struct folder_notes *notes, const char *path) {
    size_t bytes = stem_bytes(path), low = 0, high = notes->note_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const char *found = notes->notes[middle].path;
        int order = strncmp(path, found, bytes);
        order = order == 0 && found[bytes] ? -1 : order;
        if (order == 0)
            return &notes->notes[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

/* ---- Files beside ------------------------------------------------------------------------------------------------------------------ */

/* The path with another ending, in notes->path; false: there is no such file. */
static bool beside(struct folder_notes *notes, const char *path, const char *ending, mldf_status *status,
                   mldf_error *err) {
    struct stat st;
    notes->path.size = 0;
    *status = mldf_buffer_append(&notes->path, path, stem_bytes(path), err);
    if (*status >= 0)
        *status = mldf_buffer_append(&notes->path, ending, strlen(ending) + 1, err);
    return *status >= 0 && stat((const char *)notes->path.data, &st) == 0 && S_ISREG(st.st_mode);
}

static bool has_text(struct folder_notes *notes, const char *path, mldf_status *status, mldf_error *err) {
    return beside(notes, path, ".txt", status, err) || (*status >= 0 && beside(notes, path, ".lab", status, err));
}

static mldf_status look_beside(struct folder_notes *notes, const struct folder_list *list, mldf_error *err) {
    mldf_status status = MLDF_OK;
    for (size_t i = 0; i < list->count && status >= 0; i++) {
        bool text = has_text(notes, list->entries[i].path, &status, err);
        bool json = status >= 0 && beside(notes, list->entries[i].path, ".json", &status, err);
        notes->has_text = notes->has_text || text;
        notes->has_json = notes->has_json || json;
        notes->text_missing = notes->text_missing || !text;
        notes->json_missing = notes->json_missing || !json;
    }
    return status;
}

/* ---- All of it --------------------------------------------------------------------------------------------------------------------- */

mldf_status mldfi_notes_begin(struct folder_notes *notes, const struct folder_list *list, mldf_error *err) {
    notes->text = notes->speaker = notes->chapter = notes->json = SIZE_MAX;
    if (notes->list_count == 0)
        return look_beside(notes, list, err);
    mldf_status status = read_lists(notes, err);
    notes->from_lists = notes->has_text = true;
    for (size_t i = 0; i < list->count && status >= 0; i++)
        notes->text_missing = notes->text_missing || !find_note(notes, list->entries[i].path);
    return status;
}

static mldf_status add_field(mldf_schema *schema, const char *name, uint16_t type, bool nullable, size_t *out,
                             mldf_error *err) {
    *out = mldf_schema_field_count(schema);
    return mldf_schema_add(schema, name, type, NULL, nullable ? MLDF_FIELD_NULLABLE : 0, err);
}

mldf_status mldfi_notes_fields(struct folder_notes *notes, mldf_schema *schema, mldf_error *err) {
    mldf_status status = MLDF_OK;
    if (notes->has_text)
        status = add_field(schema, "text", MLDF_TEXT, notes->text_missing, &notes->text, err);
    if (status >= 0 && notes->from_lists)
        status = add_field(schema, "speaker", MLDF_TEXT, false, &notes->speaker, err);
    if (status >= 0 && notes->from_lists)
        status = add_field(schema, "chapter", MLDF_TEXT, false, &notes->chapter, err);
    if (status >= 0 && notes->has_json)
        status = add_field(schema, "note", MLDF_JSON, notes->json_missing, &notes->json, err);
    return status;
}

static mldf_value text_value(const char *text, size_t bytes) {
    return (mldf_value){.kind = MLDF_KIND_TEXT, .data = text, .bytes = bytes};
}

/* Part `index` of SPEAKER-CHAPTER-NUMBER; nothing where the name has fewer. */
static mldf_value name_part(const char *path, unsigned index) {
    const char *slash = strrchr(path, '/'), *at = slash ? slash + 1 : path, *end = path + stem_bytes(path);
    for (; index > 0; index--) {
        const char *dash = memchr(at, '-', (size_t)(end - at));
        at = dash ? dash + 1 : end;
    }
    const char *dash = memchr(at, '-', (size_t)(end - at));
    return text_value(at, dash ? (size_t)(dash - at) : 0);
}

static mldf_status read_beside(struct folder_notes *notes, mldf_buffer *file, mldf_error *err) {
    mldf_status status = mldfi_read_file((const char *)notes->path.data, SIDE_MAX, file, err);
    if (status < 0)
        mldfi_error_prefix(err, "%s", (const char *)notes->path.data);
    return status;
}

/* One text: without the white space at its end. */
static size_t trimmed(const mldf_buffer *file) {
    size_t bytes = file->size;
    while (bytes && strchr(" \t\r\n", file->data[bytes - 1]) && file->data[bytes - 1])
        bytes--;
    return bytes;
}

mldf_status mldfi_notes_values(struct folder_notes *notes, const char *path, mldf_value *values, mldf_error *err) {
    mldf_status status = MLDF_OK;
    if (notes->from_lists) {
        const struct note *found = find_note(notes, path);
        if (found)
            values[notes->text] = text_value(found->text, found->bytes);
        values[notes->speaker] = name_part(path, 0);
        values[notes->chapter] = name_part(path, 1);
        return MLDF_OK;
    }
    if (notes->has_text && has_text(notes, path, &status, err)) {
        status = read_beside(notes, &notes->text_file, err);
        if (status >= 0)
            values[notes->text] = text_value((const char *)notes->text_file.data, trimmed(&notes->text_file));
    }
    if (status >= 0 && notes->has_json && beside(notes, path, ".json", &status, err)) {
        status = read_beside(notes, &notes->json_file, err);
        if (status >= 0)
            values[notes->json] = text_value((const char *)notes->json_file.data, trimmed(&notes->json_file));
    }
    return status;
}

void mldfi_notes_free(struct folder_notes *notes) {
    for (size_t i = 0; i < notes->list_count; i++) {
        free(notes->lists[i]);
        if (notes->files)
            mldf_buffer_free(&notes->files[i]);
    }
    for (size_t i = 0; i < notes->note_count; i++)
        free(notes->notes[i].path);
    free(notes->lists);
    free(notes->files);
    free(notes->notes);
    mldf_buffer_free(&notes->text_file);
    mldf_buffer_free(&notes->json_file);
    mldf_buffer_free(&notes->path);
    memset(notes, 0, sizeof *notes);
}
