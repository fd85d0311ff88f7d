/* mldf/tool.h: whole-file operations: what the command line does, as functions. Each takes progress and can be cancelled;
 * each leaves nothing behind when it fails, and none puts a new file in the place of one that it reads (MLDF_E_ARGUMENT), but for repack.
 *
 * Stability: stable.
 */
#ifndef MLDF_TOOL_H
#define MLDF_TOOL_H

#include "reader.h"
#include "tokenizer.h"
#include "writer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- verify ------------------------------------------------------------------------------------------------------- */

/* Called in order of discovery (structure, tables, then samples in order), on the calling thread. */
typedef void (*mldf_problem_fn)(void *user, const mldf_error *problem);

typedef struct mldf_verify_options {
    size_t struct_bytes;
    const mldf_context *context;
    bool deep;   /* decode every value too */
    int threads; /* 0: on the caller; -1: the CPUs this process may use */
    mldf_secret secret;
    mldf_problem_fn problem;
    void *problem_user;
    mldf_progress_fn progress;
    void *progress_user;
} mldf_verify_options;
#define MLDF_VERIFY_OPTIONS_INIT \
    { sizeof(mldf_verify_options), 0, false, -1, {0, 0, 0, 0}, 0, 0, 0, 0 }

typedef struct mldf_verify_result {
    size_t struct_bytes;
    uint64_t num_samples, good_samples, problems;
    bool checksummed;   /* false: the file has no checksums, so only its structure was checked */
    bool authenticated; /* encrypted, and its key was given */
    bool encrypted;
} mldf_verify_result;
#define MLDF_VERIFY_RESULT_INIT \
    { sizeof(mldf_verify_result), 0, 0, 0, false, false, false }
/* MLDF_OK also when problems were found: look at result->problems. < 0 only when the check itself could not be done (no
 * such file, cancelled, no memory, wrong key). A file that does not even open is one problem. */
MLDF_API MLDF_NODISCARD mldf_status mldf_verify(const char *path, const mldf_verify_options *options,
                                                mldf_verify_result *result, mldf_error *err);

/* ---- diff --------------------------------------------------------------------------------------------------------- */

typedef struct mldf_difference {
    uint64_t sample;   /* MLDF_NONE: of the whole file */
    const char *field; /* "" when of the whole sample or file */
    const char *what;  /* "num_samples", "fields", "type", "value", "key", "card", "null" */
    const char *message;
} mldf_difference;
/* Return false to stop after this difference. */
typedef bool (*mldf_difference_fn)(void *user, const mldf_difference *difference);
typedef struct mldf_diff_options {
    size_t struct_bytes;
    mldf_difference_fn difference;
    void *difference_user;
    mldf_progress_fn progress;
    void *progress_user;
} mldf_diff_options;
#define MLDF_DIFF_OPTIONS_INIT \
    { sizeof(mldf_diff_options), 0, 0, 0, 0 }
/* By content: names, types, values, nulls, keys and cards; never layout, compression, encryption or order of fields. */
MLDF_API MLDF_NODISCARD mldf_status mldf_diff(const mldf_reader *a, const mldf_reader *b,
                                              const mldf_diff_options *options, uint64_t *differences, mldf_error *err);

/* ---- plan --------------------------------------------------------------------------------------------------------- */

typedef struct mldf_region {
    const char *name;
    uint64_t begin, end; /* MLDF_NONE: not known */
} mldf_region;
typedef struct mldf_plan_options {
    size_t struct_bytes;
    uint64_t samples;
    uint64_t page_size; /* 0: automatic */
    bool no_checksums;
    const uint64_t *payload_bytes; /* for each field, bytes of every value, or MLDF_NONE; NULL: none known */
    /* NULL or "mldf": as this library writes. "1.0": the layout of the draft, rows before data. "tbl": TBL version 2.
     * "beton": FFCV's. In the last two payload_bytes are those of values as that format stores them. */
    const char *layout;
    /* Out, NULL or MLDF_PLAN_REGIONS of them: how many bytes each region has, known or MLDF_NONE, also where its place is not known. */
    uint64_t *region_bytes;
} mldf_plan_options;
#define MLDF_PLAN_OPTIONS_INIT \
    { sizeof(mldf_plan_options), 0, 0, false, 0, 0, 0 }
enum { MLDF_PLAN_REGIONS = 24 };
/* The byte ranges that a writer will use. Fills at most MLDF_PLAN_REGIONS regions. */
MLDF_API MLDF_NODISCARD mldf_status mldf_plan(const mldf_schema *schema, const mldf_plan_options *options,
                                              mldf_region *regions, size_t *region_count, mldf_error *err);

/* ---- pack and append ---------------------------------------------------------------------------------------------- */

typedef struct mldf_skip {
    const char *source; /* "data.csv:17", "photos/cat/1.jpg", "shard-0.tar: 000017" */
    const char *message;
} mldf_skip;
typedef void (*mldf_skip_fn)(void *user, const mldf_skip *skip);

typedef enum mldf_source_format {
    MLDF_SOURCE_AUTO = 0,
    MLDF_SOURCE_CSV,
    MLDF_SOURCE_TSV,
    MLDF_SOURCE_JSONL,  /* an object for each line, or one array of objects */
    MLDF_SOURCE_TAR,    /* plain, or compressed with gzip, zstd, bzip2 or xz */
    MLDF_SOURCE_FOLDER, /* never needs to be said */
    MLDF_SOURCE_TEXT    /* with text_field: each file is a document, whatever its name */
} mldf_source_format;

/* What the sub-folders of a folder mean. */
typedef enum mldf_layout {
    /* More images or recordings in sub-folders than beside them: classes; otherwise flat. Where there are both, `warn` hears of it, and those beside
     * class folders have no label: the field is nullable then. */
    MLDF_LAYOUT_AUTO = 0,
    MLDF_LAYOUT_FLAT,    /* nothing */
    MLDF_LAYOUT_CLASSES, /* the first part of a path names the class; a file beside the class folders is bad */
    /* Every folder with images is a video, its images are the frames, in the order of the numbers in their names: a field `video` of type
     * video_frames. Folders around them are classes. Not for append. */
    MLDF_LAYOUT_FRAMES
} mldf_layout;

typedef struct mldf_pack_options {
    size_t struct_bytes;
    /* threads, overwrite, page size, card, secret ... its progress hooks are used throughout. NULL, here and below: the defaults */
    const mldf_writer_options *writer;
    mldf_source_format format;          /* AUTO: by the name's ending, else by the first bytes */
    const mldf_schema *schema;          /* NULL: from the first 10,000 rows or samples; not for folders */
    const char *key_column;             /* column that holds the sample keys, or NULL */
    const char *const *compress_fields; /* names; "FIELD" or "FIELD=LEVEL" */
    size_t compress_count;
    bool skip_bad_rows; /* leave out rows that do not fit and report them through skip */
    mldf_skip_fn skip;
    void *skip_user;
    bool resume; /* keep OUT.partial when interrupted, and go on from it */

    mldf_layout layout;              /* of folders */
    const char *image_arguments;     /* JSON object for every image field that pack makes up itself, or NULL */
    const char *const *file_columns; /* columns of tables whose cells name files to read */
    size_t file_column_count;
    const char *file_root; /* where the paths in tables begin; NULL: each table's own folder */
    bool allow_outside;    /* paths in tables may leave that root */
    mldf_skip_fn warn;     /* a file that is packed, though something about it is odd */
    void *warn_user;
    mldf_skip_fn left_out; /* a file of a folder that is not a sample by its name or kind */
    void *left_out_user;
    bool number_keys; /* append: samples of files without keys get "NAME/NUMBER" where the file's have keys */
    char delimiter;   /* of CSV: an ASCII character; 0: tab, comma, semicolon or vertical bar, by the first two lines */
    /* JSON object for every audio field that pack makes up itself, or NULL: the arguments of audio_compressed, with "encode":"pcm" for a field of
     * audio_waveform. */
    const char *audio_arguments;

    /* Recordings. cut: of corpora whose utterances are parts of recordings, a row is an utterance, cut out; otherwise a row is a recording with
     * `segments`. audio_rate, audio_mono: resampled to this rate (0: as they are) and mixed to one channel, stored as PCM. */
    bool cut;
    uint32_t audio_rate;
    bool audio_mono;
    /* Text into tokens: "FIELD=NAME", or "FIELD" for a field named "tokens". FIELD is a column of tables, an extension of archives. Of
     * folders every file is a document, and so is a source whose name ends in .txt or .md. NULL: no tokenizing. Not for append. */
    const char *text_field;
    const mldf_tokenize_options *tokenize; /* its member `field` does not count */
    uint32_t fps_num, fps_den;             /* layout frames: frames a second; 0: 1 */
} mldf_pack_options;
#define MLDF_PACK_OPTIONS_INIT \
    { \
        sizeof(mldf_pack_options), 0, MLDF_SOURCE_AUTO, 0, 0, 0, 0, false, 0, 0, false, MLDF_LAYOUT_AUTO, 0, 0, 0, 0, \
            false, 0, 0, 0, 0, false, 0, 0, false, 0, false, 0, 0, 0, 0 \
    }

typedef struct mldf_pack_result {
    size_t struct_bytes;
    uint64_t written, skipped, bytes;
} mldf_pack_result;
#define MLDF_PACK_RESULT_INIT \
    { sizeof(mldf_pack_result), 0, 0, 0 }
/* Into one new file; "-" as out streams to standard output. The sources are all of one kind:
 *   - CSV, TSV and JSON-lines files and JSON arrays of objects, "-" for standard input: a sample for each row;
 *   - folders of images: fields `image` and, with class folders, `label`; the class names go into the card as "classes"; the
 *     key is the path below the folder. Sorted by the bytes of that path, so the same folder gives the same file anywhere. Folders of
 *     recordings (WAV, FLAC, MP3, Opus, Vorbis) likewise, with the field `audio`; both in one folder are MLDF_E_TYPE, or with skip_bad_rows the fewer are skipped;
 *     Transcripts beside them become fields: LibriSpeech's *.trans.txt (`text`, `speaker`, `chapter`), or a .txt, .lab (`text`) or
 *     .json (`note`) of the same name;
 *   - speech corpora: Kaldi's folders (wav.scp), lhotse's cuts (JSON lines) and Shar folders, Common Voice's tables, NeMo's manifests, tables whose one
 *     file column comes with start or offset and duration or end. Fields `audio` and what the manifest says of utterances. Where utterances are
 *     parts, rows are recordings with `segments` (mldf/view.h) and JSON lists along it; `cut` changes that. Commands in manifests are
 *     MLDF_E_UNSUPPORTED;
 *   - tar archives, "-" too: a sample for each key, a field for each extension. "data-{000..009}.tar" is ten archives.
 * A file of another kind among the sources is MLDF_E_ARGUMENT. Sources without a single sample make an empty file, and `warn` hears of it. */
MLDF_API MLDF_NODISCARD mldf_status mldf_pack(const char *const *sources, size_t source_count, const char *out,
                                              const mldf_pack_options *options, mldf_pack_result *result,
                                              mldf_error *err);
/* The same sources, and files (MLDF, TBL, .beton) with the fields of the file, added to it; here kinds may be mixed. Class folders get the
 * labels that the card's "classes" give them (MLDF_E_SCHEMA names one that is not there); parts of archives go by the fields' names; nullable
 * fields may be missing. Names and keys become keys if the file has keys, and are left out if it has none; a file or table without keys for one
 * that has them is MLDF_E_KEY, unless number_keys makes them: the source's name without its folders, and the sample's number in it. After any
 * failure the file is as it was. */
MLDF_API MLDF_NODISCARD mldf_status mldf_append(const char *path, const char *const *sources, size_t source_count,
                                                const mldf_pack_options *options, mldf_pack_result *result,
                                                mldf_error *err);

/* ---- convert -------------------------------------------------------------------------------------------------------- */

typedef struct mldf_convert_options {
    size_t struct_bytes;
    const mldf_writer_options *writer; /* threads, overwrite and progress for every format; the rest for MLDF files */
    mldf_secret source_secret;
    const char *
        format; /* "mldf", "tbl" (the same as "tbl2"), "tbl1", "tbl2", "beton", "tar", "tar.gz", "tar.zst", "megatron" (X.idx), "nanogpt", "datatrove" (X.ds); NULL: by the name's ending */
    const char *const *fields; /* these alone, in this order; NULL: all */
    size_t field_count;
    const char *const *compress_fields; /* MLDF: names; "FIELD" or "FIELD=LEVEL" */
    size_t compress_count;
    bool drop_fields;         /* leave out, with a warning, fields that the format has no place for */
    bool lz4;                 /* TBL version 2: compress the samples that get smaller */
    uint64_t dataset_version; /* TBL; MLDF_NONE: as the source's card says, else 0 */
    uint64_t created;         /* the same: seconds since 1970 */
    mldf_skip_fn skip;        /* with drop_fields: a sample without an image has no place in a TBL file */
    void *skip_user;
    bool
        skip_bad_samples; /* leave out samples that cannot be read or that the format cannot hold, and report them through skip */
    bool
        keep_secret; /* MLDF: a source that is encrypted makes an encrypted file, with source_secret, unless writer.secret is given.
                        With either, tables that are encrypted (writer.encrypt_all) stay so. */
    const mldf_token_file *token_file; /* of the sources: see reader.h */
    const char *encode;                /* MLDF: as in mldf_repack_options */
    double fast_limit;
} mldf_convert_options;
#define MLDF_CONVERT_OPTIONS_INIT \
    { \
        sizeof(mldf_convert_options), 0, {0, 0, 0, 0}, 0, 0, 0, 0, 0, false, false, MLDF_NONE, MLDF_NONE, 0, 0, false, \
            false, 0, 0, 0 \
    }

/* Samples of files of any format, one file after the other, into one new file of any format. Sources have the same fields; tar
 * archives may lack some. A source may be a pattern ("data-{000..009}.tar") or "-", standard input; out may be "-" for MLDF and tar.
 * What the format cannot hold is refused: nulls in .beton, a second image in TBL ... docs/guides/interop.md has the rules; so are options
 * that it has no place for: a secret, a card, compressed fields in other files than MLDF's. The bytes that
 * are written, the list of skipped samples and the error, which is that of the first bad sample, are the same for any number of threads. */
MLDF_API MLDF_NODISCARD mldf_status mldf_convert(const char *const *sources, size_t source_count, const char *out,
                                                 const mldf_convert_options *options, mldf_pack_result *result,
                                                 mldf_error *err);

/* ---- repack and repair -------------------------------------------------------------------------------------------- */

typedef struct mldf_repack_options {
    size_t struct_bytes;
    const mldf_writer_options *writer; /* of the result. Its secret encrypts; `source_secret` opens the source */
    mldf_secret source_secret;
    bool decompress; /* store every field raw */
    const char *const *compress_fields;
    size_t compress_count;
    /* "fast-jpeg": JPEGs become fast JPEGs where they can, without loss; the result's context warns about what stayed a JPEG. "jpeg-original": fast JPEGs
     * become the JPEGs that they were made of. Images of other kinds are copied. The field's arguments say this encoding alone then. NULL: all are copied. */
    const char *encode;
    double fast_limit; /* of "fast-jpeg": a result of more than so many times the JPEG's bytes stays a JPEG; 0: 1.03 */
} mldf_repack_options;
#define MLDF_REPACK_OPTIONS_INIT \
    { sizeof(mldf_repack_options), 0, {0, 0, 0, 0}, false, 0, 0, 0, 0 }
/* Writes the samples again, in order, without what appends and edits left unused. out NULL: in place, atomically. Private sections, and others
 * that this version does not know, are left out: the context's warning names each. */
MLDF_API MLDF_NODISCARD mldf_status mldf_repack(const char *path, const char *out, const mldf_repack_options *options,
                                                mldf_pack_result *result, mldf_error *err);

typedef struct mldf_repair_options {
    size_t struct_bytes;
    const mldf_context *context;
    bool overwrite;
    int threads;
    mldf_secret secret;
    mldf_problem_fn lost; /* each sample that could not be saved, and why; in place: each problem that is left */
    void *lost_user;
    mldf_progress_fn progress;
    void *progress_user;
} mldf_repair_options;
#define MLDF_REPAIR_OPTIONS_INIT \
    { sizeof(mldf_repair_options), 0, false, -1, {0, 0, 0, 0}, 0, 0, 0, 0 }
/* What the file had, or may have had, and the new one has not. Checksums, statistics, page map and dictionary are made again, and a new
 * file begins a history of its own: they count when their section is damaged. */
typedef struct mldf_repair_lost {
    bool any;
    uint64_t samples;  /* as samples_lost */
    uint64_t keys;     /* of samples that were saved: most of the keys could not be read, so that none went along */
    uint64_t values;   /* of nullable fields, in samples that were saved: null or zero, which nobody knows; null now */
    uint64_t sections; /* private ones, and entries of the directory that cannot be read */
    bool directory;    /* the whole directory, with keys and card, if there were any */
    bool card, dictionary, history;
} mldf_repair_lost;
typedef struct mldf_repair_result {
    size_t struct_bytes;
    uint64_t samples_saved, samples_lost, bytes;
    bool changed;     /* false: nothing was wrong */
    bool unchecked;   /* checksums were lost with the damage: what was saved may itself be damaged */
    char action[256]; /* what was done, and what was lost, in words */
    mldf_repair_lost lost;
    uint64_t problems; /* in place: what mldf_verify finds in the file afterwards */
} mldf_repair_result;
#define MLDF_REPAIR_RESULT_INIT \
    { sizeof(mldf_repair_result), 0, 0, 0, false, false, {0}, {false, 0, 0, 0, 0, false, false, false, false}, 0 }
/* out NULL: in place: puts back a torn header or a lost footer and cuts an unfinished append; never drops a sample. Then the whole file is
 * verified, and what cannot be put right in place is reported. Otherwise every sample that is whole goes into a new file: every value can
 * be read, has its checksum and decodes, and the key is whole; result->lost says what else is not in the new file. */
MLDF_API MLDF_NODISCARD mldf_status mldf_repair(const char *path, const char *out, const mldf_repair_options *options,
                                                mldf_repair_result *result, mldf_error *err);

/* ---- merge -------------------------------------------------------------------------------------------------------- */

typedef struct mldf_merge_options {
    size_t struct_bytes;
    const mldf_writer_options *writer;  /* of the result; its card NULL: the first file's */
    mldf_secret source_secret;          /* opens the sources */
    const char *const *compress_fields; /* names; "FIELD" or "FIELD=LEVEL". Compressed are also the first file's */
    size_t compress_count;
} mldf_merge_options;
#define MLDF_MERGE_OPTIONS_INIT \
    { sizeof(mldf_merge_options), 0, {0, 0, 0, 0}, 0, 0 }
/* The samples of all files, one file after the other, undecoded, into one new file; "-" as out streams to standard output. The
 * files have the same fields, in any order: names, types and arguments must be equal (MLDF_E_SCHEMA names file and field); a field
 * is nullable when it is in any of them. Keys go along; a key that is there twice is MLDF_E_KEY and names both files. */
MLDF_API MLDF_NODISCARD mldf_status mldf_merge(const char *const *paths, size_t path_count, const char *out,
                                               const mldf_merge_options *options, mldf_pack_result *result,
                                               mldf_error *err);

/* ---- select ------------------------------------------------------------------------------------------------------- */

typedef struct mldf_sample_range {
    uint64_t begin, end; /* end is not part of it */
} mldf_sample_range;

typedef struct mldf_select_options {
    size_t struct_bytes;
    const mldf_writer_options *writer;  /* of the result; its card NULL: the source's */
    const char *const *compress_fields; /* names; "FIELD" or "FIELD=LEVEL". Compressed are also the source's */
    size_t compress_count;
    const char *const *fields; /* names, in the result's order; none: all */
    size_t field_count;
    const mldf_sample_range *ranges; /* in this order; NULL: all samples */
    size_t range_count;
    const char
        *where; /* of those, the samples for which this is true; NULL: all. The language is in docs/guides/select.md */
} mldf_select_options;
#define MLDF_SELECT_OPTIONS_INIT \
    { sizeof(mldf_select_options), 0, 0, 0, 0, 0, 0, 0, 0 }
/* Some samples and fields, undecoded, into a new file; "-" as out streams to standard output. A mistake in `where` is
 * MLDF_E_ARGUMENT or MLDF_E_NO_FIELD, found before the first sample is read, with the byte of the text in err->offset and a message
 * that begins "where: column N: ". */
MLDF_API MLDF_NODISCARD mldf_status mldf_select(const mldf_reader *reader, const char *out,
                                                const mldf_select_options *options, mldf_pack_result *result,
                                                mldf_error *err);

/* ---- split -------------------------------------------------------------------------------------------------------- */

typedef struct mldf_part {
    const char *path;
    uint64_t samples, bytes; /* bytes of the file */
} mldf_part;
typedef void (*mldf_part_fn)(void *user, const mldf_part *part);

/* Exactly one of count, bytes and fractions is set. */
typedef struct mldf_split_options {
    size_t struct_bytes;
    const mldf_writer_options *writer; /* of each part; its card NULL: the source's */
    const char *const *compress_fields;
    size_t compress_count;
    uint64_t count; /* samples in each part; the last may have fewer */
    /* of each part's finished file, at most; a sample whose file alone is larger gets one of its own, with a warning. Not with a
     * dictionary: one that the source has is not used */
    uint64_t bytes;
    const double *fractions; /* add up to 1 */
    size_t fraction_count;
    const char *const *names; /* one for each fraction, in place of the number; NULL: numbers from 0 */
    const char
        *by;      /* field whose values each part has in the proportion of the whole file; NULL: none. Not with bytes */
    bool shuffle; /* which sample goes where is random, keyed by seed; inside a part the order stays. Not with bytes */
    uint64_t seed;
    mldf_part_fn part; /* told of each part once all are in place */
    void *part_user;
} mldf_split_options;
#define MLDF_SPLIT_OPTIONS_INIT \
    { sizeof(mldf_split_options), 0, 0, 0, 0, 0, 0, 0, 0, 0, false, 0, 0, 0 }
/* Every sample into exactly one of several new files, undecoded. pattern holds one placeholder for the part's number or name: {},
 * {:03d} or %03d. Either all parts appear or none. */
MLDF_API MLDF_NODISCARD mldf_status mldf_split(const mldf_reader *reader, const char *pattern,
                                               const mldf_split_options *options, mldf_pack_result *result,
                                               mldf_error *err);

/* ---- stats -------------------------------------------------------------------------------------------------------- */

enum { MLDF_SUMMARY_BINS = 20, MLDF_SUMMARY_CLASSES = 1000, MLDF_SUMMARY_KEPT = 65536 };

typedef struct mldf_bin {
    double low, high; /* high belongs to the last bin only */
    uint64_t count;
} mldf_bin;

/* How some numbers are distributed. Percentiles are interpolated linearly. They and the bins are exact up to MLDF_SUMMARY_KEPT numbers;
 * beyond that they come from a random sample of so many, drawn with a fixed seed. Everything else is exact. */
typedef struct mldf_distribution {
    uint64_t count;
    double min, max, mean, std; /* std: of the population */
    double p50, p90, p99;
    bool exact;
    size_t bin_count; /* 0 when there are no numbers */
    mldf_bin bins[MLDF_SUMMARY_BINS];
} mldf_distribution;

typedef struct mldf_class_count {
    mldf_value value; /* NULL, INT, UINT or TEXT */
    uint64_t count;
} mldf_class_count;

/* What is known of one field, or of one member of a struct (INLINE). Borrowed from the summary. NULL distributions: they make no sense for the type. */
typedef struct mldf_field_summary {
    const char *name; /* of a member: "pose.x", or "pose[x]" where a field has that name */
    const char *type; /* of a member: NumPy's, "<f4" */
    uint64_t present, nulls, nonfinite;
    uint64_t elements;   /* numbers in all arrays, finite or not; 0 for other types */
    mldf_value min, max; /* INT, UINT or FLOAT; NULL when there are no numbers */
    const mldf_distribution
        *values; /* of finite numbers, those in arrays too; complex ones have no order and none of this */
    const mldf_distribution *lengths; /* characters of text, elements of arrays */
    const mldf_distribution *bytes;   /* of payloads, decompressed */
    const mldf_distribution *dims;    /* of arrays: one for each dimension */
    uint32_t ndim;
    const mldf_class_count
        *classes; /* INT and short TEXT with at most MLDF_SUMMARY_CLASSES values, most frequent first */
    size_t class_count;
    const struct mldf_field_summary *members; /* of a struct: those that are numbers, in order */
    size_t member_count;
    /* What the records of images and recordings say: height, width, channels; samples, rate ... In the order of the record. */
    const struct mldf_measure *measures;
    size_t measure_count;
} mldf_field_summary;

typedef struct mldf_measure {
    const char *name;
    const mldf_distribution *values;
} mldf_measure;

typedef struct mldf_summary_options {
    size_t struct_bytes;
    mldf_progress_fn progress;
    void *progress_user;
} mldf_summary_options;
#define MLDF_SUMMARY_OPTIONS_INIT \
    { sizeof(mldf_summary_options), 0, 0 }

/* One pass over all samples. Memory does not grow with their number. */
typedef struct mldf_summary mldf_summary;
MLDF_API MLDF_NODISCARD mldf_status mldf_summary_new(const mldf_reader *reader, const mldf_summary_options *options,
                                                     mldf_summary **out, mldf_error *err);
MLDF_API void mldf_summary_free(mldf_summary *summary);
/* NULL when there is no such field. */
MLDF_API const mldf_field_summary *mldf_summary_field(const mldf_summary *summary, size_t field);

/* ---- Names of classes ------------------------------------------------------------------------------------------------ */

/* The names that the card gives the labels of an INT field: its "classes", a list for the field "label" (or for the only INT field), or
 * {"FIELD": [...]}. The texts live as long as the object. */
typedef struct mldf_classes mldf_classes;
/* MLDF_ABSENT, and *out NULL: the card has no names for this field. */
MLDF_API MLDF_NODISCARD mldf_status mldf_classes_new(const mldf_reader *reader, size_t field, mldf_classes **out,
                                                     mldf_error *err);
/* The same for several fields, reading the card once: out[i] is that of fields[i], or NULL. MLDF_ABSENT: none of them has names. */
MLDF_API MLDF_NODISCARD mldf_status mldf_classes_of(const mldf_reader *reader, const size_t *fields, size_t count,
                                                    mldf_classes **out, mldf_error *err);
MLDF_API size_t mldf_classes_count(const mldf_classes *classes);
/* Not terminated; NULL when there is no such class. */
MLDF_API const char *mldf_classes_name(const mldf_classes *classes, uint64_t number, size_t *bytes);
MLDF_API bool mldf_classes_find(const mldf_classes *classes, const char *name, size_t bytes, uint64_t *number);
MLDF_API void mldf_classes_free(mldf_classes *classes);

/* ---- extract ------------------------------------------------------------------------------------------------------ */

/* What becomes of a video that is stored as packets. Videos that are stored frame by frame are always frames. */
typedef enum mldf_extract_video {
    MLDF_EXTRACT_FILE =
        0, /* a file of the same packets: MP4, or MKV; with first or end: of these frames, without sound */
    MLDF_EXTRACT_FRAMES, /* a folder of images: stored files as they are, others as PNG */
    MLDF_EXTRACT_SOUND   /* its sound, as WAV of 32-bit floats; null in the manifest where there is none */
} mldf_extract_video;

typedef struct mldf_extract_options {
    size_t struct_bytes;
    bool overwrite;            /* into a folder that is not empty, replacing files of the same names */
    const char *const *fields; /* none: all */
    size_t field_count;
    mldf_progress_fn progress;
    void *progress_user;
    mldf_extract_video video;
    uint64_t first, end, step; /* of every video the frames first, first + step ... below end; end 0: all; step 0: 1 */
} mldf_extract_options;
#define MLDF_EXTRACT_OPTIONS_INIT \
    { sizeof(mldf_extract_options), false, 0, 0, 0, 0, MLDF_EXTRACT_FILE, 0, 0, 0 }
/* Each sample's payloads as files in a folder, named by key or index: .bin (bytes and unknown types), .txt, .json, .npy; images
 * .jpg, .png, .webp, .bmp, .tif, where the key does not end so already (raw pixels and YUV become PNG); videos as `video` says, frames as
 * KEY/000000.png and so on, which the manifest has as {"folder", "frames", "fps"}; and
 * manifest.jsonl with one line for each sample: key, numbers, structs, and the names of its files; bytes in a struct that are not UTF-8
 * are {"hex":"ff80"}, as pack reads them too, and a key that is not UTF-8 is refused. Two fields with the same ending are
 * told apart by their names: KEY.FIELD.EXT. A '/' in a key makes folders; what would lead out of the folder is escaped (%2E). The
 * folder appears whole or not at all. result->bytes counts the files. */
MLDF_API MLDF_NODISCARD mldf_status mldf_extract(const mldf_reader *reader, const char *folder,
                                                 const mldf_extract_options *options, mldf_pack_result *result,
                                                 mldf_error *err);

/* ---- clean -------------------------------------------------------------------------------------------------------- */

/* A whole file at once, by the way that all files go: a temporary name, then its own. Until it is complete, `path` stays what it was. */
MLDF_API MLDF_NODISCARD mldf_status mldf_write_file(const char *path, const void *data, size_t bytes, bool overwrite,
                                                    mldf_error *err);

/* What writing leaves when its process is killed: temporary files ".NAME.HOST-N.mldf.tmp". The next run that writes NAME removes them;
 * this finds those of every name in a folder. */
typedef enum mldf_leftover_state {
    MLDF_LEFTOVER_DEAD,   /* nobody writes it any more */
    MLDF_LEFTOVER_LIVE,   /* it is being written */
    MLDF_LEFTOVER_OTHER,  /* of another host, whose locks this one may not see */
    MLDF_LEFTOVER_UNKNOWN /* it cannot be opened or locked here */
} mldf_leftover_state;
typedef enum mldf_leftover_action {
    MLDF_LEFTOVER_KEPT,
    MLDF_LEFTOVER_REMOVED,
    MLDF_LEFTOVER_FINISHED /* a set of files, complete but not all in place: the rest got their names */
} mldf_leftover_action;
typedef struct mldf_leftover {
    const char *path;
    uint64_t bytes; /* of a file; 0 for a folder */
    mldf_leftover_state state;
    mldf_leftover_action action; /* in a dry run: what would be done */
} mldf_leftover;
typedef void (*mldf_leftover_fn)(void *user, const mldf_leftover *leftover);

typedef struct mldf_clean_options {
    size_t struct_bytes;
    bool dry_run;
    bool other_hosts; /* believe the locks of this folder for files of other hosts too */
    mldf_leftover_fn found;
    void *found_user;
} mldf_clean_options;
#define MLDF_CLEAN_OPTIONS_INIT \
    { sizeof(mldf_clean_options), false, false, 0, 0 }
/* The temporary files and folders in `folder` (not below it) whose process is gone are removed, and a split that was killed between the
 * names of its parts is finished. Never OUT.partial of a pack that can be resumed. The first that cannot be done is the error; the
 * others are done all the same. */
MLDF_API MLDF_NODISCARD mldf_status mldf_clean(const char *folder, const mldf_clean_options *options, mldf_error *err);

/* ---- add-field ---------------------------------------------------------------------------------------------------- */

typedef struct mldf_add_field_options {
    size_t struct_bytes;
    const mldf_context *context;
    int threads; /* 0: on the caller; -1: the CPUs this process may use */
    mldf_secret secret;
    mldf_source_format format;
    const mldf_schema *schema; /* has the field's type under its name; NULL: from the first 10,000 rows */
    const char *column;        /* of the source; NULL: the one with the field's name, else the only one */
    const char *key_column;    /* rows are matched by this column's keys; NULL: one row for each sample, in order */
    int compress_level;        /* 1 to 22; 0: as the schema says */
    mldf_progress_fn progress;
    void *progress_user;
} mldf_add_field_options;
#define MLDF_ADD_FIELD_OPTIONS_INIT \
    { sizeof(mldf_add_field_options), 0, -1, {0, 0, 0, 0}, MLDF_SOURCE_AUTO, 0, 0, 0, 0, 0, 0 }
/* A new field for the samples of an existing file, in place, from a column of a CSV, TSV or JSON-lines source ("-": standard input): new
 * payloads and all tables again after the file's end, under its lock. Until it has finished the file is what it was. With keys, a sample
 * without a row gets a null, and a row without a sample is an error; the memory for it is 8 bytes for each sample. */
MLDF_API MLDF_NODISCARD mldf_status mldf_add_field(const char *path, const char *name, const char *source,
                                                   const mldf_add_field_options *options, mldf_pack_result *result,
                                                   mldf_error *err);

#ifdef __cplusplus
}
#endif
#endif
