/* Geometry off the axes: rotate, affine, perspective. Each draws a map of the plane (struct warp_draw); what it does with an image, a mask,
 * boxes or points is one function for all three. Parameters and ranges are torchvision's RandomRotation, RandomAffine and
 * RandomPerspective; warp_map.h says what a map shows. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/geometry.h"
#include "pipeline/op_fill.h"
#include "pipeline/op_help.h"
#include "pipeline/op_warp.h"
#include "pipeline/warp_map.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/math.h"

enum { WARP_SIDE_MAX = 65535 };

struct warp_state {
    double degrees[2], translate[2], scale[2], shear[4];
    double center[2];
    bool centered, expand; /* centered: around the image's middle */
    double distortion, chance;
    int filter;
    double fill[FILL_CHANNELS];
};

struct warp_draw {
    struct frame from, to;
    bool on;
    struct warp_map back; /* new image to old: shows pixels */
    double forth[9];      /* old to new: moves boxes and points */
};
_Static_assert(sizeof(struct warp_draw) <= OP_DRAW_BYTES, "a draw has its bounds");

/* ---- What the three share ------------------------------------------------------------------------------------------------------------ */

static const char *const filters[] = {"nearest", "bilinear", NULL};
static const char *const middle[] = {"middle", NULL};
#define FILTER_PARAM(DEFAULT) \
    { "filter", PARAM_CHOICE, DEFAULT, 0, 0, filters, 0, 0, "between pixels; masks always take the nearest" }
#define CENTER_PARAM \
    { "center", PARAM_FLOATS, "middle", -1e6, 1e6, middle, 2, 2, "what stays in its place: [x, y] in pixels, or" }
#define OUTSIDE_PARAM OP_FILL_PARAM("what lies outside the image: a number, or one for each channel")

static mldf_status warp_begin(struct op *op, const struct edge *in, uint32_t filter, uint32_t fill, struct edge *out,
                              struct warp_state **state, mldf_error *err) {
    if (in->role == ROLE_FLOW)
        return mldfi_edge_refuse(op, in, "an image (the vectors of optical flow would have to turn)", err);
    TRY(mldfi_moved_infer(op, in, out, err));
    free(op->state);
    struct warp_state *s = *state = op->state = mldfi_alloc_zero(1, sizeof *s, err);
    if (!s)
        return MLDF_E_MEMORY;
    s->filter = op->args[filter].i == 1 && in->role != ROLE_MASK ? WARP_BILINEAR : WARP_NEAREST;
    if (in->kind == VALUE_IMAGE && s->filter == WARP_BILINEAR && in->dtype != MLDF_U8 && in->dtype != MLDF_U16 &&
        in->dtype != MLDF_F32)
        return mldfi_edge_refuse(op, in, "an image of u8, u16 or f32 for filter=bilinear", err);
    s->centered = true;
    return mldfi_fill_take_moved(op, fill, fill + 1, s->fill, err);
}

/* x: from -x to x; [a, b]: from a to b. */
static mldf_status take_range(const struct op *op, uint32_t param, double range[2], mldf_error *err) {
    const struct arg *arg = &op->args[param];
    const char *name = op->type->params[param].name;
    range[0] = arg->count == 1 ? -arg->list[0] : arg->list[0];
    range[1] = arg->count == 1 ? arg->list[0] : arg->list[1];
    if (range[0] > range[1])
        return arg->count == 1 ? mldfi_fail(err, MLDF_E_ARGUMENT, "%s %g is below 0; give [from, to] for other ranges",
                                            name, range[1])
                               : mldfi_fail(err, MLDF_E_ARGUMENT, "%s goes from %g to %g; the smaller comes first",
                                            name, range[0], range[1]);
    return MLDF_OK;
}

static void take_center(const struct op *op, uint32_t param, struct warp_state *s) {
    const struct arg *arg = &op->args[param];
    s->centered = arg->count != 2;
    for (int i = 0; !s->centered && i < 2; i++)
        s->center[i] = arg->list[i];
}

static void center_of(const struct warp_state *s, const struct frame *frame, double center[2]) {
    center[0] = s->centered ? frame->width * 0.5 : s->center[0];
    center[1] = s->centered ? frame->height * 0.5 : s->center[1];
}

static struct warp_draw *begin_draw(void *draw, const struct frame *frame) {
    static const double same[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    struct warp_draw *d = draw;
    *d = (struct warp_draw){.from = *frame, .to = *frame};
    memcpy(d->back.m, same, sizeof same);
    memcpy(d->forth, same, sizeof same);
    return d;
}

/* With the way back set. One that cannot be turned round leaves the image as it is. */
static void end_draw(struct warp_draw *d, struct frame *next) {
    struct warp_map forth;
    d->on = mldfi_warp_invert(&d->back, &forth);
    if (d->on)
        memcpy(d->forth, forth.m, sizeof d->forth);
    else
        d->to = d->from;
    *next = d->to;
}

static mldf_status warp_shape(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                              mldf_error *err) {
    const struct warp_draw *d = draw;
    mldf_status status = mldfi_moved_check(op, &d->from, in, err);
    if (status < 0 || op->in.kind != VALUE_IMAGE)
        return status;
    out->dims[mldfi_axis(in->axes, 'h')] = d->to.height;
    out->dims[mldfi_axis(in->axes, 'w')] = d->to.width;
    return MLDF_OK;
}

static mldf_status warp_run(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                            struct op_work *work, mldf_error *err) {
    const struct warp_state *s = op->state;
    const struct warp_draw *d = draw;
    struct warp_map forth = {.perspective = d->back.perspective};
    uint64_t count;
    memcpy(forth.m, d->forth, sizeof forth.m);
    if (!mldfi_moved_begin(op, in, out, &count))
        return d->on ? mldfi_warp_image(in, out, &d->back, s->filter, s->fill, work, err) : mldfi_op_copy(in, out);
    if (!d->on)
        return MLDF_OK;
    if (op->in.role == ROLE_BOXES)
        mldfi_warp_boxes(&forth, &d->to, out->data, count);
    else
        mldfi_warp_points(&forth, out->data, count, in->dims[in->ndim - 1]);
    return MLDF_OK;
}

/* ---- rotate ------------------------------------------------------------------------------------------------------------------------------ */

enum { ROTATE_DEGREES, ROTATE_FILTER, ROTATE_EXPAND, ROTATE_CENTER, ROTATE_FILL };
static const struct op_param rotate_params[] = {
    {"degrees", PARAM_FLOATS, NULL, -36000, 36000, NULL, 1, 2,
     "against the clock: x: from -x to x; [a, b]: from a to b"},
    FILTER_PARAM("nearest"),
    {"expand", PARAM_BOOL, "false", 0, 0, NULL, 0, 0, "the result is as large as the turned image"},
    CENTER_PARAM,
    OUTSIDE_PARAM,
    OP_MASK_FILL_PARAM,
    OP_END_OF_PARAMS,
};

static mldf_status rotate_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    struct warp_state *s;
    mldf_status status = warp_begin(op, in, ROTATE_FILTER, ROTATE_FILL, out, &s, err);
    if (status == MLDF_OK)
        status = take_range(op, ROTATE_DEGREES, s->degrees, err);
    if (status < 0)
        return status;
    take_center(op, ROTATE_CENTER, s);
    s->expand = op->args[ROTATE_EXPAND].i != 0;
    if (s->expand && !s->centered)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "rotate: expand turns around the middle; leave out center");
    if (s->expand && in->kind == VALUE_IMAGE) {
        uint32_t y = mldfi_axis(in->axes, 'h');
        uint64_t h = in->most[y], w = in->most[y + 1];
        mldfi_moved_sides(out, DIM_VARIES, DIM_VARIES);
        bool known = h <= WARP_SIDE_MAX && w <= WARP_SIDE_MAX;
        /* No side is longer than the diagonal; rounding outwards adds less than two. */
        uint64_t most = known ? (uint64_t)ceil(sqrt((double)(h * h + w * w))) + 2 : WARP_SIDE_MAX;
        out->most[y] = out->most[y + 1] = most < WARP_SIDE_MAX ? most : WARP_SIDE_MAX;
    }
    return MLDF_OK;
}

/* From the first whole pixel that the turned image touches to the last one; quarter turns are exact. */
static void expanded(const double m[6], const struct frame *from, struct frame *to) {
    double w = from->width, h = from->height;
    double wide = fabs(m[0]) * w + fabs(m[1]) * h, high = fabs(m[3]) * w + fabs(m[4]) * h;
    bool quarter = fabs(m[0]) == 0.0 || fabs(m[1]) == 0.0;
    to->width = (uint32_t)(quarter ? wide : ceil((w + wide) / 2) - floor((w - wide) / 2));
    to->height = (uint32_t)(quarter ? high : ceil((h + high) / 2) - floor((h - high) / 2));
}

static mldf_status rotate_draw(const struct op *op, struct rng *rng, const struct frame *frame, void *draw,
                               struct frame *next, mldf_error *err) {
    const struct warp_state *s = op->state;
    struct warp_draw *d = begin_draw(draw, frame);
    double degrees = mldfi_rng_uniform(rng, s->degrees[0], s->degrees[1]), center[2], *m = d->back.m;
    center_of(s, frame, center);
    mldfi_warp_rotation(degrees, center[0], center[1], m);
    if (s->expand) {
        expanded(m, frame, &d->to);
        if (d->to.width > WARP_SIDE_MAX || d->to.height > WARP_SIDE_MAX)
            return mldfi_fail(err, MLDF_E_LIMIT, "rotate: %u x %u turned is longer than %d", frame->width,
                              frame->height, WARP_SIDE_MAX);
        double dx = ((double)d->to.width - frame->width) / 2, dy = ((double)d->to.height - frame->height) / 2;
        m[2] -= m[0] * dx + m[1] * dy;
        m[5] -= m[3] * dx + m[4] * dy;
    }
    end_draw(d, next);
    return MLDF_OK;
}

/* ---- affine ------------------------------------------------------------------------------------------------------------------------------ */

enum { AFFINE_DEGREES, AFFINE_TRANSLATE, AFFINE_SCALE, AFFINE_SHEAR, AFFINE_FILTER, AFFINE_CENTER, AFFINE_FILL };
static const struct op_param affine_params[] = {
    {"degrees", PARAM_FLOATS, NULL, -36000, 36000, NULL, 1, 2, "with the clock: x: from -x to x; [a, b]: from a to b"},
    {"translate", PARAM_FLOATS, "0", 0, 1, NULL, 1, 2, "greatest shift, as a share of [width, height]; whole pixels"},
    {"scale", PARAM_FLOATS, "[1, 1]", 1e-3, 1e3, NULL, 2, 2, "how many times larger things become, between these"},
    {"shear", PARAM_FLOATS, "0", -89, 89, NULL, 1, 4,
     "degrees: x: along x from -x to x; [a, b]: along x from a to b; [a, b, c, d]: and along y from c to d"},
    FILTER_PARAM("nearest"),
    CENTER_PARAM,
    OUTSIDE_PARAM,
    OP_MASK_FILL_PARAM,
    OP_END_OF_PARAMS,
};

static mldf_status affine_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    const struct arg *shear = &op->args[AFFINE_SHEAR], *translate = &op->args[AFFINE_TRANSLATE];
    struct warp_state *s;
    mldf_status status = warp_begin(op, in, AFFINE_FILTER, AFFINE_FILL, out, &s, err);
    if (status == MLDF_OK)
        status = take_range(op, AFFINE_DEGREES, s->degrees, err);
    if (status == MLDF_OK)
        status = take_range(op, AFFINE_SCALE, s->scale, err);
    if (status == MLDF_OK)
        status = take_range(op, AFFINE_SHEAR, s->shear, err);
    if (status < 0)
        return status;
    if (shear->count == 3)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "affine: shear of 3 numbers; 1, 2 or 4 are understood");
    for (uint32_t i = 2; shear->count == 4 && i < 4; i++)
        s->shear[i] = shear->list[i];
    if (s->shear[2] > s->shear[3])
        return mldfi_fail(err, MLDF_E_ARGUMENT, "affine: shear goes from %g to %g; the smaller comes first",
                          s->shear[2], s->shear[3]);
    for (uint32_t i = 0; i < 2; i++)
        s->translate[i] = translate->list[i < translate->count ? i : 0];
    take_center(op, AFFINE_CENTER, s);
    return MLDF_OK;
}

struct affine_values {
    double degrees, dx, dy, scale, shear_x, shear_y;
};

/* The image is sheared, turned and scaled around the centre, then moved; this is the way back. */
static void affine_matrix(const struct affine_values *v, const double center[2], double m[6]) {
    const double degree = 3.14159265358979323846 / 180.0;
    double turn = v->degrees * degree, sx = v->shear_x * degree, sy = v->shear_y * degree;
    double along = mldfi_cos(turn - sy) / mldfi_cos(sy), across = mldfi_sin(turn - sy) / mldfi_cos(sy);
    double slope = mldfi_tan(sx);
    double x = center[0] + v->dx, y = center[1] + v->dy;
    m[0] = mldfi_warp_rounded(mldfi_cos(turn) - across * slope) / v->scale;
    m[1] = mldfi_warp_rounded(along * slope + mldfi_sin(turn)) / v->scale;
    m[3] = mldfi_warp_rounded(-across) / v->scale;
    m[4] = mldfi_warp_rounded(along) / v->scale;
    m[2] = center[0] - m[0] * x - m[1] * y;
    m[5] = center[1] - m[3] * x - m[4] * y;
}

/* Every number is drawn whether it is used or not. */
static mldf_status affine_draw(const struct op *op, struct rng *rng, const struct frame *frame, void *draw,
                               struct frame *next, mldf_error *err) {
    const struct warp_state *s = op->state;
    struct warp_draw *d = begin_draw(draw, frame);
    double most_x = s->translate[0] * frame->width, most_y = s->translate[1] * frame->height, center[2];
    struct affine_values v;
    (void)err;
    v.degrees = mldfi_rng_uniform(rng, s->degrees[0], s->degrees[1]);
    v.dx = rint(mldfi_rng_uniform(rng, -most_x, most_x));
    v.dy = rint(mldfi_rng_uniform(rng, -most_y, most_y));
    v.scale = mldfi_rng_uniform(rng, s->scale[0], s->scale[1]);
    v.shear_x = mldfi_rng_uniform(rng, s->shear[0], s->shear[1]);
    v.shear_y = mldfi_rng_uniform(rng, s->shear[2], s->shear[3]);
    center_of(s, frame, center);
    affine_matrix(&v, center, d->back.m);
    end_draw(d, next);
    return MLDF_OK;
}

/* ---- perspective -------------------------------------------------------------------------------------------------------------------------- */

enum { PERSPECTIVE_DISTORTION, PERSPECTIVE_P, PERSPECTIVE_FILTER, PERSPECTIVE_FILL };
static const struct op_param perspective_params[] = {
    {"distortion_scale", PARAM_FLOAT, "0.5", 0, 1, NULL, 0, 0,
     "how far corners move inwards, as a share of half the sides"},
    {"p", PARAM_FLOAT, "0.5", 0, 1, NULL, 0, 0, "probability"},
    FILTER_PARAM("bilinear"),
    OUTSIDE_PARAM,
    OP_MASK_FILL_PARAM,
    OP_END_OF_PARAMS,
};

static mldf_status perspective_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    struct warp_state *s;
    TRY(warp_begin(op, in, PERSPECTIVE_FILTER, PERSPECTIVE_FILL, out, &s, err));
    s->distortion = op->args[PERSPECTIVE_DISTORTION].f;
    s->chance = op->args[PERSPECTIVE_P].f;
    return MLDF_OK;
}

/* The map that takes (0, 0), (right, 0), (right, bottom), (0, bottom) to four corners; false: no such map. */
static bool quadrangle(double right, double bottom, const double x[4], const double y[4], double m[9]) {
    double dx1 = x[1] - x[2], dx2 = x[3] - x[2], sx = x[0] - x[1] + x[2] - x[3];
    double dy1 = y[1] - y[2], dy2 = y[3] - y[2], sy = y[0] - y[1] + y[2] - y[3];
    double det = dx1 * dy2 - dx2 * dy1;
    if (!(right > 0 && bottom > 0) || fabs(det) < 0.5) /* corners are whole numbers */
        return false;
    double g = (sx * dy2 - dx2 * sy) / det, h = (dx1 * sy - sx * dy1) / det;
    m[0] = (x[1] - x[0] + g * x[1]) / right;
    m[1] = (x[3] - x[0] + h * x[3]) / bottom;
    m[2] = x[0];
    m[3] = (y[1] - y[0] + g * y[1]) / right;
    m[4] = (y[3] - y[0] + h * y[3]) / bottom;
    m[5] = y[0];
    m[6] = g / right;
    m[7] = h / bottom;
    m[8] = 1;
    return true;
}

static mldf_status perspective_draw(const struct op *op, struct rng *rng, const struct frame *frame, void *draw,
                                    struct frame *next, mldf_error *err) {
    const struct warp_state *s = op->state;
    struct warp_draw *d = begin_draw(draw, frame);
    uint32_t w = frame->width, h = frame->height;
    uint32_t far_x = (uint32_t)(s->distortion * (w / 2)), far_y = (uint32_t)(s->distortion * (h / 2));
    struct warp_map forth = {.perspective = true};
    double x[4], y[4];
    (void)err;
    bool on = mldfi_rng_chance(rng, s->chance);
    /* Clockwise from the upper left one: 0..far from its side's end, far included. */
    for (int i = 0; i < 4; i++) {
        double in_x = (double)mldfi_rng_below(rng, (uint64_t)far_x + 1);
        double in_y = (double)mldfi_rng_below(rng, (uint64_t)far_y + 1);
        x[i] = i == 1 || i == 2 ? (double)w - 1 - in_x : in_x;
        y[i] = i >= 2 ? (double)h - 1 - in_y : in_y;
    }
    *next = *frame;
    if (on && quadrangle((double)w - 1, (double)h - 1, x, y, forth.m) && mldfi_warp_invert(&forth, &d->back)) {
        memcpy(d->forth, forth.m, sizeof d->forth);
        d->on = true;
    }
    return MLDF_OK;
}

/* ---- The family ------------------------------------------------------------------------------------------------------------------------------ */

#define WARP(NAME, HELP) \
    static const struct op_type op_##NAME = {.name = #NAME, \
                                             .help = HELP, \
                                             .flags = OP_DRAWS | OP_RANDOM | OP_GROUP, \
                                             .params = NAME##_params, \
                                             .draw_bytes = sizeof(struct warp_draw), \
                                             .infer = NAME##_infer, \
                                             .draw = NAME##_draw, \
                                             .shape = warp_shape, \
                                             .run = warp_run}
WARP(rotate, "turns the image by a random angle");
WARP(affine, "turns, moves, scales and shears the image at random");
WARP(perspective, "looks at the image from a random side, with a probability");

const struct op_type *const mldfi_ops_warp[] = {&op_rotate,
                                                &op_affine,
                                                &op_perspective,
                                                &mldfi_op_random_translate,
                                                &mldfi_op_cutout,
                                                &mldfi_op_erasing,
                                                &mldfi_op_border,
                                                &mldfi_op_grid_mask,
                                                &mldfi_op_gaussian_blur,
                                                &mldfi_op_poison,
                                                NULL};
