/* What the files of mldf bench share: cmd_bench.c reads the options and runs the loader, bench_pipeline.c chooses what is decoded, bench_report.c says
 * what came of it. */
#ifndef MLDF_CLI_BENCH_H
#define MLDF_CLI_BENCH_H

#include "cli.h"

struct bench {
    struct invocation *v;
    mldf_loader_options options;
    uint64_t epochs;
    mldf_buffer pipeline;
    mldf_reader **readers;
    mldf_view *view; /* NULL: rows */
    mldf_loader *loader;
    mldf_buffer hashes; /* 16 bytes each */
    uint64_t samples;   /* of an epoch of this rank, about */
    uint64_t batches;   /* so far */
    uint64_t bad_seen;  /* bad samples that were looked at */
    mldf_buffer bad;    /* struct bad_note and its texts, one behind the other: the first ten, or, with --json, all */
    uint64_t bad_kept;
};

/* Keeps the bad samples that came since the last call: the loader's own list ends at 1,000. Returns `status`, or what failed here. */
mldf_status bench_note_bad(struct bench *bench, mldf_status status, mldf_error *err);
int bench_report(struct bench *bench);
/* bench_pipeline.c: a pipeline that decodes every field, where none was given; a warning about fields that are in no batch. */
int bench_default_pipeline(struct bench *bench);
void bench_warn_left_out(const struct bench *bench);

#endif
