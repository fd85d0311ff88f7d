/* warp_map.h: tensors and numbers for the loops of kernel/warp_loops.h, and the same maps for boxes and points. */
#include "pipeline/warp_map.h"

#include <math.h>
#include <string.h>

#include "kernel/cast.h"
#include "pipeline/op_help.h"
#include "util/error.h"
#include "util/math.h"

static struct warp_side side_of(const struct tensor *t) {
    struct warp_side s = {t->data, (size_t)mldfi_tensor_width(t), (size_t)mldfi_tensor_height(t), 0, 0};
    s.step = mldfi_planar(t->axes) ? 1 : (size_t)mldfi_tensor_channels(t);
    s.plane = mldfi_planar(t->axes) ? s.width * s.height : 1;
    return s;
}

mldf_status mldfi_warp_image(const struct tensor *in, struct tensor *out, const struct warp_map *map, int interpolation,
                             const double *fill, struct op_work *work, mldf_error *err) {
    struct warp_side from = side_of(in), to = side_of(out);
    size_t channels = (size_t)mldfi_tensor_channels(in), element = mldf_dtype_bytes(in->dtype);
    float fill_f32[4] = {0};
    uint64_t room[4] = {0}; /* the fill as elements, at most eight bytes each */
    struct warp w = {&from, &to, map, channels, element, NULL};
    if (channels > 4 || mldfi_tensor_channels(out) != channels || in->dtype != out->dtype ||
        mldfi_planar(in->axes) != mldfi_planar(out->axes) || element > 8)
        return mldfi_fail(err, MLDF_E_TYPE, "an image of %zu channels and %zu bytes each cannot be warped", channels,
                          element);
    if (interpolation == WARP_NEAREST) {
        mldfi_convert_elements(MLDF_F64, fill, in->dtype, room, channels);
        w.fill = room;
        work->kernels->warp_nearest(&w);
        return MLDF_OK;
    }
    if (in->dtype != MLDF_U8 && in->dtype != MLDF_U16 && in->dtype != MLDF_F32)
        return mldfi_fail(err, MLDF_E_TYPE, "bilinear wants an image of u8, u16 or f32");
    for (size_t c = 0; c < channels; c++) {
        double white = in->dtype == MLDF_U8 ? 255 : 65535;
        fill_f32[c] = in->dtype == MLDF_F32 || (fill[c] >= 0 && fill[c] <= white) ? (float)fill[c]
                      : fill[c] > white                                           ? (float)white
                                                                                  : 0;
    }
    w.fill = fill_f32;
    work->kernels->warp_bilinear(&w);
    return MLDF_OK;
}

mldf_status mldfi_warp_affine(const struct tensor *in, struct tensor *out, const double matrix[6], int interpolation,
                              const double *fill, struct op_work *work, mldf_error *err) {
    struct warp_map map = {{0, 0, 0, 0, 0, 0, 0, 0, 1}, false};
    memcpy(map.m, matrix, 6 * sizeof *matrix);
    return mldfi_warp_image(in, out, &map, interpolation, fill, work, err);
}

double mldfi_warp_rounded(double value) {
    return rint(value * 1e15) / 1e15;
}

void mldfi_warp_rotation(double degrees, double x, double y, double matrix[6]) {
    double angle = degrees * (3.14159265358979323846 / 180.0);
    double c = mldfi_warp_rounded(mldfi_cos(angle)), s = mldfi_warp_rounded(mldfi_sin(angle));
    matrix[0] = c;
    matrix[1] = -s;
    matrix[2] = x - c * x + s * y;
    matrix[3] = s;
    matrix[4] = c;
    matrix[5] = y - s * x - c * y;
}

/* By cofactors. */
bool mldfi_warp_invert(const struct warp_map *map, struct warp_map *out) {
    const double *m = map->m;
    double c[9] = {m[4] * m[8] - m[5] * m[7], m[2] * m[7] - m[1] * m[8], m[1] * m[5] - m[2] * m[4],
                   m[5] * m[6] - m[3] * m[8], m[0] * m[8] - m[2] * m[6], m[2] * m[3] - m[0] * m[5],
                   m[3] * m[7] - m[4] * m[6], m[1] * m[6] - m[0] * m[7], m[0] * m[4] - m[1] * m[3]};
    double all = m[0] * c[0] + m[1] * c[3] + m[2] * c[6];
    if (!(fabs(all) > 1e-12))
        return false;
    for (int i = 0; i < 9; i++)
        out->m[i] = c[i] / all;
    out->perspective = map->perspective;
    return true;
}

/* A point beyond the horizon of a tilted image goes far out. */
static void move_point(const struct warp_map *map, float *x, float *y) {
    const double *m = map->m;
    double px = (double)*x, py = (double)*y, w = 1;
    if (map->perspective) {
        w = m[6] * px + m[7] * py + m[8];
        w = w > 1e-6 ? w : 1e-6;
    }
    *x = (float)((m[0] * px + m[1] * py + m[2]) / w);
    *y = (float)((m[3] * px + m[4] * py + m[5]) / w);
}

void mldfi_warp_points(const struct warp_map *map, float *points, uint64_t count, uint64_t width) {
    for (uint64_t i = 0; i < count; i++)
        move_point(map, points + i * width, points + i * width + 1);
}

static float held(float v, uint32_t side) {
    return v < 0.0f ? 0.0f : v > (float)side ? (float)side : v;
}

void mldfi_warp_boxes(const struct warp_map *map, const struct frame *to, float *boxes, uint64_t count) {
    for (uint64_t i = 0; i < count; i++) {
        float *b = boxes + 4 * i;
        float x[4] = {b[0], b[2], b[2], b[0]}, y[4] = {b[1], b[1], b[3], b[3]};
        for (int k = 0; k < 4; k++)
            move_point(map, &x[k], &y[k]);
        b[0] = b[2] = x[0];
        b[1] = b[3] = y[0];
        for (int k = 1; k < 4; k++) {
            b[0] = x[k] < b[0] ? x[k] : b[0];
            b[2] = x[k] > b[2] ? x[k] : b[2];
            b[1] = y[k] < b[1] ? y[k] : b[1];
            b[3] = y[k] > b[3] ? y[k] : b[3];
        }
        b[0] = held(b[0], to->width);
        b[2] = held(b[2], to->width);
        b[1] = held(b[1], to->height);
        b[3] = held(b[3], to->height);
    }
}
