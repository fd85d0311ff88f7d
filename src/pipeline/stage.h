/* Stages: what a chain is executed as, after rewriting; and the memory they run in. plan.c makes them, run.c and run_source.c run them. */
#ifndef MLDF_PIPELINE_STAGE_H
#define MLDF_PIPELINE_STAGE_H

#include "kernel/finish.h"
#include "kernel/resize.h"
#include "pipeline/code.h"
#include "pipeline/pipeline.h"

/* A run of point-wise steps as one pass over 8-bit pixels (or a mere change of layout of any pixels). */
struct finish_plan {
    bool use;
    size_t first, count; /* operations */
    bool affine; /* one affine map, and maybe a narrower float: struct finish says it all. Otherwise the steps are run
                            on a ramp, and the pixels go through the table of 256 values for each channel that it gives */
    size_t
        bytes; /* not affine: so many steps give bytes again, and `finish` does what follows them: their table is part of
                            the same pass, also inside of a resize. 0: the table is of all steps */
    struct finish finish;
    bool random; /* the table depends on the sample's draws */
};

typedef enum stage_kind {
    STAGE_SOURCE, /* decode, the axis steps behind it, and `finish` when all of them can be composed */
    STAGE_FINISH, /* point-wise steps as one pass */
    STAGE_CODE,   /* point-wise steps as one C function (code.h); one by one until it is there */
    STAGE_OP,     /* one operation as it is */
    STAGE_PAIR,   /* one operation on a sample and its partner */
    STAGE_JOIN    /* inputs become one value */
} stage_kind;

struct stage {
    stage_kind kind;
    size_t first, count; /* operations; SOURCE: without those of finish */
    struct finish_plan finish;
    size_t code; /* CODE: which function */
    size_t step; /* which of the plan's times: SOURCE has two, decode and the rest */
};

struct plan {
    struct plan_options options;
    const struct kernels *kernels;
    struct graph graph;
    size_t *fields;
    size_t field_count;
    bool pairs;
    bool tabled; /* a chain reads parts that a payload's table says */
    bool steps;  /* it has operations, which may ask for the sample's index */
    struct code *code;
    char **step_names;
    size_t step_count;
    mldf_buffer log; /* for explain: the passes */
    struct plan_share {
        size_t field;
        size_t last; /* of its chains */
        bool ranges; /* all of them read parts of the payload */
    } * shares;      /* fields that several chains read (held.c) */
    size_t share_count;
};

enum { JOIN_MAX = 64 }; /* inputs of one operation */

/* What a sample has of a field that several chains read (held.c). */
struct held {
    bool has_value, has_record, has_pieces;
    bool counted; /* its bytes, as read */
    mldf_value value, record;
    const struct schema_field *of; /* of a stored value */
    mldf_buffer value_scratch, record_scratch;
    struct held_piece {
        uint64_t offset, bytes;
        const void *data;
        mldf_buffer scratch;
    } * pieces; /* of the payload */
    size_t piece_count, piece_capacity;
    const void *head; /* bytes that an extent asked for */
    uint64_t head_offset, head_bytes;
    mldf_buffer head_scratch;
};

/* One side (a sample, or its partner) of what a worker computes. */
struct side {
    uint64_t position, sample; /* place in the epoch; index in the dataset */
    bool many;                 /* a chain runs for each of several parts: */
    uint64_t entry;            /* this one. Its draws, from the second on: */
    uint8_t (*entry_draws)[OP_DRAW_BYTES];
    bool *entry_drawn;
    size_t entry_draw_capacity, entry_drawn_capacity, entry_count; /* entry_count: for so many entries */
    uint8_t (*draws)[OP_DRAW_BYTES];                               /* [shared_count], aligned to 16 */
    bool *drawn;
    struct held *held; /* [share_count] */
    struct chain_memory {
        mldf_buffer value;                  /* what the feed put aside */
        mldf_buffer buffers[2];             /* results of stages, in turn */
        struct tensor tensor;               /* the present value */
        int in;                             /* which buffer holds it; -1: elsewhere, not to be written */
        struct frame frame;                 /* of an image */
        bool null;                          /* the chain's own value was null: ops from fill_at on run on a constant */
        uint64_t samples;                   /* of the last wave on the way, where the chain has one (prepare.c) */
        bool filled;                        /* it was, or the one was that it goes on from */
        mldf_buffer table;                  /* of point-wise steps, */
        const struct finish_plan *table_of; /* these ones */
        mldf_buffer notes;                  /* of a chain with clips: what clips.c says of them; its times: */
        mldf_buffer pts;                    /* i64 of all frames of a video whose frames have times of their own, */
        mldf_buffer numbers;                /* the frames of it that are wanted (source_video.c) */
        mldf_buffer picked;                 /* the frames that a view chose */
        uint64_t steps;                     /* of the chain's own value along axis t, before any step */
        struct start start;                 /* of a recording that is `anchored` */
        struct source_run *source;          /* of a chain that decodes: what was prepared last (source.h) */
        struct part_memory {                /* of a chain whose value is a part in a table (run_parts.c) */
            bool known, null;               /* the table of this sample is here; the whole value is null */
            mldf_buffer table;              /* the record in front of it */
            mldf_buffer bytes, made;        /* a part as it is stored; what its type made of it */
            mldf_buffer gather;             /* entries that were run */
            bool has_whole;                 /* the whole value was read, and checked, for a part that is packed: */
            mldf_value whole;
            uint64_t payload_bytes;
            uint64_t next, at; /* entry `next` of the chain begins at `at` of the table */
            struct part_place place;
        } part;
    } * chains;
};

struct plan_worker {
    const struct plan *plan;
    struct op_work work;
    struct media_kit kit;
    mldf_buffer pixels;
    struct side sides[2];
    bool timing;
    double *times;
    uint64_t bytes;
    struct plan_ranges ranges; /* held.c */
};

struct run {
    const struct plan *plan;
    struct plan_worker *worker;
    const struct plan_feed *feed;
    uint64_t epoch;
    bool measuring; /* shapes alone: values need no data */
};

/* run_source.c */
mldf_status mldfi_run_source(const struct run *r, struct side *side, size_t chain, const struct stage *stage, void *dst,
                             size_t dst_bytes, mldf_error *err);
/* plan_finish.c */
void mldfi_plan_finish(const struct plan *plan, const struct chain *chain, size_t first, struct finish_plan *out);
/* The pass is one of struct finish's. */
static inline bool mldfi_finish_is_kernel(const struct finish_plan *plan) {
    return plan->affine || plan->bytes > 0;
}
/* ... which is this one for a sample; its table lives until the chain makes another. */
mldf_status mldfi_finish_of(const struct run *r, struct side *side, const struct chain *chain,
                            const struct finish_plan *plan, struct finish *out, mldf_error *err);
mldf_status mldfi_run_finish(const struct run *r, struct side *side, const struct chain *chain,
                             const struct finish_plan *plan, const struct raster *image, bool mirror_x, bool mirror_y,
                             void *dst, mldf_error *err);

/* run_source.c: the source of a sample, prepared; the shape of what it gives in the chain's memory. *first: the operation that comes next. */
mldf_status mldfi_source_shape(const struct run *r, struct side *side, size_t chain, size_t *first, mldf_error *err);
/* The byte ranges that a source which is prepared will fetch, appended; nothing where it has none. */
mldf_status mldfi_source_ranges(const struct run *r, struct side *side, size_t chain, struct plan_ranges *out,
                                mldf_error *err);
/* collate.c: bytes of a sample's place in the batch; and its result there, filled up. */
size_t mldfi_room_bytes(const struct plan_output *output, const struct plan_target *target);
mldf_status mldfi_deliver(const struct plan_output *output, const struct tensor *t, const struct plan_target *target,
                          mldf_error *err);

/* clips.c: after a chain has run, what its clips are made of, into its memory. */
mldf_status mldfi_note_clips(const struct run *r, struct side *side, size_t chain, mldf_error *err);
/* run_source.c: how long the value is after a step along axis t: a member of a group does not draw, so its draw does not say. */
mldf_status mldfi_step_time(const struct op *op, const void *draw, const struct frame *before, struct frame *after,
                            mldf_error *err);

/* run_parts.c: parts that a payload's table says. Begins a sample. */
void mldfi_part_begin(const struct plan *plan, struct side *side);
void mldfi_part_free(struct side *side, struct chain_memory *memory);
/* The record and, unless `record`, the stored bytes of the entry that the side is at; kind NULL: it is null, or not there. */
mldf_status mldfi_part_value(const struct run *r, struct side *side, size_t chain, bool record, mldf_value *out,
                             struct part_place *place, mldf_error *err);
/* The same decoded, for values that no decoder of media is needed for; a column of the table. */
mldf_status mldfi_part_fetch(const struct run *r, struct side *side, size_t chain, bool record, mldf_value *out,
                             mldf_error *err);
/* Is the length of the output so many entries, or so long as all of them are stored? Then a record may say it (prepare.c). */
bool mldfi_counts_entries(const struct chain *c);
/* All entries of a chain one after the other, and their shape alone. */
mldf_status mldfi_run_entries(const struct run *r, struct side *side, size_t chain, const struct plan_target *target,
                              mldf_error *err);
mldf_status mldfi_shape_entries(const struct run *r, struct side *side, size_t chain, mldf_error *err);
/* Room for the draw of the side's entry; *drawn: whether it was made. */
mldf_status mldfi_entry_draw(const struct plan *plan, struct side *side, uint32_t shared, void **room, bool **drawn,
                             mldf_error *err);
/* run.c: the stages of a chain, without the last step into the batch; prepare.c: the shape of what they give. */
mldf_status mldfi_run_stages(const struct run *r, struct side *side, size_t chain, size_t first, size_t end, void *into,
                             size_t into_bytes, mldf_error *err);
mldf_status mldfi_shape_one(const struct run *r, struct side *side, size_t chain, mldf_error *err);

/* run_code.c */
mldf_status mldfi_run_code(const struct run *r, struct side *side, size_t chain, const struct stage *stage, void *dst,
                           size_t dst_bytes, mldf_error *err);

/* held.c: fields that several chains read. */
mldf_status mldfi_plan_note_shares(struct plan *plan, mldf_error *err);
mldf_status mldfi_held_new(const struct plan *plan, struct side *side, mldf_error *err);
void mldfi_held_free(const struct plan *plan, struct side *side);
void mldfi_held_begin(const struct plan *plan, struct side *side);
/* The value of the chain's field; record: as its row tells it. */
mldf_status mldfi_read_value(const struct run *r, struct side *side, size_t chain, bool record, mldf_value *out,
                             mldf_error *err);
/* Its record and payload, and the field that has them (plan_feed.stored). */
mldf_status mldfi_read_stored(const struct run *r, struct side *side, size_t chain, mldf_value *out,
                              const struct schema_field **of, mldf_error *err);
/* Such a value was read: its bytes count once. */
void mldfi_count_value(const struct run *r, struct side *side, size_t chain, uint64_t bytes);
/* prepare.c: the chains after this one, up to `last`, as far as their ranges depend on it. */
mldf_status mldfi_prepare_later(const struct run *r, struct side *side, size_t chain, size_t last, mldf_error *err);

/* run_value.c: the field's value into the chain's memory; and the same for a chain that begins with another one's. dst: as below. */
mldf_status mldfi_fetch_value(const struct run *r, struct side *side, size_t chain, void *dst, size_t dst_bytes,
                              mldf_error *err);
mldf_status mldfi_begin_chain(const struct run *r, struct side *side, size_t chain, void *dst, size_t dst_bytes,
                              mldf_error *err);
/* The dims of an array's value, as the chain's type has them. */
mldf_status mldfi_take_dims(const struct chain *c, const mldf_value *v, struct tensor *t, mldf_error *err);
/* run_into.c: the same for a field whose type decodes into memory. dst: where the value may go at once; NULL: the chain's memory. */
mldf_status mldfi_fetch_into(const struct run *r, struct side *side, size_t chain, void *dst, size_t dst_bytes,
                             mldf_error *err);
/* run_direct.c: fills chain.direct; and runs such a chain. MLDF_AGAIN: its value is null, or not as its type says: the long way sees to it. */
void mldfi_plan_note_direct(struct graph *graph);
mldf_status mldfi_run_direct(const struct run *r, struct side *side, size_t chain, const struct plan_target *target,
                             mldf_error *err);
/* run_value.c: a number as an element. */
mldf_status mldfi_take_number(const mldf_value *v, mldf_dtype dtype, void *out, mldf_error *err);
/* What the chain's input has made, as the chain sees it: its value, or its shape alone. */
void mldfi_take_input(const struct run *r, struct side *side, size_t chain);
/* A file's pages that are not in memory are waited for where they are first used. When steps are timed they are used here, so that the time counts
 * as reading. */
void mldfi_await_bytes(const struct run *r, const void *data, size_t bytes);
/* The value is null: what it becomes, or an error. */
mldf_status mldfi_take_null(const struct run *r, struct side *side, size_t chain, mldf_error *err);
/* once.c: fills chain.once. */
void mldfi_plan_note_once(struct graph *graph);
/* explain.c: the plan as written and after each pass, appended. */
mldf_status mldfi_explain_passes(const struct plan *plan, mldf_buffer *out, mldf_error *err);

/* What draws depend on: an image's sides, how long a value is; mldfi_draw adds the sample. */
static inline struct frame mldfi_frame_of(const struct tensor *t) {
    struct frame frame = {0};
    if (!t->axes[0]) { /* most values have no names for their dimensions */
        frame.t = t->ndim ? t->dims[0] : 0;
        return frame;
    }
    uint32_t h = mldfi_axis(t->axes, 'h'), w = mldfi_axis(t->axes, 'w'), at = mldfi_axis(t->axes, 't');
    if (t->axes[h] && t->axes[w]) {
        frame.height = (uint32_t)t->dims[h];
        frame.width = (uint32_t)t->dims[w];
    }
    if (at < t->ndim)
        frame.t = t->dims[at];
    return frame;
}

/* prepare.c: fills chain.prepared. */
void mldfi_plan_note_prepared(struct graph *graph);

/* run.c */
void mldfi_begin_side(const struct plan *plan, const struct plan_feed *feed, struct side *side, uint64_t position);
/* Stages [first, end) of a chain; with all of them done, the result goes to the target. */
mldf_status mldfi_run_chain(const struct run *r, struct side *side, size_t chain, size_t first, size_t end,
                            const struct plan_target *target, mldf_error *err);
/* In an error: the field that the value came from; for what was made of others, the output. And the step. */
void mldfi_name_chain(const struct chain *c, mldf_error *err);
mldf_status mldfi_in_step(const struct op *op, mldf_status status, mldf_error *err);
/* What comes out of a step, as far as the types say; and for this value, without data. */
struct tensor mldfi_tensor_like(const struct op *op, const struct tensor *in);
mldf_status mldfi_shape_step(const struct run *r, const struct op *op, const void *draw, const struct tensor *value,
                             struct tensor *out, mldf_error *err);
mldf_status mldfi_run_finish_stage(const struct run *r, struct side *side, size_t chain, const struct finish_plan *plan,
                                   void *dst, size_t dst_bytes, mldf_error *err);
mldf_status mldfi_draw(const struct run *r, struct side *side, const struct op *op, struct frame *frame,
                       const void **draw, mldf_error *err);
/* Room for a stage's output that is not in the present buffer. */
mldf_status mldfi_stage_room(struct chain_memory *memory, struct tensor *out, void *dst, size_t dst_bytes, int *in,
                             mldf_error *err);
mldf_status mldfi_run_op(const struct run *r, struct side *side, size_t chain, const struct op *op, void *dst,
                         size_t dst_bytes, mldf_error *err);
double mldfi_worker_clock(const struct plan_worker *worker);

#endif
