/* mldf_convert's samples: read, checked and made into the form of the target on threads, in batches, and appended in order by the caller's
 * own. What is written, and which sample an error names, are therefore the same for any number of threads. convert_files.c opens and
 * closes; sink.h is where samples go. */
#ifndef MLDF_TOOL_CONVERT_BATCH_H
#define MLDF_TOOL_CONVERT_BATCH_H

#include "interop/sink.h"
#include "mldf/tool.h"
#include "os/ordered_pool.h"
#include "tool/input.h"
#include "tool/open_many.h"

struct convert_batch;

/* Samples [first, ...) of the target are [sample, ...) of a source. */
struct convert_run {
    uint64_t first, sample;
    size_t source;
};

struct convert {
    mldf_convert_options options;
    struct sources sources;
    size_t *chosen;       /* fields of the common schema, in order */
    mldf_schema *schema;  /* of those */
    mldf_schema *recoded; /* the same for the sink, when images are encoded otherwise; or NULL */
    size_t count;
    struct sample_sink *sink;
    struct input_watch watch;

    size_t *from; /* field of the present source for each; changes only while no batch is under way */
    struct convert_batch *batches;
    size_t batch_count;
    struct pool *pool;

    uint64_t skipped, appended; /* appended: given to the sink, which may yet leave it out */
    struct convert_run *runs;   /* ascending by first: where samples of the target come from */
    size_t run_count, run_capacity;
};

/* Threads and room for batches. */
mldf_status mldfi_convert_begin(struct convert *c, mldf_error *err);
void mldfi_convert_end(struct convert *c);
/* All samples of one source into the sink. */
mldf_status mldfi_convert_source(struct convert *c, size_t source, mldf_error *err);
/* The sink's threads found sample `appended` of the target bad: told of as the source's sample. */
void mldfi_convert_skipped(void *convert, uint64_t appended, const mldf_error *why);
/* An error of the sink that counts the target's samples is made to count the source's. */
void mldfi_convert_place(const struct convert *c, mldf_error *err);

#endif
