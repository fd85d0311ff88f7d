/* op_fill.h: fills are checked once, when types are inferred, and painted row by row. */
#include "pipeline/op_fill.h"

#include <math.h>
#include <string.h>

#include "kernel/cast.h"
#include "pipeline/op_help.h"
#include "util/error.h"

static mldf_status check(const struct op *op, uint32_t param, double value, mldf_error *err) {
    double most = op->in.dtype == MLDF_U8 ? 255 : op->in.dtype == MLDF_U16 ? 65535 : 0;
    if (most > 0 && (value < 0 || value > most || value != floor(value)))
        return mldfi_fail(err, MLDF_E_ARGUMENT, "%s %g; pixels here are whole numbers from 0 to %g",
                          op->type->params[param].name, value, most);
    return MLDF_OK;
}

mldf_status mldfi_fill_take(const struct op *op, uint32_t param, double fill[FILL_CHANNELS], mldf_error *err) {
    const struct arg *numbers = &op->args[param];
    mldf_status status = MLDF_OK;
    memset(fill, 0, FILL_CHANNELS * sizeof *fill);
    if (op->in.kind != VALUE_IMAGE)
        return MLDF_OK;
    if (numbers->count > 1 && (int64_t)numbers->count != mldfi_edge_channels(&op->in))
        return mldfi_fail(err, MLDF_E_ARGUMENT, "%s has %u numbers, the image %lld channels",
                          op->type->params[param].name, numbers->count, (long long)mldfi_edge_channels(&op->in));
    for (uint32_t c = 0; c < FILL_CHANNELS && status == MLDF_OK; c++) {
        fill[c] = numbers->list[c < numbers->count ? c : 0];
        status = check(op, param, fill[c], err);
    }
    return status;
}

mldf_status mldfi_fill_take_moved(const struct op *op, uint32_t param, uint32_t mask_param, double fill[FILL_CHANNELS],
                                  mldf_error *err) {
    if (op->in.role == ROLE_FLOW) { /* what was not there does not move */
        memset(fill, 0, FILL_CHANNELS * sizeof *fill);
        return MLDF_OK;
    }
    if (op->in.role != ROLE_MASK)
        return mldfi_fill_take(op, param, fill, err);
    for (uint32_t c = 0; c < FILL_CHANNELS; c++)
        fill[c] = op->args[mask_param].f;
    return check(op, mask_param, fill[0], err);
}

/* Whole numbers that a byte holds, which fills of images nearly always are. */
static bool to_bytes(const double fill[FILL_CHANNELS], uint8_t out[FILL_CHANNELS]) {
    for (uint32_t c = 0; c < FILL_CHANNELS; c++) {
        if (!(fill[c] >= 0 && fill[c] <= 255) || fill[c] != (double)(uint8_t)fill[c])
            return false;
        out[c] = (uint8_t)fill[c];
    }
    return true;
}

struct fill_pixel mldfi_fill_pixel(mldf_dtype dtype, const double fill[FILL_CHANNELS]) {
    struct fill_pixel p = {{0}, mldf_dtype_bytes(dtype)};
    if (dtype != MLDF_U8 || !to_bytes(fill, (uint8_t *)p.aligned))
        mldfi_convert_elements(MLDF_F64, fill, dtype, p.aligned, FILL_CHANNELS);
    return p;
}

bool mldfi_fill_is_flat(const uint8_t *value, size_t size) {
    size_t same = 1;
    while (same < size && value[same] == value[0])
        same++;
    return same >= size;
}

void mldfi_fill_run(uint8_t *to, const uint8_t *value, size_t size, bool flat, size_t count) {
    size_t bytes = count * size;
    if (bytes == 0)
        return;
    if (flat) {
        memset(to, value[0], bytes);
        return;
    }
    memcpy(to, value, size);
    for (size_t done = size; done < bytes; done *= 2) /* what is there is copied behind itself */
        memcpy(to + done, to, done < bytes - done ? done : bytes - done);
}

enum { COPY_FEW = 32 };

/* A copy of at most COPY_FEW bytes, without a call: two that may overlap. */
static inline void copy_few(uint8_t *to, const uint8_t *from, size_t bytes) {
    if (bytes >= 16) {
        memcpy(to, from, 16);
        memcpy(to + bytes - 16, from + bytes - 16, 16);
    } else if (bytes >= 8) {
        memcpy(to, from, 8);
        memcpy(to + bytes - 8, from + bytes - 8, 8);
    } else if (bytes >= 4) {
        memcpy(to, from, 4);
        memcpy(to + bytes - 4, from + bytes - 4, 4);
    } else {
        for (size_t i = 0; i < bytes; i++)
            to[i] = from[i];
    }
}

/* `rows` rows of `count` times the same `size` bytes, `stride` apart: the first by repetition, the others as copies of it. */
static void paint(uint8_t *to, const uint8_t *value, size_t size, size_t count, size_t rows, size_t stride) {
    size_t bytes = count * size;
    bool flat = mldfi_fill_is_flat(value, size);
    if (bytes == 0 || rows == 0)
        return;
    if (bytes == stride) { /* whole rows */
        mldfi_fill_run(to, value, size, flat, count * rows);
        return;
    }
    mldfi_fill_run(to, value, size, flat, count);
    for (size_t j = 1; j < rows; j++) {
        if (bytes <= COPY_FEW)
            copy_few(to + j * stride, to, bytes);
        else
            memcpy(to + j * stride, to, bytes);
    }
}

void mldfi_fill_paint(const struct tensor *image, const struct fill_pixel *pixel, uint64_t x, uint64_t y,
                      uint64_t width, uint64_t height) {
    if (width == 0 || height == 0)
        return;
    size_t channels = (size_t)mldfi_tensor_channels(image), size = pixel->element;
    size_t together = mldfi_planar(image->axes) ? 1 : channels,
           row = (size_t)mldfi_tensor_width(image) * together * size;
    uint8_t *to = (uint8_t *)image->data + (size_t)y * row + (size_t)x * together * size;
    const uint8_t *value = (const uint8_t *)pixel->aligned;
    for (size_t plane = 0; together && plane < channels / together; plane++)
        paint(to + plane * row * (size_t)mldfi_tensor_height(image), value + plane * size, together * size,
              (size_t)width, (size_t)height, row);
}
