/* Labels: one_hot, label_smoothing, replace_label. */
#include <stdlib.h>

#include "kernel/cast.h"
#include "pipeline/op_any.h"
#include "pipeline/op_help.h"
#include "pipeline/op_samples.h"
#include "pipeline/pipeline.h"
#include "util/buffer.h"
#include "util/error.h"

static bool is_whole(mldf_dtype dtype) {
    return dtype >= MLDF_BOOL && dtype <= MLDF_U64;
}

static bool is_float(mldf_dtype dtype) {
    return dtype == MLDF_F16 || dtype == MLDF_BF16 || dtype == MLDF_F32 || dtype == MLDF_F64;
}

enum { MOST_CLASSES = 1 << 24 };

/* A whole number for each label becomes a vector of `classes` at its place. */
static mldf_status add_axis(const struct op *op, const struct edge *in, int64_t classes, struct edge *out,
                            mldf_error *err) {
    *out = *in;
    if (in->ndim == MLDF_MAX_DIMS)
        return mldfi_edge_refuse(op, in, "fewer dimensions", err);
    out->kind = VALUE_ARRAY;
    out->role = ROLE_NONE;
    mldfi_edge_unname(out);
    out->dims[in->ndim] = classes;
    out->most[in->ndim] = (uint64_t)classes;
    out->ndim = in->ndim + 1;
    out->dtype = MLDF_F32;
    return MLDF_OK;
}

static mldf_status vectors_shape(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                                 mldf_error *err) {
    (void)draw;
    (void)err;
    memcpy(out->dims, in->dims, sizeof out->dims);
    if (out->ndim > in->ndim)
        out->dims[in->ndim] = (uint64_t)op->out.dims[in->ndim];
    return MLDF_OK;
}

static mldf_status write_vectors(const struct tensor *in, float off, float on, struct tensor *out, mldf_error *err) {
    uint64_t count = mldfi_tensor_count(in), classes = out->dims[in->ndim];
    float *to = out->data;
    for (uint64_t i = 0; i < count; i++, to += classes) {
        double label = mldfi_element_f64(in->dtype, in->data, (size_t)i);
        if (!(label >= 0 && label < (double)classes))
            return mldfi_fail(err, MLDF_E_RANGE, "label %.17g is not one of %llu classes", label,
                              (unsigned long long)classes);
        for (uint64_t k = 0; k < classes; k++)
            to[k] = off;
        to[(size_t)label] = on;
    }
    return MLDF_OK;
}

/* ---- one_hot --------------------------------------------------------------------------------------------------------------------- */

static const struct op_param one_hot_params[] = {
    {"classes", PARAM_INT, NULL, 1, MOST_CLASSES, NULL, 0, 0, "length of the vector; labels are 0 to classes - 1"},
    OP_END_OF_PARAMS,
};

static mldf_status one_hot_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    if (in->kind != VALUE_ARRAY || !is_whole(in->dtype))
        return mldfi_edge_refuse(op, in, "a whole number, or an array of them", err);
    return add_axis(op, in, op->args[0].i, out, err);
}

static mldf_status one_hot_run(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                               struct op_work *work, mldf_error *err) {
    (void)op;
    (void)draw;
    (void)work;
    return write_vectors(in, 0, 1, out, err);
}

const struct op_type mldfi_op_one_hot = {
    .name = "one_hot",
    .help = "a label as an f32 vector: 1 at its place, 0 elsewhere",
    .params = one_hot_params,
    .infer = one_hot_infer,
    .shape = vectors_shape,
    .run = one_hot_run,
};

/* ---- label_smoothing ---------------------------------------------------------------------------------------------------------------- */

enum { SMOOTHING_EPS, SMOOTHING_CLASSES };
static const struct op_param smoothing_params[] = {
    {"eps", PARAM_FLOAT, "0.1", 0, 1, NULL, 0, 0, "the part that all classes share"},
    {"classes", PARAM_INT, "0", 0, MOST_CLASSES, NULL, 0, 0,
     "for labels that are whole numbers: how many classes there are; a vector knows"},
    OP_END_OF_PARAMS,
};

static mldf_status smoothing_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    int64_t classes = op->args[SMOOTHING_CLASSES].i, last;
    *out = *in;
    if (in->kind == VALUE_ARRAY && is_whole(in->dtype)) {
        if (classes == 0)
            return mldfi_fail(err, MLDF_E_ARGUMENT, "classes must be given for labels that are whole numbers");
        return add_axis(op, in, classes, out, err);
    }
    if (in->kind != VALUE_ARRAY || !is_float(in->dtype) || in->ndim == 0)
        return mldfi_edge_refuse(op, in, "a whole number, or a vector of floats", err);
    last = in->dims[in->ndim - 1];
    if (last == DIM_VARIES || last == 0 || (classes && classes != last))
        return mldfi_edge_refuse(op, in, "a vector of one float for each class", err);
    out->dtype = MLDF_F32;
    return MLDF_OK;
}

/* y (1 - eps) + eps / classes */
static mldf_status smoothing_run(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                                 struct op_work *work, mldf_error *err) {
    double eps = op->args[SMOOTHING_EPS].f, classes = (double)out->dims[out->ndim - 1];
    float keep = (float)(1 - eps), share = (float)(eps / classes);
    (void)draw;
    (void)work;
    if (is_whole(in->dtype))
        return write_vectors(in, share, keep + share, out, err);
    mldfi_affine(in->dtype, in->data, &keep, &share, 1, out->data, (size_t)mldfi_tensor_count(in));
    return MLDF_OK;
}

const struct op_type mldfi_op_label_smoothing = {
    .name = "label_smoothing",
    .help = "y * (1 - eps) + eps / classes, of a label or of a vector such as one_hot and mixup give; f32",
    .params = smoothing_params,
    .infer = smoothing_infer,
    .shape = vectors_shape,
    .run = smoothing_run,
};

/* ---- replace_label ------------------------------------------------------------------------------------------------------------------- */

enum { REPLACE_FROM, REPLACE_TO, REPLACE_INDICES, REPLACE_LABEL };
static const struct op_param replace_params[] = {
    {"from", PARAM_INTS, "", -0x1p53, 0x1p53, NULL, 1, OP_MAX_LIST, "the label, or labels, that are replaced"},
    {"to", PARAM_INT, "", -0x1p53, 0x1p53, NULL, 0, 0, "what they become"},
    OP_INDICES_PARAM(
        "", "instead of from and to: the samples whose labels are all replaced, by their index in the dataset"),
    {"label", PARAM_INT, "", -0x1p53, 0x1p53, NULL, 0, 0, "what those become"},
    OP_END_OF_PARAMS,
};
struct replace_draw {
    bool listed; /* the sample is one of `indices` */
};

/* from and to, or indices and label. */
static mldf_status replace_check(const struct op *op, size_t *at, mldf_error *err) {
    static const uint32_t mates[] = {REPLACE_TO, REPLACE_FROM, REPLACE_LABEL, REPLACE_INDICES};
    const struct arg *args = op->args;
    const struct op_param *params = op->type->params;
    bool first = args[REPLACE_FROM].given || args[REPLACE_TO].given;
    bool second = args[REPLACE_INDICES].given || args[REPLACE_LABEL].given;
    if (!first && !second)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "from and to must be given, or indices and label");
    for (uint32_t i = REPLACE_FROM; i <= REPLACE_LABEL; i++) {
        if (!args[i].given)
            continue;
        *at = args[i].offset;
        if (first && second && i >= REPLACE_INDICES)
            return mldfi_fail(err, MLDF_E_ARGUMENT, "%s does not go with from and to; take two steps", params[i].name);
        if (!args[mates[i]].given)
            return mldfi_fail(err, MLDF_E_ARGUMENT, "%s must be given with %s: %s", params[mates[i]].name,
                              params[i].name, params[mates[i]].help);
    }
    return MLDF_OK;
}

static double replacement_of(const struct op *op) {
    return op->args[op->args[REPLACE_INDICES].given ? REPLACE_LABEL : REPLACE_TO].f;
}

static mldf_status replace_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    double to = replacement_of(op), back;
    uint64_t element = 0;
    size_t at;
    mldf_status status = replace_check(op, &at, err);
    *out = *in;
    if (status < 0)
        return status;
    if (in->kind == VALUE_ENCODED || in->kind == VALUE_BYTES || !is_whole(in->dtype))
        return mldfi_edge_refuse(op, in, "whole numbers", err);
    mldfi_convert_elements(MLDF_F64, &to, in->dtype, &element, 1);
    back = mldfi_element_f64(in->dtype, &element, 0);
    if (back < to || back > to)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "%g does not fit the element type %s", to,
                          mldfi_dtype_short(in->dtype));
    free(op->state);
    op->state = NULL;
    if (!op->args[REPLACE_INDICES].given)
        return MLDF_OK;
    op->state = mldfi_samples_new(&op->args[REPLACE_INDICES], err);
    return op->state ? MLDF_OK : MLDF_E_MEMORY;
}

static mldf_status replace_draw(const struct op *op, struct rng *rng, const struct frame *frame, void *draw,
                                struct frame *next, mldf_error *err) {
    struct replace_draw *d = draw;
    (void)rng;
    (void)next;
    (void)err;
    d->listed = op->state && mldfi_samples_has(op->state, frame->sample);
    return MLDF_OK;
}

static bool is_replaced(const struct arg *from, double label) {
    for (uint32_t k = 0; k < from->count; k++)
        if (label >= from->list[k] && label <= from->list[k])
            return true;
    return false;
}

static mldf_status replace_run(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                               struct op_work *work, mldf_error *err) {
    const struct replace_draw *d = draw;
    size_t count = (size_t)mldfi_tensor_count(in), element = mldf_dtype_bytes(in->dtype);
    double to = replacement_of(op);
    uint64_t replacement = 0;
    (void)work;
    (void)err;
    mldfi_op_copy(in, out);
    if (op->state && !d->listed)
        return MLDF_OK;
    mldfi_convert_elements(MLDF_F64, &to, in->dtype, &replacement, 1);
    for (size_t i = 0; i < count; i++)
        if (d->listed || is_replaced(&op->args[REPLACE_FROM], mldfi_element_f64(in->dtype, in->data, i)))
            memcpy((uint8_t *)out->data + i * element, &replacement, element);
    return MLDF_OK;
}

const struct op_type mldfi_op_replace_label = {
    .name = "replace_label",
    .help = "other whole numbers for some, labels or the classes of a mask; or for all of certain samples",
    .flags = OP_DRAWS | OP_POINT | OP_GROUP,
    .params = replace_params,
    .draw_bytes = sizeof(struct replace_draw),
    .infer = replace_infer,
    .draw = replace_draw,
    .run = replace_run,
    .check = replace_check,
};
