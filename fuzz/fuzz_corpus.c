/* The input is the manifest of a speech corpus. Its first byte says of which kind; parts are separated by the byte 1: the files of a Kaldi folder
 * (wav.scp, segments, text, utt2spk), lhotse's cuts, or a table. What was read must be consistent. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool/corpus.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[160];

static void make_folder(void) {
    const char *base = getenv("TMPDIR");
    if (snprintf(folder, sizeof folder, "%s/mldf-fuzz-corpus-XXXXXX", base && *base ? base : "/tmp") >=
            (int)sizeof folder ||
        !mkdtemp(folder))
        abort();
}

static void remove_folder(void) {
    static const char *const names[] = {"wav.scp", "segments", "text", "utt2spk", "cuts.jsonl", "table.tsv", NULL};
    char path[256];
    for (size_t i = 0; names[i]; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        (void)unlink(path);
    }
    (void)rmdir(folder);
}

static void put(const char *name, const uint8_t *data, size_t bytes) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(data, 1, bytes, file) != bytes || fclose(file) != 0)
        abort();
}

static void check(const struct corpus *corpus) {
    for (size_t i = 0; i < corpus->count; i++) {
        const struct corpus_item *item = &corpus->items[i];
        if (!item->key || !item->path || !item->recording || !item->manifest)
            abort();
        if (item->part && (item->begin < 0 || (item->end >= 0 && item->end <= item->begin)))
            abort();
        for (size_t c = corpus->column_count; c < CORPUS_COLUMNS; c++)
            if (item->values[c])
                abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const kaldi[] = {"wav.scp", "segments", "text", "utt2spk"};
    static bool made;
    mldf_pack_options options = MLDF_PACK_OPTIONS_INIT;
    struct corpus corpus = {0};
    char path[256];
    mldf_error err;
    if (size == 0)
        return 0;
    if (!made) {
        make_folder();
        (void)atexit(remove_folder);
        made = true;
    }
    corpus_kind kind = data[0] % 3 == 0 ? CORPUS_KALDI : data[0] % 3 == 1 ? CORPUS_LHOTSE : CORPUS_TABLE;
    const uint8_t *rest = data + 1;
    size_t left = size - 1;
    snprintf(path, sizeof path, "%s%s", folder,
             kind == CORPUS_KALDI    ? ""
             : kind == CORPUS_LHOTSE ? "/cuts.jsonl"
                                     : "/table.tsv");
    for (size_t i = 0; kind == CORPUS_KALDI && i < 4; i++) {
        const uint8_t *end = left ? memchr(rest, 1, left) : NULL;
        size_t bytes = end ? (size_t)(end - rest) : left;
        put(kaldi[i], rest, bytes);
        rest += bytes + (end != NULL);
        left -= bytes + (end != NULL);
    }
    if (kind != CORPUS_KALDI)
        put(kind == CORPUS_LHOTSE ? "cuts.jsonl" : "table.tsv", rest, left);
    if (kind != CORPUS_KALDI && mldfi_corpus_recognise(path, &options) != kind)
        return 0;
    if (mldfi_corpus_read(&corpus, kind, path, &options, &err) >= 0)
        check(&corpus);
    mldfi_corpus_free(&corpus);
    return 0;
}
