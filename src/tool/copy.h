/* The copy engine: rows of files into a sink, for merge, select, split, repack and convert.
 *
 *     rows of a source -> filter -> load (and recode) -> sink->prepare -> sink->append
 *     caller's thread     caller's  any thread           any thread      caller's thread, in order
 *
 * What is written, and which sample an error names, are therefore the same for any number of threads. A tool says which rows and where they
 * go; the engine has the batches, progress and cancelling, the policy for bad samples, and knows which row of which source became which
 * sample of the target. copy_sample.h is one sample; interop/sink.h is where samples go. */
#ifndef MLDF_TOOL_COPY_H
#define MLDF_TOOL_COPY_H

#include "interop/sink.h"
#include "mldf/tool.h"
#include "os/ordered_pool.h"
#include "tool/copy_sample.h"
#include "tool/input.h"

struct copy_batch;
struct copy_run;

struct copy {
    /* Set by the tool before mldfi_copy_begin; the rest is zero. */
    struct copy_fields fields; /* stored, keys and encode */
    struct sample_sink *sink;
    int threads; /* that load and prepare; 0: the caller's does all, < 0: one for each processor */
    bool
        skip; /* a sample that cannot be read or has no place in the target is left out, and told; else it is an error */
    mldf_skip_fn tell_skip;
    void *tell_user;
    struct input_watch *watch;

    const mldf_reader *reader; /* the source in hand */
    const char **names;        /* of all sources so far; NULL: its errors have their path already */
    size_t name_count, name_capacity;
    struct copy_batch *batches;
    size_t batch_count;
    struct pool *pool;          /* NULL: no threads */
    uint64_t loaded, memory;    /* samples, and bytes of their values: how large the next batch is */
    uint64_t skipped, appended; /* appended: given to the sink, which may yet leave it out */
    struct copy_run *runs;      /* ascending: where samples of the target come from */
    size_t run_count, run_capacity;
    size_t blamed; /* source of the sample that mldfi_copy_place named last */
};

/* schema: of the values. Threads and room for batches. */
mldf_status mldfi_copy_begin(struct copy *c, const mldf_schema *schema, mldf_error *err);
/* Of one file alone, its values as they are stored, its keys if it has them; the sink may be set after it. */
mldf_status mldfi_copy_begin_one(struct copy *c, const mldf_reader *reader, const mldf_schema *schema,
                                 struct input_watch *watch, mldf_error *err);
void mldfi_copy_end(struct copy *c);

/* The source of the rows that follow: its fields by name, with the same types and arguments. name: for messages, borrowed, or NULL. */
mldf_status mldfi_copy_from(struct copy *c, const mldf_reader *reader, const char *name, mldf_error *err);
/* The same with c->fields set by the caller. */
mldf_status mldfi_copy_from_matched(struct copy *c, const mldf_reader *reader, const char *name, mldf_error *err);

/* Which rows, in which order. */
struct copy_rows {
    const mldf_sample_range *ranges;
    size_t count;
    /* Is this row wanted? On the caller's thread, in order. A failure is this row's. NULL: every one is. */
    mldf_status (*wanted)(void *user, uint64_t sample, bool *out, mldf_error *err);
    void *user;
};
mldf_status mldfi_copy_rows(struct copy *c, const struct copy_rows *rows, mldf_error *err);
/* Every row. */
mldf_status mldfi_copy_all(struct copy *c, mldf_error *err);

/* An error of the sink that counts the target's samples is made to count the source's. */
void mldfi_copy_place(struct copy *c, mldf_error *err);
/* mldfi_end_output (derive.h) of a writer that the sink was over; what only finishing it finds is of the source's sample, too. */
mldf_status mldfi_copy_finish(struct copy *c, mldf_writer *writer, mldf_status status, mldf_pack_result *result,
                              mldf_error *err);
/* For mldf_writer_options.skipped: the sink's threads found sample `appended` of the target bad. Told of as the source's sample. */
void mldfi_copy_skipped(void *copy, uint64_t appended, const mldf_error *why);

#endif
