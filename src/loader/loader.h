/* The loader from the inside.
 *
 *   loader.c    new, free, outputs            series.c   which positions the next batch has (epochs, ranks, resuming)
 *   dataset.c  position → file, sample       bucket.c   the same when samples of like length go together
 *   crew.c  who works on what when        unit.c     a run of samples through the plan; bad ones
 *   skip.c, where.c   positions that are left out; where a document comes
 *   next.c      begin, next, cancel           batch.c    arrays of a batch; batch_pool.c their memory
 *   prefetch.c  hints to the system           loader_state.c, loader_stats.c, bad.c, bounds.c, identity.c   what their names say
 *
 * Batches in flight are jobs in a ring. Three counters walk along them:
 *
 *     taken ≤ opened ≤ planned        opened - taken ≤ in_flight,  planned - opened ≤ ahead
 *
 * A planned job knows its samples, and the system has been told what will be read; an opened one is worked on. Any worker takes the next
 * run of slots of the oldest job that has some left, so a slow sample holds up nobody: the others go on with the next job.
 *
 *     PLANNED → (MEASURE → LAYOUT →) RUN → FINISH → DONE → taken by next
 *                   ↑__________________|  a sample was replaced or left out, and with it the lengths
 *
 * MEASURE is for batches whose size depends on the samples' lengths. The lock is held to claim and to account, never to work. */
#ifndef MLDF_LOADER_LOADER_H
#define MLDF_LOADER_LOADER_H

#include <pthread.h>
#include <stdatomic.h>

#include "items/items.h"
#include "mldf/loader.h"
#include "order/order.h"
#include "os/direct.h"
#include "os/memory.h"
#include "pipeline/plan.h"
#include "reader/reader.h"

enum {
    LOADER_AHEAD = 2,      /* jobs planned beyond those that are opened */
    LOADER_TRIES = 8,      /* substitutes for one bad sample */
    LOADER_SKIPS = 16,     /* ranges of batches to leave out */
    LOADER_LEDGER = 1000,  /* bad samples that are kept */
    LOADER_TIME_EVERY = 8, /* one unit of so many is timed step by step */
    LOADER_MAX_THREADS = 1024,
    LOADER_MAX_IN_FLIGHT = 4096
};
#define LOADER_UNIT_SECONDS 60e-6
#define LOADER_MAX_BATCH ((uint64_t)1 << 31)

/* ---- Where samples come from (dataset.c) ------------------------------------------------------------------------------ */

/* What stands at a position of the epoch: the order's sample, or its substitute. */
struct seat {
    uint64_t position;
    uint64_t sample; /* of the reader: the item's anchor */
    uint32_t reader;
    struct item_place item; /* with a view: where it is */
};

/* A reader whose large reads go past the page cache; otherwise the user's. */
struct direct_reader {
    struct direct_reader *next;
    mldf_reader reader;
    struct os_direct descriptor;
};

/* How a field's value is had from a reader: found out once, when the loader is made. */
enum field_way {
    WAY_READ,    /* from the reader, which sees to it */
    WAY_DIRECT,  /* a pointer into the mapping */
    WAY_CUT,     /* a view's piece of an array */
    WAY_ELEMENT, /* an item's entry of a row's value */
    WAY_PIECE,   /* a view's piece of a recording: read as all others, and cut by the decoder */
    WAY_STACK,   /* values of several rows, stacked (items/steps.h) */
    WAY_PAD,     /* which of these rows are outside the group */
    WAY_FRAMES,  /* frames of the video in the group's first row */
    WAY_NONE     /* the file has none of it: null */
};
struct bound_field {
    size_t field;  /* of the reader; SIZE_MAX: WAY_NONE, WAY_STACK, WAY_PAD */
    size_t window; /* WAY_STACK, WAY_PAD, WAY_FRAMES: which of the view's */
    const struct schema_field *of;
    enum field_way way;
};

struct dataset {
    const mldf_reader **readers;
    struct direct_reader *direct;
    size_t count;
    uint64_t *first; /* number of the reader's first sample when all are counted through; one more than readers */
    const mldf_schema *schema; /* the plan's: the first reader's, or made */
    mldf_schema *made;
    bool archives;              /* all of them are tar: a field that one lacks is null there */
    struct bound_field *fields; /* the reader's field for the plan's field: [reader * field_count + field] */
    size_t field_count;
    bool by_part;          /* the order is a mixture whose part is the reader */
    const mldf_view *view; /* NULL: rows */
    size_t cut;            /* the field that it cuts, of the schema; SIZE_MAX: none */
    bool cut_in_source;    /* a recording: the pipeline cuts what it decodes */
    bool made_by_view;     /* the schema is the view's: it makes every value */
    size_t own_fields;     /* of the readers' schema; those behind them are masks of windows */
    bool *elements;        /* of the schema's fields: the item is an entry of the row's value; NULL: of none */
    uint64_t seed;         /* of random windows, with this stream: */
    uint32_t stream;
};
mldf_status mldfi_dataset_begin(struct dataset *dataset, const mldf_reader *const *readers, size_t count,
                                mldf_error *err);
void mldfi_dataset_free(struct dataset *dataset);
/* Finds the plan's fields in every reader; those that it reads must be of the same type everywhere. */
mldf_status mldfi_dataset_bind(struct dataset *dataset, const size_t *used, size_t used_count, mldf_error *err);
/* Mixtures of several readers. */
mldf_status mldfi_dataset_order(struct dataset *dataset, const mldf_order *order, bool own, mldf_error *err);
mldf_status mldfi_dataset_seat(const struct dataset *dataset, uint64_t epoch, uint64_t position,
                               const mldf_place *place, struct seat *out, mldf_error *err);
struct slot;
/* The same for a run of positions of which `places` are the order's, into slots. */
mldf_status mldfi_dataset_seats(const struct dataset *dataset, uint64_t epoch, uint64_t first, const mldf_place *places,
                                size_t count, struct slot *slots, mldf_error *err);
/* The view must be of the dataset's readers. */
mldf_status mldfi_dataset_view(struct dataset *dataset, const mldf_view *view, uint64_t seed, mldf_error *err);
/* What an epoch visits: items, or rows without a view. */
uint64_t mldfi_dataset_count(const struct dataset *dataset);
/* The number of a seat's item; of its row among those of all files. Without a view they are the same. */
uint64_t mldfi_dataset_row(const struct dataset *dataset, const struct seat *seat);
uint64_t mldfi_dataset_item(const struct dataset *dataset, const struct seat *seat);

/* What is known of each field of the dataset's schema (bounds.c); `names`: fields that the pipeline names. */
mldf_status mldfi_bounds_gather(const struct dataset *dataset, const mldf_pipeline *pipeline, struct value_bounds *out,
                                mldf_error *err);

/* ---- Which samples they are (identity.c) -------------------------------------------------------------------------------- */

struct json;
/* Samples are read for it when the first state is taken or loaded, not before. */
struct identity;
mldf_status mldfi_identity_new(struct identity **out, mldf_error *err);
void mldfi_identity_free(struct identity *identity);
/* Members of the state's object, each with a comma in front. */
mldf_status mldfi_identity_write(const mldf_loader *loader, mldf_buffer *out, mldf_error *err);
/* MLDF_E_STATE: the state is of other samples. A warning where that cannot be told. */
mldf_status mldfi_identity_check(const mldf_loader *loader, const struct json *json, mldf_error *err);
/* Row i of `most`, spread over all of them: the first and the last are among them. *sample: in that reader. There are rows. */
const mldf_reader *mldfi_dataset_spread(const struct dataset *dataset, uint64_t i, uint64_t most, uint64_t *sample);

/* ---- Which decoders recordings have (sound_versions.c) --------------------------------------------------------------------- */

/* A member of the state's object, with a comma in front, if lossy recordings are decoded. */
mldf_status mldfi_sound_versions_write(const mldf_loader *loader, mldf_buffer *out, mldf_error *err);
/* Warns where the state's are others. */
mldf_status mldfi_sound_versions_check(const mldf_loader *loader, const struct json *json, mldf_error *err);

/* ---- Batches (batch.c, batch_pool.c) ------------------------------------------------------------------------------------------ */

enum array_kind {
    ARRAY_FIXED,
    ARRAY_PAD,
    ARRAY_RAGGED,
    ARRAY_LENGTH, /* of a padded output */
    ARRAY_MASK,
    ARRAY_OFFSET,     /* of a ragged output */
    ARRAY_SAMPLES,    /* of the wave that an output was made from */
    ARRAY_FILLED,     /* NAME_valid of an output whose nulls are filled */
    ARRAY_CLIP_VALID, /* NAME_valid of clips, for each frame */
    ARRAY_CLIP_PTS,   /* BASE.pts, for each frame */
    ARRAY_CLIP_START, /* BASE.start and BASE.end, for each clip */
    ARRAY_CLIP_END,
    ARRAY_CLIP_SOUND, /* NAME_valid of a recording's clips, for each clip: samples */
    ARRAY_INDEX,
    ARRAY_ROW,
    ARRAY_VALID
};

/* One array of every batch. */
struct array_plan {
    const char *name; /* the pool's */
    enum array_kind kind;
    size_t output; /* of the plan */
    const struct plan_output
        *of; /* the same; the plan's, which the loader has and a batch may outlive. INDEX, VALID: NULL */
    mldf_dtype dtype;
    uint64_t inner; /* elements of a sample's dims that are no lengths */
};

/* Shared by the loader and all batches: the last one frees it. */
struct batch_pool {
    struct os_fork_guard guard;
    mldf_memory_hook hook; /* alloc NULL: none */
    char *names;
    struct array_plan *arrays;
    size_t array_count;
    bool has_runs; /* an output goes through a batch as one run */
    bool extras;   /* some are not outputs of the plan: mldfi_batch_extras writes them */
    pthread_mutex_t lock;
    mldf_batch *idle; /* guarded by lock from here on */
    size_t idle_count, idle_most;
    size_t live; /* batches that somebody holds */
    bool closed; /* the loader is gone */
};

struct mldf_batch {
    struct batch_pool *pool;
    mldf_batch *next; /* in the idle list */
    atomic_uint references;
    uint8_t *memory;
    size_t capacity;
    size_t samples;
    uint64_t epoch, ordinal, consumed;
    mldf_array *arrays; /* the pool's array_count; behind the struct */
    size_t *rows;       /* bytes from one sample to the next in each array; RAGGED, OFFSET: 0 */
};

/* The arrays that a plan's outputs make. */
mldf_status mldfi_batch_pool_new(const struct plan *plan, const mldf_loader_options *want, const mldf_memory_hook *hook,
                                 size_t idle_most, struct batch_pool **out, mldf_error *err);
/* Is there, by the machine's memory, room for a batch of so many samples? What varies in length counts as 1. */
mldf_status mldfi_batch_pool_check(const struct batch_pool *pool, uint64_t samples, mldf_error *err);
/* The loader's share; batches go on. */
void mldfi_batch_pool_close(struct batch_pool *pool);
/* A batch with memory for at least `bytes`, held once. */
mldf_status mldfi_batch_pool_get(struct batch_pool *pool, size_t bytes, mldf_batch **out, mldf_error *err);

/* Memory and arrays of a batch of `samples`; lengths[row * outputs + output] (plan.h) for what is not FIXED. */
mldf_status mldfi_batch_new(struct batch_pool *pool, size_t samples, const struct plan_length *lengths, size_t outputs,
                            mldf_batch **out, mldf_error *err);
/* Where a sample's outputs go. */
void mldfi_batch_targets(const mldf_batch *batch, size_t row, const struct plan_length *lengths,
                         struct plan_target *targets);
struct sample_numbers {
    uint64_t index, row;
    bool valid;
};
/* What is not an output of the plan: length, mask, index, row, valid of one sample. It is the one that `worker` ran last, on this side. */
void mldfi_batch_extras(const mldf_batch *batch, size_t row, const struct plan_length *lengths,
                        const struct sample_numbers *numbers, const struct plan_worker *worker, unsigned side);
/* The outputs whose numbers go on from sample to sample, when all samples are there: batch.c. */
void mldfi_batch_finish_runs(mldf_batch *batch);
/* Leaves the rows out for which keep is false; arrays of rows alone (no RAGGED). */
void mldfi_batch_compact(mldf_batch *batch, const bool *keep);

/* ---- Jobs ---------------------------------------------------------------------------------------------------------------- */

struct slot {
    struct seat seat;
    uint32_t ordinal; /* its place in the batch before anything was left out */
    uint8_t tries;    /* substitutes so far */
    bool valid, skipped;
};

struct bad_event {
    uint32_t ordinal, tries; /* of the slot */
    mldf_bad_sample bad;
};

struct range {
    uint32_t reader;
    uint64_t offset, bytes;
};

enum job_state { JOB_PLANNED, JOB_MEASURE, JOB_RUN, JOB_BUSY, JOB_DONE }; /* BUSY: one worker lays out or finishes */

/* A window of positions whose batches are made of samples of like length. */
struct bucket_span {
    uint64_t begin, end;    /* positions; begin == end: none */
    uint64_t batch, budget; /* samples of a global batch; or elements of a rank's */
    uint32_t ranks;         /* that the budget was reckoned with */
};

struct job {
    enum job_state state;
    uint64_t epoch, ordinal, consumed;
    struct bucket_span span; /* that the batch belongs to */
    struct slot *slots;
    size_t count, capacity;
    struct plan_length *lengths;     /* [slot * outputs + output] */
    size_t claimed, finished, limit; /* of the present phase; limit: claiming ends here */
    bool again;
    size_t failed_slot; /* SIZE_MAX: none */
    mldf_error failure;
    struct bad_event *bad;
    size_t bad_count, bad_capacity;
    mldf_batch *batch;
    struct range *ranges; /* what was asked for in advance */
    size_t range_count, range_capacity;
};

/* ---- The series of batches (series.c, bucket.c) -------------------------------------------------------------------------- */

struct curriculum_batch;
struct bucket {
    uint64_t window; /* 0: none */
    size_t output;
    const struct plan_output *of; /* the same */
    uint64_t inner;               /* elements for one of length, for a pixel */
    struct bucket_span span;
    uint64_t *positions;            /* of the window, batch after batch */
    size_t *cuts;                   /* batch i is positions[cuts[i] .. cuts[i + 1]) */
    size_t batch_count, next, full; /* batches below `full` are not leftovers */
    size_t capacity, cut_capacity;
    void *entries;                 /* lengths of the window whose plan is not finished; NULL: none */
    uint64_t measured;             /* position up to which they are known */
    struct curriculum_batch *turn; /* curriculum.c: instead of positions */
    struct perm *perms;            /* and of the items of each length */
};

/* Positions [begin, end) of an epoch that are left out (skip.c). */
struct skip_range {
    uint64_t epoch, begin, end;
};
/* The positions from `from` on that are not left out, numbered from `from` to `end`. */
struct kept {
    uint64_t from, end, count; /* count: of all positions */
    struct skip_range gaps[LOADER_SKIPS];
    size_t gap_count;
};
/* ---- Batches of one length (curriculum.c) -------------------------------------------------------------------------------- */

enum { CURRICULUM_NAME = 32 };
/* "": none. */
void mldfi_curriculum_name(const mldf_loader *loader, char out[CURRICULUM_NAME]);
mldf_status mldfi_curriculum_check(const mldf_loader *loader, mldf_error *err);
/* Batches of an epoch, planned with the budget and ranks of span. */
uint64_t mldfi_curriculum_count(const mldf_loader *loader, const struct bucket_span *span);
/* Tokens of the longest items: a batch holds at least one. */
uint64_t mldfi_curriculum_longest(const mldf_loader *loader);
/* The whole epoch: cuts, turn and perms of the bucket. */
mldf_status mldfi_curriculum_plan(mldf_loader *loader, mldf_error *err);
/* The item in a slot of the bucket's next batch, of all ranks. */
uint64_t mldfi_curriculum_item(const mldf_loader *loader, size_t slot);

void mldfi_kept_begin(const mldf_loader *loader, uint64_t epoch, uint64_t from, struct kept *out);
/* The position of a number below end; *run: so many positions follow one another there. */
uint64_t mldfi_kept_position(const struct kept *kept, uint64_t number, uint64_t *run);
/* False: the position is left out. */
bool mldfi_kept_number(const struct kept *kept, uint64_t position, uint64_t *number);
/* One more range, with the lock held; those that touch become one. MLDF_E_LIMIT: there are too many. */
mldf_status mldfi_skip_add(mldf_loader *loader, struct skip_range range, mldf_error *err);
/* Where the epoch began, or went on after a state was loaded. */
uint64_t mldfi_epoch_from(const mldf_loader *loader, uint64_t epoch);

/* Moved by the worker that has the turn to plan. */
struct series {
    uint64_t epoch, from, index, ordinal;
    struct kept kept;
    bool ended;
    struct bucket bucket;
};

/* The batches of an epoch, counted up to a position; what was counted last stays known. */
struct bucket_count {
    bool begun;
    uint64_t epoch, window;
    uint64_t at;      /* position; the epoch's end: done */
    uint64_t batches; /* of the windows before */
    struct worker *worker;
    void *entries; /* of the window in hand */
};

struct worker;
/* Positions of the next batch of this rank into job->slots; MLDF_END behind the last; MLDF_AGAIN: worker->until has passed, the next call
 * goes on. */
mldf_status mldfi_series_next(struct worker *worker, struct job *job, mldf_error *err);
mldf_status mldfi_series_begin(mldf_loader *loader, uint64_t epoch, uint64_t consumed, const struct bucket_span *span,
                               mldf_error *err);
void mldfi_series_free(struct series *series);
mldf_status mldfi_bucket_next(struct worker *worker, struct job *job, mldf_error *err);
/* Batches of an epoch from its beginning; MLDF_AGAIN: the time has passed (deadline < 0: it never does), the next call goes on. */
mldf_status mldfi_bucket_count(mldf_loader *loader, uint64_t epoch, double deadline, uint64_t *out, mldf_error *err);
void mldfi_count_end(struct bucket_count *count);
mldf_status mldfi_job_reserve(mldf_loader *loader, struct job *job, size_t count, mldf_error *err);
/* Global batch in samples. */
uint64_t mldfi_global_batch(const mldf_loader_options *options);

/* ---- Workers ----------------------------------------------------------------------------------------------------------------- */

struct worker {
    mldf_loader *loader;
    struct plan_worker *plan;
    struct plan_feed feed;
    const struct seat *seats[2]; /* what the feed may be asked for */
    struct item_cache items;
    size_t seat_count;
    struct plan_target *targets[2];
    struct plan_length *lengths; /* one sample's */
    struct plan_ranges ranges;   /* one sample's, for hints */
    mldf_buffer probe;           /* memory for a sample that nobody wants */
    uint64_t units;
    bool timing;
    double *times; /* the plan's, as they were before the unit */
    double
        until; /* a caller that works itself comes back then, also from the plan of a window; 0 or less: it need not */
    pthread_t thread;
};
mldf_status mldfi_crew_worker_begin(mldf_loader *loader, struct worker *worker, mldf_error *err);
void mldfi_crew_worker_end(struct worker *worker);

/* A run of slots, without the lock (unit.c). */
void mldfi_unit_measure(struct worker *worker, struct job *job, size_t from, size_t to);
void mldfi_unit_run(struct worker *worker, struct job *job, size_t from, size_t to);
/* The bytes of its payloads that the sample will need, where it needs parts of them. */
mldf_status mldfi_unit_ranges(struct worker *worker, uint64_t epoch, const struct seat *seat,
                              struct plan_ranges *ranges);
/* The length (plan.h) of one output at a position, for buckets; a bad sample has none. */
mldf_status mldfi_unit_length(struct worker *worker, uint64_t epoch, const struct seat *seat, size_t output,
                              struct plan_length *length, mldf_error *err);

/* ---- Bad samples (bad.c) ------------------------------------------------------------------------------------------------------ */

/* Does this status say that the sample is bad, rather than the disk, the machine or the caller? */
bool mldfi_is_bad(mldf_status status);
/* The `tries`-th substitute for the slot, in its seat. */
mldf_status mldfi_substitute(mldf_loader *loader, uint64_t epoch, struct slot *slot, mldf_error *err);
/* Notes the slot's sample as bad; takes the lock. */
mldf_status mldfi_bad_note(mldf_loader *loader, struct job *job, const struct slot *slot, const mldf_error *error,
                           mldf_error *err);
/* Notes what now stands in for it. */
void mldfi_bad_substitute(mldf_loader *loader, struct job *job, const struct slot *slot);
/* With the lock held: a job that is taken gives its bad samples to the ledger, in the order of its slots. */
void mldfi_bad_keep(mldf_loader *loader, struct job *job);

/* ---- Hints (prefetch.c) -------------------------------------------------------------------------------------------------------- */

struct prefetch {
    bool on;
    bool resident;      /* all that was looked at is in memory: hints would cost and give nothing */
    bool fits;          /* the files are small against memory: the system's own read-ahead fills it soonest */
    uint64_t countdown; /* jobs until the next look */
    uint64_t dice;
};
void mldfi_prefetch_begin(mldf_loader *loader);
/* By the worker that plans. Cannot fail: without memory there are no hints. */
void mldfi_prefetch_job(struct worker *worker, struct job *job);
void mldfi_prefetch_forget(mldf_loader *loader, struct job *job);
void mldfi_prefetch_end(mldf_loader *loader);
/* O_DIRECT for the readers that can; a warning for the others. */
mldf_status mldfi_direct_begin(mldf_loader *loader, mldf_error *err);
void mldfi_direct_end(mldf_loader *loader);

/* ---- Statistics (loader_stats.c) ------------------------------------------------------------------------------------------------------- */

struct tally {
    uint64_t samples, batches, bad, bytes;
    double seconds, wait_consumer, wait_loader;
    double epoch_started; /* of the first next; 0: between epochs */
    double busy, timed;   /* of all units; of those that were timed step by step */
    double *steps;        /* parts of timed; the plan's count */
    mldf_step_time *shown;
};
/* The verdict on the other numbers. out->steps are the plan's, in their order. */
void mldfi_stats_judge(const mldf_loader *loader, mldf_loader_stats *out);

/* ---- The loader ------------------------------------------------------------------------------------------------------------------ */

struct mldf_loader {
    mldf_loader_options options;
    char *bucket_name;
    mldf_pipeline *pipeline;
    struct plan *plan;
    size_t outputs; /* of the plan */
    bool two_phase; /* the batch's size depends on lengths */
    bool measures;  /* an output has lengths */
    bool pairs;
    struct dataset dataset;
    struct identity *identity;
    mldf_order *made;        /* own order, or NULL */
    const mldf_order *order; /* the one in use */
    uint64_t count;          /* positions of an epoch */
    struct batch_pool *pool;
    uint32_t bad_stream, bucket_stream;

    struct worker *workers; /* at least one; with 0 threads it is the caller's */
    size_t worker_count, thread_count;

    pthread_mutex_t lock;
    pthread_cond_t work, ready, quiet; /* for workers; for next; for begin and free */
    /* Guarded by lock: */
    struct job *jobs; /* job_count of them, by number modulo job_count */
    size_t job_count, in_flight;
    uint64_t taken, opened, planned;
    struct skip_range skips[LOADER_SKIPS]; /* ascending, apart from one another */
    size_t skip_count;
    bool planning, plan_failed, stop, cancelled;
    atomic_bool halt; /* written under the lock; workers look at it between samples, without */
    bool done;        /* the batch that is next is ready, and who waits for it is still to be woken */
    size_t active;    /* workers at work outside the lock */
    size_t waiting;   /* workers asleep */
    double cost[2];   /* seconds a sample takes to measure, to run: moving means */
    struct tally tally;
    mldf_bad_sample *ledger; /* a ring, once it is full */
    size_t ledger_count, ledger_capacity, ledger_first;

    /* The planner's turn: */
    struct series series;
    struct prefetch prefetch;

    /* The caller's: */
    struct bucket_count counting;
    bool begun, in_epoch;
    uint64_t epoch, consumed;
    struct bucket_span span;
};

/* crew.c */
mldf_status mldfi_crew_new(mldf_loader *loader, mldf_error *err);
void mldfi_crew_free(mldf_loader *loader);
/* With the lock held: one piece of work; false: there is none now. */
bool mldfi_crew_step(struct worker *worker);
/* Nobody works and nothing is in flight when it returns; workers stay halted until resumed. Lock held. */
void mldfi_crew_halt(mldf_loader *loader);
void mldfi_crew_resume(mldf_loader *loader);
/* Lock held: the oldest job leaves the ring. */
void mldfi_crew_pop(mldf_loader *loader);

/* next.c: span: a window of buckets that was begun, or NULL. */
mldf_status mldfi_loader_begin_at(mldf_loader *loader, uint64_t epoch, uint64_t consumed,
                                  const struct bucket_span *span, mldf_error *err);

/* MLDF_E_STATE in a child made by fork. */
mldf_status mldfi_loader_check(const mldf_loader *loader, const char *what, mldf_error *err);

#endif
