/* warp.h: tensors and numbers for the loops of kernel/warp.c. */
#include "pipeline/warp.h"

#include "kernel/convert.h"
#include "kernel/warp.h"
#include "pipeline/op_help.h"
#include "util/error.h"
#include "util/math.h"

static struct warp_side side_of(const struct tensor *t) {
    struct warp_side s = {t->data, (size_t)mldfi_tensor_width(t), (size_t)mldfi_tensor_height(t), 0, 0};
    s.step = t->planar ? 1 : (size_t)mldfi_tensor_channels(t);
    s.plane = t->planar ? s.width * s.height : 1;
    return s;
}

mldf_status mldfi_warp_affine(const struct tensor *in, struct tensor *out, const double matrix[6], int interpolation,
                              const double *fill, struct op_work *work, mldf_error *err) {
    struct warp_side from = side_of(in), to = side_of(out);
    size_t channels = (size_t)mldfi_tensor_channels(in), element = mldf_dtype_bytes(in->dtype);
    float fill_f32[4] = {0};
    uint64_t room[4] = {0}; /* the fill as elements, at most eight bytes each */
    (void)work;
    if (channels > 4 || mldfi_tensor_channels(out) != channels || in->dtype != out->dtype ||
        in->planar != out->planar || element > 8)
        return mldfi_fail(err, MLDF_E_TYPE, "a picture of %zu channels and %zu bytes each cannot be warped", channels,
                          element);
    if (interpolation == WARP_NEAREST) {
        mldfi_convert_elements(MLDF_F64, fill, in->dtype, room, channels);
        mldfi_warp_nearest(&from, matrix, channels, element, room, &to);
        return MLDF_OK;
    }
    if (in->dtype != MLDF_U8 && in->dtype != MLDF_U16 && in->dtype != MLDF_F32)
        return mldfi_fail(err, MLDF_E_TYPE, "bilinear wants a picture of u8, u16 or f32");
    for (size_t c = 0; c < channels; c++) {
        double white = in->dtype == MLDF_U8 ? 255 : 65535;
        fill_f32[c] = in->dtype == MLDF_F32 || (fill[c] >= 0 && fill[c] <= white) ? (float)fill[c]
                      : fill[c] > white                                           ? (float)white
                                                                                  : 0;
    }
    mldfi_warp_bilinear(&from, matrix, channels, element, fill_f32, &to);
    return MLDF_OK;
}

void mldfi_warp_rotation(double degrees, double x, double y, double matrix[6]) {
    double angle = degrees * (3.14159265358979323846 / 180.0), c = mldfi_cos(angle), s = mldfi_sin(angle);
    matrix[0] = c;
    matrix[1] = -s;
    matrix[2] = x - c * x + s * y;
    matrix[3] = s;
    matrix[4] = c;
    matrix[5] = y - s * x - c * y;
}
