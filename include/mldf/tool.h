/* mldf/tool.h: whole-file operations: what the command line does, as functions. Each takes progress and can be cancelled;
 * each leaves nothing behind when it fails. */
#ifndef MLDF_TOOL_H
#define MLDF_TOOL_H

#include "reader.h"
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
    uint64_t num_samples, good_samples, problems;
    bool checksummed;   /* false: the file has no checksums, so only its structure was checked */
    bool authenticated; /* encrypted, and its key was given */
    bool encrypted;
} mldf_verify_result;
/* MLDF_OK also when problems were found: look at result->problems. < 0 only when the check itself could not be done (no
 * such file, cancelled, no memory, wrong key). A file that does not even open is one problem. */
MLDF_API mldf_status mldf_verify(const char *path, const mldf_verify_options *options, mldf_verify_result *result,
                                 mldf_error *err);

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
MLDF_API mldf_status mldf_diff(const mldf_reader *a, const mldf_reader *b, const mldf_diff_options *options,
                               uint64_t *differences, mldf_error *err);

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
} mldf_plan_options;
#define MLDF_PLAN_OPTIONS_INIT \
    { sizeof(mldf_plan_options), 0, 0, false, 0 }
enum { MLDF_PLAN_REGIONS = 24 };
/* The byte ranges that a writer will use. Fills at most MLDF_PLAN_REGIONS regions. */
MLDF_API mldf_status mldf_plan(const mldf_schema *schema, const mldf_plan_options *options, mldf_region *regions,
                               size_t *region_count, mldf_error *err);

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
    MLDF_SOURCE_JSONL,
    MLDF_SOURCE_TAR,   /* plain, gzip or zstd */
    MLDF_SOURCE_FOLDER /* never needs to be said */
} mldf_source_format;

/* What the sub-folders of a folder of pictures mean. */
typedef enum mldf_layout {
    MLDF_LAYOUT_AUTO = 0, /* pictures directly in the folder: flat; only in sub-folders: classes */
    MLDF_LAYOUT_FLAT,     /* nothing */
    MLDF_LAYOUT_CLASSES   /* the first part of a path names the class */
} mldf_layout;

typedef struct mldf_pack_options {
    size_t struct_bytes;
    mldf_writer_options
        writer; /* threads, overwrite, page size, card, secret ... its progress hooks are used throughout */
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
    mldf_skip_fn warn;     /* a picture that is packed, though something about it is odd */
    void *warn_user;
    mldf_skip_fn left_out; /* a file of a folder that is no sample by its name or kind */
    void *left_out_user;
} mldf_pack_options;
#define MLDF_PACK_OPTIONS_INIT \
    { \
        sizeof(mldf_pack_options), MLDF_WRITER_OPTIONS_INIT, MLDF_SOURCE_AUTO, 0, 0, 0, 0, false, 0, 0, false, \
            MLDF_LAYOUT_AUTO, 0, 0, 0, 0, false, 0, 0, 0, 0 \
    }

typedef struct mldf_pack_result {
    uint64_t written, skipped, bytes;
} mldf_pack_result;
/* Into one new file; "-" as out streams to standard output. The sources are all of one kind:
 *   - CSV, TSV and JSON-lines files, "-" for standard input: a sample for each row;
 *   - folders of pictures: fields `image` and, with class folders, `label`; the class names go into the card as "classes"; the
 *     key is the path below the folder. Sorted by the bytes of that path, so the same folder gives the same file anywhere;
 *   - tar archives, "-" too: a sample for each key, a field for each extension. "data-{000..009}.tar" is ten archives.
 * A file of another kind among the sources is MLDF_E_ARGUMENT. */
MLDF_API mldf_status mldf_pack(const char *const *sources, size_t source_count, const char *out,
                               const mldf_pack_options *options, mldf_pack_result *result, mldf_error *err);
/* The same sources, or MLDF files of the same schema, added to an existing file. */
MLDF_API mldf_status mldf_append(const char *path, const char *const *sources, size_t source_count,
                                 const mldf_pack_options *options, mldf_pack_result *result, mldf_error *err);

/* ---- repack and repair -------------------------------------------------------------------------------------------- */

typedef struct mldf_repack_options {
    size_t struct_bytes;
    mldf_writer_options writer; /* of the result. Its secret encrypts; `source_secret` opens the source */
    mldf_secret source_secret;
    bool keep_layout; /* page size and compression as in the source (page_size 0 and no compress fields do that too) */
    bool decompress;  /* store every field raw */
    const char *const *compress_fields;
    size_t compress_count;
} mldf_repack_options;
#define MLDF_REPACK_OPTIONS_INIT \
    { sizeof(mldf_repack_options), MLDF_WRITER_OPTIONS_INIT, {0, 0, 0, 0}, false, false, 0, 0 }
/* Writes the samples anew, in order, without what appends and edits left unused. out NULL: in place, atomically. */
MLDF_API mldf_status mldf_repack(const char *path, const char *out, const mldf_repack_options *options,
                                 mldf_pack_result *result, mldf_error *err);

typedef struct mldf_repair_options {
    size_t struct_bytes;
    const mldf_context *context;
    bool overwrite;
    int threads;
    mldf_secret secret;
    mldf_problem_fn lost; /* each sample that could not be saved, and why */
    void *lost_user;
    mldf_progress_fn progress;
    void *progress_user;
} mldf_repair_options;
#define MLDF_REPAIR_OPTIONS_INIT \
    { sizeof(mldf_repair_options), 0, false, -1, {0, 0, 0, 0}, 0, 0, 0, 0 }
typedef struct mldf_repair_result {
    uint64_t samples_saved, samples_lost, bytes;
    bool changed;     /* false: nothing was wrong */
    char action[128]; /* what was done, in words */
} mldf_repair_result;
/* out NULL: in place: puts back a torn header or a lost footer and cuts an unfinished append; never drops a sample. Otherwise
 * every sample that is whole goes into a new file. */
MLDF_API mldf_status mldf_repair(const char *path, const char *out, const mldf_repair_options *options,
                                 mldf_repair_result *result, mldf_error *err);

#ifdef __cplusplus
}
#endif
#endif
