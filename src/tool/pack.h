/* What pack and append share: samples from sources go into a writer. Read pack.c first, then feed.c (rows), folder_pack.c (folders of
 * files) and pack_tar.c (archives). */
#ifndef MLDF_TOOL_PACK_H
#define MLDF_TOOL_PACK_H

#include "tool/convert.h"
#include "tool/icc.h"
#include "tool/pack_text.h"
#include "tool/rows.h"

enum { FEED_RING = 1 << 16 };

/* A place between two rows: what a checkpoint keeps of the sources. */
struct resume_point {
    uint32_t source;
    uint64_t offset, line; /* of the next row; offset 0: the source from its beginning */
    uint64_t skipped;
    uint64_t fingerprint; /* of the names and sizes of all sources */
};

/* The state of one run over all sources. */
struct feed {
    const mldf_pack_options *options;
    const char *const *sources;
    size_t source_count;
    struct input_watch watch;

    struct columns columns;
    size_t key_column;   /* index in columns, or SIZE_MAX */
    struct rows *opened; /* one for each source; open only while in use, or when a pipe waits for its second look */

    const mldf_schema *schema; /* the writer's own when appending: not to be used once the writer is gone */
    size_t field_count;
    size_t *field_column; /* column of each field, or SIZE_MAX when the sources have none */
    struct converter *converters;
    size_t converter_count;
    struct inferred *inferred; /* one for each field when the schema was inferred, else NULL */
    mldf_value *values;
    struct icc_set icc;
    struct file_places files;
    const char *target;     /* a file that is going to be replaced, or NULL */
    const struct rows *row; /* in hand, for warnings about the files that it names */

    mldf_writer *writer;
    uint64_t first_sample; /* samples that the writer had when this run began */
    bool keyed, keyless;   /* append: the file's samples have keys, have none; both false: there are no samples */
    uint64_t submitted, skipped;
    struct resume_point start;      /* where this run goes on */
    uint64_t row_end, row_end_line; /* behind the last row that was taken whole */
    double last_checkpoint;
    bool interrupted; /* a hook said stop while the writer waited; with resume the row in hand is finished first */
    bool finishing;
    /* Where the latest rows came from, so that an error from a worker thread can name its line. */
    uint64_t *ring_line;
    uint32_t *ring_source;
    char **ring_place;      /* instead of the two above: sources that are not text; owned */
    uint64_t list_hash;     /* of a folder's files, part of the fingerprint */
    struct text_names text; /* what becomes tokens: pack_text.c */
    mldf_schema *texts;     /* append: the sources' fields, with text where the file has tokens; owned */
};

mldf_status mldfi_feed_begin(struct feed *feed, const char *const *sources, size_t source_count,
                             const mldf_pack_options *options, mldf_error *err);
void mldfi_feed_free(struct feed *feed);
/* No file that a folder holds or a table names may be `out`, which is going to be replaced. */
mldf_status mldfi_feed_guard(struct feed *feed, const char *out, mldf_error *err);

/* Fields for the names of colour profiles, where the schema wants these in the card. */
mldf_status mldfi_feed_icc(struct feed *feed, mldf_schema *schema, mldf_error *err);
/* Looks at the first rows and makes a schema of them. */
mldf_status mldfi_feed_infer(struct feed *feed, mldf_schema **out, mldf_error *err);
/* Uses this schema (borrowed); columns are its fields, by name, plus the key column. */
mldf_status mldfi_feed_use_schema(struct feed *feed, const mldf_schema *schema, mldf_error *err);
/* Do the options say that this column names files? */
bool mldfi_feed_names_files(const struct feed *feed, const char *column);
/* Hooks for the writer that is going to be fed: skipped rows and progress. */
void mldfi_feed_hooks(struct feed *feed, mldf_writer_options *writer);
/* One source into feed->writer. */
mldf_status mldfi_feed_source(struct feed *feed, size_t source, mldf_error *err);
/* An error that names a sample gets the place of its row. */
void mldfi_feed_place(const struct feed *feed, mldf_error *err);

/* ---- Samples that are not rows (sample.c) ---------------------------------------------------------------------------- */

/* feed->values as one sample. place: where it comes from, for messages (copied). The fields that name colour profiles are set from the
 * images. */
mldf_status mldfi_feed_submit(struct feed *feed, const char *place, const char *key, size_t key_bytes, mldf_error *err);
/* The same for values that stood in a file: the names are there already. */
mldf_status mldfi_feed_submit_as_is(struct feed *feed, const char *place, const char *key, size_t key_bytes,
                                    mldf_error *err);
/* A sample that cannot be had: reported and left out when the options say so (MLDF_OK), else an error that names the place. */
mldf_status mldfi_feed_refuse(struct feed *feed, const char *place, const mldf_error *why, mldf_error *err);
void mldfi_feed_warn(const struct feed *feed, const char *place, const char *message);
/* After each sample: progress, cancel, checkpoints. `next`: the number of the sample that comes next. */
mldf_status mldfi_feed_step(struct feed *feed, uint64_t next, mldf_error *err);
/* After a failure: that of the first bad sample, which may be an earlier one than where `status` (and err) come from. */
mldf_status mldfi_feed_first_error(struct feed *feed, mldf_status status, mldf_error *err);
/* The last call: completes or aborts, whatever `status` says. */
mldf_status mldfi_feed_end(struct feed *feed, mldf_status status, mldf_pack_result *result, mldf_error *err);
mldf_status mldfi_feed_open_writer(struct feed *feed, const char *out, const mldf_schema *schema,
                                   const mldf_writer_options *options, mldf_error *err);
/* A field of a type that is made from files, with what the options say of such fields; MLDF_E_ARGUMENT when that makes no sense. */
mldf_status mldfi_add_file_field(mldf_schema *schema, const char *name, const struct field_type *type,
                                 const mldf_pack_options *options, uint16_t flags, mldf_error *err);

/* MLDF_E_ARGUMENT when the options speak of fields that are made from other files than these. */
mldf_status mldfi_check_file_options(const mldf_pack_options *options, const struct field_files *files,
                                     mldf_error *err);

/* feed->values for the fields of `schema`. */
mldf_status mldfi_feed_make_values(struct feed *feed, const mldf_schema *schema, mldf_error *err);

mldf_status mldfi_pack_folders(struct feed *feed, const char *out, mldf_pack_result *result, mldf_error *err);
mldf_status mldfi_pack_tars(struct feed *feed, const char *out, mldf_pack_result *result, mldf_error *err);

/* Sources [first, first + count) of one kind into feed->writer, which appends: its fields, its keys or none, the classes of its card. */
mldf_status mldfi_append_folders(struct feed *feed, size_t first, size_t count, mldf_error *err);
mldf_status mldfi_append_tars(struct feed *feed, size_t first, size_t count, mldf_error *err);

/* resume.c: the point that the writer continues from, if any; then now and then a checkpoint. */
mldf_status mldfi_feed_resume(struct feed *feed, mldf_error *err);
mldf_status mldfi_feed_checkpoint(struct feed *feed, size_t source, bool now, mldf_error *err);

/* "FIELD" or "FIELD=LEVEL" for each. */
mldf_status mldfi_apply_compress(const mldf_context *context, mldf_schema *schema, const char *const *fields,
                                 size_t count, mldf_error *err);

#endif
