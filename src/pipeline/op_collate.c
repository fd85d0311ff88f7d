/* pad, ragged and strings say how values of different lengths, and images of different sizes, become a batch (collate.c does it); truncate cuts a
 * value's first dimension. */
#include <stdlib.h>

#include "pipeline/op_collate.h"
#include "pipeline/op_help.h"
#include "pipeline/op_registry.h"
#include "pipeline/pipeline.h"
#include "util/buffer.h"
#include "util/error.h"

/* Lists of something: at least one dimension, the others fixed. The one that varies is t, or the first where they have no names. */
static mldf_status check_list(const struct op *op, const struct edge *in, mldf_error *err) {
    if (in->kind == VALUE_ENCODED || in->ndim == 0)
        return mldfi_edge_refuse(op, in, "an array of at least one dimension, or bytes", err);
    for (uint32_t i = 0; i < in->ndim; i++)
        if (in->dims[i] == DIM_VARIES && i != mldfi_list_axis(in))
            return mldfi_edge_refuse(op, in, "dimensions that are fixed, except the first", err);
    return MLDF_OK;
}

static mldf_status collate_new(struct op *op, plan_collate kind, struct collate_state **out, mldf_error *err) {
    struct collate_state *state = mldfi_alloc_zero(1, sizeof *state, err);
    if (!state)
        return MLDF_E_MEMORY;
    state->kind = kind;
    free(op->state);
    op->state = *out = state;
    return MLDF_OK;
}

/* ---- pad ------------------------------------------------------------------------------------------------------------------- */

enum { PAD_LENGTH, PAD_VALUE, PAD_MASK, PAD_MULTIPLE };
enum { PAD_MULTIPLE_MAX = 65536 };
static const struct op_param pad_params[] = {
    {"length", PARAM_INTS, "0", 0, 0x1p40, NULL, 1, 3,
     "what every sample is filled up to; a longer one is an error (truncate first); 0: the longest of the batch. "
     "Images: n for both sides, or [h, w]; clips: n for the frames, or [t, h, w]"},
    {"value", PARAM_FLOAT, "0", 0, 0, NULL, 0, 0, "what is filled in"},
    {"mask", PARAM_BOOL, "false", 0, 0, NULL, 0, 0, "one more output NAME_mask: true where there is data"},
    {"multiple", PARAM_INT, "1", 1, PAD_MULTIPLE_MAX, NULL, 0, 0,
     "the longest of the batch is rounded up to a multiple of this; of images, both sides"},
    OP_END_OF_PARAMS,
};

/* Dimension `at` of the batch's samples: as asked for; 0: known when the batch is. */
static mldf_status pad_dim(const struct op *op, const struct edge *in, uint32_t at, double asked, uint64_t *out,
                           mldf_error *err) {
    uint64_t length = (uint64_t)asked, multiple = (uint64_t)op->args[PAD_MULTIPLE].i;
    *out = length;
    if (length % multiple)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "length %llu is not a multiple of %llu", (unsigned long long)length,
                          (unsigned long long)multiple);
    if (in->dims[at] == DIM_VARIES)
        return MLDF_OK;
    if (length > 0 && (uint64_t)in->dims[at] > length)
        return mldfi_fail(err, MLDF_E_TYPE, "every value has the length %lld, which is more than %llu",
                          (long long)in->dims[at], (unsigned long long)length);
    if (length == 0)
        *out = ((uint64_t)in->dims[at] + multiple - 1) / multiple * multiple;
    return MLDF_OK;
}

/* The lengths of a padded value: its axes t, h and w; of a list the first dimension. */
static void find_lengths(const struct edge *in, struct collate_state *state) {
    static const char letters[] = "thw";
    if (in->kind != VALUE_IMAGE) {
        state->length_count = 1;
        state->length_dims[0] = mldfi_list_axis(in);
        return;
    }
    for (const char *letter = letters; *letter; letter++) {
        uint32_t at = mldfi_axis(in->axes, *letter);
        if (in->axes[at])
            state->length_dims[state->length_count++] = at;
    }
}

/* One number is for both sides of an image, and for the frames alone of a clip. */
static double asked_at(const struct arg *asked, const struct collate_state *state, uint32_t i) {
    if (asked->count == 1)
        return state->length_count < 3 || i == 0 ? asked->list[0] : 0;
    return asked->list[i];
}

static mldf_status pad_lengths(const struct op *op, const struct edge *in, struct collate_state *state,
                               mldf_error *err) {
    const struct arg *asked = &op->args[PAD_LENGTH];
    bool image = in->kind == VALUE_IMAGE;
    mldf_status status = MLDF_OK;
    find_lengths(in, state);
    if (asked->count != 1 && asked->count != state->length_count)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "%s",
                          !image                     ? "two lengths are for images; a list has one"
                          : state->length_count == 2 ? "three lengths are for clips; an image has two"
                                                     : "a clip has three lengths: [t, h, w]");
    for (uint32_t i = 0; i < state->length_count && status == MLDF_OK; i++)
        status = pad_dim(op, in, state->length_dims[i], asked_at(asked, state, i), &state->length.n[i], err);
    for (uint32_t i = 0; i < state->length_count && image && status == MLDF_OK; i++)
        if (state->length.n[i] > PLAN_SIDE_MAX)
            status = mldfi_edge_refuse(op, in, "images of fewer pixels", err);
    return status;
}

static mldf_status pad_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    struct collate_state *state;
    mldf_status s = in->kind == VALUE_IMAGE ? MLDF_OK : check_list(op, in, err);
    *out = *in;
    if (!s && !mldfi_dtype_holds(in->dtype, op->args[PAD_VALUE].f))
        s = mldfi_fail(err, MLDF_E_ARGUMENT, "value %g does not fit the element type %s", op->args[PAD_VALUE].f,
                       mldfi_dtype_short(in->dtype));
    if (!s)
        s = collate_new(op, COLLATE_PAD, &state, err);
    if (!s)
        s = pad_lengths(op, in, state, err);
    if (s)
        return s;
    state->multiple = (uint64_t)op->args[PAD_MULTIPLE].i;
    state->fill = op->args[PAD_VALUE].f;
    state->mask = op->args[PAD_MASK].i != 0;
    return MLDF_OK;
}

static const struct op_type mldfi_op_pad = {
    .name = "pad",
    .help =
        "a batch of values of different lengths as one array, filled up at their ends (images of different sizes: at "
        "the right and below, so that boxes and points stay right); last step of an output",
    .flags = OP_COLLATE,
    .params = pad_params,
    .infer = pad_infer,
};

/* ---- ragged ------------------------------------------------------------------------------------------------------------------- */

static mldf_status ragged_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    struct collate_state *state;
    mldf_status s = check_list(op, in, err);
    *out = *in;
    if (!s && mldfi_list_axis(in) > 0)
        s = mldfi_edge_refuse(op, in, "the dimension that varies in front (pad takes (channels, t))", err);
    if (!s)
        s = collate_new(op, COLLATE_RAGGED, &state, err);
    if (!s)
        state->length_count = 1;
    return s;
}

static const struct op_type mldfi_op_ragged = {
    .name = "ragged",
    .help = "a batch of values of different lengths one after the other, and where each begins; last step of an output",
    .flags = OP_COLLATE,
    .infer = ragged_infer,
};

/* ---- strings --------------------------------------------------------------------------------------------------------------------- */

static mldf_status strings_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    struct collate_state *state;
    *out = *in;
    if (in->kind != VALUE_BYTES)
        return mldfi_edge_refuse(op, in, "text, JSON or bytes", err);
    mldf_status s = collate_new(op, COLLATE_RAGGED, &state, err);
    if (!s) {
        state->length_count = 1;
        state->text = true;
    }
    return s;
}

static const struct op_type mldfi_op_strings = {
    .name = "strings",
    .help = "text in a batch: a list of str in Python; in C the UTF-8 bytes of all samples end to end, and NAME_offset "
            "says where each begins, as with ragged. A value that is not UTF-8 is a bad sample; last step of an output",
    .flags = OP_COLLATE,
    .infer = strings_infer,
};

/* ---- truncate -------------------------------------------------------------------------------------------------------------------- */

enum { TRUNCATE_LENGTH, TRUNCATE_SIDE };
static const char *const sides[] = {"right", "left", NULL};
static const struct op_param truncate_params[] = {
    {"length", PARAM_INT, NULL, 0, 0x1p40, NULL, 0, 0, "how much of the first dimension may remain"},
    {"side", PARAM_CHOICE, "right", 0, 0, sides, 0, 0, "right: the end is cut off; left: the beginning"},
    OP_END_OF_PARAMS,
};

static mldf_status truncate_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    uint64_t length = (uint64_t)op->args[TRUNCATE_LENGTH].i;
    *out = *in;
    if ((in->kind != VALUE_ARRAY && in->kind != VALUE_BYTES) || in->ndim == 0)
        return mldfi_edge_refuse(op, in, "an array of at least one dimension, or bytes", err);
    if (mldfi_list_axis(in) > 0)
        return mldfi_edge_refuse(op, in, "the dimension to cut in front (window(samples=n) cuts (channels, t))", err);
    if (in->dims[0] != DIM_VARIES && (uint64_t)in->dims[0] > length)
        out->dims[0] = (int64_t)length;
    if (in->most[0] > length) /* MLDF_NONE too */
        out->most[0] = length;
    return MLDF_OK;
}

static mldf_status truncate_shape(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                                  mldf_error *err) {
    uint64_t length = (uint64_t)op->args[TRUNCATE_LENGTH].i;
    (void)draw;
    (void)err;
    memcpy(out->dims, in->dims, sizeof out->dims);
    if (out->dims[0] > length)
        out->dims[0] = length;
    return MLDF_OK;
}

static mldf_status truncate_run(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                                struct op_work *work, mldf_error *err) {
    size_t all = mldfi_tensor_bytes(in), kept = mldfi_tensor_bytes(out);
    (void)draw;
    (void)work;
    (void)err;
    if (kept)
        memcpy(out->data, (const uint8_t *)in->data + (op->args[TRUNCATE_SIDE].i ? all - kept : 0), kept);
    return MLDF_OK;
}

static const struct op_type mldfi_op_truncate = {
    .name = "truncate",
    .help = "at most so much of an array's first dimension",
    .params = truncate_params,
    .infer = truncate_infer,
    .shape = truncate_shape,
    .run = truncate_run,
};

const struct op_type *const mldfi_ops_collate[] = {&mldfi_op_pad, &mldfi_op_ragged, &mldfi_op_strings,
                                                   &mldfi_op_truncate, NULL};
