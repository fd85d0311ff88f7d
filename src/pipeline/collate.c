/* How results of different lengths lie in a batch. A length is what pad, ragged and the loader reckon with: dim 0 of a list, both sides of an
 * image in one number (plan.h). The loader asks for the batch's longest and lays its arrays out; here a sample's result comes to its place
 * and is filled up: a list at its end, an image at the right and below. An image's pixels keep their coordinates, so boxes, points and masks
 * that moved with it are right as they are.
 *
 * op_collate.c is where the text's `pad` and `ragged` are understood; run.c measures. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "pipeline/stage.h"
#include "util/bytes.h"
#include "util/error.h"

/* ---- Lengths ------------------------------------------------------------------------------------------------------------- */

static uint64_t larger(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

uint64_t mldfi_length_most(const struct plan_output *output, uint64_t a, uint64_t b) {
    if (output->collate != COLLATE_SIDES)
        return larger(a, b);
    return mldfi_sides(larger(mldfi_sides_height(a), mldfi_sides_height(b)),
                       larger(mldfi_sides_width(a), mldfi_sides_width(b)));
}

/* One dimension: as pad says, or the longest, rounded up. */
static uint64_t dim_room(uint64_t fixed, uint64_t longest, uint64_t multiple) {
    uint64_t missing = longest % multiple ? multiple - longest % multiple : 0, room;
    if (fixed)
        return fixed;
    return mldfi_add_u64(longest, missing, &room) ? room : UINT64_MAX;
}

uint64_t mldfi_length_room(const struct plan_output *output, uint64_t longest) {
    if (output->collate == COLLATE_PAD)
        return dim_room(output->length, longest, output->multiple);
    if (output->collate != COLLATE_SIDES)
        return longest;
    return mldfi_sides(dim_room(mldfi_sides_height(output->length), mldfi_sides_height(longest), output->multiple),
                       dim_room(mldfi_sides_width(output->length), mldfi_sides_width(longest), output->multiple));
}

uint64_t mldfi_length_count(const struct plan_output *output, uint64_t length) {
    return output->collate == COLLATE_SIDES ? mldfi_sides_height(length) * mldfi_sides_width(length) : length;
}

bool mldfi_length_open(const struct plan_output *output) {
    if (output->collate == COLLATE_SIDES)
        return mldfi_sides_height(output->length) == 0 || mldfi_sides_width(output->length) == 0;
    return output->collate == COLLATE_RAGGED || (output->collate == COLLATE_PAD && output->length == 0);
}

/* ---- A sample's place ---------------------------------------------------------------------------------------------------- */

/* Is this one of the dimensions that a length is made of? */
static bool is_length(const struct plan_output *output, uint32_t dim) {
    uint32_t first = output->collate == COLLATE_SIDES && mldfi_planar(output->edge.axes) ? 1 : 0;
    if (output->collate == COLLATE_FIXED)
        return false;
    return dim == first || (output->collate == COLLATE_SIDES && dim == first + 1);
}

size_t mldfi_room_bytes(const struct plan_output *output, const struct plan_target *target) {
    uint64_t n = output->collate == COLLATE_FIXED ? 1 : mldfi_length_count(output, target->room);
    for (uint32_t i = 0; i < output->edge.ndim; i++)
        if (!is_length(output, i))
            n *= (uint64_t)output->edge.dims[i];
    return (size_t)n * mldf_dtype_bytes(output->edge.dtype);
}

static void fill_rest(uint8_t *at, size_t bytes, mldf_dtype dtype, double value) {
    uint64_t element[2];
    size_t size = mldf_dtype_bytes(dtype);
    if (value == 0.0) {
        memset(at, 0, bytes);
        return;
    }
    mldfi_dtype_element(dtype, value, element);
    for (size_t i = 0; i + size <= bytes; i += size)
        memcpy(at + i, element, size);
}

static bool fits(const struct plan_output *output, const struct tensor *t, uint64_t room) {
    uint64_t most[2] = {room, 0};
    uint32_t length = 0;
    if (output->collate == COLLATE_SIDES)
        most[0] = mldfi_sides_height(room), most[1] = mldfi_sides_width(room);
    if (t->ndim != output->edge.ndim)
        return false;
    for (uint32_t i = 0; i < t->ndim; i++)
        if (is_length(output, i) ? t->dims[i] > most[length++] : t->dims[i] != (uint64_t)output->edge.dims[i])
            return false;
    return true;
}

static mldf_status refuse(const struct plan_output *output, const struct tensor *t, mldf_error *err) {
    uint64_t length = output->length;
    char text[160];
    size_t at = 0;
    text[0] = 0;
    for (uint32_t i = 0; i < t->ndim && at < sizeof text - 24; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%" PRIu64, i ? " x " : "", t->dims[i]);
    if (output->collate == COLLATE_PAD && length && t->ndim && t->dims[0] > length)
        return mldfi_fail(err, MLDF_E_RANGE, "a result of %s is longer than pad's %" PRIu64 "; truncate it first", text,
                          length);
    if (output->collate == COLLATE_SIDES && !mldfi_length_open(output))
        return mldfi_fail(err, MLDF_E_RANGE, "an image of %s is larger than pad's %" PRIu64 " x %" PRIu64, text,
                          mldfi_sides_height(length), mldfi_sides_width(length));
    return mldfi_fail(err, MLDF_E_RANGE, "a result of %s does not fit its place in the batch", text);
}

/* Rows of a dense image to their places, from the last to the first: it may lie at the beginning of the place itself. */
static void spread(const struct plan_output *output, const struct tensor *t, const struct plan_target *target) {
    size_t height = (size_t)mldfi_tensor_height(t), width = (size_t)mldfi_tensor_width(t);
    size_t planes = mldfi_planar(t->axes) ? (size_t)mldfi_tensor_channels(t) : 1;
    size_t pixel = mldf_dtype_bytes(t->dtype) * (mldfi_planar(t->axes) ? 1 : (size_t)mldfi_tensor_channels(t));
    size_t rows = (size_t)mldfi_sides_height(target->room), row = (size_t)mldfi_sides_width(target->room) * pixel;
    size_t bytes = width * pixel;
    for (size_t plane = planes; plane-- > 0;) {
        uint8_t *to = (uint8_t *)target->data + plane * rows * row;
        const uint8_t *from = (const uint8_t *)t->data + plane * height * bytes;
        if (height < rows)
            fill_rest(to + height * row, (rows - height) * row, t->dtype, output->fill);
        for (size_t y = height; y-- > 0;) {
            if (bytes)
                memmove(to + y * row, from + y * bytes, bytes);
            fill_rest(to + y * row + bytes, row - bytes, t->dtype, output->fill);
        }
    }
}

mldf_status mldfi_deliver(const struct plan_output *output, const struct tensor *t, const struct plan_target *target,
                          mldf_error *err) {
    size_t room = mldfi_room_bytes(output, target), bytes = mldfi_tensor_bytes(t);
    if (!fits(output, t, target->room))
        return refuse(output, t, err);
    if (output->collate == COLLATE_SIDES && bytes < room) {
        spread(output, t, target);
        return MLDF_OK;
    }
    if (t->data != target->data && bytes)
        memcpy(target->data, t->data, bytes);
    if (output->collate == COLLATE_PAD && bytes < room)
        fill_rest((uint8_t *)target->data + bytes, room - bytes, t->dtype, output->fill);
    return MLDF_OK;
}
