/* Resizing of floats (resize.h): vectors of optical flow. For each output row the weighted rows are added in doubles, then the weighted columns of that
 * row; no image in between. Taps without weight are left out, so that a NaN beside what is asked for stays there. */
#include "kernel/resample.h"
#include "kernel/resize_tables.h"
#include "util/buffer.h"
#include "util/error.h"

static void add_rows(const float *in, size_t values, const int32_t *weights, uint32_t used, double *sums) {
    int64_t all = 0;
    for (size_t i = 0; i < values; i++)
        sums[i] = 0;
    for (uint32_t k = 0; k < used; k++) {
        const float *row = in + k * values;
        if (!weights[k])
            continue;
        all += weights[k];
        for (size_t i = 0; i < values; i++)
            sums[i] += weights[k] * (double)row[i];
    }
    for (size_t i = 0; i < values; i++)
        sums[i] /= (double)all;
}

static void add_columns(const struct resample_table *x, const double *sums, uint32_t channels, float *out) {
    for (uint32_t i = 0; i < x->count; i++) {
        const int32_t *weights = x->weights + (size_t)i * x->taps;
        const double *from = sums + (size_t)x->first[i] * channels;
        for (uint32_t c = 0; c < channels; c++) {
            double sum = 0;
            int64_t all = 0;
            for (uint32_t k = 0; k < x->used[i]; k++)
                if (weights[k]) {
                    all += weights[k];
                    sum += weights[k] * from[(size_t)k * channels + c];
                }
            *out++ = (float)(sum / (double)all);
        }
    }
}

mldf_status mldfi_resize_floats(const float *in, uint32_t width, uint32_t height, uint32_t channels,
                                const struct resize_spec *spec, struct resize_work *work, float *out, mldf_error *err) {
    const struct resample_table *across, *down;
    struct axis x, y;
    size_t values = (size_t)width * channels;
    if (spec->filter == RESIZE_NEAREST || !width || !height || !spec->width || !spec->height)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "floats of %u x %u pixels cannot become %u x %u", width, height,
                          spec->width, spec->height);
    mldfi_resize_axes(spec, width, height, (mldf_image_filter)spec->filter, &x, &y);
    TRY(mldfi_wide_taps(&work->tables, &x, false, &across, err));
    TRY(mldfi_wide_taps(&work->tables, &y, true, &down, err));
    TRY(mldfi_buffer_resize(&work->sums, values * sizeof(double), err));
    double *sums = (double *)(void *)work->sums.data;
    for (uint32_t j = 0; j < down->count; j++) {
        add_rows(in + down->first[j] * values, values, down->weights + (size_t)j * down->taps, down->used[j], sums);
        add_columns(across, sums, channels, out + (size_t)j * across->count * channels);
    }
    return MLDF_OK;
}
