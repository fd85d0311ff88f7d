/* fill: what a null of a nullable field becomes. Steps in front of it are left out for a null, those behind it work on the constant; a value that
 * is there goes past it. So it is no stage of its own: graph_step.c takes it out of the chain (chain->fill), fusing sees the other steps alone,
 * and run.c asks here for the constant when a value turns out to be null. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/null.h"
#include "pipeline/op_fill.h"
#include "pipeline/op_help.h"
#include "pipeline/op_registry.h"
#include "pipeline/pipeline.h"
#include "util/buffer.h"
#include "util/error.h"

enum { NULL_VALUE, NULL_VALID };
static const char *const words[] = {"nan", NULL};
static const struct op_param params[] = {
    {"value", PARAM_FLOATS, "0", 0, 0, words, 1, FILL_CHANNELS,
     "every element of what a null becomes (where lengths vary, an empty value): a number, one for each channel of an "
     "image, or a word"},
    {"valid", PARAM_BOOL, "false", 0, 0, NULL, 0, 0, "one more output NAME_valid: false where the value was null"},
    OP_END_OF_PARAMS,
};

static double number_at(const struct op *op, uint32_t i) {
    const struct arg *value = &op->args[NULL_VALUE];
    if (value->i >= 0)
        return NAN;
    return value->list[i < value->count ? i : 0];
}

static uint32_t number_count(const struct op *op) {
    return op->args[NULL_VALUE].i >= 0 ? 1 : op->args[NULL_VALUE].count;
}

/* What varies in size has no constant: lists may be empty, all else needs a shape. */
static mldf_status check_shape(const struct op *op, const struct edge *in, bool *empty, mldf_error *err) {
    uint32_t list = mldfi_list_axis(in);
    *empty = in->ndim > 0 && in->dims[list] == DIM_VARIES;
    for (uint32_t i = 0; i < in->ndim; i++) {
        if (in->dims[i] != DIM_VARIES)
            continue;
        if (in->kind == VALUE_IMAGE)
            return mldfi_fail(err, MLDF_E_TYPE,
                              "the size differs from sample to sample, and a null has none: put it after "
                              "resize([h, w]), random_resized_crop or center_crop");
        if (i != list)
            return mldfi_edge_refuse(op, in, "dimensions that are fixed, except the first", err);
    }
    return MLDF_OK;
}

static mldf_status infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    bool empty, image = mldfi_edge_has_pixels(in);
    uint32_t count = number_count(op);
    mldf_status status = check_shape(op, in, &empty, err);
    *out = *in;
    if (status < 0)
        return status;
    if (empty && op->args[NULL_VALUE].given && (count > 1 || number_at(op, 0) != 0.0))
        return mldfi_fail(err, MLDF_E_ARGUMENT,
                          "a value whose length varies becomes an empty one where it is null: leave the number out");
    if (count > 1 && (!image || (int64_t)count != mldfi_edge_channels(in)))
        return mldfi_fail(err, MLDF_E_ARGUMENT, "value has %u numbers; one is enough%s", count,
                          image ? ", or one for each channel" : "");
    for (uint32_t i = 0; i < count && !empty; i++)
        if (!mldfi_dtype_holds(in->dtype, number_at(op, i)))
            return mldfi_fail(err, MLDF_E_ARGUMENT, "value %g does not fit the element type %s", number_at(op, i),
                              mldfi_dtype_short(in->dtype));
    return MLDF_OK;
}

bool mldfi_null_wants_valid(const struct op *op) {
    return op->args[NULL_VALID].i != 0;
}

mldf_status mldfi_null_value(const struct op *op, mldf_buffer *room, struct tensor *out, mldf_error *err) {
    const struct edge *edge = &op->out;
    double numbers[FILL_CHANNELS];
    uint64_t element[2];
    *out = mldfi_tensor_of(edge);
    for (uint32_t i = 0; i < edge->ndim; i++)
        out->dims[i] = edge->dims[i] == DIM_VARIES ? 0 : (uint64_t)edge->dims[i];
    size_t size = mldf_dtype_bytes(out->dtype);
    if (mldfi_tensor_count(out) > SIZE_MAX / 2 / size)
        return mldfi_fail(err, MLDF_E_LIMIT, "what a null becomes does not fit into memory");
    size_t bytes = mldfi_tensor_bytes(out);
    TRY(mldfi_buffer_resize(room, bytes ? bytes : 1, err));
    out->data = room->data;
    for (uint32_t i = 0; i < FILL_CHANNELS; i++)
        numbers[i] = number_at(op, i);
    if (number_count(op) > 1) {
        struct fill_pixel pixel = mldfi_fill_pixel(out->dtype, numbers);
        mldfi_fill_paint(out, &pixel, 0, 0, mldfi_tensor_width(out), mldfi_tensor_height(out));
        return MLDF_OK;
    }
    mldfi_dtype_element(out->dtype, numbers[0], element);
    for (size_t at = 0; at + size <= bytes; at += size)
        memcpy((uint8_t *)out->data + at, element, size);
    return MLDF_OK;
}

const struct op_type mldfi_op_null = {
    .name = "fill",
    .help = "a constant for nulls; steps before it are left out for them, those after it see the constant",
    .params = params,
    .infer = infer,
};

const struct op_type *const mldfi_ops_null[] = {&mldfi_op_null, NULL};
