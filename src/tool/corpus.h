/* Speech corpora that a manifest describes: which recordings there are, which parts of them are utterances, and what is said in them.
 *
 *     corpus.c         the list; which kind a source is          corpus_kaldi.c   wav.scp, text, segments, utt2spk
 *     corpus_lhotse.c  cuts.jsonl, and Shar folders              corpus_table.c   Common Voice, NeMo, tables with start and duration
 *     corpus_pack.c    the list into a writer                    corpus_audio.c   parts of recordings, other rates, one channel
 *
 * Utterances that are whole recordings become a row each. Where some are parts, a row is a recording with the field `segments`, and what is said of
 * utterances goes along it as JSON lists; with options.cut a row is an utterance again, cut out of its recording. */
#ifndef MLDF_TOOL_CORPUS_H
#define MLDF_TOOL_CORPUS_H

#include "field/media.h"
#include "mldf/audio.h"
#include "tool/pack.h"

typedef enum corpus_kind { CORPUS_NONE, CORPUS_KALDI, CORPUS_LHOTSE, CORPUS_SHAR, CORPUS_TABLE } corpus_kind;

enum { CORPUS_COLUMNS = 32 };
struct corpus_item {
    char *key;              /* of the utterance */
    char *recording;        /* what the manifest calls it, for grouping: a path, or an id */
    char *path;             /* of the file, as the manifest names it */
    char *manifest;         /* from whose folder paths are taken; owned */
    uint64_t offset, bytes; /* where in the file the recording is; bytes MLDF_NONE: all of it */
    bool part;
    double begin, end; /* seconds of a part; end < 0: where the recording ends */
    char *values[CORPUS_COLUMNS];
    uint64_t line;
};
struct corpus {
    struct corpus_item *items;
    size_t count, capacity;
    char *columns[CORPUS_COLUMNS];
    size_t column_count;
    bool parts; /* some item is a part */
};

/* Which kind of corpus a source is; NONE: it is not one. Regular files and folders are looked at, nothing else. */
corpus_kind mldfi_corpus_recognise(const char *path, const mldf_pack_options *options);
/* Adds what the source says. Errors name file and line. */
mldf_status mldfi_corpus_read(struct corpus *corpus, corpus_kind kind, const char *path,
                              const mldf_pack_options *options, mldf_error *err);
void mldfi_corpus_free(struct corpus *corpus);

/* For the readers: one more item, and its values. */
mldf_status mldfi_corpus_add(struct corpus *corpus, const char *manifest, uint64_t line, const char *key,
                             size_t key_bytes, const char *path, size_t path_bytes, struct corpus_item **out,
                             mldf_error *err);
mldf_status mldfi_corpus_set(struct corpus *corpus, struct corpus_item *item, const char *column, const char *text,
                             size_t bytes, mldf_error *err);
/* A text file, gzip and zstd undone: at most 128 times the file, or 64 MiB where that is more, and 4 GiB. */
mldf_status mldfi_corpus_text(const char *path, mldf_buffer *out, mldf_error *err);
mldf_status mldfi_corpus_kaldi(struct corpus *corpus, const char *folder, mldf_error *err);
mldf_status mldfi_corpus_lhotse(struct corpus *corpus, const char *path, mldf_error *err);
mldf_status mldfi_corpus_shar(struct corpus *corpus, const char *folder, mldf_error *err);
mldf_status mldfi_corpus_table(struct corpus *corpus, const char *path, const mldf_pack_options *options,
                               mldf_error *err);
/* Of JSON lines, from their first object; of tables, from their header. */
bool mldfi_is_lhotse(const char *path);
bool mldfi_is_speech_table(const char *path, const mldf_pack_options *options);

mldf_status mldfi_pack_corpus(struct feed *feed, corpus_kind kind, const char *out, mldf_pack_result *result,
                              mldf_error *err);

/* ---- corpus_audio.c ---------------------------------------------------------------------------------------------------------- */

/* A recording as PCM, from the bytes of an audio file of any kind that fields take. Begins as {0}; kept from one to the next. */
struct corpus_audio {
    mldf_schema *schema; /* one field of AUDIO_WAVEFORM */
    struct media_kit kit;
    mldf_buffer pcm, floats, made;
    mldf_audio_info info;
    const uint8_t *data;
    uint64_t stored; /* bytes of the file that it came from */
    struct sinc *sinc;
    uint32_t sinc_from, sinc_to;
};
mldf_status mldfi_corpus_audio_open(struct corpus_audio *audio, const void *file, size_t bytes, mldf_error *err);
/* Samples [from, to) as a WAV file; rate 0: its own; mono: the mean of the channels. What is resampled or mixed is stored as numbers of the
 * same bits, rounded and clipped; A-law and mu-law as 16 bits. */
mldf_status mldfi_corpus_audio_wav(struct corpus_audio *audio, uint64_t from, uint64_t to, uint32_t rate, bool mono,
                                   mldf_buffer *out, mldf_error *err);
void mldfi_corpus_audio_free(struct corpus_audio *audio);

#endif
