/* A plan: a pipeline compiled for the fields of a file; what the loader sees of src/pipeline.
 *
 *   parse.c       text → statements                         graph.c    statements + schema → chains of typed operations
 *   parameters.c  arguments → values                        plan.c     chains → stages: what is fused with what
 *   op_*.c        the operations                            run.c      a sample through its stages into the batch
 */
#ifndef MLDF_PIPELINE_PLAN_H
#define MLDF_PIPELINE_PLAN_H

#include "mldf/pipeline.h"
#include "mldf/reader.h"
#include "pipeline/op.h"

struct plan;
struct plan_worker;
struct schema_field;

/* An output whose numbers go on from sample to sample: of i32, no step follows. */
struct plan_run {
    uint64_t each; /* what a sample adds; 0: it is none */
    bool own, ragged;
};

struct plan_options {
    const mldf_context *context;
    bool exact, reference;
    const char *isa;
    int codegen; /* mldf_codegen */
    const mldf_pipeline
        *decode; /* parameters of decoding steps where the text does not give them; NULL: their defaults */
    uint64_t seed;
    uint64_t max_bytes; /* of a decoded value; 0: its family's own limit. Images have MEDIA_MAX_BYTES at the most */
    /* A view (src/items) cuts a field: the type of its values as the feed gives them. NULL: as they are stored. */
    void (*cut)(void *user, size_t field, struct edge *edge);
    /* Fields that a view makes: is this one an output that no statement names? NULL: all of a fixed shape are. */
    bool (*is_default)(void *user, size_t field);
    /* What a batch makes of a field's run (struct item_run); each 0: nothing. NULL: no field has one. */
    void (*run)(void *user, size_t field, struct plan_run *out);
    void *cut_user;
};

/* decode_options.c: plan_options.decode from a text; NULL gives NULL. */
mldf_status mldfi_decode_options_parse(const mldf_context *context, const char *text, mldf_pipeline **out,
                                       mldf_error *err);

/* bounds: one for each field of the schema. */
mldf_status mldfi_plan_new(const mldf_pipeline *pipeline, const mldf_schema *schema, const struct value_bounds *bounds,
                           const struct plan_options *options, struct plan **out, mldf_error *err);
void mldfi_plan_free(struct plan *plan);
mldf_status mldfi_plan_explain(const struct plan *plan, mldf_buffer *out, mldf_error *err);

typedef enum plan_collate {
    COLLATE_FIXED, /* every sample has the same dims: an array of count x dims */
    COLLATE_PAD, /* lengths vary: filled up to `length`, or to the longest of the batch; images at the right and below */
    COLLATE_RAGGED /* dim 0 varies: samples one behind the other, and offsets */
} plan_collate;

/* The lengths of a sample: its dimensions that may differ, in the order t, h, w. A list has one, an image two, a clip three; the rest is 0. */
enum { PLAN_LENGTHS = 3, PLAN_SAMPLES = PLAN_LENGTHS };
#define PLAN_SIDE_MAX ((uint64_t)1 << 30)
struct plan_length {
    uint64_t n[PLAN_LENGTHS + 1]; /* [PLAN_SAMPLES] is not a length: samples of the wave that the value was made from */
};

struct plan_output {
    const char *name;
    struct edge edge;
    plan_collate collate;
    uint32_t length_count;              /* decided by the operation and the axes, never by the data; FIXED: 0 */
    uint32_t length_dims[PLAN_LENGTHS]; /* which dims of the edge they are */
    struct plan_length length;          /* PAD: what is 0 is the batch's longest */
    uint64_t multiple;                  /* PAD: of this, and not less than 1 */
    double fill;                        /* PAD: value of the padding */
    bool mask;                          /* PAD: one more output NAME_mask (bool) */
    bool text;                          /* RAGGED: bytes that must be UTF-8 */
    bool waves;                         /* made from a recording: n[PLAN_SAMPLES] is known */
    bool shrinks;                       /* a step may make it shorter than was measured (OP_SHRINKS) */
    bool valid;                         /* one more output NAME_valid (bool): mldfi_worker_filled tells */
    struct plan_clips {
        uint32_t count;   /* clips of a sample, made by the step clip; 0: none */
        uint64_t frames;  /* of each; 0: samples differ. More outputs: NAME_valid (bool, for each frame) */
        bool times;       /* BASE.pts (f64, for each frame), BASE.start and BASE.end (f64, for each clip): seconds */
        const char *base; /* the name of the field for its default output, else of the output */
        bool sound; /* of a recording. One more output: NAME_valid (i64, for each clip): its samples that there are */
    } clips;
    struct plan_run run;
};

/* Lengths (collate.c). In order: t, then h, then w. */
int mldfi_length_compare(const struct plan_length *a, const struct plan_length *b);
/* What holds both. */
struct plan_length mldfi_length_most(struct plan_length a, struct plan_length b);
/* What the samples of a batch whose longest is `longest` are filled up to. UINT64_MAX: more than there can be. */
struct plan_length mldfi_length_room(const struct plan_output *output, struct plan_length longest);
/* Rows of a list, pixels of an image or of all frames; UINT64_MAX: more than can be counted. */
uint64_t mldfi_length_count(const struct plan_output *output, struct plan_length length);
/* Does the size of a batch depend on its samples? */
bool mldfi_length_open(const struct plan_output *output);
/* Which of the lengths a dimension of the output is; PLAN_LENGTHS: none. */
uint32_t mldfi_length_at(const struct plan_output *output, uint32_t dim);
size_t mldfi_plan_output_count(const struct plan *plan);
const struct plan_output *mldfi_plan_output(const struct plan *plan, size_t index);
/* Does the sample at position p need the one at p ^ 1? */
bool mldfi_plan_pairs(const struct plan *plan);
/* Fields of the schema that it reads, ascending. */
const size_t *mldfi_plan_fields(const struct plan *plan, size_t *count);
/* Is this field of the schema named by a statement, also by one that drops it, or an output without one? */
bool mldfi_plan_names(const struct plan *plan, size_t field);
/* Name and version of the decoder of its videos, if another version's frames may differ; otherwise NULL. */
const char *mldfi_plan_decoder(const struct plan *plan);
/* From *chain on: the next one that decodes a field of recordings, the field's name, and which decoders it takes. False: there is none. Parts of fields (the
 * sound of a video, recordings of multimodal samples) are left out. */
struct audio_choice;
bool mldfi_plan_sound(const struct plan *plan, size_t *chain, const char **field, const struct audio_choice **choice);

/* A piece of a value in time: `have` steps from `from` on, and zeros up to `steps`. steps MLDF_NONE: the value should have been unreadable. */
enum { PIECE_FRAMES = 64 };
struct plan_piece {
    uint64_t from, have, steps;
    /* Of a video instead: the frames at these times, in seconds from its first frame on; NAN: zeros. Each must be within the tolerance. */
    uint32_t frames; /* 0: as above */
    double tolerance, seconds[PIECE_FRAMES];
    bool failed; /* the times could not be found: this is why */
    mldf_error why;
};

/* Where values come from. Called by mldfi_plan_run for the positions it was given and, with pairs, for their partners. */
struct plan_feed {
    void *user;
    /* The value of a field (index into the plan's schema) of the sample at a position of the epoch. Data lives until the next call for the
     * same position's field, in the mapping or in scratch (whose content the callee replaces). */
    mldf_status (*get)(void *user, uint64_t position, size_t field, mldf_buffer *scratch, mldf_value *out,
                       mldf_error *err);
    /* The same from the row alone, where that says what the value is: its data is NULL then, its bytes are counted. NULL: get. */
    mldf_status (*record)(void *user, uint64_t position, size_t field, mldf_buffer *scratch, mldf_value *out,
                          mldf_error *err);
    /* Bytes [offset, offset + bytes) of a value's payload, and its record. NULL: cut from what get gives. */
    mldf_status (*range)(void *user, uint64_t position, size_t field, uint64_t offset, uint64_t bytes,
                         mldf_buffer *scratch, mldf_value *out, mldf_error *err);
    /* The stored value of a field whose type decodes into memory (field_type.decode_into): record and payload, kind STORED, or a null; and the field
     * of the file that has it. Only plans with such fields call it. */
    mldf_status (*stored)(void *user, uint64_t position, size_t field, mldf_buffer *scratch, mldf_value *out,
                          const struct schema_field **of, mldf_error *err);
    /* The whole value of a field, which has one shape, straight to where it is wanted: for chains without steps. NULL: get. */
    mldf_status (*into)(void *user, uint64_t position, size_t field, void *dst, mldf_error *err);
    /* Which piece of a value that is decoded the sample at a position is: false, or a NULL here: all of it. Other values get and record cut. */
    bool (*piece)(void *user, uint64_t position, size_t field, struct plan_piece *out);
    /* The index in the dataset of the sample at a position. NULL: the position itself. */
    uint64_t (*index)(void *user, uint64_t position);
};

/* Memory of one thread. */
mldf_status mldfi_worker_new(const struct plan *plan, struct plan_worker **out, mldf_error *err);
void mldfi_worker_free(struct plan_worker *worker);

/* Where one sample's output goes. */
struct plan_target {
    void *data;
    struct plan_length room; /* not FIXED: the lengths that fit; more is an error. PAD fills up to here */
};

/* Bytes [offset, offset + bytes) of a field's payload. */
struct plan_range {
    size_t field;
    uint64_t offset, bytes;
};
struct plan_ranges {
    struct plan_range *items; /* grows; the caller frees it */
    size_t count, capacity;
};

/* The sample at a position before it is run, from its records and its draws alone (prepare.c). lengths: those that outputs which are not FIXED
 * will have; others get 0. ranges: the bytes that sources which read parts of payloads will fetch. Either may be NULL. */
mldf_status mldfi_plan_prepare(const struct plan *plan, struct plan_worker *worker, const struct plan_feed *feed,
                               uint64_t epoch, uint64_t position, struct plan_length *lengths,
                               struct plan_ranges *ranges, mldf_error *err);
/* The length of one output where the sample's record alone says it, so that no payload is touched; MLDF_END: it does not, and mldfi_plan_prepare knows. For
 * plans of batches: what is run is measured by the sample itself. */
mldf_status mldfi_plan_record_length(const struct plan *plan, struct plan_worker *worker, const struct plan_feed *feed,
                                     uint64_t position, size_t output, struct plan_length *out, mldf_error *err);
/* Is this field read in parts alone, so that mldfi_plan_prepare's ranges are all that is needed of it? */
bool mldfi_plan_has_ranges(const struct plan *plan, size_t field);
/* Fields whose records decide about ranges: they, and those of the leaders of their groups. */
bool mldfi_plan_prepares(const struct plan *plan, size_t field);
/* One sample: targets[output]. The error names the field and the step. */
mldf_status mldfi_plan_run(const struct plan *plan, struct plan_worker *worker, const struct plan_feed *feed,
                           uint64_t epoch, uint64_t position, const struct plan_target *targets, mldf_error *err);
/* The samples at `even` and even + 1 together, when the plan pairs; targets NULL: not wanted on that side. `alone`: even + 1 lies beyond the
 * epoch's end: the sample is its own partner. */
mldf_status mldfi_plan_run_pair(const struct plan *plan, struct plan_worker *worker, const struct plan_feed *feed,
                                uint64_t epoch, uint64_t even, bool alone, const struct plan_target *targets_even,
                                const struct plan_target *targets_odd, mldf_error *err);

/* Of the sample that was run last (side 1: the odd one of a pair): was the output's value null, and filled? */
bool mldfi_worker_filled(const struct plan_worker *worker, unsigned side, size_t output);

/* Of that sample: the lengths of outputs that became shorter than they were measured, into the places that mldfi_plan_prepare filled. */
void mldfi_worker_lengths(const struct plan_worker *worker, unsigned side, struct plan_length *lengths);

/* And what came of its clips (clips.c): valid and pts have count * frames entries, start and end have `count`. NULL: not there. */
struct clip_notes {
    const bool *valid;
    const double *pts, *start, *end;
    const int64_t *samples; /* of clips of a recording; there is nothing else then */
};
struct clip_notes mldfi_worker_clips(const struct plan_worker *worker, unsigned side, size_t output);

/* Time of each step, added up by a worker in seconds; measured only while `on`. Names and count are the plan's. */
size_t mldfi_plan_step_count(const struct plan *plan);
const char *mldfi_plan_step_name(const struct plan *plan, size_t step);
/* "a + b": those of the step's operations that could be done once, when packing (once.c); empty: none. */
void mldfi_plan_step_once(const struct plan *plan, size_t step, char *out, size_t room);
void mldfi_worker_timing(struct plan_worker *worker, bool on);
const double *mldfi_worker_times(const struct plan_worker *worker);
/* Bytes of stored values that went through the worker. */
uint64_t mldfi_worker_bytes(const struct plan_worker *worker);

#endif
