/* Operations: what a pipeline's steps are made of. An operation is a constant description (struct op_type) in one of the op_*.c files, listed in
 * op_registry.c; a step of a pipeline is an instance of it (struct op) with its parameters bound and its types inferred.
 *
 * The life of a step:
 *   bind   parameters from the text, checked against `params`: names, kinds, ranges, choices         (parameters.c)
 *   infer  type of the input → type of the output; constants are computed into op->state                (graph.c calls)
 *   draw   for each sample: everything that depends on random numbers or on the image's size, into a small struct that is the same for
 *          all members of a group (image, mask, boxes, points)                                        (run.c calls)
 *   dims   of the output, of types and samples, where the input's dims say them; else
 *   shape  dims of this sample's output
 *   run    the work; the plain definition of the operation. Rewriting (plan.c) may replace it by something that gives the same bits.
 *
 * Everything here is bit-exact by construction: no libm (util/math.h), no reduction whose order depends on anything, no state. */
#ifndef MLDF_PIPELINE_OP_H
#define MLDF_PIPELINE_OP_H

#include "field/edge.h"
#include "kernel/kernels.h"
#include "kernel/raster.h"
#include "mldf/image.h"
#include "mldf/schema.h"
#include "util/random.h"

/* ---- Values between steps; their types are struct edge (field/edge.h) ------------------------------------------------------------- */

/* One value at run time. Dense. `axes` as the edge has them. */
struct tensor {
    void *data;
    mldf_dtype dtype;
    char axes[MLDF_MAX_DIMS + 1];
    uint32_t ndim;
    uint64_t dims[MLDF_MAX_DIMS];
};
/* A value of this type, without data and dims. */
static inline struct tensor mldfi_tensor_of(const struct edge *e) {
    struct tensor t = {.dtype = e->dtype, .ndim = e->ndim};
    __builtin_memcpy(t.axes, e->axes, sizeof t.axes);
    return t;
}
/* The dims of an image whose axes are set. */
static inline void mldfi_tensor_set_image(struct tensor *t, uint64_t height, uint64_t width, uint64_t channels) {
    t->dims[mldfi_axis(t->axes, 'h')] = height;
    t->dims[mldfi_axis(t->axes, 'w')] = width;
    t->dims[mldfi_axis(t->axes, 'c')] = channels;
}
uint64_t mldfi_tensor_count_large(const struct tensor *t);
/* Elements. */
static inline uint64_t mldfi_tensor_count(const struct tensor *t) {
    uint64_t count = 1;
    bool large = false;
    for (uint32_t i = 0; i < t->ndim && i < MLDF_MAX_DIMS; i++)
        large |= __builtin_mul_overflow(count, t->dims[i], &count);
    return large ? mldfi_tensor_count_large(t) : count;
}
/* SIZE_MAX: more than fit into memory; no buffer becomes so large, and no place in a batch is. */
static inline size_t mldfi_tensor_bytes(const struct tensor *t) {
    size_t bytes;
    return __builtin_mul_overflow(mldfi_tensor_count(t), mldfi_dtype_size(t->dtype), &bytes) ? SIZE_MAX : bytes;
}
/* A IMAGE tensor's sides, whatever its layout. */
static inline uint64_t mldfi_tensor_height(const struct tensor *t) {
    return t->dims[mldfi_axis(t->axes, 'h')];
}
static inline uint64_t mldfi_tensor_width(const struct tensor *t) {
    return t->dims[mldfi_axis(t->axes, 'w')];
}
static inline uint64_t mldfi_tensor_channels(const struct tensor *t) {
    return t->dims[mldfi_axis(t->axes, 'c')];
}

/* ---- Parameters ----------------------------------------------------------------------------------------------------------- */

typedef enum param_kind {
    PARAM_INT,
    PARAM_FLOAT,
    PARAM_BOOL,
    PARAM_CHOICE, /* one of the words in `choices` */
    PARAM_TEXT,   /* a quoted string, or a word */
    PARAM_INTS,   /* one number or a list [a, b]; */
    PARAM_FLOATS, /* one number, a list, or one of the words in `choices` (e.g. imagenet) */
    PARAM_DTYPE   /* u8, i64, f32, bf16 ... */
} param_kind;

struct op_param {
    const char *name;
    param_kind kind;
    const char *fallback;          /* text of the default; NULL: must be given */
    double least, most;            /* of each number; both 0: any finite */
    const char *const *choices;    /* NULL-terminated; for CHOICE, and words that FLOATS takes */
    uint32_t min_count, max_count; /* INTS, FLOATS: how many numbers; 0, 0: any */
    const char *help;
};

enum { OP_MAX_PARAMS = 16, OP_MAX_LIST = 4096 };

struct arg {
    bool given;     /* not the default */
    int64_t i;      /* INT, BOOL; CHOICE: index; word of FLOATS: index, else -1; DTYPE */
    double f;       /* INT, FLOAT */
    double *list;   /* INTS, FLOATS */
    uint32_t count; /* of list */
    char *text;     /* TEXT */
    size_t text_bytes;
    uint32_t offset; /* byte in the pipeline's text, for messages */
};

/* ---- Operations -------------------------------------------------------------------------------------------------------------- */

enum {
    OP_DRAWS = 1,  /* has draw */
    OP_RANDOM = 2, /* its draw uses random numbers */
    OP_AXIS =
        4, /* geometry that `geometry` can state: crops, one resize, flips: goes into the decoder and the resampler */
    OP_POINT =
        8, /* each output element depends on the input element at the same place (and its channel) alone: for 8-bit inputs it can
                         become a table of 256 entries. run must accept an image of any size */
    OP_IN_PLACE = 16, /* run may have out->data == in->data */
    OP_PAIR = 32,     /* works on a sample and its partner: run_pair */
    OP_COLLATE = 64,  /* says how samples of different lengths become a batch: no run; last of its chain */
    OP_GROUP =
        128, /* may stand in a statement of several outputs with one draw for all; sees every role that infer accepts */
    OP_INPUTS = 256, /* takes several inputs: run_many */
    OP_TIME =
        512, /* selects or resamples along axis t: `pull` says what it needs of its input, so it goes into the source. Not mapped over frames */
    OP_SHRINKS = 1024 /* run may make the last of out->dims less than shape said: the values decide */
};

struct frame_times; /* field/frame_times.h */

/* What a draw may depend on besides random numbers. */
struct frame {
    uint32_t width, height; /* the image's, as the group's leader has it, in front of the step */
    uint64_t sample;        /* its index in the whole dataset; a substitute's own */
    uint64_t t;             /* how long the leader's value is, along axis t */
    const struct frame_times
        *times;         /* of a video in front of its first step along t: when its frames are shown; NULL: not known */
    struct start start; /* of a recording that is `anchored` */
};

/* Steps [from, from + count) of a value along axis t. */
struct span {
    uint64_t from, count;
};

/* What a run of OP_AXIS steps amounts to:   part(resize(crop(image)))   and then mirrored. */
struct geometry {
    uint32_t x, y, width, height; /* crop of the whole image */
    bool resized;
    uint32_t to_width, to_height;                     /* the crop becomes this; = width, height unless resized */
    uint32_t part_x, part_y, part_width, part_height; /* and of that this part remains */
    bool mirror_x, mirror_y;                          /* of the part */
    int filter;                                       /* enum resize_filter, when resized */
    bool antialias;
};
void mldfi_geometry_begin(struct geometry *g, uint32_t width, uint32_t height);
/* Each returns false when it cannot be composed (a second resize). Windows are in the present output's coordinates, mirrored or not. */
bool mldfi_geometry_crop(struct geometry *g, uint32_t x, uint32_t y, uint32_t width, uint32_t height);
bool mldfi_geometry_resize(struct geometry *g, uint32_t width, uint32_t height, int filter, bool antialias);
void mldfi_geometry_mirror(struct geometry *g, bool x, bool y);

enum { OP_DRAW_BYTES = 256 }; /* room for a draw; 16-byte aligned */

/* Memory of one worker that operations may use while they run; grows, is never freed between samples. */
struct op_work {
    const struct kernels *kernels;
    mldf_buffer scratch[3];
    struct resize_work *resize;
    const struct frame_times *times;  /* of the value in front of the step; NULL: not known */
    uint64_t epoch, position, sample; /* of the sample: its place in the epoch, its index; set before run */
};

struct op;
struct code_writer;
struct op_type {
    const char *name;
    const char *help; /* one line */
    unsigned flags;
    const struct op_param *params; /* ends with name NULL; may be NULL */
    /* A parameter: this one and those after it (choices whose first word is the default, or numbers whose default is 0) are in the canonical text only
     * where they have another value: texts from before they existed stay the same. explain names them too. */
    const char *quiet;
    uint32_t draw_bytes;  /* <= OP_DRAW_BYTES */
    media_family decodes; /* the step that stands first in every chain of this family, written or not */
    /* Type of the output, and op->state from op->args. A message says what is wrong and what was expected. `in` is op->in. */
    mldf_status (*infer)(struct op *op, const struct edge *in, struct edge *out, mldf_error *err);
    void (*free_state)(void *state); /* NULL: free() */
    /* frame: in front of the step; *next: behind it (set it when the size changes; comes filled with frame). */
    mldf_status (*draw)(const struct op *op, struct rng *rng, const struct frame *frame, void *draw, struct frame *next,
                        mldf_error *err);
    /* OP_GROUP: the draw of a member whose infer has set op->own_draw, from the leader's. frame: of the member's value. */
    mldf_status (*follow)(const struct op *op, const void *leaders, const struct frame *frame, void *draw,
                          mldf_error *err);
    /* OP_AXIS: adds the step to g. Cannot fail for what infer let pass. */
    bool (*geometry)(const struct op *op, const void *draw, struct geometry *g);
    /* OP_TIME: of the input, whose length is `length`, what the wanted span of the output is made from. What is missing at the end is zeros. */
    struct span (*pull)(const struct op *op, const void *draw, uint64_t length, struct span want);
    /* OP_TIME that takes its steps from anywhere (clip): of the input, whose length is `length`, the step that step k of the output is; MLDF_NONE: zeros.
     * False: the input has no such step, and what is given is filled up. times: of the input; NULL: not known. Instead of pull. */
    bool (*pick)(const struct op *op, const void *draw, const struct frame_times *times, uint64_t length, uint64_t k,
                 uint64_t *number);
    /* OP_TIME whose elements are not those of its input: the wanted span of the output from what pull asked for. in and out are that long. */
    mldf_status (*part)(const struct op *op, const void *draw, struct span have, const struct tensor *in,
                        struct span want, struct tensor *out, struct op_work *work, mldf_error *err);
    /* The dims of the output where they are a function of the input's: of types (draw NULL; DIM_VARIES goes through) and of samples alike. in has
     * op->in.ndim of them, out op->out.ndim; infer says nothing of them, nor of `most`. NULL: infer and shape say it. */
    void (*dims)(const struct op *op, const void *draw, const int64_t *in, int64_t *out);
    /* out comes with dtype, axes and ndim of op->out and the dims of `in`, where they have as many, or of `dims`. NULL: they stay. */
    mldf_status (*shape)(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                         mldf_error *err);
    /* out->data has room for the shape; aligned to 64. in and out do not overlap unless OP_IN_PLACE says that they may be equal. */
    mldf_status (*run)(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                       struct op_work *work, mldf_error *err);
    /* OP_PAIR: after `run` on each side: both, in place; draws of both. */
    mldf_status (*run_pair)(const struct op *op, const void *draw_a, const void *draw_b, struct tensor *a,
                            struct tensor *b, struct op_work *work, mldf_error *err);
    /* OP_INPUTS: first of its chain. */
    mldf_status (*infer_many)(struct op *op, const struct edge *in, size_t count, struct edge *out, mldf_error *err);
    mldf_status (*run_many)(const struct op *op, const void *draw, const struct tensor *in, size_t count,
                            struct tensor *out, struct op_work *work, mldf_error *err);
    /* Point-wise steps: C for one element (code.h). MLDF_END: not for this op. NULL: not for any. */
    mldf_status (*emit)(const struct op *op, struct code_writer *writer, mldf_error *err);
    /* Arguments that only the operation understands, when the text is read. *at: the byte of the text that is wrong. */
    mldf_status (*check)(const struct op *op, size_t *at, mldf_error *err);
    /* Appends "name(…)" details for --explain beyond the parameters; NULL: nothing. */
    void (*explain)(const struct op *op, mldf_buffer *out);
};

/* One step of one output's chain. */
struct op {
    const struct op_type *type;
    struct arg args[OP_MAX_PARAMS];
    void *state;            /* constants made by infer; malloc'ed */
    struct edge in, out;    /* of one frame where the operation is mapped over a clip's */
    bool frames;            /* it is, or over several clips of a recording (frames.h) */
    uint32_t stream;        /* of its random numbers */
    uint32_t shared;        /* index into the sample's draws: equal for the members of a group */
    bool leads;             /* makes the draw; the others use it */
    bool own_draw;          /* of a member: its draw, `shared`, is made from the leader's by `follow`; infer sets it */
    uint32_t follows;       /* and that is the leader's; otherwise the same as `shared` */
    struct ratio lead_rate; /* of the leader's value, when types are inferred; */
    int64_t lead_steps;     /* and its length along axis t, or DIM_VARIES; */
    bool lead_timed;        /* and whether it is a video whose frames have times */
    bool times;             /* it asks when frames are shown, so their table must be there; infer sets it */
    uint32_t offset, bytes; /* its place in the pipeline's text */
    const void *user;       /* a registered operation's own */
};

/* NULL when unknown. */
const struct op_type *mldfi_op_find(const char *name, size_t bytes);
/* The operation that decodes a family. */
const struct op_type *mldfi_op_decoder(media_family family);
/* The index-th of all operations, or NULL. */
const struct op_type *mldfi_op_at(size_t index);

/* Whether an element of the type can be exactly that; floats: anything. */
bool mldfi_dtype_holds(mldf_dtype dtype, double value);
/* A number as an element of the type; complex ones have no imaginary part. */
void mldfi_dtype_element(mldf_dtype dtype, double value, uint64_t element[2]);
/* "u8 375x500x3 image" and the like, appended. */
mldf_status mldfi_edge_write(const struct edge *edge, mldf_buffer *out, mldf_error *err);
/* MLDF_E_TYPE "step: wants ..., gets a ...". */
mldf_status mldfi_edge_refuse(const struct op *op, const struct edge *in, const char *wanted, mldf_error *err);

#endif
