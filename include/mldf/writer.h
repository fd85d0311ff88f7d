/* mldf/writer.h: writing a file, sample by sample, on any number of threads.
 *
 * What can go wrong first:
 *   - Nothing stands under the target's name until mldf_writer_finish returned MLDF_OK; on any failure the old file, if
 *     there was one, is untouched, and the temporary file is gone.
 *   - Encoding runs on worker threads, so an error in a value may surface at a later call or at finish; err->sample and
 *     err->field name the culprit. After an error the writer only takes mldf_writer_abort.
 *   - A writer is one thread's at a time, except mldf_writer_cancel.
 *   - The same samples give the same bytes for any number of threads (encrypted files are exempt).
 *
 *     mldf_writer *w;
 *     if (mldf_writer_open("out.mldf", schema, NULL, &w, &err) < 0) ...
 *     mldf_value v[2] = {{0}};
 *     v[0].kind = MLDF_KIND_INT;   v[0].as.i = 7;
 *     v[1].kind = MLDF_KIND_BYTES; v[1].data = jpeg; v[1].bytes = jpeg_bytes;
 *     if (mldf_writer_append(w, v, 2, NULL, 0, &err) < 0) { mldf_writer_abort(w); ... }
 *     if (mldf_writer_finish(w, NULL, &err) < 0) ...   (frees w in either case)
 *
 * Stability: stable.
 */
#ifndef MLDF_WRITER_H
#define MLDF_WRITER_H

#include "schema.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mldf_writer mldf_writer;

/* Called on the thread that uses the writer, in sample order, for each sample that `skip_bad_samples` left out.
 * `submitted` counts the calls of mldf_writer_append from 0. */
typedef void (*mldf_skipped_fn)(void *user, uint64_t submitted, const mldf_error *why);

typedef struct mldf_writer_options {
    size_t struct_bytes;
    const mldf_context *context;
    int threads;    /* 0: all on the caller's thread; -1: the CPUs this process may use */
    bool overwrite; /* replace an existing target */
    bool no_checksums;
    /* Train one zstd dictionary on the first 64 MiB of the compressed fields. Where these are too few to learn from, the file has none, and
     * a warning says so. In an encrypted file the dictionary is encrypted. */
    bool dictionary;
    uint64_t page_size; /* 0: automatic */
    const char *card;   /* JSON object, or NULL */
    size_t card_bytes;
    mldf_secret secret; /* encrypt with it when set */
    bool
        skip_bad_samples; /* leave out a sample that cannot be encoded, or has the key of an earlier one, instead of failing */
    mldf_skipped_fn skipped;
    void *skipped_user;
    mldf_progress_fn progress; /* during finish, and while a call waits */
    void *progress_user;
    bool resume; /* keep checkpoints in PATH.partial and PATH.partial.tables, and go on from there; see below */
    bool
        check_values; /* decode every image after encoding it, and every value that is copied as it is stored; one that does not decode
                        * is an error of its sample */
    bool reserved[6]; /* zero: bytes that no earlier version looked at */
    /* With a secret: encrypt the tables too, so that names of fields, numbers, keys, card and even the number of samples are hidden. Opening such a
     * file takes a key, and time and memory for all its tables. It is not written to a stream, resumed or appended to. */
    bool encrypt_all;
} mldf_writer_options;
#define MLDF_WRITER_OPTIONS_INIT \
    { \
        sizeof(mldf_writer_options), 0, -1, false, false, false, 0, 0, 0, {0, 0, 0, 0}, false, 0, 0, 0, 0, false, \
            false, {false, false, false, false, false, false}, false \
    }

/* The schema is copied. */
MLDF_API MLDF_NODISCARD mldf_status mldf_writer_open(const char *path, const mldf_schema *schema,
                                                     const mldf_writer_options *options, mldf_writer **out,
                                                     mldf_error *err);
/* To a pipe or another descriptor that cannot seek: bytes go out in order, the front header keeps zero pointers and
 * readers use the footer. fd stays the caller's; nothing is synced. */
MLDF_API MLDF_NODISCARD mldf_status mldf_writer_open_stream(int fd, const mldf_schema *schema,
                                                            const mldf_writer_options *options, mldf_writer **out,
                                                            mldf_error *err);
/* Adds samples to an existing file, under its lock, with its schema, page size, card and key. Of the options only
 * context, threads, secret, the hooks and skip_bad_samples count. Until finish succeeds, the file is what it was. */
MLDF_API MLDF_NODISCARD mldf_status mldf_writer_open_append(const char *path, const mldf_writer_options *options,
                                                            mldf_writer **out, mldf_error *err);
MLDF_API const mldf_schema *mldf_writer_schema(const mldf_writer *writer);

/* One sample: a value for each field, in the schema's order. key: NULL, or its bytes; either every sample has one or none.
 * A key that an earlier sample has is MLDF_E_KEY, soon after its sample came; up to 256 MiB of memory (25 million keys) serve this. Two
 * equal keys after those are found by finish, and then skip_bad_samples does not help. */
MLDF_API MLDF_NODISCARD mldf_status mldf_writer_append(mldf_writer *writer, const mldf_value *values, size_t count,
                                                       const char *key, size_t key_bytes, mldf_error *err);

/* Field by field: set, set, ..., then commit. What was not set is null. */
MLDF_API MLDF_NODISCARD mldf_status mldf_writer_set(mldf_writer *writer, size_t field, const mldf_value *value,
                                                    mldf_error *err);
MLDF_API MLDF_NODISCARD mldf_status mldf_writer_set_key(mldf_writer *writer, const char *key, size_t key_bytes,
                                                        mldf_error *err);
MLDF_API MLDF_NODISCARD mldf_status mldf_writer_commit(mldf_writer *writer, mldf_error *err);

/* ---- Going on after an interruption -------------------------------------------------------------------------------------
 * With options.resume the file grows as PATH.partial. A checkpoint makes everything so far durable together with the caller's own
 * position in its source (any bytes, at most 1 MiB). After a crash, a cancel or an abort, opening with the same path, schema and
 * options continues from the last checkpoint; the result has the bytes of an uninterrupted run. Only finish removes the partial files.
 * Files of these names that are no part of an interrupted run are left alone: MLDF_E_EXISTS. */

/* Waits for all samples so far, then saves. MLDF_AGAIN: nothing could be saved yet (the dictionary is still being learnt). */
MLDF_API MLDF_NODISCARD mldf_status mldf_writer_checkpoint(mldf_writer *writer, const void *position,
                                                           size_t position_bytes, mldf_error *err);
/* The position of the checkpoint that this writer continues from; NULL and 0 when it began from the start. */
MLDF_API const void *mldf_writer_position(const mldf_writer *writer, size_t *position_bytes);

/* Samples accepted so far, those before an interruption included. */
MLDF_API uint64_t mldf_writer_sample_count(const mldf_writer *writer);
/* Any thread: the next call, or the one that is waiting, returns MLDF_E_CANCELLED. */
MLDF_API void mldf_writer_cancel(mldf_writer *writer);

typedef struct mldf_write_result {
    size_t struct_bytes;
    uint64_t samples, skipped, file_bytes;
} mldf_write_result;
#define MLDF_WRITE_RESULT_INIT \
    { sizeof(mldf_write_result), 0, 0, 0 }
/* Completes the file durably and frees the writer, whatever comes out. result may be NULL. */
MLDF_API MLDF_NODISCARD mldf_status mldf_writer_finish(mldf_writer *writer, mldf_write_result *result, mldf_error *err);
/* Gives up: removes what was written and frees the writer. NULL is fine. */
MLDF_API void mldf_writer_abort(mldf_writer *writer);

#ifdef __cplusplus
}
#endif
#endif
