/* Kaldi's data folders: files of lines "ID VALUE", sorted or not.
 *
 *     wav.scp   RECORDING PATH       PATH is a file; "command |" is refused: nothing is run; so is "file.ark:123"
 *     segments  UTTERANCE RECORDING BEGIN END       seconds; END -1: to the end. Without it, utterances are recordings
 *     text, utt2spk, utt2lang       UTTERANCE VALUE          spk2gender   SPEAKER VALUE
 *
 * An utterance that `text` and the others do not name has no such value; names there that are not utterances are left out, as Kaldi's own tools do. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tool/corpus.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/number.h"

struct pair {
    const char *id, *value;
    size_t id_bytes, value_bytes;
    uint64_t line;
};
struct pairs {
    char path[4096];
    mldf_buffer text;
    struct pair *items; /* in the order of the file, then sorted by id */
    size_t count, capacity;
};

static void free_pairs(struct pairs *pairs) {
    mldf_buffer_free(&pairs->text);
    free(pairs->items);
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

static int by_id(const void *a, const void *b) {
    const struct pair *x = a, *y = b;
    size_t bytes = x->id_bytes < y->id_bytes ? x->id_bytes : y->id_bytes;
    int order = memcmp(x->id, y->id, bytes);
    return order ? order : x->id_bytes < y->id_bytes ? -1 : x->id_bytes > y->id_bytes;
}

static mldf_status add_line(struct pairs *pairs, uint64_t line, const char *text, size_t bytes, mldf_error *err) {
    size_t id = 0, value, end = bytes;
    while (end && is_blank(text[end - 1]))
        end--;
    while (id < end && !is_blank(text[id]))
        id++;
    value = id;
    while (value < end && is_blank(text[value]))
        value++;
    if (end == 0)
        return MLDF_OK;
    if (id == 0)
        return mldfi_fail_line(err, MLDF_E_SYNTAX, pairs->path, line, "begins with a blank, and a name is expected");
    if (memchr(text, 0, end))
        return mldfi_fail_line(err, MLDF_E_SYNTAX, pairs->path, line, "has a NUL byte");
    mldf_status status =
        mldfi_array_reserve(&pairs->items, &pairs->capacity, pairs->count + 1, sizeof *pairs->items, err);
    if (status >= 0)
        pairs->items[pairs->count++] = (struct pair){text, text + value, id, end - value, line};
    return status;
}

/* needed false: a file that is not there has no lines. */
static mldf_status read_pairs(struct pairs *pairs, const char *folder, const char *name, bool needed, mldf_error *err) {
    struct stat st;
    memset(pairs, 0, sizeof *pairs);
    if ((size_t)snprintf(pairs->path, sizeof pairs->path, "%s/%s", folder, name) >= sizeof pairs->path)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "%.200s...: the path is too long", folder);
    if (!needed && stat(pairs->path, &st) != 0)
        return MLDF_OK;
    mldf_status status = mldfi_corpus_text(pairs->path, &pairs->text, err);
    uint64_t line = 1;
    for (size_t at = 0; status >= 0 && at < pairs->text.size; line++) {
        const char *text = (const char *)pairs->text.data + at, *end = memchr(text, '\n', pairs->text.size - at);
        size_t bytes = end ? (size_t)(end - text) : pairs->text.size - at;
        status = add_line(pairs, line, text, bytes, err);
        at += bytes + 1;
    }
    return status;
}

static mldf_status sort_pairs(struct pairs *pairs, mldf_error *err) {
    if (pairs->count)
        qsort(pairs->items, pairs->count, sizeof *pairs->items, by_id);
    for (size_t i = 1; i < pairs->count; i++)
        if (by_id(&pairs->items[i - 1], &pairs->items[i]) == 0)
            return mldfi_fail_line(err, MLDF_E_KEY, pairs->path, pairs->items[i].line,
                                   "%.*s is there already, in line %" PRIu64,
                                   (int)(pairs->items[i].id_bytes < 80 ? pairs->items[i].id_bytes : 80),
                                   pairs->items[i].id, pairs->items[i - 1].line);
    return MLDF_OK;
}

static const struct pair *find(const struct pairs *pairs, const char *id, size_t bytes) {
    struct pair wanted = {id, NULL, bytes, 0, 0};
    return pairs->count ? bsearch(&wanted, pairs->items, pairs->count, sizeof *pairs->items, by_id) : NULL;
}

/* A file, and not a command or a place in an archive of Kaldi's. */
static mldf_status check_path(const struct pairs *scp, const struct pair *wav, mldf_error *err) {
    int shown = (int)(wav->value_bytes < 120 ? wav->value_bytes : 120);
    const char *colon = memrchr(wav->value, ':', wav->value_bytes);
    if (wav->value_bytes == 0)
        return mldfi_fail_line(err, MLDF_E_SYNTAX, scp->path, wav->line, "no path follows the name");
    if (wav->value[wav->value_bytes - 1] == '|' || wav->value[0] == '|')
        return mldfi_fail_line(err, MLDF_E_UNSUPPORTED, scp->path, wav->line,
                               "'%.*s' is a command, and mldf runs none: write its output to files and name those",
                               shown, wav->value);
    bool digits = colon && colon + 1 < wav->value + wav->value_bytes;
    for (const char *p = colon; digits && ++p < wav->value + wav->value_bytes;)
        digits = *p >= '0' && *p <= '9';
    if (digits)
        return mldfi_fail_line(err, MLDF_E_UNSUPPORTED, scp->path, wav->line,
                               "'%.*s' is a place in an archive of Kaldi's, which mldf does not read", shown,
                               wav->value);
    return MLDF_OK;
}

static mldf_status add(struct corpus *corpus, const struct pairs *scp, const struct pair *wav,
                       const struct pair *utterance, struct corpus_item **out, mldf_error *err) {
    mldf_status status = check_path(scp, wav, err);
    if (status >= 0)
        status = mldfi_corpus_add(corpus, scp->path, utterance->line, utterance->id, utterance->id_bytes, wav->value,
                                  wav->value_bytes, out, err);
    if (status < 0)
        return status;
    free((*out)->recording);
    (*out)->recording = mldfi_copy_text(wav->id, wav->id_bytes, err);
    return (*out)->recording ? MLDF_OK : MLDF_E_MEMORY;
}

/* Three words: RECORDING BEGIN END (a fourth, the channel, must be 0, 1, A or absent). */
static mldf_status add_segment(struct corpus *corpus, const struct pairs *segments, const struct pair *line,
                               const struct pairs *scp, mldf_error *err) {
    const char *word[4];
    size_t bytes[4], count = 0;
    for (size_t at = 0; at < line->value_bytes;) {
        size_t from = at;
        while (at < line->value_bytes && !is_blank(line->value[at]))
            at++;
        if (count < 4) {
            word[count] = line->value + from;
            bytes[count] = at - from;
        }
        count++;
        while (at < line->value_bytes && is_blank(line->value[at]))
            at++;
    }
    double begin = 0, end = 0;
    if (count != 3 || !mldfi_parse_double(word[1], bytes[1], &begin) || !mldfi_parse_double(word[2], bytes[2], &end) ||
        begin < 0 || (end <= begin && end != -1))
        return mldfi_fail_line(err, MLDF_E_SYNTAX, segments->path, line->line,
                               "UTTERANCE RECORDING BEGIN END is expected, with 0 <= BEGIN < END in seconds");
    const struct pair *wav = find(scp, word[0], bytes[0]);
    if (!wav)
        return mldfi_fail_line(err, MLDF_E_SYNTAX, segments->path, line->line, "%s has no recording %.*s", scp->path,
                               (int)(bytes[0] < 80 ? bytes[0] : 80), word[0]);
    struct corpus_item *item;
    mldf_status status = add(corpus, scp, wav, line, &item, err);
    if (status >= 0) {
        item->part = true;
        item->begin = begin;
        item->end = end < 0 ? -1 : end;
    }
    return status;
}

static mldf_status set_values(struct corpus *corpus, size_t first, const struct pairs *from, const char *column,
                              const char *by, mldf_error *err) {
    size_t key = SIZE_MAX;
    mldf_status status = MLDF_OK;
    for (size_t c = 0; by && c < corpus->column_count; c++)
        key = strcmp(corpus->columns[c], by) == 0 ? c : key;
    for (size_t i = first; i < corpus->count && status >= 0 && from->count; i++) {
        const char *id = !by ? corpus->items[i].key : key == SIZE_MAX ? NULL : corpus->items[i].values[key];
        const struct pair *found = id ? find(from, id, strlen(id)) : NULL;
        if (found)
            status = mldfi_corpus_set(corpus, &corpus->items[i], column, found->value, found->value_bytes, err);
    }
    return status;
}

mldf_status mldfi_corpus_kaldi(struct corpus *corpus, const char *folder, mldf_error *err) {
    static const struct {
        const char *file, *column, *by;
    } tables[] = {{"text", "text", NULL},
                  {"utt2spk", "speaker", NULL},
                  {"utt2lang", "language", NULL},
                  {"spk2gender", "gender", "speaker"}};
    struct pairs scp, segments = {.count = 0}, *all = mldfi_alloc_zero(1, sizeof *all, err);
    size_t first = corpus->count;
    mldf_status status = all ? read_pairs(&scp, folder, "wav.scp", true, err) : MLDF_E_MEMORY;
    if (!all)
        return status;
    if (status >= 0)
        status = read_pairs(&segments, folder, "segments", false, err);
    if (status >= 0 && segments.count == 0)
        for (size_t i = 0; i < scp.count && status >= 0; i++) {
            struct corpus_item *item;
            status = add(corpus, &scp, &scp.items[i], &scp.items[i], &item, err);
        }
    if (status >= 0)
        status = sort_pairs(&scp, err);
    for (size_t i = 0; i < segments.count && status >= 0; i++)
        status = add_segment(corpus, &segments, &segments.items[i], &scp, err);
    if (status >= 0)
        status = sort_pairs(&segments, err);
    for (size_t t = 0; t < sizeof tables / sizeof tables[0] && status >= 0; t++) {
        status = read_pairs(all, folder, tables[t].file, false, err);
        if (status >= 0)
            status = sort_pairs(all, err);
        if (status >= 0)
            status = set_values(corpus, first, all, tables[t].column, tables[t].by, err);
        free_pairs(all);
    }
    free_pairs(&scp);
    free_pairs(&segments);
    free(all);
    return status;
}
