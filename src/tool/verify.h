/* verify from the inside: one reader with positional reads, checks of the whole file on the calling thread, checks of samples
 * in ranges on worker threads. Problems are reported in order, on the calling thread alone.
 *
 *   verify.c         the order of the checks, reports, progress
 *   verify_ranges.c  ranges of samples on threads, results in order
 *   verify_tables.c  sections, tables, validity, keys, page map, history (V1-V7)
 *   verify_samples.c rows and payloads, values when deep (V8, V9, V11)
 *   verify_plans.c   pack plans, when deep
 *   verify_foreign.c files of other formats */
#ifndef MLDF_TOOL_VERIFY_H
#define MLDF_TOOL_VERIFY_H

#include <stdatomic.h>

#include "mldf/tool.h"
#include "reader/reader.h"

enum { VERIFY_CHUNK = 1 << 20 };

struct verify {
    const mldf_reader *reader;
    mldf_verify_options options;
    mldf_verify_result *result;
    uint32_t bad_sections; /* bit k: section kind k failed its CRC and is not used */
    uint8_t *bad_blocks;   /* one byte for each 64 KiB block of the metadata table */
    bool bad_rows;         /* a block of rows or a record is bad: what is computed from rows says nothing */
    bool bad_allocations;  /* the allocation table is not in order: nothing can be looked up in it */
    uint64_t payloads;     /* non-empty ones */
    /* A 1.0 file's allocation table runs to the end of the file: values past its last entry are counted, and told in one line. */
    uint64_t last_allocation;                   /* ptr of that entry; 2^64-1: not looked at */
    _Atomic(uint64_t) unlisted, unlisted_first; /* how many values, and the lowest sample with one */
    mldf_field_stats *maxima;                   /* for each field, from the samples */
    _Atomic(uint64_t) samples_done, bytes_done;
    atomic_bool cancelled;
    double last_report;
};

/* A range of samples, its problems, and what stopped it (< 0), if anything did. */
struct verify_job {
    uint64_t first, count;
    mldf_error *problems;
    size_t problem_count, problem_capacity;
    uint64_t good;
    mldf_status status;
    mldf_error error;
    bool bad_rows;
};

/* What a thread keeps from range to range. */
struct allocation_window {
    uint64_t first; /* entry */
    size_t count;
    uint64_t used; /* when, for replacement */
    uint8_t *entries;
};
enum { VERIFY_WINDOWS = 8, VERIFY_WINDOW_ENTRIES = 1024 };
struct verify_worker {
    struct verify *verify;
    bool on_caller;
    mldf_buffer rows, checks, validity, scratch, chunk;
    uint64_t chunk_at; /* file offset of chunk's bytes */
    struct media_kit kit;
    struct allocation_window windows[VERIFY_WINDOWS];
    uint64_t clock, entry; /* entry: where the last look-up ended */
    uint64_t payloads;
    mldf_field_stats *maxima;
};

typedef mldf_status (*verify_work)(struct verify_worker *worker, struct verify_job *job, mldf_error *err);

/* Can this status be a property of the file, and so a problem, rather than of the machine? */
static inline bool mldfi_is_problem(mldf_status status) {
    return status <= MLDF_E_MAGIC || status == MLDF_E_LIMIT;
}
/* Every check on a reader that is open; verify has its options and result. */
mldf_status mldfi_verify_reader(struct verify *verify, const mldf_reader *reader, mldf_error *err);
/* The same for a file of another format. verify_foreign.c */
mldf_status mldfi_verify_foreign(struct verify *verify, const mldf_reader *reader, mldf_error *err);
/* Reports a problem; on the calling thread only. */
void mldfi_verify_report(struct verify *verify, const mldf_error *problem);
__attribute__((format(printf, 5, 6))) void mldfi_verify_problem(struct verify *verify, mldf_status status,
                                                                uint64_t offset, uint64_t sample, const char *format,
                                                                ...);
/* Shows progress when it is time to; MLDF_E_CANCELLED when the caller wants to stop. */
mldf_status mldfi_verify_tick(struct verify *verify, mldf_error *err);
/* The same from any thread. */
mldf_status mldfi_verify_pulse(struct verify_worker *worker, mldf_error *err);
/* Adds a problem to a job; the path is put in front by the report. */
mldf_status mldfi_verify_add(struct verify_job *job, const mldf_error *problem, mldf_error *err);

/* Runs work over all samples in ranges of `step`, with the threads that the options ask for. */
mldf_status mldfi_verify_ranges(struct verify *verify, verify_work work, uint64_t step, mldf_error *err);

mldf_status mldfi_verify_sections(struct verify *verify, mldf_error *err);    /* V1 */
mldf_status mldfi_verify_blocks(struct verify *verify, mldf_error *err);      /* V2 */
mldf_status mldfi_verify_allocations(struct verify *verify, mldf_error *err); /* V3 */
mldf_status mldfi_verify_validity(struct verify *verify, mldf_error *err);    /* V4 */
mldf_status mldfi_verify_keys(struct verify *verify, mldf_error *err);        /* V5 */
mldf_status mldfi_verify_page_map(struct verify *verify, mldf_error *err);    /* V6 */
mldf_status mldfi_verify_history(struct verify *verify, mldf_error *err);     /* V7 */
mldf_status mldfi_verify_samples(struct verify *verify, mldf_error *err);     /* V8, V9, V11 */
mldf_status mldfi_verify_stats(struct verify *verify, mldf_error *err);
mldf_status mldfi_verify_plans(struct verify *verify, mldf_error *err); /* when deep */

static inline bool mldfi_verify_usable(const struct verify *verify, const struct section *section) {
    return section && !(verify->bad_sections >> (section->kind & 31) & 1);
}

#endif
