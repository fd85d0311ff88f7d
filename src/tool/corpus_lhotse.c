/* lhotse: a CutSet as JSON lines, gzip undone, and Shar folders.
 *
 *     {"id":…, "start":…, "duration":…, "supervisions":[{"text":…, "speaker":…, "language":…}], "recording":{"sources":[{"source":PATH}], "duration":…}}
 *
 * A cut is an utterance: all of its recording, or a part. The texts of several supervisions are joined by blanks. A Shar folder has the cuts in
 * cuts.NNNNNN.jsonl(.gz) and the audio of each, cut already, in recording.NNNNNN.tar as ID.flac or ID.wav. Sources that are commands or
 * addresses are refused, and so are cuts that are mixed of others. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interop/tar.h"
#include "os/file.h"
#include "tool/corpus.h"
#include "tool/jsonl.h"
#include "util/buffer.h"
#include "util/error.h"

enum { LOOK_BYTES = 65536 };

static const struct json_node *member(const struct json *json, uint32_t at, const char *name, mldfi_json_kind kind) {
    if (at == UINT32_MAX || json->nodes[at].kind != MLDFI_JSON_OBJECT)
        return NULL;
    uint32_t found = mldfi_json_find(json, at, name);
    return found != UINT32_MAX && json->nodes[found].kind == kind ? &json->nodes[found] : NULL;
}

static uint32_t index_of(const struct json *json, const struct json_node *node) {
    return node ? (uint32_t)(node - json->nodes) : UINT32_MAX;
}

static bool number(const struct json *json, uint32_t at, const char *name, double *out) {
    const struct json_node *node = member(json, at, name, MLDFI_JSON_NUMBER);
    return node && mldfi_json_double(json, index_of(json, node), out);
}

/* Does the first line begin as a cut does? */
bool mldfi_is_lhotse(const char *path) {
    struct tar_input *input;
    struct json json = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *text = fd >= 0 ? malloc(LOOK_BYTES) : NULL;
    bool found = false;
    size_t got = 0;
    if (text && mldfi_tar_input_fd(&input, fd, NULL) >= 0) {
        if (mldfi_tar_input_read(input, text, LOOK_BYTES, &got, NULL) < 0)
            got = 0;
        mldfi_tar_input_free(input);
    }
    const char *end = got ? memchr(text, '\n', got) : NULL;
    size_t bytes = end ? (size_t)(end - text) : got < LOOK_BYTES ? got : 0;
    if (bytes && mldfi_json_parse(&json, text, bytes, NULL) >= 0) {
        const struct json_node *type = member(&json, 0, "type", MLDFI_JSON_STRING);
        bool cut = type && type->text_bytes >= 3 && memcmp(type->text + type->text_bytes - 3, "Cut", 3) == 0;
        found = json.nodes[0].kind == MLDFI_JSON_OBJECT && member(&json, 0, "id", MLDFI_JSON_STRING) &&
                (cut || (member(&json, 0, "recording", MLDFI_JSON_OBJECT) &&
                         member(&json, 0, "supervisions", MLDFI_JSON_ARRAY)));
    }
    mldfi_json_free(&json);
    free(text);
    if (fd >= 0)
        close(fd);
    return found;
}

/* ---- One cut ----------------------------------------------------------------------------------------------------------------- */

static mldf_status wrong(const char *path, uint64_t line, const char *what, mldf_error *err) {
    return mldfi_fail_line(err, MLDF_E_SYNTAX, path, line, "%s", what);
}

/* The file of the cut's recording; MLDF_E_UNSUPPORTED where it is something else. */
static mldf_status find_source(const struct json *json, const char *path, uint64_t line, const struct json_node **out,
                               mldf_error *err) {
    const struct json_node *recording = member(json, 0, "recording", MLDFI_JSON_OBJECT);
    const struct json_node *sources = member(json, index_of(json, recording), "sources", MLDFI_JSON_ARRAY);
    if (!sources || sources->count == 0)
        return wrong(path, line, "a cut without the sources of its recording", err);
    if (sources->count > 1)
        return mldfi_fail_line(err, MLDF_E_UNSUPPORTED, path, line, "a recording of %" PRIu32 " files", sources->count);
    uint32_t source = index_of(json, sources) + 1;
    const struct json_node *type = member(json, source, "type", MLDFI_JSON_STRING);
    *out = member(json, source, "source", MLDFI_JSON_STRING);
    if (!type || !mldfi_json_is_text(json, index_of(json, type), "file"))
        return mldfi_fail_line(
            err, MLDF_E_UNSUPPORTED, path, line,
            "the recording's source is of the type %.*s, and only files are read: mldf runs no commands",
            type ? (int)(type->text_bytes < 40 ? type->text_bytes : 40) : 7, type ? type->text : "unknown");
    return *out ? MLDF_OK : wrong(path, line, "the recording's source names no file", err);
}

/* Texts of all supervisions, joined; of speaker and language the first one's. */
static mldf_status set_supervisions(struct corpus *corpus, struct corpus_item *item, const struct json *json,
                                    mldf_buffer *text, mldf_error *err) {
    const struct json_node *all = member(json, 0, "supervisions", MLDFI_JSON_ARRAY);
    static const char *const names[] = {"speaker", "language", "gender"};
    mldf_status status = MLDF_OK;
    bool some = false;
    text->size = 0;
    for (uint32_t at = index_of(json, all) + 1; all && at < all->next && status >= 0; at = json->nodes[at].next) {
        const struct json_node *said = member(json, at, "text", MLDFI_JSON_STRING);
        if (said && some)
            status = mldf_buffer_append(text, " ", 1, err);
        if (said && status >= 0)
            status = mldf_buffer_append(text, said->text, (size_t)said->text_bytes, err);
        some = some || said;
    }
    if (some && status >= 0)
        status = mldfi_corpus_set(corpus, item, "text", text->size ? (const char *)text->data : "", text->size, err);
    for (size_t i = 0; i < 3 && status >= 0 && all && all->count; i++) {
        const struct json_node *found = member(json, index_of(json, all) + 1, names[i], MLDFI_JSON_STRING);
        if (found)
            status = mldfi_corpus_set(corpus, item, names[i], found->text, (size_t)found->text_bytes, err);
    }
    return status;
}

/* shar: the audio comes from an archive and is the cut already. */
static mldf_status add_cut(struct corpus *corpus, const struct json *json, const char *path, uint64_t line, bool shar,
                           mldf_buffer *text, mldf_error *err) {
    const struct json_node *id = member(json, 0, "id", MLDFI_JSON_STRING), *source = id;
    const struct json_node *type = member(json, 0, "type", MLDFI_JSON_STRING);
    const struct json_node *recording = member(json, 0, "recording", MLDFI_JSON_OBJECT);
    double start = 0, duration = 0, all = 0;
    if (!id)
        return wrong(path, line, "a cut without an id", err);
    if (type && !mldfi_json_is_text(json, index_of(json, type), "MonoCut") &&
        !mldfi_json_is_text(json, index_of(json, type), "MultiCut"))
        return mldfi_fail_line(err, MLDF_E_UNSUPPORTED, path, line,
                               "a cut of the type %.*s; MonoCut and MultiCut are read",
                               (int)(type->text_bytes < 40 ? type->text_bytes : 40), type->text);
    if (!number(json, 0, "start", &start) || !number(json, 0, "duration", &duration) || start < 0 || duration <= 0)
        return wrong(path, line, "a cut needs start and duration in seconds", err);
    mldf_status status = shar ? MLDF_OK : find_source(json, path, line, &source, err);
    struct corpus_item *item = NULL;
    if (status >= 0)
        status = mldfi_corpus_add(corpus, path, line, id->text, (size_t)id->text_bytes, source->text,
                                  (size_t)source->text_bytes, &item, err);
    if (status < 0)
        return status;
    bool known = number(json, index_of(json, recording), "duration", &all);
    bool whole = shar || (start == 0 && known && duration > all - 1e-4);
    if (!whole) {
        item->part = true;
        item->begin = start;
        item->end = start + duration;
    }
    return set_supervisions(corpus, item, json, text, err);
}

static mldf_status read_cuts(struct corpus *corpus, const char *path, bool shar, mldf_error *err) {
    mldf_buffer text = MLDF_BUFFER_INIT, joined = MLDF_BUFFER_INIT;
    struct input input = {.fd = -1};
    struct jsonl lines = {0};
    mldf_status status = mldfi_corpus_text(path, &text, err);
    if (status >= 0)
        status = mldfi_input_memory(&input, path, text.data, text.size, err);
    if (status >= 0) {
        mldfi_jsonl_begin(&lines, &input, false);
        while ((status = mldfi_jsonl_next(&lines, err)) == MLDF_OK) {
            status = add_cut(corpus, &lines.tree, path, lines.line, shar, &joined, err);
            if (status < 0)
                break;
        }
        mldfi_jsonl_free(&lines);
        mldfi_input_close(&input);
    }
    mldf_buffer_free(&text);
    mldf_buffer_free(&joined);
    return status == MLDF_END ? MLDF_OK : status;
}

mldf_status mldfi_corpus_lhotse(struct corpus *corpus, const char *path, mldf_error *err) {
    return read_cuts(corpus, path, false, err);
}

/* ---- Shar ---------------------------------------------------------------------------------------------------------------------- */

struct found {
    char *name;
    uint64_t offset, bytes;
};

static int by_name(const void *a, const void *b) {
    return strcmp(((const struct found *)a)->name, ((const struct found *)b)->name);
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The members of an archive that are audio, by their names without the ending. */
static mldf_status list_audio(const char *path, struct found **items, size_t *count, size_t *capacity,
                              mldf_error *err) {
    struct tar_input *input = NULL;
    struct tar_reader *reader = NULL;
    struct tar_member m;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return mldfi_fail_open(path, errno, err);
    mldf_status status = mldfi_tar_input_fd(&input, fd, err);
    if (status >= 0 && strcmp(mldfi_tar_input_kind(input), "tar") != 0)
        status = mldfi_fail(err, MLDF_E_UNSUPPORTED, "the archive is compressed; Shar's are not");
    if (status >= 0)
        status = mldfi_tar_reader_new(&reader, input, NULL, NULL, err);
    while (status >= 0 && (status = mldfi_tar_next(reader, &m, err)) == MLDF_OK) {
        const char *dot = strrchr(m.name, '.');
        if (!dot || strcmp(dot, ".json") == 0 || strcmp(dot, ".nometa") == 0 || strcmp(dot, ".nodata") == 0)
            continue;
        status = mldfi_array_reserve(items, capacity, *count + 1, sizeof **items, err);
        if (status < 0)
            break;
        (*items)[*count] = (struct found){mldfi_copy_text(m.name, (size_t)(dot - m.name), err), m.offset, m.size};
        status = (*items)[*count].name ? MLDF_OK : MLDF_E_MEMORY;
        *count += status == MLDF_OK;
    }
    mldfi_tar_reader_free(reader);
    mldfi_tar_input_free(input);
    close(fd);
    if (status < 0)
        mldfi_error_prefix(err, "%s", path);
    return status == MLDF_END ? MLDF_OK : status;
}

/* The cuts from `first` on get their places in the archive. */
static mldf_status place_cuts(struct corpus *corpus, size_t first, const char *tar, mldf_error *err) {
    struct found *items = NULL;
    size_t count = 0, capacity = 0;
    mldf_status status = list_audio(tar, &items, &count, &capacity, err);
    if (status >= 0 && count)
        qsort(items, count, sizeof *items, by_name);
    for (size_t i = first; i < corpus->count && status >= 0; i++) {
        struct corpus_item *item = &corpus->items[i];
        struct found wanted = {item->key, 0, 0}, *found;
        found = count ? bsearch(&wanted, items, count, sizeof *items, by_name) : NULL;
        if (!found) {
            status = mldfi_fail_line(err, MLDF_E_SYNTAX, item->manifest, item->line,
                                     "%s has no recording of the cut %.80s", tar, item->key);
            break;
        }
        free(item->path);
        item->path = mldfi_copy_text(tar, strlen(tar), err);
        item->offset = found->offset;
        item->bytes = found->bytes;
        status = item->path ? MLDF_OK : MLDF_E_MEMORY;
    }
    for (size_t i = 0; i < count; i++)
        free(items[i].name);
    free(items);
    return status;
}

/* cuts.X.jsonl or cuts.X.jsonl.gz goes with recording.X.tar. */
static mldf_status read_shard(struct corpus *corpus, const char *folder, const char *name, mldf_error *err) {
    const char *end = strstr(name, ".jsonl");
    char cuts[4096], tar[4096];
    size_t first = corpus->count;
    if ((size_t)snprintf(cuts, sizeof cuts, "%s/%s", folder, name) >= sizeof cuts ||
        (size_t)snprintf(tar, sizeof tar, "%s/recording%.*s.tar", folder, (int)(end - name - 4), name + 4) >=
            sizeof tar)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "%.200s...: the path is too long", folder);
    mldf_status status = read_cuts(corpus, cuts, true, err);
    return status < 0 ? status : place_cuts(corpus, first, tar, err);
}

mldf_status mldfi_corpus_shar(struct corpus *corpus, const char *folder, mldf_error *err) {
    DIR *dir = opendir(folder);
    char **names = NULL;
    size_t count = 0, capacity = 0;
    mldf_status status = dir ? MLDF_OK : mldfi_fail_open(folder, errno, err);
    for (struct dirent *found; status >= 0 && (found = readdir(dir)) != NULL;) {
        if (strncmp(found->d_name, "cuts.", 5) != 0 || !strstr(found->d_name, ".jsonl"))
            continue;
        status = mldfi_array_reserve(&names, &capacity, count + 1, sizeof *names, err);
        if (status >= 0 && !(names[count] = mldfi_copy_text(found->d_name, strlen(found->d_name), err)))
            status = MLDF_E_MEMORY;
        count += status >= 0;
    }
    if (dir)
        closedir(dir);
    if (count)
        qsort(names, count, sizeof *names, by_text);
    for (size_t i = 0; i < count && status >= 0; i++)
        status = read_shard(corpus, folder, names[i], err);
    for (size_t i = 0; i < count; i++)
        free(names[i]);
    free(names);
    return status;
}
