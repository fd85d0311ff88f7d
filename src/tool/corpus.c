/* The list of a corpus: see corpus.h. */
#include "tool/corpus.h"
#include "os/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interop/tar.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/utf8.h"

#define TEXT_MAX (UINT64_C(4) << 30)
/* What a compressed manifest may become: lists of names shrink to a tenth or a thirtieth, not to a thousandth. */
#define TEXT_ALWAYS (UINT64_C(64) << 20)
enum { TEXT_TIMES = 128 };

void mldfi_corpus_free(struct corpus *corpus) {
    for (size_t i = 0; i < corpus->count; i++) {
        struct corpus_item *item = &corpus->items[i];
        free(item->key);
        free(item->recording);
        free(item->path);
        free(item->manifest);
        for (size_t c = 0; c < CORPUS_COLUMNS; c++)
            free(item->values[c]);
    }
    for (size_t c = 0; c < corpus->column_count; c++)
        free(corpus->columns[c]);
    free(corpus->items);
    memset(corpus, 0, sizeof *corpus);
}

mldf_status mldfi_corpus_add(struct corpus *corpus, const char *manifest, uint64_t line, const char *key,
                             size_t key_bytes, const char *path, size_t path_bytes, struct corpus_item **out,
                             mldf_error *err) {
    if ((key_bytes && memchr(key, 0, key_bytes)) || (path_bytes && memchr(path, 0, path_bytes)))
        return mldfi_fail(err, MLDF_E_SYNTAX, "%s, line %llu: a NUL byte in a name", manifest,
                          (unsigned long long)line);
    mldf_status status =
        mldfi_array_reserve(&corpus->items, &corpus->capacity, corpus->count + 1, sizeof *corpus->items, err);
    if (status < 0)
        return status;
    struct corpus_item *item = &corpus->items[corpus->count];
    memset(item, 0, sizeof *item);
    item->key = mldfi_copy_text(key, key_bytes, err);
    item->path = mldfi_copy_text(path, path_bytes, err);
    item->recording = mldfi_copy_text(path, path_bytes, err);
    item->manifest = mldfi_copy_text(manifest, strlen(manifest), err);
    item->bytes = MLDF_NONE;
    item->end = -1;
    item->line = line;
    corpus->count++;
    *out = item;
    return item->key && item->path && item->recording && item->manifest ? MLDF_OK : MLDF_E_MEMORY;
}

mldf_status mldfi_corpus_set(struct corpus *corpus, struct corpus_item *item, const char *column, const char *text,
                             size_t bytes, mldf_error *err) {
    size_t at = 0;
    while (at < corpus->column_count && strcmp(corpus->columns[at], column) != 0)
        at++;
    if (at == CORPUS_COLUMNS)
        return mldfi_fail(err, MLDF_E_LIMIT, "%s, line %llu: more than %d columns", item->manifest,
                          (unsigned long long)item->line, CORPUS_COLUMNS);
    if (mldfi_utf8_valid_prefix(text, bytes) != bytes || (bytes && memchr(text, 0, bytes)))
        return mldfi_fail(err, MLDF_E_SYNTAX, "%s, line %llu: the %s is not UTF-8 without NUL bytes", item->manifest,
                          (unsigned long long)item->line, column);
    if (at == corpus->column_count) {
        if (!(corpus->columns[at] = mldfi_copy_text(column, strlen(column), err)))
            return MLDF_E_MEMORY;
        corpus->column_count++;
    }
    free(item->values[at]);
    item->values[at] = mldfi_copy_text(text, bytes, err);
    return item->values[at] ? MLDF_OK : MLDF_E_MEMORY;
}

enum { PIECE = 1 << 18 };

mldf_status mldfi_corpus_text(const char *path, mldf_buffer *out, mldf_error *err) {
    struct tar_input *input;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return mldfi_fail_open(path, errno, err);
    mldf_status status = mldfi_tar_input_fd(&input, fd, err); /* bytes, whatever they are */
    size_t got = 1;
    struct stat st;
    uint64_t most = TEXT_MAX;
    out->size = 0;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (uint64_t)st.st_size < TEXT_MAX / TEXT_TIMES)
        most = (uint64_t)st.st_size * TEXT_TIMES > TEXT_ALWAYS ? (uint64_t)st.st_size * TEXT_TIMES : TEXT_ALWAYS;
    if (status >= 0)
        mldfi_tar_input_limit(input, most);
    while (status >= 0 && got > 0) {
        uint8_t *where;
        size_t before = out->size;
        status = mldfi_buffer_extend(out, PIECE, &where, err);
        if (status >= 0)
            status = mldfi_tar_input_read(input, where, PIECE, &got, err);
        out->size = before + (status >= 0 ? got : 0);
        if (status >= 0 && out->size > most)
            status = mldfi_fail(err, MLDF_E_LIMIT, "more than %llu bytes of text", (unsigned long long)most);
    }
    mldfi_tar_input_free(input);
    close(fd);
    if (status < 0)
        mldfi_error_path(err, path);
    return status;
}

/* ---- Which kind ------------------------------------------------------------------------------------------------------------- */

static bool has_file(const char *folder, const char *name) {
    char path[4096];
    struct stat st;
    int bytes = snprintf(path, sizeof path, "%s/%s", folder, name);
    return bytes > 0 && (size_t)bytes < sizeof path && stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* cuts.000000.jsonl(.gz) and recording.000000.tar */
static bool is_shar(const char *folder) {
    DIR *dir = opendir(folder);
    bool cuts = false, recordings = false;
    for (struct dirent *found; dir && (found = readdir(dir)) != NULL;) {
        cuts = cuts || (strncmp(found->d_name, "cuts.", 5) == 0 && strstr(found->d_name, ".jsonl"));
        recordings = recordings || (strncmp(found->d_name, "recording.", 10) == 0 && strstr(found->d_name, ".tar"));
    }
    if (dir)
        closedir(dir);
    return cuts && recordings;
}

corpus_kind mldfi_corpus_recognise(const char *path, const mldf_pack_options *options) {
    struct stat st;
    if (strcmp(path, "-") == 0 || options->schema || stat(path, &st) != 0)
        return CORPUS_NONE;
    if (S_ISDIR(st.st_mode)) {
        if (options->layout != MLDF_LAYOUT_AUTO)
            return CORPUS_NONE;
        return has_file(path, "wav.scp") ? CORPUS_KALDI : is_shar(path) ? CORPUS_SHAR : CORPUS_NONE;
    }
    if (!S_ISREG(st.st_mode) || options->format == MLDF_SOURCE_TAR)
        return CORPUS_NONE;
    if (strstr(path, ".jsonl") && mldfi_is_lhotse(path))
        return CORPUS_LHOTSE;
    return mldfi_is_speech_table(path, options) ? CORPUS_TABLE : CORPUS_NONE;
}

mldf_status mldfi_corpus_read(struct corpus *corpus, corpus_kind kind, const char *path,
                              const mldf_pack_options *options, mldf_error *err) {
    size_t before = corpus->count;
    mldf_status status = kind == CORPUS_KALDI    ? mldfi_corpus_kaldi(corpus, path, err)
                         : kind == CORPUS_LHOTSE ? mldfi_corpus_lhotse(corpus, path, err)
                         : kind == CORPUS_SHAR   ? mldfi_corpus_shar(corpus, path, err)
                                                 : mldfi_corpus_table(corpus, path, options, err);
    if (status >= 0 && corpus->count == before)
        status = mldfi_fail_file(err, MLDF_E_TYPE, path, "no recordings are named here");
    for (size_t i = before; i < corpus->count; i++)
        corpus->parts = corpus->parts || corpus->items[i].part;
    return status;
}
