/* mldf/loader.h: from files to batches: order, read, decode, augment, collate, on any number of threads.
 *
 * What can go wrong first:
 *   - A loader is one thread's at a time, except mldf_loader_cancel, and batches, which may be released anywhere.
 *   - After fork() a loader must not be used in the child: every call gives MLDF_E_STATE there, and releasing and freeing do nothing (what
 *     they would give back goes with the child). Batches can still be read there. Make a new loader in the child.
 *   - The readers, the order, the view and the context must outlive the loader. Batches outlive it; so must a memory hook's functions.
 *   - Batches that are kept cost memory: the loader makes new ones instead of waiting.
 *
 *     mldf_loader_options o = MLDF_LOADER_OPTIONS_INIT;
 *     mldf_loader *loader;
 *     mldf_batch *batch;
 *     o.pipeline = "image: random_resized_crop(224) | hflip | normalize(imagenet) | chw(f32)";
 *     o.order = MLDF_ORDER_RANDOM;
 *     o.batch_size = 256;
 *     if (mldf_loader_new(&reader, 1, &o, &loader, &err) < 0) ...
 *     for (uint64_t epoch = 0; epoch < 90; epoch++) {
 *         mldf_loader_begin(loader, epoch, 0, &err);
 *         while (mldf_loader_next(loader, -1, &batch, &err) == MLDF_OK) {
 *             mldf_array images;
 *             mldf_batch_array(batch, 0, &images);          // images.data: 256 x 3 x 224 x 224 float
 *             ...
 *             mldf_batch_release(batch);
 *         }
 *     }
 *     mldf_loader_free(loader);
 *
 * Batches depend on (files, pipeline, order, seed, epoch, batch size, rank) alone: never on threads, back ends, instruction sets or time.
 *
 * Stability: stable, but mldf_derive_field.
 */
#ifndef MLDF_LOADER_H
#define MLDF_LOADER_H

#include "order.h"
#include "pipeline.h"
#include "reader.h"
#include "view.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mldf_loader mldf_loader;
typedef struct mldf_batch mldf_batch;

/* What to do with a sample that cannot be decoded. Errors of the disk, of memory and of keys are never "bad samples": they are raised. A
 * pair operation (mixup) takes a sample whose partner was skipped as its own partner. */
typedef enum mldf_bad {
    MLDF_BAD_RAISE = 0,
    MLDF_BAD_SKIP = 1,      /* its batch becomes shorter, down to 0 samples; later samples keep their batches */
    MLDF_BAD_SUBSTITUTE = 2 /* another sample, chosen by (seed, epoch, position); at most 8 tries, then raised */
} mldf_bad;

typedef enum mldf_codegen {
    MLDF_CODEGEN_AUTO = 0, /* compiled in the background, used when it is there */
    MLDF_CODEGEN_OFF = 1,
    MLDF_CODEGEN_WAIT = 2 /* the first batch waits for it */
} mldf_codegen;

/* Memory for batches: 64-byte aligned. */
typedef struct mldf_memory_hook {
    void *user;
    void *(*alloc)(void *user, size_t bytes); /* NULL: no memory */
    void (*free)(void *user, void *data, size_t bytes);
} mldf_memory_hook;

/* Batches of one length, of the items of a view pow2 (mldf/view.h): all of the same number of tokens. */
typedef enum mldf_curriculum {
    MLDF_CURRICULUM_NONE,
    MLDF_CURRICULUM_NATURAL, /* batches of all lengths in one random order */
    MLDF_CURRICULUM_GROW_P2 /* `cycles` times from short to long; a part of the batches of each length in every cycle */
} mldf_curriculum;

typedef struct mldf_loader_options {
    size_t struct_bytes;
    const mldf_context *context;
    const char *pipeline; /* mldf/pipeline.h; NULL: every field of a fixed shape as it is */

    /* order: either one of your own over the samples of all readers (a mixture's part is a reader), or kind, seed, block, window */
    const mldf_order *own_order;
    mldf_order_kind order;
    uint64_t seed, block, window;

    uint64_t batch_size;        /* of this rank; batches that the memory of this machine cannot hold: MLDF_E_LIMIT */
    uint64_t global_batch_size; /* when not 0, instead: of all ranks */
    uint32_t rank, world_size;
    mldf_last last;

    int threads; /* -1: the CPUs this process may use; 0: all on the caller's thread in next */
    uint32_t
        in_flight; /* batches worked on or waiting at a time; 0: 3, and more when batches are small for the threads */
    mldf_bad bad;

    /* batches of samples of like length: windows of `bucket_window` positions (0: no buckets), sorted by the length of output
     * `bucket_output` (NULL: the first that is padded or ragged), cut into batches of batch_size samples, or, with budget > 0, of at most
     * `budget` elements of this rank after padding (but at least one sample). The turn of a window's batches is shuffled; what fills no
     * batch comes last, as `last` says */
    uint64_t bucket_window;
    const char *bucket_output;
    uint64_t budget;

    bool prefetch; /* tell the system what comes next (on by default); nothing is said of files that are in memory */
    bool forget_behind; /* and what is not needed again: for files larger than memory */
    bool
        direct; /* READ back end: values of 16 KiB and more past the page cache (O_DIRECT); a warning where that cannot be */

    bool want_index,
        want_valid; /* outputs `index` (u64: the sample's number, the item's with a view) and `valid` (bool), after all others */
    const mldf_memory_hook *memory;

    bool exact;      /* JPEG is never decoded at a reduced scale */
    bool reference;  /* the plain definition of every step, nothing rewritten: slow, for comparison */
    const char *isa; /* NULL: the best there is; "portable", "sse4", "avx2", "avx512", "neon" */
    mldf_codegen codegen;

    /* Parameters of the decoding steps where the pipeline's text does not give them (its canonical form always does), as steps joined by |:
     * "decode(channels=3, orient=true) | decode_audio(mono=true)". NULL: the steps' own defaults. */
    const char *decode;

    /* What a sample is (mldf/view.h), made of the same readers: batches are of its items, the order's numbers are items, and so are batch
     * sizes and counts. In a mixture of readers a part's numbers are items of that reader. NULL: rows. It must outlive the loader */
    const mldf_view *view;
    bool
        want_row; /* output `row` (u64) after `index`: the row of all readers that the item begins in; without a view the same as index */

    /* For padded and ragged outputs made from recordings: output `x_samples` (i64), how many samples the wave has that the value was made from,
     * after resampling, speed and windows; of features `x_length` counts frames. */
    bool want_samples;
    /* Instead of budget: seconds of this rank's batch after padding. The bucket's output must have a time axis of a known rate. */
    double budget_seconds;
    /* With a view pow2 and a budget, which are tokens of this rank's batch, and at least the longest item's: no buckets are looked for, and no lengths measured.
     * order: sequential or not says whether items of a length are shuffled. */
    mldf_curriculum curriculum;
    uint32_t cycles; /* of MLDF_CURRICULUM_GROW_P2; 0: 8 */
} mldf_loader_options;
#define MLDF_LOADER_OPTIONS_INIT \
    { \
        sizeof(mldf_loader_options), 0, 0, 0, MLDF_ORDER_SEQUENTIAL, 0, 0, 0, 64, 0, 0, 1, MLDF_LAST_KEEP, -1, 0, \
            MLDF_BAD_RAISE, 0, 0, 0, true, false, false, false, false, 0, false, false, 0, MLDF_CODEGEN_AUTO, 0, 0, \
            false, false, 0, MLDF_CURRICULUM_NONE, 0 \
    }

/* Compiles the pipeline for the files: every mistake in it is reported here, none later. Readers of several files make one dataset, one
 * after the other; the pipeline's fields must agree in all of them. Tar archives together have the fields of all: what one lacks is null there. */
MLDF_API MLDF_NODISCARD mldf_status mldf_loader_new(const mldf_reader *const *readers, size_t reader_count,
                                                    const mldf_loader_options *options, mldf_loader **out,
                                                    mldf_error *err);
/* Ends threads, waits for them, gives everything back but the batches that the user keeps. */
MLDF_API void mldf_loader_free(mldf_loader *loader);

/* ---- Outputs ------------------------------------------------------------------------------------------------------------- */

typedef struct mldf_output {
    const char *name;
    mldf_dtype dtype;
    uint32_t ndim;               /* without the batch's own dimension */
    int64_t dims[MLDF_MAX_DIMS]; /* -1 where batches differ */
} mldf_output;
MLDF_API size_t mldf_loader_output_count(const mldf_loader *loader);
/* MLDF_END past the last. A padded output `x` is followed by `x_length` (i64) and, when asked for, `x_mask` (bool); a ragged one, whose
 * samples lie end to end in one array, by `x_offset` (i64, one more than samples); after these come, when asked for, `x_samples` (i64) and, when
 * fill was asked for it, `x_valid` (bool); clips of a video bring `x_valid` (bool, each frame), `x.pts`, `x.start` and `x.end` (f64, seconds), those
 * of sound `x_valid` (i64, each clip: samples that there are). Text (the step `strings`) is ragged: sample i is the UTF-8 bytes [x_offset[i], x_offset[i + 1]). Last come `index`, `row` and `valid`. */
MLDF_API MLDF_NODISCARD mldf_status mldf_loader_output(const mldf_loader *loader, size_t index, mldf_output *out);
/* The fields that are in no batch although nobody dropped them: no statement names them, and their samples differ in size. NULL past the last. */
MLDF_API const char *mldf_loader_left_out(const mldf_loader *loader, size_t index);
/* What the compiler did, pass by pass, appended as text. */
MLDF_API MLDF_NODISCARD mldf_status mldf_loader_explain(const mldf_loader *loader, mldf_buffer *out, mldf_error *err);

/* ---- Batches --------------------------------------------------------------------------------------------------------------- */

/* Begins an epoch at a consumed position (0: its beginning; else one that mldf_batch_place gave with the same options, or use restore);
 * what was in flight is dropped. Without this call the first next begins epoch 0; after the end of an epoch it begins the following one. */
MLDF_API MLDF_NODISCARD mldf_status mldf_loader_begin(mldf_loader *loader, uint64_t epoch, uint64_t consumed,
                                                      mldf_error *err);
/* At most so many batches has an epoch for this rank, from its beginning; exactly so many without buckets by budget. */
MLDF_API uint64_t mldf_loader_batch_bound(const mldf_loader *loader);
/* The batches of an epoch, exactly: with buckets by budget the lengths of all samples are looked at, on this thread; epochs differ. timeout_ms >= 0:
 * MLDF_AGAIN when it has passed; a call with the same epoch goes on. A cancel ends it, as it ends next. What was counted last stays known. */
MLDF_API MLDF_NODISCARD mldf_status mldf_loader_batch_count(mldf_loader *loader, uint64_t epoch, int timeout_ms,
                                                            uint64_t *out, mldf_error *err);
/* The next batch, to be released by the caller. MLDF_END once at the end of the epoch. timeout_ms >= 0: MLDF_AGAIN when it has passed;
 * nothing is lost. After an error (a bad sample, raised) the next call goes on with the next batch. */
MLDF_API MLDF_NODISCARD mldf_status mldf_loader_next(mldf_loader *loader, int timeout_ms, mldf_batch **out,
                                                     mldf_error *err);
/* From any thread (but not from a signal handler): next returns MLDF_E_CANCELLED, now and from now on, until begin. */
MLDF_API void mldf_loader_cancel(mldf_loader *loader);

typedef struct mldf_array {
    const char *name;
    void *data; /* 64-byte aligned, writable */
    mldf_dtype dtype;
    uint32_t ndim;
    uint64_t dims[MLDF_MAX_DIMS + 1]; /* [0] is the number of samples; of a ragged output the sum of their lengths */
    size_t bytes;
} mldf_array;
MLDF_API size_t mldf_batch_sample_count(const mldf_batch *batch);
MLDF_API size_t mldf_batch_array_count(const mldf_batch *batch);
/* MLDF_END past the last. Borrowed from the batch. */
MLDF_API MLDF_NODISCARD mldf_status mldf_batch_array(const mldf_batch *batch, size_t index, mldf_array *out);
/* Epoch, ordinal of the batch in it, and the consumed position after it. */
MLDF_API void mldf_batch_place(const mldf_batch *batch, uint64_t *epoch, uint64_t *ordinal, uint64_t *consumed);
/* 128 bits (XXH3) over the bytes of all arrays, in order: equal batches have equal hashes. */
MLDF_API void mldf_batch_hash(const mldf_batch *batch, uint8_t digest[16]);
/* Any thread. The memory of a batch released for the last time serves a later one. */
MLDF_API void mldf_batch_retain(mldf_batch *batch);
MLDF_API void mldf_batch_release(mldf_batch *batch);

/* ---- State ------------------------------------------------------------------------------------------------------------------- */

/* The consumed position (of batches that next handed out) as JSON, below 1 kB, equal on all ranks. Appended. The first call, or the first
 * restore, reads a few samples, by which the state knows the dataset again. */
MLDF_API MLDF_NODISCARD mldf_status mldf_loader_state(const mldf_loader *loader, mldf_buffer *out, mldf_error *err);
/* Goes on where the state was taken: also with other threads, ranks, batch sizes. A window of buckets that was begun is finished as it was
 * planned, split among the ranks of now; another batch size or budget counts from the next window on. MLDF_E_STATE with the reason when the
 * order or the seed is another, or the samples are: by a few of their keys, or else of their values (docs/decisions/12-states-know-their-samples.md);
 * a different version of a codec library is a warning. */
MLDF_API MLDF_NODISCARD mldf_status mldf_loader_restore(mldf_loader *loader, const char *json, size_t json_bytes,
                                                        mldf_error *err);

/* ---- Where documents come, and what is left out ----------------------------------------------------------------------------------- */

/* A sample's place: its batch's number in the epoch (mldf_batch_place), and its place among the samples of the rank that gets it, before bad samples are
 * left out. */
typedef struct mldf_loader_place {
    uint64_t epoch, batch, slot;
    uint32_t rank;
} mldf_loader_place;
/* Where a document (a row; of a packed token_stream, a document; without a view a sample), or a piece of it, comes in an epoch, ascending: `room` of the places
 * and their number. What came before a state was loaded is numbered as if with the batches of now. MLDF_E_STATE where samples are drawn by weight,
 * MLDF_E_UNSUPPORTED with buckets or a budget. */
MLDF_API MLDF_NODISCARD mldf_status mldf_loader_where(mldf_loader *loader, uint64_t epoch, uint64_t document,
                                                      mldf_loader_place *places, size_t room, size_t *count,
                                                      mldf_error *err);
/* Batches [begin, end) of an epoch do not come (after a loss spike: load the state from before it, and skip). The others keep their numbers and, if their sizes
 * stay, their samples. It is kept in the state, by positions, so that it holds for other batch sizes and ranks; restore takes the state's ranges. At most 16
 * ranges; MLDF_E_ARGUMENT for batches that came already. Of a running epoch, what was made ahead is made again. */
MLDF_API MLDF_NODISCARD mldf_status mldf_loader_skip(mldf_loader *loader, uint64_t epoch, uint64_t begin, uint64_t end,
                                                     mldf_error *err);
/* The same by positions of the epoch, as a state has them: gives another loader of the same order what this one skips. */
MLDF_API MLDF_NODISCARD mldf_status mldf_loader_skip_positions(mldf_loader *loader, uint64_t epoch, uint64_t begin,
                                                               uint64_t end, mldf_error *err);

/* ---- Fields that are computed ------------------------------------------------------------------------------------------------- */

struct mldf_add_field_options; /* mldf/tool.h */
struct mldf_pack_result;
/* Experimental. Adds the field `name` to a file, in place: the field `from` of every sample through `steps` ("decode_audio(rate=16000, mono=true) | mel(whisper) |
 * cast(f16)"). A spectrogram becomes an AUDIO_SPECTROGRAM whose arguments keep the steps, so that it can be computed again; other arrays an
 * NDARRAY. Of the options column, key_column, schema and format are not used. The file is what it was until this has finished. */
MLDF_API MLDF_NODISCARD mldf_status mldf_derive_field(const char *path, const char *name, const char *from,
                                                      const char *steps, const struct mldf_add_field_options *options,
                                                      struct mldf_pack_result *result, mldf_error *err);

/* ---- What happened ------------------------------------------------------------------------------------------------------------ */

typedef struct mldf_step_time {
    const char *name; /* "read", "image: decode", "image: resize + hflip + normalize" ... */
    double seconds;   /* of all threads together; reckoned from one run of samples in eight */
} mldf_step_time;
typedef struct mldf_loader_stats {
    size_t struct_bytes;
    uint64_t samples, batches, bad_samples;
    uint64_t bytes_read;               /* of values as they come from the file: images not decoded, zstd undone */
    double seconds;                    /* since the first next, without the time between epochs */
    double wait_consumer, wait_loader; /* threads waiting for the user to take batches; the user waiting in next */
    int threads;
    size_t step_count;
    const mldf_step_time *steps; /* valid until the next call */
    /* "decode-bound: add threads or store smaller images"; "no verdict: ..." below half a second of work */
    char verdict[160];
} mldf_loader_stats;
#define MLDF_LOADER_STATS_INIT \
    { \
        sizeof(mldf_loader_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, { \
            0 \
        } \
    }
MLDF_API MLDF_NODISCARD mldf_status mldf_loader_get_stats(mldf_loader *loader, mldf_loader_stats *out, mldf_error *err);

/* The samples that were bad, oldest first; at most the last 1,000 are kept. With MLDF_BAD_RAISE and several threads, at
 * least one of the bad samples of a failed batch is listed; which ones depends on the threads. */
typedef struct mldf_bad_sample {
    size_t struct_bytes;
    uint32_t reader;
    uint64_t sample, epoch, position;
    uint64_t substitute; /* which sample (item, with a view) replaces it, all readers counted through; or MLDF_NONE */
    mldf_error error;    /* file, sample, field, byte */
    uint64_t
        item; /* its number, all readers counted through; with a view the item's, and `sample` is the row that it begins in */
} mldf_bad_sample;
#define MLDF_BAD_SAMPLE_INIT \
    { sizeof(mldf_bad_sample), 0, 0, 0, 0, 0, {MLDF_OK, 0, 0, 0, {0}, {0}, {0}, {0}, {0}, {0}}, 0 }
MLDF_API size_t mldf_loader_bad_count(const mldf_loader *loader);
MLDF_API MLDF_NODISCARD mldf_status mldf_loader_bad_sample(const mldf_loader *loader, size_t index,
                                                           mldf_bad_sample *out, mldf_error *err);

#ifdef __cplusplus
}
#endif
#endif
